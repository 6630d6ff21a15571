// SPDX-License-Identifier: GPL-2.0
/*
 * dat_lmr_fmr and kdat_lmr_fmr_sg: registration by a work request on the queue of an EP.
 *
 * Called by Consumers in any context except hard interrupt. The MR, its table of pages
 * and the entry in the table of LMRs exist beforehand. Mapping pages for the device takes
 * no lock that sleeps; the driver of an IOMMU may use its reserved memory. States and
 * completions are in lmr_invalidate.c.
 */
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include "internal.h"
#include "base/trace.h"

/* The largest number of entries of a list, for each page of the LMR: spinlocks are held for all */
#define KDAPL_FMR_SG_PER_PAGE	8

/* A call of dat_lmr_fmr() or kdat_lmr_fmr_sg() */
struct kdapl_fmr {
	struct kdapl_lmr *lmr;
	struct kdapl_ep *ep;
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	const u64 *pages;		/* addresses of @size bytes each */
	u64 size;
	struct scatterlist *sgl;	/* NULL: @pages describes the memory */
	u64 number;			/* number of elements of either */
	u32 npages;			/* collected, of PAGE_SIZE */
	u64 length;			/* length of the memory in them */
	DAT_MEM_PRIV_FLAGS priv;
	u64 cookie;
	u32 flags;
	DAT_LMR_CONTEXT *lmr_context;
	DAT_RMR_CONTEXT *rmr_context;
};

static DAT_RETURN kdapl_fmr_bad_page(int err, u32 arg)
{
	return err == -EACCES ? KDAPL_ERROR(PRIVILEGES_VIOLATION) :
				DAT_ERROR(DAT_INVALID_PARAMETER, arg);
}

