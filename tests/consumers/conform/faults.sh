#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The adapter model refuses posts with -ENOMEM, or loses the doorbell of one, so that its queue pair
# sends nothing more until it is in ERROR: requests of a Consumer, and kDAPL's own markers and
# registrations. Then the same posts succeed again.
# covers: posts that a device refuses or forgets, between the calls of a Consumer

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"

tidy() {
	option post_enomem 0
	option doorbell 0
	rmmod kdapl_actor
	kdapl_unload
}
trap 'tidy 2>/dev/null' EXIT

option() { echo "$2" >"/sys/module/kdapl_hca/parameters/$1"; }
full() { act_ret DAT_INSUFFICIENT_RESOURCES "$@"; }

# counted N EVENT: EVENT has arrived exactly N times so far
counted() {
	local events

	events=$(act events)
	[ "$(grep -cx "$2" <<<"$events")" = "$1" ] ||
		{ printf 'expected %s events "%s", events:\n%s\n' "$1" "$2" "$events"; return 1; }
}

# message N: the Nth message from A to B is sent and arrives
message() {
	act_ok recv B && act_ok send A && wait_for counted "$1" "A send 0" &&
		wait_for counted "$1" "B recv 0"
}

# again: connect EPs that were connected before
again() { act_ok reset A && act_ok reset B && act_ok pair; }

# lose N: N sends of A are accepted, and the device never learns of the first one
lose() {
	local i

	option doorbell 1 && act_ok send A && option doorbell 0 || return
	for ((i = 1; i < $1; i++)); do
		act_ok send A || return
	done
	[ "$(hca_stat lost_doorbells)" != 0 ]
}

# no_registration: the device accepts a registration and never executes it
no_registration() { option doorbell 1 && full register; }

tap_plan 24
device_setup || exit 1
kdapl_load
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
tap_check "open" act_ok open "$IA"
tap_check "listen" act_ok listen
tap_check "connect A to B" act_ok pair
option post_enomem 1
tap_check "a send is refused" full send A
tap_check "a registration on the queue of A is refused" full bind
tap_check "a registration is refused" full register
tap_check "A and B stay CONNECTED" state A=CONNECTED B=CONNECTED
option post_enomem 0
tap_check "the next message arrives" message 1
tap_check "no other request has completed" counted 0 "A send [^0]"
tap_clauses L-06
tap_check "the next registration succeeds" act_ok register
option post_enomem 1
tap_check "A is disconnected while the device refuses all markers" act_ok disconnect A
tap_clauses C-41
tap_check "... and A and B are DISCONNECTED" eval "wait_for one_event A DISCONNECTED &&
	wait_for one_event B DISCONNECTED"
option post_enomem 0
tap_check "they are connected again" again

tap_check "three sends are accepted, but not executed" lose 3
tap_check "A and B stay CONNECTED although a doorbell was lost" state A=CONNECTED B=CONNECTED
tap_check "B is disconnected" act_ok disconnect B
tap_check "... and A, too" wait_for state A=DISCONNECTED B=DISCONNECTED
tap_clauses G-32
tap_check "each of the three sends is flushed once" wait_for counted 3 "A send 1"
tap_check "they are connected again, and a message arrives" eval "again && message 2"
tap_check "the IA is closed with a send that was lost" eval "lose 1 && act_ok close"
rmmod kdapl_actor

# The normal time limit of a registration, which is 10 s
kdapl_unload
kdapl_insmod kdapl
kdapl_insmod kdapl_actor bare=1
tap_check "open" act_ok open "$IA"
tap_clauses L-06
tap_check "a registration that the device forgets ends with an error" no_registration
option doorbell 0
tap_check "the log has the reason" logged 1 "$IA/1: a registration does not complete"
# Until then registrations fail at once
sleep 11
tap_clauses L-06
tap_check "a later registration succeeds" act_ok register
act_ok close
