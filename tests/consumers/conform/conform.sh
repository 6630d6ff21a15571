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

# announced NAME: note whether every interrupt that the model has raised so far was handled, and how
# many came late, which a slow host causes, too
unannounced=
announced() {
	local status=0

	wait_for quiet && [ "$(hca_stat interrupts)" -gt 0 ] &&
		[ "$(hca_stat interrupts)" -le "$(hca_stat raises)" ] || status=1
	tap_diag "$1: $(hca_stat late_raises) raises and $(hca_stat late_interrupts) interrupts came late"
	[ $status = 0 ] || unannounced+=" $1"
}

option() { echo "$2" >"/sys/module/kdapl_hca/parameters/$1"; }

# personality "NAME [OPTION]..." PARAMETER...: load the model with this personality, run, and unload it
personality() {
	# shellcheck disable=SC2086 # several options
	hca_setup personality=$1 && conform "$1" device=hca0 "${@:2}" && announced "$1" && hca_unload
}

# on_models: all runs on the model, which stays loaded with its defaults. If it cannot be loaded or
# unloaded, the runs after that are missing
on_models() {
	local name

	# What makes each personality (option_cases.c)
	for name in mlx5 irdma bnxt_re qedr rxe; do
		personality "$name" options="$name" || return
	done
	# As check-hca has it, because most tests need shared receive queues
	personality "irdma srq=1" options=rxe only=rxe/no-last-wqe || return
	hca_setup && conform model device=hca0 && conform "two models" device=hca0 peer=hca1 &&
		conform model device=hca0 options=ibta || return
	option delay 1000000 && conform "slow model" device=hca0 options=slow && option delay 0 &&
		option drop 2 && conform "lossy model" device=hca0 options=lossy && option drop 0 &&
		announced ibta
}

# First, because it loads a module that must be there before rdma_cm
rxe_setup && conform rxe device=rxe0
refused=
kdapl_insmod kdapl_hca drop=2 personality=ibta 2>/dev/null || refused=1
hca_unload
on_models >>"$out" 2>&1
# The sum of the plans, and the last four results
tap_plan $(($(awk -F '[.]+' '/^1\.\./ { n += $2 } END { print n + 0 }' "$out") + 4))
# What is no result is a comment
tap_relay < <(sed -E '/^((not )?ok |# |1\.\.)/!s/^/# /' "$out")
tap_check "all twelve runs have results" test "$(grep -c '^1\.\.' "$out")" = 12
tap_check "a personality that would reset an option is refused" test -n "$refused"
# IBTA vol. 1, 9.7.3.2; read/outstanding posts more than that
tap_check "reads beyond max_rd_atomic wait" test "$(hca_stat read_stalls)" -gt 0
tap_check "every interrupt of the model was handled" test -z "$unannounced"
