// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the work requests of the five posting calls.
 *
 * Each successful call is compared with the work request that the fake device
 * received: opcode, flags, segments, remote side. The limits of accepted values
 * are tested here, too; refusals and their order in post_error_kunit.c. Runs in a
 * KUnit thread; every test has its own connected endpoint.
 */
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static const struct fake_wr *last(enum tp_call call)
{
	return fake_last(tp_queue(env, &ep, call));
}

static void expect_sge(struct kunit *test, const struct ib_sge *sge,
		       const DAT_LMR_TRIPLET *seg, const struct tp_lmr *lmr)
{
	KUNIT_EXPECT_EQ(test, sge->addr, seg->virtual_address);
	KUNIT_EXPECT_EQ(test, sge->length, seg->segment_length);
	KUNIT_EXPECT_EQ(test, sge->lkey, lmr->lkey);
}

/* Completes all outstanding posts, so that the queues are empty again */
static void finish(enum tp_call call)
{
	struct fake_queue *q = tp_queue(env, &ep, call);

	if (call != TP_SRQ) {
		while (fake_outstanding(q))
			tp_complete(env, &ep, call, IB_WC_SUCCESS, 0);
	} else {
		/* No endpoint of this suite uses the SRQ */
		for (; q->head != q->tail; q->head++)
			kdapl_pool_put(kdapl_slot_of_cqe(fake_wr_at(q, 0)->cqe));
	}
	tp_drain(&ep);
}

/* ---- one call, all fields ------------------------------------------------------ */

static void call_desc(const enum tp_call *call, char *desc)
{
	strscpy(desc, tp_call_name[*call], KUNIT_PARAM_DESC_SIZE);
}

static const enum tp_call calls[] = { TP_SEND, TP_WRITE, TP_READ, TP_RECV, TP_SRQ };

KUNIT_ARRAY_PARAM(call, calls, call_desc);

static void G_03_work_request_is_what_was_asked(struct kunit *test)
{
	static const char * const ids[] = {
		"G-03 S-11 S-30",
		"G-03 W-12 W-22",
		"G-03 D-12",
		"G-03",
		"G-03 Q-16 Q-22",
	};
	static const enum ib_wr_opcode opcode[] = {
		IB_WR_SEND, IB_WR_RDMA_WRITE, IB_WR_RDMA_READ
	};
	enum tp_call call = *(const enum tp_call *)test->param_value;
	struct tp_lmr *other = tp_needs_read(call) ? &env->own.ro : &env->own.wo;
	const struct fake_wr *wr;
	struct tp_args args;

	tp_args(env, &ep, call, &args);
	args.n = 2;
	args.target.segment_length = call == TP_READ ? TP_SEG + 17 : TP_MAX_RDMA;
	tp_seg(env, &args.segs[0], other, 300, 17);
	KUNIT_ASSERT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, fake_outstanding(tp_queue(env, &ep, call)), 1);
	wr = last(call);
	KUNIT_EXPECT_EQ(test, wr->num_sge, 2);
	expect_sge(test, &wr->sge[0], &args.segs[0], other);
	expect_sge(test, &wr->sge[1], &args.segs[1], &env->own.rw);
	if (tp_is_request(call)) {
		KUNIT_EXPECT_EQ(test, wr->opcode, opcode[call]);
		KUNIT_EXPECT_EQ(test, wr->send_flags, IB_SEND_SIGNALED);
	}
	if (call == TP_WRITE || call == TP_READ) {
		KUNIT_EXPECT_EQ(test, wr->remote_addr, args.target.virtual_address);
		KUNIT_EXPECT_EQ(test, wr->rkey, args.target.rmr_context);
	}
	finish(call);
	kdapl_clauses(test, ids[call]);
}

/* ---- segments -------------------------------------------------------------------- */

static void G_12_empty_segments_are_ignored(struct kunit *test)
{
	static const char * const ids[] = {
		"G-12 S-07",
		"G-12",
		"G-12 D-05",
		"G-12 R-06",
		"G-12 Q-36",
	};
	enum tp_call call = *(const enum tp_call *)test->param_value;
	DAT_COUNT n = tp_call_limit[call];
	const struct fake_wr *wr;
	struct tp_args args;
	DAT_COUNT i;

	/* One segment is valid, the first, middle or last; the others are empty garbage */
	for (i = 0; i < n; i++) {
		tp_args(env, &ep, call, &args);
		memset(args.segs, 0xff, sizeof(args.segs));
		args.n = n;
		for (int k = 0; k < n; k++)
			args.segs[k].segment_length = 0;
		tp_seg(env, &args.segs[i], &env->own.rw, 8, TP_SEG);
		KUNIT_ASSERT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
		wr = last(call);
		KUNIT_EXPECT_EQ(test, wr->num_sge, 1);
		expect_sge(test, &wr->sge[0], &args.segs[i], &env->own.rw);
		finish(call);
	}
	/* S-07: all are empty */
	args.segs[n - 1].segment_length = 0;
	args.target.segment_length = 0;
	KUNIT_EXPECT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, last(call)->num_sge, 0);
	finish(call);
	kdapl_clauses(test, ids[call]);
}

