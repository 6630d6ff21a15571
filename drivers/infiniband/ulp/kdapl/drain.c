// SPDX-License-Identifier: GPL-2.0
/*
 * Markers and drains: knowing that everything before a point has completed.
 *
 * Owns the work requests of our own on an EP's queues, for which two send
 * entries and one receive entry are kept beside the Consumer's. Called in
 * process context by connection work, reset, free and removal, which hold
 * ep->mutex; the done callbacks run in softirq.
 *
 * Not ib_drain_qp(): for an SRQ it waits a minute for an event that some
 * devices never send, and it polls the CQ, and so runs other users'
 * callbacks, in our thread.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include "kdapl.h"

/* How often a CQ is polled that does not call for flushes */
#define KDAPL_SCQ_POLL_JIFFIES	1

/*
 * The marker is back: one step under the lock, so that whoever posts it again
 * does not meet the completion of its last turn.
 */
static void kdapl_marker_back(struct kdapl_marker *marker)
{
	unsigned long flags;

	spin_lock_irqsave(&marker->ep->sq.lock, flags);
	marker->busy = false;
	complete_all(&marker->done);
	spin_unlock_irqrestore(&marker->ep->sq.lock, flags);
}

/**
 * kdapl_marker_forget - markers that a failed device kept
 * @ep: an EP whose QP went with its drain timed out
 *
 * Who waits for one that is under way must not wait for these.
 *
 * Context: process; the QP is destroyed, the completions it left are handled.
 */
void kdapl_marker_forget(struct kdapl_ep *ep)
{
	kdapl_marker_back(&ep->marker);
	kdapl_marker_back(&ep->sq_drain);
	kdapl_marker_back(&ep->rq_drain);
}

static void kdapl_request_marker_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_marker *marker = container_of(wc->wr_cqe, struct kdapl_marker, cqe);
	struct kdapl_ep *ep = marker->ep;

	kdapl_run_release(&ep->sq, marker->run_end);
	kdapl_marker_back(marker);
	/* Behind its drain an EP may be going already */
	if (marker == &ep->sq_drain)
		return;
	/* After it is back: the work that this wakes may want to post it again */
	if (wc->status != IB_WC_SUCCESS)
		kdapl_note_error(ep, DAT_DTO_RDMA_WRITE, wc);
	if (READ_ONCE(ep->slow) & KDAPL_EP_WATCH)
		kdapl_ep_kick(ep, KDAPL_TODO_GRACEFUL);
}

static void kdapl_recv_marker_done(struct ib_cq *cq, struct ib_wc *wc)
{
	kdapl_marker_back(container_of(wc->wr_cqe, struct kdapl_marker, cqe));
}

static void kdapl_marker_init_one(struct kdapl_ep *ep, struct kdapl_marker *marker, bool recv)
{
	marker->ep = ep;
	init_completion(&marker->done);
	if (recv) {
		marker->cqe.done = kdapl_recv_marker_done;
		marker->recv.wr_cqe = &marker->cqe;
	} else {
		marker->cqe.done = kdapl_request_marker_done;
		marker->rdma.wr.wr_cqe = &marker->cqe;
		/* No bytes, so that neither key nor address is looked at by the peer */
		marker->rdma.wr.opcode = IB_WR_RDMA_WRITE;
		marker->rdma.wr.send_flags = IB_SEND_SIGNALED;
	}
}

/**
 * kdapl_marker_init - prepare the markers of a new EP
 * @ep: the EP
 *
 * Context: process.
 */
void kdapl_marker_init(struct kdapl_ep *ep)
{
	kdapl_marker_init_one(ep, &ep->marker, false);
	kdapl_marker_init_one(ep, &ep->sq_drain, false);
	kdapl_marker_init_one(ep, &ep->rq_drain, true);
	init_completion(&ep->last_wqe);
}

