// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues: queuing, dequeuing, delivery.
 *
 * Determines who runs an upcall, and when. Events are queued by done callbacks (complete.c),
 * by connection work, and by dat_evd_post_se() in any context. They leave the queue through
 * dat_evd_dequeue(), in any context, and through upcalls.
 *
 * There are two paths to an upcall:
 * - Fast path: a done callback finds evd->state 0 (no owner, nothing queued, and the
 *   policy wants the event). It takes the ownership of the EVD by one cmpxchg, copies
 *   the event, returns the slot, and calls the Consumer.
 * - Slow path: the event is appended under evd->lock. If it asks for an upcall, it is delivered by
 *   the current owner, which checks the queue again before giving up the ownership; if there is
 *   none, in softirq context by the done callback itself; or otherwise by the work item
 *   (evd_work.c) or the Consumer's poll (evd_poll.c).
 *
 * No event is lost between the two paths: a producer sets QUEUED and reads OWNED by one fetch_or,
 * and the fast path ends the ownership by a cmpxchg that fails once QUEUED is set.
 *
 * An event is copied and its slot is returned before the upcall runs, so inside the
 * upcall the queue has room for one more post.
 */
#include <linux/bottom_half.h>
#include <linux/export.h>
#include "evd_queue.h"
#include "base/trace.h"

/* Appends an event to the queue. Returns the old value of state. evd->lock held */
static int kdapl_evd_append(struct kdapl_evd *evd, struct kdapl_event *ev)
{
	lockdep_assert_held(&evd->lock);
	kdapl_evd_gather(evd);
	ev->next = NULL;
	if (evd->tail)
		evd->tail->next = ev;
	else
		evd->head = ev;
	evd->tail = ev;
	if (ev->notify) {
		evd->nnotify++;
		evd->notify_due = true;
	}
	return atomic_fetch_or(KDAPL_EVD_QUEUED, &evd->state);
}

static struct kdapl_ring_event *kdapl_ring_of(struct kdapl_event *ev)
{
	return container_of(ev, struct kdapl_ring_event, ev);
}

/* Returns a ring entry. evd->lock held */
static void kdapl_ring_put(struct kdapl_evd *evd, struct kdapl_ring_event *re)
{
	lockdep_assert_held(&evd->lock);
	if (re == &evd->overflow) {
		evd->overflow_queued = false;
	} else {
		re->next_free = evd->ring_free;
		evd->ring_free = re - evd->ring;
		evd->ring_used--;
	}
	if (!evd->ring_used && !evd->overflow_queued)
		evd->overflowed = false;
}

static struct kdapl_ring_event *kdapl_ring_get(struct kdapl_evd *evd)
{
	struct kdapl_ring_event *re;

	lockdep_assert_held(&evd->lock);
	if (evd->ring_free >= evd->qlen)
		return NULL;
	re = &evd->ring[evd->ring_free];
	evd->ring_free = re->next_free;
	evd->ring_used++;
	re->ev.ep = NULL;
	re->ev.notify = true;
	return re;
}

/* Out of line, so that software events do not pay for it. evd->lock held */
static __cold noinline void kdapl_async_put(struct kdapl_evd *evd, struct kdapl_ring_event *re)
{
	if (!kdapl_event_of_ia(&re->ev))
		kdapl_ring_put(evd, re);
}

/* Copies a DTO completion of @ep and returns its slot */
static __always_inline void kdapl_fill_dto(struct kdapl_event *ev, const struct kdapl_ep *ep,
					   DAT_EVENT *out)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &out->event_data.dto_completion_event_data;
	struct kdapl_slot *slot = kdapl_slot_of_event(ev);

	out->event_number = DAT_DTO_COMPLETION_EVENT;
	dto->ep_handle = kdapl_obj_handle(&ep->obj);
	/* The members from here on have the same layout */
	*(struct kdapl_dto *)&dto->user_cookie = slot->dto;
	kdapl_pool_put(slot);
}

