// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: to take the events of many endpoints back takes one pass over the queue of their EVD.
 *
 * The walk over the queue (kdapl_evd_take_back()) visits each event once, so the number of steps
 * of a walk is the length of the queue before it. The EPs end one after the other. The test stops
 * dat_ia_close() after the first walk: if the queue has no event of any EP then, all later walks
 * together have no step for these events. Runs in a KUnit thread, with a second one for the call.
 */
#include "clause.h"
#include "post_kunit.h"

#define EPS		200
#define EACH		2		/* events of each EP */
#define OTHERS		3		/* events of no EP */

static struct tp_env *env;
static struct tp_ep first;
/* It may outlive a failed test */
static struct tp_aside closing;
static struct completion destroying, stopped;

/* Two events of an EP, one of them of a flushed receive */
static void add_events(struct kunit *test, struct tp_ep *tep)
{
	KUNIT_ASSERT_EQ(test, tp_connect(tep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, tep, TP_SEND, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, tep, TP_RECV, 2, 0), DAT_SUCCESS);
	KUNIT_ASSERT_TRUE(test, fake_complete_send(tp_qp(tep), IB_WC_SUCCESS));
}

/* On one EVD for receives and requests */
static void make_eps(struct kunit *test)
{
	DAT_EVENT soft = { .event_number = DAT_SOFTWARE_EVENT };
	struct tp_ep like, one;
	u32 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &first), DAT_SUCCESS);
	like = first;
	like.request_evd = first.recv_evd;
	KUNIT_ASSERT_EQ(test, dat_ep_free(first.handle), DAT_SUCCESS);
	for (i = 0; i < EPS; i++) {
		KUNIT_ASSERT_EQ(test, tp_ep_beside(env, &like, &one), DAT_SUCCESS);
		add_events(test, &one);
		if (i < OTHERS)
			KUNIT_ASSERT_EQ(test, dat_evd_post_se(first.recv_evd, &soft), DAT_SUCCESS);
	}
	fake_settle(env->fake);
}

static void close_ia(void)
{
	WARN_ON(dat_ia_close(kdapl_obj_handle(&env->ia->obj), DAT_CLOSE_ABRUPT_FLAG) !=
		DAT_SUCCESS);
}

/* In dat_ia_close(), when all EPs have been drained and before the first one ends */
static void stop_here(void)
{
	complete(&destroying);
	wait_for_completion(&stopped);
}

static u32 queued(struct kdapl_obj *evd)
{
	return kdapl_evd_count(to_kdapl_evd(evd), NULL);
}

static void C_36_the_events_of_all_endpoints_leave_in_one_pass(struct kunit *test)
{
	struct kdapl_ia *ia = env->ia;
	const u32 all = EPS * EACH + OTHERS;
	struct kdapl_obj *evd;
	u32 left;

	kdapl_clauses(test, "C-36");
	make_eps(test);
	evd = kdapl_obj_get(first.recv_evd, DAT_HANDLE_TYPE_EVD);
	KUNIT_ASSERT_NOT_NULL(test, evd);
	kdapl_obj_put(evd);
	env->fake->destroy_hook = stop_here;
	refcount_inc(&ia->mem);
	tp_start(&closing, close_ia);
	wait_for_completion(&destroying);
	/* An EP that has taken its events back waits for this mutex */
	mutex_lock(&ia->mutex);
	KUNIT_EXPECT_EQ(test, queued(evd), all);
	complete(&stopped);
	kdapl_sleep_until(queued(evd) != all);
	left = queued(evd);
	mutex_unlock(&ia->mutex);
	KUNIT_EXPECT_EQ(test, left, OTHERS);
	KUNIT_ASSERT_TRUE(test, tp_finish(&closing));
	env->ia = NULL;
	kdapl_ia_mem_put(ia);
}

/* ---- suite ------------------------------------------------------------------------ */

static int take_back_init(struct kunit *test)
{
	memset(&first, 0, sizeof(first));
	init_completion(&destroying);
	init_completion(&stopped);
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void take_back_exit(struct kunit *test)
{
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case take_back_cases[] = {
	KUNIT_CASE(C_36_the_events_of_all_endpoints_leave_in_one_pass),
	{}
};

static struct kunit_suite take_back_suite = {
	.name = "kdapl_take_back",
	.init = take_back_init,
	.exit = take_back_exit,
	.test_cases = take_back_cases,
};

kunit_test_suite(take_back_suite);
