// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl-loop: run the kDAPL loopback test (kdapl_loop.ko) and print the results.
 * The exit status is the result of the run.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loop/loop.h"

#define LARGEST		1048576ul
#define LARGEST_TEXT	"1048576"
#define MOST_MESSAGES	10000000ul
#define MOST_ROUNDS	1000000ul

static const char * const groups[] = {
	"send", "write", "read", "srq", "disconnect", "flow", "flags", "args", "errors",
	"exact", "rmr", "fmr", "service", "connect", "hostile", NULL
};

static const char help[] =
"Usage: kdapl-loop [options]\n"
"       kdapl-loop perf [options] [SERVER]\n"
"\n"
"Transfers messages between two ends on one RDMA device with the kDAPL API and\n"
"checks every byte and every completion. Needs root, debugfs and the module\n"
"kdapl_loop. \"kdapl-loop perf\" measures, see \"kdapl-loop perf --help\".\n"
"\n"
"  --device NAME      interface adapter (rxe0, rxe0/1, or a net device);\n"
"                     default: the first one that kDAPL lists\n"
"  --op LIST          only these groups, separated by commas: send, write, read,\n"
"                     srq (transfers), disconnect, flow, flags, args, errors,\n"
"                     exact, rmr, fmr, service, connect, hostile (others)\n"
"  --sizes LIST       transfers of these sizes in bytes, up to " LARGEST_TEXT "\n"
"  --messages N       N messages of each size\n"
"  --case LIST        only these cases, see --list\n"
"  --short            fewer repetitions and a fiftieth of the messages\n"
"  --divide N         an N-th of the messages\n"
"  --repeat N         N rounds of each case of the group errors, and N connections\n"
"                     in flow/reset-and-reconnect and flow/free-and-connect\n"
"  --seed N           seed of the data patterns (default 1)\n"
"  --list             print the cases without running them\n"
"  --abort            stop the run in progress\n"
"  --json             print the results as JSON\n"
"  --tap              print a TAP line for each case\n"
"  --help             print this text\n"
"\n"
"With --sizes or --messages only transfers are run.\n"
"Exit status: 0 all cases passed, 1 a case failed, 2 usage error, 3 cannot run\n"
"(not root, no debugfs, module or device).\n";

static bool is_group(const char *name)
{
	const char * const *g;

	for (g = groups; *g; g++)
		if (!strcmp(*g, name))
			return true;
	return false;
}

/* Check each item of a comma-separated list */
static void check_list(const char *option, const char *list)
{
	char *copy = strdup(list), *rest = copy, *item;
	unsigned int n = 0;

	if (!copy)
		die(EXIT_ENVIRONMENT, "out of memory");
	while ((item = strsep(&rest, ","))) {
		if (!strcmp(option, "--op") && !is_group(item))
			die(EXIT_USAGE,
			    "--op: unknown group \"%s\", expected send, write, read, srq, disconnect, flow, flags, args, errors, exact, rmr, fmr, service, connect or hostile",
			    item);
		if (!strcmp(option, "--sizes"))
			parse_number("--sizes", item, 0, LARGEST);
		if (!strcmp(option, "--sizes") && ++n > 16)
			die(EXIT_USAGE, "--sizes: at most 16 sizes are allowed");
	}
	free(copy);
}

struct options {
	enum show show;
	bool list, abort;
	const char *device;
	char line[1000];
};

enum {
	OPT_DEVICE = 256, OPT_OP, OPT_SIZES, OPT_MESSAGES, OPT_CASE, OPT_SHORT, OPT_DIVIDE,
	OPT_REPEAT, OPT_SEED, OPT_LIST, OPT_ABORT, OPT_JSON, OPT_TAP, OPT_HELP,
};

static const struct option long_options[] = {
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "op", required_argument, NULL, OPT_OP },
	{ "sizes", required_argument, NULL, OPT_SIZES },
	{ "messages", required_argument, NULL, OPT_MESSAGES },
	{ "case", required_argument, NULL, OPT_CASE },
	{ "short", no_argument, NULL, OPT_SHORT },
	{ "divide", required_argument, NULL, OPT_DIVIDE },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "abort", no_argument, NULL, OPT_ABORT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "tap", no_argument, NULL, OPT_TAP },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 }
};

