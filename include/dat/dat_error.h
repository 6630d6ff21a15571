/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The return value of every DAT call: its three parts, the types and the subtypes. Constants
 * only. Included by dat.h; a Consumer includes kdat.h.
 */
#ifndef _DAT_ERROR_H_
#define _DAT_ERROR_H_

#include <dat/dat_platform_specific.h>

/**
 * typedef DAT_RETURN - the return value of a DAT call
 *
 * Bits 31 and 30 are the class, 29 to 16 the type (enum dat_return_type), 15 to 0 the subtype
 * (enum dat_return_subtype). The enumerators do not include the class; a returned error does.
 * So compare DAT_GET_TYPE(ret) with a type, and only DAT_SUCCESS with the whole value. A
 * Consumer may rely on the type; the subtype is only a hint.
 */
typedef DAT_UINT32 DAT_RETURN;

/**
 * define DAT_CLASS_ERROR - class of an error
 */
#define DAT_CLASS_ERROR			0x80000000U

/**
 * define DAT_CLASS_WARNING - class of a warning; never returned
 */
#define DAT_CLASS_WARNING		0x40000000U

/**
 * define DAT_CLASS_SUCCESS - class of DAT_SUCCESS
 */
#define DAT_CLASS_SUCCESS		0x00000000U

/**
 * define DAT_TYPE_MASK - bits of the type
 */
#define DAT_TYPE_MASK			0x3fff0000U

/**
 * define DAT_SUBTYPE_MASK - bits of the subtype
 */
#define DAT_SUBTYPE_MASK		0x0000ffffU

/**
 * DAT_IS_WARNING() - is a return value a warning?
 * @status: the return value
 *
 * Return: nonzero if it is.
 */
#define DAT_IS_WARNING(status)		((DAT_UINT32)(status) & DAT_CLASS_WARNING)

/**
 * DAT_GET_TYPE() - the type of a return value
 * @status: the return value
 *
 * Return: an enumerator of enum dat_return_type.
 */
#define DAT_GET_TYPE(status)		((DAT_UINT32)(status) & DAT_TYPE_MASK)

/**
 * DAT_GET_SUBTYPE() - the subtype of a return value
 * @status: the return value
 *
 * Return: an enumerator of enum dat_return_subtype.
 */
#define DAT_GET_SUBTYPE(status)		((DAT_UINT32)(status) & DAT_SUBTYPE_MASK)

/**
 * DAT_ERROR() - compose the return value of an error
 * @type:    enumerator of enum dat_return_type
 * @subtype: enumerator of enum dat_return_subtype
 *
 * Source: kDAPL's choice.
 *
 * Return: the DAT_RETURN.
 */
#define DAT_ERROR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(subtype)))

/**
 * enum dat_return_type - DAT_RETURN_TYPE: the type of a return value
 * @DAT_SUCCESS:                     the call has succeeded; the only value that is not an error
 * @DAT_ABORT:                       never returned
 * @DAT_CONN_QUAL_IN_USE:            another service point listens on the qualifier
 * @DAT_INSUFFICIENT_RESOURCES:      a queue is full, memory or an object of the device is
 *                                   missing, or the device was removed; the subtype says which
 * @DAT_INTERNAL_ERROR:              the device or the connection manager refused a legal request
 * @DAT_INVALID_HANDLE:              no object of that type, a freed one, or one that does not fit
 * @DAT_INVALID_PARAMETER:           an argument is not legal; the subtype is its number
 * @DAT_INVALID_STATE:               the object is in use or in another state
 * @DAT_LENGTH_ERROR:                RDMA: the local and the remote length do not match
 * @DAT_MODEL_NOT_SUPPORTED:         the Provider or the device does not have the feature
 * @DAT_PROVIDER_NOT_FOUND:          no IA has the name, or the version or thread safety differs
 * @DAT_PRIVILEGES_VIOLATION:        an access right is missing, or an LMR context is not valid
 * @DAT_PROTECTION_VIOLATION:        two objects are in different protection zones
 * @DAT_QUEUE_EMPTY:                 the EVD has no event
 * @DAT_QUEUE_FULL:                  the EVD has no room for the software event
 * @DAT_TIMEOUT_EXPIRED:             user space only
 * @DAT_PROVIDER_ALREADY_REGISTERED: never returned
 * @DAT_PROVIDER_IN_USE:             never returned
 * @DAT_INVALID_ADDRESS:             the address of the peer is not usable
 * @DAT_INTERRUPTED_CALL:            user space only
 * @DAT_CONN_QUAL_UNAVAILABLE:       no port is free
 * @DAT_RESERVED_LMR:                kernel only; never returned
 * @DAT_PORT_IN_USE:                 never returned
 * @DAT_COMM_NOT_SUPPORTED:          never returned
 * @DAT_NOT_IMPLEMENTED:             never returned
 *
 * Source: kDAPL 2.0 header, whose comments swap PRIVILEGES and PROTECTION; kDAPL follows
 * the manual pages.
 */