/* Steps 2 and 3 of dat_lmr_fmr(); the handles have been looked up */
static DAT_RETURN kdapl_fmr_check(struct kdapl_fmr *r, DAT_VA_TYPE va_type)
{
	if (r->type == DAT_MEM_TYPE_PHYSICAL) {
		r->pages = r->desc.for_physical;
		r->size = PAGE_SIZE;
	} else if (r->type == DAT_MEM_TYPE_PHYSICAL_VAR_PAGES) {
		r->pages = r->desc.for_array.pages;
		r->size = r->desc.for_array.page_size;
	} else {
		return KDAPL_UNSUPPORTED;
	}
	if (va_type == DAT_VA_TYPE_ZB)
		return KDAPL_UNSUPPORTED;
	if (!r->lmr->is_fmr)
		return KDAPL_BAD_ARG(1);
	if (!r->pages || !r->size || !IS_ALIGNED(r->size, PAGE_SIZE))
		return KDAPL_BAD_ARG(3);
	if (!r->number || r->size >> PAGE_SHIFT > r->lmr->max_pages ||
	    r->number > div64_u64(r->lmr->max_pages, r->size >> PAGE_SHIFT))
		return KDAPL_BAD_ARG(4);
	if (r->priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return KDAPL_BAD_ARG(5);
	if (va_type != DAT_VA_TYPE_VA)
		return KDAPL_BAD_ARG(6);
	if (!r->lmr_context)
		return KDAPL_BAD_ARG(10);
	/* This is argument 11, but the last subtype is for argument 10 */
	if (!r->rmr_context &&
	    (r->priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)))
		return KDAPL_ERROR(INVALID_PARAMETER);
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_fmr_sg_check(const struct kdapl_fmr *r)
{
	if (!r->lmr->is_fmr)
		return KDAPL_BAD_ARG(1);
	if (!r->sgl)
		return KDAPL_BAD_ARG(2);
	if (!r->number)
		return KDAPL_BAD_ARG(3);
	if (r->priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return KDAPL_BAD_ARG(4);
	if (!r->lmr_context)
		return KDAPL_BAD_ARG(8);
	if (!r->rmr_context &&
	    (r->priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)))
		return KDAPL_BAD_ARG(9);
	return DAT_SUCCESS;
}

/* Collects the pages of an array. The LMR has an array of entries, one for each page */
static DAT_RETURN kdapl_fmr_collect_array(struct kdapl_fmr *r)
{
	u64 per = r->size >> PAGE_SHIFT, addr, i, j;
	struct scatterlist *sg = r->lmr->sgt.sgl;
	unsigned long pfn;
	int err;

	r->npages = r->number * per;
	r->length = r->number * r->size;
	for (i = 0; i < r->number; i++) {
		/* Read it once: the Consumer may be writing to the array */
		addr = READ_ONCE(r->pages[i]);
		if (addr % r->size)
			return KDAPL_BAD_ARG(3);
		pfn = addr >> PAGE_SHIFT;
		for (j = 0; j < per; j++, pfn++, sg++) {
			err = kdapl_page_check(pfn, r->priv);
			if (unlikely(err))
				return kdapl_fmr_bad_page(err, DAT_INVALID_ARG3);
			sg_set_page(sg, pfn_to_page(pfn), PAGE_SIZE, 0);
		}
	}
	return DAT_SUCCESS;
}

/*
 * Collects the pages of @left bytes, from offset @off of @page, into the entries of the LMR from
 * @to. The first page exists; the pages that follow it may not.
 */
static __always_inline DAT_RETURN kdapl_fmr_collect_entry(const struct kdapl_fmr *r,
							  struct scatterlist **to,
							  struct page *page, u32 off, u64 left)
{
	const struct scatterlist *end = r->lmr->sgt.sgl + r->lmr->max_pages;
	unsigned long pfn = page_to_pfn(page);
	u32 part;
	int err;

	for (;; page = pfn_to_page(pfn), off = 0) {
		if (unlikely(*to == end))
			return KDAPL_BAD_ARG(3);
		err = PageReserved(page) ? kdapl_page_check_reserved(pfn, r->priv) : 0;
		if (unlikely(err))
			return kdapl_fmr_bad_page(err, DAT_INVALID_ARG2);
		part = min_t(u64, left, PAGE_SIZE - off);
		sg_set_page((*to)++, page, part, off);
		left -= part;
		if (!left)
			return DAT_SUCCESS;
		if (unlikely(!pfn_valid(++pfn)))
			return KDAPL_BAD_ARG(2);
	}
}

/*
 * Collects the pages of a scatterlist. An MR cannot have gaps: only its first and its last page
 * may be partial. But two entries may meet in the middle of a page, such as those of bios that
 * were merged. An IOMMU would map them to separate pages, so they share one entry of the LMR. Not
 * inlined, because that would spill registers in the loop for an array.
 */
static noinline DAT_RETURN kdapl_fmr_collect_sg(struct kdapl_fmr *r)
{
	struct scatterlist *from = r->sgl, *sgl = r->lmr->sgt.sgl, *to = sgl;
	struct page *page;
	DAT_RETURN ret;
	u64 left, i;
	u32 off;

	r->length = 0;
	for (i = 0; i < r->number; i++, from = sg_next(from)) {
		if (unlikely(!from))
			return KDAPL_BAD_ARG(3);
		left = READ_ONCE(from->length);
		if (unlikely(!left))
			return KDAPL_BAD_ARG(2);
		r->length += left;
		off = READ_ONCE(from->offset);
		page = sg_page(from);
		if (off >= PAGE_SIZE) {
			if (!pfn_valid(page_to_pfn(page) + (off >> PAGE_SHIFT)))
				return KDAPL_BAD_ARG(2);
			page = pfn_to_page(page_to_pfn(page) + (off >> PAGE_SHIFT));
			off = offset_in_page(off);
		}
		if (to != sgl && unlikely(off || to[-1].offset + to[-1].length != PAGE_SIZE)) {
			/* Other entries have a page of their own, so there are not more of them */
			if (i >= (u64)KDAPL_FMR_SG_PER_PAGE * r->lmr->max_pages)
				return KDAPL_BAD_ARG(3);
			to--;
			if (page != sg_page(to) || off != to->offset + to->length)
				return KDAPL_BAD_ARG(2);
			off = to->offset;
			left += to->length;
		}
		ret = kdapl_fmr_collect_entry(r, &to, page, off, left);
		if (unlikely(ret))
			return ret;
	}
	r->npages = to - sgl;
	return DAT_SUCCESS;
}

/*
 * Step 7: compares the zones and collects the pages, in units of PAGE_SIZE. It collects nothing for
 * an orphaned LMR, because kdapl_lmr_orphan() may still need lmr->sgt to unmap the memory.
 * lmr->lock held, the LMR is free.
 */
static DAT_RETURN kdapl_fmr_collect(struct kdapl_fmr *r)
{
	if ((READ_ONCE(r->lmr->zone) ^ r->ep->checks.zone) & KDAPL_ZONE_MASK)
		return KDAPL_ERROR(PROTECTION_VIOLATION);
	if (unlikely(r->lmr->orphaned))
		return DAT_SUCCESS;
	return r->sgl ? kdapl_fmr_collect_sg(r) : kdapl_fmr_collect_array(r);
}

/* Maps the collected pages for the device and for the MR. lmr->lock held */
static DAT_RETURN kdapl_fmr_map(const struct kdapl_fmr *r)
{
	struct kdapl_lmr *lmr = r->lmr;
	struct scatterlist *sgl = lmr->sgt.sgl;
	struct ib_mr *mr = lmr->fmr.mr;
	int n;

	n = ib_dma_map_sg(mr->device, sgl, r->npages, DMA_BIDIRECTIONAL);
	if (!n)
		return KDAPL_NO_RESOURCE(MEMORY_REGION);
	lmr->npages = r->npages;
	if (kdapl_sg_needs_sync(mr->device, sgl, n, r->npages))
		return KDAPL_UNSUPPORTED;
	/* As in kdapl_lmr_register(): an IOMMU may have smaller pages */
	if (ib_map_mr_sg(mr, sgl, n, NULL, PAGE_SIZE) != n ||
	    offset_in_page(mr->iova ^ sgl->offset))
		return KDAPL_ERROR(INTERNAL_ERROR);
	/* The peer learns the address */
	mr->iova = r->sgl ? sgl->offset : sg_phys(sgl);
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return DAT_SUCCESS;
}

/* Notes the request in the LMR, and adds the LMR to the table. lmr->lock held */
static void kdapl_fmr_prepare(const struct kdapl_fmr *r, struct kdapl_slot *slot)
{
	struct kdapl_lmr *lmr = r->lmr;
	struct ib_mr *mr = lmr->fmr.mr;
	DAT_LMR_PARAM *p = &lmr->param;

	slot->dto.mr = &lmr->fmr;
	slot->ev.flags |= KDAPL_SLOT_REGISTERS;
	slot->reg.wr.opcode = IB_WR_REG_MR;
	slot->reg.mr = mr;
	slot->reg.key = mr->rkey;
	slot->reg.access = kdapl_mr_access(r->priv);
	lmr->fmr.state = KDAPL_MR_REGISTERING;
	lmr->fmr.ep = r->ep->obj.handle;
	lmr->fmr.by = slot;
	p->mem_type = r->type;
	p->region_desc = r->desc;
	p->length = r->length;
	p->mem_priv = r->priv;
	p->registered_size = p->length;
	p->registered_address = mr->iova;
	p->lmr_context = kdapl_lmr_next_context(p->lmr_context);
	p->rmr_context = r->priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG |
				    DAT_MEM_PRIV_REMOTE_WRITE_FLAG) ? mr->rkey : 0;
	lmr->zp = lmr->zone | r->priv;
	kdapl_lmr_desc_refill(lmr->desc, p, mr->lkey, lmr->zp);
}

