/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endpoints: teardown of any number of them.
 */
#ifndef _KDAPL_ENDPOINT_H_
#define _KDAPL_ENDPOINT_H_

#include "object/object.h"

void kdapl_eps_teardown(struct list_head *eps, bool dying);

void kdapl_ep_free_ended(struct kdapl_ia *ia);

#endif /* _KDAPL_ENDPOINT_H_ */
