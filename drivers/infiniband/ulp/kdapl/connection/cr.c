// SPDX-License-Identifier: GPL-2.0
/*
 * Connection requests: from the CM's callback to accept or reject.
 *
 * Owns a CR from its arrival to its end. The callback allocates it and fills it in; a work item,
 * which may sleep, assigns a handle and queues its event; one call consumes it. Called by
 * Consumers in process context (queries and handoff in any), when an EVD is freed or an IA closed,
 * and by device removal.
 *
 * kdapl_cr.ref counts the object, and its event until it was delivered. Dropping the last
 * reference frees the memory. A CR can be consumed before its event is delivered, if a
 * Consumer guesses the handle, and while the upcall runs. The cm_id belongs to the
 * path that takes it out of kdapl_cr.id by xchg(): accept, reject, handoff, destroy or removal.
 *
 * A handoff passes the request to a second CR, as if it had arrived at the other service point.
 * The work of this CR also does everything that may sleep: it changes the context of the id, and
 * ends the first CR.
 */
#include <linux/export.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "event/event.h"
#include "internal.h"
#include "base/trace.h"

/* Prefix of reject data: the versions of the API and of the Provider, both 2.0 */
static const u8 reject_prefix[KDAPL_REJECT_PREFIX] = { 2, 0, 2, 0 };

/* rdma_cm callback of a child id that nobody has accepted yet */
static int kdapl_cr_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_cr *cr = id->context;

	trace_kdapl_cm_event(kdapl_obj_id(&cr->sp->obj), event->event, event->status);
	/* The peer has withdrawn; the CM then refuses accept and reject (C-12) */
	if (event->event != RDMA_CM_EVENT_ADDR_CHANGE)
		WRITE_ONCE(cr->withdrawn, true);
	return 0;
}

/* Copies the address of a request without its port. Returns the port */
static u16 kdapl_cr_address(struct sockaddr_storage *out, const struct sockaddr_storage *in)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)out;
	u16 port;

	*out = *in;
	/* The port is at the same offset in both families */
	port = ntohs(sin->sin_port);
	sin->sin_port = 0;
	return port;
}

/*
 * Fills in a CR for a request that has arrived. @id: child id, which belongs to the CR from now
 * on. Context: CM callback, handler_mutex of @id held; does not sleep.
 */
void kdapl_cr_arrive(struct kdapl_cr *cr, struct rdma_cm_id *id,
		     const struct rdma_conn_param *param)
{
	cr->param = *param;
	cr->param.private_data = NULL;
	cr->private_len = min_t(u8, param->private_data_len, KDAPL_REQUEST_PRIVATE);
	if (param->private_data)
		memcpy(cr->private_data, param->private_data, cr->private_len);
	cr->local_port = kdapl_cr_address(&cr->local, &id->route.addr.src_addr);
	cr->remote_port = kdapl_cr_address(&cr->remote, &id->route.addr.dst_addr);
	cr->id = id;
	/* Removal does not miss it: the listening id, whose callback this is, counts as well */
	kdapl_ia_verbs_get(cr->sp->obj.ia);
	id->context = cr;
	id->event_handler = kdapl_cr_handler;
	queue_work(kdapl_wq, &cr->work);
}

/* Refuses a request as if nobody listened. No lock that a CM callback takes is held */
static void kdapl_cr_refuse(struct rdma_cm_id *id)
{
	/* Otherwise the core would send the reason of a Consumer's reject */
	rdma_reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
	rdma_destroy_id(id);
}

/*
 * Publishes the object and queues its event. Returns false if that is not possible. A
 * request for an RSP uses the EP of the RSP.
 */
static bool kdapl_cr_announce(struct kdapl_cr *cr)
{
	struct kdapl_sp *sp = cr->sp;
	struct kdapl_ia *ia = sp->obj.ia;
	bool done;

	if (READ_ONCE(sp->closed) || !kdapl_ia_enter(ia))
		return false;
	done = !kdapl_obj_init(&cr->obj, DAT_HANDLE_TYPE_CR, ia);
	if (done && sp->ep_handle &&
	    !kdapl_rsp_move(sp, DAT_EP_STATE_RESERVED, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)) {
		kdapl_obj_exit(&cr->obj);
		done = false;
	}
	if (done) {
		/* Before the event: a Consumer that receives it may use the qualifier again */
		if (sp->ep_handle)
			kdapl_sp_unlisten(sp);
		cr->ev.kind = KDAPL_EV_CR;
		cr->ev.ep = NULL;
		cr->ev.notify = true;
		refcount_inc(&cr->ref);
		kdapl_ia_add(ia, &cr->obj, false);
		kdapl_evd_queue(sp->evd, &cr->ev, false);
	}
	kdapl_ia_leave(ia);
	return done;
}

