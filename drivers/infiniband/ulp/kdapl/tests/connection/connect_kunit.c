// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: abandoned attempts, connections that end in two ways at once, and the limits on
 * what a peer may choose. Runs in a KUnit thread.
 */
#include <linux/delay.h>
#include <linux/stop_machine.h>
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static void expect_conn(struct kunit *test, struct tp_ep *tep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
	KUNIT_EXPECT_EQ(test, tep->ep->state, DAT_EP_STATE_DISCONNECTED);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_QUEUE_EMPTY);
}

static void make(struct kunit *test, struct tp_ep *tep)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, tep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, tep, TP_RECV, 1, 0), DAT_SUCCESS);
}

/* ---- abandoned attempts, concurrent ends -------------------------------------- */

static void C_17_C_23_an_attempt_is_cancelled(struct kunit *test)
{
	static const DAT_CLOSE_FLAGS how[] = { DAT_CLOSE_ABRUPT_FLAG, DAT_CLOSE_GRACEFUL_FLAG };
	struct rdma_cm_id *id;
	u32 i;

	kdapl_clauses(test, "C-17 C-23 C-40 R-30");
	for (i = 0; i < 4; i++) {
		bool passive = i & 1;

		make(test, &ep);
		id = tp_begin(&ep, passive);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
		KUNIT_EXPECT_EQ(test, ep.ep->state,
				passive ? DAT_EP_STATE_COMPLETION_PENDING :
				DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
		/* CM events that arrive while the connection work is blocked come too late */
		mutex_lock(&ep.ep->mutex);
		KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, how[i / 2]), DAT_SUCCESS);
		tp_cm_says(id, RDMA_CM_EVENT_ESTABLISHED);
		tp_cm_says(id, RDMA_CM_EVENT_REJECTED);
		mutex_unlock(&ep.ep->mutex);
		fake_settle(env->fake);
		expect_conn(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
		/* The id was destroyed, and that has notified the peer */
		KUNIT_EXPECT_NULL(test, ep.ep->conn.cm_id);
		tp_ep_free(&ep);
	}
}

/* Begins a graceful disconnect with one request outstanding */
static struct rdma_cm_id *make_pending(struct kunit *test)
{
	make(test, &ep);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECT_PENDING);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
	return ep.ep->conn.cm_id;
}

static void expect_flushed(struct kunit *test, DAT_EVENT_NUMBER number)
{
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	expect_conn(test, &ep, number);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	tp_ep_free(&ep);
}

static void C_27_C_29_C_30_a_graceful_disconnect_is_overtaken(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-25 C-27 C-29 C-30 C-41");
	make_pending(test);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	expect_flushed(test, DAT_CONNECTION_EVENT_DISCONNECTED);

	id = make_pending(test);
	tp_cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
	expect_flushed(test, DAT_CONNECTION_EVENT_DISCONNECTED);

	make_pending(test);
	tp_complete(env, &ep, TP_RECV, IB_WC_LOC_QP_OP_ERR, 0);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_ERR_FLUSHED, 0);
}

/* Both sides disconnect: the peer's event arrives before the connection work has handled ours */
static void C_48_both_sides_disconnect(struct kunit *test)
{
	struct rdma_cm_id *id;
	u32 i;

	kdapl_clauses(test, "C-24 C-29 C-41 C-48");
	for (i = 0; i < 2; i++) {
		make(test, &ep);
		KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
		id = ep.ep->conn.cm_id;
		mutex_lock(&ep.ep->mutex);
		if (i)
			tp_cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
		KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG),
				DAT_SUCCESS);
		tp_cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
		mutex_unlock(&ep.ep->mutex);
		fake_settle(env->fake);
		expect_conn(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		tp_ep_free(&ep);
	}
}

/* ---- no early timeouts ------------------------------------------------------- */

#define STALE_MS 200
#define DELAY_NS (250ULL * NSEC_PER_MSEC)

struct stale {
	ktime_t began;
	unsigned long before, behind;
};

/* No CPU takes an interrupt: jiffies do not advance, and catch up at once afterwards */
static int start_with_stale_jiffies(void *arg)
{
	struct stale *stale = arg;

	stale->before = jiffies;
	mdelay(STALE_MS);
	stale->behind = jiffies;
	stale->began = ktime_get();
	kdapl_cm_timer_start(ep.ep, DELAY_NS);
	return 0;
}

