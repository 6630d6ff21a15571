/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that is registered and invalidated by work requests on the queue of an EP:
 * RMRs, and LMRs from dat_lmr_allocate().
 *
 * This is a part of kdapl.h, which is the only file that includes it.
 *
 * To map an MR takes effect at once, before any request is executed. So only an MR that
 * is not valid on the device, and that no request uses, may be mapped. struct kdapl_fast
 * keeps track of that. An RMR has two of them and uses them alternately, so that one
 * request can end the old binding while the next one begins.
 */
#ifndef _KDAPL_FAST_H_
#define _KDAPL_FAST_H_

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

/* ---- mr_wr.c: any context; some with sq->lock of the EP held --------------- */

DAT_RETURN kdapl_fast_check(const struct kdapl_ep *ep, u32 flags, u32 also, u32 arg);
/* Takes a slot and fills in the common part; NULL: the queue is full. sq.lock held */
struct kdapl_slot *kdapl_fast_begin(struct kdapl_ep *ep, DAT_DTOS op, u64 cookie, u32 flags,
				    void (*done)(struct ib_cq *cq, struct ib_wc *wc));
void kdapl_fast_abort(struct kdapl_ep *ep, struct kdapl_slot *slot);
int kdapl_fast_post(struct kdapl_ep *ep, struct ib_qp *qp, struct kdapl_slot *slot,
		    struct ib_send_wr *first, u32 flags, struct ib_send_wr **bad);
DAT_RETURN kdapl_fast_refused(int err);
int kdapl_fast_access(DAT_MEM_PRIV_FLAGS priv);

/* ---- rkey.c: from a key to its owner -------------------------------------- */

int kdapl_key_add(struct kdapl_device *dev, u32 rkey, struct kdapl_obj *obj);
void kdapl_key_del(struct kdapl_device *dev, u32 rkey);
struct kdapl_obj *kdapl_key_find(struct kdapl_device *dev, u32 rkey);

/* ---- rmr.c, rmr_bind.c --------------------------------------------------- */

/**
 * struct kdapl_rmr - remote memory region
 * @obj:    header
 * @pz:     its zone (used)
 * @zone:   pz->zone << KDAPL_ZONE_SHIFT
 * @lock:   guards the members down to @param; taken inside kdapl_sq.lock
 * @fast:   the two MRs
 * @cur:    index of the one that is bound, or being bound; -1: none
 * @dying:  dat_rmr_free() has begun, no request may be posted any more
 * @hostile: a peer has invalidated it without the right to do so; @repair reports it
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
	struct kdapl_fast fast[2];
	s8 cur;
	bool dying;
	bool hostile;
	DAT_RMR_PARAM param;
	bool orphaned;
	refcount_t wrs;
	struct work_struct repair;
	struct rcu_work free_work;
};

void kdapl_rmr_put(struct kdapl_rmr *rmr);
/* The peer has invalidated @rkey; true if it was bound through @ep */
bool kdapl_rmr_invalidated(struct kdapl_rmr *rmr, const struct kdapl_ep *ep, u32 rkey);
/* The MR is not valid any more; rmr->lock held */
void kdapl_rmr_fast_free(struct kdapl_fast *f);
void kdapl_rmr_unbound(struct kdapl_rmr *rmr);
void kdapl_rmr_destroy(struct kdapl_rmr *rmr);
void kdapl_rmr_orphan(struct kdapl_rmr *rmr);

static inline struct kdapl_rmr *to_kdapl_rmr(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_rmr, obj);
}

/* ---- lmr_fast.c, lmr_fmr.c, lmr_alloc.c ---------------------------------- */

DAT_RETURN kdapl_fast_lookup(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			     struct kdapl_lmr **lmr, struct kdapl_ep **ep);
DAT_RETURN kdapl_fast_flush(struct kdapl_ep *ep, DAT_DTOS op, u64 cookie, u32 flags);
void kdapl_fmr_done(struct ib_cq *cq, struct ib_wc *wc);
/* Schedules @repair if necessary; lmr->lock held */
void kdapl_lmr_repair_soon(struct kdapl_lmr *lmr);

/* The peer has invalidated @rkey; true if it may: bound through @ep */
bool kdapl_lmr_invalidated(struct kdapl_lmr *lmr, const struct kdapl_ep *ep, u32 rkey);
/* Back to what dat_lmr_allocate() made; lmr->lock held */
void kdapl_lmr_fast_free(struct kdapl_lmr *lmr);
/* lmr_repair.c: allocates the MR of an LMR without one; the work function of @repair */
int kdapl_lmr_make_fast_mr(struct kdapl_lmr *lmr);
void kdapl_lmr_repair_work(struct work_struct *work);

#endif /* _KDAPL_FAST_H_ */
