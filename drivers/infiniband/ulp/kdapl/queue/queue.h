/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs queues of endpoints: CQs, QPs, SRQs.
 */
#ifndef _KDAPL_QUEUE_H_
#define _KDAPL_QUEUE_H_

#include "object/object.h"

/* ---- srq.c --------------------------------------------------------------- */

/* Add the EP to srq->eps; remove it, at least a grace period later. ep->mutex held */
void kdapl_srq_attach(struct kdapl_ep *ep, const struct ib_qp *qp);
void kdapl_srq_detach(struct kdapl_ep *ep);

/* ---- cq.c ---------------------------------------------------------------- */

/* CQs of an EP, shared with other EPs of its SRQ if it has one; or ERR_PTR. Process context */
struct kdapl_cq *kdapl_cq_get(struct kdapl_ep *ep, struct ib_device *ibdev);

/* ---- ep_qp.c ------------------------------------------------------------- */

/* Creates the pools, the CQ and the QP of an EP */
int kdapl_ep_build(struct kdapl_ep *ep, struct kdapl_ep *owner, struct ib_device *ibdev);

/* Translates its error to a return value */
DAT_RETURN kdapl_ep_build_error(int err);
void kdapl_ep_unbuild(struct kdapl_ep *ep);
void kdapl_ep_no_pools(struct kdapl_ep *ep);
void kdapl_ep_exit_pools(struct kdapl_ep *ep);

/* Creates another QP in INIT on the EP's CQ; or ERR_PTR */
struct ib_qp *kdapl_ep_make_qp(struct kdapl_ep *ep, struct kdapl_ep *owner);

/* Destroy the verbs objects, with a grace period between the steps; ep->mutex held */
void kdapl_ep_hide_qp(struct kdapl_ep *ep);
void kdapl_ep_destroy_qp(struct kdapl_ep *ep);
void kdapl_ep_finish_verbs(struct kdapl_ep *ep);

/* Destroys the QP and CQ after a failed attempt whose QP does not flush; ep->mutex held */
void kdapl_ep_drop_verbs(struct kdapl_ep *ep);

#endif /* _KDAPL_QUEUE_H_ */