/* Returns the room that the CR took, and the reference of the object */
static void kdapl_cr_return(struct kdapl_cr *cr)
{
	kdapl_sp_uncount(cr->sp, false);
	kdapl_cr_put(cr);
}

/* Releases the EP that an RSP reserved for the request (C-11) */
static void kdapl_cr_release_ep(struct kdapl_cr *cr)
{
	kdapl_rsp_move(cr->sp, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		       DAT_EP_STATE_UNCONNECTED);
}

/* Last step of the consumption. No references are left */
static void kdapl_cr_finish(struct kdapl_cr *cr)
{
	kdapl_ia_del(cr->obj.ia, &cr->obj);
	kdapl_cr_return(cr);
}

/* Handoff: ends the CR from which @cr has got its request, and which was killed */
static void kdapl_cr_end_prev(struct kdapl_cr *cr)
{
	struct kdapl_cr *prev = cr->prev;

	kdapl_cr_release_ep(prev);
	if (cr->id) {
		rdma_lock_handler(cr->id);
		cr->id->context = cr;
		cr->withdrawn = prev->withdrawn;
		rdma_unlock_handler(cr->id);
	}
	/* It must not exist when the new event is delivered */
	kdapl_obj_drain(&prev->obj);
	kdapl_ia_del(prev->obj.ia, &prev->obj);
	kdapl_cr_put(prev);
}

/* Announces a request, or refuses it. Then the service point may be freed */
static void kdapl_cr_work(struct work_struct *work)
{
	struct kdapl_cr *cr = container_of(work, struct kdapl_cr, work);
	unsigned int noio = memalloc_noio_save();
	struct kdapl_sp *sp = cr->sp;

	if (cr->prev)
		kdapl_cr_end_prev(cr);
	if (!kdapl_cr_announce(cr)) {
		atomic_inc(&sp->refused[KDAPL_REFUSED_LATE]);
		if (cr->id) {
			kdapl_cr_refuse(cr->id);
			kdapl_ia_verbs_put(sp->obj.ia);
		}
		kdapl_cr_return(cr);
	}
	kdapl_obj_put(&sp->obj);
	memalloc_noio_restore(noio);
}

static void kdapl_cr_destroy(struct kdapl_obj *obj);
static void kdapl_cr_orphan(struct kdapl_obj *obj);
static void kdapl_cr_undelivered(struct kdapl_obj *obj);

static const struct kdapl_obj_ops kdapl_cr_ops = {
	.destroy = kdapl_cr_destroy,
	.orphan = kdapl_cr_orphan,
	.undelivered = kdapl_cr_undelivered,
};

/*
 * Allocates a CR, if there is room for another request. Returns the CR, whose work must be queued,
 * or NULL. Any context, including CM callbacks; as @gfp permits.
 *
 * @placed: the request is already counted on the EVD, and the caller passes this on
 * @gfp:    for the allocation
 */
struct kdapl_cr *kdapl_cr_alloc(struct kdapl_sp *sp, bool placed, gfp_t gfp)
{
	struct kdapl_cr *cr;

	if (!kdapl_sp_admit(sp, placed))
		return NULL;
	cr = kzalloc(sizeof(*cr), gfp);
	if (!cr) {
		atomic_inc(&sp->refused[KDAPL_REFUSED_MEMORY]);
		kdapl_sp_uncount(sp, placed);
		kdapl_obj_put(&sp->obj);
		return NULL;
	}
	refcount_inc(&sp->mem);
	cr->sp = sp;
	cr->obj.ops = &kdapl_cr_ops;
	refcount_set(&cr->ref, 1);
	INIT_WORK(&cr->work, kdapl_cr_work);
	return cr;
}

static struct kdapl_cr *kdapl_cr_get(DAT_CR_HANDLE handle)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_CR);

	return obj ? to_kdapl_cr(obj) : NULL;
}

/*
 * Refuses a request that nobody will answer. If its event is still queued, the memory is kept
 * until that is delivered. @obj: out of the table, no reference left. Process context, no lock
 * that a CM callback takes is held.
 */
