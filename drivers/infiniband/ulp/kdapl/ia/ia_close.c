// SPDX-License-Identifier: GPL-2.0
/*
 * The end of an IA: its device is removed and the IA is orphaned, or the Consumer closes it. The
 * first comment of object/ia.c describes how removal, close and all other calls exclude each other.
 *
 * Called by Consumers (dat_ia_close()), by remove() in ib_client.c, and when a module is
 * unloaded, always in process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include "device/device.h"
#include "event/event.h"
#include "connection/connection.h"
#include "endpoint/endpoint.h"
#include "ia.h"

#define COUNTER(member)	offsetof(struct kdapl_ia, member)

/*
 * Removal and close handle the types in this order: what uses an object comes before it. EVDs
 * have no verbs objects, and outlive a removal. @before and @after are counters of the IA, or 0:
 * removal waits for @before first, because objects that other calls are freeing were skipped;
 * close waits for @after at the end, because some objects are on no list any more.
 */
static const struct {
	DAT_HANDLE_TYPE type;
	size_t before;
	size_t after;
} kdapl_ia_types[] = {
	{ DAT_HANDLE_TYPE_EP, 0, 0 },
	{ DAT_HANDLE_TYPE_CR, 0, 0 },
	{ DAT_HANDLE_TYPE_PSP, 0, 0 },
	{ DAT_HANDLE_TYPE_RSP, 0, 0 },
	{ DAT_HANDLE_TYPE_SRQ, 0, 0 },
	{ DAT_HANDLE_TYPE_RMR, COUNTER(nqps), COUNTER(nrmrs) },
	{ DAT_HANDLE_TYPE_LMR, 0, 0 },
	/* A PD is freed with its last object */
	{ DAT_HANDLE_TYPE_PZ, COUNTER(nverbs), 0 },
};

static void kdapl_ia_wait_for(struct kdapl_ia *ia, size_t counter)
{
	if (counter)
		wait_event(ia->wait, !atomic_read((void *)ia + counter));
}

/* The next object after @prev (NULL: the first) to which a reference exists; puts @prev */
static struct kdapl_obj *kdapl_ia_next(struct kdapl_ia *ia, DAT_HANDLE_TYPE type,
				       struct kdapl_obj *prev)
{
	struct list_head *pos = prev ? &prev->node : &ia->objs[type];
	struct kdapl_obj *found = NULL;

	mutex_lock(&ia->mutex);
	while ((pos = pos->next) != &ia->objs[type]) {
		found = list_entry(pos, struct kdapl_obj, node);
		if (kdapl_obj_tryget(found))
			break;
		found = NULL;
	}
	mutex_unlock(&ia->mutex);
	if (prev)
		kdapl_obj_put(prev);
	return found;
}

/* Tears down all EPs at once, so that they share the drain and the grace periods */
static void kdapl_ia_orphan_eps(struct kdapl_ia *ia)
{
	struct kdapl_ep *ep, *next;
	struct kdapl_obj *obj;
	LIST_HEAD(eps);

	mutex_lock(&ia->mutex);
	list_for_each_entry(obj, &ia->objs[DAT_HANDLE_TYPE_EP], node)
		if (kdapl_obj_tryget(obj))
			list_add_tail(&to_kdapl_ep(obj)->teardown.node, &eps);
	mutex_unlock(&ia->mutex);
	kdapl_eps_teardown(&eps, false);
	list_for_each_entry_safe(ep, next, &eps, teardown.node)
		kdapl_obj_put(&ep->obj);
}

/* Destroys the verbs objects of all objects of a type */
static void kdapl_ia_orphan_type(struct kdapl_ia *ia, DAT_HANDLE_TYPE type)
{
	struct kdapl_obj *obj = NULL;

	if (type == DAT_HANDLE_TYPE_EP) {
		kdapl_ia_orphan_eps(ia);
		return;
	}
	while ((obj = kdapl_ia_next(ia, type, obj)))
		obj->ops->orphan(obj);
}

/*
 * The ids of ended connections pin the network namespace of the IA. When the IA is closed, limit
 * how long they wait: nobody may be left in the namespace to bring the link up. The initial
 * namespace always exists, so its ids need no limit.
 */
static void kdapl_ia_leave_net(struct kdapl_ia *ia)
{
	if (ia->dev && !net_eq(ia->net, &init_net))
		kdapl_notice_hurry(ia->dev, ia);
}

