#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Demonstrates a fault of Soft-RoCE without kDAPL, which the selftests avoid: a packet
# without a route, here because its address was deleted, moves the QP that sends it to ERROR.
# By the specification QP 1, which the connection manager uses, would move to SQE, keep its
# receives and return to RTS by ib_mad_send_error(). 6.12 leaves it in ERROR and completes
# the packet as FLUSHED, which that function ignores. 6.1 returns to RTS, but has flushed the
# receives. Then no connection can be made on the device; a new device has a new QP 1. On a
# kernel without the fault, rxe_recreate() in lib.sh is not necessary.

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"

good=10.9.10.1
addr=10.9.77.1
peer=10.9.77.9
counters=/sys/class/infiniband/rxe1/ports/1/hw_counters

# end_client: end the client process. ib_uverbs waits for its processes when the device is
# deleted.
end_client() {
	[ -z "${client:-}" ] || kill "$client" 2>/dev/null
	wait
	client=
}

tidy() {
	end_client
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1
	modprobe -qr rdma_ucm
}
trap tidy EXIT

ids() { rdma resource show cm_id link rxe1; }
listening() { ids | grep -q 'state LISTEN.*comm rping'; }
connecting() { ids | grep -q "state CONNECT.*$peer"; }
sent() { cat $counters/sent_pkts; }
has_sent() { [ "$(sent)" -gt "$1" ]; }
no_gid() { ! gid_exists rxe1 "$addr"; }
# add_addr: add the second address and wait for its GID
add_addr() { ip addr replace "$addr/24" dev dummy1 && wait_for gid_exists rxe1 "$addr"; }

# ping SECONDS: run two processes that connect on the first address; one sends a ping. Returns
# 124 after a timeout.
ping() {
	local server status=1

	rping -s -a "$good" -C 1 &
	server=$!
	if wait_for listening; then
		timeout --foreground "$1" rping -c -a "$good" -C 1
		status=$?
	fi
	kill $server 2>/dev/null
	wait $server
	return $status
}

# ping_hangs: check that a ping times out
ping_hangs() {
	ping $((3 * KDAPL_FACTOR))
	[ $? = 124 ]
}

one_ping_hangs() { ping_hangs || ping_hangs || ping_hangs; }

# quiet: check that the device sends nothing for half a second
quiet() {
	local before

	before=$(sent)
	sleep 0.5
	! has_sent "$before"
}

# connect_unanswered: start a process whose connection request is sent repeatedly, since no
# peer answers it
connect_unanswered() {
	local before

	wait_for quiet || return
	before=$(sent)
	rping -c -a $peer >/dev/null 2>&1 &
	client=$!
	wait_for connecting && wait_for has_sent "$before"
}

tap_plan 6
rxe_setup 1
modprobe -q ib_uverbs
modprobe -q rdma_ucm

tap_check "two processes connect" ping $((20 * KDAPL_FACTOR))
tap_check "a second address is added" add_addr
ip addr del "$addr/24" dev dummy1
wait_for no_gid
tap_check "it is deleted, with nothing to send: two processes connect" ping $((20 * KDAPL_FACTOR))
add_addr
# tap_check would run this in a subshell, which could not wait for the client
if connect_unanswered; then
	tap_ok "it is added again, and a process sends requests from it"
else
	tap_not_ok "it is added again, and a process sends requests from it"
fi
ip addr del "$addr/24" dev dummy1
tap_check "it is deleted again" wait_for no_gid
tap_known "the request is repeated: no connection can be made" one_ping_hangs &&
	tap_known "no connection can be made later" ping_hangs
tap_diag "$(rdma resource show qp link rxe1 | grep GSI)"
end_client
rxe_recreate 1 || exit 1
tap_check "two processes connect on a new device" ping $((20 * KDAPL_FACTOR))