typedef enum dat_return_type {
	DAT_SUCCESS			= 0x00000000,
	DAT_ABORT			= 0x00010000,
	DAT_CONN_QUAL_IN_USE		= 0x00020000,
	DAT_INSUFFICIENT_RESOURCES	= 0x00030000,
	DAT_INTERNAL_ERROR		= 0x00040000,
	DAT_INVALID_HANDLE		= 0x00050000,
	DAT_INVALID_PARAMETER		= 0x00060000,
	DAT_INVALID_STATE		= 0x00070000,
	DAT_LENGTH_ERROR		= 0x00080000,
	DAT_MODEL_NOT_SUPPORTED		= 0x00090000,
	DAT_PROVIDER_NOT_FOUND		= 0x000a0000,
	DAT_PRIVILEGES_VIOLATION	= 0x000b0000,
	DAT_PROTECTION_VIOLATION	= 0x000c0000,
	DAT_QUEUE_EMPTY			= 0x000d0000,
	DAT_QUEUE_FULL			= 0x000e0000,
	DAT_TIMEOUT_EXPIRED		= 0x000f0000,
	DAT_PROVIDER_ALREADY_REGISTERED	= 0x00100000,
	DAT_PROVIDER_IN_USE		= 0x00110000,
	DAT_INVALID_ADDRESS		= 0x00120000,
	DAT_INTERRUPTED_CALL		= 0x00130000,
	DAT_CONN_QUAL_UNAVAILABLE	= 0x00140000,
	DAT_RESERVED_LMR		= 0x00150000,
	DAT_PORT_IN_USE			= 0x00160000,
	DAT_COMM_NOT_SUPPORTED		= 0x00170000,
	DAT_NOT_IMPLEMENTED		= 0x3fff0000,
} DAT_RETURN_TYPE;

/**
 * define DAT_NAME_NOT_FOUND - name of DAT_PROVIDER_NOT_FOUND in earlier versions
 */
#define DAT_NAME_NOT_FOUND		DAT_PROVIDER_NOT_FOUND

