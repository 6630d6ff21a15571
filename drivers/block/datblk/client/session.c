// SPDX-License-Identifier: GPL-2.0
/*
 * The session with a server: the connections of all queues, and the IAs of the paths that they use.
 * If one of them is lost, all are closed and connected again, over other paths. An abrupt close of
 * an IA returns when nothing of its connections can reach the memory of a request; only then are
 * requests issued again.
 *
 * Process context with remote->lock held, except datblk_session_lost(), datblk_session_used(),
 * datblk_session_recover() and datblk_session_end().
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

/* Connects a queue. The IA of its path may be open, because another queue uses the path */
static int datblk_session_connect(struct datblk_remote *remote, struct datblk_queue *queue)
{
	unsigned int number = datblk_path_for(remote, queue->index);
	struct datblk_path *path = &remote->paths[number];
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	WRITE_ONCE(remote->path, number);
	WRITE_ONCE(queue->path, path);
	if (path->ia == DAT_HANDLE_NULL && dat_ia_open(path->ia_name, 8, &async, &path->ia)) {
		path->ia = DAT_HANDLE_NULL;
		remote->reason = "the IA cannot be opened";
		return -ENODEV;
	}
	return datblk_queue_open(queue);
}

/* Connects all queues, which logs in one disk. After an error the session is closed */
static int datblk_session_open_for(struct datblk_remote *remote, struct datblk_disk *disk)
{
	unsigned int i;
	int err = 0;

	disk->incarnation++;
	remote->sessions++;
	WRITE_ONCE(remote->leader, disk);
	remote->number = disk->number;
	remote->refused = false;
	WRITE_ONCE(remote->ended, 0);
	WRITE_ONCE(remote->answering, 0);
	WRITE_ONCE(remote->open, true);
	remote->had_command = false;
	remote->greeted = false;
	remote->had_answer = false;
	remote->had_pong = false;
	WRITE_ONCE(remote->lost, false);
	for (i = 0; !err && i < remote->options.queues; i++)
		err = datblk_session_connect(remote, &remote->queues[i]);
	if (err) {
		datblk_session_close(remote);
		return err;
	}
	disk->login = 0;
	disk->logged_in = true;
	remote->logins = BIT(0);
	return 0;
}

/**
 * datblk_session_open - connect all queues, over the paths whose turn it is
 * @remote: a server whose session is closed
 *
 * Each disk that waits for a session logs in. A disk that the server refuses keeps waiting.
 *
 * Context: process.
 * Return: 0 if a disk is logged in, or a negative error code; then the session is closed,
 * remote->reason says why, and remote->path over which path.
 */
int datblk_session_open(struct datblk_remote *remote)
{
	struct datblk_disk *disk;
	bool busy = false;
	int err = -ENODEV;

	remote->reason = "the disk is being removed";
	list_for_each_entry(disk, &remote->disks, of_remote) {
		if (!datblk_disk_waits(disk))
			continue;
		err = datblk_session_open_for(remote, disk);
		if (!err || !remote->refused || list_is_singular(&remote->disks))
			break;
		busy = busy || err == -EBUSY;
		datblk_disk_leave_out(disk, err);
	}
	if (err)
		return busy && remote->refused ? -EBUSY : err;
	list_for_each_entry(disk, &remote->disks, of_remote) {
		if (disk->logged_in || !datblk_disk_waits(disk) || READ_ONCE(remote->lost))
			continue;
		err = datblk_disk_log_in(disk);
		if (err)
			datblk_disk_leave_out(disk, err);
	}
	remote->reason = NULL;
	remote->refused = false;
	WRITE_ONCE(remote->path, datblk_path_for(remote, 0));
	return 0;
}

/**
 * datblk_session_choose_leader - choose a disk for the logins of probes
 * @remote: a server with a session
 *
 * Nothing changes if the leader is logged in. A probe may still use the previous leader, so a disk
 * that leaves waits for the probe.
 *
 * Context: process.
 */
