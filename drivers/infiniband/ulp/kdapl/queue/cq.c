// SPDX-License-Identifier: GPL-2.0
/*
 * The CQs of endpoints: those of one EP, or one for the EPs of an SRQ that share a receive
 * EVD. A CQ has room for all that can be outstanding, so it cannot overrun. Who polls it depends
 * on the context of the EVDs: the core in softirq, or kDAPL (event/polled_cq.c).
 *
 * Called by ep_qp.c and ep_reset.c, in process context.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include "event/event.h"
#include "internal.h"

/* A new shared CQ has room for the requests of this number of EPs like the first one */
#define KDAPL_CQ_SHARE	8

/* The number of CQ entries that the requests of an EP need; a rebind is two requests */
static u32 kdapl_request_cqes(const struct kdapl_ep *ep)
{
	return 2 * ep->cfg.attr.max_request_dtos + KDAPL_CQ_RESERVED;
}

/* Without receives there is no EVD that such a CQ could feed */
static bool kdapl_cq_solicited(const struct kdapl_ep *ep)
{
	return ep->fast.recv_evd &&
	       ep->cfg.attr.recv_completion_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}

/*
 * EPs share CQs only in softirq context: a poll handles only what belongs to the EVD. An EP with
 * a completion vector of its own joins no other CQ.
 */
static bool kdapl_cq_shareable(const struct kdapl_ep *ep)
{
	return ep->cfg.named.comp_vector < 0 && kdapl_ep_context(ep) == KDAPL_CONTEXT_SOFTIRQ;
}

/* The vector that the Consumer chose, or the next one, as ib_alloc_cq_any() does */
static int kdapl_cq_vector(const struct kdapl_ep *ep, const struct ib_device *ibdev)
{
	static atomic_t counter;

	if (ep->cfg.named.comp_vector >= 0)
		return ep->cfg.named.comp_vector;
	return (u32)atomic_inc_return(&counter) %
	       min_t(u32, ibdev->num_comp_vectors, num_online_cpus());
}

/*
 * The core polls the CQ, except that of receives in solicited-wait mode. If it must not poll in
 * softirq, only EPs without EVDs come here, which have no upcalls.
 */
static int kdapl_cq_make_softirq(struct kdapl_cq *kcq, const struct kdapl_ep *ep,
				 struct ib_device *ibdev, u32 nrecv, u32 nrequest)
{
	bool solicited = kdapl_cq_solicited(ep);
	int vector = kdapl_cq_vector(ep, ibdev);

	kcq->cq = ib_alloc_cq(ibdev, kcq, nrequest + (solicited ? 0 : nrecv), vector,
			      kdapl_softirq_polls() ? IB_POLL_SOFTIRQ : IB_POLL_WORKQUEUE);
	if (IS_ERR(kcq->cq))
		return PTR_ERR(kcq->cq);
	if (!solicited)
		return 0;
	/* One entry for the marker of the drain */
	kcq->recv = kdapl_polled_cq_create(ibdev, ep->fast.recv_evd, nrecv + 1, vector, true);
	if (IS_ERR(kcq->recv)) {
		ib_free_cq(kcq->cq);
		return PTR_ERR(kcq->recv);
	}
	return 0;
}

/* kDAPL polls: one CQ for each EVD, so that a poll of an EVD handles nothing of another one */
static int kdapl_cq_make_polled(struct kdapl_cq *kcq, const struct kdapl_ep *ep,
				struct ib_device *ibdev, u32 nrecv, u32 nrequest)
{
	struct kdapl_evd *evd = ep->fast.request_evd ?: ep->fast.recv_evd;
	bool solicited = kdapl_cq_solicited(ep);
	bool apart = solicited || (ep->fast.recv_evd && ep->fast.recv_evd != evd);
	int vector = kdapl_cq_vector(ep, ibdev);

	kcq->request = kdapl_polled_cq_create(ibdev, evd, nrequest + (apart ? 0 : nrecv), vector,
					      false);
	if (IS_ERR(kcq->request))
		return PTR_ERR(kcq->request);
	kcq->recv = kcq->request;
	if (!apart)
		return 0;
	kcq->recv = kdapl_polled_cq_create(ibdev, ep->fast.recv_evd, nrecv + 1, vector, solicited);
	if (IS_ERR(kcq->recv)) {
		kdapl_polled_cq_unlink(kcq->request);
		kdapl_wait_grace_period();
		kdapl_polled_cq_destroy(kcq->request);
		return PTR_ERR(kcq->recv);
	}
	return 0;
}

static struct kdapl_cq *kdapl_cq_alloc(struct kdapl_ep *ep, struct ib_device *ibdev,
				       u32 nrecv, u32 nrequest)
{
	struct kdapl_cq *kcq;
	int ret;

	kcq = kzalloc(sizeof(*kcq), GFP_KERNEL);
	if (!kcq)
		return ERR_PTR(-ENOMEM);
	if (kdapl_ep_context(ep) == KDAPL_CONTEXT_SOFTIRQ)
		ret = kdapl_cq_make_softirq(kcq, ep, ibdev, nrecv, nrequest);
	else
		ret = kdapl_cq_make_polled(kcq, ep, ibdev, nrecv, nrequest);
	if (ret) {
		kfree(kcq);
		return ERR_PTR(ret);
	}
	kcq->shared = kdapl_cq_shareable(ep);
	kcq->recv_evd = ep->fast.recv_evd;
	kcq->nrecv = nrecv;
	kcq->room = nrequest;
	INIT_LIST_HEAD(&kcq->node);
	return kcq;
}

