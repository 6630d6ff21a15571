// SPDX-License-Identifier: GPL-2.0
/*
 * The Consumer's polls of an EVD in poll context.
 *
 * Owns kdat_evd_poll(), which runs the done callbacks of the CQs of an EVD and the upcalls
 * for the events, and kdat_evd_arm(), after which the Consumer can wait. Called by Consumers in
 * process context or softirq.
 */
#include <linux/bottom_half.h>
#include <linux/export.h>
#include "evd_queue.h"

/* Limits how long a poll keeps bottom halves off */
#define KDAPL_EVD_POLL_MAX	1024

/* Acquires the ownership of an EVD that has a function to call, if it is free */
static bool kdapl_evd_claim(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool mine = false;

	spin_lock_irqsave(&evd->lock, flags);
	/* A Consumer that polls neither waits for an upcall nor leaves one to the work item */
	evd->armed = false;
	evd->deliver = false;
	if (kdapl_evd_wants_upcall(evd))
		mine = !(atomic_fetch_or_acquire(KDAPL_EVD_OWNED, &evd->state) & KDAPL_EVD_OWNED);
	if (mine)
		atomic_or(KDAPL_EVD_POLLING, &evd->state);
	spin_unlock_irqrestore(&evd->lock, flags);
	return mine;
}

/* In a read section, with bottom halves off */
static DAT_RETURN kdapl_evd_poll(DAT_EVD_HANDLE evd_handle, DAT_COUNT max, DAT_COUNT *count)
{
	struct kdapl_obj *obj = kdapl_obj_lookup(evd_handle, DAT_HANDLE_TYPE_EVD);
	struct kdapl_evd *evd;
	bool mine;

	if (!obj)
		return KDAPL_ERROR(INVALID_HANDLE);
	evd = to_kdapl_evd(obj);
	if (max <= 0)
		return KDAPL_BAD_ARG(2);
	if (!count)
		return KDAPL_BAD_ARG(3);
	if (evd->context != KDAPL_CONTEXT_POLL)
		return KDAPL_BAD_STATE(EVD_CONFIG_NOTIFY);
	WRITE_ONCE(evd->polled, jiffies);
	/* First, so that nobody else delivers the events that are queued now */
	mine = kdapl_evd_claim(evd);
	*count = kdapl_evd_poll_cqs(evd, min(max, KDAPL_EVD_POLL_MAX));
	/* The previous owner may have left before it saw these events */
	if (mine || kdapl_evd_claim(evd))
		kdapl_evd_deliver(evd, *count + KDAPL_EVD_BUDGET);
	return DAT_SUCCESS;
}

/**
 * kdat_evd_poll - handle completions of the EPs of an EVD in poll context
 * @evd_handle: EVD that was created with KDAT_EVD_POLL_FLAG
 * @max:        the largest number of completions to handle; more than 1,024 count as 1,024
 * @count:      receives the number of completions that were handled
 *
 * Serves the EPs in turn, and the next call continues after the last one. If the EVD has an upcall,
 * it is called for each event, also for those that did not come from a CQ, before this call
 * returns, on the caller's stack, with bottom halves off. more_events tells whether further events
 * of the same poll follow. If another CPU is running upcalls of the EVD, it delivers these events,
 * or a later poll does. Without an upcall the events wait for dat_evd_dequeue().
 *
 * Context: process or softirq, with interrupts on; never sleeps. The caller holds no lock that
 * an upcall of the EVD takes. In an upcall of the same EVD the events are delivered after it
 * has returned.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @evd_handle is not the handle of an EVD
 * * DAT_INVALID_PARAMETER - @max is not positive; @count is NULL
 * * DAT_INVALID_STATE - EVD_CONFIG_NOTIFY: the EVD was created without KDAT_EVD_POLL_FLAG
 */
DAT_RETURN kdat_evd_poll(DAT_EVD_HANDLE evd_handle, DAT_COUNT max, DAT_COUNT *count)
{
	DAT_RETURN ret;

	/* A task that is preempted while it owns the EVD could keep others from delivering */
	local_bh_disable();
	rcu_read_lock();
	ret = kdapl_evd_poll(evd_handle, max, count);
	rcu_read_unlock();
	local_bh_enable();
	return ret;
}
EXPORT_SYMBOL_GPL(kdat_evd_poll);

/* From now on a queued event, or a completion, starts the work item. False: one is waiting */
static bool kdapl_evd_set_armed(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool armed;

	spin_lock_irqsave(&evd->lock, flags);
	kdapl_evd_gather(evd);
	armed = !kdapl_evd_upcall_due(evd);
	evd->armed = armed;
	spin_unlock_irqrestore(&evd->lock, flags);
	return armed;
}

static void kdapl_evd_disarm(struct kdapl_evd *evd)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	evd->armed = false;
	spin_unlock_irqrestore(&evd->lock, flags);
}

/* In a read section */
static DAT_RETURN kdapl_evd_arm(DAT_EVD_HANDLE evd_handle, DAT_BOOLEAN *again)
{
	struct kdapl_obj *obj = kdapl_obj_lookup(evd_handle, DAT_HANDLE_TYPE_EVD);
	struct kdapl_evd *evd;

	if (!obj)
		return KDAPL_ERROR(INVALID_HANDLE);
	evd = to_kdapl_evd(obj);
	if (!again)
		return KDAPL_BAD_ARG(2);
	if (evd->context != KDAPL_CONTEXT_POLL ||
	    atomic_read(&evd->state) & KDAPL_EVD_NO_UPCALLS)
		return KDAPL_BAD_STATE(EVD_CONFIG_NOTIFY);
	*again = DAT_FALSE;
	if (!kdapl_evd_set_armed(evd)) {
		*again = DAT_TRUE;
	} else if (kdapl_evd_arm_all(evd)) {
		kdapl_evd_disarm(evd);
		*again = DAT_TRUE;
	}
	return DAT_SUCCESS;
}

/**
 * kdat_evd_arm - let the next event of an EVD in poll context lead to an upcall
 * @evd_handle: EVD that was created with KDAT_EVD_POLL_FLAG, and has an upcall
 * @again:      receives DAT_TRUE if there may be an event already: then the Consumer polls
 *              again instead of waiting
 *
 * For a Consumer that polls while it is busy and sleeps while it is idle. When the next event is
 * queued, or the next completion arrives, a work item polls the CQ and runs upcalls, with bottom
 * halves off, for at most 64 of the events queued by then. This happens once: after that, the
 * Consumer polls or arms the EVD again. A poll disarms the EVD. With DAT_UPCALL_NOTIFY, events that
 * an earlier upcall announced do not prevent arming, so the Consumer must dequeue them first.
 *
 * Context: process or softirq, with interrupts on; never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @evd_handle is not the handle of an EVD
 * * DAT_INVALID_PARAMETER - @again is NULL
 * * DAT_INVALID_STATE - EVD_CONFIG_NOTIFY: the EVD was created without KDAT_EVD_POLL_FLAG, or
 *   its upcalls are disabled
 */
DAT_RETURN kdat_evd_arm(DAT_EVD_HANDLE evd_handle, DAT_BOOLEAN *again)
{
	DAT_RETURN ret;

	rcu_read_lock();
	ret = kdapl_evd_arm(evd_handle, again);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(kdat_evd_arm);
