// SPDX-License-Identifier: GPL-2.0
/*
 * The session of a disk: the connections of all queues, and the IAs of the paths that they use. If
 * one of them is lost, all are closed and connected again, over other paths. An abrupt close of an
 * IA returns when nothing of its connections can reach the memory of a request; only then are
 * requests issued again.
 *
 * Process context, except datblk_session_lost().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "client.h"
#include "protocol/trace.h"

#define BACKOFF_MIN	100	/* ms */
#define BACKOFF_MAX	5000

/* A session is renewed only if each command ends in this time */
#define SETTLE		(5 * HZ)
#define SETTLE_POLL_MS	5
/* A session that is being renewed counts as good for this time */
#define RENEWAL		(30 * HZ)

/* Connects a queue. The IA of its path may be open, because another queue uses the path */
static int datblk_session_connect(struct datblk_disk *disk, struct datblk_queue *queue)
{
	unsigned int number = datblk_path_for(disk, queue->index);
	struct datblk_path *path = &disk->paths[number];
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	WRITE_ONCE(disk->path, number);
	WRITE_ONCE(queue->path, path);
	if (path->ia == DAT_HANDLE_NULL && dat_ia_open(path->ia_name, 8, &async, &path->ia)) {
		path->ia = DAT_HANDLE_NULL;
		disk->reason = "the IA cannot be opened";
		return -ENODEV;
	}
	return datblk_queue_open(queue);
}

/**
 * datblk_session_open - connect all queues of a disk, over the paths whose turn it is
 * @disk: a disk whose session is closed
 *
 * Context: process.
 * Return: 0 or a negative error code; then the session is closed, disk->reason says why, and
 * disk->path over which path.
 */
int datblk_session_open(struct datblk_disk *disk)
{
	unsigned int i;
	int err = 0;

	disk->incarnation++;
	WRITE_ONCE(disk->ended, 0);
	WRITE_ONCE(disk->answering, 0);
	WRITE_ONCE(disk->open, true);
	disk->had_command = false;
	disk->greeted = false;
	disk->had_answer = false;
	disk->had_pong = false;
	WRITE_ONCE(disk->lost, false);
	for (i = 0; !err && i < disk->options.queues; i++)
		err = datblk_session_connect(disk, &disk->queues[i]);
	if (err) {
		datblk_session_close(disk);
		return err;
	}
	disk->reason = NULL;
	WRITE_ONCE(disk->path, datblk_path_for(disk, 0));
	return 0;
}

/**
 * datblk_session_close - end all connections of a disk
 * @disk: the disk; nothing happens if its session is closed
 *
 * Context: process.
 */
void datblk_session_close(struct datblk_disk *disk)
{
	unsigned int i;

	WRITE_ONCE(disk->open, false);
	for (i = 0; i < disk->path_count; i++) {
		if (disk->paths[i].ia != DAT_HANDLE_NULL)
			dat_ia_close(disk->paths[i].ia, DAT_CLOSE_ABRUPT_FLAG);
		disk->paths[i].ia = DAT_HANDLE_NULL;
	}
	for (i = 0; i < disk->options.queues; i++)
		datblk_queue_drop(&disk->queues[i]);
}

/**
 * datblk_session_lost - a connection of a disk cannot be used any more
 * @disk: the disk
 *
 * Context: any.
 */
void datblk_session_lost(struct datblk_disk *disk)
{
	/* A disk that is about to go live looks at this after it has changed its state */
	smp_store_mb(disk->lost, true);
	if (cmpxchg(&disk->state, DATBLK_LIVE, DATBLK_RECOVERING) == DATBLK_LIVE)
		mod_delayed_work(datblk_wq, &disk->recover, 0);
	wake_up(&disk->repeated);
}

static void datblk_session_quiesce(struct datblk_disk *disk)
{
	if (!disk->quiesced)
		blk_mq_quiesce_queue(disk->gendisk->queue);
	disk->quiesced = true;
}

