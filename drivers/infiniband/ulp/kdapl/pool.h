/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slot pools: an array of slots and a stack of the free ones.
 *
 * The stack head is one 64-bit word, tag:32 | index:32, moved by cmpxchg; the
 * tag makes a head that was taken and put back in between compare unequal.
 * Get and put run in any context and on any number of CPUs at once. Not a
 * ring: a ring stops at its oldest slot while that one's event lies
 * undelivered, a stack does not.
 */
#ifndef _KDAPL_POOL_H_
#define _KDAPL_POOL_H_

#include <linux/atomic.h>
#include "wr.h"

/**
 * struct kdapl_pool - slots of one queue
 * @head:   the free stack; written by cmpxchg only
 * @base:   the slots, @stride bytes apart
 * @stride: bytes of one slot with its segments
 * @depth:  number of slots
 * @max_sge: segments each slot has room for
 */
struct kdapl_pool {
	u64 head ____cacheline_aligned_in_smp;
	void *base;
	u32 stride;
	u32 depth;
	u32 max_sge;
};

int kdapl_pool_init(struct kdapl_pool *pool, u32 depth, u32 max_sge,
		    void (*done)(struct ib_cq *cq, struct ib_wc *wc),
		    struct kdapl_ep *ep, bool recv, int node);
void kdapl_pool_exit(struct kdapl_pool *pool);
u32 kdapl_pool_count(const struct kdapl_pool *pool, enum kdapl_slot_state state);
u32 kdapl_pool_free_count(const struct kdapl_pool *pool);

static __always_inline struct kdapl_slot *kdapl_pool_slot(const struct kdapl_pool *pool, u32 idx)
{
	return pool->base + (size_t)idx * pool->stride;
}

/**
 * kdapl_pool_get - take a free slot
 * @pool: the pool; depth 0 is legal and always empty
 *
 * Context: any.
 * Return: the slot, now the caller's, or NULL when none is free.
 */
static __always_inline struct kdapl_slot *kdapl_pool_get(struct kdapl_pool *pool)
{
	u64 head = READ_ONCE(pool->head);
	struct kdapl_slot *slot;
	u64 next;

	do {
		if (unlikely((u32)head == KDAPL_SLOT_NONE))
			return NULL;
		slot = kdapl_pool_slot(pool, (u32)head);
		/* May be stale when another CPU took the slot: the tag tells */
		next = ((head >> 32) + 1) << 32 | READ_ONCE(slot->free_next);
	} while (unlikely(!try_cmpxchg64(&pool->head, &head, next)));
	return slot;
}

/**
 * kdapl_pool_put - give a slot back
 * @pool: the pool it came from
 * @slot: the slot; not the caller's any more afterwards
 *
 * Context: any.
 */
static __always_inline void kdapl_pool_put(struct kdapl_pool *pool, struct kdapl_slot *slot)
{
	u64 head = READ_ONCE(pool->head);
	u64 next;

	WRITE_ONCE(slot->state, KDAPL_SLOT_FREE);
	do {
		WRITE_ONCE(slot->free_next, (u32)head);
		next = ((head >> 32) + 1) << 32 | slot->idx;
	} while (unlikely(!try_cmpxchg64(&pool->head, &head, next)));
}

/* Was this the last free slot? A hint, good enough to decide on signalling */
static __always_inline bool kdapl_pool_empty(const struct kdapl_pool *pool)
{
	return (u32)READ_ONCE(pool->head) == KDAPL_SLOT_NONE;
}

#endif /* _KDAPL_POOL_H_ */
