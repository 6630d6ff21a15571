// SPDX-License-Identifier: GPL-2.0
/*
 * Public service points: listening, and the backlog of requests.
 *
 * Owns the listening cm_id of a PSP and the memory of its connection
 * requests, made with it: a flood of requests allocates nothing of ours
 * (C-50) and costs at most the share of the EVD that the PSP has (C-49). What
 * becomes of a request stands in cr.c. Called by Consumers in process context
 * (queries in any), by IA close and by removal; the callback by rdma_cm.
 *
 * A request that finds no room is refused in the callback itself: rdma_reject()
 * does not sleep, and leaves the core nothing to say when our error return
 * has it destroy the id. By itself the core would give the reason of a
 * Consumer's reject.
 */
#include <linux/export.h>
#include "kdapl.h"
#include "trace.h"

/* Requests that one PSP can hold however long its EVD is */
#define KDAPL_MAX_BACKLOG	1024

/* ---- backlog ----------------------------------------------------------- */

static void kdapl_psp_put_mem(struct kdapl_psp *psp)
{
	/* A handle lookup may still look at a header in here */
	if (refcount_dec_and_test(&psp->mem))
		kvfree_rcu(psp, obj.rcu);
}

/* A CR for a new request, if EVD and share allow one more; CM callback */
static struct kdapl_cr *kdapl_psp_take(struct kdapl_psp *psp)
{
	struct kdapl_evd *evd = psp->evd;
	/* dat_evd_resize() may be changing it */
	u32 qlen = READ_ONCE(evd->qlen);
	struct kdapl_cr *cr = NULL;
	unsigned long flags;
	u32 share;

	share = max_t(u32, qlen / max(atomic_read(&evd->npsp), 1), 1);
	spin_lock_irqsave(&psp->lock, flags);
	if (psp->closed || psp->ncr >= share || list_empty(&psp->free))
		goto out;
	if (atomic_inc_return(&evd->ncr) > qlen) {
		atomic_dec(&evd->ncr);
		goto out;
	}
	cr = list_first_entry(&psp->free, struct kdapl_cr, free_node);
	list_del(&cr->free_node);
	psp->ncr++;
	refcount_inc(&psp->mem);
out:
	spin_unlock_irqrestore(&psp->lock, flags);
	return cr;
}

/**
 * kdapl_psp_uncount - a request waits no more
 * @cr: its CR
 *
 * The EVD may have been freed since, with its handle out of the table.
 *
 * Context: process.
 */
void kdapl_psp_uncount(struct kdapl_cr *cr)
{
	struct kdapl_psp *psp = cr->psp;
	struct kdapl_obj *obj;

	spin_lock_irq(&psp->lock);
	psp->ncr--;
	spin_unlock_irq(&psp->lock);
	obj = kdapl_obj_get(psp->evd_handle, DAT_HANDLE_TYPE_EVD);
	if (obj) {
		atomic_dec(&to_kdapl_evd(obj)->ncr);
		kdapl_obj_put(obj);
	}
}

/**
 * kdapl_psp_recycle - a CR's memory is free for the next request
 * @cr: the CR, without references
 *
 * Context: process.
 */
void kdapl_psp_recycle(struct kdapl_cr *cr)
{
	struct kdapl_psp *psp = cr->psp;

	spin_lock_irq(&psp->lock);
	list_add(&cr->free_node, &psp->free);
	spin_unlock_irq(&psp->lock);
	kdapl_psp_put_mem(psp);
}

/* ---- callback ---------------------------------------------------------- */

/* rdma_cm callback of a listener; for a request @id is the new child */
static int kdapl_psp_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_psp *psp = id->context;
	struct kdapl_cr *cr = NULL;

	trace_kdapl_cm_event(kdapl_obj_id(&psp->obj), event->event, event->status);
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (id->port_num == psp->obj.ia->port)
		cr = kdapl_psp_take(psp);
	if (!cr) {
		rdma_reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
		return -ECONNREFUSED;
	}
	kdapl_cr_arrive(cr, id, &event->param.conn);
	return 0;
}

/* ---- making and freeing ------------------------------------------------ */

