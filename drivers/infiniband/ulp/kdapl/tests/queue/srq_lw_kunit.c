// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the low watermark of a shared receive queue.
 *
 * Each arming raises one event, by whichever notices first: the device when a message arrives,
 * the call if the SRQ is already low, or the periodic check. There is no event for a mark of
 * 0, for one that was replaced (however late the device reports it), or on an SRQ without a
 * device. Like rxe, the fake checks the number of buffers only when a message uses one. The
 * suite also tests the event of an SRQ that has failed. Runs in a KUnit thread; each test has
 * its own device.
 */
#include "base/trace.h"
#include "clause.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static DAT_EVD_HANDLE async_evd(void)
{
	return kdapl_obj_handle(&env->ia->async_evd->obj);
}

static struct fake_srq *device_srq(void)
{
	return to_fake_srq(rcu_dereference_raw(env->srq->srq));
}

static void set_lw(struct kunit *test, DAT_COUNT mark)
{
	DAT_SRQ_PARAM param = { };

	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(env->srq_handle, mark), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_srq_query(env->srq_handle, DAT_SRQ_FIELD_LOW_WATERMARK, &param),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.low_watermark, mark);
}

static void post(struct kunit *test, u32 n)
{
	while (n--)
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 1, 0), DAT_SUCCESS);
}

/* A connected endpoint on the SRQ, and buffers */
static void make(struct kunit *test, u32 buffers)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	post(test, buffers);
}

/* @n messages arrive; their events are dequeued */
static void arrive(struct kunit *test, u32 n)
{
	while (n--)
		KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_SRQ, IB_WC_SUCCESS, 1));
	tp_drain(&ep);
}

/* Expects the event, with all of its fields, and no second one */
static void expect_event(struct kunit *test, DAT_SRQ_ASYNC_ERROR_REASON reason)
{
	const DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT event = { };

	KUNIT_ASSERT_EQ(test, tp_events(async_evd()), 1);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(async_evd(), &event), DAT_SUCCESS);
	data = &event.event_data.asynch_error_event_data;
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	KUNIT_EXPECT_PTR_EQ(test, event.evd_handle, async_evd());
	KUNIT_EXPECT_PTR_EQ(test, data->dat_handle, env->srq_handle);
	KUNIT_EXPECT_EQ(test, data->reason, (DAT_COUNT)reason);
}

static void expect_low(struct kunit *test)
{
	expect_event(test, DAT_SRQ_LOW_WATERMARK_EVENT);
}

static void expect_none(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tp_events(async_evd()), 0);
}

static void forget(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(async_evd(), &event) == DAT_SUCCESS)
		;
}

/* Runs the periodic check */
static void look(void)
{
	mod_delayed_work(kdapl_wq, &env->srq->lw_work, 0);
	flush_delayed_work(&env->srq->lw_work);
}

/* ---- one event ---------------------------------------------------------------- */

static void Q_33_fewer_buffers_than_the_watermark(struct kunit *test)
{
	kdapl_clauses(test, "Q-33");
	make(test, 4);
	set_lw(test, 3);
	expect_none(test);
	arrive(test, 1);
	expect_none(test);
	KUNIT_EXPECT_EQ(test, env->fake->limits, 0);
	arrive(test, 1);
	expect_low(test);
	KUNIT_EXPECT_EQ(test, env->fake->limits, 1);
	/* Once, however low it gets and however often */
	arrive(test, 2);
	post(test, 4);
	arrive(test, 4);
	look();
	expect_none(test);
	/* And once more after it was set again */
	post(test, 2);
	set_lw(test, 1);
	arrive(test, 1);
	expect_none(test);
	arrive(test, 1);
	expect_low(test);
	KUNIT_EXPECT_EQ(test, env->fake->limits, 2);
}

