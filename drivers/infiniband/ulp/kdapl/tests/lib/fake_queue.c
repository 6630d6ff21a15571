// SPDX-License-Identifier: GPL-2.0
/*
 * The queues of the fake device: posting, polling, completing.
 *
 * kdapl calls the verbs through the RDMA core, in any context. The suites call the helpers
 * that simulate the hardware, in process context. fake->lock guards all queues. Completion
 * handlers are called without it.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "module.h"
#include "fake_ibdev.h"
#include "nap.h"

/* ---- queues ------------------------------------------------------------ */

int fake_queue_init(struct fake_queue *q, u32 size)
{
	memset(q, 0, sizeof(*q));
	q->size = size;
	if (!size)
		return 0;
	q->wr = kvcalloc(size, sizeof(*q->wr), GFP_KERNEL);
	return q->wr ? 0 : -ENOMEM;
}

void fake_queue_exit(struct fake_queue *q)
{
	kvfree(q->wr);
	q->wr = NULL;
}

int fake_queue_resize(struct fake_dev *fake, struct fake_queue *q, u32 size)
{
	struct fake_queue new;
	u32 n, i;
	int err = fake_queue_init(&new, size);

	if (err)
		return err;
	spin_lock_irq(&fake->lock);
	n = fake_outstanding(q);
	if (n <= size) {
		for (i = 0; i < n; i++)
			new.wr[i] = q->wr[(q->head + i) % q->size];
		new.tail = n;
		swap(*q, new);
	} else {
		err = -EINVAL;
	}
	spin_unlock_irq(&fake->lock);
	fake_queue_exit(&new);
	return err;
}

u32 fake_outstanding(const struct fake_queue *q)
{
	return q->tail - q->head;
}

const struct fake_wr *fake_wr_at(const struct fake_queue *q, u32 n)
{
	if (n >= fake_outstanding(q))
		return NULL;
	return &q->wr[(q->head + n) % q->size];
}

const struct fake_wr *fake_last(const struct fake_queue *q)
{
	return q->tail ? &q->wr[(q->tail - 1) % q->size] : NULL;
}

/* Called with fake->lock held. Returns NULL if the queue is full */
static struct fake_wr *queue_add(struct fake_dev *fake, struct fake_queue *q)
{
	struct fake_wr *fwr;

	if (fake_outstanding(q) >= q->size) {
		fake->full++;
		return NULL;
	}
	fwr = &q->wr[q->tail++ % q->size];
	memset(fwr, 0, sizeof(*fwr));
	return fwr;
}

/* Called with fake->lock held */
static struct fake_wr *queue_take(struct fake_queue *q)
{
	if (q->head == q->tail)
		return NULL;
	return &q->wr[q->head++ % q->size];
}

/* Properties of a received message */
#define MESSAGE_SOLICITED	1
#define MESSAGE_INVALIDATES	2

/* ---- completion queues ------------------------------------------------- */

int fake_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct fake_dev *fake = to_fake_dev(ibcq->device);
	struct fake_cq *cq = to_fake_cq(ibcq);
	int err = fake->fail_cq;

	fake->fail_cq = 0;
	if (err)
		return err;
	if (!attr->cqe || attr->cqe > (u32)fake->ibdev.attrs.max_cqe)
		return -EINVAL;
	err = fake_take(fake, FAKE_CQ);
	if (err)
		return err;
	cq->size = attr->cqe;
	ibcq->cqe = attr->cqe;
	cq->wc = kvcalloc(cq->size, sizeof(*cq->wc), GFP_KERNEL);
	if (!cq->wc) {
		fake_give(fake, FAKE_CQ);
		return -ENOMEM;
	}
	spin_lock_irq(&fake->lock);
	list_add_tail(&cq->node, &fake->cqs);
	spin_unlock_irq(&fake->lock);
	return 0;
}

