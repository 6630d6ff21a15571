// SPDX-License-Identifier: GPL-2.0
/*
 * The verbs part of an endpoint: QP, pools, room in a CQ.
 *
 * Called in process context by the constructors of EPs, by ep_teardown.c and ep_reset.c, and by
 * the connection work after an attempt that failed early.
 *
 * The QP is created together with the EP and moved to INIT at once, so that receives can be
 * posted before it is known which side will connect.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/log2.h>
#include <linux/slab.h>
#include "event/event.h"
#include "post/post.h"
#include "internal.h"

/* Below this depth every request is signalled */
#define KDAPL_RUN_MIN_DEPTH	8

/* Called with interrupts off and locks of the device held: only schedules the work */
static void kdapl_qp_event(struct ib_event *event, void *context)
{
	struct kdapl_ep *ep = context;

	/* The driver failed to destroy the QP */
	if (!ep)
		return;
	switch (event->event) {
	case IB_EVENT_QP_LAST_WQE_REACHED:
		complete_all(&ep->drain.last_wqe);
		break;
	case IB_EVENT_COMM_EST:
		kdapl_ep_schedule(ep, KDAPL_TODO_EARLY_RECV);
		break;
	case IB_EVENT_QP_FATAL:
		kdapl_ep_schedule(ep, KDAPL_TODO_BREAK);
		break;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		/* The device refused a request of the peer; the NAK may not have left yet */
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
		/* kdapl_cm_modify_qp() corrects it when the path is known */
		.pkey_index = KDAPL_INIT_PKEY_INDEX,
		.port_num = ep->obj.ia->port,
		/*
		 * Always allow remote writes, as rdma_cm does, because the marker of the
		 * peer is an empty write. A write reaches only what an LMR or RMR permits.
		 * Never allow atomics.
		 */
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
	};

	if (ep->cfg.attr.max_rdma_read_in)
		attr.qp_access_flags |= IB_ACCESS_REMOTE_READ;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    IB_QP_ACCESS_FLAGS);
}

/*
 * Destroys a QP of an EP. A driver must not fail to do so. If it does, the QP and its CQs are
 * leaked, and the QP may raise events after the EP was freed, so they are ignored. Process context.
 */
void kdapl_ep_free_qp(struct kdapl_ep *ep, struct ib_qp *qp)
{
	if (!ib_destroy_qp(qp))
		return;
	pr_err("%s: the driver failed to destroy a QP\n", ep->obj.ia->name);
	WRITE_ONCE(qp->qp_context, NULL);
	ep->queue.cq->kept = true;
}

/*
 * Creates a QP in INIT on the EP's CQ. @owner: the EP that will use it, which differs from @ep if
 * @ep is a draft. Returns the QP, or ERR_PTR. Process context.
 */
