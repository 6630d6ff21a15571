/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA devices by name, and the IP addresses of their ports.
 */
#ifndef _KDAPL_DEVICE_H_
#define _KDAPL_DEVICE_H_

#include <linux/in6.h>
#include <linux/llist.h>
#include "object/object.h"

extern struct mutex kdapl_device_mutex;
extern struct list_head kdapl_devices;

void kdapl_device_fill_limits(struct kdapl_device *dev);
bool kdapl_device_port_usable(struct ib_device *ibdev, u32 port);
struct kdapl_device *kdapl_device_by_name(const char *name);
bool kdapl_device_listed(const struct kdapl_device *dev);
int kdapl_device_resolve(const char *name, struct kdapl_device **dev, u32 *port,
			 struct sockaddr_storage *addr, struct net **net);

/* An address that a net device has lost */
struct kdapl_addr_deleted {
	struct llist_node node;
	struct in6_addr addr;		/* IPv4: mapped */
	int ifindex;			/* index of the net device */
	const struct net *net;		/* its namespace, only compared */
};

bool kdapl_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool kdapl_addr_next(struct ib_device *ibdev, u32 port, const struct net *home,
		     struct sockaddr_storage *addr);
bool kdapl_addr_find(struct ib_device *ibdev, u32 port, const char *netdev,
		     const struct net *home, const struct sockaddr_storage *want,
		     struct sockaddr_storage *addr, struct net **net);
bool kdapl_addr_id_lost(const struct rdma_cm_id *id);
int kdapl_addr_scope(const struct sockaddr_storage *addr);
bool kdapl_addr_was_deleted(const struct kdapl_addr_deleted *del, struct ib_device *ibdev, u32 port,
			    const struct sockaddr_storage *addr, const struct net *net);
bool kdapl_addr_path_lost(const struct rdma_cm_id *id, u32 port);
bool kdapl_addr_on_netdev(struct ib_device *ibdev, const struct net_device *ndev,
			  const struct sockaddr_storage *addr);
bool kdapl_addr_on_port(struct ib_device *ibdev, u32 port, const struct sockaddr_storage *addr,
			const struct net *net);
bool kdapl_addr_unbound(const struct rdma_cm_id *id);
bool kdapl_addr_netns_usable(const struct ib_device *ibdev, const struct net *net);
const struct ib_gid_attr *kdapl_addr_gid(struct ib_device *ibdev, u32 port,
					 const struct sockaddr_storage *addr);

#endif /* _KDAPL_DEVICE_H_ */
