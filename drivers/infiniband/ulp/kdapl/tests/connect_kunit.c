// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: attempts that are given up, ends that meet each other, addresses that
 * go, and what a peer may choose.
 *
 * Addresses are those of a net device as IPoIB makes them, on the fake port:
 * the kernel gives it an IPv6 address when it comes up and takes it when it
 * goes down or to another network namespace. Runs in a KUnit thread.
 */
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep, second, third;

static void expect_conn(struct kunit *test, struct tp_ep *tep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
	KUNIT_EXPECT_EQ(test, tep->ep->state, DAT_EP_STATE_DISCONNECTED);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_QUEUE_EMPTY);
}

static void cm_says(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_cm_event event = { .event = type };

	kdapl_cm_handler(id, &event);
}

static void make(struct kunit *test, struct tp_ep *tep)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, tep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, tep, TP_RECV, 1, 0), DAT_SUCCESS);
}

/* ---- given up, ended twice -------------------------------------------------- */

static void C_17_C_23_an_attempt_is_given_up(struct kunit *test)
{
	static const DAT_CLOSE_FLAGS how[] = { DAT_CLOSE_ABRUPT_FLAG, DAT_CLOSE_GRACEFUL_FLAG };
	struct rdma_cm_id *id;
	u32 i;

	kdapl_clauses(test, "C-17 C-23 C-40 R-30");
	for (i = 0; i < 4; i++) {
		bool passive = i & 1;

		make(test, &ep);
		id = tp_begin(&ep, passive);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
		KUNIT_EXPECT_EQ(test, ep.ep->state,
				passive ? DAT_EP_STATE_COMPLETION_PENDING :
				DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
		/* What comes while the work is held up is too late */
		mutex_lock(&ep.ep->mutex);
		KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, how[i / 2]), DAT_SUCCESS);
		cm_says(id, RDMA_CM_EVENT_ESTABLISHED);
		cm_says(id, RDMA_CM_EVENT_REJECTED);
		mutex_unlock(&ep.ep->mutex);
		fake_settle(env->fake);
		expect_conn(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
		/* The id is gone, and the peer knows by that */
		KUNIT_EXPECT_NULL(test, ep.ep->cm_id);
		tp_ep_free(&ep);
	}
}

/* A graceful disconnect with one request outstanding */
static struct rdma_cm_id *make_pending(struct kunit *test)
{
	make(test, &ep);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECT_PENDING);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
	return ep.ep->cm_id;
}

static void expect_flushed(struct kunit *test, DAT_EVENT_NUMBER number)
{
	fake_settle(env->fake);
	expect_conn(test, &ep, number);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	tp_ep_free(&ep);
}

static void C_27_C_29_C_30_a_graceful_disconnect_is_overtaken(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-25 C-27 C-29 C-30 C-41");
	make_pending(test);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	expect_flushed(test, DAT_CONNECTION_EVENT_DISCONNECTED);

	id = make_pending(test);
	cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
	expect_flushed(test, DAT_CONNECTION_EVENT_DISCONNECTED);

	make_pending(test);
	tp_complete(env, &ep, TP_RECV, IB_WC_LOC_QP_OP_ERR, 0);
	fake_settle(env->fake);
	expect_conn(test, &ep, DAT_CONNECTION_EVENT_BROKEN);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_ERR_FLUSHED, 0);
}

/* Both ends at once: the peer's word comes while the work has ours to do */
static void C_48_both_sides_disconnect(struct kunit *test)
{
	struct rdma_cm_id *id;
	u32 i;

	kdapl_clauses(test, "C-24 C-29 C-41 C-48");
	for (i = 0; i < 2; i++) {
		make(test, &ep);
		KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
		id = ep.ep->cm_id;
		mutex_lock(&ep.ep->mutex);
		if (i)
			cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
		KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG),
				DAT_SUCCESS);
		cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
		mutex_unlock(&ep.ep->mutex);
		fake_settle(env->fake);
		cm_says(id, RDMA_CM_EVENT_DISCONNECTED);
		fake_settle(env->fake);
		expect_conn(test, &ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		tp_ep_free(&ep);
	}
}