static void C_55_stale_jiffies_make_no_timeout_early(struct kunit *test)
{
	struct stale stale;
	DAT_EVENT event;

	kdapl_clauses(test, "C-22 C-55");
	make(test, &ep);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep, false));
	mutex_lock(&ep.ep->mutex);
	stop_machine(start_with_stale_jiffies, &stale, NULL);
	mutex_unlock(&ep.ep->mutex);
	KUNIT_EXPECT_EQ(test, stale.before, stale.behind);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(ep.connect_evd)));
	KUNIT_EXPECT_GE(test, ktime_to_ns(ktime_sub(ktime_get(), stale.began)), DELAY_NS);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
}

/* ---- limits on a peer's choices ---------------------------------------------- */

static const struct limit_row {
	u8 timeout, retry, reads;
	u8 want_timeout, want_retry, want_reads;
} limit_rows[] = {
	{ 14, 3, 1, 14, 3, 1 },
	{ KDAPL_MAX_ACK_TIMEOUT, 6, 4, KDAPL_MAX_ACK_TIMEOUT, 6, 4 },
	{ KDAPL_MAX_ACK_TIMEOUT + 1, 7, 0, KDAPL_MAX_ACK_TIMEOUT, 6, 0 },
	{ 31, 7, 255, KDAPL_MAX_ACK_TIMEOUT, 6, 4 },
	{ 0, 0, 4, KDAPL_MAX_ACK_TIMEOUT, 0, 4 },
};

static void C_61_peer_cannot_set_an_infinite_ack_timeout(struct kunit *test)
{
	DAT_EP_ATTR attr;
	u32 i;

	kdapl_clauses(test, "C-61");
	tp_attr(&attr);
	attr.max_rdma_read_out = 4;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(limit_rows); i++) {
		const struct limit_row *row = &limit_rows[i];
		struct ib_qp_attr qp_attr = {
			.timeout = row->timeout,
			.retry_cnt = row->retry,
			.max_rd_atomic = row->reads,
		};

		mutex_lock(&ep.ep->mutex);
		kdapl_cm_limit_send(ep.ep, &qp_attr);
		mutex_unlock(&ep.ep->mutex);
		KUNIT_EXPECT_EQ(test, qp_attr.timeout, row->want_timeout);
		KUNIT_EXPECT_EQ(test, qp_attr.retry_cnt, row->want_retry);
		KUNIT_EXPECT_EQ(test, qp_attr.max_rd_atomic, row->want_reads);
		KUNIT_EXPECT_EQ(test, ep.ep->fast.max_reads_out, row->want_reads);
		KUNIT_EXPECT_EQ(test, qp_attr.rnr_retry, KDAPL_RNR_RETRY);
	}
	/* 4.096 us << KDAPL_MAX_ACK_TIMEOUT for each of seven attempts: about the 30 s of C-51 */
	KUNIT_EXPECT_LT(test, (4096ULL << KDAPL_MAX_ACK_TIMEOUT) * (KDAPL_MAX_RETRY + 1),
			31ULL * NSEC_PER_SEC);
}

static const struct named_row {
	const char *name, *most, *bad, *by_default;
} named_rows[] = {
	{ "kdapl.retry_count", "6", "7", "6" },
	{ "kdapl.rnr_retry_count", "7", "8", "7" },
	{ "kdapl.ack_timeout", "20", "21", "0" },
	{ "kdapl.type_of_service", "255", "256", NULL },
};

static DAT_RETURN name_one(const char *name, const char *value)
{
	DAT_NAMED_ATTR named = { name, value };
	DAT_EP_PARAM param = {
		.ep_attr.ep_provider_specific_count = 1,
		.ep_attr.ep_provider_specific = &named,
	};

	return dat_ep_modify(ep.handle, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
			     DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &param);
}

/* The value of a named attribute in dat_ep_query(); NULL if it is missing */
static const char *named_value(const char *name)
{
	DAT_EP_PARAM param = {};
	DAT_COUNT i;

	dat_ep_query(ep.handle, DAT_EP_FIELD_ALL, &param);
	for (i = 0; i < param.ep_attr.ep_provider_specific_count; i++)
		if (!strcmp(param.ep_attr.ep_provider_specific[i].name, name))
			return param.ep_attr.ep_provider_specific[i].value;
	return NULL;
}

