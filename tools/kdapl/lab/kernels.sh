# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The kernels that setup fetches from Debian, and those that it builds. Sourced by setup, which
# holds its lock meanwhile, except while it compiles a kernel. Each kernel is a directory
# kernels/NAME of the cache. Its file "complete" has the version of the Debian package, and is
# written last.

# The release with the newest kernel
NEWEST_SUITE=trixie-backports

# Name of the kernel: the release that has it ("here": the release of this machine), and the meta
# package that depends on its newest image.
declare -A META=(
	[stock-6.1]="here linux-image-amd64"
	[stock-6.12]="here linux-image-6.12-amd64"
	[cloud-6.1]="here linux-image-cloud-amd64"
	[cloud-6.12]="here linux-image-6.12-cloud-amd64"
	[rt-6.1]="here linux-image-rt-amd64"
	[rt-6.12]="here linux-image-6.12-rt-amd64"
	[deb13]="trixie linux-image-amd64"
	[stock-newest]="$NEWEST_SUITE linux-image-amd64"
	[rt-newest]="$NEWEST_SUITE linux-image-rt-amd64"
)

# archive RELEASE COMMAND...: run apt-get or apt-cache for a release
archive() {
	local release=$1

	shift
	if [ "$release" = here ]; then "$@"; else foreign "$release" amd64 "$@"; fi
}

# lists RELEASE WANTED...: update the package lists of a release, once per run
declare -A UPDATED=()
lists() {
	local release=$1

	shift
	[ "$release" != here ] || { refresh "$@"; return; }
	[ -z "${UPDATED[$release]:-}" ] || return 0
	UPDATED[$release]=1
	! recent "$CACHE/apt/$release" || return 0
	archive "$release" apt-get -qq update 2>"$CACHE/update.log" ||
		die "apt-get update for $release failed (network?), see $CACHE/update.log; needed for: $*"
	touch "$CACHE/apt/$release"
}

# field RELEASE PACKAGE[=VERSION] FIELD: print a field of the newest version of the package
field() {
	archive "$1" apt-cache show --no-all-versions "$2" 2>/dev/null |
		sed -n "s/^$3: //p" | head -n 1
}

# fetch_debs RELEASE DIRECTORY PACKAGE=VERSION...: download and unpack packages
fetch_debs() {
	local release=$1 to=$2 deb

	shift 2
	mkdir -p "$CACHE/debs"
	(cd "$CACHE/debs" && archive "$release" apt-get -qq -o APT::Sandbox::User=root \
		download "$@") || die "apt-get download failed: $*"
	mkdir -p "$to"
	for deb in "${@/=*/}"; do
		dpkg -x "$CACHE/debs/${deb}"_*.deb "$to"
	done
	for deb in "${@/=*/}"; do
		rm -f "$CACHE/debs/${deb}"_*.deb
	done
}

# stock_packages RELEASE REL VERSION: print the packages with image, modules and headers. Some
# kernels have them in packages on which image and headers depend, perhaps in a later version.
stock_packages() {
	local name

	for name in "linux-image-$2" "linux-headers-$2"; do
		echo "$name=$3"
		field "$1" "$name=$3" Depends | tr -d ' ' | tr ',' '\n' |
			sed -nE "s/^(linux-(base|binary|modules|headers|kbuild)-[0-9][^(]*)(\(=([^)]*)\))?.*/\1=\4/p" |
			sed 's/=$//'
	done | sort -u
}

# stock_arrange DIRECTORY REL: let the unpacked packages look alike, and let them find each other in
# this directory
stock_arrange() {
	local dir=$1 rel=$2 lib name common

	[ -e "$dir/lib" ] || ln -s usr/lib "$dir/lib"
	lib=$dir/lib/modules/$rel
	mkdir -p "$dir/boot"
	for name in vmlinuz config; do
		[ ! -e "$lib/$name" ] || ln -sfnr "$lib/$name" "$dir/boot/$name-$rel"
	done
	# The headers refer to the common headers by an absolute path
	sed -i "s|/usr/src/|$dir/usr/src/|" "$dir/usr/src/linux-headers-$rel/Makefile"
	ln -sfnr "$dir/usr/src/linux-headers-$rel" "$lib/build"
	rm -f "$lib/source"
	# "make C=1" asks this script whether sparse is new enough, but the headers lack it. That of
	# setup is.
	common=$(echo "$dir"/usr/src/linux-headers-*-common*)
	if grep -q checker-valid.sh "$common/Makefile" && [ ! -e "$common/scripts/checker-valid.sh" ]
	then
		printf '%s\n' '#!/bin/sh' 'echo 1' >"$common/scripts/checker-valid.sh"
		chmod +x "$common/scripts/checker-valid.sh"
	fi
	depmod -b "$dir" "$rel"
}

