// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: kdat_lmr_fmr_sg().
 *
 * Which bytes the device gets, which lists are refused, the arguments and the order of their
 * checks, and the end of the registration, which is the same as that of dat_lmr_fmr(). Runs in
 * a KUnit thread.
 */
#include "mem_kunit.h"

#define BAD_ARG(n) DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define IN_USE	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE)
#define P	((u32)PAGE_SIZE)

static struct mem m;
static DEFINE_SPINLOCK(consumer_lock);

static struct fake_queue *sq(void)
{
	return &tp_qp(&m.ep)->sq;
}

static struct fake_dev *fake(void)
{
	return m.env->fake;
}

/* Registers and dequeues the event */
static void registered(struct kunit *test, struct sg_fmr *f)
{
	KUNIT_ASSERT_EQ(test, mem_sg_post(f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f->cookie.as_64, DAT_DTO_SUCCESS);
	mem_expect_fmr(test, &m, true, f->key);
}

static void invalidated(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 2, 0), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_SUCCESS);
	mem_expect_fmr(test, &m, false, 0);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
}

/* ---- memory ------------------------------------------------------------ */

/* Entries, as offset in the buffer and length */
struct list {
	u32 part[MEM_SG][2];
	u32 npages;		/* that the device gets, or 0: refused */
	DAT_RETURN ret;
};

static void make_list(struct sg_fmr *f, const struct list *list)
{
	u32 i;

	mem_sg_args(&m, f);
	f->nents = 0;
	for (i = 0; i < MEM_SG && (list->part[i][0] || list->part[i][1]); i++)
		mem_sg_add(&m, f, list->part[i][0], list->part[i][1]);
	sg_mark_end(&f->sg[f->nents - 1]);
}

static u64 length_of(const struct sg_fmr *f)
{
	u64 length = 0;
	int i;

	for (i = 0; i < f->nents; i++)
		length += f->sg[i].length;
	return length;
}

/* The device gets the pages of the list in order, and its first byte and its length exactly */
static void expect_mapped(struct kunit *test, struct sg_fmr *f, u32 npages, u32 row)
{
	const struct fake_mr *mr = fake_valid_mr(fake(), f->key);
	u32 i, j, n = 0;
	u64 page, last = 0;
	DAT_LMR_PARAM param;

	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_EXPECT_EQ_MSG(test, mr->ibmr.iova, mem_sg_address(f), "row %u", row);
	KUNIT_EXPECT_EQ_MSG(test, mr->ibmr.length, length_of(f), "row %u", row);
	KUNIT_EXPECT_EQ_MSG(test, mr->npages, npages, "row %u", row);
	for (i = 0; i < f->nents; i++)
		for (j = 0; j < f->sg[i].length; j++) {
			page = ((unsigned long)sg_virt(&f->sg[i]) + j) & PAGE_MASK;
			if (page == last)
				continue;
			last = page;
			KUNIT_ASSERT_LT_MSG(test, n, npages, "row %u", row);
			KUNIT_EXPECT_EQ_MSG(test, mr->page[n], page, "row %u page %u", row, n);
			n++;
		}
	KUNIT_EXPECT_EQ_MSG(test, n, npages, "row %u", row);
	KUNIT_ASSERT_EQ(test, dat_lmr_query(m.fmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.mem_type, DAT_MEM_TYPE_PHYSICAL);
	KUNIT_EXPECT_NULL(test, param.region_desc.for_physical);
	KUNIT_EXPECT_EQ(test, param.registered_address, mem_sg_address(f));
	KUNIT_EXPECT_EQ(test, param.registered_size, length_of(f));
	KUNIT_EXPECT_EQ(test, param.length, length_of(f));
	KUNIT_EXPECT_EQ(test, param.lmr_context, f->context);
}

static void exactly_the_bytes_of_the_list(struct kunit *test)
{
	static const struct list lists[] = {
		/* One entry: inside a page, to its end, across pages, whole pages */
		{ { { 100, 1 } }, 1 },
		{ { { P - 1, 1 } }, 1 },
		{ { { 8, P - 8 } }, 1 },
		{ { { P - 1, 2 } }, 2 },
		{ { { P + 512, 2 * P } }, 3 },
		{ { { P, 3 * P } }, 3 },
		{ { { 2 * P + 4, 3 * P + 8 } }, 4 },
		/* Only the first one begins and only the last one ends inside a page */
		{ { { P + 100, P - 100 }, { 4 * P, P } }, 2 },
		{ { { 3 * P, P }, { P, 5 } }, 2 },
		{ { { P + 8, 2 * P - 8 }, { 5 * P, P }, { 7 * P, 9 } }, 4 },
		{ { { P, P }, { 3 * P, P }, { 5 * P, P }, { 4 * P, P } }, 4 },
		/* Two entries meet in the middle of a page */
		{ { { P + 100, 200 }, { P + 300, 400 } }, 1 },
		{ { { P + 100, 200 }, { P + 300, P } }, 2 },
		{ { { P + 8, 1 }, { P + 9, 1 }, { P + 10, 2 * P }, { 3 * P + 10, 7 } }, 3 },
		{ { { P + 8, P }, { 2 * P + 8, P - 8 }, { 5 * P, P }, { 7 * P, 9 } }, 4 },
	};
	struct sg_fmr f;
	u32 i;

	kdapl_clauses(test, "F-01");
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		make_list(&f, &lists[i]);
		registered(test, &f);
		expect_mapped(test, &f, lists[i].npages, i);
		invalidated(test);
	}
}

