// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: receives in solicited-wait mode on a connected endpoint.
 *
 * The suite tests which messages lead to upcalls while the CQ is not armed, and on a
 * device that compares the arming flags for equality. It also tests flushes for which
 * the device does not call the completion handler, and that an endpoint without receives has
 * no CQ of its own for them. Runs in a KUnit thread; each test
 * has its own endpoint.
 */
#include "clause.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static struct {
	atomic_t n;
	u64 last;
	DAT_DTO_COMPLETION_STATUS status;
} upcalls;

static void record_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	upcalls.last = event->event_data.dto_completion_event_data.user_cookie.as_64;
	upcalls.status = event->event_data.dto_completion_event_data.status;
	atomic_inc(&upcalls.n);
}

/* A connected endpoint with four receives, whose cookies are 1 to 4 */
static void make(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = record_upcall };
	DAT_EP_ATTR attr;
	u64 i;

	atomic_set(&upcalls.n, 0);
	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(ep.recv_evd, DAT_UPCALL_SINGLE_INSTANCE,
						    &upcall, DAT_UPCALL_INVOC_NEW), DAT_SUCCESS);
	for (i = 1; i <= 4; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
}

static void solicited(u32 len)
{
	fake_complete_recv_solicited(tp_qp(&ep), len);
	fake_settle(env->fake);
}

/* ---- the CQ is not armed -------------------------------------------------------- */

static void second_message(void)
{
	fake_complete_recv_solicited(tp_qp(&ep), 20);
}

/* The first message raises an event; the second arrives before the CQ is armed again */
static void S_17_message_before_the_CQ_is_armed_has_its_upcall(struct kunit *test)
{
	kdapl_clauses(test, "S-17 E-17");
	make(test);
	env->fake->arm_hook = second_message;
	WRITE_ONCE(env->fake->arm_hook_cq, ep.ep->queue.cq->recv->cq);
	solicited(10);
	KUNIT_EXPECT_NULL(test, READ_ONCE(env->fake->arm_hook_cq));
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 2);
	KUNIT_EXPECT_EQ(test, upcalls.last, 2);
	/* The CQ is armed: a plain message has no upcall, the next solicited one has */
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 30);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 2);
	solicited(40);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 4);
	KUNIT_EXPECT_EQ(test, upcalls.last, 4);
}

static void many_messages(void)
{
	u32 i;

	for (i = 2; i < TP_DEPTH; i++)
		fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 20);
	second_message();
}

/* More than one poll finds arrive before the CQ is armed, and the last one is solicited */
static void S_17_many_messages_before_the_CQ_is_armed(struct kunit *test)
{
	u64 i;

	kdapl_clauses(test, "S-17 E-17");
	make(test);
	for (i = 5; i <= TP_DEPTH; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	env->fake->arm_hook = many_messages;
	WRITE_ONCE(env->fake->arm_hook_cq, ep.ep->queue.cq->recv->cq);
	solicited(10);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, upcalls.last, TP_DEPTH);
}

/* Like irdma: with any flag besides IB_CQ_SOLICITED every completion raises an event */
static void R_12_a_device_that_takes_the_flags_literally(struct kunit *test)
{
	kdapl_clauses(test, "R-12 S-18");
	env->fake->personality |= FAKE_ARMS_BY_EQUALITY;
	make(test);
	solicited(10);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 1);
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 20);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 1);
	tp_expect_dto(test, &ep, TP_RECV, 2, DAT_DTO_SUCCESS, 20);
	solicited(30);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 2);
}

/* ---- flushes without a call --------------------------------------------------------- */

static void G_33_a_receive_in_DISCONNECTED_has_its_upcall(struct kunit *test)
{
	kdapl_clauses(test, "G-33");
	make(test);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(atomic_read(&upcalls.n) == 4 &&
						  ep.ep->state == DAT_EP_STATE_DISCONNECTED));
	/* Without the timer only the post itself can cause a poll of the CQ */
	cancel_delayed_work_sync(&ep.ep->fast.recv_evd->timer);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, 5, 0), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(atomic_read(&upcalls.n) == 5));
	KUNIT_EXPECT_EQ(test, upcalls.last, 5);
	KUNIT_EXPECT_EQ(test, upcalls.status, DAT_DTO_ERR_FLUSHED);
}

/* Without an EVD for receives no upcall can wait for a solicited message */
static void an_endpoint_without_receives_needs_no_second_CQ(struct kunit *test)
{
	DAT_EP_HANDLE handle = DAT_HANDLE_NULL;
	struct kdapl_obj *obj;
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.max_recv_dtos = 0;
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
					    DAT_HANDLE_NULL, ep.request_evd, ep.connect_evd,
					    &attr, &handle), DAT_SUCCESS);
	obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_EP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_NOT_NULL(test, to_kdapl_ep(obj)->queue.cq);
	KUNIT_EXPECT_NULL(test, to_kdapl_ep(obj)->queue.cq->recv);
	kdapl_obj_put(obj);
	KUNIT_EXPECT_EQ(test, dat_ep_free(handle), DAT_SUCCESS);
}

/* ---- suite ------------------------------------------------------------------------ */

static int solicited_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void solicited_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case solicited_cases[] = {
	KUNIT_CASE(S_17_message_before_the_CQ_is_armed_has_its_upcall),
	KUNIT_CASE(S_17_many_messages_before_the_CQ_is_armed),
	KUNIT_CASE(R_12_a_device_that_takes_the_flags_literally),
	KUNIT_CASE(G_33_a_receive_in_DISCONNECTED_has_its_upcall),
	KUNIT_CASE(an_endpoint_without_receives_needs_no_second_CQ),
	{}
};

static struct kunit_suite solicited_suite = {
	.name = "kdapl_solicited",
	.init = solicited_init,
	.exit = solicited_exit,
	.test_cases = solicited_cases,
};

kunit_test_suite(solicited_suite);
