// SPDX-License-Identifier: GPL-2.0
/*
 * Teardown of EPs, any number at a time: connections, QPs and CQs.
 *
 * Called by dat_ep_free(), by dat_ia_close() and by device removal, in process context.
 */
#include "post/post.h"
#include "queue/queue.h"
#include "connection/connection.h"
#include "endpoint.h"

/* From now on only the steps of kdapl_eps_teardown() change the EP's state */
static void kdapl_teardown_begin(struct kdapl_ep *ep, bool dying)
{
	mutex_lock(&ep->mutex);
	if (dying)
		WRITE_ONCE(ep->dying, true);
	kdapl_cm_end_begin(ep);
	ep->orphaned = true;
	mutex_unlock(&ep->mutex);
}

/* Ends a connection once its QP has been drained, then hides the QP from posts */
static void kdapl_teardown_hide(struct kdapl_ep *ep, unsigned long since)
{
	mutex_lock(&ep->mutex);
	kdapl_cm_end_finish(ep, since);
	if (rcu_access_pointer(ep->fast.qp))
		kdapl_ep_hide_qp(ep);
	mutex_unlock(&ep->mutex);
}

/* Drains what was posted since the first drain, unless the device has kept posts then */
static void kdapl_teardown_drain(struct kdapl_ep *ep)
{
	mutex_lock(&ep->mutex);
	if (ep->teardown.qp && !ep->drain.timed_out && ep->drain.qp_moved)
		kdapl_drain_begin(ep, ep->teardown.qp);
	mutex_unlock(&ep->mutex);
}

static void kdapl_teardown_destroy(struct kdapl_ep *ep, unsigned long since)
{
	mutex_lock(&ep->mutex);
	if (ep->teardown.qp && !ep->drain.timed_out && ep->drain.qp_moved)
		ep->drain.timed_out = kdapl_drain_end(ep, ep->teardown.qp, true, since);
	kdapl_ep_destroy_qp(ep);
	mutex_unlock(&ep->mutex);
}

static void kdapl_teardown_finish(struct kdapl_ep *ep)
{
	mutex_lock(&ep->mutex);
	kdapl_ep_finish_verbs(ep);
	if (ep->teardown.verbs_counted) {
		if (atomic_dec_and_test(&ep->obj.ia->nqps))
			wake_up(&ep->obj.ia->wait);
		kdapl_ia_verbs_put(ep->obj.ia);
	}
	ep->teardown.verbs_counted = false;
	mutex_unlock(&ep->mutex);
}

/*
 * Tears down EPs in phases: ends connections, destroys verbs objects. Each step is taken for all
 * EPs before the next begins. So any number of EPs costs two grace periods, and in each drain the
 * time of the slowest QP. Process context.
 *
 * @eps:   the EPs, by teardown.node; they are being freed or their device is being removed
 * @dying: the EPs are being freed: they were unpublished a grace period ago, and no reference is
 *         left. Otherwise they are referenced, and get their pending events
 */
void kdapl_eps_teardown(struct list_head *eps, bool dying)
{
	unsigned long since;
	struct kdapl_ep *ep;

	if (list_empty(eps))
		return;
	list_for_each_entry(ep, eps, teardown.node)
		kdapl_teardown_begin(ep, dying);
	since = jiffies;
	list_for_each_entry(ep, eps, teardown.node)
		kdapl_teardown_hide(ep, since);
	/* Afterwards no post can reach a QP any more, so the second drain is complete */
	kdapl_wait_grace_period();
	list_for_each_entry(ep, eps, teardown.node)
		kdapl_teardown_drain(ep);
	since = jiffies;
	list_for_each_entry(ep, eps, teardown.node)
		kdapl_teardown_destroy(ep, since);
	/* Wait for running done callbacks, CQ polls and lookups of SRQ buffers */
	kdapl_wait_grace_period();
	list_for_each_entry(ep, eps, teardown.node)
		kdapl_teardown_finish(ep);
}
