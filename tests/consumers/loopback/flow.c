// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of the loopback test about order and queue space: receives posted before the
 * connection exists, full queues, writes that are visible after a send, and EPs that are
 * reused. Process context.
 */
#include "kdapl_loop.h"

static struct loop_fixture *make_fixture(struct loop_run *run, struct loop_case *c,
					 enum loop_mode mode, bool merged)
{
	struct loop_cfg cfg = {
		.op = c->op,
		.mode = mode,
		.size = c->size,
		.segs = 1,
		.depth = c->depth,
		.conns = 1,
		.both = true,
		.merged = merged,
	};

	return loop_fixture_make(run, c, &cfg);
}

static int wait_back(struct loop_fixture *fx, bool (*done)(struct loop_fixture *fx))
{
	int err = loop_wait(fx, done, LOOP_QUIET_MS);

	if (err != -ETIMEDOUT)
		return err;
	spin_lock_bh(&fx->lock);
	loop_fail(fx->c, "stalled: no event for %u s",
		  LOOP_QUIET_MS * test_stretch() / 1000);
	test_posts_missing(&fx->a[0].tx);
	test_posts_missing(fx->b[0].rx);
	spin_unlock_bh(&fx->lock);
	return err;
}

static bool eager_done(struct loop_fixture *fx)
{
	return fx->a[0].established && fx->b[0].established && loop_all_back(fx) &&
	       !fx->srq_rx.out;
}

static int parked_round(struct loop_run *run, struct loop_case *c,
			enum loop_mode mode, bool merged)
{
	struct loop_fixture *fx = make_fixture(run, c, mode, merged);
	int err;

	if (!fx)
		return -EIO;
	spin_lock_bh(&fx->lock);
	loop_expect(c, "send in UNCONNECTED",
		    loop_post_request(&fx->a[0], LOOP_K_SEND, c->size,
				      DAT_COMPLETION_DEFAULT_FLAG), DAT_INVALID_STATE);
	loop_post_recvs(&fx->b[0], c->depth, DAT_COMPLETION_DEFAULT_FLAG);
	fx->eager = c->depth;
	spin_unlock_bh(&fx->lock);
	err = loop_fixture_connect(fx);
	if (!err)
		err = wait_back(fx, eager_done);
	if (!err)
		err = loop_fixture_disconnect(fx, DAT_CLOSE_GRACEFUL_FLAG);
	loop_fixture_end(fx);
	return err;
}

/**
 * loop_case_parked - receives posted before the connection exists
 * @run: the run
 * @c: the case
 *
 * A sends in its ESTABLISHED event, so messages can reach B before B has that event. On
 * one EVD no completion may precede ESTABLISHED.
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_parked(struct loop_run *run, struct loop_case *c)
{
	u32 i;
	int err = 0;

	for (i = 0; i < c->count && !err && !c->verdict.failures; i++)
		err = parked_round(run, c, i & 1 ? LOOP_DEQUEUE : LOOP_UPCALL, i & 2);
	loop_clauses(c, c->op == LOOP_SRQ ? "Q-12 Q-18 Q-28" : "R-23 R-24 R-25 G-28 S-34");
	return err;
}

/* Posts until refused; returns the number of posts accepted. */
static u32 post_until_full(struct loop_side *s, enum loop_kind kind, u32 limit)
{
	struct loop_case *c = s->fx->c;
	DAT_RETURN ret = DAT_SUCCESS;
	u32 n;

	for (n = 0; n <= limit; n++) {
		if (kind == LOOP_K_RECV)
			ret = loop_post_recv(s, DAT_COMPLETION_DEFAULT_FLAG);
		else
			ret = loop_post_request(s, kind, s->fx->cfg.size,
						DAT_COMPLETION_DEFAULT_FLAG);
		if (ret != DAT_SUCCESS)
			break;
	}
	if (loop_expect(c, "post into a full queue", ret, DAT_INSUFFICIENT_RESOURCES))
		c->full++;
	return n;
}

static bool dequeue_exactly(struct loop_fixture *fx, struct loop_evd *evd, u32 n)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);

	for (;;) {
		n -= loop_drain(fx, evd, n);
		if (!n)
			return true;
		if (READ_ONCE(fx->run->abort))
			return false;
		if (time_after(jiffies, deadline)) {
			loop_fail(fx->c, "%u events did not come", n);
			return false;
		}
		wait_for_completion_timeout(&fx->run->wake, HZ / 10);
	}
}

