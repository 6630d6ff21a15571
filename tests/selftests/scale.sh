#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A thousand service points, of which each accepts a connection, and a thousand EPs that are
# connected at once, each with a message in both directions. SCALE_NUMBER sets the number.
# covers: limits, and searches that are slow only with a thousand objects

. "${0%/*}/lib.sh"

trap 'rmmod kdapl_traffic 2>/dev/null; kdapl_unload' EXIT

number=${SCALE_NUMBER:-1000}
half=$((number / 2))

# shows COUNT FILE PATTERN: so many lines of the file match
shows() {
	local found

	found=$(grep -c "$3" "$DEBUGFS/kdapl/$2")
	[ "$found" = "$1" ] || { echo "expected $1 lines of $2 with $3, found $found"; return 1; }
}

tap_plan 13
rxe_setup || exit 1
kdapl_unload
kdapl_insmod kdapl stretch="$KDAPL_FACTOR"
kdapl_insmod kdapl_traffic stretch="$KDAPL_FACTOR"
tap_check "open $number service points and EPs" stream open rxe0 "$number"
tap_check "debugfs shows $number listening service points" shows "$number" psps ' state=listening '
for first in 0 "$half"; do
	tap_clauses C-15 C-18
	tap_check "each service point from $first on accepts a connection" stream connect "$first"
	tap_check "debugfs shows $number connected EPs" shows "$number" eps ' state=CONNECTED '
	tap_clauses G-02
	tap_check "a message from each EP to its peer, all at once" stream exchange
	tap_clauses C-24 C-29 C-41
	tap_check "all disconnect, and are reset" stream disconnect
done
tap_check "free everything, and close the IA gracefully" stream close
tap_check "debugfs shows no object" wait_for kdapl_empty
rmmod kdapl_traffic
tap_check "kdapl unloads" kdapl_unload