/* Posts a request marker after all queued requests, unless it is in flight already */
static void kdapl_post_request_marker(struct kdapl_ep *ep, struct ib_qp *qp,
				      struct kdapl_marker *marker)
{
	struct kdapl_sq *sq = &ep->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	marker->posted = !marker->busy;
	if (marker->posted) {
		reinit_completion(&marker->done);
		marker->run_end = sq->run_tail;
		sq->run_len = 0;
		marker->busy = true;
		marker->refused = ib_post_send(qp, &marker->rdma.wr, NULL);
		if (marker->refused) {
			marker->busy = false;
			complete_all(&marker->done);
		}
	}
	spin_unlock_irqrestore(&sq->lock, flags);
}

static void kdapl_post_recv_marker(struct ib_qp *qp, struct kdapl_marker *marker)
{
	struct kdapl_sq *sq = &marker->ep->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	marker->posted = !marker->busy;
	if (marker->posted) {
		reinit_completion(&marker->done);
		marker->busy = true;
		marker->refused = ib_post_recv(qp, &marker->recv, NULL);
		if (marker->refused) {
			marker->busy = false;
			complete_all(&marker->done);
		}
	}
	spin_unlock_irqrestore(&sq->lock, flags);
}

static void kdapl_post_drain_marker(struct kdapl_ep *ep, struct ib_qp *qp,
				    struct kdapl_marker *marker)
{
	if (marker == &ep->rq_drain)
		kdapl_post_recv_marker(qp, marker);
	else
		kdapl_post_request_marker(ep, qp, marker);
}

/* Waits for a marker, at most until @deadline (0: for ever), polling a CQ that may be mute */
static bool kdapl_marker_wait(struct kdapl_ep *ep, struct kdapl_marker *marker,
			      unsigned long deadline)
{
	unsigned long step = ep->scq ? KDAPL_SCQ_POLL_JIFFIES : msecs_to_jiffies(1000);
	long left;

	for (;;) {
		left = deadline ? (long)(deadline - jiffies) : (long)step;
		if (wait_for_completion_timeout(&marker->done, clamp_t(long, left, 0, step)))
			return true;
		if (ep->scq)
			kdapl_scq_poll(ep->scq);
		if (deadline && time_after_eq(jiffies, deadline))
			return try_wait_for_completion(&marker->done);
	}
}

/* Waits for the marker that kdapl_drain_begin() has posted; false: @deadline has passed */
static bool kdapl_marker_settle(struct kdapl_ep *ep, struct ib_qp *qp,
				struct kdapl_marker *marker, unsigned long deadline)
{
	while (kdapl_marker_wait(ep, marker, deadline)) {
		if (marker->posted)
			return true;
		/* A marker left from a drain that timed out covers no later posts */
		kdapl_post_drain_marker(ep, qp, marker);
	}
	return false;
}

/*
 * An SRQ EP has no receive queue to put a marker on: the device says when it
 * has taken its last buffer, or never does. The bound is short where it is
 * known not to.
 */
static void kdapl_wait_last_wqe(struct kdapl_ep *ep, bool wait_all, unsigned long since)
{
	unsigned int ms = wait_all ? KDAPL_LAST_WQE_MS : min(KDAPL_LAST_WQE_MS,
							     KDAPL_DRAIN_TIMEOUT_MS / 2);
	long left = since + kdapl_timeout_ms(ms) - jiffies;

	if (completion_done(&ep->last_wqe))
		return;
	if ((left <= 0 || !wait_for_completion_timeout(&ep->last_wqe, left)) && wait_all)
		/* This QP will not be waited for a second time */
		complete_all(&ep->last_wqe);
}

/*
 * A device that takes no marker any more (it has failed) still gives back
 * what it has: watch the slots themselves. The time spent waiting for the markers
 * counts, because the end event must not come later than C-56 allows.
 */
static int kdapl_drain_by_count(struct kdapl_ep *ep, bool wait_all, unsigned long since)
{
	/* The wait for the last buffer of an SRQ came first, and may have used all of its time */
	unsigned int ms = KDAPL_DRAIN_TIMEOUT_MS +
			  (wait_all && ep->srq_attached ? KDAPL_LAST_WQE_MS : 0);
	unsigned long deadline = since + kdapl_timeout_ms(ms);

	while (kdapl_pool_count(&ep->sq.pool, KDAPL_SLOT_POSTED) ||
	       kdapl_pool_count(&ep->rq, KDAPL_SLOT_POSTED) || READ_ONCE(ep->marker.busy)) {
		if (time_after(jiffies, deadline))
			return -ETIMEDOUT;
		msleep(20);
		if (ep->scq)
			kdapl_scq_poll(ep->scq);
	}
	return 0;
}

