// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues, and the CQs of endpoints.
 *
 * Owns SRQ objects (process context), the table that maps a completion of an SRQ buffer to
 * its EP (read by complete.c), and the CQs: one for each EP, or one for the EPs of an SRQ
 * that share a receive EVD. A CQ has room for all that can be outstanding, so it cannot
 * overrun.
 */
#include <linux/export.h>
#include <linux/irq_poll.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include "kdapl.h"

#define KDAPL_IP(arg)	DAT_ERROR(DAT_INVALID_PARAMETER, arg)
#define KDAPL_IH_SRQ	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ)

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

static struct kdapl_cq *kdapl_cq_alloc(struct kdapl_ep *ep, struct ib_device *ibdev,
				       u32 recv_cqes, u32 request_cqes)
{
	bool solicited = kdapl_cq_solicited(ep);
	int vector = max(ep->comp_vector, 0);
	u32 nr = request_cqes + (solicited ? 0 : recv_cqes);
	struct kdapl_cq *kcq;
	void *err;

	kcq = kzalloc(sizeof(*kcq), GFP_KERNEL);
	if (!kcq)
		return ERR_PTR(-ENOMEM);
	if (ep->comp_vector < 0)
		kcq->cq = ib_alloc_cq_any(ibdev, kcq, nr, IB_POLL_SOFTIRQ);
	else
		kcq->cq = ib_alloc_cq(ibdev, kcq, nr, vector, IB_POLL_SOFTIRQ);
	if (IS_ERR(kcq->cq)) {
		err = kcq->cq;
		goto err_free;
	}
	if (solicited) {
		/* One entry for the marker of the drain */
		kcq->scq = kdapl_scq_create(ibdev, ep->recv_evd, recv_cqes + 1, vector);
		if (IS_ERR(kcq->scq)) {
			err = kcq->scq;
			goto err_cq;
		}
	}
	kcq->recv_evd = ep->recv_evd;
	kcq->recv = recv_cqes;
	kcq->room = request_cqes;
	INIT_LIST_HEAD(&kcq->node);
	return kcq;

err_cq:
	ib_free_cq(kcq->cq);
err_free:
	kfree(kcq);
	return ERR_CAST(err);
}

/* Returns a CQ of the SRQ that this EP can use, or NULL. srq->mutex held */
static struct kdapl_cq *kdapl_cq_find(struct kdapl_ep *ep, u32 need)
{
	bool solicited = kdapl_cq_solicited(ep);
	struct kdapl_cq *kcq;

	lockdep_assert_held(&ep->srq->mutex);
	if (ep->comp_vector >= 0)
		return NULL;
	list_for_each_entry(kcq, &ep->srq->cqs, node)
		if (kcq->recv_evd == ep->recv_evd && !!kcq->scq == solicited && kcq->room >= need)
			return kcq;
	return NULL;
}

static struct kdapl_cq *kdapl_cq_get_shared(struct kdapl_ep *ep, struct ib_device *ibdev)
{
	u32 max_cqe = ep->obj.ia->limits.max_cqe;
	u32 need = kdapl_request_cqes(ep);
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
				     min_t(u64, (u64)need * KDAPL_CQ_SHARE, max_cqe - recv));
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
 * caller can tell this limit from a device that is out of memory.
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
	irq_poll_disable(&kcq->cq->iop);
	set_bit(IRQ_POLL_F_DISABLE, &kcq->cq->iop.state);
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
	irq_poll_enable(&kcq->cq->iop);
	ib_free_cq(kcq->cq);
	kfree(kcq);
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
		kdapl_grace();
		kdapl_cq_free(ep->cq);
	}
	ep->cq = NULL;
	ep->scq = NULL;
}

/**
 * kdapl_srq_attach - add an EP to the table for completions of its QP
 * @ep: an SRQ EP
 * @qp: its QP, which cannot receive yet
 *
 * Context: process, ep->mutex held or the EP not yet published.
 */
void kdapl_srq_attach(struct kdapl_ep *ep, const struct ib_qp *qp)
{
	mutex_lock(&ep->srq->mutex);
	ep->qp_value = qp;
	hlist_add_head_rcu(&ep->srq_node, &ep->srq->eps[kdapl_srq_bucket(qp)]);
	mutex_unlock(&ep->srq->mutex);
}

/**
 * kdapl_srq_detach - undo kdapl_srq_attach(), after the QP's drain
 * @ep: an SRQ EP
 *
 * A done callback may use the EP until a grace period has passed, in particular if
 * the drain has timed out. Only then may the EP be freed or attached again.
 *
 * Context: process, ep->mutex held or the EP not yet published.
 */
void kdapl_srq_detach(struct kdapl_ep *ep)
{
	mutex_lock(&ep->srq->mutex);
	if (ep->qp_value)
		hash_del_rcu(&ep->srq_node);
	ep->qp_value = NULL;
	mutex_unlock(&ep->srq->mutex);
}

