#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run selftests one after the other, as root in a guest; each is a TAP
# subtest of this one.
#
#   tests/selftests/run.sh [NAME...]	without names: all
#
# Every selftest has SELFTEST_TIME seconds (its own "# time:" or 240, times
# KDAPL_STRETCH), and ten times as many under a kernel with bug finders, where
# some also do more.

cd "$(dirname "$0")" || exit 1
export KDAPL_DIR=${KDAPL_DIR:-$PWD}
slow=1
[[ ${KDAPL_VM:-} != own-*-* ]] || slow=10
# shellcheck source=tests/selftests/lib.sh
. ./lib.sh
kunit_off
# A net device that somebody keeps is reported after 10 seconds, which stretch, too
netdev_patience=/proc/sys/net/core/netdev_unregister_timeout_secs
[ ! -w $netdev_patience ] || echo $((10 * KDAPL_FACTOR)) >$netdev_patience

# limit_of NAME: its seconds
limit_of() {
	local time

	time=$(sed -n 's/^# time: //p' "$1.sh")
	awk "BEGIN { print ${SELFTEST_TIME:-${time:-240}} * ${KDAPL_STRETCH:-1} * $slow }"
}

# modules_left: our modules that are still loaded, except the one that stays with rxe
modules_left() {
	sed -n 's/^\(kdapl[a-z0-9_]*\|first_consumer\|tutorial_[a-z]*\) .*/\1/p' /proc/modules | grep -vx kdapl_qp1_wake
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
	# The script's exit trap unloads modules, but cannot fail the script
	left=$(modules_left)
	[ -z "$left" ] || { echo "# $name: left behind: $left"; status=1; }
	if [ "$status" = 0 ] && ! grep -q '^not ok' "/tmp/$name.out"; then
		echo "ok $number - $name"
	else
		echo "# $name: exit status $status"
		echo "not ok $number - $name"
		failed=1
	fi
done
exit $failed
