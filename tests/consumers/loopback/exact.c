// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test about single bytes: which bytes a message changes and
 * which not, empty messages, RDMA of other sizes than the buffer, and vectors changed
 * right after the call. Process context.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "conn_pair.h"

/* With several messages at once, one upcall may announce more than one event. */
static void to_a_and_b(struct pair *d, u64 cookie, u32 len)
{
	pair_dto(&d->b[0], DAT_DTO_RECEIVE, cookie, DAT_DTO_SUCCESS, len, PAIR_ANY_UPCALL);
	pair_dto(&d->a[0], DAT_DTO_SEND, cookie, DAT_DTO_SUCCESS, len, PAIR_ANY_UPCALL);
}

/* A receive whose vector is overwritten as soon as the call returns (G-04). */
static void scattered_recv(struct pair_end *b, u32 l0, u32 l1, u32 l2, u64 cookie)
{
	DAT_LMR_TRIPLET iov[PAIR_SEGS] = {
		pair_seg(b, 100, l0), { .segment_length = 0 }, pair_seg(b, 200, l1),
		pair_seg(b, 300, l2),
	};

	iov[1].virtual_address = 0xdead0000beefULL;
	iov[1].lmr_context = ~0U;
	pair_clear(b);
	pair_recv(b, PAIR_SEGS, iov, cookie, 0);
	memset(iov, 0xff, sizeof(iov));
}

static void fill_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];

	pair_fill(a, 0, 64, 9);
	/* The message ends with the second segment that has bytes. */
	scattered_recv(b, 8, 8, 8, 1);
	pair_send1(a, 0, 16, 1, 0);
	to_a_and_b(d, 1, 16);
	pair_expect_free(b, "in front", 0, 100);
	pair_expect_bytes(b, "first segment", 100, 8, 9);
	pair_expect_free(b, "in between", 108, 92);
	pair_expect_bytes(b, "second segment", 200, 8, 9 + 8 * 7);
	pair_expect_free(b, "after the message", 208, PAIR_MEM - 208);
	/* The message ends within it. */
	scattered_recv(b, 8, 8, 8, 2);
	pair_send1(a, 0, 11, 2, 0);
	to_a_and_b(d, 2, 11);
	pair_expect_bytes(b, "full segment", 100, 8, 9);
	pair_expect_bytes(b, "partial segment", 200, 3, 9 + 8 * 7);
	pair_expect_free(b, "rest of the partial segment", 203, PAIR_MEM - 203);
	/* One byte stays in the first segment. */
	scattered_recv(b, 8, 8, 8, 3);
	pair_send1(a, 0, 1, 3, 0);
	to_a_and_b(d, 3, 1);
	pair_expect_bytes(b, "first byte", 100, 1, 9);
	pair_expect_free(b, "all others", 101, PAIR_MEM - 101);
	pair_expect_no_event(d, "three messages");
}

/* Empty messages, various cookies, triplets after the count. */
static void zero_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_LMR_TRIPLET none[PAIR_SEGS], one[PAIR_SEGS];
	u32 i;

	memset(none, 0xff, sizeof(none));
	memset(one, 0xff, sizeof(one));
	for (i = 0; i < PAIR_SEGS; i++)
		none[i].segment_length = 0;
	one[0] = pair_seg(a, 0, 4);
	pair_clear(b);
	pair_fill(a, 0, 8, 33);
	for (i = 0; i < 3; i++)
		pair_recv1(b, 64 * i, 8, 7, 0);
	pair_recv(b, 0, NULL, 0, 0);
	pair_send(a, 0, NULL, 7, 0);
	pair_send(a, 0, (DAT_LMR_TRIPLET *)0x10, 7, 0);
	pair_send(a, PAIR_SEGS, none, 7, 0);
	pair_send(a, 0, NULL, 0, 0);
	for (i = 0; i < 3; i++)
		to_a_and_b(d, 7, 0);
	to_a_and_b(d, 0, 0);
	pair_expect_free(b, "messages of nothing", 0, PAIR_MEM);
	pair_recv1(b, 0, 8, ~0ULL, 0);
	pair_send(a, 1, one, ~0ULL, 0);
	to_a_and_b(d, ~0ULL, 4);
	pair_expect_bytes(b, "one of several triplets", 0, 4, 33);
	pair_expect_free(b, "after it", 4, PAIR_MEM - 4);
	pair_expect_no_event(d, "messages of nothing");
}

