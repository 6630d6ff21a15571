/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of system kdapl.
 *
 * Called by the posting and completion path (any context), the CM callbacks and the control
 * calls. An event contains numbers only: kdapl_obj_id() of the objects, which debugfs prints,
 * too, but no pointers and no strings. There are three events for completions (success,
 * flush, error), so that the rare ones can be enabled without the common one.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kdapl

#if !defined(_KDAPL_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _KDAPL_TRACE_H_

#include <linux/tracepoint.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include <trace/misc/rdma.h>
#include <dat/kdat.h>

TRACE_DEFINE_ENUM(DAT_DTO_SEND);
TRACE_DEFINE_ENUM(DAT_DTO_RDMA_WRITE);
TRACE_DEFINE_ENUM(DAT_DTO_RDMA_READ);
TRACE_DEFINE_ENUM(DAT_DTO_RECEIVE);
TRACE_DEFINE_ENUM(DAT_DTO_RECEIVE_WITH_INVALIDATE);
TRACE_DEFINE_ENUM(DAT_DTO_BIND_MW);
TRACE_DEFINE_ENUM(DAT_DTO_LMR_FMR);
TRACE_DEFINE_ENUM(DAT_DTO_LMR_INVALIDATE);

#define kdapl_show_op(op)						\
	__print_symbolic(op,						\
		{ DAT_DTO_SEND,				"SEND" },	\
		{ DAT_DTO_RDMA_WRITE,			"WRITE" },	\
		{ DAT_DTO_RDMA_READ,			"READ" },	\
		{ DAT_DTO_RECEIVE,			"RECV" },	\
		{ DAT_DTO_RECEIVE_WITH_INVALIDATE,	"RECV_INV" },	\
		{ DAT_DTO_BIND_MW,			"BIND" },	\
		{ DAT_DTO_LMR_FMR,			"FMR" },	\
		{ DAT_DTO_LMR_INVALIDATE,		"INVALIDATE" })

