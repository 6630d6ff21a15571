// SPDX-License-Identifier: GPL-2.0
/*
 * Access to the debugfs files of a test module: of kdapl_loop.ko, and for "kdapl-loop perf" of
 * kdapl_perf.ko. On an error the tool exits with one line that describes it and how to correct it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

#define DEBUGFS		"/sys/kernel/debug"
#define DEBUGFS_TYPE	0x64626720

static const char *module = "kdapl_loop";
static const char *begin;	/* the file that starts a run */

static void make_path(char *path, size_t len, const char *name)
{
	snprintf(path, len, DEBUGFS "/%s/%s", module, name);
}

/* Check that a run can be started with the module @name, whose file @command starts it */
void control_check(const char *name, const char *command)
{
	char path[PATH_MAX];
	struct statfs fs;

	module = name;
	begin = command;
	make_path(path, sizeof(path), command);

	if (geteuid() != 0)
		die(EXIT_ENVIRONMENT, "expected to run as root: use \"sudo kdapl-loop\"");
	if (statfs(DEBUGFS, &fs) || fs.f_type != DEBUGFS_TYPE)
		die(EXIT_ENVIRONMENT,
		    "debugfs is not mounted: run \"mount -t debugfs none " DEBUGFS "\"");
	if (access(path, F_OK))
		die(EXIT_ENVIRONMENT,
		    "the module %s is not loaded: run \"modprobe %s\", or insmod kdapl.ko and %s.ko",
		    module, module, module);
}

/* Returns 0 or an errno */
int control_write(const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd, err = 0;

	make_path(path, sizeof(path), name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* Start a run; exits if the module refuses it, with @busy if another run has not ended */
void control_begin(const char *line, const char *busy)
{
	int err = control_write(begin, line);

	switch (err) {
	case 0:
		return;
	case EBUSY:
		die(EXIT_ENVIRONMENT, "%s", busy);
	case ENOENT:
		die(EXIT_USAGE, "no case matches these options: see \"kdapl-loop --list\"");
	case EINVAL:
		die(EXIT_USAGE,
		    "the module rejects \"%s\": load the %s.ko that was built with this tool",
		    line, module);
	default:
		die(EXIT_ENVIRONMENT, "cannot write to " DEBUGFS "/%s/%s: %s", module, begin,
		    strerror(err));
	}
}

void control_abort(void)
{
	int err = control_write("abort", "1\n");

	if (err)
		die(EXIT_ENVIRONMENT, "cannot write to " DEBUGFS "/%s/abort: %s", module,
		    strerror(err));
}

/* Seconds, to measure time */
double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Returns the whole text of a file, which may grow, with a terminating 0 */
char *control_read(const char *name)
{
	size_t size = 1 << 16, at = 0;
	char *text = malloc(size);
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	make_path(path, sizeof(path), name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		die(EXIT_ENVIRONMENT, "cannot open %s: %s: was the module %s unloaded?",
		    path, strerror(errno), module);
	while (text && (n = read(fd, text + at, size - at - 1)) > 0) {
		at += n;
		if (size - at < 4096)
			text = realloc(text, size *= 2);
	}
	close(fd);
	if (!text)
		die(EXIT_ENVIRONMENT, "out of memory");
	text[at] = 0;
	return text;
}

/* Copy the value of "key=" in a line to @out */
void control_word(const char *line, const char *key, char *out, size_t len)
{
	size_t n = strlen(key);
	const char *p = line;

	*out = 0;
	while ((p = strstr(p, key))) {
		if ((p == line || p[-1] == ' ') && p[n] == '=') {
			p += n + 1;
			n = strcspn(p, "\n ");
			snprintf(out, len, "%.*s", (int)n, p);
			return;
		}
		p += n;
	}
}

unsigned long long control_number(const char *line, const char *key)
{
	char text[32];

	control_word(line, key, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

/* Read the progress of the run */
void control_status(struct status *st)
{
	char *text = control_read("status");
	char *error = strstr(text, "\nerror ");

	memset(st, 0, sizeof(*st));
	if (error) {
		*error = 0;
		error += strlen("\nerror ");
		error[strcspn(error, "\n")] = 0;
		snprintf(st->error, sizeof(st->error), "%s", error);
	}
	control_word(text, "state", st->state, sizeof(st->state));
	control_word(text, "name", st->name, sizeof(st->name));
	st->run = control_number(text, "run");
	st->cases = control_number(text, "cases");
	st->finished = control_number(text, "finished");
	st->failed = control_number(text, "failed");
	st->aborted = control_number(text, "aborted");
	st->done = control_number(text, "done");
	st->count = control_number(text, "count");
	free(text);
}

static void parse_case(const char *line, struct result *r)
{
	control_word(line, "name", r->name, sizeof(r->name));
	control_word(line, "op", r->op, sizeof(r->op));
	control_word(line, "result", r->verdict, sizeof(r->verdict));
	r->size = control_number(line, "size");
	r->segs = control_number(line, "segs");
	r->count = control_number(line, "count");
	r->messages = control_number(line, "messages");
	r->bytes = control_number(line, "bytes");
	r->posts = control_number(line, "posts");
	r->completions = control_number(line, "completions");
	r->silent = control_number(line, "silent");
	r->upcalls = control_number(line, "upcalls");
	r->dequeued = control_number(line, "dequeued");
	r->ms = control_number(line, "ms");
}

/* Make room for @n elements; exits without memory */
void *grow(void *p, size_t n, size_t size)
{
	p = realloc(p, n * size);
	if (!p)
		die(EXIT_ENVIRONMENT, "out of memory");
	return p;
}

/* Read all cases of the current or the last run */
void control_results(struct results *res)
{
	char *text = control_read("results");
	char *line, *rest = text;
	struct result *r = NULL;

	memset(res, 0, sizeof(*res));
	while ((line = strsep(&rest, "\n"))) {
		if (!strncmp(line, "case ", 5)) {
			res->result = grow(res->result, res->n + 1, sizeof(*res->result));
			r = &res->result[res->n++];
			memset(r, 0, sizeof(*r));
			parse_case(line, r);
		} else if (r && !strncmp(line, "clauses ", 8)) {
			size_t at = strlen(r->clauses);

			snprintf(r->clauses + at, sizeof(r->clauses) - at, " %s", line + 8);
		} else if (r && !strncmp(line, "note ", 5)) {
			r->note = grow(r->note, r->notes + 1, sizeof(*r->note));
			r->note[r->notes] = strdup(line + 5);
			if (r->note[r->notes])
				r->notes++;
		}
	}
	free(text);
}

void results_free(struct results *res)
{
	size_t i, k;

	for (i = 0; i < res->n; i++) {
		for (k = 0; k < res->result[i].notes; k++)
			free(res->result[i].note[k]);
		free(res->result[i].note);
	}
	free(res->result);
	memset(res, 0, sizeof(*res));
}
