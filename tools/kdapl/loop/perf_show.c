// SPDX-License-Identifier: GPL-2.0
/*
 * Output of "kdapl-loop perf": tables with the columns of perftest.
 */
#include <stdio.h>
#include <string.h>

#include "perf.h"

#define BAR	50

static bool is_latency(const struct perf_row *r)
{
	return !strcmp(r->test, "lat");
}

/* A read has no message back; the time is that of the whole request */
static const char *title(const struct perf_row *r)
{
	if (!is_latency(r))
		return "bandwidth";
	return strcmp(r->op, "read") ? "latency (half round trip)" : "latency (whole read)";
}

static const char *operation(const struct perf_row *r)
{
	if (!strcmp(r->op, "send"))
		return "Send";
	return strcmp(r->op, "read") ? "RDMA write" : "RDMA read";
}

static void table_head(const struct perf_row *r)
{
	printf("\n%s %s, %lu EP%s, at most %lu outstanding\n", operation(r), title(r), r->eps,
	       r->eps == 1 ? "" : "s", r->depth);
	if (is_latency(r))
		printf("%8s %-6s %11s %12s %12s %16s %12s %14s %12s %14s %6s\n", "#bytes", "side",
		       "#iterations", "t_min[usec]", "t_max[usec]", "t_typical[usec]",
		       "t_avg[usec]", "t_stdev[usec]", "99% [usec]", "99.9% [usec]", "ratio");
	else
		printf("%8s %-6s %11s %17s %20s %15s %6s\n", "#bytes", "side", "#iterations",
		       "BW peak[MiB/sec]", "BW average[MiB/sec]", "MsgRate[Mpps]", "ratio");
}

static void table_row(const struct perf_row *r)
{
	double peak = 0;

	printf("%8lu %-6s %11llu", r->size, r->side, r->messages);
	if (is_latency(r)) {
		printf(" %12.2f %12.2f %16.2f %12.2f %14.2f %12.2f %14.2f", r->min / 1e3,
		       r->max / 1e3, r->p50 / 1e3, r->average / 1e3, r->deviation / 1e3,
		       r->p99 / 1e3, r->p999 / 1e3);
		return;
	}
	if (r->peak_ns)
		peak = (double)r->peak_messages * r->size / 1048576 / (r->peak_ns / 1e9);
	printf(" %17.2f %20.2f %15.6f", peak, perf_bandwidth(r), perf_rate(r));
}

static void table_histogram(const struct perf_row *r)
{
	unsigned long long most = 0;
	size_t i;
	int k;

	for (i = 0; i < r->buckets; i++)
		if (r->bucket[i].count > most)
			most = r->bucket[i].count;
	printf("  %s, %lu bytes, latency[usec]\n", r->side, r->size);
	for (i = 0; i < r->buckets; i++) {
		printf("  %10.2f to %10.2f %9llu ", r->bucket[i].from / 1e3, r->bucket[i].to / 1e3,
		       r->bucket[i].count);
		for (k = r->bucket[i].count * BAR / most; k > 0; k--)
			putchar('#');
		putchar('\n');
	}
}

static bool same_table(const struct perf_row *a, const struct perf_row *b)
{
	return !strcmp(a->test, b->test) && !strcmp(a->op, b->op);
}

/* Print the tables. The ratio is in the line of kDAPL */
void perf_table(const struct perf_options *o, const struct perf_rows *rows,
		const struct perf_status *st, double seconds)
{
	unsigned long long bad = 0;
	const struct perf_row *r;
	size_t i;

	printf("kDAPL and plain verbs on %s, %s%s\n", st->device,
	       o->address ? "server " : "client and server in this kernel",
	       o->address ? o->address : "");
	for (i = 0; i + 1 < rows->n; i += 2) {
		r = &rows->row[i];
		if (!i || !same_table(r - 2, r))
			table_head(r);
		table_row(r);
		printf(" %6.3f\n", perf_ratio(r, r + 1));
		table_row(r + 1);
		printf(" %6s\n", "1");
		if (o->histogram && is_latency(r)) {
			table_histogram(r);
			table_histogram(r + 1);
		}
		bad += r->bad + r[1].bad;
	}
	printf("\n%zu measurements in %.1f s, %llu wrong bytes\n", rows->n, seconds, bad);
	if (st->error[0])
		printf("The run ended with an error: %s\n", st->error);
}
