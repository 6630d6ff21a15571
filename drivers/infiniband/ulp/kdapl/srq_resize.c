// SPDX-License-Identifier: GPL-2.0
/*
 * The size of a shared receive queue: dat_srq_resize.
 *
 * Posts take slots from the pool that the SRQ was made with, without a lock
 * and at any moment, so that a pool cannot be moved. It is never touched:
 *
 * - a larger SRQ has further pools beside it, which a post looks at when the
 *   first is empty;
 * - a smaller one has its surplus of free slots withheld: they are taken as a
 *   post takes them, and put back when it grows again.
 *
 * The device's queue is made larger before there are slots for it, and smaller
 * when they are gone, so that a post never finds it full.
 *
 * Consumers call in process context; srq->mutex guards all of it.
 */
#include <linux/export.h>
#include "kdapl.h"

#define KDAPL_IN_USE	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE)
#define KDAPL_IR(what)	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, what)

/* ---- slots ------------------------------------------------------------- */

static struct kdapl_srq_more *kdapl_srq_more_alloc(struct kdapl_srq *srq, u32 n)
{
	int node = ibdev_to_node(srq->obj.ia->ibdev);
	struct kdapl_srq_more *more = kzalloc(sizeof(*more), GFP_KERNEL);

	if (!more)
		return NULL;
	if (kdapl_pool_init(&more->pool, n, srq->max_iov, kdapl_srq_more_done, NULL, true, node)) {
		kfree(more);
		return NULL;
	}
	more->srq = srq;
	more->pool.first = srq->depth + srq->nheld;
	return more;
}

static void kdapl_srq_more_free(struct kdapl_srq_more *more)
{
	if (more)
		kdapl_pool_exit(&more->pool);
	kfree(more);
}

/**
 * kdapl_srq_free_more - free the slots that an SRQ was given later
 * @srq: an SRQ that nobody posts to, and no event of which is queued
 *
 * Context: process.
 */
void kdapl_srq_free_more(struct kdapl_srq *srq)
{
	struct kdapl_srq_more *more;

	while ((more = srq->more)) {
		srq->more = more->next;
		kdapl_srq_more_free(more);
	}
}

/* Of the further pools first, so that the straight way of a post stays open */
static struct kdapl_slot *kdapl_srq_spare(struct kdapl_srq *srq)
{
	struct kdapl_slot *slot = NULL;
	struct kdapl_srq_more *more;

	for (more = srq->more; !slot && more; more = more->next)
		slot = kdapl_pool_get(&more->pool);
	return slot ?: kdapl_pool_get(&srq->pool);
}

/* Puts back up to @n slots; returns how many there were */
static u32 kdapl_srq_release(struct kdapl_srq *srq, u32 n)
{
	struct kdapl_slot *slot;
	u32 i;

	lockdep_assert_held(&srq->mutex);
	for (i = 0; i < n && srq->held; i++) {
		slot = kdapl_slot_of_event(srq->held);
		srq->held = slot->ev.next;
		srq->nheld--;
		kdapl_pool_put(slot->pool, slot);
	}
	return i;
}

/* Withholds @n free slots; false, and none, if there are not as many */
static bool kdapl_srq_withhold(struct kdapl_srq *srq, u32 n)
{
	struct kdapl_slot *slot;
	u32 i;

	lockdep_assert_held(&srq->mutex);
	for (i = 0; i < n; i++) {
		slot = kdapl_srq_spare(srq);
		if (!slot) {
			kdapl_srq_release(srq, i);
			return false;
		}
		slot->ev.next = srq->held;
		srq->held = &slot->ev;
		srq->nheld++;
	}
	return true;
}

/* ---- the two directions ------------------------------------------------ */

static DAT_RETURN kdapl_srq_tell_device(struct kdapl_srq *srq, u32 size)
{
	struct ib_srq_attr attr = { .max_wr = size };

	/* The device is held by kdapl_ia_enter(), and the SRQ goes before it */
	switch (ib_modify_srq(rcu_dereference_protected(srq->srq, 1), &attr, IB_SRQ_MAX_WR)) {
	case 0:
		return DAT_SUCCESS;
	case -EOPNOTSUPP:
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	case -ENOMEM:
		return KDAPL_IR(DAT_RESOURCE_MEMORY);
	}
	return KDAPL_IR(DAT_RESOURCE_SRQ);
}

