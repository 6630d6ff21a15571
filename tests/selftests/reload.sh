#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kdapl.ko is loaded and unloaded in a loop, also with a Consumer: the kernel's memory does not
# grow, and debugfs and sysfs have the same entries afterwards. RELOAD_PARTS sets
# the number of parts in which this is measured.
# covers: leaks of memory and of kernel entries that remain after rmmod

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

# steady EACH MOST VALUE...: at least one part grows by EACH or less, and the median growth of a
# part, over all pairs of samples, is at most MOST. A leak makes each part larger. The memory that
# the rest of the kernel allocates varies: by up to 140 KB in kmalloc() and 32 KB in vmalloc(), with
# medians below 1 KB and 8 KB. A leak of one page in each of ten loads is 40 KB.
steady() {
	printf '%s\n' "${@:3}" | awk '
		NR > 1 && (NR == 2 || $1 - value[NR - 1] < least) { least = $1 - value[NR - 1] }
		{ for (i in value) print ($1 - value[i]) / (NR - i); value[NR] = $1 }
		END { print "least", least }' | sort -k 1,1g |
		awk -v each="$1" -v most="$2" '
		$1 == "least" { least = $2; next }
		{ growth[++n] = $1 }
		END {
			median = growth[int((n + 1) / 2)]
			print "growth of a part: median " median ", least " least
			exit median > most || least > each
		}'
}

# stays NAME EACH MOST VALUE...: check and print the values
stays() {
	tap_check "$1" steady "${@:2}"
	tap_diag "${*:4}"
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
	stays "memory from kmalloc() does not grow" 4096 4096 "${kmalloc[@]}"
fi
stays "memory of each CPU does not grow" 0 20 "${percpu[@]}"
stays "memory from vmalloc() does not grow" 0 20 "${vmalloc[@]}"
tap_check "no module is loaded" test ! -e /sys/module/kdapl
