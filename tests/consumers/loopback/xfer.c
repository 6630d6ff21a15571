// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers of the loopback test: the pump, which keeps the queues full, and the case
 * that implements every row of the table "operation x size" and of the segment table.
 *
 * The pump runs whenever there is room: in the upcall of a completion, or in the work
 * item after a dequeue. It always runs under fx->lock.
 */
#include <linux/bitops.h>

#include "kdapl_loop.h"

static enum loop_kind op_kind(enum loop_op op)
{
	if (op == LOOP_WRITE)
		return LOOP_K_WRITE;
	return op == LOOP_READ ? LOOP_K_READ : LOOP_K_SEND;
}

static bool op_receives(enum loop_op op)
{
	return op == LOOP_SEND || op == LOOP_SRQ;
}

/* A full queue refuses one more post, which has no effect. */
static void probe_full(struct loop_fixture *fx, struct loop_side *s, bool recv)
{
	DAT_RETURN ret;

	if (recv)
		ret = loop_post_recv(s, DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = loop_post_request(s, op_kind(fx->cfg.op), fx->cfg.size,
					DAT_COMPLETION_DEFAULT_FLAG);
	if (loop_expect(fx->c, recv ? "receive above the queue depth" :
				       "request above the queue depth",
			ret, DAT_INSUFFICIENT_RESOURCES))
		fx->c->full++;
}

static void pump_receives(struct loop_fixture *fx)
{
	DAT_RETURN ret;

	while (!fx->stop && fx->rx_posted < fx->count) {
		struct loop_side *s = &fx->b[fx->rx_posted % fx->nsides];

		if (s->rx->out == loop_depth(fx, s->rx))
			break;
		ret = loop_post_recv(s, DAT_COMPLETION_DEFAULT_FLAG);
		if (!loop_expect(fx->c, "posting a receive", ret, DAT_SUCCESS)) {
			fx->stop = true;
			break;
		}
		fx->rx_posted++;
	}
}

static DAT_COMPLETION_FLAGS pump_flags(struct loop_fixture *fx)
{
	u32 n = fx->posted + 1;

	if (fx->signal_every > 1 && n % fx->signal_every && n != fx->count)
		return DAT_COMPLETION_SUPPRESS_FLAG;
	return DAT_COMPLETION_DEFAULT_FLAG;
}

/**
 * loop_pump - post as much as the queues have room for
 * @fx: the fixture
 *
 * Context: under fx->lock.
 */
void loop_pump(struct loop_fixture *fx)
{
	struct loop_side *s;
	DAT_RETURN ret;

	if (op_receives(fx->cfg.op))
		pump_receives(fx);
	while (!fx->stop && fx->posted < fx->count) {
		s = &fx->a[fx->posted % fx->nsides];
		if (fx->window_out == fx->window || s->tx.out == fx->cfg.depth)
			break;
		/* Never more messages than receives, so that no send needs RNR retries. */
		if (op_receives(fx->cfg.op) && fx->posted == fx->rx_posted)
			break;
		ret = loop_post_request(s, op_kind(fx->cfg.op), fx->cfg.size,
					pump_flags(fx));
		/* An EP that is disconnecting refuses requests. */
		if ((fx->may_end && DAT_GET_TYPE(ret) == DAT_INVALID_STATE) ||
		    !loop_expect(fx->c, "posting a request", ret, DAT_SUCCESS)) {
			fx->stop = true;
			break;
		}
		fx->posted++;
		fx->window_out++;
		if (fx->probe_full && s->tx.out == fx->cfg.depth) {
			fx->probe_full = false;
			probe_full(fx, s, false);
		}
	}
}

static bool pump_done(struct loop_fixture *fx)
{
	return fx->stop || (fx->tx_done == fx->count && fx->rx_done == fx->count);
}

static void note_stall(struct loop_fixture *fx)
{
	u32 i;

	loop_fail(fx->c, "stalled: no event for %u s; %u of %u posted, %u done, %u arrived",
		  LOOP_QUIET_MS * test_stretch() / 1000, fx->posted, fx->count,
		  fx->tx_done, fx->rx_done);
	spin_lock_bh(&fx->lock);
	for (i = 0; i < fx->nsides; i++) {
		test_posts_missing(&fx->a[i].tx);
		test_posts_missing(&fx->b[i].own_rx);
	}
	test_posts_missing(&fx->srq_rx);
	spin_unlock_bh(&fx->lock);
}

/* Posts the first receives, before or after the connection is established. */
static void start_receives(struct loop_fixture *fx)
{
	spin_lock_bh(&fx->lock);
	fx->pumping = true;
	if (op_receives(fx->cfg.op)) {
		pump_receives(fx);
		if (fx->b[0].rx->out == loop_depth(fx, fx->b[0].rx))
			probe_full(fx, &fx->b[0], true);
	}
	spin_unlock_bh(&fx->lock);
}

static int run_pump(struct loop_fixture *fx)
{
	int err;

	spin_lock_bh(&fx->lock);
	loop_pump(fx);
	spin_unlock_bh(&fx->lock);
	err = loop_wait(fx, pump_done, LOOP_QUIET_MS);
	if (err == -ETIMEDOUT)
		note_stall(fx);
	spin_lock_bh(&fx->lock);
	fx->pumping = false;
	spin_unlock_bh(&fx->lock);
	return err;
}

/* A chain makes every post but the first in an upcall. */
static void check_chain(struct loop_fixture *fx, u32 before)
{
	struct loop_case *c = fx->c;

	if (c->window == 1 && fx->cfg.mode == LOOP_UPCALL && !c->verdict.failures &&
	    c->upcall_posts - before < fx->count - 1)
		loop_fail(c, "%u of %u requests were posted in an upcall",
			  c->upcall_posts - before, fx->count - 1);
}

static int xfer_phase(struct loop_run *run, struct loop_case *c,
		      enum loop_mode mode, u32 count)
{
	struct loop_cfg cfg = {
		.op = c->op,
		.mode = mode,
		.size = c->size,
		.segs = loop_case_segs(run, c),
		.depth = c->depth,
		.conns = c->conns,
		.merged = mode != LOOP_UPCALL,
		.physical = c->physical,
	};
	u32 upcall_posts = c->upcall_posts;
	struct loop_fixture *fx;
	int err;

	fx = loop_fixture_make(run, c, &cfg);
	if (!fx)
		return -EIO;
	fx->count = count;
	fx->window = c->window ?: U32_MAX;
	fx->signal_every = c->signal_every;
	fx->probe_full = mode != LOOP_UPCALL && c->signal_every <= 1 && !c->window;
	if (mode == LOOP_UPCALL)
		start_receives(fx);
	err = loop_fixture_connect(fx);
	if (!err) {
		if (mode != LOOP_UPCALL)
			start_receives(fx);
		err = run_pump(fx);
		check_chain(fx, upcall_posts);
		loop_fixture_disconnect(fx, mode == LOOP_UPCALL ? DAT_CLOSE_GRACEFUL_FLAG :
							       DAT_CLOSE_ABRUPT_FLAG);
	}
	if (!err && fx->probe_full && !c->verdict.failures && count > c->depth)
		loop_fail(c, "expected the request queue to become full, it did not");
	loop_fixture_end(fx);
	return err;
}

/* The clauses tested by the accounting and the byte checks of a transfer. */
static void xfer_clauses(struct loop_case *c)
{
	static const struct {
		const char *all, *scattered, *empty, *suppressed;
	} ids[LOOP_OPS] = {
		[LOOP_SEND] = {
			"S-01 S-03 S-11 S-13 S-30 S-43 S-50 R-01 R-10 R-41 G-28",
			"S-02 S-49 R-02 R-03 R-04 R-43", "S-05 S-07 S-08", "S-15",
		},
		[LOOP_WRITE] = {
			"W-01 W-04 W-12 W-13 W-19 W-22 W-35", "W-02 W-34", "", "W-14",
		},
		[LOOP_READ] = { "D-01 D-07 D-10", "D-02", "D-05", "D-08" },
		[LOOP_SRQ] = { "Q-01 Q-05 Q-06 Q-16 Q-22", "Q-02", "Q-04", "" },
	};

	loop_clauses(c, "G-02 G-03 G-11 G-27");
	loop_clauses(c, ids[c->op].all);
	if (c->segs != 1)
		loop_clauses(c, ids[c->op].scattered);
	if (!c->size)
		loop_clauses(c, ids[c->op].empty);
	if (c->signal_every > 1)
		loop_clauses(c, ids[c->op].suppressed);
	if (c->conns > 1)
		loop_clauses(c, "Q-12");
	if (c->window == 1)
		loop_clauses(c, "G-07 G-09");
}

/**
 * loop_case_xfer - transfer messages from A to B
 * @run: the run
 * @c: the case: operation, size, count, segments, modes
 *
 * The messages are divided among the modes of the case, each with a new fixture. In one
 * mode completions arrive by upcall, and the upcall posts; in the others they are
 * dequeued.
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_xfer(struct loop_run *run, struct loop_case *c)
{
	u32 modes = c->modes, left = c->count;
	int err;

	while (modes) {
		u32 mode = modes & -modes;
		u32 n = left / hweight32(modes);

		modes &= ~mode;
		left -= n;
		if (!n)
			continue;
		err = xfer_phase(run, c, mode, n);
		if (err || c->verdict.failures)
			return err;
	}
	xfer_clauses(c);
	return 0;
}
