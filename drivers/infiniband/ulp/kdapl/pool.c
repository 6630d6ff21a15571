// SPDX-License-Identifier: GPL-2.0
/*
 * Slot pools: making and counting them.
 *
 * Called by the constructors and destructors of EPs and SRQs in process
 * context, and by query calls for the counts. The hot half is in pool.h.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "pool.h"

/**
 * kdapl_pool_init - make and preformat the slots of one queue
 * @pool:    to be filled in
 * @depth:   number of slots; 0 makes a pool that is always empty
 * @max_sge: segments per slot
 * @done:    completion callback of every slot
 * @ep:      the EP all slots belong to; NULL for an SRQ
 * @recv:    receives rather than requests
 * @node:    NUMA node of the memory
 *
 * All fields of a work request that never change are written here, once.
 *
 * Context: process.
 * Return: 0, -ENOMEM.
 */
int kdapl_pool_init(struct kdapl_pool *pool, u32 depth, u32 max_sge,
		    void (*done)(struct ib_cq *cq, struct ib_wc *wc),
		    struct kdapl_ep *ep, bool recv, int node)
{
	struct kdapl_slot *slot;
	size_t size;
	u32 i;

	pool->head = KDAPL_POOL_NONE;
	pool->base = NULL;
	pool->depth = depth;
	pool->max_sge = max_sge;
	pool->stride = kdapl_pool_stride(max_sge);
	if (!depth)
		return 0;
	if (depth > kdapl_pool_most(max_sge))
		return -ENOMEM;
	size = array_size(depth, pool->stride);
	/* kmalloc would round up to a power of two, for nothing */
	if (size > PAGE_SIZE)
		pool->base = vzalloc_node(size, node);
	else
		pool->base = kzalloc_node(size, GFP_KERNEL, node);
	if (!pool->base)
		return -ENOMEM;

	for (i = depth; i-- > 0;) {
		slot = kdapl_pool_slot(pool, i);
		slot->word = (u64)i * pool->stride;
		slot->pool = pool;
		slot->cqe.done = done;
		slot->ev.kind = KDAPL_EV_DTO;
		slot->ev.ep = ep;
		if (recv) {
			slot->flags = KDAPL_SLOT_RECV;
			slot->recv.wr_cqe = &slot->cqe;
			slot->recv.sg_list = slot->sge;
		} else {
			slot->rdma.wr.wr_cqe = &slot->cqe;
			slot->rdma.wr.sg_list = slot->sge;
		}
		kdapl_pool_put(pool, slot);
	}
	return 0;
}

/**
 * kdapl_pool_exit - free the slots
 * @pool: a pool that nobody posts from, and no event of which is queued
 *
 * Context: process.
 */
void kdapl_pool_exit(struct kdapl_pool *pool)
{
	kvfree(pool->base);
	pool->base = NULL;
	pool->depth = 0;
	pool->head = KDAPL_POOL_NONE;
}

/**
 * kdapl_pool_close - take all slots away, if all are free
 * @pool: the pool
 *
 * In one step: a call that takes a slot meanwhile has it, and nothing is
 * closed, or finds none. Who has looked at the stack before may still do so
 * until a grace period is over.
 *
 * Context: any.
 * Return: false when a slot is in use.
 */
bool kdapl_pool_close(struct kdapl_pool *pool)
{
	u64 head = READ_ONCE(pool->head), word = head;
	const struct kdapl_slot *slot;
	u32 n;

	for (n = 0; n < pool->depth; n++) {
		/* A slot that was just taken has the Consumer's cookie in that place */
		if ((u32)word % pool->stride || (u32)word / pool->stride >= pool->depth)
			return false;
		slot = pool->base + (u32)word;
		word = READ_ONCE(slot->free_next);
	}
	/* With the same head it has been the same stack all the way down */
	return try_cmpxchg64(&pool->head, &head, KDAPL_POOL_NONE);
}

/**
 * kdapl_pool_swap - exchange the slots of two pools
 * @pool:  a closed pool; nobody has looked at it since before it was closed
 * @other: another one, that nobody knows
 *
 * @pool stays closed.
 *
 * Context: process.
 */
void kdapl_pool_swap(struct kdapl_pool *pool, struct kdapl_pool *other)
{
	swap(pool->base, other->base);
	swap(pool->stride, other->stride);
	swap(pool->depth, other->depth);
	swap(pool->max_sge, other->max_sge);
}

/**
 * kdapl_pool_open - make all slots of a closed pool free
 * @pool: the pool; its slots may have come from another one
 *
 * Context: process. Who takes the first sees all that was written before.
 */
void kdapl_pool_open(struct kdapl_pool *pool)
{
	struct kdapl_slot *slot;
	u32 i;

	for (i = pool->depth; i-- > 0;) {
		slot = kdapl_pool_slot(pool, i);
		slot->pool = pool;
		kdapl_pool_put(pool, slot);
	}
}

/**
 * kdapl_pool_count - how many slots are in a state
 * @pool:  the pool
 * @state: which state
 *
 * A snapshot; exact when nobody posts or completes meanwhile.
 *
 * Context: any.
 * Return: the number.
 */
u32 kdapl_pool_count(const struct kdapl_pool *pool, enum kdapl_slot_state state)
{
	u32 i, n = 0;

	for (i = 0; i < pool->depth; i++)
		n += READ_ONCE(kdapl_pool_slot(pool, i)->state) == state;
	return n;
}

/**
 * kdapl_pool_tally - how many slots are with the device, and how many behind it
 * @pool:   the pool
 * @posted: adds those in KDAPL_SLOT_POSTED
 * @done:   adds those in KDAPL_SLOT_DONE
 *
 * Each slot is looked at once, and those that lie deeper in the stack are taken
 * only while all above them are out: the sum is not more than have been out at
 * once while it was counted, unless others put back what they withheld.
 *
 * Context: any.
 */
void kdapl_pool_tally(const struct kdapl_pool *pool, u32 *posted, u32 *done)
{
	u32 i;
	u8 state;

	for (i = 0; i < pool->depth; i++) {
		state = READ_ONCE(kdapl_pool_slot(pool, i)->state);
		*posted += state == KDAPL_SLOT_POSTED;
		*done += state == KDAPL_SLOT_DONE;
	}
}

/**
 * kdapl_pool_free_count - length of the free stack
 * @pool: a pool at rest
 *
 * Walks the stack itself, so that a test can tell a leaked slot from one
 * that is merely marked free.
 *
 * Context: any; nobody gets or puts meanwhile.
 * Return: the number, at most depth.
 */
u32 kdapl_pool_free_count(const struct kdapl_pool *pool)
{
	u32 off = (u32)READ_ONCE(pool->head);
	const struct kdapl_slot *slot;
	u32 n = 0;

	while (off != KDAPL_POOL_NONE && n < pool->depth) {
		slot = pool->base + off;
		off = (u32)READ_ONCE(slot->free_next);
		n++;
	}
	return n;
}