static void kdapl_psp_setup(struct kdapl_psp *psp, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
			    u32 backlog)
{
	u32 i;

	psp->evd = evd;
	psp->evd_handle = kdapl_obj_handle(&evd->obj);
	psp->qual = qual;
	psp->flags = DAT_PSP_CONSUMER_FLAG;
	psp->backlog = backlog;
	spin_lock_init(&psp->lock);
	INIT_LIST_HEAD(&psp->free);
	refcount_set(&psp->mem, 1);
	for (i = 0; i < backlog; i++) {
		kdapl_cr_setup(&psp->crs[i], psp);
		list_add_tail(&psp->crs[i].free_node, &psp->free);
	}
}

static int kdapl_psp_listen(struct kdapl_psp *psp)
{
	struct kdapl_ia *ia = psp->obj.ia;
	struct rdma_cm_id *id;
	int ret;

	id = kdapl_cm_bind(ia, ia->ibdev, kdapl_psp_handler, psp, kdapl_cm_port(psp->qual));
	if (IS_ERR(id))
		return PTR_ERR(id);
	psp->id = id;
	ret = rdma_listen(id, 0);
	if (ret) {
		rdma_destroy_id(id);
		psp->id = NULL;
	}
	return ret;
}

/* Makes a PSP that listens; its EVD is in use by it from then on */
static int kdapl_psp_new(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
			 struct kdapl_psp **out)
{
	u32 backlog = min_t(u32, READ_ONCE(evd->qlen), KDAPL_MAX_BACKLOG);
	struct kdapl_psp *psp;
	int ret;

	psp = kvzalloc(struct_size(psp, crs, backlog), GFP_KERNEL);
	if (!psp)
		return -ENOMEM;
	ret = kdapl_obj_init(&psp->obj, DAT_HANDLE_TYPE_PSP, ia);
	if (ret)
		goto err_free;
	kdapl_psp_setup(psp, evd, qual, backlog);
	atomic_inc(&evd->npsp);
	ret = kdapl_psp_listen(psp);
	if (ret)
		goto err_abort;
	*out = psp;
	kdapl_ia_add(ia, &psp->obj, true);
	return 0;

err_abort:
	atomic_dec(&evd->npsp);
	kdapl_obj_abort(&psp->obj);
err_free:
	kvfree(psp);
	return ret;
}

/* Stops listening; requests not announced yet are refused. True for the one caller that did */
static bool kdapl_psp_close(struct kdapl_psp *psp)
{
	struct rdma_cm_id *id = xchg(&psp->id, NULL);
	u32 i;

	spin_lock_irq(&psp->lock);
	psp->closed = true;
	spin_unlock_irq(&psp->lock);
	if (id)
		rdma_destroy_id(id);
	/* No callback any more, so no new work: what is queued sees @closed */
	for (i = 0; i < psp->backlog; i++)
		flush_work(&psp->crs[i].work);
	return id;
}

/**
 * kdapl_psp_destroy - take a PSP apart
 * @psp: out of the table, no reference left
 *
 * CRs that were announced stay valid; the memory goes with the last of them.
 *
 * Context: process, no lock that a CM callback or a CR's work takes.
 */
void kdapl_psp_destroy(struct kdapl_psp *psp)
{
	struct kdapl_ia *ia = psp->obj.ia;

	if (kdapl_psp_close(psp))
		kdapl_ia_verbs_put(ia);
	atomic_dec(&psp->evd->npsp);
	kdapl_obj_unuse(&psp->evd->obj);
	kdapl_ia_del(ia, &psp->obj);
	kdapl_psp_put_mem(psp);
}

/**
 * kdapl_psp_shell - the device is going: stop listening
 * @psp: referenced by the caller
 *
 * Context: process, as kdapl_psp_destroy().
 */
void kdapl_psp_shell(struct kdapl_psp *psp)
{
	if (kdapl_psp_close(psp))
		kdapl_ia_verbs_put(psp->obj.ia);
}

/* ---- calls ------------------------------------------------------------- */

static DAT_RETURN kdapl_psp_error(int err)
{
	switch (err) {
	case -EADDRINUSE:
	case -EBUSY:
		return DAT_ERROR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	case -ENOMEM:
	case -ENOSPC:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	case -ENODEV:
	case -EADDRNOTAVAIL:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	default:
		return kdapl_errno_to_dat(err);
	}
}

/* Arguments of a create, in the order of the reference */
static DAT_RETURN kdapl_psp_check(const struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				  DAT_PSP_FLAGS flags, const DAT_PSP_HANDLE *out)
{
	if (!out)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!(evd->streams & DAT_EVD_CR_FLAG))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (flags & ~DAT_PSP_PROVIDER_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (flags & DAT_PSP_PROVIDER_FLAG)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	/* Port 0 would listen somewhere that nobody can be told of */
	if (!qual)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return DAT_SUCCESS;
}

