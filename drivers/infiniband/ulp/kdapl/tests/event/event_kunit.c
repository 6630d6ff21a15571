// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the queue of an EVD, and the rules of delivery.
 *
 * Tests evd_queue.c on an EVD without IA, see event_kunit.h. The test thread reports
 * completions with bottom halves off, as a done callback does. In every test the exit
 * function of the fixture checks that no two upcalls overlapped and that none ran on the
 * stack of a call.
 */
#include <linux/kthread.h>
#include "clause.h"
#include "event_kunit.h"

/* ---- delivery in the done callback ---------------------------------------- */

static void upcall_runs_in_the_done_callback(struct kunit *test)
{
	struct evt *evt = test->priv;
	DAT_EVENT *event = &evt->rec[0].event;
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	kdapl_clauses(test, "E-14 G-30");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 4711, true);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_FALSE(test, evt->rec[0].deferred);
	KUNIT_EXPECT_FALSE(test, evt->rec[0].more);
	/* G-30, G-11 */
	KUNIT_EXPECT_EQ(test, event->event_number, DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_PTR_EQ(test, event->evd_handle, kdapl_obj_handle(&evt->evd.obj));
	KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, kdapl_obj_handle(&evt->ep[0]->obj));
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_64, 4711);
	KUNIT_EXPECT_EQ(test, dto->status, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, dto->operation, DAT_DTO_SEND);
	KUNIT_EXPECT_EQ(test, dto->transfered_length, 77);
	/* E-14: removed before the upcall */
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
}

static void E_10_instance_data_is_passed_unchanged(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-10");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 1, true);
	KUNIT_EXPECT_EQ(test, evt_post_se(evt, 2), DAT_SUCCESS);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 2);
	KUNIT_EXPECT_PTR_EQ(test, evt->rec[0].instance, evt);
	KUNIT_EXPECT_PTR_EQ(test, evt->rec[1].instance, evt);
}

static void E_07_bottom_halves_are_off_in_every_upcall(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-07");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 1, true);
	evt_post_se(evt, 2);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 2);
	KUNIT_EXPECT_TRUE(test, evt->rec[0].bh_off);
	KUNIT_EXPECT_TRUE(test, evt->rec[1].deferred);
	KUNIT_EXPECT_TRUE(test, evt->rec[1].bh_off);
}

static void hook_free_slots(struct evt *evt, const DAT_EVENT *event)
{
	evt->data = evt->data << 8 | kdapl_pool_free_count(&evt->pool[0]);
}

static void E_14_slot_is_free_inside_the_upcall(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct kdapl_slot *slot[2];

	kdapl_clauses(test, "E-14 G-26");
	/* Both paths: delivered directly, and through the queue */
	evt->hook = hook_free_slots;
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 1, true);
	KUNIT_EXPECT_EQ(test, evt->data, EVT_SLOTS);
	evt->data = 0;
	slot[0] = evt_slot(evt, 0, 1, false);
	slot[1] = evt_slot(evt, 0, 2, true);
	evt_done(evt, slot[0]);
	KUNIT_EXPECT_EQ(test, evt->data, 0);
	evt_done(evt, slot[1]);
	KUNIT_EXPECT_EQ(test, evt->data, (EVT_SLOTS - 1) << 8 | EVT_SLOTS);
}

/* ---- never on the caller's stack ----------------------------------------- */

static void E_08a_post_se_runs_no_upcall_on_its_stack(struct kunit *test)
{
	struct evt *evt = test->priv;
	u64 i;

	kdapl_clauses(test, "E-08a E-33");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	for (i = 1; i <= 20; i++)
		KUNIT_EXPECT_EQ(test, evt_post_se(evt, i), DAT_SUCCESS);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 20);
	for (i = 1; i <= 20; i++) {
		KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[i - 1].event), i);
		KUNIT_EXPECT_TRUE(test, evt->rec[i - 1].deferred);
	}
}

static DEFINE_SPINLOCK(consumer_lock);

