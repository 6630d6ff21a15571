// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: creation, states, attributes. The RDMA core calls this in process context;
 * hca_qp_to_error() is also called by the engine.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "hca.h"

/*
 * Bytes of a block of mlx5, and of a request of an RC queue pair there without segments or inline
 * data: its control segment and those of a registration (sq_overhead() of mlx5)
 */
#define HCA_BLOCK	64
#define HCA_BLOCK_HEAD	132

int hca_ring_init(struct hca_ring *ring, u32 size, u32 max_sge, size_t entry, u32 inl)
{
	ring->size = size;
	ring->max_sge = max_sge;
	ring->stride = ALIGN(entry + max_sge * sizeof(struct ib_sge) + inl, 8);
	if (!size)
		return 0;
	ring->mem = kvcalloc(size, ring->stride, GFP_KERNEL);
	return ring->mem ? 0 : -ENOMEM;
}

void hca_ring_exit(struct hca_ring *ring)
{
	kvfree(ring->mem);
}

/*
 * Do the requests fit into the largest queue of mlx5? A request has either segments, or a header
 * of 4 bytes and inline data. The queue has a power of two of blocks.
 */
static bool hca_blocks_fit(const struct ib_qp_cap *cap)
{
	u32 inl = cap->max_inline_data ? 4 + cap->max_inline_data : 0;
	u32 blocks = DIV_ROUND_UP(HCA_BLOCK_HEAD + max(cap->max_send_sge * 16, inl), HCA_BLOCK);

	return !hca_opt.blocks || !cap->max_send_wr ||
	       roundup_pow_of_two(cap->max_send_wr * blocks) <= HCA_MAX_QP_WR;
}

static bool hca_cap_fits(const struct ib_qp_cap *cap)
{
	return cap->max_send_wr <= HCA_MAX_QP_WR && cap->max_recv_wr <= HCA_MAX_QP_WR &&
	       cap->max_send_sge <= HCA_MAX_SGE && cap->max_recv_sge <= HCA_MAX_SGE &&
	       cap->max_inline_data <= HCA_MAX_INLINE;
}

static int hca_qp_number(struct hca_dev *dev, struct hca_qp *qp, bool gsi)
{
	u32 qpn = HCA_GSI_QPN;
	int err;

	mutex_lock(&hca_world);
	if (gsi) {
		err = dev->gsi ? -EBUSY : 0;
		if (!err)
			dev->gsi = qp;
	} else {
		err = xa_alloc_cyclic(&dev->qps, &qpn, qp,
				      XA_LIMIT(HCA_FIRST_QPN, HCA_PSN_MASK),
				      &dev->next_qp, GFP_KERNEL);
	}
	mutex_unlock(&hca_world);
	qp->ibqp.qp_num = qpn;
	return min(err, 0);
}

int hca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	bool gsi = attr->qp_type == IB_QPT_GSI;
	struct hca_qp *qp = to_qp(ibqp);
	int err;

	if ((attr->qp_type != IB_QPT_RC && !gsi) || attr->create_flags)
		return -EOPNOTSUPP;
	if (!hca_cap_fits(&attr->cap))
		return -EINVAL;
	if (!hca_blocks_fit(&attr->cap))
		return -ENOMEM;
	spin_lock_init(&qp->lock);
	INIT_LIST_HEAD(&qp->ready);
	INIT_LIST_HEAD(&qp->timed);
	qp->state = IB_QPS_RESET;
	qp->signal_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->max_inline = attr->cap.max_inline_data;
	err = hca_ring_init(&qp->sq, attr->cap.max_send_wr, attr->cap.max_send_sge,
			    sizeof(struct hca_swqe), qp->max_inline);
	if (!err)
		err = hca_ring_init(&qp->rq, attr->srq ? 0 : attr->cap.max_recv_wr,
				    attr->cap.max_recv_sge, sizeof(struct hca_rwqe), 0);
	if (!err) {
		qp->held = kzalloc(struct_size(qp->held, sge, HCA_MAX_SGE), GFP_KERNEL);
		err = qp->held ? 0 : -ENOMEM;
	}
	if (!err)
		err = hca_qp_number(to_hca(ibqp->device), qp, gsi);
	if (err) {
		kfree(qp->held);
		hca_ring_exit(&qp->sq);
		hca_ring_exit(&qp->rq);
	}
	return err;
}

/* Nothing of the QP is executed, queued or in a CQ afterwards. hca_world held */
static void hca_qp_stop(struct hca_qp *qp)
{
	spin_lock_irq(&qp->lock);
	qp->state = IB_QPS_RESET;
	qp->deaf = false;
	qp->mute = false;
	spin_unlock_irq(&qp->lock);
	hca_unkick(qp);
	hca_stop_timers(qp);
	if (qp->holds && qp->ibqp.srq)
		atomic_dec(&to_srq(qp->ibqp.srq)->rq.used);
	qp->holds = false;
	/* The core may give a QP no CQ */
	if (qp->ibqp.send_cq)
		hca_cq_clean(to_cq(qp->ibqp.send_cq), qp);
	if (qp->ibqp.recv_cq)
		hca_cq_clean(to_cq(qp->ibqp.recv_cq), qp);
}

int hca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct hca_dev *dev = to_hca(ibqp->device);
	struct hca_qp *qp = to_qp(ibqp);

	mutex_lock(&hca_world);
	if (dev->gsi == qp)
		dev->gsi = NULL;
	else
		xa_erase(&dev->qps, ibqp->qp_num);
	hca_qp_stop(qp);
	mutex_unlock(&hca_world);
	hca_forget_events(dev, ibqp);
	kfree(qp->held);
	hca_ring_exit(&qp->sq);
	hca_ring_exit(&qp->rq);
	return 0;
}

