#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The block device over DAT (drivers/block/datblk) while allocations fail: each one of a connect in
# turn, and any of those of the kernel threads that log in, reconnect and execute I/O. Client and
# server are in one guest, over rxe. Needs a kernel with fault injection.
# covers: a failed allocation fails a login, an attempt or a request, and nothing hangs or leaks

. "${0%/*}/lib.sh"

if ! has_fault_injection || [ ! -e "$KDAPL_DIR/datblk_server.ko" ]; then
	echo "1..0 # SKIP the kernel has no fault injection for allocations, or no configfs"
	exit 0
fi

config=/sys/kernel/config/datblk
work=/run/datblk-fault
connect="connect ia=rxe0/1 address=10.9.9.1 device=disk queues=1 depth=4"

tidy() {
	failing_threads 0
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
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $config/ports/p0 $config/devices/disk && echo rxe0/1 >$config/ports/p0/ia &&
		echo $work/disk >$config/devices/disk/path && echo 1 >$config/devices/disk/enable &&
		echo 1 >$config/ports/p0/enable
}

# each_allocation: connect again and again, with another allocation of the calling task failing each
# time, until a connect has no allocation left that could fail
each_allocation() {
	python3 - "$connect" <<-'END'
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

# failing_threads PERCENT: so many allocations of the threads of work queues fail
failing_threads() {
	local task flag=0

	[ "$1" = 0 ] || flag=1
	echo "$1" >"$DEBUGFS/failslab/probability"
	for task in /proc/[0-9]*; do
		[[ $(cat "$task/comm" 2>/dev/null) != kworker/u* ]] || echo $flag >"$task/make-it-fail" 2>/dev/null
	done
	return 0
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
state() { [ "$(cat "/sys/block/$(cat $work/name)/datblk/state")" = "$1" ]; }

# Each login allocates in threads of the server
logins() {
	local i good=0

	for i in {1..20}; do
		failing_threads 5
		! attach || { good=$((good + 1)); detach; }
	done
	failing_threads 0
	echo "$good of 20 succeeded"
	attach && detach
}

# reconnects N: end the connections again and again; the disk is live in the end
reconnects() {
	local i

	attach || return
	for ((i = 0; i < $1; i++)); do
		echo 0 >$config/devices/disk/enable && echo 1 >$config/devices/disk/enable || return
		failing_threads 5
		sleep 1
	done
	failing_threads 0
	wait_for state live
	local status=$?

	detach && return "$status"
}

# A request fails, or it has its data
io() {
	local i disk wrong=0 good=0

	attach && disk=/dev/$(cat $work/name) || return
	for i in {1..60}; do
		head -c 64K /dev/urandom >$work/data
		failing_threads 5
		if dd if=$work/data of="$disk" bs=64k seek=$((i % 8)) oflag=direct conv=nocreat,fsync \
			status=none 2>/dev/null; then
			good=$((good + 1))
			failing_threads 0
			dd if="$disk" bs=64k skip=$((i % 8)) count=1 iflag=direct status=none |
				cmp - $work/data || wrong=$((wrong + 1))
		fi
	done
	failing_threads 0
	detach
	echo "$good of 60 writes succeeded, $wrong were wrong"
	[ "$good" -gt 0 ] && [ "$wrong" = 0 ]
}

checks=6
! has_kmemleak || checks=7
tap_plan $checks
rxe_setup
kdapl_fail_allocs
echo 0 >"$DEBUGFS/fail_page_alloc/probability"
if ! tap_check "modules load, a file is exported" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "each allocation of a connect fails once" each_allocation
tap_check "logins while allocations of the server fail" logins
tap_check "a disk connects again while allocations fail" reconnects 10
tap_check "writes while allocations fail" io
tidy
trap - EXIT
tap_check "all modules unload" test ! -e /sys/module/kdapl
! has_kmemleak || tap_check "kmemleak reports no leak" kmemleak_scan
