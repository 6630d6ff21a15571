// SPDX-License-Identifier: GPL-2.0
/*
 * The start of a connection attempt, for both sides: addresses and connection qualifiers,
 * ids of the connection manager, the fields of the EP, and the timer of the attempt.
 *
 * Called by cm_connect.c, cm.c and sp_listen.c in process context.
 */
#include <linux/inetdevice.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include "device/device.h"
#include "post/post.h"
#include "internal.h"

/* rdma_cm Providers map qualifiers that are not port numbers to ports above this one */
#define KDAPL_QUAL_PORTS	32001
#define KDAPL_QUAL_BASE		33534

/* A longer timeout makes the timer wheel late by up to one eighth */
#define KDAPL_TIMER_EXACT	63

/*
 * The IP port of a connection qualifier. Returns the qualifier itself if it is a port number,
 * otherwise a port from 33534 to 65534, mapped as user-space uDAPL over rdma_cm does. Any context.
 */
u16 kdapl_cm_port(DAT_CONN_QUAL qual)
{
	if (qual <= U16_MAX)
		return qual;
	return qual % KDAPL_QUAL_PORTS + KDAPL_QUAL_BASE;
}

/* Sets the IP port of an address. @port: in host order. Any context */
void kdapl_cm_set_port(struct sockaddr_storage *addr, u16 port)
{
	/* The port is at the same offset in both families */
	((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static DAT_RETURN kdapl_cm_address4(struct net *net, __be32 ip, struct sockaddr_storage *out)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)out;
	unsigned int type = inet_addr_type(net, ip);

	if (ipv4_is_zeronet(ip) || type == RTN_MULTICAST || type == RTN_BROADCAST)
		return KDAPL_BAD_ADDRESS(UNSUPPORTED);
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = ip;
	return DAT_SUCCESS;
}

/*
 * Checks and normalizes a Consumer's address. Returns DAT_SUCCESS, or DAT_INVALID_ADDRESS with the
 * subtype UNSUPPORTED (multicast, broadcast or unspecified) or MALFORMED (neither IPv4 nor IPv6).
 * Any context.
 *
 * @net: network namespace of the IA
 * @in:  address of one host; its port is ignored
 * @out: receives it with port 0, and as IPv4 if it is IPv4-mapped; zeroed on error
 */
DAT_RETURN kdapl_cm_address(struct net *net, const struct sockaddr *in,
			    struct sockaddr_storage *out)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)in;
	struct sockaddr_in6 *out6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (in->sa_family == AF_INET)
		return kdapl_cm_address4(net, ((const struct sockaddr_in *)in)->sin_addr.s_addr,
					 out);
	if (in->sa_family != AF_INET6)
		return KDAPL_BAD_ADDRESS(MALFORMED);
	if (ipv6_addr_v4mapped(&in6->sin6_addr))
		return kdapl_cm_address4(net, in6->sin6_addr.s6_addr32[3], out);
	if (ipv6_addr_is_multicast(&in6->sin6_addr) || ipv6_addr_any(&in6->sin6_addr))
		return KDAPL_BAD_ADDRESS(UNSUPPORTED);
	out6->sin6_family = AF_INET6;
	out6->sin6_addr = in6->sin6_addr;
	out6->sin6_scope_id = in6->sin6_scope_id;
	return DAT_SUCCESS;
}

/*
 * Sets the local address of a connection. @local: the address of the IA, possibly without its
 * scope, or another one of its port. Process context, ep->mutex and ep->lock held.
 */
void kdapl_cm_set_local(struct kdapl_ep *ep, const struct sockaddr_storage *local)
{
	const struct kdapl_ia *ia = ep->obj.ia;

	lockdep_assert_held(&ep->lock);
	ep->conn.other_addr = !kdapl_addr_equal(local, &ia->addr);
	memcpy(&ep->conn.local, ep->conn.other_addr ? local : &ia->addr, sizeof(ep->conn.local));
}

/*
 * Creates a cm_id that is bound to an address. Returns the id, in the IA's namespace, bound to
 * @ibdev and its port; or ERR_PTR: -ENODEV or -EADDRNOTAVAIL if the address was lost or leads to
 * another device, -EADDRINUSE if the port is in use, or every port of the range if @port is 0;
 * -ENOMEM. Process context.
 *
 * @own:     its address, or another one of its port
 * @ibdev:   the device of the caller's objects
 * @handler: callback of the id
 * @port:    IP port, 0 for any
 * @peer:    address and port with which the id will connect, or NULL. Ids with different peers may
 *           have the same port
 */
