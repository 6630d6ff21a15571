#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The bpftrace scripts of tools/kdapl/trace: each traces one load of the loopback. Meanwhile
# ftrace records the tracepoints, and the output of the script must agree with this record: as
# many events of each kind, and no time that is longer than the load.
# covers: the bpftrace scripts, which must match the tracepoints
#
#   trace.sh load ARGUMENTS...	the load, started by bpftrace as soon as it traces

. "${0%/*}/lib.sh"

tracing=/sys/kernel/tracing
seen=${TRACE_DIR:-$(mktemp -d)}
export TRACE_DIR=$seen

# CPUs are offline while bpftrace attaches and detaches its probes
if [ "${1:-}" = load ]; then
	shift
	other_cpus 1
	begin=${EPOCHREALTIME/./}
	"$KDAPL_DIR/kdapl-loop" "$@" >"$seen/loop" 2>&1
	echo "$? $((${EPOCHREALTIME/./} - begin))" >"$seen/load"
	other_cpus 0
	exit
fi

tidy() {
	[ ! -e "$tracing/events/kdapl" ] || kdapl_events 0
	kdapl_unload
	rm -rf "$seen"
}
trap tidy EXIT

# recorded: ftrace has recorded events and lost none
recorded() {
	sed -nE 's/^# entries-in-buffer.*: ([0-9]+)\/([0-9]+) .*/\1 \2/p' "$seen/record" |
		{ read -r kept all && [ "$kept" -gt 0 ] && [ "$kept" = "$all" ]; }
}

# trace SCRIPT ARGUMENTS...: run the script while kdapl-loop runs with these arguments
trace() {
	local script=$1 status

	shift
	rm -f "$seen"/{loop,load,out,record}
	echo >$tracing/trace
	other_cpus 0
	bpftrace -o "$seen/out" -c "$BASH $0 load $*" "$KDAPL_DIR/trace/$script.bt" >"$seen/err" 2>&1
	status=$?
	other_cpus 1
	cat $tracing/trace >"$seen/record"
	[ "$status" = 0 ] && grep -q '^0 ' "$seen/load" && recorded && return
	echo "status $status; status and us of kdapl-loop: $(cat "$seen/load")"
	tail -n 20 "$seen/err" "$seen/loop"
	grep -m 1 '^# entries' "$seen/record"
	return 1
}

# counts: print "NAME[KEYS] NUMBER", sorted, for each map of the output. The number is that of a
# count, the sum of a histogram, or the count of a statistic.
counts() {
	awk '
		/^@.*]: / { name = substr($0, 2, index($0, "]:") - 1) }
		/^@.*]: count / { sub(/.*]: count /, ""); sum[name] += $0 + 0; next }
		/^@.*]: [0-9]+$/ { sum[name] += $NF; next }
		/^\[/ { sub(/^[^])]*[])] */, ""); sum[name] += $0 + 0 }
		END { for (name in sum) print name, sum[name] }' "$seen/out" | sort
}

# buckets: print the lower bounds, in us, of the filled buckets of all maps
buckets() {
	awk '
		/^\[/ {
			low = substr($1, 2)
			unit = low ~ /K/ ? 1024 : low ~ /M/ ? 1048576 : low ~ /G/ ? 1073741824 : 1
			sub(/^[^])]*[])] */, "")
			if ($0 + 0)
				print low * unit
		}' "$seen/out" | sort -n
}

# agrees PATTERN: the counts whose names match are those on stdin, and there are some
agrees() { diff <(sort) <(counts | grep -E "$1") && counts | grep -qE "$1"; }

# within_load: there are times, not all are 0, and none is longer than the load
within_load() {
	local most elapsed

	most=$(buckets | tail -n 1)
	read -r _ elapsed <"$seen/load"
	[ "${most:-0}" -gt 0 ] && [ "$most" -le "$elapsed" ] && return
	echo "expected times from 1 to $elapsed us, the longest has ${most:-none}"
	return 1
}

