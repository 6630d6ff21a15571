// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: dat_rmr_bind and the lifetime of RMRs.
 *
 * Contract 4.9: the checks and their order, the work requests, the two MRs that are used in
 * turn, and their state when requests fail, are refused or flushed, or when the RMR or the
 * device is removed first. The fake device counts misuses. Runs in a KUnit thread.
 */
#include "mem_kunit.h"

static struct mem m;

static struct fake_queue *sq(void)
{
	return &tp_qp(&m.ep)->sq;
}

static struct fake_dev *fake(void)
{
	return m.env->fake;
}

static DAT_RMR_CONTEXT bind(struct kunit *test, u64 cookie, u32 off, u32 len)
{
	return mem_bind(test, &m, &m.ep, cookie, off, len);
}

static void expect_nothing_valid(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
}

/* ---- arguments -------------------------------------------------------- */

static DAT_RMR_HANDLE foreign_rmr;

static void bad_rmr(struct bind *b)
{
	b->rmr = m.ep.handle;
}

static void bad_ep(struct bind *b)
{
	b->ep = DAT_HANDLE_NULL;
}

static void bad_lmr(struct bind *b)
{
	b->lmr = m.rmr;
}

static void zero_based(struct bind *b)
{
	b->va = DAT_VA_TYPE_ZB;
}

static void no_triplet(struct bind *b)
{
	b->triplet = NULL;
}

static void odd_privilege(struct bind *b)
{
	b->priv |= 0x40;
}

static void odd_va_type(struct bind *b)
{
	if (b->va == DAT_VA_TYPE_VA)
		b->va = 77;
}

static void no_context(struct bind *b)
{
	b->context = NULL;
}

static void solicited(struct bind *b)
{
	b->flags |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}

static void unsignalled(struct bind *b)
{
	b->flags |= DAT_COMPLETION_UNSIGNALLED_FLAG;
}

static void not_connected(struct bind *b)
{
	tp_set_state(&m.ep, DAT_EP_STATE_DISCONNECT_PENDING);
}

static void other_zone(struct bind *b)
{
	if (b->rmr == m.rmr)
		b->rmr = foreign_rmr;
}

static void other_context(struct bind *b)
{
	b->range.lmr_context = m.env->own.ro.context;
}

static void too_far(struct bind *b)
{
	b->range.virtual_address += TP_BUF - 100 - MEM_LEN + 1;
}

static void full_queue(struct bind *b)
{
	u32 i;

	for (i = 0; i < TP_DEPTH; i++)
		tp_post_one(m.env, &m.ep, TP_SEND, i, 0);
}

/* 4.0: the first fault determines the return value */
static const struct fault {
	void (*make)(struct bind *b);
	DAT_RETURN ret;
} faults[] = {
	{ bad_rmr, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR) },
	{ bad_ep, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP) },
	{ bad_lmr, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR) },
	{ zero_based, DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE) },
	{ no_triplet, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3) },
	{ odd_privilege, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4) },
	{ odd_va_type, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5) },
	{ no_context, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9) },
	{ solicited, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8) },
	{ unsignalled, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8) },
	{ not_connected, DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_DISCPENDING) },
	{ other_zone, DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE) },
	{ other_context, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3) },
	{ too_far, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3) },
	{ full_queue, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY) },
};

/* A call with several faults is refused for the first of them, and changes nothing */
static void refuse_bind(struct kunit *test, struct bind *b, u32 first)
{
	u32 tail = sq()->tail;
	DAT_RETURN ret;

	ret = mem_bind_post(b);
	KUNIT_EXPECT_EQ_MSG(test, ret, faults[first].ret, "fault %u", first);
	KUNIT_EXPECT_EQ(test, sq()->tail, tail);
	KUNIT_EXPECT_EQ(test, b->key, 0xdeadbeef);
	mem_expect_bound(test, &m, 0);
	tp_set_state(&m.ep, DAT_EP_STATE_CONNECTED);
	mem_finish(&m, &m.ep);
	/* A fault that was not detected must not fail the next row as well */
	if (ret == DAT_SUCCESS) {
		bind(test, 0, 0, 0);
		mem_finish(&m, &m.ep);
	}
	tp_drain(&m.ep);
}

