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
 * flags). It makes the checks in the cheapest order. If any check fails, it undoes its
 * work and falls back to the slow path, which repeats the checks in the documented order
 * and returns the reason (post_slow.c).
 *
 * The read section (kdapl_peek_lock()) lasts from the lookup of the handle to the
 * verbs call. No reference is counted, because teardown removes an object from the
 * handle table and then waits for a grace period.
 *
 * The fast path takes no lock, so interrupts may stay on. The order of requests that
 * different CPUs post does not matter, except for one rule: the completion of a
 * signalled request also completes the unsignalled requests queued before it. run.h
 * describes how a signalled request finds out which they are. The slow path holds the lock
 * of the request queue; it posts all unsignalled requests.
 */
#include <linux/export.h>
#include "request.h"
#include "run.h"
#include "segment.h"
#include "base/trace.h"

/*
 * The slot of a vector with its segments filled in, and their total length; small enough for
 * registers. Length 0: there is no slot, the request needs the slow path.
 */
struct kdapl_filled {
	struct kdapl_slot *slot;
	u64 length;
};

/* Takes a slot for a vector, and fills in its segments */
static noinline struct kdapl_filled kdapl_fill_vector(struct kdapl_pool *pool,
						      const DAT_LMR_TRIPLET *iov, u32 n,
						      u32 need, u32 privilege)
{
	struct kdapl_filled f = { };

	if (unlikely(!kdapl_pool_take_spare(pool, &f.slot)))
		return f;
	f.length = kdapl_segments_fast(iov, n, need, privilege, f.slot->sge);
	if (unlikely(!f.length))
		kdapl_pool_put(pool, f.slot);
	return f;
}

/* Fills in everything except the segments. Adjacent constants become one store */
static __always_inline void kdapl_fill_fast(struct kdapl_sq *sq, struct kdapl_slot *slot,
					    DAT_DTOS op, u32 n, u32 length, u64 cookie)
{
	slot->cookie = cookie;
	slot->ev.kind = KDAPL_EV_DTO;
	slot->ev.notify = true;
	slot->ev.status = DAT_DTO_SUCCESS;
	slot->ev.op = op;
	slot->ev.length = length;
	slot->run_end = kdapl_run_end(sq);
	slot->flags = KDAPL_SLOT_SIGNALLED;
	slot->state = KDAPL_SLOT_POSTED;
	slot->unused = 0;
	slot->rdma.wr.num_sge = n;
	slot->rdma.wr.opcode = kdapl_opcode(op);
	slot->rdma.wr.send_flags = IB_SEND_SIGNALED;
}

/* Does the length fit the limits of the EP and the remote memory? */
static __always_inline bool kdapl_length_is_fast(const struct kdapl_ep *ep, DAT_DTOS op,
						 u64 length, const DAT_RMR_TRIPLET *remote)
{
	u32 remote_length;

	if (unlikely(!length))
		return false;
	if (unlikely(length > (op == DAT_DTO_SEND ? ep->max_message : ep->max_rdma)))
		return false;
	if (op == DAT_DTO_SEND)
		return true;
	remote_length = READ_ONCE(remote->segment_length);
	if (op == DAT_DTO_RDMA_WRITE)
		return likely(length <= remote_length);
	return likely(length == remote_length && ep->max_reads_out);
}

/*
 * Takes a slot and fills it in, with the segments; NULL: the request needs the slow path.
 * One segment is checked first, and stays in registers until there is a slot.
 */
static __always_inline struct kdapl_slot *kdapl_slot_fast(struct kdapl_ep *ep, DAT_DTOS op,
							  u32 n, const DAT_LMR_TRIPLET *iov,
							  const DAT_RMR_TRIPLET *remote,
							  u64 cookie)
{
	u32 need = op == DAT_DTO_RDMA_READ ? ep->need_write : ep->need_read;
	u32 privilege = kdapl_local_privilege(op);
	struct kdapl_sq *sq = &ep->sq;
	struct kdapl_filled f;
	struct ib_sge sge;

	if (likely(n == 1)) {
		f.length = kdapl_segment_fill(iov, need, privilege, &sge);
		if (unlikely(!kdapl_length_is_fast(ep, op, f.length, remote)))
			return NULL;
		if (unlikely(!kdapl_pool_take_spare(&sq->pool, &f.slot)))
			return NULL;
		f.slot->sge[0] = sge;
	} else {
		f = kdapl_fill_vector(&sq->pool, iov, n, need, privilege);
		if (unlikely(!f.length))
			return NULL;
		if (unlikely(!kdapl_length_is_fast(ep, op, f.length, remote))) {
			kdapl_pool_put(&sq->pool, f.slot);
			return NULL;
		}
	}
	if (op != DAT_DTO_SEND) {
		f.slot->rdma.remote_addr = READ_ONCE(remote->virtual_address);
		f.slot->rdma.rkey = READ_ONCE(remote->rmr_context);
	}
	kdapl_fill_fast(sq, f.slot, op, n, f.length, cookie);
	return f.slot;
}

