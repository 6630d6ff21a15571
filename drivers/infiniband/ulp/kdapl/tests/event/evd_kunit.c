// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the capacity of an EVD, taking events back, and changes of the upcall.
 *
 * Tests evd_queue.c on an EVD without IA, see event_kunit.h: the ring of software and
 * asynchronous events and its overflow, the functions that dat_ep_free() and TEARDOWN
 * need, and modifications from inside and outside the upcall. Runs in a KUnit thread, with
 * a second thread where a call must wait.
 */
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include "clause.h"
#include "event_kunit.h"

static DAT_HANDLE handle_of(struct evt *evt)
{
	return kdapl_obj_handle(&evt->evd.obj);
}

/* ---- dequeue and the ring -------------------------------------------------- */

static void E_40_dequeue_on_empty_keeps_the_output(struct kunit *test)
{
	struct evt *evt = test->priv;
	DAT_EVENT event, before;

	kdapl_clauses(test, "E-40");
	memset(&event, 0xa5, sizeof(event));
	memcpy(&before, &event, sizeof(event));
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_dequeue(handle_of(evt), &event)),
			DAT_QUEUE_EMPTY);
	KUNIT_EXPECT_MEMEQ(test, &event, &before, sizeof(event));
}

/* DAT reserves space for extensions in an event; kdapl never writes to it */
static void no_extension_is_reported(struct kunit *test)
{
	struct evt *evt = test->priv;
	DAT_EVENT event;
	u32 i;

	memset(&event, 0xa5, sizeof(event));
	evt_dto(evt, 1, true);
	KUNIT_ASSERT_TRUE(test, kdapl_evd_pop(&evt->evd, &event));
	for (i = 0; i < ARRAY_SIZE(event.event_extension_data); i++)
		KUNIT_EXPECT_EQ(test, event.event_extension_data[i], 0xa5a5a5a5a5a5a5a5ULL);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 2, true);
	evt_post_se(evt, 3);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 2);
	for (i = 0; i < ARRAY_SIZE(event.event_extension_data); i++) {
		KUNIT_EXPECT_EQ(test, evt->rec[0].event.event_extension_data[i], 0);
		KUNIT_EXPECT_EQ(test, evt->rec[1].event.event_extension_data[i], 0);
	}
}

static void dequeue_refuses_bad_arguments(struct kunit *test)
{
	unsigned long none = (unsigned long)KDAPL_HANDLE_TYPE_NONE << KDAPL_HANDLE_INDEX_BITS;
	struct evt *evt = test->priv;
	DAT_EVENT event;

	evt_post_se(evt, 1);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_dequeue(NULL, &event)), DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_dequeue(evt, &event)), DAT_INVALID_HANDLE);
	/* That of empty entries; entry 0 may be one of them */
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_dequeue((DAT_EVD_HANDLE)none, &event)),
			DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_dequeue(handle_of(evt), NULL)),
			DAT_INVALID_PARAMETER);
	/* The handle is checked before the argument, and no event was consumed */
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_dequeue(NULL, NULL)), DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 1);
}

static void events_come_out_in_order_whatever_their_kind(struct kunit *test)
{
	struct evt *evt = test->priv;
	DAT_EVENT event;
	u64 i;

	kdapl_clauses(test, "E-32 E-36");
	for (i = 1; i <= 10; i++) {
		if (i % 2)
			evt_dto(evt, i, i % 3);
		else
			evt_post_se(evt, i);
	}
	for (i = 1; i <= 10; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(handle_of(evt), &event), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, evt_value(&event), i);
		KUNIT_EXPECT_EQ(test, event.event_number,
				i % 2 ? DAT_DTO_COMPLETION_EVENT : DAT_SOFTWARE_EVENT);
		KUNIT_EXPECT_PTR_EQ(test, event.evd_handle, handle_of(evt));
	}
}

