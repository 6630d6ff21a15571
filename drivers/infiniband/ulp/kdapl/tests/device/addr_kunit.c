// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the addresses of IAs: resolution and loss, network namespaces and scopes, ports
 * that are in use, and the module that opened the IA. Runs in a KUnit thread.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include "addr_kunit.h"

static struct fake_dev *neighbour;
static struct net *other;

/* ---- deleted addresses (C-62) -------------------------------------------------- */

/* Raises the event that the core sends when an entry of a RoCE port's GID table is removed */
static void gid_change(void)
{
	struct ib_event_handler *handler = &addr_env->ia->dev->handler;
	struct ib_event event = {
		.device = &addr_env->fake->ibdev,
		.event = IB_EVENT_GID_CHANGE,
		.element.port_num = 1,
	};

	handler->handler(handler, &event);
}

/* No net device ever had the address of this IA */
static void C_62_the_GID_of_an_IA_was_deleted(struct kunit *test)
{
	kdapl_clauses(test, "C-62 C-30 C-40 C-41");
	addr_make_three(test);
	gid_change();
	addr_expect_lost(test);
}

/* The address is lost after the id was bound and before the attempt begins */
static void C_62_address_lost_before_the_attempt_begins(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "C-62");
	addr_make_ep(test, &addr_ep);
	id = rdma_create_id(&init_net, kdapl_cm_handler, addr_ep.ep, RDMA_PS_TCP, IB_QPT_RC);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	mutex_lock(&addr_ep.ep->mutex);
	gid_change();
	KUNIT_EXPECT_TRUE(test,
			  kdapl_sleep_until(test_bit(KDAPL_TODO_BREAK, &addr_ep.ep->conn.todo)));
	KUNIT_EXPECT_EQ(test, kdapl_notice_reserve(addr_ep.ep), 0);
	kdapl_cm_begin(addr_ep.ep, id, false);
	mutex_unlock(&addr_ep.ep->mutex);
	fake_settle(addr_env->fake);
	addr_expect_conn(test, &addr_ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

static void C_62_an_IPOIB_device_loses_its_address(struct kunit *test)
{
	kdapl_clauses(test, "C-62 C-30");
	addr_ipoib_make(test);
	addr_make_three(test);
	/* An event about another address */
	kdapl_device_check_addrs(NULL, true);
	fake_settle(addr_env->fake);
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_TRUE(test, addr_found(&init_net));
	addr_ipoib_down(addr_ipoib);
	KUNIT_EXPECT_FALSE(test, addr_found(&init_net));
	addr_expect_lost(test);
	KUNIT_EXPECT_TRUE(test, addr_env->ia->addr_lost);
	/* The address is back, and can be used again */
	addr_ipoib_up(test, addr_ipoib);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(addr_ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_connect(&addr_ep), 0);
	fake_settle(addr_env->fake);
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
}

/*
 * Deletes and restores the address. The watcher runs only afterwards, because the test
 * holds its mutex.
 */
static void ipoib_flap(struct kunit *test, struct net_device *ndev)
{
	mutex_lock(&kdapl_device_mutex);
	addr_ipoib_down(ndev);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, dev_open(ndev, NULL), 0);
	rtnl_unlock();
	mutex_unlock(&kdapl_device_mutex);
	fake_settle(addr_env->fake);
}

/*
 * Two net devices on the port have the address of the IA, as a loopback device may. The
 * address has no scope here, so either net device counts.
 */
static void C_62_two_net_devices_have_the_address(struct kunit *test)
{
	kdapl_clauses(test, "C-62");
	addr_ipoib_make(test);
	addr_ipoib_add(test, addr_env->fake, &addr_another);
	((struct sockaddr_in6 *)&addr_env->ia->addr)->sin6_scope_id = 0;
	addr_make_three(test);
	/* The address is deleted on one device, but leads to the port through the other one */
	addr_ipoib_down(addr_another);
	fake_settle(addr_env->fake);
	KUNIT_EXPECT_FALSE(test, addr_env->ia->addr_lost);
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
	addr_ipoib_up(test, addr_another);
	ipoib_flap(test, addr_ipoib);
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
	/* The address is deleted on the last device, but it is back when the watcher runs */
	addr_ipoib_down(addr_another);
	fake_settle(addr_env->fake);
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
	ipoib_flap(test, addr_ipoib);
	KUNIT_EXPECT_TRUE(test, addr_found(&init_net));
	addr_expect_lost(test);
}

