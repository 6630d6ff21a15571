// SPDX-License-Identifier: GPL-2.0
/*
 * Completions: from the CQ to the event.
 *
 * Owns the done callbacks of all Consumer work requests, the release of
 * unsignalled runs, and the moments that completions and the connection
 * share: parking before CONNECTED, the order of ESTABLISHED and what was
 * parked, the flush of what never got a connection. Called by the CQ code of
 * the core in softirq, by solicited.c, and by the connection work.
 *
 * The straight path of a success: release the run before it, give a
 * suppressed one's slot back, hand the event of any other to event.c. All
 * else (an error, a completion before CONNECTED, a graceful disconnect that
 * waits for this one) is told by one test and handled out of line.
 *
 * Only wr_cqe and status of a failed completion are believed: the operation
 * comes from the slot.
 */
#include <linux/rculist.h>
#include "kdapl.h"
#include "trace.h"

/**
 * kdapl_run_release - account for unsignalled requests before a completion
 * @sq:  request queue
 * @end: position in the run ring up to which they have succeeded
 *
 * Members that completed by themselves (an error) have moved run_head past
 * themselves already, so that no slot is given back twice. If run_head has
 * already passed @end, nothing is released: a marker may still complete after
 * kdapl_sq_abandon() has accounted for all requests.
 *
 * Context: done callback of a request; one at a time for an EP.
 */
void kdapl_run_release(struct kdapl_sq *sq, u32 end)
{
	struct kdapl_slot *slot;
	u32 head = sq->run_head;

	/* Positions wrap around, so the sign of the difference tells which is older */
	while ((s32)(end - head) > 0) {
		slot = sq->pool.base + sq->run[head & sq->run_mask];
		head++;
		kdapl_pool_put(&sq->pool, slot);
	}
	WRITE_ONCE(sq->run_head, head);
}

/* Moves run_head on, never back: after kdapl_sq_abandon() positions may be older */
static void kdapl_run_skip(struct kdapl_sq *sq, u32 head)
{
	if ((s32)(head - sq->run_head) > 0)
		WRITE_ONCE(sq->run_head, head);
}

static void kdapl_park_append(struct kdapl_ep *ep, struct kdapl_event *ev)
{
	lockdep_assert_held(&ep->lock);
	/*
	 * What the device announces from now on may be meant for what is parked. A
	 * software flush that is held back was not announced, and its CQ may have gone.
	 */
	if (!ep->parked && ep->scq && !ep->hold)
		ep->parked_fired = atomic_read(&ep->scq->nfired);
	ev->next = NULL;
	if (ep->parked_tail)
		ep->parked_tail->next = ev;
	else
		ep->parked = ev;
	ep->parked_tail = ev;
}

/* Parks a completion of an EP without connection; false if it has one by now */
static bool kdapl_park(struct kdapl_ep *ep, struct kdapl_event *ev, bool success)
{
	unsigned long flags;
	bool parked = false;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->slow & KDAPL_EP_PARK) {
		kdapl_park_append(ep, ev);
		parked = true;
		/* A message is here, so the peer is up: no need to wait for its RTU */
		if (success && ep->state == DAT_EP_STATE_COMPLETION_PENDING)
			kdapl_ep_kick(ep, KDAPL_TODO_EARLY_RECV);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	return parked;
}

/*
 * Can an error in this state be the first of a connection? Flushes are our own
 * doing once we have moved the QP; a cause that is polled only then is not.
 * ep->lock held.
 */
static bool kdapl_error_counts(const struct kdapl_ep *ep, enum ib_wc_status status)
{
	if (ep->qp_moved && status == IB_WC_WR_FLUSH_ERR)
		return false;
	return ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
	       ep->state == DAT_EP_STATE_COMPLETION_PENDING ||
	       ep->state == DAT_EP_STATE_CONNECTED ||
	       ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
}

/*
 * When a receive fails, its sender still waits for the device's answer, so the
 * break waits too. A flush comes after the answer. A write with immediate data
 * succeeds on the device and is an error to kDAPL only (kdapl_recv_other()): break
 * at once, or the device would go on with the next message. The opcode of a failed
 * completion is undefined; at worst the break does not wait.
 */
static enum kdapl_todo kdapl_break_by(DAT_DTOS op, const struct ib_wc *wc)
{
	return op == DAT_DTO_RECEIVE && wc->status != IB_WC_WR_FLUSH_ERR &&
	       wc->opcode != IB_WC_RECV_RDMA_WITH_IMM ? KDAPL_TODO_REFUSED : KDAPL_TODO_BREAK;
}

