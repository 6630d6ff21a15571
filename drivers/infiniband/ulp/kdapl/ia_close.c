// SPDX-License-Identifier: GPL-2.0
/*
 * How an IA ends: its device leaves and it becomes a shell, or the Consumer
 * closes it. The essay at the top of ia.c says how the two and all other calls
 * keep out of each other's way.
 *
 * Called by Consumers (dat_ia_close), by device.c's remove() and at module
 * unload. Process context throughout.
 */
#include <linux/export.h>
#include <net/net_namespace.h>
#include "kdapl.h"

/* ---- removal of the device --------------------------------------------- */

static void kdapl_ia_shell_obj(struct kdapl_obj *obj)
{
	switch (kdapl_handle_type(obj->handle)) {
	case DAT_HANDLE_TYPE_CR:
		return kdapl_cr_shell(to_kdapl_cr(obj));
	case DAT_HANDLE_TYPE_PSP:
	case DAT_HANDLE_TYPE_RSP:
		return kdapl_sp_shell(to_kdapl_sp(obj));
	case DAT_HANDLE_TYPE_SRQ:
		return kdapl_srq_shell(to_kdapl_srq(obj));
	case DAT_HANDLE_TYPE_RMR:
		return kdapl_rmr_shell(to_kdapl_rmr(obj));
	case DAT_HANDLE_TYPE_LMR:
		return kdapl_lmr_shell(to_kdapl_lmr(obj));
	case DAT_HANDLE_TYPE_PZ:
		return kdapl_pz_shell(to_kdapl_pz(obj));
	}
}

/* The object behind @prev (NULL: the first) that gives a reference; drops that of @prev */
static struct kdapl_obj *kdapl_ia_next(struct kdapl_ia *ia, DAT_HANDLE_TYPE type,
				       struct kdapl_obj *prev)
{
	struct list_head *pos = prev ? &prev->node : &ia->objs[type];
	struct kdapl_obj *found = NULL;

	mutex_lock(&ia->mutex);
	while ((pos = pos->next) != &ia->objs[type]) {
		found = list_entry(pos, struct kdapl_obj, node);
		if (kdapl_obj_pin(found))
			break;
		found = NULL;
	}
	mutex_unlock(&ia->mutex);
	if (prev)
		kdapl_obj_put(prev);
	return found;
}

/* Strips all EPs at once, so that they share the drain and the grace periods */
static void kdapl_ia_shell_eps(struct kdapl_ia *ia)
{
	struct kdapl_ep *ep, *next;
	struct kdapl_obj *obj;
	LIST_HEAD(eps);

	mutex_lock(&ia->mutex);
	list_for_each_entry(obj, &ia->objs[DAT_HANDLE_TYPE_EP], node)
		if (kdapl_obj_pin(obj))
			list_add_tail(&to_kdapl_ep(obj)->strip, &eps);
	mutex_unlock(&ia->mutex);
	kdapl_ep_strip(&eps, false);
	list_for_each_entry_safe(ep, next, &eps, strip)
		kdapl_obj_put(&ep->obj);
}

/**
 * kdapl_ia_remove - make the IA a shell, its device is leaving
 * @ia: the IA, referenced by the caller
 *
 * Context: process, device alive. Waits for running upcalls and for calls that
 * use verbs, never for the Consumer.
 */
void kdapl_ia_remove(struct kdapl_ia *ia)
{
	static const u8 order[] = {
		DAT_HANDLE_TYPE_CR, DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP,
		DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_LMR,
		DAT_HANDLE_TYPE_PZ,
	};
	struct kdapl_obj *obj;
	unsigned int i;

	/* From here on nothing is made, and no request announced */
	down_write(&ia->sem);
	ia->shell = true;
	up_write(&ia->sem);

	kdapl_ia_shell_eps(ia);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		/* An EP that is just being freed gave no reference above */
		if (order[i] == DAT_HANDLE_TYPE_RMR)
			wait_event(ia->wait, !atomic_read(&ia->nqps));
		/* A PD goes when nothing in it is left, whoever frees it */
		if (order[i] == DAT_HANDLE_TYPE_PZ)
			wait_event(ia->wait, !atomic_read(&ia->nverbs));
		obj = NULL;
		while ((obj = kdapl_ia_next(ia, order[i], obj)))
			kdapl_ia_shell_obj(obj);
	}
	wait_event(ia->wait, !atomic_read(&ia->npds));

	kdapl_ia_catastrophic(ia);
	down_write(&ia->sem);
	ia->ibdev = NULL;
	/* The Consumer may keep the shell for long: not the namespace with it */
	put_net(ia->net);
	ia->net = NULL;
	up_write(&ia->sem);
	mutex_lock(&kdapl_device_mutex);
	ia->dev = NULL;
	list_del_init(&ia->dev_node);
	mutex_unlock(&kdapl_device_mutex);
}