static void kdapl_cr_destroy(struct kdapl_obj *obj)
{
	struct kdapl_cr *cr = to_kdapl_cr(obj);

	kdapl_cr_release_ep(cr);
	kdapl_cr_orphan(obj);
	kdapl_cr_finish(cr);
}

/*
 * Orphans a request: the device is being removed, so refuses it. @obj: referenced by the caller.
 * Process context, no lock that a CM callback takes is held.
 */
static void kdapl_cr_orphan(struct kdapl_obj *obj)
{
	struct kdapl_cr *cr = to_kdapl_cr(obj);
	struct rdma_cm_id *id = xchg(&cr->id, NULL);

	if (id) {
		kdapl_cr_refuse(id);
		kdapl_ia_verbs_put(cr->obj.ia);
	}
}

/*
 * Refuses a request whose EVD is freed before the event was delivered. @obj: the CR, its event
 * removed from the queue (E-46). Process context, no lock that a CM callback takes is held.
 */
static void kdapl_cr_undelivered(struct kdapl_obj *obj)
{
	if (kdapl_obj_kill(obj)) {
		kdapl_obj_unpublish(obj);
		kdapl_obj_drain(obj);
		kdapl_cr_destroy(obj);
	}
	kdapl_cr_put(to_kdapl_cr(obj));
}

static void kdapl_cr_fill(struct kdapl_obj *obj, union kdapl_param *param)
{
	struct kdapl_cr *cr = to_kdapl_cr(obj);
	DAT_CR_PARAM *p = &param->cr;

	p->remote_ia_address_ptr = (struct sockaddr *)&cr->remote;
	p->remote_port_qual = cr->remote_port;
	p->private_data_size = cr->private_len;
	p->private_data = cr->private_data;
	p->local_ep_handle = cr->sp->ep_handle;
}

static const u16 kdapl_cr_offsets[] = {
	KDAPL_PARAM(CR, remote_ia_address_ptr), KDAPL_PARAM(CR, remote_port_qual),
	KDAPL_PARAM(CR, private_data_size), KDAPL_PARAM(CR, private_data),
	KDAPL_PARAM(CR, local_ep_handle), sizeof(DAT_CR_PARAM)
};

KDAPL_DEFINE_QUERY(kdapl_cr, CR, KDAPL_BAD_HANDLE(CR));

/**
 * dat_cr_query - query the parameters of a connection request
 * @cr_handle:     the request
 * @cr_param_mask: DAT_CR_FIELD_*, the members to return
 * @cr_param:      receives them; other members do not change
 *
 * The address and the private data are valid until the request is accepted or rejected. The size of
 * the private data is that of the field in the message (56); zeroes follow the data of the peer.
 * local_ep_handle is set only for the request of an RSP.
 *
 * Context: any except hard interrupt (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER: unknown bit
 * in @cr_param_mask, or @cr_param is NULL.
 */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param)
{
	return kdapl_query(&kdapl_cr_query, cr_handle, cr_param_mask, cr_param);
}
EXPORT_SYMBOL_GPL(dat_cr_query);

/*
 * Returns the EP that accepts, with a reference, or NULL. It is the EP of the RSP if there
 * is one; otherwise the Consumer specifies it.
 */
static struct kdapl_obj *kdapl_accept_ep(const struct kdapl_cr *cr, DAT_EP_HANDLE handle)
{
	struct kdapl_obj *obj;

	if (cr->sp->ep_handle) {
		if (handle)
			return NULL;
		handle = cr->sp->ep_handle;
	}
	obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_EP);
	if (obj && obj->ia != cr->obj.ia) {
		kdapl_obj_put(obj);
		obj = NULL;
	}
	return obj;
}

/* Checks an accept, in the order of the specification. ep->mutex held */
static DAT_RETURN kdapl_accept_check(const struct kdapl_cr *cr, struct kdapl_ep *ep,
				     DAT_COUNT size, const void *data)
{
	DAT_EP_STATE want = cr->sp->ep_handle ? DAT_EP_STATE_PASSIVE_CONNECTION_PENDING :
						DAT_EP_STATE_UNCONNECTED;
	DAT_EP_STATE state = READ_ONCE(ep->state);

	if (size > 0 && !data)
		return KDAPL_BAD_ARG(4);
	if (state != want && state != DAT_EP_STATE_UNCONFIGURED_UNCONNECTED)
		return kdapl_ep_state_error(state);
	if (state != want || !ep->cfg.connect_evd)
		return KDAPL_BAD_HANDLE(EP);
	if (size < 0 || size > KDAPL_REPLY_PRIVATE)
		return KDAPL_BAD_ARG(3);
	return DAT_SUCCESS;
}

