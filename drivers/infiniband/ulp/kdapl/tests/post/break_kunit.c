// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the end of connections, and its effect on posts.
 *
 * Tests errors that break an endpoint (G-31, G-36), disconnects, completions that arrive
 * before the connection is established (C-43), reset and free, and buffers of an SRQ. The
 * fake device flushes a QP in ERROR at once, and the cm_id leads to no peer: the loopback
 * harness tests real connections. Runs in a KUnit thread.
 */
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static void make_connected(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
}

/* Uses one EVD for all streams, so that their order is visible */
static void make_merged(struct kunit *test)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	memset(&ep, 0, sizeof(ep));
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(kdapl_obj_handle(&env->ia->obj), 8,
					      DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
					      &ep.connect_evd), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
					    ep.connect_evd, ep.connect_evd, ep.connect_evd, &attr,
					    &ep.handle), DAT_SUCCESS);
	ep.ep = to_kdapl_ep(kdapl_obj_get(ep.handle, DAT_HANDLE_TYPE_EP));
	kdapl_obj_put(&ep.ep->obj);
}

/* Begins an attempt, which then waits for its outcome */
static struct rdma_cm_id *begin(struct kunit *test, bool passive)
{
	struct rdma_cm_id *id = rdma_create_id(&init_net, kdapl_cm_handler, ep.ep, RDMA_PS_TCP,
					       IB_QPT_RC);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	mutex_lock(&ep.ep->mutex);
	KUNIT_EXPECT_EQ(test, kdapl_notice_reserve(ep.ep), 0);
	kdapl_cm_begin(ep.ep, id, passive);
	mutex_unlock(&ep.ep->mutex);
	tp_qp(&ep)->state = IB_QPS_RTS;
	return id;
}

static void expect_conn(struct kunit *test, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.connect_event_data.ep_handle, ep.handle);
}

static const char *why_broken(void)
{
	DAT_EP_PARAM param;

	if (dat_ep_query(ep.handle, DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR |
				    DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, &param) != DAT_SUCCESS)
		return "query failed";
	if (strcmp(param.ep_attr.ep_provider_specific[0].name, "kdapl.first_error"))
		return "not there";
	return param.ep_attr.ep_provider_specific[0].value;
}

/* ---- errors that break a connection (G-31) -------------------------------------------- */

static const struct break_row {
	enum tp_call call;
	enum ib_wc_status wc;
	DAT_DTO_COMPLETION_STATUS status;
	const char *name;
	const char *ids;
} break_rows[] = {
	{ TP_SEND, IB_WC_REM_OP_ERR, DAT_DTO_ERR_REMOTE_RESPONDER, "S_48_remote_operation",
	  "S-48" },
	{ TP_SEND, IB_WC_RNR_RETRY_EXC_ERR, DAT_DTO_ERR_RECEIVER_NOT_READY, "S_47_no_receive",
	  "S-47" },
	{ TP_SEND, IB_WC_RETRY_EXC_ERR, DAT_DTO_ERR_TRANSPORT, "transport" },
	{ TP_SEND, IB_WC_LOC_QP_OP_ERR, DAT_DTO_ERR_LOCAL_EP, "local_ep" },
	{ TP_SEND, IB_WC_WR_FLUSH_ERR, DAT_DTO_ERR_FLUSHED, "flush_that_is_not_ours" },
	{ TP_WRITE, IB_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS, "W_30_remote_access",
	  "W-30" },
	{ TP_READ, IB_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS, "D_15_remote_access",
	  "D-15" },
	{ TP_READ, IB_WC_LOC_PROT_ERR, DAT_DTO_ERR_LOCAL_PROTECTION, "local_protection" },
	{ TP_RECV, IB_WC_LOC_LEN_ERR, DAT_DTO_ERR_LOCAL_LENGTH, "R_20_length",
	  "R-20 R-22" },
	{ TP_RECV, IB_WC_LOC_QP_OP_ERR, DAT_DTO_ERR_LOCAL_LENGTH, "R_20_length_as_rxe_says",
	  "R-20 R-22" },
	{ TP_RECV, IB_WC_WR_FLUSH_ERR, DAT_DTO_ERR_FLUSHED, "flushed_receive" },
};