/* ---- network namespaces ------------------------------------------------------ */

/* Finds a second network namespace, which the script that runs the suite has created */
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
	err = dev_change_net_namespace(addr_ipoib, net, "kdaplib%d");
	if (!err)
		err = dev_open(addr_ipoib, NULL);
	rtnl_unlock();
	KUNIT_ASSERT_EQ(test, err, 0);
}

static void C_62_a_net_device_leaves_its_namespace(struct kunit *test)
{
	kdapl_clauses(test, "C-62 C-30");
	if (!find_other())
		kunit_skip(test, "needs a second network namespace");
	addr_ipoib_make(test);
	addr_make_three(test);
	/* The net device keeps its address and port, but moves to another namespace */
	ipoib_move(test, other);
	KUNIT_EXPECT_TRUE(test, addr_found(other));
	KUNIT_EXPECT_FALSE(test, addr_found(&init_net));
	addr_expect_lost(test);
	ipoib_move(test, &init_net);
	KUNIT_EXPECT_TRUE(test, addr_found(&init_net));
	KUNIT_EXPECT_FALSE(test, addr_found(other));
}

/* A net device in a container must not hide one of the initial namespace with the same name */
static void net_device_name_prefers_the_initial_namespace(struct kunit *test)
{
	struct kdapl_device *dev;
	struct sockaddr_in6 in6;
	char name[IFNAMSIZ];
	struct net *net;

	if (!find_other())
		kunit_skip(test, "needs a second network namespace");
	addr_ipoib_make(test);
	strscpy(name, addr_ipoib->name, sizeof(name));
	ipoib_move(test, other);
	KUNIT_ASSERT_STREQ(test, addr_ipoib->name, name);
	KUNIT_ASSERT_EQ(test, addr_resolve(name, addr_ipoib, "", &dev, &in6, &net), 0);
	KUNIT_EXPECT_PTR_EQ(test, dev->ibdev, &addr_env->fake->ibdev);
	/* Same name and address, but on another device in the initial namespace */
	neighbour = fake_dev_create();
	KUNIT_ASSERT_FALSE(test, IS_ERR(neighbour));
	addr_ipoib_add(test, neighbour, &addr_another);
	KUNIT_ASSERT_STREQ(test, addr_another->name, name);
	KUNIT_ASSERT_EQ(test, addr_resolve(name, addr_ipoib, "", &dev, &in6, &net), 0);
	KUNIT_EXPECT_PTR_EQ(test, dev->ibdev, &neighbour->ibdev);
	KUNIT_EXPECT_TRUE(test, net_eq(net, &init_net));
	KUNIT_EXPECT_EQ(test, in6.sin6_scope_id, addr_another->ifindex);
	KUNIT_EXPECT_EQ(test, addr_resolve(name, addr_ipoib, "", &dev, &in6, NULL), 0);
	addr_ipoib_down(addr_another);
	KUNIT_ASSERT_EQ(test, addr_resolve(name, addr_ipoib, "", &dev, &in6, &net), 0);
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
	addr_ipoib_make(test);
	ipoib_move(test, other);
	snprintf(name, sizeof(name), "%s@%pI6c", addr_ipoib->name,
		 &((struct sockaddr_in6 *)&addr_env->ia->addr)->sin6_addr);
	KUNIT_ASSERT_EQ(test, dat_ia_open(name, 8, &async, &handle), DAT_SUCCESS);
	obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_IA);
	ia = to_kdapl_ia(obj);
	KUNIT_EXPECT_TRUE(test, net_eq(ia->net, other));
	id = kdapl_cm_bind(ia, &ia->addr, &addr_env->fake->ibdev, kdapl_cm_handler, NULL, 0, NULL);
	KUNIT_EXPECT_FALSE(test, IS_ERR(id));
	if (!IS_ERR(id)) {
		KUNIT_EXPECT_TRUE(test, net_eq(id->route.addr.dev_addr.net, other));
		rdma_destroy_id(id);
	}
	kdapl_obj_put(obj);
	KUNIT_EXPECT_EQ(test, dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void rxe_is_usable_in_the_initial_namespace_only(struct kunit *test)
{
	struct ib_device *rxe = kunit_kzalloc(test, sizeof(*rxe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rxe);
	rxe->ops.driver_id = RDMA_DRIVER_RXE;
	KUNIT_EXPECT_TRUE(test, kdapl_addr_netns_usable(rxe, &init_net));
	KUNIT_EXPECT_FALSE(test, kdapl_addr_netns_usable(rxe, NULL));
	KUNIT_EXPECT_TRUE(test, kdapl_addr_netns_usable(&addr_env->fake->ibdev, NULL));
}

/* ---- scopes -------------------------------------------------------------------- */

/* Like a VLAN and its base device: two net devices on one port have the same link-local address */
static void a_link_local_address_is_that_of_its_net_device(struct kunit *test)
{
	const char *port = dev_name(&addr_env->fake->ibdev.dev);
	struct kdapl_device *dev;
	struct sockaddr_in6 in6;

	kdapl_clauses(test, "C-62");
	addr_ipoib_make(test);
	addr_ipoib_add(test, addr_env->fake, &addr_another);
	KUNIT_ASSERT_EQ(test, addr_resolve(port, addr_ipoib, addr_ipoib->name, &dev, &in6, NULL),
			0);
	KUNIT_EXPECT_EQ(test, in6.sin6_scope_id, addr_ipoib->ifindex);
	KUNIT_ASSERT_EQ(test, addr_resolve(port, addr_ipoib, addr_another->name, &dev, &in6, NULL),
			0);
	KUNIT_EXPECT_EQ(test, in6.sin6_scope_id, addr_another->ifindex);
	/* Without a scope either net device matches */
	KUNIT_EXPECT_EQ(test, addr_resolve(port, addr_ipoib, "", &dev, &in6, NULL), 0);
	KUNIT_EXPECT_EQ(test, addr_resolve(port, addr_ipoib, "lo", &dev, &in6, NULL),
			-EADDRNOTAVAIL);
	addr_make_three(test);
	addr_ipoib_down(addr_another);
	fake_settle(addr_env->fake);
	KUNIT_EXPECT_TRUE(test, addr_found(&init_net));
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
	/*
	 * The other net device has the same address, but the IA is bound to this one by
	 * its scope
	 */
	addr_ipoib_up(test, addr_another);
	addr_ipoib_down(addr_ipoib);
	KUNIT_EXPECT_FALSE(test, addr_found(&init_net));
	addr_expect_lost(test);
}

/* ---- names of devices ----------------------------------------------------------- */

/* Returns what dat_ia_open() would open; NULL: no IA has this name */
static const struct ib_device *resolve_device(const char *name)
{
	struct sockaddr_storage addr;
	struct kdapl_device *dev;
	u32 port;
	int err;

	mutex_lock(&kdapl_device_mutex);
	err = kdapl_device_resolve(name, &dev, &port, &addr, NULL);
	mutex_unlock(&kdapl_device_mutex);
	return err == -ENODEV ? NULL : dev->ibdev;
}

/* Number of entries with this name in the registry */
static u32 listed(struct kunit *test, const char *name)
{
	DAT_PROVIDER_INFO *info = kunit_kcalloc(test, 8, sizeof(*info), GFP_KERNEL);
	DAT_PROVIDER_INFO *list[8];
	DAT_COUNT i, n;
	u32 found = 0;

	KUNIT_ASSERT_NOT_NULL(test, info);
	for (i = 0; i < 8; i++)
		list[i] = &info[i];
	KUNIT_ASSERT_EQ(test, dat_registry_list_providers(8, &n, list), DAT_SUCCESS);
	for (i = 0; i < n; i++)
		found += !strcmp(info[i].ia_name, name);
	return found;
}

/*
 * The core renames the device, which frees the old name, and then tells its clients. kDAPL reads
 * its own copy, so it never uses the old name, not even in between.
 */
static void a_renamed_device_is_found_by_its_new_name(struct kunit *test)
{
	const struct ib_device *ibdev = &addr_env->fake->ibdev;
	char was[IB_DEVICE_NAME_MAX];

	strscpy(was, dev_name(&ibdev->dev), sizeof(was));
	KUNIT_EXPECT_PTR_EQ(test, resolve_device(was), ibdev);
	KUNIT_ASSERT_EQ(test, device_rename(&addr_env->fake->ibdev.dev, "kdaplother"), 0);
	KUNIT_EXPECT_PTR_EQ(test, resolve_device(was), ibdev);
	KUNIT_EXPECT_NULL(test, resolve_device("kdaplother"));
	kdapl_device_renamed(&addr_env->fake->ibdev, NULL);
	KUNIT_EXPECT_NULL(test, resolve_device(was));
	KUNIT_EXPECT_PTR_EQ(test, resolve_device("kdaplother"), ibdev);
	KUNIT_EXPECT_PTR_EQ(test, resolve_device("kdaplother/1"), ibdev);
	KUNIT_EXPECT_EQ(test, listed(test, "kdaplother/1"), 1);
}

/* If devices belong to namespaces, several may have the same name; here none is preferred */
static void an_ambiguous_name_means_no_device(struct kunit *test)
{
	const struct ib_device *ibdev = &addr_env->fake->ibdev;
	struct kdapl_device *dev;
	char name[IB_DEVICE_NAME_MAX + 2], was[IB_DEVICE_NAME_MAX];

	neighbour = fake_dev_create();
	KUNIT_ASSERT_FALSE(test, IS_ERR(neighbour));
	snprintf(name, sizeof(name), "%s/1", dev_name(&ibdev->dev));
	strscpy(was, dev_name(&neighbour->ibdev.dev), sizeof(was));
	KUNIT_EXPECT_EQ(test, listed(test, name), 1);
	mutex_lock(&kdapl_device_mutex);
	list_for_each_entry(dev, &kdapl_devices, node)
		if (dev->ibdev == &neighbour->ibdev)
			strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	mutex_unlock(&kdapl_device_mutex);
	KUNIT_EXPECT_NULL(test, resolve_device(name));
	KUNIT_EXPECT_NULL(test, resolve_device(dev_name(&ibdev->dev)));
	KUNIT_EXPECT_EQ(test, listed(test, name), 0);
	kdapl_device_renamed(&neighbour->ibdev, NULL);
	KUNIT_EXPECT_PTR_EQ(test, resolve_device(name), ibdev);
	KUNIT_EXPECT_PTR_EQ(test, resolve_device(was), &neighbour->ibdev);
}

/* ---- ports that are in use ------------------------------------------------------ */

/* Binds another id to the port on all addresses */
static struct rdma_cm_id *take_port(struct kunit *test)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(ADDR_PORT) };
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
	struct rdma_cm_id *id = kdapl_cm_bind(addr_env->ia, &addr_env->ia->addr,
					      &addr_env->fake->ibdev, kdapl_cm_handler, NULL,
					      ADDR_PORT, NULL);

	if (IS_ERR(id))
		return PTR_ERR(id);
	rdma_destroy_id(id);
	return 0;
}

