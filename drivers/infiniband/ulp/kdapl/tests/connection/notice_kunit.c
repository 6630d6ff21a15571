// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the ids of connections that have ended. The CM repeats a disconnect until the peer has
 * answered; if the port is down, the peer must be notified when it is up again (C-60).
 *
 * The id of the fixture has no peer, so the suite only shows how long the id is kept, and when
 * the disconnect is sent. The selftest address.sh shows that it reaches the peer. Runs in a
 * KUnit thread.
 */
#include <rdma/ib_cache.h>
#include "clause.h"
#include "fail_alloc.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep, second;
/* A thread for the removal of the device; it may outlive a failed test */
static struct tp_aside removal;

static bool port_is(enum ib_port_state want)
{
	enum ib_port_state state;

	return !ib_get_cached_port_state(&env->fake->ibdev, 1, &state) && state == want;
}

static void port_set(struct kunit *test, bool up)
{
	fake_port_set(env->fake, up);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(port_is(up ? IB_PORT_ACTIVE : IB_PORT_DOWN)));
	/* The clients of the device have received the event, too */
	flush_workqueue(ib_wq);
}

/* The notice that is listed first, or NULL */
static struct kdapl_notice *notice(void)
{
	struct kdapl_device *dev = env->ia->dev;
	struct kdapl_notice *found;

	spin_lock_irq(&dev->notice_lock);
	found = list_first_entry_or_null(&dev->notices, struct kdapl_notice, node);
	spin_unlock_irq(&dev->notice_lock);
	return found;
}

static bool notice_sent(void)
{
	struct kdapl_notice *found = notice();

	return found && READ_ONCE(found->sent);
}

static void look(void)
{
	kdapl_notice_schedule(env->ia->dev);
	fake_settle(env->fake);
}

static void expect_conn(struct kunit *test, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event = {};

	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(ep.ep->state) ==
						  DAT_EP_STATE_DISCONNECTED));
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_QUEUE_EMPTY);
}

/* Breaks the connection, as happens when a packet cannot be sent */
static void break_it(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	tp_complete(env, &ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	expect_conn(test, DAT_CONNECTION_EVENT_BROKEN);
	tp_drain(&ep);
}

/* The CM reports an event for the id of a notice */
static void cm_says(struct kunit *test, struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_cm_event event = { .event = type };

	rdma_lock_handler(id);
	KUNIT_EXPECT_EQ(test, id->event_handler(id, &event), 0);
	rdma_unlock_handler(id);
}

static void C_60_a_disconnect_waits_for_its_port(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-60 C-62");
	port_set(test, false);
	break_it(test);
	/* The disconnect is kept and not sent, and does not block the next connection */
	KUNIT_ASSERT_NOT_NULL(test, notice());
	KUNIT_EXPECT_FALSE(test, notice_sent());
	KUNIT_EXPECT_NULL(test, ep.ep->conn.cm_id);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	look();
	KUNIT_ASSERT_NOT_NULL(test, notice());
	KUNIT_EXPECT_FALSE(test, notice_sent());

	port_set(test, true);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(notice_sent()));
	KUNIT_ASSERT_NOT_NULL(test, notice());
	id = notice()->id;
	/* A disconnect of the peer is an answer; a new address of the net device is not */
	cm_says(test, id, RDMA_CM_EVENT_ADDR_CHANGE);
	cm_says(test, id, RDMA_CM_EVENT_UNREACHABLE);
	look();
	KUNIT_ASSERT_NOT_NULL(test, notice());
	cm_says(test, id, RDMA_CM_EVENT_DISCONNECTED);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!notice()));
	KUNIT_EXPECT_NULL(test, notice());
}

static void C_60_it_outlives_its_EP(struct kunit *test)
{
	kdapl_clauses(test, "C-60");
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	port_set(test, false);
	/* The EP is still CONNECTED: dat_ep_free() ends the connection */
	tp_ep_free(&ep);
	KUNIT_ASSERT_NOT_NULL(test, notice());
	KUNIT_EXPECT_FALSE(test, notice_sent());
	port_set(test, true);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(notice_sent()));
	/* The device is removed while the notice is on its list */
}

