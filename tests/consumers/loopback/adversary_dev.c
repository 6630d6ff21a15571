// SPDX-License-Identifier: GPL-2.0
/*
 * What the device itself lets a hostile peer do, with plain verbs at both ends: neither
 * kDAPL nor the connection manager is involved. It shows what a Provider can guarantee,
 * and whether the device or the Provider breaks a guarantee. tests/rxe/README.rst has the
 * results for Soft-RoCE. Process context.
 */
#include <linux/jiffies.h>
#include <linux/scatterlist.h>
#include <linux/string.h>

#include "adversary.h"

#define AT	1024
#define LEN	64
#define RECV	1	/* numbers of requests */
#define REG	2
#define READS	4	/* outstanding at once */
#define READ_LEN 2000	/* two packets */
#define READ_BYTE 0x22
#define LATE_BYTE 0x33	/* written to the same place after the registration has ended */

/* Counts of observed events */
struct sightings {
	/* rounds in which a packet was copied after the invalidation */
	u32 writes;
	u32 reads;			/* the same for the data of a read */
	/* reads refused half-way whose requester did not recognize the refusal */
	u32 naks;
};

/* Two connections; each of the four ends has its own zone */
struct quad {
	struct loop_case *c;
	struct vpeer *a[2], *b[2];
};

static bool quad_make(struct quad *q, struct loop_run *run, struct loop_case *c)
{
	u32 i;

	*q = (struct quad) { .c = c };
	for (i = 0; i < 2; i++) {
		q->a[i] = vpeer_make(run, c);
		q->b[i] = vpeer_make(run, c);
		if (!q->a[i] || !q->b[i] || !vpeer_join(q->a[i], q->b[i]))
			return false;
	}
	return true;
}

static void quad_end(struct quad *q)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		if (q->a[i])
			vpeer_end(q->a[i]);
		if (q->b[i])
			vpeer_end(q->b[i]);
	}
	*q = (struct quad) { .c = q->c };
}

/* Registers all of its memory for the peer to write and read; NULL on failure */
static struct ib_mr *vpeer_register(struct vpeer *b)
{
	struct vpeer_req *r = vpeer_req(b, REG, IB_WR_REG_MR, 0, 0);
	struct scatterlist sg;
	struct ib_mr *mr;

	mr = ib_alloc_mr(b->pd, IB_MR_TYPE_MEM_REG, VPEER_MEM / PAGE_SIZE + 1);
	if (IS_ERR(mr)) {
		loop_fail(b->c, "ib_alloc_mr: %ld", PTR_ERR(mr));
		return NULL;
	}
	sg_init_table(&sg, 1);
	sg_dma_address(&sg) = b->dma;
	sg_dma_len(&sg) = VPEER_MEM;
	if (ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE) != 1)
		loop_fail(b->c, "ib_map_mr_sg");
	r->reg.mr = mr;
	r->reg.key = mr->rkey;
	r->reg.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ;
	if (!b->c->verdict.failures && vpeer_post(r) && vpeer_wait(r) != IB_WC_SUCCESS)
		loop_fail(b->c, "REG_MR: %d", r->status);
	if (!b->c->verdict.failures)
		return mr;
	ib_dereg_mr(mr);
	return NULL;
}

static enum ib_wc_status write_to(struct vpeer *from, const struct ib_mr *mr)
{
	return vpeer_rdma(from, IB_WR_RDMA_WRITE, mr->iova + AT, mr->rkey, LEN);
}

/* Sends a message that invalidates @key; returns its receive */
static struct vpeer_req *invalidate(struct quad *q, u32 key, u32 *status)
{
	struct vpeer_req *got = vpeer_recv(q->b[0], RECV, 0, LEN), *r;

	r = vpeer_req(q->a[0], 0, IB_WR_SEND_WITH_INV, 0, LEN);
	r->rdma.wr.ex.invalidate_rkey = key;
	*status = vpeer_post(r) ? vpeer_wait(r) : IB_WC_GENERAL_ERR;
	vpeer_wait(got);
	return got;
}

/*
 * A0 invalidates a registration of B1, to which it is not connected, and whose zone
 * differs from that of its own peer.
 */
