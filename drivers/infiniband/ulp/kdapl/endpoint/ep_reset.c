// SPDX-License-Identifier: GPL-2.0
/*
 * dat_ep_reset(): a new QP for a new connection.
 *
 * A QP number is used for one connection attempt: dat_ep_reset() creates a new QP, and
 * publishes it before the old one is drained, so that there is always a QP for receives.
 * Called by Consumers in process context.
 */
#include <linux/export.h>
#include <linux/sched/mm.h>
#include "event/event.h"
#include "post/post.h"
#include "queue/queue.h"
#include "connection/connection.h"
#include "internal.h"

/*
 * Drains and destroys the QP that posts no longer find. Returns false if the device has failed
 * since the caller drained it. Then the EP is DISCONNECTED without a QP. ep->mutex held
 */
static bool kdapl_ep_destroy_old_qp(struct kdapl_ep *ep, struct ib_qp *old)
{
	/* Only later posts are left, so this seldom waits */
	int lost = kdapl_ep_drain(ep, old, true);

	if (ep->cfg.srq)
		kdapl_srq_detach(ep);
	kdapl_ep_free_qp(ep, old);
	if (lost) {
		/* The new QP may have some of the receives: flush them all */
		kdapl_ep_drop_verbs(ep);
		spin_lock_irq(&ep->lock);
		kdapl_ep_enter_disconnected(ep);
		spin_unlock_irq(&ep->lock);
	} else if (ep->cfg.srq) {
		/* The CQ stays in use: wait for the done callbacks that are running now */
		kdapl_wait_grace_period();
	}
	return !lost;
}

/* Installs the new QP, and destroys the old one if any. Returns as above. ep->mutex held */
static bool kdapl_ep_swap_qp(struct kdapl_ep *ep, struct ib_qp *new)
{
	struct ib_qp *old = rcu_dereference_protected(ep->fast.qp, lockdep_is_held(&ep->mutex));

	/*
	 * The state first, and a grace period before the QP: a send that saw
	 * DISCONNECTED must not meet the new QP, which would refuse it.
	 */
	spin_lock_irq(&ep->lock);
	kdapl_ep_set_state(ep, DAT_EP_STATE_UNCONNECTED);
	spin_unlock_irq(&ep->lock);
	kdapl_wait_grace_period();
	rcu_assign_pointer(ep->fast.qp, new);
	kdapl_wait_grace_period();
	if (old && !kdapl_ep_destroy_old_qp(ep, old))
		return false;
	if (ep->cfg.srq)
		kdapl_srq_attach(ep, new);
	ep->drain.qp_left_init = false;
	reinit_completion(&ep->drain.last_wqe);
	kdapl_ep_take_back(ep);

	/* Not before: what the old QP flushed was an event, not to be parked */
	spin_lock_irq(&ep->lock);
	WRITE_ONCE(ep->fast.slow_path, ep->fast.slow_path | KDAPL_EP_PARK);
	ep->drain.qp_moved = false;
	spin_unlock_irq(&ep->lock);
	return true;
}

/* Replaces a CQ that was freed together with a QP that did not flush. ep->mutex held */
static int kdapl_ep_renew_cq(struct kdapl_ep *ep)
{
	struct kdapl_cq *cq;

	if (ep->queue.cq)
		return 0;
	cq = kdapl_cq_get(ep, ep->cfg.pz->pd->device);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ep->queue.cq = cq;
	return 0;
}

static DAT_RETURN kdapl_ep_reset(struct kdapl_ep *ep)
{
	struct ib_qp *old = rcu_dereference_protected(ep->fast.qp, lockdep_is_held(&ep->mutex));
	struct ib_qp *new;
	int ret;

	lockdep_assert_held(&ep->mutex);
	if (ep->dying)
		return KDAPL_BAD_HANDLE(EP);
	if (ep->orphaned)
		return KDAPL_NO_RESOURCE(DEVICE);
	if (ep->state == DAT_EP_STATE_UNCONNECTED)
		return DAT_SUCCESS;
	if (ep->state != DAT_EP_STATE_DISCONNECTED)
		return kdapl_ep_state_error(ep->state);
	/* Posts that the device does not return now would be lost with the old QP */
	if (old && kdapl_ep_drain(ep, old, true))
		return KDAPL_NO_RESOURCE(TEP);
	ret = kdapl_ep_renew_cq(ep);
	if (ret)
		return kdapl_ep_build_error(ret);
	new = kdapl_ep_make_qp(ep, ep);
	if (IS_ERR(new))
		return kdapl_ep_build_error(PTR_ERR(new));
	return kdapl_ep_swap_qp(ep, new) ? DAT_SUCCESS : KDAPL_NO_RESOURCE(TEP);
}

/**
 * dat_ep_reset - make a disconnected endpoint ready for a new connection
 * @ep_handle: the EP
 *
 * DISCONNECTED becomes UNCONNECTED. Undelivered events of the EP are removed from their EVDs, and
 * the call waits for an upcall that delivers one. In UNCONNECTED nothing happens, and posted
 * receives stay. A device that failed may keep posts of the EP. Until it returns them, the EP
 * can only be freed. If the device fails during the call, the posts are flushed.
 *
 * Context: process (class P). Legal in an upcall that may sleep, unless an upcall is delivering
 * an event of this EP.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not valid
 * * DAT_INVALID_STATE - any other state; or EP_NOTREADY: not legal in this upcall
 * * DAT_INSUFFICIENT_RESOURCES - no new QP could be created, the device does not return the posts
 *   of the old one, or the device was removed; the EP is DISCONNECTED when the call returns
 */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	struct kdapl_ep_evds evds = {};
	struct kdapl_obj *obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	struct kdapl_ep *ep;
	unsigned int noio;
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_BAD_HANDLE(EP);
	ep = to_kdapl_ep(obj);
	if (!kdapl_ep_may_wait(ep)) {
		kdapl_obj_put(obj);
		return KDAPL_BAD_STATE(EP_NOTREADY);
	}
	/* The way back to a connection that pages may wait to be written over */
	noio = memalloc_noio_save();
	mutex_lock(&ep->mutex);
	ret = kdapl_ep_reset(ep);
	/* Also in UNCONNECTED: another reset may still be waiting for an upcall */
	if (ret == DAT_SUCCESS)
		kdapl_ep_get_evds(ep, &evds);
	mutex_unlock(&ep->mutex);
	memalloc_noio_restore(noio);
	kdapl_obj_put(obj);
	kdapl_ep_wait_upcalls(&evds, ep);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_reset);
