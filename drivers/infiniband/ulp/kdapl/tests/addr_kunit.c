// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the addresses that IAs stand on: found, lost, and in which network
 * namespace; ports of theirs that others have taken.
 *
 * Addresses are those of net devices as IPoIB makes them, on the fake port:
 * the kernel gives one an IPv6 address when it comes up and takes it when it
 * goes down or to another network namespace. Runs in a KUnit thread.
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include "post_kunit.h"

static struct tp_env *env;
static struct fake_dev *neighbour;
static struct tp_ep ep, second, third;

static void expect_conn(struct kunit *test, struct tp_ep *tep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
	KUNIT_EXPECT_EQ(test, tep->ep->state, DAT_EP_STATE_DISCONNECTED);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_QUEUE_EMPTY);
}

static void make(struct kunit *test, struct tp_ep *tep)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, tep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, tep, TP_RECV, 1, 0), DAT_SUCCESS);
}

/* ---- addresses that go (C-62) ------------------------------------------------ */

/* What the core says to its clients when an entry of a RoCE port's table has gone */
static void gid_change(void)
{
	struct ib_event_handler *handler = &env->ia->dev->handler;
	struct ib_event event = {
		.device = &env->fake->ibdev,
		.event = IB_EVENT_GID_CHANGE,
		.element.port_num = 1,
	};

	handler->handler(handler, &event);
}

/* Both kinds of attempt, and a connection */
static void make_three(struct kunit *test)
{
	make(test, &ep);
	make(test, &second);
	make(test, &third);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&second, false));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&third, true));
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_EQ(test, second.ep->state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	KUNIT_EXPECT_EQ(test, third.ep->state, DAT_EP_STATE_COMPLETION_PENDING);
}

static bool all_over(void)
{
	return READ_ONCE(ep.ep->state) == DAT_EP_STATE_DISCONNECTED &&
	       READ_ONCE(second.ep->state) == DAT_EP_STATE_DISCONNECTED &&
	       READ_ONCE(third.ep->state) == DAT_EP_STATE_DISCONNECTED;
}

static void expect_lost(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(all_over()));
	fake_settle(env->fake);
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_conn(test, &second, DAT_CONNECTION_EVENT_UNREACHABLE);
	expect_conn(test, &third, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &second, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &third, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
}

/* The address of the suite's IA was never that of a net device */
static void C_62_a_GID_has_gone(struct kunit *test)
{
	kdapl_clauses(test, "C-62 C-30 C-40 C-41");
	make_three(test);
	gid_change();
	expect_lost(test);
}

/* The loss is told between the id's binding and the beginning of the attempt */
static void C_62_lost_before_the_attempt_began(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-62");
	make(test, &ep);
	id = rdma_create_id(&init_net, kdapl_cm_handler, ep.ep, RDMA_PS_TCP, IB_QPT_RC);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	mutex_lock(&ep.ep->mutex);
	gid_change();
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(test_bit(KDAPL_TODO_BREAK, &ep.ep->todo)));
	kdapl_cm_begin(ep.ep, id, false);
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

static netdev_tx_t drop_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops ipoib_ops = { .ndo_start_xmit = drop_xmit };

static void ipoib_setup(struct net_device *ndev)
{
	ndev->netdev_ops = &ipoib_ops;
	ndev->type = ARPHRD_INFINIBAND;
	ndev->addr_len = 20;
	ndev->hard_header_len = 4;
	ndev->mtu = 2044;
	ndev->flags = IFF_NOARP | IFF_BROADCAST | IFF_MULTICAST;
	ndev->priv_flags |= IFF_NO_QUEUE;
}

static struct net_device *ipoib, *another;
static struct net *other;

static void ipoib_up(struct kunit *test, struct net_device *ndev)
{
	int err;

	rtnl_lock();
	err = dev_open(ndev, NULL);
	rtnl_unlock();
	KUNIT_ASSERT_EQ(test, err, 0);
}

static void ipoib_down(struct net_device *ndev)
{
	rtnl_lock();
	dev_close(ndev);
	rtnl_unlock();
}

