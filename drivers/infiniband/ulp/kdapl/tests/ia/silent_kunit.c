// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: teardown on a device that has failed: it accepts everything and completes nothing, or
 * refuses what it is asked for, or destroys nothing.
 *
 * No call may wait without a limit, nor once for each object. The suite shortens the limits and
 * counts service QPs and grace periods, so no result depends on the speed of the machine. Runs in
 * a KUnit thread, with others for calls that might hang.
 */
#include "clause.h"
#include "memory/internal.h"
#include "post_kunit.h"
#include "queue/internal.h"

#define SILENT_LMRS	50
#define SILENT_FREED	10	/* of those, before the IA is closed */
#define SILENT_GRACES	8	/* of a close, however many LMRs and RMRs there are */
#define SILENT_MS	50

static struct tp_env *env;
static struct tp_ep ep;
static struct tp_aside ending, leaving;
static DAT_LMR_HANDLE lmrs[SILENT_LMRS];
static unsigned int drain_before, service_before;

static void free_ep(void)
{
	DAT_RETURN ret = dat_ep_free(ep.handle);

	WARN_ON(ret != DAT_SUCCESS);
	ep.handle = NULL;
}

static void close_ia(void)
{
	DAT_RETURN ret = dat_ia_close(kdapl_obj_handle(&env->ia->obj), DAT_CLOSE_ABRUPT_FLAG);

	WARN_ON(ret != DAT_SUCCESS);
	env->ia = NULL;
	ep.handle = NULL;
}

static void unplug(void)
{
	fake_dev_unplug(env->fake);
}

static void fall_silent(void)
{
	env->fake->hold_flush = true;
	env->fake->hold_service = true;
}

/* ---- endpoints ------------------------------------------------------------ */

/* A connected endpoint with two receives and two requests, on a device that has fallen silent */
static void silent_ep(struct kunit *test)
{
	u64 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	for (i = 1; i <= 2; i++) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
	}
	fall_silent();
}

static void P8_a_free_does_not_wait_for_ever(struct kunit *test)
{
	kdapl_clauses(test, "C-36");
	silent_ep(test);
	tp_start(&ending, free_ep);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd) + tp_events(ep.request_evd), 0);
}

static DAT_RETURN reset_ret;

static void reset_ep(void)
{
	reset_ret = dat_ep_reset(ep.handle);
}

/* The device may still write to the buffers of the posts, so the EP keeps its QP */
static void C_32_a_reset_does_not_wait_for_ever(struct kunit *test)
{
	kdapl_clauses(test, "C-32");
	silent_ep(test);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_ASSERT_TRUE(test, tp_wait_end(env, &ep));
	tp_start(&ending, reset_ep);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
	TP_EXPECT_TYPE(test, reset_ret, DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	tp_start(&ending, free_ep);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
}

static void expect_two_flushed(struct kunit *test, DAT_EVD_HANDLE evd)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	u32 seen = 0, i;
	DAT_EVENT event;

	for (i = 1; i <= 2; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
		dto = &event.event_data.dto_completion_event_data;
		KUNIT_EXPECT_EQ(test, dto->status, DAT_DTO_ERR_FLUSHED);
		seen |= BIT(dto->user_cookie.as_64);
	}
	KUNIT_EXPECT_EQ(test, seen, 6);
	KUNIT_EXPECT_EQ(test, tp_events(evd), 0);
}

static void post_in_silence(void)
{
	fall_silent();
	WARN_ON(tp_post_one(env, &ep, TP_RECV, 1, 0) != DAT_SUCCESS ||
		tp_post_one(env, &ep, TP_SEND, 1, 0) != DAT_SUCCESS ||
		tp_post_one(env, &ep, TP_RECV, 2, 0) != DAT_SUCCESS ||
		tp_post_one(env, &ep, TP_SEND, 2, 0) != DAT_SUCCESS);
}

