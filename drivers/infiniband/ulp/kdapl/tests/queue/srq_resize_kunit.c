// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: a shared receive queue changes its size, dat_srq_resize.
 *
 * Larger and smaller sizes, which keep the posted buffers; each refusal, which changes
 * nothing; concurrent posts and completions. At the end of every test all slots must have
 * been returned, and their number must be the size. Runs in a KUnit thread, with a second one
 * that posts; each test has its own device.
 */
#include <linux/kthread.h>
#include "clause.h"
#include "fail_alloc.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static struct fake_srq *device_srq(void)
{
	return to_fake_srq(rcu_dereference_raw(env->srq->srq));
}

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

static DAT_RETURN post(u64 cookie)
{
	return tp_post_one(env, &ep, TP_SRQ, cookie, 0);
}

/* Expects that @n posts are accepted, and one more is not */
static void fill(struct kunit *test, u64 first, u32 room)
{
	u32 i;

	for (i = 0; i < room; i++)
		KUNIT_ASSERT_EQ(test, post(first + i), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, post(0), DAT_INSUFFICIENT_RESOURCES);
}

/* @n messages arrive and use these buffers */
static void arrive(struct kunit *test, u64 first, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_SRQ, IB_WC_SUCCESS, 1 + i));
		tp_expect_dto(test, &ep, TP_SRQ, first + i, DAT_DTO_SUCCESS, 1 + i);
	}
}

static void expect_size(struct kunit *test, u32 size)
{
	KUNIT_EXPECT_EQ(test, query(test).max_recv_dtos, size);
	KUNIT_EXPECT_EQ(test, device_srq()->rq.size, size);
}

static void connect(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
}

/* ---- it works -------------------------------------------------------------------- */

static void resize_with_buffers_posted(struct kunit *test)
{
	fill(test, 100, TP_DEPTH);
	KUNIT_ASSERT_EQ(test, resize(TP_DEPTH + 5), DAT_SUCCESS);
	expect_size(test, TP_DEPTH + 5);
	fill(test, 100 + TP_DEPTH, 5);
	/* And again, which adds another pool */
	KUNIT_ASSERT_EQ(test, resize(3 * TP_DEPTH), DAT_SUCCESS);
	expect_size(test, 3 * TP_DEPTH);
	fill(test, 105 + TP_DEPTH, 2 * TP_DEPTH - 5);
	KUNIT_EXPECT_EQ(test, query(test).outstanding_dto_count, 3 * TP_DEPTH);

	/* Buffers from before and after are used in their order */
	connect(test);
	arrive(test, 100, 2 * TP_DEPTH);
	KUNIT_EXPECT_EQ(test, query(test).outstanding_dto_count, TP_DEPTH);
	KUNIT_ASSERT_EQ(test, resize(TP_DEPTH), DAT_SUCCESS);
	expect_size(test, TP_DEPTH);
	TP_EXPECT_TYPE(test, post(1), DAT_INSUFFICIENT_RESOURCES);
	arrive(test, 100 + 2 * TP_DEPTH, TP_DEPTH);
	fill(test, 500, TP_DEPTH);
	/* Withheld slots are used before new ones are allocated */
	KUNIT_ASSERT_EQ(test, resize(3 * TP_DEPTH), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, env->srq->nheld, 0);
	fill(test, 500 + TP_DEPTH, 2 * TP_DEPTH);
	arrive(test, 500, 3 * TP_DEPTH);
}

static void smaller_than_created_and_back(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, resize(1), DAT_SUCCESS);
	expect_size(test, 1);
	fill(test, 1, 1);
	KUNIT_ASSERT_EQ(test, resize(1), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, resize(TP_DEPTH), DAT_SUCCESS);
	expect_size(test, TP_DEPTH);
	KUNIT_EXPECT_PTR_EQ(test, env->srq->more, NULL);
	fill(test, 2, TP_DEPTH - 1);
	connect(test);
	arrive(test, 1, TP_DEPTH);
}

/* Queued events count as outstanding; slots that were added are returned, too */
static void events_that_wait_keep_their_slots(struct kunit *test)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, resize(2 * TP_DEPTH), DAT_SUCCESS);
	fill(test, 1, 2 * TP_DEPTH);
	connect(test);
	for (i = 0; i < 2 * TP_DEPTH; i++)
		tp_complete(env, &ep, TP_SRQ, IB_WC_SUCCESS, 7);
	KUNIT_EXPECT_EQ(test, query(test).available_dto_count, 0);
	KUNIT_EXPECT_EQ(test, query(test).outstanding_dto_count, 2 * TP_DEPTH);
	TP_EXPECT_TYPE(test, resize(2 * TP_DEPTH - 1), DAT_INVALID_STATE);
	for (i = 0; i < 2 * TP_DEPTH; i++)
		tp_expect_dto(test, &ep, TP_SRQ, 1 + i, DAT_DTO_SUCCESS, 7);
	KUNIT_EXPECT_EQ(test, resize(1), DAT_SUCCESS);
}

