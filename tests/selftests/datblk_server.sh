#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The server of the block device over DAT (drivers/block/datblk) with backing devices that hang,
# fail or are slow. The client is in the same guest, over rxe.
# covers: one export or client cannot stop or exhaust the others, and no error of the device is lost

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
	rm -f $work/stay
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

# work_traced COMMAND...: trace the work items of the device "frozen" while the command runs. The command
# must leave no hung I/O, because CPU offlining would wait for it
work_traced() {
	local events=/sys/kernel/tracing/events/workqueue status=0

	echo 'workqueue == "dbio_frozen"' >$events/workqueue_queue_work/filter &&
		echo >/sys/kernel/tracing/trace || return
	one_cpu tee $events/workqueue_{queue_work,activate_work,execute_end}/enable <<<1
	"$@" || status=1
	one_cpu tee $events/workqueue_{queue_work,activate_work,execute_end}/enable <<<0
	return "$status"
}

# active N: at least N traced work items are active. Some may have no worker of their own: if the kernel
# creates workers slowly, the rescuer takes over all work items that wait for one, and blocks in the first
active() {
	local count

	count=$(sed -n 's/.* workqueue_\([a-z_]*\): work struct[= ]\([^ :]*\).*/\1 \2/p' /sys/kernel/tracing/trace |
		awk '$1 == "queue_work" { queued[$2] }
			$1 == "activate_work" && $2 in queued { active[$2] }
			$1 == "execute_end" { delete active[$2] }
			END { for (item in active) count++; print count + 0 }')
	[ "$count" -ge "$1" ] || { echo "expected $1 active work items, found $count"; return 1; }
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
		(cd "$work" && exec fio --allow_file_create=0 --name=stuck --filename="/dev/$1" --ioengine=libaio --rw=randwrite \
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
	stuck "$one" && stuck "$two" && wait_for active 256 && wait_for fs_hangs &&
		with_disk "device=file queues=1" read_one || status=1
	fsfreeze -u "$ext4"
	wait "${writers[@]}" || { echo "writes failed"; status=1; }
	parameter depth 32
	detach "$one" && detach "$two" && return "$status"
}

# enabled NAME STATE: this is what a read of enable returns
enabled() {
	[ "$(cat "$devices/$1/enable")" = "$2" ] || { echo "$1: expected $2, $(cat "$devices/$1/enable")"; return 1; }
}

# unfinished NAME VALUE: a write to enable returns, although the device hangs
unfinished() {
	timeout "$HANG" bash -c "echo $2 >$devices/$1/enable" 2>$work/error
	set -- $?
	cat $work/error
	[ "$1" = 1 ] && grep -q "in progress" $work/error
}

# Nobody writes to the FIFO, so that its open would hang
fifo() {
	local status=0

	mkfifo "$work/fifo" || return
	! export_device fifo "$work/fifo" 1 2>$work/error || { echo "it was exported"; status=1; }
	grep "Invalid argument" $work/error && enabled fifo 0 || status=1
	rmdir $devices/fifo && return "$status"
}

# A device that cannot write its page cache back stops nobody else, and can be removed meanwhile
hung_open() {
	local back status=0

	truncate -s 4M $work/open && back=$(losetup -f --show $work/open) &&
		dmsetup create open --noudevsync --table "0 8192 linear $back 0" && dmsetup mknodes || return
	exec 4<>/dev/mapper/open && echo dirty >&4 && dmsetup suspend --noflush --nolockfs open || return
	! export_device open /dev/mapper/open 2>$work/error || { echo "it was exported"; status=1; }
	grep "in progress" $work/error && enabled open opening && with_disk "device=file queues=1" read_one &&
		unfinished open 0 && timeout "$HANG" rmdir $devices/open && mkdir $devices/open || status=1
	dmsetup resume open
	exec 4>&-
	rmdir $devices/open && wait_for dmsetup remove --noudevsync open && losetup -d "$back" && return "$status"
}

# A device whose I/O hangs: whoever disables it can be killed, it can be removed, and others be made
removed() {
	local name writer killed status=0

	attach "device=frozen queues=1 fail_io_timeout=1" && name=$(cat "$work/name") &&
		fsfreeze -f "$ext4" || return
	write_one "$name" 2>/dev/null &
	writer=$!
	wait_for fs_hangs || status=1
	bash -c "echo 0 >$devices/frozen/enable" &
	killed=$!
	wait_for enabled frozen closing && wait_for waits "$killed" && kill -9 "$killed" &&
		wait_for ended "$killed" && unfinished frozen 0 || status=1
	! enable frozen 1 2>/dev/null || { echo "enabled while it is being closed"; status=1; }
	timeout "$HANG" rmdir $devices/frozen && timeout "$HANG" mkdir $devices/other &&
		rmdir $devices/other || status=1
	fsfreeze -u "$ext4"
	detach "$name" force
	wait "$writer"
	wait_for umount "$ext4" && return "$status"
}

# refused PARAMETER TEXT: with a limit of one connection, a disk with two is refused
refused() {
	local before status=0

	before=$(cat "/sys/module/datblk_server/parameters/$1")
	parameter "$1" 1
	! attach device=file queues=2 2>/dev/null ||
		{ echo "$1: a disk with 2 connections"; detach "$(cat $work/name)"; status=1; }
	wait_for none && with_disk "device=file queues=1" shows "$address" || status=1
	parameter "$1" "$before"
	logged 1 "$2" && return "$status"
}

# The connections of a disk that was refused or removed have ended
none() { ! grep . $devices/file/connections; }

# A host gets no more connections than it may have, and the log says why
crowded() {
	refused host_connections "datblk_server: $address: login to \"file\" refused: too many connections of the host" &&
		wait_for none && refused device_connections "too many logins to the device"
}

# shows ADDRESS DISK: the server shows the address of its client
shows() { grep -q "^$1 host" $devices/file/connections; }

# recovered DISK N: more than N sessions have followed the first
recovered() { [ "$(cat "/sys/block/$1/datblk/recoveries")" -gt "$2" ]; }

# Nobody uses the disk after it has connected again, and it stays connected
idle() {
	local before

	before=$(cat /sys/module/datblk_server/parameters/first_command)
	parameter first_command 3
	enable file 0 && enable file 1 && wait_for recovered "$1" 0 && sleep 5 &&
		[ "$(wc -l <$devices/file/connections)" = 2 ] && ! recovered "$1" 1
	set -- $?
	parameter first_command "$before"
	return "$1"
}


is() { [ "$(cat "/sys/block/$1/datblk/state")" = "$2" ] || { echo "expected $1 $2"; return 1; }; }
not_live() { ! is "$1" live; }

# listen IA: the port uses this name of the IA
listen() { echo 0 >$port/enable && echo "$1" >$port/ia && echo 1 >$port/enable; }

# The RDMA device of client and server is removed and comes back
revived() {
	rxe_delete 0 && wait_for not_live "$1" && rxe_setup && wait_for is "$1" live && read_one "$1"
}

# The same for each form of the name of an IA
followed() {
	local ia

	for ia in "rxe0/1@$address" rxe0 dummy0; do
		echo "port on $ia"
		listen "$ia" && with_disk "device=file queues=1" revived || return
	done
	listen rxe0/1
}

# regions: the server's buffers for data. No other memory has this length: the client registers 32 KiB,
# and disks of earlier cases, whose connections may end meanwhile, had larger buffers
regions() { grep -c "length=$((60 << 10))\b" "$DEBUGFS/kdapl/lmrs"; }

# The server allocates memory for data when commands need it. The search for partitions needs some
memory() {
	local before after

	before=$(regions)
	(cd "$work" && fio --allow_file_create=0 --name=memory --filename="/dev/$1" --ioengine=libaio --rw=randread --bs=32k \
		--size=4M --iodepth=32 --direct=1 >/dev/null) || return
	after=$(regions)
	[ $((after - before)) -ge 4 ] || { echo "$before regions before, $after after"; return 1; }
}

# Fills a part of the disk, before and after it has connected again
reconnected() {
	fill "$1" && enable file 0 && enable file 1 && wait_for recovered "$1" 0 && fill "$1"
}

fill() { dd if=/dev/zero of="/dev/$1" bs=1M count=8 seek=40 oflag=direct conv=nocreat status=none; }

# no_reclaim COMMAND...: for the command, work items allocate almost no pages with __GFP_IO, for
# which they could wait for a disk of the same machine
no_reclaim() {
	local tracing=/sys/kernel/tracing event=/sys/kernel/tracing/events/kmem/mm_page_alloc pages status=0

	echo 'comm ~ "kworker/u*" && gfp_flags & 64' >$event/filter && echo >$tracing/trace || return
	parameter depth 128
	one_cpu tee $event/enable <<<1
	"$@" || status=1
	parameter depth 32
	one_cpu tee $event/enable <<<0
	pages=$(awk '/mm_page_alloc:/ && match($0, /order=[0-9]+/) {
			sum += 2 ^ substr($0, RSTART + 6, RLENGTH - 6)
		}
		END { print sum + 0 }' $tracing/trace)
	echo "$pages pages with __GFP_IO, expected less than 300"
	[ "$pages" -lt 300 ] && return "$status"
}

# login FROM HOST BOOT DEVICE [FILE]: log in from this address by hand; fails if the server refuses.
# FILE: keep the connection until this file is removed
login() {
	python3 - "$address" "$@" <<-'END'
		import ctypes, os, socket, struct, sys, time

		class Param(ctypes.Structure):
		    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_uint8),
		                ("numbers", ctypes.c_uint8 * 6), ("qp", ctypes.c_uint32)]

		def address(text, port):
		    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(text) + bytes(8)

		def call(name, *args):
		    if getattr(cm, name)(*args):
		        sys.exit(f"{name}: {os.strerror(ctypes.get_errno())}")

		to, source, host, boot, device, *stay = sys.argv[1:]
		cm = ctypes.CDLL("librdmacm.so.1", use_errno=True)
		cm_id = ctypes.c_void_p()
		call("rdma_create_id", None, ctypes.byref(cm_id), None, 0x106)
		call("rdma_resolve_addr", cm_id, address(source, 0), address(to, 4421), 5000)
		call("rdma_resolve_route", cm_id, 5000)
		data = struct.pack("<IHHQIIHHBBBB24s", 0x6b6c6264, 6, 0, int(host), int(boot), 1, 1, 32, 32, 16, 0, 1,
		                   device.encode())
		if stay:
		    # An RC queue pair with one send and one receive
		    attr = struct.pack("=4Q8I", 0, 0, 0, 0, 1, 1, 1, 1, 0, 2, 0, 0)
		    call("rdma_create_qp", cm_id, None, ctypes.create_string_buffer(attr))
		call("rdma_connect", cm_id, ctypes.byref(Param(data, len(data), (0,) * 6, 1000)))
		while stay and os.path.exists(stay[0]):
		    time.sleep(0.1)
	END
}

