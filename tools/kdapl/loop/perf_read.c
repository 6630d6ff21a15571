// SPDX-License-Identifier: GPL-2.0
/*
 * The state and the results of kdapl_perf.ko, and what is calculated from a row.
 */
#include <stdio.h>
#include <string.h>

#include "perf.h"

/* Read the state of the "client" or the "server" */
void perf_status(const char *who, struct perf_status *st)
{
	char *text = control_read("status"), *rest = text, *line;
	size_t len = strlen(who);

	memset(st, 0, sizeof(*st));
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, who, len))
			continue;
		if (!strncmp(line + len, "-error ", 7)) {
			snprintf(st->error, sizeof(st->error), "%s", line + len + 7);
		} else if (line[len] == ' ') {
			control_word(line, "state", st->state, sizeof(st->state));
			control_word(line, "device", st->device, sizeof(st->device));
			control_word(line, "test", st->test, sizeof(st->test));
			control_word(line, "op", st->op, sizeof(st->op));
			st->size = control_number(line, "size");
			st->rows = control_number(line, "rows");
			st->planned = control_number(line, "planned");
			st->round = control_number(line, "round");
			st->listening = control_number(line, "listening");
		}
	}
	free(text);
}

/* The buckets that are not empty: FROM-TO:COUNT,... */
static void read_histogram(const char *line, struct perf_row *r)
{
	const char *p = strstr(line, " histogram=");
	struct perf_bucket b;
	int used;

	if (!p)
		return;
	p += strlen(" histogram=");
	while (r->buckets < PERF_BUCKETS &&
	       sscanf(p, "%llu-%llu:%llu%n", &b.from, &b.to, &b.count, &used) == 3) {
		r->bucket[r->buckets++] = b;
		p += used;
		p += *p == ',';
	}
}

static void read_row(const char *line, struct perf_row *r)
{
	memset(r, 0, sizeof(*r));
	control_word(line, "test", r->test, sizeof(r->test));
	control_word(line, "op", r->op, sizeof(r->op));
	control_word(line, "side", r->side, sizeof(r->side));
	r->size = control_number(line, "size");
	r->eps = control_number(line, "eps");
	r->depth = control_number(line, "depth");
	r->messages = control_number(line, "messages");
	r->bad = control_number(line, "bad");
	r->min = control_number(line, "min");
	r->max = control_number(line, "max");
	r->average = control_number(line, "average");
	r->deviation = control_number(line, "deviation");
	r->p50 = control_number(line, "p50");
	r->p99 = control_number(line, "p99");
	r->p999 = control_number(line, "p999");
	r->ns = control_number(line, "ns");
	r->peak_ns = control_number(line, "peak_ns");
	r->peak_messages = control_number(line, "peak_messages");
	read_histogram(line, r);
}

/* Read all rows of the current or the last run */
void perf_rows(struct perf_rows *rows)
{
	char *text = control_read("results"), *rest = text, *line;

	memset(rows, 0, sizeof(*rows));
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "test=", 5)) {
			rows->row = grow(rows->row, rows->n + 1, sizeof(*rows->row));
			read_row(line, &rows->row[rows->n++]);
		}
	free(text);
}

void perf_rows_free(struct perf_rows *rows)
{
	free(rows->row);
	memset(rows, 0, sizeof(*rows));
}

/* In MiB/s */
double perf_bandwidth(const struct perf_row *r)
{
	return r->ns ? (double)r->messages * r->size / 1048576 / (r->ns / 1e9) : 0;
}

/* In millions of messages per second */
double perf_rate(const struct perf_row *r)
{
	return r->ns ? r->messages * 1e3 / r->ns : 0;
}

/* kDAPL divided by verbs: of median latencies, or of bandwidths */
double perf_ratio(const struct perf_row *kdapl, const struct perf_row *verbs)
{
	if (!strcmp(kdapl->test, "lat"))
		return verbs->p50 ? (double)kdapl->p50 / verbs->p50 : 0;
	return perf_bandwidth(verbs) ? perf_bandwidth(kdapl) / perf_bandwidth(verbs) : 0;
}
