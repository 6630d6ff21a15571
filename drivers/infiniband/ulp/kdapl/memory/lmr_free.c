// SPDX-License-Identifier: GPL-2.0
/*
 * The end of an LMR: it is freed, its IA is closed, or its device is removed.
 *
 * When dat_lmr_free() returns, neither a post nor a peer can reach the memory: the descriptor
 * was cleared, the key invalidated, and the pages unmapped. A concurrent post may still read
 * the key of the MR and the index in the table, so a work item (@free_work) releases them
 * after a grace period, for which the call does not wait. Until then the MR is counted in
 * pz->mrs, which keeps the PD.
 *
 * Called by Consumers and by ia_close.c, in process context.
 */
#include <linux/export.h>
#include <linux/sched/mm.h>
#include "internal.h"

/* Undoes the mapping for DMA. @lmr: LMR, whose key is invalid. Process context */
void kdapl_lmr_unmap(struct kdapl_lmr *lmr, struct ib_device *ibdev)
{
	if (lmr->is_fmr) {
		if (lmr->npages)
			ib_dma_unmap_sg(ibdev, lmr->sgt.sgl, lmr->npages, DMA_BIDIRECTIONAL);
		lmr->npages = 0;
		return;
	}
	ib_dma_unmap_sgtable_attrs(ibdev, &lmr->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&lmr->sgt);
}

/*
 * Releases what a concurrent post could still read. Context: work, a grace period after the
 * descriptor was cleared.
 */
void kdapl_lmr_free_work(struct work_struct *work)
{
	struct kdapl_lmr *lmr = container_of(to_rcu_work(work), struct kdapl_lmr, free_work);
	/* Reclaim may wait for a Consumer that needs work queued after this */
	unsigned int noio = memalloc_noio_save();
	struct kdapl_ia *ia = lmr->obj.ia;
	struct kdapl_pz *pz = lmr->pz;
	bool orphaned = lmr->orphaned;
	struct ib_mr *mr = lmr->mr;

	if (mr)
		kdapl_mr_dereg(mr);
	kdapl_lmr_desc_put(lmr->param.lmr_context);
	if (lmr->is_fmr)
		kvfree(lmr->sgt.sgl);
	kfree(lmr);
	/* Lets device removal continue; the zone still exists, and keeps the IA */
	if (!orphaned)
		kdapl_ia_verbs_put(ia);
	kdapl_pz_mr_put(pz);
	memalloc_noio_restore(noio);
}

/* Ends all access to the memory; the LMR has its verbs objects */
static void kdapl_lmr_revoke(struct kdapl_lmr *lmr)
{
	struct ib_device *ibdev = lmr->mr->device;
	/* If no request is outstanding, it is VALID, FREE or UNKNOWN */
	u8 state = lmr->fmr.state;

	if (state == KDAPL_MR_UNKNOWN ||
	    (state == KDAPL_MR_VALID && kdapl_pz_invalidate(lmr->pz, lmr->mr->rkey))) {
		/* Then the MR must be freed at once, when no post uses its key any more */
		kdapl_wait_grace_period();
		kdapl_mr_dereg(lmr->mr);
		WRITE_ONCE(lmr->mr, NULL);
	}
	kdapl_lmr_unmap(lmr, ibdev);
}

/*
 * Orphans an LMR: its device is being removed, or its IA is closed. Destroys the verbs objects.
 * The descriptor is kept, because posts on an orphaned EP still use the context, and are flushed.
 * @obj: referenced, or killed by the close; no EP has a QP any more. Process context.
 */
void kdapl_lmr_orphan(struct kdapl_obj *obj)
{
	struct kdapl_lmr *lmr = to_kdapl_lmr(obj);
	struct ib_device *ibdev = lmr->obj.ia->ibdev;
	struct ib_mr *mr;

	if (lmr->orphaned)
		return;
	cancel_work_sync(&lmr->repair);
	mr = lmr->mr;
	if (mr)
		kdapl_key_del(lmr->obj.ia->dev, mr->rkey);
	spin_lock_irq(&lmr->lock);
	WRITE_ONCE(lmr->mr, NULL);
	lmr->fmr.mr = NULL;
	lmr->fmr.state = KDAPL_MR_FREE;
	lmr->param.lmr_state.bound = DAT_FALSE;
	lmr->param.rmr_context = 0;
	lmr->orphaned = true;
	spin_unlock_irq(&lmr->lock);
	/* Deregistration invalidates the key at once */
	if (mr)
		kdapl_mr_dereg(mr);
	kdapl_lmr_unmap(lmr, ibdev);
	kdapl_ia_verbs_put(lmr->obj.ia);
}

/*
 * Frees an LMR. When it returns, nobody can reach the memory, and the LMR does not use the zone
 * any more. Process context.
 */
void kdapl_lmr_destroy(struct kdapl_obj *obj)
{
	struct kdapl_lmr *lmr = to_kdapl_lmr(obj);
	struct kdapl_pz *pz = lmr->pz;

	spin_lock_irq(&lmr->lock);
	lmr->dying = true;
	spin_unlock_irq(&lmr->lock);
	/* It is not queued again, because completions check @dying under the lock */
	cancel_work_sync(&lmr->repair);
	kdapl_lmr_desc_empty(lmr->desc);
	if (lmr->mr) {
		/* A grace period before the LMR is freed */
		kdapl_key_del(lmr->obj.ia->dev, lmr->mr->rkey);
		kdapl_lmr_revoke(lmr);
	}
	kdapl_ia_del(lmr->obj.ia, &lmr->obj);
	kdapl_obj_unuse(&pz->obj);
	/* The work keeps the zone, and so the memory of the IA, until it has run */
	queue_rcu_work(kdapl_wq, &lmr->free_work);
}

/**
 * dat_lmr_free - end a registration
 * @lmr_handle: LMR
 *
 * When the call returns, neither a post nor a peer reaches the memory. DTOs
 * that still use it fail, and break their connection.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_LMR;
 * DAT_INVALID_STATE with DAT_INVALID_STATE_LMR_IN_USE: an RMR is bound to it,
 * a request of an RMR that was freed has not completed, or a request of dat_lmr_fmr() or
 * dat_lmr_invalidate() has not.
 */
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	/* Posts use contexts, not handles; free_work waits for the grace period */
	return kdapl_obj_free(lmr_handle, DAT_HANDLE_TYPE_LMR, false, KDAPL_BAD_HANDLE(LMR),
			      KDAPL_BAD_STATE(LMR_IN_USE));
}
EXPORT_SYMBOL_GPL(dat_lmr_free);
