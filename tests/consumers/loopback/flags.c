// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of the loopback test about completion flags: streams of suppressed requests,
 * completions without notification, fences and solicited waits. Process context.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "kdapl_loop.h"

/* Number of receives and sends in the small cases. */
#define FEW		8

static struct loop_fixture *flag_fixture(struct loop_run *run, struct loop_case *c,
					 enum loop_mode mode, DAT_COMPLETION_FLAGS a_req,
					 DAT_COMPLETION_FLAGS b_recv)
{
	struct loop_cfg cfg = {
		.op = LOOP_SEND,
		.mode = mode,
		.size = c->size,
		.segs = 1,
		.depth = c->depth,
		.conns = 1,
		.both = true,
		.req_flags = { a_req, DAT_COMPLETION_DEFAULT_FLAG },
		.recv_flags = { DAT_COMPLETION_DEFAULT_FLAG, b_recv },
	};

	return loop_fixture_make(run, c, &cfg);
}

static int wait_for(struct loop_fixture *fx, bool (*done)(struct loop_fixture *fx),
		    const char *what)
{
	int err = loop_wait(fx, done, LOOP_QUIET_MS);

	if (err == -ETIMEDOUT)
		loop_fail(fx->c, "%s: not within %u s", what,
			  LOOP_QUIET_MS * test_stretch() / 1000);
	return err;
}

static bool a_back(struct loop_fixture *fx)
{
	return !fx->a[0].tx.out;
}

static bool all_received(struct loop_fixture *fx)
{
	return !fx->a[0].tx.out && fx->b[0].rx_msgs == fx->a[0].tx_msgs;
}

/* Dequeues, with or without notification, until @n events have come. */
static int dequeue_silent(struct loop_fixture *fx, struct loop_evd *evd, u32 n, const char *what)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);

	while (n) {
		n -= loop_drain(fx, evd, n);
		if (!n)
			break;
		if (READ_ONCE(fx->run->abort))
			return -EINTR;
		if (time_after(jiffies, deadline)) {
			loop_fail(fx->c, "%s: expected more events, %u did not arrive", what, n);
			return -ETIMEDOUT;
		}
		wait_for_completion_timeout(&fx->run->wake, 1);
	}
	return 0;
}

static void expect_calls(struct loop_fixture *fx, struct loop_evd *evd, bool some, const char *what)
{
	if (some == !evd->calls)
		loop_fail(fx->c, "%s: %u upcalls, expected %s", what, evd->calls,
			  some ? "one at least" : "none");
}

/* One suppressed write outside the accounting; an event of it would have a foreign cookie. */
static DAT_RETURN quiet_write(struct loop_side *a, struct loop_slot *src, struct loop_slot *dst)
{
	DAT_LMR_TRIPLET iov[LOOP_MAX_SEGS];
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_RMR_TRIPLET remote = {
		.virtual_address = dst->area[0].va + dst->piece[0].off,
		.segment_length = dst->cap,
		.rmr_context = dst->area[0].rmr,
	};

	return dat_ep_post_rdma_write(a->ep, loop_slot_iov(src, iov), iov, cookie, &remote,
				      DAT_COMPLETION_SUPPRESS_FLAG);
}

/*
 * Many suppressed writes: a full queue must have room again after a while, though nothing
 * is dequeued. There is no event to wait for, so a refused post is retried with each
 * tick.
 */
static int quiet_writes(struct loop_fixture *fx, u32 count, struct loop_slot *src,
			struct loop_slot *dst)
{
	unsigned long limit = test_limit(LOOP_QUIET_MS);
	unsigned long deadline = jiffies + limit;
	DAT_RETURN ret;
	u32 i = 0;

	while (i < count) {
		ret = quiet_write(&fx->a[0], src, dst);
		if (ret == DAT_SUCCESS) {
			i++;
			fx->c->posts++;
			deadline = jiffies + limit;
			continue;
		}
		if (!loop_expect(fx->c, "suppressed write", ret, DAT_INSUFFICIENT_RESOURCES))
			return -EIO;
		fx->c->full++;
		if (READ_ONCE(fx->run->abort))
			return -EINTR;
		if (time_after(jiffies, deadline)) {
			loop_fail(fx->c, "%u suppressed writes: expected a released slot, got none",
				  i);
			return -ETIMEDOUT;
		}
		wait_for_completion_timeout(&fx->run->wake, 1);
	}
	fx->c->silent += count;
	return 0;
}

