// SPDX-License-Identifier: GPL-2.0
/*
 * Connects a disk for the first time, over its own connections or over those of other disks, and
 * removes it. control.c calls these functions, in process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/sched/mm.h>
#include "client.h"

/* A removal fails the requests that have not completed after this time */
#define REMOVAL		(30 * HZ)
/* The first connection waits for the I/O of earlier ones */
#define BUSY_TIMEOUT	(10 * HZ)
#define BUSY_MS		100

/* Tries each path once. Stops at the first one over which the server says that it still has I/O */
static int datblk_disk_try_paths(struct datblk_disk *disk, bool print_busy)
{
	struct datblk_remote *remote = disk->remote;
	bool more;
	int err;

	do {
		err = datblk_session_open(remote);
		if (!err)
			return 0;
		if (err != -EBUSY || print_busy)
			pr_err("cannot connect to %s, device %s: %s\n",
			       datblk_path(remote)->address, disk->options.device, remote->reason);
		more = datblk_path_next(remote, err, remote->reason);
	} while (more && !READ_ONCE(disk->deleting) && !fatal_signal_pending(current));
	return err;
}

/* The server refuses the login while earlier connections of this host have I/O */
static int datblk_disk_open_session(struct datblk_disk *disk)
{
	unsigned long end = jiffies + BUSY_TIMEOUT;
	unsigned int tried;
	bool last;
	int err;

	do {
		tried = disk->remote->tried;
		last = time_after_eq(jiffies, end);
		err = datblk_disk_try_paths(disk, last);
		/* Paths that do not answer have taken that time */
		if (disk->remote->tried != tried) {
			end = jiffies + BUSY_TIMEOUT;
			last = false;
		}
	} while (err == -EBUSY && !last && !READ_ONCE(disk->deleting) &&
		 !msleep_interruptible(BUSY_MS));
	return err;
}

/* Connects the first disk of a server. remote->lock held. After an error it has no gendisk */
static int datblk_disk_connect_first(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;
	int err;

	list_add(&disk->of_remote, &remote->disks);
	err = datblk_paths_limit_io(remote) ?: datblk_disk_open_session(disk);
	if (err)
		goto unlist;
	err = datblk_disk_make(disk);
	if (err)
		goto close;
	WRITE_ONCE(remote->members, 1);
	remote->ready = true;
	datblk_session_live(remote);
	return 0;
close:
	datblk_session_close(remote);
unlist:
	list_del(&disk->of_remote);
	return err;
}

/* Logs another disk in. remote->lock held. Returns -ESTALE if it cannot use the connections */
static int datblk_disk_log_in_first(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;
	int err;

	if (READ_ONCE(remote->removed) || READ_ONCE(remote->state) != DATBLK_LIVE ||
	    datblk_tags_reserve(remote))
		return -ESTALE;
	err = datblk_disk_log_in(disk);
	if (!err)
		return 0;
	WRITE_ONCE(remote->members, remote->members - 1);
	if (READ_ONCE(remote->lost))
		return -ESTALE;
	if (err != -EBUSY)
		pr_err("cannot log in to %s, device %s: %s\n", datblk_path(remote)->address,
		       disk->options.device, remote->reason);
	return err;
}

static void datblk_disk_unmake(struct datblk_disk *disk)
{
	put_disk(disk->gendisk);
	blk_mq_free_tag_set(&disk->set);
	disk->gendisk = NULL;
}

/*
 * Connects another disk. remote->lock held, but not while the gendisk is allocated: that waits for
 * a CPU to go offline, which waits for requests of the other disks, and these may need a new
 * session. Returns -ESTALE if the session has been lost meanwhile.
 */
static int datblk_disk_connect_next(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;
	int err = datblk_disk_log_in_first(disk);
	u32 session = remote->sessions;

	if (err)
		return err;
	mutex_unlock(&remote->lock);
	err = datblk_disk_make(disk);
	mutex_lock(&remote->lock);
	if (!err && session == remote->sessions && !READ_ONCE(remote->removed) &&
	    READ_ONCE(remote->state) == DATBLK_LIVE) {
		list_add_tail(&disk->of_remote, &remote->disks);
		datblk_disk_live(disk);
		return 0;
	}
	if (!err)
		datblk_disk_unmake(disk);
	if (session == remote->sessions)
		datblk_disk_log_out(disk);
	disk->logged_in = false;
	WRITE_ONCE(remote->members, remote->members - 1);
	return err ?: -ESTALE;
}

/*
 * The server refuses the login while earlier connections of this host have I/O. This function then
 * tries again. It also tries again if this disk has no other connections to fall back to: other
 * disks have opened those of its server first, and have lost them, or have left no room for it.
 */
