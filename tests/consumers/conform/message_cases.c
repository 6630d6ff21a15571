// SPDX-License-Identifier: GPL-2.0
/*
 * Cases about messages: data, lengths, keys of buffers, missing receives. Process context.
 */
#include <linux/string.h>
#include "conform.h"

static bool filled(struct cf_end *e, u32 off, u8 byte, u32 len)
{
	return !memchr_inv(e->mem + off, byte, len);
}

/* More than one packet, from several pages */
static void basic(struct cf *cf)
{
	struct ib_wc wc = {};

	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 3000))
		return;
	memset(cf->a.mem, 0x11, 2500);
	cf_send(&cf->a, 2, 2500, IB_SEND_SIGNALED);
	cf_say(cf, "%s", cf_wait(&cf->a));
	if (cf_next(&cf->b, &wc) && wc.opcode == IB_WC_RECV)
		cf_say(cf, "%u bytes", wc.byte_len);
	cf_say(cf, filled(&cf->b, CF_MEM / 2, 0x11, 2500) && !cf->b.mem[CF_MEM / 2 + 2500] ?
	       "all data" : "wrong data");
}

static void zero(struct cf *cf)
{
	struct ib_wc wc = {};

	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 0) || cf_send(&cf->a, 2, 0, IB_SEND_SIGNALED))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
	if (cf_next(&cf->b, &wc))
		cf_say(cf, "%s of %u bytes", cf_status(wc.status), wc.byte_len);
}

static void immediate(struct cf *cf)
{
	struct ib_send_wr *wr;
	struct ib_wc wc = {};

	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 8))
		return;
	wr = cf_wr(&cf->a, IB_WR_SEND_WITH_IMM, 8);
	wr->ex.imm_data = cpu_to_be32(77);
	cf_post(&cf->a, wr);
	if (cf_next(&cf->b, &wc) && (wc.wc_flags & IB_WC_WITH_IMM))
		cf_say(cf, "%u", be32_to_cpu(wc.ex.imm_data));
}

static void segments(struct cf *cf)
{
	struct ib_sge sge[3];
	struct ib_send_wr *wr;
	u32 i;

	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 3000))
		return;
	memset(cf->a.mem, 0x22, 3000);
	wr = cf_wr(&cf->a, IB_WR_SEND, 1000);
	for (i = 0; i < 3; i++) {
		sge[i] = wr->sg_list[0];
		sge[i].addr += 1000 * i;
	}
	sge[1].length = 1;
	wr->sg_list = sge;
	wr->num_sge = 3;
	cf_post(&cf->a, wr);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_wait(&cf->b);
	cf_say(cf, filled(&cf->b, CF_MEM / 2, 0x22, 2001) && !cf->b.mem[CF_MEM / 2 + 2001] ?
	       "all data" : "wrong data");
}

/* The completion of each end, and the responder's state */
static void tell_both(struct cf *cf)
{
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_wait(&cf->b));
	cf_say(cf, "%s", cf_get_state(&cf->b));
}

static void too_long(struct cf *cf)
{
	if (cf_ready(cf) && !cf_recv(&cf->b, 1, 8) &&
	    !cf_send(&cf->a, 2, 9, IB_SEND_SIGNALED))
		tell_both(cf);
}

static void bad_recv_key(struct cf *cf)
{
	if (cf_ready(cf) && !cf_recv_key(&cf->b, 1, 8, CF_BAD_KEY) &&
	    !cf_send(&cf->a, 2, 8, IB_SEND_SIGNALED))
		tell_both(cf);
}

static void bad_send_key(struct cf *cf)
{
	struct ib_send_wr *wr;

	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 8))
		return;
	wr = cf_wr(&cf->a, IB_WR_SEND, 8);
	wr->sg_list->lkey = CF_BAD_KEY;
	cf_post(&cf->a, wr);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_get_state(&cf->b));
}

static void rnr_exhausted(struct cf *cf)
{
	cf->setup.rnr_retry = 1;
	if (!cf_ready(cf) || cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_get_state(&cf->b));
}

static void rnr_waits(struct cf *cf)
{
	cf->setup.rnr_retry = 7;
	if (!cf_ready(cf) || cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED))
		return;
	cf_recv(&cf->b, 2, 8);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_wait(&cf->b));
}