/* Step 11: posts @slot. ep->sq.lock held; the LMR has one more user */
static DAT_RETURN kdapl_fmr_submit(const struct kdapl_fmr *r, struct ib_qp *qp,
				   struct kdapl_slot *slot)
{
	struct kdapl_lmr *lmr = r->lmr;
	struct ib_send_wr *bad;
	int err;

	err = kdapl_mr_wr_post(r->ep, qp, slot, &slot->reg.wr, r->flags, &bad);
	if (likely(!err))
		return DAT_SUCCESS;
	spin_lock(&lmr->lock);
	lmr->fmr.by = NULL;
	/* Another thread may have bound an RMR already */
	kdapl_lmr_mark_gone(lmr);
	spin_unlock(&lmr->lock);
	kdapl_mr_wr_abort(r->ep, slot);
	kdapl_obj_unuse(&lmr->obj);
	return kdapl_mr_wr_error(err);
}

/* Second half of step 6. lmr->lock held */
static DAT_RETURN kdapl_fmr_check_state(struct kdapl_lmr *lmr)
{
	if (lmr->dying)
		return KDAPL_BAD_HANDLE(LMR);
	if (lmr->fmr.state == KDAPL_MR_FREE)
		return DAT_SUCCESS;
	/* The MR may be one that could not be replaced before */
	kdapl_lmr_repair_soon(lmr);
	return KDAPL_BAD_STATE(LMR_IN_USE);
}

