// SPDX-License-Identifier: GPL-2.0
/*
 * Solicited wait: CQs of receives whose upcall only a solicited message may
 * bring about.
 *
 * The CQ code of the core always arms for the next completion; here the CQ
 * is raw, armed IB_CQ_SOLICITED, and polled by us: in a work item when the
 * device calls (never in its handler: rxe of 6.12 holds a lock there that
 * polling takes), by dat_evd_dequeue() on an empty EVD, when connection code
 * asks (kdapl_scq_kick()), in a drain, and by a slow timer, because a device
 * may stay silent for errors and flushes (rxe of 6.12 does).
 *
 * Completions on it never run an upcall where they are polled: done
 * callbacks queue the event, the EVD's deferred deliverer hands it over. So
 * scq->lock is never held over an upcall. Which completion was the solicited
 * one no verbs call tells: when the device has called, all that is queued on
 * the EVD leads to upcalls.
 */
#include <linux/rculist.h>
#include "kdapl.h"

#define KDAPL_SCQ_TIMER_MS	1000
#define KDAPL_SCQ_BATCH		8
/* Polls, a jiffy apart, after a flush that may come without a call */
#define KDAPL_SCQ_FLUSH_POLLS	10

/* Raw handler: possibly with interrupts off and locks of the device held */
static void kdapl_scq_handler(struct ib_cq *cq, void *context)
{
	struct kdapl_scq *scq = context;

	WRITE_ONCE(scq->fired, true);
	queue_work(kdapl_evd_wq, &scq->work);
}

/* The lock goes between batches: with interrupts off nobody polls for long */
static int kdapl_scq_batch(struct kdapl_scq *scq)
{
	struct ib_wc wc[KDAPL_SCQ_BATCH];
	unsigned long flags;
	int i, n;

	spin_lock_irqsave(&scq->lock, flags);
	n = ib_poll_cq(scq->cq, KDAPL_SCQ_BATCH, wc);
	for (i = 0; i < n; i++)
		wc[i].wr_cqe->done(scq->cq, &wc[i]);
	spin_unlock_irqrestore(&scq->lock, flags);
	return n;
}

/**
 * kdapl_scq_poll - run the done callbacks of the completions that are there
 * @scq: the CQ
 *
 * As many as the CQ has room for, so that all that it held at the call have
 * been handled, and a peer that goes on sending keeps nobody here.
 *
 * Context: process; runs no upcall.
 */
void kdapl_scq_poll(struct kdapl_scq *scq)
{
	int left = scq->cq->cqe;
	int n;

	do {
		n = kdapl_scq_batch(scq);
		left -= n;
		cond_resched();
	} while (n > 0 && left > 0);
}

/**
 * kdapl_scq_poll_once - run the done callbacks of some completions
 * @scq: the CQ
 *
 * Context: any but a raw CQ handler, also with interrupts off; runs no upcall.
 */
void kdapl_scq_poll_once(struct kdapl_scq *scq)
{
	kdapl_scq_batch(scq);
}

/*
 * Polls, arms the CQ, and polls again. If the device has called the completion
 * handler, everything queued on the EVD by then leads to upcalls.
 *
 * No solicited message misses its upcall. From a call of the handler until the CQ
 * is armed again, a message causes no call. The run that takes @fired arms the CQ
 * after that call, so such a message came before this arming: either the second
 * poll finds it, or another poller is handling it, whose lock the run takes before
 * it sets the marks. A message that comes after the arming causes its own call.
 *
 * A run without a call finds the CQ armed: no solicited message has come, and what
 * the run queues stays silent. After a call, plain messages that the second poll
 * finds lead to upcalls too, because no verbs call tells them from solicited ones;
 * the contract allows this (E-18a). The first poll empties the CQ before it is
 * armed, because a device may call at once for a solicited completion that is still
 * in the CQ, which would be a second call for one message.
 *
 * IB_CQ_REPORT_MISSED_EVENTS would save the second poll when the CQ is empty, but
 * irdma compares the flags as a whole and would arm the CQ for every completion,
 * and bnxt_re does not arm a CQ that is not empty.
 */
