// SPDX-License-Identifier: GPL-2.0
/*
 * Cases about memory regions and their keys: states, rights, ranges. Process context.
 */
#include <linux/dma-mapping.h>
#include <linux/string.h>
#include "conform.h"

#define RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

/* A accesses B's memory, with the wrong right, key or range */
static void refused(struct cf *cf, enum ib_wr_opcode op, u64 off, u32 key, u32 len)
{
	cf_rdma(&cf->a, op, 1, cf->b.mr->iova + off, key, len);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_get_state(&cf->b));
}

static void unknown_key(struct cf *cf)
{
	if (cf_ready(cf) && cf_register(&cf->b, RIGHTS))
		refused(cf, IB_WR_RDMA_WRITE, 0, CF_BAD_KEY, 8);
}

static void old_tag(struct cf *cf)
{
	if (cf_ready(cf) && cf_register(&cf->b, RIGHTS))
		refused(cf, IB_WR_RDMA_WRITE, 0, cf->b.mr->rkey ^ 1, 8);
}

static void no_write(struct cf *cf)
{
	if (cf_ready(cf) && cf_register(&cf->b, IB_ACCESS_REMOTE_READ))
		refused(cf, IB_WR_RDMA_WRITE, 0, cf->b.mr->rkey, 8);
}

static void no_read(struct cf *cf)
{
	if (cf_ready(cf) && cf_register(&cf->b, IB_ACCESS_REMOTE_WRITE))
		refused(cf, IB_WR_RDMA_READ, 0, cf->b.mr->rkey, 8);
}

static void beyond(struct cf *cf)
{
	if (cf_ready(cf) && cf_register(&cf->b, RIGHTS))
		refused(cf, IB_WR_RDMA_WRITE, CF_MEM - 7, cf->b.mr->rkey, 8);
}

static void before(struct cf *cf)
{
	if (cf_ready(cf) && cf_register(&cf->b, RIGHTS))
		refused(cf, IB_WR_RDMA_WRITE, -1, cf->b.mr->rkey, 8);
}

/* A's own region is in another domain than the QP of B, which is the responder */
static void other_pd(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->a, RIGHTS))
		return;
	cf_rdma(&cf->a, IB_WR_RDMA_WRITE, 1, cf->a.mr->iova, cf->a.mr->rkey, 8);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_get_state(&cf->b));
}

static void nothing(struct cf *cf)
{
	if (!cf_ready(cf))
		return;
	cf_rdma(&cf->a, IB_WR_RDMA_WRITE, 1, 0, CF_BAD_KEY, 0);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_rdma(&cf->a, IB_WR_RDMA_READ, 2, 0, CF_BAD_KEY, 0);
	cf_say(cf, "%s", cf_wait(&cf->a));
}

/* The QP has no right, the key has */
static void qp_right(struct cf *cf)
{
	if (cf_make(cf) && cf_connect(cf) && cf_register(&cf->b, RIGHTS))
		refused(cf, IB_WR_RDMA_WRITE, 0, cf->b.mr->rkey, 8);
}

static void invalidated(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, RIGHTS) ||
	    cf_invalidate(&cf->b, 1, cf->b.mr->rkey))
		return;
	cf_say(cf, "%s", cf_wait(&cf->b));
	refused(cf, IB_WR_RDMA_WRITE, 0, cf->b.mr->rkey, 8);
}

static void local_use(struct cf *cf)
{
	struct ib_send_wr *wr;

	if (!cf_ready(cf) || !cf_register(&cf->a, 0) ||
	    cf_invalidate(&cf->a, 1, cf->a.mr->lkey))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
	wr = cf_wr(&cf->a, IB_WR_SEND, 8);
	wr->sg_list->lkey = cf->a.mr->lkey;
	cf_post(&cf->a, wr);
	cf_say(cf, "%s", cf_wait(&cf->a));
}

/* A registration, then one with another key, and data by it */
static void again(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, RIGHTS) ||
	    cf_invalidate(&cf->b, 1, cf->b.mr->rkey))
		return;
	cf_wait(&cf->b);
	ib_update_fast_reg_key(cf->b.mr, (cf->b.mr->rkey + 1) & 0xff);
	cf_reg_mr(&cf->b, 2, cf->b.mr->rkey, IB_ACCESS_LOCAL_WRITE | RIGHTS);
	cf_say(cf, "%s", cf_wait(&cf->b));
	refused(cf, IB_WR_RDMA_WRITE, 0, cf->b.mr->rkey, 8);
}

static void same_key(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, RIGHTS) ||
	    cf_invalidate(&cf->b, 1, cf->b.mr->rkey))
		return;
	cf_wait(&cf->b);
	cf_reg_mr(&cf->b, 2, cf->b.mr->rkey, IB_ACCESS_LOCAL_WRITE | RIGHTS);
	cf_say(cf, "%s", cf_wait(&cf->b));
}