int fake_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct fake_dev *fake = to_fake_dev(ibcq->device);
	struct fake_cq *cq = to_fake_cq(ibcq);

	spin_lock_irq(&fake->lock);
	list_del(&cq->node);
	spin_unlock_irq(&fake->lock);
	kvfree(cq->wc);
	fake_give(fake, FAKE_CQ);
	return 0;
}

int fake_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc)
{
	struct fake_dev *fake = to_fake_dev(ibcq->device);
	struct fake_cq *cq = to_fake_cq(ibcq);
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&fake->lock, flags);
	while (n < num_entries && cq->head != cq->tail)
		wc[n++] = cq->wc[cq->head++ % cq->size];
	if (!n && (fake->personality & FAKE_POLL_FAILS))
		n = -EINVAL;
	spin_unlock_irqrestore(&fake->lock, flags);
	return n;
}

int fake_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags how)
{
	struct fake_dev *fake = to_fake_dev(ibcq->device);
	struct fake_cq *cq = to_fake_cq(ibcq);
	int kind = how & IB_CQ_SOLICITED_MASK;
	unsigned long flags;
	int missed = 0;

	if ((fake->personality & FAKE_ARMS_BY_EQUALITY) && how != IB_CQ_SOLICITED)
		kind = IB_CQ_NEXT_COMP;
	spin_lock_irqsave(&fake->lock, flags);
	cq->announces = true;
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = kind;
	if ((how & IB_CQ_REPORT_MISSED_EVENTS) && cq->head != cq->tail)
		missed = 1;
	spin_unlock_irqrestore(&fake->lock, flags);
	return missed;
}

/*
 * Called with fake->lock held. Returns true if the caller must call the handler, without
 * the lock
 */
static bool cq_push(struct fake_dev *fake, struct ib_cq *ibcq, const struct ib_wc *wc,
		    bool solicited)
{
	struct fake_cq *cq = to_fake_cq(ibcq);

	if (cq->tail - cq->head >= cq->size) {
		fake->overruns++;
		return false;
	}
	cq->wc[cq->tail++ % cq->size] = *wc;
	/* A solicited CQ does not notify of errors, like the worst real devices */
	if (!cq->armed || (cq->armed == IB_CQ_SOLICITED && !solicited))
		return false;
	cq->armed = 0;
	return ibcq->comp_handler;
}

/* ---- posting ----------------------------------------------------------- */

/* Called with fake->lock held */
static bool refused(struct fake_dev *fake)
{
	if (!fake->refusals)
		return false;
	if (fake->refuse_after) {
		fake->refuse_after--;
		return false;
	}
	fake->refusals--;
	fake->refused++;
	return true;
}

/* The service QP of a zone, used by dat_lmr_kcreate() and dat_lmr_free(), has no endpoint */
static bool is_service(const struct fake_qp *qp)
{
	return !qp->ibqp.qp_context;
}

static bool is_mr_request(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_REG_MR || opcode == IB_WR_LOCAL_INV;
}

/* Called with fake->lock held */
static bool push_send(struct fake_dev *fake, struct fake_qp *qp, const struct fake_wr *fwr,
		      enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_cqe = fwr->cqe,
		.status = status,
		.qp = &qp->ibqp,
	};

	fake_run_mr_request(fake, fwr, status);
	if (status == IB_WC_SUCCESS && !(fwr->send_flags & IB_SEND_SIGNALED))
		return false;
	if ((fake->personality & FAKE_SILENT_ERRORS) && !(fwr->send_flags & IB_SEND_SIGNALED))
		return false;
	if (status == IB_WC_SUCCESS) {
		u32 i;

		wc.opcode = fwr->opcode == IB_WR_RDMA_WRITE ? IB_WC_RDMA_WRITE :
			    fwr->opcode == IB_WR_RDMA_READ ? IB_WC_RDMA_READ :
			    fwr->opcode == IB_WR_REG_MR ? IB_WC_REG_MR :
			    fwr->opcode == IB_WR_LOCAL_INV ? IB_WC_LOCAL_INV : IB_WC_SEND;
		/* In the verbs only reads have a byte count, and rxe sets none */
		if (fwr->opcode == IB_WR_RDMA_READ)
			for (i = 0; i < fwr->num_sge; i++)
				wc.byte_len += fwr->sge[i].length;
	}
	return cq_push(fake, qp->ibqp.send_cq, &wc, false);
}

