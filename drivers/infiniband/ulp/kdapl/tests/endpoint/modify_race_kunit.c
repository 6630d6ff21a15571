// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: dat_ep_modify that fails, and concurrent calls.
 *
 * A device that creates no QP or CQ, allocations that fail one after the other, a device
 * that was removed; concurrent receives, queries, calls that count requests, and the freeing
 * of the previous EVDs. Runs in a KUnit thread and another one; each test has its own device.
 */
#include <linux/fault-inject.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include "beside.h"
#include "modify_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;
static DAT_LMR_HANDLE lmr;	/* of dat_lmr_allocate() */

static DAT_EP_PARAM_MASK both_depths = DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				       DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS;

/* ---- what the device refuses -------------------------------------------------------- */

/* Each refusal alone changes nothing, and then the call succeeds */
static void with_each_refusal(struct kunit *test, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *p)
{
	static const int err[] = { -ENOMEM, -EINVAL };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(err); i++) {
		env->fake->fail_create = err[i];
		mod_refused(test, env, &ep, mask, p, DAT_INSUFFICIENT_RESOURCES);
		KUNIT_EXPECT_EQ(test, env->fake->fail_create, 0);
		env->fake->fail_cq = err[i];
		mod_refused(test, env, &ep, mask, p, DAT_INSUFFICIENT_RESOURCES);
		KUNIT_EXPECT_EQ(test, env->fake->fail_cq, 0);
		env->fake->fail_modify = err[i];
		mod_refused(test, env, &ep, mask, p, DAT_INSUFFICIENT_RESOURCES);
		env->fake->fail_modify = 0;
	}
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, mask, p), DAT_SUCCESS);
}

static void failed_allocations_of_the_device_change_nothing(struct kunit *test)
{
	DAT_EP_PARAM p;

	kdapl_clauses(test, "G-25 R-23");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	mod_query(test, &ep, &p);
	p.ep_attr.max_recv_dtos = 4;
	p.ep_attr.max_request_dtos = 5;
	p.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	with_each_refusal(test, both_depths | DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &p);
	mod_expect_recvs(test, env, &ep, 4);
	mod_expect_requests(test, env, &ep, 5);
}

static void C_38_failed_allocations_of_the_device_change_nothing(struct kunit *test)
{
	DAT_EP_PARAM p;

	kdapl_clauses(test, "C-38");
	mod_create_without(test, env, &ep, MOD_ALL_PARENTS);
	mod_parents(env, &ep, &p);
	with_each_refusal(test, MOD_ALL_PARENTS, &p);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
	mod_expect_recvs(test, env, &ep, TP_DEPTH);
	mod_expect_requests(test, env, &ep, TP_DEPTH);
}

/* ---- allocations that fail -------------------------------------------------------------- */

#ifdef CONFIG_FAULT_INJECTION
/* The nth allocation of this task fails, by slab or page allocator; 0: none */
static void fail_nth(unsigned int n)
{
	current->fail_nth = n;
}

static bool failed_one(void)
{
	return !current->fail_nth;
}
#else
static void fail_nth(unsigned int n)
{
}

static bool failed_one(void)
{
	return false;
}
#endif

static bool can_fail(void)
{
	void *p;

	fail_nth(1);
	p = kmalloc(64, GFP_KERNEL);
	fail_nth(0);
	kfree(p);
	return !p;
}

#define ALLOCATIONS	400	/* more than any one call makes */

/* Until the call makes fewer than n; the core can fall back for some */
static void with_each_failure(struct kunit *test, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *p,
			      DAT_EP_PARAM_MASK back_mask, const DAT_EP_PARAM *back)
{
	DAT_EP_PARAM before, after;
	u32 n, failures = 0;
	bool done = false;
	DAT_RETURN ret;
	int live;

	for (n = 1; n < ALLOCATIONS && !done; n++) {
		live = atomic_read(&env->fake->live);
		mod_query(test, &ep, &before);
		fail_nth(n);
		ret = dat_ep_modify(ep.handle, mask, p);
		done = !failed_one();
		fail_nth(0);
		if (ret == DAT_SUCCESS && !done) {
			KUNIT_ASSERT_EQ(test, dat_ep_modify(ep.handle, back_mask, back),
					DAT_SUCCESS);
			continue;
		}
		if (done)
			break;
		failures++;
		TP_EXPECT_TYPE(test, ret, DAT_INSUFFICIENT_RESOURCES);
		mod_query(test, &ep, &after);
		KUNIT_EXPECT_MEMEQ(test, &before, &after, sizeof(after));
		KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
	}
	KUNIT_EXPECT_TRUE(test, done);
	KUNIT_EXPECT_EQ(test, ret, DAT_SUCCESS);
	/* At least the draft, two pools, the ring, CQ and QP */
	KUNIT_EXPECT_GT(test, n, 6);
	/* How many of them do without depends on the caches of the allocators */
	KUNIT_EXPECT_NE(test, failures, 0);
}

