// SPDX-License-Identifier: GPL-2.0
/*
 * Queries of an IA and of any handle: the attributes of the IA and of the Provider, the type
 * of a handle, and the Consumer's context.
 *
 * All attributes are filled in when the IA is opened and are constant afterwards. So
 * Consumers may make these calls in any context, also after the device was removed.
 */
#include <linux/cache.h>
#include <linux/export.h>
#include "ia.h"

/* Limits of a device are u32 or int, those of DAT int */
#define kdapl_count(n)	((DAT_COUNT)clamp_t(s64, (n), 0, INT_MAX))

/* The IA uses one handle; objects of all types share the others */
#define KDAPL_MAX_OBJECTS	(KDAPL_HANDLE_MAX - 1)

/* Limits of one object or one post */
static void kdapl_ia_fill_sizes(DAT_IA_ATTR *attr, const struct kdapl_limits *l)
{
	attr->max_dto_per_ep = kdapl_count(l->max_dto_per_ep);
	attr->max_rdma_read_per_ep_in = kdapl_count(l->max_rd_atom_in);
	attr->max_rdma_read_per_ep_out = kdapl_count(l->max_rd_atom_out);
	attr->max_evd_qlen = kdapl_count(l->max_evd_qlen);
	attr->max_iov_segments_per_dto = kdapl_count(l->max_iov);
	attr->max_iov_segments_per_rdma_read = kdapl_count(l->max_iov_read);
	attr->max_iov_segments_per_rdma_write = kdapl_count(l->max_iov_write);
	attr->max_lmr_block_size = l->max_block;
	attr->max_lmr_virtual_address = U64_MAX;
	attr->max_rmr_target_address = U64_MAX;
	attr->max_message_size = l->max_message;
	attr->max_rdma_size = l->max_rdma;
	attr->max_recv_per_srq = kdapl_count(l->max_srq_wr);
}

/* Largest numbers of objects */
static void kdapl_ia_fill_numbers(DAT_IA_ATTR *attr, const struct kdapl_limits *l,
				  const struct ib_device_attr *dev)
{
	attr->max_eps = kdapl_count(l->max_eps);
	/* An EVD is not an object of the device */
	attr->max_evds = KDAPL_MAX_OBJECTS;
	attr->max_lmrs = kdapl_count(min_t(s64, l->max_mr, KDAPL_MAX_OBJECTS));
	/* An RMR has two MRs, and an LMR to which it can be bound has one */
	attr->max_rmrs = kdapl_count(min_t(s64, (l->max_mr - 1LL) / 2, KDAPL_MAX_OBJECTS));
	attr->max_pzs = kdapl_count(min_t(s64, dev->max_pd, KDAPL_MAX_OBJECTS));
	attr->max_srqs = kdapl_count(l->max_srqs);
	attr->max_ep_per_srq = l->max_srqs ? attr->max_eps : 0;
	attr->max_rdma_read_in = kdapl_count(dev->max_res_rd_atom);
	/* A device limits only incoming reads in total, so this is the sum over all EPs */
	attr->max_rdma_read_out = kdapl_count((s64)l->max_eps * l->max_rd_atom_out);
}

/*
 * Fills in the attributes that dat_ia_query() returns. Process context; the device must not be
 * removed meanwhile.
 */
void kdapl_ia_fill_attr(struct kdapl_ia *ia)
{
	const struct ib_device_attr *dev = &ia->ibdev->attrs;
	DAT_IA_ATTR *attr = &ia->attr;

	strscpy(attr->adapter_name, ia->dev->name, sizeof(attr->adapter_name));
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "vendor 0x%06x part %u",
		 dev->vendor_id, dev->vendor_part_id);
	attr->hardware_version_major = dev->hw_ver;
	attr->firmware_version_major = upper_32_bits(dev->fw_ver);
	attr->firmware_version_minor = lower_32_bits(dev->fw_ver);
	attr->ia_address_ptr = (struct sockaddr *)&ia->addr;
	kdapl_ia_fill_sizes(attr, &ia->limits);
	kdapl_ia_fill_numbers(attr, &ia->limits, dev);
}

