// SPDX-License-Identifier: GPL-2.0
/*
 * Connections: the one work item that handles the events of the CM.
 *
 * Owns an EP from the start of a connection attempt until the connection has ended: the
 * QP transitions, the outcome event, the end event, and the cm_id. cm_connect.c begins
 * attempts and disconnects, cr.c passes in the ids of accepted requests, and
 * ep_teardown.c ends the remaining objects.
 *
 * The callbacks (cm_event.c) set bits in ep->conn.todo and queue ep->conn.work. The work continues
 * and ends connections, under ep->mutex; dat_ep_disconnect() only moves CONNECTED to
 * DISCONNECT_PENDING, under ep->lock. Each step checks the state first, so a bit that is set too
 * late has no effect.
 *
 * A connection that ended may linger (enum kdapl_linger, kdapl-locking.rst). The work does not
 * sleep meanwhile; ep->conn.timer queues it again.
 *
 * ep->mutex is taken before handler_mutex (rdma_lock_handler(), rdma_destroy_id());
 * callbacks take ep->lock only.
 */
#include <linux/sched/mm.h>
#include "device/device.h"
#include "post/post.h"
#include "queue/queue.h"
#include "internal.h"

static bool kdapl_cm_pending(DAT_EP_STATE state)
{
	return state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
	       state == DAT_EP_STATE_COMPLETION_PENDING;
}

static bool kdapl_cm_connected(DAT_EP_STATE state)
{
	return state == DAT_EP_STATE_CONNECTED || state == DAT_EP_STATE_DISCONNECT_PENDING;
}

static struct ib_qp *kdapl_cm_qp(struct kdapl_ep *ep)
{
	return rcu_dereference_protected(ep->fast.qp, lockdep_is_held(&ep->mutex));
}

static void kdapl_cm_timer_stop(struct kdapl_ep *ep)
{
	cancel_delayed_work_sync(&ep->conn.timer);
	clear_bit(KDAPL_TODO_TIMEOUT, &ep->conn.todo);
}

/*
 * Queues the outcome of an attempt unless it was queued before. A passive attempt has only
 * one kind of failure. The state was changed; ep->lock held
 */
static void kdapl_cm_outcome(struct kdapl_ep *ep, DAT_EVENT_NUMBER number)
{
	bool owed = ep->conn.outcome_owed || ep->conn.cancelled;
	u16 len = 0;

	if (ep->conn.cancelled)
		number = DAT_CONNECTION_EVENT_DISCONNECTED;
	else if (ep->conn.passive)
		number = DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
	else if (number == DAT_CONNECTION_EVENT_PEER_REJECTED)
		len = ep->conn.private_len;
	ep->conn.outcome_owed = false;
	ep->conn.cancelled = false;
	if (owed)
		kdapl_ep_queue_conn(ep, &ep->conn.outcome, number, len);
}

/*
 * Queues the end event of an established connection unless it was queued before. After an
 * error at this end it is a break, even if the peer's disconnect was handled first. The
 * state was changed; ep->lock held
 */
static void kdapl_cm_end_event(struct kdapl_ep *ep, DAT_EVENT_NUMBER number)
{
	if (ep->first_error.valid)
		number = DAT_CONNECTION_EVENT_BROKEN;
	if (ep->conn.end_owed)
		kdapl_ep_queue_conn(ep, &ep->conn.end, number, 0);
	ep->conn.end_owed = false;
}

/* The event of a connection that ends now; later causes do not change it */
static DAT_EVENT_NUMBER kdapl_cm_end_number(const struct kdapl_ep *ep)
{
	return READ_ONCE(ep->conn.ended_cleanly) ? DAT_CONNECTION_EVENT_DISCONNECTED :
					  DAT_CONNECTION_EVENT_BROKEN;
}

/* RDMA reads are flushed from here on, even if the peer has granted none. ep->lock held */
static void kdapl_cm_disconnected(struct kdapl_ep *ep)
{
	WRITE_ONCE(ep->fast.max_reads_out, ep->cfg.attr.max_rdma_read_out);
	kdapl_ep_enter_disconnected(ep);
}

static int kdapl_cm_drain(struct kdapl_ep *ep, bool wait_all)
{
	return kdapl_ep_drain(ep, kdapl_cm_qp(ep), wait_all);
}

