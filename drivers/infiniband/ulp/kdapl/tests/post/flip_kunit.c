// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: arguments that change while a call reads them.
 *
 * A call must use exactly the values that it has checked. If a Consumer changes a struct
 * during the call, the call uses the old value or the new one, or is refused, but it never
 * uses a combination that it has not checked. Runs in a KUnit thread, with a second thread
 * that changes the struct; each test has its own device.
 */
#include "beside.h"
#include "clause.h"
#include "post_kunit.h"

#define ROUNDS	100	/* minimum */
/*
 * Additional rounds until both values were used. On a busy host a race may need thousands
 */
#define PATIENCE	20000

static struct tp_env *env;

/* The thread that writes the two values in turn, and the fields that it writes */
static struct {
	struct task_struct *task;
	bool running;
	DAT_COUNT *count;
	DAT_COUNT value[2];
	DAT_UPCALL_FUNC *func;
} flip;

static void some_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
}

static int flip_thread(void *unused)
{
	u32 i, odd = 0;

	while (!kthread_should_stop()) {
		odd = !odd;
		/*
		 * Writes often, at no fixed point of the calls, and pauses at either value
		 * in turn
		 */
		for (i = 0; i < 1001 + odd; i++) {
			if (flip.count)
				WRITE_ONCE(*flip.count, flip.value[i & 1]);
			if (flip.func)
				WRITE_ONCE(*flip.func, i & 1 ? some_upcall : NULL);
		}
		WRITE_ONCE(flip.running, true);
		cond_resched();
	}
	return 0;
}

static void flip_start(struct kunit *test)
{
	flip.running = false;
	flip.task = beside_run(flip_thread, "kdapl-flip");
	KUNIT_ASSERT_FALSE(test, IS_ERR(flip.task));
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(flip.running)));
}

/* Returns whether to continue after @rounds, of which @met used one of the two values */
static bool flip_more(u32 rounds, u32 least, u32 met)
{
	cond_resched();
	if (rounds < least)
		return true;
	if (met && met < rounds)
		return false;
	/* The other thread has not run: let it run */
	schedule_timeout_uninterruptible(1);
	return rounds < least + PATIENCE;
}

static void flip_stop(void)
{
	beside_stop(flip.task);
	memset(&flip, 0, sizeof(flip));
}

/* Returns the object of a handle without a reference; the test does not free it */
static struct kdapl_obj *object(struct kunit *test, DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, type);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	kdapl_obj_put(obj);
	return obj;
}

static DAT_IA_HANDLE ia(void)
{
	return kdapl_obj_handle(&env->ia->obj);
}

/* The device must have room for as many segments as a post may have */
static void P4_segments_of_an_SRQ(struct kunit *test)
{
	static DAT_SRQ_ATTR attr = { .max_recv_dtos = 2 };
	u32 differ = 0, one = 0, i;
	struct kdapl_srq *srq;
	DAT_SRQ_HANDLE handle;

	attr.max_recv_iov = 1;
	flip.count = &attr.max_recv_iov;
	flip.value[0] = 1;
	flip.value[1] = TP_SRQ_IOV;
	flip_start(test);
	/* They are freed together, with their IA */
	for (i = 0; flip_more(i, ROUNDS, one); i++) {
		KUNIT_ASSERT_EQ(test, dat_srq_create(ia(), env->own.pz, &attr, &handle),
				DAT_SUCCESS);
		srq = to_kdapl_srq(object(test, handle, DAT_HANDLE_TYPE_SRQ));
		differ += srq->max_iov != to_fake_srq(rcu_dereference_raw(srq->srq))->max_sge;
		one += srq->max_iov == 1;
	}
	flip_stop();
	KUNIT_EXPECT_EQ(test, differ, 0);
	/* Both values were used */
	KUNIT_EXPECT_GT(test, one, 0);
	KUNIT_EXPECT_LT(test, one, i);
}

static void P4_attributes_of_an_SRQ_endpoint(struct kunit *test)
{
	static DAT_EP_ATTR attr;
	u32 bad = 0, made = 0, i;
	struct tp_ep parents;
	DAT_EP_HANDLE handle;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &parents), DAT_SUCCESS);
	tp_attr(&attr);
	flip.count = &attr.max_rdma_read_out;
	flip.value[0] = 4;
	flip.value[1] = FAKE_MAX_RD_ATOM + 1;
	flip_start(test);
	/*
	 * Freeing each EP waits for grace periods, so the test makes no more than needed.
	 * If no call was refused, the other thread has not run.
	 */
	for (i = 0; (made < ROUNDS / 2 || made == i) && flip_more(i, ROUNDS, made); i++) {
		ret = dat_ep_create_with_srq(ia(), env->own.pz, parents.recv_evd,
					     parents.request_evd, parents.connect_evd,
					     env->srq_handle, &attr, &handle);
		if (ret == DAT_SUCCESS) {
			ep = to_kdapl_ep(object(test, handle, DAT_HANDLE_TYPE_EP));
			bad += ep->cfg.attr.max_rdma_read_out != 4;
			made++;
		} else {
			bad += DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER;
		}
	}
	flip_stop();
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_GT(test, made, 0);
	KUNIT_EXPECT_LT(test, made, i);
}