/* ---- close ------------------------------------------------------------- */

static void kdapl_ia_destroy_obj(struct kdapl_obj *obj)
{
	switch (kdapl_handle_type(obj->handle)) {
	case DAT_HANDLE_TYPE_EP:
		return kdapl_ep_destroy(to_kdapl_ep(obj));
	case DAT_HANDLE_TYPE_CR:
		return kdapl_cr_destroy(to_kdapl_cr(obj));
	case DAT_HANDLE_TYPE_PSP:
	case DAT_HANDLE_TYPE_RSP:
		return kdapl_sp_destroy(to_kdapl_sp(obj));
	case DAT_HANDLE_TYPE_SRQ:
		return kdapl_srq_destroy(to_kdapl_srq(obj));
	case DAT_HANDLE_TYPE_RMR:
		return kdapl_rmr_destroy(to_kdapl_rmr(obj));
	case DAT_HANDLE_TYPE_LMR:
		return kdapl_lmr_destroy(to_kdapl_lmr(obj));
	case DAT_HANDLE_TYPE_PZ:
		return kdapl_pz_destroy(to_kdapl_pz(obj));
	case DAT_HANDLE_TYPE_EVD:
		return kdapl_evd_destroy(to_kdapl_evd(obj));
	}
}

/*
 * Makes an object ours to destroy, whoever uses it: its users are objects of
 * the same IA, which go first, or RMRs that are freed already and are waited for.
 * False if another call frees it already.
 */
static bool kdapl_ia_claim(struct kdapl_obj *obj)
{
	int users = atomic_read(&obj->users);

	do {
		if (users < 0)
			return false;
	} while (!atomic_try_cmpxchg(&obj->users, &users, users + INT_MIN / 2));
	return kdapl_obj_unpublish(obj);
}

/* Claims all objects of a type; they move to @doomed */
static void kdapl_ia_claim_all(struct kdapl_ia *ia, DAT_HANDLE_TYPE type, struct list_head *doomed)
{
	struct kdapl_obj *obj, *next;

	mutex_lock(&ia->mutex);
	list_for_each_entry_safe(obj, next, &ia->objs[type], node)
		if (kdapl_ia_claim(obj))
			list_move_tail(&obj->node, &doomed[type]);
	mutex_unlock(&ia->mutex);
}

/*
 * Destroys claimed objects but @keep, then waits for those of the type that
 * other calls are freeing. The grace period for the claimed ones is over.
 */
static void kdapl_ia_destroy_type(struct kdapl_ia *ia, DAT_HANDLE_TYPE type,
				  struct list_head *doomed, struct kdapl_obj *keep)
{
	struct kdapl_obj *obj, *next;
	LIST_HEAD(eps);

	/* Nobody else touches @doomed: destructors take off their own object */
	list_for_each_entry(obj, &doomed[type], node) {
		if (obj == keep)
			continue;
		kdapl_obj_wait(obj);
		if (type == DAT_HANDLE_TYPE_EP)
			list_add_tail(&to_kdapl_ep(obj)->strip, &eps);
	}
	kdapl_ep_strip(&eps, true);
	list_for_each_entry_safe(obj, next, &doomed[type], node)
		if (obj != keep)
			kdapl_ia_destroy_obj(obj);
	wait_event(ia->wait, list_empty(&ia->objs[type]));
	/* Those that were freed with a request under way are on no list */
	if (type == DAT_HANDLE_TYPE_RMR)
		wait_event(ia->wait, !atomic_read(&ia->nrmrs));
}

