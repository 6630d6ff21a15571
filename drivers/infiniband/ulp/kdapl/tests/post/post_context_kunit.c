// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: posts in several contexts at the same time.
 *
 * Timers, threads that post to one endpoint concurrently, and receives that are posted while
 * the endpoint is reset. The tests complete the requests of the fake device. Runs in KUnit
 * threads and in threads of the tests.
 */
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/timer.h>
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static void make_connected(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
}

/* ---- timers ---------------------------------------------------------------- */

struct timed {
	struct timer_list timer;
	struct completion done;
	enum tp_call call;
	bool softirq;
	DAT_RETURN ret;
};

static void timed_post(struct timer_list *t)
{
	struct timed *timed = container_of(t, struct timed, timer);

	timed->softirq = in_serving_softirq();
	timed->ret = tp_post_one(env, &ep, timed->call, timed->call, 0);
	complete(&timed->done);
}

static void G_07_posts_in_a_timer(struct kunit *test)
{
	struct timed timed;

	make_connected(test);
	timer_setup_on_stack(&timed.timer, timed_post, 0);
	for (timed.call = 0; timed.call < TP_NCALLS; timed.call++) {
		init_completion(&timed.done);
		mod_timer(&timed.timer, jiffies);
		KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(completion_done(&timed.done)));
		KUNIT_EXPECT_TRUE(test, timed.softirq);
		KUNIT_EXPECT_EQ(test, timed.ret, DAT_SUCCESS);
	}
	timer_shutdown_sync(&timed.timer);
	timer_destroy_on_stack(&timed.timer);
	for (timed.call = 0; timed.call < TP_SRQ; timed.call++)
		tp_complete(env, &ep, timed.call, IB_WC_SUCCESS, TP_SEG);
	for (timed.call = 0; timed.call < TP_SRQ; timed.call++)
		tp_expect_dto(test, &ep, timed.call, timed.call, DAT_DTO_SUCCESS, TP_SEG);
	kdapl_clauses(test, "G-07");
}

/* ---- threads ---------------------------------------------------------------- */

#define THREADS		3
#define POSTS		2000

struct poster {
	struct task_struct *task;
	u32 id;
	u32 wrong;			/* wrong return values */
	atomic_t posted;
};

/* The type of post @n: a receive, a request, or a suppressed one */
static u32 flags_of(u32 i)
{
	return (i & 3) == 2 ? DAT_COMPLETION_SUPPRESS_FLAG : 0;
}

/* Requests and receives in turn; a post on a full queue is repeated */
static int post_many(void *data)
{
	struct poster *p = data;
	DAT_RETURN ret;
	u32 i;

	for (i = 0; i < POSTS && !kthread_should_stop();) {
		ret = tp_post_one(env, &ep, i & 1 ? TP_RECV : TP_SEND, (u64)p->id << 32 | i,
				  flags_of(i));
		if (ret == DAT_SUCCESS) {
			i++;
			atomic_inc(&p->posted);
			continue;
		}
		if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			p->wrong++;
		schedule_timeout_interruptible(1);
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* The next expected number of each thread, for sends and for receives */
struct returned {
	u32 next[THREADS][2];
	u32 n;
};

/* Checks one event: its number must be the next of its thread and type */
static void take(struct kunit *test, DAT_EVD_HANDLE evd, u32 kind, struct returned *r)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
		DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
		u32 id = dto->user_cookie.as_64 >> 32, i = dto->user_cookie.as_64;

		KUNIT_ASSERT_LT(test, id, THREADS);
		KUNIT_EXPECT_EQ(test, dto->status, DAT_DTO_SUCCESS);
		KUNIT_EXPECT_EQ(test, i, r->next[id][kind] * (kind ? 2 : 4) + kind);
		r->next[id][kind]++;
		r->n++;
	}
}

static void G_10_three_threads_post_to_one_endpoint(struct kunit *test)
{
	struct poster poster[THREADS] = { };
	unsigned long end = jiffies + msecs_to_jiffies(KDAPL_HANG_MS);
	struct returned back = { };
	u32 before = 0, i;

	make_connected(test);
	for (i = 0; i < THREADS; i++) {
		poster[i].id = i;
		poster[i].task = kthread_run(post_many, &poster[i], "kdapl_post/%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, poster[i].task);
	}
	/* Three of four posts have an event */
	while (back.n < THREADS * POSTS / 4 * 3 && time_before(jiffies, end)) {
		while (fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS))
			;
		while (fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 1))
			;
		take(test, ep.request_evd, 0, &back);
		take(test, ep.recv_evd, 1, &back);
		if (back.n != before)
			end = jiffies + msecs_to_jiffies(KDAPL_HANG_MS);
		before = back.n;
		cond_resched();
	}
	for (i = 0; i < THREADS; i++) {
		kthread_stop(poster[i].task);
		KUNIT_EXPECT_EQ(test, atomic_read(&poster[i].posted), POSTS);
		KUNIT_EXPECT_EQ(test, poster[i].wrong, 0);
		KUNIT_EXPECT_EQ(test, back.next[i][0], POSTS / 4);
		KUNIT_EXPECT_EQ(test, back.next[i][1], POSTS / 2);
	}
	/* One after the last suppressed ones returns their slots */
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	while (fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS))
		;
	fake_settle(env->fake);
	tp_drain(&ep);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
	kdapl_clauses(test, "G-10");
}

