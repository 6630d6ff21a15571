#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Draw build/perf.svg from build/perf.json. tools/kdapl/perf/run.py calls it with matplotlib.

  tools/kdapl/perf/plot.py JSON SVG

Nine plots: latency and bandwidth of each operation against the size of the message, for kDAPL and
for plain verbs; the histogram of a latency; message rate against requests outstanding;
instructions of each path.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
# The same figures give the same file
matplotlib.rcParams.update({
    "svg.hashsalt": "kdapl", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3,
    "axes.titlesize": 10, "legend.frameon": False})
import matplotlib.pyplot as plt  # noqa: E402 (after the backend was chosen)
from matplotlib.ticker import FuncFormatter  # noqa: E402

OPS = {"send": "Send", "write": "RDMA write", "read": "RDMA read"}
SIDES = {"kdapl": ("kDAPL", "#d62728", "o", "-"), "verbs": ("plain verbs", "#1f77b4", "s", "--")}
# From make bench; the order of the bars
PATHS = {"send": "send", "write": "RDMA write", "read": "RDMA read", "recv": "receive",
         "srq_recv": "SRQ receive", "complete_upcall": "completion\nto upcall",
         "complete_dequeue": "completion\nto dequeue"}


def size_name(size, _=None):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"


def number_name(value, _=None):
    return f"{value:g}"


def rows_of(data, test, operation, side):
    return [r for r in data["rows"] if
            (r["test"], r["operation"], r["side"]) == (test, operation, side)]


def by_size(axes, data, test, operation, key, scale):
    """Both sides of an operation, with the range from the median to the 99th percentile."""
    for side, (label, colour, marker, line) in SIDES.items():
        rows = rows_of(data, test, operation, side)
        sizes = [r["size"] for r in rows]
        axes.plot(sizes, [r[key] / scale for r in rows], line, color=colour, marker=marker,
                  markersize=4, label=label)
        if test == "latency":
            axes.fill_between(sizes, [r["median_ns"] / scale for r in rows],
                              [r["p99_ns"] / scale for r in rows], color=colour, alpha=0.12,
                              linewidth=0)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(size_name))
    axes.yaxis.set_major_formatter(FuncFormatter(number_name))
    axes.tick_params(axis="x", labelrotation=30)


def latency_plot(axes, data, operation):
    by_size(axes, data, "latency", operation, "median_ns", 1e3)
    axes.set_title(f"{OPS[operation]}: latency"
                   f"{' of the whole read' if operation == 'read' else ', half round trip'}")
    axes.set_ylabel("microseconds\n(line: median; area: to 99 %)")
    axes.legend()


def bandwidth_plot(axes, data, operation):
    by_size(axes, data, "bandwidth", operation, "mib_per_s", 1)
    row = rows_of(data, "bandwidth", operation, "kdapl")[0]
    axes.set_title(f"{OPS[operation]}: bandwidth, {row['eps']} EPs, {row['depth']} outstanding")
    axes.set_ylabel("MiB per second")
    axes.set_xlabel("size of the message")
    axes.legend()


def histogram_plot(axes, data):
    """The latency of a send, in percent of the messages."""
    size = 64
    for side, (label, colour, _, _) in SIDES.items():
        row = next(r for r in rows_of(data, "latency", "send", side) if r["size"] == size)
        buckets = row["histogram"]
        edges = [b["from_ns"] / 1e3 for b in buckets] + [buckets[-1]["to_ns"] / 1e3]
        # Buckets without samples are left out in the file
        lows = [b["from_ns"] / 1e3 for b in buckets]
        widths = [(b["to_ns"] - b["from_ns"]) / 1e3 for b in buckets]
        heights = [100 * b["count"] / row["messages"] for b in buckets]
        axes.bar(lows, heights, widths, align="edge", color=colour, alpha=0.45, label=label)
        axes.axvline(row["median_ns"] / 1e3, color=colour, linewidth=1)
        axes.set_xscale("log")
        axes.set_xlim(right=max(edges[-1], axes.get_xlim()[1]))
    axes.xaxis.set_major_formatter(FuncFormatter(number_name))
    axes.set_title(f"Send of {size} bytes: histogram of the latency")
    axes.set_xlabel("microseconds (lines: medians)")
    axes.set_ylabel("percent of the messages")
    axes.legend()


def depth_plot(axes, data):
    for side, (label, colour, marker, line) in SIDES.items():
        rows = [r for r in data["depths"] if r["side"] == side]
        axes.plot([r["depth"] for r in rows], [r["mpps"] * 1e3 for r in rows], line, color=colour,
                  marker=marker, markersize=4, label=label)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(FuncFormatter(number_name))
    axes.set_title(f"Send of {data['depths'][0]['size']} bytes: message rate, 1 EP")
    axes.set_xlabel("requests outstanding")
    axes.set_ylabel("thousand messages per second")
    axes.legend()


def bench_plot(axes, data):
    """Stacked bars: what verbs cost, and what kDAPL adds."""
    paths = [p for name in PATHS for p in data["instructions"] if p["path"] == name]
    names = [PATHS[p["path"]] for p in paths]
    verbs, added = ([p[key] for p in paths] for key in ("verbs", "added"))
    axes.barh(names, verbs, color=SIDES["verbs"][1], alpha=0.8, label="plain verbs")
    axes.barh(names, added, left=verbs, color=SIDES["kdapl"][1], alpha=0.8, label="added by kDAPL")
    for number, (below, more) in enumerate(zip(verbs, added)):
        axes.text(below + more, number, f" +{more:g}", va="center", fontsize=8)
    axes.invert_yaxis()
    # Room for the legend
    axes.set_xlim(right=1.6 * max(p["dat"] for p in paths))
    axes.set_title("Instructions of each path, null device")
    axes.set_xlabel("instructions (make bench)")
    axes.legend(loc="center right")


def draw(data):
    figure, axes = plt.subplots(3, 3, figsize=(15, 12), layout="constrained")
    for column, operation in enumerate(OPS):
        latency_plot(axes[0][column], data, operation)
        bandwidth_plot(axes[1][column], data, operation)
    histogram_plot(axes[2][0], data)
    depth_plot(axes[2][1], data)
    bench_plot(axes[2][2], data)
    figure.suptitle(f"kDAPL and plain verbs on {data['device']}, Linux {data['kernel']}, "
                    f"{data['machine']}")
    return figure


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    draw(data).savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()
