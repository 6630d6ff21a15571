// SPDX-License-Identifier: GPL-2.0
/*
 * Posting receives: dat_ep_post_recv, dat_srq_post_recv.
 *
 * Consumers call these functions in the same contexts as those of post.c, whose first comment also
 * describes the order of the checks, the fast path and the slow path. A receive needs no lock: the
 * order of receives that different CPUs post does not matter, and the device protects its own
 * queue. So interrupts may stay on; the read section (kdapl_rcu_read_lock_sched()) only disables
 * preemption, which is what a grace period waits for.
 */
#include <linux/export.h>
#include "event/event.h"
#include "post.h"
#include "segment.h"
#include "base/trace.h"

/* The arguments of a posting call */
struct kdapl_receive {
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	u64 cookie;
	u32 flags;
};

/* A work request with any number of segments, on the stack of the post */
struct kdapl_recv_vector {
	struct ib_recv_wr recv;
	struct ib_sge sge[KDAPL_MAX_IOV];
};

/* Undoes a receive that the verbs layer refused */
static __cold noinline DAT_RETURN kdapl_recv_undo(struct kdapl_slot *slot, int err,
						  enum dat_return_subtype full)
{
	kdapl_pool_put(slot);
	return err == -ENOMEM ? DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, full) :
				KDAPL_ERROR(INTERNAL_ERROR);
}

/* Out of line, so that it costs the fast path no registers. The slot may be free by now */
static __cold noinline void kdapl_trace_recv(const struct kdapl_obj *obj, u32 idx, u32 n, u32 flags)
{
	trace_kdapl_post(kdapl_obj_id(obj), DAT_DTO_RECEIVE, idx, n, 0, flags);
}

/*
 * A failed device may refuse buffers of an SRQ (mlx5). The SRQ still accepts them,
 * as it does after its device was removed: nobody uses them, dat_srq_query() counts them
 * as available, and dat_srq_free() returns them.
 */
static __cold noinline DAT_RETURN kdapl_srq_refused(const struct kdapl_srq *srq,
						    struct kdapl_slot *slot, u32 n, int err)
{
	if (READ_ONCE(srq->state) != DAT_SRQ_STATE_ERROR)
		return kdapl_recv_undo(slot, err, DAT_RESOURCE_SRQ);
	if (trace_kdapl_post_enabled())
		kdapl_trace_recv(&srq->obj, kdapl_slot_idx(slot), n, 0);
	return DAT_SUCCESS;
}

/* Steps 7 and 8 of a receive: checks and translates the segments */
static DAT_RETURN kdapl_check_segments(const struct kdapl_receive *r, u32 need,
				       struct kdapl_recv_vector *v)
{
	u32 privilege = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	struct kdapl_segments segs;
	DAT_RETURN ret;

	segs = kdapl_segments_fill(r->iov, r->n, need, privilege, v->sge);
	if (unlikely(segs.num_sge < 0)) {
		ret = kdapl_segments_reason(r->iov, r->n, need, privilege, &segs.total);
		/* The Consumer changed the vector meanwhile: it was bad when it was translated */
		return ret ?: KDAPL_BAD_ARG(3);
	}
	/* The only limit of the size of a receive is that the sum fits in 32 bits (G-19) */
	if (segs.total > U32_MAX)
		return KDAPL_BAD_ARG(2);
	v->recv = (struct ib_recv_wr){ .sg_list = v->sge, .num_sge = segs.num_sge };
	/* irdma reads the first entry even if num_sge is 0 */
	if (!segs.num_sge)
		v->sge[0] = (struct ib_sge){ };
	return DAT_SUCCESS;
}

/* Fills in the slot of a receive */
static void kdapl_recv_fill_slow(struct kdapl_slot *slot, const struct kdapl_receive *r,
				 bool notify, struct kdapl_recv_vector *v)
{
	v->recv.wr_cqe = &slot->cqe;
	kdapl_slot_start(slot, DAT_DTO_RECEIVE, notify, KDAPL_SLOT_RECV, KDAPL_SLOT_FREE,
			 r->cookie);
	/* Pairs with kdapl_flush_pool(), which may complete a receive that finds no QP */
	smp_store_release(&slot->ev.state, KDAPL_SLOT_POSTED);
}

/* Why an EP accepts no receives: it uses an SRQ, or is not configured */
static __cold noinline DAT_RETURN kdapl_recv_state_error(const struct kdapl_ep *ep)
{
	if (ep->fast.srq_attached)
		return KDAPL_BAD_STATE(SRQ_IN_USE);
	return kdapl_ep_state_error(READ_ONCE(ep->state));
}

