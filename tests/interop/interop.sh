#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kDAPL against user-space uDAPL: Debian's own dapltest (packages dapl2-utils
# and libdapl2, provider over rdma_cm) talks to kdapl_interop.ko, in both
# directions. Runs as root in a guest, in a folder with the modules; lib.sh is
# that of the selftests. Each result needs both ends: what dapltest says and how
# it exits, and the counts of the kernel's end, which are known exactly.
#
# An operation is WHO:WHAT:SIZE:SEGMENTS[:f], WHO initiates it: c or s.

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"

port=62000
addr=10.9.9.1
ia=ofa-v2-rxe
dir=$DEBUGFS/kdapl_interop
tmp=$(mktemp -d)
export DAT_OVERRIDE=$tmp/dat.conf
limit=$(awk "BEGIN { print int(60 * $KDAPL_STRETCH) }")
# libdat2 unloads its provider with the last IA, while the provider's own thread
# may still be on its way out: SIGSEGV where there is no code any more (crash.sh).
# Preloaded, it stays.
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
		wait_for 10 test -c "/dev/infiniband/$dev" || return
	done
	cat >"$DAT_OVERRIDE" <<-EOF
	$ia u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "dummy0 0" ""
	EOF
	kdapl_load && kdapl_insmod kdapl_interop stretch="$KDAPL_FACTOR"
}

# peer TYPE ARGUMENT...: dapltest as a client, its words in $tmp/peer. It exits
# with 0 whatever happened, so what it says is looked at, too.
peer() {
	local type=$1

	shift
	LD_PRELOAD=$provider timeout --kill-after=5 "$limit" dapltest -T "$type" -d -s "$addr" \
		-D "$ia" -n "$port" "$@" >"$tmp/peer" 2>&1 ||
		{ echo "dapltest: exit status $?"; tail -n 20 "$tmp/peer"; return 1; }
}

# clean FILE: dapltest complains of nothing there
complaints='rror|FAIL|ismatch|MISMATCH|arning|annot|[Bb]ad |nvalid|No [Mm]emory|swallow|problem|retrying'
clean() { ! grep -E "$complaints" "$1"; }

# show FILE: why, for the log
show() { tail -n 30 "$1"; cat "$dir/report"; return 1; }

# said N TEXT FILE
said() {
	local n

	n=$(grep -cF -- "$2" "$3")
	[ "$n" = "$1" ] || { echo "\"$2\": $n times, not $1"; return 1; }
}

# op_words OP...: as dapltest wants them
op_words() {
	local op who what size segs f

	for op; do
		IFS=: read -r who what size segs f <<<"$op"
		[ "$who" = c ] && who=client || who=server
		printf '%s ' "$who" "$what" "$size" "$segs" ${f:+-f}
	done
}

# ---- the kernel's end ------------------------------------------------------

# look: the kernel's report into $got; a process for each count would take longer
# than many a test
declare -A got
look() {
	local name value

	got=()
	while read -r name value; do
		[ -z "$name" ] || got[$name]=$value
	done <"$dir/report"
}

# all_back: what is posted has completed. A server that waits for its next
# client has two receives posted.
all_back() { [ $((got[posted] - got[completed])) = $((2 * got[serving])) ]; }

# over N: that many tests have ended at the kernel's end
over() { look; [ "${got[failures]}" -gt 0 ] || { [ "${got[tests]}" -ge "$1" ] && all_back; }; }

# count NAME=VALUE...: the report says just this, and of no failure. What was
# flushed, when the peer left first, was posted as a send.
count() {
	local pair value good=0

	look
	[ "${got[failures]}" = 0 ] || good=1
	all_back || { echo "not all that was posted has completed"; good=1; }
	for pair; do
		value=${got[${pair%=*}]}
		[ "${pair%=*}" != sends ] || value=$((value + got[flushed]))
		[ "$value" = "${pair#*=}" ] ||
			{ echo "${pair%=*}: $value, not ${pair#*=}"; good=1; }
	done
	[ "$good" = 0 ] || cat "$dir/report"
	return "$good"
}

