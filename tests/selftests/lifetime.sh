#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Everything is closed, freed and removed while other CPUs post, dequeue and run
# upcalls (tests/stress/lifetime), over and over. KDAPL_LIFE multiplies the rounds; a
# kernel with kmemleak gets twice as many.
# time: 300

. "${0%/*}/lib.sh"
trap 'rmmod kdapl_life 2>/dev/null; kdapl_unload; rxe_setup 0; rm -f "$caught"' EXIT

caught=$(mktemp)
dir=$DEBUGFS/kdapl_life
factor=${KDAPL_LIFE:-1}
! kmemleak_there || factor=${KDAPL_LIFE:-2}

# Without kdapl_loop, which would keep kdapl from being unloaded
load_kdapl() { loaded kdapl || kdapl_insmod kdapl stretch="$KDAPL_FACTOR"; }
load() { kdapl_insmod kdapl_life stretch="$KDAPL_FACTOR"; }

# life COMMAND [ROUNDS]: on failure what the module noted
life() {
	echo "$*" >"$dir/run" || { cat "$dir/log"; return 1; }
}

# loop CLAUSES COMMAND ROUNDS NAME
loop() {
	local rounds=$(($3 * factor))

	tap_clauses "$1"
	tap_check "$4, $rounds rounds" life "$2" "$rounds"
}

# gone: the device is, and with it what it stood on
gone() { [ ! -e /sys/class/infiniband/rxe0 ]; }

# Each takes the device away in a way of its own
take_link() { rxe_delete 0; }
take_netdev() { ip link delete dummy0 && wait_for 20 gone; }

# removal_round HOW: under load and inside an upcall, then close
removal_round() {
	life start && life hold && "$1" && life settle || return
	# In a file: tap_check calls us in a subshell
	grep 'began inside an upcall' "$dir/log" >>"$caught"
	rxe_setup 0
}

# unload_round HOW: the modules go as soon as the device has, or while it does
unload_round() {
	local pid

	life start || return
	case $1 in
	after)
		rxe_delete 0 && rmmod kdapl_life && rmmod kdapl || return
		;;
	during)
		rxe_delete 0 &
		pid=$!
		rmmod kdapl_life && rmmod kdapl && wait "$pid" || return
		;;
	without)
		rmmod kdapl_life && rmmod kdapl || return
		;;
	esac
	[ "$1" = without ] || rxe_setup 0 || return
	load_kdapl && load
}

# rounds N COMMAND...
rounds() {
	local n=$1 i

	shift
	for ((i = 1; i <= n; i++)); do
		"$@" || { echo "in round $i of $n"; return 1; }
	done
}


tap_plan 16
rxe_setup 0
kdapl_unload
load_kdapl
tap_check "kdapl_life loads" load
loop "C-36 C-59" close 2 "close with everything alive, and in the right order"
loop "E-45" order 1 "frees in the wrong order"
loop "C-36" ep 2 "dat_ep_free under load"
loop "E-45" evd 2 "dat_evd_free while others post, dequeue and deliver"
loop "C-36" srq 1 "dat_srq_free while others post"
loop "C-36" lmr 1 "dat_lmr_free while posts name it"
loop "C-36" rmr 1 "dat_rmr_free while it is being bound"
loop "C-40" psp 1 "dat_psp_free while requests arrive"
loop "C-36 C-59" upcall 1 "freeing from the upcall"
loop "E-05" teardown 1 "TEARDOWN under load"
tap_clauses C-31 C-57 C-58
tap_check "rdma link delete, $((2 * factor)) rounds" rounds $((2 * factor)) removal_round take_link
tap_clauses C-31 C-57 C-58
tap_check "the net device is deleted, $factor rounds" rounds "$factor" removal_round take_netdev
# Not a test: what the kernel does before it comes to us is its own affair
tap_diag "$(grep -c . "$caught") removals began inside an upcall"
for how in after during without; do
	tap_clauses C-57
	tap_check "unloading, removal: $how, $factor rounds" rounds "$factor" unload_round "$how"
done
