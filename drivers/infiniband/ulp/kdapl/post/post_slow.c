// SPDX-License-Identifier: GPL-2.0
/*
 * The slow path of requests: any request, and the reason why one is refused.
 *
 * Called by post.c for a request that its fast path does not handle, in any context,
 * inside the read section. It makes the checks in the documented order (post.c), and
 * decides alone why a request is refused. It holds the lock of the request queue from
 * the choice of the slot to the verbs call, because it also posts unsignalled requests
 * and takes the last slot (run.h).
 *
 * The slot is taken before the segments are checked, so that they are written to
 * their final place at once; it is returned if a segment is bad. If no slot is left,
 * the checks run without one, so that the return value does not depend on it.
 */
#include "request.h"
#include "run.h"
#include "segment.h"
#include "base/trace.h"

/**
 * kdapl_request_refused - undo a request that the verbs layer has refused
 * @slot: slot of the request
 * @err:  what the verbs layer has returned
 *
 * The request is in no run: an unsignalled one was not published.
 *
 * Context: any, inside the read section.
 * Return: DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR.
 */
DAT_RETURN __cold kdapl_request_refused(struct kdapl_slot *slot, int err)
{
	kdapl_pool_put(slot->pool, slot);
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
	if (r->flags & (rdma ? ep->bad_rdma_flags : ep->bad_send_flags))
		return rdma ? KDAPL_BAD_ARG(6) : KDAPL_BAD_ARG(5);
	if (!(READ_ONCE(ep->post) & KDAPL_EP_MAY_SEND))
		return kdapl_ep_state_error(READ_ONCE(ep->state));
	return DAT_SUCCESS;
}

/* Step 7; without @slot it only checks */
static DAT_RETURN kdapl_check_segments(const struct kdapl_ep *ep, const struct kdapl_request *r,
				       struct kdapl_slot *slot, struct kdapl_segments *segs)
{
	u32 need = kdapl_local_need(ep, r->op);
	u32 privilege = kdapl_local_privilege(r->op);
	DAT_RETURN ret;

	if (slot) {
		*segs = kdapl_segments_fill(r->iov, r->n, need, privilege, slot->sge);
		if (likely(segs->num_sge >= 0))
			return DAT_SUCCESS;
	}
	ret = kdapl_segments_reason(r->iov, r->n, need, privilege, &segs->total);
	/* The Consumer changed the vector meanwhile: it was bad when it was filled in */
	return slot && ret == DAT_SUCCESS ? KDAPL_BAD_ARG(3) : ret;
}

/* Steps 7 to 9. Fills in the segments of @slot, which may be NULL */
static DAT_RETURN kdapl_check_data(const struct kdapl_ep *ep, const struct kdapl_request *r,
				   struct kdapl_slot *slot, struct kdapl_segments *segs)
{
	u32 remote_length = r->remote ? READ_ONCE(r->remote->segment_length) : 0;
	DAT_RETURN ret;

	ret = kdapl_check_segments(ep, r, slot, segs);
	if (unlikely(ret != DAT_SUCCESS))
		return ret;
	/* The limits have 32 bits, so a larger sum exceeds them, too */
	if (segs->total > (r->op == DAT_DTO_SEND ? ep->max_message : ep->max_rdma))
		return KDAPL_BAD_ARG(2);
	if (r->op == DAT_DTO_RDMA_WRITE && segs->total > remote_length)
		return KDAPL_ERROR(LENGTH_ERROR);
	if (r->op == DAT_DTO_RDMA_READ && segs->total != remote_length) {
		if (segs->total < remote_length)
			return KDAPL_ERROR(LENGTH_ERROR);
		if (slot)
			kdapl_segments_trim(slot->sge, segs, remote_length);
	}
	return DAT_SUCCESS;
}

/* Fills in all of a slot that differs between posts, except the work request */
static void kdapl_request_fill_slot(const struct kdapl_request *r, struct kdapl_slot *slot,
				    const struct kdapl_segments *segs)
{
	slot->dto.cookie = r->cookie;
	slot->ev.flags = r->flags & DAT_COMPLETION_SUPPRESS_FLAG ? KDAPL_SLOT_SUPPRESS : 0;
	slot->ev.kind = KDAPL_EV_DTO;
	slot->dto.op = r->op;
	slot->dto.status = DAT_DTO_SUCCESS;
	slot->ev.notify = !(r->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
	slot->dto.length = segs->total;
	slot->dto.key = 0;
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_POSTED);
}