/* A net device on the fake port, up */
static void ipoib_add(struct kunit *test, struct fake_dev *fake, struct net_device **out)
{
	struct net_device *ndev;
	u8 hw[20] = {};
	union ib_gid gid;

	KUNIT_ASSERT_EQ(test, rdma_query_gid(&fake->ibdev, 1, 0, &gid), 0);
	memcpy(hw + 4, gid.raw, sizeof(gid));
	ndev = alloc_netdev(0, "kdaplib%d", NET_NAME_UNKNOWN, ipoib_setup);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	*out = ndev;
	dev_addr_set(ndev, hw);
	KUNIT_ASSERT_EQ(test, register_netdev(ndev), 0);
	ipoib_up(test, ndev);
}

static void ipoib_remove(struct net_device **ndev)
{
	if (!*ndev)
		return;
	if ((*ndev)->reg_state == NETREG_REGISTERED)
		unregister_netdev(*ndev);
	free_netdev(*ndev);
	*ndev = NULL;
}

/* The last eight bytes of the hardware address, as a link-local address */
static struct in6_addr link_local(const struct net_device *ndev)
{
	struct in6_addr addr = { .s6_addr = { 0xfe, 0x80 } };

	memcpy(&addr.s6_addr[8], ndev->dev_addr + 12, 8);
	addr.s6_addr[8] |= 2;
	return addr;
}

/* What an IA would stand on that is opened by @base, with @scope or "" */
static int resolve(const char *base, const struct net_device *ndev, const char *scope,
		   struct kdapl_device **dev, struct sockaddr_in6 *in6, struct net **net)
{
	struct in6_addr want = link_local(ndev);
	char name[DAT_NAME_MAX_LENGTH];
	struct sockaddr_storage addr = {};
	u32 port;
	int err;

	snprintf(name, sizeof(name), "%s@%pI6c%s%s", base, &want, *scope ? "%" : "", scope);
	mutex_lock(&kdapl_device_mutex);
	err = kdapl_device_resolve(name, dev, &port, &addr, net);
	mutex_unlock(&kdapl_device_mutex);
	if (!err && net)
		put_net(*net);
	*in6 = *(struct sockaddr_in6 *)&addr;
	return err;
}

/* A net device whose address is that of the IA */
static void ipoib_make(struct kunit *test)
{
	struct kdapl_device *dev;
	struct sockaddr_in6 in6;
	struct net *net;

	ipoib_add(test, env->fake, &ipoib);
	KUNIT_ASSERT_EQ(test, resolve(ipoib->name, ipoib, "", &dev, &in6, &net), 0);
	KUNIT_EXPECT_TRUE(test, net_eq(net, &init_net));
	KUNIT_EXPECT_PTR_EQ(test, dev->ibdev, &env->fake->ibdev);
	KUNIT_EXPECT_EQ(test, in6.sin6_family, AF_INET6);
	KUNIT_EXPECT_EQ(test, in6.sin6_scope_id, ipoib->ifindex);
	memcpy(&env->ia->addr, &in6, sizeof(in6));
}

static bool stands(const struct net *net)
{
	return kdapl_addr_stands(&env->fake->ibdev, 1, &env->ia->addr, net);
}

static void C_62_an_IPOIB_device_loses_its_address(struct kunit *test)
{
	kdapl_clauses(test, "C-62 C-30");
	ipoib_make(test);
	make_three(test);
	/* News of another one */
	kdapl_device_check_addrs(NULL, true);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_TRUE(test, stands(&init_net));
	ipoib_down(ipoib);
	KUNIT_EXPECT_FALSE(test, stands(&init_net));
	expect_lost(test);
	KUNIT_EXPECT_TRUE(test, env->ia->addr_lost);
	/* It comes back, and serves again */
	ipoib_up(test, ipoib);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_connect(&ep), 0);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
}

/* Takes the address away and gives it back; the watcher looks only afterwards */
static void ipoib_flap(struct kunit *test, struct net_device *ndev)
{
	mutex_lock(&kdapl_device_mutex);
	ipoib_down(ndev);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, dev_open(ndev, NULL), 0);
	rtnl_unlock();
	mutex_unlock(&kdapl_device_mutex);
	fake_settle(env->fake);
}

/*
 * Two net devices on the port have the address of the IA, as a loopback device may. The
 * address has no scope here, so that either of them counts.
 */
