// SPDX-License-Identifier: GPL-2.0
/*
 * The control connection and its messages of 8192 bytes, which contain a task. The
 * EP has the default attributes of the Provider. Process context.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "interop.h"

/* Size of the queues of an EP that is created without attributes */
#define DEFAULT_DTOS	16

int interop_control_make(struct interop_control *c, struct interop_fixture *w)
{
	static const struct interop_link_spec spec = {
		.recvs = DEFAULT_DTOS,
		.requests = DEFAULT_DTOS,
		.iov = 1,
		.defaults = true,
		.mode = INTEROP_NOTIFY,
	};
	struct interop_link *l = &c->link;
	int err;
	u32 i;

	strscpy(l->name, "control", sizeof(l->name));
	if (!interop_good(l->name, "dat_pz_create", dat_pz_create(w->t.ia, &c->pz))) {
		c->pz = DAT_HANDLE_NULL;
		return -EIO;
	}
	err = interop_link_make(l, w, c->pz, &spec);
	for (i = 0; i < ARRAY_SIZE(c->in) && !err; i++)
		err = interop_buf_make(&c->in[i], l->name, w, c->pz, DT_CONTROL_SIZE,
				       DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	return err ?: interop_buf_make(&c->out, l->name, w, c->pz, DT_CONTROL_SIZE,
				       DAT_MEM_PRIV_LOCAL_READ_FLAG);
}

/* Free the objects, which may not exist */
void interop_control_free(struct interop_control *c)
{
	u32 i;

	interop_link_free(&c->link);
	for (i = 0; i < ARRAY_SIZE(c->in); i++)
		interop_buf_free(&c->in[i], "control");
	interop_buf_free(&c->out, "control");
	if (c->pz)
		interop_good("control", "dat_pz_free", dat_pz_free(c->pz));
	c->pz = DAT_HANDLE_NULL;
}

int interop_control_send(struct interop_control *c, const void *message, u32 size)
{
	memset(c->out.data, 0, DT_CONTROL_SIZE);
	memcpy(c->out.data, message, size);
	return interop_send_and_reap(&c->link, &c->out, DT_CONTROL_SIZE);
}

/* ---- decode a task ------------------------------------------------------- */

static int bad(const char *what, u32 value)
{
	interop_fail("control", "task of the peer: %s %u is not supported", what, value);
	return -EINVAL;
}

static int decode_op(struct interop_op *op, u32 transfer, u32 segs, u32 seg_size)
{
	if (transfer > DT_SEND_RECV)
		return bad("transfer type", transfer);
	if (!segs || segs > INTEROP_MAX_SEGS)
		return bad("segments", segs);
	if (!seg_size || (u64)segs * interop_stride(seg_size) > INTEROP_MAX_BYTES)
		return bad("segment size", seg_size);
	op->transfer = transfer;
	op->segs = segs;
	op->seg_size = seg_size;
	return 0;
}

static int decode_transaction(struct interop_task *task, const struct dt_transaction_cmd *cmd)
{
	u32 i;

	task->iterations = le32_to_cpu(cmd->num_iterations);
	task->threads = le32_to_cpu(cmd->num_threads);
	task->eps = le32_to_cpu(cmd->eps_per_thread);
	task->rsp = le32_to_cpu(cmd->use_rsp);
	task->validate = le32_to_cpu(cmd->validate);
	task->poll = le32_to_cpu(cmd->poll);
	task->num_ops = le32_to_cpu(cmd->num_ops);
	if (!task->threads || task->threads > INTEROP_MAX_THREADS)
		return bad("threads", task->threads);
	if (!task->eps || task->eps > INTEROP_MAX_EPS)
		return bad("EPs", task->eps);
	if (!task->iterations)
		return bad("iterations", 0);
	if (task->num_ops > DT_MAX_OPS ||
	    task->num_ops < (task->validate ? DT_EXTRA_OPS : 1))
		return bad("operations", task->num_ops);
	for (i = 0; i < task->num_ops; i++) {
		const struct dt_op *op = &cmd->op[i];
		int err = decode_op(&task->op[i], le32_to_cpu(op->transfer),
				    le32_to_cpu(op->num_segs), le32_to_cpu(op->seg_size));

		if (err)
			return err;
		task->op[i].by_server = le32_to_cpu(op->server_initiated);
		task->op[i].reap_on_recv = le32_to_cpu(op->reap_send_on_recv);
	}
	return 0;
}

static int decode_performance(struct interop_task *task, const struct dt_performance_cmd *cmd)
{
	task->iterations = le32_to_cpu(cmd->num_iterations);
	task->pipeline = le32_to_cpu(cmd->pipeline_len);
	task->threads = 1;
	task->eps = 1;
	task->rsp = le32_to_cpu(cmd->use_rsp);
	task->poll = le32_to_cpu(cmd->mode);
	task->num_ops = 1;
	if (le32_to_cpu(cmd->transfer) == DT_SEND_RECV)
		return bad("transfer type", DT_SEND_RECV);
	return decode_op(&task->op[0], le32_to_cpu(cmd->transfer),
			 le32_to_cpu(cmd->num_segs), le32_to_cpu(cmd->seg_size));
}

/**
 * interop_task_decode - read the task from the messages of the client
 * @task: filled in; within the limits if this returns 0
 * @c: with both messages of the client
 * @total: number of test connections that the client expects
 *
 * Context: process.
 * Return: 0; -EPROTO for another version or byte order, -EINVAL for a task beyond the
 * limits: both are recorded.
 */
int interop_task_decode(struct interop_task *task, const struct interop_control *c,
			u32 *total)
{
	const struct dt_client_info *info = (const void *)c->in[0].data;

	memset(task, 0, sizeof(*task));
	if (le32_to_cpu(info->version) != DT_VERSION || !info->is_little_endian) {
		interop_fail("control", "client: expected version %u, little-endian 1; got %u, %u",
			     DT_VERSION, le32_to_cpu(info->version),
			     le32_to_cpu(info->is_little_endian));
		return -EPROTO;
	}
	*total = le32_to_cpu(info->total_threads);
	task->type = le32_to_cpu(info->test_type);
	switch (task->type) {
	case DT_TEST_TRANSACTION:
		return decode_transaction(task, (const void *)c->in[1].data);
	case DT_TEST_PERFORMANCE:
		return decode_performance(task, (const void *)c->in[1].data);
	case DT_TEST_QUIT:
		return 0;
	default:
		return bad("test type", task->type);
	}
}

/* ---- encode a task ------------------------------------------------------- */

static void encode_transaction(struct dt_transaction_cmd *cmd, const struct interop_task *task,
			       u32 port)
{
	u32 i;

	cmd->version = cpu_to_le32(DT_VERSION);
	cmd->is_little_endian = cpu_to_le32(1);
	cmd->num_iterations = cpu_to_le32(task->iterations);
	cmd->num_threads = cpu_to_le32(task->threads);
	cmd->eps_per_thread = cpu_to_le32(task->eps);
	cmd->use_rsp = cpu_to_le32(task->rsp);
	cmd->debug = cpu_to_le32(1);
	cmd->validate = cpu_to_le32(task->validate);
	cmd->poll = cpu_to_le32(task->poll);
	cmd->port = cpu_to_le64(port);
	cmd->num_ops = cpu_to_le32(task->num_ops);
	for (i = 0; i < task->num_ops; i++) {
		const struct interop_op *op = &task->op[i];

		cmd->op[i].server_initiated = cpu_to_le32(op->by_server);
		cmd->op[i].transfer = cpu_to_le32(op->transfer);
		cmd->op[i].num_segs = cpu_to_le32(op->segs);
		cmd->op[i].seg_size = cpu_to_le32(op->seg_size);
		cmd->op[i].reap_send_on_recv = cpu_to_le32(op->reap_on_recv);
	}
}

static void encode_performance(struct dt_performance_cmd *cmd, const struct interop_task *task,
			       u32 port)
{
	cmd->version = cpu_to_le32(DT_VERSION);
	cmd->is_little_endian = cpu_to_le32(1);
	cmd->debug = cpu_to_le32(1);
	cmd->mode = cpu_to_le32(task->poll);
	cmd->num_iterations = cpu_to_le32(task->iterations);
	cmd->pipeline_len = cpu_to_le32(task->pipeline);
	cmd->transfer = cpu_to_le32(task->op[0].transfer);
	cmd->seg_size = cpu_to_le32(task->op[0].seg_size);
	cmd->num_segs = cpu_to_le32(task->op[0].segs);
	cmd->use_rsp = cpu_to_le32(task->rsp);
	cmd->port = cpu_to_le64(port);
}

/**
 * interop_task_send - request a test from the server
 * @c: connected to the server
 * @task: the test
 * @port: port of the server, part of the message
 *
 * Context: process.
 * Return: 0; -ENOMEM; -EIO, -ETIMEDOUT, which are recorded; -EINTR.
 */
int interop_task_send(struct interop_control *c, const struct interop_task *task,
		      u32 port)
{
	struct dt_client_info info = {
		.version = cpu_to_le32(DT_VERSION),
		.is_little_endian = cpu_to_le32(1),
		.test_type = cpu_to_le32(task->type),
		.total_threads = cpu_to_le32(task->threads * task->eps),
	};
	union {
		struct dt_transaction_cmd transaction;
		struct dt_performance_cmd performance;
		struct dt_quit_cmd quit;
	} *cmd;
	int err;

	cmd = kzalloc(sizeof(*cmd), GFP_KERNEL);
	if (!cmd)
		return -ENOMEM;
	if (task->type == DT_TEST_TRANSACTION)
		encode_transaction(&cmd->transaction, task, port);
	else if (task->type == DT_TEST_PERFORMANCE)
		encode_performance(&cmd->performance, task, port);
	else
		cmd->quit.port = cpu_to_le64(port);
	err = interop_control_send(c, &info, sizeof(info)) ?:
	      interop_control_send(c, cmd, sizeof(*cmd));
	kfree(cmd);
	return err;
}
