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
 * The fast paths make the checks of kdapl-contract.rst (Order of checks) in the cheapest order. If
 * any check fails, nothing has changed, and the slow path (post_slow.c) repeats them in the
 * documented order and returns the reason. kdapl-architecture.rst (The call) has the steps.
 *
 * A signalled request takes no lock, so interrupts may stay on. The order of requests that
 * different CPUs post does not matter, except for one rule: the completion of a signalled request
 * also completes the unsignalled requests queued before it. unsignalled.h describes how a signalled
 * request finds out which they are. Unsignalled requests, and the one that takes the last slot,
 * hold the lock of the request queue.
 */
#include <linux/export.h>
#include "request.h"
#include "segment.h"
#include "unsignalled.h"
#include "base/trace.h"

/* Fills in the slot, except the work request */
static __always_inline void kdapl_fill_slot(struct kdapl_slot *slot, DAT_DTOS op, u32 length,
					    u64 cookie, u32 run_end, bool signalled)
{
	kdapl_slot_start(slot, op, true, signalled ? KDAPL_SLOT_SIGNALLED : KDAPL_SLOT_SUPPRESS,
			 KDAPL_SLOT_POSTED, cookie);
	slot->ev.run_end = run_end;
	slot->dto.length = length;
}

/* Fills in the work request, except its segments */
static __always_inline void kdapl_fill_wr(struct ib_rdma_wr *rdma, DAT_DTOS op, u32 n,
					  const DAT_RMR_TRIPLET *remote, bool signalled)
{
	rdma->wr.num_sge = n;
	rdma->wr.opcode = kdapl_opcode(op);
	rdma->wr.send_flags = signalled ? IB_SEND_SIGNALED : 0;
	if (op == DAT_DTO_RDMA_READ)
		/* bnxt_re reads it */
		rdma->wr.ex.invalidate_rkey = 0;
	if (op != DAT_DTO_SEND) {
		rdma->remote_addr = READ_ONCE(remote->virtual_address);
		rdma->rkey = READ_ONCE(remote->rmr_context);
	}
}

/* The rest of a work request on the stack; a slot has it from the beginning */
static __always_inline void kdapl_fill_vector(struct kdapl_vector *v, struct kdapl_slot *slot)
{
	v->rdma.wr.next = NULL;
	v->rdma.wr.wr_cqe = &slot->cqe;
	v->rdma.wr.sg_list = v->sge;
}

/* Returns true if @length, which is not 0, fits the limits of the EP and the remote memory */
static __always_inline bool kdapl_length_is_fast(const struct kdapl_ep *ep, DAT_DTOS op,
						 u64 length, const DAT_RMR_TRIPLET *remote)
{
	u32 remote_length;

	if (unlikely(length > (op == DAT_DTO_SEND ? ep->fast.max_message : ep->fast.max_rdma)))
		return false;
	if (op == DAT_DTO_SEND)
		return true;
	remote_length = READ_ONCE(remote->segment_length);
	if (op == DAT_DTO_RDMA_WRITE)
		return likely(length <= remote_length);
	return likely(length == remote_length && ep->fast.max_reads_out);
}

/*
 * Returns true if a request of this operation may take a fast path. Also checks the type of the
 * handle. The callers check the other conditions.
 */
static __always_inline bool kdapl_is_fast(const struct kdapl_ep *ep, DAT_DTOS op,
					  const DAT_LMR_TRIPLET *iov,
					  const DAT_RMR_TRIPLET *remote)
{
	/* The slow path calls the tracepoint, so the fast path keeps nothing for it */
	if (trace_kdapl_post_enabled())
		return false;
	if (unlikely(!iov))
		return false;
	if (unlikely(!(READ_ONCE(ep->obj.fast_ops) & BIT(op))))
		return false;
	return op == DAT_DTO_SEND || likely(remote);
}

/* Out of line, and reads all that it needs from the slot: the fast path keeps nothing else */
static __cold noinline DAT_RETURN kdapl_refused_fast(struct kdapl_slot *slot, int err)
{
	u32 ep = kdapl_obj_id(&slot->ev.ep->obj);
	u8 op = slot->dto.op;
	DAT_RETURN ret = kdapl_request_refused(slot, err);

	trace_kdapl_post_reject(ep, op, ret);
	return ret;
}

