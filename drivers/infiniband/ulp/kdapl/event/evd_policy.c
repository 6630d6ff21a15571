// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues: set-up, changes of policy, removal of an EP's events, waiting.
 *
 * The slow path of an EVD. Called by evd.c and by the destructors of EPs in process
 * context; kdapl_evd_modify() and kdapl_evd_notify_all() in any context. Queuing and
 * delivery are in evd_queue.c.
 */
#include <linux/slab.h>
#include "evd_queue.h"

static struct kdapl_ring_event *kdapl_ring_alloc(u32 qlen)
{
	struct kdapl_ring_event *ring = kvcalloc(qlen, sizeof(*ring), GFP_KERNEL);
	u32 i;

	if (ring)
		for (i = 0; i < qlen; i++)
			ring[i].next_free = i + 1;
	return ring;
}

/*
 * Sets up the queue of a new EVD. @evd: zeroed except for the header and the context. Returns 0 or
 * -ENOMEM. Process context.
 */
int kdapl_evd_setup(struct kdapl_evd *evd, u32 qlen, DAT_UPCALL_POLICY policy,
		    const DAT_UPCALL_OBJECT *upcall)
{
	evd->ring = kdapl_ring_alloc(qlen);
	if (!evd->ring)
		return -ENOMEM;
	evd->qlen = qlen;
	spin_lock_init(&evd->lock);
	init_waitqueue_head(&evd->wait);
	INIT_LIST_HEAD(&evd->cqs);
	INIT_LIST_HEAD(&evd->ready);
	INIT_LIST_HEAD(&evd->drained);
	evd->policy = policy;
	if (upcall)
		evd->upcall = *upcall;
	evd->event.evd_handle = kdapl_obj_handle(&evd->obj);
	spin_lock_irq(&evd->lock);
	kdapl_evd_set_inhibit(evd);
	spin_unlock_irq(&evd->lock);
	return 0;
}

/* Undoes kdapl_evd_setup(). @evd: an EVD without producers and an owner. Process context */
void kdapl_evd_cleanup(struct kdapl_evd *evd)
{
	kvfree(evd->ring);
	evd->ring = NULL;
}

/* Moves the queued events of the ring to another one, in place. evd->lock held */
static u32 kdapl_ring_move(struct kdapl_evd *evd, struct kdapl_ring_event *ring)
{
	struct kdapl_event *ev, *prev = NULL;
	struct kdapl_ring_event *re;
	u32 n = 0;

	lockdep_assert_held(&evd->lock);
	for (ev = evd->head; ev; prev = ev, ev = ev->next) {
		re = container_of(ev, struct kdapl_ring_event, ev);
		if ((ev->kind != KDAPL_EV_SOFT && ev->kind != KDAPL_EV_ASYNC) ||
		    re == &evd->overflow || kdapl_event_of_ia(ev))
			continue;
		ring[n] = *re;
		if (evd->marked == ev)
			evd->marked = &ring[n].ev;
		ev = &ring[n++].ev;
		if (prev)
			prev->next = ev;
		else
			evd->head = ev;
		if (!ev->next)
			evd->tail = ev;
	}
	return n;
}

/*
 * Replaces the ring of an EVD. Nobody keeps a pointer to an entry of the ring without evd->lock, so
 * queued events can move while others queue and deliver. @qlen: number of software and asynchronous
 * events that must fit. Returns 0; -ENOMEM; -EBUSY if @qlen is less than the current length and
 * less than the number of queued events of all kinds. Process context.
 */
int kdapl_evd_resize(struct kdapl_evd *evd, u32 qlen)
{
	struct kdapl_ring_event *ring = kdapl_ring_alloc(qlen);
	int ret = 0;

	if (!ring)
		return -ENOMEM;
	spin_lock_irq(&evd->lock);
	kdapl_evd_gather(evd);
	if (qlen < evd->qlen && kdapl_evd_length(evd) > qlen) {
		ret = -EBUSY;
	} else {
		evd->ring_free = kdapl_ring_move(evd, ring);
		swap(evd->ring, ring);
		/* sp_backlog.c reads it without the lock, as the limit of waiting requests */
		WRITE_ONCE(evd->qlen, qlen);
	}
	spin_unlock_irq(&evd->lock);
	kvfree(ring);
	return ret;
}

