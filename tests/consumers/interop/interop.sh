#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kDAPL with user-space uDAPL as the peer: Debian's dapltest (packages dapl2-utils and
# libdapl2, provider over rdma_cm) and kdapl_interop.ko, in both directions. Runs as root in
# a guest, in a directory with the modules and lib.sh of the selftests. Each result depends on
# both ends: the output and exit status of dapltest, and the exact counts of the kernel.
#
# An operation is INITIATOR:TYPE:SIZE:SEGMENTS[:f]; INITIATOR is c (client) or s (server).

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"

port=62000
addr=10.9.9.1
ia=ofa-v2-rxe
dir=$DEBUGFS/kdapl_interop
tmp=$(mktemp -d)
export DAT_OVERRIDE=$tmp/dat.conf
limit=$(awk "BEGIN { print int(60 * $KDAPL_STRETCH) }")
# libdat2 unloads its provider with the last IA, although the provider's own thread may still
# run, which causes SIGSEGV (crash.sh). Preloaded libraries stay mapped.
provider="libdat2.so.2 libdaplofa.so.2"

tidy() {
	[ ! -e "$tmp/pid" ] || kill "$(cat "$tmp/pid")" 2>/dev/null
	rmmod kdapl_interop 2>/dev/null
	kdapl_unload
	rm -rf "$tmp"
}
trap tidy EXIT

# ---- user space ------------------------------------------------------------

setup() {
	local dev

	rxe_setup 0 && modprobe ib_uverbs && modprobe rdma_ucm || return
	for dev in uverbs0 rdma_cm; do
		wait_for test -c "/dev/infiniband/$dev" || return
	done
	cat >"$DAT_OVERRIDE" <<-EOF
	$ia u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "dummy0 0" ""
	EOF
	kdapl_load && kdapl_insmod kdapl_interop stretch="$KDAPL_FACTOR"
}

# peer TYPE ARGUMENT...: run dapltest as a client, with its output in $tmp/peer. It exits with 0
# even after a failure, so the callers check its output, too.
peer() {
	local type=$1

	shift
	LD_PRELOAD=$provider timeout --kill-after=5 "$limit" dapltest -T "$type" -d -s "$addr" \
		-D "$ia" -n "$port" "$@" >"$tmp/peer" 2>&1 ||
		{ echo "dapltest -T $type: expected exit status 0, got $?"; tail -n 20 "$tmp/peer"; return 1; }
}

# clean FILE: this output of dapltest contains no complaint
complaints='rror|FAIL|ismatch|MISMATCH|arning|annot|[Bb]ad |nvalid|No [Mm]emory|swallow|problem|retrying'
clean() { ! grep -E "$complaints" "$1"; }

# show FILE: print the end of the output and the report, and fail
show() { tail -n 30 "$1"; cat "$dir/report"; return 1; }

# printed N TEXT FILE: the output contains N lines with TEXT
printed() {
	local n

	n=$(grep -cF -- "$2" "$3")
	[ "$n" = "$1" ] || { echo "expected $1 lines with \"$2\", found $n"; return 1; }
}

# op_words OP...: print operations as arguments of dapltest
op_words() {
	local op who what size segs f

	for op; do
		IFS=: read -r who what size segs f <<<"$op"
		[ "$who" = c ] && who=client || who=server
		printf '%s ' "$who" "$what" "$size" "$segs" ${f:+-f}
	done
}

# ---- the kernel's end ------------------------------------------------------

# read_report: read the kernel's report into got. In bash, because a process for each count
# would take longer than most tests
declare -A got
read_report() {
	local name value

	got=()
	while read -r name value; do
		[ -z "$name" ] || got[$name]=$value
	done <"$dir/report"
}

# all_completed: all posts have completed. A server that waits for its next client has two
# receives posted.
all_completed() { [ $((got[posted] - got[completed])) = $((2 * got[serving])) ]; }

# tests_ended N: N tests have ended at the kernel's end, or one has failed
tests_ended() {
	read_report
	[ "${got[failures]}" -gt 0 ] || { [ "${got[tests]}" -ge "$1" ] && all_completed; }
}

# count NAME=VALUE...: the report has these counts and no failure. Flushed posts count as
# sends: if the peer disconnects first, sends are flushed.
count() {
	local pair value bad=0

	read_report
	[ "${got[failures]}" = 0 ] || bad=1
	all_completed ||
		{ echo "expected all posts to complete: ${got[completed]} of ${got[posted]}"; bad=1; }
	for pair; do
		value=${got[${pair%=*}]}
		[ "${pair%=*}" != sends ] || value=$((value + got[flushed]))
		[ "$value" = "${pair#*=}" ] ||
			{ echo "expected $pair, got $value"; bad=1; }
	done
	[ "$bad" = 0 ] || cat "$dir/report"
	return "$bad"
}

