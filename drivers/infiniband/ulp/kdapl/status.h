/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Translation between what the RDMA core says and what a Consumer reads:
 * completion statuses, errno, endpoint states. Used by every boundary
 * function and by the completion path; all of it is table lookup that is
 * legal in any context.
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
