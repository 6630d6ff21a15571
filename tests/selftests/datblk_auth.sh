#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Keys of the block device over DAT (drivers/block/datblk): who gets a disk, and where a key can be
# seen. Client and server are in one guest, over rxe; kdapl_blk_hostile plays a client and a server
# without the key.
# covers: a login without the right key gets neither a connection nor data, and no key is shown

. "${0%/*}/lib.sh"

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ]; then
	tap_plan 1
	tap_skip "keys of the block device" "this kernel has no configfs, which the server needs"
	exit
fi

config=/sys/kernel/config/datblk
devices=$config/devices
work=/run/datblk-auth
address=10.9.9.1

# Keys as digits; a key of 64 digits is unlikely to be anywhere by chance
key() { printf '%s' "$1" | sha256sum | cut -c 1-64; }
right=$(key right)
wrong=$(key wrong)
own=$(key own)

tidy() {
	rmmod kdapl_blk_hostile 2>/dev/null
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	rmdir $devices/* $config/ports/* 2>/dev/null
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
	mkdir -p $work && mount -t tmpfs -o size=64m tmpfs $work && modprobe -q configfs || return
	[ -d /sys/kernel/config/datblk ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $config/ports/p0 && echo rxe0/1 >$config/ports/p0/ia &&
		echo 1 >$config/ports/p0/enable && export_file open && export_file locked &&
		echo "$right" >$devices/locked/key
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

detach() { echo "disconnect $1 force" >/dev/datblk-control; }

# transfers DISK: what is written is read again
transfers() {
	head -c 64K /dev/urandom >$work/data
	dd if=$work/data of="/dev/$1" bs=64k oflag=direct conv=nocreat,fsync status=none &&
		dd if="/dev/$1" bs=64k count=1 iflag=direct status=none | cmp - $work/data
}

# admitted OPTIONS...: the disk is connected and works
admitted() {
	local status=0

	attach "$@" || return
	transfers "$(cat $work/name)" || status=1
	detach "$(cat $work/name)" && return "$status"
}

none() { ! grep . "$devices/$1/connections"; }

# refused DEVICE REASON OPTIONS...: no disk; both logs have the reason, and the counter counts it
refused() {
	local device=$1 reason=$2 before client server after

	shift 2
	before=$(cat "$devices/$device/refused")
	server=$(dmesg | grep -c "login to \"$device\" refused: $reason")
	client=$(dmesg | grep -c "cannot connect to $address, device $device: $reason")
	! attach "device=$device" "$@" 2>$work/error ||
		{ echo "admitted"; detach "$(cat $work/name)"; return 1; }
	grep "rejected" $work/error || { cat $work/error; return 1; }
	after=$(cat "$devices/$device/refused")
	[ "$after" = $((before + 1)) ] || { echo "expected refused $((before + 1)), found $after"; return 1; }
	[ "$(dmesg | grep -c "login to \"$device\" refused: $reason")" -gt "$server" ] ||
		{ echo "the log of the server lacks: $reason"; return 1; }
	[ "$(dmesg | grep -c "cannot connect to $address, device $device: $reason")" -gt "$client" ] ||
		{ echo "the log of the client lacks: $reason"; return 1; }
	wait_for none "$device"
}

is() { [ "$(cat "/sys/block/$1/datblk/$2")" = "$3" ] || { echo "expected $2 $3, found $(cat "/sys/block/$1/datblk/$2")"; return 1; }; }

# again DEVICE: all its disks must connect again
again() { echo 0 >"$devices/$1/enable" && echo 1 >"$devices/$1/enable"; }

# reconnects DISK DEVICE: the disk comes back
reconnects() {
	local before

	before=$(cat "/sys/block/$1/datblk/recoveries")
	again "$2" && wait_for is "$1" recoveries $((before + 1)) && wait_for is "$1" state live
}

# stranded REASON KEY: the disk of "locked" finds another key at the server, and says so. It comes
# back when the key does. KEY: "": none
stranded() {
	local disk=$1 status=0

	echo "$3" >$devices/locked/key && again locked && wait_for is "$disk" reason "$2" || status=1
	is "$disk" state recovering && wait_for none locked || status=1
	echo "$right" >$devices/locked/key && wait_for is "$disk" state live && is "$disk" reason "" &&
		transfers "$disk" && return "$status"
}

survives() {
	local disk status=0

	attach device=locked "key=$right" && disk=$(cat $work/name) || return
	transfers "$disk" && reconnects "$disk" locked && transfers "$disk" &&
		stranded "$disk" "the client has another key than the server" "$wrong" &&
		stranded "$disk" "the server has no key for the device" "" || status=1
	detach "$disk" && return "$status"
}

# A disk without a key stays away from an export that has got one
locked_out() {
	local disk status=0

	attach device=open && disk=$(cat $work/name) || return
	echo "$right" >$devices/open/key && again open &&
		wait_for is "$disk" reason "the device needs a key" || status=1
	echo >$devices/open/key && wait_for is "$disk" state live && transfers "$disk" || status=1
	detach "$disk" && return "$status"
}

# The key of a host goes before that of the export, and is of no use to other hosts
host_key() {
	local host status=0

	host=$(cat /sys/module/datblk_client/parameters/host)
	echo "$host $own" >$devices/locked/host_keys && [ "$(wc -l <$devices/locked/host_keys)" = 1 ] &&
		admitted device=locked "key=$own" &&
		refused locked "the client has another key than the server" "key=$right" || status=1
	echo >$devices/locked/key
	refused locked "the device needs a key" && admitted device=locked "key=$own" || status=1
	echo "$host" >$devices/locked/host_keys && echo "1 $own" >$devices/locked/host_keys &&
		refused locked "the client has another key than the server" "key=$own" || status=1
	echo 1 >$devices/locked/host_keys && [ -z "$(cat $devices/locked/host_keys)" ] &&
		echo "$right" >$devices/locked/key && admitted device=locked "key=$right" &&
		return "$status"
}

# Neither side takes half a key, and the log does not have it
malformed() {
	local text

	for text in "${right:0:30}" "${right:0:63}" "${right}g" "x$right" "$right$right$right"; do
		! echo "$text" 2>/dev/null >$devices/open/key || { echo "key $text was taken"; return 1; }
		! attach device=open "key=$text" 2>/dev/null || { echo "key $text was used"; return 1; }
	done
	! attach device=open "$right" 2>/dev/null && [ "$(cat $devices/open/key)" = 0 ]
}

# seen FILE...: which of these files has a key, or its first half
seen() { timeout 60 grep -lsaE "${right:0:32}|${wrong:0:32}|${own:0:32}" "$@"; }

# No file of the kernel that describes disk, export or process has a key, and no line of the log
secret() {
	local disk files=()

	attach device=locked "key=$right" && disk=$(cat $work/name) || return
	mapfile -t files < <(find -H "/sys/block/$disk" "/sys/block/$disk/datblk" $config \
		"$DEBUGFS/datblk" "$DEBUGFS/kdapl" /sys/module/datblk_* /proc/[0-9]*/cmdline -type f)
	echo "$right" >$work/control
	[ ${#files[@]} -gt 30 ] && [ "$(cat $devices/locked/key)" = 1 ] && seen $work/control >/dev/null &&
		! seen "${files[@]}" && ! dmesg | seen - && transfers "$disk"
	set -- $?
	detach "$disk" && return "$1"
}

# hostile PARAMETERS...: load the module, which begins
hostile() {
	kdapl_insmod kdapl_blk_hostile stretch="$KDAPL_FACTOR" address=$address keyless=1 "$@"
}

# verdict: wait for its end
verdict() {
	local status=0

	timeout "$HANG" cat "$DEBUGFS/kdapl_blk_hostile/verdict" >$work/verdict
	cat $work/verdict
	grep -q '^ok 1' $work/verdict || status=1
	rmmod kdapl_blk_hostile && return "$status"
}

# The file behind the export is the same afterwards, and the right key still works
intruder() {
	md5sum $work/locked >$work/sum && hostile names=locked && verdict &&
		md5sum -c --quiet $work/sum && wait_for none locked && admitted device=locked "key=$right"
}

# The server admits the client without a proof, with a wrong one, or with that of the client itself
impostor() {
	local before status=0

	before=$(dmesg | grep -c "the server has not proved that it has the key")
	hostile qual=4499 messages=30 || return
	while [ "$status" = 0 ] && ! grep -qx 100 "$DEBUGFS/kdapl_blk_hostile/progress"; do
		! attach device=any qual=4499 "key=$right" 2>/dev/null || status=1
	done
	verdict || status=1
	[ "$(dmesg | grep -c "the server has not proved that it has the key")" -gt $((before + 9)) ] &&
		return "$status"
}

tap_plan 13
rxe_setup
if ! tap_check "modules load, one export has a key" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "malformed keys are refused" malformed
tap_check "the right key gets a disk" admitted device=locked "key=$right"
tap_check "another key does not" refused locked "the client has another key than the server" \
	"key=$wrong"
tap_check "no key does not" refused locked "the device needs a key"
tap_check "a client with a key refuses an export without" \
	refused open "the server has no key for the device" "key=$right"
tap_check "an export without a key needs none" admitted device=open
tap_check "a host may have a key of its own" host_key
tap_check "a client that does not know the key gets no connection" intruder
tap_check "a client believes no server that does not know the key" impostor
tap_check "a disk connects again with the right key only" survives
tap_check "a disk without a key says that it needs one" locked_out
tap_check "no key is in a log, an attribute or a command line" secret
