// SPDX-License-Identifier: GPL-2.0
/*
 * IP addresses of RDMA ports: which addresses lead to a port, in which network namespace.
 *
 * The GID table of a RoCE port is the list of its addresses. An InfiniBand port has no information
 * about the addresses of the IPoIB devices on it. Called by device.c, addr_watch.c, pz.c and the
 * files of connections, mostly in process context.
 *
 * The namespace of an address is that of the net device that has it. Connection ids are created in
 * this namespace, because rdma_cm matches requests and routes in the namespace of their id. Code
 * that uses a namespace for longer than an RCU read section holds a reference.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include "device.h"

/* Preference of an address: the initial namespace before others, IPv4 before IPv6 */
#define KDAPL_RANK_INIT_NET	2
#define KDAPL_RANK_IPV4		1
#define KDAPL_RANK_ANY		1

/**
 * struct kdapl_addr_search - search for an IP address of a port
 * @netdev: name of the net device that must have it; NULL: any
 * @want:   the address; NULL: any except link-local ones
 * @scope:  for a link-local one: index of the net device that must have it; 0: any
 * @home:   the namespace that it must be in; NULL: any
 * @except: index of a net device that is ignored; 0: none
 * @after:  find the smallest address that is larger than this one; NULL: the best one
 * @ibdev:  device of the port
 * @rank:   preference of the best one found so far; 0: none
 * @found:  the best one found so far
 * @net:    its namespace, with a reference, which the caller of the search drops
 */
struct kdapl_addr_search {
	const char *netdev;
	const struct in6_addr *want;
	int scope;
	const struct net *home;
	int except;
	const struct in6_addr *after;
	struct ib_device *ibdev;
	int rank;
	struct sockaddr_storage found;
	struct net *net;
};

/* Stores an IPv4 address in its mapped form, as in a GID */
static void kdapl_addr_to_gid(const struct sockaddr_storage *addr, struct in6_addr *gid)
{
	if (addr->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((struct sockaddr_in *)addr)->sin_addr.s_addr, gid);
	else
		*gid = ((struct sockaddr_in6 *)addr)->sin6_addr;
}

/* Compares two IP addresses without their ports and scopes. Any context */
bool kdapl_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	struct in6_addr gid_a, gid_b;

	kdapl_addr_to_gid(a, &gid_a);
	kdapl_addr_to_gid(b, &gid_b);
	return ipv6_addr_equal(&gid_a, &gid_b);
}

/*
 * The net device to which a link-local address belongs. Several net devices on a port may have the
 * same link-local address. Returns the index of the net device; 0 if none is named, or the address
 * is not link-local. Any context.
 */
int kdapl_addr_scope(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family != AF_INET6 ||
	    !(ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL))
		return 0;
	return sin6->sin6_scope_id;
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

