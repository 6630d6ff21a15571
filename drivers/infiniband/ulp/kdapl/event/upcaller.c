// SPDX-License-Identifier: GPL-2.0
/*
 * The tasks that run upcalls at this moment.
 *
 * Upcalls in softirq are recognized by their context. Those that may sleep run in workers of
 * the core's workqueue and of kDAPL's, which also run other work, so each delivery adds
 * its task to a table. evd_queue.c calls this file around the delivery, in process context; the
 * calls that must not be made inside an upcall look up their task.
 */
#include <linux/hashtable.h>
#include "event.h"

#define KDAPL_UPCALLER_BITS	4

static DEFINE_HASHTABLE(kdapl_upcallers, KDAPL_UPCALLER_BITS);
static DEFINE_SPINLOCK(kdapl_upcallers_lock);	/* guards the table */

/**
 * kdapl_upcaller_begin - the current task begins to run upcalls that may sleep
 * @me: on its stack until kdapl_upcaller_end()
 *
 * Context: process.
 */
void kdapl_upcaller_begin(struct kdapl_upcaller *me)
{
	me->task = current;
	spin_lock_irq(&kdapl_upcallers_lock);
	hash_add(kdapl_upcallers, &me->node, (unsigned long)current);
	spin_unlock_irq(&kdapl_upcallers_lock);
}

/**
 * kdapl_upcaller_end - undo kdapl_upcaller_begin()
 * @me: as for kdapl_upcaller_begin()
 *
 * Context: process.
 */
void kdapl_upcaller_end(struct kdapl_upcaller *me)
{
	spin_lock_irq(&kdapl_upcallers_lock);
	hash_del(&me->node);
	spin_unlock_irq(&kdapl_upcallers_lock);
	/* The core handles many completions in one run of its work item */
	cond_resched();
}

/**
 * kdapl_in_upcall - is the caller inside an upcall of any EVD?
 *
 * Bottom halves are off in every upcall that must not sleep, and they are never off where a
 * call that sleeps is legal.
 *
 * Context: any except hard interrupt.
 */
bool kdapl_in_upcall(void)
{
	const struct kdapl_upcaller *one;
	unsigned long flags;
	bool found = false;

	if (in_softirq())
		return true;
	spin_lock_irqsave(&kdapl_upcallers_lock, flags);
	hash_for_each_possible(kdapl_upcallers, one, node, (unsigned long)current)
		found |= one->task == current;
	spin_unlock_irqrestore(&kdapl_upcallers_lock, flags);
	return found;
}