/*
 * Steps 6 to 10. lmr->lock held. Returns the slot, filled in. If a check fails, returns NULL and
 * stores the error in @ret. If all checks pass but @qp is NULL, returns NULL and stores
 * DAT_SUCCESS.
 */
static struct kdapl_slot *kdapl_fmr_slot(struct kdapl_fmr *r, const struct ib_qp *qp,
					 DAT_RETURN *ret)
{
	struct kdapl_lmr *lmr = r->lmr;
	struct kdapl_slot *slot;

	*ret = kdapl_fmr_check_state(lmr);
	if (!*ret)
		*ret = kdapl_fmr_collect(r);
	if (*ret || !qp)
		return NULL;
	slot = kdapl_mr_wr_begin(r->ep, DAT_DTO_LMR_FMR, r->cookie, r->flags, kdapl_fmr_done);
	if (!slot) {
		*ret = KDAPL_NO_RESOURCE(MEMORY);
		return NULL;
	}
	*ret = kdapl_fmr_map(r);
	if (!*ret && !kdapl_obj_tryuse(&lmr->obj))
		*ret = KDAPL_BAD_HANDLE(LMR);
	if (*ret) {
		kdapl_lmr_mark_free(lmr);
		kdapl_mr_wr_abort(r->ep, slot);
		return NULL;
	}
	kdapl_fmr_prepare(r, slot);
	return slot;
}

/* Steps 6 to 11. ep->sq.lock held */
static DAT_RETURN kdapl_fmr_request(struct kdapl_fmr *r)
{
	struct ib_qp *qp = kdapl_rcu_dereference(r->ep->fast.qp);
	DAT_RMR_CONTEXT rmr_context = r->rmr_context ? *r->rmr_context : 0;
	DAT_LMR_CONTEXT lmr_context = *r->lmr_context;
	struct kdapl_lmr *lmr = r->lmr;
	struct kdapl_slot *slot;
	DAT_RETURN ret;

	spin_lock(&lmr->lock);
	slot = kdapl_fmr_slot(r, qp, &ret);
	if (!ret) {
		/* Before the request can complete, because the upcall may use them */
		*r->lmr_context = slot ? lmr->param.lmr_context : 0;
		if (r->rmr_context)
			*r->rmr_context = slot ? lmr->param.rmr_context : 0;
	}
	spin_unlock(&lmr->lock);
	if (ret)
		return ret;
	ret = slot ? kdapl_fmr_submit(r, qp, slot) :
		     kdapl_lmr_wr_flush(r->ep, DAT_DTO_LMR_FMR, r->cookie, r->flags);
	if (ret) {
		*r->lmr_context = lmr_context;
		if (r->rmr_context)
			*r->rmr_context = rmr_context;
	}
	return ret;
}