static void G_01_lists_that_are_refused(struct kunit *test)
{
	static const struct list lists[] = {
		/* Gaps: after a part of a page, before one, and both */
		{ { { P, 100 }, { 2 * P, P } }, 0, BAD_ARG(2) },
		{ { { P, P }, { 2 * P + 8, 8 } }, 0, BAD_ARG(2) },
		{ { { P, 100 }, { P + 101, 8 } }, 0, BAD_ARG(2) },
		{ { { P, 100 }, { P + 99, 8 } }, 0, BAD_ARG(2) },
		{ { { P, 100 }, { 2 * P + 100, 8 } }, 0, BAD_ARG(2) },
		{ { { P, P }, { P, 100 }, { 3 * P, 8 } }, 0, BAD_ARG(2) },
		{ { { P, P }, { P + 100, 8 } }, 0, BAD_ARG(2) },
		/* An empty entry, first or last, or where entries meet */
		{ { { P, 0 }, { P, P } }, 0, BAD_ARG(2) },
		{ { { P, P }, { 2 * P, 0 } }, 0, BAD_ARG(2) },
		{ { { P, 8 }, { P + 8, 0 }, { P + 8, 8 } }, 0, BAD_ARG(2) },
		/* More pages than the LMR has */
		{ { { P, MEM_PAGES * P + 1 } }, 0, BAD_ARG(3) },
		{ { { P + 8, MEM_PAGES * P } }, 0, BAD_ARG(3) },
		{ { { P, P }, { 3 * P, P }, { P, 2 * P }, { 5 * P, 1 } }, 0, BAD_ARG(3) },
		{ { { P + 8, MEM_PAGES * P - 8 }, { 6 * P, 1 } }, 0, BAD_ARG(3) },
	};
	u32 tail = sq()->tail, i;
	struct sg_fmr f;

	kdapl_clauses(test, "G-01");
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		make_list(&f, &lists[i]);
		KUNIT_EXPECT_EQ_MSG(test, mem_sg_post(&f), lists[i].ret, "row %u", i);
		KUNIT_EXPECT_EQ(test, f.context, 0xdeadbeef);
		KUNIT_EXPECT_EQ(test, f.key, 0xdeadbeef);
	}
	KUNIT_EXPECT_EQ(test, sq()->tail, tail);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	/* The last byte that the LMR can have, and nothing has changed before */
	mem_sg_args(&m, &f);
	f.nents = 0;
	mem_sg_add(&m, &f, P + 8, MEM_PAGES * P - 8);
	registered(test, &f);
	expect_mapped(test, &f, MEM_PAGES, 0);
}