/**
 * kdapl_sq_strand - keep a request until the QP is drained
 * @sq:   queue
 * @slot: its slot; the device has not got the request, its cqe.done is called
 *        as if that had been flushed
 *
 * Context: any, sq->lock held.
 */
void kdapl_sq_strand(struct kdapl_sq *sq, struct kdapl_slot *slot)
{
	lockdep_assert_held(&sq->lock);
	/* Not outstanding: the drain need not wait for it */
	WRITE_ONCE(slot->state, KDAPL_SLOT_DONE);
	slot->ev.next = sq->stranded;
	sq->stranded = &slot->ev;
}

static void kdapl_sq_drained(struct kdapl_sq *sq)
{
	struct kdapl_event *ev, *next;

	spin_lock_irq(&sq->lock);
	ev = sq->stranded;
	sq->stranded = NULL;
	spin_unlock_irq(&sq->lock);
	for (; ev; ev = next) {
		struct kdapl_slot *slot = kdapl_slot_of_event(ev);
		struct ib_wc wc = { .wr_cqe = &slot->cqe, .status = IB_WC_WR_FLUSH_ERR };

		next = ev->next;
		slot->cqe.done(NULL, &wc);
	}
}

/**
 * kdapl_sq_abandon - requests that a failed device kept
 * @sq: queue whose drain has timed out
 *
 * Requests that speak of memory are told to their MRs, which nobody else would
 * do: what the device made of them is unknown. Their events are flushes. Free
 * slots, and those of other requests, have the usual done callback.
 *
 * Whoever posts now finds no QP: a slot has its other callback for as long as sq->lock
 * is held only.
 *
 * Context: process; the QP is destroyed.
 */
void kdapl_sq_abandon(struct kdapl_sq *sq)
{
	struct kdapl_slot *slot;
	bool kept;
	u32 i;

	kdapl_sq_drained(sq);
	local_bh_disable();
	for (i = 0; i < sq->pool.depth; i++) {
		struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };

		slot = kdapl_pool_slot(&sq->pool, i);
		spin_lock_irq(&sq->lock);
		kept = slot->cqe.done != kdapl_request_done;
		spin_unlock_irq(&sq->lock);
		if (!kept)
			continue;
		wc.wr_cqe = &slot->cqe;
		/* Not in the order of the queue: release no run */
		sq->run_head = slot->run_end;
		slot->cqe.done(NULL, &wc);
	}
	sq->run_head = sq->run_tail;
	local_bh_enable();
}

/**
 * kdapl_drain_begin - move a QP to ERROR and post the markers
 * @ep: the EP
 * @qp: its current or its previous QP
 *
 * Context: process, ep->mutex held; kdapl_drain_end() follows.
 */
void kdapl_drain_begin(struct kdapl_ep *ep, struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	lockdep_assert_held(&ep->mutex);
	spin_lock_irq(&ep->lock);
	ep->qp_moved = true;
	spin_unlock_irq(&ep->lock);
	ep->qp_stuck = ib_modify_qp(qp, &attr, IB_QP_STATE);

	/* The marker of an SRQ EP comes after the last buffer: kdapl_drain_end() */
	if (ep->srq_attached)
		return;
	kdapl_post_drain_marker(ep, qp, &ep->rq_drain);
	kdapl_post_drain_marker(ep, qp, &ep->sq_drain);
}

