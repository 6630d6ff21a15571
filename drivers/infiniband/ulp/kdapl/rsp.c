// SPDX-License-Identifier: GPL-2.0
/*
 * Reserved service points: one request, for one EP.
 *
 * Owns the bond between an RSP and its EP: RESERVED until the request comes,
 * PASSIVE_CONNECTION_PENDING until it is answered. kdapl_ep.rsp names the RSP
 * for that time, and each side finds the other by its handle, so that either
 * may go first when the IA is closed or the device leaves. How an RSP listens
 * stands in listen.c: it does so until its request is announced; then it is
 * spent, its qualifier is free, and only its handle is left.
 *
 * Called by Consumers in process context (queries in any), by cr.c when the
 * request comes and when it is answered, and by the end of the RSP.
 */
#include <linux/export.h>
#include "kdapl.h"

/**
 * kdapl_rsp_move - move the EP of an RSP from one state to another
 * @sp:   service point; nothing happens if it is no RSP
 * @from: RESERVED or PASSIVE_CONNECTION_PENDING
 * @to:   the latter, or UNCONNECTED, which ends the bond
 *
 * Context: process, ep->mutex not held.
 * Return: false, and nothing is done, if the EP is not (any more) in @from on
 * behalf of this RSP: it is going, or its device is.
 */
bool kdapl_rsp_move(struct kdapl_sp *sp, DAT_EP_STATE from, DAT_EP_STATE to)
{
	struct kdapl_obj *obj;
	struct kdapl_ep *ep;
	bool moved;

	if (!sp->ep_handle)
		return false;
	obj = kdapl_obj_get(sp->ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return false;
	ep = to_kdapl_ep(obj);
	mutex_lock(&ep->mutex);
	spin_lock_irq(&ep->lock);
	moved = ep->rsp == kdapl_obj_handle(&sp->obj) && ep->state == from;
	if (moved)
		kdapl_ep_set_state(ep, to);
	spin_unlock_irq(&ep->lock);
	if (moved && to == DAT_EP_STATE_UNCONNECTED)
		ep->rsp = DAT_HANDLE_NULL;
	mutex_unlock(&ep->mutex);
	kdapl_obj_put(obj);
	return moved;
}

/**
 * kdapl_rsp_bond - an EP is reserved by an RSP
 * @ep: EP in UNCONNECTED
 * @sp: the RSP, made with the EP's handle
 *
 * Context: process, ep->mutex held since before the RSP listens.
 */
void kdapl_rsp_bond(struct kdapl_ep *ep, struct kdapl_sp *sp)
{
	lockdep_assert_held(&ep->mutex);
	ep->rsp = kdapl_obj_handle(&sp->obj);
	spin_lock_irq(&ep->lock);
	kdapl_ep_set_state(ep, DAT_EP_STATE_RESERVED);
	spin_unlock_irq(&ep->lock);
}

/* Makes the RSP of an EP that may have one. ep->mutex held */
static DAT_RETURN kdapl_rsp_reserve(struct kdapl_ep *ep, struct kdapl_evd *evd,
				    DAT_CONN_QUAL qual, DAT_RSP_HANDLE *rsp_handle)
{
	DAT_EP_STATE state = READ_ONCE(ep->state);
	struct kdapl_sp *sp;

	if (ep->dying)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (state != DAT_EP_STATE_UNCONNECTED)
		return kdapl_ep_state_error(state);
	/* Nobody could be told how the connection comes about */
	if (!ep->connect_evd)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	sp = kdapl_sp_create(ep->obj.ia, evd, qual, kdapl_obj_handle(&ep->obj));
	if (IS_ERR(sp))
		return kdapl_sp_error(PTR_ERR(sp));
	/* A request that is here already waits for the mutex */
	kdapl_rsp_bond(ep, sp);
	kdapl_sp_start(sp, NULL, rsp_handle);
	return DAT_SUCCESS;
}

/* Arguments of a create, in the order of the reference */
static DAT_RETURN kdapl_rsp_check(const struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				  const DAT_RSP_HANDLE *out)
{
	if (!evd)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (!out)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!(evd->streams & DAT_EVD_CR_FLAG))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	/* Port 0 would listen somewhere that nobody can be told of */
	if (!qual)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return DAT_SUCCESS;
}

