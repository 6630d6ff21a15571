#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Disks of the block device over DAT (drivers/block/datblk) that share the connections to their
# server. Client and server are in one guest, over rxe.
# covers: connect share=1: each disk logs in and out separately, all disks recover together, a refused
# one waits, and one whose device hangs does not hold up the others

. "${0%/*}/lib.sh"

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ]; then
	tap_plan 1
	tap_skip "shared connections of the block device" "this kernel has no configfs, which the server needs"
	exit
fi

config=/sys/kernel/config/datblk
devices=$config/devices
port=$config/ports/p0
work=/run/datblk-share
address=10.9.9.1
key=$(printf key | sha256sum | cut -c 1-64)
wrong=$(printf wrong | sha256sum | cut -c 1-64)

tidy() {
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	fsfreeze -u $work/mnt 2>/dev/null
	rmdir $devices/* $config/ports/* 2>/dev/null
	umount $work/mnt 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	umount "$work" 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

export_file() {
	truncate -s 16M "$work/$1" && mkdir "$devices/$1" && echo "$work/$1" >"$devices/$1/path" &&
		echo 1 >"$devices/$1/enable"
}

start() {
	local i

	mkdir -p $work && mount -t tmpfs -o size=320m tmpfs $work && modprobe -q configfs || return
	[ -d /sys/kernel/config/datblk ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $port && echo rxe0/1 >$port/ia && echo 1 >$port/enable &&
		export_file a && export_file b && export_file locked && echo "$key" >$devices/locked/key &&
		export_file locked2 && echo "$key" >$devices/locked2/key || return
	for i in {1..16}; do
		export_file "more$i" || return
	done
}

# attach OPTIONS...: connect a disk, whose name is in $work/name
attach() {
	local name

	exec 3<>/dev/datblk-control || return
	! echo "connect ia=rxe0/1 address=$address queues=2 $*" >&3 || read -r name <&3
	exec 3>&-
	echo "$name" >$work/name
	[ -n "$name" ]
}

# keep NAME OPTIONS...: connect a disk, whose name is in $work/disk-NAME
keep() {
	local to=$work/disk-$1

	shift
	attach "$@" && cp $work/name "$to"
}

disk() { cat "$work/disk-$1"; }
detach() { echo "disconnect $1" >/dev/datblk-control; }
logins() { wc -l <"$devices/$1/connections"; }

# equal WHAT FOUND EXPECTED
equal() { [ "$2" = "$3" ] || { echo "$1: expected $3, found $2"; return 1; }; }
connections() { equal "connections of the port" "$(cat $port/connections)" "$1"; }
is() { equal "$1 $2" "$(cat "/sys/block/$(disk "$1")/datblk/$2")" "$3"; }
no_logins() { equal "logins to $1" "$(logins "$1")" 0; }
live() { is "$1" state live; }

# transfers NAME: write to a disk, read it back, and compare
transfers() {
	head -c 256K /dev/urandom >"$work/data-$1"
	dd if="$work/data-$1" of="/dev/$(disk "$1")" bs=64k oflag=direct conv=nocreat,fsync status=none &&
		dd if="/dev/$(disk "$1")" bs=64k count=4 iflag=direct status=none | cmp - "$work/data-$1"
}

# verify NAME SECONDS: write and read with checksums; fail if a request fails
verify() {
	fio --allow_file_create=0 --name="$1" --filename="/dev/$(disk "$1")" --ioengine=libaio --rw=randrw \
		--bsrange=512-128k --blockalign=512 --iodepth=8 --direct=1 --verify=crc32c --verify_fatal=1 \
		--size=8M --time_based --runtime="$2" --output="$work/fio-$1" || { cat "$work/fio-$1"; return 1; }
}

# while_verified COMMAND...: run a command during verified I/O to both disks
while_verified() {
	local first second status=0

	verify a 6 &
	first=$!
	verify b 6 &
	second=$!
	sleep 1
	"$@" || status=1
	wait $first || status=1
	wait $second || status=1
	return $status
}

two_disks() {
	keep a share=1 device=a && keep b share=1 device=b && connections 2 && equal "logins to a" "$(logins a)" 2 &&
		equal "logins to b" "$(logins b)" 2 && transfers a && transfers b &&
		cmp -n 262144 $work/a $work/data-a && cmp -n 262144 $work/b $work/data-b
}

# The server disables its port, and listens again
restart() { echo 0 >$port/enable && echo 1 >$port/enable && wait_for live a && wait_for live b; }

# A disk without the option, or with other limits, has its own connections
unshared() {
	keep c device=more1 && connections 4 && detach "$(disk c)" && wait_for connections 2 &&
		keep c share=1 depth=8 device=more1 && connections 4 && detach "$(disk c)" && wait_for connections 2
}

no_recovery() { is a recoveries "$1" && is b recoveries "$2"; }

# Disks with a key share connections only with each other; the existing disks do not reconnect
with_key() {
	local before_a before_b

	before_a=$(cat "/sys/block/$(disk a)/datblk/recoveries")
	before_b=$(cat "/sys/block/$(disk b)/datblk/recoveries")
	! attach share=1 device=locked 2>/dev/null && ! attach share=1 device=locked "key=$wrong" 2>/dev/null &&
		! attach share=1 device=none 2>/dev/null && keep locked share=1 device=locked "key=$key" &&
		connections 4 && ! attach share=1 device=locked2 "key=$wrong" 2>/dev/null &&
		keep locked2 share=1 device=locked2 "key=$key" && connections 4 && transfers locked &&
		transfers locked2 && detach "$(disk locked)" && wait_for no_logins locked && transfers locked2 &&
		detach "$(disk locked2)" && wait_for connections 2 && no_recovery "$before_a" "$before_b"
}

two_logins() { equal "logins to a" "$(logins a)" 2; }

# A host gets no more logins to a device than the limit. If the second queue is refused, the client
# logs out the first one
host_limit() {
	local limit=/sys/module/datblk_server/parameters/host_connections was status=0

	was=$(cat $limit) && echo 3 >$limit && ! attach share=1 device=a 2>/dev/null &&
		wait_for two_logins && connections 2 && transfers a || status=1
	echo "$was" >$limit && return $status
}

refused_resubmit() { ! attach share=1 resubmit_kib=64 device=more1 2>/dev/null; }

# A disk is removed and connected again, while the other one works
leaves() {
	local before load i status=0

	before=$(cat "/sys/block/$(disk a)/datblk/recoveries")
	verify a 6 &
	load=$!
	for i in {1..5}; do
		detach "$(disk b)" && wait_for no_logins b && keep b share=1 device=b && transfers b && continue
		echo "round $i"
		status=1
		break
	done
	wait $load && [ "$status" = 0 ] && connections 2 && is a recoveries "$before"
}

refused_b() { is b reason "the server has no such device"; }

# An export is disabled, and its disk waits; the other disk works
export_ends() {
	echo 0 >$devices/b/enable && wait_for live a && wait_for refused_b && is b state recovering &&
		transfers a && connections 2 && echo 1 >$devices/b/enable && wait_for live b && is b reason "" &&
		transfers b && connections 2
}

# The same for the disk that the connection requests log in
first_export_ends() {
	echo 0 >$devices/a/enable && wait_for live b && transfers b &&
		is a reason "the server has no such device" && echo 1 >$devices/a/enable && wait_for live a &&
		transfers a && connections 2
}

# The name refers to another device: only its disk waits
other_device() {
	local uuid

	uuid=$(cat $devices/b/uuid)
	echo 0 >$devices/b/enable && echo $work/more16 >$devices/b/path && echo 0 >$devices/more16/enable &&
		echo 1 >$devices/b/enable && wait_for live a && sleep 1 && is b state recovering && transfers a || return
	echo 0 >$devices/b/enable && echo $work/b >$devices/b/path && echo "$uuid" >$devices/b/uuid &&
		echo 1 >$devices/more16/enable && echo 1 >$devices/b/enable && wait_for live b && live a && transfers b
}

size_is() { equal "size of b" "$(cat "/sys/block/$(disk b)/size")" "$1"; }

grows() {
	truncate -s 32M $work/b && echo 1 >$devices/b/revalidate_size && wait_for size_is 65536 &&
		wait_for live a && transfers a && transfers b
}

# A connection has at most 16 logins, so the next disk opens new connections. All disks reconnect
sixteen() {
	local i

	for i in {1..14}; do
		keep "more$i" share=1 "device=more$i" || return
	done
	connections 2 && keep more15 share=1 device=more15 && connections 4 && transfers more14 &&
		transfers more15 && restart && wait_for live more14 && wait_for live more15 &&
		transfers more14 && transfers more15 && connections 4 || return
	for i in {1..15}; do
		detach "$(disk "more$i")" || return
	done
	wait_for connections 2
}

# frozen_fs COMMAND...: run the command with the device "slow", a file on ext4
frozen_fs() {
	local status=0

	modprobe -q loop
	modprobe -q ext4
	truncate -s 32M $work/image && mkfs.ext4 -q $work/image && mkdir -p $work/mnt &&
		mount -o loop $work/image $work/mnt && truncate -s 8M $work/mnt/disk && mkdir $devices/slow &&
		echo $work/mnt/disk >$devices/slow/path && echo 1 >$devices/slow/enable || return
	"$@" || status=1
	fsfreeze -u $work/mnt 2>/dev/null
	rmdir $devices/slow && wait_for umount $work/mnt && return $status
}

gone() { [ ! -e "/sys/block/$1" ]; }

# A disk whose device hangs has as many commands in flight as it can get. Other disks work, and can
# be removed and connected. When the disk is removed, only its own I/O fails
hung() {
	local slow writer before status=0

	keep slow share=1 device=slow && connections 2 && fsfreeze -f $work/mnt || return
	slow=$(disk slow)
	before=$(cat "/sys/block/$(disk a)/datblk/errors")
	fio --allow_file_create=0 --name=slow --filename="/dev/$slow" --ioengine=libaio --rw=write --bs=4k \
		--iodepth=256 --direct=1 --size=8M --output=$work/fio-slow >/dev/null 2>&1 &
	writer=$!
	wait_for fs_hangs && sleep 2 && transfers a && transfers b && detach "$(disk b)" &&
		keep b share=1 device=b && connections 2 && while_verified true || status=1
	echo "disconnect $slow force" >/dev/datblk-control || status=1
	! wait $writer || { echo "I/O to the device that hangs: expected an error"; status=1; }
	wait_for live a && wait_for live b && transfers a && transfers b && gone "$slow" &&
		is a errors "$before" && is b errors 0 && return $status
}

# The disk that the connection requests have logged in is removed first
ends() {
	detach "$(disk a)" && transfers b && connections 2 && detach "$(disk b)" && wait_for connections 0
}

tap_plan 16
rxe_setup
if ! tap_check "modules load, files are exported" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "two disks share two connections" two_disks
tap_check "verified I/O to both disks" while_verified true
tap_check "a disk with other options has its own connections" unshared
tap_check "disks with a key share connections, and refused ones do not disturb the others" with_key
tap_check "a host has a limited number of logins to a device" host_limit
tap_check "a disk with resubmit_kib cannot share connections" refused_resubmit
tap_check "a disk is removed and connected again during I/O to the other one" leaves
tap_check "verified I/O while the server's port restarts" while_verified restart
tap_check "an export is disabled: only its disk waits" export_ends
tap_check "the export of the first disk is disabled: only its disk waits" first_export_ends
tap_check "a name refers to another device: only its disk waits" other_device
tap_check "a device grows" grows
tap_check "sixteen disks share connections, and the next one opens new ones" sixteen
tap_check "a device hangs: its disk does not hold up the others, and can be removed" frozen_fs hung
tap_check "the first disk is removed, then the last one" ends
