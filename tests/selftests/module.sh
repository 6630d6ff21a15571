#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Loading and unloading: debugfs, the refusal to unload a module in use, and Consumers that
# are unloaded with an open IA.
# covers: references between modules, and what insmod and rmmod leave behind
# tier: short

. "${0%/*}/lib.sh"
trap 'rmmod kdapl_actor 2>/dev/null; kdapl_unload' EXIT

actor() {
	rxe_setup 0 && kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR" &&
		act_ok open rxe0 && act_ok listen && act_ok pair && act_ok traffic
}
with_open_ia() { actor && act_ok forget; }
with_closed_ia() { actor && act_ok close; }

gone() { ! loaded kdapl && [ ! -e "$DEBUGFS/kdapl" ]; }

tap_plan 20
kdapl_unload
tap_check "insmod kdapl" kdapl_insmod kdapl
tap_check "kdapl is in the list of modules" grep -q "^kdapl " /proc/modules
tap_check "debugfs has a folder kdapl" test -d "$DEBUGFS/kdapl"
tap_check "rmmod kdapl" rmmod kdapl
tap_check "the module and its debugfs folder are gone" gone
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
	tap_check "rxe_setup for first_consumer" rxe_setup
	tap_check "first_consumer opens rxe0 and posts a receive" \
		kdapl_insmod first_consumer device=rxe0
	tap_check "rmmod first_consumer closes the IA" rmmod first_consumer
else
	for what in "rxe0" "insmod first_consumer" "rmmod first_consumer"; do
		tap_skip "$what" "first_consumer.ko was not built"
	done
fi

# The first Consumer closes nothing: messages arrive and cause upcalls until it is unloaded
left="kdapl: rxe0/1: left open by kdapl_actor, closing it"
tap_check "a Consumer transfers data and forgets its IA" with_open_ia
tap_clauses C-36
tap_check "rmmod of a Consumer with an open IA" rmmod kdapl_actor
tap_check "debugfs shows no object of it" kdapl_empty
tap_check "the log has one line about the open IA" logged 1 "$left"
tap_check "a Consumer transfers data and closes its IA" with_closed_ia
tap_check "rmmod of a Consumer without an IA" rmmod kdapl_actor
tap_check "the log has no line about it" logged 1 "$left"
tap_check "rmmod kdapl at the end" rmmod kdapl
