/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to module/: what its entry and exit call, and KUnit.
 */
#ifndef _KDAPL_MODULE_INTERNAL_H_
#define _KDAPL_MODULE_INTERNAL_H_

#include "ia/ia.h"

int kdapl_device_init(void);
void kdapl_device_exit(void);
struct kdapl_device *kdapl_device_alloc(struct ib_device *ibdev);
void kdapl_device_renamed(struct ib_device *ibdev, void *client_data);
void kdapl_device_free(struct kdapl_device *dev);

bool kdapl_device_check_addrs(struct llist_node *gone, bool ipoib);

/*
 * When the watcher misses a GID, it looks again after this time before it considers the
 * address lost, because the core removes GIDs before it adds them again.
 */
#define KDAPL_ADDR_GRACE_MS	200

int kdapl_addr_init(void);
void kdapl_addr_exit(void);
void kdapl_addr_changed(bool ipoib);

void kdapl_debugfs_init(void);
void kdapl_debugfs_exit(void);

extern struct notifier_block kdapl_module_nb;

#endif /* _KDAPL_MODULE_INTERNAL_H_ */