static void take_option(struct options *o, int opt, const char *arg)
{
	char *line = o->line;
	size_t len = sizeof(o->line);

	switch (opt) {
	case OPT_DEVICE:
		check_word("--device", optarg, 256);
		o->device = optarg;
		append(line, len, "device", optarg);
		break;
	case OPT_OP:
		check_list("--op", optarg);
		append(line, len, "ops", optarg);
		break;
	case OPT_SIZES:
		check_list("--sizes", optarg);
		append(line, len, "sizes", optarg);
		break;
	case OPT_MESSAGES:
		parse_number("--messages", optarg, 1, MOST_MESSAGES);
		append(line, len, "messages", optarg);
		break;
	case OPT_CASE:
		check_word("--case", optarg, 256);
		append(line, len, "cases", optarg);
		break;
	case OPT_SHORT:
		append(line, len, "short", "1");
		break;
	case OPT_DIVIDE:
		parse_number("--divide", optarg, 1, MOST_MESSAGES);
		append(line, len, "divide", optarg);
		break;
	case OPT_REPEAT:
		parse_number("--repeat", optarg, 1, MOST_ROUNDS);
		append(line, len, "repeat", optarg);
		break;
	case OPT_SEED:
		parse_number("--seed", optarg, 0, ~0ull);
		append(line, len, "seed", optarg);
		break;
	case OPT_LIST:
		append(line, len, "dry", "1");
		o->list = true;
		break;
	case OPT_ABORT:
		o->abort = true;
		break;
	case OPT_JSON:
		o->show = SHOW_JSON;
		break;
	case OPT_TAP:
		o->show = SHOW_TAP;
		break;
	case OPT_HELP:
		fputs(help, stdout);
		exit(EXIT_PASSED);
	default:
		die(EXIT_USAGE,
		    "\"%s\" is not an option, or its value is missing: see \"kdapl-loop --help\"",
		    arg);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Follow a run until it ends; with TAP, print each case as it finishes. The
 * signals are blocked, and sigtimedwait() takes them between two polls.
 */
static void watch(const struct options *o, const sigset_t *signals, struct status *st,
		  size_t *printed)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	struct results res;
	double start = now();
	bool stopped = false;

	for (;;) {
		control_status(st);
		if (strcmp(st->state, "running"))
			break;
		show_progress(st, now() - start);
		if (o->show == SHOW_TAP && st->finished > *printed) {
			control_results(&res);
			*printed = show_tap(&res, *printed, false);
			results_free(&res);
		}
		if (sigtimedwait(signals, NULL, &pause) > 0 && !stopped) {
			stopped = true;
			control_abort();
		}
	}
	show_progress_end();
}

/* An error before the first case ended: the environment lacks something */
static void check_error(const struct options *o, const struct status *st)
{
	if (!st->error[0] || st->finished)
		return;
	if (o->device)
		die(EXIT_ENVIRONMENT,
		    "cannot use device %s (%s): \"rdma link\" lists the devices", o->device,
		    st->error);
	die(EXIT_ENVIRONMENT,
	    "cannot run (%s): is there an RDMA device? \"rdma link add rxe0 type rxe netdev NETDEV\" adds one",
	    st->error);
}

static int verdict(const struct results *res, const struct status *st)
{
	size_t i;

	for (i = 0; i < res->n; i++)
		if (!is_passed(&res->result[i]) && !is_skipped(&res->result[i]))
			return EXIT_FAILED;
	return st->error[0] || st->aborted || !res->n ? EXIT_FAILED : EXIT_PASSED;
}

static int run(const struct options *o)
{
	struct results res;
	struct status st;
	sigset_t signals;
	size_t printed = 0;
	double start;
	int status;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	start = now();
	control_run(o->line[0] ? o->line : "short=0");
	if (!o->list) {
		watch(o, &signals, &st, &printed);
		check_error(o, &st);
	}
	control_results(&res);
	if (o->list) {
		show_list(&res);
		results_free(&res);
		return EXIT_PASSED;
	}
	switch (o->show) {
	case SHOW_TABLE:
		show_table(&res, &st, now() - start);
		break;
	case SHOW_JSON:
		show_json(&res, &st, now() - start);
		break;
	case SHOW_TAP:
		show_tap(&res, printed, true);
		if (st.error[0])
			printf("Bail out! %s\n", st.error);
		break;
	}
	status = verdict(&res, &st);
	results_free(&res);
	return status;
}

int main(int argc, char **argv)
{
	struct options o = { .show = SHOW_TABLE };
	int opt;

	if (argc > 1 && !strcmp(argv[1], "perf"))
		return perf_main(argc - 1, argv + 1);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		take_option(&o, opt, argv[optind - 1]);
	if (optind < argc)
		die(EXIT_USAGE, "\"%s\" is not an option: see \"kdapl-loop --help\"", argv[optind]);
	control_check("kdapl_loop", "run");
	if (o.abort) {
		control_abort();
		return EXIT_PASSED;
	}
	return run(&o);
}
