// SPDX-License-Identifier: GPL-2.0
/*
 * Completions: from the CQ to the event.
 *
 * Owns the done callbacks of all work requests of Consumers, and parking: completions are
 * parked before the EP is CONNECTED, and ep_state.c delivers or flushes them. Called where a CQ
 * is polled: by the core's CQ code in softirq, by event/polled_cq.c with the lock of the CQ held
 * and interrupts off; also by the connection work.
 *
 * The fast path of a successful completion passes the event to evd_queue.c. One test
 * finds all other cases (an error, a run of unsignalled requests before it, a completion
 * that is suppressed or comes before CONNECTED, a graceful disconnect that waits for
 * this one), which are handled out of line.
 *
 * Only wr_cqe and status of a failed completion are defined, so the operation is
 * read from the slot.
 */
#include <linux/rculist.h>
#include "event/event.h"
#include "post.h"
#include "unsignalled.h"
#include "base/trace.h"

static void kdapl_park_append(struct kdapl_ep *ep, struct kdapl_event *ev)
{
	lockdep_assert_held(&ep->lock);
	/*
	 * The device may announce a parked completion from now on. It does not announce
	 * a software flush that is held back.
	 */
	if (!ep->parked.first && (ep->fast.slow_path & KDAPL_EP_SOLICITED) &&
	    !ep->parked.flushes_held)
		ep->parked.fired = atomic_read(&ep->fast.recv_evd->nfired);
	ev->next = NULL;
	if (ep->parked.last)
		ep->parked.last->next = ev;
	else
		ep->parked.first = ev;
	ep->parked.last = ev;
}

/* Parks a completion of an EP without a connection; false if it has one by now */
static bool kdapl_park(struct kdapl_ep *ep, struct kdapl_event *ev, bool success)
{
	unsigned long flags;
	bool parked = false;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->fast.slow_path & KDAPL_EP_PARK) {
		kdapl_park_append(ep, ev);
		parked = true;
		/* A message has arrived, so the peer is connected: do not wait long for its RTU */
		if (success && ep->state == DAT_EP_STATE_COMPLETION_PENDING)
			kdapl_ep_schedule(ep, KDAPL_TODO_EARLY_RECV);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	return parked;
}

/*
 * Returns true if an error in this state can be the first error of a connection. Flushes do not
 * count once kDAPL has moved the QP to ERROR; other errors that are polled later do. ep->lock held.
 */
static bool kdapl_error_counts(const struct kdapl_ep *ep, enum ib_wc_status status)
{
	if (ep->drain.qp_moved && status == IB_WC_WR_FLUSH_ERR)
		return false;
	return ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
	       ep->state == DAT_EP_STATE_COMPLETION_PENDING ||
	       ep->state == DAT_EP_STATE_CONNECTED ||
	       ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
}

/*
 * When a receive fails, its sender still waits for the device's answer, so the break also waits. A
 * flush comes after the answer. A write with immediate data succeeds on the device and is an error
 * only for kDAPL (kdapl_recv_other()); the connection is broken at once, because otherwise the
 * device would process the next message. The opcode of a failed completion is undefined; at worst
 * the break does not wait.
 */
static enum kdapl_todo kdapl_break_todo(DAT_DTOS op, const struct ib_wc *wc)
{
	return op == DAT_DTO_RECEIVE && wc->status != IB_WC_WR_FLUSH_ERR &&
	       wc->opcode != IB_WC_RECV_RDMA_WITH_IMM ? KDAPL_TODO_REFUSED : KDAPL_TODO_BREAK;
}

/*
 * Records the first error of a connection, and breaks it. Does nothing about a flush after the
 * Provider has moved the QP itself. After a failed receive the break waits until the device has
 * had time to answer the sender. An error before the connection is established breaks it as soon
 * as it is. @op: the operation that failed. Any context.
 */
