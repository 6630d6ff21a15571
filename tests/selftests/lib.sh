# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # some are for the selftests
#
# What the selftests share; sourced. They run as root in a guest, in a folder
# with kdapl.ko, kdapl_loop.ko, kdapl-loop and the selftests (KDAPL_DIR).
#
# A selftest prints TAP: tap_plan N first, then N results. At its end it has
# unloaded what it loaded; a trap on EXIT sees to that.

KDAPL_DIR=${KDAPL_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}
KDAPL_STRETCH=${KDAPL_STRETCH:-1}
# For the modules' own time-outs: an emulated machine is slow, a busy one slower,
# and one whose kernel looks for bugs slower still
KDAPL_SLOW=1
[[ ${KDAPL_VM:-} != own-*-* ]] || KDAPL_SLOW=3
read -r KDAPL_FACTOR KDAPL_TENTHS < <(awk "BEGIN { f = $KDAPL_STRETCH * $KDAPL_SLOW
	print int(4 * f + 0.999), int(10 * f + 0.999) }")
DEBUGFS=/sys/kernel/debug
tap_count=0

# tap_plan N: N results will follow
tap_plan() { echo "1..$1"; }

# tap_ok NAME: a success
tap_ok() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $*"; }

# tap_not_ok NAME: a failure; say why with tap_diag before
tap_not_ok() { tap_count=$((tap_count + 1)); echo "not ok $tap_count - $*"; }

# tap_skip NAME REASON
tap_skip() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $1 # SKIP $2"; }

# tap_diag TEXT: explain
tap_diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# tap_clauses ID...: what the next result asserts of kdapl-contract.rst
tap_clauses() { echo "# clauses: $*"; }

# tap_relay [PREFIX]: results that come in as TAP, under our own numbers
tap_relay() {
	local line

	while read -r line; do
		case $line in
		"ok "*) tap_ok "${1:-}${line#*- }" ;;
		"not ok "*) tap_not_ok "${1:-}${line#*- }" ;;
		"# "*) echo "$line" ;;
		esac
	done
}

# tap_check NAME COMMAND...: ok if the command succeeds, else with its output
tap_check() {
	local name=$1 out

	shift
	if out=$("$@" 2>&1); then
		tap_ok "$name"
	else
		tap_diag "failed: $*"
		[ -z "$out" ] || tap_diag "$out"
		tap_not_ok "$name"
		return 1
	fi
}

# tap_known NAME COMMAND...: a demonstration of a known fault of the kernel, which the command
# shows. A kernel without the fault is no failure, and the result says so.
tap_known() {
	local name=$1

	shift
	if "$@" >/dev/null 2>&1; then
		tap_ok "$name"
	else
		tap_diag "fixed in $(uname -r): $name"
		tap_ok "$name: not on this kernel"
		return 1
	fi
}

# tap_refuse NAME COMMAND...: ok if the command fails
tap_refuse() {
	local name=$1

	shift
	if "$@" >/dev/null 2>&1; then
		tap_diag "succeeded: $*"
		tap_not_ok "$name"
		return 1
	fi
	tap_ok "$name"
}

# wait_for SECONDS COMMAND...: until the command succeeds, or the time is over
wait_for() {
	local left=$(($1 * KDAPL_TENTHS))

	shift
	until "$@" >/dev/null 2>&1; do
		[ "$left" -gt 0 ] || return 1
		left=$((left - 1))
		sleep 0.1
	done
}

# gid_exists DEVICE ADDRESS: is the GID of this IPv4 address in the table?
gid_exists() {
	local hex b

	IFS=. read -ra b <<<"$2"
	hex=$(printf '%02x%02x:%02x%02x' "${b[@]}")
	grep -qsh "ffff:$hex$" "/sys/class/infiniband/$1/ports/1/gids/"*
}

# rxe_reminder: behind modprobe rdma_rxe. That of 6.1 forgets sends of the connection
# manager, qp1_stall.sh, and is reminded of them by a module, which has to be there before
# rdma_cm.
rxe_reminder() {
	[[ $(uname -r) = 6.1.* ]] && ! loaded kdapl_qp1_wake || return 0
	[ ! -d /sys/module/ib_cm ] || { tap_diag "kdapl_qp1_wake would come too late"; return 1; }
	insmod "$KDAPL_DIR/kdapl_qp1_wake.ko"
}

# rxe_setup [N]: device rxeN (0) on dummyN with the address 10.9.<9+N>.1
rxe_setup() {
	local n=${1:-0} addr

	addr=10.9.$((9 + n)).1
	modprobe -q rdma_rxe
	rxe_reminder || return
	modprobe -q dummy numdummies=0
	[ -e "/sys/class/net/dummy$n" ] ||
		ip link add "dummy$n" type dummy || return
	ip addr replace "$addr/24" dev "dummy$n" || return
	ip link set "dummy$n" up || return
	[ -e "/sys/class/infiniband/rxe$n" ] ||
		rdma link add "rxe$n" type rxe netdev "dummy$n" || return
	wait_for 10 gid_exists "rxe$n" "$addr" ||
		{ tap_diag "rxe$n has no GID for $addr"; return 1; }
}

