#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Demonstrates a fault of Soft-RoCE of 6.1 without kDAPL, which rxe_reminder() in lib.sh
# works around: it loses requests that are posted on a datagram QP after the QP was set back
# to RTS because of an error, as ib_mad does with QP 1, until somebody posts again
# (tests/rxe/qp1_stall.c). So the destruction of an id of the connection manager may wait for
# ever while a device is deleted: its last message fails because the address was deleted, and
# nobody else posts. On later kernels no request is lost.

. "${0%/*}/lib.sh"

parameters=/sys/module/kdapl_qp1_stall/parameters

tidy() {
	rmmod kdapl_qp1_stall 2>/dev/null
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1
}
trap tidy EXIT

told() { cat "$parameters/$1"; }

# tells NAME VALUE
tells() { [ "$(told "$1")" = "$2" ] || { told "$1"; return 1; }; }

# lost: requests are lost on 6.1; on other kernels nothing may be lost
lost() {
	if [[ $(uname -r) = 6.1.* ]]; then
		tap_known "two requests after that are lost" tells forgotten 2
	else
		tap_check "no request after that is lost" tells forgotten 0
	fi
}

tap_plan 7
rxe_setup 1
tap_check "a QP on plain verbs" \
	insmod "$KDAPL_DIR/kdapl_qp1_stall.ko" device=rxe1 wait_ms=$((500 * KDAPL_FACTOR))
tap_check "a send fails and has a completion" tells first 1
tap_check "two requests after it are flushed" tells flushed 2
tap_check "ib_modify_qp() sets it back to RTS" tells back 0
lost
tap_check "an empty post completes whatever was lost" tells woken "$(told forgotten)"
tap_check "unloads" rmmod kdapl_qp1_stall
