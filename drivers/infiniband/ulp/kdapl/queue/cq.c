// SPDX-License-Identifier: GPL-2.0
/*
 * The CQs of endpoints: one for each EP, or one for the EPs of an SRQ that share a receive
 * EVD. A CQ has room for all that can be outstanding, so it cannot overrun.
 *
 * Called by ep_qp.c and ep_reset.c, in process context.
 */
#include <linux/list.h>
#include <linux/irq_poll.h>
#include <linux/slab.h>
#include "event/event.h"
#include "internal.h"

/* A new shared CQ has room for the requests of this number of EPs like the first one */
#define KDAPL_CQ_SHARE	8

/* The number of CQ entries that the requests of an EP need; a rebind is two requests */
static u32 kdapl_request_cqes(const struct kdapl_ep *ep)
{
	return 2 * ep->attr.max_request_dtos + KDAPL_CQ_RESERVED;
}

/* Without receives there is no EVD that such a CQ could feed */
static bool kdapl_cq_solicited(const struct kdapl_ep *ep)
{
	return ep->recv_evd &&
	       ep->attr.recv_completion_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}

/*
 * EPs share a CQ only in softirq: an upcall that sleeps delays no other EP, and a poll handles
 * only what the EVD receives. An EP with a completion vector of its own joins no other CQ.
 */
static bool kdapl_cq_shareable(const struct kdapl_ep *ep)
{
	return ep->comp_vector < 0 && ep->context == KDAPL_CONTEXT_SOFTIRQ;
}

/* Creates the verbs CQs of @kcq. Returns 0 or the error of the device */
static int kdapl_cq_make(struct kdapl_cq *kcq, struct kdapl_ep *ep, struct ib_device *ibdev,
			 u32 recv_cqes, u32 request_cqes)
{
	bool process = ep->context == KDAPL_CONTEXT_PROCESS;
	enum ib_poll_context context = process ? IB_POLL_WORKQUEUE : IB_POLL_SOFTIRQ;
	bool solicited = kdapl_cq_solicited(ep);
	u32 nr = request_cqes + (solicited ? 0 : recv_cqes);
	int vector = max(ep->comp_vector, 0);

	if (ep->context == KDAPL_CONTEXT_POLL) {
		kcq->scq = kdapl_scq_create_polled(ibdev, ep->recv_evd, ep->request_evd, nr,
						   vector);
		return PTR_ERR_OR_ZERO(kcq->scq);
	}
	if (ep->comp_vector < 0)
		kcq->cq = ib_alloc_cq_any(ibdev, kcq, nr, context);
	else
		kcq->cq = ib_alloc_cq(ibdev, kcq, nr, vector, context);
	if (IS_ERR(kcq->cq))
		return PTR_ERR(kcq->cq);
	if (!solicited)
		return 0;
	/* One entry for the marker of the drain */
	kcq->scq = kdapl_scq_create(ibdev, ep->recv_evd, recv_cqes + 1, vector);
	if (IS_ERR(kcq->scq)) {
		ib_free_cq(kcq->cq);
		return PTR_ERR(kcq->scq);
	}
	return 0;
}

static struct kdapl_cq *kdapl_cq_alloc(struct kdapl_ep *ep, struct ib_device *ibdev,
				       u32 recv_cqes, u32 request_cqes)
{
	struct kdapl_cq *kcq;
	int ret;

	kcq = kzalloc(sizeof(*kcq), GFP_KERNEL);
	if (!kcq)
		return ERR_PTR(-ENOMEM);
	ret = kdapl_cq_make(kcq, ep, ibdev, recv_cqes, request_cqes);
	if (ret) {
		kfree(kcq);
		return ERR_PTR(ret);
	}
	kcq->shared = kdapl_cq_shareable(ep);
	kcq->recv_evd = ep->recv_evd;
	kcq->recv = recv_cqes;
	kcq->room = request_cqes;
	INIT_LIST_HEAD(&kcq->node);
	return kcq;
}

/* Returns a CQ of the SRQ that this EP can use, or NULL. srq->mutex held */
static struct kdapl_cq *kdapl_cq_find(struct kdapl_ep *ep, u32 need)
{
	bool solicited = kdapl_cq_solicited(ep);
	struct kdapl_cq *kcq;

	lockdep_assert_held(&ep->srq->mutex);
	if (!kdapl_cq_shareable(ep))
		return NULL;
	list_for_each_entry(kcq, &ep->srq->cqs, node)
		if (kcq->shared && kcq->recv_evd == ep->recv_evd && !!kcq->scq == solicited &&
		    kcq->room >= need)
			return kcq;
	return NULL;
}

static struct kdapl_cq *kdapl_cq_get_shared(struct kdapl_ep *ep, struct ib_device *ibdev)
{
	u32 max_cqe = ep->obj.ia->limits.max_cqe;
	u32 need = kdapl_request_cqes(ep);
	u32 share = kdapl_cq_shareable(ep) ? KDAPL_CQ_SHARE : 1;
	struct kdapl_cq *kcq;
	u32 recv;