static void foreign_key(struct quad *q)
{
	bool soft = q->b[0]->id->device->ops.driver_id == RDMA_DRIVER_RXE;
	struct ib_mr *mr = vpeer_register(q->b[1]);
	struct vpeer_req *got;
	bool dead = false;
	u32 status;

	if (!mr)
		return;
	if (!q->c->verdict.failures && write_to(q->a[1], mr) != IB_WC_SUCCESS)
		loop_fail(q->c, "valid key: expected status 0, got %d", q->a[1]->req[0].status);
	if (!q->c->verdict.failures && write_to(q->a[0], mr) == IB_WC_SUCCESS)
		loop_fail(q->c, "key of another zone: expected a refusal, the access succeeded");
	ib_dereg_mr(mr);
	if (q->c->verdict.failures)
		return;
	/* That connection is broken now, so the other attack uses a new one */
	vpeer_end(q->a[0]);
	vpeer_end(q->b[0]);
	q->b[0] = NULL;
	q->a[0] = vpeer_make(q->a[1]->run, q->c);
	if (!q->a[0])
		return;
	q->b[0] = vpeer_make(q->a[1]->run, q->c);
	mr = q->b[0] && vpeer_join(q->a[0], q->b[0]) ? vpeer_register(q->b[1]) : NULL;
	if (!mr)
		return;
	got = invalidate(q, mr->rkey, &status);
	if (!q->c->verdict.failures && got->status == IB_WC_SUCCESS) {
		if (!(got->flags & IB_WC_WITH_INVALIDATE) || status != IB_WC_SUCCESS)
			loop_fail(q->c, "receive flags %#x, send status %d", got->flags, status);
		dead = write_to(q->a[1], mr) != IB_WC_SUCCESS;
	}
	scnprintf(q->c->reason, sizeof(q->c->reason), "ends keys of any zone: %s",
		  dead ? "yes" : "no");
	if (!q->c->verdict.failures && soft && !dead)
		loop_fail(q->c, "Soft-RoCE: expected no check of the zone (tests/rxe/README.rst)");
	ib_dereg_mr(mr);
}

/* A key that does not exist: the receive fails, but the send succeeds */
static void unknown_key(struct quad *q)
{
	bool soft = q->b[0]->id->device->ops.driver_id == RDMA_DRIVER_RXE;
	struct vpeer_req *got;
	u32 status;

	got = invalidate(q, 0x5a5a5a00, &status);
	if (!q->c->verdict.failures && got->status == IB_WC_SUCCESS)
		loop_fail(q->c, "unknown key: expected the receive to fail, it succeeded");
	if (!q->c->verdict.failures && soft && status != IB_WC_SUCCESS)
		loop_fail(q->c, "unknown key: expected send status 0, got %d", status);
}

/*
 * A message that is too long. The receiver gets its completion first, and the sender gets
 * the answer after that: none if the receiver's QP is in the error state by then.
 */
static enum ib_wc_status too_long(struct quad *q, u32 pair, bool hold)
{
	struct vpeer_req *got = vpeer_recv(q->b[pair], RECV, 0, LEN), *r;
	enum ib_wc_status status;

	if (hold)
		vpeer_hold(q->b[pair]);
	r = vpeer_req(q->a[pair], 0, IB_WR_SEND, 0, LEN + 1);
	if (!vpeer_post(r))
		return IB_WC_GENERAL_ERR;
	if (hold && !vpeer_overtake(q->b[pair]))
		loop_fail(q->c, "message that is too long: its receive has not completed");
	status = vpeer_wait(r);
	vpeer_wait(got);
	if (got->status == IB_WC_SUCCESS || got->status == IB_WC_WR_FLUSH_ERR)
		loop_fail(q->c, "message that is too long: unexpected receive status %d",
			  got->status);
	if (status != IB_WC_REM_INV_REQ_ERR && status != IB_WC_REM_OP_ERR &&
	    !(hold && status == IB_WC_RETRY_EXC_ERR))
		loop_fail(q->c, "message that is too long: unexpected send status %d", status);
	return status;
}

/*
 * With a normal receiver, and with one that breaks the connection on its completion. A
 * handler that runs with interrupts off was called by the device with a lock held, so the
 * answer cannot have been sent before.
 */