/*
 * Ends an attempt that failed. Before ESTABLISHED the peer is notified by the
 * destruction of the id. ep->mutex held.
 */
static void kdapl_cm_attempt_failed(struct kdapl_ep *ep, DAT_EVENT_NUMBER number)
{
	bool kept;

	kdapl_cm_timer_stop(ep);
	kept = kdapl_cm_drain(ep, false);

	spin_lock_irq(&ep->lock);
	kdapl_cm_disconnected(ep);
	kdapl_cm_outcome(ep, number);
	spin_unlock_irq(&ep->lock);
	kdapl_notice_end(ep, false);
	/* qedr never flushes a QP in INIT, so later posts must not reach this QP either */
	if (kept && !ep->drain.qp_left_init)
		kdapl_ep_drop_verbs(ep);
}

/*
 * Ends a connection, whatever the cause. The QP is drained first, so that successful
 * receives come before the end event (C-44). The peer is notified in every case, because
 * the CM does not do that for a broken QP (C-60). notice.c keeps the id, to complete the
 * disconnect.
 */
static void kdapl_cm_connection_ended(struct kdapl_ep *ep)
{
	DAT_EVENT_NUMBER number = kdapl_cm_end_number(ep);

	kdapl_cm_timer_stop(ep);
	kdapl_cm_drain(ep, false);
	kdapl_notice_end(ep, true);

	spin_lock_irq(&ep->lock);
	ep->conn.lingers_for = KDAPL_LINGER_NONE;
	kdapl_cm_disconnected(ep);
	kdapl_cm_end_event(ep, number);
	spin_unlock_irq(&ep->lock);
}

/* Sets the final state and queues the events, except for an EP that is being freed */
static void kdapl_cm_final_events(struct kdapl_ep *ep)
{
	spin_lock_irq(&ep->lock);
	if (ep->state != DAT_EP_STATE_UNCONFIGURED_UNCONNECTED)
		kdapl_cm_disconnected(ep);
	if (ep->dying) {
		ep->conn.outcome_owed = false;
		ep->conn.cancelled = false;
		ep->conn.end_owed = false;
	}
	kdapl_cm_outcome(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	kdapl_cm_end_event(ep, ep->conn.teardown_number);
	spin_unlock_irq(&ep->lock);
}

/*
 * Begins to end the connection or attempt of an EP permanently. Moves the QP to ERROR. An attempt
 * ends at once; a connection ends when its QP has been drained. An UNCONFIGURED EP keeps its
 * state. There are two steps, so that a caller can drain many QPs at once. @ep: EP that is being
 * freed (ep->dying is set), or whose device is going away. Process context, ep->mutex held;
 * kdapl_cm_end_finish() must follow.
 */
void kdapl_cm_end_begin(struct kdapl_ep *ep)
{
	struct ib_qp *qp = kdapl_cm_qp(ep);

	ep->conn.teardown_number = kdapl_cm_end_number(ep);
	kdapl_cm_timer_stop(ep);
	/* A QP in INIT of an EP that is freed needs no flush, which some devices never report */
	if (qp && (!ep->dying || ep->drain.qp_left_init || ep->drain.qp_moved))
		kdapl_drain_begin(ep, qp);
	if (kdapl_cm_connected(READ_ONCE(ep->state)))
		return;
	kdapl_notice_end(ep, false);
	kdapl_cm_final_events(ep);
}

/*
 * Finishes what kdapl_cm_end_begin() began. On return the done callback of every post has run,
 * or ep->drain.timed_out is set because the device has kept some posts. @since: jiffies, see
 * kdapl_drain_end(). Process context, ep->mutex held.
 */
void kdapl_cm_end_finish(struct kdapl_ep *ep, unsigned long since)
{
	struct ib_qp *qp = kdapl_cm_qp(ep);

	if (qp && ep->drain.qp_moved)
		ep->drain.timed_out = kdapl_drain_end(ep, qp, true, since);
	if (!kdapl_cm_connected(READ_ONCE(ep->state)))
		return;
	kdapl_notice_end(ep, true);
	kdapl_cm_final_events(ep);
}

/*
 * Resolves the address of the peer of an attempt. A failure is reported as the outcome
 * UNREACHABLE. Process context, ep->mutex held.
 */
void kdapl_cm_resolve(struct kdapl_ep *ep, const struct sockaddr_storage *remote)
{
	int ret = kdapl_cm_route(ep->obj.ia, ep->conn.cm_id, remote);

	/* The CM uses it for the route */
	if (ep->cfg.named.type_of_service >= 0)
		rdma_set_service_type(ep->conn.cm_id, ep->cfg.named.type_of_service);
	if (!ret)
		ret = rdma_resolve_addr(ep->conn.cm_id, NULL, (const struct sockaddr *)remote,
					KDAPL_RESOLVE_TIMEOUT_MS * (kdapl_timeout_scale ?: 1));
	if (ret)
		kdapl_cm_call_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE,
				     RDMA_CM_EVENT_ADDR_ERROR, ret);
}