/**
 * enum dat_return_subtype - DAT_RETURN_SUBTYPE: the subtype of a return value
 * @DAT_NO_SUBTYPE:                         none
 * @DAT_SUB_INTERRUPTED:                    never returned
 * @DAT_RESOURCE_MEMORY:                    memory, a free handle, or a free entry in the queue of
 *                                          the post
 * @DAT_RESOURCE_DEVICE:                    the device was removed, or the address was lost
 * @DAT_RESOURCE_TEP:                       queue pair or completion queue
 * @DAT_RESOURCE_TEVD:                      room in an EVD or completion queue
 * @DAT_RESOURCE_PROTECTION_DOMAIN:         protection domain
 * @DAT_RESOURCE_MEMORY_REGION:             MR
 * @DAT_RESOURCE_ERROR_HANDLER:             never returned
 * @DAT_RESOURCE_CREDITS:                   RDMA reads that the EP or the peer allows
 * @DAT_RESOURCE_SRQ:                       SRQ, or a free entry in it
 * @DAT_INVALID_HANDLE_IA:                  IA
 * @DAT_INVALID_HANDLE_EP:                  EP
 * @DAT_INVALID_HANDLE_LMR:                 LMR
 * @DAT_INVALID_HANDLE_RMR:                 RMR
 * @DAT_INVALID_HANDLE_PZ:                  PZ
 * @DAT_INVALID_HANDLE_PSP:                 PSP
 * @DAT_INVALID_HANDLE_RSP:                 RSP
 * @DAT_INVALID_HANDLE_CR:                  CR
 * @DAT_INVALID_HANDLE_CNO:                 user space only
 * @DAT_INVALID_HANDLE_EVD_CR:              EVD of connection requests
 * @DAT_INVALID_HANDLE_EVD_REQUEST:         EVD of requests
 * @DAT_INVALID_HANDLE_EVD_RECV:            EVD of receives
 * @DAT_INVALID_HANDLE_EVD_CONN:            EVD of connection events
 * @DAT_INVALID_HANDLE_EVD_ASYNC:           EVD of asynchronous events
 * @DAT_INVALID_HANDLE_SRQ:                 SRQ
 * @DAT_INVALID_HANDLE_CSP:                 never returned
 * @DAT_INVALID_HANDLE1:                    never returned
 * @DAT_INVALID_HANDLE2:                    never returned
 * @DAT_INVALID_HANDLE3:                    never returned
 * @DAT_INVALID_HANDLE4:                    never returned
 * @DAT_INVALID_HANDLE5:                    never returned
 * @DAT_INVALID_HANDLE6:                    never returned
 * @DAT_INVALID_HANDLE7:                    never returned
 * @DAT_INVALID_HANDLE8:                    never returned
 * @DAT_INVALID_HANDLE9:                    never returned
 * @DAT_INVALID_HANDLE10:                   never returned
 * @DAT_INVALID_ARG1:                       argument 1
 * @DAT_INVALID_ARG2:                       argument 2
 * @DAT_INVALID_ARG3:                       argument 3
 * @DAT_INVALID_ARG4:                       argument 4
 * @DAT_INVALID_ARG5:                       argument 5
 * @DAT_INVALID_ARG6:                       argument 6
 * @DAT_INVALID_ARG7:                       argument 7
 * @DAT_INVALID_ARG8:                       argument 8
 * @DAT_INVALID_ARG9:                       argument 9
 * @DAT_INVALID_ARG10:                      argument 10
 * @DAT_INVALID_STATE_EP_UNCONNECTED:       EP in UNCONNECTED
 * @DAT_INVALID_STATE_EP_ACTCONNPENDING:    EP in ACTIVE_CONNECTION_PENDING
 * @DAT_INVALID_STATE_EP_PASSCONNPENDING:   EP in PASSIVE_CONNECTION_PENDING
 * @DAT_INVALID_STATE_EP_TENTCONNPENDING:   never returned
 * @DAT_INVALID_STATE_EP_CONNECTED:         EP in CONNECTED
 * @DAT_INVALID_STATE_EP_DISCONNECTED:      EP in DISCONNECTED
 * @DAT_INVALID_STATE_EP_RESERVED:          EP in RESERVED
 * @DAT_INVALID_STATE_EP_COMPLPENDING:      EP in COMPLETION_PENDING
 * @DAT_INVALID_STATE_EP_DISCPENDING:       EP in DISCONNECT_PENDING
 * @DAT_INVALID_STATE_EP_PROVIDERCONTROL:   never returned
 * @DAT_INVALID_STATE_EP_NOTREADY:          the call came from an upcall, posts are outstanding,
 *                                          or the EP lacks a PZ or EVD
 * @DAT_INVALID_STATE_EP_RECV_WATERMARK:    never returned
 * @DAT_INVALID_STATE_EP_PZ:                never returned
 * @DAT_INVALID_STATE_EP_EVD_REQUEST:       never returned
 * @DAT_INVALID_STATE_EP_EVD_RECV:          never returned
 * @DAT_INVALID_STATE_EP_EVD_CONNECT:       never returned
 * @DAT_INVALID_STATE_EP_UNCONFIGURED:      EP in UNCONFIGURED_UNCONNECTED
 * @DAT_INVALID_STATE_EP_UNCONFRESERVED:    never returned
 * @DAT_INVALID_STATE_EP_UNCONFPASSIVE:     never returned
 * @DAT_INVALID_STATE_EP_UNCONFTENTATIVE:   never returned
 * @DAT_INVALID_STATE_CNO_IN_USE:           user space only
 * @DAT_INVALID_STATE_CNO_DEAD:             user space only
 * @DAT_INVALID_STATE_EVD_OPEN:             never returned
 * @DAT_INVALID_STATE_EVD_ENABLED:          never returned
 * @DAT_INVALID_STATE_EVD_DISABLED:         never returned
 * @DAT_INVALID_STATE_EVD_WAITABLE:         user space only
 * @DAT_INVALID_STATE_EVD_UNWAITABLE:       user space only
 * @DAT_INVALID_STATE_EVD_IN_USE:           an object uses the EVD, the call came from an upcall,
 *                                          or more events are queued
 * @DAT_INVALID_STATE_EVD_CONFIG_NOTIFY:    never returned
 * @DAT_INVALID_STATE_EVD_CONFIG_SOLICITED: never returned
 * @DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD: never returned
 * @DAT_INVALID_STATE_EVD_WAITER:           user space only
 * @DAT_INVALID_STATE_EVD_ASYNC:            never returned
 * @DAT_INVALID_STATE_IA_IN_USE:            the IA has objects, the call came from an upcall, or
 *                                          another IA uses its EVD
 * @DAT_INVALID_STATE_LMR_IN_USE:           an RMR is bound to the LMR, or a request is
 *                                          outstanding
 * @DAT_INVALID_STATE_LMR_FREE:             the LMR is not registered
 * @DAT_INVALID_STATE_PZ_IN_USE:            the PZ has objects
 * @DAT_INVALID_STATE_PZ_FREE:              never returned
 * @DAT_INVALID_STATE_SRQ_OPERATIONAL:      never returned
 * @DAT_INVALID_STATE_SRQ_ERROR:            the SRQ has failed, or its device was removed
 * @DAT_INVALID_STATE_SRQ_IN_USE:           the SRQ has EPs, or the EP uses an SRQ
 * @DAT_INVALID_STATE_SRQ_SHUTDOWN:         never returned
 * @DAT_PRIVILEGES_READ:                    local read
 * @DAT_PRIVILEGES_WRITE:                   local write
 * @DAT_PRIVILEGES_RDMA_READ:               never returned
 * @DAT_PRIVILEGES_RDMA_WRITE:              never returned
 * @DAT_PROTECTION_READ:                    local read
 * @DAT_PROTECTION_WRITE:                   local write
 * @DAT_PROTECTION_RDMA_READ:               never returned
 * @DAT_PROTECTION_RDMA_WRITE:              never returned
 * @DAT_INVALID_ADDRESS_UNSUPPORTED:        not the address of one host, or not of the IA's family
 * @DAT_INVALID_ADDRESS_UNREACHABLE:        the IA has lost its own address
 * @DAT_INVALID_ADDRESS_MALFORMED:          neither IPv4 nor IPv6
 * @DAT_NAME_NOT_REGISTERED:                no IA has the name
 * @DAT_MAJOR_NOT_FOUND:                    another major version
 * @DAT_MINOR_NOT_FOUND:                    another minor version
 * @DAT_THREAD_SAFETY_NOT_FOUND:            neither DAT_TRUE nor DAT_FALSE
 *
 * Numbered from 0. The name begins with that of its type; SUB_INTERRUPTED belongs to
 * DAT_ABORT, RESOURCE to DAT_INSUFFICIENT_RESOURCES (what is missing), ARG to
 * DAT_INVALID_PARAMETER, the last four to DAT_PROVIDER_NOT_FOUND. Other types have
 * DAT_NO_SUBTYPE. Source: kDAPL 2.0 header; the use of each is kDAPL's choice.
 */
