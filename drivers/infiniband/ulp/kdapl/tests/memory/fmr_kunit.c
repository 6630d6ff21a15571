// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: dat_lmr_allocate(), dat_lmr_fmr() and dat_lmr_invalidate().
 *
 * Contract 4.10 and 4.11: the arguments and the order of their checks, the states of the
 * LMR, and contexts that differ each time. Runs in a KUnit thread.
 */
#include "mem_kunit.h"

#define IN_USE	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE)
#define NOT_BOUND DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE)

static struct mem m;

static struct fake_queue *sq(void)
{
	return &tp_qp(&m.ep)->sq;
}

static struct fake_dev *fake(void)
{
	return m.env->fake;
}

static void expect_nothing_valid(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
}

static void post_fmr(struct kunit *test, struct fmr *f)
{
	mem_fmr_args(&m, f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(f), DAT_SUCCESS);
}

/* Registers the LMR and dequeues the event */
static void registered(struct kunit *test, struct fmr *f)
{
	post_fmr(test, f);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f->cookie.as_64, DAT_DTO_SUCCESS);
	mem_expect_fmr(test, &m, true, f->key);
}

/* ---- arguments -------------------------------------------------------- */

static void F_04_allocate_arguments(struct kunit *test)
{
	DAT_LMR_HANDLE lmr;

	kdapl_clauses(test, "F-04");
	TP_EXPECT_TYPE(test, dat_lmr_allocate(m.pz, m.pz, 4, DAT_LMR_SCOPE_PZ, &lmr),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_lmr_allocate(m.ia, m.ia, 4, DAT_LMR_SCOPE_PZ, &lmr),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_lmr_allocate(m.ia, m.pz, 0, DAT_LMR_SCOPE_PZ, &lmr),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_lmr_allocate(m.ia, m.pz, -1, DAT_LMR_SCOPE_PZ, &lmr),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_lmr_allocate(m.ia, m.pz, FAKE_PAGE_LIST + 1, DAT_LMR_SCOPE_PZ,
					      &lmr), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_lmr_allocate(m.ia, m.pz, 4, 3, &lmr), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_lmr_allocate(m.ia, m.pz, 4, DAT_LMR_SCOPE_EP, &lmr),
		       DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_lmr_allocate(m.ia, m.pz, 4, DAT_LMR_SCOPE_PZ, NULL),
		       DAT_INVALID_PARAMETER);
	fake()->fail_mrs = -ENOMEM;
	TP_EXPECT_TYPE(test, dat_lmr_allocate(m.ia, m.pz, 4, DAT_LMR_SCOPE_PZ, &lmr),
		       DAT_INSUFFICIENT_RESOURCES);
	fake()->fail_mrs = 0;
	KUNIT_EXPECT_EQ(test, dat_lmr_allocate(m.ia, m.pz, FAKE_PAGE_LIST, DAT_LMR_SCOPE_ANY,
					       &lmr), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
}

static DAT_LMR_HANDLE foreign_fmr;
static DAT_PADDR odd_page[1];

static void bad_lmr(struct fmr *f)
{
	f->lmr = m.rmr;
}

static void bad_ep(struct fmr *f)
{
	f->ep = m.rmr;
}

static void virtual_memory(struct fmr *f)
{
	f->type = DAT_MEM_TYPE_VIRTUAL;
}

static void not_allocated(struct fmr *f)
{
	if (f->lmr == m.fmr || f->lmr == foreign_fmr)
		f->lmr = m.lmr;
}

static void no_array(struct fmr *f)
{
	f->desc.for_physical = NULL;
}

static void no_pages(struct fmr *f)
{
	f->n = 0;
}

static void odd_privilege(struct fmr *f)
{
	f->priv |= 0x04;
}

static void odd_va_type(struct fmr *f)
{
	f->va = 77;
}

static void solicited(struct fmr *f)
{
	f->flags |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}

static void inv_fence(struct fmr *f)
{
	f->flags |= DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
}

static void no_lmr_context(struct fmr *f)
{
	f->lmr_context = NULL;
}

static void no_rmr_context(struct fmr *f)
{
	f->rmr_context = NULL;
}

static void not_connected(struct fmr *f)
{
	tp_set_state(&m.ep, DAT_EP_STATE_UNCONNECTED);
}

static void other_zone(struct fmr *f)
{
	if (f->lmr == m.fmr)
		f->lmr = foreign_fmr;
}

static void odd_address(struct fmr *f)
{
	if (!f->desc.for_physical)
		return;
	f->desc.for_physical = odd_page;
	f->n = min_t(DAT_VLEN, f->n, 1);
}

static void full_queue(struct fmr *f)
{
	u32 i;

	for (i = 0; i < TP_DEPTH; i++)
		tp_post_one(m.env, &m.ep, TP_SEND, i, 0);
}

static const struct fault {
	void (*make)(struct fmr *f);
	DAT_RETURN ret;
} faults[] = {
	{ bad_lmr, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR) },
	{ bad_ep, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP) },
	{ virtual_memory, DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE) },
	{ not_allocated, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1) },
	{ no_array, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3) },
	{ no_pages, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4) },
	{ odd_privilege, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5) },
	{ odd_va_type, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6) },
	{ no_lmr_context, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG10) },
	{ no_rmr_context, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE) },
	{ solicited, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9) },
	{ inv_fence, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9) },
	{ not_connected, DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED) },
	{ other_zone, DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE) },
	{ odd_address, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3) },
	{ full_queue, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY) },
};

