#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Loading and unloading: what appears, what is refused, what stays behind.

. "${0%/*}/lib.sh"
trap 'rmmod kdapl_actor 2>/dev/null; kdapl_unload' EXIT

actor() {
	rxe_setup 0 && kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR" &&
		acts open rxe0 && acts listen && acts pair && acts traffic
}
careless() { actor && acts forget; }
careful() { actor && acts close; }

gone() { ! loaded kdapl && [ ! -e "$DEBUGFS/kdapl" ]; }

tap_plan 20
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

# A Consumer that closes nothing: messages arrive and cause upcalls until it is gone
left="kdapl: rxe0/1: left open by kdapl_actor, closing it"
tap_check "a Consumer under traffic" careless
tap_clauses C-36
tap_check "rmmod of a Consumer that has left its IA open" rmmod kdapl_actor
tap_check "nothing of it is left" kdapl_empty
tap_check "one line in the log says so" logged 1 "$left"
tap_check "a Consumer that has closed its IA" careful
tap_check "rmmod of that one" rmmod kdapl_actor
tap_check "no line is about it" logged 1 "$left"
tap_check "rmmod kdapl at the end" rmmod kdapl
