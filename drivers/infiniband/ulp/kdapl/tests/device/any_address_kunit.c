// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: PSPs on all addresses of the IA's port, and connections at another address than that
 * of the IA. The net devices are like those of IPoIB, and get their addresses as from an
 * administrator. Runs in a KUnit thread.
 */
#include <linux/netdevice.h>
#include "addr_kunit.h"

static struct tp_env *other;

static struct sockaddr_storage address(u8 last)
{
	struct sockaddr_storage addr = {};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;

	in6->sin6_family = AF_INET6;
	in6->sin6_addr = (struct in6_addr){ .s6_addr = { 0xfd, 0x00, 0x0d, 0xa7, [15] = last } };
	return addr;
}

static void set(struct kunit *test, u8 last, bool add)
{
	struct sockaddr_storage addr = address(last);

	addr_ipoib_set(test, addr_ipoib, &((struct sockaddr_in6 *)&addr)->sin6_addr, add);
}

static DAT_RETURN create(struct tp_env *env, DAT_PSP_FLAGS flags, DAT_EVD_HANDLE *evd,
			 DAT_PSP_HANDLE *psp)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);

	if (dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG, evd))
		return DAT_INTERNAL_ERROR;
	return dat_psp_create(ia, ADDR_PORT, *evd, flags, psp);
}

static struct kdapl_sp *sp_of(DAT_PSP_HANDLE psp)
{
	struct kdapl_obj *obj = kdapl_obj_get(psp, DAT_HANDLE_TYPE_PSP);

	if (!obj)
		return NULL;
	kdapl_obj_put(obj);
	return to_kdapl_sp(obj);
}

/* The number of addresses on which it listens; @on: only this one counts */
static u32 listens(struct kdapl_sp *sp, const struct sockaddr_storage *on)
{
	const struct kdapl_listener *l;
	u32 n = 0;

	mutex_lock(&sp->mutex);
	list_for_each_entry(l, &sp->listeners, node)
		n += !on || kdapl_addr_equal(&l->id->route.addr.src_addr, on);
	mutex_unlock(&sp->mutex);
	return n;
}

static struct rdma_cm_id *bind(struct kunit *test, void *context,
			       const struct sockaddr_storage *own)
{
	struct rdma_cm_id *id = kdapl_cm_bind(addr_env->ia, own, &addr_env->fake->ibdev,
					      kdapl_cm_handler, context, 0, NULL);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	return id;
}

/* ---- addresses come and go ------------------------------------------------------- */

static void an_address_that_is_added_later_accepts(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	struct sockaddr_storage late = address(1);
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	struct rdma_cm_id *child;
	DAT_EP_PARAM param = {};
	DAT_PSP_PARAM psp_param;
	DAT_PSP_HANDLE psp;
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;
	DAT_EVENT got = {};

	addr_ipoib_make(test);
	KUNIT_ASSERT_EQ(test, create(addr_env, KDAT_PSP_ANY_ADDRESS_FLAG, &evd, &psp), DAT_SUCCESS);
	sp = sp_of(psp);
	KUNIT_EXPECT_EQ(test, dat_psp_query(psp, DAT_PSP_FIELD_ALL, &psp_param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, (u32)psp_param.psp_flags, KDAT_PSP_ANY_ADDRESS_FLAG);
	KUNIT_EXPECT_EQ(test, listens(sp, &addr_env->ia->addr), 1);
	KUNIT_EXPECT_EQ(test, listens(sp, NULL), 1);

	set(test, 1, true);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(listens(sp, &late) == 1));
	KUNIT_EXPECT_EQ(test, listens(sp, NULL), 2);
	child = bind(test, sp, &late);
	/* At a port to which the IA does not belong any more */
	child->port_num++;
	KUNIT_EXPECT_EQ(test, list_last_entry(&sp->listeners, struct kdapl_listener,
					      node)->id->event_handler(child, &event),
			-ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, atomic_read(&sp->refused[KDAPL_REFUSED_LATE]), 1);
	child->port_num--;
	KUNIT_EXPECT_EQ(test, list_last_entry(&sp->listeners, struct kdapl_listener,
					      node)->id->event_handler(child, &event), 0);
	fake_settle(addr_env->fake);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &got), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, got.event_number, DAT_CONNECTION_REQUEST_EVENT);
	data = &got.event_data.cr_arrival_event_data;
	KUNIT_EXPECT_TRUE(test, kdapl_addr_equal((void *)data->local_ia_address_ptr, &late));

	/* The EP has that address, too; the accept fails, because the request has no peer */
	KUNIT_ASSERT_EQ(test, tp_ep_create(addr_env, NULL, false, &addr_ep), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(data->cr_handle, addr_ep.handle, 0, NULL), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_query(addr_ep.handle, DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
					   &param), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kdapl_addr_equal((void *)param.local_ia_address_ptr, &late));
	fake_settle(addr_env->fake);

	set(test, 1, false);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(listens(sp, NULL) == 1));
	KUNIT_EXPECT_EQ(test, listens(sp, &addr_env->ia->addr), 1);
	/* The qualifier is free again */
	KUNIT_EXPECT_EQ(test, dat_psp_free(psp), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, create(addr_env, DAT_PSP_CONSUMER_FLAG, &evd, &psp), DAT_SUCCESS);
}

