// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: connection events, and the state of the EP when a Consumer receives them.
 *
 * The state changes before the upcall (C-42). An attempt has one outcome, even if further
 * events arrive late, and a connection one end, after all successes, with the first cause.
 * An early message completes the passive side. A graceful disconnect ends with the last
 * request. The suite raises the events of the CM itself. Runs in a KUnit thread.
 */
#include "clause.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;
static unsigned int stretch;	/* kdapl_timeout_scale before the case */

/* The return value of a post in the upcall of a connection event */
static struct {
	atomic_t n;
	DAT_EVENT_NUMBER number;
	DAT_RETURN send;
	DAT_RETURN recv;
	u8 state;
} seen;

static void posting_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	seen.number = event->event_number;
	seen.state = READ_ONCE(ep.ep->state);
	seen.send = tp_post_one(env, &ep, TP_SEND, 77, 0);
	seen.recv = tp_post_one(env, &ep, TP_RECV, 78, 0);
	atomic_inc(&seen.n);
}

static void expect_conn(struct kunit *test, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_QUEUE_EMPTY);
}

/* ---- the state comes first (C-42) ------------------------------------------------ */

static void C_42_the_state_is_there_before_its_event(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = posting_upcall };

	kdapl_clauses(test, "C-42 C-18 C-24 S-30 S-31");
	dat_evd_modify_upcall(ep.connect_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_UPCALL_INVOC_NEW);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep, false));
	KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, atomic_read(&seen.n), 1);
	KUNIT_EXPECT_EQ(test, seen.number, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, seen.state, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_EQ(test, seen.send, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, seen.recv, DAT_SUCCESS);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 5);
	tp_expect_dto(test, &ep, TP_SEND, 77, DAT_DTO_SUCCESS, TP_SEG);
	tp_expect_dto(test, &ep, TP_RECV, 78, DAT_DTO_SUCCESS, 5);

	dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, atomic_read(&seen.n), 2);
	KUNIT_EXPECT_EQ(test, seen.number, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, seen.state, DAT_EP_STATE_DISCONNECTED);
	tp_expect_dto(test, &ep, TP_SEND, 77, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &ep, TP_RECV, 78, DAT_DTO_ERR_FLUSHED, 0);
}

/* ---- one outcome (C-40) ------------------------------------------------------------ */

static void C_40_no_second_outcome_event(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-40 C-41 C-23 C-29");
	/* Cancelled by the Consumer: neither success nor failure follows */
	id = tp_begin(&ep, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	mutex_lock(&ep.ep->mutex);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_FALSE(test, kdapl_ep_enter_connected(ep.ep));
	tp_cm_says(id, RDMA_CM_EVENT_UNREACHABLE);
	tp_cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_FALSE(test, kdapl_ep_enter_connected(ep.ep));

	/* A connection has one end event, even if more events of the CM follow */
	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_EXPECT_FALSE(test, kdapl_ep_enter_connected(ep.ep));
	id = ep.ep->conn.cm_id;
	mutex_lock(&ep.ep->mutex);
	tp_cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
	tp_cm_says(id, RDMA_CM_EVENT_UNREACHABLE);
	tp_cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
}

static void C_15_passive_side_completes_with_the_final_message(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-15 C-43 R-23");
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	id = tp_begin(&ep, true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	/* A message before it schedules the work, so that the connection need not wait for it */
	mutex_lock(&ep.ep->mutex);
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 9);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(ep.ep->parked.first)));
	KUNIT_EXPECT_TRUE(test, test_bit(KDAPL_TODO_EARLY_RECV, &ep.ep->conn.todo));
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_COMPLETION_PENDING);
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 0);
	tp_cm_says(id, RDMA_CM_EVENT_ESTABLISHED);
	fake_settle(env->fake);
	expect_conn(test, DAT_CONNECTION_EVENT_ESTABLISHED);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_SUCCESS, 9);
}

/*
 * Right after a message the CM is about to report the connection. rdma_notify() would make it drop
 * the peer's final message, so the EP waits for a short time.
 */
static void C_43_a_final_message_is_replaced_only_if_it_is_late(struct kunit *test)
{
	struct rdma_cm_id *id;
	ktime_t limit;

	kdapl_clauses(test, "C-43 C-51");
	kdapl_timeout_scale = 1000;
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 2, 0), DAT_SUCCESS);
	id = tp_begin(&ep, true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	limit = ep.ep->conn.deadline;
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 9);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, ep.ep->conn.give_up, limit);
	KUNIT_EXPECT_LT(test, ep.ep->conn.deadline, limit);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ep.ep->conn.timer));

	/* Nobody reports it. The attempt still has the rest of its time */
	cancel_delayed_work_sync(&ep.ep->conn.timer);
	ep.ep->conn.deadline = 0;
	mod_delayed_work(kdapl_wq, &ep.ep->conn.timer, 0);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!READ_ONCE(ep.ep->conn.give_up)));
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_COMPLETION_PENDING);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ep.ep->conn.timer));
	tp_cm_says(id, RDMA_CM_EVENT_ESTABLISHED);
	fake_settle(env->fake);
	expect_conn(test, DAT_CONNECTION_EVENT_ESTABLISHED);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_SUCCESS, 9);
}

