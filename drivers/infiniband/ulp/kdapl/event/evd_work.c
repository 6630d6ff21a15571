// SPDX-License-Identifier: GPL-2.0
/*
 * The work item and the timer of an EVD: upcalls outside of done callbacks and of the
 * Consumer's polls.
 *
 * The work item polls the CQs that announced completions (polled_cq.c), and delivers.
 * In process context it runs all upcalls of the EVD. With KDAT_EVD_PROCESS_FLAG they may sleep:
 * the work item holds no lock, is in no read section, and runs on a workqueue that nothing else
 * uses, so only the EVD itself waits for them. In the other contexts it delivers, with bottom
 * halves off, events that were not queued by a done callback, or, in poll context, those that the
 * Consumer waits for.
 *
 * The timer polls what nobody has polled for a while: a CQ in solicited-wait mode, because a
 * device may not announce an error; one in poll context, if the Consumer does not poll; and one
 * in process context, while an upcall keeps the work item from polling.
 *
 * Both run in process context. dat_evd_kcreate() and dat_evd_free() call this file, and so do the
 * calls that must know whether they were made in an upcall.
 */
#include <linux/bottom_half.h>
#include <linux/rculist.h>
#include "evd_queue.h"

/* Number of polls, a jiffy apart, for a flush that the device may not announce */
#define KDAPL_EVD_FLUSH_POLLS	10
/* The largest number of completions in one run of the timer */
#define KDAPL_EVD_TIMER_POLL	1024

/* EVDs in process context, by kdapl_evd.process_node; changed under the lock, read under RCU */
static LIST_HEAD(kdapl_process_evds);
static DEFINE_SPINLOCK(kdapl_process_evds_lock);

/*
 * Acquires the ownership, or takes over that of an owner which has passed it on. False if
 * nobody wants upcalls: then no waiter for the end of the ownership is kept waiting.
 */
static bool kdapl_evd_claim_in_work(struct kdapl_evd *evd)
{
	bool mine = false;

	spin_lock_irq(&evd->lock);
	if (atomic_read(&evd->state) & KDAPL_EVD_PASSED) {
		atomic_andnot(KDAPL_EVD_PASSED, &evd->state);
		mine = true;
	} else if (kdapl_evd_wants_upcall(evd) &&
		   (evd->context != KDAPL_CONTEXT_POLL || evd->deliver)) {
		mine = !(atomic_fetch_or_acquire(KDAPL_EVD_OWNED, &evd->state) & KDAPL_EVD_OWNED);
	}
	evd->deliver = false;
	if (mine && evd->context == KDAPL_CONTEXT_PROCESS) {
		atomic_or(KDAPL_EVD_POLLING, &evd->state);
		/* Under the lock, as in kdapl_evd_timer_needed() */
		WRITE_ONCE(evd->upcaller, current);
	}
	spin_unlock_irq(&evd->lock);
	return mine;
}

/* Returns true if the Consumer has not polled for one interval of the timer */
static bool kdapl_evd_is_unpolled(const struct kdapl_evd *evd)
{
	return time_after_eq(jiffies, READ_ONCE(evd->polled) +
			     msecs_to_jiffies(KDAPL_EVD_TIMER_MS));
}

/* In poll context, if the Consumer does not poll, the work item delivers what is due */
static void kdapl_evd_deliver_unpolled(struct kdapl_evd *evd)
{
	spin_lock_irq(&evd->lock);
	if (evd->context == KDAPL_CONTEXT_POLL && kdapl_evd_is_unpolled(evd) &&
	    kdapl_evd_upcall_due(evd)) {
		evd->deliver = true;
		kdapl_evd_queue_work(evd);
	}
	spin_unlock_irq(&evd->lock);
}

static void kdapl_evd_work(struct work_struct *work)
{
	struct kdapl_evd *evd = container_of(work, struct kdapl_evd, work);
	bool again = kdapl_evd_poll_ready(evd);

	/* Upcalls of an EVD always run in the same kind of context (E-07) */
	local_bh_disable();
	if (kdapl_evd_claim_in_work(evd)) {
		kdapl_evd_deliver(evd, KDAPL_EVD_BUDGET);
		kdapl_evd_deliver_unpolled(evd);
	}
	local_bh_enable();
	if (kdapl_evd_arm_drained(evd) || again)
		kdapl_evd_queue_work(evd);
}

/*
 * The same in process context, where nobody else is ever the owner: events that are queued
 * while it runs do not start it again. The CQs are armed at the end, so a busy device does not
 * announce each completion.
 */
