/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface adapters: the registry, and the attributes of an IA. There is no code here.
 * Included by dat.h; a Consumer includes kdat.h.
 */
#ifndef _DAT_IA_H_
#define _DAT_IA_H_

#include <dat/dat_types.h>

/**
 * enum dat_ha_relationship - DAT_HA_RELATIONSHIP: do two IAs share hardware?
 * @DAT_HA_FALSE:       no
 * @DAT_HA_TRUE:        yes: they belong to the same RDMA device
 * @DAT_HA_UNKNOWN:     never returned
 * @DAT_HA_CONFLICTING: never returned
 *
 * Returned by dat_registry_providers_related().
 */
typedef enum dat_ha_relationship {
	DAT_HA_FALSE			= 0,
	DAT_HA_TRUE			= 1,
	DAT_HA_UNKNOWN			= 2,
	DAT_HA_CONFLICTING		= 3,
} DAT_HA_RELATIONSHIP;

/**
 * typedef DAT_HA_LB - how the traffic of an IA is balanced between paths
 */
typedef DAT_UINT32 DAT_HA_LB;

/**
 * define DAT_HA_LB_NONE - no balancing; the value of kDAPL
 */
#define DAT_HA_LB_NONE			((DAT_HA_LB)0)

/**
 * define DAT_HA_LB_INTERCOMM - between connections
 */
#define DAT_HA_LB_INTERCOMM		((DAT_HA_LB)1)

/**
 * define DAT_HA_LB_INTRACOMM - inside a connection
 */
#define DAT_HA_LB_INTRACOMM		((DAT_HA_LB)2)

/**
 * struct dat_provider_info - DAT_PROVIDER_INFO: an entry of the registry
 * @ia_name:            name for dat_ia_open(): ``<ibdev>/<port>``
 * @dapl_version_major: 2
 * @dapl_version_minor: 0
 * @is_thread_safe:     DAT_TRUE
 *
 * Written by dat_registry_list_providers(). Source: kDAPL 2.0 header, manual page
 * dat_registry_list_providers; the form of the name is kDAPL's choice.
 */
typedef struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

struct dat_provider;

/**
 * typedef DAT_PROVIDER - a Provider, an incomplete type
 *
 * There is only one Provider, so dat_registry_add_provider() refuses every other one.
 */
typedef struct dat_provider DAT_PROVIDER;

/**
 * struct dat_ia_attr - DAT_IA_ATTR: the attributes of an IA
 * @adapter_name:             name of the RDMA device
 * @vendor_name:              vendor ID and part ID of the device
 * @hardware_version_major:   version of the hardware
 * @hardware_version_minor:   0
 * @firmware_version_major:   upper 32 bits of the firmware's version
 * @firmware_version_minor:   lower 32 bits of the firmware's version
 * @ia_address_ptr:           address of the IA, valid until the IA is closed
 * @max_eps:                  EPs
 * @max_dto_per_ep:           requests, and receives, that may be outstanding on an EP
 * @max_rdma_read_per_ep_in:  concurrent RDMA reads of the peer on an EP
 * @max_rdma_read_per_ep_out: concurrent RDMA reads of this side on an EP
 * @max_evds:                 EVDs
 * @max_evd_qlen:             length of an EVD, in events
 * @max_iov_segments_per_dto: segments of a send, a receive or a buffer of an SRQ
 * @max_lmrs:                 LMRs
 * @max_lmr_block_size:       bytes of an LMR
 * @max_lmr_virtual_address:  highest address of an LMR
 * @max_pzs:                  PZs
 * @max_message_size:         bytes of a send
 * @max_rdma_size:            bytes of an RDMA read or write
 * @max_rmrs:                 RMRs
 * @max_rmr_target_address:   highest address of an RMR
 * @max_srqs:                 SRQs; 0: the device has none
 * @max_ep_per_srq:           EPs that share an SRQ; 0 without SRQs
 * @max_recv_per_srq:         buffers that may be outstanding on an SRQ
 * @max_iov_segments_per_rdma_read:  segments of an RDMA read
 * @max_iov_segments_per_rdma_write: segments of an RDMA write
 * @max_rdma_read_in:         concurrent RDMA reads of peers on all EPs
 * @max_rdma_read_out:        concurrent RDMA reads of this side on all EPs
 * @max_rdma_read_per_ep_in_guaranteed:  DAT_FALSE
 * @max_rdma_read_per_ep_out_guaranteed: DAT_FALSE
 * @zb_supported:             DAT_FALSE: no zero-based addresses
 * @reserved_lmr_supported:   DAT_FALSE: no LMR for all memory
 * @num_transport_attr:       elements of @transport_attr: 0
 * @transport_attr:           NULL
 * @num_vendor_attr:          elements of @vendor_attr: 0
 * @vendor_attr:              NULL
 *
 * Written by dat_ia_query(); constant while the IA is open. Each count is a
 * maximum. "Limits" in kdapl.rst explains where each comes from. Source: kDAPL 2.0 header, manual
 * page dat_ia_query.
 */
