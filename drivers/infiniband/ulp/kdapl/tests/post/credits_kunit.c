// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: a post that is refused never takes the place of a good one.
 *
 * A Consumer that counts its outstanding posts may rely on every place that it has not used. A
 * thread makes posts that are refused, and a timer interrupts it at any instruction and makes as
 * many good ones as there are places. No second CPU is needed. Runs in a KUnit thread over the
 * fake device; the timer runs in softirq.
 */
#include <linux/hrtimer.h>
#include "post_kunit.h"

#define SHOTS	300
#define GAP_NS	(50 * NSEC_PER_USEC)

static struct tp_env *env;

static struct {
	struct hrtimer timer;
	enum tp_call call;
	struct tp_ep ep;		/* with an SRQ for the receives of one */
	atomic_t credits;		/* places that the Consumer knows to be free */
	u32 shots, failed;
} beside;

static void complete_one(void)
{
	struct fake_qp *qp = tp_qp(&beside.ep);

	if (tp_is_request(beside.call))
		fake_complete_send(qp, IB_WC_SUCCESS);
	else if (beside.call == TP_RECV)
		fake_complete_recv(qp, IB_WC_SUCCESS, 10);
	else
		fake_complete_srq(qp, IB_WC_SUCCESS, 10);
}

static enum hrtimer_restart post_exact_credits(struct hrtimer *timer)
{
	u32 i;

	while (atomic_dec_if_positive(&beside.credits) >= 0) {
		if (tp_post_one(env, &beside.ep, beside.call, beside.shots, 0) != DAT_SUCCESS) {
			beside.failed++;
			atomic_inc(&beside.credits);
			break;
		}
	}
	/* So that one place is free next time, or several: the last one is taken in another way */
	for (i = 0; i <= beside.shots % 3; i++)
		complete_one();
	WRITE_ONCE(beside.shots, beside.shots + 1);
	hrtimer_forward_now(timer, ns_to_ktime(GAP_NS));
	return HRTIMER_RESTART;
}

static void dequeue_all(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(tp_evd(&beside.ep, beside.call), &event) == DAT_SUCCESS)
		atomic_inc(&beside.credits);
}

static void finish(struct kunit *test)
{
	while (tp_complete(env, &beside.ep, beside.call, IB_WC_SUCCESS, 10))
		;
	dequeue_all();
	KUNIT_EXPECT_EQ(test, atomic_read(&beside.credits), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(tp_pool(env, &beside.ep, beside.call)), TP_DEPTH);
	tp_ep_free(&beside.ep);
}

/* Only the last segment is bad, so that most of the vector is translated */
static void bad_vector(enum tp_call call, u32 flags, struct tp_args *bad)
{
	tp_args(env, &beside.ep, call, bad);
	bad->n = tp_call_limit[call];
	bad->flags = flags;
	bad->segs[bad->n - 1].lmr_context = env->freed;
}

static void refuse_beside(struct kunit *test, enum tp_call call, u32 flags)
{
	u32 refused = 0, n = 0;
	struct tp_args bad;

	memset(&beside, 0, sizeof(beside));
	beside.call = call;
	atomic_set(&beside.credits, TP_DEPTH);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, call == TP_SRQ, &beside.ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&beside.ep), 0);
	bad_vector(call, flags, &bad);
	hrtimer_setup(&beside.timer, post_exact_credits, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	hrtimer_start(&beside.timer, ns_to_ktime(GAP_NS), HRTIMER_MODE_REL_SOFT);
	for (; READ_ONCE(beside.shots) < SHOTS; n++) {
		dequeue_all();
		refused += DAT_GET_TYPE(tp_post(call, &bad)) == DAT_PRIVILEGES_VIOLATION;
		cond_resched();
	}
	hrtimer_cancel(&beside.timer);
	finish(test);
	KUNIT_EXPECT_EQ_MSG(test, beside.failed, 0, "%s, flags %#x", tp_call_name[call], flags);
	KUNIT_EXPECT_EQ(test, refused, n);
}

static void G_25_a_bad_request_beside_exact_credits(struct kunit *test)
{
	enum tp_call call;

	kdapl_clauses(test, "G-01 G-25");
	for (call = TP_SEND; call <= TP_READ; call++) {
		refuse_beside(test, call, 0);
		refuse_beside(test, call, DAT_COMPLETION_SUPPRESS_FLAG);
		/* The path of any other flags */
		refuse_beside(test, call, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	}
}

static void G_25_a_bad_receive_beside_exact_credits(struct kunit *test)
{
	kdapl_clauses(test, "G-01 G-25");
	refuse_beside(test, TP_RECV, 0);
	refuse_beside(test, TP_SRQ, 0);
}

/* ---- suite ------------------------------------------------------------------------ */

static int credits_init(struct kunit *test)
{
	memset(&beside, 0, sizeof(beside));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void credits_exit(struct kunit *test)
{
	tp_env_end(test, &env, &beside.ep);
}

static struct kunit_case credits_cases[] = {
	KUNIT_CASE(G_25_a_bad_request_beside_exact_credits),
	KUNIT_CASE(G_25_a_bad_receive_beside_exact_credits),
	{}
};

static struct kunit_suite credits_suite = {
	.name = "kdapl_credits",
	.init = credits_init,
	.exit = credits_exit,
	.test_cases = credits_cases,
};

kunit_test_suite(credits_suite);
