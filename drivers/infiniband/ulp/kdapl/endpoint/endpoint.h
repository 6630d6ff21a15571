/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endpoints: teardown of any number of them.
 */
#ifndef _KDAPL_ENDPOINT_H_
#define _KDAPL_ENDPOINT_H_

#include "object/object.h"

/* ---- ep_strip.c ---------------------------------------------------------- */

/* Tears down many EPs (kdapl_ep.strip) in phases, with their verbs objects; process context */
void kdapl_ep_strip(struct list_head *eps, bool dying);

#endif /* _KDAPL_ENDPOINT_H_ */