static void Q_33_watermark_above_the_number_of_buffers(struct kunit *test)
{
	kdapl_clauses(test, "Q-33");
	make(test, 2);
	set_lw(test, 3);
	/* No message has arrived, so it was not the device */
	expect_low(test);
	KUNIT_EXPECT_EQ(test, env->fake->limits, 0);
	/* And the device does not report it with the next message */
	arrive(test, 1);
	look();
	expect_none(test);
	KUNIT_EXPECT_EQ(test, env->fake->limits, 0);
	set_lw(test, 3);
	expect_low(test);
	/* As many buffers as the mark are not below it */
	post(test, 2);
	set_lw(test, 3);
	look();
	expect_none(test);
	arrive(test, 1);
	expect_low(test);
}

static void Q_33_watermark_of_an_empty_SRQ(struct kunit *test)
{
	kdapl_clauses(test, "Q-33");
	/* Without an endpoint, too */
	set_lw(test, 1);
	expect_low(test);
	set_lw(test, TP_DEPTH);
	expect_low(test);
}

static void Q_33_limit_event_that_the_device_does_not_report(struct kunit *test)
{
	kdapl_clauses(test, "Q-33");
	make(test, 4);
	env->fake->hold_limit = true;
	set_lw(test, 3);
	arrive(test, 1);
	look();
	expect_none(test);
	arrive(test, 1);
	/* The check repeats itself */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(async_evd())));
	expect_low(test);
	arrive(test, 1);
	look();
	expect_none(test);
	/* There is nothing left to check */
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&env->srq->lw_work));
	/* A late report belongs to no mark any more */
	env->fake->hold_limit = false;
	arrive(test, 1);
	KUNIT_EXPECT_EQ(test, env->fake->limits, 1);
	expect_none(test);
}

static void Q_33_limit_event_during_the_call(struct kunit *test)
{
	struct ib_event event = { .event = IB_EVENT_SRQ_LIMIT_REACHED };

	kdapl_clauses(test, "Q-33");
	make(test, 2);
	set_lw(test, 3);
	/* The device reports what the call has already reported */
	kdapl_srq_event(&event, env->srq);
	fake_settle(env->fake);
	expect_low(test);
	/* A report about one mark does not count for the next */
	set_bit(0, &env->srq->lw_reached);
	set_lw(test, 1);
	fake_settle(env->fake);
	look();
	expect_none(test);
	/* Events of other types have no effect */
	event.event = IB_EVENT_SQ_DRAINED;
	kdapl_srq_event(&event, env->srq);
	fake_settle(env->fake);
	expect_none(test);
}

/* A report about a mark that was replaced does not count for the next one */
static void Q_33_late_report_of_a_replaced_watermark(struct kunit *test)
{
	struct ib_event event = { .event = IB_EVENT_SRQ_LIMIT_REACHED };
	u32 refuses;

	kdapl_clauses(test, "Q-33");
	for (refuses = 0; refuses < 2; refuses++) {
		make(test, 5);
		set_lw(test, 4);
		env->fake->hold_limit = true;
		arrive(test, 2);
		set_lw(test, 2);
		/* The check may have run for the first mark */
		forget();
		env->fake->hold_limit = false;
		env->fake->fail_query_srq = refuses ? -EIO : 0;
		kdapl_srq_event(&event, env->srq);
		fake_settle(env->fake);
		/* If the device cannot be queried, its report counts: early is better than never */
		if (refuses)
			expect_low(test);
		else
			expect_none(test);
		arrive(test, 2);
		fake_settle(env->fake);
		if (!refuses)
			expect_low(test);
		arrive(test, 1);
		look();
		expect_none(test);
		tp_ep_free(&ep);
	}
}

/* A report in time raises the event, whatever is set next */
static void Q_33_report_before_the_watermark_is_replaced(struct kunit *test)
{
	kdapl_clauses(test, "Q-33");
	make(test, 4);
	set_lw(test, 3);
	/* It counts messages whose completions were not polled */
	device_srq()->limit = 0;
	set_bit(0, &env->srq->lw_reached);
	set_lw(test, 0);
	expect_low(test);
	look();
	expect_none(test);
}

/* ---- none ---------------------------------------------------------------------- */

