/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events, event dispatchers and upcalls. There is no code here; the upcall states its
 * context. Included by dat.h; a Consumer includes kdat.h.
 */
#ifndef _DAT_EVENT_H_
#define _DAT_EVENT_H_

#include <dat/dat_types.h>

/**
 * enum dat_evd_flags - DAT_EVD_FLAGS: the streams of an EVD
 * @DAT_EVD_SOFTWARE_FLAG:   software events, from dat_evd_post_se()
 * @DAT_EVD_CR_FLAG:         connection requests
 * @DAT_EVD_DTO_FLAG:        completions of DTOs
 * @DAT_EVD_CONNECTION_FLAG: connection events
 * @DAT_EVD_RMR_BIND_FLAG:   completions of binds
 * @DAT_EVD_ASYNC_FLAG:      asynchronous events
 * @DAT_EVD_DEFAULT_FLAG:    all except software
 *
 * Combined with "or": at least one; SOFTWARE and ASYNC exclude each other. Source: kDAPL 2.0
 * header; the exclusion is kDAPL's choice.
 */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG		= 0x001,
	DAT_EVD_CR_FLAG			= 0x010,
	DAT_EVD_DTO_FLAG		= 0x020,
	DAT_EVD_CONNECTION_FLAG		= 0x040,
	DAT_EVD_RMR_BIND_FLAG		= 0x080,
	DAT_EVD_ASYNC_FLAG		= 0x100,
	DAT_EVD_DEFAULT_FLAG		= 0x1f0,
} DAT_EVD_FLAGS;

/**
 * enum dat_event_number - DAT_EVENT_NUMBER: what happened
 * @DAT_DTO_COMPLETION_EVENT:                     DTO stream: a post has completed
 * @DAT_RMR_BIND_COMPLETION_EVENT:                bind stream: a bind has completed
 * @DAT_CONNECTION_REQUEST_EVENT:                 request stream: a peer wants to connect
 * @DAT_CONNECTION_EVENT_ESTABLISHED:             connection stream, as all up to UNREACHABLE: the
 *                                                EP is CONNECTED
 * @DAT_CONNECTION_EVENT_PEER_REJECTED:           the peer's Consumer has rejected the request
 * @DAT_CONNECTION_EVENT_NON_PEER_REJECTED:       nothing listens there, or the peer has no room
 * @DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR: an accepted request led to no connection
 * @DAT_CONNECTION_EVENT_DISCONNECTED:            a Consumer has ended the connection or attempt
 * @DAT_CONNECTION_EVENT_BROKEN:                  an error has ended the connection
 * @DAT_CONNECTION_EVENT_TIMED_OUT:               the timeout of dat_ep_connect() has expired
 * @DAT_CONNECTION_EVENT_UNREACHABLE:             no path leads to the peer
 * @DAT_ASYNC_ERROR_EVD_OVERFLOW:                 asynchronous stream, as all up to
 *                                                UP_TO_MULTI_PATH: events were lost
 * @DAT_ASYNC_ERROR_IA_CATASTROPHIC:              the device has failed or was removed
 * @DAT_ASYNC_ERROR_EP_BROKEN:                    never raised
 * @DAT_ASYNC_ERROR_TIMED_OUT:                    never raised
 * @DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:      something happened to an IA, SRQ, LMR or RMR;
 *                                                see the reason
 * @DAT_HA_DOWN_TO_1:                             never raised
 * @DAT_HA_UP_TO_MULTI_PATH:                      never raised
 * @DAT_SOFTWARE_EVENT:                           software stream: dat_evd_post_se()
 *
 * The number selects the member of union dat_event_data. Source: kDAPL 2.0 header, manual page
 * dat_evd_dequeue; the uses of PROVIDER_INTERNAL_ERROR are kDAPL's choice.
 */
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

/**
 * enum dat_dtos - DAT_DTOS: the operation that has completed
 * @DAT_DTO_SEND:                    send, with or without invalidation
 * @DAT_DTO_RDMA_WRITE:              RDMA write
 * @DAT_DTO_RDMA_READ:               RDMA read
 * @DAT_DTO_RECEIVE:                 receive
 * @DAT_DTO_RECEIVE_WITH_INVALIDATE: receive whose message has invalidated a key
 * @DAT_DTO_BIND_MW:                 bind, if the EVD lacks the bind stream
 * @DAT_DTO_LMR_FMR:                 dat_lmr_fmr(); kernel only
 * @DAT_DTO_LMR_INVALIDATE:          dat_lmr_invalidate(); kernel only
 */
