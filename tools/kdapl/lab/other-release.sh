# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What setup takes from another Debian release or architecture: herd7, and the programs of arm64
# guests. Sourced by setup. apt runs with its own configuration, lists and status below
# $CACHE/apt, so the machine's do not change. The packages are unpacked in the cache and not
# installed.

# herd7 is only in sid, which may have a later version
HERD_VERSION=7.58-2
# Cross compiler and emulator, to be installed
ARM64_PACKAGES=(gcc-aarch64-linux-gnu qemu-system-arm)
# Programs in the root file system of arm64 guests
ARM64_ROOT=(bash busybox-static coreutils findutils grep hostname iproute2 kmod mawk mount procps
	python3 sed util-linux)

# foreign SUITE ARCH COMMAND...: run apt-get or apt-cache for a release, on the servers that
# this machine uses
foreign() {
	local suite=$1 arch=$2 dir=$CACHE/apt/$1-$2

	shift 2
	if [ ! -e "$dir/conf" ]; then
		mkdir -p "$dir/lists/partial" "$dir/archives/partial"
		: >"$dir/status"
		refresh "the servers of $suite"
		# Like the machine's own release, a stable one has further suites, as for security
		# updates
		# shellcheck disable=SC2016 # of apt-get
		apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)' \
			'Created-By: Packages' | sort -u | awk -v suite="$suite" '
			$1 != "Debian" { next }
			index($3, suite) == 1 { print "deb", $2, $3, $4; next }
			$3 !~ /-/ { print "deb", $2, suite, $4 }
			$3 ~ /-(security|updates)$/ && suite == "trixie" {
				sub(/^[^-]*/, suite, $3)
				print "deb", $2, $3, $4
			}' >"$dir/sources.list"
		[ -s "$dir/sources.list" ] ||
			die "expected a Debian server in the package lists of this machine, found none"
		cat >"$dir/conf" <<-END
			Dir::Etc::sourcelist "$dir/sources.list";
			Dir::Etc::sourceparts "/dev/null";
			Dir::State::lists "$dir/lists";
			Dir::State::status "$dir/status";
			Dir::Cache "$dir";
			APT::Sandbox::User "root";
			APT::Architecture "$arch";
			APT::Architectures { "$arch"; };
			APT::Install-Recommends "false";
			pkgCacheGen::Essential "none";
		END
	fi
	APT_CONFIG=$dir/conf "$@"
}

# foreign_unpack SUITE ARCH FOLDER PACKAGE...: download packages and all that they depend on,
# and unpack them. The folder has the links of a merged /usr, which dpkg -x would replace.
foreign_unpack() {
	local suite=$1 arch=$2 to=$3 name deb
	local archives=$CACHE/apt/$1-$2/archives

	shift 3
	rm -rf "${to:?}" "$archives"
	mkdir -p "$archives/partial"
	for name in bin sbin lib lib64; do
		mkdir -p "$to/usr/$name"
		ln -s "usr/$name" "$to/$name"
	done
	foreign "$suite" "$arch" apt-get -qq update &&
		foreign "$suite" "$arch" apt-get -qq --download-only -y install "$@" >/dev/null ||
		return
	for deb in "$archives"/*.deb; do
		dpkg --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$to" || return
	done
	rm -rf "$archives"
}

# wrapper FOLDER PROGRAM ARGUMENTS: write FOLDER/run, which runs a program of FOLDER/root with the
# C library there, because that of this machine is older
wrapper() {
	cat >"$1/run" <<-END
		#!/bin/sh
		root=\$(dirname "\$0")/root
		exec "\$root"/usr/lib64/ld-linux-x86-64.so.2 --library-path \
			"\$root/usr/lib/x86_64-linux-gnu" "\$root/usr/bin/$2" $3 "\$@"
	END
	chmod +x "$1/run"
}

# herd: fetch herd7 with the C library that it needs, and find the kernel's memory model
herd() {
	local tmp=$CACHE/herd/tmp file

	source_tree 6.12
	say "fetching herd7 $HERD_VERSION (40 MB, 30 s)"
	foreign_unpack sid amd64 "$tmp" "herdtools7=$HERD_VERSION" ||
		{ say "no herd7 $HERD_VERSION any more, trying the newest one"
		  foreign_unpack sid amd64 "$tmp" herdtools7; } ||
		die "no package herdtools7 in sid (network?)"
	for file in "$tmp"/usr/bin/*; do
		[ "${file##*/}" = herd7 ] || rm "$file"
	done
	rm -rf "$CACHE/herd/root"
	mv "$tmp" "$CACHE/herd/root"
	wrapper "$CACHE/herd" herd7 "-set-libdir \"\$root/usr/share/herdtools7/herd\""
	ln -sfn "$SRC/tools/memory-model" "$CACHE/herd/model"
	echo "$HERD_VERSION" >"$CACHE/herd/complete"
}

# arm64_root: unpack the programs of arm64 guests, and install the packages to build for them
arm64_root() {
	local root=$CACHE/arm64-root

	packages "${ARM64_PACKAGES[@]}"
	say "fetching programs for arm64 guests (45 MB, 1 min)"
	foreign_unpack bookworm arm64 "$root" "${ARM64_ROOT[@]}" ||
		die "no packages for arm64 (network?): ${ARM64_ROOT[*]}"
	# What the scripts of the packages would do, as far as a guest needs it
	mkdir -p "$root"/{dev,etc,opt,proc,root,run,srv,sys,tmp} "$root/usr/lib/systemd"
	echo 'root:x:0:0:root:/root:/bin/bash' >"$root/etc/passwd"
	printf '%s\n' 'root:x:0:' 'tty:x:5:' >"$root/etc/group"
	touch "$root"/etc/{fstab,hosts,shadow}
	ln -sf bash "$root/usr/bin/sh"
	ln -sf mawk "$root/usr/bin/awk"
	ln -sf ../bin/busybox "$root/usr/sbin/poweroff"
	cp "$HERE/udev" "$root/usr/lib/systemd/systemd-udevd"
	cp "$HERE/udev" "$root/usr/bin/udevadm"
	arm64_key >"$root/complete"
}

# arm64_key: print what the root file system is made of
arm64_key() { cat "$HERE/other-release.sh" "$HERE/udev" | sha256sum; }
