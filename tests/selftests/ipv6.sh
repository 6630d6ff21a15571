#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# IPv6: connections and messages over a global and a link-local address, the addresses that
# both ends see, and the addresses that are refused.
# covers: scopes of addresses, and neighbour discovery by rdma_cm

. "${0%/*}/lib.sh"

global=fd00:9::1
global_gid=fd00:0009:0000:0000:0000:0000:0000:0001
local=fe80::9:1
local_gid=fe80:0000:0000:0000:0000:0000:0009:0001
vlan=dummy1.7

tidy() {
	rmmod kdapl_actor 2>/dev/null
	rmmod kdapl_traffic 2>/dev/null
	kdapl_unload
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del "$vlan" 2>/dev/null
	ip link del dummy1 2>/dev/null
}
trap tidy EXIT

# gids COUNT GID: this many entries of the GID table, or more, have this value
gids() {
	local found

	found=$(grep -lsx "$2" /sys/class/infiniband/rxe1/ports/1/gids/* | wc -l)
	[ "$found" -ge "$1" ] || { echo "expected $1 GIDs $2, found $found"; return 1; }
}

add_addresses() {
	ip addr add "$global/64" dev dummy1 nodad && ip addr add "$local/64" dev dummy1 nodad &&
		wait_for gids 1 $global_gid && wait_for gids 1 $local_gid
}

add_vlan() {
	ip link add link dummy1 name "$vlan" type vlan id 7 &&
		ip addr add "$local/64" dev "$vlan" nodad && ip link set "$vlan" up &&
		wait_for gids 2 $local_gid
}

# on_global NUMBER: the ends of the stream, and the request, have the global address
on_global() {
	local addr="[$global]%0"

	stream_shows "$1" "addr=$addr request=$addr remote=$addr/$addr connected=2"
}

# on_local NUMBER NETDEV: they have the link-local one, and the active end has its net device
on_local() {
	local addr index

	addr="[$local]%"
	index=$(cat "/sys/class/net/$2/ifindex")
	stream_shows "$1" "addr=$addr$index request=$addr" "remote=$addr$index/$addr" connected=2
}

# outcome ADDRESS EVENT: a connection attempt to the address has this outcome
outcome() {
	act_ok dial "$1" && wait_for one_event C "$2" && act_ok reset C && act_ok close
}

TRAFFIC_LIMIT=2
tap_plan 23
rxe_setup 1 || exit 1
tap_check "add a global and a link-local address" add_addresses
tap_check "a stream on the global address" transfers_start "rxe1/1@$global"
tap_check "both ends and the request have the global address" on_global 0
tap_check "a stream on the link-local address" transfers_start "rxe1/1@$local%dummy1"
tap_check "both ends and the request have the link-local address and its net device" \
	on_local 1 dummy1
tap_check "messages arrive on both" transfers 100
tap_clauses G-02
tap_check "all messages have arrived, unchanged and in order" transfers_stop

modprobe -q 8021q
if add_vlan; then
	tap_check "the same link-local address on a VLAN: a stream on each net device" \
		transfers_start "rxe1/1@$local%$vlan" "rxe1/1@$local%dummy1"
	tap_check "the first one is on the VLAN" on_local 0 "$vlan"
	tap_check "the second one is not" on_local 1 dummy1
	tap_check "messages arrive on both net devices" transfers 100
	tap_check "all messages of both net devices have arrived" transfers_stop
else
	for ((i = 0; i < 5; i++)); do
		tap_skip "a link-local address on two net devices" "the kernel has no VLANs"
	done
fi

kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
# open_global: an IA whose EP C is free to dial
open_global() { act_ok open "rxe1/1@$global"; }
tap_check "an address that the port lacks is refused" \
	act_ret DAT_PROVIDER_NOT_FOUND open rxe1/1@fd00:9::2
tap_check "a link-local address with the wrong net device is refused" \
	act_ret DAT_PROVIDER_NOT_FOUND open "rxe1/1@$local%lo"
tap_check "open on the global address" open_global
tap_check "connect to a multicast address: refused" act_ret DAT_INVALID_ADDRESS dial ff02::1
tap_check "connect to the unspecified address: refused" act_ret DAT_INVALID_ADDRESS dial ::
tap_check "connect to an IPv4 address: refused" act_ret DAT_INVALID_ADDRESS dial 10.9.10.1
tap_clauses C-20
tap_check "connect to a port without a listener: NON_PEER_REJECTED" \
	outcome "$global" NON_PEER_REJECTED
open_global
tap_clauses C-21
tap_check "connect to an address without a route: UNREACHABLE" outcome 2001:db8::1 UNREACHABLE
open_global
tap_check "connect to a neighbour that does not answer" act_ok dial fd00:9::3
tap_clauses C-02
tap_check "the attempt is pending" state C=ACTIVE_CONNECTION_PENDING
tap_check "close during the attempt" act_ok close
