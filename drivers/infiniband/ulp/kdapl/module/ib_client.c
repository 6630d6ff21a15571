// SPDX-License-Identifier: GPL-2.0
/*
 * What kDAPL learns from the kernel: RDMA devices are added, report events and are removed,
 * and IP addresses change.
 *
 * Owns the client of the RDMA core, the handlers of device events, and the notifiers of
 * addresses and net devices with the watcher that they schedule. The RDMA core calls add and
 * remove in process context; event handlers and notifiers run in any context.
 *
 * The core calls remove() before that of rdma_cm, because kDAPL registers later, and while the
 * device still works. remove() orphans every IA, and returns when kDAPL has no verbs objects left:
 * after an early return the core would oops. No reference to the device is held after that.
 *
 * The watcher checks the address of every IA. The kernel's address and net device notifiers
 * schedule it, and so does the device's event that a GID table has changed. The notifiers record
 * each deleted address, because it may exist again when the watcher runs. A bond that fails over
 * deletes no address: the core removes the GIDs of its addresses and adds them again.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include "device/device.h"
#include "connection/connection.h"
#include "internal.h"

/*
 * Does the IA's address lead to another port of the device? Then a bond over the
 * ports has failed over, and the IA follows it. kdapl_device_mutex held.
 */
static bool kdapl_device_follow(struct kdapl_device *dev, struct kdapl_ia *ia)
{
	u32 p;

	rdma_for_each_port(dev->ibdev, p) {
		if (p == ia->port || !kdapl_device_port_usable(dev->ibdev, p) ||
		    !kdapl_addr_on_port(dev->ibdev, p, &ia->addr, ia->net))
			continue;
		pr_notice_ratelimited("%s: address %pISc has moved to port %u\n",
				      ia->name, &ia->addr, p);
		WRITE_ONCE(ia->port, p);
		return true;
	}
	return false;
}

static bool kdapl_device_deleted(const struct kdapl_ia *ia, struct llist_node *gone)
{
	const struct kdapl_addr_deleted *del;

	llist_for_each_entry(del, gone, node)
		if (kdapl_addr_was_deleted(del, ia->dev->ibdev, ia->port, &ia->addr, ia->net))
			return true;
	return false;
}

/* Returns true if the address must be checked again later. kdapl_device_mutex held */
static bool kdapl_device_addr_deleted(struct kdapl_ia *ia)
{
	/* The GID may still exist, or exist again, so check the address once more later */
	ia->addr_missed = true;
	ia->addr_missed_at = jiffies;
	kdapl_ia_address_lost(ia);
	return true;
}

/* Checks whether the IA's address was lost, has moved, or exists again. Returns as above */
static bool kdapl_device_check_addr(struct kdapl_device *dev, struct kdapl_ia *ia)
{
	if (kdapl_addr_on_port(dev->ibdev, ia->port, &ia->addr, ia->net) ||
	    kdapl_device_follow(dev, ia)) {
		ia->addr_missed = false;
		kdapl_ia_address_moved(ia);
		return false;
	}
	if (!ia->addr_missed)
		ia->addr_missed_at = jiffies;
	ia->addr_missed = true;
	/* Another event may run the watcher early, which must not shorten the grace time */
	if (rdma_protocol_roce(dev->ibdev, ia->port) &&
	    time_before(jiffies, ia->addr_missed_at + msecs_to_jiffies(KDAPL_ADDR_GRACE_MS)))
		return true;
	kdapl_ia_address_lost(ia);
	return false;
}

/*
 * Checks the addresses of all IAs after a change. Returns true if the caller must call again soon.
 * Process context.
 *
 * @gone:  addresses that were deleted (struct kdapl_addr_deleted), or NULL
 * @ipoib: addresses of IPoIB devices have changed
 */
