#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every post is accounted for exactly once (tests/consumers/stress/ledger), while connections end, EPs
# are reset and freed, and the device is deleted and added three times.
# LEDGER_POSTS and LEDGER_SEED set the number of posts and the seed. If the adapter model loses
# doorbells, no disconnect is graceful, because it would wait for those requests forever.
# covers: posts lost or completed twice when connections and devices end at any moment
# tier: short

. "${0%/*}/lib.sh"
trap 'rmmod kdapl_ledger 2>/dev/null; kdapl_unload; device_setup' EXIT

posts=${LEDGER_POSTS:-60000}
seed=${LEDGER_SEED:-1}
abrupt=0 faulty=0 faults=0
[[ ${KDAPL_HCA:-} != *doorbell=* ]] || abrupt=1
[[ ${KDAPL_HCA:-} != *doorbell=* && ${KDAPL_HCA:-} != *post_enomem=* ]] || faulty=1

# reached PERCENT: this share of the posts was made
reached() { [ "$(cat "$DEBUGFS/kdapl_ledger/progress")" -ge "$1" ]; }

# remove: remove the device and add it; its counters go with it
remove() {
	[ $faulty = 0 ] ||
		faults=$((faults + $(hca_stat refused_posts) + $(hca_stat lost_doorbells)))
	device_delete
	device_setup
}

tap_plan $((5 + faulty))
device_setup
kdapl_load
if kdapl_insmod kdapl_ledger ia="$IA" posts="$posts" seed="$seed" removals=3 abrupt=$abrupt \
	stretch="$KDAPL_FACTOR" context="$KDAPL_CONTEXT"; then
	for ((percent = 1; percent <= 75; percent++)); do
		wait_for reached "$percent" || break
		[ $((percent % 25)) != 0 ] || remove
	done
	tap_relay <"$DEBUGFS/kdapl_ledger/verdict"
fi
[ $faulty = 0 ] || tap_check "the device has refused or lost posts" test $faults -gt 0
tap_check "kdapl_ledger unloads" rmmod kdapl_ledger
tap_check "debugfs shows no object" wait_for kdapl_empty
tap_check "kdapl unloads" kdapl_unload
