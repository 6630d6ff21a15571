// SPDX-License-Identifier: GPL-2.0
/*
 * Markers and drains, which show that everything before a point has completed.
 *
 * Owns the Provider's own work requests on the queues of an EP. Two send entries and
 * one receive entry are reserved for them in addition to the Consumer's. Called in
 * process context by connection work, reset, free and removal, which hold ep->mutex;
 * the done callbacks run where the CQ is polled.
 *
 * ib_drain_qp() is not used: for an SRQ it waits a minute for an event that some
 * devices never send, and it polls the CQ in the caller's thread, where it would run
 * the callbacks of other users.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include "event/event.h"
#include "post.h"
#include "unsignalled.h"

/* How often a CQ is polled that the core does not poll */
#define KDAPL_DRAIN_POLL_JIFFIES	1

/* Limit of a drain before the QP is destroyed. A variable, so that KUnit can shorten it */
unsigned int kdapl_drain_all_ms = 30000;

/*
 * A marker completed. Both changes are made under the lock, so that they cannot be
 * mixed up with those of the next post of the marker.
 */
static void kdapl_marker_complete(struct kdapl_marker *marker)
{
	unsigned long flags;

	spin_lock_irqsave(&marker->ep->sq.lock, flags);
	marker->busy = false;
	complete_all(&marker->done);
	spin_unlock_irqrestore(&marker->ep->sq.lock, flags);
}

/*
 * Completes the markers that a failed device never completed. Otherwise the next wait for a marker
 * that is in flight would never end. @ep: an EP whose QP was destroyed after its drain had timed
 * out. Process context; the QP is destroyed, and all its completions have been handled.
 */
void kdapl_marker_complete_all(struct kdapl_ep *ep)
{
	kdapl_marker_complete(&ep->drain.tail_marker);
	kdapl_marker_complete(&ep->drain.sq_marker);
	kdapl_marker_complete(&ep->drain.rq_marker);
}

static void kdapl_request_marker_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdapl_marker *marker = container_of(wc->wr_cqe, struct kdapl_marker, cqe);
	struct kdapl_ep *ep = marker->ep;

	kdapl_run_release(&ep->sq, marker->run_end);
	kdapl_marker_complete(marker);
	/* After its drain the EP may be on its way to be freed */
	if (marker == &ep->drain.sq_marker)
		return;
	/* After kdapl_marker_complete(): the work that this schedules may post it again */
	if (wc->status != IB_WC_SUCCESS)
		kdapl_note_error(ep, DAT_DTO_RDMA_WRITE, wc);
	if (READ_ONCE(ep->fast.slow_path) & KDAPL_EP_WATCH)
		kdapl_ep_schedule(ep, KDAPL_TODO_GRACEFUL);
}

static void kdapl_recv_marker_done(struct ib_cq *cq, struct ib_wc *wc)
{
	kdapl_marker_complete(container_of(wc->wr_cqe, struct kdapl_marker, cqe));
}

/*
 * The fence delays a request marker until earlier RDMA reads have completed. Otherwise rxe (6.12)
 * may warn and break the connection: it cannot repeat a read after a request of zero bytes.
 */
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
		/* No bytes: the peer checks neither key nor address */
		marker->rdma.wr.opcode = IB_WR_RDMA_WRITE;
		marker->rdma.wr.send_flags = IB_SEND_SIGNALED | IB_SEND_FENCE;
	}
}

