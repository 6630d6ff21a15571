/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs queues of endpoints: CQs, QPs, SRQs.
 */
#ifndef _KDAPL_QUEUE_H_
#define _KDAPL_QUEUE_H_

#include "object/object.h"

void kdapl_srq_attach(struct kdapl_ep *ep, const struct ib_qp *qp);
void kdapl_srq_detach(struct kdapl_ep *ep);

struct kdapl_cq *kdapl_cq_get(struct kdapl_ep *ep, struct ib_device *ibdev);

int kdapl_ep_build(struct kdapl_ep *ep, struct kdapl_ep *owner, struct ib_device *ibdev);
DAT_RETURN kdapl_ep_build_error(int err);
void kdapl_ep_unbuild(struct kdapl_ep *ep);
void kdapl_ep_no_pools(struct kdapl_ep *ep);
void kdapl_ep_exit_pools(struct kdapl_ep *ep);
struct ib_qp *kdapl_ep_make_qp(struct kdapl_ep *ep, struct kdapl_ep *owner);
void kdapl_ep_free_qp(struct kdapl_ep *ep, struct ib_qp *qp);
void kdapl_ep_hide_qp(struct kdapl_ep *ep);
void kdapl_ep_destroy_qp(struct kdapl_ep *ep);
void kdapl_ep_finish_verbs(struct kdapl_ep *ep);
void kdapl_ep_drop_verbs(struct kdapl_ep *ep);

#endif /* _KDAPL_QUEUE_H_ */
