/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slot pools: an array of slots and a lock-free stack of the free ones.
 *
 * Slots are taken and returned in any context, on any number of CPUs at once. A stack is
 * used because a ring could not go past its oldest slot while the event of that slot
 * is not delivered.
 *
 * The stack is linked by 64-bit words: tag:32 | offset of a slot in the array:32. The
 * head is the word of the topmost free slot, and each free slot stores the word of the
 * one below it. A slot increments its own tag when it is returned, so no word appears
 * on the stack twice. Therefore, if a CPU has read the head and the word below it, and
 * its cmpxchg finds the head unchanged, both are valid, whatever was taken and
 * returned in between.
 *
 * dat_ep_modify() closes a pool by taking all of its slots; then nobody can take one,
 * and it replaces the slots.
 */
#ifndef _KDAPL_POOL_H_
#define _KDAPL_POOL_H_

#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/overflow.h>
#include "wr.h"

/* Offset in the head of an empty stack, and in the word stored in the lowest slot */
#define KDAPL_POOL_NONE		U32_MAX

/**
 * struct kdapl_pool - slots of one queue
 * @head:   word of the topmost free slot; changed by cmpxchg only
 * @base:   the slots, @stride bytes apart
 * @stride: bytes of one slot with its segments
 * @depth:  number of slots
 * @max_sge: number of segments for which each slot has room
 * @first:  number of its first slot, if a queue has several pools
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
 * a device may read the first entry even if num_sge is 0 (kdapl_request_no_sge()).
 */
static inline u32 kdapl_pool_stride(u32 max_sge, bool recv)
{
	return (recv ? offsetof(struct kdapl_slot, recv_sge) : offsetof(struct kdapl_slot, sge)) +
	       max(max_sge, 1U) * sizeof(struct ib_sge);
}

/*
 * The largest possible depth of a pool: its words have 32 bits for an offset. The same for
 * receives, whose slots are shorter
 */
static inline u32 kdapl_pool_max_depth(u32 max_sge)
{
	return U32_MAX / kdapl_pool_stride(max_sge, false);
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

/* The number of a slot in its queue, for tracepoints and debugfs */
static inline u32 kdapl_slot_idx(const struct kdapl_slot *slot)
{
	return slot->pool->first + (u32)slot->word / slot->pool->stride;
}

/**
 * kdapl_pool_take - take a free slot
 * @pool: the pool; one of depth 0 is legal and always empty
 * @slot: receives the slot, which belongs to the caller then
 *
 * Context: any.
 * Return: false if none is free.
 */
static __always_inline bool kdapl_pool_take(struct kdapl_pool *pool, struct kdapl_slot **slot)
{
	u64 head = READ_ONCE(pool->head);
	u64 below;

	do {
		if (unlikely((u32)head == KDAPL_POOL_NONE))
			return false;
		*slot = pool->base + (u32)head;
		/* May be any value if another CPU has taken the slot; then the cmpxchg fails */
		below = READ_ONCE((*slot)->dto.free_next);
	} while (unlikely(!try_cmpxchg64(&pool->head, &head, below)));
	return true;
}

/**
 * kdapl_pool_take_spare - take a free slot, but not the last one
 * @pool: the pool
 * @slot: receives the slot, which belongs to the caller then
 *
 * Context: any.
 * Return: false if none or only one is free; also if another CPU has just taken the
 * slot. So a failure does not prove that the pool is nearly empty.
 */
static __always_inline bool kdapl_pool_take_spare(struct kdapl_pool *pool,
						  struct kdapl_slot **slot)
{
	u64 head = READ_ONCE(pool->head);
	u64 below;

	do {
		if (unlikely((u32)head == KDAPL_POOL_NONE))
			return false;
		*slot = pool->base + (u32)head;
		/* As in kdapl_pool_take(): valid if the cmpxchg succeeds */
		below = READ_ONCE((*slot)->dto.free_next);
		if (unlikely((u32)below == KDAPL_POOL_NONE))
			return false;
	} while (unlikely(!try_cmpxchg64(&pool->head, &head, below)));
	return true;
}

/* The same as kdapl_pool_take(), but returns NULL if none is free */
static inline struct kdapl_slot *kdapl_pool_get(struct kdapl_pool *pool)
{
	struct kdapl_slot *slot;

	return kdapl_pool_take(pool, &slot) ? slot : NULL;
}

/**
 * kdapl_pool_put - return a slot
 * @pool: the pool it belongs to
 * @slot: the slot; another CPU may take it at once
 *
 * Context: any.
 */
static __always_inline void kdapl_pool_put(struct kdapl_pool *pool, struct kdapl_slot *slot)
{
	u64 word = slot->word + BIT_ULL(32);
	u64 head = READ_ONCE(pool->head);

	slot->word = word;
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_FREE);
	do {
		WRITE_ONCE(slot->dto.free_next, head);
	} while (unlikely(!try_cmpxchg64(&pool->head, &head, word)));
}

/* Is no slot free? Only a hint, which is sufficient to decide on signalling */
static __always_inline bool kdapl_pool_empty(const struct kdapl_pool *pool)
{
	return (u32)READ_ONCE(pool->head) == KDAPL_POOL_NONE;
}

#endif /* _KDAPL_POOL_H_ */
