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
