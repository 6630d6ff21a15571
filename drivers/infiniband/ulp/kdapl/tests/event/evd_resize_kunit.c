// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: dat_evd_resize() replaces the ring of an EVD.
 *
 * Events of all kinds stay queued, in their order, also when others are queued or dequeued
 * at the same time. A length that is too short changes nothing. Uses an EVD without IA
 * (event_kunit.h). Runs in a KUnit thread, with more threads where events are queued and
 * dequeued concurrently.
 */
#include <linux/kthread.h>
#include "clause.h"
#include "fail_alloc.h"
#include "event_kunit.h"

#define MANY	100

static void post_async(struct evt *evt, unsigned long handle)
{
	kdapl_evd_post_async(&evt->evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)handle,
			     DAT_EP_OTHER_ERROR);
}

/* Number of the event in queue_mixed() */
static u64 number_of(const DAT_EVENT *event)
{
	if (event->event_number == DAT_ASYNC_ERROR_EP_BROKEN)
		return (unsigned long)event->event_data.asynch_error_event_data.dat_handle;
	return evt_value(event);
}

/* Queues @n events: completions, software events and asynchronous events in turn */
static void queue_mixed(struct kunit *test, struct evt *evt, u64 first, u64 n)
{
	u64 i;

	for (i = first; i < first + n; i++) {
		if (i % 3 == 0)
			evt_dto(evt, i, i % 2);
		else if (i % 3 == 1)
			KUNIT_EXPECT_EQ(test, evt_post_se(evt, i), DAT_SUCCESS);
		else
			post_async(evt, i);
	}
}

static void expect_mixed(struct kunit *test, struct evt *evt, u64 first, u64 n)
{
	DAT_EVENT event;
	u64 i;

	for (i = first; i < first + n; i++) {
		KUNIT_ASSERT_TRUE(test, kdapl_evd_pop(&evt->evd, &event));
		KUNIT_EXPECT_EQ(test, number_of(&event), i);
	}
}

static void E_42_resize_keeps_the_order_of_events(struct kunit *test)
{
	static const u32 length[] = { EVT_QLEN, 64, 1000, 21, 22 };
	struct evt *evt = test->priv;
	u32 i;

	kdapl_clauses(test, "E-42");
	/*
	 * Resize with no event, one event and several events, at different positions in
	 * the ring
	 */
	for (i = 0; i < ARRAY_SIZE(length); i++) {
		KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, length[i]), 0);
		KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
		queue_mixed(test, evt, 1, 1);
		KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, length[i] + 1), 0);
		queue_mixed(test, evt, 2, 20);
		KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, 21), 0);
		expect_mixed(test, evt, 1, 5);
		KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, length[i]), 0);
		/* The tail has not moved: new events come last */
		queue_mixed(test, evt, 22, 3);
		expect_mixed(test, evt, 6, 19);
		KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
		KUNIT_EXPECT_EQ(test, evt->evd.ring_used, 0);
	}
}

/* Checks that exactly @room software events fit */
static void expect_room(struct kunit *test, struct evt *evt, u32 room)
{
	u32 i;

	for (i = 0; i < room; i++)
		KUNIT_ASSERT_EQ(test, evt_post_se(evt, i), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(evt_post_se(evt, 999)), DAT_QUEUE_FULL);
	for (i = 0; i < room; i++)
		KUNIT_EXPECT_EQ(test, evt_pop(evt), i);
}

static void E_42_the_new_length_is_effective(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-42 E-21");
	expect_room(test, evt, EVT_QLEN);
	KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, 2 * EVT_QLEN), 0);
	expect_room(test, evt, 2 * EVT_QLEN);
	KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, 1), 0);
	expect_room(test, evt, 1);
	/* Events that are queued during the resize count too */
	KUNIT_ASSERT_EQ(test, evt_post_se(evt, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, 3), 0);
	KUNIT_ASSERT_EQ(test, evt_post_se(evt, 1), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, evt_post_se(evt, 2), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(evt_post_se(evt, 3)), DAT_QUEUE_FULL);
	while (evt_pop(evt) != U64_MAX)
		;
	expect_room(test, evt, 3);
}

