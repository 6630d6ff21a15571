// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: EVDs in poll context, which the Consumer polls.
 *
 * The suite tests that nothing is delivered before a poll, that dat_evd_dequeue() and
 * kdat_evd_poll() poll, that a Consumer can wait after kdat_evd_arm(), and that kDAPL itself polls
 * for what must not wait for the Consumer. Runs in a KUnit thread; each test has its own device.
 */
#include "clause.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

#define MAX_SEEN	80

static struct {
	u32 n;
	u32 elsewhere;		/* upcalls in another task */
	u32 sleepable;		/* upcalls with bottom halves on */
	const struct task_struct *task;
	u64 cookie[MAX_SEEN];
	bool more[MAX_SEEN];
} seen;

static void record_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	seen.elsewhere += current != seen.task;
	seen.sleepable += !in_softirq();
	seen.cookie[seen.n] = event->event_data.dto_completion_event_data.user_cookie.as_64;
	seen.more[seen.n++] = more;
}

static void listen(DAT_EVD_HANDLE evd)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = record_upcall };

	memset(&seen, 0, sizeof(seen));
	seen.task = current;
	WARN_ON(dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				      DAT_UPCALL_INVOC_NEW) != DAT_SUCCESS);
}

static DAT_RETURN create(DAT_COUNT depth, bool srq)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.max_recv_dtos = depth;
	return tp_ep_create_in(env, KDAT_EVD_POLL_FLAG, &attr, srq, &ep);
}

static void stop_timers(void)
{
	cancel_delayed_work_sync(&ep.ep->fast.recv_evd->timer);
	cancel_delayed_work_sync(&ep.ep->fast.request_evd->timer);
}

/* A connected endpoint without the timers, so that only what is tested polls */
static void make(struct kunit *test, bool srq)
{
	KUNIT_ASSERT_EQ(test, create(TP_DEPTH, srq), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	stop_timers();
}

static void post(struct kunit *test, enum tp_call call, u64 cookie)
{
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, call, cookie, 0), DAT_SUCCESS);
}

static DAT_COUNT polled(struct kunit *test, DAT_EVD_HANDLE evd, DAT_COUNT max)
{
	DAT_COUNT n = -1;

	KUNIT_EXPECT_EQ(test, kdat_evd_poll(evd, max, &n), DAT_SUCCESS);
	return n;
}

static void a_dequeue_polls(struct kunit *test)
{
	enum tp_call call;

	for (call = 0; call < TP_NCALLS; call++) {
		make(test, call == TP_SRQ);
		post(test, call, 7);
		KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, call, IB_WC_SUCCESS, 10));
		KUNIT_EXPECT_EQ(test, tp_events(tp_evd(&ep, call)), 0);
		tp_expect_dto(test, &ep, call, 7, DAT_DTO_SUCCESS,
			      tp_is_request(call) ? TP_SEG : 10);
		KUNIT_EXPECT_EQ(test, tp_slots(tp_pool(env, &ep, call)), TP_DEPTH);
		tp_ep_free(&ep);
	}
}

/* On the caller's stack, in the order of the completions */
static void a_poll_runs_the_upcalls(struct kunit *test)
{
	u64 i;

	make(test, false);
	listen(ep.request_evd);
	for (i = 0; i < 3; i++)
		post(test, TP_SEND, i);
	for (i = 0; i < 3; i++)
		tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, seen.n, 0);
	KUNIT_EXPECT_EQ(test, polled(test, ep.request_evd, 16), 3);
	KUNIT_EXPECT_EQ(test, seen.n, 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, seen.cookie[i], i);
		KUNIT_EXPECT_EQ(test, seen.more[i], i < 2);
	}
	KUNIT_EXPECT_EQ(test, seen.elsewhere, 0);
	KUNIT_EXPECT_EQ(test, seen.sleepable, 0);
	KUNIT_EXPECT_EQ(test, polled(test, ep.request_evd, 16), 0);
}