/* Called with fake->lock held */
static bool push_recv(struct fake_dev *fake, struct fake_qp *qp, const struct fake_wr *fwr,
		      enum ib_wc_status status, u32 len, u32 how, u32 rkey)
{
	bool solicited = how & MESSAGE_SOLICITED;
	struct ib_wc wc = {
		.wr_cqe = fwr->cqe,
		.status = status,
		.qp = &qp->ibqp,
	};

	if (status == IB_WC_SUCCESS) {
		wc.opcode = IB_WC_RECV;
		wc.byte_len = len;
	}
	if (how & MESSAGE_INVALIDATES) {
		fake_invalidate(fake, rkey);
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = rkey;
	}
	return cq_push(fake, qp->ibqp.recv_cq, &wc, solicited);
}

static void call_handler(struct ib_cq *cq, bool call)
{
	if (call)
		cq->comp_handler(cq, cq->cq_context);
}

static void copy_sges(struct fake_dev *fake, struct fake_wr *fwr, const struct ib_sge *sge, int num)
{
	/* The first entry is harmless only if its length is 0 */
	if ((fake->personality & FAKE_READS_FIRST_SGE) && !num && sge && sge->length)
		num = 1;
	fwr->num_sge = num;
	memcpy(fwr->sge, sge, min(num, FAKE_MAX_SGE) * sizeof(*sge));
}

/* Copies the target of a request. Called with fake->lock held */
static void copy_target(struct fake_dev *fake, struct fake_wr *fwr, const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
		fwr->remote_addr = rdma_wr(wr)->remote_addr;
		fwr->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_REG_MR:
		fwr->mr = to_fake_mr(reg_wr(wr)->mr);
		fwr->mr->regs++;
		fwr->rkey = reg_wr(wr)->key;
		fwr->access = reg_wr(wr)->access;
		break;
	case IB_WR_LOCAL_INV:
		fake->invalidated = wr->ex.invalidate_rkey;
		fallthrough;
	case IB_WR_SEND_WITH_INV:
		fwr->rkey = wr->ex.invalidate_rkey;
		break;
	default:
		break;
	}
}

/* Returns the status of a request that completes at once. Called with fake->lock held */
static enum ib_wc_status status_at_once(struct fake_dev *fake, struct fake_qp *qp)
{
	if (qp->state == IB_QPS_ERR)
		return IB_WC_WR_FLUSH_ERR;
	if (!is_service(qp) || !fake->fail_service)
		return IB_WC_SUCCESS;
	fake->fail_service--;
	qp->state = IB_QPS_ERR;
	return IB_WC_LOC_QP_OP_ERR;
}

/* Called with fake->lock held */
static bool flushes(const struct fake_dev *fake, const struct fake_qp *qp)
{
	return qp->state == IB_QPS_ERR && !fake->hold_flush && !qp->mute;
}

/* Called with fake->lock held */
static int post_one_send(struct fake_dev *fake, struct fake_qp *qp, const struct ib_send_wr *wr,
			 bool *call)
{
	bool service = is_service(qp);
	struct fake_wr *fwr;

	if (!service && refused(fake))
		return fake->refuse;
	if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD && qp->state != IB_QPS_ERR)
		return -EINVAL;
	if ((u32)wr->num_sge > FAKE_MAX_SGE)
		return -EINVAL;
	fwr = queue_add(fake, &qp->sq);
	if (!fwr)
		return -ENOMEM;
	fwr->cqe = wr->wr_cqe;
	fwr->opcode = wr->opcode;
	fwr->send_flags = wr->send_flags;
	if (!is_mr_request(wr->opcode))
		copy_sges(fake, fwr, wr->sg_list, wr->num_sge);
	copy_target(fake, fwr, wr);
	if (!service)
		fake->posts++;
	if ((service && !fake->hold_service) || flushes(fake, qp))
		*call |= push_send(fake, qp, queue_take(&qp->sq), status_at_once(fake, qp));
	return 0;
}

