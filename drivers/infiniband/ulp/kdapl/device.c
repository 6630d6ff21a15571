// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices: arrival, removal, events, and the names by which they are
 * opened.
 *
 * Owns the list of devices that can serve us, and kdapl_device_mutex, which
 * guards it together with the lists of IAs. Called by the RDMA core (add and
 * remove in process context, events in work) and by ia.c and registry.c.
 *
 * remove() is called before that of rdma_cm, because we registered later, and
 * with the device fully alive. It makes every IA a shell and returns when no
 * verbs object of ours is left: an early return ends in an oops of the core.
 * No reference to the device is held beyond it.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/inet.h>
#include <linux/netdevice.h>
#include <net/if_inet6.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include "kdapl.h"

/* Outermost of our locks */
DEFINE_MUTEX(kdapl_device_mutex);
LIST_HEAD(kdapl_devices);
LIST_HEAD(kdapl_shells);

/* Bits of kdapl_device.events */
#define KDAPL_DEV_GID	0	/* a GID came or went */
#define KDAPL_DEV_FATAL	1	/* the device reports its end */

/* What a registration may span: its length must fit DAT_SEG_LENGTH */
#define KDAPL_MAX_PAGE_LIST	(U32_MAX >> PAGE_SHIFT)

/* ---- addresses of a port ----------------------------------------------- */

/**
 * struct kdapl_addr_search - look for an IP address among those of a port
 * @netdev: name of the only net device that counts; NULL: any
 * @want:   the only address that counts; NULL: any but link-local ones
 * @rank:   of the best one found so far: 0 none, 1 IPv6, 2 IPv4
 * @found:  that one
 */
struct kdapl_addr_search {
	const char *netdev;
	const struct in6_addr *want;
	int rank;
	struct sockaddr_storage found;
};

/* IPv4 addresses in their mapped form, as in a GID */
static void kdapl_addr_to_gid(const struct sockaddr_storage *addr, struct in6_addr *gid)
{
	if (addr->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((struct sockaddr_in *)addr)->sin_addr.s_addr, gid);
	else
		*gid = ((struct sockaddr_in6 *)addr)->sin6_addr;
}

static void kdapl_addr_from_gid(struct sockaddr_storage *addr, const struct in6_addr *gid,
				int ifindex)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *sin = (struct sockaddr_in *)addr;

	memset(addr, 0, sizeof(*addr));
	if (ipv6_addr_v4mapped(gid)) {
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = gid->s6_addr32[3];
		return;
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_addr = *gid;
	if (ipv6_addr_type(gid) & IPV6_ADDR_LINKLOCAL)
		sin6->sin6_scope_id = ifindex;
}

/* The port is reached by @addr on @ndev; RCU */
static void kdapl_addr_offer(struct kdapl_addr_search *s, const struct net_device *ndev,
			     const struct in6_addr *addr)
{
	int rank = ipv6_addr_v4mapped(addr) ? 2 : 1;

	/* rdma_cm serves kernel ids in the initial namespace */
	if (!net_eq(dev_net(ndev), &init_net))
		return;
	if (s->netdev && strcmp(s->netdev, ndev->name))
		return;
	if (s->want ? !ipv6_addr_equal(s->want, addr) :
		      (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL))
		return;
	if (rank <= s->rank)
		return;
	s->rank = rank;
	kdapl_addr_from_gid(&s->found, addr, ndev->ifindex);
}

/* RoCE: the GID table is the list of addresses */
static void kdapl_addr_search_roce(struct kdapl_addr_search *s, struct ib_device *ibdev, u32 port)
{
	int i, n = ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	struct net_device *ndev;

	for (i = 0; i < n; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(attr);
		if (!IS_ERR(ndev))
			kdapl_addr_offer(s, ndev, (const struct in6_addr *)attr->gid.raw);
		rcu_read_unlock();
		rdma_put_gid_attr(attr);
	}
}

