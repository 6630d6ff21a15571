// SPDX-License-Identifier: GPL-2.0
/*
 * The engine: one thread for each instance that executes its QPs. Posts and state changes add
 * a QP to the list of ready QPs; the engine takes one, in random order, and executes a step
 * of it under hca_world. Timers are checked by the engine, too.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include "hca.h"

/* Interrupts are raised after so many steps, or when nothing is left to do */
#define HCA_BATCH	4
#define HCA_CHOICE	8	/* QPs among which the next one is chosen */

/**
 * hca_kick - have the engine execute a QP
 * @qp: the QP
 *
 * Context: any.
 */
void hca_kick(struct hca_qp *qp)
{
	struct hca_dev *dev = to_hca(qp->ibqp.device);
	unsigned long flags;

	spin_lock_irqsave(&dev->ready_lock, flags);
	if (list_empty(&qp->ready))
		list_add_tail(&qp->ready, &dev->ready);
	spin_unlock_irqrestore(&dev->ready_lock, flags);
	wake_up(&dev->wait);
}

/* Undoes it. hca_world held */
void hca_unkick(struct hca_qp *qp)
{
	struct hca_dev *dev = to_hca(qp->ibqp.device);

	spin_lock_irq(&dev->ready_lock);
	list_del_init(&qp->ready);
	spin_unlock_irq(&dev->ready_lock);
}

/* hca_world held */
void hca_set_timer(struct hca_qp *qp, ktime_t *timer, u64 ns)
{
	*timer = ktime_add_ns(ktime_get(), ns);
	if (list_empty(&qp->timed))
		list_add_tail(&qp->timed, &to_hca(qp->ibqp.device)->timed);
}

/* hca_world held */
void hca_stop_timers(struct hca_qp *qp)
{
	qp->rnr_at = 0;
	qp->ack_at = 0;
	qp->delay_at = 0;
	list_del_init(&qp->timed);
}

/* Has this timer expired? Then it is stopped. hca_world held */
bool hca_expired(ktime_t *timer)
{
	if (!*timer || ktime_before(ktime_get(), *timer))
		return false;
	*timer = 0;
	return true;
}

static ktime_t hca_first(const struct hca_qp *qp)
{
	ktime_t first = KTIME_MAX;

	if (qp->rnr_at)
		first = min(first, qp->rnr_at);
	if (qp->ack_at)
		first = min(first, qp->ack_at);
	if (qp->delay_at)
		first = min(first, qp->delay_at);
	return first;
}

/* Makes QPs with expired timers ready; the time until the next timer. hca_world held */
static ktime_t hca_run_timers(struct hca_dev *dev)
{
	ktime_t now = ktime_get(), first, next = KTIME_MAX;
	struct hca_qp *qp, *more;

	list_for_each_entry_safe(qp, more, &dev->timed, timed) {
		first = hca_first(qp);
		if (first == KTIME_MAX)
			list_del_init(&qp->timed);
		else if (!ktime_after(first, now))
			hca_kick(qp);
		else
			next = min(next, first);
	}
	return next == KTIME_MAX ? next : ktime_sub(next, now);
}

/* hca_world held */
static struct hca_qp *hca_pick(struct hca_dev *dev)
{
	u32 skip = hca_opt.reorder ? hca_random(HCA_CHOICE) : 0;
	struct hca_qp *qp = NULL, *at;

	spin_lock_irq(&dev->ready_lock);
	list_for_each_entry(at, &dev->ready, ready) {
		qp = at;
		if (!skip--)
			break;
	}
	if (qp)
		list_del_init(&qp->ready);
	spin_unlock_irq(&dev->ready_lock);
	return qp;
}

static bool hca_has_work(struct hca_dev *dev)
{
	return !list_empty_careful(&dev->ready) || !list_empty_careful(&dev->late) ||
	       READ_ONCE(dev->raise) || kthread_should_stop();
}

static int hca_engine(void *arg)
{
	struct hca_dev *dev = arg;
	ktime_t left = KTIME_MAX;
	struct hca_qp *qp;
	u32 steps = 0;

	while (!kthread_should_stop()) {
		wait_event_interruptible_hrtimeout(dev->wait, hca_has_work(dev), left);
		mutex_lock(&hca_world);
		left = hca_run_timers(dev);
		qp = hca_pick(dev);
		if (qp)
			hca_step(qp);
		else
			hca_release_events(dev);
		/* A step may have started a timer */
		left = min(left, hca_run_timers(dev));
		mutex_unlock(&hca_world);
		if (!qp || ++steps % HCA_BATCH == 0)
			hca_raise(dev);
		cond_resched();
	}
	return 0;
}

int hca_engine_init(struct hca_dev *dev)
{
	init_waitqueue_head(&dev->wait);
	spin_lock_init(&dev->ready_lock);
	INIT_LIST_HEAD(&dev->ready);
	INIT_LIST_HEAD(&dev->timed);
	dev->engine = kthread_run(hca_engine, dev, "kdapl_hca%d", dev->index);
	return PTR_ERR_OR_ZERO(dev->engine);
}

void hca_engine_exit(struct hca_dev *dev)
{
	kthread_stop(dev->engine);
}