/* The rest of both calls, after steps 1 to 3. @arg: subtype of the error for an illegal flag */
static DAT_RETURN kdapl_fmr_post(struct kdapl_fmr *r, DAT_RETURN ret, u32 arg)
{
	if (!ret)
		ret = kdapl_mr_wr_check(r->ep, r->flags, 0, arg);
	if (!ret) {
		spin_lock(&r->ep->sq.lock);
		ret = kdapl_fmr_request(r);
		spin_unlock(&r->ep->sq.lock);
	}
	if (ret && r->ep)
		trace_kdapl_post_reject(kdapl_obj_id(&r->ep->obj), DAT_DTO_LMR_FMR, ret);
	return ret;
}

/**
 * dat_lmr_fmr - register memory in an LMR of dat_lmr_allocate() by a work request
 * @lmr_handle:         LMR that is not registered
 * @mem_type:           DAT_MEM_TYPE_PHYSICAL: for_physical is an array of addresses of
 *                      pages of PAGE_SIZE; DAT_MEM_TYPE_PHYSICAL_VAR_PAGES: for_array is
 *                      one of pages whose size is a multiple of PAGE_SIZE
 * @region_description: the array; the Consumer may reuse it when the call returns
 * @number_of_pages:    number of elements of the array; the memory must not be larger
 *                      than the number of pages for which the LMR was allocated
 * @mem_privileges:     DAT_MEM_PRIV_*
 * @va_type:            DAT_VA_TYPE_VA: the first byte has the address of the first page,
 *                      and the others follow contiguously
 * @ep_handle:          the EP on whose queue the request is posted, of the LMR's zone
 * @user_cookie:        returned in the completion event
 * @completion_flags:   DAT_COMPLETION_SUPPRESS_FLAG, BARRIER_FENCE, and UNSIGNALLED if
 *                      the EP has that request completion flag
 * @lmr_context:        receives the context for segments of posts before the call
 *                      returns; it differs from the previous one
 * @rmr_context:        receives the key for the peer, or 0 without a remote privilege,
 *                      in which case it may be NULL
 *
 * Requests on the same EP may use the contexts when the call has returned. Receives,
 * which are not ordered with requests, and other EPs may use them after the event, which
 * is a DTO completion with operation DAT_DTO_LMR_FMR. The zero page and read-only pages
 * of the kernel image can only be registered without write privileges.
 *
 * Context: as for dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS - also in DISCONNECTED, where the request is flushed and nothing is
 *   registered
 * * DAT_INVALID_HANDLE - @lmr_handle or @ep_handle is not valid
 * * DAT_MODEL_NOT_SUPPORTED - other memory types; zero-based addresses; pages that would
 *   need DMA syncs
 * * DAT_INVALID_PARAMETER - the LMR is not of dat_lmr_allocate() (1); no array, or an
 *   illegal page size or address (3); @number_of_pages (4); privileges, @va_type, flags
 *   (9), or a pointer for a result is NULL
 * * DAT_INVALID_STATE - the EP is neither CONNECTED nor DISCONNECTED; or LMR_IN_USE: the
 *   LMR is registered, a request on it has not completed, or its MR, which a failed request
 *   has left in an unknown state, has not been replaced yet
 * * DAT_PROTECTION_VIOLATION - LMR and EP do not belong to the same zone
 * * DAT_PRIVILEGES_VIOLATION - a write privilege for read-only pages
 * * DAT_INSUFFICIENT_RESOURCES - the queue is full; no room for the mapping; the device has
 *   no memory for the request
 * * DAT_INTERNAL_ERROR - the device refused the request for another reason
 */
DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
		       DAT_REGION_DESCRIPTION region_description,
		       DAT_VLEN number_of_pages,
		       DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
		       DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
		       DAT_COMPLETION_FLAGS completion_flags,
		       DAT_LMR_CONTEXT *lmr_context,
		       DAT_RMR_CONTEXT *rmr_context)
{
	struct kdapl_fmr r = {
		.type = mem_type,
		.desc = region_description,
		.number = number_of_pages,
		.priv = mem_privileges,
		.cookie = user_cookie.as_64,
		.flags = completion_flags,
		.lmr_context = lmr_context,
		.rmr_context = rmr_context,
	};
	unsigned long irq;
	DAT_RETURN ret;

	kdapl_rcu_read_lock_irqsave(irq);
	ret = kdapl_lmr_wr_lookup(lmr_handle, ep_handle, &r.lmr, &r.ep);
	if (!ret)
		ret = kdapl_fmr_check(&r, va_type);
	ret = kdapl_fmr_post(&r, ret, DAT_INVALID_ARG9);
	kdapl_rcu_read_unlock_irqrestore(irq);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_lmr_fmr);