int fake_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad)
{
	struct fake_dev *fake = to_fake_dev(ibqp->device);
	struct fake_qp *qp = to_fake_qp(ibqp);
	void (*hook)(void) = NULL;
	unsigned long flags;
	bool call = false;
	int err = 0;

	spin_lock_irqsave(&fake->lock, flags);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = post_one_send(fake, qp, wr, &call);
	if (err && bad)
		*bad = wr;
	if (err)
		swap(hook, fake->refuse_hook);
	spin_unlock_irqrestore(&fake->lock, flags);
	call_handler(ibqp->send_cq, call);
	if (hook)
		hook();
	return err;
}

/* Called with fake->lock held */
static int post_one_recv(struct fake_dev *fake, struct fake_queue *q, const struct ib_recv_wr *wr)
{
	struct fake_wr *fwr;

	if (refused(fake))
		return fake->refuse;
	if ((u32)wr->num_sge > FAKE_MAX_SGE)
		return -EINVAL;
	fwr = queue_add(fake, q);
	if (!fwr)
		return -ENOMEM;
	fwr->cqe = wr->wr_cqe;
	copy_sges(fake, fwr, wr->sg_list, wr->num_sge);
	fake->posts++;
	return 0;
}

int fake_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad)
{
	struct fake_dev *fake = to_fake_dev(ibqp->device);
	struct fake_qp *qp = to_fake_qp(ibqp);
	unsigned long flags;
	bool call = false;
	int err = 0;

	spin_lock_irqsave(&fake->lock, flags);
	if (qp->state == IB_QPS_RESET || ibqp->srq)
		err = -EINVAL;
	for (; wr && !err; wr = err ? wr : wr->next) {
		err = post_one_recv(fake, &qp->rq, wr);
		if (!err && flushes(fake, qp))
			call |= push_recv(fake, qp, queue_take(&qp->rq), IB_WC_WR_FLUSH_ERR,
					  0, 0, 0);
	}
	if (err && bad)
		*bad = wr;
	spin_unlock_irqrestore(&fake->lock, flags);
	call_handler(ibqp->recv_cq, call);
	return err;
}

int fake_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct fake_dev *fake = to_fake_dev(ibsrq->device);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&fake->lock, flags);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = post_one_recv(fake, &to_fake_srq(ibsrq)->rq, wr);
	if (err && bad)
		*bad = wr;
	spin_unlock_irqrestore(&fake->lock, flags);
	return err;
}

/*
 * Process context; the QP was moved to ERROR. The QP may be freed as soon as its last
 * completion or event is visible, so all that is needed later is copied before.
 */