# expected: run awk with the function field() on the record. The program gives each event a
# name; prints "NAME NUMBER" for each name.
expected() {
	awk '
		function field(name,  i) {
			for (i = 1; i <= NF; i++)
				if (index($i, name "=") == 1)
					return substr($i, length(name) + 2)
		}
		{ name = "" }
		'"$1"'
		name { n[name]++ }
		END { for (name in n) print name, n[name] }' "$seen/record"
}

# Completions of each operation; each is that of a post which the script has seen
completions() {
	expected '/ kdapl_complete: / { name = "to_completion_us[" field("op") "]" }
		/ kdapl_complete_(flush|error): / { name = "failed[" field("op") "]" }' |
		agrees '^(to_completion_us|failed|unknown_post)'
}

# The load has sent and received 200 messages
messages_200() {
	printf '%s\n' "to_completion_us[RECV] 200" "to_completion_us[SEND] 200" |
		agrees '^to_completion_us'
}

# Each completion was followed by an upcall, or is counted as one without
upcall_or_none() {
	counts | grep '^to_completion_us' | sed 's/to_completion_us//' |
		diff - <(counts | sed -n 's/^[nt]o_upcall[a-z_]*//p' |
			awk '{ n[$1] += $2 } END { for (op in n) print op, n[op] }' | sort) &&
		counts | grep -q '^to_upcall_us'
}

# Refused posts by operation and return value, and each reason has a name
refused() {
	local op ret number

	expected '/ kdapl_post_reject: / { name = field("op") " " field("ret") }' |
		while read -r op ret number; do
			printf 'refused[%s, %d] %s\n' "$op" "$ret" "$number"
		done | sort | diff - <(counts | sed -E 's/, [A-Z][A-Z_0-9]+, /, /' | sort) &&
		counts | grep -q refused
}

# The upcalls of each EVD by event
upcalls() {
	expected '/ kdapl_upcall: / { name = "upcall_us[" field("evd") ", " field("event") "]" }' |
		agrees .
}

# Connections by side, and the steps of the active side
connections() {
	expected '/ ACTIVE_PENDING -> / { name = "failed[active]" }
		/ ACTIVE_PENDING -> CONNECTED/ { name = "connected_us[active]" }
		/ COMPLETION_PENDING -> / { name = "failed[passive]" }
		/ COMPLETION_PENDING -> CONNECTED/ { name = "connected_us[passive]" }
		/event=ADDR_RESOLVED/ { name = "step_us[1 address]" }
		/event=ROUTE_RESOLVED/ { name = "step_us[2 route]" }
		/event=CONNECT_RESPONSE/ { name = "step_us[3 reply]" }
		/ ACTIVE_PENDING -> CONNECTED/ { n["step_us[4 connected]"]++ }' | agrees .
}

# Debian's kernels have BTF and BPF; a kernel without is skipped
if [[ ${KDAPL_VM:-} != stock-6.* ]] && [ ! -e /sys/kernel/btf/vmlinux ]; then
	tap_plan 1
	tap_skip "bpftrace scripts" "this kernel has no BTF"
	exit
fi

tap_plan 13
bpftrace_headers
kdapl_load
kdapl_events 1
tap_check "latency.bt runs" trace latency --op send --sizes 4096 --messages 200
tap_check "latency.bt: the load has completed 200 sends and 200 receives" messages_200
tap_check "latency.bt: completions, as recorded" completions
tap_check "latency.bt: each completion has an upcall, or is counted as one without" upcall_or_none
tap_check "latency.bt: no latency is longer than the load" within_load
tap_check "rejects.bt runs" trace rejects --op args --short
tap_check "rejects.bt: refused posts and their reasons, as recorded" refused
tap_check "upcalls.bt runs" trace upcalls --case flow/starve --short
tap_check "upcalls.bt: upcalls of each EVD and event, as recorded" upcalls
tap_check "upcalls.bt: none is longer than the load" within_load
tap_check "connections.bt runs" trace connections --case service/rejects,service/private-data --short
tap_check "connections.bt: connections, failures and steps, as recorded" connections
tap_check "connections.bt: none took longer than the load" within_load
