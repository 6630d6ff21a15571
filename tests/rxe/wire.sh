#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Demonstrates faults of rxe on a wire without kDAPL, which the ledger and check/run-two-guests
# avoid:
#
# - A packet holds the QP that sent it until the driver removes the packet from its ring.
#   virtio_net does that in NAPI, which is off while the net device is down. Destroying the
#   QP waits up to 50 seconds; then rxe warns and frees it. With napi_tx=N the driver
#   releases the owner of a packet when it puts the packet in the ring.
# - If the queueing discipline of the net device drops a packet, rxe moves the QP that sent it
#   to ERROR (rxe_xmit_packet()). Shown for an RC QP and a discipline without room. According
#   to the sources it is the same for QP 1, which breaks connection management, and while a
#   discipline is being removed, because noop_qdisc drops everything. qp1_error.sh
#   shows it for QP 1 and a packet whose address was deleted.
# - rxe answers a repeated read with a WARN if an RDMA operation of no bytes followed it.
#
#   wire.sh
#
# tools/kdapl/check/run-two-guests runs it, as root, in a directory with kdapl_wire.ko, in a
# guest whose QEMU removes a packet 4 seconds after it was sent. It prints TAP.
# Whether the kernel has a fault is a note (tap_known in lib.sh), not a result.

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"
# shellcheck source=tests/consumers/stress/ledger/wire-lib.sh
. "${KDAPL_DIR:-.}/wire-lib.sh"

own=10.77.0.1 mac=52:54:00:6b:64:01 peer=10.77.0.9
counters=/sys/class/infiniband/rxe0/ports/1/hw_counters
sent=$counters/sent_pkts
parameters=/sys/module/kdapl_wire/parameters

tidy() {
	[ -z "${dev:-}" ] || ip link set "$dev" up
	rmmod kdapl_wire 2>/dev/null
}
trap tidy EXIT

has_sent() { [ "$(cat $sent)" -gt "$1" ]; }
gone() { ! loaded kdapl_wire; }

# held: the QP is still not destroyed after 8 seconds, twice the delay of QEMU
held() { sleep 8; loaded kdapl_wire; }

# neighbour: add a static entry for the peer, so that no ARP request is needed
neighbour() { ip neigh replace "$peer" lladdr 52:54:00:6b:64:09 dev "$dev"; }

# sends: load kdapl_wire, which sends one packet
sends() {
	neighbour && insmod "$KDAPL_DIR/kdapl_wire.ko" peer="$peer"
}

# sends_then_down: send one packet, then take the net device down before QEMU removes the
# packet; the driver counts removed packets. Try again if the guest was too slow, or if QEMU
# removed the packet within a second, which happens occasionally. /tmp/wire-tries has the
# number of tries.
sends_then_down() {
	local taken=/sys/class/net/$dev/statistics/tx_packets before had try

	for ((try = 1; try <= 10; try++)); do
		echo "$try" >/tmp/wire-tries
		before=$(cat $sent)
		had=$(cat "$taken")
		sends && wait_for has_sent "$before" && ip link set "$dev" down || return
		[ "$(cat "$taken")" -gt "$had" ] || return 0
		ip link set "$dev" up && rmmod kdapl_wire || return
	done
	echo "expected the net device down before QEMU removes the packet: too late in 10 tries"
	return 1
}

# wire_down: delete rxe0 and the net device
wire_down() { rdma link delete rxe0 && modprobe -r virtio_net; }

# room N: replace the queueing discipline by one with room for N packets
room() {
	ip link set "$dev" up && tc qdisc replace dev "$dev" root pfifo limit "$1"
}

# unanswered: the send has not completed
unanswered() { [ "$(cat $parameters/status)" = -1 ]; }
has_ended() { ! unanswered; }

# sends_with_room: the discipline accepts the packet, no peer answers, and the send stays
# outstanding
sends_with_room() {
	local before

	before=$(cat $sent)
	room 100 && sends && wait_for has_sent "$before" && sleep 6 && unanswered
}

