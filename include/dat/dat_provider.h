/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The attributes of the Provider. There is no code here. Included by dat.h; a Consumer
 * includes kdat.h.
 */
#ifndef _DAT_PROVIDER_H_
#define _DAT_PROVIDER_H_

#include <dat/dat_connect.h>
#include <dat/dat_event.h>
#include <dat/dat_ia.h>
#include <dat/dat_memory.h>

/**
 * struct dat_provider_attr - DAT_PROVIDER_ATTR: the attributes of the Provider
 * @provider_name:                 "kdapl"
 * @provider_version_major:        1
 * @provider_version_minor:        0
 * @dapl_version_major:            2
 * @dapl_version_minor:            0
 * @lmr_mem_types_supported:       set of VIRTUAL, LMR, PHYSICAL, PHYSICAL_VAR_PAGES
 * @iov_ownership_on_return:       DAT_IOV_CONSUMER
 * @dat_qos_supported:             DAT_QOS_BEST_EFFORT
 * @completion_flags_supported:    set of all flags except EVD_THRESHOLD
 * @is_thread_safe:                DAT_TRUE: calls lock their objects
 * @max_private_data_size:         bytes in a connection request, 56
 * @supports_multipath:            DAT_FALSE
 * @ep_creator:                    DAT_PSP_CREATES_EP_NEVER
 * @upcall_policy:                 DAT_UPCALL_SINGLE_INSTANCE
 * @optimal_buffer_alignment:      bytes: DAT_OPTIMAL_ALIGNMENT, or a larger cache line
 * @evd_stream_merging_supported:  may an EVD have both streams? Index: 0 software, 1 connection
 *                                 request, 2 DTO, 3 connection, 4 RMR bind, 5 asynchronous.
 *                                 DAT_FALSE only for 0 with 5
 * @srq_supported:                 DAT_TRUE if the device has SRQs
 * @srq_watermarks_supported:      0: no guarantee, as the unit of this count is not specified;
 *                                 dat_srq_set_lw() works
 * @srq_ep_pz_difference_supported: DAT_FALSE: EP and SRQ must have the same PZ
 * @srq_info_supported:            0: not guaranteed; dat_srq_query() returns both counts
 * @ep_recv_info_supported:        0: dat_ep_recv_query() is not supported
 * @lmr_sync_req:                  DAT_FALSE: memory needs no dat_lmr_sync_rdma_read()
 * @dto_async_return_guaranteed:   DAT_FALSE: a completion may come before its post returns
 * @rdma_write_for_rdma_read_req:  DAT_FALSE: the target of an RDMA read needs no remote write
 * @rdma_read_lmr_rmr_context_exposure: DAT_FALSE: that target is not exposed
 * @rmr_scope_supported:           DAT_RMR_SCOPE_PZ
 * @is_interrupt_safe:             DAT_FALSE: no call is legal in hard interrupt context
 * @fmr_supported:                 DAT_TRUE
 * @lmr_for_fmr_scope_supported:   DAT_LMR_SCOPE_PZ
 * @ha_supported:                  DAT_FALSE
 * @ha_loadbalancing:              DAT_HA_LB_NONE
 * @num_provider_specific_attr:    elements of @provider_specific_attr: 0
 * @provider_specific_attr:        NULL
 *
 * Written by dat_ia_query(); the values never change. Source: kDAPL 2.0 header, manual page
 * dat_ia_query; the values are kDAPL's choice.
 */
typedef struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_MEM_TYPE lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;
	DAT_COMPLETION_FLAGS completion_flags_supported;
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size;
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_UPCALL_POLICY upcall_policy;
	DAT_UINT32 optimal_buffer_alignment;
	DAT_BOOLEAN evd_stream_merging_supported[6][6];
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;
	DAT_BOOLEAN srq_ep_pz_difference_supported;
	DAT_COUNT srq_info_supported;
	DAT_COUNT ep_recv_info_supported;
	DAT_BOOLEAN lmr_sync_req;
	DAT_BOOLEAN dto_async_return_guaranteed;
	DAT_BOOLEAN rdma_write_for_rdma_read_req;
	DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE rmr_scope_supported;
	DAT_BOOLEAN is_interrupt_safe;
	DAT_BOOLEAN fmr_supported;
	DAT_LMR_SCOPE lmr_for_fmr_scope_supported;
	DAT_BOOLEAN ha_supported;
	DAT_HA_LB ha_loadbalancing;
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
} DAT_PROVIDER_ATTR;