/**
 * dat_psp_create - listen for connection requests
 * @ia_handle:  open IA
 * @conn_qual:  qualifier to listen on; up to 65535 it is the IP port
 * @evd_handle: EVD with DAT_EVD_CR_FLAG that takes CONNECTION_REQUEST events
 * @psp_flags:  DAT_PSP_CONSUMER_FLAG
 * @psp_handle: takes the service point
 *
 * A request that comes while as many wait as the EVD is long, or as the share
 * of this service point in it, is refused as if nobody listened. A request may
 * be announced before the call has returned. Source: kDAPL 2.0.
 *
 * Context: process (class P), not from an upcall.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle; @evd_handle names no EVD of this IA that
 *   takes requests
 * * DAT_INVALID_PARAMETER - no @psp_handle, unknown flag, @conn_qual is 0
 * * DAT_MODEL_NOT_SUPPORTED - DAT_PSP_PROVIDER_FLAG
 * * DAT_CONN_QUAL_IN_USE - somebody listens there
 * * DAT_INSUFFICIENT_RESOURCES - no memory; the device or its address is gone
 */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	struct kdapl_obj *obj = NULL;
	struct kdapl_psp *psp;
	struct kdapl_ia *ia;
	DAT_RETURN ret;
	int err;

	ret = kdapl_ia_begin(ia_handle, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	obj = kdapl_obj_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!obj)
		goto out_ia;
	if (obj->ia != ia)
		goto out_evd;
	ret = kdapl_psp_check(to_kdapl_evd(obj), conn_qual, psp_flags, psp_handle);
	if (ret != DAT_SUCCESS)
		goto out_evd;
	if (!kdapl_obj_use(obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
		goto out_evd;
	}
	err = kdapl_psp_new(ia, to_kdapl_evd(obj), conn_qual, &psp);
	if (err) {
		kdapl_obj_unuse(obj);
		ret = kdapl_psp_error(err);
	} else {
		*psp_handle = kdapl_obj_handle(&psp->obj);
	}
out_evd:
	kdapl_obj_put(obj);
out_ia:
	kdapl_ia_end(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_psp_create);

/**
 * dat_psp_query - what a service point was made with
 * @psp_handle:     the service point
 * @psp_param_mask: DAT_PSP_FIELD_*, the members wanted
 * @psp_param:      takes them; other members are left alone
 *
 * Source: kDAPL 2.0.
 *
 * Context: any but hard interrupt (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER: unknown bit
 * in @psp_param_mask, or @psp_param is NULL.
 */
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_obj *obj;
	struct kdapl_psp *psp;

	obj = kdapl_obj_get(psp_handle, DAT_HANDLE_TYPE_PSP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	psp = to_kdapl_psp(obj);
	if (psp_param_mask & ~DAT_PSP_FIELD_ALL) {
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		goto out;
	}
	if (!psp_param) {
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		goto out;
	}
	if (psp_param_mask & DAT_PSP_FIELD_IA_HANDLE)
		psp_param->ia_handle = kdapl_obj_handle(&obj->ia->obj);
	if (psp_param_mask & DAT_PSP_FIELD_CONN_QUAL)
		psp_param->conn_qual = psp->qual;
	if (psp_param_mask & DAT_PSP_FIELD_EVD_HANDLE)
		psp_param->evd_handle = psp->evd_handle;
	if (psp_param_mask & DAT_PSP_FIELD_PSP_FLAGS)
		psp_param->psp_flags = psp->flags;
out:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_psp_query);

/**
 * dat_psp_free - stop listening
 * @psp_handle: the service point
 *
 * Requests that were announced stay valid, later ones are refused as if
 * nobody listened. Source: kDAPL 2.0.
 *
 * Context: process (class P), not from an upcall.
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	struct kdapl_obj *obj;

	obj = kdapl_obj_get(psp_handle, DAT_HANDLE_TYPE_PSP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	/* Nothing uses a service point: it can only be gone already */
	if (kdapl_obj_retire(obj)) {
		kdapl_obj_put(obj);
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	}
	/* No post looks at one, so there is no read section to wait for */
	kdapl_obj_wait(obj);
	kdapl_psp_destroy(to_kdapl_psp(obj));
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_psp_free);
