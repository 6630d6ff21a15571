// SPDX-License-Identifier: GPL-2.0
/*
 * Writes that the server has answered, but not flushed: the client keeps copies of them in a ring,
 * and repeats them when the server may have lost them.
 *
 * Answers add writes, and flushes release them, in any context except hard interrupt. The owner of
 * the session repeats them, in process context, while the disk has no request in flight.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "client.h"

/* A position in the ring that no write has */
#define NOWHERE		U64_MAX

/* A repeat compares each write with all later ones with FUA, so the ring has a limited number */
#define FUA_STEP	(DATBLK_KEPT_FUA / DATBLK_KEPT_MARKS)

/**
 * datblk_kept_alloc - allocate the memory for the writes of a disk
 * @kept: zeroes
 * @kib:  its size; 0: no write is kept
 *
 * The disk frees @kept->ring with vfree().
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int datblk_kept_alloc(struct datblk_kept *kept, unsigned int kib)
{
	unsigned int i;

	spin_lock_init(&kept->lock);
	for (i = 0; i < ARRAY_SIZE(kept->copying); i++)
		kept->copying[i] = NOWHERE;
	if (!kib)
		return 0;
	kept->size = kib * 1024;
	kept->ring = vzalloc(kept->size);
	return kept->ring ? 0 : -ENOMEM;
}

/* Copies bytes at a position from the ring, or to the ring */
static void datblk_kept_copy(const struct datblk_kept *kept, u64 at, void *data, u32 length,
			     bool to_ring)
{
	while (length) {
		u32 offset = at % kept->size, part = min(length, kept->size - offset);

		if (to_ring)
			memcpy(kept->ring + offset, data, part);
		else
			memcpy(data, kept->ring + offset, part);
		at += part;
		data += part;
		length -= part;
	}
}

static u32 datblk_kept_data(const struct datblk_kept_write *write)
{
	return write->op == DATBLK_OP_WRITE && !(write->flags & DATBLK_FUA) ? write->length : 0;
}

/* The lock of kept is held. What is before this position can be overwritten */
static u64 datblk_kept_oldest(const struct datblk_kept *kept)
{
	u64 oldest = kept->tail;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kept->copying); i++)
		/* Pairs with the release in datblk_kept_add() */
		oldest = min(oldest, smp_load_acquire(&kept->copying[i]));
	return oldest;
}

/*
 * Counts a write with FUA. Every FUA_STEP-th one leaves a mark. Returns false if the ring has as
 * many as it may have. The lock of kept is held.
 */
static bool datblk_kept_count(struct datblk_kept *kept, u64 at)
{
	u64 *mark = &kept->marks[kept->fuas / FUA_STEP % DATBLK_KEPT_MARKS];

	if (kept->fuas % FUA_STEP == 0) {
		if (*mark > kept->tail)
			return false;
		*mark = at;
	}
	kept->fuas++;
	return true;
}

/* Returns the position of a write, or NOWHERE if it is not kept. The lock of kept is held */
static u64 datblk_kept_reserve(struct datblk_kept *kept, struct datblk_kept_write *write)
{
	u64 at = kept->head, bytes = sizeof(*write) + datblk_kept_data(write);

	if (at == kept->tail && write->flags & DATBLK_FUA)
		return NOWHERE;
	/* Writes that were dropped may have moved @at further than the size from the oldest one */
	if (at - datblk_kept_oldest(kept) + bytes > kept->size ||
	    (write->flags & DATBLK_FUA && !datblk_kept_count(kept, at))) {
		kept->head += sizeof(*write);
		kept->tail = kept->head;
		kept->dropped = kept->head;
		return NOWHERE;
	}
	write->fua = kept->fua;
	if (write->flags & DATBLK_FUA)
		kept->fua = at;
	kept->head += bytes;
	return at;
}

static void datblk_kept_store(const struct datblk_kept *kept, u64 at,
			      struct datblk_kept_write *write, struct request *rq)
{
	struct req_iterator iter;
	struct bio_vec bv;
	void *from;

	datblk_kept_copy(kept, at, write, sizeof(*write), true);
	if (!datblk_kept_data(write))
		return;
	at += sizeof(*write);
	rq_for_each_segment(bv, rq, iter) {
		from = bvec_kmap_local(&bv);
		datblk_kept_copy(kept, at, from, bv.bv_len, true);
		kunmap_local(from);
		at += bv.bv_len;
	}
}