	mutex_lock(&ep->srq->mutex);
	/* dat_srq_resize() keeps it at or below the room in the CQs of the SRQ */
	recv = ep->srq->depth;
	kcq = ERR_PTR(-E2BIG);
	if (need > max_cqe || recv > max_cqe - need)
		goto out;
	kcq = kdapl_cq_find(ep, need);
	if (!kcq) {
		kcq = kdapl_cq_alloc(ep, ibdev, recv,
				     min_t(u64, (u64)need * share, max_cqe - recv));
		if (!IS_ERR(kcq))
			list_add_tail(&kcq->node, &ep->srq->cqs);
	}
	if (!IS_ERR(kcq)) {
		kcq->room -= need;
		kcq->users++;
	}
out:
	mutex_unlock(&ep->srq->mutex);
	return kcq;
}

/**
 * kdapl_cq_get - create or join a CQ for an EP
 * @ep:    the EP, its attributes and EVDs set
 * @ibdev: device
 *
 * The entries that the EP needs are compared with max_cqe of the device here, so that the
 * caller can distinguish this limit from a device that is out of memory.
 *
 * Context: process.
 * Return: the CQ, or ERR_PTR: -E2BIG, -ENOMEM, or the error of the device.
 */
struct kdapl_cq *kdapl_cq_get(struct kdapl_ep *ep, struct ib_device *ibdev)
{
	u32 max_cqe = ep->obj.ia->limits.max_cqe;
	u32 need = kdapl_request_cqes(ep);
	u32 recv = ep->attr.max_recv_dtos;
	struct kdapl_cq *kcq;

	if (ep->srq)
		return kdapl_cq_get_shared(ep, ibdev);
	if (need > max_cqe || recv > max_cqe - need)
		return ERR_PTR(-E2BIG);
	kcq = kdapl_cq_alloc(ep, ibdev, recv, need);
	if (!IS_ERR(kcq))
		kcq->users = 1;
	return kcq;
}

static bool kdapl_cq_in_softirq(const struct kdapl_cq *kcq)
{
	return kcq->cq && kcq->cq->poll_ctx == IB_POLL_SOFTIRQ;
}

/* Completion handler of a CQ that no QP uses any more */
static void kdapl_cq_ignore(struct ib_cq *cq, void *context)
{
}

/**
 * kdapl_cq_leave - an EP leaves its CQ
 * @ep: the EP, its QP destroyed; ep->cq is NULL afterwards unless the EP was the
 *      last: then the CQ is stopped, and freed after a grace period
 *
 * The core's softirq calls irq_poll_complete() before it arms the CQ again, and
 * ib_free_cq() waits only for irq_poll_complete(). So the softirq that has just
 * ended a drain could arm freed memory. To prevent this, irq_poll_disable() keeps
 * further runs from starting, and the caller's grace period waits for the current
 * run, because a softirq is a read-side critical section. kdapl_cq_free() must
 * enable the poll again, or ib_free_cq() would wait for ever; IRQ_POLL_F_DISABLE
 * keeps a late interrupt from starting a run before ib_free_cq() disables it.
 *
 * A CQ that a work item polls is armed by the work item itself, for which ib_free_cq()
 * waits. But a late interrupt could queue it again after this wait, so from here on
 * interrupts are ignored, and the grace period waits for a handler that runs now.
 *
 * Context: process.
 */
void kdapl_cq_leave(struct kdapl_ep *ep)
{
	struct kdapl_cq *kcq = ep->cq;
	bool last;

	if (ep->srq)
		mutex_lock(&ep->srq->mutex);
	kcq->room += kdapl_request_cqes(ep);
	last = !--kcq->users;
	if (last)
		list_del(&kcq->node);
	if (ep->srq)
		mutex_unlock(&ep->srq->mutex);
	if (!last) {
		ep->cq = NULL;
		return;
	}
	/* Removal waits for the last QP on an SRQ */
	wake_up(&ep->obj.ia->wait);
	if (kcq->scq)
		kdapl_scq_unlink(kcq->scq);
	if (kdapl_cq_in_softirq(kcq)) {
		irq_poll_disable(&kcq->cq->iop);
		set_bit(IRQ_POLL_F_DISABLE, &kcq->cq->iop.state);
	} else if (kcq->cq) {
		WRITE_ONCE(kcq->cq->comp_handler, kdapl_cq_ignore);
	}
}

/**
 * kdapl_cq_free - free a CQ that its last EP has left
 * @kcq: the CQ, a grace period after kdapl_cq_leave()
 *
 * Context: process.
 */
void kdapl_cq_free(struct kdapl_cq *kcq)
{
	if (kcq->scq)
		kdapl_scq_destroy(kcq->scq);
	if (kdapl_cq_in_softirq(kcq))
		irq_poll_enable(&kcq->cq->iop);
	if (kcq->cq)
		ib_free_cq(kcq->cq);
	kfree(kcq);
}

/**
 * kdapl_cq_settle - wait until the done callbacks that are running now have returned
 * @kcq: the CQ, which stays in use
 *
 * Context: process, not inside an upcall.
 */
void kdapl_cq_settle(struct kdapl_cq *kcq)
{
	kdapl_wait_grace_period();
	if (kcq->cq && kcq->cq->poll_ctx == IB_POLL_WORKQUEUE)
		flush_work(&kcq->cq->work);
}

/**
 * kdapl_cq_put - leave a CQ, and free it with the last EP
 * @ep: the EP, its QP destroyed
 *
 * For a single EP only: it waits for the grace period itself.
 *
 * Context: process.
 */
void kdapl_cq_put(struct kdapl_ep *ep)
{
	kdapl_cq_leave(ep);
	if (ep->cq) {
		kdapl_wait_grace_period();
		kdapl_cq_free(ep->cq);
	}
	ep->cq = NULL;
	ep->scq = NULL;
}