# stock NAME: fetch image, modules and headers of a Debian kernel
stock() {
	local name=$1 release meta image version rel dir pkgs

	[ -z "$UPDATE" ] && have "$name" && return
	read -r release meta <<<"${META[$1]}"
	lists "$release" "$meta"
	image=$(field "$release" "$meta" Depends |
		grep -o 'linux-image-[0-9][^ ,]*' | head -n 1) || true
	[ -n "$image" ] ||
		die "no package $meta: add bookworm-security to the apt sources"
	version=$(field "$release" "$meta" Version)
	rel=${image#linux-image-}
	dir=$CACHE/stock/$rel
	if [ "$(cat "$dir/complete" 2>/dev/null)" != "$version" ]; then
		say "fetching $name: $rel $version (up to 180 MB, 1 to 3 min)"
		rm -rf "$dir"
		mapfile -t pkgs < <(stock_packages "$release" "$rel" "$version")
		fetch_debs "$release" "$dir" "${pkgs[@]}"
		stock_arrange "$dir" "$rel"
		echo "$version" >"$dir/complete"
	fi
	mkdir -p "$CACHE/kernels"
	ln -sfn "../stock/$rel" "$CACHE/kernels/$name"
}

# stock_version NAME: print the package version of a stock kernel
stock_version() { cat "$CACHE/kernels/$1/complete"; }

# stock_release NAME: print its release
stock_release() { basename "$CACHE/kernels/$1"/lib/modules/*; }

# source_tree 6.12|newest: fetch Debian's source of a kernel, and link it as src/6.12 or
# src/newest. 6.12 has the version of stock-6.12. The newest kernel stays the same until --update,
# even if its version has left the archive. Sets SRC.
source_tree() {
	local name=$1 release=here package version tmp=$CACHE/src/tmp

	if [ "$name" = newest ]; then
		SRC=$(readlink -f "$CACHE/src/newest")
		[ -z "$UPDATE" ] && have source-newest && return
		release=$NEWEST_SUITE
		lists "$release" linux-source
		package=$(field "$release" linux-source Depends |
			grep -o 'linux-source-[0-9.]*' | head -n 1) || true
		[ -n "$package" ] || die "no package linux-source in $release"
		version=$(field "$release" linux-source Version)
		say "the newest kernel of $release is $version"
	else
		stock stock-6.12
		package=linux-source-6.12
		version=$(stock_version stock-6.12)
	fi
	SRC=$CACHE/src/$version
	if [ ! -e "$SRC/complete" ]; then
		say "fetching the kernel source $version (150 MB, 1 to 2 min)"
		rm -rf "$tmp" "$SRC"
		fetch_debs "$release" "$tmp" "$package=$version"
		mkdir "$SRC"
		tar -xf "$tmp/usr/src/$package.tar.xz" -C "$SRC" --strip-components=1
		rm -rf "$tmp"
		echo "$version" >"$SRC/complete"
	fi
	ln -sfn "$version" "$CACHE/src/$name"
}

# own_source NAME: print which source an own kernel is built from: 6.12 or newest
own_source() {
	local rest=${1#own-}

	echo "${rest%%-*}"
}

# own_version NAME: print the version of that source
own_version() {
	case $(own_source "$1") in
	newest) cat "$CACHE/src/newest/complete" ;;
	*) stock_version stock-6.12 ;;
	esac
}

# fragments NAME: print the configuration fragments of an own kernel, one for each word of its name
# after the source
fragments() {
	local source variant word

	source=$(own_source "$1")
	variant=${1#"own-$source"}
	# User Mode Linux lacks most of kernel.config
	[ "$variant" = -uml ] || echo "$HERE/kernel.config"
	[ "$source" != newest ] || echo "$HERE/newest.config"
	for word in ${variant//-/ }; do
		echo "$HERE/$word.config"
	done
}

# wanted FILE...: print the options that these files set; the last setting counts
wanted() {
	awk '/^(# )?CONFIG_/ {
		name = $1 == "#" ? $2 : $1
		sub(/=.*/, "", name)
		line[name] = $0
	}
	END {
		for (name in line)
			if (line[name] ~ /^CONFIG_/ && name != "CONFIG_LOCALVERSION")
				print line[name]
	}' "$@"
}