/* An EVD that was created must have an upcall function */
static void P4_upcall_of_a_new_EVD(struct kunit *test)
{
	static DAT_UPCALL_OBJECT upcall;
	u32 bad = 0, made = 0, i;
	DAT_EVD_HANDLE handle;
	struct kdapl_evd *evd;

	flip.func = &upcall.upcall_func;
	flip_start(test);
	for (i = 0; flip_more(i, ROUNDS, made); i++) {
		if (dat_evd_kcreate(ia(), 1, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				    DAT_EVD_SOFTWARE_FLAG, &handle) != DAT_SUCCESS)
			continue;
		evd = to_kdapl_evd(object(test, handle, DAT_HANDLE_TYPE_EVD));
		bad += !evd->upcall.upcall_func;
		made++;
	}
	flip_stop();
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_GT(test, made, 0);
}

static void P4_change_of_the_upcall(struct kunit *test)
{
	static DAT_UPCALL_OBJECT upcall;
	u32 bad = 0, made = 0, i;
	DAT_EVD_HANDLE handle;
	struct kdapl_evd *evd;

	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia(), 1, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_SOFTWARE_FLAG, &handle), DAT_SUCCESS);
	evd = to_kdapl_evd(object(test, handle, DAT_HANDLE_TYPE_EVD));
	flip.func = &upcall.upcall_func;
	flip_start(test);
	for (i = 0; flip_more(i, 100 * ROUNDS, made); i++) {
		if (dat_evd_modify_upcall(handle, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					  DAT_UPCALL_INVOC_NEW) != DAT_SUCCESS)
			continue;
		bad += !evd->upcall.upcall_func;
		made++;
	}
	flip_stop();
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_GT(test, made, 0);
}

/*
 * A segment is bad when the request is filled in, and good again when the slow path looks
 * for the reason of the refusal. The call must not post the request that was filled in
 * before.
 */
static void expect_whole_or_refused(struct kunit *test, struct tp_ep *ep, enum tp_call call)
{
	static struct tp_args args;
	u32 fixed = 0, i;
	DAT_RETURN ret;

	tp_args(env, ep, call, &args);
	args.n = 2;
	flip.count = (DAT_COUNT *)&args.segs[1].lmr_context;
	flip.value[0] = args.segs[1].lmr_context;
	flip.value[1] = env->freed;
	flip_start(test);
	for (i = 0; flip_more(i, ROUNDS, fixed); i++) {
		ret = tp_post(call, &args);
		if (ret == DAT_SUCCESS) {
			KUNIT_EXPECT_EQ(test, fake_last(tp_queue(env, ep, call))->num_sge, 2);
			tp_complete(env, ep, call, IB_WC_SUCCESS, 0);
			tp_drain(ep);
		} else if (ret == DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)) {
			fixed++;
		} else {
			TP_EXPECT_TYPE(test, ret, DAT_PRIVILEGES_VIOLATION);
		}
	}
	flip_stop();
	/* The race has occurred at least once */
	KUNIT_EXPECT_GT(test, fixed, 0);
	KUNIT_EXPECT_EQ(test, tp_slots(tp_pool(env, ep, call)), TP_DEPTH);
}

static void P4_segments_of_a_post(struct kunit *test)
{
	struct tp_ep ep;

	if (!beside_parallel())
		kunit_skip(test, "needs CPUs that run at the same time");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	expect_whole_or_refused(test, &ep, TP_SEND);
	expect_whole_or_refused(test, &ep, TP_RECV);
	tp_ep_free(&ep);
}

/* ---- suite ------------------------------------------------------------------------ */

static int flip_init(struct kunit *test)
{
	memset(&flip, 0, sizeof(flip));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void flip_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case flip_cases[] = {
	KUNIT_CASE(P4_segments_of_an_SRQ),
	KUNIT_CASE(P4_attributes_of_an_SRQ_endpoint),
	KUNIT_CASE(P4_upcall_of_a_new_EVD),
	KUNIT_CASE(P4_change_of_the_upcall),
	KUNIT_CASE(P4_segments_of_a_post),
	{}
};

static struct kunit_suite flip_suite = {
	.name = "kdapl_flip",
	.init = flip_init,
	.exit = flip_exit,
	.test_cases = flip_cases,
};

kunit_test_suite(flip_suite);
