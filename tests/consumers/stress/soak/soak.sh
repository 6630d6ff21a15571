#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rounds of work in a guest for KDAPL_SOAK seconds, and after each a line in soak.csv: memory,
# objects and slots. check/run-guest starts it, and check/trends.py evaluates the lines.
#
# kdapl.ko and datblk stay loaded. One stream (tests/consumers/traffic) transfers from the beginning to
# the end; each round runs another stream, the ledger, lifetime loops, part of the loopback and a
# disk whose server restarts, and then waits until only the objects of the first stream are left.

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"

config=/sys/kernel/config/datblk
disk=

tidy() {
	[ -z "$disk" ] || echo "disconnect $disk force" >/dev/datblk-control
	rmdir $config/*/* 2>/dev/null
	umount /run/soak
	rmmod datblk_client datblk_server datblk_core kdapl_life kdapl_ledger kdapl_traffic 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

end=$((SECONDS + ${KDAPL_SOAK:-3600}))

# passed FILE: no result of this TAP is "not ok", and there is one
passed() { grep -q '^ok' "$1" && ! grep '^not ok' "$1"; }

ledger() {
	kdapl_insmod kdapl_ledger posts=10000 seed="$1" stretch="$KDAPL_FACTOR" || return
	cat "$DEBUGFS/kdapl_ledger/verdict" >round.tap
	rmmod kdapl_ledger && passed round.tap
}

lifetime() {
	local loop

	kdapl_insmod kdapl_life stretch="$KDAPL_FACTOR" || return
	for loop in close ep evd lmr psp; do
		echo "$loop 1" >"$DEBUGFS/kdapl_life/run" || { cat "$DEBUGFS/kdapl_life/log"; return 1; }
	done
	rmmod kdapl_life
}

loopback() {
	./kdapl-loop --tap --short --seed "$1" --op send,write,read,srq,disconnect,rmr >round.tap
	passed round.tap
}

# datblk_start: export a file of 16 MiB, on a port that is not enabled yet
datblk_start() {
	modprobe -q configfs
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || return
	insmod "$KDAPL_DIR/datblk_core.ko" && insmod "$KDAPL_DIR/datblk_server.ko" &&
		insmod "$KDAPL_DIR/datblk_client.ko" && mkdir /run/soak &&
		mount -t tmpfs -o size=32m tmpfs /run/soak && head -c 16M /dev/zero >/run/soak/disk &&
		mkdir $config/ports/p0 $config/devices/disk && echo rxe0/1 >$config/ports/p0/ia &&
		echo /run/soak/disk >$config/devices/disk/path
}

serve() { echo "$1" >$config/devices/disk/enable && echo "$1" >$config/ports/p0/enable; }
recoveries() { cat "/sys/block/$disk/datblk/recoveries"; }
live() { [ "$(cat "/sys/block/$disk/datblk/state")" = live ] && [ "$(recoveries)" -gt "$1" ]; }

# restart: the server restarts while the disk is used
restart() {
	local before

	before=$(recoveries) && sleep 1 && echo 0 >$config/devices/disk/enable &&
		echo 1 >$config/devices/disk/enable && wait_for live "$before"
}

# a_disk: writes that are verified, over a restart of the server
a_disk() {
	local writer status=0

	serve 1 && exec 3<>/dev/datblk-control &&
		echo "connect ia=rxe0/1 address=10.9.9.1 device=disk queues=2 depth=8" >&3 &&
		read -r disk <&3 || return
	exec 3>&-
	fio --name=soak --filename="/dev/$disk" --allow_file_create=0 --ioengine=libaio --direct=1 \
		--rw=randrw --bs=16k --size=16M --iodepth=8 --verify=crc32c --verify_fatal=1 >fio.log &
	writer=$!
	restart || status=1
	wait "$writer" || status=1
	[ "$status" = 0 ] || { cat fio.log; return 1; }
	echo "disconnect $disk" >/dev/datblk-control && disk= && serve 0
}

another_stream() { transfers_start rxe0 && transfers 200 && stream stop 1; }

# rest: only the objects of the first stream are left
rest() { [ "$(wc -l <"$DEBUGFS/kdapl/ias")" = 1 ] && [ "$(wc -l <"$DEBUGFS/kdapl/eps")" = 2 ]; }

round() {
	another_stream && ledger "$1" && lifetime && loopback "$1" && a_disk && wait_for rest &&
		transfers 100
}

# objects: print the number of objects of kdapl.ko
objects() { cat "$DEBUGFS"/kdapl/{ias,pzs,lmrs,rmrs,evds,eps,srqs,psps,rsps,crs} | wc -l; }

# slots: print the number of slots that are in use, in all queues: depth/free/posted/done
slots() {
	grep -oE '(recvs|requests)=[0-9]+/[0-9]+' "$DEBUGFS/kdapl/eps" |
		awk -F '[=/]' '{ used += $2 - $3 } END { print used + 0 }'
}

# used: print the KiB of memory in use, without what the kernel can free
used() {
	awk '/^MemTotal:/ { t = $2 } /^MemAvailable:/ { a = $2 } END { print t - a }' /proc/meminfo
}

# sample ROUND: add a line. kmalloc_bytes comes first, because it empties the kernel's caches
sample() {
	local bytes

	bytes=$(kmalloc_bytes)
	echo "$1,$SECONDS,$(used),$(kib SUnreclaim),$(kib Percpu),$(kib VmallocUsed),$bytes,$(objects),$(slots)" >>soak.csv
}

echo "round,seconds,used_kib,unreclaimable_kib,percpu_kib,vmalloc_kib,kmalloc_bytes,objects,slots" >soak.csv
kdapl_load && datblk_start && transfers_start rxe0 || exit 1
# What comes before the first sample allocates what stays
round 1 || exit 1
number=1
while [ "$SECONDS" -lt "$end" ]; do
	number=$((number + 1))
	round "$number" || { echo "round $number failed"; exit 1; }
	sample "$number"
done
transfers_stop && tap_plan 1 && tap_ok "$number rounds"
