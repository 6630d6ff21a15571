// SPDX-License-Identifier: GPL-2.0
/*
 * The plain-verbs side: a connected pair of QPs without kDAPL.
 *
 * It owns the PD, the CQs, the QPs, the page that they transfer, and the MRs and pages that
 * requests register. QP 0 posts requests, QP 1 or its SRQ takes receives. Each has a CQ that
 * is polled in softirq, or in the context that is measured. The work requests and segments are
 * those that kDAPL builds for the same call.
 *
 * measure.c creates and uses it in process context.
 */
#include <linux/slab.h>
#include "bench.h"
#include "test_verbs.h"

#define RETRY	6	/* rxe retries forever with 7 */
#define RNR_TIMER	12

struct plain_verbs {
	struct bench_side side;
	struct ib_pd *pd;
	struct ib_srq *srq;
	struct test_verbs end[2];
	void *page;
	void *area;
	struct bench_regs regs;
	u64 dma;
	struct ib_cqe cqe;
};

static struct plain_verbs *the_side;

static void verbs_done_count(struct ib_cq *cq, struct ib_wc *wc)
{
	bench_count(&the_side->side.done, 1);
}

static void verbs_done_tally(struct ib_cq *cq, struct ib_wc *wc)
{
	atomic_inc(&the_side->side.done);
}

static void verbs_done_empty(struct ib_cq *cq, struct ib_wc *wc)
{
}

/* ---- the posts --------------------------------------------------------- */

static void verbs_post_send(struct bench_op *op)
{
	op->failed |= ib_post_send(op->qp, &op->request.wr, NULL);
}

/* Other users of the verbs map their pages, too */
static void verbs_post_fmr(struct bench_op *op)
{
	struct ib_mr *mr = op->regs->mr[op->turn++ % BENCH_BATCH];
	struct scatterlist *sgl = op->regs->sgl;
	int n = ib_dma_map_sg(mr->device, sgl, op->regs->nents, DMA_BIDIRECTIONAL);

	op->failed |= ib_map_mr_sg(mr, sgl, n, NULL, PAGE_SIZE) != n;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	op->reg.mr = mr;
	op->reg.key = mr->rkey;
	op->failed |= ib_post_send(op->qp, &op->reg.wr, NULL);
}

static void verbs_post_invalidate(struct bench_op *op)
{
	struct ib_mr *mr = op->regs->mr[op->turn++ % BENCH_BATCH];

	op->request.wr.ex.invalidate_rkey = mr->rkey;
	op->failed |= ib_post_send(op->qp, &op->request.wr, NULL);
	ib_dma_unmap_sg(mr->device, op->regs->sgl, op->regs->nents, DMA_BIDIRECTIONAL);
}

static void verbs_post_recv(struct bench_op *op)
{
	op->failed |= ib_post_recv(op->qp, &op->recv, NULL);
}

static void verbs_post_srq_recv(struct bench_op *op)
{
	op->failed |= ib_post_srq_recv(op->srq, &op->recv, NULL);
}

static const bench_fn verbs_fn[BENCH_NR_KINDS] = {
	[BENCH_SEND] = verbs_post_send,
	[BENCH_WRITE] = verbs_post_send,
	[BENCH_READ] = verbs_post_send,
	[BENCH_SEND_INV] = verbs_post_send,
	[BENCH_FMR] = verbs_post_fmr,
	[BENCH_FMR_SG] = verbs_post_fmr,
	[BENCH_INVALIDATE] = verbs_post_invalidate,
	[BENCH_RECV] = verbs_post_recv,
	[BENCH_SRQ_RECV] = verbs_post_srq_recv,
};

static void verbs_fill_sge(const struct plain_verbs *v, struct bench_op *op, u32 segs)
{
	u32 i;

	for (i = 0; i < segs; i++)
		op->sge[i] = (struct ib_sge) {
			.addr = v->dma + i * BENCH_SEG_LEN,
			.length = BENCH_SEG_LEN,
			.lkey = v->pd->local_dma_lkey,
		};
}

