// SPDX-License-Identifier: GPL-2.0
/*
 * "kdapl-loop perf": measure kDAPL and plain verbs with kdapl_perf.ko, in this kernel or between
 * two hosts. The exit status is 0 if everything was measured and no byte was wrong.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "perf.h"

#define LARGEST		1048576ul
#define MOST_SIZES	24
#define ALL_SIZES	"1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576"

static const char * const ops[] = { "send", "write", "read", NULL };
static const char * const tests[] = { "lat", "bw", NULL };

enum { OPT_OP = 256, OPT_TEST, OPT_HISTOGRAM, OPT_SERVER, OPT_LAST };

static const struct argp_option option_table[] = {
	{ "device", 'd', "NAME", 0,
	  "Interface adapter (rxe0, rxe0/1, or a net device); default: the first in kDAPL's list",
	  0 },
	{ "size", 's', "LIST", 0, "Message sizes in bytes, from 1 to 1048576 (default 64)", 0 },
	{ "all", 'a', NULL, 0, "All powers of two from 1 to 1048576", 0 },
	{ "iters", 'n', "N", 0, "Messages of each EP (default 1000)", 0 },
	{ "duration", 'D', "N", 0, "Instead: measure each size for N seconds", 0 },
	{ "qp", 'q', "N", 0, "EPs for bandwidth, 1 to 64 (default 1)", 0 },
	{ "tx-depth", 't', "N", 0,
	  "Requests of each EP that are outstanding for bandwidth, 1 to 128 (default 16)", 0 },
	{ "port", 'p', "N", 0, "Port of the server; verbs use the next one (default 18700)", 0 },
	{ "op", OPT_OP, "LIST", 0, "Only these operations: send, write, read", 0 },
	{ "test", OPT_TEST, "LIST", 0, "Only these tests: lat, bw", 0 },
	{ "histogram", OPT_HISTOGRAM, NULL, 0, "Print the histogram of each latency", 0 },
	{ "server", OPT_SERVER, NULL, 0, "Serve one client", 0 },
	{ "last", OPT_LAST, NULL, 0, "Print the results of the last run again", 0 },
	{ 0 }
};

static const struct value values[] = {
	{ 'd', "device", "device", .most = 63 },
	{ 's', "size", "sizes", .min = 1, .max = LARGEST, .most = MOST_SIZES },
	{ 'n', "iters", "count", .min = 1, .max = 1000000, .most = 1 },
	{ 'D', "duration", NULL, .min = 1, .max = 3600, .most = 1 },
	{ 'q', "qp", "eps", .min = 1, .max = 64, .most = 1 },
	{ 't', "tx-depth", "depth", .min = 1, .max = 128, .most = 1 },
	{ 'p', "port", "port", .min = 1, .max = 65534, .most = 1 },
	{ OPT_OP, "op", "ops", .names = ops },
	{ OPT_TEST, "test", "tests", .names = tests },
	{ 0 }
};

static void take_duration(struct perf_options *o, const char *arg)
{
	char text[24];

	o->duration = strtoul(arg, NULL, 0);
	snprintf(text, sizeof(text), "%lu", o->duration * 1000);
	append(o->line, sizeof(o->line), "ms", text);
}

static void check_options(const struct perf_options *o, const struct argp_state *state)
{
	if (o->server && o->address)
		argp_error(state, "a server takes no address, but -d to choose its device");
	if (o->iters && o->duration)
		argp_error(state, "--iters and --duration exclude each other");
	if (o->last && (o->line[0] || o->server))
		argp_error(state, "--last: expected only --histogram with it");
}

static error_t take_option(int opt, char *arg, struct argp_state *state)
{
	struct perf_options *o = state->input;
	bool taken = take_value(values, opt, arg, state, o->line, sizeof(o->line));

	switch (opt) {
	case 'a':
		append(o->line, sizeof(o->line), "sizes", ALL_SIZES);
		break;
	case 'n':
		o->iters = true;
		break;
	case 'D':
		take_duration(o, arg);
		break;
	case OPT_HISTOGRAM:
		o->histogram = true;
		break;
	case OPT_SERVER:
		o->server = true;
		break;
	case OPT_LAST:
		o->last = true;
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num || strlen(arg) > 63 || strpbrk(arg, " \t\n"))
			argp_error(state, "\"%s\" is not an option or an address", arg);
		o->address = arg;
		append(o->line, sizeof(o->line), "address", arg);
		break;
	case ARGP_KEY_END:
		check_options(o, state);
		break;
	default:
		return taken ? 0 : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp parser = {
	.options = option_table,
	.parser = take_option,
	.args_doc = "[SERVER]",
	.doc = "Measures latency, bandwidth and message rate of kDAPL, and of plain verbs in\n"
	       "between, and prints the ratio: in this kernel, or with the server at this address.\n"
	       "Needs root, debugfs and the module kdapl_perf.\n"
	       "\vExit status: 0 everything was measured and no byte was wrong, 1 not so,\n"
	       "2 usage error, 3 cannot run (not root, no debugfs, module or device).",
};

static void begin_run(const struct perf_options *o)
{
	char command[1100];

	snprintf(command, sizeof(command), "%s %s", o->server ? "server" : "client", o->line);
	control_begin(command,
		      "another measurement or server is running: wait for its end");
}

static void progress(const struct perf_options *o, const struct perf_status *st, double seconds)
{
	if (!show_progress_begin(seconds))
		return;
	if (o->server)
		fprintf(stderr, "%.0f s: %s", seconds,
			st->listening ? "waiting for a client, or serving it" : "starting");
	else if (st->test[0])
		fprintf(stderr, "%u of %u measurements, %.0f s: %s %s, %lu bytes, round %u",
			st->rows, st->planned, seconds, st->op,
			strcmp(st->test, "lat") ? "bandwidth" : "latency", st->size, st->round + 1);
	else
		fprintf(stderr, "%.0f s: connecting", seconds);
	show_progress_text_end();
}

/* Follow the run until it ends. The signals are blocked, and sigtimedwait() takes them */
static void watch(const struct perf_options *o, const sigset_t *signals, struct perf_status *st)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	double begin = now();

	for (;;) {
		perf_status(o->server ? "server" : "client", st);
		if (strcmp(st->state, "running"))
			break;
		progress(o, st, now() - begin);
		if (sigtimedwait(signals, NULL, &pause) > 0)
			control_write("command", "stop");
	}
	show_progress_end();
}