/**
 * hca_qp_to_error - move a QP to ERROR; its engine flushes it later
 * @qp: the QP, in any state
 *
 * qedr never flushes a QP that was in INIT.
 *
 * Context: any. Without hca_world, so that a move to ERROR never waits.
 */
void hca_qp_to_error(struct hca_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state == IB_QPS_INIT && !hca_opt.flush_init)
		qp->mute = true;
	qp->state = IB_QPS_ERR;
	spin_unlock_irqrestore(&qp->lock, flags);
	hca_kick(qp);
}

/* Drops everything without a completion (IBTA vol. 1, 10.3.1.1). hca_world held */
static void hca_qp_reset(struct hca_qp *qp)
{
	hca_qp_stop(qp);
	spin_lock_irq(&qp->lock);
	WRITE_ONCE(qp->sq.freed, qp->sq.head);
	qp->rung = qp->sq.head;
	qp->rq.tail = qp->rq.head;
	atomic_set(&qp->rq.used, 0);
	spin_unlock_irq(&qp->lock);
	qp->una = qp->sq.head;
	qp->next = qp->sq.head;
	qp->acked = qp->sq.head;
	qp->reads = 0;
	qp->failed = false;
	qp->established = false;
	qp->last_wqe = false;
	memset(&qp->attr, 0, sizeof(qp->attr));
}

static bool hca_attr_fits(const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_PORT) && attr->port_num != 1)
		return false;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index)
		return false;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > HCA_MAX_RD_ATOM)
		return false;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > HCA_MAX_RD_ATOM)
		return false;
	return !(mask & IB_QP_PATH_MTU) ||
	       (attr->path_mtu >= IB_MTU_256 && attr->path_mtu <= IB_MTU_1024);
}

/* hca_world held */
static int hca_set_path(struct hca_qp *qp, const struct rdma_ah_attr *ah)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);

	if (ah->type != RDMA_AH_ATTR_TYPE_ROCE || !grh->sgid_attr)
		return -EINVAL;
	qp->attr.ah_attr = *ah;
	/* The core holds it only during the call; the identifiers are enough */
	qp->attr.ah_attr.grh.sgid_attr = NULL;
	qp->sgid = grh->sgid_attr->gid;
	qp->dgid = grh->dgid;
	return 0;
}

/* What the modification does not name stays as it was. hca_world held */
static void hca_set_connection(struct ib_qp_attr *to, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = attr->path_mtu;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
}

/* hca_world held */
static int hca_set_attr(struct hca_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int err = mask & IB_QP_AV ? hca_set_path(qp, &attr->ah_attr) : 0;

	if (err)
		return err;
	hca_set_connection(&qp->attr, attr, mask);
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_PKEY_INDEX)
		qp->attr.pkey_index = attr->pkey_index;
	if (mask & IB_QP_PORT)
		qp->attr.port_num = attr->port_num;
	if (mask & IB_QP_QKEY)
		qp->attr.qkey = attr->qkey;
	if (mask & IB_QP_RQ_PSN)
		qp->attr.rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		qp->attr.sq_psn = attr->sq_psn;
	if (mask & IB_QP_RQ_PSN)
		qp->expect_psn = attr->rq_psn & HCA_PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		qp->send_psn = attr->sq_psn & HCA_PSN_MASK;
	if (mask & IB_QP_RETRY_CNT)
		qp->retries = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		qp->rnr_retries = attr->rnr_retry;
	return 0;
}

/* Under hca_world */
static int hca_modify(struct hca_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state now = qp->state;
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : now;
	int err;

	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != now)
		return -EINVAL;
	if (next == IB_QPS_SQD || next == IB_QPS_SQE ||
	    !ib_modify_qp_is_ok(now, next, qp->ibqp.qp_type, mask) ||
	    !hca_attr_fits(attr, mask))
		return -EINVAL;
	if (next == IB_QPS_RESET) {
		hca_qp_reset(qp);
		return 0;
	}
	err = hca_set_attr(qp, attr, mask);
	if (err)
		return err;
	spin_lock_irq(&qp->lock);
	/* Unless someone has moved it to ERROR meanwhile */
	if (qp->state == now)
		qp->state = next;
	spin_unlock_irq(&qp->lock);
	hca_kick(qp);
	return 0;
}

int hca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct hca_qp *qp = to_qp(ibqp);
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_STATE) && attr->qp_state == IB_QPS_ERR) {
		hca_qp_to_error(qp);
		return 0;
	}
	mutex_lock(&hca_world);
	err = hca_modify(qp, attr, mask);
	mutex_unlock(&hca_world);
	return err;
}

int hca_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct hca_qp *qp = to_qp(ibqp);

	mutex_lock(&hca_world);
	*attr = qp->attr;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	/* The next ones */
	attr->sq_psn = qp->send_psn;
	attr->rq_psn = qp->expect_psn;
	mutex_unlock(&hca_world);
	memset(&attr->cap, 0, sizeof(attr->cap));
	attr->cap.max_send_wr = qp->sq.size;
	attr->cap.max_recv_wr = qp->rq.size;
	attr->cap.max_send_sge = qp->sq.max_sge;
	attr->cap.max_recv_sge = qp->rq.max_sge;
	attr->cap.max_inline_data = qp->max_inline;
	init->cap = attr->cap;
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_type = qp->signal_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	return 0;
}
