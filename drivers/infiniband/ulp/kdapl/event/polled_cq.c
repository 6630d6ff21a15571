// SPDX-License-Identifier: GPL-2.0
/*
 * CQs that kDAPL polls itself: those of EPs whose EVDs are in process or poll context, and the
 * receives of EPs for which only a solicited message causes an upcall.
 *
 * The core's CQ code runs the upcalls where it polls, and arms a CQ for the next completion.
 * Here a CQ is created by ib_create_cq(), belongs to one EVD, and is polled by
 * - the work item of the EVD (evd_work.c), when the device has announced a completion or
 *   connection code asks for it. The completion handler never polls: rxe of 6.12 calls it
 *   with a lock held that polling takes;
 * - the Consumer: kdat_evd_poll(), and dat_evd_dequeue() from an empty EVD, in any context;
 * - a drain of the EP, in process context;
 * - the timer of the EVD, because in solicited-wait mode some devices do not announce errors
 *   and flushes (rxe of 6.12), and because a Consumer may not poll.
 *
 * No upcall runs meanwhile: the done callbacks queue the events, and the EVD delivers them
 * afterwards. So the lock of a CQ is never held over an upcall, and no poller waits for an upcall.
 *
 * In process context a CQ is armed for the next completion, after the events that were found
 * have been delivered. In solicited-wait mode it is armed for solicited messages. No verbs call
 * says which completion was the solicited one; therefore all events that are queued on the EVD
 * when the device has announced it lead to upcalls. In poll context a CQ is armed again while the
 * Consumer waits (kdat_evd_arm()), until an event has led to an upcall, because a completion need
 * not lead to one.
 */
#include <linux/slab.h>
#include "evd_queue.h"

/* The number of completions that are handled under one hold of the lock */
#define KDAPL_CQ_BATCH		8

/* Puts a CQ on the list of those that the work item polls. evd->lock held */
static void kdapl_polled_cq_set_ready(struct kdapl_polled_cq *pcq)
{
	lockdep_assert_held(&pcq->evd->lock);
	/* Not if it was unlinked */
	if (!list_empty(&pcq->node))
		list_move_tail(&pcq->ready, &pcq->evd->ready);
}

/*
 * Completion handler; interrupts may be off, and locks of the device may be held. A CQ that was
 * unlinked is left alone, and so is one in poll context unless the Consumer waits
 */
