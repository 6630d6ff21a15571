// SPDX-License-Identifier: GPL-2.0
/*
 * The run ring of a request queue: the side of completions. unsignalled.h describes it.
 *
 * Called by the done callbacks of requests and markers, one at a time for an EP, and by posts
 * that find a run as long as it may be. Positions are compared by the sign of their difference,
 * because they wrap around, and because a completion may carry a position that run_head has
 * passed: a signalled post reads the position without a lock, a failed request completes before
 * it is published, and a marker may complete after kdapl_sq_abandon().
 */
#include "unsignalled.h"

/*
 * Drops completed requests from the beginning of a run. A signalled request that was posted without
 * the lock does not begin a new run, but it may have released the beginning of this one. run_head
 * is ahead of run_tail while a request that has failed is not published yet. Returns whether the
 * run is still as long as it may be. Any context; sq->lock held.
 */
noinline bool kdapl_run_recount(struct kdapl_sq *sq)
{
	u32 head = READ_ONCE(sq->run_head);

	lockdep_assert_held(&sq->lock);
	if ((s32)(head - sq->run_tail) > 0)
		head = sq->run_tail;
	if ((s32)(head - sq->run_start) > 0)
		sq->run_start = head;
	return sq->run_tail - sq->run_start + 1 >= sq->run_max;
}

/*
 * Releases the unsignalled requests before a completion. A request of the run that failed had
 * its own completion, which moved run_head past it; so no slot is returned twice. If run_head
 * has already passed @end, nothing is released. @end: position in the run ring up to which they
 * have succeeded. Context: done callback of a request; one at a time for an EP.
 */
void kdapl_run_release(struct kdapl_sq *sq, u32 end)
{
	struct kdapl_slot *slot;
	u32 head = sq->run_head;

	while ((s32)(end - head) > 0) {
		slot = sq->pool.base + sq->run[head & sq->run_mask];
		head++;
		kdapl_pool_put(slot);
	}
	WRITE_ONCE(sq->run_head, head);
}

/*
 * Passes an unsignalled request that failed. Moves run_head forward only: after
 * kdapl_sq_abandon() @head may be older. @head: position after it; the requests before it were
 * released. Context: done callback of a request; one at a time for an EP.
 */
void kdapl_run_skip(struct kdapl_sq *sq, u32 head)
{
	if ((s32)(head - sq->run_head) > 0)
		WRITE_ONCE(sq->run_head, head);
}