static void each_allocation_fails_once(struct kunit *test)
{
	DAT_EP_PARAM p, back;

	kdapl_clauses(test, "C-38");
	if (!can_fail())
		kunit_skip(test, "the kernel has no fault injection for allocations");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	mod_query(test, &ep, &back);
	p = back;
	p.ep_attr.max_recv_dtos = 100;
	p.ep_attr.max_request_dtos = 100;
	with_each_failure(test, both_depths, &p, both_depths, &back);
	mod_expect_recvs(test, env, &ep, 100);
	mod_expect_requests(test, env, &ep, 100);
}

/* ---- the device is gone ------------------------------------------------------------------- */

static void C_57_an_orphan_is_not_modified(struct kunit *test)
{
	struct tp_ep bare;
	DAT_EP_PARAM p;

	kdapl_clauses(test, "C-57");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	mod_create_without(test, env, &bare, DAT_EP_FIELD_PZ_HANDLE);
	fake_dev_unplug(env->fake);
	mod_query(test, &ep, &p);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &p),
			DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE));
	mod_parents(env, &bare, &p);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(bare.handle, DAT_EP_FIELD_PZ_HANDLE, &p),
			DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE));
	KUNIT_EXPECT_EQ(test, mod_state(&bare), DAT_EP_STATE_UNCONFIGURED_UNCONNECTED);
	tp_ep_free(&bare);
}

/* ---- service points ----------------------------------------------------------------------- */

static void reserved_endpoints_get_new_queues(struct kunit *test)
{
	static const DAT_EP_STATE states[] = {
		DAT_EP_STATE_RESERVED, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
	};
	u32 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		tp_set_state(&ep, states[i]);
		KUNIT_EXPECT_EQ(test, mod_depths(&ep, 3 + i, 4 + i), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, mod_state(&ep), states[i]);
	}
	/* Receives are legal, as in each of these states */
	mod_expect_recvs(test, env, &ep, 5);
	tp_set_state(&ep, DAT_EP_STATE_UNCONNECTED);
	mod_expect_requests(test, env, &ep, 6);
}

/* ---- posts at the same time ---------------------------------------------------------------- */

/* A thread that takes slots of the EP, like posts, until it is stopped */
static struct poster {
	struct task_struct *task;
	bool good;		/* otherwise with a segment that is refused */
	u32 looks;		/* number of checks before it posts */
	u32 posted;
	u32 busy;		/* posts that found no slot */
	u32 other;		/* other results, except the refusal of the segment */
	u32 outstanding;	/* results that imply an outstanding request */
	DAT_RETURN answer;	/* the last of them */
} poster;

static DAT_RETURN invalidate(void)
{
	DAT_LMR_COOKIE cookie = { };

	return dat_lmr_invalidate(lmr, ep.handle, cookie,
				  DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG);
}

static void look(void)
{
	DAT_EP_PARAM param;
	DAT_BOOLEAN idle;
	DAT_EP_STATE state;

	dat_ep_get_status(ep.handle, &state, &idle, &idle);
	dat_ep_query(ep.handle, DAT_EP_FIELD_ALL, &param);
	poster.outstanding += DAT_GET_TYPE(invalidate()) != DAT_INVALID_STATE;
}