/* Returns true if an event belongs to the EP, or to another one that is being freed */
static bool kdapl_event_ends_with(const struct kdapl_event *ev, const struct kdapl_ep *ep)
{
	return ev->ep == ep || (ev->ep && READ_ONCE(ev->ep->dying));
}

/*
 * Removes all events of an EP from the queue. Also removes those of other EPs that are being
 * freed, so that to free many EPs of an EVD takes one pass over its queue. @ep: the EP; the slots
 * of the events are returned to their pools. Returns the number of events. Any context.
 */
u32 kdapl_evd_take_back(struct kdapl_evd *evd, struct kdapl_ep *ep)
{
	struct kdapl_event *ev, *next, *prev = NULL;
	struct kdapl_slot *slot;
	unsigned long flags;
	u32 n = 0;

	spin_lock_irqsave(&evd->lock, flags);
	kdapl_evd_gather(evd);
	for (ev = evd->head; ev; ev = next) {
		next = ev->next;
		if (!kdapl_event_ends_with(ev, ep)) {
			prev = ev;
			continue;
		}
		kdapl_evd_unlink(evd, prev, ev);
		if (ev->kind == KDAPL_EV_DTO || ev->kind == KDAPL_EV_BIND) {
			slot = kdapl_slot_of_event(ev);
			kdapl_pool_put(slot);
		}
		n++;
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	return n;
}

/*
 * Removes IA_CATASTROPHIC from the queue. @ia: an IA that is being closed, on whose behalf nothing
 * is raised any more. Process context.
 */
void kdapl_ia_take_back(struct kdapl_ia *ia)
{
	struct kdapl_evd *evd = ia->async_evd;
	struct kdapl_event *ev, *prev = NULL;

	spin_lock_irq(&evd->lock);
	for (ev = evd->head; ev && ev != &ia->catastrophic_event.ev; ev = ev->next)
		prev = ev;
	if (ev)
		kdapl_evd_unlink(evd, prev, ev);
	spin_unlock_irq(&evd->lock);
}

/*
 * Sets the notify mark of every queued event. Each solicited message calls this, and the queue may
 * be long, so the walk continues where the last one ended: starting at the head every time would be
 * quadratic in the number of queued messages. evd->lock held.
 */
void kdapl_evd_mark_all(struct kdapl_evd *evd)
{
	struct kdapl_event *ev;

	lockdep_assert_held(&evd->lock);
	kdapl_evd_gather(evd);
	ev = evd->marked ? evd->marked->next : evd->head;
	for (; ev; ev = ev->next) {
		evd->nnotify += !ev->notify;
		ev->notify = true;
	}
	if (evd->marked)
		evd->marked->notify = true;
	evd->marked = evd->tail;
	if (evd->marked)
		evd->marked->notify = KDAPL_NOTIFY_LAST;
	evd->notify_due = evd->nnotify;
}

/* Clears the notify mark of every queued event. evd->lock held */
static void kdapl_evd_unmark_all(struct kdapl_evd *evd)
{
	struct kdapl_event *ev;

	lockdep_assert_held(&evd->lock);
	kdapl_evd_gather(evd);
	for (ev = evd->head; ev; ev = ev->next)
		ev->notify = false;
	evd->marked = NULL;
	evd->nnotify = 0;
	evd->notify_due = false;
}

/* Makes all queued events ask for an upcall. Any context; never runs the upcall itself */
void kdapl_evd_notify_all(struct kdapl_evd *evd)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	kdapl_evd_mark_all(evd);
	if (kdapl_evd_upcall_due(evd))
		kdapl_evd_schedule(evd);
	spin_unlock_irqrestore(&evd->lock, flags);
}

