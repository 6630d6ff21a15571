#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every CPU but the first goes offline and online again while messages are exchanged.
# covers: CPUs that go offline with completions, timers and work items of kdapl on them

. "${0%/*}/lib.sh"

cpus=$(find /sys/devices/system/cpu -maxdepth 2 -path '*/cpu[1-9]*/online' |
	sed 's/[^0-9]*\([0-9]*\).*/\1/' | sort -n)

online() { echo "$2" >"/sys/devices/system/cpu/cpu$1/online"; }

tidy() {
	for cpu in $cpus; do
		online "$cpu" 1 2>/dev/null
	done
	rmmod kdapl_traffic 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# start_on CPU: start a stream whose first posts are made on this CPU
start_on() { taskset -p -c "$1" $BASHPID >/dev/null && transfers_start "$IA"; }

# switch CPU 0|1: take the CPU offline or online; the streams go on
switch() { online "$1" "$2" && transfers 100; }

# another: an IA is opened and connected now, and transfers 100
another() { transfers_start "$IA" && transfers 100 && stream stop $((number + 1)); }

# toggle CPU: several times without a pause
toggle() {
	local i

	for i in 1 2 3 4; do
		online "$1" 0 && online "$1" 1 || return
	done
	transfers 100
}

number=$(wc -w <<<"$cpus")
if [ "$number" = 0 ]; then
	echo "1..0 # SKIP no CPU but the first can go offline"
	exit
fi
TRAFFIC_LIMIT=2
tap_plan $((4 + 4 * number))
device_setup || exit 1
for cpu in 0 $cpus; do
	start_on "$cpu" || exit 1
done
tap_check "a stream on each CPU" transfers 100
for cpu in $cpus; do
	tap_check "CPU $cpu goes offline: messages go on" switch "$cpu" 0
	tap_check "CPU $cpu is offline: a new IA connects and transfers" another
	tap_check "CPU $cpu goes online: messages go on" switch "$cpu" 1
	tap_check "CPU $cpu goes offline and online repeatedly: messages go on" toggle "$cpu"
done
tap_clauses G-02
tap_check "no completion was lost, all messages have arrived" transfers_stop
rmmod kdapl_traffic
tap_check "debugfs shows no object" wait_for kdapl_empty
tap_check "kdapl unloads" kdapl_unload
