// SPDX-License-Identifier: GPL-2.0
/*
 * Service points: listening.
 *
 * Owns the listening cm_id of a PSP or RSP, or those of a PSP on all addresses of the IA's port.
 * Such a PSP does not use the wildcard address of rdma_cm, which would listen on all devices: PSPs
 * of several IAs could not have the same qualifier. A flood of requests can use up no more than the
 * share that the service point has in its EVD (C-49): sp_backlog.c counts them, and cr.c handles
 * them. Called by psp.c and rsp.c, when an IA is closed, and by device removal, in process context;
 * rdma_cm calls the callback.
 *
 * A request for which there is no room is refused in the callback: rdma_reject() does not
 * sleep, and the core then sends nothing when it destroys the id because of the error
 * return. Otherwise it would send the reason of a Consumer's reject.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched/mm.h>
#include "device/device.h"
#include "event/event.h"
#include "internal.h"
#include "base/trace.h"

/* The largest number of requests of a service point, whatever the length of its EVD */
#define KDAPL_MAX_BACKLOG	1024

/* Limit of the interval (1, 2, 4 ... s) after which a service point tries again to listen */
#define KDAPL_LISTEN_RETRY_MAX	64

/* How many ports are tried if one that is free on all addresses must be found */
#define KDAPL_PORT_TRIES	32

/* rdma_cm callback of a listener; for a request @id is the new child */
static int kdapl_sp_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_sp *sp = id->context;
	struct kdapl_cr *cr = NULL;

	trace_kdapl_cm_event(kdapl_obj_id(&sp->obj), event->event, event->status);
	if (event->event == RDMA_CM_EVENT_ADDR_CHANGE) {
		WRITE_ONCE(sp->stale, true);
		/* Pairs with the one in kdapl_sp_start(), which reads @stale */
		smp_mb();
		if (!list_empty_careful(&sp->node))
			kdapl_sp_check(sp);
	}
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (id->port_num == READ_ONCE(sp->obj.ia->port))
		cr = kdapl_cr_alloc(sp, false, GFP_KERNEL);
	else
		atomic_inc(&sp->refused[KDAPL_REFUSED_LATE]);
	if (!cr) {
		rdma_reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
		return -ECONNREFUSED;
	}
	kdapl_cr_arrive(cr, id, &event->param.conn);
	return 0;
}

static void kdapl_sp_work(struct work_struct *work);

static void kdapl_sp_destroy(struct kdapl_obj *obj);
static void kdapl_sp_orphan(struct kdapl_obj *obj);

static const struct kdapl_obj_ops kdapl_sp_ops = {
	.destroy = kdapl_sp_destroy,
	.orphan = kdapl_sp_orphan,
};

/*
 * Allocates a service point that does not listen yet. Returns the service point, or ERR_PTR:
 * -ENOENT if the EVD is being freed, -ENOMEM, or -ENOSPC. Process context, inside
 * kdapl_ia_get_enter().
 *
 * @evd:  EVD on which requests are announced; on success the service point uses it
 * @qual: qualifier; 0: kdapl_sp_listen() chooses one
 * @ep:   the EP of an RSP; DAT_HANDLE_NULL: this is a PSP
 */
struct kdapl_sp *kdapl_sp_alloc(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				DAT_EP_HANDLE ep)
{
	struct kdapl_sp *sp;
	int ret;

