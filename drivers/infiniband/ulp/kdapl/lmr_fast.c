// SPDX-License-Identifier: GPL-2.0
/*
 * LMRs that work requests on an EP's own queue register (dat_lmr_fmr, in
 * lmr_fmr.c) and invalidate (dat_lmr_invalidate, here): the states between the
 * two, the completions, and what a peer's invalidation does to any LMR. How
 * such an LMR begins stands in lmr_alloc.c.
 *
 * Called by Consumers in any context but hard interrupt; done callbacks run in
 * softirq.
 *
 * One MR, so one request at a time: registering waits for the completion of
 * the invalidation before. A request under way counts as a user of the LMR.
 *
 * The LMR's entry in the table is refilled without a grace period after it was
 * emptied, under a new context. A post that races with the invalidation of a context it
 * names, and with the next registration as well, may take the old zone and
 * privileges with the new range, or a part of it, and the new key: then the device holds it to the
 * rights of the new registration, which is the Consumer's own, of this zone.
 *
 * Locks: kdapl_sq.lock of the EP over the whole of a post, kdapl_lmr.lock
 * inside it.
 */
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include "kdapl.h"
#include "trace.h"

#define KDAPL_IP(arg)	DAT_ERROR(DAT_INVALID_PARAMETER, arg)

/* ---- states ------------------------------------------------------------ */

static void kdapl_lmr_hide(struct kdapl_lmr *lmr)
{
	lockdep_assert_held(&lmr->lock);
	WRITE_ONCE(lmr->desc->zp, 0);
}

/* Undoes that; the entry has been left as it was */
static void kdapl_lmr_show(struct kdapl_lmr *lmr)
{
	lockdep_assert_held(&lmr->lock);
	WRITE_ONCE(lmr->desc->zp, lmr->zp);
}

/**
 * kdapl_lmr_repair_soon - have work look at an LMR, if it has to
 * @lmr: the LMR
 *
 * Context: any, lmr->lock held.
 */
void kdapl_lmr_repair_soon(struct kdapl_lmr *lmr)
{
	lockdep_assert_held(&lmr->lock);
	if (!lmr->dying && (lmr->hostile || lmr->fmr.state == KDAPL_FAST_DIRTY))
		queue_work(kdapl_wq, &lmr->repair);
}

/**
 * kdapl_lmr_fast_free - the MR is not valid any more
 * @lmr: LMR from dat_lmr_allocate()
 *
 * Context: any, lmr->lock held.
 */
void kdapl_lmr_fast_free(struct kdapl_lmr *lmr)
{
	struct ib_device *ibdev = lmr->obj.ia->ibdev;

	kdapl_lmr_hide(lmr);
	if (lmr->npages)
		ib_dma_unmap_sg(ibdev, lmr->sgt.sgl, lmr->npages, DMA_BIDIRECTIONAL);
	lmr->npages = 0;
	lmr->param.rmr_context = 0;
	lmr->param.lmr_state.bound = DAT_FALSE;
	lmr->fmr.failed = false;
	lmr->fmr.gone = false;
	lmr->fmr.state = KDAPL_FAST_FREE;
}

/* A request has failed, and nobody knows what the device made of it. lmr->lock held */
static void kdapl_fmr_in_doubt(struct kdapl_lmr *lmr)
{
	lmr->fmr.state = KDAPL_FAST_DIRTY;
	lmr->param.lmr_state.bound = DAT_FALSE;
	lmr->param.rmr_context = 0;
	kdapl_lmr_hide(lmr);
	kdapl_lmr_repair_soon(lmr);
}

static void kdapl_fmr_began(struct kdapl_lmr *lmr, const struct kdapl_slot *slot, bool ok)
{
	struct kdapl_fast *f = &lmr->fmr;

	if (f->by != slot)
		return;
	f->by = NULL;
	if (f->state == KDAPL_FAST_BINDING && ok) {
		f->state = KDAPL_FAST_BOUND;
		lmr->param.lmr_state.bound = DAT_TRUE;
	} else if (f->state == KDAPL_FAST_BINDING) {
		kdapl_fmr_in_doubt(lmr);
	} else if (f->state == KDAPL_FAST_ENDING) {
		/* The request that ends it is under way still, and decides */
		f->failed = !ok;
	}
}

