#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Run kdapl_conform on Soft-RoCE, on the adapter model, and between the two instances of the
# model. It is run as root in a guest, and prints TAP.

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"

out=$(mktemp)
trap 'rm -f "$out"' EXIT

# conform NAME PARAMETER...: append the results of one run, or a failure, to $out
conform() {
	local name=$1

	shift
	if insmod "$KDAPL_DIR/kdapl_conform.ko" "$@"; then
		sed -E "s/^((not )?ok [0-9]+ - )/\1$name: /" "$DEBUGFS/kdapl_conform/tap"
		rmmod kdapl_conform
	else
		printf '1..1\nnot ok 1 - %s: insmod kdapl_conform %s\n' "$name" "$*"
	fi >>"$out" 2>&1
}

# First, because it loads a module that must be there before rdma_cm
rxe_setup && conform rxe device=rxe0
hca_setup && conform model device=hca0 && conform "two models" device=hca0 peer=hca1
# The sum of the plans, and the last two results
tap_plan $(($(awk -F '[.]+' '/^1\.\./ { n += $2 } END { print n + 0 }' "$out") + 2))
tap_relay <"$out"
# A device that was not set up has no results
tap_check "three devices have results" test "$(grep -c '^1\.\.' "$out")" = 3
# IBTA vol. 1, 9.7.3.2; read/outstanding posts more than that
tap_check "reads beyond max_rd_atomic wait" test "$(hca_stat read_stalls)" -gt 0