static void B_16_the_first_fault_decides(struct kunit *test)
{
	u32 first, i;
	struct bind b;

	kdapl_clauses(test, "B-09 B-10 B-11 B-16 B-17 B-19 G-01 G-24 G-25 G-35");
	KUNIT_ASSERT_EQ(test, dat_rmr_create(m.env->foreign.pz, &foreign_rmr), DAT_SUCCESS);
	for (first = 0; first < ARRAY_SIZE(faults); first++) {
		/*
		 * Each fault alone: some adjacent faults have the same return value, so
		 * the next fault would hide a missing check.
		 */
		mem_bind_args(&m, &b);
		faults[first].make(&b);
		refuse_bind(test, &b, first);
		mem_bind_args(&m, &b);
		/* Later ones first, because a fault may depend on an earlier one */
		for (i = ARRAY_SIZE(faults); i-- > first; )
			if (faults[i].make != odd_va_type || first == i)
				faults[i].make(&b);
		refuse_bind(test, &b, first);
	}
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(foreign_rmr), DAT_SUCCESS);
	expect_nothing_valid(test);
}

static void B_16_unbind_checks_no_LMR(struct kunit *test)
{
	struct bind b;

	kdapl_clauses(test, "B-06 B-16");
	mem_bind_args(&m, &b);
	b.lmr = (DAT_LMR_HANDLE)0x1234;
	b.range.segment_length = 0;
	b.range.lmr_context = 0x777;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, b.cookie.as_64, DAT_DTO_SUCCESS);
	/* A freed handle is not valid */
	KUNIT_EXPECT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rmr_free(m.rmr), DAT_INVALID_HANDLE);
	m.rmr = DAT_HANDLE_NULL;
}

static void B_07_B_08_B_10_rights_and_ranges(struct kunit *test)
{
	static const struct {
		bool ro, wo;
		u32 priv;
		s64 off, len;
		u32 type;
	} rows[] = {
		{ false, true, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0, 8, DAT_PRIVILEGES_VIOLATION },
		{ true, false, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0, 8, DAT_PRIVILEGES_VIOLATION },
		{ false, true, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0, 8, DAT_SUCCESS },
		{ true, false, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0, 8, DAT_SUCCESS },
		{ false, true, DAT_MEM_PRIV_LOCAL_READ_FLAG, 0, 8, DAT_SUCCESS },
		{ false, false, DAT_MEM_PRIV_NONE_FLAG, 0, 8, DAT_SUCCESS },
		{ false, false, MEM_REMOTE, -1, 8, DAT_INVALID_PARAMETER },
		{ false, false, MEM_REMOTE, 0, TP_BUF, DAT_SUCCESS },
		{ false, false, MEM_REMOTE, 0, TP_BUF + 1, DAT_INVALID_PARAMETER },
		{ false, false, MEM_REMOTE, TP_BUF - 1, 1, DAT_SUCCESS },
		{ false, false, MEM_REMOTE, TP_BUF, 1, DAT_INVALID_PARAMETER },
		{ false, false, MEM_REMOTE, 8, -4, DAT_INVALID_PARAMETER },
	};
	const struct tp_lmr *lmr;
	const struct fake_wr *reg;
	struct bind b;
	u32 i;

	kdapl_clauses(test, "B-07 B-08 B-10 B-18");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		lmr = rows[i].ro ? &m.env->own.ro : rows[i].wo ? &m.env->own.wo : &m.env->own.rw;
		mem_bind_args(&m, &b);
		b.lmr = lmr->handle;
		b.priv = rows[i].priv;
		b.range.lmr_context = lmr->context;
		b.range.virtual_address = (unsigned long)m.env->buf + rows[i].off;
		b.range.segment_length = rows[i].len;
		KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(mem_bind_post(&b)), rows[i].type,
				    "row %u", i);
		reg = fake_last(sq());
		if (rows[i].type == DAT_SUCCESS) {
			KUNIT_EXPECT_EQ(test, !!(reg->access & IB_ACCESS_REMOTE_READ),
					!!(rows[i].priv & DAT_MEM_PRIV_REMOTE_READ_FLAG));
			KUNIT_EXPECT_EQ(test, !!(reg->access & IB_ACCESS_REMOTE_WRITE),
					!!(rows[i].priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG));
			KUNIT_EXPECT_EQ(test, reg->access & IB_ACCESS_REMOTE_ATOMIC, 0);
		}
		mem_finish(&m, &m.ep);
		tp_drain(&m.ep);
	}
	bind(test, 1, 0, 0);
	mem_finish(&m, &m.ep);
}

