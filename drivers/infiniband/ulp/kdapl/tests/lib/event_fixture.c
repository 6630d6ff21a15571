// SPDX-License-Identifier: GPL-2.0
/*
 * Fixture of the suites about event queues, see event_kunit.h. Runs in process context,
 * except the recording upcall.
 */
#include <linux/vmalloc.h>
#include "event_kunit.h"
#include "nap.h"

static void no_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

int evt_init(struct kunit *test)
{
	struct evt *evt = vzalloc(sizeof(*evt));
	unsigned int i;
	int err;

	if (!evt)
		return -ENOMEM;
	test->priv = evt;
	for (i = 0; i < ARRAY_SIZE(evt->ep); i++) {
		evt->ep[i] = kunit_kzalloc(test, sizeof(*evt->ep[i]), GFP_KERNEL);
		if (!evt->ep[i])
			return -ENOMEM;
		evt->ep[i]->obj.handle = 0xe900 + i;
		spin_lock_init(&evt->ep[i]->lock);
		err = kdapl_pool_init(&evt->pool[i], EVT_SLOTS, no_done, evt->ep[i], false,
				      NUMA_NO_NODE);
		if (err)
			return err;
	}
	err = kdapl_obj_init(&evt->evd.obj, DAT_HANDLE_TYPE_EVD, NULL);
	if (err)
		return err;
	err = kdapl_evd_setup(&evt->evd, EVT_QLEN, DAT_UPCALL_DISABLE, NULL);
	if (err) {
		kdapl_obj_exit(&evt->evd.obj);
		return err;
	}
	kdapl_evd_work_init(&evt->evd);
	evt->evd.streams = DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_ASYNC_FLAG;
	kdapl_obj_publish(&evt->evd.obj);
	return 0;
}

void evt_exit(struct kunit *test)
{
	struct evt *evt = test->priv;
	unsigned int i;

	if (!evt)
		return;
	if (evt->evd.ring) {
		kdapl_evd_modify(&evt->evd, DAT_UPCALL_DISABLE, NULL, DAT_UPCALL_INVOC_NEW);
		kdapl_evd_wait_idle(&evt->evd);
		kdapl_evd_work_exit(&evt->evd);
		kdapl_obj_unpublish(&evt->evd.obj);
		synchronize_rcu();
		while (evt_pop(evt) != U64_MAX)
			;
		kdapl_evd_cleanup(&evt->evd);
	}
	for (i = 0; i < ARRAY_SIZE(evt->ep); i++) {
		/* When no event is queued, every slot must be free again */
		if (evt->ep[i])
			KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&evt->pool[i]), EVT_SLOTS);
		kdapl_pool_exit(&evt->pool[i]);
	}
	KUNIT_EXPECT_LE(test, atomic_read(&evt->max_inside), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&evt->on_stack), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&evt->bh_on), 0);
	vfree(evt);
}

void evt_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct evt *evt = instance;
	struct evt_record *rec;
	int inside, max, n;

	inside = atomic_inc_return(&evt->inside);
	max = atomic_read(&evt->max_inside);
	if (inside > max)
		atomic_set(&evt->max_inside, inside);
	if (READ_ONCE(evt->caller) == current && !in_serving_softirq())
		atomic_inc(&evt->on_stack);
	/* Check every upcall, also those not recorded: bottom halves are off in each (E-07) */
	if (!in_softirq())
		atomic_inc(&evt->bh_on);

	n = atomic_inc_return(&evt->n) - 1;
	if (n < EVT_RECORDS) {
		rec = &evt->rec[n];
		rec->null = !event;
		if (event)
			rec->event = *event;
		rec->instance = instance;
		rec->more = more;
		rec->bh_off = softirq_count() != 0;
		rec->deferred = current->flags & PF_WQ_WORKER;
	}
	if (evt->hook)
		evt->hook(evt, event);
	atomic_dec(&evt->inside);
}

void evt_policy(struct evt *evt, DAT_UPCALL_POLICY policy, DAT_UPCALL_FLAG flag)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = evt, .upcall_func = evt_upcall };

	WRITE_ONCE(evt->caller, current);
	kdapl_evd_modify(&evt->evd, policy, &upcall, flag);
	WRITE_ONCE(evt->caller, NULL);
}

struct kdapl_slot *evt_slot(struct evt *evt, unsigned int which, u64 cookie, bool notify)
{
	struct kdapl_slot *slot = kdapl_pool_get(&evt->pool[which]);

	if (!slot)
		return NULL;
	slot->ev.state = KDAPL_SLOT_DONE;
	slot->dto.cookie = cookie;
	slot->ev.notify = notify;
	slot->dto.status = DAT_DTO_SUCCESS;
	slot->dto.op = DAT_DTO_SEND;
	slot->dto.length = 77;
	return slot;
}

void evt_done(struct evt *evt, struct kdapl_slot *slot)
{
	local_bh_disable();
	if (slot->ev.notify)
		kdapl_evd_complete(&evt->evd, slot);
	else
		kdapl_evd_queue(&evt->evd, &slot->ev, true);
	local_bh_enable();
}

void evt_dto(struct evt *evt, u64 cookie, bool notify)
{
	struct kdapl_slot *slot = evt_slot(evt, 0, cookie, notify);

	if (slot)
		evt_done(evt, slot);
}

DAT_RETURN evt_post_se(struct evt *evt, u64 value)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_RETURN ret;

	event.event_data.software_event_data.pointer = (void *)(unsigned long)value;
	WRITE_ONCE(evt->caller, current);
	ret = dat_evd_post_se(kdapl_obj_handle(&evt->evd.obj), &event);
	WRITE_ONCE(evt->caller, NULL);
	return ret;
}

void evt_settle(struct evt *evt)
{
	unsigned int i;

	for (i = 0; i < 5000; i++) {
		flush_work(&evt->evd.work);
		if (!(atomic_read(&evt->evd.state) & KDAPL_EVD_OWNED) &&
		    !work_busy(&evt->evd.work))
			return;
		kdapl_nap(200, 400);
	}
}

u64 evt_pop(struct evt *evt)
{
	DAT_EVENT event;

	if (!kdapl_evd_pop(&evt->evd, &event))
		return U64_MAX;
	return evt_value(&event);
}