static void still_valid(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, RIGHTS))
		return;
	cf_reg_mr(&cf->b, 1, cf->b.mr->rkey + 1, IB_ACCESS_LOCAL_WRITE | RIGHTS);
	cf_say(cf, "%s", cf_wait(&cf->b));
	cf_say(cf, "%s", cf_get_state(&cf->b));
}

static void remote_only(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, 0) ||
	    cf_invalidate(&cf->b, 1, cf->b.mr->rkey))
		return;
	cf_wait(&cf->b);
	ib_update_fast_reg_key(cf->b.mr, (cf->b.mr->rkey + 1) & 0xff);
	cf_reg_mr(&cf->b, 2, cf->b.mr->rkey, IB_ACCESS_REMOTE_WRITE);
	cf_say(cf, "%s", cf_wait(&cf->b));
}

static void twice(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, RIGHTS))
		return;
	cf_invalidate(&cf->b, 1, cf->b.mr->rkey);
	cf_say(cf, "%s", cf_wait(&cf->b));
	cf_invalidate(&cf->b, 2, cf->b.mr->rkey);
	cf_say(cf, "%s", cf_wait(&cf->b));
}

static void invalidate_unknown(struct cf *cf)
{
	if (!cf_ready(cf) || cf_invalidate(&cf->a, 1, CF_BAD_KEY))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_get_state(&cf->a));
}

static void send_with_invalidate(struct cf *cf, u32 key, struct ib_wc *wc)
{
	struct ib_send_wr *wr;

	cf_recv(&cf->b, 1, 8);
	wr = cf_wr(&cf->a, IB_WR_SEND_WITH_INV, 8);
	wr->ex.invalidate_rkey = key;
	cf_post(&cf->a, wr);
	cf_say(cf, "%s", cf_wait(&cf->a));
	if (cf_next(&cf->b, wc))
		cf_say(cf, "%s", cf_status(wc->status));
}

static void by_peer(struct cf *cf)
{
	struct ib_wc wc = {};

	if (!cf_ready(cf) || !cf_register(&cf->b, RIGHTS))
		return;
	send_with_invalidate(cf, cf->b.mr->rkey, &wc);
	cf_say(cf, wc.wc_flags & IB_WC_WITH_INVALIDATE ? "flag" : "no flag");
	refused(cf, IB_WR_RDMA_WRITE, 0, cf->b.mr->rkey, 8);
}

static void unknown_by_peer(struct cf *cf)
{
	struct ib_wc wc = {};

	if (cf_ready(cf))
		send_with_invalidate(cf, CF_BAD_KEY, &wc);
}

/* A registration on the same queue takes effect before the message behind it */
static void in_order(struct cf *cf)
{
	struct ib_send_wr *wr;

	if (!cf_ready(cf) || !cf_register(&cf->a, 0) || cf_recv(&cf->b, 1, 8) ||
	    cf_invalidate(&cf->a, 1, cf->a.mr->rkey))
		return;
	cf_wait(&cf->a);
	ib_update_fast_reg_key(cf->a.mr, (cf->a.mr->rkey + 1) & 0xff);
	cf_reg_mr(&cf->a, 2, cf->a.mr->rkey, IB_ACCESS_LOCAL_WRITE);
	wr = cf_wr(&cf->a, IB_WR_SEND, 8);
	wr->sg_list->lkey = cf->a.mr->lkey;
	wr->sg_list->addr = cf->a.mr->iova;
	cf_post(&cf->a, wr);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_wait(&cf->a));
}

/* A DMA address after its end */
static void unmapped(struct cf *cf)
{
	struct ib_send_wr *wr;

	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 8))
		return;
	wr = cf_wr(&cf->a, IB_WR_SEND, 8);
	cf_unmap(&cf->a);
	cf_post(&cf->a, wr);
	cf_say(cf, "%s", cf_wait(&cf->a));
}

/* The region is still valid, its memory is not mapped any more */
static void unmapped_region(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, RIGHTS))
		return;
	cf_unmap(&cf->b);
	refused(cf, IB_WR_RDMA_WRITE, 0, cf->b.mr->rkey, 8);
}

/* The same with immediate data: the receive that it takes completes, too */
static void unmapped_immediate(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, RIGHTS) || cf_recv(&cf->b, 1, 0))
		return;
	cf_unmap(&cf->b);
	cf_rdma(&cf->a, IB_WR_RDMA_WRITE_WITH_IMM, 1, cf->b.mr->iova, cf->b.mr->rkey, 8);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_wait(&cf->b));
	cf_say(cf, "%s", cf_get_state(&cf->b));
}

