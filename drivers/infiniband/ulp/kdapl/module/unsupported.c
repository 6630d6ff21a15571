// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that cannot be implemented on the kernel's verbs. They check their arguments and return
 * DAT_MODEL_NOT_SUPPORTED, in this release and in later ones. Called by Consumers, in any context.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>

#include "object/object.h"

/* DAT_SUCCESS if @handle is an endpoint that uses an SRQ */
static DAT_RETURN kdapl_check_srq_ep(DAT_EP_HANDLE handle)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_obj *obj;

	rcu_read_lock();
	obj = kdapl_obj_lookup(handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		ret = KDAPL_BAD_HANDLE(EP);
	else if (!to_kdapl_ep(obj)->fast.srq_attached)
		ret = KDAPL_BAD_ARG(1);
	rcu_read_unlock();
	return ret;
}

/**
 * dat_ia_reserved_lmr - get the LMR that covers all memory; not supported
 * @ia_handle:   open IA
 * @lmr_handle:  would receive the LMR
 * @lmr_context: would receive its context
 *
 * There is no such LMR, because nothing could revoke it.
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER, a pointer is NULL;
 * otherwise DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *lmr_handle,
			       DAT_LMR_CONTEXT *lmr_context)
{
	if (!kdapl_obj_is_valid(ia_handle, DAT_HANDLE_TYPE_IA))
		return KDAPL_BAD_HANDLE(IA);
	if (!lmr_handle)
		return KDAPL_BAD_ARG(2);
	if (!lmr_context)
		return KDAPL_BAD_ARG(3);
	return KDAPL_UNSUPPORTED;
}
EXPORT_SYMBOL_GPL(dat_ia_reserved_lmr);

/**
 * dat_ep_common_connect - connect to a common service point; not supported
 * @ep_handle:         endpoint
 * @remote_ia_address: address of the peer
 * @timeout:           microseconds
 * @private_data_size: bytes
 * @private_data:      data for the peer
 *
 * There are no common service points, see dat_csp_create().
 *
 * Context: any (class A).
 * Return: DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				 const DAT_PVOID private_data)
{
	return KDAPL_UNSUPPORTED;
}
EXPORT_SYMBOL_GPL(dat_ep_common_connect);

/**
 * dat_ep_recv_query - query the buffers that an endpoint uses of its SRQ; not supported
 * @ep_handle:       endpoint with an SRQ
 * @nbufs_allocated: would receive their number
 * @bufs_alloc_span: would receive the number of messages that they span
 *
 * The verbs do not provide this information.
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER, the EP has no SRQ (1) or
 * a pointer is NULL (2, 3); otherwise DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	DAT_RETURN ret = kdapl_check_srq_ep(ep_handle);

	if (ret != DAT_SUCCESS)
		return ret;
	if (!nbufs_allocated)
		return KDAPL_BAD_ARG(2);
	if (!bufs_alloc_span)
		return KDAPL_BAD_ARG(3);
	return KDAPL_UNSUPPORTED;
}
EXPORT_SYMBOL_GPL(dat_ep_recv_query);

/**
 * dat_ep_set_watermark - limit the buffers an endpoint uses of its SRQ; not supported
 * @ep_handle:           endpoint with an SRQ
 * @soft_high_watermark: number of buffers above which an event would be raised
 * @hard_high_watermark: number of buffers above which the connection would break
 *
 * The verbs do not provide the number of buffers that an endpoint uses.
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER, the EP has no SRQ (1) or
 * a watermark is negative and not infinite (2, 3); otherwise
 * DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	DAT_RETURN ret = kdapl_check_srq_ep(ep_handle);

	if (ret != DAT_SUCCESS)
		return ret;
	if (soft_high_watermark < DAT_WATERMARK_INFINITE)
		return KDAPL_BAD_ARG(2);
	if (hard_high_watermark < DAT_WATERMARK_INFINITE)
		return KDAPL_BAD_ARG(3);
	return KDAPL_UNSUPPORTED;
}
EXPORT_SYMBOL_GPL(dat_ep_set_watermark);

/**
 * dat_ep_post_rdma_read_to_rmr - post an RDMA read into an RMR; not supported
 * @ep_handle:        endpoint
 * @local_buffer:     where the data would be written
 * @user_cookie:      for the completion event
 * @remote_buffer:    where the data would be read
 * @completion_flags: as for an RDMA read
 *
 * Only a peer can use the key of an RMR.
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
	if (!kdapl_obj_is_valid(ep_handle, DAT_HANDLE_TYPE_EP))
		return KDAPL_BAD_HANDLE(EP);
	return KDAPL_UNSUPPORTED;
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read_to_rmr);

/**
 * dat_rmr_create_for_ep - create an RMR for one endpoint; not supported
 * @pz_handle:  protection zone
 * @rmr_handle: would receive the RMR
 *
 * A key of the verbs belongs to a protection domain, and never to a single QP.
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER, @rmr_handle is NULL;
 * otherwise DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	if (!kdapl_obj_is_valid(pz_handle, DAT_HANDLE_TYPE_PZ))
		return KDAPL_BAD_HANDLE(PZ);
	if (!rmr_handle)
		return KDAPL_BAD_ARG(2);
	return KDAPL_UNSUPPORTED;
}
EXPORT_SYMBOL_GPL(dat_rmr_create_for_ep);

/**
 * dat_csp_create - create a common service point; not supported
 * @ia_handle:  open IA
 * @comm:       domain, type and protocol of a socket
 * @address:    local address
 * @evd_handle: EVD for connection requests
 * @csp_handle: would receive the service point
 *
 * Common service points are for peers that connect through sockets, but the connection
 * manager of the verbs listens on service identifiers.
 *
 * Context: any (class A).
 * Return: DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			  DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *csp_handle)
{
	return KDAPL_UNSUPPORTED;
}
EXPORT_SYMBOL_GPL(dat_csp_create);

/**
 * dat_csp_query - query a common service point; not supported
 * @csp_handle:     service point
 * @csp_param_mask: members to return
 * @csp_param:      would receive them
 *
 * There are no common service points, see dat_csp_create().
 *
 * Context: any (class A).
 * Return: DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param)
{
	return KDAPL_UNSUPPORTED;
}
EXPORT_SYMBOL_GPL(dat_csp_query);

/**
 * dat_csp_free - destroy a common service point; not supported
 * @csp_handle: service point
 *
 * There are no common service points, see dat_csp_create().
 *
 * Context: any (class A).
 * Return: DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle)
{
	return KDAPL_UNSUPPORTED;
}
EXPORT_SYMBOL_GPL(dat_csp_free);