/* One write with an event after them: when it completes, those before it have succeeded. */
static int loud_write(struct loop_fixture *fx)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);
	DAT_RETURN ret;

	do {
		spin_lock_bh(&fx->lock);
		ret = loop_post_request(&fx->a[0], LOOP_K_WRITE, fx->cfg.size,
					DAT_COMPLETION_DEFAULT_FLAG);
		spin_unlock_bh(&fx->lock);
		if (ret != DAT_SUCCESS)
			wait_for_completion_timeout(&fx->run->wake, 1);
	} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
		 !READ_ONCE(fx->run->abort) && time_before(jiffies, deadline));
	if (!loop_expect(fx->c, "write after suppressed ones", ret, DAT_SUCCESS))
		return -EIO;
	return wait_for(fx, a_back, "the last write");
}

static int write_stream(struct loop_fixture *fx, u32 count)
{
	struct loop_side *a = &fx->a[0];
	struct loop_slot *src = loop_arena_get(a->src), *dst = loop_arena_get(a->peer->dst);
	u64 key = loop_key(fx, 99, 0);
	struct loop_diff d;
	int err;

	loop_slot_fill(src, key, src->cap);
	/* An event that is not dequeued pins its own slot and no other. */
	spin_lock_bh(&fx->lock);
	loop_post_requests(a, LOOP_K_WRITE, 1, fx->cfg.size, DAT_COMPLETION_DEFAULT_FLAG);
	spin_unlock_bh(&fx->lock);
	err = quiet_writes(fx, count, src, dst);
	if (!err)
		err = loud_write(fx);
	if (err)
		return err;
	if (!loop_slot_check(dst, key, src->cap, &d) || !loop_slot_check(src, key, src->cap, &d))
		loop_fail(fx->c, "suppressed writes: %s at %u is %#04x, expected %#04x",
			  d.what, d.at, d.got, d.want);
	return 0;
}

/**
 * loop_case_stream - a long stream of suppressed requests
 * @run: the run
 * @c: the case; count is the number of suppressed writes
 *
 * No event is dequeued meanwhile. A full queue must get room again without that.
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_stream(struct loop_run *run, struct loop_case *c)
{
	struct loop_fixture *fx = flag_fixture(run, c, LOOP_DEQUEUE, 0, 0);
	int err;

	if (!fx)
		return -EIO;
	err = loop_fixture_connect(fx);
	if (!err)
		err = write_stream(fx, c->count);
	if (!err)
		err = loop_fixture_disconnect(fx, DAT_CLOSE_GRACEFUL_FLAG);
	loop_fixture_end(fx);
	loop_clauses(c, "G-34 W-14");
	return err;
}

/* Posts @n messages, with these flags at both ends. */
static void post_messages(struct loop_fixture *fx, u32 n, DAT_COMPLETION_FLAGS flags)
{
	spin_lock_bh(&fx->lock);
	loop_post_recvs(&fx->b[0], n, flags);
	loop_post_requests(&fx->a[0], LOOP_K_SEND, n, fx->cfg.size, flags);
	spin_unlock_bh(&fx->lock);
}

static int silent_then_loud(struct loop_fixture *fx)
{
	struct loop_evd *req = fx->a[0].req, *recv = fx->b[0].recv;
	int err;

	post_messages(fx, FEW, DAT_COMPLETION_UNSIGNALLED_FLAG);
	err = dequeue_silent(fx, recv, FEW, "silent receives");
	if (!err)
		err = dequeue_silent(fx, req, FEW, "silent sends");
	if (err)
		return err;
	expect_calls(fx, recv, false, "silent receives");
	expect_calls(fx, req, false, "silent sends");
	/* Without the flag they notify, and the earlier events are dequeued with them. */
	post_messages(fx, FEW - 1, DAT_COMPLETION_UNSIGNALLED_FLAG);
	post_messages(fx, 1, DAT_COMPLETION_DEFAULT_FLAG);
	err = wait_for(fx, loop_all_back, "a completion that notifies");
	expect_calls(fx, recv, true, "a receive without the flag");
	expect_calls(fx, req, true, "a send without the flag");
	return err;
}

/**
 * loop_case_unsignalled - events without upcall
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_unsignalled(struct loop_run *run, struct loop_case *c)
{
	static const enum loop_mode modes[] = { LOOP_DEQUEUE, LOOP_UPCALL };
	u32 i;
	int err = 0;

	for (i = 0; i < 2 && !err; i++) {
		struct loop_fixture *fx = flag_fixture(run, c, modes[i],
						       DAT_COMPLETION_UNSIGNALLED_FLAG,
						       DAT_COMPLETION_UNSIGNALLED_FLAG);

		if (!fx)
			return -EIO;
		err = loop_fixture_connect(fx);
		if (!err)
			err = silent_then_loud(fx);
		if (!err)
			err = loop_fixture_disconnect(fx, DAT_CLOSE_GRACEFUL_FLAG);
		loop_fixture_end(fx);
	}
	loop_clauses(c, "S-21 S-23 R-13 R-15");
	return err;
}

/* The source of the outstanding read. */
static struct loop_slot *fence_source;

