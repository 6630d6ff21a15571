#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The block device over DAT (drivers/block/datblk) against peers that break its protocol
# (tests/consumers/stress/blk_hostile): a hostile client of the server, and a hostile server of the client,
# on plain verbs over rxe. HOSTILE_MESSAGES and HOSTILE_SEED set the number of messages of each
# (500; 100 in the short form) and the seed.
# covers: malformed, random and out-of-order messages at each state of a login and of a command
# tier: short

. "${0%/*}/lib.sh"

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ]; then
	tap_plan 1
	tap_skip "hostile peers of the block device" "this kernel has no configfs, which the server needs"
	exit
fi

messages=${HOSTILE_MESSAGES:-$((${KDAPL_SHORT:-0} ? 100 : 500))}
config=/sys/kernel/config/datblk
work=/run/datblk-hostile
address=10.9.9.1
qual=4499

tidy() {
	rmmod kdapl_blk_hostile 2>/dev/null
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	rmdir $config/devices/* $config/ports/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	umount "$work" 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# export_file NAME READ_ONLY: export a file of random bytes
export_file() {
	local dir=$config/devices/$1

	dd if=/dev/urandom of="$work/$1" bs=64k count=64 status=none && mkdir "$dir" &&
		echo "$work/$1" >"$dir/path" && echo "$2" >"$dir/read_only" && echo 1 >"$dir/enable"
}

start() {
	mkdir -p "$work" && mount -t tmpfs -o size=64m tmpfs "$work" && modprobe -q configfs || return
	[ -d /sys/kernel/config/datblk ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $config/ports/p0 && echo rxe0/1 >$config/ports/p0/ia &&
		echo 1 >$config/ports/p0/enable && export_file open 0 && export_file sealed 1 &&
		export_file honest 0 && export_file other 0 && sums >"$work/sums"
}

# Checksums of the files that the hostile client must not change
sums() { md5sum "$work/sealed" "$work/other"; }

# advances: a hundredth of the messages, or all, have been sent since the last call
advances() {
	local percent

	percent=$(cat "$DEBUGFS/kdapl_blk_hostile/progress")
	[ "$percent" = 100 ] || [ "$percent" -gt "$before" ] || { echo "hangs at $percent %"; return 1; }
}

# begin OPTIONS...: load the hostile module
begin() {
	kdapl_insmod kdapl_blk_hostile stretch="$KDAPL_FACTOR" address=$address \
		messages="$messages" seed="${HOSTILE_SEED:-1}" "$@"
}

# finish: wait for the verdict of the hostile module
finish() {
	local before=-1 status=0

	while [ "$before" != 100 ] && [ "$status" = 0 ]; do
		wait_for advances || status=1
		before=$(cat "$DEBUGFS/kdapl_blk_hostile/progress")
	done
	[ "$status" = 1 ] || cat "$DEBUGFS/kdapl_blk_hostile/verdict" >"$work/verdict"
	rmmod kdapl_blk_hostile || status=1
	[ "$status" = 0 ] && cat "$work/verdict" && grep -q '^ok 1' "$work/verdict"
}

# attacked: a hostile client sends its messages
attacked() { begin names=open,sealed,honest && finish; }

untouched() { sums | cmp - "$work/sums"; }

# attach OPTIONS...: connect a disk, and store its name
attach() {
	local name

	exec 3<>/dev/datblk-control || return
	! echo "connect ia=rxe0/1 address=$address $*" >&3 || read -r name <&3
	exec 3>&-
	echo "$name" >"$work/name"
	[ -n "$name" ]
}

# detach FILE: disconnect the disk with the name in the file
detach() { echo "disconnect $(cat "$1") force" >/dev/datblk-control; }

# An export works: what is written is read again
works() {
	local status=0

	attach "device=$1" || return
	head -c 1M /dev/urandom >"$work/data"
	dd if="$work/data" of="/dev/$(cat "$work/name")" bs=64k oflag=direct conv=nocreat,fsync status=none &&
		dd if="/dev/$(cat "$work/name")" bs=64k count=16 iflag=direct status=none |
		cmp - "$work/data" || status=1
	detach "$work/name" && return "$status"
}

# load DISK: read and write in all sizes until the hostile server has ended. fio stops when a flush
# fails; ignore all errors
load() {
	until [ -e "$work/ended" ]; do
		fio --allow_file_create=0 --name=load --filename="/dev/$1" --ioengine=libaio --rw=randrw --bsrange=512-64k \
			--size=4M --iodepth=16 --direct=1 --fsync=16 --continue_on_error=all \
			--time_based --runtime=5 >/dev/null 2>&1
	done
}

# connected DEVICE: connect a disk, with shared connections, to the hostile server. If the server ends during the
# partition scan, the I/O of the scan fails after 20 seconds
connected() {
	attach "device=$1 qual=$qual queues=2 share=1 fail_io_timeout=20" && mv "$work/name" "$work/disk-$1"
}

# impatient: let disks ask after a second, instead of 30, whether the server is alive. The hostile server
# ends the connection then. An answer that was spoiled may have been the last one
impatient() {
	local disk

	until [ -e "$work/ended" ]; do
		for disk in /sys/block/datblk*; do
			echo 1000 >"$disk/queue/io_timeout"
		done 2>/dev/null
		sleep 1
	done
}

# served: the client survives a hostile server. The server injects no faults until two disks are
# connected and share its connections
served() {
	local jobs=() status=0 disk

	begin qual=$qual counting=0 || return
	if connected any && connected more; then
		impatient &
		jobs+=($!)
		for disk in "$work"/disk-*; do
			load "$(cat "$disk")" &
			jobs+=($!)
		done
		echo 1 >/sys/module/kdapl_blk_hostile/parameters/counting
	else
		status=1
		rmmod kdapl_blk_hostile
	fi
	[ "$status" = 1 ] || finish || status=1
	: >"$work/ended"
	for disk in "$work"/disk-*; do
		[ ! -e "$disk" ] || detach "$disk" || status=1
	done
	wait "${jobs[@]}"
	return "$status"
}

tap_plan 6
rxe_setup
if ! tap_check "modules load, four files are exported" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "a hostile client, $messages messages" attacked
tap_check "the hostile client has changed neither the read-only device nor another one" untouched
tap_check "the device of the hostile client works" works open
tap_check "a hostile server, $messages messages" served &&
	tap_diag "$(cat "$work/verdict")"
tap_check "a device of the real server works" works other
