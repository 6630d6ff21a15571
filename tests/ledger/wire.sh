#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What rxe does on a net device of virtio, without kDAPL: a packet holds the QP that
# sent it until the driver takes it out of its ring, which virtio_net leaves to the
# next interrupt. There is none while the link is down, nor while QEMU does not take
# packets. Destroying the QP waits for it, 50 seconds at most; then rxe warns and
# frees it all the same. With napi_tx=N the driver lets go of a packet's owner when
# it puts the packet in the ring.
#
#   wire.sh
#
# tools/kdapl/check/two-guests runs it, as root, in a folder with kdapl_wire.ko, in a
# guest whose QEMU takes a packet 4 seconds after it was sent. It prints TAP. If it
# fails, rxe or virtio_net have changed, and the two guests need no napi_tx=N.

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"
# shellcheck source=tests/ledger/wire-lib.sh
. "${KDAPL_DIR:-.}/wire-lib.sh"

own=10.77.0.1 mac=52:54:00:6b:64:01 peer=10.77.0.9
sent=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts

tidy() {
	[ -z "${dev:-}" ] || ip link set "$dev" up
	rmmod kdapl_wire 2>/dev/null
}
trap tidy EXIT

has_sent() { [ "$(cat $sent)" -gt "$1" ]; }
gone() { ! loaded kdapl_wire; }

# held: for 8 seconds, twice what QEMU waits
held() { sleep 8; loaded kdapl_wire; }

# sends_then_down: one packet, then the link goes
sends_then_down() {
	local before

	before=$(cat $sent)
	ip neigh replace "$peer" lladdr 52:54:00:6b:64:09 dev "$dev" &&
		kdapl_insmod kdapl_wire peer="$peer" && wait_for 2 has_sent "$before" &&
		ip link set "$dev" down
}

# wire_down: without rxe0 and the net device
wire_down() { rdma link delete rxe0 && modprobe -r virtio_net; }

# Nothing else is sent, which would have QEMU take the packet earlier
sysctl -qw net.ipv6.conf.default.disable_ipv6=1

tap_plan 9
tap_check "napi_tx=Y: rxe on the wire" wire_up napi_tx=Y || exit 1
dev=$(wire)
tap_check "napi_tx=Y: a QP sends, the link goes down" sends_then_down
rmmod kdapl_wire &
tap_check "napi_tx=Y: the QP is held" held
tap_check "napi_tx=Y: the link comes up" ip link set "$dev" up
tap_check "napi_tx=Y: the QP is let go of" wait_for 20 gone
wait
tap_check "napi_tx=Y: all gone" wire_down

tap_check "napi_tx=N: rxe on the wire" wire_up napi_tx=N || exit 1
dev=$(wire)
tap_check "napi_tx=N: a QP sends, the link goes down" sends_then_down
tap_check "napi_tx=N: nothing holds the QP" timeout 20 rmmod kdapl_wire
