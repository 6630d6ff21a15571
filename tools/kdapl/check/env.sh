# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables for the scripts that source this
# Common functions of the check scripts; sourced with -euo pipefail. Changes to the top
# directory of the sources.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit
TOP=$PWD
CACHE=${KDAPL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kdapl}
BUILD=$TOP/build
# make install calls depmod, which is not in the PATH of other users than root
PATH=$PATH:/usr/sbin:/sbin
. tools/kdapl/lab/compilers.sh

# result STATUS NAME: print a TAP result
tap_number=0
result() {
	local not=

	[ "$1" = 0 ] || not="not "
	tap_number=$((tap_number + 1))
	echo "${not}ok $tap_number - $2"
}

# no_output NAME COMMAND...: ok if the command succeeds and prints nothing; on failure print
# the command, its status and its output
no_output() {
	local check_name=$1 check_out check_status=0

	shift
	check_out=$("$@" 2>&1) || check_status=$?
	if [ -n "$check_out" ] || [ "$check_status" != 0 ]; then
		echo "# \"$*\": expected no output and exit status 0, exit status $check_status:"
		printf '%s\n' "${check_out:-(no output)}" | head -n 60 | sed 's/^/# /'
		[ "$check_status" != 0 ] || check_status=1
	fi
	result "$check_status" "$check_name"
	return "$check_status"
}

# test_variables: print all variables for tests, as declarations for a guest
test_variables() {
	local prefixes='KDAPL|LEDGER|TWO_GUESTS|FUZZ|SCALE|RELOAD|HOSTILE|BLK|SELFTEST'

	export -p | grep -E "^declare -x ($prefixes)_" || true
}

# evaluate BOX FILE STATUS NAME: print a file of TAP in the directory of a guest as a subtest, and
# the number of reports on the console. A result follows, which is ok if the exit status of the
# guest is 0 and all planned tests have passed. KUnit prints no plan of its suites.
evaluate() {
	local box=$1 file=$1/$2 bad=$3 planned passed

	sed 's/^/    /' "$file"
	sed -n 's/^run_in_vm: /# console: /p' "$box/console.log" || :
	passed=$(grep -c '^ok' "$file" || :)
	planned=$(sed -n 's/^1\.\.//p' "$file")
	if [ "$bad" != 0 ] || [ "$passed" = 0 ] || [ "$passed" != "${planned:-$passed}" ] ||
		grep -q '^not ok' "$file"; then
		echo "# ${box##*/}: expected exit status 0, and that all planned tests pass," \
			"exit status $bad, $passed of ${planned:-?} passed"
		bad=1
	fi
	result "$bad" "$4"
	return "$bad"
}

# kernel_dir NAME: print the directory in which setup unpacked a kernel
kernel_dir() { readlink -f "$CACHE/kernels/$1"; }

# kernel_release NAME: print its release
kernel_release() { basename "$(kernel_dir "$1")"/lib/modules/*; }

# kernel_headers NAME: print the KDIR for modules of this kernel
kernel_headers() {
	case $1 in
	own-*) readlink -f "$(kernel_dir "$1")/../build" ;;
	*) readlink -f "$(kernel_dir "$1")/lib/modules/$(kernel_release "$1")/build" ;;
	esac
}

# kernel_source NAME: print the source tree of an own kernel
kernel_source() { readlink -f "$(kernel_dir "$1")/../source"; }

# builder NAME: print the command in front of make for modules of this kernel, a word a line. Host tools
# of kernels of Debian 13 need a newer C library than that of Debian 12.
builder() {
	case $1 in
	deb13 | stock-newest | rt-newest)
		printf '%s\n' tools/kdapl/lab/run-in-root "$CACHE/roots/trixie" "$TOP" "$CACHE" /dev -- ;;
	esac
}

# output_of NAME: print the directory in which all checkouts build for a kernel, so that a new
# checkout compiles nothing again; with KDAPL_GCOV, the one for gcov. Callers lock it.
output_of() { echo "$CACHE/build/${KDAPL_GCOV:+gcov-}$(kernel_release "$1")"; }

# modules_of NAME: print the directory of this checkout with its modules
modules_of() { echo "$BUILD/modules/${KDAPL_GCOV:+gcov-}$(kernel_release "$1")"; }

# typedefs: print the types of include/dat for checkpatch. Longer names come first, because
# checkpatch tries them in order and does not look for the end of a word.
typedefs() {
	sed -nE 's/^(typedef .*[ *]|\} *)(DAT_\w+);$/\2/p
		s/^typedef .*\(\*(DAT_\w+)\).*/\1/p' include/dat/*.h | LC_ALL=C sort -r
}

# not_allowed [FILE...]: print the messages of checkpatch that checkpatch.conf does not allow
not_allowed() {
	awk '
	FNR == NR {
		if ($1 !~ /^#/ && NF)
			allowed[$1 " " $2] = 1
		next
	}
	{
		for (rule in allowed) {
			split(rule, r, " ")
			if (index($0, r[2]) == 1 && $0 ~ ":" r[1] ":")
				next
		}
		print
	}' tools/kdapl/check/checkpatch.conf "${@:--}"
}
