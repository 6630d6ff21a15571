// SPDX-License-Identifier: GPL-2.0
/*
 * Remote memory regions: creation and destruction. rmr_bind.c binds them.
 *
 * Owns the two MRs of an RMR, and replaces them after a request has failed and it is unknown
 * whether the device has executed it. If an RMR is freed while requests on an EP are
 * outstanding, the device still uses its MRs: they are freed after the last of these
 * requests (@wrs), and everything else at once.
 *
 * Called by Consumers and by ia_close.c, in process context; the query in any context.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include "event/event.h"
#include "internal.h"

/* Allocates an MR as large as the largest LMR, and adds it to the table of keys */
static int kdapl_rmr_make_mr(struct kdapl_rmr *rmr, struct kdapl_mr *m)
{
	struct kdapl_ia *ia = rmr->obj.ia;
	struct ib_mr *mr;
	int ret;

	mr = ib_alloc_mr(rmr->pz->pd, IB_MR_TYPE_MEM_REG, ia->limits.page_list_len);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = kdapl_key_add(ia->dev, mr->rkey, &rmr->obj);
	if (ret) {
		kdapl_mr_dereg(mr);
		return ret;
	}
	WRITE_ONCE(m->mr, mr);
	return 0;
}

static void kdapl_rmr_drop_mr(struct kdapl_rmr *rmr, struct kdapl_mr *m)
{
	struct ib_mr *mr;

	/* A message of a peer may be using its key */
	spin_lock_irq(&rmr->lock);
	mr = m->mr;
	m->mr = NULL;
	spin_unlock_irq(&rmr->lock);
	if (!mr)
		return;
	kdapl_key_del(rmr->obj.ia->dev, mr->rkey);
	/* Deregistration invalidates the key at once, so the LMR is not in use any more */
	kdapl_mr_dereg(mr);
	spin_lock_irq(&rmr->lock);
	kdapl_rmr_drop_lmr(m);
	spin_unlock_irq(&rmr->lock);
}

static void kdapl_rmr_set_free(struct kdapl_rmr *rmr, struct kdapl_mr *m)
{
	spin_lock_irq(&rmr->lock);
	kdapl_rmr_mark_free(m);
	spin_unlock_irq(&rmr->lock);
}

/* No request uses an MR in UNKNOWN, and none will until it has been replaced */
static void kdapl_rmr_repair(struct work_struct *work)
{
	struct kdapl_rmr *rmr = container_of(work, struct kdapl_rmr, repair);
	struct kdapl_ia *ia = rmr->obj.ia;
	struct kdapl_mr *m;
	unsigned int noio;
	bool hostile;

	if (!kdapl_ia_enter(ia))
		/* The device is being removed, and the MRs with it */
		return;
	/* Reclaim may wait for a Consumer that needs the new MR */
	noio = memalloc_noio_save();
	for (m = rmr->mrs; m < rmr->mrs + ARRAY_SIZE(rmr->mrs); m++) {
		if (READ_ONCE(m->state) != KDAPL_MR_UNKNOWN)
			continue;
		kdapl_rmr_drop_mr(rmr, m);
		/* If this fails, the MR stays in UNKNOWN, and the next bind tries again */
		if (!kdapl_rmr_make_mr(rmr, m))
			kdapl_rmr_set_free(rmr, m);
	}
	spin_lock_irq(&rmr->lock);
	hostile = rmr->hostile;
	rmr->hostile = false;
	spin_unlock_irq(&rmr->lock);
	if (hostile)
		kdapl_ia_async(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
			       kdapl_obj_handle(&rmr->obj), DAT_RMR_OTHER_ERROR);
	memalloc_noio_restore(noio);
	kdapl_ia_leave(ia);
}

/* Runs a grace period after the RMR was freed and its last request has completed */
static void kdapl_rmr_free_work(struct work_struct *work)
{
	struct kdapl_rmr *rmr = container_of(to_rcu_work(work), struct kdapl_rmr, free_work);
	/* Reclaim may wait for a Consumer that needs work queued after this */
	unsigned int noio = memalloc_noio_save();
	struct kdapl_ia *ia = rmr->obj.ia;
	struct kdapl_pz *pz = rmr->pz;
	bool orphaned = rmr->orphaned;
	struct kdapl_mr *m;

	for (m = rmr->mrs; m < rmr->mrs + ARRAY_SIZE(rmr->mrs); m++) {
		kdapl_rmr_drop_mr(rmr, m);
		kdapl_rmr_set_free(rmr, m);
	}
	/* A lookup in the table of keys may still use it */
	kfree_rcu(rmr, obj.rcu);
	/* The LMRs to which it was bound may be freed */
	if (atomic_dec_and_test(&ia->nrmrs))
		wake_up(&ia->wait);
	if (!orphaned)
		kdapl_ia_verbs_put(ia);
	kdapl_pz_mr_put(pz);
	memalloc_noio_restore(noio);
}

