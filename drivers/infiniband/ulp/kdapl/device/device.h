/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA devices by name, and the IP addresses of their ports.
 */
#ifndef _KDAPL_DEVICE_H_
#define _KDAPL_DEVICE_H_

#include <linux/in6.h>
#include <linux/llist.h>
#include "object/object.h"

/* ---- device.c ------------------------------------------------------------ */

extern struct mutex kdapl_device_mutex;
extern struct list_head kdapl_devices;

void kdapl_device_fill_limits(struct kdapl_device *dev);
bool kdapl_device_port_usable(struct ib_device *ibdev, u32 port);
/* Are the ports of this device IAs, under its name? kdapl_device_mutex held */
bool kdapl_device_listed(const struct kdapl_device *dev);

/*
 * Parses an IA name; under kdapl_device_mutex. Returns 0, -ENODEV or
 * -EADDRNOTAVAIL, in which case @dev and @port are valid
 */
int kdapl_device_resolve(const char *name, struct kdapl_device **dev, u32 *port,
			 struct sockaddr_storage *addr, struct net **net);

/* An address that a net device has lost */
struct kdapl_addr_deleted {
	struct llist_node node;
	struct in6_addr addr;		/* IPv4: mapped */
	int ifindex;			/* of the net device */
	const struct net *net;		/* its namespace, only compared */
};

/* ---- addr.c -------------------------------------------------------------- */

/* The net device of a link-local address, or 0 */
int kdapl_addr_scope(const struct sockaddr_storage *addr);

/* Is this the address of an IA? */
bool kdapl_addr_was_deleted(const struct kdapl_addr_deleted *del, struct ib_device *ibdev, u32 port,
			    const struct sockaddr_storage *addr, const struct net *net);

/* Does a change of addresses end the connection of this id, although the IA's address exists? */
bool kdapl_addr_path_lost(const struct rdma_cm_id *id, u32 port);

/* Does the net device, which leads to a port of @ibdev, have this IP address? RCU held */
bool kdapl_addr_on_netdev(struct ib_device *ibdev, const struct net_device *ndev,
			  const struct sockaddr_storage *addr);

/* Does this IP address still lead to the port, in this namespace? */
bool kdapl_addr_on_port(struct ib_device *ibdev, u32 port, const struct sockaddr_storage *addr,
			const struct net *net);

/* Was the address of the id lost since the id was bound? It may exist again */
bool kdapl_addr_unbound(const struct rdma_cm_id *id);

/* Can the device transfer data in this namespace? */
bool kdapl_addr_netns_usable(const struct ib_device *ibdev, const struct net *net);

/* GID of an address, or any of the port if that was lost; release it by rdma_put_gid_attr() */
const struct ib_gid_attr *kdapl_addr_gid(struct ib_device *ibdev, u32 port,
					 const struct sockaddr_storage *addr);

#endif /* _KDAPL_DEVICE_H_ */
