/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DAT 2.0 types that kernel and user flavour have in common: handles, flags,
 * states, object parameters and events. Types only: nothing here has a
 * context. Included by kdat.h, which adds the kernel's own types and the
 * calls; a Consumer includes kdat.h.
 *
 * The order of members, and all numbers, are those of DAT 2.0 without
 * extensions. They are ABI, which tests/loopback/abi_values.c and abi_layout.c check.
 */
#ifndef _DAT_H_
#define _DAT_H_

#include <dat/dat_platform_specific.h>
#include <dat/dat_error.h>

typedef enum dat_boolean {
	DAT_FALSE			= 0,
	DAT_TRUE			= 1,
} DAT_BOOLEAN;

/* One opaque word of the Consumer. */
typedef union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
} DAT_CONTEXT;
typedef DAT_CONTEXT DAT_DTO_COOKIE;
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/*
 * A handle is a number of the Provider (generation, type, index) in the shape
 * of a pointer. It is never an address, and nobody dereferences it.
 */
typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;
typedef DAT_HANDLE DAT_CSP_HANDLE;
typedef DAT_HANDLE DAT_EP_HANDLE;
typedef DAT_HANDLE DAT_EVD_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;
typedef DAT_HANDLE DAT_LMR_HANDLE;
typedef DAT_HANDLE DAT_PSP_HANDLE;
typedef DAT_HANDLE DAT_PZ_HANDLE;
typedef DAT_HANDLE DAT_RMR_HANDLE;
typedef DAT_HANDLE DAT_RSP_HANDLE;
typedef DAT_HANDLE DAT_SRQ_HANDLE;

#define DAT_HANDLE_NULL			((DAT_HANDLE)NULL)

/* Counts with a meaning of their own. */
#define DAT_WATERMARK_INFINITE		(-1)
#define DAT_HW_DEFAULT			DAT_WATERMARK_INFINITE
#define DAT_VALUE_UNKNOWN		(-2)
#define DAT_SRQ_LW_DEFAULT		0

typedef DAT_UINT32 DAT_HA_LB;
#define DAT_HA_LB_NONE			((DAT_HA_LB)0)
#define DAT_HA_LB_INTERCOMM		((DAT_HA_LB)1)
#define DAT_HA_LB_INTRACOMM		((DAT_HA_LB)2)

/* Do two IAs share hardware? */
typedef enum dat_ha_relationship {
	DAT_HA_FALSE			= 0,
	DAT_HA_TRUE			= 1,
	DAT_HA_UNKNOWN			= 2,
	DAT_HA_CONFLICTING		= 3,
} DAT_HA_RELATIONSHIP;

typedef enum dat_extension {
	DAT_EXTENSION_NONE		= 0,
	DAT_EXTENSION_IB		= 1,
	DAT_EXTENSION_IW		= 2,
} DAT_EXTENSION;

/* Flags of the calls */

typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG	= 0x00,
	DAT_COMPLETION_SUPPRESS_FLAG	= 0x01,	/* a success raises no event */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x02,	/* notify the peer */
	DAT_COMPLETION_UNSIGNALLED_FLAG	= 0x04,	/* event without upcall */
	DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x08,	/* after earlier reads */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10,	/* user space only */
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20, /* kernel only */
} DAT_COMPLETION_FLAGS;

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG	= 0x00,
	DAT_CONNECT_MULTIPATH_REQUESTED_FLAG = 0x01,
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG = 0x02,
} DAT_CONNECT_FLAGS;

/* Name of earlier versions. */
#define DAT_CONNECT_MULTIPATH_FLAG	DAT_CONNECT_MULTIPATH_REQUESTED_FLAG

typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG		= 0x00,
	DAT_CLOSE_GRACEFUL_FLAG		= 0x01,
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT		DAT_CLOSE_ABRUPT_FLAG