/*
 * Limits the attributes that the peer influences. The message of the peer influences the number of
 * retries and the timeout of an acknowledgment, which may be up to 2.4 hours or infinite. Posts
 * to a peer that has died must complete in a reasonable time. @attr: for RTS, as the CM proposes
 * it. Process context, ep->mutex held.
 */
void kdapl_cm_limit_send(struct kdapl_ep *ep, struct ib_qp_attr *attr)
{
	attr->max_rd_atomic = min_t(int, attr->max_rd_atomic, ep->cfg.attr.max_rdma_read_out);
	/* If the peer grants none, a read would never start (D-19) */
	WRITE_ONCE(ep->fast.max_reads_out, attr->max_rd_atomic);
	WRITE_ONCE(ep->conn.status.reads_out, attr->max_rd_atomic);
	attr->retry_cnt = min_t(u8, attr->retry_cnt, ep->cfg.named.retry_count);
	attr->rnr_retry = ep->cfg.named.rnr_retry_count;
	if (ep->cfg.named.ack_timeout)
		attr->timeout = ep->cfg.named.ack_timeout;
	/* 0 means infinite */
	if (!attr->timeout || attr->timeout > KDAPL_MAX_ACK_TIMEOUT)
		attr->timeout = KDAPL_MAX_ACK_TIMEOUT;
}

/*
 * Moves the QP to the next state. The EP's QP went to INIT before the attempt, when its path was
 * not known yet. So INIT corrects only the partition and the port; the access flags stay as they
 * are. An alternate path is dropped, because the peer's message chooses it and no Consumer asked
 * for one. The limits come from the EP. The retry counts are our own: rxe treats 7 as infinite,
 * and the core leaves the RNR timer at 655 ms. Returns 0, or the error of the device. Process
 * context, ep->mutex held.
 *
 * @ep:   the EP; its QP is in the previous state, or already in INIT for INIT
 * @attr: attributes for INIT, RTR or RTS as the CM proposes them; modified
 * @mask: the members of @attr that the CM proposes
 */
int kdapl_cm_modify_qp(struct kdapl_ep *ep, struct ib_qp_attr *attr, int mask)
{
	int ret;

	mask &= ~(IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE);
	switch (attr->qp_state) {
	case IB_QPS_INIT:
		/* Most QPs have the right partition and port already: save a command */
		if (!(mask & IB_QP_PKEY_INDEX) ||
		    (attr->pkey_index == KDAPL_INIT_PKEY_INDEX &&
		     attr->port_num == kdapl_cm_qp(ep)->port))
			return 0;
		mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT;
		break;
	case IB_QPS_RTR:
		attr->min_rnr_timer = KDAPL_MIN_RNR_TIMER;
		attr->max_dest_rd_atomic = min_t(int, attr->max_dest_rd_atomic,
						 ep->cfg.attr.max_rdma_read_in);
		WRITE_ONCE(ep->conn.status.reads_in, attr->max_dest_rd_atomic);
		mask |= IB_QP_MIN_RNR_TIMER;
		break;
	default:
		kdapl_cm_limit_send(ep, attr);
	}
	ret = ib_modify_qp(kdapl_cm_qp(ep), attr, mask);
	/* From RTR on the QP consumes buffers, and every device flushes it */
	if (!ret && attr->qp_state == IB_QPS_RTR)
		ep->drain.qp_left_init = true;
	return ret;
}

