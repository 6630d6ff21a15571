// SPDX-License-Identifier: GPL-2.0
/*
 * The performance test: the server grants access to a range of memory, and the
 * client reads or writes it, first with many requests at a time, then one by one.
 * Nothing is measured, but all data are compared: a client reads back what it has
 * written; a server checks that its memory is unchanged or completely written.
 * Process context: the thread of the test.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "interop.h"

#define MOST_IN_FLIGHT	64
#define SPARE_DTOS	4
#define SERVER_BYTE	0x5a
#define CLIENT_BYTE	0xc3

struct perf {
	struct interop_test *test;
	struct interop_link link;
	struct interop_listener listener;
	struct interop_buf in;		/* both messages */
	struct interop_buf out;
	struct interop_buf memory;	/* server: granted; client: its end */
	struct interop_buf check;	/* client: source or sink of a check */
	u32 total;
	u32 number;			/* of the receive */
};

static bool is_write(const struct perf *p)
{
	return p->test->task.op[0].transfer == DT_RDMA_WRITE;
}

static u32 in_flight(const struct interop_task *task)
{
	return clamp(task->pipeline, 1U, min_t(u32, task->iterations, MOST_IN_FLIGHT));
}

static int post_message(void *data)
{
	struct perf *p = data;

	return interop_post_recv(&p->link, &p->in, 1, DT_PERF_SIZE, &p->number);
}

static int make_buffers(struct perf *p)
{
	static const DAT_MEM_PRIV_FLAGS in = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	static const DAT_MEM_PRIV_FLAGS out = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	struct interop_test *t = p->test;
	const struct interop_op *op = &t->task.op[0];
	u32 size = op->segs * interop_stride(op->seg_size);
	const char *who = p->link.name;
	int err;

	p->total = op->segs * op->seg_size;
	err = interop_buf_make(&p->in, who, t->fx, t->pz, DT_PERF_SIZE, in) ?:
	      interop_buf_make(&p->out, who, t->fx, t->pz, DT_PERF_SIZE, out);
	if (err)
		return err;
	if (t->server) {
		err = interop_buf_make(&p->memory, who, t->fx, t->pz, p->total,
				       is_write(p) ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
						     DAT_MEM_PRIV_REMOTE_READ_FLAG);
		if (!err)
			memset(p->memory.data, SERVER_BYTE, p->total);
		return err;
	}
	err = interop_buf_make(&p->memory, who, t->fx, t->pz, size,
			       is_write(p) ? out : in) ?:
	      interop_buf_make(&p->check, who, t->fx, t->pz, size,
			       is_write(p) ? in : out);
	if (!err) {
		memset(p->memory.data, is_write(p) ? CLIENT_BYTE : 0, size);
		memset(p->check.data, is_write(p) ? 0 : CLIENT_BYTE, size);
	}
	return err;
}

/* ---- server -------------------------------------------------------------- */

/* The server does not know the data, only that the client must write every byte */
static void look_at_memory(struct perf *p)
{
	if (!is_write(p)) {
		interop_buf_check(&p->memory, 0, p->total, SERVER_BYTE, p->link.name);
		return;
	}
	if (memchr(p->memory.data, SERVER_BYTE, p->total))
		interop_fail(p->link.name, "expected every byte to be written, some are not");
	interop_add(INTEROP_VERIFIED, p->total);
}

static int serve(struct perf *p, struct interop_thread *th)
{
	struct dt_region *region = (struct dt_region *)p->out.data;
	struct interop_test *t = p->test;
	DAT_CR_HANDLE cr;
	int err;

	err = post_message(p) ?:
	      interop_listen(&p->listener, p->link.name, t->fx, t->first_port,
			     t->task.rsp ? p->link.ep : DAT_HANDLE_NULL, p->link.mode);
	if (err)
		return err;
	atomic_inc(&t->ready);
	wake_up(&t->wait);
	err = interop_request(&p->listener, &cr, INTEROP_WAIT_MS) ?:
	      interop_accept(&p->link, &p->listener, cr, NULL);
	interop_unlisten(&p->listener);
	if (err)
		return err;
	region->context = cpu_to_le32(p->memory.remote);
	region->address = cpu_to_le64(p->memory.address);
	/* After this message the client may end the connection when it is done */
	spin_lock_bh(&p->link.lock);
	p->link.may_end = true;
	spin_unlock_bh(&p->link.lock);
	err = interop_send_and_reap(&p->link, &p->out, DT_PERF_SIZE) ?:
	      interop_wait(&p->link, INTEROP_WANT_RECV, p->number);
	if (!err)
		look_at_memory(p);
	return err;
}

