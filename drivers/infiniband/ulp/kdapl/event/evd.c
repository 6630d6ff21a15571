// SPDX-License-Identifier: GPL-2.0
/*
 * Event dispatchers: creation, queries, changes and destruction.
 *
 * Called by Consumers in process context (queries and policy changes in any context), and
 * by dat_ia_openv() for the asynchronous EVD. evd_queue.c queues and delivers events.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include "evd_queue.h"

#define KDAPL_EVD_STREAMS	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG | \
				 DAT_EVD_CONNECTION_FLAG | DAT_EVD_RMR_BIND_FLAG | \
				 DAT_EVD_ASYNC_FLAG)

/* Without polls in softirq the work item of the EVD polls, and delivers with bottom halves off */
static enum kdapl_context kdapl_evd_context(DAT_EVD_FLAGS flags)
{
	if (flags & KDAT_EVD_PROCESS_FLAG)
		return KDAPL_CONTEXT_PROCESS;
	if (flags & KDAT_EVD_POLL_FLAG)
		return KDAPL_CONTEXT_POLL;
	return kdapl_softirq_polls() ? KDAPL_CONTEXT_SOFTIRQ : KDAPL_CONTEXT_PROCESS;
}

static const struct kdapl_obj_ops kdapl_evd_ops = {
	.destroy = kdapl_evd_destroy,
};

/*
 * Allocates an EVD that is not published yet. The last step of the caller is kdapl_ia_add(); after
 * that a caller that guesses the handle may free the EVD. Returns the EVD, or ERR_PTR: -ENOMEM,
 * -ENOSPC. Process context.
 *
 * @qlen:   room for software and asynchronous events, limit of waiting CRs
 * @upcall: what to call, or NULL
 * @flags:  DAT_EVD_*_FLAG, and at most one of KDAT_EVD_PROCESS_FLAG and KDAT_EVD_POLL_FLAG
 */
struct kdapl_evd *kdapl_evd_alloc(struct kdapl_ia *ia, u32 qlen, DAT_UPCALL_POLICY policy,
				  const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags)
{
	struct kdapl_evd *evd;
	int ret;

	evd = kzalloc(sizeof(*evd), GFP_KERNEL);
	if (!evd)
		return ERR_PTR(-ENOMEM);
	ret = kdapl_obj_init(&evd->obj, DAT_HANDLE_TYPE_EVD, ia);
	if (ret)
		goto err_free;
	evd->obj.ops = &kdapl_evd_ops;
	evd->streams = flags;
	evd->context = kdapl_evd_context(flags);
	ret = kdapl_evd_setup(evd, qlen, policy, upcall);
	if (ret)
		goto err_abort;
	kdapl_evd_work_init(evd);
	return evd;

err_abort:
	kdapl_obj_exit(&evd->obj);
err_free:
	kfree(evd);
	return ERR_PTR(ret);
}

/* Refuses requests that were not delivered; other events need no action (E-46) */
static void kdapl_evd_drop_queued(struct kdapl_evd *evd)
{
	struct kdapl_event *ev;
	struct kdapl_obj *obj;

	while ((ev = evd->head)) {
		evd->head = ev->next;
		if (ev->kind == KDAPL_EV_CR) {
			obj = &container_of(ev, struct kdapl_cr, ev)->obj;
			/* May free the CR, which contains the node */
			obj->ops->undelivered(obj);
			continue;
		}
	}
}

/*
 * Destroys an EVD that nothing uses any more. @obj: unpublished a grace period ago, without
 * references. Process context, not inside an upcall.
 */
void kdapl_evd_destroy(struct kdapl_obj *obj)
{
	struct kdapl_evd *evd = to_kdapl_evd(obj);

	kdapl_evd_modify(evd, DAT_UPCALL_TEARDOWN, NULL, DAT_UPCALL_INVOC_NEW);
	kdapl_evd_wait_idle(evd);
	kdapl_evd_work_exit(evd);
	kdapl_evd_drop_queued(evd);
	kdapl_evd_cleanup(evd);
	kdapl_ia_del(evd->obj.ia, &evd->obj);
	kfree_rcu(evd, obj.rcu);
}

