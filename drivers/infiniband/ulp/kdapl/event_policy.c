// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues: set-up, changes of policy, taking events back, waiting.
 *
 * The part of an EVD that is not on the way of an event: called by evd.c and
 * by the destructors of EPs in process context, kdapl_evd_modify() and
 * kdapl_evd_notify_all() in any. event.c has the queue and its delivery.
 */
#include <linux/slab.h>
#include "event_queue.h"

static struct kdapl_ring_event *kdapl_ring_alloc(u32 qlen)
{
	struct kdapl_ring_event *ring = kvcalloc(qlen, sizeof(*ring), GFP_KERNEL);
	u32 i;

	if (ring)
		for (i = 0; i < qlen; i++)
			ring[i].next_free = i + 1;
	return ring;
}

/**
 * kdapl_evd_setup - make the queue of a new EVD
 * @evd:    zeroed but for the header
 * @qlen:   room for software and asynchronous events
 * @policy: upcall policy
 * @upcall: what to call, or NULL
 *
 * Context: process.
 * Return: 0, -ENOMEM.
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
	INIT_WORK(&evd->work, kdapl_evd_work);
	INIT_LIST_HEAD(&evd->scqs);
	evd->policy = policy;
	if (upcall)
		evd->upcall = *upcall;
	evd->event.evd_handle = kdapl_obj_handle(&evd->obj);
	spin_lock_irq(&evd->lock);
	kdapl_evd_set_inhibit(evd);
	spin_unlock_irq(&evd->lock);
	return 0;
}

/**
 * kdapl_evd_cleanup - free what kdapl_evd_setup() made
 * @evd: an EVD that nobody feeds and nobody delivers from
 *
 * Context: process.
 */
void kdapl_evd_cleanup(struct kdapl_evd *evd)
{
	kvfree(evd->ring);
	evd->ring = NULL;
}

/* Moves what lies in the ring to another, in its place in the queue. evd->lock held */
static u32 kdapl_ring_move(struct kdapl_evd *evd, struct kdapl_ring_event *ring)
{
	struct kdapl_event *ev, *prev = NULL;
	struct kdapl_ring_event *re;
	u32 n = 0;

	lockdep_assert_held(&evd->lock);
	for (ev = evd->head; ev; prev = ev, ev = ev->next) {
		re = container_of(ev, struct kdapl_ring_event, ev);
		if ((ev->kind != KDAPL_EV_SOFT && ev->kind != KDAPL_EV_ASYNC) ||
		    re == &evd->overflow)
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

/**
 * kdapl_evd_resize - give an EVD another ring
 * @evd:  the EVD
 * @qlen: room for software and asynchronous events
 *
 * Nobody keeps a pointer to an entry without evd->lock: what is queued can move
 * while others queue and deliver.
 *
 * Context: process.
 * Return: 0; -ENOMEM; -EBUSY if @qlen is less than the present length and less than
 * the number of queued events of all kinds.
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
		/* The bound of waiting requests is read without the lock (psp.c) */
		WRITE_ONCE(evd->qlen, qlen);
	}
	spin_unlock_irq(&evd->lock);
	kvfree(ring);
	return ret;
}

/**
 * kdapl_evd_take_back - take all events of an EP off the queue
 * @evd: the EVD
 * @ep:  the EP; its slots go back to their pools
 *
 * Context: any.
 * Return: how many there were.
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
		if (ev->ep != ep) {
			prev = ev;
			continue;
		}
		kdapl_evd_unlink(evd, prev, ev);
		if (ev->kind == KDAPL_EV_DTO || ev->kind == KDAPL_EV_BIND) {
			slot = kdapl_slot_of_event(ev);
			kdapl_pool_put(slot->pool, slot);
		}
		n++;
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	return n;
}

/*
 * Sets the notify mark of every queued event. Each solicited message calls this,
 * and the queue may be long, so the walk continues where the last one ended:
 * starting at the head every time would be quadratic in the number of queued
 * messages. evd->lock held.
 */
static void kdapl_evd_mark_all(struct kdapl_evd *evd)
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
	evd->note = evd->nnotify;
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
	evd->note = false;
}

/**
 * kdapl_evd_notify_all - let everything queued lead to upcalls
 * @evd: the EVD
 *
 * Context: any; never runs the upcall itself.
 */
void kdapl_evd_notify_all(struct kdapl_evd *evd)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	kdapl_evd_mark_all(evd);
	if (kdapl_evd_owes(evd))
		queue_work(kdapl_evd_wq, &evd->work);
	spin_unlock_irqrestore(&evd->lock, flags);
}

/**
 * kdapl_evd_modify - change policy and upcall
 * @evd:    the EVD
 * @policy: new policy
 * @upcall: new object, or NULL to keep the present one
 * @flag:   whether events already queued lead to upcalls
 *
 * Context: any, also inside the EVD's upcall; it then counts from the next
 * one on. For TEARDOWN the caller waits afterwards, kdapl_evd_wait_idle().
 * Return: 0, -EINVAL when the policy needs a function and there is none.
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
		/* A holder of the baton may just be reading the pair: leave it to him */
		evd->next_upcall = *upcall;
		evd->has_next = true;
	}
	kdapl_evd_set_inhibit(evd);
	/*
	 * INHIBIT keeps the straight way shut while has_next is set, so that
	 * with the baton free nobody can take it before the pair is in place.
	 */
	if (!(atomic_read_acquire(&evd->claim) & KDAPL_EVD_BATON))
		kdapl_evd_apply_next(evd);
	if (flag == DAT_UPCALL_INVOC_ANY)
		kdapl_evd_mark_all(evd);
	else
		kdapl_evd_unmark_all(evd);
	if (kdapl_evd_owes(evd) || evd->has_next)
		queue_work(kdapl_evd_wq, &evd->work);
out:
	spin_unlock_irqrestore(&evd->lock, flags);
	return ret;
}

static void kdapl_evd_wait_begin(struct kdapl_evd *evd)
{
	spin_lock_irq(&evd->lock);
	evd->nwaiters++;
	atomic_or(KDAPL_EVD_WAITER, &evd->claim);
	spin_unlock_irq(&evd->lock);
}

/* Taking the lock also makes sure that who woke us is through with the EVD */
static void kdapl_evd_wait_end(struct kdapl_evd *evd)
{
	spin_lock_irq(&evd->lock);
	if (!--evd->nwaiters)
		atomic_andnot(KDAPL_EVD_WAITER, &evd->claim);
	spin_unlock_irq(&evd->lock);
}

/**
 * kdapl_evd_wait_idle - wait until nobody delivers
 * @evd: an EVD whose policy lets no new upcall start
 *
 * Context: process, not inside an upcall.
 */
void kdapl_evd_wait_idle(struct kdapl_evd *evd)
{
	kdapl_evd_wait_begin(evd);
	wait_event(evd->wait, !(atomic_read_acquire(&evd->claim) & KDAPL_EVD_BATON));
	kdapl_evd_wait_end(evd);
}

/**
 * kdapl_evd_wait_ep - wait for a running upcall that carries an EP's event
 * @evd: the EVD
 * @ep:  an EP no event of which is queued any more
 *
 * Context: process, not inside an upcall.
 */
void kdapl_evd_wait_ep(struct kdapl_evd *evd, struct kdapl_ep *ep)
{
	kdapl_evd_wait_begin(evd);
	/* Pairs with the release in kdapl_evd_call() */
	wait_event(evd->wait, smp_load_acquire(&evd->cur_ep) != ep);
	kdapl_evd_wait_end(evd);
}
