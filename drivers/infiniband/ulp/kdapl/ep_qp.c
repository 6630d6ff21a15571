// SPDX-License-Identifier: GPL-2.0
/*
 * The verbs part of an endpoint: QP, pools, room in a CQ; and dat_ep_reset().
 *
 * Called in process context by the constructors and destructors of EPs and by device
 * removal.
 *
 * The QP is created together with the EP and moved to INIT at once, so that receives can be
 * posted before it is known which side will connect. A QP number is used for one connection
 * attempt: dat_ep_reset() creates a new QP, and publishes it before the old one is drained,
 * so that there is always a QP for receives.
 */
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "kdapl.h"

/* Below this depth every request is signalled */
#define KDAPL_RUN_MIN_DEPTH	8

/* Called with interrupts off and locks of the device held: only schedules the work */
static void kdapl_qp_event(struct ib_event *event, void *context)
{
	struct kdapl_ep *ep = context;

	switch (event->event) {
	case IB_EVENT_QP_LAST_WQE_REACHED:
		complete_all(&ep->last_wqe);
		break;
	case IB_EVENT_COMM_EST:
		kdapl_ep_schedule(ep, KDAPL_TODO_EARLY_RECV);
		break;
	case IB_EVENT_QP_FATAL:
		kdapl_ep_schedule(ep, KDAPL_TODO_BREAK);
		break;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		/* The device has refused a request of the peer; the NAK may not have left yet */
		kdapl_ep_schedule(ep, KDAPL_TODO_REFUSED);
		break;
	default:
		break;
	}
}

static int kdapl_qp_to_init(struct kdapl_ep *ep, struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		/* kdapl_cm_raise_to() corrects it when the path is known */
		.pkey_index = KDAPL_INIT_PKEY_INDEX,
		.port_num = ep->obj.ia->port,
		/*
		 * Always allow remote writes, as rdma_cm does, because the marker of the
		 * peer is an empty write. A write reaches only what an LMR or RMR permits.
		 * Never allow atomics.
		 */
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
	};

	if (ep->attr.max_rdma_read_in)
		attr.qp_access_flags |= IB_ACCESS_REMOTE_READ;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    IB_QP_ACCESS_FLAGS);
}

/**
 * kdapl_ep_make_qp - create a QP in INIT on the EP's CQ
 * @ep:    the EP, which has its CQ
 * @owner: the EP that will use it: @ep, or the one of which @ep is a draft
 *
 * Context: process.
 * Return: the QP, or ERR_PTR.
 */
