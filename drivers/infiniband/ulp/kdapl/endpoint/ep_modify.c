// SPDX-License-Identifier: GPL-2.0
/*
 * dat_ep_modify: changes parameters of an endpoint, either all of them or none.
 *
 * Called by Consumers in process context.
 *
 * The new parameters are stored in a *draft*: an EP without a handle that nobody else knows. It
 * uses its parents like any EP, and if depths, segments, EVDs or the zone change, it gets its own
 * pools, CQ and QP. When all that can fail has succeeded, the EP and the draft exchange what
 * differs, and the draft is destroyed together with what the EP has used before.
 *
 * Posts take no mutex, and receives are legal in the states in which an EP may be modified. Closing
 * the pools keeps them out. kdapl-locking.rst (Modification) has the steps.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include "post/post.h"
#include "queue/queue.h"
#include "internal.h"

/* Parameters that never change */
#define KDAPL_EP_FIXED	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_COMM | \
			 DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | DAT_EP_FIELD_LOCAL_PORT_QUAL | \
			 DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL | \
			 DAT_EP_FIELD_SRQ_HANDLE)
/* Named attributes: the count and the array must be selected together */
#define KDAPL_EP_TRANSPORT	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | \
				 DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR)
#define KDAPL_EP_PROVIDER	(DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | \
				 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

/* Which parameters may be changed in a state */
static DAT_EP_PARAM_MASK kdapl_modifiable(DAT_EP_STATE state)
{
	DAT_EP_PARAM_MASK all = DAT_EP_FIELD_ALL & ~KDAPL_EP_FIXED;
	DAT_EP_PARAM_MASK named = KDAPL_EP_TRANSPORT | KDAPL_EP_PROVIDER;

	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
	case DAT_EP_STATE_UNCONFIGURED_UNCONNECTED:
		return all;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return all & ~named;
	case DAT_EP_STATE_RESERVED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return all & ~named & ~DAT_EP_FIELD_PZ_HANDLE;
	default:
		return 0;
	}
}

static DAT_RETURN kdapl_draft_attr(struct kdapl_ep *draft, const struct kdapl_ep *ep,
				   DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *attr)
{
	/* Read them once: the Consumer may be changing them */
	const DAT_EP_PARAM from = { .ep_attr = data_race(*attr) };
	DAT_EP_PARAM all = { .ep_attr = ep->cfg.attr };
	DAT_EP_ATTR *to = &draft->cfg.attr;
	struct kdapl_ep_named named;
	DAT_RETURN ret;

	kdapl_copy_fields(&all, &from, mask & DAT_EP_FIELD_EP_ATTR_ALL, kdapl_ep_offsets);
	*to = all.ep_attr;
	ret = kdapl_ep_attr_check(ep->obj.ia, to, ep->cfg.srq, KDAPL_BAD_ARG(3), &named);
	/* Do not keep pointers to the Consumer's arrays, whose contents are in @named */
	to->ep_transport_specific_count = 0;
	to->ep_transport_specific = NULL;
	to->ep_provider_specific_count = 0;
	to->ep_provider_specific = NULL;
	/* The new array replaces the old one as a whole, so all values change together */
	draft->cfg.named = mask & KDAPL_EP_PROVIDER ? named : ep->cfg.named;
	return ret;
}

/* Looks up the parents of the EP, or those that replace them */
static DAT_RETURN kdapl_draft_parents(struct kdapl_ep *draft, const struct kdapl_ep *ep,
				      DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	DAT_PZ_HANDLE pz = kdapl_handle_or_null(ep->cfg.pz);
	DAT_EVD_HANDLE recv = kdapl_handle_or_null(ep->fast.recv_evd);
	DAT_EVD_HANDLE request = kdapl_handle_or_null(ep->fast.request_evd);
	DAT_EVD_HANDLE connect = kdapl_handle_or_null(ep->cfg.connect_evd);
	struct kdapl_ep_parents par = {};
	bool ok;

	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		pz = param->pz_handle;
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE)
		recv = param->recv_evd_handle;
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
		request = param->request_evd_handle;
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
		connect = param->connect_evd_handle;
	ok = kdapl_ep_get_parents(ep->obj.ia, pz, recv, request, connect, &par) == DAT_SUCCESS;
	/* The SRQ does not change, and it exists because the EP uses it */
	if (ok && ep->cfg.srq) {
		ok = kdapl_obj_tryget(&ep->cfg.srq->obj);
		par.srq = ok ? &ep->cfg.srq->obj : NULL;
	}
	ok = ok && kdapl_ep_use_parents(draft, &par);
	kdapl_ep_put_parents(&par);
	if (!ok || (draft->cfg.srq && draft->cfg.pz && draft->cfg.pz != draft->cfg.srq->pz))
		return KDAPL_BAD_ARG(3);
	return DAT_SUCCESS;
}