void datblk_session_choose_leader(struct datblk_remote *remote)
{
	struct datblk_disk *disk;

	list_for_each_entry(disk, &remote->disks, of_remote)
		if (disk->logged_in && !remote->leader->logged_in)
			WRITE_ONCE(remote->leader, disk);
}

/**
 * datblk_session_close - end all connections to a server
 * @remote: the server; nothing happens if its session is closed
 *
 * Context: process.
 */
void datblk_session_close(struct datblk_remote *remote)
{
	struct datblk_disk *disk;
	unsigned int i;

	WRITE_ONCE(remote->open, false);
	list_for_each_entry(disk, &remote->disks, of_remote)
		disk->logged_in = false;
	for (i = 0; i < remote->path_count; i++) {
		if (remote->paths[i].ia != DAT_HANDLE_NULL)
			dat_ia_close(remote->paths[i].ia, DAT_CLOSE_ABRUPT_FLAG);
		remote->paths[i].ia = DAT_HANDLE_NULL;
	}
	for (i = 0; i < remote->options.queues; i++)
		datblk_queue_drop(&remote->queues[i]);
}

/**
 * datblk_session_lost - note that a session cannot be used any more
 * @remote: the server
 *
 * Context: any.
 */
void datblk_session_lost(struct datblk_remote *remote)
{
	/* datblk_session_live() checks this after it has changed the state */
	smp_store_mb(remote->lost, true);
	if (cmpxchg(&remote->state, DATBLK_LIVE, DATBLK_RECOVERING) == DATBLK_LIVE)
		mod_delayed_work(datblk_wq, &remote->recover, 0);
	wake_up(&remote->repeated);
}

static void datblk_session_quiesce(struct datblk_remote *remote)
{
	struct datblk_disk *disk;

	list_for_each_entry(disk, &remote->disks, of_remote)
		datblk_disk_quiesce(disk);
}

static void datblk_session_resume(struct datblk_remote *remote)
{
	struct datblk_disk *disk;

	list_for_each_entry(disk, &remote->disks, of_remote)
		if (disk->logged_in || disk->state >= DATBLK_FAILING)
			datblk_disk_resume(disk);
}

/* Takes the disks out of a session that is closed, or is about to be closed */
static void datblk_session_disks_recover(struct datblk_remote *remote)
{
	struct datblk_disk *disk;

	list_for_each_entry(disk, &remote->disks, of_remote) {
		if (disk->state != DATBLK_LIVE)
			continue;
		WRITE_ONCE(disk->state, DATBLK_RECOVERING);
		/* datblk_disk_check() clears this if the device of the disk is unchanged */
		disk->changed = true;
		trace_datblk_session(disk->id, disk->number, disk->incarnation, remote->path,
				     false);
	}
}

/**
 * datblk_session_ended - decide when to connect again, and whether the timeouts restart
 * @remote: a server whose session has ended
 *
 * The client goes on to other paths. It connects at once if the session has answered a command, or
 * if a path is left that has not been tried since the last answer. The timeouts restart after a
 * session in which the server has answered anything, or which has had no command. The time before
 * the first command of any other session does not count: nobody waited for an answer.
 *
 * Context: process.
 * Return: whether to connect at once.
 */
bool datblk_session_ended(struct datblk_remote *remote)
{
	bool at_once = datblk_path_next(remote, -ECONNRESET, "the connection was lost");
	bool good = remote->had_answer || remote->had_pong || !remote->had_command;
	struct datblk_disk *disk;

	list_for_each_entry(disk, &remote->disks, of_remote) {
		if (!disk->had_session)
			continue;
		disk->had_session = false;
		if (good)
			disk->good_at = jiffies;
		else
			disk->good_at += READ_ONCE(remote->command_at) - remote->live_at;
	}
	if (!remote->had_answer)
		return at_once;
	remote->backoff = 0;
	remote->tried = 0;
	return true;
}