/**
 * loop_case_fill - which bytes of a receive a message fills
 * @run: the run
 * @c: the case; op LOOP_SRQ: receives of an SRQ
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_fill(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = { .srq = c->op == LOOP_SRQ };
	int err = pair_play(run, c, &cfg, fill_script);

	if (!err)
		err = pair_play(run, c, &cfg, zero_script);
	if (cfg.srq) {
		loop_clauses(c, "Q-02 Q-04 Q-05 Q-06 Q-36");
		return err;
	}
	loop_clauses(c, "R-01 R-02 R-03 R-04 R-05 R-06 R-07 R-09 R-10");
	loop_clauses(c, "S-01 S-04 S-05 S-06 S-07 S-08 S-29 G-11 G-12 G-13 G-14 G-15");
	return err;
}

static void write_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_RMR_TRIPLET to = pair_target(b, 1000, 40), nowhere = pair_target(b, 0, 0);
	DAT_LMR_TRIPLET iov[PAIR_SEGS];

	pair_fill(a, 100, 10, 50);
	pair_fill(a, 301, 11, 50 + 10 * 7);
	memset(iov, 0xff, sizeof(iov));
	iov[0] = pair_seg(a, 100, 10);
	iov[1] = pair_seg(a, 301, 11);
	pair_write(a, 2, iov, 1, &to, 0);
	pair_dto(a, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS, 21, PAIR_UPCALL);
	pair_expect_free(b, "before the write", 0, 1000);
	pair_expect_bytes(b, "the write", 1000, 21, 50);
	pair_expect_free(b, "after the write", 1021, PAIR_MEM - 1021);
	/* Nothing is written, so the address is not checked. */
	nowhere.rmr_context = ~0U;
	pair_write(a, 0, NULL, 2, &nowhere, 0);
	pair_dto(a, DAT_DTO_RDMA_WRITE, 2, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	pair_settle(d, 50);
	pair_expect_no_event(d, "two writes");
	pair_expect_state(a, DAT_EP_STATE_CONNECTED);
}

static void read_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_RMR_TRIPLET from = pair_target(b, 77, 11), nothing = pair_target(b, 0, 0);
	DAT_LMR_TRIPLET iov[PAIR_SEGS] = {
		pair_seg(a, 100, 8), { .segment_length = 0 }, pair_seg(a, 200, 8),
		pair_seg(a, 300, 8),
	};

	pair_clear(a);
	pair_fill(b, 77, 30, 120);
	/* The buffer has room for 24 bytes; the triplet says 11. */
	pair_read(a, PAIR_SEGS, iov, 1, &from, 0);
	pair_dto(a, DAT_DTO_RDMA_READ, 1, DAT_DTO_SUCCESS, 11, PAIR_UPCALL);
	pair_expect_bytes(a, "full segment", 100, 8, 120);
	pair_expect_bytes(a, "partial segment", 200, 3, 120 + 8 * 7);
	pair_expect_free(a, "in front", 0, 100);
	pair_expect_free(a, "in between", 108, 92);
	pair_expect_free(a, "rest of the partial segment", 203, PAIR_MEM - 203);
	pair_clear(a);
	pair_read(a, 0, NULL, 0, &nothing, 0);
	pair_dto(a, DAT_DTO_RDMA_READ, 0, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	pair_read(a, PAIR_SEGS, iov, 3, &nothing, 0);
	pair_dto(a, DAT_DTO_RDMA_READ, 3, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	pair_expect_free(a, "reads of nothing", 0, PAIR_MEM);
	pair_expect_no_event(d, "three reads");
}

/* More reads than the two that may be outstanding. */
static void many_reads_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_RMR_TRIPLET from;
	DAT_LMR_TRIPLET seg;
	u32 i;

	pair_clear(a);
	pair_fill(b, 0, PAIR_MEM, 3);
	for (i = 0; i < PAIR_DEPTH; i++) {
		from = pair_target(b, i * 300, 300);
		seg = pair_seg(a, i * 300, 300);
		pair_read(a, 1, &seg, i, &from, 0);
	}
	for (i = 0; i < PAIR_DEPTH; i++)
		pair_dto(a, DAT_DTO_RDMA_READ, i, DAT_DTO_SUCCESS, 300, PAIR_ANY_UPCALL);
	pair_expect_bytes(a, "reads", 0, PAIR_DEPTH * 300, 3);
	pair_expect_free(a, "after them", PAIR_DEPTH * 300, PAIR_MEM - PAIR_DEPTH * 300);
}

