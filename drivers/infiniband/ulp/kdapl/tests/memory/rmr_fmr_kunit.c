// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: RMRs that are bound to registrations of dat_lmr_fmr() and kdat_lmr_fmr_sg().
 *
 * Such a registration may end while an RMR is bound: the peer ends it, or it fails. The key of
 * the RMR must not outlive the mapping of the memory, and the Consumer cannot end the
 * registration before the binding. Runs in a KUnit thread.
 */
#include "mem_kunit.h"

#define IN_USE	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE)
#define NOT_BOUND DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE)
#define BAD_ARG(n) DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

static struct mem m;
static struct kdapl_lmr *lmr;	/* of m.fmr */

static struct fake_dev *fake(void)
{
	return m.env->fake;
}

static void posted(struct kunit *test, struct sg_fmr *f)
{
	mem_sg_args(&m, f);
	KUNIT_ASSERT_EQ(test, mem_sg_post(f), DAT_SUCCESS);
}

static void registered(struct kunit *test, struct sg_fmr *f)
{
	posted(test, f);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
}

/* Arguments of a bind to @len bytes at @off of the registration */
static void bind_args(struct bind *b, struct sg_fmr *f, u32 off, u32 len)
{
	mem_bind_args(&m, b);
	b->lmr = m.fmr;
	b->range.virtual_address = mem_sg_address(f) + off;
	b->range.segment_length = len;
	b->range.lmr_context = f->context;
}

static DAT_RMR_CONTEXT bound_by(struct kunit *test, struct sg_fmr *f, struct tp_ep *ep)
{
	struct bind b;

	bind_args(&b, f, 0, MEM_LEN);
	b.ep = ep->handle;
	KUNIT_ASSERT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	mem_finish(&m, ep);
	tp_drain(ep);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), b.key));
	return b.key;
}

static void unbind(struct kunit *test)
{
	mem_bind(test, &m, &m.ep, 9, 0, 0);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
}

/* A message of the peer of @ep has invalidated a key */
static void message(struct kunit *test, struct tp_ep *ep, DAT_RMR_CONTEXT key)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 77 };

	KUNIT_ASSERT_EQ(test, dat_ep_post_recv(ep->handle, 0, NULL, cookie, 0), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_complete_recv_inv(tp_qp(ep), 5, key));
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, ep->ep->state, DAT_EP_STATE_CONNECTED);
	mem_expect_no_async(test, &m);
}

/* The registration has ended, but the memory stays mapped, and the LMR in use */
static void expect_held(struct kunit *test, struct sg_fmr *f)
{
	struct sg_fmr again;
	struct tp_args args;

	mem_expect_fmr(test, &m, false, 0);
	KUNIT_EXPECT_EQ(test, lmr->npages, 1);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.fmr), IN_USE);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), NOT_BOUND);
	mem_sg_args(&m, &again);
	KUNIT_EXPECT_EQ(test, mem_sg_post(&again), IN_USE);
	tp_args(m.env, &m.ep, TP_SEND, &args);
	args.segs[0].lmr_context = f->context;
	args.segs[0].virtual_address = mem_sg_address(f);
	args.segs[0].segment_length = 1;
	TP_EXPECT_TYPE(test, tp_post(TP_SEND, &args), DAT_PRIVILEGES_VIOLATION);
}

/* The last binding has ended: the LMR is as new */
static void expect_free(struct kunit *test)
{
	struct sg_fmr f;
	DAT_RMR_CONTEXT key;

	KUNIT_EXPECT_EQ(test, lmr->npages, 0);
	KUNIT_EXPECT_EQ(test, lmr->binds, 0);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
	registered(test, &f);
	key = f.key;
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), key));
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
}

/* ---- the range ---------------------------------------------------------- */