static void C_62_two_net_devices_have_the_address(struct kunit *test)
{
	kdapl_clauses(test, "C-62");
	ipoib_make(test);
	ipoib_add(test, env->fake, &another);
	((struct sockaddr_in6 *)&env->ia->addr)->sin6_scope_id = 0;
	make_three(test);
	/* Deleted on one of them, the address leads to the port by the other one */
	ipoib_down(another);
	fake_settle(env->fake);
	KUNIT_EXPECT_FALSE(test, env->ia->addr_lost);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	ipoib_up(test, another);
	ipoib_flap(test, ipoib);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	/* On the last one it was deleted, although it is there when the watcher looks */
	ipoib_down(another);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	ipoib_flap(test, ipoib);
	KUNIT_EXPECT_TRUE(test, stands(&init_net));
	expect_lost(test);
}

/* ---- network namespaces ------------------------------------------------------ */

/* Some namespace beside the initial one; who runs the suite has made one */
static bool find_other(void)
{
	struct net *net;

	rcu_read_lock();
	for_each_net_rcu(net) {
		if (net_eq(net, &init_net))
			continue;
		other = maybe_get_net(net);
		if (other)
			break;
	}
	rcu_read_unlock();
	return other;
}

static void ipoib_move(struct kunit *test, struct net *net)
{
	int err;

	rtnl_lock();
	err = dev_change_net_namespace(ipoib, net, "kdaplib%d");
	if (!err)
		err = dev_open(ipoib, NULL);
	rtnl_unlock();
	KUNIT_ASSERT_EQ(test, err, 0);
}

static void C_62_a_net_device_leaves_its_namespace(struct kunit *test)
{
	kdapl_clauses(test, "C-62 C-30");
	if (!find_other())
		kunit_skip(test, "needs a second network namespace");
	ipoib_make(test);
	make_three(test);
	/* With the same address, on the same port, but elsewhere */
	ipoib_move(test, other);
	KUNIT_EXPECT_TRUE(test, stands(other));
	KUNIT_EXPECT_FALSE(test, stands(&init_net));
	expect_lost(test);
	ipoib_move(test, &init_net);
	KUNIT_EXPECT_TRUE(test, stands(&init_net));
	KUNIT_EXPECT_FALSE(test, stands(other));
}

/* Who may name net devices in a container must not stand in the way of ours */
static void a_name_means_the_net_device_of_the_initial_namespace(struct kunit *test)
{
	struct kdapl_device *dev;
	struct sockaddr_in6 in6;
	char name[IFNAMSIZ];
	struct net *net;

	if (!find_other())
		kunit_skip(test, "needs a second network namespace");
	ipoib_make(test);
	strscpy(name, ipoib->name, sizeof(name));
	ipoib_move(test, other);
	KUNIT_ASSERT_STREQ(test, ipoib->name, name);
	KUNIT_ASSERT_EQ(test, resolve(name, ipoib, "", &dev, &in6, &net), 0);
	KUNIT_EXPECT_PTR_EQ(test, dev->ibdev, &env->fake->ibdev);
	/* Of the same name, with the same address, on a device that came later */
	neighbour = fake_dev_create();
	KUNIT_ASSERT_FALSE(test, IS_ERR(neighbour));
	ipoib_add(test, neighbour, &another);
	KUNIT_ASSERT_STREQ(test, another->name, name);
	KUNIT_ASSERT_EQ(test, resolve(name, ipoib, "", &dev, &in6, &net), 0);
	KUNIT_EXPECT_PTR_EQ(test, dev->ibdev, &neighbour->ibdev);
	KUNIT_EXPECT_TRUE(test, net_eq(net, &init_net));
	KUNIT_EXPECT_EQ(test, in6.sin6_scope_id, another->ifindex);
	KUNIT_EXPECT_EQ(test, resolve(name, ipoib, "", &dev, &in6, NULL), 0);
	ipoib_down(another);
	KUNIT_ASSERT_EQ(test, resolve(name, ipoib, "", &dev, &in6, &net), 0);
	KUNIT_EXPECT_TRUE(test, net_eq(net, other));
}

