/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event queue, as shared by evd_queue.c (queuing and delivery) and evd_policy.c
 * (set-up, changes of policy, removal of an EP's events, waiting). No other file
 * includes it. All of it runs under evd->lock.
 */
#ifndef _KDAPL_EVENT_QUEUE_H_
#define _KDAPL_EVENT_QUEUE_H_

#include "object/object.h"

static inline bool kdapl_evd_wants_upcall(const struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	return evd->upcall.upcall_func && (evd->policy == DAT_UPCALL_SINGLE_INSTANCE ||
					   evd->policy == DAT_UPCALL_NOTIFY);
}

/* Do the queued events require an upcall? */
static inline bool kdapl_evd_upcall_due(const struct kdapl_evd *evd)
{
	if (!kdapl_evd_wants_upcall(evd) || !evd->nnotify)
		return false;
	return evd->policy != DAT_UPCALL_NOTIFY || evd->note;
}

/*
 * Appends the events that done callbacks have pushed while upcalls were disabled.
 * evd->lock held. Must be called before the queue is read or anything is added to it.
 */
static inline void kdapl_evd_gather(struct kdapl_evd *evd)
{
	struct kdapl_event *ev, *next, *youngest, *oldest = NULL;
	u32 notify = 0;

	lockdep_assert_held(&evd->lock);
	if (!READ_ONCE(evd->incoming))
		return;
	youngest = xchg(&evd->incoming, NULL);
	for (ev = youngest; ev; ev = next) {
		next = ev->next;
		ev->next = oldest;
		oldest = ev;
		notify += ev->notify;
	}
	if (evd->tail)
		evd->tail->next = oldest;
	else
		evd->head = oldest;
	evd->tail = youngest;
	/* Upcalls may be enabled by now; the removal of these events decrements the count */
	evd->nnotify += notify;
	evd->note |= notify != 0;
	atomic_or(KDAPL_EVD_QUEUED, &evd->state);
}

/* Length of the queue; evd->lock held */
static inline u32 kdapl_evd_length(const struct kdapl_evd *evd)
{
	const struct kdapl_event *ev;
	u32 n = 0;

	lockdep_assert_held(&evd->lock);
	for (ev = evd->head; ev; ev = ev->next)
		n++;
	return n;
}

/* Sets INHIBIT and NO_UPCALLS according to the policy and the context */
static inline void kdapl_evd_set_inhibit(struct kdapl_evd *evd)
{
	bool open = evd->policy == DAT_UPCALL_SINGLE_INSTANCE && evd->upcall.upcall_func &&
		    evd->context == KDAPL_CONTEXT_SOFTIRQ;
	bool no_upcalls = evd->policy != DAT_UPCALL_SINGLE_INSTANCE &&
		      evd->policy != DAT_UPCALL_NOTIFY;

	lockdep_assert_held(&evd->lock);
	if (no_upcalls) {
		atomic_or(KDAPL_EVD_INHIBIT | KDAPL_EVD_NO_UPCALLS, &evd->state);
		return;
	}
	/*
	 * Fully ordered. kdapl_evd_push() reads NO_UPCALLS after it has pushed. If an event
	 * is not seen here, its producer does not see NO_UPCALLS and takes the lock.
	 */
	if (atomic_fetch_andnot(KDAPL_EVD_NO_UPCALLS, &evd->state) & KDAPL_EVD_NO_UPCALLS)
		kdapl_evd_gather(evd);
	if (open && !evd->has_next) {
		/* A direct delivery must see the complete upcall */
		smp_mb__before_atomic();
		atomic_andnot(KDAPL_EVD_INHIBIT, &evd->state);
	} else {
		atomic_or(KDAPL_EVD_INHIBIT, &evd->state);
	}
}

/* Removes the oldest event, which asks for an upcall but is not the last marked one */
static __always_inline void kdapl_evd_unlink_head(struct kdapl_evd *evd, struct kdapl_event *ev)
{
	lockdep_assert_held(&evd->lock);
	evd->head = ev->next;
	if (evd->tail == ev)
		evd->tail = NULL;
	evd->nnotify--;
	if (!evd->head)
		atomic_andnot(KDAPL_EVD_QUEUED, &evd->state);
}

/* Removes @ev, which follows @prev (NULL: it is the oldest). evd->lock held */
static inline void kdapl_evd_unlink(struct kdapl_evd *evd, struct kdapl_event *prev,
				    struct kdapl_event *ev)
{
	lockdep_assert_held(&evd->lock);
	if (prev)
		prev->next = ev->next;
	else
		evd->head = ev->next;
	if (evd->tail == ev)
		evd->tail = prev;
	if (ev->notify)
		evd->nnotify--;
	if (ev->notify == KDAPL_NOTIFY_LAST)
		evd->marked = NULL;
	if (!evd->head)
		atomic_andnot(KDAPL_EVD_QUEUED, &evd->state);
}

/* Applies an upcall that was set while another one ran. evd->lock held */
static inline void kdapl_evd_apply_next(struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	if (!evd->has_next)
		return;
	evd->upcall = evd->next_upcall;
	evd->has_next = false;
	kdapl_evd_set_inhibit(evd);
}

/*
 * Does the caller's context differ from that in which upcalls of the EVD run? It can only when
 * the first EP has just joined. evd->lock held
 */
static inline bool kdapl_evd_misplaced(const struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	return (evd->context == KDAPL_CONTEXT_PROCESS) == !!in_softirq();
}

/* Queues the work item that delivers */
static inline void kdapl_evd_schedule(struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	if (evd->context == KDAPL_CONTEXT_PROCESS)
		queue_work(kdapl_upcall_wq, &evd->upcall_work);
	else
		queue_work(kdapl_evd_wq, &evd->work);
}

void kdapl_evd_work(struct work_struct *work);
void kdapl_evd_upcall_work(struct work_struct *work);
void kdapl_evd_deliver(struct kdapl_evd *evd, unsigned int budget);

#endif /* _KDAPL_EVENT_QUEUE_H_ */