struct rdma_cm_id *kdapl_cm_bind(struct kdapl_ia *ia, const struct sockaddr_storage *own,
				 struct ib_device *ibdev, rdma_cm_event_handler handler,
				 void *context, u16 port, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage addr = *own;
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(ia->net, handler, context, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	kdapl_cm_set_port(&addr, port);
	/* The CM chooses the port now, before rdma_resolve_addr() tells it the peer */
	if (peer)
		id->route.addr.dst_addr = *peer;
	ret = rdma_bind_addr(id, (struct sockaddr *)&addr);
	if (!ret && (id->device != ibdev || id->port_num != ia->port))
		ret = -ENODEV;
	if (!ret)
		return id;
	rdma_destroy_id(id);
	/*
	 * The CM returns the same error if the port is in use on all addresses, and if no
	 * port is free
	 */
	if (ret == -EADDRNOTAVAIL && kdapl_addr_on_port(ibdev, ia->port, own, ia->net))
		ret = -EADDRINUSE;
	return ERR_PTR(ret);
}

/*
 * Looks for a route to a peer. rdma_cm looks up a route through the net device of the IA, and then
 * the kernel assumes that every address is on its link. So this function passes only the VRF to
 * which the net device may belong, because it determines the routing table. Neighbour discovery
 * decides for IPv6. Returns 0, -ENETUNREACH or another error. Process context.
 *
 * @id:     an id on its address
 * @remote: address of the peer, of the same family
 */
int kdapl_cm_route(const struct kdapl_ia *ia, const struct rdma_cm_id *id,
		   const struct sockaddr_storage *remote)
{
	struct flowi4 fl4 = {};
	struct rtable *rt;

	if (remote->ss_family != AF_INET)
		return 0;
	fl4.saddr = ((const struct sockaddr_in *)&ia->addr)->sin_addr.s_addr;
	fl4.daddr = ((const struct sockaddr_in *)remote)->sin_addr.s_addr;
	fl4.flowi4_oif = l3mdev_master_ifindex_by_index(ia->net,
							id->route.addr.dev_addr.bound_dev_if);
	rt = ip_route_output_key(ia->net, &fl4);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	ip_rt_put(rt);
	return 0;
}

/*
 * Returns true if a connection is impossible, because the device failed, or the address was lost
 * and is still missing. Used for an attempt that has just begun: no earlier failure has broken it.
 * @ibdev: the device, not removed
 */
static bool kdapl_ep_unfit(const struct kdapl_ep *ep, struct ib_device *ibdev)
{
	const struct kdapl_ia *ia = ep->obj.ia;

	if (test_bit(0, &ia->catastrophic_raised))
		return true;
	return (READ_ONCE(ia->addr_lost) || ep->conn.other_addr) &&
	       !kdapl_addr_on_port(ibdev, ia->port,
				   (const struct sockaddr_storage *)&ep->conn.local, ia->net);
}

/*
 * Begins a connection attempt. If the address of the IA was lost in the meantime, which the CM
 * does not report, the work ends the attempt. Process context, ep->mutex held.
 *
 * @ep:      EP with a reserved notice (kdapl_notice_reserve())
 * @id:      its id, which belongs to the EP from now on
 * @passive: the EP accepts
 */
void kdapl_cm_begin(struct kdapl_ep *ep, struct rdma_cm_id *id, bool passive)
{
	struct ib_qp *qp = rcu_dereference_protected(ep->fast.qp, lockdep_is_held(&ep->mutex));
	/* The limit of C-51 includes the time that the end of the attempt takes */
	u64 ms = (u64)(KDAPL_ACCEPT_TIMEOUT_MS - KDAPL_DRAIN_TIMEOUT_MS) *
		 (kdapl_timeout_scale ?: 1);

	WRITE_ONCE(ep->conn.todo, 0);
	ep->conn.cm_id = id;
	ep->conn.give_up = 0;
	ep->drain.qp_left_init = false;
	ep->conn.posts_queued = false;

	spin_lock_irq(&ep->lock);
	ep->conn.passive = passive;
	ep->conn.fail_number = 0;
	ep->conn.private_len = 0;
	ep->conn.outcome_owed = true;
	ep->conn.cancelled = false;
	ep->conn.ended_cleanly = false;
	ep->conn.peer_gone = false;
	memset(&ep->first_error, 0, sizeof(ep->first_error));
	memset(&ep->conn.status, 0, sizeof(ep->conn.status));
	kdapl_ep_set_state(ep, passive ? DAT_EP_STATE_COMPLETION_PENDING :
			   DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	spin_unlock_irq(&ep->lock);

	if (passive)
		kdapl_cm_timer_start(ep, ms * NSEC_PER_MSEC);
	/* An earlier break was cleared above; the code that set it has changed the IA before */
	smp_mb();
	if (kdapl_ep_unfit(ep, qp->device) || kdapl_addr_unbound(id))
		kdapl_ep_schedule(ep, KDAPL_TODO_BREAK);
}

static void kdapl_cm_timer_next(struct kdapl_ep *ep)
{
	/* The caller may have been preempted, so the deadline may have passed */
	s64 ns = max(ktime_to_ns(ktime_sub(ep->conn.deadline, ktime_get())), 0LL);
	/* One more, because a part of the current jiffy has passed */
	unsigned long left = nsecs_to_jiffies(ns) + 1;

	/* The timer wheel rounds long delays up: expire early, and check again then (C-55) */
	if (left > KDAPL_TIMER_EXACT)
		left -= left / 8 + 1;
	queue_delayed_work(kdapl_wq, &ep->conn.timer, left);
}

/*
 * Work function of an EP's timer. The jiffies may have been late when the timer was started and
 * have caught up since, so the clock decides whether the deadline has passed. Process context.
 */
void kdapl_cm_timer(struct work_struct *work)
{
	struct kdapl_ep *ep = container_of(to_delayed_work(work), struct kdapl_ep, conn.timer);

	if (ktime_before(ktime_get(), ep->conn.deadline))
		kdapl_cm_timer_next(ep);
	else
		kdapl_ep_schedule(ep, KDAPL_TODO_TIMEOUT);
}

/*
 * Starts the timer that sets KDAPL_TODO_TIMEOUT. @delay: nanoseconds; the timer does not expire
 * earlier. Process context, ep->mutex held.
 */
void kdapl_cm_timer_start(struct kdapl_ep *ep, u64 delay)
{
	ep->conn.deadline = ktime_add_ns(ktime_get(), delay);
	kdapl_cm_timer_next(ep);
}
