// SPDX-License-Identifier: GPL-2.0
/*
 * "kdapl-loop perf": measure kDAPL and plain verbs with kdapl_perf.ko, in this kernel or between
 * two hosts. The exit status is 0 if everything was measured and no byte was wrong.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "perf.h"

#define LARGEST		1048576ul
#define MOST_SIZES	24
#define ALL_SIZES	"1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576"

static const char help[] =
"Usage: kdapl-loop perf [options]            both ends in this kernel\n"
"       kdapl-loop perf --server [options]   serve one client\n"
"       kdapl-loop perf [options] ADDRESS    measure with the server at this address\n"
"\n"
"Measures latency, bandwidth and message rate of kDAPL, and of plain verbs in\n"
"between, and prints the ratio. Needs root, debugfs and the module kdapl_perf.\n"
"\n"
"  -d, --device NAME     interface adapter (rxe0, rxe0/1, or a net device);\n"
"                        default: the first one that kDAPL lists\n"
"  -s, --size LIST       message sizes in bytes, from 1 to 1048576 (default 64)\n"
"  -a, --all             all powers of two from 1 to 1048576\n"
"  -n, --iters N         messages of each EP (default 1000)\n"
"  -D, --duration N      instead: measure each size for N seconds\n"
"  -q, --qp N            EPs for bandwidth, 1 to 64 (default 1)\n"
"  -t, --tx-depth N      requests of each EP that are outstanding for bandwidth,\n"
"                        1 to 128 (default 16)\n"
"  -p, --port N          port of the server; verbs use the next one (default 18700)\n"
"      --op LIST         only these operations: send, write, read\n"
"      --test LIST       only these tests: lat, bw\n"
"      --histogram       print the histogram of each latency\n"
"      --server          serve one client\n"
"      --last            print the results of the last run again\n"
"      --json            print the results as JSON\n"
"      --help            print this text\n"
"\n"
"Exit status: 0 everything was measured and no byte was wrong, 1 not so,\n"
"2 usage error, 3 cannot run (not root, no debugfs, module or device).\n";

enum { OPT_OP = 256, OPT_TEST, OPT_HISTOGRAM, OPT_SERVER, OPT_LAST, OPT_JSON, OPT_HELP };

static const struct option long_options[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "size", required_argument, NULL, 's' },
	{ "all", no_argument, NULL, 'a' },
	{ "iters", required_argument, NULL, 'n' },
	{ "duration", required_argument, NULL, 'D' },
	{ "qp", required_argument, NULL, 'q' },
	{ "tx-depth", required_argument, NULL, 't' },
	{ "port", required_argument, NULL, 'p' },
	{ "op", required_argument, NULL, OPT_OP },
	{ "test", required_argument, NULL, OPT_TEST },
	{ "histogram", no_argument, NULL, OPT_HISTOGRAM },
	{ "server", no_argument, NULL, OPT_SERVER },
	{ "last", no_argument, NULL, OPT_LAST },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 }
};

static const char * const ops[] = { "send", "write", "read", NULL };
static const char * const tests[] = { "lat", "bw", NULL };

static void check_names(const char *option, const char *list, const char * const *names)
{
	char *copy = strdup(list), *rest = copy, *item;
	const char * const *n;

	if (!copy)
		die(EXIT_ENVIRONMENT, "out of memory");
	while ((item = strsep(&rest, ","))) {
		for (n = names; *n && strcmp(*n, item); n++)
			;
		if (!*n)
			die(EXIT_USAGE, "%s: \"%s\" is unknown: see \"kdapl-loop perf --help\"",
			    option, item);
	}
	free(copy);
}

static void check_sizes(const char *list)
{
	char *copy = strdup(list), *rest = copy, *item;
	unsigned int n = 0;

	if (!copy)
		die(EXIT_ENVIRONMENT, "out of memory");
	while ((item = strsep(&rest, ","))) {
		parse_number("--size", item, 1, LARGEST);
		if (++n > MOST_SIZES)
			die(EXIT_USAGE, "--size: at most %u sizes are allowed", MOST_SIZES);
	}
	free(copy);
}

/* Add a number to the command */
static unsigned long long take_number(struct perf_options *o, const char *option, const char *key,
				      unsigned long long max)
{
	unsigned long long n = parse_number(option, optarg, 1, max);
	char text[24];

	snprintf(text, sizeof(text), "%llu", n);
	append(o->line, sizeof(o->line), key, text);
	return n;
}