bool kdapl_device_check_addrs(struct llist_node *gone, bool ipoib)
{
	struct kdapl_device *dev;
	struct kdapl_ia *ia;
	bool gid, again = false;

	mutex_lock(&kdapl_device_mutex);
	list_for_each_entry(dev, &kdapl_devices, node) {
		gid = test_and_clear_bit(0, &dev->gid_changed);
		list_for_each_entry(ia, &dev->ias, dev_node) {
			if (kdapl_device_deleted(ia, gone))
				again |= kdapl_device_addr_deleted(ia);
			else if (gid || ia->addr_missed ||
				 (ipoib && !rdma_protocol_roce(dev->ibdev, ia->port)))
				again |= kdapl_device_check_addr(dev, ia);
		}
	}
	mutex_unlock(&kdapl_device_mutex);
	return again;
}

/* Deleted addresses that the watcher has not handled yet */
static LLIST_HEAD(kdapl_addr_gone);
/* Bit 0: addresses of IPoIB devices have changed */
static unsigned long kdapl_addr_ipoib;

static void kdapl_addr_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(kdapl_addr_work, kdapl_addr_work_fn);

static void kdapl_addr_work_fn(struct work_struct *work)
{
	struct llist_node *gone = llist_del_all(&kdapl_addr_gone);
	struct kdapl_addr_deleted *del, *next;

	if (kdapl_device_check_addrs(gone, test_and_clear_bit(0, &kdapl_addr_ipoib)))
		queue_delayed_work(kdapl_wq, &kdapl_addr_work,
				   msecs_to_jiffies(KDAPL_ADDR_GRACE_MS));
	llist_for_each_entry_safe(del, next, gone, node)
		kfree(del);
}

/*
 * Schedules the watcher. @ipoib: check all IAs on InfiniBand ports; otherwise only the IAs whose
 * device has reported a GID change or whose address was deleted. Any context.
 */
void kdapl_addr_changed(bool ipoib)
{
	if (ipoib)
		set_bit(0, &kdapl_addr_ipoib);
	mod_delayed_work(kdapl_wq, &kdapl_addr_work, 0);
}

/* A net device that leaves its namespace loses its addresses first */
static int kdapl_addr_event(const struct net_device *ndev, unsigned long event,
			    const struct in6_addr *addr)
{
	struct kdapl_addr_deleted *del;

	/* Between the deletion and the read of the count; pairs with kdapl_ia_open() */
	smp_mb();
	if (!atomic_read(&kdapl_open_ias))
		return NOTIFY_DONE;
	if (event == NETDEV_DOWN) {
		del = kzalloc(sizeof(*del), GFP_ATOMIC);
		/* Out of memory, the watcher notices only an address that stays away */
		if (del) {
			del->addr = *addr;
			del->ifindex = ndev->ifindex;
			del->net = dev_net(ndev);
			llist_add(&del->node, &kdapl_addr_gone);
		}
	}
	if (event == NETDEV_DOWN || ndev->type == ARPHRD_INFINIBAND)
		kdapl_addr_changed(ndev->type == ARPHRD_INFINIBAND);
	return NOTIFY_DONE;
}

static int kdapl_addr_event4(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct in_ifaddr *ifa = data;
	struct in6_addr addr;

	ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
	return kdapl_addr_event(ifa->ifa_dev->dev, event, &addr);
}

static int kdapl_addr_event6(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct inet6_ifaddr *ifa = data;

	return kdapl_addr_event(ifa->idev->dev, event, &ifa->addr);
}

/*
 * A bond of IPoIB devices has moved to another port, or an IPoIB device has a new
 * hardware address. Changes of Ethernet devices show up in the GID table.
 */
static int kdapl_addr_event_netdev(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct net_device *ndev = netdev_notifier_info_to_dev(data);

	if ((event == NETDEV_BONDING_FAILOVER || event == NETDEV_CHANGEADDR) &&
	    ndev->type == ARPHRD_INFINIBAND)
		kdapl_addr_changed(true);
	return NOTIFY_DONE;
}