static void B_10_a_part_of_the_registration(struct kunit *test)
{
	static const u32 ranges[][2] = { { 0, MEM_LEN }, { 0, 1 }, { MEM_LEN - 1, 1 }, { 9, 80 } };
	const struct fake_mr *mr;
	struct sg_fmr f;
	struct bind b;
	u32 i;

	kdapl_clauses(test, "B-01 B-10 B-11");
	posted(test, &f);
	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		/* The first time before the registration has completed */
		bind_args(&b, &f, ranges[i][0], ranges[i][1]);
		KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
		mem_finish(&m, &m.ep);
		mr = fake_valid_mr(fake(), b.key);
		KUNIT_ASSERT_NOT_NULL(test, mr);
		KUNIT_EXPECT_EQ(test, mr->ibmr.iova, mem_sg_address(&f) + ranges[i][0]);
		KUNIT_EXPECT_EQ(test, mr->ibmr.length, ranges[i][1]);
		KUNIT_EXPECT_EQ(test, mr->npages, 1);
		KUNIT_EXPECT_EQ(test, mr->page[0], (unsigned long)sg_virt(f.sg) & PAGE_MASK);
		KUNIT_EXPECT_EQ(test, lmr->binds, 1);
	}
	tp_drain(&m.ep);
	bind_args(&b, &f, 0, MEM_LEN + 1);
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), BAD_ARG(3));
	bind_args(&b, &f, -1, 1);
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), BAD_ARG(3));
	bind_args(&b, &f, MEM_LEN, 1);
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), BAD_ARG(3));
	bind_args(&b, &f, 0, 1);
	b.range.lmr_context = m.context;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), BAD_ARG(3));
	KUNIT_EXPECT_EQ(test, lmr->binds, 1);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	unbind(test);
	KUNIT_EXPECT_EQ(test, lmr->binds, 0);
}

/* The range begins in the second of three pages that are not adjacent, and ends in the third */
static void B_01_pages_of_the_middle(struct kunit *test)
{
	DAT_PADDR pages[] = { m.page[0], m.page[2], m.page[4] };
	const struct fake_mr *mr;
	struct bind b;
	struct fmr f;

	kdapl_clauses(test, "B-01");
	mem_fmr_args(&m, &f);
	f.desc.for_physical = pages;
	f.n = 3;
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_bind_args(&m, &b);
	b.lmr = m.fmr;
	b.range.virtual_address = pages[0] + PAGE_SIZE + 8;
	b.range.segment_length = PAGE_SIZE;
	b.range.lmr_context = f.context;
	KUNIT_ASSERT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	mr = fake_valid_mr(fake(), b.key);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, mr->npages, 2);
	KUNIT_EXPECT_EQ(test, mr->page[0], (unsigned long)phys_to_virt(pages[1]));
	KUNIT_EXPECT_EQ(test, mr->page[1], (unsigned long)phys_to_virt(pages[2]));
	unbind(test);
}

static void only_what_is_registered(struct kunit *test)
{
	struct sg_fmr f;
	struct bind b;

	registered(test, &f);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	bind_args(&b, &f, 0, 1);
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_PRIVILEGES_VIOLATION);
	mem_finish(&m, &m.ep);
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_PRIVILEGES_VIOLATION);
	tp_drain(&m.ep);
	KUNIT_EXPECT_EQ(test, b.key, 0xdeadbeef);
	mem_expect_bound(test, &m, 0);
	expect_free(test);
}

static void G_01_a_bind_that_cannot_be_mapped(struct kunit *test)
{
	struct sg_fmr f;
	struct bind b;

	kdapl_clauses(test, "G-01");
	registered(test, &f);
	bind_args(&b, &f, 0, 8);
	fake()->fail_map = true;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INTERNAL_ERROR);
	fake()->fail_map = false;
	fake_refuse(fake(), -EINVAL, 1);
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, lmr->binds, 0);
	mem_expect_bound(test, &m, 0);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	expect_free(test);
}

/* ---- the end of the registration ----------------------------------------- */

static void B_20_the_binding_ends_first(struct kunit *test)
{
	struct sg_fmr f;
	struct bind b;

	kdapl_clauses(test, "B-20");
	registered(test, &f);
	bind_args(&b, &f, 0, 8);
	KUNIT_ASSERT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), IN_USE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), IN_USE);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.fmr), IN_USE);
	mem_expect_fmr(test, &m, true, f.key);
	mem_bind(test, &m, &m.ep, 2, 0, 0);
	/* Not before the request has completed */
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), IN_USE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	expect_free(test);
}

