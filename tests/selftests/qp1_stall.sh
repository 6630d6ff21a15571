#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What Soft-RoCE of 6.1 does, without kDAPL, and rxe_reminder() in lib.sh goes round: it
# forgets what is posted on a datagram QP that was put back to work behind an error, as
# ib_mad does with QP 1, until somebody posts again (tests/rxe/qp1_stall.c). Who has an ID of
# the connection manager destroyed while a device is deleted may so wait for ever: its
# last message fails with the address, and nobody else posts. Of 6.12 this shows that
# nothing is forgotten. If it fails, rxe has changed.

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

forgets=0
[[ $(uname -r) != 6.1.* ]] || forgets=2

if [ $forgets = 0 ]; then tap_plan 6; else tap_plan 7; fi
rxe_setup 1
tap_check "a QP on plain verbs" \
	insmod "$KDAPL_DIR/kdapl_qp1_stall.ko" device=rxe1 wait_ms=$((500 * KDAPL_FACTOR))
tap_check "a send that fails is told of" tells first 1
tap_check "two behind it are" tells flushed 2
tap_check "ib_modify_qp() puts it back to RTS" tells back 0
tap_check "of two behind that, $forgets are forgotten" \
	tells forgotten "$forgets"
[ $forgets = 0 ] ||
	tap_check "a post of nothing brings them" tells woken "$forgets"
tap_check "unloads" rmmod kdapl_qp1_stall
