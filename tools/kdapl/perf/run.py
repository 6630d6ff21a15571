#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measure kDAPL and plain verbs in a guest, and draw the figures (make perf).

  tools/kdapl/perf/run.py [--seconds N]

Runs "kdapl-loop perf" on Soft-RoCE in a VM with Debian's 6.12 kernel, counts the instructions of
each path (tools/kdapl/bench/run.py --short), and writes build/perf.json and build/perf.svg. The
modules must have been built (tools/kdapl/check/build stock-6.12). kdapl-tuning.rst explains the
figures.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
BUILD = TOP / "build"
KERNEL = "stock-6.12"
SIZES = [4 ** n for n in range(11)]
DEPTHS = [2 ** n for n in range(8)]
# The times say nothing about a real machine; the ratios of the two sides do
MACHINE = "on emulated CPUs"

GUEST = """
export KDAPL_DIR=$PWD
. selftests/lib.sh
rxe_setup && kdapl_insmod kdapl stretch=$KDAPL_FACTOR &&
	kdapl_insmod kdapl_perf stretch=$KDAPL_FACTOR || exit
perf() { ./kdapl-loop perf -d rxe0 -D SECONDS --json "$@"; }
perf -s SIZES -q 4 -t 16 >sizes.json || exit
for depth in DEPTHS; do
	perf -s 64 -t $depth --op send --test bw >depth-$depth.json || exit
done
rmmod kdapl_perf && rmmod kdapl
"""


def cache():
    return Path(os.environ.get("KDAPL_CACHE") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kdapl")


def fill_box(box, seconds):
    """Create the folder of the guest; the host does not change it later."""
    release = next((cache() / "kernels" / KERNEL / "lib" / "modules").iterdir()).name
    shutil.rmtree(box, ignore_errors=True)
    (box / "selftests").mkdir(parents=True)
    shutil.copy(TOP / "tests/selftests/lib.sh", box / "selftests")
    for name in ("kdapl.ko", "kdapl_perf.ko", "kdapl-loop"):
        try:
            shutil.copy(BUILD / "modules" / release / name, box)
        except OSError as error:
            sys.exit(f"perf: {error}; run tools/kdapl/check/build {KERNEL} first")
    (box / "guest.sh").write_text(
        GUEST.replace("SECONDS", str(seconds)).replace("SIZES", ",".join(map(str, SIZES)))
        .replace("DEPTHS", " ".join(map(str, DEPTHS))), encoding="ascii")


def measure(box, seconds):
    """Run the guest; returns the results of all runs."""
    # Two tests, three operations and both sides of each size, then both sides of each depth
    limit = 240 + 3 * seconds * (12 * len(SIZES) + 2 * len(DEPTHS))
    status = subprocess.run(
        [TOP / "tools/kdapl/vm/run.py", "--time", str(limit), "--dir", box, "--log",
         box / "console.log", KERNEL, "bash guest.sh"], check=False).returncode
    if status:
        sys.exit(f"perf: the guest ended with exit status {status}, see {box}/console.log")
    data = json.loads((box / "sizes.json").read_text("utf-8"))
    data["depths"] = [row for depth in DEPTHS for row in
                      json.loads((box / f"depth-{depth}.json").read_text("utf-8"))["rows"]]
    return data


def instructions():
    """The costs of the plain paths on the null device, with one segment."""
    subprocess.run([TOP / "tools/kdapl/bench/run.py", "--short"], check=True,
                   stdout=subprocess.DEVNULL)
    data = json.loads((BUILD / "bench-part.json").read_text("utf-8"))
    found = {}
    for path in data["paths"]:
        if path["segments"] == 1 and not path["suppress"]:
            found.setdefault(path["path"], path)
    return [{key: path[key] for key in ("path", "verbs", "dat", "added")}
            for path in found.values()]


def parse():
    top = argparse.ArgumentParser(description=__doc__,
                                  formatter_class=argparse.RawTextHelpFormatter)
    top.add_argument("--seconds", type=int, default=1,
                     help="time of each measurement of a side (default 1)")
    return top.parse_args()


def main():
    seconds = parse().seconds
    box = BUILD / "vm" / f"{KERNEL}-perf"
    fill_box(box, seconds)
    data = measure(box, seconds)
    data["machine"] = MACHINE
    data["instructions"] = instructions()
    (BUILD / "perf.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    subprocess.run([cache() / "plot/venv/bin/python3", HERE / "plot.py", BUILD / "perf.json",
                    BUILD / "perf.svg"], check=True)
    for ratio in data["ratios"]:
        print(f"{ratio['test']:9} {ratio['operation']:5} {ratio['size']:8} bytes: "
              f"kDAPL / verbs {ratio['kdapl_to_verbs']:.3f}")
    print("build/perf.json build/perf.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