/* A request that was to end it has not been executed: as bound as before (V-08) */
static void kdapl_fmr_not_ended(struct kdapl_lmr *lmr, u8 old_state)
{
	struct kdapl_fast *f = &lmr->fmr;

	if (f->gone) {
		kdapl_lmr_fast_free(lmr);
		return;
	}
	if (f->failed) {
		kdapl_fmr_in_doubt(lmr);
		return;
	}
	/* The registration may have completed meanwhile */
	f->state = f->by ? old_state : KDAPL_FAST_BOUND;
	lmr->param.lmr_state.bound = f->state == KDAPL_FAST_BOUND ? DAT_TRUE : DAT_FALSE;
	kdapl_lmr_show(lmr);
}

static void kdapl_fmr_ended(struct kdapl_lmr *lmr, bool ok)
{
	struct kdapl_fast *f = &lmr->fmr;

	if (f->state != KDAPL_FAST_ENDING)
		return;
	if (ok)
		kdapl_lmr_fast_free(lmr);
	else
		kdapl_fmr_not_ended(lmr, KDAPL_FAST_BOUND);
}

/**
 * kdapl_fmr_done - completion of dat_lmr_fmr() or dat_lmr_invalidate()
 * @cq: its CQ, or NULL (kdapl_sq_abandon())
 * @wc: the completion
 *
 * Context: softirq.
 */
void kdapl_fmr_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);
	struct kdapl_lmr *lmr = slot->fast->lmr;
	unsigned long flags;

	/* Until the end: when it is not used any more it may go, after a grace period */
	rcu_read_lock();
	spin_lock_irqsave(&lmr->lock, flags);
	if (slot->flags & KDAPL_SLOT_BINDS)
		kdapl_fmr_began(lmr, slot, wc->status == IB_WC_SUCCESS);
	else
		kdapl_fmr_ended(lmr, wc->status == IB_WC_SUCCESS);
	kdapl_lmr_repair_soon(lmr);
	spin_unlock_irqrestore(&lmr->lock, flags);
	/* First: who learns of the completion may free the LMR */
	kdapl_obj_unuse(&lmr->obj);
	kdapl_memory_done(cq, slot, wc);
	rcu_read_unlock();
}

/**
 * kdapl_lmr_invalidated - a peer has invalidated a key
 * @lmr:  LMR that it belongs to
 * @ep:   the peer's connection
 * @rkey: the key
 *
 * Context: any, inside an RCU read section.
 * Return: false if it must not: the LMR is not from dat_lmr_allocate(), or was
 * registered through another EP, or that is of another zone now.
 */
bool kdapl_lmr_invalidated(struct kdapl_lmr *lmr, const struct kdapl_ep *ep, u32 rkey)
{
	struct kdapl_fast *f = &lmr->fmr;
	unsigned long flags;
	bool legal = false;

	spin_lock_irqsave(&lmr->lock, flags);
	/* Without remote rights the device has a key all the same */
	if (lmr->dying || !lmr->mr || rkey != lmr->mr->rkey ||
	    (lmr->fast && f->state == KDAPL_FAST_FREE)) {
		/* The owner was quicker */
		legal = true;
	} else if (!lmr->fast) {
		kdapl_lmr_hide(lmr);
		lmr->hostile = true;
	} else {
		legal = f->ep == ep->obj.handle && lmr->zone == ep->zone;
		lmr->hostile |= !legal;
		if (f->state == KDAPL_FAST_BOUND || f->state == KDAPL_FAST_BINDING)
			kdapl_lmr_fast_free(lmr);
		else if (f->state == KDAPL_FAST_ENDING)
			f->gone = true;
	}
	kdapl_lmr_repair_soon(lmr);
	spin_unlock_irqrestore(&lmr->lock, flags);
	return legal;
}

