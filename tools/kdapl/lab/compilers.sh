# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Compilers of modules and kernels; sourced by setup and by check/env.sh. They are called through
# Debian's ccache: /usr/lib/ccache has links to it with their names.

PATH=/usr/lib/ccache:$PATH
export CCACHE_DIR=${KDAPL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kdapl}/ccache
export CCACHE_MAXSIZE=4G

# cross NAME: print the variables of make for this kernel, one a line
cross() {
	case $1 in
	*-arm64*) printf '%s\n' ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- ;;
	*-uml) printf '%s\n' ARCH=um CROSS_COMPILE= ;;
	esac
}