/*
 * Orphans an RMR: its device is being removed, or its IA is closed. @obj: referenced, or killed
 * by the close; no EP has a QP any more, so no request is outstanding. Process context.
 */
static void kdapl_rmr_orphan(struct kdapl_obj *obj)
{
	struct kdapl_rmr *rmr = to_kdapl_rmr(obj);
	struct kdapl_mr *m;

	if (rmr->orphaned)
		return;
	cancel_work_sync(&rmr->repair);
	for (m = rmr->mrs; m < rmr->mrs + ARRAY_SIZE(rmr->mrs); m++) {
		kdapl_rmr_drop_mr(rmr, m);
		kdapl_rmr_set_free(rmr, m);
	}
	spin_lock_irq(&rmr->lock);
	kdapl_rmr_unbound(rmr);
	spin_unlock_irq(&rmr->lock);
	rmr->orphaned = true;
	kdapl_ia_verbs_put(rmr->obj.ia);
}

/* Ends bindings that exist or may exist, except those that a request begins or ends */
static void kdapl_rmr_revoke(struct kdapl_rmr *rmr)
{
	struct kdapl_mr *m;
	u8 state;

	for (m = rmr->mrs; m < rmr->mrs + ARRAY_SIZE(rmr->mrs); m++) {
		state = READ_ONCE(m->state);
		if (state != KDAPL_MR_VALID && state != KDAPL_MR_UNKNOWN)
			continue;
		if (state == KDAPL_MR_UNKNOWN || kdapl_pz_invalidate(rmr->pz, m->mr->rkey))
			kdapl_rmr_drop_mr(rmr, m);
		kdapl_rmr_set_free(rmr, m);
	}
}

/*
 * Frees an RMR. When it returns, the binding has ended, or it will end with the outstanding
 * request. Process context.
 */
static void kdapl_rmr_destroy(struct kdapl_obj *obj)
{
	struct kdapl_rmr *rmr = to_kdapl_rmr(obj);
	struct kdapl_pz *pz = rmr->pz;

	spin_lock_irq(&rmr->lock);
	rmr->dying = true;
	spin_unlock_irq(&rmr->lock);
	/* It is not queued again, because completions check @dying under the lock */
	cancel_work_sync(&rmr->repair);
	if (!rmr->orphaned)
		kdapl_rmr_revoke(rmr);
	kdapl_ia_del(rmr->obj.ia, &rmr->obj);
	kdapl_obj_unuse(&pz->obj);
	/* The work keeps the zone, and so the memory of the IA, until it has run */
	kdapl_rmr_put(rmr);
}

static const struct kdapl_obj_ops kdapl_rmr_ops = {
	.destroy = kdapl_rmr_destroy,
	.orphan = kdapl_rmr_orphan,
	.invalidated = kdapl_rmr_invalidated,
};

static void kdapl_rmr_init(struct kdapl_rmr *rmr, struct kdapl_pz *pz)
{
	rmr->obj.ops = &kdapl_rmr_ops;
	rmr->pz = pz;
	rmr->zone = pz->zone << KDAPL_ZONE_SHIFT;
	spin_lock_init(&rmr->lock);
	rmr->mrs[0].rmr = rmr;
	rmr->mrs[1].rmr = rmr;
	rmr->cur = -1;
	refcount_set(&rmr->wrs, 1);
	INIT_WORK(&rmr->repair, kdapl_rmr_repair);
	INIT_RCU_WORK(&rmr->free_work, kdapl_rmr_free_work);
	rmr->param.ia_handle = kdapl_obj_handle(&rmr->obj.ia->obj);
	rmr->param.pz_handle = kdapl_obj_handle(&pz->obj);
	rmr->param.rmr_scope = DAT_RMR_SCOPE_PZ;
	rmr->param.va_type = DAT_VA_TYPE_VA;
}

