/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The posting and completion path, as other layers see it: done callbacks, the state of an
 * EP, and drains.
 */
#ifndef _KDAPL_POST_H_
#define _KDAPL_POST_H_

#include "object/object.h"

extern unsigned int kdapl_drain_all_ms;
void kdapl_drain_begin(struct kdapl_ep *ep, struct ib_qp *qp);
int kdapl_drain_end(struct kdapl_ep *ep, struct ib_qp *qp, bool wait_all, unsigned long since);
int kdapl_ep_drain(struct kdapl_ep *ep, struct ib_qp *qp, bool wait_all);
void kdapl_sq_defer(struct kdapl_sq *sq, struct kdapl_slot *slot);
void kdapl_sq_abandon(struct kdapl_sq *sq);
void kdapl_marker_complete_all(struct kdapl_ep *ep);
bool kdapl_ep_post_marker(struct kdapl_ep *ep);
bool kdapl_ep_post_probe(struct kdapl_ep *ep);
bool kdapl_ep_requests_idle(struct kdapl_ep *ep);
void kdapl_marker_init(struct kdapl_ep *ep);

void kdapl_ep_set_state(struct kdapl_ep *ep, DAT_EP_STATE state);
void kdapl_ep_enter_disconnected(struct kdapl_ep *ep);
bool kdapl_ep_enter_connected(struct kdapl_ep *ep);
bool kdapl_ep_message_parked(struct kdapl_ep *ep);
void kdapl_ep_queue_conn(struct kdapl_ep *ep, struct kdapl_conn_event *ce,
			 DAT_EVENT_NUMBER number, u16 private_len);

void kdapl_request_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_srq_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_srq_more_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_memory_done(struct ib_cq *cq, struct kdapl_slot *slot, struct ib_wc *wc);
void kdapl_rkey_invalidated(struct kdapl_ep *ep, u32 rkey);
void kdapl_note_error(struct kdapl_ep *ep, DAT_DTOS op, const struct ib_wc *wc);
void kdapl_ep_hold(struct kdapl_ep *ep);
void kdapl_ep_unhold(struct kdapl_ep *ep);
void kdapl_flush_in_software(struct kdapl_ep *ep, struct kdapl_slot *slot);
void kdapl_flush_kept(struct kdapl_ep *ep);

#endif /* _KDAPL_POST_H_ */
