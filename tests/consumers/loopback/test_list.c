// SPDX-License-Identifier: GPL-2.0
/*
 * The test list of a loopback run: the parser of the command line and the list of cases
 * it selects. Process context, no locks: no one else can see the run yet.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "kdapl_loop.h"

#define MAX_CASES	192

static const char * const group_name[] = {
	"send", "write", "read", "srq", "disconnect", "flow", "flags", "args",
	"errors", "exact", "rmr", "fmr", "service", "connect",
	"hostile",
};

static const u32 list_size[] = { 0, 1, 17, 4095, 4096, 65536, LOOP_MAX_SIZE };

/* The number of messages of one size, after the options. */
static u32 size_count(const struct loop_args *args, u32 size)
{
	u32 n = size <= 4096 ? 10000 : size <= 65536 ? 1000 : 64;
	u32 divide = args->divide ?: args->brief ? 50 : 1;

	return args->messages ?: max(n / divide, 8U);
}

/* The queue depth, which the transfer keeps full: smaller for large messages. */
static u32 size_depth(u32 size)
{
	return size ? clamp((u32)SZ_2M / size, 8U, (u32)LOOP_DEPTH) : LOOP_DEPTH;
}

/* Is a name in the comma-separated list? An empty list matches all. */
static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);
	const char *p = list;

	if (!*list)
		return true;
	while ((p = strstr(p, name))) {
		if ((p == list || p[-1] == ',') && (!p[len] || p[len] == ','))
			return true;
		p += len;
	}
	return false;
}

static __printf(4, 5)
struct loop_case *add(struct loop_run *run, u32 group, loop_case_fn fn, const char *fmt, ...)
{
	struct loop_case *c = &run->cases[run->ncases];
	va_list ap;

	memset(c, 0, sizeof(*c));
	va_start(ap, fmt);
	vscnprintf(c->name, sizeof(c->name), fmt, ap);
	va_end(ap);
	c->group = group_name[group];
	c->fn = fn;
	c->op = min_t(u32, group, LOOP_SRQ);
	c->segs = 1;
	c->conns = 1;
	c->depth = 8;
	c->modes = LOOP_UPCALL | LOOP_DEQUEUE;
	spin_lock_init(&c->claim_lock);
	test_verdict_init(&c->verdict);
	/* A case that is not selected is overwritten by the next. */
	if ((run->args.ops && !(run->args.ops & BIT(group))) ||
	    !listed(run->args.only, c->name) || run->ncases == MAX_CASES)
		c = &run->cases[MAX_CASES];
	else
		run->ncases++;
	return c;
}

static void add_sizes(struct loop_run *run, u32 op)
{
	const u32 *sizes = run->args.nsizes ? run->args.sizes : list_size;
	u32 i, n = run->args.nsizes ?: ARRAY_SIZE(list_size);

	for (i = 0; i < n; i++) {
		struct loop_case *c = add(run, op, loop_case_xfer, "%s/%u",
					  group_name[op], sizes[i]);

		c->size = sizes[i];
		c->count = size_count(&run->args, sizes[i]);
		c->depth = size_depth(sizes[i]);
	}
}

static void add_segments(struct loop_run *run, u32 op)
{
	static const u32 segs[] = { 1, 2, 3, 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(segs); i++) {
		struct loop_case *c;

		if (segs[i])
			c = add(run, op, loop_case_xfer, "%s/segments-%u",
				group_name[op], segs[i]);
		else
			c = add(run, op, loop_case_xfer, "%s/segments-max", group_name[op]);
		c->segs = segs[i];
		c->size = 9001;
		c->count = 100;
		c->depth = 16;
	}
}

static void add_variations(struct loop_run *run, u32 op)
{
	u32 count = run->args.brief ? 50 : 500;
	struct loop_case *c;

	c = add(run, op, loop_case_xfer, "%s/chain-in-upcall", group_name[op]);
	c->size = 100;
	c->count = count;
	c->window = 1;
	c->modes = LOOP_UPCALL;
	c = add(run, op, loop_case_xfer, "%s/poll-disabled", group_name[op]);
	c->size = 1000;
	c->count = count;
	c->depth = 32;
	c->modes = LOOP_POLL;
	c = add(run, op, loop_case_xfer, "%s/physical-pages", group_name[op]);
	c->size = 9001;
	c->count = count / 5;
	c->depth = 16;
	c->physical = true;
	if (op == LOOP_SRQ) {
		c = add(run, op, loop_case_xfer, "srq/two-endpoints");
		c->size = 1000;
		c->count = 4 * count;
		c->depth = 32;
		c->conns = 2;
		return;
	}
	c = add(run, op, loop_case_xfer, "%s/suppress-15-of-16", group_name[op]);
	c->size = 1000;
	c->count = 2 * count;
	c->depth = LOOP_DEPTH;
	c->signal_every = 16;
}

