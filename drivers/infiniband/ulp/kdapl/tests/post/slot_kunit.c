// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: a request of zero bytes contains no data of the slot's previous request.
 *
 * A device may read the first segment of a request without segments, and sends the
 * address and rkey of an RDMA write of zero bytes to the peer. Neither may come from
 * another request. Runs in a KUnit thread; each test has its own device.
 */
#include "mem_kunit.h"

static struct mem m;

static void post_complete(struct kunit *test, struct tp_ep *ep, enum tp_call call,
			  const struct tp_args *args)
{
	KUNIT_ASSERT_EQ(test, tp_post(call, args), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, tp_complete(m.env, ep, call, IB_WC_SUCCESS, 0));
	KUNIT_EXPECT_EQ(test, tp_drain(ep), 1);
}

/* A slot that has named memory is reused for a request of zero bytes */
static void G_12_no_bytes_name_no_memory(struct kunit *test)
{
	struct tp_ep on_srq = { }, *ep;
	const struct fake_wr *wr;
	struct tp_args args;
	enum tp_call call;

	kdapl_clauses(test, "G-12 W-07 D-05");
	m.env->fake->personality |= FAKE_READS_FIRST_SGE;
	KUNIT_ASSERT_EQ(test, tp_ep_create(m.env, NULL, true, &on_srq), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&on_srq), 0);
	for (call = 0; call < TP_NCALLS; call++) {
		ep = call == TP_SRQ ? &on_srq : &m.ep;
		tp_args(m.env, ep, call, &args);
		post_complete(test, ep, call, &args);
		args.n = 0;
		args.iov = NULL;
		args.target.segment_length = 0;
		post_complete(test, ep, call, &args);
		wr = fake_last(tp_queue(m.env, ep, call));
		KUNIT_EXPECT_EQ_MSG(test, wr->num_sge, 0, "%s", tp_call_name[call]);
	}
	tp_ep_free(&on_srq);
}

/* D-03: the vector has memory, but the read has zero bytes */
static void D_03_a_read_of_no_bytes_names_no_memory(struct kunit *test)
{
	struct tp_args args;

	kdapl_clauses(test, "D-03 D-05");
	m.env->fake->personality |= FAKE_READS_FIRST_SGE;
	tp_args(m.env, &m.ep, TP_READ, &args);
	args.target.segment_length = 0;
	post_complete(test, &m.ep, TP_READ, &args);
	KUNIT_EXPECT_EQ(test, fake_last(tp_queue(m.env, &m.ep, TP_READ))->num_sge, 0);
}

/* An unbind of an unbound RMR posts a write of zero bytes, without address and rkey */
static void B_16_unbind_sends_no_address(struct kunit *test)
{
	const struct fake_wr *wr;
	u32 i;

	kdapl_clauses(test, "B-16");
	m.env->fake->personality |= FAKE_READS_FIRST_SGE;
	for (i = 0; i < 3; i++) {
		/* The first registers, the second invalidates, the third has no effect */
		mem_bind(test, &m, &m.ep, i, 0, i ? 0 : 8);
		mem_finish(&m, &m.ep);
		mem_expect(test, &m.ep, DAT_DTO_BIND_MW, i, DAT_DTO_SUCCESS);
	}
	wr = fake_last(&tp_qp(&m.ep)->sq);
	KUNIT_EXPECT_EQ(test, (int)wr->opcode, (int)IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, wr->num_sge, 0);
	KUNIT_EXPECT_EQ(test, wr->remote_addr, 0);
	KUNIT_EXPECT_EQ(test, wr->rkey, 0);
}

/* The slot of that write has named memory before */
static void B_16_unbind_names_no_memory(struct kunit *test)
{
	const struct fake_wr *wr;
	struct tp_args args;

	kdapl_clauses(test, "B-16");
	m.env->fake->personality |= FAKE_READS_FIRST_SGE;
	tp_args(m.env, &m.ep, TP_SEND, &args);
	post_complete(test, &m.ep, TP_SEND, &args);
	mem_bind(test, &m, &m.ep, 1, 0, 0);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS);
	wr = fake_last(&tp_qp(&m.ep)->sq);
	KUNIT_EXPECT_EQ(test, (int)wr->opcode, (int)IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, wr->num_sge, 0);
}

/* ---- suite ------------------------------------------------------------- */

static int slot_init(struct kunit *test)
{
	return mem_setup(test, &m);
}

static void slot_exit(struct kunit *test)
{
	mem_done(test, &m);
}

static struct kunit_case slot_cases[] = {
	KUNIT_CASE(G_12_no_bytes_name_no_memory),
	KUNIT_CASE(D_03_a_read_of_no_bytes_names_no_memory),
	KUNIT_CASE(B_16_unbind_sends_no_address),
	KUNIT_CASE(B_16_unbind_names_no_memory),
	{}
};

static struct kunit_suite slot_suite = {
	.name = "kdapl_post_slot",
	.init = slot_init,
	.exit = slot_exit,
	.test_cases = slot_cases,
};

kunit_test_suite(slot_suite);
