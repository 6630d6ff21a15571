// SPDX-License-Identifier: GPL-2.0
/*
 * Posting: dat_ep_post_send, _recv, _rdma_write, _rdma_read, dat_srq_post_recv.
 *
 * Called by Consumers in process context, softirq, timers, with spinlocks
 * held or interrupts off (not on RT), and inside upcalls, of the very EVD
 * they feed too. Nothing here sleeps, allocates or logs. Whatever a post
 * needs was made with its EP or SRQ; a success owns a slot until its event
 * has been handed over (complete.c, event.c).
 *
 * The order of checks is the same in all calls, the first that fails
 * decides: handle; counts and pointers; flags; state; segments in vector
 * order (context, zone, privilege, range); total length; local against
 * remote length; a free slot; the verbs layer. Segments are checked here
 * because nothing below does: a bad one would be accepted by the device and
 * would break the connection later.
 *
 * The read section (kdapl_read_lock()) lasts from the lookup to the verbs
 * call: teardown takes an object out of the table and waits one grace
 * period, so that no reference is counted on the way. Requests hold the
 * request queue's lock over slot and verbs call, because a signalled request
 * speaks for the unsignalled ones queued before it. Receives need no lock.
 *
 * The slot is taken before the segments are looked at, so that they are
 * written once, and put back when one is bad; with no slot left the checks
 * run all the same, so that the reason stays the same.
 */
#include <linux/export.h>
#include "kdapl.h"
#include "trace.h"

#define KDAPL_IP(arg)	DAT_ERROR(DAT_INVALID_PARAMETER, arg)

/* Why a segment was refused; the straight path only knows that it was */
static __cold noinline DAT_RETURN kdapl_segment_reason(const DAT_LMR_TRIPLET *seg, u32 zone,
						       u32 privilege)
{
	const struct kdapl_lmr_desc *desc = kdapl_lmr_desc(seg->lmr_context);
	bool write = privilege == DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	u32 zp = READ_ONCE(desc->zp);

	if (!zp || READ_ONCE(desc->context) != seg->lmr_context)
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				 write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	if ((zp ^ zone) & KDAPL_ZONE_MASK)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION,
				 write ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
	if (!(zp & privilege))
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				 write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	return KDAPL_IP(DAT_INVALID_ARG3);
}

/**
 * struct kdapl_segments - result of kdapl_fill_segments()
 * @total: sum of the lengths
 * @num_sge: elements written; segments of length 0 are left out
 */
struct kdapl_segments {
	u64 total;
	u32 num_sge;
};

/*
 * Checks one segment against its LMR and translates it. @sge may be NULL
 * when there is no slot and only the reason is wanted.
 */
static __always_inline bool kdapl_fill_one(const DAT_LMR_TRIPLET *seg, u32 need, u32 privilege,
					   struct ib_sge *sge)
{
	const struct kdapl_lmr_desc *desc = kdapl_lmr_desc(seg->lmr_context);
	u32 length = seg->segment_length;
	/* Pairs with the store that fills the descriptor: zp last */
	u32 zp = smp_load_acquire(&desc->zp);
	u64 off;

	/* Zone and privilege stand in one word: one XOR and one test for both */
	if (unlikely(READ_ONCE(desc->context) != seg->lmr_context ||
		     ((zp ^ need) & (KDAPL_ZONE_MASK | privilege))))
		return false;
	off = seg->virtual_address - desc->start;
	if (unlikely(off > desc->length || length > desc->length - off))
		return false;
	if (sge) {
		sge->addr = seg->virtual_address;
		sge->length = length;
		sge->lkey = desc->lkey;
	}
	return true;
}

/* Translates a vector into @sge; DAT_SUCCESS or the reason of the first bad segment */
static __always_inline DAT_RETURN kdapl_fill_segments(const DAT_LMR_TRIPLET *iov, u32 n, u32 zone,
						      u32 privilege, struct ib_sge *sge,
						      struct kdapl_segments *out)
{
	u32 i, num_sge = 0;
	u64 total = 0;

	for (i = 0; i < n; i++) {
		if (!iov[i].segment_length)
			continue;
		if (unlikely(!kdapl_fill_one(&iov[i], zone | privilege, privilege,
					     sge ? &sge[num_sge] : NULL)))
			return kdapl_segment_reason(&iov[i], zone, privilege);
		total += iov[i].segment_length;
		num_sge++;
	}
	out->total = total;
	out->num_sge = num_sge;
	return DAT_SUCCESS;
}

