// SPDX-License-Identifier: GPL-2.0
/*
 * Service points: listening, and the backlog of requests.
 *
 * Owns the listening cm_id of a PSP or RSP and the memory of its connection
 * requests, made with it, their places in the handle table included: a flood
 * of requests allocates nothing of ours (C-50) and costs at most the share of
 * the EVD that the service point has (C-49). What becomes of a request stands
 * in cr.c. Called by psp.c and rsp.c, by IA close and by removal in process
 * context; the callback by rdma_cm.
 *
 * A request that finds no room is refused in the callback itself: rdma_reject()
 * does not sleep, and leaves the core nothing to say when our error return
 * has it destroy the id. By itself the core would give the reason of a
 * Consumer's reject.
 */
#include <linux/sched/mm.h>
#include "kdapl.h"
#include "trace.h"

/* Requests that one service point can hold however long its EVD is */
#define KDAPL_MAX_BACKLOG	1024

/* Service points that listen, by kdapl_sp.node; taken alone, in any context */
static LIST_HEAD(kdapl_sps);
static DEFINE_SPINLOCK(kdapl_sps_lock);

/* ---- backlog ----------------------------------------------------------- */

static void kdapl_sp_put_mem(struct kdapl_sp *sp)
{
	u32 i;

	if (!refcount_dec_and_test(&sp->mem))
		return;
	for (i = 0; i < sp->backlog; i++)
		kdapl_obj_abort(&sp->crs[i].obj);
	/* A handle lookup may still look at a header in here */
	kvfree_rcu(sp, obj.rcu);
}

/**
 * kdapl_sp_take - a CR for a request, if EVD and share allow one more
 * @sp:     the service point
 * @placed: the request has a place on the EVD already, which the caller passes on
 *
 * Context: any, CM callbacks among them.
 * Return: the CR, counted as one that waits; or NULL.
 */
struct kdapl_cr *kdapl_sp_take(struct kdapl_sp *sp, bool placed)
{
	struct kdapl_evd *evd = sp->evd;
	u32 qlen = READ_ONCE(evd->qlen);
	struct kdapl_cr *cr = NULL;
	unsigned long flags;
	u32 share;

	share = max_t(u32, qlen / max(atomic_read(&evd->npsp), 1), 1);
	spin_lock_irqsave(&sp->lock, flags);
	if (sp->closed || sp->ncr >= share || list_empty(&sp->free))
		goto out;
	if (!placed && atomic_inc_return(&evd->ncr) > qlen) {
		atomic_dec(&evd->ncr);
		goto out;
	}
	cr = list_first_entry(&sp->free, struct kdapl_cr, free_node);
	list_del(&cr->free_node);
	cr->counted = !placed;
	sp->ncr++;
	refcount_inc(&sp->mem);
out:
	spin_unlock_irqrestore(&sp->lock, flags);
	return cr;
}

/**
 * kdapl_sp_uncount - a request waits no more
 * @cr: its CR
 *
 * The EVD may have been freed since, with its handle out of the table.
 *
 * Context: any.
 */
void kdapl_sp_uncount(struct kdapl_cr *cr)
{
	struct kdapl_sp *sp = cr->sp;
	struct kdapl_obj *obj;
	unsigned long flags;

	spin_lock_irqsave(&sp->lock, flags);
	sp->ncr--;
	spin_unlock_irqrestore(&sp->lock, flags);
	if (!cr->counted)
		return;
	obj = kdapl_obj_get(sp->evd_handle, DAT_HANDLE_TYPE_EVD);
	if (obj) {
		atomic_dec(&to_kdapl_evd(obj)->ncr);
		kdapl_obj_put(obj);
	}
}

/**
 * kdapl_sp_recycle - a CR's memory is free for the next request
 * @cr: the CR, without references
 *
 * Context: any.
 */
void kdapl_sp_recycle(struct kdapl_cr *cr)
{
	struct kdapl_sp *sp = cr->sp;
	unsigned long flags;

	spin_lock_irqsave(&sp->lock, flags);
	list_add(&cr->free_node, &sp->free);
	spin_unlock_irqrestore(&sp->lock, flags);
	kdapl_sp_put_mem(sp);
}

/* ---- callback ---------------------------------------------------------- */

