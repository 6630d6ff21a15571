// SPDX-License-Identifier: GPL-2.0
/*
 * The null device: posting, completing, polling; see null.h.
 *
 * It owns the rings. The RDMA core and its users call it in any context, and
 * measure.c calls it to complete the outstanding posts of a round.
 */
#include <linux/bottom_half.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <net/ip.h>
#include "null.h"

/**
 * null_queue_init - create a ring of work requests
 * @q:    the ring
 * @size: entries; 0 creates no ring
 *
 * Context: process.
 * Return: 0, -ENOMEM.
 */
int null_queue_init(struct null_queue *q, u32 size)
{
	u32 n = roundup_pow_of_two(max(size, 1U));

	q->head = 0;
	q->tail = 0;
	q->mask = n - 1;
	q->wqe = size ? kvcalloc(n, sizeof(*q->wqe), GFP_KERNEL) : NULL;
	return size && !q->wqe ? -ENOMEM : 0;
}

/**
 * null_queue_exit - free the ring
 * @q: the ring
 *
 * Context: process.
 */
void null_queue_exit(struct null_queue *q)
{
	kvfree(q->wqe);
}

/* ---- completion queues ------------------------------------------------- */

/**
 * null_create_cq - see struct ib_device_ops
 * @ibcq:  the CQ
 * @attr:  its size
 * @arg:   none, no user space
 *
 * Context: process.
 * Return: 0, -EINVAL, -ENOMEM.
 */
int null_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct kdapl_create_cq_arg *arg)
{
	struct null_cq *cq = to_null_cq(ibcq);
	u32 n = roundup_pow_of_two(attr->cqe + 1);

	if (attr->cqe > NULL_MAX_CQE)
		return -EINVAL;
	cq->wc = kvcalloc(n, sizeof(*cq->wc), GFP_KERNEL);
	if (!cq->wc)
		return -ENOMEM;
	cq->mask = n - 1;
	ibcq->cqe = attr->cqe;
	to_null_dev(ibcq->device)->last_cqe = attr->cqe;
	return 0;
}

/**
 * null_destroy_cq - see struct ib_device_ops
 * @ibcq:  the CQ
 * @udata: none, no user space
 *
 * Context: process.
 * Return: 0.
 */
int null_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	kvfree(to_null_cq(ibcq)->wc);
	return 0;
}

/**
 * null_poll_cq - see struct ib_device_ops
 * @ibcq:        the CQ
 * @num_entries: room in @wc
 * @wc:          takes the completions
 *
 * Context: any.
 * Return: number of completions.
 */
int null_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc)
{
	struct null_dev *dev = to_null_dev(ibcq->device);
	struct null_cq *cq = to_null_cq(ibcq);
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&dev->lock, flags);
	while (n < num_entries && cq->head != cq->tail)
		wc[n++] = cq->wc[cq->head++ & cq->mask];
	spin_unlock_irqrestore(&dev->lock, flags);
	return n;
}

/**
 * null_req_notify_cq - see struct ib_device_ops
 * @ibcq: the CQ
 * @how:  flags; every completion counts as solicited
 *
 * Context: any.
 * Return: 1 if completions are waiting and the caller asked for that, else 0.
 */
int null_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags how)
{
	struct null_dev *dev = to_null_dev(ibcq->device);
	struct null_cq *cq = to_null_cq(ibcq);
	unsigned long flags;
	bool missed;

	spin_lock_irqsave(&dev->lock, flags);
	cq->armed = true;
	missed = cq->head != cq->tail;
	spin_unlock_irqrestore(&dev->lock, flags);
	return missed && (how & IB_CQ_REPORT_MISSED_EVENTS);
}

/* dev->lock held */
static struct ib_wc *null_push(struct ib_qp *ibqp, struct ib_cq *ibcq, const struct null_wqe *wqe,
			       enum ib_wc_status status)
{
	struct null_cq *cq = to_null_cq(ibcq);
	struct ib_wc *wc = &cq->wc[cq->tail++ & cq->mask];

	*wc = (struct ib_wc) {
		.wr_cqe = wqe->cqe,
		.status = status,
		.opcode = wqe->opcode,
		.qp = ibqp,
	};
	return wc;
}

