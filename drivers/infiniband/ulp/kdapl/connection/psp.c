// SPDX-License-Identifier: GPL-2.0
/*
 * Public service points: the Consumer's calls.
 *
 * Called by Consumers in process context (queries in any). How a service point
 * listens and how a flood of requests is limited is in sp_listen.c.
 */
#include <linux/export.h>
#include "internal.h"

/* Arguments of a create, in the order of the reference */
static DAT_RETURN kdapl_psp_check(const struct kdapl_evd *evd, const DAT_CONN_QUAL *qual,
				  bool any, DAT_PSP_FLAGS flags, const DAT_PSP_HANDLE *out)
{
	if (!out)
		return KDAPL_BAD_ARG(5);
	if (!(evd->streams & DAT_EVD_CR_FLAG))
		return KDAPL_BAD_HANDLE(EVD_CR);
	if (any && !qual)
		return KDAPL_BAD_ARG(2);
	if (flags & ~(DAT_PSP_PROVIDER_FLAG | KDAT_PSP_ANY_ADDRESS_FLAG))
		return KDAPL_BAD_ARG(4);
	if (flags & DAT_PSP_PROVIDER_FLAG)
		return KDAPL_UNSUPPORTED;
	/* Port 0 would listen on a port that no peer knows */
	if (!any && !*qual)
		return KDAPL_BAD_ARG(2);
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_psp_error(int err, bool any)
{
	/* All ports are in use */
	if (any && err == -EADDRINUSE)
		return KDAPL_ERROR(CONN_QUAL_UNAVAILABLE);
	return kdapl_sp_error(err);
}

/* Common part of both creates. If @any, @qual receives the qualifier */
static DAT_RETURN kdapl_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *qual, bool any,
				   DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
				   DAT_PSP_HANDLE *psp_handle)
{
	struct kdapl_evd *evd;
	struct kdapl_sp *sp;
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	ret = kdapl_ia_get_enter(ia_handle, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	evd = kdapl_sp_evd(ia, evd_handle);
	if (!evd) {
		ret = KDAPL_BAD_HANDLE(EVD_CR);
		goto out_end_ia;
	}
	ret = kdapl_psp_check(evd, qual, any, flags, psp_handle);
	if (ret != DAT_SUCCESS)
		goto out_put_evd;
	sp = kdapl_sp_create(ia, evd, any ? 0 : *qual, DAT_HANDLE_NULL,
			     flags & KDAT_PSP_ANY_ADDRESS_FLAG);
	if (IS_ERR(sp)) {
		ret = kdapl_psp_error(PTR_ERR(sp), any);
		goto out_put_evd;
	}
	kdapl_sp_start(sp, any ? qual : NULL, psp_handle);
out_put_evd:
	kdapl_obj_put(&evd->obj);
out_end_ia:
	kdapl_ia_leave_put(ia);
	return ret;
}

/**
 * dat_psp_create - listen for connection requests
 * @ia_handle:  open IA
 * @conn_qual:  qualifier to listen on; if it is 65535 or less, it is the IP port
 * @evd_handle: EVD with DAT_EVD_CR_FLAG for CONNECTION_REQUEST events
 * @psp_flags:  DAT_PSP_CONSUMER_FLAG; or KDAT_PSP_ANY_ADDRESS_FLAG to listen on all addresses of
 *              the IA's port, not only on that of the IA
 * @psp_handle: receives the service point
 *
 * The number of requests that wait for an answer is limited to the length of the EVD (1024 at
 * most), and to the share of this service point in it. Further requests are refused as if nobody
 * listened. A request may be announced before the call has returned. With
 * KDAT_PSP_ANY_ADDRESS_FLAG, the service point also listens on addresses that are added to the port
 * later, but not on link-local ones other than that of the IA. The call succeeds if the service
 * point can listen on at least one address. It retries on addresses where listening fails, for
 * example because the qualifier is in use there.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle is not an open IA (IA); @evd_handle is not an
 *   EVD of this IA, has no DAT_EVD_CR_FLAG, or is being freed (EVD_CR)
 * * DAT_INVALID_PARAMETER - @conn_qual is 0 (ARG2), unknown flag (ARG4), no
 *   @psp_handle (ARG5)
 * * DAT_MODEL_NOT_SUPPORTED - DAT_PSP_PROVIDER_FLAG
 * * DAT_CONN_QUAL_IN_USE - the qualifier is in use
 * * DAT_PRIVILEGES_VIOLATION - @conn_qual is a port below 1024, and the caller
 *   does not have CAP_NET_BIND_SERVICE
 * * DAT_INSUFFICIENT_RESOURCES - no memory, or no free handle (MEMORY); the device
 *   or the address was lost (DEVICE)
 * * DAT_INTERNAL_ERROR - the connection manager failed for another reason
 */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	return kdapl_psp_create(ia_handle, &conn_qual, false, evd_handle, psp_flags, psp_handle);
}
EXPORT_SYMBOL_GPL(dat_psp_create);

