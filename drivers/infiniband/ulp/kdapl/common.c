// SPDX-License-Identifier: GPL-2.0
/*
 * What all layers share: the workqueue of deferred work, and the factor that
 * stretches time-outs. Made at module load, in process context.
 */
#include <linux/module.h>
#include "kdapl.h"

unsigned int kdapl_stretch = 1;
module_param_named(stretch, kdapl_stretch, uint, 0644);
MODULE_PARM_DESC(stretch, "Multiplies internal time-outs, for emulated machines (default 1)");

struct workqueue_struct *kdapl_wq;

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
 * kdapl_common_init - make the workqueue
 *
 * Of the kind that makes progress under memory pressure: a Consumer that
 * writes pages out may wait for a connection.
 *
 * Context: process, module load.
 * Return: 0, -ENOMEM.
 */
int kdapl_common_init(void)
{
	kdapl_wq = alloc_workqueue("kdapl", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return kdapl_wq ? 0 : -ENOMEM;
}

/**
 * kdapl_common_exit - undo kdapl_common_init()
 *
 * Context: process, module unload; waits for work that is queued.
 */
void kdapl_common_exit(void)
{
	destroy_workqueue(kdapl_wq);
}
