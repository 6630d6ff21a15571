#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory pressure: two streams continue while the kernel has little memory and reclaims pages, and
# posts and completions allocate nothing.
# covers: posts and completions while the kernel has no free memory

. "${0%/*}/lib.sh"

tracing=/sys/kernel/tracing
full=$(mktemp -d)
hog=

tidy() {
	[ -z "$hog" ] || kill "$hog"
	umount "$full"
	rmdir "$full"
	rmmod kdapl_traffic 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# occupy KIB: leave this much memory that can be used. There is no swap, so tmpfs keeps the rest.
occupy() {
	local size

	size=$(($(kib MemAvailable) - $1))
	[ "$size" -gt 0 ] && mount -t tmpfs -o "size=${size}k" kdapl "$full" &&
		fallocate -l "$((size - 64))K" "$full/fill"
}

# Writes to 512 MiB again and again, and allows the kernel to take back each part once it is written.
# It must do so, because there is less memory.
use_memory='
import mmap
size, part = 512 << 20, 1 << 20
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
data = b"x" * part
while True:
    for at in range(0, size, part):
        memory[at:at + part] = data
        memory.madvise(mmap.MADV_FREE, at, part)
'

# reclaimed COUNT BEFORE: so many pages were reclaimed since then
stolen() { awk '/^pgsteal_(kswapd|direct) / { sum += $2 } END { print sum }' /proc/vmstat; }
reclaimed() {
	local now

	now=$(stolen)
	echo "$((now - $2)) pages reclaimed, expected $1"
	[ $((now - $2)) -ge "$1" ]
}

# while_reclaiming COUNT: the streams receive messages and pages are reclaimed at the same time
while_reclaiming() {
	local pages

	for _ in 1 2 3 4; do
		pages=$(stolen)
		transfers 100 && wait_for reclaimed "$1" "$pages" || return
	done
}

# trace_kdapl 0|1: trace the allocations whose caller is in kdapl.ko
trace_kdapl() {
	local base size event

	read -r _ size _ _ _ base _ < <(grep '^kdapl ' /proc/modules)
	for event in kmalloc kmem_cache_alloc; do
		[ "$1" = 0 ] ||
			echo "call_site >= $base && call_site < $(printf '%#x' $((base + size)))" \
				>$tracing/events/kmem/$event/filter || return
		echo "$1" >$tracing/events/kmem/$event/enable || return
	done
}

kdapl_allocates() { grep 'call_site=.*\[kdapl\]' $tracing/trace; }

# seen_to_allocate: the trace shows what an IA that is opened allocates
seen_to_allocate() {
	one_cpu trace_kdapl 1 && another && kdapl_allocates
}

# nothing_allocated: the streams go on, and kdapl.ko allocates nothing for them
nothing_allocated() {
	echo >$tracing/trace
	transfers 500 && ! kdapl_allocates
}

another() { transfers_start rxe0 && transfers 100 && stream stop 2; }

TRAFFIC_LIMIT=2
tap_plan 9
rxe_setup || exit 1
tap_check "two streams transfer" transfers_start rxe0 rxe0
tap_check "occupy the memory of the guest but 160 MiB" occupy 163840
python3 -c "$use_memory" &
hog=$!
begin=$(stolen)
tap_check "the kernel reclaims pages" wait_for reclaimed 20000 "$begin"
tap_clauses G-08
tap_check "messages continue while it reclaims, and no post is refused" while_reclaiming 2000
tap_check "an IA is opened and connected while it reclaims, and transfers" another
tap_check "the trace shows that an IA allocates" seen_to_allocate
tap_clauses G-08
tap_check "posts and completions of kDAPL do not allocate" nothing_allocated
one_cpu trace_kdapl 0
kill "$hog"
hog=
tap_clauses G-02
tap_check "all messages have arrived, unchanged and in order" transfers_stop
rmmod kdapl_traffic
tap_check "debugfs shows no object" wait_for kdapl_empty
