// SPDX-License-Identifier: GPL-2.0
/*
 * Reserved service points: one request, for one EP.
 *
 * Begins the relation between an RSP and its EP, which sp_backlog.c continues and ends. The
 * EP is RESERVED until the request arrives, and PASSIVE_CONNECTION_PENDING until it is
 * answered. During this time kdapl_ep.conn.rsp is the handle of the RSP, and each finds the other
 * by its handle, so either may be destroyed first when the IA is closed or the device is
 * removed. sp_listen.c implements the listening. The RSP listens until its request is
 * announced; then its qualifier is free, and only its handle is left.
 *
 * Called by Consumers in process context (queries in any).
 */
#include <linux/export.h>
#include "post/post.h"
#include "internal.h"

/*
 * Reserves an EP for an RSP. @sp: the RSP, which was created with the handle of the EP. Process
 * context, ep->mutex held since before the RSP listens.
 */
void kdapl_rsp_reserve_ep(struct kdapl_ep *ep, struct kdapl_sp *sp)
{
	lockdep_assert_held(&ep->mutex);
	ep->conn.rsp = kdapl_obj_handle(&sp->obj);
	spin_lock_irq(&ep->lock);
	kdapl_ep_set_state(ep, DAT_EP_STATE_RESERVED);
	spin_unlock_irq(&ep->lock);
}

/* Creates the RSP of an EP after checking the EP. ep->mutex held */
static DAT_RETURN kdapl_rsp_create(struct kdapl_ep *ep, struct kdapl_evd *evd,
				   DAT_CONN_QUAL qual, DAT_RSP_HANDLE *rsp_handle)
{
	DAT_EP_STATE state = READ_ONCE(ep->state);
	struct kdapl_sp *sp;

	if (ep->dying)
		return KDAPL_BAD_HANDLE(EP);
	if (state != DAT_EP_STATE_UNCONNECTED)
		return kdapl_ep_state_error(state);
	/* The outcome of the connection could not be reported */
	if (!ep->cfg.connect_evd)
		return KDAPL_BAD_HANDLE(EP);
	sp = kdapl_sp_create(ep->obj.ia, evd, qual, kdapl_obj_handle(&ep->obj), false);
	if (IS_ERR(sp))
		return kdapl_sp_error(PTR_ERR(sp));
	/* A request that has already arrived waits for the mutex */
	kdapl_rsp_reserve_ep(ep, sp);
	kdapl_sp_start(sp, NULL, rsp_handle);
	return DAT_SUCCESS;
}

/* Checks the arguments of a create, in the order of the specification */
static DAT_RETURN kdapl_rsp_check(const struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				  const DAT_RSP_HANDLE *out)
{
	if (!evd)
		return KDAPL_BAD_HANDLE(EVD_CR);
	if (!out)
		return KDAPL_BAD_ARG(5);
	if (!(evd->streams & DAT_EVD_CR_FLAG))
		return KDAPL_BAD_HANDLE(EVD_CR);
	/* With port 0 the CM would choose a port, which the call cannot return */
	if (!qual)
		return KDAPL_BAD_ARG(2);
	return DAT_SUCCESS;
}

