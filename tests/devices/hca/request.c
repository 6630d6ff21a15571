// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: executes the send queue of a QP in order (IBTA vol. 1, 9.7.3 and 10.8).
 * Sends, writes and local operations take effect when they are sent. The data of reads and
 * atomics arrives later, when their turn to complete has come; a fence waits for that.
 *
 * The engine calls this under hca_world.
 */
#include <linux/ktime.h>
#include "hca.h"

#define HCA_ACK_UNIT_NS		4096	/* the timer is this << timeout */

bool hca_is_read(const struct hca_swqe *wqe)
{
	return wqe->op == IB_WR_RDMA_READ || wqe->op == IB_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->op == IB_WR_ATOMIC_FETCH_AND_ADD;
}

static bool hca_is_local(const struct hca_swqe *wqe)
{
	return wqe->op == IB_WR_REG_MR || wqe->op == IB_WR_LOCAL_INV;
}

/* The end of the requests whose doorbell has arrived */
static u64 hca_head(struct hca_qp *qp)
{
	u64 head;

	spin_lock_irq(&qp->lock);
	head = qp->rung;
	spin_unlock_irq(&qp->lock);
	return head;
}

/**
 * hca_gather - find the local memory of a request
 * @qp:    the requester
 * @wqe:   the request
 * @write: the device writes to it
 * @sg:    receives the memory, up to the first segment that is not accessible
 *
 * Return: false if there is such a segment.
 */
bool hca_gather(struct hca_qp *qp, struct hca_swqe *wqe, bool write, struct hca_sg *sg)
{
	if (!(wqe->flags & IB_SEND_INLINE))
		return hca_check_local(qp, wqe->sge, wqe->nsge, write, sg) &&
		       (write || hca_dma_probe(sg, 0, sg->len));
	*sg = (struct hca_sg) {
		.dev = to_hca(qp->ibqp.device), .qpn = qp->ibqp.qp_num,
		.n = 1, .len = wqe->length,
		.seg[0] = { .virt = wqe->sge + qp->sq.max_sge, .len = wqe->length },
	};
	return true;
}

static enum ib_wc_opcode hca_wc_opcode(enum ib_wr_opcode op)
{
	switch (op) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IB_WC_COMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WC_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	default:
		return IB_WC_SEND;
	}
}

/**
 * hca_complete_request - complete the oldest request
 * @qp:     the QP
 * @wqe:    its request number qp->una
 * @status: the result; an error always has an entry in the CQ
 *
 * Only the identifier, the status and the QP of an error are defined (ib_poll_cq()), so the
 * other fields have values that mislead.
 */
void hca_complete_request(struct hca_qp *qp, struct hca_swqe *wqe, enum ib_wc_status status)
{
	struct hca_cqe cqe = {
		.qp = qp,
		.request = true,
		.end = ++qp->una,
		.solicited = status != IB_WC_SUCCESS,
		.wc = { .wr_id = wqe->wr_id, .status = status, .qp = &qp->ibqp },
	};

	if (status == IB_WC_SUCCESS && !(wqe->flags & IB_SEND_SIGNALED))
		return;
	if (status == IB_WC_SUCCESS) {
		cqe.wc.opcode = hca_wc_opcode(wqe->op);
		if (hca_is_read(wqe))
			cqe.wc.byte_len = wqe->length;
	} else {
		cqe.wc.opcode = IB_WC_RECV_RDMA_WITH_IMM + 1 + hca_random(4);
		cqe.wc.byte_len = 0x5a5a5a5a;
		cqe.wc.wc_flags = 0;
		cqe.wc.vendor_err = 0x5a;
	}
	hca_cq_push(to_cq(qp->ibqp.send_cq), &cqe);
}

/* The last retry has failed at the oldest request without an acknowledgment */
static void hca_give_up(struct hca_qp *qp, u64 at, enum ib_wc_status status)
{
	struct hca_swqe *wqe = hca_slot(&qp->sq, at);

	wqe->status = status;
	qp->failed = true;
	qp->ack_at = 0;
	if (qp->next == at)
		qp->next++;
}

/*
 * Sends everything again that was not acknowledged (IBTA vol. 1, 9.7.5.1.3). If a later request has
 * failed locally, it fails again in its turn.
 */
