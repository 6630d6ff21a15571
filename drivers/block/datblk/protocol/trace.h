/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of system datblk: commands, answers, registrations, I/O of the server, sessions.
 *
 * Called by the client and by the server, in any context. Host, disk, queue and tag identify a
 * command until it has been answered, on both machines. The disk is the number of the login; the
 * session event also has N of datblkN.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM datblk

#if !defined(_DATBLK_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _DATBLK_TRACE_H_

#include <linux/tracepoint.h>
#include "protocol.h"

#define datblk_show_op(op)					\
	__print_symbolic(op,					\
		{ DATBLK_OP_READ,	"READ" },		\
		{ DATBLK_OP_WRITE,	"WRITE" },		\
		{ DATBLK_OP_FLUSH,	"FLUSH" },		\
		{ DATBLK_OP_DISCARD,	"DISCARD" },		\
		{ DATBLK_OP_ZEROES,	"ZEROES" },		\
		{ DATBLK_OP_PING,	"PING" },		\
		{ DATBLK_OP_LOGIN,	"LOGIN" },		\
		{ DATBLK_OP_LOGOUT,	"LOGOUT" })

#define datblk_show_status(status)				\
	__print_symbolic(status,				\
		{ DATBLK_STS_OK,	"OK" },			\
		{ DATBLK_STS_IO,	"IO" },			\
		{ DATBLK_STS_NOSPC,	"NOSPC" },		\
		{ DATBLK_STS_NOTSUPP,	"NOTSUPP" },		\
		{ DATBLK_STS_READONLY,	"READONLY" },		\
		{ DATBLK_STS_RANGE,	"RANGE" },		\
		{ DATBLK_STS_NOMEM,	"NOMEM" },		\
		{ DATBLK_STS_AGAIN,	"AGAIN" },		\
		{ DATBLK_STS_MEDIUM,	"MEDIUM" })

#define datblk_show_flags(flags)				\
	__print_flags(flags, "|",				\
		{ DATBLK_INLINE,	"INLINE" },		\
		{ DATBLK_FUA,		"FUA" },		\
		{ DATBLK_NOUNMAP,	"NOUNMAP" })

DECLARE_EVENT_CLASS(datblk_command_class,
		    TP_PROTO(u64 host, u16 disk, u16 queue, const struct datblk_command *c),

		    TP_ARGS(host, disk, queue, c),

		    TP_STRUCT__entry(__field(u64, host)
				     __field(u64, sector)
				     __field(u32, length)
				     __field(u32, key)
				     __field(u16, disk)
				     __field(u16, queue)
				     __field(u16, tag)
				     __field(u8, op)
				     __field(u8, flags)),

		    TP_fast_assign(__entry->host = host;
				   __entry->sector = c->sector;
				   __entry->length = c->length;
				   __entry->key = c->key;
				   __entry->disk = disk;
				   __entry->queue = queue;
				   __entry->tag = c->tag;
				   __entry->op = c->op;
				   __entry->flags = c->flags;),

		    TP_printk("host=%016llx disk=%u queue=%u tag=%u op=%s sector=%llu length=%u flags=%s key=0x%08x",
			      __entry->host, __entry->disk, __entry->queue, __entry->tag,
			      datblk_show_op(__entry->op), __entry->sector, __entry->length,
			      datblk_show_flags(__entry->flags), __entry->key)
);

/* Client: the command waits to be sent */
DEFINE_EVENT(datblk_command_class, datblk_queued,
	     TP_PROTO(u64 host, u16 disk, u16 queue, const struct datblk_command *c),
	     TP_ARGS(host, disk, queue, c));

/* Client: the message with the command is being posted */
DEFINE_EVENT(datblk_command_class, datblk_command,
	     TP_PROTO(u64 host, u16 disk, u16 queue, const struct datblk_command *c),
	     TP_ARGS(host, disk, queue, c));

/* Server: the command is being executed. The next event is its I/O, or its answer */
DEFINE_EVENT(datblk_command_class, datblk_srv_command,
	     TP_PROTO(u64 host, u16 disk, u16 queue, const struct datblk_command *c),
	     TP_ARGS(host, disk, queue, c));

