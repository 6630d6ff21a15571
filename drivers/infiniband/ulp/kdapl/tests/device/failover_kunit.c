// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: failover of IPoIB devices to another port. Service points listen on the new port,
 * and connections break or continue. Also a failover while a service point is being
 * created. Runs in a KUnit thread.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_cache.h>
#include "addr_kunit.h"

/* ---- a bond over the ports of a device -------------------------------------------- */

static void two_ports(struct kunit *test)
{
	tp_env_destroy(addr_env);
	addr_env = tp_env_create_on(fake_dev_create_two_ports());
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, addr_env);
	addr_ipoib_make(test);
}

/* Gives the net device the hardware address of @port, and raises @event */
static void moves(struct kunit *test, u32 port, unsigned long event)
{
	union ib_gid gid;
	u8 hw[20] = {};

	KUNIT_ASSERT_EQ(test, rdma_query_gid(&addr_env->fake->ibdev, port, 0, &gid), 0);
	memcpy(hw + 4, gid.raw, sizeof(gid));
	rtnl_lock();
	dev_addr_set(addr_ipoib, hw);
	call_netdevice_notifiers(event, addr_ipoib);
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

/* Connects an EP with an id that is bound to the address */
static void connect_bound(struct kunit *test, struct tp_ep *tep)
{
	struct rdma_cm_id *id = kdapl_cm_bind(addr_env->ia, &addr_env->ia->addr,
					      &addr_env->fake->ibdev, kdapl_cm_handler, tep->ep, 0,
					      NULL);
	DAT_EVENT event;

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	KUNIT_ASSERT_EQ(test, tp_begin_with(tep, id, false), 0);
	KUNIT_ASSERT_TRUE(test, kdapl_ep_enter_connected(tep->ep));
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_SUCCESS);
}

static struct kdapl_sp *listen(struct kunit *test, DAT_EVD_HANDLE *evd)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&addr_env->ia->obj);
	DAT_PSP_HANDLE handle;
	struct kdapl_obj *obj;

	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG,
					      evd), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_psp_create(ia, ADDR_PORT, *evd, DAT_PSP_CONSUMER_FLAG, &handle),
			DAT_SUCCESS);
	obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_PSP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	kdapl_obj_put(obj);
	return to_kdapl_sp(obj);
}

static void C_62_an_IA_follows_the_failover_of_its_bond(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	struct rdma_cm_id *child;
	DAT_EVENT got = {};
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-62 C-30");
	two_ports(test);
	addr_make_ep(test, &addr_ep);
	connect_bound(test, &addr_ep);
	sp = listen(test, &evd);
	KUNIT_EXPECT_EQ(test, listens_on(sp), 1);

	moves(test, 2, NETDEV_BONDING_FAILOVER);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(listens_on(sp) == 2));
	KUNIT_EXPECT_EQ(test, addr_env->ia->port, 2);
	child = kdapl_cm_bind(addr_env->ia, &addr_env->ia->addr, &addr_env->fake->ibdev,
			      kdapl_cm_handler, sp, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(child));
	KUNIT_EXPECT_EQ(test, sp->id->event_handler(child, &event), 0);
	fake_settle(addr_env->fake);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &got), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, got.event_number, DAT_CONNECTION_REQUEST_EVENT);
	/* The path of the connection is between ports, and its port is active */
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
	fake_port_set(addr_env->fake, false);
	flush_workqueue(ib_wq);
	kdapl_device_check_addrs(NULL, true);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(addr_ep.ep->state) ==
						  DAT_EP_STATE_DISCONNECTED));
	fake_settle(addr_env->fake);
	addr_expect_conn(test, &addr_ep, DAT_CONNECTION_EVENT_BROKEN);
}

/* Without a bond: the IPoIB device itself gets a new hardware address */
static void C_62_an_IA_follows_a_new_hardware_address(struct kunit *test)
{
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-62");
	two_ports(test);
	sp = listen(test, &evd);
	KUNIT_EXPECT_EQ(test, listens_on(sp), 1);
	moves(test, 2, NETDEV_CHANGEADDR);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(listens_on(sp) == 2));
	KUNIT_EXPECT_EQ(test, addr_env->ia->port, 2);
}

/*
 * The IA has followed its address before the old port goes down, so only the CM reports to
 * the EP that its path is broken.
 */
static void C_62_the_CM_reports_a_failover_to_an_EP(struct kunit *test)
{
	kdapl_clauses(test, "C-62 C-30");
	two_ports(test);
	addr_make_ep(test, &addr_ep);
	connect_bound(test, &addr_ep);
	fake_port_set(addr_env->fake, false);
	flush_workqueue(ib_wq);
	/* A late address event may schedule the watcher; it must not run now */
	mutex_lock(&kdapl_device_mutex);
	addr_env->ia->port = 2;
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
	tp_cm_says(addr_ep.ep->conn.cm_id, RDMA_CM_EVENT_ADDR_CHANGE);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(addr_ep.ep->state) ==
						  DAT_EP_STATE_DISCONNECTED));
	addr_env->ia->port = 1;
	mutex_unlock(&kdapl_device_mutex);
	fake_settle(addr_env->fake);
	addr_expect_conn(test, &addr_ep, DAT_CONNECTION_EVENT_BROKEN);
}