static void hca_go_back(struct hca_qp *qp)
{
	u64 to = max(qp->acked, qp->una);

	qp->ack_at = 0;
	hca_count(to_hca(qp->ibqp.device), HCA_RETRIES);
	if (!qp->retries) {
		hca_give_up(qp, to, IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->retries--;
	qp->next = to;
	qp->failed = false;
}

static void hca_wait_for_ack(struct hca_qp *qp)
{
	if (qp->attr.timeout && !qp->ack_at)
		hca_set_timer(qp, &qp->ack_at, (u64)HCA_ACK_UNIT_NS << qp->attr.timeout);
}

/* An answer stops the timer, unless a later request has none yet */
static void hca_progress(struct hca_qp *qp)
{
	u64 at = max(qp->acked, qp->una);
	struct hca_swqe *wqe = hca_slot(&qp->sq, at);

	qp->ack_at = 0;
	if (at != qp->next && !wqe->status)
		hca_wait_for_ack(qp);
	qp->retries = qp->attr.retry_cnt;
	qp->rnr_retries = qp->attr.rnr_retry;
}

/* The times of the RNR NAK field, in units of 10 microseconds (IBTA vol. 1, table 45) */
static u64 hca_rnr_ns(u32 code)
{
	static const u32 time[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512,
		768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return time[code % 32] * 10000ULL;
}

static void hca_not_ready(struct hca_qp *qp, u32 code)
{
	hca_count(to_hca(qp->ibqp.device), HCA_RNR);
	if (!qp->rnr_retries) {
		hca_give_up(qp, qp->next, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	/* 7: without limit */
	if (qp->attr.rnr_retry != 7)
		qp->rnr_retries--;
	hca_set_timer(qp, &qp->rnr_at, hca_rnr_ns(code));
}

static void hca_refused(struct hca_qp *qp, struct hca_swqe *wqe, enum hca_answer answer)
{
	static const enum ib_wc_status status[] = {
		[HCA_NAK_INVALID] = IB_WC_REM_INV_REQ_ERR,
		[HCA_NAK_ACCESS] = IB_WC_REM_ACCESS_ERR,
		[HCA_NAK_OPERATION] = IB_WC_REM_OP_ERR,
	};

	wqe->status = status[answer];
	qp->failed = true;
	qp->ack_at = 0;
}

static void hca_execute_locally(struct hca_qp *qp, struct hca_swqe *wqe)
{
	if (wqe->op == IB_WR_REG_MR)
		wqe->status = hca_mr_register(qp, wqe);
	else if (!hca_mr_invalidate(qp, wqe->inv_key, false))
		wqe->status = IB_WC_MW_BIND_ERR;
}

/* A request has the packet numbers of its messages or, for a read, of the response */
static void hca_number(struct hca_qp *qp, struct hca_swqe *wqe)
{
	u32 mtu = ib_mtu_enum_to_int(qp->attr.path_mtu);
	u32 packets = wqe->length ? DIV_ROUND_UP((u32)wqe->length, mtu) : 1;

	wqe->sent = true;
	wqe->psn = qp->send_psn;
	qp->send_psn = (qp->send_psn + packets) & HCA_PSN_MASK;
	if (hca_is_read(wqe))
		qp->reads++;
}

/* A bad segment is found when it is reached: the packets before it were sent already */
static bool hca_sendable(struct hca_qp *qp, struct hca_swqe *wqe)
{
	struct hca_sg sg;

	if (wqe->length > HCA_MAX_MSG) {
		wqe->status = IB_WC_LOC_LEN_ERR;
	} else if (!hca_gather(qp, wqe, hca_is_read(wqe), &sg)) {
		wqe->status = IB_WC_LOC_PROT_ERR;
		if (!hca_is_read(wqe))
			hca_deliver_part(qp, wqe, &sg);
	} else if (hca_is_read(wqe) && !qp->attr.max_rd_atomic) {
		wqe->status = IB_WC_LOC_QP_OP_ERR;
	}
	qp->failed = wqe->status != IB_WC_SUCCESS;
	return !qp->failed;
}

/*
 * Loses a message, or delivers it twice, or loses the acknowledgment. Never the last retry of a
 * request, so that faults of the wire alone end no connection: no rule of the specification, but
 * what tests rely on.
 */
static enum hca_answer hca_transfer(struct hca_qp *qp, struct hca_swqe *wqe, u32 *rnr)
{
	struct hca_dev *dev = to_hca(qp->ibqp.device);
	bool lost = qp->retries && hca_chance(hca_opt.drop);
	enum hca_answer answer;

	if (lost && hca_random(2)) {
		hca_count(dev, HCA_DROPPED);
		return HCA_SILENCE;
	}
	answer = hca_deliver(qp, wqe, rnr);
	if (answer == HCA_ACK && hca_chance(hca_opt.duplicate)) {
		hca_count(dev, HCA_DUPLICATES);
		hca_deliver(qp, wqe, rnr);
	}
	if (answer == HCA_ACK && lost) {
		hca_count(dev, HCA_DROPPED);
		return HCA_SILENCE;
	}
	return answer;
}

/* Sends the request number qp->next */
static void hca_send(struct hca_qp *qp, struct hca_swqe *wqe)
{
	enum hca_answer answer;
	u32 rnr = 0;

	answer = hca_transfer(qp, wqe, &rnr);
	switch (answer) {
	case HCA_ACK:
		hca_count(to_hca(qp->ibqp.device), HCA_MESSAGES);
		qp->next++;
		qp->acked = qp->next;
		hca_progress(qp);
		break;
	case HCA_SILENCE:
		qp->next++;
		hca_wait_for_ack(qp);
		break;
	case HCA_NAK_SEQUENCE:
		hca_go_back(qp);
		break;
	case HCA_NAK_RNR:
		/* It acknowledges all requests before this one: 9.7.5.2.8 */
		if (qp->acked != qp->next) {
			qp->acked = qp->next;
			hca_progress(qp);
		}
		qp->ack_at = 0;
		hca_not_ready(qp, rnr);
		break;
	default:
		qp->acked = qp->next++;
		hca_refused(qp, wqe, answer);
	}
}

/*
 * Has this request to wait? One that is sent again has waited before; the reads that are
 * outstanding may be later ones.
 */
static bool hca_stalled(struct hca_qp *qp, struct hca_swqe *wqe)
{
	if (wqe->sent)
		return false;
	if (wqe->flags & IB_SEND_FENCE) {
		/* A fence waits for all reads and atomics before it (IBTA vol. 1, 10.8.3.3) */
		if (qp->reads)
			return true;
		/* An invalidation waits for all requests before it (IBTA vol. 1, 10.6.5.1) */
		if (wqe->op == IB_WR_LOCAL_INV && qp->acked != qp->next)
			return true;
	}
	if (!hca_is_read(wqe) || !qp->attr.max_rd_atomic ||
	    qp->reads < qp->attr.max_rd_atomic)
		return false;
	/* IBTA vol. 1, 9.7.3.2; counted once, however often the engine looks */
	if (!wqe->stalled)
		hca_count(to_hca(qp->ibqp.device), HCA_STALLS);
	wqe->stalled = true;
	return true;
}

/*
 * Local operations before the first request without an acknowledgment are done. Returns whether
 * it has sent anything; qp->next does not tell, because an answer may have set it back.
 */
static bool hca_transmit(struct hca_qp *qp)
{
	u32 budget = 1 + hca_random(max(hca_opt.burst, 1));
	u64 head = hca_head(qp);
	struct hca_swqe *wqe;
	bool sent = false;

	while (budget-- && qp->next != head && !qp->rnr_at && !qp->failed) {
		wqe = hca_slot(&qp->sq, qp->next);
		if (hca_stalled(qp, wqe))
			break;
		sent = true;
		if (!wqe->sent && !hca_is_local(wqe))
			hca_number(qp, wqe);
		if (hca_is_local(wqe)) {
			/* Once only, also if earlier requests are sent again */
			if (!wqe->sent)
				hca_execute_locally(qp, wqe);
			wqe->sent = true;
			qp->failed = wqe->status != IB_WC_SUCCESS;
			qp->next++;
			if (qp->acked == qp->next - 1)
				qp->acked = qp->next;
		} else if (hca_sendable(qp, wqe)) {
			hca_send(qp, wqe);
		} else {
			qp->next++;
		}
	}
	return sent;
}

/* Is an acknowledged request signalled, at or after @at? */
static bool hca_signal_follows(struct hca_qp *qp, u64 at)
{
	const struct hca_swqe *wqe;

	for (; at != qp->acked; at++) {
		wqe = hca_slot(&qp->sq, at);
		if ((wqe->flags & IB_SEND_SIGNALED) || wqe->status || hca_is_read(wqe))
			return true;
	}
	return qp->failed;
}

/**
 * hca_answer_reads - execute the reads and atomics that the responder has accepted
 * @qp: the requester, which is sending its request number qp->next
 *
 * Context: hca_world held.
 * Return: false if one of them has failed, so that the responder has seen no later request.
 */
bool hca_answer_reads(struct hca_qp *qp)
{
	struct hca_swqe *wqe;
	u64 at;

	for (at = qp->una; at != qp->next; at++) {
		wqe = hca_slot(&qp->sq, at);
		if (!hca_is_read(wqe) || wqe->answered)
			continue;
		wqe->answer = hca_respond_read(qp, wqe);
		wqe->answered = wqe->answer != HCA_SILENCE;
		if (wqe->answer != HCA_ACK)
			return false;
	}
	return true;
}

/* The response to the read or atomic number qp->una; false if it has not arrived */
static bool hca_read_done(struct hca_qp *qp, struct hca_swqe *wqe)
{
	enum hca_answer answer = wqe->answered ? wqe->answer : hca_respond_read(qp, wqe);

	if (answer == HCA_SILENCE) {
		/* Without the response, nothing from here on is acknowledged: 9.7.6.1 */
		qp->acked = qp->una;
		hca_wait_for_ack(qp);
		return false;
	}
	qp->reads--;
	hca_progress(qp);
	if (answer == HCA_NAK_SEQUENCE)
		wqe->status = IB_WC_LOC_PROT_ERR;
	else if (answer != HCA_ACK)
		hca_refused(qp, wqe, answer);
	return true;
}

/* Completes requests in order. Returns whether there was any */
static bool hca_acknowledge(struct hca_qp *qp)
{
	struct hca_swqe *wqe;
	u64 from = qp->una;

	if (hca_opt.delay > 0 && !qp->delay_at && hca_random(4) == 0)
		hca_set_timer(qp, &qp->delay_at, 1000ULL * (1 + hca_random(hca_opt.delay)));
	while (qp->una != qp->next && !qp->delay_at) {
		wqe = hca_slot(&qp->sq, qp->una);
		if (!wqe->status) {
			if (qp->una >= qp->acked)
				break;
			if (hca_opt.late_ack && !hca_signal_follows(qp, qp->una))
				break;
			if (hca_is_read(wqe) && !hca_read_done(qp, wqe))
				break;
		}
		hca_complete_request(qp, wqe, wqe->status);
		if (wqe->status) {
			hca_qp_to_error(qp);
			return false;
		}
	}
	return qp->una != from;
}

static void hca_step_rc(struct hca_qp *qp)
{
	bool more;

	hca_expired(&qp->rnr_at);
	hca_expired(&qp->delay_at);
	if (hca_expired(&qp->ack_at))
		hca_go_back(qp);
	more = hca_transmit(qp);
	/* Acknowledgements of some requests arrive after later ones were sent */
	if (!more || hca_random(2))
		more |= hca_acknowledge(qp);
	if (more)
		hca_kick(qp);
}

/**
 * hca_step - execute some requests of a QP
 * @qp: the QP
 *
 * Context: the engine, hca_world held.
 */
void hca_step(struct hca_qp *qp)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	lockdep_assert_held(&hca_world);
	if (state == IB_QPS_ERR) {
		hca_flush(qp);
	} else if (state == IB_QPS_RTS) {
		if (qp->ibqp.qp_type == IB_QPT_RC)
			hca_step_rc(qp);
		else
			while (qp->una != hca_head(qp))
				hca_send_ud(qp, hca_slot(&qp->sq, qp->una));
	}
}
