// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of service points and connection requests.
 *
 * A request is freed when it was consumed and its event was delivered. The last of the two
 * may happen in any context: in the call that consumes it, in dat_evd_dequeue(), or after an
 * upcall. The memory of a service point is freed with its last request. A lookup of a handle may
 * still read the header of either.
 */
#include <linux/slab.h>
#include "sp.h"

/* Drops a reference to the memory of a service point. Any context */
void kdapl_sp_put_mem(struct kdapl_sp *sp)
{
	if (refcount_dec_and_test(&sp->mem))
		kfree_rcu(sp, obj.rcu);
}

/*
 * Frees the memory of a CR. @cr: the CR, without references. Any context. The work of the CR may
 * still run, but does not use the CR any more.
 */
void kdapl_cr_free(struct kdapl_cr *cr)
{
	kdapl_sp_put_mem(cr->sp);
	kfree_rcu(cr, obj.rcu);
}