static void C_61_connection_parameters_have_bounds(struct kunit *test)
{
	const struct named_row *row;

	kdapl_clauses(test, "C-61");
	make(test, &ep);
	for (row = named_rows; row < named_rows + ARRAY_SIZE(named_rows); row++) {
		KUNIT_EXPECT_STREQ(test, named_value(row->name) ?: "-", row->by_default ?: "-");
		TP_EXPECT_TYPE(test, name_one(row->name, row->bad), DAT_INVALID_PARAMETER);
		TP_EXPECT_TYPE(test, name_one(row->name, "-1"), DAT_INVALID_PARAMETER);
		KUNIT_EXPECT_STREQ(test, named_value(row->name) ?: "-", row->by_default ?: "-");
		KUNIT_EXPECT_EQ(test, name_one(row->name, row->most), DAT_SUCCESS);
		KUNIT_EXPECT_STREQ(test, named_value(row->name) ?: "-", row->most);
		KUNIT_EXPECT_EQ(test, name_one(row->name, "0"), DAT_SUCCESS);
		KUNIT_EXPECT_STREQ(test, named_value(row->name) ?: "-", "0");
	}
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	TP_EXPECT_TYPE(test, name_one("kdapl.retry_count", "1"), DAT_INVALID_STATE);
}

/* Both sides set their QP: the active one as it has offered, the passive one as requested */
static void S_47_an_EP_limits_its_own_retries(struct kunit *test)
{
	DAT_NAMED_ATTR named[] = {
		{ "kdapl.retry_count", "2" }, { "kdapl.rnr_retry_count", "0" },
		{ "kdapl.ack_timeout", "14" },
	};
	struct ib_qp_attr qp_attr = { .timeout = 18, .retry_cnt = 6, .rnr_retry = 7 };
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "S-47 C-61");
	tp_attr(&attr);
	attr.ep_provider_specific_count = ARRAY_SIZE(named);
	attr.ep_provider_specific = named;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	mutex_lock(&ep.ep->mutex);
	kdapl_cm_limit_send(ep.ep, &qp_attr);
	KUNIT_EXPECT_EQ(test, qp_attr.retry_cnt, 2);
	KUNIT_EXPECT_EQ(test, qp_attr.rnr_retry, 0);
	KUNIT_EXPECT_EQ(test, qp_attr.timeout, 14);
	/* The peer has requested fewer */
	qp_attr.retry_cnt = 1;
	kdapl_cm_limit_send(ep.ep, &qp_attr);
	KUNIT_EXPECT_EQ(test, qp_attr.retry_cnt, 1);
	mutex_unlock(&ep.ep->mutex);
}

/* The QP is in INIT, with receives posted, before its path and partition are known */
static void C_52_the_QP_goes_to_the_partition_of_its_path(struct kunit *test)
{
	struct ib_qp_attr core = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = FAKE_PKEYS - 1,
		.port_num = 1,
		/* The value that the core proposes on the passive side */
		.qp_access_flags = 0x30e,
	};
	int mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	struct fake_qp *qp;
	u32 modifies;

	kdapl_clauses(test, "C-52");
	make(test, &ep);
	qp = tp_qp(&ep);
	KUNIT_EXPECT_EQ(test, qp->pkey_index, 0);
	KUNIT_EXPECT_EQ(test, qp->port, 1);
	mutex_lock(&ep.ep->mutex);
	KUNIT_EXPECT_EQ(test, kdapl_cm_modify_qp(ep.ep, &core, mask), 0);
	KUNIT_EXPECT_EQ(test, qp->pkey_index, FAKE_PKEYS - 1);
	KUNIT_EXPECT_EQ(test, qp->port, 1);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, qp->access_flags, IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, qp->masks[IB_QPS_INIT],
			IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT);
	KUNIT_EXPECT_FALSE(test, ep.ep->drain.qp_left_init);
	/* No command for the first partition, in which each QP begins, nor on iWARP */
	modifies = env->fake->modifies;
	core.pkey_index = 0;
	KUNIT_EXPECT_EQ(test, kdapl_cm_modify_qp(ep.ep, &core, mask), 0);
	core.pkey_index = 1;
	KUNIT_EXPECT_EQ(test, kdapl_cm_modify_qp(ep.ep, &core, IB_QP_STATE | IB_QP_PORT |
						 IB_QP_ACCESS_FLAGS), 0);
	KUNIT_EXPECT_EQ(test, env->fake->modifies, modifies);
	mutex_unlock(&ep.ep->mutex);
	KUNIT_EXPECT_EQ(test, fake_outstanding(&qp->rq), 1);
}