static int poster_thread(void *unused)
{
	struct tp_args args;
	DAT_RETURN ret;

	tp_args(env, &ep, TP_RECV, &args);
	if (!poster.good)
		args.segs[0].lmr_context = env->foreign.rw.context;
	for (; poster.looks && !kthread_should_stop(); poster.looks--) {
		look();
		cond_resched();
	}
	while (!kthread_should_stop()) {
		ret = tp_post(TP_RECV, &args);
		if (ret == DAT_SUCCESS) {
			poster.posted++;
		} else if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
			poster.busy++;
		} else if (poster.good || DAT_GET_TYPE(ret) != DAT_PROTECTION_VIOLATION) {
			poster.other++;
			poster.answer = ret;
		}
		look();
		cond_resched();
	}
	return 0;
}

static void poster_start(struct kunit *test, bool good, u32 looks)
{
	memset(&poster, 0, sizeof(poster));
	poster.good = good;
	poster.looks = looks;
	poster.task = kthread_run(poster_thread, NULL, "kdapl-poster");
	KUNIT_ASSERT_FALSE(test, IS_ERR(poster.task));
}

static void poster_stop(struct kunit *test)
{
	kthread_stop(poster.task);
	/* no state of a configured EP refuses a receive */
	KUNIT_EXPECT_EQ_MSG(test, poster.other, 0, "answer %#x", poster.answer);
	KUNIT_EXPECT_EQ(test, poster.outstanding, 0);
}

#define MODIFIES	60

/* Receives with bad segments are posted meanwhile, which take no slot */
static void R_32_slots_are_taken_meanwhile(struct kunit *test)
{
	u32 i, changed = 0, depth = TP_DEPTH;
	DAT_RETURN ret;

	kdapl_clauses(test, "R-32");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	poster_start(test, false, 0);
	for (i = 0; i < MODIFIES; i++) {
		/* Deep queues alternate, so that counting takes long */
		ret = mod_depths(&ep, i & 1 ? 3 : 2000, i & 1 ? 2000 : 3);
		if (ret == DAT_SUCCESS) {
			depth = i & 1 ? 3 : 2000;
			changed++;
		} else {
			KUNIT_EXPECT_EQ(test, ret, DAT_ERROR(DAT_INVALID_STATE,
							     DAT_INVALID_STATE_EP_NOTREADY));
		}
	}
	poster_stop(test);
	KUNIT_EXPECT_GT(test, changed, 0);
	KUNIT_EXPECT_EQ(test, poster.posted, 0);
	kunit_info(test, "%u of %u modifies succeeded, %u posts found no slot\n", changed, MODIFIES,
		   poster.busy);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep.ep->rq), depth);
	mod_expect_recvs(test, env, &ep, depth);
}

#define ROUNDS		12
#define PATIENCE	200	/* further ones, until either has been first */
#define CHANGES		8	/* in one round, at most */

/* Either the receive was posted first, and nothing changes; or it is on the new queue */
static void R_32_a_receive_is_posted_meanwhile(struct kunit *test)
{
	DAT_RETURN ret, busy = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
	u32 i, k, changed = 0, first = 0, refusals = 0;

	kdapl_clauses(test, "R-32 R-23 G-02");
	if (!IS_ENABLED(CONFIG_PREEMPTION) && num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	for (i = 0; i < ROUNDS || (i < ROUNDS + PATIENCE && !(changed && refusals)); i++) {
		KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
		poster_start(test, true, i % 4 * 8);
		for (k = 0; k < CHANGES; k++) {
			ret = mod_depths(&ep, k & 1 ? TP_DEPTH : 3, 3 + k);
			if (ret != DAT_SUCCESS)
				break;
			changed++;
		}
		first += !k;
		refusals += ret == busy;
		poster_stop(test);
		/* On one CPU the poster may run only while the queue is closed */
		KUNIT_EXPECT_TRUE(test, ret == busy || ret == DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&ep)->rq), poster.posted);
		KUNIT_EXPECT_EQ(test, kdapl_pool_count(&ep.ep->rq, KDAPL_SLOT_POSTED),
				poster.posted);
		KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
		for (k = 0; k < poster.posted; k++)
			KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 1));
		KUNIT_EXPECT_EQ(test, tp_drain(&ep), poster.posted);
		KUNIT_EXPECT_EQ(test, env->fake->full, 0);
		tp_ep_free(&ep);
	}
	KUNIT_EXPECT_GT(test, refusals, 0);
	KUNIT_EXPECT_GT(test, changed, 0);
	kunit_info(test, "%u modifies in %u rounds, in %u the receive came first\n", changed, i,
		   first);
}

