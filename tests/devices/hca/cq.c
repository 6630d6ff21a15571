// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues. The engine writes entries; the interrupt handler publishes them and
 * decides whether an armed CQ fires; users poll. The overrun of a CQ is an affiliated asynchronous
 * error of it and of all its QPs (IBTA vol. 1, 10.10.2.3 and 11.6.3.2).
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "hca.h"

int hca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct kdapl_create_cq_arg *arg)
{
	struct hca_cq *cq = to_cq(ibcq);

	if (attr->flags || !attr->cqe || attr->cqe > HCA_MAX_CQE)
		return -EINVAL;
	cq->ring = kvcalloc(attr->cqe, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring)
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->eqe.node);
	cq->eqe.cq = cq;
	/* Exactly as many as requested */
	ibcq->cqe = attr->cqe;
	return 0;
}

int hca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct hca_cq *cq = to_cq(ibcq);

	hca_forget_events(to_hca(ibcq->device), ibcq);
	kvfree(cq->ring);
	return 0;
}

static struct hca_cqe *hca_cqe_at(struct hca_cq *cq, u64 i)
{
	return &cq->ring[i % cq->ibcq.cqe];
}

/* The slots of polled or dropped entries are free again (IBTA vol. 1, 10.8.5.1) */
static void hca_cqe_free(const struct hca_cqe *cqe)
{
	if (cqe->request)
		WRITE_ONCE(cqe->qp->sq.freed, cqe->end);
	else if (cqe->srq)
		atomic_dec(&cqe->srq->rq.used);
	else
		atomic_dec(&cqe->qp->rq.used);
}

int hca_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	struct hca_cq *cq = to_cq(ibcq);
	struct hca_cqe *cqe;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = 0; i < n && cq->tail != cq->visible; i++) {
		cqe = hca_cqe_at(cq, cq->tail++);
		wc[i] = cqe->wc;
		hca_cqe_free(cqe);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return i;
}

/*
 * Arming never weakens: a CQ armed for the next completion stays so (IBTA vol. 1, 11.4.2.2).
 * Options: irdma compares all flags with IB_CQ_SOLICITED, and bnxt_re does not arm a CQ with
 * entries.
 */
int hca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct hca_cq *cq = to_cq(ibcq);
	unsigned long irq;
	bool entries;

	if (hca_opt.arm == 1)
		solicited = flags == IB_CQ_SOLICITED;
	spin_lock_irqsave(&cq->lock, irq);
	entries = cq->tail != cq->visible;
	if (hca_opt.arm != 2 || !entries)
		cq->arm = max_t(enum hca_arm, cq->arm,
				solicited ? HCA_ARM_SOLICITED : HCA_ARM_NEXT);
	spin_unlock_irqrestore(&cq->lock, irq);
	return (flags & IB_CQ_REPORT_MISSED_EVENTS) && entries;
}

/**
 * hca_cq_publish - make the new entries visible to polling
 * @cq: the CQ
 *
 * Only entries that become visible now make an armed CQ fire, not earlier ones that were not
 * polled.
 *
 * Context: hard interrupt.
 * Return: true if the completion handler has to be called.
 */
bool hca_cq_publish(struct hca_cq *cq)
{
	bool fires = false;

	spin_lock(&cq->lock);
	while (cq->visible != cq->head) {
		const struct hca_cqe *cqe = hca_cqe_at(cq, cq->visible++);

		if (cq->arm == HCA_ARM_NEXT || (cq->arm == HCA_ARM_SOLICITED && cqe->solicited)) {
			cq->arm = HCA_DISARMED;
			fires = true;
		}
	}
	spin_unlock(&cq->lock);
	return fires && cq->ibcq.comp_handler;
}

/* All QPs of the CQ are lost with it. hca_world held */
static void hca_cq_overrun(struct hca_dev *dev, struct hca_cq *cq)
{
	unsigned long i;
	struct hca_qp *qp;

	dev_err(&dev->pdev->dev, "CQ of %d entries overrun\n", cq->ibcq.cqe);
	hca_count(dev, HCA_CQ_OVERRUNS);
	hca_cq_event(cq);
	xa_for_each(&dev->qps, i, qp) {
		if (qp->ibqp.send_cq != &cq->ibcq && qp->ibqp.recv_cq != &cq->ibcq)
			continue;
		hca_qp_event(qp, IB_EVENT_QP_FATAL);
		hca_qp_to_error(qp);
	}
}

/**
 * hca_cq_push - write an entry
 * @cq:  the CQ
 * @cqe: the entry
 *
 * Context: process, hca_world held.
 */
void hca_cq_push(struct hca_cq *cq, const struct hca_cqe *cqe)
{
	struct hca_dev *dev = to_hca(cq->ibcq.device);
	bool full;

	spin_lock_irq(&cq->lock);
	full = cq->head - cq->tail == cq->ibcq.cqe;
	if (full || cq->dead) {
		full = !cq->dead;
		cq->dead = true;
		spin_unlock_irq(&cq->lock);
		if (full)
			hca_cq_overrun(dev, cq);
		return;
	}
	*hca_cqe_at(cq, cq->head++) = *cqe;
	hca_announce(dev, cq);
	spin_unlock_irq(&cq->lock);
	hca_count(dev, HCA_CQES);
}

/**
 * hca_cq_clean - remove the entries of a QP that is reset or destroyed
 * @cq: the CQ
 * @qp: the QP, which no longer completes anything
 *
 * Context: process, hca_world held.
 */
void hca_cq_clean(struct hca_cq *cq, const struct hca_qp *qp)
{
	u64 from, to, visible;
	struct hca_cqe *cqe;

	spin_lock_irq(&cq->lock);
	to = cq->tail;
	visible = cq->visible;
	for (from = cq->tail; from != cq->head; from++) {
		cqe = hca_cqe_at(cq, from);
		if (cqe->qp == qp) {
			hca_cqe_free(cqe);
			if (from < cq->visible)
				visible--;
			continue;
		}
		if (to != from)
			*hca_cqe_at(cq, to) = *cqe;
		to++;
	}
	cq->head = to;
	cq->visible = visible;
	spin_unlock_irq(&cq->lock);
}