static struct notifier_block kdapl_addr_nb4 = { .notifier_call = kdapl_addr_event4 };
static struct notifier_block kdapl_addr_nb6 = { .notifier_call = kdapl_addr_event6 };
static struct notifier_block kdapl_addr_nb_netdev = { .notifier_call = kdapl_addr_event_netdev };

/*
 * Registers for changes of addresses. Returns 0 or a negative errno. Process context, module load.
 */
int kdapl_addr_init(void)
{
	int ret = register_inetaddr_notifier(&kdapl_addr_nb4);

	if (ret)
		return ret;
	ret = register_inet6addr_notifier(&kdapl_addr_nb6);
	if (ret)
		goto err_unregister_nb4;
	ret = register_netdevice_notifier(&kdapl_addr_nb_netdev);
	if (ret)
		goto err_unregister_nb6;
	return 0;

err_unregister_nb6:
	unregister_inet6addr_notifier(&kdapl_addr_nb6);
err_unregister_nb4:
	unregister_inetaddr_notifier(&kdapl_addr_nb4);
	return ret;
}

/*
 * Undoes kdapl_addr_init(). Process context, module unload; no device is left that could raise an
 * event.
 */
void kdapl_addr_exit(void)
{
	unregister_netdevice_notifier(&kdapl_addr_nb_netdev);
	unregister_inet6addr_notifier(&kdapl_addr_nb6);
	unregister_inetaddr_notifier(&kdapl_addr_nb4);
	/* The work may queue itself once more, although no IA is left to check */
	flush_delayed_work(&kdapl_addr_work);
	cancel_delayed_work_sync(&kdapl_addr_work);
}

static void kdapl_device_fatal_work(struct work_struct *work)
{
	struct kdapl_device *dev = container_of(work, struct kdapl_device, fatal_work);
	struct kdapl_ia *ia;

	mutex_lock(&kdapl_device_mutex);
	list_for_each_entry(ia, &dev->ias, dev_node)
		kdapl_ia_device_failed(ia);
	mutex_unlock(&kdapl_device_mutex);
}

/* Drivers call it with locks of their own held, so it only notes the event */
static void kdapl_device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct kdapl_device *dev = container_of(handler, struct kdapl_device, handler);

	switch (event->event) {
	case IB_EVENT_GID_CHANGE:
		set_bit(0, &dev->gid_changed);
		kdapl_addr_changed(false);
		break;
	case IB_EVENT_PORT_ACTIVE:
		kdapl_notice_schedule(dev);
		break;
	case IB_EVENT_DEVICE_FATAL:
		queue_work(kdapl_wq, &dev->fatal_work);
		break;
	default:
		break;
	}
}

/*
 * Allocates the description of a device, without listing it. Returns the description, or NULL if
 * there is no memory. Process context.
 */
struct kdapl_device *kdapl_device_alloc(struct ib_device *ibdev)
{
	struct kdapl_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->ibdev = ibdev;
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	INIT_LIST_HEAD(&dev->node);
	INIT_LIST_HEAD(&dev->ias);
	init_waitqueue_head(&dev->wait);
	INIT_WORK(&dev->fatal_work, kdapl_device_fatal_work);
	xa_init(&dev->keys);
	kdapl_notice_setup(dev);
	kdapl_device_fill_limits(dev);
	return dev;
}

/* Undoes kdapl_device_alloc(). @dev: the description; no IA is open on it. Process context */
void kdapl_device_free(struct kdapl_device *dev)
{
	xa_destroy(&dev->keys);
	kfree(dev);
}

static struct kdapl_device *kdapl_device_of(struct ib_device *ibdev)
{
	struct kdapl_device *dev;

	list_for_each_entry(dev, &kdapl_devices, node)
		if (dev->ibdev == ibdev)
			return dev;
	return NULL;
}

/*
 * Copies the name of a device. The core frees the old name. It excludes addition, removal and
 * further renames during this call, but not the calls that look for a name. Process context.
 */