/* Prepares the markers of a new EP. Process context */
void kdapl_marker_init(struct kdapl_ep *ep)
{
	kdapl_marker_init_one(ep, &ep->drain.tail_marker, false);
	kdapl_marker_init_one(ep, &ep->drain.sq_marker, false);
	kdapl_marker_init_one(ep, &ep->drain.rq_marker, true);
	init_completion(&ep->drain.last_wqe);
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
		marker->run_end = kdapl_run_end(sq);
		marker->busy = true;
		marker->refused = ib_post_send(qp, &marker->rdma.wr, NULL);
		if (marker->refused) {
			marker->busy = false;
			complete_all(&marker->done);
		} else {
			kdapl_run_restart(sq);
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
	if (marker == &ep->drain.rq_marker)
		kdapl_post_recv_marker(qp, marker);
	else
		kdapl_post_request_marker(ep, qp, marker);
}

/*
 * Waits for a marker, at most until @deadline. Polls a CQ that may not announce the completion.
 */
static bool kdapl_marker_wait(struct kdapl_ep *ep, struct kdapl_marker *marker,
			      unsigned long deadline)
{
	bool polled = ep->queue.cq->recv || ep->queue.cq->request;
	unsigned long step = polled ? KDAPL_DRAIN_POLL_JIFFIES : msecs_to_jiffies(1000);
	long left;

	kdapl_cq_poll(ep->queue.cq);
	for (;;) {
		left = deadline - jiffies;
		if (wait_for_completion_timeout(&marker->done, clamp_t(long, left, 0, step)))
			return true;
		kdapl_cq_poll(ep->queue.cq);
		if (time_after_eq(jiffies, deadline))
			return try_wait_for_completion(&marker->done);
	}
}

/* Waits for the marker that kdapl_drain_begin() posted; false: @deadline has passed */
static bool kdapl_marker_wait_posted(struct kdapl_ep *ep, struct ib_qp *qp,
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
 * An EP with an SRQ has no receive queue for a marker. The device raises an event when
 * the QP has used its last buffer, but some devices never do. The timeout is short if
 * the caller does not need all completions.
 */
static void kdapl_wait_last_wqe(struct kdapl_ep *ep, bool wait_all, unsigned long since)
{
	unsigned int ms = wait_all ? KDAPL_LAST_WQE_MS : min(KDAPL_LAST_WQE_MS,
							     KDAPL_DRAIN_TIMEOUT_MS / 2);
	long left = since + kdapl_timeout_ms(ms) - jiffies;

	if (completion_done(&ep->drain.last_wqe))
		return;
	if ((left <= 0 || !wait_for_completion_timeout(&ep->drain.last_wqe, left)) && wait_all)
		/* This QP will not be waited for a second time */
		complete_all(&ep->drain.last_wqe);
}

/*
 * A failed device refuses markers, but still completes what was posted: watch the slots
 * themselves. The time spent waiting for the markers counts, because the end event must
 * not come later than C-56 allows.
 */
static int kdapl_drain_by_count(struct kdapl_ep *ep, bool wait_all, unsigned long since)
{
	/* The wait for the last buffer of an SRQ came first and may have used up its time */
	unsigned int ms = KDAPL_DRAIN_TIMEOUT_MS +
			  (wait_all && ep->fast.srq_attached ? KDAPL_LAST_WQE_MS : 0);
	unsigned long deadline = since + kdapl_timeout_ms(ms);

	while (kdapl_pool_posted(&ep->sq.pool) || kdapl_pool_posted(&ep->rq) ||
	       READ_ONCE(ep->drain.tail_marker.busy)) {
		if (time_after_eq(jiffies, deadline))
			return -ETIMEDOUT;
		msleep(20);
		kdapl_cq_poll(ep->queue.cq);
	}
	return 0;
}

/*
 * Keeps a request that was not posted until the QP is drained. @slot: its slot; cqe.done is called
 * after the drain as if the device had flushed it. Any context, sq->lock held.
 */
void kdapl_sq_defer(struct kdapl_sq *sq, struct kdapl_slot *slot)
{
	lockdep_assert_held(&sq->lock);
	/* Not outstanding, so the drain does not wait for it */
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_DONE);
	slot->ev.next = sq->deferred;
	sq->deferred = &slot->ev;
}

static void kdapl_sq_drained(struct kdapl_sq *sq)
{
	struct kdapl_event *ev, *next;

	spin_lock_irq(&sq->lock);
	ev = sq->deferred;
	sq->deferred = NULL;
	spin_unlock_irq(&sq->lock);
	for (; ev; ev = next) {
		struct kdapl_slot *slot = kdapl_slot_of_event(ev);
		struct ib_wc wc = { .wr_cqe = &slot->cqe, .status = IB_WC_WR_FLUSH_ERR };

		next = ev->next;
		slot->cqe.done(NULL, &wc);
	}
}

/*
 * Completes the memory requests that a failed device has kept. Binds, registrations and
 * invalidations are completed as flushed, so that their MRs are updated: it is unknown whether the
 * device has executed them. Such a slot has its own done callback. Free slots, and those of other
 * requests, have the usual one and are left alone.
 *
 * A bind that is posted now finds no QP; it changes the callback of its slot only while it holds
 * sq->lock. @sq: queue whose drain has timed out. Process context; the QP is destroyed.
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
		sq->run_head = slot->ev.run_end;
		slot->cqe.done(NULL, &wc);
	}
	sq->run_head = sq->run_tail;
	local_bh_enable();
}

/*
 * Moves a QP to ERROR and posts the markers. @qp: its present or its previous QP. Process context,
 * ep->mutex held; kdapl_drain_end() must follow.
 */
void kdapl_drain_begin(struct kdapl_ep *ep, struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	lockdep_assert_held(&ep->mutex);
	spin_lock_irq(&ep->lock);
	ep->drain.qp_moved = true;
	spin_unlock_irq(&ep->lock);
	ep->drain.qp_stuck = ib_modify_qp(qp, &attr, IB_QP_STATE);

	/* The marker of an SRQ EP comes after the last buffer: kdapl_drain_end() */
	if (ep->fast.srq_attached)
		return;
	kdapl_post_drain_marker(ep, qp, &ep->drain.rq_marker);
	kdapl_post_drain_marker(ep, qp, &ep->drain.sq_marker);
}

/**
 * kdapl_drain_end - wait for the completions of a QP in ERROR
 * @ep:       the EP
 * @qp:       the QP of kdapl_drain_begin()
 * @wait_all: wait kdapl_drain_all_ms instead of KDAPL_DRAIN_TIMEOUT_MS, because posts are lost when
 *            the QP is destroyed
 * @since:    jiffies from which the timeouts count. A caller that drains many QPs
 *            passes the same value for all, taken after kdapl_drain_begin() of the
 *            last one, so that they share the timeout
 *
 * When 0 is returned, the done callback of every request and receive of the QP has run,
 * unless the Consumer has continued to post. A device may keep some: a failed one
 * refuses the markers, or does not move the QP and so flushes nothing, or accepts everything
 * and completes nothing; and qedr flushes nothing of a QP that has never left INIT. Then
 * -ETIMEDOUT is returned even with @wait_all.
 *
 * Context: process, ep->mutex held.
 * Return: 0 or -ETIMEDOUT.
 */
int kdapl_drain_end(struct kdapl_ep *ep, struct ib_qp *qp, bool wait_all, unsigned long since)
{
	unsigned long deadline;
	int ret = 0;

	lockdep_assert_held(&ep->mutex);
	/* What is not flushed may never complete, so do not wait long */
	if (ep->drain.qp_stuck || !ep->drain.qp_left_init)
		wait_all = false;
	deadline = since + kdapl_timeout_ms(wait_all ? kdapl_drain_all_ms : KDAPL_DRAIN_TIMEOUT_MS);

	if (ep->fast.srq_attached) {
		/* A QP in INIT has used no buffer of the SRQ, so none can be the last */
		if (ep->drain.qp_left_init)
			kdapl_wait_last_wqe(ep, wait_all, since);
		kdapl_post_drain_marker(ep, qp, &ep->drain.sq_marker);
	} else if (!kdapl_marker_wait_posted(ep, qp, &ep->drain.rq_marker, deadline)) {
		return -ETIMEDOUT;
	}
	if (!kdapl_marker_wait_posted(ep, qp, &ep->drain.sq_marker, deadline))
		return -ETIMEDOUT;
	kdapl_cq_poll(ep->queue.cq);
	if (ep->drain.sq_marker.refused || (!ep->fast.srq_attached && ep->drain.rq_marker.refused))
		ret = kdapl_drain_by_count(ep, wait_all, since);
	if (!ret)
		kdapl_sq_drained(&ep->sq);
	return ret;
}

/* Drains the QP of one EP, with the two functions above. Process context, ep->mutex held */
int kdapl_ep_drain(struct kdapl_ep *ep, struct ib_qp *qp, bool wait_all)
{
	kdapl_drain_begin(ep, qp);
	return kdapl_drain_end(ep, qp, wait_all, jiffies);
}

/*
 * Checks whether the peer still answers. Posts a signalled RDMA write of zero bytes, unless one is
 * in flight. Returns false if the device has refused it. Process context, ep->mutex held.
 */
bool kdapl_ep_post_probe(struct kdapl_ep *ep)
{
	struct ib_qp *qp = rcu_dereference_protected(ep->fast.qp, lockdep_is_held(&ep->mutex));
	struct kdapl_marker *marker = &ep->drain.tail_marker;

	if (qp)
		kdapl_post_request_marker(ep, qp, marker);
	return !qp || !marker->posted || !marker->refused;
}

/*
 * Makes sure that the last unsignalled requests complete: posts such a write after them, unless all
 * requests have completed. Returns and context as above.
 */
bool kdapl_ep_post_marker(struct kdapl_ep *ep)
{
	return READ_ONCE(ep->sq.run_head) == READ_ONCE(ep->sq.run_tail) || kdapl_ep_post_probe(ep);
}

/*
 * Returns true if no request is outstanding. A request is outstanding until its own completion, or
 * that of a signalled request after it, is handled. Any context.
 */
bool kdapl_ep_requests_idle(struct kdapl_ep *ep)
{
	return !kdapl_pool_posted(&ep->sq.pool);
}
