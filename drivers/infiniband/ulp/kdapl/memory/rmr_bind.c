// SPDX-License-Identifier: GPL-2.0
/*
 * dat_rmr_bind: gives a peer access to a part of an LMR by a work request.
 *
 * Kernel users have no memory windows, so a binding is a separate registration of the pages of the
 * LMR. An RMR owns two MRs. A rebind posts a list of two work requests: the invalidation of the
 * current MR and the registration of the other one, which is mapped while the current one is still
 * in use. The next rebind needs the invalidated MR, so it is possible when this one has completed.
 *
 * Called by Consumers in any context except hard interrupt; done callbacks run in
 * softirq. rmr.c creates and frees RMRs.
 *
 * Locks: kdapl_sq.lock of the EP is held during the whole post, kdapl_rmr.lock inside it
 * for changes of state, and kdapl_lmr.lock or kdapl_pz.map_lock inside that, for the registration
 * of an LMR from dat_lmr_allocate() and for the mapping.
 */
#include <linux/export.h>
#include "internal.h"
#include "base/trace.h"

/* A call of dat_rmr_bind(): its arguments, and what it changes */
struct kdapl_bind {
	struct kdapl_rmr *rmr;
	struct kdapl_lmr *lmr;		/* NULL: unbind */
	struct kdapl_ep *ep;
	const DAT_LMR_TRIPLET *triplet;	/* &copy, or NULL */
	DAT_LMR_TRIPLET copy;		/* the Consumer may change the original */
	DAT_MEM_PRIV_FLAGS priv;
	u64 cookie;
	u32 flags;
	DAT_RMR_CONTEXT *context;
	struct kdapl_mr *old;		/* MR to invalidate, or NULL */
	struct kdapl_mr *next;	/* MR to register, or NULL */
	u8 old_state;			/* to undo the bind */
	s8 old_cur;
	DAT_RMR_PARAM old_param;
	DAT_RMR_CONTEXT old_context;
};

/*
 * Notes that an MR does not map its LMR any more. @m: MR of an RMR; it may map none. Any context,
 * rmr->lock held.
 */
void kdapl_rmr_drop_lmr(struct kdapl_mr *m)
{
	struct kdapl_lmr *lmr = m->lmr;

	lockdep_assert_held(&m->rmr->lock);
	m->lmr = NULL;
	if (!lmr)
		return;
	if (lmr->is_fmr)
		kdapl_lmr_unbound(lmr);
	kdapl_obj_unuse(&lmr->obj);
}

/* Notes that an MR is not valid any more. Any context, rmr->lock held */
void kdapl_rmr_mark_free(struct kdapl_mr *m)
{
	m->state = KDAPL_MR_FREE;
	m->gone = false;
	kdapl_rmr_drop_lmr(m);
}

/* Notes that nothing is bound any more. Any context, rmr->lock held */
void kdapl_rmr_unbound(struct kdapl_rmr *rmr)
{
	lockdep_assert_held(&rmr->lock);
	rmr->cur = -1;
	memset(&rmr->param.lmr_triplet, 0, sizeof(rmr->param.lmr_triplet));
	rmr->param.mem_priv = DAT_MEM_PRIV_NONE_FLAG;
	rmr->param.rmr_context = 0;
}

/* Drops the reference of a request, or that of the RMR itself. Any context */
void kdapl_rmr_put(struct kdapl_rmr *rmr)
{
	if (refcount_dec_and_test(&rmr->wrs))
		queue_rcu_work(kdapl_wq, &rmr->free_work);
}

/* A registration completed. A later request may have been posted to end it */
static void kdapl_bind_registered(struct kdapl_rmr *rmr, struct kdapl_mr *m,
				  const struct kdapl_slot *slot, bool ok)
{
	/* The peer may have ended it before this completion, and the MR may be in use again */
	if (m->by != slot)
		return;
	m->by = NULL;
	if (m->state == KDAPL_MR_INVALIDATING)
		m->failed = !ok;
	if (m->state != KDAPL_MR_REGISTERING)
		return;
	m->state = ok ? KDAPL_MR_VALID : KDAPL_MR_UNKNOWN;
	if (!ok && rmr->cur == m - rmr->mrs)
		kdapl_rmr_unbound(rmr);
}