static void post_se_refuses_bad_arguments(struct kunit *test)
{
	struct evt *evt = test->priv;
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVENT wrong = { .event_number = DAT_DTO_COMPLETION_EVENT };

	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_post_se(NULL, &event)), DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_post_se(handle_of(evt), NULL)),
			DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_post_se(handle_of(evt), &wrong)),
			DAT_INVALID_PARAMETER);
	evt->evd.streams &= ~DAT_EVD_SOFTWARE_FLAG;
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_evd_post_se(handle_of(evt), &event)),
			DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
}

static void E_21_full_ring_refuses_software_events_and_no_others(struct kunit *test)
{
	struct evt *evt = test->priv;
	u64 i;

	kdapl_clauses(test, "E-20 E-21");
	for (i = 0; i < EVT_QLEN; i++)
		KUNIT_ASSERT_EQ(test, evt_post_se(evt, i), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(evt_post_se(evt, 999)), DAT_QUEUE_FULL);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(evt_post_se(evt, 999)), DAT_QUEUE_FULL);
	/* No overflow event: the caller gets an error */
	KUNIT_EXPECT_FALSE(test, evt->evd.overflowed);
	/* E-20: a completion needs no ring entry */
	evt_dto(evt, 1000, true);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 0);
	KUNIT_EXPECT_EQ(test, evt_post_se(evt, 1001), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(evt_post_se(evt, 999)), DAT_QUEUE_FULL);
	for (i = 1; i < EVT_QLEN; i++)
		KUNIT_EXPECT_EQ(test, evt_pop(evt), i);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 1000);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 1001);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
}

static void post_async(struct evt *evt, unsigned long handle)
{
	WRITE_ONCE(evt->caller, current);
	kdapl_evd_post_async(&evt->evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)handle,
			     DAT_EP_OTHER_ERROR);
	WRITE_ONCE(evt->caller, NULL);
}

static void fill_with_async(struct evt *evt)
{
	unsigned int i;

	for (i = 0; i < EVT_QLEN; i++)
		post_async(evt, i + 1);
}

/* Pops all events; returns the number of overflow events, whose contents it checks */
static unsigned int drain_async(struct kunit *test, struct evt *evt, unsigned int *others)
{
	unsigned int overflows = 0;
	DAT_EVENT event;

	*others = 0;
	while (kdapl_evd_pop(&evt->evd, &event)) {
		DAT_ASYNCH_ERROR_EVENT_DATA *data = &event.event_data.asynch_error_event_data;

		if (event.event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW) {
			overflows++;
			KUNIT_EXPECT_PTR_EQ(test, data->dat_handle, handle_of(evt));
			KUNIT_EXPECT_EQ(test, data->reason, DAT_EVD_OVERFLOW_ERROR);
			continue;
		}
		(*others)++;
		KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
		KUNIT_EXPECT_EQ(test, (unsigned long)data->dat_handle, *others);
		KUNIT_EXPECT_EQ(test, data->reason, DAT_EP_OTHER_ERROR);
	}
	return overflows;
}

static void E_23_async_overflow_is_reported_once(struct kunit *test)
{
	struct evt *evt = test->priv;
	unsigned int others;

	kdapl_clauses(test, "E-23 E-24");
	fill_with_async(evt);
	KUNIT_EXPECT_EQ(test, evt->evd.dropped, 0);
	post_async(evt, 5000);
	/* E-24: dropped and counted, without another event */
	post_async(evt, 5001);
	post_async(evt, 5002);
	KUNIT_EXPECT_EQ(test, evt->evd.dropped, 3);
	KUNIT_EXPECT_EQ(test, drain_async(test, evt, &others), 1);
	KUNIT_EXPECT_EQ(test, others, EVT_QLEN);
}

static void E_23_overflow_is_reported_again_after_an_empty_ring(struct kunit *test)
{
	struct evt *evt = test->priv;
	unsigned int others, i;
	DAT_EVENT event;

	kdapl_clauses(test, "E-23");
	fill_with_async(evt);
	post_async(evt, 5000);
	/* There is room again, but the ring was never empty: another overflow is not reported */
	KUNIT_EXPECT_TRUE(test, kdapl_evd_pop(&evt->evd, &event));
	post_async(evt, 1);
	post_async(evt, 5001);
	for (i = 0; i < EVT_QLEN + 1; i++)
		KUNIT_EXPECT_TRUE(test, kdapl_evd_pop(&evt->evd, &event));
	KUNIT_EXPECT_FALSE(test, kdapl_evd_pop(&evt->evd, &event));
	fill_with_async(evt);
	post_async(evt, 5002);
	KUNIT_EXPECT_EQ(test, drain_async(test, evt, &others), 1);
	KUNIT_EXPECT_EQ(test, others, EVT_QLEN);
}

