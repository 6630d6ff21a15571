/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to device/.
 */
#ifndef _KDAPL_DEVICE_INTERNAL_H_
#define _KDAPL_DEVICE_INTERNAL_H_

#include "device.h"

struct kdapl_device *kdapl_device_by_name(const char *name);

bool kdapl_addr_find(struct ib_device *ibdev, u32 port, const char *netdev,
		     const struct net *home, const struct sockaddr_storage *want,
		     struct sockaddr_storage *addr, struct net **net);

#endif /* _KDAPL_DEVICE_INTERNAL_H_ */
