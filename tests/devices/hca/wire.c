// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: executes a request at the QP it is sent to, and answers (IBTA vol. 1, 9.7.4
 * and 9.9.3). The engine of the requester calls this under hca_world.
 *
 * An error of the responder moves its QP to ERROR and raises its event before the requester
 * gets the answer.
 */
#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>
#include "hca.h"

struct hca_recv {
	struct hca_rwqe rwqe;
	struct ib_sge sge[HCA_MAX_SGE];
};

/**
 * hca_route - find the instance with an address
 * @gid: the address
 *
 * Context: process, hca_world held.
 * Return: the instance, whose link is up; NULL.
 */
struct hca_dev *hca_route(const union ib_gid *gid)
{
	const struct ib_gid_attr *attr;
	struct hca_dev *dev;
	int i;

	for (i = 0; i < HCA_INSTANCES; i++) {
		dev = hca_devs[i];
		if (!dev || !dev->ndev || !netif_running(dev->ndev))
			continue;
		attr = rdma_find_gid(&dev->ibdev, gid, IB_GID_TYPE_ROCE_UDP_ENCAP, NULL);
		if (IS_ERR(attr))
			continue;
		rdma_put_gid_attr(attr);
		return dev;
	}
	return NULL;
}

/* The QP to which @qp is connected, if it is connected to @qp and can receive */
static struct hca_qp *hca_responder(struct hca_qp *qp)
{
	struct hca_dev *dev = hca_route(&qp->dgid);
	enum ib_qp_state state;
	struct hca_qp *peer;

	if (!dev || hca_route(&qp->sgid) != to_hca(qp->ibqp.device))
		return NULL;
	peer = xa_load(&dev->qps, qp->attr.dest_qp_num);
	if (!peer || peer->attr.dest_qp_num != qp->ibqp.qp_num ||
	    memcmp(&peer->dgid, &qp->sgid, sizeof(qp->sgid)))
		return NULL;
	state = READ_ONCE(peer->state);
	return state == IB_QPS_RTR || state == IB_QPS_RTS ? peer : NULL;
}

/* In the way that adapters report it: the event, then ERROR */
static enum hca_answer hca_fails(struct hca_qp *peer, enum hca_answer answer)
{
	hca_qp_event(peer, answer == HCA_NAK_ACCESS ? IB_EVENT_QP_ACCESS_ERR :
						      IB_EVENT_QP_REQ_ERR);
	hca_qp_to_error(peer);
	return answer;
}

/* The reads before a request that fails are answered first (IBTA vol. 1, 9.5) */
static enum hca_answer hca_refuse(struct hca_qp *qp, struct hca_qp *peer, enum hca_answer answer)
{
	return hca_answer_reads(qp) ? hca_fails(peer, answer) : HCA_SILENCE;
}

/**
 * hca_complete_recv - complete a receive
 * @qp:   the responder
 * @rwqe: the receive
 * @cqe:  status and, if it succeeded, the fields of the operation
 *
 * Context: hca_world held.
 */
void hca_complete_recv(struct hca_qp *qp, const struct hca_rwqe *rwqe, struct hca_cqe *cqe)
{
	cqe->qp = qp;
	cqe->srq = qp->ibqp.srq ? to_srq(qp->ibqp.srq) : NULL;
	cqe->wc.wr_id = rwqe->wr_id;
	cqe->wc.qp = &qp->ibqp;
	cqe->wc.port_num = 1;
	if (cqe->wc.status) {
		/* Undefined */
		cqe->wc.opcode = IB_WC_RECV - 1 - hca_random(4);
		cqe->wc.byte_len = 0x5a5a5a5a;
		cqe->wc.vendor_err = 0x5a;
		cqe->solicited = true;
	}
	hca_cq_push(to_cq(qp->ibqp.recv_cq), cqe);
}

/*
 * A receive fails: it says why, and the QP is lost. No event (IBTA vol. 1, table 60). If an
 * earlier read has failed, the message did not arrive at all.
 */