/* Streams that feed an EVD. */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG		= 0x001,
	DAT_EVD_CR_FLAG			= 0x010,
	DAT_EVD_DTO_FLAG		= 0x020,
	DAT_EVD_CONNECTION_FLAG		= 0x040,
	DAT_EVD_RMR_BIND_FLAG		= 0x080,
	DAT_EVD_ASYNC_FLAG		= 0x100,
	DAT_EVD_DEFAULT_FLAG		= 0x1f0,	/* all but software */
} DAT_EVD_FLAGS;

/* Who makes the Endpoint of a connection request? */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG		= 0x00,
	DAT_PSP_PROVIDER_FLAG		= 0x01,
} DAT_PSP_FLAGS;

typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33,
} DAT_MEM_PRIV_FLAGS;

/* Names of earlier versions, which did not tell local from remote. */
#define DAT_MEM_PRIV_READ_FLAG \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG \
	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

typedef enum dat_va_type {
	DAT_VA_TYPE_VA			= 0,
	DAT_VA_TYPE_ZB			= 1,	/* zero based */
} DAT_VA_TYPE;

typedef enum dat_lmr_scope {
	DAT_LMR_SCOPE_EP		= 0,
	DAT_LMR_SCOPE_PZ		= 1,
	DAT_LMR_SCOPE_ANY		= 2,
} DAT_LMR_SCOPE;

typedef enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP		= 0,
	DAT_RMR_SCOPE_PZ		= 1,
	DAT_RMR_SCOPE_ANY		= 2,
} DAT_RMR_SCOPE;

typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT		= 0x00,
	DAT_QOS_HIGH_THROUGHPUT		= 0x01,
	DAT_QOS_LOW_LATENCY		= 0x02,
	DAT_QOS_ECONOMY			= 0x04,
	DAT_QOS_PREMIUM			= 0x08,
} DAT_QOS;

typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC		= 0,
} DAT_SERVICE_TYPE;

/* Whose is the local iov when a post has returned? */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER		= 0,
	DAT_IOV_PROVIDER_NOMOD		= 1,
	DAT_IOV_PROVIDER_MOD		= 2,
} DAT_IOV_OWNERSHIP;

typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER	= 0,
	DAT_PSP_CREATES_EP_IFASKED	= 1,
	DAT_PSP_CREATES_EP_ALWAYS	= 2,
} DAT_EP_CREATOR_FOR_PSP;

/* Segments. If segment_length is zero, address and context mean nothing. */

typedef struct dat_lmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_LMR_CONTEXT lmr_context;
} DAT_LMR_TRIPLET;

typedef struct dat_rmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_TRIPLET;

/* Endpoints */

typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED		= 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED	= 1,
	DAT_EP_STATE_RESERVED			= 2,
	DAT_EP_STATE_UNCONFIGURED_RESERVED	= 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING	= 4,
	DAT_EP_STATE_UNCONFIGURED_PASSIVE	= 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING	= 6,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING = 7,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE	= 8,
	DAT_EP_STATE_CONNECTED			= 9,
	DAT_EP_STATE_DISCONNECT_PENDING		= 10,
	DAT_EP_STATE_DISCONNECTED		= 11,
	DAT_EP_STATE_COMPLETION_PENDING		= 12,
	DAT_EP_STATE_CONNECTED_SINGLE_PATH	= 13,
	DAT_EP_STATE_CONNECTED_MULTI_PATH	= 14,
} DAT_EP_STATE;

/* Name of earlier versions. */
#define DAT_EP_STATE_ERROR		DAT_EP_STATE_DISCONNECTED

typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_SEG_LENGTH max_message_size;
	DAT_SEG_LENGTH max_rdma_size;
	DAT_QOS qos;
	DAT_COMPLETION_FLAGS recv_completion_flags;
	DAT_COMPLETION_FLAGS request_completion_flags;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_request_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT max_request_iov;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_COUNT srq_soft_hw;
	DAT_COUNT max_rdma_read_iov;
	DAT_COUNT max_rdma_write_iov;
	DAT_COUNT ep_transport_specific_count;
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count;
	DAT_NAMED_ATTR *ep_provider_specific;
} DAT_EP_ATTR;