/* ---- both calls -------------------------------------------------------- */

/**
 * kdapl_fast_flush - a request on a shell: nothing happens, and it is flushed
 * @ep:     the EP, without QP
 * @op:     DAT_DTO_LMR_FMR, DAT_DTO_LMR_INVALIDATE
 * @cookie: the Consumer's
 * @flags:  completion flags
 *
 * Context: any, ep->sq.lock held.
 */
DAT_RETURN kdapl_fast_flush(struct kdapl_ep *ep, DAT_DTOS op, u64 cookie, u32 flags)
{
	struct kdapl_slot *slot = kdapl_fast_begin(ep, op, cookie, flags, kdapl_request_done);

	if (!slot)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	kdapl_flush_in_software(ep, slot);
	return DAT_SUCCESS;
}

/**
 * kdapl_fast_lookup - step 1 of both calls
 * @lmr_handle: any value
 * @ep_handle:  any value
 * @lmr:        takes the LMR
 * @ep:         takes the EP; NULL if there is none
 *
 * Context: any, inside the read section.
 */
DAT_RETURN kdapl_fast_lookup(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			     struct kdapl_lmr **lmr, struct kdapl_ep **ep)
{
	struct kdapl_obj *obj = kdapl_obj_lookup(lmr_handle, DAT_HANDLE_TYPE_LMR);

	*ep = NULL;
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	*lmr = to_kdapl_lmr(obj);
	obj = kdapl_obj_lookup(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	*ep = to_kdapl_ep(obj);
	return DAT_SUCCESS;
}

/* ---- dat_lmr_invalidate ------------------------------------------------ */

/* Second half of step 6, and step 7. lmr->lock held */
static DAT_RETURN kdapl_invalidate_check(const struct kdapl_lmr *lmr, const struct kdapl_ep *ep)
{
	const struct kdapl_fast *f = &lmr->fmr;

	if (lmr->dying)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	/* No order between the queues of two EPs */
	if (f->state != KDAPL_FAST_BOUND &&
	    (f->state != KDAPL_FAST_BINDING || f->ep != ep->obj.handle))
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE);
	if ((lmr->zone ^ ep->zone) & KDAPL_ZONE_MASK)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

/* Steps 6 to 10, under lmr->lock; the slot, filled in, or NULL and the reason */
static struct kdapl_slot *kdapl_invalidate_slot(struct kdapl_lmr *lmr, struct kdapl_ep *ep,
						u64 cookie, u32 flags, DAT_RETURN *ret)
{
	struct kdapl_slot *slot;

	*ret = kdapl_invalidate_check(lmr, ep);
	if (*ret)
		return NULL;
	slot = kdapl_fast_begin(ep, DAT_DTO_LMR_INVALIDATE, cookie, flags, kdapl_fmr_done);
	if (!slot) {
		*ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		return NULL;
	}
	if (!kdapl_obj_use(&lmr->obj)) {
		*ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
		kdapl_fast_abort(ep, slot);
		return NULL;
	}
	slot->fast = &lmr->fmr;
	slot->flags |= KDAPL_SLOT_ENDS;
	slot->rdma.wr.opcode = IB_WR_LOCAL_INV;
	slot->rdma.wr.ex.invalidate_rkey = lmr->fmr.mr->rkey;
	/* In verbs: behind earlier reads (V-11) */
	slot->rdma.wr.send_flags |= IB_SEND_FENCE;
	return slot;
}

/* Steps 6 to 11. ep->sq.lock held */
static DAT_RETURN kdapl_invalidate_request(struct kdapl_lmr *lmr, struct kdapl_ep *ep,
					   u64 cookie, u32 flags)
{
	struct ib_qp *qp = kdapl_dereference(ep->qp);
	u8 old_state = KDAPL_FAST_BOUND;
	struct kdapl_slot *slot;
	struct ib_send_wr *bad;
	DAT_RETURN ret;
	int err;

	if (!qp)
		return kdapl_fast_flush(ep, DAT_DTO_LMR_INVALIDATE, cookie, flags);
	spin_lock(&lmr->lock);
	slot = kdapl_invalidate_slot(lmr, ep, cookie, flags, &ret);
	if (slot) {
		old_state = lmr->fmr.state;
		lmr->fmr.state = KDAPL_FAST_ENDING;
		kdapl_lmr_hide(lmr);
	}
	spin_unlock(&lmr->lock);
	if (!slot)
		return ret;
	err = kdapl_fast_post(ep, qp, slot, &slot->rdma.wr, flags, &bad);
	if (likely(!err))
		return DAT_SUCCESS;
	spin_lock(&lmr->lock);
	kdapl_fmr_not_ended(lmr, old_state);
	spin_unlock(&lmr->lock);
	kdapl_fast_abort(ep, slot);
	kdapl_obj_unuse(&lmr->obj);
	return kdapl_fast_refused(err);
}

/* Does it begin after all earlier requests? Of any state: step 2 */
static bool kdapl_invalidate_in_order(struct kdapl_ep *ep)
{
	bool idle;

	if (ep->obj.ia->limits.ordered_inv)
		return true;
	/* dat_ep_modify() may be giving the queue other slots */
	spin_lock(&ep->lock);
	idle = kdapl_ep_requests_idle(ep);
	spin_unlock(&ep->lock);
	return idle;
}

/**
 * dat_lmr_invalidate - end a registration of dat_lmr_fmr(), by a request
 * @lmr_handle:       LMR, registered
 * @ep_handle:        the EP on whose queue it happens, of the LMR's zone
 * @user_cookie:      comes back in the completion event
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, BARRIER_FENCE,
 *                    LMR_INVALIDATE_FENCE, and UNSIGNALLED if the EP's request
 *                    flags say so
 *
 * Segments that name the LMR are refused from the call on; its keys are dead
 * when the event comes, a DTO completion with operation
 * DAT_DTO_LMR_INVALIDATE. If that says FLUSHED, the LMR is registered as
 * before. With LMR_INVALIDATE_FENCE it begins after all earlier requests of
 * the EP; without, it waits for earlier RDMA reads at least.
 *
 * Source: kDAPL 2.0, dat_lmr_invalidate; no manual page.
 *
 * Context: as dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS - in DISCONNECTED too: flushed
 * * DAT_INVALID_HANDLE - @lmr_handle or @ep_handle
 * * DAT_MODEL_NOT_SUPPORTED - LMR_INVALIDATE_FENCE with requests outstanding,
 *   on a device not known to keep them in order
 * * DAT_INVALID_PARAMETER - the LMR is not of dat_lmr_allocate() (1); flags (4)
 * * DAT_INVALID_STATE - of the EP; or LMR_FREE: the LMR is not registered, or a
 *   request is ending that already
 * * DAT_PROTECTION_VIOLATION - LMR and EP are not of one zone
 * * DAT_INSUFFICIENT_RESOURCES - the queue is full
 * * DAT_INTERNAL_ERROR - the device refused the request
 */
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags)
{
	struct kdapl_lmr *lmr;
	struct kdapl_ep *ep;
	unsigned long irq;
	DAT_RETURN ret;

	kdapl_read_lock(irq);
	ret = kdapl_fast_lookup(lmr_handle, ep_handle, &lmr, &ep);
	if (!ret && (completion_flags & DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG) &&
	    !kdapl_invalidate_in_order(ep))
		ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!ret && !lmr->fast)
		ret = KDAPL_IP(DAT_INVALID_ARG1);
	if (!ret)
		ret = kdapl_fast_check(ep, completion_flags,
				       DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG, DAT_INVALID_ARG4);
	if (!ret) {
		spin_lock(&ep->sq.lock);
		ret = kdapl_invalidate_request(lmr, ep, user_cookie.as_64, completion_flags);
		spin_unlock(&ep->sq.lock);
	}
	if (ret && ep)
		trace_kdapl_post_reject(kdapl_obj_id(&ep->obj), DAT_DTO_LMR_INVALIDATE, ret);
	kdapl_read_unlock(irq);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_lmr_invalidate);