/**
 * kdapl_drain_end - wait for the completions of a QP in ERROR
 * @ep:       the EP
 * @qp:       the QP of kdapl_drain_begin()
 * @wait_all: wait without a bound, because the QP is about to be destroyed
 * @since:    jiffies from which the time-outs count. A caller that drains many QPs
 *            passes the same value for all, taken after kdapl_drain_begin() of the
 *            last one, so that they share the time-out
 *
 * Every request and receive of the QP has been through its done callback
 * when 0 is returned, unless the Consumer goes on posting. A device may keep some:
 * a failed one refuses the markers, or does not move the QP and so flushes nothing,
 * and qedr flushes nothing of a QP that has never left INIT. Then -ETIMEDOUT is
 * returned even with @wait_all.
 *
 * Context: process, ep->mutex held.
 * Return: 0, -ETIMEDOUT.
 */
int kdapl_drain_end(struct kdapl_ep *ep, struct ib_qp *qp, bool wait_all, unsigned long since)
{
	unsigned long deadline = since + kdapl_timeout_ms(KDAPL_DRAIN_TIMEOUT_MS);
	int ret = 0;

	lockdep_assert_held(&ep->mutex);
	/* What is not flushed may never come: no reason to wait for ever */
	if (ep->qp_stuck || !ep->raised)
		wait_all = false;
	/* 0 is for ever */
	deadline = wait_all ? 0 : deadline ?: 1;

	if (ep->srq_attached) {
		/* A QP in INIT took no buffer of the SRQ, so none can be the last */
		if (ep->raised)
			kdapl_wait_last_wqe(ep, wait_all, since);
		kdapl_post_drain_marker(ep, qp, &ep->sq_drain);
	} else if (!kdapl_marker_settle(ep, qp, &ep->rq_drain, deadline)) {
		return -ETIMEDOUT;
	}
	if (!kdapl_marker_settle(ep, qp, &ep->sq_drain, deadline))
		return -ETIMEDOUT;
	if (ep->scq)
		kdapl_scq_poll(ep->scq);
	if (ep->sq_drain.refused || (!ep->srq_attached && ep->rq_drain.refused))
		ret = kdapl_drain_by_count(ep, wait_all, since);
	if (!ret)
		kdapl_sq_drained(&ep->sq);
	return ret;
}

/**
 * kdapl_ep_drain - drain the QP of one EP
 * @ep:       the EP
 * @qp:       as kdapl_drain_begin()
 * @wait_all: as kdapl_drain_end()
 *
 * Context: process, ep->mutex held.
 * Return: 0, -ETIMEDOUT.
 */
int kdapl_ep_drain(struct kdapl_ep *ep, struct ib_qp *qp, bool wait_all)
{
	kdapl_drain_begin(ep, qp);
	return kdapl_drain_end(ep, qp, wait_all, jiffies);
}

/**
 * kdapl_ep_post_marker - find out about an unsignalled tail
 * @ep: the EP, connected
 *
 * Posts a signalled request of no bytes behind it, unless one is under way
 * or there is no such tail.
 *
 * Context: process, ep->mutex held.
 */
void kdapl_ep_post_marker(struct kdapl_ep *ep)
{
	struct ib_qp *qp = rcu_dereference_protected(ep->qp, lockdep_is_held(&ep->mutex));

	if (qp && READ_ONCE(ep->sq.run_head) != READ_ONCE(ep->sq.run_tail))
		kdapl_post_request_marker(ep, qp, &ep->marker);
}

/**
 * kdapl_ep_post_probe - find out whether the peer still answers
 * @ep: the EP, connected
 *
 * Posts a signalled RDMA write of zero bytes, unless one is in flight.
 *
 * Context: process, ep->mutex held.
 */
void kdapl_ep_post_probe(struct kdapl_ep *ep)
{
	struct ib_qp *qp = rcu_dereference_protected(ep->qp, lockdep_is_held(&ep->mutex));

	kdapl_post_request_marker(ep, qp, &ep->marker);
}

/**
 * kdapl_ep_requests_idle - is no request outstanding?
 * @ep: the EP
 *
 * A request counts until its completion is known, its own or that of a
 * signalled one behind it.
 *
 * Context: any.
 */
bool kdapl_ep_requests_idle(struct kdapl_ep *ep)
{
	return !kdapl_pool_count(&ep->sq.pool, KDAPL_SLOT_POSTED);
}