/* A call with several faults returns the error of the first one, and changes nothing */
static void refuse_fmr(struct kunit *test, struct fmr *f, u32 first)
{
	u32 tail = sq()->tail;

	KUNIT_EXPECT_EQ_MSG(test, mem_fmr_post(f), faults[first].ret, "fault %u", first);
	KUNIT_EXPECT_EQ(test, sq()->tail, tail);
	KUNIT_EXPECT_EQ(test, f->context, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, f->key, 0xdeadbeef);
	mem_expect_fmr(test, &m, false, 0);
	tp_set_state(&m.ep, DAT_EP_STATE_CONNECTED);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
}

static void F_05_the_first_fault_decides(struct kunit *test)
{
	u32 first, i;
	struct fmr f;

	kdapl_clauses(test, "F-04 F-05 F-06 F-07 F-08 F-11 G-01 G-35");
	odd_page[0] = m.page[0] + 1;
	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(m.ia, m.env->foreign.pz, 4, DAT_LMR_SCOPE_PZ,
					       &foreign_fmr), DAT_SUCCESS);
	for (first = 0; first < ARRAY_SIZE(faults); first++) {
		/*
		 * Test each fault alone too: two faults in flags give the same error and
		 * hide each other
		 */
		mem_fmr_args(&m, &f);
		faults[first].make(&f);
		refuse_fmr(test, &f, first);
		mem_fmr_args(&m, &f);
		for (i = ARRAY_SIZE(faults); i-- > first; )
			faults[i].make(&f);
		refuse_fmr(test, &f, first);
	}
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(foreign_fmr), DAT_SUCCESS);
	mem_fmr_args(&m, &f);
	f.va = DAT_VA_TYPE_ZB;
	TP_EXPECT_TYPE(test, mem_fmr_post(&f), DAT_MODEL_NOT_SUPPORTED);
	/* Without remote rights no key is returned, and the pointer may be NULL */
	mem_fmr_args(&m, &f);
	f.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	f.rmr_context = NULL;
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
}

static void F_07_numbers_and_sizes_of_pages(struct kunit *test)
{
	static const struct {
		u64 size, n, skip;
		u32 arg;		/* 0: accepted */
	} rows[] = {
		{ PAGE_SIZE, MEM_PAGES, 0, 0 },
		{ PAGE_SIZE, MEM_PAGES + 1, 0, DAT_INVALID_ARG4 },
		{ 2 * PAGE_SIZE, 2, 0, 0 },
		{ 2 * PAGE_SIZE, 3, 0, DAT_INVALID_ARG4 },
		{ MEM_PAGES * PAGE_SIZE, 1, 0, 0 },
		{ 2 * MEM_PAGES * PAGE_SIZE, 1, 0, DAT_INVALID_ARG4 },
		{ 2 * PAGE_SIZE, 1, PAGE_SIZE, DAT_INVALID_ARG3 },
		{ PAGE_SIZE / 2, 1, 0, DAT_INVALID_ARG3 },
		{ PAGE_SIZE + 512, 1, 0, DAT_INVALID_ARG3 },
		{ 0, 1, 0, DAT_INVALID_ARG3 },
		{ PAGE_SIZE, U64_MAX, 0, DAT_INVALID_ARG4 },
		{ PAGE_SIZE << 50, 1, 0, DAT_INVALID_ARG4 },
	};
	DAT_PADDR pages[MEM_PAGES];
	DAT_RETURN ret;
	const struct fake_mr *mr;
	struct fmr f;
	u32 i, j;

	kdapl_clauses(test, "F-04 F-07 F-15");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		mem_fmr_args(&m, &f);
		for (j = 0; j < MEM_PAGES; j++)
			pages[j] = m.page[0] + rows[i].skip + j * rows[i].size;
		f.type = DAT_MEM_TYPE_PHYSICAL_VAR_PAGES;
		f.desc.for_array.page_size = rows[i].size;
		f.desc.for_array.pages = rows[i].size == PAGE_SIZE ? m.page : pages;
		f.n = rows[i].n;
		ret = rows[i].arg ? DAT_ERROR(DAT_INVALID_PARAMETER, rows[i].arg) : DAT_SUCCESS;
		KUNIT_EXPECT_EQ_MSG(test, mem_fmr_post(&f), ret, "row %u", i);
		if (ret != DAT_SUCCESS)
			continue;
		mem_finish(&m, &m.ep);
		mr = fake_valid_mr(fake(), f.key);
		KUNIT_ASSERT_NOT_NULL(test, mr);
		KUNIT_EXPECT_EQ(test, mr->npages, MEM_PAGES);
		KUNIT_EXPECT_EQ(test, mr->ibmr.length, MEM_PAGES * PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, mr->ibmr.iova, m.page[0]);
		KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
		mem_finish(&m, &m.ep);
		tp_drain(&m.ep);
	}
	/* A page frame number 0, and one that no memory has */
	for (i = 0; i < 2; i++) {
		mem_fmr_args(&m, &f);
		pages[0] = i ? BIT_ULL(51) : 0;
		f.desc.for_physical = pages;
		f.n = 1;
		TP_EXPECT_TYPE(test, mem_fmr_post(&f), DAT_INVALID_PARAMETER);
	}
	expect_nothing_valid(test);
}