	sp = kzalloc(sizeof(*sp), GFP_KERNEL);
	if (!sp)
		return ERR_PTR(-ENOMEM);
	ret = kdapl_obj_init(&sp->obj, ep ? DAT_HANDLE_TYPE_RSP : DAT_HANDLE_TYPE_PSP, ia);
	if (ret)
		goto err_free;
	sp->obj.ops = &kdapl_sp_ops;
	INIT_LIST_HEAD(&sp->listeners);
	sp->evd = evd;
	sp->evd_handle = kdapl_obj_handle(&evd->obj);
	sp->ep_handle = ep;
	sp->qual = qual;
	spin_lock_init(&sp->lock);
	mutex_init(&sp->mutex);
	INIT_DELAYED_WORK(&sp->work, kdapl_sp_work);
	INIT_LIST_HEAD(&sp->node);
	refcount_set(&sp->mem, 1);
	sp->backlog = ep ? 1 : min_t(u32, READ_ONCE(evd->qlen), KDAPL_MAX_BACKLOG);
	ret = -ENOENT;
	if (!kdapl_obj_tryuse(&evd->obj))
		goto err_abort;
	atomic_inc(&evd->npsp);
	return sp;

err_abort:
	kdapl_obj_exit(&sp->obj);
err_free:
	kfree(sp);
	return ERR_PTR(ret);
}

/* Undoes kdapl_sp_alloc(); it has never listened, so it has no request */
static void kdapl_sp_abort(struct kdapl_sp *sp)
{
	atomic_dec(&sp->evd->npsp);
	kdapl_obj_unuse(&sp->evd->obj);
	kdapl_obj_exit(&sp->obj);
	kdapl_sp_put_mem(sp);
}

/* Returns a new id that listens on an address of the IA's port, or ERR_PTR */
static struct rdma_cm_id *kdapl_sp_listen_on(struct kdapl_sp *sp,
					     const struct sockaddr_storage *addr)
{
	struct kdapl_ia *ia = sp->obj.ia;
	struct rdma_cm_id *id;
	int ret;

	id = kdapl_cm_bind(ia, addr, ia->ibdev, kdapl_sp_handler, sp,
			   sp->qual ? kdapl_cm_port(sp->qual) : 0, NULL);
	if (IS_ERR(id))
		return id;
	/* The port is at the same offset in both families */
	if (!sp->qual)
		sp->qual = ntohs(((struct sockaddr_in *)&id->route.addr.src_addr)->sin_port);
	ret = rdma_listen(id, 0);
	if (!ret)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(ret);
}

/* Returns true if the id has lost its address, or the IA has another port. sp->mutex held */
static bool kdapl_sp_moved(const struct kdapl_sp *sp, const struct rdma_cm_id *id)
{
	return kdapl_addr_unbound(id) || id->port_num != READ_ONCE(sp->obj.ia->port);
}

/* Returns true if the addresses on which it listens may be out of date. sp->mutex held */
static bool kdapl_sp_address_moved(const struct kdapl_sp *sp)
{
	return sp->any_address || !sp->id || READ_ONCE(sp->stale) || kdapl_sp_moved(sp, sp->id);
}

/* Listens on one more address. An address that has gone or leads to another device is no error */
static int kdapl_sp_add_listener(struct kdapl_sp *sp, const struct sockaddr_storage *addr)
{
	struct kdapl_listener *l;
	int ret;

	list_for_each_entry(l, &sp->listeners, node)
		if (kdapl_addr_equal(&l->id->route.addr.src_addr, addr))
			return 0;
	l = kmalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return -ENOMEM;
	l->id = kdapl_sp_listen_on(sp, addr);
	ret = PTR_ERR_OR_ZERO(l->id);
	if (!ret)
		list_add_tail(&l->node, &sp->listeners);
	else
		kfree(l);
	return ret == -ENODEV || ret == -EADDRNOTAVAIL ? 0 : ret;
}

/* Listens on the addresses that the port has now, and on no others. sp->mutex held */
static int kdapl_sp_listen_all(struct kdapl_sp *sp)
{
	struct kdapl_ia *ia = sp->obj.ia;
	struct sockaddr_storage addr = {};
	struct kdapl_listener *l, *next;
	bool stale = xchg(&sp->stale, false);
	int err, ret = 0;

	list_for_each_entry_safe(l, next, &sp->listeners, node)
		if (stale || kdapl_sp_moved(sp, l->id) || kdapl_addr_id_lost(l->id))
			kdapl_listener_free(l);
	/* It may be a link-local one, which the loop does not find */
	if (kdapl_addr_on_port(ia->ibdev, ia->port, &ia->addr, ia->net))
		ret = kdapl_sp_add_listener(sp, &ia->addr);
	while (kdapl_addr_next(ia->ibdev, ia->port, ia->net, &addr)) {
		err = kdapl_sp_add_listener(sp, &addr);
		ret = ret ?: err;
	}
	return ret;
}