static void E_43_length_below_the_number_of_events_is_refused(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct kdapl_ring_event *ring = evt->evd.ring;
	u32 n;

	kdapl_clauses(test, "E-43");
	for (n = 1; n <= 4; n++) {
		/* The first and the last are completions: they use no ring entry, but count too */
		queue_mixed(test, evt, 4 - n, 1);
		if (n > 1)
			KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&evt->evd, n - 1), -EBUSY);
		KUNIT_EXPECT_PTR_EQ(test, evt->evd.ring, ring);
		KUNIT_EXPECT_EQ(test, evt->evd.qlen, EVT_QLEN);
	}
	KUNIT_EXPECT_EQ(test, kdapl_evd_count(&evt->evd, NULL), 4);
	KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&evt->evd, 4), 0);
	while (evt_pop(evt) != U64_MAX)
		;
}

/* Completions use no ring entry: even many of them do not prevent growing */
static void E_43_growing_is_not_refused(struct kunit *test)
{
	struct evt *evt = test->priv;
	u32 i;

	kdapl_clauses(test, "E-42 E-43");
	KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, 2), 0);
	for (i = 0; i < 10; i++)
		evt_dto(evt, i, true);
	KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&evt->evd, 4), 0);
	KUNIT_EXPECT_EQ(test, evt->evd.qlen, 4);
	/* An unchanged length is not shorter */
	KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&evt->evd, 4), 0);
	KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&evt->evd, 3), -EBUSY);
	KUNIT_EXPECT_EQ(test, evt->evd.qlen, 4);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, evt_pop(evt), i);
	expect_room(test, evt, 4);
}

/* An overflow event uses a reserved entry outside the ring */
static void E_42_resize_keeps_an_overflow_event(struct kunit *test)
{
	struct evt *evt = test->priv;
	DAT_EVENT event;
	u32 i;

	kdapl_clauses(test, "E-42 E-23");
	KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, 4), 0);
	for (i = 1; i <= 5; i++)
		post_async(evt, i);
	KUNIT_EXPECT_EQ(test, evt->evd.dropped, 1);
	/* Five events are queued now, four of them in the ring */
	KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&evt->evd, 3), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&evt->evd, 4), 0);
	KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, 5), 0);
	for (i = 1; i <= 5; i++) {
		KUNIT_ASSERT_TRUE(test, kdapl_evd_pop(&evt->evd, &event));
		KUNIT_EXPECT_EQ(test, event.event_number,
				i == 5 ? DAT_ASYNC_ERROR_EVD_OVERFLOW : DAT_ASYNC_ERROR_EP_BROKEN);
	}
	KUNIT_EXPECT_FALSE(test, evt->evd.overflowed);
	expect_room(test, evt, 5);
}

static void E_42_a_pending_upcall_is_made(struct kunit *test)
{
	struct evt *evt = test->priv;
	u32 i;

	kdapl_clauses(test, "E-42 E-17");
	queue_mixed(test, evt, 1, 10);
	KUNIT_ASSERT_EQ(test, kdapl_evd_resize(&evt->evd, 10), 0);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 10);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, number_of(&evt->rec[i].event), i + 1);
}

static void no_memory_changes_nothing(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct kdapl_ring_event *ring = evt->evd.ring;
	bool fails;
	int ret;

	queue_mixed(test, evt, 1, 10);
	kdapl_fail_allocations(true);
	fails = kdapl_slab_fails(GFP_KERNEL);
	ret = kdapl_evd_resize(&evt->evd, 300);
	kdapl_fail_allocations(false);
	expect_mixed(test, evt, 1, 10);
	if (!fails)
		kunit_skip(test, "the kernel has no fault injection for allocations");
	KUNIT_EXPECT_EQ(test, ret, -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, evt->evd.ring, ring);
	KUNIT_EXPECT_EQ(test, evt->evd.qlen, EVT_QLEN);
}

/* ---- concurrent events ------------------------------------------------------- */

static struct {
	struct evt *evt;
	u64 posted;		/* accepted software events, numbered from 1 */
	u64 wrong;		/* events out of order, or delivered twice */
	u64 last;
} flow;

