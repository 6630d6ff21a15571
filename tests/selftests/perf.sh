#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kdapl-loop perf: a short run, whose table and JSON must agree with each other and with what was
# asked for; a server and its client; runs that cannot be done.

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

# measure OPTION...: measure, with JSON, and print the table of the same run
measure() {
	"${perf[@]}" --json "$@" >"$seen/json" || { cat "$seen/json"; return 1; }
	"${perf[@]}" --last >"$seen/table"
}

# consistent OPTION...: the JSON and the table agree
consistent() {
	python3 "$KDAPL_DIR/selftests/consistent" --table "$seen/table" "$@" "$seen/json"
}

is_listening() { grep '^server .* listening=1' "$DEBUGFS/kdapl_perf/status"; }

# serve OPTION...: start a server; its exit status goes to a file
serve() {
	# With this output, it would keep tap_check waiting
	("${perf[@]}" --server "$@"; echo $? >"$seen/status") >"$seen/server" 2>&1 &
	wait_for 20 is_listening
}

# served: the server ends without an error
served() {
	wait_for 20 test -s "$seen/status"
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

tap_plan 13
kdapl_insmod kdapl stretch="$KDAPL_FACTOR"
tap_check "the tool names the module that is missing" \
	fails 3 "the module kdapl_perf is not loaded" -n 1
kdapl_insmod kdapl_perf stretch="$KDAPL_FACTOR"
tap_check "measure all operations" measure -s 1,100,4096 -n 90 -q 3 -t 7
tap_check "the table, the JSON and the options agree" \
	consistent --sizes 1,100,4096 --iters 90 --qp 3
tap_check "measure large messages, one outstanding" \
	measure -s 1048576 -n 4 -t 1 --test bw --op write,read
tap_check "their table, JSON and options agree" \
	consistent --sizes 1048576 --iters 4 --qp 1 --tests bandwidth --ops write,read
tap_check "measure for a time, with 128 outstanding" measure -D 1 -t 128 --op send
tap_check "its table and JSON agree" consistent --sizes 64 --ops send
tap_check "start a server" serve -p 18800
tap_check "measure with the server" measure -p 18800 -n 20 10.9.9.1
tap_check "its table, JSON and options agree" consistent --sizes 64 --iters 20
tap_check "the server ends with its client" served
tap_check "an unknown interface adapter is reported" \
	fails 3 "cannot open the interface adapter none0" -d none0
tap_check "no object is left" kdapl_empty
