// SPDX-License-Identifier: GPL-2.0
/*
 * LMRs that work requests on the queue of an EP register (dat_lmr_fmr(), in lmr_fmr.c)
 * and invalidate (dat_lmr_invalidate(), here): their states, the completions, and the
 * effect of a peer's invalidation on any LMR. lmr_alloc.c creates such LMRs.
 *
 * Called by Consumers in any context except hard interrupt; done callbacks run in softirq.
 *
 * There is one MR, so a registration must wait for the completion of the invalidation
 * before it. An invalidation may follow a registration on the same EP at once. A posted
 * request counts as a user of the LMR.
 *
 * The entry of the LMR in the table is cleared, and filled in again under a new context,
 * without a grace period in between. A post that uses a context while it is invalidated
 * and the LMR is registered again may combine the old zone and privileges with the new
 * range, or a part of it, and the new key. Then the device checks it against the rights
 * of the new registration, which belongs to the same Consumer and zone.
 *
 * While an RMR is bound to the memory, the Consumer cannot end the registration. If the peer does,
 * the memory stays mapped for DMA, and the LMR in use, until the binding ends as well.
 *
 * Locks: kdapl_sq.lock of the EP is held during the whole post, kdapl_lmr.lock inside it.
 */
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include "internal.h"
#include "base/trace.h"

static void kdapl_lmr_hide(struct kdapl_lmr *lmr)
{
	lockdep_assert_held(&lmr->lock);
	WRITE_ONCE(lmr->desc->zp, 0);
}

/* Undoes kdapl_lmr_hide(); the rest of the entry has not changed */
static void kdapl_lmr_show(struct kdapl_lmr *lmr)
{
	lockdep_assert_held(&lmr->lock);
	WRITE_ONCE(lmr->desc->zp, lmr->zp);
}

/* Schedules the repair of an LMR if it is necessary. Any context, lmr->lock held */
void kdapl_lmr_repair_soon(struct kdapl_lmr *lmr)
{
	lockdep_assert_held(&lmr->lock);
	if (!lmr->dying && (lmr->hostile || lmr->fmr.state == KDAPL_MR_UNKNOWN))
		queue_work(kdapl_wq, &lmr->repair);
}

static void kdapl_lmr_set_ended(struct kdapl_lmr *lmr, u8 state)
{
	kdapl_lmr_hide(lmr);
	lmr->param.rmr_context = 0;
	lmr->param.lmr_state.bound = DAT_FALSE;
	lmr->fmr.failed = false;
	lmr->fmr.gone = false;
	lmr->fmr.state = state;
}

/*
 * Notes that the MR is not valid any more. @lmr: LMR from dat_lmr_allocate(), to which no RMR is
 * bound. Any context, lmr->lock held.
 */
void kdapl_lmr_mark_free(struct kdapl_lmr *lmr)
{
	struct ib_device *ibdev = lmr->obj.ia->ibdev;

	kdapl_lmr_set_ended(lmr, KDAPL_MR_FREE);
	if (lmr->npages)
		ib_dma_unmap_sg(ibdev, lmr->sgt.sgl, lmr->npages, DMA_BIDIRECTIONAL);
	lmr->npages = 0;
}

/*
 * Notes that the MR is not valid any more, although RMRs may be bound. A peer cannot be prevented
 * from ending a registration, and a registration may fail. The keys of the RMRs stay valid, so the
 * memory stays mapped until the last of them has ended. @lmr: LMR from dat_lmr_allocate(). Any
 * context, lmr->lock held.
 */
void kdapl_lmr_mark_gone(struct kdapl_lmr *lmr)
{
	if (lmr->binds)
		kdapl_lmr_set_ended(lmr, KDAPL_MR_HELD);
	else
		kdapl_lmr_mark_free(lmr);
}

/*
 * Notes that an MR of an RMR does not map the memory any more. @lmr: LMR from dat_lmr_allocate().
 * Any context, rmr->lock held.
 */
void kdapl_lmr_unbound(struct kdapl_lmr *lmr)
{
	spin_lock(&lmr->lock);
	if (!--lmr->binds && lmr->fmr.state == KDAPL_MR_HELD)
		kdapl_lmr_mark_free(lmr);
	spin_unlock(&lmr->lock);
}

/* A request failed; it is unknown whether it was executed. lmr->lock held */
static void kdapl_fmr_set_unknown(struct kdapl_lmr *lmr)
{
	lmr->fmr.state = KDAPL_MR_UNKNOWN;
	lmr->param.lmr_state.bound = DAT_FALSE;
	lmr->param.rmr_context = 0;
	kdapl_lmr_hide(lmr);
	kdapl_lmr_repair_soon(lmr);
}

