// SPDX-License-Identifier: GPL-2.0
/*
 * Abrupt disconnects in the loopback test. Queues are full when the connection is
 * disconnected. Every post must complete exactly once, with success or flushed;
 * suppressed successes have no event. After the disconnect one more post is made to each
 * queue: its flush comes after the events of all earlier posts, so no event can follow
 * it.
 */
#include "kdapl_loop.h"

#define DISC_DEPTH	32
#define STORM_MESSAGES	200		/* before the disconnect */

/* What is queued, or which side disconnects; in the order of add_disconnects(). */
enum disc {
	DISC_SEND, DISC_PEER, DISC_BOTH, DISC_WRITE, DISC_READ, DISC_SUPPRESS,
	DISC_MOVING, DISC_SRQ, DISC_STORM,
};

/* A send without a receive at the peer blocks the posts after it. */
static bool blocked(u32 variant)
{
	return variant == DISC_WRITE || variant == DISC_READ || variant == DISC_SUPPRESS;
}

static enum loop_kind request_kind(u32 variant, u32 i)
{
	static const enum loop_kind mix[] = { LOOP_K_WRITE, LOOP_K_READ, LOOP_K_SEND };

	if (variant == DISC_WRITE && i)
		return LOOP_K_WRITE;
	if (variant == DISC_READ && i)
		return LOOP_K_READ;
	if ((variant == DISC_SUPPRESS || variant == DISC_MOVING) && i)
		return mix[i % 3];
	return LOOP_K_SEND;
}

static DAT_COMPLETION_FLAGS request_flags(u32 variant, u32 i)
{
	if ((variant == DISC_SUPPRESS || variant == DISC_MOVING) && i % 5)
		return DAT_COMPLETION_SUPPRESS_FLAG;
	return DAT_COMPLETION_DEFAULT_FLAG;
}

static u32 peer_receives(u32 variant)
{
	if (blocked(variant))
		return 0;
	return variant == DISC_MOVING || variant == DISC_SRQ ? DISC_DEPTH : DISC_DEPTH / 2;
}

/* Fills the queues at once, while no completion is handled. */
static void fill(struct loop_fixture *fx, u32 variant)
{
	struct loop_side *a = &fx->a[0], *b = &fx->b[0];
	bool probe = fx->cfg.mode == LOOP_DEQUEUE;
	DAT_RETURN ret;
	u32 i;

	spin_lock_bh(&fx->lock);
	loop_post_recvs(b, peer_receives(variant), DAT_COMPLETION_DEFAULT_FLAG);
	loop_post_recvs(a, DISC_DEPTH, DAT_COMPLETION_DEFAULT_FLAG);
	if (variant != DISC_SRQ)
		loop_post_requests(b, LOOP_K_SEND, DISC_DEPTH, fx->cfg.size,
				   DAT_COMPLETION_DEFAULT_FLAG);
	for (i = 0; i < DISC_DEPTH; i++)
		if (!loop_post_requests(a, request_kind(variant, i), 1, fx->cfg.size,
					request_flags(variant, i)))
			break;
	/* Suppressed successes release their slots, whether the pump runs or not. */
	if (probe && variant != DISC_MOVING) {
		ret = loop_post_request(a, LOOP_K_SEND, fx->cfg.size,
					DAT_COMPLETION_DEFAULT_FLAG);
		if (loop_expect(fx->c, "request into a full queue", ret,
				DAT_INSUFFICIENT_RESOURCES))
			fx->c->full++;
	}
	spin_unlock_bh(&fx->lock);
}

static bool storm_moves(struct loop_fixture *fx)
{
	return fx->stop || fx->rx_done >= STORM_MESSAGES;
}

/* The pump runs without knowing of the disconnect, so its posts race with it. */
static int start_storm(struct loop_fixture *fx)
{
	fx->count = U32_MAX / 2;
	fx->window = U32_MAX;
	spin_lock_bh(&fx->lock);
	fx->pumping = true;
	loop_pump(fx);
	spin_unlock_bh(&fx->lock);
	return loop_wait(fx, storm_moves, LOOP_QUIET_MS);
}