void kdapl_device_renamed(struct ib_device *ibdev, void *client_data)
{
	mutex_lock(&kdapl_device_mutex);
	strscpy(kdapl_device_of(ibdev)->name, dev_name(&ibdev->dev), IB_DEVICE_NAME_MAX);
	kdapl_arrival_changed();
	mutex_unlock(&kdapl_device_mutex);
}

static int kdapl_device_add(struct ib_device *ibdev)
{
	struct kdapl_device *dev;
	bool usable = false;
	u32 port;

	rdma_for_each_port(ibdev, port)
		usable |= kdapl_device_port_usable(ibdev, port);
	if (!usable)
		return -EOPNOTSUPP;
	dev = kdapl_device_alloc(ibdev);
	if (!dev)
		return -ENOMEM;
	if (kdapl_arrival_add(dev)) {
		kdapl_device_free(dev);
		return -ENOMEM;
	}
	INIT_IB_EVENT_HANDLER(&dev->handler, ibdev, kdapl_device_event);
	ib_register_event_handler(&dev->handler);
	mutex_lock(&kdapl_device_mutex);
	list_add_tail(&dev->node, &kdapl_devices);
	kdapl_arrival_changed();
	mutex_unlock(&kdapl_device_mutex);
	return 0;
}

/* Returns an IA on the device to which there is a reference; kdapl_device_mutex held */
static struct kdapl_ia *kdapl_device_next_ia(struct kdapl_device *dev)
{
	struct kdapl_ia *ia;

	list_for_each_entry(ia, &dev->ias, dev_node)
		if (kdapl_obj_pin(&ia->obj))
			return ia;
	return NULL;
}

static void kdapl_device_remove(struct ib_device *ibdev, void *client_data)
{
	struct kdapl_device *dev;
	struct kdapl_ia *ia;

	mutex_lock(&kdapl_device_mutex);
	dev = kdapl_device_of(ibdev);
	list_del_init(&dev->node);
	kdapl_arrival_remove(dev);
	mutex_unlock(&kdapl_device_mutex);

	/* From here on no IA can be opened on it */
	ib_unregister_event_handler(&dev->handler);
	cancel_work_sync(&dev->fatal_work);

	mutex_lock(&kdapl_device_mutex);
	while ((ia = kdapl_device_next_ia(dev))) {
		mutex_unlock(&kdapl_device_mutex);
		kdapl_ia_remove(ia);
		kdapl_obj_put(&ia->obj);
		mutex_lock(&kdapl_device_mutex);
	}
	mutex_unlock(&kdapl_device_mutex);

	/* Wait for the IAs that dat_ia_close() is destroying */
	wait_event(dev->wait, list_empty(&dev->ias));
	/* No EP is left that could add a notice to the list */
	kdapl_notice_flush(dev);
	/* The code that has emptied the list no longer uses the device */
	mutex_lock(&kdapl_device_mutex);
	mutex_unlock(&kdapl_device_mutex);
	kdapl_device_free(dev);
}

static struct ib_client kdapl_client = {
	.name = "kdapl",
	.add = kdapl_device_add,
	.remove = kdapl_device_remove,
	.rename = kdapl_device_renamed,
};

/* Registers with the RDMA core. Returns 0 or a negative errno. Process context, module load */
int kdapl_device_init(void)
{
	int ret = kdapl_addr_init();

	if (ret)
		return ret;
	ret = ib_register_client(&kdapl_client);
	if (ret) {
		kdapl_arrival_exit();
		kdapl_addr_exit();
	}
	return ret;
}

/*
 * Undoes kdapl_device_init(). IAs that are still open belong to Consumers that were unloaded
 * without closing them. The function closes them. Process context, module unload.
 */
void kdapl_device_exit(void)
{
	kdapl_ia_destroy_of_owner(NULL);
	ib_unregister_client(&kdapl_client);
	kdapl_arrival_exit();
	/* Last, because device events schedule the watcher */
	kdapl_addr_exit();
}