/* Bound to something else: the first LMR is not in use when that has completed */
static void B_20_a_rebind_ends_the_binding(struct kunit *test)
{
	struct sg_fmr f;

	kdapl_clauses(test, "B-20");
	registered(test, &f);
	bound_by(test, &f, &m.ep);
	mem_bind(test, &m, &m.ep, 2, 0, 8);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), IN_USE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	unbind(test);
	expect_free(test);
}

enum last { UNBIND, PEER, FREE_RMR };

static void peer_ends_it(struct kunit *test, enum last last)
{
	DAT_RMR_CONTEXT key;
	struct sg_fmr f;
	struct bind b;

	kdapl_clauses(test, "I-02 B-20");
	registered(test, &f);
	key = bound_by(test, &f, &m.ep);
	message(test, &m.ep, f.key);
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), f.key));
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), key));
	expect_held(test, &f);
	bind_args(&b, &f, 0, 8);
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_PRIVILEGES_VIOLATION);
	if (last == UNBIND) {
		unbind(test);
	} else if (last == PEER) {
		message(test, &m.ep, key);
	} else {
		KUNIT_EXPECT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
		m.rmr = DAT_HANDLE_NULL;
	}
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), key));
	expect_free(test);
}

static void I_02_peer_ends_it_before_the_unbind(struct kunit *test)
{
	peer_ends_it(test, UNBIND);
}

static void I_02_peer_ends_it_and_the_binding(struct kunit *test)
{
	peer_ends_it(test, PEER);
}

static void I_02_peer_ends_it_before_the_RMR_is_freed(struct kunit *test)
{
	peer_ends_it(test, FREE_RMR);
}

/* Two RMRs: the last one counts */
static void two_bindings(struct kunit *test)
{
	DAT_RMR_HANDLE second;
	struct sg_fmr f;
	struct bind b;

	registered(test, &f);
	bound_by(test, &f, &m.ep);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(m.pz, &second), DAT_SUCCESS);
	bind_args(&b, &f, 8, 8);
	b.rmr = second;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	message(test, &m.ep, f.key);
	unbind(test);
	expect_held(test, &f);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(second), DAT_SUCCESS);
	expect_free(test);
}

/* ---- failures ------------------------------------------------------------ */

/* The registration fails on its EP while the binding was made through another one */
static void F_10_the_registration_fails(struct kunit *test)
{
	struct tp_ep other;
	DAT_RMR_CONTEXT key;
	struct sg_fmr f;

	kdapl_clauses(test, "F-10");
	mem_second(test, &m, &other);
	posted(test, &f);
	key = bound_by(test, &f, &other);
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	fake_settle(fake());
	/* A work item has replaced the MR of the LMR */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(lmr->fmr.state) == KDAPL_MR_HELD));
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), key));
	KUNIT_EXPECT_EQ(test, lmr->npages, 1);
	mem_expect_fmr(test, &m, false, 0);
	mem_bind(test, &m, &other, 9, 0, 0);
	mem_finish(&m, &other);
	KUNIT_EXPECT_EQ(test, lmr->npages, 0);
	KUNIT_EXPECT_EQ(test, lmr->fmr.state, KDAPL_MR_FREE);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
	tp_drain(&other);
	tp_ep_free(&other);
}

/* The connection ends with both requests outstanding: work items undo both */
static void B_14_both_are_flushed(struct kunit *test)
{
	struct sg_fmr f;
	struct bind b;

	kdapl_clauses(test, "B-14 F-09");
	posted(test, &f);
	bind_args(&b, &f, 0, 8);
	KUNIT_ASSERT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(lmr->fmr.state) == KDAPL_MR_FREE));
	KUNIT_EXPECT_EQ(test, lmr->binds, 0);
	KUNIT_EXPECT_EQ(test, lmr->npages, 0);
	mem_expect_bound(test, &m, 0);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
}

/* As a bind on another EP does it */
static void another_thread_binds(void)
{
	spin_lock(&lmr->lock);
	lmr->binds++;
	spin_unlock(&lmr->lock);
}

