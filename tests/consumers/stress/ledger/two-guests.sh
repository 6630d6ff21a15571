#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One of two guests connected by a wire. Each accounts for its own posts
# (kdapl_ledger.ko, role=server or client) while packets are lost, duplicated,
# delayed and reordered, when a link goes down, and when the server's
# guest is killed.
#
#   two-guests.sh server|client
#
# tools/kdapl/check/run-two-guests runs it, as root, in a directory with the modules.
# It prints TAP. After the last line of the server, check/run-two-guests kills its guest. The guests
# do not share a file: the client connects until the server accepts.
# TWO_GUESTS_POSTS is the number of posts, LEDGER_SEED selects them.

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"
# shellcheck source=tests/consumers/stress/ledger/wire-lib.sh
. "${KDAPL_DIR:-.}/wire-lib.sh"

role=$1
posts=${TWO_GUESTS_POSTS:-10000}
# Seconds that a stage may take: 150,000 posts took 380, on two CPUs
stage_time=$((300 + posts / 150))
seed=${LEDGER_SEED:-1}
server=10.77.0.1
ledger=$DEBUGFS/kdapl_ledger
rxe=/sys/class/infiniband/rxe0/ports/1/hw_counters
nobody=224.0.0.77
round=0

case $role in
server)
	own=$server mac=52:54:00:6b:64:01
	;;
client)
	own=10.77.0.2 mac=52:54:00:6b:64:02
	seed=$((seed + 1000))
	;;
esac

tidy() {
	rmmod kdapl_ledger 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# ---- the wire --------------------------------------------------------------

# wire_drops: sends datagrams that no socket receives, until one of them is dropped
wire_drops() {
	local left=5000

	until dropped_more_than 0; do
		[ "$left" -gt 0 ] || { tc -s qdisc show dev "$dev"; return 1; }
		left=$((left - 1))
		echo x >"/dev/udp/$nobody/9" || return
	done
}

# rxe_saw COUNTER...: one of them is not 0
rxe_saw() {
	local counter sum=0

	for counter; do
		sum=$((sum + $(cat "$rxe/$counter")))
	done
	[ "$sum" -gt 0 ]
}

# ---- the ledger ------------------------------------------------------------

# start POSTS [PARAMETER...]: start a round of the ledger
start() {
	local n=$1

	shift
	round=$((round + 1))
	kdapl_insmod kdapl_ledger role="$role" peer="$server" posts="$n" \
		round="$round" seed="$seed" stretch="$KDAPL_FACTOR" "$@" ||
		tap_diag "insmod of kdapl_ledger failed in round $round"
}

# verdict STAGE: waits for the end of a stage, and reports it in two results
verdict() {
	local count=$tap_count

	tap_relay "$1: " < <(timeout "$(awk "BEGIN { print int($stage_time * $KDAPL_STRETCH) }")" \
		cat "$ledger/verdict")
	[ "$tap_count" = $((count + 2)) ] ||
		{ whereabouts; tap_not_ok "$1: the stage ends within the time limit"; }
}

# whereabouts: prints the progress of a stage that has not ended
whereabouts() {
	tap_diag "expected the stage to end, $(cat "$ledger/progress") % of the posts were made"
	rdma_state "$dev" rxe0
	tap_diag "$(tc -s qdisc show dev "$dev")"
}

# reached PERCENT: this share of the posts was made
reached() { [ "$(cat "$ledger/progress")" -ge "$1" ]; }

# all_made: all posts are made; fails if none is made for HANG seconds
all_made() {
	local percent

	for ((percent = 1; percent <= 100; percent++)); do
		wait_for reached "$percent" || return
	done
}

# cut_link WHOSE: takes down one link, which ends the connections of both sides. After
# that the queue pair of rxe for connection management does not work if it had anything
# to send meanwhile (qp1_error.sh); a new device has a new one.
cut_link() {
	local whose=$1

	if [ "$role" = "$whose" ]; then
		start "$posts" survive=1
		all_made || whereabouts
		ip link set "$dev" down
	else
		start $((posts / 4)) survive=1
	fi
	tap_clauses C-30 C-41
	verdict "link of the $whose down"
	tap_check "kdapl_ledger unloads" rmmod kdapl_ledger
	tap_check "link and rxe come up" again
}

again() {
	rdma link delete rxe0 && ip link set "$dev" up && rxe_on_wire
}

# ---- stages ----------------------------------------------------------------

if [ "$role" = server ]; then tap_plan 19; else tap_plan 23; fi
# Otherwise a packet in the ring would hold its QP while the link is down: wire.sh
tap_check "rxe on the wire" wire_up napi_tx=N || exit 1
dev=$(wire)
tap_check "kdapl loads" kdapl_insmod kdapl stretch="$KDAPL_FACTOR"

tap_check "netem on the wire" bad_wire 1ms
tap_check "netem drops packets" wire_drops
before=$(dropped)
start "$posts"
tap_clauses E-36 C-40 C-41
verdict "bad wire"
tap_diag "netem: $(tc -s qdisc show dev "$dev" root | tr '\n' ' ')"
tap_diag "rxe: $(cd "$rxe" && grep . ./* | tr '\n' ' ')"
tap_check "netem dropped packets during the stage" dropped_more_than "$before"
tap_check "rxe has counted missing or duplicated packets" \
	rxe_saw out_of_seq_request duplicate_request
tap_check "kdapl_ledger unloads" rmmod kdapl_ledger
tap_check "netem is removed" queueing del dev "$dev" root

cut_link server
cut_link client

if [ "$role" = server ]; then
	start "$posts" survive=1
	tap_check "all posts are made before the guest is killed" all_made
	echo "# kill this guest"
	sleep infinity
fi
start $((posts / 4)) survive=1
tap_clauses C-30 C-41 C-54
verdict "the server is killed"
tap_check "kdapl_ledger unloads" rmmod kdapl_ledger
tap_check "debugfs shows no object" wait_for kdapl_empty
tap_check "kdapl unloads" kdapl_unload
