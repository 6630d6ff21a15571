#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Three independent Consumer modules on one device: each has its own objects, and two of them
# are unloaded, with their IAs open and messages under way, while the others transfer.
# covers: several modules that use kdapl, some of which are unloaded under traffic

. "${0%/*}/lib.sh"

trap 'rmmod kdapl_actor kdapl_traffic kdapl_ledger 2>/dev/null; kdapl_unload' EXIT

start_actor() {
	kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR" && act_ok open rxe0 && act_ok listen &&
		act_ok pair && act_ok traffic
}

# users COUNT: this many IAs are open, and as many modules use kdapl
users() {
	local ias modules

	ias=$(grep -c ' state=open ' "$DEBUGFS/kdapl/ias")
	modules=$(find /sys/module/kdapl/holders -mindepth 1 | wc -l)
	[ "$ias $modules" = "$1 $1" ] ||
		{ echo "expected $1 IAs and modules, got $ias IAs and $modules modules"; return 1; }
}

# eps_of COUNT: print the IAs with this number of EPs: the actor has three, a stream has two,
# the ledger has 24
eps_of() {
	local ia count

	while read -r ia count; do
		[ "$count" != "$1" ] || echo "$ia"
	done < <(sed -n 's/^\(ia#[0-9]*\) .* eps=\([0-9]*\) .*/\1 \2/p' "$DEBUGFS/kdapl/ias")
}

# own_eps COUNT...: there is one IA with each of these numbers of EPs
own_eps() {
	local count

	for count; do
		[ "$(eps_of "$count" | wc -l)" = 1 ] ||
			{ echo "expected one IA with $count EPs"; cat "$DEBUGFS/kdapl/ias"; return 1; }
	done
}

# progressed BEFORE: the ledger has made posts since then
progressed() {
	local now

	now=$(cat "$DEBUGFS/kdapl_ledger/progress")
	[ "$now" -gt "$1" ] || { echo "expected more than $1 %, got $now %"; return 1; }
}
ledger_goes_on() { wait_for progressed "$(cat "$DEBUGFS/kdapl_ledger/progress")"; }

TRAFFIC_LIMIT=2
tap_plan 21
rxe_setup || exit 1
kdapl_unload
tap_check "load the first Consumer, and begin a stream" transfers_start rxe0
tap_check "load the second one, and begin to transfer" start_actor
# More posts than it can make during the test
tap_check "load the third one, which posts by itself" \
	kdapl_insmod kdapl_ledger posts=500000 stretch="$KDAPL_FACTOR"
tap_check "three IAs are open, and three modules use kdapl" wait_for users 3
tap_check "each has its own EPs" wait_for own_eps 2 3 24
tap_refuse "rmmod kdapl is refused" rmmod kdapl
tap_check "the stream goes on" transfers 100
tap_check "the third one goes on" ledger_goes_on
tap_clauses C-36
act_ok forget
tap_check "unload the second one under traffic, which leaves its IA open" rmmod kdapl_actor
tap_check "the IAs and the EPs of the others are left" wait_for own_eps 2 24
tap_check "two IAs are open, and two modules use kdapl" users 2
tap_check "the stream goes on" transfers 100
tap_clauses G-02
tap_check "the stream has lost nothing" transfers_stop
tap_check "the third one goes on" ledger_goes_on
tap_check "begin another stream" transfers_start rxe0
tap_clauses C-36
tap_check "unload the first one under traffic, with its IA open" rmmod kdapl_traffic
tap_check "the IA and the EPs of the third one are left" wait_for own_eps 24
tap_check "it goes on" ledger_goes_on
tap_check "unload the third one under traffic" rmmod kdapl_ledger
tap_check "the accounting of the third one has found no fault" logged 0 "kdapl_ledger: "
tap_check "debugfs shows no object" wait_for kdapl_empty