void kdapl_note_error(struct kdapl_ep *ep, DAT_DTOS op, const struct ib_wc *wc)
{
	bool recv = op == DAT_DTO_RECEIVE || op == DAT_DTO_RECEIVE_WITH_INVALIDATE;
	const struct kdapl_pool *pool = recv ? &ep->rq : &ep->sq.pool;
	struct kdapl_first_error *fe = &ep->first_error;
	unsigned long flags;
	bool breaks;

	spin_lock_irqsave(&ep->lock, flags);
	ep->nerrors += wc->status != IB_WC_WR_FLUSH_ERR;
	breaks = kdapl_error_counts(ep, wc->status);
	/* An error with a known cause replaces a flush, and nothing replaces it */
	if (breaks && (!fe->valid || (fe->status == IB_WC_WR_FLUSH_ERR &&
				      wc->status != IB_WC_WR_FLUSH_ERR))) {
		fe->valid = true;
		fe->op = op;
		fe->status = wc->status;
		fe->vendor = wc->vendor_err;
		fe->outstanding = kdapl_pool_count(pool, KDAPL_SLOT_POSTED);
	}
	if (breaks && (ep->state == DAT_EP_STATE_CONNECTED ||
		       ep->state == DAT_EP_STATE_DISCONNECT_PENDING))
		kdapl_ep_schedule(ep, kdapl_break_todo(op, wc));
	spin_unlock_irqrestore(&ep->lock, flags);
}

static void kdapl_trace_success(const struct kdapl_ep *ep, const struct kdapl_slot *slot)
{
	if (trace_kdapl_complete_enabled())
		trace_kdapl_complete(kdapl_obj_id(&ep->obj), slot->dto.op, kdapl_slot_idx(slot),
				     slot->dto.length);
}

/*
 * Queues the event of a success, which asks for an upcall. If upcalls are disabled, or the owner
 * of the EVD polls, nobody has to be woken
 */
static __always_inline void kdapl_evd_queue_success(struct kdapl_evd *evd, struct kdapl_slot *slot)
{
	if (atomic_read(&evd->state) & KDAPL_EVD_PUSH)
		kdapl_evd_push(evd, &slot->ev);
	else
		kdapl_evd_complete(evd, slot);
}

static void kdapl_trace_failure(const struct kdapl_ep *ep, const struct kdapl_slot *slot,
				const struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		trace_kdapl_complete_flush(kdapl_obj_id(&ep->obj), slot->dto.op,
					   kdapl_slot_idx(slot));
	else
		trace_kdapl_complete_error(kdapl_obj_id(&ep->obj), slot->dto.op,
					   kdapl_slot_idx(slot), wc->status, wc->vendor_err);
}

static DAT_DTO_COMPLETION_STATUS kdapl_status_of(const struct kdapl_slot *slot,
						 enum ib_wc_status status)
{
	switch (slot->dto.op) {
	case DAT_DTO_BIND_MW:
		return status == IB_WC_WR_FLUSH_ERR ? DAT_DTO_ERR_FLUSHED :
						      DAT_RMR_OPERATION_FAILED;
	case DAT_DTO_LMR_FMR:
	case DAT_DTO_LMR_INVALIDATE:
		return kdapl_wc_status_to_mm(status);
	}
	return kdapl_wc_status_to_dto(status, slot->ev.flags & KDAPL_SLOT_RECV);
}

/*
 * The slow path of a completion. @direct: the upcall may run here; the events of
 * receives in solicited-wait mode are always delivered by a work item.
 */
static noinline void kdapl_done_slow(struct kdapl_ep *ep, struct kdapl_slot *slot,
				     struct ib_wc *wc, struct kdapl_evd *evd, bool direct)
{
	bool success = wc->status == IB_WC_SUCCESS;
	bool recv = slot->ev.flags & KDAPL_SLOT_RECV;
	bool watch = READ_ONCE(ep->fast.slow_path) & KDAPL_EP_WATCH;

	if (!success) {
		/* Use the slot first: it may be freed as soon as its event is queued */
		kdapl_note_error(ep, slot->dto.op, wc);
		kdapl_trace_failure(ep, slot, wc);
		slot->dto.status = kdapl_status_of(slot, wc->status);
		slot->ev.notify = true;
		slot->dto.length = 0;
	}
	/* When a buffer was posted to an SRQ, its EP was not known */
	if (success && recv && (READ_ONCE(ep->fast.slow_path) & KDAPL_EP_SOLICITED))
		slot->ev.notify = false;
	if (success && !recv && (slot->ev.flags & KDAPL_SLOT_SUPPRESS))
		kdapl_pool_put(slot);
	else if (!(READ_ONCE(ep->fast.slow_path) & KDAPL_EP_PARK) ||
		 !kdapl_park(ep, &slot->ev, success))
		kdapl_evd_queue(evd, &slot->ev, direct);
	if (watch && !recv)
		kdapl_ep_schedule(ep, KDAPL_TODO_GRACEFUL);
}

/*
 * Any completion of a request: one that ends a run of unsignalled requests, is suppressed,
 * has failed, has completion flags, or is traced.
 */