/* ---- what a peer may choose ------------------------------------------------- */

static const struct limit_row {
	u8 timeout, retry, reads;
	u8 want_timeout, want_retry, want_reads;
} limit_rows[] = {
	{ 14, 3, 1, 14, 3, 1 },
	{ KDAPL_MAX_ACK_TIMEOUT, 6, 4, KDAPL_MAX_ACK_TIMEOUT, 6, 4 },
	{ KDAPL_MAX_ACK_TIMEOUT + 1, 7, 0, KDAPL_MAX_ACK_TIMEOUT, 6, 0 },
	{ 31, 7, 255, KDAPL_MAX_ACK_TIMEOUT, 6, 4 },
	{ 0, 0, 4, KDAPL_MAX_ACK_TIMEOUT, 0, 4 },
};

static void C_61_a_peer_cannot_have_us_wait_for_ever(struct kunit *test)
{
	DAT_EP_ATTR attr;
	u32 i;

	kdapl_clauses(test, "C-61");
	tp_attr(&attr);
	attr.max_rdma_read_out = 4;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(limit_rows); i++) {
		const struct limit_row *row = &limit_rows[i];
		struct ib_qp_attr qp_attr = {
			.timeout = row->timeout,
			.retry_cnt = row->retry,
			.max_rd_atomic = row->reads,
		};

		mutex_lock(&ep.ep->mutex);
		kdapl_cm_limit_send(ep.ep, &qp_attr);
		mutex_unlock(&ep.ep->mutex);
		KUNIT_EXPECT_EQ(test, qp_attr.timeout, row->want_timeout);
		KUNIT_EXPECT_EQ(test, qp_attr.retry_cnt, row->want_retry);
		KUNIT_EXPECT_EQ(test, qp_attr.max_rd_atomic, row->want_reads);
		KUNIT_EXPECT_EQ(test, ep.ep->max_reads_out, row->want_reads);
		KUNIT_EXPECT_EQ(test, qp_attr.rnr_retry, KDAPL_RNR_RETRY);
	}
	/* 4.096 us, doubled so often, seven times: within the 30 s of C-51 */
	KUNIT_EXPECT_LT(test, (4096ULL << KDAPL_MAX_ACK_TIMEOUT) * (KDAPL_MAX_RETRY + 1),
			31ULL * NSEC_PER_SEC);
}

/* ---- room (C-47) ------------------------------------------------------------ */

/* An EVD of one entry takes whatever its EPs owe: nothing is lost for want of room */
static void C_47_a_short_EVD_loses_nothing(struct kunit *test)
{
	DAT_EVENT event;
	DAT_EP_ATTR attr;
	u32 n = 0, ends = 0;
	u64 i;

	kdapl_clauses(test, "C-47");
	tp_attr(&attr);
	memset(&ep, 0, sizeof(ep));
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(kdapl_obj_handle(&env->ia->obj), 1,
					      DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
					      &ep.connect_evd), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
					    ep.connect_evd, ep.connect_evd, ep.connect_evd, &attr,
					    &ep.handle), DAT_SUCCESS);
	ep.ep = to_kdapl_ep(kdapl_obj_get(ep.handle, DAT_HANDLE_TYPE_EP));
	kdapl_obj_put(&ep.ep->obj);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep, false));
	KUNIT_ASSERT_TRUE(test, kdapl_ep_go_live(ep.ep));
	for (i = 0; i < TP_DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	}
	for (i = 0; i < TP_DEPTH / 2; i++)
		fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
	dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(env->fake);
	while (dat_evd_dequeue(ep.connect_evd, &event) == DAT_SUCCESS) {
		if (!n)
			KUNIT_EXPECT_EQ(test, event.event_number,
					DAT_CONNECTION_EVENT_ESTABLISHED);
		ends += event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED;
		n++;
	}
	KUNIT_EXPECT_EQ(test, ends, 1);
	KUNIT_EXPECT_EQ(test, n, 2 + 2 * TP_DEPTH);
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

static struct net_device *ipoib;
static struct net *other;