/*
 * Passes the id of a killed CR to the EP, which is in a legal state. Removal takes the ids of CRs
 * only when no EP is in such a state any more. ep->mutex held.
 */
static void kdapl_cr_attach(struct kdapl_cr *cr, struct kdapl_ep *ep, const void *data, u8 len)
{
	struct rdma_cm_id *id = xchg(&cr->id, NULL);

	ep->conn.rsp = DAT_HANDLE_NULL;
	spin_lock_irq(&ep->lock);
	kdapl_cm_set_local(ep, &cr->local);
	ep->conn.remote = cr->remote;
	ep->conn.remote_port = cr->remote_port;
	ep->conn.local_port = cr->local_port;
	ep->conn.qual = 0;
	spin_unlock_irq(&ep->lock);
	kdapl_cm_accept(ep, id, &cr->param, data, len);
	kdapl_ia_verbs_put(cr->obj.ia);
}

/**
 * dat_cr_accept - accept a connection request
 * @cr_handle:         the request
 * @ep_handle:         EP of the same IA, in UNCONNECTED; DAT_HANDLE_NULL for the
 *                     request of an RSP, which has its EP already
 * @private_data_size: number of bytes for the peer's ESTABLISHED event, at most 196
 * @private_data:      the bytes, copied by the call; NULL if there are none
 *
 * When the call returns, the EP is in COMPLETION_PENDING. Within 30 seconds ESTABLISHED follows on
 * its connect EVD, or ACCEPT_COMPLETION_ERROR; in the latter case the EP is DISCONNECTED and its
 * receives are flushed. A success consumes the request; after an error the request is still valid.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS - the accept was started
 * * DAT_INVALID_HANDLE - @cr_handle is not valid; @ep_handle is not valid, or the EP is not
 *   configured or has no connect EVD; an EP was specified for the request of an RSP
 * * DAT_INVALID_PARAMETER - @private_data_size is not legal, or @private_data is NULL
 *   although it is not 0
 * * DAT_INVALID_STATE - the EP is not UNCONNECTED; the EP of an RSP is DISCONNECTED because
 *   its device was removed
 * * DAT_INSUFFICIENT_RESOURCES - no memory
 */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	unsigned int noio = memalloc_noio_save();
	struct kdapl_obj *obj = NULL;
	struct kdapl_cr *cr;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	ret = KDAPL_BAD_HANDLE(CR);
	cr = kdapl_cr_get(cr_handle);
	if (!cr)
		goto out;
	obj = kdapl_accept_ep(cr, ep_handle);
	if (!obj) {
		ret = KDAPL_BAD_HANDLE(EP);
		goto out_put;
	}
	ep = to_kdapl_ep(obj);
	mutex_lock(&ep->mutex);
	ret = kdapl_accept_check(cr, ep, private_data_size, private_data);
	if (ret == DAT_SUCCESS && kdapl_notice_reserve(ep))
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (ret == DAT_SUCCESS && kdapl_obj_kill_and_put(&cr->obj))
		ret = KDAPL_BAD_HANDLE(CR);
	if (ret == DAT_SUCCESS)
		kdapl_cr_attach(cr, ep, private_data, private_data_size);
	mutex_unlock(&ep->mutex);
	if (ret == DAT_SUCCESS) {
		kdapl_obj_drain(&cr->obj);
		kdapl_cr_finish(cr);
		cr = NULL;
	}
out_put:
	if (obj)
		kdapl_obj_put(obj);
	if (cr)
		kdapl_obj_put(&cr->obj);
out:
	memalloc_noio_restore(noio);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_cr_accept);

/* Rejects with a Consumer's data; if the CM refuses that, the peer has given up (C-12) */
static void kdapl_cr_reject(struct kdapl_cr *cr, const void *data, u8 len)
{
	struct rdma_cm_id *id = xchg(&cr->id, NULL);
	u8 msg[KDAPL_REJECT_PRIVATE];

	if (!id)
		return;
	memcpy(msg, reject_prefix, sizeof(reject_prefix));
	if (len)
		memcpy(msg + sizeof(reject_prefix), data, len);
	rdma_reject(id, msg, sizeof(reject_prefix) + len, IB_CM_REJ_CONSUMER_DEFINED);
	rdma_destroy_id(id);
	kdapl_ia_verbs_put(cr->obj.ia);
}