static noinline void kdapl_request_other(struct kdapl_ep *ep, struct kdapl_slot *slot,
					 struct ib_wc *wc)
{
	kdapl_run_release(&ep->sq, slot->ev.run_end);
	if (unlikely(!(slot->ev.flags & KDAPL_SLOT_SIGNALLED)))
		/* A failed member of a run completes alone; it may be older than run_head */
		kdapl_run_skip(&ep->sq, slot->ev.run_end + 1);
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_DONE);

	if (likely(wc->status == IB_WC_SUCCESS))
		kdapl_trace_success(ep, slot);
	if (unlikely(wc->status != IB_WC_SUCCESS || READ_ONCE(ep->fast.slow_path)))
		kdapl_done_slow(ep, slot, wc, ep->fast.request_evd, true);
	else if (slot->ev.flags & KDAPL_SLOT_SUPPRESS)
		kdapl_pool_put(slot);
	else if (slot->ev.notify)
		kdapl_evd_queue_success(ep->fast.request_evd, slot);
	else
		kdapl_evd_queue(ep->fast.request_evd, &slot->ev, true);
}

/*
 * Completion of a send, RDMA write or RDMA read. One test selects the common case: a success
 * without flags, no request before it to release, an EP in its usual state. Context: done callback.
 */
void kdapl_request_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);
	struct kdapl_ep *ep = slot->ev.ep;

	if (unlikely(trace_kdapl_complete_enabled() ||
		     !kdapl_event_is(&slot->ev, KDAPL_EV_DTO, KDAPL_NOTIFY, KDAPL_SLOT_SIGNALLED,
				     KDAPL_SLOT_POSTED))) {
		kdapl_request_other(ep, slot, wc);
		return;
	}
	/* Before slow_path is read: whoever sets WATCH looks for posted slots after that */
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_DONE);
	/* Success is 0 */
	if (unlikely(wc->status | READ_ONCE(ep->fast.slow_path) |
		     (slot->ev.run_end ^ ep->sq.run_head)))
		kdapl_request_other(ep, slot, wc);
	else
		kdapl_evd_queue_success(ep->fast.request_evd, slot);
}

/*
 * Completion of a bind, fmr or invalidate. Called by the done callbacks of these operations, which
 * update the MRs first. @cq: its CQ; NULL: the device never completed it, and kdapl_sq_abandon()
 * does. Context: done callback; without a CQ the context of a Consumer's call, and no upcall runs.
 */
void kdapl_memory_done(struct ib_cq *cq, struct kdapl_slot *slot, struct ib_wc *wc)
{
	struct kdapl_ep *ep = slot->ev.ep;

	kdapl_run_release(&ep->sq, slot->ev.run_end);
	slot->cqe.done = kdapl_request_done;
	/* The MR has used their place until now */
	slot->dto.status = DAT_DTO_SUCCESS;
	slot->dto.length = 0;
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_DONE);
	if (wc->status == IB_WC_SUCCESS)
		trace_kdapl_complete(kdapl_obj_id(&ep->obj), slot->dto.op, kdapl_slot_idx(slot), 0);
	kdapl_done_slow(ep, slot, wc, ep->fast.request_evd, cq);
}

/*
 * A message invalidated a key. A peer may end what was bound through this EP. The device may
 * check no more than that the key exists (rxe does not). So if a peer has invalidated another key,
 * the key is invalid, its owner is notified, and the connection is broken. The message itself is
 * delivered. Context: done callback.
 *
 * @ep:   the EP that has received it
 * @rkey: the key, as the device reports it
 */
noinline void kdapl_rkey_invalidated(struct kdapl_ep *ep, u32 rkey)
{
	/* Device removal drains every QP before it clears ia->dev */
	struct kdapl_device *dev = READ_ONCE(ep->obj.ia->dev);
	struct ib_wc wc = { .status = IB_WC_REM_INV_REQ_ERR };
	struct kdapl_obj *obj;
	bool legal = true;

	rcu_read_lock();
	obj = dev ? kdapl_key_find(dev, rkey) : NULL;
	if (obj)
		legal = obj->ops->invalidated(obj, ep, rkey);
	rcu_read_unlock();
	if (!legal)
		kdapl_note_error(ep, DAT_DTO_RECEIVE_WITH_INVALIDATE, &wc);
}

/*
 * The slow path of a receive: failed, before CONNECTED, solicited, traced, with an invalidation or
 * with immediate data. An RDMA write with immediate data consumes a receive without writing to its
 * buffer, and reports a length that is not the buffer's. DAT has no such operation and no Consumer
 * sends it; a Consumer that trusted the length would read beyond its buffer. So the receive fails,
 * as if the device had refused it, and the connection breaks. The immediate data of a message is
 * dropped.
 */
