// SPDX-License-Identifier: GPL-2.0
/*
 * Flushes a QP in ERROR: completes everything that is outstanding, each queue in order, the
 * queues in any order (IBTA vol. 1, 10.3.1.7). Requests that were executed, but not yet
 * acknowledged, are flushed as well. The engine calls this under hca_world, again after each
 * post.
 */
#include "hca.h"

static void hca_flush_requests(struct hca_qp *qp)
{
	struct hca_swqe *wqe;
	u64 head;

	spin_lock_irq(&qp->lock);
	head = qp->sq.head;
	spin_unlock_irq(&qp->lock);
	while (qp->una != head) {
		wqe = hca_slot(&qp->sq, qp->una);
		/* A request that has failed already says so, then all are flushed */
		hca_complete_request(qp, wqe, wqe->status ?: IB_WC_WR_FLUSH_ERR);
	}
	qp->next = head;
	qp->acked = head;
	qp->reads = 0;
}

static void hca_flush_receives(struct hca_qp *qp)
{
	struct {
		struct hca_rwqe rwqe;
		struct ib_sge sge[HCA_MAX_SGE];
	} recv;
	struct hca_cqe cqe;

	if (qp->holds) {
		cqe = (struct hca_cqe) { .wc.status = IB_WC_WR_FLUSH_ERR };
		hca_complete_recv(qp, qp->held, &cqe);
		qp->holds = false;
	}
	while (!qp->ibqp.srq && hca_take_recv(qp, &recv.rwqe)) {
		cqe = (struct hca_cqe) { .wc.status = IB_WC_WR_FLUSH_ERR };
		hca_complete_recv(qp, &recv.rwqe, &cqe);
	}
}

void hca_flush(struct hca_qp *qp)
{
	bool first = hca_random(2);

	hca_stop_timers(qp);
	if (READ_ONCE(qp->mute))
		return;
	if (first)
		hca_flush_receives(qp);
	hca_flush_requests(qp);
	if (!first)
		hca_flush_receives(qp);
	/* The QP takes no receive of its SRQ any more (IBTA vol. 1, 11.6.3.1, o11-5.2.5) */
	if (qp->ibqp.srq && !qp->last_wqe && hca_opt.last_wqe) {
		qp->last_wqe = true;
		hca_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	}
}
