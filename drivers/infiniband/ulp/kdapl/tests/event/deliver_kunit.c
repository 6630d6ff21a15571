// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: delivery of events concurrent with other work.
 *
 * Events are delivered while connection work blocks. Marking a long queue repeatedly does
 * not start at its head each time. A call that waits for one upcall does not wait for the
 * next one. Runs in a KUnit thread, with a second thread where a call must wait.
 */
#include <linux/kthread.h>
#include <linux/wait.h>
#include "clause.h"
#include "event_kunit.h"

/* Needs no timer: see LINGER_WAIT() in evd_kunit.c */
#define DELIVER_WAIT(cond)	kdapl_spin_until(cond, ({ cpu_relax(); cond_resched(); }))

/* ---- separate workqueues ---------------------------------------------------- */

struct blocker {
	struct work_struct work;
	struct completion begun, over;
};

static void blocker_work(struct work_struct *work)
{
	struct blocker *b = container_of(work, struct blocker, work);

	complete(&b->begun);
	wait_for_completion(&b->over);
}

/* Events are delivered while all workers of the connection workqueue are busy */
static void E_17_delivery_while_connection_work_blocks(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct blocker b;
	bool came;

	kdapl_clauses(test, "E-17");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	INIT_WORK_ONSTACK(&b.work, blocker_work);
	init_completion(&b.begun);
	init_completion(&b.over);
	workqueue_set_max_active(kdapl_wq, 1);
	queue_work(kdapl_wq, &b.work);
	wait_for_completion(&b.begun);
	KUNIT_EXPECT_EQ(test, evt_post_se(evt, 1), DAT_SUCCESS);
	came = DELIVER_WAIT(evt_calls(evt) == 1);
	complete(&b.over);
	flush_work(&b.work);
	workqueue_set_max_active(kdapl_wq, WQ_DFL_ACTIVE);
	destroy_work_on_stack(&b.work);
	KUNIT_EXPECT_TRUE(test, came);
}

/* ---- marking of queued events ------------------------------------------------------ */

/*
 * Counts the events that kdapl_evd_notify_all() visits, in total, when it is called after
 * each of @n solicited messages that are not dequeued. This function clears the marks
 * directly in the queue, so that each visited event has a new mark.
 */
static u32 steps_of(struct evt *evt, u32 n)
{
	struct kdapl_event *ev;
	u32 i, steps = 0;

	evt_policy(evt, DAT_UPCALL_NOTIFY, DAT_UPCALL_INVOC_NEW);
	for (i = 0; i < n; i++) {
		evt_dto(evt, i, false);
		kdapl_evd_notify_all(&evt->evd);
		spin_lock_irq(&evt->evd.lock);
		for (ev = evt->evd.head; ev; ev = ev->next) {
			steps += !!ev->notify;
			if (ev->notify != KDAPL_NOTIFY_LAST)
				ev->notify = false;
		}
		spin_unlock_irq(&evt->evd.lock);
	}
	kdapl_evd_modify(&evt->evd, DAT_UPCALL_DISABLE, NULL, DAT_UPCALL_INVOC_NEW);
	evt_settle(evt);
	while (evt_pop(evt) != U64_MAX)
		;
	return steps;
}

static void marking_is_linear_in_the_number_of_events(struct kunit *test)
{
	struct evt *evt = test->priv;
	u32 few = steps_of(evt, EVT_SLOTS / 4), many = steps_of(evt, EVT_SLOTS);

	/* Each event once, and again the one where the previous marking ended */
	KUNIT_EXPECT_LE(test, few, 2 * EVT_SLOTS / 4);
	KUNIT_EXPECT_LE(test, many, 2 * EVT_SLOTS);
}

static u32 notifying(struct evt *evt)
{
	u32 notify;

	kdapl_evd_count(&evt->evd, &notify);
	return notify;
}