/* Called inside kdapl_ia_enter(), with the zone in use. Undoes its work if it fails */
static DAT_RETURN kdapl_rmr_build(struct kdapl_rmr *rmr, struct kdapl_pz *pz)
{
	if (kdapl_pz_make_map_sg(pz))
		return KDAPL_NO_RESOURCE(MEMORY);
	if (kdapl_rmr_make_mr(rmr, &rmr->mrs[0]))
		return KDAPL_NO_RESOURCE(MEMORY_REGION);
	if (kdapl_rmr_make_mr(rmr, &rmr->mrs[1])) {
		kdapl_rmr_drop_mr(rmr, &rmr->mrs[0]);
		return KDAPL_NO_RESOURCE(MEMORY_REGION);
	}
	kdapl_pz_mr_get(pz);
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_rmr_make(struct kdapl_pz *pz, struct kdapl_rmr **out)
{
	DAT_RETURN ret = KDAPL_NO_RESOURCE(MEMORY);
	struct kdapl_rmr *rmr = kzalloc(sizeof(*rmr), GFP_KERNEL);

	if (!rmr)
		return ret;
	if (kdapl_obj_init(&rmr->obj, DAT_HANDLE_TYPE_RMR, pz->obj.ia))
		goto err_free;
	if (!kdapl_obj_tryuse(&pz->obj)) {
		ret = KDAPL_BAD_HANDLE(PZ);
		goto err_abort;
	}
	kdapl_rmr_init(rmr, pz);
	ret = kdapl_rmr_build(rmr, pz);
	if (ret)
		goto err_unuse;
	*out = rmr;
	return DAT_SUCCESS;

err_unuse:
	kdapl_obj_unuse(&pz->obj);
err_abort:
	kdapl_obj_exit(&rmr->obj);
err_free:
	kfree_rcu(rmr, obj.rcu);
	return ret;
}

/**
 * dat_rmr_create - create an unbound RMR
 * @pz_handle:  its protection zone
 * @rmr_handle: receives the handle
 *
 * It can be bound to as much memory as the largest LMR can have, on any EP of the zone.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_PZ;
 * DAT_INVALID_PARAMETER with ARG2: @rmr_handle is NULL; DAT_INSUFFICIENT_RESOURCES: MEMORY,
 * MEMORY_REGION, or DEVICE, which was removed.
 */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	struct kdapl_obj *pz = kdapl_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
	struct kdapl_rmr *rmr;
	DAT_RETURN ret;

	if (!pz)
		return KDAPL_BAD_HANDLE(PZ);
	if (!rmr_handle) {
		ret = KDAPL_BAD_ARG(2);
		goto out_put;
	}
	if (!kdapl_ia_enter(pz->ia)) {
		ret = KDAPL_NO_RESOURCE(DEVICE);
		goto out_put;
	}
	ret = kdapl_rmr_make(to_kdapl_pz(pz), &rmr);
	if (!ret) {
		*rmr_handle = kdapl_obj_handle(&rmr->obj);
		atomic_inc(&pz->ia->nrmrs);
		kdapl_ia_add(pz->ia, &rmr->obj, true);
	}
	kdapl_ia_leave(pz->ia);
out_put:
	kdapl_obj_put(pz);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_rmr_create);

static void kdapl_rmr_fill(struct kdapl_obj *obj, union kdapl_param *param)
{
	struct kdapl_rmr *rmr = to_kdapl_rmr(obj);
	unsigned long flags;

	spin_lock_irqsave(&rmr->lock, flags);
	param->rmr = rmr->param;
	spin_unlock_irqrestore(&rmr->lock, flags);
}

static const u16 kdapl_rmr_offsets[] = {
	KDAPL_PARAM(RMR, ia_handle), KDAPL_PARAM(RMR, pz_handle), KDAPL_PARAM(RMR, lmr_triplet),
	KDAPL_PARAM(RMR, mem_priv), KDAPL_PARAM(RMR, rmr_context), KDAPL_PARAM(RMR, rmr_scope),
	KDAPL_PARAM(RMR, va_type), sizeof(DAT_RMR_PARAM)
};

KDAPL_DEFINE_QUERY(kdapl_rmr, RMR, KDAPL_BAD_HANDLE(RMR));

/**
 * dat_rmr_query - query the parameters of an RMR
 * @rmr_handle:     RMR
 * @rmr_param_mask: DAT_RMR_FIELD_*, the members to return
 * @rmr_param:      receives them; other members do not change
 *
 * The new binding is returned as soon as dat_rmr_bind() has returned. If the RMR is not
 * bound, the triplet, the privileges and the context are 0.
 *
 * Context: any (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_RMR;
 * DAT_INVALID_PARAMETER: ARG2 unknown bit, ARG3 @rmr_param is NULL.
 */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	return kdapl_query(&kdapl_rmr_query, rmr_handle, rmr_param_mask, rmr_param);
}
EXPORT_SYMBOL_GPL(dat_rmr_query);

/**
 * dat_rmr_free - destroy an RMR, whether it is bound or not
 * @rmr_handle: RMR
 *
 * The binding ends before the call returns. If an outstanding request begins or ends the
 * binding, it ends when that request completes, which may depend on the peer. Until then,
 * and until a work item has run after a grace period, its LMR is in use.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_RMR.
 */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	/*
	 * @dying refuses the posts that still find it until the grace period of free_work ends. No
	 * object uses an RMR
	 */
	return kdapl_obj_free(rmr_handle, DAT_HANDLE_TYPE_RMR, false, KDAPL_BAD_HANDLE(RMR),
			      KDAPL_BAD_HANDLE(RMR));
}
EXPORT_SYMBOL_GPL(dat_rmr_free);
