/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event dispatchers (EVD): nodes of events, the queue, and EVD ownership.
 *
 * An EVD is a FIFO with many producers. The node of an event is part of the object
 * that the event is about (slot, EP, CR), or of the EVD's own ring (software and
 * asynchronous events); so queuing never allocates and never fails.
 *
 * The context of upcalls is chosen when the EVD is created, and never changes:
 * - softirq: the done callback that has produced the event runs the upcall, or the EVD's
 *   work item does with bottom halves off;
 * - process: the work item runs all upcalls, which may sleep;
 * - poll: kdat_evd_poll() runs them, or the work item, if the Consumer waits or does not poll.
 *
 * Only the owner of the EVD may deliver; the ownership is a bit of @state. @state is 0 only
 * while there is no owner, the queue is empty, upcalls run in softirq and the policy wants one
 * with the event: then one cmpxchg takes the ownership, and the event is delivered directly.
 * All other events are queued under @lock, with one more exception: while upcalls are disabled,
 * nobody has to be woken, so a done callback only pushes its event on @incoming. The next
 * holder of @lock appends these events to the queue.
 */
#ifndef _KDAPL_OBJECT_EVD_H_
#define _KDAPL_OBJECT_EVD_H_

#include <linux/list.h>
#include <linux/preempt.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "base/base.h"

struct kdapl_ep;

#define KDAPL_EVD_CONTEXTS	(KDAT_EVD_PROCESS_FLAG | KDAT_EVD_POLL_FLAG)

/* In which context upcalls of an EVD run, and the completions of its EPs are handled */
enum kdapl_context {
	KDAPL_CONTEXT_SOFTIRQ,	/* by the RDMA core in softirq; upcalls with bottom halves off */
	KDAPL_CONTEXT_PROCESS,	/* by the work item of the EVD; see kdapl_evd_process_work() */
	KDAPL_CONTEXT_POLL,	/* when the Consumer polls; upcalls with bottom halves off */
};

/* Outcome or end of a connection; an EP contains one of each */
struct kdapl_conn_event {
	struct kdapl_event ev;
	DAT_EVENT_NUMBER number;
	u16 private_len;
};

/*
 * Returns false if the core must not poll CQs in softirq. On an RT kernel without a lock for bottom
 * halves, one thread can preempt another one in irq_poll_softirq(). Both then poll the same CQ and
 * corrupt the list of CQs.
 */
static inline bool kdapl_softirq_polls(void)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) || IS_ENABLED(CONFIG_PREEMPT_RT_NEEDS_BH_LOCK);
}

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

/* kdapl_evd.state */
#define KDAPL_EVD_OWNED		0x01	/* the EVD has an owner, which delivers */
#define KDAPL_EVD_QUEUED	0x02	/* the queue is not empty; written under lock */
#define KDAPL_EVD_INHIBIT	0x04	/* the policy does not allow direct delivery */
#define KDAPL_EVD_WAITER	0x08	/* a task waits for the end of an upcall */
#define KDAPL_EVD_PASSED	0x10	/* with OWNED: the work item is the owner */
#define KDAPL_EVD_NO_UPCALLS	0x20	/* with INHIBIT: upcalls are disabled */
#define KDAPL_EVD_POLLING	0x40	/* with OWNED: the owner polls, and delivers afterwards */

/* Done callbacks push their events instead of taking the lock */
#define KDAPL_EVD_PUSH		(KDAPL_EVD_NO_UPCALLS | KDAPL_EVD_POLLING)

/* The number of other events that an owner delivers before it passes on */
#define KDAPL_EVD_BUDGET	64