/**
 * dat_psp_create_any - listen on a qualifier that the Provider chooses
 * @ia_handle:  open IA
 * @conn_qual:  receives the qualifier, an unused IP port
 * @evd_handle: EVD with DAT_EVD_CR_FLAG for CONNECTION_REQUEST events
 * @psp_flags:  DAT_PSP_CONSUMER_FLAG, or KDAT_PSP_ANY_ADDRESS_FLAG
 * @psp_handle: receives the service point
 *
 * The port is in the system's range of local ports (ip_local_port_range). With
 * KDAT_PSP_ANY_ADDRESS_FLAG it is free on all addresses, unless 32 attempts find none like that.
 * Otherwise the call is like dat_psp_create().
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle is not an open IA (IA); @evd_handle is not an
 *   EVD of this IA, has no DAT_EVD_CR_FLAG, or is being freed (EVD_CR)
 * * DAT_INVALID_PARAMETER - no @conn_qual (ARG2), unknown flag (ARG4), no
 *   @psp_handle (ARG5)
 * * DAT_MODEL_NOT_SUPPORTED - DAT_PSP_PROVIDER_FLAG
 * * DAT_CONN_QUAL_UNAVAILABLE - every port is in use
 * * DAT_CONN_QUAL_IN_USE - the port was free, but its service ID is in use
 *   without rdma_cm; another call tries another port
 * * DAT_INSUFFICIENT_RESOURCES - no memory, or no free handle (MEMORY); the device
 *   or the address was lost (DEVICE)
 * * DAT_INTERNAL_ERROR - the connection manager failed for another reason
 */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	return kdapl_psp_create(ia_handle, conn_qual, true, evd_handle, psp_flags, psp_handle);
}
EXPORT_SYMBOL_GPL(dat_psp_create_any);

static void kdapl_psp_fill(struct kdapl_obj *obj, union kdapl_param *param)
{
	const struct kdapl_sp *sp = to_kdapl_sp(obj);
	DAT_PSP_PARAM *p = &param->psp;

	p->ia_handle = kdapl_obj_handle(&obj->ia->obj);
	p->conn_qual = sp->qual;
	p->evd_handle = sp->evd_handle;
	p->psp_flags = sp->any_address ? KDAT_PSP_ANY_ADDRESS_FLAG : DAT_PSP_CONSUMER_FLAG;
}

static const u16 kdapl_psp_offsets[] = {
	KDAPL_PARAM(PSP, ia_handle), KDAPL_PARAM(PSP, conn_qual), KDAPL_PARAM(PSP, evd_handle),
	KDAPL_PARAM(PSP, psp_flags), sizeof(DAT_PSP_PARAM)
};

KDAPL_DEFINE_QUERY(kdapl_psp, PSP, KDAPL_BAD_HANDLE(PSP));

/**
 * dat_psp_query - query the parameters of a service point
 * @psp_handle:     the service point
 * @psp_param_mask: DAT_PSP_FIELD_*, the members to return
 * @psp_param:      receives them; other members do not change
 *
 * Context: any except hard interrupt (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER: unknown bit
 * in @psp_param_mask, or @psp_param is NULL.
 */
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	return kdapl_query(&kdapl_psp_query, psp_handle, psp_param_mask, psp_param);
}
EXPORT_SYMBOL_GPL(dat_psp_query);

/**
 * dat_psp_free - stop listening
 * @psp_handle: the service point
 *
 * Requests that were announced stay valid; later ones are refused as if nobody listened.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	/* Nothing uses a service point, and no post looks for one */
	return kdapl_obj_free(psp_handle, DAT_HANDLE_TYPE_PSP, false, KDAPL_BAD_HANDLE(PSP),
			      KDAPL_BAD_HANDLE(PSP));
}
EXPORT_SYMBOL_GPL(dat_psp_free);