TRACE_DEFINE_ENUM(DAT_EP_STATE_UNCONNECTED);
TRACE_DEFINE_ENUM(DAT_EP_STATE_UNCONFIGURED_UNCONNECTED);
TRACE_DEFINE_ENUM(DAT_EP_STATE_RESERVED);
TRACE_DEFINE_ENUM(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
TRACE_DEFINE_ENUM(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
TRACE_DEFINE_ENUM(DAT_EP_STATE_CONNECTED);
TRACE_DEFINE_ENUM(DAT_EP_STATE_DISCONNECT_PENDING);
TRACE_DEFINE_ENUM(DAT_EP_STATE_DISCONNECTED);
TRACE_DEFINE_ENUM(DAT_EP_STATE_COMPLETION_PENDING);

/* The states that can occur; others are printed as numbers */
#define kdapl_show_ep_state(state)					\
	__print_symbolic(state,						\
		{ DAT_EP_STATE_UNCONNECTED,		"UNCONNECTED" },	\
		{ DAT_EP_STATE_UNCONFIGURED_UNCONNECTED, "UNCONFIGURED" },	\
		{ DAT_EP_STATE_RESERVED,		"RESERVED" },	\
		{ DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, "PASSIVE_PENDING" }, \
		{ DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, "ACTIVE_PENDING" }, \
		{ DAT_EP_STATE_CONNECTED,		"CONNECTED" },	\
		{ DAT_EP_STATE_DISCONNECT_PENDING,	"DISCONNECT_PENDING" }, \
		{ DAT_EP_STATE_DISCONNECTED,		"DISCONNECTED" },	\
		{ DAT_EP_STATE_COMPLETION_PENDING,	"COMPLETION_PENDING" })

TRACE_DEFINE_ENUM(DAT_DTO_COMPLETION_EVENT);
TRACE_DEFINE_ENUM(DAT_RMR_BIND_COMPLETION_EVENT);
TRACE_DEFINE_ENUM(DAT_CONNECTION_REQUEST_EVENT);
TRACE_DEFINE_ENUM(DAT_CONNECTION_EVENT_ESTABLISHED);
TRACE_DEFINE_ENUM(DAT_CONNECTION_EVENT_PEER_REJECTED);
TRACE_DEFINE_ENUM(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
TRACE_DEFINE_ENUM(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
TRACE_DEFINE_ENUM(DAT_CONNECTION_EVENT_DISCONNECTED);
TRACE_DEFINE_ENUM(DAT_CONNECTION_EVENT_BROKEN);
TRACE_DEFINE_ENUM(DAT_CONNECTION_EVENT_TIMED_OUT);
TRACE_DEFINE_ENUM(DAT_CONNECTION_EVENT_UNREACHABLE);
TRACE_DEFINE_ENUM(DAT_SOFTWARE_EVENT);

#define kdapl_show_event(number)					\
	__print_symbolic(number,					\
		{ 0,					"NOTIFICATION" },	\
		{ DAT_DTO_COMPLETION_EVENT,		"DTO" },	\
		{ DAT_RMR_BIND_COMPLETION_EVENT,	"BIND" },	\
		{ DAT_CONNECTION_REQUEST_EVENT,		"REQUEST" },	\
		{ DAT_CONNECTION_EVENT_ESTABLISHED,	"ESTABLISHED" },	\
		{ DAT_CONNECTION_EVENT_PEER_REJECTED,	"PEER_REJECTED" }, \
		{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED, "NON_PEER_REJECTED" }, \
		{ DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, "ACCEPT_ERROR" }, \
		{ DAT_CONNECTION_EVENT_DISCONNECTED,	"DISCONNECTED" },	\
		{ DAT_CONNECTION_EVENT_BROKEN,		"BROKEN" },	\
		{ DAT_CONNECTION_EVENT_TIMED_OUT,	"TIMED_OUT" },	\
		{ DAT_CONNECTION_EVENT_UNREACHABLE,	"UNREACHABLE" },	\
		{ DAT_SOFTWARE_EVENT,			"SOFTWARE" })

/* A post that succeeded; @id is that of the EP or the SRQ */
TRACE_EVENT(kdapl_post,
	    TP_PROTO(u32 id, u8 op, u32 slot, u32 segments, u32 length, u16 flags),

	    TP_ARGS(id, op, slot, segments, length, flags),

	    TP_STRUCT__entry(__field(u32, id)
			     __field(u32, slot)
			     __field(u32, segments)
			     __field(u32, length)
			     __field(u16, flags)
			     __field(u8, op)),

	    TP_fast_assign(__entry->id = id;
			   __entry->slot = slot;
			   __entry->segments = segments;
			   __entry->length = length;
			   __entry->flags = flags;
			   __entry->op = op;),

	    TP_printk("id=%u op=%s slot=%u segments=%u length=%u flags=0x%x",
		      __entry->id, kdapl_show_op(__entry->op), __entry->slot,
		      __entry->segments, __entry->length, __entry->flags)
);

/* A post that was refused; there is no event for a handle that is not valid */
TRACE_EVENT(kdapl_post_reject,
	    TP_PROTO(u32 id, u8 op, u32 ret),

	    TP_ARGS(id, op, ret),

	    TP_STRUCT__entry(__field(u32, id)
			     __field(u32, ret)
			     __field(u8, op)),

	    TP_fast_assign(__entry->id = id;
			   __entry->ret = ret;
			   __entry->op = op;),

	    TP_printk("id=%u op=%s ret=0x%08x",
		      __entry->id, kdapl_show_op(__entry->op), __entry->ret)
);

TRACE_EVENT(kdapl_complete,
	    TP_PROTO(u32 ep, u8 op, u32 slot, u32 length),

	    TP_ARGS(ep, op, slot, length),

	    TP_STRUCT__entry(__field(u32, ep)
			     __field(u32, slot)
			     __field(u32, length)
			     __field(u8, op)),

	    TP_fast_assign(__entry->ep = ep;
			   __entry->slot = slot;
			   __entry->length = length;
			   __entry->op = op;),

	    TP_printk("ep=%u op=%s slot=%u length=%u",
		      __entry->ep, kdapl_show_op(__entry->op), __entry->slot,
		      __entry->length)
);

TRACE_EVENT(kdapl_complete_flush,
	    TP_PROTO(u32 ep, u8 op, u32 slot),

	    TP_ARGS(ep, op, slot),

	    TP_STRUCT__entry(__field(u32, ep)
			     __field(u32, slot)
			     __field(u8, op)),

	    TP_fast_assign(__entry->ep = ep;
			   __entry->slot = slot;
			   __entry->op = op;),

	    TP_printk("ep=%u op=%s slot=%u",
		      __entry->ep, kdapl_show_op(__entry->op), __entry->slot)
);

/* @wc_status: enum ib_wc_status; @vendor: error code of the vendor */
TRACE_EVENT(kdapl_complete_error,
	    TP_PROTO(u32 ep, u8 op, u32 slot, u32 wc_status, u32 vendor),

	    TP_ARGS(ep, op, slot, wc_status, vendor),

	    TP_STRUCT__entry(__field(u32, ep)
			     __field(u32, slot)
			     __field(u32, wc_status)
			     __field(u32, vendor)
			     __field(u8, op)),

	    TP_fast_assign(__entry->ep = ep;
			   __entry->slot = slot;
			   __entry->wc_status = wc_status;
			   __entry->vendor = vendor;
			   __entry->op = op;),

	    TP_printk("ep=%u op=%s slot=%u status=%s (%u) vendor=0x%x",
		      __entry->ep, kdapl_show_op(__entry->op), __entry->slot,
		      rdma_show_wc_status(__entry->wc_status), __entry->wc_status,
		      __entry->vendor)
);

TRACE_EVENT(kdapl_ep_state,
	    TP_PROTO(u32 ep, u8 from, u8 to),

	    TP_ARGS(ep, from, to),

	    TP_STRUCT__entry(__field(u32, ep)
			     __field(u8, from)
			     __field(u8, to)),

	    TP_fast_assign(__entry->ep = ep;
			   __entry->from = from;
			   __entry->to = to;),

	    TP_printk("ep=%u %s -> %s", __entry->ep,
		      kdapl_show_ep_state(__entry->from),
		      kdapl_show_ep_state(__entry->to))
);

/* @id: the EP, or the PSP for a request; @event: enum rdma_cm_event_type */
TRACE_EVENT(kdapl_cm_event,
	    TP_PROTO(u32 id, int event, int status),

	    TP_ARGS(id, event, status),

	    TP_STRUCT__entry(__field(u32, id)
			     __field(int, event)
			     __field(int, status)),

	    TP_fast_assign(__entry->id = id;
			   __entry->event = event;
			   __entry->status = status;),

	    TP_printk("id=%u event=%s (%d) status=%d", __entry->id,
		      rdma_show_cm_event(__entry->event), __entry->event,
		      __entry->status)
);

/* An upcall begins; event_number is 0 for one without an event (NOTIFY) */
TRACE_EVENT(kdapl_upcall,
	    TP_PROTO(u32 evd, u32 event_number, bool more),

	    TP_ARGS(evd, event_number, more),

	    TP_STRUCT__entry(__field(u32, evd)
			     __field(u32, event_number)
			     __field(bool, more)),

	    TP_fast_assign(__entry->evd = evd;
			   __entry->event_number = event_number;
			   __entry->more = more;),

	    TP_printk("evd=%u event=%s (0x%05x) more=%d", __entry->evd,
		      kdapl_show_event(__entry->event_number),
		      __entry->event_number, __entry->more)
);

/* A registration and its result; @lmr is 0 if it has failed */
TRACE_EVENT(kdapl_lmr,
	    TP_PROTO(u32 lmr, u32 pz, u32 context, u64 length, u32 privileges,
		     int error),

	    TP_ARGS(lmr, pz, context, length, privileges, error),

	    TP_STRUCT__entry(__field(u32, lmr)
			     __field(u32, pz)
			     __field(u64, length)
			     __field(u32, context)
			     __field(u32, privileges)
			     __field(int, error)),

	    TP_fast_assign(__entry->lmr = lmr;
			   __entry->pz = pz;
			   __entry->length = length;
			   __entry->context = context;
			   __entry->privileges = privileges;
			   __entry->error = error;),

	    TP_printk("lmr=%u pz=%u context=0x%08x length=%llu privileges=%s error=0x%x",
		      __entry->lmr, __entry->pz, __entry->context, __entry->length,
		      __print_flags(__entry->privileges, "|",
				    { DAT_MEM_PRIV_LOCAL_READ_FLAG, "LR" },
				    { DAT_MEM_PRIV_REMOTE_READ_FLAG, "RR" },
				    { DAT_MEM_PRIV_LOCAL_WRITE_FLAG, "LW" },
				    { DAT_MEM_PRIV_REMOTE_WRITE_FLAG, "RW" }),
		      __entry->error)
);

#endif /* _KDAPL_TRACE_H_ */

/* The Makefile has -I$(src), which finds this file in and out of tree */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH base
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace

#include <trace/define_trace.h>
