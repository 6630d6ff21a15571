// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: signalled requests that are posted without the lock, next to unsignalled ones
 * (unsignalled.h).
 *
 * Replaces the verbs call of the fake device, so that a test acts while an unsignalled
 * request is in the queue of the device but not yet published. Runs in a KUnit thread; some
 * tests have a second thread on another CPU, and the last one has four.
 */
#include <linux/kthread.h>
#include "post_kunit.h"

/* Threads of the last test, requests of each, and how many of its queue are signalled */
#define THREADS		4
#define ROUNDS		600
#define SIGNALLED(n)	((n) % 3 == 0)

static struct tp_env *env;
static struct tp_ep ep;

/* What the next verbs call of the EP does after (or instead of) the real one, once */
static void (*in_verbs)(const struct ib_send_wr *wr);
static bool swallow;

static int post_send_hooked(struct ib_qp *qp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad)
{
	void (*call)(const struct ib_send_wr *wr) = in_verbs;
	int err = 0;

	if (!call || qp != &tp_qp(&ep)->ibqp)
		return fake_post_send(qp, wr, bad);
	in_verbs = NULL;
	if (!swallow)
		err = fake_post_send(qp, wr, bad);
	call(wr);
	return err;
}

static DAT_RETURN suppressed(u64 cookie)
{
	return tp_post_one(env, &ep, TP_SEND, cookie, DAT_COMPLETION_SUPPRESS_FLAG);
}

/* Another flag takes the slow path */
static DAT_RETURN suppressed_fence(u64 cookie)
{
	return tp_post_one(env, &ep, TP_SEND, cookie, DAT_COMPLETION_SUPPRESS_FLAG |
						      DAT_COMPLETION_BARRIER_FENCE_FLAG);
}

/* A vector has its own fast path */
static DAT_RETURN suppressed_vector(u64 cookie)
{
	struct tp_args args;

	tp_args(env, &ep, TP_SEND, &args);
	args.n = 2;
	args.cookie.as_64 = cookie;
	args.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	return tp_post(TP_SEND, &args);
}

static DAT_RETURN signalled(u64 cookie)
{
	return tp_post_one(env, &ep, TP_SEND, cookie, 0);
}

static u32 free_slots(void)
{
	return tp_slots(&ep.ep->sq.pool);
}

static void make_connected(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
}

static struct kdapl_slot *slot_at(u32 n)
{
	return kdapl_slot_of_cqe(fake_wr_at(&tp_qp(&ep)->sq, n)->cqe);
}

/* ---- while an unsignalled request is not published ------------------------------- */

static DAT_RETURN nested;

static void post_signalled(const struct ib_send_wr *wr)
{
	nested = signalled(2);
}

/* A signalled post inside the verbs call of an unsignalled one: it must not wait for the lock */
static void expect_released_by_a_later_one(struct kunit *test, DAT_RETURN (*unsignalled)(u64))
{
	struct kdapl_sq *sq;

	make_connected(test);
	sq = &ep.ep->sq;
	nested = DAT_INTERNAL_ERROR;
	in_verbs = post_signalled;
	KUNIT_ASSERT_EQ(test, unsignalled(1), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, nested, DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 2);
	KUNIT_EXPECT_EQ(test, sq->run_tail, 1);
	KUNIT_EXPECT_EQ(test, slot_at(1)->ev.run_end, 0);

	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_SUCCESS, TP_SEG);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH - 1);

	KUNIT_ASSERT_EQ(test, signalled(3), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, slot_at(0)->ev.run_end, 1);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_expect_dto(test, &ep, TP_SEND, 3, DAT_DTO_SUCCESS, TP_SEG);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, sq->run_head, sq->run_tail);
}

static void unpublished_request_is_released_by_a_later_one(struct kunit *test)
{
	expect_released_by_a_later_one(test, suppressed);
}

static void unpublished_vector_is_released_by_a_later_one(struct kunit *test)
{
	expect_released_by_a_later_one(test, suppressed_vector);
}

static void unpublished_request_of_the_slow_path(struct kunit *test)
{
	expect_released_by_a_later_one(test, suppressed_fence);
}

static void post_suppressed(const struct ib_send_wr *wr)
{
	nested = suppressed(2);
}

