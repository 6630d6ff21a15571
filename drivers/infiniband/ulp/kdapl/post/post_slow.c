// SPDX-License-Identifier: GPL-2.0
/*
 * The slow path of requests: any request, and the reason why one is refused.
 *
 * Called by post.c for a request that its fast path does not handle, in any context, inside the
 * read section. It makes the checks in the documented order (kdapl-contract.rst), and decides alone
 * why a request is refused. A signalled request is posted without a lock if a spare slot is free.
 * Otherwise the lock of the request queue is held from the choice of the slot to the verbs call,
 * because the request may be unsignalled or take the last slot (unsignalled.h).
 */
#include "request.h"
#include "segment.h"
#include "unsignalled.h"
#include "base/trace.h"

/*
 * Undoes a request that the verbs layer refused. The request is in no run: an unsignalled one
 * was not published. Returns DAT_INSUFFICIENT_RESOURCES or DAT_INTERNAL_ERROR. Any context, inside
 * the read section.
 *
 * @slot: slot of the request
 * @err:  what the verbs layer returned
 */
DAT_RETURN __cold kdapl_request_refused(struct kdapl_slot *slot, int err)
{
	kdapl_pool_put(slot);
	return err == -ENOMEM ? KDAPL_NO_RESOURCE(TEP) : KDAPL_ERROR(INTERNAL_ERROR);
}

/* Steps 1 and 3 to 6 of a request. The caller has not checked the type of the handle */
static DAT_RETURN kdapl_check_request(const struct kdapl_ep *ep, const struct kdapl_request *r)
{
	bool rdma = r->op != DAT_DTO_SEND;

	if (kdapl_handle_type(ep->obj.handle) != DAT_HANDLE_TYPE_EP)
		return KDAPL_BAD_HANDLE(EP);

	/* A negative count is a very large number here */
	if ((u32)r->n > kdapl_request_limit(ep, r->op))
		return KDAPL_BAD_ARG(2);
	if (r->n && !r->iov)
		return KDAPL_BAD_ARG(3);
	if (rdma && !r->remote)
		return KDAPL_BAD_ARG(5);
	if ((u32)r->inv > DAT_TRUE)
		return KDAPL_BAD_ARG(6);
	if (r->flags & (rdma ? ep->checks.bad_rdma_flags : ep->checks.bad_send_flags))
		return rdma ? KDAPL_BAD_ARG(6) : KDAPL_BAD_ARG(5);
	if (!(READ_ONCE(ep->fast.may_post) & KDAPL_EP_MAY_SEND))
		return kdapl_ep_state_error(READ_ONCE(ep->state));
	return DAT_SUCCESS;
}

/* Step 7: translates the segments */
static DAT_RETURN kdapl_check_segments(const struct kdapl_ep *ep, const struct kdapl_request *r,
				       struct ib_sge *sge, struct kdapl_segments *segs)
{
	u32 need = kdapl_local_need(ep, r->op);
	u32 privilege = kdapl_local_privilege(r->op);
	DAT_RETURN ret;

	*segs = kdapl_segments_fill(r->iov, r->n, need, privilege, sge);
	if (likely(segs->num_sge >= 0))
		return DAT_SUCCESS;
	ret = kdapl_segments_reason(r->iov, r->n, need, privilege, &segs->total);
	/* The Consumer changed the vector meanwhile: it was bad when it was translated */
	return ret ?: KDAPL_BAD_ARG(3);
}

/* Steps 7 to 9, and the EP's credits for reads */
static DAT_RETURN kdapl_check_data(const struct kdapl_ep *ep, const struct kdapl_request *r,
				   struct ib_sge *sge, struct kdapl_segments *segs)
{
	u32 remote_length = r->remote ? READ_ONCE(r->remote->segment_length) : 0;
	DAT_RETURN ret;

	ret = kdapl_check_segments(ep, r, sge, segs);
	if (unlikely(ret != DAT_SUCCESS))
		return ret;
	/* The limits have 32 bits, so a larger sum also exceeds them */
	if (segs->total > (r->op == DAT_DTO_SEND ? ep->fast.max_message : ep->fast.max_rdma))
		return KDAPL_BAD_ARG(2);
	if (r->op == DAT_DTO_RDMA_WRITE && segs->total > remote_length)
		return KDAPL_ERROR(LENGTH_ERROR);
	if (r->op != DAT_DTO_RDMA_READ)
		return DAT_SUCCESS;
	if (segs->total < remote_length)
		return KDAPL_ERROR(LENGTH_ERROR);
	if (segs->total != remote_length)
		kdapl_segments_trim(sge, segs, remote_length);
	return ep->fast.max_reads_out ? DAT_SUCCESS : KDAPL_NO_RESOURCE(CREDITS);
}

/* Fills in all of a slot that differs between posts, except the work request */
static void kdapl_request_fill_slot(const struct kdapl_request *r, struct kdapl_slot *slot,
				    const struct kdapl_segments *segs, u32 run_end, bool signalled)
{
	u8 flags = (r->flags & DAT_COMPLETION_SUPPRESS_FLAG ? KDAPL_SLOT_SUPPRESS : 0) |
		   (signalled ? KDAPL_SLOT_SIGNALLED : 0);

	kdapl_slot_start(slot, r->op, !(r->flags & DAT_COMPLETION_UNSIGNALLED_FLAG), flags,
			 KDAPL_SLOT_POSTED, r->cookie);
	slot->ev.run_end = run_end;
	slot->dto.length = segs->total;
}