/*
 * The fast path of one segment, from step 3 on. The segment stays in registers until there is
 * a slot. @inv: a send with the key to invalidate, or NULL. Returns false if the request needs
 * another path.
 */
static __always_inline bool kdapl_post_one(struct kdapl_ep *ep, DAT_DTOS op,
					   const DAT_LMR_TRIPLET *iov,
					   const DAT_RMR_TRIPLET *remote, u64 cookie,
					   const DAT_RMR_CONTEXT *inv, DAT_RETURN *ret)
{
	struct kdapl_slot *slot;
	struct ib_sge sge;
	struct ib_qp *qp;
	int err;

	if (unlikely(!kdapl_is_fast(ep, op, iov, remote)))
		return false;
	qp = kdapl_rcu_dereference(ep->fast.qp);
	if (unlikely(!qp))
		return false;
	if (unlikely(!kdapl_segment_fill(iov, kdapl_local_need(ep, op), kdapl_local_privilege(op),
					 &sge)))
		return false;
	if (unlikely(!kdapl_length_is_fast(ep, op, sge.length, remote)))
		return false;
	if (unlikely(!kdapl_pool_take_spare(&ep->sq.pool, &slot)))
		return false;
	kdapl_sge_store(&slot->sge, &sge);
	kdapl_fill_slot(slot, op, sge.length, cookie, kdapl_run_end(&ep->sq), true);
	kdapl_fill_wr(&slot->rdma, op, 1, remote, true);
	if (inv) {
		slot->rdma.wr.opcode = IB_WR_SEND_WITH_INV;
		slot->rdma.wr.ex.invalidate_rkey = *inv;
	}
	err = kdapl_verbs_send(qp, &slot->rdma.wr, &ep->sq);
	*ret = likely(!err) ? DAT_SUCCESS : kdapl_refused_fast(slot, err);
	return true;
}

/* Checks and translates a vector; the total length, or 0 if the request needs another path */
static __always_inline u64 kdapl_translate(const struct kdapl_ep *ep, DAT_DTOS op, u32 n,
					   const DAT_LMR_TRIPLET *iov,
					   const DAT_RMR_TRIPLET *remote, struct ib_sge *sge)
{
	u64 length;

	/* 0 takes the slow path; a negative count is a very large number here */
	if (unlikely(!n || n > kdapl_request_limit(ep, op)))
		return 0;
	length = kdapl_segments_fast(iov, n, kdapl_local_need(ep, op), kdapl_local_privilege(op),
				     sge);
	return likely(length && kdapl_length_is_fast(ep, op, length, remote)) ? length : 0;
}

/* The fast path of a vector */
static __always_inline bool kdapl_post_vector(struct kdapl_ep *ep, DAT_DTOS op, u32 n,
					      const DAT_LMR_TRIPLET *iov,
					      const DAT_RMR_TRIPLET *remote, u64 cookie,
					      DAT_RETURN *ret)
{
	struct kdapl_slot *slot;
	struct kdapl_vector v __uninitialized;
	struct ib_qp *qp;
	u64 length;
	int err;

	if (unlikely(!kdapl_is_fast(ep, op, iov, remote)))
		return false;
	qp = kdapl_rcu_dereference(ep->fast.qp);
	if (unlikely(!qp))
		return false;
	length = kdapl_translate(ep, op, n, iov, remote, v.sge);
	if (unlikely(!length || !kdapl_pool_take_spare(&ep->sq.pool, &slot)))
		return false;
	kdapl_fill_slot(slot, op, length, cookie, kdapl_run_end(&ep->sq), true);
	kdapl_fill_wr(&v.rdma, op, n, remote, true);
	kdapl_fill_vector(&v, slot);
	err = kdapl_verbs_send(qp, &v.rdma.wr, &ep->sq);
	*ret = likely(!err) ? DAT_SUCCESS : kdapl_refused_fast(slot, err);
	return true;
}