/* No verbs object is left, so remove() does not have to wait any more */
static void kdapl_ia_leave_device(struct kdapl_ia *ia)
{
	mutex_lock(&kdapl_device_mutex);
	list_del_init(&ia->dev_node);
	/* Under the mutex, because remove() takes it before it frees the device */
	if (ia->dev) {
		wake_up(&ia->dev->wait);
		atomic_dec(&kdapl_open_ias);
	}
	ia->dev = NULL;
	mutex_unlock(&kdapl_device_mutex);
	wake_up(&ia->wait);
}

/*
 * Orphans an IA: its device is being removed, or its Consumer has gone. If another thread is doing
 * this already, the function waits until it has finished. Process context, while the device still
 * works. Waits for calls that use verbs, but never for upcalls or for the Consumer.
 */
void kdapl_ia_remove(struct kdapl_ia *ia)
{
	unsigned int i;
	bool done;

	/* From here on nothing is created, and no request is announced */
	down_write(&ia->sem);
	done = ia->orphaned;
	ia->orphaned = true;
	up_write(&ia->sem);
	if (done) {
		wait_event(ia->wait, !READ_ONCE(ia->dev));
		return;
	}

	for (i = 0; i < ARRAY_SIZE(kdapl_ia_types); i++) {
		kdapl_ia_wait_for(ia, kdapl_ia_types[i].before);
		kdapl_ia_orphan_type(ia, kdapl_ia_types[i].type);
	}
	kdapl_ia_wait_for(ia, COUNTER(npds));

	kdapl_ia_leave_net(ia);
	kdapl_ia_catastrophic(ia);
	down_write(&ia->sem);
	ia->ibdev = NULL;
	/* The Consumer may keep the orphaned IA for a long time, but not the namespace */
	put_net(ia->net);
	ia->net = NULL;
	up_write(&ia->sem);
	kdapl_ia_leave_device(ia);
}

/*
 * Kills all objects of a type that no other call is freeing; they move to @doomed. Their users are
 * objects of the same IA, which are destroyed first, or RMRs that are being freed, for which the
 * caller waits.
 */
static void kdapl_ia_kill_all(struct kdapl_ia *ia, DAT_HANDLE_TYPE type, struct list_head *doomed)
{
	struct kdapl_obj *obj, *next;

	mutex_lock(&ia->mutex);
	list_for_each_entry_safe(obj, next, &ia->objs[type], node)
		if (kdapl_obj_kill_used(obj) && kdapl_obj_unpublish(obj))
			list_move_tail(&obj->node, doomed);
	mutex_unlock(&ia->mutex);
}

/*
 * Destroys the killed objects except @keep, a grace period after they were killed. Then
 * waits for those of the type that other calls are freeing.
 */
static void kdapl_ia_destroy_type(struct kdapl_ia *ia, DAT_HANDLE_TYPE type,
				  struct list_head *doomed, struct kdapl_obj *keep)
{
	struct kdapl_obj *obj, *next;
	LIST_HEAD(eps);

	/* Nobody else uses @doomed: each destructor removes its own object */
	list_for_each_entry(obj, doomed, node) {
		if (obj == keep)
			continue;
		kdapl_obj_drain(obj);
		if (type == DAT_HANDLE_TYPE_EP)
			list_add_tail(&to_kdapl_ep(obj)->teardown.node, &eps);
	}
	kdapl_eps_teardown(&eps, true);
	list_for_each_entry_safe(obj, next, doomed, node) {
		if (obj == keep)
			continue;
		/*
		 * No EP has a QP any more, so the MRs can be deregistered. If the device has
		 * failed, a request to invalidate them would only end by its timeout.
		 */
		if (type == DAT_HANDLE_TYPE_RMR || type == DAT_HANDLE_TYPE_LMR)
			obj->ops->orphan(obj);
		obj->ops->destroy(obj);
	}
	wait_event(ia->wait, list_empty(&ia->objs[type]));
}

/* Destroys all objects except the EVDs, and waits for posts that still use any object */
static void kdapl_ia_destroy_users(struct kdapl_ia *ia)
{
	struct list_head doomed[ARRAY_SIZE(kdapl_ia_types)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kdapl_ia_types); i++) {
		INIT_LIST_HEAD(&doomed[i]);
		kdapl_ia_kill_all(ia, kdapl_ia_types[i].type, &doomed[i]);
	}
	/* One grace period for all of them, and for EVDs that the caller has killed */
	kdapl_wait_grace_period();
	/* Meanwhile service points refuse requests, because the IA is closed or orphaned */
	for (i = 0; i < ARRAY_SIZE(kdapl_ia_types); i++) {
		kdapl_ia_destroy_type(ia, kdapl_ia_types[i].type, &doomed[i], NULL);
		kdapl_ia_wait_for(ia, kdapl_ia_types[i].after);
	}
}

