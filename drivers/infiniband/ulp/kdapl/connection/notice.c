// SPDX-License-Identifier: GPL-2.0
/*
 * Disconnects that cannot be sent yet: the link of their port is down, or their address
 * was deleted, but its GID was not.
 *
 * The connection manager sends one disconnect request for an id. If that fails
 * (there is no route while the link is down), the id goes to TIMEWAIT, and no
 * call of rdma_cm can reach the peer any more: a second rdma_disconnect()
 * returns 0 and sends nothing. On rxe a failed send even disables QP 1. So we
 * send no disconnect while the port is not active. Its id leaves the EP, which
 * may then be reset or freed, and waits on a list of the device. When the port
 * is active again we send the request, and the connection manager repeats it
 * for 77 seconds if the peer does not answer.
 *
 * The core deletes the GID of a deleted address in a work item. Until
 * then the CM would send from an address that does not exist. After that it has no
 * GID to send from, and returns an error that changes nothing else.
 *
 * Owns the ids on kdapl_device.notices until they are destroyed: when the CM
 * has an answer, when KDAPL_NOTICE_SENT_MS have passed, or when the device is
 * removed. Called in process context; the callback by rdma_cm.
 */
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include "device/device.h"
#include "internal.h"

/*
 * Interval at which the list is checked while a notice waits. A port that becomes
 * active raises an event, but a VLAN device that comes up on an active port does
 * not, and neither does the deletion of a GID.
 */
#define KDAPL_NOTICE_CHECK_MS	1000
/* By then the CM has given up: it sends at most 16 requests, 4.3 seconds apart */
#define KDAPL_NOTICE_SENT_MS	100000

/*
 * Can a packet leave? The core updates the cached port state from a work item, so
 * it lags behind the link; the net device of a RoCE port is up to date.
 */
static bool kdapl_notice_port_is_up(struct ib_device *ibdev, u32 port, const struct rdma_cm_id *id)
{
	const struct ib_gid_attr *attr = id->route.addr.dev_addr.sgid_attr;
	const struct net_device *ndev;
	enum ib_port_state state;
	bool up = true;

	if (ib_get_cached_port_state(ibdev, port, &state) || state != IB_PORT_ACTIVE)
		return false;
	if (!attr || !rdma_protocol_roce(ibdev, port))
		return true;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	/* An id without its GID will never be able to send, so do not wait for that */
	if (!IS_ERR(ndev))
		up = netif_running(ndev) && netif_carrier_ok(ndev) &&
		     kdapl_addr_on_netdev(ibdev, ndev, &id->route.addr.src_addr);
	rcu_read_unlock();
	return up;
}

/* Any event except a change of address means that the CM is done with the id */
static int kdapl_notice_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_notice *notice = id->context;

	if (event->event == RDMA_CM_EVENT_ADDR_CHANGE)
		return 0;
	WRITE_ONCE(notice->over, true);
	kdapl_notice_schedule(notice->dev);
	return 0;
}

/* Puts the id on the list of the device. False: out of memory, nothing has changed */
static bool kdapl_notice_add(struct kdapl_device *dev, u32 port, struct rdma_cm_id *id)
{
	struct kdapl_notice *notice = kzalloc(sizeof(*notice), GFP_NOIO);

	if (!notice)
		return false;
	notice->dev = dev;
	notice->id = id;
	notice->port = port;
	/* The lock waits for a running callback; the next one calls our handler */
	rdma_lock_handler(id);
	id->context = notice;
	id->event_handler = kdapl_notice_handler;
	rdma_unlock_handler(id);
	spin_lock_irq(&dev->notice_lock);
	list_add_tail(&notice->node, &dev->notices);
	spin_unlock_irq(&dev->notice_lock);
	/* Check at once: the port may have become active meanwhile */
	kdapl_notice_schedule(dev);
	return true;
}

/**
 * kdapl_notice_send - notify the peer of an EP that the connection has ended
 * @ep: the EP, with its QP in ERROR and the id of a connection. If nothing can be
 *      sent at the moment, the EP loses its id, so that it can be reset or freed
 *
 * Context: process, ep->mutex held.
 */
