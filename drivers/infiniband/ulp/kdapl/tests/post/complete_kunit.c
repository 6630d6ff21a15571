// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: from a completion to its event.
 *
 * Tests complete.c through the CQ code of the RDMA core: contents of events, the
 * notification matrix 4.14, runs of unsignalled requests (6.8), and posts inside upcalls.
 * The end of connections is tested in break_kunit.c. Runs in a KUnit thread; every test
 * creates its own endpoint.
 */
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static void make_connected(struct kunit *test, DAT_COMPLETION_FLAGS flags)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.recv_completion_flags = flags;
	if (flags != DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		attr.request_completion_flags = flags;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
}

static void make_depth(struct kunit *test, u32 depth)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.max_request_dtos = depth;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
}

static DAT_RETURN suppressed(u64 cookie)
{
	return tp_post_one(env, &ep, TP_SEND, cookie, DAT_COMPLETION_SUPPRESS_FLAG);
}

static u32 free_slots(void)
{
	return tp_slots(&ep.ep->sq.pool);
}

static bool signalled(u32 n)
{
	return fake_wr_at(&tp_qp(&ep)->sq, n)->send_flags & IB_SEND_SIGNALED;
}

/* ---- events ----------------------------------------------------------------------- */

static void G_30_fields_of_a_success(struct kunit *test)
{
	enum tp_call call;

	make_connected(test, 0);
	for (call = 0; call < TP_SRQ; call++) {
		/* G-11, G-14, G-15: any cookie is valid, also a duplicate and zero */
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, ~0ULL, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, ~0ULL, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 0, 0), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, tp_events(tp_evd(&ep, call)), 0);
		tp_complete(env, &ep, call, IB_WC_SUCCESS, 13);
		tp_complete(env, &ep, call, IB_WC_SUCCESS, 0);
		tp_complete(env, &ep, call, IB_WC_SUCCESS, TP_SEG);
		/*
		 * S-50, W-35: a request reports the posted length, a receive the received
		 * length
		 */
		tp_expect_dto(test, &ep, call, ~0ULL, DAT_DTO_SUCCESS,
			      call == TP_RECV ? 13 : TP_SEG);
		tp_expect_dto(test, &ep, call, ~0ULL, DAT_DTO_SUCCESS,
			      call == TP_RECV ? 0 : TP_SEG);
		tp_expect_dto(test, &ep, call, 0, DAT_DTO_SUCCESS, TP_SEG);
		KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	}
	kdapl_clauses(test, "G-11 G-14 G-15 G-30 S-29 S-50 R-09 R-10 W-21 W-35 D-11");
}

/* The event of a slot shows nothing of the slot's earlier uses */
static void slots_are_reset_before_reuse(struct kunit *test)
{
	enum tp_call call;
	u32 i;

	make_connected(test, DAT_COMPLETION_UNSIGNALLED_FLAG);
	for (i = 0; i < 2 * TP_DEPTH; i++) {
		for (call = 0; call < TP_SRQ; call++) {
			u32 flags = i & 1 ? DAT_COMPLETION_UNSIGNALLED_FLAG : 0;

			KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, i, flags), DAT_SUCCESS);
			tp_complete(env, &ep, call, IB_WC_SUCCESS, TP_SEG);
			tp_expect_dto(test, &ep, call, i, DAT_DTO_SUCCESS, TP_SEG);
		}
	}
	kdapl_clauses(test, "G-30");
}

