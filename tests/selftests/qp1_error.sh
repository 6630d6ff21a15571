#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What Soft-RoCE does, without kDAPL, and the other selftests go round: a packet that
# has no way out, here as its address has gone, is the end of the QP that sends it. By
# the specification QP 1, by which the connection manager sends, would be SQE, keep its
# receives and be put back to RTS by ib_mad_send_error(). 6.12 leaves it in the error
# state and completes the packet as FLUSHED, which that function passes over; 6.1 lets
# itself be put back, but has flushed the receives. Nobody connects on the device any
# more; a new one has a new QP 1. If this fails, rxe has changed: see rxe_anew() in
# lib.sh.

. "${0%/*}/lib.sh"

good=10.9.10.1
addr=10.9.77.1
peer=10.9.77.9
counters=/sys/class/infiniband/rxe1/ports/1/hw_counters

# hang_up: ib_uverbs waits for the processes that use a device before it lets it go
hang_up() {
	[ -z "${call:-}" ] || kill "$call" 2>/dev/null
	wait
	call=
}

tidy() {
	hang_up
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1
	modprobe -qr rdma_ucm
}
trap tidy EXIT

ids() { rdma resource show cm_id link rxe1; }
listens() { ids | grep -q 'state LISTEN.*comm rping'; }
calls() { ids | grep -q "state CONNECT.*$peer"; }
sent() { cat $counters/sent_pkts; }
has_sent() { [ "$(sent)" -gt "$1" ]; }
no_gid() { ! gid_exists rxe1 "$addr"; }
gid() { ip addr replace "$addr/24" dev dummy1 && wait_for 10 gid_exists rxe1 "$addr"; }

# ping SECONDS: two processes connect on the address that stays, and one pings. 124: no
# end of that in time
ping() {
	local server status=1

	rping -s -a "$good" -C 1 &
	server=$!
	if wait_for 10 listens; then
		timeout --foreground "$1" rping -c -a "$good" -C 1
		status=$?
	fi
	kill $server 2>/dev/null
	wait $server
	return $status
}

# deaf: does a ping have no end?
deaf() {
	ping $((3 * KDAPL_FACTOR))
	[ $? = 124 ]
}

# quiet: nothing of the last ping is on its way
quiet() {
	local before

	before=$(sent)
	sleep 0.5
	! has_sent "$before"
}

# call_nobody: the request is out, and is sent again until somebody answers
call_nobody() {
	local before

	wait_for 10 quiet || return
	before=$(sent)
	rping -c -a $peer >/dev/null 2>&1 &
	call=$!
	wait_for 10 calls && wait_for 10 has_sent "$before"
}

tap_plan 8
rxe_setup 1
modprobe -q ib_uverbs
modprobe -q rdma_ucm

tap_check "two processes connect" ping $((20 * KDAPL_FACTOR))
tap_check "there is another address" gid
ip addr del "$addr/24" dev dummy1
wait_for 10 no_gid
tap_check "it goes: two processes connect" ping $((20 * KDAPL_FACTOR))
gid
# Not by tap_check, whose shell could not wait for the caller
if call_nobody; then
	tap_ok "it is back, and one calls from there"
else
	tap_not_ok "it is back, and one calls from there"
fi
ip addr del "$addr/24" dev dummy1
tap_check "it goes" wait_for 10 no_gid
tap_check "the call is made again: nobody connects" wait_for 10 deaf
tap_check "nor later" deaf
tap_diag "$(rdma resource show qp link rxe1 | grep GSI)"
hang_up
rxe_anew 1 || exit 1
tap_check "on a new device they do" ping $((20 * KDAPL_FACTOR))