/* B has the fenced message: A's read is complete, and B may change its source. */
static void fence_recv(struct loop_fixture *fx, struct loop_side *s, u32 msg)
{
	if (fence_source)
		loop_slot_fill(fence_source, ~loop_key(fx, 77, msg), fence_source->cap);
}

/**
 * loop_case_fence - a fenced send waits for the reads before it
 * @run: the run
 * @c: the case; count is the number of rounds
 *
 * B overwrites the source of the read as soon as the send arrives. The read must have got
 * the old bytes, which its completion verifies. A responder that works in order, such as
 * Soft-RoCE's, gives the same result without the fence; fence_takes_what_was_read() in
 * exact.c shows that the request waits.
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_fence(struct loop_run *run, struct loop_case *c)
{
	struct loop_fixture *fx = flag_fixture(run, c, LOOP_UPCALL, 0, 0);
	struct loop_side *a;
	u32 i;
	int err;

	if (!fx)
		return -EIO;
	a = &fx->a[0];
	fx->volatile_src = true;
	fx->on_recv = fence_recv;
	err = loop_fixture_connect(fx);
	for (i = 0; i < c->count && !err && !c->verdict.failures; i++) {
		spin_lock_bh(&fx->lock);
		loop_post_recvs(&fx->b[0], 2, DAT_COMPLETION_DEFAULT_FLAG);
		/* With no read before it the fence has no effect. */
		fence_source = NULL;
		loop_post_requests(a, LOOP_K_SEND, 1, 17, DAT_COMPLETION_BARRIER_FENCE_FLAG);
		spin_unlock_bh(&fx->lock);
		/*
		 * Wait for B too: its receive event would otherwise be mistaken for that
		 * of the next send
		 */
		err = wait_for(fx, all_received, "a fenced send alone");
		if (err)
			break;
		spin_lock_bh(&fx->lock);
		loop_post_requests(a, LOOP_K_READ, 1, c->size, DAT_COMPLETION_DEFAULT_FLAG);
		fence_source = loop_entry(test_posts_last(&a->tx))->src;
		loop_post_requests(a, LOOP_K_SEND, 1, 17, DAT_COMPLETION_BARRIER_FENCE_FLAG);
		spin_unlock_bh(&fx->lock);
		err = wait_for(fx, loop_all_back, "a read and a fenced send");
	}
	if (!err)
		err = loop_fixture_disconnect(fx, DAT_CLOSE_GRACEFUL_FLAG);
	loop_fixture_end(fx);
	loop_clauses(c, "S-26");
	return err;
}

static void solicited_sends(struct loop_fixture *fx, u32 n, DAT_COMPLETION_FLAGS last)
{
	struct loop_side *a = &fx->a[0];

	spin_lock_bh(&fx->lock);
	loop_post_requests(a, LOOP_K_SEND, n - 1, fx->cfg.size, DAT_COMPLETION_DEFAULT_FLAG);
	loop_post_requests(a, LOOP_K_SEND, 1, fx->cfg.size, last);
	spin_unlock_bh(&fx->lock);
}

static int solicited_steps(struct loop_fixture *fx)
{
	struct loop_evd *recv = fx->b[0].recv;
	int err;

	spin_lock_bh(&fx->lock);
	loop_post_recvs(&fx->b[0], 3 * FEW, DAT_COMPLETION_DEFAULT_FLAG);
	spin_unlock_bh(&fx->lock);
	solicited_sends(fx, FEW, DAT_COMPLETION_DEFAULT_FLAG);
	err = wait_for(fx, a_back, "plain sends");
	if (err)
		return err;
	/* Longer than the period of the Provider's slow timer, which must not notify. */
	schedule_timeout_idle(msecs_to_jiffies(1500));
	expect_calls(fx, recv, false, "plain messages");
	err = dequeue_silent(fx, recv, FEW, "plain messages");
	if (err)
		return err;
	expect_calls(fx, recv, false, "plain messages, dequeued");
	solicited_sends(fx, FEW, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	err = wait_for(fx, all_received, "a solicited message");
	expect_calls(fx, recv, true, "a solicited message");
	return err;
}

/**
 * loop_case_solicited - only solicited messages notify
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_solicited(struct loop_run *run, struct loop_case *c)
{
	struct loop_fixture *fx = flag_fixture(run, c, LOOP_DEQUEUE, DAT_COMPLETION_DEFAULT_FLAG,
					       DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	int err;

	if (!fx)
		return -EIO;
	err = loop_fixture_connect(fx);
	if (!err)
		err = solicited_steps(fx);
	/* Flushed receives notify, solicited or not. */
	if (!err)
		err = loop_fixture_disconnect(fx, DAT_CLOSE_ABRUPT_FLAG);
	loop_fixture_end(fx);
	loop_clauses(c, "S-17 S-18 R-12 G-33");
	return err;
}