static void break_desc(const struct break_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(break, break_rows, break_desc);

static void G_31_an_error_breaks_the_connection(struct kunit *test)
{
	const struct break_row *row = test->param_value;
	enum tp_call call;
	char text[32];
	u64 i;

	make_connected(test);
	KUNIT_EXPECT_STREQ(test, why_broken(), "none");
	for (i = 1; i <= 3; i++)
		for (call = TP_SEND; call <= TP_RECV; call += TP_RECV)
			KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, i, 0), DAT_SUCCESS);
	/* Complete all earlier posts, so that the one that fails is the oldest of its queue */
	while (fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS))
		;
	while (fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 1))
		;
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 6);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, row->call, 10, 0), DAT_SUCCESS);
	for (i = 11; i <= 13; i++) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	}
	tp_complete(env, &ep, row->call, row->wc, 0);

	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->state, IB_QPS_ERR);
	expect_conn(test, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
	tp_expect_dto(test, &ep, row->call, 10, row->status, 0);
	for (i = 11; i <= 13; i++) {
		tp_expect_dto(test, &ep, TP_SEND, i, DAT_DTO_ERR_FLUSHED, 0);
		tp_expect_dto(test, &ep, TP_RECV, i, DAT_DTO_ERR_FLUSHED, 0);
	}
	/* G-36: later flushes have not replaced the first error */
	snprintf(text, sizeof(text), "%u/%u/0/3", tp_call_op[row->call], row->wc);
	KUNIT_EXPECT_STREQ(test, why_broken(), text);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
	kdapl_clauses(test, "C-30 C-41 G-30 G-31 G-36");
	if (row->ids)
		kdapl_clauses(test, row->ids);
}

static void G_36_a_cause_replaces_an_unexplained_flush(struct kunit *test)
{
	make_connected(test);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	/* Both errors arrive before the connection work can run */
	mutex_lock(&ep.ep->mutex);
	fake_complete_recv(tp_qp(&ep), IB_WC_WR_FLUSH_ERR, 0);
	fake_complete_send(tp_qp(&ep), IB_WC_RETRY_EXC_ERR);
	for (int i = 0; i < 1000 && tp_events(ep.request_evd) < 1; i++)
		schedule_timeout_uninterruptible(1);
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	KUNIT_EXPECT_STREQ(test, why_broken(), "0/12/0/0");
	expect_conn(test, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
	/* The first error is reported until the next connection */
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_STREQ(test, why_broken(), "0/12/0/0");
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_EXPECT_STREQ(test, why_broken(), "none");
	kdapl_clauses(test, "G-31 G-36");
}

static void C_44_successes_come_before_the_end(struct kunit *test)
{
	DAT_EVENT event;
	u64 i;

	kdapl_clauses(test, "C-44");
	make_merged(test);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	ep.recv_evd = ep.connect_evd;
	for (i = 1; i <= 4; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 1);
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 1);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_SUCCESS, 1);
	tp_expect_dto(test, &ep, TP_RECV, 2, DAT_DTO_SUCCESS, 1);
	/* The two flushed receives and DISCONNECTED, in any order (C-45) */
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_QUEUE_EMPTY);
	ep.recv_evd = NULL;
}

/* ---- disconnects -------------------------------------------------------------------- */

static void C_24_abrupt_disconnect_flushes_in_order(struct kunit *test)
{
	u64 i;

	make_connected(test);
	for (i = 0; i < TP_DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, i & 1), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
	/*
	 * P3: every post completes exactly once, also suppressed ones, because they failed
	 * (S-16)
	 */
	for (i = 0; i < TP_DEPTH; i++) {
		tp_expect_dto(test, &ep, TP_SEND, i, DAT_DTO_ERR_FLUSHED, 0);
		tp_expect_dto(test, &ep, TP_RECV, i, DAT_DTO_ERR_FLUSHED, 0);
	}
	/* C-33: a second disconnect succeeds and has no effect */
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_STREQ(test, why_broken(), "none");
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	kdapl_clauses(test, "C-24 C-33 G-02 G-27 G-28 G-32 S-16 R-29");
}

static void S_31_disconnected_post_is_flushed(struct kunit *test)
{
	enum tp_call call;
	u64 i;

	make_connected(test);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
	dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(env->fake);
	for (call = 0; call < TP_SRQ; call++)
		for (i = 10; i < 13; i++)
			KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, call, i, 0), DAT_SUCCESS);
	/* S-32 */
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 20, DAT_COMPLETION_SUPPRESS_FLAG),
			DAT_SUCCESS);
	fake_settle(env->fake);
	/* S-33: after the events of all earlier requests */
	for (i = 0; i < 3; i++)
		tp_expect_dto(test, &ep, TP_SEND, i, DAT_DTO_ERR_FLUSHED, 0);
	for (call = 0; call < TP_SRQ; call++)
		for (i = 10; i < 13; i++)
			tp_expect_dto(test, &ep, call, i, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &ep, TP_SEND, 20, DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
	kdapl_clauses(test, "C-35 S-31 S-32 S-33 R-27 R-28 W-23 D-12");
}

