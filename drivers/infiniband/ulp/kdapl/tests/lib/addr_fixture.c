// SPDX-License-Identifier: GPL-2.0
/* KUnit: fixture of the address suites, see addr_kunit.h. Runs in a KUnit thread. */
#include <linux/file.h>
#include <linux/if_arp.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include "addr_kunit.h"

struct tp_env *addr_env;
struct tp_ep addr_ep, addr_second, addr_third;
struct net_device *addr_ipoib, *addr_another;

void addr_expect_conn(struct kunit *test, struct tp_ep *tep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
	KUNIT_EXPECT_EQ(test, tep->ep->state, DAT_EP_STATE_DISCONNECTED);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(tep->connect_evd, &event), DAT_QUEUE_EMPTY);
}

void addr_make_ep(struct kunit *test, struct tp_ep *tep)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(addr_env, NULL, false, tep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(addr_env, tep, TP_RECV, 1, 0), DAT_SUCCESS);
}

void addr_make_three(struct kunit *test)
{
	addr_make_ep(test, &addr_ep);
	addr_make_ep(test, &addr_second);
	addr_make_ep(test, &addr_third);
	KUNIT_ASSERT_EQ(test, tp_connect(&addr_ep), 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&addr_second, false));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&addr_third, true));
	fake_settle(addr_env->fake);
	KUNIT_EXPECT_EQ(test, addr_ep.ep->state, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_EQ(test, addr_second.ep->state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	KUNIT_EXPECT_EQ(test, addr_third.ep->state, DAT_EP_STATE_COMPLETION_PENDING);
}

static bool all_over(void)
{
	return READ_ONCE(addr_ep.ep->state) == DAT_EP_STATE_DISCONNECTED &&
	       READ_ONCE(addr_second.ep->state) == DAT_EP_STATE_DISCONNECTED &&
	       READ_ONCE(addr_third.ep->state) == DAT_EP_STATE_DISCONNECTED;
}

void addr_expect_lost(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(all_over()));
	fake_settle(addr_env->fake);
	addr_expect_conn(test, &addr_ep, DAT_CONNECTION_EVENT_BROKEN);
	addr_expect_conn(test, &addr_second, DAT_CONNECTION_EVENT_UNREACHABLE);
	addr_expect_conn(test, &addr_third, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	tp_expect_dto(test, &addr_ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &addr_second, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &addr_third, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
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

void addr_ipoib_up(struct kunit *test, struct net_device *ndev)
{
	int err;

	rtnl_lock();
	err = dev_open(ndev, NULL);
	rtnl_unlock();
	KUNIT_ASSERT_EQ(test, err, 0);
}

void addr_ipoib_down(struct net_device *ndev)
{
	rtnl_lock();
	dev_close(ndev);
	rtnl_unlock();
}

void addr_ipoib_add(struct kunit *test, struct fake_dev *fake, struct net_device **out)
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
	addr_ipoib_up(test, ndev);
}

void addr_ipoib_remove(struct net_device **ndev)
{
	if (!*ndev)
		return;
	if ((*ndev)->reg_state == NETREG_REGISTERED)
		unregister_netdev(*ndev);
	free_netdev(*ndev);
	*ndev = NULL;
}

/* As "ip addr" does it: no function of the kernel that a module may call adds an address */
void addr_ipoib_set(struct kunit *test, struct net_device *ndev, const struct in6_addr *addr,
		    bool add)
{
	struct {
		struct nlmsghdr nlh;
		struct ifaddrmsg ifa;
		struct rtattr rta;
		struct in6_addr local;
	} request = {
		.nlh = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = add ? RTM_NEWADDR : RTM_DELADDR,
			.nlmsg_flags = NLM_F_REQUEST | (add ? NLM_F_CREATE | NLM_F_EXCL : 0),
		},
		.ifa = {
			.ifa_family = AF_INET6,
			.ifa_prefixlen = 64,
			.ifa_flags = IFA_F_NODAD,
			.ifa_index = ndev->ifindex,
		},
		.rta = { .rta_len = RTA_LENGTH(sizeof(*addr)), .rta_type = IFA_LOCAL },
		.local = *addr,
	};
	struct kvec vec = { &request, sizeof(request) };
	struct msghdr msg = {};
	struct socket *sock;
	struct file *file;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_NETLINK, SOCK_RAW, NETLINK_ROUTE,
					       &sock), 0);
	/* The rights of a request are those of the file */
	file = sock_alloc_file(sock, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(sock, &msg, &vec, 1, sizeof(request)),
			sizeof(request));
	fput(file);
}

struct in6_addr addr_link_local(const struct net_device *ndev)
{
	struct in6_addr addr = { .s6_addr = { 0xfe, 0x80 } };

	memcpy(&addr.s6_addr[8], ndev->dev_addr + 12, 8);
	addr.s6_addr[8] |= 2;
	return addr;
}

int addr_resolve(const char *base, const struct net_device *ndev, const char *scope,
		 struct kdapl_device **dev, struct sockaddr_in6 *in6, struct net **net)
{
	struct in6_addr want = addr_link_local(ndev);
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

void addr_ipoib_make(struct kunit *test)
{
	struct kdapl_device *dev;
	struct sockaddr_in6 in6;
	struct net *net;

	addr_ipoib_add(test, addr_env->fake, &addr_ipoib);
	KUNIT_ASSERT_EQ(test, addr_resolve(addr_ipoib->name, addr_ipoib, "", &dev, &in6, &net), 0);
	KUNIT_EXPECT_TRUE(test, net_eq(net, &init_net));
	KUNIT_EXPECT_PTR_EQ(test, dev->ibdev, &addr_env->fake->ibdev);
	KUNIT_EXPECT_EQ(test, in6.sin6_family, AF_INET6);
	KUNIT_EXPECT_EQ(test, in6.sin6_scope_id, addr_ipoib->ifindex);
	memcpy(&addr_env->ia->addr, &in6, sizeof(in6));
	/* The watcher may have looked for the address that the IA had before, which nobody has */
	fake_settle(addr_env->fake);
	WRITE_ONCE(addr_env->ia->addr_lost, false);
}

bool addr_found(const struct net *net)
{
	return kdapl_addr_on_port(&addr_env->fake->ibdev, 1, &addr_env->ia->addr, net);
}

int addr_init(struct kunit *test)
{
	memset(&addr_ep, 0, sizeof(addr_ep));
	memset(&addr_second, 0, sizeof(addr_second));
	memset(&addr_third, 0, sizeof(addr_third));
	addr_env = tp_env_create();
	return PTR_ERR_OR_ZERO(addr_env);
}

void addr_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(addr_env))
		return;
	tp_ep_free(&addr_ep);
	tp_ep_free(&addr_second);
	tp_ep_free(&addr_third);
	tp_env_destroy(addr_env);
	addr_env = NULL;
	addr_ipoib_remove(&addr_ipoib);
	addr_ipoib_remove(&addr_another);
}