/* The event where the last marking ended leaves the queue in each possible way */
static void marking_continues_after_its_last_event_was_removed(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct kdapl_slot *slot;
	u64 i;

	evt_policy(evt, DAT_UPCALL_DISABLE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 1, false);
	evt_dto(evt, 2, false);
	kdapl_evd_notify_all(&evt->evd);
	KUNIT_EXPECT_EQ(test, notifying(evt), 2);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 1);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 2);
	KUNIT_EXPECT_NULL(test, evt->evd.marked);
	KUNIT_EXPECT_EQ(test, notifying(evt), 0);
	/* It is taken back, and an event before it stays queued */
	slot = evt_slot(evt, 1, 3, false);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	evt_done(evt, slot);
	evt_dto(evt, 4, false);
	kdapl_evd_notify_all(&evt->evd);
	KUNIT_EXPECT_EQ(test, kdapl_evd_take_back(&evt->evd, evt->ep[0]), 1);
	KUNIT_EXPECT_EQ(test, notifying(evt), 1);
	evt_dto(evt, 5, false);
	KUNIT_EXPECT_EQ(test, notifying(evt), 1);
	kdapl_evd_notify_all(&evt->evd);
	KUNIT_EXPECT_EQ(test, notifying(evt), 2);
	/* It moves to another ring */
	KUNIT_EXPECT_EQ(test, evt_post_se(evt, 6), DAT_SUCCESS);
	kdapl_evd_notify_all(&evt->evd);
	KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&evt->evd, EVT_QLEN / 2), 0);
	KUNIT_EXPECT_PTR_EQ(test, evt->evd.marked, evt->evd.tail);
	evt_dto(evt, 7, false);
	kdapl_evd_notify_all(&evt->evd);
	KUNIT_EXPECT_EQ(test, notifying(evt), 4);
	/* The marks are cleared, and set again from the head */
	kdapl_evd_modify(&evt->evd, DAT_UPCALL_DISABLE, NULL, DAT_UPCALL_INVOC_NEW);
	KUNIT_EXPECT_EQ(test, notifying(evt), 0);
	kdapl_evd_notify_all(&evt->evd);
	KUNIT_EXPECT_EQ(test, notifying(evt), 4);
	for (i = 3; i <= 7; i++)
		if (i != 4)
			KUNIT_EXPECT_EQ(test, evt_pop(evt), i);
	KUNIT_EXPECT_EQ(test, notifying(evt), 0);
}

/* ---- waiting between two upcalls --------------------------------------------- */

static struct {
	bool running, go, over, seen;
} turn;

/* The first upcall waits for the test, the second for the thread that waits for the first */
static void hook_two_upcalls(struct evt *evt, const DAT_EVENT *event)
{
	bool *until = evt_value(event) == 1 ? &turn.go : &turn.over;

	WRITE_ONCE(turn.running, true);
	kdapl_spin_until(READ_ONCE(*until), cpu_relax());
	if (evt_value(event) == 2)
		WRITE_ONCE(turn.seen, READ_ONCE(turn.over));
}

static int wait_for_first(void *data)
{
	struct evt *evt = data;

	kdapl_evd_wait_ep(&evt->evd, evt->ep[0]);
	WRITE_ONCE(turn.over, true);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* dat_ep_free() waits for the upcall with its event, but not for the next upcall */
static void C_36_free_waits_for_one_upcall_only(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct kdapl_slot *first, *second;
	struct task_struct *thread;

	kdapl_clauses(test, "C-36");
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	second = evt_slot(evt, 1, 2, true);
	first = evt_slot(evt, 0, 1, true);
	memset(&turn, 0, sizeof(turn));
	evt->hook = hook_two_upcalls;
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	kdapl_evd_queue(&evt->evd, &first->ev, false);
	KUNIT_EXPECT_TRUE(test, DELIVER_WAIT(READ_ONCE(turn.running)));
	kdapl_evd_queue(&evt->evd, &second->ev, false);
	thread = kthread_run(wait_for_first, evt, "kdapl_test_wait");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread);
	/* Polled repeatedly, so no barrier is needed */
	KUNIT_EXPECT_TRUE(test, DELIVER_WAIT(waitqueue_active(&evt->evd.wait)));
	WRITE_ONCE(turn.go, true);
	KUNIT_EXPECT_TRUE(test, DELIVER_WAIT(READ_ONCE(turn.over)));
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 2);
	KUNIT_EXPECT_TRUE(test, turn.seen);
	kthread_stop(thread);
}

/* Upcalls are enabled after the completion has checked the EVD and before it pushes its event */
static void E_17_an_event_is_pushed_after_upcalls_were_enabled(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct kdapl_slot *slot = evt_slot(evt, 0, 7, true);

	kdapl_clauses(test, "E-17");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	local_bh_disable();
	kdapl_evd_push(&evt->evd, &slot->ev);
	local_bh_enable();
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[0].event), 7);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
}

static struct kunit_case deliver_cases[] = {
	KUNIT_CASE(E_17_delivery_while_connection_work_blocks),
	KUNIT_CASE(marking_is_linear_in_the_number_of_events),
	KUNIT_CASE(marking_continues_after_its_last_event_was_removed),
	KUNIT_CASE(C_36_free_waits_for_one_upcall_only),
	KUNIT_CASE(E_17_an_event_is_pushed_after_upcalls_were_enabled),
	{}
};

static struct kunit_suite deliver_suite = {
	.name = "kdapl_evd_deliver",
	.init = evt_init,
	.exit = evt_exit,
	.test_cases = deliver_cases,
};

kunit_test_suite(deliver_suite);
