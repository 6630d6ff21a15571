// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test about errors that the peer detects, and connections that
 * cannot be established. Both ends are checked: the status, one disconnect event each,
 * the flush of later posts, and memory that must be unchanged. Process context.
 */
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "conn_pair.h"

enum trap { TRAP_ZONE, TRAP_PRIVILEGE, TRAP_KEY, TRAP_BEHIND, TRAP_IN_FRONT, TRAPS };

static const char * const trap_name[TRAPS] = {
	"key of another zone", "key without the privilege", "key of nothing",
	"range that ends after its region", "range that begins before its region",
};

struct sprung {
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_TRIPLET target;
};

static bool set_trap(struct pair_end *b, enum trap what, bool read, struct sprung *s)
{
	DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_ALL_FLAG;
	struct loop_case *c = b->pair->c;
	DAT_LMR_CONTEXT context;

	s->target = pair_target(b, 1024, 16);
	if (what == TRAP_PRIVILEGE)
		priv &= ~(read ? DAT_MEM_PRIV_REMOTE_READ_FLAG : DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	if (what == TRAP_ZONE &&
	    !loop_expect(c, "dat_pz_create", dat_pz_create(b->pair->run->t.ia, &s->pz),
			 DAT_SUCCESS))
		return false;
	if (what <= TRAP_PRIVILEGE)
		return pair_register(b, s->pz ?: b->pz, 0, PAIR_MEM, priv, &s->lmr, &context,
				     &s->target.rmr_context);
	if (what == TRAP_KEY)
		s->target.rmr_context ^= 0x5a5a5a00;
	else if (what == TRAP_BEHIND)
		s->target.virtual_address = (uintptr_t)b->mem + PAIR_MEM - 8;
	else
		s->target.virtual_address = (uintptr_t)b->mem - 8;
	return true;
}

static void clear_trap(struct pair *d, struct sprung *s)
{
	if (s->lmr)
		loop_expect(d->c, "dat_lmr_free", dat_lmr_free(s->lmr), DAT_SUCCESS);
	if (s->pz)
		loop_expect(d->c, "dat_pz_free", dat_pz_free(s->pz), DAT_SUCCESS);
}

/* A BROKEN end reports its cause (G-36); a DISCONNECTED end reports none. */
static void expect_cause(struct pair_end *e)
{
	DAT_EP_PARAM param = {};
	const char *text = NULL;
	DAT_COUNT i;

	if (!loop_expect(e->pair->c, "dat_ep_query",
			 dat_ep_query(e->ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS))
		return;
	for (i = 0; i < param.ep_attr.ep_provider_specific_count; i++)
		if (!strcmp(param.ep_attr.ep_provider_specific[i].name, "kdapl.first_error"))
			text = param.ep_attr.ep_provider_specific[i].value;
	if (!text || !strcmp(text, "none"))
		loop_fail(e->pair->c, "%s: kdapl.first_error is %s", e->name, text ?: "not there");
}

/*
 * A accesses memory of B without permission. If B has posted receives, their flush may
 * reach B first, and then B's disconnect may reach A before the error does. A must report
 * the cause nevertheless.
 */
static void reach(struct pair *d, enum trap what, bool read, bool receives)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_LMR_TRIPLET seg = pair_seg(a, 0, 16);
	struct sprung s = {};
	u64 i;

	if (!set_trap(b, what, read, &s))
		goto out;
	for (i = 0; receives && i < 2; i++)
		pair_recv1(b, 100 * i, 16, i, 0);
	if (read)
		pair_read(a, 1, &seg, 1, &s.target, 0);
	else
		pair_write(a, 1, &seg, 1, &s.target, 0);
	pair_send1(a, 0, 16, 2, 0);
	pair_dto(a, read ? DAT_DTO_RDMA_READ : DAT_DTO_RDMA_WRITE, 1, DAT_DTO_ERR_REMOTE_ACCESS, 0,
		 PAIR_UPCALL);
	pair_dto(a, DAT_DTO_SEND, 2, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	if (pair_ended(a, true))
		expect_cause(a);
	pair_ended(b, false);
	for (i = 0; receives && i < 2; i++)
		pair_dto(b, DAT_DTO_RECEIVE, i, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	pair_expect_free(a, trap_name[what], 0, PAIR_MEM);
	pair_expect_free(b, trap_name[what], 0, PAIR_MEM);
	pair_settle(d, 50);
	pair_expect_no_event(d, trap_name[what]);
out:
	clear_trap(d, &s);
}

/**
 * loop_case_reach - RDMA to memory that the peer has not granted
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_reach(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	u32 i;

	for (i = 0; i < 4 * TRAPS; i++) {
		struct pair *d;
		int err;

		/* With receives, one kind of error is enough. */
		if (i & 2 && i / 4)
			continue;
		d = pair_make(run, c, &cfg);
		if (!d)
			return -EIO;
		err = pair_connect(d);
		if (!err)
			reach(d, i / 4, i & 1, i & 2);
		if (c->verdict.failures)
			loop_fail(c, "that was: %s, %s%s", trap_name[i / 4],
				  i & 1 ? "read" : "write", i & 2 ? ", with receives" : "");
		pair_end(d);
		if (err || c->verdict.failures)
			return err;
	}
	loop_clauses(c, "C-30 C-60 W-30 W-31 W-32 D-15 G-31 G-36");
	return 0;
}

/* A message one byte too long, for a receive of @room bytes. */
static void too_long(struct pair *d, u32 room)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_LMR_TRIPLET seg = pair_seg(b, 100, room);

	pair_fill(a, 0, 32, 1);
	pair_recv(b, room ? 1 : 0, room ? &seg : NULL, 1, 0);
	pair_recv1(b, 200, 32, 2, 0);
	pair_send1(a, 0, room + 1, 3, 0);
	pair_send1(a, 0, 8, 4, 0);
	pair_dto(b, DAT_DTO_RECEIVE, 1, DAT_DTO_LENGTH_ERROR, 0, PAIR_UPCALL);
	pair_dto(b, DAT_DTO_RECEIVE, 2, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	pair_dto(a, DAT_DTO_SEND, 3, DAT_DTO_ERR_REMOTE_RESPONDER, 0, PAIR_UPCALL);
	pair_dto(a, DAT_DTO_SEND, 4, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	if (pair_ended(b, true))
		expect_cause(b);
	if (pair_ended(a, true))
		expect_cause(a);
	pair_expect_free(b, "a message that is too long", 100 + room, PAIR_MEM - 100 - room);
	pair_settle(d, 50);
	pair_expect_no_event(d, "a message that is too long");
}

static void too_long_script(struct pair *d)
{
	too_long(d, 8);
}

static void any_is_too_long_script(struct pair *d)
{
	too_long(d, 0);
}

/**
 * loop_case_long - messages longer than the receive
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_long(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err;

	err = pair_play(run, c, &cfg, too_long_script);
	if (!err)
		err = pair_play(run, c, &cfg, any_is_too_long_script);
	loop_clauses(c, "S-48 R-08 R-20 R-22 G-31 G-36");
	return err;
}

/* A's connection attempt fails: its receives are flushed, in order. */
static void flushed_by(struct pair *d, DAT_EVENT_NUMBER outcome)
{
	struct pair_end *a = &d->a[0];
	u64 i;

	pair_conn(a, outcome);
	for (i = 1; i <= 3; i++)
		pair_dto(a, DAT_DTO_RECEIVE, i, DAT_DTO_ERR_FLUSHED, 0,
			 i == 1 ? PAIR_UPCALL : PAIR_ANY_UPCALL);
	pair_expect_state(a, DAT_EP_STATE_DISCONNECTED);
	pair_settle(d, 50);
	pair_expect_no_event(d, "an attempt that failed");
	/* As in any EP that is DISCONNECTED. */
	pair_recv1(a, 0, 16, 9, 0);
	pair_dto(a, DAT_DTO_RECEIVE, 9, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
}

static void attempt(struct pair *d, DAT_EVENT_NUMBER outcome)
{
	struct loop_run *run = d->run;
	DAT_TIMEOUT us = outcome == DAT_CONNECTION_EVENT_TIMED_OUT ? 300000 : 20000000;
	DAT_CR_HANDLE cr = DAT_HANDLE_NULL;
	DAT_CONN_QUAL qual = run->qual;
	u64 i;

	for (i = 1; i <= 2; i++)
		pair_recv1(&d->a[0], 64 * i, 16, i, 0);
	if (outcome == DAT_CONNECTION_EVENT_NON_PEER_REJECTED)
		run->qual = 9;		/* no listener */
	if (pair_call(d, 0, us)) {
		if (outcome != DAT_CONNECTION_EVENT_NON_PEER_REJECTED)
			cr = pair_called(d);
		pair_recv1(&d->a[0], 64 * 3, 16, 3, 0);
		if (outcome == DAT_CONNECTION_EVENT_PEER_REJECTED && cr)
			loop_expect(d->c, "dat_cr_reject", dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
		flushed_by(d, outcome);
	}
	if (outcome == DAT_CONNECTION_EVENT_TIMED_OUT && cr)
		loop_expect(d->c, "dat_cr_reject", dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	run->qual = qual;
}

/**
 * loop_case_attempts - connections that cannot be established
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_attempts(struct loop_run *run, struct loop_case *c)
{
	static const DAT_EVENT_NUMBER outcome[] = {
		DAT_CONNECTION_EVENT_PEER_REJECTED, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		DAT_CONNECTION_EVENT_TIMED_OUT,
	};
	struct pair_cfg cfg = {};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(outcome); i++) {
		struct pair *d = pair_make(run, c, &cfg);

		if (!d)
			return -EIO;
		attempt(d, outcome[i]);
		pair_end(d);
		if (READ_ONCE(run->abort))
			return -EINTR;
	}
	loop_clauses(c, "C-22 C-40 R-23 R-27 R-30");
	return 0;
}

/* The memory of a posted receive is unregistered. */
static void freed_receive_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_LMR_TRIPLET seg = pair_seg(b, 0, 64);
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT key;

	if (!pair_register(b, b->pz, 0, PAIR_MEM, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr,
			   &seg.lmr_context, &key))
		return;
	pair_recv(b, 1, &seg, 1, 0);
	pair_recv1(b, 200, 64, 2, 0);
	loop_expect(d->c, "dat_lmr_free", dat_lmr_free(lmr), DAT_SUCCESS);
	pair_fill(a, 0, 64, 1);
	pair_send1(a, 0, 64, 3, 0);
	pair_dto(b, DAT_DTO_RECEIVE, 1, PAIR_FAILED, 0, PAIR_UPCALL);
	pair_dto(b, DAT_DTO_RECEIVE, 2, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	pair_ended(b, false);
	pair_dto(a, DAT_DTO_SEND, 3, PAIR_FAILED, 0, PAIR_ANY_UPCALL);
	pair_ended(a, false);
	pair_expect_free(b, "memory of an LMR that was freed", 0, PAIR_MEM);
}

/* The peer uses a key that was freed a moment ago. */
static void freed_key_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_LMR_TRIPLET seg = pair_seg(a, 0, 64);
	DAT_RMR_TRIPLET to = pair_target(b, 0, 64);
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	if (!pair_register(b, b->pz, 0, PAIR_MEM, DAT_MEM_PRIV_ALL_FLAG, &lmr, &context,
			   &to.rmr_context))
		return;
	pair_fill(a, 0, 64, 1);
	pair_write(a, 1, &seg, 1, &to, 0);
	pair_dto(a, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS, 64, PAIR_UPCALL);
	pair_expect_bytes(b, "a key that is good", 0, 64, 1);
	loop_expect(d->c, "dat_lmr_free", dat_lmr_free(lmr), DAT_SUCCESS);
	pair_clear(b);
	pair_write(a, 1, &seg, 2, &to, 0);
	pair_dto(a, DAT_DTO_RDMA_WRITE, 2, DAT_DTO_ERR_REMOTE_ACCESS, 0, PAIR_UPCALL);
	pair_ended(a, true);
	pair_ended(b, false);
	pair_expect_free(b, "memory of an LMR that was freed", 0, PAIR_MEM);
}

/* How large a region this device can register. */
static void sizes(struct loop_run *run, struct loop_case *c)
{
	u64 max = run->t.attr.max_lmr_block_size;
	struct { u64 off, len; bool good; } size[] = {
		{ 0, max, true }, { 1, max, true }, { PAGE_SIZE - 1, max, true },
		{ 0, max + PAGE_SIZE, true }, { 0, max + PAGE_SIZE + 1, false },
		{ 1, max + PAGE_SIZE, false },
	};
	u8 *mem = vmalloc(max + 3 * PAGE_SIZE);
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR addr;
	DAT_VLEN len;
	u32 i;

	if (!mem) {
		loop_fail(c, "no memory for %llu bytes", max);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		region.for_va = mem + size[i].off;
		if (loop_expect(c, "dat_lmr_kcreate at the limit",
				dat_lmr_kcreate(run->t.ia, DAT_MEM_TYPE_VIRTUAL, region,
						size[i].len, run->t.pz, DAT_MEM_PRIV_ALL_FLAG,
						DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &lmr,
						&context, &key, &len, &addr),
				size[i].good ? DAT_SUCCESS : DAT_INVALID_PARAMETER) &&
		    size[i].good)
			loop_expect(c, "dat_lmr_free", dat_lmr_free(lmr), DAT_SUCCESS);
	}
	vfree(mem);
}

/**
 * loop_case_regions - memory that is unregistered, and the largest region
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_regions(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err;

	err = pair_play(run, c, &cfg, freed_receive_script);
	if (!err)
		err = pair_play(run, c, &cfg, freed_key_script);
	if (!err)
		sizes(run, c);
	loop_clauses(c, "L-04 L-05");
	return err;
}