/* An InfiniBand request may name an alternate path, which the core then proposes for the QP */
static void a_peer_cannot_install_an_alternate_path(struct kunit *test)
{
	const int rtr = IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC;
	const int rts = IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR, .max_dest_rd_atomic = 200 };
	struct fake_qp *qp;

	make(test, &ep);
	qp = tp_qp(&ep);
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	attr.alt_ah_attr = attr.ah_attr;
	attr.alt_port_num = 1;
	mutex_lock(&ep.ep->mutex);
	KUNIT_EXPECT_EQ(test, kdapl_cm_modify_qp(ep.ep, &attr, rtr | IB_QP_ALT_PATH), 0);
	KUNIT_EXPECT_EQ(test, qp->masks[IB_QPS_RTR], rtr | IB_QP_MIN_RNR_TIMER);
	KUNIT_EXPECT_EQ(test, attr.min_rnr_timer, KDAPL_MIN_RNR_TIMER);
	KUNIT_EXPECT_EQ(test, attr.max_dest_rd_atomic, ep.ep->cfg.attr.max_rdma_read_in);
	KUNIT_EXPECT_TRUE(test, ep.ep->drain.qp_left_init);
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IB_QPS_RTS;
	attr.path_mig_state = IB_MIG_REARM;
	KUNIT_EXPECT_EQ(test, kdapl_cm_modify_qp(ep.ep, &attr, rts | IB_QP_PATH_MIG_STATE |
						 IB_QP_ALT_PATH), 0);
	KUNIT_EXPECT_EQ(test, qp->masks[IB_QPS_RTS], rts);
	KUNIT_EXPECT_EQ(test, attr.timeout, KDAPL_MAX_ACK_TIMEOUT);
	mutex_unlock(&ep.ep->mutex);
}

/* ---- private data (C-46) ----------------------------------------------------- */

static void says(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status,
		 const void *data, u8 len)
{
	struct rdma_cm_event event = {
		.event = type,
		.status = status,
		.param.conn = { .private_data = data, .private_data_len = len },
	};

	rdma_lock_handler(id);
	id->event_handler(id, &event);
	rdma_unlock_handler(id);
}

/* The CM reports a reject after the connection was established */
static void C_46_a_late_reject_leaves_the_private_data_alone(struct kunit *test)
{
	static const u8 reply[] = "welcome", reject[] = "\x02\0\0\0go away";
	DAT_CONNECTION_EVENT_DATA *data;
	struct rdma_cm_id *id;
	DAT_EVENT event;

	kdapl_clauses(test, "C-46");
	make(test, &ep);
	id = tp_begin(&ep, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	/* Keep the work from running: the id has no path for the transition to RTS */
	mutex_lock(&ep.ep->mutex);
	says(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, reply, sizeof(reply));
	KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	mutex_unlock(&ep.ep->mutex);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	data = &event.event_data.connect_event_data;
	KUNIT_ASSERT_EQ(test, data->private_data_size, sizeof(reply));
	KUNIT_ASSERT_EQ(test, memcmp(data->private_data, reply, sizeof(reply)), 0);
	says(id, RDMA_CM_EVENT_REJECTED, IB_CM_REJ_CONSUMER_DEFINED, reject, sizeof(reject));
	KUNIT_EXPECT_EQ(test, memcmp(data->private_data, reply, sizeof(reply)), 0);
	fake_settle(env->fake);
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, memcmp(data->private_data, reply, sizeof(reply)), 0);
}

/* ---- why an attempt has failed ------------------------------------------------ */

static void expect_status(struct kunit *test, const char *want)
{
	const char *got = named_value("kdapl.cm_status");

	KUNIT_EXPECT_STREQ(test, got ?: "missing", want);
}

static const struct why_row {
	enum rdma_cm_event_type event;
	int status;
	const char *data;
	DAT_EVENT_NUMBER number;
	const char *text;
} why_rows[] = {
	{ RDMA_CM_EVENT_REJECTED, IB_CM_REJ_CONSUMER_DEFINED, "\x02\0\0\0nope",
	  DAT_CONNECTION_EVENT_PEER_REJECTED, "rejected/28/consumer defined/0/0" },
	{ RDMA_CM_EVENT_REJECTED, IB_CM_REJ_INVALID_SERVICE_ID, "",
	  DAT_CONNECTION_EVENT_NON_PEER_REJECTED, "rejected/8/invalid service ID/0/0" },
	{ RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, "",
	  DAT_CONNECTION_EVENT_UNREACHABLE, "unreachable/-110/-/0/0" },
	{ RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH, "",
	  DAT_CONNECTION_EVENT_UNREACHABLE, "address error/-113/-/0/0" },
};

