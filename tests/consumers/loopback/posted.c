// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test about LMRs of dat_lmr_allocate(), which requests on B's
 * own queue register and invalidate. B may use a context as soon as the call returns. Its
 * peer A may use the key once it can know it, until the key is invalidated and no longer.
 * Process context.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "conn_pair.h"

#define PAGES	(PAIR_MEM / PAGE_SIZE)

struct posted {
	struct pair *d;
	struct pair_end *a, *b;
	DAT_LMR_HANDLE lmr;
	DAT_PADDR page[PAGES];
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
};

static bool begin(struct posted *p, struct pair *d)
{
	u32 i;

	memset(p, 0, sizeof(*p));
	p->d = d;
	p->a = &d->a[0];
	p->b = &d->b[0];
	for (i = 0; i < PAGES; i++)
		p->page[i] = virt_to_phys(p->b->mem) + i * PAGE_SIZE;
	return loop_expect(d->c, "dat_lmr_allocate",
			   dat_lmr_allocate(d->run->t.ia, p->b->pz, PAGES, DAT_LMR_SCOPE_PZ,
					    &p->lmr), DAT_SUCCESS);
}

static void end(struct posted *p)
{
	loop_expect(p->d->c, "dat_lmr_free", dat_lmr_free(p->lmr), DAT_SUCCESS);
}

static bool fmr(struct posted *p, struct pair_end *by, u64 cookie, u32 flags)
{
	DAT_REGION_DESCRIPTION desc = { .for_physical = p->page };
	DAT_LMR_COOKIE c = { .as_64 = cookie };

	p->d->c->posts++;
	return loop_expect(p->d->c, "dat_lmr_fmr",
			   dat_lmr_fmr(p->lmr, DAT_MEM_TYPE_PHYSICAL, desc, PAGES,
				       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, by->ep, c, flags,
				       &p->context, &p->key), DAT_SUCCESS);
}

static bool invalidate(struct posted *p, struct pair_end *by, u64 cookie, u32 flags)
{
	DAT_LMR_COOKIE c = { .as_64 = cookie };

	p->d->c->posts++;
	return loop_expect(p->d->c, "dat_lmr_invalidate",
			   dat_lmr_invalidate(p->lmr, by->ep, c, flags), DAT_SUCCESS);
}

/* The registered address is that of the first page. */
static DAT_LMR_TRIPLET seg(struct posted *p, u32 off, u32 len)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = p->page[0] + off,
		.segment_length = len,
		.lmr_context = p->context,
	};
}

static DAT_RMR_TRIPLET target(struct posted *p, u32 off, u32 len)
{
	return (DAT_RMR_TRIPLET) {
		.virtual_address = p->page[0] + off,
		.segment_length = len,
		.rmr_context = p->key,
	};
}

static void expect_state(struct posted *p, const char *when, bool bound, DAT_RMR_CONTEXT key)
{
	DAT_LMR_PARAM param = {};

	loop_expect(p->d->c, "dat_lmr_query", dat_lmr_query(p->lmr, DAT_LMR_FIELD_ALL, &param),
		    DAT_SUCCESS);
	if (param.lmr_state.fmr_support != DAT_TRUE || !param.lmr_state.bound != !bound ||
	    param.rmr_context != key)
		loop_fail(p->d->c, "%s: dat_lmr_query: bound %d, key %#x, expected %d, %#x",
			  when, param.lmr_state.bound, param.rmr_context, bound, key);
	if (bound && (param.registered_size != PAIR_MEM ||
		      param.registered_address != p->page[0]))
		loop_fail(p->d->c, "dat_lmr_query: %llu bytes at %#llx", param.registered_size,
			  param.registered_address);
}

static void expect_dead_here(struct posted *p, struct pair_end *by)
{
	DAT_LMR_TRIPLET s = seg(p, 0, 8);
	DAT_DTO_COOKIE cookie = {};

	loop_expect(p->d->c, "a post in memory that is not registered",
		    dat_ep_post_send(by->ep, 1, &s, cookie, 0), DAT_PRIVILEGES_VIOLATION);
}