/* The old QP was drained, and has got posts since that time: they are not lost */
static void C_32_a_device_that_fails_during_a_reset(struct kunit *test)
{
	kdapl_clauses(test, "C-32 C-58");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_ASSERT_TRUE(test, tp_wait_end(env, &ep));
	tp_drain(&ep);
	env->fake->create_hook = post_in_silence;
	tp_start(&ending, reset_ep);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
	TP_EXPECT_TYPE(test, reset_ret, DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	expect_two_flushed(test, ep.recv_evd);
	expect_two_flushed(test, ep.request_evd);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
	/* The device has recovered */
	env->fake->hold_flush = false;
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_connect(&ep), 0);
}

static void C_57_removal_does_not_wait_for_ever(struct kunit *test)
{
	kdapl_clauses(test, "C-57 C-58");
	silent_ep(test);
	tp_start(&leaving, unplug);
	KUNIT_ASSERT_TRUE(test, tp_finish(&leaving));
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
	expect_two_flushed(test, ep.recv_evd);
	expect_two_flushed(test, ep.request_evd);
}

/* ---- memory --------------------------------------------------------------- */

static DAT_RETURN make_lmr(u32 i)
{
	DAT_REGION_DESCRIPTION region = { .for_va = env->buf };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;

	return dat_lmr_kcreate(kdapl_obj_handle(&env->ia->obj), DAT_MEM_TYPE_VIRTUAL, region,
			       TP_SEG, env->own.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, &lmrs[i], &context, &key, NULL, NULL);
}

static void make_lmrs(struct kunit *test)
{
	u32 i;

	for (i = 0; i < SILENT_LMRS; i++)
		KUNIT_ASSERT_EQ(test, make_lmr(i), DAT_SUCCESS);
}

static u32 service_qps(void)
{
	return env->fake->next_qpn;
}

static void free_lmrs(void)
{
	DAT_RETURN ret = DAT_SUCCESS;
	u32 i;

	for (i = 0; i < SILENT_FREED; i++)
		ret |= dat_lmr_free(lmrs[i]);
	WARN_ON(ret != DAT_SUCCESS);
}

static int graces(void)
{
	return atomic_read(&kdapl_grace_periods);
}

/* Only the first LMR waits; no further service QP is created */
static void L_06_one_time_limit_for_all_regions(struct kunit *test)
{
	u32 valid, qps;
	int before;

	kdapl_clauses(test, "L-06");
	make_lmrs(test);
	valid = fake_valid_mrs(env->fake);
	qps = service_qps();
	before = graces();
	fall_silent();
	tp_start(&ending, free_lmrs);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
	KUNIT_EXPECT_EQ(test, service_qps(), qps);
	KUNIT_EXPECT_EQ(test, graces() - before, SILENT_FREED);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(env->fake), valid - SILENT_FREED);

	before = graces();
	tp_start(&ending, close_ia);
	/* Meanwhile the device is removed, too */
	tp_start(&leaving, unplug);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
	KUNIT_ASSERT_TRUE(test, tp_finish(&leaving));
	KUNIT_EXPECT_LE(test, graces() - before, SILENT_GRACES);
	KUNIT_EXPECT_EQ(test, service_qps(), qps);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(env->fake), 0);
}

/* No registration waits for the timeout of another one; later the device gets another chance */
static void L_06_one_time_limit_for_all_registrations(struct kunit *test)
{
	struct kdapl_ia *ia = env->ia;
	u32 qps, i;

	kdapl_clauses(test, "L-06");
	fall_silent();
	TP_EXPECT_TYPE(test, make_lmr(0), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_ASSERT_NE(test, ia->silent_until, 0);
	/* However slow this machine is */
	ia->silent_until = get_jiffies_64() + 3600ULL * HZ;
	qps = service_qps();
	for (i = 0; i < SILENT_LMRS; i++)
		TP_EXPECT_TYPE(test, make_lmr(i), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, service_qps(), qps);
	ia->silent_until = get_jiffies_64();
	env->fake->hold_service = false;
	make_lmrs(test);
}

/* A close needs no request at all */
static void L_06_close_on_a_silent_device(struct kunit *test)
{
	DAT_RMR_HANDLE rmr;
	int before;
	u32 qps;

	kdapl_clauses(test, "L-06 C-36");
	make_lmrs(test);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(env->own.pz, &rmr), DAT_SUCCESS);
	fall_silent();
	env->fake->invalidated = 0;
	qps = service_qps();
	before = graces();
	tp_start(&ending, close_ia);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
	KUNIT_EXPECT_LE(test, graces() - before, SILENT_GRACES);
	KUNIT_EXPECT_EQ(test, service_qps(), qps);
	KUNIT_EXPECT_EQ(test, env->fake->invalidated, 0);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(env->fake), 0);
}