static void kdapl_fmr_registered(struct kdapl_lmr *lmr, const struct kdapl_slot *slot, bool ok)
{
	struct kdapl_mr *m = &lmr->fmr;

	if (m->by != slot)
		return;
	m->by = NULL;
	if (m->state == KDAPL_MR_REGISTERING && ok) {
		m->state = KDAPL_MR_VALID;
		lmr->param.lmr_state.bound = DAT_TRUE;
	} else if (m->state == KDAPL_MR_REGISTERING) {
		kdapl_fmr_set_unknown(lmr);
	} else if (m->state == KDAPL_MR_INVALIDATING) {
		/* The request that ends it has not completed, and decides */
		m->failed = !ok;
	}
}

/* A request that was to end it was not executed, so it is still bound (V-08) */
static void kdapl_fmr_not_invalidated(struct kdapl_lmr *lmr, u8 old_state)
{
	struct kdapl_mr *m = &lmr->fmr;

	if (m->gone) {
		kdapl_lmr_mark_free(lmr);
		return;
	}
	if (m->failed) {
		kdapl_fmr_set_unknown(lmr);
		return;
	}
	/* The registration may have completed in the meantime */
	m->state = m->by ? old_state : KDAPL_MR_VALID;
	lmr->param.lmr_state.bound = m->state == KDAPL_MR_VALID ? DAT_TRUE : DAT_FALSE;
	kdapl_lmr_show(lmr);
}

static void kdapl_fmr_invalidated(struct kdapl_lmr *lmr, bool ok)
{
	struct kdapl_mr *m = &lmr->fmr;

	if (m->state != KDAPL_MR_INVALIDATING)
		return;
	if (ok)
		kdapl_lmr_mark_free(lmr);
	else
		kdapl_fmr_not_invalidated(lmr, KDAPL_MR_VALID);
}

/*
 * Completion of dat_lmr_fmr() or dat_lmr_invalidate(). @cq: its CQ, or NULL (kdapl_sq_abandon()).
 * Context: softirq.
 */
void kdapl_fmr_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);
	struct kdapl_lmr *lmr = slot->dto.mr->lmr;
	unsigned long flags;

	/* Until the end: without users the LMR may be freed after a grace period */
	rcu_read_lock();
	spin_lock_irqsave(&lmr->lock, flags);
	if (slot->ev.flags & KDAPL_SLOT_REGISTERS)
		kdapl_fmr_registered(lmr, slot, wc->status == IB_WC_SUCCESS);
	else
		kdapl_fmr_invalidated(lmr, wc->status == IB_WC_SUCCESS);
	kdapl_lmr_repair_soon(lmr);
	spin_unlock_irqrestore(&lmr->lock, flags);
	/* Before the event: a Consumer that receives it may free the LMR */
	kdapl_obj_unuse(&lmr->obj);
	kdapl_memory_done(cq, slot, wc);
	rcu_read_unlock();
}

/*
 * A peer invalidated a key. @ep: the peer's connection. Returns false if the peer must not do
 * that: the LMR is not from dat_lmr_allocate(), or was registered through another EP, or that EP
 * belongs to another zone now. Any context, inside an RCU read section.
 */
bool kdapl_lmr_invalidated(struct kdapl_obj *obj, const struct kdapl_ep *ep, u32 rkey)
{
	struct kdapl_lmr *lmr = to_kdapl_lmr(obj);
	struct kdapl_mr *m = &lmr->fmr;
	unsigned long flags;
	bool legal = false;

	spin_lock_irqsave(&lmr->lock, flags);
	/* The device has a key even without remote rights */
	if (lmr->dying || !lmr->mr || rkey != lmr->mr->rkey ||
	    (lmr->is_fmr && (m->state == KDAPL_MR_FREE || m->state == KDAPL_MR_HELD))) {
		/* The owner has ended it before */
		legal = true;
	} else if (!lmr->is_fmr) {
		kdapl_lmr_hide(lmr);
		lmr->hostile = true;
		/* A device may refuse to invalidate it once more */
		m->state = KDAPL_MR_FREE;
	} else {
		legal = m->ep == ep->obj.handle && lmr->zone == ep->checks.zone;
		lmr->hostile |= !legal;
		if (m->state == KDAPL_MR_VALID || m->state == KDAPL_MR_REGISTERING)
			kdapl_lmr_mark_gone(lmr);
		else if (m->state == KDAPL_MR_INVALIDATING)
			m->gone = true;
	}
	kdapl_lmr_repair_soon(lmr);
	spin_unlock_irqrestore(&lmr->lock, flags);
	return legal;
}