/* A sends to B; the memory of both is mapped for these directions only */
static void one_way(struct cf *cf, enum dma_data_direction a, enum dma_data_direction b)
{
	if (!cf_ready(cf))
		return;
	cf_unmap(&cf->a);
	cf_unmap(&cf->b);
	if (!cf_map(&cf->a, a) || !cf_map(&cf->b, b) || cf_recv(&cf->b, 1, 8) ||
	    cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
	if (a == DMA_TO_DEVICE)
		cf_say(cf, "%s", cf_wait(&cf->b));
}

static void right_direction(struct cf *cf)
{
	one_way(cf, DMA_TO_DEVICE, DMA_FROM_DEVICE);
}

static void send_from_device(struct cf *cf)
{
	one_way(cf, DMA_FROM_DEVICE, DMA_FROM_DEVICE);
}

static void receive_to_device(struct cf *cf)
{
	one_way(cf, DMA_TO_DEVICE, DMA_TO_DEVICE);
}

/* The key has all rights, the mapping of its memory has not */
static void remote_one_way(struct cf *cf, enum ib_wr_opcode op, enum dma_data_direction dir)
{
	if (!cf_ready(cf))
		return;
	cf_unmap(&cf->b);
	if (cf_map(&cf->b, dir) && cf_register(&cf->b, RIGHTS))
		refused(cf, op, 0, cf->b.mr->rkey, 8);
}

static void write_to_device(struct cf *cf)
{
	remote_one_way(cf, IB_WR_RDMA_WRITE, DMA_TO_DEVICE);
}

static void read_from_device(struct cf *cf)
{
	remote_one_way(cf, IB_WR_RDMA_READ, DMA_FROM_DEVICE);
}

const struct cf_case cf_memory_cases[] = {
	{ "key/unknown", unknown_key, "9.7.4.1.5", "REM_ACCESS, ERROR" },
	{ "key/other-tag", old_tag, "9.7.4.1.5", "REM_ACCESS, ERROR" },
	{ "key/no-remote-write", no_write, "9.7.4.1.5", "REM_ACCESS, ERROR" },
	{ "key/no-remote-read", no_read, "9.7.4.1.5", "REM_ACCESS, ERROR" },
	{ "key/beyond-the-end", beyond, "9.7.4.1.5", "REM_ACCESS, ERROR" },
	{ "key/before-the-begin", before, "9.7.4.1.5", "REM_ACCESS, ERROR" },
	{ "key/other-domain", other_pd, "10.6.3.5", "REM_ACCESS, ERROR" },
	{ "key/not-needed", nothing, "9.7.4.1.5", "success, success" },
	{ "key/right-of-queue-pair", qp_right, "9.9.3", "REM_INV_REQ, ERROR" },
	{ "region/invalidated", invalidated, "10.6.5", "success, REM_ACCESS, ERROR" },
	{ "region/local-use", local_use, "10.6.5", "success, LOC_PROT",
	  "success, LOC_QP_OP|success, flushed" },
	{ "region/registered-again", again, "10.6.5", "success, success, RTS" },
	{ "region/same-key", same_key, "10.6.3.4", "MW_BIND", "success" },
	{ "region/still-valid", still_valid, "10.6.5", "MW_BIND, ERROR",
	  "LOC_QP_OP, ERROR|flushed, ERROR" },
	{ "region/remote-write-only", remote_only, "10.6.3.1", "MW_BIND", "success" },
	{ "region/invalidated-twice", twice, "10.6.5", "success, MW_BIND", "success, success" },
	{ "region/invalidate-unknown", invalidate_unknown, "10.6.5", "MW_BIND, ERROR",
	  "LOC_QP_OP, ERROR|flushed, ERROR" },
	{ "region/invalidated-by-peer", by_peer, "9.4.1.1.3",
	  "success, success, flag, REM_ACCESS, ERROR" },
	{ "region/unknown-to-peer", unknown_by_peer, "9.4.1.1.3", "REM_ACCESS, REM_INV_REQ",
	  "success, REM_INV_REQ" },
	{ "region/in-order", in_order, "10.8.3", "success, success" },
	{ "memory/unmapped", unmapped, "10.6.6", "LOC_PROT", "success" },
	{ "memory/unmapped-region", unmapped_region, "10.6.6", "REM_ACCESS, ERROR",
	  "success, RTS" },
	{ "memory/unmapped-immediate", unmapped_immediate, "9.9.3.1.3",
	  "REM_ACCESS, LOC_ACCESS, ERROR", "success, success, RTS" },
	{ "direction/right", right_direction, "dma-api.rst", "success, success" },
	{ "direction/send", send_from_device, "dma-api.rst", "LOC_PROT", "success" },
	{ "direction/receive", receive_to_device, "dma-api.rst", "REM_OP, LOC_PROT",
	  "success, success" },
	{ "direction/remote-write", write_to_device, "dma-api.rst", "REM_ACCESS, ERROR",
	  "success, RTS" },
	{ "direction/remote-read", read_from_device, "dma-api.rst", "REM_ACCESS, ERROR",
	  "success, RTS" },
	{ }
};
