// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: addresses of a RoCE port that are deleted and added again before the watcher
 * runs, or whose GID is deleted later; a bond that fails over, which deletes no address;
 * the partition of a path.
 *
 * The fake device has a RoCE port on an Ethernet device of the suite. Its address is a
 * link-local one that is not derived from the hardware address, because such an address
 * stays in the GID table when the net device goes down. Ids are bound to it. Runs in a KUnit
 * thread.
 */
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/ib_cache.h>
#include "post_kunit.h"

static struct net_device *port;
static struct tp_env *env;
static struct tp_ep ep, second;

/* ---- the net device ---------------------------------------------------------- */

static netdev_tx_t drop_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops port_ops = { .ndo_start_xmit = drop_xmit };

static void port_setup(struct net_device *ndev)
{
	ether_setup(ndev);
	ndev->netdev_ops = &port_ops;
	ndev->flags |= IFF_NOARP;
	ndev->priv_flags |= IFF_NO_QUEUE;
	eth_hw_addr_random(ndev);
}

static int port_up(void)
{
	struct inet6_dev *idev;
	int err;

	rtnl_lock();
	idev = __in6_dev_get(port);
	if (idev)
		idev->cnf.addr_gen_mode = IN6_ADDR_GEN_MODE_RANDOM;
	err = idev ? dev_open(port, NULL) : -ENODEV;
	rtnl_unlock();
	return err;
}

static void port_down(void)
{
	rtnl_lock();
	dev_close(port);
	rtnl_unlock();
}

/* The address that the kernel has assigned; false if it has none */
static bool port_address(struct sockaddr_in6 *addr)
{
	struct inet6_ifaddr *ifa;
	struct inet6_dev *idev;

	memset(addr, 0, sizeof(*addr));
	rtnl_lock();
	idev = __in6_dev_get(port);
	if (idev) {
		read_lock_bh(&idev->lock);
		list_for_each_entry(ifa, &idev->addr_list, if_list) {
			addr->sin6_family = AF_INET6;
			addr->sin6_addr = ifa->addr;
			addr->sin6_scope_id = port->ifindex;
		}
		read_unlock_bh(&idev->lock);
	}
	rtnl_unlock();
	return addr->sin6_family;
}

static bool on_port(void)
{
	return kdapl_addr_on_port(&env->fake->ibdev, 1, &env->ia->addr, &init_net);
}

/* Deletes the address and adds it again; the watcher runs only afterwards */
static void flap(struct kunit *test)
{
	bool went, came;
	int err;

	mutex_lock(&kdapl_device_mutex);
	port_down();
	went = kdapl_sleep_until(!on_port());
	err = port_up();
	came = kdapl_sleep_until(on_port());
	mutex_unlock(&kdapl_device_mutex);
	KUNIT_ASSERT_EQ(test, err, 0);
	KUNIT_ASSERT_TRUE(test, went);
	KUNIT_ASSERT_TRUE(test, came);
}

/* ---- what was bound ------------------------------------------------------------ */

static struct rdma_cm_id *bind(struct kunit *test, struct tp_ep *tep)
{
	struct rdma_cm_id *id = kdapl_cm_bind(env->ia, &env->ia->addr, &env->fake->ibdev,
					      kdapl_cm_handler, tep->ep, 0, NULL);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	return id;
}

static void expect_end(struct kunit *test, struct tp_ep *tep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event = {};

	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(tep->ep->state) ==
						  DAT_EP_STATE_DISCONNECTED));
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
	KUNIT_EXPECT_EQ(test, tp_events(tep->connect_evd), 0);
}

static void make_two(struct kunit *test)
{
	DAT_EVENT event = {};

	KUNIT_ASSERT_EQ(test, tp_begin_with(&ep, bind(test, &ep), false), 0);
	KUNIT_ASSERT_EQ(test, tp_begin_with(&second, bind(test, &second), false), 0);
	KUNIT_ASSERT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void C_62_an_address_is_lost_and_restored_at_once(struct kunit *test)
{
	kdapl_clauses(test, "C-62 C-30 C-41");
	make_two(test);
	flap(test);
	expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_end(test, &second, DAT_CONNECTION_EVENT_UNREACHABLE);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!READ_ONCE(env->ia->addr_lost)));
	/* Ids that are bound to the new one stay */
	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_reset(second.handle), DAT_SUCCESS);
	make_two(test);
	mutex_lock(&kdapl_device_mutex);
	kdapl_ia_address_moved(env->ia);
	mutex_unlock(&kdapl_device_mutex);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_EQ(test, second.ep->state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
}

