#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tracepoints and the debugfs of the block device over DAT, and the script for bpftrace that splits the latency
# of a command. Client and server are in one guest, over rxe. ftrace records the same commands, so
# each part of the latency must have as many commands as the record.
# covers: the script matches the tracepoints, and each command passes each of them once
#
#   datblk_trace.sh load	the load, started by bpftrace as soon as it traces

. "${0%/*}/lib.sh"

tracing=/sys/kernel/tracing
work=/run/datblk_trace

# CPUs are offline while bpftrace attaches and detaches its probes
if [ "${1:-}" = load ]; then
	other_cpus 1
	for n in 1 2 3 4; do
		dd if=/dev/zero of=/dev/datblk0 bs=4k count=16 seek=$((n * 100)) oflag=direct status=none &&
			dd if=/dev/datblk0 of=/dev/null bs=64k count=4 skip=$n iflag=direct status=none ||
			exit
	done
	sync /dev/datblk0
	exit
fi

tidy() {
	datblkctl disconnect --all --force >/dev/null
	[ ! -e $tracing/events/datblk ] || echo 0 >$tracing/events/datblk/enable
	rmdir /sys/kernel/config/datblk/*/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	umount /var/lib "$work" 2>/dev/null
	kdapl_unload
}

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ] || [ ! -e /sys/kernel/btf/vmlinux ]; then
	tap_plan 1
	tap_skip "tracepoints of datblk" "this kernel has no configfs, or no BTF"
	exit
fi
trap tidy EXIT
PATH=$KDAPL_DIR/datblk:$PATH

start() {
	mkdir -p $work && mount -t tmpfs tmpfs $work && mount -t tmpfs tmpfs /var/lib &&
		truncate -s 16M $work/file || return
	modprobe -q configfs
	[ -d /sys/kernel/config ] && mount -t configfs none /sys/kernel/config 2>/dev/null
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		datblkctl listen && datblkctl export file $work/file &&
		datblkctl connect 10.9.9.1 file --queues 1 && udevadm settle
}

traced() {
	echo 1 >$tracing/events/datblk/enable && echo >$tracing/trace || return
	other_cpus 0
	bpftrace -o $work/out -c "$BASH $0 load" "$KDAPL_DIR/datblk/datblk-latency.bt" >$work/err 2>&1
	local status=$?

	other_cpus 1
	cat $tracing/trace >$work/record
	[ $status = 0 ] || tail -n 20 $work/err
	return $status
}

# count EVENT OP: print how often the record has the event, of commands with the operation
count() { grep -c " $1: .* op=$2 " $work/record; }

# part NAME OP: print how many commands are in the part of the latency
part() {
	awk -v "name=@$1[$2]:" '
		/^@/ { inside = $0 == name " " || $0 == name }
		/^\[/ && inside { sub(/^[^])]*[])] */, ""); n += $0 + 0 }
		END { print n + 0 }' $work/out
}

# whole OP: each part has each command of the record
whole() {
	local n name

	n=$(count datblk_command "$1")
	[ "$n" -ge "$2" ] || { echo "expected $2 commands $1 or more, found $n"; return 1; }
	for name in client wire server device; do
		[ "$(part ${name}_us "$1")" = "$n" ] ||
			{ echo "expected $n commands $1 in $name, found $(part ${name}_us "$1")"; return 1; }
	done
}

# Larger requests are registered; the key is that of their command
registered() {
	local key

	key=$(sed -n 's/.* datblk_register: .*key=\(0x[0-9a-f]*\) result=0x00000000/\1/p' $work/record |
		head -n 1)
	[ -n "$key" ] && grep -q " datblk_srv_command: .* key=$key" $work/record
}

# All commands have been answered, and several may have shared a message
counted() {
	local line

	line=$(cat /sys/kernel/debug/datblk/datblk0/queues)
	[[ $line =~ ^queue=0\ commands=([0-9]+)\ messages=([0-9]+)\ answers=([0-9]+)\ busy=0\ waiting=0\  ]] &&
		[ "${BASH_REMATCH[1]}" -ge 80 ] && [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[3]}" ] &&
		[ "${BASH_REMATCH[2]}" -le "${BASH_REMATCH[1]}" ] && return
	echo "$line"
	return 1
}

sessions() {
	echo >$tracing/trace
	datblkctl disconnect datblk0 && datblkctl connect 10.9.9.1 file --queues 1 &&
		grep -q ' datblk_session: datblk0 .* live=1' $tracing/trace
}

tap_plan 7
bpftrace_headers
tap_check "a disk is connected" start
tap_check "datblk-latency.bt runs" traced
tap_check "writes: client, wire, server and device have each command" whole WRITE 64
tap_check "reads: client, wire, server and device have each command" whole READ 16
tap_check "the key of a registration is that of its command" registered
tap_check "the counters of the queue agree" wait_for counted
tap_check "a session that goes live is traced" sessions