static void V_06_V_09_invalidate_arguments(struct kunit *test)
{
	DAT_LMR_COOKIE cookie = { .as_64 = 1 };
	struct tp_lmr *rw = &m.env->own.rw;
	struct fmr f;
	u32 bit;

	kdapl_clauses(test, "V-06 V-07 V-09 V-11 G-24");
	KUNIT_EXPECT_EQ(test, dat_lmr_invalidate(m.rmr, m.rmr, cookie, ~0),
			DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR));
	KUNIT_EXPECT_EQ(test, dat_lmr_invalidate(rw->handle, m.rmr, cookie, ~0),
			DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
	KUNIT_EXPECT_EQ(test, dat_lmr_invalidate(rw->handle, m.ep.handle, cookie,
						 DAT_COMPLETION_SOLICITED_WAIT_FLAG),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), NOT_BOUND);
	registered(test, &f);
	for (bit = 0; bit < 32; bit++) {
		u32 legal = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |
			    DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;

		if (!(BIT(bit) & legal))
			KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, BIT(bit)),
					DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4));
	}
	/*
	 * LMR_INVALIDATE_FENCE is refused while other requests are outstanding, because
	 * this device does not promise to keep requests in order
	 */
	KUNIT_ASSERT_EQ(test, tp_post_one(m.env, &m.ep, TP_SEND, 1, 0), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, mem_invalidate(&m, &m.ep, 2,
					    DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG),
		       DAT_MODEL_NOT_SUPPORTED);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 3,
					     DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_wr_at(sq(), 0)->send_flags, IB_SEND_SIGNALED | IB_SEND_FENCE);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 4, 0), NOT_BOUND);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 4, 0), NOT_BOUND);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 2);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
}

/* ---- sequences of calls ----------------------------------------------- */

static void F_01_F_13_V_10_contexts_differ(struct kunit *test)
{
	DAT_LMR_CONTEXT context[4];
	DAT_RMR_CONTEXT key[4];
	struct fmr f;
	u32 i, j;

	kdapl_clauses(test, "F-01 F-02 F-13 F-14 V-01 V-02 V-10");
	for (i = 0; i < 4; i++) {
		post_fmr(test, &f);
		context[i] = f.context;
		key[i] = f.key;
		for (j = 0; j < i; j++) {
			KUNIT_EXPECT_NE(test, context[j], context[i]);
			KUNIT_EXPECT_NE(test, key[j], key[i]);
			TP_EXPECT_TYPE(test, mem_local_use(&m, &m.ep, context[j]),
				       DAT_PRIVILEGES_VIOLATION);
		}
		KUNIT_EXPECT_EQ(test, fake_last(sq())->opcode, IB_WR_REG_MR);
		KUNIT_EXPECT_EQ(test, fake_last(sq())->rkey, f.key);
		mem_expect_fmr(test, &m, false, f.key);
		mem_finish(&m, &m.ep);
		mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_SUCCESS);
		mem_expect_fmr(test, &m, true, f.key);

		KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, i, 0), DAT_SUCCESS);
		/* The context is invalid as soon as the call has returned */
		TP_EXPECT_TYPE(test, mem_local_use(&m, &m.ep, f.context), DAT_PRIVILEGES_VIOLATION);
		KUNIT_EXPECT_EQ(test, fake_last(sq())->opcode, IB_WR_LOCAL_INV);
		KUNIT_EXPECT_EQ(test, fake_last(sq())->rkey, f.key);
		mem_finish(&m, &m.ep);
		mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, i, DAT_DTO_SUCCESS);
		mem_expect_fmr(test, &m, false, 0);
		expect_nothing_valid(test);
	}
}

