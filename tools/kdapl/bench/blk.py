#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count the instructions of an I/O over datblk and over nvme-rdma (make bench-blk).

  tools/kdapl/bench/blk.py [--only REGEX]

tests/devices/bench/README.rst describes what is counted. The clock of the guest counts instructions
(see count.py). load.c makes the I/Os in several rounds. A figure is the median of the rounds.

Prints the results as TAP, and writes build/blk.json and build/blk.svg. The modules must have been
built (tools/kdapl/check/build-modules stock-6.12).
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys

from count import APPEND, HERE, KERNEL, QEMU, TOP, commit, release

DEVICES = ("nvme", "datblk", "bare")
MTUS = (1500, 9000)
# KiB, depth, I/Os of a round, and the largest ratio of datblk to nvme-rdma at MTU 1500 for reads
# and writes
LOADS = ((4, 1, 500, 0.83, 0.88), (4, 32, 1000, 0.70, 0.80), (64, 8, 100, 0.93, 0.93),
         (1024, 4, 16, 1.00, 1.00))
ROUNDS = 5
# Largest spread of a figure
MOST_SPREAD = 0.02
OPERATIONS = ("read", "write")
NAMES = {"nvme": "nvme-rdma", "datblk": "datblk", "bare": "null_blk"}

GUEST = """
export KDAPL_DIR=$PWD
. selftests/lib.sh
target=/sys/kernel/config/nvmet
config=/sys/kernel/config/datblk

servers() {
	rxe_setup 0 && modprobe null_blk nr_devices=3 gb=1 queue_mode=2 && kdapl_insmod kdapl &&
		modprobe nvme_core multipath=N && modprobe -a nvmet-rdma nvme-rdma && insmod datblk_core.ko &&
		insmod datblk_server.ko && insmod datblk_client.ko &&
		{ [ -d $target ] || mount -t configfs none /sys/kernel/config; } || return
	mkdir $target/subsystems/bench $target/subsystems/bench/namespaces/1 $target/ports/1 &&
		echo 1 >$target/subsystems/bench/attr_allow_any_host &&
		echo /dev/nullb0 >$target/subsystems/bench/namespaces/1/device_path &&
		echo 1 >$target/subsystems/bench/namespaces/1/enable &&
		echo rdma >$target/ports/1/addr_trtype && echo ipv4 >$target/ports/1/addr_adrfam &&
		echo 10.9.9.1 >$target/ports/1/addr_traddr &&
		echo 4420 >$target/ports/1/addr_trsvcid || return
	mkdir $config/devices/bench $config/ports/p0 &&
		echo /dev/nullb1 >$config/devices/bench/path &&
		echo 1 >$config/devices/bench/enable && echo rxe0/1 >$config/ports/p0/ia || return
}

# The path MTU of a connection is that of the device when it is made
connect() {
	ip link set dummy0 mtu "$1" && ln -s $target/subsystems/bench $target/ports/1/subsystems/ &&
		echo 1 >$config/ports/p0/enable || return
	echo "transport=rdma,traddr=10.9.9.1,trsvcid=4420,nqn=bench" >/dev/nvme-fabrics &&
		wait_for test -b /dev/nvme0n1 || return
	exec 3<>/dev/datblk-control || return
	echo "connect ia=rxe0/1 address=10.9.9.1 device=bench" >&3 && read -r disk <&3 || return
	exec 3>&-
	wait_for test -b "/dev/$disk" && ln -sf /dev/nvme0n1 nvme && ln -sf "/dev/$disk" datblk &&
		ln -sf /dev/nullb2 bare
	for file in /sys/block/{nvme,datblk,nullb}*/queue/scheduler; do
		echo none >"$file" || return
	done
}

disconnect() {
	echo "disconnect $disk" >/dev/datblk-control && echo 0 >$config/ports/p0/enable &&
		echo 1 >/sys/class/nvme/nvme0/delete_controller && rm $target/ports/1/subsystems/bench
}

servers || exit
mtu=
while read -r id want device arguments; do
	[ "$want" = "$mtu" ] || { [ -z "$mtu" ] || disconnect; } || exit
	[ "$want" = "$mtu" ] || connect "$want" || exit
	mtu=$want
	# shellcheck disable=SC2086 # several arguments
	./load "$(readlink "$device")" $arguments >rounds || exit
	echo "$id $(xargs <rounds)" >>figures
done <points
disconnect
"""


class Point:
    """A load on a device."""

    def __init__(self, mtu, device, operation, load):
        self.mtu, self.device, self.operation = mtu, device, operation
        self.kib, self.depth, self.ios = load[:3]
        self.most = load[3 + OPERATIONS.index(operation)]
        self.rounds = []        # instructions for each I/O
        self.idle = 0           # nanoseconds of all rounds

    @property
    def load(self):
        size = f"{self.kib}k" if self.kib < 1024 else f"{self.kib // 1024}m"
        return f"{size} {self.operation}, depth {self.depth}, MTU {self.mtu}"

    def line(self, number):
        return (f"{number} {self.mtu} {self.device} {self.operation} {self.kib << 10} "
                f"{self.depth} {self.ios} {ROUNDS}\n")

    def take(self, figures):
        """Nanoseconds of the rounds, and those of them that were idle, in turn."""
        for took, idle in zip(figures[::2], figures[1::2], strict=True):
            self.rounds.append(round((took - idle) / self.ios))
            self.idle += idle

    def instructions(self):
        return round(statistics.median(self.rounds))

    def spread(self):
        """Distance of the quartiles, as a part of the figure."""
        low, _, high = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return round((high - low) / self.instructions(), 4)

    def json(self):
        return {"device": NAMES[self.device], "mtu": self.mtu, "kib": self.kib,
                "operation": self.operation, "depth": self.depth,
                "instructions": self.instructions(), "spread": self.spread(),
                "rounds": self.rounds, "ios": self.ios, "idle_ns": self.idle}


