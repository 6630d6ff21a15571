#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count the instructions of kDAPL's paths (make bench, and a job of make check).

  tools/kdapl/bench/run.py [options]

Boots Debian's 6.12 kernel in an emulator that executes one instruction per nanosecond
of its clock (QEMU, TCG, -icount), loads kdapl_bench.ko, and counts on the null device
and on rxe. The modules must have been built (tools/kdapl/check/build stock-6.12).
Prints a table and writes build/bench.json, or build/bench-part.json if only some paths
were counted. Documentation/infiniband/kdapl-bench.rst describes the method.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
REFERENCE = HERE / "reference.json"
RESULTS = HERE / "results.rst"

# Fixed; recorded in every result
KERNEL = "stock-6.12"
CPU = "qemu64"
MITIGATIONS = "auto"
QEMU = [f"-cpu {CPU}"]

DEVICES = {"null": "null0", "rxe": "rxe0"}
POSTS = ("send", "write", "read", "recv", "srq_recv", "send_inv")
PATHS = (*POSTS, "complete_upcall", "complete_dequeue")
REQUESTS = POSTS[:3]
CONTEXTS = {"process": 0x10000, "poll": 0x20000}    # KDAT_EVD_*_FLAG
SEGMENTS = (1, 2, 4, 8, 16)
LMRS = (1, 64, 4096, 65536)
EPS = (1, 64, 1024)
BASE_LMRS = 16      # the largest number of segments
BURSTS = (1, 16, 128)
CALLS = ("posts", "polls", "arms", "softirqs")

TOLERANCE = 1.03    # allowed growth relative to reference.json


class Point:
    """One measurement: a command line for the module, and an object in the JSON."""

    def __init__(self, device, what, kind="send", **how):
        self.device, self.what, self.kind = device, what, kind
        self.segments = how.get("segments", 1)
        self.same = how.get("same", False)
        self.suppress = how.get("suppress", False)
        self.trace = how.get("trace", False)
        self.lmrs = how.get("lmrs", BASE_LMRS)
        self.eps = how.get("eps", 1)
        self.burst = how.get("burst", 1)
        self.context = how.get("context")
        self.figures = {}

    @property
    def path(self):
        return {"post": self.kind, "upcall": "complete_upcall",
                "dequeue": "complete_dequeue"}.get(self.what, self.what)

    @property
    def fixture(self):
        """Sort key: points with the same fixture follow each other, so that the module
        creates it once."""
        return (list(DEVICES).index(self.device),
                self.lmrs != BASE_LMRS or self.eps != 1, self.lmrs, self.eps,
                self.context or "")

    def line(self):
        flags = (self.same, self.suppress, self.trace)
        return " ".join(map(str, [
            DEVICES[self.device], self.what, self.kind, self.segments,
            *map(int, flags), self.lmrs, self.eps, self.burst,
            CONTEXTS.get(self.context, 0)]))

    def name(self):
        """Name in the table and in reference.json."""
        words = [self.path, self.device]
        if self.path.startswith("complete") or self.path == "calls":
            words.append(self.kind)
        if self.path == "calls":
            words.append(f"bursts of {self.burst}")
        if self.context:
            words.append(self.context)
        if self.what == "post":
            words.append(f"{self.segments} segment" + "s" * (self.segments > 1))
        for word, shown in (("same LMR", self.same),
                            ("SUPPRESS", self.suppress),
                            ("traced", self.trace),
                            (f"among {self.lmrs} LMRs" if self.lmrs > 1 else
                             "one LMR", self.lmrs != BASE_LMRS),
                            (f"among {self.eps} EPs", self.eps != 1)):
            if shown:
                words.append(word)
        return ", ".join(words)

    def take(self, text):
        """Read the result of the module; costs of completions are per completion."""
        raw = {key: int(value) for key, value in
               (word.split("=") for word in text.split())}
        if "batch" in raw:
            verbs = raw["verbs_batch"] / raw["batch"]
            dat = raw["dat_batch"] / raw["batch"] + raw["dequeue"]
            self.figures = {"verbs": round(verbs, 1), "dat": round(dat, 1),
                            "added": round(dat - verbs, 1),
                            "batch": raw["batch"]}
        elif "each" in raw:
            self.figures = raw
        elif "messages" in raw:
            self.figures = {side: {call: round(raw[f"{side}_{call}"] * 1000 / raw["messages"])
                                   for call in CALLS} for side in ("verbs", "dat")}
        elif "cqes" in raw:
            self.figures = {"posts": raw["posts"], "cqes": raw["cqes"],
                            "cqes_per_post": raw["cqes"] / raw["posts"]}
        else:
            self.figures = {"verbs": raw["verbs"], "dat": raw["dat"],
                            "added": raw["dat"] - raw["verbs"]}
            if "mean" in raw:
                self.figures["dat_mean"] = raw["mean"]

    def json(self):
        return {"path": self.path, "device": self.device,
                "segments": self.segments, **self.figures, "of": self.kind,
                "same_lmr": self.same, "suppress": self.suppress,
                "trace": self.trace, "lmrs": self.lmrs, "eps": self.eps}


