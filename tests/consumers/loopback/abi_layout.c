// SPDX-License-Identifier: GPL-2.0
/*
 * Compile-time test of the public headers: the size of every structure and the offset of
 * every member, on a kernel with 64-bit pointers. Emits no code; a wrong offset stops the
 * build. abi_values.c tests the constants.
 */
#include <linux/build_bug.h>
#include <linux/compiler_types.h>
#include <linux/stddef.h>
#include <dat/kdat.h>

#define SIZE(type, size)		static_assert(sizeof(type) == (size))
#define AT(type, member, offset)	static_assert(offsetof(type, member) == (offset))

SIZE(DAT_UINT32, 4);
SIZE(DAT_UINT64, 8);
SIZE(DAT_UVERYLONG, 8);
SIZE(DAT_COUNT, 4);
SIZE(DAT_PADDR, 8);
SIZE(DAT_VLEN, 8);
SIZE(DAT_VADDR, 8);
SIZE(DAT_SEG_LENGTH, 4);
SIZE(DAT_LMR_CONTEXT, 4);
SIZE(DAT_RMR_CONTEXT, 4);
SIZE(DAT_CONN_QUAL, 8);
SIZE(DAT_PORT_QUAL, 8);
SIZE(DAT_TIMEOUT, 4);
SIZE(DAT_BOOLEAN, 4);
SIZE(DAT_CONTEXT, 8);
SIZE(DAT_LMR_COOKIE, 8);
SIZE(DAT_HANDLE, 8);
SIZE(DAT_RETURN, 4);
SIZE(DAT_HA_LB, 4);
SIZE(DAT_COMM, 12);
SIZE(DAT_NAMED_ATTR, 16);
SIZE(DAT_EVENT_NUMBER, 4);
SIZE(DAT_COMPLETION_FLAGS, 4);
SIZE(DAT_UPCALL_POLICY, 4);
SIZE(DAT_EP_STATE, 4);

SIZE(DAT_LMR_TRIPLET, 16);
AT(DAT_LMR_TRIPLET, virtual_address, 0);
AT(DAT_LMR_TRIPLET, segment_length, 8);
AT(DAT_LMR_TRIPLET, lmr_context, 12);

SIZE(DAT_RMR_TRIPLET, 16);
AT(DAT_RMR_TRIPLET, virtual_address, 0);
AT(DAT_RMR_TRIPLET, segment_length, 8);
AT(DAT_RMR_TRIPLET, rmr_context, 12);

SIZE(DAT_PHYSICAL_VAR_PAGES, 16);
AT(DAT_PHYSICAL_VAR_PAGES, page_size, 0);
AT(DAT_PHYSICAL_VAR_PAGES, pages, 8);

SIZE(DAT_REGION_DESCRIPTION, 16);
AT(DAT_REGION_DESCRIPTION, for_va, 0);
AT(DAT_REGION_DESCRIPTION, for_lmr_handle, 0);
AT(DAT_REGION_DESCRIPTION, for_platform, 0);
AT(DAT_REGION_DESCRIPTION, for_array, 0);
AT(DAT_REGION_DESCRIPTION, for_physical, 0);
AT(DAT_REGION_DESCRIPTION, for_ia, 0);

SIZE(DAT_LMR_STATE, 8);
AT(DAT_LMR_STATE, fmr_support, 0);
AT(DAT_LMR_STATE, bound, 4);

SIZE(DAT_LMR_PARAM, 88);
AT(DAT_LMR_PARAM, ia_handle, 0);
AT(DAT_LMR_PARAM, mem_type, 8);
AT(DAT_LMR_PARAM, region_desc, 16);
AT(DAT_LMR_PARAM, length, 32);
AT(DAT_LMR_PARAM, pz_handle, 40);
AT(DAT_LMR_PARAM, mem_priv, 48);
AT(DAT_LMR_PARAM, va_type, 52);
AT(DAT_LMR_PARAM, lmr_context, 56);
AT(DAT_LMR_PARAM, rmr_context, 60);
AT(DAT_LMR_PARAM, registered_size, 64);
AT(DAT_LMR_PARAM, registered_address, 72);
AT(DAT_LMR_PARAM, lmr_state, 80);

