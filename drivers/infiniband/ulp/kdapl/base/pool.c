// SPDX-License-Identifier: GPL-2.0
/*
 * Slot pools: set-up, replacement and counts.
 *
 * Called by the constructors and destructors of EPs and SRQs in process context, and by
 * query calls for the counts. The fast path is in pool.h.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "pool.h"

/* The stack of all pools without slots; always empty, but kdapl_pool_close() writes to it */
static struct kdapl_pool_head kdapl_pool_nothing = { .head = KDAPL_POOL_NONE };

/*
 * Bytes of the slots of a queue, with their stack. @recv: the slots are for receives, not for
 * requests. Any context.
 */
size_t kdapl_pool_size(u32 depth, bool recv)
{
	return depth ? sizeof(struct kdapl_pool_head) + (size_t)depth * kdapl_pool_stride(recv) : 0;
}

/*
 * Presets the slots of one queue. Writes all fields of a work request that never change. Process
 * context.
 *
 * @memory: kdapl_pool_size() bytes, zeroed; aligned to eight bytes
 * @depth:  number of slots; 0 makes a pool that is always empty
 * @done:   completion callback of every slot
 * @ep:     the EP to which all slots belong; NULL for an SRQ
 * @recv:   the slots are for receives, not for requests
 */
void kdapl_pool_setup(struct kdapl_pool *pool, void *memory, u32 depth,
		      void (*done)(struct ib_cq *cq, struct ib_wc *wc), struct kdapl_ep *ep,
		      bool recv)
{
	struct kdapl_pool_head *stack = depth ? memory : &kdapl_pool_nothing;
	struct kdapl_slot *slot;
	u32 i;

	WRITE_ONCE(pool->base, stack);
	pool->depth = depth;
	pool->stride = kdapl_pool_stride(recv);
	if (depth) {
		stack->pool = pool;
		stack->head = KDAPL_POOL_NONE;
		stack->opened = depth;
	}
	for (i = depth; i-- > 0;) {
		slot = kdapl_pool_slot(pool, i);
		slot->word = (void *)slot - pool->base;
		slot->cqe.done = done;
		slot->ev.kind = KDAPL_EV_DTO;
		slot->ev.ep = ep;
		if (recv) {
			slot->ev.flags = KDAPL_SLOT_RECV;
			slot->recv.wr_cqe = &slot->cqe;
			slot->recv.sg_list = &slot->recv_sge;
		} else {
			slot->rdma.wr.wr_cqe = &slot->cqe;
			slot->rdma.wr.sg_list = &slot->sge;
		}
		kdapl_pool_put(slot);
	}
}

/*
 * Allocates memory for kdapl_pool_setup(). @node: NUMA node of the memory. Returns the memory,
 * zeroed, to be freed by kvfree(), or NULL. Process context.
 */
void *kdapl_pool_alloc(size_t size, int node)
{
	/* kmalloc() would round the size up to a power of two */
	if (size > PAGE_SIZE)
		return vzalloc_node(size, node);
	return kzalloc_node(size, GFP_KERNEL, node);
}

/*
 * Allocates and presets the slots of one queue. Returns 0 or -ENOMEM. Process context.
 *
 * @depth: as for kdapl_pool_setup(), and the following
 * @node:  NUMA node of the memory
 */
int kdapl_pool_init(struct kdapl_pool *pool, u32 depth,
		    void (*done)(struct ib_cq *cq, struct ib_wc *wc), struct kdapl_ep *ep,
		    bool recv, int node)
{
	void *memory = NULL;

	if (depth) {
		if (depth > KDAPL_POOL_MAX_DEPTH)
			return -ENOMEM;
		memory = kdapl_pool_alloc(kdapl_pool_size(depth, recv), node);
		if (!memory)
			return -ENOMEM;
	}
	kdapl_pool_setup(pool, memory, depth, done, ep, recv);
	return 0;
}

/*
 * Frees the slots of kdapl_pool_init(). @pool: a pool to which nobody posts, and without
 * queued events. Process context.
 */
void kdapl_pool_exit(struct kdapl_pool *pool)
{
	if (pool->depth)
		kvfree(pool->base);
	kdapl_pool_setup(pool, NULL, 0, NULL, NULL, false);
}

