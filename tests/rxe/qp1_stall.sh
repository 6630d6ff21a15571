#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Demonstrates a fault of Soft-RoCE of 6.1 without kDAPL, which rxe_wake_qp1() in lib.sh
# works around: it loses requests that are posted on a datagram QP after the QP was set back
# to RTS because of an error, as ib_mad does with QP 1, until something is posted again
# (tests/rxe/qp1_stall.c). So the destruction of an id of the connection manager may wait for
# ever while a device is deleted: its last message fails because the address was deleted, and
# nothing else is posted. On later kernels no request is lost.

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"

parameters=/sys/module/kdapl_qp1_stall/parameters

tidy() {
	rmmod kdapl_qp1_stall 2>/dev/null
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1
}
trap tidy EXIT

parameter() { cat "$parameters/$1"; }

# is NAME VALUE: the parameter has this value
is() { [ "$(parameter "$1")" = "$2" ] || { echo "expected $1=$2: $(parameter "$1")"; return 1; }; }

tap_plan 6
rxe_setup 1
tap_check "kdapl_qp1_stall loads: a QP on plain verbs" \
	insmod "$KDAPL_DIR/kdapl_qp1_stall.ko" device=rxe1 wait_ms=$((500 * KDAPL_FACTOR))
tap_check "a send fails with a completion" is first 1
tap_check "the two requests posted before ib_modify_qp() are flushed" is flushed 2
tap_check "ib_modify_qp() sets the QP back to RTS" is back 0
tap_known "two requests posted after it are lost" is forgotten 2
tap_check "an empty post completes the lost requests" is woken "$(parameter forgotten)"
tap_check "kdapl_qp1_stall unloads" rmmod kdapl_qp1_stall