static void Q_05_Q_06_SRQ_completion_names_its_endpoint(struct kunit *test)
{
	struct tp_ep other = { };

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &other), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_connect(&other), 0);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 0, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SRQ, ~0ULL, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SRQ, ~0ULL, 0), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, tp_complete(env, &other, TP_SRQ, IB_WC_SUCCESS, 5));
	KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_SRQ, IB_WC_SUCCESS, 6));
	KUNIT_EXPECT_TRUE(test, tp_complete(env, &other, TP_SRQ, IB_WC_SUCCESS, 7));
	tp_expect_dto(test, &other, TP_SRQ, 0, DAT_DTO_SUCCESS, 5);
	tp_expect_dto(test, &ep, TP_SRQ, ~0ULL, DAT_DTO_SUCCESS, 6);
	tp_expect_dto(test, &other, TP_SRQ, ~0ULL, DAT_DTO_SUCCESS, 7);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&env->srq->pool), TP_DEPTH);
	tp_ep_free(&other);
	kdapl_clauses(test, "Q-01 Q-05 Q-06");
}

/* ---- notification (4.14) ------------------------------------------------------------ */

struct counter {
	atomic_t n;
	u64 last;
};

static struct counter counter;

static void count_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct counter *c = instance;

	c->last = event->event_data.dto_completion_event_data.user_cookie.as_64;
	atomic_inc(&c->n);
}

static void upcalls_on(DAT_EVD_HANDLE evd, DAT_UPCALL_FUNC func)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = &counter, .upcall_func = func };

	atomic_set(&counter.n, 0);
	dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall, DAT_UPCALL_INVOC_NEW);
}

struct matrix_row {
	u32 ep_flags;
	u32 post_flags;
	bool event;			/* if the request succeeds */
	bool upcall;
};

#define UNSIG	DAT_COMPLETION_UNSIGNALLED_FLAG
#define SUPPR	DAT_COMPLETION_SUPPRESS_FLAG

static const struct matrix_row matrix[] = {
	{ 0, 0, true, true },
	{ 0, SUPPR, false, false },
	{ UNSIG, 0, true, true },
	{ UNSIG, UNSIG, true, false },
	{ UNSIG, SUPPR, false, false },
	{ UNSIG, SUPPR | UNSIG, false, false },
};

static void check_row(struct kunit *test, const struct matrix_row *row, enum tp_call call)
{
	DAT_EVD_HANDLE evd = tp_evd(&ep, call);

	upcalls_on(evd, count_upcall);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 7, row->post_flags), DAT_SUCCESS);
	tp_complete(env, &ep, call, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&counter.n), row->upcall);
	KUNIT_EXPECT_EQ(test, tp_events(evd), row->event && !row->upcall);
	tp_drain(&ep);
	/* E-18: an event without notification is delivered before the next event that notifies */
	if (row->event && !row->upcall) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 8, row->post_flags), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 9, 0), DAT_SUCCESS);
		tp_complete(env, &ep, call, IB_WC_SUCCESS, 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&counter.n), 0);
		tp_complete(env, &ep, call, IB_WC_SUCCESS, 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&counter.n), 2);
		KUNIT_EXPECT_EQ(test, counter.last, 9);
	}
}

/* G-32, G-33: a failure always has an event and an upcall. The connection breaks */
static void check_failure(struct kunit *test, const struct matrix_row *row, enum tp_call call)
{
	upcalls_on(tp_evd(&ep, call), count_upcall);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 5, row->post_flags), DAT_SUCCESS);
	tp_complete(env, &ep, call, IB_WC_REM_OP_ERR, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&counter.n), 1);
	/* S-32: the EP moves to DISCONNECTED, and a flushed post notifies too */
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 6, row->post_flags), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&counter.n), 2);
	KUNIT_EXPECT_EQ(test, counter.last, 6);
}

static void matrix_4_14(struct kunit *test)
{
	const struct matrix_row *row;
	enum tp_call call;

	for (row = matrix; row < matrix + ARRAY_SIZE(matrix); row++) {
		for (call = 0; call < TP_SRQ; call++) {
			if (call == TP_RECV && (row->post_flags & SUPPR))
				continue;
			make_connected(test, row->ep_flags);
			check_row(test, row, call);
			check_failure(test, row, call);
			tp_ep_free(&ep);
		}
	}
	kdapl_clauses(test, "S-13 S-15 S-16 S-21 S-23 S-24 S-32 R-13 R-15 G-32 G-33");
	kdapl_clauses(test, "W-13 W-14 W-15 D-07 D-08");
}