void kdapl_notice_send(struct kdapl_ep *ep)
{
	struct kdapl_ia *ia = ep->obj.ia;
	/* The IA may have moved to another port meanwhile, so prefer the port of the id */
	u32 port = ep->cm_id->port_num ?: ia->port;

	lockdep_assert_held(&ep->mutex);
	/* A device that is being removed will not come back: try at once */
	if (!READ_ONCE(ia->orphaned) && !kdapl_notice_port_is_up(ia->ibdev, port, ep->cm_id) &&
	    kdapl_notice_add(ia->dev, port, ep->cm_id))
		ep->cm_id = NULL;
	else
		rdma_disconnect(ep->cm_id);
}

/* Sends a notice if the port is active, and moves a finished one to @over */
static void kdapl_notice_check(struct kdapl_device *dev, struct kdapl_notice *notice,
			       struct list_head *over)
{
	if (!notice->sent && kdapl_notice_port_is_up(dev->ibdev, notice->port, notice->id)) {
		notice->sent = true;
		notice->until = jiffies + kdapl_timeout_ms(KDAPL_NOTICE_SENT_MS);
		rdma_disconnect(notice->id);
	}
	if (READ_ONCE(notice->over) || (notice->sent && time_after(jiffies, notice->until)))
		list_move(&notice->node, over);
}

static void kdapl_notice_destroy(struct list_head *over)
{
	struct kdapl_notice *notice, *next;

	list_for_each_entry_safe(notice, next, over, node) {
		/* No callback after this */
		rdma_destroy_id(notice->id);
		kfree(notice);
	}
}

/* While the device exists, nothing else takes notices off the list */
static void kdapl_notice_work(struct work_struct *work)
{
	struct kdapl_device *dev = container_of(to_delayed_work(work), struct kdapl_device,
						notice_work);
	struct kdapl_notice *notice, *next;
	LIST_HEAD(waiting);
	LIST_HEAD(over);

	spin_lock_irq(&dev->notice_lock);
	list_splice_init(&dev->notices, &waiting);
	spin_unlock_irq(&dev->notice_lock);
	list_for_each_entry_safe(notice, next, &waiting, node)
		kdapl_notice_check(dev, notice, &over);
	spin_lock_irq(&dev->notice_lock);
	list_splice(&waiting, &dev->notices);
	if (!list_empty(&dev->notices))
		queue_delayed_work(kdapl_wq, &dev->notice_work,
				   msecs_to_jiffies(KDAPL_NOTICE_CHECK_MS));
	spin_unlock_irq(&dev->notice_lock);
	kdapl_notice_destroy(&over);
}

/**
 * kdapl_notice_schedule - schedule a check of the notices of a device
 * @dev: the device
 *
 * Context: any.
 */
void kdapl_notice_schedule(struct kdapl_device *dev)
{
	mod_delayed_work(kdapl_wq, &dev->notice_work, 0);
}

/**
 * kdapl_notice_setup - prepare the notices of a new device
 * @dev: the device
 *
 * Context: any.
 */
void kdapl_notice_setup(struct kdapl_device *dev)
{
	spin_lock_init(&dev->notice_lock);
	INIT_LIST_HEAD(&dev->notices);
	INIT_DELAYED_WORK(&dev->notice_work, kdapl_notice_work);
}

/**
 * kdapl_notice_drop_all - the device is leaving: destroy the ids that wait
 * @dev: the device, without IAs and without an event handler
 *
 * Context: process.
 */
void kdapl_notice_drop_all(struct kdapl_device *dev)
{
	LIST_HEAD(left);

	cancel_delayed_work_sync(&dev->notice_work);
	/* Until its id is destroyed a callback may start the work: it must find nothing */
	spin_lock_irq(&dev->notice_lock);
	list_splice_init(&dev->notices, &left);
	spin_unlock_irq(&dev->notice_lock);
	kdapl_notice_destroy(&left);
	cancel_delayed_work_sync(&dev->notice_work);
}
