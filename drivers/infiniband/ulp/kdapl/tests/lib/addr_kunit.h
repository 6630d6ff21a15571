/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixture of the KUnit suites about addresses (addr_fixture.c): an IA on the port of the
 * fake device, up to three EPs on it, and net devices like those of IPoIB. The kernel
 * gives such a net device an IPv6 address when it comes up, and removes the address when
 * the device goes down or moves to another network namespace.
 *
 * All functions run in a KUnit thread.
 */
#ifndef _KDAPL_ADDR_KUNIT_H_
#define _KDAPL_ADDR_KUNIT_H_

#include "post_kunit.h"

struct net;
struct net_device;
struct sockaddr_in6;

#define ADDR_PORT	40117	/* of service points and competing listeners */

extern struct tp_env *addr_env;
extern struct tp_ep addr_ep, addr_second, addr_third;
extern struct net_device *addr_ipoib, *addr_another;

int addr_init(struct kunit *test);
/* Frees everything that the test created with the functions below */
void addr_exit(struct kunit *test);

/* Creates an EP and posts one receive */
void addr_make_ep(struct kunit *test, struct tp_ep *tep);
/* Makes a connection (addr_ep), an active attempt (addr_second) and a passive one (addr_third) */
void addr_make_three(struct kunit *test);
/* Expects exactly one event on the connect EVD, and the EP in DISCONNECTED */
void addr_expect_conn(struct kunit *test, struct tp_ep *tep, DAT_EVENT_NUMBER number);
/* Waits until all three EPs have ended because the address was lost, and checks their events */
void addr_expect_lost(struct kunit *test);

/* Creates a net device on port 1 of the fake device and sets it up */
void addr_ipoib_add(struct kunit *test, struct fake_dev *fake, struct net_device **out);
void addr_ipoib_remove(struct net_device **ndev);
void addr_ipoib_up(struct kunit *test, struct net_device *ndev);
void addr_ipoib_down(struct net_device *ndev);
/* Adds an IPv6 address to the net device, or deletes it */
void addr_ipoib_set(struct kunit *test, struct net_device *ndev, const struct in6_addr *addr,
		    bool add);
/* Creates addr_ipoib and gives its address to the IA */
void addr_ipoib_make(struct kunit *test);

/* Returns the link-local address made of the last eight bytes of the hardware address */
struct in6_addr addr_link_local(const struct net_device *ndev);
/* Resolves the IA name made of @base, the address of @ndev and @scope ("": no scope) */
int addr_resolve(const char *base, const struct net_device *ndev, const char *scope,
		 struct kdapl_device **dev, struct sockaddr_in6 *in6, struct net **net);
/* Returns whether the address of the IA leads to port 1 in @net */
bool addr_found(const struct net *net);

#endif
