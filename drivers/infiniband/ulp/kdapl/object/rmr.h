/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Remote memory regions.
 */
#ifndef _KDAPL_OBJECT_RMR_H_
#define _KDAPL_OBJECT_RMR_H_

#include "mr.h"

struct kdapl_pz;

/**
 * struct kdapl_rmr - remote memory region
 * @obj:    header
 * @pz:     its zone (used)
 * @zone:   pz->zone << KDAPL_ZONE_SHIFT
 * @lock:   guards the members down to @param; taken inside kdapl_sq.lock
 * @mrs:    the two MRs
 * @cur:    index of the one that is bound, or being bound; -1: none
 * @dying:  dat_rmr_free() has begun; no request may be posted any more
 * @hostile: a peer invalidated it without the right to do so; @repair reports it
 * @param:  what dat_rmr_query() returns
 * @orphaned: the verbs objects were destroyed because the device was removed
 * @wrs:    number of posted requests, and one for the RMR itself
 * @repair: replaces MRs of unknown state
 * @free_work: frees the RMR after the last of @wrs and a grace period
 */
struct kdapl_rmr {
	struct kdapl_obj obj;
	struct kdapl_pz *pz;
	u32 zone;
	spinlock_t lock;	/* see above */
	struct kdapl_mr mrs[2];
	s8 cur;
	bool dying;
	bool hostile;
	DAT_RMR_PARAM param;
	bool orphaned;
	refcount_t wrs;
	struct work_struct repair;
	struct rcu_work free_work;
};

static inline struct kdapl_rmr *to_kdapl_rmr(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_rmr, obj);
}

#endif /* _KDAPL_OBJECT_RMR_H_ */