/**
 * kdapl_note_error - an unsuccessful completion: what it means for its connection
 * @ep: the EP
 * @op: what failed
 * @wc: the completion
 *
 * Keeps the first error, and breaks the connection unless we moved the QP
 * ourselves. After a failed receive the break waits until the device has had time
 * to answer the sender. An error that comes before the connection is established
 * breaks it as soon as it is.
 *
 * Context: any.
 */
void kdapl_note_error(struct kdapl_ep *ep, DAT_DTOS op, const struct ib_wc *wc)
{
	bool recv = op == DAT_DTO_RECEIVE || op == DAT_DTO_RECEIVE_WITH_INVALIDATE;
	const struct kdapl_pool *pool = recv ? &ep->rq : &ep->sq.pool;
	struct kdapl_first_error *fe = &ep->first_error;
	unsigned long flags;
	bool breaks;

	spin_lock_irqsave(&ep->lock, flags);
	breaks = kdapl_error_counts(ep, wc->status);
	/* A cause replaces a flush of unknown cause, nothing replaces a cause */
	if (breaks && (!fe->valid || (fe->status == IB_WC_WR_FLUSH_ERR &&
				      wc->status != IB_WC_WR_FLUSH_ERR))) {
		fe->valid = true;
		fe->op = op;
		fe->status = wc->status;
		fe->vendor = wc->vendor_err;
		fe->behind = kdapl_pool_count(pool, KDAPL_SLOT_POSTED);
	}
	if (breaks && (ep->state == DAT_EP_STATE_CONNECTED ||
		       ep->state == DAT_EP_STATE_DISCONNECT_PENDING))
		kdapl_ep_kick(ep, kdapl_break_by(op, wc));
	spin_unlock_irqrestore(&ep->lock, flags);
}

/* Out of line, so that it costs the straight path no registers */
static __cold noinline void kdapl_trace_success(const struct kdapl_ep *ep,
						const struct kdapl_slot *slot)
{
	trace_kdapl_complete(kdapl_obj_id(&ep->obj), slot->ev.op, kdapl_slot_idx(slot),
			     slot->ev.length);
}

/* The event of a success. Where nobody has to be woken it is only left there */
static __always_inline void kdapl_hand_over(struct kdapl_evd *evd, struct kdapl_event *ev)
{
	if (atomic_read(&evd->claim) & KDAPL_EVD_SILENT)
		kdapl_evd_push(evd, ev);
	else
		kdapl_evd_complete(evd, ev);
}

static void kdapl_trace_failure(const struct kdapl_ep *ep, const struct kdapl_slot *slot,
				const struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		trace_kdapl_complete_flush(kdapl_obj_id(&ep->obj), slot->ev.op,
					   kdapl_slot_idx(slot));
	else
		trace_kdapl_complete_error(kdapl_obj_id(&ep->obj), slot->ev.op,
					   kdapl_slot_idx(slot), wc->status, wc->vendor_err);
}

static DAT_DTO_COMPLETION_STATUS kdapl_status_of(const struct kdapl_slot *slot,
						 enum ib_wc_status status)
{
	switch (slot->ev.op) {
	case DAT_DTO_BIND_MW:
		return status == IB_WC_WR_FLUSH_ERR ? DAT_DTO_ERR_FLUSHED :
						      DAT_RMR_OPERATION_FAILED;
	case DAT_DTO_LMR_FMR:
	case DAT_DTO_LMR_INVALIDATE:
		return kdapl_wc_status_to_mm(status);
	}
	return kdapl_wc_status_to_dto(status, slot->flags & KDAPL_SLOT_RECV);
}

/*
 * What the straight path does not know. @direct: the upcall may run here;
 * receives in solicited-wait mode are always left to the deferred deliverer.
 */
static noinline void kdapl_done_slow(struct kdapl_ep *ep, struct kdapl_slot *slot,
				     struct ib_wc *wc, struct kdapl_evd *evd, bool direct)
{
	bool success = wc->status == IB_WC_SUCCESS;
	bool recv = slot->flags & KDAPL_SLOT_RECV;
	bool watch = READ_ONCE(ep->slow) & KDAPL_EP_WATCH;