/* Returns a CQ of the SRQ that this EP can use, or NULL. srq->mutex held */
static struct kdapl_cq *kdapl_cq_find(struct kdapl_ep *ep, u32 need)
{
	bool solicited = kdapl_cq_solicited(ep);
	struct kdapl_cq *kcq;

	lockdep_assert_held(&ep->cfg.srq->mutex);
	if (!kdapl_cq_shareable(ep))
		return NULL;
	list_for_each_entry(kcq, &ep->cfg.srq->cqs, node)
		if (kcq->shared && kcq->recv_evd == ep->fast.recv_evd && !!kcq->recv == solicited &&
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

	mutex_lock(&ep->cfg.srq->mutex);
	/* dat_srq_resize() keeps it at or below the room in the CQs of the SRQ */
	recv = ep->cfg.srq->depth;
	kcq = ERR_PTR(-E2BIG);
	if (need > max_cqe || recv > max_cqe - need)
		goto out;
	kcq = kdapl_cq_find(ep, need);
	if (!kcq) {
		kcq = kdapl_cq_alloc(ep, ibdev, recv,
				     min_t(u64, (u64)need * share, max_cqe - recv));
		if (!IS_ERR(kcq))
			list_add_tail(&kcq->node, &ep->cfg.srq->cqs);
	}
	if (!IS_ERR(kcq)) {
		kcq->room -= need;
		kcq->users++;
	}
out:
	mutex_unlock(&ep->cfg.srq->mutex);
	return kcq;
}

/*
 * Creates or joins a CQ for an EP. The entries that the EP needs are compared with max_cqe of the
 * device here, so that the caller can distinguish this limit from a device that is out of memory.
 * Returns the CQ, or ERR_PTR: -E2BIG, -ENOMEM, or the error of the device. Process context.
 */
struct kdapl_cq *kdapl_cq_get(struct kdapl_ep *ep, struct ib_device *ibdev)
{
	u32 max_cqe = ep->obj.ia->limits.max_cqe;
	u32 need = kdapl_request_cqes(ep);
	u32 recv = ep->cfg.attr.max_recv_dtos;
	struct kdapl_cq *kcq;

	if (ep->cfg.srq)
		return kdapl_cq_get_shared(ep, ibdev);
	if (need > max_cqe || recv > max_cqe - need)
		return ERR_PTR(-E2BIG);
	kcq = kdapl_cq_alloc(ep, ibdev, recv, need);
	if (!IS_ERR(kcq))
		kcq->users = 1;
	return kcq;
}

/*
 * An EP leaves its CQs. @ep: the EP, its QP destroyed; ep->queue.cq is NULL afterwards unless the
 * EP was the last: then the CQs are stopped, and freed after a grace period. Process context.
 */
void kdapl_cq_leave(struct kdapl_ep *ep)
{
	struct kdapl_cq *kcq = ep->queue.cq;
	bool last;

	if (ep->cfg.srq)
		mutex_lock(&ep->cfg.srq->mutex);
	kcq->room += kdapl_request_cqes(ep);
	last = !--kcq->users;
	if (last)
		list_del(&kcq->node);
	if (ep->cfg.srq)
		mutex_unlock(&ep->cfg.srq->mutex);
	if (!last) {
		ep->queue.cq = NULL;
		return;
	}
	/* Removal waits for the last QP on an SRQ */
	wake_up(&ep->obj.ia->wait);
	if (kcq->recv)
		kdapl_polled_cq_unlink(kcq->recv);
	if (kcq->request && kcq->request != kcq->recv)
		kdapl_polled_cq_unlink(kcq->request);
	if (kcq->cq)
		kdapl_stop_cq(kcq->cq);
}

/*
 * Frees the CQs that their last EP left. @kcq: the CQs, a grace period after kdapl_cq_leave().
 * Process context.
 */
void kdapl_cq_free(struct kdapl_cq *kcq)
{
	/* A CQ cannot be destroyed before its QPs, so leak the CQs and the memory that they use */
	void (*end)(struct kdapl_polled_cq *pcq) = kcq->kept ? kdapl_polled_cq_leak :
							       kdapl_polled_cq_destroy;

	if (kcq->recv)
		end(kcq->recv);
	if (kcq->request && kcq->request != kcq->recv)
		end(kcq->request);
	if (kcq->kept)
		return;
	if (kcq->cq)
		kdapl_free_stopped_cq(kcq->cq);
	kfree(kcq);
}

/*
 * Leaves a CQ, and frees it with the last EP. For a single EP only: it waits for the grace period
 * itself. @ep: the EP, its QP destroyed. Process context.
 */
void kdapl_cq_put(struct kdapl_ep *ep)
{
	kdapl_cq_leave(ep);
	if (ep->queue.cq) {
		kdapl_wait_grace_period();
		kdapl_cq_free(ep->queue.cq);
	}
	ep->queue.cq = NULL;
}