static enum hca_answer hca_recv_fails(struct hca_qp *qp, struct hca_qp *peer,
				      const struct hca_rwqe *rwqe, enum ib_wc_status status,
				      enum hca_answer answer)
{
	bool arrived = hca_answer_reads(qp);
	struct hca_cqe cqe = { .wc.status = arrived ? status : IB_WC_WR_FLUSH_ERR };

	hca_complete_recv(peer, rwqe, &cqe);
	hca_qp_to_error(peer);
	return arrived ? answer : HCA_SILENCE;
}

static bool hca_has_imm(const struct hca_swqe *wqe)
{
	return wqe->op == IB_WR_SEND_WITH_IMM || wqe->op == IB_WR_RDMA_WRITE_WITH_IMM;
}

static enum hca_answer hca_received(struct hca_qp *qp, struct hca_qp *peer,
				    struct hca_recv *recv, struct hca_swqe *wqe)
{
	struct hca_cqe cqe = {
		.solicited = wqe->flags & IB_SEND_SOLICITED,
		.wc = { .opcode = IB_WC_RECV, .byte_len = wqe->length,
			.src_qp = peer->attr.dest_qp_num },
	};

	if (wqe->op == IB_WR_RDMA_WRITE_WITH_IMM)
		cqe.wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
	if (hca_has_imm(wqe)) {
		cqe.wc.wc_flags |= IB_WC_WITH_IMM;
		cqe.wc.ex.imm_data = wqe->imm;
	}
	if (wqe->op == IB_WR_SEND_WITH_INV) {
		if (!hca_mr_invalidate(peer, wqe->inv_key, true))
			return hca_recv_fails(qp, peer, &recv->rwqe, IB_WC_REM_INV_REQ_ERR,
					      HCA_NAK_ACCESS);
		cqe.wc.wc_flags |= IB_WC_WITH_INVALIDATE;
		cqe.wc.ex.invalidate_rkey = wqe->inv_key;
	}
	hca_complete_recv(peer, &recv->rwqe, &cqe);
	return HCA_ACK;
}

static enum hca_answer hca_respond_send(struct hca_qp *qp, struct hca_qp *peer,
					struct hca_swqe *wqe, u32 *rnr)
{
	static struct hca_sg from, to;	/* too large for a stack; hca_world is held */
	struct hca_recv recv;

	if (!hca_take_recv(peer, &recv.rwqe)) {
		*rnr = peer->attr.min_rnr_timer;
		return HCA_NAK_RNR;
	}
	if (!hca_check_local(peer, recv.rwqe.sge, recv.rwqe.nsge, true, &to))
		return hca_recv_fails(qp, peer, &recv.rwqe, IB_WC_LOC_PROT_ERR,
				      HCA_NAK_OPERATION);
	if (wqe->length > to.len)
		return hca_recv_fails(qp, peer, &recv.rwqe, IB_WC_LOC_LEN_ERR, HCA_NAK_INVALID);
	/* The requester has checked it */
	hca_gather(qp, wqe, false, &from);
	if (!hca_dma_copy(&to, 0, &from, wqe->length))
		return hca_recv_fails(qp, peer, &recv.rwqe, IB_WC_LOC_PROT_ERR,
				      HCA_NAK_OPERATION);
	return hca_received(qp, peer, &recv, wqe);
}

static enum hca_answer hca_respond_write(struct hca_qp *qp, struct hca_qp *peer,
					 struct hca_swqe *wqe, u32 *rnr)
{
	static struct hca_sg from, to;	/* too large for a stack; hca_world is held */
	struct hca_recv recv;

