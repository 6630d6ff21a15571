// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: regression tests for findings of a review of the control and connection code.
 *
 * A device that reports its failure or does not execute commands; an IA that is being
 * closed; removal and close concurrent with calls of every kind. Runs in a KUnit thread;
 * each test has its own device.
 */
#include <linux/prandom.h>
#include "clause.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static DAT_IA_HANDLE ia_handle(void)
{
	return kdapl_obj_handle(&env->ia->obj);
}

/*
 * Returns the next event of @evd. It waits, because the core forwards device events by a
 * work item
 */
static DAT_EVENT_NUMBER next_event(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = {};

	if (!kdapl_sleep_until(dat_evd_dequeue(evd, &event) == DAT_SUCCESS))
		return 0;
	return event.event_number;
}

static void fail_device(void)
{
	struct ib_event event = {
		.device = &env->fake->ibdev,
		.event = IB_EVENT_DEVICE_FATAL,
	};

	ib_dispatch_event(&event);
}

/* ---- failed devices --------------------------------------------------------- */

static void C_31_failed_device_breaks_a_connection(struct kunit *test)
{
	DAT_EVD_HANDLE async = kdapl_obj_handle(&env->ia->async_evd->obj);
	DAT_EVENT event;

	kdapl_clauses(test, "C-31");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	fail_device();
	KUNIT_EXPECT_EQ(test, next_event(async), DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	KUNIT_EXPECT_EQ(test, next_event(ep.connect_evd), DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	/* The removal raises no further event */
	fake_dev_unplug(env->fake);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_dequeue(async, &event)),
			(DAT_UINT32)DAT_QUEUE_EMPTY);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
}

static void C_31_failed_device_ends_an_attempt(struct kunit *test)
{
	struct tp_ep passive;

	kdapl_clauses(test, "C-31 C-40");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &passive), DAT_SUCCESS);
	KUNIT_ASSERT_FALSE(test, IS_ERR(tp_begin(&ep, false)));
	KUNIT_ASSERT_FALSE(test, IS_ERR(tp_begin(&passive, true)));
	fail_device();
	KUNIT_EXPECT_EQ(test, next_event(ep.connect_evd), DAT_CONNECTION_EVENT_UNREACHABLE);
	KUNIT_EXPECT_EQ(test, next_event(passive.connect_evd),
			DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep) + tp_drain(&passive), 0);
	tp_ep_free(&passive);
}

/* As in the core's own drain, posts that the device does not flush are not waited for */
static void P8_free_and_removal_if_modify_QP_to_ERROR_fails(struct kunit *test)
{
	struct tp_ep other;

	kdapl_clauses(test, "C-36 C-57");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &other), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &other, TP_RECV, 3, 0), DAT_SUCCESS);
	env->fake->fail_modify = -EIO;
	tp_ep_free(&other);
	fake_dev_unplug(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
	KUNIT_EXPECT_EQ(test, next_event(ep.connect_evd), DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
}

/* The device does not return all posts: reset is refused, and the EP keeps its QP */
static void expect_reset_refused(struct kunit *test)
{
	int live = atomic_read(&env->fake->live);
	struct fake_qp *qp = tp_qp(&ep);

	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle),
			DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	KUNIT_EXPECT_PTR_EQ(test, tp_qp(&ep), qp);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
}

static void expect_reset(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
}

static void P8_reset_if_modify_QP_to_ERROR_fails(struct kunit *test)
{
	kdapl_clauses(test, "C-32 C-36");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	env->fake->fail_error = -EIO;
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	expect_reset_refused(test);
	expect_reset_refused(test);
	/* The device works again */
	env->fake->fail_error = 0;
	expect_reset(test);
}

/* The device moves the QP to ERROR, but flushes nothing and refuses the markers */
static void P8_reset_if_the_device_flushes_nothing(struct kunit *test)
{
	kdapl_clauses(test, "C-32 C-36");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	env->fake->hold_flush = true;
	fake_refuse(env->fake, -EIO, 2);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	fake_refuse(env->fake, -EIO, 2);
	expect_reset_refused(test);
	fake_release(env->fake, tp_qp(&ep));
	expect_reset(test);
}

/* The same, but the device keeps only a marker, which is not one of the Consumer's posts */
static void P8_reset_if_the_device_keeps_a_marker(struct kunit *test)
{
	kdapl_clauses(test, "C-32 C-25");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, DAT_COMPLETION_SUPPRESS_FLAG),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 2);
	env->fake->hold_flush = true;
	fake_refuse(env->fake, -EIO, 2);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_EXPECT_TRUE(test, fake_complete_send(tp_qp(&ep), IB_WC_WR_FLUSH_ERR));
	fake_settle(env->fake);
	fake_refuse(env->fake, -EIO, 2);
	expect_reset_refused(test);
	fake_release(env->fake, tp_qp(&ep));
	expect_reset(test);
}