/* A full queue accepts as many new posts as events were dequeued. */
static void full_rounds(struct loop_fixture *fx, struct loop_side *s, enum loop_kind kind)
{
	struct loop_evd *evd = kind == LOOP_K_RECV ? s->recv : s->req;
	u32 depth = loop_depth(fx, kind == LOOP_K_RECV ? s->rx : &s->tx);
	u32 n, room;

	spin_lock_bh(&fx->lock);
	room = post_until_full(s, kind, depth);
	if (room != depth)
		loop_fail(fx->c, "queue of %u entries: %u posts succeeded", depth, room);
	/* The posts at the other side let these complete. */
	if (kind == LOOP_K_SEND)
		loop_post_recvs(s->peer, depth, DAT_COMPLETION_DEFAULT_FLAG);
	if (kind == LOOP_K_RECV)
		loop_post_requests(s->peer, LOOP_K_SEND, fx->cfg.depth, fx->cfg.size,
				   DAT_COMPLETION_DEFAULT_FLAG);
	spin_unlock_bh(&fx->lock);
	for (n = 1; n < fx->cfg.depth; n += 2) {
		if (!dequeue_exactly(fx, evd, n))
			return;
		/* Keep the other side able to continue. */
		if (kind == LOOP_K_SEND && !dequeue_exactly(fx, s->peer->recv, n))
			return;
		if (kind == LOOP_K_RECV && !dequeue_exactly(fx, s->peer->req, n))
			return;
		spin_lock_bh(&fx->lock);
		if (kind == LOOP_K_SEND)
			loop_post_recvs(s->peer, n, DAT_COMPLETION_DEFAULT_FLAG);
		room = post_until_full(s, kind, depth);
		if (room != n)
			loop_fail(fx->c, "%u events delivered, but room for %u posts", n, room);
		if (kind == LOOP_K_RECV)
			loop_post_requests(s->peer, LOOP_K_SEND, n, fx->cfg.size,
					   DAT_COMPLETION_DEFAULT_FLAG);
		spin_unlock_bh(&fx->lock);
	}
}

static bool requests_back(struct loop_fixture *fx)
{
	return loop_all_back(fx) && !fx->srq_rx.out;
}

/**
 * loop_case_full - a full queue refuses one more post and loses nothing
 * @run: the run
 * @c: the case; its variant is the kind of post
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_full(struct loop_run *run, struct loop_case *c)
{
	static const char * const ids[] = { "S-37", "W-25", "D-21", "R-35" };
	enum loop_kind kind = c->variant;
	struct loop_fixture *fx = make_fixture(run, c, LOOP_DEQUEUE, false);
	struct loop_side *s;
	u32 i;
	int err;

	if (!fx)
		return -EIO;
	s = kind == LOOP_K_RECV ? &fx->b[0] : &fx->a[0];
	err = loop_fixture_connect(fx);
	if (!err) {
		full_rounds(fx, s, kind);
		/* Some notifications were consumed here, so check every EVD once. */
		for (i = 0; i < fx->nevds; i++)
			loop_drain(fx, &fx->evd[i], U32_MAX);
		err = wait_back(fx, requests_back);
	}
	if (!err)
		err = loop_fixture_disconnect(fx, DAT_CLOSE_ABRUPT_FLAG);
	loop_fixture_end(fx);
	loop_clauses(c, "G-25 G-26");
	loop_clauses(c, c->op == LOOP_SRQ ? "Q-24" : ids[kind]);
	return err;
}

/* The targets of the writes of a round, by message number of the send. */
static struct {
	struct loop_slot *slot;
	u64 key;
	u32 len;
} written[LOOP_DEPTH];

static void visible_recv(struct loop_fixture *fx, struct loop_side *s, u32 msg)
{
	struct loop_diff d;
	u32 i = msg % ARRAY_SIZE(written);

	if (!loop_slot_check(written[i].slot, written[i].key, written[i].len, &d))
		loop_fail(fx->c, "write %u before a send: %s at %u is %#04x, expected %#04x",
			  msg, d.what, d.at, d.got, d.want);
}

static void write_and_send(struct loop_fixture *fx, struct loop_side *a)
{
	struct loop_post *p;
	u32 i;

	if (!loop_post_requests(a, LOOP_K_WRITE, 1, fx->cfg.size,
				DAT_COMPLETION_DEFAULT_FLAG))
		return;
	p = loop_entry(test_posts_last(&a->tx));
	i = a->tx_msgs % ARRAY_SIZE(written);
	written[i].slot = p->dst;
	written[i].key = p->key;
	written[i].len = p->t.length;
	loop_post_requests(a, LOOP_K_SEND, 1, 17, DAT_COMPLETION_DEFAULT_FLAG);
}

/**
 * loop_case_visible - a received send means that the preceding write is visible
 * @run: the run
 * @c: the case; count is the number of pairs
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_visible(struct loop_run *run, struct loop_case *c)
{
	struct loop_fixture *fx = make_fixture(run, c, LOOP_UPCALL, false);
	u32 done, i, n;
	int err;

	if (!fx)
		return -EIO;
	fx->on_recv = visible_recv;
	err = loop_fixture_connect(fx);
	/* Half a queue of pairs at once, so that no target is used twice in a round. */
	for (done = 0; done < c->count && !err && !c->verdict.failures; done += n) {
		n = min(c->count - done, c->depth / 2);
		spin_lock_bh(&fx->lock);
		loop_post_recvs(&fx->b[0], n, DAT_COMPLETION_DEFAULT_FLAG);
		for (i = 0; i < n; i++)
			write_and_send(fx, &fx->a[0]);
		spin_unlock_bh(&fx->lock);
		err = wait_back(fx, loop_all_back);
	}
	if (!err)
		err = loop_fixture_disconnect(fx, DAT_CLOSE_GRACEFUL_FLAG);
	loop_fixture_end(fx);
	loop_clauses(c, "W-20");
	return err;
}