/* The request may be lost: the CM repeats it while the id exists */
static void C_60_the_id_stays_until_the_peer_has_answered(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-60");
	break_it(test);
	KUNIT_EXPECT_NULL(test, ep.ep->conn.cm_id);
	KUNIT_ASSERT_TRUE(test, notice_sent());
	id = notice()->id;
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	tp_ep_free(&ep);
	look();
	KUNIT_ASSERT_NOT_NULL(test, notice());
	KUNIT_EXPECT_PTR_EQ(test, notice()->id, id);
	cm_says(test, id, RDMA_CM_EVENT_DISCONNECTED);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!notice()));
}

/* rdma_destroy_id() may take a minute, so it must not run in the thread that ends the connection */
static void C_60_the_end_needs_no_memory(struct kunit *test)
{
	bool fails;

	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	kdapl_fail_allocations(true);
	fails = kdapl_slab_fails(GFP_KERNEL);
	tp_ep_free(&ep);
	kdapl_fail_allocations(false);
	if (!fails)
		kunit_skip(test, "the kernel has no fault injection for allocations");
	kdapl_clauses(test, "C-60");
	KUNIT_ASSERT_NOT_NULL(test, notice());
	KUNIT_EXPECT_TRUE(test, notice_sent());
}

/* A connection that the peer has ended, and an attempt, need no answer */
static void C_60_other_ids_are_destroyed_at_once(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-60 C-21");
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	tp_cm_says(ep.ep->conn.cm_id, RDMA_CM_EVENT_DISCONNECTED);
	expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_NULL(test, ep.ep->conn.cm_id);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!notice()));

	/* The peer rejects a connection that it does not consider established */
	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	tp_cm_says(ep.ep->conn.cm_id, RDMA_CM_EVENT_REJECTED);
	expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!notice()));

	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	id = tp_begin(&ep, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	tp_cm_says(id, RDMA_CM_EVENT_UNREACHABLE);
	expect_conn(test, DAT_CONNECTION_EVENT_UNREACHABLE);
	KUNIT_EXPECT_NULL(test, ep.ep->conn.cm_id);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!notice()));
}

/* A peer that answers no disconnect does not use up memory */
static void C_54_the_number_of_ids_is_limited(struct kunit *test)
{
	unsigned int most = 1;
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-54");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &second), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_connect(&second), 0);
	id = second.ep->conn.cm_id;
	swap(kdapl_notice_max, most);
	tp_ep_free(&ep);
	fake_settle(env->fake);
	KUNIT_EXPECT_NOT_NULL(test, notice());
	tp_ep_free(&second);
	swap(kdapl_notice_max, most);
	/* The first one is given up, and the last one waits */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(list_is_singular(&env->ia->dev->notices)));
	KUNIT_ASSERT_NOT_NULL(test, notice());
	KUNIT_EXPECT_PTR_EQ(test, notice()->id, id);
	KUNIT_EXPECT_FALSE(test, notice()->over);
}

/* The destruction of an id may take a minute, and must not delay that of another one */
static void C_36_a_slow_id_delays_nothing(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_DISCONNECTED };
	struct kdapl_notice *slow;
	struct rdma_cm_id *id, *other;

	kdapl_clauses(test, "C-36 C-60");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &second), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_connect(&second), 0);
	id = ep.ep->conn.cm_id;
	other = second.ep->conn.cm_id;
	tp_ep_free(&ep);
	slow = notice();
	tp_ep_free(&second);
	KUNIT_ASSERT_NOT_NULL(test, slow);
	KUNIT_ASSERT_PTR_EQ(test, slow->id, id);
	/* rdma_destroy_id() waits for the lock */
	rdma_lock_handler(id);
	KUNIT_EXPECT_EQ(test, id->event_handler(id, &event), 0);
	KUNIT_EXPECT_EQ(test, other->event_handler(other, &event), 0);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(list_is_singular(&env->ia->dev->notices)));
	KUNIT_EXPECT_PTR_EQ(test, notice(), slow);
	rdma_unlock_handler(id);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!notice()));
}

static void unplug(void)
{
	fake_dev_unplug(env->fake);
}