/*
 * The CM returns the same error for a port that is in use on all addresses and for a lost
 * address
 */
static void a_port_taken_on_all_addresses_is_in_use(struct kunit *test)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&addr_env->ia->obj);
	struct rdma_cm_id *taken;
	DAT_EVD_HANDLE evd;
	DAT_HANDLE sp;

	addr_ipoib_make(test);
	KUNIT_ASSERT_EQ(test, tp_ep_create(addr_env, NULL, false, &addr_ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG,
					      &evd), DAT_SUCCESS);
	taken = take_port(test);
	KUNIT_EXPECT_EQ(test, bind_port(), -EADDRINUSE);
	TP_EXPECT_TYPE(test, dat_psp_create(ia, ADDR_PORT, evd, 0, &sp), DAT_CONN_QUAL_IN_USE);
	TP_EXPECT_TYPE(test, dat_rsp_create(ia, ADDR_PORT, addr_ep.handle, evd, &sp),
		       DAT_CONN_QUAL_IN_USE);
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_UNCONNECTED);
	rdma_destroy_id(taken);
	KUNIT_EXPECT_EQ(test, bind_port(), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
}

/* ---- the module that opened an IA --------------------------------------------- */

static bool open(DAT_IA_HANDLE ia)
{
	DAT_HANDLE_TYPE type;

	return dat_get_handle_type(ia, &type) == DAT_SUCCESS;
}