/* Cuts a read's segments down to the remote length: the device would over-read */
static void kdapl_trim(struct ib_sge *sge, struct kdapl_segments *segs, u32 length)
{
	u32 i, left = length;

	for (i = 0; left; i++) {
		sge[i].length = min(sge[i].length, left);
		left -= sge[i].length;
	}
	segs->num_sge = i;
	segs->total = length;
}

static __always_inline u32 kdapl_request_limit(const struct kdapl_ep *ep, DAT_DTOS op)
{
	if (op == DAT_DTO_SEND)
		return ep->max_send_iov;
	return op == DAT_DTO_RDMA_WRITE ? ep->max_write_iov : ep->max_read_iov;
}

/* What a send shall invalidate at the peer; a constant of zeroes in all other calls */
struct kdapl_inv {
	DAT_BOOLEAN flag;
	DAT_RMR_CONTEXT key;
};

/* Steps 3 to 6 of a request */
static __always_inline DAT_RETURN kdapl_check_request(const struct kdapl_ep *ep, DAT_DTOS op,
						      DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
						      const DAT_RMR_TRIPLET *remote, u32 flags,
						      const struct kdapl_inv inv)
{
	bool rdma = op != DAT_DTO_SEND;

	/* A negative count is a very large one */
	if (unlikely((u32)n > kdapl_request_limit(ep, op)))
		return KDAPL_IP(DAT_INVALID_ARG2);
	if (unlikely(n && !iov))
		return KDAPL_IP(DAT_INVALID_ARG3);
	if (rdma && unlikely(!remote))
		return KDAPL_IP(DAT_INVALID_ARG5);
	if (unlikely((u32)inv.flag > DAT_TRUE))
		return KDAPL_IP(DAT_INVALID_ARG6);
	if (unlikely(flags & (rdma ? ep->bad_rdma_flags : ep->bad_send_flags)))
		return KDAPL_IP(rdma ? DAT_INVALID_ARG6 : DAT_INVALID_ARG5);
	if (unlikely(!(READ_ONCE(ep->post) & KDAPL_EP_MAY_SEND)))
		return kdapl_ep_state_error(READ_ONCE(ep->state));
	return DAT_SUCCESS;
}

/* Steps 7 to 9; @slot may be NULL. Fills the slot's segments */
static __always_inline DAT_RETURN kdapl_check_data(const struct kdapl_ep *ep, DAT_DTOS op, u32 n,
						   const DAT_LMR_TRIPLET *iov,
						   const DAT_RMR_TRIPLET *remote,
						   struct kdapl_slot *slot,
						   struct kdapl_segments *segs)
{
	bool read = op == DAT_DTO_RDMA_READ;
	DAT_RETURN ret;