/* Does this IPoIB device stand on the port? Its hardware address ends in the GID */
static bool kdapl_ipoib_on_port(const struct net_device *ndev, struct ib_device *ibdev, u32 port)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	if (ndev->type != ARPHRD_INFINIBAND)
		return false;
	memcpy(&gid, ndev->dev_addr + 4, sizeof(gid));
	attr = rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_IB, port, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/* InfiniBand: the addresses of the IPoIB devices on the port */
static void kdapl_addr_search_ib(struct kdapl_addr_search *s, struct ib_device *ibdev, u32 port)
{
	struct inet6_ifaddr *ifa6;
	struct inet6_dev *in6_dev;
	struct in_device *in_dev;
	struct net_device *ndev;
	struct in_ifaddr *ifa;
	struct in6_addr addr;

	rcu_read_lock();
	for_each_netdev_rcu(&init_net, ndev) {
		if (!kdapl_ipoib_on_port(ndev, ibdev, port))
			continue;
		in_dev = __in_dev_get_rcu(ndev);
		if (in_dev) {
			in_dev_for_each_ifa_rcu(ifa, in_dev) {
				ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
				kdapl_addr_offer(s, ndev, &addr);
			}
		}
		in6_dev = __in6_dev_get(ndev);
		if (!in6_dev)
			continue;
		read_lock_bh(&in6_dev->lock);
		list_for_each_entry(ifa6, &in6_dev->addr_list, if_list)
			kdapl_addr_offer(s, ndev, &ifa6->addr);
		read_unlock_bh(&in6_dev->lock);
	}
	rcu_read_unlock();
}

static bool kdapl_addr_search(struct kdapl_addr_search *s, struct ib_device *ibdev, u32 port)
{
	s->rank = 0;
	if (rdma_protocol_roce(ibdev, port))
		kdapl_addr_search_roce(s, ibdev, port);
	else
		kdapl_addr_search_ib(s, ibdev, port);
	return s->rank;
}

/**
 * kdapl_device_has_addr - does an IP address still lead to a port?
 * @ibdev: device, alive
 * @port:  its port
 * @addr:  the address
 *
 * Context: process.
 * Return: true if it does.
 */
bool kdapl_device_has_addr(struct ib_device *ibdev, u32 port, const struct sockaddr_storage *addr)
{
	struct kdapl_addr_search s = {};
	struct in6_addr want;

	kdapl_addr_to_gid(addr, &want);
	s.want = &want;
	return kdapl_addr_search(&s, ibdev, port);
}

/**
 * kdapl_device_gid - GID for a QP that is connected to itself
 * @ibdev: device, alive
 * @port:  its port
 * @addr:  address of the IA
 *
 * Such a QP sends no packet, so that any GID serves when the address has gone.
 * An InfiniBand port has its own at index 0.
 *
 * Context: process.
 * Return: the GID with a reference, or ERR_PTR(-ENOENT).
 */
const struct ib_gid_attr *kdapl_device_gid(struct ib_device *ibdev, u32 port,
					   const struct sockaddr_storage *addr)
{
	int i, n = ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	if (rdma_protocol_roce(ibdev, port)) {
		kdapl_addr_to_gid(addr, (struct in6_addr *)gid.raw);
		attr = rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, port, NULL);
		if (IS_ERR(attr))
			attr = rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_ROCE, port, NULL);
		if (!IS_ERR(attr))
			return attr;
	}
	for (i = 0; i < n; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (!IS_ERR(attr))
			return attr;
	}
	return ERR_PTR(-ENOENT);
}

/* ---- names ------------------------------------------------------------- */

/**
 * kdapl_device_port_usable - can IAs stand on this port?
 * @ibdev: device
 * @port:  number of the port
 *
 * InfiniBand and RoCE ports of devices that register memory by work request.
 *
 * Context: any.
 * Return: true if they can.
 */
bool kdapl_device_port_usable(struct ib_device *ibdev, u32 port)
{
	return rdma_is_port_valid(ibdev, port) && rdma_cap_ib_cm(ibdev, port) &&
	       (ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS);
}