/* Between the binding of the id and the beginning of the attempt */
static void C_62_address_lost_and_restored_before_the_attempt(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-62");
	id = bind(test, &ep);
	flap(test);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, tp_begin_with(&ep, id, false), 0);
	expect_end(test, &ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* Other events run the watcher while the GID of the address is missing */
static void C_62_other_events_do_not_shorten_the_grace_time(struct kunit *test)
{
	struct sockaddr_in6 *addr = (struct sockaddr_in6 *)&env->ia->addr;
	unsigned long missed_at = jiffies + 1000 * HZ;

	kdapl_clauses(test, "C-62");
	mutex_lock(&kdapl_device_mutex);
	addr->sin6_addr.s6_addr[15] ^= 1;
	env->ia->addr_missed = true;
	env->ia->addr_missed_at = missed_at;
	mutex_unlock(&kdapl_device_mutex);
	KUNIT_EXPECT_TRUE(test, kdapl_device_check_addrs(NULL, false));
	KUNIT_EXPECT_EQ(test, env->ia->addr_missed_at, missed_at);
	KUNIT_EXPECT_FALSE(test, env->ia->addr_lost);
	mutex_lock(&kdapl_device_mutex);
	addr->sin6_addr.s6_addr[15] ^= 1;
	mutex_unlock(&kdapl_device_mutex);
	KUNIT_EXPECT_FALSE(test, kdapl_device_check_addrs(NULL, false));
	KUNIT_EXPECT_FALSE(test, env->ia->addr_missed);
}

static struct kdapl_notice *notice(void)
{
	struct kdapl_device *dev = env->ia->dev;
	struct kdapl_notice *found;

	kdapl_notice_schedule(dev);
	fake_settle(env->fake);
	spin_lock_irq(&dev->notice_lock);
	found = list_first_entry_or_null(&dev->notices, struct kdapl_notice, node);
	spin_unlock_irq(&dev->notice_lock);
	return found;
}

static bool notice_sent(void)
{
	struct kdapl_notice *found = notice();

	return found && found->sent;
}

/*
 * The core deletes the GID of a deleted address later. Until then the disconnect would
 * leave with an address that does not exist, which is the end of QP 1 on rxe.
 */
static void C_60_no_disconnect_from_a_deleted_address(struct kunit *test)
{
	struct in6_addr *src;

	kdapl_clauses(test, "C-60 C-62");
	make_two(test);
	src = &((struct sockaddr_in6 *)&ep.ep->conn.cm_id->route.addr.src_addr)->sin6_addr;
	/* The port has no such address, and the GID of the id is valid */
	src->s6_addr[15] ^= 1;
	tp_ep_free(&ep);
	KUNIT_ASSERT_NOT_NULL(test, notice());
	KUNIT_EXPECT_FALSE(test, notice_sent());
	/* Once the GID is deleted, too, nothing will ever be sent */
	port_down();
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!notice()));
}

/* ---- link-local addresses ------------------------------------------------------- */

static struct sockaddr_in6 peer(u32 scope)
{
	return (struct sockaddr_in6){
		.sin6_family = AF_INET6,
		.sin6_addr = { .s6_addr = { 0xfe, 0x80, [15] = 1 } },
		.sin6_scope_id = scope,
	};
}

static DAT_RETURN dial(u32 scope)
{
	struct sockaddr_in6 to = peer(scope);

	return dat_ep_connect(ep.handle, (struct sockaddr *)&to, 1, DAT_TIMEOUT_INFINITE, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* The same address may be that of another host on another link */
static void a_peer_on_another_link_is_refused(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, dial(port->ifindex + 1),
			DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE));
	KUNIT_EXPECT_EQ(test, dial(port->ifindex), DAT_SUCCESS);
	dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dial(0), DAT_SUCCESS);
}

