// SPDX-License-Identifier: GPL-2.0
/*
 * The disks of a session: they log in, go live, wait, fail and leave. A session has one disk, or
 * all disks that share the connections to a server. The connection requests log in one of them, and
 * LOGIN commands log in the others. A disk that the server refuses does not hold up the others.
 *
 * Process context, remote->lock held. Allocations do not wait for I/O, because it may be I/O of
 * these disks.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include "client.h"
#include "protocol/trace.h"

/* A session that is being renewed counts as good for this time */
#define RENEWAL		(30 * HZ)

/**
 * datblk_disk_quiesce - hold back the requests of a disk
 * @disk: the disk; nothing happens if it fails its requests
 *
 * Context: process, remote->lock held.
 */
void datblk_disk_quiesce(struct datblk_disk *disk)
{
	if (disk->quiesced || disk->state >= DATBLK_FAILING)
		return;
	blk_mq_quiesce_queue(disk->gendisk->queue);
	disk->quiesced = true;
}

/**
 * datblk_disk_resume - dispatch the requests of a disk again
 * @disk: a disk that is logged in, or that fails its requests
 *
 * Context: process, remote->lock held.
 */
void datblk_disk_resume(struct datblk_disk *disk)
{
	if (disk->quiesced)
		blk_mq_unquiesce_queue(disk->gendisk->queue);
	disk->quiesced = false;
	blk_mq_kick_requeue_list(disk->gendisk->queue);
}

/*
 * Gives a disk a login number that no other login of the session has. One is free, because
 * datblk_tags_reserve() limits the number of disks.
 */
static void datblk_disk_take_number(struct datblk_disk *disk)
{
	disk->login = ffz(disk->remote->logins);
	disk->remote->logins |= BIT(disk->login);
}

/**
 * datblk_disk_log_out - end the logins of a disk
 * @disk: a disk without requests in flight; nothing happens if it is not logged in
 *
 * The session stays open if other disks are logged in. Otherwise it is closed, because the server
 * would end connections without a login; disks that were left out wait for the next session.
 *
 * Context: process, remote->lock held.
 */
void datblk_disk_log_out(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;
	unsigned int i;
	int err = 0;

	if (!disk->logged_in)
		return;
	disk->logged_in = false;
	if (remote->open && remote->logins == BIT(disk->login)) {
		datblk_session_close(remote);
		datblk_session_lost(remote);
		return;
	}
	for (i = 0; !err && remote->open && i < remote->options.queues; i++)
		err = datblk_logout(&remote->queues[i], disk);
	if (err)
		datblk_session_lost(remote);
	remote->logins &= ~BIT(disk->login);
}

/**
 * datblk_disk_log_in - log a disk in to the session
 * @disk: a disk that is not logged in
 *
 * Context: process, remote->lock held; the session is open.
 * Return: 0 or a negative error code, and then remote->reason says why.
 */
int datblk_disk_log_in(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;
	unsigned int i;
	int err = 0;

	datblk_disk_take_number(disk);
	disk->incarnation++;
	for (i = 0; !err && i < remote->options.queues; i++)
		err = datblk_login_again(&remote->queues[i], disk);
	if (!err) {
		disk->logged_in = true;
		return 0;
	}
	/* The number is free once the queues that have logged in have logged out */
	for (i--; i && !READ_ONCE(remote->lost); i--)
		if (datblk_logout(&remote->queues[i - 1], disk))
			datblk_session_lost(remote);
	remote->logins &= ~BIT(disk->login);
	return err;
}

/* Has the client just closed a good session in order to renew it? */
static bool datblk_session_renewing(const struct datblk_remote *remote)
{
	return remote->renewing && time_before(jiffies, remote->renewed + RENEWAL);
}

static bool datblk_disk_expired(const struct datblk_disk *disk, unsigned int seconds)
{
	return seconds && time_after_eq(jiffies, disk->good_at + seconds * HZ);
}

/* A removal does not wait for a connection, unless a good one is being renewed */
static bool datblk_disk_unwanted(const struct datblk_disk *disk)
{
	return datblk_session_renewing(disk->remote) ? datblk_disk_removal_expired(disk) :
						       READ_ONCE(disk->deleting);
}

/**
 * datblk_disk_waits - does a disk want to use the next session?
 * @disk: the disk
 *
 * A dead disk does not, even if a probe succeeds later.
 *
 * Context: process, remote->lock held.
 * Return: true if it does.
 */
bool datblk_disk_waits(const struct datblk_disk *disk)
{
	return disk->state != DATBLK_DEAD && !datblk_disk_unwanted(disk);
}

/**
 * datblk_disk_live - let requests of a disk use the session
 * @disk: a disk that is logged in
 *
 * If the session was lost meanwhile, the work item recover takes the disk out of it again. The loss
 * has queued that work if the state of the server is LIVE; otherwise the caller checks for the loss
 * after it has set that state.
 *
 * Context: process, remote->lock held.
 */
void datblk_disk_live(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;

	if (datblk_writes_session(&disk->writes, disk->geo.instance)) {
		pr_err("datblk%d: %s may have lost writes that were not flushed: flushes fail until the disk is opened anew\n",
		       disk->id, datblk_path(remote)->address);
		datblk_kept_forget(&disk->kept);
	}
	disk->had_session = true;
	WRITE_ONCE(disk->reason, NULL);
	trace_datblk_session(disk->id, disk->number, disk->incarnation, remote->path, true);
	/* Pairs with the acquire in queue_rq(): the session is complete */
	smp_store_release(&disk->state, DATBLK_LIVE);
}

