// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher of IP addresses: finds out whether the address of an IA was lost, moved to
 * another port, or exists again.
 *
 * Owns the notifiers of addresses and net devices, which run in any context, and the work item
 * that they schedule. It checks the address of every IA. ib_client.c also schedules it, when a
 * device reports that a GID table has changed.
 *
 * The notifiers record each deleted address, because it may exist again when the work runs. A bond
 * that fails over deletes no address: the core removes the GIDs of its addresses and adds them
 * again.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include "device/device.h"
#include "internal.h"

/*
 * Moves an IA to another port of the device if its address leads there now, because a bond over the
 * ports has failed over. Returns true if the IA moved. kdapl_device_mutex held.
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

/* Checks whether the IA's address was lost, moved, or exists again. Returns as above */
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
 * @ipoib: addresses of IPoIB devices changed
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
/* Bit 0: addresses of IPoIB devices changed */
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
 * device reported a GID change or whose address was deleted. Any context.
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
 * A bond of IPoIB devices moved to another port, or an IPoIB device has a new
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
