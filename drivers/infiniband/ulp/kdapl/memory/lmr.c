// SPDX-License-Identifier: GPL-2.0
/*
 * Local memory regions: registration and query.
 *
 * Every LMR is a fast-registered MR, which is mapped once and registered by a work request
 * on the service QP of its zone. The registered address is the Consumer's address, so a post
 * translates no addresses. A key that covers all memory is never used, because nothing could
 * revoke it. lmr_free.c frees LMRs.
 *
 * Called by Consumers in process context; the query in any context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-mapping.h>
#include <linux/export.h>
#include "internal.h"
#include "base/trace.h"

/* The checked arguments of the Consumer */
struct kdapl_lmr_request {
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN length;
	DAT_MEM_PRIV_FLAGS priv;
};

/* Bounce buffers need a call around each transfer, which kDAPL does not make (L-03) */
static bool kdapl_lmr_needs_sync(struct kdapl_ia *ia, const struct sg_table *sgt)
{
	if (!kdapl_sg_needs_sync(ia->ibdev, sgt->sgl, sgt->nents, sgt->orig_nents))
		return false;
	if (!test_and_set_bit(0, &ia->sync_logged))
		pr_warn("%s: memory needs DMA syncs here, registration refused\n", ia->name);
	return true;
}

static DAT_RETURN kdapl_lmr_map(struct kdapl_lmr *lmr, struct kdapl_ia *ia,
				const struct kdapl_region *r)
{
	if (sg_alloc_table_from_pages_segment(&lmr->sgt, r->pages, r->npages, r->offset, r->length,
					      ib_dma_max_seg_size(ia->ibdev), GFP_KERNEL))
		return KDAPL_NO_RESOURCE(MEMORY);
	if (ib_dma_map_sgtable_attrs(ia->ibdev, &lmr->sgt, DMA_BIDIRECTIONAL, 0)) {
		sg_free_table(&lmr->sgt);
		return KDAPL_NO_RESOURCE(MEMORY_REGION);
	}
	if (kdapl_lmr_needs_sync(ia, &lmr->sgt)) {
		kdapl_lmr_unmap(lmr, ia->ibdev);
		return KDAPL_UNSUPPORTED;
	}
	return DAT_SUCCESS;
}

