/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IAs: opening, closing, what happens to their devices and addresses, and watches of names.
 */
#ifndef _KDAPL_IA_H_
#define _KDAPL_IA_H_

#include "object/object.h"

struct module;

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

#endif /* _KDAPL_IA_H_ */