static void R_12_solicited_wait(struct kunit *test)
{
	make_connected(test, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	upcalls_on(ep.recv_evd, count_upcall);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, 2, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, 3, 0), DAT_SUCCESS);
	/* A plain message causes no upcall, but its event can be dequeued */
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 10);
	KUNIT_EXPECT_EQ(test, atomic_read(&counter.n), 0);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_SUCCESS, 10);
	/* A solicited message: the event of the plain message before it is delivered first */
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&counter.n), 0);
	fake_complete_recv_solicited(tp_qp(&ep), 30);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&counter.n), 2);
	KUNIT_EXPECT_EQ(test, counter.last, 3);
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 0);
	kdapl_clauses(test, "R-12");
}

/* ---- runs of unsignalled requests (6.8) ------------------------------------------------ */

static void every_quarter_of_the_queue_has_a_signalled_request(struct kunit *test)
{
	u32 i;

	make_connected(test, 0);
	for (i = 0; i < TP_DEPTH; i++)
		KUNIT_ASSERT_EQ(test, suppressed(i), DAT_SUCCESS);
	for (i = 0; i < TP_DEPTH; i++)
		KUNIT_EXPECT_EQ_MSG(test, signalled(i), i % (TP_DEPTH / 4) == TP_DEPTH / 4 - 1,
				    "request %u", i);
	/* Each signalled request releases its run, and there is no event (S-15) */
	for (i = 0; i < TP_DEPTH; i++) {
		tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
		KUNIT_EXPECT_EQ(test, free_slots(), (i + 1) / 4 * 4);
	}
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	kdapl_clauses(test, "S-15");
}

static void below_depth_8_every_request_is_signalled(struct kunit *test)
{
	u32 i;

	make_depth(test, 7);
	for (i = 0; i < 7; i++)
		KUNIT_ASSERT_EQ(test, suppressed(i), DAT_SUCCESS);
	for (i = 0; i < 7; i++)
		KUNIT_EXPECT_TRUE(test, signalled(i));
	while (tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0))
		;
	KUNIT_EXPECT_EQ(test, free_slots(), 7);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
}

static void the_last_free_slot_is_signalled(struct kunit *test)
{
	struct kdapl_slot *held;

	make_connected(test, 0);
	/*
	 * One slot is held and all others but one have requests: the suppressed one takes
	 * the last
	 */
	for (u32 i = 0; i < TP_DEPTH - 2; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
	held = kdapl_pool_get(&ep.ep->sq.pool);
	KUNIT_ASSERT_EQ(test, suppressed(99), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, signalled(TP_DEPTH - 2));
	kdapl_pool_put(held);
}

/* A marker completes after kdapl_sq_abandon() has accounted for all requests */
static void late_marker_releases_no_request_twice(struct kunit *test)
{
	struct kdapl_sq *sq;
	u32 head;

	make_connected(test, 0);
	sq = &ep.ep->sq;
	KUNIT_ASSERT_EQ(test, suppressed(1), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	while (tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0))
		;
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 1);
	head = sq->run_head;
	KUNIT_EXPECT_EQ(test, head, 1);
	/* Use a position two before the head, so that the difference wraps around */
	kdapl_run_release(sq, head - 2);
	KUNIT_EXPECT_EQ(test, sq->run_head, head);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
}

/*
 * Unsignalled requests fail after kdapl_sq_abandon() has accounted for all requests: their
 * completions must not move the head of the run back to requests that were returned
 */
