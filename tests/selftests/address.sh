#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# During a connection the address of an IA is deleted and comes back; then its link goes
# down and comes up, and again with two EPs that have a keepalive. The address is deleted
# during an attempt. Then its net device joins a VRF.

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

# The ports that connections are given
ports=/proc/sys/net/ipv4/ip_local_port_range
range=$(cat "$ports")

no_gid() { ! gid_exists rxe1 "$addr"; }

# one_end: no EP has more events than these
one_end() {
	[ "$(act events | grep -c '^[ABC] ')" = "$1" ] || { act events; return 1; }
}

tap_plan 49
rxe_setup 1
kdapl_load
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
tap_check "open" acts open rxe1
tap_check "listen" acts listen
echo 40007 40007 >"$ports"
tap_check "connect A to B" acts pair
tap_check "no port is left for C" acts_not DAT_INSUFFICIENT_RESOURCES dial
echo "$range" >"$ports"
tap_check "a receive of A" acts recv A

ip addr del "$addr/24" dev dummy1
tap_clauses C-30 C-62
tap_check "the address goes: A is BROKEN" wait_for 20 saw A BROKEN
tap_clauses C-30 C-62
tap_check "so is B" wait_for 20 saw B BROKEN
tap_check "the receive of A is flushed" wait_for 20 saw A recv 1
tap_clauses C-40 C-41
tap_check "each once" one_end 5
tap_clauses C-30
tap_check "both are DISCONNECTED" state A=DISCONNECTED B=DISCONNECTED
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
tap_check "reset A, which tells nobody while the link is down" acts reset A
tap_clauses C-62
tap_check "B stays" state B=CONNECTED
ip link set dummy1 up
tap_clauses C-60
tap_check "the link comes up: B hears of it" wait_for 60 saw B DISCONNECTED
tap_check "reset B again" acts reset B
tap_check "and connect, on the same device" wait_for 20 acts pair
tap_check "close" acts close

echo 300 >/sys/module/kdapl_actor/parameters/keepalive_ms
tap_check "open with a keepalive" acts open rxe1
tap_check "listen as well" acts listen
tap_check "connect those who ask" wait_for 20 acts pair
# Time for several keepalives; a slower machine sends fewer
sleep 3
tap_check "they are answered" state A=CONNECTED B=CONNECTED
ip link set dummy1 down
tap_clauses C-30 C-61
tap_check "the link goes down, nobody sends: A finds out" wait_for 60 saw A BROKEN
tap_clauses C-30 C-61
tap_check "so does B, which nobody told" wait_for 60 saw B BROKEN
ip link set dummy1 up
echo 0 >/sys/module/kdapl_actor/parameters/keepalive_ms
tap_check "close them" acts close

rxe_anew 1 || exit 1
tap_check "open again" acts open rxe1
tap_check "listen again" acts listen
tap_clauses C-02
tap_check "C calls, and nobody answers" acts dial
tap_clauses C-02
tap_check "its attempt is pending" state C=ACTIVE_CONNECTION_PENDING
ip addr del "$addr/24" dev dummy1
tap_clauses C-21 C-62
tap_check "the address goes: the attempt ends with UNREACHABLE" wait_for 20 saw C UNREACHABLE
tap_check "once" one_end 1
tap_clauses C-30
tap_check "C is DISCONNECTED" state C=DISCONNECTED
tap_check "reset C" acts reset C
wait_for 20 no_gid
tap_clauses C-62
tap_check "and there is nothing to call from" acts_not DAT_INVALID_ADDRESS dial
tap_check "close again" acts close
rxe_anew 1 || exit 1

modprobe -q vrf
if ip link add vrf1 type vrf table 77; then
	ip link set vrf1 up
	ip link set dummy1 master vrf1
	tap_check "its net device belongs to a VRF" wait_for 20 gid_exists rxe1 "$addr"
	tap_check "open there" acts open rxe1
	tap_check "call a neighbour" acts dial 10.9.10.9
	tap_check "who does not answer" state C=ACTIVE_CONNECTION_PENDING
	tap_check "close it" acts close
	tap_check "and open" acts open rxe1
	tap_clauses C-21
	tap_check "call whom the VRF knows no way to" acts dial 192.0.2.1
	tap_clauses C-21
	tap_check "is UNREACHABLE" wait_for 20 saw C UNREACHABLE
	acts close
else
	for ((i = 0; i < 8; i++)); do
		tap_skip "a net device of a VRF" "the kernel has no VRFs"
	done
fi
tap_check "unload" rmmod kdapl_actor
