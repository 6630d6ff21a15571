// SPDX-License-Identifier: GPL-2.0
/*
 * Access to the debugfs files of kdapl_loop.ko. On an error the tool exits with one
 * line that describes it and how to correct it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "loop.h"

#define DEBUGFS		"/sys/kernel/debug"
#define DEBUGFS_TYPE	0x64626720
#define DIR		DEBUGFS "/kdapl_loop"

/* Check that a run can be started; exits if not */
void control_check(void)
{
	struct statfs fs;

	if (geteuid() != 0)
		die(EXIT_ENVIRONMENT, "expected to run as root: use \"sudo kdapl-loop\"");
	if (statfs(DEBUGFS, &fs) || fs.f_type != DEBUGFS_TYPE)
		die(EXIT_ENVIRONMENT,
		    "debugfs is not mounted: run \"mount -t debugfs none " DEBUGFS "\"");
	if (access(DIR "/run", F_OK))
		die(EXIT_ENVIRONMENT,
		    "the module kdapl_loop is not loaded: run \"modprobe kdapl_loop\", or insmod kdapl.ko and kdapl_loop.ko");
}

static int write_file(const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd, err = 0;

	snprintf(path, sizeof(path), DIR "/%s", name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* Start a run; exits if the module refuses it */
void control_run(const char *line)
{
	int err = write_file("run", line);

	switch (err) {
	case 0:
		return;
	case EBUSY:
		die(EXIT_ENVIRONMENT,
		    "another run is in progress: wait for its end, or stop it with \"kdapl-loop --abort\"");
	case ENOENT:
		die(EXIT_USAGE, "no case matches these options: see \"kdapl-loop --list\"");
	case EINVAL:
		die(EXIT_USAGE,
		    "the module rejects \"%s\": load the kdapl_loop.ko that was built with this tool",
		    line);
	default:
		die(EXIT_ENVIRONMENT, "cannot write to " DIR "/run: %s", strerror(err));
	}
}

void control_abort(void)
{
	int err = write_file("abort", "1\n");

	if (err)
		die(EXIT_ENVIRONMENT, "cannot write to " DIR "/abort: %s", strerror(err));
}

/* Returns the whole text of a file, which may grow, with a terminating 0 */
static char *read_file(const char *name)
{
	size_t size = 1 << 16, at = 0;
	char *text = malloc(size);
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DIR "/%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		die(EXIT_ENVIRONMENT, "cannot open %s: %s: was the module kdapl_loop unloaded?",
		    path, strerror(errno));
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
static void word(const char *line, const char *key, char *out, size_t len)
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

static unsigned long long number(const char *line, const char *key)
{
	char text[32];

	word(line, key, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

/* Read the progress of the run */
void control_status(struct status *st)
{
	char *text = read_file("status");
	char *error = strstr(text, "\nerror ");

	memset(st, 0, sizeof(*st));
	if (error) {
		*error = 0;
		error += strlen("\nerror ");
		error[strcspn(error, "\n")] = 0;
		snprintf(st->error, sizeof(st->error), "%s", error);
	}
	word(text, "state", st->state, sizeof(st->state));
	word(text, "name", st->name, sizeof(st->name));
	st->run = number(text, "run");
	st->cases = number(text, "cases");
	st->finished = number(text, "finished");
	st->failed = number(text, "failed");
	st->aborted = number(text, "aborted");
	st->done = number(text, "done");
	st->count = number(text, "count");
	free(text);
}

static void parse_case(const char *line, struct result *r)
{
	word(line, "name", r->name, sizeof(r->name));
	word(line, "op", r->op, sizeof(r->op));
	word(line, "modes", r->modes, sizeof(r->modes));
	word(line, "result", r->verdict, sizeof(r->verdict));
	r->size = number(line, "size");
	r->segs = number(line, "segs");
	r->count = number(line, "count");
	r->depth = number(line, "depth");
	r->messages = number(line, "messages");
	r->bytes = number(line, "bytes");
	r->posts = number(line, "posts");
	r->completions = number(line, "completions");
	r->silent = number(line, "silent");
	r->flushed = number(line, "flushed");
	r->upcalls = number(line, "upcalls");
	r->dequeued = number(line, "dequeued");
	r->upcall_posts = number(line, "upcall_posts");
	r->peak = number(line, "peak");
	r->full = number(line, "full");
	r->ms = number(line, "ms");
	r->fails = number(line, "fails");
}

static void *grow(void *p, size_t n, size_t size)
{
	p = realloc(p, n * size);
	if (!p)
		die(EXIT_ENVIRONMENT, "out of memory");
	return p;
}

/* Read all cases of the current or the last run */
void control_results(struct results *res)
{
	char *text = read_file("results");
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