/* The part of a suppressed request under the lock. @rdma: on the stack, or NULL: in the slot */
static __always_inline bool kdapl_submit_suppressed(struct kdapl_ep *ep, DAT_DTOS op, u32 n,
						    const DAT_RMR_TRIPLET *remote, u64 cookie,
						    u32 length, const struct ib_sge *sge,
						    struct kdapl_vector *v, DAT_RETURN *ret)
{
	struct ib_qp *qp = kdapl_rcu_dereference(ep->fast.qp);
	struct kdapl_sq *sq = &ep->sq;
	struct kdapl_slot *slot;
	struct ib_rdma_wr *rdma;
	int err;

	lockdep_assert_held(&sq->lock);
	/* The slow path posts a request that must be signalled, and takes the last slot */
	if (unlikely(!qp || kdapl_run_is_full(sq) || !kdapl_pool_take_spare(&sq->pool, &slot)))
		return false;
	kdapl_fill_slot(slot, op, length, cookie, sq->run_tail, false);
	if (v) {
		rdma = &v->rdma;
		kdapl_fill_vector(v, slot);
	} else {
		rdma = &slot->rdma;
		kdapl_sge_store(&slot->sge, sge);
	}
	kdapl_fill_wr(rdma, op, n, remote, false);
	kdapl_run_enter(sq, slot);
	err = kdapl_verbs_send(qp, &rdma->wr, sq);
	if (unlikely(err)) {
		*ret = kdapl_refused_fast(slot, err);
		return true;
	}
	kdapl_run_publish(sq);
	*ret = DAT_SUCCESS;
	return true;
}

/* The fast path of one segment with DAT_COMPLETION_SUPPRESS_FLAG and no other flag */
static __always_inline bool kdapl_post_suppressed(struct kdapl_ep *ep, DAT_DTOS op,
						  const DAT_LMR_TRIPLET *iov,
						  const DAT_RMR_TRIPLET *remote, u64 cookie,
						  DAT_RETURN *ret)
{
	struct ib_sge sge;
	unsigned long irq;
	bool posted;

	if (unlikely(!kdapl_is_fast(ep, op, iov, remote)))
		return false;
	if (unlikely(!kdapl_segment_fill(iov, kdapl_local_need(ep, op), kdapl_local_privilege(op),
					 &sge)))
		return false;
	if (unlikely(!kdapl_length_is_fast(ep, op, sge.length, remote)))
		return false;
	spin_lock_irqsave(&ep->sq.lock, irq);
	posted = kdapl_submit_suppressed(ep, op, 1, remote, cookie, sge.length, &sge, NULL, ret);
	spin_unlock_irqrestore(&ep->sq.lock, irq);
	return posted;
}

/* The same for a vector */
static __always_inline bool kdapl_post_suppressed_vector(struct kdapl_ep *ep, DAT_DTOS op, u32 n,
							 const DAT_LMR_TRIPLET *iov,
							 const DAT_RMR_TRIPLET *remote, u64 cookie,
							 DAT_RETURN *ret)
{
	struct kdapl_vector v __uninitialized;
	unsigned long irq;
	bool posted;
	u64 length;

	if (unlikely(!kdapl_is_fast(ep, op, iov, remote)))
		return false;
	length = kdapl_translate(ep, op, n, iov, remote, v.sge);
	if (unlikely(!length))
		return false;
	spin_lock_irqsave(&ep->sq.lock, irq);
	posted = kdapl_submit_suppressed(ep, op, n, remote, cookie, length, NULL, &v, ret);
	spin_unlock_irqrestore(&ep->sq.lock, irq);
	return posted;
}

/*
 * The paths of an operation that are out of line, because their calls would cost one segment
 * without flags registers. Each has a function of its own, because a vector is on the stack. The
 * order of arguments is that of the posting calls, so that no registers are exchanged.
 */
typedef DAT_RETURN kdapl_path_fn(struct kdapl_ep *ep, u32 n, const DAT_LMR_TRIPLET *iov, u64 cookie,
				 const DAT_RMR_TRIPLET *remote);

/* A vector without flags */
static __always_inline DAT_RETURN kdapl_vector(struct kdapl_ep *ep, DAT_DTOS op, u32 n,
					       const DAT_LMR_TRIPLET *iov, u64 cookie,
					       const DAT_RMR_TRIPLET *remote)
{
	DAT_RETURN ret;

	if (likely(kdapl_post_vector(ep, op, n, iov, remote, cookie, &ret)))
		return ret;
	return kdapl_post_slow(ep, op, n, iov, remote, cookie, 0);
}