static noinline void kdapl_recv_other(struct kdapl_ep *ep, struct kdapl_slot *slot,
				      struct ib_wc *wc)
{
	bool success;

	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_DONE);
	if (wc->status == IB_WC_SUCCESS && wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		wc->status = IB_WC_REM_INV_REQ_ERR;
	success = wc->status == IB_WC_SUCCESS;
	if (success && (wc->wc_flags & IB_WC_WITH_INVALIDATE)) {
		slot->dto.op = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		slot->dto.key = wc->ex.invalidate_rkey;
		/* Before the event: a Consumer that dequeued it finds the RMR unbound (I-10) */
		kdapl_rkey_invalidated(ep, slot->dto.key);
	}
	if (success)
		kdapl_trace_success(ep, slot);
	kdapl_done_slow(ep, slot, wc, ep->fast.recv_evd,
			!(READ_ONCE(ep->fast.slow_path) & KDAPL_EP_SOLICITED));
}

/* Completes a receive of an EP or an SRQ; slot->ev.ep is set */
static __always_inline void kdapl_recv_event(struct kdapl_ep *ep, struct kdapl_slot *slot,
					     struct ib_wc *wc)
{
	slot->dto.length = wc->byte_len;
	/* Success is 0. The flags of a failure are undefined, which does not matter here */
	if (unlikely(trace_kdapl_complete_enabled() ||
		     (wc->status | READ_ONCE(ep->fast.slow_path) |
		      (wc->wc_flags & (IB_WC_WITH_INVALIDATE | IB_WC_WITH_IMM))) ||
		     !kdapl_event_is(&slot->ev, KDAPL_EV_DTO, KDAPL_NOTIFY, KDAPL_SLOT_RECV,
				     KDAPL_SLOT_POSTED))) {
		kdapl_recv_other(ep, slot, wc);
		return;
	}
	/*
	 * Nobody waits for receives by their state, so it may be written after slow_path is read
	 */
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_DONE);
	kdapl_evd_queue_success(ep->fast.recv_evd, slot);
}

/* Completion of a receive posted on an EP. Context: done callback */
void kdapl_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);

	kdapl_recv_event(slot->ev.ep, slot, wc);
}

/* Returns the srq_node of the EP with this QP, or NULL. The caller is in a read section */
static __always_inline struct hlist_node *kdapl_srq_find_ep(struct kdapl_srq *srq,
							    const struct ib_qp *qp)
{
	struct hlist_node *node;

	node = kdapl_rcu_dereference(hlist_first_rcu(&srq->eps[kdapl_srq_bucket(qp)]));
	/* hlist_for_each_entry_rcu() would test for NULL twice */
	for (; likely(node); node = kdapl_rcu_dereference(hlist_next_rcu(node)))
		if (likely(hlist_entry(node, struct kdapl_ep_queue, srq_node)->qp_value == qp))
			return node;
	return NULL;
}

static struct kdapl_srq *kdapl_srq_of(const struct kdapl_slot *slot)
{
	return container_of(kdapl_slot_head(slot)->pool, struct kdapl_srq, pool);
}

/* A slot that a resize added */
static struct kdapl_srq *kdapl_srq_of_more(const struct kdapl_slot *slot)
{
	return container_of(kdapl_slot_head(slot)->pool, struct kdapl_srq_more, pool)->srq;
}

/*
 * The EP that used the buffer is found by the value of the QP pointer. If the drain of
 * that EP timed out, the EP may have been freed. Then the buffer is counted as lost; it
 * stays outstanding, and dat_srq_free() returns it.
 */
static __always_inline void kdapl_srq_recv_event(struct kdapl_srq *srq, struct kdapl_slot *slot,
						 struct ib_wc *wc)
{
	struct hlist_node *node;
	struct kdapl_ep *ep;

	kdapl_rcu_read_lock_done();
	node = kdapl_srq_find_ep(srq, wc->qp);
	if (likely(node)) {
		ep = hlist_entry(node, struct kdapl_ep, queue.srq_node);
		slot->ev.ep = ep;
		kdapl_recv_event(ep, slot, wc);
	} else {
		atomic64_inc(&srq->lost);
	}
	kdapl_rcu_read_unlock_done();
}

/*
 * Completion of a receive posted on an SRQ. @cq: CQ of the EP that used it. Context: done callback.
 */
void kdapl_srq_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);

	kdapl_srq_recv_event(kdapl_srq_of(slot), slot, wc);
}