static void datblk_session_resume(struct datblk_disk *disk)
{
	if (disk->quiesced)
		blk_mq_unquiesce_queue(disk->gendisk->queue);
	disk->quiesced = false;
	blk_mq_kick_requeue_list(disk->gendisk->queue);
}

/**
 * datblk_session_ended - decide when to connect again, and whether the timeouts restart
 * @disk: a disk whose session has ended
 *
 * The client goes on to other paths. It connects at once if the session has answered a command, or
 * if a path is left that has not been tried since the last answer. The timeouts restart after a
 * session in which the server has answered anything, or which has had no command. The time before
 * the first command of any other session does not count: nobody waited for an answer.
 *
 * Context: process.
 * Return: whether to connect at once.
 */
bool datblk_session_ended(struct datblk_disk *disk)
{
	bool at_once = datblk_path_next(disk, -ECONNRESET, "the connection was lost");

	if (disk->had_answer || disk->had_pong || !disk->had_command)
		disk->good_at = jiffies;
	else
		disk->good_at += READ_ONCE(disk->command_at) - disk->live_at;
	if (!disk->had_answer)
		return at_once;
	disk->backoff = 0;
	disk->tried = 0;
	return true;
}

/**
 * datblk_session_used - note that the session has had a command
 * @disk: the disk
 *
 * Context: any.
 */
void datblk_session_used(struct datblk_disk *disk)
{
	if (READ_ONCE(disk->had_command))
		return;
	WRITE_ONCE(disk->command_at, jiffies);
	WRITE_ONCE(disk->had_command, true);
}

/* If a connection has ended, its path is to blame, not that of the first queue */
static void datblk_session_blame(struct datblk_disk *disk)
{
	unsigned long ended = READ_ONCE(disk->ended);

	if (ended)
		WRITE_ONCE(disk->path, __ffs(ended));
}

/* Takes back all requests of the old connections. Returns whether to connect at once */
static bool datblk_session_drain(struct datblk_disk *disk)
{
	datblk_session_quiesce(disk);
	datblk_session_close(disk);
	datblk_session_blame(disk);
	pr_warn_ratelimited("datblk%d: connection to %s lost\n", disk->id,
			    datblk_path(disk)->address);
	trace_datblk_session(disk->id, disk->number, disk->incarnation, disk->path, false);
	blk_mq_tagset_busy_iter(&disk->set, datblk_request_cancel, NULL);
	blk_mq_tagset_wait_completed_request(&disk->set);
	return datblk_session_ended(disk);
}

/* Has the client itself just closed a good session? */
static bool datblk_session_renewing(const struct datblk_disk *disk)
{
	return disk->renewing && time_before(jiffies, disk->renewed + RENEWAL);
}

static bool datblk_session_expired(const struct datblk_disk *disk, unsigned int seconds)
{
	return seconds && time_after_eq(jiffies, disk->good_at + seconds * HZ);
}

/**
 * datblk_session_live - let requests use a session that has been opened
 * @disk: the disk
 *
 * Context: process.
 */
void datblk_session_live(struct datblk_disk *disk)
{
	if (datblk_writes_session(&disk->writes, disk->geo.instance)) {
		pr_err("datblk%d: %s may have lost writes that were not flushed: flushes fail until the disk is opened anew\n",
		       disk->id, datblk_path(disk)->address);
		datblk_kept_forget(&disk->kept);
	}
	datblk_paths_live(disk);
	disk->renewing = false;
	disk->live_at = jiffies;
	trace_datblk_session(disk->id, disk->number, disk->incarnation, disk->path, true);
	/* Pairs with the acquire in queue_rq(): the session is complete */
	smp_store_release(&disk->state, DATBLK_LIVE);
	/* Pairs with the barrier in datblk_session_lost() */
	smp_mb();
	if (READ_ONCE(disk->lost))
		datblk_session_lost(disk);
	datblk_probe_session(disk);
}

