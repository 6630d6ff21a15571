// SPDX-License-Identifier: GPL-2.0
/*
 * The tags of a queue that several disks use. The block layer allocates the tags of each disk
 * separately, so a request of such a disk also takes a tag of the connection when it is dispatched.
 * A disk without the option share needs none of this.
 *
 * A disk that has no command in flight always gets a tag: one tag is reserved for each such disk,
 * and one more for the next disk, if another disk may join. A disk that gets no tag has commands in
 * flight, and the block layer dispatches its request again when one of them completes. While the
 * disk waits, the other disks take no more than their share.
 *
 * queue_rq() and upcalls take and put tags in any context except hard interrupt; queue->lock guards
 * the tags. The owner of the session calls datblk_tags_reserve().
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include "client.h"

/**
 * datblk_tags_disks - how many disks may share connections?
 * @limits: the limits of the connections
 *
 * Context: any.
 * Return: the number of disks, each of which can have a command in flight.
 */
unsigned int datblk_tags_disks(const struct datblk_limits *limits)
{
	return min_t(unsigned int, DATBLK_LOGINS, READ_ONCE(limits->depth));
}

/* Tags that are reserved for disks with no command in flight, and for the next disk */
static unsigned int datblk_tags_kept(const struct datblk_tag_pool *pool,
				     const struct datblk_remote *remote)
{
	unsigned int members = READ_ONCE(remote->members);

	return members - hweight16(pool->holders) +
	       (members < datblk_tags_disks(&remote->limits));
}

/* May a login that holds tags take another one? */
static bool datblk_tags_may(const struct datblk_tag_pool *pool, const struct datblk_remote *remote,
			    unsigned int login)
{
	unsigned int kept = datblk_tags_kept(pool, remote), depth = remote->limits.depth;

	if (depth - pool->count <= kept)
		return false;
	return !(pool->waiters & ~BIT(login)) ||
	       pool->held[login] < (depth - kept) / hweight16(pool->holders);
}

/**
 * datblk_tags_take - take a tag for a command
 * @pool:   the tags of a queue
 * @remote: its server
 * @login:  number of the login
 *
 * Context: any except hard interrupt, the lock of the queue held.
 * Return: the tag, or -1 if the login must wait; it then holds at least one other tag.
 */
int datblk_tags_take(struct datblk_tag_pool *pool, const struct datblk_remote *remote,
		     unsigned int login)
{
	unsigned int tag;

	if (pool->held[login] && !datblk_tags_may(pool, remote, login)) {
		pool->waiters |= BIT(login);
		return -1;
	}
	tag = find_first_zero_bit(pool->taken, remote->limits.depth);
	__set_bit(tag, pool->taken);
	pool->count++;
	pool->held[login]++;
	pool->holders |= BIT(login);
	pool->waiters &= ~BIT(login);
	return tag;
}

/**
 * datblk_tags_put - put the tag of a command
 * @pool:  the tags of a queue
 * @tag:   the tag
 * @login: number of the login that holds it
 *
 * Context: any except hard interrupt, the lock of the queue held.
 */
void datblk_tags_put(struct datblk_tag_pool *pool, unsigned int tag, unsigned int login)
{
	__clear_bit(tag, pool->taken);
	pool->count--;
	if (!--pool->held[login])
		pool->holders &= ~BIT(login);
}

/**
 * datblk_tags_take_for - take a tag for a request
 * @queue: the queue
 * @hctx:  hardware queue of the request
 * @pdu:   the command of the request; receives the tag
 *
 * Context: any except hard interrupt.
 * Return: whether the command has a tag. If not, the block layer runs @hctx again when another
 * request of @hctx completes.
 */
bool datblk_tags_take_for(struct datblk_queue *queue, struct blk_mq_hw_ctx *hctx,
			  struct datblk_pdu *pdu)
{
	int tag;

	spin_lock_bh(&queue->lock);
	tag = datblk_tags_take(&queue->tags, queue->remote, pdu->c.login);
	/* The pointer is valid until datblk_tags_forget() */
	if (tag < 0)
		queue->tags.hctxs[pdu->c.login] = hctx;
	spin_unlock_bh(&queue->lock);
	pdu->c.tag = tag;
	return tag >= 0;
}

/**
 * datblk_tags_return - put the tag of a command, and run the hardware queues that wait for one
 * @queue: the queue, which several disks may use
 * @pdu:   the command of a request
 *
 * Context: any except hard interrupt, queue->lock held.
 */
void datblk_tags_return(struct datblk_queue *queue, const struct datblk_pdu *pdu)
{
	unsigned long waiters = queue->tags.waiters;
	unsigned int i;

	datblk_tags_put(&queue->tags, pdu->c.tag, pdu->c.login);
	/* When this request completes, the block layer runs the hardware queue of its disk */
	if (!pdu->retry)
		waiters &= ~BIT(pdu->c.login);
	for_each_set_bit(i, &waiters, DATBLK_LOGINS)
		blk_mq_run_hw_queue(queue->tags.hctxs[i], true);
}

/**
 * datblk_tags_forget - run no hardware queue of a disk any more
 * @remote: the server of the disk
 * @q:      queue of the disk, which has no request
 *
 * A request that has waited for a tag may be gone: dm-multipath takes it back, and may then send it
 * over another path. The disk may have waited with the number of an earlier login.
 *
 * Context: process.
 */
void datblk_tags_forget(struct datblk_remote *remote, const struct request_queue *q)
{
	unsigned int i, login;

	for (i = 0; i < remote->options.queues; i++) {
		struct datblk_tag_pool *pool = &remote->queues[i].tags;

		spin_lock_bh(&remote->queues[i].lock);
		for (login = 0; login < DATBLK_LOGINS; login++) {
			if (!(pool->waiters & BIT(login)) || pool->hctxs[login]->queue != q)
				continue;
			pool->waiters &= ~BIT(login);
		}
		spin_unlock_bh(&remote->queues[i].lock);
	}
}

static bool datblk_tags_fit(struct datblk_remote *remote)
{
	unsigned int i;
	bool fit = remote->members <= datblk_tags_disks(&remote->limits);

	for (i = 0; fit && i < remote->options.queues; i++) {
		struct datblk_queue *queue = &remote->queues[i];

		spin_lock_bh(&queue->lock);
		fit = remote->limits.depth - queue->tags.count >=
		      remote->members - hweight16(queue->tags.holders);
		spin_unlock_bh(&queue->lock);
	}
	return fit;
}

/**
 * datblk_tags_reserve - reserve a tag of each queue for another disk
 * @remote: its server
 *
 * To undo this, the caller decrements remote->members when the disk has no command in flight.
 *
 * Context: process, remote->lock held.
 * Return: 0, or -EUSERS if the other disks have too many commands in flight, or there are too many
 * disks.
 */
int datblk_tags_reserve(struct datblk_remote *remote)
{
	/* From now on, no other disk takes the tag if it is free */
	WRITE_ONCE(remote->members, remote->members + 1);
	if (datblk_tags_fit(remote))
		return 0;
	WRITE_ONCE(remote->members, remote->members - 1);
	return -EUSERS;
}
