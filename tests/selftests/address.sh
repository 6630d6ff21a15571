#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# During a connection the address of an IA is deleted and added again; then its link goes down
# and up, the second time with two EPs that have a keepalive. Then the address is deleted
# during a connection attempt, and the net device joins a VRF.
# covers: addresses, links and VRFs that change under connections, in the real network stack
# tier: short

. "${0%/*}/lib.sh"

addr=10.9.10.1

tidy() {
	echo "$range" >"$ports"
	rmmod kdapl_actor 2>/dev/null
	kdapl_unload
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del vrf1 2>/dev/null
	ip link del dummy1 2>/dev/null
}
trap tidy EXIT

# The range of local ports, which this test narrows to one
ports=/proc/sys/net/ipv4/ip_local_port_range
range=$(cat "$ports")

no_gid() { ! gid_exists rxe1 "$addr"; }

# link up|down: change the link, and wait until the port of the device has followed
port=/sys/class/infiniband/rxe1/ports/1
port_is() { grep "$1" $port/state; }
link() {
	ip link set dummy1 "$1"
	case $1 in
	up) wait_for port_is ACTIVE && wait_for gid_exists rxe1 "$addr" ;;
	down) wait_for port_is DOWN ;;
	esac
}

# sent NUMBER BEFORE: the device has sent this many packets since its counter was BEFORE
sent() { [ $(($(cat $port/hw_counters/sent_pkts) - $2)) -ge "$1" ]; }

# ep_events N: check that the EPs have received N events in total
ep_events() {
	local events

	events=$(act events)
	[ "$(grep -c '^[ABC] ' <<<"$events")" = "$1" ] ||
		{ printf 'expected %s events of EPs, events:\n%s\n' "$1" "$events"; return 1; }
}

tap_plan 52
rxe_setup 1
kdapl_load
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
tap_check "open" act_ok open rxe1
tap_check "listen" act_ok listen
echo 40007 40007 >"$ports"
tap_check "connect A to B" act_ok pair
# rdma_cm does not choose the port that it has chosen last, so let it choose another one. There is
# no route to this address, so the attempt ends at once
echo 40006 40006 >"$ports"
dial_nowhere() { act_ok dial 203.0.113.7 && wait_for state C=DISCONNECTED && act_ok reset C; }
tap_check "connect C by another port" dial_nowhere
echo 40007 40007 >"$ports"
tap_check "connect C to the peer of A: no free port" act_ret DAT_INSUFFICIENT_RESOURCES dial
tap_check "connect C to another peer: A and C share the port" dial_nowhere
echo "$range" >"$ports"
tap_check "post a receive to A" act_ok recv A

ip addr del "$addr/24" dev dummy1
tap_clauses C-30 C-62
tap_check "the address is deleted: A is BROKEN" wait_for one_event A BROKEN
tap_clauses C-30 C-62
tap_check "the address is deleted: B is BROKEN" wait_for one_event B BROKEN
tap_check "the receive of A is flushed" wait_for one_event A recv 1
tap_clauses C-40 C-41
tap_check "each EP received each event once" ep_events 5
tap_clauses C-30
tap_check "A and B are DISCONNECTED" state A=DISCONNECTED B=DISCONNECTED
wait_for no_gid
tap_clauses C-62
tap_check "connect C: no local address" act_ret DAT_INVALID_ADDRESS dial

rxe_setup 1
tap_check "the address is added again: reset A" act_ok reset A
tap_check "reset B" act_ok reset B
tap_clauses C-62
tap_check "connect A to B again" act_ok pair

link down
tap_clauses C-62
tap_check "the link goes down: idle connections stay" state A=CONNECTED B=CONNECTED
tap_check "post a send to A" act_ok send A
tap_clauses C-62 C-30
tap_check "the send breaks the connection of A" wait_for state A=DISCONNECTED
tap_check "reset A, which sends no disconnect while the link is down" act_ok reset A
tap_clauses C-62
tap_check "B stays CONNECTED" state B=CONNECTED
link up
tap_clauses C-60
tap_check "the link comes up: B is DISCONNECTED" wait_for one_event B DISCONNECTED
tap_check "reset B after the link came up" act_ok reset B
tap_check "connect A to B on the same device" act_ok pair
tap_check "close the IA" act_ok close

echo 300 >/sys/module/kdapl_actor/parameters/keepalive_ms
tap_check "open with a keepalive" act_ok open rxe1
tap_check "listen with a keepalive" act_ok listen
tap_check "connect A to B with a keepalive" act_ok pair
# A keepalive and its answer are two packets
before=$(cat $port/hw_counters/sent_pkts)
tap_check "the EPs send keepalives" wait_for sent 16 "$before"
tap_check "the keepalives are answered: A and B stay CONNECTED" state A=CONNECTED B=CONNECTED
link down
tap_clauses C-30 C-61
tap_check "the link goes down: the keepalive of A breaks A" wait_for one_event A BROKEN
tap_clauses C-30 C-61
tap_check "the link goes down: the keepalive of B breaks B" wait_for one_event B BROKEN
link up
echo 0 >/sys/module/kdapl_actor/parameters/keepalive_ms
tap_check "close the IA with a keepalive" act_ok close

rxe_recreate 1 || exit 1
tap_check "open again" act_ok open rxe1
tap_check "listen again" act_ok listen
tap_clauses C-02
tap_check "connect C; no answer" act_ok dial
tap_clauses C-02
tap_check "the attempt of C is pending" state C=ACTIVE_CONNECTION_PENDING
ip addr del "$addr/24" dev dummy1
tap_clauses C-21 C-62
tap_check "the address is deleted: C is UNREACHABLE" wait_for one_event C UNREACHABLE
tap_check "C received one event" ep_events 1
tap_clauses C-30
tap_check "C is DISCONNECTED" state C=DISCONNECTED
tap_check "reset C" act_ok reset C
wait_for no_gid
tap_clauses C-62
tap_check "connect C after the reset: no local address" act_ret DAT_INVALID_ADDRESS dial
tap_check "close again" act_ok close
rxe_recreate 1 || exit 1

modprobe -q vrf
if ip link add vrf1 type vrf table 77; then
	ip link set vrf1 up
	ip link set dummy1 master vrf1
	tap_check "the net device joins a VRF" wait_for gid_exists rxe1 "$addr"
	tap_check "open in the VRF" act_ok open rxe1
	tap_check "connect C to a neighbour that does not answer" act_ok dial 10.9.10.9
	tap_check "the attempt in the VRF is pending" state C=ACTIVE_CONNECTION_PENDING
	tap_check "close in the VRF" act_ok close
	tap_check "open in the VRF again" act_ok open rxe1
	tap_clauses C-21
	tap_check "connect C to an address without a route in the VRF" act_ok dial 192.0.2.1
	tap_clauses C-21
	tap_check "C is UNREACHABLE" wait_for one_event C UNREACHABLE
	act_ok close
else
	for ((i = 0; i < 8; i++)); do
		tap_skip "a net device of a VRF" "the kernel has no VRFs"
	done
fi
tap_check "kdapl_actor unloads" rmmod kdapl_actor