/* The LMR covers the buffer of the fixture; posts use the physical addresses */
static void F_02_local_use_at_once(struct kunit *test)
{
	struct tp_args args;
	struct fmr f;

	kdapl_clauses(test, "F-02 F-15");
	post_fmr(test, &f);
	tp_args(m.env, &m.ep, TP_SEND, &args);
	args.segs[0].lmr_context = f.context;
	args.segs[0].virtual_address = m.page[0] + 2 * PAGE_SIZE - 8;
	args.segs[0].segment_length = 8;
	KUNIT_EXPECT_EQ(test, tp_post(TP_SEND, &args), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->sge[0].lkey,
			fake_wr_at(sq(), 0)->mr->ibmr.lkey);
	args.segs[0].segment_length = 9;
	TP_EXPECT_TYPE(test, tp_post(TP_SEND, &args), DAT_INVALID_PARAMETER);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
}

static void F_05_bound_or_not_yet_free(struct kunit *test)
{
	struct fmr f, again;

	kdapl_clauses(test, "F-05 V-06 V-10");
	post_fmr(test, &f);
	mem_fmr_args(&m, &again);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&again), IN_USE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&again), IN_USE);
	KUNIT_EXPECT_EQ(test, again.context, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&again), IN_USE);
	mem_finish(&m, &m.ep);
	/* Both events are still queued: only the completion matters */
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&again), DAT_SUCCESS);
	/* An outstanding registration can be invalidated on its own queue */
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 2, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&again), IN_USE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 4);
	mem_expect_fmr(test, &m, false, 0);
	expect_nothing_valid(test);
}

/* The pages may be released at any time, so no other LMR can be created over them */
static void no_source_for_another_LMR(struct kunit *test)
{
	DAT_REGION_DESCRIPTION source = { .for_lmr_handle = m.fmr };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	struct fmr f;

	registered(test, &f);
	TP_EXPECT_TYPE(test, dat_lmr_kcreate(m.ia, DAT_MEM_TYPE_LMR, source, PAGE_SIZE, m.pz,
					     DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA,
					     DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &context, NULL,
					     NULL, NULL), DAT_MODEL_NOT_SUPPORTED);
	mem_expect_fmr(test, &m, true, f.key);
}

static void V_06_a_request_is_outstanding_elsewhere(struct kunit *test)
{
	struct tp_ep other;
	struct fmr f;

	kdapl_clauses(test, "V-06 V-08");
	mem_second(test, &m, &other);
	post_fmr(test, &f);
	/* On another queue it could overtake the registration */
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &other, 1, 0), NOT_BOUND);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &other, 1, 0), DAT_SUCCESS);
	mem_finish(&m, &other);
	mem_expect(test, &other, DAT_DTO_LMR_INVALIDATE, 1, DAT_DTO_SUCCESS);
	expect_nothing_valid(test);
	tp_drain(&m.ep);
	tp_ep_free(&other);
}

static void F_11_V_07_flags(struct kunit *test)
{
	struct fmr f;
	u32 i;

	kdapl_clauses(test, "F-11 V-07 G-34");
	mem_fmr_args(&m, &f);
	f.flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->send_flags, IB_SEND_SIGNALED | IB_SEND_FENCE);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_SUCCESS);
	f.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	for (i = 0; i < 2 * TP_DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, mem_invalidate(&m, &m.ep, 1, DAT_COMPLETION_SUPPRESS_FLAG),
				DAT_SUCCESS);
		mem_finish(&m, &m.ep);
		KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
		mem_finish(&m, &m.ep);
	}
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), f.key));
}

/* ---- suite ------------------------------------------------------------- */

static int fmr_init(struct kunit *test)
{
	return mem_setup(test, &m);
}

static void fmr_exit(struct kunit *test)
{
	mem_done(test, &m);
}

static struct kunit_case fmr_cases[] = {
	KUNIT_CASE(F_04_allocate_arguments),
	KUNIT_CASE(F_05_the_first_fault_decides),
	KUNIT_CASE(F_07_numbers_and_sizes_of_pages),
	KUNIT_CASE(V_06_V_09_invalidate_arguments),
	KUNIT_CASE(F_01_F_13_V_10_contexts_differ),
	KUNIT_CASE(F_02_local_use_at_once),
	KUNIT_CASE(F_05_bound_or_not_yet_free),
	KUNIT_CASE(no_source_for_another_LMR),
	KUNIT_CASE(V_06_a_request_is_outstanding_elsewhere),
	KUNIT_CASE(F_11_V_07_flags),
	{}
};

static struct kunit_suite fmr_suite = {
	.name = "kdapl_fmr",
	.init = fmr_init,
	.exit = fmr_exit,
	.test_cases = fmr_cases,
};

kunit_test_suite(fmr_suite);