static void verbs_fill_request(struct plain_verbs *v, struct bench_op *op,
			       enum ib_wr_opcode opcode, u32 segs, int flags)
{
	verbs_fill_sge(v, op, segs);
	op->qp = v->end[0].qp;
	op->request.wr.wr_cqe = (struct ib_cqe *)&v->cqe;
	op->request.wr.sg_list = op->sge;
	op->request.wr.num_sge = segs;
	op->request.wr.opcode = opcode;
	op->request.wr.send_flags = flags;
	op->request.remote_addr = v->dma;
	op->request.rkey = v->pd->unsafe_global_rkey;
	op->regs = &v->regs;
	op->reg.wr = op->request.wr;
	op->reg.wr.num_sge = 0;
	op->reg.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;
	if (opcode == IB_WR_LOCAL_INV)
		op->request.wr.num_sge = 0;
}

static void verbs_fill_recv(const struct plain_verbs *v, struct bench_op *op, u32 segs)
{
	verbs_fill_sge(v, op, segs);
	op->qp = v->end[1].qp;
	op->srq = v->srq;
	op->recv.wr_cqe = (struct ib_cqe *)&v->cqe;
	op->recv.sg_list = op->sge;
	op->recv.num_sge = segs;
}

static void verbs_fill_side(struct plain_verbs *v, const struct bench_spec *spec)
{
	static const enum ib_wr_opcode opcodes[] = {
		IB_WR_SEND, IB_WR_RDMA_WRITE, IB_WR_RDMA_READ, IB_WR_SEND_WITH_INV, IB_WR_REG_MR,
		IB_WR_REG_MR, IB_WR_LOCAL_INV
	};
	struct bench_side *side = &v->side;
	int i;

	side->fn = verbs_fn;
	side->recv_kind = v->srq ? BENCH_SRQ_RECV : BENCH_RECV;
	for (i = BENCH_SEND; i < BENCH_RECV; i++) {
		verbs_fill_request(v, &side->op[i], opcodes[i], spec->segs, IB_SEND_SIGNALED);
		verbs_fill_request(v, &side->quiet[i], opcodes[i], spec->segs, 0);
	}
	verbs_fill_recv(v, &side->op[side->recv_kind], spec->segs);
}

/* ---- the pair ---------------------------------------------------------- */

static int verbs_connect(struct ib_qp *qp, u32 dest)
{
	struct ib_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = dest,
		.rq_psn = 1,
		.sq_psn = 1,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = RNR_TIMER,
		.timeout = 17,
		.retry_cnt = RETRY,
		.rnr_retry = RETRY,
	};

	return test_verbs_path(qp->device, &attr.ah_attr, NULL) ?: test_verbs_connect(qp, &attr);
}

static int verbs_make_qp(struct plain_verbs *v, const struct bench_spec *spec, int i)
{
	enum ib_poll_context poll = spec->context == KDAT_EVD_POLL_FLAG ? IB_POLL_DIRECT :
				    spec->context == KDAT_EVD_PROCESS_FLAG ? IB_POLL_WORKQUEUE :
									     IB_POLL_SOFTIRQ;
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = BENCH_DEPTH,
			.max_recv_wr = BENCH_DEPTH,
			.max_send_sge = BENCH_MAX_SEGS,
			.max_recv_sge = BENCH_MAX_SEGS,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.srq = i ? v->srq : NULL,
	};

	return test_verbs_make(&v->end[i], v->pd, 2 * BENCH_DEPTH, poll, &init);
}