/* The overflow event was dequeued, but not the events queued after it */
static void E_23_no_second_report_until_the_ring_was_empty(struct kunit *test)
{
	struct evt *evt = test->priv;
	unsigned int others, i;
	DAT_EVENT event;

	kdapl_clauses(test, "E-23 E-24");
	fill_with_async(evt);
	post_async(evt, 5000);
	KUNIT_EXPECT_TRUE(test, kdapl_evd_pop(&evt->evd, &event));
	post_async(evt, 1);
	for (i = 0; i < EVT_QLEN; i++)
		KUNIT_EXPECT_TRUE(test, kdapl_evd_pop(&evt->evd, &event));
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	for (i = 2; i <= EVT_QLEN; i++)
		post_async(evt, i);
	post_async(evt, 5001);
	KUNIT_EXPECT_EQ(test, evt->evd.dropped, 2);
	KUNIT_EXPECT_EQ(test, drain_async(test, evt, &others), 0);
	KUNIT_EXPECT_EQ(test, others, EVT_QLEN);
}

static void async_events_have_upcalls_from_the_workqueue(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-17");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	post_async(evt, 1);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_TRUE(test, evt->rec[0].deferred);
	KUNIT_EXPECT_EQ(test, evt->rec[0].event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
}

/* ---- taking back (C-36) ----------------------------------------------------- */

static void queue_of(struct evt *evt, unsigned int which, u64 cookie, bool notify)
{
	struct kdapl_slot *slot = evt_slot(evt, which, cookie, notify);

	if (slot)
		evt_done(evt, slot);
}

/* The event was pushed by a thread that saw upcalls disabled and has not checked again yet */
static void event_pushed_after_upcalls_were_enabled_is_counted(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct kdapl_slot *slot;

	evt_policy(evt, DAT_UPCALL_NOTIFY, DAT_UPCALL_INVOC_NEW);
	slot = evt_slot(evt, 0, 1, true);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	slot->ev.next = NULL;
	WRITE_ONCE(evt->evd.incoming, &slot->ev);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 1);
	/* A negative count would make the delivery owner take an event that does not exist */
	KUNIT_EXPECT_EQ(test, READ_ONCE(evt->evd.nnotify), 0);
}

/* To free many EPs of an EVD takes one pass over its queue, not one for each of them */
static void C_36_one_pass_removes_the_events_of_all_that_are_freed(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "C-36");
	queue_of(evt, 0, 1, true);
	queue_of(evt, 1, 2, true);
	evt_post_se(evt, 3);
	queue_of(evt, 1, 4, false);
	evt->ep[1]->dying = true;
	KUNIT_EXPECT_EQ(test, kdapl_evd_take_back(&evt->evd, evt->ep[0]), 3);
	KUNIT_EXPECT_EQ(test, kdapl_evd_count(&evt->evd, NULL), 1);
	KUNIT_EXPECT_EQ(test, kdapl_evd_take_back(&evt->evd, evt->ep[1]), 0);
}

static void C_36_removing_events_keeps_the_order_of_others(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "C-36");
	queue_of(evt, 0, 1, true);
	queue_of(evt, 1, 2, true);
	evt_post_se(evt, 3);
	queue_of(evt, 0, 4, false);
	queue_of(evt, 0, 5, true);
	queue_of(evt, 1, 6, false);
	queue_of(evt, 0, 7, true);
	KUNIT_EXPECT_EQ(test, kdapl_evd_take_back(&evt->evd, evt->ep[0]), 4);
	KUNIT_EXPECT_EQ(test, kdapl_evd_take_back(&evt->evd, evt->ep[0]), 0);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&evt->pool[0]), EVT_SLOTS);
	KUNIT_EXPECT_EQ(test, kdapl_evd_count(&evt->evd, NULL), 3);
	/* The tail is right: a new event comes last */
	queue_of(evt, 1, 8, true);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 2);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 3);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 6);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 8);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
}

