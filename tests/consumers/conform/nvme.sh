#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nvme-rdma and nvmet over the adapter model, without kDAPL: what other users of RDMA transfer
# arrives, and if a message gets lost, too. Both are in one guest. Plain verbs without NVMe are in
# perf.sh of the selftests. rping cannot judge the model: processes cannot use a device without
# contexts (alloc_ucontext), and there would have to be a driver for it in rdma-core.
# covers: faults of the adapter model, which would be taken for faults of kDAPL

# shellcheck source=tests/selftests/lib.sh
. "${0%/*}/../selftests/lib.sh"

target=/sys/kernel/config/nvmet
parameters=/sys/module/kdapl_hca/parameters
work=/run/kdapl-nvme

tidy() {
	[ ! -e /sys/class/nvme/nvme0 ] || echo 1 >/sys/class/nvme/nvme0/delete_controller
	rm -f $target/ports/1/subsystems/disk
	rmdir $target/ports/1 $target/subsystems/disk/namespaces/1 $target/subsystems/disk
	modprobe -r nvme-rdma nvmet-rdma
	[ -z "${loop:-}" ] || losetup -d "$loop"
	umount $work
}
trap 'tidy 2>/dev/null' EXIT

serve() {
	modprobe nvme_core multipath=N && modprobe -a nvmet-rdma nvme-rdma loop &&
		{ [ -d $target ] || mount -t configfs none /sys/kernel/config; } || return
	mkdir -p $work && mount -t tmpfs -o size=80m tmpfs $work && truncate -s 64M $work/disk &&
		loop=$(losetup -f --show $work/disk) || return
	mkdir $target/subsystems/disk $target/subsystems/disk/namespaces/1 $target/ports/1 &&
		echo 1 >$target/subsystems/disk/attr_allow_any_host &&
		echo "$loop" >$target/subsystems/disk/namespaces/1/device_path &&
		echo 1 >$target/subsystems/disk/namespaces/1/enable || return
	echo rdma >$target/ports/1/addr_trtype && echo ipv4 >$target/ports/1/addr_adrfam &&
		echo "$ADDRESS" >$target/ports/1/addr_traddr &&
		echo 4420 >$target/ports/1/addr_trsvcid &&
		ln -s $target/subsystems/disk $target/ports/1/subsystems/
}

# nvmet asks for 16 RDMA operations of 16 segments for each command, and a queue that counts its
# blocks has room for no more than 585
connect() {
	echo "transport=rdma,traddr=$ADDRESS,trsvcid=4420,nqn=disk,queue_size=32" >/dev/nvme-fabrics &&
		wait_for test -b /dev/nvme0n1
}

# verify: writes of random sizes are read back
verify() {
	(cd $work && fio --allow_file_create=0 --name=nvme --filename=/dev/nvme0n1 --ioengine=libaio \
		--rw=randwrite --bsrange=512-256k --size=64M --io_size="$1" --iodepth=32 --direct=1 \
		--verify=crc32c --verify_fatal=1 --verify_dump=0)
}

same() { cmp /dev/nvme0n1 "$loop"; }

# faults DROP DUPLICATE DELAY: set these options of the model
faults() {
	echo "$1" >$parameters/drop && echo "$2" >$parameters/duplicate && echo "$3" >$parameters/delay
}

# verify_lossy: the same while messages are lost, delivered twice and acknowledged late. Nothing
# fails, and the model has had something to repeat
verify_lossy() {
	local status=0 before dropped retries

	before=$(cat $parameters/drop $parameters/duplicate $parameters/delay)
	dropped=$(hca_stat dropped) retries=$(hca_stat retries)
	# shellcheck disable=SC2086 # three options
	faults 20 20 200 && verify 8M && faults $before || status=1
	dropped=$(($(hca_stat dropped) - dropped)) retries=$(($(hca_stat retries) - retries))
	if [ $dropped -lt 5 ] || [ $retries -lt 5 ]; then
		echo "expected losses and repetitions, found $dropped, $retries"
		status=1
	fi
	return $status
}

no_error() { ! dmesg | grep -E 'nvme0.*(error|timeout|reconnect)|I/O error, dev nvme'; }

tap_plan 7
loop=
if serve >"$work.log" 2>&1; then
	tap_ok "nvmet exports a disk"
else
	tap_diag "$(cat "$work.log"; dmesg | tail -n 5)"
	tap_not_ok "nvmet exports a disk"
	exit 1
fi
tap_check "nvme-rdma connects" connect || exit 1
tap_check "writes of random sizes are read back" verify 16M
tap_check "and while messages are lost and delivered twice" verify_lossy
tap_check "both ends have the same data" same
tap_check "NVMe has reported no error" no_error
tap_check "the controller is deleted" eval \
	'echo 1 >/sys/class/nvme/nvme0/delete_controller && wait_for test ! -e /dev/nvme0n1'
