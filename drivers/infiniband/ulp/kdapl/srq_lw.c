// SPDX-License-Identifier: GPL-2.0
/*
 * The low watermark of a shared receive queue (dat_srq_set_lw), and the events
 * that a device raises about an SRQ, including its failure.
 *
 * One arming raises one asynchronous event, whoever notices first that fewer
 * buffers are available than the mark:
 *
 * - the device, at an arrival. Its handler is called in softirq or under locks
 *   of the driver, so it leaves a note to the work item;
 * - the call that arms. Some devices (rxe) look at the fill only when a message
 *   takes a buffer, and would keep silent if it was low already;
 * - the work item, which looks again while the mark is armed. A message that
 *   had taken its buffer when the mark was armed, and whose completion had not
 *   been seen, was counted by neither; and none may follow it.
 *
 * A buffer is available while its completion has not been seen, so that our
 * count is never lower than the device's: it raises no event too early. A note
 * of the device does not say which mark it is about, and may be late: where our
 * count does not bear it out the device is asked, which forgets a mark when it
 * raises its event. One that is said to be set has not been reached; the note
 * was about another. Should a device tell that of a mark it has spoken of, the
 * work item still sees it in our count.
 *
 * Consumers call in process context; so works the item. srq->mutex guards what
 * is armed.
 */
#include <linux/export.h>
#include <linux/sched/mm.h>
#include "kdapl.h"

/* Between two looks at an armed mark */
#define KDAPL_SRQ_LW_LOOK_MS	500

static bool kdapl_srq_is_low(const struct kdapl_srq *srq)
{
	return kdapl_srq_count(srq, KDAPL_SLOT_POSTED) < srq->low_watermark;
}

static void kdapl_srq_lw_fire(struct kdapl_srq *srq)
{
	lockdep_assert_held(&srq->mutex);
	srq->lw_armed = false;
	/* Numbers of events name no SRQ; handle and reason say what it is about */
	kdapl_ia_async(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
		       kdapl_obj_handle(&srq->obj), DAT_SRQ_LOW_WATERMARK_EVENT);
}

/*
 * The device no longer uses the buffers of this SRQ, nor reports how many are left.
 * Tells the Consumer once.
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

/* Is a note of the device about the mark that is armed? In doubt it is */
static bool kdapl_srq_lw_meant(struct kdapl_srq *srq)
{
	struct ib_srq *ibsrq = rcu_dereference_protected(srq->srq, lockdep_is_held(&srq->mutex));
	struct ib_srq_attr attr = { };

	if (kdapl_srq_is_low(srq) || !ibsrq || ib_query_srq(ibsrq, &attr))
		return true;
	return !attr.srq_limit;
}

/* What the device has noted, if it is about the mark that is armed */
static void kdapl_srq_lw_settle(struct kdapl_srq *srq)
{
	lockdep_assert_held(&srq->mutex);
	/* The note first: another that comes meanwhile is looked at after this one */
	if (test_and_clear_bit(0, &srq->lw_reached) && srq->lw_armed && kdapl_srq_lw_meant(srq))
		kdapl_srq_lw_fire(srq);
}

/**
 * kdapl_srq_lw_work - the device has left a note, or it is time to look
 * @work: kdapl_srq.lw_work
 *
 * Context: process, kdapl_wq.
 */
void kdapl_srq_lw_work(struct work_struct *work)
{
	struct kdapl_srq *srq = container_of(to_delayed_work(work), struct kdapl_srq, lw_work);
	/* A Consumer that writes pages out may wait for it */
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&srq->mutex);
	kdapl_srq_lw_settle(srq);
	if (test_and_clear_bit(0, &srq->failed))
		kdapl_srq_fail(srq);
	if (srq->lw_armed && kdapl_srq_is_low(srq))
		kdapl_srq_lw_fire(srq);
	if (srq->lw_armed)
		queue_delayed_work(kdapl_wq, &srq->lw_work,
				   kdapl_timeout_ms(KDAPL_SRQ_LW_LOOK_MS));
	mutex_unlock(&srq->mutex);
	memalloc_noio_restore(noio);
}

/**
 * kdapl_srq_event - the device speaks of an SRQ
 * @event:   what happened
 * @context: the SRQ
 *
 * Not called any more once the verbs SRQ is destroyed.
 *
 * Context: any.
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

	/* The device is held by kdapl_ia_enter(), and the SRQ goes before it */
	return ib_modify_srq(rcu_dereference_protected(srq->srq, 1), &attr, IB_SRQ_LIMIT);
}

/* The device is there, and stays */
static DAT_RETURN kdapl_srq_arm(struct kdapl_srq *srq, u32 mark)
{
	int err;

	lockdep_assert_held(&srq->mutex);
	kdapl_srq_lw_settle(srq);
	err = kdapl_srq_limit(srq, mark);
	if (err == -EOPNOTSUPP)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (err)
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	WRITE_ONCE(srq->low_watermark, mark);
	srq->lw_armed = mark;
	/* Behind the device's arming: an arrival in between is seen by one of the two */
	if (kdapl_srq_is_low(srq)) {
		kdapl_srq_lw_fire(srq);
		/* Once is enough; should it refuse, its note finds nothing armed */
		kdapl_srq_limit(srq, 0);
	}
	/* No earlier than a note of the device wants it: that is due at once */
	if (srq->lw_armed)
		queue_delayed_work(kdapl_wq, &srq->lw_work,
				   kdapl_timeout_ms(KDAPL_SRQ_LW_LOOK_MS));
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_srq_set_lw(struct kdapl_srq *srq, DAT_COUNT mark)
{
	struct kdapl_ia *ia = srq->obj.ia;
	/* Not a shell, nor an IA that is being closed, which takes the SRQ along */
	bool there = kdapl_ia_enter(ia);
	DAT_RETURN ret;

	mutex_lock(&srq->mutex);
	/* Under the mutex: dat_srq_resize() compares the other way round */
	if (mark < 0 || (u32)mark > srq->depth)
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	else if (!there || READ_ONCE(srq->state) == DAT_SRQ_STATE_ERROR)
		ret = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR);
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
 * @low_watermark: an event when fewer buffers than this are available; 0: none
 *
 * The event is asynchronous, with the SRQ as dat_handle and the reason
 * DAT_SRQ_LOW_WATERMARK_EVENT; its number is
 * DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, as no number stands for it. It is
 * raised at once if fewer are available already, and once: then the mark has to
 * be set again. A further call replaces what is armed. dat_srq_query() goes on
 * telling the mark that was set last.
 *
 * Source: kDAPL 2.0; manual page dat_srq_set_lw(3DAT), whose comparison is the
 * wrong way round.
 *
 * Context: process (class P), not from an upcall.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @srq_handle names no SRQ
 * * DAT_INVALID_PARAMETER - @low_watermark negative or above max_recv_dtos
 * * DAT_INVALID_STATE - the SRQ is in ERROR: its device is gone
 * * DAT_MODEL_NOT_SUPPORTED - the device has no such mark
 * * DAT_INTERNAL_ERROR - the device refused it; what was armed is armed still
 */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	struct kdapl_obj *obj;
	DAT_RETURN ret;

	obj = kdapl_obj_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	ret = kdapl_srq_set_lw(to_kdapl_srq(obj), low_watermark);
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_set_lw);