void fake_flush(struct fake_dev *fake, struct fake_qp *qp)
{
	void (*handler)(struct ib_event *event, void *context) = qp->ibqp.event_handler;
	struct ib_cq *send_cq = qp->ibqp.send_cq, *recv_cq = qp->ibqp.recv_cq;
	bool call_send = false, call_recv = false, last_wqe;
	void *context = qp->ibqp.qp_context;
	struct ib_event event = {
		.device = &fake->ibdev,
		.event = IB_EVENT_QP_LAST_WQE_REACHED,
		.element.qp = &qp->ibqp,
	};
	struct fake_wr *fwr;
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	while (flushes(fake, qp) && (fwr = queue_take(&qp->sq)))
		call_send |= push_send(fake, qp, fwr, IB_WC_WR_FLUSH_ERR);
	while (fake->late_recvs && (fwr = queue_take(&qp->rq))) {
		fake->late_recvs--;
		call_recv |= push_recv(fake, qp, fwr, IB_WC_SUCCESS, 1, 0, 0);
	}
	while (flushes(fake, qp) && (fwr = queue_take(&qp->rq)))
		call_recv |= push_recv(fake, qp, fwr, IB_WC_WR_FLUSH_ERR, 0, 0, 0);
	last_wqe = qp->last_wqe_owed && handler && !(fake->personality & FAKE_NO_LAST_WQE);
	if (last_wqe) {
		qp->last_wqe_owed = false;
		fake->last_wqes++;
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	call_handler(send_cq, call_send);
	call_handler(recv_cq, call_recv);
	if (last_wqe)
		handler(&event, context);
}

/* ---- simulating the hardware ------------------------------------------- */

void fake_refuse_after(struct fake_dev *fake, u32 taken, int err, u32 count)
{
	spin_lock_irq(&fake->lock);
	fake->refuse = err;
	fake->refusals = count;
	fake->refuse_after = taken;
	spin_unlock_irq(&fake->lock);
}

void fake_refuse(struct fake_dev *fake, int err, u32 count)
{
	fake_refuse_after(fake, 0, err, count);
}

void fake_release(struct fake_dev *fake, struct fake_qp *qp)
{
	spin_lock_irq(&fake->lock);
	fake->hold_flush = false;
	fake->personality &= ~FAKE_NO_LAST_WQE;
	spin_unlock_irq(&fake->lock);
	fake_flush(fake, qp);
}

bool fake_complete_send(struct fake_qp *qp, enum ib_wc_status status)
{
	struct fake_dev *fake = to_fake_dev(qp->ibqp.device);
	struct fake_wr *fwr;
	bool call = false;

	spin_lock_irq(&fake->lock);
	fwr = queue_take(&qp->sq);
	if (fwr)
		call = push_send(fake, qp, fwr, status);
	spin_unlock_irq(&fake->lock);
	/* The softirq normally runs when bottom halves are enabled again */
	local_bh_disable();
	call_handler(qp->ibqp.send_cq, call);
	local_bh_enable();
	return fwr;
}

/* Is the event of the SRQ due after a buffer was consumed? Called with fake->lock held */
static bool limit_reached(struct fake_dev *fake, struct fake_srq *srq)
{
	if (fake->hold_limit || fake_outstanding(&srq->rq) >= srq->limit)
		return false;
	srq->limit = 0;
	fake->limits++;
	return true;
}

/*
 * Calls the handler with a lock held and (except on RT) interrupts off, the strictest
 * context that drivers use
 */
static void call_srq_handler(struct fake_dev *fake, struct ib_srq *ibsrq,
			     enum ib_event_type type)
{
	struct ib_event event = {
		.device = &fake->ibdev,
		.event = type,
		.element.srq = ibsrq,
	};
	static DEFINE_SPINLOCK(driver_lock);
	unsigned long flags;

	spin_lock_irqsave(&driver_lock, flags);
	ibsrq->event_handler(&event, ibsrq->srq_context);
	spin_unlock_irqrestore(&driver_lock, flags);
}

static bool complete_recv(struct fake_qp *qp, struct fake_queue *q, enum ib_wc_status status,
			  u32 len, u32 how, u32 rkey)
{
	struct fake_dev *fake = to_fake_dev(qp->ibqp.device);
	struct fake_wr *fwr;
	bool call = false, limit;

	spin_lock_irq(&fake->lock);
	fwr = queue_take(q);
	if (fwr)
		call = push_recv(fake, qp, fwr, status, len, how, rkey);
	limit = fwr && qp->ibqp.srq && limit_reached(fake, to_fake_srq(qp->ibqp.srq));
	spin_unlock_irq(&fake->lock);
	if (limit)
		call_srq_handler(fake, qp->ibqp.srq, IB_EVENT_SRQ_LIMIT_REACHED);
	local_bh_disable();
	call_handler(qp->ibqp.recv_cq, call);
	local_bh_enable();
	return fwr;
}

void fake_srq_fails(struct fake_srq *srq)
{
	call_srq_handler(to_fake_dev(srq->ibsrq.device), &srq->ibsrq, IB_EVENT_SRQ_ERR);
}

bool fake_complete_recv(struct fake_qp *qp, enum ib_wc_status status, u32 len)
{
	return complete_recv(qp, &qp->rq, status, len, 0, 0);
}

bool fake_complete_recv_solicited(struct fake_qp *qp, u32 len)
{
	return complete_recv(qp, &qp->rq, IB_WC_SUCCESS, len, MESSAGE_SOLICITED, 0);
}

bool fake_complete_srq(struct fake_qp *qp, enum ib_wc_status status, u32 len)
{
	return complete_recv(qp, &to_fake_srq(qp->ibqp.srq)->rq, status, len, 0, 0);
}

bool fake_complete_recv_inv(struct fake_qp *qp, u32 len, u32 rkey)
{
	return complete_recv(qp, &qp->rq, IB_WC_SUCCESS, len, MESSAGE_INVALIDATES, rkey);
}

bool fake_complete_srq_inv(struct fake_qp *qp, u32 len, u32 rkey)
{
	return complete_recv(qp, &to_fake_srq(qp->ibqp.srq)->rq, IB_WC_SUCCESS, len,
			     MESSAGE_INVALIDATES, rkey);
}

void fake_raise(struct fake_dev *fake, struct fake_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &fake->ibdev,
		.event = type,
		.element.qp = &qp->ibqp,
	};
	static DEFINE_SPINLOCK(driver_lock);
	unsigned long flags;

	spin_lock_irqsave(&driver_lock, flags);
	qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	spin_unlock_irqrestore(&driver_lock, flags);
}