/**
 * datblk_kept_add - keep a write that the server has answered
 * @kept:  writes of the disk
 * @queue: number of the queue, which adds one write at a time
 * @c:     the command of the write; nothing happens if it is a discard, whose loss does no harm
 * @rq:    the request of the write, which has not been completed
 *
 * If the ring has no room, or too many writes with FUA, all writes in it are dropped: what is
 * missing could not be repeated in its place. A write with FUA cannot be lost, so its data is not
 * kept. Its sector and length are kept if an earlier write is, because a repeat of the earlier
 * write must not overwrite it.
 *
 * The data is copied without the lock. No other write gets the place, even if this one is released
 * meanwhile.
 *
 * Context: any except hard interrupt.
 */
void datblk_kept_add(struct datblk_kept *kept, unsigned int queue, const struct datblk_command *c,
		     struct request *rq)
{
	struct datblk_kept_write write = {
		.sector = c->sector,
		.length = c->length,
		.op = c->op,
		.flags = c->flags & (DATBLK_NOUNMAP | DATBLK_FUA),
	};
	u64 at;

	if (!kept->ring || c->op == DATBLK_OP_DISCARD)
		return;
	spin_lock_bh(&kept->lock);
	at = datblk_kept_reserve(kept, &write);
	WRITE_ONCE(kept->copying[queue], at);
	spin_unlock_bh(&kept->lock);
	if (at == NOWHERE)
		return;
	datblk_kept_store(kept, at, &write, rq);
	/* Pairs with the acquire in datblk_kept_oldest() */
	smp_store_release(&kept->copying[queue], NOWHERE);
}

/**
 * datblk_kept_flushing - a flush is about to be sent
 * @kept: writes of the disk
 *
 * Context: any except hard interrupt.
 * Return: what the caller passes to datblk_kept_flushed() if the flush succeeds.
 */
u64 datblk_kept_flushing(struct datblk_kept *kept)
{
	u64 head;

	if (!kept->ring)
		return 0;
	spin_lock_bh(&kept->lock);
	head = kept->head;
	spin_unlock_bh(&kept->lock);
	return head;
}

/**
 * datblk_kept_flushed - a flush has succeeded: release what was kept before it was sent
 * @kept:   writes of the disk
 * @before: result of datblk_kept_flushing()
 *
 * Context: any except hard interrupt.
 */
void datblk_kept_flushed(struct datblk_kept *kept, u64 before)
{
	if (!kept->ring)
		return;
	spin_lock_bh(&kept->lock);
	kept->tail = max(kept->tail, before);
	if (before >= kept->dropped)
		kept->dropped = 0;
	spin_unlock_bh(&kept->lock);
}

/**
 * datblk_kept_forget - release all writes, because their loss has been reported
 * @kept: writes of the disk
 *
 * Context: process; the disk has no request in flight.
 */
void datblk_kept_forget(struct datblk_kept *kept)
{
	kept->tail = kept->head;
	kept->dropped = 0;
}

/**
 * datblk_kept_begin - begin to read the writes, the oldest one first
 * @kept:   writes of the disk
 * @cursor: receives the place before the first one
 *
 * Context: process; the disk has no request in flight.
 * Return: whether all writes since the last flush have been kept.
 */
bool datblk_kept_begin(struct datblk_kept *kept, struct datblk_kept_cursor *cursor)
{
	*cursor = (struct datblk_kept_cursor){ .next = kept->tail, .end = kept->head };
	return kept->ring && !kept->dropped;
}

static void datblk_kept_load(const struct datblk_kept *kept, struct datblk_kept_cursor *cursor)
{
	struct datblk_kept_write *write = &cursor->write;

	cursor->at = cursor->next;
	datblk_kept_copy(kept, cursor->at, write, sizeof(*write), false);
	cursor->data = cursor->at + sizeof(*write);
	cursor->next = cursor->data + datblk_kept_data(write);
	/* The server has it on stable storage */
	if (write->flags & DATBLK_FUA)
		write->length = 0;
}

/*
 * Narrows the current write down to its first part that no later write with FUA covers. The search
 * begins with the latest of these.
 */
static void datblk_kept_narrow(const struct datblk_kept *kept, struct datblk_kept_cursor *cursor)
{
	struct datblk_kept_write *write = &cursor->write, fua;
	u64 start = write->sector, end = start + write->length / DATBLK_SECTOR, to, at;
	u32 skipped;

	for (at = kept->fua; at > cursor->at; at = fua.fua) {
		datblk_kept_copy(kept, at, &fua, sizeof(fua), false);
		to = fua.sector + fua.length / DATBLK_SECTOR;
		if (fua.sector > start)
			end = min(end, fua.sector);
		else if (to > start)
			start = min(end, to);
	}
	skipped = (start - write->sector) * DATBLK_SECTOR;
	cursor->rest = write->length - skipped - (end - start) * DATBLK_SECTOR;
	cursor->data += skipped;
	write->sector = start;
	write->length = (end - start) * DATBLK_SECTOR;
}