static void C_25_graceful_disconnect_lets_requests_finish(struct kunit *test)
{
	make_connected(test);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_WRITE, 2, DAT_COMPLETION_SUPPRESS_FLAG),
			DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 3, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECT_PENDING);
	/* S-36, R-26 */
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_SEND, 4, 0), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, 5, 0), DAT_SUCCESS);
	/* C-28 */
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECT_PENDING);
	/* First the suppressed request, then the drain marker that was posted after it */
	tp_complete(env, &ep, TP_WRITE, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECT_PENDING);
	tp_complete(env, &ep, TP_WRITE, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
	tp_expect_dto(test, &ep, TP_SEND, 1, DAT_DTO_SUCCESS, TP_SEG);
	tp_expect_dto(test, &ep, TP_RECV, 3, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &ep, TP_RECV, 5, DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	kdapl_clauses(test, "C-25 C-26 C-28 S-36 R-26");
}

/* ---- before the connection (C-43) ------------------------------------------------------ */

static void C_43_parked_receives_follow_ESTABLISHED(struct kunit *test)
{
	u64 i;

	make_merged(test);
	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	begin(test, false);
	for (i = 1; i <= 2; i++)
		fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, i);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
	KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 3);
	fake_settle(env->fake);
	expect_conn(test, DAT_CONNECTION_EVENT_ESTABLISHED);
	ep.recv_evd = ep.connect_evd;
	for (i = 1; i <= 3; i++)
		tp_expect_dto(test, &ep, TP_RECV, i, DAT_DTO_SUCCESS, i);
	ep.recv_evd = NULL;
	/* C-40: an attempt has only one outcome */
	KUNIT_EXPECT_FALSE(test, kdapl_ep_enter_connected(ep.ep));
	kdapl_clauses(test, "C-40 C-43 R-23 R-24 R-25");
}

static void R_30_failed_attempt_flushes_filled_receives_too(struct kunit *test)
{
	struct rdma_cm_id *id;
	u64 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	for (i = 1; i <= 4; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	id = begin(test, false);
	for (i = 1; i <= 2; i++)
		fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, i);
	mutex_lock(&ep.ep->mutex);
	tp_cm_says(id, RDMA_CM_EVENT_UNREACHABLE);
	/* The CM may report it twice, but there is only one outcome (C-40) */
	tp_cm_says(id, RDMA_CM_EVENT_UNREACHABLE);
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	expect_conn(test, DAT_CONNECTION_EVENT_UNREACHABLE);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
	for (i = 1; i <= 4; i++)
		tp_expect_dto(test, &ep, TP_RECV, i, DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
	kdapl_clauses(test, "C-40 C-21 R-30");
}

/* ---- reset and free ----------------------------------------------------------------------- */

static void C_32_reset_withdraws_events_and_makes_a_new_QP(struct kunit *test)
{
	struct fake_qp *old;
	u64 i;

	make_connected(test);
	old = tp_qp(&ep);
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_PTR_NE(test, tp_qp(&ep), old);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_UNCONNECTED);
	/* Events that were not dequeued count as returned by the call */
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
	/* the EP is like a new one */
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, 7, 0), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_SEND, 8, 0), DAT_INVALID_STATE);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 3);
	tp_expect_dto(test, &ep, TP_RECV, 7, DAT_DTO_SUCCESS, 3);
	kdapl_clauses(test, "C-32 G-02 R-31");
}

static void C_36_free_withdraws_all_events(struct kunit *test)
{
	DAT_EVENT event;
	u64 i;

	make_connected(test);
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	}
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 1);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_ep_free(ep.handle), DAT_INVALID_HANDLE);
	ep.handle = NULL;
	fake_settle(env->fake);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(ep.request_evd, &event), DAT_QUEUE_EMPTY);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(ep.recv_evd, &event), DAT_QUEUE_EMPTY);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_QUEUE_EMPTY);
	kdapl_clauses(test, "C-36 G-02");
}

/* ---- shared receive queues ------------------------------------------------------------------- */

