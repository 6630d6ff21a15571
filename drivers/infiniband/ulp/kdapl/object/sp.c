// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a connection request: its memory returns to the backlog.
 *
 * That happens when the request was consumed and its event was delivered. The last of the two
 * may happen in any context: in the call that consumes it, in dat_evd_dequeue(), or after an
 * upcall.
 */
#include "sp.h"

/**
 * kdapl_cr_recycle - return the memory of a CR to the backlog
 * @cr: the CR, without references
 *
 * If the service point was freed and this is its last CR, the work of the CR frees the memory.
 *
 * Context: any. The work of the CR may still run, but does not use the CR any more.
 */
void kdapl_cr_recycle(struct kdapl_cr *cr)
{
	struct kdapl_sp *sp = cr->sp;
	unsigned long flags;

	spin_lock_irqsave(&sp->lock, flags);
	list_add(&cr->free_node, &sp->free);
	spin_unlock_irqrestore(&sp->lock, flags);
	if (refcount_dec_and_test(&sp->mem))
		queue_work(kdapl_wq, &cr->work);
}
