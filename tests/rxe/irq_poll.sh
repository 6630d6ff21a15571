#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Demonstrates a fault of lib/irq_poll.c without RDMA (tests/rxe/irq_poll.c): on an RT kernel
# without a lock for bottom halves, two threads of one CPU poll the same entry. With a real poll
# function both remove it, and the list of the CPU is corrupted. kDAPL does not use irq_poll there
# (kdapl-locking.rst).

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"

entered() { [ "$(cat /sys/module/kdapl_irq_poll/parameters/entered)" -gt 0 ]; }

tap_plan 2
modprobe -q irq_poll
tap_check "two threads of a CPU poll" taskset -c 1 insmod "$KDAPL_DIR/kdapl_irq_poll.ko"
tap_known "a thread polls an entry that another one is polling" entered
tap_check "the module unloads" rmmod kdapl_irq_poll