/**
 * datblk_session_used - note that the session has had a command
 * @remote: the server
 *
 * Context: any.
 */
void datblk_session_used(struct datblk_remote *remote)
{
	if (READ_ONCE(remote->had_command))
		return;
	WRITE_ONCE(remote->command_at, jiffies);
	WRITE_ONCE(remote->had_command, true);
}

/* If a connection has ended, its path is to blame, not that of the first queue */
static void datblk_session_blame(struct datblk_remote *remote)
{
	unsigned long ended = READ_ONCE(remote->ended);

	if (ended)
		WRITE_ONCE(remote->path, __ffs(ended));
}

/* Takes back all requests of the old connections. Returns whether to connect at once */
static bool datblk_session_drain(struct datblk_remote *remote)
{
	struct datblk_disk *disk;

	datblk_session_quiesce(remote);
	datblk_session_close(remote);
	datblk_session_blame(remote);
	datblk_session_disks_recover(remote);
	list_for_each_entry(disk, &remote->disks, of_remote) {
		pr_warn_ratelimited("datblk%d: connection to %s lost\n", disk->id,
				    datblk_path(remote)->address);
		blk_mq_tagset_busy_iter(&disk->set, datblk_request_cancel, NULL);
		blk_mq_tagset_wait_completed_request(&disk->set);
	}
	return datblk_session_ended(remote);
}

/**
 * datblk_session_live - let requests use a session that has been opened
 * @remote: the server
 *
 * Context: process.
 */
void datblk_session_live(struct datblk_remote *remote)
{
	struct datblk_disk *disk;

	datblk_paths_live(remote);
	remote->renewing = false;
	remote->live_at = jiffies;
	list_for_each_entry(disk, &remote->disks, of_remote)
		if (disk->logged_in)
			datblk_disk_live(disk);
	/* Pairs with the barrier in datblk_session_lost() */
	smp_store_mb(remote->state, DATBLK_LIVE);
	if (READ_ONCE(remote->lost))
		datblk_session_lost(remote);
	datblk_probe_session(remote);
}

static void datblk_session_go_live(struct datblk_remote *remote)
{
	struct datblk_disk *disk;

	remote->login_backoff = 0;
	datblk_session_find_fault(remote);
	list_for_each_entry(disk, &remote->disks, of_remote)
		if (disk->logged_in)
			datblk_disk_take_changes(disk);
	datblk_session_live(remote);
	datblk_session_resume(remote);
}

/*
 * Checks the device of each disk that has logged in, and logs out the disks whose device is another
 * one. Returns 0 if at least one disk stays.
 */
static int datblk_session_check(struct datblk_remote *remote)
{
	unsigned int left = hweight16(remote->logins);
	struct datblk_disk *disk;
	int err = 0;

	list_for_each_entry(disk, &remote->disks, of_remote) {
		if (!disk->logged_in)
			continue;
		err = datblk_disk_check(disk);
		if (!err)
			continue;
		if (READ_ONCE(remote->lost) || !--left)
			return err;
		datblk_disk_leave_out(disk, err);
		datblk_disk_log_out(disk);
	}
	datblk_session_choose_leader(remote);
	return 0;
}

/* Connects again */
static int datblk_session_reopen(struct datblk_remote *remote)
{
	int err = datblk_session_open(remote) ?: datblk_session_check(remote);

	if (err && remote->open) {
		datblk_session_close(remote);
		datblk_session_blame(remote);
	}
	return err;
}

/*
 * Logs each change of the reason of a path, one line for each disk that waits. Returns true if a
 * disk is connected. Otherwise @at_once receives whether to try the next path without a delay.
 */
