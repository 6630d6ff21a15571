/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Translation of values of the RDMA core to those of DAT: completion statuses, errno,
 * endpoint states. Used by the calls and by the completion path; all functions are table
 * lookups, which are legal in any context.
 */
#ifndef _KDAPL_STATUS_H_
#define _KDAPL_STATUS_H_

#include <rdma/ib_verbs.h>
#include <dat/kdat.h>

DAT_DTO_COMPLETION_STATUS kdapl_wc_status_to_dto(enum ib_wc_status status,
						 bool is_recv);
DAT_DTO_COMPLETION_STATUS kdapl_wc_status_to_mm(enum ib_wc_status status);
DAT_RETURN kdapl_errno_to_dat(int err);
DAT_RETURN kdapl_ep_state_error(DAT_EP_STATE state);

#endif /* _KDAPL_STATUS_H_ */