/*
 * Changes policy and upcall. For TEARDOWN the caller calls kdapl_evd_wait_idle() afterwards.
 * Returns 0, or -EINVAL if the policy needs a function and there is none. Any context, also inside
 * the EVD's upcall; then the change applies from the next upcall on.
 *
 * @upcall: new object, or NULL to keep the current one
 * @flag:   whether events that are queued already lead to upcalls
 */
int kdapl_evd_modify(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy,
		     const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag)
{
	const DAT_UPCALL_OBJECT *now;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&evd->lock, flags);
	now = upcall ?: evd->has_next ? &evd->next_upcall : &evd->upcall;
	if (!now->upcall_func &&
	    (policy == DAT_UPCALL_SINGLE_INSTANCE || policy == DAT_UPCALL_NOTIFY)) {
		ret = -EINVAL;
		goto out;
	}
	evd->policy = policy;
	if (upcall) {
		/* The owner may be reading the old pair, so it applies this one */
		evd->next_upcall = *upcall;
		evd->has_next = true;
	}
	kdapl_evd_set_inhibit(evd);
	/*
	 * While has_next is set, INHIBIT prevents direct delivery. So if the EVD has no
	 * owner, nobody can become the owner before the new pair is stored.
	 */
	if (!(atomic_read_acquire(&evd->state) & KDAPL_EVD_OWNED))
		kdapl_evd_apply_next(evd);
	if (flag == DAT_UPCALL_INVOC_ANY)
		kdapl_evd_mark_all(evd);
	else
		kdapl_evd_unmark_all(evd);
	if (kdapl_evd_upcall_due(evd))
		kdapl_evd_schedule(evd);
	else if (evd->has_next)
		kdapl_evd_queue_work(evd);
out:
	spin_unlock_irqrestore(&evd->lock, flags);
	return ret;
}

static void kdapl_evd_wait_begin(struct kdapl_evd *evd)
{
	spin_lock_irq(&evd->lock);
	evd->nwaiters++;
	atomic_or(KDAPL_EVD_WAITER, &evd->state);
	spin_unlock_irq(&evd->lock);
}

/* Taking the lock also ensures that the task that woke this one has left the EVD */
static void kdapl_evd_wait_end(struct kdapl_evd *evd)
{
	spin_lock_irq(&evd->lock);
	if (!--evd->nwaiters)
		atomic_andnot(KDAPL_EVD_WAITER, &evd->state);
	spin_unlock_irq(&evd->lock);
}

/*
 * Waits until the EVD has no owner. @evd: an EVD whose policy allows no new upcall. Process
 * context, not inside an upcall.
 */
void kdapl_evd_wait_idle(struct kdapl_evd *evd)
{
	kdapl_evd_wait_begin(evd);
	wait_event(evd->wait, !(atomic_read_acquire(&evd->state) & KDAPL_EVD_OWNED));
	kdapl_evd_wait_end(evd);
}

/*
 * Waits until no upcall delivers an event of an EP. @ep: an EP that has no events on the queue;
 * only compared. Process context, not inside an upcall.
 */
void kdapl_evd_wait_ep(struct kdapl_evd *evd, const struct kdapl_ep *ep)
{
	kdapl_evd_wait_begin(evd);
	/* Pairs with the release in kdapl_evd_deliver() */
	wait_event(evd->wait, smp_load_acquire(&evd->cur_ep) != ep);
	kdapl_evd_wait_end(evd);
}

/*
 * Returns true if an upcall is delivering an event of an EP. Does not notice the upcall of a done
 * callback that does not queue its event. Any context.
 */
bool kdapl_evd_delivers(struct kdapl_evd *evd, const struct kdapl_ep *ep)
{
	unsigned long flags;
	bool delivers;

	/* Under the lock, because an event must be seen queued or being delivered */
	spin_lock_irqsave(&evd->lock, flags);
	delivers = READ_ONCE(evd->cur_ep) == ep;
	spin_unlock_irqrestore(&evd->lock, flags);
	return delivers;
}
