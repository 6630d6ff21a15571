/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event queues (EVD): nodes, the queue, the baton.
 *
 * An EVD is a FIFO with many producers. The node of an event lives in the
 * object it speaks of (slot, EP, CR) or in the EVD's own ring (software and
 * asynchronous events), so that queuing never allocates and never fails.
 *
 * Upcalls run in two places: in the done callback that produced the event
 * (softirq), and in the EVD's deferred deliverer (a work item, bottom halves
 * off). One of them at a time holds the baton, a bit of @claim. @claim is 0
 * only while nobody delivers, nothing is queued and the policy asks for an
 * upcall with the event: then one cmpxchg hands an event over directly.
 * Everything else goes through @lock, but for one more short way: while the
 * policy knows no upcall nobody has to be woken, so a done callback only pushes
 * its event on @incoming, which whoever takes @lock next appends to the queue.
 */
#ifndef _KDAPL_EVENT_H_
#define _KDAPL_EVENT_H_

#include <linux/preempt.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "handle.h"

struct kdapl_ep;
struct kdapl_pool;
struct kdapl_scq;

enum kdapl_event_kind {
	KDAPL_EV_DTO,		/* node in a kdapl_slot */
	KDAPL_EV_BIND,		/* likewise, told as DAT_RMR_BIND_COMPLETION_EVENT */
	KDAPL_EV_CONN,		/* node in a kdapl_conn_event, in the EP */
	KDAPL_EV_CR,		/* node in a kdapl_cr */
	KDAPL_EV_SOFT,		/* node in a kdapl_ring_event */
	KDAPL_EV_ASYNC,		/* likewise */
};

/**
 * struct kdapl_event - node of an event
 * @next:   towards the younger; guarded by the EVD's lock, or the parking EP's
 * @ep:     the EP it belongs to, by which dat_ep_free takes it back; or NULL
 * @kind:   enum kdapl_event_kind
 * @notify: the event leads to an upcall; KDAPL_NOTIFY_LAST in the queued event that
 *          kdapl_evd.marked points to
 * @status: DTO: DAT_DTO_COMPLETION_STATUS
 * @op:     DTO: DAT_DTOS
 * @length: DTO: bytes transferred
 */
struct kdapl_event {
	struct kdapl_event *next;
	struct kdapl_ep *ep;
	u8 kind;
	u8 notify;
	u8 status;
	u8 op;
	u32 length;
};

/* Values of kdapl_event.notify: marked; marked, and the last event of the latest marking */
#define KDAPL_NOTIFY		1
#define KDAPL_NOTIFY_LAST	2

/* Outcome or end of a connection; two of them live in the EP */
struct kdapl_conn_event {
	struct kdapl_event ev;
	DAT_EVENT_NUMBER number;
	u16 private_len;
};

/* A software or asynchronous event, from the ring of its EVD */
struct kdapl_ring_event {
	struct kdapl_event ev;
	DAT_EVENT_NUMBER number;
	u16 reason;
	u32 next_free;		/* index; guarded by evd->lock */
	union {
		void *pointer;		/* software */
		DAT_HANDLE handle;	/* asynchronous */
	};
};

/* kdapl_evd.claim */
#define KDAPL_EVD_BATON		0x01	/* somebody delivers */
#define KDAPL_EVD_QUEUED	0x02	/* the queue is not empty; written under lock */
#define KDAPL_EVD_INHIBIT	0x04	/* no direct hand-over under the present policy */
#define KDAPL_EVD_WAITER	0x08	/* somebody waits for the end of an upcall */
#define KDAPL_EVD_PASSED	0x10	/* with BATON: it lies with the deferred deliverer */
#define KDAPL_EVD_SILENT	0x20	/* with INHIBIT: the policy knows no upcall */

/* A deliverer hands over this many events that it did not queue itself */
#define KDAPL_EVD_BUDGET	64