static void ids_are_made_in_the_namespace_of_the_address(struct kunit *test)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[DAT_NAME_MAX_LENGTH];
	struct rdma_cm_id *id;
	struct kdapl_obj *obj;
	struct kdapl_ia *ia;
	DAT_IA_HANDLE handle;

	if (!find_other())
		kunit_skip(test, "needs a second network namespace");
	ipoib_make(test);
	ipoib_move(test, other);
	snprintf(name, sizeof(name), "%s@%pI6c", ipoib->name,
		 &((struct sockaddr_in6 *)&env->ia->addr)->sin6_addr);
	KUNIT_ASSERT_EQ(test, dat_ia_open(name, 8, &async, &handle), DAT_SUCCESS);
	obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_IA);
	ia = to_kdapl_ia(obj);
	KUNIT_EXPECT_TRUE(test, net_eq(ia->net, other));
	id = kdapl_cm_bind(ia, &env->fake->ibdev, kdapl_cm_handler, NULL, 0);
	KUNIT_EXPECT_FALSE(test, IS_ERR(id));
	if (!IS_ERR(id)) {
		KUNIT_EXPECT_TRUE(test, net_eq(id->route.addr.dev_addr.net, other));
		rdma_destroy_id(id);
	}
	kdapl_obj_put(obj);
	KUNIT_EXPECT_EQ(test, dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void what_a_device_cannot_do_is_refused(struct kunit *test)
{
	struct ib_device *rxe = kunit_kzalloc(test, sizeof(*rxe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rxe);
	rxe->ops.driver_id = RDMA_DRIVER_RXE;
	KUNIT_EXPECT_TRUE(test, kdapl_addr_serves(rxe, &init_net));
	KUNIT_EXPECT_FALSE(test, kdapl_addr_serves(rxe, NULL));
	KUNIT_EXPECT_TRUE(test, kdapl_addr_serves(&env->fake->ibdev, NULL));
}

/* ---- scopes -------------------------------------------------------------------- */

/* As with a VLAN and its base: one port, two net devices, one link-local address */
static void a_link_local_address_is_that_of_its_net_device(struct kunit *test)
{
	const char *port = dev_name(&env->fake->ibdev.dev);
	struct kdapl_device *dev;
	struct sockaddr_in6 in6;

	kdapl_clauses(test, "C-62");
	ipoib_make(test);
	ipoib_add(test, env->fake, &another);
	KUNIT_ASSERT_EQ(test, resolve(port, ipoib, ipoib->name, &dev, &in6, NULL), 0);
	KUNIT_EXPECT_EQ(test, in6.sin6_scope_id, ipoib->ifindex);
	KUNIT_ASSERT_EQ(test, resolve(port, ipoib, another->name, &dev, &in6, NULL), 0);
	KUNIT_EXPECT_EQ(test, in6.sin6_scope_id, another->ifindex);
	/* Without a scope any will do */
	KUNIT_EXPECT_EQ(test, resolve(port, ipoib, "", &dev, &in6, NULL), 0);
	KUNIT_EXPECT_EQ(test, resolve(port, ipoib, "lo", &dev, &in6, NULL), -EADDRNOTAVAIL);
	make_three(test);
	ipoib_down(another);
	fake_settle(env->fake);
	KUNIT_EXPECT_TRUE(test, stands(&init_net));
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	/* The other has the same; it is not this one */
	ipoib_up(test, another);
	ipoib_down(ipoib);
	KUNIT_EXPECT_FALSE(test, stands(&init_net));
	expect_lost(test);
}

/* ---- ports of the address ------------------------------------------------------ */

#define PORT	40117

/* Somebody else has the port, at whatever address it is called */
static struct rdma_cm_id *take_port(struct kunit *test)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(&init_net, kdapl_cm_handler, NULL, RDMA_PS_TCP, IB_QPT_RC);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	err = rdma_bind_addr(id, (struct sockaddr *)&any);
	if (err)
		rdma_destroy_id(id);
	KUNIT_ASSERT_EQ(test, err, 0);
	return id;
}

static int bind_port(void)
{
	struct rdma_cm_id *id = kdapl_cm_bind(env->ia, &env->fake->ibdev, kdapl_cm_handler, NULL,
					      PORT);

	if (IS_ERR(id))
		return PTR_ERR(id);
	rdma_destroy_id(id);
	return 0;
}

/* The CM has one word for a port that somebody has on all addresses, and for no address */
static void a_port_taken_on_all_addresses_is_in_use(struct kunit *test)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	struct rdma_cm_id *taken;
	DAT_EVD_HANDLE evd;
	DAT_HANDLE sp;

	ipoib_make(test);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG,
					      &evd), DAT_SUCCESS);
	taken = take_port(test);
	KUNIT_EXPECT_EQ(test, bind_port(), -EADDRINUSE);
	TP_EXPECT_TYPE(test, dat_psp_create(ia, PORT, evd, 0, &sp), DAT_CONN_QUAL_IN_USE);
	TP_EXPECT_TYPE(test, dat_rsp_create(ia, PORT, ep.handle, evd, &sp), DAT_CONN_QUAL_IN_USE);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_UNCONNECTED);
	rdma_destroy_id(taken);
	KUNIT_EXPECT_EQ(test, bind_port(), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
}