def short_list():
    """For make check: each path once, on the null device."""
    points = [Point("null", "post", kind) for kind in POSTS]
    points += [Point("null", "post", kind, segments=n, same=same)
               for kind in ("send", "recv") for n in (2, 16) for same in (False, True)]
    points += [Point("null", "post", "send", suppress=True, segments=n) for n in (1, 4)]
    points += [Point("null", "context", "write", context=context) for context in CONTEXTS]
    points += [Point("null", what, kind) for what in ("upcall", "dequeue")
               for kind in ("send", "recv", "srq_recv")]
    points += [Point("null", "suppressed"), Point("null", "memory")]
    points += [Point("null", "calls", burst=16)]
    return points


def full_list():
    points = []
    for device in DEVICES:
        for kind in POSTS:
            for segments in SEGMENTS:
                points += [Point(device, "post", kind, segments=segments,
                                 same=same)
                           for same in (False, True)[:1 + (segments > 1)]]
            points += [Point(device, "post", kind, trace=True)]
            points += [Point(device, "post", kind, lmrs=n) for n in LMRS]
            points += [Point(device, "post", kind, eps=n) for n in EPS[1:]]
            for what in ("upcall", "dequeue"):
                points += [Point(device, what, kind)]
                points += [Point(device, what, kind, trace=True)]
                points += [Point(device, what, kind, eps=EPS[-1])]
        points += [Point(device, "post", kind, segments=n, suppress=True)
                   for kind in REQUESTS for n in (1, 4)]
    points += [Point("null", "context", "write", context=context) for context in CONTEXTS]
    points += [Point("null", "suppressed", kind) for kind in REQUESTS]
    points += [Point("null", "memory")]
    points += [Point("null", "calls", kind, burst=n) for kind in ("send", "write")
               for n in BURSTS]
    return points


# ---- the guest ------------------------------------------------------------

GUEST = """
export KDAPL_DIR=$PWD
. selftests/lib.sh
rxe_setup 0 || exit
ip link add dummy1 type dummy && ip addr add 10.9.10.1/24 dev dummy1 &&
	ip link set dummy1 up || exit
kdapl_load && kdapl_insmod kdapl_bench netdev=dummy1 || exit
wait_for gid_exists null0 10.9.10.1 || exit
cat /proc/version >version
run=/sys/kernel/debug/kdapl_bench/run
while read -r line; do
	if echo "$line" >$run 2>error; then
		echo "$line: $(cat $run)" >>figures
	else
		echo "$line: $(cat error)" >>failures
	fi
done <points
rmmod kdapl_bench && kdapl_unload
"""