	/*
	 * As for reads: see hca_check_read(). The first packet shows this and a bad key, before a
	 * receive is taken, even if immediate data follow: an event reports it, and the receive is
	 * flushed.
	 */
	if (!(peer->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE))
		return hca_refuse(qp, peer, HCA_NAK_INVALID);
	if (!hca_check_remote(peer, wqe->remote, wqe->rkey, wqe->length, IB_ACCESS_REMOTE_WRITE,
			      &to))
		return hca_refuse(qp, peer, HCA_NAK_ACCESS);
	if (hca_has_imm(wqe) && !hca_take_recv(peer, &recv.rwqe)) {
		*rnr = peer->attr.min_rnr_timer;
		return HCA_NAK_RNR;
	}
	hca_gather(qp, wqe, false, &from);
	if (!hca_dma_copy(&to, 0, &from, wqe->length)) {
		if (!hca_has_imm(wqe))
			return hca_refuse(qp, peer, HCA_NAK_ACCESS);
		/* Found too late for that: the receive reports it (IBTA vol. 1, 9.9.3.1.3) */
		return hca_recv_fails(qp, peer, &recv.rwqe, IB_WC_LOC_ACCESS_ERR, HCA_NAK_ACCESS);
	}
	return hca_has_imm(wqe) ? hca_received(qp, peer, &recv, wqe) : HCA_ACK;
}

/*
 * Reads and atomics: checks whether they may be executed. Without the right of the QP, or beyond
 * its limit of outstanding ones, the request is invalid (IBTA vol. 1, 9.9.3). The key comes next.
 */
static enum hca_answer hca_check_read(struct hca_qp *qp, struct hca_qp *peer,
				      struct hca_swqe *wqe, struct hca_sg *sg)
{
	int access = wqe->op == IB_WR_RDMA_READ ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_ATOMIC;

	if (!(peer->attr.qp_access_flags & access) || qp->reads > peer->attr.max_dest_rd_atomic ||
	    (access == IB_ACCESS_REMOTE_ATOMIC && (wqe->length != 8 || wqe->remote % 8)))
		return HCA_NAK_INVALID;
	if (!hca_check_remote(peer, wqe->remote, wqe->rkey, wqe->length, access, sg))
		return HCA_NAK_ACCESS;
	return HCA_ACK;
}

static enum hca_answer hca_execute_atomic(struct hca_qp *peer, const struct hca_swqe *wqe,
					  struct hca_sg *memory, struct hca_sg *to)
{
	u64 old, new;

	if (!hca_dma_get(memory, 0, &old, sizeof(old)))
		return hca_fails(peer, HCA_NAK_ACCESS);
	new = old + wqe->compare_add;
	if (wqe->op == IB_WR_ATOMIC_CMP_AND_SWP)
		new = old == wqe->compare_add ? wqe->swap : old;
	if (!hca_dma_put(memory, 0, &new, sizeof(new)))
		return hca_fails(peer, HCA_NAK_ACCESS);
	return hca_dma_put(to, 0, &old, sizeof(old)) ? HCA_ACK : HCA_NAK_SEQUENCE;
}

/**
 * hca_respond_read - execute a read or atomic whose request was accepted, and place the data
 * @qp:  the requester
 * @wqe: the request
 *
 * The responder may read the memory after it has executed later requests (IBTA vol. 1, 10.8.3).
 *
 * Context: hca_world held.
 * Return: HCA_ACK; an error of the responder; HCA_SILENCE if it cannot be reached;
 * HCA_NAK_SEQUENCE if the requester's memory is not accessible.
 */
enum hca_answer hca_respond_read(struct hca_qp *qp, struct hca_swqe *wqe)
{
	struct hca_qp *peer = hca_responder(qp);
	static struct hca_sg from, to;	/* too large for a stack; hca_world is held */
	enum hca_answer answer;

	if (!peer)
		return HCA_SILENCE;
	answer = hca_check_read(qp, peer, wqe, &from);
	if (answer != HCA_ACK)
		return hca_fails(peer, answer);
	if (!hca_gather(qp, wqe, true, &to))
		return HCA_NAK_SEQUENCE;
	if (wqe->op != IB_WR_RDMA_READ)
		return hca_execute_atomic(peer, wqe, &from, &to);
	if (!hca_dma_probe(&from, 0, wqe->length))
		return hca_fails(peer, HCA_NAK_ACCESS);
	return hca_dma_copy(&to, 0, &from, wqe->length) ? HCA_ACK : HCA_NAK_SEQUENCE;
}