SIZE(DAT_RMR_PARAM, 48);
AT(DAT_RMR_PARAM, ia_handle, 0);
AT(DAT_RMR_PARAM, pz_handle, 8);
AT(DAT_RMR_PARAM, lmr_triplet, 16);
AT(DAT_RMR_PARAM, mem_priv, 32);
AT(DAT_RMR_PARAM, rmr_context, 36);
AT(DAT_RMR_PARAM, rmr_scope, 40);
AT(DAT_RMR_PARAM, va_type, 44);

SIZE(DAT_DTO_COMPLETION_EVENT_DATA, 32);
AT(DAT_DTO_COMPLETION_EVENT_DATA, ep_handle, 0);
AT(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie, 8);
AT(DAT_DTO_COMPLETION_EVENT_DATA, status, 16);
AT(DAT_DTO_COMPLETION_EVENT_DATA, transfered_length, 20);
AT(DAT_DTO_COMPLETION_EVENT_DATA, operation, 24);
AT(DAT_DTO_COMPLETION_EVENT_DATA, rmr_context, 28);

SIZE(DAT_RMR_BIND_COMPLETION_EVENT_DATA, 24);
AT(DAT_RMR_BIND_COMPLETION_EVENT_DATA, rmr_handle, 0);
AT(DAT_RMR_BIND_COMPLETION_EVENT_DATA, user_cookie, 8);
AT(DAT_RMR_BIND_COMPLETION_EVENT_DATA, status, 16);

SIZE(DAT_CR_ARRIVAL_EVENT_DATA, 40);
AT(DAT_CR_ARRIVAL_EVENT_DATA, sp_handle, 0);
AT(DAT_CR_ARRIVAL_EVENT_DATA, local_ia_address_ptr, 8);
AT(DAT_CR_ARRIVAL_EVENT_DATA, conn_qual, 16);
AT(DAT_CR_ARRIVAL_EVENT_DATA, cr_handle, 24);
AT(DAT_CR_ARRIVAL_EVENT_DATA, truncate_flag, 32);

SIZE(DAT_CONNECTION_EVENT_DATA, 24);
AT(DAT_CONNECTION_EVENT_DATA, ep_handle, 0);
AT(DAT_CONNECTION_EVENT_DATA, private_data_size, 8);
AT(DAT_CONNECTION_EVENT_DATA, private_data, 16);

SIZE(DAT_ASYNCH_ERROR_EVENT_DATA, 16);
AT(DAT_ASYNCH_ERROR_EVENT_DATA, dat_handle, 0);
AT(DAT_ASYNCH_ERROR_EVENT_DATA, reason, 8);

SIZE(DAT_SOFTWARE_EVENT_DATA, 8);
SIZE(DAT_EVENT_DATA, 40);

SIZE(DAT_EVENT, 120);
AT(DAT_EVENT, event_number, 0);
AT(DAT_EVENT, evd_handle, 8);
AT(DAT_EVENT, event_data, 16);
AT(DAT_EVENT, event_extension_data, 56);

SIZE(DAT_CR_PARAM, 40);
AT(DAT_CR_PARAM, remote_ia_address_ptr, 0);
AT(DAT_CR_PARAM, remote_port_qual, 8);
AT(DAT_CR_PARAM, private_data_size, 16);
AT(DAT_CR_PARAM, private_data, 24);
AT(DAT_CR_PARAM, local_ep_handle, 32);