static void a_poll_handles_no_more_than_asked(struct kunit *test)
{
	u64 i;

	make(test, false);
	listen(ep.recv_evd);
	for (i = 0; i < TP_DEPTH; i++)
		post(test, TP_RECV, i);
	for (i = 0; i < TP_DEPTH; i++)
		tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 10);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 1), 1);
	KUNIT_EXPECT_EQ(test, seen.n, 1);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 10), 10);
	KUNIT_EXPECT_EQ(test, seen.n, 11);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 100), TP_DEPTH - 11);
	KUNIT_EXPECT_EQ(test, seen.n, TP_DEPTH);
	KUNIT_EXPECT_EQ(test, seen.elsewhere, 0);
}

/* Without an upcall a poll queues the events, and a dequeue returns them */
static void a_poll_without_an_upcall_queues(struct kunit *test)
{
	make(test, false);
	post(test, TP_SEND, 1);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, polled(test, ep.request_evd, 1), 1);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 1);
	tp_expect_dto(test, &ep, TP_SEND, 1, DAT_DTO_SUCCESS, TP_SEG);
}

/* A dequeue polls, too, and must not run the upcall; the next poll does */
static void a_dequeue_leaves_upcalls_to_the_next_poll(struct kunit *test)
{
	DAT_EVENT event;

	make(test, false);
	listen(ep.request_evd);
	post(test, TP_SEND, 1);
	post(test, TP_SEND, 2);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(ep.request_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, seen.n, 0);
	KUNIT_EXPECT_EQ(test, polled(test, ep.request_evd, 1), 0);
	KUNIT_EXPECT_EQ(test, seen.n, 1);
	KUNIT_EXPECT_EQ(test, seen.cookie[0], 2);
	KUNIT_EXPECT_EQ(test, seen.elsewhere, 0);
}

/* Each EVD has its own CQ: a poll of one handles and delivers nothing of the other */
static void both_dispatchers_of_an_endpoint(struct kunit *test)
{
	make(test, false);
	listen(ep.recv_evd);
	listen(ep.request_evd);
	post(test, TP_SEND, 1);
	post(test, TP_RECV, 2);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 10);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 16), 1);
	KUNIT_EXPECT_EQ(test, seen.n, 1);
	KUNIT_EXPECT_EQ(test, seen.cookie[0], 2);
	KUNIT_EXPECT_EQ(test, polled(test, ep.request_evd, 16), 1);
	KUNIT_EXPECT_EQ(test, seen.n, 2);
	KUNIT_EXPECT_EQ(test, seen.cookie[1], 1);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, seen.elsewhere, 0);
}

/* Also events that do not come from a CQ, which nobody else delivers while the Consumer polls */
static void a_poll_delivers_other_events(struct kunit *test)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	make(test, false);
	listen(ep.recv_evd);
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(ep.recv_evd, &event), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, seen.n, 0);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 16), 0);
	KUNIT_EXPECT_EQ(test, seen.n, 1);
	KUNIT_EXPECT_EQ(test, seen.elsewhere, 0);
}

/* The peer of the first endpoint keeps its queue full. @max completions in a call */
static void fair_with(struct kunit *test, DAT_COUNT max)
{
	struct tp_ep more[2] = {};
	struct fake_qp *third;
	u32 calls, i;
	DAT_EVENT event;

	make(test, false);
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		KUNIT_ASSERT_EQ(test, tp_ep_beside(env, &ep, &more[i]), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_connect(&more[i]), 0);
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &more[i], TP_RECV, 100 + i, 0), DAT_SUCCESS);
		fake_complete_recv(tp_qp(&more[i]), IB_WC_SUCCESS, 10);
	}
	third = tp_qp(&more[1]);
	for (calls = 0; calls < 16 && third; calls++) {
		while (tp_post_one(env, &ep, TP_RECV, 1, 0) == DAT_SUCCESS)
			fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 10);
		KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, max), max);
		while (tp_events(ep.recv_evd) &&
		       dat_evd_dequeue(ep.recv_evd, &event) == DAT_SUCCESS)
			if (event.event_data.dto_completion_event_data.user_cookie.as_64 == 101)
				third = NULL;
	}
	KUNIT_EXPECT_NULL_MSG(test, third, "%d completions in each call", max);
	for (i = 0; i < ARRAY_SIZE(more); i++)
		tp_ep_free(&more[i]);
	tp_ep_free(&ep);
}