/* ---- client -------------------------------------------------------------- */

static int post_one(struct perf *p, const struct interop_buf *b, bool write, u32 *number)
{
	const struct dt_region *region = (const struct dt_region *)p->in.data;
	const struct interop_op *op = &p->test->task.op[0];

	return interop_post_rdma(&p->link, write, b, op->segs, op->seg_size,
				 le32_to_cpu(region->context),
				 le64_to_cpu(region->address), number);
}

static int do_one(struct perf *p, const struct interop_buf *b, bool write)
{
	u32 number;

	return post_one(p, b, write, &number) ?:
	       interop_wait(&p->link, INTEROP_WANT_REQUEST, number);
}

/* Keep the queue full; the numbers of posts are consecutive */
static int many(struct perf *p)
{
	u32 depth = in_flight(&p->test->task);
	u32 i, number, done = 0;
	int err = 0;

	for (i = 0; i < p->test->task.iterations && !err; i++) {
		err = post_one(p, &p->memory, is_write(p), &number);
		if (!err && i + 1 - done >= depth) {
			err = interop_wait(&p->link, INTEROP_WANT_REQUEST,
					   number - (i - done));
			done++;
		}
	}
	return err ?: interop_wait(&p->link, INTEROP_WANT_REQUEST, number);
}

static void look_at_segments(struct perf *p, const struct interop_buf *b)
{
	const struct interop_op *op = &p->test->task.op[0];
	u32 s;

	for (s = 0; s < op->segs; s++)
		interop_buf_check(b, s * interop_stride(op->seg_size), op->seg_size,
				  CLIENT_BYTE, p->link.name);
}

static int one_by_one(struct perf *p)
{
	int err = 0;
	u32 i;

	for (i = 0; i < p->test->task.iterations && !err; i++) {
		if (!is_write(p))
			memset(p->memory.data, 0, p->memory.size);
		err = do_one(p, &p->memory, is_write(p));
		if (!err && !is_write(p))
			look_at_segments(p, &p->memory);
	}
	return err;
}

/* The client writes before it reads, and reads back what it has written */
static int ask(struct perf *p)
{
	struct interop_test *t = p->test;
	int err;

	atomic_inc(&t->ready);
	err = interop_connect(&p->link, t->address, t->first_port, NULL, post_message, p);
	if (err == -ECONNREFUSED)
		interop_fail(p->link.name, "expected the server to accept, it refused");
	err = err ?: interop_wait(&p->link, INTEROP_WANT_RECV, p->number);
	if (!err && !is_write(p))
		err = do_one(p, &p->check, true);
	err = err ?: many(p) ?: one_by_one(p);
	if (!err && is_write(p)) {
		err = do_one(p, &p->check, false);
		look_at_segments(p, &p->check);
	}
	if (err)
		return err;
	/* After this message the server may end the connection */
	spin_lock_bh(&p->link.lock);
	p->link.may_end = true;
	spin_unlock_bh(&p->link.lock);
	return interop_send_and_reap(&p->link, &p->out, DT_PERF_SIZE);
}

/**
 * interop_perf_run - run the thread of a performance test
 * @th: the thread
 *
 * Context: process.
 * Return: 0; an error, which is recorded unless it is -ENOMEM or -EINTR.
 */
int interop_perf_run(struct interop_thread *th)
{
	struct interop_test *t = th->test;
	struct interop_link_spec spec = {
		.recvs = 1,
		.requests = in_flight(&t->task) + SPARE_DTOS,
		.iov = INTEROP_MAX_SEGS,
		.mode = t->task.poll ? INTEROP_POLL : INTEROP_UPCALL,
	};
	struct perf *p = kzalloc(sizeof(*p), GFP_KERNEL);
	char name[sizeof(p->link.name)];
	int err, late;

	if (!p)
		return -ENOMEM;
	scnprintf(name, sizeof(name), "%s %u", t->server ? "server" : "client",
		  t->first_port);
	strscpy(p->link.name, name, sizeof(p->link.name));
	p->test = t;
	err = interop_link_make(&p->link, t->fx, t->pz, &spec) ?: make_buffers(p);
	if (!err) {
		err = t->server ? serve(p, th) : ask(p);
		late = interop_part(&p->link, t->server && !err);
		err = err ?: late;
	}
	interop_link_free(&p->link);
	interop_buf_free(&p->in, name);
	interop_buf_free(&p->out, name);
	interop_buf_free(&p->memory, name);
	interop_buf_free(&p->check, name);
	kfree(p);
	return err;
}