/* An unsignalled request that is published inside the verbs call of a signalled one follows it */
static void position_is_read_before_the_verbs_call(struct kunit *test)
{
	make_connected(test);
	nested = DAT_INTERNAL_ERROR;
	in_verbs = post_suppressed;
	KUNIT_ASSERT_EQ(test, signalled(1), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, nested, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, ep.ep->sq.run_tail, 1);
	KUNIT_EXPECT_EQ(test, slot_at(0)->ev.run_end, 0);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_expect_dto(test, &ep, TP_SEND, 1, DAT_DTO_SUCCESS, TP_SEG);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH - 1);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_ASSERT_EQ(test, signalled(3), DAT_SUCCESS);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_expect_dto(test, &ep, TP_SEND, 3, DAT_DTO_SUCCESS, TP_SEG);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
}

/* A run that a signalled request has released does not grow, so no completion is added */
static void completed_requests_do_not_end_a_run(struct kunit *test)
{
	struct kdapl_sq *sq;
	u32 i;

	make_connected(test);
	sq = &ep.ep->sq;
	for (i = 0; i < 3 * sq->run_max; i++) {
		KUNIT_ASSERT_EQ(test, suppressed(1), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, fake_last(&tp_qp(&ep)->sq)->send_flags, 0);
		KUNIT_ASSERT_EQ(test, signalled(2), DAT_SUCCESS);
		tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
		tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
		tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_SUCCESS, TP_SEG);
	}
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
	for (i = 1; i < sq->run_max; i++) {
		KUNIT_ASSERT_EQ(test, suppressed(i), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, fake_last(&tp_qp(&ep)->sq)->send_flags, 0);
	}
	KUNIT_ASSERT_EQ(test, suppressed(i), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&ep)->sq)->send_flags, IB_SEND_SIGNALED);
}

/* S-02: all of a vector is sent, also without a completion */
static void S_02_suppressed_vector_is_whole(struct kunit *test)
{
	const struct fake_wr *wr;

	kdapl_clauses(test, "S-02");
	make_connected(test);
	KUNIT_ASSERT_EQ(test, suppressed_vector(1), DAT_SUCCESS);
	wr = fake_last(&tp_qp(&ep)->sq);
	KUNIT_EXPECT_EQ(test, wr->num_sge, 2);
	KUNIT_EXPECT_EQ(test, wr->send_flags, 0);
	KUNIT_EXPECT_EQ(test, ep.ep->sq.run_tail, 1);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_ASSERT_EQ(test, signalled(2), DAT_SUCCESS);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_SUCCESS, TP_SEG);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
}

static void refused_requests_are_in_no_run(struct kunit *test)
{
	make_connected(test);
	fake_refuse(env->fake, -EINVAL, 3);
	TP_EXPECT_TYPE(test, suppressed(1), DAT_INTERNAL_ERROR);
	TP_EXPECT_TYPE(test, suppressed_vector(2), DAT_INTERNAL_ERROR);
	TP_EXPECT_TYPE(test, suppressed_fence(3), DAT_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, ep.ep->sq.run_tail, 0);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
}

static u32 head_in_verbs, end_in_verbs;

/*
 * The device completes the request with an error, before its verbs call has returned.
 * The post holds sq->lock, so interrupts are off: there are no softirqs to disable.
 */
static void fail_and_post_signalled(const struct ib_send_wr *wr)
{
	struct ib_wc wc = { .wr_cqe = wr->wr_cqe, .status = IB_WC_REM_ACCESS_ERR };

	kdapl_request_done(NULL, &wc);
	head_in_verbs = ep.ep->sq.run_head;
	nested = signalled(2);
	end_in_verbs = slot_at(0)->ev.run_end;
}

/* run_head is ahead of run_tail then, and the position of the signalled request is older */
static void S_16_request_fails_before_it_is_published(struct kunit *test)
{
	struct kdapl_sq *sq;

	kdapl_clauses(test, "S-16 G-32");
	make_connected(test);
	sq = &ep.ep->sq;
	nested = DAT_INTERNAL_ERROR;
	/* The work that breaks the connection has to wait */
	mutex_lock(&ep.ep->mutex);
	in_verbs = fail_and_post_signalled;
	swallow = true;
	KUNIT_EXPECT_EQ(test, suppressed(1), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, nested, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, head_in_verbs, 1);
	KUNIT_EXPECT_EQ(test, end_in_verbs, 0);
	KUNIT_EXPECT_EQ(test, sq->run_tail, 1);
	/* Not tp_complete(), which waits for the work */
	KUNIT_EXPECT_TRUE(test, fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS));
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(ep.request_evd) == 2));
	KUNIT_EXPECT_EQ(test, sq->run_head, 1);
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	tp_expect_dto(test, &ep, TP_SEND, 1, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_SUCCESS, TP_SEG);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, sq->run_head, sq->run_tail);
}

