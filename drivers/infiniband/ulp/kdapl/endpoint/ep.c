// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: creation and destruction.
 *
 * Called by Consumers in process context, and by dat_ia_close(). ep_parents.c has the
 * objects that an EP uses, ep_qp.c the QP, the pools and the room in a CQ, cm.c the
 * connection, and post.c the posts.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include "event/event.h"
#include "post/post.h"
#include "queue/queue.h"
#include "connection/connection.h"
#include "internal.h"

/* Drops the parked completions of an EP that is freed; buffers return to their SRQ */
static void kdapl_ep_drop_parked(struct kdapl_ep *ep)
{
	struct kdapl_event *ev, *next;
	struct kdapl_slot *slot;

	spin_lock_irq(&ep->lock);
	for (ev = ep->parked.first; ev; ev = next) {
		next = ev->next;
		slot = kdapl_slot_of_event(ev);
		kdapl_pool_put(slot);
	}
	ep->parked.first = NULL;
	ep->parked.last = NULL;
	spin_unlock_irq(&ep->lock);
}

/*
 * Ends all of an EP but its memory. It was unpublished a grace period ago, and has no references
 * and verbs objects. Undelivered events are removed. An upcall may still be delivering one, whose
 * private data is in the EP.
 */
static void kdapl_ep_end(struct kdapl_ep *ep)
{
	/* QP and id are destroyed, so nothing schedules the work any more */
	cancel_delayed_work_sync(&ep->conn.timer);
	cancel_delayed_work_sync(&ep->conn.keepalive);
	cancel_work_sync(&ep->conn.work);

	kdapl_ep_take_back(ep);
	kdapl_ep_drop_parked(ep);
	kdapl_ep_exit_pools(ep);
	kdapl_ep_leave(ep);
	kdapl_ep_unuse_parents(ep);
	kdapl_ia_del(ep->obj.ia, &ep->obj);
}

static void kdapl_ep_free_mem(struct kdapl_ep *ep)
{
	kfree(ep->conn.notice);
	kfree(ep->texts);
	kfree_rcu(ep, obj.rcu);
}

/*
 * Ends an EP whose IA is being closed. The memory stays until kdapl_ep_free_ended(). @obj:
 * unpublished a grace period ago, without references and verbs objects. Process context; called by
 * the thread that closes the IA.
 */
static void kdapl_ep_destroy(struct kdapl_obj *obj)
{
	struct kdapl_ia *ia = obj->ia;

	kdapl_ep_end(to_kdapl_ep(obj));
	list_add(&obj->node, &ia->ended_eps);
}

/*
 * Frees the EPs that the close of an IA ended. @ia: the IA, whose EVDs are destroyed or have
 * no upcalls: none uses the private data of an EP any more. Process context; called by the thread
 * that closes the IA.
 */
void kdapl_ep_free_ended(struct kdapl_ia *ia)
{
	struct kdapl_obj *obj, *next;

	list_for_each_entry_safe(obj, next, &ia->ended_eps, node) {
		list_del(&obj->node);
		kdapl_ep_free_mem(to_kdapl_ep(obj));
	}
}

static const struct kdapl_obj_ops kdapl_ep_ops = {
	.destroy = kdapl_ep_destroy,
};

static struct kdapl_ep *kdapl_ep_alloc(struct kdapl_ia *ia, const DAT_EP_ATTR *attr,
				       const struct kdapl_ep_named *named)
{
	struct kdapl_ep *ep;

	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep)
		return NULL;
	ep->texts = kzalloc(sizeof(*ep->texts), GFP_KERNEL);
	if (!ep->texts || kdapl_obj_init(&ep->obj, DAT_HANDLE_TYPE_EP, ia))
		goto err_free;
	ep->obj.ops = &kdapl_ep_ops;
	ep->cfg.attr = *attr;
	/* Do not keep pointers to the Consumer's arrays, whose contents are in @named */
	ep->cfg.attr.ep_provider_specific_count = 0;
	ep->cfg.attr.ep_provider_specific = NULL;
	ep->cfg.named = *named;
	memcpy(&ep->conn.local, &ia->addr, sizeof(ep->conn.local));
	spin_lock_init(&ep->lock);
	spin_lock_init(&ep->sq.lock);
	mutex_init(&ep->mutex);
	kdapl_marker_init(ep);
	kdapl_ep_no_pools(ep);
	kdapl_cm_setup(ep);
	kdapl_keepalive_setup(ep);
	return ep;

err_free:
	kfree(ep->texts);
	kfree(ep);
	return NULL;
}

