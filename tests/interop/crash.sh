#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# dapltest against dapltest, without kDAPL: how many die of SIGSEGV at the end?
# Shows what interop.sh preloads libraries for; no test. In a guest:
#
#   cp -r tests /tmp/copy
#   tools/kdapl/vm/run --dir /tmp/copy stock-6.12 'bash interop/crash.sh [ROUNDS]'
#
# PROVIDER="libdat2.so.2 libdaplofa.so.2" preloads them here, too.

. "${0%/*}/../selftests/lib.sh"
rounds=${1:-25}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export DAT_OVERRIDE=$tmp/dat.conf

# dapl ARGUMENT...: dapltest, and how it ended
dapl() {
	local status=0

	LD_PRELOAD=${PROVIDER:-} timeout 60 dapltest "$1" "$2" -D dapl -n 62000 "${@:3}" \
		>"$tmp/said.$1$2" 2>&1 || status=$?
	echo "dapltest $* ended with $status" >>"$tmp/ended"
}

echo 'dapl u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "dummy0 0" ""' >"$DAT_OVERRIDE"
rxe_setup 0 && modprobe ib_uverbs && modprobe rdma_ucm || exit 1
for ((i = 0; i < rounds; i++)); do
	: >"$tmp/said.-TS"
	dapl -T S &
	wait_for 20 grep -q "Service Point Ready" "$tmp/said.-TS" || exit 1
	dapl -T P -s 10.9.9.1 -m b -i 20 -p 8 RR 4096 2
	dapl -T Q -s 10.9.9.1
	wait
done
grep -v 'with 0$' "$tmp/ended"
echo "$(grep -c 'with 0$' "$tmp/ended") of $((3 * rounds)) ended well"
