// SPDX-License-Identifier: GPL-2.0
/*
 * Tests and their threads, and the transaction test except its operations (ops.c):
 * EPs, memory, connections, the exchange of memory regions, the first and last
 * messages. Process context: each thread of a test is a work item.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "interop.h"

#define SLICE		(HZ / 4)
#define SPARE_DTOS	3	/* memory regions, first and last message */

/* ---- tests --------------------------------------------------------------- */

static void run_thread(struct work_struct *work)
{
	struct interop_thread *th = container_of(work, struct interop_thread, work);
	struct interop_test *t = th->test;
	int err;

	if (t->task.type == DT_TEST_TRANSACTION)
		err = interop_trans_run(th);
	else
		err = interop_perf_run(th);
	if (err)
		WRITE_ONCE(t->failed, true);
	wake_up(&t->wait);
	interop_test_put(t);
}

/**
 * interop_test_make - create a test without starting it
 * @w: the fixture
 * @task: the test
 * @server: this end is the server
 * @first_port: of its connections
 *
 * Context: process.
 * Return: the test with one reference for the caller; NULL, which is recorded.
 */
struct interop_test *interop_test_make(struct interop_fixture *w,
				       const struct interop_task *task, bool server,
				       u32 first_port)
{
	struct interop_test *t = kzalloc(sizeof(*t), GFP_KERNEL);
	u32 i;

	if (!t)
		return NULL;
	t->threads = kcalloc(task->threads, sizeof(*t->threads), GFP_KERNEL);
	if (!t->threads || !interop_good("test", "dat_pz_create",
					 dat_pz_create(w->t.ia, &t->pz))) {
		kfree(t->threads);
		kfree(t);
		return NULL;
	}
	t->fx = w;
	t->task = *task;
	t->server = server;
	t->first_port = first_port;
	refcount_set(&t->refs, 1);
	init_waitqueue_head(&t->wait);
	for (i = 0; i < task->threads; i++) {
		t->threads[i].test = t;
		t->threads[i].index = i;
		INIT_WORK(&t->threads[i].work, run_thread);
	}
	return t;
}

void interop_test_start(struct interop_test *t)
{
	u32 i;

	for (i = 0; i < t->task.threads; i++) {
		refcount_inc(&t->refs);
		queue_work(interop_wq, &t->threads[i].work);
	}
}

/**
 * interop_test_wait - wait until threads have reached a step
 * @t: the test
 * @count: ready or synced
 * @value: expected value
 *
 * Context: process.
 * Return: 0; -EIO if a thread failed; -EINTR. There is no time limit, because each step
 * of a thread has one.
 */
int interop_test_wait(struct interop_test *t, atomic_t *count, u32 value)
{
	while (atomic_read(count) != value) {
		if (READ_ONCE(t->failed))
			return -EIO;
		if (READ_ONCE(t->fx->stop))
			return -EINTR;
		wait_event_timeout(t->wait, atomic_read(count) == value || t->failed, SLICE);
	}
	return 0;
}

void interop_test_put(struct interop_test *t)
{
	if (!refcount_dec_and_test(&t->refs))
		return;
	interop_good("test", "dat_pz_free", dat_pz_free(t->pz));
	if (!t->failed)
		interop_add(INTEROP_TESTS, 1);
	if (t->end)
		t->end(t);
	kfree(t->threads);
	kfree(t);
}

/* ---- one EP -------------------------------------------------------------- */

/* The privileges that the operation needs at the initiator or the target */
static DAT_MEM_PRIV_FLAGS privileges(const struct interop_op *op, bool ours)
{
	static const DAT_MEM_PRIV_FLAGS needed[][2] = {
		[DT_RDMA_READ] = { DAT_MEM_PRIV_REMOTE_READ_FLAG,
				   DAT_MEM_PRIV_LOCAL_WRITE_FLAG },
		[DT_RDMA_WRITE] = { DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				    DAT_MEM_PRIV_LOCAL_READ_FLAG },
		[DT_SEND_RECV] = { DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				   DAT_MEM_PRIV_LOCAL_READ_FLAG },
	};

	return needed[op->transfer][ours];
}

