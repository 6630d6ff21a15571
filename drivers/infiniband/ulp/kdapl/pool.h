/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slot pools: an array of slots and a stack of the free ones.
 *
 * Get and put run in any context and on any number of CPUs at once. Not a
 * ring: a ring stops at its oldest slot while that one's event lies
 * undelivered, a stack does not.
 *
 * The stack is linked by words of 64 bits, tag:32 | offset of a slot in the
 * array:32. A free slot keeps the word that names the one below it, the head
 * is the word of the topmost. Each slot counts its own tag up when it is put
 * back, so that a word never names the same stay on the stack twice: who has
 * read head and the word below it, and finds head unchanged by cmpxchg, may
 * believe both, whatever was taken and put back in between.
 *
 * An empty stack keeps everybody out: dat_ep_modify() closes a pool, so that no
 * slot is left to take, and gives it other slots.
 */
#ifndef _KDAPL_POOL_H_
#define _KDAPL_POOL_H_

#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/overflow.h>
#include "wr.h"

/* Offset in the head of an empty stack, and in the word below the lowest slot */
#define KDAPL_POOL_NONE		U32_MAX

/**
 * struct kdapl_pool - slots of one queue
 * @head:   word of the topmost free slot; written by cmpxchg only
 * @base:   the slots, @stride bytes apart
 * @stride: bytes of one slot with its segments
 * @depth:  number of slots
 * @max_sge: segments each slot has room for
 * @first:  number of its first slot, where a queue has several pools
 */
struct kdapl_pool {
	u64 head ____cacheline_aligned_in_smp;
	void *base;
	u32 stride;
	u32 depth;
	u32 max_sge;
	u32 first;
};

/*
 * Bytes of a slot with its segments. There is room for at least one segment, because
 * a device may read the first entry even if num_sge is 0 (kdapl_slot_no_sge()).
 */
static inline u32 kdapl_pool_stride(u32 max_sge)
{
	return ALIGN(struct_size_t(struct kdapl_slot, sge, max(max_sge, 1U)), 16);
}

/* Slots that a pool can have: their words have 32 bits for the offset */
static inline u32 kdapl_pool_most(u32 max_sge)
{
	return U32_MAX / kdapl_pool_stride(max_sge);
}

int kdapl_pool_init(struct kdapl_pool *pool, u32 depth, u32 max_sge,
		    void (*done)(struct ib_cq *cq, struct ib_wc *wc),
		    struct kdapl_ep *ep, bool recv, int node);
void kdapl_pool_exit(struct kdapl_pool *pool);
bool kdapl_pool_close(struct kdapl_pool *pool);
void kdapl_pool_swap(struct kdapl_pool *pool, struct kdapl_pool *other);
void kdapl_pool_open(struct kdapl_pool *pool);
u32 kdapl_pool_count(const struct kdapl_pool *pool, enum kdapl_slot_state state);
void kdapl_pool_tally(const struct kdapl_pool *pool, u32 *posted, u32 *done);
u32 kdapl_pool_free_count(const struct kdapl_pool *pool);

static __always_inline struct kdapl_slot *kdapl_pool_slot(const struct kdapl_pool *pool, u32 idx)
{
	return pool->base + (size_t)idx * pool->stride;
}

/* The number of a slot in its queue, for those who want to show it */
static inline u32 kdapl_slot_idx(const struct kdapl_slot *slot)
{
	return slot->pool->first + (u32)slot->word / slot->pool->stride;
}

/**
 * kdapl_pool_take - take a free slot
 * @pool: the pool; depth 0 is legal and always empty
 * @slot: takes the slot, now the caller's
 *
 * Context: any.
 * Return: false when none is free.
 */
static __always_inline bool kdapl_pool_take(struct kdapl_pool *pool, struct kdapl_slot **slot)
{
	u64 head = READ_ONCE(pool->head);
	u64 below;

	do {
		if (unlikely((u32)head == KDAPL_POOL_NONE))
			return false;
		*slot = pool->base + (u32)head;
		/* Anything, when another CPU has taken the slot: head tells */
		below = READ_ONCE((*slot)->free_next);
	} while (unlikely(!try_cmpxchg64(&pool->head, &head, below)));
	return true;
}

/* The same for who likes NULL better */
static inline struct kdapl_slot *kdapl_pool_get(struct kdapl_pool *pool)
{
	struct kdapl_slot *slot;

	return kdapl_pool_take(pool, &slot) ? slot : NULL;
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
	u64 word = slot->word + BIT_ULL(32);
	u64 head = READ_ONCE(pool->head);

	slot->word = word;
	WRITE_ONCE(slot->state, KDAPL_SLOT_FREE);
	do {
		WRITE_ONCE(slot->free_next, head);
	} while (unlikely(!try_cmpxchg64(&pool->head, &head, word)));
}

/* Was this the last free slot? A hint, good enough to decide on signalling */
static __always_inline bool kdapl_pool_empty(const struct kdapl_pool *pool)
{
	return (u32)READ_ONCE(pool->head) == KDAPL_POOL_NONE;
}

#endif /* _KDAPL_POOL_H_ */