/* Allocates the MR of a mapped LMR and registers it. Returns 0 or a negative errno */
static int kdapl_lmr_register(struct kdapl_lmr *lmr, const struct kdapl_region *r)
{
	struct kdapl_pz *pz = lmr->pz;
	struct ib_mr *mr;
	int n, ret;

	mr = ib_alloc_mr(pz->pd, IB_MR_TYPE_MEM_REG, r->npages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	n = ib_map_mr_sg(mr, lmr->sgt.sgl, lmr->sgt.nents, NULL, PAGE_SIZE);
	if (n != lmr->sgt.nents) {
		ret = n < 0 ? n : -EINVAL;
		goto err_dereg_mr;
	}
	/*
	 * The device takes the offset in a page from the address. An IOMMU preserves only the
	 * offset in its own pages, which may be smaller. A bind uses parts of this mapping, so it
	 * needs no check.
	 */
	ret = -EINVAL;
	if (offset_in_page(mr->iova ^ r->iova))
		goto err_dereg_mr;
	mr->iova = r->iova;
	ret = kdapl_key_add(lmr->obj.ia->dev, mr->rkey, &lmr->obj);
	if (ret)
		goto err_dereg_mr;
	ret = kdapl_pz_register(pz, mr, kdapl_mr_access(lmr->param.mem_priv));
	if (ret)
		goto err_del_key;
	kdapl_pz_mr_get(pz);
	lmr->fmr.state = KDAPL_MR_VALID;
	lmr->mr = mr;
	return 0;

err_del_key:
	kdapl_key_del(lmr->obj.ia->dev, mr->rkey);
err_dereg_mr:
	kdapl_mr_dereg(mr);
	return ret;
}

static void kdapl_lmr_set_param(struct kdapl_lmr *lmr, const struct kdapl_lmr_request *req,
				const struct kdapl_region *r)
{
	DAT_LMR_PARAM *p = &lmr->param;

	p->ia_handle = kdapl_obj_handle(&lmr->obj.ia->obj);
	p->mem_type = req->type;
	p->region_desc = req->desc;
	p->length = req->length;
	p->pz_handle = kdapl_obj_handle(&lmr->pz->obj);
	p->mem_priv = req->priv;
	p->va_type = DAT_VA_TYPE_VA;
	p->registered_size = r->length;
	p->registered_address = r->iova;
	p->lmr_state.fmr_support = DAT_FALSE;
	p->lmr_state.bound = DAT_FALSE;
}

/* Called inside kdapl_ia_get_enter(), with the zone in use. Undoes its work if it fails */
static DAT_RETURN kdapl_lmr_build(struct kdapl_lmr *lmr, const struct kdapl_lmr_request *req,
				  const struct kdapl_region *r)
{
	struct kdapl_ia *ia = lmr->obj.ia;
	DAT_RETURN ret;

	kdapl_lmr_set_param(lmr, req, r);
	lmr->desc = kdapl_lmr_desc_get(lmr, &lmr->param.lmr_context);
	if (!lmr->desc)
		return KDAPL_NO_RESOURCE(MEMORY);
	ret = kdapl_lmr_map(lmr, ia, r);
	if (ret)
		goto err_put_desc;
	if (kdapl_lmr_register(lmr, r)) {
		ret = KDAPL_NO_RESOURCE(MEMORY_REGION);
		goto err_unmap;
	}
	if (req->priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		lmr->param.rmr_context = lmr->mr->rkey;
	kdapl_lmr_desc_fill(lmr->desc, lmr);
	return DAT_SUCCESS;

err_unmap:
	kdapl_lmr_unmap(lmr, ia->ibdev);
err_put_desc:
	kdapl_lmr_desc_put(lmr->param.lmr_context);
	return ret;
}

static const struct kdapl_obj_ops kdapl_lmr_ops = {
	.destroy = kdapl_lmr_destroy,
	.orphan = kdapl_lmr_orphan,
	.invalidated = kdapl_lmr_invalidated,
};

/*
 * Allocates an LMR without memory. @ret: receives the reason of a failure. Returns the LMR, which
 * kdapl_lmr_abort() frees, or NULL. Process context, inside kdapl_ia_get_enter().
 */
struct kdapl_lmr *kdapl_lmr_alloc(struct kdapl_ia *ia, struct kdapl_pz *pz, DAT_RETURN *ret)
{
	struct kdapl_lmr *lmr = kzalloc(sizeof(*lmr), GFP_KERNEL);

	*ret = KDAPL_NO_RESOURCE(MEMORY);
	if (!lmr)
		return NULL;
	if (kdapl_obj_init(&lmr->obj, DAT_HANDLE_TYPE_LMR, ia))
		goto err_free;
	if (!kdapl_obj_tryuse(&pz->obj)) {
		*ret = KDAPL_BAD_HANDLE(PZ);
		goto err_abort;
	}
	lmr->obj.ops = &kdapl_lmr_ops;
	lmr->pz = pz;
	lmr->zone = pz->zone << KDAPL_ZONE_SHIFT;
	lmr->fmr.lmr = lmr;
	spin_lock_init(&lmr->lock);
	INIT_WORK(&lmr->repair, kdapl_lmr_repair_work);
	INIT_RCU_WORK(&lmr->free_work, kdapl_lmr_free_work);
	return lmr;

err_abort:
	kdapl_obj_exit(&lmr->obj);
err_free:
	kfree(lmr);
	return NULL;
}

/* Undoes kdapl_lmr_alloc(). Process context */
void kdapl_lmr_abort(struct kdapl_lmr *lmr)
{
	kdapl_obj_unuse(&lmr->pz->obj);
	kdapl_obj_exit(&lmr->obj);
	/* A lookup in the table of keys may still read it */
	kfree_rcu(lmr, obj.rcu);
}

static DAT_RETURN kdapl_lmr_make(struct kdapl_ia *ia, struct kdapl_pz *pz,
				 const struct kdapl_lmr_request *req,
				 const struct kdapl_region *r, struct kdapl_lmr **out)
{
	DAT_RETURN ret;
	struct kdapl_lmr *lmr = kdapl_lmr_alloc(ia, pz, &ret);

	if (!lmr)
		return ret;
	ret = kdapl_lmr_build(lmr, req, r);
	if (ret)
		kdapl_lmr_abort(lmr);
	else
		*out = lmr;
	return ret;
}

static DAT_RETURN kdapl_lmr_errno(int err)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -EFAULT:
		return KDAPL_BAD_ARG(3);
	case -EMSGSIZE:
		return KDAPL_BAD_ARG(4);
	case -EACCES:
		return KDAPL_ERROR(PRIVILEGES_VIOLATION);
	}
	return KDAPL_NO_RESOURCE(MEMORY);
}

