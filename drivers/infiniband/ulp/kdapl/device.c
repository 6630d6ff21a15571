// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices: addition, removal, events, and the names by which they are opened.
 *
 * Owns the list of usable devices, and kdapl_device_mutex, which guards that list and the
 * lists of IAs. Called by the RDMA core (add and remove in process context, events in a work
 * item), and by ia.c, registry.c and addr.c.
 *
 * The core calls remove() before that of rdma_cm, because kDAPL registers later, and while
 * the device still works. remove() orphans every IA, and returns when kDAPL has no verbs
 * objects left: after an early return the core would oops. No reference to the device is
 * held after that.
 */
#include <linux/inet.h>
#include <net/net_namespace.h>
#include "kdapl.h"

/* The outermost lock of kDAPL */
DEFINE_MUTEX(kdapl_device_mutex);
LIST_HEAD(kdapl_devices);

/* Bits of kdapl_device.events */
#define KDAPL_DEV_GID	0	/* a GID was added or removed; addr.c's work clears it */
#define KDAPL_DEV_FATAL	1	/* the device has reported a fatal error */

/* Largest number of pages of a registration, whose length must fit in DAT_SEG_LENGTH */
#define KDAPL_MAX_PAGE_LIST	(U32_MAX >> PAGE_SHIFT)

/* ---- names ------------------------------------------------------------- */

/**
 * kdapl_device_port_usable - can IAs use this port?
 * @ibdev: device
 * @port:  number of the port
 *
 * Usable are InfiniBand and RoCE ports of devices that register memory by work requests.
 *
 * Context: any.
 * Return: true if they can.
 */
bool kdapl_device_port_usable(struct ib_device *ibdev, u32 port)
{
	return rdma_is_port_valid(ibdev, port) && rdma_cap_ib_cm(ibdev, port) &&
	       (ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS);
}

/*
 * Finds the device and port on which a net device of @home, or of any namespace, has an
 * address. kdapl_device_mutex held
 */
static int kdapl_device_by_netdev(const char *netdev, const struct net *home,
				  const struct sockaddr_storage *want,
				  struct kdapl_device **out, u32 *port,
				  struct sockaddr_storage *addr, struct net **net)
{
	struct kdapl_device *dev;
	u32 p;