/* Returns true if the parameters are consistent, as dat_ep_create() requires */
static bool kdapl_draft_fits(const struct kdapl_ep *draft, const struct kdapl_ep *ep)
{
	DAT_EP_STATE state = ep->state;

	if ((draft->fast.recv_evd && !draft->cfg.srq && !draft->cfg.attr.max_recv_dtos) ||
	    (draft->fast.request_evd && !draft->cfg.attr.max_request_dtos) ||
	    !kdapl_ep_contexts_agree(draft) || !kdapl_ep_context_fits(draft))
		return false;
	if (state == DAT_EP_STATE_UNCONFIGURED_UNCONNECTED)
		return true;
	/* A configured EP must stay so; a service point relies on the connect EVD */
	return kdapl_ep_configured(draft) &&
	       (draft->cfg.connect_evd || state == DAT_EP_STATE_UNCONNECTED);
}

static void kdapl_draft_free(struct kdapl_ep *draft)
{
	if (rcu_access_pointer(draft->fast.qp))
		kdapl_ep_unbuild(draft);
	kdapl_ep_unuse_parents(draft);
	kfree(draft);
}

/* Returns a draft of @ep without verbs objects, or NULL and the reason */
static struct kdapl_ep *kdapl_draft_alloc(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask,
					  const DAT_EP_PARAM *param, DAT_RETURN *ret)
{
	struct kdapl_ep *draft;

	draft = kzalloc(sizeof(*draft), GFP_KERNEL);
	if (!draft) {
		*ret = KDAPL_NO_RESOURCE(MEMORY);
		return NULL;
	}
	draft->obj.ia = ep->obj.ia;
	draft->fast.srq_attached = ep->fast.srq_attached;
	kdapl_ep_no_pools(draft);
	*ret = kdapl_draft_attr(draft, ep, mask, &param->ep_attr);
	if (*ret == DAT_SUCCESS)
		*ret = kdapl_draft_parents(draft, ep, mask, param);
	if (*ret == DAT_SUCCESS && !kdapl_draft_fits(draft, ep))
		*ret = KDAPL_BAD_ARG(3);
	if (*ret == DAT_SUCCESS) {
		kdapl_ep_set_limits(draft);
		return draft;
	}
	kdapl_draft_free(draft);
	return NULL;
}

static bool kdapl_solicited(const struct kdapl_ep *ep)
{
	return ep->cfg.attr.recv_completion_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}

/* Returns true if the draft needs its own verbs objects */
static bool kdapl_modify_rebuilds(const struct kdapl_ep *ep, const struct kdapl_ep *draft)
{
	const DAT_EP_ATTR *a = &ep->cfg.attr, *b = &draft->cfg.attr;

	if (ep->state == DAT_EP_STATE_UNCONFIGURED_UNCONNECTED)
		return kdapl_ep_configured(draft);
	if (ep->cfg.pz != draft->cfg.pz || ep->fast.recv_evd != draft->fast.recv_evd ||
	    ep->fast.request_evd != draft->fast.request_evd ||
	    ep->cfg.named.comp_vector != draft->cfg.named.comp_vector)
		return true;
	if (!ep->cfg.srq && (a->max_recv_dtos != b->max_recv_dtos ||
			     a->max_recv_iov != b->max_recv_iov))
		return true;
	/* Whether a QP admits RDMA reads, and a CQ waits for solicited messages, is fixed */
	return a->max_request_dtos != b->max_request_dtos ||
	       a->max_request_iov != b->max_request_iov ||
	       a->max_rdma_read_iov != b->max_rdma_read_iov ||
	       a->max_rdma_write_iov != b->max_rdma_write_iov ||
	       !a->max_rdma_read_in != !b->max_rdma_read_in ||
	       kdapl_solicited(ep) != kdapl_solicited(draft);
}

/* Exchanges parents and attributes. ep->lock held */
static void kdapl_modify_swap(struct kdapl_ep *ep, struct kdapl_ep *draft)
{
	lockdep_assert_held(&ep->lock);
	swap(ep->cfg.attr, draft->cfg.attr);
	swap(ep->cfg.named, draft->cfg.named);
	swap(ep->cfg.pz, draft->cfg.pz);
	swap(ep->fast.recv_evd, draft->fast.recv_evd);
	swap(ep->fast.request_evd, draft->fast.request_evd);
	swap(ep->cfg.connect_evd, draft->cfg.connect_evd);
	kdapl_ep_set_limits(ep);
}

