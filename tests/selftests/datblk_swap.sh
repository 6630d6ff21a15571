#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Swap on a disk of the block device over DAT (drivers/block/datblk) while its server restarts. A
# task whose memory is limited swaps; client and server are in the same guest, over rxe.
# KDAPL_BLK_ROUNDS=N: N restarts (default 2)
# covers: memory that was swapped out to a disk comes back, and a restart of the server hangs nobody

. "${0%/*}/lib.sh"

# Newer kernels list only controllers that cgroup v1 supports in /proc/cgroups, so ask cgroup v2. If
# cgroup v2 cannot be mounted, return success, so that the test fails later instead of being skipped
has_memory_limits() {
	local dir status

	dir=$(mktemp -d) && mount -t cgroup2 cgroup2 "$dir" || return 0
	grep -qw memory "$dir/cgroup.controllers"
	status=$?
	umount "$dir" && rmdir "$dir" && return "$status"
}

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ] || ! has_memory_limits; then
	tap_plan 1
	tap_skip "swap on a disk" "this kernel has no configfs or no memory controller"
	exit
fi

rounds=${KDAPL_BLK_ROUNDS:-2}
config=/sys/kernel/config/datblk
work=/run/datblk-swap
group=$work/cgroup/swapping
address=10.9.9.1

tidy() {
	: >$work/stop
	[ -z "${swapping:-}" ] || wait "$swapping"
	[ -z "${disk:-}" ] || swapoff "/dev/$disk" 2>/dev/null
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	rmdir $config/devices/* $config/ports/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	rmdir $group 2>/dev/null
	umount $work/cgroup $work 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

start() {
	mkdir -p $work && mount -t tmpfs -o size=300m tmpfs $work && truncate -s 192M $work/file &&
		mkdir $work/cgroup && mount -t cgroup2 cgroup2 $work/cgroup || return
	echo +memory >$work/cgroup/cgroup.subtree_control && mkdir $group &&
		echo 32M >$group/memory.max || return
	modprobe -q configfs
	[ -d $config ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $config/ports/p0 $config/devices/swap && echo rxe0/1 >$config/ports/p0/ia &&
		echo $work/file >$config/devices/swap/path && echo 1 >$config/devices/swap/enable &&
		echo 1 >$config/ports/p0/enable
}

# swap: connect a disk and swap on it
swap() {
	exec 3<>/dev/datblk-control || return
	! echo "connect ia=rxe0/1 address=$address device=swap queues=2" >&3 || read -r disk <&3
	exec 3>&-
	echo "$disk" >$work/name
	[ -n "$disk" ] && mkswap "/dev/$disk" && swapon "/dev/$disk"
}

# exchange: verify and change twice as much memory as fits, until $work/stop exists; $work/steps has
# the number of 16 MiB that were changed
exchange() {
	echo $BASHPID >$group/cgroup.procs && exec python3 - $work <<-'END'
		import os, struct, sys
		work, pages = sys.argv[1], (64 << 20) // 4096
		memory, steps = bytearray(pages * 4096), 0
		for page in range(pages):
		    struct.pack_into("<QQ", memory, page * 4096, 0, page)
		while not os.path.exists(work + "/stop"):
		    step, old = steps % 4, steps // 4
		    for page in range(step * pages // 4, (step + 1) * pages // 4):
		        found = struct.unpack_from("<QQ", memory, page * 4096)
		        if found != (old, page):
		            sys.exit(f"page {page}: expected {old}, found {found}")
		        struct.pack_into("<Q", memory, page * 4096, old + 1)
		    steps += 1
		    with open(work + "/steps.new", "w") as file:
		        file.write(f"{steps}\n")
		    os.rename(work + "/steps.new", work + "/steps")
	END
}

changed() { [ "$(cat $work/steps 2>/dev/null || echo 0)" -gt "$1" ]; }
state() { [ "$(cat "/sys/block/$disk/datblk/state")" = "$1" ]; }
not_live() { ! state live; }

# restarts: the server restarts while memory is swapped; each time the task goes on
restarts() {
	local i before

	wait_for changed 4 || return
	for ((i = 0; i < rounds; i++)); do
		before=$(cat $work/steps)
		echo 0 >$config/devices/swap/enable && wait_for not_live &&
			echo 1 >$config/devices/swap/enable && wait_for state live &&
			wait_for changed $((before + 1)) || return
	done
}

has_ended() { [ -e $work/status ]; }
ends() { : >$work/stop; wait_for has_ended && [ "$(cat $work/status)" = 0 ]; }

# The task has swapped through the disk
swapped() {
	local reads sectors

	read -r reads _ sectors _ <"/sys/block/$disk/stat"
	echo "$reads reads, $sectors sectors"
	[ "$sectors" -gt $((32 << 11)) ]
}

tap_plan 6
rxe_setup
if ! tap_check "modules load, a file is exported" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "a disk is used for swap" swap || exit
disk=$(cat $work/name)
{
	(exchange) >$work/output 2>&1
	echo $? >$work/status.new
	mv $work/status.new $work/status
} &
swapping=$!
tap_check "the server restarts $rounds times while memory is swapped" restarts
tap_check "all memory is right" ends || tap_diag "$(cat $work/output)"
swapping=
tap_check "the memory was on the disk" swapped
tap_check "the disk is not used any more" swapoff "/dev/$disk"