/* ---- a bond over the ports of a device -------------------------------------------- */

static void two_ports(struct kunit *test)
{
	tp_env_destroy(env);
	env = tp_env_create_on(fake_dev_create_two_ports());
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, env);
	ipoib_make(test);
}

/* Gives the net device the hardware address of a port, and reports it as @event */
static void moves(struct kunit *test, u32 port, unsigned long event)
{
	union ib_gid gid;
	u8 hw[20] = {};

	KUNIT_ASSERT_EQ(test, rdma_query_gid(&env->fake->ibdev, port, 0, &gid), 0);
	memcpy(hw + 4, gid.raw, sizeof(gid));
	rtnl_lock();
	dev_addr_set(ipoib, hw);
	call_netdevice_notifiers(event, ipoib);
	rtnl_unlock();
}

static u32 listens_on(struct kdapl_sp *sp)
{
	u32 port;

	mutex_lock(&sp->mutex);
	port = sp->id ? sp->id->port_num : 0;
	mutex_unlock(&sp->mutex);
	return port;
}

/* Connects an EP by an id that is really bound to the address */
static void connect_bound(struct kunit *test, struct tp_ep *tep)
{
	struct rdma_cm_id *id = kdapl_cm_bind(env->ia, &env->fake->ibdev, kdapl_cm_handler,
					      tep->ep, 0);
	DAT_EVENT event;

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	mutex_lock(&tep->ep->mutex);
	kdapl_cm_begin(tep->ep, id, false);
	tep->ep->raised = true;
	mutex_unlock(&tep->ep->mutex);
	tp_qp(tep)->state = IB_QPS_RTS;
	KUNIT_ASSERT_TRUE(test, kdapl_ep_go_live(tep->ep));
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_SUCCESS);
}

static struct kdapl_sp *listen(struct kunit *test, DAT_EVD_HANDLE *evd)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	DAT_PSP_HANDLE handle;
	struct kdapl_obj *obj;

	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG,
					      evd), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_psp_create(ia, PORT, *evd, DAT_PSP_CONSUMER_FLAG, &handle),
			DAT_SUCCESS);
	obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_PSP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	kdapl_obj_put(obj);
	return to_kdapl_sp(obj);
}

static void C_62_an_IA_goes_along_with_its_bond(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	struct rdma_cm_id *child;
	DAT_EVENT got = {};
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-62 C-30");
	two_ports(test);
	make(test, &ep);
	connect_bound(test, &ep);
	sp = listen(test, &evd);
	KUNIT_EXPECT_EQ(test, listens_on(sp), 1);

	moves(test, 2, NETDEV_BONDING_FAILOVER);
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(listens_on(sp) == 2));
	KUNIT_EXPECT_EQ(test, env->ia->port, 2);
	child = kdapl_cm_bind(env->ia, &env->fake->ibdev, kdapl_cm_handler, sp, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(child));
	KUNIT_EXPECT_EQ(test, sp->id->event_handler(child, &event), 0);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &got), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, got.event_number, DAT_CONNECTION_REQUEST_EVENT);
	/* The path of the connection is between ports, and its port is there */
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	fake_port_set(env->fake, false);
	flush_workqueue(ib_wq);
	kdapl_device_check_addrs(NULL, true);
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(READ_ONCE(ep.ep->state) ==
					    DAT_EP_STATE_DISCONNECTED));
	fake_settle(env->fake);
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
}

/* Without a bond: the IPoIB device itself has a new hardware address */
static void C_62_an_IA_goes_along_with_a_hardware_address(struct kunit *test)
{
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-62");
	two_ports(test);
	sp = listen(test, &evd);
	KUNIT_EXPECT_EQ(test, listens_on(sp), 1);
	moves(test, 2, NETDEV_CHANGEADDR);
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(listens_on(sp) == 2));
	KUNIT_EXPECT_EQ(test, env->ia->port, 2);
}