/* Steps 1 and 3 to 6. The caller has not checked the type of the handle */
static DAT_RETURN kdapl_check_recv(const struct kdapl_ep *ep, const struct kdapl_receive *r)
{
	if (kdapl_handle_type(ep->obj.handle) != DAT_HANDLE_TYPE_EP)
		return KDAPL_BAD_HANDLE(EP);
	if ((u32)r->n > ep->checks.max_recv_iov)
		return KDAPL_BAD_ARG(2);
	if (r->n && !r->iov)
		return KDAPL_BAD_ARG(3);
	if (r->flags & ep->checks.bad_recv_flags)
		return KDAPL_BAD_ARG(5);
	if (!(READ_ONCE(ep->fast.may_post) & KDAPL_EP_MAY_RECV))
		return kdapl_recv_state_error(ep);
	return DAT_SUCCESS;
}

/* Any receive on an EP, if @ep is one. Inside the read section */
static DAT_RETURN kdapl_recv_any(struct kdapl_ep *ep, const struct kdapl_receive *r)
{
	struct kdapl_recv_vector v __uninitialized;
	struct kdapl_slot *slot;
	struct ib_qp *qp;
	DAT_RETURN ret;
	bool notify;
	u32 idx;
	int err;

	ret = kdapl_check_recv(ep, r) ?: kdapl_check_segments(r, ep->fast.need_write, &v);
	if (ret != DAT_SUCCESS)
		return ret;
	slot = kdapl_pool_get(&ep->rq);
	if (unlikely(!slot))
		return KDAPL_NO_RESOURCE(MEMORY);
	notify = !(r->flags & DAT_COMPLETION_UNSIGNALLED_FLAG) &&
		 !(READ_ONCE(ep->fast.slow_path) & KDAPL_EP_SOLICITED);
	kdapl_recv_fill_slow(slot, r, notify, &v);
	qp = kdapl_rcu_dereference(ep->fast.qp);
	if (unlikely(!qp)) {
		kdapl_flush_in_software(ep, slot);
		return DAT_SUCCESS;
	}
	idx = kdapl_slot_idx(slot);
	err = ib_post_recv(qp, &v.recv, NULL);
	if (unlikely(err))
		return kdapl_recv_undo(slot, err, DAT_RESOURCE_TEP);
	if (trace_kdapl_post_enabled())
		kdapl_trace_recv(&ep->obj, idx, r->n, r->flags);
	/* A CQ in solicited-wait mode does not announce flushed receives (G-33) */
	if (unlikely(READ_ONCE(ep->state) == DAT_EP_STATE_DISCONNECTED))
		kdapl_ep_flush_soon(ep);
	return DAT_SUCCESS;
}

/* A free slot, from the first pool of the SRQ or from one that a resize added */
static struct kdapl_slot *kdapl_srq_slot(struct kdapl_srq *srq)
{
	struct kdapl_slot *slot = kdapl_pool_get(&srq->pool);
	struct kdapl_srq_more *more;

	/* Pairs with the release that publishes it */
	for (more = smp_load_acquire(&srq->more); !slot && more; more = more->next)
		slot = kdapl_pool_get(&more->pool);
	return slot;
}

/* Any receive on an SRQ, if @srq is one. Inside the read section */
static DAT_RETURN kdapl_srq_recv_any(struct kdapl_srq *srq, const struct kdapl_receive *r)
{
	struct kdapl_recv_vector v __uninitialized;
	struct kdapl_slot *slot;
	struct ib_srq *ibsrq;
	DAT_RETURN ret;
	u32 idx;
	int err;

	if (kdapl_handle_type(srq->obj.handle) != DAT_HANDLE_TYPE_SRQ)
		return KDAPL_BAD_HANDLE(SRQ);
	if ((u32)r->n > srq->max_iov)
		return KDAPL_BAD_ARG(2);
	if (r->n && !r->iov)
		return KDAPL_BAD_ARG(3);
	ret = kdapl_check_segments(r, srq->need_write, &v);
	if (ret != DAT_SUCCESS)
		return ret;
	slot = kdapl_srq_slot(srq);
	if (unlikely(!slot))
		return KDAPL_NO_RESOURCE(MEMORY);
	kdapl_recv_fill_slow(slot, r, true, &v);
	ibsrq = kdapl_rcu_dereference(srq->srq);
	if (unlikely(!ibsrq))
		/* The device is gone: no EP uses the buffer, dat_srq_free() returns it */
		return DAT_SUCCESS;
	idx = kdapl_slot_idx(slot);
	err = ib_post_srq_recv(ibsrq, &v.recv, NULL);
	if (unlikely(err))
		return kdapl_srq_refused(srq, slot, r->n, err);
	if (trace_kdapl_post_enabled())
		kdapl_trace_recv(&srq->obj, idx, r->n, 0);
	return DAT_SUCCESS;
}

