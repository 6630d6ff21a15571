/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to post/: calls between the files of the posting and completion path.
 */
#ifndef _KDAPL_POST_INTERNAL_H_
#define _KDAPL_POST_INTERNAL_H_

#include "post.h"

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
	if (unlikely(flags & ep->bad_rdma_flags & ~also))
		return DAT_ERROR(DAT_INVALID_PARAMETER, arg);
	if (unlikely(!(READ_ONCE(ep->post) & KDAPL_EP_MAY_SEND)))
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

void kdapl_sq_defer(struct kdapl_sq *sq, struct kdapl_slot *slot);

void kdapl_memory_done(struct ib_cq *cq, struct kdapl_slot *slot, struct ib_wc *wc);
void kdapl_rkey_invalidated(struct kdapl_ep *ep, u32 rkey);
void kdapl_note_error(struct kdapl_ep *ep, DAT_DTOS op, const struct ib_wc *wc);
void kdapl_flush_in_software(struct kdapl_ep *ep, struct kdapl_slot *slot);

#endif /* _KDAPL_POST_INTERNAL_H_ */