static DAT_RETURN kdapl_srq_grow(struct kdapl_srq *srq, u32 size)
{
	u32 more_slots = size - srq->depth;
	struct kdapl_srq_more *more = NULL;
	DAT_RETURN ret;

	if (more_slots > srq->nheld) {
		more = kdapl_srq_more_alloc(srq, more_slots - srq->nheld);
		if (!more)
			return KDAPL_IR(DAT_RESOURCE_MEMORY);
	}
	ret = kdapl_srq_tell_device(srq, size);
	if (ret != DAT_SUCCESS) {
		kdapl_srq_more_free(more);
		return ret;
	}
	kdapl_srq_release(srq, more_slots);
	if (more) {
		more->next = srq->more;
		/* Pairs with the loads in posts and counts, which take no lock */
		smp_store_release(&srq->more, more);
	}
	WRITE_ONCE(srq->depth, size);
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_srq_shrink(struct kdapl_srq *srq, u32 size)
{
	u32 surplus = srq->depth - size;
	DAT_RETURN ret;

	/* As many as are free now are not outstanding, and that is all to be known */
	if (!kdapl_srq_withhold(srq, surplus))
		return KDAPL_IN_USE;
	ret = kdapl_srq_tell_device(srq, size);
	if (ret != DAT_SUCCESS)
		kdapl_srq_release(srq, surplus);
	else
		WRITE_ONCE(srq->depth, size);
	return ret;
}

/* The device is there, and stays */
static DAT_RETURN kdapl_srq_set_size(struct kdapl_srq *srq, u32 size)
{
	struct kdapl_cq *kcq;

	lockdep_assert_held(&srq->mutex);
	if (size <= srq->low_watermark)
		return KDAPL_IN_USE;
	list_for_each_entry(kcq, &srq->cqs, node)
		if (size > kcq->recv)
			return KDAPL_IR(DAT_RESOURCE_TEVD);
	if (size > srq->depth)
		return kdapl_srq_grow(srq, size);
	return size < srq->depth ? kdapl_srq_shrink(srq, size) : DAT_SUCCESS;
}

static DAT_RETURN kdapl_srq_resize(struct kdapl_srq *srq, DAT_COUNT size)
{
	struct kdapl_ia *ia = srq->obj.ia;
	DAT_RETURN ret;

	if (size <= 0 || (u32)size > ia->limits.max_srq_wr)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!kdapl_ia_enter(ia))
		/* A shell, or an IA that is being closed, which takes the SRQ along */
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR);
	if (!(ia->ibdev->attrs.device_cap_flags & IB_DEVICE_SRQ_RESIZE)) {
		ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	} else if (READ_ONCE(srq->state) == DAT_SRQ_STATE_ERROR) {
		ret = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR);
	} else {
		mutex_lock(&srq->mutex);
		ret = kdapl_srq_set_size(srq, size);
		mutex_unlock(&srq->mutex);
	}
	kdapl_ia_leave(ia);
	return ret;
}

/**
 * dat_srq_resize - change the capacity of an SRQ
 * @srq_handle:       the SRQ
 * @srq_max_recv_dto: buffers that may be outstanding from now on
 *
 * What is posted stays, and posts may go on meanwhile; one that meets a call
 * which makes the SRQ smaller can be told that it is full before the call
 * returns. Buffers beyond the size that the SRQ was made with cost a post a
 * little more. Source: kDAPL 2.0; manual page dat_srq_resize(3DAT).
 *
 * Context: process (class P), not from an upcall.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @srq_handle names no SRQ
 * * DAT_INVALID_PARAMETER - @srq_max_recv_dto not positive, or above the IA's
 *   max_recv_per_srq
 * * DAT_INVALID_STATE - more buffers are outstanding; not above the low
 *   watermark that was set last; the SRQ is in ERROR: its device is gone
 * * DAT_INSUFFICIENT_RESOURCES - TEVD: more than the CQs of EPs on the SRQ have
 *   room for, which is its size when they were made; memory; the device refuses
 * * DAT_MODEL_NOT_SUPPORTED - the device cannot
 */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	struct kdapl_obj *obj;
	DAT_RETURN ret;

	obj = kdapl_obj_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	ret = kdapl_srq_resize(to_kdapl_srq(obj), srq_max_recv_dto);
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_resize);
