/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protection zones.
 */
#ifndef _KDAPL_OBJECT_PZ_H_
#define _KDAPL_OBJECT_PZ_H_

#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include "base/base.h"

/**
 * struct kdapl_pz - protection zone, with its service QP
 * @obj:   header; obj.users counts LMRs, EPs, SRQs, RMRs
 * @pd:    the PD; NULL if the PZ is orphaned
 * @zone:  number that no other PZ has, 1 .. 2^24-1
 * @mutex: serializes the service QP
 * @qp:    RC QP connected to itself, created for the first registration; under @mutex
 * @cq:    its CQ, polled by the thread that waits; under @mutex
 * @cq_event: wakes this thread
 * @broken: the last request failed, so invalidations are not tried; under @mutex
 * @mrs:   MRs of the PD (until a grace period after dat_lmr_free()), plus one for the PZ
 * @mrs_gone: completed when @mrs becomes 0
 * @map_sg: the entries that a bind passes to ib_map_mr_sg(); allocated for the first
 *         RMR, under @mutex
 * @map_lock: guards the content of @map_sg; the innermost lock
 */
struct kdapl_pz {
	struct kdapl_obj obj;
	struct ib_pd *pd;
	u32 zone;
	struct mutex mutex;	/* service QP */
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct completion cq_event;
	bool broken;
	refcount_t mrs;
	struct completion mrs_gone;
	struct scatterlist *map_sg;
	spinlock_t map_lock;	/* content of map_sg */
};

static inline struct kdapl_pz *to_kdapl_pz(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_pz, obj);
}

/* The part of kdapl_lmr_desc.zp that is the zone */
#define KDAPL_ZONE_SHIFT	8
#define KDAPL_ZONE_MASK		(~0U << KDAPL_ZONE_SHIFT)

#endif /* _KDAPL_OBJECT_PZ_H_ */