/* ---- receives during a reset --------------------------------------------------- */

static int post_receives(void *data)
{
	struct poster *p = data;
	DAT_RETURN ret;

	while (!kthread_should_stop()) {
		ret = tp_post_one(env, &ep, TP_RECV, 1, 0);
		if (ret == DAT_SUCCESS)
			atomic_inc(&p->posted);
		else if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			p->wrong++;
		cond_resched();
	}
	return 0;
}

/* An event of a receive must be FLUSHED, because nothing is sent */
static u32 take_flushed(struct kunit *test)
{
	DAT_EVENT event;
	u32 n;

	for (n = 0; dat_evd_dequeue(ep.recv_evd, &event) == DAT_SUCCESS; n++)
		KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data.status,
				DAT_DTO_ERR_FLUSHED);
	return n;
}

static void R_31_receives_while_the_endpoint_is_reset(struct kunit *test)
{
	struct poster poster = { };
	u32 i, flushed = 0, before;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	poster.task = kthread_run(post_receives, &poster, "kdapl_recv");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, poster.task);
	for (i = 0; i < 30; i++) {
		KUNIT_EXPECT_EQ(test, tp_connect(&ep), 0);
		dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
		/* In DISCONNECTED every dequeued flush makes room */
		for (before = flushed; flushed - before < TP_DEPTH; cond_resched())
			flushed += take_flushed(test);
		KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	}
	kthread_stop(poster.task);
	KUNIT_EXPECT_EQ(test, poster.wrong, 0);
	KUNIT_EXPECT_GE(test, (u32)atomic_read(&poster.posted), flushed);
	/* It is UNCONNECTED: receives posted after the last reset wait */
	fake_settle(env->fake);
	take_flushed(test);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep.ep->rq) +
			      fake_outstanding(&tp_qp(&ep)->rq), TP_DEPTH);
	kdapl_clauses(test, "R-31");
}

/* ---- hard interrupts ------------------------------------------------------------------ */

static struct {
	struct hrtimer timer;
	bool hard;
	DAT_RETURN ret;
	struct completion done;
} irq;

static enum hrtimer_restart post_in_hardirq(struct hrtimer *timer)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	irq.hard = in_hardirq();
	irq.ret = dat_evd_post_se(ep.recv_evd, &event);
	complete(&irq.done);
	return HRTIMER_NORESTART;
}

/* Where a bio or a timer ends. On RT only a few timers run there, and spinlocks sleep */
static void a_software_event_from_a_hard_interrupt(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "not legal on RT");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	init_completion(&irq.done);
	hrtimer_setup(&irq.timer, post_in_hardirq, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_start(&irq.timer, ns_to_ktime(NSEC_PER_MSEC), HRTIMER_MODE_REL_HARD);
	wait_for_completion(&irq.done);
	hrtimer_cancel(&irq.timer);
	KUNIT_EXPECT_TRUE(test, irq.hard);
	KUNIT_EXPECT_EQ(test, irq.ret, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 1);
	tp_drain(&ep);
}

/* ---- suite ---------------------------------------------------------------------- */

static int context_suite_init(struct kunit_suite *suite)
{
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void context_suite_exit(struct kunit_suite *suite)
{
	tp_env_destroy(env);
	env = NULL;
}

static void context_exit(struct kunit *test)
{
	struct fake_queue *q = tp_queue(env, &ep, TP_SRQ);

	for (; q->head != q->tail; q->head++)
		kdapl_pool_put(kdapl_slot_of_cqe(fake_wr_at(q, 0)->cqe));
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
}

static struct kunit_case context_cases[] = {
	KUNIT_CASE(G_07_posts_in_a_timer),
	KUNIT_CASE(G_10_three_threads_post_to_one_endpoint),
	KUNIT_CASE(R_31_receives_while_the_endpoint_is_reset),
	KUNIT_CASE(a_software_event_from_a_hard_interrupt),
	{}
};

static struct kunit_suite context_suite = {
	.name = "kdapl_post_context",
	.suite_init = context_suite_init,
	.suite_exit = context_suite_exit,
	.exit = context_exit,
	.test_cases = context_cases,
};

kunit_test_suite(context_suite);
