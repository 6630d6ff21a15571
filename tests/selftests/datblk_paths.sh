#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A disk of the block device over DAT (drivers/block/datblk) with two paths: two RDMA devices, on
# each of which the server listens. Each path fails in turn, in three ways, during verified writes.
# Client and server are in one guest, over rxe.
# covers: I/O goes on over another path, and no write overtakes one that the first path executes;
# with round-robin, writes use both paths, and a path that works again is used again

. "${0%/*}/lib.sh"

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ]; then
	tap_plan 1
	tap_skip "paths of the block device" "this kernel has no configfs, which the server needs"
	exit
fi

config=/sys/kernel/config/datblk
work=/run/datblk-paths
addresses=(10.9.9.1 10.9.10.1)
PATH=$KDAPL_DIR/datblk:$PATH

tidy() {
	touch $work/stop
	fsfreeze -u $work/mnt 2>/dev/null
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	rmdir $config/devices/* $config/ports/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	! mountpoint -q $work/mnt || wait_for umount $work/mnt
	umount $work /var/lib 2>/dev/null
	kdapl_unload
	for n in 1 2; do
		[ ! -e /sys/class/infiniband/rxe$n ] || rxe_delete $n
		ip link del dummy$n 2>/dev/null
	done
}
trap tidy EXIT

# connect EXPORT OPTION...: connect a disk over both paths; its name is in $work/name
connect() {
	datblkctl connect "${addresses[0]}@rxe0/1,${addresses[1]}@rxe1/1" "$@" >$work/name
}

attribute() { cat "/sys/block/$disk/datblk/$1"; }

# path_is N STATE TEXT: the path is in this state, and its line contains the text
path_is() {
	local line

	line=$(grep "^${addresses[$1]} rxe$1/1 $2" "/sys/block/$disk/datblk/paths")
	[ -n "$line" ] && [[ $line = *"${3:-}"* ]] && return
	echo "expected path $1 $2 ${3:-}, found:"
	cat "/sys/block/$disk/datblk/paths"
	return 1
}

# live_over N: the disk is live over this path
live_over() { [ "$(attribute state)" = live ] && path_is "$1" live; }

not_live() { [ "$(attribute state)" != live ]; }

# writes: print the number of writes that the disk has completed
writes() { awk '{ print $5 }' "/sys/block/$disk/stat"; }
grows() { [ "$(writes)" -gt "$1" ] || { echo "no write since $1"; return 1; }; }

# break_path N HOW
break_path() {
	case $2 in
	link) ip link set "dummy$1" down ;;
	device) rxe_delete "$1" ;;
	port) echo 0 >"$config/ports/p$1/enable" ;;
	esac
}

# listens N BEFORE: the server has said once more that it listens at the port
listens() { [ "$(listening "$1")" -gt "$2" ]; }
listening() { dmesg | grep -c "port p$1: listening on rxe$1/1 again"; }

# repair N HOW: undo break_path
repair() {
	local before

	before=$(listening "$1")
	case $2 in
	link) ip link set "dummy$1" up && rxe_recreate "$1" && wait_for listens "$1" "$before" ;;
	device) rxe_setup "$1" && wait_for listens "$1" "$before" ;;
	port) echo 1 >"$config/ports/p$1/enable" ;;
	esac
}

# goes_on N HOW: the disk is live over path N, which breaks: writes go on over the other one
goes_on() {
	wait_for live_over "$1" && break_path "$1" "$2" && wait_for live_over $((1 - $1)) &&
		path_is "$1" failed && wait_for grows "$(writes)"
}

fail_over() {
	local status=0

	goes_on "$@" || status=1
	repair "$@" && return $status
}

# load: verified writes until $work/stop exists
load() {
	until [ -e $work/stop ]; do
		(cd $work && fio --allow_file_create=0 --name=datblk --filename="/dev/$disk" \
			--ioengine=libaio --rw=randwrite --bsrange=512-256k --size=2M --iodepth=16 \
			--numjobs=2 --offset_increment=2M --cpus_allowed=0-1 \
			--cpus_allowed_policy=split --direct=1 --verify=crc32c --verify_fatal=1 \
			--verify_dump=0) || return
	done
}

# during_load COMMAND...: run the command during verified writes, none of which fails
during_load() {
	local status=0 before

	before=$(attribute errors)
	rm -f $work/stop
	load >$work/load 2>&1 &
	wait_for grows "$(writes)" && "$@" || status=1
	touch $work/stop
	wait $! || { cat $work/load; status=1; }
	[ "$(attribute errors)" = "$before" ] ||
		{ echo "errors $(attribute errors), before $before"; status=1; }
	return $status
}

# in_use: print the number of the path that the disk uses
in_use() { attribute ia | sed 's/^rxe\(.\).*/\1/'; }

each_in_turn() {
	local first

	first=$(in_use)
	fail_over "$first" "$1" && fail_over $((1 - first)) "$1"
}

# Both paths fail; the repair of either one makes the disk live again
no_path() {
	break_path 1 port && break_path 0 port && wait_for not_live &&
		wait_for path_is 1 failed reached && repair 1 port && wait_for live_over 1 &&
		break_path 1 port && wait_for not_live &&
		repair 0 port && wait_for live_over 0 && repair 1 port
}

listed() {
	datblkctl list --json >$work/json && python3 - $work/json <<-'END'
		import json, sys
		paths = json.load(open(sys.argv[1]))[0]["paths"]
		sys.exit([(p["address"], p["ia"], p["state"]) for p in paths] != [
			("10.9.9.1", "rxe0/1", "live"), ("10.9.10.1", "rxe1/1", "standby")] and str(paths))
	END
}

# recoveries N: the disk has reconnected N times
recoveries() {
	[ "$(attribute recoveries)" = "$1" ] || { echo "recoveries $(attribute recoveries)"; return 1; }
}

reason_is() { [[ $(attribute reason) = *"$1"* ]]; }

# The first path is lost, and the disk waits until the server has no I/O
refused() {
	wait_for fs_hangs && break_path 0 link && wait_for reason_is "has I/O" && not_live &&
		recoveries 0 || return
	# Further attempts do not succeed either
	sleep 2
	not_live && recoveries 0
}

# The first path is lost while the server still executes a write. The disk is not live over the
# second one, so it does not repeat the write, before that has ended
fence() {
	local writer status=0

	dd if=/dev/urandom of=$work/block bs=4k count=1 status=none && live_over 0 &&
		fsfreeze -f $work/mnt || return
	taskset -c 0 dd if=$work/block of="/dev/$disk" bs=4k oflag=direct conv=nocreat status=none &
	writer=$!
	refused || status=1
	fsfreeze -u $work/mnt && wait_for live_over 1 && wait $writer &&
		cmp -n 4096 $work/block "/dev/$disk" && repair 0 link && return $status
}

with_fence() {
	modprobe -q loop
	modprobe -q ext4
	truncate -s 32M $work/image && mkfs.ext4 -q $work/image && mkdir -p $work/mnt &&
		mount -o loop $work/image $work/mnt && truncate -s 8M $work/mnt/disk &&
		datblkctl export slow $work/mnt/disk --uuid new && connect slow --queues 1 || return
	disk=$(cat $work/name)
	fence && datblkctl disconnect "$disk" && datblkctl unexport slow
}

# The first address has no server
second_only() {
	break_path 0 port && connect data --queues 1 && disk=$(cat $work/name) && live_over 1 &&
		path_is 0 failed reached && [ "$(attribute address)" = "${addresses[1]} 4421" ] &&
		datblkctl disconnect "$disk" && repair 0 port
}

# packets N: print how many packets the RDMA device of this path has sent
packets() { cat "/sys/class/infiniband/rxe$1/ports/1/hw_counters/sent_pkts"; }

# The server refuses logins for a moment after each path that does not answer in five seconds
silent_paths() {
	local n list=${addresses[0]}@rxe0/1

	for n in 101 102 103; do
		list+=,10.9.9.$n@rxe0/1
	done
	datblkctl connect "$list" data --queues 2 --policy round-robin >$work/name &&
		disk=$(cat $work/name) && live_over 0 && datblkctl disconnect "$disk"
}

# A mebibyte from each CPU takes at least 500 packets on each path
both_used() {
	local n before=()

	for n in 0 1; do
		before[n]=$(packets $n)
	done
	for n in 0 1; do
		taskset -c $n dd if=/dev/zero of="/dev/$disk" bs=64k count=16 seek=$((512 + n * 16)) \
			oflag=direct conv=nocreat,notrunc status=none || return
	done
	for n in 0 1; do
		[ $(($(packets $n) - before[n])) -ge 500 ] ||
			{ echo "path $n: packets ${before[n]}, now $(packets $n)"; return 1; }
	done
}

both_live() { live_over 0 && path_is 1 live; }

round_robin() {
	connect data --queues 2 --policy round-robin && disk=$(cat $work/name) && both_live &&
		[ "$(attribute policy)" = round-robin ]
}

# comes_back N HOW: path N breaks: writes go on over the other one only, and then over both again
comes_back() {
	local status=0

	wait_for both_live && break_path "$1" "$2" && wait_for path_is "$1" failed &&
		wait_for live_over $((1 - $1)) && wait_for grows "$(writes)" || status=1
	repair "$1" "$2" && wait_for both_live && both_used && return $status
}

each_comes_back() { comes_back 0 "$1" && comes_back 1 "$1"; }

# Both paths fail. Each one suffices, and both are used when both work
both_come_back() {
	break_path 0 port && break_path 1 port && wait_for not_live &&
		wait_for path_is 0 failed reached && wait_for path_is 1 failed reached &&
		repair 1 port && wait_for live_over 1 && path_is 0 failed &&
		repair 0 port && wait_for both_live && both_used
}

# Seconds in which probes would end a session several times
PROBES=12

# Path 1 does not answer: the session over path 0 stays
silent() {
	local before

	wait_for both_live && break_path 1 device && wait_for path_is 1 failed &&
		wait_for live_over 0 && before=$(attribute recoveries) || return
	sleep $PROBES
	recoveries "$before" && path_is 1 failed && repair 1 device && wait_for both_live
}

# Path 1 works again, but the server refuses logins over it: the session over path 0 stays
refusing_path() {
	local before status=0

	wait_for both_live && echo 10.9.9.1 >$config/devices/data/clients &&
		break_path 1 port && wait_for path_is 1 failed && wait_for live_over 0 || return
	before=$(attribute recoveries)
	echo 1 >$config/ports/p1/enable
	sleep $PROBES
	recoveries "$before" && path_is 1 failed || status=1
	echo >$config/devices/data/clients && wait_for both_live && return $status
}

# A write hangs in the server, and a failed path answers: the session stays until the write ends
slow_write() {
	local writer before status=0

	break_path 1 port && wait_for path_is 1 failed && wait_for live_over 0 &&
		fsfreeze -f $work/mnt || return
	before=$(attribute recoveries)
	dd if=/dev/urandom of=$work/block bs=4k count=1 status=none
	dd if=$work/block of="/dev/$disk" bs=4k oflag=direct conv=nocreat status=none &
	writer=$!
	wait_for fs_hangs && repair 1 port || status=1
	sleep $PROBES
	recoveries "$before" && path_is 0 live && path_is 1 failed || status=1
	fsfreeze -u $work/mnt && wait $writer && wait_for both_live &&
		cmp -n 4096 $work/block "/dev/$disk" && return $status
}

# The server executes a write of another disk, which has lost its connection. A failed path answers:
# the session stays until the write ends, because another one would be refused until then
other_disk() {
	local writer before status=0

	break_path 1 port && wait_for path_is 1 failed && wait_for live_over 0 &&
		fsfreeze -f $work/mnt || return
	before=$(attribute recoveries)
	dd if=/dev/zero of="/dev/$1" bs=4k count=1 oflag=direct conv=nocreat status=none &
	writer=$!
	wait_for fs_hangs && break_path 2 port && repair 1 port || status=1
	sleep $PROBES
	recoveries "$before" && live_over 0 && path_is 1 failed || status=1
	fsfreeze -u $work/mnt && repair 2 port && wait $writer && wait_for both_live && return $status
}

# The other disk has a path of its own
with_other_disk() {
	local other

	rxe_setup 2 && datblkctl listen --ia rxe2/1 p2 && datblkctl export slow $work/mnt/disk --uuid new &&
		other=$(datblkctl connect 10.9.11.1@rxe2/1 slow --queues 1) &&
		connect slow --queues 2 --policy round-robin || return
	disk=$(cat $work/name)
	other_disk "$other" && datblkctl disconnect "$disk" "$other" && datblkctl unexport slow
}

with_slow_write() {
	datblkctl export slow $work/mnt/disk --uuid new &&
		connect slow --queues 2 --policy round-robin || return
	disk=$(cat $work/name)
	slow_write && datblkctl disconnect "$disk" && datblkctl unexport slow
}

start() {
	local n

	mkdir -p $work && mount -t tmpfs tmpfs $work && mount -t tmpfs tmpfs /var/lib &&
		truncate -s 64M $work/file || return
	modprobe -q configfs
	modprobe -q crc32c
	[ -d $config ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	rxe_setup 1 && kdapl_insmod kdapl stretch="$KDAPL_FACTOR" &&
		insmod "$KDAPL_DIR/datblk_core.ko" && insmod "$KDAPL_DIR/datblk_server.ko" &&
		insmod "$KDAPL_DIR/datblk_client.ko" || return
	for n in 0 1; do
		datblkctl listen --ia rxe$n/1 p$n || return
	done
	datblkctl export data $work/file
}

tap_plan 22
if ! tap_check "modules load, the server listens on two RDMA devices" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "a disk is connected" connect data --queues 2 || exit
disk=$(cat $work/name)
tap_check "it uses the first path, and the second one stands by" listed
for how in link device port; do
	tap_check "each path in turn fails during verified writes: $how" during_load each_in_turn $how
done
tap_check "all paths fail, and the repair of either one suffices" during_load no_path
tap_check "the disk is removed" datblkctl disconnect "$disk"
tap_check "a disk is connected over the only path that works" second_only
tap_check "no other path repeats a write that the server still executes" with_fence
tap_check "round-robin: a disk is connected, although three of four paths do not answer" silent_paths
tap_check "round-robin: a disk is connected over both paths" round_robin || exit
tap_check "round-robin: writes use both paths" both_used
for how in link device port; do
	tap_check "round-robin: each path in turn fails during verified writes, and is used again: $how" \
		during_load each_comes_back $how
done
tap_check "round-robin: all paths fail, and are used again" during_load both_come_back
# A new disk probes every second
datblkctl disconnect "$disk" && round_robin
tap_check "round-robin: a path that does not answer costs nothing" during_load silent
tap_check "round-robin: a path that refuses logins costs nothing" during_load refusing_path
datblkctl disconnect "$disk"
tap_check "round-robin: a slow write is not interrupted for a path that works again" with_slow_write
tap_check "round-robin: a session is not closed while the server has I/O of another disk" with_other_disk
tap_check "no object of kDAPL is left" eval "rmdir $config/devices/* $config/ports/* && wait_for kdapl_empty"