static void kdapl_scq_work(struct work_struct *work)
{
	struct kdapl_scq *scq = container_of(work, struct kdapl_scq, work);
	bool fired;

	if (READ_ONCE(scq->dead))
		return;
	fired = xchg(&scq->fired, false);
	kdapl_scq_poll(scq);
	ib_req_notify_cq(scq->cq, IB_CQ_SOLICITED);
	kdapl_scq_poll(scq);
	if (!fired)
		return;
	/* What another poller has in its hands is queued or parked afterwards */
	spin_lock_irq(&scq->lock);
	spin_unlock_irq(&scq->lock);
	atomic_inc(&scq->nfired);
	/* Counted first, then marked; pairs with the barrier in kdapl_ep_unpark() */
	smp_mb__after_atomic();
	kdapl_evd_notify_all(scq->evd);
}

static void kdapl_scq_timer(struct work_struct *work)
{
	struct kdapl_scq *scq = container_of(to_delayed_work(work), struct kdapl_scq, timer);

	kdapl_scq_work(&scq->work);
	if (READ_ONCE(scq->dead))
		return;
	if (READ_ONCE(scq->again)) {
		WRITE_ONCE(scq->again, scq->again - 1);
		queue_delayed_work(kdapl_evd_wq, &scq->timer, 1);
	} else {
		queue_delayed_work(kdapl_evd_wq, &scq->timer, msecs_to_jiffies(KDAPL_SCQ_TIMER_MS));
	}
}

/**
 * kdapl_scq_flush_soon - a flush is under way that the device may not announce
 * @scq: the CQ
 *
 * The device takes its time, so one poll now would prove nothing: a few in a
 * row follow.
 *
 * Context: any.
 */
void kdapl_scq_flush_soon(struct kdapl_scq *scq)
{
	WRITE_ONCE(scq->again, KDAPL_SCQ_FLUSH_POLLS);
	mod_delayed_work(kdapl_evd_wq, &scq->timer, 0);
}

/**
 * kdapl_scq_kick - have the CQ polled soon
 * @scq: the CQ
 *
 * Context: any.
 */
void kdapl_scq_kick(struct kdapl_scq *scq)
{
	queue_work(kdapl_evd_wq, &scq->work);
}

/**
 * kdapl_scq_create - make and arm a CQ for receives in solicited-wait mode
 * @ibdev:       device
 * @evd:         EVD of these receives
 * @nr_cqe:      room
 * @comp_vector: completion vector
 *
 * Context: process.
 * Return: the CQ, or ERR_PTR of what the device said.
 */
struct kdapl_scq *kdapl_scq_create(struct ib_device *ibdev, struct kdapl_evd *evd,
				   u32 nr_cqe, int comp_vector)
{
	struct ib_cq_init_attr attr = { .cqe = nr_cqe, .comp_vector = comp_vector };
	struct kdapl_scq *scq;
	struct ib_cq *cq;

	scq = kzalloc(sizeof(*scq), GFP_KERNEL);
	if (!scq)
		return ERR_PTR(-ENOMEM);
	scq->evd = evd;
	spin_lock_init(&scq->lock);
	INIT_WORK(&scq->work, kdapl_scq_work);
	INIT_DELAYED_WORK(&scq->timer, kdapl_scq_timer);
	cq = ib_create_cq(ibdev, kdapl_scq_handler, NULL, scq, &attr);
	if (IS_ERR(cq)) {
		kfree(scq);
		return ERR_CAST(cq);
	}
	scq->cq = cq;
	ib_req_notify_cq(cq, IB_CQ_SOLICITED);
	spin_lock_irq(&evd->lock);
	list_add_tail_rcu(&scq->node, &evd->scqs);
	spin_unlock_irq(&evd->lock);
	queue_delayed_work(kdapl_evd_wq, &scq->timer, msecs_to_jiffies(KDAPL_SCQ_TIMER_MS));
	return scq;
}

/**
 * kdapl_scq_unlink - take a CQ that no QP uses any more off its EVD
 * @scq: the CQ; until a grace period has passed, another CPU may still poll it
 *
 * Context: process.
 */
void kdapl_scq_unlink(struct kdapl_scq *scq)
{
	spin_lock_irq(&scq->evd->lock);
	list_del_rcu(&scq->node);
	spin_unlock_irq(&scq->evd->lock);
}

/**
 * kdapl_scq_destroy - destroy a solicited CQ
 * @scq: the CQ, a grace period after kdapl_scq_unlink()
 *
 * Context: process.
 */
void kdapl_scq_destroy(struct kdapl_scq *scq)
{
	WRITE_ONCE(scq->dead, true);
	cancel_delayed_work_sync(&scq->timer);
	cancel_work_sync(&scq->work);
	ib_destroy_cq(scq->cq);
	/* The device may have called in between */
	cancel_work_sync(&scq->work);
	kfree(scq);
}