static void Q_29_to_Q_31_one_endpoint_breaks_others_continue(struct kunit *test)
{
	struct tp_ep other = { };
	u64 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &other), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_connect(&other), 0);
	for (i = 1; i <= 4; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SRQ, i, 0), DAT_SUCCESS);
	/* A message that is too long, as rxe reports it */
	tp_complete(env, &ep, TP_SRQ, IB_WC_LOC_QP_OP_ERR, 0);
	tp_expect_dto(test, &ep, TP_SRQ, 1, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	expect_conn(test, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	/* unused buffers stay in the SRQ */
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, fake_outstanding(tp_queue(env, &ep, TP_SRQ)), 3);
	KUNIT_EXPECT_EQ(test, other.ep->state, DAT_EP_STATE_CONNECTED);
	for (i = 2; i <= 4; i++) {
		tp_complete(env, &other, TP_SRQ, IB_WC_SUCCESS, i);
		tp_expect_dto(test, &other, TP_SRQ, i, DAT_DTO_SUCCESS, i);
	}
	KUNIT_EXPECT_EQ(test, tp_slots(&env->srq->pool), TP_DEPTH);
	tp_ep_free(&other);
	kdapl_clauses(test, "Q-30 Q-31");
}

static atomic_t nupcalls;

static void count_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	atomic_inc(&nupcalls);
}

static void Q_29_Q_35_buffer_of_an_endpoint_that_is_freed(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = count_upcall };
	DAT_EP_ATTR attr;
	u64 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SRQ, i, 0), DAT_SUCCESS);
	/* One buffer is complete, and one is partly filled when the QP moves to ERROR */
	tp_complete(env, &ep, TP_SRQ, IB_WC_SUCCESS, 9);
	tp_expect_dto(test, &ep, TP_SRQ, 1, DAT_DTO_SUCCESS, 9);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	tp_complete(env, &ep, TP_SRQ, IB_WC_WR_FLUSH_ERR, 0);
	tp_expect_dto(test, &ep, TP_SRQ, 2, DAT_DTO_ERR_FLUSHED, 0);
	expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* The third buffer is not consumed, and no event reports it */
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, fake_outstanding(tp_queue(env, &ep, TP_SRQ)), 1);
	tp_ep_free(&ep);
	/* A failure notifies even if only solicited messages do */
	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	atomic_set(&nupcalls, 0);
	dat_evd_modify_upcall(ep.recv_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_UPCALL_INVOC_NEW);
	tp_complete(env, &ep, TP_SRQ, IB_WC_LOC_LEN_ERR, 0);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(atomic_read(&nupcalls) == 1));
	KUNIT_EXPECT_EQ(test, tp_slots(&env->srq->pool), TP_DEPTH);
	kdapl_clauses(test, "Q-29 Q-30 Q-35");
}

/* The device returns a buffer after the drain of its EP has timed out and the EP was freed */
static void Q_29_buffer_returned_after_its_endpoint_was_freed(struct kunit *test)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 2, .max_recv_iov = 1 };
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };
	static const enum ib_poll_context contexts[] = { IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE };
	DAT_SRQ_PARAM param = {};
	struct kdapl_srq *srq;
	struct kdapl_obj *obj;
	struct fake_queue *q;
	struct tp_args args;
	struct ib_cq *cq;
	u32 i;

	kdapl_clauses(test, "Q-29");
	cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cq);
	tp_args(env, &ep, TP_SRQ, &args);
	KUNIT_ASSERT_EQ(test, dat_srq_create(kdapl_obj_handle(&env->ia->obj), env->own.pz, &attr,
					     &args.handle), DAT_SUCCESS);
	obj = kdapl_obj_get(args.handle, DAT_HANDLE_TYPE_SRQ);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	srq = to_kdapl_srq(obj);
	kdapl_obj_put(obj);
	q = &to_fake_srq(rcu_dereference_protected(srq->srq, 1))->rq;
	/* This pointer matches no EP */
	wc.qp = (struct ib_qp *)&wc;
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		KUNIT_ASSERT_EQ(test, tp_post(TP_SRQ, &args), DAT_SUCCESS);
		wc.wr_cqe = fake_wr_at(q, 0)->cqe;
		q->head++;
		cq->poll_ctx = contexts[i];
		local_bh_disable();
		wc.wr_cqe->done(cq, &wc);
		local_bh_enable();
		KUNIT_EXPECT_EQ(test, atomic64_read(&srq->lost), i + 1);
	}
	KUNIT_EXPECT_EQ(test, dat_srq_query(args.handle, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.outstanding_dto_count, 2);
	KUNIT_EXPECT_EQ(test, dat_srq_free(args.handle), DAT_SUCCESS);
}

