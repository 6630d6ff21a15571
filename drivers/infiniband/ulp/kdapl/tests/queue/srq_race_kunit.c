// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: concurrent calls on a shared receive queue in use.
 *
 * A thread posts, completes and dequeues a few buffers at a time. No query may report more,
 * and a resize to this number must succeed. Size and low watermark are also changed
 * concurrently. Runs in a KUnit thread, with a second one; each test has its own device.
 */
#include "beside.h"
#include "clause.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;
static struct task_struct *thread;

static DAT_SRQ_PARAM query(struct kunit *test)
{
	DAT_SRQ_PARAM param = { };

	KUNIT_EXPECT_EQ(test, dat_srq_query(env->srq_handle, DAT_SRQ_FIELD_ALL, &param),
			DAT_SUCCESS);
	return param;
}

static DAT_RETURN resize(DAT_COUNT size)
{
	return dat_srq_resize(env->srq_handle, size);
}

static void start(struct kunit *test, int (*run)(void *data))
{
	thread = beside_run(run, "kdapl_test_srq");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread);
}

/* ---- buffers on their way -------------------------------------------------------- */

#define AT_ONCE	5

static struct {
	u32 rounds;
	u32 refused;	/* posts */
	u32 lost;	/* messages that found no buffer */
} flow;

static void take_one(void)
{
	DAT_EVENT event;

	flow.lost += !fake_complete_srq(tp_qp(&ep), IB_WC_SUCCESS, 1);
	/* Its callback runs in softirq */
	while (dat_evd_dequeue(ep.recv_evd, &event) != DAT_SUCCESS && !kthread_should_stop())
		cond_resched();
}

static int flow_thread(void *data)
{
	u32 out = 0;

	while (!kthread_should_stop()) {
		for (; out < AT_ONCE; out++)
			flow.refused += tp_post_one(env, &ep, TP_SRQ, 1, 0) != DAT_SUCCESS;
		/* Several, so that they are returned in another order */
		for (; out > AT_ONCE - 3; out--)
			take_one();
		WRITE_ONCE(flow.rounds, flow.rounds + 1);
		cond_resched();
	}
	return 0;
}

#define RESIZES	3000

static void resize_counts_no_buffer_twice(struct kunit *test)
{
	u32 most = 0, failed = 0, i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	memset(&flow, 0, sizeof(flow));
	start(test, flow_thread);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(flow.rounds)));
	for (i = 0; i < RESIZES; i++) {
		failed += resize(AT_ONCE) != DAT_SUCCESS;
		most = max_t(u32, most, query(test).outstanding_dto_count);
		failed += resize(TP_DEPTH) != DAT_SUCCESS;
		most = max_t(u32, most, query(test).outstanding_dto_count);
		cond_resched();
	}
	beside_stop(thread);
	KUNIT_EXPECT_EQ(test, failed, 0);
	KUNIT_EXPECT_LE(test, most, AT_ONCE);
	KUNIT_EXPECT_EQ(test, flow.refused, 0);
	KUNIT_EXPECT_EQ(test, flow.lost, 0);
	KUNIT_EXPECT_GT(test, flow.rounds, 10);
}

/* ---- size and watermark ---------------------------------------------------------- */

static int sizes_thread(void *data)
{
	while (!kthread_should_stop()) {
		resize(TP_DEPTH / 2);
		resize(TP_DEPTH);
		cond_resched();
	}
	return 0;
}

#define MARKS	3000

/* The first succeeds, the other is refused */
static void Q_33_resize_below_the_watermark(struct kunit *test)
{
	u32 set = 0, above = 0, other = 0, i;
	DAT_SRQ_PARAM param;
	DAT_RETURN ret;

	kdapl_clauses(test, "Q-33");
	start(test, sizes_thread);
	/* On one CPU the other thread may be in the same half of its round for long */
	for (i = 0; i < MARKS || (!set && i < 1000 * MARKS); i++) {
		ret = dat_srq_set_lw(env->srq_handle, TP_DEPTH - 4);
		if (ret == DAT_SUCCESS) {
			set++;
			param = query(test);
			above += param.low_watermark > param.max_recv_dtos;
		} else {
			other += DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER;
		}
		/* Allows it to become small again */
		other += dat_srq_set_lw(env->srq_handle, 0) != DAT_SUCCESS;
		cond_resched();
	}
	beside_stop(thread);
	KUNIT_EXPECT_GT(test, set, 0);
	KUNIT_EXPECT_EQ(test, above, 0);
	KUNIT_EXPECT_EQ(test, other, 0);
}

/* ---- suite ------------------------------------------------------------------------ */

static int srq_race_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void srq_race_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case srq_race_cases[] = {
	KUNIT_CASE(resize_counts_no_buffer_twice),
	KUNIT_CASE(Q_33_resize_below_the_watermark),
	{}
};

static struct kunit_suite srq_race_suite = {
	.name = "kdapl_srq_race",
	.init = srq_race_init,
	.exit = srq_race_exit,
	.test_cases = srq_race_cases,
};

kunit_test_suite(srq_race_suite);
