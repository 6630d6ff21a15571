// SPDX-License-Identifier: GPL-2.0
/*
 * Parser of the command lines in debugfs kdapl_perf. Process context.
 *
 *	[device=NAME] [address=ADDRESS] [port=N] [ops=send,write,read] [tests=lat,bw]
 *	[sizes=N,...] [count=N | ms=N] [eps=N] [depth=N]
 *
 * Without a device, it is the first one that kDAPL lists.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "perf.h"

const char * const perf_side_name[] = {
	[PERF_KDAPL] = "kdapl", [PERF_VERBS] = "verbs",
};

const char * const perf_op_name[] = {
	[PERF_SEND] = "send", [PERF_WRITE] = "write", [PERF_READ] = "read",
};

const char * const perf_kind_name[] = {
	[PERF_LAT] = "lat", [PERF_BW] = "bw",
};

static int number(const char *text, u32 least, u32 most, u32 *value)
{
	if (kstrtou32(text, 10, value) || *value < least || *value > most)
		return -EINVAL;
	return 0;
}

static int names(char *list, const char * const *name, u32 n, u32 *bits)
{
	char *item;
	int i;

	*bits = 0;
	while ((item = strsep(&list, ","))) {
		i = match_string(name, n, item);
		if (i < 0)
			return -EINVAL;
		*bits |= BIT(i);
	}
	return 0;
}

static int sizes(struct perf_args *args, char *list)
{
	char *item;

	args->sizes = 0;
	while ((item = strsep(&list, ",")))
		if (args->sizes == PERF_MAX_SIZES ||
		    number(item, 1, PERF_LARGEST, &args->size[args->sizes++]))
			return -EINVAL;
	return 0;
}

static int word(char *to, size_t len, const char *text)
{
	return strscpy(to, text, len) < 0 ? -EINVAL : 0;
}

static int parse_word(struct perf_args *args, const char *name, char *value)
{
	if (!strcmp(name, "device"))
		return word(args->device, sizeof(args->device), value);
	if (!strcmp(name, "address"))
		return word(args->address, sizeof(args->address), value);
	if (!strcmp(name, "port"))
		return number(value, 1, U16_MAX - 1, &args->port);
	if (!strcmp(name, "ops"))
		return names(value, perf_op_name, PERF_OPS, &args->ops);
	if (!strcmp(name, "tests"))
		return names(value, perf_kind_name, PERF_KINDS, &args->kinds);
	if (!strcmp(name, "sizes"))
		return sizes(args, value);
	if (!strcmp(name, "count"))
		return number(value, 1, PERF_MAX_COUNT, &args->count);
	if (!strcmp(name, "ms"))
		return number(value, 1, 3600000, &args->ms);
	if (!strcmp(name, "eps"))
		return number(value, 1, PERF_MAX_EPS, &args->eps);
	if (!strcmp(name, "depth"))
		return number(value, 1, PERF_MAX_DEPTH, &args->depth);
	return -EINVAL;
}

/**
 * perf_args_parse - parse the words after the first one
 * @args: receives them
 * @line: is changed; may be NULL
 *
 * Context: process.
 * Return: 0, or -EINVAL.
 */
int perf_args_parse(struct perf_args *args, char *line)
{
	char *name, *value;

	*args = (struct perf_args) {
		.port = PERF_PORT,
		.ops = BIT(PERF_OPS) - 1,
		.kinds = BIT(PERF_KINDS) - 1,
		.size = { 64 },
		.sizes = 1,
		.count = 1000,
		.eps = 1,
		.depth = 16,
	};
	while ((value = strsep(&line, " "))) {
		if (!*value)
			continue;
		name = strsep(&value, "=");
		if (!value || parse_word(args, name, value))
			return -EINVAL;
	}
	/* The time decides; the count only limits the samples */
	if (args->ms)
		args->count = PERF_MAX_COUNT;
	return 0;
}
