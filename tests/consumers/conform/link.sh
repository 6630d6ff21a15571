#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The link of the adapter model goes down and up: EPs are idle, exchange messages, or wait for an
# answer that does not come while the PCI function is unplugged.
# covers: port events, retries and removals of a device that is stricter than Soft-RoCE

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"
trap 'rmmod kdapl_actor 2>/dev/null; kdapl_unload; device_setup' EXIT

# link up|down: change the link, and wait until the port of the device has followed
port_is() { grep "$1" "/sys/class/infiniband/$IA/ports/1/state"; }
link() {
	ip link set "$NETDEV" "$1" || return
	case $1 in
	up) wait_for port_is ACTIVE && wait_for gid_exists "$IA" "$ADDRESS" ;;
	down) wait_for port_is DOWN ;;
	esac
}

message() {
	act_ok recv B && act_ok send A && wait_for one_event A send 0 && wait_for one_event B recv 0
}

# again: connect EPs that were connected before, with messages
again() { act_ok reset A && act_ok reset B && act_ok pair && act_ok traffic; }

# counted N PATTERN: so many events match the pattern
counted() {
	local events

	events=$(act events)
	[ "$(grep -cx "$2" <<<"$events")" = "$1" ] ||
		{ printf 'expected %s events "%s", events:\n%s\n' "$1" "$2" "$events"; return 1; }
}
ended() { counted 2 "A BROKEN" && counted 2 "B \(BROKEN\|DISCONNECTED\)"; }

# unplug: under load and without a link, so that requests are outstanding
unplug() { link down && device_unplug && wait_for one_event IA CATASTROPHIC; }

tap_plan 21
device_setup || exit 1
kdapl_load
kdapl_insmod kdapl_actor stretch="$KDAPL_FACTOR"
tap_check "open" act_ok open "$IA"
tap_check "listen" act_ok listen
tap_check "connect A to B" act_ok pair
tap_check "the link goes down" link down
tap_clauses C-62
tap_check "idle EPs stay CONNECTED" state A=CONNECTED B=CONNECTED
tap_check "the link comes up" link up
tap_check "a message arrives" message
tap_check "messages, by upcalls" act_ok traffic
tap_check "the link goes down under load" link down
tap_clauses C-62 C-30
tap_check "A, which has sent, is BROKEN" wait_for one_event A BROKEN
tap_clauses C-62
tap_check "B, which waits for messages, stays CONNECTED" state A=DISCONNECTED B=CONNECTED
tap_check "A is reset while the link is down" act_ok reset A
tap_check "the link comes up again" link up
tap_clauses C-60
tap_check "B is DISCONNECTED" wait_for one_event B DISCONNECTED
tap_check "they are connected again, with messages" again
tap_clauses C-57
tap_check "the device is unplugged while requests are repeated" unplug
tap_clauses C-57 C-41
tap_check "each connection ends once" wait_for ended
tap_check "close" act_ok close
tap_check "the device is back" device_setup
tap_check "open" act_ok open "$IA"
tap_check "connect A to B, with messages" eval "act_ok listen && act_ok pair && act_ok traffic"
act_ok close