typedef enum dat_return_subtype {
	DAT_NO_SUBTYPE,

	DAT_SUB_INTERRUPTED,

	DAT_RESOURCE_MEMORY,
	DAT_RESOURCE_DEVICE,
	DAT_RESOURCE_TEP,
	DAT_RESOURCE_TEVD,
	DAT_RESOURCE_PROTECTION_DOMAIN,
	DAT_RESOURCE_MEMORY_REGION,
	DAT_RESOURCE_ERROR_HANDLER,
	DAT_RESOURCE_CREDITS,
	DAT_RESOURCE_SRQ,

	DAT_INVALID_HANDLE_IA,
	DAT_INVALID_HANDLE_EP,
	DAT_INVALID_HANDLE_LMR,
	DAT_INVALID_HANDLE_RMR,
	DAT_INVALID_HANDLE_PZ,
	DAT_INVALID_HANDLE_PSP,
	DAT_INVALID_HANDLE_RSP,
	DAT_INVALID_HANDLE_CR,
	DAT_INVALID_HANDLE_CNO,
	DAT_INVALID_HANDLE_EVD_CR,
	DAT_INVALID_HANDLE_EVD_REQUEST,
	DAT_INVALID_HANDLE_EVD_RECV,
	DAT_INVALID_HANDLE_EVD_CONN,
	DAT_INVALID_HANDLE_EVD_ASYNC,
	DAT_INVALID_HANDLE_SRQ,
	DAT_INVALID_HANDLE_CSP,
	DAT_INVALID_HANDLE1,
	DAT_INVALID_HANDLE2,
	DAT_INVALID_HANDLE3,
	DAT_INVALID_HANDLE4,
	DAT_INVALID_HANDLE5,
	DAT_INVALID_HANDLE6,
	DAT_INVALID_HANDLE7,
	DAT_INVALID_HANDLE8,
	DAT_INVALID_HANDLE9,
	DAT_INVALID_HANDLE10,

	DAT_INVALID_ARG1,
	DAT_INVALID_ARG2,
	DAT_INVALID_ARG3,
	DAT_INVALID_ARG4,
	DAT_INVALID_ARG5,
	DAT_INVALID_ARG6,
	DAT_INVALID_ARG7,
	DAT_INVALID_ARG8,
	DAT_INVALID_ARG9,
	DAT_INVALID_ARG10,

	DAT_INVALID_STATE_EP_UNCONNECTED,
	DAT_INVALID_STATE_EP_ACTCONNPENDING,
	DAT_INVALID_STATE_EP_PASSCONNPENDING,
	DAT_INVALID_STATE_EP_TENTCONNPENDING,
	DAT_INVALID_STATE_EP_CONNECTED,
	DAT_INVALID_STATE_EP_DISCONNECTED,
	DAT_INVALID_STATE_EP_RESERVED,
	DAT_INVALID_STATE_EP_COMPLPENDING,
	DAT_INVALID_STATE_EP_DISCPENDING,
	DAT_INVALID_STATE_EP_PROVIDERCONTROL,
	DAT_INVALID_STATE_EP_NOTREADY,
	DAT_INVALID_STATE_EP_RECV_WATERMARK,
	DAT_INVALID_STATE_EP_PZ,
	DAT_INVALID_STATE_EP_EVD_REQUEST,
	DAT_INVALID_STATE_EP_EVD_RECV,
	DAT_INVALID_STATE_EP_EVD_CONNECT,
	DAT_INVALID_STATE_EP_UNCONFIGURED,
	DAT_INVALID_STATE_EP_UNCONFRESERVED,
	DAT_INVALID_STATE_EP_UNCONFPASSIVE,
	DAT_INVALID_STATE_EP_UNCONFTENTATIVE,

	DAT_INVALID_STATE_CNO_IN_USE,
	DAT_INVALID_STATE_CNO_DEAD,
	DAT_INVALID_STATE_EVD_OPEN,
	DAT_INVALID_STATE_EVD_ENABLED,
	DAT_INVALID_STATE_EVD_DISABLED,
	DAT_INVALID_STATE_EVD_WAITABLE,
	DAT_INVALID_STATE_EVD_UNWAITABLE,
	DAT_INVALID_STATE_EVD_IN_USE,
	DAT_INVALID_STATE_EVD_CONFIG_NOTIFY,
	DAT_INVALID_STATE_EVD_CONFIG_SOLICITED,
	DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD,
	DAT_INVALID_STATE_EVD_WAITER,
	DAT_INVALID_STATE_EVD_ASYNC,
	DAT_INVALID_STATE_IA_IN_USE,
	DAT_INVALID_STATE_LMR_IN_USE,
	DAT_INVALID_STATE_LMR_FREE,
	DAT_INVALID_STATE_PZ_IN_USE,
	DAT_INVALID_STATE_PZ_FREE,
	DAT_INVALID_STATE_SRQ_OPERATIONAL,
	DAT_INVALID_STATE_SRQ_ERROR,
	DAT_INVALID_STATE_SRQ_IN_USE,
	DAT_INVALID_STATE_SRQ_SHUTDOWN,

	DAT_PRIVILEGES_READ,
	DAT_PRIVILEGES_WRITE,
	DAT_PRIVILEGES_RDMA_READ,
	DAT_PRIVILEGES_RDMA_WRITE,

	DAT_PROTECTION_READ,
	DAT_PROTECTION_WRITE,
	DAT_PROTECTION_RDMA_READ,
	DAT_PROTECTION_RDMA_WRITE,

	DAT_INVALID_ADDRESS_UNSUPPORTED,
	DAT_INVALID_ADDRESS_UNREACHABLE,
	DAT_INVALID_ADDRESS_MALFORMED,

	DAT_NAME_NOT_REGISTERED,
	DAT_MAJOR_NOT_FOUND,
	DAT_MINOR_NOT_FOUND,
	DAT_THREAD_SAFETY_NOT_FOUND,
} DAT_RETURN_SUBTYPE;

#endif /* _DAT_ERROR_H_ */
