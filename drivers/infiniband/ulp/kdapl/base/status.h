/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The return values of calls. A constant one is always written with these macros;
 * DAT_ERROR() itself is only for a subtype that is known at run time.
 *
 * This file also translates values of the RDMA core to those of DAT: completion statuses and
 * endpoint states. Used by the calls and by the completion path; all functions are
 * table lookups, which are legal in any context.
 */
#ifndef _KDAPL_STATUS_H_
#define _KDAPL_STATUS_H_

#include <rdma/ib_verbs.h>
#include <dat/kdat.h>

#define KDAPL_BAD_ARG(n)	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define KDAPL_BAD_HANDLE(what)	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##what)
#define KDAPL_BAD_STATE(what)	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_##what)
#define KDAPL_BAD_ADDRESS(what)	DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_##what)
#define KDAPL_NO_PROVIDER(what)	DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_##what)
#define KDAPL_NO_RESOURCE(what)	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_##what)
/* A type without a subtype */
#define KDAPL_ERROR(type)	DAT_ERROR(DAT_##type, DAT_NO_SUBTYPE)
#define KDAPL_UNSUPPORTED	KDAPL_ERROR(MODEL_NOT_SUPPORTED)

DAT_DTO_COMPLETION_STATUS kdapl_wc_status_to_dto(enum ib_wc_status status, bool is_recv);
DAT_DTO_COMPLETION_STATUS kdapl_wc_status_to_mm(enum ib_wc_status status);
DAT_RETURN kdapl_ep_state_error(DAT_EP_STATE state);

#endif /* _KDAPL_STATUS_H_ */
