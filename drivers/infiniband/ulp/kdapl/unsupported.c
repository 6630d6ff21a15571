// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that are not built yet: exported, so that a Consumer that names them
 * loads; they check their handles and answer DAT_NOT_IMPLEMENTED. Called by
 * Consumers, in the context that the finished call will have. What the model
 * will never offer stands in refused.c.
 */
#include <linux/export.h>

#include "handle.h"

#define NOT_BUILT	DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE)

/**
 * dat_ep_modify - change parameters of an endpoint
 * @ep_handle:     endpoint
 * @ep_param_mask: members to change
 * @ep_param:      their values
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
			 DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	if (!kdapl_obj_is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_ep_modify);

/**
 * dat_ep_dup_connect - connect to where another endpoint is connected
 * @ep_handle:         endpoint to connect
 * @dup_ep_handle:     connected endpoint
 * @timeout:           microseconds
 * @private_data_size: bytes
 * @private_data:      for the peer
 * @qos:               quality of service
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE for any of the handles; otherwise
 * DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			      DAT_EP_HANDLE dup_ep_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS qos)
{
	if (!kdapl_obj_is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!kdapl_obj_is_live(dup_ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_ep_dup_connect);

/**
 * dat_psp_create_any - listen on a qualifier of our choice
 * @ia_handle:  open IA
 * @conn_qual:  takes the qualifier
 * @evd_handle: for requests
 * @psp_flags:  who makes endpoints
 * @psp_handle: takes the service point
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle,
			      DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	if (!kdapl_obj_is_live(ia_handle, DAT_HANDLE_TYPE_IA))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_psp_create_any);

/**
 * dat_rsp_create - listen for one request on behalf of an endpoint
 * @ia_handle:  open IA
 * @conn_qual:  qualifier
 * @ep_handle:  endpoint
 * @evd_handle: for the request
 * @rsp_handle: takes the service point
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE for any of the handles; otherwise
 * DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle)
{
	if (!kdapl_obj_is_live(ia_handle, DAT_HANDLE_TYPE_IA))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!kdapl_obj_is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rsp_create);

/**
 * dat_rsp_query - parameters of a reserved service point
 * @rsp_handle:     service point
 * @rsp_param_mask: members asked for
 * @rsp_param:      takes them
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
			 DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	if (!kdapl_obj_is_live(rsp_handle, DAT_HANDLE_TYPE_RSP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rsp_query);

/**
 * dat_rsp_free - destroy a reserved service point
 * @rsp_handle: service point
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	if (!kdapl_obj_is_live(rsp_handle, DAT_HANDLE_TYPE_RSP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rsp_free);

/**
 * dat_cr_handoff - move a request to another service point
 * @cr_handle: request
 * @handoff:   qualifier of the other
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	if (!kdapl_obj_is_live(cr_handle, DAT_HANDLE_TYPE_CR))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_cr_handoff);
