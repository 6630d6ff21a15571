#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the results of "kdapl-loop perf --json" for consistency.

  tools/kdapl/perf/consistent.py [options] JSON

Prints a line for each contradiction; the exit status is 1 if there is one. With --table, the
tables that the tool printed for the same run must show the same figures. The other options say
what was measured. The selftest perf and make perf use it.
"""

import argparse
import itertools
import json
import math
import sys

OPS = ("send", "write", "read")
TESTS = ("latency", "bandwidth")
SIDES = ("kdapl", "verbs")
ROUNDING = 0.006    # of a figure with two decimals


def counts(row, opts):
    """Messages and bytes of a row, as both ends have counted them."""
    if row["messages"] < 1:
        yield "no message"
    if opts.iters is not None:
        want = opts.iters * (row["eps"] if row["test"] == "bandwidth" else 1)
        if row["messages"] != want:
            yield f"expected {want} messages, {row['messages']}"
    if row["test"] == "bandwidth" and opts.qp is not None and row["eps"] != opts.qp:
        yield f"expected {opts.qp} EPs, {row['eps']}"
    if row["bytes"] != row["messages"] * row["size"]:
        yield f"{row['messages']} messages of {row['size']} bytes are not {row['bytes']} bytes"
    # No event tells the server of a read or of a write, but it polls for the writes of a latency
    seen = row["operation"] == "send" or (row["operation"], row["test"]) == ("write", "latency")
    if row["peer_messages"] != (row["messages"] if seen else 0):
        yield f"the server has counted {row['peer_messages']} messages of {row['messages']}"
    if row["wrong_bytes"]:
        yield f"{row['wrong_bytes']} wrong bytes"


def ranked(buckets, rank):
    """The bucket of the sample with this rank, counted from 1."""
    total = 0
    for bucket in buckets:
        total += bucket["count"]
        if total >= rank:
            return bucket
    return {"from_ns": math.inf, "to_ns": -math.inf}


def latency(row):
    """Percentiles and histogram of a row."""
    names = ("min_ns", "median_ns", "p99_ns", "p999_ns", "max_ns")
    for low, high in itertools.pairwise(names):
        if row[low] > row[high]:
            yield f"{low} {row[low]} is above {high} {row[high]}"
    if not 0 < row["min_ns"] <= row["average_ns"] <= row["max_ns"]:
        yield f"average_ns {row['average_ns']} is not between min_ns and max_ns, or these are 0"
    if row["deviation_ns"] > row["max_ns"] - row["min_ns"]:
        yield f"deviation_ns {row['deviation_ns']} is above the range of the samples"
    buckets = row["histogram"]
    if sum(b["count"] for b in buckets) != row["messages"]:
        yield f"the histogram does not have {row['messages']} samples"
    for low, high in itertools.pairwise(buckets):
        if low["to_ns"] > high["from_ns"]:
            yield f"the buckets from {low['from_ns']} and {high['from_ns']} ns overlap"
    ranks = (1, *(math.ceil(row["messages"] * mille / 1000) for mille in (500, 990, 999)),
             row["messages"])
    for name, rank in zip(names, ranks):
        bucket = ranked(buckets, rank)
        if not bucket["from_ns"] <= row[name] < bucket["to_ns"]:
            yield f"{name} {row[name]} is not in the bucket of sample {rank}"


def bandwidth(row):
    """Time, bandwidth and rate of a row."""
    if not row["ns"] or not row["peak_ns"]:
        yield "no time"
        return
    average = row["bytes"] / 1048576 / (row["ns"] / 1e9)
    if abs(average - row["mib_per_s"]) > 0.001 + average * 1e-6:
        yield f"mib_per_s {row['mib_per_s']}, expected {average:.3f}"
    if abs(row["messages"] * 1e3 / row["ns"] - row["mpps"]) > 1e-6:
        yield f"mpps {row['mpps']} does not follow from messages and ns"
    # The peak is the best of several rounds
    if row["peak_messages"] / row["peak_ns"] < row["messages"] / row["ns"] * (1 - 1e-9):
        yield "the peak is below the average"
    if row["peak_messages"] > row["messages"] or row["peak_ns"] > row["ns"]:
        yield "the peak is of more than was measured"


def figure(row):
    """What the ratio compares."""
    return row["median_ns"] if row["test"] == "latency" else row["bytes"] / row["ns"]


def name_of(row):
    return f"{row['test']} {row['operation']} {row['size']}"


def pairs(data, opts):
    """Each row of kDAPL is followed by that of verbs, which did the same."""
    rows = data["rows"]
    if [r["side"] for r in rows] != list(SIDES) * (len(rows) // 2):
        yield "expected a row of kdapl, then one of verbs, and so on"
        return
    for kdapl, verbs in zip(rows[::2], rows[1::2]):
        for key in ("test", "operation", "size", "eps", "depth"):
            if kdapl[key] != verbs[key]:
                yield f"{name_of(kdapl)}: the sides differ in {key}"
        if opts.iters is not None and kdapl["bytes"] != verbs["bytes"]:
            yield f"{name_of(kdapl)}: {kdapl['bytes']} bytes by kdapl, {verbs['bytes']} by verbs"
    wanted = [f"{test} {op} {size}" for test in opts.tests for op in opts.ops
              for size in opts.sizes] if opts.sizes else None
    if wanted is not None and [name_of(r) for r in rows[::2]] != wanted:
        yield f"expected {', '.join(wanted)}"
    if len(data["ratios"]) != len(rows) // 2:
        yield "expected a ratio for each pair of rows"
        return
    for kdapl, verbs, ratio in zip(rows[::2], rows[1::2], data["ratios"]):
        want = figure(kdapl) / figure(verbs)
        if abs(ratio["kdapl_to_verbs"] - want) > 0.0001:
            yield f"{name_of(kdapl)}: ratio {ratio['kdapl_to_verbs']}, expected {want:.4f}"


def table_figures(row):
    """What the tables show of a row, except its ratio."""
    if row["test"] == "latency":
        return [row[key] / 1e3 for key in ("min_ns", "max_ns", "median_ns", "average_ns",
                                           "deviation_ns", "p99_ns", "p999_ns")]
    return [row["peak_messages"] * row["size"] / 1048576 / (row["peak_ns"] / 1e9),
            row["mib_per_s"], row["mpps"]]


def table(data, text):
    """The lines of the tables against the rows."""
    lines = [words for words in (line.split() for line in text.splitlines())
             if len(words) > 2 and words[0].isdigit() and words[1] in SIDES]
    if len(lines) != len(data["rows"]):
        yield f"{len(lines)} lines in the tables, {len(data['rows'])} rows"
        return
    for number, (words, row) in enumerate(zip(lines, data["rows"])):
        shown = [float(word) for word in words[3:]]
        want = [*table_figures(row),
                1 if number % 2 else data["ratios"][number // 2]["kdapl_to_verbs"]]
        if words[:3] != [str(row["size"]), row["side"], str(row["messages"])] or \
                len(shown) != len(want) or \
                any(abs(a - b) > ROUNDING for a, b in zip(shown, want)):
            yield f"{name_of(row)}: the table shows {' '.join(words)}"


def contradictions(data, opts, text=None):
    if data["error"]:
        yield f"the run ended with an error: {data['error']}"
    for row in data["rows"]:
        for problem in itertools.chain(
                counts(row, opts), latency(row) if row["test"] == "latency" else bandwidth(row)):
            yield f"{name_of(row)}, {row['side']}: {problem}"
    yield from pairs(data, opts)
    if text is not None:
        yield from table(data, text)


def parse(arguments):
    top = argparse.ArgumentParser(description=__doc__,
                                  formatter_class=argparse.RawTextHelpFormatter)
    top.add_argument("file", metavar="JSON")
    top.add_argument("--table", metavar="FILE", help="the tables of the same run")
    top.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")],
                     help="the sizes that were measured")
    top.add_argument("--ops", type=lambda text: text.split(","), default=OPS)
    top.add_argument("--tests", type=lambda text: text.split(","), default=TESTS)
    top.add_argument("--iters", type=int, help="messages of each EP")
    top.add_argument("--qp", type=int, help="EPs for bandwidth")
    return top.parse_args(arguments)


def main():
    opts = parse(sys.argv[1:])
    with open(opts.file, encoding="utf-8") as file:
        data = json.load(file)
    text = None
    if opts.table:
        with open(opts.table, encoding="utf-8") as file:
            text = file.read()
    found = list(contradictions(data, opts, text))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