SIZE(DAT_EP_ATTR, 88);
AT(DAT_EP_ATTR, service_type, 0);
AT(DAT_EP_ATTR, max_message_size, 4);
AT(DAT_EP_ATTR, max_rdma_size, 8);
AT(DAT_EP_ATTR, qos, 12);
AT(DAT_EP_ATTR, recv_completion_flags, 16);
AT(DAT_EP_ATTR, request_completion_flags, 20);
AT(DAT_EP_ATTR, max_recv_dtos, 24);
AT(DAT_EP_ATTR, max_request_dtos, 28);
AT(DAT_EP_ATTR, max_recv_iov, 32);
AT(DAT_EP_ATTR, max_request_iov, 36);
AT(DAT_EP_ATTR, max_rdma_read_in, 40);
AT(DAT_EP_ATTR, max_rdma_read_out, 44);
AT(DAT_EP_ATTR, srq_soft_hw, 48);
AT(DAT_EP_ATTR, max_rdma_read_iov, 52);
AT(DAT_EP_ATTR, max_rdma_write_iov, 56);
AT(DAT_EP_ATTR, ep_transport_specific_count, 60);
AT(DAT_EP_ATTR, ep_transport_specific, 64);
AT(DAT_EP_ATTR, ep_provider_specific_count, 72);
AT(DAT_EP_ATTR, ep_provider_specific, 80);

SIZE(DAT_EP_PARAM, 184);
AT(DAT_EP_PARAM, ia_handle, 0);
AT(DAT_EP_PARAM, ep_state, 8);
AT(DAT_EP_PARAM, comm, 12);
AT(DAT_EP_PARAM, local_ia_address_ptr, 24);
AT(DAT_EP_PARAM, local_port_qual, 32);
AT(DAT_EP_PARAM, remote_ia_address_ptr, 40);
AT(DAT_EP_PARAM, remote_port_qual, 48);
AT(DAT_EP_PARAM, pz_handle, 56);
AT(DAT_EP_PARAM, recv_evd_handle, 64);
AT(DAT_EP_PARAM, request_evd_handle, 72);
AT(DAT_EP_PARAM, connect_evd_handle, 80);
AT(DAT_EP_PARAM, srq_handle, 88);
AT(DAT_EP_PARAM, ep_attr, 96);

SIZE(DAT_UPCALL_OBJECT, 16);
AT(DAT_UPCALL_OBJECT, instance_data, 0);
AT(DAT_UPCALL_OBJECT, upcall_func, 8);

SIZE(DAT_EVD_PARAM, 40);
AT(DAT_EVD_PARAM, ia_handle, 0);
AT(DAT_EVD_PARAM, evd_qlen, 8);
AT(DAT_EVD_PARAM, upcall_policy, 12);
AT(DAT_EVD_PARAM, upcall, 16);
AT(DAT_EVD_PARAM, evd_flags, 32);

SIZE(DAT_SRQ_ATTR, 12);
AT(DAT_SRQ_ATTR, max_recv_dtos, 0);
AT(DAT_SRQ_ATTR, max_recv_iov, 4);
AT(DAT_SRQ_ATTR, low_watermark, 8);

SIZE(DAT_SRQ_PARAM, 48);
AT(DAT_SRQ_PARAM, ia_handle, 0);
AT(DAT_SRQ_PARAM, srq_state, 8);
AT(DAT_SRQ_PARAM, pz_handle, 16);
AT(DAT_SRQ_PARAM, max_recv_dtos, 24);
AT(DAT_SRQ_PARAM, max_recv_iov, 28);
AT(DAT_SRQ_PARAM, low_watermark, 32);
AT(DAT_SRQ_PARAM, available_dto_count, 36);
AT(DAT_SRQ_PARAM, outstanding_dto_count, 40);

SIZE(DAT_PZ_PARAM, 8);
AT(DAT_PZ_PARAM, ia_handle, 0);

SIZE(DAT_PSP_PARAM, 32);
AT(DAT_PSP_PARAM, ia_handle, 0);
AT(DAT_PSP_PARAM, conn_qual, 8);
AT(DAT_PSP_PARAM, evd_handle, 16);
AT(DAT_PSP_PARAM, psp_flags, 24);

