// SPDX-License-Identifier: GPL-2.0
/*
 * The events of the CM that concern an EP.
 *
 * CM callbacks hold the handler_mutex of the id, and while they sleep they stall all CM
 * events of their CPU. So they only copy private data into the EP, set a bit in ep->conn.todo
 * and queue ep->conn.work, which does the rest (cm.c). A bit is set after the data that it refers
 * to was written under ep->lock, the only lock that they take.
 *
 * Called by rdma_cm, in process context. cm.c reports failed calls in the same way.
 */
#include <linux/sched/mm.h>
#include "event/event.h"
#include "internal.h"
#include "base/trace.h"

/*
 * The peer disconnected. The first cause, a break or this, determines the end event. If the device
 * is being removed, the peer may be an EP on the same device that was handled before this one.
 */
static void kdapl_cm_note_clean(struct kdapl_ep *ep)
{
	if (!kdapl_ep_breaks(ep) && !READ_ONCE(ep->obj.ia->orphaned))
		ep->conn.ended_cleanly = true;
}

/* Stores an event of the CM for kdapl.cm_status; those after the first failure are ignored */
void kdapl_cm_note_event(struct kdapl_ep *ep, enum rdma_cm_event_type event, int status)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (!ep->conn.fail_number) {
		ep->conn.status.valid = true;
		ep->conn.status.event = event;
		ep->conn.status.status = status;
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

/* The first failure of an attempt determines its outcome; later ones are ignored */
static void kdapl_cm_fail(struct kdapl_ep *ep, DAT_EVENT_NUMBER number,
			  const void *data, u16 len)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	/*
	 * A failure that comes after the attempt has succeeded means that the peer has
	 * left. UNREACHABLE is the exception: the peer has a new hardware address, and
	 * the path leads nowhere, so the end is not clean.
	 */
	if (number != DAT_CONNECTION_EVENT_UNREACHABLE)
		kdapl_cm_note_clean(ep);
	if (!ep->conn.fail_number) {
		ep->conn.fail_number = number;
		/* Do not overwrite the data of an ESTABLISHED, which stays readable (C-46) */
		if (ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) {
			ep->conn.private_len = len;
			if (len)
				memcpy(ep->conn.private, data, len);
		}
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	kdapl_ep_schedule(ep, KDAPL_TODO_FAILED);
}

/* A call has failed, as if the CM had reported @event */
void kdapl_cm_call_failed(struct kdapl_ep *ep, DAT_EVENT_NUMBER number,
			  enum rdma_cm_event_type event, int err)
{
	kdapl_cm_note_event(ep, event, err);
	kdapl_cm_fail(ep, number, NULL, 0);
}

/*
 * The private data of a Consumer's reject begins with kDAPL's prefix. The CM's own rejects
 * with the same reason (the peer has withdrawn, or has died) contain zeroes.
 */
static void kdapl_cm_rejected(struct kdapl_ep *ep, const struct rdma_cm_event *event)
{
	const u8 *data = event->param.conn.private_data;
	unsigned int len = event->param.conn.private_data_len;

	ep->conn.peer_gone = true;
	if (event->status == IB_CM_REJ_CONSUMER_DEFINED && data &&
	    len >= KDAPL_REJECT_PREFIX && data[0] == DAT_VERSION_MAJOR) {
		len = min_t(unsigned int, len, KDAPL_REJECT_PRIVATE) - KDAPL_REJECT_PREFIX;
		kdapl_cm_fail(ep, DAT_CONNECTION_EVENT_PEER_REJECTED,
			      data + KDAPL_REJECT_PREFIX, len);
	} else {
		kdapl_cm_fail(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
	}
}

static void kdapl_cm_response(struct kdapl_ep *ep, const struct rdma_conn_param *param)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING && param->private_data) {
		ep->conn.private_len = min_t(u16, param->private_data_len, KDAPL_REPLY_PRIVATE);
		memcpy(ep->conn.private, param->private_data, ep->conn.private_len);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	kdapl_ep_schedule(ep, KDAPL_TODO_RESPONSE);
}

static void kdapl_cm_peer_gone(struct kdapl_ep *ep)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	kdapl_cm_note_clean(ep);
	ep->conn.peer_gone = true;
	spin_unlock_irqrestore(&ep->lock, flags);
	kdapl_ep_schedule(ep, KDAPL_TODO_PEER_GONE);
}

/* The two steps of an active attempt that a callback may do itself */
static void kdapl_cm_advance(struct kdapl_ep *ep, struct rdma_cm_id *id, bool have_route)
{
	unsigned int noio = memalloc_noio_save();
	int ret;

	if (have_route)
		ret = rdma_connect_locked(id, &ep->conn.offer);
	else
		ret = rdma_resolve_route(id, KDAPL_RESOLVE_TIMEOUT_MS * (kdapl_timeout_scale ?: 1));
	memalloc_noio_restore(noio);
	if (ret)
		kdapl_cm_call_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE,
				     have_route ? RDMA_CM_EVENT_CONNECT_ERROR :
						  RDMA_CM_EVENT_ROUTE_ERROR, ret);
}

/*
 * The rdma_cm callback of an id that belongs to an EP. TIMEWAIT_EXIT is ignored, because each
 * attempt has its own QP number. Returns 0; the core must not destroy the id. Process context, a
 * workqueue of rdma_cm or ib_cm, handler_mutex held; must not sleep for long.
 */
int kdapl_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_ep *ep = id->context;

	trace_kdapl_cm_event(kdapl_obj_id(&ep->obj), event->event, event->status);
	kdapl_cm_note_event(ep, event->event, event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		kdapl_cm_advance(ep, id, false);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		kdapl_cm_advance(ep, id, true);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		kdapl_cm_fail(ep, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		kdapl_cm_fail(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
		break;
	case RDMA_CM_EVENT_REJECTED:
		kdapl_cm_rejected(ep, event);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		kdapl_cm_response(ep, &event->param.conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		kdapl_ep_schedule(ep, KDAPL_TODO_ESTABLISHED);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		kdapl_cm_peer_gone(ep);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		/* A bond failed over: the work checks whether the path still exists */
		kdapl_ep_schedule(ep, KDAPL_TODO_ADDRESS);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* Not seen in practice: kDAPL's remove() is called first and destroys the id */
		kdapl_ep_schedule(ep, KDAPL_TODO_BREAK);
		break;
	default:
		break;
	}
	if (ep->queue.cq)
		kdapl_cq_schedule(ep->queue.cq);
	return 0;
}