/*
 * Prepares for another connection: resets what is counted per connection. Returns how many ms the
 * reset of the EP has taken.
 */
static u32 reset_side(struct loop_fixture *fx, struct loop_side *s)
{
	DAT_EP_STATE state = DAT_EP_STATE_ERROR;
	ktime_t start = ktime_get();
	u32 ms;

	loop_expect(fx->c, "dat_ep_reset", dat_ep_reset(s->ep), DAT_SUCCESS);
	ms = ktime_ms_delta(ktime_get(), start);
	loop_expect(fx->c, "dat_ep_get_status",
		    dat_ep_get_status(s->ep, &state, NULL, NULL), DAT_SUCCESS);
	if (state != DAT_EP_STATE_UNCONNECTED)
		loop_fail(fx->c, "%s: state %d after the reset", s->name, state);
	spin_lock_bh(&fx->lock);
	s->established = 0;
	s->ended = 0;
	s->tx.flushed = 0;
	s->own_rx.flushed = 0;
	/* Messages in flight are lost on both sides. */
	s->tx_msgs = 0;
	s->rx_msgs = 0;
	spin_unlock_bh(&fx->lock);
	return ms;
}

/* Returns the duration of the longer reset in ms */
static u32 reset_fixture(struct loop_fixture *fx)
{
	u32 ms = reset_side(fx, &fx->a[0]);

	ms = max(ms, reset_side(fx, &fx->b[0]));
	spin_lock_bh(&fx->lock);
	fx->may_end = false;
	fx->may_flush = false;
	fx->stop = false;
	spin_unlock_bh(&fx->lock);
	return ms;
}

/* Connects, sends, and disconnects while messages are in flight */
static int short_connection(struct loop_fixture *fx)
{
	struct loop_case *c = fx->c;
	int err;

	spin_lock_bh(&fx->lock);
	loop_post_recvs(&fx->b[0], c->depth, DAT_COMPLETION_DEFAULT_FLAG);
	spin_unlock_bh(&fx->lock);
	err = loop_fixture_connect(fx);
	if (err)
		return err;
	spin_lock_bh(&fx->lock);
	/* Fewer than the receives: the others are flushed by the disconnect. */
	loop_post_requests(&fx->a[0], LOOP_K_SEND, c->depth - 3, c->size,
			   DAT_COMPLETION_DEFAULT_FLAG);
	spin_unlock_bh(&fx->lock);
	err = loop_fixture_disconnect(fx, DAT_CLOSE_GRACEFUL_FLAG);
	if (!err && fx->a[0].tx.flushed)
		loop_fail(c, "graceful disconnect: expected no flushed requests, got some");
	return err;
}

/**
 * loop_case_reset - EPs connect again after dat_ep_reset
 * @run: the run
 * @c: the case; count is the number of connections
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_reset(struct loop_run *run, struct loop_case *c)
{
	struct loop_fixture *fx = make_fixture(run, c, LOOP_UPCALL, false);
	u32 i, longest = 0;
	int err = 0;

	if (!fx)
		return -EIO;
	for (i = 0; i < c->count && !err && !c->verdict.failures; i++) {
		if (i)
			longest = max(longest, reset_fixture(fx));
		err = short_connection(fx);
	}
	scnprintf(c->reason, sizeof(c->reason), "%u connections, the longest reset took %u ms",
		  i, longest);
	loop_fixture_end(fx);
	loop_clauses(c, "R-24 R-29 R-31");
	return err;
}

/**
 * loop_case_free - EPs are freed as soon as their connection has ended
 * @run: the run
 * @c: the case; count is the number of connections
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_free(struct loop_run *run, struct loop_case *c)
{
	struct loop_fixture *fx;
	s64 ms, longest = 0;
	ktime_t start;
	int err = 0;
	u32 i;

	for (i = 0; i < c->count && !err && !c->verdict.failures; i++) {
		fx = make_fixture(run, c, LOOP_UPCALL, false);
		if (!fx)
			return -EIO;
		err = short_connection(fx);
		start = ktime_get();
		loop_fixture_end(fx);
		ms = ktime_ms_delta(ktime_get(), start);
		longest = max(longest, ms);
		if (ms > LOOP_QUIET_MS * test_stretch())
			loop_fail(c, "the objects were freed in %lld ms", ms);
	}
	scnprintf(c->reason, sizeof(c->reason), "%u connections, the longest free took %lld ms",
		  i, longest);
	loop_clauses(c, "R-29");
	return err;
}