static void a_poll_serves_endpoints_in_turn(struct kunit *test)
{
	fair_with(test, 1);
	fair_with(test, 8);
}

/* The timer leaves the upcalls to a Consumer that polls */
static void nothing_runs_elsewhere_during_polls(struct kunit *test)
{
	unsigned long begin, end = jiffies + 3 * HZ;
	u32 n = 0;

	KUNIT_ASSERT_EQ(test, create(TP_DEPTH, false), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	listen(ep.request_evd);
	while (time_before(jiffies, end)) {
		begin = jiffies;
		seen.n = 0;
		seen.elsewhere = 0;
		if (tp_post_one(env, &ep, TP_SEND, 1, 0) == DAT_SUCCESS)
			fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
		schedule_timeout_uninterruptible(1);
		n += polled(test, ep.request_evd, 16);
		/* The timer may be first if the machine stops for a second */
		if (time_after(jiffies, begin + HZ / 2))
			continue;
		KUNIT_ASSERT_EQ(test, seen.n, 1);
		KUNIT_ASSERT_EQ(test, seen.elsewhere, 0);
	}
	KUNIT_EXPECT_GT(test, n, 0);
}

#define MANY	1030

/* Bottom halves are off, so one call handles no more than 1,024 */
static void a_poll_is_bounded(struct kunit *test)
{
	DAT_EVENT event;
	u64 i;

	KUNIT_ASSERT_EQ(test, create(MANY, false), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	stop_timers();
	for (i = 0; i < MANY; i++)
		post(test, TP_RECV, i);
	for (i = 0; i < MANY; i++)
		tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 10);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, INT_MAX), 1024);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, INT_MAX), MANY - 1024);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(ep.recv_evd, &event), DAT_SUCCESS);
}

static void a_device_whose_poll_fails(struct kunit *test)
{
	make(test, false);
	env->fake->personality |= FAKE_POLL_FAILS;
	listen(ep.request_evd);
	KUNIT_EXPECT_EQ(test, polled(test, ep.request_evd, 16), 0);
	post(test, TP_SEND, 1);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, polled(test, ep.request_evd, 16), 1);
	KUNIT_EXPECT_EQ(test, seen.n, 1);
}

static void an_EVD_without_endpoints(struct kunit *test)
{
	make(test, false);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 1), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	ep.handle = DAT_HANDLE_NULL;
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 1), 0);
}

static void wrong_arguments_of_a_poll(struct kunit *test)
{
	DAT_COUNT n = -1;
	struct tp_ep usual;

	make(test, false);
	TP_EXPECT_TYPE(test, kdat_evd_poll(ep.handle, 1, &n), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, kdat_evd_poll(DAT_HANDLE_NULL, 1, &n), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, kdat_evd_poll(ep.recv_evd, 0, &n), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, kdat_evd_poll(ep.recv_evd, -1, &n), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, kdat_evd_poll(ep.recv_evd, 1, NULL), DAT_INVALID_PARAMETER);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &usual), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, kdat_evd_poll(usual.recv_evd, 1, &n), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, kdat_evd_poll(ep.connect_evd, 1, &n), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, n, -1);
	tp_ep_free(&usual);
}

static DAT_RETURN modify_flags(DAT_COMPLETION_FLAGS flags)
{
	DAT_EP_PARAM param = { .ep_attr.recv_completion_flags = flags };

	return dat_ep_modify(ep.handle, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param);
}