static void C_36_queue_works_after_all_events_were_removed(struct kunit *test)
{
	struct evt *evt = test->priv;
	u64 i;

	kdapl_clauses(test, "C-36");
	for (i = 0; i < 5; i++)
		queue_of(evt, 0, i, true);
	KUNIT_EXPECT_EQ(test, kdapl_evd_take_back(&evt->evd, evt->ep[0]), 5);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), U64_MAX);
	/*
	 * No upcall is owed: INVOC_ANY finds nothing, and an event without notification
	 * causes none
	 */
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	queue_of(evt, 1, 10, false);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 0);
	queue_of(evt, 1, 11, true);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 2);
	KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[0].event), 10);
	KUNIT_EXPECT_EQ(test, evt_value(&evt->rec[1].event), 11);
}

/* ---- changes inside the upcall ------------------------------------------------ */

static void other_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct evt *evt = instance;

	evt->data++;
}

static void hook_replaces(struct evt *evt, const DAT_EVENT *event)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = evt, .upcall_func = other_upcall };

	kdapl_evd_modify(&evt->evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall, DAT_UPCALL_INVOC_ANY);
}

static void E_09_change_in_the_upcall_counts_from_the_next_one(struct kunit *test)
{
	struct evt *evt = test->priv;
	u64 i;

	kdapl_clauses(test, "E-09");
	evt->hook = hook_replaces;
	for (i = 1; i <= 4; i++)
		evt_dto(evt, i, true);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_EQ(test, evt->data, 3);
	/* The same on the fast path, with no event queued */
	evt_dto(evt, 5, true);
	KUNIT_EXPECT_EQ(test, evt->data, 4);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 6, true);
	evt_dto(evt, 7, true);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 2);
	KUNIT_EXPECT_EQ(test, evt->data, 5);
}

static void hook_disables(struct evt *evt, const DAT_EVENT *event)
{
	kdapl_evd_modify(&evt->evd, DAT_UPCALL_DISABLE, NULL, DAT_UPCALL_INVOC_NEW);
}

static void E_09_DISABLE_in_the_upcall_ends_the_delivery(struct kunit *test)
{
	struct evt *evt = test->priv;
	u64 i;

	kdapl_clauses(test, "E-09 E-04");
	evt->hook = hook_disables;
	for (i = 1; i <= 4; i++)
		evt_dto(evt, i, true);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 1);
	evt_dto(evt, 5, true);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 1);
	for (i = 2; i <= 5; i++)
		KUNIT_EXPECT_EQ(test, evt_pop(evt), i);
}

static void E_11_SAME_keeps_function_and_data(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "E-11");
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	KUNIT_EXPECT_EQ(test, kdapl_evd_modify(&evt->evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME,
					       DAT_UPCALL_INVOC_NEW), 0);
	evt_dto(evt, 1, true);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 0);
	KUNIT_EXPECT_EQ(test, kdapl_evd_modify(&evt->evd, DAT_UPCALL_SINGLE_INSTANCE,
					       DAT_UPCALL_SAME, DAT_UPCALL_INVOC_ANY), 0);
	evt_settle(evt);
	KUNIT_ASSERT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_PTR_EQ(test, evt->rec[0].instance, evt);
}

static void E_06_policy_without_function_is_refused(struct kunit *test)
{
	struct evt *evt = test->priv;
	DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;

	kdapl_clauses(test, "E-06");
	KUNIT_EXPECT_LT(test, kdapl_evd_modify(&evt->evd, DAT_UPCALL_SINGLE_INSTANCE, NULL,
					       DAT_UPCALL_INVOC_NEW), 0);
	KUNIT_EXPECT_LT(test, kdapl_evd_modify(&evt->evd, DAT_UPCALL_NOTIFY, &none,
					       DAT_UPCALL_INVOC_NEW), 0);
	KUNIT_EXPECT_EQ(test, kdapl_evd_modify(&evt->evd, DAT_UPCALL_DISABLE, &none,
					       DAT_UPCALL_INVOC_NEW), 0);
	evt_dto(evt, 1, true);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 1);
}