/* Calls the handler of an armed CQ that holds something; no lock held */
static void null_kick(struct null_dev *dev, struct ib_cq *ibcq)
{
	struct null_cq *cq = to_null_cq(ibcq);
	unsigned long flags;
	bool call;

	spin_lock_irqsave(&dev->lock, flags);
	call = cq->armed && cq->head != cq->tail;
	if (call)
		cq->armed = false;
	spin_unlock_irqrestore(&dev->lock, flags);
	if (call)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/* ---- management datagrams ---------------------------------------------- */

/* Builds the header that the datagram would have on the wire */
static void null_network_header(const struct null_ah *ah, void *where)
{
	union rdma_network_hdr *hdr = where;
	struct ipv6hdr *ip6 = where;
	struct iphdr *ip4 = &hdr->roce4grh;

	memset(hdr, 0, sizeof(*hdr));
	if (!ipv6_addr_v4mapped((const struct in6_addr *)ah->sgid.raw)) {
		ip6->version = 6;
		ip6->nexthdr = IPPROTO_UDP;
		ip6->hop_limit = 64;
		memcpy(&ip6->saddr, &ah->sgid, sizeof(ip6->saddr));
		memcpy(&ip6->daddr, &ah->dgid, sizeof(ip6->daddr));
		return;
	}
	ip4->version = 4;
	ip4->ihl = sizeof(*ip4) / 4;
	ip4->ttl = 64;
	ip4->protocol = IPPROTO_UDP;
	memcpy(&ip4->saddr, ah->sgid.raw + 12, sizeof(ip4->saddr));
	memcpy(&ip4->daddr, ah->dgid.raw + 12, sizeof(ip4->daddr));
	ip4->check = ip_fast_csum(ip4, ip4->ihl);
}

/* Moves a datagram between the queues of the management QP. dev->lock held */
static void null_deliver_datagram(struct null_qp *qp, const struct ib_send_wr *wr)
{
	const struct null_ah *ah = container_of(ud_wr(wr)->ah, struct null_ah, ibah);
	u32 room, length = sizeof(union rdma_network_hdr);
	struct null_wqe *wqe;
	struct ib_wc *wc;
	int i;

	/* Without a receive the datagram is lost */
	if (qp->rq.head == qp->rq.tail)
		return;
	wqe = &qp->rq.wqe[qp->rq.head++ & qp->rq.mask];
	null_network_header(ah, wqe->addr);
	for (i = 0; i < wr->num_sge; i++) {
		room = min(wr->sg_list[i].length, wqe->length - length);
		memcpy(wqe->addr + length, ib_virt_dma_to_ptr(wr->sg_list[i].addr), room);
		length += room;
	}
	wc = null_push(&qp->ibqp, qp->ibqp.recv_cq, wqe, IB_WC_SUCCESS);
	wc->byte_len = length;
	wc->src_qp = qp->ibqp.qp_num;
	wc->port_num = 1;
	wc->wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	wc->network_hdr_type = ipv6_addr_v4mapped((const struct in6_addr *)ah->sgid.raw) ?
			       RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
}

/* ---- posting ----------------------------------------------------------- */

static u8 null_wc_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	default:
		return IB_WC_SEND;
	}
}

/* For a QP that is not RC, not in RTS, or connected to itself: completes at once */
static noinline int null_post_send_slow(struct null_qp *qp, const struct ib_send_wr *wr,
					const struct ib_send_wr **bad)
{
	struct null_dev *dev = to_null_dev(qp->ibqp.device);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&dev->lock, flags);
	for (; wr; wr = wr->next) {
		struct null_wqe wqe = {
			.cqe = wr->wr_cqe,
			.opcode = null_wc_opcode(wr->opcode),
		};

		if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_ERR) {
			if (bad)
				*bad = wr;
			err = -EINVAL;
			break;
		}
		if (qp->state == IB_QPS_ERR)
			null_push(&qp->ibqp, qp->ibqp.send_cq, &wqe, IB_WC_WR_FLUSH_ERR);
		else if (wr->send_flags & IB_SEND_SIGNALED)
			null_push(&qp->ibqp, qp->ibqp.send_cq, &wqe, IB_WC_SUCCESS);
		if (qp->state == IB_QPS_RTS && qp->ibqp.qp_type == IB_QPT_GSI)
			null_deliver_datagram(qp, wr);
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	null_kick(dev, qp->ibqp.send_cq);
	if (qp->ibqp.recv_cq != qp->ibqp.send_cq)
		null_kick(dev, qp->ibqp.recv_cq);
	return err;
}

/**
 * null_post_send - see struct ib_device_ops
 * @ibqp: the QP
 * @wr:   chain of requests
 * @bad:  the refused request, if the state accepts none
 *
 * Context: any; posts to the same QP one at a time.
 * Return: 0, -EINVAL.
 */
int null_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct null_qp *qp = to_null_qp(ibqp);
	struct null_wqe *wqe;

	if (unlikely(qp->slow))
		return null_post_send_slow(qp, wr, bad);
	for (; wr; wr = wr->next) {
		wqe = &qp->sq.wqe[qp->sq.tail++ & qp->sq.mask];
		wqe->cqe = wr->wr_cqe;
		wqe->opcode = IB_WC_SEND;
		wqe->signalled = wr->send_flags & IB_SEND_SIGNALED;
	}
	return 0;
}