/*
 * Completion of a receive in a slot that a resize added. @cq: CQ of the EP that used it.
 * Context: done callback.
 */
void kdapl_srq_more_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);

	kdapl_srq_recv_event(kdapl_srq_of_more(slot), slot, wc);
}

static struct kdapl_evd *kdapl_ep_evd_of(struct kdapl_ep *ep, struct kdapl_event *ev)
{
	return ev->flags & KDAPL_SLOT_RECV ? ep->fast.recv_evd : ep->fast.request_evd;
}

static void kdapl_flush_slot(const struct kdapl_ep *ep, struct kdapl_slot *slot)
{
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_DONE);
	slot->dto.status = DAT_DTO_ERR_FLUSHED;
	slot->ev.notify = true;
	slot->dto.length = 0;
	trace_kdapl_complete_flush(kdapl_obj_id(&ep->obj), slot->dto.op, kdapl_slot_idx(slot));
}

/*
 * Completes a post on an EP that has no QP. Any context; a work item delivers the event.
 *
 * @ep:   the EP, in DISCONNECTED
 * @slot: filled in except for the work request
 */
void kdapl_flush_in_software(struct kdapl_ep *ep, struct kdapl_slot *slot)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	/* kdapl_flush_kept() may have completed the slot as one that the device kept */
	if (READ_ONCE(slot->ev.state) != KDAPL_SLOT_POSTED)
		goto out;
	kdapl_flush_slot(ep, slot);
	if (ep->parked.flushes_held)
		kdapl_park_append(ep, &slot->ev);
	else
		kdapl_evd_queue(kdapl_ep_evd_of(ep, &slot->ev), &slot->ev, false);
out:
	spin_unlock_irqrestore(&ep->lock, flags);
}

/* Flushes all posts of a pool, in slot order: their own order is lost. ep->lock held */
static void kdapl_flush_pool(struct kdapl_ep *ep, const struct kdapl_pool *pool)
{
	struct kdapl_slot *slot;
	u32 i;

	for (i = 0; i < pool->depth; i++) {
		slot = kdapl_pool_slot(pool, i);
		/* Pairs with kdapl_recv_fill_slow(): the slot of a receive is complete */
		if (smp_load_acquire(&slot->ev.state) != KDAPL_SLOT_POSTED)
			continue;
		kdapl_flush_slot(ep, slot);
		kdapl_evd_queue(kdapl_ep_evd_of(ep, &slot->ev), &slot->ev, false);
	}
}

/*
 * Completes the posts that the device has never completed. Later posts, which are still held back,
 * complete after these. A receive that another CPU is posting, without a QP, looks like one that
 * the device kept. It is flushed here, and kdapl_flush_in_software() notices that. In both cases
 * each post has one event. @ep: an EP in DISCONNECTED, or one whose reset failed; its QP was
 * destroyed after the drain timed out. Process context; a grace period after the QP was destroyed.
 */
void kdapl_flush_kept(struct kdapl_ep *ep)
{
	/* A request is posted and flushed under one hold of sq.lock */
	spin_lock_irq(&ep->sq.lock);
	spin_lock(&ep->lock);
	kdapl_flush_pool(ep, &ep->sq.pool);
	kdapl_flush_pool(ep, &ep->rq);
	spin_unlock(&ep->lock);
	spin_unlock_irq(&ep->sq.lock);
}

/*
 * Holds back software flushes. From the moment at which posts find no QP until the drain of the QP
 * has ended, a software flush would overtake posts that the device has not flushed yet. @ep: an EP
 * whose QP is about to be removed. Process context.
 */
void kdapl_ep_hold(struct kdapl_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->parked.flushes_held = true;
	spin_unlock_irq(&ep->lock);
}

/*
 * Queues the software flushes that were held back. @ep: an EP whose QP has been drained. Process
 * context.
 */
void kdapl_ep_unhold(struct kdapl_ep *ep)
{
	struct kdapl_event *ev, *next;

	spin_lock_irq(&ep->lock);
	ep->parked.flushes_held = false;
	/* Before a connection the list holds parked completions, which stay there */
	for (ev = ep->fast.slow_path & KDAPL_EP_PARK ? NULL : ep->parked.first; ev; ev = next) {
		next = ev->next;
		kdapl_evd_queue(kdapl_ep_evd_of(ep, ev), ev, false);
	}
	if (!(ep->fast.slow_path & KDAPL_EP_PARK)) {
		ep->parked.first = NULL;
		ep->parked.last = NULL;
	}
	spin_unlock_irq(&ep->lock);
}