static void kept_back(struct quad *q)
{
	bool soft = q->b[0]->id->device->ops.driver_id == RDMA_DRIVER_RXE, silent;

	too_long(q, 0, false);
	silent = too_long(q, 1, true) == IB_WC_RETRY_EXC_ERR;
	scnprintf(q->c->reason + strlen(q->c->reason),
		  sizeof(q->c->reason) - strlen(q->c->reason), "; keeps answers back: %s",
		  silent ? "yes" : "no");
	if (!q->c->verdict.failures && soft && q->b[1]->overtaken && !silent)
		loop_fail(q->c, "Soft-RoCE: expected no answer (tests/rxe/README.rst), got one");
}

/* The target of a wrong key sees its receives flushed, and nothing else */
static void silent_target(struct quad *q)
{
	struct vpeer_req *got = vpeer_recv(q->b[1], RECV, 0, LEN);
	enum ib_wc_status status;

	status = vpeer_rdma(q->a[1], IB_WR_RDMA_WRITE, AT, 0x5a5a5a00, LEN);
	if (status != IB_WC_REM_ACCESS_ERR)
		loop_fail(q->c, "unknown key: unexpected status %d of the request", status);
	if (vpeer_wait(got) != IB_WC_WR_FLUSH_ERR)
		loop_fail(q->c, "unknown key: unexpected status %d of the target's receive",
			  got->status);
}

bool adv_device_loses_buffers(struct loop_run *run, struct loop_case *c)
{
	struct vpeer *a = vpeer_make(run, c), *b = vpeer_make_srq(run, c);
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);
	struct vpeer_req *got, *r;
	bool lost = false;

	if (!a || !b || !vpeer_join(a, b))
		goto out;
	got = vpeer_recv(b, RECV, 0, VPEER_MEM);
	memset(a->mem, 0x11, VPEER_MEM);
	r = vpeer_req(a, 0, IB_WR_SEND, 0, 4096);
	r->sge[1] = r->sge[0];
	r->sge[1].lkey = ~0U;
	r->rdma.wr.num_sge = 2;
	if (vpeer_post(r) && vpeer_wait(r) == IB_WC_SUCCESS)
		loop_fail(c, "partial message: expected the send to fail, it succeeded");
	/* Until the last packet of the message has been copied */
	while (!c->verdict.failures && !READ_ONCE(run->abort) && !READ_ONCE(b->mem[4095])) {
		if (time_after(jiffies, deadline))
			loop_fail(c, "partial message: expected some bytes to arrive, got none");
		wait_for_completion_timeout(&run->wake, 1);
	}
	vpeer_die(b);
	if (completion_done(&got->done) && got->status == IB_WC_SUCCESS)
		loop_fail(c, "partial message: expected the receive to fail, it succeeded");
	lost = !completion_done(&got->done);
out:
	if (b)
		vpeer_end(b);
	if (a)
		vpeer_end(a);
	return lost;
}

static bool once_more(struct vpeer_req *r)
{
	return true;
}

/* Waits until the loop has done @rounds rounds, then invalidates the registration */
static void end_under(struct quad *q, struct vpeer_req *loop, u32 rounds, struct ib_mr *mr)
{
	struct vpeer_req *inv;
	u32 i;

	for (i = 0; READ_ONCE(loop->rounds) < rounds && i < 1000; i++)
		wait_for_completion_timeout(&q->b[1]->run->wake, 1);
	inv = vpeer_req(q->b[1], 3, IB_WR_LOCAL_INV, 0, 0);
	inv->rdma.wr.ex.invalidate_rkey = mr->rkey;
	/* Flushed: it has invalidated, and a request broke b before its completion */
	if (vpeer_post(inv) && vpeer_wait(inv) != IB_WC_SUCCESS &&
	    inv->status != IB_WC_WR_FLUSH_ERR)
		loop_fail(q->c, "LOCAL_INV: %d", inv->status);
}

/*
 * Writes in a loop until the registration ends. The device may have admitted a packet
 * before, and copies it after the invalidation completed. Returns whether that was seen.
 */
static bool late_packet(struct quad *q, u32 rounds)
{
	struct vpeer *a = q->a[1], *b = q->b[1];
	struct vpeer_req *loop;
	struct ib_mr *mr;
	bool late;

	mr = vpeer_register(b);
	if (!mr)
		return false;
	loop = vpeer_req(a, 0, IB_WR_RDMA_WRITE, 0, 4096);
	vpeer_aim(loop, mr->iova, mr->rkey);
	loop->again = once_more;
	memset(a->mem, 0x11, VPEER_MEM);
	vpeer_post(loop);
	end_under(q, loop, rounds, mr);
	memset(b->mem, 0, VPEER_MEM);
	if (vpeer_wait(loop) != IB_WC_REM_ACCESS_ERR)
		loop_fail(q->c, "writes after an invalidation: status %d", loop->status);
	late = memchr_inv(b->mem, 0, VPEER_MEM);
	ib_dereg_mr(mr);
	return late;
}