static void kdapl_fill_bind(struct kdapl_event *ev, DAT_EVENT *out)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data = &out->event_data.rmr_completion_event_data;
	struct kdapl_slot *slot = kdapl_slot_of_event(ev);

	out->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
	data->rmr_handle = slot->rmr;
	data->user_cookie.as_64 = slot->dto.cookie;
	data->status = slot->dto.status;
	kdapl_pool_put(slot);
}

static void kdapl_fill_conn(struct kdapl_event *ev, DAT_EVENT *out)
{
	struct kdapl_conn_event *ce = container_of(ev, struct kdapl_conn_event, ev);
	DAT_CONNECTION_EVENT_DATA *data = &out->event_data.connect_event_data;

	out->event_number = ce->number;
	data->ep_handle = kdapl_obj_handle(&ev->ep->obj);
	data->private_data_size = ce->private_len;
	data->private_data = ce->private_len ? ev->ep->conn.private : NULL;
}

/* Returns the CR of an event, on which the event holds a reference, or NULL */
static struct kdapl_cr *kdapl_cr_of(struct kdapl_event *ev)
{
	return ev->kind == KDAPL_EV_CR ? container_of(ev, struct kdapl_cr, ev) : NULL;
}

static void kdapl_fill_cr(struct kdapl_event *ev, DAT_EVENT *out)
{
	struct kdapl_cr *cr = kdapl_cr_of(ev);
	DAT_CR_ARRIVAL_EVENT_DATA *data = &out->event_data.cr_arrival_event_data;

	out->event_number = DAT_CONNECTION_REQUEST_EVENT;
	data->sp_handle.psp_handle = kdapl_obj_handle(&cr->sp->obj);
	data->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->local;
	data->conn_qual = cr->sp->qual;
	data->cr_handle = kdapl_obj_handle(&cr->obj);
	data->truncate_flag = DAT_FALSE;
}

/*
 * Copies an event that is no longer queued, and returns the slot or ring entry that contained
 * it. The caller drops the reference that the event holds on a CR. evd->lock held for all
 * kinds except DTO, whose node nobody else uses.
 */
static void kdapl_evd_fill(struct kdapl_evd *evd, struct kdapl_event *ev, DAT_EVENT *out)
{
	struct kdapl_ring_event *re;

	switch (ev->kind) {
	case KDAPL_EV_DTO:
		kdapl_fill_dto(ev, ev->ep, out);
		break;
	case KDAPL_EV_BIND:
		kdapl_fill_bind(ev, out);
		break;
	case KDAPL_EV_CONN:
		kdapl_fill_conn(ev, out);
		break;
	case KDAPL_EV_CR:
		kdapl_fill_cr(ev, out);
		break;
	case KDAPL_EV_SOFT:
		re = kdapl_ring_of(ev);
		out->event_number = re->number;
		out->event_data.software_event_data.pointer = re->pointer;
		kdapl_ring_put(evd, re);
		break;
	case KDAPL_EV_ASYNC:
		re = kdapl_ring_of(ev);
		out->event_number = re->number;
		out->event_data.asynch_error_event_data.dat_handle = re->handle;
		out->event_data.asynch_error_event_data.reason = re->reason;
		kdapl_async_put(evd, re);
		break;
	}
}

/* Out of line, so that the fast path keeps nothing for it */
static __cold noinline void kdapl_trace_upcall(const struct kdapl_evd *evd, bool note, bool more)
{
	trace_kdapl_upcall(kdapl_obj_id(&evd->obj), note ? 0 : evd->event.event_number, more);
}

/*
 * Runs one upcall, for the event in the EVD or (@note) without one. @upcall may be that of the
 * EVD, so it is read last. The caller owns the EVD and holds no lock
 */
static __always_inline void kdapl_evd_call(struct kdapl_evd *evd, const DAT_UPCALL_OBJECT *upcall,
					   bool note, bool more)
{
	if (trace_kdapl_upcall_enabled())
		kdapl_trace_upcall(evd, note, more);
	upcall->upcall_func(upcall->instance_data, note ? NULL : &evd->event,
			    more ? DAT_TRUE : DAT_FALSE);
}