# by_hand FROM: prepare login from this address
by_hand() {
	modprobe -q ib_uverbs && modprobe -q rdma_ucm && wait_for test -c /dev/infiniband/rdma_cm &&
		ip addr replace "$1/24" dev dummy0 && wait_for gid_exists rxe0 "$1"
}

# Makes a connection by hand that sends no command
silent() {
	by_hand 10.9.9.3 && truncate -s 1M $work/silent && export_device silent $work/silent || return
	: >$work/stay
	login 10.9.9.3 1 1 silent $work/stay >$work/error 2>&1 &
	echo $! >$work/stay
	wait_for grep '^10.9.9.3 ' $devices/silent/connections || { cat $work/error; return 1; }
}

# The server has ended it by itself
silent_ended() {
	local login status=0

	wait_for logged 1 "silent: the connection of 10.9.9.3 ends, because it has sent no command in time" ||
		status=1
	login=$(cat $work/stay)
	rm $work/stay && wait_for ended "$login" || status=1
	rmdir $devices/silent && ip addr del 10.9.9.3/24 dev dummy0 && return "$status"
}

# Another machine with the same number of the host takes the device away, and the log says so
same_host() {
	local host

	host=$(cat /sys/module/datblk_client/parameters/host)
	by_hand 10.9.9.2 || return
	! login 10.9.9.2 "$host" 1 file 2>$work/error || { echo "not refused"; return 1; }
	cat $work/error
	logged 1 "10.9.9.2 ends the connection of $address, because both have the host number" &&
		wait_for recovered "$1" 0 && read_one "$1" && ip addr del 10.9.9.2/24 dev dummy0
}