static void kdapl_ia_destroy_objs(struct kdapl_ia *ia, struct list_head *doomed,
				  struct kdapl_obj *keep)
{
	static const u8 order[] = {
		DAT_HANDLE_TYPE_EP, DAT_HANDLE_TYPE_CR, DAT_HANDLE_TYPE_SRQ,
		DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_PSP,
		DAT_HANDLE_TYPE_RSP,
	};
	unsigned int i;

	for (i = 0; i < KDAPL_NTYPES; i++)
		kdapl_ia_claim_all(ia, i, doomed);
	/* The one grace period for posts that still see any of them */
	kdapl_grace();
	/* A service point refuses what comes meanwhile: the IA is closing */
	for (i = 0; i < ARRAY_SIZE(order); i++)
		kdapl_ia_destroy_type(ia, order[i], doomed, NULL);
	kdapl_ia_destroy_type(ia, DAT_HANDLE_TYPE_PZ, doomed, NULL);
	kdapl_ia_destroy_type(ia, DAT_HANDLE_TYPE_EVD, doomed, keep);
}

/* No verbs object is left: remove() needs to wait no longer */
static void kdapl_ia_leave_device(struct kdapl_ia *ia)
{
	mutex_lock(&kdapl_device_mutex);
	list_del_init(&ia->dev_node);
	/* Under the mutex: remove() frees the device when it has had it */
	if (ia->dev)
		wake_up(&ia->dev->wait);
	ia->dev = NULL;
	mutex_unlock(&kdapl_device_mutex);
}

/* IAs that are being closed, by kdapl_obj.node, from before they are unpublished */
static LIST_HEAD(kdapl_ias_closing);
static DEFINE_SPINLOCK(kdapl_ias_closing_lock);
/* One has been closed */
DECLARE_WAIT_QUEUE_HEAD(kdapl_ias_closed);

/* Is an IA of @owner (NULL: any owner) being closed? */
static bool kdapl_ia_closes(const char *owner)
{
	struct kdapl_obj *obj;
	bool found = false;

	spin_lock(&kdapl_ias_closing_lock);
	list_for_each_entry(obj, &kdapl_ias_closing, node)
		found |= !owner || !strcmp(to_kdapl_ia(obj)->owner, owner);
	spin_unlock(&kdapl_ias_closing_lock);
	return found;
}

static void kdapl_ia_put_async(struct kdapl_ia *ia)
{
	struct kdapl_evd *evd = ia->async_evd;
	struct kdapl_ia *other = evd->obj.ia;

	if (ia->own_async) {
		kdapl_obj_wait(&evd->obj);
		kdapl_evd_destroy(evd);
		return;
	}
	kdapl_obj_unuse(&evd->obj);
	kdapl_obj_unuse(&other->obj);
}

/**
 * kdapl_ia_destroy - take an IA apart, with all that belongs to it
 * @ia: the IA, closing, its handle out of the table
 *
 * Context: process; not from an upcall. Waits for calls that use the IA or
 * one of its objects, and for running upcalls.
 */
void kdapl_ia_destroy(struct kdapl_ia *ia)
{
	struct kdapl_obj *keep = ia->own_async ? &ia->async_evd->obj : NULL;
	struct list_head doomed[KDAPL_NTYPES];
	unsigned int i;

	kdapl_obj_wait(&ia->obj);
	for (i = 0; i < KDAPL_NTYPES; i++)
		INIT_LIST_HEAD(&doomed[i]);
	kdapl_ia_destroy_objs(ia, doomed, keep);
	/* Events of the device come until here */
	kdapl_ia_leave_device(ia);
	kdapl_ia_put_async(ia);
	/*
	 * No upcall of this IA will run any more. The caller of dat_ia_close() still
	 * returns to its own text, which its module must keep until then.
	 */
	spin_lock(&kdapl_ias_closing_lock);
	list_del(&ia->obj.node);
	spin_unlock(&kdapl_ias_closing_lock);
	wake_up_all(&kdapl_ias_closed);
	kdapl_ia_mem_put(ia);
}

/* ia->sem held for writing: no object is being made */
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

