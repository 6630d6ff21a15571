// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a service point and of its connection requests.
 *
 * A CR returns to the backlog when it is consumed and its event was delivered. The last of the
 * two happens in any context: in a call that consumes it, in dat_evd_dequeue(), or after an
 * upcall.
 */
#include "sp.h"
#include "object.h"

/**
 * kdapl_sp_put_mem - drop a reference to the memory of a service point
 * @sp: the service point
 *
 * Context: any.
 */
void kdapl_sp_put_mem(struct kdapl_sp *sp)
{
	u32 i;

	if (!refcount_dec_and_test(&sp->mem))
		return;
	for (i = 0; i < sp->ncrs; i++)
		kdapl_obj_abort(&sp->crs[i].obj);
	/* A handle lookup may still read a header in this memory */
	kvfree_rcu(sp, obj.rcu);
}

/**
 * kdapl_cr_recycle - return the memory of a CR to the backlog
 * @cr: the CR, without references
 *
 * Context: any. Its work may still run, but does not use the CR any more.
 */
void kdapl_cr_recycle(struct kdapl_cr *cr)
{
	struct kdapl_sp *sp = cr->sp;
	unsigned long flags;

	spin_lock_irqsave(&sp->lock, flags);
	list_add(&cr->free_node, &sp->free);
	spin_unlock_irqrestore(&sp->lock, flags);
	kdapl_sp_put_mem(sp);
}