# limit DISK NAME BYTES: the disk splits an operation at this size
limit() {
	local found

	found=$(cat "/sys/block/$1/queue/$2")
	[ "$found" = "$3" ] || { echo "$1: expected $2 $3, found $found"; return 1; }
}

# null NAME SETTING=VALUE...: create and export a null_blk device of 256 MiB
null() {
	local dir=/sys/kernel/config/nullb/$1 setting

	mkdir "$dir" && echo 256 >"$dir/size" || return
	shift
	for setting in "$@"; do
		echo "${setting#*=}" >"$dir/${setting%=*}" || return
	done
	echo 1 >"$dir/power" && export_device null "/dev/${dir##*/}"
}

null_remove() {
	local status=0

	rmdir $devices/null || status=1
	rmdir "/sys/kernel/config/nullb/$1" && return "$status"
}

# A block device that was disabled is closed
again() {
	local i status=0

	null again || return
	for ((i = 0; !status && i < 50; i++)); do
		enable null 0 && enable null 1 || status=1
	done
	null_remove again && return "$status"
}

io_limit() { limit "$1" max_hw_sectors_kb 64 && read_one "$1"; }

zeroes_limit() { limit "$1" write_zeroes_max_bytes 4194304; }

limits() {
	local status=0

	null plain && with_disk "device=null" zeroes_limit || status=1
	null_remove plain && return "$status"
}

