// SPDX-License-Identifier: GPL-2.0
/*
 * What all layers share: the workqueues of deferred work, grace periods, and the module
 * parameters. Made at module load, in process context.
 */
#include <linux/module.h>
#include "kdapl.h"

unsigned int kdapl_stretch = 1;
module_param_named(stretch, kdapl_stretch, uint, 0644);
MODULE_PARM_DESC(stretch, "Multiplies internal time-outs, for emulated machines (default 1)");

unsigned int kdapl_max_reg_pages = 2048;
module_param_named(max_reg_pages, kdapl_max_reg_pages, uint, 0444);
MODULE_PARM_DESC(max_reg_pages, "Most pages of one LMR or RMR, at least 2 (default 2048)");

struct workqueue_struct *kdapl_wq;
struct workqueue_struct *kdapl_evd_wq;

atomic_t kdapl_graces;

/**
 * kdapl_grace - wait for a grace period, and count it
 *
 * A grace period takes many milliseconds on a machine with other work, so a
 * path that handles many objects must not wait for one on behalf of each. The
 * tests compare the counter before and after.
 *
 * Context: process.
 */
void kdapl_grace(void)
{
	synchronize_rcu();
	atomic_inc(&kdapl_graces);
}

/**
 * kdapl_common_init - make the workqueues
 *
 * Both are of the kind that makes progress under memory pressure: a Consumer
 * that writes pages out may wait for a connection, or for an event. Work on
 * kdapl_wq waits for peers, for drains and for mutexes, and may occupy every
 * worker that the queue is allowed to have. Work on kdapl_evd_wq delivers events
 * and polls CQs; it never blocks, so it has a queue, a limit and a rescuer of
 * its own. It runs at normal priority: a peer that keeps sending must not push
 * the tasks of this machine aside, and ksoftirqd runs so for the same reason.
 *
 * Context: process, module load.
 * Return: 0, -ENOMEM.
 */
int kdapl_common_init(void)
{
	kdapl_wq = alloc_workqueue("kdapl", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kdapl_wq)
		return -ENOMEM;
	kdapl_evd_wq = alloc_workqueue("kdapl_evd", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kdapl_evd_wq) {
		destroy_workqueue(kdapl_wq);
		return -ENOMEM;
	}
	return 0;
}

/**
 * kdapl_common_exit - undo kdapl_common_init()
 *
 * Context: process, module unload; waits for work that is queued.
 */
void kdapl_common_exit(void)
{
	/* Events are delivered by the second, and connection work queues events */
	destroy_workqueue(kdapl_wq);
	destroy_workqueue(kdapl_evd_wq);
}
