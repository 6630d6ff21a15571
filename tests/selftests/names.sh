#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The first IPv4 address of a port is link-local, the next one is not. Then the RDMA device is
# renamed while an IA is open.
# covers: the address of an IA that is opened without one, and names that change

. "${0%/*}/lib.sh"

addr=10.9.10.1
local=169.254.10.1

tidy() {
	rmmod kdapl_actor 2>/dev/null
	kdapl_unload
	[ ! -e /sys/class/infiniband/renamed1 ] || rdma dev set renamed1 name rxe1
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1 2>/dev/null
}
trap tidy EXIT

# ia_is TEXT: the line of the only IA in debugfs contains it
ia_is() { grep " $1 " "$DEBUGFS/kdapl/ias"; }

# The address that is added first has the first entry of the GID table
swap_addresses() {
	ip addr del "$addr/24" dev dummy1 && wait_for no_gid "$addr" &&
		ip addr add "$local/16" dev dummy1 && wait_for gid_exists rxe1 "$local" &&
		ip addr add "$addr/24" dev dummy1 && wait_for gid_exists rxe1 "$addr"
}
no_gid() { ! gid_exists rxe1 "$1"; }

tap_plan 9
rxe_setup 1
kdapl_load
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
tap_check "a link-local address is the first of the port" swap_addresses
tap_check "open without an address" act_ok open rxe1
tap_check "the IA has the address that is not link-local" ia_is "addr=$addr"
tap_check "close" act_ok close
tap_check "open on the link-local address" act_ok open "rxe1@$local"
tap_check "rename the device" rdma dev set rxe1 name renamed1
tap_check "close" act_ok close
tap_check "the old name opens nothing" act_ret DAT_PROVIDER_NOT_FOUND open rxe1
tap_check "the new name opens it" act_ok open renamed1