static DAT_RETURN kdapl_ep_create(struct kdapl_ia *ia, const struct kdapl_ep_parents *par,
				  const DAT_EP_ATTR *attr, const struct kdapl_ep_named *named,
				  DAT_RETURN bad_attr, DAT_EP_HANDLE *ep_handle)
{
	DAT_RETURN ret = KDAPL_NO_RESOURCE(MEMORY);
	DAT_EP_STATE state = DAT_EP_STATE_UNCONFIGURED_UNCONNECTED;
	struct kdapl_ep *ep;
	int err;

	ep = kdapl_ep_alloc(ia, attr, named);
	if (!ep)
		return ret;
	if (!kdapl_ep_use_parents(ep, par)) {
		ret = KDAPL_ERROR(INVALID_HANDLE);
		goto err_unuse;
	}
	ep->fast.srq_attached = ep->cfg.srq;
	kdapl_ep_set_limits(ep);
	if (!kdapl_ep_contexts_agree(ep)) {
		ret = KDAPL_BAD_ARG(4);
		goto err_unuse;
	}
	if (!kdapl_ep_context_fits(ep) || !kdapl_ep_join(ep)) {
		ret = bad_attr;
		goto err_unuse;
	}
	if (kdapl_ep_configured(ep)) {
		err = kdapl_ep_build(ep, ep, ia->ibdev);
		if (err) {
			ret = kdapl_ep_build_error(err);
			goto err_leave;
		}
		if (ep->cfg.srq)
			kdapl_srq_attach(ep, rcu_dereference_protected(ep->fast.qp, 1));
		state = DAT_EP_STATE_UNCONNECTED;
	}
	spin_lock_irq(&ep->lock);
	kdapl_ep_set_state(ep, state);
	ep->fast.slow_path |= KDAPL_EP_PARK;
	spin_unlock_irq(&ep->lock);
	*ep_handle = kdapl_obj_handle(&ep->obj);
	ep->teardown.verbs_counted = state == DAT_EP_STATE_UNCONNECTED;
	if (ep->teardown.verbs_counted)
		atomic_inc(&ia->nqps);
	kdapl_ia_add(ia, &ep->obj, ep->teardown.verbs_counted);
	return DAT_SUCCESS;

err_leave:
	kdapl_ep_leave(ep);
err_unuse:
	kdapl_ep_unuse_parents(ep);
	kdapl_obj_exit(&ep->obj);
	kfree(ep->texts);
	kfree(ep);
	return ret;
}

/*
 * The common part of both calls, with the parents looked up. The call for an EP with an SRQ
 * has one more argument before these, and needs attributes.
 */
static DAT_RETURN kdapl_ep_check_create(struct kdapl_ia *ia, const struct kdapl_ep_parents *par,
					const DAT_EP_ATTR *attributes, DAT_EP_HANDLE *ep_handle)
{
	const struct kdapl_srq *srq = par->srq ? to_kdapl_srq(par->srq) : NULL;
	DAT_RETURN bad = srq ? KDAPL_BAD_ARG(7) : KDAPL_BAD_ARG(6);
	struct kdapl_ep_named named;
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	if (!ep_handle)
		return srq ? KDAPL_BAD_ARG(8) : KDAPL_BAD_ARG(7);
	if (srq && !attributes)
		return bad;
	if (attributes)
		attr = data_race(*attributes); /* once: the Consumer may be changing them */
	else
		kdapl_ep_attr_default(ia, &attr);
	ret = kdapl_ep_attr_check(ia, &attr, srq, bad, &named);
	if (ret != DAT_SUCCESS)
		return ret;
	if ((par->recv_evd && !srq && !attr.max_recv_dtos) ||
	    (par->request_evd && !attr.max_request_dtos))
		return bad;
	if (srq && srq->state != DAT_SRQ_STATE_OPERATIONAL)
		return KDAPL_BAD_STATE(SRQ_ERROR);
	if (srq && par->pz && srq->pz != to_kdapl_pz(par->pz))
		return KDAPL_BAD_ARG(2);
	return kdapl_ep_create(ia, par, &attr, &named, bad, ep_handle);
}