typedef enum dat_dtos {
	DAT_DTO_SEND			= 0,
	DAT_DTO_RDMA_WRITE		= 1,
	DAT_DTO_RDMA_READ		= 2,
	DAT_DTO_RECEIVE			= 3,
	DAT_DTO_RECEIVE_WITH_INVALIDATE	= 4,
	DAT_DTO_BIND_MW			= 5,
	DAT_DTO_LMR_FMR			= 6,
	DAT_DTO_LMR_INVALIDATE		= 7,
} DAT_DTOS;

/**
 * enum dat_dto_completion_status - DAT_DTO_COMPLETION_STATUS: how a post has completed
 * @DAT_DTO_SUCCESS:                it was executed
 * @DAT_DTO_ERR_FLUSHED:            not executed: the connection had ended, or was never set up
 * @DAT_DTO_ERR_LOCAL_LENGTH:       receive: the message is longer than the buffer
 * @DAT_DTO_ERR_LOCAL_EP:           the device found an error in its QP
 * @DAT_DTO_ERR_LOCAL_PROTECTION:   local memory was not registered when the device used it
 * @DAT_DTO_ERR_BAD_RESPONSE:       the response of the peer does not match the request
 * @DAT_DTO_ERR_REMOTE_ACCESS:      the device of the peer refused the key
 * @DAT_DTO_ERR_REMOTE_RESPONDER:   the peer could not process the request
 * @DAT_DTO_ERR_TRANSPORT:          the peer does not acknowledge the request
 * @DAT_DTO_ERR_RECEIVER_NOT_READY: the peer has no receive, and its device gave up
 * @DAT_DTO_ERR_PARTIAL_PACKET:     never reported
 * @DAT_RMR_OPERATION_FAILED:       a bind failed on the device
 * @DAT_DTO_ERR_LOCAL_MM_ERROR:     dat_lmr_fmr() or dat_lmr_invalidate() failed on the device;
 *                                  kernel only
 *
 * Every status except SUCCESS breaks the connection, or results from that. Source: kDAPL 2.0
 * header, manual pages of the posting calls; the use of LOCAL_MM_ERROR is kDAPL's choice.
 */
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
	DAT_DTO_ERR_LOCAL_MM_ERROR	= 12,
} DAT_DTO_COMPLETION_STATUS;

/**
 * typedef DAT_RMR_BIND_COMPLETION_STATUS - how a bind has completed
 *
 * SUCCESS, FLUSHED or DAT_RMR_OPERATION_FAILED. Source: kDAPL 2.0 header, manual page
 * dat_rmr_bind.
 */
typedef DAT_DTO_COMPLETION_STATUS DAT_RMR_BIND_COMPLETION_STATUS;

/**
 * define DAT_DTO_LENGTH_ERROR - name of LOCAL_LENGTH in earlier versions
 *
 * Not the return value DAT_LENGTH_ERROR.
 */
#define DAT_DTO_LENGTH_ERROR		DAT_DTO_ERR_LOCAL_LENGTH

/**
 * define DAT_DTO_FAILURE - name of FLUSHED in earlier versions
 *
 * No other error is equal to it.
 */
#define DAT_DTO_FAILURE			DAT_DTO_ERR_FLUSHED

/**
 * define DAT_RMR_BIND_SUCCESS - name of DAT_DTO_SUCCESS in earlier versions
 */
#define DAT_RMR_BIND_SUCCESS		DAT_DTO_SUCCESS

/**
 * define DAT_RMR_BIND_FAILURE - name of FLUSHED in earlier versions
 *
 * No other error is equal to it.
 */
#define DAT_RMR_BIND_FAILURE		DAT_DTO_ERR_FLUSHED

/**
 * struct dat_dto_completion_event_data - DAT_DTO_COMPLETION_EVENT_DATA: the completion of a DTO
 * @ep_handle:         EP that was posted to; with an SRQ, the EP that used the buffer
 * @user_cookie:       the cookie of the post
 * @status:            how it has completed
 * @transfered_length: bytes that were transferred; undefined unless the status is SUCCESS
 * @operation:         what has completed
 * @rmr_context:       the key that a RECEIVE_WITH_INVALIDATE has invalidated, otherwise 0;
 *                     undefined unless the status is SUCCESS
 *
 * Written by the Provider. Source: kDAPL 2.0 header, manual page dat_ep_post_send.
 */
typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_SEG_LENGTH transfered_length;
	DAT_DTOS operation;
	DAT_RMR_CONTEXT rmr_context;
} DAT_DTO_COMPLETION_EVENT_DATA;

