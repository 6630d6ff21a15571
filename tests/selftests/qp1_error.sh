#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Demonstrates a fault of Soft-RoCE without kDAPL, which the other selftests avoid: a packet
# without a route, here because its address was deleted, moves the QP that sends it to ERROR.
# By the specification QP 1, which the connection manager uses, would move to SQE, keep its
# receives and return to RTS by ib_mad_send_error(). 6.12 leaves it in ERROR and completes
# the packet as FLUSHED, which that function ignores. 6.1 returns to RTS, but has flushed the
# receives. Then nobody can connect on the device; a new device has a new QP 1. On a kernel
# without the fault, rxe_anew() in lib.sh is not necessary.

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
tap_check "a second address is added" gid
ip addr del "$addr/24" dev dummy1
wait_for 10 no_gid
tap_check "it is deleted: two processes connect" ping $((20 * KDAPL_FACTOR))
gid
# Not by tap_check, whose shell could not wait for the caller
if call_nobody; then
	tap_ok "it is added again, and a process calls from it"
else
	tap_not_ok "it is added again, and a process calls from it"
fi
ip addr del "$addr/24" dev dummy1
tap_check "it is deleted" wait_for 10 no_gid
if tap_known "the request is repeated: nobody connects" wait_for 10 deaf; then
	tap_check "and nobody connects later" deaf
else
	tap_ok "and nobody connects later: not on this kernel"
fi
tap_diag "$(rdma resource show qp link rxe1 | grep GSI)"
hang_up
rxe_anew 1 || exit 1
tap_check "two processes connect on a new device" ping $((20 * KDAPL_FACTOR))