/* DAT_SUCCESS for the one caller that is to destroy the IA */
static DAT_RETURN kdapl_ia_shut(struct kdapl_ia *ia, bool graceful)
{
	DAT_RETURN ret = DAT_SUCCESS;

	down_write(&ia->sem);
	if (ia->closing) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	} else if ((graceful && !kdapl_ia_unused(ia)) || !kdapl_obj_kill(&ia->obj)) {
		ret = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
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
 * @close_flags: DAT_CLOSE_ABRUPT_FLAG: destroy all that belongs to it;
 *               DAT_CLOSE_GRACEFUL_FLAG: only if nothing does, the
 *               asynchronous EVD that dat_ia_openv() made excepted
 *
 * That EVD goes with the IA; one that the Consumer brought stays. When the
 * call returns no upcall of the IA runs or will run. An IA whose device is
 * gone is closed like any other.
 *
 * Source: kDAPL 2.0, dat_ia_close; manual page.
 *
 * Context: process (class P), not from an upcall.
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
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (close_flags != DAT_CLOSE_ABRUPT_FLAG && close_flags != DAT_CLOSE_GRACEFUL_FLAG)
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	else if (kdapl_in_upcall())
		ret = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	else
		ret = kdapl_ia_shut(to_kdapl_ia(obj), close_flags == DAT_CLOSE_GRACEFUL_FLAG);
	kdapl_obj_put(obj);
	if (!ret)
		kdapl_ia_destroy(to_kdapl_ia(obj));
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_close);

/* ---- IAs that a Consumer has left open ---------------------------------- */

/* The next open IA of @owner (NULL: any owner) from index @idx on, referenced */
static struct kdapl_ia *kdapl_ia_left(u32 *idx, const char *owner)
{
	struct kdapl_obj *obj;

	for (; (obj = kdapl_obj_next(idx, DAT_HANDLE_TYPE_IA)); ++*idx) {
		if (!owner || !strcmp(to_kdapl_ia(obj)->owner, owner))
			return to_kdapl_ia(obj);
		kdapl_obj_put(obj);
	}
	return NULL;
}

/* On return no upcall of the IA is running, and none will start */
static void kdapl_ia_silence(struct kdapl_ia *ia)
{
	struct kdapl_obj *obj = NULL;

	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EVD, obj))) {
		kdapl_evd_modify(to_kdapl_evd(obj), DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				 DAT_UPCALL_INVOC_NEW);
		kdapl_evd_wait_idle(to_kdapl_evd(obj));
	}
}

/**
 * kdapl_ia_destroy_left - close the IAs that a Consumer has left open
 * @owner: name of a module that is being unloaded; its exit function has run, but
 *         its text and data still exist. NULL: kdapl itself is being unloaded, and
 *         the module reference count ensures that every Consumer is gone
 *
 * Upcalls are stopped first, because the exit function may have freed what they
 * use. An IA that another thread is closing may still have a running upcall, so the
 * function waits until it is closed. If the IA of another Consumer sends its
 * asynchronous events to an EVD of an IA and is not being closed, the latter IA stays,
 * without upcalls, until kdapl is unloaded.
 *
 * Context: process.
 */
void kdapl_ia_destroy_left(const char *owner)
{
	bool again, shut, busy;
	struct kdapl_ia *ia;
	u32 idx;

	for (idx = 0; (ia = kdapl_ia_left(&idx, owner)); idx++) {
		pr_warn("kdapl: %s: left open by %s, closing it\n", ia->name,
			*ia->owner ? ia->owner : "a consumer");
		kdapl_ia_silence(ia);
		kdapl_obj_put(&ia->obj);
	}
	do {
		again = false;
		busy = false;
		for (idx = 0; (ia = kdapl_ia_left(&idx, owner)); idx++) {
			shut = kdapl_ia_shut(ia, false) == DAT_SUCCESS;
			kdapl_obj_put(&ia->obj);
			if (shut)
				kdapl_ia_destroy(ia);
			again |= shut;
			busy |= !shut;
		}
		/* What keeps an IA busy may be another one that is being closed */
		if (!again && kdapl_ia_closes(busy ? NULL : owner)) {
			wait_event(kdapl_ias_closed, !kdapl_ia_closes(busy ? NULL : owner));
			again = true;
		}
	} while (again);
}
