// SPDX-License-Identifier: GPL-2.0
/*
 * The two ends of a case, and short forms of the verbs. Process context.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "conform.h"
#include "test_verbs.h"

#define CF_WAIT		(20 * HZ)	/* for what has to happen */
#define CF_WAIT_RXE	(2 * HZ)	/* there, events that do not come are known */
#define CF_RNR_TIMER	12		/* 0.64 ms */
#define CF_ACK_TIMER	14		/* 67 ms */
#define CF_RETRIES	3

static void cf_handler(struct ib_cq *cq, void *context)
{
	struct cf_end *e = context;

	atomic_inc(&e->fired);
}

static void cf_cq_event(struct ib_event *event, void *context)
{
	struct cf_end *e = context;

	atomic_inc(&e->cq_errors);
}

static void cf_qp_event(struct ib_event *event, void *context)
{
	struct cf_end *e = context;

	e->fired_before = atomic_read(&e->fired);
	e->cq_errors_before = atomic_read(&e->cq_errors);
	if (event->event < ARRAY_SIZE(e->events))
		atomic_inc(&e->events[event->event]);
}

static void cf_srq_event(struct ib_event *event, void *context)
{
	struct cf_end *e = context;

	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		atomic_inc(&e->limits);
}

static int cf_make_srq(struct cf_end *e)
{
	struct ib_srq_init_attr init = {
		.event_handler = cf_srq_event,
		.srq_context = e,
		.attr = { .max_wr = CF_DEPTH, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq_attr attr;

	e->srq = ib_create_srq(e->pd, &init);
	if (IS_ERR(e->srq) || ib_query_srq(e->srq, &attr))
		return -EIO;
	e->recv_wr = attr.max_wr;
	return 0;
}

static int cf_make_qp(struct cf_end *e, const struct cf_setup *setup)
{
	struct ib_qp_init_attr init = {
		.event_handler = cf_qp_event,
		.qp_context = e,
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.srq = e->srq,
		.cap = { .max_send_wr = CF_DEPTH, .max_recv_wr = e->srq ? 0 : CF_DEPTH,
			 .max_send_sge = CF_SGES, .max_recv_sge = e->srq ? 0 : CF_SGES },
		.sq_sig_type = setup->all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	e->qp = ib_create_qp(e->pd, &init);
	if (IS_ERR(e->qp))
		return PTR_ERR(e->qp);
	e->send_wr = init.cap.max_send_wr;
	if (!e->srq)
		e->recv_wr = init.cap.max_recv_wr;
	return 0;
}

/* Maps the memory of an end */
bool cf_map(struct cf_end *e, enum dma_data_direction dir)
{
	u64 dma = ib_dma_map_single(e->ibdev, e->mem, CF_MEM, dir);

	if (ib_dma_mapping_error(e->ibdev, dma))
		return false;
	e->dma = dma;
	e->dir = dir;
	return true;
}

/* Undoes it; the device must not use the address any more */
void cf_unmap(struct cf_end *e)
{
	if (e->dma)
		ib_dma_unmap_single(e->ibdev, e->dma, CF_MEM, e->dir);
	e->dma = 0;
}

static int cf_make_end(struct cf_end *e, struct ib_device *ibdev, bool srq)
{
	struct ib_cq_init_attr attr = { .cqe = e->cf->setup.cqes ?: CF_CQES };
	int err;

	e->ibdev = ibdev;
	e->mem = kzalloc(CF_MEM, GFP_KERNEL);
	if (!e->mem)
		return -ENOMEM;
	if (!cf_map(e, DMA_BIDIRECTIONAL))
		return -EIO;
	e->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(e->pd))
		return PTR_ERR(e->pd);
	e->cq = ib_create_cq(ibdev, cf_handler, cf_cq_event, e, &attr);
	if (IS_ERR(e->cq))
		return PTR_ERR(e->cq);
	err = srq ? cf_make_srq(e) : 0;
	return err ?: cf_make_qp(e, &e->cf->setup);
}

/* Creates both ends as requested in cf->setup, in RESET */
bool cf_make(struct cf *cf)
{
	int err;

	cf->a.cf = cf;
	cf->b.cf = cf;
	err = cf_make_end(&cf->a, cf->ibdev[0], false) ?:
	      cf_make_end(&cf->b, cf->ibdev[1], cf->setup.srq);
	if (err)
		cf_say(cf, "no fixture: %d", err);
	return !err;
}

/* Of the first address of the port */
static int cf_gid(struct ib_device *ibdev, union ib_gid *gid)
{
	struct rdma_ah_attr ah = {};
	int err = test_verbs_path(ibdev, &ah, NULL);

	*gid = ah.grh.dgid;
	return err;
}

static int cf_move(struct cf_end *e, struct ib_qp_attr *attr, bool rtr)
{
	int err;

	if (!rtr)
		return test_verbs_connect(e->qp, attr);
	attr->qp_state = IB_QPS_INIT;
	err = ib_modify_qp(e->qp, attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	attr->qp_state = IB_QPS_RTR;
	return err ?: ib_modify_qp(e->qp, attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
				   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
				   IB_QP_MIN_RNR_TIMER);
}

static int cf_connect_to(struct cf_end *e, const struct cf_end *to)
{
	struct cf_setup *s = &e->cf->setup;
	struct ib_qp_attr attr = {
		.port_num = 1,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = to->qp->qp_num,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE | s->access,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = s->reads ?: 4,
		.min_rnr_timer = CF_RNR_TIMER,
		.timeout = s->timeout ?: CF_ACK_TIMER,
		.retry_cnt = s->retries ?: CF_RETRIES,
		.rnr_retry = s->rnr_retry,
	};
	union ib_gid gid;
	int err;

	if (e->ibdev == to->ibdev)
		err = test_verbs_path(e->ibdev, &attr.ah_attr, NULL);
	else
		err = cf_gid(to->ibdev, &gid) ?: test_verbs_path(e->ibdev, &attr.ah_attr, &gid);
	return err ?: cf_move(e, &attr, s->rtr && e == &e->cf->b);
}

/* Connects B, which answers from now on */
bool cf_follow(struct cf *cf)
{
	int err = cf_connect_to(&cf->b, &cf->a);

	if (err)
		cf_say(cf, "B not connected: %d", err);
	return !err;
}

bool cf_connect(struct cf *cf)
{
	int err;

	if (!cf->setup.b_later && !cf_follow(cf))
		return false;
	err = cf_connect_to(&cf->a, &cf->b);
	if (err)
		cf_say(cf, "A not connected: %d", err);
	return !err;
}

/* Both, with access for reads and writes, for most cases */
bool cf_ready(struct cf *cf)
{
	cf->setup.access |= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;
	return cf_make(cf) && cf_connect(cf);
}

static void cf_free_end(struct cf_end *e)
{
	if (!IS_ERR_OR_NULL(e->qp))
		ib_destroy_qp(e->qp);
	if (!IS_ERR_OR_NULL(e->mr))
		ib_dereg_mr(e->mr);
	if (!IS_ERR_OR_NULL(e->srq))
		ib_destroy_srq(e->srq);
	if (!IS_ERR_OR_NULL(e->cq))
		ib_destroy_cq(e->cq);
	if (!IS_ERR_OR_NULL(e->pd))
		ib_dealloc_pd(e->pd);
	cf_unmap(e);
	kfree(e->mem);
}

void cf_free(struct cf *cf)
{
	cf_free_end(&cf->a);
	cf_free_end(&cf->b);
}

/* For a case that tries something more than once: no fixture, with the same setup */
void cf_renew(struct cf *cf)
{
	cf_free(cf);
	memset(&cf->a, 0, sizeof(cf->a));
	memset(&cf->b, 0, sizeof(cf->b));
}

int cf_state(struct cf_end *e, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state, .port_num = 1,
				   .qp_access_flags = IB_ACCESS_LOCAL_WRITE };
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT)
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	return ib_modify_qp(e->qp, &attr, mask);
}

const char *cf_status(enum ib_wc_status status)
{
	static const char * const name[] = {
		[IB_WC_SUCCESS] = "success", [IB_WC_LOC_LEN_ERR] = "LOC_LEN",
		[IB_WC_LOC_QP_OP_ERR] = "LOC_QP_OP", [IB_WC_LOC_PROT_ERR] = "LOC_PROT",
		[IB_WC_WR_FLUSH_ERR] = "flushed", [IB_WC_MW_BIND_ERR] = "MW_BIND",
		[IB_WC_LOC_ACCESS_ERR] = "LOC_ACCESS", [IB_WC_REM_INV_REQ_ERR] = "REM_INV_REQ",
		[IB_WC_REM_ACCESS_ERR] = "REM_ACCESS", [IB_WC_REM_OP_ERR] = "REM_OP",
		[IB_WC_RETRY_EXC_ERR] = "RETRY_EXC", [IB_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC",
	};

	return status < ARRAY_SIZE(name) && name[status] ? name[status] : "another error";
}

/* ---- posts ---------------------------------------------------------------- */

static void cf_sge(struct cf_end *e, struct ib_sge *sge, u32 off, u32 len, u32 key)
{
	*sge = (struct ib_sge) { .addr = e->dma + off, .length = len, .lkey = key };
}

/* A request of one segment, which the next call overwrites */
struct ib_send_wr *cf_wr(struct cf_end *e, enum ib_wr_opcode op, u32 len)
{
	static struct ib_rdma_wr wr;
	static struct ib_sge sge;

	cf_sge(e, &sge, 0, len, e->pd->local_dma_lkey);
	wr = (struct ib_rdma_wr) {
		.wr = { .opcode = op, .send_flags = IB_SEND_SIGNALED, .sg_list = &sge,
			.num_sge = len ? 1 : 0 },
	};
	return &wr.wr;
}

int cf_post(struct cf_end *e, struct ib_send_wr *wr)
{
	return ib_post_send(e->qp, wr, NULL);
}

int cf_send(struct cf_end *e, u64 id, u32 len, int flags)
{
	struct ib_send_wr *wr = cf_wr(e, IB_WR_SEND, len);

	wr->wr_id = id;
	wr->send_flags = flags;
	return cf_post(e, wr);
}

int cf_rdma(struct cf_end *e, enum ib_wr_opcode op, u64 id, u64 addr, u32 key, u32 len)
{
	struct ib_send_wr *wr = cf_wr(e, op, len);
	struct ib_rdma_wr *rdma = container_of(wr, struct ib_rdma_wr, wr);

	wr->wr_id = id;
	rdma->remote_addr = addr;
	rdma->rkey = key;
	return cf_post(e, wr);
}

/* In the second half of the memory */
int cf_recv_key(struct cf_end *e, u64 id, u32 len, u32 key)
{
	struct ib_recv_wr wr = { .wr_id = id, .num_sge = len ? 1 : 0 };
	struct ib_sge sge;

	cf_sge(e, &sge, CF_MEM / 2, len, key);
	wr.sg_list = &sge;
	return e->srq ? ib_post_srq_recv(e->srq, &wr, NULL) : ib_post_recv(e->qp, &wr, NULL);
}

int cf_recv(struct cf_end *e, u64 id, u32 len)
{
	return cf_recv_key(e, id, len, e->pd->local_dma_lkey);
}

/* Waits until so many packets were sent, which need not arrive; the first one has the number 0 */
bool cf_sent(struct cf_end *e, u32 packets)
{
	unsigned long end = jiffies + CF_WAIT;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	while (!ib_query_qp(e->qp, &attr, IB_QP_SQ_PSN, &init) && attr.sq_psn < packets) {
		if (time_after(jiffies, end)) {
			cf_say(e->cf, "%u packets sent", attr.sq_psn);
			return false;
		}
		usleep_range(200, 400);
	}
	return true;
}

/* ---- completions ------------------------------------------------------------ */

/* The next completion; false if none comes */
bool cf_next(struct cf_end *e, struct ib_wc *wc)
{
	unsigned long end = jiffies + CF_WAIT;

	while (ib_poll_cq(e->cq, 1, wc) != 1) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(200, 400);
	}
	return true;
}

/* Its status in words */
const char *cf_wait(struct cf_end *e)
{
	struct ib_wc wc;

	return cf_next(e, &wc) ? cf_status(wc.status) : "no completion";
}

static bool cf_soft(const struct cf_end *e)
{
	return e->ibdev->ops.driver_id == RDMA_DRIVER_RXE;
}

static bool cf_within(unsigned long limit, bool (*done)(struct cf_end *e), struct cf_end *e)
{
	unsigned long end = jiffies + limit;

	while (!done(e)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(200, 400);
	}
	return true;
}

bool cf_until(bool (*done)(struct cf_end *e), struct cf_end *e)
{
	return cf_within(cf_soft(e) ? CF_WAIT_RXE : CF_WAIT, done, e);
}

static enum ib_qp_state cf_query_state(struct cf_end *e)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return ib_query_qp(e->qp, &attr, IB_QP_STATE, &init) ? IB_QPS_RESET : attr.qp_state;
}