/* The write targets the source of the read, and must not overtake it. */
static void fence_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_RMR_TRIPLET target = pair_target(b, 0, 4000);
	DAT_LMR_TRIPLET in = pair_seg(a, 0, 4000), out = pair_seg(a, 4096, 4000);
	u32 i;

	for (i = 0; i < 20 && pair_ok(d); i++) {
		pair_fill(b, 0, 4000, i);
		pair_fill(a, 4096, 4000, i + 100);
		pair_read(a, 1, &in, 1, &target, 0);
		pair_write(a, 1, &out, 2, &target, DAT_COMPLETION_BARRIER_FENCE_FLAG);
		pair_dto(a, DAT_DTO_RDMA_READ, 1, DAT_DTO_SUCCESS, 4000, PAIR_ANY_UPCALL);
		pair_dto(a, DAT_DTO_RDMA_WRITE, 2, DAT_DTO_SUCCESS, 4000, PAIR_ANY_UPCALL);
		pair_expect_bytes(a, "read before a fenced write", 0, 4000, i);
		pair_expect_bytes(b, "fenced write", 0, 4000, i + 100);
	}
}

/*
 * A fenced request sends the data that the preceding read has fetched: without the
 * fence the device would send the previous contents of the buffer. The order at the
 * target alone would prove nothing, because a responder works in order anyway.
 */
static void fence_takes_what_was_read(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_RMR_TRIPLET from = pair_target(b, 0, 4000), to = pair_target(b, 4096, 4000);
	DAT_LMR_TRIPLET seg = pair_seg(a, 0, 4000);
	u32 i;

	for (i = 0; i < 20 && pair_ok(d); i++) {
		pair_clear(b);
		pair_fill(b, 0, 4000, i);
		pair_fill(a, 0, 4000, i + 100);
		if (i & 1)
			pair_recv1(b, 4096, 4000, 3, 0);
		pair_read(a, 1, &seg, 1, &from, 0);
		if (i & 1)
			pair_send(a, 1, &seg, 2, DAT_COMPLETION_BARRIER_FENCE_FLAG);
		else
			pair_write(a, 1, &seg, 2, &to, DAT_COMPLETION_BARRIER_FENCE_FLAG);
		pair_dto(a, DAT_DTO_RDMA_READ, 1, DAT_DTO_SUCCESS, 4000, PAIR_ANY_UPCALL);
		pair_dto(a, i & 1 ? DAT_DTO_SEND : DAT_DTO_RDMA_WRITE, 2, DAT_DTO_SUCCESS, 4000,
			 PAIR_ANY_UPCALL);
		if (i & 1)
			pair_dto(b, DAT_DTO_RECEIVE, 3, DAT_DTO_SUCCESS, 4000, PAIR_ANY_UPCALL);
		pair_expect_bytes(a, "read before the fence", 0, 4000, i);
		pair_expect_bytes(b, i & 1 ? "fenced send of what was read" :
				  "fenced write of what was read", 4096, 4000, i);
	}
}

