// SPDX-License-Identifier: GPL-2.0
/*
 * Keepalive: detects that the peer of an idle connection has died.
 *
 * An idle EP does not notice the death of its peer: the transport only detects
 * requests that the peer does not acknowledge. With kdapl.keepalive_ms an EP that
 * has seen no completion for that time sends its peer an RDMA write of zero bytes:
 * the marker of drain.c, for which every send queue reserves an entry. If the peer
 * does not answer, the marker fails after the transport's retries and breaks the
 * EP like any other request.
 *
 * The keepalive adds nothing to the fast path. Each tick counts the slots that were returned and
 * those that completed, and compares the sum with that of the last tick.
 *
 * Called in process context by the connection work and by the creation of an EP.
 */
#include "post/post.h"
#include "internal.h"

/*
 * Each slot counts how often it was put back, which adds two here, and a slot in
 * DONE adds one. So the completion (POSTED to DONE) and the release (DONE to FREE)
 * each raise the sum by one.
 */
static u64 kdapl_keepalive_sum(const struct kdapl_pool *pool)
{
	const struct kdapl_slot *slot;
	u64 sum = 0;
	u32 i;

	for (i = 0; i < pool->depth; i++) {
		slot = kdapl_pool_slot(pool, i);
		sum += 2 * (READ_ONCE(slot->word) >> 32);
		sum += READ_ONCE(slot->ev.state) == KDAPL_SLOT_DONE;
	}
	return sum;
}

/* Differs from the value of the last tick if anything has completed */
static u64 kdapl_keepalive_progress(struct kdapl_ep *ep)
{
	return kdapl_keepalive_sum(&ep->sq.pool) + kdapl_keepalive_sum(&ep->rq);
}

static void kdapl_keepalive_work(struct work_struct *work)
{
	struct kdapl_ep *ep = container_of(to_delayed_work(work), struct kdapl_ep, conn.keepalive);
	u64 progress;

	mutex_lock(&ep->mutex);
	/* dat_ep_modify() may have turned it off since an earlier connection */
	if (ep->cfg.named.keepalive_ms && READ_ONCE(ep->state) == DAT_EP_STATE_CONNECTED &&
	    !ep->dying && !ep->orphaned) {
		progress = kdapl_keepalive_progress(ep);
		if (progress == ep->conn.keepalive_seen)
			kdapl_ep_post_probe(ep);
		ep->conn.keepalive_seen = progress;
		queue_delayed_work(kdapl_wq, &ep->conn.keepalive,
				   msecs_to_jiffies(ep->cfg.named.keepalive_ms));
	}
	mutex_unlock(&ep->mutex);
}

/* An EP has become CONNECTED. Process context, ep->mutex held */
void kdapl_keepalive_start(struct kdapl_ep *ep)
{
	int interval = ep->cfg.named.keepalive_ms;

	if (!interval)
		return;
	ep->conn.keepalive_seen = kdapl_keepalive_progress(ep);
	/* The tick of an earlier connection may still be due */
	mod_delayed_work(kdapl_wq, &ep->conn.keepalive, msecs_to_jiffies(interval));
}

/* Prepares the keepalive of a new EP. Any context */
void kdapl_keepalive_setup(struct kdapl_ep *ep)
{
	INIT_DELAYED_WORK(&ep->conn.keepalive, kdapl_keepalive_work);
}