static int datblk_disk_connect_session(struct datblk_disk *disk)
{
	unsigned long end = jiffies + BUSY_TIMEOUT;
	struct datblk_remote *remote = disk->remote;
	unsigned int noio = memalloc_noio_save();
	bool again;
	int err;

	do {
		err = -EINTR;
		again = false;
		if (mutex_lock_killable(&remote->lock))
			break;
		again = remote->ready;
		err = again ? datblk_disk_connect_next(disk) : datblk_disk_connect_first(disk);
		mutex_unlock(&remote->lock);
		again = again && (err == -EBUSY || (err == -ESTALE && !disk->spare));
	} while (again && time_before(jiffies, end) &&
		 !READ_ONCE(disk->deleting) && !msleep_interruptible(BUSY_MS));
	memalloc_noio_restore(noio);
	if (again)
		pr_err("cannot log in to %s, device %s: %s\n", datblk_path(remote)->address,
		       disk->options.device,
		       err == -EBUSY ? datblk_refusal_text(DATBLK_REFUSE_BUSY) :
				       "the shared connections cannot be used");
	return err;
}

/*
 * Removes a disk without requests from its server. remote->lock held. Returns whether it was the
 * last disk.
 */
static bool datblk_disk_unlist(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;

	list_del(&disk->of_remote);
	WRITE_ONCE(remote->members, remote->members - 1);
	if (list_empty(&remote->disks)) {
		WRITE_ONCE(remote->removed, true);
		return true;
	}
	datblk_tags_forget(remote, disk->gendisk->queue);
	datblk_disk_log_out(disk);
	if (remote->leader == disk)
		WRITE_ONCE(remote->leader, datblk_first_disk(remote));
	datblk_session_choose_leader(remote);
	return false;
}

/*
 * Removes a disk from its server, and ends the session if it was the last disk. A probe may still
 * use the disk. It is cancelled without the lock, because it may wait for a server.
 */
static void datblk_disk_leave(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;
	unsigned int noio = memalloc_noio_save();
	bool last;

	mutex_lock(&remote->lock);
	last = datblk_disk_unlist(disk);
	mutex_unlock(&remote->lock);
	memalloc_noio_restore(noio);
	if (last) {
		datblk_session_end(remote);
		return;
	}
	cancel_delayed_work_sync(&remote->probe);
	datblk_probe_later(remote);
}

/**
 * datblk_disk_connect - connect a disk for the first time, and announce it
 * @disk: a disk with its options and its number
 *
 * The disk goes live before it is added, because adding it reads the partition table. The block
 * layer calls datblk_disk_released() only for a disk that was added.
 *
 * Context: process.
 * Return: 0 or a negative error code; -ESTALE: the connections of the other disks cannot be used.
 */
int datblk_disk_connect(struct datblk_disk *disk)
{
	int err = datblk_disk_connect_session(disk);

	if (err)
		return err;
	err = datblk_disk_announce(disk);
	if (!err) {
		datblk_debugfs_add(disk);
		return 0;
	}
	WRITE_ONCE(disk->deleting, true);
	datblk_disk_leave(disk);
	datblk_disk_unmake(disk);
	return err;
}

/**
 * datblk_disk_abort - fail the requests of a disk that is being added
 * @disk: the disk; another task is in datblk_disk_connect()
 *
 * Adding the disk reads its partition table, which may take forever.
 *
 * Context: process, datblk_disks_lock held.
 */
void datblk_disk_abort(struct datblk_disk *disk)
{
	WRITE_ONCE(disk->deadline, jiffies);
	WRITE_ONCE(disk->deleting, true);
	/* While this disk does not use the session yet, do not end that of other disks */
	if (READ_ONCE(disk->state) != DATBLK_CONNECTING ||
	    refcount_read(&disk->remote->users) == 1)
		datblk_session_lost(disk->remote);
	/* It may be waiting for another session, or have read deleting before it was set */
	if (READ_ONCE(disk->state) != DATBLK_CONNECTING)
		mod_delayed_work(datblk_wq, &disk->remote->recover, 0);
}

/**
 * datblk_disk_removal_expired - has a removal waited long enough for the requests of its disk?
 * @disk: the disk
 *
 * Context: any.
 * Return: true if the session must end, so that the requests fail.
 */
bool datblk_disk_removal_expired(const struct datblk_disk *disk)
{
	return READ_ONCE(disk->deleting) && time_after(jiffies, READ_ONCE(disk->deadline));
}

/**
 * datblk_disk_remove - remove a disk
 * @disk: a disk that nobody else removes; put_disk() frees it when nobody has it open
 *
 * Dirty data is written first, if there is a connection.
 *
 * Context: process.
 */
void datblk_disk_remove(struct datblk_disk *disk)
{
	WRITE_ONCE(disk->deadline, jiffies + REMOVAL);
	WRITE_ONCE(disk->deleting, true);
	/* Without a connection, let requests fail now */
	if (READ_ONCE(disk->state) != DATBLK_LIVE)
		mod_delayed_work(datblk_wq, &disk->remote->recover, 0);
	datblk_debugfs_remove(disk);
	del_gendisk(disk->gendisk);
	datblk_disk_leave(disk);
	blk_mq_free_tag_set(&disk->set);
}