/* Makes an EP that has accepted a connection at an address */
static void accepted(struct kunit *test, struct tp_ep *tep, const struct sockaddr_storage *own)
{
	struct rdma_cm_id *id = bind(test, tep->ep, own);
	DAT_EVENT event;

	mutex_lock(&tep->ep->mutex);
	spin_lock_irq(&tep->ep->lock);
	kdapl_cm_set_local(tep->ep, own);
	spin_unlock_irq(&tep->ep->lock);
	mutex_unlock(&tep->ep->mutex);
	KUNIT_ASSERT_EQ(test, tp_begin_with(tep, id, true), 0);
	tp_cm_says(id, RDMA_CM_EVENT_ESTABLISHED);
	fake_settle(addr_env->fake);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static bool over(struct tp_ep *tep)
{
	return READ_ONCE(tep->ep->state) == DAT_EP_STATE_DISCONNECTED;
}

static void C_62_an_EP_breaks_with_its_own_address(struct kunit *test)
{
	struct sockaddr_storage late = address(1), later = address(2);
	struct in6_addr own;
	DAT_PSP_HANDLE psp;
	struct kdapl_sp *sp;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-62 C-30");
	addr_ipoib_make(test);
	own = addr_link_local(addr_ipoib);
	KUNIT_ASSERT_EQ(test, create(addr_env, KDAT_PSP_ANY_ADDRESS_FLAG, &evd, &psp), DAT_SUCCESS);
	sp = sp_of(psp);
	set(test, 1, true);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(listens(sp, &late) == 1));
	addr_make_ep(test, &addr_ep);
	addr_make_ep(test, &addr_second);
	accepted(test, &addr_ep, &addr_env->ia->addr);
	accepted(test, &addr_second, &late);

	set(test, 1, false);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(over(&addr_second)));
	fake_settle(addr_env->fake);
	addr_expect_conn(test, &addr_second, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_FALSE(test, over(&addr_ep));

	set(test, 1, true);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(listens(sp, &late) == 1));
	KUNIT_ASSERT_EQ(test, dat_ep_reset(addr_second.handle), DAT_SUCCESS);
	accepted(test, &addr_second, &late);
	addr_ipoib_set(test, addr_ipoib, &own, false);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(over(&addr_ep)));
	fake_settle(addr_env->fake);
	addr_expect_conn(test, &addr_ep, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_FALSE(test, over(&addr_second));

	/* Without the address of the IA, too, connections at others begin */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(listens(sp, NULL) == 1));
	set(test, 2, true);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(listens(sp, &later) == 1));
	KUNIT_ASSERT_EQ(test, dat_ep_reset(addr_ep.handle), DAT_SUCCESS);
	accepted(test, &addr_ep, &later);
	KUNIT_EXPECT_FALSE(test, over(&addr_ep));
}

/* ---- the same qualifier twice ------------------------------------------------------ */