#define Y DAT_TRUE
#define N DAT_FALSE
static const DAT_PROVIDER_ATTR kdapl_provider_attr = {
	.provider_name = "kdapl",
	.provider_version_major = 1,
	.provider_version_minor = 0,
	.dapl_version_major = DAT_VERSION_MAJOR,
	.dapl_version_minor = DAT_VERSION_MINOR,
	.lmr_mem_types_supported = DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR |
				   DAT_MEM_TYPE_PHYSICAL | DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,
	/* Segments are translated before a post returns */
	.iov_ownership_on_return = DAT_IOV_CONSUMER,
	.dat_qos_supported = DAT_QOS_BEST_EFFORT,
	.completion_flags_supported = DAT_COMPLETION_SUPPRESS_FLAG |
				      DAT_COMPLETION_SOLICITED_WAIT_FLAG |
				      DAT_COMPLETION_UNSIGNALLED_FLAG |
				      DAT_COMPLETION_BARRIER_FENCE_FLAG |
				      DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG,
	.is_thread_safe = Y,
	.max_private_data_size = KDAPL_REQUEST_PRIVATE,
	.supports_multipath = N,
	.ep_creator = DAT_PSP_CREATES_EP_NEVER,
	.upcall_policy = DAT_UPCALL_SINGLE_INSTANCE,
	.optimal_buffer_alignment = MAX(DAT_OPTIMAL_ALIGNMENT, SMP_CACHE_BYTES),
	/* software, requests, DTOs, connections, binds, asynchronous */
	.evd_stream_merging_supported = {
		{ Y, Y, Y, Y, Y, N },
		{ Y, Y, Y, Y, Y, Y },
		{ Y, Y, Y, Y, Y, Y },
		{ Y, Y, Y, Y, Y, Y },
		{ Y, Y, Y, Y, Y, Y },
		{ N, Y, Y, Y, Y, Y },
	},
	.srq_supported = Y,			/* if the device has them */
	.srq_ep_pz_difference_supported = N,
	.lmr_sync_req = N,
	.dto_async_return_guaranteed = N,
	.rdma_write_for_rdma_read_req = N,
	.rdma_read_lmr_rmr_context_exposure = N,
	.rmr_scope_supported = DAT_RMR_SCOPE_PZ,
	.is_interrupt_safe = N,
	.fmr_supported = Y,
	.lmr_for_fmr_scope_supported = DAT_LMR_SCOPE_PZ,
	.ha_supported = N,
	.ha_loadbalancing = DAT_HA_LB_NONE,
};

#undef Y
#undef N

/* Offsets of the members by bit, like kdapl_query.offsets */
#define IA_AT(member)	offsetof(DAT_IA_ATTR, member)
static const u16 kdapl_ia_fields[] = {
	IA_AT(adapter_name), IA_AT(vendor_name), IA_AT(hardware_version_major),
	IA_AT(hardware_version_minor), IA_AT(firmware_version_major),
	IA_AT(firmware_version_minor), IA_AT(ia_address_ptr), IA_AT(max_eps),
	IA_AT(max_dto_per_ep), IA_AT(max_rdma_read_per_ep_in), IA_AT(max_rdma_read_per_ep_out),
	IA_AT(max_evds), IA_AT(max_evd_qlen), IA_AT(max_iov_segments_per_dto), IA_AT(max_lmrs),
	IA_AT(max_lmr_block_size), IA_AT(max_lmr_virtual_address), IA_AT(max_pzs),
	IA_AT(max_message_size), IA_AT(max_rdma_size), IA_AT(max_rmrs),
	IA_AT(max_rmr_target_address), IA_AT(max_srqs), IA_AT(max_ep_per_srq),
	IA_AT(max_recv_per_srq), IA_AT(max_iov_segments_per_rdma_read),
	IA_AT(max_iov_segments_per_rdma_write), IA_AT(max_rdma_read_in), IA_AT(max_rdma_read_out),
	IA_AT(max_rdma_read_per_ep_in_guaranteed), IA_AT(max_rdma_read_per_ep_out_guaranteed),
	IA_AT(zb_supported), IA_AT(reserved_lmr_supported),
	/* The two bits of extensions, whose members do not exist here */
	IA_AT(num_transport_attr), IA_AT(num_transport_attr),
	IA_AT(num_transport_attr), IA_AT(transport_attr), IA_AT(num_vendor_attr),
	IA_AT(vendor_attr), sizeof(DAT_IA_ATTR)
};

#define PROVIDER_AT(member)	offsetof(DAT_PROVIDER_ATTR, member)
static const u16 kdapl_provider_fields[] = {
	PROVIDER_AT(provider_name), PROVIDER_AT(provider_version_major),
	PROVIDER_AT(provider_version_minor), PROVIDER_AT(dapl_version_major),
	PROVIDER_AT(dapl_version_minor), PROVIDER_AT(lmr_mem_types_supported),
	PROVIDER_AT(iov_ownership_on_return), PROVIDER_AT(dat_qos_supported),
	PROVIDER_AT(completion_flags_supported), PROVIDER_AT(is_thread_safe),
	PROVIDER_AT(max_private_data_size), PROVIDER_AT(supports_multipath),
	PROVIDER_AT(ep_creator), PROVIDER_AT(upcall_policy), PROVIDER_AT(optimal_buffer_alignment),
	PROVIDER_AT(evd_stream_merging_supported), PROVIDER_AT(srq_supported),
	PROVIDER_AT(srq_watermarks_supported), PROVIDER_AT(srq_ep_pz_difference_supported),
	PROVIDER_AT(srq_info_supported), PROVIDER_AT(ep_recv_info_supported),
	PROVIDER_AT(lmr_sync_req), PROVIDER_AT(dto_async_return_guaranteed),
	PROVIDER_AT(rdma_write_for_rdma_read_req), PROVIDER_AT(rdma_read_lmr_rmr_context_exposure),
	PROVIDER_AT(rmr_scope_supported), PROVIDER_AT(is_interrupt_safe),
	PROVIDER_AT(fmr_supported), PROVIDER_AT(lmr_for_fmr_scope_supported),
	PROVIDER_AT(ha_supported), PROVIDER_AT(ha_loadbalancing),
	PROVIDER_AT(num_provider_specific_attr), PROVIDER_AT(provider_specific_attr),
	sizeof(DAT_PROVIDER_ATTR)
};

