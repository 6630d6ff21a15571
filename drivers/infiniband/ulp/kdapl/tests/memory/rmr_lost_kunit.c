// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: binds and registrations that are outstanding when their queue is destroyed.
 *
 * A failed device completes no request any more, so that the drain of a QP times out; a
 * device is removed while an endpoint is being freed. The state of the MRs in the requests
 * must change, and they must not be destroyed before the queue. Runs in a KUnit thread, with
 * others for calls that block.
 */
#include "mem_kunit.h"

static struct mem m;
/* Calls that block; they may outlive a failed test */
static struct tp_aside freeing, leaving;

static struct fake_dev *fake(void)
{
	return m.env->fake;
}

static void free_ep(void)
{
	DAT_RETURN ret = dat_ep_free(m.ep.handle);

	WARN_ON(ret != DAT_SUCCESS);
	m.ep.handle = NULL;
}

static void unplug(void)
{
	fake_dev_unplug(fake());
}

/* Three outstanding requests that name five MRs together */
static void post_all(struct kunit *test)
{
	struct fmr f;

	mem_bind(test, &m, &m.ep, 1, 0, 8);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS);
	mem_bind(test, &m, &m.ep, 2, 8, 8);
	mem_fmr_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, mem_invalidate(&m, &m.ep, 3, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, fake_outstanding(&tp_qp(&m.ep)->sq), 4);
}

static void expect_usable(struct kunit *test, struct tp_ep *other)
{
	struct bind b;
	struct fmr f;

	mem_bind_args(&m, &b);
	b.ep = other->handle;
	/* Wait for the repair */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(mem_bind_post(&b) == DAT_SUCCESS));
	mem_finish(&m, other);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), b.key));
	mem_fmr_args(&m, &f);
	f.ep = other->handle;
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(mem_fmr_post(&f) == DAT_SUCCESS));
	mem_finish(&m, other);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), f.key));
	tp_drain(other);
}

static void P3_a_failed_device_keeps_the_requests(struct kunit *test)
{
	struct tp_ep other;

	kdapl_clauses(test, "C-36 B-20 F-10");
	mem_second(test, &m, &other);
	post_all(test);
	fake()->hold_flush = true;
	fake()->fail_modify = -EIO;
	tp_start(&freeing, free_ep);
	KUNIT_ASSERT_TRUE(test, tp_finish(&freeing));
	fake()->fail_modify = 0;
	fake()->hold_flush = false;
	expect_usable(test, &other);
	tp_ep_free(&other);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
	m.rmr = DAT_HANDLE_NULL;
	KUNIT_EXPECT_TRUE(test, mem_lmr_goes(m.lmr));
	m.lmr = DAT_HANDLE_NULL;
}

static struct task_struct *freer;	/* inside dat_ep_free() */
static atomic_t on_its_stack, elsewhere;

static void tell_where(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	/* The device completes nothing in this test, so no softirq runs on the task's stack */
	atomic_inc(READ_ONCE(freer) == current ? &on_its_stack : &elsewhere);
}

static void free_ep_watched(void)
{
	WRITE_ONCE(freer, current);
	free_ep();
	WRITE_ONCE(freer, NULL);
}

/* Their events were removed, unless the deferred delivery was faster */
static void E_08_no_upcall_on_the_stack_of_the_call(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = tell_where };

	kdapl_clauses(test, "E-08a C-36");
	post_all(test);
	tp_drain(&m.ep);
	atomic_set(&on_its_stack, 0);
	atomic_set(&elsewhere, 0);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(m.ep.request_evd, DAT_UPCALL_SINGLE_INSTANCE,
						    &upcall, DAT_UPCALL_INVOC_NEW), DAT_SUCCESS);
	fake()->hold_flush = true;
	fake()->fail_modify = -EIO;
	tp_start(&freeing, free_ep_watched);
	KUNIT_ASSERT_TRUE(test, tp_finish(&freeing));
	fake()->fail_modify = 0;
	fake()->hold_flush = false;
	KUNIT_EXPECT_EQ(test, atomic_read(&on_its_stack), 0);
	KUNIT_EXPECT_LE(test, atomic_read(&elsewhere), 3);
	KUNIT_EXPECT_EQ(test, tp_events(m.ep.request_evd), 0);
}

static struct bind late;
static DAT_RETURN late_ret;

static void bind_late(void)
{
	late_ret = mem_bind_post(&late);
}

/* The queue is removed between the check and the post; the grace period covers both */
static void P8_a_bind_looks_up_its_queue_once(struct kunit *test)
{
	u32 tries = 1000 * 1000 * 1000;
	struct kdapl_rmr *rmr;
	struct kdapl_obj *obj;
	struct ib_qp *qp;
	bool waits;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs a second CPU");
	obj = kdapl_obj_get(m.rmr, DAT_HANDLE_TYPE_RMR);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	rmr = to_kdapl_rmr(obj);
	qp = &tp_qp(&m.ep)->ibqp;
	mem_bind_args(&m, &late);
	spin_lock_irq(&rmr->lock);
	tp_start(&freeing, bind_late);
	while (!(waits = tp_contended(&rmr->lock)) && tries--)
		cpu_relax();
	RCU_INIT_POINTER(m.ep.ep->fast.qp, NULL);
	spin_unlock_irq(&rmr->lock);
	KUNIT_EXPECT_TRUE(test, tp_finish(&freeing));
	rcu_assign_pointer(m.ep.ep->fast.qp, qp);
	kdapl_obj_put(obj);
	KUNIT_EXPECT_TRUE(test, waits);
	KUNIT_EXPECT_EQ(test, late_ret, DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), late.key));
}

static void C_57_the_device_leaves_while_an_EP_is_freed(struct kunit *test)
{
	struct fake_qp *qp = tp_qp(&m.ep);
	struct kdapl_ia *ia = m.env->ia;

	kdapl_clauses(test, "C-57 C-36");
	post_all(test);
	fake()->hold_flush = true;
	tp_start(&freeing, free_ep);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(qp->state) == IB_QPS_ERR));
	tp_start(&leaving, unplug);
	/* Either it waits for the queue, or it has destroyed the MRs */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(waitqueue_active(&ia->wait)));
	KUNIT_EXPECT_EQ(test, READ_ONCE(fake()->misuses), 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&freeing.done));
	KUNIT_EXPECT_FALSE(test, completion_done(&leaving.done));
	fake_release(fake(), qp);
	KUNIT_ASSERT_TRUE(test, tp_finish(&freeing));
	KUNIT_ASSERT_TRUE(test, tp_finish(&leaving));
	KUNIT_EXPECT_EQ(test, atomic_read(&fake()->live), 0);
}

static int lost_init(struct kunit *test)
{
	return mem_setup(test, &m);
}

static void lost_exit(struct kunit *test)
{
	mem_done(test, &m);
}

static struct kunit_case lost_cases[] = {
	KUNIT_CASE(P3_a_failed_device_keeps_the_requests),
	KUNIT_CASE(E_08_no_upcall_on_the_stack_of_the_call),
	KUNIT_CASE(P8_a_bind_looks_up_its_queue_once),
	KUNIT_CASE(C_57_the_device_leaves_while_an_EP_is_freed),
	{}
};

static struct kunit_suite lost_suite = {
	.name = "kdapl_rmr_lost",
	.init = lost_init,
	.exit = lost_exit,
	.test_cases = lost_cases,
};

kunit_test_suite(lost_suite);