static void B_09_the_LMR_is_of_another_zone(struct kunit *test)
{
	struct bind b;

	kdapl_clauses(test, "B-09");
	mem_bind_args(&m, &b);
	b.lmr = m.env->foreign.rw.handle;
	b.range.lmr_context = m.env->foreign.rw.context;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_PROTECTION_VIOLATION);
}

static void rmr_create_query_and_T_07(struct kunit *test)
{
	DAT_RMR_TRIPLET target = { .rmr_context = 1, .segment_length = 8 };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM param;

	kdapl_clauses(test, "T-07");
	TP_EXPECT_TYPE(test, dat_rmr_create(DAT_HANDLE_NULL, &rmr), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rmr_create(m.pz, NULL), DAT_INVALID_PARAMETER);
	fake()->fail_mrs = -ENOMEM;
	KUNIT_EXPECT_EQ(test, dat_rmr_create(m.pz, &rmr),
			DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION));
	fake()->fail_mrs = 0;
	TP_EXPECT_TYPE(test, dat_rmr_create_for_ep(m.pz, &rmr), DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_rmr_query(m.pz, DAT_RMR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rmr_query(m.rmr, 0x80, &param), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_rmr_query(m.rmr, DAT_RMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_ep_post_rdma_read_to_rmr(m.ep.handle, &target, cookie, &target, 0),
		       DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_ep_post_rdma_read_to_rmr(m.rmr, NULL, cookie, NULL, 0),
		       DAT_INVALID_HANDLE);
}

/* ---- what reaches the device ------------------------------------------ */

static void expect_wr(struct kunit *test, u32 n, enum ib_wr_opcode op, u32 key, int flags)
{
	const struct fake_wr *wr = fake_wr_at(sq(), n);

	KUNIT_ASSERT_NOT_NULL(test, wr);
	KUNIT_EXPECT_EQ(test, wr->opcode, op);
	KUNIT_EXPECT_EQ(test, wr->send_flags, flags);
	if (key)
		KUNIT_EXPECT_EQ(test, wr->rkey, key);
}

static void B_01_B_03_bind_rebind_unbind(struct kunit *test)
{
	const struct fake_mr *mr;
	u32 key, next;

	kdapl_clauses(test, "B-01 B-02 B-03 B-05 B-06 B-22");
	key = bind(test, 1, PAGE_SIZE + 100, 2 * PAGE_SIZE);
	mem_expect_bound(test, &m, key);
	expect_wr(test, 0, IB_WR_REG_MR, key, IB_SEND_SIGNALED);
	KUNIT_EXPECT_EQ(test, tp_events(m.ep.request_evd), 0);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS);
	mr = fake_valid_mr(fake(), key);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, mr->ibmr.iova, (unsigned long)m.env->buf + PAGE_SIZE + 100);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, mr->npages, 3);

	/* The old one ends, then the new one begins, then later posts follow */
	next = bind(test, 2, 0, 8);
	KUNIT_EXPECT_NE(test, next, key);
	KUNIT_EXPECT_EQ(test, tp_post_one(m.env, &m.ep, TP_SEND, 3, 0), DAT_SUCCESS);
	expect_wr(test, 0, IB_WR_LOCAL_INV, key, IB_SEND_FENCE);
	expect_wr(test, 1, IB_WR_REG_MR, next, IB_SEND_SIGNALED);
	expect_wr(test, 2, IB_WR_SEND, 0, IB_SEND_SIGNALED);
	mem_expect_bound(test, &m, next);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 2, DAT_DTO_SUCCESS);
	mem_expect(test, &m.ep, DAT_DTO_SEND, 3, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), key));
	mr = fake_valid_mr(fake(), next);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 8);
	KUNIT_EXPECT_EQ(test, mr->npages, 1);

	bind(test, 4, 0, 0);
	expect_wr(test, 0, IB_WR_LOCAL_INV, next, IB_SEND_SIGNALED);
	KUNIT_EXPECT_EQ(test, fake_outstanding(sq()), 1);
	mem_expect_bound(test, &m, 0);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 4, DAT_DTO_SUCCESS);
	expect_nothing_valid(test);
	/* Nothing is bound: there is an event, in order */
	bind(test, 5, 0, 0);
	KUNIT_EXPECT_EQ(test, fake_outstanding(sq()), 1);
	KUNIT_EXPECT_EQ(test, fake_wr_at(sq(), 0)->num_sge, 0);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 5, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 0);
}