/* dat_ep_create(), or with @srq dat_ep_create_with_srq() */
static DAT_RETURN kdapl_ep_create_with(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
				       DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
				       DAT_EVD_HANDLE connect, const DAT_SRQ_HANDLE *srq,
				       const DAT_EP_ATTR *attr, DAT_EP_HANDLE *out)
{
	struct kdapl_ep_parents par = {};
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	ret = kdapl_ia_get_enter(ia_handle, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = kdapl_ep_get_parents(ia, pz, recv, request, connect, &par);
	if (ret == DAT_SUCCESS && srq) {
		par.srq = kdapl_obj_get(*srq, DAT_HANDLE_TYPE_SRQ);
		if (!par.srq || par.srq->ia != ia)
			ret = KDAPL_BAD_HANDLE(SRQ);
	}
	if (ret == DAT_SUCCESS)
		ret = kdapl_ep_check_create(ia, &par, attr, out);
	kdapl_ep_put_parents(&par);
	kdapl_ia_leave_put(ia);
	return ret;
}

/**
 * dat_ep_create - create an endpoint
 * @ia_handle:              IA to which it belongs
 * @pz_handle:              protection zone; or DAT_HANDLE_NULL
 * @recv_evd_handle:        EVD of receives, or DAT_HANDLE_NULL
 * @request_evd_handle:     EVD of sends and RDMA, or DAT_HANDLE_NULL
 * @connect_evd_handle:     EVD of connection events, or DAT_HANDLE_NULL
 * @ep_attributes:          NULL for the defaults
 * @ep_handle:              receives the EP, which is UNCONNECTED; it is
 *                          UNCONFIGURED_UNCONNECTED without its zone or an EVD that
 *                          its depths require
 *
 * Allocates all that posts will need.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - the handle of the IA, the PZ or an EVD is not valid, or an EVD
 *   lacks the stream
 * * DAT_INVALID_PARAMETER - @ep_handle is NULL; an attribute is not legal or exceeds the
 *   limits of the IA; an EVD is given although the depth is 0; the completion flags differ
 *   from those of another EP on the EVD; the contexts of the EVDs of receives and of requests
 *   differ; solicited wait with an EVD in poll context
 * * DAT_MODEL_NOT_SUPPORTED - quality of service
 * * DAT_INSUFFICIENT_RESOURCES - no memory; a queue or CQ is too large for the device; the
 *   device was removed
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	return kdapl_ep_create_with(ia_handle, pz_handle, recv_evd_handle, request_evd_handle,
				    connect_evd_handle, NULL, ep_attributes, ep_handle);
}
EXPORT_SYMBOL_GPL(dat_ep_create);

/**
 * dat_ep_create_with_srq - create an endpoint that uses an SRQ for receives
 * @ia_handle:          IA to which it belongs
 * @pz_handle:          protection zone of the EP and of the SRQ
 * @recv_evd_handle:    EVD of receives
 * @request_evd_handle: EVD of sends and RDMA
 * @connect_evd_handle: EVD of connection events
 * @srq_handle:         the SRQ
 * @ep_attributes:      attributes; those of receives are ignored, the SRQ has its own
 * @ep_handle:          receives the EP
 *
 * Context: process (class P).
 * Return: as for dat_ep_create(), and
 *
 * * DAT_INVALID_HANDLE - @srq_handle is not the handle of an SRQ
 * * DAT_INVALID_PARAMETER - @pz_handle is not the zone of the SRQ; @ep_attributes is NULL
 * * DAT_INVALID_STATE - the SRQ is in ERROR
 */
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle)
{
	return kdapl_ep_create_with(ia_handle, pz_handle, recv_evd_handle, request_evd_handle,
				    connect_evd_handle, &srq_handle, ep_attributes, ep_handle);
}
EXPORT_SYMBOL_GPL(dat_ep_create_with_srq);

static bool kdapl_ep_state_owned_by_cr(u8 state)
{
	return state == DAT_EP_STATE_RESERVED || state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
	       state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
}

/**
 * dat_ep_free - destroy an endpoint
 * @ep_handle: the EP
 *
 * An existing connection is broken. Undelivered events of the EP are removed from their EVDs, and
 * the call waits for an upcall that delivers one.
 *
 * Context: process (class P). Legal in an upcall that may sleep, unless an upcall is delivering
 * an event of this EP.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP
 * * DAT_INVALID_STATE - a service point reserved the EP (RESERVED, PASSIVE or
 *   TENTATIVE_CONNECTION_PENDING); or EP_NOTREADY: not legal in this upcall
 */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_ep_evds evds;
	struct kdapl_obj *obj;
	struct kdapl_ep *ep;
	LIST_HEAD(one);

	obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return KDAPL_BAD_HANDLE(EP);
	ep = to_kdapl_ep(obj);
	if (!kdapl_ep_may_wait(ep)) {
		ret = KDAPL_BAD_STATE(EP_NOTREADY);
		goto out_put;
	}
	mutex_lock(&ep->mutex);
	if (kdapl_ep_state_owned_by_cr(ep->state))
		ret = kdapl_ep_state_error(ep->state);
	else if (kdapl_obj_kill_and_put(obj))
		ret = KDAPL_BAD_HANDLE(EP);
	else
		WRITE_ONCE(ep->dying, true);
	mutex_unlock(&ep->mutex);
	if (ret != DAT_SUCCESS)
		goto out_put;
	kdapl_wait_grace_period();
	kdapl_obj_drain(obj);
	list_add(&ep->teardown.node, &one);
	kdapl_eps_teardown(&one, true);
	kdapl_ep_get_evds(ep, &evds);
	kdapl_ep_end(ep);
	kdapl_ep_wait_upcalls(&evds, ep);
	kdapl_ep_free_mem(ep);
	return DAT_SUCCESS;

out_put:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_free);