struct ib_qp *kdapl_ep_make_qp(struct kdapl_ep *ep, struct kdapl_ep *owner)
{
	struct ib_srq *srq = NULL;
	struct ib_qp_init_attr init = {
		.event_handler = kdapl_qp_event,
		.qp_context = owner,
		.send_cq = ep->cq->cq,
		.recv_cq = ep->cq->scq ? ep->cq->scq->cq : ep->cq->cq,
		.cap = {
			.max_send_wr = 2 * ep->attr.max_request_dtos + KDAPL_SQ_RESERVED,
			.max_send_sge = max3(ep->max_send_iov, ep->max_read_iov,
					     max(ep->max_write_iov, 1U)),
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;
	int ret;

	if (ep->srq) {
		srq = rcu_dereference_protected(ep->srq->srq, 1);
		init.srq = srq;
	} else {
		init.cap.max_recv_wr = ep->rq.depth + 1;
		init.cap.max_recv_sge = max(ep->max_recv_iov, 1U);
	}
	qp = ib_create_qp(ep->pz->pd, &init);
	if (IS_ERR(qp))
		return qp;
	ret = kdapl_qp_to_init(ep, qp);
	if (ret) {
		ib_destroy_qp(qp);
		return ERR_PTR(ret);
	}
	return qp;
}

static int kdapl_sq_init(struct kdapl_ep *ep, struct kdapl_ep *owner, int node)
{
	u32 depth = ep->attr.max_request_dtos;
	u32 iov = max3(ep->max_send_iov, ep->max_read_iov, ep->max_write_iov);
	struct kdapl_sq *sq = &ep->sq;
	u32 ring = roundup_pow_of_two(max(depth, 1U));
	int ret;

	ret = kdapl_pool_init(&sq->pool, depth, iov, kdapl_request_done, owner, false, node);
	if (ret)
		return ret;
	sq->run = kvcalloc(ring, sizeof(*sq->run), GFP_KERNEL);
	if (!sq->run) {
		kdapl_pool_exit(&sq->pool);
		return -ENOMEM;
	}
	sq->run_mask = ring - 1;
	sq->run_max = depth < KDAPL_RUN_MIN_DEPTH ? 1 : depth / 4;
	return 0;
}

/**
 * kdapl_ep_exit_pools - free the slots
 * @ep: an EP without outstanding work requests and queued events
 *
 * Context: process.
 */
void kdapl_ep_exit_pools(struct kdapl_ep *ep)
{
	kvfree(ep->sq.run);
	ep->sq.run = NULL;
	kdapl_pool_exit(&ep->sq.pool);
	kdapl_pool_exit(&ep->rq);
}

/**
 * kdapl_ep_build - create the pools, CQ and QP of a configured EP
 * @ep:    the EP, not published
 * @owner: the EP that will use them: @ep, or the one of which @ep is a draft
 * @ibdev: device
 *
 * Context: process.
 * Return: 0; -ENOMEM, -E2BIG, or the error of the device, with nothing created.
 */
int kdapl_ep_build(struct kdapl_ep *ep, struct kdapl_ep *owner, struct ib_device *ibdev)
{
	int node = ibdev_to_node(ibdev);
	struct ib_qp *qp;
	int ret;

	ret = kdapl_pool_init(&ep->rq, ep->srq ? 0 : ep->attr.max_recv_dtos, ep->max_recv_iov,
			      kdapl_recv_done, owner, true, node);
	if (ret)
		return ret;
	ret = kdapl_sq_init(ep, owner, node);
	if (ret)
		goto err_rq;
	ep->cq = kdapl_cq_get(ep, ibdev);
	if (IS_ERR(ep->cq)) {
		ret = PTR_ERR(ep->cq);
		goto err_sq;
	}
	ep->scq = ep->cq->scq;
	if (ep->scq)
		ep->slow |= KDAPL_EP_SOLICITED;
	qp = kdapl_ep_make_qp(ep, owner);
	if (IS_ERR(qp)) {
		ret = PTR_ERR(qp);
		goto err_cq;
	}
	rcu_assign_pointer(ep->qp, qp);
	return 0;

err_cq:
	kdapl_cq_put(ep);
err_sq:
	ep->cq = NULL;
	ep->scq = NULL;
err_rq:
	kdapl_ep_exit_pools(ep);
	return ret;
}

/**
 * kdapl_ep_build_error - the return value after kdapl_ep_build() has failed
 * @err: negative errno
 *
 * Context: any.
 */
DAT_RETURN kdapl_ep_build_error(int err)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
			 err == -ENOMEM ? DAT_RESOURCE_MEMORY : DAT_RESOURCE_TEP);
}

/**
 * kdapl_ep_unbuild - undo kdapl_ep_build()
 * @ep: an EP that nobody else knows, with an idle QP
 *
 * Context: process.
 */
void kdapl_ep_unbuild(struct kdapl_ep *ep)
{
	ib_destroy_qp(rcu_dereference_protected(ep->qp, 1));
	RCU_INIT_POINTER(ep->qp, NULL);
	kdapl_cq_put(ep);
	kdapl_ep_exit_pools(ep);
}

/* ---- the end of the verbs objects -------------------------------------- */

/* After a grace period, posts find no QP and are held back. ep->mutex held */
static void kdapl_ep_hide_qp(struct kdapl_ep *ep)
{
	kdapl_ep_hold(ep);
	ep->ending = rcu_dereference_protected(ep->qp, lockdep_is_held(&ep->mutex));
	RCU_INIT_POINTER(ep->qp, NULL);
}

/* A grace period after kdapl_ep_hide_qp(), when the QP is drained. ep->mutex held */
static void kdapl_ep_destroy_qp(struct kdapl_ep *ep)
{
	if (ep->srq)
		kdapl_srq_detach(ep);
	if (ep->ending)
		ib_destroy_qp(ep->ending);
	ep->ending = NULL;
	if (ep->cq)
		kdapl_cq_leave(ep);
}

/* Another grace period later: no done callback uses the EP any more. ep->mutex held */
static void kdapl_ep_finish_verbs(struct kdapl_ep *ep)
{
	if (ep->cq)
		kdapl_cq_free(ep->cq);
	ep->cq = NULL;
	ep->scq = NULL;
	if (ep->lost) {
		kdapl_sq_abandon(&ep->sq);
		kdapl_flush_kept(ep);
		kdapl_marker_forget(ep);
	}
	ep->lost = false;
	kdapl_ep_unhold(ep);
}