static void kdapl_bind_invalidated(struct kdapl_mr *m, bool ok)
{
	if (m->state != KDAPL_MR_INVALIDATING)
		return;
	if (ok)
		kdapl_rmr_mark_free(m);
	else
		m->state = KDAPL_MR_UNKNOWN;
}

static void kdapl_rmr_repair_soon(struct kdapl_rmr *rmr)
{
	lockdep_assert_held(&rmr->lock);
	if (!rmr->dying && (rmr->hostile || rmr->mrs[0].state == KDAPL_MR_UNKNOWN ||
			    rmr->mrs[1].state == KDAPL_MR_UNKNOWN))
		queue_work(kdapl_wq, &rmr->repair);
}

/*
 * The invalidation before a registration has a completion only if it fails. That comes
 * before the completion of the registration, whose reference keeps the RMR.
 */
static void kdapl_bind_inv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_mr *m = container_of(wc->wr_cqe, struct kdapl_mr, cqe);
	struct kdapl_rmr *rmr = m->rmr;
	const struct kdapl_slot *reg;
	unsigned long flags;

	spin_lock_irqsave(&rmr->lock, flags);
	m->half_posted = false;
	kdapl_bind_invalidated(m, wc->status == IB_WC_SUCCESS);
	reg = rmr->mrs[m == rmr->mrs].by;
	m->inv_failed = reg && wc->status != IB_WC_SUCCESS && wc->status != IB_WC_WR_FLUSH_ERR;
	kdapl_rmr_repair_soon(rmr);
	spin_unlock_irqrestore(&rmr->lock, flags);
	/* Then the registration is only flushed */
	if (m->inv_failed)
		kdapl_note_error(reg->ev.ep, DAT_DTO_BIND_MW, wc);
}

static void kdapl_bind_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);
	struct kdapl_mr *m = slot->dto.mr;
	bool ok = wc->status == IB_WC_SUCCESS;
	struct kdapl_rmr *rmr = m->rmr;
	struct kdapl_mr *old = &rmr->mrs[m == rmr->mrs];
	unsigned long flags;

	/* Until the end: after the last reference the RMR is freed after a grace period */
	rcu_read_lock();
	spin_lock_irqsave(&rmr->lock, flags);
	if (slot->ev.flags & KDAPL_SLOT_REGISTERS) {
		if (slot->ev.flags & KDAPL_SLOT_INVALIDATES) {
			/*
			 * The invalidation has its own completion only if it fails. If
			 * the registration has failed, it may not have been executed.
			 */
			kdapl_bind_invalidated(old, ok);
			/* The bind failed, whichever half of it did */
			if (old->inv_failed)
				wc->status = IB_WC_MW_BIND_ERR;
			old->inv_failed = false;
		}
		kdapl_bind_registered(rmr, m, slot, ok);
	} else if (slot->ev.flags & KDAPL_SLOT_INVALIDATES) {
		kdapl_bind_invalidated(m, ok);
	}
	kdapl_rmr_repair_soon(rmr);
	spin_unlock_irqrestore(&rmr->lock, flags);
	slot->rmr = kdapl_obj_handle(&rmr->obj);
	kdapl_memory_done(cq, slot, wc);
	kdapl_rmr_put(rmr);
	rcu_read_unlock();
}

/*
 * The QP is drained, so an invalidation that was accepted without the registration after it has
 * also completed. The Consumer never sees this request.
 */
static void kdapl_bind_half_posted_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);
	struct kdapl_mr *old = slot->dto.mr;
	struct kdapl_rmr *rmr = old->rmr;
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&rmr->lock, flags);
	/* It is unknown whether it was executed */
	if (old->half_posted)
		kdapl_bind_invalidated(old, false);
	old->half_posted = false;
	kdapl_rmr_repair_soon(rmr);
	spin_unlock_irqrestore(&rmr->lock, flags);
	slot->cqe.done = kdapl_request_done;
	kdapl_pool_put(slot);
	kdapl_rmr_put(rmr);
	rcu_read_unlock();
}

