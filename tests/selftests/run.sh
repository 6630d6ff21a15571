#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run selftests one after the other, as root in a guest. Each is a TAP subtest.
#
#   tests/selftests/run.sh [--short] [NAME...]
#
# Without names, it runs all selftests that this kernel supports. With --short, it runs those with
# the line "# tier: short", in their short form (KDAPL_SHORT=1). A name with a directory, such as
# rxe/qp1_error, is a script of a directory beside this one, and runs only if it is named. The line
# "# covers:" of a selftest says what it tests that KUnit and the loopback cannot.
#
# A selftest that hangs is killed after SELFTEST_TIME seconds (default 1200), multiplied by
# KDAPL_STRETCH, and by ten on a kernel with sanitizers, where some selftests also do more.

cd "$(dirname "$0")" || exit 1
export KDAPL_DIR=${KDAPL_DIR:-$PWD}
slow=1
[[ ${KDAPL_VM:-} != own-*-* ]] || slow=10
# shellcheck source=tests/selftests/lib.sh
. ./lib.sh
kunit_off
# The kernel reports a net device with leaked references after 10 seconds; stretch that, too
netdev_timeout=/proc/sys/net/core/netdev_unregister_timeout_secs
[ ! -w $netdev_timeout ] || echo $((10 * KDAPL_FACTOR)) >$netdev_timeout

limit=$(awk "BEGIN { print ${SELFTEST_TIME:-1200} * $KDAPL_STRETCH * $slow }")

# modules_left: print the modules of the project that are loaded, except those that stay loaded with
# the RDMA device
modules_left() {
	sed -n 's/^\(kdapl[a-z0-9_]*\|datblk_[a-z]*\|first_consumer\|tutorial_[a-z]*\) .*/\1/p' /proc/modules | grep -vxE 'kdapl_qp1_wake|kdapl_hca'
}

# chosen: print the names of the selftests to run if none is named
chosen() {
	local file

	for file in *.sh; do
		case $file in
		lib.sh | run.sh) continue ;;
		fault_inject.sh) has_fault_injection || continue ;;
		esac
		[ -z "${KDAPL_SHORT:-}" ] || grep -qx '# tier: short' "$file" || continue
		echo "${file%.sh}"
	done
}

unset KDAPL_SHORT
[ "${1:-}" != --short ] || { export KDAPL_SHORT=1; shift; }
names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(chosen)

echo "TAP version 13"
echo "1..${#names[@]}"
number=0
failed=0
for name in "${names[@]}"; do
	number=$((number + 1))
	begin=$SECONDS
	echo "    # Subtest: $name"
	script=./$name.sh
	[[ $name != */* ]] || script=../$name.sh
	out=/tmp/${name##*/}.out
	timeout --kill-after=5 "$limit" bash "$script" 2>&1 | tee "$out" | sed -u 's/^/    /'
	status=${PIPESTATUS[0]}
	echo "# $name: $((SECONDS - begin)) s"
	# The exit trap of the script unloads modules, but cannot change its exit status
	left=$(modules_left)
	if [ -n "$left" ]; then
		echo "# $name: expected all modules to be unloaded, still loaded: $left"
		status=1
	fi
	if ! fault=$(hca_innocent 2>&1); then
		tap_diag "$name: $fault"
		status=1
	fi
	if [ "$status" = 0 ] && ! grep -q '^not ok' "$out"; then
		echo "ok $number - $name"
	else
		echo "# $name: expected exit status 0 and no \"not ok\", exit status $status"
		echo "not ok $number - $name"
		failed=1
	fi
done
exit $failed