/**
 * dat_rsp_create - listen for one connection request on behalf of an endpoint
 * @ia_handle:  open IA
 * @conn_qual:  qualifier to listen on; if it is 65535 or less, it is the IP port
 * @ep_handle:  EP of the IA, in UNCONNECTED, with a connect EVD
 * @evd_handle: EVD with DAT_EVD_CR_FLAG for the CONNECTION_REQUEST event
 * @rsp_handle: receives the service point
 *
 * The EP becomes RESERVED: receives may be posted, but it can be neither freed nor reset. When the
 * event of the request is queued, the EP is PASSIVE_CONNECTION_PENDING, and the RSP does not listen
 * any more; dat_rsp_free() then only frees the handle. The Consumer answers the request by
 * dat_cr_accept() without an EP, or by dat_cr_reject(), after which the EP is UNCONNECTED again.
 * The event may come before the call has returned. A request that finds the EVD full is refused as
 * if nobody listened, and the RSP continues to listen.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle is not an open IA (IA); @ep_handle is not an EP of this
 *   IA, has no connect EVD, or is being freed (EP); @evd_handle is not an EVD of this IA,
 *   has no DAT_EVD_CR_FLAG, or is being freed (EVD_CR)
 * * DAT_INVALID_PARAMETER - @conn_qual is 0 (ARG2), no @rsp_handle (ARG5)
 * * DAT_INVALID_STATE - the EP is not UNCONNECTED; the subtype is its state
 * * DAT_CONN_QUAL_IN_USE - the qualifier is in use
 * * DAT_PRIVILEGES_VIOLATION - @conn_qual is a port below 1024, and the caller
 *   does not have CAP_NET_BIND_SERVICE
 * * DAT_INSUFFICIENT_RESOURCES - no memory, or no free handle (MEMORY); the device or the
 *   address was lost (DEVICE)
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

	ret = kdapl_ia_get_enter(ia_handle, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj || obj->ia != ia) {
		ret = KDAPL_BAD_HANDLE(EP);
		goto out;
	}
	evd = kdapl_sp_evd(ia, evd_handle);
	ret = kdapl_rsp_check(evd, conn_qual, rsp_handle);
	if (ret != DAT_SUCCESS)
		goto out;
	ep = to_kdapl_ep(obj);
	mutex_lock(&ep->mutex);
	ret = kdapl_rsp_create(ep, evd, conn_qual, rsp_handle);
	mutex_unlock(&ep->mutex);
out:
	if (evd)
		kdapl_obj_put(&evd->obj);
	if (obj)
		kdapl_obj_put(obj);
	kdapl_ia_leave_put(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_rsp_create);

static void kdapl_rsp_fill(struct kdapl_obj *obj, union kdapl_param *param)
{
	const struct kdapl_sp *sp = to_kdapl_sp(obj);
	DAT_RSP_PARAM *p = &param->rsp;

	p->ia_handle = kdapl_obj_handle(&obj->ia->obj);
	p->conn_qual = sp->qual;
	p->evd_handle = sp->evd_handle;
	p->ep_handle = sp->ep_handle;
}

static const u16 kdapl_rsp_offsets[] = {
	KDAPL_PARAM(RSP, ia_handle), KDAPL_PARAM(RSP, conn_qual), KDAPL_PARAM(RSP, evd_handle),
	KDAPL_PARAM(RSP, ep_handle), sizeof(DAT_RSP_PARAM)
};

KDAPL_DEFINE_QUERY(kdapl_rsp, RSP, KDAPL_BAD_HANDLE(RSP));

/**
 * dat_rsp_query - query the parameters of a reserved service point
 * @rsp_handle:     the service point, whether it still listens or not
 * @rsp_param_mask: DAT_RSP_FIELD_*, the members to return
 * @rsp_param:      receives them; other members do not change
 *
 * Context: any except hard interrupt (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER: unknown bit
 * in @rsp_param_mask, or @rsp_param is NULL.
 */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	return kdapl_query(&kdapl_rsp_query, rsp_handle, rsp_param_mask, rsp_param);
}
EXPORT_SYMBOL_GPL(dat_rsp_query);

/**
 * dat_rsp_free - stop listening for an endpoint
 * @rsp_handle: the service point
 *
 * If no request was announced, the EP is UNCONNECTED again and keeps its receives. A request that
 * was announced stays valid, and the EP is reserved for it.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	/* Nothing uses a service point, and no post looks for one */
	return kdapl_obj_free(rsp_handle, DAT_HANDLE_TYPE_RSP, false, KDAPL_BAD_HANDLE(RSP),
			      KDAPL_BAD_HANDLE(RSP));
}
EXPORT_SYMBOL_GPL(dat_rsp_free);