/**
 * struct dat_rmr_bind_completion_event_data - DAT_RMR_BIND_COMPLETION_EVENT_DATA: a completed bind
 * @rmr_handle:  RMR that was bound
 * @user_cookie: the cookie of the bind
 * @status:      how it has completed
 *
 * Written by the Provider. Source: kDAPL 2.0 header, manual page dat_rmr_bind.
 */
typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;
	DAT_RMR_COOKIE user_cookie;
	DAT_RMR_BIND_COMPLETION_STATUS status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/**
 * union dat_sp_handle - DAT_SP_HANDLE: a service point of any kind
 * @rsp_handle: reserved service point
 * @psp_handle: public service point
 * @csp_handle: common service point; never used
 */
typedef union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
	DAT_CSP_HANDLE csp_handle;
} DAT_SP_HANDLE;

/**
 * struct dat_cr_arrival_event_data - DAT_CR_ARRIVAL_EVENT_DATA: a connection request
 * @sp_handle:            the service point at which it arrived
 * @local_ia_address_ptr: address of the IA, valid until the request is accepted or rejected
 * @conn_qual:            qualifier of the service point
 * @cr_handle:            the request
 * @truncate_flag:        DAT_FALSE, because private data is never truncated
 *
 * Written by the Provider. Source: kDAPL 2.0 header, manual pages dat_psp_create and
 * dat_rsp_create.
 */
typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_CONN_QUAL conn_qual;
	DAT_CR_HANDLE cr_handle;
	DAT_BOOLEAN truncate_flag;
} DAT_CR_ARRIVAL_EVENT_DATA;

/**
 * struct dat_connection_event_data - DAT_CONNECTION_EVENT_DATA: a connection event
 * @ep_handle:         the EP
 * @private_data_size: bytes of @private_data: the data and the zeroes after it; 0: none
 * @private_data:      private data of the peer, valid until the EP is reset or freed
 *
 * Written by the Provider. Only ESTABLISHED and PEER_REJECTED have private data. Source: kDAPL
 * 2.0 header, manual page dat_evd_dequeue.
 */
typedef struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
} DAT_CONNECTION_EVENT_DATA;

/**
 * struct dat_asynch_error_event_data - DAT_ASYNCH_ERROR_EVENT_DATA: an asynchronous event
 * @dat_handle: the affected object: IA, EVD, PSP, RSP, SRQ, LMR or RMR
 * @reason:     a number of the enum for the type of @dat_handle, below; of a PSP or RSP always
 *              DAT_IA_OTHER_ERROR
 *
 * Written by the Provider.
 */
typedef struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle;
	DAT_COUNT reason;
} DAT_ASYNCH_ERROR_EVENT_DATA;

/**
 * enum dat_ia_async_error_reason - DAT_IA_ASYNC_ERROR_REASON: what happened to an IA
 * @DAT_IA_CATASTROPHIC_ERROR: its device has failed or was removed
 * @DAT_IA_OTHER_ERROR:        the service point in dat_handle cannot listen after a change of
 *                             addresses, or cannot listen on one of its addresses; kDAPL retries
 *
 * Source: kDAPL 2.0 header; the meaning of the second one is kDAPL's choice.
 */
typedef enum dat_ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR	= 0,
	DAT_IA_OTHER_ERROR		= 1,
} DAT_IA_ASYNC_ERROR_REASON;

/**
 * enum dat_ep_async_error_reason - DAT_EP_ASYNC_ERROR_REASON: what happened to an EP
 * @DAT_EP_TRANSFER_TO_ERROR:          never raised
 * @DAT_EP_OTHER_ERROR:                never raised
 * @DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT: never raised
 *
 * An EP has connection events instead.
 */
typedef enum dat_ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR	= 0,
	DAT_EP_OTHER_ERROR		= 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2,
} DAT_EP_ASYNC_ERROR_REASON;

/**
 * enum dat_evd_async_error_reason - DAT_EVD_ASYNC_ERROR_REASON: what happened to an EVD
 * @DAT_EVD_OVERFLOW_ERROR: it had no room for an asynchronous event
 * @DAT_EVD_OTHER_ERROR:    never raised
 */
typedef enum dat_evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR		= 0,
	DAT_EVD_OTHER_ERROR		= 1,
} DAT_EVD_ASYNC_ERROR_REASON;

/**
 * enum dat_srq_async_error_reason - DAT_SRQ_ASYNC_ERROR_REASON: what happened to an SRQ
 * @DAT_SRQ_TRANSFER_TO_ERROR:   it is in ERROR
 * @DAT_SRQ_OTHER_ERROR:         never raised
 * @DAT_SRQ_LOW_WATERMARK_EVENT: fewer buffers are available than its low watermark
 *
 * Source: kDAPL 2.0 header, manual page dat_srq_set_lw.
 */