static void datblk_session_go_live(struct datblk_disk *disk)
{
	if (disk->geo.capacity != get_capacity(disk->gendisk))
		set_capacity_and_notify(disk->gendisk, disk->geo.capacity);
	set_disk_ro(disk->gendisk, disk->geo.flags & DATBLK_READONLY);
	disk->recoveries++;
	pr_info_ratelimited("datblk%d: connected to %s again\n", disk->id,
			    datblk_path(disk)->address);
	datblk_session_live(disk);
	datblk_session_resume(disk);
}

/* Connects again. The description of the device changes only with success */
static int datblk_session_reopen(struct datblk_disk *disk)
{
	struct datblk_geometry was = disk->geo;
	int err = datblk_session_open(disk);

	if (!err) {
		disk->reason = datblk_device_changed(&was, &disk->geo);
		err = disk->reason ? -ENODEV : datblk_resubmit(disk);
		if (!err)
			return 0;
		datblk_session_close(disk);
		datblk_session_blame(disk);
	}
	disk->geo = was;
	return err;
}

/*
 * Logs one line for each change of the reason of a path. Returns true if the disk is connected.
 * Otherwise @at_once receives whether to try the next path without a delay.
 */
static bool datblk_session_reconnect(struct datblk_disk *disk, bool *at_once)
{
	int err = datblk_session_reopen(disk);
	const struct datblk_path *path = datblk_path(disk);

	if (!err)
		return true;
	if (disk->reason != path->reason)
		pr_warn("datblk%d: no connection to %s, device %s: %s\n", disk->id,
			path->address, disk->options.device, disk->reason);
	*at_once = datblk_path_next(disk, err, disk->reason);
	if (!*at_once && err != -EBUSY)
		disk->renewing = false;
	return false;
}

/* A removal does not wait for a connection, unless a good one is being renewed */
static bool datblk_session_unwanted(const struct datblk_disk *disk)
{
	return datblk_session_renewing(disk) ? datblk_disk_removal_expired(disk) :
					       READ_ONCE(disk->deleting);
}

/* Without a connection, waiting requests fail once a timeout has expired */
static void datblk_session_fail(struct datblk_disk *disk)
{
	bool dead = datblk_session_expired(disk, disk->options.reconnect_timeout);

	if (!dead && !datblk_session_unwanted(disk) &&
	    !datblk_session_expired(disk, disk->options.fail_io_timeout))
		return;
	if (dead && disk->state != DATBLK_DEAD)
		pr_err("datblk%d: no connection for %u s, giving up: %s\n", disk->id,
		       disk->options.reconnect_timeout, disk->reason ?: "connections break");
	WRITE_ONCE(disk->state, dead ? DATBLK_DEAD : DATBLK_FAILING);
	datblk_session_resume(disk);
}

/* A random delay, so that the disks of all clients do not reconnect at the same time */
static void datblk_session_try_later(struct datblk_disk *disk)
{
	unsigned int ms = clamp_t(unsigned int, disk->backoff, BACKOFF_MIN, BACKOFF_MAX);

	mod_delayed_work(datblk_wq, &disk->recover,
			 msecs_to_jiffies(ms / 2 + get_random_u32() % ms));
	disk->backoff = ms * 2;
}

/* Waits until @kind finds no command any more. Returns false if that takes too long */
static bool datblk_session_wait(struct datblk_disk *disk, busy_tag_iter_fn *kind)
{
	unsigned long end = jiffies + SETTLE;
	bool found;

	for (;;) {
		found = false;
		blk_mq_tagset_busy_iter(&disk->set, kind, &found);
		if (!found || READ_ONCE(disk->lost) || READ_ONCE(disk->deleting) ||
		    time_after(jiffies, end))
			return !found;
		msleep(SETTLE_POLL_MS);
	}
}

