// SPDX-License-Identifier: GPL-2.0
/*
 * Tags of a queue that several disks use. The block layer knows only the tags of one disk, so a
 * request of such a disk gets a tag of the connection when it is sent. A disk that is alone needs
 * none of this.
 *
 * A disk that has no command in flight always finds a tag: one is kept for each of these, and one
 * more for the next disk, if there may be one. A disk that finds none has commands of its own in
 * flight, and the block layer sends its request again when one of these ends. While it waits, other
 * disks take no more than their share.
 *
 * Called by queue_rq() and by upcalls, in any context except hard interrupt, with the lock of the
 * queue held; datblk_tags_reserve() by the owner of the session.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include "client.h"

/**
 * datblk_tags_disks - how many disks may share connections?
 * @limits: of the connections
 *
 * Context: any.
 * Return: the number; each can have a command in flight.
 */
unsigned int datblk_tags_disks(const struct datblk_limits *limits)
{
	return min_t(unsigned int, DATBLK_LOGINS, READ_ONCE(limits->depth));
}

/* Tags that are kept for disks without a command, and for the next disk */
static unsigned int datblk_tags_kept(const struct datblk_tag_pool *pool,
				     const struct datblk_remote *remote)
{
	unsigned int members = READ_ONCE(remote->members);

	return members - hweight16(pool->holders) +
	       (members < datblk_tags_disks(&remote->limits));
}

/* May a login that has tags take another one? */
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
 * Return: the tag, or a negative number; then the login has a command that has a tag.
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
 * datblk_tags_put - a command does not need its tag any more
 * @pool:  the tags of a queue
 * @tag:   the tag
 * @login: number of the login that has it
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
 * @hctx:  that of the block layer
 * @pdu:   the command of the request; receives the tag
 *
 * Context: any except hard interrupt.
 * Return: whether it has a tag. If not, the block layer runs @hctx again when another request of it
 * has ended.
 */
bool datblk_tags_take_for(struct datblk_queue *queue, struct blk_mq_hw_ctx *hctx,
			  struct datblk_pdu *pdu)
{
	int tag;

	spin_lock_bh(&queue->lock);
	tag = datblk_tags_take(&queue->tags, queue->remote, pdu->c.login);
	/* Valid while the login waits, because the request is not complete */
	if (tag < 0)
		queue->tags.hctxs[pdu->c.login] = hctx;
	spin_unlock_bh(&queue->lock);
	pdu->c.tag = tag;
	return tag >= 0;
}

/**
 * datblk_tags_return - return the tag of a command, and let those go on that wait for one
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
	/* If this request ends, the block layer does the same for its disk */
	if (!pdu->retry)
		waiters &= ~BIT(pdu->c.login);
	for_each_set_bit(i, &waiters, DATBLK_LOGINS)
		blk_mq_run_hw_queue(queue->tags.hctxs[i], true);
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
 * datblk_tags_reserve - keep a tag of each queue for another disk
 * @remote: its server; the disk goes on with remote->members--, when it has no command any more
 *
 * Context: process, remote->lock held.
 * Return: 0, or -EUSERS: the others have too many commands, or are too many.
 */
int datblk_tags_reserve(struct datblk_remote *remote)
{
	/* From now on, nobody takes the tag if it is free */
	WRITE_ONCE(remote->members, remote->members + 1);
	if (datblk_tags_fit(remote))
		return 0;
	WRITE_ONCE(remote->members, remote->members - 1);
	return -EUSERS;
}
