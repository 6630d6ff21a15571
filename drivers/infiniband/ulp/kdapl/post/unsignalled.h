/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The run ring of a request queue: the unsignalled requests in the order in which they were
 * posted, until the completion of a later request shows that they have succeeded.
 *
 * Only unsignalled posts write to the ring. They hold sq->lock, which puts them in
 * order. Such a post enters its slot, calls the verbs layer, and publishes the entry
 * when the request is in the queue. If the verbs layer refuses it, nothing was published.
 *
 * A signalled post needs no lock. It reads the published position before its verbs call:
 * all entries before this position are in the queue already, so its completion proves
 * that they have succeeded. The entry of an unsignalled post that is still being made is left
 * to a later completion. One follows, because the last slot of a queue is only taken
 * under the lock (kdapl_pool_take_spare()), by a request that is signalled.
 *
 * Posting: any context. Completion (unsignalled.c): done callbacks of requests, one at a time for
 * an EP.
 */
#ifndef _KDAPL_UNSIGNALLED_H_
#define _KDAPL_UNSIGNALLED_H_

#include "object/object.h"

/*
 * The position before which all entries are in the queue. To be read before the verbs
 * call of the request whose completion releases them.
 */
static __always_inline u32 kdapl_run_end(const struct kdapl_sq *sq)
{
	/* Pairs with kdapl_run_publish() */
	return smp_load_acquire(&sq->run_tail);
}

bool kdapl_run_recount(struct kdapl_sq *sq);

/* Returns true if the run is as long as it may be. sq->lock held */
static __always_inline bool kdapl_run_is_full(struct kdapl_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	return unlikely(sq->run_tail - sq->run_start + 1 >= sq->run_max) && kdapl_run_recount(sq);
}

/*
 * Returns true if the next request may be unsignalled. The one that makes a run run_max long is
 * signalled, and so is one that takes the last free slot: otherwise a Consumer that suppresses all
 * completions would fill its queue, and no completion would release it (G-34). sq->lock held, the
 * slot taken.
 */
static inline bool kdapl_run_admits(struct kdapl_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	return !kdapl_run_is_full(sq) && !kdapl_pool_empty(&sq->pool);
}

/* Enters an unsignalled request, before its verbs call. sq->lock held */
static inline void kdapl_run_enter(struct kdapl_sq *sq, const struct kdapl_slot *slot)
{
	lockdep_assert_held(&sq->lock);
	sq->run[sq->run_tail & sq->run_mask] = (u32)slot->word;
}

/*
 * Publishes the request that was entered last, after its verbs call. It may have completed
 * already, if it has failed: then run_head is ahead of run_tail until now. sq->lock held
 */
static inline void kdapl_run_publish(struct kdapl_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	/* The entry and the request in the queue, then the position */
	smp_store_release(&sq->run_tail, sq->run_tail + 1);
}

/*
 * A signalled request was posted, so a new run begins. Those that are posted without the lock
 * do not count until they complete: a Consumer that mixes both kinds may get some more
 * completions. sq->lock held
 */
static inline void kdapl_run_restart(struct kdapl_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	sq->run_start = sq->run_tail;
}

void kdapl_run_release(struct kdapl_sq *sq, u32 end);
void kdapl_run_skip(struct kdapl_sq *sq, u32 head);

#endif /* _KDAPL_UNSIGNALLED_H_ */