/* B sends all of its memory in turn, which needs no key at the peer. */
static void send_from(struct posted *p, u32 n, u32 flags, u8 seed)
{
	DAT_LMR_TRIPLET s;
	u32 i;

	for (i = 0; i < n; i++)
		pair_recv1(p->a, 1024 * i, 1024, i, 0);
	for (i = 0; i < n; i++) {
		pair_fill(p->b, 2048 * i, 1024, seed + i);
		s = seg(p, 2048 * i, 1024);
		pair_send(p->b, 1, &s, i, flags);
	}
}

static void expect_sent(struct posted *p, u32 n, u8 seed)
{
	u32 i;

	for (i = 0; i < n; i++) {
		pair_dto(p->a, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS, 1024, PAIR_ANY_UPCALL);
		pair_expect_bytes(p->a, "sent from registered pages", 1024 * i, 1024, seed + i);
	}
}

/*
 * After the messages from send_from(). A device that is not known to wait for all earlier
 * requests refuses the flag while there are any, and Soft-RoCE must not (V-11). A message with
 * a completion shows that there are none.
 */
static void invalidate_fenced(struct posted *p, u64 cookie, u32 n, u8 seed)
{
	u32 fence = DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
	bool soft = pair_soft(p->d);
	DAT_LMR_COOKIE c = { .as_64 = cookie };
	DAT_RETURN ret = dat_lmr_invalidate(p->lmr, p->b->ep, c, fence);

	p->d->c->posts++;
	if (!soft && DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED) {
		expect_sent(p, n, seed);
		send_from(p, 1, 0, seed);
		expect_sent(p, 1, seed);
		pair_dto(p->b, DAT_DTO_SEND, 0, DAT_DTO_SUCCESS, 1024, PAIR_UPCALL);
		invalidate(p, p->b, cookie, fence);
		expect_dead_here(p, p->b);
		return;
	}
	loop_expect(p->d->c, "dat_lmr_invalidate", ret, DAT_SUCCESS);
	expect_dead_here(p, p->b);
	expect_sent(p, n, seed);
}

static void good(struct posted *p, u8 seed)
{
	DAT_LMR_TRIPLET out = pair_seg(p->a, 0, 512), in = pair_seg(p->a, 1024, 512);
	/* Across the page boundary. */
	DAT_RMR_TRIPLET t = target(p, PAGE_SIZE - 256, 512);

	if (!pair_ok(p->d))
		return;
	pair_fill(p->a, 0, 512, seed);
	pair_write(p->a, 1, &out, 101, &t, 0);
	pair_dto(p->a, DAT_DTO_RDMA_WRITE, 101, DAT_DTO_SUCCESS, 512, PAIR_UPCALL);
	pair_expect_bytes(p->b, "written by the peer", PAGE_SIZE - 256, 512, seed);
	pair_read(p->a, 1, &in, 102, &t, 0);
	pair_dto(p->a, DAT_DTO_RDMA_READ, 102, DAT_DTO_SUCCESS, 512, PAIR_UPCALL);
	pair_expect_bytes(p->a, "read by the peer", 1024, 512, seed);
}

