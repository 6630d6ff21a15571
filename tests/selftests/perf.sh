#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kdapl-loop perf: short runs in which no byte is wrong, a server and its client, and runs that
# must be refused.
# covers: kdapl-loop perf and its module: each form of a measurement

. "${0%/*}/lib.sh"

seen=$(mktemp -d)
perf=("$KDAPL_DIR/kdapl-loop" perf)

tidy() {
	! loaded kdapl_perf || echo stop >"$DEBUGFS/kdapl_perf/command"
	rmmod kdapl_perf 2>/dev/null
	kdapl_unload
	rm -rf "$seen"
}
trap tidy EXIT

# rows FILE: print the rows of the tables
rows() { grep -E '^ *[0-9]+ (kdapl|verbs) ' "$1"; }

# measure ROWS OPTION...: a run prints this many measurements, and --last prints them again. The
# tool fails if a message is missing or a byte is wrong.
measure() {
	local rows=$1

	shift
	"${perf[@]}" "$@" >"$seen/table" || { cat "$seen/table"; return 1; }
	"${perf[@]}" --last --histogram >"$seen/again"
	if [ "$(rows "$seen/table" | wc -l)" != "$rows" ] ||
		! grep -q "^$rows measurements .* 0 wrong bytes" "$seen/table" ||
		! diff <(rows "$seen/table") <(rows "$seen/again"); then
		cat "$seen/table"
		return 1
	fi
}

is_listening() { grep '^server .* listening=1' "$DEBUGFS/kdapl_perf/status"; }

# serve OPTION...: start a server; its exit status goes to a file
serve() {
	# With this output, it would keep tap_check waiting
	("${perf[@]}" --server "$@"; echo $? >"$seen/status") >"$seen/server" 2>&1 &
	wait_for is_listening
}

# served: the server ends without an error
served() {
	wait_for test -s "$seen/status"
	[ "$(cat "$seen/status")" = 0 ] || { cat "$seen/server"; return 1; }
}

# fails STATUS TEXT OPTION...: the tool ends with this status and a message with this text
fails() {
	local want=$1 text=$2 status=0

	shift 2
	"${perf[@]}" "$@" >"$seen/out" 2>&1 || status=$?
	if [ "$status" != "$want" ] || ! grep -qF "$text" "$seen/out"; then
		echo "expected status $want and \"$text\", status $status:"
		cat "$seen/out"
		return 1
	fi
}

tap_plan 9
kdapl_insmod kdapl stretch="$KDAPL_FACTOR"
tap_check "the tool names the module that is missing" \
	fails 3 "the module kdapl_perf is not loaded" -n 1
kdapl_insmod kdapl_perf stretch="$KDAPL_FACTOR"
tap_check "measure all operations" measure 36 -s 1,100,4096 -n 90 -q 3 -t 7
tap_check "measure large messages, one outstanding" \
	measure 4 -s 1048576 -n 4 -t 1 --test bw --op write,read
tap_check "measure for a time, with 128 outstanding" measure 4 -D 1 -t 128 --op send
tap_check "start a server" serve -d "$IA" -p 18800
tap_check "measure with the server" measure 12 -d "$IA" -p 18800 -n 20 "$ADDRESS"
tap_check "the server ends with its client" served
tap_check "an unknown interface adapter is reported" \
	fails 3 "cannot open the interface adapter none0" -d none0
tap_check "no object is left" kdapl_empty
