// SPDX-License-Identifier: GPL-2.0
/*
 * The plain-verbs side: a connected pair of QPs without kDAPL.
 *
 * It owns the PD, the CQs, the QPs and the page that they transfer. QP 0 posts
 * requests, QP 1 or its SRQ takes receives. Each has a CQ that is polled in
 * softirq context, as EPs have. The work requests and segments are those that
 * kDAPL builds for the same call.
 *
 * measure.c creates and uses it in process context.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include "bench.h"

#define BARE_RETRY	6	/* rxe retries for ever with 7 */
#define BARE_RNR_TIMER	12

struct bare {
	struct bench_side side;
	struct ib_pd *pd;
	struct ib_cq *cq[2];
	struct ib_srq *srq;
	struct ib_qp *qp[2];
	void *page;
	u64 dma;
	struct ib_cqe cqe;
};

static struct bare *the_bare;

static void bare_done_count(struct ib_cq *cq, struct ib_wc *wc)
{
	bench_count(&the_bare->side.done, 1);
}

static void bare_done_empty(struct ib_cq *cq, struct ib_wc *wc)
{
}

/* ---- the posts --------------------------------------------------------- */

static void bare_post_send(struct bench_op *op)
{
	op->failed |= ib_post_send(op->qp, &op->request.wr, NULL);
}

static void bare_post_recv(struct bench_op *op)
{
	op->failed |= ib_post_recv(op->qp, &op->recv, NULL);
}

static void bare_post_srq_recv(struct bench_op *op)
{
	op->failed |= ib_post_srq_recv(op->srq, &op->recv, NULL);
}

static const bench_fn bare_fn[BENCH_NR_KINDS] = {
	[BENCH_SEND] = bare_post_send,
	[BENCH_WRITE] = bare_post_send,
	[BENCH_READ] = bare_post_send,
	[BENCH_RECV] = bare_post_recv,
	[BENCH_SRQ_RECV] = bare_post_srq_recv,
};

static void bare_fill_sge(const struct bare *bare, struct bench_op *op, u32 segs)
{
	u32 i;

	for (i = 0; i < segs; i++)
		op->sge[i] = (struct ib_sge) {
			.addr = bare->dma + i * BENCH_SEG_LEN,
			.length = BENCH_SEG_LEN,
			.lkey = bare->pd->local_dma_lkey,
		};
}

static void bare_fill_request(const struct bare *bare, struct bench_op *op,
			      enum ib_wr_opcode opcode, u32 segs, int flags)
{
	bare_fill_sge(bare, op, segs);
	op->qp = bare->qp[0];
	op->request.wr.wr_cqe = (struct ib_cqe *)&bare->cqe;
	op->request.wr.sg_list = op->sge;
	op->request.wr.num_sge = segs;
	op->request.wr.opcode = opcode;
	op->request.wr.send_flags = flags;
	op->request.remote_addr = bare->dma;
	op->request.rkey = bare->pd->unsafe_global_rkey;
}

static void bare_fill_recv(const struct bare *bare, struct bench_op *op, u32 segs)
{
	bare_fill_sge(bare, op, segs);
	op->qp = bare->qp[1];
	op->srq = bare->srq;
	op->recv.wr_cqe = (struct ib_cqe *)&bare->cqe;
	op->recv.sg_list = op->sge;
	op->recv.num_sge = segs;
}

static void bare_fill_side(struct bare *bare, const struct bench_spec *spec)
{
	static const enum ib_wr_opcode opcodes[] = {
		IB_WR_SEND, IB_WR_RDMA_WRITE, IB_WR_RDMA_READ
	};
	struct bench_side *side = &bare->side;
	int i;

	side->fn = bare_fn;
	side->recv_kind = bare->srq ? BENCH_SRQ_RECV : BENCH_RECV;
	for (i = BENCH_SEND; i <= BENCH_READ; i++) {
		bare_fill_request(bare, &side->op[i], opcodes[i], spec->segs, IB_SEND_SIGNALED);
		bare_fill_request(bare, &side->quiet[i], opcodes[i], spec->segs, 0);
	}
	bare_fill_recv(bare, &side->op[side->recv_kind], spec->segs);
}

/* ---- the pair ---------------------------------------------------------- */

/* The path to the port itself, by its first IPv4 address */
static int bare_path(struct ib_device *ibdev, struct rdma_ah_attr *ah)
{
	int i, n = ibdev->port_data[1].immutable.gid_tbl_len, ret = -ENOENT;
	const struct ib_gid_attr *gid;
	union ib_gid dgid;

	for (i = 0; i < n && ret == -ENOENT; i++) {
		gid = rdma_get_gid_attr(ibdev, 1, i);
		if (IS_ERR(gid))
			continue;
		if (gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((const struct in6_addr *)gid->gid.raw)) {
			dgid = gid->gid;
			ah->type = RDMA_AH_ATTR_TYPE_ROCE;
			rdma_ah_set_port_num(ah, 1);
			rdma_ah_set_grh(ah, &dgid, 0, gid->index, 1, 0);
			ret = rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
		}
		rdma_put_gid_attr(gid);
	}
	return ret;
}