static void S_04_triplets_beyond_the_count_are_not_read(struct kunit *test)
{
	static const char * const ids[TP_NCALLS] = { "S-04", "W-03" };
	enum tp_call call = *(const enum tp_call *)test->param_value;
	DAT_COUNT n = tp_call_limit[call], i;
	struct tp_args args;

	for (i = 1; i < n; i++) {
		tp_args(env, &ep, call, &args);
		args.n = i;
		if (call == TP_READ)
			args.target.segment_length = i * TP_SEG;
		/* Each of these would be refused */
		memset(&args.segs[i], 0xff, (n - i) * sizeof(args.segs[0]));
		KUNIT_ASSERT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, last(call)->num_sge, i);
		expect_sge(test, &last(call)->sge[i - 1], &args.segs[i - 1], &env->own.rw);
		finish(call);
	}
	if (ids[call])
		kdapl_clauses(test, ids[call]);
}

static void G_13_no_segments_do_not_read_the_vector(struct kunit *test)
{
	static const char * const ids[] = {
		"G-13 S-05 S-06",
		"G-13 W-07",
		"G-13 D-05",
		"G-13 R-07",
		"G-13 Q-04",
	};
	enum tp_call call = *(const enum tp_call *)test->param_value;
	struct tp_args args;

	tp_args(env, &ep, call, &args);
	args.n = 0;
	/* D-05: a read of no bytes; for the others it does not matter */
	args.target.segment_length = call == TP_READ ? 0 : 100;
	args.iov = NULL;
	KUNIT_EXPECT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, last(call)->num_sge, 0);
	args.iov = (DAT_LMR_TRIPLET *)0x10;
	KUNIT_EXPECT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, last(call)->num_sge, 0);
	finish(call);
	kdapl_clauses(test, ids[call]);
}

static void G_17_as_many_segments_as_the_limit(struct kunit *test)
{
	static const char * const ids[] = {
		"G-17",
		"G-17",
		"G-17",
		"G-17",
		"G-17 Q-38",
	};
	enum tp_call call = *(const enum tp_call *)test->param_value;
	DAT_COUNT n = tp_call_limit[call], i;
	const struct fake_wr *wr;
	struct tp_args args;

	tp_args(env, &ep, call, &args);
	args.n = n;
	args.target.segment_length = n * TP_SEG;
	KUNIT_ASSERT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
	wr = last(call);
	KUNIT_ASSERT_EQ(test, wr->num_sge, n);
	/* S-02, W-02, R-02: in vector order */
	for (i = 0; i < n; i++)
		expect_sge(test, &wr->sge[i], &args.segs[i], &env->own.rw);
	args.n = n + 1;
	TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INVALID_PARAMETER);
	finish(call);
	kdapl_clauses(test, ids[call]);
}

static void G_21_range_of_a_segment(struct kunit *test)
{
	static const char * const ids[] = {
		"G-21 G-23 S-38",
		"G-21 G-23 W-26",
		"G-21 G-23 D-21",
		"G-21 G-23 R-36",
		"G-21 G-23 Q-25",
	};
	enum tp_call call = *(const enum tp_call *)test->param_value;
	u64 start;
	u32 i;
	const struct {
		u64 address;
		u32 length;
		bool ok;
	} range[] = {
		{ 0, 1, true },
		{ TP_BUF - TP_SEG, TP_SEG, true },	/* G-21: exactly to the end */
		{ TP_BUF - TP_SEG, TP_SEG + 1, false },
		{ TP_BUF - TP_SEG + 1, TP_SEG, false },
		{ TP_BUF - 1, 1, true },
		{ TP_BUF, 1, false },			/* begins where the LMR ends */
		{ TP_BUF + 4096, 1, false },
		{ -1ULL, 1, false },			/* G-23: below the start */
		{ -1ULL, 2, false },
		{ -4096ULL, 8192, false },
		{ -1ULL << 40, 1, false },
		{ 0, U32_MAX, false },
	};

	start = (unsigned long)env->buf;
	for (i = 0; i < ARRAY_SIZE(range); i++) {
		struct tp_args args;
		DAT_RETURN ret;

		tp_args(env, &ep, call, &args);
		args.segs[0].virtual_address = start + range[i].address;
		args.segs[0].segment_length = range[i].length;
		if (call == TP_READ)
			args.target.segment_length = range[i].length;
		ret = tp_post(call, &args);
		if (range[i].ok)
			KUNIT_EXPECT_EQ_MSG(test, ret, DAT_SUCCESS, "range %u", i);
		else
			KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(ret), DAT_INVALID_PARAMETER,
					    "range %u", i);
		finish(call);
	}
	kdapl_clauses(test, ids[call]);
}

