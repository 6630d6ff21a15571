# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables for those who source this
# What the check scripts share; sourced with -euo pipefail, leaves the
# caller in the top folder.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit
TOP=$PWD
CACHE=${KDAPL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kdapl}
BUILD=$TOP/build

# result STATUS NAME: one TAP line
tap_number=0
result() {
	local not=

	[ "$1" = 0 ] || not="not "
	tap_number=$((tap_number + 1))
	echo "${not}ok $tap_number - $2"
}

# silent NAME COMMAND...: ok if the command succeeds and prints nothing
silent() {
	local silent_name=$1 silent_out silent_status=0

	shift
	silent_out=$("$@" 2>&1) || silent_status=$?
	if [ -n "$silent_out" ]; then
		printf '%s\n' "$silent_out" | head -n 60 | sed 's/^/# /'
		[ "$silent_status" != 0 ] || silent_status=1
	fi
	result "$silent_status" "$silent_name"
	return "$silent_status"
}

# kernel_dir NAME: where setup put it
kernel_dir() { readlink -f "$CACHE/kernels/$1"; }

# kernel_release NAME
kernel_release() { basename "$(kernel_dir "$1")"/lib/modules/*; }

# kernel_headers NAME: what KDIR is for modules of this kernel
kernel_headers() {
	case $1 in
	own-*) readlink -f "$(kernel_dir "$1")/../build" ;;
	*) readlink -f "$(kernel_dir "$1")/lib/modules/$(kernel_release "$1")/build" ;;
	esac
}

# kernel_source: the tree that the own kernel was built from
kernel_source() { readlink -f "$(kernel_dir own-6.12)/../source"; }

# output_of NAME: the build copy for a kernel; with KDAPL_GCOV set, the one whose
# kdapl.ko counts for gcov
output_of() { echo "$BUILD/${KDAPL_GCOV:+gcov-}$(kernel_release "$1")"; }
