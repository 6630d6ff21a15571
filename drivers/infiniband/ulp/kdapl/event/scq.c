// SPDX-License-Identifier: GPL-2.0
/*
 * CQs that kDAPL polls: of receives for which only a solicited message causes an upcall, and
 * of EPs whose Consumer polls.
 *
 * Solicited wait:
 *
 * The core's CQ code always arms a CQ for the next completion. Here the CQ is created
 * by ib_create_cq(), armed with IB_CQ_SOLICITED, and polled by kDAPL: in a work item
 * after the device has called the completion handler (never in the handler itself,
 * where rxe of 6.12 holds a lock that polling takes), by dat_evd_dequeue() on an empty
 * EVD, when connection code asks for it (kdapl_scq_schedule()), in a drain, and by a slow
 * timer, because some devices do not announce errors and flushes (rxe of 6.12).
 *
 * A CQ of an EP in poll context is never armed. dat_evd_dequeue() and kdat_evd_poll() poll
 * it, and also all of the above that have work for it: a drain, connection code, and the
 * slow timer, which sees an error or kDAPL's own requests if the Consumer does not poll.
 *
 * No upcall runs while such a CQ is polled: the done callbacks queue the events, and
 * the EVD's work item or kdat_evd_poll() delivers them afterwards. So scq->lock is never held
 * over an upcall. No
 * verbs call says which completion was the solicited one; therefore all events that
 * are queued on the EVD when the device has called lead to upcalls.
 */
#include <linux/rculist.h>
#include "event.h"

#define KDAPL_SCQ_TIMER_MS	1000
/* The number of completions that are handled under one hold of the lock */
#define KDAPL_SCQ_BATCH		8
/* Number of polls, a jiffy apart, for a flush that the device may not announce */
#define KDAPL_SCQ_FLUSH_POLLS	10

/* Completion handler; interrupts may be off, and locks of the device may be held */
static void kdapl_scq_handler(struct ib_cq *cq, void *context)
{
	struct kdapl_scq *scq = context;

	WRITE_ONCE(scq->fired, true);
	queue_work(kdapl_evd_wq, &scq->work);
}

/* The lock is released after each batch, so that interrupts are not off for long */
static int kdapl_scq_batch(struct kdapl_scq *scq, int max)
{
	struct ib_wc wc[KDAPL_SCQ_BATCH];
	unsigned long flags;
	int i, n;

	spin_lock_irqsave(&scq->lock, flags);
	/* Some devices return an error */
	n = max(ib_poll_cq(scq->cq, min(max, KDAPL_SCQ_BATCH), wc), 0);
	for (i = 0; i < n; i++)
		wc[i].wr_cqe->done(scq->cq, &wc[i]);
	spin_unlock_irqrestore(&scq->lock, flags);
	return n;
}

/**
 * kdapl_scq_poll - run the done callbacks of all completions in the CQ
 * @scq: the CQ
 *
 * Handles at most as many as the CQ has room for. This includes all that it held when
 * the function was called, and the function ends even if a peer continues to send.
 *
 * Context: process; runs no upcall.
 */
void kdapl_scq_poll(struct kdapl_scq *scq)
{
	int left = scq->cq->cqe;
	int n;

	do {
		n = kdapl_scq_batch(scq, KDAPL_SCQ_BATCH);
		left -= n;
		cond_resched();
	} while (n > 0 && left > 0);
}