/* ---- attributes of the connection ------------------------------------------------- */

static void name_attrs(struct kunit *test, DAT_NAMED_ATTR *named, DAT_COUNT n)
{
	DAT_EP_PARAM param = {
		.ep_attr.ep_provider_specific_count = n,
		.ep_attr.ep_provider_specific = named,
	};

	KUNIT_ASSERT_EQ(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
					    DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &param),
			DAT_SUCCESS);
}

static void a_request_has_the_retry_counts_of_its_EP(struct kunit *test)
{
	DAT_NAMED_ATTR named[] = {
		{ "kdapl.retry_count", "2" }, { "kdapl.rnr_retry_count", "5" },
	};
	u32 i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, dial(0), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, ep.ep->conn.offer.retry_count, i ? 2 : KDAPL_MAX_RETRY);
		KUNIT_EXPECT_EQ(test, ep.ep->conn.offer.rnr_retry_count, i ? 5 : KDAPL_RNR_RETRY);
		dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
		KUNIT_EXPECT_TRUE(test, tp_wait_end(env, &ep));
		KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
		name_attrs(test, named, ARRAY_SIZE(named));
	}
}

static int traffic_class;

static int note_route(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		WRITE_ONCE(traffic_class, id->route.path_rec->traffic_class);
	return kdapl_cm_handler(id, event);
}

static void a_route_has_the_type_of_service_of_its_EP(struct kunit *test)
{
	DAT_NAMED_ATTR named = { "kdapl.type_of_service", "184" };
	struct sockaddr_storage to = {};
	struct rdma_cm_id *id;

	traffic_class = -1;
	*(struct sockaddr_in6 *)&to = peer(port->ifindex);
	name_attrs(test, &named, 1);
	id = bind(test, &ep);
	id->event_handler = note_route;
	KUNIT_ASSERT_EQ(test, tp_begin_with(&ep, id, false), 0);
	mutex_lock(&ep.ep->mutex);
	kdapl_cm_resolve(ep.ep, &to);
	mutex_unlock(&ep.ep->mutex);
	/* The fake device has no CM, so the attempt ends when the route is known */
	expect_end(test, &ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	KUNIT_EXPECT_EQ(test, traffic_class, 184);
}

/* ---- partitions --------------------------------------------------------------- */

static bool default_pkey_is_last(void)
{
	u16 pkey = 0;

	return !ib_get_cached_pkey(&env->fake->ibdev, 1, FAKE_PKEYS - 1, &pkey) &&
	       pkey == 0xffff;
}

/* The core looks for the partition of the path in the port's table */
static void a_QP_uses_the_partition_of_its_path(struct kunit *test)
{
	struct ib_event event = {
		.device = &env->fake->ibdev,
		.event = IB_EVENT_PKEY_CHANGE,
		.element.port_num = 1,
	};
	const struct rdma_conn_param req = {};
	struct rdma_cm_id *id;

	env->fake->personality |= FAKE_DEFAULT_PKEY_LAST;
	ib_dispatch_event(&event);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(default_pkey_is_last()));
	id = bind(test, &ep);
	mutex_lock(&ep.ep->mutex);
	KUNIT_EXPECT_EQ(test, kdapl_notice_reserve(ep.ep), 0);
	kdapl_cm_accept(ep.ep, id, &req, NULL, 0);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->pkey_index, FAKE_PKEYS - 1);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->masks[IB_QPS_INIT],
			IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT);
	mutex_unlock(&ep.ep->mutex);
	/* The accepted request has no peer */
	expect_end(test, &ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

/* ---- a bond fails over ----------------------------------------------------------- */

static DAT_EVD_HANDLE cr_evd;
static struct kdapl_sp *sp;

static int roce_env(const struct sockaddr_in6 *addr, u32 personality);
static void roce_env_end(void);

static bool gid_deleted(const struct ib_gid_attr *attr)
{
	bool deleted;

	rcu_read_lock();
	deleted = IS_ERR(rdma_read_gid_attr_ndev_rcu(attr));
	rcu_read_unlock();
	return deleted;
}

/* Acts as the core does for a bond: removes and adds the GIDs, keeps the addresses */
static void failover(struct kunit *test, const struct rdma_cm_id *id)
{
	const struct ib_gid_attr *attr = id->route.addr.dev_addr.sgid_attr;
	bool deleted;

	/* The id may be destroyed when its GID was deleted */
	rdma_hold_gid_attr(attr);
	rtnl_lock();
	call_netdevice_notifiers(NETDEV_BONDING_FAILOVER, port);
	rtnl_unlock();
	deleted = kdapl_sleep_until(gid_deleted(attr));
	rdma_put_gid_attr(attr);
	KUNIT_ASSERT_TRUE(test, deleted);
	/* Other changes schedule the watcher repeatedly */
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until((kdapl_addr_changed(false), on_port())));
	/* All events of the device have been handled */
	flush_workqueue(ib_wq);
	fake_settle(env->fake);
}

