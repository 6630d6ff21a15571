#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The block device over DAT (drivers/block/datblk): client and server in one guest, over one RDMA device.
# Data are verified through /dev/datblkN and compared with the device or file of the server.
# KDAPL_BLK_ROUNDS=N: N restarts of the server during verified writes (default 2). The short form
# has one, and leaves out buffered writes, the file as backing device and the loss of the server.
# covers: I/O of the kernel's block layer, and its recovery when the server restarts
# tier: short

. "${0%/*}/lib.sh"

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ]; then
	tap_plan 1
	tap_skip "block device over DAT" "this kernel has no configfs, which the server needs"
	exit
fi

short=${KDAPL_SHORT:-}
rounds=${KDAPL_BLK_ROUNDS:-$((short ? 1 : 2))}
config=/sys/kernel/config/datblk
port=$config/ports/p0
work=/run/datblk
address=$ADDRESS

tidy() {
	touch "$work/stop"
	exec 9<&-
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	rmdir $config/devices/* $config/ports/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	# A work item may still close a device or the port
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	[ -z "${loop:-}" ] || losetup -d "$loop"
	umount "$work" 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# attach OPTIONS...: connect a disk; its name is in disk and in $work/name
attach() {
	disk=
	exec 3<>/dev/datblk-control || return
	! echo "connect ia=$IA/1 address=$address $*" >&3 || read -r disk <&3
	exec 3>&-
	echo "$disk" >"$work/name"
	[ -n "$disk" ]
}

detach() { echo "disconnect $*" >/dev/datblk-control; }

# export_device NAME PATH [read_only [direct]]
export_device() {
	mkdir "$config/devices/$1" && echo "$2" >"$config/devices/$1/path" &&
		echo "${3:-0}" >"$config/devices/$1/read_only" &&
		echo "${4:-0}" >"$config/devices/$1/direct" && echo 1 >"$config/devices/$1/enable"
}

enable() { echo "$2" >"$config/devices/$1/enable"; }

attribute() { cat "/sys/block/$1/datblk/$2"; }

# is DISK STATE: the disk is in this state
is() {
	[ "$(attribute "$1" state)" = "$2" ] ||
		{ echo "expected $1 $2, state $(attribute "$1" state)"; return 1; }
}

is_not() { ! is "$@" >/dev/null || { echo "expected $1 not $2"; return 1; }; }

# live_again DISK N: the disk is live, in a later session than the N-th
live_again() {
	is "$1" live || return
	[ "$(attribute "$1" recoveries)" -gt "$2" ] ||
		{ echo "recoveries $(attribute "$1" recoveries), before $2"; return 1; }
}

# value WANT FILE: FILE contains WANT
value() {
	[ "$(cat "$2")" = "$1" ] || { echo "$2: expected $1, found $(cat "$2")"; return 1; }
}

# counter DEVICE FIELD: a field of /sys/block/DEVICE/stat: 6 merged writes, 12 discards, 16 flushes
counter() { awk -v field="$2" '{ print $field }' "/sys/block/$1/stat"; }

# counts DEVICE FIELD LEAST COMMAND...: the command increases the field by LEAST or more
counts() {
	local device=$1 field=$2 least=$3 before now

	shift 3
	before=$(counter "$device" "$field")
	"$@" || return
	now=$(counter "$device" "$field")
	[ $((now - before)) -ge "$least" ] ||
		{ echo "field $field of $device: expected $least more than $before, found $now"; return 1; }
}

# verified DISK OPTIONS...: write with fio, read back, compare checksums
verified() {
	local name=$1

	shift
	(cd "$work" && fio --allow_file_create=0 --name=datblk --filename="/dev/$name" --ioengine=libaio --verify=crc32c \
		--verify_fatal=1 --verify_dump=0 "$@")
}

random_sizes() {
	verified "$1" --rw=randwrite --bsrange=512-1M --size=$((short || KDAPL_SLOW > 1 ? 6 : 24))M --iodepth=32 \
		--direct="$2"
}

# Bios of 512 bytes that meet in the middle of a page become requests that are registered
small_bios() {
	verified "$1" --rw=write --bs=512 --size=1M --direct=1 --iodepth=64 \
		--iodepth_batch_submit=64 --iodepth_batch_complete_min=64
}

# same DISK FILE: after a flush the file of the server has what the client wrote
same() {
	dd if=/dev/urandom of="$work/pattern" bs=64k count=40 status=none &&
		dd if="$work/pattern" of="/dev/$1" bs=64k seek=7 conv=fsync,nocreat status=none &&
		cmp -n 2621440 -i 0:$((7 * 65536)) "$work/pattern" "$2"
}

flushes() { dd if=/dev/zero of="/dev/$disk" bs=4k count=1 conv=fsync,nocreat status=none; }
# Four writes with FUA, each followed by a flush of O_DSYNC
fua() { dd if=/dev/zero of="/dev/$disk" bs=4k count=4 oflag=direct,dsync conv=nocreat status=none; }

# zeroes DISK MIB: one MiB at this offset reads as zeroes
zeroes() {
	cmp -n 1048576 -i $(($2 * 1048576)):0 "/dev/$1" /dev/zero
}

# erase DISK MIB OPTION...: fill one MiB, then discard it or write zeroes
erase() {
	local name=$1 mib=$2

	shift 2
	dd if="$work/pattern" of="/dev/$name" bs=1M count=1 seek="$mib" oflag=direct conv=nocreat status=none &&
		blkdiscard "$@" -o $((mib * 1048576)) -l 1048576 "/dev/$name" &&
		echo 1 >/proc/sys/vm/drop_caches && zeroes "$name" "$mib"
}

# smaller FILE COMMAND...: the file has fewer blocks after the command than after a write
smaller() {
	local before

	dd if="$work/pattern" of="/dev/$2" bs=1M count=1 seek=9 oflag=direct conv=fsync,nocreat status=none || return
	before=$(stat -c %b "$1")
	blkdiscard -o $((9 * 1048576)) -l 1048576 "/dev/$2" && zeroes "$2" 9 || return
	[ "$(stat -c %b "$1")" -lt "$before" ] ||
		{ echo "$1: expected fewer than $before blocks, found $(stat -c %b "$1")"; return 1; }
}

write_one() {
	dd if=/dev/zero of="/dev/$1" bs=4k count=1 oflag=direct conv=nocreat status=none
}
read_one() { dd if="/dev/$1" of=/dev/null bs="${2:-4k}" count=1 iflag=direct status=none; }

# load: verified writes until $work/stop exists
load() {
	until [ -e "$work/stop" ]; do
		verified "$1" --rw=randwrite --bsrange=512-256k --size=4M --iodepth=32 --direct=1 || return
	done
}

# restart NAME DISK: disable the device after some I/O, enable it, wait for the disk
restart() {
	local before

	before=$(attribute "$2" recoveries)
	wait_for grows "$2" && enable "$1" 0 && wait_for is_not "$2" live &&
		enable "$1" 1 && wait_for live_again "$2" "$before"
}

# restarts NAME N DISK: N restarts during a load
restarts() {
	local i status=0

	rm -f "$work/stop"
	load "$3" >"$work/load" 2>&1 &
	for ((i = 0; i < $2; i++)); do
		written=$(counter "$3" 5)
		restart "$1" "$3" || { status=1; break; }
	done
	touch "$work/stop"
	wait $! || { cat "$work/load"; status=1; }
	return "$status"
}

# grows DISK: more writes have been completed than $written
grows() {
	local now

	now=$(counter "$1" 5)
	[ "$now" -gt "$written" ] || { echo "no write since $written"; return 1; }
}

resized() {
	local before

	before=$(attribute "$2" recoveries)
	enable "$1" 0 && truncate -s 80M "$work/file" && enable "$1" 1 &&
		wait_for live_again "$2" "$before" && value $((80 * 2048)) "/sys/block/$2/size"
}

# grown: the device grows while it is used, and the disk with it; it does not shrink
grown() {
	local before size

	before=$(attribute "$disk" recoveries)
	truncate -s 84M $work/file && echo 1 >$config/devices/file/revalidate_size &&
		wait_for value $((84 * 2048)) "/sys/block/$disk/size" && live_again "$disk" "$before" &&
		truncate -s 83M $work/file || return
	! echo 1 2>/dev/null >$config/devices/file/revalidate_size || { echo "it shrank"; return 1; }
	truncate -s 84M $work/file && echo 1 >$config/devices/file/revalidate_size &&
		value $((84 * 2048)) "/sys/block/$disk/size"
}

# make_read_only 0|1
make_read_only() {
	echo "$1" >$config/devices/file/read_only && wait_for value "$1" "/sys/block/$disk/ro" &&
		wait_for is "$disk" live
}

# Writes that are being sent when a device becomes read-only fail, or are in the file
switched() {
	local status=0

	verified "$disk" --rw=randwrite --bs=4k --size=16M --time_based --runtime=60 --direct=1 \
		>/dev/null 2>&1 &
	written=$(counter "$disk" 5)
	wait_for grows "$disk" && make_read_only 1 && md5sum $work/file >$work/sum || status=1
	! wait $! || { echo "no write failed"; status=1; }
	! write_one "$disk" 2>/dev/null || { echo "a write succeeded"; status=1; }
	md5sum --quiet -c $work/sum && read_one "$disk" 64k && make_read_only 0 &&
		write_one "$disk" && return "$status"
}

# fails_in_time: without a server, I/O fails after fail_io_timeout, and works again later
fails_in_time() {
	enable file 0 && ! timeout "$HANG" dd if="/dev/$disk" of=/dev/null bs=4k count=1 iflag=direct \
		status=none 2>/dev/null && is "$disk" failing && enable file 1 &&
		wait_for is "$disk" live && read_one "$disk"
}

# waits PID: the task has opened the disk, and sleeps in the kernel
waits() { [ "/proc/$1/fd/1" -ef "/dev/$disk" ] && grep -q '^State:.*D' "/proc/$1/status"; }

# write_later: writer is a task that writes to the disk
write_later() {
	dd if=/dev/zero of="/dev/$disk" bs=4k count=1 oflag=direct conv=nocreat status=none 2>/dev/null &
	writer=$!
}

# Requests that wait for the server end when the disk is removed by force
forced() {
	enable file 0 && wait_for is_not "$disk" live || return
	write_later
	wait_for waits "$writer" && detach "$disk" force || return
	! wait "$writer" || { echo "expected an error of the write, which succeeded"; return 1; }
	[ ! -e "/sys/block/$disk" ] && enable file 1
}

refused_while_open() {
	local status=0

	exec 9<"/dev/$disk"
	! detach "$disk" 2>/dev/null || status=1
	exec 9<&-
	return "$status"
}

clients() { echo "$1" >"$config/devices/file/clients"; }

# The RDMA device of both sides goes away, and comes back
device_lost() {
	device_delete && wait_for is_not "$disk" live && echo 0 >$port/enable && device_setup &&
		echo 1 >$port/enable && wait_for is "$disk" live &&
		read_one "$disk" 64k
}

# reason_is DISK TEXT: the disk has no connection, and says why
reason_is() {
	[[ $(attribute "$1" reason) = *"$2"* ]] ||
		{ echo "reason of $1: expected $2, found $(attribute "$1" reason)"; return 1; }
}

# replace NAME FILE UUID: while it is disabled, the device gets another path and a UUID
replace() {
	echo "$2" >"$config/devices/$1/path" && echo "$3" >"$config/devices/$1/uuid"
}

# Another file behind the same name, of the same size: not a byte is written there, and the disk is
# back when the first one is
other_device() {
	local uuid

	uuid=$(cat $config/devices/file/uuid)
	attach device=file && value "uuid.$uuid" "/sys/block/$disk/wwid" || return
	truncate -s "$(stat -c %s $work/file)" $work/other && enable file 0 &&
		wait_for is_not "$disk" live && echo $work/other >$config/devices/file/path &&
		enable file 1 && wait_for reason_is "$disk" "another device" || return
	dd if="$work/pattern" of="/dev/$disk" bs=4k count=1 oflag=direct conv=nocreat status=none &
	is_not "$disk" live && cmp -n 65536 $work/other /dev/zero && enable file 0 &&
		replace file $work/file "$uuid" && enable file 1 && wait_for is "$disk" live &&
		wait $! && cmp -n 4096 "$work/pattern" $work/file && detach "$disk"
}

# A device that became smaller is not used either
smaller_device() {
	local size

	size=$(stat -c %s $work/file)
	attach device=file && enable file 0 && truncate -s $((size - 1048576)) $work/file &&
		enable file 1 && wait_for reason_is "$disk" smaller && is_not "$disk" live &&
		enable file 0 && truncate -s "$size" $work/file && enable file 1 &&
		wait_for is "$disk" live && detach "$disk"
}

# lose_instance NAME FILE [BEFORE [COMMAND]]: the server forgets the device, as after a crash, and
# has it again; the file has its content of BEFORE again. COMMAND runs before clients can connect
lose_instance() {
	local uuid

	uuid=$(cat "$config/devices/$1/uuid")
	enable "$1" 0 && rmdir "$config/devices/$1" && { [ -z "${3:-}" ] || cp "$3" "$2"; } &&
		mkdir "$config/devices/$1" && replace "$1" "$2" "$uuid" && ${4:-:} && enable "$1" 1
}

flush() { sync "/dev/$disk"; }

# still_open COMMAND...: run the command while the disk is open
still_open() {
	local status=0

	exec 9<"/dev/$disk"
	"$@" || status=1
	exec 9<&-
	return "$status"
}

# After an answered write without a flush the server starts anew: no flush succeeds
lost_writes() {
	write_one "$disk" && lose_instance file $work/file && wait_for live_again "$disk" 0 || return
	! flush 2>/dev/null || { echo "the first flush succeeded"; return 1; }
	! flush 2>/dev/null || { echo "the second flush succeeded"; return 1; }
	! fua 2>/dev/null || { echo "a write with FUA succeeded"; return 1; }
}

# What was flushed before is not lost
kept_writes() {
	local before

	before=$(attribute "$disk" recoveries)
	write_one "$disk" && flush && lose_instance file $work/file &&
		wait_for live_again "$disk" "$before" && flush && fua
}

# The flush of somebody who opens the disk after the loss fails, too
crash() {
	attach device=file && still_open lost_writes && flush && still_open kept_writes &&
		write_one "$disk" && lose_instance file $work/file && wait_for live_again "$disk" 2 &&
		! flush 2>/dev/null && flush && detach "$disk"
}

# put SEEK COUNT: write COUNT random blocks of 4 KiB to the disk and to $work/expected
put() {
	dd if=/dev/urandom of="$work/block" bs=4k count="$2" status=none &&
		dd if="$work/block" of="/dev/$disk" bs="$(($2 * 4))k" seek="$(($1 * 4096))" \
			oflag=direct,seek_bytes conv=nocreat status=none &&
		dd if="$work/block" of="$work/expected" bs=4k seek="$1" conv=notrunc status=none
}

# zero SEEK COUNT: the same with zeroes
zero() {
	blkdiscard -z -o $(($1 * 4096)) -l $(($2 * 4096)) "/dev/$disk" &&
		dd if=/dev/zero of="$work/expected" bs=4k seek="$1" count="$2" conv=notrunc status=none
}

# The server loses writes that overlap, and has them again before the next flush. The first flush
# releases a megabyte; with it, there would not be room for all. Until the second one, the client
# keeps what it has repeated.
repeated() {
	cp $work/file $work/expected && put 500 256 && flush && cp $work/file $work/before &&
		put 0 16 && put 2 2 && zero 8 4 && put 9 1 && put 14 4 && put 100 100 &&
		lose_instance file $work/file $work/before && wait_for live_again "$disk" 0 &&
		lose_instance file $work/file $work/before && wait_for live_again "$disk" 1 && flush &&
		cmp $work/expected $work/file && cmp $work/expected "/dev/$disk" &&
		logged 2 "repeated writes that $address may have lost"
}

# The server loses more than the client has kept: no flush succeeds
overflowed() {
	cp $work/file $work/before && put 0 200 && put 200 200 &&
		lose_instance file $work/file $work/before && wait_for live_again "$disk" 2 || return
	! flush 2>/dev/null || { echo "a flush succeeded"; return 1; }
}

resubmit() {
	attach device=file queues=2 resubmit_kib=1100 && still_open repeated &&
		still_open overflowed && flush && detach "$disk" &&
		rm $work/before $work/expected $work/block
}

freeze() { fsfreeze -f $work/mnt; }
gone() { [ ! -e "/sys/block/$disk" ]; }

# A removal waits for the writes that are repeated, of which four are sent at a time
removed_while_repeated() {
	attach device=slow queues=1 depth=4 resubmit_kib=1100 && cp $work/mnt/disk $work/before &&
		cp $work/mnt/disk $work/expected && put 0 128 &&
		lose_instance slow $work/mnt/disk $work/before freeze && wait_for fs_hangs || return
	detach "$disk" &
	wait_for gone && fsfreeze -u $work/mnt && wait $! && cmp $work/expected $work/mnt/disk &&
		rm $work/before $work/expected $work/block
}

# A server that grants less than before is refused, and the disk says so
lowered() {
	local depth=/sys/module/datblk_server/parameters/depth was

	was=$(cat $depth)
	attach device=file || return
	echo 4 >$depth && enable file 0 && enable file 1 && wait_for reason_is "$disk" "less than before"
	was=$?:$was
	echo "${was#*:}" >$depth
	[ "${was%%:*}" = 0 ] && wait_for is "$disk" live && detach "$disk"
}

# gives_up: the disk stays, and its I/O fails, when reconnect_timeout has expired
gives_up() {
	attach device=file reconnect_timeout=1 && enable file 0 && wait_for is "$disk" dead &&
		! read_one "$disk" 2>/dev/null && enable file 1 && is "$disk" dead && detach "$disk"
}

# Both names come from one open file
two_names() {
	local first second

	exec 3<>/dev/datblk-control || return
	echo "connect ia=$IA/1 address=$address device=file" >&3 && read -r first <&3 &&
		echo "connect ia=$IA/1 address=$address device=loop" >&3 && read -r second <&3
	exec 3>&-
	detach "$first" && detach "$second" && [ "$first" != "$second" ]
}

# More queues than CPUs have no use
many_queues() {
	attach device=file queues=64 &&
		value "$(nproc --all)" <(find "/sys/block/$disk/mq" -mindepth 1 -maxdepth 1 | wc -l) &&
		detach "$disk"
}

# Direct I/O to the file leaves nothing in its page cache, and small blocks are refused
direct_file() {
	attach device=slow && [ "$(cat "/sys/block/$disk/queue/logical_block_size")" -le 4096 ] &&
		verified "$disk" --rw=randwrite --bsrange=4k-256k --bs_unaligned=0 --size=8M \
			--iodepth=16 --direct=1 && value 0 <(fincore -nbro PAGES $work/mnt/disk) &&
		detach "$disk"
}

# Disks are removed while another task opens them
opened_and_removed() {
	local i status=0

	rm -f "$work/stop"
	until [ -e "$work/stop" ]; do
		head -qc 512 /dev/datblk[0-9]* >/dev/null 2>&1
	done &
	for ((i = 0; i < 10; i++)); do
		if ! attach device=file queues=1 || ! wait_for detach "$disk"; then
			status=1
			break
		fi
	done
	touch "$work/stop"
	wait $!
	return "$status"
}

# frozen_fs COMMAND...: run the command with the device "slow", a file on ext4
frozen_fs() {
	local status=0

	modprobe -q ext4
	truncate -s 32M $work/image && mkfs.ext4 -q $work/image && mkdir -p $work/mnt &&
		mount -o loop $work/image $work/mnt && truncate -s 8M $work/mnt/disk &&
		export_device slow $work/mnt/disk "" "${direct:-0}" || return
	"$@" || status=1
	fsfreeze -u $work/mnt 2>/dev/null
	rmdir $config/devices/slow && umount $work/mnt && return $status
}

# A write that takes the device five times as long as the timeout of the disk is neither failed
# nor repeated
slow_write() {
	attach device=slow && echo 1000 >"/sys/block/$disk/queue/io_timeout" && fsfreeze -f $work/mnt ||
		return
	write_later
	wait_for fs_hangs && sleep 5 && fsfreeze -u $work/mnt && wait "$writer" &&
		value 0 "/sys/block/$disk/datblk/recoveries" && detach "$disk"
}

# closed DISK: it is being removed, so that nobody can open it
closed() { ! : <"/dev/$1"; } 2>/dev/null

# A disk that replaces one which had a write in flight is not connected before that write has ended,
# and not while the other one is being removed, because it would not replace that one
fence() {
	local name remover

	attach device=slow && echo 1000 >"/sys/block/$disk/queue/io_timeout" && fsfreeze -f $work/mnt ||
		return
	name=$disk
	write_later
	wait_for fs_hangs || return
	detach "$name" force &
	remover=$!
	wait_for closed "$name" || return
	! attach device=slow 2>/dev/null || { echo "connected during the removal"; return 1; }
	wait "$remover" || return
	! attach device=slow 2>/dev/null || { echo "connected before the write has ended"; return 1; }
	fsfreeze -u $work/mnt && attach device=slow && detach "$disk"
}

start() {
	mkdir -p $work && mount -t tmpfs -o size=300m tmpfs $work &&
		truncate -s 64M $work/file $work/disk || return
	modprobe -q configfs && modprobe -q loop && modprobe -q crc32c
	[ -d /sys/kernel/config/nullb ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		loop=$(losetup -f --show $work/disk) && mkdir $port && echo "$IA/1" >$port/ia &&
		echo 1 >$port/enable
}

exports() { export_device loop "$loop" && export_device file "$work/file"; }

# A write cache of the backing device that is switched on later loses no write
cache_later() {
	local cache=/sys/block/$backing/queue/write_cache

	enable loop 0 && echo "write through" >"$cache" && enable loop 1 && attach device=loop &&
		value "write through" "/sys/block/$disk/queue/write_cache" || return
	echo "write back" >"$cache" && counts "$backing" 16 1 write_one "$disk" && detach "$disk"
}

time_out() { attach device=file fail_io_timeout=1 && fails_in_time && detach "$disk"; }

allowed() {
	clients 10.9.9.2 || return
	! attach device=file 2>/dev/null || return
	clients "10.9.9.2 $address" && attach device=file && detach "$disk"
}

# removed_without_loss DISK: losses before the removal do not count, since a slow machine may add some
removed_without_loss() {
	local losses

	losses=$(dmesg | grep -c "connection to $address lost")
	detach "$1" && [ "$(dmesg | grep -c "connection to $address lost")" = "$losses" ]
}

read_only() {
	enable file 0 && echo 1 >$config/devices/file/read_only && enable file 1 &&
		attach device=file && value 1 "/sys/block/$disk/ro" || return
	! write_one "$disk" 2>/dev/null && read_one "$disk" 64k && detach "$disk"
}

# with_file: the file is the backing device, and its server goes away
with_file() {
	tap_check "the file is a disk" attach device=file queues=1 depth=8 io_kib=64 || return
	disk=$(cat $work/name)
	tap_check "direct writes of random sizes to the file are read back" random_sizes "$disk" 1
	tap_check "a discard frees blocks of the file" smaller $work/file "$disk"
	tap_check "a larger file is a larger disk after a restart" resized file "$disk"
	tap_check "a file that grows is a larger disk at once" grown
	tap_check "a device in use becomes read-only, and can be written again" switched
	tap_check "the RDMA device is removed and comes back" device_lost
	tap_check "I/O that waits ends when the disk is removed by force" forced
	tap_check "I/O fails after fail_io_timeout, and works again later" time_out
	tap_check "a client that is not allowed is refused" allowed
	tap_check "another device behind the same name is not used" other_device
	tap_check "a smaller device is not used" smaller_device
	tap_check "no flush succeeds after the server has lost writes" crash
	tap_check "writes that the server has lost are repeated" resubmit
	tap_check "a removal waits for writes that are repeated" frozen_fs removed_while_repeated
	tap_check "a server that grants less is refused with a reason" lowered
	tap_check "the disk gives up after reconnect_timeout" gives_up
	tap_check "two disks are connected through one open file" two_names
	tap_check "a disk has no more queues than there are CPUs" many_queues
	tap_check "disks are opened while they are removed" opened_and_removed
	direct=1 tap_check "a file is used without the page cache" frozen_fs direct_file
	tap_check "a slow write is not repeated" frozen_fs slow_write
	tap_check "a new disk waits for the write of the one before" frozen_fs fence
	tap_check "a read-only device refuses writes" read_only
}

tap_plan $((short ? 19 : 44))
if start >"/tmp/datblk.start" 2>&1; then
	tap_ok "modules load, the port listens"
else
	tap_diag "$(cat /tmp/datblk.start; dmesg | tail -n 5)"
	tap_not_ok "modules load, the port listens"
	exit 1
fi
tap_check "a loop device and a file are exported" exports
tap_refuse "an unknown device is refused" attach device=none
tap_check "the loop device is a disk" attach device=loop queues=2 || exit
disk=$(cat $work/name)
backing=${loop##*/}
tap_check "its size is that of the loop device" value "$(cat "/sys/block/$backing/size")" \
	"/sys/block/$disk/size"
