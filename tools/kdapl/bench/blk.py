#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count the instructions of an I/O over datblk and over nvme-rdma (make bench-blk).

  tools/kdapl/bench/blk.py [--only REGEX]

tests/devices/bench/README.rst describes what is counted. The clock of the guest counts instructions
(see count.py). Each load of fio runs twice, with few and with many I/Os. A figure is the difference
of both, divided by the number of additional I/Os; nothing else is subtracted.

Prints the results as TAP, and writes build/blk.json and build/blk.svg. The modules must have been
built (tools/kdapl/check/build-modules stock-6.12).
"""

import argparse
import json
import re
import shutil
import subprocess
import sys

from count import APPEND, KERNEL, QEMU, TOP, commit, release

DEVICES = ("nvme", "datblk", "bare")
MTUS = (1500, 9000)
# Size, depth, I/Os of the short and the long run, and the largest ratio of datblk to nvme-rdma at
# MTU 1500 for reads and writes
LOADS = (("4k", 1, 400, 2400, 0.83, 0.88), ("4k", 32, 400, 2400, 0.70, 0.80),
         ("64k", 8, 50, 250, 0.93, 0.93), ("1m", 4, 4, 20, 1.00, 1.00))
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

# The time of the clock and of idle periods
clock() { awk '/^now at/ { print $3 } /idle_sleeptime/ { print $3 }' /proc/timer_list | xargs; }

# load DEVICE OPERATION SIZE DEPTH COUNT
load() {
	fio --name=load --filename="$(readlink "$1")" --rw="rand$2" --bs="$3" --iodepth="$4" --number_ios="$5" \\
		--ioengine=libaio --direct=1 --thread --norandommap --gtod_reduce=1 --disk_util=0 \\
		--eta=never --size=256m --allow_file_create=0 >fio 2>&1 || { cat fio; return 1; }
}

servers || exit
mtu=
while read -r id want device op size depth count; do
	[ "$want" = "$mtu" ] || { [ -z "$mtu" ] || disconnect; } || exit
	[ "$want" = "$mtu" ] || connect "$want" || exit
	mtu=$want
	before=$(clock)
	load "$device" "$op" "$size" "$depth" "$count" || exit
	echo "$id $before $(clock)" >>figures
done <points
disconnect
"""


class Point:
    """A load on a device."""

    def __init__(self, mtu, device, operation, load):
        self.mtu, self.device, self.operation = mtu, device, operation
        self.size, self.depth, self.few, self.many = load[:4]
        self.most = load[4 + OPERATIONS.index(operation)]
        self.runs = {}          # by number of I/Os: instructions, and idle nanoseconds

    @property
    def load(self):
        return f"{self.size} {self.operation}, depth {self.depth}, MTU {self.mtu}"

    def instructions(self):
        """For each I/O."""
        return (self.runs[self.many][0] - self.runs[self.few][0]) / (self.many - self.few)

    def json(self):
        return {"device": NAMES[self.device], "mtu": self.mtu, "size": self.size,
                "operation": self.operation, "depth": self.depth,
                "instructions": round(self.instructions()),
                "runs": [{"ios": ios, "instructions": busy, "idle_ns": idle}
                         for ios, (busy, idle) in self.runs.items()]}


def run_guest(box, points):
    modules = TOP / "build" / "modules" / release(KERNEL)
    shutil.rmtree(box, ignore_errors=True)
    (box / "selftests").mkdir(parents=True)
    shutil.copy(TOP / "tests" / "selftests" / "lib.sh", box / "selftests")
    for module in ("kdapl", "datblk_core", "datblk_server", "datblk_client"):
        shutil.copy(modules / f"{module}.ko", box)
    # The first run of fio also reads it from the disk
    runs = [(points[0], points[0].few)] + [(p, ios) for p in points for ios in (p.few, p.many)]
    (box / "points").write_text("".join(
        f"{points.index(p)} {p.mtu} {p.device} {p.operation} {p.size} {p.depth} {ios}\n"
        for p, ios in runs), "ascii")
    (box / "guest.sh").write_text(GUEST, "ascii")
    command = [TOP / "tools/kdapl/lab/run_in_vm.py", "--time", "3600", "--icount", "--dir", box,
               "--log", box / "console.log", *(f"--append={argument}" for argument in APPEND),
               *(f"--qemu-opts={option}" for option in QEMU), KERNEL, "bash guest.sh"]
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        sys.exit(f"blk: the guest failed, see {box}/console.log")
    lines = (box / "figures").read_text("ascii").splitlines()
    for (point, ios), line in zip(runs, lines, strict=True):
        begin, idle, end, idle_end = map(float, line.split()[1:])
        idle = round(idle_end - idle)
        point.runs[ios] = (round(end - begin) - idle, idle)


def compare(points):
    """For each load: the figures, the ratio of datblk to nvme-rdma, and its limit."""
    rows = {}
    for p in points:
        row = rows.setdefault(p.load, {"load": p.load})
        row[NAMES[p.device]] = round(p.instructions())
        if p.mtu == MTUS[0]:
            row["limit"] = p.most
    for row in rows.values():
        row["ratio"] = round(row["datblk"] / row["nvme-rdma"], 3)
    return list(rows.values())


PLOT = """
set terminal svg size 1000,500 dynamic background rgb "white"
set style data histograms
set style fill solid 0.7
set grid ytics
set key top left
set yrange [0:*]
set xtics rotate by -25
set title "datblk: instructions for each I/O, nvme-rdma is 1"
plot "$rows" using 2:xtic(1) title "datblk", "" using 3 title "limit" with points pointtype 2
"""


def plot(rows, path):
    lines = "".join(f'"{r["load"]}" {r["ratio"]} {r.get("limit", "NaN")}\n' for r in rows)
    script = f"$rows << END\n{lines}END\nset output '{path}'\n" + PLOT.replace('"$rows"', "$rows")
    subprocess.run(["gnuplot"], input=script, check=True, text=True)


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
    failed = 0
    for number, row in enumerate(rows, 1):
        bad = row["ratio"] > row.get("limit", row["ratio"])
        failed += bad
        print(f"{'not ' * bad}ok {number} - {row['load']}: datblk {row['datblk']:,}, nvme-rdma "
              f"{row['nvme-rdma']:,} instructions: ratio {row['ratio']:.3f}" + (f", at most {row['limit']:.2f}" if "limit" in row else ""))
    print(f"1..{len(rows)}")
    if not only:
        (TOP / "build" / "blk.json").write_text(json.dumps({
            "kernel": release(KERNEL), "commit": commit(),
            "datblk_below_nvme": all(row["ratio"] < 1 for row in rows), "loads": rows,
            "figures": [p.json() for p in points]}, indent=1) + "\n", "utf-8")
        plot(rows, TOP / "build" / "blk.svg")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
