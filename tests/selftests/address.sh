#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The address of an IA goes and comes back, then its link goes down, under a
# connection and an attempt.

. "${0%/*}/lib.sh"

addr=10.9.10.1

tidy() {
	rmmod kdapl_actor 2>/dev/null
	kdapl_unload
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1 2>/dev/null
}
trap tidy EXIT

no_gid() { ! gid_exists rxe1 "$addr"; }

# one_end: no EP has more events than these
one_end() {
	[ "$(act events | grep -c '^[ABC] ')" = "$1" ] || { act events; return 1; }
}

tap_plan 24
rxe_setup 1
kdapl_load
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
tap_check "open" acts open rxe1
tap_check "listen" acts listen
tap_check "connect A to B" acts pair
tap_check "a receive of A" acts recv A
tap_clauses C-02
tap_check "C calls, and nobody answers" acts dial
tap_clauses C-02
tap_check "its attempt is pending" state C=ACTIVE_CONNECTION_PENDING

ip addr del "$addr/24" dev dummy1
tap_clauses C-30 C-62
tap_check "the address goes: A is BROKEN" wait_for 20 saw A BROKEN
tap_clauses C-30 C-62
tap_check "so is B" wait_for 20 saw B BROKEN
tap_clauses C-21 C-62
tap_check "the attempt of C ends with UNREACHABLE" wait_for 20 saw C UNREACHABLE
tap_check "the receive of A is flushed" wait_for 20 saw A recv 1
tap_clauses C-40 C-41
tap_check "each once" one_end 6
tap_clauses C-30
tap_check "all are DISCONNECTED" state A=DISCONNECTED B=DISCONNECTED C=DISCONNECTED
tap_check "reset C" acts reset C
wait_for 20 no_gid
tap_clauses C-62
tap_check "there is nothing to call from" acts_not DAT_INVALID_ADDRESS dial

rxe_setup 1
tap_check "the address is back: reset A" acts reset A
tap_check "reset B" acts reset B
tap_clauses C-62
tap_check "and connect again" wait_for 20 acts pair

ip link set dummy1 down
sleep 1
tap_clauses C-62
tap_check "the link goes down: who is idle stays" state A=CONNECTED B=CONNECTED
tap_check "a send of A" acts send A
tap_clauses C-62 C-30
tap_check "breaks it" wait_for 60 state A=DISCONNECTED
ip link set dummy1 up
tap_check "close" acts close
tap_check "open again" acts open rxe1
tap_check "close again" acts close
tap_check "unload" rmmod kdapl_actor
