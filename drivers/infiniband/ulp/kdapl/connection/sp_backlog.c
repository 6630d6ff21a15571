// SPDX-License-Identifier: GPL-2.0
/*
 * What a service point and its requests have in common: the number of requests, the
 * list of service points that listen, the end of listening, and the EP of an RSP.
 *
 * Called by sp_listen.c and cr.c, in the contexts that the functions name.
 */
#include "post/post.h"
#include "internal.h"

/* Service points that listen, by kdapl_sp.node; the lock is taken alone, in any context */
LIST_HEAD(kdapl_sps);
DEFINE_SPINLOCK(kdapl_sps_lock);

/*
 * Counts a request, if the EVD and the share have room. @placed: the request is already counted on
 * the EVD, and the caller passes this on. Returns true if the request is counted as one that
 * waits; the caller then has a reference to @sp. Any context, including CM callbacks.
 */
bool kdapl_sp_admit(struct kdapl_sp *sp, bool placed)
{
	struct kdapl_evd *evd = sp->evd;
	u32 qlen = READ_ONCE(evd->qlen);
	bool admitted = false;
	unsigned long flags;
	u32 share;

	if (!kdapl_obj_tryget(&sp->obj)) {
		atomic_inc(&sp->refused[KDAPL_REFUSED_LATE]);
		return false;
	}
	share = clamp_t(u32, qlen / max(atomic_read(&evd->npsp), 1), 1, sp->backlog);
	spin_lock_irqsave(&sp->lock, flags);
	if (kdapl_sp_ends(sp)) {
		atomic_inc(&sp->refused[KDAPL_REFUSED_LATE]);
	} else if (sp->ncr >= share) {
		atomic_inc(&sp->refused[KDAPL_REFUSED_SHARE]);
	} else if (!placed && atomic_inc_return(&evd->ncr) > qlen) {
		atomic_dec(&evd->ncr);
		atomic_inc(&sp->refused[KDAPL_REFUSED_EVD]);
	} else {
		admitted = true;
		sp->ncr++;
	}
	spin_unlock_irqrestore(&sp->lock, flags);
	if (!admitted)
		kdapl_obj_put(&sp->obj);
	return admitted;
}

/*
 * Notes that a request does not wait any more. The EVD may have been freed in the meantime; then
 * its handle is not found. @placed: another request remains counted on the EVD instead. Any
 * context.
 */
void kdapl_sp_uncount(struct kdapl_sp *sp, bool placed)
{
	struct kdapl_obj *obj;
	unsigned long flags;

	spin_lock_irqsave(&sp->lock, flags);
	sp->ncr--;
	spin_unlock_irqrestore(&sp->lock, flags);
	if (placed)
		return;
	obj = kdapl_obj_get(sp->evd_handle, DAT_HANDLE_TYPE_EVD);
	if (obj) {
		atomic_dec(&to_kdapl_evd(obj)->ncr);
		kdapl_obj_put(obj);
	}
}

/*
 * Finds the service point that listens on a qualifier. @ia: the IA to which it must belong.
 * Returns the service point, with a reference, or NULL. Any context.
 */
struct kdapl_sp *kdapl_sp_find(const struct kdapl_ia *ia, DAT_CONN_QUAL qual)
{
	struct kdapl_sp *sp, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&kdapl_sps_lock, flags);
	list_for_each_entry(sp, &kdapl_sps, node) {
		if (sp->obj.ia != ia || sp->qual != qual)
			continue;
		/* Its memory exists while it is listed; without references it is being freed */
		if (kdapl_obj_tryget(&sp->obj))
			found = sp;
		break;
	}
	spin_unlock_irqrestore(&kdapl_sps_lock, flags);
	return found;
}

/*
 * Stops listening on one of all addresses. @l: the listener, removed from its list and freed.
 * Process context, the mutex of the service point held.
 */
void kdapl_listener_free(struct kdapl_listener *l)
{
	list_del(&l->node);
	rdma_destroy_id(l->id);
	kfree(l);
}

/*
 * Destroys the listening ids of a service point. Process context, sp->mutex held, no lock that a
 * CM callback takes is held.
 */
void kdapl_sp_destroy_ids(struct kdapl_sp *sp)
{
	struct kdapl_listener *l, *next;

	if (sp->id)
		rdma_destroy_id(sp->id);
	sp->id = NULL;
	list_for_each_entry_safe(l, next, &sp->listeners, node)
		kdapl_listener_free(l);
}

/*
 * Stops listening; further calls do nothing. Requests that are not announced yet will be refused.
 * Process context, no lock that a CM callback takes is held.
 */
void kdapl_sp_unlisten(struct kdapl_sp *sp)
{
	bool closed;

	mutex_lock(&sp->mutex);
	spin_lock_irq(&sp->lock);
	closed = sp->closed;
	sp->closed = true;
	spin_unlock_irq(&sp->lock);
	spin_lock_irq(&kdapl_sps_lock);
	list_del_init(&sp->node);
	spin_unlock_irq(&kdapl_sps_lock);
	kdapl_sp_destroy_ids(sp);
	mutex_unlock(&sp->mutex);
	if (closed)
		return;
	atomic_dec(&sp->evd->npsp);
	kdapl_ia_verbs_put(sp->obj.ia);
}

/* The state that debugfs shows. Any context */
const char *kdapl_sp_state(const struct kdapl_sp *sp)
{
	if (READ_ONCE(sp->obj.ia->orphaned))
		return "orphaned";
	if (READ_ONCE(sp->closed))
		return "spent";
	return READ_ONCE(sp->id) || !list_empty(&sp->listeners) ? "listening" : "retrying";
}

/*
 * Moves the EP of an RSP from one state to another. Returns false if nothing has changed, because
 * the EP is not in @from for this RSP any more: it is being freed, or its device is being removed.
 * Process context, ep->mutex not held.
 *
 * @sp:   service point; the function does nothing if it is not an RSP
 * @from: RESERVED or PASSIVE_CONNECTION_PENDING
 * @to:   PASSIVE_CONNECTION_PENDING, or UNCONNECTED, which ends the relation
 */
bool kdapl_rsp_move(struct kdapl_sp *sp, DAT_EP_STATE from, DAT_EP_STATE to)
{
	struct kdapl_obj *obj;
	struct kdapl_ep *ep;
	bool moved;

	if (!sp->ep_handle)
		return false;
	obj = kdapl_obj_get(sp->ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return false;
	ep = to_kdapl_ep(obj);
	mutex_lock(&ep->mutex);
	spin_lock_irq(&ep->lock);
	moved = ep->conn.rsp == kdapl_obj_handle(&sp->obj) && ep->state == from;
	if (moved)
		kdapl_ep_set_state(ep, to);
	spin_unlock_irq(&ep->lock);
	if (moved && to == DAT_EP_STATE_UNCONNECTED)
		ep->conn.rsp = DAT_HANDLE_NULL;
	mutex_unlock(&ep->mutex);
	kdapl_obj_put(obj);
	return moved;
}