/* IAs that are being closed, by kdapl_obj.node, from before they are unpublished */
static LIST_HEAD(kdapl_ias_closing);
static DEFINE_SPINLOCK(kdapl_ias_closing_lock);
/* Woken whenever an IA has been closed */
DECLARE_WAIT_QUEUE_HEAD(kdapl_ias_closed);

/* Returns true if an IA of @owner (NULL: any owner) is being closed */
static bool kdapl_ia_is_closing(const struct module *owner)
{
	struct kdapl_obj *obj;
	bool found = false;

	spin_lock(&kdapl_ias_closing_lock);
	list_for_each_entry(obj, &kdapl_ias_closing, node)
		found |= !owner || READ_ONCE(to_kdapl_ia(obj)->owner) == owner;
	spin_unlock(&kdapl_ias_closing_lock);
	return found;
}

static void kdapl_ia_put_async(struct kdapl_ia *ia)
{
	struct kdapl_evd *evd = ia->async_evd;
	struct kdapl_ia *other = evd->obj.ia;

	if (ia->own_async) {
		kdapl_obj_drain(&evd->obj);
		kdapl_evd_destroy(&evd->obj);
		return;
	}
	kdapl_ia_take_back(ia);
	kdapl_obj_unuse(&evd->obj);
	kdapl_obj_unuse(&other->obj);
}

/*
 * Destroys an IA and all that belongs to it. @ia: the IA, which is being closed, with its handle
 * removed from the table. Process context; not from an upcall. Waits for calls that use the IA or
 * one of its objects, and for running upcalls.
 */
void kdapl_ia_destroy(struct kdapl_ia *ia)
{
	struct kdapl_obj *keep = ia->own_async ? &ia->async_evd->obj : NULL;
	LIST_HEAD(evds);

	kdapl_obj_drain(&ia->obj);
	kdapl_ia_kill_all(ia, DAT_HANDLE_TYPE_EVD, &evds);
	kdapl_ia_destroy_users(ia);
	kdapl_ia_leave_net(ia);
	/* Device events may arrive until here. The removal does not wait for the upcalls of EVDs */
	kdapl_ia_leave_device(ia);
	kdapl_ia_destroy_type(ia, DAT_HANDLE_TYPE_EVD, &evds, keep);
	kdapl_ia_put_async(ia);
	kdapl_ep_free_ended(ia);
	/*
	 * No upcall of this IA will run any more. The caller of dat_ia_close() still has to return
	 * through its own code, which its module must keep until then.
	 */
	spin_lock(&kdapl_ias_closing_lock);
	list_del(&ia->obj.node);
	spin_unlock(&kdapl_ias_closing_lock);
	wake_up_all(&kdapl_ias_closed);
	kdapl_ia_mem_put(ia);
}

/* ia->sem held for writing, so no object is being created */
static bool kdapl_ia_unused(struct kdapl_ia *ia)
{
	struct kdapl_obj *obj;
	bool unused = true;
	unsigned int i;

	mutex_lock(&ia->mutex);
	for (i = 0; i < KDAPL_NTYPES; i++)
		list_for_each_entry(obj, &ia->objs[i], node)
			if (!ia->own_async || obj != &ia->async_evd->obj)
				unused = false;
	mutex_unlock(&ia->mutex);
	return unused;
}

/* Returns DAT_SUCCESS to the one caller that must destroy the IA */
static DAT_RETURN kdapl_ia_begin_close(struct kdapl_ia *ia, bool graceful)
{
	DAT_RETURN ret = DAT_SUCCESS;

	down_write(&ia->sem);
	if (ia->closing) {
		ret = KDAPL_BAD_HANDLE(IA);
	} else if ((graceful && !kdapl_ia_unused(ia)) || !kdapl_obj_kill(&ia->obj)) {
		ret = KDAPL_BAD_STATE(IA_IN_USE);
	} else {
		ia->closing = true;
		spin_lock(&kdapl_ias_closing_lock);
		list_add_tail(&ia->obj.node, &kdapl_ias_closing);
		spin_unlock(&kdapl_ias_closing_lock);
		kdapl_obj_unpublish(&ia->obj);
	}
	up_write(&ia->sem);
	return ret;
}