# expect END THREADS EPS ITERATIONS VALIDATE OP...: the counts of a transaction
# test at that end, c or s. Each connection has three messages each way beside
# its operations; the control connection has two of the client, one of the server.
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

# ---- a user-space client, our server ---------------------------------------

serve() { echo "port=$port $*" >"$dir/server"; }
served_out() { look; [ "${got[serving]}" = 0 ]; }

# their_transaction THREADS EPS ITERATIONS FLAGS OP...: flags of dapltest
their_transaction() {
	local threads=$1 eps=$2 rounds=$3 flags=$4 validate=0 words

	shift 4
	[[ $flags != *-V* ]] || validate=1
	echo >"$dir/report"
	read -ra words <<<"$(op_words "$@")"
	# shellcheck disable=SC2086 # the flags are words
	if ! { peer T -t "$threads" -w "$eps" -i "$rounds" $flags "${words[@]}" &&
		said 1 "End of Work -- Client Exiting" "$tmp/peer" &&
		said "$threads" "End Successfully" "$tmp/peer" && clean "$tmp/peer"; }; then
		show "$tmp/peer" || return
	fi
	wait_for 20 over 1
	expect s "$threads" "$eps" "$rounds" "$validate" "$@"
}

# their_performance MODE ITERATIONS PIPELINE WHAT SIZE SEGMENTS
their_performance() {
	echo >"$dir/report"
	if ! { peer P -m "$1" -i "$2" -p "$3" "$4" "$5" "$6" &&
		said 1 "End of Work -- Client Exiting" "$tmp/peer" &&
		said 1 "Client: Finished performance test" "$tmp/peer" &&
		said 1 "raw: $4, $2, $5, $6, $3," "$tmp/peer" && clean "$tmp/peer"; }; then
		show "$tmp/peer" || return
	fi
	wait_for 20 over 1
	count tests=1 connected=2 ended=2 sends=2 receives=3 reads=0 writes=0 \
		verified=$(($5 * $6))
}

# two of them at once
their_crowd() {
	local one two

	echo >"$dir/report"
	(peer T -i 3 -V client SR 1024 2 server SR 1024 2 && clean "$tmp/peer") &
	one=$!
	LD_PRELOAD=$provider timeout --kill-after=5 "$limit" dapltest -T T -d -s "$addr" -D "$ia" -n "$port" \
		-i 3 -V -t 2 client RW 2048 1 server SR 512 1 >"$tmp/other" 2>&1
	two=$?
	wait "$one" && [ "$two" = 0 ] && clean "$tmp/other" &&
		said 2 "End Successfully" "$tmp/other" || return
	wait_for 20 over 2
	count tests=2 connected=5 ended=5 verified=$((3 * 2048 + 2 * 3 * 2048))
}

# A Consumer's reject is told from any other: the client tries again
their_retry() {
	echo >"$dir/report"
	if ! { serve reject=2 && peer T -i 1 client SR 256 1 server SR 256 1 &&
		said 2 "retrying connection" "$tmp/peer" &&
		said 1 "End Successfully" "$tmp/peer"; }; then
		show "$tmp/peer" || return
	fi
	wait_for 20 over 1
	count tests=1 rejected=2 connected=2 ended=2
}

their_quit() {
	echo >"$dir/report"
	peer Q && clean "$tmp/peer" && wait_for 20 served_out &&
		count connected=1 ended=1 sends=1 receives=2
}

# Nobody listens: that is no Consumer's reject, the client gives up at once
their_nobody() {
	peer T -i 1 client SR 256 1 server SR 256 1
	if ! { said 1 "DAT_CONNECTION_EVENT_NON_PEER_REJECTED" "$tmp/peer" &&
		said 0 "retrying connection" "$tmp/peer" &&
		said 0 "Connected!" "$tmp/peer"; }; then
		show "$tmp/peer"
	fi
}

