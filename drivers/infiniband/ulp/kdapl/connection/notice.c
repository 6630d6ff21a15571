// SPDX-License-Identifier: GPL-2.0
/*
 * The ids of connections and attempts that ended.
 *
 * The id of a connection leaves its EP when the connection has ended, so that the EP can be reset
 * or freed at once. A disconnect request may be lost. The connection manager repeats it only while
 * the id exists. So the id waits on a list of the device until the connection manager has an answer
 * or has given up. The id of an attempt that failed is only destroyed, which notifies the peer.
 * rdma_destroy_id() may take a minute in rare cases, so each id has its own work item, which holds
 * no lock during this call.
 *
 * A request that cannot be sent is lost, so the id also waits while the port is down or its address
 * is being deleted; kdapl-locking.rst (An endpoint) has the reasons.
 *
 * Owns the ids on kdapl_device.notices until they are destroyed: when the CM has an answer, when
 * KDAPL_NOTICE_SENT_MS have passed, or soon after the device was removed or the IA was closed
 * (kdapl_notice_hurry()). Called in process context; the callback by rdma_cm.
 */
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include "device/device.h"
#include "internal.h"

/*
 * Interval at which a notice that was not sent is checked. A port that becomes
 * active raises an event, but a VLAN device that comes up on an active port does
 * not, and neither does the deletion of a GID.
 */
#define KDAPL_NOTICE_CHECK_MS	1000
/*
 * The CM has given up after this time. It sends 16 requests, and waits 4.1 seconds after each: 66
 * seconds in total. After those of the side that has connected, it also waits for twice the
 * lifetime of a packet, which is 0.25 seconds on RoCE (74 seconds in total) and 1 second on many
 * InfiniBand paths (98 seconds).
 */
#define KDAPL_NOTICE_SENT_MS	100000

/* The number of ids of a device above which the request that was sent first is given up */
unsigned int kdapl_notice_max = 1024;

/* How long an id may outlive its IA or device: long enough for one retry */
unsigned int kdapl_notice_leave_ms = 5000;

/*
 * Returns true if a packet can leave. The core updates the cached port state from a work item, so
 * it lags behind the link; the net device of a RoCE port is up to date.
 */
static bool kdapl_notice_port_is_up(struct ib_device *ibdev, const struct rdma_cm_id *id)
{
	const struct ib_gid_attr *attr = id->route.addr.dev_addr.sgid_attr;
	const struct net_device *ndev;
	enum ib_port_state state;
	bool up;

	if (ib_get_cached_port_state(ibdev, id->port_num, &state) || state != IB_PORT_ACTIVE)
		return false;
	if (!attr || !rdma_protocol_roce(ibdev, id->port_num))
		return true;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	up = !IS_ERR(ndev) && netif_running(ndev) && netif_carrier_ok(ndev) &&
	     kdapl_addr_on_netdev(ibdev, ndev, &id->route.addr.src_addr);
	rcu_read_unlock();
	return up;
}

/*
 * Any event means that the CM is done with the id, except a change of an address, or
 * of the peer's hardware address, which rdma_cm reports as UNREACHABLE.
 */
static int kdapl_notice_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_notice *notice = id->context;

	if (event->event == RDMA_CM_EVENT_ADDR_CHANGE ||
	    event->event == RDMA_CM_EVENT_UNREACHABLE)
		return 0;
	spin_lock_irq(&notice->dev->notice_lock);
	notice->over = true;
	if (!list_empty(&notice->node))
		mod_delayed_work(kdapl_notice_wq, &notice->work, 0);
	spin_unlock_irq(&notice->dev->notice_lock);
	return 0;
}

/* Gives up a notice after at most @ms. notice_lock held */
static void kdapl_notice_limit(struct kdapl_notice *notice, unsigned int ms)
{
	unsigned long until = jiffies + kdapl_timeout_ms(ms);

	if (time_before(until, notice->until))
		notice->until = until;
}

/* Sends the disconnect if it was not sent before and can be sent now */
static void kdapl_notice_try(struct kdapl_notice *notice)
{
	if (notice->sent || READ_ONCE(notice->over) ||
	    !kdapl_notice_port_is_up(notice->dev->ibdev, notice->id))
		return;
	spin_lock_irq(&notice->dev->notice_lock);
	kdapl_notice_limit(notice, KDAPL_NOTICE_SENT_MS);
	spin_unlock_irq(&notice->dev->notice_lock);
	notice->sent = true;
	rdma_disconnect(notice->id);
}

/* Jiffies until the next look at a notice; 0 if its id can be destroyed. notice_lock held */
static unsigned long kdapl_notice_left(const struct kdapl_notice *notice)
{
	long left = notice->until - jiffies;

	if (notice->over || left < 0)
		return 0;
	/* A device that is being removed will not come back, nor will a GID that was deleted */
	if (!notice->sent && (notice->dev->leaving || kdapl_addr_unbound(notice->id)))
		return 0;
	return notice->sent ? left : min_t(long, left, msecs_to_jiffies(KDAPL_NOTICE_CHECK_MS));
}

static void kdapl_notice_work(struct work_struct *work)
{
	struct kdapl_notice *notice = container_of(to_delayed_work(work), struct kdapl_notice,
						   work);
	struct kdapl_device *dev = notice->dev;
	unsigned long left;

	kdapl_notice_try(notice);
	spin_lock_irq(&dev->notice_lock);
	left = kdapl_notice_left(notice);
	if (left)
		queue_delayed_work(kdapl_notice_wq, &notice->work, left);
	spin_unlock_irq(&dev->notice_lock);
	if (left)
		return;
	/* No callback after this */
	rdma_destroy_id(notice->id);
	spin_lock_irq(&dev->notice_lock);
	list_del(&notice->node);
	dev->nnotices--;
	cancel_delayed_work(&notice->work);
	/* Under the lock, because the device may be freed after its last notice */
	wake_up(&dev->wait);
	spin_unlock_irq(&dev->notice_lock);
	kfree(notice);
}