/* The driver refuses every command: two attempts for the first LMR, and none for the others */
static void L_06_a_service_QP_that_cannot_be_created(struct kunit *test)
{
	struct kdapl_obj *pz = kdapl_obj_get(env->own.pz, DAT_HANDLE_TYPE_PZ);
	u32 qps;

	kdapl_clauses(test, "L-06");
	KUNIT_ASSERT_NOT_NULL(test, pz);
	make_lmrs(test);
	to_fake_qp(to_kdapl_pz(pz)->qp)->state = IB_QPS_ERR;
	kdapl_obj_put(pz);
	env->fake->fail_modify = -EIO;
	qps = service_qps();
	free_lmrs();
	/* The first attempt uses the old QP */
	KUNIT_EXPECT_EQ(test, service_qps(), qps + 1);
	/* A registration tries again, and so do the frees after it */
	env->fake->fail_modify = 0;
	make_lmrs(test);
	qps = service_qps();
	env->fake->invalidated = 0;
	free_lmrs();
	KUNIT_EXPECT_EQ(test, service_qps(), qps);
	KUNIT_EXPECT_NE(test, env->fake->invalidated, 0);
}

static void C_31_no_request_after_a_fatal_event(struct kunit *test)
{
	struct ib_event event = {
		.device = &env->fake->ibdev,
		.event = IB_EVENT_DEVICE_FATAL,
	};

	kdapl_clauses(test, "C-31 L-06");
	make_lmrs(test);
	ib_dispatch_event(&event);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(test_bit(0, &env->ia->catastrophic_raised)));
	fall_silent();
	env->fake->invalidated = 0;
	free_lmrs();
	KUNIT_EXPECT_EQ(test, env->fake->invalidated, 0);
}

/* ---- a driver that destroys nothing ---------------------------------------- */

/* A QP that the driver has not destroyed must not reach freed objects */
static void C_36_a_driver_that_keeps_a_QP(struct kunit *test)
{
	struct kdapl_cq *kcq;
	struct ib_qp *qp;

	kdapl_clauses(test, "C-36");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	qp = &tp_qp(&ep)->ibqp;
	kcq = ep.ep->queue.cq;
	env->fake->fail_destroy = -ETIMEDOUT;
	free_ep();
	env->fake->fail_destroy = 0;
	KUNIT_ASSERT_NULL(test, qp->qp_context);
	fake_raise(env->fake, to_fake_qp(qp), IB_EVENT_QP_FATAL);
	/* The CQ cannot be destroyed before the QP */
	KUNIT_ASSERT_EQ(test, ib_destroy_qp(qp), 0);
	kdapl_free_stopped_cq(kcq->cq);
	kfree(kcq);
}