	ret = kdapl_fill_segments(iov, n, ep->zone,
				  read ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG :
					 DAT_MEM_PRIV_LOCAL_READ_FLAG,
				  slot ? slot->sge : NULL, segs);
	if (unlikely(ret != DAT_SUCCESS))
		return ret;
	/* The limits have 32 bits, so that a sum beyond is above them too */
	if (unlikely(segs->total > (op == DAT_DTO_SEND ? ep->max_message : ep->max_rdma)))
		return KDAPL_IP(DAT_INVALID_ARG2);
	if (op == DAT_DTO_RDMA_WRITE && unlikely(segs->total > remote->segment_length))
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (read && segs->total != remote->segment_length) {
		if (unlikely(segs->total < remote->segment_length))
			return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
		if (slot)
			kdapl_trim(slot->sge, segs, remote->segment_length);
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
		sq->run[sq->run_tail & sq->run_mask] = slot->idx;
		sq->run_tail++;
		sq->run_len++;
		return 0;
	}
	slot->flags |= KDAPL_SLOT_SIGNALLED;
	sq->run_len = 0;
	return IB_SEND_SIGNALED;
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

/* Fills in what differs between requests and posts. sq->lock held */
static __always_inline DAT_RETURN kdapl_submit(struct kdapl_ep *ep, struct kdapl_slot *slot,
					       DAT_DTOS op, const struct kdapl_segments *segs,
					       const DAT_RMR_TRIPLET *remote, u64 cookie, u32 flags,
					       const struct kdapl_inv inv)
{
	struct ib_qp *qp = kdapl_dereference(ep->qp);
	struct ib_rdma_wr *rdma = &slot->rdma;
	u32 run_len = ep->sq.run_len;
	u32 idx = slot->idx;
	int err;

	slot->cookie = cookie;
	slot->flags = flags;
	slot->ev.kind = KDAPL_EV_DTO;
	slot->ev.op = op;
	slot->ev.status = DAT_DTO_SUCCESS;
	slot->ev.notify = !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
	slot->ev.length = segs->total;
	WRITE_ONCE(slot->state, KDAPL_SLOT_POSTED);
	if (unlikely(!qp)) {
		slot->flags |= KDAPL_SLOT_SIGNALLED;
		kdapl_flush_in_software(ep, slot);
		return DAT_SUCCESS;
	}
	rdma->wr.num_sge = segs->num_sge;
	rdma->wr.opcode = op == DAT_DTO_SEND ? IB_WR_SEND :
			  op == DAT_DTO_RDMA_WRITE ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ;
	rdma->wr.send_flags = kdapl_sq_signal(&ep->sq, slot, flags);
	if (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		rdma->wr.send_flags |= IB_SEND_FENCE;
	if (op == DAT_DTO_SEND) {
		if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
			rdma->wr.send_flags |= IB_SEND_SOLICITED;
		if (inv.flag) {
			rdma->wr.opcode = IB_WR_SEND_WITH_INV;
			rdma->wr.ex.invalidate_rkey = inv.key;
		}
	} else {
		rdma->remote_addr = remote->virtual_address;
		rdma->rkey = remote->rmr_context;
	}
	err = ib_post_send(qp, &rdma->wr, NULL);
	if (unlikely(err))
		return kdapl_sq_undo(&ep->sq, slot, run_len, err);
	/* The slot may be on its way back already: not touched from here on */
	trace_kdapl_post(kdapl_obj_id(&ep->obj), op, idx, segs->num_sge, segs->total, flags);
	return DAT_SUCCESS;
}

/* Steps 7 to 11 of a request, under the request queue's lock */
static __always_inline DAT_RETURN kdapl_queue_request(struct kdapl_ep *ep, DAT_DTOS op, u32 n,
						      const DAT_LMR_TRIPLET *iov,
						      const DAT_RMR_TRIPLET *remote,
						      u64 cookie, u32 flags,
						      const struct kdapl_inv inv)
{
	struct kdapl_segments segs;
	struct kdapl_slot *slot;
	DAT_RETURN ret;

	slot = kdapl_pool_get(&ep->sq.pool);
	ret = kdapl_check_data(ep, op, n, iov, remote, slot, &segs);
	if (unlikely(ret != DAT_SUCCESS))
		goto out_put;
	if (op == DAT_DTO_RDMA_READ && unlikely(!ep->max_reads_out)) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
		goto out_put;
	}
	if (unlikely(!slot))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	return kdapl_submit(ep, slot, op, &segs, remote, cookie, flags, inv);

out_put:
	if (slot)
		kdapl_pool_put(&ep->sq.pool, slot);
	return ret;
}

/* The whole of a send, RDMA write or RDMA read; @op is a constant in each caller */
static __always_inline DAT_RETURN kdapl_post_request(DAT_EP_HANDLE ep_handle, DAT_DTOS op,
						     DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
						     const DAT_RMR_TRIPLET *remote,
						     DAT_DTO_COOKIE cookie, u32 flags,
						     const struct kdapl_inv inv)
{
	struct kdapl_obj *obj;
	unsigned long irq;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	kdapl_read_lock(irq);
	obj = kdapl_obj_lookup(ep_handle, DAT_HANDLE_TYPE_EP);
	if (unlikely(!obj)) {
		kdapl_read_unlock(irq);
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	ep = to_kdapl_ep(obj);
	ret = kdapl_check_request(ep, op, n, iov, remote, flags, inv);
	if (likely(ret == DAT_SUCCESS)) {
		spin_lock(&ep->sq.lock);
		ret = kdapl_queue_request(ep, op, n, iov, remote, cookie.as_64, flags, inv);
		spin_unlock(&ep->sq.lock);
	}
	if (unlikely(ret != DAT_SUCCESS))
		trace_kdapl_post_reject(kdapl_obj_id(obj), op, ret);
	kdapl_read_unlock(irq);
	return ret;
}

/* Steps 7 to 10 of a receive: the slot, filled in, or NULL and the reason in @ret */
static __always_inline struct kdapl_slot *kdapl_get_recv(struct kdapl_pool *pool, u32 zone, u32 n,
							 const DAT_LMR_TRIPLET *iov, u64 cookie,
							 u32 flags, bool notify, DAT_RETURN *ret)
{
	struct kdapl_segments segs;
	struct kdapl_slot *slot;

	slot = kdapl_pool_get(pool);
	*ret = kdapl_fill_segments(iov, n, zone, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				   slot ? slot->sge : NULL, &segs);
	/* A receive has no size limit but that of the sum itself (G-19) */
	if (*ret == DAT_SUCCESS && unlikely(segs.total > U32_MAX))
		*ret = KDAPL_IP(DAT_INVALID_ARG2);
	if (unlikely(*ret != DAT_SUCCESS)) {
		if (slot)
			kdapl_pool_put(pool, slot);
		return NULL;
	}
	if (unlikely(!slot)) {
		*ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		return NULL;
	}
	slot->cookie = cookie;
	slot->flags = flags | KDAPL_SLOT_RECV;
	slot->ev.op = DAT_DTO_RECEIVE;
	slot->ev.status = DAT_DTO_SUCCESS;
	slot->ev.notify = notify;
	WRITE_ONCE(slot->state, KDAPL_SLOT_POSTED);
	slot->recv.num_sge = segs.num_sge;
	return slot;
}

/* Step 11 of a receive that the verbs layer refused */
static __cold noinline DAT_RETURN kdapl_recv_undo(struct kdapl_pool *pool, struct kdapl_slot *slot,
						  int err, enum dat_return_subtype full)
{
	kdapl_pool_put(pool, slot);
	return err == -ENOMEM ? DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, full) :
				DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}

/* Why an EP takes no receive: it has none of its own, or is not configured */
static __cold noinline DAT_RETURN kdapl_recv_state_error(const struct kdapl_ep *ep)
{
	if (ep->srq_attached)
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
	return kdapl_ep_state_error(READ_ONCE(ep->state));
}

static __always_inline DAT_RETURN kdapl_post_recv(struct kdapl_ep *ep, DAT_COUNT n,
						  const DAT_LMR_TRIPLET *iov, u64 cookie,
						  u32 flags)
{
	struct kdapl_slot *slot;
	struct ib_qp *qp;
	DAT_RETURN ret;
	u32 idx;
	int err;

	if (unlikely((u32)n > ep->max_recv_iov))
		return KDAPL_IP(DAT_INVALID_ARG2);
	if (unlikely(n && !iov))
		return KDAPL_IP(DAT_INVALID_ARG3);
	if (unlikely(flags & ep->bad_recv_flags))
		return KDAPL_IP(DAT_INVALID_ARG5);
	if (unlikely(!(READ_ONCE(ep->post) & KDAPL_EP_MAY_RECV)))
		return kdapl_recv_state_error(ep);
	slot = kdapl_get_recv(&ep->rq, ep->zone, n, iov, cookie, flags,
			      !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG) && !ep->scq, &ret);
	if (unlikely(!slot))
		return ret;
	qp = kdapl_dereference(ep->qp);
	if (unlikely(!qp)) {
		kdapl_flush_in_software(ep, slot);
		return DAT_SUCCESS;
	}
	idx = slot->idx;
	err = ib_post_recv(qp, &slot->recv, NULL);
	if (unlikely(err))
		return kdapl_recv_undo(&ep->rq, slot, err, DAT_RESOURCE_TEP);
	trace_kdapl_post(kdapl_obj_id(&ep->obj), DAT_DTO_RECEIVE, idx, n, 0, flags);
	/* No CQ of a solicited-wait EP calls for a flush (G-33) */
	if (unlikely(ep->scq && READ_ONCE(ep->state) == DAT_EP_STATE_DISCONNECTED))
		kdapl_scq_flush_soon(ep->scq);
	return DAT_SUCCESS;
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
				  user_cookie, completion_flags, (struct kdapl_inv){});
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
	return kdapl_post_request(ep_handle, DAT_DTO_SEND, num_segments, local_iov, NULL,
				  user_cookie, completion_flags,
				  (struct kdapl_inv){ invalidate_flag, rmr_context });
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
				  remote_buffer, user_cookie, completion_flags, (struct kdapl_inv){});
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
				  remote_buffer, user_cookie, completion_flags, (struct kdapl_inv){});
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read);

