// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test about keys that become valid and invalid: RMRs that are
 * bound and rebound, and messages that invalidate. B owns the memory; A is the peer that
 * accesses it, with or without permission. The memory is compared byte by byte. Process
 * context.
 */
#include <linux/string.h>

#include "adversary.h"

#define FIRST	1024	/* two ranges of B's memory, and their length */
#define SECOND	5000
#define RANGE	256
#define RIGHTS	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

struct remote {
	struct pair *d;
	struct pair_end *a, *b;
	DAT_RMR_HANDLE rmr;
};

/* The RMR is freed before the pair, because it uses the pair's zone and LMR. */
static bool begin(struct remote *r, struct pair *d)
{
	r->d = d;
	r->a = &d->a[0];
	r->b = &d->b[0];
	r->rmr = DAT_HANDLE_NULL;
	return loop_expect(d->c, "dat_rmr_create", dat_rmr_create(r->b->pz, &r->rmr), DAT_SUCCESS);
}

static void end(struct remote *r)
{
	loop_expect(r->d->c, "dat_rmr_free", dat_rmr_free(r->rmr), DAT_SUCCESS);
}

DAT_RMR_CONTEXT pair_bind(struct pair_end *e, DAT_RMR_HANDLE rmr, struct pair_end *by, u32 off,
			  u32 len, DAT_MEM_PRIV_FLAGS priv, u64 cookie, u32 flags)
{
	DAT_LMR_TRIPLET seg = pair_seg(e, off, len);
	DAT_RMR_COOKIE c = { .as_64 = cookie };
	DAT_RMR_CONTEXT key = 0;

	loop_expect(e->pair->c, "dat_rmr_bind",
		    dat_rmr_bind(rmr, e->lmr, &seg, priv, DAT_VA_TYPE_VA, by->ep, c, flags, &key),
		    DAT_SUCCESS);
	e->pair->c->posts++;
	return key;
}

static DAT_RMR_CONTEXT bind(struct remote *r, struct pair_end *by, u32 off, u32 len, u32 priv,
			    u64 cookie, u32 flags)
{
	return pair_bind(r->b, r->rmr, by, off, len, priv, cookie, flags);
}

