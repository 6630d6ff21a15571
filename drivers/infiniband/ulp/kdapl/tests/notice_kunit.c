// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: if a connection ends while its port is down, the peer must be notified when
 * the port is up again (C-60).
 *
 * The id of the fixture has no peer, so the suite only shows that the disconnect
 * is kept until the port is active, and is sent then. The selftest address.sh
 * shows that it reaches the peer. Runs in a KUnit thread.
 */
#include <rdma/ib_cache.h>
#include "clause.h"
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

/* The one notice that is listed, or NULL. The work takes it off the list for a moment */
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

/* The same while the work does not run. It is scheduled again by kdapl_notice_schedule() */
static struct kdapl_notice *notice_at_rest(void)
{
	cancel_delayed_work_sync(&env->ia->dev->notice_work);
	return notice();
}

static void look(void)
{
	kdapl_notice_schedule(env->ia->dev);
	flush_delayed_work(&env->ia->dev->notice_work);
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
	KUNIT_ASSERT_NOT_NULL(test, notice_at_rest());
	KUNIT_EXPECT_FALSE(test, notice_sent());
	KUNIT_EXPECT_NULL(test, ep.ep->cm_id);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	look();
	KUNIT_ASSERT_NOT_NULL(test, notice_at_rest());
	KUNIT_EXPECT_FALSE(test, notice_sent());

	port_set(test, true);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(notice_sent()));
	KUNIT_ASSERT_NOT_NULL(test, notice_at_rest());
	id = notice()->id;
	/* A disconnect of the peer is an answer; a new address of the net device is not */
	cm_says(test, id, RDMA_CM_EVENT_ADDR_CHANGE);
	look();
	KUNIT_ASSERT_NOT_NULL(test, notice_at_rest());
	cm_says(test, id, RDMA_CM_EVENT_DISCONNECTED);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!notice()));
	KUNIT_EXPECT_NULL(test, notice_at_rest());
}

static void C_60_it_outlives_its_EP(struct kunit *test)
{
	kdapl_clauses(test, "C-60");
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	port_set(test, false);
	/* The EP is still CONNECTED: dat_ep_free() ends the connection */
	tp_ep_free(&ep);
	KUNIT_ASSERT_NOT_NULL(test, notice_at_rest());
	KUNIT_EXPECT_FALSE(test, notice_sent());
	port_set(test, true);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(notice_sent()));
	/* The device is removed while the notice is on its list */
}

static void C_60_an_active_port_sends_it_at_once(struct kunit *test)
{
	kdapl_clauses(test, "C-60");
	break_it(test);
	KUNIT_EXPECT_NULL(test, notice_at_rest());
	KUNIT_EXPECT_NOT_NULL(test, ep.ep->cm_id);
}

static void unplug(void)
{
	fake_dev_unplug(env->fake);
}

static bool none_listed(struct kdapl_device *dev)
{
	bool none;

	spin_lock_irq(&dev->notice_lock);
	none = list_empty(&dev->notices);
	spin_unlock_irq(&dev->notice_lock);
	return none;
}

/*
 * The device is removed with two notices on its list. While the first id is being
 * destroyed, the CM reports the end of both: the work that this schedules must find
 * none of them, or they would be destroyed twice.
 */
static void C_60_the_CM_answers_while_the_device_is_removed(struct kunit *test)
{
	struct kdapl_device *dev = env->ia->dev;
	struct kdapl_notice *first, *last;

	kdapl_clauses(test, "C-60 C-57");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &second), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_connect(&second), 0);
	port_set(test, false);
	tp_ep_free(&ep);
	tp_ep_free(&second);
	/* The work takes the notices off the list for a moment: it must not run now */
	flush_workqueue(ib_wq);
	cancel_delayed_work_sync(&dev->notice_work);
	spin_lock_irq(&dev->notice_lock);
	first = list_first_entry(&dev->notices, struct kdapl_notice, node);
	last = list_last_entry(&dev->notices, struct kdapl_notice, node);
	spin_unlock_irq(&dev->notice_lock);
	KUNIT_ASSERT_PTR_NE(test, first, last);

	/* rdma_destroy_id() waits for the lock */
	rdma_lock_handler(first->id);
	tp_start(&removal, unplug);
	if (kdapl_sleep_until(none_listed(dev))) {
		struct rdma_cm_event event = { .event = RDMA_CM_EVENT_DISCONNECTED };

		KUNIT_EXPECT_EQ(test, first->id->event_handler(first->id, &event), 0);
		KUNIT_EXPECT_EQ(test, last->id->event_handler(last->id, &event), 0);
		/* Not by a flush: the work may destroy ids, which takes this lock */
		KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!work_busy(&dev->notice_work.work)));
		KUNIT_EXPECT_TRUE(test, none_listed(dev));
	} else {
		KUNIT_FAIL(test, "expected no listed notices during the removal of the device");
	}
	rdma_unlock_handler(first->id);
	KUNIT_ASSERT_TRUE(test, tp_finish(&removal));
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
	KUNIT_CASE(C_60_an_active_port_sends_it_at_once),
	KUNIT_CASE(C_60_the_CM_answers_while_the_device_is_removed),
	{}
};

static struct kunit_suite notice_suite = {
	.name = "kdapl_notice",
	.init = notice_init,
	.exit = notice_exit,
	.test_cases = notice_cases,
};

kunit_test_suite(notice_suite);