static void hook_takes_lock(struct evt *evt, const DAT_EVENT *event)
{
	spin_lock(&consumer_lock);
	evt->data++;
	spin_unlock(&consumer_lock);
}

static void E_08a_no_deadlock_on_a_lock_of_the_upcall(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-08a");
	evt->hook = hook_takes_lock;
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	spin_lock_bh(&consumer_lock);
	evt_post_se(evt, 1);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	KUNIT_EXPECT_EQ(test, evt->data, 0);
	spin_unlock_bh(&consumer_lock);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt->data, 1);
}

static void modify_to_ANY_runs_no_upcall_on_its_stack(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-08a E-13");
	evt_dto(evt, 1, true);
	evt_dto(evt, 2, true);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 0);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 2);
	KUNIT_EXPECT_TRUE(test, evt->rec[0].deferred);
	KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[0].event), 1);
	KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[1].event), 2);
}

static void C_58_event_outside_a_done_callback_has_its_upcall(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct kdapl_slot *slot = evt_slot(evt, 0, 1, true);

	kdapl_clauses(test, "E-08a C-58");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt->caller = current;
	kdapl_evd_queue(&evt->evd, &slot->ev, false);
	evt->caller = NULL;
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_TRUE(test, evt->rec[0].deferred);
}

/* ---- which events cause upcalls, in which order ----------------------------- */

static void E_04_DISABLE_collects_and_ANY_delivers_the_backlog(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-04");
	evt_policy(evt, DAT_UPCALL_DISABLE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 1, true);
	evt_post_se(evt, 2);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 0);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 2);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
}

static void E_12_NEW_waits_for_an_event_and_delivers_the_oldest(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-12");
	evt_post_se(evt, 1);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 0);
	evt_dto(evt, 2, true);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 2);
	KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[0].event), 1);
	KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[1].event), 2);
}

static void E_13_ANY_needs_no_new_event(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-13");
	evt_post_se(evt, 1);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_TRUE(test, evt->rec[0].deferred);
}

static void E_16_more_events_is_set_while_events_are_queued(struct kunit *test)
{
	struct evt *evt = test->priv;
	u64 i;

	kdapl_clauses(test, "E-16");
	for (i = 1; i <= 3; i++)
		evt_dto(evt, i, true);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 3);
	KUNIT_EXPECT_TRUE(test, evt->rec[0].more);
	KUNIT_EXPECT_TRUE(test, evt->rec[1].more);
	KUNIT_EXPECT_FALSE(test, evt->rec[2].more);
}

static void E_18_events_without_upcall_come_before_the_notifying_one(struct kunit *test)
{
	struct evt *evt = test->priv;
	u64 i;

	kdapl_clauses(test, "E-18");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 1, false);
	evt_dto(evt, 2, false);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 0);
	evt_dto(evt, 3, true);
	evt_dto(evt, 4, false);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 3);
	for (i = 1; i <= 3; i++)
		KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[i - 1].event), i);
	/* The last event, which does not notify, waits for a dequeue */
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 4);
}

static void hook_drain(struct evt *evt, const DAT_EVENT *event)
{
	DAT_EVENT out;

	while (dat_evd_dequeue(kdapl_obj_handle(&evt->evd.obj), &out) == DAT_SUCCESS)
		evt->data++;
}

static void E_19_no_upcall_for_what_the_upcall_dequeued(struct kunit *test)
{
	struct evt *evt = test->priv;
	u64 i;

	kdapl_clauses(test, "E-19");
	evt->hook = hook_drain;
	for (i = 1; i <= 5; i++)
		evt_dto(evt, i, true);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_EQ(test, evt->data, 4);
	/* A new event causes a new upcall */
	evt_dto(evt, 6, true);
	evt_post_se(evt, 7);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt) + evt->data, 7);
	KUNIT_EXPECT_GE(test, evt_calls(evt), 2);
}

static void E_17_dequeue_of_the_notifying_event_needs_no_upcall(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-17");
	evt_post_se(evt, 1);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 1);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 0);
}

