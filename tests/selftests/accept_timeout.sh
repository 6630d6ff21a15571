#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A peer is accepted and never completes the connection. Takes 30 seconds of real time, with
# the module's own time-outs.

. "${0%/*}/lib.sh"

out=$(mktemp)
trap 'rm -f "$out"; kdapl_unload' EXIT

tap_plan 2
kdapl_unload
kdapl_insmod kdapl
kdapl_load
tap_clauses C-16 C-51 C-54
if "$KDAPL_DIR/kdapl-loop" --tap --case service/silent-peer >"$out" 2>&1 &&
	grep -q '^ok .*silent-peer' "$out"; then
	tap_ok "an accepted peer that never completes occupies its EP for at most 30 s"
else
	sed 's/^/# /' "$out"
	tap_not_ok "an accepted peer that never completes occupies its EP for at most 30 s"
fi
tap_check "kdapl unloads" kdapl_unload
