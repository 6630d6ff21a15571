// SPDX-License-Identifier: GPL-2.0
/*
 * Output of kdapl-loop: a table or TAP on stdout, and progress on stderr.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

bool is_passed(const struct result *r)
{
	return !strcmp(r->verdict, "pass");
}

bool is_skipped(const struct result *r)
{
	return !strcmp(r->verdict, "skip");
}

static bool is_finished(const struct result *r)
{
	return strcmp(r->verdict, "planned") && strcmp(r->verdict, "running");
}

/* How events were delivered: by upcall, by dequeue or both */
static const char *how(const struct result *r)
{
	if (r->upcalls && r->dequeued)
		return "both";
	if (r->upcalls)
		return "upcall";
	return r->dequeued ? "dequeue" : "-";
}

static bool is_failed(const struct result *r)
{
	return !strcmp(r->verdict, "fail");
}

/* @left: cases that an abort prevented */
struct counts {
	size_t passed, failed, skipped, left;
};

static struct counts count_results(const struct results *res)
{
	struct counts n = { 0 };
	size_t i;

	for (i = 0; i < res->n; i++) {
		n.passed += is_passed(&res->result[i]);
		n.failed += is_failed(&res->result[i]);
		n.skipped += is_skipped(&res->result[i]);
	}
	n.left = res->n - n.passed - n.failed - n.skipped;
	return n;
}

static void segments(const struct result *r, char *out, size_t len)
{
	if (r->segs)
		snprintf(out, len, "%lu", r->segs);
	else
		snprintf(out, len, "max");
}

/* Print the table */
void show_table(const struct results *res, const struct status *st, double seconds)
{
	unsigned long long messages = 0, bytes = 0;
	struct counts n = count_results(res);
	size_t i, k;
	char segs[24];

	printf("%-28s %8s %5s %9s %14s %9s %11s %-8s %7s  %s\n", "operation/case", "size",
	       "segs", "messages", "bytes verified", "posts", "completions", "events",
	       "seconds", "result");
	for (i = 0; i < res->n; i++) {
		const struct result *r = &res->result[i];

		segments(r, segs, sizeof(segs));
		printf("%-28s %8lu %5s %9llu %14llu %9llu %11llu %-8s %7.1f  %s\n", r->name,
		       r->size, segs, r->messages, r->bytes, r->posts,
		       r->completions + r->silent, how(r), r->ms / 1000.0, r->verdict);
		for (k = 0; k < r->notes; k++)
			printf("    %s\n", r->note[k]);
		messages += r->messages;
		bytes += r->bytes;
	}
	printf("\n%zu passed, %zu failed, %zu skipped; ", n.passed, n.failed, n.skipped);
	printf("%llu messages and %llu bytes verified in %.1f s\n", messages, bytes, seconds);
	if (st->aborted)
		printf("The run was stopped; %zu cases have not finished\n", n.left);
	if (st->error[0])
		printf("The run ended with an error: %s\n", st->error);
}

/* Print the names and parameters of all cases */
void show_list(const struct results *res)
{
	char segs[24];
	size_t i;

	printf("%-28s %-11s %8s %5s %9s\n", "case", "group", "size", "segs", "messages");
	for (i = 0; i < res->n; i++) {
		segments(&res->result[i], segs, sizeof(segs));
		printf("%-28s %-11s %8lu %5s %9lu\n", res->result[i].name, res->result[i].op,
		       res->result[i].size, segs, res->result[i].count);
	}
}

/*
 * Print TAP for the cases from @from on that have finished, or, with @last, for all
 * from @from on. Returns the number of the next case.
 */
size_t show_tap(const struct results *res, size_t from, bool last)
{
	unsigned long long messages = 0, posts = 0;
	size_t i, k;

	if (!from)
		printf("TAP version 13\n1..%zu\n", res->n);
	for (i = from; i < res->n; i++) {
		const struct result *r = &res->result[i];

		if (!last && !is_finished(r))
			break;
		if (!is_skipped(r))
			for (k = 0; k < r->notes; k++)
				printf("# %s\n", r->note[k]);
		if (r->clauses[0])
			printf("# clauses:%s\n", r->clauses);
		if (is_skipped(r))
			printf("ok %zu - loop %s # SKIP %s\n", i + 1, r->name,
			       r->notes ? r->note[0] : "");
		else
			printf("%s %zu - loop %s\n", is_passed(r) ? "ok" : "not ok", i + 1,
			       r->name);
	}
	for (k = 0; last && k < res->n; k++) {
		messages += res->result[k].messages;
		posts += res->result[k].posts;
	}
	if (last)
		printf("# %llu messages, %llu posts\n", messages, posts);
	fflush(stdout);
	return i;
}

static bool line_open;

/*
 * Begin a line of progress: one that is overwritten on a terminal, else a line every 10 s.
 * Returns false if none is due; else the caller prints the text and calls show_progress_text_end().
 */
bool show_progress_begin(double seconds)
{
	static double next = 5;
	bool tty = isatty(STDERR_FILENO);

	if (!tty && seconds < next)
		return false;
	next = seconds + 10;
	if (tty)
		fputc('\r', stderr);
	return true;
}

void show_progress_text_end(void)
{
	line_open = isatty(STDERR_FILENO);
	fputs(line_open ? "\033[K" : "\n", stderr);
}

void show_progress(const struct status *st, double seconds)
{
	if (!show_progress_begin(seconds))
		return;
	fprintf(stderr, "%3u of %u cases, %u failed, %.0f s: %s, %lu of %lu messages",
		st->finished, st->cases, st->failed, seconds, st->name, st->done, st->count);
	show_progress_text_end();
}

void show_progress_end(void)
{
	if (line_open)
		fputs("\r\033[K", stderr);
	line_open = false;
}