static int show(const struct perf_options *o, const struct perf_status *st, double seconds)
{
	struct perf_rows rows;
	int status = EXIT_PASSED;
	size_t i;

	perf_rows(&rows);
	if (!strcmp(st->state, "idle"))
		die(EXIT_ENVIRONMENT, "nothing was measured since the module was loaded");
	if (st->error[0] && !rows.n)
		die(EXIT_ENVIRONMENT, "cannot measure: %s", st->error);
	perf_table(o, &rows, st, seconds);
	for (i = 0; i < rows.n; i++)
		if (rows.row[i].bad)
			status = EXIT_FAILED;
	if (st->error[0] || rows.n != st->planned)
		status = EXIT_FAILED;
	perf_rows_free(&rows);
	return status;
}

/* "kdapl-loop perf"; returns the exit status */
int perf_main(int argc, char **argv)
{
	struct perf_options o = { 0 };
	struct perf_status st;
	sigset_t signals;
	double begin;

	argv[0] = "kdapl-loop perf";
	argp_parse(&parser, argc, argv, 0, NULL, &o);
	control_check("kdapl_perf", "command");
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	begin = now();
	if (!o.last)
		begin_run(&o);
	watch(&o, &signals, &st);
	if (!o.server)
		return show(&o, &st, now() - begin);
	if (st.error[0])
		die(EXIT_FAILED, "the server has ended: %s", st.error);
	return EXIT_PASSED;
}