/*
 * Raises an asynchronous event. Any context.
 *
 * @ia:     the IA, which the caller keeps
 * @number: DAT_ASYNC_ERROR_*
 * @handle: the object concerned
 */
void kdapl_ia_async(struct kdapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, u16 reason)
{
	kdapl_evd_post_async(ia->async_evd, number, handle, reason);
}

static bool kdapl_policy_known(DAT_UPCALL_POLICY policy)
{
	return policy == DAT_UPCALL_DISABLE || policy == DAT_UPCALL_SINGLE_INSTANCE ||
	       policy == DAT_UPCALL_NOTIFY || policy == DAT_UPCALL_MANY;
}

/*
 * Checks whether one EVD may carry these streams together, as the merging matrix
 * says. Software and asynchronous events would share a ring, so a Consumer that
 * fills it with software events would lose errors.
 */
static bool kdapl_streams_merge(u32 streams)
{
	if (!streams || (streams & ~KDAPL_EVD_STREAMS))
		return false;
	return !(streams & DAT_EVD_ASYNC_FLAG) || !(streams & DAT_EVD_SOFTWARE_FLAG);
}

static DAT_RETURN kdapl_evd_check_create(DAT_COUNT min_qlen, DAT_UPCALL_POLICY policy,
					 const DAT_UPCALL_OBJECT *upcall, u32 flags,
					 const DAT_EVD_HANDLE *evd_handle)
{
	if (min_qlen <= 0)
		return KDAPL_BAD_ARG(2);
	if (!kdapl_policy_known(policy))
		return KDAPL_BAD_ARG(3);
	if (policy != DAT_UPCALL_DISABLE && (!upcall || !upcall->upcall_func))
		return KDAPL_BAD_ARG(4);
	if (!kdapl_streams_merge(flags & ~KDAPL_EVD_CONTEXTS) ||
	    (flags & KDAPL_EVD_CONTEXTS) == KDAPL_EVD_CONTEXTS)
		return KDAPL_BAD_ARG(5);
	if (!evd_handle)
		return KDAPL_BAD_ARG(6);
	if (policy == DAT_UPCALL_MANY)
		return KDAPL_UNSUPPORTED;
	return DAT_SUCCESS;
}

/* Returns a copy of the Consumer's object; NULL for NULL */
static const DAT_UPCALL_OBJECT *kdapl_evd_copy_upcall(DAT_UPCALL_OBJECT *own,
						      const DAT_UPCALL_OBJECT *upcall)
{
	if (!upcall)
		return NULL;
	*own = data_race(*upcall); /* once: the Consumer may be changing it */
	return own;
}

/**
 * dat_evd_kcreate - create an event dispatcher
 * @ia_handle:     IA to which it belongs
 * @evd_min_qlen:  number of software and asynchronous events for which there is room, and
 *                 limit of the connection requests that wait; other events need no room
 * @upcall_policy: DAT_UPCALL_DISABLE, SINGLE_INSTANCE or NOTIFY
 * @upcall:        function and its first argument; may be NULL with DISABLE
 * @evd_flags:     streams of the EVD; DAT_EVD_DEFAULT_FLAG for all except SOFTWARE, which
 *                 cannot be combined with ASYNC. kDAPL's own: KDAT_EVD_PROCESS_FLAG or
 *                 KDAT_EVD_POLL_FLAG, the context of the upcalls
 * @evd_handle:    receives the EVD
 *
 * Without a flag for the context, bottom halves are off in each upcall, which must not sleep. The
 * context never changes, and applies to all events of the EVD.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle is not the handle of an IA
 * * DAT_INVALID_PARAMETER - the length is not positive; unknown policy; the policy needs a
 *   function; no stream, an unknown one, or streams that cannot be merged; two contexts;
 *   @evd_handle is NULL
 * * DAT_MODEL_NOT_SUPPORTED - DAT_UPCALL_MANY
 * * DAT_INSUFFICIENT_RESOURCES - longer than max_evd_qlen of the IA; no memory; the device
 *   was removed
 */
DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_UPCALL_POLICY upcall_policy, const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle)
{
	DAT_UPCALL_OBJECT own;
	struct kdapl_evd *evd;
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	ret = kdapl_ia_get_enter(ia_handle, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	upcall = kdapl_evd_copy_upcall(&own, upcall);
	ret = kdapl_evd_check_create(evd_min_qlen, upcall_policy, upcall, evd_flags, evd_handle);
	if (ret != DAT_SUCCESS)
		goto out;
	if (evd_min_qlen > ia->attr.max_evd_qlen) {
		ret = KDAPL_NO_RESOURCE(TEVD);
		goto out;
	}
	evd = kdapl_evd_alloc(ia, evd_min_qlen, upcall_policy, upcall, evd_flags);
	if (IS_ERR(evd)) {
		ret = KDAPL_NO_RESOURCE(MEMORY);
		goto out;
	}
	*evd_handle = kdapl_obj_handle(&evd->obj);
	kdapl_ia_add(ia, &evd->obj, false);
out:
	kdapl_ia_leave_put(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_kcreate);

/**
 * dat_evd_modify_upcall - change the upcall of an EVD
 * @evd_handle:    the EVD
 * @upcall_policy: DAT_UPCALL_DISABLE, SINGLE_INSTANCE, NOTIFY or TEARDOWN
 * @upcall:        new function and argument; DAT_UPCALL_SAME keeps the current ones
 * @flag:          INVOC_ANY: events that are already queued also lead to upcalls
 *
 * The call never runs the upcall itself. Inside the EVD's upcall it takes effect for the next one.
 * After DISABLE one more upcall may run, for an event that was removed from the queue before. When
 * TEARDOWN returns, no upcall runs and none will start, so the instance data may be freed.
 *
 * Context: any except hard interrupt; TEARDOWN sleeps (class P): process context, not from
 * an upcall.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @evd_handle is not the handle of an EVD
 * * DAT_INVALID_PARAMETER - unknown policy or flag; the policy needs a function
 * * DAT_INVALID_STATE - TEARDOWN from an upcall of any EVD
 * * DAT_MODEL_NOT_SUPPORTED - DAT_UPCALL_MANY
 */
DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle, DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_UPCALL_OBJECT own;
	struct kdapl_obj *obj = kdapl_obj_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	struct kdapl_evd *evd;

	if (!obj)
		return KDAPL_ERROR(INVALID_HANDLE);
	evd = to_kdapl_evd(obj);
	upcall = kdapl_evd_copy_upcall(&own, upcall);
	if (upcall_policy != DAT_UPCALL_TEARDOWN && !kdapl_policy_known(upcall_policy))
		ret = KDAPL_BAD_ARG(2);
	else if (flag != DAT_UPCALL_INVOC_NEW && flag != DAT_UPCALL_INVOC_ANY)
		ret = KDAPL_BAD_ARG(4);
	else if (upcall_policy == DAT_UPCALL_MANY)
		ret = KDAPL_UNSUPPORTED;
	else if (upcall_policy == DAT_UPCALL_TEARDOWN && kdapl_in_upcall())
		ret = KDAPL_BAD_STATE(EVD_IN_USE);
	else if (kdapl_evd_modify(evd, upcall_policy, upcall, flag))
		ret = KDAPL_BAD_ARG(3);
	else if (upcall_policy == DAT_UPCALL_TEARDOWN)
		kdapl_evd_wait_idle(evd);
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_modify_upcall);

/**
 * dat_evd_resize - change the length of an EVD
 * @evd_handle:   the EVD
 * @evd_min_qlen: new length, see dat_evd_kcreate()
 *
 * Queued events keep their order, and events that arrive at the same time are not lost. Service
 * points keep their backlog: a larger limit applies to service points that are created afterwards,
 * a smaller one to all at once.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @evd_handle is not the handle of an EVD
 * * DAT_INVALID_PARAMETER - @evd_min_qlen is not positive, or greater than max_evd_qlen of
 *   the IA
 * * DAT_INVALID_STATE - EVD_IN_USE: @evd_min_qlen is less than the current length, and less than
 *   the number of queued events of all streams
 * * DAT_INSUFFICIENT_RESOURCES - no memory; the EVD has not changed
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	struct kdapl_obj *obj = kdapl_obj_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_ERROR(INVALID_HANDLE);
	if (evd_min_qlen <= 0 || evd_min_qlen > obj->ia->attr.max_evd_qlen) {
		ret = KDAPL_BAD_ARG(2);
		goto out;
	}
	switch (kdapl_evd_resize(to_kdapl_evd(obj), evd_min_qlen)) {
	case 0:
		ret = DAT_SUCCESS;
		break;
	case -EBUSY:
		ret = KDAPL_BAD_STATE(EVD_IN_USE);
		break;
	default:
		ret = KDAPL_NO_RESOURCE(MEMORY);
	}
out:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_resize);

static void kdapl_evd_fill(struct kdapl_obj *obj, union kdapl_param *param)
{
	struct kdapl_evd *evd = to_kdapl_evd(obj);
	DAT_EVD_PARAM *p = &param->evd;
	unsigned long flags;

	p->ia_handle = kdapl_obj_handle(&obj->ia->obj);
	p->evd_qlen = READ_ONCE(evd->qlen);
	p->evd_flags = evd->streams;
	spin_lock_irqsave(&evd->lock, flags);
	p->upcall_policy = evd->policy;
	p->upcall = evd->has_next ? evd->next_upcall : evd->upcall;
	spin_unlock_irqrestore(&evd->lock, flags);
}

static const u16 kdapl_evd_offsets[] = {
	KDAPL_PARAM(EVD, ia_handle), KDAPL_PARAM(EVD, evd_qlen), KDAPL_PARAM(EVD, upcall_policy),
	KDAPL_PARAM(EVD, upcall), KDAPL_PARAM(EVD, evd_flags), sizeof(DAT_EVD_PARAM)
};

KDAPL_DEFINE_QUERY(kdapl_evd, EVD, KDAPL_ERROR(INVALID_HANDLE));

/**
 * dat_evd_query - query the parameters of an EVD
 * @evd_handle: the EVD
 * @mask:       DAT_EVD_FIELD_*, the members to return
 * @param:      receives them; other members do not change
 *
 * Context: any except hard interrupt; never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @evd_handle is not the handle of an EVD
 * * DAT_INVALID_PARAMETER - unknown bit in @mask; @param is NULL
 */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK mask,
			 DAT_EVD_PARAM *param)
{
	return kdapl_query(&kdapl_evd_query, evd_handle, mask, param);
}
EXPORT_SYMBOL_GPL(dat_evd_query);

/**
 * dat_evd_free - destroy an EVD that nothing uses
 * @evd_handle: the EVD
 *
 * Queued events are dropped, and a connection request among them is refused. The call waits for a
 * running upcall; none runs after it has returned.
 *
 * Context: process (class P), not in an upcall.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @evd_handle is not the handle of an EVD
 * * DAT_INVALID_STATE - an EP, a service point or the IA uses it, or the call was made from
 *   an upcall of any EVD
 */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	if (kdapl_in_upcall() && kdapl_obj_is_valid(evd_handle, DAT_HANDLE_TYPE_EVD))
		return KDAPL_BAD_STATE(EVD_IN_USE);
	return kdapl_obj_free(evd_handle, DAT_HANDLE_TYPE_EVD, true, KDAPL_ERROR(INVALID_HANDLE),
			      KDAPL_BAD_STATE(EVD_IN_USE));
}
EXPORT_SYMBOL_GPL(dat_evd_free);
