/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to memory/: zones, regions, and the requests that register memory or end that. Other
 * directories destroy these objects through their operations.
 */
#ifndef _KDAPL_MEMORY_INTERNAL_H_
#define _KDAPL_MEMORY_INTERNAL_H_

#include "post/post.h"

extern unsigned int kdapl_service_ms;

int kdapl_pz_register(struct kdapl_pz *pz, struct ib_mr *mr, int access);
int kdapl_pz_invalidate(struct kdapl_pz *pz, u32 rkey);
void kdapl_mr_dereg(struct ib_mr *mr);
void kdapl_pz_mr_get(struct kdapl_pz *pz);
void kdapl_pz_mr_put(struct kdapl_pz *pz);
int kdapl_pz_make_map_sg(struct kdapl_pz *pz);

void kdapl_lmr_repair_work(struct work_struct *work);

/* Pages to be registered, not mapped yet */
struct kdapl_region {
	struct page **pages;
	u32 npages;
	u32 offset;			/* offset of the memory in the first page */
	u64 length;
	u64 iova;			/* registered address */
};

int kdapl_region_virtual(struct kdapl_region *r, const void *va, u64 length, u32 max,
			 DAT_MEM_PRIV_FLAGS priv);
int kdapl_region_physical(struct kdapl_region *r, const DAT_PADDR *array, u64 page_size,
			  u64 length, u32 max, DAT_MEM_PRIV_FLAGS priv);
int kdapl_region_lmr(struct kdapl_region *r, const struct kdapl_lmr *lmr, u64 length);
void kdapl_region_free(struct kdapl_region *r);

struct kdapl_lmr *kdapl_lmr_alloc(struct kdapl_ia *ia, struct kdapl_pz *pz, DAT_RETURN *ret);
void kdapl_lmr_abort(struct kdapl_lmr *lmr);

void kdapl_lmr_unmap(struct kdapl_lmr *lmr, struct ib_device *ibdev);
void kdapl_lmr_free_work(struct work_struct *work);
void kdapl_lmr_destroy(struct kdapl_obj *obj);
void kdapl_lmr_orphan(struct kdapl_obj *obj);

int kdapl_mr_access(DAT_MEM_PRIV_FLAGS priv);

void kdapl_rmr_put(struct kdapl_rmr *rmr);
bool kdapl_rmr_invalidated(struct kdapl_obj *obj, const struct kdapl_ep *ep, u32 rkey);
void kdapl_rmr_mark_free(struct kdapl_mr *m);
void kdapl_rmr_drop_lmr(struct kdapl_mr *m);
void kdapl_rmr_unbound(struct kdapl_rmr *rmr);

bool kdapl_lmr_invalidated(struct kdapl_obj *obj, const struct kdapl_ep *ep, u32 rkey);
void kdapl_lmr_mark_gone(struct kdapl_lmr *lmr);

/*
 * Steps 4 to 6 of the checks of a request that registers memory or ends that. Returns
 * DAT_SUCCESS, or the error. Any context, inside the read section.
 *
 * @flags: completion flags of the call
 * @also:  flags that are legal for this call, but not for RDMA operations
 * @arg:   subtype of the error for an illegal flag
 */
static __always_inline DAT_RETURN kdapl_mr_wr_check(const struct kdapl_ep *ep, u32 flags,
						    u32 also, u32 arg)
{
	if (unlikely(flags & ep->checks.bad_rdma_flags & ~also))
		return DAT_ERROR(DAT_INVALID_PARAMETER, arg);
	if (unlikely(!(READ_ONCE(ep->fast.may_post) & KDAPL_EP_MAY_SEND)))
		return kdapl_ep_state_error(READ_ONCE(ep->state));
	return DAT_SUCCESS;
}

struct kdapl_slot *kdapl_mr_wr_begin(struct kdapl_ep *ep, DAT_DTOS op, u64 cookie, u32 flags,
				     void (*done)(struct ib_cq *cq, struct ib_wc *wc));
void kdapl_mr_wr_abort(struct kdapl_ep *ep, struct kdapl_slot *slot);
int kdapl_mr_wr_post(struct kdapl_ep *ep, struct ib_qp *qp, struct kdapl_slot *slot,
		     struct ib_send_wr *first, u32 flags, struct ib_send_wr **bad);
DAT_RETURN kdapl_mr_wr_error(int err);

DAT_RETURN kdapl_lmr_wr_lookup(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			       struct kdapl_lmr **lmr, struct kdapl_ep **ep);
DAT_RETURN kdapl_lmr_wr_flush(struct kdapl_ep *ep, DAT_DTOS op, u64 cookie, u32 flags);
void kdapl_fmr_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_lmr_mark_free(struct kdapl_lmr *lmr);
void kdapl_lmr_unbound(struct kdapl_lmr *lmr);
void kdapl_lmr_repair_soon(struct kdapl_lmr *lmr);

#endif /* _KDAPL_MEMORY_INTERNAL_H_ */