SIZE(DAT_RSP_PARAM, 32);
AT(DAT_RSP_PARAM, ia_handle, 0);
AT(DAT_RSP_PARAM, conn_qual, 8);
AT(DAT_RSP_PARAM, evd_handle, 16);
AT(DAT_RSP_PARAM, ep_handle, 24);

SIZE(DAT_CSP_PARAM, 32);
AT(DAT_CSP_PARAM, ia_handle, 0);
AT(DAT_CSP_PARAM, comm, 8);
AT(DAT_CSP_PARAM, address_ptr, 16);
AT(DAT_CSP_PARAM, evd_handle, 24);

SIZE(DAT_PROVIDER_INFO, 268);
AT(DAT_PROVIDER_INFO, ia_name, 0);
AT(DAT_PROVIDER_INFO, dapl_version_major, 256);
AT(DAT_PROVIDER_INFO, dapl_version_minor, 260);
AT(DAT_PROVIDER_INFO, is_thread_safe, 264);

SIZE(DAT_IA_ATTR, 680);
AT(DAT_IA_ATTR, adapter_name, 0);
AT(DAT_IA_ATTR, vendor_name, 256);
AT(DAT_IA_ATTR, hardware_version_major, 512);
AT(DAT_IA_ATTR, hardware_version_minor, 516);
AT(DAT_IA_ATTR, firmware_version_major, 520);
AT(DAT_IA_ATTR, firmware_version_minor, 524);
AT(DAT_IA_ATTR, ia_address_ptr, 528);
AT(DAT_IA_ATTR, max_eps, 536);
AT(DAT_IA_ATTR, max_dto_per_ep, 540);
AT(DAT_IA_ATTR, max_rdma_read_per_ep_in, 544);
AT(DAT_IA_ATTR, max_rdma_read_per_ep_out, 548);
AT(DAT_IA_ATTR, max_evds, 552);
AT(DAT_IA_ATTR, max_evd_qlen, 556);
AT(DAT_IA_ATTR, max_iov_segments_per_dto, 560);
AT(DAT_IA_ATTR, max_lmrs, 564);
AT(DAT_IA_ATTR, max_lmr_block_size, 568);
AT(DAT_IA_ATTR, max_lmr_virtual_address, 576);
AT(DAT_IA_ATTR, max_pzs, 584);
AT(DAT_IA_ATTR, max_message_size, 588);
AT(DAT_IA_ATTR, max_rdma_size, 592);
AT(DAT_IA_ATTR, max_rmrs, 596);
AT(DAT_IA_ATTR, max_rmr_target_address, 600);
AT(DAT_IA_ATTR, max_srqs, 608);
AT(DAT_IA_ATTR, max_ep_per_srq, 612);
AT(DAT_IA_ATTR, max_recv_per_srq, 616);
AT(DAT_IA_ATTR, max_iov_segments_per_rdma_read, 620);
AT(DAT_IA_ATTR, max_iov_segments_per_rdma_write, 624);
AT(DAT_IA_ATTR, max_rdma_read_in, 628);
AT(DAT_IA_ATTR, max_rdma_read_out, 632);
AT(DAT_IA_ATTR, max_rdma_read_per_ep_in_guaranteed, 636);
AT(DAT_IA_ATTR, max_rdma_read_per_ep_out_guaranteed, 640);
AT(DAT_IA_ATTR, zb_supported, 644);
AT(DAT_IA_ATTR, reserved_lmr_supported, 648);
AT(DAT_IA_ATTR, num_transport_attr, 652);
AT(DAT_IA_ATTR, transport_attr, 656);
AT(DAT_IA_ATTR, num_vendor_attr, 664);
AT(DAT_IA_ATTR, vendor_attr, 672);

