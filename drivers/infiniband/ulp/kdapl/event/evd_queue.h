/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event queue and its CQs, as shared by the files of event/: queuing and delivery
 * (evd_queue.c), policy (evd_policy.c), the work item (evd_work.c), polls (evd_poll.c,
 * polled_cq.c), and what evd.c calls of them. No other file includes it. The inline functions run
 * under evd->lock.
 */
#ifndef _KDAPL_EVD_QUEUE_H_
#define _KDAPL_EVD_QUEUE_H_

#include "event.h"

/* An EVD is polled at this interval if nobody else polls it */
#define KDAPL_EVD_TIMER_MS	1000

/* Starts the timer unless it is running; any context */
static inline void kdapl_evd_timer_start(struct kdapl_evd *evd)
{
	if (!delayed_work_pending(&evd->timer))
		queue_delayed_work(kdapl_evd_wq, &evd->timer,
				   msecs_to_jiffies(KDAPL_EVD_TIMER_MS));
}

static inline bool kdapl_evd_wants_upcall(const struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	return evd->upcall.upcall_func && (evd->policy == DAT_UPCALL_SINGLE_INSTANCE ||
					   evd->policy == DAT_UPCALL_NOTIFY);
}

/* Returns true if the queued events require an upcall */
static inline bool kdapl_evd_upcall_due(const struct kdapl_evd *evd)
{
	if (!kdapl_evd_wants_upcall(evd) || !evd->nnotify)
		return false;
	return evd->policy != DAT_UPCALL_NOTIFY || evd->notify_due;
}

/*
 * Appends the events that done callbacks have pushed while upcalls were disabled or the owner
 * polled. evd->lock held. Must be called before the queue is read or anything is added to it.
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
	evd->notify_due |= notify != 0;
	atomic_or(KDAPL_EVD_QUEUED, &evd->state);
}

/*
 * The owner has polled, and is going to deliver: from now on done callbacks append their events.
 * evd->lock held
 */
static inline void kdapl_evd_end_poll(struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	/* Fully ordered, as in kdapl_evd_set_inhibit() */
	if (atomic_read(&evd->state) & KDAPL_EVD_POLLING &&
	    atomic_fetch_andnot(KDAPL_EVD_POLLING, &evd->state))
		kdapl_evd_gather(evd);
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

/* Queues the work item */
static inline void kdapl_evd_queue_work(struct kdapl_evd *evd)
{
	queue_work(evd->streams & KDAT_EVD_PROCESS_FLAG ? kdapl_upcall_wq : kdapl_evd_wq,
		   &evd->work);
}

/*
 * An upcall is due, and the EVD has no owner. In poll context the Consumer delivers it with its
 * next poll, unless it waits; if it does not poll at all, the timer does.
 */
static inline void kdapl_evd_schedule(struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	if (evd->context == KDAPL_CONTEXT_POLL && !evd->armed) {
		kdapl_evd_timer_start(evd);
		return;
	}
	evd->armed = false;
	evd->deliver = true;
	kdapl_evd_queue_work(evd);
}

int kdapl_evd_setup(struct kdapl_evd *evd, u32 qlen, DAT_UPCALL_POLICY policy,
		    const DAT_UPCALL_OBJECT *upcall);
void kdapl_evd_cleanup(struct kdapl_evd *evd);
bool kdapl_evd_pop(struct kdapl_evd *evd, DAT_EVENT *out);
int kdapl_evd_post_soft(struct kdapl_evd *evd, void *pointer);
void kdapl_evd_post_async(struct kdapl_evd *evd, DAT_EVENT_NUMBER number,
			  DAT_HANDLE handle, u16 reason);
int kdapl_evd_resize(struct kdapl_evd *evd, u32 qlen);

void kdapl_evd_work_init(struct kdapl_evd *evd);
void kdapl_evd_work_exit(struct kdapl_evd *evd);
void kdapl_evd_deliver(struct kdapl_evd *evd, unsigned int budget);

void kdapl_evd_mark_all(struct kdapl_evd *evd);

int kdapl_evd_poll_cqs(struct kdapl_evd *evd, int max);
bool kdapl_evd_poll_ready(struct kdapl_evd *evd);
bool kdapl_evd_arm_drained(struct kdapl_evd *evd);
bool kdapl_evd_arm_all(struct kdapl_evd *evd);

#endif /* _KDAPL_EVD_QUEUE_H_ */
