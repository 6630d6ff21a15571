// SPDX-License-Identifier: GPL-2.0
/*
 * Defines the code and data of the tracepoints in trace.h, and exports those of the client and of
 * the server. Nothing calls into this file.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"

EXPORT_TRACEPOINT_SYMBOL_GPL(datblk_queued);
EXPORT_TRACEPOINT_SYMBOL_GPL(datblk_command);
EXPORT_TRACEPOINT_SYMBOL_GPL(datblk_answer);
EXPORT_TRACEPOINT_SYMBOL_GPL(datblk_register);
EXPORT_TRACEPOINT_SYMBOL_GPL(datblk_session);
EXPORT_TRACEPOINT_SYMBOL_GPL(datblk_srv_command);
EXPORT_TRACEPOINT_SYMBOL_GPL(datblk_srv_io);
EXPORT_TRACEPOINT_SYMBOL_GPL(datblk_srv_io_done);
EXPORT_TRACEPOINT_SYMBOL_GPL(datblk_srv_answer);