/* The EVD is freed after the EP, and the handler of the CQ must not reach it */
static void C_36_a_driver_that_keeps_a_polled_CQ(struct kunit *test)
{
	ib_comp_handler handler;
	struct kdapl_cq *kcq;
	struct ib_qp *qp;

	kdapl_clauses(test, "C-36");
	KUNIT_ASSERT_EQ(test, tp_ep_create_in(env, KDAT_EVD_PROCESS_FLAG, NULL, false, &ep),
			DAT_SUCCESS);
	qp = &tp_qp(&ep)->ibqp;
	kcq = ep.ep->queue.cq;
	handler = kcq->recv->cq->comp_handler;
	env->fake->fail_destroy = -ETIMEDOUT;
	tp_ep_free(&ep);
	env->fake->fail_destroy = 0;
	KUNIT_EXPECT_PTR_NE(test, kcq->recv->cq->comp_handler, handler);
	kcq->recv->cq->comp_handler(kcq->recv->cq, kcq->recv->cq->cq_context);
	KUNIT_ASSERT_EQ(test, ib_destroy_qp(qp), 0);
	if (kcq->request != kcq->recv)
		kdapl_polled_cq_destroy(kcq->request);
	kdapl_polled_cq_destroy(kcq->recv);
	kfree(kcq);
}

static void L_06_a_driver_that_keeps_a_region(struct kunit *test)
{
	struct kdapl_obj *obj;
	struct kdapl_pz *pz;
	struct ib_mr *mr;
	struct ib_qp *qp;
	struct ib_cq *cq;

	kdapl_clauses(test, "L-06");
	KUNIT_ASSERT_EQ(test, make_lmr(0), DAT_SUCCESS);
	obj = kdapl_obj_get(lmrs[0], DAT_HANDLE_TYPE_LMR);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	mr = to_kdapl_lmr(obj)->mr;
	pz = to_kdapl_lmr(obj)->pz;
	kdapl_obj_put(obj);
	qp = pz->qp;
	cq = pz->cq;
	fall_silent();
	env->fake->fail_destroy = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmrs[0]), DAT_SUCCESS);
	fake_settle(env->fake);
	env->fake->fail_destroy = 0;
	KUNIT_ASSERT_NULL(test, cq->cq_context);
	cq->comp_handler(cq, cq->cq_context);
	KUNIT_EXPECT_EQ(test, ib_dereg_mr(mr), 0);
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(qp), 0);
	ib_destroy_cq(cq);
}

/* ---- suite ---------------------------------------------------------------- */

static int silent_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	drain_before = kdapl_drain_all_ms;
	service_before = kdapl_service_ms;
	kdapl_drain_all_ms = SILENT_MS;
	kdapl_service_ms = SILENT_MS;
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void silent_exit(struct kunit *test)
{
	if (!IS_ERR_OR_NULL(env)) {
		env->fake->create_hook = NULL;
		env->fake->fail_destroy = 0;
		env->fake->hold_flush = false;
		env->fake->hold_service = false;
		env->fake->fail_modify = 0;
		KUNIT_EXPECT_EQ(test, env->fake->misuses, 0);
	}
	tp_env_end(test, &env, &ep);
	kdapl_drain_all_ms = drain_before;
	kdapl_service_ms = service_before;
}

static struct kunit_case silent_cases[] = {
	KUNIT_CASE(P8_a_free_does_not_wait_for_ever),
	KUNIT_CASE(C_32_a_reset_does_not_wait_for_ever),
	KUNIT_CASE(C_32_a_device_that_fails_during_a_reset),
	KUNIT_CASE(C_57_removal_does_not_wait_for_ever),
	KUNIT_CASE(L_06_one_time_limit_for_all_regions),
	KUNIT_CASE(L_06_one_time_limit_for_all_registrations),
	KUNIT_CASE(L_06_close_on_a_silent_device),
	KUNIT_CASE(L_06_a_service_QP_that_cannot_be_created),
	KUNIT_CASE(C_31_no_request_after_a_fatal_event),
	KUNIT_CASE(C_36_a_driver_that_keeps_a_QP),
	KUNIT_CASE(C_36_a_driver_that_keeps_a_polled_CQ),
	KUNIT_CASE(L_06_a_driver_that_keeps_a_region),
	{}
};

static struct kunit_suite silent_suite = {
	.name = "kdapl_silent",
	.init = silent_init,
	.exit = silent_exit,
	.test_cases = silent_cases,
};

kunit_test_suite(silent_suite);