/* Exchanges the verbs objects. ep->lock held, the pools closed, no post running */
static void kdapl_modify_swap_verbs(struct kdapl_ep *ep, struct kdapl_ep *draft)
{
	struct ib_qp *qp = rcu_dereference_protected(draft->fast.qp, 1);

	lockdep_assert_held(&ep->lock);
	kdapl_pool_swap(&ep->rq, &draft->rq);
	kdapl_pool_swap(&ep->sq.pool, &draft->sq.pool);
	swap(ep->queue.slots, draft->queue.slots);
	swap(ep->sq.run, draft->sq.run);
	swap(ep->sq.run_mask, draft->sq.run_mask);
	swap(ep->sq.run_max, draft->sq.run_max);
	ep->sq.run_start = ep->sq.run_tail;
	swap(ep->queue.cq, draft->queue.cq);
	WRITE_ONCE(ep->fast.slow_path, (ep->fast.slow_path & ~KDAPL_EP_SOLICITED) |
				       (draft->fast.slow_path & KDAPL_EP_SOLICITED));
	RCU_INIT_POINTER(draft->fast.qp, rcu_dereference_protected(ep->fast.qp, 1));
	rcu_assign_pointer(ep->fast.qp, qp);
}

/* Closes the pools, if nothing is outstanding. ep->mutex held */
static bool kdapl_modify_close(struct kdapl_ep *ep)
{
	/* Requests are not legal in these states, so a failure here is not temporary */
	if (!kdapl_pool_close(&ep->sq.pool))
		return false;
	if (kdapl_pool_close(&ep->rq))
		return true;
	kdapl_pool_open(&ep->sq.pool);
	return false;
}

static bool kdapl_modify_idle(const struct kdapl_ep *ep)
{
	return kdapl_pool_count(&ep->rq, KDAPL_SLOT_FREE) == ep->rq.depth &&
	       kdapl_pool_count(&ep->sq.pool, KDAPL_SLOT_FREE) == ep->sq.pool.depth;
}

/* The draft replaces the EP on the EVDs, and the EP's pools are closed; or neither */
static DAT_RETURN kdapl_modify_claim(struct kdapl_ep *ep, struct kdapl_ep *draft)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_ia *ia = ep->obj.ia;

	mutex_lock(&ia->mutex);
	if (!kdapl_ep_join_evds(draft, ep)) {
		ret = KDAPL_BAD_ARG(3);
	} else if (rcu_access_pointer(draft->fast.qp) && !kdapl_modify_close(ep)) {
		kdapl_ep_join_evds(ep, draft);
		ret = KDAPL_BAD_STATE(EP_NOTREADY);
	}
	mutex_unlock(&ia->mutex);
	return ret;
}

/* From here on nothing can fail. The EP's pools are closed, ep->mutex held */
static void kdapl_modify_publish(struct kdapl_ep *ep, struct kdapl_ep *draft)
{
	bool first = !rcu_access_pointer(ep->fast.qp);

	/* The new slots also stay closed until everybody sees the new values */
	kdapl_pool_close(&draft->rq);
	kdapl_pool_close(&draft->sq.pool);
	/* Posts that have read the stack of slots before it was closed have ended after this */
	kdapl_wait_grace_period();
	if (first) {
		ep->teardown.verbs_counted = true;
		atomic_inc(&ep->obj.ia->nqps);
		kdapl_ia_verbs_get(ep->obj.ia);
	}
	spin_lock_irq(&ep->lock);
	kdapl_modify_swap(ep, draft);
	kdapl_modify_swap_verbs(ep, draft);
	/* Even if the state is the same, because the legal posts depend on the limits */
	kdapl_ep_set_state(ep, first ? DAT_EP_STATE_UNCONNECTED : ep->state);
	spin_unlock_irq(&ep->lock);
	if (ep->cfg.srq) {
		kdapl_srq_detach(ep);
		kdapl_wait_grace_period();
		kdapl_srq_attach(ep, rcu_dereference_protected(ep->fast.qp, 1));
	}
	/* No post that takes a slot from now on has read an old value */
	kdapl_wait_grace_period();
	kdapl_pool_open(&ep->rq);
	kdapl_pool_open(&ep->sq.pool);
}