static void B_13_flags_reach_the_device(struct kunit *test)
{
	struct bind b;
	u32 i;

	kdapl_clauses(test, "B-13 G-34");
	mem_bind_args(&m, &b);
	b.flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	expect_wr(test, 0, IB_WR_REG_MR, b.key, IB_SEND_SIGNALED | IB_SEND_FENCE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 1);
	/* Signalled for kdapl, suppressed for the Consumer */
	b.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	for (i = 0; i < 3 * TP_DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
		mem_finish(&m, &m.ep);
	}
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid + 1);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), b.key));
}

/* 1.5: the stream determines the type of the event */
static void B_01_event_of_its_own_stream(struct kunit *test)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data;
	DAT_EVD_HANDLE evd;
	struct tp_ep ep = {};
	DAT_EP_ATTR attr;
	DAT_EVENT event;

	kdapl_clauses(test, "B-01 B-22");
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(m.ia, 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &evd),
			DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_create(m.ia, m.pz, evd, evd, m.ep.connect_evd, &attr,
					    &ep.handle), DAT_SUCCESS);
	ep.ep = to_kdapl_ep(kdapl_obj_get(ep.handle, DAT_HANDLE_TYPE_EP));
	kdapl_obj_put(&ep.ep->obj);
	ep.request_evd = evd;
	ep.connect_evd = m.ep.connect_evd;
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	mem_bind(test, &m, &ep, ~0ULL, 0, 8);
	mem_finish(&m, &ep);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	data = &event.event_data.rmr_completion_event_data;
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	KUNIT_EXPECT_PTR_EQ(test, event.evd_handle, evd);
	KUNIT_EXPECT_PTR_EQ(test, data->rmr_handle, m.rmr);
	KUNIT_EXPECT_EQ(test, data->user_cookie.as_64, ~0ULL);
	KUNIT_EXPECT_EQ(test, data->status, DAT_DTO_SUCCESS);
	/* And a failure */
	mem_bind(test, &m, &ep, 2, 0, 0);
	tp_complete(m.env, &ep, TP_SEND, IB_WC_MW_BIND_ERR, 0);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, data->status, DAT_RMR_OPERATION_FAILED);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
}

static DEFINE_SPINLOCK(consumer_lock);

static void B_23_in_atomic_context(struct kunit *test)
{
	struct bind b;
	DAT_RETURN ret[3];
	u32 i;

	kdapl_clauses(test, "B-23 G-07");
	mem_bind_args(&m, &b);
	spin_lock_irq(&consumer_lock);
	ret[0] = mem_bind_post(&b);
	ret[1] = mem_bind_post(&b);
	spin_unlock_irq(&consumer_lock);
	mem_finish(&m, &m.ep);
	b.range.segment_length = 0;
	local_bh_disable();
	ret[2] = mem_bind_post(&b);
	local_bh_enable();
	mem_finish(&m, &m.ep);
	for (i = 0; i < ARRAY_SIZE(ret); i++)
		KUNIT_EXPECT_EQ(test, ret[i], DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 3);
	expect_nothing_valid(test);
}

