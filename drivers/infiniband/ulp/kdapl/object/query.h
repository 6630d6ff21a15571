/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queries: a function fills in all parameters of an object, and a table has their offsets.
 * query.c checks the arguments and copies the parameters that are selected. Used by the
 * files that have a query; any context.
 */
#ifndef _KDAPL_QUERY_H_
#define _KDAPL_QUERY_H_

#include <linux/build_bug.h>
#include <linux/log2.h>
#include <linux/stddef.h>
#include "base/base.h"

union kdapl_param {
	DAT_CR_PARAM cr;
	DAT_EP_PARAM ep;
	DAT_EVD_PARAM evd;
	DAT_LMR_PARAM lmr;
	DAT_PSP_PARAM psp;
	DAT_PZ_PARAM pz;
	DAT_RMR_PARAM rmr;
	DAT_RSP_PARAM rsp;
	DAT_SRQ_PARAM srq;
};

/**
 * struct kdapl_query - what dat_*_query() of a type does
 * @type:       of the handle
 * @bad_handle: return value for another one
 * @all:        the bits that are defined
 * @offsets:    of each parameter, by bit, and the size of all at the end. The bits have the
 *              order of the members, so a member ends where the next one begins
 * @fill:       fills in all parameters of an object
 */
struct kdapl_query {
	DAT_HANDLE_TYPE type;
	DAT_RETURN bad_handle;
	u64 all;
	const u16 *offsets;
	void (*fill)(struct kdapl_obj *obj, union kdapl_param *param);
};

/* The query of a type; its table is @name_offsets, its function @name_fill */
#define KDAPL_DEFINE_QUERY(name, of, bad)				\
	static const struct kdapl_query name##_query = {		\
		.type = DAT_HANDLE_TYPE_##of,				\
		.bad_handle = (bad),					\
		.all = DAT_##of##_FIELD_ALL,				\
		.offsets = name##_offsets,				\
		.fill = name##_fill,					\
	};								\
	static_assert(ARRAY_SIZE(name##_offsets) == ilog2(DAT_##of##_FIELD_ALL) + 2)

#define KDAPL_PARAM(of, member)	offsetof(DAT_##of##_PARAM, member)

DAT_RETURN kdapl_query(const struct kdapl_query *query, DAT_HANDLE handle, u64 mask, void *param);
void kdapl_copy_fields(void *to, const void *from, u64 mask, const u16 *offsets);

#endif /* _KDAPL_QUERY_H_ */
