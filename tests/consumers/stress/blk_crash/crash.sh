#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One of two guests connected by a wire: the server of a disk, or its client
#
#   crash.sh server|client
#
# tools/kdapl/check/run-two-guests runs it, as root, in a directory with the modules, and kills and
# restarts the server BLK_CRASHES times, when the client asks for it. Afterwards the wire loses
# large packets, and then it loses, duplicates and reorders packets. The client prints TAP.

# shellcheck source=tests/selftests/lib.sh
. "${KDAPL_DIR:-.}/selftests/lib.sh"
# shellcheck source=tests/consumers/stress/ledger/wire-lib.sh
. "${KDAPL_DIR:-.}/wire-lib.sh"

crashes=${BLK_CRASHES:-20}
server=10.77.0.1
config=/sys/kernel/config/datblk
work=/run/datblk-crash

# serve: the device is a file on an ext4. What the server has answered is in its page cache, until a
# flush
serve() {
	modprobe virtio_blk && modprobe ext4 && mkdir -p $work && wait_for test -b /dev/vda &&
		mount -t ext4 /dev/vda $work || return
	if [ ! -e $work/disk ]; then
		dd if=/dev/zero of=$work/disk bs=1M count=16 conv=fsync status=none && sync || return
	fi
	# By the size of the disk the client knows how often this guest has booted
	truncate -s +4K $work/disk && sync $work/disk || return
	modprobe -q configfs
	[ -d /sys/kernel/config ] && mount -t configfs none /sys/kernel/config 2>/dev/null
	insmod "$KDAPL_DIR/datblk_server.ko" && mkdir $config/devices/crash $config/ports/p0 &&
		echo $work/disk >$config/devices/crash/path &&
		echo 11111111-2222-4333-8444-555555555555 >$config/devices/crash/uuid &&
		echo 1 >$config/devices/crash/enable && echo rxe0/1 >$config/ports/p0/ia &&
		echo 1 >$config/ports/p0/enable
}

# connect: the server may still boot, so this tries again
connect() {
	local name

	exec 3<>/dev/datblk-control || return
	! echo "connect ia=rxe0/1 address=$server device=crash queues=2 reconnect_timeout=0" >&3 ||
		read -r name <&3
	exec 3>&-
	echo "$name" >$work/name
	[ -n "$name" ]
}

first_connect() {
	insmod "$KDAPL_DIR/datblk_client.ko" && mkdir -p $work || return
	until connect 2>/dev/null; do
		sleep 1
	done
}

