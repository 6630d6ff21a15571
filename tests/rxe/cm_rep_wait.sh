#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Demonstrates a fault of the connection manager without kDAPL (tests/rxe/cm_rep_wait.c): if
# the work item of ib_cm_notify() runs after the peer's RTU and DREQ were handled, it does not
# cancel the reply (REP) of the ID. The destruction of the ID then waits until the REP has been
# repeated 15 times, and the kernel reports that every ten seconds. rdma_cm repeats a REP every
# 4.1 seconds, 66 seconds in total. The request of this test asks for 1 second. Those lines
# on the console of a guest are the exception LATE_REP_RE of tools/kdapl/lab/run_in_vm.py.

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"

parameters=/sys/module/kdapl_cm_rep_wait/parameters
counters=/sys/class/infiniband/rxe1/ports/1
retries=15

tidy() {
	rmmod kdapl_cm_rep_wait 2>/dev/null
	other_cpus 1
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1
}
trap tidy EXIT

# parameter_is NAME VALUE
parameter_is() { [ "$(cat "$parameters/$1")" = "$2" ] || { cat "$parameters/$1"; return 1; }; }

# The DREQ arrives after the RTU, on the same QP
dreqs() { cat $counters/cm_rx_msgs/dreq; }
has_dreq() { [ "$(dreqs)" -gt "$1" ]; }

# repeated: how often REPs were repeated, of those that are not outstanding
repeated() { cat $counters/cm_tx_retries/rep; }
reports() { dmesg | grep -c 'cm_destroy_id_wait_timeout: .* state 12 -> 0, refcnt=1$'; }

# show LATE
show() {
	insmod "$KDAPL_DIR/kdapl_cm_rep_wait.ko" device=rxe1 late="$1" retries=$retries \
		wait_ms=$((5000 * KDAPL_FACTOR))
}

# show_late: the module waits until the DREQ has arrived
show_late() {
	local before insmod

	before=$(dreqs)
	show 1 &
	insmod=$!
	wait_for has_dreq "$before" && echo 1 >"$parameters/received"
	wait $insmod
}

# expired: all repetitions of a REP have ended since the count was taken
expired() { [ "$(repeated)" = $((count + retries)) ]; }

tap_plan 5
rxe_setup 1
modprobe -q ib_cm
other_cpus 0

count=$(repeated)
tap_check "a connection that ends after the work item of ib_cm_notify()" show 0
tap_diag "destruction: $(cat $parameters/destroy_ms) ms, REP repeated $(($(repeated) - count)) times"
tap_refuse "its ID is destroyed before the REP expires" expired
rmmod kdapl_cm_rep_wait

count=$(repeated)
lines=$(reports)
tap_check "a connection that ends before the work item of ib_cm_notify()" show_late
tap_check "ib_cm_notify() succeeds" parameter_is notified 0
tap_diag "destruction: $(cat $parameters/destroy_ms) ms, REP repeated $(($(repeated) - count)) times"
tap_known "its ID is destroyed when the REP has expired" expired
tap_known "the kernel reports the wait in state 12" [ "$(reports)" -gt "$lines" ]
tap_check "unloads" rmmod kdapl_cm_rep_wait