/* Any receive on an EP. Out of line, because it needs a stack frame */
static noinline DAT_RETURN kdapl_recv_slow(struct kdapl_ep *ep, DAT_COUNT n,
					   const DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags)
{
	const struct kdapl_receive r = { .n = n, .iov = iov, .cookie = cookie, .flags = flags };
	DAT_RETURN ret = kdapl_recv_any(ep, &r);

	if (ret != DAT_SUCCESS)
		trace_kdapl_post_reject(kdapl_obj_id(&ep->obj), DAT_DTO_RECEIVE, ret);
	return ret;
}

/* The same on an SRQ */
static noinline DAT_RETURN kdapl_srq_recv_slow(struct kdapl_srq *srq, DAT_COUNT n,
					       const DAT_LMR_TRIPLET *iov, u64 cookie)
{
	const struct kdapl_receive r = { .n = n, .iov = iov, .cookie = cookie };
	DAT_RETURN ret = kdapl_srq_recv_any(srq, &r);

	if (ret != DAT_SUCCESS)
		trace_kdapl_post_reject(kdapl_obj_id(&srq->obj), DAT_DTO_RECEIVE, ret);
	return ret;
}

/* Out of line, so that it costs the fast path no registers */
static __cold noinline DAT_RETURN kdapl_recv_refused_fast(const struct kdapl_ep *ep,
							  struct kdapl_slot *slot, int err)
{
	DAT_RETURN ret = kdapl_recv_undo(slot, err, DAT_RESOURCE_TEP);

	trace_kdapl_post_reject(kdapl_obj_id(&ep->obj), DAT_DTO_RECEIVE, ret);
	return ret;
}

static __cold noinline DAT_RETURN kdapl_srq_refused_fast(const struct kdapl_srq *srq,
							 struct kdapl_slot *slot, u32 n, int err)
{
	DAT_RETURN ret = kdapl_srq_refused(srq, slot, n, err);

	if (ret != DAT_SUCCESS)
		trace_kdapl_post_reject(kdapl_obj_id(&srq->obj), DAT_DTO_RECEIVE, ret);
	return ret;
}

/* Fills in the slot, except the work request */
static __always_inline void kdapl_recv_fill_fast(struct kdapl_slot *slot, u64 cookie)
{
	kdapl_slot_start(slot, DAT_DTO_RECEIVE, true, KDAPL_SLOT_RECV, KDAPL_SLOT_POSTED, cookie);
}

/*
 * Takes a slot for one segment and fills it in; false if the receive needs another path. The
 * segment is checked first, and stays in registers until there is a slot.
 */
static __always_inline bool kdapl_recv_one(struct kdapl_pool *pool, u32 need,
					   const DAT_LMR_TRIPLET *iov, u64 cookie,
					   struct kdapl_slot **out)
{
	struct kdapl_slot *slot;
	struct ib_sge sge;

	if (unlikely(!iov))
		return false;
	if (unlikely(!kdapl_segment_fill(iov, need, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &sge)))
		return false;
	if (unlikely(!kdapl_pool_take(pool, &slot)))
		return false;
	kdapl_sge_store(&slot->recv_sge, &sge);
	kdapl_recv_fill_fast(slot, cookie);
	slot->recv.num_sge = 1;
	*out = slot;
	return true;
}

/* The same for a vector, whose work request is on the stack. The caller has compared @n */
static __always_inline bool kdapl_recv_vector(struct kdapl_pool *pool, u32 need, u32 n,
					      const DAT_LMR_TRIPLET *iov, u64 cookie,
					      struct kdapl_recv_vector *v, struct kdapl_slot **out)
{
	struct kdapl_slot *slot;
	u64 length;

	/* 0 takes the slow path */
	if (unlikely(!n || !iov))
		return false;
	length = kdapl_segments_fast(iov, n, need, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, v->sge);
	/* The only limit is that the sum fits in 32 bits (G-19) */
	if (unlikely(!length || length > U32_MAX))
		return false;
	if (unlikely(!kdapl_pool_take(pool, &slot)))
		return false;
	kdapl_recv_fill_fast(slot, cookie);
	v->recv.next = NULL;
	v->recv.wr_cqe = &slot->cqe;
	v->recv.sg_list = v->sge;
	v->recv.num_sge = n;
	*out = slot;
	return true;
}