	list_for_each_entry(dev, &kdapl_devices, node) {
		rdma_for_each_port(dev->ibdev, p) {
			if (!kdapl_device_port_usable(dev->ibdev, p) ||
			    !kdapl_addr_find(dev->ibdev, p, netdev, home, want, addr, net))
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

/* Finds "<ibdev>/<port>" or "<ibdev>". Cuts @base at the slash. kdapl_device_mutex held */
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
 * @name: `<ibdev>/<port>`, `<ibdev>` (port 1) or the name of a net device, each followed
 *        by `@<address>` for another address than the first one; `%<netdev>` follows a
 *        link-local address that several net devices have
 * @dev:  receives the device
 * @port: receives the port
 * @addr: receives the address: the one in @name, or the best one (kdapl_addr_find())
 * @net:  receives its network namespace, with a reference; may be NULL
 *
 * The name of a net device refers to the one in the initial namespace, on any RDMA device,
 * so a net device in a container cannot hide it. If it only exists in other namespaces, the
 * first RDMA device that has such a net device is used.
 *
 * Context: process, kdapl_device_mutex held.
 * Return: 0; -ENODEV if no usable port has this name; -EADDRNOTAVAIL if the port does not
 * have that address, or has none (then @dev and @port are valid).
 */
int kdapl_device_resolve(const char *name, struct kdapl_device **dev, u32 *port,
			 struct sockaddr_storage *addr, struct net **net)
{
	struct sockaddr_storage parsed = {}, *want = NULL;
	char base[DAT_NAME_MAX_LENGTH];
	char *at;

	if (strscpy(base, name, sizeof(base)) < 0)
		return -ENODEV;
	at = strchr(base, '@');
	if (at) {
		*at = '\0';
		if (inet_pton_with_scope(&init_net, AF_UNSPEC, at + 1, NULL, &parsed))
			return -ENODEV;
		want = &parsed;
	}
	if (!strchr(base, '/') && !kdapl_device_by_name(base)) {
		if (!kdapl_device_by_netdev(base, &init_net, want, dev, port, addr, net))
			return 0;
		return kdapl_device_by_netdev(base, NULL, want, dev, port, addr, net);
	}
	if (kdapl_device_by_port(base, dev, port))
		return -ENODEV;
	if (!kdapl_addr_find((*dev)->ibdev, *port, NULL, NULL, want, addr, net))
		return -EADDRNOTAVAIL;
	return 0;
}

/* ---- limits ------------------------------------------------------------ */

/* Limits of queues, for an EP with as many receives as requests, see dat_ep_create() */
static void kdapl_limit_queues(struct kdapl_limits *l, const struct ib_device_attr *a)
{
	u32 iov = max3(l->max_iov, l->max_iov_read, l->max_iov_write);

	l->max_qp_wr = max(a->max_qp_wr, 0);
	l->max_cqe = max(a->max_cqe, 0);
	l->max_dto_per_ep = min3((max(l->max_qp_wr, 2U) - KDAPL_SQ_RESERVED) / 2,
				 (max(l->max_cqe, 3U) - KDAPL_CQ_RESERVED) / 3,
				 kdapl_pool_most(iov));
	/* Each needs one QP and one CQ; the service QP needs one of each, too */
	l->max_eps = min3(max(a->max_qp, 1), max(a->max_cq, 1), (int)KDAPL_HANDLE_MAX) - 1;
	l->max_evd_qlen = min_t(u32, l->max_cqe, INT_MAX / sizeof(struct kdapl_ring_event));
	if (l->max_srqs)
		/* The requests of an EP use the same CQ */
		l->max_srq_wr = min3((u32)a->max_srq_wr, l->max_cqe / 2,
				     kdapl_pool_most(l->max_iov));
}

static void kdapl_limit_segments(struct kdapl_limits *l, const struct ib_device_attr *a)
{
	int reads = a->max_sge_rd > 0 ? a->max_sge_rd : a->max_send_sge;

	l->max_iov = max(min(a->max_send_sge, a->max_recv_sge), 0);
	l->max_iov_write = max(a->max_send_sge, 0);
	/* They are in the same queue */
	l->max_iov_read = max(min(reads, a->max_send_sge), 0);
	if (a->max_srq > 0 && a->max_srq_wr > 0 && a->max_srq_sge > 0) {
		l->max_srqs = min_t(u32, a->max_srq, KDAPL_HANDLE_MAX);
		/* One attribute limits both kinds of receives */
		l->max_iov = min_t(u32, l->max_iov, a->max_srq_sge);
	}
}

/* The smallest max_msg_sz of all ports. rxe takes rtnl_lock for the query */
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

/* ---- limits that no attribute reports ---------------------------------- */

/* These devices set IB_DEVICE_MEM_MGT_EXTENSIONS, but do not implement all of it */
static const char *kdapl_device_unfit(const struct ib_device *ibdev)
{
	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_HNS:
		return "hns has no local invalidate, and sleeps where memory is mapped";
	case RDMA_DRIVER_HFI1:
		return "hfi1 ignores the registered address in local segments";
	default:
		return NULL;
	}
}

/* Can the device create a queue pair with @dtos requests and as many receives? */
static bool kdapl_trial_qp(struct ib_pd *pd, struct ib_cq *cq, const struct kdapl_limits *l,
			   u32 dtos)
{
	struct ib_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 2 * dtos + KDAPL_SQ_RESERVED,
			.max_send_sge = max3(l->max_iov, l->max_iov_read, l->max_iov_write),
			.max_recv_wr = dtos + 1,
			.max_recv_sge = l->max_iov,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp = ib_create_qp(pd, &init);

	if (IS_ERR(qp))
		return false;
	ib_destroy_qp(qp);
	return true;
}

/* Finds the largest queue pair by bisection; changes nothing if none can be created */
static void kdapl_trial(struct ib_pd *pd, struct ib_cq *cq, struct kdapl_limits *l)
{
	u32 good = 0, bad = l->max_dto_per_ep, mid;

	if (kdapl_trial_qp(pd, cq, l, bad))
		return;
	while (bad - good > 1) {
		mid = good + (bad - good) / 2;
		if (kdapl_trial_qp(pd, cq, l, mid))
			good = mid;
		else
			bad = mid;
	}
	if (good)
		l->max_dto_per_ep = good;
}

/*
 * A device may count max_qp_wr in blocks, of which a request with many segments uses
 * several (mlx5), and only ib_create_qp() shows how many requests fit. A software device has
 * no such blocks, and the trial would allocate a lot of memory there.
 */
static void kdapl_limit_trial(struct ib_device *ibdev, struct kdapl_limits *l)
{
	struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	struct ib_cq *cq;
	struct ib_pd *pd;

	if (ib_uses_virt_dma(ibdev))
		return;
	pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(pd))
		return;
	cq = ib_create_cq(ibdev, NULL, NULL, NULL, &cq_attr);
	if (!IS_ERR(cq)) {
		kdapl_trial(pd, cq, l);
		ib_destroy_cq(cq);
	}
	ib_dealloc_pd(pd);
}

/* Called without a mutex of kDAPL, see kdapl_limit_port() */
static void kdapl_device_fill_limits(struct kdapl_device *dev)
{
	const struct ib_device_attr *a = &dev->ibdev->attrs;
	struct kdapl_limits *l = &dev->limits;
	u64 most = kdapl_limit_port(dev->ibdev);
	u64 pages = a->max_mr_size ? a->max_mr_size >> PAGE_SHIFT : U32_MAX;

	kdapl_limit_segments(l, a);
	kdapl_limit_queues(l, a);
	/* The messages of the connection manager have a byte for each of these */
	l->max_rd_atom_in = clamp(a->max_qp_rd_atom, 0, U8_MAX);
	l->max_rd_atom_out = clamp(a->max_qp_init_rd_atom, 0, U8_MAX);
	/* Without a local DMA key the core creates one MR per PD: leave room for one PZ */
	l->max_mr = max(a->max_mr - !(a->kernel_cap_flags & IBK_LOCAL_DMA_LKEY), 0);
	/*
	 * Every RMR owns two MRs of this size, and a bind walks the whole list
	 * with interrupts off. Some devices allow 4 Mi pages.
	 */
	l->page_list_len = min3((u64)a->max_fast_reg_page_list_len,
				clamp_t(u64, kdapl_max_reg_pages, 2, KDAPL_MAX_PAGE_LIST),
				pages);
	/* One page less than the list has, so that any offset in the first page is possible */
	l->max_block = l->page_list_len ? (l->page_list_len - 1) * PAGE_SIZE : 0;
	/* The sum of the segments of one post */
	l->max_message = min(most, (u64)l->max_iov * l->max_block);
	l->max_rdma = min(most, (u64)max(l->max_iov_read, l->max_iov_write) * l->max_block);
	/* It is known of this driver only */
	l->ordered_inv = dev->ibdev->ops.driver_id == RDMA_DRIVER_RXE;
	dev->unfit = kdapl_device_unfit(dev->ibdev);
	if (!dev->unfit)
		kdapl_limit_trial(dev->ibdev, l);
}

/* ---- arrival, events, removal ------------------------------------------ */

/*
 * Does the IA's address lead to another port of the device? Then a bond over the
 * ports has failed over, and the IA follows it. kdapl_device_mutex held.
 */
static bool kdapl_device_follow(struct kdapl_device *dev, struct kdapl_ia *ia)
{
	u32 p;

	rdma_for_each_port(dev->ibdev, p) {
		if (p == ia->port || !kdapl_device_port_usable(dev->ibdev, p) ||
		    !kdapl_addr_stands(dev->ibdev, p, &ia->addr, ia->net))
			continue;
		pr_notice_ratelimited("kdapl: %s: address %pISc has moved to port %u\n",
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
		if (kdapl_addr_is(del, ia->dev->ibdev, ia->port, &ia->addr, ia->net))
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
	if (kdapl_addr_stands(dev->ibdev, ia->port, &ia->addr, ia->net) ||
	    kdapl_device_follow(dev, ia)) {
		ia->addr_missed = false;
		kdapl_ia_address_stands(ia);
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

/**
 * kdapl_device_check_addrs - check the addresses of all IAs after a change
 * @gone:  addresses that were deleted (struct kdapl_addr_deleted), or NULL
 * @ipoib: addresses of IPoIB devices have changed
 *
 * Context: process.
 * Return: true if the caller must call again soon.
 */
bool kdapl_device_check_addrs(struct llist_node *gone, bool ipoib)
{
	struct kdapl_device *dev;
	struct kdapl_ia *ia;
	bool gid, again = false;

	mutex_lock(&kdapl_device_mutex);
	list_for_each_entry(dev, &kdapl_devices, node) {
		gid = test_and_clear_bit(KDAPL_DEV_GID, &dev->events);
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

static void kdapl_device_event_work(struct work_struct *work)
{
	struct kdapl_device *dev = container_of(work, struct kdapl_device, event_work);
	struct kdapl_ia *ia;

	if (!test_and_clear_bit(KDAPL_DEV_FATAL, &dev->events))
		return;

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
		set_bit(KDAPL_DEV_GID, &dev->events);
		kdapl_addr_changed(false);
		return;
	case IB_EVENT_PORT_ACTIVE:
		kdapl_notice_look(dev);
		return;
	case IB_EVENT_DEVICE_FATAL:
		set_bit(KDAPL_DEV_FATAL, &dev->events);
		break;
	default:
		return;
	}
	queue_work(kdapl_wq, &dev->event_work);
}

/**
 * kdapl_device_alloc - allocate the description of a device, without listing it
 * @ibdev: the device, its attributes filled
 *
 * Context: process.
 * Return: the description, or NULL if there is no memory.
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
	kdapl_notice_setup(dev);
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
	mutex_unlock(&kdapl_device_mutex);

	/* From here on no IA can be opened on it */
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

	/* Wait for the IAs that dat_ia_close() is destroying */
	wait_event(dev->wait, list_empty(&dev->ias));
	/* No EP is left that could add a notice to the list */
	kdapl_notice_drop(dev);
	/* Whoever has emptied the list does not use the device any more */
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
 * kdapl_device_init - register with the RDMA core
 *
 * Context: process, module load.
 * Return: 0 or a negative errno.
 */
int kdapl_device_init(void)
{
	int ret = kdapl_addr_init();

	if (ret)
		return ret;
	ret = ib_register_client(&kdapl_client);
	if (ret)
		kdapl_addr_exit();
	return ret;
}

/**
 * kdapl_device_exit - undo kdapl_device_init()
 *
 * IAs that are still open belong to Consumers that were unloaded without closing them. The
 * function closes them.
 *
 * Context: process, module unload.
 */
void kdapl_device_exit(void)
{
	kdapl_ia_destroy_left(NULL);
	ib_unregister_client(&kdapl_client);
	/* Last, because device events schedule the watcher */
	kdapl_addr_exit();
}