/**
 * dat_cr_reject - reject a connection request
 * @cr_handle:         the request
 * @private_data_size: number of bytes for the peer's PEER_REJECTED event, at most 144
 * @private_data:      the bytes; NULL if there are none
 *
 * The request is consumed, even if its peer has given up. The EP of an RSP is UNCONNECTED again.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER: @private_data_size is not
 * legal, or @private_data is NULL although it is not 0.
 */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			 const DAT_PVOID private_data)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_cr *cr;

	cr = kdapl_cr_get(cr_handle);
	if (!cr)
		return KDAPL_BAD_HANDLE(CR);
	if (private_data_size < 0 ||
	    private_data_size > KDAPL_REJECT_PRIVATE - KDAPL_REJECT_PREFIX)
		ret = KDAPL_BAD_ARG(2);
	else if (private_data_size && !private_data)
		ret = KDAPL_BAD_ARG(3);
	else if (kdapl_obj_kill_and_put(&cr->obj))
		ret = KDAPL_BAD_HANDLE(CR);
	if (ret != DAT_SUCCESS) {
		kdapl_obj_put(&cr->obj);
		return ret;
	}
	kdapl_obj_drain(&cr->obj);
	kdapl_cr_release_ep(cr);
	kdapl_cr_reject(cr, private_data, private_data_size);
	kdapl_cr_finish(cr);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_cr_reject);

/* Copies what the callback stored */
static void kdapl_cr_copy(struct kdapl_cr *next, const struct kdapl_cr *cr)
{
	next->param = cr->param;
	next->local = cr->local;
	next->remote = cr->remote;
	next->local_port = cr->local_port;
	next->remote_port = cr->remote_port;
	next->private_len = cr->private_len;
	memcpy(next->private_data, cr->private_data, sizeof(next->private_data));
}

/**
 * dat_cr_handoff - move a connection request to another service point
 * @cr_handle: the request
 * @handoff:   qualifier of a service point of the same IA
 *
 * The request is consumed. A new event, with a new handle, announces it on the EVD of the other
 * service point, as if it had arrived there, with the same private data and peer. It counts as a
 * waiting request of that EVD; if the EVD is the same, it is not counted twice. When the new event
 * is queued, the EP that an RSP has reserved for the request is UNCONNECTED again. If the other
 * service point is freed at the same time, the request is refused as if nobody listened.
 *
 * Context: any except hard interrupt (class A).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @cr_handle is not valid
 * * DAT_INVALID_PARAMETER - no service point of the IA listens on @handoff
 * * DAT_INSUFFICIENT_RESOURCES - the other service point has no room for another request, or
 *   there is no memory for it; the request can still be answered
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	struct kdapl_cr *cr, *next;
	struct kdapl_sp *sp;
	DAT_RETURN ret;
	bool same;

	cr = kdapl_cr_get(cr_handle);
	if (!cr)
		return KDAPL_BAD_HANDLE(CR);
	ret = KDAPL_BAD_ARG(2);
	sp = kdapl_sp_find(cr->obj.ia, handoff);
	if (!sp)
		goto err_put_cr;
	ret = KDAPL_NO_RESOURCE(TEVD);
	/* A request that stays on the EVD is not counted again */
	same = cr->sp->evd_handle == sp->evd_handle;
	next = kdapl_cr_alloc(sp, same, GFP_ATOMIC);
	if (!next)
		goto err_put_sp;
	ret = KDAPL_BAD_HANDLE(CR);
	if (kdapl_obj_kill_and_put(&cr->obj))
		goto err_return_next;
	kdapl_sp_uncount(cr->sp, same);
	kdapl_cr_copy(next, cr);
	next->id = xchg(&cr->id, NULL);
	next->prev = cr;
	queue_work(kdapl_wq, &next->work);
	kdapl_obj_put(&sp->obj);
	return DAT_SUCCESS;

err_return_next:
	kdapl_sp_uncount(sp, same);
	kdapl_cr_put(next);
	kdapl_obj_put(&sp->obj);
err_put_sp:
	kdapl_obj_put(&sp->obj);
err_put_cr:
	kdapl_obj_put(&cr->obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_cr_handoff);
