# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables for the selftests
#
# Common functions of the selftests; sourced. Selftests run as root in a guest, in a
# directory with kdapl.ko, kdapl_loop.ko, kdapl-loop and the selftests (KDAPL_DIR).
#
# A selftest prints TAP: tap_plan N first, then N results. A trap on EXIT unloads the
# modules that it loaded.

KDAPL_DIR=${KDAPL_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}
KDAPL_STRETCH=${KDAPL_STRETCH:-1}
# Context of the EVDs of tests that try all of them: softirq, process, poll
KDAPL_CONTEXT=${KDAPL_CONTEXT:-softirq}
# For the timeouts of the modules: emulation is slow, and slower on a busy host or with
# sanitizers
KDAPL_SLOW=1
[[ ${KDAPL_VM:-} != own-*-* ]] || KDAPL_SLOW=3
# HANG: the limit of wait_for in seconds, which only a hang reaches, even on a slow host
read -r KDAPL_FACTOR HANG < <(awk "BEGIN { f = $KDAPL_STRETCH * $KDAPL_SLOW
	print int(4 * f + 0.999), int(180 * f + 0.999) }")
DEBUGFS=/sys/kernel/debug
# The RDMA device of the selftests, its net device and its address: Soft-RoCE, or with options of the
# adapter model in KDAPL_HCA (personality=mlx5) an instance of that
IA=rxe0 NETDEV=dummy0 ADDRESS=10.9.9.1
[ -z "${KDAPL_HCA:-}" ] || IA=hca0 NETDEV=hcanet0 ADDRESS=10.11.1.1
tap_count=0

# tap_plan N: N results follow
tap_plan() { echo "1..$1"; }

# tap_ok NAME: a success
tap_ok() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $*"; }

# tap_not_ok NAME: a failure; call tap_diag before it to print the reason
tap_not_ok() { tap_count=$((tap_count + 1)); echo "not ok $tap_count - $*"; }

# tap_skip NAME REASON
tap_skip() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $1 # SKIP $2"; }

# tap_diag TEXT: print a diagnostic
tap_diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# tap_clauses ID...: the clauses of kdapl-contract.rst that the next result asserts
tap_clauses() { echo "# clauses: $*"; }

# tap_relay [PREFIX]: print the results of the TAP on stdin with new numbers
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

# tap_check NAME COMMAND...: ok if the command succeeds; on failure print the command, its
# status and its output
tap_check() {
	local name=$1 out status

	shift
	if out=$("$@" 2>&1); then
		tap_ok "$name"
	else
		status=$?
		tap_diag "\"$*\": expected success, exit status $status; output:"
		tap_diag "${out:-(none)}"
		tap_not_ok "$name"
		return 1
	fi
}

# tap_known NAME COMMAND...: the command succeeds if the kernel has a known fault. Prints a note,
# which is not a result, because neither outcome is a failure.
tap_known() {
	local name=$1

	shift
	if "$@" >/dev/null 2>&1; then
		tap_diag "known: $name"
	else
		tap_diag "known: $name: not on $(uname -r)"
		return 1
	fi
}

# tap_refuse NAME COMMAND...: ok if the command fails
tap_refuse() {
	local name=$1

	shift
	if "$@" >/dev/null 2>&1; then
		tap_diag "\"$*\": expected failure, but it succeeded"
		tap_not_ok "$name"
		return 1
	fi
	tap_ok "$name"
}

# wait_for COMMAND...: repeat the command, in a subshell, until it succeeds, for at most HANG
# seconds. On timeout, print the output of the last try to stderr. The command must only look for
# an event: to repeat the action that is tested would hide its failures.
wait_for() {
	local end=$((SECONDS + HANG)) out

	until out=$("$@" 2>&1); do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "\"$*\": expected success within $HANG s, last output:" >&2
			printf '%s\n' "${out:-(none)}" >&2
			return 1
		fi
		sleep 0.1
	done
}