/* ---- the last slot ---------------------------------------------------------------- */

static struct {
	struct work_struct work;
	DAT_RETURN ret;
	bool done;
	bool waited;		/* the post has waited for the lock */
} last;

static void post_last(struct work_struct *work)
{
	last.ret = signalled(2);
	WRITE_ONCE(last.done, true);
}

/* Has the other CPU post, and waits until it waits for the lock, or has posted */
static void post_beside(const struct ib_send_wr *wr)
{
	struct kdapl_sq *sq = &ep.ep->sq;

	queue_work_on(cpumask_any_but(cpu_online_mask, smp_processor_id()), system_wq,
		      &last.work);
	kdapl_spin_until(tp_contended(&sq->lock) || READ_ONCE(last.done), cpu_relax());
	last.waited = tp_contended(&sq->lock);
}

/*
 * Two slots are free. An unsignalled post takes one, and another CPU wants the last one before
 * the first is published. Without the lock it would not cover the unsignalled request, the
 * queue would be full, and no completion would release that request.
 */
static void G_34_the_last_slot_is_taken_under_the_lock(struct kunit *test)
{
	struct kdapl_slot *held[TP_DEPTH];
	struct kdapl_pool *pool;
	u32 n;

	kdapl_clauses(test, "G-34");
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	make_connected(test);
	pool = &ep.ep->sq.pool;
	for (n = 0; n < TP_DEPTH - 2; n++)
		held[n] = kdapl_pool_get(pool);
	INIT_WORK(&last.work, post_last);
	last.done = false;
	last.waited = false;
	/* The work spins on another CPU, which this thread must not use */
	migrate_disable();
	in_verbs = post_beside;
	KUNIT_EXPECT_EQ(test, suppressed(1), DAT_SUCCESS);
	migrate_enable();
	flush_work(&last.work);
	KUNIT_EXPECT_TRUE(test, last.waited);
	KUNIT_EXPECT_EQ(test, last.ret, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, free_slots(), 0);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	/* The event of the signalled request was not dequeued, and the other slot is free */
	KUNIT_EXPECT_EQ(test, free_slots(), 1);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_SUCCESS, TP_SEG);
	while (n)
		kdapl_pool_put(held[--n]);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
}

/* ---- four threads ------------------------------------------------------------------ */

static struct {
	struct task_struct *task[THREADS];
	atomic_t running;
	atomic_t failed;	/* posts that were refused for another reason than a full queue */
	bool stop;
} posters;

/* Posts ROUNDS requests with one cookie each; a full queue is tried again */
static int post_many(void *data)
{
	u64 me = (unsigned long)data, n;
	DAT_RETURN ret;

	for (n = 0; n < ROUNDS && !READ_ONCE(posters.stop); n++) {
		do {
			ret = SIGNALLED(n) ? signalled(me * ROUNDS + n) :
					     suppressed(me * ROUNDS + n);
			cond_resched();
		} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
			 !READ_ONCE(posters.stop));
		if (ret != DAT_SUCCESS && !READ_ONCE(posters.stop))
			atomic_inc(&posters.failed);
	}
	atomic_dec(&posters.running);
	return 0;
}

static void start_posters(struct kunit *test)
{
	unsigned long i;

	posters.stop = false;
	atomic_set(&posters.failed, 0);
	atomic_set(&posters.running, THREADS);
	for (i = 0; i < THREADS; i++) {
		posters.task[i] = kthread_create(post_many, (void *)i, "kdapl_post/%lu", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(posters.task[i]));
		get_task_struct(posters.task[i]);
	}
	for (i = 0; i < THREADS; i++)
		wake_up_process(posters.task[i]);
}