/**
 * dat_rsp_create - listen for one connection request on behalf of an endpoint
 * @ia_handle:  open IA
 * @conn_qual:  qualifier to listen on; up to 65535 it is the IP port
 * @ep_handle:  EP of the IA, in UNCONNECTED, with a connect EVD
 * @evd_handle: EVD with DAT_EVD_CR_FLAG that takes the CONNECTION_REQUEST event
 * @rsp_handle: takes the service point
 *
 * The EP is RESERVED from now on: receives may be posted, it can be neither
 * freed nor reset. With the event of the request it is
 * PASSIVE_CONNECTION_PENDING and the RSP is spent: nobody listens on the
 * qualifier any more, dat_rsp_free() only takes the handle back. The request
 * is answered by dat_cr_accept() without an EP, or by dat_cr_reject(), after
 * which the EP is UNCONNECTED again. The event may come before the call has
 * returned. A request that finds the EVD full is refused as if nobody
 * listened; the RSP goes on to listen then. Source: kDAPL 2.0.
 *
 * Context: process (class P), not from an upcall.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle names no open IA (IA); @ep_handle names no EP
 *   of this IA, one without a connect EVD, or one that is being freed (EP);
 *   @evd_handle names no EVD of this IA, one that takes no requests, or one that
 *   is being freed (EVD_CR)
 * * DAT_INVALID_PARAMETER - @conn_qual is 0 (ARG2), no @rsp_handle (ARG5)
 * * DAT_INVALID_STATE - the EP is not UNCONNECTED; the subtype names its state
 * * DAT_CONN_QUAL_IN_USE - somebody listens there
 * * DAT_PRIVILEGES_VIOLATION - @conn_qual is a port below 1024, and the caller
 *   does not have CAP_NET_BIND_SERVICE
 * * DAT_INSUFFICIENT_RESOURCES - no memory, no handle left (MEMORY); the device
 *   or its address is gone (DEVICE)
 * * DAT_INTERNAL_ERROR - the connection manager failed for another reason
 */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle)
{
	struct kdapl_evd *evd = NULL;
	struct kdapl_obj *obj;
	struct kdapl_ep *ep;
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	ret = kdapl_ia_begin(ia_handle, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj || obj->ia != ia) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		goto out;
	}
	evd = kdapl_sp_evd(ia, evd_handle);
	ret = kdapl_rsp_check(evd, conn_qual, rsp_handle);
	if (ret != DAT_SUCCESS)
		goto out;
	ep = to_kdapl_ep(obj);
	mutex_lock(&ep->mutex);
	ret = kdapl_rsp_reserve(ep, evd, conn_qual, rsp_handle);
	mutex_unlock(&ep->mutex);
out:
	if (evd)
		kdapl_obj_put(&evd->obj);
	if (obj)
		kdapl_obj_put(obj);
	kdapl_ia_end(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_rsp_create);

/**
 * dat_rsp_query - what a reserved service point was made with
 * @rsp_handle:     the service point, spent or not
 * @rsp_param_mask: DAT_RSP_FIELD_*, the members wanted
 * @rsp_param:      takes them; other members are left alone
 *
 * Source: kDAPL 2.0.
 *
 * Context: any but hard interrupt (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER: unknown bit
 * in @rsp_param_mask, or @rsp_param is NULL.
 */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_obj *obj;
	struct kdapl_sp *sp;

	obj = kdapl_obj_get(rsp_handle, DAT_HANDLE_TYPE_RSP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	sp = to_kdapl_sp(obj);
	if (rsp_param_mask & ~DAT_RSP_FIELD_ALL) {
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		goto out;
	}
	if (!rsp_param) {
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		goto out;
	}
	if (rsp_param_mask & DAT_RSP_FIELD_IA_HANDLE)
		rsp_param->ia_handle = kdapl_obj_handle(&obj->ia->obj);
	if (rsp_param_mask & DAT_RSP_FIELD_CONN_QUAL)
		rsp_param->conn_qual = sp->qual;
	if (rsp_param_mask & DAT_RSP_FIELD_EVD_HANDLE)
		rsp_param->evd_handle = sp->evd_handle;
	if (rsp_param_mask & DAT_RSP_FIELD_EP_HANDLE)
		rsp_param->ep_handle = sp->ep_handle;
out:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_rsp_query);

/**
 * dat_rsp_free - stop listening for an endpoint
 * @rsp_handle: the service point
 *
 * If no request has been announced the EP is UNCONNECTED again, its receives
 * stay. A request that was announced stays valid, and the EP belongs to it.
 * Source: kDAPL 2.0.
 *
 * Context: process (class P), not from an upcall.
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	if (kdapl_sp_free(rsp_handle, DAT_HANDLE_TYPE_RSP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_rsp_free);