zoned() {
	! null zoned zoned=1 zone_size=64 2>/dev/null || { echo "exported"; null_remove zoned; return 1; }
	null_remove zoned
}

twice() {
	! export_device again $work/file 2>/dev/null || { echo "exported"; rmdir $devices/again; return 1; }
	rmdir $devices/again
}

# What local tasks wrote to the page cache of a block device is what clients read
cached() {
	local back status=0

	truncate -s 4M $work/cached && back=$(losetup -f --show $work/cached) || return
	# The last close would write it
	exec 8>"$back"
	head -c 4096 /dev/urandom | tee $work/expected >&8
	export_device cached "$back" && with_disk "device=cached" compare || status=1
	exec 8>&-
	rmdir $devices/cached && wait_for losetup -d "$back" && return "$status"
}

compare() { dd if="/dev/$1" bs=4k count=1 iflag=direct status=none | cmp - $work/expected; }

# fat FILE: make an empty FAT12 file system of 8 MiB
fat() {
	python3 - "$1" <<-'END'
		import struct, sys
		boot = struct.pack("<3s8sHBHBHHBHHHII", b"\xeb\x3c\x90", b"kdapl", 512, 8, 1, 2, 512, 16384,
		                   0xf8, 12, 32, 64, 0, 0)
		image = bytearray(8 << 20)
		image[:len(boot)] = boot
		image[510:512] = b"\x55\xaa"
		for table in 512, 13 * 512:
		    image[table:table + 3] = b"\xf8\xff\xff"
		open(sys.argv[1], "wb").write(image)
	END
}

# The block layer may hide that the device lacks the operation
discard() { blkdiscard "/dev/$1" 2>/dev/null || :; }
not_offered() { limit "$1" discard_max_bytes 0; }

# After an attempt the server knows that its file system lacks an operation
lacking() {
	local status=0

	mkdir -p $work/fat && fat $work/fat.image && mount -t msdos -o loop $work/fat.image $work/fat &&
		dd if=/dev/zero of=$work/fat/file bs=64k count=16 status=none || return
	export_device fat $work/fat/file && with_disk "device=fat" discard &&
		with_disk "device=fat" not_offered || status=1
	rmdir $devices/fat && wait_for umount $work/fat && return "$status"
}

# table TYPE: the device below the file system becomes linear or error, or fails writes and flushes (flakey)
table() {
	local lines="0 32768 $1"

	[ "$1" = error ] || lines+=" $(cat $work/back) 0"
	[ "$1" != flakey ] || lines+=" 0 3600 1 error_writes"
	dmsetup reload bad --table "$lines" && dmsetup suspend --noflush --nolockfs bad && dmsetup resume bad
}

# told DISK N: a flush fails
told() { ! sync "/dev/$1" 2>/dev/null || { echo "the flush of disk $2 succeeded"; return 1; }; }

losses() {
	[ "$(cat $devices/bad/losses)" = "$1" ] ||
		{ echo "expected $1 losses, found $(cat $devices/bad/losses)"; return 1; }
}