/**
 * loop_case_rdma - writes and reads, checked byte by byte
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_rdma(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {}, few = { .reads_out = 2 };
	int err;

	err = pair_play(run, c, &cfg, write_script);
	if (!err)
		err = pair_play(run, c, &cfg, read_script);
	if (!err)
		err = pair_play(run, c, &few, many_reads_script);
	if (!err)
		err = pair_play(run, c, &cfg, fence_script);
	if (!err)
		err = pair_play(run, c, &cfg, fence_takes_what_was_read);
	loop_clauses(c, "S-25 W-01 W-02 W-03 W-04 W-07 W-13 W-17 W-19 W-35");
	loop_clauses(c, "D-01 D-02 D-03 D-05 D-07 D-10 D-11 D-16");
	return err;
}

/*
 * Nothing can be sent before B has a receive, so all requests are still queued when the
 * vectors and the remote triplets change.
 */
static void handed_back_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_LMR_TRIPLET send[2] = { pair_seg(a, 0, 32), pair_seg(a, 64, 32) };
	DAT_LMR_TRIPLET write = pair_seg(a, 0, 32), read = pair_seg(a, 1024, 32);
	DAT_RMR_TRIPLET to = pair_target(b, 1024, 32), from = pair_target(b, 2048, 32);

	pair_fill(a, 0, 32, 1);
	pair_fill(a, 64, 32, 1 + 32 * 7);
	pair_fill(a, 512, 128, 77);
	pair_fill(b, 2048, 32, 200);
	pair_send(a, 2, send, 1, 0);
	pair_write(a, 1, &write, 2, &to, 0);
	pair_read(a, 1, &read, 3, &from, 0);
	/* These are also valid, for other memory: using them late would not be refused. */
	send[0] = pair_seg(a, 512, 32);
	send[1] = pair_seg(a, 576, 32);
	write = pair_seg(a, 512, 32);
	read = pair_seg(a, 4096, 32);
	to = pair_target(b, 4096, 32);
	from = pair_target(b, 512, 32);
	/* S-47: none of them completes, however long it takes. */
	pair_settle(d, 400);
	pair_expect_no_event(d, "a send without a receive");
	pair_expect_state(a, DAT_EP_STATE_CONNECTED);
	pair_expect_free(b, "a send without a receive", 0, 2048);
	pair_recv1(b, 0, 64, 1, 0);
	to_a_and_b(d, 1, 64);
	pair_dto(a, DAT_DTO_RDMA_WRITE, 2, DAT_DTO_SUCCESS, 32, PAIR_ANY_UPCALL);
	pair_dto(a, DAT_DTO_RDMA_READ, 3, DAT_DTO_SUCCESS, 32, PAIR_ANY_UPCALL);
	pair_expect_bytes(b, "the send", 0, 64, 1);
	pair_expect_bytes(b, "the write", 1024, 32, 1);
	pair_expect_bytes(a, "the read", 1024, 32, 200);
	pair_expect_free(a, "another target of the read", 4096, 32);
	pair_expect_free(b, "another target of the write", 4096, 32);
}

/* With limited retries the send of either side ends, and the connection with it. */
static void unready(struct pair_end *from, struct pair_end *to)
{
	pair_send1(from, 0, 32, 1, 0);
	pair_dto(from, DAT_DTO_SEND, 1, DAT_DTO_ERR_RECEIVER_NOT_READY, 0, PAIR_UPCALL);
	pair_ended(from, true);
	pair_ended(to, false);
}

static void unready_script(struct pair *d)
{
	unready(&d->a[0], &d->b[0]);
}

static void unready_passive_script(struct pair *d)
{
	unready(&d->b[0], &d->a[0]);
}

