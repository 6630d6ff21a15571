// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: posting while every allocation fails.
 *
 * The test makes a hundred thousand posts of all kinds, together with their completions and
 * dat_evd_dequeue(), in a task whose allocations fail (fail_alloc.h). Half of the rounds post
 * with a spinlock held and interrupts off. The test checks at the beginning and at the end that
 * allocations do fail. Runs in a KUnit thread.
 */
#include <linux/gfp.h>
#include <linux/spinlock.h>
#include "fail_alloc.h"
#include "mem_kunit.h"

#define ROUNDS		800
#define PER_ROUND	TP_DEPTH

enum kind {
	KIND_SEND = TP_SEND,
	KIND_WRITE = TP_WRITE,
	KIND_READ = TP_READ,
	KIND_RECV = TP_RECV,
	KIND_SRQ = TP_SRQ,
	KIND_SEND_INV = TP_NCALLS,
	KIND_BIND,
	KIND_FMR,		/* in turn with its invalidation */
	NKINDS
};

/* Number of posts of all kinds together */
static_assert(ROUNDS * PER_ROUND * NKINDS >= 100000);

/* Result of one kind; evaluated when allocations succeed again */
struct result {
	bool bites;
	u32 posted;
	u32 events;
	u32 expected;
	DAT_RETURN refusal;		/* the first refusal */
};

static struct mem m;
static struct tp_ep taker;		/* consumes the SRQ's buffers */
static DEFINE_SPINLOCK(held);

/* ---- allocations ------------------------------------------------------------ */

static bool pages_fail(gfp_t gfp)
{
	struct page *page = alloc_page(gfp);

	if (page)
		__free_page(page);
	return !page;
}

static bool allocations_fail(void)
{
	return kdapl_slab_fails(GFP_ATOMIC) && kdapl_slab_fails(GFP_KERNEL) &&
	       pages_fail(GFP_ATOMIC) && pages_fail(GFP_KERNEL);
}

/* ---- posts -------------------------------------------------------------------- */

static bool is_receive(enum kind kind)
{
	return kind == KIND_RECV || kind == KIND_SRQ;
}

static enum tp_call call_of(enum kind kind)
{
	return kind < KIND_SEND_INV ? (enum tp_call)kind : TP_SEND;
}

/*
 * Covers the fast path and the slow path, with and without an event. The last post of a
 * round has an event.
 */
static u32 flags_of(enum kind kind, u32 round, u32 i)
{
	if (is_receive(kind) || i == PER_ROUND - 1)
		return 0;
	switch (round % 3) {
	case 0:
		return 0;
	case 1:
		return DAT_COMPLETION_SUPPRESS_FLAG;
	default:
		return DAT_COMPLETION_BARRIER_FENCE_FLAG;
	}
}

static DAT_RETURN post_data(enum kind kind, u32 round, u32 flags)
{
	enum tp_call call = call_of(kind);
	struct tp_args a;

	tp_args(m.env, &m.ep, call, &a);
	a.n = 1 + round % tp_call_limit[call];
	if (call == TP_READ)
		a.target.segment_length = a.n * TP_SEG;
	a.flags = flags;
	if (kind == KIND_SEND_INV)
		return dat_ep_post_send_with_invalidate(a.handle, a.n, a.iov, a.cookie, a.flags,
							DAT_TRUE, round);
	return tp_post(call, &a);
}

static DAT_RETURN post_memory(enum kind kind, u32 i, u32 flags)
{
	struct bind b;
	struct fmr f;

	if (kind == KIND_BIND) {
		mem_bind_args(&m, &b);
		b.flags = flags;
		return mem_bind_post(&b);
	}
	if (i & 1)
		return mem_invalidate(&m, &m.ep, 1, flags);
	mem_fmr_args(&m, &f);
	f.flags = flags;
	return mem_fmr_post(&f);
}

static DAT_RETURN post_now(enum kind kind, u32 round, u32 i, u32 flags)
{
	if (kind == KIND_BIND || kind == KIND_FMR)
		return post_memory(kind, i, flags);
	return post_data(kind, round, flags);
}

static DAT_RETURN post(enum kind kind, u32 round, u32 i, u32 flags)
{
	unsigned long irq;
	DAT_RETURN ret;

	if (!(round & 1))
		return post_now(kind, round, i, flags);
	spin_lock_irqsave(&held, irq);
	ret = post_now(kind, round, i, flags);
	spin_unlock_irqrestore(&held, irq);
	return ret;
}

