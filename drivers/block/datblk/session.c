// SPDX-License-Identifier: GPL-2.0
/*
 * The session of a disk: the IA and the connections of all queues. If one of them is lost, all
 * are closed and connected again. An abrupt close of the IA returns when nothing of the old
 * connections can reach the memory of a request; only then are requests issued again.
 *
 * Process context, except datblk_session_lost().
 */
#include "client.h"

#define BACKOFF_MIN	100	/* ms */
#define BACKOFF_MAX	5000

/**
 * datblk_session_open - connect all queues of a disk
 * @disk: a disk whose session is closed
 *
 * Context: process.
 * Return: 0 or a negative error code; then the session is closed.
 */
int datblk_session_open(struct datblk_disk *disk)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	unsigned int i;
	int err = 0;

	if (dat_ia_open(disk->options.ia, 8, &async, &disk->ia))
		return -ENODEV;
	disk->incarnation++;
	disk->open = true;
	WRITE_ONCE(disk->lost, false);
	for (i = 0; !err && i < disk->options.queues; i++)
		err = datblk_queue_open(&disk->queues[i]);
	if (err)
		datblk_session_close(disk);
	return err;
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

	if (!disk->open)
		return;
	dat_ia_close(disk->ia, DAT_CLOSE_ABRUPT_FLAG);
	for (i = 0; i < disk->options.queues; i++)
		datblk_queue_close(&disk->queues[i]);
	disk->open = false;
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
}

static void quiesce(struct datblk_disk *disk)
{
	if (!disk->quiesced)
		blk_mq_quiesce_queue(disk->gendisk->queue);
	disk->quiesced = true;
}

static void resume(struct datblk_disk *disk)
{
	if (disk->quiesced)
		blk_mq_unquiesce_queue(disk->gendisk->queue);
	disk->quiesced = false;
	blk_mq_kick_requeue_list(disk->gendisk->queue);
}

/* Takes back all requests of the old connections */
static void drain(struct datblk_disk *disk)
{
	pr_warn("datblk%d: connection to %s lost\n", disk->id, disk->options.address);
	quiesce(disk);
	datblk_session_close(disk);
	blk_mq_tagset_busy_iter(&disk->set, datblk_request_cancel, NULL);
	blk_mq_tagset_wait_completed_request(&disk->set);
	disk->since = jiffies;
	disk->backoff = BACKOFF_MIN;
}

static bool must_fail(const struct datblk_disk *disk)
{
	unsigned int seconds = disk->options.fail_io_timeout;

	return READ_ONCE(disk->deleting) ||
	       (seconds && time_after_eq(jiffies, disk->since + seconds * HZ));
}

/**
 * datblk_session_live - let requests use a session that has been opened
 * @disk: the disk
 *
 * Context: process.
 */
void datblk_session_live(struct datblk_disk *disk)
{
	/* Pairs with the acquire in queue_rq(): the session is complete */
	smp_store_release(&disk->state, DATBLK_LIVE);
	/* Pairs with the barrier in datblk_session_lost() */
	smp_mb();
	if (READ_ONCE(disk->lost))
		datblk_session_lost(disk);
}

static void go_live(struct datblk_disk *disk)
{
	if (disk->geo.capacity != get_capacity(disk->gendisk))
		set_capacity_and_notify(disk->gendisk, disk->geo.capacity);
	disk->recoveries++;
	pr_info("datblk%d: connected to %s again\n", disk->id, disk->options.address);
	datblk_session_live(disk);
	resume(disk);
}

/* The block layer has been told about the block size: a device with another one is not the same */
static bool same_device(const struct datblk_disk *disk, const struct datblk_geometry *was)
{
	return disk->geo.logical == was->logical && disk->geo.flags == was->flags;
}

/* Connects again. The description of the device changes only with success */
static bool reopen(struct datblk_disk *disk)
{
	struct datblk_geometry was = disk->geo;

	if (!datblk_session_open(disk)) {
		if (same_device(disk, &was))
			return true;
		pr_warn_ratelimited("datblk%d: %s is another device now\n", disk->id,
				    disk->options.device);
		datblk_session_close(disk);
	}
	disk->geo = was;
	return false;
}

/**
 * datblk_session_recover - replace the session of a disk
 * @work: in the disk
 *
 * Context: process.
 */
void datblk_session_recover(struct work_struct *work)
{
	struct datblk_disk *disk = container_of(to_delayed_work(work), struct datblk_disk, recover);

	if (READ_ONCE(disk->removed)) {
		datblk_session_close(disk);
		return;
	}
	if (disk->open)
		drain(disk);
	if (!READ_ONCE(disk->deleting) && reopen(disk)) {
		go_live(disk);
		return;
	}
	if (must_fail(disk) && disk->state != DATBLK_FAILING) {
		WRITE_ONCE(disk->state, DATBLK_FAILING);
		resume(disk);
	}
	if (READ_ONCE(disk->deleting))
		return;
	mod_delayed_work(datblk_wq, &disk->recover, msecs_to_jiffies(disk->backoff));
	disk->backoff = min(disk->backoff * 2, (unsigned int)BACKOFF_MAX);
}

/**
 * datblk_session_end - close the session of a disk for ever
 * @disk: a disk that is being deleted, without requests
 *
 * The work item closes it, because an upcall may have queued the work item just now. When it is
 * closed, there are no more upcalls. Context: process.
 */
void datblk_session_end(struct datblk_disk *disk)
{
	WRITE_ONCE(disk->removed, true);
	mod_delayed_work(datblk_wq, &disk->recover, 0);
	flush_delayed_work(&disk->recover);
	cancel_delayed_work_sync(&disk->recover);
}
