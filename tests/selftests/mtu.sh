#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The MTU of the net device changes while messages are exchanged. Existing connections go on,
# new ones use the new MTU. An MTU that is too small for IPv6 deletes its addresses.
# covers: packets whose size changes during a connection

. "${0%/*}/lib.sh"

global=fd00:9::1
global_gid=fd00:0009:0000:0000:0000:0000:0000:0001
counters=/sys/class/infiniband/rxe1/ports/1/hw_counters

tidy() {
	rmmod kdapl_actor 2>/dev/null
	rmmod kdapl_traffic 2>/dev/null
	kdapl_unload
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1 2>/dev/null
}
trap tidy EXIT

mtu() { ip link set dummy1 mtu "$1"; }

# pair_ipv6: connect the actor's A and B on an IPv6 address
has_gid() { grep -qsx "$1" /sys/class/infiniband/rxe1/ports/1/gids/*; }
pair_ipv6() {
	ip addr add "$global/64" dev dummy1 nodad && wait_for has_gid $global_gid &&
		act_ok open "rxe1/1@$global" && act_ok listen && act_ok pair
}

# change MTU: the two streams go on, connected
change() {
	mtu "$1" && transfers 100 && stream_shows 0 connected=2 && stream_shows 1 connected=2
}

# another: a stream that is connected now transfers, too
another() { transfers_start rxe1 && transfers 100 && stream stop 2; }

# packets_per_message MTU: print the packets that a new connection sends for each message,
# acknowledgements included
packets_per_message() {
	local messages packets

	mtu "$1" && transfers_start rxe1 || return
	packets=$(cat $counters/sent_pkts)
	messages=$(messages)
	transfers 300 >&2 || return
	packets=$(($(cat $counters/sent_pkts) - packets))
	messages=$(($(messages | cut -d ' ' -f 2) - ${messages#* }))
	transfers_stop && echo $((packets / messages))
}

# The lengths of seven messages in a row (tests/consumers/traffic) need 72 packets of 256 bytes with MTU 512,
# 21 of 1,024 with 1500, and 9 of 4,096 with 9000. Each message also has an acknowledgment.
small_packets() {
	local many few

	many=$(packets_per_message 512) && few=$(packets_per_message 9000) || return
	echo "packets per message: $many with MTU 512, $few with 9000"
	[ "$many" -ge 8 ] && [ "$few" -le 3 ]
}

TRAFFIC_LIMIT=2
tap_plan 15
rxe_setup 1 || exit 1
tap_check "two streams transfer" transfers_start rxe1 rxe1
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
tap_check "connect A to B on an IPv6 address" pair_ipv6
for size in 4096 512 9000 1500; do
	tap_check "MTU $size: messages go on, connections stay" change $size
	tap_check "MTU $size: a new connection transfers" another
	case $size in
	4096)
		tap_check "MTU $size: the IPv6 connection stays" state A=CONNECTED B=CONNECTED
		;;
	512)
		tap_clauses C-30 C-62
		tap_check "MTU $size deletes the IPv6 address: A is BROKEN" \
			wait_for one_event A BROKEN
		;;
	esac
done
act_ok close
tap_clauses G-02
tap_check "all messages have arrived, unchanged and in order" transfers_stop
tap_check "new connections use packets of the new size" small_packets
rmmod kdapl_actor kdapl_traffic
tap_check "debugfs shows no object" wait_for kdapl_empty