static void G_22_no_wrap_around_of_the_address(struct kunit *test)
{
	enum tp_call call = *(const enum tp_call *)test->param_value;
	struct tp_args args;

	tp_args(env, &ep, call, &args);
	args.segs[0].virtual_address = U64_MAX - 10;
	args.segs[0].segment_length = 100;
	TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INVALID_PARAMETER);
	/* The sum wraps to a value inside the LMR */
	args.segs[0].virtual_address = (unsigned long)env->buf + 16 - U32_MAX;
	args.segs[0].segment_length = U32_MAX;
	TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, fake_outstanding(tp_queue(env, &ep, call)), 0);
	kdapl_clauses(test, "G-22");
}

static void G_19_no_wrap_around_of_the_sum(struct kunit *test)
{
	enum tp_call call = *(const enum tp_call *)test->param_value;
	struct kdapl_lmr_desc *desc = env->own.rw.lmr->desc;
	u64 minus_start = desc->minus_start, length = desc->length;
	struct tp_args args;
	u32 i;

	/* A region of the whole address space, which no real one has */
	desc->minus_start = 0;
	desc->length = U64_MAX;
	for (i = 0; i < 2; i++) {
		tp_args(env, &ep, call, &args);
		args.n = 2;
		args.segs[0].segment_length = U32_MAX;
		/* 2^32 exactly: 0 in 32 bits; and a little more */
		args.segs[1].segment_length = 1 + i * TP_SEG;
		args.target.segment_length = call == TP_READ ? i * TP_SEG : U32_MAX;
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INVALID_PARAMETER);
	}
	desc->minus_start = minus_start;
	desc->length = length;
	KUNIT_EXPECT_EQ(test, fake_outstanding(tp_queue(env, &ep, call)), 0);
	finish(call);
	kdapl_clauses(test, "G-19");
}

static void G_20_message_size(struct kunit *test)
{
	static const char * const ids[] = {
		"G-20 S-46",
		"G-20 W-36",
		"G-20",
		"G-20 R-42",
		"G-20",
	};
	enum tp_call call = *(const enum tp_call *)test->param_value;
	struct tp_args args;

	tp_args(env, &ep, call, &args);
	args.n = 2;
	tp_seg(env, &args.segs[0], &env->own.rw, 0, tp_max_size(call) - 1);
	tp_seg(env, &args.segs[1], &env->own.rw, 0, 1);
	args.target.segment_length = tp_max_size(call);
	KUNIT_EXPECT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
	args.segs[1].segment_length = 2;
	if (call == TP_WRITE)
		args.target.segment_length++;
	if (tp_is_request(call))
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INVALID_PARAMETER);
	else
		/* only messages are limited */
		KUNIT_EXPECT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
	finish(call);
	kdapl_clauses(test, ids[call]);
}

static void S_43_R_41_the_one_privilege_is_enough(struct kunit *test)
{
	static const char * const ids[] = {
		"S-42 S-43",
		"W-29",
		"D-13",
		"R-40 R-41",
		"Q-27",
	};
	enum tp_call call = *(const enum tp_call *)test->param_value;
	struct tp_lmr *enough = tp_needs_read(call) ? &env->own.ro : &env->own.wo;
	struct tp_lmr *wrong = tp_needs_read(call) ? &env->own.wo : &env->own.ro;
	struct tp_args args;

	tp_args(env, &ep, call, &args);
	tp_seg(env, &args.segs[0], enough, 0, TP_SEG);
	KUNIT_EXPECT_EQ(test, tp_post(call, &args), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, last(call)->sge[0].lkey, enough->lkey);
	tp_seg(env, &args.segs[0], wrong, 0, TP_SEG);
	TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_PRIVILEGES_VIOLATION);
	finish(call);
	kdapl_clauses(test, ids[call]);
}

