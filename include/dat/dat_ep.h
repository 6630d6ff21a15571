/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endpoints and shared receive queues. There is no code here. Included by dat.h; a Consumer
 * includes kdat.h.
 */
#ifndef _DAT_EP_H_
#define _DAT_EP_H_

#include <dat/dat_types.h>

/**
 * enum dat_service_type - DAT_SERVICE_TYPE: the transport of an endpoint
 * @DAT_SERVICE_TYPE_RC: reliable connection
 */
typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC		= 0,
} DAT_SERVICE_TYPE;

/**
 * enum dat_ep_state - DAT_EP_STATE: the state of an endpoint
 * @DAT_EP_STATE_UNCONNECTED:                  configured, without a connection
 * @DAT_EP_STATE_UNCONFIGURED_UNCONNECTED:     lacks a PZ or EVD
 * @DAT_EP_STATE_RESERVED:                     waits for the request of its RSP
 * @DAT_EP_STATE_UNCONFIGURED_RESERVED:        never returned
 * @DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:   belongs to the request of its RSP
 * @DAT_EP_STATE_UNCONFIGURED_PASSIVE:         never returned
 * @DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:    dat_ep_connect() has no outcome yet
 * @DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING: never returned
 * @DAT_EP_STATE_UNCONFIGURED_TENTATIVE:       never returned
 * @DAT_EP_STATE_CONNECTED:                    has a connection
 * @DAT_EP_STATE_DISCONNECT_PENDING:           dat_ep_disconnect() has not completed
 * @DAT_EP_STATE_DISCONNECTED:                 the connection or attempt has ended
 * @DAT_EP_STATE_COMPLETION_PENDING:           dat_cr_accept() has no outcome yet
 * @DAT_EP_STATE_CONNECTED_SINGLE_PATH:        never returned
 * @DAT_EP_STATE_CONNECTED_MULTI_PATH:         never returned
 *
 * kdapl-connections.rst lists the transitions. Source: kDAPL 2.0 header, manual page
 * dat_ep_get_status; which states occur is kDAPL's choice.
 */
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

/**
 * define DAT_EP_STATE_ERROR - name of DISCONNECTED in earlier versions
 */
#define DAT_EP_STATE_ERROR		DAT_EP_STATE_DISCONNECTED

/**
 * struct dat_ep_attr - DAT_EP_ATTR: the attributes of an endpoint
 * @service_type:             DAT_SERVICE_TYPE_RC
 * @max_message_size:         bytes of the largest send; receives are not limited by it
 * @max_rdma_size:            bytes of the largest RDMA read or write
 * @qos:                      DAT_QOS_BEST_EFFORT
 * @recv_completion_flags:    of receives: DEFAULT, UNSIGNALLED or SOLICITED_WAIT
 * @request_completion_flags: of requests: DEFAULT or UNSIGNALLED
 * @max_recv_dtos:            receives that may be outstanding; 0: no receive EVD. Ignored with
 *                            an SRQ
 * @max_request_dtos:         requests that may be outstanding; 0: no request EVD
 * @max_recv_iov:             segments of a receive; ignored with an SRQ
 * @max_request_iov:          segments of a send
 * @max_rdma_read_in:         concurrent RDMA reads of the peer; 0: the peer cannot read
 * @max_rdma_read_out:        concurrent RDMA reads of this side; 0: none
 * @srq_soft_hw:              buffers of the SRQ above which an event is raised, or
 *                            DAT_WATERMARK_INFINITE; has no effect, because the verbs do not
 *                            report how many buffers an endpoint uses
 * @max_rdma_read_iov:        segments of an RDMA read
 * @max_rdma_write_iov:       segments of an RDMA write
 * @ep_transport_specific_count: elements of @ep_transport_specific; must be 0
 * @ep_transport_specific:    ignored
 * @ep_provider_specific_count: elements of @ep_provider_specific; 0: none
 * @ep_provider_specific:     named attributes, copied by the call; those that dat_ep_query()
 *                            returns are valid until the EP is freed or reset
 *
 * Written by the Consumer, and by dat_ep_query(). 0 does not mean the default.
 * kdapl-api.rst lists the limits, the defaults and the effects of 0. A negative number is
 * DAT_INVALID_PARAMETER, except DAT_WATERMARK_INFINITE in @srq_soft_hw. Source: kDAPL 2.0
 * header, manual pages dat_ep_create and dat_ep_modify; the defaults are kDAPL's choice.
 */
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

/**
 * struct dat_ep_param - DAT_EP_PARAM: the parameters of an endpoint
 * @ia_handle:             its IA; fixed
 * @ep_state:              state; fixed
 * @comm:                  zeroes; fixed
 * @local_ia_address_ptr:  address of the IA, or of the request that the EP has accepted; valid
 *                         until the EP is freed; fixed
 * @local_port_qual:       port of this side; fixed
 * @remote_ia_address_ptr: address of the peer, valid until the EP is freed or reset; fixed
 * @remote_port_qual:      port of the peer; fixed
 * @pz_handle:             protection zone, or DAT_HANDLE_NULL
 * @recv_evd_handle:       EVD of receives, or DAT_HANDLE_NULL
 * @request_evd_handle:    EVD of requests, or DAT_HANDLE_NULL
 * @connect_evd_handle:    EVD of connection events, or DAT_HANDLE_NULL
 * @srq_handle:            SRQ, or DAT_HANDLE_NULL; fixed
 * @ep_attr:               attributes
 *
 * Written by dat_ep_query(), and by the Consumer for dat_ep_modify(), which cannot change
 * fixed members. Address and port of the peer are defined during a connection attempt and a
 * connection. Source: kDAPL 2.0 header, manual pages dat_ep_query and dat_ep_modify.
 */
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