static void hook_in_upcall(struct evt *evt, const DAT_EVENT *event)
{
	evt->data += kdapl_in_upcall();
}

static void C_59_calls_in_the_upcall_are_detected(struct kunit *test)
{
	struct evt *evt = test->priv;

	kdapl_clauses(test, "C-59");
	evt->hook = hook_in_upcall;
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	evt_dto(evt, 1, true);
	evt_post_se(evt, 2);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt->data, 2);
	KUNIT_EXPECT_FALSE(test, kdapl_in_upcall());
}

/* ---- waiting for a running upcall (TEARDOWN, dat_ep_free) ---------------------- */

static int linger_cpu;

/* Keeps the upcall running until the test ends it */
static void hook_lingers(struct evt *evt, const DAT_EVENT *event)
{
	WRITE_ONCE(linger_cpu, raw_smp_processor_id());
	kdapl_spin_until(READ_ONCE(evt->data), cpu_relax());
}

/* Uses no timer, because on RT no timer expires on a CPU while an upcall runs there */
#define LINGER_WAIT(cond)	kdapl_spin_until(cond, ({ cpu_relax(); cond_resched(); }))

struct waiter {
	struct evt *evt;
	struct kdapl_ep *ep;
	bool begun, over;
};

static int wait_thread(void *data)
{
	struct waiter *w = data;

	WRITE_ONCE(w->begun, true);
	if (w->ep)
		kdapl_evd_wait_ep(&w->evt->evd, w->ep);
	else
		kdapl_evd_wait_idle(&w->evt->evd);
	WRITE_ONCE(w->over, true);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/*
 * When this returns, a deferred upcall for @slot is running on another CPU. It must be
 * another CPU because on RT a thread that turns bottom halves off, as a completion does,
 * waits for the upcall on its CPU.
 */
static bool start_lingering(struct evt *evt, struct kdapl_slot *slot)
{
	evt->hook = hook_lingers;
	WRITE_ONCE(linger_cpu, -1);
	evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_NEW);
	kdapl_evd_queue(&evt->evd, &slot->ev, false);
	return LINGER_WAIT(READ_ONCE(linger_cpu) >= 0) &&
	       !set_cpus_allowed_ptr(current, cpumask_of(cpumask_any_but(cpu_online_mask,
									 linger_cpu)));
}

static struct task_struct *start_waiter(struct kunit *test, struct waiter *w)
{
	struct task_struct *thread = kthread_run(wait_thread, w, "kdapl_test_wait");
	u64 end;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread);
	KUNIT_EXPECT_TRUE(test, LINGER_WAIT(READ_ONCE(w->begun)));
	/* Leave time for the thread to return too early */
	for (end = ktime_get_ns() + 30 * NSEC_PER_MSEC; ktime_get_ns() < end;)
		cond_resched();
	return thread;
}

static bool soon(bool *flag)
{
	return LINGER_WAIT(READ_ONCE(*flag));
}

static void E_05_TEARDOWN_waits_for_the_running_upcall(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct waiter w = { .evt = evt };
	struct task_struct *thread;

	kdapl_clauses(test, "E-05");
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_TRUE(test, start_lingering(evt, evt_slot(evt, 0, 1, true)));
	evt_dto(evt, 2, true);
	kdapl_evd_modify(&evt->evd, DAT_UPCALL_TEARDOWN, NULL, DAT_UPCALL_INVOC_NEW);
	thread = start_waiter(test, &w);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(w.over));
	WRITE_ONCE(evt->data, 1);
	KUNIT_EXPECT_TRUE(test, soon(&w.over));
	KUNIT_EXPECT_EQ(test, atomic_read(&evt->inside), 0);
	kthread_stop(thread);
	/* No upcall runs after TEARDOWN, neither for queued nor for new events */
	evt_dto(evt, 3, true);
	evt_settle(evt);
	KUNIT_EXPECT_EQ(test, evt_calls(evt), 1);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 2);
	KUNIT_EXPECT_EQ(test, evt_pop(evt), 3);
}

