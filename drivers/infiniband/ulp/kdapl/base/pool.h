/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slot pools: an array of slots and a lock-free stack of the free ones.
 *
 * Slots are taken and returned in any context, on any number of CPUs at once. A stack is used
 * because a ring could not go past its oldest slot while the event of that slot is not delivered.
 *
 * The stack is linked by 64-bit words: tag:32 | offset of a slot from its head:32. The head is the
 * word of the topmost free slot, and each free slot stores the word of the one below it. A slot
 * increments its own tag when it is returned, so no word appears on the stack twice. Therefore, if
 * a CPU has read the head and the word below it, and its cmpxchg finds the head unchanged, both are
 * valid, whatever was taken and returned in between.
 *
 * dat_ep_modify() closes a pool by taking all of its slots; then nobody can take one,
 * and it replaces the slots with their stack.
 */
#ifndef _KDAPL_POOL_H_
#define _KDAPL_POOL_H_

#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/overflow.h>
#include "slot.h"

/* Offset in the head of an empty stack, and in the word stored in the lowest slot */
#define KDAPL_POOL_NONE		U32_MAX

/**
 * struct kdapl_pool - slots of one queue
 * @base:   a struct kdapl_pool_head, and the slots behind it, @stride bytes apart
 * @stride: bytes of one slot
 * @depth:  number of slots
 * @first:  number of its first slot, if a queue has several pools
 */
struct kdapl_pool {
	void *base;
	u32 stride;
	u32 depth;
	u32 first;
};

/**
 * struct kdapl_pool_head - what precedes the slots in memory
 * @head: word of the topmost free slot; changed by cmpxchg only
 * @pool: the pool of these slots
 * @opened: how often slots were put on the stack by set-up, not because a post ended
 * @pad:  keeps the first slot out of the second half of the line
 *
 * A slot finds it by its own offset, so it needs no pointer to its pool. A call that has read
 * kdapl_pool.base once uses one stack and its slots, even if dat_ep_modify() replaces them.
 */
struct kdapl_pool_head {
	u64 head;
	struct kdapl_pool *pool;
	u32 opened;
	u32 pad[3];
};

/* Bytes of a slot */
static inline u32 kdapl_pool_stride(bool recv)
{
	return recv ? offsetofend(struct kdapl_slot, recv_sge) :
		      offsetofend(struct kdapl_slot, sge);
}

/*
 * The largest possible depth of a pool: its words have 32 bits for an offset. The same for
 * receives, whose slots are shorter
 */
#define KDAPL_POOL_MAX_DEPTH	(U32_MAX / sizeof(struct kdapl_slot) - 1)

size_t kdapl_pool_size(u32 depth, bool recv);
void kdapl_pool_setup(struct kdapl_pool *pool, void *memory, u32 depth,
		      void (*done)(struct ib_cq *cq, struct ib_wc *wc), struct kdapl_ep *ep,
		      bool recv);
int kdapl_pool_init(struct kdapl_pool *pool, u32 depth,
		    void (*done)(struct ib_cq *cq, struct ib_wc *wc), struct kdapl_ep *ep,
		    bool recv, int node);
void *kdapl_pool_alloc(size_t size, int node);
void kdapl_pool_exit(struct kdapl_pool *pool);
bool kdapl_pool_close(struct kdapl_pool *pool);
void kdapl_pool_swap(struct kdapl_pool *pool, struct kdapl_pool *other);
void kdapl_pool_open(struct kdapl_pool *pool);
u32 kdapl_pool_count(const struct kdapl_pool *pool, enum kdapl_slot_state state);
bool kdapl_pool_posted(const struct kdapl_pool *pool);
u32 kdapl_pool_ended(const struct kdapl_pool *pool);
void kdapl_pool_tally(const struct kdapl_pool *pool, u32 *posted, u32 *done);

