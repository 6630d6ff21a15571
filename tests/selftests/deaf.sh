#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What Soft-RoCE does, without kDAPL, and the other selftests go round: if a packet of
# QP 1, which the connection manager sends by, is refused (its address, its link or its
# net device has just gone), that is the end of that QP, where by the specification it
# were SQE, its receives stayed, and ib_mad_send_error() would put it back to RTS. 6.12
# says FLUSHED, and it stays in the error state; 6.1 lets itself be put back, but has
# flushed the receives. Nobody connects on the device any more; a new one has a new
# QP 1. If this fails, rxe has changed: see rxe_anew() in lib.sh.

. "${0%/*}/lib.sh"

good=10.9.10.1
addr=10.9.77.1
counters=/sys/class/infiniband/rxe1/ports/1/hw_counters

# hang_up: rxe waits for the processes that use it before it lets a device be deleted
hang_up() {
	[ -z "${call:-}" ] || kill "$call" 2>/dev/null
	wait
}

tidy() {
	hang_up
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1
}
trap tidy EXIT

listens() { rdma resource show cm_id link rxe1 | grep -q 'state LISTEN.*comm rping'; }
no_gid() { ! gid_exists rxe1 "$addr"; }
has_sent() { [ "$(cat $counters/sent_pkts)" -gt "$1" ]; }

# ping SECONDS: two processes connect on the address that stays, and one pings
ping() {
	local server status

	rping -s -a "$good" -C 1 &
	server=$!
	wait_for 10 listens && timeout "$1" rping -c -a "$good" -C 1
	status=$?
	kill $server 2>/dev/null
	wait $server
	return $status
}

# deaf: it is, when the call is made again
deaf() { ! ping "$KDAPL_FACTOR"; }

# call_nobody: and stay with it; the request is sent again until somebody answers
call_nobody() {
	local before

	before=$(cat $counters/sent_pkts)
	rping -c -a 10.9.77.9 >/dev/null 2>&1 &
	call=$!
	wait_for 10 has_sent "$before"
}

tap_plan 6
rxe_setup 1
modprobe -q ib_uverbs
modprobe -q rdma_ucm
ip addr add "$addr/24" dev dummy1
wait_for 10 gid_exists rxe1 "$addr"

tap_check "two processes connect" ping $((20 * KDAPL_FACTOR))
call_nobody
tap_check "one calls on another address" kill -0 "$call"
ip addr del "$addr/24" dev dummy1
tap_check "this address goes" wait_for 10 no_gid
tap_check "to call again is the end of QP 1: nobody connects" wait_for 4 deaf
tap_refuse "nor later" ping $((3 * KDAPL_FACTOR))
hang_up
rxe_anew 1
tap_check "on a new device they do" ping $((20 * KDAPL_FACTOR))