static bool kdapl_addr_matches(const struct kdapl_addr_search *s, const struct net_device *ndev,
			       const struct in6_addr *addr)
{
	if (s->home && !net_eq(dev_net(ndev), s->home))
		return false;
	if (s->netdev && strcmp(s->netdev, ndev->name))
		return false;
	if ((s->scope && s->scope != ndev->ifindex) || s->except == ndev->ifindex)
		return false;
	if (s->want)
		return ipv6_addr_equal(s->want, addr);
	if (ipv6_addr_v4mapped(addr))
		return !ipv4_is_linklocal_169(addr->s6_addr32[3]);
	return !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

/* Returns true if @addr is between the lower bound of the search and the address found so far */
static bool kdapl_addr_is_next(const struct kdapl_addr_search *s, const struct in6_addr *addr)
{
	struct in6_addr found;

	kdapl_addr_to_gid(&s->found, &found);
	return memcmp(addr, s->after, sizeof(*addr)) > 0 &&
	       (!s->rank || memcmp(addr, &found, sizeof(*addr)) < 0);
}

/* Considers @addr of @ndev, which leads to the port. RCU */
static void kdapl_addr_consider(struct kdapl_addr_search *s, const struct net_device *ndev,
				const struct in6_addr *addr)
{
	int rank = KDAPL_RANK_ANY;
	struct net *net;

	if (!kdapl_addr_matches(s, ndev, addr))
		return;
	if (ipv6_addr_v4mapped(addr))
		rank += KDAPL_RANK_IPV4;
	if (net_eq(dev_net(ndev), &init_net))
		rank += KDAPL_RANK_INIT_NET;
	if (s->after ? !kdapl_addr_is_next(s, addr) : rank <= s->rank)
		return;
	/* A device that belongs to one namespace serves no other */
	if (!rdma_dev_access_netns(s->ibdev, dev_net(ndev)))
		return;
	/* A namespace that is being destroyed has no addresses */
	net = maybe_get_net(dev_net(ndev));
	if (!net)
		return;
	if (s->net)
		put_net(s->net);
	s->net = net;
	s->rank = rank;
	kdapl_addr_from_gid(&s->found, addr, ndev->ifindex);
}

/* RoCE: the GID table is the list of addresses */
static void kdapl_addr_search_roce(struct kdapl_addr_search *s, u32 port)
{
	int i, n = s->ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	struct net_device *ndev;

	for (i = 0; i < n; i++) {
		attr = rdma_get_gid_attr(s->ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(attr);
		if (!IS_ERR(ndev))
			kdapl_addr_consider(s, ndev, (const struct in6_addr *)attr->gid.raw);
		rcu_read_unlock();
		rdma_put_gid_attr(attr);
	}
}

/* Returns true if an IPoIB device uses the port. Its hardware address ends in the GID */
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

/* All addresses of a net device on the port; RCU */
static void kdapl_addr_search_netdev(struct kdapl_addr_search *s, const struct net_device *ndev)
{
	struct inet6_ifaddr *ifa6;
	struct inet6_dev *in6_dev;
	struct in_device *in_dev;
	struct in_ifaddr *ifa;
	struct in6_addr addr;

	in_dev = __in_dev_get_rcu(ndev);
	if (in_dev) {
		in_dev_for_each_ifa_rcu(ifa, in_dev) {
			ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
			kdapl_addr_consider(s, ndev, &addr);
		}
	}
	in6_dev = __in6_dev_get(ndev);
	if (!in6_dev)
		return;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifa6, &in6_dev->addr_list, if_list) {
		/* The notifier reports the deletion before the address leaves the list */
		if (READ_ONCE(ifa6->state) != INET6_IFADDR_STATE_DEAD)
			kdapl_addr_consider(s, ndev, &ifa6->addr);
	}
	read_unlock_bh(&in6_dev->lock);
}

/*
 * Returns true if a net device has an IP address. @ibdev: device with a port that the net device
 * leads to. Any context; RCU.
 */
bool kdapl_addr_on_netdev(struct ib_device *ibdev, const struct net_device *ndev,
			  const struct sockaddr_storage *addr)
{
	struct kdapl_addr_search s = { .ibdev = ibdev };
	struct in6_addr want;

	kdapl_addr_to_gid(addr, &want);
	s.want = &want;
	kdapl_addr_search_netdev(&s, ndev);
	if (!s.rank)
		return false;
	put_net(s.net);
	return true;
}

/* InfiniBand: the addresses of the IPoIB devices on the port */
static void kdapl_addr_search_ib(struct kdapl_addr_search *s, u32 port)
{
	struct net_device *ndev;
	struct net *net;

	rcu_read_lock();
	for_each_net_rcu(net) {
		for_each_netdev_rcu(net, ndev) {
			if (kdapl_ipoib_on_port(ndev, s->ibdev, port))
				kdapl_addr_search_netdev(s, ndev);
		}
	}
	rcu_read_unlock();
}

static bool kdapl_addr_search(struct kdapl_addr_search *s, struct ib_device *ibdev, u32 port)
{
	s->rank = 0;
	s->ibdev = ibdev;
	if (rdma_protocol_roce(ibdev, port))
		kdapl_addr_search_roce(s, port);
	else
		kdapl_addr_search_ib(s, port);
	return s->rank;
}

/*
 * Finds an IP address that leads to a port. Addresses in the initial namespace are preferred, and
 * then IPv4. Link-local addresses are found only if @want specifies them. Returns true if there is
 * one. Process context.
 *
 * @netdev: name of the net device that must have it; NULL: any
 * @home:   namespace of that net device; NULL: any
 * @want:   the address, a link-local one with or without its scope; NULL: the best one
 * @net:    receives its namespace, with a reference; may be NULL
 */
bool kdapl_addr_find(struct ib_device *ibdev, u32 port, const char *netdev,
		     const struct net *home, const struct sockaddr_storage *want,
		     struct sockaddr_storage *addr, struct net **net)
{
	struct kdapl_addr_search s = { .netdev = netdev, .home = home };
	struct in6_addr gid;

	if (want) {
		kdapl_addr_to_gid(want, &gid);
		s.want = &gid;
		s.scope = kdapl_addr_scope(want);
	}
	if (!kdapl_addr_search(&s, ibdev, port))
		return false;
	*addr = s.found;
	if (net)
		*net = s.net;
	else
		put_net(s.net);
	return true;
}

/*
 * Finds the next one of all IP addresses that lead to a port. Link-local addresses are not found.
 * Returns true if there is one. Process context.
 *
 * @home: namespace of the addresses
 * @addr: an address, or zeroes; receives the next larger one, as IPv6 addresses compare
 */
bool kdapl_addr_next(struct ib_device *ibdev, u32 port, const struct net *home,
		     struct sockaddr_storage *addr)
{
	struct kdapl_addr_search s = { .home = home };
	struct in6_addr after;

	kdapl_addr_to_gid(addr, &after);
	s.after = &after;
	if (!kdapl_addr_search(&s, ibdev, port))
		return false;
	*addr = s.found;
	put_net(s.net);
	return true;
}

/* Returns true if an address leads to a port by a net device other than that of index @except */
static bool kdapl_addr_leads_to_port(struct ib_device *ibdev, u32 port,
				     const struct sockaddr_storage *addr,
				     const struct net *net, int except)
{
	struct kdapl_addr_search s = {
		.home = net,
		.scope = kdapl_addr_scope(addr),
		.except = except,
	};
	struct in6_addr want;

	kdapl_addr_to_gid(addr, &want);
	s.want = &want;
	if (!kdapl_addr_search(&s, ibdev, port))
		return false;
	put_net(s.net);
	return true;
}

/*
 * Returns true if an IP address still leads to a port. @net: its namespace; the same address in
 * another namespace does not count. Process context.
 */
bool kdapl_addr_on_port(struct ib_device *ibdev, u32 port, const struct sockaddr_storage *addr,
			const struct net *net)
{
	return kdapl_addr_leads_to_port(ibdev, port, addr, net, 0);
}

/*
 * Returns true if the device transfers data in a network namespace. Namespaces do not affect
 * hardware. Soft-RoCE uses the sockets and routes of the initial namespace, whatever the namespace
 * of its net device is. @net: namespace of one of its net devices. Any context.
 */
bool kdapl_addr_netns_usable(const struct ib_device *ibdev, const struct net *net)
{
	return net_eq(net, &init_net) || ibdev->ops.driver_id != RDMA_DRIVER_RXE;
}

/*
 * GID for a QP that is connected to itself. Such a QP sends no packet, so any GID is sufficient if
 * the address was lost. An InfiniBand port has its own GID at index 0. @addr: address of the IA.
 * Returns the GID with a reference, or ERR_PTR(-ENOENT). Process context.
 */
const struct ib_gid_attr *kdapl_addr_gid(struct ib_device *ibdev, u32 port,
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

/*
 * Returns true if the address of an id was lost since the id was bound. On a RoCE port an id, and
 * with it the path of its QP, uses an entry of the GID table. If the address is deleted, this entry
 * becomes invalid; an address that is added again has another entry. An InfiniBand port has no such
 * entries. Any context; the caller keeps the id.
 */
bool kdapl_addr_unbound(const struct rdma_cm_id *id)
{
	const struct ib_gid_attr *attr = id->route.addr.dev_addr.sgid_attr;
	bool gone;

	if (!attr || !rdma_protocol_roce(attr->device, attr->port_num))
		return false;
	rcu_read_lock();
	gone = IS_ERR(rdma_read_gid_attr_ndev_rcu(attr));
	rcu_read_unlock();
	return gone;
}

/*
 * Returns true if the address of an id was deleted from its net device. A bond failover does not
 * delete addresses, but it deletes the GIDs of all of them. Any context; the caller keeps the id.
 */
bool kdapl_addr_id_lost(const struct rdma_cm_id *id)
{
	const struct rdma_addr *addr = &id->route.addr;
	const struct net_device *ndev;
	bool gone;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(addr->dev_addr.net, addr->dev_addr.bound_dev_if);
	gone = !ndev || !kdapl_addr_on_netdev(id->device, ndev, &addr->src_addr);
	rcu_read_unlock();
	return gone;
}

/*
 * Returns true if a change of addresses ends a connection. A device that keeps GIDs in its own
 * table clears the entry that the QP's path names. A device without such a table (rxe) builds the
 * path from addresses, and the address still exists. On InfiniBand the path connects two ports, so
 * it survives when a bond of IPoIB devices moves to another port. But if the bond moved because
 * this port is down, an idle connection would not notice it otherwise. Any context; the caller
 * keeps the id.
 *
 * @id:   id of the connection
 * @port: current port of the IA's address
 */
bool kdapl_addr_path_lost(const struct rdma_cm_id *id, u32 port)
{
	enum ib_port_state state;

	if (!id->device)
		return false;
	if (kdapl_addr_unbound(id))
		return rdma_cap_roce_gid_table(id->device, id->port_num);
	return id->port_num != port &&
	       (ib_get_cached_port_state(id->device, id->port_num, &state) ||
		state != IB_PORT_ACTIVE);
}

/*
 * Returns true if a deletion removed the address of an IA. Several net devices may have the same
 * address (a loopback device, for one). The deletion on one of them does not matter while the
 * address leads to the port by another one. @del: the address that was deleted. Process context.
 */
bool kdapl_addr_was_deleted(const struct kdapl_addr_deleted *del, struct ib_device *ibdev, u32 port,
			    const struct sockaddr_storage *addr, const struct net *net)
{
	int scope = kdapl_addr_scope(addr);
	struct in6_addr want;

	kdapl_addr_to_gid(addr, &want);
	return del->net == net && (!scope || scope == del->ifindex) &&
	       ipv6_addr_equal(&want, &del->addr) &&
	       !kdapl_addr_leads_to_port(ibdev, port, addr, net, del->ifindex);
}