struct ib_qp *kdapl_ep_make_qp(struct kdapl_ep *ep, struct kdapl_ep *owner)
{
	const struct kdapl_cq *kcq = ep->queue.cq;
	struct ib_srq *srq = NULL;
	struct ib_qp_init_attr init = {
		.event_handler = kdapl_qp_event,
		.qp_context = owner,
		.send_cq = kcq->request ? kcq->request->cq : kcq->cq,
		.recv_cq = kcq->recv ? kcq->recv->cq : kcq->cq,
		.cap = {
			.max_send_wr = 2 * ep->cfg.attr.max_request_dtos + KDAPL_SQ_RESERVED,
			.max_send_sge = max3(ep->checks.max_send_iov, ep->checks.max_read_iov,
					     max(ep->checks.max_write_iov, 1U)),
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;
	int ret;

	if (ep->cfg.srq) {
		srq = rcu_dereference_protected(ep->cfg.srq->srq, 1);
		init.srq = srq;
	} else {
		init.cap.max_recv_wr = ep->rq.depth + 1;
		init.cap.max_recv_sge = max(ep->checks.max_recv_iov, 1U);
	}
	qp = ib_create_qp(ep->cfg.pz->pd, &init);
	if (IS_ERR(qp))
		return qp;
	ret = kdapl_qp_to_init(ep, qp);
	if (ret) {
		kdapl_ep_free_qp(ep, qp);
		return ERR_PTR(ret);
	}
	return qp;
}

/* One allocation for the slots of both queues and the run ring */
static int kdapl_ep_make_pools(struct kdapl_ep *ep, struct kdapl_ep *owner, int node)
{
	u32 depth = ep->cfg.attr.max_request_dtos;
	u32 nrecv = ep->cfg.srq ? 0 : ep->cfg.attr.max_recv_dtos;
	size_t requests = kdapl_pool_size(depth, false), receives = kdapl_pool_size(nrecv, true);
	u32 ring = roundup_pow_of_two(max(depth, 1U));
	struct kdapl_sq *sq = &ep->sq;

	if (max(depth, nrecv) > KDAPL_POOL_MAX_DEPTH)
		return -ENOMEM;
	ep->queue.slots = kdapl_pool_alloc(requests + receives + ring * sizeof(*sq->run), node);
	if (!ep->queue.slots)
		return -ENOMEM;
	kdapl_pool_setup(&sq->pool, ep->queue.slots, depth, kdapl_request_done, owner, false);
	kdapl_pool_setup(&ep->rq, ep->queue.slots + requests, nrecv, kdapl_recv_done, owner, true);
	sq->run = ep->queue.slots + requests + receives;
	sq->run_mask = ring - 1;
	sq->run_max = depth < KDAPL_RUN_MIN_DEPTH ? 1 : depth / 4;
	return 0;
}

/* Gives an EP queues without slots. Process context */
void kdapl_ep_no_pools(struct kdapl_ep *ep)
{
	kdapl_pool_setup(&ep->sq.pool, NULL, 0, NULL, NULL, false);
	kdapl_pool_setup(&ep->rq, NULL, 0, NULL, NULL, true);
}

/*
 * Frees the slots. @ep: an EP without outstanding work requests and queued events. Process context.
 */
void kdapl_ep_exit_pools(struct kdapl_ep *ep)
{
	kvfree(ep->queue.slots);
	ep->queue.slots = NULL;
	ep->sq.run = NULL;
	kdapl_ep_no_pools(ep);
}

/*
 * Creates the pools, CQ and QP of a configured EP. @owner: as for kdapl_ep_make_qp(). Returns 0;
 * -ENOMEM, -E2BIG, or the error of the device, with nothing created. Process context.
 */
int kdapl_ep_build(struct kdapl_ep *ep, struct kdapl_ep *owner, struct ib_device *ibdev)
{
	int node = ibdev_to_node(ibdev);
	struct ib_qp *qp;
	int ret;

	ret = kdapl_ep_make_pools(ep, owner, node);
	if (ret)
		return ret;
	ep->queue.cq = kdapl_cq_get(ep, ibdev);
	if (IS_ERR(ep->queue.cq)) {
		ret = PTR_ERR(ep->queue.cq);
		goto err_exit_pools;
	}
	if (ep->queue.cq->recv && ep->queue.cq->recv->solicited)
		ep->fast.slow_path |= KDAPL_EP_SOLICITED;
	qp = kdapl_ep_make_qp(ep, owner);
	if (IS_ERR(qp)) {
		ret = PTR_ERR(qp);
		goto err_put_cq;
	}
	rcu_assign_pointer(ep->fast.qp, qp);
	return 0;

err_put_cq:
	kdapl_cq_put(ep);
err_exit_pools:
	ep->queue.cq = NULL;
	kdapl_ep_exit_pools(ep);
	return ret;
}

/* The return value after kdapl_ep_build() has failed. Any context */
DAT_RETURN kdapl_ep_build_error(int err)
{
	return err == -ENOMEM ? KDAPL_NO_RESOURCE(MEMORY) : KDAPL_NO_RESOURCE(TEP);
}

/* Undoes kdapl_ep_build(). @ep: an EP that nobody else knows, with an idle QP. Process context. */
void kdapl_ep_unbuild(struct kdapl_ep *ep)
{
	kdapl_ep_free_qp(ep, rcu_dereference_protected(ep->fast.qp, 1));
	RCU_INIT_POINTER(ep->fast.qp, NULL);
	kdapl_cq_put(ep);
	kdapl_ep_exit_pools(ep);
}

/*
 * Hides the QP from posts, which are flushed in software from now on. These flushes are held back
 * until kdapl_ep_unhold(). Process context, ep->mutex held.
 */
void kdapl_ep_hide_qp(struct kdapl_ep *ep)
{
	kdapl_ep_hold(ep);
	ep->teardown.qp = rcu_dereference_protected(ep->fast.qp, lockdep_is_held(&ep->mutex));
	RCU_INIT_POINTER(ep->fast.qp, NULL);
}

/*
 * Destroys the QP that is hidden, and leaves the CQ. @ep: the EP, a grace period after
 * kdapl_ep_hide_qp(), when the QP is drained. Process context, ep->mutex held.
 */
void kdapl_ep_destroy_qp(struct kdapl_ep *ep)
{
	if (ep->cfg.srq)
		kdapl_srq_detach(ep);
	if (ep->teardown.qp)
		kdapl_ep_free_qp(ep, ep->teardown.qp);
	ep->teardown.qp = NULL;
	if (ep->queue.cq)
		kdapl_cq_leave(ep);
}

/*
 * Frees the CQ, and flushes what the device has kept. @ep: the EP, a grace period after
 * kdapl_ep_destroy_qp(): no done callback uses it any more. Process context, ep->mutex held.
 */
void kdapl_ep_finish_verbs(struct kdapl_ep *ep)
{
	if (ep->queue.cq)
		kdapl_cq_free(ep->queue.cq);
	ep->queue.cq = NULL;
	if (ep->drain.timed_out) {
		kdapl_sq_abandon(&ep->sq);
		kdapl_flush_kept(ep);
		kdapl_marker_complete_all(ep);
	}
	ep->drain.timed_out = false;
	kdapl_ep_unhold(ep);
}

/*
 * Destroys a QP that does not flush. Until the next reset, which makes a new QP, posts are flushed
 * in software. @ep: an EP without an id, whose QP has never left INIT. Process context, ep->mutex
 * held.
 */
void kdapl_ep_drop_verbs(struct kdapl_ep *ep)
{
	ep->drain.timed_out = true;
	kdapl_ep_hide_qp(ep);
	kdapl_wait_grace_period();
	kdapl_ep_destroy_qp(ep);
	kdapl_wait_grace_period();
	kdapl_ep_finish_verbs(ep);
}