/* ---- an IA that is being closed ----------------------------------------------- */

/* An object that is created after close has collected the objects would never be freed */
static void no_object_is_created_on_an_IA_that_closes(struct kunit *test)
{
	struct kdapl_ia *ia = env->ia;
	bool entered;

	KUNIT_ASSERT_TRUE(test, kdapl_ia_enter(ia));
	kdapl_ia_leave(ia);
	down_write(&ia->sem);
	ia->closing = true;
	up_write(&ia->sem);
	entered = kdapl_ia_enter(ia);
	if (entered)
		kdapl_ia_leave(ia);
	KUNIT_EXPECT_FALSE(test, entered);
	down_write(&ia->sem);
	ia->closing = false;
	up_write(&ia->sem);
}

/* ---- removal and close concurrent with calls --------------------------------- */

#define CHURNERS	4
#define CHURN_ROUNDS	6

/* A work item that creates, connects, resets and frees objects until churn_stop is set */
struct churner {
	struct work_struct work;
	struct completion done;
	DAT_IA_HANDLE ia;
	DAT_SRQ_HANDLE srq;
	u8 *buf;
	struct rnd_state rnd;
	unsigned int n;			/* number of connections */
	unsigned int rounds;
};

static struct churner churners[CHURNERS];
static bool churn_stop;

/* A random number below @n. The seed is the index of the churner */
static u32 any_of(struct rnd_state *rnd, u32 n)
{
	return prandom_u32_state(rnd) % n;
}

static void churn_connect(struct churner *c, DAT_EP_HANDLE handle)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_EP);
	struct rdma_cm_id *id;
	struct kdapl_ep *ep;

	if (!obj)
		return;
	ep = to_kdapl_ep(obj);
	id = rdma_create_id(&init_net, kdapl_cm_handler, ep, RDMA_PS_TCP, IB_QPT_RC);
	mutex_lock(&ep->mutex);
	if (!IS_ERR(id) && ep->state == DAT_EP_STATE_UNCONNECTED &&
	    !kdapl_notice_reserve(ep)) {
		kdapl_cm_begin(ep, id, false);
		kdapl_ep_enter_connected(ep);
		c->n++;
		id = NULL;
	}
	mutex_unlock(&ep->mutex);
	if (!IS_ERR_OR_NULL(id))
		rdma_destroy_id(id);
	kdapl_obj_put(obj);
}

static void churn_post(DAT_EP_HANDLE handle)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	unsigned int i;

	for (i = 0; i < TP_DEPTH / 2; i++) {
		dat_ep_post_recv(handle, 0, NULL, cookie, 0);
		dat_ep_post_send(handle, 0, NULL, cookie, i & 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0);
	}
}

/* Any return value is correct: IA and device may be removed at any time */
static void churn_ep(struct churner *c, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE dto, DAT_EVD_HANDLE conn)
{
	bool srq = any_of(&c->rnd, 2);
	DAT_EP_HANDLE handle;
	DAT_EP_ATTR attr;
	DAT_EVENT event;
	DAT_RETURN ret;

	tp_attr(&attr);
	if (srq)
		ret = dat_ep_create_with_srq(c->ia, env->own.pz, dto, dto, conn, c->srq, &attr,
					     &handle);
	else
		ret = dat_ep_create(c->ia, pz, dto, dto, conn, &attr, &handle);
	if (ret != DAT_SUCCESS)
		return;
	churn_post(handle);
	churn_connect(c, handle);
	churn_post(handle);
	if (any_of(&c->rnd, 2))
		dat_ep_disconnect(handle, any_of(&c->rnd, 2) ? DAT_CLOSE_ABRUPT_FLAG :
							       DAT_CLOSE_GRACEFUL_FLAG);
	while (any_of(&c->rnd, 4) && dat_evd_dequeue(dto, &event) == DAT_SUCCESS)
		;
	if (any_of(&c->rnd, 2) && dat_ep_reset(handle) == DAT_SUCCESS)
		churn_connect(c, handle);
	dat_ep_get_status(handle, NULL, NULL, NULL);
	dat_ep_free(handle);
}