/**
 * dat_ia_close - close an IA
 * @ia_handle:   open IA
 * @close_flags: DAT_CLOSE_ABRUPT_FLAG: destroy all objects of the IA;
 *               DAT_CLOSE_GRACEFUL_FLAG: only close the IA if it has no objects, except
 *               the asynchronous EVD that dat_ia_openv() has created
 *
 * That EVD is destroyed with the IA; an EVD of another IA is not. After the call has returned, no
 * upcall of the IA runs any more. An IA whose device was removed is closed like any other.
 *
 * Context: process (class P), not in an upcall.
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_IA;
 * DAT_INVALID_PARAMETER with ARG2 for an unknown flag; DAT_INVALID_STATE with
 * DAT_INVALID_STATE_IA_IN_USE: graceful with objects left, called from an
 * upcall, or another IA sends its asynchronous events to an EVD of this one.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
	struct kdapl_obj *obj = kdapl_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_BAD_HANDLE(IA);
	if (close_flags != DAT_CLOSE_ABRUPT_FLAG && close_flags != DAT_CLOSE_GRACEFUL_FLAG)
		ret = KDAPL_BAD_ARG(2);
	else if (kdapl_in_upcall())
		ret = KDAPL_BAD_STATE(IA_IN_USE);
	else
		ret = kdapl_ia_begin_close(to_kdapl_ia(obj),
					   close_flags == DAT_CLOSE_GRACEFUL_FLAG);
	kdapl_obj_put(obj);
	if (!ret)
		kdapl_ia_destroy(to_kdapl_ia(obj));
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_close);

/* Returns the next open IA of @owner (NULL: any) from index @idx on, with a reference */
static struct kdapl_ia *kdapl_ia_next_of_owner(u32 *idx, const struct module *owner)
{
	struct kdapl_obj *obj;

	for (; (obj = kdapl_obj_get_next(idx, DAT_HANDLE_TYPE_IA)); ++*idx) {
		if (!owner || READ_ONCE(to_kdapl_ia(obj)->owner) == owner)
			return to_kdapl_ia(obj);
		kdapl_obj_put(obj);
	}
	return NULL;
}

/* On return no upcall of the IA is running, and none will start */
static void kdapl_ia_disable_upcalls(struct kdapl_ia *ia)
{
	struct kdapl_obj *obj = NULL;

	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EVD, obj))) {
		kdapl_evd_modify(to_kdapl_evd(obj), DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				 DAT_UPCALL_INVOC_NEW);
		kdapl_evd_wait_idle(to_kdapl_evd(obj));
	}
}

/*
 * Closes the IAs that a Consumer left open. Upcalls are stopped first, because the exit
 * function may have freed what they use. An IA that another thread is closing may still have a
 * running upcall, so the function waits until it is closed. If the IA of another Consumer sends
 * its asynchronous events to an EVD of an IA and is not being closed, the latter IA stays until
 * kdapl is unloaded. It is orphaned and loses all objects except its EVDs, which have no upcalls.
 * @owner: a module that is being unloaded; its exit function has run, but its text and
 * data still exist. NULL: kdapl itself is being unloaded, and the module reference count ensures
 * that every Consumer is gone. Process context.
 */
void kdapl_ia_destroy_of_owner(const struct module *owner)
{
	bool again, shut, busy;
	struct kdapl_ia *ia;
	u32 idx;

	for (idx = 0; (ia = kdapl_ia_next_of_owner(&idx, owner)); idx++) {
		pr_warn("%s: left open by %s, closing it\n", ia->name,
			owner ? owner->name : "a consumer");
		kdapl_ia_disable_upcalls(ia);
		kdapl_obj_put(&ia->obj);
	}
	do {
		again = false;
		busy = false;
		for (idx = 0; (ia = kdapl_ia_next_of_owner(&idx, owner)); idx++) {
			shut = kdapl_ia_begin_close(ia, false) == DAT_SUCCESS;
			kdapl_obj_put(&ia->obj);
			if (shut)
				kdapl_ia_destroy(ia);
			again |= shut;
			busy |= !shut;
		}
		/* What keeps an IA busy may be another one that is being closed */
		if (!again && kdapl_ia_is_closing(busy ? NULL : owner)) {
			wait_event(kdapl_ias_closed, !kdapl_ia_is_closing(busy ? NULL : owner));
			again = true;
		}
	} while (again);
	for (idx = 0; (ia = kdapl_ia_next_of_owner(&idx, owner)); idx++) {
		kdapl_ia_remove(ia);
		kdapl_ia_destroy_users(ia);
		kdapl_ep_free_ended(ia);
		/* Another module may be loaded at this address */
		WRITE_ONCE(ia->owner, NULL);
		kdapl_obj_put(&ia->obj);
	}
}
