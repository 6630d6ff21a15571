// SPDX-License-Identifier: GPL-2.0
/*
 * The state of an EP: which posts it accepts in each state, which of them may take the
 * fast path, the events of the connection, and the end of parking.
 *
 * Called in any context by the connection work and by all that changes the state of an EP, with
 * ep->lock held, except kdapl_ep_message_parked() and kdapl_ep_enter_connected(), which take it.
 */
#include "event/event.h"
#include "post.h"
#include "base/trace.h"

/* Which posts an EP accepts in a state */
static u8 kdapl_ep_post_mask(const struct kdapl_ep *ep, DAT_EP_STATE state)
{
	u8 mask = ep->fast.srq_attached ? 0 : KDAPL_EP_MAY_RECV;

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

/* Which posts may take the fast path */
static u8 kdapl_ep_fast_mask(const struct kdapl_ep *ep, u8 post)
{
	u8 mask = 0;

	if (post & KDAPL_EP_MAY_SEND) {
		mask |= ep->checks.max_send_iov ? BIT(DAT_DTO_SEND) : 0;
		mask |= ep->checks.max_write_iov ? BIT(DAT_DTO_RDMA_WRITE) : 0;
		mask |= ep->checks.max_read_iov ? BIT(DAT_DTO_RDMA_READ) : 0;
	}
	/* In solicited-wait mode the event of a receive does not notify by itself */
	if ((post & KDAPL_EP_MAY_RECV) && !(ep->fast.slow_path & KDAPL_EP_SOLICITED) &&
	    ep->checks.max_recv_iov)
		mask |= BIT(DAT_DTO_RECEIVE);
	return mask;
}

/* Queues all parked events, as FLUSHED if there is no connection, and ends parking */
static void kdapl_ep_unpark(struct kdapl_ep *ep, bool flush)
{
	struct kdapl_event *ev, *next;
	struct kdapl_slot *slot;

	lockdep_assert_held(&ep->lock);
	for (ev = ep->parked.first; ev; ev = next) {
		next = ev->next;
		if (flush) {
			slot = kdapl_slot_of_event(ev);
			slot->dto.status = DAT_DTO_ERR_FLUSHED;
			slot->dto.length = 0;
			slot->dto.op = DAT_DTO_RECEIVE;
			slot->dto.key = 0;
			ev->notify = true;
		}
		kdapl_evd_queue(ep->fast.recv_evd, ev, false);
	}
	/*
	 * The device may have announced a solicited message while it was parked. Mark
	 * all events that are queued by now. An announcement that comes later finds the
	 * message queued (kdapl_evd_mark_fired() counts first and marks then).
	 */
	smp_mb();
	if (!flush && ep->parked.first && (ep->fast.slow_path & KDAPL_EP_SOLICITED) &&
	    atomic_read(&ep->fast.recv_evd->nfired) != ep->parked.fired)
		kdapl_evd_notify_all(ep->fast.recv_evd);
	ep->parked.first = NULL;
	ep->parked.last = NULL;
	/* Last: a done callback that finds PARK cleared without the lock queues after these */
	smp_store_release(&ep->fast.slow_path, ep->fast.slow_path & ~KDAPL_EP_PARK);
}

/* Returns true if a message that an EP received is parked. Process context */
bool kdapl_ep_message_parked(struct kdapl_ep *ep)
{
	struct kdapl_event *ev;
	bool found = false;

	spin_lock_irq(&ep->lock);
	for (ev = ep->parked.first; ev && !found; ev = ev->next)
		found = kdapl_slot_of_event(ev)->dto.status == DAT_DTO_SUCCESS;
	spin_unlock_irq(&ep->lock);
	return found;
}

/*
 * Stores the state of an EP, and the fields that posts read, which follow it. @state: new state;
 * CONNECTED and DISCONNECTED have functions of their own below, which also deliver events. Any
 * context; ep->lock held.
 */
void kdapl_ep_set_state(struct kdapl_ep *ep, DAT_EP_STATE state)
{
	u8 slow = ep->fast.slow_path & ~KDAPL_EP_WATCH;

	lockdep_assert_held(&ep->lock);
	trace_kdapl_ep_state(kdapl_obj_id(&ep->obj), ep->state, state);
	if (state == DAT_EP_STATE_DISCONNECT_PENDING)
		slow |= KDAPL_EP_WATCH;
	WRITE_ONCE(ep->fast.slow_path, slow);
	WRITE_ONCE(ep->fast.may_post, kdapl_ep_post_mask(ep, state));
	WRITE_ONCE(ep->obj.fast_ops, kdapl_ep_fast_mask(ep, ep->fast.may_post));
	WRITE_ONCE(ep->state, state);
}

/*
 * Makes an EP DISCONNECTED. Turns parked completions into FLUSHED events and ends the parking,
 * which dat_ep_reset() begins again. Any context; ep->lock held.
 */
void kdapl_ep_enter_disconnected(struct kdapl_ep *ep)
{
	kdapl_ep_set_state(ep, DAT_EP_STATE_DISCONNECTED);
	kdapl_ep_unpark(ep, true);
	/* A receive that was posted just before the change has not scheduled its flush */
	kdapl_ep_flush_soon(ep);
}

/*
 * Queues a connection event. Any context; ep->lock held, the state already changed (C-42).
 *
 * @ce:          ep->conn.outcome or ep->conn.end
 * @number:      DAT_CONNECTION_EVENT_*
 * @private_len: number of bytes of ep->conn.private that belong to the event
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
	kdapl_evd_queue(ep->cfg.connect_evd, &ce->ev, false);
}

/*
 * Makes an EP CONNECTED, and queues ESTABLISHED and then the parked completions. @ep: the EP, its
 * QP in RTS. Returns false, and changes nothing, if no outcome is pending. Process context or
 * softirq; takes ep->lock.
 */
bool kdapl_ep_enter_connected(struct kdapl_ep *ep)
{
	unsigned long flags;
	bool connected;

	spin_lock_irqsave(&ep->lock, flags);
	connected = ep->conn.outcome_owed &&
		    (ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
		     ep->state == DAT_EP_STATE_COMPLETION_PENDING);
	if (connected) {
		ep->conn.outcome_owed = false;
		ep->conn.end_owed = true;
		ep->connected_at = jiffies;
		kdapl_ep_set_state(ep, DAT_EP_STATE_CONNECTED);
		kdapl_ep_queue_conn(ep, &ep->conn.outcome, DAT_CONNECTION_EVENT_ESTABLISHED,
				    ep->conn.private_len);
		kdapl_ep_unpark(ep, false);
		/*
		 * Before this moment a receive has failed (G-31), or the peer has done what
		 * it must not do (I-05)
		 */
		if (ep->first_error.valid)
			kdapl_ep_schedule(ep, KDAPL_TODO_BREAK);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	return connected;
}
