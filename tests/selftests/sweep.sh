#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every control call with each of its allocations failing (tests/sweep), on a
# kernel that can fail them: typed errors, objects as before, nothing lost.

. "${0%/*}/lib.sh"
trap 'rmmod kdapl_sweep 2>/dev/null; kdapl_unload' EXIT

if [ ! -d "$DEBUGFS/failslab" ]; then
	echo "1..0 # SKIP the kernel has no fault injection for allocations"
	exit 0
fi

rxe_setup
kdapl_load
kdapl_fail_allocs && kdapl_insmod kdapl_sweep stretch="$KDAPL_FACTOR"
result=$(cat "$DEBUGFS/kdapl_sweep/result")
plan=$(grep -c '^\(not \)\?ok' <<<"$result")
tap_plan $((plan + 4))
tap_relay <<<"$result"
tap_check "the sweep unloads" rmmod kdapl_sweep
tap_check "nothing is left in debugfs" wait_for 20 kdapl_empty
tap_check "kdapl unloads" kdapl_unload
tap_check "nothing has leaked" kmemleak_scan