static void churn_once(struct churner *c)
{
	DAT_REGION_DESCRIPTION region = { .for_va = c->buf };
	DAT_HANDLE pz, dto, conn, lmr;
	DAT_LMR_CONTEXT context;

	if (dat_pz_create(c->ia, &pz) != DAT_SUCCESS)
		return;
	if (dat_evd_kcreate(c->ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &dto) !=
	    DAT_SUCCESS)
		goto out_pz;
	if (dat_evd_kcreate(c->ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG, &conn) !=
	    DAT_SUCCESS)
		goto out_dto;
	if (dat_lmr_kcreate(c->ia, DAT_MEM_TYPE_VIRTUAL, region, TP_BUF, pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA,
			    DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &context, NULL, NULL,
			    NULL) == DAT_SUCCESS) {
		churn_ep(c, pz, dto, conn);
		dat_lmr_free(lmr);
	}
	dat_evd_free(conn);
out_dto:
	dat_evd_free(dto);
out_pz:
	dat_pz_free(pz);
}

static void churn_work(struct work_struct *work)
{
	struct churner *c = container_of(work, struct churner, work);

	while (!READ_ONCE(churn_stop)) {
		churn_once(c);
		WRITE_ONCE(c->rounds, c->rounds + 1);
		cond_resched();
	}
	complete(&c->done);
}

static void churn_start(void)
{
	unsigned int i;

	WRITE_ONCE(churn_stop, false);
	for (i = 0; i < CHURNERS; i++) {
		churners[i].ia = ia_handle();
		churners[i].srq = env->srq_handle;
		churners[i].buf = env->buf;
		prandom_seed_state(&churners[i].rnd, i);
		init_completion(&churners[i].done);
		INIT_WORK(&churners[i].work, churn_work);
		queue_work(system_unbound_wq, &churners[i].work);
	}
}

/* Waits until each churner has made @n more rounds */
static void churn_on(struct kunit *test, unsigned int n)
{
	unsigned int i, end;

	for (i = 0; i < CHURNERS; i++) {
		end = READ_ONCE(churners[i].rounds) + n;
		KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(churners[i].rounds) >= end));
	}
}

static void churn_end(void)
{
	unsigned int i;

	WRITE_ONCE(churn_stop, true);
	for (i = 0; i < CHURNERS; i++)
		wait_for_completion(&churners[i].done);
}

/* Creates a device and an IA for the next round */
static void churn_renew(struct kunit *test)
{
	tp_env_destroy(env);
	env = tp_env_create();
	KUNIT_ASSERT_FALSE(test, IS_ERR(env));
}

static void P8_removal_under_calls_of_every_kind(struct kunit *test)
{
	unsigned int i;

	kdapl_clauses(test, "C-57");
	for (i = 0; i < CHURN_ROUNDS; i++) {
		churn_start();
		churn_on(test, i);
		fake_dev_unplug(env->fake);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
		churn_on(test, 3);
		churn_end();
		churn_renew(test);
	}
}

static void P8_abrupt_close_under_calls_of_every_kind(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < CHURN_ROUNDS; i++) {
		churn_start();
		churn_on(test, i);
		KUNIT_EXPECT_EQ(test, dat_ia_close(ia_handle(), DAT_CLOSE_ABRUPT_FLAG),
				DAT_SUCCESS);
		env->ia = NULL;
		churn_end();
		churn_renew(test);
	}
	for (i = 0; i < CHURNERS; i++)
		kunit_info(test, "%u connections", churners[i].n);
}

/* ---- suite ----------------------------------------------------------------------- */

static int control_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void control_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	/* Release held posts even after a failed test, because freeing the EP waits for them */
	if (ep.ep && rcu_access_pointer(ep.ep->fast.qp))
		fake_release(env->fake, tp_qp(&ep));
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case control_cases[] = {
	KUNIT_CASE(C_31_failed_device_breaks_a_connection),
	KUNIT_CASE(C_31_failed_device_ends_an_attempt),
	KUNIT_CASE(no_object_is_created_on_an_IA_that_closes),
	KUNIT_CASE_SLOW(P8_removal_under_calls_of_every_kind),
	KUNIT_CASE_SLOW(P8_abrupt_close_under_calls_of_every_kind),
	KUNIT_CASE_SLOW(P8_free_and_removal_if_modify_QP_to_ERROR_fails),
	KUNIT_CASE_SLOW(P8_reset_if_modify_QP_to_ERROR_fails),
	KUNIT_CASE_SLOW(P8_reset_if_the_device_flushes_nothing),
	KUNIT_CASE_SLOW(P8_reset_if_the_device_keeps_a_marker),
	{}
};

static struct kunit_suite control_suite = {
	.name = "kdapl_control",
	.init = control_init,
	.exit = control_exit,
	.test_cases = control_cases,
};

kunit_test_suite(control_suite);