static void stop_posters(void)
{
	int i;

	WRITE_ONCE(posters.stop, true);
	for (i = 0; i < THREADS; i++) {
		kthread_stop(posters.task[i]);
		put_task_struct(posters.task[i]);
	}
}

/* Dequeues all events, and marks their cookies; false: one is wrong or has come twice */
static bool collect(unsigned long *seen, u32 *events)
{
	DAT_EVENT event;
	u64 cookie;

	while (dat_evd_dequeue(ep.request_evd, &event) == DAT_SUCCESS) {
		cookie = event.event_data.dto_completion_event_data.user_cookie.as_64;
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS ||
		    cookie >= THREADS * ROUNDS || !SIGNALLED(cookie % ROUNDS) ||
		    test_and_set_bit(cookie, seen))
			return false;
		++*events;
	}
	return true;
}

/*
 * The device completes in order while four threads post. Each signalled request has one event,
 * no unsignalled one has any, and every slot is free in the end. If a slot were lost, or were
 * not released although the queue is full, the test would not make progress.
 */
static void G_34_four_threads_lose_no_slot(struct kunit *test)
{
	unsigned long *seen, end = jiffies + msecs_to_jiffies(KDAPL_HANG_MS);
	u32 events = 0;
	bool ok = true;

	kdapl_clauses(test, "G-34 S-15");
	make_connected(test);
	seen = kunit_kcalloc(test, BITS_TO_LONGS(THREADS * ROUNDS), sizeof(*seen), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	start_posters(test);
	while (ok && (atomic_read(&posters.running) || fake_outstanding(&tp_qp(&ep)->sq))) {
		if (fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS))
			end = jiffies + msecs_to_jiffies(KDAPL_HANG_MS);
		else
			cond_resched();
		ok = collect(seen, &events) && time_before(jiffies, end);
	}
	stop_posters();
	KUNIT_EXPECT_TRUE(test, ok);
	/* The tail of the run, if any */
	KUNIT_EXPECT_EQ(test, signalled(0), DAT_SUCCESS);
	while (tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0))
		;
	clear_bit(0, seen);
	KUNIT_EXPECT_TRUE(test, collect(seen, &events));
	KUNIT_EXPECT_EQ(test, atomic_read(&posters.failed), 0);
	KUNIT_EXPECT_EQ(test, events, 1 + THREADS * ROUNDS / 3);
	KUNIT_EXPECT_EQ(test, free_slots(), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, ep.ep->sq.run_head, ep.ep->sq.run_tail);
	tp_drain(&ep);
}

/* ---- suite -------------------------------------------------------------------------- */

static int run_suite_init(struct kunit_suite *suite)
{
	env = tp_env_create();
	if (IS_ERR(env))
		return PTR_ERR(env);
	env->fake->ibdev.ops.post_send = post_send_hooked;
	return 0;
}

static void run_suite_exit(struct kunit_suite *suite)
{
	env->fake->ibdev.ops.post_send = fake_post_send;
	tp_env_destroy(env);
	env = NULL;
}

static int run_init(struct kunit *test)
{
	in_verbs = NULL;
	swallow = false;
	return 0;
}

static void run_exit(struct kunit *test)
{
	in_verbs = NULL;
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
}

static struct kunit_case run_cases[] = {
	KUNIT_CASE(unpublished_request_is_released_by_a_later_one),
	KUNIT_CASE(unpublished_vector_is_released_by_a_later_one),
	KUNIT_CASE(unpublished_request_of_the_slow_path),
	KUNIT_CASE(position_is_read_before_the_verbs_call),
	KUNIT_CASE(completed_requests_do_not_end_a_run),
	KUNIT_CASE(S_02_suppressed_vector_is_whole),
	KUNIT_CASE(refused_requests_are_in_no_run),
	KUNIT_CASE(S_16_request_fails_before_it_is_published),
	KUNIT_CASE(G_34_the_last_slot_is_taken_under_the_lock),
	KUNIT_CASE(G_34_four_threads_lose_no_slot),
	{}
};

static struct kunit_suite run_suite = {
	.name = "kdapl_run",
	.suite_init = run_suite_init,
	.suite_exit = run_suite_exit,
	.init = run_init,
	.exit = run_exit,
	.test_cases = run_cases,
};

kunit_test_suite(run_suite);