/* The peer is in ERROR and answers nothing */
static void dead_peer(struct cf *cf)
{
	if (!cf_ready(cf) || cf_state(&cf->b, IB_QPS_ERR) ||
	    cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
}

static void first_error(struct cf *cf)
{
	cf->setup.rnr_retry = 1;
	if (!cf_ready(cf) || cf_send(&cf->a, 1, 8, 0) || cf_send(&cf->a, 2, 8, 0) ||
	    cf_send(&cf->a, 3, 8, IB_SEND_SIGNALED))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_wait(&cf->a));
}

static void rdma_write(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, IB_ACCESS_REMOTE_WRITE))
		return;
	memset(cf->a.mem, 0x33, 5000);
	cf_rdma(&cf->a, IB_WR_RDMA_WRITE, 1, cf->b.mr->iova + 100, cf->b.mr->rkey, 5000);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, !cf->b.mem[99] && filled(&cf->b, 100, 0x33, 5000) && !cf->b.mem[5100] ?
	       "all data" : "wrong data");
}

static void rdma_read(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, IB_ACCESS_REMOTE_READ))
		return;
	memset(cf->b.mem + 100, 0x44, 5000);
	cf_rdma(&cf->a, IB_WR_RDMA_READ, 1, cf->b.mr->iova + 100, cf->b.mr->rkey, 5000);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, filled(&cf->a, 0, 0x44, 5000) && !cf->a.mem[5000] ? "all data" : "wrong data");
}

/* More than the QP may have outstanding: the device waits */
static void many_reads(struct cf *cf)
{
	u32 i, good = 0;

	cf->setup.reads = 1;
	if (!cf_ready(cf) || !cf_register(&cf->b, IB_ACCESS_REMOTE_READ))
		return;
	for (i = 0; i < CF_DEPTH; i++)
		cf_rdma(&cf->a, IB_WR_RDMA_READ, i, cf->b.mr->iova, cf->b.mr->rkey, 3000);
	for (i = 0; i < CF_DEPTH; i++)
		good += !strcmp(cf_wait(&cf->a), "success");
	cf_say(cf, "%u", good);
}

/* A message with what a read brings */
static void fence(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, IB_ACCESS_REMOTE_READ) ||
	    cf_recv(&cf->b, 1, 3000))
		return;
	memset(cf->b.mem, 0x55, 3000);
	cf_rdma(&cf->a, IB_WR_RDMA_READ, 1, cf->b.mr->iova, cf->b.mr->rkey, 3000);
	cf_send(&cf->a, 2, 3000, IB_SEND_SIGNALED | IB_SEND_FENCE);
	cf_say(cf, "%s", cf_wait(&cf->b));
	cf_say(cf, filled(&cf->b, CF_MEM / 2, 0x55, 3000) ? "all data" : "old data");
}

/* The response to a read comes before the refusal of the request behind it */
static void read_before_error(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, IB_ACCESS_REMOTE_READ))
		return;
	memset(cf->b.mem, 0x66, 3000);
	cf_rdma(&cf->a, IB_WR_RDMA_READ, 1, cf->b.mr->iova, cf->b.mr->rkey, 3000);
	cf_rdma(&cf->a, IB_WR_RDMA_WRITE, 2, 0, CF_BAD_KEY, 8);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, filled(&cf->a, 0, 0x66, 3000) ? "all data" : "old data");
	cf_say(cf, "%s", cf_wait(&cf->a));
}

/* A read that the peer does not answer any more */
static void read_from_dead(struct cf *cf)
{
	if (!cf_ready(cf) || !cf_register(&cf->b, IB_ACCESS_REMOTE_READ) ||
	    cf_state(&cf->b, IB_QPS_ERR))
		return;
	cf_rdma(&cf->a, IB_WR_RDMA_READ, 1, cf->b.mr->iova, cf->b.mr->rkey, 8);
	cf_send(&cf->a, 2, 8, IB_SEND_SIGNALED);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%s", cf_wait(&cf->a));
}

/* A is connected, B is not: the packets that A sends are lost, and will be sent again */
static bool send_unheard(struct cf *cf, bool (*post)(struct cf *cf), u32 packets)
{
	cf->setup.b_later = true;
	cf->setup.rnr_retry = 7;
	cf->setup.timeout = 18;		/* 1 s */
	cf->setup.retries = 7;
	return cf_ready(cf) && post(cf) && cf_sent(&cf->a, packets);
}

