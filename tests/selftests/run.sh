#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run selftests one after the other, as root in a guest. Each is a TAP subtest.
#
#   tests/selftests/run.sh [NAME...]	without names: all
#
# Each selftest is killed after SELFTEST_TIME seconds (default: its own "# time:", or 240),
# times KDAPL_STRETCH, times ten on a kernel with sanitizers, where some also do more.

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

# limit_of NAME: print the time limit of the selftest in seconds
limit_of() {
	local time

	time=$(sed -n 's/^# time: //p' "$1.sh")
	awk "BEGIN { print ${SELFTEST_TIME:-${time:-240}} * ${KDAPL_STRETCH:-1} * $slow }"
}

# modules_left: print the modules of the project that are loaded, except kdapl_qp1_wake, which
# stays loaded with rxe
modules_left() {
	sed -n 's/^\(kdapl[a-z0-9_]*\|datblk_[a-z]*\|first_consumer\|tutorial_[a-z]*\) .*/\1/p' /proc/modules | grep -vx kdapl_qp1_wake
}

names=("$@")
if [ ${#names[@]} = 0 ]; then
	for file in *.sh; do
		case $file in
		lib.sh | run.sh) ;;
		*) names+=("${file%.sh}") ;;
		esac
	done
fi

echo "TAP version 13"
echo "1..${#names[@]}"
number=0
failed=0
for name in "${names[@]}"; do
	number=$((number + 1))
	begin=$SECONDS
	echo "    # Subtest: $name"
	timeout --kill-after=5 "$(limit_of "$name")" bash "./$name.sh" 2>&1 |
		tee "/tmp/$name.out" | sed -u 's/^/    /'
	status=${PIPESTATUS[0]}
	echo "# $name: $((SECONDS - begin)) s"
	# The exit trap of the script unloads modules, but cannot change its exit status
	left=$(modules_left)
	if [ -n "$left" ]; then
		echo "# $name: expected all modules to be unloaded, still loaded: $left"
		status=1
	fi
	if [ "$status" = 0 ] && ! grep -q '^not ok' "/tmp/$name.out"; then
		echo "ok $number - $name"
	else
		echo "# $name: expected exit status 0 and no \"not ok\", exit status $status"
		echo "not ok $number - $name"
		failed=1
	fi
done
exit $failed