/*
 * Listens where the addresses lead now. The old id must be destroyed first, because it owns the
 * port number. sp->mutex held
 */
static int kdapl_sp_listen(struct kdapl_sp *sp)
{
	struct rdma_cm_id *id;

	if (sp->any_address)
		return kdapl_sp_listen_all(sp);
	kdapl_sp_destroy_ids(sp);
	WRITE_ONCE(sp->stale, false);
	id = kdapl_sp_listen_on(sp, &sp->obj.ia->addr);
	if (!IS_ERR(id))
		sp->id = id;
	return PTR_ERR_OR_ZERO(id);
}

/*
 * Listens again after an address has moved or was added. The CM refuses requests that arrive
 * while there is no id, and another id may take the port. If listening fails, the work tries
 * again later, and at once if an address changes; the Consumer learns of the third failure.
 */
static void kdapl_sp_work(struct work_struct *work)
{
	struct kdapl_sp *sp = container_of(to_delayed_work(work), struct kdapl_sp, work);
	struct kdapl_ia *ia = sp->obj.ia;
	unsigned int noio;
	int ret = 0;

	if (!kdapl_ia_enter(ia))
		return;
	noio = memalloc_noio_save();
	mutex_lock(&sp->mutex);
	if (!sp->closed && kdapl_sp_address_moved(sp)) {
		ret = kdapl_sp_listen(sp);
		/* The third time, because an IPv6 address is tentative for a second or two */
		if (ret && sp->retry == 2) {
			pr_warn_ratelimited("%s: cannot listen again on qualifier %llu: %d\n",
					    ia->name, sp->qual, ret);
			kdapl_ia_async(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
				       kdapl_obj_handle(&sp->obj), DAT_IA_OTHER_ERROR);
		}
		sp->retry = ret ? clamp(2 * sp->retry, 1, KDAPL_LISTEN_RETRY_MAX) : 0;
		if (ret)
			queue_delayed_work(kdapl_wq, &sp->work, sp->retry * HZ);
	}
	mutex_unlock(&sp->mutex);
	memalloc_noio_restore(noio);
	kdapl_ia_leave(ia);
}

/*
 * Returns, lists and publishes a service point that has its id. Process context, inside
 * kdapl_ia_get_enter().
 *
 * @sp:   from kdapl_sp_alloc(); any caller that guesses the handle may free it now
 * @qual: receives its qualifier; may be NULL
 */
void kdapl_sp_start(struct kdapl_sp *sp, DAT_CONN_QUAL *qual, DAT_HANDLE *handle)
{
	bool got, moved;

	if (qual)
		*qual = sp->qual;
	*handle = kdapl_obj_handle(&sp->obj);
	/* For the check below, when another caller may have freed @sp */
	got = kdapl_obj_tryget(&sp->obj);
	spin_lock_irq(&kdapl_sps_lock);
	list_add_tail(&sp->node, &kdapl_sps);
	spin_unlock_irq(&kdapl_sps_lock);
	kdapl_ia_add(sp->obj.ia, &sp->obj, true);
	if (!got)
		return;
	/*
	 * The address may have moved since the id was bound. If the watcher or the CM has
	 * noticed that before @sp was listed, it has done nothing.
	 */
	smp_mb();
	mutex_lock(&sp->mutex);
	moved = kdapl_sp_address_moved(sp);
	mutex_unlock(&sp->mutex);
	if (moved)
		kdapl_sp_check(sp);
	kdapl_obj_put(&sp->obj);
}