static void E_03_NOTIFY_gives_no_event(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-03");
	evt_policy(evt, DAT_UPCALL_NOTIFY, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 1, true);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_TRUE(test, evt->rec[0].null);
	KUNIT_EXPECT_TRUE(test, evt->rec[0].bh_off);
	/* An event without notification causes no upcall, the next one with notification does */
	evt_dto(evt, 2, false);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 1);
	evt_post_se(evt, 3);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 2);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 1);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 2);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 3);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
}

/* ---- budget --------------------------------------------------------------- */

static void E_08b_budget_of_64_events(struct kunit *test)
{
	struct evt *evt = test->priv;
	unsigned int here, i;

	kdapl_clauses(test, "E-08b E-17");
	for (i = 0; i < 200; i++)
		KUNIT_ASSERT_EQ(test, evt_post_se(evt, i), DAT_SUCCESS);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	/* The done callback finds a backlog of other events */
	evt_dto(evt, 200, true);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 201);
	for (here = 0; here < 201 && !evt->rec[here].deferred; here++)
		;
	KUNIT_EXPECT_GE(test, here, 1);
	/* 64 events of the backlog, and its own event */
	KUNIT_EXPECT_LE(test, here, 65);
	for (i = here; i < 201; i++)
		KUNIT_EXPECT_TRUE(test, evt->rec[i].deferred);
	for (i = 0; i < 201; i++)
		KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[i].event), i);
}

/* Feeds its own EVD, so that the delivery owner never finds it empty */
static void hook_feeds(struct evt *evt, const DAT_EVENT *event)
{
	struct kdapl_slot *slot;

	if (evt->data >= 1000)
		return;
	slot = evt_slot(evt, 0, ++evt->data, true);
	if (slot)
		kdapl_evd_queue(&evt->evd, &slot->ev, true);
}

static void E_08b_endless_events_move_to_the_workqueue(struct kunit *test)
{
	struct evt *evt = test->priv;
	unsigned int here, i;

	kdapl_clauses(test, "E-08b");
	evt->hook = hook_feeds;
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 0, true);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 1001);
	for (here = 0; here < 1001 && !evt->rec[here].deferred; here++)
		;
	KUNIT_EXPECT_LE(test, here, 66);
	for (i = 0; i < 1001; i++)
		KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[i].event), i);
}

/* ---- many producers -------------------------------------------------------- */

#define STRESS_EVENTS	900

struct producer {
	struct evt *evt;
	unsigned int which;
	unsigned int done;
};