/*
 * Waits until no command is in flight, and holds others back. If a command takes long, such as a
 * flush, no other one has to wait for it. Returns false if the session stays.
 */
static bool datblk_session_settle(struct datblk_disk *disk)
{
	blk_mq_tagset_busy_iter(&disk->set, datblk_request_mark, NULL);
	if (!datblk_session_wait(disk, datblk_request_old))
		return false;
	datblk_probe_renewal(disk);
	datblk_session_quiesce(disk);
	return datblk_session_wait(disk, datblk_request_busy) && !READ_ONCE(disk->deleting);
}

/*
 * Closes a good session that has no command in flight, if the server would admit the next one over
 * paths that had failed. Returns whether another session is needed. If the session was lost
 * meanwhile, it is still open.
 */
static bool datblk_session_renew(struct datblk_disk *disk)
{
	unsigned long paths = xchg(&disk->answering, 0) & datblk_paths_failed(disk);

	if (!paths)
		return false;
	if (!datblk_session_settle(disk)) {
		datblk_session_resume(disk);
		datblk_probe_later(disk);
		return false;
	}
	if (cmpxchg(&disk->state, DATBLK_LIVE, DATBLK_RECOVERING) != DATBLK_LIVE)
		return true;
	trace_datblk_session(disk->id, disk->number, disk->incarnation, disk->path, false);
	datblk_session_close(disk);
	datblk_paths_restore(disk, paths);
	disk->renewing = true;
	disk->good_at = jiffies;
	disk->backoff = 0;
	disk->tried = 0;
	return true;
}

static void datblk_session_replace(struct datblk_disk *disk)
{
	bool at_once = true;

	if (READ_ONCE(disk->removed)) {
		datblk_session_close(disk);
		return;
	}
	/* A late probe does not revive it */
	if (disk->state == DATBLK_DEAD)
		return;
	/* In any other state nobody would start this work for the next loss */
	if (disk->open && !READ_ONCE(disk->lost) && READ_ONCE(disk->state) == DATBLK_LIVE &&
	    !datblk_session_renew(disk))
		return;
	if (disk->open)
		at_once = datblk_session_drain(disk);
	if (at_once && !datblk_session_unwanted(disk) &&
	    datblk_session_reconnect(disk, &at_once)) {
		datblk_session_go_live(disk);
		return;
	}
	datblk_session_fail(disk);
	if (datblk_session_unwanted(disk) || disk->state == DATBLK_DEAD)
		return;
	if (at_once)
		mod_delayed_work(datblk_wq, &disk->recover, 0);
	else
		datblk_session_try_later(disk);
}

/**
 * datblk_session_recover - replace the session of a disk
 * @work: in the disk
 *
 * Context: process. Memory may only be free when the disk works again, so allocations do not wait
 * for I/O.
 */
void datblk_session_recover(struct work_struct *work)
{
	struct datblk_disk *disk = container_of(to_delayed_work(work), struct datblk_disk, recover);
	unsigned int noio = memalloc_noio_save();

	datblk_session_replace(disk);
	memalloc_noio_restore(noio);
}

/**
 * datblk_session_end - close the session of a disk for good
 * @disk: a disk that is being deleted, without requests
 *
 * The work item closes it, because an upcall may have queued the work item just now. When it is
 * closed, there are no more upcalls.
 *
 * Context: process.
 */
void datblk_session_end(struct datblk_disk *disk)
{
	WRITE_ONCE(disk->removed, true);
	mod_delayed_work(datblk_wq, &disk->recover, 0);
	flush_delayed_work(&disk->recover);
	cancel_delayed_work_sync(&disk->recover);
	/* The probe may queue recover again, which then only closes the session */
	cancel_delayed_work_sync(&disk->probe);
	cancel_delayed_work_sync(&disk->recover);
	/* An upcall may have postponed the run that closes it, and the line above cancelled it */
	datblk_session_close(disk);
}
