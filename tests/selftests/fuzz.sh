#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Random calls with random arguments (tests/consumers/stress/fuzz), from threads and from upcalls. Each
# must return what the contract allows, and no object may be left.
# FUZZ_CALLS, FUZZ_SEED and FUZZ_THREADS set the number of calls, the seed and the number of
# threads.
# covers: sequences of calls that nobody has thought of

. "${0%/*}/lib.sh"
trap 'rmmod kdapl_fuzz 2>/dev/null; kdapl_unload' EXIT

calls=${FUZZ_CALLS:-40000}
seed=${FUZZ_SEED:-1}
verdict=/tmp/kdapl_fuzz.verdict

# all_made: every call that kdapl.ko exports was made
all_made() {
	local missing

	missing=$(kdapl_calls | comm -23 - <(sed -n 's/^# \(dat_[a-z_]*\): .*/\1/p' "$verdict" |
		sort -u))
	if [ -z "$(kdapl_calls)" ] || [ -n "$missing" ]; then
		echo "expected every exported call to be made, missing: $missing"
		return 1
	fi
}

tap_plan 7
device_setup
kdapl_load
if kdapl_insmod kdapl_fuzz ia="$IA" calls="$calls" seed="$seed" threads="${FUZZ_THREADS:-4}" \
	stretch="$KDAPL_FACTOR"; then
	cat "$DEBUGFS/kdapl_fuzz/verdict" >"$verdict"
	tap_relay <"$verdict"
	tap_check "every exported call was made" all_made
fi
tap_check "kdapl_fuzz unloads" rmmod kdapl_fuzz
tap_check "debugfs shows no object" wait_for kdapl_empty
tap_check "kdapl unloads" kdapl_unload