/**
 * typedef DAT_PROVIDER_ATTR_MASK - members of DAT_PROVIDER_ATTR for dat_ia_query()
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 *
 * * %DAT_PROVIDER_FIELD_NONE - no member
 * * %DAT_PROVIDER_FIELD_PROVIDER_NAME - provider_name
 * * %DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR - provider_version_major
 * * %DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR - provider_version_minor
 * * %DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR - dapl_version_major
 * * %DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR - dapl_version_minor
 * * %DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED - lmr_mem_types_supported
 * * %DAT_PROVIDER_FIELD_IOV_OWNERSHIP - iov_ownership_on_return
 * * %DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED - dat_qos_supported
 * * %DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED - completion_flags_supported
 * * %DAT_PROVIDER_FIELD_IS_THREAD_SAFE - is_thread_safe
 * * %DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE - max_private_data_size
 * * %DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH - supports_multipath
 * * %DAT_PROVIDER_FIELD_EP_CREATOR - ep_creator
 * * %DAT_PROVIDER_FIELD_UPCALL_POLICY - upcall_policy
 * * %DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT - optimal_buffer_alignment
 * * %DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED - evd_stream_merging_supported
 * * %DAT_PROVIDER_FIELD_SRQ_SUPPORTED - srq_supported
 * * %DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED - srq_watermarks_supported
 * * %DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED - srq_ep_pz_difference_supported
 * * %DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED - srq_info_supported
 * * %DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED - ep_recv_info_supported
 * * %DAT_PROVIDER_FIELD_LMR_SYNC_REQ - lmr_sync_req
 * * %DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED - dto_async_return_guaranteed
 * * %DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ - rdma_write_for_rdma_read_req
 * * %DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE - rdma_read_lmr_rmr_context_exposure
 * * %DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED - rmr_scope_supported
 * * %DAT_PROVIDER_FIELD_IS_INTERRUPT_SAFE - is_interrupt_safe
 * * %DAT_PROVIDER_FIELD_FMR_SUPPORTED - fmr_supported
 * * %DAT_PROVIDER_FIELD_LMR_FOR_FMR_SCOPE - lmr_for_fmr_scope_supported
 * * %DAT_PROVIDER_FIELD_HA_SUPPORTED - ha_supported
 * * %DAT_PROVIDER_FIELD_HA_LB - ha_loadbalancing
 * * %DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR - num_provider_specific_attr
 * * %DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR - provider_specific_attr
 * * %DAT_PROVIDER_FIELD_ALL - all members
 */
typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;
#define DAT_PROVIDER_FIELD_NONE				0x000000000ULL
#define DAT_PROVIDER_FIELD_PROVIDER_NAME		0x000000001ULL
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR	0x000000002ULL
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR	0x000000004ULL
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR		0x000000008ULL
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR		0x000000010ULL
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED	0x000000020ULL
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP		0x000000040ULL
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED		0x000000080ULL
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED	0x000000100ULL
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE		0x000000200ULL
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE	0x000000400ULL
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH		0x000000800ULL
#define DAT_PROVIDER_FIELD_EP_CREATOR			0x000001000ULL
#define DAT_PROVIDER_FIELD_UPCALL_POLICY		0x000002000ULL
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT	0x000004000ULL
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED	0x000008000ULL
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED		0x000010000ULL
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED	0x000020000ULL
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	0x000040000ULL
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED		0x000080000ULL
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED	0x000100000ULL
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ			0x000200000ULL
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED	0x000400000ULL
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ	0x000800000ULL
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE	0x001000000ULL
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED		0x002000000ULL
#define DAT_PROVIDER_FIELD_IS_INTERRUPT_SAFE		0x004000000ULL
#define DAT_PROVIDER_FIELD_FMR_SUPPORTED		0x008000000ULL
#define DAT_PROVIDER_FIELD_LMR_FOR_FMR_SCOPE		0x010000000ULL
#define DAT_PROVIDER_FIELD_HA_SUPPORTED			0x020000000ULL
#define DAT_PROVIDER_FIELD_HA_LB			0x040000000ULL
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR	0x080000000ULL
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR	0x100000000ULL
#define DAT_PROVIDER_FIELD_ALL				0x1ffffffffULL

#endif /* _DAT_PROVIDER_H_ */
