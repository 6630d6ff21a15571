# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # the callers set own and mac
#
# rxe on the net device at this end of a wire; sourced after selftests/lib.sh by
# two-guests.sh and wire.sh. They set own, the IPv4 address, and mac, the MAC address of the
# net device, and when the wire is up, dev, its name.

# wire: print the name of the net device with the address mac
wire() {
	local dev

	for dev in /sys/class/net/*; do
		[ "$(cat "$dev/address")" != "$mac" ] || echo "${dev##*/}"
	done
}

has_wire() { [ -n "$(wire)" ]; }

# has_tx Y|N: the driver uses this setting of napi_tx
has_tx() {
	local now

	now=$(cat /sys/module/virtio_net/parameters/napi_tx)
	[ "$now" = "$1" ] || { echo "virtio_net: expected napi_tx=$1, it has $now"; return 1; }
}

# wire_up napi_tx=N|Y: load virtio_net with this setting and create rxe0 with a GID. Sets dev, which
# queueing and rxe_on_wire use
wire_up() {
	# It may have been loaded during the boot
	modprobe -rq virtio_net
	modprobe virtio_net "$1" && has_tx "${1#*=}" && modprobe rdma_rxe && rxe_wake_qp1 &&
		wait_for has_wire || return
	dev=$(wire)
	ip addr replace "$own/24" dev "$dev" && ip link set "$dev" up &&
		ip route add 224.0.0.0/4 dev "$dev" && rxe_on_wire
}

rxe_on_wire() {
	rdma link add rxe0 type rxe netdev "$dev" && wait_for gid_exists rxe0 "$own"
}

# queueing ARGUMENTS...: run tc qdisc while no QP can send. During the change the net
# device accepts no packet, which breaks a QP that sends one, including that of
# connection management: wire.sh, qp1_error.sh
queueing() {
	local status=0

	rdma link delete rxe0 || return
	tc qdisc "$@" || status=$?
	rxe_on_wire && return "$status"
}

# dropped: prints the number of packets that netem has dropped here
dropped() {
	tc -s qdisc show dev "$dev" root |
		sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | head -n 1
}

dropped_more_than() { [ "$(dropped)" -gt "$1" ]; }

# bad_wire [JITTER]: reorders a twentieth, drops a fiftieth and duplicates a hundredth. With a
# jitter, all packets that are sent together are reordered. The queue has room for all
# retransmissions of a slow host: a packet without room breaks its QP
bad_wire() {
	modprobe sch_netem &&
		queueing add dev "$dev" root netem limit 100000 delay 1ms "${1:-0ms}" loss 2% \
			duplicate 1% reorder 5%
}