/**
 * datblk_kept_next - have @cursor->write describe what is to be read next
 * @kept:   writes of the disk
 * @cursor: place in the ring
 *
 * Writes with FUA, and what they have overwritten, are left out. So a repeat never replaces stable
 * data by older data, even if it is interrupted.
 *
 * Context: as for datblk_kept_begin().
 * Return: false at the end.
 */
bool datblk_kept_next(const struct datblk_kept *kept, struct datblk_kept_cursor *cursor)
{
	while (!cursor->write.length) {
		if (cursor->rest)
			swap(cursor->write.length, cursor->rest);
		else if (cursor->next != cursor->end)
			datblk_kept_load(kept, cursor);
		else
			return false;
		datblk_kept_narrow(kept, cursor);
		cond_resched();
	}
	return true;
}

/**
 * datblk_kept_read - read a part of the current write
 * @kept:   writes of the disk
 * @cursor: place in the ring; moves to the next part
 * @to:     receives the data; NULL: the caller needs none
 * @length: bytes of the part, whole sectors, at most @cursor->write.length
 *
 * Context: as for datblk_kept_begin().
 */
void datblk_kept_read(const struct datblk_kept *kept, struct datblk_kept_cursor *cursor, void *to,
		      u32 length)
{
	if (to && cursor->write.op == DATBLK_OP_WRITE)
		datblk_kept_copy(kept, cursor->data, to, length, false);
	else if (to)
		memset(to, 0, length);
	cursor->data += length;
	cursor->write.sector += length / DATBLK_SECTOR;
	cursor->write.length -= length;
}

/**
 * datblk_resubmit_alloc - allocate what is needed to keep and repeat writes
 * @disk: a disk whose first session has been opened
 *
 * Context: process.
 * Return: 0, -ENOMEM, or -EOPNOTSUPP if the server takes no data in messages.
 */
int datblk_resubmit_alloc(struct datblk_disk *disk)
{
	int err = datblk_kept_alloc(&disk->kept, disk->options.resubmit_kib);

	if (err || !disk->kept.ring)
		return err;
	if (disk->remote->limits.inline_max < disk->geo.logical) {
		pr_err("resubmit_kib: %s takes no data in messages\n",
		       datblk_path(disk->remote)->address);
		return -EOPNOTSUPP;
	}
	disk->repeats = kvcalloc(disk->remote->limits.depth, sizeof(*disk->repeats), GFP_KERNEL);
	return disk->repeats ? 0 : -ENOMEM;
}

/* Fills in the command of a tag: the next write, or as much of it as one command takes */
static void datblk_resubmit_fill(struct datblk_disk *disk, struct datblk_kept_cursor *cursor,
				 u16 tag)
{
	u32 most = round_down(disk->remote->limits.inline_max, disk->geo.logical);
	struct datblk_pdu *pdu = &disk->repeats[tag];

	*pdu = (struct datblk_pdu){
		.own = true,
		.number = disk->number,
		.disk = disk,
		.c = {
			.op = DATBLK_OP_WRITE,
			.flags = DATBLK_INLINE,
			.tag = tag,
			.login = disk->login,
			.sector = cursor->write.sector,
		},
		.kept = cursor->write.op == DATBLK_OP_WRITE ? cursor->data : NOWHERE,
	};
	if (cursor->write.op == DATBLK_OP_ZEROES && disk->geo.zeroes_sectors) {
		most = min_t(u64, (u64)disk->geo.zeroes_sectors * DATBLK_SECTOR, U32_MAX);
		pdu->c.op = DATBLK_OP_ZEROES;
		pdu->c.flags = cursor->write.flags;
	}
	pdu->c.length = min(cursor->write.length, most);
	datblk_kept_read(&disk->kept, cursor, NULL, pdu->c.length);
}

/**
 * datblk_resubmit_data - copy the data of a repeated write to its message
 * @pdu: its command
 * @to:  receives the data
 *
 * Context: any except hard interrupt, queue->lock held.
 */
void datblk_resubmit_data(const struct datblk_pdu *pdu, void *to)
{
	if (pdu->kept == NOWHERE)
		memset(to, 0, pdu->c.length);
	else
		datblk_kept_copy(&pdu->disk->kept, pdu->kept, to, pdu->c.length, false);
}

