/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations of "kdapl-loop perf": perf.c parses its command line and controls a run of
 * kdapl_perf.ko, perf_read.c reads the rows that the module has measured, perf_show.c prints them.
 */
#ifndef KDAPL_PERF_TOOL_H
#define KDAPL_PERF_TOOL_H

#include "loop.h"

#define PERF_BUCKETS	160

/* Times from @from on and below @to, in ns */
struct perf_bucket {
	unsigned long long from, to, count;
};

/* A measurement of one side, from the module's file "results". Times in ns */
struct perf_row {
	char test[8];			/* lat, bw */
	char op[8];			/* send, write, read */
	char side[8];			/* kdapl, verbs */
	unsigned long size, eps, depth;
	unsigned long long messages, bad;
	unsigned long long min, max, average, deviation, p50, p99, p999;	/* lat */
	unsigned long long ns, peak_ns, peak_messages;				/* bw */
	struct perf_bucket bucket[PERF_BUCKETS];
	size_t buckets;
};

/* Rows come in pairs: kdapl, then verbs */
struct perf_rows {
	struct perf_row *row;
	size_t n;
};

/* The module's file "status" of a client or a server */
struct perf_status {
	char state[16];
	char device[64];
	char test[8], op[8];
	char error[192];
	unsigned int rows, planned, round, listening;
	unsigned long size;
};

/* Values of the options */
struct perf_options {
	bool server, last, histogram, iters;
	const char *address;		/* of the server; NULL: this kernel */
	unsigned long duration;		/* in s; 0: a number of messages */
	char line[1000];		/* the command for the module */
};

void perf_status(const char *who, struct perf_status *st);
void perf_rows(struct perf_rows *rows);
void perf_rows_free(struct perf_rows *rows);
double perf_ratio(const struct perf_row *kdapl, const struct perf_row *verbs);
double perf_bandwidth(const struct perf_row *r);
double perf_rate(const struct perf_row *r);

void perf_table(const struct perf_options *o, const struct perf_rows *rows,
		const struct perf_status *st, double seconds);

#endif