static void pull(struct loop_fixture *fx, struct loop_side *s)
{
	loop_expect(fx->c, "dat_ep_disconnect",
		    dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

/* One post to each queue of a disconnected EP; retried if there is no room yet. */
static bool mark_side(struct loop_fixture *fx, struct loop_side *s)
{
	bool shared = s->rx == &fx->srq_rx;
	DAT_RETURN ret;

	if (s->marked)
		return true;
	if (s->own_rx.out >= DISC_DEPTH)
		return false;
	ret = loop_post_request(s, LOOP_K_SEND, fx->cfg.size, DAT_COMPLETION_DEFAULT_FLAG);
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
		return false;
	loop_expect(fx->c, "request after the disconnect", ret, DAT_SUCCESS);
	s->marked = true;
	if (!shared)
		loop_post_recvs(s, 1, DAT_COMPLETION_DEFAULT_FLAG);
	return true;
}

static bool marked(struct loop_fixture *fx)
{
	return mark_side(fx, &fx->a[0]) & mark_side(fx, &fx->b[0]);
}

static void check_srq(struct loop_fixture *fx)
{
	DAT_SRQ_PARAM param = {};

	if (!loop_expect(fx->c, "dat_srq_query",
			 dat_srq_query(fx->srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS))
		return;
	if (param.outstanding_dto_count != fx->srq_rx.out)
		loop_fail(fx->c, "SRQ has %d buffers outstanding, expected %u",
			  param.outstanding_dto_count, fx->srq_rx.out);
}

static void check_end(struct loop_fixture *fx, u32 variant)
{
	struct loop_side *a = &fx->a[0], *b = &fx->b[0];

	if (a->broken || b->broken)
		loop_fail(fx->c, "BROKEN at %s, expected DISCONNECTED",
			  a->broken ? "A" : "B");
	/* No post after the blocked send was executed. */
	if (blocked(variant) && a->tx.flushed != DISC_DEPTH + 1)
		loop_fail(fx->c, "%u requests flushed, expected %u", a->tx.flushed,
			  DISC_DEPTH + 1);
	if (variant == DISC_SRQ)
		check_srq(fx);
}

static int run_disc(struct loop_fixture *fx, u32 variant)
{
	int err = loop_fixture_connect(fx);

	if (err)
		return err;
	if (variant == DISC_STORM)
		err = start_storm(fx);
	else
		fill(fx, variant);
	spin_lock_bh(&fx->lock);
	fx->may_end = true;
	fx->may_flush = true;
	spin_unlock_bh(&fx->lock);
	if (variant != DISC_PEER)
		pull(fx, &fx->a[0]);
	if (variant == DISC_PEER || variant == DISC_BOTH)
		pull(fx, &fx->b[0]);
	if (!err)
		err = loop_wait(fx, loop_all_ended, LOOP_QUIET_MS);
	if (!err)
		err = loop_wait(fx, marked, LOOP_QUIET_MS);
	if (err == -ETIMEDOUT)
		loop_fail(fx->c, "timed out: %u end events at A, %u at B, marked %d and %d",
			  fx->a[0].ended, fx->b[0].ended, fx->a[0].marked,
			  fx->b[0].marked);
	if (!err)
		err = loop_fixture_settle(fx);
	if (!err)
		check_end(fx, variant);
	return err;
}

/**
 * loop_case_disc - disconnect abruptly while the queues are full
 * @run: the run
 * @c: the case; its variant says what is queued and which side disconnects
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_disc(struct loop_run *run, struct loop_case *c)
{
	static const enum loop_mode modes[] = { LOOP_UPCALL, LOOP_DEQUEUE };
	u32 i;
	int err = 0;

	for (i = 0; i < c->count && !err && !c->verdict.failures; i++) {
		struct loop_cfg cfg = {
			.op = c->op,
			.mode = modes[i % 2],
			.size = c->size,
			.segs = 1,
			.depth = DISC_DEPTH,
			.conns = 1,
			.both = true,
			.merged = i & 2,
		};
		struct loop_fixture *fx = loop_fixture_make(run, c, &cfg);

		if (!fx)
			return -EIO;
		err = run_disc(fx, c->variant);
		loop_fixture_end(fx);
	}
	loop_clauses(c, "G-02 G-27 S-31 S-33 R-27 R-28 R-29");
	if (c->variant == DISC_BOTH)
		loop_clauses(c, "C-41 C-48");
	else
		loop_clauses(c, "C-24 C-29 C-41");
	if (c->variant == DISC_SUPPRESS)
		loop_clauses(c, "S-16 G-32");
	if (c->variant == DISC_SRQ)
		loop_clauses(c, "Q-29 Q-30");
	return err;
}
