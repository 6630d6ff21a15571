#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The block device over DAT (drivers/block/datblk) with backing devices that are slow: one delays
# each write (dm-delay), one has a limit of bandwidth (null_blk). Client and server are in one
# guest, over rxe.
# covers: a command on which a slow device works is not repeated, and no connection breaks

. "${0%/*}/lib.sh"

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ] || ! modprobe -q dm-delay || ! modprobe -q null_blk nr_devices=0; then
	tap_plan 1
	tap_skip "slow backing devices" "this kernel has no configfs, dm-delay or null_blk"
	exit
fi

config=/sys/kernel/config/datblk
devices=$config/devices
null=/sys/kernel/config/nullb/slow
work=/run/datblk-slow
address=10.9.9.1
# Milliseconds until the disk asks whether the server is alive, and by which the device delays a write
timeout=1000
delay=3000

tidy() {
	: >$work/stop
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	rmdir $devices/* $config/ports/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	[ ! -e /dev/mapper/slow ] || wait_for dmsetup remove --noudevsync slow
	[ -z "${back:-}" ] || losetup -d "$back"
	[ ! -d $null ] || rmdir $null
	umount $work 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# export_device NAME PATH
export_device() {
	mkdir "$devices/$1" && echo "$2" >"$devices/$1/path" && echo 1 >"$devices/$1/enable"
}

# attach NAME: connect a disk, whose name is in disk, with a short time-out
attach() {
	disk=
	exec 3<>/dev/datblk-control || return
	! echo "connect ia=rxe0/1 address=$address device=$1 queues=2" >&3 || read -r disk <&3
	exec 3>&-
	[ -n "$disk" ] && echo $timeout >"/sys/block/$disk/queue/io_timeout"
}

# with_disk NAME COMMAND...: run the command with a disk, which keeps its first connections
with_disk() {
	local status=0

	attach "$1" || return
	"${@:2}" || status=1
	[ "$(cat "/sys/block/$disk/datblk/recoveries")" = 0 ] || { echo "the disk has reconnected"; status=1; }
	echo "disconnect $disk" >/dev/datblk-control && return "$status"
}

# writes DEVICE: print the number of writes that it has completed
writes() { awk '{ print $5 }' "/sys/block/$1/stat"; }

# Each write takes three times as long as the time-out, and reaches the device once
delayed() {
	local dm before begin number=16

	dm=$(dmsetup info -c --noheadings -o blkdevname slow)
	before=$(writes "$dm")
	begin=${EPOCHREALTIME/./}
	dd if=/dev/urandom of=$work/data bs=64k count=$number status=none &&
		(cd $work && fio --allow_file_create=0 --name=delayed --filename="/dev/$disk" --ioengine=libaio --rw=write --bs=64k \
			--size=$((number * 64))k --iodepth=$number --direct=1 --verify=crc32c --do_verify=0) || return
	[ $((${EPOCHREALTIME/./} - begin)) -ge $((delay * 1000)) ] || { echo "the device has not delayed"; return 1; }
	[ $(($(writes "$dm") - before)) = $number ] ||
		{ echo "expected $number writes of $dm, found $(($(writes "$dm") - before))"; return 1; }
	(cd $work && fio --allow_file_create=0 --name=delayed --filename="/dev/$disk" --ioengine=libaio --rw=read --bs=64k \
		--size=$((number * 64))k --iodepth=$number --direct=1 --verify=crc32c --verify_fatal=1)
}

# load DISK: verified writes until $work/stop exists
load() {
	until [ -e $work/stop ]; do
		(cd $work && fio --allow_file_create=0 --name=limited --filename="/dev/$1" --ioengine=libaio --rw=randwrite --bs=64k \
			--size=4M --iodepth=32 --direct=1 --verify=crc32c --verify_fatal=1 --verify_dump=0) || return
	done
}

# The device needs longer than the time-out for what is in flight; another one is read meanwhile
limited() {
	local slow=$disk writer status=0

	load "$slow" >$work/load 2>&1 &
	writer=$!
	wait_for in_flight "$slow" && with_disk delayed read_one || status=1
	: >$work/stop
	disk=$slow
	wait "$writer" || { cat $work/load; status=1; }
	return "$status"
}

read_one() { dd if="/dev/$disk" of=/dev/null bs=64k count=4 iflag=direct status=none; }

# in_flight DISK: the device needs more than the time-out for what the disk has in flight
in_flight() {
	local reads writes

	read -r reads writes <"/sys/block/$1/inflight"
	[ $((reads + writes)) -ge 24 ] || { echo "$1: expected 24 in flight, found $((reads + writes))"; return 1; }
}

start() {
	mkdir -p $work && mount -t tmpfs -o size=64m tmpfs $work && truncate -s 16M $work/file &&
		modprobe -q configfs && modprobe -q loop && modprobe -q crc32c || return
	[ -d $config ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $config/ports/p0 && echo rxe0/1 >$config/ports/p0/ia && echo 1 >$config/ports/p0/enable
}

# Reads are not delayed
delayed_device() {
	dmsetup create slow --noudevsync --table "0 32768 delay $back 0 0 $back 0 $delay" && dmsetup mknodes &&
		export_device delayed /dev/mapper/slow
}

# With mbps=1 null_blk lets 20 KiB pass every 20 ms, and nothing that is larger
limited_device() {
	mkdir $null && echo 64 >$null/size && echo 1 >$null/memory_backed && echo 1 >$null/mbps &&
		echo 32 >$null/max_sectors && echo 1 >$null/power && export_device limited /dev/slow
}

tap_plan 5
rxe_setup
if ! tap_check "modules load, a port listens" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
back=$(losetup -f --show $work/file)
tap_check "a device that delays writes is exported" delayed_device || exit
tap_check "writes that take three times the time-out are sent once" with_disk delayed delayed
tap_check "a device with a limit of bandwidth is exported" limited_device || exit
tap_check "a device that is too slow for its load keeps its connections, and stops no other" with_disk limited limited
