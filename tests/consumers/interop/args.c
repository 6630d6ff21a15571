// SPDX-License-Identifier: GPL-2.0
/*
 * Parser of the command lines in debugfs kdapl_interop. Process context.
 *
 *	server:	[port=62000] [reject=N]
 *	client:	transaction|performance|quit [port=62000] [address=A.B.C.D]
 *		[iterations=N] [threads=N] [eps=N] [pipeline=N]
 *		[validate] [poll] [rsp] OPERATION...
 *
 * An operation is c|s:SR|RR|RW:SIZE:SEGMENTS, followed by :f to reap a send with the
 * next receive. A performance test takes one, c:RR|RW:SIZE:SEGMENTS.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "interop.h"

#define SPACE		"\n\t "

static const char * const transfer_name[] = {
	[DT_RDMA_READ] = "RR", [DT_RDMA_WRITE] = "RW", [DT_SEND_RECV] = "SR"
};

static int add_op(struct interop_task *task, bool by_server, enum dt_transfer transfer,
		  u32 seg_size, u32 segs)
{
	if (task->num_ops == DT_MAX_OPS)
		return -EINVAL;
	if (!segs || segs > INTEROP_MAX_SEGS || !seg_size ||
	    (u64)segs * interop_stride(seg_size) > INTEROP_MAX_BYTES)
		return -EINVAL;
	task->op[task->num_ops++] = (struct interop_op) {
		.by_server = by_server,
		.transfer = transfer,
		.segs = segs,
		.seg_size = seg_size,
	};
	return 0;
}

static int parse_op(struct interop_task *task, char *word)
{
	char *who = strsep(&word, ":"), *name = strsep(&word, ":");
	char *size = strsep(&word, ":"), *count = strsep(&word, ":");
	u32 seg_size, segs;
	int transfer, err;

	if (!count || (strcmp(who, "c") && strcmp(who, "s")))
		return -EINVAL;
	transfer = match_string(transfer_name, ARRAY_SIZE(transfer_name), name);
	if (transfer < 0 || kstrtou32(size, 10, &seg_size) || kstrtou32(count, 10, &segs))
		return -EINVAL;
	err = add_op(task, *who == 's', transfer, seg_size, segs);
	if (!err && word)
		task->op[task->num_ops - 1].reap_on_recv = !strcmp(word, "f");
	return err;
}

/* Parse NAME=VALUE. Returns 1 if the word has another name. */
static int parse_number(const char *word, const char *name, u32 most, u32 *value)
{
	size_t len = strlen(name);

	if (strncmp(word, name, len) || word[len] != '=')
		return 1;
	if (kstrtou32(word + len + 1, 10, value) || *value > most)
		return -EINVAL;
	return 0;
}

static int parse_word(struct interop_args *args, char *word)
{
	struct interop_task *task = &args->task;
	u32 port;
	int err;

	err = parse_number(word, "port", U32_MAX - DT_PORT_RANGE, &port);
	if (!err)
		args->port = port;
	if (err == 1)
		err = parse_number(word, "iterations", 100000, &task->iterations);
	if (err == 1)
		err = parse_number(word, "threads", INTEROP_MAX_THREADS, &task->threads);
	if (err == 1)
		err = parse_number(word, "eps", INTEROP_MAX_EPS, &task->eps);
	if (err == 1)
		err = parse_number(word, "pipeline", U16_MAX, &task->pipeline);
	if (err == 1)
		err = parse_number(word, "reject", U16_MAX, &args->reject);
	if (err < 1)
		return err;
	if (!strncmp(word, "address=", 8))
		return strscpy(args->address, word + 8, sizeof(args->address)) < 0 ?
		       -EINVAL : 0;
	if (!strcmp(word, "validate"))
		task->validate = true;
	else if (!strcmp(word, "poll"))
		task->poll = true;
	else if (!strcmp(word, "rsp"))
		task->rsp = true;
	else
		return parse_op(task, word);
	return 0;
}

static int parse(struct interop_args *args, char *line)
{
	char *word;
	int err = 0;

	memset(args, 0, sizeof(*args));
	args->port = DT_PORT;
	args->task.iterations = 1;
	args->task.threads = 1;
	args->task.eps = 1;
	args->task.pipeline = 1;
	while ((word = strsep(&line, SPACE)) && !err)
		if (*word)
			err = parse_word(args, word);
	return err;
}

/* Context: process. Return: 0, or -EINVAL. */
int interop_args_server(struct interop_args *args, char *line)
{
	return parse(args, line);
}

/* The client appends the operations that validation needs; the server does not */
static int add_extra_ops(struct interop_task *task)
{
	u32 i;

	for (i = 0; i < DT_EXTRA_OPS; i++)
		if (add_op(task, !(i & 1), DT_SEND_RECV, DT_EXTRA_SIZE, 1))
			return -EINVAL;
	return 0;
}

/* Context: process. Return: 0, or -EINVAL. */
int interop_args_client(struct interop_args *args, char *line)
{
	struct interop_task *task = &args->task;
	char *type = strsep(&line, SPACE);
	int err = parse(args, line);

	if (err || !task->iterations || !task->threads || !task->eps || !task->pipeline)
		return -EINVAL;
	if (!strcmp(type, "quit")) {
		task->type = DT_TEST_QUIT;
		task->threads = 0;
		return 0;
	}
	if (!strcmp(type, "transaction")) {
		task->type = DT_TEST_TRANSACTION;
		if (task->validate)
			err = add_extra_ops(task);
		return err ?: task->num_ops ? 0 : -EINVAL;
	}
	task->type = DT_TEST_PERFORMANCE;
	task->threads = 1;
	task->eps = 1;
	return strcmp(type, "performance") || task->num_ops != 1 || task->validate ||
	       task->op[0].transfer == DT_SEND_RECV ? -EINVAL : 0;
}
