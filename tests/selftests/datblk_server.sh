#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The server of the block device over DAT (drivers/block/datblk) with backing devices that hang,
# fail or are slow. The client is in the same guest, over rxe.
# covers: one export or client cannot stop or exhaust the others, and no error of the device is lost
# tier: short

. "${0%/*}/lib.sh"

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ]; then
	tap_plan 1
	tap_skip "server of the block device" "this kernel has no configfs, which the server needs"
	exit
fi

config=/sys/kernel/config/datblk
devices=$config/devices
port=$config/ports/p0
work=/run/datblk-server
ext4=$work/ext4
address=10.9.9.1

tidy() {
	fsfreeze -u "$ext4" 2>/dev/null
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	rmdir $devices/* $config/ports/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	! mountpoint -q "$ext4" || wait_for umount "$ext4"
	umount "$work" 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# attach OPTIONS...: connect a disk, whose name is in $work/name
attach() {
	local name

	exec 3<>/dev/datblk-control || return
	! echo "connect ia=rxe0/1 address=$address $*" >&3 || read -r name <&3
	exec 3>&-
	echo "$name" >"$work/name"
	[ -n "$name" ]
}

detach() { echo "disconnect $*" >/dev/datblk-control; }

# with_disk OPTIONS COMMAND...: run the command with the name of a new disk, and remove the disk
with_disk() {
	local options=$1 name status=0

	shift
	# shellcheck disable=SC2086 # words
	attach $options || return
	name=$(cat "$work/name")
	"$@" "$name" || status=$?
	detach "$name" force
	return "$status"
}

enable() { echo "$2" >"$devices/$1/enable"; }

# export_device NAME PATH [read_only]
export_device() {
	mkdir "$devices/$1" && echo "$2" >"$devices/$1/path" &&
		echo "${3:-0}" >"$devices/$1/read_only" && enable "$1" 1
}

parameter() { echo "$2" >"/sys/module/datblk_server/parameters/$1"; }

read_one() { dd if="/dev/$1" of=/dev/null bs=4k count=1 iflag=direct status=none; }
write_one() { dd if=/dev/urandom of="/dev/$1" bs=4k count=1 oflag=direct conv=nocreat status=none; }

# waits PID: the task sleeps in the kernel
waits() { grep -q '^State:.*D' "/proc/$1/status"; }

# ended PID: the task has ended
ended() { ! kill -0 "$1" 2>/dev/null; }

# workers N: N threads or more wait for a file system that is frozen
workers() {
	local count

	count=$(grep -ls percpu_rwsem_wait /proc/[0-9]*/wchan | wc -l)
	[ "$count" -ge "$1" ] || { echo "expected $1 tasks in percpu_rwsem_wait, found $count"; return 1; }
}

# in_flight DISK N: the disk has N writes in flight or more
in_flight() {
	local reads writes

	read -r reads writes <"/sys/block/$1/inflight"
	[ $((reads + writes)) -ge "$2" ] || { echo "$1: expected $2 in flight, found $reads $writes"; return 1; }
}

# stuck DISK: start as many writes as the disk takes; they hang
stuck() {
	local cpu

	for cpu in 0 1; do
		(cd "$work" && exec fio --name=stuck --filename="/dev/$1" --ioengine=libaio --rw=randwrite \
			--bs=4k --size=8M --iodepth=160 --direct=1 --cpus_allowed="$cpu" >/dev/null 2>&1) &
		writers+=($!)
	done
	wait_for in_flight "$1" 200
}

# Another device can be connected and read while the file system of one is frozen, with 512
# commands in flight
frozen() {
	local one two status=0

	writers=()
	parameter depth 128
	attach device=frozen queues=2 depth=128 && one=$(cat "$work/name") &&
		attach device=frozen queues=2 depth=128 && two=$(cat "$work/name") || return
	fsfreeze -f "$ext4" || return
	stuck "$one" && stuck "$two" && wait_for workers 256 && with_disk "device=file queues=1" read_one ||
		status=1
	fsfreeze -u "$ext4"
	wait "${writers[@]}" || { echo "writes failed"; status=1; }
	parameter depth 32
	detach "$one" && detach "$two" && return "$status"
}

# opens PID: the task waits for a writer of the FIFO
opens() { grep -q wait_for_partner "/proc/$1/wchan"; }

