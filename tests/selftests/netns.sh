#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Network namespaces: an IA is in the namespace of its net device. Outside the initial one,
# Soft-RoCE cannot transfer data, so opening an IA there is refused, and the log has the reason.
# covers: net devices that move between network namespaces
# tier: short

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

# foreign COMMAND...: run the command in the other namespace
foreign() { ip netns exec kdapl-test "$@"; }

# foreign_rxe: create rxe2 in the other namespace
foreign_rxe() {
	ip link add dummy2 type dummy &&
		ip link set dummy2 netns kdapl-test &&
		foreign ip addr add 10.9.11.1/24 dev dummy2 &&
		foreign ip link set dummy2 up &&
		foreign rdma link add rxe2 type rxe netdev dummy2 &&
		wait_for gid_exists rxe2 10.9.11.1
}

# vlan_up [foreign]: add the address to the VLAN and wait for its GID
vlan_up() {
	"$@" ip addr add "$addr/24" dev "$vlan" && "$@" ip link set "$vlan" up &&
		wait_for gid_exists rxe1 "$addr"
}

reason_logged() { dmesg | grep -q 'transfers no data outside the initial network namespace'; }

tap_plan 22
rxe_setup 1
ip netns add kdapl-test
kdapl_load
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"

tap_check "create rxe2 in another namespace" foreign_rxe
tap_check "open by device: refused" act_ret DAT_MODEL_NOT_SUPPORTED open rxe2
tap_check "open by port: refused" act_ret DAT_MODEL_NOT_SUPPORTED open rxe2/1
tap_check "open by net device: refused" act_ret DAT_MODEL_NOT_SUPPORTED open dummy2
tap_check "the log has the reason" reason_logged
tap_check "a device in the initial namespace opens" act_ok open rxe1
tap_check "close rxe1" act_ok close

modprobe -q 8021q
if ip link add link dummy1 name "$vlan" type vlan id 7; then
	tap_check "add a VLAN with an address" vlan_up
	tap_check "open by the address of the VLAN" act_ok open "rxe1/1@$addr"
	tap_check "connect to an address on the VLAN that does not answer" act_ok dial 10.9.77.9
	tap_check "the attempt is pending" state C=ACTIVE_CONNECTION_PENDING
	ip link set "$vlan" netns kdapl-test
	tap_clauses C-62
	tap_check "the VLAN moves to another namespace: UNREACHABLE" wait_for one_event C UNREACHABLE
	tap_check "add the address again in the other namespace" vlan_up foreign
	tap_check "reset C" act_ok reset C
	tap_clauses C-62
	tap_check "connect: no local address" \
		act_ret DAT_INVALID_ADDRESS dial 10.9.77.9
	tap_check "close the IA of the VLAN" act_ok close
	tap_check "open by the address of the VLAN: refused" \
		act_ret DAT_MODEL_NOT_SUPPORTED open "rxe1/1@$addr"
	foreign ip link del "$vlan"
	rxe_recreate 1 || exit 1
else
	for ((i = 0; i < 10; i++)); do
		tap_skip "a VLAN moves to another namespace" "the kernel has no VLANs"
	done
fi

tap_check "open rxe1 again" act_ok open rxe1
tap_check "listen" act_ok listen
tap_check "connect A to B" act_ok pair || rdma_state dummy1 rxe1
ip link set dummy1 netns kdapl-test
tap_clauses C-31 C-57
tap_check "the net device and its rxe device move: A is BROKEN" wait_for one_event A BROKEN
tap_check "close the orphaned IA" act_ok close
foreign ip link del dummy1
