#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Run kdapl_conform on Soft-RoCE, on the adapter model, and between the two instances of the
# model. It is run as root in a guest, and prints TAP.

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"

# conform NAME PARAMETER...: relay the results of one run
conform() {
	local name=$1 out

	shift
	out=$(insmod "$KDAPL_DIR/kdapl_conform.ko" "$@" 2>&1 && cat "$DEBUGFS/kdapl_conform/tap")
	rmmod kdapl_conform || out="not ok - rmmod kdapl_conform: $out"
	grep -q ok <<<"$out" || out="not ok - expected results, found: $out"
	tap_relay "$name: " <<<"$out"
}

# First, because it loads a module that must be there before rdma_cm
rxe_setup || { tap_not_ok "rxe_setup"; exit 1; }
conform rxe device=rxe0
# shellcheck disable=SC2086 # options
hca_setup ${KDAPL_HCA:-} || { tap_not_ok "hca_setup"; exit 1; }
conform model device=hca0
conform "two models" device=hca0 peer=hca1
tap_check "rmmod kdapl_hca" rmmod kdapl_hca
echo "1..$tap_count"
