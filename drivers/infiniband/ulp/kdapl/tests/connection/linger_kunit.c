// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the cause of an error reaches both ends, in any order of the events.
 *
 * The peer may disconnect before our device has processed the NAK that carries the
 * cause, and the device may report a refused request before its NAK leaves. In both
 * cases the EP waits for the answer before it moves the QP, but no longer than
 * KDAPL_LINGER_MS. Most cases make that time long, so that only the awaited event
 * can end the wait. Runs in a KUnit thread.
 */
#include <linux/ktime.h>
#include "post_kunit.h"

/* Makes KDAPL_LINGER_MS longer than any case lasts */
#define LONG_STRETCH	100000U

static struct tp_env *env;
static struct tp_ep ep, peer;
static unsigned int stretch_before;

static void make(struct kunit *test, struct tp_ep *tep)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, tep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, tep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(tep), 0);
}

static void says(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	tp_cm_says(id, type);
	fake_settle(env->fake);
}

static void device_says(struct tp_ep *tep, enum ib_event_type type)
{
	fake_raise(env->fake, tp_qp(tep), type);
	fake_settle(env->fake);
}

static void expect_lingering(struct kunit *test, struct tp_ep *tep, DAT_EP_STATE state)
{
	KUNIT_EXPECT_EQ(test, tep->ep->state, state);
	KUNIT_EXPECT_EQ(test, tp_qp(tep)->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, tp_events(tep->connect_evd), 0);
}

static void expect_end(struct kunit *test, struct tp_ep *tep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	KUNIT_EXPECT_EQ(test, tep->ep->state, DAT_EP_STATE_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, tep->ep->conn.lingers_for, KDAPL_LINGER_NONE);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_QUEUE_EMPTY);
}

/* ---- the peer leaves first ---------------------------------------------------- */

static const struct late_row {
	enum tp_call call;
	enum ib_wc_status wc;
	DAT_DTO_COMPLETION_STATUS status;
	const char *ids;
	const char *name;
} late_rows[] = {
	{ TP_SEND, IB_WC_REM_INV_REQ_ERR, DAT_DTO_ERR_REMOTE_RESPONDER, "S-48 R-22", "send" },
	{ TP_WRITE, IB_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS, "W-30 W-32", "write" },
	{ TP_READ, IB_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS, "D-15", "read" },
};

static void late_desc(const struct late_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(late, late_rows, late_desc);

static void G_36_the_NAK_comes_after_the_disconnect(struct kunit *test)
{
	const struct late_row *row = test->param_value;
	bool graceful;

	for (graceful = false; ; graceful = true) {
		make(test, &ep);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, row->call, 2, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 3, 0), DAT_SUCCESS);
		if (graceful)
			KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG),
					DAT_SUCCESS);
		says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
		expect_lingering(test, &ep, graceful ? DAT_EP_STATE_DISCONNECT_PENDING :
				 DAT_EP_STATE_CONNECTED);
		tp_complete(env, &ep, row->call, row->wc, 0);
		expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
		tp_expect_dto(test, &ep, row->call, 2, row->status, 0);
		tp_expect_dto(test, &ep, TP_SEND, 3, DAT_DTO_ERR_FLUSHED, 0);
		tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
		KUNIT_EXPECT_TRUE(test, ep.ep->first_error.valid);
		KUNIT_EXPECT_EQ(test, ep.ep->first_error.status, row->wc);
		KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
		tp_ep_free(&ep);
		if (graceful)
			break;
	}
	kdapl_clauses(test, "G-31 G-36 C-30 C-41");
	kdapl_clauses(test, row->ids);
}

/* Successes end the wait, too, unless the result of an unsignalled request is unknown */
static void C_29_the_last_request_ends_the_wait(struct kunit *test)
{
	kdapl_clauses(test, "C-29 C-41");
	make(test, &ep);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_WRITE, 2, DAT_COMPLETION_SUPPRESS_FLAG),
			DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 3, 0), DAT_SUCCESS);
	says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
	tp_complete(env, &ep, TP_WRITE, IB_WC_SUCCESS, 0);
	/* No marker is posted, because the peer would not acknowledge it */
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 1);
	expect_lingering(test, &ep, DAT_EP_STATE_CONNECTED);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	expect_end(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	tp_expect_dto(test, &ep, TP_SEND, 3, DAT_DTO_SUCCESS, TP_SEG);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
}

