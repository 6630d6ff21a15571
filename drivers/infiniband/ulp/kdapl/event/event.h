/* SPDX-License-Identifier: GPL-2.0 */
/*
 * EVDs: how other layers queue events, wait for upcalls, and create CQs that kDAPL polls.
 */
#ifndef _KDAPL_EVENT_H_
#define _KDAPL_EVENT_H_

#include "object/object.h"

/* ---- upcaller.c ----------------------------------------------------------- */

/* A task that runs upcalls in process context; on its stack */
struct kdapl_upcaller {
	struct hlist_node node;
	const struct task_struct *task;
};

void kdapl_upcaller_begin(struct kdapl_upcaller *me);
void kdapl_upcaller_end(struct kdapl_upcaller *me);
bool kdapl_in_upcall(void);

/* ---- evd_queue.c --------------------------------------------------------- */

/*
 * Pushes an event on an EVD whose upcalls are disabled. The next holder of the
 * EVD's lock appends it to the queue, so @ev may be gone when this returns. Called by done
 * callbacks.
 */
void kdapl_evd_pushed_late(struct kdapl_evd *evd);

static __always_inline void kdapl_evd_push(struct kdapl_evd *evd, struct kdapl_event *ev)
{
	struct kdapl_event *head = READ_ONCE(evd->incoming);

	do {
		ev->next = head;
		/* A full barrier, which pairs with the one in kdapl_evd_set_inhibit() */
	} while (unlikely(!try_cmpxchg(&evd->incoming, &head, ev)));
	if (unlikely(!(atomic_read(&evd->state) & KDAPL_EVD_NO_UPCALLS)))
		kdapl_evd_pushed_late(evd);
}

/* Legal in softirq */
void kdapl_evd_queue(struct kdapl_evd *evd, struct kdapl_event *ev, bool in_done);
void kdapl_evd_complete(struct kdapl_evd *evd, struct kdapl_event *ev);
u32 kdapl_evd_count(struct kdapl_evd *evd, u32 *notify);
u32 kdapl_evd_take_back(struct kdapl_evd *evd, struct kdapl_ep *ep);
int kdapl_evd_modify(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy,
		     const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag);
void kdapl_evd_notify_all(struct kdapl_evd *evd);
void kdapl_evd_set_context(struct kdapl_evd *evd, u8 context);

/* ---- evd_policy.c -------------------------------------------------------- */

/* Process context; wait for a running upcall */
void kdapl_evd_wait_idle(struct kdapl_evd *evd);
void kdapl_evd_wait_ep(struct kdapl_evd *evd, struct kdapl_ep *ep);

/* ---- evd.c --------------------------------------------------------------- */

/* Raises an asynchronous event on the EVD of the IA; any context */
void kdapl_ia_async(struct kdapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, u16 reason);

/* An EVD for kdapl_ia_add(), or ERR_PTR; the arguments were checked */
struct kdapl_evd *kdapl_evd_alloc(struct kdapl_ia *ia, u32 qlen, DAT_UPCALL_POLICY policy,
				  const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS streams);
void kdapl_evd_destroy(struct kdapl_obj *obj);

/**
 * struct kdapl_scq - CQ that kDAPL polls
 * @cq:    CQ from ib_create_cq(), armed by IB_CQ_SOLICITED or (@polled) never
 * @evd:   the EVD of its receives; NULL only if @polled
 * @request_evd: the EVD of its requests, or NULL; only if @polled
 * @polled: for requests and receives of an EP in poll context, which its Consumer polls
 * @fired: the device has raised an event since the work ran
 * @nfired: number of events that led to notifications, for parked completions
 * @again: number of timer polls at short intervals, see kdapl_scq_flush_soon()
 * @dead:  it is being destroyed
 * @lock:  allows one poller; not held during upcalls, because delivery is deferred
 * @work:  polls when the device raises an event, or when it is scheduled
 * @timer: polls at long intervals, for errors that the device does not announce
 * @source: of @evd, so that a dequeue from an empty EVD polls
 * @request_source: the same for @request_evd, if it is another EVD
 */
struct kdapl_scq {
	struct ib_cq *cq;
	struct kdapl_evd *evd;
	struct kdapl_evd *request_evd;
	bool polled;
	bool fired;
	bool dead;
	atomic_t nfired;
	unsigned int again;
	spinlock_t lock;	/* one poller at a time */
	struct work_struct work;
	struct delayed_work timer;
	struct kdapl_evd_source source;
	struct kdapl_evd_source request_source;
};

/* ---- scq.c --------------------------------------------------------------- */

struct kdapl_scq *kdapl_scq_create(struct ib_device *ibdev, struct kdapl_evd *evd,
				   u32 nr_cqe, int comp_vector);
struct kdapl_scq *kdapl_scq_create_polled(struct ib_device *ibdev, struct kdapl_evd *recv_evd,
					  struct kdapl_evd *request_evd, u32 nr_cqe,
					  int comp_vector);
void kdapl_scq_unlink(struct kdapl_scq *scq);

/* To be called a grace period after kdapl_scq_unlink() */
void kdapl_scq_destroy(struct kdapl_scq *scq);

/* Schedules a poll; any context */
void kdapl_scq_schedule(struct kdapl_scq *scq);

/* Requests of a QP are being flushed, which the device may not announce; any context */
void kdapl_scq_flush_soon(struct kdapl_scq *scq);

/* Polls all completions; process context */
void kdapl_scq_poll(struct kdapl_scq *scq);

#endif /* _KDAPL_EVENT_H_ */