def fill_box(box, points):
    modules = TOP / "build" / "modules" / release(KERNEL)
    shutil.rmtree(box, ignore_errors=True)
    (box / "selftests").mkdir(parents=True)
    shutil.copy(TOP / "tests" / "selftests" / "lib.sh", box / "selftests")
    for module in ("kdapl", "datblk_core", "datblk_server", "datblk_client"):
        shutil.copy(modules / f"{module}.ko", box)
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", box / "load", HERE / "load.c"],
                   check=True)
    (box / "points").write_text("".join(p.line(n) for n, p in enumerate(points)), "ascii")
    (box / "guest.sh").write_text(GUEST, "ascii")


def run_guest(box, points):
    fill_box(box, points)
    command = [TOP / "tools/kdapl/lab/run_in_vm.py", "--time", "3600", "--icount", "--dir", box,
               "--log", box / "console.log", *(f"--append={argument}" for argument in APPEND),
               *(f"--qemu-opts={option}" for option in QEMU), KERNEL, "bash guest.sh"]
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        sys.exit(f"blk: the guest failed, see {box}/console.log")
    for line in (box / "figures").read_text("ascii").splitlines():
        number, *figures = map(int, line.split())
        points[number].take(figures)


def compare(points):
    """For each load: the figures, the ratio of datblk to nvme-rdma, and its limit."""
    rows = {}
    for p in points:
        row = rows.setdefault(p.load, {"load": p.load})
        row[NAMES[p.device]] = p.instructions()
        row["spread"] = max(row.get("spread", 0), p.spread())
        if p.mtu == MTUS[0]:
            row["limit"] = p.most
    for row in rows.values():
        row["ratio"] = round(row["datblk"] / row["nvme-rdma"], 3)
    return list(rows.values())


BAR, GAP, LEFT = 18, 8, 240     # of the diagram, in pixels
UNIT = 600                      # width of the ratio 1


def svg(rows):
    """Bars of the ratios, and lines at their limits."""
    height = (BAR + GAP) * len(rows) + 50
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + UNIT + 120}" '
             f'height="{height}" font-family="sans-serif" font-size="13">',
             '<rect width="100%" height="100%" fill="white"/>',
             '<text x="10" y="20">datblk: instructions of an I/O; nvme-rdma is 1, a line is the '
             'limit</text>']
    for n, row in enumerate(rows):
        y, end = 36 + n * (BAR + GAP), LEFT + UNIT * row["ratio"]
        lines += [f'<text x="10" y="{y + 14}">{row["load"]}</text>',
                  f'<rect x="{LEFT}" y="{y}" width="{end - LEFT:.0f}" height="{BAR}" '
                  'fill="#5b8fc7"/>',
                  f'<text x="{end + 6:.0f}" y="{y + 14}">{row["ratio"]:.3f}</text>']
        if "limit" in row:
            x = LEFT + UNIT * row["limit"]
            lines.append(f'<path d="M{x:.0f} {y - 2}v{BAR + 4}" stroke="#c33" stroke-width="2"/>')
    return "\n".join(lines + ["</svg>\n"])


def report(rows):
    """Print the results; returns the number of those that failed."""
    failed = 0
    for number, row in enumerate(rows, 1):
        bad = row["ratio"] > row.get("limit", row["ratio"]) or row["spread"] > MOST_SPREAD
        failed += bad
        limit = f", at most {row['limit']:.2f}" if "limit" in row else ""
        print(f"{'not ' * bad}ok {number} - {row['load']}: datblk {row['datblk']:,}, nvme-rdma "
              f"{row['nvme-rdma']:,} instructions: ratio {row['ratio']:.3f}{limit}; spread "
              f"{row['spread']:.1%}")
    print(f"1..{len(rows)}")
    below = sum(row["ratio"] < 1 for row in rows)
    print(f"# bench-blk: {len(rows) - failed} passed, {failed} failed; datblk below nvme-rdma in "
          f"{below} of {len(rows)} loads")
    return failed


def main():
    top = argparse.ArgumentParser(description=__doc__,
                                  formatter_class=argparse.RawTextHelpFormatter)
    top.add_argument("--only", metavar="REGEX", default="", help="only loads that match")
    only = top.parse_args().only
    points = [Point(mtu, device, operation, load) for mtu in MTUS for load in LOADS
              for operation in OPERATIONS for device in DEVICES
              if device != "bare" or mtu == MTUS[0]]
    points = [p for p in points if re.search(only, p.load)]
    if not points:
        sys.exit(f"blk: no load matches --only {only}")
    run_guest(TOP / "build" / "vm" / f"{KERNEL}-bench-blk", points)
    rows = compare(points)
    failed = report(rows)
    if not only:
        (TOP / "build" / "blk.json").write_text(json.dumps({
            "kernel": release(KERNEL), "commit": commit(),
            "datblk_below_nvme": all(row["ratio"] < 1 for row in rows), "loads": rows,
            "figures": [p.json() for p in points]}, indent=1) + "\n", "utf-8")
        (TOP / "build" / "blk.svg").write_text(svg(rows), "utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