static void add_disconnects(struct loop_run *run)
{
	static const char * const what[] = {
		"sends", "peer", "both-ends", "writes", "reads", "suppressed",
		"moving-mix", "srq", "while-posting",
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		struct loop_case *c = add(run, 4, loop_case_disc, "disconnect/%s", what[i]);

		c->op = !strcmp(what[i], "srq") ? LOOP_SRQ : LOOP_SEND;
		c->size = 1000;
		c->count = run->args.brief ? 4 : 8;
		c->depth = 32;
		c->variant = i;
	}
}

static void add_flow(struct loop_run *run)
{
	static const char * const full[] = { "sends", "writes", "reads", "receives" };
	struct loop_case *c;
	u32 i;

	for (i = 0; i < 2; i++) {
		c = add(run, 5, loop_case_parked, "flow/%s-before-connect",
			i ? "srq" : "receives");
		c->op = i ? LOOP_SRQ : LOOP_SEND;
		c->size = 100;
		c->count = run->args.brief ? 4 : 12;
		c->depth = 16;
	}
	for (i = 0; i <= ARRAY_SIZE(full); i++) {
		bool srq = i == ARRAY_SIZE(full);

		c = add(run, 5, loop_case_full, "flow/full-queue-%s", srq ? "srq" : full[i]);
		c->op = srq ? LOOP_SRQ : LOOP_SEND;
		c->variant = srq ? LOOP_K_RECV : i;
		c->size = 300;
	}
	c = add(run, 5, loop_case_visible, "flow/write-then-send");
	c->op = LOOP_SEND;
	c->size = 5000;
	c->count = run->args.brief ? 32 : 320;
	c->depth = 32;
	c = add(run, 5, loop_case_reset, "flow/reset-and-reconnect");
	c->op = LOOP_SEND;
	c->size = 100;
	c->count = run->args.repeat ?: run->args.brief ? 2 : 4;
	c->depth = 16;
	c = add(run, 5, loop_case_free, "flow/free-and-connect");
	c->op = LOOP_SEND;
	c->size = 100;
	c->count = run->args.repeat ?: run->args.brief ? 2 : 4;
	c->depth = 16;
	c = add(run, 5, loop_case_threads, "flow/four-threads");
	c->count = run->args.brief ? 100 : 1500;
	c = add(run, 5, loop_case_armed, "flow/armed");
	c->count = run->args.brief ? 200 : 2000;
	add(run, 5, loop_case_starve, "flow/starve");
	add(run, 5, loop_case_starve_dtos, "flow/starve-dtos");
}