/* rdma_cm callback of a listener; for a request @id is the new child */
static int kdapl_sp_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_sp *sp = id->context;
	struct kdapl_cr *cr = NULL;

	trace_kdapl_cm_event(kdapl_obj_id(&sp->obj), event->event, event->status);
	if (event->event == RDMA_CM_EVENT_ADDR_CHANGE) {
		WRITE_ONCE(sp->stale, true);
		/* Pairs with that of kdapl_sp_start(), which looks at @stale */
		smp_mb();
		if (READ_ONCE(sp->listening))
			queue_work(kdapl_wq, &sp->work);
	}
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (id->port_num == READ_ONCE(sp->obj.ia->port))
		cr = kdapl_sp_take(sp, false);
	if (!cr) {
		rdma_reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
		return -ECONNREFUSED;
	}
	kdapl_cr_arrive(cr, id, &event->param.conn);
	return 0;
}

static void kdapl_sp_work(struct work_struct *work);

/* ---- beginning --------------------------------------------------------- */

/**
 * kdapl_sp_alloc - make a service point that does not listen yet
 * @ia:   its IA
 * @evd:  where requests are announced; in use by it on success
 * @qual: qualifier, 0: to be chosen by kdapl_sp_listen()
 * @ep:   the EP of an RSP, DAT_HANDLE_NULL: this is a PSP
 *
 * Context: process, inside kdapl_ia_begin().
 * Return: the service point, or ERR_PTR: -ENOENT the EVD is being freed,
 * -ENOMEM, -ENOSPC.
 */
struct kdapl_sp *kdapl_sp_alloc(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				DAT_EP_HANDLE ep)
{
	u32 backlog = ep ? 1 : min_t(u32, READ_ONCE(evd->qlen), KDAPL_MAX_BACKLOG);
	struct kdapl_sp *sp;
	int ret;
	u32 i;

	sp = kvzalloc(struct_size(sp, crs, backlog), GFP_KERNEL);
	if (!sp)
		return ERR_PTR(-ENOMEM);
	ret = kdapl_obj_init(&sp->obj, ep ? DAT_HANDLE_TYPE_RSP : DAT_HANDLE_TYPE_PSP, ia);
	if (ret)
		goto err_free;
	sp->evd = evd;
	sp->evd_handle = kdapl_obj_handle(&evd->obj);
	sp->ep_handle = ep;
	sp->qual = qual;
	spin_lock_init(&sp->lock);
	mutex_init(&sp->mutex);
	INIT_WORK(&sp->work, kdapl_sp_work);
	INIT_LIST_HEAD(&sp->free);
	refcount_set(&sp->mem, 1);
	for (i = 0; i < backlog; i++, sp->backlog++) {
		ret = kdapl_cr_setup(&sp->crs[i], sp);
		if (ret)
			goto err_abort;
		list_add_tail(&sp->crs[i].free_node, &sp->free);
	}
	ret = -ENOENT;
	if (!kdapl_obj_use(&evd->obj))
		goto err_abort;
	atomic_inc(&evd->npsp);
	return sp;

err_abort:
	while (sp->backlog--)
		kdapl_obj_abort(&sp->crs[sp->backlog].obj);
	kdapl_obj_abort(&sp->obj);
err_free:
	kvfree(sp);
	return ERR_PTR(ret);
}

/* Undoes kdapl_sp_alloc() */
static void kdapl_sp_abort(struct kdapl_sp *sp)
{
	atomic_dec(&sp->evd->npsp);
	kdapl_obj_unuse(&sp->evd->obj);
	kdapl_obj_abort(&sp->obj);
	kdapl_sp_put_mem(sp);
}

static int kdapl_sp_listen(struct kdapl_sp *sp)
{
	struct kdapl_ia *ia = sp->obj.ia;
	struct rdma_cm_id *id;
	int ret;

	id = kdapl_cm_bind(ia, ia->ibdev, kdapl_sp_handler, sp,
			   sp->qual ? kdapl_cm_port(sp->qual) : 0);
	if (IS_ERR(id))
		return PTR_ERR(id);
	/* The port stands at the same place in both families */
	if (!sp->qual)
		sp->qual = ntohs(((struct sockaddr_in *)&id->route.addr.src_addr)->sin_port);
	sp->id = id;
	ret = rdma_listen(id, 0);
	if (ret) {
		sp->id = NULL;
		rdma_destroy_id(id);
	}
	return ret;
}