static void ipoib_up(struct kunit *test)
{
	int err;

	rtnl_lock();
	err = dev_open(ipoib, NULL);
	rtnl_unlock();
	KUNIT_ASSERT_EQ(test, err, 0);
}

static void ipoib_down(void)
{
	rtnl_lock();
	dev_close(ipoib);
	rtnl_unlock();
}

/* A net device on the fake port, up; its address is that of the IA */
static void ipoib_make(struct kunit *test)
{
	struct sockaddr_storage addr, want = { .ss_family = AF_INET6 };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&want;
	u8 hw[20] = {};
	union ib_gid gid;
	struct net *net;

	KUNIT_ASSERT_EQ(test, rdma_query_gid(&env->fake->ibdev, 1, 0, &gid), 0);
	memcpy(hw + 4, gid.raw, sizeof(gid));
	ipoib = alloc_netdev(0, "kdaplib%d", NET_NAME_UNKNOWN, ipoib_setup);
	KUNIT_ASSERT_NOT_NULL(test, ipoib);
	dev_addr_set(ipoib, hw);
	KUNIT_ASSERT_EQ(test, register_netdev(ipoib), 0);
	ipoib_up(test);
	/* The last eight bytes of the GID, as a link-local address */
	in6->sin6_addr.s6_addr[0] = 0xfe;
	in6->sin6_addr.s6_addr[1] = 0x80;
	memcpy(&in6->sin6_addr.s6_addr[8], hw + 12, 8);
	in6->sin6_addr.s6_addr[8] |= 2;
	KUNIT_ASSERT_TRUE(test, kdapl_addr_find(&env->fake->ibdev, 1, ipoib->name, &want, &addr,
						&net));
	KUNIT_EXPECT_TRUE(test, net_eq(net, &init_net));
	put_net(net);
	in6 = (struct sockaddr_in6 *)&addr;
	KUNIT_EXPECT_EQ(test, in6->sin6_family, AF_INET6);
	KUNIT_EXPECT_EQ(test, in6->sin6_scope_id, ipoib->ifindex);
	env->ia->addr = addr;
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
	kdapl_device_check_ipoib();
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_TRUE(test, stands(&init_net));
	ipoib_down();
	KUNIT_EXPECT_FALSE(test, stands(&init_net));
	expect_lost(test);
	KUNIT_EXPECT_TRUE(test, env->ia->addr_lost);
	/* It comes back, and serves again */
	ipoib_up(test);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_connect(&ep), 0);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
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

/* ---- suite -------------------------------------------------------------------- */

static int connect_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	memset(&second, 0, sizeof(second));
	memset(&third, 0, sizeof(third));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void connect_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	tp_ep_free(&ep);
	tp_ep_free(&second);
	tp_ep_free(&third);
	tp_env_destroy(env);
	env = NULL;
	if (ipoib) {
		if (ipoib->reg_state == NETREG_REGISTERED)
			unregister_netdev(ipoib);
		free_netdev(ipoib);
	}
	ipoib = NULL;
	if (other)
		put_net(other);
	other = NULL;
}

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(C_17_C_23_an_attempt_is_given_up),
	KUNIT_CASE(C_27_C_29_C_30_a_graceful_disconnect_is_overtaken),
	KUNIT_CASE(C_48_both_sides_disconnect),
	KUNIT_CASE(C_61_a_peer_cannot_have_us_wait_for_ever),
	KUNIT_CASE(C_47_a_short_EVD_loses_nothing),
	KUNIT_CASE(C_62_a_GID_has_gone),
	KUNIT_CASE(C_62_lost_before_the_attempt_began),
	KUNIT_CASE(C_62_an_IPOIB_device_loses_its_address),
	KUNIT_CASE(C_62_a_net_device_leaves_its_namespace),
	KUNIT_CASE(ids_are_made_in_the_namespace_of_the_address),
	KUNIT_CASE(what_a_device_cannot_do_is_refused),
	{}
};

static struct kunit_suite connect_suite = {
	.name = "kdapl_connect",
	.init = connect_init,
	.exit = connect_exit,
	.test_cases = connect_cases,
};

kunit_test_suite(connect_suite);