# gid_exists DEVICE ADDRESS: does the GID table contain this IPv4 address?
gid_exists() {
	local hex b

	IFS=. read -ra b <<<"$2"
	hex=$(printf '%02x%02x:%02x%02x' "${b[@]}")
	grep -qsh "ffff:$hex$" "/sys/class/infiniband/$1/ports/1/gids/"*
}

# rxe_wake_qp1: call it after modprobe rdma_rxe. rxe of 6.1 loses sends of the connection
# manager (tests/rxe/qp1_stall.sh). kdapl_qp1_wake works around this; the clients of a device are
# removed in the reverse order of loading, so it must be loaded before rdma_cm.
rxe_wake_qp1() {
	[[ $(uname -r) = 6.1.* ]] && ! loaded kdapl_qp1_wake || return 0
	[ ! -d /sys/module/ib_cm ] ||
		{ tap_diag "load kdapl_qp1_wake: expected before ib_cm, which is loaded"; return 1; }
	insmod "$KDAPL_DIR/kdapl_qp1_wake.ko"
}

# rxe_setup [N]: create device rxeN (0) on dummyN with the address 10.9.<9+N>.1
rxe_setup() {
	local n=${1:-0} addr

	addr=10.9.$((9 + n)).1
	modprobe -q rdma_rxe
	rxe_wake_qp1 || return
	modprobe -q dummy numdummies=0
	[ -e "/sys/class/net/dummy$n" ] ||
		ip link add "dummy$n" type dummy || return
	ip addr replace "$addr/24" dev "dummy$n" || return
	ip link set "dummy$n" up || return
	[ -e "/sys/class/infiniband/rxe$n" ] ||
		rdma link add "rxe$n" type rxe netdev "dummy$n" || return
	wait_for gid_exists "rxe$n" "$addr" ||
		{ tap_diag "rxe_setup: expected a GID for $addr on rxe$n: none"; return 1; }
}

# hca_setup [PARAMETER=VALUE...]: load the adapter model (tests/devices/hca), or add what hca_unbind or
# hca_unplug has removed: devices hca0 and hca1 on hcanet0 and hcanet1 with the addresses 10.11.1.1 and
# 10.11.2.1
hca_setup() {
	local n

	if loaded kdapl_hca; then
		# The functions without a driver are found again, too
		echo 1 >/sys/bus/pci/rescan && hca_bind || return
	else
		kdapl_insmod kdapl_hca "$@" || return
	fi
	for n in 0 1; do
		# In this order: a test may connect as soon as there is an address
		ip link set "hcanet$n" up &&
			ip addr replace "10.11.$((n + 1)).1/24" dev "hcanet$n" || return
		wait_for gid_exists "hca$n" "10.11.$((n + 1)).1" ||
			{ tap_diag "hca_setup: expected a GID on hca$n: none"; return 1; }
	done
}

# hca_bind: give each PCI function of the adapter model its driver
hca_bind() {
	local function

	for function in /sys/bus/pci/devices/*; do
		[ "$(cat "$function/device")" != 0x11e8 ] || [ -e "$function/driver" ] ||
			echo "${function##*/}" >/sys/bus/pci/drivers_probe || return
	done
}

# hca_unbind, hca_unplug: remove the driver of hca0, or its PCI function. What the model has found goes
# with its counters
hca_unbind() {
	hca_innocent &&
		basename "$(readlink -f /sys/class/infiniband/hca0/device)" >/sys/bus/pci/drivers/kdapl_hca/unbind
}
hca_unplug() { hca_innocent && echo 1 >/sys/class/infiniband/hca0/device/remove; }

# hca_unload: unload the adapter model, if it is loaded, and print what it has counted. Work items of
# the RDMA core may still have a reference to it
hca_unload() {
	loaded kdapl_hca || return 0
	tap_diag "$(grep . "$DEBUGFS"/kdapl_hca/hca[01]/stats)"
	wait_for rmmod kdapl_hca
}