/*
 * Returns true if a receive may take a fast path of this type of object. Also checks the type of
 * the handle. The slow path calls the tracepoint, so the fast path keeps nothing for it.
 */
static __always_inline bool kdapl_recv_is_fast(const struct kdapl_obj *obj, u8 fast)
{
	return !trace_kdapl_post_enabled() && likely(READ_ONCE(obj->fast_ops) & fast);
}

static __always_inline DAT_RETURN kdapl_recv_submit(struct kdapl_ep *ep, struct ib_qp *qp,
						    struct kdapl_slot *slot,
						    const struct ib_recv_wr *wr)
{
	int err = qp->device->ops.post_recv(qp, wr, &ep->bad_recv);

	if (unlikely(err))
		return kdapl_recv_refused_fast(ep, slot, err);
	return DAT_SUCCESS;
}

static __always_inline DAT_RETURN kdapl_srq_submit(struct kdapl_srq *srq, struct ib_srq *ibsrq,
						   struct kdapl_slot *slot,
						   const struct ib_recv_wr *wr)
{
	int err = ibsrq->device->ops.post_srq_recv(ibsrq, wr, &srq->bad_recv);

	if (unlikely(err))
		return kdapl_srq_refused_fast(srq, slot, wr->num_sge, err);
	return DAT_SUCCESS;
}

/* A vector on an EP, or any receive. Out of line: its calls would cost one segment registers */
static noinline DAT_RETURN kdapl_recv_rest(struct kdapl_ep *ep, DAT_COUNT n,
					   const DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags)
{
	struct kdapl_recv_vector v __uninitialized;
	struct kdapl_slot *slot;
	struct ib_qp *qp;

	if (!flags && kdapl_recv_is_fast(&ep->obj, BIT(DAT_DTO_RECEIVE)) &&
	    (u32)n <= ep->checks.max_recv_iov) {
		qp = kdapl_rcu_dereference(ep->fast.qp);
		if (likely(qp && kdapl_recv_vector(&ep->rq, ep->fast.need_write, n, iov, cookie, &v,
						   &slot)))
			return kdapl_recv_submit(ep, qp, slot, &v.recv);
	}
	return kdapl_recv_slow(ep, n, iov, cookie, flags);
}

/* The same for an SRQ */
static noinline DAT_RETURN kdapl_srq_recv_rest(struct kdapl_srq *srq, DAT_COUNT n,
					       const DAT_LMR_TRIPLET *iov, u64 cookie)
{
	struct kdapl_recv_vector v __uninitialized;
	struct kdapl_slot *slot;
	struct ib_srq *ibsrq;

	if (kdapl_recv_is_fast(&srq->obj, KDAPL_FAST_SRQ) && (u32)n <= srq->max_iov) {
		ibsrq = kdapl_rcu_dereference(srq->srq);
		if (likely(ibsrq && kdapl_recv_vector(&srq->pool, srq->need_write, n, iov, cookie,
						      &v, &slot)))
			return kdapl_srq_submit(srq, ibsrq, slot, &v.recv);
	}
	return kdapl_srq_recv_slow(srq, n, iov, cookie);
}

static __always_inline DAT_RETURN kdapl_post_recv(struct kdapl_ep *ep, DAT_COUNT n,
						  const DAT_LMR_TRIPLET *iov, u64 cookie,
						  u32 flags)
{
	struct kdapl_slot *slot;
	struct ib_qp *qp;

	if (unlikely(((u32)n - 1) | flags))
		return kdapl_recv_rest(ep, n, iov, cookie, flags);
	if (unlikely(!kdapl_recv_is_fast(&ep->obj, BIT(DAT_DTO_RECEIVE))))
		return kdapl_recv_slow(ep, 1, iov, cookie, 0);
	qp = kdapl_rcu_dereference(ep->fast.qp);
	if (unlikely(!qp))
		return kdapl_recv_slow(ep, 1, iov, cookie, 0);
	if (unlikely(!kdapl_recv_one(&ep->rq, ep->fast.need_write, iov, cookie, &slot)))
		return kdapl_recv_slow(ep, 1, iov, cookie, 0);
	return kdapl_recv_submit(ep, qp, slot, &slot->recv);
}