# two_disks COMMAND...: run the command with two disks that have written to the device bad
two_disks() {
	local one two status=0

	attach device=bad queues=1 && one=$(cat $work/name) &&
		attach device=bad queues=1 && two=$(cat $work/name) &&
		write_one "$one" && write_one "$two" || return
	"$@" "$one" "$two" || status=1
	table linear && sync "/dev/$one" && sync "/dev/$two" || status=1
	detach "$one" && detach "$two" && return "$status"
}

# An error of write-back that a local task has caused
written_back() {
	table error || return
	! sync $work/below/file 2>/dev/null || { echo "local write-back succeeded"; return 1; }
	table linear && told "$1" first && told "$2" second && losses 1
}

# The data are written back, but the flush of the device below fails: the file has no error
flush_failed() {
	sync $work/below/file && table flakey && told "$1" first && table linear && told "$2" second &&
		losses 2
}

# A failed write with FUA reports the loss of earlier writes, but must not hide it from a flush
fua_failed() {
	local status=0

	table error || return
	! sync $work/below/file 2>/dev/null || { echo "local write-back succeeded"; return 1; }
	table linear && exec 9<"/dev/$1" || return
	! dd if=/dev/zero of="/dev/$1" bs=4k count=1 oflag=direct,dsync conv=nocreat status=none 2>/dev/null ||
		{ echo "a write with FUA succeeded"; status=1; }
	told "$1" first || status=1
	exec 9<&-
	told "$2" second && losses 3 && return "$status"
}

# What cannot be written when the device is disabled is known to be lost
closed_dirty() {
	local status=0

	with_disk "device=bad" write_one && table error || return
	enable bad 0
	table linear && losses 4 && enable bad 1 || status=1
	return "$status"
}

# The client has no other writes, and the server does not answer a write with FUA that fails. A
# multipath driver must not repeat it: EREMOTEIO
fua_alone() {
	local status=0

	table flakey || return
	! timeout "$HANG" dd if=/dev/zero of="/dev/$1" bs=4k count=1 oflag=direct,dsync conv=nocreat \
		status=none 2>$work/error || { echo "it succeeded"; status=1; }
	grep 'Remote I/O error' $work/error || { echo "it did not fail in time"; status=1; }
	table linear && return "$status"
}

# scans: print the name of a disk whose partition table is being read
scans() {
	local name

	for name in /sys/block/datblk*; do
		[ -e "$name" ] && in_flight "${name##*/}" 1 && echo "${name##*/}"
	done
}

# scan COMMAND: run the command while connect waits for the partition table of a device that hangs
scan() {
	local name status=0 writer

	attach "device=scan queues=1" >/dev/null 2>&1 &
	writer=$!
	wait_for scans && name=$(scans) && "$@" "$name" || status=1
	wait_for ended "$writer" || status=1
	! wait "$writer" || { echo "$name was connected"; status=1; }
	[ ! -e "/sys/block/$name" ] || { echo "$name still exists"; status=1; }
	return "$status"
}

# The disk can be removed then, but only by force
undo() {
	! detach "$1" 2>/dev/null || { echo "removed without force"; return 1; }
	timeout "$HANG" bash -c "echo disconnect $1 force >/dev/datblk-control"
}

hung_scan() {
	local back status=0

	truncate -s 4M $work/scan && back=$(losetup -f --show $work/scan) &&
		dmsetup create scan --noudevsync --table "0 8192 linear $back 0" && dmsetup mknodes &&
		export_device scan /dev/mapper/scan && dmsetup suspend --noflush --nolockfs scan || return
	scan undo || status=1
	dmsetup resume scan && rmdir $devices/scan && wait_for dmsetup remove --noudevsync scan &&
		losetup -d "$back" && return "$status"
}

# Use FAT, because each of its fsyncs flushes the device. On Linux 6.1, ext4 without a journal, which also
# handles ext2, does not flush if the inode is clean
bad_begin() {
	truncate -s 16M $work/bad && losetup -f --show $work/bad >$work/back && mkdir $work/below &&
		dmsetup create bad --noudevsync --table "0 32768 linear $(cat $work/back) 0" && dmsetup mknodes &&
		fat /dev/mapper/bad && mount -t msdos /dev/mapper/bad $work/below &&
		dd if=/dev/zero of=$work/below/file bs=64k count=16 conv=fsync status=none &&
		export_device bad $work/below/file
}