/*
 * Creates a service point that listens. The caller must call kdapl_sp_start() then. Returns the
 * service point, or ERR_PTR as from kdapl_sp_alloc() and kdapl_cm_bind(); -EADDRINUSE if the
 * qualifier is in use. Process context, inside kdapl_ia_get_enter().
 *
 * @evd:         EVD on which requests are announced; on success the service point uses it
 * @qual:        qualifier; 0: the function chooses one
 * @ep:          the EP of an RSP, whose mutex the caller holds; or DAT_HANDLE_NULL
 * @any_address: listen on all addresses of the IA's port, not only on that of the IA
 */
struct kdapl_sp *kdapl_sp_create(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				 DAT_EP_HANDLE ep, bool any_address)
{
	struct kdapl_sp *sp = kdapl_sp_alloc(ia, evd, qual, ep);
	unsigned int tries = 0;
	bool listens;
	int ret;

	if (IS_ERR(sp))
		return sp;
	sp->any_address = any_address;
	mutex_lock(&sp->mutex);
	ret = kdapl_sp_listen(sp);
	/* A port that is free on one address may be in use on another one */
	while (any_address && !qual && ret == -EADDRINUSE && ++tries < KDAPL_PORT_TRIES) {
		kdapl_sp_destroy_ids(sp);
		sp->qual = 0;
		ret = kdapl_sp_listen(sp);
	}
	listens = sp->id || !list_empty(&sp->listeners);
	mutex_unlock(&sp->mutex);
	/* If it listens on some addresses only, the work tries the others again */
	if (listens)
		return sp;
	kdapl_sp_abort(sp);
	return ERR_PTR(ret ?: -EADDRNOTAVAIL);
}

/*
 * Looks up the EVD of a Consumer for requests. @ia: the IA to which it must belong. Returns the
 * EVD, with a reference, whatever its streams are, or NULL. Any context.
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

/* The return value of a call after kdapl_sp_create() has failed. Any context */
DAT_RETURN kdapl_sp_error(int err)
{
	switch (err) {
	case -ENOENT:
		return KDAPL_BAD_HANDLE(EVD_CR);
	case -EADDRINUSE:
	case -EBUSY:
		return KDAPL_ERROR(CONN_QUAL_IN_USE);
	case -ENOMEM:
	case -ENOSPC:
		return KDAPL_NO_RESOURCE(MEMORY);
	case -ENODEV:
	case -EADDRNOTAVAIL:
		return KDAPL_NO_RESOURCE(DEVICE);
	case -EACCES:
		return KDAPL_ERROR(PRIVILEGES_VIOLATION);
	default:
		return KDAPL_ERROR(INTERNAL_ERROR);
	}
}

/*
 * Orphans a service point: the device is being removed. Requests that are not announced yet are
 * refused by their work. It has a reference to @obj, and removal waits for it because the ids are
 * counted. @obj: referenced by the caller, or without references. Process context, no lock that a
 * CM callback or the work of a CR takes is held.
 */
static void kdapl_sp_orphan(struct kdapl_obj *obj)
{
	struct kdapl_sp *sp = to_kdapl_sp(obj);

	kdapl_sp_unlisten(sp);
	cancel_delayed_work_sync(&sp->work);
}

/*
 * Destroys a service point. CRs that were announced stay valid; the memory is freed with the last
 * one. The EP of an RSP for which no request was announced is UNCONNECTED again. Process context,
 * no lock that a CM callback or the work of a CR takes is held.
 */
static void kdapl_sp_destroy(struct kdapl_obj *obj)
{
	struct kdapl_sp *sp = to_kdapl_sp(obj);
	struct kdapl_ia *ia = sp->obj.ia;

	kdapl_sp_orphan(obj);
	kdapl_rsp_move(sp, DAT_EP_STATE_RESERVED, DAT_EP_STATE_UNCONNECTED);
	kdapl_obj_unuse(&sp->evd->obj);
	kdapl_ia_del(ia, &sp->obj);
	kdapl_sp_put_mem(sp);
}
