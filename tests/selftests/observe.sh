#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# debugfs and the tracepoints while data is transferred, and debugfs after that. The lines must
# have the format that Documentation/ABI/testing/debugfs-kdapl describes.
# covers: debugfs and tracepoints, compared with what Documentation/ABI promises
# tier: short

. "${0%/*}/lib.sh"

files="ias pzs lmrs rmrs evds eps srqs psps rsps crs"
tracing=/sys/kernel/tracing
seen=$(mktemp -d)
n='[0-9]+'
pool="$n/$n/$n/$n"

tidy() {
	[ ! -e "$tracing/events/kdapl" ] || kdapl_events 0
	rmmod kdapl_actor 2>/dev/null
	kdapl_unload
	rm -rf "$seen"
}
trap tidy EXIT

# snapshot: copy all files; fails if no EP is connected
snapshot() {
	local file

	for file in $files; do
		cat "$DEBUGFS/kdapl/$file" >"$seen/$file" || return
	done
	grep -q 'state=CONNECTED' "$seen/eps" || { cat "$seen/eps"; return 1; }
}

# format FILE PATTERN: FILE is not empty, and every line matches; prints the other lines
format() {
	[ -s "$seen/$1" ] || { echo "expected lines in $1: it is empty"; return 1; }
	! grep -Evn "^$2\$" "$seen/$1"
}

no_addresses() { ! grep -rE '(0x)?ffff[0-9a-f]{10,}' "$seen"; }

no_object() {
	local file

	for file in $files; do
		[ -e "$DEBUGFS/kdapl/$file" ] || return
		! grep . "$DEBUGFS/kdapl/$file" || return
	done
}

# traced PATTERN: a line of the trace matches
traced() { grep -qE "$1" "$seen/trace"; }

# same_ids: the trace has posts of a connected EP that debugfs shows, with the same id
same_ids() {
	local id

	id=$(sed -nE '/state=CONNECTED/{s/^ep#([0-9]+) .*/\1/p;q}' "$seen/eps")
	traced "kdapl_post: id=$id op="
}

unload() { kdapl_unload && [ ! -e "$DEBUGFS/kdapl" ]; }

tap_plan 21
kdapl_load
kdapl_events 1
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
# A connection with a receive outstanding at both ends
for command in "open rxe0" listen pair "recv A" "recv B"; do
	act_ok "$command"
done
cat "$tracing/trace" >"$seen/trace"
tap_check "debugfs shows a connected EP" snapshot
tap_check "debugfs and the trace use the same EP id" same_ids
tap_check "ias has the documented format" format ias "ia#$n owner=kdapl_actor netns=[1-9][0-9]* name=rxe0/1 addr=[0-9.]+ state=open verbs_objects=$n( [a-z]+=$n)* async_evd=evd#$n"
tap_check "pzs has the documented format" format pzs "pz#$n ia=ia#$n state=valid zone=$n users=$n service_qp=(yes|no)"
tap_check "lmrs has the documented format" format lmrs "lmr#$n ia=ia#$n pz=pz#$n state=valid context=0x[0-9a-f]{8} length=$n privileges=0x[0-9a-f]{2} rmrs=0"
tap_check "evds has the documented format" format evds "evd#$n ia=ia#$n streams=0x[0-9a-f]{3} policy=[A-Z_]+ state=0x[0-9a-f]+ queued=$n notify=$n ring=$n/$n crs=$n psps=$n dropped=0 overflowed=0"
tap_check "eps has the documented format" format eps "ep#$n ia=ia#$n pz=pz#$n state=[A-Z_]+ qp=$n recv_evd=evd#$n request_evd=evd#$n connect_evd=evd#$n srq=(none|srq#$n) (remote=[0-9.]+ port=$n age=$n|remote=none age=none) errors=0 recvs=$pool requests=$pool recvs_ended=$n requests_ended=$n parked=(yes|no) first_error=none"
tap_check "psps has the documented format" format psps "psp#$n ia=ia#$n evd=evd#$n state=listening qual=0x[0-9a-f]+ port=$n crs=$n/$n refused=0/0/0/0"
tap_check "no file shows a kernel address" no_addresses
rmmod kdapl_actor
tap_check "debugfs shows no object" wait_for no_object
"$KDAPL_DIR/kdapl-loop" --op send --sizes 4096 --messages 200 >"$seen/loop.out" 2>&1
tap_check "the loopback succeeds" test $? = 0
cat "$tracing/trace" >"$seen/trace"
"$KDAPL_DIR/kdapl-loop" --op args,disconnect --short >>"$seen/loop.out" 2>&1
kdapl_events 0
cat "$tracing/trace" >>"$seen/trace"
tap_check "posts are traced" traced 'kdapl_post: id=[0-9]+ op=SEND slot=[0-9]+ segments=[0-9]+ length=4096 '
tap_check "receives are traced" traced 'kdapl_post: id=[0-9]+ op=RECV '
tap_check "refused posts are traced" traced 'kdapl_post_reject: id=[0-9]+ op=[A-Z]+ ret=0x8'
tap_check "completions are traced" traced 'kdapl_complete: ep=[0-9]+ op=SEND slot=[0-9]+ length=4096'
tap_check "flushes are traced" traced 'kdapl_complete_flush: ep=[0-9]+ op=(RECV|SEND) '
tap_check "states are traced" traced 'kdapl_ep_state: ep=[0-9]+ ACTIVE_PENDING -> CONNECTED'
tap_check "CM events are traced" traced 'kdapl_cm_event: id=[0-9]+ event=ESTABLISHED '
tap_check "upcalls are traced" traced 'kdapl_upcall: evd=[0-9]+ event=[A-Z]+ '
tap_check "registrations are traced" traced 'kdapl_lmr: lmr=[0-9]+ .* privileges=[LRW|]+ error=0'
tap_check "rmmod removes the debugfs folder" unload