/* A list may consist of several arrays, and an offset may be larger than a page */
static void a_chain_of_lists(struct kunit *test)
{
	struct scatterlist more[2];
	const struct fake_mr *mr;
	struct sg_fmr f;

	mem_sg_args(&m, &f);
	sg_init_table(f.sg, 2);
	sg_init_table(more, 2);
	sg_set_page(&f.sg[0], virt_to_page(m.env->buf), P - 8, P + 8);
	sg_chain(f.sg, 2, more);
	sg_set_buf(&more[0], m.env->buf + 3 * P, P);
	sg_set_page(&more[1], virt_to_page(m.env->buf), 16, 5 * P);
	f.nents = 3;
	registered(test, &f);
	mr = fake_valid_mr(fake(), f.key);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, mr->ibmr.iova, 8);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 2 * P + 8);
	KUNIT_EXPECT_EQ(test, mr->npages, 3);
	KUNIT_EXPECT_EQ(test, mr->page[0], (unsigned long)m.env->buf + P);
	KUNIT_EXPECT_EQ(test, mr->page[1], (unsigned long)m.env->buf + 3 * P);
	KUNIT_EXPECT_EQ(test, mr->page[2], (unsigned long)m.env->buf + 5 * P);
	invalidated(test);
	/* The list ends before that */
	f.nents = 4;
	KUNIT_EXPECT_EQ(test, mem_sg_post(&f), BAD_ARG(3));
	/* The first entries only */
	f.nents = 2;
	registered(test, &f);
	KUNIT_EXPECT_EQ(test, fake_valid_mr(fake(), f.key)->ibmr.length, 2 * P - 8);
}

/* Spinlocks are held for the whole list, so the memory alone does not limit its length */
static void G_01_a_list_with_many_small_entries(struct kunit *test)
{
	u32 most = 8 * MEM_PAGES, i;
	struct sg_fmr f;

	kdapl_clauses(test, "G-01");
	mem_sg_args(&m, &f);
	f.sgl = kunit_kcalloc(test, most + 1, sizeof(*f.sgl), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f.sgl);
	sg_init_table(f.sgl, most + 1);
	for (i = 0; i <= most; i++)
		sg_set_buf(&f.sgl[i], m.env->buf + P + i, 1);
	f.nents = most + 1;
	KUNIT_EXPECT_EQ(test, mem_sg_post(&f), BAD_ARG(3));
	f.nents = most;
	registered(test, &f);
	KUNIT_EXPECT_EQ(test, fake_valid_mr(fake(), f.key)->ibmr.length, most);
}

static DAT_RETURN send_at(DAT_LMR_CONTEXT context, u64 address, u32 length)
{
	struct tp_args args;

	tp_args(m.env, &m.ep, TP_SEND, &args);
	args.segs[0].lmr_context = context;
	args.segs[0].virtual_address = address;
	args.segs[0].segment_length = length;
	return tp_post(TP_SEND, &args);
}

static void F_02_triplets_end_with_the_memory(struct kunit *test)
{
	struct sg_fmr f;
	u64 first;

	kdapl_clauses(test, "F-02");
	mem_sg_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_sg_post(&f), DAT_SUCCESS);
	first = mem_sg_address(&f);
	/* At once, before the registration has completed */
	KUNIT_EXPECT_EQ(test, send_at(f.context, first, MEM_LEN), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->sge[0].addr, first);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->sge[0].length, MEM_LEN);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->sge[0].lkey, fake_wr_at(sq(), 0)->mr->ibmr.lkey);
	KUNIT_EXPECT_EQ(test, send_at(f.context, first, 1), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, send_at(f.context, first + MEM_LEN - 1, 1), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, send_at(f.context, first - 1, 1), BAD_ARG(3));
	KUNIT_EXPECT_EQ(test, send_at(f.context, first - 1, 2), BAD_ARG(3));
	KUNIT_EXPECT_EQ(test, send_at(f.context, first + MEM_LEN, 1), BAD_ARG(3));
	KUNIT_EXPECT_EQ(test, send_at(f.context, first + MEM_LEN - 1, 2), BAD_ARG(3));
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
}