static noinline int null_post_recv_slow(struct null_qp *qp, const struct ib_recv_wr *wr)
{
	struct null_dev *dev = to_null_dev(qp->ibqp.device);
	struct null_wqe *wqe;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	for (; wr; wr = wr->next) {
		wqe = &qp->rq.wqe[qp->rq.tail & qp->rq.mask];
		wqe->cqe = wr->wr_cqe;
		wqe->opcode = IB_WC_RECV;
		if (qp->state == IB_QPS_ERR) {
			null_push(&qp->ibqp, qp->ibqp.recv_cq, wqe, IB_WC_WR_FLUSH_ERR);
			continue;
		}
		if (qp->ibqp.qp_type == IB_QPT_GSI) {
			wqe->addr = ib_virt_dma_to_ptr(wr->sg_list[0].addr);
			wqe->length = wr->sg_list[0].length;
		}
		qp->rq.tail++;
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	null_kick(dev, qp->ibqp.recv_cq);
	return 0;
}

/**
 * null_post_recv - see struct ib_device_ops
 * @ibqp: the QP
 * @wr:   chain of receives
 * @bad:  unused, none is refused
 *
 * Context: any; posts to the same QP one at a time.
 * Return: 0.
 */
int null_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct null_qp *qp = to_null_qp(ibqp);
	struct null_wqe *wqe;

	if (unlikely(qp->slow))
		return null_post_recv_slow(qp, wr);
	for (; wr; wr = wr->next) {
		wqe = &qp->rq.wqe[qp->rq.tail++ & qp->rq.mask];
		wqe->cqe = wr->wr_cqe;
		wqe->opcode = IB_WC_RECV;
		wqe->signalled = true;
	}
	return 0;
}

/**
 * null_post_srq_recv - see struct ib_device_ops
 * @ibsrq: the SRQ
 * @wr:    chain of receives
 * @bad:   unused, none is refused
 *
 * Context: any; posts to the same SRQ one at a time.
 * Return: 0.
 */
int null_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct null_srq *srq = to_null_srq(ibsrq);
	struct null_wqe *wqe;

	for (; wr; wr = wr->next) {
		wqe = &srq->rq.wqe[srq->rq.tail++ & srq->rq.mask];
		wqe->cqe = wr->wr_cqe;
		wqe->opcode = IB_WC_RECV;
		wqe->signalled = true;
	}
	return 0;
}

/* ---- completing -------------------------------------------------------- */

/* Completes all requests of a ring to a CQ. dev->lock held */
static void null_complete(struct null_qp *qp, struct null_queue *q, struct ib_cq *cq,
			  enum ib_wc_status status)
{
	struct null_wqe *wqe;

	for (; q->head != q->tail; q->head++) {
		wqe = &q->wqe[q->head & q->mask];
		if (wqe->signalled || status != IB_WC_SUCCESS)
			null_push(&qp->ibqp, cq, wqe, status);
	}
}

/**
 * null_flush - flush a QP that has entered ERROR
 * @dev: device
 * @qp:  the QP
 *
 * Context: process.
 */
void null_flush(struct null_dev *dev, struct null_qp *qp)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = IB_EVENT_QP_LAST_WQE_REACHED,
		.element.qp = &qp->ibqp,
	};

	spin_lock_irq(&dev->lock);
	null_complete(qp, &qp->sq, qp->ibqp.send_cq, IB_WC_WR_FLUSH_ERR);
	null_complete(qp, &qp->rq, qp->ibqp.recv_cq, IB_WC_WR_FLUSH_ERR);
	spin_unlock_irq(&dev->lock);
	null_kick(dev, qp->ibqp.send_cq);
	null_kick(dev, qp->ibqp.recv_cq);
	if (qp->ibqp.srq && qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

static bool null_qp_busy(const struct null_qp *qp)
{
	return !qp->slow && qp->state == IB_QPS_RTS;
}

/**
 * null_complete_all - complete the outstanding posts of all RC queues with success
 * @dev: device
 *
 * The done callbacks have run when the call returns, unless a softirq thread is
 * already processing the CQ. The first QP that uses an SRQ takes its buffers.
 *
 * Context: process.
 */
void null_complete_all(struct null_dev *dev)
{
	struct null_qp *qp;

	mutex_lock(&dev->mutex);
	local_bh_disable();
	spin_lock_irq(&dev->lock);
	list_for_each_entry(qp, &dev->qps, node) {
		if (!null_qp_busy(qp))
			continue;
		null_complete(qp, &qp->sq, qp->ibqp.send_cq, IB_WC_SUCCESS);
		null_complete(qp, qp->ibqp.srq ? &to_null_srq(qp->ibqp.srq)->rq : &qp->rq,
			      qp->ibqp.recv_cq, IB_WC_SUCCESS);
	}
	spin_unlock_irq(&dev->lock);
	list_for_each_entry(qp, &dev->qps, node) {
		if (!null_qp_busy(qp))
			continue;
		null_kick(dev, qp->ibqp.send_cq);
		null_kick(dev, qp->ibqp.recv_cq);
	}
	/* The softirq that calls back runs here */
	local_bh_enable();
	mutex_unlock(&dev->mutex);
}

/**
 * null_posts - count the work requests that were posted to the QPs
 * @dev: device, which nobody posts to now
 *
 * The difference of two counts is the number of posts in between. They are counted here, so that a
 * post costs nothing more.
 *
 * Context: process.
 */
u32 null_posts(struct null_dev *dev)
{
	struct null_qp *qp;
	u32 n = 0;

	mutex_lock(&dev->mutex);
	list_for_each_entry(qp, &dev->qps, node)
		n += qp->sq.tail + qp->rq.tail;
	mutex_unlock(&dev->mutex);
	return n;
}