static enum hca_answer hca_respond(struct hca_qp *qp, struct hca_qp *peer,
				   struct hca_swqe *wqe, u32 *rnr)
{
	enum hca_answer answer;
	struct hca_sg sg;

	switch (wqe->op) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return hca_respond_write(qp, peer, wqe, rnr);
	case IB_WR_RDMA_READ:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		answer = hca_check_read(qp, peer, wqe, &sg);
		return answer == HCA_ACK ? HCA_ACK : hca_refuse(qp, peer, answer);
	default:
		return hca_respond_send(qp, peer, wqe, rnr);
	}
}

/* Is this the request that @peer expects? */
static s32 hca_ahead(const struct hca_qp *peer, const struct hca_swqe *wqe)
{
	/* The distance of 24-bit numbers, with its sign */
	return (s32)((wqe->psn - peer->expect_psn) << 8) >> 8;
}

/**
 * hca_deliver_part - the first packets of a send or write whose memory is not accessible
 * @qp:   the requester
 * @wqe:  the request
 * @from: the accessible part of its memory
 *
 * A receive stays occupied until the responder's QP is in ERROR.
 *
 * Context: hca_world held.
 */
void hca_deliver_part(struct hca_qp *qp, struct hca_swqe *wqe, struct hca_sg *from)
{
	u64 len = rounddown(from->len, (u64)ib_mtu_enum_to_int(qp->attr.path_mtu));
	bool write = wqe->op == IB_WR_RDMA_WRITE || wqe->op == IB_WR_RDMA_WRITE_WITH_IMM;
	struct hca_qp *peer = len ? hca_responder(qp) : NULL;
	struct hca_sg to;

	if (!peer || !wqe->sent || hca_ahead(peer, wqe) || peer->holds)
		return;
	if (write) {
		if (!(peer->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE) ||
		    !hca_check_remote(peer, wqe->remote, wqe->rkey, wqe->length,
				      IB_ACCESS_REMOTE_WRITE, &to))
			return;
	} else {
		if (!hca_take_recv(peer, peer->held))
			return;
		peer->holds = true;
		if (!hca_check_local(peer, peer->held->sge, peer->held->nsge, true, &to) ||
		    to.len < len)
			return;
	}
	hca_dma_copy(&to, 0, from, len);
}

/**
 * hca_deliver - a request arrives at the responder
 * @qp:  the requester
 * @wqe: the request, with its packet sequence number
 * @rnr: receives the timer code of HCA_NAK_RNR
 *
 * Context: hca_world held.
 * Return: the answer.
 */
enum hca_answer hca_deliver(struct hca_qp *qp, struct hca_swqe *wqe, u32 *rnr)
{
	struct hca_qp *peer = hca_responder(qp);
	enum hca_answer answer;

	if (!peer)
		return HCA_SILENCE;
	if (hca_ahead(peer, wqe) > 0)
		return HCA_NAK_SEQUENCE;
	/* A duplicate is acknowledged, but not executed (IBTA vol. 1, 9.7.5.1.4) */
	if (hca_ahead(peer, wqe) < 0)
		return HCA_ACK;
	/* The first message to a QP in RTR (IBTA vol. 1, 11.6.3.1) */
	if (!peer->established && hca_opt.comm_est && READ_ONCE(peer->state) == IB_QPS_RTR)
		hca_qp_event(peer, IB_EVENT_COMM_EST);
	peer->established = true;
	answer = hca_respond(qp, peer, wqe, rnr);
	if (answer == HCA_ACK)
		peer->expect_psn = (wqe->psn + max(1U, DIV_ROUND_UP((u32)wqe->length,
					ib_mtu_enum_to_int(qp->attr.path_mtu)))) & HCA_PSN_MASK;
	return answer;
}