/* In softirq: repeat, unless the read completed with success without having the data */
static bool whole_once_more(struct vpeer_req *r)
{
	u8 *got = r->b->mem + r->sge[0].addr - r->b->dma;
	bool whole = !memchr_inv(got, READ_BYTE, READ_LEN);

	if (whole)
		memset(got, 0, READ_LEN);
	return whole;
}

/*
 * Reads of several packets in loops, until the registration ends. A refusal in the middle
 * of a read is reported, or the device does not recognize it: then it reports success, or
 * retries until its retry count is exceeded. A packet admitted before the invalidation
 * may also be filled after it, with the memory contents of that time.
 */
static void end_under_reads(struct quad *q, u32 rounds, struct sightings *seen)
{
	struct vpeer *a = q->a[1], *b = q->b[1];
	struct vpeer_req *loop[READS];
	enum ib_wc_status status;
	struct ib_mr *mr;
	u32 i;

	mr = vpeer_register(b);
	if (!mr)
		return;
	memset(a->mem, 0, VPEER_MEM);
	memset(b->mem, READ_BYTE, VPEER_MEM);
	for (i = 0; i < READS; i++) {
		loop[i] = vpeer_req(a, i, IB_WR_RDMA_READ, i * VPEER_MEM / READS, READ_LEN);
		vpeer_aim(loop[i], mr->iova, mr->rkey);
		loop[i]->again = whole_once_more;
	}
	for (i = 0; i < READS; i++)
		vpeer_post(loop[i]);
	end_under(q, loop[0], rounds, mr);
	memset(b->mem, LATE_BYTE, VPEER_MEM);
	for (i = 0; i < READS && !q->c->verdict.failures; i++) {
		status = vpeer_wait(loop[i]);
		if (status == IB_WC_SUCCESS || status == IB_WC_RETRY_EXC_ERR)
			seen->naks += !memchr(a->mem + i * VPEER_MEM / READS, LATE_BYTE, READ_LEN);
		else if (status != IB_WC_REM_ACCESS_ERR && status != IB_WC_WR_FLUSH_ERR)
			loop_fail(q->c, "reads after an invalidation: status %d", status);
	}
	seen->reads += !!memchr(a->mem, LATE_BYTE, VPEER_MEM);
	ib_dereg_mr(mr);
}

/**
 * loop_case_device - what the device lets a hostile peer do
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_device(struct loop_run *run, struct loop_case *c)
{
	u32 i, tries = run->args.brief ? 2 : 8;
	struct sightings seen = {};
	struct quad q;

	if (quad_make(&q, run, c)) {
		foreign_key(&q);
		if (!c->verdict.failures)
			unknown_key(&q);
	}
	quad_end(&q);
	if (!c->verdict.failures) {
		if (quad_make(&q, run, c))
			silent_target(&q);
		quad_end(&q);
	}
	if (!c->verdict.failures) {
		if (quad_make(&q, run, c))
			kept_back(&q);
		quad_end(&q);
	}
	for (i = 0; i < tries && !c->verdict.failures; i++) {
		if (quad_make(&q, run, c))
			seen.writes += late_packet(&q, i + 2);
		quad_end(&q);
		if (!c->verdict.failures && quad_make(&q, run, c))
			end_under_reads(&q, i + 2, &seen);
		quad_end(&q);
	}
	if (!c->verdict.failures && run->srq_supported)
		scnprintf(c->reason + strlen(c->reason), sizeof(c->reason) - strlen(c->reason),
			  "; loses SRQ buffers: %s",
			  adv_device_loses_buffers(run, c) ? "yes" : "no");
	scnprintf(c->reason + strlen(c->reason), sizeof(c->reason) - strlen(c->reason),
		  "; late packets in %u tries: %u written, %u read; NAKs misread: %u", tries,
		  seen.writes, seen.reads, seen.naks);
	return READ_ONCE(run->abort) ? -EINTR : 0;
}