/*
 * A peer invalidated a key. @ep: the peer's connection. Returns false if the binding was not
 * made through @ep, or @ep is of another zone now. Any context, inside an RCU read section.
 */
bool kdapl_rmr_invalidated(struct kdapl_obj *obj, const struct kdapl_ep *ep, u32 rkey)
{
	struct kdapl_rmr *rmr = to_kdapl_rmr(obj);
	struct kdapl_mr *m;
	unsigned long flags;
	bool legal = true;

	spin_lock_irqsave(&rmr->lock, flags);
	for (m = rmr->mrs; m < rmr->mrs + ARRAY_SIZE(rmr->mrs); m++) {
		if (!m->mr || m->mr->rkey != rkey || m->state == KDAPL_MR_FREE)
			continue;
		legal = m->ep == ep->obj.handle && rmr->zone == ep->checks.zone;
		rmr->hostile |= !legal;
		if (m->state == KDAPL_MR_INVALIDATING)
			m->gone = true;
		if (m->state != KDAPL_MR_VALID && m->state != KDAPL_MR_REGISTERING)
			continue;
		if (rmr->cur == m - rmr->mrs)
			kdapl_rmr_unbound(rmr);
		kdapl_rmr_mark_free(m);
	}
	kdapl_rmr_repair_soon(rmr);
	spin_unlock_irqrestore(&rmr->lock, flags);
	return legal;
}

/* Step 7; an unbind checks the zone only */
static DAT_RETURN kdapl_bind_check_range(const struct kdapl_bind *b)
{
	const DAT_LMR_TRIPLET *t = b->triplet;
	const DAT_LMR_PARAM *p;
	u64 off;
	u32 zp;

	if (b->rmr->zone != b->ep->checks.zone)
		return KDAPL_ERROR(PROTECTION_VIOLATION);
	if (!b->lmr)
		return DAT_SUCCESS;
	p = &b->lmr->param;
	zp = READ_ONCE(b->lmr->desc->zp);
	if (t->lmr_context != p->lmr_context)
		return KDAPL_BAD_ARG(3);
	if (!zp)
		return KDAPL_ERROR(PRIVILEGES_VIOLATION);
	if ((zp ^ b->rmr->zone) & KDAPL_ZONE_MASK)
		return KDAPL_ERROR(PROTECTION_VIOLATION);
	if ((b->priv & DAT_MEM_PRIV_REMOTE_READ_FLAG && !(zp & DAT_MEM_PRIV_LOCAL_READ_FLAG)) ||
	    (b->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG && !(zp & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)))
		return KDAPL_ERROR(PRIVILEGES_VIOLATION);
	off = t->virtual_address - p->registered_address;
	if (off > p->registered_size || t->segment_length > p->registered_size - off)
		return KDAPL_BAD_ARG(3);
	return DAT_SUCCESS;
}

/*
 * Checks the range under lmr->lock if a request has registered the LMR, because that registration
 * may end. @hold: also counts the binding in lmr->binds
 */
static DAT_RETURN kdapl_bind_check_lmr(const struct kdapl_bind *b, bool hold)
{
	DAT_RETURN ret;

	if (!b->lmr || !b->lmr->is_fmr)
		return kdapl_bind_check_range(b);
	spin_lock(&b->lmr->lock);
	ret = kdapl_bind_check_range(b);
	if (!ret && hold)
		b->lmr->binds++;
	spin_unlock(&b->lmr->lock);
	return ret;
}