static void an_address_in_use_is_tried_again(struct kunit *test)
{
	struct sockaddr_storage late = address(1);
	struct rdma_cm_id *id;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	struct kdapl_sp *sp;

	addr_ipoib_make(test);
	set(test, 1, true);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(kdapl_addr_on_port(&addr_env->fake->ibdev, 1,
								     &late, &init_net)));
	id = kdapl_cm_bind(addr_env->ia, &late, &addr_env->fake->ibdev, kdapl_cm_handler, NULL,
			   ADDR_PORT, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	KUNIT_ASSERT_EQ(test, create(addr_env, KDAT_PSP_ANY_ADDRESS_FLAG, &evd, &psp), DAT_SUCCESS);
	sp = sp_of(psp);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(sp->retry)));
	KUNIT_EXPECT_EQ(test, listens(sp, NULL), 1);
	KUNIT_EXPECT_EQ(test, listens(sp, &late), 0);
	rdma_destroy_id(id);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(listens(sp, &late)));
	KUNIT_EXPECT_EQ(test, listens(sp, NULL), 2);
	/* On all addresses it is in use now */
	TP_EXPECT_TYPE(test, create(addr_env, KDAT_PSP_ANY_ADDRESS_FLAG, &evd, &psp),
		       DAT_CONN_QUAL_IN_USE);
}

/* The range of local ports has two ports, and one of them is in use on one of the addresses */
static void a_port_that_is_free_on_all_addresses_is_chosen(struct kunit *test)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&addr_env->ia->obj);
	u32 range = READ_ONCE(init_net.ipv4.ip_local_ports.range), i;
	struct sockaddr_storage late = address(1);
	struct rdma_cm_id *id;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;

	addr_ipoib_make(test);
	set(test, 1, true);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(kdapl_addr_on_port(&addr_env->fake->ibdev, 1,
								     &late, &init_net)));
	id = kdapl_cm_bind(addr_env->ia, &late, &addr_env->fake->ibdev, kdapl_cm_handler, NULL,
			   ADDR_PORT, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG,
					      &evd), DAT_SUCCESS);
	WRITE_ONCE(init_net.ipv4.ip_local_ports.range, (ADDR_PORT + 1) << 16 | ADDR_PORT);
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_EQ(test, dat_psp_create_any(ia, &qual, evd, KDAT_PSP_ANY_ADDRESS_FLAG,
							 &psp), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, qual, ADDR_PORT + 1);
		KUNIT_EXPECT_EQ(test, listens(sp_of(psp), NULL), 2);
		KUNIT_EXPECT_EQ(test, dat_psp_free(psp), DAT_SUCCESS);
	}
	WRITE_ONCE(init_net.ipv4.ip_local_ports.range, range);
	rdma_destroy_id(id);
}

static void each_device_has_its_own_qualifiers(struct kunit *test)
{
	struct sockaddr_in6 *in6;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;

	addr_ipoib_make(test);
	KUNIT_ASSERT_EQ(test, create(addr_env, KDAT_PSP_ANY_ADDRESS_FLAG, &evd, &psp), DAT_SUCCESS);
	other = tp_env_create();
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	addr_ipoib_add(test, other->fake, &addr_another);
	in6 = (struct sockaddr_in6 *)&other->ia->addr;
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = addr_link_local(addr_another);
	in6->sin6_scope_id = addr_another->ifindex;
	KUNIT_EXPECT_EQ(test, create(other, KDAT_PSP_ANY_ADDRESS_FLAG, &evd, &psp), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, listens(sp_of(psp), &other->ia->addr), 1);
	KUNIT_EXPECT_EQ(test, listens(sp_of(psp), NULL), 1);
}

static void any_address_exit(struct kunit *test)
{
	if (!IS_ERR_OR_NULL(other))
		tp_env_destroy(other);
	other = NULL;
	addr_exit(test);
}

static struct kunit_case any_address_cases[] = {
	KUNIT_CASE(an_address_that_is_added_later_accepts),
	KUNIT_CASE(C_62_an_EP_breaks_with_its_own_address),
	KUNIT_CASE(an_address_in_use_is_tried_again),
	KUNIT_CASE(a_port_that_is_free_on_all_addresses_is_chosen),
	KUNIT_CASE(each_device_has_its_own_qualifiers),
	{}
};

static struct kunit_suite any_address_suite = {
	.name = "kdapl_any_address",
	.init = addr_init,
	.exit = any_address_exit,
	.test_cases = any_address_cases,
};

kunit_test_suite(any_address_suite);