typedef struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
	DAT_COMM comm;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_PORT_QUAL local_port_qual;
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_PZ_HANDLE pz_handle;
	DAT_EVD_HANDLE recv_evd_handle;
	DAT_EVD_HANDLE request_evd_handle;
	DAT_EVD_HANDLE connect_evd_handle;
	DAT_SRQ_HANDLE srq_handle;
	DAT_EP_ATTR ep_attr;
} DAT_EP_PARAM;

typedef DAT_UINT64 DAT_EP_PARAM_MASK;
#define DAT_EP_FIELD_IA_HANDLE				0x00000001ULL
#define DAT_EP_FIELD_EP_STATE				0x00000002ULL
#define DAT_EP_FIELD_COMM				0x00000004ULL
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		0x00000008ULL
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			0x00000010ULL
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		0x00000020ULL
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			0x00000040ULL
#define DAT_EP_FIELD_PZ_HANDLE				0x00000080ULL
#define DAT_EP_FIELD_RECV_EVD_HANDLE			0x00000100ULL
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			0x00000200ULL
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			0x00000400ULL
#define DAT_EP_FIELD_SRQ_HANDLE				0x00000800ULL
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE		0x00001000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE		0x00002000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE		0x00004000ULL
#define DAT_EP_FIELD_EP_ATTR_QOS			0x00008000ULL
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS	0x00010000ULL
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS	0x00020000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS		0x00040000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS		0x00080000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV		0x00100000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV		0x00200000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN		0x00400000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT		0x00800000ULL
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW		0x01000000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV		0x02000000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV		0x04000000ULL
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR		0x08000000ULL
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR	0x10000000ULL
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR		0x20000000ULL
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR	0x40000000ULL
#define DAT_EP_FIELD_EP_ATTR_ALL			0x7ffff000ULL
#define DAT_EP_FIELD_ALL				0x7fffffffULL

/* Remote memory regions */

typedef struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
	DAT_RMR_SCOPE rmr_scope;
	DAT_VA_TYPE va_type;
} DAT_RMR_PARAM;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_RMR_SCOPE		= 0x20,
	DAT_RMR_FIELD_VA_TYPE		= 0x40,
	DAT_RMR_FIELD_ALL		= 0x7f,
} DAT_RMR_PARAM_MASK;

/* Shared receive queues */

typedef enum dat_srq_state {
	DAT_SRQ_STATE_ERROR		= 0,
	DAT_SRQ_STATE_OPERATIONAL	= 1,
	DAT_SRQ_STATE_SHUTDOWN		= 2,
} DAT_SRQ_STATE;

typedef struct dat_srq_attr {
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
} DAT_SRQ_ATTR;

typedef struct dat_srq_param {
	DAT_IA_HANDLE ia_handle;
	DAT_SRQ_STATE srq_state;
	DAT_PZ_HANDLE pz_handle;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
	DAT_COUNT available_dto_count;
	DAT_COUNT outstanding_dto_count;
} DAT_SRQ_PARAM;

typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE		= 0x01,
	DAT_SRQ_FIELD_SRQ_STATE		= 0x02,
	DAT_SRQ_FIELD_PZ_HANDLE		= 0x04,
	DAT_SRQ_FIELD_MAX_RECV_DTO	= 0x08,
	DAT_SRQ_FIELD_MAX_RECV_IOV	= 0x10,
	DAT_SRQ_FIELD_LOW_WATERMARK	= 0x20,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT = 0x40,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT = 0x80,
	DAT_SRQ_FIELD_ALL		= 0xff,
} DAT_SRQ_PARAM_MASK;

/* Protection zones and service points */