/*
 * A peer that answers no disconnect must not use up memory by connecting again and again: gives up
 * the request that was sent first. notice_lock held
 */
static void kdapl_notice_give_up_first(struct kdapl_device *dev)
{
	struct kdapl_notice *notice;

	list_for_each_entry(notice, &dev->notices, node) {
		if (notice->over || !notice->sent)
			continue;
		notice->over = true;
		mod_delayed_work(kdapl_notice_wq, &notice->work, 0);
		return;
	}
}

/**
 * kdapl_notice_reserve - make the notice of an EP's next id, so that kdapl_notice_end() cannot fail
 * @ep: the EP; nothing happens if it has a notice
 *
 * Context: process, ep->mutex held.
 * Return: 0, or -ENOMEM.
 */
int kdapl_notice_reserve(struct kdapl_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	if (!ep->conn.notice)
		ep->conn.notice = kzalloc(sizeof(*ep->conn.notice), GFP_NOIO);
	return ep->conn.notice ? 0 : -ENOMEM;
}

/**
 * kdapl_notice_end - take the id of a connection or attempt that has ended from its EP
 * @ep:         the EP, which loses its id if it has one, and the notice that it has reserved with
 *              it. None of the id's callbacks runs for the EP afterwards
 * @disconnect: send a disconnect request, as soon as that is possible, and keep the id until
 *              the CM has an answer; otherwise destroy it soon
 *
 * Context: process, ep->mutex held; the device of the IA exists.
 */
void kdapl_notice_end(struct kdapl_ep *ep, bool disconnect)
{
	struct kdapl_device *dev = ep->obj.ia->dev;
	struct rdma_cm_id *id = ep->conn.cm_id;
	struct kdapl_notice *notice = ep->conn.notice;

	lockdep_assert_held(&ep->mutex);
	if (!id)
		return;
	ep->conn.cm_id = NULL;
	ep->conn.notice = NULL;
	INIT_LIST_HEAD(&notice->node);
	INIT_DELAYED_WORK(&notice->work, kdapl_notice_work);
	notice->dev = dev;
	notice->id = id;
	notice->ia = ep->obj.ia;
	notice->until = jiffies + MAX_JIFFY_OFFSET;
	/* The lock waits for a running callback; the next one calls our handler */
	rdma_lock_handler(id);
	notice->over = !disconnect || ep->conn.peer_gone;
	id->context = notice;
	id->event_handler = kdapl_notice_handler;
	rdma_unlock_handler(id);
	kdapl_notice_try(notice);
	spin_lock_irq(&dev->notice_lock);
	list_add_tail(&notice->node, &dev->notices);
	if (++dev->nnotices > kdapl_notice_max)
		kdapl_notice_give_up_first(dev);
	queue_delayed_work(kdapl_notice_wq, &notice->work, kdapl_notice_left(notice));
	spin_unlock_irq(&dev->notice_lock);
}

/* Schedules a check of the notices of a device. Any context */
void kdapl_notice_schedule(struct kdapl_device *dev)
{
	struct kdapl_notice *notice;
	unsigned long flags;

	spin_lock_irqsave(&dev->notice_lock, flags);
	list_for_each_entry(notice, &dev->notices, node)
		mod_delayed_work(kdapl_notice_wq, &notice->work, 0);
	spin_unlock_irqrestore(&dev->notice_lock, flags);
}

/*
 * Gives up the notices of an IA after at most kdapl_notice_leave_ms; of all if @ia is NULL. Called
 * when the IA is closed or the device is removed. Process context.
 */
void kdapl_notice_hurry(struct kdapl_device *dev, const struct kdapl_ia *ia)
{
	struct kdapl_notice *notice;

	spin_lock_irq(&dev->notice_lock);
	list_for_each_entry(notice, &dev->notices, node)
		if (!ia || notice->ia == ia)
			kdapl_notice_limit(notice, kdapl_notice_leave_ms);
	spin_unlock_irq(&dev->notice_lock);
	kdapl_notice_schedule(dev);
}

/* Prepares the notices of a new device. Any context */
void kdapl_notice_setup(struct kdapl_device *dev)
{
	spin_lock_init(&dev->notice_lock);
	INIT_LIST_HEAD(&dev->notices);
}

static bool kdapl_notice_none(struct kdapl_device *dev)
{
	bool none;

	/* Take the lock, because the work that has removed the last notice may still hold it */
	spin_lock_irq(&dev->notice_lock);
	none = list_empty(&dev->notices);
	spin_unlock_irq(&dev->notice_lock);
	return none;
}

/*
 * The device is leaving: destroys the ids that wait. Waits at most kdapl_notice_leave_ms for
 * answers. @dev: the device, without IAs and without an event handler. Process context.
 */
void kdapl_notice_flush(struct kdapl_device *dev)
{
	WRITE_ONCE(dev->leaving, true);
	kdapl_notice_hurry(dev, NULL);
	/*
	 * rdma_destroy_id() waits until the device has completed the messages of the id, and the CM
	 * has sent its last retry of a reply, at most 66 seconds. It never returns if the device
	 * does not complete a message. A timeout here would not help: the core then calls
	 * remove() of rdma_cm, which waits for the same ids. Only the MAD layer could flush the
	 * messages, and its remove() comes later.
	 */
	wait_event(dev->wait, kdapl_notice_none(dev));
}