# logged N TEXT: exactly N lines of the log contain TEXT
logged() { [ "$(dmesg | grep -cF "$2")" = "$1" ]; }

# rxe_delete [N]
rxe_delete() { rdma link delete "rxe${1:-0}"; }

# rxe_anew [N]: after a link or an address has gone. If the connection manager had
# something to send then, this was the end of the device's QP 1: qp1_error.sh.
rxe_anew() { rxe_delete "${1:-0}" && rxe_setup "${1:-0}"; }

# loaded MODULE
loaded() { [ -e "/sys/module/$1/refcnt" ]; }

# kdapl_insmod MODULE [PARAMETER...]: load one of our modules from KDAPL_DIR
kdapl_insmod() {
	local mod=$1 dep

	shift
	# modprobe takes a quarter of a second to find out that there is nothing to do
	for dep in ib_core ib_cm iw_cm rdma_cm irq_poll; do
		[ -d "/sys/module/$dep" ] || modprobe -q "$dep"
	done
	insmod "$KDAPL_DIR/$mod.ko" "$@"
}

# kunit_off: with KUnit in the kernel the suites would run whenever kdapl.ko is
# loaded
kunit_off() {
	local glob=/sys/module/kunit/parameters/filter_glob

	[ ! -w "$glob" ] || echo none >"$glob"
}

# kdapl_fail_allocs: every allocation of a task that has make_it_fail set
# fails from now on, without a word (tests/alloc_kunit.c); nobody else's does.
# A kernel that cannot do that has the test skipped; ours can.
kdapl_fail_allocs() {
	local dir setting

	[[ -d $DEBUGFS/failslab || ${KDAPL_VM:-} = own-* ]] || return 0
	for dir in "$DEBUGFS/failslab" "$DEBUGFS/fail_page_alloc"; do
		for setting in verbose=0 task-filter=Y ignore-gfp-wait=N \
			interval=1 times=-1 probability=100; do
			echo "${setting#*=}" >"$dir/${setting%=*}" || return
		done
	done
	echo N >"$DEBUGFS/fail_page_alloc/ignore-gfp-highmem" || return
	echo 0 >"$DEBUGFS/fail_page_alloc/min-order"
}

# kmemleak_there: should this kernel find leaks, and was not told to leave it?
kmemleak_there() {
	[[ -e $DEBUGFS/kmemleak || ${KDAPL_VM:-} = own-*-debug ]] &&
		! grep -qw kmemleak=off /proc/cmdline
}

# kmemleak_scan: what nobody points at any more; fails, and prints it, if there
# is anything. It counts after 5 seconds and when two scans have not found it. It fails
# without kmemleak too: whoever can do without asks kmemleak_there first.
kmemleak_scan() {
	local found

	[ -e "$DEBUGFS/kmemleak" ] || { echo "no kmemleak"; return 1; }
	sleep 6
	echo scan >"$DEBUGFS/kmemleak" && echo scan >"$DEBUGFS/kmemleak" || return
	found=$(cat "$DEBUGFS/kmemleak")
	[ -z "$found" ] || { printf '%s\n' "$found"; return 1; }
}

# kdapl_calls: what the loaded module exports, sorted. By the symbols of the exports:
# some kernels show the functions themselves as local ones
kdapl_calls() {
	sed -n 's/^.* __ksymtab_\(dat_[a-z_]*\)\t\[kdapl\]$/\1/p' /proc/kallsyms | sort -u
}

# bug_finders: at the end of a guest: has what this kernel has of them worked,
# and what did kmemleak find? Lines "0 NAME" or "1 NAME", "leak LINE" before.
# lockdep falls silent for good when it has reported, or run out of room. One that
# the kernel should have by its name, and has not, has not worked.
bug_finders() {
	local found status=0 kernel=${KDAPL_VM:-}

	if [ -e /proc/lockdep_stats ] || [[ $kernel = own-*-debug || $kernel = own-*-rt ]]; then
		grep -Eq 'debug_locks: *1' /proc/lockdep_stats || status=1
		echo "$status lockdep has watched to the end"
	fi
	if [ -e "$DEBUGFS/kcsan" ] || [[ $kernel = own-*-kcsan ]]; then
		status=0
		grep -Eq '^setup_watchpoints: *[1-9][0-9]{3}' "$DEBUGFS/kcsan" &&
			grep -Eq '^enabled: *1' "$DEBUGFS/kcsan" || status=1
		echo "$status KCSAN has watched to the end"
	fi
	if kmemleak_there; then
		found=$(kmemleak_scan 2>&1)
		status=$?
		[ -z "$found" ] || printf '%s\n' "$found" | head -n 60 | sed 's/^/leak /'
		echo "$status kmemleak has found nothing"
	fi
}