/* Registered, used by both, invalidated after all uses, and registered again. */
static void rounds_script(struct pair *d)
{
	DAT_LMR_CONTEXT context = 0;
	DAT_RMR_CONTEXT key = 0;
	struct posted p;
	u64 i;

	if (!begin(&p, d))
		return;
	expect_state(&p, "allocated", false, 0);
	for (i = 1; i <= 4 && pair_ok(d); i++) {
		fmr(&p, p.b, i, 0);
		if (p.context == context || p.key == key)
			loop_fail(d->c, "the context or key of the last registration");
		context = p.context;
		key = p.key;
		/* Without waiting: the queue keeps the order. */
		send_from(&p, 4, DAT_COMPLETION_SUPPRESS_FLAG, 16 * i);
		expect_sent(&p, 4, 16 * i);
		pair_dto(p.b, DAT_DTO_LMR_FMR, i, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
		expect_state(&p, "registered", true, p.key);
		good(&p, 3 * i);
		/* None of these has completed yet */
		send_from(&p, 4, DAT_COMPLETION_SUPPRESS_FLAG, 16 * i + 5);
		invalidate_fenced(&p, ~i, 4, 16 * i + 5);
		pair_dto(p.b, DAT_DTO_LMR_INVALIDATE, ~i, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
		expect_state(&p, "invalidated", false, 0);
		expect_dead_here(&p, p.b);
	}
	pair_expect_no_event(d, "four registrations");
	end(&p);
}

/* One page of twice the size, and addresses that are not page aligned. */
static void large_page_script(struct pair *d)
{
	DAT_REGION_DESCRIPTION desc = {};
	DAT_LMR_COOKIE cookie = { .as_64 = 1 };
	struct posted p;
	DAT_PADDR page;

	if (!begin(&p, d))
		return;
	page = p.page[0];
	desc.for_array.page_size = PAIR_MEM;
	desc.for_array.pages = &page;
	loop_expect(d->c, "dat_lmr_fmr of a large page",
		    dat_lmr_fmr(p.lmr, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, desc, 1,
				DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, p.b->ep, cookie, 0,
				&p.context, &p.key), DAT_SUCCESS);
	pair_dto(p.b, DAT_DTO_LMR_FMR, 1, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	expect_state(&p, "a large page", true, p.key);
	good(&p, 9);
	invalidate(&p, p.b, 2, 0);
	pair_dto(p.b, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	page += 8;
	loop_expect(d->c, "dat_lmr_fmr of an odd address",
		    dat_lmr_fmr(p.lmr, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, desc, 1,
				DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, p.b->ep, cookie, 0,
				&p.context, &p.key), DAT_INVALID_PARAMETER);
	pair_expect_no_event(d, "a large page");
	end(&p);
}

static void flags_script(struct pair *d)
{
	struct posted p;

	if (!begin(&p, d))
		return;
	fmr(&p, p.b, 1, DAT_COMPLETION_UNSIGNALLED_FLAG);
	pair_dto(p.b, DAT_DTO_LMR_FMR, 1, DAT_DTO_SUCCESS, 0, PAIR_NO_UPCALL);
	invalidate(&p, p.b, 2, DAT_COMPLETION_UNSIGNALLED_FLAG);
	pair_dto(p.b, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_SUCCESS, 0, PAIR_NO_UPCALL);
	fmr(&p, p.b, 3, DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG);
	/* The peer must not access it too early: a message on the same queue notifies it */
	send_from(&p, 1, DAT_COMPLETION_SUPPRESS_FLAG, 5);
	expect_sent(&p, 1, 5);
	good(&p, 1);
	invalidate(&p, p.b, 4, DAT_COMPLETION_SUPPRESS_FLAG);
	pair_settle(d, 50);
	pair_expect_no_event(d, "suppressed requests");
	expect_state(&p, "suppressed", false, 0);
	fmr(&p, p.b, 5, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	pair_dto(p.b, DAT_DTO_LMR_FMR, 5, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	good(&p, 2);
	/* Freed without invalidation. */
	end(&p);
}

/**
 * loop_case_fmr - LMRs are registered, used, invalidated
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_fmr(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err;

	err = pair_play(run, c, &cfg, rounds_script);
	if (!err)
		err = pair_play(run, c, &cfg, large_page_script);
	cfg.req_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (!err)
		err = pair_play(run, c, &cfg, flags_script);
	loop_clauses(c, "F-01 F-02 F-07 F-11 F-13 F-14 F-15 V-01 V-02 V-03 V-07 V-10");
	return err;
}

/* ---- teardown ------------------------------------------------------------------ */

static void dead_key_script(struct pair *d)
{
	DAT_LMR_TRIPLET out;
	DAT_RMR_TRIPLET t;
	struct posted p;

	if (!begin(&p, d))
		return;
	fmr(&p, p.b, 1, 0);
	pair_dto(p.b, DAT_DTO_LMR_FMR, 1, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	good(&p, 4);
	invalidate(&p, p.b, 2, 0);
	pair_dto(p.b, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	pair_clear(p.b);
	out = pair_seg(p.a, 0, 64);
	t = target(&p, 0, 64);
	pair_write(p.a, 1, &out, 3, &t, 0);
	pair_dto(p.a, DAT_DTO_RDMA_WRITE, 3, DAT_DTO_ERR_REMOTE_ACCESS, 0, PAIR_UPCALL);
	pair_ended(p.a, true);
	pair_ended(p.b, false);
	pair_expect_free(p.b, "memory that was invalidated", 0, PAIR_MEM);
	end(&p);
}

static bool fmr_works(struct posted *p, struct pair_end *by)
{
	DAT_REGION_DESCRIPTION desc = { .for_physical = p->page };
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);
	DAT_LMR_COOKIE c = { .as_64 = 7 };
	DAT_RETURN ret;

	/* A work item resolves the state that the flush has left uncertain */
	do {
		ret = dat_lmr_fmr(p->lmr, DAT_MEM_TYPE_PHYSICAL, desc, PAGES,
				  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, by->ep, c, 0,
				  &p->context, &p->key);
		if (DAT_GET_TYPE(ret) != DAT_INVALID_STATE)
			break;
		wait_for_completion_timeout(&p->d->run->wake, 1);
	} while (time_before(jiffies, deadline));
	return loop_expect(p->d->c, "dat_lmr_fmr after a flush", ret, DAT_SUCCESS);
}

/* B's connection is broken, B2's is not. */
static void flushed_script(struct pair *d)
{
	struct pair_end *b2 = &d->b[1];
	struct posted p;

	if (!begin(&p, d))
		return;
	fmr(&p, p.b, 1, 0);
	pair_dto(p.b, DAT_DTO_LMR_FMR, 1, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	loop_expect(d->c, "dat_ep_disconnect",
		    dat_ep_disconnect(p.b->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	pair_ended(p.b, false);
	pair_ended(p.a, false);
	invalidate(&p, p.b, 2, DAT_COMPLETION_SUPPRESS_FLAG);
	pair_dto(p.b, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	/* Not executed, so use the other connection. */
	expect_state(&p, "not executed", true, p.key);
	p.a = &d->a[1];
	good(&p, 6);
	invalidate(&p, b2, 3, 0);
	pair_dto(b2, DAT_DTO_LMR_INVALIDATE, 3, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	expect_state(&p, "invalidated elsewhere", false, 0);

	fmr(&p, p.b, 4, 0);
	pair_dto(p.b, DAT_DTO_LMR_FMR, 4, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	expect_dead_here(&p, b2);
	expect_state(&p, "still registered elsewhere", false, 0);
	if (pair_ok(d) && fmr_works(&p, b2)) {
		pair_dto(b2, DAT_DTO_LMR_FMR, 7, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
		good(&p, 7);
	}
	/* Still registered, and freed. */
	invalidate(&p, p.b, 8, 0);
	pair_dto(p.b, DAT_DTO_LMR_INVALIDATE, 8, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	end(&p);
}

/* ---- the zero page ------------------------------------------------------------------ */

#define PRIV_READ (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)

static void expect_zeroes(struct posted *p, const char *what)
{
	if (memchr_inv(p->a->mem, 0, PAGE_SIZE))
		loop_fail(p->d->c, "%s: expected all bytes to be 0", what);
	pair_clear(p->a);
}

/* Both registration calls refuse the zero page with any write privilege */
static void refuse_writing(struct posted *p, DAT_REGION_DESCRIPTION desc)
{
	static const DAT_MEM_PRIV_FLAGS priv[] = {
		DAT_MEM_PRIV_LOCAL_WRITE_FLAG, PRIV_READ | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		DAT_MEM_PRIV_ALL_FLAG,
	};
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT key;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(priv); i++) {
		DAT_LMR_COOKIE cookie = { .as_64 = 100 + i };

		loop_expect(p->d->c, "dat_lmr_fmr of the zero page, to be written",
			    dat_lmr_fmr(p->lmr, DAT_MEM_TYPE_PHYSICAL, desc, 1, priv[i],
					DAT_VA_TYPE_VA, p->b->ep, cookie, 0, &context, &key),
			    DAT_PRIVILEGES_VIOLATION);
		loop_expect(p->d->c, "dat_lmr_kcreate of the zero page, to be written",
			    dat_lmr_kcreate(p->d->run->t.ia, DAT_MEM_TYPE_PHYSICAL, desc, PAGE_SIZE,
					    p->b->pz, priv[i], DAT_VA_TYPE_VA,
					    DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &context, &key, NULL,
					    NULL), DAT_PRIVILEGES_VIOLATION);
	}
}

/* A read-only LMR cannot receive a message, and cannot be bound for remote write */
static void refuse_use(struct posted *p, DAT_LMR_HANDLE lmr, DAT_LMR_TRIPLET s)
{
	DAT_RMR_COOKIE bind_cookie = { .as_64 = 200 };
	DAT_DTO_COOKIE cookie = { .as_64 = 201 };
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE rmr;

	loop_expect(p->d->c, "a receive into the zero page",
		    dat_ep_post_recv(p->b->ep, 1, &s, cookie, 0), DAT_PRIVILEGES_VIOLATION);
	if (!loop_expect(p->d->c, "dat_rmr_create", dat_rmr_create(p->b->pz, &rmr), DAT_SUCCESS))
		return;
	loop_expect(p->d->c, "a binding by which the zero page can be written",
		    dat_rmr_bind(rmr, lmr, &s, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
				 p->b->ep, bind_cookie, 0, &key), DAT_PRIVILEGES_VIOLATION);
	loop_expect(p->d->c, "dat_rmr_free", dat_rmr_free(rmr), DAT_SUCCESS);
}

/* A send from and a read of the zero page, as a storage Consumer does to clear blocks */
static void zero_page_script(struct pair *d)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_LMR_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET s, to;
	DAT_RMR_TRIPLET from;
	DAT_LMR_HANDLE lmr;
	struct posted p;
	DAT_PADDR page;

	if (!begin(&p, d))
		return;
	page = page_to_phys(ZERO_PAGE(0));
	desc.for_physical = &page;
	refuse_writing(&p, desc);
	if (!loop_expect(d->c, "dat_lmr_fmr of the zero page",
			 dat_lmr_fmr(p.lmr, DAT_MEM_TYPE_PHYSICAL, desc, 1, PRIV_READ,
				     DAT_VA_TYPE_VA, p.b->ep, cookie, 0, &p.context, &p.key),
			 DAT_SUCCESS))
		goto out;
	p.page[0] = page;
	s = seg(&p, 0, PAGE_SIZE);
	pair_dto(p.b, DAT_DTO_LMR_FMR, 1, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	pair_recv1(p.a, 0, PAGE_SIZE, 2, 0);
	pair_send(p.b, 1, &s, 3, 0);
	pair_dto(p.a, DAT_DTO_RECEIVE, 2, DAT_DTO_SUCCESS, PAGE_SIZE, PAIR_UPCALL);
	pair_dto(p.b, DAT_DTO_SEND, 3, DAT_DTO_SUCCESS, PAGE_SIZE, PAIR_UPCALL);
	expect_zeroes(&p, "a send from the zero page");
	to = pair_seg(p.a, 0, PAGE_SIZE);
	from = target(&p, 0, PAGE_SIZE);
	pair_read(p.a, 1, &to, 4, &from, 0);
	pair_dto(p.a, DAT_DTO_RDMA_READ, 4, DAT_DTO_SUCCESS, PAGE_SIZE, PAIR_UPCALL);
	expect_zeroes(&p, "a read of the zero page");
	invalidate(&p, p.b, 5, 0);
	pair_dto(p.b, DAT_DTO_LMR_INVALIDATE, 5, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	if (loop_expect(d->c, "dat_lmr_kcreate of the zero page",
			dat_lmr_kcreate(d->run->t.ia, DAT_MEM_TYPE_PHYSICAL, desc, PAGE_SIZE,
					p.b->pz, PRIV_READ, DAT_VA_TYPE_VA,
					DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &p.context, &p.key, NULL,
					NULL), DAT_SUCCESS)) {
		refuse_use(&p, lmr, seg(&p, 0, PAGE_SIZE));
		loop_expect(d->c, "dat_lmr_free", dat_lmr_free(lmr), DAT_SUCCESS);
	}
	pair_expect_no_event(d, "the zero page");
out:
	end(&p);
}

/**
 * loop_case_zero - the zero page can be read but never written
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_zero(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};

	return pair_play(run, c, &cfg, zero_page_script);
}

/**
 * loop_case_fmr_end - invalidated keys, and flushed requests
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_fmr_end(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err;

	err = pair_play(run, c, &cfg, dead_key_script);
	cfg.pairs = 2;
	if (!err)
		err = pair_play(run, c, &cfg, flushed_script);
	loop_clauses(c, "F-09 V-02 V-08");
	return err;
}