/* Server: its I/O is given to the backing device */
DEFINE_EVENT(datblk_command_class, datblk_srv_io,
	     TP_PROTO(u64 host, u16 disk, u16 queue, const struct datblk_command *c),
	     TP_ARGS(host, disk, queue, c));

DECLARE_EVENT_CLASS(datblk_status_class,
		    TP_PROTO(u64 host, u16 disk, u16 queue, u16 tag, u8 status),

		    TP_ARGS(host, disk, queue, tag, status),

		    TP_STRUCT__entry(__field(u64, host)
				     __field(u16, disk)
				     __field(u16, queue)
				     __field(u16, tag)
				     __field(u8, status)),

		    TP_fast_assign(__entry->host = host;
				   __entry->disk = disk;
				   __entry->queue = queue;
				   __entry->tag = tag;
				   __entry->status = status;),

		    TP_printk("host=%016llx disk=%u queue=%u tag=%u status=%s",
			      __entry->host, __entry->disk, __entry->queue, __entry->tag,
			      datblk_show_status(__entry->status))
);

/* Server: the I/O has ended */
DEFINE_EVENT(datblk_status_class, datblk_srv_io_done,
	     TP_PROTO(u64 host, u16 disk, u16 queue, u16 tag, u8 status),
	     TP_ARGS(host, disk, queue, tag, status));

/* Server: the answer is being posted */
DEFINE_EVENT(datblk_status_class, datblk_srv_answer,
	     TP_PROTO(u64 host, u16 disk, u16 queue, u16 tag, u8 status),
	     TP_ARGS(host, disk, queue, tag, status));

/* Client: the answer has come */
DEFINE_EVENT(datblk_status_class, datblk_answer,
	     TP_PROTO(u64 host, u16 disk, u16 queue, u16 tag, u8 status),
	     TP_ARGS(host, disk, queue, tag, status));

/* Client: the memory of a request was registered; @result: return value of kdat_lmr_fmr_sg() */
TRACE_EVENT(datblk_register,
	    TP_PROTO(u64 host, u16 disk, u16 queue, u16 tag, u32 key, u32 result),

	    TP_ARGS(host, disk, queue, tag, key, result),

	    TP_STRUCT__entry(__field(u64, host)
			     __field(u32, key)
			     __field(u32, result)
			     __field(u16, disk)
			     __field(u16, queue)
			     __field(u16, tag)),

	    TP_fast_assign(__entry->host = host;
			   __entry->key = key;
			   __entry->result = result;
			   __entry->disk = disk;
			   __entry->queue = queue;
			   __entry->tag = tag;),

	    TP_printk("host=%016llx disk=%u queue=%u tag=%u key=0x%08x result=0x%08x",
		      __entry->host, __entry->disk, __entry->queue, __entry->tag,
		      __entry->key, __entry->result)
);

/*
 * Client: a session is live, or has ended. @name: N of datblkN; @path: that of its first queue, or
 * of a connection that has ended
 */
TRACE_EVENT(datblk_session,
	    TP_PROTO(int name, u16 disk, u32 incarnation, unsigned int path, bool live),

	    TP_ARGS(name, disk, incarnation, path, live),

	    TP_STRUCT__entry(__field(int, name)
			     __field(u32, incarnation)
			     __field(unsigned int, path)
			     __field(u16, disk)
			     __field(bool, live)),

	    TP_fast_assign(__entry->name = name;
			   __entry->incarnation = incarnation;
			   __entry->path = path;
			   __entry->disk = disk;
			   __entry->live = live;),

	    TP_printk("datblk%d disk=%u incarnation=%u path=%u live=%d",
		      __entry->name, __entry->disk, __entry->incarnation, __entry->path,
		      __entry->live)
);

#endif /* _DATBLK_TRACE_H_ */

/* The Makefile has -I$(src), which finds this file in and out of tree */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH protocol
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace

#include <trace/define_trace.h>