# hca_stat NAME: print the sum of a counter of both instances of the adapter model
hca_stat() {
	awk -v name="$1" '$1 == name { sum += $2 } END { print sum + 0 }' \
		"$DEBUGFS"/kdapl_hca/hca[01]/stats
}

# hca_innocent: the adapter model has found no fault of its users. The log has what was found during a
# removal
hca_innocent() {
	local what

	loaded kdapl_hca || return 0
	! dmesg | grep 'kdapl_hca .*\(DMA fault\|overrun\)' || return
	for what in dma_faults cq_overruns bad_posts; do
		[ "$(hca_stat $what)" = 0 ] ||
			{ echo "expected no $what, $(hca_stat $what)"; return 1; }
	done
}

# device_setup: create the RDMA device IA, or create it again. device_delete: delete it, as an
# administrator does. device_unplug: delete it by what it depends on
device_setup() {
	# shellcheck disable=SC2086 # several options
	case $IA in
	rxe0) rxe_setup ;;
	hca0) hca_setup $KDAPL_HCA ;;
	esac
}
device_delete() {
	case $IA in
	rxe0) rxe_delete ;;
	hca0) hca_unbind ;;
	esac
}
device_unplug() {
	case $IA in
	rxe0) ip link delete dummy0 && wait_for test ! -e /sys/class/infiniband/rxe0 ;;
	hca0) hca_unplug ;;
	esac
}

# Separates the log of this selftest from that of the ones before it
LOG_MARK="selftest ${0##*/} $$"
echo "$LOG_MARK" >/dev/kmsg

# logged N TEXT: exactly N lines of the log of this selftest contain TEXT
logged() {
	local found

	found=$(dmesg | sed "1,/$LOG_MARK\$/d" | grep -cF "$2")
	[ "$found" = "$1" ] || { echo "expected $1 log lines with \"$2\": $found"; return 1; }
}

# rxe_delete [N]
rxe_delete() { rdma link delete "rxe${1:-0}"; }

# rxe_recreate [N]: required after a link or an address was lost: if the connection manager
# sent anything during that time, QP 1 of the device is in ERROR (tests/rxe/qp1_error.sh).
rxe_recreate() { rxe_delete "${1:-0}" && rxe_setup "${1:-0}"; }

# loaded MODULE
loaded() { [ -e "/sys/module/$1/refcnt" ]; }

# kdapl_insmod MODULE [PARAMETER...]: load a module from KDAPL_DIR
kdapl_insmod() {
	local mod=$1 dep

	shift
	# modprobe takes 250 ms even if the module is loaded
	for dep in ib_core ib_cm iw_cm rdma_cm irq_poll; do
		[ -d "/sys/module/$dep" ] || modprobe -q "$dep"
	done
	insmod "$KDAPL_DIR/$mod.ko" "$@"
}

# kunit_off: disable the suites, which would run each time kdapl.ko is loaded by a kernel
# with KUnit
kunit_off() {
	local glob=/sys/module/kunit/parameters/filter_glob

	[ ! -w "$glob" ] || echo none >"$glob"
}

# has_fault_injection: true if the kernel has fault injection, or must have it by its name
has_fault_injection() { [[ -d $DEBUGFS/failslab || ${KDAPL_VM:-} = own-* ]]; }

# kdapl_fail_allocs: from now on every allocation of a task with make_it_fail set fails,
# without a log message (tests/post/alloc_kunit.c). Stock kernels lack fault injection, and the
# test is skipped; the own kernels must have it.
kdapl_fail_allocs() {
	local dir setting

	has_fault_injection || return 0
	for dir in "$DEBUGFS/failslab" "$DEBUGFS/fail_page_alloc"; do
		for setting in verbose=0 task-filter=Y ignore-gfp-wait=N \
			interval=1 times=-1 probability=100; do
			echo "${setting#*=}" >"$dir/${setting%=*}" || return
		done
	done
	echo N >"$DEBUGFS/fail_page_alloc/ignore-gfp-highmem" || return
	echo 0 >"$DEBUGFS/fail_page_alloc/min-order"
}

