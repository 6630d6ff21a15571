// SPDX-License-Identifier: GPL-2.0
/*
 * The part of a query that is the same for all types of objects. Called by dat_*_query(), in
 * any context.
 */
#include <linux/string.h>
#include "object.h"

/*
 * Copies the members that a mask selects. Any context.
 *
 * @from:    another one of the same type
 * @mask:    the members, by bit; the caller has checked it
 * @offsets: of each member, by bit, and the size of the structure at the end
 */
void kdapl_copy_fields(void *to, const void *from, u64 mask, const u16 *offsets)
{
	for (; mask; offsets++, mask >>= 1)
		if (mask & 1)
			memcpy(to + offsets[0], from + offsets[0], offsets[1] - offsets[0]);
}

/*
 * Queries the parameters of an object. Returns DAT_SUCCESS; DAT_INVALID_HANDLE as @query says;
 * DAT_INVALID_PARAMETER: ARG2 unknown bit, ARG3 @param is NULL. Any context.
 *
 * @mask:  the parameters to return
 * @param: receives them; other members do not change
 */
DAT_RETURN kdapl_query(const struct kdapl_query *query, DAT_HANDLE handle, u64 mask, void *param)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, query->type);
	DAT_RETURN ret = DAT_SUCCESS;
	union kdapl_param all;

	if (!obj)
		return query->bad_handle;
	if (mask & ~query->all) {
		ret = KDAPL_BAD_ARG(2);
	} else if (!param) {
		ret = KDAPL_BAD_ARG(3);
	} else {
		memset(&all, 0, sizeof(all));
		query->fill(obj, &all);
		kdapl_copy_fields(param, &all, mask, query->offsets);
	}
	kdapl_obj_put(obj);
	return ret;
}