/* The CM handles the peer's disconnect first: a peer that has sent a message was connected */
static void C_43_a_message_was_sent_by_a_connected_peer(struct kunit *test)
{
	struct rdma_cm_id *id;
	DAT_EVENT event = {};
	u32 polled;

	kdapl_clauses(test, "C-15 C-43 C-44");
	for (polled = 0; polled < 2; polled++) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 2, 0), DAT_SUCCESS);
		id = tp_begin(&ep, true);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
		if (polled)
			fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 9);
		else
			env->fake->late_recvs = 1;
		fake_settle(env->fake);
		tp_cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
		KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
		tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_SUCCESS, polled ? 9 : 1);
		tp_expect_dto(test, &ep, TP_RECV, 2, DAT_DTO_ERR_FLUSHED, 0);
		KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	}

	/* Without a message there was no connection */
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	id = tp_begin(&ep, true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	tp_cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	expect_conn(test, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
}

/* ---- what the end tells ------------------------------------------------------------ */

/* When the QP is moved, the device has filled receives that were not polled yet */
static void C_44_late_successes_come_before_the_end(struct kunit *test)
{
	DAT_EVENT event;
	DAT_EP_ATTR attr;
	u64 i;

	kdapl_clauses(test, "C-44 C-24 E-35");
	tp_ep_free(&ep);
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(kdapl_obj_handle(&env->ia->obj), 8,
					      DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
					      &ep.connect_evd), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
					    ep.connect_evd, ep.connect_evd, ep.connect_evd, &attr,
					    &ep.handle), DAT_SUCCESS);
	ep.ep = to_kdapl_ep(kdapl_obj_get(ep.handle, DAT_HANDLE_TYPE_EP));
	kdapl_obj_put(&ep.ep->obj);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	env->fake->late_recvs = 2;
	dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(env->fake);
	for (i = 1; i <= 2; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, event.event_number, DAT_DTO_COMPLETION_EVENT);
		KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data.user_cookie.as_64,
				i);
		KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data.status,
				DAT_DTO_SUCCESS);
	}
	/* The flushed one and the end, in any order (C-45) */
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_QUEUE_EMPTY);
}

static void G_36_nothing_replaces_the_first_cause(struct kunit *test)
{
	u64 i;

	kdapl_clauses(test, "G-31 G-36 C-41");
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	for (i = 1; i <= 2; i++) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
	}
	/* All of them before the connection work can move the QP */
	mutex_lock(&ep.ep->mutex);
	fake_complete_recv(tp_qp(&ep), IB_WC_LOC_LEN_ERR, 0);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(ep.recv_evd) == 1));
	fake_complete_send(tp_qp(&ep), IB_WC_RETRY_EXC_ERR);
	fake_complete_send(tp_qp(&ep), IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(ep.request_evd) == 2));
	KUNIT_EXPECT_TRUE(test, ep.ep->first_error.valid);
	KUNIT_EXPECT_EQ(test, ep.ep->first_error.op, DAT_DTO_RECEIVE);
	KUNIT_EXPECT_EQ(test, ep.ep->first_error.status, IB_WC_LOC_LEN_ERR);
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->first_error.status, IB_WC_LOC_LEN_ERR);
	expect_conn(test, DAT_CONNECTION_EVENT_BROKEN);
}

/* ---- the end of a graceful disconnect ------------------------------------------------- */

/* Without an unsignalled tail there is no marker: the request itself ends the wait */
static void C_26_graceful_ends_with_the_last_request(struct kunit *test)
{
	enum tp_call call;

	kdapl_clauses(test, "C-25 C-26 S-36");
	for (call = TP_SEND; call <= TP_READ; call++) {
		KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 1, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 2, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 3, 0), DAT_SUCCESS);
		dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG);
		fake_settle(env->fake);
		tp_complete(env, &ep, call, IB_WC_SUCCESS, 0);
		KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECT_PENDING);
		KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
		TP_EXPECT_TYPE(test, tp_post_one(env, &ep, call, 4, 0), DAT_INVALID_STATE);
		KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 1);
		tp_complete(env, &ep, call, IB_WC_SUCCESS, 0);
		KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
		expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
		tp_expect_dto(test, &ep, call, 1, DAT_DTO_SUCCESS, TP_SEG);
		tp_expect_dto(test, &ep, call, 2, DAT_DTO_SUCCESS, TP_SEG);
		tp_expect_dto(test, &ep, TP_RECV, 3, DAT_DTO_ERR_FLUSHED, 0);
		KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	}
}

/* ---- suite -------------------------------------------------------------------------------- */

static int outcome_suite_init(struct kunit_suite *suite)
{
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void outcome_suite_exit(struct kunit_suite *suite)
{
	tp_env_destroy(env);
	env = NULL;
}

static int outcome_init(struct kunit *test)
{
	memset(&seen, 0, sizeof(seen));
	stretch = kdapl_timeout_scale;
	return tp_ep_create(env, NULL, false, &ep) == DAT_SUCCESS ? 0 : -EIO;
}

static void outcome_exit(struct kunit *test)
{
	kdapl_timeout_scale = stretch;
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
}

static struct kunit_case outcome_cases[] = {
	KUNIT_CASE(C_42_the_state_is_there_before_its_event),
	KUNIT_CASE(C_40_no_second_outcome_event),
	KUNIT_CASE(C_15_passive_side_completes_with_the_final_message),
	KUNIT_CASE(C_43_a_final_message_is_replaced_only_if_it_is_late),
	KUNIT_CASE(C_43_a_message_was_sent_by_a_connected_peer),
	KUNIT_CASE(C_44_late_successes_come_before_the_end),
	KUNIT_CASE(G_36_nothing_replaces_the_first_cause),
	KUNIT_CASE(C_26_graceful_ends_with_the_last_request),
	{}
};

static struct kunit_suite outcome_suite = {
	.name = "kdapl_outcome",
	.suite_init = outcome_suite_init,
	.suite_exit = outcome_suite_exit,
	.init = outcome_init,
	.exit = outcome_exit,
	.test_cases = outcome_cases,
};

kunit_test_suite(outcome_suite);