/* The module is kdapl itself. The IA of the fixture has no owner */
static void unloading_a_module_closes_each_IA(struct kunit *test)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct module *self = THIS_MODULE;
	char name[DAT_NAME_MAX_LENGTH];
	DAT_IA_HANDLE ia;

	if (!self)
		kunit_skip(test, "kdapl is built into the kernel");
	addr_ipoib_make(test);
	snprintf(name, sizeof(name), "%s@%pI6c", addr_ipoib->name,
		 &((struct sockaddr_in6 *)&addr_env->ia->addr)->sin6_addr);
	KUNIT_ASSERT_EQ(test, dat_ia_open(name, 8, &async, &ia), DAT_SUCCESS);
	kdapl_module_nb.notifier_call(&kdapl_module_nb, MODULE_STATE_LIVE, self);
	KUNIT_EXPECT_TRUE(test, open(ia));
	kdapl_module_nb.notifier_call(&kdapl_module_nb, MODULE_STATE_GOING, self);
	KUNIT_EXPECT_FALSE(test, open(ia));
	KUNIT_EXPECT_TRUE(test, open(kdapl_obj_handle(&addr_env->ia->obj)));
	if (open(ia))
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* The owner of two IAs */
static struct module careless = { .name = "kdapl_careless" };

static DAT_IA_HANDLE user;
static struct tp_aside closing, unload;

