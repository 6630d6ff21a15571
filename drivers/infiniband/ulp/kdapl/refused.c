// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that our model has no place for: they check what they are given and
 * answer DAT_MODEL_NOT_SUPPORTED, in this release and in later ones. Called by
 * Consumers, in any context.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>

#include "kdapl.h"

#define NOT_OFFERED	DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)

/* DAT_SUCCESS if @handle names an endpoint that takes receives from an SRQ */
static DAT_RETURN check_srq_ep(DAT_EP_HANDLE handle)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_obj *obj;

	rcu_read_lock();
	obj = kdapl_obj_lookup(handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	else if (!to_kdapl_ep(obj)->srq_attached)
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	rcu_read_unlock();
	return ret;
}

/**
 * dat_ia_reserved_lmr - the LMR that reaches all memory
 * @ia_handle:   open IA
 * @lmr_handle:  would take the LMR
 * @lmr_context: would take its context
 *
 * There is none: nothing could revoke it.
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER, a pointer is NULL;
 * otherwise DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle,
			       DAT_LMR_HANDLE *lmr_handle,
			       DAT_LMR_CONTEXT *lmr_context)
{
	if (!kdapl_obj_is_live(ia_handle, DAT_HANDLE_TYPE_IA))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!lmr_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!lmr_context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return NOT_OFFERED;
}
EXPORT_SYMBOL_GPL(dat_ia_reserved_lmr);

/**
 * dat_ep_common_connect - connect to a common service point
 * @ep_handle:         endpoint
 * @remote_ia_address: peer
 * @timeout:           microseconds
 * @private_data_size: bytes
 * @private_data:      for the peer
 *
 * There are no common service points, see dat_csp_create().
 *
 * Context: any (class A).
 * Return: DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle,
				 DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout,
				 DAT_COUNT private_data_size,
				 const DAT_PVOID private_data)
{
	return NOT_OFFERED;
}
EXPORT_SYMBOL_GPL(dat_ep_common_connect);

/**
 * dat_ep_recv_query - buffers that an endpoint has taken from its SRQ
 * @ep_handle:       endpoint with an SRQ
 * @nbufs_allocated: would take their number
 * @bufs_alloc_span: would take the messages they span
 *
 * The verbs do not show it.
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER, the EP has no SRQ (1) or
 * a pointer is NULL (2, 3); otherwise DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
			     DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	DAT_RETURN ret = check_srq_ep(ep_handle);

	if (ret != DAT_SUCCESS)
		return ret;
	if (!nbufs_allocated)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!bufs_alloc_span)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return NOT_OFFERED;
}
EXPORT_SYMBOL_GPL(dat_ep_recv_query);

/**
 * dat_ep_set_watermark - limit what an endpoint may take from its SRQ
 * @ep_handle:           endpoint with an SRQ
 * @soft_high_watermark: an event beyond it
 * @hard_high_watermark: the connection breaks beyond it
 *
 * The verbs do not show how many an endpoint has taken, nor break it for that.
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER, the EP has no SRQ (1) or
 * a watermark is negative and not infinite (2, 3); otherwise
 * DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
				DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	DAT_RETURN ret = check_srq_ep(ep_handle);

	if (ret != DAT_SUCCESS)
		return ret;
	if (soft_high_watermark < DAT_WATERMARK_INFINITE)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (hard_high_watermark < DAT_WATERMARK_INFINITE)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return NOT_OFFERED;
}
EXPORT_SYMBOL_GPL(dat_ep_set_watermark);

/**
 * dat_ep_post_rdma_read_to_rmr - post an RDMA read into an RMR
 * @ep_handle:        endpoint
 * @local_buffer:     where the data would go
 * @user_cookie:      for the event
 * @remote_buffer:    where it would come from
 * @completion_flags: as for an RDMA read
 *
 * An RMR's key is for the peer's use only.
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					const DAT_RMR_TRIPLET *local_buffer,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_buffer,
					DAT_COMPLETION_FLAGS completion_flags)
{
	if (!kdapl_obj_is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_OFFERED;
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read_to_rmr);

/**
 * dat_rmr_create_for_ep - create an RMR for the use of one endpoint
 * @pz_handle:  protection zone
 * @rmr_handle: would take the RMR
 *
 * The keys of the verbs belong to a protection domain, never to one QP.
 *
 * Context: process (class P), not from an upcall.
 * Return: DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER, @rmr_handle is NULL;
 * otherwise DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
				 DAT_RMR_HANDLE *rmr_handle)
{
	if (!kdapl_obj_is_live(pz_handle, DAT_HANDLE_TYPE_PZ))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!rmr_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return NOT_OFFERED;
}
EXPORT_SYMBOL_GPL(dat_rmr_create_for_ep);

/**
 * dat_csp_create - listen by socket triple
 * @ia_handle:  open IA
 * @comm:       domain, type, protocol
 * @address:    local address
 * @evd_handle: for requests
 * @csp_handle: would take the service point
 *
 * They are for peers that are reached through sockets; the connection manager
 * of the verbs listens on service identifiers.
 *
 * Context: any (class A).
 * Return: DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
			  DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
			  DAT_CSP_HANDLE *csp_handle)
{
	return NOT_OFFERED;
}
EXPORT_SYMBOL_GPL(dat_csp_create);

/**
 * dat_csp_query - parameters of a common service point
 * @csp_handle:     service point
 * @csp_param_mask: members asked for
 * @csp_param:      would take them
 *
 * There is none to ask about, see dat_csp_create().
 *
 * Context: any (class A).
 * Return: DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle,
			 DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param)
{
	return NOT_OFFERED;
}
EXPORT_SYMBOL_GPL(dat_csp_query);

/**
 * dat_csp_free - destroy a common service point
 * @csp_handle: service point
 *
 * There is none to free, see dat_csp_create().
 *
 * Context: any (class A).
 * Return: DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle)
{
	return NOT_OFFERED;
}
EXPORT_SYMBOL_GPL(dat_csp_free);