static void Q_34_watermark_of_0(struct kunit *test)
{
	kdapl_clauses(test, "Q-34");
	make(test, 4);
	/* Never set */
	arrive(test, 4);
	look();
	expect_none(test);
	/* Set to 0, on an SRQ with buffers and on an empty one */
	post(test, 1);
	set_lw(test, 0);
	arrive(test, 1);
	set_lw(test, 0);
	look();
	expect_none(test);
	KUNIT_EXPECT_EQ(test, env->fake->limits, 0);
	/* Taken back */
	post(test, 4);
	set_lw(test, 3);
	set_lw(test, 0);
	KUNIT_EXPECT_EQ(test, device_srq()->limit, 0);
	arrive(test, 4);
	look();
	expect_none(test);
	KUNIT_EXPECT_EQ(test, env->fake->limits, 0);
}

static void set_lw_arguments(struct kunit *test)
{
	DAT_SRQ_HANDLE srq = env->srq_handle;

	kdapl_clauses(test, "Q-33");
	make(test, 4);
	TP_EXPECT_TYPE(test, dat_srq_set_lw(NULL, 1), DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(ep.handle, 1),
			DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ));
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(srq, -1),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(srq, TP_DEPTH + 1),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	set_lw(test, 3);
	/* A refusal of the device changes nothing */
	env->fake->fail_srq = -EOPNOTSUPP;
	TP_EXPECT_TYPE(test, dat_srq_set_lw(srq, 4), DAT_MODEL_NOT_SUPPORTED);
	env->fake->fail_srq = -EIO;
	TP_EXPECT_TYPE(test, dat_srq_set_lw(srq, 0), DAT_INTERNAL_ERROR);
	env->fake->fail_srq = 0;
	expect_none(test);
	arrive(test, 2);
	expect_low(test);
}

/* ---- the end of an SRQ ------------------------------------------------------------ */

static void C_57_device_leaves_with_a_watermark_set(struct kunit *test)
{
	DAT_EVENT event = { };

	kdapl_clauses(test, "C-57 C-58");
	make(test, 4);
	set_lw(test, 3);
	fake_dev_unplug(env->fake);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&env->srq->lw_work));
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(env->srq_handle, 4),
			DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR));
	TP_EXPECT_TYPE(test, dat_srq_set_lw(env->srq_handle, -1), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&env->srq->lw_work));
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(async_evd(), &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	expect_none(test);
}

/* The work is queued or running when the SRQ is freed; KASAN detects accesses to it */
static void SRQ_is_freed_with_a_watermark_set(struct kunit *test)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	struct ib_event event = { .event = IB_EVENT_SRQ_LIMIT_REACHED };
	struct kdapl_obj *obj;
	struct tp_args args;
	DAT_SRQ_HANDLE srq;
	u32 i;

	kdapl_clauses(test, "Q-33");
	make(test, 0);
	for (i = 0; i < 20; i++) {
		KUNIT_ASSERT_EQ(test, dat_srq_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
						     &attr, &srq), DAT_SUCCESS);
		tp_args(env, &ep, TP_SRQ, &args);
		args.handle = srq;
		KUNIT_EXPECT_EQ(test, tp_post(TP_SRQ, &args), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, dat_srq_set_lw(srq, 1), DAT_SUCCESS);
		if (i & 1) {
			obj = kdapl_obj_get(srq, DAT_HANDLE_TYPE_SRQ);
			KUNIT_ASSERT_NOT_NULL(test, obj);
			kdapl_srq_event(&event, to_kdapl_srq(obj));
			kdapl_obj_put(obj);
		}
		KUNIT_EXPECT_EQ(test, dat_srq_free(srq), DAT_SUCCESS);
	}
	TP_EXPECT_TYPE(test, dat_srq_set_lw(srq, 1), DAT_INVALID_HANDLE);
	fake_settle(env->fake);
}

/* ---- failure ------------------------------------------------------------------ */