static void close_user(void)
{
	WARN_ON(dat_ia_close(user, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS);
}

static void destroy_left(void)
{
	kdapl_ia_destroy_of_owner(&careless);
}

/*
 * The module has two IAs. The first sends its asynchronous events to an EVD of the second,
 * so the second can be closed only after the first, which another thread is closing.
 */
static void C_36_close_of_an_IA_whose_EVD_another_IA_uses(struct kunit *test)
{
	DAT_IA_HANDLE used = kdapl_obj_handle(&addr_env->ia->obj);
	char name[DAT_NAME_MAX_LENGTH];
	struct kdapl_obj *obj;
	DAT_EVD_HANDLE async;
	bool closed;

	kdapl_clauses(test, "C-36");
	addr_ipoib_make(test);
	snprintf(name, sizeof(name), "%s@%pI6c", addr_ipoib->name,
		 &((struct sockaddr_in6 *)&addr_env->ia->addr)->sin6_addr);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(used, 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_ASYNC_FLAG, &async), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ia_open(name, 8, &async, &user), DAT_SUCCESS);
	obj = kdapl_obj_get(user, DAT_HANDLE_TYPE_IA);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	to_kdapl_ia(obj)->owner = &careless;
	addr_env->ia->owner = &careless;
	kdapl_obj_put(obj);
	/* The close needs this mutex before it releases the EVD */
	mutex_lock(&kdapl_device_mutex);
	tp_start(&closing, close_user);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!open(user)));
	tp_start(&unload, destroy_left);
	/* No barrier is needed: the test polls until it sees the waiter, and wakes no thread */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(waitqueue_active(&kdapl_ias_closed) ||
						  completion_done(&unload.done)));
	KUNIT_EXPECT_FALSE(test, completion_done(&unload.done));
	mutex_unlock(&kdapl_device_mutex);
	closed = tp_finish(&closing);
	KUNIT_EXPECT_TRUE(test, tp_finish(&unload));
	KUNIT_ASSERT_TRUE(test, closed);
	KUNIT_EXPECT_FALSE(test, open(used));
	if (!open(used))
		addr_env->ia = NULL;
}

/* ---- suite -------------------------------------------------------------------- */

static void suite_exit(struct kunit *test)
{
	addr_exit(test);
	if (!IS_ERR_OR_NULL(neighbour))
		fake_dev_destroy(neighbour);
	neighbour = NULL;
	if (other)
		put_net(other);
	other = NULL;
}

static struct kunit_case addr_cases[] = {
	KUNIT_CASE(C_62_the_GID_of_an_IA_was_deleted),
	KUNIT_CASE(C_62_address_lost_before_the_attempt_begins),
	KUNIT_CASE(C_62_an_IPOIB_device_loses_its_address),
	KUNIT_CASE(C_62_two_net_devices_have_the_address),
	KUNIT_CASE(C_62_a_net_device_leaves_its_namespace),
	KUNIT_CASE(net_device_name_prefers_the_initial_namespace),
	KUNIT_CASE(ids_are_made_in_the_namespace_of_the_address),
	KUNIT_CASE(rxe_is_usable_in_the_initial_namespace_only),
	KUNIT_CASE(a_link_local_address_is_that_of_its_net_device),
	KUNIT_CASE(a_renamed_device_is_found_by_its_new_name),
	KUNIT_CASE(an_ambiguous_name_means_no_device),
	KUNIT_CASE(a_port_taken_on_all_addresses_is_in_use),
	KUNIT_CASE(unloading_a_module_closes_each_IA),
	KUNIT_CASE(C_36_close_of_an_IA_whose_EVD_another_IA_uses),
	{}
};

static struct kunit_suite addr_suite = {
	.name = "kdapl_addr",
	.init = addr_init,
	.exit = suite_exit,
	.test_cases = addr_cases,
};

kunit_test_suite(addr_suite);