static void solicited_wait_is_refused(struct kunit *test)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	TP_EXPECT_TYPE(test, tp_ep_create_in(env, KDAT_EVD_POLL_FLAG, &attr, false, &ep),
		       DAT_INVALID_PARAMETER);
	tp_ep_free(&ep);
	KUNIT_ASSERT_EQ(test, create(TP_DEPTH, false), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, modify_flags(DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		       DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, modify_flags(DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_SUCCESS);
}

/* ---- waiting ----------------------------------------------------------------------------- */

static bool armed(struct kunit *test, DAT_EVD_HANDLE evd)
{
	DAT_BOOLEAN again = 7;

	KUNIT_EXPECT_EQ(test, kdat_evd_arm(evd, &again), DAT_SUCCESS);
	KUNIT_EXPECT_LE(test, (u32)again, DAT_TRUE);
	return again == DAT_FALSE;
}

static bool upcalls_are(u32 n)
{
	return kdapl_sleep_until(READ_ONCE(seen.n) == n);
}

static void an_armed_EVD_announces_a_completion(struct kunit *test)
{
	make(test, false);
	listen(ep.recv_evd);
	post(test, TP_RECV, 1);
	post(test, TP_RECV, 2);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 16), 0);
	KUNIT_EXPECT_TRUE(test, armed(test, ep.recv_evd));
	stop_timers();
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 10);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	KUNIT_EXPECT_EQ(test, seen.elsewhere, 1);
	KUNIT_EXPECT_EQ(test, seen.sleepable, 0);
	/* Once only */
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 10);
	flush_workqueue(kdapl_evd_wq);
	KUNIT_EXPECT_EQ(test, seen.n, 1);
	/* The Consumer is told of a completion that came before it armed the EVD */
	KUNIT_EXPECT_FALSE(test, armed(test, ep.recv_evd));
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 16), 1);
	KUNIT_EXPECT_EQ(test, seen.n, 2);
}

static void an_armed_EVD_announces_other_events(struct kunit *test)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	make(test, false);
	listen(ep.recv_evd);
	KUNIT_EXPECT_TRUE(test, armed(test, ep.recv_evd));
	stop_timers();
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(ep.recv_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(ep.recv_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_FALSE(test, armed(test, ep.recv_evd));
	flush_workqueue(kdapl_evd_wq);
	KUNIT_EXPECT_EQ(test, seen.n, 1);
}

/* The device announces a completion although the Consumer has polled meanwhile */
static void a_poll_disarms(struct kunit *test)
{
	make(test, false);
	listen(ep.recv_evd);
	post(test, TP_RECV, 1);
	KUNIT_EXPECT_TRUE(test, armed(test, ep.recv_evd));
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 16), 0);
	stop_timers();
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 10);
	flush_workqueue(kdapl_evd_wq);
	KUNIT_EXPECT_EQ(test, seen.n, 0);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 16), 1);
	KUNIT_EXPECT_EQ(test, seen.elsewhere, 0);
}

/* A completion without an upcall does not use up the arming: here the markers of a drain */
static void an_EVD_stays_armed_until_an_upcall(struct kunit *test)
{
	struct tp_ep other;

	make(test, false);
	KUNIT_ASSERT_EQ(test, tp_ep_beside(env, &ep, &other), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&other), 0);
	listen(ep.recv_evd);
	post(test, TP_RECV, 1);
	KUNIT_EXPECT_TRUE(test, armed(test, ep.recv_evd));
	tp_ep_free(&other);
	flush_workqueue(kdapl_evd_wq);
	stop_timers();
	KUNIT_EXPECT_EQ(test, seen.n, 0);
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 10);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ep.ep->fast.recv_evd->timer));
}

static void wrong_arguments_of_an_arming(struct kunit *test)
{
	DAT_BOOLEAN again = 7;

	make(test, false);
	TP_EXPECT_TYPE(test, kdat_evd_arm(ep.handle, &again), DAT_INVALID_HANDLE);
	/* Without an upcall nothing would tell the Consumer */
	TP_EXPECT_TYPE(test, kdat_evd_arm(ep.recv_evd, &again), DAT_INVALID_STATE);
	listen(ep.recv_evd);
	listen(ep.connect_evd);
	TP_EXPECT_TYPE(test, kdat_evd_arm(ep.recv_evd, NULL), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, kdat_evd_arm(ep.connect_evd, &again), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, again, 7);
}

