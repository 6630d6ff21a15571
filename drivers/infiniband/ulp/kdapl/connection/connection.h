/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections: what the layers above use.
 */
#ifndef _KDAPL_CONNECTION_H_
#define _KDAPL_CONNECTION_H_

#include "object/object.h"

void kdapl_keepalive_setup(struct kdapl_ep *ep);

void kdapl_cm_setup(struct kdapl_ep *ep);
void kdapl_cm_end_begin(struct kdapl_ep *ep);
void kdapl_cm_end_finish(struct kdapl_ep *ep, unsigned long since);

/* Limits of the ids of ended connections; KUnit changes them */
extern unsigned int kdapl_notice_leave_ms, kdapl_notice_max;

void kdapl_notice_schedule(struct kdapl_device *dev);
void kdapl_notice_hurry(struct kdapl_device *dev, const struct kdapl_ia *ia);
void kdapl_notice_setup(struct kdapl_device *dev);
void kdapl_notice_flush(struct kdapl_device *dev);

u16 kdapl_cm_port(DAT_CONN_QUAL qual);
const char *kdapl_sp_state(const struct kdapl_sp *sp);

#endif /* _KDAPL_CONNECTION_H_ */