/* Steps 2 to 7; the handles have been looked up */
static DAT_RETURN kdapl_bind_check(const struct kdapl_bind *b, DAT_VA_TYPE va_type)
{
	DAT_RETURN ret;

	if (va_type == DAT_VA_TYPE_ZB)
		return KDAPL_UNSUPPORTED;
	if (!b->triplet)
		return KDAPL_BAD_ARG(3);
	if (b->priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return KDAPL_BAD_ARG(4);
	if (va_type != DAT_VA_TYPE_VA)
		return KDAPL_BAD_ARG(5);
	if (!b->context)
		return KDAPL_BAD_ARG(9);
	ret = kdapl_mr_wr_check(b->ep, b->flags, 0, DAT_INVALID_ARG8);
	return ret ?: kdapl_bind_check_lmr(b, false);
}

/* Copies the entries of @len bytes of a mapped region from @skip on; returns their number */
static int kdapl_bind_copy_range(struct scatterlist *to, const struct sg_table *from,
				 u64 skip, u64 len)
{
	struct scatterlist *sg;
	int i, n = 0;
	u64 part;

	for_each_sgtable_dma_sg(from, sg, i) {
		if (skip >= sg_dma_len(sg)) {
			skip -= sg_dma_len(sg);
			continue;
		}
		part = min_t(u64, sg_dma_len(sg) - skip, len);
		sg_dma_address(&to[n]) = sg_dma_address(sg) + skip;
		sg_dma_len(&to[n]) = part;
		n++;
		skip = 0;
		len -= part;
		if (!len)
			break;
	}
	return n;
}

/* Maps the range with a free MR, under a new key */
static int kdapl_bind_map(const struct kdapl_bind *b, struct ib_mr *mr)
{
	const DAT_LMR_TRIPLET *t = b->triplet;
	struct kdapl_pz *pz = b->rmr->pz;
	int n, ret;

	spin_lock(&pz->map_lock);
	n = kdapl_bind_copy_range(pz->map_sg, &b->lmr->sgt,
				  t->virtual_address - b->lmr->param.registered_address,
				  t->segment_length);
	ret = ib_map_mr_sg(mr, pz->map_sg, n, NULL, PAGE_SIZE);
	spin_unlock(&pz->map_lock);
	if (ret != n)
		return -EINVAL;
	mr->iova = t->virtual_address;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return 0;
}

/*
 * Makes the binding a user of its LMR. If a request has registered the LMR, also keeps its DMA
 * mapping. rmr->lock held
 */
static DAT_RETURN kdapl_bind_hold(const struct kdapl_bind *b)
{
	DAT_RETURN ret = DAT_SUCCESS;

	if (!kdapl_obj_tryuse(&b->lmr->obj))
		return KDAPL_BAD_HANDLE(LMR);
	if (b->lmr->is_fmr)
		ret = kdapl_bind_check_lmr(b, true);
	if (ret)
		kdapl_obj_unuse(&b->lmr->obj); /* GCOVR_EXCL_LINE: a race of a few instructions */
	return ret;
}

/* Second half of step 10: finds a free MR and takes a reference to the LMR. rmr->lock held */
static DAT_RETURN kdapl_bind_find(struct kdapl_bind *b)
{
	struct kdapl_rmr *rmr = b->rmr;
	DAT_RETURN ret;

	if (rmr->dying)
		return KDAPL_BAD_HANDLE(RMR);
	b->old = rmr->cur < 0 ? NULL : &rmr->mrs[rmr->cur];
	b->next = NULL;
	/* The queues of two EPs are not ordered */
	if (b->old && b->old->state == KDAPL_MR_REGISTERING && b->old->ep != b->ep->obj.handle)
		return KDAPL_NO_RESOURCE(MEMORY_REGION);
	if (!b->lmr)
		return DAT_SUCCESS;
	b->next = &rmr->mrs[b->old ? !rmr->cur : rmr->mrs[0].state != KDAPL_MR_FREE];
	if (b->next->state != KDAPL_MR_FREE) {
		/* There may be one that could not be replaced before */
		kdapl_rmr_repair_soon(rmr);
		return KDAPL_NO_RESOURCE(MEMORY_REGION);
	}
	ret = kdapl_bind_hold(b);
	if (ret)
		return ret;
	b->next->lmr = b->lmr;
	if (!kdapl_bind_map(b, b->next->mr))
		return DAT_SUCCESS;
	kdapl_rmr_drop_lmr(b->next);
	return KDAPL_ERROR(INTERNAL_ERROR);
}

/* Notes the request in the RMR. Returns the first work request to post. rmr->lock held */
static struct ib_send_wr *kdapl_bind_prepare(struct kdapl_bind *b, struct kdapl_slot *slot)
{
	struct kdapl_mr *old = b->old, *next = b->next;
	struct ib_send_wr *first = &slot->rdma.wr;
	struct kdapl_rmr *rmr = b->rmr;

	b->old_cur = rmr->cur;
	b->old_param = rmr->param;
	if (old) {
		b->old_state = old->state;
		old->failed = false;
		old->state = KDAPL_MR_INVALIDATING;
		old->gone = false;
		slot->ev.flags |= KDAPL_SLOT_INVALIDATES;
	}
	slot->dto.mr = next ?: old ?: rmr->mrs;
	kdapl_rmr_unbound(rmr);
	if (!next) {
		/* If nothing is bound, an empty request completes in order */
		first->opcode = old ? IB_WR_LOCAL_INV : IB_WR_RDMA_WRITE;
		if (old)
			first->ex.invalidate_rkey = old->mr->rkey;
		/*
		 * An RDMA write sends remote_addr and rkey to the peer, and the previous use
		 * of the slot may have left a pointer there
		 */
		slot->rdma.remote_addr = 0;
		slot->rdma.rkey = 0;
		return first;
	}
	slot->ev.flags |= KDAPL_SLOT_REGISTERS;
	slot->reg.wr.opcode = IB_WR_REG_MR;
	slot->reg.mr = next->mr;
	slot->reg.key = next->mr->rkey;
	slot->reg.access = kdapl_mr_access(b->priv);
	next->state = KDAPL_MR_REGISTERING;
	next->ep = b->ep->obj.handle;
	next->by = slot;
	rmr->cur = next - rmr->mrs;
	rmr->param.lmr_triplet = *b->triplet;
	rmr->param.mem_priv = b->priv;
	rmr->param.rmr_context = next->mr->rkey;
	if (old) {
		old->cqe.done = kdapl_bind_inv_done;
		old->inv.wr_cqe = &old->cqe;
		old->inv.next = first;
		old->inv.opcode = IB_WR_LOCAL_INV;
		/* After reads, whose data may still arrive */
		old->inv.send_flags = IB_SEND_FENCE;
		old->inv.ex.invalidate_rkey = old->mr->rkey;
		first = &old->inv;
	}
	return first;
}

/* Undoes a request that the device refused. rmr->lock held */
static void kdapl_bind_undo(struct kdapl_bind *b, struct kdapl_slot *slot)
{
	struct kdapl_rmr *rmr = b->rmr;

	if (b->old) {
		b->old->state = b->old_state;
		/* Its registration may have completed in the meantime */
		if (b->old_state == KDAPL_MR_REGISTERING && !b->old->by)
			b->old->state = b->old->failed ? KDAPL_MR_UNKNOWN : KDAPL_MR_VALID;
	}
	if (b->next) {
		b->next->by = NULL;
		kdapl_rmr_mark_free(b->next);
	}
	rmr->cur = b->old_cur;
	rmr->param = b->old_param;
	*b->context = b->old_context;
	if (b->old && b->old->gone) {
		kdapl_rmr_unbound(rmr);
		kdapl_rmr_mark_free(b->old);
	}
	if (b->old && b->old->state == KDAPL_MR_UNKNOWN)
		kdapl_rmr_unbound(rmr);
	kdapl_rmr_repair_soon(rmr);
	kdapl_mr_wr_abort(b->ep, slot);
}

/*
 * The device accepted one half of the list, although its queue has room for both. Without the other
 * half, only the drain of the QP shows when the accepted one has completed, so the connection must
 * be broken. Until then the old MR stays busy, and the slot and the RMR are kept. rmr->lock held.
 */
static void kdapl_bind_half_posted(struct kdapl_bind *b, struct kdapl_slot *slot)
{
	b->next->by = NULL;
	kdapl_rmr_mark_free(b->next);
	kdapl_rmr_unbound(b->rmr);
	*b->context = b->old_context;
	b->old->half_posted = true;
	slot->dto.mr = b->old;
	slot->cqe.done = kdapl_bind_half_posted_done;
	kdapl_sq_defer(&b->ep->sq, slot);
	kdapl_ep_schedule(b->ep, KDAPL_TODO_BREAK);
}

/* Step 11. ep->sq.lock held */
static DAT_RETURN kdapl_bind_submit(struct kdapl_bind *b, struct ib_qp *qp,
				    struct kdapl_slot *slot, struct ib_send_wr *first)
{
	struct ib_send_wr *bad = NULL;
	int err;

	err = kdapl_mr_wr_post(b->ep, qp, slot, first, b->flags, &bad);
	if (likely(!err))
		return DAT_SUCCESS;
	spin_lock(&b->rmr->lock);
	/* A single request is refused as a whole, whatever the driver stores in @bad */
	if (bad == first || first == &slot->rdma.wr) {
		kdapl_bind_undo(b, slot);
		kdapl_rmr_put(b->rmr);
	} else {
		kdapl_bind_half_posted(b, slot);
	}
	spin_unlock(&b->rmr->lock);
	return kdapl_mr_wr_error(err);
}

/* Steps 10 and 11. ep->sq.lock held */
static DAT_RETURN kdapl_bind_request(struct kdapl_bind *b)
{
	struct ib_qp *qp = kdapl_rcu_dereference(b->ep->fast.qp);
	struct kdapl_rmr *rmr = b->rmr;
	struct ib_send_wr *first;
	struct kdapl_slot *slot;
	DAT_RETURN ret;

	slot = kdapl_mr_wr_begin(b->ep, DAT_DTO_BIND_MW, b->cookie, b->flags, kdapl_bind_done);
	if (!slot)
		return KDAPL_NO_RESOURCE(MEMORY);
	/* There is an EVD if there is a slot: only an EP without requests may have none */
	if (b->ep->fast.request_evd->streams & DAT_EVD_RMR_BIND_FLAG)
		slot->ev.kind = KDAPL_EV_BIND;
	if (!qp) {
		/* The device was removed: nothing is bound any more */
		slot->cqe.done = kdapl_request_done;
		slot->rmr = kdapl_obj_handle(&rmr->obj);
		*b->context = 0;
		kdapl_flush_in_software(b->ep, slot);
		return DAT_SUCCESS;
	}
	spin_lock(&rmr->lock);
	ret = kdapl_bind_find(b);
	if (ret) {
		kdapl_mr_wr_abort(b->ep, slot);
		spin_unlock(&rmr->lock);
		return ret;
	}
	first = kdapl_bind_prepare(b, slot);
	refcount_inc(&rmr->wrs);
	/* Before it is posted, because the upcall of its completion may use it */
	b->old_context = *b->context;
	*b->context = rmr->param.rmr_context;
	spin_unlock(&rmr->lock);
	return kdapl_bind_submit(b, qp, slot, first);
}

/* Step 1: the handles, into @b. Inside the read section */
static DAT_RETURN kdapl_bind_lookup(struct kdapl_bind *b, DAT_RMR_HANDLE rmr_handle,
				    DAT_EP_HANDLE ep_handle, DAT_LMR_HANDLE lmr_handle)
{
	struct kdapl_obj *obj = kdapl_obj_lookup(rmr_handle, DAT_HANDLE_TYPE_RMR);

	if (!obj)
		return KDAPL_BAD_HANDLE(RMR);
	b->rmr = to_kdapl_rmr(obj);
	obj = kdapl_obj_lookup(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return KDAPL_BAD_HANDLE(EP);
	b->ep = to_kdapl_ep(obj);
	/* An empty range unbinds, whatever its context is */
	if (b->triplet && !b->triplet->segment_length)
		return DAT_SUCCESS;
	obj = kdapl_obj_lookup(lmr_handle, DAT_HANDLE_TYPE_LMR);
	if (!obj)
		return KDAPL_BAD_HANDLE(LMR);
	b->lmr = to_kdapl_lmr(obj);
	return DAT_SUCCESS;
}

/**
 * dat_rmr_bind - bind an RMR to a part of an LMR, or unbind it
 * @rmr_handle:       the RMR
 * @lmr_handle:       the LMR; ignored if the call unbinds
 * @lmr_triplet:      the range, with the context of that LMR; a length of 0 unbinds
 * @mem_privileges:   only the remote privileges matter; the LMR must have the local
 *                    privilege of the same kind
 * @va_type:          DAT_VA_TYPE_VA
 * @ep_handle:        the EP on whose queue the bind is posted, of the same zone
 * @user_cookie:      returned in the completion event
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, BARRIER_FENCE, and UNSIGNALLED if the
 *                    EP has that request completion flag
 * @rmr_context:      receives the key for the peer before the call returns; undefined
 *                    if the call unbinds
 *
 * The new binding is valid, and the old one has ended, when the bind completes. Requests
 * that are posted later on the same EP are executed after it. The event is
 * DAT_RMR_BIND_COMPLETION_EVENT if the request EVD has that stream, otherwise a DTO
 * completion with operation DAT_DTO_BIND_MW. Only the peer of this EP may invalidate the
 * binding by a send. The LMR is in use until the binding ends.
 *
 * The LMR may have been registered by dat_lmr_fmr() or kdat_lmr_fmr_sg(); the bind may be posted
 * as soon as that call has returned. While the binding exists, dat_lmr_invalidate() returns
 * LMR_IN_USE. The peer of the EP on which the memory was registered can still invalidate the LMR's
 * key. That does not end the binding: until the binding ends, the key of the RMR still exposes the
 * memory, and the LMR stays in use.
 *
 * Context: as for dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS - also in DISCONNECTED, where the bind is flushed and nothing is bound
 * * DAT_INVALID_HANDLE - @rmr_handle, @ep_handle or @lmr_handle is not valid
 * * DAT_MODEL_NOT_SUPPORTED - zero-based addresses
 * * DAT_INVALID_PARAMETER - @lmr_triplet or @rmr_context is NULL; the context is not
 *   that of @lmr_handle; the range is not inside the LMR; privileges, @va_type or flags
 *   are not defined
 * * DAT_INVALID_STATE - the EP is neither CONNECTED nor DISCONNECTED
 * * DAT_PROTECTION_VIOLATION - RMR, LMR and EP do not belong to the same zone
 * * DAT_PRIVILEGES_VIOLATION - the LMR lacks the local privilege, or is not registered
 * * DAT_INSUFFICIENT_RESOURCES - the queue is full, or the device has no memory for the request; or
 *   (MEMORY_REGION) the request that ends the binding before the current one has not completed, the
 *   current bind was posted on another EP and has not completed, or an MR that a failed request has
 *   left in an unknown state has not been replaced yet
 * * DAT_INTERNAL_ERROR - the device refused the request for another reason
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context)
{
	struct kdapl_bind b = {
		.priv = mem_privileges,
		.cookie = user_cookie.as_64,
		.flags = completion_flags,
		.context = rmr_context,
	};
	unsigned long irq;
	DAT_RETURN ret;

	if (lmr_triplet) {
		b.copy = data_race(*lmr_triplet); /* the Consumer may be writing it */
		b.triplet = &b.copy;
	}
	kdapl_rcu_read_lock_irqsave(irq);
	ret = kdapl_bind_lookup(&b, rmr_handle, ep_handle, lmr_handle);
	if (!ret)
		ret = kdapl_bind_check(&b, va_type);
	if (!ret) {
		spin_lock(&b.ep->sq.lock);
		ret = kdapl_bind_request(&b);
		spin_unlock(&b.ep->sq.lock);
	}
	if (ret && b.ep)
		trace_kdapl_post_reject(kdapl_obj_id(&b.ep->obj), DAT_DTO_BIND_MW, ret);
	kdapl_rcu_read_unlock_irqrestore(irq);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_rmr_bind);