static void C_29_no_wait_without_outstanding_requests(struct kunit *test)
{
	kdapl_clauses(test, "C-29");
	make(test, &ep);
	says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
	expect_end(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* An EP that disconnects, or loses its address, does not wait */
static void C_24_an_abrupt_disconnect_ends_the_wait(struct kunit *test)
{
	kdapl_clauses(test, "C-24 C-48 C-56");
	make(test, &ep);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
	expect_lingering(test, &ep, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	expect_end(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_ERR_FLUSHED, 0);
}

/* The wait has a timeout, which is not too short, whatever requests are outstanding */
static void C_29_the_wait_is_bounded(struct kunit *test)
{
	static const u32 flags[] = { 0, DAT_COMPLETION_SUPPRESS_FLAG };
	ktime_t begin;
	u32 i;

	kdapl_clauses(test, "C-29 C-41");
	kdapl_timeout_scale = 1;
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		make(test, &ep);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, flags[i]), DAT_SUCCESS);
		begin = ktime_get();
		tp_cm_says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
		KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
		KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), begin), KDAPL_LINGER_MS);
		expect_end(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_ERR_FLUSHED, 0);
		KUNIT_EXPECT_FALSE(test, ep.ep->first_error.valid);
		tp_ep_free(&ep);
	}
}

/* ---- the device refuses a request of the peer --------------------------------- */

/* Both ends of a connection; the CM reports the disconnect of the first to the other */
static void W_30_the_event_comes_before_the_NAK(struct kunit *test)
{
	bool early;

	kdapl_clauses(test, "W-30 W-31 D-15 G-31 G-36 C-30 C-60");
	for (early = false; ; early = true) {
		env->fake->personality = early ? FAKE_ACCESS_ERR_FIRST : 0;
		make(test, &ep);
		make(test, &peer);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_WRITE, 2, 0), DAT_SUCCESS);
		KUNIT_EXPECT_TRUE(test, fake_refuse_access(env->fake, tp_qp(&ep), tp_qp(&peer)));
		fake_settle(env->fake);
		expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
		tp_expect_dto(test, &ep, TP_WRITE, 2, DAT_DTO_ERR_REMOTE_ACCESS, 0);
		KUNIT_EXPECT_EQ(test, ep.ep->first_error.status, IB_WC_REM_ACCESS_ERR);
		if (peer.ep->state != DAT_EP_STATE_DISCONNECTED)
			says(peer.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
		expect_end(test, &peer, DAT_CONNECTION_EVENT_BROKEN);
		tp_expect_dto(test, &peer, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
		tp_ep_free(&peer);
		tp_ep_free(&ep);
		if (early)
			break;
	}
}

static const enum ib_event_type refusals[] = { IB_EVENT_QP_ACCESS_ERR, IB_EVENT_QP_REQ_ERR };

/* The refusal came first, so the end is BROKEN; a disconnect of either side ends the wait */
static void C_30_a_refusal_then_a_disconnect(struct kunit *test)
{
	u32 i;

	kdapl_clauses(test, "C-30 C-41");
	for (i = 0; i < 2 * ARRAY_SIZE(refusals); i++) {
		make(test, &ep);
		device_says(&ep, refusals[i / 2]);
		expect_lingering(test, &ep, DAT_EP_STATE_CONNECTED);
		/* Neither a repeated event nor a graceful disconnect ends the wait */
		device_says(&ep, refusals[i / 2]);
		KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG),
				DAT_SUCCESS);
		fake_settle(env->fake);
		expect_lingering(test, &ep, DAT_EP_STATE_DISCONNECT_PENDING);
		if (i & 1)
			says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
		else
			dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
		fake_settle(env->fake);
		expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
		tp_ep_free(&ep);
	}
}

static void C_30_a_refusal_and_silence(struct kunit *test)
{
	ktime_t begin;
	u32 i;

	kdapl_clauses(test, "C-30 C-41");
	kdapl_timeout_scale = 1;
	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		make(test, &ep);
		begin = ktime_get();
		fake_raise(env->fake, tp_qp(&ep), refusals[i]);
		KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
		KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), begin), KDAPL_LINGER_MS);
		expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
		tp_ep_free(&ep);
	}
}

static void C_30_a_fatal_error_does_not_wait(struct kunit *test)
{
	kdapl_clauses(test, "C-30");
	make(test, &ep);
	device_says(&ep, IB_EVENT_QP_FATAL);
	expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
}

/* A message that is too long: its receive fails before the NAK leaves */
static void S_48_the_receive_fails_before_the_NAK(struct kunit *test)
{
	bool flushed;

	kdapl_clauses(test, "S-48 R-20 R-22 G-31 G-36");
	for (flushed = false; ; flushed = true) {
		make(test, &ep);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 2, 0), DAT_SUCCESS);
		tp_complete(env, &ep, TP_RECV, IB_WC_LOC_LEN_ERR, 0);
		tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_LOCAL_LENGTH, 0);
		expect_lingering(test, &ep, DAT_EP_STATE_CONNECTED);
		/* Either event proves that the NAK has left */
		if (flushed)
			tp_complete(env, &ep, TP_RECV, IB_WC_WR_FLUSH_ERR, 0);
		else
			says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
		expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
		tp_expect_dto(test, &ep, TP_RECV, 2, DAT_DTO_ERR_FLUSHED, 0);
		KUNIT_EXPECT_EQ(test, ep.ep->first_error.status, IB_WC_LOC_LEN_ERR);
		tp_ep_free(&ep);
		if (flushed)
			break;
	}
}

