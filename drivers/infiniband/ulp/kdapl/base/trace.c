// SPDX-License-Identifier: GPL-2.0
/*
 * Defines the code and data of the tracepoints in trace.h. Nothing calls into this file.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
