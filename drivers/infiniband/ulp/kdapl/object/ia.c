// SPDX-License-Identifier: GPL-2.0
/*
 * Interface adapters: entry and exit of control calls, the lists of objects.
 *
 * Owns struct kdapl_ia. Called by every control call before and after it uses verbs, in
 * process context. ia_open.c opens an IA, ia_event.c handles events of its device and its
 * address, ia_close.c ends it, and ia_query.c returns its attributes.
 *
 * Creation, close and device removal can happen at the same time. These rules order them:
 *
 * - A call that creates verbs objects holds ia->sem for reading, from the check that the
 *   device exists until its object is listed (kdapl_ia_get_enter()).
 * - dat_ia_close() removes the handle under ia->sem held for writing, so no creation is in
 *   progress. It waits for all references to the IA, and then frees every object that no
 *   other call is freeing.
 * - Device removal sets @orphaned under ia->sem held for writing, and then destroys the verbs
 *   objects of every object. Meanwhile it holds a reference to the object, for which the
 *   object's destructor waits. If it cannot get a reference, the object is being destroyed,
 *   and its destructor calls kdapl_ia_verbs_put(). Removal holds a reference to the IA,
 *   too, so that close waits for it. If it cannot get one, the IA is being closed, and
 *   removal waits until the IA has left the device's list.
 *
 * The memory of an IA is freed with the last of the IA and its objects, because
 * kdapl_ia_del() still uses it after the closing call has seen an empty list.
 */
#include <net/net_namespace.h>
#include "object.h"

/*
 * Enters a call that creates or uses verbs objects. @out: receives the IA, with a reference; its
 * device cannot be removed. Returns DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_IA;
 * DAT_INSUFFICIENT_RESOURCES with DAT_RESOURCE_DEVICE if the device was removed. Process context;
 * kdapl_ia_leave_put() undoes it.
 */
DAT_RETURN kdapl_ia_get_enter(DAT_IA_HANDLE handle, struct kdapl_ia **out)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_IA);
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_BAD_HANDLE(IA);
	ia = to_kdapl_ia(obj);
	down_read(&ia->sem);
	if (ia->closing) {
		ret = KDAPL_BAD_HANDLE(IA);
	} else if (ia->orphaned) {
		ret = KDAPL_NO_RESOURCE(DEVICE);
	} else {
		*out = ia;
		return DAT_SUCCESS;
	}
	kdapl_ia_leave_put(ia);
	return ret;
}

/* Undoes kdapl_ia_get_enter(). @ia: the IA, which may be freed afterwards. Process context */
void kdapl_ia_leave_put(struct kdapl_ia *ia)
{
	up_read(&ia->sem);
	kdapl_obj_put(&ia->obj);
}

/*
 * Prevents the removal of the device of an IA. @ia: the IA of an object to which the caller holds
 * a reference. Returns false if the device was removed or the IA is being closed; then there is
 * nothing to undo. Process context, not inside kdapl_ia_get_enter(); kdapl_ia_leave() undoes it.
 */
bool kdapl_ia_enter(struct kdapl_ia *ia)
{
	down_read(&ia->sem);
	if (!ia->orphaned && !ia->closing)
		return true;
	up_read(&ia->sem);
	return false;
}

/* Undoes kdapl_ia_enter(). Process context */
void kdapl_ia_leave(struct kdapl_ia *ia)
{
	up_read(&ia->sem);
}

/*
 * Lists and publishes a finished object. @verbs: it has verbs objects, until kdapl_ia_verbs_put().
 * Process context, ia->sem held for reading if @verbs.
 */
void kdapl_ia_add(struct kdapl_ia *ia, struct kdapl_obj *obj, bool verbs)
{
	if (verbs)
		atomic_inc(&ia->nverbs);
	refcount_inc(&ia->mem);
	mutex_lock(&ia->mutex);
	/* At the tail, because removal walks the list while CRs arrive */
	list_add_tail(&obj->node, &ia->objs[kdapl_handle_type(obj->handle)]);
	mutex_unlock(&ia->mutex);
	kdapl_obj_publish(obj);
}

/* Drops a reference to the memory of an IA. Any context */
void kdapl_ia_mem_put(struct kdapl_ia *ia)
{
	if (!refcount_dec_and_test(&ia->mem))
		return;
	if (ia->net)
		put_net(ia->net);
	kfree_rcu(ia, obj.rcu);
}

/* Removes an object from the list. @ia: its IA, which may be freed afterwards. Process context. */
void kdapl_ia_del(struct kdapl_ia *ia, struct kdapl_obj *obj)
{
	mutex_lock(&ia->mutex);
	list_del(&obj->node);
	mutex_unlock(&ia->mutex);
	wake_up(&ia->wait);
	kdapl_ia_mem_put(ia);
}

/*
 * Notes that an object has got verbs objects. Process context, ia->sem held for reading; or any,
 * while another object is counted.
 */
void kdapl_ia_verbs_get(struct kdapl_ia *ia)
{
	atomic_inc(&ia->nverbs);
}

/*
 * Notes that the verbs objects of an object were destroyed. @ia: its IA, which the object, or for
 * an LMR its zone, keeps. Any context.
 */
void kdapl_ia_verbs_put(struct kdapl_ia *ia)
{
	if (atomic_dec_and_test(&ia->nverbs))
		wake_up(&ia->wait);
}