/* The device and port on which a net device has an address; mutex held */
static int kdapl_device_by_netdev(struct kdapl_addr_search *s, struct kdapl_device **out,
				  u32 *port)
{
	struct kdapl_device *dev;
	u32 p;

	list_for_each_entry(dev, &kdapl_devices, node) {
		rdma_for_each_port(dev->ibdev, p) {
			if (!kdapl_device_port_usable(dev->ibdev, p) ||
			    !kdapl_addr_search(s, dev->ibdev, p))
				continue;
			*out = dev;
			*port = p;
			return 0;
		}
	}
	return -ENODEV;
}

static struct kdapl_device *kdapl_device_by_name(const char *name)
{
	struct kdapl_device *dev;

	list_for_each_entry(dev, &kdapl_devices, node)
		if (!strcmp(dev_name(&dev->ibdev->dev), name))
			return dev;
	return NULL;
}

/* "<ibdev>/<port>" or "<ibdev>"; cuts @base at the slash; mutex held */
static int kdapl_device_by_port(char *base, struct kdapl_device **out, u32 *port)
{
	char *slash = strrchr(base, '/');
	struct kdapl_device *dev;

	*port = 1;
	if (slash) {
		*slash = '\0';
		if (kstrtou32(slash + 1, 10, port))
			return -ENODEV;
	}
	dev = kdapl_device_by_name(base);
	if (!dev || !kdapl_device_port_usable(dev->ibdev, *port))
		return -ENODEV;
	*out = dev;
	return 0;
}

/**
 * kdapl_device_resolve - find device, port and address of an IA name
 * @name: `<ibdev>/<port>`, `<ibdev>` (port 1) or the name of a net device,
 *        each with `@<address>` if another than the first address is meant
 * @dev:  takes the device
 * @port: takes the port
 * @addr: takes the address: the one named, or the first IPv4, else the first
 *        IPv6 one that is not link-local
 *
 * Context: process, kdapl_device_mutex held.
 * Return: 0, -ENODEV no usable port has this name, -EADDRNOTAVAIL it is not
 * reached by that address, or by none (@dev and @port are valid then).
 */
int kdapl_device_resolve(const char *name, struct kdapl_device **dev, u32 *port,
			 struct sockaddr_storage *addr)
{
	struct kdapl_addr_search s = {};
	struct sockaddr_storage parsed;
	char base[DAT_NAME_MAX_LENGTH];
	struct in6_addr want;
	char *at;

	if (strscpy(base, name, sizeof(base)) < 0)
		return -ENODEV;
	at = strchr(base, '@');
	if (at) {
		*at = '\0';
		if (inet_pton_with_scope(&init_net, AF_UNSPEC, at + 1, NULL, &parsed))
			return -ENODEV;
		kdapl_addr_to_gid(&parsed, &want);
		s.want = &want;
	}
	if (strchr(base, '/') || kdapl_device_by_name(base)) {
		if (kdapl_device_by_port(base, dev, port))
			return -ENODEV;
		if (!kdapl_addr_search(&s, (*dev)->ibdev, *port))
			return -EADDRNOTAVAIL;
	} else {
		s.netdev = base;
		if (kdapl_device_by_netdev(&s, dev, port))
			return -ENODEV;
	}
	*addr = s.found;
	return 0;
}

/* ---- limits ------------------------------------------------------------ */

/* Queues: what an EP needs with as many receives as requests, see dat_ep_create() */
static void kdapl_limit_queues(struct kdapl_limits *l, const struct ib_device_attr *a)
{
	u32 iov = max3(l->max_iov, l->max_iov_read, l->max_iov_write);

	l->max_qp_wr = max(a->max_qp_wr, 0);
	l->max_cqe = max(a->max_cqe, 0);
	l->max_dto_per_ep = min3((max(l->max_qp_wr, 2U) - KDAPL_SQ_RESERVED) / 2,
				 (max(l->max_cqe, 3U) - KDAPL_CQ_RESERVED) / 3,
				 kdapl_pool_most(iov));
	/* One QP and one CQ each; those of a service QP are not to be had */
	l->max_eps = min3(max(a->max_qp, 1), max(a->max_cq, 1), (int)KDAPL_HANDLE_MAX) - 1;
	l->max_evd_qlen = min_t(u32, l->max_cqe, INT_MAX / sizeof(struct kdapl_ring_event));
	if (l->max_srqs)
		/* Requests of EPs find room in the same CQ */
		l->max_srq_wr = min3((u32)a->max_srq_wr, l->max_cqe / 2,
				     kdapl_pool_most(l->max_iov));
}

