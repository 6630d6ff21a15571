// SPDX-License-Identifier: GPL-2.0
/*
 * Invalid arguments in the loopback test. Each posting call is made with one invalid
 * argument at a time on a connected EP. It must return the type that the contract names
 * and post nothing, and the connection must still work. This tests a sample; the KUnit
 * suites have the full table. Process context.
 */
#include <linux/slab.h>

#include "kdapl_loop.h"

#define ARGS_SEGS	4
#define ARGS_LEN	256
#define NO_COOKIE	0x00000000deadbeefULL	/* tag 0, which no queue uses */

/* One call, valid until one argument is made invalid. */
struct args_call {
	enum loop_kind kind;
	bool shared;
	DAT_HANDLE handle;
	DAT_COUNT n;
	DAT_LMR_TRIPLET iov[LOOP_MAX_SEGS + 1];
	DAT_LMR_TRIPLET *list;
	DAT_RMR_TRIPLET remote;
	DAT_RMR_TRIPLET *target;
	DAT_COMPLETION_FLAGS flags;
};

struct args_test {
	struct loop_fixture *fx;
	struct args_call good;
	struct args_call call;
	struct loop_arena *local;
	DAT_LMR_CONTEXT dead_context;
	DAT_EP_HANDLE dead_ep;
	DAT_PZ_HANDLE other_pz;
	DAT_LMR_HANDLE other_lmr;
	DAT_LMR_CONTEXT other_context;
	void *other_mem;
};

static DAT_RETURN make_call(struct args_call *x)
{
	DAT_DTO_COOKIE cookie = { .as_64 = NO_COOKIE };

	switch (x->kind) {
	case LOOP_K_SEND:
		return dat_ep_post_send(x->handle, x->n, x->list, cookie, x->flags);
	case LOOP_K_WRITE:
		return dat_ep_post_rdma_write(x->handle, x->n, x->list, cookie,
					      x->target, x->flags);
	case LOOP_K_READ:
		return dat_ep_post_rdma_read(x->handle, x->n, x->list, cookie,
					     x->target, x->flags);
	default:
		if (x->shared)
			return dat_srq_post_recv(x->handle, x->n, x->list, cookie);
		return dat_ep_post_recv(x->handle, x->n, x->list, cookie, x->flags);
	}
}

/* Makes the call with its invalid argument, then restores the valid one. */
static void try(struct args_test *t, const char *what, u32 type)
{
	loop_expect(t->fx->c, what, make_call(&t->call), type);
	t->fx->c->posts++;
	t->call = t->good;
	t->call.list = t->call.iov;
	t->call.target = &t->call.remote;
}

static bool is_rdma(const struct args_test *t)
{
	return t->good.kind == LOOP_K_WRITE || t->good.kind == LOOP_K_READ;
}

static void try_handles(struct args_test *t)
{
	t->call.handle = DAT_HANDLE_NULL;
	try(t, "handle NULL", DAT_INVALID_HANDLE);
	t->call.handle = (DAT_HANDLE)0x123456789abcdef0UL;
	try(t, "random handle", DAT_INVALID_HANDLE);
	t->call.handle = (DAT_HANDLE)t->fx;
	try(t, "address for a handle", DAT_INVALID_HANDLE);
	t->call.handle = t->fx->run->t.pz;
	try(t, "handle of a PZ", DAT_INVALID_HANDLE);
	t->call.handle = t->good.shared ? t->fx->b[0].ep : t->fx->b[0].conn->handle;
	try(t, "handle of another kind", DAT_INVALID_HANDLE);
	t->call.handle = t->dead_ep;
	try(t, "handle of an EP that was freed", DAT_INVALID_HANDLE);
	t->call.handle = t->dead_ep;
	t->call.n = -1;
	t->call.iov[0].lmr_context = ~0U;
	try(t, "dead handle and other faults", DAT_INVALID_HANDLE);
}

static void try_counts(struct args_test *t)
{
	u32 i;

	t->call.n = -1;
	try(t, "-1 segments", DAT_INVALID_PARAMETER);
	for (i = 1; i <= ARGS_SEGS; i++)
		t->call.iov[i] = t->call.iov[0];
	t->call.n = ARGS_SEGS + 1;
	try(t, "one segment too many", DAT_INVALID_PARAMETER);
	t->call.list = NULL;
	try(t, "one segment, no iov", DAT_INVALID_PARAMETER);
}

static void try_flags(struct args_test *t)
{
	if (t->good.shared)
		return;
	t->call.flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	try(t, "flag EVD_THRESHOLD", DAT_INVALID_PARAMETER);
	t->call.flags = 0x40;
	try(t, "unknown flag", DAT_INVALID_PARAMETER);
	t->call.flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	try(t, "flag UNSIGNALLED on an EP without it", DAT_INVALID_PARAMETER);
	if (t->good.kind == LOOP_K_SEND)
		return;
	t->call.flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	try(t, "flag SOLICITED_WAIT", DAT_INVALID_PARAMETER);
	if (is_rdma(t))
		return;
	t->call.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	try(t, "flag SUPPRESS on a receive", DAT_INVALID_PARAMETER);
}

