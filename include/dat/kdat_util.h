/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers that most Consumers would otherwise write themselves: default attributes of an
 * endpoint, the registration of a kernel buffer in one call, triplets, and the text of a
 * return value. All of them are inline and use only the calls of kdat.h; the DAT
 * specifications do not define them.
 */
#ifndef _KDAT_UTIL_H_
#define _KDAT_UTIL_H_

#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <dat/kdat.h>

/**
 * struct kdat_region - a kernel buffer that is registered
 * @address:     first byte
 * @length:      number of bytes
 * @lmr:         the region; DAT_HANDLE_NULL while there is none
 * @lmr_context: key for local segments, see kdat_local()
 * @rmr_context: key for the peer, see kdat_remote(); only valid if the region has a
 *               remote privilege
 *
 * The Consumer owns the structure and the buffer, and serializes access to both. The
 * buffer must stay allocated until kdat_unregister() has returned. Source: kDAPL's choice.
 */
struct kdat_region {
	void *address;
	DAT_VLEN length;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

/**
 * kdat_register - register a kernel buffer
 * @ia:      open IA
 * @pz:      protection zone of the IA
 * @address: first byte of a buffer from kmalloc(), vmalloc() or the page allocator, or of
 *           a module's data; not on a stack
 * @length:  number of bytes, at least 1
 * @priv:    privileges, flags of DAT_MEM_PRIV_FLAGS
 * @region:  filled in on success; @region->lmr is DAT_HANDLE_NULL after an error
 *
 * Context: process.
 * Return: what dat_lmr_kcreate() returns.
 */
static inline DAT_RETURN kdat_register(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *address,
				       DAT_VLEN length, DAT_MEM_PRIV_FLAGS priv,
				       struct kdat_region *region)
{
	DAT_REGION_DESCRIPTION description = { .for_va = address };
	DAT_RETURN ret;

	*region = (struct kdat_region){ .address = address, .length = length };
	ret = dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, description, length, pz, priv,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &region->lmr,
			      &region->lmr_context, &region->rmr_context, NULL, NULL);
	if (ret != DAT_SUCCESS)
		region->lmr = DAT_HANDLE_NULL;
	return ret;
}

/**
 * kdat_unregister - undo kdat_register()
 * @region: the region; nothing happens if it is not registered
 *
 * Context: process.
 * Return: DAT_SUCCESS, or what dat_lmr_free() returns; after an error the region is still
 * registered.
 */
static inline DAT_RETURN kdat_unregister(struct kdat_region *region)
{
	DAT_RETURN ret = DAT_SUCCESS;

	if (region->lmr != DAT_HANDLE_NULL)
		ret = dat_lmr_free(region->lmr);
	if (ret == DAT_SUCCESS)
		region->lmr = DAT_HANDLE_NULL;
	return ret;
}

/**
 * kdat_local - a local segment for a post
 * @region: registered buffer
 * @offset: first byte of the segment, counted from the beginning of the buffer
 * @length: number of bytes
 *
 * The post checks that the segment is inside the buffer.
 *
 * Context: any.
 * Return: the triplet.
 */
static inline DAT_LMR_TRIPLET kdat_local(const struct kdat_region *region, DAT_VLEN offset,
					 DAT_SEG_LENGTH length)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (uintptr_t)region->address + offset,
		.segment_length = length,
		.lmr_context = region->lmr_context,
	};
}

/**
 * kdat_remote - a segment of a registered buffer, as the peer needs it for RDMA
 * @region: registered buffer with a remote privilege
 * @offset: first byte of the segment, counted from the beginning of the buffer
 * @length: number of bytes
 *
 * Send the triplet to the peer in a byte order that both know; dat_ep_post_rdma_read() and
 * dat_ep_post_rdma_write() accept it there.
 *
 * Context: any.
 * Return: the triplet.
 */
static inline DAT_RMR_TRIPLET kdat_remote(const struct kdat_region *region, DAT_VLEN offset,
					  DAT_SEG_LENGTH length)
{
	return (DAT_RMR_TRIPLET){
		.virtual_address = (uintptr_t)region->address + offset,
		.segment_length = length,
		.rmr_context = region->rmr_context,
	};
}

/**
 * kdat_ep_attr_default - the attributes of an endpoint that is created without any
 * @ia:   open IA
 * @attr: receives them
 *
 * dat_ep_create() uses the same values if its ep_attr is NULL. A Consumer that needs
 * other values starts from these and changes single members, because 0 does not mean the
 * default: it means none, or no byte.
 *
 * Context: process: the function allocates memory.
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES (MEMORY), or what dat_ia_query() returns.
 */
static inline DAT_RETURN kdat_ep_attr_default(DAT_IA_HANDLE ia, DAT_EP_ATTR *attr)
{
	DAT_IA_ATTR *limits = kzalloc(sizeof(*limits), GFP_KERNEL);
	DAT_RETURN ret;

	if (!limits)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, limits, DAT_PROVIDER_FIELD_NONE, NULL);
	if (ret == DAT_SUCCESS)
		*attr = (DAT_EP_ATTR){
			.service_type = DAT_SERVICE_TYPE_RC,
			.max_message_size = min(0x80000000U, limits->max_message_size),
			.max_rdma_size = min(0x80000000U, limits->max_rdma_size),
			.qos = DAT_QOS_BEST_EFFORT,
			.max_recv_dtos = min(16, limits->max_dto_per_ep),
			.max_request_dtos = min(16, limits->max_dto_per_ep),
			.max_recv_iov = min(4, limits->max_iov_segments_per_dto),
			.max_request_iov = min(4, limits->max_iov_segments_per_dto),
			.max_rdma_read_in = min(4, limits->max_rdma_read_per_ep_in),
			.max_rdma_read_out = min(4, limits->max_rdma_read_per_ep_out),
			.srq_soft_hw = DAT_WATERMARK_INFINITE,
			.max_rdma_read_iov = min(4, limits->max_iov_segments_per_rdma_read),
			.max_rdma_write_iov = min(4, limits->max_iov_segments_per_rdma_write),
		};
	kfree(limits);
	return ret;
}

/**
 * kdat_strerror - the name of the type of a return value
 * @ret: what a DAT call returned
 *
 * dat_strerror() also gives the name of the subtype.
 *
 * Context: any.
 * Return: a constant string such as "DAT_INVALID_HANDLE"; "unknown" if @ret is not a DAT
 * return value.
 */
static inline const char *kdat_strerror(DAT_RETURN ret)
{
	const char *type, *subtype;

	return dat_strerror(ret, &type, &subtype) == DAT_SUCCESS ? type : "unknown";
}

#endif /* _KDAT_UTIL_H_ */
