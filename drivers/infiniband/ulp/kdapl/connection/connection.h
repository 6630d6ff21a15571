/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections: what the layers above use.
 */
#ifndef _KDAPL_CONNECTION_H_
#define _KDAPL_CONNECTION_H_

#include "object/object.h"

/* ---- keepalive.c --------------------------------------------------------- */

void kdapl_keepalive_setup(struct kdapl_ep *ep);

/* ---- cm.c ---------------------------------------------------------------- */

/* Prepares work, timer and events of a new EP */
void kdapl_cm_setup(struct kdapl_ep *ep);

/*
 * Ends the connection or attempt of an EP that is being freed or whose device is being
 * removed: moves the QP to ERROR, drains it, notifies the peer, gives up the id, and sets
 * the state to DISCONNECTED. There are two steps, so that a caller can drain many QPs at
 * once. A pending outcome or end event is queued unless the EP is being freed. ep->mutex
 * held. The work may still run afterwards, but finds nothing to do.
 */
void kdapl_cm_end_begin(struct kdapl_ep *ep);
void kdapl_cm_end_finish(struct kdapl_ep *ep, unsigned long since);

/* ---- notice.c ------------------------------------------------------------ */

/* How long the removal of a device waits for answers to disconnects; KUnit changes it */
extern unsigned int kdapl_notice_leave_ms, kdapl_notice_max;

/* Schedules a check of a device's notices; any context */
void kdapl_notice_schedule(struct kdapl_device *dev);
void kdapl_notice_setup(struct kdapl_device *dev);
void kdapl_notice_drop_all(struct kdapl_device *dev);

/* ---- cm_id.c ------------------------------------------------------------- */

/* The IP port of a connection qualifier */
u16 kdapl_cm_port(DAT_CONN_QUAL qual);

#endif /* _KDAPL_CONNECTION_H_ */
