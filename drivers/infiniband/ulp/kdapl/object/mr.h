/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that is registered and invalidated by work requests on the queue of an EP:
 * RMRs, and LMRs from dat_lmr_allocate().
 *
 * Mapping an MR takes effect at once, before any request is executed. So only an MR that
 * is not valid on the device, and that no request uses, may be mapped. struct kdapl_mr
 * keeps track of that. An RMR has two of them and uses them alternately, so that one
 * request can end the old binding while the next one begins.
 */
#ifndef _KDAPL_OBJECT_MR_H_
#define _KDAPL_OBJECT_MR_H_

#include "base/base.h"

struct kdapl_lmr;
struct kdapl_rmr;

enum kdapl_mr_state {
	KDAPL_MR_FREE,		/* not valid, no request: may be mapped */
	KDAPL_MR_REGISTERING,	/* a registration was posted */
	KDAPL_MR_VALID,		/* the registration completed */
	KDAPL_MR_INVALIDATING,	/* an invalidation was posted */
	KDAPL_MR_UNKNOWN,	/* a request failed: a work item replaces the MR */
	KDAPL_MR_HELD,		/* LMR: not valid, but RMRs are still bound to its memory */
};

/**
 * struct kdapl_mr - an MR that requests on EPs register and invalidate
 * @mr:    the MR; NULL on an orphaned object, and while no new one can be allocated
 * @state: enum kdapl_mr_state; all members are guarded by the lock of the owner
 * @ep:    handle of the EP through which it was bound
 * @by:    the request that binds it, until that completes
 * @failed: the request that binds it has failed after another one was posted to end it
 * @inv_failed: RMR: the invalidation that was posted before a registration has failed,
 *         and not by a flush
 * @half_posted: RMR: the device accepted that invalidation and refused the registration
 * @gone:  INVALIDATING: the peer has invalidated it before the posted request did
 * @rmr:   the RMR that owns it; NULL: it belongs to @lmr
 * @lmr:   its owner; or the LMR whose pages the RMR uses, while @state is not FREE
 * @cqe:   of @inv, which completes only if it fails
 * @inv:   RMR: invalidates this MR, in one list with the registration of the other one
 */
struct kdapl_mr {
	struct ib_mr *mr;
	u8 state;
	unsigned long ep;
	const struct kdapl_slot *by;
	bool failed;
	bool gone;
	bool inv_failed;
	bool half_posted;
	struct kdapl_rmr *rmr;
	struct kdapl_lmr *lmr;
	struct ib_cqe cqe;
	struct ib_send_wr inv;
};

#endif /* _KDAPL_OBJECT_MR_H_ */