static void S_41_contexts_that_name_no_region(struct kunit *test)
{
	static const char * const ids[] = {
		"S-41",
		"W-29",
		"D-13",
		"R-39",
		"Q-27",
	};
	enum tp_call call = *(const enum tp_call *)test->param_value;
	DAT_LMR_CONTEXT good = env->own.rw.context;
	struct tp_args args;
	u32 bit;

	tp_args(env, &ep, call, &args);
	/* A freed one; unused entries; the correct entry with every other generation */
	args.segs[0].lmr_context = env->freed;
	TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_PRIVILEGES_VIOLATION);
	args.segs[0].lmr_context = 0;
	TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_PRIVILEGES_VIOLATION);
	args.segs[0].lmr_context = U32_MAX;
	TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_PRIVILEGES_VIOLATION);
	for (bit = 0; bit < 32; bit++) {
		/* Another entry of the page may be in use */
		if (BIT(bit) & KDAPL_LMR_CTX_ENTRY)
			continue;
		args.segs[0].lmr_context = good ^ BIT(bit);
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_PRIVILEGES_VIOLATION);
	}
	KUNIT_EXPECT_EQ(test, fake_outstanding(tp_queue(env, &ep, call)), 0);
	kdapl_clauses(test, ids[call]);
}

static void S_44_first_bad_segment_decides(struct kunit *test)
{
	static const char * const ids[] = {
		"S-40 S-44",
		"W-28",
		"D-14",
		"R-38",
		"Q-26",
	};
	static const DAT_UINT32 type[] = {
		DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
		DAT_INVALID_PARAMETER
	};
	enum tp_call call = *(const enum tp_call *)test->param_value;
	struct tp_lmr *wrong = tp_needs_read(call) ? &env->own.wo : &env->own.ro;
	DAT_LMR_TRIPLET bad[4], good;
	struct tp_args args;
	u32 i, k;

	tp_args(env, &ep, call, &args);
	good = args.segs[0];
	bad[0] = good;
	bad[0].lmr_context = env->freed;
	tp_seg(env, &bad[1], &env->foreign.rw, 0, TP_SEG);
	tp_seg(env, &bad[2], wrong, 0, TP_SEG);
	tp_seg(env, &bad[3], &env->own.rw, TP_BUF - 1, 2);
	args.n = 2;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		/* A valid one before it, so that the bad one is not checked first */
		args.segs[1] = bad[i];
		TP_EXPECT_TYPE(test, tp_post(call, &args), type[i]);
		/* Two bad segments: the last two that the call accepts */
		args.n = min(tp_call_limit[call], 3);
		args.segs[args.n - 2] = bad[i];
		for (k = 0; k < ARRAY_SIZE(bad); k++) {
			args.segs[args.n - 1] = bad[k];
			TP_EXPECT_TYPE(test, tp_post(call, &args), type[i]);
		}
		args.segs[0] = good;
		args.n = 2;
	}
	KUNIT_EXPECT_EQ(test, fake_outstanding(tp_queue(env, &ep, call)), 0);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(tp_pool(env, &ep, call)), TP_DEPTH);
	kdapl_clauses(test, ids[call]);
}

/* ---- lengths of the two sides ------------------------------------------------------ */

static void W_04_to_W_06_local_against_remote_length(struct kunit *test)
{
	struct tp_args args;

	tp_args(env, &ep, TP_WRITE, &args);
	args.target.segment_length = TP_SEG;
	KUNIT_EXPECT_EQ(test, tp_post(TP_WRITE, &args), DAT_SUCCESS);
	args.target.segment_length = U32_MAX;
	KUNIT_EXPECT_EQ(test, tp_post(TP_WRITE, &args), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, last(TP_WRITE)->sge[0].length, TP_SEG);
	args.target.segment_length = TP_SEG - 1;
	TP_EXPECT_TYPE(test, tp_post(TP_WRITE, &args), DAT_LENGTH_ERROR);
	args.target.segment_length = 0;
	TP_EXPECT_TYPE(test, tp_post(TP_WRITE, &args), DAT_LENGTH_ERROR);
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 2);
	finish(TP_WRITE);
	kdapl_clauses(test, "W-05 W-06");
}

