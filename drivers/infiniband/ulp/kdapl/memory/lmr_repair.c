// SPDX-License-Identifier: GPL-2.0
/*
 * The MR of an LMR from dat_lmr_allocate(): its allocation, and its replacement after a
 * request has failed and it is unknown whether the device has executed it.
 *
 * Called by lmr_alloc.c and by the work item of the LMR, in process context.
 */
#include <linux/sched/mm.h>
#include "event/event.h"
#include "internal.h"

/*
 * Allocates the MR, and adds it to the table of keys. @lmr: LMR of dat_lmr_allocate(), without an
 * MR. Returns 0; -ENOMEM, or the error of the device. Process context, ia->sem held for reading.
 */
int kdapl_lmr_make_mr(struct kdapl_lmr *lmr)
{
	struct ib_mr *mr;
	int ret;

	mr = ib_alloc_mr(lmr->pz->pd, IB_MR_TYPE_MEM_REG, lmr->max_pages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = kdapl_key_add(lmr->obj.ia->dev, mr->rkey, &lmr->obj);
	if (ret) {
		kdapl_mr_dereg(mr);
		return ret;
	}
	spin_lock_irq(&lmr->lock);
	lmr->mr = mr;
	lmr->fmr.mr = mr;
	spin_unlock_irq(&lmr->lock);
	return 0;
}

/* No request uses an MR in UNKNOWN, and none will until it has been replaced */
static void kdapl_lmr_replace(struct kdapl_lmr *lmr)
{
	struct ib_device *ibdev = lmr->obj.ia->ibdev;
	struct ib_mr *mr = lmr->fmr.mr;

	if (mr) {
		kdapl_key_del(lmr->obj.ia->dev, mr->rkey);
		spin_lock_irq(&lmr->lock);
		lmr->mr = NULL;
		lmr->fmr.mr = NULL;
		spin_unlock_irq(&lmr->lock);
		kdapl_mr_dereg(mr);
	}
	/* RMRs may be bound. If the last one ends now, kdapl_lmr_mark_gone() unmaps the memory */
	if (lmr->npages && !READ_ONCE(lmr->binds)) {
		ib_dma_unmap_sg(ibdev, lmr->sgt.sgl, lmr->npages, DMA_BIDIRECTIONAL);
		lmr->npages = 0;
	}
	/* If this fails, the MR stays in UNKNOWN, and the next call tries again */
	if (kdapl_lmr_make_mr(lmr))
		return;
	spin_lock_irq(&lmr->lock);
	kdapl_lmr_mark_gone(lmr);
	spin_unlock_irq(&lmr->lock);
}

/* Handles what a done callback has noted about an LMR. Context: work */
void kdapl_lmr_repair_work(struct work_struct *work)
{
	struct kdapl_lmr *lmr = container_of(work, struct kdapl_lmr, repair);
	struct kdapl_ia *ia = lmr->obj.ia;
	unsigned int noio;
	bool hostile;

	if (!kdapl_ia_enter(ia))
		/* The device is being removed, and the MR with it */
		return;
	/* Reclaim may wait for a Consumer that needs the new MR */
	noio = memalloc_noio_save();
	if (READ_ONCE(lmr->fmr.state) == KDAPL_MR_UNKNOWN)
		kdapl_lmr_replace(lmr);
	spin_lock_irq(&lmr->lock);
	hostile = lmr->hostile;
	lmr->hostile = false;
	spin_unlock_irq(&lmr->lock);
	if (hostile)
		kdapl_ia_async(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
			       kdapl_obj_handle(&lmr->obj), DAT_LMR_OTHER_ERROR);
	memalloc_noio_restore(noio);
	kdapl_ia_leave(ia);
}