static int verbs_make_srq(struct plain_verbs *v)
{
	struct ib_srq_init_attr init = {
		.attr = { .max_wr = BENCH_DEPTH, .max_sge = BENCH_MAX_SEGS },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq = ib_create_srq(v->pd, &init);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	v->srq = srq;
	return 0;
}

static int verbs_make_mrs(struct plain_verbs *v, const struct bench_spec *spec)
{
	struct ib_mr *mr;
	int i;

	v->area = alloc_pages_exact(BENCH_AREA, GFP_KERNEL | __GFP_ZERO);
	if (!v->area)
		return -ENOMEM;
	bench_regs_fill(&v->regs, v->area, spec);
	for (i = 0; i < BENCH_BATCH; i++) {
		mr = ib_alloc_mr(v->pd, IB_MR_TYPE_MEM_REG, spec->segs);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		v->regs.mr[i] = mr;
	}
	return 0;
}

static int verbs_make(struct plain_verbs *v, struct ib_device *ibdev, const struct bench_spec *spec)
{
	struct ib_pd *pd;
	int ret = 0;

	/* The test runs on one host and accesses its own page only */
	pd = ib_alloc_pd(ibdev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	v->pd = pd;
	v->dma = ib_dma_map_single(ibdev, v->page, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (spec->kind == BENCH_SRQ_RECV)
		ret = verbs_make_srq(v);
	if (bench_registers(spec->kind))
		ret = verbs_make_mrs(v, spec);
	ret = ret ?: verbs_make_qp(v, spec, 0) ?: verbs_make_qp(v, spec, 1);
	return ret ?: verbs_connect(v->end[0].qp, v->end[1].qp->qp_num) ?:
	       verbs_connect(v->end[1].qp, v->end[0].qp->qp_num);
}

/**
 * plain_verbs_create - create the plain-verbs side
 * @ibdev: device
 * @spec:  what to measure
 *
 * Context: process, one at a time.
 * Return: the side, or ERR_PTR.
 */
struct plain_verbs *plain_verbs_create(struct ib_device *ibdev, const struct bench_spec *spec)
{
	struct plain_verbs *v = kzalloc(sizeof(*v), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!v)
		return ERR_PTR(-ENOMEM);
	the_side = v;
	v->cqe.done = verbs_done_count;
	v->page = (void *)get_zeroed_page(GFP_KERNEL);
	if (v->page)
		ret = verbs_make(v, ibdev, spec);
	if (ret) {
		plain_verbs_destroy(v);
		return ERR_PTR(ret);
	}
	verbs_fill_side(v, spec);
	return v;
}

/**
 * plain_verbs_destroy - undo plain_verbs_create()
 * @v: the side, complete or not, nothing outstanding
 *
 * Context: process.
 */
void plain_verbs_destroy(struct plain_verbs *v)
{
	int i;

	for (i = 0; i < 2; i++)
		test_verbs_free(&v->end[i]);
	if (v->srq)
		ib_destroy_srq(v->srq);
	for (i = 0; i < BENCH_BATCH && v->regs.mr[i]; i++)
		ib_dereg_mr(v->regs.mr[i]);
	if (v->pd) {
		ib_dma_unmap_single(v->pd->device, v->dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
		ib_dealloc_pd(v->pd);
	}
	free_page((unsigned long)v->page);
	if (v->area)
		free_pages_exact(v->area, BENCH_AREA);
	kfree(v);
}

/**
 * plain_verbs_side - the part of the side that measure.c uses
 * @v: the side
 *
 * Context: any.
 * Return: the side.
 */
struct bench_side *plain_verbs_side(struct plain_verbs *v)
{
	return &v->side;
}

/**
 * plain_verbs_set_events - select what the done callbacks do
 * @v:   the side, nothing outstanding
 * @how: FIXTURE_COUNT, FIXTURE_TALLY or FIXTURE_EMPTY, as of the upcalls of kDAPL
 *
 * Context: process.
 */
void plain_verbs_set_events(struct plain_verbs *v, enum fixture_events how)
{
	v->cqe.done = how == FIXTURE_COUNT ? verbs_done_count :
		      how == FIXTURE_TALLY ? verbs_done_tally : verbs_done_empty;
}

/**
 * plain_verbs_poll - poll the CQ of the requests
 * @v:   the side, made for the poll context
 * @max: the largest number of completions to handle
 *
 * Context: process.
 * Return: the number of completions.
 */
int plain_verbs_poll(struct plain_verbs *v, int max)
{
	return ib_process_cq_direct(v->end[0].cq, max);
}