/**
 * dat_ep_post_recv - provide memory for one message of the peer
 * @ep_handle:        the EP
 * @num_segments:     triplets in @local_iov; 0 takes a message of no bytes
 * @local_iov:        local memory, filled in vector order
 * @user_cookie:      comes back in the completion event
 * @completion_flags: DAT_COMPLETION_UNSIGNALLED_FLAG if the EP's receive
 *                    completion flags say so, else none
 *
 * Legal in every state of a configured EP: before the connection it waits,
 * in DISCONNECTED it is flushed. Source: manual page dat_ep_post_recv(3DAT).
 *
 * Context: as dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle names no EP
 * * DAT_INVALID_PARAMETER - @num_segments negative or above max_recv_iov;
 *   @local_iov NULL; an illegal flag; a segment outside its LMR
 * * DAT_INVALID_STATE - the EP takes its receives from an SRQ, or is not
 *   configured
 * * DAT_PRIVILEGES_VIOLATION - an LMR is unknown or lacks local write
 * * DAT_PROTECTION_VIOLATION - an LMR is of another protection zone
 * * DAT_INSUFFICIENT_RESOURCES - max_recv_dtos receives are outstanding
 * * DAT_INTERNAL_ERROR - the device refused the receive
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct kdapl_obj *obj;
	unsigned long irq;
	DAT_RETURN ret;

	kdapl_read_lock(irq);
	obj = kdapl_obj_lookup(ep_handle, DAT_HANDLE_TYPE_EP);
	if (likely(obj)) {
		ret = kdapl_post_recv(to_kdapl_ep(obj), num_segments, local_iov,
				      user_cookie.as_64, completion_flags);
		if (unlikely(ret != DAT_SUCCESS))
			trace_kdapl_post_reject(kdapl_obj_id(obj), DAT_DTO_RECEIVE, ret);
	} else {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	kdapl_read_unlock(irq);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_post_recv);

static __always_inline DAT_RETURN kdapl_post_srq_recv(struct kdapl_srq *srq, DAT_COUNT n,
						      const DAT_LMR_TRIPLET *iov, u64 cookie)
{
	struct kdapl_slot *slot;
	struct ib_srq *ibsrq;
	DAT_RETURN ret;
	u32 idx;
	int err;

	if (unlikely((u32)n > srq->max_iov))
		return KDAPL_IP(DAT_INVALID_ARG2);
	if (unlikely(n && !iov))
		return KDAPL_IP(DAT_INVALID_ARG3);
	slot = kdapl_get_recv(&srq->pool, srq->zone, n, iov, cookie, 0, true, &ret);
	if (unlikely(!slot))
		return ret;
	ibsrq = kdapl_dereference(srq->srq);
	if (unlikely(!ibsrq))
		/* A shell: nobody takes it any more, dat_srq_free returns it */
		return DAT_SUCCESS;
	idx = slot->idx;
	err = ib_post_srq_recv(ibsrq, &slot->recv, NULL);
	if (unlikely(err))
		return kdapl_recv_undo(&srq->pool, slot, err, DAT_RESOURCE_SRQ);
	trace_kdapl_post(kdapl_obj_id(&srq->obj), DAT_DTO_RECEIVE, idx, n, 0, 0);
	return DAT_SUCCESS;
}

