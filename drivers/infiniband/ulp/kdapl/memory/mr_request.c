// SPDX-License-Identifier: GPL-2.0
/*
 * The common part of dat_rmr_bind, dat_lmr_fmr and dat_lmr_invalidate: how a request that
 * registers or invalidates memory is posted on the queue of an EP.
 *
 * Called by rmr_bind.c, lmr_fmr.c and lmr_invalidate.c, in any context except hard interrupt.
 * Nothing here sleeps or allocates. The MRs exist already, and so do both work requests, the
 * Consumer's and the one that may precede it. The send queue has two entries for them.
 *
 * Such a request is signalled even if its completion is suppressed, because otherwise
 * its MR would stay busy forever; the event of a success is then dropped.
 */
#include "post/unsignalled.h"
#include "internal.h"
#include "base/trace.h"

/*
 * Takes a slot for a request that registers or invalidates memory. Returns the slot, or NULL if
 * the queue is full. Any context, ep->sq.lock held.
 *
 * @op:   DAT_DTO_BIND_MW, DAT_DTO_LMR_FMR, DAT_DTO_LMR_INVALIDATE
 * @done: completion callback instead of the usual one
 */
struct kdapl_slot *kdapl_mr_wr_begin(struct kdapl_ep *ep, DAT_DTOS op, u64 cookie, u32 flags,
				     void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	u8 suppress = flags & DAT_COMPLETION_SUPPRESS_FLAG ? KDAPL_SLOT_SUPPRESS : 0;
	struct kdapl_slot *slot = kdapl_pool_get(&ep->sq.pool);

	lockdep_assert_held(&ep->sq.lock);
	if (!slot)
		return NULL;
	kdapl_slot_start(slot, op, !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG),
			 KDAPL_SLOT_SIGNALLED | suppress, KDAPL_SLOT_POSTED, cookie);
	slot->ev.run_end = kdapl_run_end(&ep->sq);
	slot->cqe.done = done;
	slot->rdma.wr.next = NULL;
	slot->rdma.wr.num_sge = 0;
	/* irdma reads the first entry even if num_sge is 0 */
	slot->sge = (struct ib_sge){ };
	slot->rdma.wr.send_flags = IB_SEND_SIGNALED;
	return slot;
}

/* Undoes kdapl_mr_wr_begin(). @slot: from kdapl_mr_wr_begin(). Any context, ep->sq.lock held */
void kdapl_mr_wr_abort(struct kdapl_ep *ep, struct kdapl_slot *slot)
{
	lockdep_assert_held(&ep->sq.lock);
	slot->cqe.done = kdapl_request_done;
	kdapl_pool_put(slot);
}

/*
 * Posts a request. Returns 0, or the error of the device. Any context, ep->sq.lock held.
 *
 * @qp:    its QP, read once: device removal may clear ep->fast.qp at any time
 * @slot:  its slot; after a success the request may have completed
 * @first: the work request of the slot, or the one before it
 * @bad:   receives the request that was refused
 */
int kdapl_mr_wr_post(struct kdapl_ep *ep, struct ib_qp *qp, struct kdapl_slot *slot,
		     struct ib_send_wr *first, u32 flags, struct ib_send_wr **bad)
{
	u32 idx = kdapl_slot_idx(slot);
	u8 op = slot->dto.op;
	int err;

	lockdep_assert_held(&ep->sq.lock);
	if (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		first->send_flags |= IB_SEND_FENCE;
	err = ib_post_send(qp, first, (const struct ib_send_wr **)bad);
	if (unlikely(err))
		return err;
	kdapl_run_restart(&ep->sq);
	trace_kdapl_post(kdapl_obj_id(&ep->obj), op, idx, 0, 0, flags);
	return 0;
}

/* The return value for an error of the device (step 11). Any context */
DAT_RETURN kdapl_mr_wr_error(int err)
{
	return err == -ENOMEM ? KDAPL_NO_RESOURCE(TEP) : KDAPL_ERROR(INTERNAL_ERROR);
}

/* Access flags for privileges. @priv: DAT_MEM_PRIV_*. Returns IB_ACCESS_*. Any context */
int kdapl_mr_access(DAT_MEM_PRIV_FLAGS priv)
{
	int access = 0;

	if (priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		access |= IB_ACCESS_LOCAL_WRITE;
	if (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IB_ACCESS_REMOTE_READ;
	/* The verbs also require the local right; posts are checked against @priv */
	if (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	return access;
}
