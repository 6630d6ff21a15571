/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to post/: calls between the files of the posting and completion path.
 */
#ifndef _KDAPL_POST_INTERNAL_H_
#define _KDAPL_POST_INTERNAL_H_

#include "post.h"

/* ---- mr_wr.c ------------------------------------------------------------- */

DAT_RETURN kdapl_mr_wr_check(const struct kdapl_ep *ep, u32 flags, u32 also, u32 arg);

/* Takes a slot and fills in the common part; NULL: the queue is full. sq.lock held */
struct kdapl_slot *kdapl_mr_wr_begin(struct kdapl_ep *ep, DAT_DTOS op, u64 cookie, u32 flags,
				     void (*done)(struct ib_cq *cq, struct ib_wc *wc));
void kdapl_mr_wr_abort(struct kdapl_ep *ep, struct kdapl_slot *slot);
int kdapl_mr_wr_post(struct kdapl_ep *ep, struct ib_qp *qp, struct kdapl_slot *slot,
		     struct ib_send_wr *first, u32 flags, struct ib_send_wr **bad);
DAT_RETURN kdapl_mr_wr_error(int err);

/* ---- lmr_invalidate.c ---------------------------------------------------- */

DAT_RETURN kdapl_lmr_wr_lookup(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			       struct kdapl_lmr **lmr, struct kdapl_ep **ep);
DAT_RETURN kdapl_lmr_wr_flush(struct kdapl_ep *ep, DAT_DTOS op, u64 cookie, u32 flags);
void kdapl_fmr_done(struct ib_cq *cq, struct ib_wc *wc);

/* Schedules @repair if necessary; lmr->lock held */
void kdapl_lmr_repair_soon(struct kdapl_lmr *lmr);

/* ---- drain.c ------------------------------------------------------------- */

/* A slot waits for the drain, which calls its cqe.done; sq->lock held */
void kdapl_sq_defer(struct kdapl_sq *sq, struct kdapl_slot *slot);

/* ---- complete.c ---------------------------------------------------------- */

void kdapl_memory_done(struct ib_cq *cq, struct kdapl_slot *slot, struct ib_wc *wc);

/* A message has invalidated a key; for KUnit, too */
void kdapl_rkey_invalidated(struct kdapl_ep *ep, u32 rkey);

/* Handles an unsuccessful completion: breaks the connection (G-31, P6) */
void kdapl_note_error(struct kdapl_ep *ep, DAT_DTOS op, const struct ib_wc *wc);

/* Completes a post on an EP without a QP as FLUSHED; the event is delivered later */
void kdapl_flush_in_software(struct kdapl_ep *ep, struct kdapl_slot *slot);

#endif /* _KDAPL_POST_INTERNAL_H_ */