# gcov_save: copy what gcov has counted of kdapl.ko, which the kernel keeps when the module
# goes, to the folder gcov. By cat: the files look empty
gcov_save() {
	local file

	mkdir -p "$KDAPL_DIR/gcov"
	find "$DEBUGFS/gcov" -path '*/ulp/kdapl/*.gcda' | while read -r file; do
		cat "$file" >"$KDAPL_DIR/gcov/${file##*/}"
	done
}

# watch_cpus N: there are N CPUs, and the kernel, which is told to be patient when it
# boots (vm/run), reports a CPU that nobody else gets for 4 seconds, or a grace period
# of 8; PROVE_RCU adds 5 of them. spare_cpus: it is patient again
rcu_patience=/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
cpu_patience=/proc/sys/kernel/watchdog_thresh
watch_cpus() {
	local seconds=8

	[ ! -e /proc/lockdep_stats ] || seconds=3
	patience=("$(cat $cpu_patience)" "$(cat $rcu_patience)")
	[ "$(nproc)" -ge "$1" ] && echo 2 >$cpu_patience && echo $seconds >$rcu_patience
}
spare_cpus() {
	echo "${patience[0]}" >$cpu_patience
	echo "${patience[1]}" >$rcu_patience
}

# load_cpus N: start N busy loops. relieve_cpus: end them
busy=()
load_cpus() {
	local i

	for ((i = 0; i < $1; i++)); do
		(while :; do :; done) &
		busy+=($!)
	done
}
relieve_cpus() {
	[ ${#busy[@]} -eq 0 ] || kill "${busy[@]}"
	busy=()
}

# kdapl_load: kdapl, and kdapl_loop if it was built
kdapl_load() {
	loaded kdapl || kdapl_insmod kdapl stretch="$KDAPL_FACTOR" || return
	[ ! -e "$KDAPL_DIR/kdapl_loop.ko" ] || loaded kdapl_loop ||
		kdapl_insmod kdapl_loop stretch="$KDAPL_FACTOR"
}

# kdapl_unload: both, if loaded. An IA closes within a bounded time, so a
# module that is busy at first is tried again for a moment.
kdapl_unload() {
	! loaded kdapl_loop || wait_for 10 rmmod kdapl_loop || return
	! loaded kdapl || wait_for 10 rmmod kdapl
}

# kdapl_empty: debugfs shows no object
kdapl_empty() {
	local file

	for file in ias pzs lmrs rmrs evds eps srqs psps rsps crs; do
		# A missing file would count as empty
		[ -e "$DEBUGFS/kdapl/$file" ] || return
		! grep . "$DEBUGFS/kdapl/$file" || return
	done
}

# act COMMAND...: lead kdapl_actor, print what it says
act() {
	echo "$*" >"$DEBUGFS/kdapl_actor/do" && cat "$DEBUGFS/kdapl_actor/said"
}

# acts COMMAND...: the call succeeds
acts() {
	local got

	got=$(act "$@")
	[ "$got" = DAT_SUCCESS ] || { echo "$got"; return 1; }
}

# rdma_state NETDEV RXE: for who wonders why a connection does not come about
rdma_state() {
	tap_diag "$(cat "$DEBUGFS/kdapl/eps")"
	tap_diag "QPs: $(rdma resource show qp)"
	tap_diag "$2: $(cd "/sys/class/infiniband/$2/ports/1" &&
		grep -r . hw_counters cm_* gids | grep -v ':0*$\|0000:0000:0000:0000' | tr '\n' ' ')"
	tap_diag "$(ip -s link show dev "$1")"
}

# acts_not RETURN COMMAND...: the call is refused with it
acts_not() {
	local want=$1 got

	shift
	got=$(act "$@")
	[ "$got" = "$want" ] || { echo "$got"; return 1; }
}

# saw EVENT: exactly one such event, "A BROKEN", has come by now
saw() { [ "$(act events | grep -cx "$*")" = 1 ]; }

# state A=STATE...: some words of what "act state" says
state() {
	local word now

	now=$(act state)
	for word in "$@"; do
		[[ " $now " == *" $word "* ]] || { echo "$now"; return 1; }
	done
}

# kdapl_events 0|1: switch all tracepoints of kdapl. On one CPU: a second
# emulated one (QEMU 7.2, TCG) can stay at the breakpoint of the kernel's code
# patching for ever, interrupts off, seen once in __schedule() on 6.1.
kdapl_events() {
	local cpus cpu

	cpus=$(ls -d /sys/devices/system/cpu/cpu[1-9]*/online 2>/dev/null)
	for cpu in $cpus; do echo 0 >"$cpu"; done
	echo "$1" >/sys/kernel/tracing/events/kdapl/enable
	for cpu in $cpus; do echo 1 >"$cpu"; done
}