# ---- our client, a user-space server ---------------------------------------

said_at_least() { [ "$(grep -cF -- "$2" "$3")" -ge "$1" ]; }

their_server() {
	rm -f "$tmp/status"
	# A line at a time: what it has said is looked at while it runs
	(
		LD_PRELOAD=$provider timeout --kill-after=5 $((5 * limit)) \
			stdbuf -oL dapltest -T S -d \
			-D "$ia" -n "$port" >"$tmp/server" 2>&1 &
		echo $! >"$tmp/pid"
		wait $!
		echo $? >"$tmp/status"
		rm "$tmp/pid"
	) >/dev/null 2>&1 &
	wait_for 20 said_at_least 1 "Service Point Ready" "$tmp/server"
}

# ask WORD...: our client; what the server says meanwhile is left in $tmp/said.
# It is ready for the next one when it says so.
ask() {
	local before ready status=0

	before=$(wc -l <"$tmp/server")
	ready=$(grep -cF "Waiting for Connection Request" "$tmp/server")
	echo >"$dir/report"
	echo "$1 port=$port ${*:2}" >"$dir/client" || status=1
	[ "$1" = quit ] || wait_for 20 said_at_least $((ready + 1)) \
		"Waiting for Connection Request" "$tmp/server"
	case $1 in
	transaction) wait_for 20 finished "$before" "Transaction Test Finished" ;;
	performance) wait_for 20 finished "$before" "performance test.  Exiting" ;;
	quit) wait_for 20 test -s "$tmp/status" ;;
	esac
	tail -n +$((before + 1)) "$tmp/server" >"$tmp/said"
	if [ "$status" != 0 ] || ! clean "$tmp/said"; then
		show "$tmp/said"
	fi
}
finished() { tail -n +$(($1 + 1)) "$tmp/server" | grep -qF "$2"; }

# our_transaction THREADS EPS ITERATIONS FLAGS OP...: flags of our client
our_transaction() {
	local threads=$1 eps=$2 rounds=$3 flags=$4 validate=0

	shift 4
	[[ $flags != *validate* ]] || validate=1
	ask transaction threads="$threads" eps="$eps" iterations="$rounds" "$flags" "$@" &&
		said "$threads" "End Successfully" "$tmp/said" &&
		said $((threads * eps)) "Private Data: 56: <DAPL and RDMA rule! Test 4321.>" \
			"$tmp/said" &&
		expect c "$threads" "$eps" "$rounds" "$validate" "$@"
}

# our_performance MODE ITERATIONS PIPELINE WHAT SIZE SEGMENTS
our_performance() {
	local bytes=$(($5 * $6)) reads=1 writes=$((2 * $2))

	[ "$4" != RR ] || { bytes=$((bytes * $2)) reads=$((2 * $2)) writes=1; }
	ask performance "$1" iterations="$2" pipeline="$3" "c:$4:$5:$6" &&
		said 1 "cleanup is done" "$tmp/said" &&
		count tests=1 connected=2 ended=2 sends=3 receives=2 \
			reads="$reads" writes="$writes" verified="$bytes"
}

our_quit() {
	ask quit && [ "$(cat "$tmp/status")" = 0 ] &&
		said 1 "Client Requests Server to Quit" "$tmp/said" &&
		count connected=1 ended=1 sends=2 receives=1
}

our_nobody() {
	echo >"$dir/report"
	! echo "quit port=$port" >"$dir/client" && count refused=1 connected=0 rejected=0
}

# ---- the tests -------------------------------------------------------------

# reserved WHO FUNCTION FLAGS CLAUSES: the server has an RSP for each EP
reserved() {
	tap_clauses "$4"
	tap_check "$1: reserved service points" "$2" 2 2 2 "$3" c:SR:1024:2 s:SR:1024:2
}