/* May the request take the fast path? The other conditions are checked there */
static __always_inline bool kdapl_is_fast(const struct kdapl_ep *ep, DAT_DTOS op, DAT_COUNT n,
					  const DAT_LMR_TRIPLET *iov,
					  const DAT_RMR_TRIPLET *remote, u32 flags)
{
	/* The slow path calls the tracepoint, so the fast path keeps nothing for it */
	if (trace_kdapl_post_enabled())
		return false;
	if (unlikely(!(READ_ONCE(ep->fast_ops) & BIT(op))))
		return false;
	if (unlikely(flags))
		return false;
	if (unlikely(!iov))
		return false;
	if (op != DAT_DTO_SEND && unlikely(!remote))
		return false;
	/* 0 takes the slow path; a negative count is a very large number here */
	return likely(n == 1) || (n && (u32)n <= kdapl_request_limit(ep, op));
}

/* Out of line, and reads all that it needs from the slot: the fast path keeps nothing else */
static __cold noinline DAT_RETURN kdapl_refused_fast(struct kdapl_slot *slot, int err)
{
	u32 ep = kdapl_obj_id(&slot->ev.ep->obj);
	u8 op = slot->ev.op;
	DAT_RETURN ret = kdapl_request_refused(slot, err);

	trace_kdapl_post_reject(ep, op, ret);
	return ret;
}

/*
 * The fast path from step 3 on; @op is a constant in each caller. Returns false if the request
 * needs the slow path, otherwise true and the return value of the call
 */
static __always_inline bool kdapl_post_fast(struct kdapl_ep *ep, DAT_DTOS op, DAT_COUNT n,
					    const DAT_LMR_TRIPLET *iov,
					    const DAT_RMR_TRIPLET *remote, u64 cookie,
					    u32 flags, DAT_RETURN *ret)
{
	struct kdapl_slot *slot;
	struct ib_qp *qp;
	int err;

	if (unlikely(!kdapl_is_fast(ep, op, n, iov, remote, flags)))
		return false;
	qp = kdapl_dereference(ep->qp);
	if (unlikely(!qp))
		return false;
	slot = kdapl_slot_fast(ep, op, n, iov, remote, cookie);
	if (unlikely(!slot))
		return false;
	err = kdapl_verbs_send(qp, &slot->rdma.wr, &ep->sq);
	if (unlikely(err)) {
		*ret = kdapl_refused_fast(slot, err);
		return true;
	}
	kdapl_run_restart(&ep->sq);
	*ret = DAT_SUCCESS;
	return true;
}

/* A complete posting call; @op is a constant in each caller */
static __always_inline DAT_RETURN kdapl_post_request(DAT_EP_HANDLE ep_handle, DAT_DTOS op,
						     DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
						     const DAT_RMR_TRIPLET *remote,
						     DAT_DTO_COOKIE cookie, u32 flags)
{
	struct kdapl_obj *obj;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	kdapl_peek_lock();
	if (unlikely(!kdapl_obj_find(ep_handle, DAT_HANDLE_TYPE_EP, &obj))) {
		kdapl_peek_unlock();
		return KDAPL_BAD_HANDLE(EP);
	}
	ep = to_kdapl_ep(obj);
	if (unlikely(!kdapl_post_fast(ep, op, n, iov, remote, cookie.as_64, flags, &ret)))
		ret = kdapl_post_other(ep, op, n, iov, remote, cookie.as_64, flags);
	kdapl_peek_unlock();
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
	DAT_RETURN ret;

	kdapl_peek_lock();
	if (likely(kdapl_obj_find(ep_handle, DAT_HANDLE_TYPE_EP, &obj)))
		ret = kdapl_post_any(to_kdapl_ep(obj), &r);
	else
		ret = KDAPL_BAD_HANDLE(EP);
	kdapl_peek_unlock();
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