static int kdapl_srq_build(struct kdapl_srq *srq, struct kdapl_ia *ia, const DAT_SRQ_ATTR *attr)
{
	struct ib_srq_init_attr init = {
		.event_handler = kdapl_srq_event,
		.srq_context = srq,
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = attr->max_recv_dtos, .max_sge = max(attr->max_recv_iov, 1) },
	};
	struct ib_srq *ibsrq;
	int ret;

	ret = kdapl_pool_init(&srq->pool, attr->max_recv_dtos, attr->max_recv_iov,
			      kdapl_srq_recv_done, NULL, true, ibdev_to_node(ia->ibdev));
	if (ret)
		return ret;
	ibsrq = ib_create_srq(srq->pz->pd, &init);
	if (IS_ERR(ibsrq)) {
		kdapl_pool_exit(&srq->pool);
		return PTR_ERR(ibsrq);
	}
	srq->depth = attr->max_recv_dtos;
	rcu_assign_pointer(srq->srq, ibsrq);
	return 0;
}

static void kdapl_srq_op_destroy(struct kdapl_obj *obj)
{
	kdapl_srq_destroy(to_kdapl_srq(obj));
}

static void kdapl_srq_op_orphan(struct kdapl_obj *obj)
{
	kdapl_srq_orphan(to_kdapl_srq(obj));
}

static const struct kdapl_obj_ops kdapl_srq_ops = {
	.destroy = kdapl_srq_op_destroy,
	.orphan = kdapl_srq_op_orphan,
};

static DAT_RETURN kdapl_srq_create(struct kdapl_ia *ia, struct kdapl_pz *pz,
				   const DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq_handle)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	struct kdapl_srq *srq;
	int err;

	srq = kzalloc(sizeof(*srq), GFP_KERNEL);
	if (!srq)
		return ret;
	if (kdapl_obj_init(&srq->obj, DAT_HANDLE_TYPE_SRQ, ia))
		goto err_free;
	if (!kdapl_obj_use(&pz->obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
		goto err_abort;
	}
	srq->obj.ops = &kdapl_srq_ops;
	srq->pz = pz;
	srq->zone = pz->zone << KDAPL_ZONE_SHIFT;
	srq->need_write = srq->zone | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	srq->max_iov = attr->max_recv_iov;
	srq->state = DAT_SRQ_STATE_OPERATIONAL;
	mutex_init(&srq->mutex);
	INIT_DELAYED_WORK(&srq->lw_work, kdapl_srq_lw_work);
	INIT_LIST_HEAD(&srq->cqs);
	hash_init(srq->eps);
	err = kdapl_srq_build(srq, ia, attr);
	if (err) {
		if (err != -ENOMEM)
			ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
		goto err_unuse;
	}
	*srq_handle = kdapl_obj_handle(&srq->obj);
	kdapl_ia_add(ia, &srq->obj, true);
	return DAT_SUCCESS;

err_unuse:
	kdapl_obj_unuse(&pz->obj);
err_abort:
	kdapl_obj_abort(&srq->obj);
err_free:
	kfree(srq);
	return ret;
}

static bool kdapl_srq_attr_ok(const struct kdapl_ia *ia, const DAT_SRQ_ATTR *attr)
{
	return attr->max_recv_dtos > 0 && attr->max_recv_iov > 0 &&
	       attr->low_watermark == DAT_SRQ_LW_DEFAULT &&
	       attr->max_recv_dtos <= ia->limits.max_srq_wr &&
	       attr->max_recv_iov <= ia->limits.max_iov;
}

/**
 * dat_srq_create - create a shared receive queue
 * @ia_handle:  IA to which it belongs
 * @pz_handle:  protection zone of its buffers
 * @srq_attr:   depth and segments per buffer; low_watermark must be DAT_SRQ_LW_DEFAULT
 * @srq_handle: receives the SRQ, which is OPERATIONAL and empty
 *
 * Source: kDAPL 2.0.
 *
 * Context: process (class P), not from an upcall.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle or @pz_handle is not valid
 * * DAT_INVALID_PARAMETER - @srq_attr or @srq_handle is NULL; an attribute is not positive or
 *   exceeds the limits of the IA; another watermark
 * * DAT_MODEL_NOT_SUPPORTED - the device has no SRQs
 * * DAT_INSUFFICIENT_RESOURCES - no memory; the device has no free SRQ, or was removed
 */
DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	struct kdapl_obj *pz;
	struct kdapl_ia *ia;
	DAT_SRQ_ATTR attr;
	DAT_RETURN ret;

	ret = kdapl_ia_begin(ia_handle, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	/* Read it once: the Consumer may be changing it */
	if (srq_attr)
		attr = data_race(*srq_attr); /* see the comment above */
	pz = kdapl_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
	if (!pz || pz->ia != ia)
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	else if (!ia->limits.max_srq_wr)
		ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	else if (!srq_attr || !kdapl_srq_attr_ok(ia, &attr))
		ret = KDAPL_IP(DAT_INVALID_ARG3);
	else if (!srq_handle)
		ret = KDAPL_IP(DAT_INVALID_ARG4);
	else
		ret = kdapl_srq_create(ia, to_kdapl_pz(pz), &attr, srq_handle);
	if (pz)
		kdapl_obj_put(pz);
	kdapl_ia_end(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_create);

/* Destroys the verbs SRQ. @known: the SRQ is still published, so posts may use it */
static void kdapl_srq_drop_verbs(struct kdapl_srq *srq, bool known)
{
	struct ib_srq *ibsrq = rcu_dereference_protected(srq->srq, 1);

	if (!ibsrq)
		return;
	/* The work of the low watermark may be using it */
	mutex_lock(&srq->mutex);
	RCU_INIT_POINTER(srq->srq, NULL);
	mutex_unlock(&srq->mutex);
	if (known)
		kdapl_grace();
	/* An EP that another call is freeing still has its QP on it */
	wait_event(srq->obj.ia->wait, list_empty_careful(&srq->cqs));
	ib_destroy_srq(ibsrq);
	/* No event of the device queues it again, and no call arms the mark (srq_lw.c) */
	cancel_delayed_work_sync(&srq->lw_work);
	kdapl_ia_verbs_put(srq->obj.ia);
}

/**
 * kdapl_srq_orphan - orphan an SRQ: its device is being removed
 * @srq: referenced; the QPs of its EPs were destroyed
 *
 * Context: process.
 */
void kdapl_srq_orphan(struct kdapl_srq *srq)
{
	/* Posts read it without a lock */
	WRITE_ONCE(srq->state, DAT_SRQ_STATE_ERROR);
	kdapl_srq_drop_verbs(srq, true);
}

/**
 * kdapl_srq_destroy - free an SRQ that no EP uses
 * @srq: removed from the table, a grace period ago, without references
 *
 * Context: process.
 */
void kdapl_srq_destroy(struct kdapl_srq *srq)
{
	kdapl_srq_drop_verbs(srq, false);
	kdapl_srq_free_more(srq);
	kdapl_pool_exit(&srq->pool);
	kdapl_obj_unuse(&srq->pz->obj);
	kdapl_ia_del(srq->obj.ia, &srq->obj);
	kfree_rcu(srq, obj.rcu);
}

/**
 * dat_srq_free - destroy a shared receive queue
 * @srq_handle: the SRQ
 *
 * The Consumer may reuse the buffers that are still posted; they cause no events. Source:
 * kDAPL 2.0.
 *
 * Context: process (class P), not from an upcall.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @srq_handle is not the handle of an SRQ
 * * DAT_INVALID_STATE - an EP uses it
 */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	struct kdapl_obj *obj;
	int err;

	obj = kdapl_obj_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (!obj)
		return KDAPL_IH_SRQ;
	err = kdapl_obj_retire(obj);
	if (err) {
		kdapl_obj_put(obj);
		return err == -EBUSY ?
		       DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE) : KDAPL_IH_SRQ;
	}
	kdapl_grace();
	kdapl_obj_wait(obj);
	kdapl_srq_destroy(to_kdapl_srq(obj));
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_srq_free);

/**
 * dat_srq_query - query the parameters of an SRQ
 * @srq_handle: the SRQ
 * @mask:       DAT_SRQ_FIELD_*, the members to return
 * @param:      receives them; other members do not change
 *
 * outstanding_dto_count is the number of buffers whose completion was not delivered.
 * available_dto_count is the number of those whose completion was not handled yet, which is
 * an upper limit of the buffers that EPs can still use. Source: kDAPL 2.0.
 *
 * Context: any except hard interrupt; never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @srq_handle is not the handle of an SRQ
 * * DAT_INVALID_PARAMETER - unknown bit in @mask; @param is NULL
 */
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK mask,
			 DAT_SRQ_PARAM *param)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_obj *obj;
	struct kdapl_srq *srq;
	u32 posted, done;

	obj = kdapl_obj_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (!obj)
		return KDAPL_IH_SRQ;
	srq = to_kdapl_srq(obj);
	if (mask & ~DAT_SRQ_FIELD_ALL) {
		ret = KDAPL_IP(DAT_INVALID_ARG2);
		goto out;
	}
	if (!param) {
		ret = KDAPL_IP(DAT_INVALID_ARG3);
		goto out;
	}
	kdapl_srq_tally(srq, &posted, &done);
	if (mask & DAT_SRQ_FIELD_IA_HANDLE)
		param->ia_handle = kdapl_obj_handle(&obj->ia->obj);
	if (mask & DAT_SRQ_FIELD_SRQ_STATE)
		param->srq_state = READ_ONCE(srq->state);
	if (mask & DAT_SRQ_FIELD_PZ_HANDLE)
		param->pz_handle = kdapl_obj_handle(&srq->pz->obj);
	if (mask & DAT_SRQ_FIELD_MAX_RECV_DTO)
		param->max_recv_dtos = READ_ONCE(srq->depth);
	if (mask & DAT_SRQ_FIELD_MAX_RECV_IOV)
		param->max_recv_iov = srq->max_iov;
	if (mask & DAT_SRQ_FIELD_LOW_WATERMARK)
		param->low_watermark = READ_ONCE(srq->low_watermark);
	if (mask & DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT)
		param->available_dto_count = posted;
	if (mask & DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT)
		param->outstanding_dto_count = posted + done;
out:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_query);