/* Moves the QP from INIT to RTS with the agreed attributes; the core knows the path */
static int kdapl_cm_qp_to_rts(struct kdapl_ep *ep, struct rdma_cm_id *id)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	unsigned int i;
	int mask, ret;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		struct ib_qp_attr attr = { .qp_state = states[i] };

		ret = rdma_init_qp_attr(id, &attr, &mask);
		if (!ret)
			ret = kdapl_cm_modify_qp(ep, &attr, mask);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Completes the passive side of a connection. All failures from here on, including a peer that has
 * withdrawn, are reported by ACCEPT_COMPLETION_ERROR. Process context, ep->mutex held, no lock
 * that a CM callback takes.
 *
 * @ep:   EP in UNCONNECTED, with a reserved notice; becomes COMPLETION_PENDING
 * @id:   child id, which belongs to the EP from now on
 * @data: private data for the peer
 * @len:  its length, at most KDAPL_REPLY_PRIVATE
 */
void kdapl_cm_accept(struct kdapl_ep *ep, struct rdma_cm_id *id,
		     const struct rdma_conn_param *req, const void *data, u8 len)
{
	struct rdma_conn_param answer = {
		.private_data = data,
		.private_data_len = len,
		.responder_resources = min_t(int, req->responder_resources,
					     ep->cfg.attr.max_rdma_read_in),
		.initiator_depth = min_t(int, req->initiator_depth,
					 ep->cfg.attr.max_rdma_read_out),
		.flow_control = req->flow_control,
		.rnr_retry_count = ep->cfg.named.rnr_retry_count,
		.srq = ep->fast.srq_attached,
		.qp_num = kdapl_cm_qp(ep)->qp_num,
	};
	int ret;

	kdapl_cm_begin(ep, id, true);
	rdma_lock_handler(id);
	id->context = ep;
	id->event_handler = kdapl_cm_handler;
	ret = kdapl_cm_qp_to_rts(ep, id);
	if (!ret)
		ret = rdma_accept(id, &answer);
	rdma_unlock_handler(id);
	if (ret)
		kdapl_cm_call_failed(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
				     RDMA_CM_EVENT_CONNECT_ERROR, ret);
}

