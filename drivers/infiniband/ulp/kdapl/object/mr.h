/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that is registered and invalidated by work requests on the queue of an EP:
 * RMRs, and LMRs from dat_lmr_allocate().
 *
 * Mapping an MR takes effect at once, before any request is executed. So only an MR that
 * is not valid on the device, and that no request uses, may be mapped. struct kdapl_fast
 * keeps track of that. An RMR has two of them and uses them alternately, so that one
 * request can end the old binding while the next one begins.
 */
#ifndef _KDAPL_OBJECT_MR_H_
#define _KDAPL_OBJECT_MR_H_

#include "base/base.h"

struct kdapl_lmr;
struct kdapl_rmr;

enum kdapl_fast_state {
	KDAPL_FAST_FREE,	/* not valid, no request: may be mapped */
	KDAPL_FAST_BINDING,	/* a registration was posted */
	KDAPL_FAST_BOUND,
	KDAPL_FAST_ENDING,	/* an invalidation was posted */
	KDAPL_FAST_DIRTY,	/* a request failed: a work item replaces the MR */
};

/**
 * struct kdapl_fast - an MR that requests on EPs register and invalidate
 * @mr:    the MR; NULL on an orphaned object, and while no new one can be allocated
 * @state: enum kdapl_fast_state; all members are guarded by the lock of the owner
 * @ep:    handle of the EP through which it was bound
 * @by:    the request that binds it, until that completes
 * @failed: the request that binds it has failed after another one was posted to end it
 * @inv_failed: RMR: the invalidation that was posted before a registration has failed,
 *         and not by a flush
 * @stranded: RMR: the device accepted that invalidation and refused the registration
 * @gone:  ENDING: the peer has ended it before the posted request did
 * @rmr:   the RMR that owns it; NULL: it belongs to @lmr
 * @lmr:   its owner; or the LMR whose pages the RMR uses, while @state is not FREE
 * @cqe:   of @inv, which completes only if it fails
 * @inv:   RMR: invalidates this MR, in one list with the registration of the other one
 */
struct kdapl_fast {
	struct ib_mr *mr;
	u8 state;
	unsigned long ep;
	const struct kdapl_slot *by;
	bool failed;
	bool gone;
	bool inv_failed;
	bool stranded;
	struct kdapl_rmr *rmr;
	struct kdapl_lmr *lmr;
	struct ib_cqe cqe;
	struct ib_send_wr inv;
};

#endif /* _KDAPL_OBJECT_MR_H_ */
