#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes every control call once for each of its allocations, with that allocation failing
# (tests/consumers/stress/fault_inject). Each call must return the expected error, leave its objects
# unchanged and leak nothing. Needs a kernel with fault injection.
# covers: the failure of each allocation of each control call, over the real RDMA core

. "${0%/*}/lib.sh"
trap 'rmmod kdapl_fault_inject 2>/dev/null; kdapl_unload' EXIT

# Calls that allocate nothing: posts, and calls that are always refused
exempt='dat_ep_post_.*|dat_srq_post_recv|dat_rmr_bind|dat_lmr_fmr|dat_lmr_invalidate
dat_csp_.*|dat_ep_common_connect|dat_ep_recv_query|dat_ep_set_watermark
dat_ia_reserved_lmr|dat_registry_(add|remove)_provider|dat_rmr_create_for_ep'

# all_tested RESULT: the result has a line for every other exported call
all_tested() {
	local missing

	missing=$(kdapl_calls | grep -Evx "$exempt" |
		comm -23 - <(sed -nE 's/^(not )?ok [0-9]+ - (dat_[a-z_]*).*/\2/p' <<<"$1" | sort -u))
	if [ -z "$(kdapl_calls)" ] || [ -n "$missing" ]; then
		echo "expected a result for every control call, missing: $missing"
		return 1
	fi
}

if ! has_fault_injection; then
	echo "1..0 # SKIP the kernel has no fault injection for allocations"
	exit 0
fi

device_setup
kdapl_load
kdapl_fail_allocs && kdapl_insmod kdapl_fault_inject ia="$IA" stretch="$KDAPL_FACTOR"
result=$(cat "$DEBUGFS/kdapl_fault_inject/result")
results=$(grep -c '^\(not \)\?ok' <<<"$result")
checks=4
! has_kmemleak || checks=5
tap_plan $((results + checks))
tap_relay <<<"$result"
tap_check "every control call was tested" all_tested "$result"
tap_check "kdapl_fault_inject unloads" rmmod kdapl_fault_inject
tap_check "debugfs shows no object" wait_for kdapl_empty
tap_check "kdapl unloads" kdapl_unload
! has_kmemleak || tap_check "kmemleak reports no leak" kmemleak_scan