static void Q_17_the_device_says_that_it_has_failed(struct kunit *test)
{
	DAT_SRQ_PARAM param = { };

	kdapl_clauses(test, "Q-17");
	make(test, 4);
	set_lw(test, 1);
	fake_srq_fails(device_srq());
	fake_settle(env->fake);
	expect_event(test, DAT_SRQ_TRANSFER_TO_ERROR);
	KUNIT_EXPECT_EQ(test, dat_srq_query(env->srq_handle, DAT_SRQ_FIELD_SRQ_STATE, &param),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)param.srq_state, (int)DAT_SRQ_STATE_ERROR);
	/* Reported only once; no watermark is armed any more, and none can be set */
	fake_srq_fails(device_srq());
	look();
	expect_none(test);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&env->srq->lw_work));
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(env->srq_handle, 1),
			DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR));
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 1, 0), DAT_SUCCESS);
}

/* Counts the posts that the tracepoint reports */
static void count_posts(void *count, u32 id, u8 op, u32 slot, u32 segments, u32 length, u16 flags)
{
	(*(u32 *)count)++;
}

/* A failed device refuses buffers, but a post on an SRQ in ERROR succeeds, and is traced */
static void Q_17_a_device_that_has_failed_refuses_buffers(struct kunit *test)
{
	u32 depth = kdapl_pool_free_count(&env->srq->pool);
	struct tp_args args;
	u32 traced = 0;

	kdapl_clauses(test, "Q-17");
	make(test, 4);
	fake_refuse(env->fake, -EIO, 3);
	/* The failure is not known yet: the slot is returned */
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_SRQ, 1, 0), DAT_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&env->srq->pool), depth - 4);
	fake_srq_fails(device_srq());
	fake_settle(env->fake);
	expect_event(test, DAT_SRQ_TRANSFER_TO_ERROR);
	KUNIT_ASSERT_EQ(test, register_trace_kdapl_post(count_posts, &traced), 0);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 1, 0), DAT_SUCCESS);
	unregister_trace_kdapl_post(count_posts, &traced);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, traced, 1U);
	/* Without segments, which takes the slow path */
	tp_args(env, &ep, TP_SRQ, &args);
	args.n = 0;
	args.iov = NULL;
	KUNIT_EXPECT_EQ(test, tp_post(TP_SRQ, &args), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, env->fake->refusals, 0U);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&env->srq->pool), depth - 6);
}

/* The query may allocate in the driver, and a Consumer that writes pages out may wait for it */
static void watermark_check_allocates_without_IO(struct kunit *test)
{
	struct ib_event event = { .event = IB_EVENT_SRQ_LIMIT_REACHED };

	make(test, 4);
	set_lw(test, 1);
	/* The fixture has freed an LMR, which has set a bit */
	env->fake->noio = 0;
	kdapl_srq_event(&event, env->srq);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, env->fake->noio, FAKE_NOIO_QUERY_SRQ);
}

/* ---- suite -------------------------------------------------------------------------------- */

static int srq_lw_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void srq_lw_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	tp_ep_free(&ep);
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case srq_lw_cases[] = {
	KUNIT_CASE(Q_33_fewer_buffers_than_the_watermark),
	KUNIT_CASE(Q_33_watermark_above_the_number_of_buffers),
	KUNIT_CASE(Q_33_watermark_of_an_empty_SRQ),
	KUNIT_CASE(Q_33_limit_event_that_the_device_does_not_report),
	KUNIT_CASE(Q_33_limit_event_during_the_call),
	KUNIT_CASE(Q_33_late_report_of_a_replaced_watermark),
	KUNIT_CASE(Q_33_report_before_the_watermark_is_replaced),
	KUNIT_CASE(Q_34_watermark_of_0),
	KUNIT_CASE(set_lw_arguments),
	KUNIT_CASE(C_57_device_leaves_with_a_watermark_set),
	KUNIT_CASE(SRQ_is_freed_with_a_watermark_set),
	KUNIT_CASE(Q_17_the_device_says_that_it_has_failed),
	KUNIT_CASE(Q_17_a_device_that_has_failed_refuses_buffers),
	KUNIT_CASE(watermark_check_allocates_without_IO),
	{}
};

static struct kunit_suite srq_lw_suite = {
	.name = "kdapl_srq_lw",
	.init = srq_lw_init,
	.exit = srq_lw_exit,
	.test_cases = srq_lw_cases,
};

kunit_test_suite(srq_lw_suite);