typedef struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr;
	DAT_COUNT max_eps;
	DAT_COUNT max_dto_per_ep;
	DAT_COUNT max_rdma_read_per_ep_in;
	DAT_COUNT max_rdma_read_per_ep_out;
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen;
	DAT_COUNT max_iov_segments_per_dto;
	DAT_COUNT max_lmrs;
	DAT_SEG_LENGTH max_lmr_block_size;
	DAT_VADDR max_lmr_virtual_address;
	DAT_COUNT max_pzs;
	DAT_SEG_LENGTH max_message_size;
	DAT_SEG_LENGTH max_rdma_size;
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
	DAT_BOOLEAN zb_supported;
	DAT_BOOLEAN reserved_lmr_supported;
	DAT_COUNT num_transport_attr;
	DAT_NAMED_ATTR *transport_attr;
	DAT_COUNT num_vendor_attr;
	DAT_NAMED_ATTR *vendor_attr;
} DAT_IA_ATTR;

/**
 * typedef DAT_IA_ATTR_MASK - members of DAT_IA_ATTR for dat_ia_query()
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 *
 * * %DAT_IA_FIELD_NONE - no member
 * * %DAT_IA_FIELD_IA_ADAPTER_NAME - adapter_name
 * * %DAT_IA_FIELD_IA_VENDOR_NAME - vendor_name
 * * %DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION - hardware_version_major
 * * %DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION - hardware_version_minor
 * * %DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION - firmware_version_major
 * * %DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION - firmware_version_minor
 * * %DAT_IA_FIELD_IA_ADDRESS_PTR - ia_address_ptr
 * * %DAT_IA_FIELD_IA_MAX_EPS - max_eps
 * * %DAT_IA_FIELD_IA_MAX_DTO_PER_EP - max_dto_per_ep
 * * %DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN - max_rdma_read_per_ep_in
 * * %DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT - max_rdma_read_per_ep_out
 * * %DAT_IA_FIELD_IA_MAX_EVDS - max_evds
 * * %DAT_IA_FIELD_IA_MAX_EVD_QLEN - max_evd_qlen
 * * %DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO - max_iov_segments_per_dto
 * * %DAT_IA_FIELD_IA_MAX_LMRS - max_lmrs
 * * %DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE - max_lmr_block_size
 * * %DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS - max_lmr_virtual_address
 * * %DAT_IA_FIELD_IA_MAX_PZS - max_pzs
 * * %DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE - max_message_size
 * * %DAT_IA_FIELD_IA_MAX_RDMA_SIZE - max_rdma_size
 * * %DAT_IA_FIELD_IA_MAX_RMRS - max_rmrs
 * * %DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS - max_rmr_target_address
 * * %DAT_IA_FIELD_IA_MAX_SRQS - max_srqs
 * * %DAT_IA_FIELD_IA_MAX_EP_PER_SRQ - max_ep_per_srq
 * * %DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ - max_recv_per_srq
 * * %DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ - max_iov_segments_per_rdma_read
 * * %DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE - max_iov_segments_per_rdma_write
 * * %DAT_IA_FIELD_IA_MAX_RDMA_READ_IN - max_rdma_read_in
 * * %DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT - max_rdma_read_out
 * * %DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED - max_rdma_read_per_ep_in_guaranteed
 * * %DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED - max_rdma_read_per_ep_out_guaranteed
 * * %DAT_IA_FIELD_IA_ZB_SUPPORTED - zb_supported
 * * %DAT_IA_FIELD_IA_RESERVED_LMR_SUPPORTED - reserved_lmr_supported
 * * %DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR - num_transport_attr
 * * %DAT_IA_FIELD_IA_TRANSPORT_ATTR - transport_attr
 * * %DAT_IA_FIELD_IA_NUM_VENDOR_ATTR - num_vendor_attr
 * * %DAT_IA_FIELD_IA_VENDOR_ATTR - vendor_attr
 * * %DAT_IA_FIELD_ALL - all members
 */
