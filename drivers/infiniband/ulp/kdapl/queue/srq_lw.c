// SPDX-License-Identifier: GPL-2.0
/*
 * The low watermark of a shared receive queue (dat_srq_set_lw), and the events
 * that a device raises about an SRQ, including its failure.
 *
 * Each arming of the mark raises at most one asynchronous event. It is raised by whichever
 * of these first notices that fewer buffers are available than the mark:
 *
 * - the device, when a message arrives. Its handler is called in softirq or with locks of
 *   the driver held, so it only sets a bit for the work item;
 * - the call that arms the mark. Some devices (rxe) check the number of buffers only when a
 *   message uses one, and would raise nothing if it was low already;
 * - the work item, which checks repeatedly while the mark is armed. A message that had used
 *   its buffer when the mark was armed, and whose completion was not handled yet, was counted
 *   neither by the device nor by the call; and no other message may follow it.
 *
 * A buffer is available until its completion is handled, so kDAPL's count is never lower than
 * that of the device, and no event is raised too early. The device does not report which mark
 * it has reached, and its event may be late. If kDAPL's count does not confirm it, the device
 * is queried, because it clears a mark when it raises the event: a mark that is still set was
 * not reached, and the event concerned an earlier one. If a device reports a mark as set
 * although it has raised the event, the work item still notices it by kDAPL's count.
 *
 * Consumers call this in process context; the work item also runs there. srq->mutex guards the
 * armed mark.
 */
#include <linux/export.h>
#include <linux/sched/mm.h>
#include "event/event.h"
#include "internal.h"

/* Interval of the checks of an armed mark */
#define KDAPL_SRQ_LW_CHECK_MS	500

static bool kdapl_srq_is_low(const struct kdapl_srq *srq)
{
	return kdapl_srq_count(srq, KDAPL_SLOT_POSTED) < srq->low_watermark;
}

static void kdapl_srq_lw_fire(struct kdapl_srq *srq)
{
	lockdep_assert_held(&srq->mutex);
	srq->lw_armed = false;
	/* There is no event number for SRQs; handle and reason identify the event */
	kdapl_ia_async(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
		       kdapl_obj_handle(&srq->obj), DAT_SRQ_LOW_WATERMARK_EVENT);
}

/*
 * The device no longer uses the buffers of this SRQ, nor reports how many are left. Raises
 * one event.
 */
static void kdapl_srq_fail(struct kdapl_srq *srq)
{
	lockdep_assert_held(&srq->mutex);
	if (READ_ONCE(srq->state) == DAT_SRQ_STATE_ERROR)
		return;
	WRITE_ONCE(srq->state, DAT_SRQ_STATE_ERROR);
	srq->lw_armed = false;
	kdapl_ia_async(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
		       kdapl_obj_handle(&srq->obj), DAT_SRQ_TRANSFER_TO_ERROR);
}

/* Returns true if an event of the device concerns the armed mark, or if that is unknown */
static bool kdapl_srq_lw_event_is_current(struct kdapl_srq *srq)
{
	struct ib_srq *ibsrq = rcu_dereference_protected(srq->srq, lockdep_is_held(&srq->mutex));
	struct ib_srq_attr attr = { };

	if (kdapl_srq_is_low(srq) || !ibsrq || ib_query_srq(ibsrq, &attr))
		return true;
	return !attr.srq_limit;
}

/* Handles an event of the device, if it concerns the armed mark */
static void kdapl_srq_lw_handle_event(struct kdapl_srq *srq)
{
	lockdep_assert_held(&srq->mutex);
	/* Clear the bit first, so that a later event is handled again */
	if (test_and_clear_bit(0, &srq->lw_reached) && srq->lw_armed &&
	    kdapl_srq_lw_event_is_current(srq))
		kdapl_srq_lw_fire(srq);
}

/* Handles an event of the device, and checks the mark. Process context, kdapl_wq */
void kdapl_srq_lw_work(struct work_struct *work)
{
	struct kdapl_srq *srq = container_of(to_delayed_work(work), struct kdapl_srq, lw_work);
	/* Reclaim may wait for a Consumer that needs this work */
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&srq->mutex);
	kdapl_srq_lw_handle_event(srq);
	if (test_and_clear_bit(0, &srq->failed))
		kdapl_srq_fail(srq);
	if (srq->lw_armed && kdapl_srq_is_low(srq))
		kdapl_srq_lw_fire(srq);
	if (srq->lw_armed)
		queue_delayed_work(kdapl_wq, &srq->lw_work,
				   kdapl_timeout_ms(KDAPL_SRQ_LW_CHECK_MS));
	mutex_unlock(&srq->mutex);
	memalloc_noio_restore(noio);
}

