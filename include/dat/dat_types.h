/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types that all objects of DAT have in common: handles, contexts, special counts and the
 * flags of posts. There is no code here. Included by dat.h; a Consumer includes kdat.h.
 */
#ifndef _DAT_TYPES_H_
#define _DAT_TYPES_H_

#include <dat/dat_platform_specific.h>

/**
 * enum dat_boolean - DAT_BOOLEAN: a truth value
 * @DAT_FALSE: no
 * @DAT_TRUE:  yes
 */
typedef enum dat_boolean {
	DAT_FALSE			= 0,
	DAT_TRUE			= 1,
} DAT_BOOLEAN;

/**
 * union dat_context - DAT_CONTEXT: 64 bits of the Consumer, which kDAPL only stores
 * @as_ptr:   as a pointer
 * @as_64:    as a number of 64 bits
 * @as_index: as an index
 *
 * 0 until dat_set_consumer_context() sets it. Source: kDAPL 2.0 header, manual page
 * dat_set_consumer_context.
 */
typedef union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
} DAT_CONTEXT;

/**
 * typedef DAT_DTO_COOKIE - value of the Consumer in a DTO and in its event
 *
 * Any value is legal. Source: kDAPL 2.0 header, manual page dat_ep_post_send.
 */
typedef DAT_CONTEXT DAT_DTO_COOKIE;

/**
 * typedef DAT_RMR_COOKIE - value of the Consumer in a bind and in its event
 *
 * Any value is legal. Source: kDAPL 2.0 header, manual page dat_rmr_bind.
 */
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/**
 * typedef DAT_LMR_COOKIE - value of the Consumer in a request for an LMR and in its event
 *
 * Any value is legal. Source: kDAPL 2.0 header, kernel only.
 */
typedef DAT_CONTEXT DAT_LMR_COOKIE;

/**
 * typedef DAT_HANDLE - an object of any type
 *
 * A number that the Provider assigns (generation, type, index), in a pointer type. It is not an
 * address and must not be dereferenced. After the object has been freed, every call refuses
 * the handle. Source: kDAPL 2.0 header; the numbers are kDAPL's choice.
 */
typedef DAT_PVOID DAT_HANDLE;

/**
 * typedef DAT_CR_HANDLE - a connection request
 */
typedef DAT_HANDLE DAT_CR_HANDLE;

/**
 * typedef DAT_CSP_HANDLE - a common service point, which kDAPL does not have
 */
typedef DAT_HANDLE DAT_CSP_HANDLE;

/**
 * typedef DAT_EP_HANDLE - an endpoint
 */
typedef DAT_HANDLE DAT_EP_HANDLE;

/**
 * typedef DAT_EVD_HANDLE - an event dispatcher
 */
typedef DAT_HANDLE DAT_EVD_HANDLE;

/**
 * typedef DAT_IA_HANDLE - an open interface adapter
 */
typedef DAT_HANDLE DAT_IA_HANDLE;

/**
 * typedef DAT_LMR_HANDLE - a local memory region
 */
typedef DAT_HANDLE DAT_LMR_HANDLE;

/**
 * typedef DAT_PSP_HANDLE - a public service point
 */
typedef DAT_HANDLE DAT_PSP_HANDLE;

/**
 * typedef DAT_PZ_HANDLE - a protection zone
 */
typedef DAT_HANDLE DAT_PZ_HANDLE;

/**
 * typedef DAT_RMR_HANDLE - a remote memory region
 */
typedef DAT_HANDLE DAT_RMR_HANDLE;

/**
 * typedef DAT_RSP_HANDLE - a reserved service point
 */
typedef DAT_HANDLE DAT_RSP_HANDLE;

/**
 * typedef DAT_SRQ_HANDLE - a shared receive queue
 */
typedef DAT_HANDLE DAT_SRQ_HANDLE;

/**
 * define DAT_HANDLE_NULL - no object
 */
#define DAT_HANDLE_NULL			((DAT_HANDLE)NULL)

/**
 * enum dat_handle_type - DAT_HANDLE_TYPE: the type of an object
 * @DAT_HANDLE_TYPE_CR:  connection request
 * @DAT_HANDLE_TYPE_EP:  endpoint
 * @DAT_HANDLE_TYPE_EVD: event dispatcher
 * @DAT_HANDLE_TYPE_IA:  interface adapter
 * @DAT_HANDLE_TYPE_LMR: local memory region
 * @DAT_HANDLE_TYPE_PSP: public service point
 * @DAT_HANDLE_TYPE_PZ:  protection zone
 * @DAT_HANDLE_TYPE_RMR: remote memory region
 * @DAT_HANDLE_TYPE_RSP: reserved service point
 * @DAT_HANDLE_TYPE_SRQ: shared receive queue
 * @DAT_HANDLE_TYPE_CSP: common service point; never returned
 *
 * Returned by dat_get_handle_type(). Source: kDAPL 2.0 header; user space has other numbers
 * for the last two.
 */
typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR		= 0,
	DAT_HANDLE_TYPE_EP		= 1,
	DAT_HANDLE_TYPE_EVD		= 2,
	DAT_HANDLE_TYPE_IA		= 3,
	DAT_HANDLE_TYPE_LMR		= 4,
	DAT_HANDLE_TYPE_PSP		= 5,
	DAT_HANDLE_TYPE_PZ		= 6,
	DAT_HANDLE_TYPE_RMR		= 7,
	DAT_HANDLE_TYPE_RSP		= 8,
	DAT_HANDLE_TYPE_SRQ		= 9,
	DAT_HANDLE_TYPE_CSP		= 10,
} DAT_HANDLE_TYPE;

/**
 * define DAT_WATERMARK_INFINITE - DAT_COUNT of a watermark that is never reached
 *
 * Legal in srq_soft_hw of struct dat_ep_attr.
 */
#define DAT_WATERMARK_INFINITE		(-1)

/**
 * define DAT_HW_DEFAULT - high watermark of a new endpoint
 */
#define DAT_HW_DEFAULT			DAT_WATERMARK_INFINITE

/**
 * define DAT_VALUE_UNKNOWN - DAT_COUNT that the Provider does not know
 *
 * kDAPL never returns it.
 */
#define DAT_VALUE_UNKNOWN		(-2)

/**
 * define DAT_SRQ_LW_DEFAULT - low watermark of a new SRQ, in buffers; it raises no event
 */
#define DAT_SRQ_LW_DEFAULT		0

/**
 * enum dat_extension - DAT_EXTENSION: a set of extensions of DAT
 * @DAT_EXTENSION_NONE: none; kDAPL has no extensions
 * @DAT_EXTENSION_IB:   InfiniBand
 * @DAT_EXTENSION_IW:   iWARP
 *
 * No call uses it.
 */
typedef enum dat_extension {
	DAT_EXTENSION_NONE		= 0,
	DAT_EXTENSION_IB		= 1,
	DAT_EXTENSION_IW		= 2,
} DAT_EXTENSION;

/**
 * enum dat_completion_flags - DAT_COMPLETION_FLAGS: how a post completes
 * @DAT_COMPLETION_DEFAULT_FLAG:         an event that asks for an upcall
 * @DAT_COMPLETION_SUPPRESS_FLAG:        no event if the request succeeds
 * @DAT_COMPLETION_SOLICITED_WAIT_FLAG:  of a send: the receive event at the peer asks for an
 *                                       upcall; of an EP: other receive events do not
 * @DAT_COMPLETION_UNSIGNALLED_FLAG:     the event asks for no upcall; legal in a post if the
 *                                       EP has the flag for that queue
 * @DAT_COMPLETION_BARRIER_FENCE_FLAG:   the request starts after earlier RDMA reads
 * @DAT_COMPLETION_EVD_THRESHOLD_FLAG:   user space only; DAT_INVALID_PARAMETER
 * @DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG: dat_lmr_invalidate() only: the request starts
 *                                       after all earlier requests
 *
 * Flags of a post are combined with "or"; the call lists those that are legal. An EP has one
 * of DEFAULT, UNSIGNALLED or, for receives, SOLICITED_WAIT for each queue. Source: kDAPL 2.0
 * header, manual pages of the posting calls and dat_ep_create.
 */
typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG	= 0x00,
	DAT_COMPLETION_SUPPRESS_FLAG	= 0x01,
	DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x02,
	DAT_COMPLETION_UNSIGNALLED_FLAG	= 0x04,
	DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x08,
	DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10,
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20,
} DAT_COMPLETION_FLAGS;

/**
 * enum dat_qos - DAT_QOS: quality of service
 * @DAT_QOS_BEST_EFFORT:     no guarantee; the only legal value
 * @DAT_QOS_HIGH_THROUGHPUT: high throughput
 * @DAT_QOS_LOW_LATENCY:     low latency
 * @DAT_QOS_ECONOMY:         economy class
 * @DAT_QOS_PREMIUM:         premium class
 *
 * Values other than BEST_EFFORT are DAT_MODEL_NOT_SUPPORTED. Source: kDAPL 2.0 header, manual
 * page dat_ep_connect; the restriction is kDAPL's choice.
 */
typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT		= 0x00,
	DAT_QOS_HIGH_THROUGHPUT		= 0x01,
	DAT_QOS_LOW_LATENCY		= 0x02,
	DAT_QOS_ECONOMY			= 0x04,
	DAT_QOS_PREMIUM			= 0x08,
} DAT_QOS;

/**
 * enum dat_close_flags - DAT_CLOSE_FLAGS: how to disconnect, or to close an IA
 * @DAT_CLOSE_ABRUPT_FLAG:   at once: outstanding posts are flushed, objects destroyed
 * @DAT_CLOSE_GRACEFUL_FLAG: requests complete first; an IA with objects is not closed
 *
 * Source: kDAPL 2.0 header, manual pages dat_ep_disconnect and dat_ia_close.
 */
typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG		= 0x00,
	DAT_CLOSE_GRACEFUL_FLAG		= 0x01,
} DAT_CLOSE_FLAGS;

/**
 * define DAT_CLOSE_DEFAULT - the usual DAT_CLOSE_FLAGS
 */
#define DAT_CLOSE_DEFAULT		DAT_CLOSE_ABRUPT_FLAG

#endif /* _DAT_TYPES_H_ */
