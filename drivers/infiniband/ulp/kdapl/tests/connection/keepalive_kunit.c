// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the attribute kdapl.keepalive_ms and its effect on an idle EP.
 *
 * The interval is an hour and the suite ends it by force, so that no test depends on the
 * speed of the machine. Runs in a KUnit thread.
 */
#include "clause.h"
#include "post_kunit.h"

#define HOUR	"3600000"

static struct tp_env *env;
static struct tp_ep ep;

static DAT_RETURN make(const char *ms)
{
	DAT_NAMED_ATTR named = { "kdapl.keepalive_ms", ms };
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.ep_provider_specific_count = 1;
	attr.ep_provider_specific = &named;
	return tp_ep_create(env, &attr, false, &ep);
}

/* Returns the value of a named attribute in dat_ep_query(), or NULL if it does not exist */
static const char *asked(const char *name)
{
	const DAT_NAMED_ATTR *named;
	DAT_EP_PARAM param = {};
	DAT_COUNT i;

	if (dat_ep_query(ep.handle, DAT_EP_FIELD_ALL, &param) != DAT_SUCCESS)
		return NULL;
	named = param.ep_attr.ep_provider_specific;
	for (i = 0; i < param.ep_attr.ep_provider_specific_count; i++)
		if (!strcmp(named[i].name, name))
			return named[i].value;
	return NULL;
}

/* The connection work makes the EP CONNECTED and starts the keepalive */
static void connect(struct kunit *test)
{
	struct rdma_cm_id *id = tp_begin(&ep, true);
	DAT_EVENT event = {};

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	tp_cm_says(id, RDMA_CM_EVENT_ESTABLISHED);
	flush_work(&ep.ep->conn.work);
	KUNIT_ASSERT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/*
 * Ends the interval. It does not use flush_delayed_work(): the work starts its timer
 * again, so that call would run it a second time.
 */
static void tick(void)
{
	if (mod_delayed_work(kdapl_wq, &ep.ep->conn.keepalive, 0))
		flush_work(&ep.ep->conn.keepalive.work);
}

/* Is the latest request of the send queue an outstanding probe? */
static bool probing(void)
{
	const struct fake_wr *wr = fake_last(&tp_qp(&ep)->sq);

	return wr && fake_outstanding(&tp_qp(&ep)->sq) && wr->opcode == IB_WR_RDMA_WRITE &&
	       !wr->num_sge && wr->cqe == &ep.ep->drain.tail_marker.cqe;
}

static void finish(enum ib_wc_status status)
{
	fake_complete_send(tp_qp(&ep), status);
	fake_settle(env->fake);
}

static void an_idle_EP_sends_a_probe(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, make(HOUR), DAT_SUCCESS);
	connect(test);
	KUNIT_EXPECT_FALSE(test, probing());
	tick();
	KUNIT_EXPECT_TRUE(test, probing());
	/* Only one probe at a time */
	tick();
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 1);
	/* The answer is not progress of the Consumer's requests, and raises no event */
	finish(IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
	tick();
	KUNIT_EXPECT_TRUE(test, probing());
	finish(IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	/* No probe is sent after the connection has ended */
	dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(env->fake);
	tick();
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ep.ep->conn.keepalive));
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 0);
}

static void G_31_a_probe_that_fails_breaks_the_EP(struct kunit *test)
{
	char text[48];
	DAT_EVENT event = {};

	kdapl_clauses(test, "G-31 C-30 C-61 G-36");
	KUNIT_ASSERT_EQ(test, make(HOUR), DAT_SUCCESS);
	connect(test);
	tick();
	KUNIT_ASSERT_TRUE(test, probing());
	finish(IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_BROKEN);
	snprintf(text, sizeof(text), "%u/%u/0/0", DAT_DTO_RDMA_WRITE, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_STREQ(test, asked("kdapl.first_error"), text);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
}

static void a_completion_resets_the_keepalive(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, make(HOUR), DAT_SUCCESS);
	connect(test);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 2, 0), DAT_SUCCESS);
	/* The completion and the dequeue of a request each count as progress, for one interval */
	finish(IB_WC_SUCCESS);
	tick();
	KUNIT_EXPECT_FALSE(test, probing());
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ep.ep->conn.keepalive));
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 1);
	tick();
	KUNIT_EXPECT_FALSE(test, probing());
	/* The same slot is outstanding at both ticks, but with another request */
	tp_drain(&ep);
	tick();
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 3, 0), DAT_SUCCESS);
	finish(IB_WC_SUCCESS);
	tp_drain(&ep);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 4, 0), DAT_SUCCESS);
	tick();
	KUNIT_EXPECT_FALSE(test, probing());
	/* A request that stays outstanding is not progress */
	tick();
	KUNIT_EXPECT_TRUE(test, probing());
	finish(IB_WC_SUCCESS);
	finish(IB_WC_SUCCESS);
}

