#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The device is removed under a Consumer with one object of each type: all events arrive, the
# objects are orphaned, and the Consumer closes its IA. Then the Consumer is unloaded without a
# removal, and the removal is repeated.

. "${0%/*}/lib.sh"
trap 'rmmod kdapl_removal 2>/dev/null; kdapl_unload; rxe_setup 0' EXIT

rounds=3

hold() { kdapl_insmod kdapl_removal stretch="$KDAPL_FACTOR"; }

# orphan_round: remove the device, run the checks of the Consumer, unload it
orphan_round() {
	hold && rxe_delete 0 && cat "$DEBUGFS/kdapl_removal/check" >check.tap &&
		! grep -q '^not ok' check.tap && rmmod kdapl_removal && rxe_setup 0
}

tap_plan $((15 + 2 + rounds))
rxe_setup 0
kdapl_load
if hold && rxe_delete 0; then
	# Read once: the first read runs the checks and closes the IA
	cat "$DEBUGFS/kdapl_removal/check" >check.tap
	tap_relay <check.tap
fi
tap_check "the Consumer unloads" rmmod kdapl_removal
rxe_setup 0
tap_check "load and unload with all objects alive" eval 'hold && rmmod kdapl_removal'
for ((i = 1; i <= rounds; i++)); do
	tap_check "removal, round $i" orphan_round ||
		{ [ ! -s check.tap ] || grep -h '^not ok' check.tap | sed 's/^/# /'; }
done