def release():
    """Release of the kernel that is measured."""
    cache = os.environ.get("KDAPL_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "kdapl")
    libs = sorted((Path(cache) / "kernels" / KERNEL / "lib" / "modules").iterdir())
    return libs[0].name


def fill_box(box, points):
    """Create the folder of the guest; the host does not change it later."""
    modules = TOP / "build" / "modules" / release()
    shutil.rmtree(box, ignore_errors=True)
    (box / "selftests").mkdir(parents=True)
    shutil.copy(TOP / "tests" / "selftests" / "lib.sh", box / "selftests")
    for module in ("kdapl.ko", "kdapl_bench.ko"):
        try:
            shutil.copy(modules / module, box)
        except OSError as error:
            sys.exit(f"bench: {error}; run tools/kdapl/check/build {KERNEL} first")
    (box / "points").write_text("".join(f"{p.line()}\n" for p in points),
                              encoding="ascii")
    (box / "guest.sh").write_text(GUEST, encoding="ascii")


def run_guest(box, points, limit):
    command = [TOP / "tools/kdapl/vm/run.py", "--time", str(limit), "--icount",
               "--dir", box, "--log", box / "console.log",
               "--append", f"mitigations={MITIGATIONS}"]
    command += [f"--qemu-opts={option}" for option in QEMU]
    status = subprocess.run([*command, KERNEL, "bash guest.sh"], check=False,
                            stdout=sys.stderr).returncode
    by_line = {p.line(): p for p in points}
    for name in ("figures", "failures"):
        path = box / name
        for line in path.read_text("ascii").splitlines() if path.exists() else ():
            spec, text = line.split(": ", 1)
            if name == "figures":
                by_line[spec].take(text)
            else:
                print(f"bench: {spec}: {text}", file=sys.stderr)
    if status:
        sys.exit(f"bench: the guest ended with exit status {status}, see {box}/console.log")
    missing = [p.name() for p in points if not p.figures]
    if missing:
        sys.exit("bench: the module returned no figures for: " + "; ".join(missing))


# ---- results --------------------------------------------------------------

def commit():
    def git(*args):
        return subprocess.run(["git", "-C", str(TOP), *args], check=True,
                              capture_output=True, text=True).stdout.strip()
    try:
        changed = git("status", "--porcelain", "drivers", "include")
        return git("rev-parse", "--short=12", "HEAD") + "-changed" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def result(box, points):
    version = (box / "version").read_text("ascii")
    compiler = re.search(r"gcc[^ ]* (\([^()]*\) [^ ,]+)", version)
    qemu = subprocess.run(["qemu-system-x86_64", "--version"], check=True,
                          capture_output=True, text=True).stdout.split("\n")[0]
    return {"kernel": version.split()[2], "commit": commit(), "cpu": CPU,
            "mitigations": MITIGATIONS,
            "compiler": f"gcc {compiler[1]}" if compiler else version.strip(),
            "qemu": qemu,
            "paths": [p.json() for p in points if p.path in PATHS],
            "suppressed": [{"of": p.kind, **p.figures} for p in points
                           if p.path == "suppressed"],
            "contexts": [{"context": p.context, **p.figures} for p in points
                         if p.path == "context"],
            "calls_per_1000": [{"of": p.kind, "burst": p.burst, **p.figures}
                               for p in points if p.path == "calls"],
            "ep_memory": next((p.figures for p in points
                               if p.path == "memory"), None)}


def further_segment(points, kind, same):
    """Average cost of an additional segment of a vector, up to the largest number counted.
    It starts at two segments, because one segment has a fast path of its own."""
    posts = {p.segments: p.figures["added"] for p in points
             if p.device == "null" and p.what == "post" and p.kind == kind
             and p.same == same and not p.suppress
             and not p.trace and p.lmrs == BASE_LMRS and p.eps == 1}
    most = max(posts, default=2)
    if most == 2 or 2 not in posts:
        return None
    return round((posts[most] - posts[2]) / (most - 2), 1)


def growth(points, base, others):
    """The largest growth of a path of the null device with the number of objects."""
    known = {(p.path, p.kind): p.figures["added"] for p in points
             if p.device == "null" and base(p) and "added" in p.figures}
    more = [p.figures["added"] - known[p.path, p.kind] for p in points
            if p.device == "null" and others(p) and (p.path, p.kind) in known]
    return round(max(more), 1) if more else None


def is_plain(point, lmrs=True, eps=True):
    """Is this a path without variations, except perhaps the number of LMRs or EPs?"""
    return (point.segments == 1 and not point.suppress and not point.trace
            and (point.lmrs == BASE_LMRS or not lmrs)
            and (point.eps == 1 or not eps))


def figures(points):
    """Name -> figure, for all figures that are compared with a limit."""
    found = {}
    for p in points:
        if p.lmrs != BASE_LMRS or p.eps != 1:
            continue
        if p.path == "suppressed":
            found[p.name()] = p.figures["cqes_per_post"]
        elif p.path == "context":
            found |= {f"{p.name()}, {part}": p.figures[part] for part in ("each", "run")}
        elif p.path == "calls":
            # Not the softirqs, because another CQ may cause one
            found |= {f"{p.name()}, {call}": p.figures["dat"][call] for call in CALLS[:-1]}
        else:
            found[p.name()] = p.figures["added"]
    for kind in POSTS:
        for same in (False, True):
            cost = further_segment(points, kind, same)
            if cost is not None:
                found[f"{kind}, null, further segment, "
                      f"{'same' if same else 'other'} LMR"] = cost
    for name, free in (("LMRs", {"lmrs": False}), ("EPs", {"eps": False})):
        cost = growth(points, is_plain, lambda p, free=free:
                      is_plain(p, **free) and not is_plain(p))
        if cost is not None:
            found[f"growth, null, with the number of {name}"] = cost
    return found


def limit_of(name, limits):
    """The limit for a figure in a table like "must", or None."""
    if name in limits:
        return limits[name]
    words = name.split(", ")
    # The limits are for requests without flags
    if "null" not in words or {"traced", "SUPPRESS"} & set(words):
        return None
    if "further segment" in words:
        return limits.get(", ".join(words[2:]))
    if "segments" in name:
        return None
    # A completion from an SRQ has a limit of its own, because it has to find its EP
    return limits.get(f"{words[0]}, {words[-1]}", limits.get(words[0]))


def check(points):
    """Print TAP: compare each figure with reference.json and with its limit."""
    reference = json.loads(REFERENCE.read_text("utf-8"))
    found = figures(points)
    print(f"1..{len(found)}")
    bad = 0
    for number, (name, figure) in enumerate(found.items(), 1):
        old = reference["added"].get(name)
        must = limit_of(name, reference["must"])
        details = [f"{figure:g} added"]
        good = True
        if old is None:
            details.append("not in reference.json")
        else:
            details.append(f"reference {old:g}, allowed {old * TOLERANCE:.5g}")
            good = figure <= old * TOLERANCE
        if must is not None:
            details.append(f"limit < {must}")
            good = good and figure < must
        bad += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}: "
              f"{', '.join(details)}")
    return bad