/* The device refuses the registration when an RMR has been bound to it already */
static void G_01_bound_while_it_is_refused(struct kunit *test)
{
	unsigned long flags;
	struct sg_fmr f;

	kdapl_clauses(test, "G-01");
	mem_sg_args(&m, &f);
	fake()->refuse_hook = another_thread_binds;
	fake_refuse(fake(), -EINVAL, 1);
	TP_EXPECT_TYPE(test, mem_sg_post(&f), DAT_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, lmr->fmr.state, KDAPL_MR_HELD);
	KUNIT_EXPECT_EQ(test, lmr->npages, 1);
	KUNIT_EXPECT_EQ(test, mem_sg_post(&f), IN_USE);
	local_irq_save(flags);
	kdapl_lmr_unbound(lmr);
	local_irq_restore(flags);
	expect_free(test);
}

/* ---- close and removal --------------------------------------------------- */

static void C_36_abrupt_close(struct kunit *test)
{
	struct sg_fmr f;

	kdapl_clauses(test, "C-36");
	registered(test, &f);
	bound_by(test, &f, &m.ep);
	message(test, &m.ep, f.key);
	memset(&m.ep, 0, sizeof(m.ep));
	KUNIT_EXPECT_EQ(test, dat_ia_close(m.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	m.env->ia = NULL;
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake()->live), 0);
}

static void device_leaves(struct kunit *test, bool held)
{
	struct sg_fmr f;

	kdapl_clauses(test, "C-57");
	registered(test, &f);
	bound_by(test, &f, &m.ep);
	if (held)
		message(test, &m.ep, f.key);
	fake_dev_unplug(fake());
	KUNIT_EXPECT_EQ(test, atomic_read(&fake()->live), 0);
	KUNIT_EXPECT_EQ(test, lmr->npages, 0);
	KUNIT_EXPECT_EQ(test, lmr->binds, 0);
	mem_expect_bound(test, &m, 0);
}

static void C_57_device_leaves(struct kunit *test)
{
	device_leaves(test, false);
}

static void C_57_device_leaves_a_held_LMR(struct kunit *test)
{
	device_leaves(test, true);
}

/* ---- suite ------------------------------------------------------------- */

static int rmr_fmr_init(struct kunit *test)
{
	struct kdapl_obj *obj;
	int ret = mem_setup(test, &m);

	if (ret)
		return ret;
	obj = kdapl_obj_get(m.fmr, DAT_HANDLE_TYPE_LMR);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	lmr = to_kdapl_lmr(obj);
	kdapl_obj_put(obj);
	return 0;
}

static void rmr_fmr_exit(struct kunit *test)
{
	mem_done(test, &m);
}

static struct kunit_case rmr_fmr_cases[] = {
	KUNIT_CASE(B_10_a_part_of_the_registration),
	KUNIT_CASE(B_01_pages_of_the_middle),
	KUNIT_CASE(only_what_is_registered),
	KUNIT_CASE(G_01_a_bind_that_cannot_be_mapped),
	KUNIT_CASE(B_20_the_binding_ends_first),
	KUNIT_CASE(B_20_a_rebind_ends_the_binding),
	KUNIT_CASE(I_02_peer_ends_it_before_the_unbind),
	KUNIT_CASE(I_02_peer_ends_it_and_the_binding),
	KUNIT_CASE(I_02_peer_ends_it_before_the_RMR_is_freed),
	KUNIT_CASE(two_bindings),
	KUNIT_CASE(F_10_the_registration_fails),
	KUNIT_CASE(B_14_both_are_flushed),
	KUNIT_CASE(G_01_bound_while_it_is_refused),
	KUNIT_CASE(C_36_abrupt_close),
	KUNIT_CASE(C_57_device_leaves),
	KUNIT_CASE(C_57_device_leaves_a_held_LMR),
	{}
};

static struct kunit_suite rmr_fmr_suite = {
	.name = "kdapl_rmr_fmr",
	.init = rmr_fmr_init,
	.exit = rmr_fmr_exit,
	.test_cases = rmr_fmr_cases,
};

kunit_test_suite(rmr_fmr_suite);