/* ---- two MRs ---------------------------------------------------------- */

static void B_25_each_MR_is_busy(struct kunit *test)
{
	u32 first, second, third;
	struct bind b;

	kdapl_clauses(test, "B-25 B-03");
	first = bind(test, 1, 0, 8);
	second = bind(test, 2, 8, 8);
	mem_bind_args(&m, &b);
	b.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b),
			DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION));
	KUNIT_EXPECT_EQ(test, b.key, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, fake_outstanding(sq()), 3);
	mem_expect_bound(test, &m, second);
	/* The completion of the first bind is not enough: its MR must still be invalidated */
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_SUCCESS, 0);
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INSUFFICIENT_RESOURCES);
	/* The invalidation has no completion, the registration after it has */
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), first));
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INSUFFICIENT_RESOURCES);
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_SUCCESS, 0);
	/* No event has been dequeued */
	KUNIT_EXPECT_EQ(test, tp_events(m.ep.request_evd), 2);
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	third = b.key;
	KUNIT_EXPECT_EQ(test, fake_wr_at(sq(), 0)->rkey, second);
	mem_finish(&m, &m.ep);
	/* A suppressed one releases everything */
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), third));
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid + 1);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 2);
}

static void B_25_unbind_needs_no_MR(struct kunit *test)
{
	kdapl_clauses(test, "B-06 B-25");
	bind(test, 1, 0, 8);
	bind(test, 2, 8, 8);
	/* It needs no MR */
	bind(test, 3, 0, 0);
	mem_expect_bound(test, &m, 0);
	/* And with nothing bound the other MR is not free either */
	TP_EXPECT_TYPE(test, ({ struct bind b; mem_bind_args(&m, &b); mem_bind_post(&b); }),
		       DAT_INSUFFICIENT_RESOURCES);
	mem_finish(&m, &m.ep);
	expect_nothing_valid(test);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 3);
	bind(test, 4, 0, 8);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid + 1);
}

static void two_endpoints_take_turns(struct kunit *test)
{
	struct tp_ep other;
	struct bind b;
	u32 key;

	kdapl_clauses(test, "B-25");
	mem_second(test, &m, &other);
	key = bind(test, 1, 0, 8);
	mem_bind_args(&m, &b);
	b.ep = other.handle;
	/* Its invalidation might overtake the registration */
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INSUFFICIENT_RESOURCES);
	b.range.segment_length = 0;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INSUFFICIENT_RESOURCES);
	mem_finish(&m, &m.ep);
	b.range.segment_length = 8;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	mem_finish(&m, &other);
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), key));
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), b.key));
	tp_drain(&other);
	tp_ep_free(&other);
}

/* ---- suite ------------------------------------------------------------ */

static int rmr_init(struct kunit *test)
{
	return mem_setup(test, &m);
}

static void rmr_exit(struct kunit *test)
{
	mem_done(test, &m);
}

static struct kunit_case rmr_cases[] = {
	KUNIT_CASE(B_16_the_first_fault_decides),
	KUNIT_CASE(B_16_unbind_checks_no_LMR),
	KUNIT_CASE(B_07_B_08_B_10_rights_and_ranges),
	KUNIT_CASE(B_09_the_LMR_is_of_another_zone),
	KUNIT_CASE(rmr_create_query_and_T_07),
	KUNIT_CASE(B_01_B_03_bind_rebind_unbind),
	KUNIT_CASE(B_13_flags_reach_the_device),
	KUNIT_CASE(B_01_event_of_its_own_stream),
	KUNIT_CASE(B_23_in_atomic_context),
	KUNIT_CASE(B_25_each_MR_is_busy),
	KUNIT_CASE(B_25_unbind_needs_no_MR),
	KUNIT_CASE(two_endpoints_take_turns),
	{}
};

static struct kunit_suite rmr_suite = {
	.name = "kdapl_rmr",
	.init = rmr_init,
	.exit = rmr_exit,
	.test_cases = rmr_cases,
};

kunit_test_suite(rmr_suite);