static DAT_RMR_CONTEXT bound(struct remote *r, u32 off, u64 cookie)
{
	DAT_RMR_CONTEXT key = bind(r, r->b, off, RANGE, RIGHTS, cookie, 0);

	pair_dto(r->b, DAT_DTO_BIND_MW, cookie, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	return key;
}

static void expect_bound(struct remote *r, DAT_RMR_CONTEXT key)
{
	DAT_RMR_PARAM param = {};

	loop_expect(r->d->c, "dat_rmr_query", dat_rmr_query(r->rmr, DAT_RMR_FIELD_ALL, &param),
		    DAT_SUCCESS);
	if (param.rmr_context != key || !param.lmr_triplet.segment_length != !key)
		loop_fail(r->d->c, "dat_rmr_query: key %#x, expected %#x", param.rmr_context,
			  key);
}

static DAT_RMR_TRIPLET target(struct remote *r, u32 off, u32 len, DAT_RMR_CONTEXT key)
{
	DAT_RMR_TRIPLET t = pair_target(r->b, off, len);

	t.rmr_context = key;
	return t;
}

/* A writes and reads back with a valid key. */
static void good(struct remote *r, u32 off, DAT_RMR_CONTEXT key, u8 seed)
{
	DAT_LMR_TRIPLET out = pair_seg(r->a, 0, RANGE), in = pair_seg(r->a, 512, RANGE);
	DAT_RMR_TRIPLET t = target(r, off, RANGE, key);

	if (!pair_ok(r->d))
		return;
	pair_fill(r->a, 0, RANGE, seed);
	pair_write(r->a, 1, &out, 101, &t, 0);
	pair_dto(r->a, DAT_DTO_RDMA_WRITE, 101, DAT_DTO_SUCCESS, RANGE, PAIR_UPCALL);
	pair_expect_bytes(r->b, "written by the peer", off, RANGE, seed);
	pair_read(r->a, 1, &in, 102, &t, 0);
	pair_dto(r->a, DAT_DTO_RDMA_READ, 102, DAT_DTO_SUCCESS, RANGE, PAIR_UPCALL);
	pair_expect_bytes(r->a, "read by the peer", 512, RANGE, seed);
}

/* A tries an access that is not allowed: no byte moves, and the connection breaks. */
static void refused(struct remote *r, const char *what, u32 off, u32 len, DAT_RMR_CONTEXT key,
		    bool read)
{
	DAT_LMR_TRIPLET seg = pair_seg(r->a, 0, len);
	DAT_RMR_TRIPLET t = target(r, off, len, key);

	if (!pair_ok(r->d))
		return;
	pair_clear(r->a);
	pair_clear(r->b);
	if (read)
		pair_read(r->a, 1, &seg, 103, &t, 0);
	else
		pair_write(r->a, 1, &seg, 103, &t, 0);
	pair_dto(r->a, read ? DAT_DTO_RDMA_READ : DAT_DTO_RDMA_WRITE, 103,
		 DAT_DTO_ERR_REMOTE_ACCESS, 0, PAIR_UPCALL);
	pair_ended(r->a, true);
	pair_ended(r->b, false);
	pair_expect_free(r->a, what, 0, PAIR_MEM);
	pair_expect_free(r->b, what, 0, PAIR_MEM);
}

/* ---- binding --------------------------------------------------------------- */

/* A send immediately after the bind transfers the key to the peer. */
static DAT_RMR_CONTEXT send_key(struct remote *r, DAT_RMR_CONTEXT key, u64 cookie)
{
	DAT_RMR_CONTEXT got;

	if (!pair_ok(r->d))
		return 0;
	memcpy(r->b->mem, &key, sizeof(key));
	pair_send1(r->b, 0, sizeof(key), cookie, 0);
	pair_dto(r->a, DAT_DTO_RECEIVE, cookie, DAT_DTO_SUCCESS, sizeof(key), PAIR_UPCALL);
	memcpy(&got, r->a->mem + 2048, sizeof(got));
	return got;
}

static void bind_script(struct pair *d)
{
	DAT_RMR_CONTEXT key[3];
	struct remote r;
	u64 i;

	if (!begin(&r, d))
		return;
	for (i = 0; i < 3; i++) {
		pair_recv1(r.a, 2048, 16, i, 0);
		key[i] = bind(&r, r.b, i & 1 ? SECOND : FIRST, RANGE, RIGHTS, ~i, 0);
		key[i] = send_key(&r, key[i], i);
		expect_bound(&r, key[i]);
		good(&r, i & 1 ? SECOND : FIRST, key[i], 10 * i + 3);
		pair_dto(r.b, DAT_DTO_BIND_MW, ~i, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
		pair_dto(r.b, DAT_DTO_SEND, i, DAT_DTO_SUCCESS, sizeof(key[i]), PAIR_ANY_UPCALL);
	}
	pair_expect_no_event(d, "three bindings");
	/* The first range is bound again, with another key. */
	refused(&r, "the key of a binding before the last", FIRST, 16, key[0], false);
	expect_bound(&r, key[2]);
	end(&r);
}

static void old_key_script(struct pair *d)
{
	DAT_RMR_CONTEXT key;
	struct remote r;

	if (!begin(&r, d))
		return;
	key = bound(&r, FIRST, 1);
	good(&r, FIRST, key, 5);
	good(&r, SECOND, bound(&r, SECOND, 2), 6);
	refused(&r, "the key of the last binding", FIRST, 16, key, true);
	end(&r);
}

static void unbind_script(struct pair *d)
{
	DAT_RMR_CONTEXT key;
	struct remote r;

	if (!begin(&r, d))
		return;
	key = bound(&r, FIRST, 1);
	good(&r, FIRST, key, 5);
	bind(&r, r.b, 0, 0, RIGHTS, 2, 0);
	pair_dto(r.b, DAT_DTO_BIND_MW, 2, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	expect_bound(&r, 0);
	bind(&r, r.b, 0, 0, RIGHTS, 3, 0);
	pair_dto(r.b, DAT_DTO_BIND_MW, 3, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	refused(&r, "a key that was unbound", FIRST, 16, key, false);
	end(&r);
}

static void outside_script(struct pair *d)
{
	struct remote r;

	if (!begin(&r, d))
		return;
	refused(&r, "one byte after the binding", FIRST + RANGE - 15, 16, bound(&r, FIRST, 1),
		false);
	end(&r);
}

static void read_only_script(struct pair *d)
{
	DAT_LMR_TRIPLET in;
	DAT_RMR_CONTEXT key;
	DAT_RMR_TRIPLET t;
	struct remote r;

	if (!begin(&r, d))
		return;
	key = bind(&r, r.b, FIRST, RANGE, DAT_MEM_PRIV_REMOTE_READ_FLAG, 1, 0);
	pair_dto(r.b, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	pair_fill(r.b, FIRST, RANGE, 9);
	in = pair_seg(r.a, 0, RANGE);
	t = target(&r, FIRST, RANGE, key);
	pair_read(r.a, 1, &in, 2, &t, 0);
	pair_dto(r.a, DAT_DTO_RDMA_READ, 2, DAT_DTO_SUCCESS, RANGE, PAIR_UPCALL);
	pair_expect_bytes(r.a, "read by the peer", 0, RANGE, 9);
	refused(&r, "a write to a binding that is read only", FIRST, 16, key, false);
	end(&r);
}

static void no_right_script(struct pair *d)
{
	DAT_RMR_CONTEXT key;
	struct remote r;

	if (!begin(&r, d))
		return;
	key = bind(&r, r.b, FIRST, RANGE, DAT_MEM_PRIV_LOCAL_READ_FLAG, 1, 0);
	pair_dto(r.b, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	refused(&r, "a binding without remote rights", FIRST, 16, key, true);
	end(&r);
}

static void flags_script(struct pair *d)
{
	DAT_RMR_CONTEXT key;
	struct remote r;

	if (!begin(&r, d))
		return;
	bind(&r, r.b, FIRST, RANGE, RIGHTS, 1, DAT_COMPLETION_UNSIGNALLED_FLAG);
	pair_dto(r.b, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS, 0, PAIR_NO_UPCALL);
	bind(&r, r.b, SECOND, RANGE, RIGHTS, 2, DAT_COMPLETION_SUPPRESS_FLAG);
	pair_settle(d, 50);
	pair_expect_no_event(d, "a suppressed bind");
	key = bind(&r, r.b, FIRST, RANGE, RIGHTS, 3, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	pair_dto(r.b, DAT_DTO_BIND_MW, 3, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	good(&r, FIRST, key, 77);
	/* A flush is reported whatever the flags. */
	loop_expect(d->c, "dat_ep_disconnect",
		    dat_ep_disconnect(r.b->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	pair_ended(r.b, false);
	pair_ended(r.a, false);
	bind(&r, r.b, FIRST, RANGE, RIGHTS, 4,
	     DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG);
	pair_dto(r.b, DAT_DTO_BIND_MW, 4, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	expect_bound(&r, 0);
	end(&r);
}

/**
 * loop_case_bind - RMRs are bound, and the peer uses them
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_bind(struct loop_run *run, struct loop_case *c)
{
	static void (*const script[])(struct pair *d) = {
		bind_script, old_key_script, unbind_script, outside_script, read_only_script,
		no_right_script,
	};
	struct pair_cfg cfg = {};
	int err = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(script) && !err; i++)
		err = pair_play(run, c, &cfg, script[i]);
	cfg.req_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (!err)
		err = pair_play(run, c, &cfg, flags_script);
	loop_clauses(c, "B-01 B-02 B-03 B-05 B-06 B-12 B-13 B-14 B-18 B-22");
	return err;
}

/* ---- a peer that keeps using an old key -------------------------------------- */

#define READS	12	/* of 64 bytes, posted at once */

/* Binds the RMR to the second range through the other connection, and waits for the completion */
static void rebound(struct remote *r, u64 cookie)
{
	bind(r, &r->d->b[1], SECOND, RANGE, RIGHTS, cookie, 0);
	pair_dto(&r->d->b[1], DAT_DTO_BIND_MW, cookie, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
}

/*
 * A reads with the old key. Through the other connection, which stays up, the RMR is
 * bound to memory that the key never covered; then again, so that the first MR is mapped anew.
 * Soft-RoCE reads the mapping without a lock (tests/rxe/late_packet.c), so there the second bind
 * waits until no read is on the way.
 */
static void greedy_script(struct pair *d)
{
	DAT_LMR_TRIPLET seg;
	DAT_RMR_CONTEXT key;
	DAT_RMR_TRIPLET t;
	struct remote r;
	u32 i, status, refused = 0;

	if (!begin(&r, d))
		return;
	pair_fill(r.b, FIRST, RANGE, 1);
	pair_fill(r.b, SECOND, RANGE, 128);
	key = bind(&r, &d->b[1], FIRST, RANGE, RIGHTS, 1, 0);
	pair_dto(&d->b[1], DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	t = target(&r, FIRST, 64, key);
	for (i = 0; i < READS; i++) {
		seg = pair_seg(r.a, 64 * i, 64);
		pair_read(r.a, 1, &seg, i, &t, 0);
		if (i == READS / 3)
			bind(&r, &d->b[1], SECOND, RANGE, RIGHTS, 2, 0);
	}
	pair_dto(&d->b[1], DAT_DTO_BIND_MW, 2, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	if (!pair_soft(d))
		rebound(&r, 3);
	for (i = 0; i < READS && pair_ok(d); i++) {
		DAT_EVENT ev;

		if (!pair_next(d, &r.a->req, PAIR_ANY_UPCALL, "read by the old key", &ev))
			break;
		status = ev.event_data.dto_completion_event_data.status;
		if (status == DAT_DTO_SUCCESS)
			pair_expect_bytes(r.a, "read by the old key", 64 * i, 64, 1);
		else if (status == (refused++ ? DAT_DTO_ERR_FLUSHED : DAT_DTO_ERR_REMOTE_ACCESS))
			pair_expect_free(r.a, "refused by the old key", 64 * i, 64);
		else
			loop_fail(d->c, "read with the old key: unexpected status %u", status);
	}
	if (pair_soft(d))
		rebound(&r, 3);
	pair_settle(d, 20);
	pair_expect_state(&d->b[1], DAT_EP_STATE_CONNECTED);
	end(&r);
}

/**
 * loop_case_greedy - a peer reads with the old key during a rebind
 * @run: the run
 * @c: the case; count is the number of rounds
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_greedy(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = { .pairs = 2 };
	int err = 0;
	u32 i;

	for (i = 0; i < c->count && !err && !c->verdict.failures; i++)
		err = pair_play(run, c, &cfg, greedy_script);
	loop_clauses(c, "B-24 B-05");
	return err;
}

/* ---- messages that invalidate -------------------------------------------------- */

/**
 * pair_send_inv - post a send of the start of the memory that may invalidate a key
 * @e:      the sender
 * @len:    bytes; 0: without a segment
 * @cookie: of the send
 * @flag:   whether it invalidates @key
 * @key:    the key
 *
 * Context: process.
 */
void pair_send_inv(struct pair_end *e, u32 len, u64 cookie, bool flag, DAT_RMR_CONTEXT key)
{
	DAT_LMR_TRIPLET seg = pair_seg(e, 0, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	loop_expect(e->pair->c, "dat_ep_post_send_with_invalidate",
		    dat_ep_post_send_with_invalidate(e->ep, len ? 1 : 0, &seg, c, 0,
						     flag ? DAT_TRUE : DAT_FALSE, key),
		    DAT_SUCCESS);
	e->pair->c->posts++;
}

/**
 * pair_got_inv - wait for a message that has invalidated a key
 * @e:      the receiver
 * @cookie: of the receive
 * @len:    bytes of the message
 * @key:    the key
 *
 * Context: process.
 */
void pair_got_inv(struct pair_end *e, u64 cookie, u32 len, DAT_RMR_CONTEXT key)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT ev;

	if (!pair_ok(e->pair) || !pair_next(e->pair, &e->recv, PAIR_UPCALL, "an invalidation", &ev))
		return;
	dto = &ev.event_data.dto_completion_event_data;
	if (ev.event_number != DAT_DTO_COMPLETION_EVENT || dto->ep_handle != e->ep ||
	    dto->user_cookie.as_64 != cookie || dto->status != DAT_DTO_SUCCESS ||
	    dto->operation != DAT_DTO_RECEIVE_WITH_INVALIDATE || dto->transfered_length != len ||
	    dto->rmr_context != key)
		loop_fail(e->pair->c,
			  "%s: event %#x, cookie %llu, status %d, operation %d, length %u, key %#x",
			  e->name, ev.event_number, dto->user_cookie.as_64, dto->status,
			  dto->operation, dto->transfered_length, dto->rmr_context);
	e->pair->c->messages++;
}

static void invalidate_script(struct pair *d)
{
	DAT_RMR_CONTEXT key = 0;
	struct remote r;
	u64 i;

	if (!begin(&r, d))
		return;
	pair_fill(r.a, 0, 32, 44);
	for (i = 1; i <= 3 && pair_ok(d); i++) {
		key = bound(&r, FIRST, i);
		good(&r, FIRST, key, 20 + i);
		pair_fill(r.a, 0, 32, 44);
		pair_recv1(r.b, 3000, 64, i, 0);
		/* One without the flag, which ignores the key; one without bytes */
		pair_send_inv(r.a, i == 2 ? 0 : 32, i, true, key);
		pair_got_inv(r.b, i, i == 2 ? 0 : 32, key);
		pair_dto(r.a, DAT_DTO_SEND, i, DAT_DTO_SUCCESS, i == 2 ? 0 : 32, PAIR_UPCALL);
		expect_bound(&r, 0);
		pair_recv1(r.b, 3000, 64, 50 + i, 0);
		pair_send_inv(r.a, 32, 50 + i, false, key);
		pair_dto(r.b, DAT_DTO_RECEIVE, 50 + i, DAT_DTO_SUCCESS, 32, PAIR_UPCALL);
		pair_dto(r.a, DAT_DTO_SEND, 50 + i, DAT_DTO_SUCCESS, 32, PAIR_UPCALL);
		pair_expect_bytes(r.b, "message", 3000, 32, 44);
	}
	refused(&r, "a key that a message has invalidated", FIRST, 16, key, false);
	end(&r);
}

static void unknown_key_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_EVENT ev;
	u32 status;

	pair_recv1(b, 0, 64, 1, 0);
	pair_send_inv(a, 32, 1, true, 0x5a5a5a00);
	pair_dto(b, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_REMOTE_RESPONDER, 0, PAIR_UPCALL);
	pair_ended(b, false);
	if (!pair_ok(d) || !pair_next(d, &a->req, PAIR_ANY_UPCALL, "the sender", &ev))
		return;
	/* Soft-RoCE acknowledges the message before its receive fails (hostile/device) */
	status = ev.event_data.dto_completion_event_data.status;
	if (status != DAT_DTO_SUCCESS && status != DAT_DTO_ERR_REMOTE_ACCESS &&
	    status != DAT_DTO_ERR_REMOTE_RESPONDER)
		loop_fail(d->c, "unknown key: unexpected status %u of the sender", status);
	pair_ended(a, false);
}

/* The object is invalid, its owner receives an event, and the connection is broken. */
static void expect_hostile(struct pair *d, DAT_HANDLE victim)
{
	pair_ended(&d->b[0], true);
	pair_ended(&d->a[0], false);
	adv_expect_dead(d, victim);
}

/* The message has arrived; its status depends on which side disconnects first (G-37). */
static void sent_by_hostile(struct pair_end *a)
{
	DAT_EVENT ev;

	if (pair_ok(a->pair))
		pair_next(a->pair, &a->req, PAIR_ANY_UPCALL, "the sender", &ev);
}

static void kill_lmr(struct pair *d, DAT_LMR_HANDLE lmr, DAT_LMR_TRIPLET seg, DAT_RMR_CONTEXT key)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_DTO_COOKIE cookie = {};

	pair_recv1(b, 0, 64, 1, 0);
	pair_send_inv(a, 32, 1, true, key);
	pair_got_inv(b, 1, 32, key);
	sent_by_hostile(a);
	expect_hostile(d, lmr);
	loop_expect(d->c, "a post in an LMR that is dead",
		    dat_ep_post_send(d->b[1].ep, 1, &seg, cookie, 0), DAT_PRIVILEGES_VIOLATION);
	pair_expect_state(&d->b[1], DAT_EP_STATE_CONNECTED);
}

static void hostile_lmr_script(struct pair *d)
{
	/*
	 * Not the LMR into which the message is received, because the message is still
	 * delivered.
	 */
	pair_fill(&d->a[0], 0, 32, 12);
	kill_lmr(d, d->b[1].lmr, pair_seg(&d->b[1], 0, 8), d->b[1].key);
	pair_expect_bytes(&d->b[0], "the message of a hostile peer", 0, 32, 12);
}

static void hostile_rmr_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_RMR_CONTEXT key;
	struct remote r;

	if (!begin(&r, d))
		return;
	key = bind(&r, &d->b[1], FIRST, RANGE, RIGHTS, 1, 0);
	pair_dto(&d->b[1], DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	pair_recv1(b, 0, 64, 1, 0);
	pair_send_inv(a, 32, 1, true, key);
	pair_got_inv(b, 1, 32, key);
	sent_by_hostile(a);
	expect_hostile(d, r.rmr);
	expect_bound(&r, 0);
	bind(&r, &d->b[1], FIRST, RANGE, RIGHTS, 2, 0);
	pair_dto(&d->b[1], DAT_DTO_BIND_MW, 2, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	end(&r);
}

/**
 * loop_case_invalidate - sends that invalidate, with and without permission
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_invalidate(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err;

	err = pair_play(run, c, &cfg, invalidate_script);
	if (!err)
		err = pair_play(run, c, &cfg, unknown_key_script);
	cfg.pairs = 2;
	if (!err)
		err = pair_play(run, c, &cfg, hostile_lmr_script);
	if (!err)
		err = pair_play(run, c, &cfg, hostile_rmr_script);
	loop_clauses(c, "I-01 I-02 I-03 I-04 I-05 I-08 I-09 I-10 R-44");
	return err;
}