static int bare_connect(struct ib_qp *qp, u32 dest)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = dest,
		.rq_psn = 1,
		.sq_psn = 1,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = BARE_RNR_TIMER,
		.timeout = 17,
		.retry_cnt = BARE_RETRY,
		.rnr_retry = BARE_RETRY,
	};
	int ret;

	ret = bare_path(qp->device, &attr.ah_attr);
	if (!ret)
		ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
				   IB_QP_ACCESS_FLAGS);
	attr.qp_state = IB_QPS_RTR;
	if (!ret)
		ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
				   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
				   IB_QP_MIN_RNR_TIMER);
	attr.qp_state = IB_QPS_RTS;
	if (!ret)
		ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				   IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
	return ret;
}

static int bare_make_qp(struct bare *bare, int i)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = BENCH_DEPTH,
			.max_recv_wr = BENCH_DEPTH,
			.max_send_sge = BENCH_MAX_SEGS,
			.max_recv_sge = BENCH_MAX_SEGS,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.srq = i ? bare->srq : NULL,
	};
	struct ib_device *ibdev = bare->pd->device;
	struct ib_cq *cq;
	struct ib_qp *qp;

	cq = ib_alloc_cq(ibdev, bare, 2 * BENCH_DEPTH, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	bare->cq[i] = cq;
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ib_create_qp(bare->pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	bare->qp[i] = qp;
	return 0;
}

static int bare_make_srq(struct bare *bare)
{
	struct ib_srq_init_attr init = {
		.attr = { .max_wr = BENCH_DEPTH, .max_sge = BENCH_MAX_SEGS },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq = ib_create_srq(bare->pd, &init);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	bare->srq = srq;
	return 0;
}

static int bare_make(struct bare *bare, struct ib_device *ibdev, bool srq)
{
	struct ib_pd *pd;
	int ret = 0;

	/* The test runs on one host and accesses its own page only */
	pd = ib_alloc_pd(ibdev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	bare->pd = pd;
	bare->dma = ib_dma_map_single(ibdev, bare->page, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (srq)
		ret = bare_make_srq(bare);
	ret = ret ?: bare_make_qp(bare, 0) ?: bare_make_qp(bare, 1);
	return ret ?: bare_connect(bare->qp[0], bare->qp[1]->qp_num) ?:
	       bare_connect(bare->qp[1], bare->qp[0]->qp_num);
}

/**
 * bare_create - create the plain-verbs side
 * @ibdev: device
 * @spec:  what to measure
 *
 * Context: process, one at a time.
 * Return: the side, or ERR_PTR.
 */
struct bare *bare_create(struct ib_device *ibdev, const struct bench_spec *spec)
{
	struct bare *bare = kzalloc(sizeof(*bare), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!bare)
		return ERR_PTR(-ENOMEM);
	the_bare = bare;
	bare->cqe.done = bare_done_count;
	bare->page = (void *)get_zeroed_page(GFP_KERNEL);
	if (bare->page)
		ret = bare_make(bare, ibdev, spec->kind == BENCH_SRQ_RECV);
	if (ret) {
		bare_destroy(bare);
		return ERR_PTR(ret);
	}
	bare_fill_side(bare, spec);
	return bare;
}

/**
 * bare_destroy - undo bare_create()
 * @bare: the side, complete or not, nothing outstanding
 *
 * Context: process.
 */
void bare_destroy(struct bare *bare)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (bare->qp[i])
			ib_destroy_qp(bare->qp[i]);
		if (bare->cq[i])
			ib_free_cq(bare->cq[i]);
	}
	if (bare->srq)
		ib_destroy_srq(bare->srq);
	if (bare->pd) {
		ib_dma_unmap_single(bare->pd->device, bare->dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
		ib_dealloc_pd(bare->pd);
	}
	free_page((unsigned long)bare->page);
	kfree(bare);
}

/**
 * bare_side - the part of the side that measure.c uses
 * @bare: the side
 *
 * Context: any.
 * Return: the side.
 */
struct bench_side *bare_side(struct bare *bare)
{
	return &bare->side;
}

/**
 * bare_set_empty - select whether the done callbacks count completions
 * @bare:  the side, nothing outstanding
 * @empty: true if they do nothing
 *
 * Context: process.
 */
void bare_set_empty(struct bare *bare, bool empty)
{
	bare->cqe.done = empty ? bare_done_empty : bare_done_count;
}