static int producer(void *data)
{
	while (!kthread_should_stop()) {
		if (flow.posted - READ_ONCE(flow.last) < MANY &&
		    evt_post_se(flow.evt, flow.posted + 1) == DAT_SUCCESS)
			WRITE_ONCE(flow.posted, flow.posted + 1);
		cond_resched();
	}
	return 0;
}

static void take_one(const DAT_EVENT *event)
{
	flow.wrong += evt_value(event) != flow.last + 1;
	WRITE_ONCE(flow.last, flow.last + 1);
}

static int consumer(void *data)
{
	DAT_EVENT event;

	while (!kthread_should_stop()) {
		while (kdapl_evd_pop(&flow.evt->evd, &event))
			take_one(&event);
		cond_resched();
	}
	return 0;
}

static void hook_takes(struct evt *evt, const DAT_EVENT *event)
{
	take_one(event);
}

/*
 * Resizes to lengths that fit or do not, at least @resizes times and until @events were
 * delivered. Gives up if neither makes progress
 */
static void resize_until(struct kunit *test, u32 resizes, u64 events)
{
	unsigned long end = jiffies + msecs_to_jiffies(KDAPL_HANG_MS);
	u64 before = 0, now;
	u32 resized = 0, i;
	int ret;

	for (i = 0; (READ_ONCE(flow.last) < events || resized < resizes) &&
	     time_before(jiffies, end); i++) {
		ret = kdapl_evd_resize(&flow.evt->evd, 1 + (i * 37) % (2 * MANY));
		KUNIT_ASSERT_TRUE(test, !ret || ret == -EBUSY);
		resized += !ret;
		now = resized + READ_ONCE(flow.last);
		if (now != before)
			end = jiffies + msecs_to_jiffies(KDAPL_HANG_MS);
		before = now;
		cond_resched();
	}
	KUNIT_EXPECT_GE(test, flow.last, events);
	KUNIT_EXPECT_GE(test, resized, resizes);
}

static void run_flow(struct kunit *test, int (*taker)(void *data))
{
	struct task_struct *feeding, *taking = NULL;
	DAT_EVENT event;

	memset(&flow, 0, sizeof(flow));
	flow.evt = test->priv;
	feeding = kthread_run(producer, NULL, "kdapl_test_feed");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, feeding);
	if (taker)
		taking = kthread_run(taker, NULL, "kdapl_test_take");
	resize_until(test, 100, 5000);
	kthread_stop(feeding);
	if (!IS_ERR_OR_NULL(taking))
		kthread_stop(taking);
	evt_settle(flow.evt);
	while (kdapl_evd_pop(&flow.evt->evd, &event))
		take_one(&event);
	KUNIT_EXPECT_EQ(test, flow.last, flow.posted);
	KUNIT_EXPECT_EQ(test, flow.wrong, 0);
	KUNIT_EXPECT_EQ(test, flow.evt->evd.ring_used, 0);
}

static void E_42_events_come_and_are_dequeued_meanwhile(struct kunit *test)
{
	kdapl_clauses(test, "E-42 E-36");
	run_flow(test, consumer);
}

static void E_42_events_come_and_have_upcalls_meanwhile(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-42 E-17 E-36");
	evt->hook = hook_takes;
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	run_flow(test, NULL);
}

static struct kunit_case evd_resize_cases[] = {
	KUNIT_CASE(E_42_resize_keeps_the_order_of_events),
	KUNIT_CASE(E_42_the_new_length_is_effective),
	KUNIT_CASE(E_43_length_below_the_number_of_events_is_refused),
	KUNIT_CASE(E_43_growing_is_not_refused),
	KUNIT_CASE(E_42_resize_keeps_an_overflow_event),
	KUNIT_CASE(E_42_a_pending_upcall_is_made),
	KUNIT_CASE(no_memory_changes_nothing),
	KUNIT_CASE(E_42_events_come_and_are_dequeued_meanwhile),
	KUNIT_CASE(E_42_events_come_and_have_upcalls_meanwhile),
	{}
};

static struct kunit_suite evd_resize_suite = {
	.name = "kdapl_evd_resize",
	.init = evt_init,
	.exit = evt_exit,
	.test_cases = evd_resize_cases,
};

kunit_test_suite(evd_resize_suite);