/**
 * kdat_lmr_fmr_sg - register the bytes of a scatterlist in an LMR of dat_lmr_allocate()
 * @lmr_handle:       LMR that is not registered
 * @sgl:              the memory, not mapped for DMA; the Consumer may reuse the list when the
 *                    call returns
 * @nents:            number of entries
 * @mem_privileges:   DAT_MEM_PRIV_*
 * @ep_handle:        the EP on whose queue the request is posted, of the LMR's zone
 * @user_cookie:      returned in the completion event
 * @completion_flags: as for dat_lmr_fmr()
 * @lmr_context:      as for dat_lmr_fmr()
 * @rmr_context:      as for dat_lmr_fmr()
 *
 * Like dat_lmr_fmr(), but the memory need not consist of whole pages. The call registers exactly
 * the bytes of the entries: neither a post nor the peer can reach a byte before the first one or
 * after the last one. The registered address of the first byte is its offset in its page, which
 * tells the peer nothing about the memory of the host, and the range is contiguous from there.
 * dat_lmr_query() returns the address, the length, and DAT_MEM_TYPE_PHYSICAL without an array.
 * dat_lmr_invalidate() or the peer ends the registration, as for dat_lmr_fmr().
 *
 * An entry may span any number of contiguous pages. The first entry may begin inside a page, and
 * the last one may end inside a page. Every other entry must begin where the previous one ends:
 * either both at a page boundary, or both at the same byte of the same page. The memory must not
 * touch more pages than the LMR was allocated for, and the list must not have more than eight
 * entries for each of these pages.
 *
 * Context: as for dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS - also in DISCONNECTED, where the request is flushed and nothing is
 *   registered
 * * DAT_INVALID_HANDLE - @lmr_handle or @ep_handle is not valid
 * * DAT_MODEL_NOT_SUPPORTED - pages that would need DMA syncs
 * * DAT_INVALID_PARAMETER - the LMR is not of dat_lmr_allocate() (1); no list, an empty entry, a
 *   gap, or a page that is not memory (2); @nents is not positive, the list is shorter, the
 *   memory touches too many pages, or there are too many entries (3); privileges (4); flags (7); a
 *   pointer for a result is NULL (8, 9)
 * * DAT_INVALID_STATE, DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
 *   DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR - as for dat_lmr_fmr()
 */
DAT_RETURN kdat_lmr_fmr_sg(DAT_LMR_HANDLE lmr_handle, struct scatterlist *sgl, DAT_COUNT nents,
			   DAT_MEM_PRIV_FLAGS mem_privileges, DAT_EP_HANDLE ep_handle,
			   DAT_LMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			   DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context)
{
	struct kdapl_fmr r = {
		.type = DAT_MEM_TYPE_PHYSICAL,
		.sgl = sgl,
		.number = max(nents, 0),
		.priv = mem_privileges,
		.cookie = user_cookie.as_64,
		.flags = completion_flags,
		.lmr_context = lmr_context,
		.rmr_context = rmr_context,
	};
	unsigned long irq;
	DAT_RETURN ret;

	kdapl_rcu_read_lock_irqsave(irq);
	ret = kdapl_lmr_wr_lookup(lmr_handle, ep_handle, &r.lmr, &r.ep);
	if (!ret)
		ret = kdapl_fmr_sg_check(&r);
	ret = kdapl_fmr_post(&r, ret, DAT_INVALID_ARG7);
	kdapl_rcu_read_unlock_irqrestore(irq);
	return ret;
}
EXPORT_SYMBOL_GPL(kdat_lmr_fmr_sg);