static int make_buffers(struct interop_test *t, struct interop_trans_ep *ep)
{
	static const DAT_MEM_PRIV_FLAGS in = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	static const DAT_MEM_PRIV_FLAGS out = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	struct interop_fixture *w = t->fx;
	const char *who = ep->link.name;
	int err;
	u32 k;

	err = interop_buf_make(&ep->regions_out, who, w, t->pz, DT_REGIONS_SIZE, out) ?:
	      interop_buf_make(&ep->regions_in, who, w, t->pz, DT_REGIONS_SIZE, in) ?:
	      interop_buf_make(&ep->sync_out, who, w, t->pz, DT_SYNC_SIZE, out) ?:
	      interop_buf_make(&ep->sync_in, who, w, t->pz, DT_SYNC_SIZE, in);
	for (k = 0; k < t->task.num_ops && !err; k++) {
		const struct interop_op *op = &t->task.op[k];

		err = interop_buf_make(&ep->slot[k].buf, who, w, t->pz,
				       op->segs * interop_stride(op->seg_size),
				       privileges(op, interop_is_ours(t, op)));
	}
	return err;
}

/* Post the first receives of a connection */
static int post_first(void *data)
{
	struct interop_trans_ep *ep = data;

	return interop_post_recv(&ep->link, &ep->regions_in, 1, DT_REGIONS_SIZE,
				 &ep->regions_number) ?:
	       interop_post_recv(&ep->link, &ep->sync_in, 1, DT_SYNC_SIZE,
				 &ep->sync_number);
}

static int make_ep(struct interop_thread *th, struct interop_trans_ep *ep, u32 index)
{
	struct interop_test *t = th->test;
	struct interop_link_spec spec = {
		.recvs = t->task.num_ops + SPARE_DTOS,
		.requests = t->task.num_ops + SPARE_DTOS,
		.iov = INTEROP_MAX_SEGS,
		.mode = th->index & 1 ? INTEROP_NOTIFY : INTEROP_UPCALL,
	};
	u32 port = t->first_port + th->index * t->task.eps + index;
	int err;

	if (t->task.poll)
		spec.mode = INTEROP_POLL;
	scnprintf(ep->link.name, sizeof(ep->link.name), "%s %u",
		  t->server ? "server" : "client", port);
	err = interop_link_make(&ep->link, t->fx, t->pz, &spec) ?: make_buffers(t, ep);
	if (err || !t->server)
		return err;
	return post_first(ep) ?:
	       interop_listen(&ep->listener, ep->link.name, t->fx, port,
			      t->task.rsp ? ep->link.ep : DAT_HANDLE_NULL, spec.mode);
}

static void free_ep(struct interop_trans_ep *ep, u32 num_ops)
{
	char name[sizeof(ep->link.name)];
	u32 k;

	strscpy(name, ep->link.name, sizeof(name));
	interop_unlisten(&ep->listener);
	interop_link_free(&ep->link);
	interop_buf_free(&ep->regions_out, name);
	interop_buf_free(&ep->regions_in, name);
	interop_buf_free(&ep->sync_out, name);
	interop_buf_free(&ep->sync_in, name);
	for (k = 0; k < num_ops; k++)
		interop_buf_free(&ep->slot[k].buf, name);
}

/* Send the memory regions that are targets of the peer's operations */
static int tell_regions(struct interop_test *t, struct interop_trans_ep *ep)
{
	struct dt_region *region = (struct dt_region *)ep->regions_out.data;
	u32 k;

	memset(region, 0, DT_REGIONS_SIZE);
	for (k = 0; k < t->task.num_ops; k++) {
		const struct interop_op *op = &t->task.op[k];

		if (op->transfer == DT_SEND_RECV || interop_is_ours(t, op))
			continue;
		region[k].context = cpu_to_le32(ep->slot[k].buf.remote);
		region[k].address = cpu_to_le64(ep->slot[k].buf.address);
	}
	return interop_send_and_reap(&ep->link, &ep->regions_out, DT_REGIONS_SIZE);
}

static int hear_regions(struct interop_test *t, struct interop_trans_ep *ep)
{
	const struct dt_region *region = (const struct dt_region *)ep->regions_in.data;
	int err = interop_wait(&ep->link, INTEROP_WANT_RECV, ep->regions_number);
	u32 k;

	for (k = 0; k < t->task.num_ops && !err; k++) {
		const struct interop_op *op = &t->task.op[k];
		bool wanted = op->transfer != DT_SEND_RECV && interop_is_ours(t, op);

		ep->slot[k].remote_context = le32_to_cpu(region[k].context);
		ep->slot[k].remote_address = le64_to_cpu(region[k].address);
		if (wanted != !!region[k].address)
			interop_fail(ep->link.name, "region %u: expected %s address", k,
				     wanted ? "an" : "no");
	}
	return err;
}