/*
 * The IA has followed its address before the old port is down, so that nothing
 * but the CM tells the EP that its path leads nowhere.
 */
static void C_62_the_CM_tells_an_EP_of_a_failover(struct kunit *test)
{
	kdapl_clauses(test, "C-62 C-30");
	two_ports(test);
	make(test, &ep);
	connect_bound(test, &ep);
	/* The watcher, which a late address event may schedule, must not act meanwhile */
	mutex_lock(&kdapl_device_mutex);
	env->ia->port = 2;
	fake_port_set(env->fake, false);
	flush_workqueue(ib_wq);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	tp_cm_says(ep.ep->cm_id, RDMA_CM_EVENT_ADDR_CHANGE);
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(READ_ONCE(ep.ep->state) ==
					    DAT_EP_STATE_DISCONNECTED));
	env->ia->port = 1;
	mutex_unlock(&kdapl_device_mutex);
	fake_settle(env->fake);
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
}

static int deaf(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/* Has the service point replaced the id that the test disabled? */
static bool hears(struct kdapl_sp *sp)
{
	bool ok;

	mutex_lock(&sp->mutex);
	ok = sp->id && sp->id->event_handler != deaf;
	mutex_unlock(&sp->mutex);
	return ok;
}

/* The CM reports ADDR_CHANGE to an id on a bond that has failed over */
static void the_CM_tells_of_a_failover(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_CHANGE };
	rdma_cm_event_handler handler;
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	ipoib_make(test);
	make(test, &ep);
	connect_bound(test, &ep);
	sp = listen(test, &evd);
	handler = sp->id->event_handler;
	sp->id->event_handler = deaf;
	KUNIT_EXPECT_EQ(test, handler(sp->id, &event), 0);
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(hears(sp)));
	KUNIT_EXPECT_EQ(test, listens_on(sp), 1);
	tp_cm_says(ep.ep->cm_id, RDMA_CM_EVENT_ADDR_CHANGE);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	/* The peer's bond has failed over: the neighbour has a new hardware address */
	tp_cm_says(ep.ep->cm_id, RDMA_CM_EVENT_UNREACHABLE);
	fake_settle(env->fake);
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
}

/* ---- the module that opens an IA ---------------------------------------------- */

static bool open(DAT_IA_HANDLE ia)
{
	DAT_HANDLE_TYPE type;

	return dat_get_handle_type(ia, &type) == DAT_SUCCESS;
}

/* Here the module is kdapl itself. The IA of the fixture has no owner */
static void an_IA_goes_with_the_module_that_has_opened_it(struct kunit *test)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct module *self = THIS_MODULE;
	char name[DAT_NAME_MAX_LENGTH];
	DAT_IA_HANDLE ia;

	if (!self)
		kunit_skip(test, "kdapl is no module");
	ipoib_make(test);
	snprintf(name, sizeof(name), "%s@%pI6c", ipoib->name,
		 &((struct sockaddr_in6 *)&env->ia->addr)->sin6_addr);
	KUNIT_ASSERT_EQ(test, dat_ia_open(name, 8, &async, &ia), DAT_SUCCESS);
	kdapl_module_nb.notifier_call(&kdapl_module_nb, MODULE_STATE_LIVE, self);
	KUNIT_EXPECT_TRUE(test, open(ia));
	kdapl_module_nb.notifier_call(&kdapl_module_nb, MODULE_STATE_GOING, self);
	KUNIT_EXPECT_FALSE(test, open(ia));
	KUNIT_EXPECT_TRUE(test, open(kdapl_obj_handle(&env->ia->obj)));
	if (open(ia))
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* ---- a service point that is being made ------------------------------------------ */

/* Binds and listens; kdapl_sp_start() is to follow. The IA is entered */
static struct kdapl_sp *make_sp(struct kunit *test, DAT_EVD_HANDLE *evd)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	struct kdapl_evd *to;
	struct kdapl_sp *sp;

	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG,
					      evd), DAT_SUCCESS);
	to = kdapl_sp_evd(env->ia, *evd);
	KUNIT_ASSERT_NOT_NULL(test, to);
	KUNIT_ASSERT_TRUE(test, kdapl_ia_enter(env->ia));
	sp = kdapl_sp_create(env->ia, to, PORT, DAT_HANDLE_NULL);
	kdapl_obj_put(&to->obj);
	if (IS_ERR(sp))
		kdapl_ia_leave(env->ia);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sp));
	return sp;
}