# A path whose open hangs stops nobody else
fifo() {
	local opener status=0

	mkfifo "$work/fifo" && mkdir $devices/fifo && echo "$work/fifo" >$devices/fifo/path &&
		echo 1 >$devices/fifo/read_only || return
	(enable fifo 1 2>/dev/null) &
	opener=$!
	wait_for opens "$opener" && with_disk "device=file queues=1" read_one || status=1
	: >"$work/fifo"
	! wait "$opener" || { echo "a FIFO was exported"; status=1; }
	rmdir $devices/fifo && return "$status"
}

# A device whose I/O hangs: whoever disables it can be killed, it can be removed, and others be made
removed() {
	local name writer killed status=0

	attach "device=frozen queues=1 fail_io_timeout=1" && name=$(cat "$work/name") &&
		fsfreeze -f "$ext4" || return
	write_one "$name" 2>/dev/null &
	writer=$!
	wait_for workers 1 || status=1
	bash -c "echo 0 >$devices/frozen/enable" &
	killed=$!
	wait_for waits "$killed" && kill -9 "$killed" && wait_for ended "$killed" || status=1
	! enable frozen 1 2>/dev/null || { echo "enabled while it is being closed"; status=1; }
	timeout "$HANG" rmdir $devices/frozen && timeout "$HANG" mkdir $devices/other &&
		rmdir $devices/other || status=1
	fsfreeze -u "$ext4"
	detach "$name" force
	wait "$writer"
	wait_for umount "$ext4" && return "$status"
}

# A host gets no more connections than it may have, and the log says why
crowded() {
	parameter host_connections 2
	! attach device=file queues=3 2>/dev/null || { echo "3 connections"; return 1; }
	logged 1 "datblk_server: $address: login to \"file\" refused: too many connections of the host" &&
		with_disk "device=file queues=2" shows "$address" || return
	parameter host_connections 64
	parameter device_connections 2
	! attach device=file queues=3 2>/dev/null || { echo "3 connections to the device"; return 1; }
	parameter device_connections 128
	logged 1 "too many connections to the device"
}

# shows ADDRESS DISK: the server shows the address of its client
shows() { grep -q "^$1 host" $devices/file/connections; }

# recovered DISK N: more than N sessions have followed the first
recovered() { [ "$(cat "/sys/block/$1/datblk/recoveries")" -gt "$2" ]; }

# Nobody uses the disk after it has connected again
silent() {
	parameter first_command 1
	enable file 0 && enable file 1 && wait_for recovered "$1" 2
	set -- $?
	parameter first_command 0
	return "$1"
}

regions() { grep -c . "$DEBUGFS/kdapl/lmrs"; }

# The server allocates memory for data when commands need it
memory() {
	local before after

	before=$(regions)
	(cd "$work" && fio --name=memory --filename="/dev/$1" --ioengine=libaio --rw=randread --bs=64k \
		--size=4M --iodepth=32 --direct=1 >/dev/null) || return
	after=$(regions)
	[ $((after - before)) -ge 4 ] || { echo "$before regions before, $after after"; return 1; }
}

start() {
	mkdir -p $work && mount -t tmpfs -o size=400m tmpfs $work && truncate -s 64M $work/file $work/disk &&
		mkdir $ext4 || return
	modprobe -q configfs && modprobe -q loop && modprobe -q crc32c && modprobe -q ext4
	[ -d /sys/kernel/config/datblk ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	mkfs.ext4 -q $work/disk && mount -o loop $work/disk $ext4 && truncate -s 32M $ext4/file || return
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $port && echo rxe0/1 >$port/ia && echo 1 >$port/enable &&
		export_device file $work/file && export_device frozen $ext4/file
}

tap_plan 8
if ! tap_check "modules load, two files are exported" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "the connections of a host and a device are limited" crowded
tap_check "a connection that sends no command is ended" with_disk "device=file queues=1" silent
tap_check "memory for data is allocated on first use" with_disk "device=file queues=1 depth=32" memory
tap_check "256 commands that hang do not stop another device" frozen
tap_check "a path whose open hangs does not stop another device" fifo
tap_check "a device that hangs is removed, and configfs stays usable" removed
tap_check "ports and devices are removed" rmdir $devices/file $port