/* Creates a service point that listens */
static void listen(struct kunit *test)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	DAT_PSP_HANDLE handle;
	struct kdapl_obj *obj;

	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG,
					      &cr_evd), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_psp_create(ia, 40118, cr_evd, DAT_PSP_CONSUMER_FLAG, &handle),
			DAT_SUCCESS);
	obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_PSP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	kdapl_obj_put(obj);
	sp = to_kdapl_sp(obj);
}

/* Does it listen on the present GID? */
static bool listens(void)
{
	bool ok;

	mutex_lock(&sp->mutex);
	ok = sp->id && !kdapl_addr_unbound(sp->id);
	mutex_unlock(&sp->mutex);
	return ok;
}

static void expect_request(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	struct rdma_cm_id *child = kdapl_cm_bind(env->ia, &env->ia->addr, &env->fake->ibdev,
						 kdapl_cm_handler, sp, 0, NULL);
	DAT_EVENT got = {};

	KUNIT_ASSERT_FALSE(test, IS_ERR(child));
	KUNIT_EXPECT_EQ(test, sp->id->event_handler(child, &event), 0);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(cr_evd, &got), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, got.event_number, DAT_CONNECTION_REQUEST_EVENT);
}

static void connect_one(struct kunit *test)
{
	DAT_EVENT event = {};

	KUNIT_ASSERT_EQ(test, tp_begin_with(&ep, bind(test, &ep), false), 0);
	KUNIT_ASSERT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
}

static void C_62_a_failover_is_not_the_loss_of_an_address(struct kunit *test)
{
	kdapl_clauses(test, "C-62");
	connect_one(test);
	listen(test);
	KUNIT_EXPECT_TRUE(test, listens());
	failover(test, ep.ep->conn.cm_id);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(listens()));
	expect_request(test);
	/* The path consists of addresses, which have not changed */
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_FALSE(test, env->ia->addr_lost);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
}

/* Nobody reports that the reason is gone, for example another id on the same port */
static void C_62_a_service_point_tries_again_to_listen(struct kunit *test)
{
	DAT_EVD_HANDLE async = kdapl_obj_handle(&env->ia->async_evd->obj);
	u32 port_num = env->ia->port;
	DAT_EVENT event = {};
	int i;

	kdapl_clauses(test, "C-62");
	listen(test);
	/* The address leads to another port than the IA uses, so listening fails */
	mutex_lock(&sp->mutex);
	WRITE_ONCE(env->ia->port, port_num + 1);
	kdapl_sp_check(sp);
	mutex_unlock(&sp->mutex);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!READ_ONCE(sp->id)));
	/* It fails four times, and raises an event the third time */
	for (i = 1; i <= 4; i *= 2) {
		mutex_lock(&sp->mutex);
		KUNIT_EXPECT_EQ(test, tp_events(async), sp->retry > 2);
		KUNIT_EXPECT_STREQ(test, kdapl_sp_state(sp), "retrying");
		mutex_unlock(&sp->mutex);
		kdapl_sp_check(sp);
		KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(sp->retry) > i));
	}
	mutex_lock(&sp->mutex);
	WRITE_ONCE(env->ia->port, port_num);
	mutex_unlock(&sp->mutex);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(listens()));
	KUNIT_EXPECT_EQ(test, sp->retry, 0);
	expect_request(test);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(async, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.asynch_error_event_data.dat_handle,
			    kdapl_obj_handle(&sp->obj));
	KUNIT_EXPECT_EQ(test, event.event_data.asynch_error_event_data.reason, DAT_IA_OTHER_ERROR);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(async, &event), DAT_QUEUE_EMPTY);
}

