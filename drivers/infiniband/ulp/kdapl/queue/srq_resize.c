// SPDX-License-Identifier: GPL-2.0
/*
 * The size of a shared receive queue: dat_srq_resize().
 *
 * Posts take slots from the first pool of the SRQ without a lock and at any time, so the pool
 * cannot be moved. It never changes:
 *
 * - an SRQ that grows gets further pools, which a post uses if the first one is empty;
 * - from an SRQ that shrinks, the surplus of free slots is withheld: the call takes them like
 *   a post, and returns them when the SRQ grows again.
 *
 * The queue of the device is enlarged before slots for it are added, and reduced after they
 * were withheld, so a post never finds it full.
 *
 * Consumers call this in process context; srq->mutex guards everything here.
 */
#include <linux/export.h>
#include "post/post.h"
#include "internal.h"

static struct kdapl_srq_more *kdapl_srq_more_alloc(struct kdapl_srq *srq, u32 n)
{
	int node = ibdev_to_node(srq->obj.ia->ibdev);
	struct kdapl_srq_more *more = kzalloc(sizeof(*more), GFP_KERNEL);

	if (!more)
		return NULL;
	if (kdapl_pool_init(&more->pool, n, kdapl_srq_more_done, NULL, true, node)) {
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

/*
 * Frees the pools that a resize added. @srq: an SRQ to which nobody posts, and without
 * queued events. Process context.
 */
void kdapl_srq_free_more(struct kdapl_srq *srq)
{
	struct kdapl_srq_more *more;

	while ((more = srq->more)) {
		srq->more = more->next;
		kdapl_srq_more_free(more);
	}
}

/* Takes a free slot, first from the further pools: only the first one has the fast path */
static struct kdapl_slot *kdapl_srq_take_free(struct kdapl_srq *srq)
{
	struct kdapl_slot *slot = NULL;
	struct kdapl_srq_more *more;

	for (more = srq->more; !slot && more; more = more->next)
		slot = kdapl_pool_get(&more->pool);
	return slot ?: kdapl_pool_get(&srq->pool);
}

/* Returns up to @n slots to their pools. Returns their number */
static u32 kdapl_srq_release(struct kdapl_srq *srq, u32 n)
{
	struct kdapl_slot *slot;
	u32 i;

	lockdep_assert_held(&srq->mutex);
	for (i = 0; i < n && srq->held; i++) {
		slot = kdapl_slot_of_event(srq->held);
		srq->held = slot->ev.next;
		srq->nheld--;
		kdapl_pool_put(slot);
	}
	return i;
}

/* Withholds @n free slots; if there are fewer, withholds none and returns false */
static bool kdapl_srq_withhold(struct kdapl_srq *srq, u32 n)
{
	struct kdapl_slot *slot;
	u32 i;

	lockdep_assert_held(&srq->mutex);
	for (i = 0; i < n; i++) {
		slot = kdapl_srq_take_free(srq);
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

static DAT_RETURN kdapl_srq_resize_verbs(struct kdapl_srq *srq, u32 size)
{
	struct ib_srq_attr attr = { .max_wr = size };

	/* kdapl_ia_enter() delays device removal, so the SRQ of the device is not destroyed */
	switch (ib_modify_srq(rcu_dereference_protected(srq->srq, 1), &attr, IB_SRQ_MAX_WR)) {
	case 0:
		return DAT_SUCCESS;
	case -EOPNOTSUPP:
		return KDAPL_UNSUPPORTED;
	case -ENOMEM:
		return KDAPL_NO_RESOURCE(MEMORY);
	}
	return KDAPL_NO_RESOURCE(SRQ);
}

static DAT_RETURN kdapl_srq_grow(struct kdapl_srq *srq, u32 size)
{
	u32 more_slots = size - srq->depth;
	struct kdapl_srq_more *more = NULL;
	DAT_RETURN ret;

	if (more_slots > srq->nheld) {
		more = kdapl_srq_more_alloc(srq, more_slots - srq->nheld);
		if (!more)
			return KDAPL_NO_RESOURCE(MEMORY);
	}
	ret = kdapl_srq_resize_verbs(srq, size);
	if (ret != DAT_SUCCESS) {
		kdapl_srq_more_free(more);
		return ret;
	}
	kdapl_srq_release(srq, more_slots);
	if (more) {
		more->next = srq->more;
		/* Pairs with the loads of posts and counts, which take no lock */
		smp_store_release(&srq->more, more);
	}
	WRITE_ONCE(srq->depth, size);
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_srq_shrink(struct kdapl_srq *srq, u32 size)
{
	u32 surplus = srq->depth - size;
	DAT_RETURN ret;

	/* Succeeds only if enough slots are free, so that not too many are outstanding */
	if (!kdapl_srq_withhold(srq, surplus))
		return KDAPL_BAD_STATE(SRQ_IN_USE);
	ret = kdapl_srq_resize_verbs(srq, size);
	if (ret != DAT_SUCCESS)
		kdapl_srq_release(srq, surplus);
	else
		WRITE_ONCE(srq->depth, size);
	return ret;
}

/* The device cannot be removed meanwhile */
static DAT_RETURN kdapl_srq_set_size(struct kdapl_srq *srq, u32 size)
{
	struct kdapl_cq *kcq;

	lockdep_assert_held(&srq->mutex);
	if (size <= srq->low_watermark)
		return KDAPL_BAD_STATE(SRQ_IN_USE);
	list_for_each_entry(kcq, &srq->cqs, node)
		if (size > kcq->nrecv)
			return KDAPL_NO_RESOURCE(TEVD);
	if (size > srq->depth)
		return kdapl_srq_grow(srq, size);
	return size < srq->depth ? kdapl_srq_shrink(srq, size) : DAT_SUCCESS;
}

static DAT_RETURN kdapl_srq_resize(struct kdapl_srq *srq, DAT_COUNT size)
{
	struct kdapl_ia *ia = srq->obj.ia;
	DAT_RETURN ret;

	if (size <= 0 || (u32)size > ia->limits.max_srq_wr)
		return KDAPL_BAD_ARG(2);
	if (!kdapl_ia_enter(ia))
		/* An orphaned IA, or one that is being closed together with the SRQ */
		return KDAPL_BAD_STATE(SRQ_ERROR);
	if (!(ia->ibdev->attrs.device_cap_flags & IB_DEVICE_SRQ_RESIZE)) {
		ret = KDAPL_UNSUPPORTED;
	} else if (READ_ONCE(srq->state) == DAT_SRQ_STATE_ERROR) {
		ret = KDAPL_BAD_STATE(SRQ_ERROR);
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
 * @srq_max_recv_dto: number of buffers that may be outstanding
 *
 * Posted buffers stay posted, and posts are possible at the same time. A post during a call that
 * reduces the SRQ may find it full before the call has returned. A post beyond the original size of
 * the SRQ is slightly slower.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @srq_handle is not the handle of an SRQ
 * * DAT_INVALID_PARAMETER - @srq_max_recv_dto is not positive, or greater than
 *   max_recv_per_srq of the IA
 * * DAT_INVALID_STATE - more buffers are outstanding; the size is not greater than the low
 *   watermark that was set last; the SRQ is in ERROR
 * * DAT_INSUFFICIENT_RESOURCES - TEVD: the CQs of EPs on the SRQ have no room, which was sized
 *   when they were created; no memory; the device refuses the size
 * * DAT_MODEL_NOT_SUPPORTED - the device cannot resize an SRQ
 */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	struct kdapl_obj *obj = kdapl_obj_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_BAD_HANDLE(SRQ);
	ret = kdapl_srq_resize(to_kdapl_srq(obj), srq_max_recv_dto);
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_resize);