# expect END THREADS EPS ITERATIONS VALIDATE OP...: check the counts of a transaction test with
# the kernel as END (c or s). Besides its operations, each connection has three messages in each
# direction; the control connection has two from the client and one from the server.
expect() {
	local end=$1 links=$(($2 * $3)) all=$(($2 * $3 * $4)) validate=$5
	local op who what size segs sends=0 receives=0 reads=0 writes=0 bytes=0

	shift 5
	for op; do
		IFS=: read -r who what size segs _ <<<"$op"
		[ "$who" = "$end" ] && who=our || who=their
		case $who$what in
		ourSR) sends=$((sends + 1)) ;;
		ourRW) writes=$((writes + 1)) ;;
		ourRR) reads=$((reads + 1)) ;;
		theirSR) receives=$((receives + 1)) ;;
		esac
		case $who$what in
		theirSR | theirRW | ourRR) bytes=$((bytes + size * segs)) ;;
		esac
	done
	if [ "$validate" = 0 ]; then
		bytes=0
	elif [ "$end" = s ]; then
		sends=$((sends + 2)) receives=$((receives + 1))
	else
		sends=$((sends + 1)) receives=$((receives + 2))
	fi
	if [ "$end" = s ]; then
		sends=$((1 + 3 * links + all * sends))
		receives=$((2 + 3 * links + all * receives))
	else
		sends=$((2 + 3 * links + all * sends))
		receives=$((1 + 3 * links + all * receives))
	fi
	count tests=1 connected=$((links + 1)) ended=$((links + 1)) \
		sends="$sends" receives="$receives" reads=$((all * reads)) \
		writes=$((all * writes)) verified=$((all * bytes))
}

# ---- dapltest is the client, the kernel is the server ----------------------

serve() { echo "port=$port $*" >"$dir/server"; }
server_ended() { read_report; [ "${got[serving]}" = 0 ]; }

# their_transaction THREADS EPS ITERATIONS FLAGS OP...: FLAGS are for dapltest
their_transaction() {
	local threads=$1 eps=$2 rounds=$3 flags=$4 validate=0 words

	shift 4
	[[ $flags != *-V* ]] || validate=1
	echo >"$dir/report"
	read -ra words <<<"$(op_words "$@")"
	# shellcheck disable=SC2086 # flags are separate words
	if ! { peer T -t "$threads" -w "$eps" -i "$rounds" $flags "${words[@]}" &&
		printed 1 "End of Work -- Client Exiting" "$tmp/peer" &&
		printed "$threads" "End Successfully" "$tmp/peer" && clean "$tmp/peer"; }; then
		show "$tmp/peer" || return
	fi
	wait_for tests_ended 1
	expect s "$threads" "$eps" "$rounds" "$validate" "$@"
}

# their_performance MODE ITERATIONS PIPELINE WHAT SIZE SEGMENTS
their_performance() {
	echo >"$dir/report"
	if ! { peer P -m "$1" -i "$2" -p "$3" "$4" "$5" "$6" &&
		printed 1 "End of Work -- Client Exiting" "$tmp/peer" &&
		printed 1 "Client: Finished performance test" "$tmp/peer" &&
		printed 1 "raw: $4, $2, $5, $6, $3," "$tmp/peer" && clean "$tmp/peer"; }; then
		show "$tmp/peer" || return
	fi
	wait_for tests_ended 1
	count tests=1 connected=2 ended=2 sends=2 receives=3 reads=0 writes=0 \
		verified=$(($5 * $6))
}

# Two clients at the same time
their_two_clients() {
	local one two

	echo >"$dir/report"
	(peer T -i 3 -V client SR 1024 2 server SR 1024 2 && clean "$tmp/peer") &
	one=$!
	LD_PRELOAD=$provider timeout --kill-after=5 "$limit" dapltest -T T -d -s "$addr" -D "$ia" -n "$port" \
		-i 3 -V -t 2 client RW 2048 1 server SR 512 1 >"$tmp/other" 2>&1
	two=$?
	wait "$one" && [ "$two" = 0 ] && clean "$tmp/other" &&
		printed 2 "End Successfully" "$tmp/other" || return
	wait_for tests_ended 2
	count tests=2 connected=5 ended=5 verified=$((3 * 2048 + 2 * 3 * 2048))
}

