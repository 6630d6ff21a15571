#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rounds of work in a guest for KDAPL_SOAK seconds, and after each a line in soak.csv: memory,
# objects and slots. check/run-guest starts it, and check/trends.py evaluates the lines.
#
# kdapl.ko stays loaded. One stream (tests/consumers/traffic) transfers from the beginning to the end; each
# round runs another stream, the ledger, lifetime loops and part of the loopback, and then waits
# until only the objects of the first stream are left.

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"

trap 'rmmod kdapl_life kdapl_ledger kdapl_traffic 2>/dev/null; kdapl_unload' EXIT

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

another_stream() { transfers_start rxe0 && transfers 200 && stream stop 1; }

# rest: only the objects of the first stream are left
rest() { [ "$(wc -l <"$DEBUGFS/kdapl/ias")" = 1 ] && [ "$(wc -l <"$DEBUGFS/kdapl/eps")" = 2 ]; }

round() {
	another_stream && ledger "$1" && lifetime && loopback "$1" && wait_for rest &&
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
kdapl_load && transfers_start rxe0 || exit 1
# What comes before the first sample allocates what stays
round 1 || exit 1
number=1
while [ "$SECONDS" -lt "$end" ]; do
	number=$((number + 1))
	round "$number" || { echo "round $number failed"; exit 1; }
	sample "$number"
done
transfers_stop
