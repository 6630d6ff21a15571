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

/* ---- ep.c ---------------------------------------------------------------- */

/* Frees the EPs that the close of an IA has ended, when it has no EVDs any more */
void kdapl_ep_free_ended(struct kdapl_ia *ia);

#endif /* _KDAPL_ENDPOINT_H_ */
