#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two dapltest processes, without kDAPL: count those that die of SIGSEGV when they exit. Not a
# test; it shows why interop.sh preloads libraries. Run it in a guest:
#
#   cp -r tests /tmp/copy
#   tools/kdapl/lab/run_in_vm.py --dir /tmp/copy stock-6.12 'bash interop/crash.sh [ROUNDS]'
#
# PROVIDER="libdat2.so.2 libdaplofa.so.2" preloads them here, too.

. "${0%/*}/../../selftests/lib.sh"
rounds=${1:-25}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export DAT_OVERRIDE=$tmp/dat.conf

# dapl ARGUMENT...: run dapltest, and record its exit status
dapl() {
	local status=0

	LD_PRELOAD=${PROVIDER:-} timeout 60 dapltest "$1" "$2" -D dapl -n 62000 "${@:3}" \
		>"$tmp/out.$1$2" 2>&1 || status=$?
	echo "dapltest $* exited with $status" >>"$tmp/ended"
}

echo 'dapl u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "dummy0 0" ""' >"$DAT_OVERRIDE"
rxe_setup 0 && modprobe ib_uverbs && modprobe rdma_ucm || exit 1
for ((i = 0; i < rounds; i++)); do
	: >"$tmp/out.-TS"
	dapl -T S &
	wait_for grep -q "Service Point Ready" "$tmp/out.-TS" || exit 1
	dapl -T P -s 10.9.9.1 -m b -i 20 -p 8 RR 4096 2
	dapl -T Q -s 10.9.9.1
	wait
done
grep -v 'with 0$' "$tmp/ended"
echo "$(grep -c 'with 0$' "$tmp/ended") of $((3 * rounds)) exited with 0"