static void G_34_late_failure_releases_no_request_twice(struct kunit *test)
{
	struct kdapl_sq *sq;
	u32 i;

	make_connected(test, 0);
	sq = &ep.ep->sq;
	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, suppressed(i), DAT_SUCCESS);
	/* The work that breaks the connection, and so flushes the others, has to wait */
	mutex_lock(&ep.ep->mutex);
	sq->run_head = sq->run_tail;
	KUNIT_EXPECT_TRUE(test, fake_complete_send(tp_qp(&ep), IB_WC_REM_ACCESS_ERR));
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(ep.ep->first_error.valid)));
	KUNIT_EXPECT_EQ(test, sq->run_head, sq->run_tail);
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	for (i = 1; i <= 3; i++)
		tp_expect_dto(test, &ep, TP_SEND, i, i == 1 ? DAT_DTO_ERR_REMOTE_ACCESS :
			      DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, sq->run_head, sq->run_tail);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
	kdapl_clauses(test, "G-34 G-32");
}

static void signalled_request_completes_those_before_it(struct kunit *test)
{
	u32 i;

	make_connected(test, 0);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, suppressed(i), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_WRITE, 50, 0), DAT_SUCCESS);
	for (i = 0; i < 3; i++) {
		tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
		KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH - 4);
	}
	tp_complete(env, &ep, TP_WRITE, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH - 1);
	tp_expect_dto(test, &ep, TP_WRITE, 50, DAT_DTO_SUCCESS, TP_SEG);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
	/* The signalled request has restarted the count */
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, suppressed(i), DAT_SUCCESS);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_FALSE(test, signalled(i));
}

static void error_in_a_run_of_unsignalled_requests(struct kunit *test)
{
	u32 i;

	make_connected(test, 0);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, suppressed(i), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_WRITE, 50, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, suppressed(51), DAT_SUCCESS);
	/*
	 * The first request succeeds without a completion. The second fails, and its
	 * completion also accounts for the first.
	 */
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH - 5);
	tp_complete(env, &ep, TP_SEND, IB_WC_REM_ACCESS_ERR, 0);
	/*
	 * The QP is in ERROR now: each of the other requests is flushed with its own
	 * completion (S-16)
	 */
	tp_expect_dto(test, &ep, TP_SEND, 1, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &ep, TP_WRITE, 50, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &ep, TP_SEND, 51, DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
	/* Each slot was released exactly once */
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, ep.ep->sq.run_head, ep.ep->sq.run_tail);
	kdapl_clauses(test, "S-16 G-27 G-32");
}

static void G_34_a_stream_of_suppressed_requests_never_stops(struct kunit *test)
{
	u32 i, k;

	make_connected(test, 0);
	/*
	 * An older request whose event is not dequeued keeps one slot, but does not block
	 * the queue
	 */
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 4711, 0), DAT_SUCCESS);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	for (i = 0; i < 20 * TP_DEPTH; i++) {
		/* Fill the queue, then let the device complete all requests */
		for (k = 0; k < TP_DEPTH - 1; k++)
			KUNIT_ASSERT_EQ(test, suppressed(k), DAT_SUCCESS);
		TP_EXPECT_TYPE(test, suppressed(99), DAT_INSUFFICIENT_RESOURCES);
		while (fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS))
			;
		fake_settle(env->fake);
	}
	tp_expect_dto(test, &ep, TP_SEND, 4711, DAT_DTO_SUCCESS, TP_SEG);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
	kdapl_clauses(test, "G-34");
}

static void request_idle_after_the_marker(struct kunit *test)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	make_connected(test, 0);
	KUNIT_ASSERT_EQ(test, suppressed(1), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_get_status(ep.handle, &state, &recv_idle, &request_idle),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, request_idle, DAT_FALSE);
	KUNIT_EXPECT_EQ(test, recv_idle, DAT_TRUE);
	fake_settle(env->fake);
	/* The suppressed request, and the zero-length write that serves as a marker after it */
	KUNIT_ASSERT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 2);
	KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&ep)->sq)->opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&ep)->sq)->num_sge, 0);
	KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&ep)->sq)->send_flags,
			IB_SEND_SIGNALED | IB_SEND_FENCE);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	dat_ep_get_status(ep.handle, &state, &recv_idle, &request_idle);
	KUNIT_EXPECT_EQ(test, request_idle, DAT_TRUE);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
}