/* Removal waits for the answer, and destroys the id once, even if the answer comes meanwhile */
static void C_60_the_CM_answers_while_the_device_is_removed(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_DISCONNECTED };
	struct kdapl_device *dev = env->ia->dev;
	struct kdapl_notice *found;
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-60 C-57");
	env->fake->leave_ms = 60000;
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	tp_ep_free(&ep);
	found = notice();
	KUNIT_ASSERT_NOT_NULL(test, found);
	id = found->id;
	rdma_lock_handler(id);
	tp_start(&removal, unplug);
	/* By then removal has scheduled the work, which must not happen after the first event */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(dev->leaving) &&
						  wq_has_sleeper(&dev->wait)));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(found->over));
	/* The work waits in rdma_destroy_id(), and the second event schedules it again */
	KUNIT_EXPECT_EQ(test, id->event_handler(id, &event), 0);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!delayed_work_pending(&found->work)));
	KUNIT_EXPECT_EQ(test, id->event_handler(id, &event), 0);
	rdma_unlock_handler(id);
	KUNIT_ASSERT_TRUE(test, tp_finish(&removal));
}

/* A disconnect that cannot be sent does not delay the removal */
static void C_57_removal_does_not_wait_for_a_link(struct kunit *test)
{
	kdapl_clauses(test, "C-57");
	env->fake->leave_ms = UINT_MAX / 2;
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	port_set(test, false);
	tp_ep_free(&ep);
	KUNIT_ASSERT_NOT_NULL(test, notice());
	tp_start(&removal, unplug);
	KUNIT_ASSERT_TRUE(test, tp_finish(&removal));
}

/* An id keeps its network namespace, which may be deleted soon after the IA was closed */
static void C_60_it_does_not_keep_a_namespace(struct kunit *test)
{
	unsigned int leave = 1;

	kdapl_clauses(test, "C-60");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &second), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&second), 0);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	tp_ep_free(&second);
	KUNIT_EXPECT_TRUE(test, notice_sent());
	port_set(test, false);
	tp_ep_free(&ep);
	swap(kdapl_notice_leave_ms, leave);
	/* Another IA */
	kdapl_notice_hurry(env->ia->dev, (const struct kdapl_ia *)env);
	look();
	KUNIT_ASSERT_NOT_NULL(test, notice());
	KUNIT_EXPECT_FALSE(test, list_is_singular(&env->ia->dev->notices));
	/* Neither the answer nor the link is awaited any longer */
	kdapl_notice_hurry(env->ia->dev, env->ia);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!notice()));
	swap(kdapl_notice_leave_ms, leave);
}

static int notice_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	memset(&second, 0, sizeof(second));
	env = tp_env_create();
	if (IS_ERR(env))
		return PTR_ERR(env);
	return tp_ep_create(env, NULL, false, &ep) == DAT_SUCCESS ? 0 : -EIO;
}

static void notice_exit(struct kunit *test)
{
	if (!IS_ERR_OR_NULL(env))
		tp_ep_free(&second);
	tp_env_end(test, &env, &ep);
}

static struct kunit_case notice_cases[] = {
	KUNIT_CASE(C_60_a_disconnect_waits_for_its_port),
	KUNIT_CASE(C_60_it_outlives_its_EP),
	KUNIT_CASE(C_60_the_id_stays_until_the_peer_has_answered),
	KUNIT_CASE(C_60_the_end_needs_no_memory),
	KUNIT_CASE(C_60_other_ids_are_destroyed_at_once),
	KUNIT_CASE(C_54_the_number_of_ids_is_limited),
	KUNIT_CASE(C_36_a_slow_id_delays_nothing),
	KUNIT_CASE(C_60_the_CM_answers_while_the_device_is_removed),
	KUNIT_CASE(C_60_it_does_not_keep_a_namespace),
	KUNIT_CASE(C_57_removal_does_not_wait_for_a_link),
	{}
};

static struct kunit_suite notice_suite = {
	.name = "kdapl_notice",
	.init = notice_init,
	.exit = notice_exit,
	.test_cases = notice_cases,
};

kunit_test_suite(notice_suite);