	if (!success) {
		/* The slot may go as soon as its event is queued: look at it first */
		kdapl_note_error(ep, slot->ev.op, wc);
		kdapl_trace_failure(ep, slot, wc);
		slot->ev.status = kdapl_status_of(slot, wc->status);
		slot->ev.notify = true;
		slot->ev.length = 0;
	}
	/* A buffer of an SRQ did not know whose it would be */
	if (success && recv && ep->scq)
		slot->ev.notify = false;
	if (success && !recv && (slot->flags & DAT_COMPLETION_SUPPRESS_FLAG))
		kdapl_pool_put(slot->pool, slot);
	else if (!(READ_ONCE(ep->slow) & KDAPL_EP_PARK) || !kdapl_park(ep, &slot->ev, success))
		kdapl_evd_queue(evd, &slot->ev, direct);
	if (watch && !recv)
		kdapl_ep_kick(ep, KDAPL_TODO_GRACEFUL);
}

/**
 * kdapl_request_done - completion of a send, RDMA write or RDMA read
 * @cq: its CQ
 * @wc: the completion
 *
 * Context: softirq.
 */
void kdapl_request_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);
	struct kdapl_ep *ep = slot->ev.ep;

	if (unlikely(ep->sq.run_head != slot->run_end))
		kdapl_run_release(&ep->sq, slot->run_end);
	if (unlikely(!(slot->flags & KDAPL_SLOT_SIGNALLED)))
		/* A failed member of a run completes alone; it may be older than run_head */
		kdapl_run_skip(&ep->sq, slot->run_end + 1);
	WRITE_ONCE(slot->state, KDAPL_SLOT_DONE);

	if (unlikely(wc->status != IB_WC_SUCCESS || READ_ONCE(ep->slow))) {
		kdapl_done_slow(ep, slot, wc, ep->request_evd, true);
		return;
	}
	if (trace_kdapl_complete_enabled())
		kdapl_trace_success(ep, slot);
	if (slot->flags & DAT_COMPLETION_SUPPRESS_FLAG)
		kdapl_pool_put(&ep->sq.pool, slot);
	else
		kdapl_hand_over(ep->request_evd, &slot->ev);
}

/**
 * kdapl_memory_done - completion of a bind, fmr or invalidate
 * @cq:   its CQ; NULL: the device has kept it, kdapl_sq_abandon() speaks for it
 * @slot: its slot
 * @wc:   the completion
 *
 * Called by the done callback proper, which has seen to the MRs.
 *
 * Context: softirq; without a CQ the Consumer's own call, which runs no upcall.
 */
void kdapl_memory_done(struct ib_cq *cq, struct kdapl_slot *slot, struct ib_wc *wc)
{
	struct kdapl_ep *ep = slot->ev.ep;

	kdapl_run_release(&ep->sq, slot->run_end);
	slot->cqe.done = kdapl_request_done;
	WRITE_ONCE(slot->state, KDAPL_SLOT_DONE);
	if (wc->status == IB_WC_SUCCESS)
		trace_kdapl_complete(kdapl_obj_id(&ep->obj), slot->ev.op, kdapl_slot_idx(slot), 0);
	kdapl_done_slow(ep, slot, wc, ep->request_evd, cq);
}

/*
 * A receive that is not the usual: failed, early, solicited, with an
 * invalidation or with immediate data. An RDMA write with such data takes a
 * receive, puts nothing into it, and has a length that is not the receive's:
 * DAT has no word for it, no Consumer sends it, and who believed its length
 * would look behind his buffer. It fails like any request that the device
 * refuses, and breaks the connection. A message's immediate data are dropped.
 */
static noinline void kdapl_recv_other(struct kdapl_ep *ep, struct kdapl_slot *slot,
				      struct ib_wc *wc)
{
	bool success;