/*
 * Flushes a request that has passed the checks. Any context, ep->sq.lock held.
 *
 * @ep: the EP, without a QP
 * @op: DAT_DTO_LMR_FMR, DAT_DTO_LMR_INVALIDATE
 */
DAT_RETURN kdapl_lmr_wr_flush(struct kdapl_ep *ep, DAT_DTOS op, u64 cookie, u32 flags)
{
	struct kdapl_slot *slot = kdapl_mr_wr_begin(ep, op, cookie, flags, kdapl_request_done);

	if (!slot)
		return KDAPL_NO_RESOURCE(MEMORY);
	kdapl_flush_in_software(ep, slot);
	return DAT_SUCCESS;
}

/*
 * Step 1 of both calls. @ep: receives the EP, or NULL if there is none. Any context, inside the
 * read section.
 */
DAT_RETURN kdapl_lmr_wr_lookup(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			       struct kdapl_lmr **lmr, struct kdapl_ep **ep)
{
	struct kdapl_obj *obj = kdapl_obj_lookup(lmr_handle, DAT_HANDLE_TYPE_LMR);

	*ep = NULL;
	if (!obj)
		return KDAPL_BAD_HANDLE(LMR);
	*lmr = to_kdapl_lmr(obj);
	obj = kdapl_obj_lookup(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return KDAPL_BAD_HANDLE(EP);
	*ep = to_kdapl_ep(obj);
	return DAT_SUCCESS;
}

/*
 * Second half of step 6, and step 7. The state of an orphaned LMR is not checked. lmr->lock held
 */
static DAT_RETURN kdapl_invalidate_check(const struct kdapl_lmr *lmr, const struct kdapl_ep *ep)
{
	const struct kdapl_mr *m = &lmr->fmr;

	if (lmr->dying)
		return KDAPL_BAD_HANDLE(LMR);
	/* The queues of two EPs are not ordered */
	if (m->state != KDAPL_MR_VALID && !lmr->orphaned &&
	    (m->state != KDAPL_MR_REGISTERING || m->ep != ep->obj.handle))
		return KDAPL_BAD_STATE(LMR_FREE);
	/* The keys of bound RMRs would outlive it. No RMR can be bound after kdapl_lmr_hide() */
	if (lmr->binds)
		return KDAPL_BAD_STATE(LMR_IN_USE);
	if (lmr->zone != ep->checks.zone)
		return KDAPL_ERROR(PROTECTION_VIOLATION);
	return DAT_SUCCESS;
}

/* Steps 6 to 10. lmr->lock held. Returns the slot or stores the reason, as kdapl_fmr_slot() does */
static struct kdapl_slot *kdapl_invalidate_slot(struct kdapl_lmr *lmr, struct kdapl_ep *ep,
						const struct ib_qp *qp, u64 cookie, u32 flags,
						DAT_RETURN *ret)
{
	struct kdapl_slot *slot;

	*ret = kdapl_invalidate_check(lmr, ep);
	if (*ret || !qp)
		return NULL;
	slot = kdapl_mr_wr_begin(ep, DAT_DTO_LMR_INVALIDATE, cookie, flags, kdapl_fmr_done);
	if (!slot) {
		*ret = KDAPL_NO_RESOURCE(MEMORY);
		return NULL;
	}
	if (!kdapl_obj_tryuse(&lmr->obj)) {
		*ret = KDAPL_BAD_HANDLE(LMR);
		kdapl_mr_wr_abort(ep, slot);
		return NULL;
	}
	slot->dto.mr = &lmr->fmr;
	slot->ev.flags |= KDAPL_SLOT_INVALIDATES;
	slot->rdma.wr.opcode = IB_WR_LOCAL_INV;
	slot->rdma.wr.ex.invalidate_rkey = lmr->fmr.mr->rkey;
	/* In the verbs: after earlier reads (V-11) */
	slot->rdma.wr.send_flags |= IB_SEND_FENCE;
	return slot;
}

/* Steps 6 to 11. ep->sq.lock held */
static DAT_RETURN kdapl_invalidate_request(struct kdapl_lmr *lmr, struct kdapl_ep *ep,
					   u64 cookie, u32 flags)
{
	struct ib_qp *qp = kdapl_rcu_dereference(ep->fast.qp);
	u8 old_state = KDAPL_MR_VALID;
	struct kdapl_slot *slot;
	struct ib_send_wr *bad;
	DAT_RETURN ret;
	int err;

	spin_lock(&lmr->lock);
	slot = kdapl_invalidate_slot(lmr, ep, qp, cookie, flags, &ret);
	if (slot) {
		old_state = lmr->fmr.state;
		lmr->fmr.state = KDAPL_MR_INVALIDATING;
		kdapl_lmr_hide(lmr);
	}
	spin_unlock(&lmr->lock);
	if (!slot)
		return ret ?: kdapl_lmr_wr_flush(ep, DAT_DTO_LMR_INVALIDATE, cookie, flags);
	err = kdapl_mr_wr_post(ep, qp, slot, &slot->rdma.wr, flags, &bad);
	if (likely(!err))
		return DAT_SUCCESS;
	spin_lock(&lmr->lock);
	kdapl_fmr_not_invalidated(lmr, old_state);
	spin_unlock(&lmr->lock);
	kdapl_mr_wr_abort(ep, slot);
	kdapl_obj_unuse(&lmr->obj);
	return kdapl_mr_wr_error(err);
}

/* Returns true if it is executed after all earlier requests. Part of step 2, so in any state */
static bool kdapl_invalidate_in_order(struct kdapl_ep *ep)
{
	bool idle;

	if (ep->obj.ia->limits.ordered_inv)
		return true;
	/* dat_ep_modify() may be replacing the slots of the queue */
	spin_lock(&ep->lock);
	idle = kdapl_ep_requests_idle(ep);
	spin_unlock(&ep->lock);
	return idle;
}

/**
 * dat_lmr_invalidate - end a registration of dat_lmr_fmr() by a work request
 * @lmr_handle:       LMR that is registered
 * @ep_handle:        the EP on whose queue the request is posted, of the LMR's zone
 * @user_cookie:      returned in the completion event
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, BARRIER_FENCE, LMR_INVALIDATE_FENCE,
 *                    and UNSIGNALLED if the EP has that request completion flag
 *
 * Posts with the context of the LMR are refused from the call on. The keys are invalid when the
 * event is delivered, which is a DTO completion with operation DAT_DTO_LMR_INVALIDATE. If its
 * status is FLUSHED, the LMR is still registered. A post with the context that another thread makes
 * during the call may be queued after the invalidation; then it fails, and the connection breaks.
 * With LMR_INVALIDATE_FENCE the request is executed after all earlier requests of the EP; without
 * it, at least after earlier RDMA reads.
 *
 * Context: as for dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS - also in DISCONNECTED, where the request is flushed
 * * DAT_INVALID_HANDLE - @lmr_handle or @ep_handle is not valid
 * * DAT_MODEL_NOT_SUPPORTED - LMR_INVALIDATE_FENCE with requests outstanding, on a device
 *   that is not known to execute them in order
 * * DAT_INVALID_PARAMETER - the LMR is not of dat_lmr_allocate() (1); flags (4)
 * * DAT_INVALID_STATE - the EP is neither CONNECTED nor DISCONNECTED; or LMR_FREE: the LMR
 *   is not registered, a posted request ends the registration already, or the registration
 *   was posted on another EP and has not completed; or LMR_IN_USE: an RMR is bound to it
 * * DAT_PROTECTION_VIOLATION - LMR and EP do not belong to the same zone
 * * DAT_INSUFFICIENT_RESOURCES - the queue is full; the device has no memory for the
 *   request
 * * DAT_INTERNAL_ERROR - the device refused the request for another reason
 */
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags)
{
	struct kdapl_lmr *lmr;
	struct kdapl_ep *ep;
	unsigned long irq;
	DAT_RETURN ret;

	kdapl_rcu_read_lock_irqsave(irq);
	ret = kdapl_lmr_wr_lookup(lmr_handle, ep_handle, &lmr, &ep);
	if (!ret && (completion_flags & DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG) &&
	    !kdapl_invalidate_in_order(ep))
		ret = KDAPL_UNSUPPORTED;
	if (!ret && !lmr->is_fmr)
		ret = KDAPL_BAD_ARG(1);
	if (!ret)
		ret = kdapl_mr_wr_check(ep, completion_flags,
					DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG, DAT_INVALID_ARG4);
	if (!ret) {
		spin_lock(&ep->sq.lock);
		ret = kdapl_invalidate_request(lmr, ep, user_cookie.as_64, completion_flags);
		spin_unlock(&ep->sq.lock);
	}
	if (ret && ep)
		trace_kdapl_post_reject(kdapl_obj_id(&ep->obj), DAT_DTO_LMR_INVALIDATE, ret);
	kdapl_rcu_read_unlock_irqrestore(irq);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_lmr_invalidate);
