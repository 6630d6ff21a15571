/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections: flags of a connect, service points and connection requests. There is no code
 * here. Included by dat.h; a Consumer includes kdat.h.
 */
#ifndef _DAT_CONNECT_H_
#define _DAT_CONNECT_H_

#include <dat/dat_types.h>

/**
 * enum dat_connect_flags - DAT_CONNECT_FLAGS: flags of dat_ep_connect()
 * @DAT_CONNECT_DEFAULT_FLAG:             one path
 * @DAT_CONNECT_MULTIPATH_REQUESTED_FLAG: several paths if possible; kDAPL uses one
 * @DAT_CONNECT_MULTIPATH_REQUIRED_FLAG:  several paths; DAT_MODEL_NOT_SUPPORTED
 *
 * Source: kDAPL 2.0 header, manual page dat_ep_connect; the single path is kDAPL's choice.
 */
typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG	= 0x00,
	DAT_CONNECT_MULTIPATH_REQUESTED_FLAG = 0x01,
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG = 0x02,
} DAT_CONNECT_FLAGS;

/**
 * define DAT_CONNECT_MULTIPATH_FLAG - name of MULTIPATH_REQUESTED in earlier versions
 */
#define DAT_CONNECT_MULTIPATH_FLAG	DAT_CONNECT_MULTIPATH_REQUESTED_FLAG

/**
 * enum dat_psp_flags - DAT_PSP_FLAGS: who creates the EP of a connection request
 * @DAT_PSP_CONSUMER_FLAG: the Consumer; the only value of the specification that kDAPL supports
 * @DAT_PSP_PROVIDER_FLAG: the Provider; DAT_MODEL_NOT_SUPPORTED
 *
 * Source: kDAPL 2.0 header, manual page dat_psp_create; the restriction is kDAPL's choice.
 */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG		= 0x00,
	DAT_PSP_PROVIDER_FLAG		= 0x01,
} DAT_PSP_FLAGS;

/**
 * enum dat_ep_creator_for_psp - DAT_EP_CREATOR_FOR_PSP: does the Provider create EPs?
 * @DAT_PSP_CREATES_EP_NEVER:   never; the value of kDAPL
 * @DAT_PSP_CREATES_EP_IFASKED: for a PSP with DAT_PSP_PROVIDER_FLAG
 * @DAT_PSP_CREATES_EP_ALWAYS:  for every PSP
 *
 * Source: kDAPL 2.0 header, manual page dat_ia_query; the value is kDAPL's choice.
 */
typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER	= 0,
	DAT_PSP_CREATES_EP_IFASKED	= 1,
	DAT_PSP_CREATES_EP_ALWAYS	= 2,
} DAT_EP_CREATOR_FOR_PSP;

/**
 * struct dat_psp_param - DAT_PSP_PARAM: the parameters of a public service point
 * @ia_handle:  its IA
 * @conn_qual:  qualifier on which it listens
 * @evd_handle: EVD of connection requests
 * @psp_flags:  DAT_PSP_CONSUMER_FLAG or KDAT_PSP_ANY_ADDRESS_FLAG
 *
 * Written by dat_psp_query(). Source: kDAPL 2.0 header, manual page dat_psp_query.
 */
typedef struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

/**
 * enum dat_psp_param_mask - DAT_PSP_PARAM_MASK: members for dat_psp_query()
 * @DAT_PSP_FIELD_IA_HANDLE:  ia_handle
 * @DAT_PSP_FIELD_CONN_QUAL:  conn_qual
 * @DAT_PSP_FIELD_EVD_HANDLE: evd_handle
 * @DAT_PSP_FIELD_PSP_FLAGS:  psp_flags
 * @DAT_PSP_FIELD_ALL:        all members
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 */
typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE		= 0x01,
	DAT_PSP_FIELD_CONN_QUAL		= 0x02,
	DAT_PSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_PSP_FIELD_PSP_FLAGS		= 0x08,
	DAT_PSP_FIELD_ALL		= 0x0f,
} DAT_PSP_PARAM_MASK;