static void try_segments(struct args_test *t, struct loop_arena *wrong)
{
	/* The first chunk of an arena, without one byte at each end, is the first LMR. */
	struct loop_chunk *ch = &t->local->chunk[0];

	t->call.iov[0].lmr_context = ~0U;
	try(t, "unknown LMR context", DAT_PRIVILEGES_VIOLATION);
	t->call.iov[0].lmr_context = t->dead_context;
	try(t, "context of an LMR that was freed", DAT_PRIVILEGES_VIOLATION);
	loop_slot_iov(&wrong->slot[0], t->call.iov);
	t->call.iov[0].segment_length = ARGS_LEN;
	try(t, "LMR without the privilege", DAT_PRIVILEGES_VIOLATION);
	t->call.iov[0].lmr_context = t->other_context;
	t->call.iov[0].virtual_address = (uintptr_t)t->other_mem;
	try(t, "LMR of another PZ", DAT_PROTECTION_VIOLATION);
	t->call.iov[0].virtual_address = (uintptr_t)ch->mem;
	try(t, "segment that begins before its LMR", DAT_INVALID_PARAMETER);
	t->call.iov[0].virtual_address = (uintptr_t)ch->mem + 1;
	t->call.iov[0].segment_length = ch->len - 1;
	try(t, "segment beyond its LMR", DAT_INVALID_PARAMETER);
	t->call.iov[0].virtual_address = ~0ULL - 16;
	try(t, "segment that wraps", DAT_INVALID_PARAMETER);
}

static void try_remote(struct args_test *t)
{
	if (!is_rdma(t))
		return;
	t->call.target = NULL;
	try(t, "no remote triplet", DAT_INVALID_PARAMETER);
	if (t->good.kind == LOOP_K_WRITE)
		t->call.remote.segment_length = ARGS_LEN - 1;
	else
		t->call.remote.segment_length = ARGS_LEN + 1;
	try(t, "remote length against local length", DAT_LENGTH_ERROR);
}

static int make_dead_ep(struct args_test *t)
{
	struct loop_side *a = &t->fx->a[0];
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	if (!loop_expect(t->fx->c, "kdat_ep_attr_default",
			 kdat_ep_attr_default(t->fx->run->t.ia, &attr), DAT_SUCCESS))
		return -EIO;
	ret = dat_ep_create(t->fx->run->t.ia, t->fx->run->t.pz, a->recv->handle,
			    a->req->handle, a->conn->handle, &attr, &t->dead_ep);
	if (!loop_expect(t->fx->c, "dat_ep_create with default attributes", ret, DAT_SUCCESS))
		return -EIO;
	return loop_expect(t->fx->c, "dat_ep_free", dat_ep_free(t->dead_ep),
			   DAT_SUCCESS) ? 0 : -EIO;
}

static bool make_lmr(struct args_test *t, DAT_PZ_HANDLE pz, DAT_LMR_HANDLE *lmr,
		     DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = t->other_mem };
	DAT_RMR_CONTEXT rmr;
	DAT_VLEN len;
	DAT_VADDR addr;

	return loop_expect(t->fx->c, "dat_lmr_kcreate",
			   dat_lmr_kcreate(t->fx->run->t.ia, DAT_MEM_TYPE_VIRTUAL, region,
					   ARGS_LEN, pz, DAT_MEM_PRIV_ALL_FLAG,
					   DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
					   lmr, context, &rmr, &len, &addr),
			   DAT_SUCCESS);
}

/* An LMR in another zone, and the context of one that was freed. */
static int make_lmrs(struct args_test *t)
{
	DAT_LMR_HANDLE dead;

	t->other_mem = kzalloc(ARGS_LEN, GFP_KERNEL);
	if (!t->other_mem)
		return -ENOMEM;
	if (!make_lmr(t, t->fx->run->t.pz, &dead, &t->dead_context) ||
	    !loop_expect(t->fx->c, "dat_lmr_free", dat_lmr_free(dead), DAT_SUCCESS) ||
	    !loop_expect(t->fx->c, "dat_pz_create",
			 dat_pz_create(t->fx->run->t.ia, &t->other_pz), DAT_SUCCESS))
		return -EIO;
	return make_lmr(t, t->other_pz, &t->other_lmr, &t->other_context) ? 0 : -EIO;
}

