// SPDX-License-Identifier: GPL-2.0
/*
 * Posting requests: dat_ep_post_send, _send_with_invalidate, _rdma_write,
 * _rdma_read. Receives stand in post_recv.c, segments in segment.h.
 *
 * Called by Consumers in process context, softirq, timers, with spinlocks
 * held or interrupts off (not on RT), and inside upcalls, of the very EVD
 * they feed too. Nothing here sleeps, allocates or logs. Whatever a post
 * needs was made with its EP; a success owns a slot until its event has been
 * handed over (complete.c, event.c).
 *
 * The order of checks is the same in all calls, the first that fails
 * decides: handle; counts and pointers; flags; state; segments in vector
 * order (context, zone, privilege, range); total length; local against
 * remote length; a free slot; the verbs layer.
 *
 * Two ways. The straight one, in line in each call, is for a request with
 * bytes and without flags but SUPPRESS: it asks whether all is well, in whatever order is
 * cheapest, and does the work. Wherever anything is not the usual it undoes
 * what it did and goes the other way, which takes any request, makes the
 * checks in their order and knows the reasons. So there is one place that
 * says why, and the straight way never says no.
 *
 * The read section (kdapl_read_lock()) lasts from the lookup to the verbs
 * call: teardown takes an object out of the table and waits one grace
 * period, so that no reference is counted on the way. Requests hold the
 * request queue's lock over slot and verbs call, because a signalled request
 * speaks for the unsignalled ones queued before it.
 *
 * The slot is taken before the segments are looked at, so that they are
 * written once, and put back when one is bad; with no slot left the checks
 * run all the same, so that the reason stays the same.
 */
#include <linux/export.h>
#include "segment.h"
#include "trace.h"

#define KDAPL_IP(arg)	DAT_ERROR(DAT_INVALID_PARAMETER, arg)

/* No DAT_RETURN: the straight way has not been open */
#define KDAPL_NOT_STRAIGHT	((DAT_RETURN)~0U)

/**
 * struct kdapl_request - a request, as it came
 * @op:     DAT_DTO_SEND, _RDMA_WRITE, _RDMA_READ
 * @n:      segments in @iov
 * @iov:    local memory
 * @remote: remote memory of an RDMA
 * @cookie: the Consumer's
 * @flags:  completion flags
 * @inv:    send: whether it invalidates @key at the peer; the Consumer's word
 * @key:    see there
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

/* The verbs layer refused: as if the call had not been made. sq->lock held */
static __cold noinline DAT_RETURN kdapl_sq_undo(struct kdapl_sq *sq, struct kdapl_slot *slot,
						u32 run_len, int err)
{
	sq->run_tail = slot->run_end;
	sq->run_len = run_len;
	kdapl_pool_put(&sq->pool, slot);
	return err == -ENOMEM ? DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) :
				DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}

/*
 * ib_post_send(), but for its place for the refused request, which costs an
 * address on the stack and what protects that.
 */
static __always_inline int kdapl_verbs_send(struct ib_qp *qp, const struct ib_send_wr *wr,
					    struct kdapl_sq *sq)
{
	return qp->device->ops.post_send(qp, wr, &sq->bad);
}

/* ---- the way of any request -------------------------------------------- */

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

	/* A negative count is a very large one */
	if ((u32)r->n > kdapl_request_limit(ep, r->op))
		return KDAPL_IP(DAT_INVALID_ARG2);
	if (r->n && !r->iov)
		return KDAPL_IP(DAT_INVALID_ARG3);
	if (rdma && !r->remote)
		return KDAPL_IP(DAT_INVALID_ARG5);
	if ((u32)r->inv > DAT_TRUE)
		return KDAPL_IP(DAT_INVALID_ARG6);
	if (r->flags & (rdma ? ep->bad_rdma_flags : ep->bad_send_flags))
		return KDAPL_IP(rdma ? DAT_INVALID_ARG6 : DAT_INVALID_ARG5);
	if (!(READ_ONCE(ep->post) & KDAPL_EP_MAY_SEND))
		return kdapl_ep_state_error(READ_ONCE(ep->state));
	return DAT_SUCCESS;
}

/* Step 7; without @slot only the verdict */
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
	/* Mended by the Consumer while we looked: it was bad all the same */
	return slot && ret == DAT_SUCCESS ? KDAPL_IP(DAT_INVALID_ARG3) : ret;
}

/* Steps 7 to 9; @slot may be NULL. Fills the slot's segments */
static DAT_RETURN kdapl_check_data(const struct kdapl_ep *ep, const struct kdapl_request *r,
				   struct kdapl_slot *slot, struct kdapl_segments *segs)
{
	u32 remote_length = r->remote ? READ_ONCE(r->remote->segment_length) : 0;
	DAT_RETURN ret;

