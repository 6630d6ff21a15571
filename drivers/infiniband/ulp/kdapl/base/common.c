// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by all layers: the workqueues, grace periods, and the module parameters. They are
 * set up at module load, in process context.
 */
#include <linux/module.h>
#include "base.h"

unsigned int kdapl_timeout_scale = 1;
module_param_named(stretch, kdapl_timeout_scale, uint, 0644);
MODULE_PARM_DESC(stretch, "Multiplies internal timeouts, for emulated machines (default 1)");

unsigned int kdapl_max_reg_pages = 2048;
module_param_named(max_reg_pages, kdapl_max_reg_pages, uint, 0444);
MODULE_PARM_DESC(max_reg_pages, "Most pages of one LMR or RMR, at least 2 (default 2048)");

struct workqueue_struct *kdapl_wq;
struct workqueue_struct *kdapl_evd_wq;
struct workqueue_struct *kdapl_upcall_wq;
struct workqueue_struct *kdapl_notice_wq;

atomic_t kdapl_grace_periods;

/*
 * Waits for a grace period, and counts it. A grace period takes many milliseconds on a busy
 * machine, so a path that handles many objects must not wait for one per object. Tests read the
 * counter before and after a call to check this. Process context.
 */
void kdapl_wait_grace_period(void)
{
	synchronize_rcu();
	atomic_inc(&kdapl_grace_periods);
}

/*
 * Makes the workqueues. kdapl-locking.rst (Workqueues) says what runs on each, and why each is
 * separate. Returns 0 or -ENOMEM. Process context, module load.
 */
int kdapl_common_init(void)
{
	kdapl_wq = alloc_workqueue("kdapl", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kdapl_wq)
		return -ENOMEM;
	kdapl_evd_wq = alloc_workqueue("kdapl_evd", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kdapl_evd_wq)
		goto err_destroy_wq;
	kdapl_upcall_wq = alloc_workqueue("kdapl_upcall", WQ_UNBOUND | WQ_MEM_RECLAIM,
					  WQ_MAX_ACTIVE);
	if (!kdapl_upcall_wq)
		goto err_destroy_evd_wq;
	kdapl_notice_wq = alloc_workqueue("kdapl_notice", WQ_UNBOUND | WQ_MEM_RECLAIM,
					  WQ_MAX_ACTIVE);
	if (!kdapl_notice_wq)
		goto err_destroy_upcall_wq;
	return 0;

err_destroy_upcall_wq:
	destroy_workqueue(kdapl_upcall_wq);
err_destroy_evd_wq:
	destroy_workqueue(kdapl_evd_wq);
err_destroy_wq:
	destroy_workqueue(kdapl_wq);
	return -ENOMEM;
}

/* Undoes kdapl_common_init(). Process context, module unload; waits for work that is queued */
void kdapl_common_exit(void)
{
	/* kdapl_wq first: connection work queues events, which the others deliver */
	destroy_workqueue(kdapl_wq);
	destroy_workqueue(kdapl_notice_wq);
	destroy_workqueue(kdapl_upcall_wq);
	destroy_workqueue(kdapl_evd_wq);
}