static DAT_RETURN kdapl_modify_rebuild(struct kdapl_ep *ep, struct kdapl_ep *draft)
{
	DAT_RETURN ret;
	int err;

	/* Checked early to avoid useless work; kdapl_modify_close() decides */
	if (!kdapl_modify_idle(ep))
		return KDAPL_BAD_STATE(EP_NOTREADY);
	err = kdapl_ep_build(draft, ep, ep->obj.ia->ibdev);
	if (err)
		return kdapl_ep_build_error(err);
	ret = kdapl_modify_claim(ep, draft);
	if (ret == DAT_SUCCESS)
		kdapl_modify_publish(ep, draft);
	return ret;
}

/* Changes numbers and the connect EVD: posts may see old or new values. ep->mutex held */
static DAT_RETURN kdapl_modify_in_place(struct kdapl_ep *ep, struct kdapl_ep *draft)
{
	DAT_RETURN ret = kdapl_modify_claim(ep, draft);

	if (ret != DAT_SUCCESS)
		return ret;
	spin_lock_irq(&ep->lock);
	kdapl_modify_swap(ep, draft);
	spin_unlock_irq(&ep->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_modify(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask,
			       const DAT_EP_PARAM *param)
{
	struct kdapl_ep *draft;
	DAT_RETURN ret;

	lockdep_assert_held(&ep->mutex);
	if (ep->dying)
		return KDAPL_BAD_HANDLE(EP);
	/* Legal in every state, even if a connection has agreed on less than requested */
	if (!mask)
		return DAT_SUCCESS;
	if (mask & ~kdapl_modifiable(ep->state))
		return kdapl_ep_state_error(ep->state);
	draft = kdapl_draft_alloc(ep, mask, param, &ret);
	if (!draft)
		return ret;
	if (kdapl_modify_rebuilds(ep, draft))
		ret = kdapl_modify_rebuild(ep, draft);
	else
		ret = kdapl_modify_in_place(ep, draft);
	kdapl_draft_free(draft);
	return ret;
}

/* Returns true if only the count or only the array is selected */
static bool kdapl_mask_is_half(DAT_EP_PARAM_MASK mask, DAT_EP_PARAM_MASK pair)
{
	return (mask & pair) && (mask & pair) != pair;
}

/**
 * dat_ep_modify - change parameters of an endpoint
 * @ep_handle:     the EP
 * @ep_param_mask: DAT_EP_FIELD_*, the parameters to change; 0 is legal in any state and
 *                 changes nothing
 * @ep_param:      the new values; fields that are not selected are ignored
 *
 * The call changes all selected parameters or none. In UNCONNECTED everything that is not
 * fixed can be changed, in RESERVED and PASSIVE_CONNECTION_PENDING neither the zone nor the
 * named attributes. An EP in UNCONFIGURED_UNCONNECTED becomes UNCONNECTED when the last
 * missing parameter is supplied; a configured EP stays configured.
 *
 * A change of queue depths, numbers of segments, zone, receive or request EVD, solicited wait or
 * completion vector, and one of the peer's RDMA read credits from or to 0, need a new QP; they are
 * possible only while nothing is outstanding. A receive that is posted at the same time may find a
 * full queue.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP
 * * DAT_INVALID_PARAMETER - a bit of @ep_param_mask is unknown, selects a fixed parameter
 *   (IA, state, addresses, ports, SRQ), or selects only the count or only the array of named
 *   attributes; @ep_param is NULL; a value, EVD or zone that dat_ep_create() would refuse; a
 *   configured EP would lose an EVD or the zone
 * * DAT_INVALID_STATE - not possible in this state; something is outstanding
 * * DAT_MODEL_NOT_SUPPORTED - quality of service
 * * DAT_INSUFFICIENT_RESOURCES - no memory, or no QP or CQ could be created: the EP has not
 *   changed; the device was removed
 */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	struct kdapl_obj *obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_BAD_HANDLE(EP);
	if ((ep_param_mask & ~(DAT_EP_FIELD_ALL & ~KDAPL_EP_FIXED)) ||
	    kdapl_mask_is_half(ep_param_mask, KDAPL_EP_TRANSPORT) ||
	    kdapl_mask_is_half(ep_param_mask, KDAPL_EP_PROVIDER)) {
		ret = KDAPL_BAD_ARG(2);
	} else if (!ep_param) {
		ret = KDAPL_BAD_ARG(3);
	} else if (!kdapl_ia_enter(obj->ia)) {
		ret = KDAPL_NO_RESOURCE(DEVICE);
	} else {
		mutex_lock(&to_kdapl_ep(obj)->mutex);
		ret = kdapl_modify(to_kdapl_ep(obj), ep_param_mask, ep_param);
		mutex_unlock(&to_kdapl_ep(obj)->mutex);
		kdapl_ia_leave(obj->ia);
	}
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_modify);