	ret = kdapl_check_segments(ep, r, slot, segs);
	if (unlikely(ret != DAT_SUCCESS))
		return ret;
	/* The limits have 32 bits, so that a sum beyond is above them too */
	if (segs->total > (r->op == DAT_DTO_SEND ? ep->max_message : ep->max_rdma))
		return KDAPL_IP(DAT_INVALID_ARG2);
	if (r->op == DAT_DTO_RDMA_WRITE && segs->total > remote_length)
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (r->op == DAT_DTO_RDMA_READ && segs->total != remote_length) {
		if (segs->total < remote_length)
			return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
		if (slot)
			kdapl_segments_trim(slot->sge, segs, remote_length);
	}
	return DAT_SUCCESS;
}

/*
 * Decides whether a request raises a completion on success, and enters it in
 * the run of unsignalled ones if not. Every run_max-th of a run is signalled
 * all the same, and so is the one that takes the last slot: a Consumer that
 * suppresses everything never fills its queue for good (G-34). sq->lock held.
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

/* What differs between posts, but for the work request */
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
	/* The slot may be on its way back already: not touched from here on */
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
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
		goto out_put;
	}
	if (unlikely(!slot))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
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

/* ---- the straight way -------------------------------------------------- */

/* Out of line, so that it costs the straight way no registers. Only the slot's place is used */
static __cold noinline void kdapl_trace_straight(const struct kdapl_ep *ep, DAT_DTOS op,
						 const struct kdapl_slot *slot, u32 n, u32 length,
						 u32 flags)
{
	const struct kdapl_pool *pool = &ep->sq.pool;

	trace_kdapl_post(kdapl_obj_id(&ep->obj), op,
			 ((const void *)slot - pool->base) / pool->stride, n, length, flags);
}

