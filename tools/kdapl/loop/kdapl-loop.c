// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl-loop: run the kDAPL loopback test (kdapl_loop.ko) and print the results.
 * The exit status is the result of the run.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loop.h"

#define LARGEST		1048576ul
#define MOST_MESSAGES	10000000ul
#define MOST_ROUNDS	1000000ul

static const char * const groups[] = {
	"send", "write", "read", "srq", "disconnect", "flow", "flags", "args", "errors",
	"exact", "rmr", "fmr", "service", "connect", "hostile", NULL
};

struct options {
	bool tap, list, abort;
	const char *device;
	char line[1000];
};

enum {
	OPT_DEVICE = 256, OPT_OP, OPT_SIZES, OPT_MESSAGES, OPT_CASE, OPT_SHORT, OPT_DIVIDE,
	OPT_REPEAT, OPT_SEED, OPT_LIST, OPT_ABORT, OPT_TAP,
};

static const struct argp_option option_table[] = {
	{ "device", OPT_DEVICE, "NAME", 0,
	  "Interface adapter (rxe0, rxe0/1, or a net device); default: the first in kDAPL's list",
	  0 },
	{ "op", OPT_OP, "LIST", 0,
	  "Only these groups of cases, such as send, write, connect (--list prints them)", 0 },
	{ "sizes", OPT_SIZES, "LIST", 0, "Transfers of these sizes in bytes, up to 1048576", 0 },
	{ "messages", OPT_MESSAGES, "N", 0, "N messages of each size", 0 },
	{ "case", OPT_CASE, "LIST", 0, "Only these cases, see --list", 0 },
	{ "short", OPT_SHORT, NULL, 0, "Fewer repetitions and a fiftieth of the messages", 0 },
	{ "divide", OPT_DIVIDE, "N", 0, "An N-th of the messages", 0 },
	{ "repeat", OPT_REPEAT, "N", 0,
	  "N rounds of each case of the group errors, N connections in two cases of flow", 0 },
	{ "seed", OPT_SEED, "N", 0, "Seed of the data patterns (default 1)", 0 },
	{ "list", OPT_LIST, NULL, 0, "Print the cases without running them", 0 },
	{ "abort", OPT_ABORT, NULL, 0, "Stop the run in progress", 0 },
	{ "tap", OPT_TAP, NULL, 0, "Print a TAP line for each case", 0 },
	{ 0 }
};

static const struct value values[] = {
	{ OPT_DEVICE, "device", "device", .most = 255 },
	{ OPT_OP, "op", "ops", .names = groups },
	{ OPT_SIZES, "sizes", "sizes", .max = LARGEST, .most = 16 },
	{ OPT_MESSAGES, "messages", "messages", .min = 1, .max = MOST_MESSAGES, .most = 1 },
	{ OPT_CASE, "case", "cases", .most = 255 },
	{ OPT_DIVIDE, "divide", "divide", .min = 1, .max = MOST_MESSAGES, .most = 1 },
	{ OPT_REPEAT, "repeat", "repeat", .min = 1, .max = MOST_ROUNDS, .most = 1 },
	{ OPT_SEED, "seed", "seed", .max = ~0ull, .most = 1 },
	{ 0 }
};

static error_t take_option(int opt, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (take_value(values, opt, arg, state, o->line, sizeof(o->line))) {
		if (opt == OPT_DEVICE)
			o->device = arg;
		return 0;
	}
	switch (opt) {
	case OPT_SHORT:
		append(o->line, sizeof(o->line), "short", "1");
		break;
	case OPT_LIST:
		append(o->line, sizeof(o->line), "dry", "1");
		o->list = true;
		break;
	case OPT_ABORT:
		o->abort = true;
		break;
	case OPT_TAP:
		o->tap = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp parser = {
	.options = option_table,
	.parser = take_option,
	.args_doc = "\nperf [OPTION...] [SERVER]",
	.doc = "Transfers messages between two ends on one RDMA device with the kDAPL API and\n"
	       "checks every byte and every completion. Needs root, debugfs and the module\n"
	       "kdapl_loop. \"kdapl-loop perf\" measures, see \"kdapl-loop perf --help\".\n"
	       "\vWith --sizes or --messages only transfers are run.\n"
	       "Exit status: 0 all cases passed, 1 a case failed, 2 usage error, 3 cannot run\n"
	       "(not root, no debugfs, module or device).",
};

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
		if (o->tap && st->finished > *printed) {
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

static const char busy[] =
	"another run is in progress: wait for its end, or stop it with \"kdapl-loop --abort\"";

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
	control_begin(o->line[0] ? o->line : "short=0", busy);
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
	if (o->tap) {
		show_tap(&res, printed, true);
		if (st.error[0])
			printf("Bail out! %s\n", st.error);
	} else {
		show_table(&res, &st, now() - start);
	}
	status = verdict(&res, &st);
	results_free(&res);
	return status;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };

	argp_err_exit_status = EXIT_USAGE;
	if (argc > 1 && !strcmp(argv[1], "perf"))
		return perf_main(argc - 1, argv + 1);
	argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &o);
	control_check("kdapl_loop", "run");
	if (o.abort) {
		control_abort();
		return EXIT_PASSED;
	}
	return run(&o);
}