static void the_low_watermark_counts_all_of_them(struct kunit *test)
{
	DAT_EVD_HANDLE async = kdapl_obj_handle(&env->ia->async_evd->obj);

	kdapl_clauses(test, "Q-33");
	KUNIT_ASSERT_EQ(test, resize(2 * TP_DEPTH), DAT_SUCCESS);
	fill(test, 1, 2 * TP_DEPTH);
	TP_EXPECT_TYPE(test, dat_srq_set_lw(env->srq_handle, 2 * TP_DEPTH + 1),
		       DAT_INVALID_PARAMETER);
	KUNIT_ASSERT_EQ(test, dat_srq_set_lw(env->srq_handle, 2 * TP_DEPTH), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_events(async), 0);
	/* Not above it */
	TP_EXPECT_TYPE(test, resize(2 * TP_DEPTH), DAT_INVALID_STATE);
	KUNIT_ASSERT_EQ(test, resize(2 * TP_DEPTH + 1), DAT_SUCCESS);
	connect(test);
	arrive(test, 1, 1);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, tp_events(async), 1);
}

/* ---- refusals --------------------------------------------------------------------- */

static void expect_unchanged(struct kunit *test, u64 first)
{
	expect_size(test, TP_DEPTH);
	KUNIT_EXPECT_EQ(test, env->srq->nheld, 0);
	KUNIT_EXPECT_PTR_EQ(test, env->srq->more, NULL);
	fill(test, first, TP_DEPTH - query(test).outstanding_dto_count);
}

static void refuses_bad_arguments(struct kunit *test)
{
	DAT_IA_ATTR attr = { };

	KUNIT_ASSERT_EQ(test, dat_ia_query(kdapl_obj_handle(&env->ia->obj), NULL,
					   DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ, &attr, 0, NULL),
			DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_srq_resize(NULL, 8), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_srq_resize(env->own.pz, 8), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, resize(0), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, resize(-1), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, resize(attr.max_recv_per_srq + 1), DAT_INVALID_PARAMETER);
	expect_unchanged(test, 1);
	KUNIT_EXPECT_EQ(test, resize(attr.max_recv_per_srq), DAT_SUCCESS);
	expect_size(test, attr.max_recv_per_srq);
}

static void refuses_below_what_is_outstanding(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, post(1), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, post(2), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, resize(1), DAT_INVALID_STATE);
	expect_unchanged(test, 3);
	TP_EXPECT_TYPE(test, resize(TP_DEPTH - 1), DAT_INVALID_STATE);
}

static void refuses_beyond_what_its_endpoints_have_room_for(struct kunit *test)
{
	connect(test);
	TP_EXPECT_TYPE(test, resize(TP_DEPTH + 1), DAT_INSUFFICIENT_RESOURCES);
	expect_unchanged(test, 1);
	arrive(test, 1, TP_DEPTH);
	/* After a reduction there is room to grow again */
	KUNIT_EXPECT_EQ(test, resize(2), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, resize(TP_DEPTH), DAT_SUCCESS);
	/* A CQ that was created for the larger SRQ has more room */
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, resize(2 * TP_DEPTH), DAT_SUCCESS);
	connect(test);
	fill(test, 1, 2 * TP_DEPTH);
	arrive(test, 1, 2 * TP_DEPTH);
	TP_EXPECT_TYPE(test, resize(2 * TP_DEPTH + 1), DAT_INSUFFICIENT_RESOURCES);
}

static void refuses_what_the_device_refuses(struct kunit *test)
{
	static const struct {
		int err;
		u32 type;
	} answer[] = {
		{ -EOPNOTSUPP, DAT_MODEL_NOT_SUPPORTED },
		{ -ENOMEM, DAT_INSUFFICIENT_RESOURCES },
		{ -EINVAL, DAT_INSUFFICIENT_RESOURCES },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(answer); i++) {
		env->fake->fail_srq = answer[i].err;
		TP_EXPECT_TYPE(test, resize(TP_DEPTH + 3), answer[i].type);
		TP_EXPECT_TYPE(test, resize(TP_DEPTH - 3), answer[i].type);
		KUNIT_EXPECT_EQ(test, env->srq->nheld, 0);
	}
	env->fake->fail_srq = 0;
	env->fake->ibdev.attrs.device_cap_flags &= ~IB_DEVICE_SRQ_RESIZE;
	TP_EXPECT_TYPE(test, resize(TP_DEPTH + 3), DAT_MODEL_NOT_SUPPORTED);
	expect_unchanged(test, 1);
}

static void refuses_on_an_orphan(struct kunit *test)
{
	fake_dev_unplug(env->fake);
	TP_EXPECT_TYPE(test, resize(TP_DEPTH + 1), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, resize(TP_DEPTH - 1), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, query(test).max_recv_dtos, TP_DEPTH);
}