	if (wc->status == IB_WC_SUCCESS && wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		wc->status = IB_WC_REM_INV_REQ_ERR;
	success = wc->status == IB_WC_SUCCESS;
	if (success && (wc->wc_flags & IB_WC_WITH_INVALIDATE)) {
		slot->ev.op = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		slot->invalidated = wc->ex.invalidate_rkey;
		/* Before the event: who sees it finds the RMR unbound (I-10) */
		kdapl_fast_invalidated(ep, slot->invalidated);
	}
	if (success && trace_kdapl_complete_enabled())
		kdapl_trace_success(ep, slot);
	kdapl_done_slow(ep, slot, wc, ep->recv_evd, !ep->scq);
}

/* A receive of an EP or an SRQ, its EP known */
static __always_inline void kdapl_recv_event(struct kdapl_ep *ep, struct kdapl_slot *slot,
					     struct ib_wc *wc)
{
	WRITE_ONCE(slot->state, KDAPL_SLOT_DONE);
	slot->ev.length = wc->byte_len;
	/* Success is 0; flags of a failure mean nothing, which does no harm here */
	if (unlikely(wc->status | READ_ONCE(ep->slow) |
		     (wc->wc_flags & (IB_WC_WITH_INVALIDATE | IB_WC_WITH_IMM)))) {
		kdapl_recv_other(ep, slot, wc);
		return;
	}
	if (trace_kdapl_complete_enabled())
		kdapl_trace_success(ep, slot);
	kdapl_hand_over(ep->recv_evd, &slot->ev);
}

/**
 * kdapl_recv_done - completion of a receive posted on an EP
 * @cq: its CQ
 * @wc: the completion
 *
 * Context: softirq; or any, from a solicited CQ's poller.
 */
void kdapl_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);

	kdapl_recv_event(slot->ev.ep, slot, wc);
}

/*
 * The EP that took the buffer is found by the value of the QP pointer, which
 * may be stale when its drain ran into its bound: then nobody is left to be
 * told, the buffer counts as lost, stays outstanding, and dat_srq_free returns it.
 */
static __always_inline void kdapl_srq_recv_event(struct kdapl_srq *srq, struct kdapl_slot *slot,
						 struct ib_wc *wc)
{
	struct hlist_node *node;
	struct kdapl_ep *ep;

	kdapl_done_lock();
	node = kdapl_dereference(hlist_first_rcu(&srq->eps[kdapl_srq_bucket(wc->qp)]));
	/* By nodes: a walk by entries tests for NULL twice */
	for (; likely(node); node = kdapl_dereference(hlist_next_rcu(node))) {
		ep = hlist_entry(node, struct kdapl_ep, srq_node);
		if (likely(ep->qp_value == wc->qp)) {
			slot->ev.ep = ep;
			kdapl_recv_event(ep, slot, wc);
			goto out;
		}
	}
	atomic64_inc(&srq->lost);
out:
	kdapl_done_unlock();
}

/**
 * kdapl_srq_recv_done - completion of a receive posted on an SRQ
 * @cq: CQ of the EP that took it
 * @wc: the completion
 *
 * Context: softirq; or any, from a solicited CQ's poller.
 */
void kdapl_srq_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);

	kdapl_srq_recv_event(container_of(slot->pool, struct kdapl_srq, pool), slot, wc);
}

/**
 * kdapl_srq_more_done - likewise, in a slot that the SRQ was not made with
 * @cq: CQ of the EP that took it
 * @wc: the completion
 *
 * Context: softirq; or any, from a solicited CQ's poller.
 */
void kdapl_srq_more_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_slot *slot = kdapl_slot_of_cqe(wc->wr_cqe);

	kdapl_srq_recv_event(container_of(slot->pool, struct kdapl_srq_more, pool)->srq, slot, wc);
}

/* What the state lets through: contract 4.13 */
static u8 kdapl_ep_post_mask(const struct kdapl_ep *ep, DAT_EP_STATE state)
{
	u8 mask = ep->srq_attached ? 0 : KDAPL_EP_MAY_RECV;

	switch (state) {
	case DAT_EP_STATE_UNCONFIGURED_UNCONNECTED:
	case DAT_EP_STATE_UNCONFIGURED_RESERVED:
	case DAT_EP_STATE_UNCONFIGURED_PASSIVE:
	case DAT_EP_STATE_UNCONFIGURED_TENTATIVE:
		return 0;
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECTED:
	case DAT_EP_STATE_CONNECTED_SINGLE_PATH:
	case DAT_EP_STATE_CONNECTED_MULTI_PATH:
		return mask | KDAPL_EP_MAY_SEND;
	default:
		return mask;
	}
}