# transactions WHO FUNCTION VALIDATE POLL CLAUSES: the same for both directions.
# The clauses are those of how the connections of that direction come and go.
transactions() {
	local who=$1 side=$2 validate=$3 poll=$4

	tap_clauses "$5"
	tap_check "$who: send and receive, both ways" "$side" 1 1 3 "" \
		c:SR:4096:1 s:SR:1024:3 c:SR:1:1 s:SR:8192:4
	tap_clauses W-01
	tap_check "$who: RDMA write, both ways, validated" "$side" 1 1 3 "$validate" \
		c:RW:4096:2 s:RW:2048:4 c:RW:37:1
	tap_clauses D-01
	tap_check "$who: RDMA read, both ways, validated" "$side" 1 1 3 "$validate" \
		c:RR:4096:2 s:RR:1024:3 s:RR:61:1
	tap_clauses E-03 G-30 R-24
	tap_check "$who: everything, 3 threads of 2 EPs" "$side" 3 2 4 "$validate" \
		c:RW:4096:1 s:RW:2048:4 c:SR:1024:4 s:SR:4096:2 c:RR:1024:3 s:RR:512:2
	tap_clauses E-33 E-36
	tap_check "$who: 1 thread of 8 EPs, sends reaped late" "$side" 1 8 3 "$validate" \
		c:SR:1024:3:f s:SR:2048:1:f c:SR:256:1:f s:SR:100:1:f
	tap_check "$who: by polling, 2 threads" "$side" 2 2 3 "$validate $poll" \
		c:RW:4096:1 c:SR:512:2 s:SR:512:2 s:RR:4096:1
	tap_check "$who: 64 KiB operations" "$side" 1 1 2 "$validate" \
		c:RW:65536:1 s:RR:16384:4 c:SR:65536:1 s:SR:65536:1
}

tap_plan 41
dpkg-query -W -f '# ${Package} ${Version}\n' dapl2-utils libdapl2
tap_check "rxe, rdma_ucm, kdapl_interop" setup
tap_check "the kernel serves" serve
transactions "their client" their_transaction -V -P \
	"C-15 C-25 C-26 C-29 C-32 C-41"
reserved "their client" their_transaction "-V -r" "C-07 C-15"
tap_check "their client: RDMA write, blocking" their_performance b 20 8 RW 4096 2
tap_check "their client: RDMA write, polling" their_performance p 20 4 RW 1000 1
tap_check "their client: RDMA read, blocking" their_performance b 20 8 RR 4096 2
tap_check "their client: RDMA read, polling" their_performance p 20 1 RR 65536 1
tap_check "two of their clients at once" their_crowd
tap_check "their client says quit" their_quit
tap_check "their client is rejected twice, then served" their_retry
tap_check "their client says quit again" their_quit
tap_check "their client finds nobody" their_nobody

tap_check "their server" their_server
transactions "our client" our_transaction validate poll \
	"C-18 C-24 C-40 C-41 C-48"
reserved "our client" our_transaction "validate rsp" C-18
tap_check "our client: RDMA write" our_performance "" 20 8 RW 4096 2
tap_check "our client: RDMA write, polling" our_performance poll 20 4 RW 1000 1
tap_check "our client: RDMA read" our_performance "" 20 8 RR 4096 2
tap_check "our client: RDMA read, polling" our_performance poll 20 1 RR 65536 1
tap_check "our client says quit" our_quit
tap_clauses C-20
tap_check "our client finds nobody" our_nobody

port=100000
tap_check "a qualifier beyond 65535: their server" their_server
tap_check "a qualifier beyond 65535: our client" our_transaction 1 2 2 validate \
	c:SR:256:1 s:RW:256:1
tap_check "a qualifier beyond 65535: our client says quit" our_quit
tap_check "a qualifier beyond 65535: the kernel serves" serve
tap_check "a qualifier beyond 65535: their client" their_transaction 1 2 2 -V \
	c:SR:256:1 s:RW:256:1
tap_check "a qualifier beyond 65535: their client says quit" their_quit
tap_check "rmmod" eval 'rmmod kdapl_interop && kdapl_unload'