# has_kmemleak: does this kernel have kmemleak, or should it have it by its name, and is it not
# disabled?
has_kmemleak() {
	[[ -e $DEBUGFS/kmemleak || ${KDAPL_VM:-} = own-*-debug ]] &&
		! grep -qw kmemleak=off /proc/cmdline
}

# kib KEY: print the value of /proc/meminfo
kib() { sed -n "s/^$1: *\([0-9]*\) kB/\1/p" /proc/meminfo; }

# kmalloc_bytes: print the bytes of all objects from kmalloc(). First what waits for kfree_rcu()
# is freed and the kernel's caches are emptied, and the slab caches are shrunk, so that objects that
# are free, but cached for a CPU, do not count.
kmalloc_bytes() {
	local file

	sync
	echo 3 >/proc/sys/vm/drop_caches
	for file in /sys/kernel/slab/*kmalloc-*/shrink; do
		echo 1 >"$file"
	done
	awk '/kmalloc-/ { sum += $2 * $4 } END { print sum }' /proc/slabinfo
}

# kmemleak_scan: fail and print the objects if kmemleak reports any. It reports an object
# that is older than 5 seconds and that two scans found unreferenced. Fails without
# kmemleak; callers for which kmemleak is optional check has_kmemleak first.
kmemleak_scan() {
	local found

	[ -e "$DEBUGFS/kmemleak" ] || { echo "expected $DEBUGFS/kmemleak: no such file"; return 1; }
	sleep 6
	echo scan >"$DEBUGFS/kmemleak" && echo scan >"$DEBUGFS/kmemleak" || return
	found=$(cat "$DEBUGFS/kmemleak")
	[ -z "$found" ] || { printf '%s\n' "$found"; return 1; }
}

# kdapl_calls: print the exported functions of the loaded module, sorted. Uses the
# __ksymtab_ symbols, because some kernels show exported functions as local symbols
kdapl_calls() {
	sed -n 's/^.* __ksymtab_\(dat_[a-z_]*\)\t\[kdapl\]$/\1/p' /proc/kallsyms | sort -u
}

# sanitizer_results: at the end of a guest, print one line for each sanitizer of this kernel:
# "0 NAME" if it was active until now and found nothing, else "1 NAME". "leak LINE" is a line
# of kmemleak's report. lockdep disables itself after a report and when it runs out of room.
# A sanitizer that the kernel lacks, but should have by its name, counts as failed.
sanitizer_results() {
	local found status=0 kernel=${KDAPL_VM:-}

	if [ -e /proc/lockdep_stats ] || [[ $kernel = own-*-debug || $kernel = own-*-rt ]]; then
		grep -Eq 'debug_locks: *1' /proc/lockdep_stats || status=1
		echo "$status lockdep is active at the end"
	fi
	if [ -e "$DEBUGFS/kcsan" ] || [[ $kernel = own-*-kcsan ]]; then
		status=0
		grep -Eq '^setup_watchpoints: *[1-9][0-9]{3}' "$DEBUGFS/kcsan" &&
			grep -Eq '^enabled: *1' "$DEBUGFS/kcsan" || status=1
		echo "$status KCSAN is active at the end, and has set watchpoints"
	fi
	if has_kmemleak; then
		found=$(kmemleak_scan 2>&1)
		status=$?
		[ -z "$found" ] || printf '%s\n' "$found" | head -n 60 | sed 's/^/leak /'
		echo "$status kmemleak reports no leak"
	fi
}

# gcov_save: copy the counts of kdapl.ko to the directory gcov. The kernel keeps them after the
# module is unloaded. cp would copy nothing, because the files have size 0.
gcov_save() {
	local file

	mkdir -p "$KDAPL_DIR/gcov"
	find "$DEBUGFS/gcov" -path '*/ulp/kdapl/*.gcda' | while read -r file; do
		cat "$file" >"$KDAPL_DIR/gcov/${file##*/}"
	done
}