static void end_test(struct args_test *t)
{
	if (t->other_lmr)
		loop_expect(t->fx->c, "dat_lmr_free", dat_lmr_free(t->other_lmr), DAT_SUCCESS);
	if (t->other_pz)
		loop_expect(t->fx->c, "dat_pz_free", dat_pz_free(t->other_pz), DAT_SUCCESS);
	kfree(t->other_mem);
}

/* The valid call that each test modifies. */
static void make_good(struct args_test *t, struct loop_arena *local)
{
	struct args_call *x = &t->good;
	struct loop_side *a = &t->fx->a[0], *b = &t->fx->b[0];
	struct loop_arena *far = x->kind == LOOP_K_WRITE ? b->dst : b->src;

	if (x->kind == LOOP_K_RECV)
		x->handle = x->shared ? t->fx->srq : b->ep;
	else
		x->handle = a->ep;
	t->local = local;
	loop_slot_iov(&local->slot[0], x->iov);
	x->iov[0].segment_length = ARGS_LEN;
	x->n = 1;
	x->remote.virtual_address = far->slot[0].area[0].va + LOOP_GUARD;
	x->remote.segment_length = ARGS_LEN;
	x->remote.rmr_context = far->slot[0].area[0].rmr;
	t->call = *x;
	t->call.list = t->call.iov;
	t->call.target = &t->call.remote;
}

static bool all_arrived(struct loop_fixture *fx)
{
	return loop_all_back(fx) && !fx->srq_rx.out;
}

/* Afterwards one message of each kind must be transferred. */
static int use_connection(struct loop_fixture *fx)
{
	bool shared = fx->cfg.op == LOOP_SRQ;
	int err;

	spin_lock_bh(&fx->lock);
	loop_post_recvs(&fx->b[0], 2, DAT_COMPLETION_DEFAULT_FLAG);
	if (!shared) {
		loop_post_requests(&fx->a[0], LOOP_K_WRITE, 1, fx->cfg.size, 0);
		loop_post_requests(&fx->a[0], LOOP_K_READ, 1, fx->cfg.size, 0);
	}
	loop_post_requests(&fx->a[0], LOOP_K_SEND, 2, fx->cfg.size, 0);
	spin_unlock_bh(&fx->lock);
	err = loop_wait(fx, all_arrived, LOOP_QUIET_MS);
	if (err == -ETIMEDOUT)
		loop_fail(fx->c, "connection after invalid calls: expected messages, none arrived");
	return err;
}

static void try_all(struct args_test *t)
{
	struct loop_side *a = &t->fx->a[0], *b = &t->fx->b[0];
	struct loop_arena *wrong = a->src;

	/* Memory that is written needs another privilege than memory that is read. */
	if (t->good.kind == LOOP_K_RECV) {
		make_good(t, t->good.shared ? &t->fx->srq_dst : b->dst);
	} else if (t->good.kind == LOOP_K_READ) {
		make_good(t, a->dst);
	} else {
		make_good(t, a->src);
		wrong = a->dst;
	}
	try_handles(t);
	try_segments(t, wrong);
	try_counts(t);
	try_flags(t);
	try_remote(t);
}

/**
 * loop_case_args - invalid arguments of a posting call
 * @run: the run
 * @c: the case; its variant is the kind of post
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_args(struct loop_run *run, struct loop_case *c)
{
	struct loop_cfg cfg = {
		.op = c->op,
		.mode = LOOP_UPCALL,
		.size = c->size,
		.segs = ARGS_SEGS,
		.depth = c->depth,
		.conns = 1,
		.both = true,
	};
	static const char * const ids[] = {
		"G-24 S-22 S-28 S-38 S-39 S-40 S-41 S-42",
		"G-24 W-05 W-08 W-16 W-18 W-26 W-27 W-28 W-29",
		"G-24 D-04 D-06 D-09 D-13 D-14 D-21",
		"G-24 R-14 R-16 R-36 R-37 R-38 R-39 R-40",
	};
	struct args_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);
	int err = -EIO;

	if (!t)
		return -ENOMEM;
	t->good.kind = c->variant;
	t->good.shared = c->op == LOOP_SRQ;
	t->fx = loop_fixture_make(run, c, &cfg);
	if (!t->fx)
		goto out;
	err = make_dead_ep(t);
	if (!err)
		err = make_lmrs(t);
	if (!err)
		err = loop_fixture_connect(t->fx);
	if (!err) {
		try_all(t);
		err = use_connection(t->fx);
	}
	if (!err)
		err = loop_fixture_disconnect(t->fx, DAT_CLOSE_GRACEFUL_FLAG);
	end_test(t);
	loop_fixture_end(t->fx);
	loop_clauses(c, "G-01 G-16 G-17 G-18 G-22 G-23 G-35");
	loop_clauses(c, t->good.shared ? "Q-23 Q-25 Q-26 Q-27" : ids[c->variant]);
out:
	kvfree(t);
	return err;
}
