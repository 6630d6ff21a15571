# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Compile modules and kernels through Debian's ccache; sourced by setup and by check/env.sh.
# /usr/lib/ccache has links to ccache with the names of the compilers.

PATH=/usr/lib/ccache:$PATH
export CCACHE_DIR=${KDAPL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kdapl}/ccache
export CCACHE_MAXSIZE=4G