bool fake_refuse_access(struct fake_dev *fake, struct fake_qp *from, struct fake_qp *to)
{
	if (fake->personality & FAKE_ACCESS_ERR_FIRST) {
		fake_raise(fake, to, IB_EVENT_QP_ACCESS_ERR);
		/* Let kdapl finish its reaction to the event before the NAK is sent */
		fake_settle(fake);
	}
	if (READ_ONCE(to->state) == IB_QPS_ERR)
		return false;
	fake_complete_send(from, IB_WC_REM_ACCESS_ERR);
	WRITE_ONCE(to->state, IB_QPS_ERR);
	fake_flush(fake, to);
	return true;
}

/* A CQ that announces its completions is idle when it is empty and armed again */
static bool cqs_at_rest(struct fake_dev *fake)
{
	struct fake_cq *cq;
	bool rest = true;

	spin_lock_irq(&fake->lock);
	list_for_each_entry(cq, &fake->cqs, node)
		if (cq->announces &&
		    (cq->head != cq->tail || !cq->armed))
			rest = false;
	spin_unlock_irq(&fake->lock);
	return rest;
}

void fake_settle(struct fake_dev *fake)
{
	unsigned long end = jiffies + kdapl_timeout_ms(60 * MSEC_PER_SEC);
	int idle = 0;

	/*
	 * Work may cause completions, completions may queue work, and the work of one
	 * queue may queue work on the other: stop after three idle rounds.
	 */
	while (idle < 3) {
		if (WARN_ONCE(time_after(jiffies, end), "the CQs do not become idle\n"))
			return;
		if (!cqs_at_rest(fake)) {
			idle = 0;
			kdapl_nap(100, 200);
			continue;
		}
		flush_workqueue(kdapl_wq);
		flush_workqueue(kdapl_evd_wq);
		flush_workqueue(kdapl_upcall_wq);
		flush_workqueue(kdapl_notice_wq);
		idle++;
	}
}