tap_check "it has a write cache, as the loop device" value "write back" \
	"/sys/block/$disk/queue/write_cache"
tap_check "direct writes of random sizes are read back" random_sizes "$disk" 1
[ -n "$short" ] || tap_check "buffered writes of random sizes are read back" random_sizes "$disk" 0
tap_check "merged bios that meet in a page are read back" counts "$disk" 6 100 small_bios "$disk"
tap_check "the loop device has the same data" same "$disk" "$loop"
tap_check "a flush reaches the loop device" counts "$backing" 16 1 flushes
tap_check "writes with FUA reach stable storage" counts "$backing" 16 8 fua
tap_check "a discard reaches the loop device" counts "$backing" 12 1 erase "$disk" 5
tap_check "zeroes are written" erase "$disk" 6 -z
tap_check "the server restarts $rounds times during verified writes" restarts loop "$rounds" "$disk"
tap_check "a disk in use is not removed" refused_while_open
tap_check "the disk is removed, which is no loss of its connections" removed_without_loss "$disk"

tap_check "writes are flushed if the loop device gets a write cache later" cache_later

[ -n "$short" ] || with_file
tap_check "ports and devices are removed" rmdir $config/devices/loop $config/devices/file $port
tap_check "no object of kDAPL is left" wait_for kdapl_empty
