/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The posting and completion path, as other layers see it: done callbacks, the state of an
 * EP, drains, and requests that register memory.
 */
#ifndef _KDAPL_POST_H_
#define _KDAPL_POST_H_

#include "object/object.h"

/* ---- mr_wr.c ------------------------------------------------------------- */

/* Access flags for privileges */
int kdapl_mr_access(DAT_MEM_PRIV_FLAGS priv);

/* ---- rmr_bind.c ---------------------------------------------------------- */

void kdapl_rmr_put(struct kdapl_rmr *rmr);

/* The peer has invalidated @rkey; true if it was bound through @ep */
bool kdapl_rmr_invalidated(struct kdapl_obj *obj, const struct kdapl_ep *ep, u32 rkey);

/* The MR is not valid any more; rmr->lock held */
void kdapl_rmr_mark_free(struct kdapl_mr *m);
void kdapl_rmr_unbound(struct kdapl_rmr *rmr);

/* ---- lmr_invalidate.c ---------------------------------------------------- */

/* The peer has invalidated @rkey; true if it had the right: bound through @ep */
bool kdapl_lmr_invalidated(struct kdapl_obj *obj, const struct kdapl_ep *ep, u32 rkey);

/* Restores the state that dat_lmr_allocate() created; lmr->lock held */
void kdapl_lmr_mark_free(struct kdapl_lmr *lmr);

/* ---- drain.c ------------------------------------------------------------- */

/*
 * Moves @qp to ERROR and waits until the done callback of each of its requests has run:
 * KDAPL_DRAIN_TIMEOUT_MS times the stretch, or kdapl_drain_all_ms if @wait_all. begin and end
 * are the two steps, for many QPs at a time. Process context, ep->mutex held. Returns 0 or
 * -ETIMEDOUT.
 */
extern unsigned int kdapl_drain_all_ms;
void kdapl_drain_begin(struct kdapl_ep *ep, struct ib_qp *qp);
int kdapl_drain_end(struct kdapl_ep *ep, struct ib_qp *qp, bool wait_all, unsigned long since);
int kdapl_ep_drain(struct kdapl_ep *ep, struct ib_qp *qp, bool wait_all);

/* To be called after a drain that timed out, when the QP was destroyed; process context */
void kdapl_sq_abandon(struct kdapl_sq *sq);
void kdapl_marker_complete_all(struct kdapl_ep *ep);

/* Posts the marker once after unsignalled requests at the end; process context */
void kdapl_ep_post_marker(struct kdapl_ep *ep);

/* Posts the marker after all queued requests; process context */
void kdapl_ep_post_probe(struct kdapl_ep *ep);

/* Have all requests completed? Unsignalled ones count until that is known */
bool kdapl_ep_requests_idle(struct kdapl_ep *ep);
void kdapl_marker_init(struct kdapl_ep *ep);

/* ---- ep_state.c ---------------------------------------------------------- */

/*
 * Changes the state, and @post and @slow with it. DISCONNECTED turns parked
 * completions into FLUSHED events and ends the parking, which dat_ep_reset() begins
 * again. Only kdapl_ep_set_connected() sets CONNECTED. ep->lock held.
 */
void kdapl_ep_set_state(struct kdapl_ep *ep, DAT_EP_STATE state);

/*
 * The EP becomes CONNECTED: changes the state, queues the outcome event ESTABLISHED
 * (with ep->private_in_len bytes of ep->private_in) and then the parked completions,
 * all under ep->lock, which it takes. Clears outcome_owed, sets end_owed. Returns false
 * without an effect if the state does not allow it, or if no outcome is owed.
 */
bool kdapl_ep_set_connected(struct kdapl_ep *ep);

/* Has a message been received that is parked? Takes ep->lock */
bool kdapl_ep_message_parked(struct kdapl_ep *ep);

/* Queues outcome or end; ep->lock held */
void kdapl_ep_queue_conn(struct kdapl_ep *ep, struct kdapl_conn_event *ce,
			 DAT_EVENT_NUMBER number, u16 private_len);

/* ---- complete.c ---------------------------------------------------------- */

void kdapl_request_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_srq_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_srq_more_done(struct ib_cq *cq, struct ib_wc *wc);

/* Delays software flushes until those of the QP have completed; process context */
void kdapl_ep_hold(struct kdapl_ep *ep);
void kdapl_ep_unhold(struct kdapl_ep *ep);

/* Flushes posts that the device has kept, after the QP was destroyed; process context */
void kdapl_flush_kept(struct kdapl_ep *ep);

#endif /* _KDAPL_POST_H_ */