/*
 * Takes all slots at once, if all are free. The change is atomic: a concurrent call either gets a
 * slot, and the pool is not closed, or finds none. A call that has read the stack before may still
 * use what it has read until a grace period has passed. Returns false if a slot is in use. Any
 * context.
 */
bool kdapl_pool_close(struct kdapl_pool *pool)
{
	struct kdapl_pool_head *stack = kdapl_pool_head(pool->base);
	u64 head = READ_ONCE(stack->head), word = head;
	const struct kdapl_slot *slot;
	u32 n, off;

	for (n = 0; n < pool->depth; n++) {
		/* If the slot was just taken, the Consumer's cookie is in that place */
		off = (u32)word - (u32)sizeof(*stack);
		if (off % pool->stride || off / pool->stride >= pool->depth)
			return false;
		slot = pool->base + (u32)word;
		word = READ_ONCE(slot->dto.free_next);
	}
	/* If the head is the same, no part of the stack has changed */
	return try_cmpxchg64(&stack->head, &head, KDAPL_POOL_NONE);
}

/*
 * Exchanges the slots of two pools. Both stay as they are until kdapl_pool_open(). @other must also
 * be closed. Process context.
 *
 * @pool:  a closed pool, a grace period after it was closed
 * @other: another pool that nobody else uses
 */
void kdapl_pool_swap(struct kdapl_pool *pool, struct kdapl_pool *other)
{
	void *base = pool->base;

	/* A post may be reading it; it finds an empty stack in both cases */
	WRITE_ONCE(pool->base, other->base);
	other->base = base;
	swap(pool->stride, other->stride);
	swap(pool->depth, other->depth);
}

/*
 * Makes all slots of a closed pool free. @pool: the pool; its slots may have come from another
 * one. Process context. A call that takes a slot sees everything written before.
 */
void kdapl_pool_open(struct kdapl_pool *pool)
{
	u32 i;

	if (pool->depth) {
		kdapl_pool_head(pool->base)->pool = pool;
		kdapl_pool_head(pool->base)->opened += pool->depth;
	}
	for (i = pool->depth; i-- > 0;)
		kdapl_pool_put(kdapl_pool_slot(pool, i));
}

/*
 * Counts the slots in a state. The result is exact if nothing is posted or completed at the same
 * time. Returns the number. Any context.
 */
u32 kdapl_pool_count(const struct kdapl_pool *pool, enum kdapl_slot_state state)
{
	u32 i, n = 0;

	for (i = 0; i < pool->depth; i++)
		n += READ_ONCE(kdapl_pool_slot(pool, i)->ev.state) == state;
	return n;
}

/*
 * Returns true if the device has any slot. Looks at slots until it finds one, so it looks at all of
 * them only if there is none. Any context.
 */
bool kdapl_pool_posted(const struct kdapl_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->depth; i++)
		if (READ_ONCE(kdapl_pool_slot(pool, i)->ev.state) == KDAPL_SLOT_POSTED)
			return true;
	return false;
}

/*
 * Counts the posts that have ended since the slots were set up. A slot counts in its tag how often
 * it was put back, so nobody has to count posts. Returns the number modulo 2^32, which may be one
 * too small for each slot that is put back meanwhile. Any context.
 */
u32 kdapl_pool_ended(const struct kdapl_pool *pool)
{
	u32 i, n = 0;

	for (i = 0; i < pool->depth; i++)
		n += READ_ONCE(kdapl_pool_slot(pool, i)->word) >> 32;
	return n - kdapl_pool_head(pool->base)->opened;
}

/*
 * Counts the posted and the completed slots in one pass. Each slot is read once. A slot is taken
 * from the stack only while all slots above it are in use; so the sum does not exceed the largest
 * number that was in use at one time during the count, unless slots are returned at the same time.
 * Any context.
 *
 * @posted: incremented by the number of slots in KDAPL_SLOT_POSTED
 * @done:   incremented by the number of slots in KDAPL_SLOT_DONE
 */
void kdapl_pool_tally(const struct kdapl_pool *pool, u32 *posted, u32 *done)
{
	u32 i;
	u8 state;

	for (i = 0; i < pool->depth; i++) {
		state = READ_ONCE(kdapl_pool_slot(pool, i)->ev.state);
		*posted += state == KDAPL_SLOT_POSTED;
		*done += state == KDAPL_SLOT_DONE;
	}
}