/* Does the next write overlap one of these? They are executed in any order */
static bool datblk_resubmit_overlaps(const struct datblk_pdu *pdus, unsigned int count,
				     const struct datblk_kept_write *write)
{
	u64 end = write->sector + write->length / DATBLK_SECTOR;
	unsigned int i;

	for (i = 0; i < count; i++)
		if (pdus[i].c.sector < end &&
		    write->sector < pdus[i].c.sector + pdus[i].c.length / DATBLK_SECTOR)
			return true;
	return false;
}

/* A server that does not answer for long gets a ping, as in datblk_timed_out() */
static bool datblk_resubmit_wait(struct datblk_disk *disk)
{
	struct datblk_queue *queue = &disk->remote->queues[0];

	while (!wait_event_timeout(disk->remote->repeated,
				   !atomic_read_acquire(&queue->repeating) ||
				   READ_ONCE(disk->remote->lost) ||
				   datblk_disk_removal_expired(disk),
				   READ_ONCE(disk->gendisk->queue->rq_timeout)))
		datblk_queue_heartbeat(queue);
	return !atomic_read_acquire(&queue->repeating);
}

/*
 * Sends a number of writes, at least one, and waits for the answers. Returns 0; -EAGAIN if the
 * server could not execute one just now; -EIO if it has failed one; another error if the session
 * cannot be used.
 */
static int datblk_resubmit_batch(struct datblk_disk *disk, struct datblk_kept_cursor *cursor)
{
	struct datblk_queue *queue = &disk->remote->queues[0];
	unsigned int count = 0, i;
	int err = 0;

	while (count < disk->remote->limits.depth && datblk_kept_next(&disk->kept, cursor) &&
	       !datblk_resubmit_overlaps(disk->repeats, count, &cursor->write))
		datblk_resubmit_fill(disk, cursor, count++);
	atomic_set(&queue->repeating, count);
	for (i = 0; i < count; i++)
		datblk_queue_add_own(queue, &disk->repeats[i]);
	datblk_queue_commit(queue);
	if (!datblk_resubmit_wait(disk))
		return -ENOTCONN;
	for (i = 0; i < count; i++) {
		if (disk->repeats[i].retry)
			return -EAGAIN;
		if (disk->repeats[i].status != BLK_STS_OK)
			err = -EIO;
	}
	return err;
}

/**
 * datblk_resubmit_all - repeat all writes that are kept
 * @disk:   the disk
 * @cursor: from datblk_kept_begin()
 * @batch:  datblk_resubmit_batch(); a test has another one
 *
 * After a write that the server has failed, the others are repeated all the same. A repeat that
 * gets further than all previous ones restarts the timeouts of the disk. If each repeat ends at the
 * same write, they expire.
 *
 * Context: process.
 * Return: 0; -EIO if the server has failed a write; another error: the session cannot be used.
 */
int datblk_resubmit_all(struct datblk_disk *disk, struct datblk_kept_cursor *cursor,
			int (*batch)(struct datblk_disk *disk, struct datblk_kept_cursor *cursor))
{
	unsigned int retries = 0;
	int failed = 0, err;

	while (datblk_kept_next(&disk->kept, cursor)) {
		struct datblk_kept_cursor begin = *cursor;

		err = batch(disk, cursor);
		if (err == -EAGAIN && retries++ < DATBLK_RETRIES) {
			msleep(DATBLK_RETRY_MS);
			*cursor = begin;
			continue;
		}
		if (err && err != -EIO)
			return err;
		failed = err ?: failed;
		retries = 0;
		if (cursor->next > disk->repeated_to) {
			disk->repeated_to = cursor->next;
			disk->good_at = jiffies;
		}
	}
	return failed;
}

/**
 * datblk_resubmit - repeat the writes that the server may have lost
 * @disk: a disk with a session that no request uses yet
 *
 * The writes stay in the ring, because they are not flushed. If not all were kept, none is
 * repeated. Then, and if the server has failed one, datblk_writes_session() will report the loss.
 *
 * Context: process.
 * Return: 0 or a negative error code: the session cannot be used, and remote->reason says why.
 */
int datblk_resubmit(struct datblk_disk *disk)
{
	struct datblk_kept_cursor cursor;
	int err;

	if (!datblk_writes_at_risk(&disk->writes, disk->geo.instance) ||
	    !datblk_kept_begin(&disk->kept, &cursor))
		return 0;
	err = datblk_resubmit_all(disk, &cursor, datblk_resubmit_batch);
	if (!err) {
		datblk_writes_repeated(&disk->writes, disk->geo.instance);
		pr_info("datblk%d: repeated writes that %s may have lost\n", disk->id,
			datblk_path(disk->remote)->address);
	}
	if (!err || err == -EIO)
		return 0;
	disk->remote->reason = "the server has not completed the repeated writes";
	return err;
}