/* ---- arguments --------------------------------------------------------- */

static DAT_LMR_HANDLE foreign_fmr;

static void bad_lmr(struct sg_fmr *f)
{
	f->lmr = m.rmr;
}

static void bad_ep(struct sg_fmr *f)
{
	f->ep = m.rmr;
}

static void not_allocated(struct sg_fmr *f)
{
	if (f->lmr == m.fmr || f->lmr == foreign_fmr)
		f->lmr = m.lmr;
}

static void no_list(struct sg_fmr *f)
{
	f->sgl = NULL;
}

static void no_entries(struct sg_fmr *f)
{
	f->nents = 0;
}

static void negative_entries(struct sg_fmr *f)
{
	f->nents = -1;
}

static void odd_privilege(struct sg_fmr *f)
{
	f->priv |= 0x04;
}

static void no_lmr_context(struct sg_fmr *f)
{
	f->lmr_context = NULL;
}

static void no_rmr_context(struct sg_fmr *f)
{
	f->rmr_context = NULL;
}

static void solicited(struct sg_fmr *f)
{
	f->flags |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}

static void inv_fence(struct sg_fmr *f)
{
	f->flags |= DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
}

static void not_connected(struct sg_fmr *f)
{
	tp_set_state(&m.ep, DAT_EP_STATE_UNCONNECTED);
}

static void other_zone(struct sg_fmr *f)
{
	if (f->lmr == m.fmr)
		f->lmr = foreign_fmr;
}

static void empty_entry(struct sg_fmr *f)
{
	f->sg[0].length = 0;
}

static void full_queue(struct sg_fmr *f)
{
	u32 i;

	for (i = 0; i < TP_DEPTH; i++)
		tp_post_one(m.env, &m.ep, TP_SEND, i, 0);
}

static const struct fault {
	void (*make)(struct sg_fmr *f);
	DAT_RETURN ret;
} faults[] = {
	{ bad_lmr, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR) },
	{ bad_ep, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP) },
	{ not_allocated, BAD_ARG(1) },
	{ no_list, BAD_ARG(2) },
	{ no_entries, BAD_ARG(3) },
	{ negative_entries, BAD_ARG(3) },
	{ odd_privilege, BAD_ARG(4) },
	{ no_lmr_context, BAD_ARG(8) },
	{ no_rmr_context, BAD_ARG(9) },
	{ solicited, BAD_ARG(7) },
	{ inv_fence, BAD_ARG(7) },
	{ not_connected, DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED) },
	{ other_zone, DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE) },
	{ empty_entry, BAD_ARG(2) },
	{ full_queue, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY) },
};

/* A call with several faults returns the error of the first one, and changes nothing */
static void refuse(struct kunit *test, struct sg_fmr *f, u32 first)
{
	u32 tail = sq()->tail;

	KUNIT_EXPECT_EQ_MSG(test, mem_sg_post(f), faults[first].ret, "fault %u", first);
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
	struct sg_fmr f;
	u32 first, i;

	kdapl_clauses(test, "F-05 F-08 F-11 G-01");
	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(m.ia, m.env->foreign.pz, 4, DAT_LMR_SCOPE_PZ,
					       &foreign_fmr), DAT_SUCCESS);
	for (first = 0; first < ARRAY_SIZE(faults); first++) {
		mem_sg_args(&m, &f);
		faults[first].make(&f);
		refuse(test, &f, first);
		mem_sg_args(&m, &f);
		for (i = ARRAY_SIZE(faults); i-- > first; )
			faults[i].make(&f);
		refuse(test, &f, first);
	}
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(foreign_fmr), DAT_SUCCESS);
	/* Without remote rights no key is returned, and the pointer may be NULL */
	mem_sg_args(&m, &f);
	f.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	f.rmr_context = NULL;
	KUNIT_EXPECT_EQ(test, mem_sg_post(&f), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->access, 0);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
}

