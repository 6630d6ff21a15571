// SPDX-License-Identifier: GPL-2.0
/*
 * dat_lmr_allocate(): LMRs that are registered by work requests later. lmr_fmr.c registers
 * them, and lmr_free.c frees them.
 *
 * Owns the MR of such an LMR: its allocation, and its replacement after a request has failed and
 * it is unknown whether the device has executed it. Called by Consumers and by the work item of
 * the LMR, in process context.
 */
#include <linux/export.h>
#include <linux/scatterlist.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include "event/event.h"
#include "internal.h"

/*
 * Allocates the MR, and adds it to the table of keys. @lmr: LMR of dat_lmr_allocate(), without an
 * MR. Returns 0; -ENOMEM, or the error of the device. Process context, ia->sem held for reading.
 */
static int kdapl_lmr_make_mr(struct kdapl_lmr *lmr)
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

static void kdapl_lmr_fmr_param(struct kdapl_lmr *lmr)
{
	DAT_LMR_PARAM *p = &lmr->param;

	p->ia_handle = kdapl_obj_handle(&lmr->obj.ia->obj);
	p->mem_type = DAT_MEM_TYPE_PHYSICAL;
	p->pz_handle = kdapl_obj_handle(&lmr->pz->obj);
	p->va_type = DAT_VA_TYPE_VA;
	p->lmr_state.fmr_support = DAT_TRUE;
	p->lmr_state.bound = DAT_FALSE;
}

/* Called inside kdapl_ia_get_enter(), with the zone in use. Undoes its work if it fails */
static DAT_RETURN kdapl_lmr_fmr_build(struct kdapl_lmr *lmr)
{
	lmr->sgt.sgl = kvcalloc(lmr->max_pages, sizeof(*lmr->sgt.sgl), GFP_KERNEL);
	if (!lmr->sgt.sgl)
		return KDAPL_NO_RESOURCE(MEMORY);
	sg_init_table(lmr->sgt.sgl, lmr->max_pages);
	/* A bind stops at the end of the registered range */
	lmr->sgt.nents = lmr->max_pages;
	lmr->desc = kdapl_lmr_desc_get(lmr, &lmr->param.lmr_context);
	if (!lmr->desc)
		goto err_free_sgl;
	if (kdapl_lmr_make_mr(lmr))
		goto err_put_desc;
	kdapl_pz_mr_get(lmr->pz);
	return DAT_SUCCESS;

err_put_desc:
	kdapl_lmr_desc_put(lmr->param.lmr_context);
	kvfree(lmr->sgt.sgl);
	return KDAPL_NO_RESOURCE(MEMORY_REGION);
err_free_sgl:
	kvfree(lmr->sgt.sgl);
	return KDAPL_NO_RESOURCE(MEMORY);
}

static DAT_RETURN kdapl_lmr_fmr_make(struct kdapl_ia *ia, struct kdapl_pz *pz, u32 max_pages,
				     struct kdapl_lmr **out)
{
	DAT_RETURN ret = KDAPL_NO_RESOURCE(MEMORY);
	struct kdapl_lmr *lmr = kdapl_lmr_alloc(ia, pz, &ret);

	if (!lmr)
		return ret;
	lmr->is_fmr = true;
	lmr->max_pages = max_pages;
	kdapl_lmr_fmr_param(lmr);
	ret = kdapl_lmr_fmr_build(lmr);
	if (ret)
		kdapl_lmr_abort(lmr);
	else
		*out = lmr;
	return ret;
}

static DAT_RETURN kdapl_lmr_allocate_check(const struct kdapl_ia *ia, DAT_COUNT max_pages,
					   DAT_LMR_SCOPE scope, const DAT_LMR_HANDLE *handle)
{
	/* A key belongs to a protection domain, and never to a single QP */
	if (scope == DAT_LMR_SCOPE_EP)
		return KDAPL_UNSUPPORTED;
	if (max_pages <= 0 || max_pages > ia->limits.page_list_len)
		return KDAPL_BAD_ARG(3);
	if (scope != DAT_LMR_SCOPE_PZ && scope != DAT_LMR_SCOPE_ANY)
		return KDAPL_BAD_ARG(4);
	if (!handle)
		return KDAPL_BAD_ARG(5);
	return DAT_SUCCESS;
}

/**
 * dat_lmr_allocate - allocate an LMR for registration by dat_lmr_fmr()
 * @ia_handle:  open IA
 * @pz_handle:  its protection zone
 * @max_pages:  largest number of pages of PAGE_SIZE of a registration
 * @lmr_scope:  DAT_LMR_SCOPE_PZ, or ANY, which has the same effect
 * @lmr_handle: receives the LMR
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_IA, or with _PZ also if
 * the zone belongs to another IA; DAT_MODEL_NOT_SUPPORTED: scope EP; DAT_INVALID_PARAMETER:
 * ARG3 @max_pages is not positive or exceeds the limit of the device, ARG4 unknown scope,
 * ARG5 @lmr_handle is NULL; DAT_INSUFFICIENT_RESOURCES: MEMORY, MEMORY_REGION, or DEVICE,
 * which was removed.
 */
DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			    DAT_COUNT max_pages, DAT_LMR_SCOPE lmr_scope,
			    DAT_LMR_HANDLE *lmr_handle)
{
	struct kdapl_lmr *lmr;
	struct kdapl_obj *pz;
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	ret = kdapl_ia_get_enter(ia_handle, &ia);
	if (ret)
		return ret;
	pz = kdapl_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
	if (!pz || pz->ia != ia) {
		ret = KDAPL_BAD_HANDLE(PZ);
		goto out;
	}
	ret = kdapl_lmr_allocate_check(ia, max_pages, lmr_scope, lmr_handle);
	if (!ret)
		ret = kdapl_lmr_fmr_make(ia, to_kdapl_pz(pz), max_pages, &lmr);
	if (ret)
		goto out;
	*lmr_handle = kdapl_obj_handle(&lmr->obj);
	kdapl_ia_add(ia, &lmr->obj, true);
out:
	if (pz)
		kdapl_obj_put(pz);
	kdapl_ia_leave_put(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_lmr_allocate);