/* The previous EVDs of the EP are freed at once, during queries */
static void an_EVD_is_freed_after_the_change(struct kunit *test)
{
	DAT_EP_PARAM p;
	struct tp_ep next;
	u32 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	poster_start(test, false, 0);
	for (i = 0; i < MODIFIES / 4; i++) {
		KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &next), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, dat_ep_free(next.handle), DAT_SUCCESS);
		mod_parents(env, &next, &p);
		if (dat_ep_modify(ep.handle, MOD_ALL_PARENTS, &p) == DAT_SUCCESS) {
			swap(ep.recv_evd, next.recv_evd);
			swap(ep.request_evd, next.request_evd);
			swap(ep.connect_evd, next.connect_evd);
		}
		next.handle = NULL;
		tp_ep_free(&next);
	}
	poster_stop(test);
	mod_expect_recvs(test, env, &ep, TP_DEPTH);
}

/* ---- counts meanwhile ---------------------------------------------------------------------- */

static struct {
	struct task_struct *task;
	bool ready;
	bool go;
	bool done;
	DAT_RETURN ret;
} teller;

static int teller_thread(void *unused)
{
	WRITE_ONCE(teller.ready, true);
	while (!READ_ONCE(teller.go) && !kthread_should_stop())
		cond_resched();
	teller.ret = invalidate();
	/* Publishes the result */
	smp_store_release(&teller.done, true);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

#define LOOKS	2000000		/* far more than the call takes on its own CPU */

/*
 * The pool during kdapl_pool_swap(): its count is meaningless, and its depth and its slots
 * may not belong together. By the order of checks dat_lmr_invalidate() counts before it
 * checks the state.
 */
static void MNS_invalidate_fence_during_a_change_of_the_pool(struct kunit *test)
{
	struct kdapl_slot *slot;
	bool early;
	u32 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_FALSE(test, env->ia->limits.ordered_inv);
	memset(&teller, 0, sizeof(teller));
	teller.task = beside_run(teller_thread, "kdapl-teller");
	KUNIT_ASSERT_FALSE(test, IS_ERR(teller.task));
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(teller.ready)));
	slot = kdapl_pool_slot(&ep.ep->sq.pool, 0);
	spin_lock_irq(&ep.ep->lock);
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_POSTED);
	WRITE_ONCE(teller.go, true);
	for (i = 0; i < LOOKS && !READ_ONCE(teller.done); i++)
		cpu_relax();
	early = READ_ONCE(teller.done);
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_FREE);
	spin_unlock_irq(&ep.ep->lock);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(teller.done)));
	/* It has returned from the call, so the result is there */
	beside_stop(teller.task);
	KUNIT_EXPECT_FALSE(test, early);
	TP_EXPECT_TYPE(test, teller.ret, DAT_INVALID_STATE);
}

/* ---- suite -------------------------------------------------------------------------------- */

static int modify_race_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	if (IS_ERR(env))
		return PTR_ERR(env);
	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(kdapl_obj_handle(&env->ia->obj), env->own.pz, 4,
					       DAT_LMR_SCOPE_PZ, &lmr), DAT_SUCCESS);
	return 0;
}

static void modify_race_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case modify_race_cases[] = {
	KUNIT_CASE(failed_allocations_of_the_device_change_nothing),
	KUNIT_CASE(C_38_failed_allocations_of_the_device_change_nothing),
	KUNIT_CASE(each_allocation_fails_once),
	KUNIT_CASE(C_57_an_orphan_is_not_modified),
	KUNIT_CASE(reserved_endpoints_get_new_queues),
	KUNIT_CASE(R_32_slots_are_taken_meanwhile),
	KUNIT_CASE(R_32_a_receive_is_posted_meanwhile),
	KUNIT_CASE(an_EVD_is_freed_after_the_change),
	KUNIT_CASE(MNS_invalidate_fence_during_a_change_of_the_pool),
	{}
};

static struct kunit_suite modify_race_suite = {
	.name = "kdapl_modify_race",
	.init = modify_race_init,
	.exit = modify_race_exit,
	.test_cases = modify_race_cases,
};

kunit_test_suite(modify_race_suite);