/* ---- states and failures ------------------------------------------------ */

static void V_10_each_registration_has_its_own_key(struct kunit *test)
{
	struct sg_fmr f, again;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;

	kdapl_clauses(test, "F-05 F-13 V-01 V-02 V-10");
	mem_sg_args(&m, &f);
	registered(test, &f);
	mem_sg_args(&m, &again);
	KUNIT_EXPECT_EQ(test, mem_sg_post(&again), IN_USE);
	KUNIT_EXPECT_EQ(test, again.context, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 2, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->opcode, IB_WR_LOCAL_INV);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->rkey, f.key);
	KUNIT_EXPECT_EQ(test, mem_sg_post(&again), IN_USE);
	TP_EXPECT_TYPE(test, send_at(f.context, mem_sg_address(&f), 1), DAT_PRIVILEGES_VIOLATION);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	context = f.context;
	key = f.key;
	registered(test, &f);
	KUNIT_EXPECT_NE(test, f.context, context);
	KUNIT_EXPECT_NE(test, f.key, key);
	TP_EXPECT_TYPE(test, send_at(context, mem_sg_address(&f), 1), DAT_PRIVILEGES_VIOLATION);
	invalidated(test);
}

/* A message of the peer ends the registration, and the next one has a new key */
static void I_02_the_peer_invalidates(struct kunit *test)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 77 };
	struct sg_fmr f;
	DAT_RMR_CONTEXT key;

	kdapl_clauses(test, "I-02 F-13");
	mem_sg_args(&m, &f);
	registered(test, &f);
	key = f.key;
	KUNIT_ASSERT_EQ(test, dat_ep_post_recv(m.ep.handle, 0, NULL, cookie, 0), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_complete_recv_inv(tp_qp(&m.ep), 5, key));
	fake_settle(fake());
	mem_expect_fmr(test, &m, false, 0);
	mem_expect_no_async(test, &m);
	TP_EXPECT_TYPE(test, send_at(f.context, mem_sg_address(&f), 1), DAT_PRIVILEGES_VIOLATION);
	TP_EXPECT_TYPE(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_INVALID_STATE);
	registered(test, &f);
	KUNIT_EXPECT_NE(test, f.key, key);
	invalidated(test);
}

/* One MR for both calls: neither leaves anything behind that the other one would find */
static void both_calls_take_turns(struct kunit *test)
{
	const struct fake_mr *mr;
	struct sg_fmr s;
	struct fmr f;
	u32 i;

	for (i = 0; i < 2; i++) {
		mem_sg_args(&m, &s);
		registered(test, &s);
		expect_mapped(test, &s, 1, i);
		invalidated(test);
		mem_fmr_args(&m, &f);
		KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
		mem_finish(&m, &m.ep);
		mr = fake_valid_mr(fake(), f.key);
		KUNIT_ASSERT_NOT_NULL(test, mr);
		KUNIT_EXPECT_EQ(test, mr->ibmr.iova, m.page[0]);
		KUNIT_EXPECT_EQ(test, mr->ibmr.length, 2 * P);
		KUNIT_EXPECT_EQ(test, mr->npages, 2);
		mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_SUCCESS);
		invalidated(test);
	}
}

static void F_09_flushed_in_DISCONNECTED(struct kunit *test)
{
	struct sg_fmr f;

	kdapl_clauses(test, "F-09");
	dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(fake());
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(m.ep.ep->state == DAT_EP_STATE_DISCONNECTED));
	mem_sg_args(&m, &f);
	KUNIT_EXPECT_EQ(test, mem_sg_post(&f), DAT_SUCCESS);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_ERR_FLUSHED);
	mem_expect_fmr(test, &m, false, 0);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
}