/*
 * Event handler of a verbs SRQ. Not called any more after the verbs SRQ was destroyed. Any context.
 */
void kdapl_srq_event(struct ib_event *event, void *context)
{
	struct kdapl_srq *srq = context;

	switch (event->event) {
	case IB_EVENT_SRQ_LIMIT_REACHED:
		set_bit(0, &srq->lw_reached);
		break;
	case IB_EVENT_SRQ_ERR:
		set_bit(0, &srq->failed);
		break;
	default:
		return;
	}
	mod_delayed_work(kdapl_wq, &srq->lw_work, 0);
}

static int kdapl_srq_limit(struct kdapl_srq *srq, u32 limit)
{
	struct ib_srq_attr attr = { .srq_limit = limit };

	/* kdapl_ia_enter() delays device removal, so the SRQ of the device is not destroyed */
	return ib_modify_srq(rcu_dereference_protected(srq->srq, 1), &attr, IB_SRQ_LIMIT);
}

/* The device cannot be removed meanwhile */
static DAT_RETURN kdapl_srq_arm(struct kdapl_srq *srq, u32 mark)
{
	int err;

	lockdep_assert_held(&srq->mutex);
	kdapl_srq_lw_handle_event(srq);
	err = kdapl_srq_limit(srq, mark);
	if (err == -EOPNOTSUPP)
		return KDAPL_UNSUPPORTED;
	if (err)
		return KDAPL_ERROR(INTERNAL_ERROR);
	WRITE_ONCE(srq->low_watermark, mark);
	srq->lw_armed = mark;
	/* After the device was armed, so that one of the two notices an arrival in between */
	if (kdapl_srq_is_low(srq)) {
		kdapl_srq_lw_fire(srq);
		/* Raise one event only. If the device refuses, its own event finds nothing armed */
		kdapl_srq_limit(srq, 0);
	}
	/* Does not delay work that an event of the device queued */
	if (srq->lw_armed)
		queue_delayed_work(kdapl_wq, &srq->lw_work,
				   kdapl_timeout_ms(KDAPL_SRQ_LW_CHECK_MS));
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_srq_set_lw(struct kdapl_srq *srq, DAT_COUNT mark)
{
	struct kdapl_ia *ia = srq->obj.ia;
	/* False for an orphaned IA, and for one that is being closed together with the SRQ */
	bool there = kdapl_ia_enter(ia);
	DAT_RETURN ret;

	mutex_lock(&srq->mutex);
	/* Under the mutex, because dat_srq_resize() compares its size with the mark */
	if (mark < 0 || (u32)mark > srq->depth)
		ret = KDAPL_BAD_ARG(2);
	else if (!there || READ_ONCE(srq->state) == DAT_SRQ_STATE_ERROR)
		ret = KDAPL_BAD_STATE(SRQ_ERROR);
	else
		ret = kdapl_srq_arm(srq, mark);
	mutex_unlock(&srq->mutex);
	if (there)
		kdapl_ia_leave(ia);
	return ret;
}

/**
 * dat_srq_set_lw - arm the low watermark of an SRQ
 * @srq_handle:    the SRQ
 * @low_watermark: raise an event when fewer buffers than this are available; 0: never
 *
 * The event is asynchronous, with the SRQ as dat_handle and the reason DAT_SRQ_LOW_WATERMARK_EVENT;
 * its number is DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, because no other number exists for it. It
 * is raised at once if fewer buffers are available already. It is raised once; then the mark must
 * be set again. Another call replaces the armed mark. dat_srq_query() returns the mark that was set
 * last. In the manual page of DAT the comparison is reversed.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @srq_handle is not the handle of an SRQ
 * * DAT_INVALID_PARAMETER - @low_watermark is negative or greater than max_recv_dtos
 * * DAT_INVALID_STATE - the SRQ is in ERROR, because it failed or its device was removed
 * * DAT_MODEL_NOT_SUPPORTED - the device has no such mark
 * * DAT_INTERNAL_ERROR - the device refused it; the previous mark is still armed
 */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	struct kdapl_obj *obj = kdapl_obj_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_BAD_HANDLE(SRQ);
	ret = kdapl_srq_set_lw(to_kdapl_srq(obj), low_watermark);
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_set_lw);