static void kdapl_request_fill_wr(const struct kdapl_request *r, struct kdapl_slot *slot,
				  const struct kdapl_segments *segs, u32 send_flags)
{
	struct ib_rdma_wr *rdma = &slot->rdma;

	rdma->wr.num_sge = segs->num_sge;
	if (!segs->num_sge)
		kdapl_request_no_sge(slot);
	rdma->wr.opcode = kdapl_opcode(r->op);
	if (r->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		send_flags |= IB_SEND_FENCE;
	if (r->op != DAT_DTO_SEND) {
		rdma->remote_addr = READ_ONCE(r->remote->virtual_address);
		rdma->rkey = READ_ONCE(r->remote->rmr_context);
	} else {
		if (r->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
			send_flags |= IB_SEND_SOLICITED;
		if (r->inv) {
			rdma->wr.opcode = IB_WR_SEND_WITH_INV;
			rdma->wr.ex.invalidate_rkey = r->key;
		}
	}
	rdma->wr.send_flags = send_flags;
}

/* Step 11. sq->lock held */
static DAT_RETURN kdapl_submit(struct kdapl_ep *ep, const struct kdapl_request *r,
			       struct kdapl_slot *slot, const struct kdapl_segments *segs)
{
	struct ib_qp *qp = kdapl_dereference(ep->qp);
	struct kdapl_sq *sq = &ep->sq;
	bool in_run;
	u32 idx = 0;
	int err;

	kdapl_request_fill_slot(r, slot, segs);
	if (unlikely(!qp)) {
		slot->ev.flags |= KDAPL_SLOT_SIGNALLED;
		kdapl_flush_in_software(ep, slot);
		return DAT_SUCCESS;
	}
	in_run = (r->flags & DAT_COMPLETION_SUPPRESS_FLAG) && kdapl_run_admits(sq);
	slot->ev.run_end = kdapl_run_end(sq);
	if (in_run)
		kdapl_run_enter(sq, slot);
	else
		slot->ev.flags |= KDAPL_SLOT_SIGNALLED;
	kdapl_request_fill_wr(r, slot, segs, in_run ? 0 : IB_SEND_SIGNALED);
	if (trace_kdapl_post_enabled())
		idx = kdapl_slot_idx(slot);
	err = kdapl_verbs_send(qp, &slot->rdma.wr, sq);
	if (unlikely(err))
		return kdapl_request_refused(slot, err);
	/* The request may have completed already, so the slot must not be used any more */
	if (in_run)
		kdapl_run_publish(sq);
	else
		kdapl_run_restart(sq);
	trace_kdapl_post(kdapl_obj_id(&ep->obj), r->op, idx, segs->num_sge, segs->total,
			 r->flags);
	return DAT_SUCCESS;
}

/* Steps 7 to 11 of a request. sq->lock held */
static DAT_RETURN kdapl_queue_request(struct kdapl_ep *ep, const struct kdapl_request *r)
{
	struct kdapl_segments segs;
	struct kdapl_slot *slot;
	DAT_RETURN ret;

	slot = kdapl_pool_get(&ep->sq.pool);
	ret = kdapl_check_data(ep, r, slot, &segs);
	if (ret == DAT_SUCCESS && r->op == DAT_DTO_RDMA_READ && unlikely(!ep->max_reads_out))
		ret = KDAPL_NO_RESOURCE(CREDITS);
	if (likely(ret == DAT_SUCCESS && slot))
		return kdapl_submit(ep, r, slot, &segs);
	if (slot)
		kdapl_pool_put(&ep->sq.pool, slot);
	return ret ?: KDAPL_NO_RESOURCE(MEMORY);
}

/**
 * kdapl_post_any - post any request, from the type of the handle on
 * @ep: the EP, if its handle is that of an EP
 * @r:  the request
 *
 * Context: any, inside the read section.
 * Return: the return value of the posting call.
 */
DAT_RETURN kdapl_post_any(struct kdapl_ep *ep, const struct kdapl_request *r)
{
	DAT_RETURN ret = kdapl_check_request(ep, r);
	unsigned long flags;

	if (likely(ret == DAT_SUCCESS)) {
		spin_lock_irqsave(&ep->sq.lock, flags);
		ret = kdapl_queue_request(ep, r);
		spin_unlock_irqrestore(&ep->sq.lock, flags);
	}
	if (unlikely(ret != DAT_SUCCESS))
		trace_kdapl_post_reject(kdapl_obj_id(&ep->obj), r->op, ret);
	return ret;
}

/**
 * kdapl_post_slow - the same for a request without a key
 * @ep:     the EP
 * @op:     DAT_DTO_SEND, _RDMA_WRITE, _RDMA_READ
 * @n:      number of segments in @iov
 * @iov:    local memory
 * @remote: remote memory of an RDMA operation
 * @cookie: the Consumer's cookie
 * @flags:  completion flags
 *
 * Context: any, inside the read section.
 * Return: the return value of the posting call.
 */
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