/* Without a device the memory is not looked at, and no key is returned */
static void C_57_the_device_has_left(struct kunit *test)
{
	DAT_LMR_PARAM param = {};
	struct sg_fmr f;

	kdapl_clauses(test, "C-57 F-09");
	mem_sg_args(&m, &f);
	registered(test, &f);
	fake_dev_unplug(fake());
	KUNIT_EXPECT_EQ(test, dat_lmr_query(m.fmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.rmr_context, 0);
	KUNIT_EXPECT_EQ(test, mem_sg_post(&f), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, f.context, 0);
	KUNIT_EXPECT_EQ(test, f.key, 0);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_ERR_FLUSHED);
}

static void G_01_refused_by_the_device(struct kunit *test)
{
	struct sg_fmr f;

	kdapl_clauses(test, "G-01");
	mem_sg_args(&m, &f);
	fake()->fail_map = true;
	TP_EXPECT_TYPE(test, mem_sg_post(&f), DAT_INTERNAL_ERROR);
	fake()->fail_map = false;
	/* An IOMMU with smaller pages than the kernel may change the offset in the page */
	fake()->map_shift = 512;
	TP_EXPECT_TYPE(test, mem_sg_post(&f), DAT_INTERNAL_ERROR);
	fake()->map_shift = 0;
	fake_refuse(fake(), -ENOMEM, 1);
	KUNIT_EXPECT_EQ(test, mem_sg_post(&f),
			DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	fake_refuse(fake(), -EINVAL, 1);
	TP_EXPECT_TYPE(test, mem_sg_post(&f), DAT_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, f.context, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, f.key, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	mem_expect_fmr(test, &m, false, 0);
	registered(test, &f);
	invalidated(test);
}

static void F_11_flags(struct kunit *test)
{
	struct sg_fmr f;

	kdapl_clauses(test, "F-11");
	mem_sg_args(&m, &f);
	f.flags = DAT_COMPLETION_BARRIER_FENCE_FLAG | DAT_COMPLETION_SUPPRESS_FLAG;
	KUNIT_EXPECT_EQ(test, mem_sg_post(&f), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->opcode, IB_WR_REG_MR);
	KUNIT_EXPECT_EQ(test, fake_last(sq())->send_flags, IB_SEND_SIGNALED | IB_SEND_FENCE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 0);
	mem_expect_fmr(test, &m, true, f.key);
	invalidated(test);
}

static void G_07_in_atomic_context(struct kunit *test)
{
	struct sg_fmr f;
	DAT_RETURN ret;

	kdapl_clauses(test, "G-07");
	mem_sg_args(&m, &f);
	spin_lock_irq(&consumer_lock);
	ret = mem_sg_post(&f);
	spin_unlock_irq(&consumer_lock);
	KUNIT_EXPECT_EQ(test, ret, DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	invalidated(test);
}

/* ---- suite ------------------------------------------------------------- */

static int fmr_sg_init(struct kunit *test)
{
	return mem_setup(test, &m);
}

static void fmr_sg_exit(struct kunit *test)
{
	mem_done(test, &m);
}

static struct kunit_case fmr_sg_cases[] = {
	KUNIT_CASE(exactly_the_bytes_of_the_list),
	KUNIT_CASE(G_01_lists_that_are_refused),
	KUNIT_CASE(a_chain_of_lists),
	KUNIT_CASE(G_01_a_list_with_many_small_entries),
	KUNIT_CASE(F_02_triplets_end_with_the_memory),
	KUNIT_CASE(F_05_the_first_fault_decides),
	KUNIT_CASE(V_10_each_registration_has_its_own_key),
	KUNIT_CASE(I_02_the_peer_invalidates),
	KUNIT_CASE(both_calls_take_turns),
	KUNIT_CASE(F_09_flushed_in_DISCONNECTED),
	KUNIT_CASE(C_57_the_device_has_left),
	KUNIT_CASE(G_01_refused_by_the_device),
	KUNIT_CASE(F_11_flags),
	KUNIT_CASE(G_07_in_atomic_context),
	{}
};

static struct kunit_suite fmr_sg_suite = {
	.name = "kdapl_fmr_sg",
	.init = fmr_sg_init,
	.exit = fmr_sg_exit,
	.test_cases = fmr_sg_cases,
};

kunit_test_suite(fmr_sg_suite);