static void add_flags(struct loop_run *run)
{
	static const struct {
		const char *name;
		loop_case_fn fn;
		u32 size, count, depth;
	} flag_case[] = {
		{ "flags/suppressed-stream", loop_case_stream, 100, 400, 16 },
		{ "flags/unsignalled", loop_case_unsignalled, 100, 0, 16 },
		{ "flags/barrier-fence", loop_case_fence, 60000, 16, 8 },
		{ "flags/solicited-wait", loop_case_solicited, 100, 0, 32 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(flag_case); i++) {
		struct loop_case *c = add(run, 6, flag_case[i].fn, "%s", flag_case[i].name);

		c->op = LOOP_SEND;
		c->size = flag_case[i].size;
		c->count = flag_case[i].count;
		c->depth = flag_case[i].depth;
	}
}

static void add_args(struct loop_run *run)
{
	static const char * const what[] = { "send", "write", "read", "receive", "srq" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		struct loop_case *c = add(run, 7, loop_case_args, "args/%s", what[i]);

		c->op = i == 4 ? LOOP_SRQ : LOOP_SEND;
		c->variant = min_t(u32, i, LOOP_K_RECV);
		c->size = 1000;
	}
}

static void add_errors(struct loop_run *run)
{
	static const char * const what[] = {
		"message-too-long", "unknown-remote-key", "no-remote-write", "no-remote-read",
		"revoked-remote-key", "receive-in-freed-lmr",
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		struct loop_case *c = add(run, 8, loop_case_error, "errors/%s", what[i]);

		c->op = LOOP_SEND;
		c->variant = i;
		c->size = 1000;
		c->count = run->args.repeat ?: 2;
	}
}

static void add_exact(struct loop_run *run)
{
	static const struct {
		const char *name;
		loop_case_fn fn;
		bool srq;
	} exact[] = {
		{ "receive-fill", loop_case_fill },
		{ "srq-fill", loop_case_fill, true },
		{ "rdma", loop_case_rdma },
		{ "waiting", loop_case_waiting },
		{ "notify", loop_case_notify },
		{ "srq-notify", loop_case_notify, true },
		{ "out-of-reach", loop_case_reach },
		{ "message-too-long", loop_case_long },
		{ "failed-attempts", loop_case_attempts },
		{ "regions", loop_case_regions },
		{ "srq", loop_case_shared, true },
		{ "srq-resize", loop_case_resize, true },
		{ "limits", loop_case_limits },
		{ "modify", loop_case_modify },
		{ "dup-connect", loop_case_dup },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(exact); i++) {
		struct loop_case *c = add(run, 9, exact[i].fn, "exact/%s", exact[i].name);

		c->op = exact[i].srq ? LOOP_SRQ : LOOP_SEND;
	}
}

/* Cases about memory: keys that become valid and invalid. */
static void add_remote(struct loop_run *run)
{
	static const struct {
		const char *name;
		loop_case_fn fn;
		u32 group;
	} memory[] = {
		{ "rmr/bind", loop_case_bind, 10 },
		{ "rmr/old-key-in-a-loop", loop_case_greedy, 10 },
		{ "rmr/send-with-invalidate", loop_case_invalidate, 10 },
		{ "fmr/register-and-invalidate", loop_case_fmr, 11 },
		{ "fmr/flushed-and-dead", loop_case_fmr_end, 11 },
		{ "fmr/zero-page", loop_case_zero, 11 },
		{ "fmr/exact-bytes", loop_case_buffers, 11 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(memory); i++) {
		struct loop_case *c = add(run, memory[i].group, memory[i].fn, "%s",
					  memory[i].name);

		c->op = LOOP_SEND;
		c->count = run->args.brief ? 4 : 20;
	}
}

/* Cases about service points, and peers that are not Consumers. */
static void add_service(struct loop_run *run)
{
	static const struct {
		const char *name;
		loop_case_fn fn;
	} service[] = {
		{ "rsp", loop_case_rsp },
		{ "handoff", loop_case_handoff },
		{ "qualifiers", loop_case_qualifiers },
		{ "private-data", loop_case_data },
		{ "rejects", loop_case_rejects },
		{ "flood", loop_case_flood },
		{ "peer-death", loop_case_peer_death },
		/* The last one runs only by name, because it takes at least half a minute. */
		{ "silent-peer", loop_case_silent },
	};
	u32 i, n = ARRAY_SIZE(service) - !run->args.only[0];

	for (i = 0; i < n; i++) {
		struct loop_case *c = add(run, 12, service[i].fn, "service/%s", service[i].name);

		c->op = LOOP_SEND;
	}
}

/* Cases about connecting and disconnecting. */
static void add_connect(struct loop_run *run)
{
	static const struct {
		const char *name;
		loop_case_fn fn;
	} connect[] = {
		{ "timeouts", loop_case_timeouts },
		{ "withdrawn", loop_case_withdrawn },
		{ "ends", loop_case_ends },
		{ "gone-peer", loop_case_gone },
		{ "not-granted", loop_case_grabs },
		{ "thousand", loop_case_many },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(connect); i++)
		add(run, 13, connect[i].fn, "connect/%s", connect[i].name)->op = LOOP_SEND;
}

/* A hostile plain-verbs peer, and what the device lets it do. */
static void add_hostile(struct loop_run *run)
{
	static const struct {
		const char *name;
		loop_case_fn fn;
		u32 count, brief;
	} hostile[] = {
		{ "device", loop_case_device },
		{ "keys", loop_case_keys },
		{ "beyond", loop_case_beyond },
		{ "rebound-in-a-loop", loop_case_rebound, 8, 2 },
		{ "revoked-in-a-loop", loop_case_revoked, 4, 2 },
		{ "too-much", loop_case_too_much },
		{ "half-messages", loop_case_half },
		{ "immediate-data", loop_case_immediate },
		{ "invalidations", loop_case_aims },
		{ "mute", loop_case_mute },
		{ "forged-requests", loop_case_forged },
		{ "odd-parameters", loop_case_parameters },
		{ "flood", loop_case_overrun, 8, 2 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hostile); i++) {
		struct loop_case *c = add(run, 14, hostile[i].fn, "hostile/%s", hostile[i].name);

		c->op = LOOP_SEND;
		c->count = run->args.brief ? hostile[i].brief : hostile[i].count;
	}
}

/**
 * loop_test_list - make the list of cases
 * @run: the run, with its arguments
 *
 * Context: process.
 * Return: 0; -ENOMEM; -ENOENT if no case matches the arguments.
 */
int loop_test_list(struct loop_run *run)
{
	u32 op;

	/* One more than the maximum: the last entry is overwritten by unselected cases. */
	run->cases = kvcalloc(MAX_CASES + 1, sizeof(*run->cases), GFP_KERNEL);
	if (!run->cases)
		return -ENOMEM;
	for (op = 0; op < LOOP_OPS; op++) {
		add_sizes(run, op);
		/* If the arguments give sizes or numbers, only transfers of those run. */
		if (run->args.nsizes || run->args.messages)
			continue;
		add_segments(run, op);
		add_variations(run, op);
	}
	if (!run->args.nsizes && !run->args.messages) {
		add_disconnects(run);
		add_flow(run);
		add_flags(run);
		add_args(run);
		add_errors(run);
		add_exact(run);
		add_remote(run);
		add_service(run);
		add_connect(run);
		add_hostile(run);
	}
	return run->ncases ? 0 : -ENOENT;
}

static int parse_ops(struct loop_args *args, char *list)
{
	char *word;
	int i;

	while ((word = strsep(&list, ","))) {
		i = match_string(group_name, ARRAY_SIZE(group_name), word);
		if (i < 0)
			return -EINVAL;
		args->ops |= BIT(i);
	}
	return 0;
}

static int parse_sizes(struct loop_args *args, char *list)
{
	char *word;
	u32 size;

	while ((word = strsep(&list, ","))) {
		if (kstrtou32(word, 0, &size) || size > LOOP_MAX_SIZE ||
		    args->nsizes == LOOP_MAX_SIZES)
			return -EINVAL;
		args->sizes[args->nsizes++] = size;
	}
	return 0;
}

static int parse_word(struct loop_args *args, const char *key, char *value)
{
	if (!strcmp(key, "device"))
		return strscpy(args->device, value, sizeof(args->device)) < 0 ? -EINVAL : 0;
	if (!strcmp(key, "cases"))
		return strscpy(args->only, value, sizeof(args->only)) < 0 ? -EINVAL : 0;
	if (!strcmp(key, "ops"))
		return parse_ops(args, value);
	if (!strcmp(key, "sizes"))
		return parse_sizes(args, value);
	if (!strcmp(key, "messages"))
		return kstrtou32(value, 0, &args->messages) ||
		       args->messages > 10000000 ? -EINVAL : 0;
	if (!strcmp(key, "seed"))
		return kstrtou64(value, 0, &args->seed);
	if (!strcmp(key, "short"))
		return kstrtobool(value, &args->brief);
	if (!strcmp(key, "divide"))
		return kstrtou32(value, 0, &args->divide) || !args->divide ? -EINVAL : 0;
	if (!strcmp(key, "repeat"))
		return kstrtou32(value, 0, &args->repeat) || !args->repeat ||
		       args->repeat > 1000000 ? -EINVAL : 0;
	if (!strcmp(key, "dry"))
		return kstrtobool(value, &args->dry);
	return -EINVAL;
}

/**
 * loop_args_parse - parse the command line of a run
 * @args: filled in
 * @line: words "key=value"; modified
 *
 * Keys: device, ops, sizes, cases (lists with commas), messages, seed, short (fewer repetitions,
 * and a fiftieth of the messages), divide (divides the number of messages), repeat (the number of
 * rounds of each case of the group "errors", and of connections in flow/reset-and-reconnect and
 * flow/free-and-connect), dry (1: make the list of cases and run none).
 *
 * Context: process.
 * Return: 0 or -EINVAL.
 */
int loop_args_parse(struct loop_args *args, char *line)
{
	char *word, *value;

	args->seed = 1;
	line = strim(line);
	while ((word = strsep(&line, " \t\n"))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value)
			return -EINVAL;
		*value++ = 0;
		if (parse_word(args, word, value))
			return -EINVAL;
	}
	return 0;
}