static bool datblk_session_reconnect(struct datblk_remote *remote, bool *at_once)
{
	int err = datblk_session_reopen(remote);
	const struct datblk_path *path = datblk_path(remote);
	struct datblk_disk *disk;

	if (!err)
		return true;
	list_for_each_entry(disk, &remote->disks, of_remote) {
		if (!datblk_disk_waits(disk) ||
		    (remote->refused && !list_is_singular(&remote->disks)))
			continue;
		if (remote->reason != path->reason)
			pr_warn("datblk%d: no connection to %s, device %s: %s\n", disk->id,
				path->address, disk->options.device, remote->reason);
		WRITE_ONCE(disk->reason, remote->reason);
	}
	*at_once = datblk_path_next(remote, err, remote->reason);
	if (!*at_once && err != -EBUSY)
		remote->renewing = false;
	return false;
}

/* Does a disk wait for a session? */
static bool datblk_session_wanted(const struct datblk_remote *remote)
{
	const struct datblk_disk *disk;

	list_for_each_entry(disk, &remote->disks, of_remote)
		if (datblk_disk_waits(disk))
			return true;
	return false;
}

/* A random delay, so that the disks of all clients do not reconnect at the same time */
static void datblk_session_try_later(struct datblk_remote *remote, unsigned int *backoff)
{
	unsigned int ms = clamp_t(unsigned int, *backoff, BACKOFF_MIN, BACKOFF_MAX);

	/* This does not postpone a run that a loss or a removal has queued meanwhile */
	queue_delayed_work(datblk_wq, &remote->recover,
			   msecs_to_jiffies(ms / 2 + get_random_u32() % ms));
	*backoff = ms * 2;
}

static bool datblk_session_deleting(const struct datblk_remote *remote)
{
	const struct datblk_disk *disk;

	list_for_each_entry(disk, &remote->disks, of_remote)
		if (READ_ONCE(disk->deleting))
			return true;
	return false;
}

/* Calls @kind for each command in flight */
static void datblk_session_iterate(struct datblk_remote *remote, busy_tag_iter_fn *kind,
				   void *data)
{
	struct datblk_disk *disk;

	list_for_each_entry(disk, &remote->disks, of_remote)
		blk_mq_tagset_busy_iter(&disk->set, kind, data);
}

/* Waits until @kind finds no command any more. Returns false if that takes too long */
static bool datblk_session_wait(struct datblk_remote *remote, busy_tag_iter_fn *kind)
{
	unsigned long end = jiffies + SETTLE;
	bool found;

	for (;;) {
		found = false;
		datblk_session_iterate(remote, kind, &found);
		if (!found || READ_ONCE(remote->lost) || datblk_session_deleting(remote) ||
		    time_after(jiffies, end))
			return !found;
		msleep(SETTLE_POLL_MS);
	}
}

/*
 * Waits until no command is in flight, and holds others back. If a command takes long, such as a
 * flush, no other one has to wait for it. Returns false if the session stays.
 */
static bool datblk_session_settle(struct datblk_remote *remote)
{
	datblk_session_iterate(remote, datblk_request_mark, NULL);
	if (!datblk_session_wait(remote, datblk_request_old))
		return false;
	datblk_probe_renewal(remote);
	datblk_session_quiesce(remote);
	return datblk_session_wait(remote, datblk_request_busy) && !datblk_session_deleting(remote);
}

/*
 * Closes a good session that has no command in flight, if the server would admit the next one over
 * paths that had failed. Returns whether another session is needed. If the session was lost
 * meanwhile, it is still open.
 */
static bool datblk_session_renew(struct datblk_remote *remote)
{
	unsigned long paths = xchg(&remote->answering, 0) & datblk_paths_failed(remote);
	struct datblk_disk *disk;

	if (!paths)
		return false;
	if (!datblk_session_settle(remote)) {
		datblk_session_resume(remote);
		datblk_probe_later(remote);
		return false;
	}
	if (cmpxchg(&remote->state, DATBLK_LIVE, DATBLK_RECOVERING) != DATBLK_LIVE)
		return true;
	datblk_session_disks_recover(remote);
	datblk_session_close(remote);
	datblk_paths_restore(remote, paths);
	remote->renewing = true;
	list_for_each_entry(disk, &remote->disks, of_remote) {
		if (disk->had_session)
			disk->good_at = jiffies;
		disk->had_session = false;
	}
	remote->backoff = 0;
	remote->tried = 0;
	return true;
}