/* Collects the pages of another LMR, whose privileges the new LMR cannot exceed */
static DAT_RETURN kdapl_lmr_share(struct kdapl_ia *ia, const struct kdapl_lmr_request *req,
				  struct kdapl_region *r)
{
	struct kdapl_obj *obj = kdapl_obj_get(req->desc.for_lmr_handle, DAT_HANDLE_TYPE_LMR);
	struct kdapl_lmr *src;
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_BAD_HANDLE(LMR);
	src = to_kdapl_lmr(obj);
	if (obj->ia != ia)
		ret = KDAPL_BAD_HANDLE(LMR);
	else if (src->is_fmr)
		/* A registration of dat_lmr_fmr() can end at any time, also below a second LMR */
		ret = KDAPL_UNSUPPORTED;
	else if (req->priv & ~src->param.mem_priv)
		ret = KDAPL_ERROR(PRIVILEGES_VIOLATION);
	else
		ret = kdapl_lmr_errno(kdapl_region_lmr(r, src, req->length));
	kdapl_obj_put(obj);
	return ret;
}

static DAT_RETURN kdapl_lmr_collect(struct kdapl_ia *ia, const struct kdapl_lmr_request *req,
				    struct kdapl_region *r)
{
	const DAT_REGION_DESCRIPTION *d = &req->desc;
	u32 max = ia->limits.page_list_len;
	int ret;

	switch (req->type) {
	case DAT_MEM_TYPE_VIRTUAL:
		ret = kdapl_region_virtual(r, d->for_va, req->length, max, req->priv);
		break;
	case DAT_MEM_TYPE_PHYSICAL:
		ret = kdapl_region_physical(r, d->for_physical, PAGE_SIZE, req->length, max,
					    req->priv);
		break;
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		ret = kdapl_region_physical(r, d->for_array.pages, d->for_array.page_size,
					    req->length, max, req->priv);
		break;
	default:
		return kdapl_lmr_share(ia, req, r);
	}
	return kdapl_lmr_errno(ret);
}

static DAT_RETURN kdapl_lmr_check_type(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc)
{
	bool null;

	switch (type) {
	case DAT_MEM_TYPE_VIRTUAL:
		null = !desc.for_va;
		break;
	case DAT_MEM_TYPE_PHYSICAL:
		null = !desc.for_physical;
		break;
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		null = !desc.for_array.pages;
		break;
	case DAT_MEM_TYPE_LMR:
		/* The handle is checked later */
		null = false;
		break;
	case DAT_MEM_TYPE_PLATFORM:
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_BYPASS:
		return KDAPL_UNSUPPORTED;
	default:
		return KDAPL_BAD_ARG(2);
	}
	return null ? KDAPL_BAD_ARG(3) : DAT_SUCCESS;
}