# dapltest distinguishes a reject by a Consumer from others, and tries again
their_retry() {
	echo >"$dir/report"
	if ! { serve reject=2 && peer T -i 1 client SR 256 1 server SR 256 1 &&
		printed 2 "retrying connection" "$tmp/peer" &&
		printed 1 "End Successfully" "$tmp/peer"; }; then
		show "$tmp/peer" || return
	fi
	wait_for tests_ended 1
	count tests=1 rejected=2 connected=2 ended=2
}

their_quit() {
	echo >"$dir/report"
	peer Q && clean "$tmp/peer" && wait_for server_ended &&
		count connected=1 ended=1 sends=1 receives=2
}

# Without a listener the reject is not from a Consumer, so the client does not try again
their_no_listener() {
	peer T -i 1 client SR 256 1 server SR 256 1
	if ! { printed 1 "DAT_CONNECTION_EVENT_NON_PEER_REJECTED" "$tmp/peer" &&
		printed 0 "retrying connection" "$tmp/peer" &&
		printed 0 "Connected!" "$tmp/peer"; }; then
		show "$tmp/peer"
	fi
}

# ---- the kernel is the client, dapltest is the server ----------------------

printed_at_least() { [ "$(grep -cF -- "$2" "$3")" -ge "$1" ]; }

their_server() {
	rm -f "$tmp/status"
	# Line-buffered, because the output is checked while the server runs
	(
		LD_PRELOAD=$provider timeout --kill-after=5 $((5 * limit)) \
			stdbuf -oL dapltest -T S -d \
			-D "$ia" -n "$port" >"$tmp/server" 2>&1 &
		echo $! >"$tmp/pid"
		wait $!
		echo $? >"$tmp/status"
		rm "$tmp/pid"
	) >/dev/null 2>&1 &
	wait_for printed_at_least 1 "Service Point Ready" "$tmp/server"
}

# request WORD...: run the kernel's client. The output of the server during the test is copied
# to $tmp/output. Waits until the server is ready for the next client.
request() {
	local before ready status=0

	before=$(wc -l <"$tmp/server")
	ready=$(grep -cF "Waiting for Connection Request" "$tmp/server")
	echo >"$dir/report"
	echo "$1 port=$port ${*:2}" >"$dir/client" || status=1
	[ "$1" = quit ] || wait_for printed_at_least $((ready + 1)) \
		"Waiting for Connection Request" "$tmp/server"
	case $1 in
	transaction) wait_for finished "$before" "Transaction Test Finished" ;;
	performance) wait_for finished "$before" "performance test.  Exiting" ;;
	quit) wait_for test -s "$tmp/status" ;;
	esac
	tail -n +$((before + 1)) "$tmp/server" >"$tmp/output"
	if [ "$status" != 0 ] || ! clean "$tmp/output"; then
		show "$tmp/output"
	fi
}
finished() { tail -n +$(($1 + 1)) "$tmp/server" | grep -qF "$2"; }

# our_transaction THREADS EPS ITERATIONS FLAGS OP...: FLAGS are for kdapl_interop
our_transaction() {
	local threads=$1 eps=$2 rounds=$3 flags=$4 validate=0

	shift 4
	[[ $flags != *validate* ]] || validate=1
	request transaction threads="$threads" eps="$eps" iterations="$rounds" "$flags" "$@" &&
		printed "$threads" "End Successfully" "$tmp/output" &&
		printed $((threads * eps)) "Private Data: 56: <DAPL and RDMA rule! Test 4321.>" \
			"$tmp/output" &&
		expect c "$threads" "$eps" "$rounds" "$validate" "$@"
}

# our_performance MODE ITERATIONS PIPELINE WHAT SIZE SEGMENTS
our_performance() {
	local bytes=$(($5 * $6)) reads=1 writes=$((2 * $2))

	[ "$4" != RR ] || { bytes=$((bytes * $2)) reads=$((2 * $2)) writes=1; }
	request performance "$1" iterations="$2" pipeline="$3" "c:$4:$5:$6" &&
		printed 1 "cleanup is done" "$tmp/output" &&
		count tests=1 connected=2 ended=2 sends=3 receives=2 \
			reads="$reads" writes="$writes" verified="$bytes"
}

our_quit() {
	request quit && [ "$(cat "$tmp/status")" = 0 ] &&
		printed 1 "Client Requests Server to Quit" "$tmp/output" &&
		count connected=1 ended=1 sends=2 receives=1
}

our_no_listener() {
	echo >"$dir/report"
	! echo "quit port=$port" >"$dir/client" && count refused=1 connected=0 rejected=0
}

# ---- the tests -------------------------------------------------------------

