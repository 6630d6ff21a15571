#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Four IAs of one Consumer on two devices at once: all transfer, and each is closed while the
# others go on.
# covers: several IAs and devices, whose objects must not be confused

. "${0%/*}/lib.sh"

tidy() {
	rmmod kdapl_traffic 2>/dev/null
	kdapl_unload
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1 2>/dev/null
}
trap tidy EXIT

# objects COUNT FILE...: each IA has this many objects in each file of debugfs
objects() {
	local count=$1

	shift
	awk -v count="$count" '
		FILENAME ~ /ias$/ { ias[$1] = 1; next }
		{ files[FILENAME] = 1; sub("ia=", "", $2); found[$2, FILENAME]++ }
		END {
			for (file in files)
				for (ia in ias)
					if (found[ia, file] != count) {
						print ia ": expected " count " lines of " file ", found " \
							found[ia, file] + 0
						bad = 1
					}
			exit bad
		}' "$DEBUGFS/kdapl/ias" "${@/#/$DEBUGFS/kdapl/}"
}

# open_ias DEVICE=COUNT...: this many IAs of each device are open, and no other
open_ias() {
	local want found total=0

	for want; do
		found=$(grep -c "^ia#[0-9]* name=${want%=*}/1 .* state=open " "$DEBUGFS/kdapl/ias")
		[ "$found" = "${want#*=}" ] || { cat "$DEBUGFS/kdapl/ias"; return 1; }
		total=$((total + found))
	done
	[ "$total" = "$(wc -l <"$DEBUGFS/kdapl/ias")" ]
}

# all_connected COUNT: this many EPs exist, and all are connected
all_connected() {
	local found

	found=$(grep -c ' state=CONNECTED ' "$DEBUGFS/kdapl/eps")
	[ "$found $(wc -l <"$DEBUGFS/kdapl/eps")" = "$1 $1" ] || { cat "$DEBUGFS/kdapl/eps"; return 1; }
}

# close_one NUMBER RXE0 RXE1: after this stream has stopped, this many IAs of each device are
# open, and their streams go on
close_one() {
	stream stop "$1" && open_ias "rxe0=$2" "rxe1=$3" && all_connected $((2 * ($2 + $3))) &&
		objects 2 eps && { [ $(($2 + $3)) = 0 ] || transfers 50; }
}

TRAFFIC_LIMIT=2
tap_plan 12
rxe_setup 0 && rxe_setup 1 || exit 1
kdapl_unload
tap_check "four IAs on two devices, each with a stream" transfers_start rxe0 rxe1 rxe0 rxe1
tap_check "debugfs shows two IAs of each device" open_ias rxe0=2 rxe1=2
tap_check "each IA has its own EPs" objects 2 eps
tap_check "each IA has its own zone, LMR and service point" objects 1 pzs lmrs psps
tap_check "messages arrive on all four" transfers 100
tap_clauses C-36 G-02
tap_check "close the third; the others go on" close_one 2 1 2
tap_check "close the second; the others go on" close_one 1 1 1
tap_check "open one again; all go on" transfers_start rxe1
tap_check "three streams transfer" transfers 100
tap_check "close the first; the others go on" close_one 0 0 2
tap_check "close the others" transfers_stop
tap_check "debugfs shows no object" wait_for kdapl_empty