# shorten_watchdogs N: check that there are N CPUs, and make the kernel report a CPU that is
# hogged for 4 seconds, or a grace period of 8 seconds; PROVE_RCU adds 5 to the latter. lab/run_in_vm.py
# boots with long timeouts. restore_watchdogs: restore those
rcu_timeout=/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
cpu_timeout=/proc/sys/kernel/watchdog_thresh
shorten_watchdogs() {
	local seconds=8

	[ ! -e /proc/lockdep_stats ] || seconds=3
	saved_timeouts=("$(cat $cpu_timeout)" "$(cat $rcu_timeout)")
	[ "$(nproc)" -ge "$1" ] && echo 2 >$cpu_timeout && echo $seconds >$rcu_timeout
}
restore_watchdogs() {
	echo "${saved_timeouts[0]}" >$cpu_timeout
	echo "${saved_timeouts[1]}" >$rcu_timeout
}

# load_cpus N: start N busy loops. stop_load: end them
busy=()
load_cpus() {
	local i

	for ((i = 0; i < $1; i++)); do
		(while :; do :; done) &
		busy+=($!)
	done
}
stop_load() {
	[ ${#busy[@]} -eq 0 ] || kill "${busy[@]}"
	busy=()
}

# kdapl_load: load kdapl, and kdapl_loop if it was built
kdapl_load() {
	loaded kdapl || kdapl_insmod kdapl stretch="$KDAPL_FACTOR" || return
	[ ! -e "$KDAPL_DIR/kdapl_loop.ko" ] || loaded kdapl_loop ||
		kdapl_insmod kdapl_loop stretch="$KDAPL_FACTOR" context="$KDAPL_CONTEXT"
}

# kdapl_unload: unload both, if loaded. Repeats rmmod, because an IA may still be closing.
kdapl_unload() {
	! loaded kdapl_loop || wait_for rmmod kdapl_loop || return
	! loaded kdapl || wait_for rmmod kdapl
}

# kdapl_empty: debugfs shows no object
kdapl_empty() {
	local file

	for file in ias pzs lmrs rmrs evds eps srqs psps rsps crs; do
		# grep alone would treat a missing file as empty
		[ -e "$DEBUGFS/kdapl/$file" ] || return
		! grep . "$DEBUGFS/kdapl/$file" || return
	done
}

# stream COMMAND...: have kdapl_traffic execute the command; on failure print its log
stream() {
	echo "$*" 2>/dev/null >"$DEBUGFS/kdapl_traffic/command" ||
		{ echo "stream $*:"; tail -n 5 "$DEBUGFS/kdapl_traffic/log"; return 1; }
}

# stream_shows NUMBER TEXT...: the line of a stream contains each text
stream_shows() {
	local line text

	line=$(grep "^stream=$1 " "$DEBUGFS/kdapl_traffic/streams")
	shift
	for text; do
		[[ $line = *"$text"* ]] || { echo "expected $text, stream: ${line:-(none)}"; return 1; }
	done
}

# messages: print "NUMBER MESSAGES" for each stream
messages() { sed -n 's/^stream=\([0-9]*\) .* messages=\([0-9]*\) .*/\1 \2/p' "$DEBUGFS/kdapl_traffic/streams"; }

# went_on COUNT BEFORE: each stream of BEFORE, an output of messages, has received COUNT
# messages since then
went_on() {
	local now

	now=$(messages)
	[ -n "$2" ] && awk -v count="$1" '
		NR == FNR { before[$1] = $2; next }
		{ now[$1] = $2 }
		END {
			for (s in before)
				if (now[s] - before[s] < count) {
					print "stream " s ": " before[s] " messages, now " now[s]
					bad = 1
				}
			exit bad
		}' <(echo "$2") <(echo "$now")
}

# transfers COUNT: from now on each stream receives COUNT messages, and none has failed
transfers() {
	local before

	before=$(messages)
	wait_for went_on "$1" "$before" || return
	! grep . "$DEBUGFS/kdapl_traffic/log"
}

# transfers_start IA...: load kdapl_traffic and start a stream on each of these IAs. TRAFFIC_LIMIT=N
# limits each EP to N messages for each jiffy; without it the streams use all CPUs.
transfers_start() {
	local ia

	loaded kdapl || kdapl_insmod kdapl stretch="$KDAPL_FACTOR" || return
	loaded kdapl_traffic || kdapl_insmod kdapl_traffic stretch="$KDAPL_FACTOR" \
		per_tick="${TRAFFIC_LIMIT:-0}" || return
	for ia; do
		stream start "$ia" || return
	done
}

# transfers_stop: stop all streams; fails if a message or a completion was lost
transfers_stop() {
	local number rest status=0

	while read -r number rest; do
		stream stop "$number" || status=1
	done < <(messages)
	return "$status"
}

# act COMMAND...: have kdapl_actor execute the command, and print its result
act() {
	echo "$*" >"$DEBUGFS/kdapl_actor/command" && cat "$DEBUGFS/kdapl_actor/result"
}

# act_ret RETURN COMMAND...: the call returns RETURN
act_ret() {
	local want=$1 got

	shift
	got=$(act "$@")
	[ "$got" = "$want" ] || { echo "$*: expected $want, returned $got"; return 1; }
}

# act_ok COMMAND...: the call succeeds
act_ok() { act_ret DAT_SUCCESS "$@"; }

# rdma_state NETDEV RXE: print what may explain why a connection was not established
rdma_state() {
	tap_diag "$(cat "$DEBUGFS/kdapl/eps")"
	tap_diag "QPs: $(rdma resource show qp)"
	tap_diag "$2: $(cd "/sys/class/infiniband/$2/ports/1" &&
		grep -r . hw_counters cm_* gids | grep -v ':0*$\|0000:0000:0000:0000' | tr '\n' ' ')"
	tap_diag "$(ip -s link show dev "$1")"
}

# one_event EVENT: EVENT, such as "A BROKEN", has arrived exactly once so far
one_event() {
	local events

	events=$(act events)
	[ "$(grep -cx "$*" <<<"$events")" = 1 ] ||
		{ printf 'expected one event "%s", events:\n%s\n' "$*" "$events"; return 1; }
}

# state EP=STATE...: the EPs are in these states
state() {
	local want now

	now=$(act state)
	for want in "$@"; do
		[[ " $now " == *" $want "* ]] || { echo "expected $want, state: $now"; return 1; }
	done
}

# bpftrace_headers: let bpftrace find all headers of this kernel: in a guest they are not in
# /usr/src. It needs none, but it fails if it finds only those for one architecture.
bpftrace_headers() {
	local build

	build=$(readlink -e "/lib/modules/$(uname -r)/build") || return 0
	export BPFTRACE_KERNEL_BUILD=$build BPFTRACE_KERNEL_SOURCE
	BPFTRACE_KERNEL_SOURCE=$(readlink -e "$build"/../linux-headers-*-common)
}

# fs_hangs: a thread waits for a frozen file system. /proc/PID/wchan does not find it on a kernel
# that guesses when it unwinds stacks
fs_hangs() { grep -qs percpu_rwsem_wait /proc/[0-9]*/stack; }

# other_cpus 0|1: take all CPUs but the first offline, or online. Called around whatever patches the
# kernel's code, such as enabling tracepoints: under TCG (QEMU 7.2) a second CPU can spin forever,
# with interrupts off, at the breakpoint of the code patching. This was seen once, in __schedule()
# on 6.1.
other_cpus() {
	local cpu

	for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do
		[ ! -e "$cpu" ] || echo "$1" >"$cpu"
	done
}

# one_cpu COMMAND...: run the command with one CPU online
one_cpu() {
	local status=0

	other_cpus 0
	"$@" || status=$?
	other_cpus 1
	return $status
}

# kdapl_events 0|1: enable or disable all tracepoints of kdapl
kdapl_events() {
	other_cpus 0
	echo "$1" >/sys/kernel/tracing/events/kdapl/enable
	other_cpus 1
}