/* Fills in the work request, except the segments and the callback */
static void kdapl_request_fill_wr(const struct kdapl_request *r, struct kdapl_vector *v,
				  u32 num_sge)
{
	struct ib_rdma_wr *rdma = &v->rdma;

	*rdma = (struct ib_rdma_wr){
		.wr.sg_list = v->sge,
		.wr.num_sge = num_sge,
		.wr.opcode = kdapl_opcode(r->op),
	};
	/* irdma reads the first entry even if num_sge is 0 */
	if (!num_sge)
		v->sge[0] = (struct ib_sge){ };
	if (r->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		rdma->wr.send_flags |= IB_SEND_FENCE;
	if (r->op != DAT_DTO_SEND) {
		rdma->remote_addr = READ_ONCE(r->remote->virtual_address);
		rdma->rkey = READ_ONCE(r->remote->rmr_context);
		return;
	}
	if (r->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		rdma->wr.send_flags |= IB_SEND_SOLICITED;
	if (r->inv) {
		rdma->wr.opcode = IB_WR_SEND_WITH_INV;
		rdma->wr.ex.invalidate_rkey = r->key;
	}
}

/* Step 11: the verbs call for a slot that is filled in */
static DAT_RETURN kdapl_submit(struct kdapl_ep *ep, struct ib_qp *qp,
			       const struct kdapl_request *r, struct kdapl_slot *slot,
			       struct kdapl_vector *v, const struct kdapl_segments *segs)
{
	u32 idx = kdapl_slot_idx(slot);
	int err;

	if (slot->ev.flags & KDAPL_SLOT_SIGNALLED)
		v->rdma.wr.send_flags |= IB_SEND_SIGNALED;
	v->rdma.wr.wr_cqe = &slot->cqe;
	err = kdapl_verbs_send(qp, &v->rdma.wr, &ep->sq);
	if (unlikely(err))
		return kdapl_request_refused(slot, err);
	/* The request may have completed already, so the slot must not be used any more */
	trace_kdapl_post(kdapl_obj_id(&ep->obj), r->op, idx, segs->num_sge, segs->total,
			 r->flags);
	return DAT_SUCCESS;
}

/* Steps 10 and 11 of any request. sq->lock held */
static DAT_RETURN kdapl_submit_locked(struct kdapl_ep *ep, const struct kdapl_request *r,
				      struct kdapl_vector *v, const struct kdapl_segments *segs)
{
	struct ib_qp *qp = kdapl_rcu_dereference(ep->fast.qp);
	struct kdapl_sq *sq = &ep->sq;
	struct kdapl_slot *slot;
	DAT_RETURN ret;
	bool in_run;

	lockdep_assert_held(&sq->lock);
	slot = kdapl_pool_get(&sq->pool);
	if (unlikely(!slot))
		return KDAPL_NO_RESOURCE(MEMORY);
	in_run = qp && (r->flags & DAT_COMPLETION_SUPPRESS_FLAG) && kdapl_run_admits(sq);
	kdapl_request_fill_slot(r, slot, segs, kdapl_run_end(sq), !in_run);
	if (unlikely(!qp)) {
		kdapl_flush_in_software(ep, slot);
		return DAT_SUCCESS;
	}
	if (in_run)
		kdapl_run_enter(sq, slot);
	ret = kdapl_submit(ep, qp, r, slot, v, segs);
	if (unlikely(ret != DAT_SUCCESS))
		return ret;
	if (in_run)
		kdapl_run_publish(sq);
	else
		kdapl_run_restart(sq);
	return DAT_SUCCESS;
}

/* Steps 7 to 11 of a request */
static DAT_RETURN kdapl_queue_request(struct kdapl_ep *ep, const struct kdapl_request *r)
{
	struct ib_qp *qp = kdapl_rcu_dereference(ep->fast.qp);
	struct kdapl_segments segs;
	struct kdapl_slot *slot;
	struct kdapl_vector v __uninitialized;
	unsigned long flags;
	DAT_RETURN ret;

	ret = kdapl_check_data(ep, r, v.sge, &segs);
	if (unlikely(ret != DAT_SUCCESS))
		return ret;
	kdapl_request_fill_wr(r, &v, segs.num_sge);
	if (likely(!(r->flags & DAT_COMPLETION_SUPPRESS_FLAG) && qp) &&
	    likely(kdapl_pool_take_spare(&ep->sq.pool, &slot))) {
		kdapl_request_fill_slot(r, slot, &segs, kdapl_run_end(&ep->sq), true);
		return kdapl_submit(ep, qp, r, slot, &v, &segs);
	}
	spin_lock_irqsave(&ep->sq.lock, flags);
	ret = kdapl_submit_locked(ep, r, &v, &segs);
	spin_unlock_irqrestore(&ep->sq.lock, flags);
	return ret;
}

/*
 * Posts any request, from the type of the handle on. @ep: the EP, if its handle is that of an EP.
 * Returns the return value of the posting call. Any context, inside the read section.
 */
DAT_RETURN kdapl_post_any(struct kdapl_ep *ep, const struct kdapl_request *r)
{
	DAT_RETURN ret = kdapl_check_request(ep, r);

	if (likely(ret == DAT_SUCCESS))
		ret = kdapl_queue_request(ep, r);
	if (unlikely(ret != DAT_SUCCESS))
		trace_kdapl_post_reject(kdapl_obj_id(&ep->obj), r->op, ret);
	return ret;
}

/* The same for a request without a key, whose arguments are the members of struct kdapl_request */
DAT_RETURN kdapl_post_slow(struct kdapl_ep *ep, DAT_DTOS op, DAT_COUNT n,
			   const DAT_LMR_TRIPLET *iov, const DAT_RMR_TRIPLET *remote,
			   u64 cookie, u32 flags)
{
	const struct kdapl_request r = {
		.op = op,
		.n = n,
		.iov = iov,
		.remote = remote,
		.cookie = cookie,
		.flags = flags,
	};

	return kdapl_post_any(ep, &r);
}
