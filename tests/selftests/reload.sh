#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kdapl.ko is loaded and unloaded in a loop, also with a Consumer: the kernel's memory does not
# grow, and debugfs and sysfs have the same entries afterwards.
# buys: memory and entries of the kernel that remain after rmmod

. "${0%/*}/lib.sh"

parts=${RELOAD_PARTS:-4}
kmalloc=()
percpu=()
vmalloc=()
trap 'rmmod kdapl_traffic 2>/dev/null; kdapl_unload' EXIT

with_consumer() {
	transfers_start rxe0 && transfers 50 && transfers_stop && rmmod kdapl_traffic && rmmod kdapl
}

# part: load and unload ten times, twice with a Consumer
part() {
	local i

	for i in 1 2 3 4 5 6 7 8; do
		kdapl_insmod kdapl && rmmod kdapl || return
	done
	with_consumer && with_consumer
}

sample() {
	kmalloc+=("$(kmalloc_bytes 2>/dev/null)")
	percpu+=("$(kib Percpu)")
	vmalloc+=("$(kib VmallocUsed)")
}

# entries: print everything that a module may leave behind
entries() {
	find "$DEBUGFS" -maxdepth 1
	find /sys/kernel/tracing/events -maxdepth 1
	ls /sys/module
	grep -hos 'kdapl[^ ]*' /proc/vmallocinfo /proc/slabinfo
	# Threads, except workers of the kernel, whose names contain their latest workqueue
	cat /proc/[0-9]*/comm 2>/dev/null | grep kdapl | grep -v '^kworker/[u0-9]'
}

same_entries() { diff <(echo "$before") <(entries | sort); }

# steady MOST VALUE...: a value is at most MOST larger than the one before it. A leak makes each
# larger; what the rest of the kernel allocates meanwhile does not.
steady() {
	local most=$1 last=$2 now

	for now in "${@:3}"; do
		[ $((now - last)) -gt "$most" ] || return 0
		last=$now
	done
	echo "expected growth by at most $most at least once, values: ${*:2}"
	return 1
}

# stays NAME MOST VALUE...: check and print the values
stays() {
	tap_check "$1" steady "${@:2}"
	tap_diag "${*:3}"
}

TRAFFIC_LIMIT=2
tap_plan $((parts + 5))
rxe_setup || exit 1
kdapl_unload
# The first part also creates what stays with the device, or in the kernel
part || exit 1
before=$(entries | sort)
sample
for ((n = 1; n <= parts; n++)); do
	tap_check "load and unload, part $n of $parts" part
	sample
done
tap_check "debugfs, sysfs and the lists of the kernel have no other entry" wait_for same_entries
if [ -e "$DEBUGFS/kmemleak" ]; then
	tap_skip "memory from kmalloc()" "kmemleak looks for it"
elif [ ! -e /proc/slabinfo ]; then
	tap_skip "memory from kmalloc()" "the kernel does not count its objects"
else
	stays "memory from kmalloc() does not grow in each part" 4096 "${kmalloc[@]}"
fi
stays "memory of each CPU does not grow" 0 "${percpu[@]}"
stays "memory from vmalloc() does not grow" 0 "${vmalloc[@]}"
tap_check "no module is loaded" test ! -e /sys/module/kdapl