static void refuses_without_memory(struct kunit *test)
{
	DAT_RETURN ret;
	bool fails;

	kdapl_fail_allocations(true);
	fails = kdapl_slab_fails(GFP_KERNEL);
	ret = resize(TP_DEPTH + 1);
	kdapl_fail_allocations(false);
	if (!fails)
		kunit_skip(test, "the kernel has no fault injection for allocations");
	TP_EXPECT_TYPE(test, ret, DAT_INSUFFICIENT_RESOURCES);
	expect_unchanged(test, 1);
}

/* ---- at the same time ---------------------------------------------------------------- */

/* Maximum number of outstanding buffers, smaller than most sizes */
#define AT_ONCE	12

static struct {
	u64 posted;
	u64 taken;
	u64 odd;		/* impossible return values */
} flow;

static int poster(void *data)
{
	DAT_RETURN ret;

	while (!kthread_should_stop()) {
		if (flow.posted - READ_ONCE(flow.taken) >= AT_ONCE) {
			cond_resched();
			continue;
		}
		ret = post(flow.posted + 1);
		if (ret == DAT_SUCCESS)
			WRITE_ONCE(flow.posted, flow.posted + 1);
		else if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			flow.odd++;
		cond_resched();
	}
	return 0;
}

/* In posting order, nothing lost, nothing twice */
static void take(struct kunit *test, u64 last)
{
	while (flow.taken < last) {
		arrive(test, flow.taken + 1, 1);
		WRITE_ONCE(flow.taken, flow.taken + 1);
	}
}

static void posts_continue_meanwhile(struct kunit *test)
{
	unsigned long end = jiffies + msecs_to_jiffies(KDAPL_HANG_MS);
	u64 before = 0, now;
	struct task_struct *thread;
	u32 resized = 0, i;
	DAT_RETURN ret;

	/* A CQ for the largest size */
	KUNIT_ASSERT_EQ(test, resize(3 * TP_DEPTH), DAT_SUCCESS);
	connect(test);
	memset(&flow, 0, sizeof(flow));
	thread = kthread_run(poster, NULL, "kdapl_test_post");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread);
	/* On a busy machine either thread may take long; the loop ends if neither makes progress */
	for (i = 0; (READ_ONCE(flow.posted) < 400 || resized <= 50) && time_before(jiffies, end);
	     i++) {
		ret = resize(1 + (i * 7) % (3 * TP_DEPTH));
		if (ret != DAT_SUCCESS)
			TP_EXPECT_TYPE(test, ret, DAT_INVALID_STATE);
		resized += ret == DAT_SUCCESS;
		take(test, READ_ONCE(flow.posted));
		now = resized + flow.taken;
		if (now != before)
			end = jiffies + msecs_to_jiffies(KDAPL_HANG_MS);
		before = now;
		cond_resched();
	}
	kthread_stop(thread);
	take(test, flow.posted);
	KUNIT_EXPECT_EQ(test, flow.odd, 0);
	KUNIT_EXPECT_GE(test, flow.posted, 400);
	KUNIT_EXPECT_GT(test, resized, 50);
	KUNIT_EXPECT_EQ(test, query(test).outstanding_dto_count, 0);
}

/* ---- suite ------------------------------------------------------------------------------ */

static int resize_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

/* Free, withheld and outstanding slots together are all slots */
static void expect_conserved(struct kunit *test)
{
	struct kdapl_srq *srq = env->srq;
	u32 all = srq->pool.depth, free = kdapl_pool_free_count(&srq->pool);
	struct kdapl_srq_more *more;

	for (more = srq->more; more; more = more->next) {
		all += more->pool.depth;
		free += kdapl_pool_free_count(&more->pool);
	}
	KUNIT_EXPECT_EQ(test, srq->depth + srq->nheld, all);
	KUNIT_EXPECT_EQ(test, free + srq->nheld + kdapl_srq_count(srq, KDAPL_SLOT_POSTED) +
			      kdapl_srq_count(srq, KDAPL_SLOT_DONE), all);
}

static void resize_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	expect_conserved(test);
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case srq_resize_cases[] = {
	KUNIT_CASE(resize_with_buffers_posted),
	KUNIT_CASE(smaller_than_created_and_back),
	KUNIT_CASE(events_that_wait_keep_their_slots),
	KUNIT_CASE(the_low_watermark_counts_all_of_them),
	KUNIT_CASE(refuses_bad_arguments),
	KUNIT_CASE(refuses_below_what_is_outstanding),
	KUNIT_CASE(refuses_beyond_what_its_endpoints_have_room_for),
	KUNIT_CASE(refuses_what_the_device_refuses),
	KUNIT_CASE(refuses_on_an_orphan),
	KUNIT_CASE(refuses_without_memory),
	KUNIT_CASE(posts_continue_meanwhile),
	{}
};

static struct kunit_suite srq_resize_suite = {
	.name = "kdapl_srq_resize",
	.init = resize_init,
	.exit = resize_exit,
	.test_cases = srq_resize_cases,
};

kunit_test_suite(srq_resize_suite);
