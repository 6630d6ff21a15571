// SPDX-License-Identifier: GPL-2.0
/*
 * The Consumer's polls of an EVD.
 *
 * Owns kdat_evd_poll(), which runs the done callbacks of the CQs of an EVD and the upcalls
 * for the events. Called by Consumers in process context or softirq.
 */
#include <linux/bottom_half.h>
#include <linux/export.h>
#include <linux/rculist.h>
#include "internal.h"
#include "evd_queue.h"

/* Bottom halves are off during a poll */
#define KDAPL_EVD_POLL_MAX	1024

/* Acquires the ownership of an EVD that has a function to call, if it is free */
static bool kdapl_evd_claim(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool mine = false;

	spin_lock_irqsave(&evd->lock, flags);
	if (kdapl_evd_wants_upcall(evd))
		mine = !(atomic_fetch_or_acquire(KDAPL_EVD_OWNED, &evd->state) & KDAPL_EVD_OWNED);
	spin_unlock_irqrestore(&evd->lock, flags);
	return mine;
}

/* Polls the CQs of an EVD in turn until they are empty or @max completions were handled */
static DAT_COUNT kdapl_evd_poll_sources(struct kdapl_evd *evd, DAT_COUNT max)
{
	struct kdapl_evd_source *source;
	DAT_COUNT n = 0, round;

	do {
		round = n;
		list_for_each_entry_rcu(source, &evd->sources, node)
			if (n < max)
				n += source->poll(source, max - n);
	} while (n > round && n < max);
	return n;
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
	if (READ_ONCE(evd->context) != KDAPL_CONTEXT_POLL)
		return KDAPL_BAD_STATE(EVD_CONFIG_NOTIFY);
	/* First, so that the events that are queued now do not start the work item */
	mine = kdapl_evd_claim(evd);
	*count = kdapl_evd_poll_sources(evd, min(max, KDAPL_EVD_POLL_MAX));
	if (mine)
		kdapl_evd_deliver(evd, *count + KDAPL_EVD_BUDGET);
	return DAT_SUCCESS;
}

/**
 * kdat_evd_poll - handle completions of the EPs whose completion context is poll
 * @evd_handle: EVD that receives completions of such EPs
 * @max:        the largest number of completions to handle; more than 1,024 count as 1,024
 * @count:      receives the number of completions that were handled
 *
 * If the EVD has an upcall, it is called for each event before this call returns, on the
 * caller's stack, with bottom halves off. more_events tells whether further events of
 * the same poll follow. If another CPU runs upcalls of the EVD at this moment, it delivers these
 * events, too. Without an upcall the events wait for dat_evd_dequeue(). Source: kDAPL's choice.
 *
 * Context: process or softirq, with interrupts on; never sleeps. In an upcall of the same EVD
 * the events are delivered after it has returned.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @evd_handle is not the handle of an EVD
 * * DAT_INVALID_PARAMETER - @max is not positive; @count is NULL
 * * DAT_INVALID_STATE - EVD_CONFIG_NOTIFY: no EP of the EVD has this completion context
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
