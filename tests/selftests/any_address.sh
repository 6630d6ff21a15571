#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A PSP on all addresses of its port: an address is added after the PSP was created, a connection to
# it is accepted, and breaks when the address is deleted; the address of the IA is deleted.
# covers: the routes and GIDs of a second address, and the listening ids of rdma_cm

. "${0%/*}/lib.sh"

first=10.9.10.1
late=10.9.20.1
late6=fd00:9::20:1

tidy() {
	rmmod kdapl_actor 2>/dev/null
	kdapl_unload
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1 2>/dev/null
}
trap tidy EXIT

# listens ADDRESS: an id of rdma_cm listens on the address, with the port of the actor
listens() {
	local ids

	ids=$(rdma resource show cm_id)
	grep -F 'state LISTEN' <<<"$ids" | grep -qF "src-addr $1:7472" ||
		{ printf 'expected an id that listens on %s, ids:\n%s\n' "$1" "$ids"; return 1; }
}
deaf() { ! listens "$1" >/dev/null; }

add() { ip addr add "$1" dev dummy1 ${2:+"$2"} && wait_for listens "${1%/*}"; }
del() { ip addr del "$1" dev dummy1 && wait_for deaf "${1%/*}"; }
where() { [ "$(act where)" = "$1" ] || { echo "expected $1, B is at $(act where)"; return 1; }; }

tap_plan 26
rxe_setup 1 || exit 1
kdapl_load
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
tap_check "open" act_ok open rxe1
tap_check "listen on all addresses" act_ok listen any
tap_check "the PSP listens on the address of the IA" listens $first
tap_check "another listener on the qualifier is refused" act_ret DAT_CONN_QUAL_IN_USE listen
tap_check "an address is added: the PSP listens on it" add $late/24
tap_check "an IPv6 address is added: the PSP listens on it" add $late6/64 nodad
tap_check "connect A to B at the address that was added" act_ok pair $late
tap_check "B has that address" where $late
tap_check "A and B transfer messages" act_ok traffic
tap_check "the IPv6 address is deleted: the PSP does not listen on it" del $late6/64
tap_check "A and B stay CONNECTED" state A=CONNECTED B=CONNECTED
tap_check "the address of B is deleted: the PSP does not listen on it" del $late/24
tap_clauses C-30 C-62
tap_check "B is BROKEN" wait_for one_event B BROKEN
tap_check "the PSP listens on the address of the IA as before" listens $first
tap_check "close" act_ok close

tap_check "open again" act_ok open rxe1
tap_check "listen on all addresses again" act_ok listen any
tap_check "the address is added again" add $late/24
tap_check "connect A to B at the address" act_ok pair $late
tap_check "the address of the IA is deleted: the PSP does not listen on it" del $first/24
tap_clauses C-30 C-62
tap_check "A is BROKEN" wait_for one_event A BROKEN
tap_check "B stays CONNECTED" state B=CONNECTED
tap_check "the PSP listens on the other address" listens $late
tap_check "the address of the IA is added again: the PSP listens on it" add $first/24
tap_check "close again" act_ok close
tap_check "kdapl_actor unloads" rmmod kdapl_actor