static DAT_RETURN kdapl_lmr_check(const struct kdapl_lmr_request *req, DAT_VA_TYPE va_type,
				  DAT_MEM_OPTIMIZE_FLAGS opt)
{
	DAT_RETURN ret = kdapl_lmr_check_type(req->type, req->desc);

	if (ret)
		return ret;
	if (!req->length)
		return KDAPL_BAD_ARG(4);
	if (req->priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return KDAPL_BAD_ARG(6);
	if (va_type == DAT_VA_TYPE_ZB)
		return KDAPL_UNSUPPORTED;
	if (va_type != DAT_VA_TYPE_VA)
		return KDAPL_BAD_ARG(7);
	if (opt & ~(DAT_MEM_OPTIMIZE_IA | DAT_MEM_OPTIMIZE_MIN_EXPOSURE |
		    DAT_MEM_OPTIMIZE_EXACT_EXPOSURE))
		return KDAPL_BAD_ARG(8);
	return DAT_SUCCESS;
}

/*
 * Checks the pointers for results. Those for the length and the address, which are not
 * checked, and for the key of an LMR without remote privileges may be NULL.
 */
static DAT_RETURN kdapl_lmr_check_outputs(DAT_MEM_PRIV_FLAGS priv, const DAT_LMR_HANDLE *handle,
					  const DAT_LMR_CONTEXT *context,
					  const DAT_RMR_CONTEXT *rmr_context)
{
	if (!handle)
		return KDAPL_BAD_ARG(9);
	if (!context)
		return KDAPL_BAD_ARG(10);
	/* This is argument 11, but the last subtype is for argument 10 */
	if (!rmr_context &&
	    (priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)))
		return KDAPL_ERROR(INVALID_PARAMETER);
	return DAT_SUCCESS;
}

/* Called inside kdapl_ia_get_enter(), with a reference to @pz */
static DAT_RETURN kdapl_lmr_create(struct kdapl_ia *ia, struct kdapl_pz *pz,
				   const struct kdapl_lmr_request *req, struct kdapl_lmr **out)
{
	struct kdapl_region r = {};
	DAT_RETURN ret;

	ret = kdapl_lmr_collect(ia, req, &r);
	if (!ret)
		ret = kdapl_lmr_make(ia, pz, req, &r, out);
	kdapl_region_free(&r);
	if (ret)
		trace_kdapl_lmr(0, kdapl_obj_id(&pz->obj), 0, req->length, req->priv, ret);
	else
		trace_kdapl_lmr(kdapl_obj_id(&(*out)->obj), kdapl_obj_id(&pz->obj),
				(*out)->param.lmr_context, req->length, req->priv, 0);
	return ret;
}

/**
 * dat_lmr_kcreate - register memory
 * @ia_handle:          open IA
 * @mem_type:           DAT_MEM_TYPE_VIRTUAL: for_va is a kernel address, of memory from
 *                      kmalloc() or vmalloc(), or of a module. PHYSICAL: for_physical is an
 *                      array of addresses of pages. PHYSICAL_VAR_PAGES: for_array is one of
 *                      pages whose size is a multiple of PAGE_SIZE. LMR: for_lmr_handle is
 *                      an LMR, not of dat_lmr_allocate(), whose memory is registered once
 *                      more from its start
 * @region_description: the memory, according to @mem_type
 * @length:             bytes
 * @pz_handle:          protection zone
 * @mem_privileges:     DAT_MEM_PRIV_*
 * @va_type:            DAT_VA_TYPE_VA
 * @mem_optimization:   a hint, which is not used
 * @lmr_handle:         receives the handle
 * @lmr_context:        receives the context for segments of posts
 * @rmr_context:        receives the key for the peer, or 0 without a remote privilege, in
 *                      which case it may be NULL
 * @registered_length:  receives @length; may be NULL
 * @registered_address: receives the address that posts and peers use for the first byte:
 *                      for_va, the address of the first page, or that of the other LMR. The
 *                      other bytes follow contiguously, even if the pages do not. May be NULL
 *
 * The Consumer must not free the memory before the LMR.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle is not an open IA (IA); @pz_handle is not a zone of this
 *   IA, or is being freed (PZ); for_lmr_handle is not an LMR of this IA (LMR)
 * * DAT_INVALID_PARAMETER - unknown @mem_type (ARG2); no address, or one that is not memory,
 *   an illegal page size, or a page address that is not a multiple of it (ARG3); @length is
 *   0, needs more pages than the device can register at once, or exceeds the other LMR
 *   (ARG4); unknown privilege (ARG6), @va_type (ARG7) or @mem_optimization (ARG8);
 *   @lmr_handle is NULL (ARG9), @lmr_context is NULL (ARG10), @rmr_context is NULL with a
 *   remote privilege (no subtype)
 * * DAT_MODEL_NOT_SUPPORTED - DAT_MEM_TYPE_PLATFORM, IA and BYPASS; DAT_VA_TYPE_ZB; the
 *   other LMR is one of dat_lmr_allocate(); memory that needs DMA syncs
 * * DAT_PRIVILEGES_VIOLATION - a privilege that the other LMR does not have, or a write
 *   privilege for read-only memory: the zero page, read-only data, kernel text
 * * DAT_INSUFFICIENT_RESOURCES - no memory, no free handle or context (MEMORY); the memory
 *   could not be mapped for DMA, or the device has not registered it (MEMORY_REGION); the
 *   device was removed (DEVICE)
 */