typedef struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE		= 0x01,
	DAT_PZ_FIELD_ALL		= 0x01,
} DAT_PZ_PARAM_MASK;

typedef struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE		= 0x01,
	DAT_PSP_FIELD_CONN_QUAL		= 0x02,
	DAT_PSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_PSP_FIELD_PSP_FLAGS		= 0x08,
	DAT_PSP_FIELD_ALL		= 0x0f,
} DAT_PSP_PARAM_MASK;

typedef struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE		= 0x01,
	DAT_RSP_FIELD_CONN_QUAL		= 0x02,
	DAT_RSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_RSP_FIELD_EP_HANDLE		= 0x08,
	DAT_RSP_FIELD_ALL		= 0x0f,
} DAT_RSP_PARAM_MASK;

typedef struct dat_csp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COMM *comm;
	DAT_IA_ADDRESS_PTR address_ptr;
	DAT_EVD_HANDLE evd_handle;
} DAT_CSP_PARAM;

typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE		= 0x01,
	DAT_CSP_FIELD_COMM		= 0x02,
	DAT_CSP_FIELD_IA_ADDRESS	= 0x04,
	DAT_CSP_FIELD_EVD_HANDLE	= 0x08,
	DAT_CSP_FIELD_ALL		= 0x0f,
} DAT_CSP_PARAM_MASK;

/* Address and private data live until the request is accepted or rejected. */
typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
	DAT_EP_HANDLE local_ep_handle;
} DAT_CR_PARAM;

typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x01,
	DAT_CR_FIELD_REMOTE_PORT_QUAL	= 0x02,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE	= 0x04,
	DAT_CR_FIELD_PRIVATE_DATA	= 0x08,
	DAT_CR_FIELD_LOCAL_EP_HANDLE	= 0x10,
	DAT_CR_FIELD_ALL		= 0x1f,
} DAT_CR_PARAM_MASK;

/* Events */

typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT			= 0x00001,
	DAT_RMR_BIND_COMPLETION_EVENT			= 0x01001,
	DAT_CONNECTION_REQUEST_EVENT			= 0x02001,
	DAT_CONNECTION_EVENT_ESTABLISHED		= 0x04001,
	DAT_CONNECTION_EVENT_PEER_REJECTED		= 0x04002,
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED		= 0x04003,
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR	= 0x04004,
	DAT_CONNECTION_EVENT_DISCONNECTED		= 0x04005,
	DAT_CONNECTION_EVENT_BROKEN			= 0x04006,
	DAT_CONNECTION_EVENT_TIMED_OUT			= 0x04007,
	DAT_CONNECTION_EVENT_UNREACHABLE		= 0x04008,
	DAT_ASYNC_ERROR_EVD_OVERFLOW			= 0x08001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC			= 0x08002,
	DAT_ASYNC_ERROR_EP_BROKEN			= 0x08003,
	DAT_ASYNC_ERROR_TIMED_OUT			= 0x08004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR		= 0x08005,
	DAT_HA_DOWN_TO_1				= 0x08101,
	DAT_HA_UP_TO_MULTI_PATH				= 0x08102,
	DAT_SOFTWARE_EVENT				= 0x10001,
} DAT_EVENT_NUMBER;

/* What completed. */
typedef enum dat_dtos {
	DAT_DTO_SEND			= 0,
	DAT_DTO_RDMA_WRITE		= 1,
	DAT_DTO_RDMA_READ		= 2,
	DAT_DTO_RECEIVE			= 3,
	DAT_DTO_RECEIVE_WITH_INVALIDATE	= 4,
	DAT_DTO_BIND_MW			= 5,
	DAT_DTO_LMR_FMR			= 6,	/* kernel only */
	DAT_DTO_LMR_INVALIDATE		= 7,	/* kernel only */
} DAT_DTOS;

typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS			= 0,
	DAT_DTO_ERR_FLUSHED		= 1,
	DAT_DTO_ERR_LOCAL_LENGTH	= 2,
	DAT_DTO_ERR_LOCAL_EP		= 3,
	DAT_DTO_ERR_LOCAL_PROTECTION	= 4,
	DAT_DTO_ERR_BAD_RESPONSE	= 5,
	DAT_DTO_ERR_REMOTE_ACCESS	= 6,
	DAT_DTO_ERR_REMOTE_RESPONDER	= 7,
	DAT_DTO_ERR_TRANSPORT		= 8,
	DAT_DTO_ERR_RECEIVER_NOT_READY	= 9,
	DAT_DTO_ERR_PARTIAL_PACKET	= 10,
	DAT_RMR_OPERATION_FAILED	= 11,
	DAT_DTO_ERR_LOCAL_MM_ERROR	= 12,	/* kernel only */
} DAT_DTO_COMPLETION_STATUS;
typedef DAT_DTO_COMPLETION_STATUS DAT_RMR_BIND_COMPLETION_STATUS;

/*
 * Names of earlier versions. The two failures are equal to FLUSHED and to no
 * other error; LENGTH_ERROR is not the return code of nearly the same name.
 */
#define DAT_DTO_LENGTH_ERROR		DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE			DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_SUCCESS		DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE		DAT_DTO_ERR_FLUSHED

/* Length and rmr_context mean nothing unless status is a success. */
typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_SEG_LENGTH transfered_length;
	DAT_DTOS operation;
	DAT_RMR_CONTEXT rmr_context;
} DAT_DTO_COMPLETION_EVENT_DATA;

typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;
	DAT_RMR_COOKIE user_cookie;
	DAT_RMR_BIND_COMPLETION_STATUS status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/* The service point, of any kind, that a request arrived at. */
typedef union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
	DAT_CSP_HANDLE csp_handle;
} DAT_SP_HANDLE;

typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_CONN_QUAL conn_qual;
	DAT_CR_HANDLE cr_handle;
	DAT_BOOLEAN truncate_flag;	/* private data was cut */
} DAT_CR_ARRIVAL_EVENT_DATA;

typedef struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
} DAT_CONNECTION_EVENT_DATA;

/* The reason is one of the seven enums below, by the kind of dat_handle. */
typedef struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle;
	DAT_COUNT reason;
} DAT_ASYNCH_ERROR_EVENT_DATA;

typedef enum dat_ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR	= 0,
	DAT_IA_OTHER_ERROR		= 1,
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum dat_ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR	= 0,
	DAT_EP_OTHER_ERROR		= 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2,
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum dat_evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR		= 0,
	DAT_EVD_OTHER_ERROR		= 1,
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum dat_srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR	= 0,
	DAT_SRQ_OTHER_ERROR		= 1,
	DAT_SRQ_LOW_WATERMARK_EVENT	= 2,
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum dat_lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR		= 0,
} DAT_LMR_ASYNC_ERROR_REASON;

typedef enum dat_rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR		= 0,
} DAT_RMR_ASYNC_ERROR_REASON;

typedef enum dat_pz_async_error_reason {
	DAT_PZ_OTHER_ERROR		= 0,
} DAT_PZ_ASYNC_ERROR_REASON;

typedef struct dat_software_event_data {
	DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA software_event_data;
} DAT_EVENT_DATA;

typedef struct dat_event {
	DAT_EVENT_NUMBER event_number;
	DAT_EVD_HANDLE evd_handle;
	DAT_EVENT_DATA event_data;
	/* kDAPL has no extensions: zero in an upcall, not written by dat_evd_dequeue() */
	DAT_UINT64 event_extension_data[8];
} DAT_EVENT;

#define DAT_EVENT_NULL			((DAT_EVENT *)NULL)

/* Registry */

typedef struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

/* There is one Provider, and its inside is nobody's business. */
struct dat_provider;
typedef struct dat_provider DAT_PROVIDER;

#endif /* _DAT_H_ */
