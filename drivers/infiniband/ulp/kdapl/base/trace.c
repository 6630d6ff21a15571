// SPDX-License-Identifier: GPL-2.0
/*
 * The one place where the tracepoints of trace.h get their code and data.
 * Nothing calls into this file.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