/* What may take the straight way of a post */
static u8 kdapl_ep_straight_mask(const struct kdapl_ep *ep, u8 post)
{
	u8 mask = 0;

	if (post & KDAPL_EP_MAY_SEND) {
		mask |= ep->max_send_iov ? BIT(DAT_DTO_SEND) : 0;
		mask |= ep->max_write_iov ? BIT(DAT_DTO_RDMA_WRITE) : 0;
		mask |= ep->max_read_iov ? BIT(DAT_DTO_RDMA_READ) : 0;
	}
	/* In solicited-wait mode it is never the message that notifies */
	if ((post & KDAPL_EP_MAY_RECV) && !ep->scq && ep->max_recv_iov)
		mask |= BIT(DAT_DTO_RECEIVE);
	return mask;
}

/* Queues what is parked, FLUSHED if there is no connection to it, and parks no more */
static void kdapl_ep_unpark(struct kdapl_ep *ep, bool flush)
{
	struct kdapl_event *ev, *next;

	lockdep_assert_held(&ep->lock);
	for (ev = ep->parked; ev; ev = next) {
		next = ev->next;
		if (flush) {
			ev->status = DAT_DTO_ERR_FLUSHED;
			ev->notify = true;
			ev->length = 0;
			ev->op = DAT_DTO_RECEIVE;
		}
		kdapl_evd_queue(ep->recv_evd, ev, false);
	}
	/*
	 * The device announced a solicited message while it was parked. The mark
	 * is set for all that is queued by now; an announcement that comes later
	 * finds it queued (kdapl_scq_work() counts first, then marks).
	 */
	smp_mb();
	if (!flush && ep->parked && ep->scq && atomic_read(&ep->scq->nfired) != ep->parked_fired)
		kdapl_evd_notify_all(ep->recv_evd);
	ep->parked = NULL;
	ep->parked_tail = NULL;
	/* Last: who finds PARK gone without the lock comes behind what was parked */
	smp_store_release(&ep->slow, ep->slow & ~KDAPL_EP_PARK);
}

/**
 * kdapl_ep_set_state - change the state of an EP
 * @ep:    the EP
 * @state: new state; CONNECTED only from kdapl_ep_go_live()
 *
 * Context: any; ep->lock held.
 */
void kdapl_ep_set_state(struct kdapl_ep *ep, DAT_EP_STATE state)
{
	u8 slow = ep->slow & ~KDAPL_EP_WATCH;

	lockdep_assert_held(&ep->lock);
	trace_kdapl_ep_state(kdapl_obj_id(&ep->obj), ep->state, state);
	if (state == DAT_EP_STATE_DISCONNECT_PENDING)
		slow |= KDAPL_EP_WATCH;
	WRITE_ONCE(ep->slow, slow);
	WRITE_ONCE(ep->post, kdapl_ep_post_mask(ep, state));
	WRITE_ONCE(ep->straight, kdapl_ep_straight_mask(ep, ep->post));
	WRITE_ONCE(ep->state, state);
	if (state == DAT_EP_STATE_DISCONNECTED) {
		kdapl_ep_unpark(ep, true);
		/* A receive posted just before was not known to be a flush */
		if (ep->scq)
			kdapl_scq_flush_soon(ep->scq);
	}
}

/**
 * kdapl_ep_queue_conn - queue an outcome or end event
 * @ep:          the EP; its connect EVD takes the event
 * @ce:          ep->outcome or ep->end
 * @number:      DAT_CONNECTION_EVENT_*
 * @private_len: bytes of ep->private_in that belong to it
 *
 * Context: any; ep->lock held, the state already changed (C-42).
 */
void kdapl_ep_queue_conn(struct kdapl_ep *ep, struct kdapl_conn_event *ce,
			 DAT_EVENT_NUMBER number, u16 private_len)
{
	lockdep_assert_held(&ep->lock);
	ce->ev.kind = KDAPL_EV_CONN;
	ce->ev.ep = ep;
	ce->ev.notify = true;
	ce->number = number;
	ce->private_len = private_len;
	kdapl_evd_queue(ep->connect_evd, &ce->ev, false);
}

/**
 * kdapl_ep_go_live - the connection is there
 * @ep: the EP
 *
 * Context: process or softirq, the QP in RTS; takes ep->lock.
 * Return: false, and nothing is done, if the EP waits for no outcome (any more).
 */