/* One segment with DAT_COMPLETION_SUPPRESS_FLAG */
static __always_inline DAT_RETURN kdapl_quiet(struct kdapl_ep *ep, DAT_DTOS op,
					      const DAT_LMR_TRIPLET *iov, u64 cookie,
					      const DAT_RMR_TRIPLET *remote)
{
	DAT_RETURN ret;

	if (likely(kdapl_post_suppressed(ep, op, iov, remote, cookie, &ret)))
		return ret;
	return kdapl_post_slow(ep, op, 1, iov, remote, cookie, DAT_COMPLETION_SUPPRESS_FLAG);
}

/* A vector with this flag */
static __always_inline DAT_RETURN kdapl_quiet_vector(struct kdapl_ep *ep, DAT_DTOS op, u32 n,
						     const DAT_LMR_TRIPLET *iov, u64 cookie,
						     const DAT_RMR_TRIPLET *remote)
{
	DAT_RETURN ret;

	if (likely(kdapl_post_suppressed_vector(ep, op, n, iov, remote, cookie, &ret)))
		return ret;
	return kdapl_post_slow(ep, op, n, iov, remote, cookie, DAT_COMPLETION_SUPPRESS_FLAG);
}

/* Selects a path for anything but one segment without flags. The functions are constants */
static __always_inline DAT_RETURN kdapl_select(struct kdapl_ep *ep, DAT_DTOS op, u32 n,
					       const DAT_LMR_TRIPLET *iov, u64 cookie,
					       const DAT_RMR_TRIPLET *remote, u32 flags,
					       kdapl_path_fn *vector, kdapl_path_fn *quiet,
					       kdapl_path_fn *quiet_vector)
{
	if (!flags)
		return vector(ep, n, iov, cookie, remote);
	if (flags != DAT_COMPLETION_SUPPRESS_FLAG)
		return kdapl_post_slow(ep, op, n, iov, remote, cookie, flags);
	if (n == 1)
		return quiet(ep, n, iov, cookie, remote);
	return quiet_vector(ep, n, iov, cookie, remote);
}

/*
 * The out-of-line functions of an operation: kdapl_send_one() for a request that the path of one
 * segment refused, kdapl_send_rest() for any request that does not take this path.
 */
#define KDAPL_POST_PATHS(name, op)								\
static noinline DAT_RETURN kdapl_##name##_one(struct kdapl_ep *ep, u32 n,			\
					      const DAT_LMR_TRIPLET *iov, u64 cookie,		\
					      const DAT_RMR_TRIPLET *remote)			\
{												\
	return kdapl_post_slow(ep, op, n, iov, remote, cookie, 0);				\
}												\
												\
static noinline DAT_RETURN kdapl_##name##_vector(struct kdapl_ep *ep, u32 n,			\
						 const DAT_LMR_TRIPLET *iov, u64 cookie,	\
						 const DAT_RMR_TRIPLET *remote)			\
{												\
	return kdapl_vector(ep, op, n, iov, cookie, remote);					\
}												\
												\
static noinline DAT_RETURN kdapl_##name##_quiet(struct kdapl_ep *ep, u32 n,			\
						const DAT_LMR_TRIPLET *iov, u64 cookie,		\
						const DAT_RMR_TRIPLET *remote)			\
{												\
	return kdapl_quiet(ep, op, iov, cookie, remote);					\
}												\
												\
static noinline DAT_RETURN kdapl_##name##_quiet_vector(struct kdapl_ep *ep, u32 n,		\
						       const DAT_LMR_TRIPLET *iov, u64 cookie,	\
						       const DAT_RMR_TRIPLET *remote)		\
{												\
	return kdapl_quiet_vector(ep, op, n, iov, cookie, remote);				\
}												\
												\
