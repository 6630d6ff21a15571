#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# datblkctl, the command for disks and exports of the block device over DAT, with the kernel. Client
# and server are in one guest, over rxe.
# covers: what datblkctl writes is what the kernel understands, and its messages say what to do

. "${0%/*}/lib.sh"

if [ ! -e "$KDAPL_DIR/datblk_server.ko" ]; then
	tap_plan 1
	tap_skip "datblkctl" "this kernel has no configfs, which the server needs"
	exit
fi

tool=$KDAPL_DIR/datblk
work=/run/datblkctl
address=10.9.9.1
PATH=$tool:$PATH

tidy() {
	datblkctl disconnect --all --force
	rmdir /sys/kernel/config/datblk/*/* 2>/dev/null
	! loaded datblk_client || rmmod datblk_client
	! loaded datblk_server || wait_for rmmod datblk_server
	! loaded datblk_core || rmmod datblk_core
	umount "$work/files" /var/lib "$work" 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

start() {
	mkdir -p $work && mount -t tmpfs tmpfs $work && mount -t tmpfs tmpfs /var/lib &&
		truncate -s 16M $work/one $work/two $work/secret || return
	(umask 077; printf "%064d\n" 1 >$work/key)
	modprobe -q configfs
	[ -d /sys/kernel/config ] && mount -t configfs none /sys/kernel/config 2>/dev/null
	kdapl_insmod kdapl stretch="$KDAPL_FACTOR" && insmod "$KDAPL_DIR/datblk_core.ko" &&
		insmod "$KDAPL_DIR/datblk_server.ko" && insmod "$KDAPL_DIR/datblk_client.ko"
}

# json COMMAND PYTHON: the expression is true of what "datblkctl COMMAND --json" prints
json() {
	datblkctl "$1" --json >$work/json && python3 -c '
import json, sys
found = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]) and f"{sys.argv[2]}: {found}")' $work/json "$2"
}

serve() {
	datblkctl listen && datblkctl export one $work/one && datblkctl export two $work/two --read-only &&
		json exports "[e['enabled'] for e in found['exports']] == ['1', '1']" &&
		json exports "[e['read_only'] for e in found['exports']] == [False, True]" &&
		json exports "found['ports'][0]['ia'] == 'rxe0/1'"
}

# Exports that are disabled, or need a key, are not listed
discovered() {
	local devices=/sys/kernel/config/datblk/devices

	mkdir $devices/off && datblkctl export secret $work/secret --key-file $work/key || return
	datblkctl discover $address --json >$work/json && python3 - $work/json <<-'END' || return
		import json, sys
		found = [(e["export"], e["bytes"], e["read_only"]) for e in json.load(open(sys.argv[1]))]
		sys.exit(found != [("one", 16 << 20, False), ("two", 16 << 20, True)] and str(found))
	END
	echo 10.9.9.2 >$devices/one/clients && datblkctl discover $address >$work/list &&
		! grep one $work/list && grep two $work/list >/dev/null && echo >$devices/one/clients &&
		datblkctl unexport secret && rmdir $devices/off
}

connected() {
	[ "$(datblkctl connect $address one --queues 1)" = datblk0 ] &&
		[ "$(datblkctl connect $address two --depth 4)" = datblk1 ] &&
		[ "$(datblkctl connect $address two --once)" = datblk1 ] || return
	json list "[(d['export'], d['state'], d['bytes'], d['read_only']) for d in found] == [
		('one', 'live', 16 << 20, False), ('two', 'live', 16 << 20, True)]" &&
		json list "found[0]['queues'] == 1 and found[1]['depth'] == 4" &&
		json exports "len(found['exports'][0]['connections']) == 1"
}

# names DISK: the links that the rule of udev makes for the disk, and for the file system on it
names() {
	local fs=6ba7b810-9dad-11d1-80b4-00c04fd430c8 link

	mkdir -p /run/udev/rules.d && cp "$tool/60-datblk.rules" /run/udev/rules.d &&
		mkfs.ext4 -q -U $fs -L files "/dev/$1" || return
	"$KDAPL_DIR/udevadm" test "/sys/block/$1" >$work/udev 2>&1
	for link in "by-id/datblk-$(cat "/sys/block/$1/wwid")" "by-uuid/$fs" by-label/files; do
		grep "^DEVLINKS=.*/dev/disk/$link" $work/udev >/dev/null ||
			{ echo "no $link:"; tail -n 30 $work/udev; return 1; }
	done
}

rates() {
	dd if=/dev/zero of=/dev/datblk0 bs=64k count=64 oflag=direct status=none &
	datblkctl stat datblk0 --count 2 --json >$work/json
	wait $!
	python3 - $work/json <<-'END'
		import json, sys
		rows = [json.loads(line)[0] for line in open(sys.argv[1])]
		sys.exit(len(rows) != 2 or rows[0]["state"] != "live")
	END
}