typedef enum dat_srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR	= 0,
	DAT_SRQ_OTHER_ERROR		= 1,
	DAT_SRQ_LOW_WATERMARK_EVENT	= 2,
} DAT_SRQ_ASYNC_ERROR_REASON;

/**
 * enum dat_lmr_async_error_reason - DAT_LMR_ASYNC_ERROR_REASON: what happened to an LMR
 * @DAT_LMR_OTHER_ERROR: a peer without the right has invalidated its key, or the device lost it
 *
 * Source: kDAPL 2.0 header; the use is kDAPL's choice.
 */
typedef enum dat_lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR		= 0,
} DAT_LMR_ASYNC_ERROR_REASON;

/**
 * enum dat_rmr_async_error_reason - DAT_RMR_ASYNC_ERROR_REASON: what happened to an RMR
 * @DAT_RMR_OTHER_ERROR: a peer without the right has invalidated its key, or the device lost it
 *
 * Source: kDAPL 2.0 header; the use is kDAPL's choice.
 */
typedef enum dat_rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR		= 0,
} DAT_RMR_ASYNC_ERROR_REASON;

/**
 * enum dat_pz_async_error_reason - DAT_PZ_ASYNC_ERROR_REASON: what happened to a PZ
 * @DAT_PZ_OTHER_ERROR: never raised
 */
typedef enum dat_pz_async_error_reason {
	DAT_PZ_OTHER_ERROR		= 0,
} DAT_PZ_ASYNC_ERROR_REASON;

/**
 * struct dat_software_event_data - DAT_SOFTWARE_EVENT_DATA: a software event
 * @pointer: value of the Consumer, which kDAPL does not use; NULL is legal
 *
 * Written by the Consumer for dat_evd_post_se(). Source: kDAPL 2.0 header, manual page
 * dat_evd_post_se.
 */
typedef struct dat_software_event_data {
	DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

/**
 * union dat_event_data - DAT_EVENT_DATA: the data of an event
 * @dto_completion_event_data: for DAT_DTO_COMPLETION_EVENT
 * @rmr_completion_event_data: for DAT_RMR_BIND_COMPLETION_EVENT
 * @cr_arrival_event_data:     for DAT_CONNECTION_REQUEST_EVENT
 * @connect_event_data:        for the numbers DAT_CONNECTION_EVENT_*
 * @asynch_error_event_data:   for the numbers DAT_ASYNC_ERROR_* and DAT_HA_*
 * @software_event_data:       for DAT_SOFTWARE_EVENT
 */
typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA software_event_data;
} DAT_EVENT_DATA;

/**
 * struct dat_event - DAT_EVENT: an event
 * @event_number:         what happened
 * @evd_handle:           EVD that delivers it; ignored by dat_evd_post_se()
 * @event_data:           data, according to @event_number; nothing else is written
 * @event_extension_data: for extensions, which kDAPL does not have: zero in an upcall, not written
 *                        by dat_evd_dequeue()
 *
 * Written by dat_evd_dequeue() and for the upcall, and by the Consumer for dat_evd_post_se().
 * Source: kDAPL 2.0 header, manual page dat_evd_dequeue.
 */
typedef struct dat_event {
	DAT_EVENT_NUMBER event_number;
	DAT_EVD_HANDLE evd_handle;
	DAT_EVENT_DATA event_data;
	DAT_UINT64 event_extension_data[8];
} DAT_EVENT;

/**
 * define DAT_EVENT_NULL - no event
 *
 * Source: kDAPL 2.0 header, whose type for it is wrong; kDAPL corrects it.
 */
#define DAT_EVENT_NULL			((DAT_EVENT *)NULL)

/**
 * enum dat_upcall_policy - DAT_UPCALL_POLICY: when an EVD makes upcalls
 * @DAT_UPCALL_TEARDOWN:        never again; dat_evd_modify_upcall() waits for a running one
 * @DAT_UPCALL_DISABLE:         never
 * @DAT_UPCALL_SINGLE_INSTANCE: one at a time, on any CPU, with the event
 * @DAT_UPCALL_NOTIFY:          one at a time, with a NULL event; the Consumer dequeues
 * @DAT_UPCALL_NORIFY:          the same, in the spelling of DAT 2.0
 * @DAT_UPCALL_MANY:            several at a time; DAT_MODEL_NOT_SUPPORTED
 *
 * Source: kDAPL 2.0 header, kernel only; NOTIFY as a name and the restriction are kDAPL's
 * choice.
 */