static int deaf(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/* Has the service point replaced the id whose handler the test disabled? */
static bool hears(struct kdapl_sp *sp)
{
	bool ok;

	mutex_lock(&sp->mutex);
	ok = sp->id && sp->id->event_handler != deaf;
	mutex_unlock(&sp->mutex);
	return ok;
}

/* The CM reports ADDR_CHANGE to an id on a bond that has failed over */
static void the_CM_reports_a_failover(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_CHANGE };
	rdma_cm_event_handler handler;
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	addr_ipoib_make(test);
	addr_make_ep(test, &addr_ep);
	connect_bound(test, &addr_ep);
	sp = listen(test, &evd);
	handler = sp->id->event_handler;
	sp->id->event_handler = deaf;
	KUNIT_EXPECT_EQ(test, handler(sp->id, &event), 0);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(hears(sp)));
	KUNIT_EXPECT_EQ(test, listens_on(sp), 1);
	tp_cm_says(addr_ep.ep->conn.cm_id, RDMA_CM_EVENT_ADDR_CHANGE);
	fake_settle(addr_env->fake);
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
	/* The peer's bond has failed over: the neighbour has a new hardware address */
	tp_cm_says(addr_ep.ep->conn.cm_id, RDMA_CM_EVENT_UNREACHABLE);
	fake_settle(addr_env->fake);
	addr_expect_conn(test, &addr_ep, DAT_CONNECTION_EVENT_BROKEN);
}

/* ---- service points that are being created ---------------------------------------- */

/* Creates a service point that listens, and enters the IA; start_sp() completes the creation */
static struct kdapl_sp *make_sp(struct kunit *test, DAT_EVD_HANDLE *evd)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&addr_env->ia->obj);
	struct kdapl_evd *to;
	struct kdapl_sp *sp;

	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG,
					      evd), DAT_SUCCESS);
	to = kdapl_sp_evd(addr_env->ia, *evd);
	KUNIT_ASSERT_NOT_NULL(test, to);
	KUNIT_ASSERT_TRUE(test, kdapl_ia_enter(addr_env->ia));
	sp = kdapl_sp_create(addr_env->ia, to, ADDR_PORT, DAT_HANDLE_NULL, false);
	kdapl_obj_put(&to->obj);
	if (IS_ERR(sp))
		kdapl_ia_leave(addr_env->ia);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sp));
	return sp;
}

static void start_sp(struct kdapl_sp *sp)
{
	DAT_HANDLE handle;

	kdapl_sp_start(sp, NULL, &handle);
	kdapl_ia_leave(addr_env->ia);
}

static void C_62_the_address_moves_before_the_service_point_starts(struct kunit *test)
{
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-62");
	tp_env_destroy(addr_env);
	addr_env = tp_env_create_on(fake_dev_create_two_ports());
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, addr_env);
	addr_ipoib_make(test);
	sp = make_sp(test, &evd);
	/* The watcher does not find the service point yet */
	moves(test, 2, NETDEV_BONDING_FAILOVER);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(addr_env->ia->port) == 2));
	mutex_lock(&kdapl_device_mutex);
	mutex_unlock(&kdapl_device_mutex);
	start_sp(sp);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(listens_on(sp) == 2));
}

/*
 * Creation may still fail and free the service point, so no work may be scheduled before
 * the start
 */
static void C_62_the_CM_reports_a_failover_before_the_start(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_CHANGE };
	rdma_cm_event_handler handler;
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-62");
	addr_ipoib_make(test);
	sp = make_sp(test, &evd);
	handler = sp->id->event_handler;
	sp->id->event_handler = deaf;
	/* A work item would block on the mutex and stay busy, so the check cannot miss it */
	mutex_lock(&sp->mutex);
	KUNIT_EXPECT_EQ(test, handler(sp->id, &event), 0);
	KUNIT_EXPECT_EQ(test, work_busy(&sp->work.work), 0U);
	mutex_unlock(&sp->mutex);
	flush_delayed_work(&sp->work);
	start_sp(sp);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(hears(sp)));
	KUNIT_EXPECT_EQ(test, listens_on(sp), 1);
}

/* ---- suite -------------------------------------------------------------------- */

static struct kunit_case failover_cases[] = {
	KUNIT_CASE(C_62_an_IA_follows_the_failover_of_its_bond),
	KUNIT_CASE(the_CM_reports_a_failover),
	KUNIT_CASE(C_62_an_IA_follows_a_new_hardware_address),
	KUNIT_CASE(C_62_the_CM_reports_a_failover_to_an_EP),
	KUNIT_CASE(C_62_the_address_moves_before_the_service_point_starts),
	KUNIT_CASE(C_62_the_CM_reports_a_failover_before_the_start),
	{}
};

static struct kunit_suite failover_suite = {
	.name = "kdapl_failover",
	.init = addr_init,
	.exit = addr_exit,
	.test_cases = failover_cases,
};

kunit_test_suite(failover_suite);