/* The device has cleared the GID entry that the path uses */
static void C_62_a_failover_breaks_connections_of_a_lost_GID(struct kunit *test)
{
	struct sockaddr_in6 addr;

	kdapl_clauses(test, "C-62 C-30");
	memcpy(&addr, &env->ia->addr, sizeof(addr));
	roce_env_end();
	KUNIT_ASSERT_EQ(test, roce_env(&addr, FAKE_GID_TABLE), 0);
	connect_one(test);
	listen(test);
	failover(test, ep.ep->conn.cm_id);
	expect_end(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(listens()));
	expect_request(test);
}

/* ---- suite ------------------------------------------------------------------- */

static int roce_env(const struct sockaddr_in6 *addr, u32 personality)
{
	env = tp_env_create_on(fake_dev_create_roce(port, personality));
	if (IS_ERR(env))
		return PTR_ERR(env);
	memcpy(&env->ia->addr, addr, sizeof(*addr));
	if (!kdapl_sleep_until(on_port()))
		return -EADDRNOTAVAIL;
	return tp_ep_create(env, NULL, false, &ep) || tp_ep_create(env, NULL, false, &second) ?
	       -EIO : 0;
}

static void roce_env_end(void)
{
	if (!IS_ERR_OR_NULL(env)) {
		tp_ep_free(&ep);
		tp_ep_free(&second);
		tp_env_destroy(env);
	}
	env = NULL;
}

static int roce_make(void)
{
	struct sockaddr_in6 addr;
	int err;

	port = alloc_netdev(0, "kdaplro%d", NET_NAME_UNKNOWN, port_setup);
	if (!port)
		return -ENOMEM;
	err = register_netdev(port);
	if (!err)
		err = port_up();
	if (err)
		return err;
	if (!kdapl_sleep_until(port_address(&addr)))
		return -EADDRNOTAVAIL;
	return roce_env(&addr, 0);
}

static int roce_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	memset(&second, 0, sizeof(second));
	env = NULL;
	return roce_make();
}

static void roce_exit(struct kunit *test)
{
	roce_env_end();
	if (!port)
		return;
	if (port->reg_state == NETREG_REGISTERED)
		unregister_netdev(port);
	free_netdev(port);
	port = NULL;
}

static struct kunit_case roce_cases[] = {
	KUNIT_CASE(C_62_an_address_is_lost_and_restored_at_once),
	KUNIT_CASE(C_62_address_lost_and_restored_before_the_attempt),
	KUNIT_CASE(C_62_other_events_do_not_shorten_the_grace_time),
	KUNIT_CASE(C_60_no_disconnect_from_a_deleted_address),
	KUNIT_CASE(a_peer_on_another_link_is_refused),
	KUNIT_CASE(a_request_has_the_retry_counts_of_its_EP),
	KUNIT_CASE(a_route_has_the_type_of_service_of_its_EP),
	KUNIT_CASE(a_QP_uses_the_partition_of_its_path),
	KUNIT_CASE(C_62_a_failover_is_not_the_loss_of_an_address),
	KUNIT_CASE(C_62_a_service_point_tries_again_to_listen),
	KUNIT_CASE(C_62_a_failover_breaks_connections_of_a_lost_GID),
	{}
};

static struct kunit_suite roce_suite = {
	.name = "kdapl_roce",
	.init = roce_init,
	.exit = roce_exit,
	.test_cases = roce_cases,
};

kunit_test_suite(roce_suite);
