// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of a transaction test, in the order known to both ends, on all
 * EPs of a thread. With validation the receiving end compares every byte of every
 * iteration. Process context, in the thread of the test.
 *
 * Three messages end an iteration: one from the server after all its operations,
 * one from the client after all its operations, and one from the server after it
 * has compared its buffers and filled them for the next iteration.
 */
#include <linux/string.h>

#include "interop.h"

/* Number of operations without those that validation appended */
static u32 data_ops(const struct interop_test *t)
{
	return t->task.validate ? t->task.num_ops - DT_EXTRA_OPS : t->task.num_ops;
}

static u8 fill_value(u32 iteration)
{
	return iteration + 1;
}

/* Is this end the source of the data? For a read, the target is the source */
static bool is_source(const struct interop_test *t, const struct interop_op *op)
{
	return interop_is_ours(t, op) != (op->transfer == DT_RDMA_READ);
}

/* Is the local buffer one range? Only at the target of an RDMA operation */
static bool is_range(const struct interop_test *t, const struct interop_op *op)
{
	return op->transfer != DT_SEND_RECV && !interop_is_ours(t, op);
}

/* Fill the source buffers for an iteration */
void interop_ops_fill(struct interop_test *t, struct interop_trans_ep *eps, u32 iteration)
{
	u32 j, k;

	for (j = 0; j < t->task.eps; j++) {
		for (k = 0; k < data_ops(t); k++) {
			struct interop_buf *b = &eps[j].slot[k].buf;

			if (is_source(t, &t->task.op[k]))
				memset(b->data, fill_value(iteration), b->size);
		}
	}
}

/* Check what has arrived in an iteration, and clear it for the next */
static void look(struct interop_test *t, struct interop_trans_ep *ep, u32 k, u8 value)
{
	const struct interop_op *op = &t->task.op[k];
	struct interop_buf *b = &ep->slot[k].buf;
	u32 s;

	if (is_range(t, op)) {
		interop_buf_check(b, 0, op->segs * op->seg_size, value, ep->link.name);
	} else {
		for (s = 0; s < op->segs; s++)
			interop_buf_check(b, s * interop_stride(op->seg_size),
					  op->seg_size, value, ep->link.name);
	}
	memset(b->data, 0, b->size);
}

static void look_at_all(struct interop_test *t, struct interop_trans_ep *eps, u32 iteration)
{
	u32 j, k;

	for (j = 0; j < t->task.eps; j++)
		for (k = 0; k < data_ops(t); k++)
			if (!is_source(t, &t->task.op[k]))
				look(t, &eps[j], k, fill_value(iteration));
}

static int post_recv(struct interop_test *t, struct interop_trans_ep *ep, u32 k)
{
	const struct interop_op *op = &t->task.op[k];
	struct interop_slot *slot = &ep->slot[k];

	return interop_post_recv(&ep->link, &slot->buf, op->segs, op->seg_size,
				 &slot->number);
}

/* Post the receives of the first iteration, in the order of the operations */
int interop_ops_post_recvs(struct interop_test *t, struct interop_trans_ep *eps)
{
	int err = 0;
	u32 j, k;

	for (j = 0; j < t->task.eps; j++) {
		for (k = 0; k < t->task.num_ops && !err; k++) {
			const struct interop_op *op = &t->task.op[k];

			if (op->transfer == DT_SEND_RECV && !interop_is_ours(t, op))
				err = post_recv(t, &eps[j], k);
		}
	}
	return err;
}

static int post_request(struct interop_test *t, struct interop_trans_ep *ep, u32 k)
{
	const struct interop_op *op = &t->task.op[k];
	struct interop_slot *slot = &ep->slot[k];

	if (op->transfer == DT_SEND_RECV)
		return interop_post_send(&ep->link, &slot->buf, op->segs, op->seg_size,
					 &slot->number);
	return interop_post_rdma(&ep->link, op->transfer == DT_RDMA_WRITE, &slot->buf,
				 op->segs, op->seg_size, slot->remote_context,
				 slot->remote_address, &slot->number);
}

/* Post a request of this end on all EPs before waiting, so that they run in parallel */
static int request(struct interop_test *t, struct interop_trans_ep *eps, u32 k)
{
	bool deferred = !t->server && t->task.op[k].reap_on_recv;
	int err = 0;
	u32 j;

	for (j = 0; j < t->task.eps && !err; j++) {
		err = post_request(t, &eps[j], k);
		eps[j].slot[k].deferred = deferred;
	}
	for (j = 0; j < t->task.eps && !err && !deferred; j++)
		err = interop_wait(&eps[j].link, INTEROP_WANT_REQUEST,
				   eps[j].slot[k].number);
	return err;
}

static int reap_deferred(struct interop_test *t, struct interop_trans_ep *ep)
{
	int err = 0;
	u32 k;

	for (k = 0; k < t->task.num_ops && !err; k++) {
		struct interop_slot *slot = &ep->slot[k];

		if (slot->deferred)
			err = interop_wait(&ep->link, INTEROP_WANT_REQUEST, slot->number);
		slot->deferred = false;
	}
	return err;
}

/* Wait for a message of the peer on all EPs; post the buffer again unless it is the last */
static int receive(struct interop_test *t, struct interop_trans_ep *eps, u32 k, bool again)
{
	int err = 0;
	u32 j;

	for (j = 0; j < t->task.eps && !err; j++) {
		err = interop_wait(&eps[j].link, INTEROP_WANT_RECV, eps[j].slot[k].number) ?:
		      reap_deferred(t, &eps[j]);
		if (!err && again)
			err = post_recv(t, &eps[j], k);
	}
	return err;
}

/* Must this end check its buffers after this message of the peer? */
static bool is_turn(const struct interop_test *t, u32 k)
{
	return t->task.validate && k == t->task.num_ops - (t->server ? 2 : 3);
}

static int iterate(struct interop_test *t, struct interop_trans_ep *eps, u32 iteration)
{
	bool again = iteration + 1 < t->task.iterations;
	int err = 0;
	u32 k;

	for (k = 0; k < t->task.num_ops && !err; k++) {
		const struct interop_op *op = &t->task.op[k];

		if (interop_is_ours(t, op))
			err = request(t, eps, k);
		else if (op->transfer == DT_SEND_RECV)
			err = receive(t, eps, k, again);
		if (!err && is_turn(t, k)) {
			look_at_all(t, eps, iteration);
			if (again)
				interop_ops_fill(t, eps, iteration + 1);
		}
	}
	return err;
}

/**
 * interop_ops_run - run all iterations of one thread
 * @t: the test
 * @eps: its EPs, connected, with the receives of the first iteration posted
 *
 * Context: process.
 * Return: 0; -EIO, -ETIMEDOUT, which are recorded; -EINTR.
 */
int interop_ops_run(struct interop_test *t, struct interop_trans_ep *eps)
{
	int err = 0;
	u32 i, j;

	for (i = 0; i < t->task.iterations && !err; i++) {
		/* The receive of the last message follows those of the last iteration */
		for (j = 0; i + 1 == t->task.iterations && j < t->task.eps && !err; j++)
			err = interop_post_recv(&eps[j].link, &eps[j].sync_in, 1,
						DT_SYNC_SIZE, &eps[j].sync_number);
		if (!err)
			err = iterate(t, eps, i);
	}
	return err;
}
