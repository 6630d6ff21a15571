// SPDX-License-Identifier: GPL-2.0
/*
 * Posting requests: dat_ep_post_send, _send_with_invalidate, _rdma_write and
 * _rdma_read. Receives are in post_recv.c, the checks of segments in segment.h.
 *
 * Consumers call these functions in process context, softirq and timers, with
 * spinlocks held or interrupts off (not on RT), and inside upcalls, including those
 * of the EVD that the request feeds. Nothing here sleeps, allocates or logs: all
 * that a post needs was created together with its EP. A successful post owns a slot
 * until its event has been delivered (complete.c, evd_queue.c).
 *
 * All calls make their checks in the same order, and the first check that fails
 * determines the return value: handle; counts and pointers; flags; state; segments
 * in vector order (context, zone, privilege, range); total length; local against
 * remote length; a free slot; the verbs layer.
 *
 * Each call has an inlined fast path for the common request (at least one byte, no
 * flags except SUPPRESS). It makes the checks in the cheapest order. If any check
 * fails, it undoes its work and falls back to the slow path, which repeats the
 * checks in the documented order and returns the reason. Only the slow path decides
 * why a request is refused; the fast path itself refuses nothing.
 *
 * The read section (kdapl_read_lock()) lasts from the lookup of the handle to the
 * verbs call. No reference is counted, because teardown removes an object from the
 * handle table and then waits for a grace period. A request holds the lock of the
 * request queue from the choice of its slot to the verbs call: the completion of a
 * signalled request also completes the unsignalled requests queued before it, so
 * both must be queued in the same order.
 *
 * The slot is taken before the segments are checked, so that they are written to
 * their final place at once; it is returned if a segment is bad. If no slot is left,
 * the checks run without one, so that the return value does not depend on it.
 */
#include <linux/export.h>
#include "internal.h"
#include "segment.h"
#include "base/trace.h"

/* Not a DAT_RETURN: the request needs the slow path */
#define KDAPL_NOT_FAST	((DAT_RETURN)~0U)

/**
 * struct kdapl_request - the arguments of a posting call
 * @op:     DAT_DTO_SEND, _RDMA_WRITE, _RDMA_READ
 * @n:      number of segments in @iov
 * @iov:    local memory
 * @remote: remote memory of an RDMA operation
 * @cookie: the Consumer's cookie
 * @flags:  completion flags
 * @inv:    send: whether it invalidates @key at the peer; not checked yet
 * @key:    remote key to invalidate
 */
struct kdapl_request {
	DAT_DTOS op;
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	const DAT_RMR_TRIPLET *remote;
	u64 cookie;
	u32 flags;
	DAT_BOOLEAN inv;
	DAT_RMR_CONTEXT key;
};

static __always_inline enum ib_wr_opcode kdapl_opcode(DAT_DTOS op)
{
	if (op == DAT_DTO_SEND)
		return IB_WR_SEND;
	return op == DAT_DTO_RDMA_WRITE ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ;
}

static __always_inline u32 kdapl_local_privilege(DAT_DTOS op)
{
	return op == DAT_DTO_RDMA_READ ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG :
					 DAT_MEM_PRIV_LOCAL_READ_FLAG;
}

/* Undoes a request that the verbs layer has refused. sq->lock held */
static __cold noinline DAT_RETURN kdapl_sq_undo(struct kdapl_sq *sq, struct kdapl_slot *slot,
						u32 run_len, int err)
{
	sq->run_tail = slot->run_end;
	sq->run_len = run_len;
	kdapl_pool_put(&sq->pool, slot);
	return err == -ENOMEM ? KDAPL_NO_RESOURCE(TEP) : KDAPL_ERROR(INTERNAL_ERROR);
}

/*
 * Like ib_post_send(), which however passes the address of a local variable for the
 * refused request; that costs a stack frame with a stack protector.
 */
static __always_inline int kdapl_verbs_send(struct ib_qp *qp, const struct ib_send_wr *wr,
					    struct kdapl_sq *sq)
{
	return qp->device->ops.post_send(qp, wr, &sq->bad);
}

/* ---- slow path --------------------------------------------------------- */

static u32 kdapl_request_limit(const struct kdapl_ep *ep, DAT_DTOS op)
{
	if (op == DAT_DTO_SEND)
		return ep->max_send_iov;
	return op == DAT_DTO_RDMA_WRITE ? ep->max_write_iov : ep->max_read_iov;
}