static __always_inline DAT_RETURN kdapl_post_srq_recv(struct kdapl_srq *srq, DAT_COUNT n,
						      const DAT_LMR_TRIPLET *iov, u64 cookie)
{
	struct kdapl_slot *slot;
	struct ib_srq *ibsrq;

	if (unlikely(n != 1))
		return kdapl_srq_recv_rest(srq, n, iov, cookie);
	if (unlikely(!kdapl_recv_is_fast(&srq->obj, KDAPL_FAST_SRQ)))
		return kdapl_srq_recv_slow(srq, 1, iov, cookie);
	ibsrq = kdapl_rcu_dereference(srq->srq);
	if (unlikely(!ibsrq))
		return kdapl_srq_recv_slow(srq, 1, iov, cookie);
	if (unlikely(!kdapl_recv_one(&srq->pool, srq->need_write, iov, cookie, &slot)))
		return kdapl_srq_recv_slow(srq, 1, iov, cookie);
	return kdapl_srq_submit(srq, ibsrq, slot, &slot->recv);
}

/**
 * dat_ep_post_recv - provide memory for one message of the peer
 * @ep_handle:        the EP
 * @num_segments:     number of triplets in @local_iov; 0 receives an empty message
 * @local_iov:        local memory, filled in vector order
 * @user_cookie:      returned in the completion event
 * @completion_flags: DAT_COMPLETION_UNSIGNALLED_FLAG if the EP was created with that
 *                    receive completion flag, otherwise none
 *
 * Legal in every state of a configured EP. A receive that is posted before the connection waits for
 * it; one that is posted in DISCONNECTED is flushed.
 *
 * Context: as for dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP
 * * DAT_INVALID_PARAMETER - @num_segments is negative or greater than max_recv_iov;
 *   @local_iov is NULL; a flag is not legal here; a segment is not inside its LMR
 * * DAT_INVALID_STATE - the EP uses an SRQ, or is not configured
 * * DAT_PRIVILEGES_VIOLATION - an LMR context is unknown, or the LMR lacks the local
 *   write privilege
 * * DAT_PROTECTION_VIOLATION - an LMR belongs to another protection zone
 * * DAT_INSUFFICIENT_RESOURCES - max_recv_dtos receives are outstanding
 * * DAT_INTERNAL_ERROR - the device refused the receive
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct kdapl_obj *obj;
	DAT_RETURN ret;

	kdapl_rcu_read_lock_sched();
	if (unlikely(!kdapl_obj_lookup_any(ep_handle, &obj))) {
		kdapl_rcu_read_unlock_sched();
		return KDAPL_BAD_HANDLE(EP);
	}
	ret = kdapl_post_recv(to_kdapl_ep(obj), num_segments, local_iov, user_cookie.as_64,
			      completion_flags);
	kdapl_rcu_read_unlock_sched();
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_post_recv);

/**
 * dat_srq_post_recv - provide memory for one message to any EP of an SRQ
 * @srq_handle:   the SRQ
 * @num_segments: number of triplets in @local_iov; 0 receives an empty message
 * @local_iov:    local memory that belongs to the SRQ's protection zone
 * @user_cookie:  returned in the completion event, on the receive EVD of the EP that
 *                used the buffer
 *
 * Legal in every state of the SRQ and of its EPs.
 *
 * Context: as for dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @srq_handle is not the handle of an SRQ
 * * DAT_INVALID_PARAMETER - @num_segments is negative or greater than max_recv_iov;
 *   @local_iov is NULL; a segment is not inside its LMR
 * * DAT_PRIVILEGES_VIOLATION - an LMR context is unknown, or the LMR lacks the local
 *   write privilege
 * * DAT_PROTECTION_VIOLATION - an LMR belongs to another protection zone
 * * DAT_INSUFFICIENT_RESOURCES - max_recv_dtos receives are outstanding
 * * DAT_INTERNAL_ERROR - the device refused the receive, and has not reported that the
 *   SRQ failed
 */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	struct kdapl_obj *obj;
	DAT_RETURN ret;

	kdapl_rcu_read_lock_sched();
	if (unlikely(!kdapl_obj_lookup_any(srq_handle, &obj))) {
		kdapl_rcu_read_unlock_sched();
		return KDAPL_BAD_HANDLE(SRQ);
	}
	ret = kdapl_post_srq_recv(to_kdapl_srq(obj), num_segments, local_iov,
				  user_cookie.as_64);
	kdapl_rcu_read_unlock_sched();
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_post_recv);
