#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory that needs DMA syncs: every mapping of the adapter model is a copy. kDAPL, which makes no
# syncs, refuses each registration with its reason, and all that needs no memory works. It is run in
# a guest with KDAPL_APPEND="swiotlb=force iommu.passthrough=1".
# covers: the refusal of memory that needs syncs, in a system that has such memory

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"

text="$IA/1: memory needs DMA syncs here, registration refused"

tidy() {
	rmmod kdapl_conform kdapl_actor 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# syncs: what a sync and its absence do on this device (tests/consumers/conform/sync_cases.c)
syncs() {
	local out

	insmod "$KDAPL_DIR/kdapl_conform.ko" device="$IA" bounces=1 || return
	out=$(cat "$DEBUGFS/kdapl_conform/tap")
	rmmod kdapl_conform
	[ "$(grep -c '^ok' <<<"$out")" = 2 ] || { echo "$out"; return 1; }
}

actor() { kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR" "$@"; }
refused() { act_ret DAT_MODEL_NOT_SUPPORTED "$@"; }

# message FROM TO: an empty message arrives
message() {
	act_ok recv "$2" && act_ok send "$1" && wait_for one_event "$1 send 0" &&
		wait_for one_event "$2 recv 0"
}

again() {
	act_ok disconnect A && wait_for state A=DISCONNECTED B=DISCONNECTED &&
		act_ok reset A && act_ok reset B && act_ok pair
}

gone() { device_delete && wait_for one_event IA CATASTROPHIC && wait_for one_event A BROKEN; }

tap_plan 17
tap_check "this guest has swiotlb=force" grep -qw swiotlb=force /proc/cmdline
device_setup || exit 1
tap_check "without a sync, bytes of the processor and of the device do not arrive" syncs
kdapl_load
tap_check "a Consumer that registers memory" actor
tap_clauses L-03
tap_check "... is refused" refused open "$IA"
tap_clauses L-03
tap_check "the log has the reason" logged 1 "$text"
rmmod kdapl_actor
tap_check "a Consumer that registers none" actor bare=1
tap_check "... opens the IA, with EVDs, a zone and EPs" act_ok open "$IA"
tap_check "listen" act_ok listen
tap_check "connect A to B" act_ok pair
tap_clauses L-03
tap_check "a registration is refused" refused register
tap_clauses L-03
tap_check "a registration on the queue of A is refused" refused bind
tap_check "the connection remains: an empty message" message A B
tap_check "A and B are connected again" again
tap_check "empty messages, by upcalls" act_ok traffic
tap_clauses L-03
tap_check "the log has the reason once for each IA" logged 2 "$text"
tap_check "the device is removed under this load" gone
tap_check "close" act_ok close
device_setup