/* A graceful disconnect that must wait, and the posts during that time. */
static void pending_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_LMR_TRIPLET seg = pair_seg(a, 0, 16);
	DAT_RMR_TRIPLET to = pair_target(b, 1024, 16);
	DAT_DTO_COOKIE none = { .as_64 = 0 };
	struct loop_case *c = d->c;

	pair_fill(a, 0, 16, 5);
	pair_recv1(a, 100, 16, 10, 0);
	pair_send(a, 1, &seg, 1, 0);
	loop_expect(c, "dat_ep_disconnect",
		    dat_ep_disconnect(a->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	pair_expect_state(a, DAT_EP_STATE_DISCONNECT_PENDING);
	loop_expect(c, "send in DISCONNECT_PENDING",
		    dat_ep_post_send(a->ep, 1, &seg, none, 0), DAT_INVALID_STATE);
	loop_expect(c, "write in DISCONNECT_PENDING",
		    dat_ep_post_rdma_write(a->ep, 1, &seg, none, &to, 0), DAT_INVALID_STATE);
	loop_expect(c, "read in DISCONNECT_PENDING",
		    dat_ep_post_rdma_read(a->ep, 1, &seg, none, &to, 0), DAT_INVALID_STATE);
	pair_recv1(a, 200, 16, 11, 0);
	pair_expect_no_event(d, "a graceful disconnect that waits");
	pair_recv1(b, 0, 16, 1, 0);
	to_a_and_b(d, 1, 16);
	pair_expect_bytes(b, "the last message", 0, 16, 5);
	pair_ended(a, false);
	pair_ended(b, false);
	pair_dto(a, DAT_DTO_RECEIVE, 10, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_dto(a, DAT_DTO_RECEIVE, 11, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	/* DISCONNECTED: flushed at once, suppressed or not, and in order. */
	pair_send(a, 1, &seg, 20, 0);
	pair_send(a, 1, &seg, 21, DAT_COMPLETION_SUPPRESS_FLAG);
	pair_write(a, 1, &seg, 22, &to, DAT_COMPLETION_SUPPRESS_FLAG);
	pair_read(a, 1, &seg, 23, &to, 0);
	pair_recv1(a, 100, 16, 24, 0);
	pair_dto(a, DAT_DTO_SEND, 20, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_dto(a, DAT_DTO_SEND, 21, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	pair_dto(a, DAT_DTO_RDMA_WRITE, 22, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	pair_dto(a, DAT_DTO_RDMA_READ, 23, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	pair_dto(a, DAT_DTO_RECEIVE, 24, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_expect_free(b, "a write that was flushed", 1024, 16);
	pair_expect_bytes(a, "the target of a read that was flushed", 0, 16, 5);
	pair_expect_no_event(d, "the end");
}

/**
 * loop_case_waiting - posts that must wait, and what happens meanwhile
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_waiting(struct loop_run *run, struct loop_case *c)
{
	DAT_PROVIDER_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	struct pair_cfg cfg = {};
	int err;

	if (!attr)
		return -ENOMEM;
	loop_expect(c, "dat_ia_query",
		    dat_ia_query(run->t.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_IOV_OWNERSHIP, attr),
		    DAT_SUCCESS);
	if (attr->iov_ownership_on_return != DAT_IOV_CONSUMER)
		loop_fail(c, "iov_ownership_on_return is %d", attr->iov_ownership_on_return);
	kfree(attr);
	err = pair_play(run, c, &cfg, handed_back_script);
	if (!err)
		err = pair_play(run, c, &cfg, pending_script);
	cfg.rnr = "1";
	if (!err)
		err = pair_play(run, c, &cfg, unready_script);
	if (!err)
		err = pair_play(run, c, &cfg, unready_passive_script);
	loop_clauses(c, "G-04 W-10 S-47 S-36 W-24 D-12 R-26 R-29");
	loop_clauses(c, "S-31 S-32 S-33 W-23 R-27 R-28 G-32");
	return err;
}