/**
 * kdapl_ep_drop_verbs - destroy a QP that does not flush
 * @ep: an EP in DISCONNECTED, without an id, whose QP has never left INIT
 *
 * Until the next reset, which makes a new QP, posts are flushed in software.
 *
 * Context: process, ep->mutex held.
 */
void kdapl_ep_drop_verbs(struct kdapl_ep *ep)
{
	ep->lost = true;
	kdapl_ep_hide_qp(ep);
	kdapl_grace();
	kdapl_ep_destroy_qp(ep);
	kdapl_grace();
	kdapl_ep_finish_verbs(ep);
}

/* From now on only the steps of kdapl_ep_strip() change the EP's state */
static void kdapl_strip_begin(struct kdapl_ep *ep, bool dying)
{
	mutex_lock(&ep->mutex);
	if (dying)
		ep->dying = true;
	kdapl_cm_end(ep);
	ep->orphaned = true;
	mutex_unlock(&ep->mutex);
}

/* Ends a connection once its QP has been drained, then hides the QP from posts */
static void kdapl_strip_hide(struct kdapl_ep *ep, unsigned long since)
{
	mutex_lock(&ep->mutex);
	kdapl_cm_ended(ep, since);
	if (rcu_access_pointer(ep->qp))
		kdapl_ep_hide_qp(ep);
	mutex_unlock(&ep->mutex);
}

/* Drains what was posted since the first drain, unless the device has kept posts then */
static void kdapl_strip_drain(struct kdapl_ep *ep)
{
	mutex_lock(&ep->mutex);
	if (ep->ending && !ep->lost && ep->qp_moved)
		kdapl_drain_begin(ep, ep->ending);
	mutex_unlock(&ep->mutex);
}

static void kdapl_strip_destroy(struct kdapl_ep *ep, unsigned long since)
{
	mutex_lock(&ep->mutex);
	if (ep->ending && !ep->lost && ep->qp_moved)
		ep->lost = kdapl_drain_end(ep, ep->ending, true, since);
	kdapl_ep_destroy_qp(ep);
	mutex_unlock(&ep->mutex);
}

static void kdapl_strip_finish(struct kdapl_ep *ep)
{
	mutex_lock(&ep->mutex);
	kdapl_ep_finish_verbs(ep);
	if (ep->verbs) {
		if (atomic_dec_and_test(&ep->obj.ia->nqps))
			wake_up(&ep->obj.ia->wait);
		kdapl_ia_verbs_put(ep->obj.ia);
	}
	ep->verbs = false;
	mutex_unlock(&ep->mutex);
}

/**
 * kdapl_ep_strip - tear down EPs in phases: end connections, destroy verbs objects
 * @eps:   the EPs, by kdapl_ep.strip; they are being freed or their device is being removed
 * @dying: the EPs are being freed: they were unpublished a grace period ago, and no
 *         reference is left. Otherwise they are referenced, and get their pending events
 *
 * Each step is taken for all EPs before the next begins. So any number of EPs costs
 * two grace periods, and in each drain the time of the slowest QP.
 *
 * Context: process.
 */
void kdapl_ep_strip(struct list_head *eps, bool dying)
{
	unsigned long since;
	struct kdapl_ep *ep;

	if (list_empty(eps))
		return;
	list_for_each_entry(ep, eps, strip)
		kdapl_strip_begin(ep, dying);
	since = jiffies;
	list_for_each_entry(ep, eps, strip)
		kdapl_strip_hide(ep, since);
	/* Afterwards no post can reach a QP any more, so the second drain is complete */
	kdapl_grace();
	list_for_each_entry(ep, eps, strip)
		kdapl_strip_drain(ep);
	since = jiffies;
	list_for_each_entry(ep, eps, strip)
		kdapl_strip_destroy(ep, since);
	/* Wait for running done callbacks, CQ polls and lookups of SRQ buffers */
	kdapl_grace();
	list_for_each_entry(ep, eps, strip)
		kdapl_strip_finish(ep);
}

/* ---- reset ------------------------------------------------------------- */

