/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations of kdapl-loop. kdapl-loop.c parses the command line and controls a
 * run, control.c accesses the module, show.c prints; perf.c and perf_show.c do the same for
 * "kdapl-loop perf". options.c checks values.
 */
#ifndef KDAPL_LOOP_TOOL_H
#define KDAPL_LOOP_TOOL_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	EXIT_PASSED = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_ENVIRONMENT = 3,
};

/* One case, from the module's file "results" */
struct result {
	char name[48];
	char op[16];
	char verdict[16];
	unsigned long size, segs, count, ms;
	unsigned long long messages, bytes, posts, completions, silent, upcalls, dequeued;
	char **note;
	size_t notes;
	char clauses[512];
};

struct results {
	struct result *result;
	size_t n;
};

/* The module's file "status" */
struct status {
	char state[16];
	char name[48];
	char error[192];
	unsigned int run, cases, finished, failed, aborted;
	unsigned long done, count;
};

/* Print a line to stderr, after the name of the tool, and exit */
#define die(status, fmt, ...) \
	do { \
		show_progress_end(); \
		fprintf(stderr, "kdapl-loop: " fmt "\n", ##__VA_ARGS__); \
		exit(status); \
	} while (0)

/* An option whose value the module takes as "key=value": a list of names or numbers, or a word */
struct value {
	int opt;
	const char *name, *key;		/* key NULL: the caller passes it */
	const char * const *names;	/* those that a list may have */
	unsigned long long min, max;	/* of the numbers of a list */
	unsigned int most;		/* values of a list, 0: any number; characters of a word */
};

bool take_value(const struct value *v, int opt, const char *arg, const struct argp_state *state,
		char *line, size_t len);
void append(char *line, size_t len, const char *key, const char *value);

double now(void);
void *grow(void *p, size_t n, size_t size);
void control_check(const char *name, const char *command);
int control_write(const char *name, const char *text);
char *control_read(const char *name);
void control_word(const char *line, const char *key, char *out, size_t len);
unsigned long long control_number(const char *line, const char *key);
void control_begin(const char *line, const char *busy);
void control_abort(void);
void control_status(struct status *st);
void control_results(struct results *res);
void results_free(struct results *res);

bool is_passed(const struct result *r);
bool is_skipped(const struct result *r);
void show_table(const struct results *res, const struct status *st, double seconds);
void show_list(const struct results *res);
size_t show_tap(const struct results *res, size_t from, bool last);
void show_progress(const struct status *st, double seconds);
bool show_progress_begin(double seconds);
void show_progress_text_end(void);
void show_progress_end(void);

int perf_main(int argc, char **argv);

#endif