static void kdapl_limit_segments(struct kdapl_limits *l, const struct ib_device_attr *a)
{
	int reads = a->max_sge_rd > 0 ? a->max_sge_rd : a->max_send_sge;

	l->max_iov = max(min(a->max_send_sge, a->max_recv_sge), 0);
	l->max_iov_write = max(a->max_send_sge, 0);
	/* They stand in the same queue */
	l->max_iov_read = max(min(reads, a->max_send_sge), 0);
	if (a->max_srq > 0 && a->max_srq_wr > 0 && a->max_srq_sge > 0) {
		l->max_srqs = min_t(u32, a->max_srq, KDAPL_HANDLE_MAX);
		/* There is one attribute for the two kinds of receives */
		l->max_iov = min_t(u32, l->max_iov, a->max_srq_sge);
	}
}

/* The least max_msg_sz of the ports. rxe takes the lock of the net devices for the answer */
static u32 kdapl_limit_port(struct ib_device *ibdev)
{
	struct ib_port_attr port;
	u32 p, most = U32_MAX;

	rdma_for_each_port(ibdev, p) {
		if (kdapl_device_port_usable(ibdev, p) && !ib_query_port(ibdev, p, &port))
			most = min(most, port.max_msg_sz);
	}
	return most;
}

/* Not under a mutex of ours, see kdapl_limit_port() */
static void kdapl_device_fill_limits(struct kdapl_device *dev)
{
	const struct ib_device_attr *a = &dev->ibdev->attrs;
	struct kdapl_limits *l = &dev->limits;
	u64 most = kdapl_limit_port(dev->ibdev);
	u64 pages = a->max_mr_size ? a->max_mr_size >> PAGE_SHIFT : U32_MAX;

	kdapl_limit_segments(l, a);
	kdapl_limit_queues(l, a);
	/* The connection manager carries these two in a byte */
	l->max_rd_atom_in = clamp(a->max_qp_rd_atom, 0, U8_MAX);
	l->max_rd_atom_out = clamp(a->max_qp_init_rd_atom, 0, U8_MAX);
	l->page_list_len = min3((u64)a->max_fast_reg_page_list_len, (u64)KDAPL_MAX_PAGE_LIST,
				pages);
	/* One page less than the list has, so that any offset in a page will do */
	l->max_block = l->page_list_len ? (l->page_list_len - 1) * PAGE_SIZE : 0;
	/* What the segments of one post can hold */
	l->max_message = min(most, (u64)l->max_iov * l->max_block);
	l->max_rdma = min(most, (u64)max(l->max_iov_read, l->max_iov_write) * l->max_block);
	/* Only of this one it is known */
	l->ordered_inv = dev->ibdev->ops.driver_id == RDMA_DRIVER_RXE;
}

/* ---- arrival, events, removal ------------------------------------------ */

static void kdapl_device_event_work(struct work_struct *work)
{
	struct kdapl_device *dev = container_of(work, struct kdapl_device, event_work);
	bool fatal = test_and_clear_bit(KDAPL_DEV_FATAL, &dev->events);
	bool gid = test_and_clear_bit(KDAPL_DEV_GID, &dev->events);
	struct kdapl_ia *ia;

	mutex_lock(&kdapl_device_mutex);
	list_for_each_entry(ia, &dev->ias, dev_node) {
		if (fatal)
			kdapl_ia_device_failed(ia);
		if (gid && !kdapl_device_has_addr(dev->ibdev, ia->port, &ia->addr))
			kdapl_ia_address_lost(ia);
	}
	mutex_unlock(&kdapl_device_mutex);
}

