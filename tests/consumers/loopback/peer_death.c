// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test with a plain-verbs peer (verbs_peer.h) that dies without a
 * disconnect, or accesses memory without permission. Process context.
 */
#include <linux/ktime.h>
#include <linux/string.h>

#include "verbs_peer.h"

/* Where waiting takes no time, longer than the device retries */
#define IDLE_MS		(loop_exact ? 2500 : 100)
#define SENDS		4

/* ---- peer death ------------------------------------------------------------- */

/* An EP without outstanding requests does not notice; an EP that posts does (C-61). */
static void idle_then_post(struct pair *d, bool graceful)
{
	struct vpeer *peer = vpeer_meet(&d->b[0]);
	struct pair_end *b = &d->b[0];
	u64 i;

	if (!peer)
		return;
	pair_recv1(b, 0, 16, 1, 0);
	vpeer_die(peer);
	pair_settle(d, IDLE_MS);
	pair_expect_no_event(d, "a peer that is gone, unnoticed");
	pair_expect_state(b, DAT_EP_STATE_CONNECTED);
	for (i = 2; i < 2 + SENDS; i++)
		pair_send1(b, 0, 16, i, 0);
	if (graceful)
		loop_expect(d->c, "dat_ep_disconnect",
			    dat_ep_disconnect(b->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	pair_dto(b, DAT_DTO_SEND, 2, DAT_DTO_ERR_TRANSPORT, 0, PAIR_UPCALL);
	for (i = 3; i < 2 + SENDS; i++)
		pair_dto(b, DAT_DTO_SEND, i, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	pair_ended(b, true);
	pair_dto(b, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_settle(d, 50);
	pair_expect_no_event(d, "a peer that is gone");
	vpeer_end(peer);
	loop_expect(d->c, "dat_ep_reset", dat_ep_reset(b->ep), DAT_SUCCESS);
}

/* An abrupt disconnect does not wait for the peer (C-56). */
static s64 leave_nobody(struct pair *d)
{
	struct vpeer *peer = vpeer_meet(&d->b[0]);
	struct pair_end *b = &d->b[0];
	s64 begin, took = 0;
	u64 i;

	if (!peer)
		return 0;
	pair_recv1(b, 0, 16, 1, 0);
	vpeer_die(peer);
	for (i = 2; i < 2 + SENDS; i++)
		pair_send1(b, 0, 16, i, 0);
	begin = ktime_to_ms(ktime_get());
	loop_expect(d->c, "dat_ep_disconnect", dat_ep_disconnect(b->ep, DAT_CLOSE_ABRUPT_FLAG),
		    DAT_SUCCESS);
	pair_conn(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	took = loop_expect_abrupt(d->c, begin);
	pair_expect_state(b, DAT_EP_STATE_DISCONNECTED);
	for (i = 2; i < 2 + SENDS; i++)
		pair_dto(b, DAT_DTO_SEND, i, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	pair_dto(b, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_settle(d, 50);
	pair_expect_no_event(d, "an abrupt disconnect from nobody");
	vpeer_end(peer);
	loop_expect(d->c, "dat_ep_reset", dat_ep_reset(b->ep), DAT_SUCCESS);
	return took;
}

/**
 * loop_case_gone - peers that die without a disconnect
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_gone(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	struct pair *d;
	s64 took;

	loop_clauses(c, loop_exact ? "C-24 C-30 C-41 C-56 C-61 G-31" :
					"C-24 C-30 C-41 C-61 G-31");
	d = pair_make(run, c, &cfg);
	if (!d)
		return -EIO;
	took = leave_nobody(d);
	if (pair_ok(d))
		idle_then_post(d, false);
	if (pair_ok(d) && !run->args.brief)
		idle_then_post(d, true);
	scnprintf(c->reason, sizeof(c->reason), "abrupt disconnect from nobody: %lld ms", took);
	pair_end(d);
	return 0;
}

/* ---- more than was granted (C-52) --------------------------------------------- */

struct grab {
	const char *name;
	enum ib_wr_opcode op;
	bool no_reads;		/* B's EP allows no reads */
	bool granted;
};

static const struct grab grabs[] = {
	{ "a write", IB_WR_RDMA_WRITE, false, true },
	{ "a write where nobody may read", IB_WR_RDMA_WRITE, true, true },
	{ "a read", IB_WR_RDMA_READ, false, true },
	{ "a read where nobody may", IB_WR_RDMA_READ, true, false },
	{ "fetch and add", IB_WR_ATOMIC_FETCH_AND_ADD, false, false },
	{ "compare and swap", IB_WR_ATOMIC_CMP_AND_SWP, false, false },
};

#define GRAB_AT		1024
#define GRAB_LEN	8

static void expect_grabbed(struct pair *d, struct vpeer *peer, const struct grab *g)
{
	struct pair_end *b = &d->b[0];
	bool changed = memchr_inv(peer->mem, 0x11, VPEER_MEM);

	pair_expect_free(b, g->name, 0, GRAB_AT);
	pair_expect_free(b, g->name, GRAB_AT + GRAB_LEN, PAIR_MEM - GRAB_AT - GRAB_LEN);
	if (g->granted && g->op == IB_WR_RDMA_WRITE) {
		if (memchr_inv(b->mem + GRAB_AT, 0x11, GRAB_LEN))
			loop_fail(d->c, "%s: expected it to arrive, it did not", g->name);
		return;
	}
	pair_expect_free(b, g->name, GRAB_AT, GRAB_LEN);
	if (changed != g->granted)
		loop_fail(d->c, "%s: the peer's memory has %schanged", g->name,
			  changed ? "" : "not ");
}

static void try_grab(struct pair *d, const struct grab *g)
{
	struct pair_end *b = &d->b[0];
	enum ib_wc_status status;
	struct vpeer *peer;

	pair_recv1(b, 0, 16, 1, 0);
	peer = vpeer_meet(&d->b[0]);
	if (!peer)
		return;
	memset(peer->mem, 0x11, VPEER_MEM);
	/* The region has every privilege, so it is the EP that limits */
	status = vpeer_rdma(peer, g->op, (uintptr_t)b->mem + GRAB_AT, b->key, GRAB_LEN);
	if (g->granted ? status != IB_WC_SUCCESS : status == IB_WC_SUCCESS)
		loop_fail(d->c, "%s: status %d", g->name, status);
	expect_grabbed(d, peer, g);
	if (g->granted)
		pair_expect_state(b, DAT_EP_STATE_CONNECTED);
	else
		pair_ended(b, false);
	vpeer_end(peer);
}

/**
 * loop_case_grabs - a peer that accesses memory without permission
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_grabs(struct loop_run *run, struct loop_case *c)
{
	u32 i;

	loop_clauses(c, "C-52 C-15");
	for (i = 0; i < ARRAY_SIZE(grabs) && !c->verdict.failures; i++) {
		struct pair_cfg cfg = { .no_reads_in = grabs[i].no_reads };
		struct pair *d = pair_make(run, c, &cfg);

		if (!d)
			return -EIO;
		try_grab(d, &grabs[i]);
		pair_end(d);
	}
	return 0;
}