# The export was removed and came back after writes that were not flushed, so a flush fails
errors() {
	local before

	before=$(cat /sys/block/datblk0/datblk/errors) && [ -n "$before" ] || return
	! dd if=/dev/zero of=/dev/datblk0 bs=4k count=1 conv=fsync status=none 2>/dev/null ||
		{ echo "the flush succeeded"; return 1; }
	datblkctl stat datblk0 --json >$work/json && python3 - $work/json "$before" <<-'END'
		import json, sys
		row = json.load(open(sys.argv[1]))[0]
		sys.exit(row["errors_in_all"] <= int(sys.argv[2]) and f"{sys.argv[2]}: {row}")
	END
}

# says TEXT COMMAND...: the command fails and prints the text
says() {
	local text=$1

	shift
	! "$@" >$work/said 2>&1 || { echo "it succeeded"; return 1; }
	grep -q -- "$text" $work/said || { cat $work/said; return 1; }
}

in_use() {
	exec 9<>/dev/datblk0 || return
	says --force datblkctl disconnect datblk0
	local status=$?

	exec 9>&-
	return "$status"
}

# uuid_of EXPORT
uuid_of() { cat "/sys/kernel/config/datblk/devices/$1/uuid"; }

# The UUID of an export stays with its file, also if that has another name
same_uuid() {
	local uuid

	uuid=$(uuid_of one) && datblkctl unexport one && mv $work/one $work/moved &&
		datblkctl export one $work/moved && [ "$(uuid_of one)" = "$uuid" ]
}

# Another file with the same name is not taken for it
other_file() {
	local uuid

	uuid=$(uuid_of two) && datblkctl unexport two && mv $work/two $work/old &&
		truncate -s 16M $work/two &&
		says "--uuid new" datblkctl export two $work/two --read-only &&
		datblkctl export two $work/old --read-only && [ "$(uuid_of two)" = "$uuid" ]
}

# state DISK STATE: is the disk in this state?
state() { [ "$(cat "/sys/block/$1/datblk/state")" = "$2" ]; }

# The server of a mounted disk is gone: after what the units do when a machine stops, the file
# system can be unmounted, and a disk with a connection is still there
server_gone() {
	wait_for state datblk0 live && wait_for state datblk1 live && mkfs.ext4 -q -F /dev/datblk0 &&
		mkdir -p $work/files && mount /dev/datblk0 $work/files || return
	dd if=/dev/zero of=$work/files/dirty bs=64k count=16 status=none && datblkctl unexport one &&
		wait_for state datblk0 recovering || return
	sync -f $work/files &
	datblkctl disconnect --lost 1 && umount $work/files || return
	# It ends. It reports the error unless another task of ext4 has met it before
	wait $!
	[ ! -e /sys/block/datblk0 ] && state datblk1 live
}

# A file on a network file system has what was written, and keeps its size. The guest has this one on
# 9p without a page cache: on Linux 6.12, a write to it does not advance its iterator
network_file() {
	local disk file=$KDAPL_DIR/network

	truncate -s 4M "$file" && datblkctl export network "$file" &&
		disk=$(datblkctl connect $address network) && head -c 1M /dev/urandom >$work/data &&
		timeout "$HANG" dd if=$work/data of="/dev/$disk" bs=64k seek=16 oflag=direct \
			conv=nocreat,fsync status=none && datblkctl disconnect "$disk" &&
		datblkctl unexport network && cmp -i 0:1M -n 1M $work/data "$file" &&
		[ "$(stat -c %s "$file")" = $((4 << 20)) ] && rm "$file"
}

removed() {
	datblkctl disconnect /dev/datblk1 && datblkctl disconnect --all && json list "found == []" &&
		datblkctl unexport two && datblkctl unlisten rxe0-1 &&
		json exports "found == {'exports': [], 'ports': []}"
}

tap_plan 19
if ! tap_check "modules load" start; then
	tap_diag "$(dmesg | tail -n 5)"
	exit 1
fi
tap_check "two files are exported" serve
tap_check "the exports that a client may use are discovered" discovered
tap_check "no server is found at another port" \
	says "No datblk server" datblkctl discover $address --qual 4422
tap_check "an IA that does not exist is named as the reason" \
	says "IA does not exist" datblkctl discover $address --ia none
tap_check "two disks are connected and listed" connected
if "$KDAPL_DIR/udevadm" --version >/dev/null 2>&1; then
	tap_check "udev names a disk by its UUID, and by its file system" names datblk0
else
	tap_skip "udev names a disk" "udevadm of the host does not run here"
fi
tap_check "rates are shown" rates
tap_check "a disk that is open is not removed" in_use
tap_check "an export with the name of another is refused" \
	says "is enabled" datblkctl export one $work/two
tap_check "a file that is exported is refused" says "in use" datblkctl export three $work/one
tap_check "a missing export is named as the reason" says "dmesg has the reason" \
	datblkctl connect $address none
tap_check "an address without a server" says "datblkctl connect: " datblkctl connect 10.9.9.77 one
tap_check "an export keeps its UUID" same_uuid
tap_check "a request that fails is counted" errors
tap_check "another file does not get the UUID" other_file
tap_check "a file system can be unmounted when its server is gone" server_gone
tap_check "a file on a network file system has what was written" network_file
tap_check "all is removed" removed