static void kdapl_evd_process_work(struct work_struct *work)
{
	struct kdapl_evd *evd = container_of(work, struct kdapl_evd, work);
	bool atomic = !kdapl_softirq_polls() && !(evd->streams & KDAT_EVD_PROCESS_FLAG);
	bool mine = kdapl_evd_claim_in_work(evd);
	bool again = kdapl_evd_poll_ready(evd);

	if (mine) {
		/* An upcall may take any time, during which errors must be noticed */
		if (READ_ONCE(evd->ncqs))
			kdapl_evd_timer_start(evd);
		if (atomic)
			local_bh_disable();
		kdapl_evd_deliver(evd, KDAPL_EVD_BUDGET);
		if (atomic)
			local_bh_enable();
		WRITE_ONCE(evd->upcaller, NULL);
	}
	if (kdapl_evd_arm_drained(evd) || again)
		kdapl_evd_queue_work(evd);
}

/*
 * Returns true if the caller is inside an upcall of any EVD. Bottom halves are off in every upcall
 * that must not sleep, and they are never off where a call that sleeps is legal. An upcall that may
 * sleep runs in the work item of its EVD. Only the task itself stores and clears its address, so it
 * finds the address without a lock. Any context except hard interrupt.
 */
bool kdapl_in_upcall(void)
{
	const struct kdapl_evd *evd;
	bool found = false;

	if (in_softirq())
		return true;
	rcu_read_lock();
	list_for_each_entry_rcu(evd, &kdapl_process_evds, process_node)
		found |= READ_ONCE(evd->upcaller) == current;
	rcu_read_unlock();
	return found;
}

/* Returns true if the timer is still needed. Counts down the polls at short intervals */
static bool kdapl_evd_timer_needed(struct kdapl_evd *evd, unsigned long *delay)
{
	bool needed;

	spin_lock_irq(&evd->lock);
	if (evd->context == KDAPL_CONTEXT_PROCESS)
		needed = evd->upcaller || evd->nsolicited;
	else
		needed = evd->ncqs || kdapl_evd_upcall_due(evd);
	if (evd->flush_polls) {
		evd->flush_polls--;
		*delay = 1;
		needed = true;
	}
	spin_unlock_irq(&evd->lock);
	return needed;
}

static void kdapl_evd_timer(struct work_struct *work)
{
	struct kdapl_evd *evd = container_of(to_delayed_work(work), struct kdapl_evd, timer);
	unsigned long delay = msecs_to_jiffies(KDAPL_EVD_TIMER_MS);
	bool again = READ_ONCE(evd->flush_polls);

	if (again || kdapl_evd_is_unpolled(evd))
		if (kdapl_evd_poll_cqs(evd, KDAPL_EVD_TIMER_POLL) == KDAPL_EVD_TIMER_POLL)
			delay = 1;
	if (!again)
		kdapl_evd_deliver_unpolled(evd);
	if (kdapl_evd_timer_needed(evd, &delay))
		queue_delayed_work(kdapl_evd_wq, &evd->timer, delay);
}

/*
 * Polls for a flush that the device may not announce. The device may need some time for the flush,
 * so the CQs are polled several times. @evd: the EVD; nothing happens if kDAPL polls none of its
 * CQs. Any context.
 */
void kdapl_evd_flush_soon(struct kdapl_evd *evd)
{
	unsigned long flags;

	if (!READ_ONCE(evd->ncqs))
		return;
	spin_lock_irqsave(&evd->lock, flags);
	evd->flush_polls = KDAPL_EVD_FLUSH_POLLS;
	spin_unlock_irqrestore(&evd->lock, flags);
	mod_delayed_work(kdapl_evd_wq, &evd->timer, 0);
}

/* Sets up the work item and the timer of a new EVD. Process context */
void kdapl_evd_work_init(struct kdapl_evd *evd)
{
	bool process = evd->context == KDAPL_CONTEXT_PROCESS;

	INIT_WORK(&evd->work, process ? kdapl_evd_process_work : kdapl_evd_work);
	INIT_DELAYED_WORK(&evd->timer, kdapl_evd_timer);
	evd->polled = jiffies - msecs_to_jiffies(KDAPL_EVD_TIMER_MS);
	if (!process)
		return;
	spin_lock(&kdapl_process_evds_lock);
	list_add_rcu(&evd->process_node, &kdapl_process_evds);
	spin_unlock(&kdapl_process_evds_lock);
}

/*
 * Stops the work item and the timer. @evd: an EVD without CQs and producers, whose policy allows
 * no upcall; freed after a grace period. Process context.
 */
void kdapl_evd_work_exit(struct kdapl_evd *evd)
{
	/* The timer first, because it may queue the work item */
	cancel_delayed_work_sync(&evd->timer);
	cancel_work_sync(&evd->work);
	if (evd->context != KDAPL_CONTEXT_PROCESS)
		return;
	spin_lock(&kdapl_process_evds_lock);
	list_del_rcu(&evd->process_node);
	spin_unlock(&kdapl_process_evds_lock);
}