typedef DAT_UINT64 DAT_IA_ATTR_MASK;
#define DAT_IA_FIELD_NONE				0x0000000000ULL
#define DAT_IA_FIELD_IA_ADAPTER_NAME			0x0000000001ULL
#define DAT_IA_FIELD_IA_VENDOR_NAME			0x0000000002ULL
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION		0x0000000004ULL
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION		0x0000000008ULL
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION		0x0000000010ULL
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION		0x0000000020ULL
#define DAT_IA_FIELD_IA_ADDRESS_PTR			0x0000000040ULL
#define DAT_IA_FIELD_IA_MAX_EPS				0x0000000080ULL
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP			0x0000000100ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN		0x0000000200ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT	0x0000000400ULL
#define DAT_IA_FIELD_IA_MAX_EVDS			0x0000000800ULL
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN			0x0000001000ULL
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO	0x0000002000ULL
#define DAT_IA_FIELD_IA_MAX_LMRS			0x0000004000ULL
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE		0x0000008000ULL
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS		0x0000010000ULL
#define DAT_IA_FIELD_IA_MAX_PZS				0x0000020000ULL
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE		0x0000040000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE			0x0000080000ULL
#define DAT_IA_FIELD_IA_MAX_RMRS			0x0000100000ULL
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS		0x0000200000ULL
#define DAT_IA_FIELD_IA_MAX_SRQS			0x0000400000ULL
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ			0x0000800000ULL
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ		0x0001000000ULL
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ	0x0002000000ULL
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE	0x0004000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN		0x0008000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT		0x0010000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED	0x0020000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED	0x0040000000ULL
#define DAT_IA_FIELD_IA_ZB_SUPPORTED			0x0080000000ULL
#define DAT_IA_FIELD_IA_RESERVED_LMR_SUPPORTED		0x0100000000ULL
/* 0x0200000000 and 0x0400000000 belong to extensions */
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR		0x0800000000ULL
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR			0x1000000000ULL
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR			0x2000000000ULL
#define DAT_IA_FIELD_IA_VENDOR_ATTR			0x4000000000ULL
#define DAT_IA_FIELD_ALL				0x7fffffffffULL

/**
 * define DAT_IA_ALL - name of DAT_IA_FIELD_ALL in earlier versions
 */
#define DAT_IA_ALL			DAT_IA_FIELD_ALL

/**
 * define DAT_IA_FIELD_IA_MAX_MTU_SIZE - name of MAX_MESSAGE_SIZE in earlier versions
 */
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE	DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE

/**
 * define max_rdma_read_per_ep - name of a member of DAT_IA_ATTR in earlier versions
 *
 * Renames every identifier of this name.
 */
#define max_rdma_read_per_ep		max_rdma_read_per_ep_in

/**
 * define max_mtu_size - name of a member of DAT_IA_ATTR in earlier versions
 *
 * Renames every identifier of this name.
 */
#define max_mtu_size			max_message_size

#endif /* _DAT_IA_H_ */