/* ---- what must not wait for the Consumer ------------------------------------------------ */

/* The end of a connection flushes; the Consumer finds all events without having polled before */
static void a_disconnect_needs_no_consumer(struct kunit *test)
{
	kdapl_clauses(test, "C-56");
	make(test, false);
	post(test, TP_SEND, 1);
	post(test, TP_RECV, 2);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 1);
	tp_expect_dto(test, &ep, TP_SEND, 1, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &ep, TP_RECV, 2, DAT_DTO_ERR_FLUSHED, 0);
}

static void a_free_needs_no_consumer(struct kunit *test)
{
	make(test, false);
	post(test, TP_SEND, 1);
	post(test, TP_RECV, 2);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	ep.handle = DAT_HANDLE_NULL;
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 0);
}

/* An error breaks the connection although nobody polls: the timer sees it */
static void an_error_needs_no_consumer(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, create(TP_DEPTH, false), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	post(test, TP_SEND, 1);
	tp_complete(env, &ep, TP_SEND, IB_WC_RETRY_EXC_ERR, 0);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	tp_expect_dto(test, &ep, TP_SEND, 1, DAT_DTO_ERR_TRANSPORT, 0);
}

/* Upcalls run in the work item if the Consumer does not poll */
static void upcalls_need_no_consumer(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, create(TP_DEPTH, false), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	listen(ep.request_evd);
	post(test, TP_SEND, 1);
	fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	KUNIT_EXPECT_EQ(test, seen.elsewhere, 1);
	KUNIT_EXPECT_EQ(test, seen.sleepable, 0);
}

/* The old QP is drained, and the new one uses the same CQ */
static void an_endpoint_is_reset(struct kunit *test)
{
	make(test, false);
	post(test, TP_RECV, 1);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	tp_drain(&ep);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	post(test, TP_RECV, 2);
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 5);
	tp_expect_dto(test, &ep, TP_RECV, 2, DAT_DTO_SUCCESS, 5);
}

/* ---- suite ------------------------------------------------------------------------ */

static int poll_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void poll_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case poll_cases[] = {
	KUNIT_CASE(a_dequeue_polls),
	KUNIT_CASE(a_poll_runs_the_upcalls),
	KUNIT_CASE(a_poll_handles_no_more_than_asked),
	KUNIT_CASE(a_poll_without_an_upcall_queues),
	KUNIT_CASE(a_dequeue_leaves_upcalls_to_the_next_poll),
	KUNIT_CASE(both_dispatchers_of_an_endpoint),
	KUNIT_CASE(a_poll_delivers_other_events),
	KUNIT_CASE(a_poll_serves_endpoints_in_turn),
	KUNIT_CASE(nothing_runs_elsewhere_during_polls),
	KUNIT_CASE(a_poll_is_bounded),
	KUNIT_CASE(a_device_whose_poll_fails),
	KUNIT_CASE(an_EVD_without_endpoints),
	KUNIT_CASE(wrong_arguments_of_a_poll),
	KUNIT_CASE(solicited_wait_is_refused),
	KUNIT_CASE(an_armed_EVD_announces_a_completion),
	KUNIT_CASE(an_armed_EVD_announces_other_events),
	KUNIT_CASE(a_poll_disarms),
	KUNIT_CASE(an_EVD_stays_armed_until_an_upcall),
	KUNIT_CASE(wrong_arguments_of_an_arming),
	KUNIT_CASE(a_disconnect_needs_no_consumer),
	KUNIT_CASE(a_free_needs_no_consumer),
	KUNIT_CASE(an_error_needs_no_consumer),
	KUNIT_CASE(upcalls_need_no_consumer),
	KUNIT_CASE(an_endpoint_is_reset),
	{}
};

static struct kunit_suite poll_suite = {
	.name = "kdapl_poll",
	.init = poll_init,
	.exit = poll_exit,
	.test_cases = poll_cases,
};

kunit_test_suite(poll_suite);
