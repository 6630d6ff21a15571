// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: endpoints with kdapl.completion_context "poll", whose CQ the Consumer polls.
 *
 * The suite tests that nothing is delivered before a poll, that dat_evd_dequeue() and
 * kdat_evd_poll() poll, and that kDAPL itself polls for what must not wait for the Consumer. Runs
 * in a KUnit thread; each test has its own device.
 */
#include "clause.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;
static DAT_NAMED_ATTR poll = { "kdapl.completion_context", "poll" };

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
	attr.ep_provider_specific_count = 1;
	attr.ep_provider_specific = &poll;
	return tp_ep_create(env, &attr, srq, &ep);
}

/* A connected endpoint without the timer, so that only what is tested polls */
static void make(struct kunit *test, bool srq)
{
	KUNIT_ASSERT_EQ(test, create(TP_DEPTH, srq), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	cancel_delayed_work_sync(&ep.ep->scq->timer);
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

/*
 * A dequeue polls, too, and must not run the upcall; the work item does. It may deliver an event
 * before the dequeue takes it.
 */
static void a_dequeue_leaves_upcalls_to_the_work_item(struct kunit *test)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	unsigned int left = 2, i;
	u64 cookies = 1 + 2;
	DAT_EVENT event;

	make(test, false);
	post(test, TP_SEND, 1);
	post(test, TP_SEND, 2);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	listen(ep.request_evd);
	/* With bottom halves off an upcall could run here */
	local_bh_disable();
	if (dat_evd_dequeue(ep.request_evd, &event) == DAT_SUCCESS) {
		dto = &event.event_data.dto_completion_event_data;
		cookies -= dto->user_cookie.as_64;
		left--;
	}
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(seen.n) == left));
	for (i = 0; i < left; i++)
		cookies -= seen.cookie[i];
	KUNIT_EXPECT_EQ(test, cookies, 0);
	KUNIT_EXPECT_EQ(test, seen.elsewhere, left);
	KUNIT_EXPECT_EQ(test, seen.sleepable, 0);
}

#define MANY	1030

/* Bottom halves are off, so one call handles no more than 1,024 */
static void a_poll_is_bounded(struct kunit *test)
{
	DAT_EVENT event;
	u64 i;

	KUNIT_ASSERT_EQ(test, create(MANY, false), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	cancel_delayed_work_sync(&ep.ep->scq->timer);
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

static void an_EVD_without_endpoints_is_not_polled(struct kunit *test)
{
	DAT_COUNT n = -1;

	make(test, false);
	KUNIT_EXPECT_EQ(test, polled(test, ep.recv_evd, 1), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	ep.handle = DAT_HANDLE_NULL;
	TP_EXPECT_TYPE(test, kdat_evd_poll(ep.recv_evd, 1, &n), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, kdat_evd_poll(ep.request_evd, 1, &n), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, n, -1);
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

static void solicited_wait_is_refused(struct kunit *test)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	attr.ep_provider_specific_count = 1;
	attr.ep_provider_specific = &poll;
	TP_EXPECT_TYPE(test, tp_ep_create(env, &attr, false, &ep), DAT_INVALID_PARAMETER);
}

static DAT_RETURN modify(DAT_COMPLETION_FLAGS flags, DAT_NAMED_ATTR *named, int count,
			 DAT_EP_PARAM_MASK mask)
{
	DAT_EP_PARAM param = { .ep_attr.recv_completion_flags = flags };

	param.ep_attr.ep_provider_specific_count = count;
	param.ep_attr.ep_provider_specific = named;
	return dat_ep_modify(ep.handle, mask, &param);
}

/* Whichever of the two is changed, and also if both are */
static void solicited_wait_is_refused_later(struct kunit *test)
{
	const DAT_COMPLETION_FLAGS solicited = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	const DAT_EP_PARAM_MASK flags = DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS;
	const DAT_EP_PARAM_MASK named = DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
					DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR;

	KUNIT_ASSERT_EQ(test, create(TP_DEPTH, false), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, modify(solicited, NULL, 0, flags), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, modify(solicited, &poll, 1, flags | named), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ep.ep->context, KDAPL_CONTEXT_POLL);
	KUNIT_EXPECT_EQ(test, modify(solicited, NULL, 0, flags | named), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, ep.ep->context, KDAPL_CONTEXT_SOFTIRQ);
	TP_EXPECT_TYPE(test, modify(solicited, &poll, 1, named), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, modify(DAT_COMPLETION_DEFAULT_FLAG, &poll, 1, flags | named),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, ep.ep->context, KDAPL_CONTEXT_POLL);
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
	KUNIT_CASE(a_dequeue_leaves_upcalls_to_the_work_item),
	KUNIT_CASE(a_poll_is_bounded),
	KUNIT_CASE(a_device_whose_poll_fails),
	KUNIT_CASE(an_EVD_without_endpoints_is_not_polled),
	KUNIT_CASE(wrong_arguments_of_a_poll),
	KUNIT_CASE(solicited_wait_is_refused),
	KUNIT_CASE(solicited_wait_is_refused_later),
	KUNIT_CASE(a_disconnect_needs_no_consumer),
	KUNIT_CASE(a_free_needs_no_consumer),
	KUNIT_CASE(an_error_needs_no_consumer),
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
