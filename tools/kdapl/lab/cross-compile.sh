# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Kernels of other architectures; sourced by setup and by check/env.sh.

# cross NAME: print the variables of make for this kernel, one a line
cross() {
	case $1 in
	*-arm64) printf '%s\n' ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- ;;
	*-uml) printf '%s\n' ARCH=um CROSS_COMPILE= ;;
	esac
}