static_assert(ARRAY_SIZE(kdapl_ia_fields) == ilog2(DAT_IA_FIELD_ALL) + 2);
static_assert(ARRAY_SIZE(kdapl_provider_fields) == ilog2(DAT_PROVIDER_FIELD_ALL) + 2);

static DAT_RETURN kdapl_ia_query_check(DAT_IA_ATTR_MASK mask, const DAT_IA_ATTR *attr,
				       DAT_PROVIDER_ATTR_MASK pmask,
				       const DAT_PROVIDER_ATTR *pattr)
{
	if (mask & ~DAT_IA_FIELD_ALL)
		return KDAPL_BAD_ARG(3);
	if (mask && !attr)
		return KDAPL_BAD_ARG(4);
	if (pmask & ~DAT_PROVIDER_FIELD_ALL)
		return KDAPL_BAD_ARG(5);
	if (pmask && !pattr)
		return KDAPL_BAD_ARG(6);
	return DAT_SUCCESS;
}

/**
 * dat_ia_query - query the attributes of an IA and of the Provider
 * @ia_handle:        open IA
 * @async_evd_handle: receives the EVD of asynchronous events; may be NULL
 * @ia_attr_mask:     DAT_IA_FIELD_*, the members to return
 * @ia_attr:          receives them; other members do not change. ia_address_ptr points to
 *                    memory of the IA and is valid until it is closed
 * @provider_attr_mask: DAT_PROVIDER_FIELD_*, the members to return
 * @provider_attr:    receives them; other members do not change
 *
 * Context: any (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_IA;
 * DAT_INVALID_PARAMETER: ARG3 or ARG5 unknown bit, ARG4 or ARG6 the pointer is NULL although
 * members are selected.
 */
DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr)
{
	struct kdapl_obj *obj = kdapl_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_BAD_HANDLE(IA);
	ia = to_kdapl_ia(obj);
	ret = kdapl_ia_query_check(ia_attr_mask, ia_attr, provider_attr_mask, provider_attr);
	if (ret)
		goto out;
	if (async_evd_handle)
		*async_evd_handle = kdapl_obj_handle(&ia->async_evd->obj);
	kdapl_copy_fields(ia_attr, &ia->attr, ia_attr_mask, kdapl_ia_fields);
	kdapl_copy_fields(provider_attr, &kdapl_provider_attr, provider_attr_mask,
			  kdapl_provider_fields);
	if (provider_attr_mask & DAT_PROVIDER_FIELD_SRQ_SUPPORTED)
		provider_attr->srq_supported = ia->attr.max_srqs ? DAT_TRUE : DAT_FALSE;
out:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_query);

/**
 * dat_set_consumer_context - store a context with an object
 * @dat_handle: handle of any type
 * @context:    the context
 *
 * Context: any (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	struct kdapl_obj *obj = kdapl_obj_get_any(dat_handle);

	if (!obj)
		return KDAPL_ERROR(INVALID_HANDLE);
	WRITE_ONCE(obj->context, context.as_64);
	kdapl_obj_put(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_set_consumer_context);

/**
 * dat_get_consumer_context - read the context that is stored with an object
 * @dat_handle: handle of any type
 * @context:    receives the context; zero if none was set
 *
 * Context: any (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER with ARG2: @context is NULL.
 */
DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	struct kdapl_obj *obj = kdapl_obj_get_any(dat_handle);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!obj)
		return KDAPL_ERROR(INVALID_HANDLE);
	if (context)
		context->as_64 = READ_ONCE(obj->context);
	else
		ret = KDAPL_BAD_ARG(2);
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_get_consumer_context);

/**
 * dat_get_handle_type - query the type of a handle
 * @dat_handle:  handle of any type
 * @handle_type: receives DAT_HANDLE_TYPE_*
 *
 * Context: any (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER with ARG2: @handle_type is
 * NULL.
 */
DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type)
{
	struct kdapl_obj *obj = kdapl_obj_get_any(dat_handle);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!obj)
		return KDAPL_ERROR(INVALID_HANDLE);
	if (handle_type)
		*handle_type = kdapl_handle_type(obj->handle);
	else
		ret = KDAPL_BAD_ARG(2);
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_get_handle_type);