/* Everything but the segments. Constants that lie side by side are one store */
static __always_inline void kdapl_fill_straight(struct kdapl_sq *sq, struct kdapl_slot *slot,
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

/* No flag but SUPPRESS. sq->lock held; @op is a constant in each caller */
static __always_inline DAT_RETURN kdapl_queue_straight(struct kdapl_ep *ep, DAT_DTOS op, u32 n,
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
		return KDAPL_NOT_STRAIGHT;
	if (likely(n == 1)) {
		slot->rdma.wr.num_sge = 1;
		length = kdapl_segment_fill(iov, need, kdapl_local_privilege(op), slot->sge);
	} else {
		slot->rdma.wr.num_sge = n;
		length = kdapl_segments_straight(iov, n, need, kdapl_local_privilege(op),
						 slot->sge);
	}
	qp = kdapl_dereference(ep->qp);
	if (unlikely(!length))
		goto not_straight;
	if (unlikely(length > (op == DAT_DTO_SEND ? ep->max_message : ep->max_rdma)))
		goto not_straight;
	if (unlikely(!qp))
		goto not_straight;
	if (op != DAT_DTO_SEND) {
		u32 remote_length = READ_ONCE(remote->segment_length);

		if (op == DAT_DTO_RDMA_WRITE && unlikely(length > remote_length))
			goto not_straight;
		if (op == DAT_DTO_RDMA_READ && unlikely(length != remote_length ||
							!ep->max_reads_out))
			goto not_straight;
		slot->rdma.remote_addr = READ_ONCE(remote->virtual_address);
		slot->rdma.rkey = READ_ONCE(remote->rmr_context);
	}
	kdapl_fill_straight(sq, slot, op, length, cookie, flags);
	err = kdapl_verbs_send(qp, &slot->rdma.wr, sq);
	if (unlikely(err))
		return kdapl_sq_undo(sq, slot, run_len, err);
	if (trace_kdapl_post_enabled())
		kdapl_trace_straight(ep, op, slot, n, length, flags);
	return DAT_SUCCESS;

not_straight:
	kdapl_pool_put(&sq->pool, slot);
	return KDAPL_NOT_STRAIGHT;
}

/* Is the straight way open? Whatever else matters is asked on it */
static __always_inline bool kdapl_is_straight(const struct kdapl_ep *ep, DAT_DTOS op, DAT_COUNT n,
					      const DAT_LMR_TRIPLET *iov,
					      const DAT_RMR_TRIPLET *remote, u32 flags)
{
	if (unlikely(!(READ_ONCE(ep->straight) & BIT(op))))
		return false;
	if (unlikely(flags & ~DAT_COMPLETION_SUPPRESS_FLAG))
		return false;
	if (unlikely(!iov))
		return false;
	if (op != DAT_DTO_SEND && unlikely(!remote))
		return false;
	/* 0 is never usual, a negative count is a very large one */
	return likely(n == 1) || (n && (u32)n <= kdapl_request_limit(ep, op));
}

/* The other way, and what a refusal of the device leaves to do. Inside the read section */
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

/* The whole of a request; @op is a constant in each caller */
static __always_inline DAT_RETURN kdapl_post_request(DAT_EP_HANDLE ep_handle, DAT_DTOS op,
						     DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
						     const DAT_RMR_TRIPLET *remote,
						     DAT_DTO_COOKIE cookie, u32 flags)
{
	DAT_RETURN ret = KDAPL_NOT_STRAIGHT;
	struct kdapl_obj *obj;
	unsigned long irq;
	struct kdapl_ep *ep;

	kdapl_read_lock(irq);
	if (unlikely(!kdapl_obj_find(ep_handle, DAT_HANDLE_TYPE_EP, &obj))) {
		kdapl_read_unlock(irq);
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	ep = to_kdapl_ep(obj);
	if (likely(kdapl_is_straight(ep, op, n, iov, remote, flags))) {
		spin_lock(&ep->sq.lock);
		ret = kdapl_queue_straight(ep, op, n, iov, remote, cookie.as_64, flags);
		spin_unlock(&ep->sq.lock);
	}
	if (unlikely(ret)) {
		if (ret == KDAPL_NOT_STRAIGHT)
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
 * @num_segments:     triplets in @local_iov; 0 sends a message of no bytes
 * @local_iov:        local memory, taken in vector order; NULL if @num_segments
 *                    is 0. The array is the Consumer's again on return, the
 *                    memory it names after completion
 * @user_cookie:      comes back in the completion event
 * @completion_flags: any of DAT_COMPLETION_SUPPRESS_FLAG, SOLICITED_WAIT,
 *                    BARRIER_FENCE, and UNSIGNALLED if the EP's request
 *                    completion flags say so
 *
 * In DISCONNECTED the send is accepted and flushed: its event follows those
 * of all earlier requests. Source: manual page dat_ep_post_send(3DAT).
 *
 * Context: any but hard interrupt (with interrupts off not on RT); never
 * sleeps, allocates or logs; legal inside upcalls.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle names no EP
 * * DAT_INVALID_PARAMETER - @num_segments negative or above the EP's
 *   max_request_iov; @local_iov NULL; a flag that is not legal here; a
 *   segment outside its LMR; more bytes than max_message_size
 * * DAT_INVALID_STATE - EP neither CONNECTED nor DISCONNECTED
 * * DAT_PRIVILEGES_VIOLATION - an LMR is unknown or lacks local read
 * * DAT_PROTECTION_VIOLATION - an LMR is of another protection zone
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
 * dat_ep_post_send_with_invalidate - send, and end a binding of the peer
 * @ep_handle:        as dat_ep_post_send()
 * @num_segments:     likewise
 * @local_iov:        likewise
 * @user_cookie:      likewise
 * @completion_flags: likewise
 * @invalidate_flag:  DAT_FALSE: it is dat_ep_post_send(), @rmr_context is not
 *                    looked at
 * @rmr_context:      what the peer bound or registered through its end of this
 *                    connection, and told us
 *
 * The peer's receive event has operation DAT_DTO_RECEIVE_WITH_INVALIDATE and
 * the context; it is dead then. A context that the peer does not have, or not
 * through this connection, breaks the connection at its end. Our own event
 * has operation DAT_DTO_SEND. Source: kDAPL 2.0; no manual page.
 *
 * Context: as dat_ep_post_send().
 * Return: as dat_ep_post_send(); DAT_INVALID_PARAMETER also for an
 * @invalidate_flag that is neither DAT_TRUE nor DAT_FALSE.
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
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	kdapl_read_unlock(irq);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_post_send_with_invalidate);

/**
 * dat_ep_post_rdma_write - write the data of a vector to memory of the peer
 * @ep_handle:        the EP
 * @num_segments:     triplets in @local_iov; 0 writes nothing
 * @local_iov:        local memory, see dat_ep_post_send()
 * @user_cookie:      comes back in the completion event
 * @remote_buffer:    where to; copied at the call. May be longer than the data
 * @completion_flags: as dat_ep_post_send(), without SOLICITED_WAIT
 *
 * What the remote key grants is known to the peer's device only: a key that
 * does not grant it ends in the completion status REMOTE_ACCESS and breaks
 * the connection. Source: manual page dat_ep_post_rdma_write(3DAT).
 *
 * Context: as dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle names no EP
 * * DAT_INVALID_PARAMETER - @num_segments negative or above
 *   max_rdma_write_iov; @local_iov or @remote_buffer NULL; an illegal flag; a
 *   segment outside its LMR; more bytes than max_rdma_size
 * * DAT_INVALID_STATE - EP neither CONNECTED nor DISCONNECTED
 * * DAT_PRIVILEGES_VIOLATION - a local LMR is unknown or lacks local read
 * * DAT_PROTECTION_VIOLATION - a local LMR is of another protection zone
 * * DAT_LENGTH_ERROR - more data than @remote_buffer has room for
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
 * @num_segments:     triplets in @local_iov; 0 only for a remote length of 0
 * @local_iov:        local memory, filled in vector order. May be longer than
 *                    what is read, the rest is not touched
 * @user_cookie:      comes back in the completion event
 * @remote_buffer:    what to read; all of it is read. Copied at the call
 * @completion_flags: as dat_ep_post_rdma_write()
 *
 * Source: kDAPL 2.0, manual page dat_ep_post_rdma_read(3DAT).
 *
 * Context: as dat_ep_post_send().
 * Return: as dat_ep_post_rdma_write(), but the privilege is local write;
 * * DAT_LENGTH_ERROR - @local_iov has less room than the remote length
 * * DAT_INSUFFICIENT_RESOURCES - also on an EP with max_rdma_read_out 0
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