/**
 * datblk_disk_take_changes - tell the block layer what has changed since the last session
 * @disk: a disk that is logged in, and is about to go live again
 *
 * Context: process, remote->lock held.
 */
void datblk_disk_take_changes(struct datblk_disk *disk)
{
	if (disk->geo.capacity != get_capacity(disk->gendisk))
		set_capacity_and_notify(disk->gendisk, disk->geo.capacity);
	set_disk_ro(disk->gendisk, disk->geo.flags & DATBLK_READONLY);
	disk->recoveries++;
	pr_info_ratelimited("datblk%d: connected to %s again\n", disk->id,
			    datblk_path(disk->remote)->address);
}

/**
 * datblk_disk_check - check that the device is the same as before, and repeat writes
 * @disk: a disk that is logged in; no request of the session is in flight
 *
 * The description of the device changes only on success.
 *
 * Context: process, remote->lock held.
 * Return: 0 or a negative error code, and then remote->reason says why.
 */
int datblk_disk_check(struct datblk_disk *disk)
{
	struct datblk_geometry was = disk->geo;
	const char *changed = datblk_device_changed(&was, &disk->next_geo);
	int err = -ENODEV;

	disk->changed = memcmp(&was, &disk->next_geo, sizeof(was));
	if (!changed) {
		disk->geo = disk->next_geo;
		err = datblk_resubmit(disk);
	}
	if (!err)
		return 0;
	if (changed)
		disk->remote->reason = changed;
	disk->geo = was;
	return err;
}

/**
 * datblk_disk_fail - fail waiting requests if a timeout has expired, or the disk is being removed
 * @disk: a disk that is not logged in
 *
 * Context: process, remote->lock held.
 */
void datblk_disk_fail(struct datblk_disk *disk)
{
	bool dead = datblk_disk_expired(disk, disk->options.reconnect_timeout);

	if (disk->state == DATBLK_DEAD)
		return;
	if (!dead && !datblk_disk_unwanted(disk) &&
	    !datblk_disk_expired(disk, disk->options.fail_io_timeout))
		return;
	if (dead)
		pr_err("datblk%d: no connection for %u s, giving up: %s\n", disk->id,
		       disk->options.reconnect_timeout, disk->reason ?: "connections break");
	WRITE_ONCE(disk->state, dead ? DATBLK_DEAD : DATBLK_FAILING);
	datblk_disk_resume(disk);
}

/**
 * datblk_session_fail_others - call datblk_disk_fail() for each disk that is not logged in
 * @remote: their server
 *
 * A disk that is being removed does not try to log in, so its requests must fail here.
 *
 * Context: process, remote->lock held.
 */
void datblk_session_fail_others(struct datblk_remote *remote)
{
	struct datblk_disk *disk;

	list_for_each_entry(disk, &remote->disks, of_remote)
		if (!disk->logged_in)
			datblk_disk_fail(disk);
}

/**
 * datblk_disk_leave_out - let a disk wait while the others use the session
 * @disk: a disk that cannot log in, or whose device is another one; remote->reason says why
 * @err:  what the login returned. After -EBUSY nobody knows whether the device has changed, and the
 *	  disk is not to blame for the end of the last session.
 *
 * Context: process, remote->lock held.
 */
void datblk_disk_leave_out(struct datblk_disk *disk, int err)
{
	const char *reason = disk->remote->reason;

	if (err == -EBUSY)
		disk->changed = false;
	if (reason != disk->reason && disk->state != DATBLK_CONNECTING)
		pr_warn("datblk%d: no login to %s, device %s: %s\n", disk->id,
			datblk_path(disk->remote)->address, disk->options.device, reason);
	WRITE_ONCE(disk->reason, reason);
}

/**
 * datblk_disk_join - let a disk use a session that other disks already use
 * @disk: a disk that has had a session before, and is not logged in
 *
 * Context: process, remote->lock held.
 * Return: 0 or a negative error code, and then remote->reason says why.
 */
int datblk_disk_join(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;
	const char *changed;
	int err = datblk_disk_log_in(disk);

	if (err)
		return err;
	changed = datblk_device_changed(&disk->geo, &disk->next_geo);
	if (changed) {
		remote->reason = changed;
		datblk_disk_log_out(disk);
		return -ENODEV;
	}
	/* See datblk_session_find_fault(): the server has refused the disk until now */
	if (memcmp(&disk->geo, &disk->next_geo, sizeof(disk->geo)))
		WRITE_ONCE(disk->at_fault, true);
	disk->geo = disk->next_geo;
	datblk_disk_take_changes(disk);
	datblk_disk_live(disk);
	datblk_disk_resume(disk);
	return 0;
}

/**
 * datblk_session_find_fault - find the disks that may have ended the last session
 * @remote: a server with a session that is about to go live
 *
 * The server ends the connections of all disks when one device has lost writes, has changed, or has
 * been disabled. The requests of the other disks did not cause that. A disk that used the last
 * session and has not logged in again counts as changed. If no disk has changed, each disk may have
 * ended the session.
 *
 * Context: process, remote->lock held.
 */
void datblk_session_find_fault(struct datblk_remote *remote)
{
	struct datblk_disk *disk;
	bool found = false;

	list_for_each_entry(disk, &remote->disks, of_remote)
		found = found || disk->changed;
	list_for_each_entry(disk, &remote->disks, of_remote) {
		WRITE_ONCE(disk->at_fault, disk->changed || !found);
		disk->changed = false;
	}
}