# sends_without_room: the discipline drops the packet, and the send completes with an error
sends_without_room() {
	local before

	before=$(cat $counters/send_err)
	rmmod kdapl_wire && room 0 && sends && wait_for has_ended &&
		[ "$(cat $counters/send_err)" -gt "$before" ] &&
		tc -s qdisc show dev "$dev" | grep "dropped 1,"
}

# IPv6 would send other packets, and QEMU would remove the first packet earlier
sysctl -qw net.ipv6.conf.default.disable_ipv6=1

# peer_up: create a namespace with the peer's address, and a veth pair to it
peer_up() {
	rmmod kdapl_wire && rdma link delete rxe0 && ip addr flush dev "$dev" &&
		ip netns add peer && ip link add veth0 type veth peer name veth1 netns peer &&
		ip -n peer addr add "$peer/24" dev veth1 && ip -n peer link set veth1 up &&
		ip addr add "$own/24" dev veth0 && ip link set veth0 up
}

# qp_for_peer: create rxe0 on the veth pair, with a QP
qp_for_peer() { rxe_on_wire && sends && wait_for has_sent 0; }

# request read|nothing: the peer sends the request, and rxe answers
request() {
	local before

	before=$(cat $sent)
	ip netns exec peer python3 "$KDAPL_DIR/repeated-read.py" "$own" "$peer" \
		"$(cat $parameters/qpn)" "$(cat $parameters/rkey)" "$(cat $parameters/addr)" \
		"$1" && wait_for has_sent "$before"
}

# warned: the log has a warning of rxe_mr_copy(). warning_ended: and its end
warned() { dmesg | grep "WARNING:.*rxe_mr_copy"; }
warning_ended() { dmesg | grep -A 60 "WARNING:.*rxe_mr_copy" | grep "end trace"; }

# request_warned: the peer sends a read, and rxe warns. Neither the guest nor lab/run_in_vm.py may
# treat this expected warning as a failure
request_warned() {
	local panics level

	panics=$(cat /proc/sys/kernel/panic_on_warn)
	read -r level _ </proc/sys/kernel/printk
	sysctl -qw kernel.panic_on_warn=0
	dmesg -n 1
	request read
	wait_for warning_ended
	dmesg -n "$level"
	sysctl -qw kernel.panic_on_warn="$panics"
	warning_ended
}

tap_plan 15
tap_check "napi_tx=Y: rxe on the wire" wire_up napi_tx=Y || exit 1
dev=$(wire)
tap_check "napi_tx=Y: a QP sends, the net device goes down" sends_then_down
tap_diag "tries until the net device was down in time: $(cat /tmp/wire-tries)"
rmmod kdapl_wire &
tap_known "napi_tx=Y: the packet in the ring holds the QP" held
tap_check "napi_tx=Y: the net device comes up" ip link set "$dev" up
tap_check "napi_tx=Y: the QP is destroyed" wait_for gone
wait
tap_check "napi_tx=Y: rxe0 is deleted and virtio_net unloads" wire_down

tap_check "napi_tx=N: rxe on the wire" wire_up napi_tx=N || exit 1
dev=$(wire)
tap_check "napi_tx=N: a QP sends, the net device goes down" sends_then_down
tap_diag "tries until the net device was down in time: $(cat /tmp/wire-tries)"
rmmod kdapl_wire &
tap_check "napi_tx=N: the QP is destroyed while the net device is down" wait_for gone
wait

tap_check "a packet without an answer does not break its QP" sends_with_room
tap_known "a packet that the discipline drops breaks its QP" sends_without_room

tap_check "create a peer in a namespace" peer_up
dev=veth0
tap_check "create a QP on the wire to the peer" qp_for_peer
tap_check "the peer reads" request read
tap_check "the peer repeats the read" request read
tap_check "the peer writes no bytes" request nothing
tap_refuse "no warning so far" warned
tap_known "the peer repeats the read, and rxe warns" request_warned
