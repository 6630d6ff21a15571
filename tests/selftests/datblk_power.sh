#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Power cuts of the server of the block device over DAT (drivers/block/datblk), after each flush.
# dm-log-writes below the exported device records the writes in the order in which they became
# stable. The record is replayed up to a mark that was set when a flush had been answered: what a
# power cut at this moment leaves. Client and server are in one guest, over rxe.
# covers: what a flush has acknowledged is on stable storage

. "${0%/*}/lib.sh"

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ] || ! modprobe -q dm-log-writes; then
	tap_plan 1
	tap_skip "power cuts of the server" "this kernel has no configfs or no dm-log-writes"
	exit
fi

config=/sys/kernel/config/datblk
devices=$config/devices
work=/run/datblk-power
address=10.9.9.1
marks=8
# Bytes of the device, and of the beginning of the disk that is compared; what follows is kept busy
size=$((32 << 20))
area=$((8 << 20))

tidy() {
	: >$work/stop
	for disk in /sys/block/datblk*; do
		[ ! -e "$disk" ] || echo "disconnect ${disk##*/} force" >/dev/datblk-control
	done
	rmdir $devices/* $config/ports/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	umount $work/mnt $work/server 2>/dev/null
	unlogged
	umount $work 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# logged_device: make /dev/mapper/power on zeroes, and record its writes
logged_device() {
	rm -f $work/data $work/record
	truncate -s $size $work/data && truncate -s 400M $work/record &&
		data=$(losetup -f --show $work/data) && record=$(losetup -f --show $work/record) &&
		dmsetup create power --noudevsync --table "0 $((size / 512)) log-writes $data $record" && dmsetup mknodes
}

# unlogged: remove it; $work/record has the record
unlogged() {
	[ ! -e /dev/mapper/power ] || wait_for dmsetup remove --noudevsync power || return
	[ -z "${data:-}" ] || losetup -d "$data"
	[ -z "${record:-}" ] || losetup -d "$record"
	data='' record=''
}

# export_device PATH
export_device() {
	mkdir $devices/power && echo "$1" >$devices/power/path && echo 1 >$devices/power/enable
}

# attach: connect the disk, whose name is in disk
attach() {
	exec 3<>/dev/datblk-control || return
	! echo "connect ia=rxe0/1 address=$address device=power queues=2" >&3 || read -r disk <&3
	exec 3>&-
	[ -n "$disk" ]
}

detach() { echo "disconnect $disk" >/dev/datblk-control; }

# busy DISK: write behind the area, without a flush, until $work/stop exists or the record is full
busy() {
	local i

	for ((i = 0; i < 60; i++)); do
		[ ! -e $work/stop ] || return 0
		dd if=/dev/urandom of="/dev/$1" bs=64k count=64 seek=$((area >> 16)) oflag=direct \
			conv=nocreat status=none || return
	done
}

# flushes DISK: write to the area, flush, set a mark, and keep what the area must contain then in
# $work/mark-N
flushes() {
	python3 - "/dev/$1" $work $marks $area <<-'END'
		import mmap, os, random, shutil, subprocess, sys
		disk, work, marks, area = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
		random.seed(1)
		model = bytearray(area)
		fds = {"flush": os.open(disk, os.O_RDWR | os.O_DIRECT),
		       "fua": os.open(disk, os.O_RDWR | os.O_DIRECT | os.O_DSYNC)}
		page = mmap.mmap(-1, 1 << 16)
		for mark in range(marks):
		    how = "fua" if mark % 4 == 3 else "flush"
		    for _ in range(4 if how == "fua" else 24):
		        length = 512 * random.randint(1, 128)
		        at = 512 * random.randrange((area - length) // 512)
		        page[:length] = random.randbytes(length)
		        if os.pwrite(fds[how], memoryview(page)[:length], at) != length:
		            sys.exit("a short write")
		        model[at:at + length] = page[:length]
		    if how == "flush":
		        os.fsync(fds[how])
		    subprocess.run(["dmsetup", "message", "power", "0", f"mark mark-{mark}"], check=True)
		    with open(f"{work}/mark-{mark}", "wb") as file:
		        file.write(model)
	END
}

# acknowledge DISK: flushes, while the rest of the disk is written
acknowledge() {
	local writer status=0

	rm -f $work/stop
	busy "$1" &
	writer=$!
	flushes "$1" || status=1
	: >$work/stop
	wait "$writer" && return "$status"
}

# files DISK: the same with files of an ext4 on the disk
files() {
	local mark status=0

	mkfs.ext4 -q "/dev/$1" && mount "/dev/$1" $work/mnt || return
	for ((mark = 0; !status && mark < marks; mark++)); do
		head -c $((RANDOM * 20)) /dev/urandom >$work/mark-$mark
		dd if=/dev/urandom of=$work/mnt/unflushed-$mark bs=64k count=8 status=none
		dd if=$work/mark-$mark of=$work/mnt/file-$mark bs=64k conv=fsync status=none &&
			dmsetup message power 0 mark mark-$mark || status=1
	done
	umount $work/mnt && return "$status"
}

# model DISK: change a file of an ext4 on the disk in random ways, and compare it with a model of it,
# which $work/mark-N has when the file is flushed
model() {
	local status=0

	mkfs.ext4 -q "/dev/$1" && mount "/dev/$1" $work/mnt || return
	python3 - $work $marks <<-'END' || status=1
		import ctypes, mmap, os, random, subprocess, sys
		KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE, MOST = 1, 2, 16, 2 << 20
		work, marks = sys.argv[1], int(sys.argv[2])
		libc = ctypes.CDLL(None, use_errno=True)
		libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
		random.seed(1)
		model = bytearray()
		fd = os.open(f"{work}/mnt/file", os.O_RDWR | os.O_CREAT)

		def put(at, data):
		    model.extend(bytes(max(0, at - len(model))))
		    model[at:at + len(data)] = data

		def write():
		    at, data = random.randrange(MOST - (1 << 16)), random.randbytes(random.randint(1, 1 << 16))
		    if os.pwrite(fd, data, at) != len(data):
		        sys.exit("a short write")
		    put(at, data)

		def in_file():
		    at = random.randrange(len(model))
		    return at, random.randint(1, min(1 << 16, len(model) - at))

		def map_write():
		    at, length = in_file()
		    data = random.randbytes(length)
		    with mmap.mmap(fd, len(model)) as area:
		        area[at:at + length] = data
		    put(at, data)

		def fallocate(mode):
		    at, length = in_file()
		    if libc.fallocate(fd, mode | KEEP_SIZE, at, length):
		        sys.exit(f"fallocate: {os.strerror(ctypes.get_errno())}")
		    put(at, bytes(length))

		def truncate():
		    size = random.randint(1, MOST)
		    os.ftruncate(fd, size)
		    put(size, b"")
		    del model[size:]

		write()
		for mark in range(marks):
		    for _ in range(40):
		        random.choice((write, write, map_write, truncate, lambda: fallocate(PUNCH_HOLE),
		                       lambda: fallocate(ZERO_RANGE)))()
		    os.fsync(fd)
		    subprocess.run(["dmsetup", "message", "power", "0", f"mark mark-{mark}"], check=True)
		    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
		    if os.pread(fd, MOST + 1, 0) != model:
		        sys.exit(f"mark {mark}: the file differs from its model")
		    with open(f"{work}/mark-{mark}", "wb") as file:
		        file.write(model)
	END
	umount $work/mnt && return "$status"
}

# tree DISK: copy a tree of files to an xfs on the disk for each mark, and flush the file system
tree() {
	local mark status=0

	mkfs.xfs -q -f "/dev/$1" && mount "/dev/$1" $work/mnt || return
	for ((mark = 0; !status && mark < marks; mark++)); do
		cp -a "$KDAPL_DIR/selftests" $work/mnt/tree-$mark && sync -f $work/mnt &&
			dmsetup message power 0 mark mark-$mark || status=1
		dd if=/dev/urandom of=$work/mnt/unflushed-$mark bs=64k count=8 status=none
	done
	umount $work/mnt && return "$status"
}

# replay MARK: $work/image is the device after a power cut at this mark
replay() {
	python3 - $work/record "$1" $work/image $size <<-'END'
		import struct, sys
		DISCARD, MARK = 4, 8
		record, wanted, image, size = sys.argv[1:]
		with open(record, "rb") as log, open(image, "wb") as out:
		    out.truncate(int(size))
		    magic, version, entries, sector = struct.unpack("<QQQI", log.read(28))
		    if magic != 0x6a736677736872 or version != 1:
		        sys.exit("expected a record of dm-log-writes")
		    at, writes = sector, 0
		    for _ in range(entries):
		        log.seek(at)
		        where, sectors, flags, length = struct.unpack("<QQQQ", log.read(32))
		        at += sector
		        if flags & MARK:
		            if log.read(length).rstrip(b"\0").decode() == wanted:
		                print(f"{writes} writes until {wanted}")
		                sys.exit(0)
		            continue
		        out.seek(where * 512)
		        if flags & DISCARD:
		            out.write(bytes(sectors * 512))
		            continue
		        log.seek(at)
		        out.write(log.read(sectors * 512))
		        at += sectors * 512
		        writes += 1
		sys.exit(f"the record has no {wanted}")
	END
}

# with_image COMMAND...: run the command with the image of the server's ext4 mounted
with_image() {
	local status=0

	mount -o loop $work/image $work/mnt || return
	"$@" || status=1
	umount $work/mnt && return "$status"
}

# What a mark promises: of a disk on a block device, on a file, and of files, a file and trees on a
# disk
block_has() { cmp -n $area "$work/mark-$1" $work/image; }
old_area() { cmp -n $area "$work/mark-$1" $work/mnt/disk; }
file_has() { with_image old_area "$1"; }
old_files() {
	local mark

	for ((mark = 0; mark <= $1; mark++)); do
		cmp "$work/mark-$mark" "$work/mnt/file-$mark" || return
	done
}
files_have() { with_image old_files "$1" && e2fsck -fn $work/image >$work/fsck 2>&1; }

old_file() { cmp "$work/mark-$1" $work/mnt/file; }
model_has() { with_image old_file "$1" && e2fsck -fn $work/image >$work/fsck 2>&1; }

old_trees() {
	local mark

	for ((mark = 0; mark <= $1; mark++)); do
		diff -r "$KDAPL_DIR/selftests" $work/mnt/tree-$mark || return
	done
}
# The mount replays the log of the xfs, which xfs_repair expects
trees_have() { with_image old_trees "$1" && xfs_repair -n $work/image >$work/repair 2>&1; }

# each_mark COMMAND...: the command is true of a power cut at each mark
each_mark() {
	local mark

	for ((mark = 0; mark < marks; mark++)); do
		if ! replay mark-$mark || ! "$@" $mark; then
			echo "after a power cut at mark $mark"
			return 1
		fi
	done
}

# power_cuts PATH WRITE CHECK: export the path, run WRITE with a disk on it, and CHECK for each mark
power_cuts() {
	local status=0

	export_device "$1" && attach || return
	"$2" "$disk" || status=1
	detach && rmdir $devices/power || return
	# The server closes the device later
	! mountpoint -q $work/server || wait_for umount $work/server || return
	unlogged && [ "$status" = 0 ] && each_mark "$3"
}

on_block() { logged_device && power_cuts /dev/mapper/power "$@"; }

# The smallest xfs has 300 MiB
on_large_block() {
	size=$((320 << 20))
	on_block "$@"
}

on_file() {
	logged_device && mkfs.ext4 -q /dev/mapper/power && mount /dev/mapper/power $work/server &&
		dd if=/dev/zero of=$work/server/disk bs=1M count=16 conv=fsync status=none &&
		power_cuts $work/server/disk "$@"
}

start() {
	mkdir -p $work && mount -t tmpfs -o size=900m tmpfs $work && mkdir $work/mnt $work/server || return
	modprobe -q configfs && modprobe -q loop && modprobe -q ext4 && modprobe -q xfs && modprobe -q crc32c
	[ -d $config ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko" &&
		mkdir $config/ports/p0 && echo rxe0/1 >$config/ports/p0/ia && echo 1 >$config/ports/p0/enable
}

tap_plan 6
rxe_setup
if ! tap_check "modules load, a port listens" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "a power cut keeps what a disk on a block device has flushed" on_block acknowledge block_has
tap_check "a power cut keeps what a disk on a file has flushed" on_file acknowledge file_has
tap_check "a power cut keeps the files that an ext4 on a disk has flushed" on_block files files_have
tap_check "a power cut keeps what random changes of a file on an ext4 have flushed" on_block model model_has
tap_check "a power cut keeps the trees of files that an xfs on a disk has flushed" on_large_block tree trees_have