/* Drains and destroys the QP that posts no longer find. ep->mutex held */
static void kdapl_ep_end_old(struct kdapl_ep *ep, struct ib_qp *old)
{
	/* The caller has drained it: only later posts are left, so this seldom waits */
	int lost = kdapl_ep_drain(ep, old, true);

	if (ep->srq)
		kdapl_srq_detach(ep);
	ib_destroy_qp(old);
	/* The CQ stays in use: wait until it has handled all completions of the old QP */
	if (lost || ep->srq)
		kdapl_grace();
	if (lost) {
		kdapl_sq_abandon(&ep->sq);
		kdapl_marker_forget(ep);
	}
}

/* Installs the new QP, and drains and destroys the old one if any. ep->mutex held */
static void kdapl_ep_swap_qp(struct kdapl_ep *ep, struct ib_qp *new)
{
	struct ib_qp *old = rcu_dereference_protected(ep->qp, lockdep_is_held(&ep->mutex));

	/*
	 * The state first, and a grace period before the QP: a send that saw
	 * DISCONNECTED must not meet the new QP, which would refuse it.
	 */
	spin_lock_irq(&ep->lock);
	kdapl_ep_set_state(ep, DAT_EP_STATE_UNCONNECTED);
	spin_unlock_irq(&ep->lock);
	kdapl_grace();
	kdapl_cm_reset(ep);
	rcu_assign_pointer(ep->qp, new);
	kdapl_grace();
	if (old)
		kdapl_ep_end_old(ep, old);
	if (ep->srq)
		kdapl_srq_attach(ep, new);
	ep->raised = false;
	reinit_completion(&ep->last_wqe);
	kdapl_ep_take_back(ep);

	/* Not before: what the old QP flushed was an event, not to be parked */
	spin_lock_irq(&ep->lock);
	ep->slow |= KDAPL_EP_PARK;
	ep->qp_moved = false;
	spin_unlock_irq(&ep->lock);
}

/* Replaces a CQ that was freed together with a QP that did not flush. ep->mutex held */
static int kdapl_ep_renew_cq(struct kdapl_ep *ep)
{
	struct kdapl_cq *cq;

	if (ep->cq)
		return 0;
	cq = kdapl_cq_get(ep, ep->pz->pd->device);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ep->cq = cq;
	ep->scq = cq->scq;
	return 0;
}

static DAT_RETURN kdapl_ep_reset(struct kdapl_ep *ep)
{
	struct ib_qp *old = rcu_dereference_protected(ep->qp, lockdep_is_held(&ep->mutex));
	struct ib_qp *new;
	int ret;

	lockdep_assert_held(&ep->mutex);
	if (ep->dying)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (ep->orphaned)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	if (ep->state == DAT_EP_STATE_UNCONNECTED)
		return DAT_SUCCESS;
	if (ep->state != DAT_EP_STATE_DISCONNECTED)
		return kdapl_ep_state_error(ep->state);
	/* What the device does not give back now would be lost with the old QP */
	if (old && kdapl_ep_drain(ep, old, true))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	ret = kdapl_ep_renew_cq(ep);
	if (ret)
		return kdapl_ep_build_error(ret);
	new = kdapl_ep_make_qp(ep, ep);
	if (IS_ERR(new))
		return kdapl_ep_build_error(PTR_ERR(new));
	kdapl_ep_swap_qp(ep, new);
	return DAT_SUCCESS;
}

/**
 * dat_ep_reset - make a disconnected endpoint ready for a new connection
 * @ep_handle: the EP
 *
 * DISCONNECTED becomes UNCONNECTED. Undelivered events of the EP are taken
 * off their EVDs, an upcall that carries one is waited for. In UNCONNECTED
 * nothing happens, posted receives stay. A device that has failed may keep
 * posts of the EP: then it cannot be reset, only freed. Source: kDAPL 2.0.
 *
 * Context: process (class P), not from an upcall.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not valid
 * * DAT_INVALID_STATE - any other state; or EP_NOTREADY: called from an upcall
 *   of any EVD
 * * DAT_INSUFFICIENT_RESOURCES - no new QP could be created, or the device does not
 *   return the posts of the old one, and the EP is unchanged; or the device was removed
 */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	struct kdapl_obj *obj;
	struct kdapl_ep *ep;
	unsigned int noio;
	DAT_RETURN ret;

	obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ep = to_kdapl_ep(obj);
	if (kdapl_in_upcall()) {
		ret = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
		goto out_put;
	}
	/* The way back to a connection that pages may wait to be written over */
	noio = memalloc_noio_save();
	mutex_lock(&ep->mutex);
	ret = kdapl_ep_reset(ep);
	mutex_unlock(&ep->mutex);
	memalloc_noio_restore(noio);
out_put:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_reset);