static void C_36_ep_free_waits_for_an_upcall_with_its_event(struct kunit *test)
{
	struct evt *evt = test->priv;
	struct waiter w = { .evt = evt, .ep = evt->ep[0] };
	struct task_struct *thread;

	kdapl_clauses(test, "C-36");
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_TRUE(test, start_lingering(evt, evt_slot(evt, 0, 1, true)));
	/* Freeing the other endpoint does not wait */
	kdapl_evd_wait_ep(&evt->evd, evt->ep[1]);
	KUNIT_EXPECT_EQ(test, atomic_read(&evt->inside), 1);
	thread = start_waiter(test, &w);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(w.over));
	WRITE_ONCE(evt->data, 1);
	KUNIT_EXPECT_TRUE(test, soon(&w.over));
	kthread_stop(thread);
}

static void DISABLE_lets_no_upcall_start_after_it_returned(struct kunit *test)
{
	struct evt *evt = test->priv;
	unsigned int round, calls;

	kdapl_clauses(test, "E-04");
	for (round = 0; round < 50; round++) {
		evt_policy(evt, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_INVOC_ANY);
		evt_post_se(evt, round);
		kdapl_evd_modify(&evt->evd, DAT_UPCALL_DISABLE, NULL, DAT_UPCALL_INVOC_NEW);
		kdapl_evd_wait_idle(&evt->evd);
		calls = evt_calls(evt);
		evt_dto(evt, round, true);
		flush_work(&evt->evd.work);
		KUNIT_EXPECT_EQ(test, evt_calls(evt), calls);
		while (evt_pop(evt) != U64_MAX)
			;
	}
}

static struct kunit_case evd_cases[] = {
	KUNIT_CASE(E_40_dequeue_on_empty_keeps_the_output),
	KUNIT_CASE(no_extension_is_reported),
	KUNIT_CASE(dequeue_refuses_bad_arguments),
	KUNIT_CASE(events_come_out_in_order_whatever_their_kind),
	KUNIT_CASE(post_se_refuses_bad_arguments),
	KUNIT_CASE(E_21_full_ring_refuses_software_events_and_no_others),
	KUNIT_CASE(E_23_async_overflow_is_reported_once),
	KUNIT_CASE(E_23_overflow_is_reported_again_after_an_empty_ring),
	KUNIT_CASE(E_23_no_second_report_until_the_ring_was_empty),
	KUNIT_CASE(async_events_have_upcalls_from_the_workqueue),
	KUNIT_CASE(event_pushed_after_upcalls_were_enabled_is_counted),
	KUNIT_CASE(C_36_one_pass_removes_the_events_of_all_that_are_freed),
	KUNIT_CASE(C_36_removing_events_keeps_the_order_of_others),
	KUNIT_CASE(C_36_queue_works_after_all_events_were_removed),
	KUNIT_CASE(E_09_change_in_the_upcall_counts_from_the_next_one),
	KUNIT_CASE(E_09_DISABLE_in_the_upcall_ends_the_delivery),
	KUNIT_CASE(E_11_SAME_keeps_function_and_data),
	KUNIT_CASE(E_06_policy_without_function_is_refused),
	KUNIT_CASE(C_59_calls_in_the_upcall_are_detected),
	KUNIT_CASE(E_05_TEARDOWN_waits_for_the_running_upcall),
	KUNIT_CASE(C_36_ep_free_waits_for_an_upcall_with_its_event),
	KUNIT_CASE(DISABLE_lets_no_upcall_start_after_it_returned),
	{}
};

static struct kunit_suite evd_suite = {
	.name = "kdapl_evd",
	.init = evt_init,
	.exit = evt_exit,
	.test_cases = evd_cases,
};

kunit_test_suite(evd_suite);