bool kdapl_ep_go_live(struct kdapl_ep *ep)
{
	unsigned long flags;
	bool live;

	spin_lock_irqsave(&ep->lock, flags);
	live = ep->live_attempt && (ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
				    ep->state == DAT_EP_STATE_COMPLETION_PENDING);
	if (live) {
		ep->live_attempt = false;
		ep->end_owed = true;
		kdapl_ep_set_state(ep, DAT_EP_STATE_CONNECTED);
		kdapl_ep_queue_conn(ep, &ep->outcome, DAT_CONNECTION_EVENT_ESTABLISHED,
				    ep->private_in_len);
		kdapl_ep_unpark(ep, false);
		/*
		 * A receive that failed (G-31), or a peer that did what it must not (I-05),
		 * before this moment
		 */
		if (ep->first_error.valid)
			kdapl_ep_kick(ep, KDAPL_TODO_BREAK);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	return live;
}

static struct kdapl_evd *kdapl_ep_evd_of(struct kdapl_ep *ep, struct kdapl_event *ev)
{
	return kdapl_slot_of_event(ev)->flags & KDAPL_SLOT_RECV ? ep->recv_evd : ep->request_evd;
}

static void kdapl_flush_slot(const struct kdapl_ep *ep, struct kdapl_slot *slot)
{
	WRITE_ONCE(slot->state, KDAPL_SLOT_DONE);
	slot->ev.status = DAT_DTO_ERR_FLUSHED;
	slot->ev.notify = true;
	slot->ev.length = 0;
	trace_kdapl_complete_flush(kdapl_obj_id(&ep->obj), slot->ev.op, kdapl_slot_idx(slot));
}

/**
 * kdapl_flush_in_software - complete a post on an EP that has no QP
 * @ep:   the EP, in DISCONNECTED
 * @slot: filled in but for the work request
 *
 * Context: any, the deferred deliverer hands the event over.
 */
void kdapl_flush_in_software(struct kdapl_ep *ep, struct kdapl_slot *slot)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	/* kdapl_flush_kept() may have taken the slot for one that the device kept */
	if (READ_ONCE(slot->state) != KDAPL_SLOT_POSTED)
		goto out;
	kdapl_flush_slot(ep, slot);
	if (ep->hold)
		kdapl_park_append(ep, &slot->ev);
	else
		kdapl_evd_queue(kdapl_ep_evd_of(ep, &slot->ev), &slot->ev, false);
out:
	spin_unlock_irqrestore(&ep->lock, flags);
}

/* Flushes all posts of a pool, in slot order; only the device knew theirs. ep->lock held */
static void kdapl_flush_pool(struct kdapl_ep *ep, const struct kdapl_pool *pool)
{
	struct kdapl_slot *slot;
	u32 i;

	for (i = 0; i < pool->depth; i++) {
		slot = kdapl_pool_slot(pool, i);
		if (READ_ONCE(slot->state) != KDAPL_SLOT_POSTED)
			continue;
		kdapl_flush_slot(ep, slot);
		kdapl_evd_queue(kdapl_ep_evd_of(ep, &slot->ev), &slot->ev, false);
	}
}

/**
 * kdapl_flush_kept - complete the posts that the device has kept
 * @ep: an EP in DISCONNECTED whose QP was destroyed after its drain timed out
 *
 * Later posts that are still held back complete after these. A receive that is being
 * posted right now, without a QP, cannot be told from one that the device kept: it is
 * flushed here, and kdapl_flush_in_software() sees that. Either way each post has one
 * event.
 *
 * Context: process; a grace period after the QP was destroyed.
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

/**
 * kdapl_ep_hold - keep software flushes back
 * @ep: an EP whose QP is about to go
 *
 * Between the moment at which posts find no QP and the end of its drain, a
 * software flush would overtake posts that the device has still to flush.
 *
 * Context: process.
 */
void kdapl_ep_hold(struct kdapl_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->hold = true;
	spin_unlock_irq(&ep->lock);
}

/**
 * kdapl_ep_unhold - queue the software flushes kept back
 * @ep: an EP whose QP has been drained
 *
 * Context: process.
 */
void kdapl_ep_unhold(struct kdapl_ep *ep)
{
	struct kdapl_event *ev, *next;

	spin_lock_irq(&ep->lock);
	ep->hold = false;
	/* Before a connection it is a parked completion, not ours to hand out */
	for (ev = ep->slow & KDAPL_EP_PARK ? NULL : ep->parked; ev; ev = next) {
		next = ev->next;
		kdapl_evd_queue(kdapl_ep_evd_of(ep, ev), ev, false);
	}
	if (!(ep->slow & KDAPL_EP_PARK)) {
		ep->parked = NULL;
		ep->parked_tail = NULL;
	}
	spin_unlock_irq(&ep->lock);
}
