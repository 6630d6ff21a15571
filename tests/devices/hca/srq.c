// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues. Users create, modify and post; the engine takes receives. Process
 * context, except hca_take_recv(), which runs under hca_world.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include "hca.h"

int hca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		   struct ib_udata *udata)
{
	struct hca_srq *srq = to_srq(ibsrq);

	if (attr->srq_type != IB_SRQT_BASIC || !attr->attr.max_wr ||
	    attr->attr.max_wr > HCA_MAX_SRQ_WR || attr->attr.max_sge > HCA_MAX_SRQ_SGE)
		return -EINVAL;
	spin_lock_init(&srq->lock);
	srq->limit = attr->attr.srq_limit;
	return hca_ring_init(&srq->rq, attr->attr.max_wr, attr->attr.max_sge,
			     sizeof(struct hca_rwqe), 0);
}

int hca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct hca_srq *srq = to_srq(ibsrq);

	hca_forget_events(to_hca(ibsrq->device), ibsrq);
	hca_ring_exit(&srq->rq);
	return 0;
}

/* Moves the receives to a ring of another size; -EINVAL if they do not fit */
static int hca_resize_srq(struct hca_srq *srq, u32 size)
{
	struct hca_ring new = {}, old;
	u64 i;
	int err;

	if (!size || size > HCA_MAX_SRQ_WR)
		return -EINVAL;
	err = hca_ring_init(&new, size, srq->rq.max_sge, sizeof(struct hca_rwqe), 0);
	if (err)
		return err;
	mutex_lock(&hca_world);
	spin_lock_irq(&srq->lock);
	old = new;
	/* Polls decrement it at any time */
	if (atomic_read(&srq->rq.used) > size) {
		err = -EINVAL;
	} else {
		for (i = srq->rq.tail; i != srq->rq.head; i++)
			memcpy(hca_slot(&new, i), hca_slot(&srq->rq, i), new.stride);
		old.mem = srq->rq.mem;
		srq->rq.mem = new.mem;
		srq->rq.size = size;
	}
	spin_unlock_irq(&srq->lock);
	mutex_unlock(&hca_world);
	hca_ring_exit(&old);
	return err;
}

int hca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct hca_srq *srq = to_srq(ibsrq);
	int err = 0;

	if (mask & IB_SRQ_MAX_WR)
		err = hca_resize_srq(srq, attr->max_wr);
	if (err || !(mask & IB_SRQ_LIMIT))
		return err;
	if (attr->srq_limit > srq->rq.size)
		return -EINVAL;
	spin_lock_irq(&srq->lock);
	srq->limit = attr->srq_limit;
	spin_unlock_irq(&srq->lock);
	return 0;
}

int hca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct hca_srq *srq = to_srq(ibsrq);

	spin_lock_irq(&srq->lock);
	attr->max_wr = srq->rq.size;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = srq->limit;
	spin_unlock_irq(&srq->lock);
	return 0;
}

/* Its lock held; false if it is empty */
static bool hca_take(struct hca_ring *rq, struct hca_rwqe *to)
{
	const struct hca_rwqe *from;

	if (rq->tail == rq->head)
		return false;
	from = hca_slot(rq, rq->tail++);
	memcpy(to, from, struct_size(from, sge, from->nsge));
	return true;
}

static bool hca_take_shared(struct hca_srq *srq, struct hca_rwqe *to)
{
	bool event, taken;

	spin_lock_irq(&srq->lock);
	taken = hca_take(&srq->rq, to);
	/* Once, when the number of receives drops below the limit (IBTA vol. 1, 10.2.9.2) */
	event = taken && srq->rq.head - srq->rq.tail < srq->limit;
	if (event)
		srq->limit = 0;
	spin_unlock_irq(&srq->lock);
	if (event)
		hca_srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	return taken;
}

/**
 * hca_take_recv - take the next receive of a QP, from its own queue or its SRQ
 * @qp: the QP
 * @to: receives a copy, with room for HCA_MAX_SGE segments
 *
 * Context: hca_world held.
 * Return: false if there is none.
 */
bool hca_take_recv(struct hca_qp *qp, struct hca_rwqe *to)
{
	bool taken;

	lockdep_assert_held(&hca_world);
	if (qp->ibqp.srq)
		return hca_take_shared(to_srq(qp->ibqp.srq), to);
	spin_lock_irq(&qp->lock);
	taken = hca_take(&qp->rq, to);
	spin_unlock_irq(&qp->lock);
	return taken;
}