static void D_03_read_is_trimmed_to_the_remote_length(struct kunit *test)
{
	static const struct {
		u32 remote;
		int num_sge;
		u32 length[2];
	} row[] = {
		{ 2 * TP_SEG, 2, { TP_SEG, TP_SEG } },
		{ 2 * TP_SEG - 1, 2, { TP_SEG, TP_SEG - 1 } },
		{ TP_SEG + 1, 2, { TP_SEG, 1 } },
		{ TP_SEG, 1, { TP_SEG, 0 } },
		{ 10, 1, { 10, 0 } },
		{ 0, 0, { 0, 0 } },
	};
	const struct fake_wr *wr;
	struct tp_args args;
	u32 i;
	int k;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		tp_args(env, &ep, TP_READ, &args);
		args.n = 2;
		args.target.segment_length = row[i].remote;
		KUNIT_ASSERT_EQ(test, tp_post(TP_READ, &args), DAT_SUCCESS);
		wr = last(TP_READ);
		KUNIT_EXPECT_EQ(test, wr->num_sge, row[i].num_sge);
		for (k = 0; k < row[i].num_sge; k++)
			KUNIT_EXPECT_EQ(test, wr->sge[k].length, row[i].length[k]);
		/* D-07: and the event reports that */
		tp_complete(env, &ep, TP_READ, IB_WC_SUCCESS, 0);
		tp_expect_dto(test, &ep, TP_READ, args.cookie.as_64, DAT_DTO_SUCCESS,
			      row[i].remote);
		/* G-04: the Consumer's array has not changed */
		KUNIT_EXPECT_EQ(test, args.segs[0].segment_length, TP_SEG);
		KUNIT_EXPECT_EQ(test, args.segs[1].segment_length, TP_SEG);
	}
	kdapl_clauses(test, "D-03");
}

static void D_04_read_into_too_little_is_refused(struct kunit *test)
{
	struct tp_args args;

	tp_args(env, &ep, TP_READ, &args);
	args.target.segment_length = TP_SEG + 1;
	TP_EXPECT_TYPE(test, tp_post(TP_READ, &args), DAT_LENGTH_ERROR);
	args.n = 0;
	args.target.segment_length = 1;
	TP_EXPECT_TYPE(test, tp_post(TP_READ, &args), DAT_LENGTH_ERROR);
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 0);
	kdapl_clauses(test, "D-04");
}

/* ---- suite ---------------------------------------------------------------------------- */

static int post_suite_init(struct kunit_suite *suite)
{
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void post_suite_exit(struct kunit_suite *suite)
{
	tp_env_destroy(env);
	env = NULL;
}

static int post_init(struct kunit *test)
{
	if (tp_ep_create(env, NULL, false, &ep) != DAT_SUCCESS)
		return -EIO;
	return tp_connect(&ep);
}

static void post_exit(struct kunit *test)
{
	if (ep.ep) {
		KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
		KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
		KUNIT_EXPECT_EQ(test, tp_slots(&env->srq->pool), TP_DEPTH);
		KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
	}
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
}

static struct kunit_case post_cases[] = {
	KUNIT_CASE_PARAM(G_03_work_request_is_what_was_asked, call_gen_params),
	KUNIT_CASE_PARAM(G_12_empty_segments_are_ignored, call_gen_params),
	KUNIT_CASE_PARAM(S_04_triplets_beyond_the_count_are_not_read, call_gen_params),
	KUNIT_CASE_PARAM(G_13_no_segments_do_not_read_the_vector, call_gen_params),
	KUNIT_CASE_PARAM(G_17_as_many_segments_as_the_limit, call_gen_params),
	KUNIT_CASE_PARAM(G_21_range_of_a_segment, call_gen_params),
	KUNIT_CASE_PARAM(G_22_no_wrap_around_of_the_address, call_gen_params),
	KUNIT_CASE_PARAM(G_19_no_wrap_around_of_the_sum, call_gen_params),
	KUNIT_CASE_PARAM(G_20_message_size, call_gen_params),
	KUNIT_CASE_PARAM(S_43_R_41_the_one_privilege_is_enough, call_gen_params),
	KUNIT_CASE_PARAM(S_41_contexts_that_name_no_region, call_gen_params),
	KUNIT_CASE_PARAM(S_44_first_bad_segment_decides, call_gen_params),
	KUNIT_CASE(W_04_to_W_06_local_against_remote_length),
	KUNIT_CASE(D_03_read_is_trimmed_to_the_remote_length),
	KUNIT_CASE(D_04_read_into_too_little_is_refused),
	{}
};

static struct kunit_suite post_suite = {
	.name = "kdapl_post",
	.suite_init = post_suite_init,
	.suite_exit = post_suite_exit,
	.init = post_init,
	.exit = post_exit,
	.test_cases = post_cases,
};

kunit_test_suite(post_suite);