static bool connect_peer_late(struct cf *cf)
{
	return cf_follow(cf) && !cf_recv(&cf->b, 1, 8);
}

/* A posts two requests, and sends so many packets of them twice */
static void send_twice(struct cf *cf, bool (*post)(struct cf *cf), u32 packets)
{
	const char *status;
	u32 i;

	for (i = 0; i < 5; i++) {
		if (!send_unheard(cf, post, packets) || !connect_peer_late(cf))
			return;
		status = cf_wait(&cf->a);
		/* On a very slow host, B may be connected after the last retry */
		if (strcmp(status, "RETRY_EXC"))
			break;
		cf_renew(cf);
	}
	cf_say(cf, "%s", status);
	/* A device that never sends the first request again does not complete the second one */
	if (!strcmp(status, "success"))
		cf_say(cf, "%s", cf_wait(&cf->a));
}

static bool post_fenced(struct cf *cf)
{
	return !cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED | IB_SEND_FENCE) &&
	       !cf_rdma(&cf->a, IB_WR_RDMA_READ, 2, 0, CF_BAD_KEY, 0);
}

/* A read is outstanding when the fenced message is sent again; it comes after the message */
static void lost_fence(struct cf *cf)
{
	send_twice(cf, post_fenced, 2);
}

static bool post_invalidation(struct cf *cf)
{
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED | IB_SEND_FENCE,
	};
	struct ib_send_wr *wr;

	if (!cf_register(&cf->a, 0))
		return false;
	wr = cf_wr(&cf->a, IB_WR_SEND, 8);
	wr->sg_list->lkey = cf->a.mr->lkey;
	wr->sg_list->addr = cf->a.mr->iova;
	inv.ex.invalidate_rkey = cf->a.mr->rkey;
	return !cf_post(&cf->a, wr) && !cf_post(&cf->a, &inv);
}

/*
 * The key of a message is invalidated behind it; the message needs it once more. A device that did
 * not wait would have invalidated it long before it sends again
 */
static void lost_key(struct cf *cf)
{
	send_twice(cf, post_invalidation, 1);
}

const struct cf_case cf_message_cases[] = {
	{ "send/data", basic, "9.4.1", "success, 2500 bytes, all data" },
	{ "send/no-data", zero, "9.4.1", "success, success of 0 bytes" },
	{ "send/immediate", immediate, "9.4.1", "77" },
	{ "send/segments", segments, "10.8.1", "success, all data" },
	{ "send/too-long", too_long, "9.9.3", "REM_INV_REQ, LOC_LEN, ERROR",
	  "REM_OP, LOC_QP_OP, ERROR" },
	{ "send/key-of-receive", bad_recv_key, "9.9.3", "REM_OP, LOC_PROT, ERROR",
	  "REM_OP, LOC_QP_OP, ERROR" },
	{ "send/key-of-send", bad_send_key, "9.9.2", "LOC_PROT, RTS",
	  "LOC_QP_OP, RTS|flushed, RTS" },
	{ "send/no-receive", rnr_exhausted, "9.7.5.2.8", "RNR_RETRY_EXC, RTS" },
	{ "send/late-receive", rnr_waits, "9.7.5.2.8", "success, success" },
	{ "send/dead-peer", dead_peer, "9.7.6.1.3", "RETRY_EXC" },
	{ "send/first-error", first_error, "10.8.6", "RNR_RETRY_EXC, flushed, flushed" },
	{ "write/data", rdma_write, "9.4.3", "success, all data" },
	{ "read/data", rdma_read, "9.4.4", "success, all data" },
	{ "read/outstanding", many_reads, "9.7.3.2", "8" },
	{ "read/fence", fence, "10.8.3.3", "success, all data" },
	{ "read/before-error", read_before_error, "9.5", "success, all data, REM_ACCESS" },
	{ "lost/fence", lost_fence, "10.8.3.3", "success, success", "no completion" },
	{ "lost/key", lost_key, "10.6.5.1", "success, success" },
	{ "read/dead-peer", read_from_dead, "9.7.6.1.3", "RETRY_EXC, flushed" },
	{ }
};