/**
 * dat_srq_post_recv - provide memory for one message to any EP of an SRQ
 * @srq_handle:   the SRQ
 * @num_segments: triplets in @local_iov; 0 takes a message of no bytes
 * @local_iov:    local memory of the SRQ's protection zone
 * @user_cookie:  comes back in the completion event, on the receive EVD of
 *                the EP that took the buffer
 *
 * Legal in every state of the SRQ and of its EPs. Source: manual page
 * dat_srq_post_recv(3DAT).
 *
 * Context: as dat_ep_post_send().
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @srq_handle names no SRQ
 * * DAT_INVALID_PARAMETER - @num_segments negative or above max_recv_iov;
 *   @local_iov NULL; a segment outside its LMR
 * * DAT_PRIVILEGES_VIOLATION - an LMR is unknown or lacks local write
 * * DAT_PROTECTION_VIOLATION - an LMR is of another protection zone
 * * DAT_INSUFFICIENT_RESOURCES - max_recv_dtos receives are outstanding
 * * DAT_INTERNAL_ERROR - the device refused the receive
 */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	struct kdapl_obj *obj;
	unsigned long irq;
	DAT_RETURN ret;

	kdapl_read_lock(irq);
	obj = kdapl_obj_lookup(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (likely(obj)) {
		ret = kdapl_post_srq_recv(container_of(obj, struct kdapl_srq, obj), num_segments,
					  local_iov, user_cookie.as_64);
		if (unlikely(ret != DAT_SUCCESS))
			trace_kdapl_post_reject(kdapl_obj_id(obj), DAT_DTO_RECEIVE, ret);
	} else {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	}
	kdapl_read_unlock(irq);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_post_recv);
