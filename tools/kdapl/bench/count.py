#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count the instructions of kDAPL's paths (make bench, and a job of make check).

  tools/kdapl/bench/count.py [options]

Boots Debian's 6.12 kernel in an emulator that executes one instruction per nanosecond
of its clock (QEMU, TCG, -icount), loads kdapl_bench.ko, and counts on the null device
and on rxe. The modules must have been built (tools/kdapl/check/build-modules stock-6.12).
Prints tables and writes build/bench.json, or build/bench-part.json if only some paths
were counted. tests/devices/bench/README.rst describes the method.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import touch
from points import PATHS, full_list, short_list, touch_list
from tables import check, over_limit, tables, write_reference

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]

# Fixed; recorded in every result. The limits are for this kernel
KERNEL = "stock-6.12"
CPU = "qemu64"
MITIGATIONS = "auto"
QEMU = [f"-cpu {CPU}"]
# The kernel removes lock prefixes on a machine with one CPU
APPEND = [f"mitigations={MITIGATIONS}", "noreplace-smp"]


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
cat /sys/module/kdapl_bench/sections/.text >text
rmmod kdapl_bench && kdapl_unload
"""


def release(kernel):
    """Release of the kernel that is measured."""
    cache = os.environ.get("KDAPL_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "kdapl")
    libs = sorted((Path(cache) / "kernels" / kernel / "lib" / "modules").iterdir())
    return libs[0].name


def fill_box(box, kernel, points):
    """Create the folder of the guest; the host does not change it later."""
    modules = TOP / "build" / "modules" / release(kernel)
    shutil.rmtree(box, ignore_errors=True)
    (box / "selftests").mkdir(parents=True)
    shutil.copy(TOP / "tests" / "selftests" / "lib.sh", box / "selftests")
    names = ["kdapl.ko", "kdapl_bench.ko"]
    # lib.sh loads it on 6.1
    names += ["kdapl_qp1_wake.ko"] * (modules / "kdapl_qp1_wake.ko").exists()
    for module in names:
        try:
            shutil.copy(modules / module, box)
        except OSError as error:
            sys.exit(f"bench: {error}; run tools/kdapl/check/build-modules {kernel} first")
    (box / "points").write_text("".join(f"{p.line()}\n" for p in points),
                              encoding="ascii")
    (box / "guest.sh").write_text(GUEST, encoding="ascii")


def run_guest(box, kernel, points, limit):
    touched = [p for p in points if p.touch]
    command = [TOP / "tools/kdapl/lab/run_in_vm.py", "--time", str(limit), "--icount",
               "--dir", box, "--log", box / "console.log"]
    command += [f"--append={argument}" for argument in APPEND]
    qemu = QEMU + (touch.compile_plugin(HERE / "touch.c", box) if touched else [])
    command += [f"--qemu-opts={option}" for option in qemu]
    status = subprocess.run([*command, kernel, "bash guest.sh"], check=False,
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
        text = "bench: the module returned no figures for: " + "; ".join(missing)
        if kernel == KERNEL:
            sys.exit(text)
        print(text, file=sys.stderr)
        points[:] = [p for p in points if p.figures]
    if touched:
        touch.fill(touched, box)


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
            "touches": [{"call": p.call, **p.figures} for p in points if p.path == "touch"],
            "calls_per_1000": [{"of": p.kind, "device": p.device, "burst": p.burst, **p.figures}
                               for p in points if p.path == "calls"],
            "ep_memory": next((p.figures for p in points
                               if p.path == "memory"), None)}


def parse():
    top = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    top.add_argument("--short", action="store_true",
                     help="only the null device and few points (30 s)")
    top.add_argument("--check", action="store_true",
                     help="like --short; compare with reference.json, print TAP")
    top.add_argument("--only", metavar="REGEX", default="",
                     help="only points whose names in the table match")
    top.add_argument("--write-reference", action="store_true",
                     help="write the figures to reference.json")
    top.add_argument("--kernel", default=KERNEL,
                     help=f"another kernel than {KERNEL}, without limits")
    opts = top.parse_args()
    if opts.kernel != KERNEL and (opts.check or opts.write_reference):
        top.error(f"the limits are those of {KERNEL}")
    return opts


def main():
    opts = parse()
    short = opts.short or opts.check
    points = (short_list() if short else full_list()) + ([] if opts.check else touch_list())
    points = [p for p in points if re.search(opts.only, p.name())]
    if not points:
        sys.exit(f"bench: no point matches --only {opts.only}")
    points.sort(key=lambda p: p.fixture)
    limited = opts.kernel == KERNEL
    box = TOP / "build" / "vm" / f"{opts.kernel}-bench{'-short' * short}"
    fill_box(box, opts.kernel, points)
    run_guest(box, opts.kernel, points, 240 if short else 1200)
    res = result(box, points)
    if opts.check:
        return 1 if check(points) else 0
    part = "-part" * bool(short or opts.only) + f"-{opts.kernel}" * (not limited)
    (TOP / "build" / f"bench{part}.json").write_text(
        json.dumps(res, indent=1) + "\n", "utf-8")
    print(f"kernel {res['kernel']}, commit {res['commit']}, cpu {CPU}, "
          f"mitigations {MITIGATIONS}\n{res['compiler']}, {res['qemu']}\n")
    print(tables(points, limited))
    if opts.write_reference:
        write_reference(res, points)
    missed = over_limit(points) if limited else []
    if missed:
        print(f"bench: over the limit: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