/* Completes the only posted receive with @wc */
static void complete_as(struct ib_wc *wc)
{
	wc->wr_cqe = fake_wr_at(&tp_qp(&ep)->rq, 0)->cqe;
	wc->qp = &tp_qp(&ep)->ibqp;
	tp_qp(&ep)->rq.head++;
	local_bh_disable();
	wc->wr_cqe->done(wc->qp->recv_cq, wc);
	local_bh_enable();
}

/* The peer's message has invalidated one of our keys */
static void R_44_receive_with_invalidate(struct kunit *test)
{
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = 11,
		.wc_flags = IB_WC_WITH_INVALIDATE,
		.ex.invalidate_rkey = 0x12345678,
	};
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	make_connected(test);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 5, 0), DAT_SUCCESS);
	complete_as(&wc);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.recv_evd, &event), DAT_SUCCESS);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ(test, dto->operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, dto->status, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, dto->rmr_context, 0x12345678);
	KUNIT_EXPECT_EQ(test, dto->transfered_length, 11);
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_64, 5);
	/* The next message in this slot must not report the key */
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 6, 0), DAT_SUCCESS);
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 1);
	tp_expect_dto(test, &ep, TP_RECV, 6, DAT_DTO_SUCCESS, 1);
	kdapl_clauses(test, "R-44");
}

/* A write with immediate data consumes a receive and leaves it empty, whatever its length */
static void G_31_write_with_immediate_data(struct kunit *test)
{
	struct ib_wc wc = {
		.opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = 100000,
		.wc_flags = IB_WC_WITH_IMM,
	};
	struct ib_wc message = { .opcode = IB_WC_RECV, .byte_len = 3, .wc_flags = IB_WC_WITH_IMM };

	make_connected(test);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 5, 0), DAT_SUCCESS);
	complete_as(&message);
	tp_expect_dto(test, &ep, TP_RECV, 5, DAT_DTO_SUCCESS, 3);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 6, 0), DAT_SUCCESS);
	complete_as(&wc);
	tp_expect_dto(test, &ep, TP_RECV, 6, DAT_DTO_ERR_REMOTE_RESPONDER, 0);
	fake_settle(env->fake);
	expect_conn(test, DAT_CONNECTION_EVENT_BROKEN);
	kdapl_clauses(test, "G-31 R-01");
}

/* ---- suite -------------------------------------------------------------------- */

static int break_suite_init(struct kunit_suite *suite)
{
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void break_suite_exit(struct kunit_suite *suite)
{
	tp_env_destroy(env);
	env = NULL;
}

static void break_exit(struct kunit *test)
{
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
}

static struct kunit_case break_cases[] = {
	KUNIT_CASE_PARAM(G_31_an_error_breaks_the_connection, break_gen_params),
	KUNIT_CASE(G_36_a_cause_replaces_an_unexplained_flush),
	KUNIT_CASE(C_44_successes_come_before_the_end),
	KUNIT_CASE(C_24_abrupt_disconnect_flushes_in_order),
	KUNIT_CASE(S_31_disconnected_post_is_flushed),
	KUNIT_CASE(C_25_graceful_disconnect_lets_requests_finish),
	KUNIT_CASE(C_43_parked_receives_follow_ESTABLISHED),
	KUNIT_CASE(R_30_failed_attempt_flushes_filled_receives_too),
	KUNIT_CASE(C_32_reset_withdraws_events_and_makes_a_new_QP),
	KUNIT_CASE(C_36_free_withdraws_all_events),
	KUNIT_CASE(Q_29_to_Q_31_one_endpoint_breaks_others_continue),
	KUNIT_CASE(Q_29_Q_35_buffer_of_an_endpoint_that_is_freed),
	KUNIT_CASE(Q_29_buffer_returned_after_its_endpoint_was_freed),
	KUNIT_CASE(R_44_receive_with_invalidate),
	KUNIT_CASE(G_31_write_with_immediate_data),
	{}
};

static struct kunit_suite break_suite = {
	.name = "kdapl_break",
	.suite_init = break_suite_init,
	.suite_exit = break_suite_exit,
	.exit = break_exit,
	.test_cases = break_cases,
};

kunit_test_suite(break_suite);
