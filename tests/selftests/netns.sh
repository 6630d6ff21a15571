#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Network namespaces: an IA stands in that of its net device, and what Soft-RoCE
# cannot do outside the initial one is refused with a reason.

. "${0%/*}/lib.sh"

vlan=dummy1.7
addr=10.9.77.1

tidy() {
	rmmod kdapl_actor 2>/dev/null
	kdapl_unload
	for n in 1 2; do
		[ ! -e "/sys/class/infiniband/rxe$n" ] || rxe_delete "$n"
	done
	ip netns del kdapl-test 2>/dev/null
	ip link del dummy1 2>/dev/null
}
trap tidy EXIT

# foreign COMMAND...: in the other namespace
foreign() { ip netns exec kdapl-test "$@"; }

# foreign_rxe: a device of its own there
foreign_rxe() {
	ip link add dummy2 type dummy &&
		ip link set dummy2 netns kdapl-test &&
		foreign ip addr add 10.9.11.1/24 dev dummy2 &&
		foreign ip link set dummy2 up &&
		foreign rdma link add rxe2 type rxe netdev dummy2 &&
		wait_for 20 gid_exists rxe2 10.9.11.1
}

# vlan_up [foreign]: give the VLAN its address and have the GID
vlan_up() {
	"$@" ip addr add "$addr/24" dev "$vlan" && "$@" ip link set "$vlan" up &&
		wait_for 20 gid_exists rxe1 "$addr"
}

told_why() { dmesg | grep -q 'moves no data outside the initial network namespace'; }

tap_plan 22
rxe_setup 1
ip netns add kdapl-test
kdapl_load
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"

tap_check "a device in another namespace" foreign_rxe
tap_check "to open it is refused" acts_not DAT_MODEL_NOT_SUPPORTED open rxe2
tap_check "so by its port" acts_not DAT_MODEL_NOT_SUPPORTED open rxe2/1
tap_check "and its net device" acts_not DAT_MODEL_NOT_SUPPORTED open dummy2
tap_check "the log says why" told_why
tap_check "the other device is not concerned" acts open rxe1
tap_check "close it" acts close

modprobe -q 8021q
if ip link add link dummy1 name "$vlan" type vlan id 7; then
	tap_check "a VLAN on it has an address" vlan_up
	tap_check "open it there" acts open "rxe1/1@$addr"
	tap_check "call somebody on the VLAN" acts dial 10.9.77.9
	tap_check "who does not answer" state C=ACTIVE_CONNECTION_PENDING
	ip link set "$vlan" netns kdapl-test
	tap_clauses C-62
	tap_check "the VLAN leaves: the attempt is UNREACHABLE" wait_for 20 saw C UNREACHABLE
	tap_check "it has its address again, elsewhere" vlan_up foreign
	tap_check "reset C" acts reset C
	tap_clauses C-62
	tap_check "there is nothing to call from" \
		acts_not DAT_INVALID_ADDRESS dial 10.9.77.9
	tap_check "close" acts close
	tap_check "to open it there is refused" \
		acts_not DAT_MODEL_NOT_SUPPORTED open "rxe1/1@$addr"
	foreign ip link del "$vlan"
	rxe_anew 1 || exit 1
else
	for ((i = 0; i < 10; i++)); do
		tap_skip "a VLAN leaves its namespace" "the kernel has no VLANs"
	done
fi

tap_check "open the device" acts open rxe1
tap_check "listen" acts listen
tap_check "connect A to B" acts pair || rdma_state dummy1 rxe1
ip link set dummy1 netns kdapl-test
tap_clauses C-31 C-57
tap_check "its net device leaves, and Soft-RoCE with it: A is BROKEN" wait_for 20 saw A BROKEN
tap_check "close the shell" acts close
foreign ip link del dummy1