/* Does the id no longer listen where the IA's address leads? sp->mutex held */
static bool kdapl_sp_misplaced(const struct kdapl_sp *sp)
{
	return !sp->id || READ_ONCE(sp->stale) || kdapl_addr_unbound(sp->id) ||
	       sp->id->port_num != READ_ONCE(sp->obj.ia->port);
}

/*
 * Listens again after the address has moved or has come back. The old id must go
 * first, because it owns the port number; the CM refuses requests that come
 * meanwhile. If listening fails, the next change of an address tries it again.
 */
static void kdapl_sp_work(struct work_struct *work)
{
	struct kdapl_sp *sp = container_of(work, struct kdapl_sp, work);
	struct kdapl_ia *ia = sp->obj.ia;
	unsigned int noio;
	int ret = 0;

	if (!kdapl_ia_enter(ia))
		return;
	noio = memalloc_noio_save();
	mutex_lock(&sp->mutex);
	if (sp->listening && kdapl_sp_misplaced(sp)) {
		WRITE_ONCE(sp->stale, false);
		if (sp->id)
			rdma_destroy_id(sp->id);
		sp->id = NULL;
		ret = kdapl_sp_listen(sp);
	}
	mutex_unlock(&sp->mutex);
	memalloc_noio_restore(noio);
	if (ret)
		pr_warn_ratelimited("kdapl: %s: cannot listen again on qualifier %llu: %d\n",
				    ia->name, sp->qual, ret);
	kdapl_ia_leave(ia);
}

/**
 * kdapl_sp_start - a service point has got its id: tell, list and publish it
 * @sp:     from kdapl_sp_alloc(); not the caller's any more, who guesses its
 *          handle may free it
 * @qual:   takes its qualifier, or NULL
 * @handle: takes its handle
 *
 * Context: process, inside kdapl_ia_begin().
 */
void kdapl_sp_start(struct kdapl_sp *sp, DAT_CONN_QUAL *qual, DAT_HANDLE *handle)
{
	bool pinned, misplaced;

	if (qual)
		*qual = sp->qual;
	*handle = kdapl_obj_handle(&sp->obj);
	/* For the look at @sp below, which is not the caller's any more by then */
	pinned = kdapl_obj_pin(&sp->obj);
	mutex_lock(&sp->mutex);
	WRITE_ONCE(sp->listening, true);
	mutex_unlock(&sp->mutex);
	spin_lock_irq(&kdapl_sps_lock);
	list_add_tail(&sp->node, &kdapl_sps);
	spin_unlock_irq(&kdapl_sps_lock);
	kdapl_ia_add(sp->obj.ia, &sp->obj, true);
	if (!pinned)
		return;
	/*
	 * The address may have moved since the id was bound. Whoever has seen that and
	 * did not find @sp on the list, or not listening, leaves it to this look.
	 */
	smp_mb();
	mutex_lock(&sp->mutex);
	misplaced = kdapl_sp_misplaced(sp);
	mutex_unlock(&sp->mutex);
	if (misplaced)
		queue_work(kdapl_wq, &sp->work);
	kdapl_obj_put(&sp->obj);
}

/**
 * kdapl_sp_create - make a service point that listens
 * @ia:   its IA
 * @evd:  where requests are announced; in use by it on success
 * @qual: qualifier, 0: one of our choice
 * @ep:   the EP of an RSP, whose mutex the caller holds; or DAT_HANDLE_NULL
 *
 * The caller goes on with kdapl_sp_start().
 *
 * Context: process, inside kdapl_ia_begin().
 * Return: the service point, or ERR_PTR: as kdapl_sp_alloc() and
 * kdapl_cm_bind(), -EADDRINUSE somebody listens there.
 */
struct kdapl_sp *kdapl_sp_create(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				 DAT_EP_HANDLE ep)
{
	struct kdapl_sp *sp = kdapl_sp_alloc(ia, evd, qual, ep);
	int ret;

	if (IS_ERR(sp))
		return sp;
	ret = kdapl_sp_listen(sp);
	if (ret) {
		kdapl_sp_abort(sp);
		return ERR_PTR(ret);
	}
	return sp;
}

/**
 * kdapl_sp_evd - the EVD that a Consumer names for requests
 * @ia:     the IA that it must be of
 * @handle: any value at all
 *
 * Context: any.
 * Return: the EVD, referenced, whatever streams it takes; or NULL.
 */
