#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Loading and unloading: what appears, what is refused, what stays behind.

. "${0%/*}/lib.sh"
trap kdapl_unload EXIT

gone() { ! loaded kdapl && [ ! -e "$DEBUGFS/kdapl" ]; }

tap_plan 13
kdapl_unload
tap_check "insmod kdapl" kdapl_insmod kdapl
tap_check "kdapl is in the list of modules" grep -q "^kdapl " /proc/modules
tap_check "debugfs has a folder kdapl" test -d "$DEBUGFS/kdapl"
tap_check "rmmod kdapl" rmmod kdapl
tap_check "nothing stays behind" gone
tap_check "insmod kdapl again" kdapl_insmod kdapl
if [ -e "$KDAPL_DIR/kdapl_loop.ko" ]; then
	tap_check "insmod kdapl_loop" kdapl_insmod kdapl_loop
	tap_refuse "rmmod kdapl is refused while kdapl_loop uses it" rmmod kdapl
	tap_check "rmmod kdapl_loop" rmmod kdapl_loop
else
	for what in "insmod kdapl_loop" "rmmod refused" "rmmod kdapl_loop"; do
		tap_skip "$what" "kdapl_loop.ko was not built"
	done
fi
if [ -e "$KDAPL_DIR/first_consumer.ko" ]; then
	tap_check "rxe0 for the Consumer of the README" rxe_setup
	tap_check "it finds the device, and its receive is taken" \
		kdapl_insmod first_consumer device=rxe0
	tap_check "rmmod first_consumer: the IA closes" rmmod first_consumer
else
	for what in "rxe0" "insmod first_consumer" "rmmod first_consumer"; do
		tap_skip "$what" "first_consumer.ko was not built"
	done
fi
tap_check "rmmod kdapl at the end" rmmod kdapl