static void take_duration(struct perf_options *o)
{
	char text[24];

	o->duration = parse_number("--duration", optarg, 1, 3600);
	snprintf(text, sizeof(text), "%lu", o->duration * 1000);
	append(o->line, sizeof(o->line), "ms", text);
}

static void take_list(struct perf_options *o, const char *option, const char *key,
		      const char * const *names)
{
	check_names(option, optarg, names);
	append(o->line, sizeof(o->line), key, optarg);
}

static void take_option(struct perf_options *o, int opt, const char *arg)
{
	switch (opt) {
	case 'd':
		check_word("--device", optarg, 64);
		append(o->line, sizeof(o->line), "device", optarg);
		break;
	case 's':
		check_sizes(optarg);
		append(o->line, sizeof(o->line), "sizes", optarg);
		break;
	case 'a':
		append(o->line, sizeof(o->line), "sizes", ALL_SIZES);
		break;
	case 'n':
		o->iters = take_number(o, "--iters", "count", 1000000);
		break;
	case 'D':
		take_duration(o);
		break;
	case 'q':
		take_number(o, "--qp", "eps", 64);
		break;
	case 't':
		take_number(o, "--tx-depth", "depth", 128);
		break;
	case 'p':
		take_number(o, "--port", "port", 65534);
		break;
	case OPT_OP:
		take_list(o, "--op", "ops", ops);
		break;
	case OPT_TEST:
		take_list(o, "--test", "tests", tests);
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
	case OPT_JSON:
		o->json = true;
		break;
	case OPT_HELP:
		fputs(help, stdout);
		exit(EXIT_PASSED);
	default:
		die(EXIT_USAGE,
		    "\"%s\" is not an option, or its value is missing: see \"kdapl-loop perf --help\"",
		    arg);
	}
}

static void parse(struct perf_options *o, int argc, char **argv)
{
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "d:s:an:D:q:t:p:", long_options, NULL)) != -1)
		take_option(o, opt, argv[optind - 1]);
	if (optind < argc) {
		o->address = argv[optind++];
		check_word("ADDRESS", o->address, 64);
		append(o->line, sizeof(o->line), "address", o->address);
	}
	if (optind < argc)
		die(EXIT_USAGE, "\"%s\" is not an option: see \"kdapl-loop perf --help\"",
		    argv[optind]);
	if (o->server && o->address)
		die(EXIT_USAGE, "--server: a server takes no address, but -d to choose its device");
	if (o->iters && o->duration)
		die(EXIT_USAGE, "--iters and --duration exclude each other");
	if (o->last && (o->line[0] || o->server))
		die(EXIT_USAGE, "--last: expected only --json or --histogram with it");
}

static void begin_run(const struct perf_options *o)
{
	char command[1100];
	int err;

	snprintf(command, sizeof(command), "%s %s", o->server ? "server" : "client", o->line);
	err = control_write("command", command);
	switch (err) {
	case 0:
		return;
	case EBUSY:
		die(EXIT_ENVIRONMENT, "another measurement or server is running: wait for its end");
	case EINVAL:
		die(EXIT_USAGE,
		    "the module rejects \"%s\": load the kdapl_perf.ko that was built with this tool",
		    command);
	default:
		die(EXIT_ENVIRONMENT, "the run cannot begin: %s", strerror(err));
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
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
	if (st->error[0] && !rows.n && !o->json)
		die(EXIT_ENVIRONMENT, "cannot measure: %s", st->error);
	if (o->json)
		perf_json(o, &rows, st, seconds);
	else
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

	parse(&o, argc, argv);
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