/**
 * typedef DAT_EP_PARAM_MASK - members for dat_ep_query() and dat_ep_modify()
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 *
 * * %DAT_EP_FIELD_IA_HANDLE - ia_handle
 * * %DAT_EP_FIELD_EP_STATE - ep_state
 * * %DAT_EP_FIELD_COMM - comm
 * * %DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR - local_ia_address_ptr
 * * %DAT_EP_FIELD_LOCAL_PORT_QUAL - local_port_qual
 * * %DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR - remote_ia_address_ptr
 * * %DAT_EP_FIELD_REMOTE_PORT_QUAL - remote_port_qual
 * * %DAT_EP_FIELD_PZ_HANDLE - pz_handle
 * * %DAT_EP_FIELD_RECV_EVD_HANDLE - recv_evd_handle
 * * %DAT_EP_FIELD_REQUEST_EVD_HANDLE - request_evd_handle
 * * %DAT_EP_FIELD_CONNECT_EVD_HANDLE - connect_evd_handle
 * * %DAT_EP_FIELD_SRQ_HANDLE - srq_handle
 * * %DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE - ep_attr.service_type
 * * %DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE - ep_attr.max_message_size
 * * %DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE - ep_attr.max_rdma_size
 * * %DAT_EP_FIELD_EP_ATTR_QOS - ep_attr.qos
 * * %DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS - ep_attr.recv_completion_flags
 * * %DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS - ep_attr.request_completion_flags
 * * %DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS - ep_attr.max_recv_dtos
 * * %DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS - ep_attr.max_request_dtos
 * * %DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV - ep_attr.max_recv_iov
 * * %DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV - ep_attr.max_request_iov
 * * %DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN - ep_attr.max_rdma_read_in
 * * %DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT - ep_attr.max_rdma_read_out
 * * %DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW - ep_attr.srq_soft_hw
 * * %DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV - ep_attr.max_rdma_read_iov
 * * %DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV - ep_attr.max_rdma_write_iov
 * * %DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR - ep_attr.ep_transport_specific_count
 * * %DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR - ep_attr.ep_transport_specific
 * * %DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR - ep_attr.ep_provider_specific_count
 * * %DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR - ep_attr.ep_provider_specific
 * * %DAT_EP_FIELD_EP_ATTR_ALL - all members of ep_attr
 * * %DAT_EP_FIELD_ALL - all members
 */
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

/**
 * enum dat_srq_state - DAT_SRQ_STATE: the state of a shared receive queue
 * @DAT_SRQ_STATE_ERROR:       it has failed, or its device was removed
 * @DAT_SRQ_STATE_OPERATIONAL: it works
 * @DAT_SRQ_STATE_SHUTDOWN:    never returned
 *
 * Source: kDAPL 2.0 header, whose numbers differ from those of earlier versions; manual page
 * dat_srq_query.
 */
typedef enum dat_srq_state {
	DAT_SRQ_STATE_ERROR		= 0,
	DAT_SRQ_STATE_OPERATIONAL	= 1,
	DAT_SRQ_STATE_SHUTDOWN		= 2,
} DAT_SRQ_STATE;

/**
 * struct dat_srq_attr - DAT_SRQ_ATTR: the attributes of a shared receive queue
 * @max_recv_dtos: buffers that may be outstanding, at least 1
 * @max_recv_iov:  segments of a buffer, at least 1
 * @low_watermark: must be DAT_SRQ_LW_DEFAULT; dat_srq_set_lw() sets another mark
 *
 * Written by the Consumer. Source: kDAPL 2.0 header, manual page dat_srq_create.
 */
typedef struct dat_srq_attr {
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
} DAT_SRQ_ATTR;

/**
 * struct dat_srq_param - DAT_SRQ_PARAM: the parameters of a shared receive queue
 * @ia_handle:             its IA
 * @srq_state:             state
 * @pz_handle:             its protection zone
 * @max_recv_dtos:         buffers that may be outstanding
 * @max_recv_iov:          segments of a buffer
 * @low_watermark:         buffers below which an event is raised, as last set; 0: no event
 * @available_dto_count:   upper bound of the buffers that EPs can still use
 * @outstanding_dto_count: buffers whose completion has not been delivered
 *
 * Written by dat_srq_query(). Source: kDAPL 2.0 header, manual page dat_srq_query.
 */
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

/**
 * enum dat_srq_param_mask - DAT_SRQ_PARAM_MASK: members for dat_srq_query()
 * @DAT_SRQ_FIELD_IA_HANDLE:             ia_handle
 * @DAT_SRQ_FIELD_SRQ_STATE:             srq_state
 * @DAT_SRQ_FIELD_PZ_HANDLE:             pz_handle
 * @DAT_SRQ_FIELD_MAX_RECV_DTO:          max_recv_dtos
 * @DAT_SRQ_FIELD_MAX_RECV_IOV:          max_recv_iov
 * @DAT_SRQ_FIELD_LOW_WATERMARK:         low_watermark
 * @DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT:   available_dto_count
 * @DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT: outstanding_dto_count
 * @DAT_SRQ_FIELD_ALL:                   all members
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 */
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

#endif /* _DAT_EP_H_ */
