#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Repeatedly closes, frees and removes all objects while other CPUs post, dequeue and run
# upcalls (tests/consumers/stress/lifetime). KDAPL_LIFE multiplies the number of rounds; the default is
# 2 on a kernel with kmemleak, else 1.
# covers: uses after free when CPUs free, close and remove what other CPUs use

. "${0%/*}/lib.sh"
trap 'rmmod kdapl_life 2>/dev/null; kdapl_unload; device_setup; rm -f "$caught"' EXIT

caught=$(mktemp)
dir=$DEBUGFS/kdapl_life
factor=${KDAPL_LIFE:-1}
! has_kmemleak || factor=${KDAPL_LIFE:-2}

# Without kdapl_loop, which holds a reference to kdapl
load_kdapl() { loaded kdapl || kdapl_insmod kdapl stretch="$KDAPL_FACTOR"; }
load() { kdapl_insmod kdapl_life ia="$IA" stretch="$KDAPL_FACTOR" context="$KDAPL_CONTEXT"; }

# life COMMAND [ROUNDS]: run a loop or a step of kdapl_life; on failure print its log
life() {
	echo "$*" >"$dir/run" || { cat "$dir/log"; return 1; }
}

# loop CLAUSES COMMAND ROUNDS NAME: run a loop as one test
loop() {
	local rounds=$(($3 * factor))

	tap_clauses "$1"
	tap_check "$4, $rounds rounds" life "$2" "$rounds"
}

# removal_round COMMAND: remove the device under load and inside an upcall, then close
removal_round() {
	life start && life hold && "$1" && life settle || return
	# In a file, because tap_check runs this function in a subshell
	grep 'began inside an upcall' "$dir/log" >>"$caught"
	device_setup
}

# unload_round HOW: unload the modules after the removal of the device, during it, or without
# one
unload_round() {
	local pid

	life start || return
	case $1 in
	after)
		device_delete && rmmod kdapl_life && rmmod kdapl || return
		;;
	during)
		device_delete &
		pid=$!
		rmmod kdapl_life && rmmod kdapl && wait "$pid" || return
		;;
	without)
		rmmod kdapl_life && rmmod kdapl || return
		;;
	esac
	[ "$1" = without ] || device_setup || return
	load_kdapl && load
}

# rounds N COMMAND...: run the command N times
rounds() {
	local n=$1 i

	shift
	for ((i = 1; i <= n; i++)); do
		"$@" || { echo "round $i of $n failed"; return 1; }
	done
}

tap_plan 16
device_setup
kdapl_unload
load_kdapl
tap_check "kdapl_life loads" load
loop "C-36 C-59" close 2 "close with all objects alive, and after freeing in the right order"
loop "E-45" order 1 "frees in the wrong order are refused"
loop "C-36" ep 2 "dat_ep_free under load"
loop "E-45" evd 2 "dat_evd_free while other threads post, dequeue and deliver"
loop "C-36" srq 1 "dat_srq_free while other threads post"
loop "C-36" lmr 1 "dat_lmr_free while posts use the LMR"
loop "C-36" rmr 1 "dat_rmr_free while the RMR is being bound"
loop "C-40" psp 1 "dat_psp_free while connection requests arrive"
loop "C-36 C-59" upcall 1 "calls that wait are refused in an upcall; an upcall schedules a free"
loop "E-05" teardown 1 "TEARDOWN under load"
tap_clauses C-31 C-57 C-58
tap_check "the device is deleted, $((2 * factor)) rounds" rounds $((2 * factor)) \
	removal_round device_delete
tap_clauses C-31 C-57 C-58
tap_check "what it depends on is deleted, $factor rounds" rounds "$factor" removal_round device_unplug
# Not a test: it depends on when the kernel calls the client of the device
tap_diag "$(grep -c . "$caught") removals began inside an upcall"
for how in after during without; do
	tap_clauses C-57
	tap_check "unload $how removal, $factor rounds" rounds "$factor" unload_round "$how"
done
