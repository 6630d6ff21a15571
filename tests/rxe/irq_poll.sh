#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Demonstrates a fault of lib/irq_poll.c without RDMA (tests/rxe/irq_poll.c): on an RT kernel
# without a lock for bottom halves, two threads on one CPU poll the same entry. With a real poll
# function both remove it, and the list of the CPU is corrupted. kDAPL does not use irq_poll on these
# kernels (kdapl-locking.rst).

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"

parameters=/sys/module/kdapl_irq_poll/parameters

tidy() { [ ! -e $parameters ] || rmmod kdapl_irq_poll; }
trap tidy EXIT

load() { taskset -c 1 insmod "$KDAPL_DIR/kdapl_irq_poll.ko"; }

# preempted: the second thread ran in the middle of the poll, which only an RT kernel allows. A
# thread of an interrupt may run the softirq instead, and is not preempted. Then try again
preempted() {
	local _

	for _ in 1 2 3 4 5; do
		grep -q PREEMPT_RT /proc/version || return 0
		grep -q Y $parameters/preempted && return 0
		rmmod kdapl_irq_poll && load || return 1
	done
	return 1
}

entered() { [ "$(cat $parameters/entered)" -gt 0 ]; }

tap_plan 3
tap_check "two threads on one CPU poll" load
tap_check "on an RT kernel, one of them preempts the other one" preempted
tap_known "a thread polls an entry that another one is polling" entered
tap_check "the module unloads" rmmod kdapl_irq_poll