bad_end() {
	rmdir $devices/bad
	wait_for umount $work/below && dmsetup remove --noudevsync bad && losetup -d "$(cat $work/back)"
}

# has FEATURE: a file system, or device-mapper or null_blk
has() {
	case $1 in
	device-mapper) [ -e /sys/class/misc/device-mapper ] ;;
	null_blk) [ -d /sys/kernel/config/nullb ] ;;
	*) grep -qw "$1" /proc/filesystems || modprobe -q "$1" ;;
	esac
}

# check_with FEATURES NAME COMMAND...: skip the check if the kernel lacks a feature
check_with() {
	local feature lacks=

	for feature in $1; do
		has "$feature" || lacks=$feature
	done
	shift
	if [ -z "$lacks" ]; then
		tap_check "$@"
	else
		tap_skip "$1" "this kernel has no $lacks"
	fi
}

start() {
	mkdir -p $work && mount -t tmpfs -o size=400m tmpfs $work && truncate -s 64M $work/file $work/disk &&
		mkdir $ext4 || return
	modprobe -q configfs && modprobe -q loop && modprobe -q crc32c && modprobe -q ext4 &&
		modprobe -q dm-mod && modprobe -q dm-flakey && modprobe -q null_blk nr_devices=0
	[ -d /sys/kernel/config/datblk ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	! has ext4 || { mkfs.ext4 -q $work/disk && mount -o loop $work/disk $ext4; } || return
	truncate -s 32M $ext4/file || return
	# As an adapter that registers 16 pages at any offset
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" max_reg_pages=17 &&
		insmod "$KDAPL_DIR/datblk_core.ko" && insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $port && echo rxe0/1 >$port/ia && echo 1 >$port/enable &&
		export_device file $work/file && export_device frozen $ext4/file
}

tap_plan 30
if ! tap_check "modules load, two files are exported" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "the connections of a host and a device are limited" crowded
tap_check "a disk uses no larger I/O than the adapter can register" \
	with_disk "device=file queues=1 io_kib=128" io_limit
tap_check "a disk that is idle stays connected" with_disk "device=file queues=2" idle
tap_check "a port listens again when its RDMA device is back" followed
tap_check "a connection is made by hand that sends no command" silent
tap_check "memory for data is allocated on first use" \
	with_disk "device=file queues=1 depth=32 io_kib=60" memory
tap_check "a second machine with the same host number is logged" with_disk "device=file queues=1" same_host
tap_check "memory for logins, reconnects and writes does not wait for I/O" no_reclaim \
	with_disk "device=file queues=1 depth=128" reconnected
tap_refuse "a name that no login can have is refused" mkdir "$devices/a b"
check_with null_blk "a zoned device is refused" zoned
tap_check "a file that is exported is refused" twice
check_with null_blk "a block device is enabled again at once" again
tap_check "a device shows what was in its page cache" cached
check_with null_blk "without native zeroes, the server takes 4 MiB in a command" limits
check_with msdos "an operation that the file system lacks is not offered again" lacking
check_with "device-mapper msdos" "a file system that can fail is exported" bad_begin
check_with "device-mapper msdos" "each client learns of an error of write-back" two_disks written_back
check_with "device-mapper msdos" "each client learns of a flush that failed" two_disks flush_failed
check_with "device-mapper msdos" "a write with FUA does not hide an error" two_disks fua_failed
check_with "device-mapper msdos" "a device that is closed dirty counts a loss" closed_dirty
check_with "device-mapper msdos" "a write with FUA fails, although it is the only one" \
	with_disk "device=bad queues=1" fua_alone
check_with "device-mapper msdos" "it is removed" bad_end
check_with device-mapper "a disk whose partition table cannot be read is removed" hung_scan
check_with ext4 "256 commands that hang do not stop another device" work_traced frozen
tap_check "a FIFO is refused at once" fifo
check_with device-mapper "a path whose open hangs does not stop another device" hung_open
check_with ext4 "a device that hangs is removed, and configfs stays usable" removed
[ ! -e $devices/frozen ] || rmdir $devices/frozen
tap_check "the connection that sends no command is ended" silent_ended
tap_check "ports and devices are removed" rmdir $devices/file $port
