#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Demonstrates a fault of Soft-RoCE without kDAPL (tests/rxe/late_packet.c): a packet that was
# admitted before a registration ended may be copied after the owner has mapped the region anew for
# its next registration. rxe reads the range and the pages of the region without a lock. So the
# peer reads memory to which its key never gave access, if the new range begins at the same
# address. If it begins at another page, 6.12 computes an index of the new pages from the address
# of the old range, and warns (rxe_mr_iova_to_index()). The loopback of kDAPL avoids that.

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"

parameters=/sys/module/kdapl_late_packet/parameters

tidy() {
	rmmod kdapl_late_packet 2>/dev/null
	[ ! -e /sys/class/infiniband/rxe1 ] || rxe_delete 1
	ip link del dummy1
}
trap tidy EXIT

# show [moved=1]: load the module on one CPU; it interrupts another one
show() {
	taskset -c 1 insmod "$KDAPL_DIR/kdapl_late_packet.ko" device=rxe1 \
		wait_ms=$((5000 * KDAPL_FACTOR)) "$@"
}

parameter() { cat "$parameters/$1"; }
counts() {
	tap_diag "$(parameter rounds) registrations, $(parameter ended) ended while a CPU was held"
}
ended() { [ "$(parameter ended)" -gt 0 ]; }
late() { [ "$(parameter late)" -gt 0 ]; }

# warned: the log has a warning of rxe_mr_iova_to_index(), which may be a part of its caller
warned() { dmesg | grep 'WARNING:.*\(rxe_mr_iova_to_index\|rxe_mr_copy\)'; }

# show_moved: neither the guest nor lab/run_in_vm.py may treat the expected warning as a failure
show_moved() {
	local panics level status

	panics=$(cat /proc/sys/kernel/panic_on_warn)
	read -r level _ </proc/sys/kernel/printk
	sysctl -qw kernel.panic_on_warn=0
	dmesg -n 1
	show moved=1 rounds=1000
	status=$?
	dmesg -n "$level"
	sysctl -qw kernel.panic_on_warn="$panics"
	return $status
}

tap_plan 6
# Packets of 4096 bytes
modprobe -q dummy numdummies=0
ip link add dummy1 type dummy
ip link set dummy1 mtu 9000
rxe_setup 1

tap_check "registrations end while a peer reads" show
tap_check "some of them while the CPU of the reads is held" ended
counts
tap_known "a packet is read from memory that was mapped after its key had ended" late
tap_check "the module unloads" rmmod kdapl_late_packet

tap_refuse "no warning so far" warned
tap_check "the same, and the region is mapped at another address" show_moved
counts
tap_known "rxe computes an index outside the region, and warns" warned
tap_check "the module unloads" rmmod kdapl_late_packet
