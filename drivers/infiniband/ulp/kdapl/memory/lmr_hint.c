// SPDX-License-Identifier: GPL-2.0
/*
 * Calls about memory that change nothing: the preferred length and alignment of a
 * registration, and the two calls that synchronize memory with the device.
 *
 * Called by Consumers, in any context. The latter two do nothing, because memory that would
 * need them is not registered at all (lmr.c). They check their arguments, so that a mistake
 * shows on every machine.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include "object/object.h"

static DAT_RETURN kdapl_memtype_check(DAT_MEM_TYPE type)
{
	switch (type) {
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_PHYSICAL:
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		return DAT_SUCCESS;
	case DAT_MEM_TYPE_PLATFORM:
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_BYPASS:
		return KDAPL_UNSUPPORTED;
	}
	return KDAPL_BAD_ARG(2);
}

/**
 * dat_ia_memtype_hint - query the preferred length and alignment of a registration
 * @ia_handle:           open IA
 * @mem_type:            DAT_MEM_TYPE_* of the registration
 * @length:              its length in bytes
 * @mem_optimization:    DAT_MEM_OPTIMIZE_*, which has no effect
 * @preferred_length:    receives the length in bytes: whole pages, at least one, and at most
 *                       max_lmr_block_size of the IA
 * @preferred_alignment: receives the alignment of the first byte: PAGE_SIZE
 *
 * Memory with other lengths and alignments can also be registered; it needs one more page.
 *
 * Context: any (class A).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle is not the handle of an IA
 * * DAT_INVALID_PARAMETER - unknown type or optimization; a pointer for a result is NULL
 * * DAT_MODEL_NOT_SUPPORTED - a type that dat_lmr_kcreate() does not support
 */
DAT_RETURN dat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type, DAT_VLEN length,
			       DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			       DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment)
{
	DAT_RETURN ret = kdapl_memtype_check(mem_type);
	struct kdapl_obj *obj;
	DAT_VLEN most;

	obj = kdapl_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
	if (!obj)
		return KDAPL_BAD_HANDLE(IA);
	if (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		goto out;
	if (mem_optimization & ~(DAT_MEM_OPTIMIZE_IA | DAT_MEM_OPTIMIZE_MIN_EXPOSURE |
				 DAT_MEM_OPTIMIZE_EXACT_EXPOSURE))
		ret = KDAPL_BAD_ARG(4);
	else if (!preferred_length)
		ret = KDAPL_BAD_ARG(5);
	else if (!preferred_alignment)
		ret = KDAPL_BAD_ARG(6);
	if (ret != DAT_SUCCESS)
		goto out;
	most = to_kdapl_ia(obj)->attr.max_lmr_block_size;
	/* Compare before rounding up, which may wrap */
	*preferred_length = length >= most ? most : PAGE_ALIGN(length ?: 1);
	*preferred_alignment = PAGE_SIZE;
out:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_memtype_hint);

static DAT_RETURN kdapl_sync_check_one(const struct kdapl_ia *ia, const DAT_LMR_TRIPLET *seg)
{
	const struct kdapl_lmr_desc *desc = kdapl_lmr_desc(seg->lmr_context);
	const struct kdapl_lmr *lmr = NULL;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!seg->segment_length)
		return ret;
	rcu_read_lock();
	/* Pairs with the store of zp, which is the last one when the descriptor is set up */
	if (smp_load_acquire(&desc->zp) && READ_ONCE(desc->context) == seg->lmr_context)
		/* The LMR exists for a grace period after the entry was cleared */
		lmr = READ_ONCE(desc->lmr);
	if (!lmr || lmr->obj.ia != ia)
		ret = KDAPL_BAD_HANDLE(LMR);
	else if (!kdapl_segment_inside(seg->virtual_address, seg->segment_length, desc->minus_start,
				       desc->length))
		ret = KDAPL_BAD_ARG(2);
	rcu_read_unlock();
	return ret;
}

static DAT_RETURN kdapl_sync_check(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *segments,
				   DAT_VLEN num_segments)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_obj *obj;
	DAT_VLEN i;

	obj = kdapl_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
	if (!obj)
		return KDAPL_BAD_HANDLE(IA);
	if (num_segments > INT_MAX)
		ret = KDAPL_BAD_ARG(3);
	else if (num_segments && !segments)
		ret = KDAPL_BAD_ARG(2);
	for (i = 0; ret == DAT_SUCCESS && i < num_segments; i++)
		ret = kdapl_sync_check_one(to_kdapl_ia(obj), &segments[i]);
	kdapl_obj_put(obj);
	return ret;
}

/**
 * dat_lmr_sync_rdma_read - synchronize memory before an RDMA read of the peer
 * @ia_handle:      open IA
 * @local_segments: memory that was written here and that the peer will read
 * @num_segments:   number of triplets in @local_segments
 *
 * The call does nothing, because the provider attribute lmr_sync_req is DAT_FALSE. Empty segments
 * are not checked.
 *
 * Context: any (class A).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle is not the handle of an IA; a context is not that of an
 *   LMR of the IA
 * * DAT_INVALID_PARAMETER - @local_segments is NULL although @num_segments is not 0; a
 *   segment is not inside its LMR; @num_segments does not fit in a DAT_COUNT
 */
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	return kdapl_sync_check(ia_handle, local_segments, num_segments);
}
EXPORT_SYMBOL_GPL(dat_lmr_sync_rdma_read);

/**
 * dat_lmr_sync_rdma_write - synchronize memory after an RDMA write of the peer
 * @ia_handle:      open IA
 * @local_segments: memory that the peer has written and that will be read here
 * @num_segments:   number of triplets in @local_segments
 *
 * The call does nothing, because the provider attribute lmr_sync_req is DAT_FALSE. Empty segments
 * are not checked.
 *
 * Context: any (class A).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ia_handle is not the handle of an IA; a context is not that of an
 *   LMR of the IA
 * * DAT_INVALID_PARAMETER - @local_segments is NULL although @num_segments is not 0; a
 *   segment is not inside its LMR; @num_segments does not fit in a DAT_COUNT
 */
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	return kdapl_sync_check(ia_handle, local_segments, num_segments);
}
EXPORT_SYMBOL_GPL(dat_lmr_sync_rdma_write);