/* Drivers call it under locks of their own: only note what happened */
static void kdapl_device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct kdapl_device *dev = container_of(handler, struct kdapl_device, handler);

	switch (event->event) {
	case IB_EVENT_GID_CHANGE:
		set_bit(KDAPL_DEV_GID, &dev->events);
		break;
	case IB_EVENT_DEVICE_FATAL:
		set_bit(KDAPL_DEV_FATAL, &dev->events);
		break;
	default:
		return;
	}
	queue_work(kdapl_wq, &dev->event_work);
}

/**
 * kdapl_device_alloc - describe a device, without announcing it
 * @ibdev: the device, its attributes filled
 *
 * Context: process.
 * Return: the description, or NULL without memory.
 */
struct kdapl_device *kdapl_device_alloc(struct ib_device *ibdev)
{
	struct kdapl_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->ibdev = ibdev;
	INIT_LIST_HEAD(&dev->node);
	INIT_LIST_HEAD(&dev->ias);
	init_waitqueue_head(&dev->wait);
	INIT_WORK(&dev->event_work, kdapl_device_event_work);
	xa_init(&dev->keys);
	kdapl_device_fill_limits(dev);
	return dev;
}

/**
 * kdapl_device_free - undo kdapl_device_alloc()
 * @dev: the description; no IA is open on it
 *
 * Context: process.
 */
void kdapl_device_free(struct kdapl_device *dev)
{
	xa_destroy(&dev->keys);
	kfree(dev);
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
	INIT_IB_EVENT_HANDLER(&dev->handler, ibdev, kdapl_device_event);
	ib_register_event_handler(&dev->handler);
	mutex_lock(&kdapl_device_mutex);
	list_add_tail(&dev->node, &kdapl_devices);
	mutex_unlock(&kdapl_device_mutex);
	return 0;
}

static struct kdapl_device *kdapl_device_of(struct ib_device *ibdev)
{
	struct kdapl_device *dev;

	list_for_each_entry(dev, &kdapl_devices, node)
		if (dev->ibdev == ibdev)
			return dev;
	return NULL;
}

/* An IA on the device that nobody takes apart yet, referenced; mutex held */
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
	mutex_unlock(&kdapl_device_mutex);

	/* Nobody opens an IA on it from here on */
	ib_unregister_event_handler(&dev->handler);
	cancel_work_sync(&dev->event_work);

	mutex_lock(&kdapl_device_mutex);
	while ((ia = kdapl_device_next_ia(dev))) {
		mutex_unlock(&kdapl_device_mutex);
		kdapl_ia_remove(ia);
		kdapl_obj_put(&ia->obj);
		mutex_lock(&kdapl_device_mutex);
	}
	mutex_unlock(&kdapl_device_mutex);

	/* Those that dat_ia_close had in its hands already */
	wait_event(dev->wait, list_empty(&dev->ias));
	/* Who emptied the list has let go of it */
	mutex_lock(&kdapl_device_mutex);
	mutex_unlock(&kdapl_device_mutex);
	kdapl_device_free(dev);
}

static struct ib_client kdapl_client = {
	.name = "kdapl",
	.add = kdapl_device_add,
	.remove = kdapl_device_remove,
};

/**
 * kdapl_device_init - look for devices from now on
 *
 * Context: process, module load.
 * Return: 0 or a negative errno.
 */
int kdapl_device_init(void)
{
	return ib_register_client(&kdapl_client);
}

/**
 * kdapl_device_exit - let go of all devices
 *
 * IAs that are still open belong to Consumers that were unloaded without
 * closing them; they are closed.
 *
 * Context: process, module unload.
 */
void kdapl_device_exit(void)
{
	kdapl_ia_destroy_all();
	ib_unregister_client(&kdapl_client);
	/* Those whose device was leaving, and which were on no list meanwhile */
	kdapl_ia_destroy_all();
}