struct kdapl_evd *kdapl_sp_evd(struct kdapl_ia *ia, DAT_EVD_HANDLE handle)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_EVD);

	if (obj && obj->ia != ia) {
		kdapl_obj_put(obj);
		obj = NULL;
	}
	return obj ? to_kdapl_evd(obj) : NULL;
}

/**
 * kdapl_sp_error - what a Consumer is told when kdapl_sp_create() fails
 * @err: its error
 *
 * Context: any.
 * Return: the DAT_RETURN.
 */
DAT_RETURN kdapl_sp_error(int err)
{
	switch (err) {
	case -ENOENT:
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
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

/**
 * kdapl_sp_find - the service point that listens on a qualifier
 * @ia:   the IA that it must be of
 * @qual: its qualifier
 *
 * Context: any.
 * Return: the service point, referenced; or NULL.
 */
struct kdapl_sp *kdapl_sp_find(const struct kdapl_ia *ia, DAT_CONN_QUAL qual)
{
	struct kdapl_sp *sp, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&kdapl_sps_lock, flags);
	list_for_each_entry(sp, &kdapl_sps, node) {
		if (sp->obj.ia != ia || sp->qual != qual)
			continue;
		/* Listed, so its memory is there; without references it is going */
		if (kdapl_obj_pin(&sp->obj))
			found = sp;
		break;
	}
	spin_unlock_irqrestore(&kdapl_sps_lock, flags);
	return found;
}

/* ---- end --------------------------------------------------------------- */

/**
 * kdapl_sp_unlisten - stop listening, whoever comes first
 * @sp: the service point, published
 *
 * Requests not announced yet will be refused.
 *
 * Context: process, no lock that a CM callback takes.
 */
void kdapl_sp_unlisten(struct kdapl_sp *sp)
{
	struct rdma_cm_id *id;
	bool listening;

	mutex_lock(&sp->mutex);
	id = sp->id;
	sp->id = NULL;
	listening = sp->listening;
	sp->listening = false;
	mutex_unlock(&sp->mutex);
	spin_lock_irq(&sp->lock);
	sp->closed = true;
	spin_unlock_irq(&sp->lock);
	if (!listening)
		return;
	spin_lock_irq(&kdapl_sps_lock);
	list_del(&sp->node);
	spin_unlock_irq(&kdapl_sps_lock);
	if (id)
		rdma_destroy_id(id);
	atomic_dec(&sp->evd->npsp);
	kdapl_ia_verbs_put(sp->obj.ia);
}

/**
 * kdapl_sp_shell - the device is going: stop listening
 * @sp: referenced by the caller
 *
 * Context: process, no lock that a CM callback or a CR's work takes.
 */
void kdapl_sp_shell(struct kdapl_sp *sp)
{
	u32 i;

	kdapl_sp_unlisten(sp);
	cancel_work_sync(&sp->work);
	/* No callback any more, so no new work: what is queued sees @closed */
	for (i = 0; i < sp->backlog; i++)
		flush_work(&sp->crs[i].work);
}

/**
 * kdapl_sp_destroy - take a service point apart
 * @sp: out of the table, no reference left
 *
 * CRs that were announced stay valid; the memory goes with the last of them.
 * An RSP that nobody has called gives its EP back.
 *
 * Context: process, no lock that a CM callback or a CR's work takes.
 */
void kdapl_sp_destroy(struct kdapl_sp *sp)
{
	struct kdapl_ia *ia = sp->obj.ia;

	kdapl_sp_shell(sp);
	kdapl_rsp_move(sp, DAT_EP_STATE_RESERVED, DAT_EP_STATE_UNCONNECTED);
	kdapl_obj_unuse(&sp->evd->obj);
	kdapl_ia_del(ia, &sp->obj);
	kdapl_sp_put_mem(sp);
}

/**
 * kdapl_sp_free - free the service point that a handle names
 * @handle: any value at all
 * @type:   PSP or RSP
 *
 * Context: process, as kdapl_sp_destroy().
 * Return: 0, -ENOENT.
 */
int kdapl_sp_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, type);

	if (!obj)
		return -ENOENT;
	/* Nothing uses a service point: it can only be gone already */
	if (kdapl_obj_retire(obj)) {
		kdapl_obj_put(obj);
		return -ENOENT;
	}
	/* No post looks at one, so there is no read section to wait for */
	kdapl_obj_wait(obj);
	kdapl_sp_destroy(to_kdapl_sp(obj));
	return 0;
}