/* Steps 3 to 6 of a request */
static DAT_RETURN kdapl_check_request(const struct kdapl_ep *ep, const struct kdapl_request *r)
{
	bool rdma = r->op != DAT_DTO_SEND;

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
	u32 need = r->op == DAT_DTO_RDMA_READ ? ep->need_write : ep->need_read;
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

/*
 * Decides whether a request raises a completion on success. If it does not, the
 * request is added to the run of unsignalled requests. The request that makes a run
 * run_max long is signalled anyway, and so is one that takes the last free
 * slot: otherwise a Consumer that suppresses all completions would fill its queue,
 * and no completion would ever release it (G-34). sq->lock held.
 */
static __always_inline u32 kdapl_sq_signal(struct kdapl_sq *sq, struct kdapl_slot *slot, u32 flags)
{
	slot->run_end = sq->run_tail;
	if ((flags & DAT_COMPLETION_SUPPRESS_FLAG) && sq->run_len + 1 < sq->run_max &&
	    !kdapl_pool_empty(&sq->pool)) {
		sq->run[sq->run_tail & sq->run_mask] = (u32)slot->word;
		sq->run_tail++;
		sq->run_len++;
		return 0;
	}
	slot->flags |= KDAPL_SLOT_SIGNALLED;
	sq->run_len = 0;
	return IB_SEND_SIGNALED;
}

/* Fills in all of a slot that differs between posts, except the work request */
static void kdapl_request_fill_slot(const struct kdapl_request *r, struct kdapl_slot *slot,
				    const struct kdapl_segments *segs)
{
	slot->cookie = r->cookie;
	slot->flags = r->flags;
	slot->ev.kind = KDAPL_EV_DTO;
	slot->ev.op = r->op;
	slot->ev.status = DAT_DTO_SUCCESS;
	slot->ev.notify = !(r->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
	slot->ev.length = segs->total;
	WRITE_ONCE(slot->state, KDAPL_SLOT_POSTED);
}

static void kdapl_request_fill_wr(const struct kdapl_request *r, struct kdapl_slot *slot,
				  const struct kdapl_segments *segs, u32 send_flags)
{
	struct ib_rdma_wr *rdma = &slot->rdma;

	rdma->wr.num_sge = segs->num_sge;
	if (!segs->num_sge)
		kdapl_slot_no_sge(slot);
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
	u32 run_len = ep->sq.run_len;
	u32 idx = 0;
	int err;

	kdapl_request_fill_slot(r, slot, segs);
	if (unlikely(!qp)) {
		slot->flags |= KDAPL_SLOT_SIGNALLED;
		kdapl_flush_in_software(ep, slot);
		return DAT_SUCCESS;
	}
	kdapl_request_fill_wr(r, slot, segs, kdapl_sq_signal(&ep->sq, slot, r->flags));
	if (trace_kdapl_post_enabled())
		idx = kdapl_slot_idx(slot);
	err = kdapl_verbs_send(qp, &slot->rdma.wr, &ep->sq);
	if (unlikely(err))
		return kdapl_sq_undo(&ep->sq, slot, run_len, err);
	/* The request may have completed already, so the slot must not be used any more */
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
	if (unlikely(ret != DAT_SUCCESS))
		goto out_put;
	if (r->op == DAT_DTO_RDMA_READ && unlikely(!ep->max_reads_out)) {
		ret = KDAPL_NO_RESOURCE(CREDITS);
		goto out_put;
	}
	if (unlikely(!slot))
		return KDAPL_NO_RESOURCE(MEMORY);
	return kdapl_submit(ep, r, slot, &segs);

out_put:
	if (slot)
		kdapl_pool_put(&ep->sq.pool, slot);
	return ret;
}

/* Any request, from step 3 on. Inside the read section */
static DAT_RETURN kdapl_post_any(struct kdapl_ep *ep, const struct kdapl_request *r)
{
	DAT_RETURN ret = kdapl_check_request(ep, r);

	if (likely(ret == DAT_SUCCESS)) {
		spin_lock(&ep->sq.lock);
		ret = kdapl_queue_request(ep, r);
		spin_unlock(&ep->sq.lock);
	}
	if (unlikely(ret != DAT_SUCCESS))
		trace_kdapl_post_reject(kdapl_obj_id(&ep->obj), r->op, ret);
	return ret;
}

/* ---- fast path --------------------------------------------------------- */

/*
 * Out of line, so that it costs the fast path no registers. Uses the address of the
 * slot, not its content: the request may have completed.
 */
static __cold noinline void kdapl_trace_fast(const struct kdapl_ep *ep, DAT_DTOS op,
					     const struct kdapl_slot *slot, u32 n, u32 length,
					     u32 flags)
{
	const struct kdapl_pool *pool = &ep->sq.pool;

	trace_kdapl_post(kdapl_obj_id(&ep->obj), op,
			 ((const void *)slot - pool->base) / pool->stride, n, length, flags);
}

/* Fills in everything except the segments. Adjacent constants become one store */
static __always_inline void kdapl_fill_fast(struct kdapl_sq *sq, struct kdapl_slot *slot,
					    DAT_DTOS op, u32 length, u64 cookie, u32 flags)
{
	u32 send_flags = IB_SEND_SIGNALED;

	slot->cookie = cookie;
	slot->ev.kind = KDAPL_EV_DTO;
	slot->ev.notify = true;
	slot->ev.status = DAT_DTO_SUCCESS;
	slot->ev.op = op;
	slot->ev.length = length;
	slot->flags = KDAPL_SLOT_SIGNALLED;
	slot->state = KDAPL_SLOT_POSTED;
	slot->unused = 0;
	slot->rdma.wr.opcode = kdapl_opcode(op);
	if (unlikely(flags)) {
		slot->flags = flags;
		send_flags = kdapl_sq_signal(sq, slot, flags);
	} else {
		slot->run_end = sq->run_tail;
		sq->run_len = 0;
	}
	slot->rdma.wr.send_flags = send_flags;
}

/* No flag except SUPPRESS. sq->lock held; @op is a constant in each caller */
static __always_inline DAT_RETURN kdapl_queue_fast(struct kdapl_ep *ep, DAT_DTOS op, u32 n,
						   const DAT_LMR_TRIPLET *iov,
						   const DAT_RMR_TRIPLET *remote, u64 cookie,
						   u32 flags)
{
	u32 need = op == DAT_DTO_RDMA_READ ? ep->need_write : ep->need_read;
	struct kdapl_sq *sq = &ep->sq;
	u32 run_len = sq->run_len;
	struct kdapl_slot *slot;
	u64 length;
	struct ib_qp *qp;
	int err;

	if (unlikely(!kdapl_pool_take(&sq->pool, &slot)))
		return KDAPL_NOT_FAST;
	if (likely(n == 1)) {
		slot->rdma.wr.num_sge = 1;
		length = kdapl_segment_fill(iov, need, kdapl_local_privilege(op), slot->sge);
	} else {
		slot->rdma.wr.num_sge = n;
		length = kdapl_segments_fast(iov, n, need, kdapl_local_privilege(op),
					     slot->sge);
	}
	qp = kdapl_dereference(ep->qp);
	if (unlikely(!length))
		goto slow_path;
	if (unlikely(length > (op == DAT_DTO_SEND ? ep->max_message : ep->max_rdma)))
		goto slow_path;
	if (unlikely(!qp))
		goto slow_path;
	if (op != DAT_DTO_SEND) {
		u32 remote_length = READ_ONCE(remote->segment_length);

		if (op == DAT_DTO_RDMA_WRITE && unlikely(length > remote_length))
			goto slow_path;
		if (op == DAT_DTO_RDMA_READ && unlikely(length != remote_length ||
							!ep->max_reads_out))
			goto slow_path;
		slot->rdma.remote_addr = READ_ONCE(remote->virtual_address);
		slot->rdma.rkey = READ_ONCE(remote->rmr_context);
	}
	kdapl_fill_fast(sq, slot, op, length, cookie, flags);
	err = kdapl_verbs_send(qp, &slot->rdma.wr, sq);
	if (unlikely(err))
		return kdapl_sq_undo(sq, slot, run_len, err);
	if (trace_kdapl_post_enabled())
		kdapl_trace_fast(ep, op, slot, n, length, flags);
	return DAT_SUCCESS;

slow_path:
	kdapl_pool_put(&sq->pool, slot);
	return KDAPL_NOT_FAST;
}

/* May the request take the fast path? The other conditions are checked there */
static __always_inline bool kdapl_is_fast(const struct kdapl_ep *ep, DAT_DTOS op, DAT_COUNT n,
					  const DAT_LMR_TRIPLET *iov,
					  const DAT_RMR_TRIPLET *remote, u32 flags)
{
	if (unlikely(!(READ_ONCE(ep->fast_ops) & BIT(op))))
		return false;
	if (unlikely(flags & ~DAT_COMPLETION_SUPPRESS_FLAG))
		return false;
	if (unlikely(!iov))
		return false;
	if (op != DAT_DTO_SEND && unlikely(!remote))
		return false;
	/* 0 takes the slow path; a negative count is a very large number here */
	return likely(n == 1) || (n && (u32)n <= kdapl_request_limit(ep, op));
}

/* Out of line: the slow path of a request without a key. Inside the read section */
static noinline DAT_RETURN kdapl_post_other(struct kdapl_ep *ep, DAT_DTOS op, DAT_COUNT n,
					    const DAT_LMR_TRIPLET *iov,
					    const DAT_RMR_TRIPLET *remote, u64 cookie, u32 flags)
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

/* A complete posting call; @op is a constant in each caller */
static __always_inline DAT_RETURN kdapl_post_request(DAT_EP_HANDLE ep_handle, DAT_DTOS op,
						     DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
						     const DAT_RMR_TRIPLET *remote,
						     DAT_DTO_COOKIE cookie, u32 flags)
{
	DAT_RETURN ret = KDAPL_NOT_FAST;
	struct kdapl_obj *obj;
	unsigned long irq;
	struct kdapl_ep *ep;

	kdapl_read_lock(irq);
	if (unlikely(!kdapl_obj_find(ep_handle, DAT_HANDLE_TYPE_EP, &obj))) {
		kdapl_read_unlock(irq);
		return KDAPL_BAD_HANDLE(EP);
	}
	ep = to_kdapl_ep(obj);
	if (likely(kdapl_is_fast(ep, op, n, iov, remote, flags))) {
		spin_lock(&ep->sq.lock);
		ret = kdapl_queue_fast(ep, op, n, iov, remote, cookie.as_64, flags);
		spin_unlock(&ep->sq.lock);
	}
	if (unlikely(ret)) {
		if (ret == KDAPL_NOT_FAST)
			ret = kdapl_post_other(ep, op, n, iov, remote, cookie.as_64, flags);
		else
			trace_kdapl_post_reject(kdapl_obj_id(&ep->obj), op, ret);
	}
	kdapl_read_unlock(irq);
	return ret;
}

/**
 * dat_ep_post_send - transfer the data of a vector to the peer, as one message
 * @ep_handle:        the EP
 * @num_segments:     number of triplets in @local_iov; 0 sends an empty message
 * @local_iov:        local memory, sent in vector order; may be NULL if
 *                    @num_segments is 0. The Consumer may reuse the array when the
 *                    call returns, and the memory after the completion
 * @user_cookie:      returned in the completion event
 * @completion_flags: any of DAT_COMPLETION_SUPPRESS_FLAG, SOLICITED_WAIT,
 *                    BARRIER_FENCE, and UNSIGNALLED if the EP was created with that
 *                    request completion flag
 *
 * If the EP is DISCONNECTED, the send is accepted and flushed: its event follows
 * those of all earlier requests. Source: manual page dat_ep_post_send(3DAT).
 *
 * Context: any except hard interrupt; with interrupts off, but not on RT. Never
 * sleeps, allocates or logs. Legal inside upcalls.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP
 * * DAT_INVALID_PARAMETER - @num_segments is negative or greater than the EP's
 *   max_request_iov; @local_iov is NULL; a flag is not legal here; a segment is
 *   not inside its LMR; the message is longer than max_message_size
 * * DAT_INVALID_STATE - the EP is neither CONNECTED nor DISCONNECTED
 * * DAT_PRIVILEGES_VIOLATION - an LMR context is unknown, or the LMR lacks the local
 *   read privilege
 * * DAT_PROTECTION_VIOLATION - an LMR belongs to another protection zone
 * * DAT_INSUFFICIENT_RESOURCES - max_request_dtos requests are outstanding
 * * DAT_INTERNAL_ERROR - the device refused the request
 */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	return kdapl_post_request(ep_handle, DAT_DTO_SEND, num_segments, local_iov, NULL,
				  user_cookie, completion_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_send);

/**
 * dat_ep_post_send_with_invalidate - send a message and invalidate a key of the peer
 * @ep_handle:        as for dat_ep_post_send()
 * @num_segments:     as for dat_ep_post_send()
 * @local_iov:        as for dat_ep_post_send()
 * @user_cookie:      as for dat_ep_post_send()
 * @completion_flags: as for dat_ep_post_send()
 * @invalidate_flag:  DAT_FALSE: the call is like dat_ep_post_send(), and
 *                    @rmr_context is ignored
 * @rmr_context:      key that the peer has bound or registered through its end of
 *                    this connection
 *
 * The peer's receive event has the operation DAT_DTO_RECEIVE_WITH_INVALIDATE and the
 * key, which is invalid by then. If the peer has no such key, or has it through
 * another connection, the connection breaks at the peer's end. The sender's event
 * has the operation DAT_DTO_SEND. Source: kDAPL 2.0; there is no manual page.
 *
 * Context: as for dat_ep_post_send().
 * Return: as for dat_ep_post_send(); DAT_INVALID_PARAMETER also if @invalidate_flag is
 * neither DAT_TRUE nor DAT_FALSE.
 */
DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context)
{
	struct kdapl_request r = {
		.op = DAT_DTO_SEND,
		.n = num_segments,
		.iov = local_iov,
		.cookie = user_cookie.as_64,
		.flags = completion_flags,
		.inv = invalidate_flag,
		.key = rmr_context,
	};
	struct kdapl_obj *obj;
	unsigned long irq;
	DAT_RETURN ret;

	kdapl_read_lock(irq);
	if (likely(kdapl_obj_find(ep_handle, DAT_HANDLE_TYPE_EP, &obj)))
		ret = kdapl_post_any(to_kdapl_ep(obj), &r);
	else
		ret = KDAPL_BAD_HANDLE(EP);
	kdapl_read_unlock(irq);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_post_send_with_invalidate);

/**
 * dat_ep_post_rdma_write - write the data of a vector to memory of the peer
 * @ep_handle:        the EP
 * @num_segments:     number of triplets in @local_iov; 0 writes nothing
 * @local_iov:        local memory, see dat_ep_post_send()
 * @user_cookie:      returned in the completion event
 * @remote_buffer:    remote memory, copied by the call; may be longer than the data
 * @completion_flags: as for dat_ep_post_send(), without SOLICITED_WAIT
 *
 * Only the peer's device knows what the remote key permits. If the key does not
 * permit the write, the completion status is DAT_DTO_ERR_REMOTE_ACCESS and the
 * connection breaks. Source: manual page dat_ep_post_rdma_write(3DAT).
 *
 * Context: as for dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP
 * * DAT_INVALID_PARAMETER - @num_segments is negative or greater than
 *   max_rdma_write_iov; @local_iov or @remote_buffer is NULL; a flag is not legal
 *   here; a segment is not inside its LMR; the data is longer than max_rdma_size
 * * DAT_INVALID_STATE - the EP is neither CONNECTED nor DISCONNECTED
 * * DAT_PRIVILEGES_VIOLATION - a local LMR context is unknown, or the LMR lacks the
 *   local read privilege
 * * DAT_PROTECTION_VIOLATION - a local LMR belongs to another protection zone
 * * DAT_LENGTH_ERROR - the data is longer than @remote_buffer
 * * DAT_INSUFFICIENT_RESOURCES - max_request_dtos requests are outstanding
 * * DAT_INTERNAL_ERROR - the device refused the request
 */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	return kdapl_post_request(ep_handle, DAT_DTO_RDMA_WRITE, num_segments, local_iov,
				  remote_buffer, user_cookie, completion_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_write);

/**
 * dat_ep_post_rdma_read - read memory of the peer into a local vector
 * @ep_handle:        the EP
 * @num_segments:     number of triplets in @local_iov; 0 only if the remote length
 *                    is 0
 * @local_iov:        local memory, filled in vector order; may be longer than the
 *                    remote length, and the rest is not written
 * @user_cookie:      returned in the completion event
 * @remote_buffer:    remote memory, all of which is read; copied by the call
 * @completion_flags: as for dat_ep_post_rdma_write()
 *
 * Source: manual page dat_ep_post_rdma_read(3DAT).
 *
 * Context: as for dat_ep_post_send().
 * Return: as for dat_ep_post_rdma_write(), but the limit is max_rdma_read_iov and the
 * privilege is local write;
 * * DAT_LENGTH_ERROR - @local_iov is shorter than the remote length
 * * DAT_INSUFFICIENT_RESOURCES - also if the EP's max_rdma_read_out is 0
 */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_buffer,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	return kdapl_post_request(ep_handle, DAT_DTO_RDMA_READ, num_segments, local_iov,
				  remote_buffer, user_cookie, completion_flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read);