static __always_inline struct kdapl_slot *kdapl_pool_slot(const struct kdapl_pool *pool, u32 idx)
{
	return pool->base + sizeof(struct kdapl_pool_head) + (size_t)idx * pool->stride;
}

/* The stack of the slots at @base */
static __always_inline struct kdapl_pool_head *kdapl_pool_head(void *base)
{
	return base;
}

/* The stack to which a slot belongs */
static __always_inline struct kdapl_pool_head *kdapl_slot_head(const struct kdapl_slot *slot)
{
	return kdapl_pool_head((void *)slot - (u32)slot->word);
}

/* The number of a slot in its queue, for tracepoints and debugfs */
static inline u32 kdapl_slot_idx(const struct kdapl_slot *slot)
{
	const struct kdapl_pool *pool = kdapl_slot_head(slot)->pool;

	return pool->first + ((u32)slot->word - (u32)sizeof(struct kdapl_pool_head)) / pool->stride;
}

/*
 * Takes a free slot. @pool: the pool; one of depth 0 is legal and always empty. Returns false if
 * none is free. Any context.
 */
static __always_inline bool kdapl_pool_take(struct kdapl_pool *pool, struct kdapl_slot **slot)
{
	void *base = READ_ONCE(pool->base);
	struct kdapl_pool_head *stack = kdapl_pool_head(base);
	u64 head = READ_ONCE(stack->head);
	u64 below;

	do {
		if (unlikely((u32)head == KDAPL_POOL_NONE))
			return false;
		*slot = base + (u32)head;
		/* May be any value if another CPU has taken the slot; then the cmpxchg fails */
		below = READ_ONCE((*slot)->dto.free_next);
	} while (unlikely(!try_cmpxchg64(&stack->head, &head, below)));
	return true;
}

/*
 * Takes a free slot, but not the last one. Returns false if none or only one is free; also if
 * another CPU has just taken the slot. So a failure does not prove that the pool is nearly empty.
 * Any context.
 */
static __always_inline bool kdapl_pool_take_spare(struct kdapl_pool *pool,
						  struct kdapl_slot **slot)
{
	void *base = READ_ONCE(pool->base);
	struct kdapl_pool_head *stack = kdapl_pool_head(base);
	u64 head = READ_ONCE(stack->head);
	u64 below;

	do {
		if (unlikely((u32)head == KDAPL_POOL_NONE))
			return false;
		*slot = base + (u32)head;
		/* As in kdapl_pool_take(): valid if the cmpxchg succeeds */
		below = READ_ONCE((*slot)->dto.free_next);
		if (unlikely((u32)below == KDAPL_POOL_NONE))
			return false;
	} while (unlikely(!try_cmpxchg64(&stack->head, &head, below)));
	return true;
}

/* The same as kdapl_pool_take(), but returns NULL if none is free */
static inline struct kdapl_slot *kdapl_pool_get(struct kdapl_pool *pool)
{
	struct kdapl_slot *slot;

	return kdapl_pool_take(pool, &slot) ? slot : NULL;
}

/* Returns a slot to its pool. @slot: the slot; another CPU may take it at once. Any context */
static __always_inline void kdapl_pool_put(struct kdapl_slot *slot)
{
	struct kdapl_pool_head *stack = kdapl_slot_head(slot);
	u64 word = slot->word + BIT_ULL(32);
	u64 head = READ_ONCE(stack->head);

	slot->word = word;
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_FREE);
	do {
		WRITE_ONCE(slot->dto.free_next, head);
	} while (unlikely(!try_cmpxchg64(&stack->head, &head, word)));
}

/* Returns true if no slot is free. Only a hint, which is sufficient to decide on signalling */
static __always_inline bool kdapl_pool_empty(const struct kdapl_pool *pool)
{
	return (u32)READ_ONCE(kdapl_pool_head(READ_ONCE(pool->base))->head) == KDAPL_POOL_NONE;
}

#endif /* _KDAPL_POOL_H_ */