/* ---- inside the upcall --------------------------------------------------------------------- */

static DAT_RETURN upcall_ret;

static void post_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	atomic_inc(&counter.n);
	upcall_ret = tp_post_one(env, &ep, TP_SEND, 1000, 0);
}

static void G_09_G_26_post_inside_the_upcall_of_a_full_queue(struct kunit *test)
{
	u32 i;

	make_connected(test, 0);
	upcalls_on(ep.request_evd, post_upcall);
	for (i = 0; i < TP_DEPTH; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_SEND, 99, 0), DAT_INSUFFICIENT_RESOURCES);
	upcall_ret = DAT_INTERNAL_ERROR;
	for (i = 0; i < 3 * TP_DEPTH; i++) {
		tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
		KUNIT_EXPECT_EQ(test, upcall_ret, DAT_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&counter.n), 3 * TP_DEPTH);
	dat_evd_modify_upcall(ep.request_evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	kdapl_clauses(test, "G-09 G-26");
}

static DEFINE_SPINLOCK(consumer_lock);

static void G_07_posts_with_interrupts_off_and_locks_held(struct kunit *test)
{
	enum tp_call call;
	DAT_RETURN ret;
	unsigned long flags;

	make_connected(test, 0);
	for (call = 0; call < TP_NCALLS; call++) {
		spin_lock_irqsave(&consumer_lock, flags);
		ret = tp_post_one(env, &ep, call, 1, 0);
		KUNIT_EXPECT_EQ(test, irqs_disabled(), !IS_ENABLED(CONFIG_PREEMPT_RT));
		spin_unlock_irqrestore(&consumer_lock, flags);
		KUNIT_EXPECT_EQ(test, ret, DAT_SUCCESS);
	}
	kdapl_clauses(test, "G-07");
}

/* ---- suite ----------------------------------------------------------------------------------- */

static int complete_suite_init(struct kunit_suite *suite)
{
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void complete_suite_exit(struct kunit_suite *suite)
{
	tp_env_destroy(env);
	env = NULL;
}

static void complete_exit(struct kunit *test)
{
	struct fake_queue *q = tp_queue(env, &ep, TP_SRQ);

	for (; q->head != q->tail; q->head++)
		kdapl_pool_put(kdapl_slot_of_cqe(fake_wr_at(q, 0)->cqe));
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
}

static struct kunit_case complete_cases[] = {
	KUNIT_CASE(G_30_fields_of_a_success),
	KUNIT_CASE(slots_are_reset_before_reuse),
	KUNIT_CASE(Q_05_Q_06_SRQ_completion_names_its_endpoint),
	KUNIT_CASE(matrix_4_14),
	KUNIT_CASE(R_12_solicited_wait),
	KUNIT_CASE(every_quarter_of_the_queue_has_a_signalled_request),
	KUNIT_CASE(below_depth_8_every_request_is_signalled),
	KUNIT_CASE(the_last_free_slot_is_signalled),
	KUNIT_CASE(late_marker_releases_no_request_twice),
	KUNIT_CASE(G_34_late_failure_releases_no_request_twice),
	KUNIT_CASE(signalled_request_completes_those_before_it),
	KUNIT_CASE(error_in_a_run_of_unsignalled_requests),
	KUNIT_CASE(G_34_a_stream_of_suppressed_requests_never_stops),
	KUNIT_CASE(request_idle_after_the_marker),
	KUNIT_CASE(G_09_G_26_post_inside_the_upcall_of_a_full_queue),
	KUNIT_CASE(G_07_posts_with_interrupts_off_and_locks_held),
	{}
};

static struct kunit_suite complete_suite = {
	.name = "kdapl_complete",
	.suite_init = complete_suite_init,
	.suite_exit = complete_suite_exit,
	.exit = complete_exit,
	.test_cases = complete_cases,
};

kunit_test_suite(complete_suite);