/* If disks that were left out wait for the session, schedules another attempt to log them in */
static void datblk_session_wait_for_disks(struct datblk_remote *remote)
{
	struct datblk_disk *disk;
	bool found = false;

	list_for_each_entry(disk, &remote->disks, of_remote)
		found = found || (!disk->logged_in && datblk_disk_waits(disk));
	if (found)
		datblk_session_try_later(remote, &remote->login_backoff);
}

/* Logs the disks that were left out in to the session that the others use */
static void datblk_session_admit_waiting(struct datblk_remote *remote)
{
	struct datblk_disk *disk;
	int err;

	list_for_each_entry(disk, &remote->disks, of_remote) {
		if (disk->logged_in || READ_ONCE(remote->lost))
			continue;
		if (datblk_disk_waits(disk)) {
			err = datblk_disk_join(disk);
			if (!err)
				continue;
			datblk_disk_leave_out(disk, err);
		}
		datblk_disk_fail(disk);
	}
	datblk_session_wait_for_disks(remote);
}

static void datblk_session_replace(struct datblk_remote *remote)
{
	bool at_once = true;

	if (READ_ONCE(remote->removed)) {
		datblk_session_close(remote);
		return;
	}
	/* In any other state, the next loss of the session would not queue this work */
	if (remote->open && !READ_ONCE(remote->lost) && READ_ONCE(remote->state) == DATBLK_LIVE &&
	    !datblk_session_renew(remote)) {
		datblk_session_admit_waiting(remote);
		return;
	}
	if (remote->open)
		at_once = datblk_session_drain(remote);
	if (at_once && datblk_session_wanted(remote) &&
	    datblk_session_reconnect(remote, &at_once)) {
		datblk_session_go_live(remote);
		datblk_session_fail_others(remote);
		datblk_session_wait_for_disks(remote);
		return;
	}
	datblk_session_fail_others(remote);
	if (!datblk_session_wanted(remote))
		return;
	if (at_once)
		mod_delayed_work(datblk_wq, &remote->recover, 0);
	else
		datblk_session_try_later(remote, &remote->backoff);
}

/**
 * datblk_session_recover - replace the session with a server
 * @work: in the server
 *
 * Context: process. Memory may only be free when the disks work again, so allocations do not wait
 * for I/O.
 */
void datblk_session_recover(struct work_struct *work)
{
	struct datblk_remote *remote = container_of(to_delayed_work(work), struct datblk_remote,
						    recover);
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&remote->lock);
	datblk_session_replace(remote);
	mutex_unlock(&remote->lock);
	memalloc_noio_restore(noio);
}

/**
 * datblk_session_end - close the session with a server for good
 * @remote: a server whose last disk is being removed, and has no requests
 *
 * The work item closes it, because an upcall may have queued the work item just now. When it is
 * closed, there are no more upcalls.
 *
 * Context: process.
 */
void datblk_session_end(struct datblk_remote *remote)
{
	WRITE_ONCE(remote->removed, true);
	mod_delayed_work(datblk_wq, &remote->recover, 0);
	flush_delayed_work(&remote->recover);
	cancel_delayed_work_sync(&remote->recover);
	/* The probe may queue recover again, which then only closes the session */
	cancel_delayed_work_sync(&remote->probe);
	cancel_delayed_work_sync(&remote->recover);
	/* An upcall may have postponed the run that closes it, and the line above cancelled it */
	datblk_session_close(remote);
}
