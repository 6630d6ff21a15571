/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IAs: opening, events, closing, and what only the entry and exit of the module call.
 * No other folder includes this header.
 */
#ifndef _KDAPL_IA_H_
#define _KDAPL_IA_H_

#include "object/object.h"

struct dentry;
struct module;

/* ---- client.c ------------------------------------------------------------ */

int kdapl_device_init(void);
void kdapl_device_exit(void);
struct kdapl_device *kdapl_device_alloc(struct ib_device *ibdev);
void kdapl_device_renamed(struct ib_device *ibdev, void *client_data);
void kdapl_device_free(struct kdapl_device *dev);

/* Checks the addresses of all IAs after a change; process context */
bool kdapl_device_check_addrs(struct llist_node *gone, bool ipoib);

/*
 * When the watcher misses a GID, it looks again after this time before it considers the
 * address lost, because the core removes GIDs before it adds them again.
 */
#define KDAPL_ADDR_GRACE_MS	200

int kdapl_addr_init(void);
void kdapl_addr_exit(void);

/* Schedules the watcher, which checks the addresses of IAs; any context */
void kdapl_addr_changed(bool ipoib);

/* ---- arrival.c ----------------------------------------------------------- */

/* The record of a device, for the watches of IA names; see there for the order of these calls */
int kdapl_arrival_add(struct kdapl_device *dev);
/* Names of devices have changed; kdapl_device_mutex held. The second one also removes the record */
void kdapl_arrival_changed(void);
void kdapl_arrival_remove(const struct kdapl_device *dev);
void kdapl_arrival_exit(void);

/* ---- ia_open.c ----------------------------------------------------------- */

extern atomic_t kdapl_nias;

/*
 * Creates an IA on a device; called by dat_ia_openv() and KUnit. kdapl_device_mutex
 * held, so that the device is not removed meanwhile.
 */
int kdapl_ia_create(struct kdapl_device *dev, u32 port, const struct sockaddr *addr,
		    struct net *net, int async_qlen, struct kdapl_evd *async_evd,
		    struct kdapl_ia **out);

/* ---- ia_close.c ---------------------------------------------------------- */

/* Destroys an IA with all its objects; its handle was removed from the table */
void kdapl_ia_destroy(struct kdapl_ia *ia);

/* Woken when an IA has been closed */
extern wait_queue_head_t kdapl_ias_closed;

/* Closes the IAs that the module @owner (NULL: any Consumer) has left open */
void kdapl_ia_destroy_of_owner(const struct module *owner);

/* The device is being removed: orphans the IA. Called by remove() in client.c */
void kdapl_ia_remove(struct kdapl_ia *ia);

/* ---- ia_event.c ---------------------------------------------------------- */

/* The IP address of the IA was lost (C-62); the device has failed. kdapl_device_mutex held */
void kdapl_ia_address_lost(struct kdapl_ia *ia);
void kdapl_ia_device_failed(struct kdapl_ia *ia);

/* The address still exists: breaks only what lost its GID. kdapl_device_mutex held */
void kdapl_ia_address_moved(struct kdapl_ia *ia);

/* The device has failed or was removed: raises IA_CATASTROPHIC, once */
void kdapl_ia_catastrophic(struct kdapl_ia *ia);

/* ---- ia_query.c ---------------------------------------------------------- */

/* Fills in what dat_ia_query() returns; the device must exist */
void kdapl_ia_fill_attr(struct kdapl_ia *ia);

/* ---- debugfs.c ----------------------------------------------------------- */

extern struct dentry *kdapl_debugfs;
void kdapl_debugfs_init(void);
void kdapl_debugfs_exit(void);

/* ---- main.c -------------------------------------------------------------- */

extern struct notifier_block kdapl_module_nb;

#endif /* _KDAPL_IA_H_ */