static void kdapl_polled_cq_handler(struct ib_cq *cq, void *context)
{
	struct kdapl_polled_cq *pcq = context;
	struct kdapl_evd *evd = pcq->evd;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	if (!list_empty(&pcq->node) && (evd->context != KDAPL_CONTEXT_POLL || evd->armed)) {
		pcq->fired = pcq->solicited;
		kdapl_polled_cq_set_ready(pcq);
		kdapl_evd_queue_work(evd);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
}

/* The lock is released after each batch, so that interrupts are not off for long */
static int kdapl_polled_cq_batch(struct kdapl_polled_cq *pcq, int max)
{
	struct ib_wc wc[KDAPL_CQ_BATCH];
	unsigned long flags;
	int i, n;

	spin_lock_irqsave(&pcq->lock, flags);
	/* Some devices return an error */
	n = max(ib_poll_cq(pcq->cq, min(max, KDAPL_CQ_BATCH), wc), 0);
	for (i = 0; i < n; i++)
		wc[i].wr_cqe->done(pcq->cq, &wc[i]);
	spin_unlock_irqrestore(&pcq->lock, flags);
	return n;
}

/* The CQ whose turn it is, which becomes the last one; or NULL. Read section */
static struct kdapl_polled_cq *kdapl_evd_next_cq(struct kdapl_evd *evd, u32 *ncqs)
{
	struct kdapl_polled_cq *pcq;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	pcq = list_first_entry_or_null(&evd->cqs, struct kdapl_polled_cq, node);
	if (pcq)
		list_move_tail(&pcq->node, &evd->cqs);
	*ncqs = evd->ncqs;
	spin_unlock_irqrestore(&evd->lock, flags);
	return pcq;
}

/*
 * Polls the CQs of an EVD in turn. Ends when all CQs are empty. The next call continues with the
 * CQ after the last one. @max: the largest number of completions to handle. Returns the number of
 * completions that were handled. Any context except the completion handler; runs no upcall.
 */
int kdapl_evd_poll_cqs(struct kdapl_evd *evd, int max)
{
	struct kdapl_polled_cq *pcq;
	u32 ncqs, empty = 0;
	int n = 0, ask, got;

	do {
		rcu_read_lock();
		pcq = kdapl_evd_next_cq(evd, &ncqs);
		ask = min(max - n, KDAPL_CQ_BATCH);
		got = pcq ? kdapl_polled_cq_batch(pcq, ask) : 0;
		rcu_read_unlock();
		n += got;
		empty = got < ask ? empty + 1 : 0;
	} while (empty < ncqs && n < max);
	return n;
}

/* Takes the first CQ off a list, or returns NULL. Read section */
static struct kdapl_polled_cq *kdapl_evd_take_cq(struct kdapl_evd *evd, struct list_head *list)
{
	struct kdapl_polled_cq *pcq;

	spin_lock_irq(&evd->lock);
	pcq = list_first_entry_or_null(list, struct kdapl_polled_cq, ready);
	if (pcq)
		list_del_init(&pcq->ready);
	spin_unlock_irq(&evd->lock);
	return pcq;
}

/* The CQ is probably not empty: the work item polls it again. @fired: it then marks the events */
static void kdapl_polled_cq_again(struct kdapl_polled_cq *pcq, bool fired)
{
	spin_lock_irq(&pcq->evd->lock);
	pcq->fired |= fired;
	kdapl_polled_cq_set_ready(pcq);
	spin_unlock_irq(&pcq->evd->lock);
}

/*
 * A solicited message was announced: all events that are queued by now lead to upcalls.
 * Counted first, then marked; pairs with the barrier in kdapl_ep_unpark()
 */
static void kdapl_evd_mark_fired(struct kdapl_evd *evd)
{
	atomic_inc(&evd->nfired);
	/* Counted before it is marked */
	smp_mb__after_atomic();
	spin_lock_irq(&evd->lock);
	kdapl_evd_mark_all(evd);
	spin_unlock_irq(&evd->lock);
}

/*
 * Arms a CQ in solicited-wait mode that was found empty, and polls it again.
 *
 * No solicited message misses its upcall. From a call of the handler until the CQ is armed
 * again, a message causes no call. The run that takes @fired arms the CQ after that call, so
 * such a message came before this arming: either the second poll finds it, or another poller
 * is handling it, for whose lock the second poll waits. The marks are set after that. If the
 * second poll does not empty the CQ, @fired stays set for the next turn. A message that comes
 * after the arming causes its own call.
 *
 * A run without a call finds the CQ armed: no solicited message has come, and what the run
 * queues causes no upcall. After a call, plain messages lead to upcalls too, because no verbs
 * call distinguishes them from solicited ones; the contract allows this (E-18a). The first poll
 * empties the CQ before it is armed, because a device may call at once for a solicited
 * completion that is still in the CQ, which would be a second call for one message.
 *
 * IB_CQ_REPORT_MISSED_EVENTS would save the second poll when the CQ is empty, but irdma
 * compares the flags as a whole and would arm the CQ for every completion, and bnxt_re does not
 * arm a CQ that is not empty.
 */
static void kdapl_polled_cq_arm_solicited(struct kdapl_polled_cq *pcq)
{
	struct kdapl_evd *evd = pcq->evd;
	bool fired;

	spin_lock_irq(&evd->lock);
	fired = pcq->fired;
	pcq->fired = false;
	spin_unlock_irq(&evd->lock);
	ib_req_notify_cq(pcq->cq, IB_CQ_SOLICITED);
	if (kdapl_polled_cq_batch(pcq, KDAPL_CQ_BATCH) == KDAPL_CQ_BATCH)
		kdapl_polled_cq_again(pcq, fired);
	if (fired)
		kdapl_evd_mark_fired(evd);
}

/* The CQ was found empty, and is to be armed, unless the handler has been called meanwhile */
static void kdapl_polled_cq_drained(struct kdapl_polled_cq *pcq)
{
	struct kdapl_evd *evd = pcq->evd;

	spin_lock_irq(&evd->lock);
	if (!list_empty(&pcq->node) && list_empty(&pcq->ready) &&
	    (evd->context == KDAPL_CONTEXT_PROCESS || evd->armed))
		list_add_tail(&pcq->ready, &evd->drained);
	spin_unlock_irq(&evd->lock);
}

/* One turn of a CQ that was taken off the list of ready ones. Read section */
static int kdapl_polled_cq_turn(struct kdapl_polled_cq *pcq)
{
	int n = kdapl_polled_cq_batch(pcq, KDAPL_CQ_BATCH);

	if (n == KDAPL_CQ_BATCH) {
		kdapl_polled_cq_again(pcq, false);
		/* A peer that keeps sending must not delay the upcall */
		if (READ_ONCE(pcq->fired))
			kdapl_evd_mark_fired(pcq->evd);
	} else if (pcq->solicited) {
		kdapl_polled_cq_arm_solicited(pcq);
	} else {
		kdapl_polled_cq_drained(pcq);
	}
	return n;
}

/*
 * Polls the CQs that announced completions. Arms those in solicited-wait mode;
 * kdapl_evd_arm_drained() must follow for the others. Returns true if the number of completions in
 * one run was reached before all were empty. Process context, work item of the EVD; runs no upcall.
 */
bool kdapl_evd_poll_ready(struct kdapl_evd *evd)
{
	struct kdapl_polled_cq *pcq;
	int n = 0;

	while (n < KDAPL_EVD_BUDGET) {
		rcu_read_lock();
		pcq = kdapl_evd_take_cq(evd, &evd->ready);
		if (pcq)
			n += kdapl_polled_cq_turn(pcq);
		rcu_read_unlock();
		if (!pcq)
			return false;
	}
	return true;
}

/*
 * Arms the CQs that were found empty. Returns true if one of them must be polled again. Process
 * context or softirq.
 */
bool kdapl_evd_arm_drained(struct kdapl_evd *evd)
{
	struct kdapl_polled_cq *pcq;
	bool again = false;

	do {
		rcu_read_lock();
		pcq = kdapl_evd_take_cq(evd, &evd->drained);
		if (pcq && ib_req_notify_cq(pcq->cq, IB_CQ_NEXT_COMP |
						     IB_CQ_REPORT_MISSED_EVENTS) > 0) {
			kdapl_polled_cq_again(pcq, false);
			again = true;
		}
		rcu_read_unlock();
	} while (pcq);
	return again;
}

/*
 * Arms all CQs of an EVD in poll context. Returns true if there was a completion that nobody has
 * polled. Process context or softirq.
 */
bool kdapl_evd_arm_all(struct kdapl_evd *evd)
{
	struct kdapl_polled_cq *pcq;

	spin_lock_irq(&evd->lock);
	list_for_each_entry(pcq, &evd->cqs, node)
		list_move_tail(&pcq->ready, &evd->drained);
	spin_unlock_irq(&evd->lock);
	return kdapl_evd_arm_drained(evd);
}

/* Handles at most as many completions as the CQ has room for, which includes all that it held */
static void kdapl_polled_cq_poll(struct kdapl_polled_cq *pcq)
{
	int left = pcq->cq->cqe;
	int n;

	do {
		n = kdapl_polled_cq_batch(pcq, KDAPL_CQ_BATCH);
		left -= n;
		cond_resched();
	} while (n > 0 && left > 0);
}

/*
 * Runs the done callbacks of all completions in the CQs of an EP. Ends even if a peer continues to
 * send. Process context, the EP stays; runs no upcall.
 */
void kdapl_cq_poll(const struct kdapl_cq *kcq)
{
	if (kcq->recv)
		kdapl_polled_cq_poll(kcq->recv);
	if (kcq->request && kcq->request != kcq->recv)
		kdapl_polled_cq_poll(kcq->request);
}

static void kdapl_polled_cq_schedule(struct kdapl_polled_cq *pcq)
{
	unsigned long flags;

	spin_lock_irqsave(&pcq->evd->lock, flags);
	kdapl_polled_cq_set_ready(pcq);
	kdapl_evd_queue_work(pcq->evd);
	spin_unlock_irqrestore(&pcq->evd->lock, flags);
}

/* Lets the work items of the EVDs poll the CQs of an EP. Any context, the EP stays */
void kdapl_cq_schedule(const struct kdapl_cq *kcq)
{
	if (kcq->recv)
		kdapl_polled_cq_schedule(kcq->recv);
	if (kcq->request && kcq->request != kcq->recv)
		kdapl_polled_cq_schedule(kcq->request);
}

/*
 * Adds a CQ to its EVD. The timer runs as long as an EVD has one in solicited-wait mode or in
 * poll context, and while an upcall in process context runs, which may be the caller. Returns
 * whether the CQ must be armed
 */
static bool kdapl_polled_cq_link(struct kdapl_polled_cq *pcq)
{
	struct kdapl_evd *evd = pcq->evd;
	bool arm;

	spin_lock_irq(&evd->lock);
	list_add_tail(&pcq->node, &evd->cqs);
	WRITE_ONCE(evd->ncqs, evd->ncqs + 1);
	evd->nsolicited += pcq->solicited;
	if (pcq->solicited || evd->context == KDAPL_CONTEXT_POLL || evd->upcaller)
		kdapl_evd_timer_start(evd);
	/* In poll context the Consumer may be waiting already */
	arm = evd->context != KDAPL_CONTEXT_POLL || evd->armed;
	spin_unlock_irq(&evd->lock);
	return arm;
}

/*
 * Creates a CQ that kDAPL polls. Returns the CQ, or ERR_PTR: -ENOMEM, or the error of the device.
 * Process context.
 *
 * @nr_cqe:    number of completions it must have room for
 * @solicited: only solicited messages cause upcalls
 */
struct kdapl_polled_cq *kdapl_polled_cq_create(struct ib_device *ibdev, struct kdapl_evd *evd,
					       u32 nr_cqe, int comp_vector, bool solicited)
{
	struct ib_cq_init_attr attr = { .cqe = nr_cqe, .comp_vector = comp_vector };
	struct kdapl_polled_cq *pcq;
	struct ib_cq *cq;

	pcq = kzalloc(sizeof(*pcq), GFP_KERNEL);
	if (!pcq)
		return ERR_PTR(-ENOMEM);
	pcq->evd = evd;
	pcq->solicited = solicited;
	spin_lock_init(&pcq->lock);
	INIT_LIST_HEAD(&pcq->ready);
	cq = ib_create_cq(ibdev, kdapl_polled_cq_handler, NULL, pcq, &attr);
	if (IS_ERR(cq)) {
		kfree(pcq);
		return ERR_CAST(cq);
	}
	pcq->cq = cq;
	if (kdapl_polled_cq_link(pcq))
		ib_req_notify_cq(cq, solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP);
	return pcq;
}

/*
 * Removes a CQ that no QP uses any more from its EVD. @pcq: the CQ; until a grace period has
 * passed, another CPU may still poll it. Process context.
 */
void kdapl_polled_cq_unlink(struct kdapl_polled_cq *pcq)
{
	struct kdapl_evd *evd = pcq->evd;

	spin_lock_irq(&evd->lock);
	list_del_init(&pcq->node);
	list_del_init(&pcq->ready);
	WRITE_ONCE(evd->ncqs, evd->ncqs - 1);
	evd->nsolicited -= pcq->solicited;
	spin_unlock_irq(&evd->lock);
}

static void kdapl_polled_cq_ignore(struct ib_cq *cq, void *context)
{
}

/*
 * Leaks a CQ whose QP the driver has not destroyed. Its interrupts find the EVD no more, which may
 * be freed. @pcq: as for kdapl_polled_cq_destroy().
 */
void kdapl_polled_cq_leak(struct kdapl_polled_cq *pcq)
{
	WRITE_ONCE(pcq->cq->comp_handler, kdapl_polled_cq_ignore);
}

/*
 * Destroys a CQ that kDAPL polls. @pcq: the CQ, a grace period after kdapl_polled_cq_unlink().
 * Process context.
 */
void kdapl_polled_cq_destroy(struct kdapl_polled_cq *pcq)
{
	ib_destroy_cq(pcq->cq);
	/* A tasklet of the device may still be in the completion handler */
	kfree_rcu(pcq, rcu);
}