# reserved NAME FUNCTION FLAGS CLAUSES: a test whose server has an RSP for each EP
reserved() {
	tap_clauses "$4"
	tap_check "$1: reserved service points" "$2" 2 2 2 "$3" c:SR:1024:2 s:SR:1024:2
}

# transactions NAME FUNCTION VALIDATE POLL CLAUSES: the tests for one direction. CLAUSES are those
# about connecting and disconnecting in that direction.
transactions() {
	local who=$1 side=$2 validate=$3 poll=$4

	tap_clauses "$5"
	tap_check "$who: send and receive in both directions" "$side" 1 1 3 "" \
		c:SR:4096:1 s:SR:1024:3 c:SR:1:1 s:SR:8192:4
	tap_clauses W-01
	tap_check "$who: RDMA write in both directions, validated" "$side" 1 1 3 "$validate" \
		c:RW:4096:2 s:RW:2048:4 c:RW:37:1
	tap_clauses D-01
	tap_check "$who: RDMA read in both directions, validated" "$side" 1 1 3 "$validate" \
		c:RR:4096:2 s:RR:1024:3 s:RR:61:1
	tap_clauses E-03 G-30 R-24
	tap_check "$who: all operations, 3 threads of 2 EPs" "$side" 3 2 4 "$validate" \
		c:RW:4096:1 s:RW:2048:4 c:SR:1024:4 s:SR:4096:2 c:RR:1024:3 s:RR:512:2
	tap_clauses E-33 E-36
	tap_check "$who: 1 thread of 8 EPs, sends reaped late" "$side" 1 8 3 "$validate" \
		c:SR:1024:3:f s:SR:2048:1:f c:SR:256:1:f s:SR:100:1:f
	tap_check "$who: polling, 2 threads" "$side" 2 2 3 "$validate $poll" \
		c:RW:4096:1 c:SR:512:2 s:SR:512:2 s:RR:4096:1
	tap_check "$who: 64 KiB operations" "$side" 1 1 2 "$validate" \
		c:RW:65536:1 s:RR:16384:4 c:SR:65536:1 s:SR:65536:1
}

tap_plan 41
dpkg-query -W -f '# ${Package} ${Version}\n' dapl2-utils libdapl2
tap_check "rxe, rdma_ucm and kdapl_interop are set up" setup
tap_check "the kernel starts a server" serve
transactions "dapltest client" their_transaction -V -P \
	"C-15 C-25 C-26 C-29 C-32 C-41"
reserved "dapltest client" their_transaction "-V -r" "C-07 C-15"
tap_check "dapltest client: RDMA write, blocking" their_performance b 20 8 RW 4096 2
tap_check "dapltest client: RDMA write, polling" their_performance p 20 4 RW 1000 1
tap_check "dapltest client: RDMA read, blocking" their_performance b 20 8 RR 4096 2
tap_check "dapltest client: RDMA read, polling" their_performance p 20 1 RR 65536 1
tap_check "two dapltest clients at the same time" their_two_clients
tap_check "dapltest client: quit" their_quit
tap_check "dapltest client: rejected twice, then accepted" their_retry
tap_check "dapltest client: quit again" their_quit
tap_check "dapltest client: no listener" their_no_listener

tap_check "dapltest server starts" their_server
transactions "kernel client" our_transaction validate poll \
	"C-18 C-24 C-40 C-41 C-48"
reserved "kernel client" our_transaction "validate rsp" C-18
tap_check "kernel client: RDMA write" our_performance "" 20 8 RW 4096 2
tap_check "kernel client: RDMA write, polling" our_performance poll 20 4 RW 1000 1
tap_check "kernel client: RDMA read" our_performance "" 20 8 RR 4096 2
tap_check "kernel client: RDMA read, polling" our_performance poll 20 1 RR 65536 1
tap_check "kernel client: quit" our_quit
tap_clauses C-20
tap_check "kernel client: no listener" our_no_listener

port=100000
tap_check "a qualifier beyond 65535: dapltest server starts" their_server
tap_check "a qualifier beyond 65535: kernel client" our_transaction 1 2 2 validate \
	c:SR:256:1 s:RW:256:1
tap_check "a qualifier beyond 65535: kernel client: quit" our_quit
tap_check "a qualifier beyond 65535: the kernel starts a server" serve
tap_check "a qualifier beyond 65535: dapltest client" their_transaction 1 2 2 -V \
	c:SR:256:1 s:RW:256:1
tap_check "a qualifier beyond 65535: dapltest client: quit" their_quit
tap_check "kdapl_interop and kdapl unload" eval 'rmmod kdapl_interop && kdapl_unload'