/* Ends the attempt unless ESTABLISHED was queued */
static void kdapl_cm_attempt_done(struct kdapl_ep *ep, bool connected)
{
	if (connected) {
		kdapl_cm_timer_stop(ep);
		kdapl_keepalive_start(ep);
	} else {
		kdapl_cm_attempt_failed(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
}

/*
 * The peer accepted the request. The EP becomes CONNECTED before the handler lock is
 * released, because the next event of the CM concerns a connection, not an attempt. If
 * the id refuses the step, the peer has withdrawn, which is not a reject of a Consumer.
 */
static void kdapl_cm_finish_active(struct kdapl_ep *ep)
{
	struct rdma_cm_id *id = ep->conn.cm_id;
	bool connected = false;
	int ret;

	rdma_lock_handler(id);
	ret = kdapl_cm_qp_to_rts(ep, id);
	if (!ret)
		ret = rdma_accept(id, NULL);
	/* The CM reports neither of them */
	kdapl_cm_note_event(ep, ret ? RDMA_CM_EVENT_CONNECT_ERROR : RDMA_CM_EVENT_ESTABLISHED, ret);
	if (!ret)
		connected = kdapl_ep_enter_connected(ep);
	rdma_unlock_handler(id);

	kdapl_cm_attempt_done(ep, connected);
}

/*
 * A message has arrived, so the peer is connected. The CM will report that in a moment unless the
 * final message of the peer was lost. rdma_notify() replaces this message (C-43), but then the CM
 * drops the message, and may report a disconnect that comes next instead of the connection. So
 * the timer first waits for a short time.
 */
static void kdapl_cm_expect_established(struct kdapl_ep *ep)
{
	u64 late = (u64)KDAPL_LATE_MS * (kdapl_timeout_scale ?: 1) * NSEC_PER_MSEC;

	if (ep->conn.give_up)
		return;
	kdapl_cm_timer_stop(ep);
	ep->conn.give_up = ep->conn.deadline;
	kdapl_cm_timer_start(ep, clamp_t(s64, ktime_sub(ep->conn.give_up, ktime_get()), 0, late));
}

static void kdapl_cm_pending_timeout(struct kdapl_ep *ep)
{
	if (!ep->conn.give_up) {
		kdapl_cm_attempt_failed(ep, DAT_CONNECTION_EVENT_TIMED_OUT);
		return;
	}
	/*
	 * The CM is ESTABLISHED at once. A work item of the CM then stops the repetition of its
	 * reply and reports the connection. The peer sees no difference: it answers a repeated
	 * reply as before, and the CM drops the answer. If the peer disconnects before the work
	 * item runs, the CM repeats the reply for up to 66 seconds. Nothing can stop that, and
	 * rdma_destroy_id() waits for it, but only in the work item of the id (notice.c).
	 */
	rdma_notify(ep->conn.cm_id, IB_EVENT_COMM_EST);
	kdapl_cm_timer_start(ep, max_t(s64, ktime_sub(ep->conn.give_up, ktime_get()), 0));
	ep->conn.give_up = 0;
}

/*
 * The peer has gone before the CM has reported that it was connected. If it has sent a message, it
 * was connected: the CM may handle its last two messages in the wrong order. The drain completes
 * receives that were not polled yet.
 */
static bool kdapl_cm_was_connected(struct kdapl_ep *ep)
{
	if (!ep->conn.passive)
		return false;
	kdapl_cm_drain(ep, false);
	return kdapl_ep_message_parked(ep);
}

/*
 * A passive EP becomes CONNECTED even if the connection is known to have ended already;
 * the same run of the work ends it then. On the active side, a failure together with the
 * answer means that the peer has withdrawn.
 */
static void kdapl_cm_step_pending(struct kdapl_ep *ep, unsigned long todo)
{
	if (todo & BIT(KDAPL_TODO_DISCONNECT))
		kdapl_cm_attempt_failed(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	else if (ep->conn.passive && (todo & BIT(KDAPL_TODO_ESTABLISHED)))
		kdapl_cm_attempt_done(ep, kdapl_ep_enter_connected(ep));
	else if (todo & BIT(KDAPL_TODO_FAILED))
		kdapl_cm_attempt_failed(ep, READ_ONCE(ep->conn.fail_number));
	else if (todo & BIT(KDAPL_TODO_PEER_GONE))
		kdapl_cm_attempt_done(ep, kdapl_cm_was_connected(ep) &&
				      kdapl_ep_enter_connected(ep));
	else if (todo & BIT(KDAPL_TODO_BREAK))
		kdapl_cm_attempt_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	else if (!ep->conn.passive && (todo & BIT(KDAPL_TODO_RESPONSE)))
		kdapl_cm_finish_active(ep);
	else if (todo & BIT(KDAPL_TODO_TIMEOUT))
		kdapl_cm_pending_timeout(ep);
	else if (ep->conn.passive &&
		 (todo & (BIT(KDAPL_TODO_EARLY_RECV) | BIT(KDAPL_TODO_REFUSED))))
		kdapl_cm_expect_established(ep);
	/* Keep the bit, which ends the connection as soon as it is established */
	if (todo & BIT(KDAPL_TODO_REFUSED))
		set_bit(KDAPL_TODO_REFUSED, &ep->conn.todo);
}

/* Waits for outstanding requests; posts that saw CONNECTED must be queued first */
static void kdapl_cm_graceful(struct kdapl_ep *ep)
{
	if (!ep->conn.posts_queued) {
		kdapl_wait_grace_period();
		ep->conn.posts_queued = true;
	}
	if (kdapl_ep_requests_idle(ep)) {
		spin_lock_irq(&ep->lock);
		ep->conn.ended_cleanly = true;
		spin_unlock_irq(&ep->lock);
		kdapl_cm_connection_ended(ep);
	} else if (!kdapl_ep_post_marker(ep)) {
		/* No completion may follow that would try again */
		kdapl_cm_timer_start(ep, (u64)KDAPL_LINGER_MS * NSEC_PER_MSEC);
	}
}

/*
 * The connection is over, but moving the QP now would lose the cause of an error: the
 * device would not send its NAK, or would ignore the peer's NAK. So the work returns, and
 * the awaited event or the timer queues it again. Posts are possible as before.
 */
static void kdapl_cm_linger(struct kdapl_ep *ep, enum kdapl_linger what)
{
	if (ep->conn.lingers_for >= what)
		return;
	kdapl_cm_timer_stop(ep);
	spin_lock_irq(&ep->lock);
	ep->conn.lingers_for = what;
	/* Every completion of a request queues the work, which checks whether it was the last */
	if (what == KDAPL_LINGER_REQUESTS)
		WRITE_ONCE(ep->fast.slow_path, ep->fast.slow_path | KDAPL_EP_WATCH);
	spin_unlock_irq(&ep->lock);
	kdapl_cm_timer_start(ep, (u64)KDAPL_LINGER_MS * (kdapl_timeout_scale ?: 1) * NSEC_PER_MSEC);
}

/*
 * Outstanding requests may still report why the peer has left. No marker is posted
 * after unsignalled requests, because the peer would not acknowledge it any more.
 */
static void kdapl_cm_step_peer_left(struct kdapl_ep *ep)
{
	if (!kdapl_ep_requests_idle(ep))
		kdapl_cm_linger(ep, KDAPL_LINGER_REQUESTS);
	if (kdapl_ep_requests_idle(ep))
		kdapl_cm_connection_ended(ep);
}

static void kdapl_cm_step_connected(struct kdapl_ep *ep, unsigned long todo)
{
	if ((todo & (BIT(KDAPL_TODO_DISCONNECT) | BIT(KDAPL_TODO_BREAK))) ||
	    (ep->conn.lingers_for && (todo & BIT(KDAPL_TODO_TIMEOUT))))
		kdapl_cm_connection_ended(ep);
	else if ((todo & (BIT(KDAPL_TODO_PEER_GONE) | BIT(KDAPL_TODO_FAILED))) ||
		 ep->conn.lingers_for == KDAPL_LINGER_REQUESTS)
		kdapl_cm_step_peer_left(ep);
	else if ((todo & BIT(KDAPL_TODO_REFUSED)) || ep->conn.lingers_for)
		kdapl_cm_linger(ep, KDAPL_LINGER_ANSWER);
	else if ((todo & (BIT(KDAPL_TODO_GRACEFUL) | BIT(KDAPL_TODO_TIMEOUT))) &&
		 READ_ONCE(ep->state) == DAT_EP_STATE_DISCONNECT_PENDING)
		kdapl_cm_graceful(ep);
	else if (todo & BIT(KDAPL_TODO_MARKER))
		kdapl_ep_post_marker(ep);
}

/* Returns true if a change of addresses ends the attempt or the connection */
static bool kdapl_cm_path_lost(const struct kdapl_ep *ep)
{
	if (!ep->conn.cm_id)
		return false;
	/* The watcher checks the address of the IA itself */
	if (ep->conn.other_addr && kdapl_addr_id_lost(ep->conn.cm_id))
		return true;
	if (kdapl_cm_pending(READ_ONCE(ep->state)))
		return kdapl_addr_unbound(ep->conn.cm_id);
	return kdapl_addr_path_lost(ep->conn.cm_id, READ_ONCE(ep->obj.ia->port));
}

static void kdapl_cm_work(struct work_struct *work)
{
	struct kdapl_ep *ep = container_of(work, struct kdapl_ep, conn.work);
	/* A Consumer that writes pages out may wait for this connection */
	unsigned int noio = memalloc_noio_save();
	unsigned long todo;

	mutex_lock(&ep->mutex);
	if (!ep->dying && !ep->orphaned) {
		todo = xchg(&ep->conn.todo, 0);
		if ((todo & BIT(KDAPL_TODO_ADDRESS)) && kdapl_cm_path_lost(ep))
			todo |= BIT(KDAPL_TODO_BREAK);
		if (kdapl_cm_pending(READ_ONCE(ep->state)))
			kdapl_cm_step_pending(ep, todo);
		if (kdapl_cm_connected(READ_ONCE(ep->state)))
			kdapl_cm_step_connected(ep, todo);
	}
	mutex_unlock(&ep->mutex);
	memalloc_noio_restore(noio);
}

/* Prepares the connection part of a new EP. Process context */
void kdapl_cm_setup(struct kdapl_ep *ep)
{
	INIT_WORK(&ep->conn.work, kdapl_cm_work);
	INIT_DELAYED_WORK(&ep->conn.timer, kdapl_cm_timer);
}