/**
 * struct dat_rsp_param - DAT_RSP_PARAM: the parameters of a reserved service point
 * @ia_handle:  its IA
 * @conn_qual:  qualifier on which it listens
 * @evd_handle: EVD of the connection request
 * @ep_handle:  EP that is reserved for the request
 *
 * Written by dat_rsp_query(). Source: kDAPL 2.0 header, manual page dat_rsp_query.
 */
typedef struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

/**
 * enum dat_rsp_param_mask - DAT_RSP_PARAM_MASK: members for dat_rsp_query()
 * @DAT_RSP_FIELD_IA_HANDLE:  ia_handle
 * @DAT_RSP_FIELD_CONN_QUAL:  conn_qual
 * @DAT_RSP_FIELD_EVD_HANDLE: evd_handle
 * @DAT_RSP_FIELD_EP_HANDLE:  ep_handle
 * @DAT_RSP_FIELD_ALL:        all members
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 */
typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE		= 0x01,
	DAT_RSP_FIELD_CONN_QUAL		= 0x02,
	DAT_RSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_RSP_FIELD_EP_HANDLE		= 0x08,
	DAT_RSP_FIELD_ALL		= 0x0f,
} DAT_RSP_PARAM_MASK;

/**
 * struct dat_csp_param - DAT_CSP_PARAM: the parameters of a common service point
 * @ia_handle:   its IA
 * @comm:        its socket
 * @address_ptr: its address
 * @evd_handle:  EVD of connection requests
 *
 * Never written, because kDAPL has no common service points.
 */
typedef struct dat_csp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COMM *comm;
	DAT_IA_ADDRESS_PTR address_ptr;
	DAT_EVD_HANDLE evd_handle;
} DAT_CSP_PARAM;

/**
 * enum dat_csp_param_mask - DAT_CSP_PARAM_MASK: members for dat_csp_query()
 * @DAT_CSP_FIELD_IA_HANDLE:  ia_handle
 * @DAT_CSP_FIELD_COMM:       comm
 * @DAT_CSP_FIELD_IA_ADDRESS: address_ptr
 * @DAT_CSP_FIELD_EVD_HANDLE: evd_handle
 * @DAT_CSP_FIELD_ALL:        all members
 *
 * Never used, because kDAPL has no common service points.
 */
typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE		= 0x01,
	DAT_CSP_FIELD_COMM		= 0x02,
	DAT_CSP_FIELD_IA_ADDRESS	= 0x04,
	DAT_CSP_FIELD_EVD_HANDLE	= 0x08,
	DAT_CSP_FIELD_ALL		= 0x0f,
} DAT_CSP_PARAM_MASK;

/**
 * struct dat_cr_param - DAT_CR_PARAM: the parameters of a connection request
 * @remote_ia_address_ptr: address of the peer
 * @remote_port_qual:      port of the peer
 * @private_data_size:     bytes of @private_data, 56: the data and the zeroes after it
 * @private_data:          private data of the peer
 * @local_ep_handle:       EP of the RSP; DAT_HANDLE_NULL for the request of a PSP
 *
 * Written by dat_cr_query(). Address and private data are valid until the request is accepted
 * or rejected. Source: kDAPL 2.0 header, manual page dat_cr_query; the size is kDAPL's choice.
 */
typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
	DAT_EP_HANDLE local_ep_handle;
} DAT_CR_PARAM;

/**
 * enum dat_cr_param_mask - DAT_CR_PARAM_MASK: members for dat_cr_query()
 * @DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR: remote_ia_address_ptr
 * @DAT_CR_FIELD_REMOTE_PORT_QUAL:      remote_port_qual
 * @DAT_CR_FIELD_PRIVATE_DATA_SIZE:     private_data_size
 * @DAT_CR_FIELD_PRIVATE_DATA:          private_data
 * @DAT_CR_FIELD_LOCAL_EP_HANDLE:       local_ep_handle
 * @DAT_CR_FIELD_ALL:                   all members
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 */
typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x01,
	DAT_CR_FIELD_REMOTE_PORT_QUAL	= 0x02,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE	= 0x04,
	DAT_CR_FIELD_PRIVATE_DATA	= 0x08,
	DAT_CR_FIELD_LOCAL_EP_HANDLE	= 0x10,
	DAT_CR_FIELD_ALL		= 0x1f,
} DAT_CR_PARAM_MASK;

#endif /* _DAT_CONNECT_H_ */