def over_limit(points):
    """The names of the figures that are not below their limit."""
    limits = json.loads(REFERENCE.read_text("utf-8"))["must"]
    found = {name: (figure, limit_of(name, limits)) for name, figure in figures(points).items()}
    return [name for name, (figure, must) in found.items()
            if must is not None and figure >= must]


def write_reference(res, points):
    reference = json.loads(REFERENCE.read_text("utf-8"))
    for key in ("kernel", "commit", "cpu", "mitigations", "compiler"):
        reference[key] = res[key]
    short = {p.name() for p in short_list()}
    reference["added"] = {
        name: figure for name, figure in figures(points).items()
        if name in short or "further segment" in name or name.rpartition(", ")[0] in short}
    REFERENCE.write_text(json.dumps(reference, indent=1) + "\n", "utf-8")


def rows(points):
    """Rows of the table: the name, then verbs, dat, added for each device."""
    lines = {}
    for p in points:
        if p.path in ("calls", "context"):
            continue
        name = p.name().replace(f"{p.path}, {p.device}", p.path)
        cells = lines.setdefault(name, {})
        if "added" in p.figures:
            cells[p.device] = [f"{p.figures[k]:g}" for k in ("verbs", "dat", "added")]
        else:
            cells[p.device] = ["", "", f"{p.figures['cqes_per_post']:g}"]
    out = []
    for name, cells in lines.items():
        row = [name]
        for device in DEVICES:
            row += cells.get(device, ["", "", ""])
        out.append(row)
    return out


def table(points):
    """A table that is also a simple table of reStructuredText."""
    head = ["path"] + [f"{d} {w}" for d in DEVICES
                       for w in ("verbs", "dat", "added")]
    body = rows(points)
    width = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    rule = "  ".join("=" * w for w in width)

    def text(row):
        cells = [row[0].ljust(width[0])]
        cells += [cell.rjust(w) for cell, w in zip(row[1:], width[1:])]
        return "  ".join(cells).rstrip()
    return "\n".join([rule, text(head), rule, *map(text, body), rule])