SIZE(DAT_PROVIDER_ATTR, 528);
AT(DAT_PROVIDER_ATTR, provider_name, 0);
AT(DAT_PROVIDER_ATTR, provider_version_major, 256);
AT(DAT_PROVIDER_ATTR, provider_version_minor, 260);
AT(DAT_PROVIDER_ATTR, dapl_version_major, 264);
AT(DAT_PROVIDER_ATTR, dapl_version_minor, 268);
AT(DAT_PROVIDER_ATTR, lmr_mem_types_supported, 272);
AT(DAT_PROVIDER_ATTR, iov_ownership_on_return, 276);
AT(DAT_PROVIDER_ATTR, dat_qos_supported, 280);
AT(DAT_PROVIDER_ATTR, completion_flags_supported, 284);
AT(DAT_PROVIDER_ATTR, is_thread_safe, 288);
AT(DAT_PROVIDER_ATTR, max_private_data_size, 292);
AT(DAT_PROVIDER_ATTR, supports_multipath, 296);
AT(DAT_PROVIDER_ATTR, ep_creator, 300);
AT(DAT_PROVIDER_ATTR, upcall_policy, 304);
AT(DAT_PROVIDER_ATTR, optimal_buffer_alignment, 308);
AT(DAT_PROVIDER_ATTR, evd_stream_merging_supported, 312);
AT(DAT_PROVIDER_ATTR, srq_supported, 456);
AT(DAT_PROVIDER_ATTR, srq_watermarks_supported, 460);
AT(DAT_PROVIDER_ATTR, srq_ep_pz_difference_supported, 464);
AT(DAT_PROVIDER_ATTR, srq_info_supported, 468);
AT(DAT_PROVIDER_ATTR, ep_recv_info_supported, 472);
AT(DAT_PROVIDER_ATTR, lmr_sync_req, 476);
AT(DAT_PROVIDER_ATTR, dto_async_return_guaranteed, 480);
AT(DAT_PROVIDER_ATTR, rdma_write_for_rdma_read_req, 484);
AT(DAT_PROVIDER_ATTR, rdma_read_lmr_rmr_context_exposure, 488);
AT(DAT_PROVIDER_ATTR, rmr_scope_supported, 492);
AT(DAT_PROVIDER_ATTR, is_interrupt_safe, 496);
AT(DAT_PROVIDER_ATTR, fmr_supported, 500);
AT(DAT_PROVIDER_ATTR, lmr_for_fmr_scope_supported, 504);
AT(DAT_PROVIDER_ATTR, ha_supported, 508);
AT(DAT_PROVIDER_ATTR, ha_loadbalancing, 512);
AT(DAT_PROVIDER_ATTR, num_provider_specific_attr, 516);
AT(DAT_PROVIDER_ATTR, provider_specific_attr, 520);

/* Prototypes that DAT 2.0 printed wrongly, or in two ways */
static_assert(__same_type(dat_lmr_kcreate,
			  DAT_RETURN(DAT_IA_HANDLE, DAT_MEM_TYPE,
				     DAT_REGION_DESCRIPTION, DAT_VLEN,
				     DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS,
				     DAT_VA_TYPE, DAT_MEM_OPTIMIZE_FLAGS,
				     DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *,
				     DAT_RMR_CONTEXT *, DAT_VLEN *,
				     DAT_VADDR *)));
static_assert(__same_type(dat_lmr_fmr,
			  DAT_RETURN(DAT_LMR_HANDLE, DAT_MEM_TYPE,
				     DAT_REGION_DESCRIPTION, DAT_VLEN,
				     DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE,
				     DAT_EP_HANDLE, DAT_LMR_COOKIE,
				     DAT_COMPLETION_FLAGS, DAT_LMR_CONTEXT *,
				     DAT_RMR_CONTEXT *)));
static_assert(__same_type(dat_lmr_allocate,
			  DAT_RETURN(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_COUNT,
				     DAT_LMR_SCOPE, DAT_LMR_HANDLE *)));
static_assert(__same_type(DAT_EVENT_NULL, DAT_EVENT *));
static_assert(__same_type(DAT_UPCALL_SAME, DAT_UPCALL_OBJECT *));