/* The client sends first, because some devices require it */
static int join_ep(struct interop_test *t, struct interop_trans_ep *ep, u32 port)
{
	DAT_CR_HANDLE cr;
	int err;

	if (!t->server) {
		err = interop_connect(&ep->link, t->address, port, DT_PRIVATE_DATA,
				      post_first, ep);
		if (err == -ECONNREFUSED)
			interop_fail(ep->link.name, "expected the server to accept, it refused");
		return err ?: tell_regions(t, ep) ?: hear_regions(t, ep);
	}
	err = interop_request(&ep->listener, &cr, INTEROP_WAIT_MS) ?:
	      interop_accept(&ep->link, &ep->listener, cr, DT_PRIVATE_DATA);
	if (err == -ECONNABORTED)
		interop_fail(ep->link.name, "expected a connection, the client withdrew");
	interop_unlisten(&ep->listener);
	return err ?: hear_regions(t, ep) ?: tell_regions(t, ep);
}

/* ---- first and last messages --------------------------------------------- */

static int send_syncs(struct interop_test *t, struct interop_trans_ep *eps)
{
	u32 number[INTEROP_MAX_EPS];
	int err = 0;
	u32 j;

	for (j = 0; j < t->task.eps && !err; j++)
		err = interop_post_send(&eps[j].link, &eps[j].sync_out, 1, DT_SYNC_SIZE,
					&number[j]);
	for (j = 0; j < t->task.eps && !err; j++)
		err = interop_wait(&eps[j].link, INTEROP_WANT_REQUEST, number[j]);
	return err;
}

static int await_syncs(struct interop_test *t, struct interop_trans_ep *eps)
{
	int err = 0;
	u32 j;

	for (j = 0; j < t->task.eps && !err; j++)
		err = interop_wait(&eps[j].link, INTEROP_WANT_RECV, eps[j].sync_number);
	return err;
}

/* The server sends first; the client answers after all its threads have received it */
static int first_syncs(struct interop_test *t, struct interop_trans_ep *eps)
{
	int err;

	if (t->server)
		return send_syncs(t, eps) ?: await_syncs(t, eps);
	err = await_syncs(t, eps);
	if (err)
		return err;
	atomic_inc(&t->synced);
	wake_up(&t->wait);
	return interop_test_wait(t, &t->synced, t->task.threads) ?: send_syncs(t, eps);
}

/*
 * The peer may end the connection after its last message: for a client, the answer
 * to the last message of the server.
 */
static void allow_end(struct interop_test *t, struct interop_trans_ep *eps)
{
	u32 j;

	for (j = 0; j < t->task.eps; j++) {
		spin_lock_bh(&eps[j].link.lock);
		eps[j].link.may_end = true;
		spin_unlock_bh(&eps[j].link.lock);
	}
}

static int last_syncs(struct interop_test *t, struct interop_trans_ep *eps)
{
	int err;

	if (t->server) {
		allow_end(t, eps);
		return send_syncs(t, eps) ?: await_syncs(t, eps);
	}
	err = await_syncs(t, eps);
	if (err)
		return err;
	allow_end(t, eps);
	return send_syncs(t, eps);
}

/* ---- the whole test ------------------------------------------------------ */

static int run_all(struct interop_thread *th, struct interop_trans_ep *eps)
{
	struct interop_test *t = th->test;
	u32 port = t->first_port + th->index * t->task.eps;
	int err = 0, late;
	u32 j;

	for (j = 0; j < t->task.eps && !err; j++)
		err = make_ep(th, &eps[j], j);
	if (err)
		return err;
	atomic_inc(&t->ready);
	wake_up(&t->wait);
	for (j = 0; j < t->task.eps && !err; j++)
		err = join_ep(t, &eps[j], port + j);
	if (!err)
		err = interop_ops_post_recvs(t, eps);
	if (!err && t->task.validate)
		interop_ops_fill(t, eps, 0);
	if (!err)
		err = first_syncs(t, eps) ?: interop_ops_run(t, eps) ?:
		      last_syncs(t, eps);
	for (j = 0; j < t->task.eps; j++) {
		if (!eps[j].link.ep)
			continue;
		late = interop_part(&eps[j].link, t->server && !err);
		err = err ?: late;
	}
	return err;
}

/**
 * interop_trans_run - run one thread of a transaction test
 * @th: the thread
 *
 * Context: process.
 * Return: 0; an error, which is recorded unless it is -ENOMEM or -EINTR.
 */
int interop_trans_run(struct interop_thread *th)
{
	struct interop_test *t = th->test;
	struct interop_trans_ep *eps;
	int err;
	u32 j;

	eps = kvcalloc(t->task.eps, sizeof(*eps), GFP_KERNEL);
	if (!eps)
		return -ENOMEM;
	err = run_all(th, eps);
	for (j = 0; j < t->task.eps; j++)
		free_ep(&eps[j], t->task.num_ops);
	kvfree(eps);
	return err;
}
