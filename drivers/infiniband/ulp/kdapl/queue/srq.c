// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues.
 *
 * Owns SRQ objects (process context), and the table that maps a completion of an SRQ buffer
 * to its EP (read by complete.c).
 */
#include <linux/export.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include "post/post.h"
#include "internal.h"

/*
 * Adds an SRQ EP to the table for completions of its QP, which cannot receive yet. Process context,
 * ep->mutex held or the EP not yet published.
 */
void kdapl_srq_attach(struct kdapl_ep *ep, const struct ib_qp *qp)
{
	mutex_lock(&ep->cfg.srq->mutex);
	ep->queue.qp_value = qp;
	hlist_add_head_rcu(&ep->queue.srq_node, &ep->cfg.srq->eps[kdapl_srq_bucket(qp)]);
	mutex_unlock(&ep->cfg.srq->mutex);
}

/*
 * Undoes kdapl_srq_attach(), after the QP's drain. A done callback may use the EP until a grace
 * period has passed, in particular if the drain has timed out. Only then may the EP be freed or
 * attached again. @ep: an SRQ EP. Process context, ep->mutex held or the EP not yet published.
 */
void kdapl_srq_detach(struct kdapl_ep *ep)
{
	mutex_lock(&ep->cfg.srq->mutex);
	if (ep->queue.qp_value)
		hash_del_rcu(&ep->queue.srq_node);
	ep->queue.qp_value = NULL;
	mutex_unlock(&ep->cfg.srq->mutex);
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

	ret = kdapl_pool_init(&srq->pool, attr->max_recv_dtos, kdapl_srq_recv_done, NULL, true,
			      ibdev_to_node(ia->ibdev));
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

static void kdapl_srq_destroy(struct kdapl_obj *obj);
static void kdapl_srq_orphan(struct kdapl_obj *obj);

static const struct kdapl_obj_ops kdapl_srq_ops = {
	.destroy = kdapl_srq_destroy,
	.orphan = kdapl_srq_orphan,
};

static DAT_RETURN kdapl_srq_create(struct kdapl_ia *ia, struct kdapl_pz *pz,
				   const DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq_handle)
{
	DAT_RETURN ret = KDAPL_NO_RESOURCE(MEMORY);
	struct kdapl_srq *srq;
	int err;

	srq = kzalloc(sizeof(*srq), GFP_KERNEL);
	if (!srq)
		return ret;
	if (kdapl_obj_init(&srq->obj, DAT_HANDLE_TYPE_SRQ, ia))
		goto err_free;
	if (!kdapl_obj_tryuse(&pz->obj)) {
		ret = KDAPL_BAD_HANDLE(PZ);
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
			ret = KDAPL_NO_RESOURCE(SRQ);
		goto err_unuse;
	}
	*srq_handle = kdapl_obj_handle(&srq->obj);
	kdapl_ia_add(ia, &srq->obj, true);
	return DAT_SUCCESS;

err_unuse:
	kdapl_obj_unuse(&pz->obj);
err_abort:
	kdapl_obj_exit(&srq->obj);
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
 * Context: process (class P).
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

	ret = kdapl_ia_get_enter(ia_handle, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	if (srq_attr)
		attr = data_race(*srq_attr); /* once: the Consumer may be changing it */
	pz = kdapl_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
	if (!pz || pz->ia != ia)
		ret = KDAPL_BAD_HANDLE(PZ);
	else if (!ia->limits.max_srq_wr)
		ret = KDAPL_UNSUPPORTED;
	else if (!srq_attr || !kdapl_srq_attr_ok(ia, &attr))
		ret = KDAPL_BAD_ARG(3);
	else if (!srq_handle)
		ret = KDAPL_BAD_ARG(4);
	else
		ret = kdapl_srq_create(ia, to_kdapl_pz(pz), &attr, srq_handle);
	if (pz)
		kdapl_obj_put(pz);
	kdapl_ia_leave_put(ia);
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
		kdapl_wait_grace_period();
	/* An EP that another call is freeing still has its QP on it */
	wait_event(srq->obj.ia->wait, list_empty_careful(&srq->cqs));
	ib_destroy_srq(ibsrq);
	/* No event of the device queues it again, and no call arms the mark (srq_lw.c) */
	cancel_delayed_work_sync(&srq->lw_work);
	kdapl_ia_verbs_put(srq->obj.ia);
}

/*
 * Orphans an SRQ: its device is being removed. @obj: referenced; the QPs of its EPs were
 * destroyed. Process context.
 */
static void kdapl_srq_orphan(struct kdapl_obj *obj)
{
	struct kdapl_srq *srq = to_kdapl_srq(obj);

	/* Posts read it without a lock */
	WRITE_ONCE(srq->state, DAT_SRQ_STATE_ERROR);
	kdapl_srq_drop_verbs(srq, true);
}

/*
 * Frees an SRQ that no EP uses. @obj: unpublished a grace period ago, without references. Process
 * context.
 */
static void kdapl_srq_destroy(struct kdapl_obj *obj)
{
	struct kdapl_srq *srq = to_kdapl_srq(obj);

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
 * The Consumer may reuse the buffers that are still posted; they cause no events.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @srq_handle is not the handle of an SRQ
 * * DAT_INVALID_STATE - an EP uses it
 */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	return kdapl_obj_free(srq_handle, DAT_HANDLE_TYPE_SRQ, true, KDAPL_BAD_HANDLE(SRQ),
			      KDAPL_BAD_STATE(SRQ_IN_USE));
}
EXPORT_SYMBOL_GPL(dat_srq_free);

static void kdapl_srq_fill(struct kdapl_obj *obj, union kdapl_param *param)
{
	const struct kdapl_srq *srq = to_kdapl_srq(obj);
	DAT_SRQ_PARAM *p = &param->srq;
	u32 posted, done;

	kdapl_srq_tally(srq, &posted, &done);
	p->ia_handle = kdapl_obj_handle(&obj->ia->obj);
	p->srq_state = READ_ONCE(srq->state);
	p->pz_handle = kdapl_obj_handle(&srq->pz->obj);
	p->max_recv_dtos = READ_ONCE(srq->depth);
	p->max_recv_iov = srq->max_iov;
	p->low_watermark = READ_ONCE(srq->low_watermark);
	p->available_dto_count = posted;
	p->outstanding_dto_count = posted + done;
}

static const u16 kdapl_srq_offsets[] = {
	KDAPL_PARAM(SRQ, ia_handle), KDAPL_PARAM(SRQ, srq_state), KDAPL_PARAM(SRQ, pz_handle),
	KDAPL_PARAM(SRQ, max_recv_dtos), KDAPL_PARAM(SRQ, max_recv_iov),
	KDAPL_PARAM(SRQ, low_watermark), KDAPL_PARAM(SRQ, available_dto_count),
	KDAPL_PARAM(SRQ, outstanding_dto_count), sizeof(DAT_SRQ_PARAM)
};

KDAPL_DEFINE_QUERY(kdapl_srq, SRQ, KDAPL_BAD_HANDLE(SRQ));

/**
 * dat_srq_query - query the parameters of an SRQ
 * @srq_handle: the SRQ
 * @mask:       DAT_SRQ_FIELD_*, the members to return
 * @param:      receives them; other members do not change
 *
 * outstanding_dto_count is the number of buffers whose completion was not delivered.
 * available_dto_count is the number of those whose completion was not handled yet, which is an
 * upper limit of the buffers that EPs can still use.
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
	return kdapl_query(&kdapl_srq_query, srq_handle, mask, param);
}
EXPORT_SYMBOL_GPL(dat_srq_query);
