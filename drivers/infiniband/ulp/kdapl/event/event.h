/* SPDX-License-Identifier: GPL-2.0 */
/*
 * EVDs: how other layers queue events, wait for upcalls, and create CQs that kDAPL polls.
 */
#ifndef _KDAPL_EVENT_H_
#define _KDAPL_EVENT_H_

#include "object/object.h"

void kdapl_evd_pushed_late(struct kdapl_evd *evd);

/*
 * Pushes an event on an EVD whose upcalls are disabled, or whose owner polls. The next holder of
 * the EVD's lock appends it to the queue, so @ev may be gone when this returns. Called by done
 * callbacks.
 */
static __always_inline void kdapl_evd_push(struct kdapl_evd *evd, struct kdapl_event *ev)
{
	struct kdapl_event *head = READ_ONCE(evd->incoming);

	do {
		ev->next = head;
		/* A full barrier: pairs with kdapl_evd_set_inhibit() and kdapl_evd_end_poll() */
	} while (unlikely(!try_cmpxchg(&evd->incoming, &head, ev)));
	if (unlikely(!(atomic_read(&evd->state) & KDAPL_EVD_PUSH)))
		kdapl_evd_pushed_late(evd); /* GCOVR_EXCL_LINE: a race of a few instructions */
}

void kdapl_evd_queue(struct kdapl_evd *evd, struct kdapl_event *ev, bool in_done);
void kdapl_evd_complete(struct kdapl_evd *evd, struct kdapl_slot *slot);
u32 kdapl_evd_count(struct kdapl_evd *evd, u32 *notify);
u32 kdapl_evd_take_back(struct kdapl_evd *evd, struct kdapl_ep *ep);
int kdapl_evd_modify(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy,
		     const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag);
void kdapl_evd_notify_all(struct kdapl_evd *evd);
void kdapl_evd_post_catastrophic(struct kdapl_ia *ia);
void kdapl_ia_take_back(struct kdapl_ia *ia);

void kdapl_evd_wait_idle(struct kdapl_evd *evd);
void kdapl_evd_wait_ep(struct kdapl_evd *evd, const struct kdapl_ep *ep);
bool kdapl_evd_delivers(struct kdapl_evd *evd, const struct kdapl_ep *ep);

void kdapl_ia_async(struct kdapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, u16 reason);
struct kdapl_evd *kdapl_evd_alloc(struct kdapl_ia *ia, u32 qlen, DAT_UPCALL_POLICY policy,
				  const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags);
void kdapl_evd_destroy(struct kdapl_obj *obj);

bool kdapl_in_upcall(void);
void kdapl_evd_flush_soon(struct kdapl_evd *evd);

static inline void kdapl_ep_flush_soon(const struct kdapl_ep *ep)
{
	if (ep->fast.recv_evd)
		kdapl_evd_flush_soon(ep->fast.recv_evd);
	if (ep->fast.request_evd && ep->fast.request_evd != ep->fast.recv_evd)
		kdapl_evd_flush_soon(ep->fast.request_evd);
}

/**
 * struct kdapl_polled_cq - CQ that kDAPL polls
 * @cq:    CQ from ib_create_cq()
 * @evd:   the EVD of its completions, constant
 * @solicited: it is armed for solicited messages only; constant
 * @fired: a solicited message was announced, and the CQ is not armed again; under evd->lock
 * @lock:  allows one poller; not held during upcalls, because delivery is deferred
 * @node:  on evd->cqs
 * @ready: on evd->ready or evd->drained; both under evd->lock
 */
struct kdapl_polled_cq {
	struct ib_cq *cq;
	struct kdapl_evd *evd;
	bool solicited;
	bool fired;
	spinlock_t lock;	/* one poller at a time */
	struct list_head node;
	struct list_head ready;
	struct rcu_head rcu;
};

struct kdapl_polled_cq *kdapl_polled_cq_create(struct ib_device *ibdev, struct kdapl_evd *evd,
					       u32 nr_cqe, int comp_vector, bool solicited);
void kdapl_polled_cq_unlink(struct kdapl_polled_cq *pcq);
void kdapl_polled_cq_leak(struct kdapl_polled_cq *pcq);
void kdapl_polled_cq_destroy(struct kdapl_polled_cq *pcq);
void kdapl_cq_poll(const struct kdapl_cq *kcq);
void kdapl_cq_schedule(const struct kdapl_cq *kcq);

#endif /* _KDAPL_EVENT_H_ */