/* Any context except the completion handler, also with interrupts off; runs no upcall */
static int kdapl_scq_poll_source(struct kdapl_evd_source *source, int max)
{
	return kdapl_scq_batch(source->scq, max);
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
 * the run queues causes no upcall. After a call, plain messages that the second poll
 * finds lead to upcalls too, because no verbs call distinguishes them from solicited
 * ones; the contract allows this (E-18a). The first poll empties the CQ before it is
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
	if (scq->polled) {
		kdapl_scq_poll(scq);
		return;
	}
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
 * kdapl_scq_flush_soon - poll for a flush that the device may not announce
 * @scq: the CQ
 *
 * The device may need some time for the flush, so the CQ is polled several times.
 *
 * Context: any.
 */
void kdapl_scq_flush_soon(struct kdapl_scq *scq)
{
	WRITE_ONCE(scq->again, KDAPL_SCQ_FLUSH_POLLS);
	mod_delayed_work(kdapl_evd_wq, &scq->timer, 0);
}

/**
 * kdapl_scq_schedule - schedule a poll of the CQ
 * @scq: the CQ
 *
 * Context: any.
 */
void kdapl_scq_schedule(struct kdapl_scq *scq)
{
	queue_work(kdapl_evd_wq, &scq->work);
}

/* Makes a dequeue from an EVD poll the CQ */
static void kdapl_scq_link(struct kdapl_scq *scq, struct kdapl_evd *evd,
			   struct kdapl_evd_source *source)
{
	source->scq = scq;
	source->poll = kdapl_scq_poll_source;
	INIT_LIST_HEAD(&source->node);
	if (!evd)
		return;
	spin_lock_irq(&evd->lock);
	list_add_tail_rcu(&source->node, &evd->sources);
	spin_unlock_irq(&evd->lock);
}

static void kdapl_scq_unlink_one(struct kdapl_evd *evd, struct kdapl_evd_source *source)
{
	if (!evd)
		return;
	spin_lock_irq(&evd->lock);
	list_del_rcu(&source->node);
	spin_unlock_irq(&evd->lock);
}

static struct kdapl_scq *kdapl_scq_make(struct ib_device *ibdev, u32 nr_cqe, int comp_vector)
{
	struct ib_cq_init_attr attr = { .cqe = nr_cqe, .comp_vector = comp_vector };
	struct kdapl_scq *scq;
	struct ib_cq *cq;

	scq = kzalloc(sizeof(*scq), GFP_KERNEL);
	if (!scq)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&scq->lock);
	INIT_WORK(&scq->work, kdapl_scq_work);
	INIT_DELAYED_WORK(&scq->timer, kdapl_scq_timer);
	cq = ib_create_cq(ibdev, kdapl_scq_handler, NULL, scq, &attr);
	if (IS_ERR(cq)) {
		kfree(scq);
		return ERR_CAST(cq);
	}
	scq->cq = cq;
	return scq;
}

static void kdapl_scq_start(struct kdapl_scq *scq)
{
	kdapl_scq_link(scq, scq->evd, &scq->source);
	kdapl_scq_link(scq, scq->request_evd, &scq->request_source);
	queue_delayed_work(kdapl_evd_wq, &scq->timer, msecs_to_jiffies(KDAPL_SCQ_TIMER_MS));
}

/**
 * kdapl_scq_create - make and arm a CQ for receives in solicited-wait mode
 * @ibdev:       device
 * @evd:         EVD of these receives
 * @nr_cqe:      number of completions it must have room for
 * @comp_vector: completion vector
 *
 * Context: process.
 * Return: the CQ, or ERR_PTR: -ENOMEM, or the error of the device.
 */
struct kdapl_scq *kdapl_scq_create(struct ib_device *ibdev, struct kdapl_evd *evd,
				   u32 nr_cqe, int comp_vector)
{
	struct kdapl_scq *scq = kdapl_scq_make(ibdev, nr_cqe, comp_vector);

	if (IS_ERR(scq))
		return scq;
	scq->evd = evd;
	ib_req_notify_cq(scq->cq, IB_CQ_SOLICITED);
	kdapl_scq_start(scq);
	return scq;
}

/**
 * kdapl_scq_create_polled - make a CQ for an EP whose Consumer polls
 * @ibdev:       device
 * @recv_evd:    EVD of its receives, or NULL
 * @request_evd: EVD of its requests, or NULL
 * @nr_cqe:      number of completions it must have room for
 * @comp_vector: completion vector
 *
 * Context: process.
 * Return: the CQ, or ERR_PTR: -ENOMEM, or the error of the device.
 */
struct kdapl_scq *kdapl_scq_create_polled(struct ib_device *ibdev, struct kdapl_evd *recv_evd,
					  struct kdapl_evd *request_evd, u32 nr_cqe,
					  int comp_vector)
{
	struct kdapl_scq *scq = kdapl_scq_make(ibdev, nr_cqe, comp_vector);

	if (IS_ERR(scq))
		return scq;
	scq->polled = true;
	scq->evd = recv_evd;
	scq->request_evd = request_evd == recv_evd ? NULL : request_evd;
	kdapl_scq_start(scq);
	return scq;
}

/**
 * kdapl_scq_unlink - remove a CQ that no QP uses any more from its EVDs
 * @scq: the CQ; until a grace period has passed, another CPU may still poll it
 *
 * Context: process.
 */
void kdapl_scq_unlink(struct kdapl_scq *scq)
{
	kdapl_scq_unlink_one(scq->evd, &scq->source);
	kdapl_scq_unlink_one(scq->request_evd, &scq->request_source);
}

/**
 * kdapl_scq_destroy - destroy a CQ that kDAPL polls
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
	/* The device may have called the handler in the meantime */
	cancel_work_sync(&scq->work);
	kfree(scq);
}