DAT_RETURN dat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			   DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS mem_privileges,
			   DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			   DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address)
{
	struct kdapl_lmr_request req = {
		.type = mem_type,
		.desc = region_description,
		.length = length,
		.priv = mem_privileges,
	};
	struct kdapl_obj *pz;
	struct kdapl_lmr *lmr;
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
	ret = kdapl_lmr_check(&req, va_type, mem_optimization);
	if (!ret)
		ret = kdapl_lmr_check_outputs(req.priv, lmr_handle, lmr_context, rmr_context);
	if (!ret)
		ret = kdapl_lmr_create(ia, to_kdapl_pz(pz), &req, &lmr);
	if (ret)
		goto out;
	*lmr_handle = kdapl_obj_handle(&lmr->obj);
	*lmr_context = lmr->param.lmr_context;
	if (rmr_context)
		*rmr_context = lmr->param.rmr_context;
	if (registered_length)
		*registered_length = lmr->param.registered_size;
	if (registered_address)
		*registered_address = lmr->param.registered_address;
	/* From here on a caller that guesses the handle may free it */
	kdapl_ia_add(ia, &lmr->obj, true);
out:
	if (pz)
		kdapl_obj_put(pz);
	kdapl_ia_leave_put(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_lmr_kcreate);

static void kdapl_lmr_fill(struct kdapl_obj *obj, union kdapl_param *param)
{
	struct kdapl_lmr *lmr = to_kdapl_lmr(obj);
	unsigned long flags;

	spin_lock_irqsave(&lmr->lock, flags);
	param->lmr = lmr->param;
	spin_unlock_irqrestore(&lmr->lock, flags);
}

static const u16 kdapl_lmr_offsets[] = {
	KDAPL_PARAM(LMR, ia_handle), KDAPL_PARAM(LMR, mem_type), KDAPL_PARAM(LMR, region_desc),
	KDAPL_PARAM(LMR, length), KDAPL_PARAM(LMR, pz_handle), KDAPL_PARAM(LMR, mem_priv),
	KDAPL_PARAM(LMR, va_type), KDAPL_PARAM(LMR, lmr_context), KDAPL_PARAM(LMR, rmr_context),
	KDAPL_PARAM(LMR, registered_size), KDAPL_PARAM(LMR, registered_address),
	KDAPL_PARAM(LMR, lmr_state), sizeof(DAT_LMR_PARAM)
};

KDAPL_DEFINE_QUERY(kdapl_lmr, LMR, KDAPL_BAD_HANDLE(LMR));

/**
 * dat_lmr_query - query the parameters of an LMR
 * @lmr_handle:     LMR
 * @lmr_param_mask: DAT_LMR_FIELD_*, the members to return
 * @lmr_param:      receives them; other members do not change
 *
 * Context: any (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_LMR;
 * DAT_INVALID_PARAMETER: ARG2 unknown bit, ARG3 @lmr_param is NULL.
 */
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	return kdapl_query(&kdapl_lmr_query, lmr_handle, lmr_param_mask, lmr_param);
}
EXPORT_SYMBOL_GPL(dat_lmr_query);