static bool complete_one(enum kind kind)
{
	if (kind == KIND_RECV)
		return fake_complete_recv(tp_qp(&m.ep), IB_WC_SUCCESS, TP_SEG);
	if (kind == KIND_SRQ)
		return fake_complete_srq(tp_qp(&taker), IB_WC_SUCCESS, TP_SEG);
	return fake_complete_send(tp_qp(&m.ep), IB_WC_SUCCESS);
}

/* Completes all outstanding requests and dequeues the events */
static void reap(enum kind kind, struct result *r)
{
	struct tp_ep *ep = kind == KIND_SRQ ? &taker : &m.ep;

	while (complete_one(kind))
		;
	r->events += tp_drain(ep);
	if (r->events < r->expected) {
		/* The softirq ran somewhere else */
		fake_settle(m.env->fake);
		r->events += tp_drain(ep);
	}
}

static void post_round(enum kind kind, u32 round, struct result *r)
{
	u32 i, flags;
	DAT_RETURN ret;

	for (i = 0; i < PER_ROUND; i++) {
		flags = flags_of(kind, round, i);
		ret = post(kind, round, i, flags);
		if (ret == DAT_SUCCESS) {
			r->posted++;
			r->expected += !(flags & DAT_COMPLETION_SUPPRESS_FLAG);
		} else if (!r->refusal) {
			r->refusal = ret;
		}
		/* An RMR has two MRs, and an LMR of dat_lmr_allocate() has one */
		if (kind == KIND_BIND || (kind == KIND_FMR && i & 1))
			reap(kind, r);
	}
	reap(kind, r);
}

/* ---- the test ------------------------------------------------------------------- */

static const struct alloc_case {
	const char *name;
	enum kind kind;
	const char *clauses;
} cases[] = {
	{ "send", KIND_SEND, "G-08 S-12" },
	{ "send_with_invalidate", KIND_SEND_INV, "G-08" },
	{ "write", KIND_WRITE, "G-08 W-11" },
	{ "read", KIND_READ, "G-08" },
	{ "recv", KIND_RECV, "G-08 R-19" },
	{ "srq_recv", KIND_SRQ, "G-08 Q-19" },
	{ "bind", KIND_BIND, "G-08" },
	{ "fmr_and_invalidate", KIND_FMR, "G-08" },
};

static_assert(ARRAY_SIZE(cases) == NKINDS);

static void case_desc(const struct alloc_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(alloc, cases, case_desc);

static void G_08_posts_while_no_allocation_succeeds(struct kunit *test)
{
	const struct alloc_case *c = test->param_value;
	struct result r = { };
	u32 round;

	if (!IS_ENABLED(CONFIG_FAILSLAB) || !IS_ENABLED(CONFIG_FAIL_PAGE_ALLOC))
		kunit_skip(test, "the kernel has no fault injection for allocations");

	/* No expectations before the end: a failed expectation allocates memory */
	kdapl_fail_allocations(true);
	r.bites = allocations_fail();
	for (round = 0; round < ROUNDS && r.bites; round++)
		post_round(c->kind, round, &r);
	r.bites = r.bites && allocations_fail();
	kdapl_fail_allocations(false);

	KUNIT_ASSERT_TRUE_MSG(test, r.bites,
			      "expected failing allocations: set failslab and fail_page_alloc in debugfs");
	KUNIT_EXPECT_EQ(test, r.refusal, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, r.posted, ROUNDS * PER_ROUND);
	KUNIT_EXPECT_EQ(test, r.events, r.expected);
	KUNIT_EXPECT_EQ(test, m.env->fake->refused, 0);
	kdapl_clauses(test, c->clauses);
}

/* ---- suite ------------------------------------------------------------------------ */

static int alloc_init(struct kunit *test)
{
	int err = mem_setup(test, &m);

	if (err)
		return err;
	KUNIT_ASSERT_EQ(test, tp_ep_create(m.env, NULL, true, &taker), DAT_SUCCESS);
	return tp_connect(&taker);
}

static void alloc_exit(struct kunit *test)
{
	kdapl_fail_allocations(false);
	tp_drain(&taker);
	tp_ep_free(&taker);
	mem_done(test, &m);
}

static struct kunit_case alloc_cases[] = {
	KUNIT_CASE_PARAM(G_08_posts_while_no_allocation_succeeds, alloc_gen_params),
	{}
};

static struct kunit_suite alloc_suite = {
	.name = "kdapl_alloc",
	.init = alloc_init,
	.exit = alloc_exit,
	.test_cases = alloc_cases,
};

kunit_test_suite(alloc_suite);