/**
 * struct kdapl_evd - event dispatcher
 * @obj:     header
 * @state:   KDAPL_EVD_*; changed by cmpxchg and atomic or/andnot
 * @upcall:  what to call; written under @lock while there is no owner, or by the
 *           owner; read by the owner
 * @next_upcall: what to call after the running upcall, if @has_next; guarded by @lock
 * @policy:  DAT_UPCALL_*; written under @lock
 * @context: enum kdapl_context; constant
 * @lock:    guards the queue, the ring, the policy, the lists of CQs and the counts below
 * @incoming: events that done callbacks have pushed without the lock while upcalls
 *           were disabled or the owner polled, youngest first, all younger than the queue;
 *           changed by cmpxchg and xchg
 * @head:    oldest event, @tail the youngest
 * @nnotify: number of queued events that still ask for an upcall
 * @marked:  all queued events up to this one ask for an upcall, because
 *           kdapl_evd_notify_all() has marked them; NULL: not known
 * @notify_due: NOTIFY policy: an upcall is due
 * @cur_ep:  EP whose event an upcall delivers that was taken off the queue, or NULL
 * @wait:    tasks that wait for the end of an upcall, see KDAPL_EVD_WAITER
 * @work:    polls the CQs that announced completions, and delivers events
 * @upcaller: process context: the task that runs @work while it delivers, or NULL
 * @process_node: process context: on the list of such EVDs, see evd_work.c
 * @timer:   polls and delivers what the device or the Consumer left, see evd_work.c
 * @polled:  time of the last poll by the Consumer, in jiffies
 * @flush_polls: polls by @timer at short intervals, see kdapl_evd_flush_soon(); under @lock
 * @armed:   poll context: the Consumer waits for an upcall (kdat_evd_arm()); under @lock
 * @deliver: poll context: the next run of @work delivers; under @lock
 * @streams: DAT_EVD_*_FLAG, and the flag of the context that the Consumer chose
 * @qlen:    length that the Consumer asked for: size of the ring, limit of waiting CRs
 * @ring:    software and asynchronous events; @ring_free is the head of its free list
 * @ring_used: number of entries of the ring in use
 * @overflow: the entry reserved for DAT_ASYNC_ERROR_EVD_OVERFLOW
 * @overflow_queued: it is on the queue
 * @overflowed: it was raised, and the ring has not been empty since
 * @nwaiters: number of tasks that have set KDAPL_EVD_WAITER
 * @dropped: number of asynchronous events for which there was no room
 * @ncr:     number of CRs that wait for an answer; sp_backlog.c
 * @npsp:    number of service points that use it; sp_listen.c, sp_backlog.c
 * @recv_flags: completion flags of the @nrecv EPs that receive on it; ep_parents.c
 * @request_flags: completion flags of the @nrequest EPs that use it for requests;
 *           all four guarded by ia->mutex
 * @cqs:     CQs that kDAPL polls, @ncqs of them, see polled_cq.c
 * @nsolicited: number of those in solicited-wait mode
 * @ready:   those that announced completions
 * @drained: those that were found empty and must be armed
 * @nfired:  number of announcements of solicited messages that were handled
 * @event:   the event that the upcall receives; belongs to the owner
 */
struct kdapl_evd {
	struct kdapl_obj obj;
	atomic_t state;
	DAT_UPCALL_OBJECT upcall;
	struct kdapl_ep *cur_ep;
	DAT_EVENT event;

	spinlock_t lock ____cacheline_aligned_in_smp;
	struct kdapl_event *incoming;
	struct kdapl_event *head;
	struct kdapl_event *tail;
	struct kdapl_event *marked;
	u32 nnotify;
	u32 nwaiters;
	bool notify_due;
	bool has_next;
	bool overflowed;
	bool overflow_queued;
	bool armed;
	bool deliver;
	unsigned long polled;
	u8 context;
	DAT_UPCALL_POLICY policy;
	DAT_UPCALL_OBJECT next_upcall;
	struct kdapl_ring_event *ring;
	u32 ring_free;
	u32 ring_used;
	struct kdapl_ring_event overflow;
	u64 dropped;

	struct list_head cqs;
	struct list_head ready;
	struct list_head drained;
	u32 ncqs;
	u32 nsolicited;
	unsigned int flush_polls;
	atomic_t nfired;

	wait_queue_head_t wait;
	struct work_struct work;
	struct delayed_work timer;
	const struct task_struct *upcaller;
	struct list_head process_node;
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

#endif /* _KDAPL_OBJECT_EVD_H_ */
