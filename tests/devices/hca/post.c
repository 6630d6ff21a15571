// SPDX-License-Identifier: GPL-2.0
/*
 * Posting: checks that an adapter's driver makes at once, and a copy into the ring. The
 * engine executes the requests. Any context.
 *
 * Requests may be posted in RTS and in ERROR, receives in all states but RESET (IBTA vol. 1,
 * 10.3.1). A slot is free when its completion, or that of a later request, was polled (10.8.5.1).
 */
#include <linux/string.h>
#include "hca.h"

static int hca_bad_post(struct hca_qp *qp)
{
	hca_count(to_hca(qp->ibqp.device), HCA_BAD_POSTS);
	return -EINVAL;
}

/* irdma reads the first segment even if num_sge is 0 */
static u32 hca_sges(const struct ib_sge *list, int num_sge)
{
	if (!num_sge && hca_opt.first_sge && list)
		return 1;
	return num_sge;
}

static bool hca_known(const struct hca_qp *qp, enum ib_wr_opcode op)
{
	switch (op) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
		return true;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
	case IB_WR_REG_MR:
		return qp->ibqp.qp_type == IB_QPT_RC;
	default:
		return false;
	}
}

static void hca_fill_reg(struct hca_swqe *wqe, const struct ib_reg_wr *wr)
{
	/* The page list is read when the request is executed, as from a device's memory */
	wqe->reg.mr = to_mr(wr->mr)->index;
	wqe->reg.key = wr->key;
	wqe->reg.access = wr->access;
	wqe->reg.iova = wr->mr->iova;
	wqe->reg.length = wr->mr->length;
	wqe->reg.page_size = wr->mr->page_size;
}

static void hca_fill_op(struct hca_swqe *wqe, const struct ib_send_wr *wr, bool datagram)
{
	if (datagram) {
		const struct hca_ah *ah = to_ah(ud_wr(wr)->ah);

		wqe->ud.sgid = ah->sgid;
		wqe->ud.dgid = ah->dgid;
		wqe->ud.qpn = ud_wr(wr)->remote_qpn;
		return;
	}
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		wqe->remote = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote = atomic_wr(wr)->remote_addr;
		wqe->rkey = atomic_wr(wr)->rkey;
		wqe->compare_add = atomic_wr(wr)->compare_add;
		wqe->swap = atomic_wr(wr)->swap;
		break;
	case IB_WR_REG_MR:
		hca_fill_reg(wqe, reg_wr(wr));
		break;
	default:
		break;
	}
}

/* Inline data is behind the segments of the slot */
static void hca_fill_inline(const struct hca_qp *qp, struct hca_swqe *wqe,
			    const struct ib_send_wr *wr)
{
	u8 *to = (u8 *)(wqe->sge + qp->sq.max_sge);
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		memcpy(to, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
}

/* Under qp->lock */
static int hca_post_request(struct hca_qp *qp, const struct ib_send_wr *wr)
{
	u32 nsge = hca_sges(wr->sg_list, wr->num_sge);
	bool gsi = qp->ibqp.qp_type == IB_QPT_GSI;
	struct hca_swqe *wqe;
	u64 length = 0;
	u32 i;

	if ((qp->state != IB_QPS_RTS && qp->state != IB_QPS_ERR) ||
	    !hca_known(qp, wr->opcode) || wr->num_sge < 0 || nsge > qp->sq.max_sge)
		return hca_bad_post(qp);
	for (i = 0; i < nsge; i++)
		length += wr->sg_list[i].length;
	if ((wr->send_flags & IB_SEND_INLINE) && length > qp->max_inline)
		return hca_bad_post(qp);
	if (qp->sq.head - READ_ONCE(qp->sq.freed) >= qp->sq.size ||
	    (!gsi && hca_post_chance(hca_opt.post_enomem))) {
		hca_count(to_hca(qp->ibqp.device), HCA_REFUSED_POSTS);
		return -ENOMEM;
	}
	wqe = hca_slot(&qp->sq, qp->sq.head);
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->op = wr->opcode;
	wqe->flags = wr->send_flags | (qp->signal_all ? IB_SEND_SIGNALED : 0);
	wqe->imm = wr->ex.imm_data;
	wqe->length = length;
	wqe->nsge = nsge;
	hca_fill_op(wqe, wr, gsi);
	if (wr->send_flags & IB_SEND_INLINE)
		hca_fill_inline(qp, wqe, wr);
	else
		memcpy(wqe->sge, wr->sg_list, nsge * sizeof(*wqe->sge));
	qp->sq.head++;
	return 0;
}

int hca_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad)
{
	struct hca_qp *qp = to_qp(ibqp);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		err = hca_post_request(qp, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	if (ibqp->qp_type == IB_QPT_RC && !qp->deaf && hca_post_chance(hca_opt.doorbell)) {
		qp->deaf = true;
		hca_count(to_hca(ibqp->device), HCA_LOST_DOORBELLS);
	}
	if (!qp->deaf)
		qp->rung = qp->sq.head;
	spin_unlock_irqrestore(&qp->lock, flags);
	hca_kick(qp);
	return err;
}

/* Under the lock of the queue */
static int hca_post_receive(struct hca_dev *dev, struct hca_ring *rq, const struct ib_recv_wr *wr)
{
	u32 nsge = hca_sges(wr->sg_list, wr->num_sge);
	struct hca_rwqe *rwqe;

	if (wr->num_sge < 0 || nsge > rq->max_sge) {
		hca_count(dev, HCA_BAD_POSTS);
		return -EINVAL;
	}
	if (atomic_read(&rq->used) >= rq->size) {
		hca_count(dev, HCA_REFUSED_POSTS);
		return -ENOMEM;
	}
	atomic_inc(&rq->used);
	rwqe = hca_slot(rq, rq->head++);
	rwqe->wr_id = wr->wr_id;
	rwqe->nsge = nsge;
	memcpy(rwqe->sge, wr->sg_list, nsge * sizeof(*rwqe->sge));
	return 0;
}

int hca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad)
{
	struct hca_qp *qp = to_qp(ibqp);
	unsigned long flags;
	bool flush;
	int err = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr && !err; wr = err ? wr : wr->next) {
		if (qp->state == IB_QPS_RESET || ibqp->srq)
			err = hca_bad_post(qp);
		else
			err = hca_post_receive(to_hca(ibqp->device), &qp->rq, wr);
	}
	flush = qp->state == IB_QPS_ERR;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (err)
		*bad = wr;
	if (flush)
		hca_kick(qp);
	return err;
}

int hca_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	struct hca_srq *srq = to_srq(ibsrq);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&srq->lock, flags);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = hca_post_receive(to_hca(ibsrq->device), &srq->rq, wr);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (err)
		*bad = wr;
	return err;
}