static void the_reason_of_a_failure_can_be_queried(struct kunit *test)
{
	const struct why_row *row;
	struct rdma_cm_id *id;

	make(test, &ep);
	expect_status(test, "none");
	for (row = why_rows; row < why_rows + ARRAY_SIZE(why_rows); row++) {
		id = tp_begin(&ep, false);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
		expect_status(test, "none");
		mutex_lock(&ep.ep->mutex);
		says(id, row->event, row->status, row->data, 8);
		/* A consequence of the failure, not its reason */
		says(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
		mutex_unlock(&ep.ep->mutex);
		fake_settle(env->fake);
		expect_status(test, row->text);
		expect_conn(test, &ep, row->number);
		KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
		expect_status(test, row->text);
	}
	/* The call fails at once: there is no such family of addresses */
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep, false));
	mutex_lock(&ep.ep->mutex);
	kdapl_cm_resolve(ep.ep, &(struct sockaddr_storage){});
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	expect_status(test, "address error/-97/-/0/0");
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

static void the_agreed_reads_of_a_connection_can_be_queried(struct kunit *test)
{
	struct ib_qp_attr rtr = { .qp_state = IB_QPS_RTR, .max_dest_rd_atomic = 3 };
	struct ib_qp_attr rts = { .qp_state = IB_QPS_RTS, .max_rd_atomic = 2 };
	struct rdma_cm_id *id;
	DAT_EVENT event;

	make(test, &ep);
	id = tp_begin(&ep, true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	mutex_lock(&ep.ep->mutex);
	KUNIT_EXPECT_EQ(test, kdapl_cm_modify_qp(ep.ep, &rtr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, kdapl_cm_modify_qp(ep.ep, &rts, IB_QP_STATE), 0);
	mutex_unlock(&ep.ep->mutex);
	expect_status(test, "none");
	tp_cm_says(id, RDMA_CM_EVENT_ESTABLISHED);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_status(test, "established/0/-/3/2");
	tp_cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
	fake_settle(env->fake);
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_status(test, "disconnected/0/-/3/2");
}

/* ---- queue length (C-47) ---------------------------------------------------- */

/* An EVD of one entry accepts all events that its EPs owe; none is lost */
static void C_47_an_EVD_of_length_1_loses_no_event(struct kunit *test)
{
	DAT_EVENT event;
	DAT_EP_ATTR attr;
	u32 n = 0, ends = 0;
	u64 i;

	kdapl_clauses(test, "C-47");
	tp_attr(&attr);
	memset(&ep, 0, sizeof(ep));
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(kdapl_obj_handle(&env->ia->obj), 1,
					      DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
					      &ep.connect_evd), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
					    ep.connect_evd, ep.connect_evd, ep.connect_evd, &attr,
					    &ep.handle), DAT_SUCCESS);
	ep.ep = to_kdapl_ep(kdapl_obj_get(ep.handle, DAT_HANDLE_TYPE_EP));
	kdapl_obj_put(&ep.ep->obj);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep, false));
	KUNIT_ASSERT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	for (i = 0; i < TP_DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	}
	for (i = 0; i < TP_DEPTH / 2; i++)
		fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
	dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(env->fake);
	while (dat_evd_dequeue(ep.connect_evd, &event) == DAT_SUCCESS) {
		if (!n)
			KUNIT_EXPECT_EQ(test, event.event_number,
					DAT_CONNECTION_EVENT_ESTABLISHED);
		ends += event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED;
		n++;
	}
	KUNIT_EXPECT_EQ(test, ends, 1);
	KUNIT_EXPECT_EQ(test, n, 2 + 2 * TP_DEPTH);
}

/* ---- suite -------------------------------------------------------------------- */

static int connect_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void connect_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	tp_ep_free(&ep);
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(C_17_C_23_an_attempt_is_cancelled),
	KUNIT_CASE(C_27_C_29_C_30_a_graceful_disconnect_is_overtaken),
	KUNIT_CASE(C_48_both_sides_disconnect),
	KUNIT_CASE(C_55_stale_jiffies_make_no_timeout_early),
	KUNIT_CASE(C_61_peer_cannot_set_an_infinite_ack_timeout),
	KUNIT_CASE(C_61_connection_parameters_have_bounds),
	KUNIT_CASE(S_47_an_EP_limits_its_own_retries),
	KUNIT_CASE(C_52_the_QP_goes_to_the_partition_of_its_path),
	KUNIT_CASE(a_peer_cannot_install_an_alternate_path),
	KUNIT_CASE(C_46_a_late_reject_leaves_the_private_data_alone),
	KUNIT_CASE(the_reason_of_a_failure_can_be_queried),
	KUNIT_CASE(the_agreed_reads_of_a_connection_can_be_queried),
	KUNIT_CASE(C_47_an_EVD_of_length_1_loses_no_event),
	{}
};

static struct kunit_suite connect_suite = {
	.name = "kdapl_connect",
	.init = connect_init,
	.exit = connect_exit,
	.test_cases = connect_cases,
};

kunit_test_suite(connect_suite);