typedef enum dat_upcall_policy {
	DAT_UPCALL_TEARDOWN		= -1,
	DAT_UPCALL_DISABLE		= 0,
	DAT_UPCALL_SINGLE_INSTANCE	= 1,
	DAT_UPCALL_NOTIFY		= 2,
	DAT_UPCALL_NORIFY		= 2,
	DAT_UPCALL_MANY			= 100,
} DAT_UPCALL_POLICY;

/**
 * enum dat_upcall_flag - DAT_UPCALL_FLAG: do queued events lead to upcalls of a new function?
 * @DAT_UPCALL_INVOC_NEW: no, only later ones
 * @DAT_UPCALL_INVOC_ANY: yes
 *
 * An argument of dat_evd_modify_upcall().
 */
typedef enum dat_upcall_flag {
	DAT_UPCALL_INVOC_NEW		= 0,
	DAT_UPCALL_INVOC_ANY		= 1,
} DAT_UPCALL_FLAG;

/**
 * typedef DAT_UPCALL_FUNC - function of the Consumer that handles an event
 * @instance_data: of DAT_UPCALL_OBJECT
 * @event:         the event, valid until the function returns; NULL with DAT_UPCALL_NOTIFY
 * @more_events:   DAT_TRUE: another event is queued
 *
 * Source: kDAPL 2.0 header, kernel only.
 *
 * Context: bottom halves are off; the function must not sleep, and may make class A calls. If
 * the EVD was created with KDAT_EVD_PROCESS_FLAG: process; it may sleep, and make class P calls.
 */
typedef void (*DAT_UPCALL_FUNC)(DAT_PVOID instance_data,
				const DAT_EVENT *event,
				DAT_BOOLEAN more_events);

/**
 * struct dat_upcall_object - DAT_UPCALL_OBJECT: the upcall of an EVD
 * @instance_data: value of the Consumer, passed to the function; any value
 * @upcall_func:   the function; NULL only with DAT_UPCALL_DISABLE
 *
 * Written by the Consumer, copied by the call. Source: kDAPL 2.0 header, kernel only.
 */
typedef struct dat_upcall_object {
	DAT_PVOID instance_data;
	DAT_UPCALL_FUNC upcall_func;
} DAT_UPCALL_OBJECT;

/**
 * define DAT_UPCALL_NULL - no upcall, for DAT_UPCALL_DISABLE
 */
#define DAT_UPCALL_NULL \
	((DAT_UPCALL_OBJECT) { .instance_data = NULL, .upcall_func = NULL })

/**
 * define DAT_UPCALL_SAME - keep the upcall
 *
 * An argument of dat_evd_modify_upcall().
 */
#define DAT_UPCALL_SAME			((DAT_UPCALL_OBJECT *)NULL)

/**
 * struct dat_evd_param - DAT_EVD_PARAM: the parameters of an EVD
 * @ia_handle:     its IA
 * @evd_qlen:      room for software and asynchronous events, or for waiting requests
 * @upcall_policy: when it makes upcalls
 * @upcall:        the upcall
 * @evd_flags:     its streams
 *
 * Written by dat_evd_query(). Source: kDAPL 2.0 header, manual page dat_evd_query.
 */
typedef struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;
	DAT_UPCALL_POLICY upcall_policy;
	DAT_UPCALL_OBJECT upcall;
	DAT_EVD_FLAGS evd_flags;
} DAT_EVD_PARAM;

/**
 * enum dat_evd_param_mask - DAT_EVD_PARAM_MASK: members for dat_evd_query()
 * @DAT_EVD_FIELD_IA_HANDLE:     ia_handle
 * @DAT_EVD_FIELD_EVD_QLEN:      evd_qlen
 * @DAT_EVD_FIELD_UPCALL_POLICY: upcall_policy
 * @DAT_EVD_FIELD_UPCALL:        upcall
 * @DAT_EVD_FIELD_EVD_FLAGS:     evd_flags
 * @DAT_EVD_FIELD_ALL:           all members
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 */
typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE		= 0x01,
	DAT_EVD_FIELD_EVD_QLEN		= 0x02,
	DAT_EVD_FIELD_UPCALL_POLICY	= 0x04,
	DAT_EVD_FIELD_UPCALL		= 0x08,
	DAT_EVD_FIELD_EVD_FLAGS		= 0x10,
	DAT_EVD_FIELD_ALL		= 0x1f,
} DAT_EVD_PARAM_MASK;

#endif /* _DAT_EVENT_H_ */