/* Both ends have sent too much: the EP also waits for the peer's answer to its send */
static void S_48_both_peers_send_too_much_data(struct kunit *test)
{
	kdapl_clauses(test, "S-48 R-22 G-36");
	make(test, &ep);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	tp_complete(env, &ep, TP_RECV, IB_WC_LOC_LEN_ERR, 0);
	says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
	expect_lingering(test, &ep, DAT_EP_STATE_CONNECTED);
	tp_complete(env, &ep, TP_SEND, IB_WC_REM_INV_REQ_ERR, 0);
	expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_ERR_REMOTE_RESPONDER, 0);
	KUNIT_EXPECT_EQ(test, ep.ep->first_error.status, IB_WC_LOC_LEN_ERR);
}

/* The peer's request overtakes the last message of the connection's establishment */
static void C_43_a_refusal_before_ESTABLISHED(struct kunit *test)
{
	struct rdma_cm_id *id;
	DAT_EVENT event;

	kdapl_clauses(test, "C-15 C-30 C-43");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	id = tp_begin(&ep, true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	device_says(&ep, IB_EVENT_QP_ACCESS_ERR);
	expect_lingering(test, &ep, DAT_EP_STATE_COMPLETION_PENDING);
	says(id, RDMA_CM_EVENT_ESTABLISHED);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_lingering(test, &ep, DAT_EP_STATE_CONNECTED);
	says(id, RDMA_CM_EVENT_DISCONNECTED);
	expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
}

/* ---- freed, and connected again ------------------------------------------------ */

static void C_36_C_32_a_wait_does_not_outlast_its_connection(struct kunit *test)
{
	kdapl_clauses(test, "C-32 C-36");
	make(test, &ep);
	device_says(&ep, IB_EVENT_QP_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	ep.handle = NULL;
	tp_ep_free(&ep);

	kdapl_timeout_scale = 1;
	make(test, &ep);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	tp_cm_says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	expect_end(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	/* The next connection does not wait */
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ep.ep->conn.timer));
	KUNIT_EXPECT_EQ(test, ep.ep->fast.slow_path, 0);
	fake_settle(env->fake);
	expect_lingering(test, &ep, DAT_EP_STATE_CONNECTED);
}

/* ---- suite ---------------------------------------------------------------------- */

static int linger_init(struct kunit *test)
{
	stretch_before = kdapl_timeout_scale;
	memset(&ep, 0, sizeof(ep));
	memset(&peer, 0, sizeof(peer));
	env = tp_env_create();
	if (IS_ERR(env))
		return PTR_ERR(env);
	kdapl_timeout_scale = LONG_STRETCH;
	return 0;
}

static void linger_exit(struct kunit *test)
{
	kdapl_timeout_scale = stretch_before;
	if (IS_ERR_OR_NULL(env))
		return;
	tp_ep_free(&peer);
	tp_env_end(test, &env, &ep);
}

static struct kunit_case linger_cases[] = {
	KUNIT_CASE_PARAM(G_36_the_NAK_comes_after_the_disconnect, late_gen_params),
	KUNIT_CASE(C_29_the_last_request_ends_the_wait),
	KUNIT_CASE(C_29_no_wait_without_outstanding_requests),
	KUNIT_CASE(C_24_an_abrupt_disconnect_ends_the_wait),
	KUNIT_CASE(C_29_the_wait_is_bounded),
	KUNIT_CASE(W_30_the_event_comes_before_the_NAK),
	KUNIT_CASE(C_30_a_refusal_then_a_disconnect),
	KUNIT_CASE(C_30_a_refusal_and_silence),
	KUNIT_CASE(C_30_a_fatal_error_does_not_wait),
	KUNIT_CASE(S_48_the_receive_fails_before_the_NAK),
	KUNIT_CASE(S_48_both_peers_send_too_much_data),
	KUNIT_CASE(C_43_a_refusal_before_ESTABLISHED),
	KUNIT_CASE(C_36_C_32_a_wait_does_not_outlast_its_connection),
	{}
};

static struct kunit_suite linger_suite = {
	.name = "kdapl_linger",
	.init = linger_init,
	.exit = linger_exit,
	.test_cases = linger_cases,
};

kunit_test_suite(linger_suite);
