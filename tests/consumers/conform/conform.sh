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

quiet() { [ "$(hca_stat unhandled)" = 0 ]; }

# announced: every interrupt that the model has raised so far was handled, and in time
announced() {
	local what

	wait_for quiet
	for what in unhandled late_raises late_interrupts; do
		[ "$(hca_stat $what)" = 0 ] ||
			{ echo "expected no $what, $(hca_stat $what)"; return 1; }
	done
	[ "$(hca_stat interrupts)" -gt 0 ] && [ "$(hca_stat interrupts)" -le "$(hca_stat raises)" ]
}

option() { echo "$2" >"/sys/module/kdapl_hca/parameters/$1"; }

# First, because it loads a module that must be there before rdma_cm
rxe_setup && conform rxe device=rxe0
# What makes each personality (option_cases.c)
late=
for name in mlx5 irdma bnxt_re qedr rxe; do
	hca_setup personality="$name" && conform "$name" device=hca0 options="$name"
	announced >>"$out" 2>&1 || late+=" $name"
	hca_unload >>"$out"
done
hca_setup && conform model device=hca0 && conform "two models" device=hca0 peer=hca1 &&
	conform model device=hca0 options=ibta
option delay 1000000 && conform "slow model" device=hca0 options=slow && option delay 0
option drop 2 && conform "lossy model" device=hca0 options=lossy && option drop 0
announced >>"$out" 2>&1 || late+=" ibta"
# The sum of the plans, and the last three results
tap_plan $(($(awk -F '[.]+' '/^1\.\./ { n += $2 } END { print n + 0 }' "$out") + 3))
tap_relay <"$out"
# A device that was not set up has no results
tap_check "all eleven runs have results" test "$(grep -c '^1\.\.' "$out")" = 11
# IBTA vol. 1, 9.7.3.2; read/outstanding posts more than that
tap_check "reads beyond max_rd_atomic wait" test "$(hca_stat read_stalls)" -gt 0
tap_check "every interrupt of the model was handled in time" test -z "$late"