/* Gives up the ownership. evd->lock held */
static void kdapl_evd_release(struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	kdapl_evd_apply_next(evd);
	if (atomic_fetch_andnot_release(KDAPL_EVD_OWNED, &evd->state) & KDAPL_EVD_WAITER)
		wake_up_all(&evd->wait);
}

/*
 * The budget of the owner is used up. The work item continues; in poll context the next poll
 * does. In process context nobody else can become the owner, and the work item may wait long for
 * the upcalls of other EVDs, so it must not keep a caller waiting that disables the upcalls.
 * evd->lock held
 */
static void kdapl_evd_pass(struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	if (evd->context != KDAPL_CONTEXT_SOFTIRQ) {
		kdapl_evd_release(evd);
		kdapl_evd_schedule(evd);
	} else {
		atomic_or(KDAPL_EVD_PASSED, &evd->state);
		kdapl_evd_queue_work(evd);
	}
}

/*
 * Delivers events while upcalls are due and the budget lasts. Gives up the ownership at the end,
 * or passes it to the work item. Context: softirq, or bottom halves off; in process context the
 * work item.
 *
 * @evd:    the EVD, which the caller owns
 * @budget: the largest number of upcalls
 */
noinline void kdapl_evd_deliver(struct kdapl_evd *evd, unsigned int budget)
{
	struct kdapl_event *ev;
	struct kdapl_cr *cr;
	unsigned long flags;
	bool more, note;

	spin_lock_irqsave(&evd->lock, flags);
	kdapl_evd_end_poll(evd);
	for (;;) {
		kdapl_evd_apply_next(evd);
		if (!kdapl_evd_upcall_due(evd)) {
			kdapl_evd_release(evd);
			break;
		}
		if (!budget--) {
			kdapl_evd_pass(evd);
			break;
		}
		note = evd->policy == DAT_UPCALL_NOTIFY;
		evd->notify_due = false;
		cr = NULL;
		if (!note) {
			ev = evd->head;
			/* Under the lock, because dat_ep_free() must see it queued or running */
			WRITE_ONCE(evd->cur_ep, ev->ep);
			if (likely(kdapl_event_is_dto(ev))) {
				kdapl_evd_unlink_head(evd, ev);
				kdapl_fill_dto(ev, ev->ep, &evd->event);
			} else {
				cr = kdapl_cr_of(ev);
				kdapl_evd_unlink(evd, NULL, ev);
				kdapl_evd_fill(evd, ev, &evd->event);
			}
		}
		more = evd->head;
		spin_unlock_irqrestore(&evd->lock, flags);

		/* Only the owner changes the upcall, see kdapl_evd_modify() */
		kdapl_evd_call(evd, &evd->upcall, note, more);
		/* Pairs with the wait in kdapl_evd_wait_ep(): the upcall has ended */
		smp_store_release(&evd->cur_ep, NULL);
		/* Not earlier: the event contains a pointer to the address in the CR */
		if (cr)
			kdapl_cr_put(cr);

		spin_lock_irqsave(&evd->lock, flags);
		if (atomic_read(&evd->state) & KDAPL_EVD_WAITER)
			wake_up_all(&evd->wait);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
}

/*
 * Appends an event, and delivers it if it asks for an upcall. Any context; with @in_done false no
 * upcall runs on the caller's stack.
 *
 * @ev:      node; belongs to the EVD until the event is delivered or dequeued
 * @in_done: the caller is a done callback in which upcalls may run if the context of the EVD is
 *           softirq
 */
void kdapl_evd_queue(struct kdapl_evd *evd, struct kdapl_event *ev, bool in_done)
{
	unsigned long flags;
	bool mine = false;
	int state;

	spin_lock_irqsave(&evd->lock, flags);
	state = kdapl_evd_append(evd, ev);
	/* An owner sees QUEUED before it gives up the ownership */
	if (!(state & KDAPL_EVD_OWNED) && ev->notify && kdapl_evd_wants_upcall(evd)) {
		if (in_done && evd->context == KDAPL_CONTEXT_SOFTIRQ) {
			atomic_or(KDAPL_EVD_OWNED, &evd->state);
			mine = true;
		} else {
			kdapl_evd_schedule(evd);
		}
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	if (mine)
		/* One more: the caller's own event does not count */
		kdapl_evd_deliver(evd, KDAPL_EVD_BUDGET + 1);
}

/*
 * Upcalls were enabled, or a poll ended, while an event was being pushed. Queues the event, and
 * delivers it unless the EVD has an owner. Context: done callback.
 */
void __cold kdapl_evd_pushed_late(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool mine = false;

	spin_lock_irqsave(&evd->lock, flags);
	kdapl_evd_gather(evd);
	if (!kdapl_evd_upcall_due(evd))
		goto out;
	if (evd->context != KDAPL_CONTEXT_SOFTIRQ)
		kdapl_evd_schedule(evd);
	else
		mine = !(atomic_fetch_or(KDAPL_EVD_OWNED, &evd->state) & KDAPL_EVD_OWNED);
out:
	spin_unlock_irqrestore(&evd->lock, flags);
	if (mine)
		kdapl_evd_deliver(evd, KDAPL_EVD_BUDGET);
}

/*
 * Delivers or queues the event of a completed DTO. The fast path is only open if upcalls of the
 * EVD run in softirq. @slot: its event asks for an upcall. Context: done callback.
 */
void kdapl_evd_complete(struct kdapl_evd *evd, struct kdapl_slot *slot)
{
	int state = 0;

	if (unlikely(!atomic_try_cmpxchg_acquire(&evd->state, &state, KDAPL_EVD_OWNED))) {
		kdapl_evd_queue(evd, &slot->ev, true);
		return;
	}
	kdapl_fill_dto(&slot->ev, slot->ev.ep, &evd->event);
	kdapl_evd_call(evd, &evd->upcall, false, false);
	state = KDAPL_EVD_OWNED;
	if (unlikely(!atomic_try_cmpxchg_release(&evd->state, &state, 0)))
		kdapl_evd_deliver(evd, KDAPL_EVD_BUDGET);
}

/* Out of line: removes and copies the oldest event, whatever it is. evd->lock held */
static noinline void kdapl_evd_take_other(struct kdapl_evd *evd, struct kdapl_event *ev,
					  DAT_EVENT *out)
{
	struct kdapl_cr *cr = kdapl_cr_of(ev);

	kdapl_evd_unlink(evd, NULL, ev);
	kdapl_evd_fill(evd, ev, out);
	if (cr)
		kdapl_cr_put(cr);
}

/* Out of line, so that it costs the common case no registers */
static noinline struct kdapl_event *kdapl_evd_gather_head(struct kdapl_evd *evd)
{
	kdapl_evd_gather(evd);
	return evd->head;
}

/* Removes and copies the oldest event. Interrupts off (on RT: any context of a thread) */
static __always_inline bool kdapl_evd_take(struct kdapl_evd *evd, DAT_EVENT *out)
{
	struct kdapl_event *ev;

	spin_lock(&evd->lock);
	ev = evd->head;
	if (unlikely(!ev)) {
		ev = kdapl_evd_gather_head(evd);
		if (!ev) {
			spin_unlock(&evd->lock);
			return false;
		}
	}
	out->evd_handle = kdapl_obj_handle(&evd->obj);
	if (likely(kdapl_event_is_dto(ev))) {
		kdapl_evd_unlink_head(evd, ev);
		kdapl_fill_dto(ev, ev->ep, out);
	} else {
		kdapl_evd_take_other(evd, ev, out);
	}
	/* To compute the address of the lock again is cheaper than to keep it */
	OPTIMIZER_HIDE_VAR(evd);
	spin_unlock(&evd->lock);
	return true;
}

/*
 * Removes and copies the oldest event. @out: receives the event, except for members that the event
 * does not have; unchanged if there is none. Returns false if no event is queued. Any context.
 */
bool kdapl_evd_pop(struct kdapl_evd *evd, DAT_EVENT *out)
{
	unsigned long flags;
	bool found;

	kdapl_rcu_read_lock_irqsave(flags);
	found = kdapl_evd_take(evd, out);
	kdapl_rcu_read_unlock_irqrestore(flags);
	return found;
}

/*
 * Counts the queued events. @notify: receives how many of them still ask for an upcall; may be
 * NULL. Any context.
 */
u32 kdapl_evd_count(struct kdapl_evd *evd, u32 *notify)
{
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&evd->lock, flags);
	kdapl_evd_gather(evd);
	n = kdapl_evd_length(evd);
	if (notify)
		*notify = evd->nnotify;
	spin_unlock_irqrestore(&evd->lock, flags);
	return n;
}

/*
 * Queues a software event. Returns 0, or -ENOSPC if the ring is full. Any context; never runs the
 * upcall itself.
 */
int kdapl_evd_post_soft(struct kdapl_evd *evd, void *pointer)
{
	struct kdapl_ring_event *re;
	unsigned long flags;
	int state;

	spin_lock_irqsave(&evd->lock, flags);
	re = kdapl_ring_get(evd);
	if (re) {
		re->ev.kind = KDAPL_EV_SOFT;
		re->number = DAT_SOFTWARE_EVENT;
		re->pointer = pointer;
		state = kdapl_evd_append(evd, &re->ev);
		if (!(state & KDAPL_EVD_OWNED) && kdapl_evd_wants_upcall(evd))
			kdapl_evd_schedule(evd);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	return re ? 0 : -ENOSPC;
}

/* Queues an asynchronous event, whose node belongs to the caller. evd->lock held */
static void kdapl_async_append(struct kdapl_evd *evd, struct kdapl_ring_event *re,
			       DAT_EVENT_NUMBER number, DAT_HANDLE handle, u16 reason)
{
	int state;

	lockdep_assert_held(&evd->lock);
	re->ev.kind = KDAPL_EV_ASYNC;
	re->ev.notify = true;
	re->number = number;
	re->handle = handle;
	re->reason = reason;
	state = kdapl_evd_append(evd, &re->ev);
	if (!(state & KDAPL_EVD_OWNED) && kdapl_evd_wants_upcall(evd))
		kdapl_evd_schedule(evd);
}

/*
 * Queues IA_CATASTROPHIC. The node is part of the IA, so that the event cannot be lost. Before the
 * IA is freed, the event is taken back or its EVD is destroyed. @ia: the IA, for which that was
 * not done before. Any context; never runs the upcall itself.
 */
void kdapl_evd_post_catastrophic(struct kdapl_ia *ia)
{
	struct kdapl_evd *evd = ia->async_evd;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	kdapl_async_append(evd, &ia->catastrophic_event, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
			   kdapl_obj_handle(&ia->obj), DAT_IA_CATASTROPHIC_ERROR);
	spin_unlock_irqrestore(&evd->lock, flags);
}

/*
 * Queues an asynchronous event. If the ring is full, the event is dropped and counted, and the
 * overflow event uses the entry reserved for it. There is one overflow event until the ring has
 * been empty. Any context; never runs the upcall itself.
 *
 * @number: DAT_ASYNC_ERROR_*
 * @handle: the object concerned
 */
void kdapl_evd_post_async(struct kdapl_evd *evd, DAT_EVENT_NUMBER number,
			  DAT_HANDLE handle, u16 reason)
{
	struct kdapl_ring_event *re;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	re = kdapl_ring_get(evd);
	if (!re) {
		evd->dropped++;
		if (evd->overflowed)
			goto out;
		evd->overflowed = true;
		evd->overflow_queued = true;
		re = &evd->overflow;
		number = DAT_ASYNC_ERROR_EVD_OVERFLOW;
		handle = kdapl_obj_handle(&evd->obj);
		reason = DAT_EVD_OVERFLOW_ERROR;
	}
	kdapl_async_append(evd, re, number, handle, reason);
out:
	spin_unlock_irqrestore(&evd->lock, flags);
}

/* Polls the CQs of an EVD that appears to be empty, if kDAPL polls them */
static noinline bool kdapl_evd_take_polled(struct kdapl_evd *evd, DAT_EVENT *out,
					   unsigned long flags)
{
	if (!READ_ONCE(evd->ncqs))
		return false;
	/* There may be many CQs, so interrupts are off only while one is polled */
	rcu_read_lock();
	kdapl_rcu_read_unlock_irqrestore(flags);
	WRITE_ONCE(evd->polled, jiffies);
	kdapl_evd_poll_cqs(evd, KDAPL_EVD_BUDGET);
	kdapl_rcu_read_lock_irqsave(flags);
	rcu_read_unlock();
	return kdapl_evd_take(evd, out);
}

/**
 * dat_evd_dequeue - remove and return the oldest event of an EVD
 * @evd_handle: the EVD
 * @event:      receives the event, except for members that the event does not have,
 *              and event_extension_data, which no event has; unchanged unless
 *              DAT_SUCCESS is returned
 *
 * When the call returns, the slot of the completed post is free again. Each event is returned once,
 * here or to an upcall.
 *
 * Context: any except hard interrupt; never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @evd_handle is not the handle of an EVD
 * * DAT_INVALID_PARAMETER - @event is NULL
 * * DAT_QUEUE_EMPTY - no event is queued
 */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_obj *obj;
	unsigned long flags;
	struct kdapl_evd *evd;

	kdapl_rcu_read_lock_irqsave(flags);
	if (unlikely(!kdapl_obj_lookup_any(evd_handle, &obj) ||
		     /* Constant for an EVD, and no other type ever has this bit */
		     !data_race(obj->fast_ops & KDAPL_FAST_EVD))) {
		kdapl_rcu_read_unlock_irqrestore(flags);
		return KDAPL_ERROR(INVALID_HANDLE);
	}
	evd = to_kdapl_evd(obj);
	if (unlikely(!event))
		ret = KDAPL_BAD_ARG(2);
	else if (unlikely(!kdapl_evd_take(evd, event) && !kdapl_evd_take_polled(evd, event, flags)))
		ret = KDAPL_ERROR(QUEUE_EMPTY);
	kdapl_rcu_read_unlock_irqrestore(flags);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_dequeue);

/**
 * dat_evd_post_se - queue a software event
 * @evd_handle: an EVD with DAT_EVD_SOFTWARE_FLAG
 * @event:      event_number must be DAT_SOFTWARE_EVENT; only the pointer in
 *              software_event_data is delivered
 *
 * The upcall, if one is due, never runs on the stack of the caller: it runs on another CPU or after
 * the call has returned.
 *
 * Context: any; in hard interrupt context not on RT. Never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @evd_handle is not the handle of an EVD
 * * DAT_INVALID_PARAMETER - the EVD was created without DAT_EVD_SOFTWARE_FLAG; @event
 *   is NULL or has another number
 * * DAT_QUEUE_FULL - the number of queued software and asynchronous events has reached
 *   the length of the EVD
 */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_obj *obj;
	unsigned long flags;
	struct kdapl_evd *evd;

	kdapl_rcu_read_lock_irqsave(flags);
	obj = kdapl_obj_lookup(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (unlikely(!obj)) {
		ret = KDAPL_ERROR(INVALID_HANDLE);
		goto out;
	}
	evd = to_kdapl_evd(obj);
	if (unlikely(!(evd->streams & DAT_EVD_SOFTWARE_FLAG)))
		ret = KDAPL_BAD_ARG(1);
	else if (unlikely(!event || event->event_number != DAT_SOFTWARE_EVENT))
		ret = KDAPL_BAD_ARG(2);
	else if (kdapl_evd_post_soft(evd, event->event_data.software_event_data.pointer))
		ret = KDAPL_ERROR(QUEUE_FULL);
out:
	kdapl_rcu_read_unlock_irqrestore(flags);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_post_se);