/* rxe may warn if a request of zero bytes follows a read that it repeats */
static void a_probe_waits_for_reads(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, make(HOUR), DAT_SUCCESS);
	connect(test);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_READ, 1, 0), DAT_SUCCESS);
	tick();
	tick();
	KUNIT_EXPECT_TRUE(test, probing());
	KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&ep)->sq)->send_flags,
			IB_SEND_SIGNALED | IB_SEND_FENCE);
	finish(IB_WC_SUCCESS);
	finish(IB_WC_SUCCESS);
}

static void it_is_off_by_default(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	connect(test);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ep.ep->conn.keepalive));
	KUNIT_EXPECT_STREQ(test, asked("kdapl.keepalive_ms"), "0");
}

static DAT_RETURN modify(const char *name, const char *value)
{
	DAT_NAMED_ATTR named = { name, value };
	DAT_EP_PARAM param = {
		.ep_attr.ep_provider_specific_count = 1,
		.ep_attr.ep_provider_specific = &named,
	};

	return dat_ep_modify(ep.handle, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
			     DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &param);
}

static void the_attribute_is_checked_and_returned(struct kunit *test)
{
	static const char * const bad[] = { "", "-1", "1.5", "soon", "86400001", "4294967296" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		TP_EXPECT_TYPE(test, make(bad[i]), DAT_INVALID_PARAMETER);
		tp_ep_free(&ep);
	}
	KUNIT_ASSERT_EQ(test, make("86400000"), DAT_SUCCESS);
	KUNIT_EXPECT_STREQ(test, asked("kdapl.keepalive_ms"), "86400000");
	KUNIT_EXPECT_NULL(test, asked("kdapl.comp_vector"));
	KUNIT_EXPECT_EQ(test, modify("kdapl.keepalive_ms", "250"), DAT_SUCCESS);
	KUNIT_EXPECT_STREQ(test, asked("kdapl.keepalive_ms"), "250");
	TP_EXPECT_TYPE(test, modify("kdapl.keepalive_ms", "x"), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_STREQ(test, asked("kdapl.keepalive_ms"), "250");
	/* The new array replaces the old one: attributes that it omits are reset */
	KUNIT_EXPECT_EQ(test, modify("kdapl.comp_vector", "0"), DAT_SUCCESS);
	KUNIT_EXPECT_STREQ(test, asked("kdapl.keepalive_ms"), "0");
	KUNIT_EXPECT_STREQ(test, asked("kdapl.comp_vector"), "0");
	KUNIT_EXPECT_EQ(test, modify("kdapl.keepalive_ms", HOUR), DAT_SUCCESS);
	connect(test);
	TP_EXPECT_TYPE(test, modify("kdapl.keepalive_ms", "1"), DAT_INVALID_STATE);
	tick();
	KUNIT_EXPECT_TRUE(test, probing());
	finish(IB_WC_SUCCESS);
}

/* The EP was reset, modified and connected again before its old timer expired */
static void an_old_timer_does_not_probe_a_new_connection(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, make(HOUR), DAT_SUCCESS);
	connect(test);
	ep.ep->cfg.named.keepalive_ms = 0;
	tick();
	KUNIT_EXPECT_FALSE(test, probing());
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ep.ep->conn.keepalive));
	/* Stop the work before the EP is freed, in case it has scheduled itself again */
	cancel_delayed_work_sync(&ep.ep->conn.keepalive);
}

static int keepalive_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void keepalive_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case keepalive_cases[] = {
	KUNIT_CASE(an_idle_EP_sends_a_probe),
	KUNIT_CASE(G_31_a_probe_that_fails_breaks_the_EP),
	KUNIT_CASE(a_completion_resets_the_keepalive),
	KUNIT_CASE(a_probe_waits_for_reads),
	KUNIT_CASE(it_is_off_by_default),
	KUNIT_CASE(the_attribute_is_checked_and_returned),
	KUNIT_CASE(an_old_timer_does_not_probe_a_new_connection),
	{}
};

static struct kunit_suite keepalive_suite = {
	.name = "kdapl_keepalive",
	.init = keepalive_init,
	.exit = keepalive_exit,
	.test_cases = keepalive_cases,
};

kunit_test_suite(keepalive_suite);