def calls_table(points):
    """A table of the calls that a thousand messages cause."""
    head = ["calls for 1,000"] + [f"{side} {call}" for call in CALLS for side in ("verbs", "dat")]
    body = [[f"{p.kind}, bursts of {p.burst}"] +
            [str(p.figures[side][call]) for call in CALLS for side in ("verbs", "dat")]
            for p in points if p.path == "calls"]
    width = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    rule = "  ".join("=" * w for w in width)
    lines = ["  ".join([row[0].ljust(width[0])] + [c.rjust(w) for c, w in
                                                   zip(row[1:], width[1:])]).rstrip()
             for row in [head, *body]]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) if body else ""


def budget(points):
    """A table of the figures that have a limit."""
    limits = json.loads(REFERENCE.read_text("utf-8"))
    lines = []
    for name, figure in figures(points).items():
        must = limit_of(name, limits["must"])
        if must is not None:
            aim = limit_of(name, limits["aim"])
            lines.append((name, f"{figure:g}", f"< {must}", str(aim),
                          "yes" if figure < must else "NO"))
    head = ("budget", "added", "must", "aim", "met")
    width = [max(len(row[i]) for row in [head, *lines]) for i in range(5)]
    rule = "  ".join("=" * w for w in width)
    out = [rule] + ["  ".join(c.ljust(w) for c, w in zip(row, width)).rstrip()
                    for row in [head, *lines]] + [rule]
    out.insert(2, rule)
    return "\n".join(out)


def write_results(res, points):
    title = "kDAPL: instruction counts, by path"
    RESULTS.write_text(
        ".. SPDX-License-Identifier: GPL-2.0\n"
        ".. Written by tools/kdapl/bench/run.py --write-results; do not edit.\n\n"
        f"{'=' * len(title)}\n{title}\n{'=' * len(title)}\n\n"
        f"| Kernel {res['kernel']}, {res['compiler']}\n"
        f"| kDAPL {res['commit']}, {res['qemu']}\n"
        f"| ``-cpu {res['cpu']}``, ``mitigations={res['mitigations']}``\n\n"
        f"{budget(points)}\n\n{table(points)}\n\n{calls_table(points)}\n", "utf-8")


def parse():
    top = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    top.add_argument("--short", action="store_true",
                     help="only the null device and few points (30 s)")
    top.add_argument("--check", action="store_true",
                     help="like --short; compare with reference.json, print TAP")
    top.add_argument("--only", metavar="REGEX", default="",
                     help="only points whose names in the table match")
    top.add_argument("--write-results", action="store_true",
                     help="write the tables to results.rst")
    top.add_argument("--write-reference", action="store_true",
                     help="write the figures to reference.json")
    return top.parse_args()


def main():
    opts = parse()
    short = opts.short or opts.check
    points = [p for p in (short_list() if short else full_list())
              if re.search(opts.only, p.name())]
    if not points:
        sys.exit(f"bench: no point matches --only {opts.only}")
    points.sort(key=lambda p: p.fixture)
    box = TOP / "build" / "vm" / f"{KERNEL}-bench{'-short' * short}"
    fill_box(box, points)
    run_guest(box, points, 240 if short else 1200)
    res = result(box, points)
    if opts.check:
        return 1 if check(points) else 0
    part = "-part" if short or opts.only else ""
    (TOP / "build" / f"bench{part}.json").write_text(
        json.dumps(res, indent=1) + "\n", "utf-8")
    print(f"kernel {res['kernel']}, commit {res['commit']}, cpu {CPU}, "
          f"mitigations {MITIGATIONS}\n{res['compiler']}, {res['qemu']}\n")
    print(table(points))
    print()
    print(calls_table(points))
    print()
    print(budget(points))
    if opts.write_reference:
        write_reference(res, points)
    if opts.write_results:
        write_results(res, points)
    missed = over_limit(points)
    if missed:
        print(f"bench: over the limit: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