static bool cf_in_error(struct cf_end *e)
{
	return cf_query_state(e) == IB_QPS_ERR;
}

const char *cf_get_state(struct cf_end *e)
{
	/* Soft-RoCE moves a QP to ERROR after the answer and the completion, perhaps much later */
	if (cf_soft(e))
		cf_until(cf_in_error, e);
	switch (cf_query_state(e)) {
	case IB_QPS_RTS:
		return "RTS";
	case IB_QPS_ERR:
		return "ERROR";
	default:
		return "another state";
	}
}

void cf_arm(struct cf_end *e, enum ib_cq_notify_flags flags)
{
	ib_req_notify_cq(e->cq, flags);
}

static bool cf_has_fired(struct cf_end *e)
{
	return atomic_read(&e->fired);
}

/* Waits for the completion handler */
bool cf_fired(struct cf_end *e)
{
	return cf_until(cf_has_fired, e);
}

static bool cf_has_entry(struct cf_end *e)
{
	return ib_req_notify_cq(e->cq, IB_CQ_SOLICITED | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

/*
 * Waits until an entry is in the CQ, without polling it: only an arming call tells. The CQ is then
 * armed for solicited completions
 */
bool cf_entry_waits(struct cf_end *e)
{
	return cf_within(CF_WAIT, cf_has_entry, e);
}

/* ---- memory ----------------------------------------------------------------- */

int cf_reg_mr(struct cf_end *e, u64 id, u32 key, int access)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_id = id, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = e->mr, .key = key, .access = access,
	};

	return cf_post(e, &wr.wr);
}

int cf_invalidate(struct cf_end *e, u64 id, u32 key)
{
	struct ib_send_wr wr = {
		.wr_id = id, .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = key,
	};

	return cf_post(e, &wr);
}

/* Registers all memory of a connected end, by its own QP, with the key of the allocation */
bool cf_register(struct cf_end *e, int access)
{
	struct scatterlist sg;
	struct ib_wc wc;

	e->mr = ib_alloc_mr(e->pd, IB_MR_TYPE_MEM_REG, CF_MEM / PAGE_SIZE + 1);
	if (IS_ERR(e->mr)) {
		cf_say(e->cf, "ib_alloc_mr: %ld", PTR_ERR(e->mr));
		return false;
	}
	sg_init_table(&sg, 1);
	sg_dma_address(&sg) = e->dma;
	sg_dma_len(&sg) = CF_MEM;
	if (ib_map_mr_sg(e->mr, &sg, 1, NULL, PAGE_SIZE) != 1 ||
	    cf_reg_mr(e, 1000, e->mr->rkey, IB_ACCESS_LOCAL_WRITE | access) ||
	    !cf_next(e, &wc) || wc.status) {
		cf_say(e->cf, "not registered");
		return false;
	}
	return true;
}
