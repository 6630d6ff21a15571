// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers of the loopback harness: the pump, which keeps the queues full by
 * itself, and the case that every row of the table "operation x size" and the
 * segment sweep are made of.
 *
 * The pump runs wherever room appears: in the upcall of a completion, or in
 * the work item behind a dequeue. Always under rig->lock.
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

/* A queue that is full refuses one more, and nothing comes of it. */
static void probe_full(struct loop_rig *rig, struct loop_side *s, bool recv)
{
	DAT_RETURN ret;

	if (recv)
		ret = loop_post_recv(s, DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = loop_post_request(s, op_kind(rig->cfg.op), rig->cfg.size,
					DAT_COMPLETION_DEFAULT_FLAG);
	if (loop_expect(rig->c, recv ? "receive above the queue depth" :
				       "request above the queue depth",
			ret, DAT_INSUFFICIENT_RESOURCES))
		rig->c->full++;
}

static void pump_receives(struct loop_rig *rig)
{
	DAT_RETURN ret;

	while (!rig->stop && rig->rx_posted < rig->count) {
		struct loop_side *s = &rig->b[rig->rx_posted % rig->nsides];

		if (s->rx->out == s->rx->depth)
			break;
		ret = loop_post_recv(s, DAT_COMPLETION_DEFAULT_FLAG);
		if (!loop_expect(rig->c, "posting a receive", ret, DAT_SUCCESS)) {
			rig->stop = true;
			break;
		}
		rig->rx_posted++;
	}
}

static DAT_COMPLETION_FLAGS pump_flags(struct loop_rig *rig)
{
	u32 n = rig->posted + 1;

	if (rig->signal_every > 1 && n % rig->signal_every && n != rig->count)
		return DAT_COMPLETION_SUPPRESS_FLAG;
	return DAT_COMPLETION_DEFAULT_FLAG;
}

/**
 * loop_pump - post as much as there is room for
 * @rig: the rig
 *
 * Context: under rig->lock.
 */
void loop_pump(struct loop_rig *rig)
{
	struct loop_side *s;
	DAT_RETURN ret;

	if (op_receives(rig->cfg.op))
		pump_receives(rig);
	while (!rig->stop && rig->posted < rig->count) {
		s = &rig->a[rig->posted % rig->nsides];
		if (rig->window_out == rig->window || s->tx.out == s->tx.depth)
			break;
		/* Never more messages than receives: nobody waits for retries. */
		if (op_receives(rig->cfg.op) && rig->posted == rig->rx_posted)
			break;
		ret = loop_post_request(s, op_kind(rig->cfg.op), rig->cfg.size,
					pump_flags(rig));
		/* On its way down the EP takes no more requests. */
		if ((rig->may_end && DAT_GET_TYPE(ret) == DAT_INVALID_STATE) ||
		    !loop_expect(rig->c, "posting a request", ret, DAT_SUCCESS)) {
			rig->stop = true;
			break;
		}
		rig->posted++;
		rig->window_out++;
		if (rig->probe_full && s->tx.out == s->tx.depth) {
			rig->probe_full = false;
			probe_full(rig, s, false);
		}
	}
}

static bool pump_done(struct loop_rig *rig)
{
	return rig->stop || (rig->tx_done == rig->count && rig->rx_done == rig->count);
}

static void note_stall(struct loop_rig *rig)
{
	u32 i;

	loop_fail(rig->c, "stalled: no event for %u s; %u of %u posted, %u done, %u arrived",
		  LOOP_QUIET_MS * loop_stretch() / 1000, rig->posted, rig->count,
		  rig->tx_done, rig->rx_done);
	spin_lock_bh(&rig->lock);
	for (i = 0; i < rig->nsides; i++) {
		loop_queue_missing(rig, &rig->a[i].tx);
		loop_queue_missing(rig, &rig->b[i].own_rx);
	}
	loop_queue_missing(rig, &rig->srq_rx);
	spin_unlock_bh(&rig->lock);
}

/* The first receives: before the connection exists, or behind it. */
static void start_receives(struct loop_rig *rig)
{
	spin_lock_bh(&rig->lock);
	rig->pumping = true;
	if (op_receives(rig->cfg.op)) {
		pump_receives(rig);
		if (rig->b[0].rx->out == rig->b[0].rx->depth)
			probe_full(rig, &rig->b[0], true);
	}
	spin_unlock_bh(&rig->lock);
}

static int run_pump(struct loop_rig *rig)
{
	int err;

	spin_lock_bh(&rig->lock);
	loop_pump(rig);
	spin_unlock_bh(&rig->lock);
	err = loop_wait(rig, pump_done, LOOP_QUIET_MS);
	if (err == -ETIMEDOUT)
		note_stall(rig);
	spin_lock_bh(&rig->lock);
	rig->pumping = false;
	spin_unlock_bh(&rig->lock);
	return err;
}

/* What a chain promises: every post but the first was made in an upcall. */
static void check_chain(struct loop_rig *rig, u32 before)
{
	struct loop_case *c = rig->c;

	if (c->window == 1 && rig->cfg.mode == LOOP_UPCALL && !c->fails &&
	    c->upcall_posts - before < rig->count - 1)
		loop_fail(c, "%u of %u requests were posted in an upcall",
			  c->upcall_posts - before, rig->count - 1);
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
	struct loop_rig *rig;
	int err;

	rig = loop_rig_make(run, c, &cfg);
	if (!rig)
		return -EIO;
	rig->count = count;
	rig->window = c->window ?: U32_MAX;
	rig->signal_every = c->signal_every;
	rig->probe_full = mode != LOOP_UPCALL && c->signal_every <= 1 && !c->window;
	if (mode == LOOP_UPCALL)
		start_receives(rig);
	err = loop_rig_connect(rig);
	if (!err) {
		if (mode != LOOP_UPCALL)
			start_receives(rig);
		err = run_pump(rig);
		check_chain(rig, upcall_posts);
		loop_rig_disconnect(rig, mode == LOOP_UPCALL ? DAT_CLOSE_GRACEFUL_FLAG :
							       DAT_CLOSE_ABRUPT_FLAG);
	}
	if (!err && rig->probe_full && !c->fails && count > c->depth)
		loop_fail(c, "the request queue was never full");
	loop_rig_end(rig);
	return err;
}

/* What the ledger and the byte checks of a transfer have seen to. */
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
 * loop_case_xfer - move messages from A to B
 * @run: the run
 * @c: the case: operation, size, count, segments, modes
 *
 * The messages are shared out among the modes of the case, each with a rig of
 * its own: in one completions come by upcall, and the upcall posts; in another
 * they are dequeued.
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
		if (err || c->fails)
			return err;
	}
	xfer_clauses(c);
	return 0;
}