/* Completes requests of one endpoint as fast as slots are freed */
static int producer_thread(void *data)
{
	struct producer *p = data;
	struct kdapl_slot *slot;
	u64 cookie = (u64)p->which << 32;

	while (p->done < STRESS_EVENTS && !kthread_should_stop()) {
		slot = evt_slot(p->evt, p->which, cookie + p->done, true);
		if (!slot) {
			cond_resched();
			continue;
		}
		evt_done(p->evt, slot);
		WRITE_ONCE(p->done, p->done + 1);
		/* Post software events in between */
		if (!(p->done % 16) && p->which) {
			DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

			dat_evd_post_se(kdapl_obj_handle(&p->evt->evd.obj), &event);
		}
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void run_producers(struct kunit *test, struct producer *p, unsigned int n)
{
	struct task_struct *thread[2];
	unsigned int i, tries;

	for (i = 0; i < n; i++) {
		thread[i] = kthread_run(producer_thread, &p[i], "kdapl_test_ev%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread[i]);
	}
	for (tries = 0; tries < 3000; tries++) {
		for (i = 0; i < n && READ_ONCE(p[i].done) == STRESS_EVENTS; i++)
			;
		if (i == n)
			break;
		schedule_timeout_uninterruptible(1);
	}
	for (i = 0; i < n; i++) {
		kthread_stop(thread[i]);
		KUNIT_EXPECT_EQ(test, p[i].done, STRESS_EVENTS);
	}
}

static void E_02_two_producers_one_upcall_at_a_time(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct producer p[2] = { { .evt = evt, .which = 0 }, { .evt = evt, .which = 1 } };
	unsigned int i, soft = 0, next[2] = { };

	kdapl_clauses(test, "E-02 E-17 E-33 E-36");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	run_producers(test, p, 2);
	evt_settle(evt);
	/* E-17, E-36: each event once, in its producer's order. evt_exit() checks for overlaps */
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 2 * STRESS_EVENTS + STRESS_EVENTS / 16);
	for (i = 0; i < evt_calls(evt); i++) {
		u64 value = evt_value(&evt->rec[i].event);

		if (evt->rec[i].event.event_number == DAT_SOFTWARE_EVENT) {
			soft++;
			continue;
		}
		KUNIT_ASSERT_LT(test, value >> 32, 2);
		KUNIT_EXPECT_EQ(test, (u32)value, next[value >> 32]);
		next[value >> 32]++;
		KUNIT_EXPECT_TRUE(test, evt->rec[i].bh_off);
	}
	KUNIT_EXPECT_EQ(test, soft, STRESS_EVENTS / 16);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
}

static int dequeue_thread(void *data)
{
	struct evt *evt = data;
	DAT_EVENT event;

	while (!kthread_should_stop()) {
		if (dat_evd_dequeue(kdapl_obj_handle(&evt->evd.obj), &event) == DAT_SUCCESS)
			evt->data++;
		cond_resched();
	}
	return 0;
}

static void E_41_dequeue_and_upcall_lose_no_event(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct producer p = { .evt = evt, .which = 0 };
	struct task_struct *consumer;

	kdapl_clauses(test, "E-41 E-36");
	consumer = kthread_run(dequeue_thread, evt, "kdapl_test_deq");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, consumer);
	/* An event without notification stays queued, so that there is something to dequeue */
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 1, false);
	run_producers(test, &p, 1);
	evt_settle(evt);
	kthread_stop(consumer);
	KUNIT_EXPECT_EQ(test, evt_calls(evt) + evt->data, STRESS_EVENTS + 1);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
}

static struct kunit_case event_cases[] = {
	KUNIT_CASE(upcall_runs_in_the_done_callback),
	KUNIT_CASE(E_10_instance_data_is_passed_unchanged),
	KUNIT_CASE(E_07_bottom_halves_are_off_in_every_upcall),
	KUNIT_CASE(E_14_slot_is_free_inside_the_upcall),
	KUNIT_CASE(E_08a_post_se_runs_no_upcall_on_its_stack),
	KUNIT_CASE(E_08a_no_deadlock_on_a_lock_of_the_upcall),
	KUNIT_CASE(modify_to_ANY_runs_no_upcall_on_its_stack),
	KUNIT_CASE(C_58_event_outside_a_done_callback_has_its_upcall),
	KUNIT_CASE(E_04_DISABLE_collects_and_ANY_delivers_the_backlog),
	KUNIT_CASE(E_12_NEW_waits_for_an_event_and_delivers_the_oldest),
	KUNIT_CASE(E_13_ANY_needs_no_new_event),
	KUNIT_CASE(E_16_more_events_is_set_while_events_are_queued),
	KUNIT_CASE(E_18_events_without_upcall_come_before_the_notifying_one),
	KUNIT_CASE(E_19_no_upcall_for_what_the_upcall_dequeued),
	KUNIT_CASE(E_17_dequeue_of_the_notifying_event_needs_no_upcall),
	KUNIT_CASE(E_03_NOTIFY_gives_no_event),
	KUNIT_CASE(E_08b_budget_of_64_events),
	KUNIT_CASE(E_08b_endless_events_move_to_the_workqueue),
	KUNIT_CASE(E_02_two_producers_one_upcall_at_a_time),
	KUNIT_CASE(E_41_dequeue_and_upcall_lose_no_event),
	{}
};

static struct kunit_suite event_suite = {
	.name = "kdapl_event",
	.init = evt_init,
	.exit = evt_exit,
	.test_cases = event_cases,
};

kunit_test_suite(event_suite);
