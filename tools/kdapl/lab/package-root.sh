# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The roots in which package/test-packages installs the packages, one for each release of Debian.
# setup sources this to make them, and package/test-packages to know their kernels.

# Release: the kernel that its root has, the one to which the test upgrades, and the suite that has
# the latter
declare -A PACKAGE_KERNELS=(
	[bookworm]="stock-6.12 stock-6.1 bookworm-security"
	[trixie]="deb13 stock-newest trixie-backports"
)

# Packages of a root besides kernels: for DKMS, which signs if there is openssl, and for the guests.
# With what kdapl-utils depends on, the test needs no network.
ROOT_PACKAGES=(dkms gcc libc6-dev openssl iproute2 e2fsprogs python3)

# cloud_release RELEASE: print the release of the cloud kernel of the same version
cloud_release() { echo "${1%-*}-cloud-${1##*-}"; }

# root_key RELEASE: print what the root is made of
root_key() {
	local first second

	read -r first second _ <<<"${PACKAGE_KERNELS[$1]}"
	echo "${ROOT_PACKAGES[@]}"
	stock_version "$first"
	stock_version "$second"
}

# root_sources KERNEL...: print the package sources of these kernels
root_sources() {
	local kernel from

	for kernel; do
		read -r from _ <<<"${META[$kernel]}"
		lists "$from" "$kernel" >&2
		if [ "$from" = here ]; then
			# shellcheck disable=SC2016 # fields for apt-get
			apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
				'Created-By: Packages' 'Origin: Debian'
		else
			cat "$CACHE/apt/$from-amd64/sources.list"
		fi
	done | sort -u
}

# root_package RELEASE: make a root with DKMS and two kernels: the first of PACKAGE_KERNELS with its
# headers, and the headers of the cloud kernel of the second one. The packages of the second one
# are only downloaded, because the test upgrades to it. No guest uses an initramfs, which would
# take a minute for each kernel.
root_package() {
	local root=$CACHE/roots/package-$1 sources=$CACHE/roots/$1.list first second suite old new to

	read -r first second suite <<<"${PACKAGE_KERNELS[$1]}"
	stock "$first"
	stock "$second"
	old=$(stock_release "$first")=$(stock_version "$first")
	new=$(stock_release "$second")
	to=$(stock_version "$second")
	mkdir -p "${sources%/*}"
	root_sources "$first" "$second" >"$sources"
	INITRD=No make_root "$1" "$root" "$sources" "${ROOT_PACKAGES[@]/#/--include=}" \
		--include="linux-image-$old" --include="linux-headers-$old" \
		--include="linux-headers-$(cloud_release "$new")=$to" \
		--customize-hook="chroot \$1 apt-get clean" \
		--customize-hook="chroot \$1 apt-get -qq -y install --download-only -t $suite \
			linux-image-$new=$to linux-headers-$new=$to" \
		--skip=cleanup/apt
	root_key "$1" >"$root/complete"
}