static void start_sp(struct kdapl_sp *sp)
{
	DAT_HANDLE handle;

	kdapl_sp_start(sp, NULL, &handle);
	kdapl_ia_leave(env->ia);
}

static void C_62_the_address_moves_before_the_service_point_starts(struct kunit *test)
{
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-62");
	tp_env_destroy(env);
	env = tp_env_create_on(fake_dev_create_two_ports());
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, env);
	ipoib_make(test);
	sp = make_sp(test, &evd);
	/* The watcher does not find the service point yet */
	moves(test, 2, NETDEV_BONDING_FAILOVER);
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(READ_ONCE(env->ia->port) == 2));
	mutex_lock(&kdapl_device_mutex);
	mutex_unlock(&kdapl_device_mutex);
	start_sp(sp);
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(listens_on(sp) == 2));
}

/* Creating it may still fail, and free it: until it has started it must have no work */
static void C_62_the_CM_tells_of_a_failover_before_the_start(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_CHANGE };
	rdma_cm_event_handler handler;
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-62");
	ipoib_make(test);
	sp = make_sp(test, &evd);
	handler = sp->id->event_handler;
	sp->id->event_handler = deaf;
	/* A work item would wait for the mutex, so that it cannot be missed */
	mutex_lock(&sp->mutex);
	KUNIT_EXPECT_EQ(test, handler(sp->id, &event), 0);
	KUNIT_EXPECT_EQ(test, work_busy(&sp->work), 0U);
	mutex_unlock(&sp->mutex);
	flush_work(&sp->work);
	start_sp(sp);
	KUNIT_EXPECT_TRUE(test, TP_WAIT_FOR(hears(sp)));
	KUNIT_EXPECT_EQ(test, listens_on(sp), 1);
}

/* ---- suite -------------------------------------------------------------------- */

static int addr_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	memset(&second, 0, sizeof(second));
	memset(&third, 0, sizeof(third));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void addr_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	tp_ep_free(&ep);
	tp_ep_free(&second);
	tp_ep_free(&third);
	tp_env_destroy(env);
	env = NULL;
	ipoib_remove(&ipoib);
	ipoib_remove(&another);
	if (!IS_ERR_OR_NULL(neighbour))
		fake_dev_destroy(neighbour);
	neighbour = NULL;
	if (other)
		put_net(other);
	other = NULL;
}

static struct kunit_case addr_cases[] = {
	KUNIT_CASE(C_62_a_GID_has_gone),
	KUNIT_CASE(C_62_lost_before_the_attempt_began),
	KUNIT_CASE(C_62_an_IPOIB_device_loses_its_address),
	KUNIT_CASE(C_62_two_net_devices_have_the_address),
	KUNIT_CASE(C_62_a_net_device_leaves_its_namespace),
	KUNIT_CASE(a_name_means_the_net_device_of_the_initial_namespace),
	KUNIT_CASE(ids_are_made_in_the_namespace_of_the_address),
	KUNIT_CASE(what_a_device_cannot_do_is_refused),
	KUNIT_CASE(a_link_local_address_is_that_of_its_net_device),
	KUNIT_CASE(a_port_taken_on_all_addresses_is_in_use),
	KUNIT_CASE(C_62_an_IA_goes_along_with_its_bond),
	KUNIT_CASE(the_CM_tells_of_a_failover),
	KUNIT_CASE(C_62_an_IA_goes_along_with_a_hardware_address),
	KUNIT_CASE(C_62_the_CM_tells_an_EP_of_a_failover),
	KUNIT_CASE(an_IA_goes_with_the_module_that_has_opened_it),
	KUNIT_CASE(C_62_the_address_moves_before_the_service_point_starts),
	KUNIT_CASE(C_62_the_CM_tells_of_a_failover_before_the_start),
	{}
};

static struct kunit_suite addr_suite = {
	.name = "kdapl_addr",
	.init = addr_init,
	.exit = addr_exit,
	.test_cases = addr_cases,
};

kunit_test_suite(addr_suite);
