// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices: the names by which they are opened, and what they allow.
 *
 * Owns the list of usable devices, and kdapl_device_mutex, which guards that list and the
 * lists of IAs. Called by ia_open.c, registry.c and ib_client.c, which adds and removes
 * devices; process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet.h>
#include <net/net_namespace.h>
#include "device.h"

/* The outermost lock of kDAPL, apart from kdapl_watch_mutex */
DEFINE_MUTEX(kdapl_device_mutex);
LIST_HEAD(kdapl_devices);

/* Largest number of pages of a registration, whose length must fit in DAT_SEG_LENGTH */
#define KDAPL_MAX_PAGE_LIST	(U32_MAX >> PAGE_SHIFT)

/*
 * Returns true if IAs can use a port: an InfiniBand or RoCE port of a device that registers memory
 * by work requests. Any context.
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

/*
 * Finds the device that a name means. If devices belong to namespaces, two of them may have the
 * same name. The one that the initial namespace can use takes precedence. Otherwise none is
 * preferred, because the order in which they were added is arbitrary. Returns the device, or NULL
 * if there is none or the name is ambiguous. Process context, kdapl_device_mutex held.
 */
struct kdapl_device *kdapl_device_by_name(const char *name)
{
	struct kdapl_device *dev, *found[2] = {};
	unsigned int n[2] = {};
	bool home;

	lockdep_assert_held(&kdapl_device_mutex);
	list_for_each_entry(dev, &kdapl_devices, node) {
		if (strcmp(dev->name, name))
			continue;
		home = rdma_dev_access_netns(dev->ibdev, &init_net);
		found[home] = dev;
		n[home]++;
	}
	home = n[true];
	return n[home] == 1 ? found[home] : NULL;
}

/*
 * Returns true if the ports of a device are IAs under its name; false if the device is not
 * supported, was removed or is not added yet, or if its name belongs to another device or is
 * ambiguous. Process context, kdapl_device_mutex held.
 */
bool kdapl_device_listed(const struct kdapl_device *dev)
{
	return !dev->unfit && kdapl_device_by_name(dev->name) == dev;
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

/*
 * Finds device, port and address of an IA name. The name of a net device refers to the one in the
 * initial namespace, on any RDMA device, so a net device in a container cannot hide it. If it only
 * exists in other namespaces, the first RDMA device that has such a net device is used. Returns 0;
 * -ENODEV if no usable port has this name; -EADDRNOTAVAIL if the port does not have that address,
 * or has none (then @dev and @port are valid). Process context, kdapl_device_mutex held.
 *
 * @name: `<ibdev>/<port>`, `<ibdev>` (port 1) or the name of a net device, each followed by
 *        `@<address>` for another address than the first one; `%<netdev>` follows a link-local
 *        address that several net devices have
 * @addr: receives the address: the one in @name, or the best one (kdapl_addr_find())
 * @net:  receives its network namespace, with a reference; may be NULL
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

/* Limits of queues, for an EP with as many receives as requests, see dat_ep_create() */
static void kdapl_limit_queues(struct kdapl_limits *l, const struct ib_device_attr *a)
{
	l->max_qp_wr = max(a->max_qp_wr, 0);
	l->max_cqe = max(a->max_cqe, 0);
	l->max_dto_per_ep = min3((max(l->max_qp_wr, 2U) - KDAPL_SQ_RESERVED) / 2,
				 (max(l->max_cqe, 3U) - KDAPL_CQ_RESERVED) / 3,
				 (u32)KDAPL_POOL_MAX_DEPTH);
	/* Each needs one QP and one CQ; the service QP also needs one of each */
	l->max_eps = min3(max(a->max_qp, 1), max(a->max_cq, 1), (int)KDAPL_HANDLE_MAX) - 1;
	l->max_evd_qlen = min_t(u32, l->max_cqe, INT_MAX / sizeof(struct kdapl_ring_event));
	if (l->max_srqs)
		/* The requests of an EP use the same CQ */
		l->max_srq_wr = min3((u32)a->max_srq_wr, l->max_cqe / 2,
				     (u32)KDAPL_POOL_MAX_DEPTH);
}

/* A post translates its segments on the stack, so their number is also limited */
static void kdapl_limit_segments(struct kdapl_limits *l, const struct ib_device_attr *a)
{
	u32 sends = clamp(a->max_send_sge, 0, KDAPL_MAX_IOV);
	u32 receives = clamp(a->max_recv_sge, 0, KDAPL_MAX_IOV);
	u32 reads = max(a->max_sge_rd, 0);

	l->max_iov = min(sends, receives);
	l->max_iov_write = sends;
	/* They are in the same queue */
	l->max_iov_read = reads ? min(reads, sends) : sends;
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

/* Returns true if the device creates a queue pair with @dtos requests and as many receives */
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
	if (!good)
		return;
	/* mlx5 returns the same error for a shortage of memory and for a queue that is too large */
	pr_info("%s: at most %u posts in each queue of an EP; the attributes allow %u\n",
		dev_name(&pd->device->dev), good, l->max_dto_per_ep);
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

/*
 * Finds out what the device and kDAPL allow. @dev: the description, its @limits and @unfit not
 * set. Process context, without a mutex of kDAPL, see kdapl_limit_port().
 */
void kdapl_device_fill_limits(struct kdapl_device *dev)
{
	const struct ib_device_attr *a = &dev->ibdev->attrs;
	struct kdapl_limits *l = &dev->limits;
	u64 most = kdapl_limit_port(dev->ibdev);
	u64 pages = a->max_mr_size ? a->max_mr_size >> PAGE_SHIFT : U32_MAX;
	u32 mrs = max(a->max_mr, 0);

	kdapl_limit_segments(l, a);
	kdapl_limit_queues(l, a);
	/* The messages of the connection manager have a byte for each of these */
	l->max_rd_atom_in = clamp(a->max_qp_rd_atom, 0, U8_MAX);
	l->max_rd_atom_out = clamp(a->max_qp_init_rd_atom, 0, U8_MAX);
	/* Without a local DMA key the core creates one MR per PD: leave room for one PZ */
	l->max_mr = mrs && !(a->kernel_cap_flags & IBK_LOCAL_DMA_LKEY) ? mrs - 1 : mrs;
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