/**
 * struct kdapl_evd - event dispatcher
 * @obj:     header
 * @claim:   KDAPL_EVD_*; by cmpxchg and atomic or/andnot
 * @upcall:  what to call; written under @lock while nobody holds the baton, or
 *           by its holder; read by its holder
 * @next_upcall: what to call after the running upcall, if @has_next; @lock
 * @policy:  DAT_UPCALL_*; written under @lock
 * @lock:    guards the queue, the ring, the policy and the counts below
 * @incoming: events that done callbacks left on a silent EVD without the lock,
 *           youngest first, younger than the queue; by cmpxchg and xchg
 * @head:    oldest event, @tail the youngest
 * @nnotify: events of the queue that still ask for an upcall
 * @marked:  all queued events up to this one ask for an upcall, because
 *           kdapl_evd_notify_all() has marked them; NULL: not known
 * @note:    NOTIFY policy: an upcall is owed
 * @cur_ep:  EP whose event the running upcall carries, or NULL
 * @wait:    waiters for the end of an upcall, see KDAPL_EVD_WAITER
 * @work:    the deferred deliverer
 * @streams: DAT_EVD_*_FLAG
 * @qlen:    length asked for: room of the ring, bound of waiting CRs
 * @ring:    software and asynchronous events; @ring_free heads its free list
 * @ring_used: entries of the ring in use
 * @overflow: the entry kept for DAT_ASYNC_ERROR_EVD_OVERFLOW
 * @overflow_queued: it is on the queue
 * @overflowed: it was raised, and the ring has not been empty since
 * @nwaiters: tasks behind KDAPL_EVD_WAITER
 * @dropped: asynchronous events lost for want of room
 * @ncr:     CRs that wait for an answer, by listen.c
 * @npsp:    service points that listen and feed it, by listen.c
 * @nupcalls: upcalls made, for debugfs
 * @recv_flags: completion flags of the @nrecv EPs that receive on it; ep.c
 * @request_flags: likewise of the @nrequest EPs whose requests end here; all
 *           four under ia->mutex
 * @scqs:    solicited CQs that feed it; guarded by @lock; solicited.c
 * @event:   what the upcall is shown; the baton holder's
 */
struct kdapl_evd {
	struct kdapl_obj obj;
	atomic_t claim;
	DAT_UPCALL_OBJECT upcall;
	struct kdapl_ep *cur_ep;
	DAT_UPCALL_POLICY policy;
	DAT_EVENT event;

	spinlock_t lock ____cacheline_aligned_in_smp;
	struct kdapl_event *incoming;
	struct kdapl_event *head;
	struct kdapl_event *tail;
	struct kdapl_event *marked;
	u32 nnotify;
	u32 nwaiters;
	bool note;
	bool has_next;
	bool overflowed;
	bool overflow_queued;
	DAT_UPCALL_OBJECT next_upcall;
	struct kdapl_ring_event *ring;
	u32 ring_free;
	u32 ring_used;
	struct kdapl_ring_event overflow;
	u64 dropped;
	u64 nupcalls;
	struct list_head scqs;

	wait_queue_head_t wait;
	struct work_struct work;
	DAT_EVD_FLAGS streams;
	u32 qlen;
	atomic_t ncr;
	atomic_t npsp;
	int recv_flags;
	int request_flags;
	u32 nrecv;
	u32 nrequest;
};

static inline struct kdapl_evd *to_kdapl_evd(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_evd, obj);
}

/*
 * Is the caller inside an upcall of any EVD? Bottom halves are off in every upcall,
 * and never in a context that may make a sleeping call.
 */
static inline bool kdapl_in_upcall(void)
{
	return in_softirq();
}

/*
 * Leaves an event on a silent EVD, where the next one to look at the queue finds
 * it. @ev is not the caller's any more. Done callbacks.
 */
void kdapl_evd_pushed_late(struct kdapl_evd *evd);

static __always_inline void kdapl_evd_push(struct kdapl_evd *evd, struct kdapl_event *ev)
{
	struct kdapl_event *head = READ_ONCE(evd->incoming);

	do {
		ev->next = head;
		/* A full barrier: pairs with that in kdapl_evd_set_inhibit() */
	} while (unlikely(!try_cmpxchg(&evd->incoming, &head, ev)));
	if (unlikely(!(atomic_read(&evd->claim) & KDAPL_EVD_SILENT)))
		kdapl_evd_pushed_late(evd);
}

/* event.c: softirq-safe unless said otherwise */
int kdapl_evd_setup(struct kdapl_evd *evd, u32 qlen, DAT_UPCALL_POLICY policy,
		    const DAT_UPCALL_OBJECT *upcall);
void kdapl_evd_cleanup(struct kdapl_evd *evd);
void kdapl_evd_queue(struct kdapl_evd *evd, struct kdapl_event *ev, bool in_done);
void kdapl_evd_complete(struct kdapl_evd *evd, struct kdapl_event *ev);
bool kdapl_evd_pop(struct kdapl_evd *evd, DAT_EVENT *out);
u32 kdapl_evd_count(struct kdapl_evd *evd, u32 *notify);
int kdapl_evd_post_soft(struct kdapl_evd *evd, void *pointer);
void kdapl_evd_post_async(struct kdapl_evd *evd, DAT_EVENT_NUMBER number,
			  DAT_HANDLE handle, u16 reason);
u32 kdapl_evd_take_back(struct kdapl_evd *evd, struct kdapl_ep *ep);
int kdapl_evd_modify(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy,
		     const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag);
void kdapl_evd_notify_all(struct kdapl_evd *evd);
/* event_policy.c: process context, the last two wait for a running upcall */
int kdapl_evd_resize(struct kdapl_evd *evd, u32 qlen);
void kdapl_evd_wait_idle(struct kdapl_evd *evd);
void kdapl_evd_wait_ep(struct kdapl_evd *evd, struct kdapl_ep *ep);

#endif /* _KDAPL_EVENT_H_ */
