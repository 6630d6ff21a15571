/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IAs: opening, events, closing, and what only the entry and exit of the module call.
 * No other directory includes this header.
 */
#ifndef _KDAPL_IA_H_
#define _KDAPL_IA_H_

#include "object/object.h"

struct dentry;
struct module;

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

int kdapl_arrival_add(struct kdapl_device *dev);
void kdapl_arrival_changed(void);
void kdapl_arrival_remove(const struct kdapl_device *dev);
void kdapl_arrival_exit(void);

extern atomic_t kdapl_open_ias;

int kdapl_ia_create(struct kdapl_device *dev, u32 port, const struct sockaddr *addr,
		    struct net *net, int async_qlen, struct kdapl_evd *async_evd,
		    struct kdapl_ia **out);

void kdapl_ia_destroy(struct kdapl_ia *ia);

extern wait_queue_head_t kdapl_ias_closed;

void kdapl_ia_destroy_of_owner(const struct module *owner);
void kdapl_ia_remove(struct kdapl_ia *ia);

void kdapl_ia_address_lost(struct kdapl_ia *ia);
void kdapl_ia_device_failed(struct kdapl_ia *ia);
void kdapl_ia_address_moved(struct kdapl_ia *ia);
void kdapl_ia_catastrophic(struct kdapl_ia *ia);

void kdapl_ia_fill_attr(struct kdapl_ia *ia);

extern struct dentry *kdapl_debugfs;
void kdapl_debugfs_init(void);
void kdapl_debugfs_exit(void);

extern struct notifier_block kdapl_module_nb;

#endif /* _KDAPL_IA_H_ */
