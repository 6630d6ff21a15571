#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The block device over DAT (drivers/block/datblk) while each allocation of a connect fails in turn,
# while the N-th allocation of each kworker fails during a reconnect (N = 1, 2, ...), and while every
# 250th allocation of all kworkers fails under load. Client and server are in one guest, over rxe.
# Needs a kernel with fault injection.
# covers: a failed allocation fails a connect of a disk, delays a reconnect, and nothing hangs or leaks

. "${0%/*}/lib.sh"

if ! has_fault_injection || [ ! -e "$KDAPL_DIR/datblk_server.ko" ]; then
	echo "1..0 # SKIP the kernel has no fault injection for allocations, or no configfs"
	exit 0
fi

config=/sys/kernel/config/datblk
work=/run/datblk-fault
connect="connect ia=rxe0/1 address=10.9.9.1 device=disk queues=1 depth=4"

tidy() {
	: >$work/stop
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	rmdir $config/*/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	umount "$work" 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

start() {
	mkdir -p $work && mount -t tmpfs -o size=64m tmpfs $work && truncate -s 16M $work/disk || return
	[ -d $config ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	# A peer whose allocation failed may stay silent: its time limits are not stretched
	kdapl_insmod kdapl && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $config/ports/p0 $config/devices/disk && echo rxe0/1 >$config/ports/p0/ia &&
		echo $work/disk >$config/devices/disk/path && echo 1 >$config/devices/disk/enable &&
		echo 1 >$config/ports/p0/enable
}

# each_allocation: connect again and again, with another allocation of the client by the calling task
# failing each time, until a connect has no allocation left that could fail
each_allocation() {
	from datblk_client && python3 - "$connect" <<-'END'
		import os, sys
		fail = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
		failed = succeeded = 0
		for number in range(1, 10000):
		    with open("/dev/datblk-control", "r+b", buffering=0) as control:
		        os.pwrite(fail, b"%d" % number, 0)
		        try:
		            control.write(sys.argv[1].encode())
		            error = None
		        except OSError as caught:
		            error = caught
		        left = int(os.pread(fail, 16, 0))
		        os.pwrite(fail, b"0", 0)
		        disk = control.read(64).decode().strip()
		        if error and (disk or any(n.startswith("datblk") for n in os.listdir("/sys/block"))):
		            sys.exit(f"allocation {number}: {error}, and a disk {disk}")
		        if not error:
		            if not disk:
		                sys.exit(f"allocation {number}: no disk")
		            control.write(f"disconnect {disk} force".encode())
		            succeeded += 1
		        failed += bool(error)
		    if left:
		        break
		else:
		    sys.exit("it never ended")
		print(f"{number} connects: {failed} failed, {succeeded} succeeded")
		sys.exit(not failed or not succeeded or bool(error))
	END
}

attach() {
	local name

	exec 3<>/dev/datblk-control || return
	! echo "$connect" >&3 2>/dev/null || read -r name <&3
	exec 3>&-
	echo "$name" >$work/name
	[ -n "$name" ]
}

detach() { echo "disconnect $(cat $work/name) force" >/dev/datblk-control; }

# A disk works: what is written is read again
works() {
	local status=0

	attach || return
	copied || status=1
	detach && return "$status"
}

state() { [ "$(cat "/sys/block/$(cat $work/name)/datblk/state")" = "$1" ]; }
not_live() { ! state live; }

# load: verified writes until $work/stop exists
load() {
	until [ -e $work/stop ]; do
		(cd $work && fio --allow_file_create=0 --name=fault --filename="/dev/$(cat $work/name)" \
			--ioengine=libaio --rw=randwrite --bs=16k --size=4M --iodepth=16 --direct=1 \
			--verify=crc32c --verify_fatal=1 --verify_dump=0) || return
	done
}

# workers_fail N: of the allocations of all workers that do not come from rxe, every N-th one fails; 0: none
# fails
workers_fail() {
	local comm dir name

	for comm in /proc/[0-9]*/comm; do
		read -r name 2>/dev/null <"$comm" && [[ $name = kworker/* ]] &&
			echo 1 >"${comm%comm}make-it-fail"
	done 2>/dev/null
	for dir in "$DEBUGFS/fail_page_alloc" "$DEBUGFS/failslab"; do
		echo "$1" >"$dir/interval" && echo $(($1 ? 100 : 0)) >"$dir/probability" || return
	done
}

# faults: how many allocations have failed since the last call of count_faults
count_faults() { echo 1000000 >"$DEBUGFS/failslab/times"; }
faults() { echo $((1000000 - $(cat "$DEBUGFS/failslab/times"))); }

# One of its allocations may fail, too
enable() { echo 1 >$config/devices/disk/enable; }

# restarts: restart the server at least five times while allocations fail, until five slab allocations have
# failed, but at most 50 times
restarts() {
	local i

	for ((i = 0; i < 5 || (i < 50 && $(faults) < 5); i++)); do
		workers_fail 250 && echo 0 >$config/devices/disk/enable && wait_for not_live &&
			wait_for enable && wait_for state live || return
	done
}

# reconnects: verified writes and restarts, while allocations fail
reconnects() {
	local writer status=0

	not_from_rxe && attach && count_faults || return
	load >$work/load 2>&1 &
	writer=$!
	restarts || status=1
	workers_fail 0
	: >$work/stop
	wait "$writer" || { tail -n 5 $work/load; status=1; }
	echo "$(faults) allocations failed, recoveries: $(recoveries)"
	[ "$(faults)" -ge 5 ] && detach && return "$status"
}

# filter START END DEPTH: only those allocations fail that code at these addresses has asked for, at
# most DEPTH calls above
filter() {
	local kind

	for kind in failslab fail_page_alloc; do
		echo "$1" >"$DEBUGFS/$kind/require-start" && echo "$2" >"$DEBUGFS/$kind/require-end" &&
			echo "$3" >"$DEBUGFS/$kind/stacktrace-depth" || return
	done
}

# from MODULE: those that the module asks for, directly or in the modules that it calls. Far below
# the client's, the block layer and sysfs make more than a thousand for each disk
from() {
	local name size base

	read -r name size _ _ _ base _ < <(grep "^$1 " /proc/modules) &&
		filter "$base" "$(printf "0x%x" $((base + size)))" 10
}

# All but those of rxe, which is built in: when one for a packet of QP 1 fails, no connection can be
# made on the device any more (tests/rxe/qp1_error.sh)
not_from_rxe() {
	local addresses kind

	mapfile -t addresses < <(grep ' [tT] rxe_' /proc/kallsyms | grep -v rxe_module_ | cut -c1-16 | sort)
	[ "${#addresses[@]}" -gt 100 ] && filter 0 0xffffffffffffffff 32 || return
	for kind in failslab fail_page_alloc; do
		echo "0x${addresses[0]}" >"$DEBUGFS/$kind/reject-start" &&
			echo "0x${addresses[-1]}" >"$DEBUGFS/$kind/reject-end" || return
	done
}

# arm N: the N-th allocation of each worker fails
arm() {
	local file name

	armed=()
	for file in /proc/[0-9]*/comm; do
		read -r name <"$file" && [[ $name = kworker/* ]] && file=${file%comm}fail-nth &&
			echo "$1" >"$file" && armed+=("$file")
	done 2>/dev/null
	[ "${#armed[@]}" -gt 0 ]
}

# disarm: none fails any more. Adds the number of those that have failed to $failed
disarm() {
	local file left

	for file in "${armed[@]}"; do
		read -r left <"$file" && echo 0 >"$file" && ((failed += left == 0))
	done 2>/dev/null
	return 0
}

# copied: what is written to the disk is read again
copied() {
	local disk

	disk=/dev/$(cat $work/name) && head -c 64K /dev/urandom >$work/data &&
		dd if=$work/data of="$disk" bs=64k oflag=direct conv=nocreat,fsync status=none &&
		dd if="$disk" bs=64k count=1 iflag=direct status=none | cmp - $work/data
}

recoveries() { cat "/sys/block/$(cat $work/name)/datblk/recoveries"; }
recovered() { [ "$(recoveries)" -gt "$1" ]; }

# each_of_workers MODULE: restart the server while the N-th allocation that the module makes in each
# kworker fails, and increase N until none fails any more. The counters are those of kworkers: which
# of them runs which work is different in each restart
each_of_workers() {
	local armed before failed number old

	from "$1" && attach || return
	for ((number = 0, failed = 0, before = -1; failed > before; number++)); do
		before=$failed
		arm $((number + 1)) && old=$(recoveries) &&
			echo 0 >$config/devices/disk/enable && wait_for enable &&
			wait_for recovered "$old" && wait_for state live && copied || return
		disarm
	done
	echo "$number restarts, $failed allocations failed"
	detach && [ "$failed" -ge 5 ]
}

# Each connect that fails waits for grace periods of RCU
expedite() { echo "$1" >/sys/kernel/rcu_expedited; }

checks=7
! has_kmemleak || checks=8
tap_plan $checks
rxe_setup
kdapl_fail_allocs
echo 0 >"$DEBUGFS/fail_page_alloc/probability"
if ! tap_check "modules load, a file is exported" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
expedite 1
tap_check "each allocation of a connect fails once" each_allocation
tap_check "the N-th allocation of each worker of the client fails during a reconnect" each_of_workers datblk_client
tap_check "the N-th allocation of each worker of the server fails during a reconnect" each_of_workers datblk_server
expedite 0
tap_check "a disk reconnects, and its writes are right, while allocations of workers fail" reconnects
tap_check "a disk works afterwards" works
tidy
trap - EXIT
tap_check "all modules unload" test ! -e /sys/module/kdapl
! has_kmemleak || tap_check "kmemleak reports no leak" kmemleak_scan