# crash DISK: write, read and flush; ask for a crash of the server, and check what is there then.
# Prints one result for each crash.
#
# A block has one number, which grows with each write. After a flush that succeeded a block has its
# last number. After one that failed it may have any number since then; the disk is opened anew.
crash() {
	python3 - "$1" "$crashes" <<-'END'
		import mmap, os, random, struct, sys, threading, time

		DISK, CRASHES, BLOCK, BLOCKS = sys.argv[1], int(sys.argv[2]), 4096, 256
		random.seed(1)

		class Disk:
		    def __init__(self):
		        self.page, self.number = mmap.mmap(-1, BLOCK), 0
		        self.may = [{0} for _ in range(BLOCKS)]    # numbers that a block may have
		        self.last = [0] * BLOCKS
		        self.good = self.bad = 0
		        self.open()

		    def open(self):
		        self.fd = os.open(f"/dev/{DISK}", os.O_RDWR | os.O_DIRECT)

		    def write(self, block):
		        self.number += 1
		        self.page[:] = struct.pack("<Q", self.number) * (BLOCK // 8)
		        self.may[block].add(self.number)
		        os.pwritev(self.fd, [self.page], block * BLOCK)
		        self.last[block] = self.number

		    def flush(self):
		        """Returns whether it succeeded."""
		        try:
		            os.fsync(self.fd)
		        except OSError:
		            self.bad += 1
		            return False
		        self.may = [{last} for last in self.last]
		        self.good += 1
		        return True

		    def check(self):
		        for block in range(BLOCKS):
		            os.preadv(self.fd, [self.page], block * BLOCK)
		            found = set(struct.unpack(f"<{BLOCK // 8}Q", self.page[:]))
		            if not found <= self.may[block]:
		                raise AssertionError(f"block {block}: expected one of {sorted(self.may[block])}, "
		                                     f"found {sorted(found)}")

		    def renew(self):
		        """Nobody has the disk open any more: flushes succeed again."""
		        pause.clear()
		        for thread in threads:
		            thread.paused.wait()
		        os.close(self.fd)
		        self.open()
		        self.check()
		        for block in range(BLOCKS):
		            self.write(block)
		        if not self.flush():
		            raise AssertionError("a flush after the disk was opened anew: expected success")
		        self.check()
		        pause.set()

		class Load(threading.Thread):
		    """Writes behind the blocks, and keeps the disk open only meanwhile."""
		    def __init__(self):
		        super().__init__(daemon=True)
		        self.paused, self.page = threading.Event(), mmap.mmap(-1, 1 << 16)

		    def run(self):
		        while True:
		            self.paused.set()
		            pause.wait()
		            self.paused.clear()
		            if not pause.is_set():
		                continue
		            fd = os.open(f"/dev/{DISK}", os.O_RDWR | os.O_DIRECT)
		            while pause.is_set():
		                try:
		                    os.pwritev(fd, [self.page], (2 << 20) + random.randrange(128) * (1 << 16))
		                except OSError as error:
		                    print(f"# a write that nobody checks: {error}\nnot ok - load", flush=True)
		                    os._exit(1)
		            os.close(fd)

		def size():
		    with open(f"/sys/block/{DISK}/size") as file:
		        return int(file.read())

		def live_since(before):
		    """The disk uses a server that has booted since then. The size changes first."""
		    with open(f"/sys/block/{DISK}/datblk/state") as file:
		        return file.read().strip() == "live" and size() > before

		def some(disk, count):
		    for _ in range(count):
		        disk.write(random.randrange(BLOCKS))

		def one(disk, number):
		    before = size()
		    some(disk, 20)
		    if not disk.flush():
		        raise AssertionError("a flush of a healthy disk: expected success")
		    some(disk, 5)
		    print(f"# kill the server {number}", flush=True)
		    if number % 2:
		        # Without another write to a block, or a flush, until the server has booted again
		        while not live_since(before):
		            time.sleep(0.1)
		        if disk.flush():
		            raise AssertionError("answered writes are lost, and the flush succeeded")
		        disk.renew()
		        return "the flush failed"
		    failed = 0
		    while not live_since(before):
		        some(disk, random.randrange(1, 4))
		        if not disk.flush():
		            failed += 1
		            disk.renew()
		    disk.check()
		    return f"{failed} flushes failed"

		pause = threading.Event()
		threads = [Load(), Load()]
		pause.set()
		for thread in threads:
		    thread.start()
		disk = Disk()
		for number in range(1, CRASHES + 1):
		    try:
		        what = one(disk, number)
		    except (AssertionError, OSError) as error:
		        print(f"# crash {number}: {error}\nnot ok - what a flush has acknowledged is there", flush=True)
		        os._exit(1)
		    print(f"ok - crash {number}: what a flush has acknowledged is there; {what}", flush=True)
		print(f"# {disk.number} writes, {disk.good} flushes succeeded, {disk.bad} failed", flush=True)
		os._exit(0)
	END
}

if [ "$1" = server ]; then
	own=$server mac=52:54:00:6b:64:01
else
	own=10.77.0.2 mac=52:54:00:6b:64:02
	tap_plan $((crashes + 6))
fi
up() {
	# The filter of black_hole needs the qdisc
	wire_up napi_tx=N && queueing add dev "$dev" clsact && kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko"
}
if [ "$1" = server ]; then
	up && serve || exit 1
	echo "# serving"
	sleep infinity
fi
tap_check "rxe on the wire, modules load" up || exit 1
dev=$(wire)
tap_check "a disk is connected" first_connect || exit 1
disk=$(cat $work/name)
tap_relay < <(crash "$disk")
# Packets of 1,024 bytes and more do not arrive here: logins, pings and small reads work
hole() { tc filter add dev "$dev" ingress protocol ip u32 match u16 0x0400 0xfc00 at 2 action drop; }
filled() { tc filter del dev "$dev" ingress; }
read_some() { dd if="/dev/$disk" of=/dev/null bs="$1" count=1 iflag=direct status=none; }
is_live() { [ "$(cat "/sys/block/$disk/datblk/state")" = live ]; }

# The client asks for a sign of life each second, and gets one. Nevertheless a read that never
# arrives fails in the end, and the disk works again without the hole
black_hole() {
	local status=0

	echo 1000 >"/sys/block/$disk/queue/io_timeout" && hole || return
	read_some 512 || { filled; return 1; }
	! timeout "$((4 * HANG))" dd if="/dev/$disk" of=/dev/null bs=64k count=1 iflag=direct status=none \
		2>$work/error || { echo "a read succeeded through the hole"; status=1; }
	grep "Link has been severed" $work/error || { echo "the read has not ended"; status=1; }
	filled && wait_for is_live && read_some 64k && return "$status"
}
tap_check "a read fails that an MTU black hole swallows, and the disk works afterwards" black_hole

# copied BYTES: what is written in blocks of this size is read back
copied() {
	dd if=/dev/urandom of=$work/data bs=64k count=2 status=none &&
		dd if=$work/data of="/dev/$disk" bs="$1" oflag=direct conv=nocreat,fsync status=none &&
		dd if="/dev/$disk" bs="$1" count=$((128 * 1024 / $1)) iflag=direct status=none |
		cmp - $work/data
}

# netem takes the packets that this guest sends: commands, the data of writes, and the
# acknowledgments of reads. Its installation removes the RDMA device, so the disk connects again
lossy() {
	local before size

	echo $((30000 * KDAPL_FACTOR)) >"/sys/block/$disk/queue/io_timeout" && bad_wire &&
		wait_for is_live || return
	before=$(dropped)
	for size in 4096 16384 65536; do
		copied $size || return
	done
	until dropped_more_than "$before"; do
		copied 65536 || return
	done
}
tap_check "data are right while the wire loses, duplicates and reorders packets" lossy
removed() { echo "disconnect $disk" >/dev/datblk-control; }
tap_check "the disk is removed" removed
unload() { rmmod datblk_client && rmmod datblk_core && kdapl_unload; }
tap_check "all modules unload" unload
