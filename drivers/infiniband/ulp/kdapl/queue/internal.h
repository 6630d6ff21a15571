/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to queue/.
 */
#ifndef _KDAPL_QUEUE_INTERNAL_H_
#define _KDAPL_QUEUE_INTERNAL_H_

#include "queue.h"

void kdapl_srq_event(struct ib_event *event, void *context);
void kdapl_srq_lw_work(struct work_struct *work);

void kdapl_srq_free_more(struct kdapl_srq *srq);

void kdapl_cq_leave(struct kdapl_ep *ep);
void kdapl_cq_free(struct kdapl_cq *kcq);
void kdapl_cq_put(struct kdapl_ep *ep);

/* For a kernel whose ib_free_cq() waits until the softirq has armed the CQ */
#ifndef kdapl_stop_cq
#define kdapl_stop_cq(cq)		((void)(cq))
#define kdapl_free_stopped_cq(cq)	ib_free_cq(cq)
#endif

#endif /* _KDAPL_QUEUE_INTERNAL_H_ */
