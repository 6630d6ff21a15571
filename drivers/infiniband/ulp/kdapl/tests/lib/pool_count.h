/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts the slots on the free stack of a pool that nobody uses at the same time. A test can
 * distinguish a leaked slot from one that is only marked as free.
 */
#ifndef _KDAPL_POOL_COUNT_H_
#define _KDAPL_POOL_COUNT_H_

#include "../../base/pool.h"

static inline u32 kdapl_pool_free_count(const struct kdapl_pool *pool)
{
	u32 off = (u32)READ_ONCE(kdapl_pool_head(pool->base)->head);
	const struct kdapl_slot *slot;
	u32 n = 0;

	while (off != KDAPL_POOL_NONE && n < pool->depth) {
		slot = pool->base + off;
		off = (u32)READ_ONCE(slot->dto.free_next);
		n++;
	}
	return n;
}

#endif /* _KDAPL_POOL_COUNT_H_ */