static noinline DAT_RETURN kdapl_##name##_rest(struct kdapl_ep *ep, u32 n,			\
					       const DAT_LMR_TRIPLET *iov, u64 cookie,		\
					       const DAT_RMR_TRIPLET *remote, u32 flags)	\
{												\
	return kdapl_select(ep, op, n, iov, cookie, remote, flags, kdapl_##name##_vector,	\
			    kdapl_##name##_quiet, kdapl_##name##_quiet_vector);			\
}

KDAPL_POST_PATHS(send, DAT_DTO_SEND)
KDAPL_POST_PATHS(write, DAT_DTO_RDMA_WRITE)
KDAPL_POST_PATHS(read, DAT_DTO_RDMA_READ)

/* A complete posting call; the operation and the functions are constants in each caller */
static __always_inline DAT_RETURN kdapl_post_request(DAT_EP_HANDLE ep_handle, DAT_DTOS op,
						     DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
						     u64 cookie, const DAT_RMR_TRIPLET *remote,
						     u32 flags, kdapl_path_fn *one,
						     typeof(kdapl_send_rest) *rest)
{
	struct kdapl_obj *obj;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	kdapl_rcu_read_lock_sched();
	if (unlikely(!kdapl_obj_lookup_any(ep_handle, &obj))) {
		kdapl_rcu_read_unlock_sched();
		return KDAPL_BAD_HANDLE(EP);
	}
	ep = to_kdapl_ep(obj);
	if (unlikely(((u32)n - 1) | flags))
		ret = rest(ep, n, iov, cookie, remote, flags);
	else if (unlikely(!kdapl_post_one(ep, op, iov, remote, cookie, NULL, &ret)))
		ret = one(ep, 1, iov, cookie, remote);
	kdapl_rcu_read_unlock_sched();
	return ret;
}

static noinline DAT_RETURN kdapl_send_inv_rest(struct kdapl_ep *ep, DAT_COUNT n,
					       const DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags,
					       DAT_BOOLEAN inv, DAT_RMR_CONTEXT key)
{
	const struct kdapl_request r = {
		.op = DAT_DTO_SEND,
		.n = n,
		.iov = iov,
		.cookie = cookie,
		.flags = flags,
		.inv = inv,
		.key = key,
	};

	return kdapl_post_any(ep, &r);
}

static noinline DAT_RETURN kdapl_send_inv_one(struct kdapl_ep *ep, u32 n,
					      const DAT_LMR_TRIPLET *iov, u64 cookie,
					      DAT_RMR_CONTEXT key)
{
	return kdapl_send_inv_rest(ep, n, iov, cookie, 0, DAT_TRUE, key);
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
 * If the EP is DISCONNECTED, the send is accepted and flushed: its event follows those of all
 * earlier requests.
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
	return kdapl_post_request(ep_handle, DAT_DTO_SEND, num_segments, local_iov,
				  user_cookie.as_64, NULL, completion_flags,
				  kdapl_send_one, kdapl_send_rest);
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
 * The peer's receive event has the operation DAT_DTO_RECEIVE_WITH_INVALIDATE and the key, which is
 * invalid by then. If the peer has no such key, or has it through another connection, the
 * connection breaks at the peer's end. The sender's event has the operation DAT_DTO_SEND.
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
	struct kdapl_obj *obj;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	kdapl_rcu_read_lock_sched();
	if (unlikely(!kdapl_obj_lookup_any(ep_handle, &obj))) {
		kdapl_rcu_read_unlock_sched();
		return KDAPL_BAD_HANDLE(EP);
	}
	ep = to_kdapl_ep(obj);
	if (unlikely((num_segments ^ 1) | completion_flags | (invalidate_flag ^ DAT_TRUE)))
		ret = kdapl_send_inv_rest(ep, num_segments, local_iov, user_cookie.as_64,
					  completion_flags, invalidate_flag, rmr_context);
	else if (unlikely(!kdapl_post_one(ep, DAT_DTO_SEND, local_iov, NULL, user_cookie.as_64,
					  &rmr_context, &ret)))
		ret = kdapl_send_inv_one(ep, 1, local_iov, user_cookie.as_64, rmr_context);
	kdapl_rcu_read_unlock_sched();
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
 * Only the peer's device knows what the remote key permits. If the key does not permit the write,
 * the completion status is DAT_DTO_ERR_REMOTE_ACCESS and the connection breaks.
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
				  user_cookie.as_64, remote_buffer, completion_flags,
				  kdapl_write_one, kdapl_write_rest);
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
				  user_cookie.as_64, remote_buffer, completion_flags,
				  kdapl_read_one, kdapl_read_rest);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read);