# own_key NAME: print a hash of the kernel's version and configuration
own_key() {
	local files

	mapfile -t files < <(fragments "$1")
	{ own_version "$1"; cat "${files[@]}"; } | sha256sum | cut -c 1-12
}

# is_set LINE FILE: does the configuration have this line? An option that this architecture
# lacks is not set.
is_set() {
	local name

	grep -qxF "$1" "$2" && return
	[[ $1 == "# "*" is not set" ]] || return
	read -r _ name _ <<<"$1"
	! grep -q "^$name=" "$2"
}

# own_make TARGET...: make in the source of an own kernel. Uses the variables of own
own_make() { nice make -s -C "$SRC" O="$build" "${CROSS[@]}" "$@"; }

# own NAME: build a small kernel with KUnit, starting from tinyconfig
own() {
	local name=$1 key dir build version image=arch/x86/boot/bzImage rel line

	source_tree "$(own_source "$name")"
	mapfile -t CROSS < <(cross "$name")
	[[ $name != *-arm64* ]] || packages "${ARM64_PACKAGES[@]}"
	[[ $name != *-arm64* ]] || image=arch/arm64/boot/Image
	[[ $name != *-uml ]] || image=linux
	mapfile -t FRAGMENTS < <(fragments "$name")
	set -- "${FRAGMENTS[@]}"
	key=$(own_key "$name")
	dir=$CACHE/own/$key
	build=$dir/build
	version=$(own_version "$name")
	mkdir -p "$build"
	exec 8>"$dir/setup.lock"
	flock -u 9
	flock 8
	if [ ! -e "$dir/root/complete" ]; then
		say "building kernel $name, $version (6 to 12 min on 2 cores)"
		own_make tinyconfig
		"$SRC/scripts/kconfig/merge_config.sh" -m -O "$build" \
			"$build/.config" "$@" >/dev/null
		own_make olddefconfig
		while read -r line; do
			is_set "$line" "$build/.config" ||
				die "$name: set $line, but olddefconfig changed it"
		done < <(wanted "$@")
		own_make -j"$(nproc)" "${image##*/}" modules >"$dir/build.log" 2>&1 ||
			die "building kernel $name failed, see $dir/build.log"
		own_make INSTALL_MOD_PATH="$dir/root" modules_install >>"$dir/build.log" 2>&1
		rel=$(own_make kernelrelease)
		mkdir -p "$dir/root/boot"
		cp "$build/$image" "$dir/root/boot/vmlinuz-$rel"
		cp "$build/.config" "$dir/root/boot/config-$rel"
		ln -sfn "$SRC" "$dir/source"
		echo "$version" >"$dir/root/complete"
	fi
	ln -sfn "../own/$key/root" "$CACHE/kernels/$name"
	exec 8>&-
	flock 9
}

# Packages in the root in which modules for kernels of Debian 13 are compiled
TRIXIE_PACKAGES=(gcc gcc-14 make libelf1t64 libssl3t64 zlib1g pahole)

# root_trixie: make a Debian 13 with a compiler (tools/kdapl/lab/run-in-root)
root_trixie() {
	local root=$CACHE/roots/trixie

	lists trixie "${TRIXIE_PACKAGES[*]}"
	make_root trixie "$root" "$CACHE/apt/trixie-amd64/sources.list" \
		"${TRIXIE_PACKAGES[@]/#/--include=}"
	echo "${TRIXIE_PACKAGES[*]}" >"$root/complete"
}
