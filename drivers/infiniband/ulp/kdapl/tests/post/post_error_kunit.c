// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: refusals of the five posting calls, and their order.
 *
 * Contract 4.0 as a table of faults. Each call has one fault, or two of different steps:
 * the earlier step determines the return value, the call changes nothing (G-01), and the same
 * call without the faults succeeds afterwards. Runs in a KUnit thread over the fake device.
 */
#include "post_kunit.h"

enum fault {
	F_HANDLE,			/* step 1 */
	F_NEGATIVE,			/* 3 */
	F_TOO_MANY,
	F_NO_IOV,
	F_NO_REMOTE,
	F_FLAG,				/* 4 */
	F_UNSIGNALLED,			/* 5 */
	F_STATE,			/* 6 */
	F_UNKNOWN,			/* 7, in the order within one segment */
	F_FOREIGN,
	F_PRIVILEGE,
	F_RANGE,
	F_TOO_LONG,			/* 8 */
	F_LENGTH,			/* 9 */
	F_FULL,				/* 10 */
	F_NO_ROOM,			/* 11 */
	F_REFUSED,
	NFAULTS
};

#define C(call)		BIT(TP_##call)
#define C_REQUEST	(C(SEND) | C(WRITE) | C(READ))
#define C_RDMA		(C(WRITE) | C(READ))
#define C_EP		(C_REQUEST | C(RECV))
#define C_ALL		(C_EP | C(SRQ))

/* Step times ten, so that the parts of step 7 have an order, too */
static const struct fault_desc {
	const char *name;
	u8 step;
	u8 calls;
	DAT_UINT32 type;
	const char *ids[TP_NCALLS];	/* clauses, of each call */
} fault_descs[NFAULTS] = {
	[F_HANDLE] = { "handle", 10, C_ALL, DAT_INVALID_HANDLE,
		{ "G-35 S-39", "G-35 W-27", "G-35 D-21", "G-35 R-37", "G-35 Q-23" } },
	[F_NEGATIVE] = { "negative", 30, C_ALL, DAT_INVALID_PARAMETER,
		{ "G-16", "G-16", "G-16", "G-16", "G-16" } },
	[F_TOO_MANY] = { "too_many", 30, C_ALL, DAT_INVALID_PARAMETER,
		{ "G-17", "G-17", "G-17", "G-17", "G-17 Q-38" } },
	[F_NO_IOV] = { "no_iov", 30, C_ALL, DAT_INVALID_PARAMETER,
		{ "G-18", "G-18", "G-18", "G-18", "G-18" } },
	[F_NO_REMOTE] = { "no_remote", 30, C_RDMA, DAT_INVALID_PARAMETER,
		{ "", "W-08", "D-06", "", "" } },
	[F_FLAG] = { "flag", 40, C_EP, DAT_INVALID_PARAMETER,
		{ "G-24 S-28", "G-24 W-18", "G-24 D-09", "G-24 R-16", "" } },
	[F_UNSIGNALLED] = { "unsignalled", 50, C_EP, DAT_INVALID_PARAMETER,
		{ "S-22", "W-16", "D-08", "R-14", "" } },
	[F_STATE] = { "state", 60, C_EP, DAT_INVALID_STATE,
		{ "S-34 S-45", "W-24", "D-12", "R-34", "" } },
	[F_UNKNOWN] = { "unknown_lmr", 70, C_ALL, DAT_PRIVILEGES_VIOLATION,
		{ "S-41 S-44", "W-29 W-33", "D-13", "R-39", "Q-27" } },
	[F_FOREIGN] = { "foreign_lmr", 71, C_ALL, DAT_PROTECTION_VIOLATION,
		{ "S-40 S-44", "W-28 W-33", "D-14", "R-38", "Q-26" } },
	[F_PRIVILEGE] = { "privilege", 72, C_ALL, DAT_PRIVILEGES_VIOLATION,
		{ "S-42 S-44", "W-29 W-33", "D-13", "R-40", "Q-27" } },
	[F_RANGE] = { "range", 73, C_ALL, DAT_INVALID_PARAMETER,
		{ "S-38 S-44", "W-26 W-33", "D-21", "R-36", "Q-25" } },
	[F_TOO_LONG] = { "too_long", 80, C_REQUEST, DAT_INVALID_PARAMETER,
		{ "G-20 S-46", "G-20 W-36", "G-20", "", "" } },
	[F_LENGTH] = { "length", 90, C_RDMA, DAT_LENGTH_ERROR,
		{ "", "W-05", "D-04", "", "" } },
	[F_FULL] = { "full", 100, C_ALL, DAT_INSUFFICIENT_RESOURCES,
		{ "G-25 S-37", "G-25 W-25", "G-25 D-21", "G-25 R-35", "G-25 Q-24" } },
	[F_NO_ROOM]	= { "no_room", 110, C_ALL, DAT_INSUFFICIENT_RESOURCES },
	[F_REFUSED]	= { "refused", 110, C_ALL, DAT_INTERNAL_ERROR },
};

static struct tp_env *env;
static struct tp_ep ep;

/* ---- arranging a call ------------------------------------------------------- */

struct arranged {
	struct tp_args args;
	struct tp_args before;		/* before the call */
	struct kdapl_slot *taken[TP_DEPTH];
	u32 ntaken;
	u32 posts;
	u32 free;
	u32 run_tail;
	u32 run_start;
};

/* Sets the faults of step 7 in segment 0, and the length of step 8 */
static void arrange_segment(enum tp_call call, u32 faults, DAT_LMR_TRIPLET *seg)
{
	struct tp_zone *zone = faults & BIT(F_FOREIGN) ? &env->foreign : &env->own;
	struct tp_lmr *lmr = &zone->rw;
	u32 length = faults & BIT(F_TOO_LONG) ? tp_max_size(call) + 1 : TP_SEG;
	u32 offset = faults & BIT(F_RANGE) ? TP_BUF - length + 1 : 0;

	if (faults & BIT(F_PRIVILEGE))
		lmr = tp_needs_read(call) ? &zone->wo : &zone->ro;
	tp_seg(env, seg, lmr, offset, length);
	if (faults & BIT(F_UNKNOWN))
		seg->lmr_context = env->freed;
}

static void arrange_flags(enum tp_call call, u32 faults, struct tp_args *args)
{
	if (faults & BIT(F_FLAG))
		args->flags |= call == TP_SEND ? DAT_COMPLETION_EVD_THRESHOLD_FLAG :
			       call == TP_RECV ? DAT_COMPLETION_SUPPRESS_FLAG :
						 DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (faults & BIT(F_UNSIGNALLED))
		args->flags |= DAT_COMPLETION_UNSIGNALLED_FLAG;
}

static void arrange_arguments(enum tp_call call, u32 faults, struct tp_args *args)
{
	tp_args(env, &ep, call, args);
	arrange_segment(call, faults, &args->segs[0]);
	arrange_flags(call, faults, args);
	if (faults & BIT(F_LENGTH))
		args->target.segment_length = call == TP_WRITE ? TP_SEG - 1 : 0x7fffffff;
	if (faults & BIT(F_NEGATIVE))
		args->n = -1;
	if (faults & BIT(F_TOO_MANY))
		args->n = tp_call_limit[call] + 1;
	if (faults & BIT(F_NO_IOV))
		args->iov = NULL;
	if (faults & BIT(F_NO_REMOTE))
		args->remote = NULL;
	if (faults & BIT(F_HANDLE))
		args->handle = call == TP_SRQ ? ep.handle : env->srq_handle;
}

static void arrange(enum tp_call call, u32 faults, struct arranged *arr)
{
	struct kdapl_pool *pool = tp_pool(env, &ep, call);
	struct kdapl_slot *slot;

	memset(arr, 0, sizeof(*arr));
	arrange_arguments(call, faults, &arr->args);
	if (faults & BIT(F_STATE))
		tp_set_state(&ep, call == TP_RECV ? DAT_EP_STATE_UNCONFIGURED_UNCONNECTED :
						    DAT_EP_STATE_UNCONNECTED);
	if (faults & BIT(F_FULL))
		while ((slot = kdapl_pool_get(pool)))
			arr->taken[arr->ntaken++] = slot;
	if (faults & BIT(F_NO_ROOM))
		fake_refuse(env->fake, -ENOMEM, 1);
	if (faults & BIT(F_REFUSED))
		fake_refuse(env->fake, -EINVAL, 1);
	arr->before = arr->args;
	arr->posts = env->fake->posts;
	arr->free = kdapl_pool_free_count(pool);
	arr->run_tail = ep.ep->sq.run_tail;
	arr->run_start = ep.ep->sq.run_start;
}

static void undo(enum tp_call call, u32 faults, struct arranged *arr)
{
	fake_refuse(env->fake, 0, 0);
	while (arr->ntaken)
		kdapl_pool_put(arr->taken[--arr->ntaken]);
	if (faults & BIT(F_STATE))
		tp_set_state(&ep, DAT_EP_STATE_CONNECTED);
}

/* G-01, P5 */
static void expect_nothing_changed(struct kunit *test, enum tp_call call, struct arranged *arr)
{
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, env->fake->posts, arr->posts);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(tp_pool(env, &ep, call)), arr->free);
	KUNIT_EXPECT_EQ(test, ep.ep->sq.run_tail, arr->run_tail);
	KUNIT_EXPECT_EQ(test, ep.ep->sq.run_start, arr->run_start);
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 0);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
	KUNIT_EXPECT_MEMEQ(test, &arr->args, &arr->before, sizeof(arr->args));
}

/* The queue still accepts, completes and returns posts */
static void expect_works(struct kunit *test, enum tp_call call)
{
	struct kdapl_pool *pool = tp_pool(env, &ep, call);

	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 4711, 0), DAT_SUCCESS);
	if (call == TP_SRQ) {
		/* This EP does not use the SRQ, so complete the buffer directly */
		struct fake_queue *q = tp_queue(env, &ep, call);

		KUNIT_EXPECT_EQ(test, fake_outstanding(q), 1);
		kdapl_pool_put(kdapl_slot_of_cqe(fake_wr_at(q, 0)->cqe));
		q->head = q->tail;
	} else {
		KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, call, IB_WC_SUCCESS, TP_SEG));
		tp_expect_dto(test, &ep, call, 4711, DAT_DTO_SUCCESS, TP_SEG);
	}
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), TP_DEPTH);
}

/* The argument that a fault of type DAT_INVALID_PARAMETER is in */
static DAT_UINT32 fault_argument(enum tp_call call, enum fault fault)
{
	switch (fault) {
	case F_NO_REMOTE:
		return DAT_INVALID_ARG5;
	case F_FLAG:
	case F_UNSIGNALLED:
		return call == TP_WRITE || call == TP_READ ? DAT_INVALID_ARG6 : DAT_INVALID_ARG5;
	case F_NO_IOV:
	case F_RANGE:
		return DAT_INVALID_ARG3;
	default:
		return DAT_INVALID_ARG2;
	}
}

static void refuse(struct kunit *test, enum tp_call call, u32 faults, enum fault expected)
{
	struct arranged *arr = kunit_kzalloc(test, sizeof(*arr), GFP_KERNEL);
	DAT_RETURN ret;

	KUNIT_ASSERT_NOT_NULL(test, arr);
	arrange(call, faults, arr);
	ret = tp_post(call, &arr->args);
	KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(ret), fault_descs[expected].type,
			    "%s with faults %#x: expected that of %s", tp_call_name[call], faults,
			    fault_descs[expected].name);
	KUNIT_EXPECT_NE(test, ret & DAT_CLASS_ERROR, 0);
	/*
	 * Half of the table is DAT_INVALID_PARAMETER, for which only the argument in the
	 * subtype shows the order.
	 */
	if (fault_descs[expected].type == DAT_INVALID_PARAMETER)
		KUNIT_EXPECT_EQ_MSG(test, DAT_GET_SUBTYPE(ret), fault_argument(call, expected),
				    "%s with faults %#x: expected that of %s", tp_call_name[call],
				    faults, fault_descs[expected].name);
	/* Only a call that reaches the verbs consumes the refusal */
	KUNIT_EXPECT_EQ(test, env->fake->refusals,
			expected < F_NO_ROOM && (faults & (BIT(F_NO_ROOM) | BIT(F_REFUSED))));
	expect_nothing_changed(test, call, arr);
	undo(call, faults, arr);
	kunit_kfree(test, arr);
}

/* ---- the table ---------------------------------------------------------------- */

static void fault_name(const struct fault_desc *desc, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s_first", desc->name);
}

KUNIT_ARRAY_PARAM(fault, fault_descs, fault_name);

static void decides(struct kunit *test, enum tp_call call, enum fault fault)
{
	const struct fault_desc *first = &fault_descs[fault];
	unsigned int j;

	refuse(test, call, BIT(fault), fault);
	expect_works(test, call);
	for (j = fault + 1; j < NFAULTS; j++)
		if ((fault_descs[j].calls & BIT(call)) && fault_descs[j].step > first->step)
			refuse(test, call, BIT(fault) | BIT(j), fault);
	expect_works(test, call);
	if (first->ids[call])
		kdapl_clauses(test, first->ids[call]);
}

static void step_4_0_decides_before_all_later_ones(struct kunit *test)
{
	const struct fault_desc *first = test->param_value;
	enum tp_call call;

	kdapl_clauses(test, "G-01");
	for (call = 0; call < TP_NCALLS; call++)
		if (first->calls & BIT(call))
			decides(test, call, first - fault_descs);
}

/* All faults at once, and then one fault less each time */
static void step_4_0_faults_are_reported_in_order(struct kunit *test)
{
	enum tp_call call;
	int f;

	for (call = 0; call < TP_NCALLS; call++) {
		u32 faults = 0;

		for (f = NFAULTS - 2; f >= 0; f--) {
			if (!(fault_descs[f].calls & BIT(call)))
				continue;
			faults |= BIT(f);
			/* The negative count replaces the count above the limit */
			if (f == F_NEGATIVE)
				faults &= ~BIT(F_TOO_MANY);
			refuse(test, call, faults, f);
		}
		expect_works(test, call);
	}
	kdapl_clauses(test, "G-01 G-35");
}

/* ---- verbs that refuse ----------------------------------------------------------- */

static void P5_refused_by_verbs_leaves_nothing(struct kunit *test)
{
	enum tp_call call;
	u32 i;

	for (call = 0; call < TP_NCALLS; call++) {
		for (i = 0; i < 2 * TP_DEPTH; i++)
			refuse(test, call, BIT(i & 1 ? F_REFUSED : F_NO_ROOM),
			       i & 1 ? F_REFUSED : F_NO_ROOM);
		expect_works(test, call);
	}
	kdapl_clauses(test, "G-01");
}

static void P5_refused_by_verbs_with_two_segments(struct kunit *test)
{
	struct kdapl_pool *pool;
	struct tp_args args;
	enum tp_call call;
	u32 posts;

	kdapl_clauses(test, "G-01");
	for (call = 0; call < TP_NCALLS; call++) {
		pool = tp_pool(env, &ep, call);
		posts = env->fake->posts;
		tp_args(env, &ep, call, &args);
		args.n = 2;
		args.target.segment_length = 2 * TP_SEG;
		fake_refuse(env->fake, -EINVAL, 1);
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INTERNAL_ERROR);
		fake_refuse(env->fake, -ENOMEM, 1);
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INSUFFICIENT_RESOURCES);
		KUNIT_EXPECT_EQ(test, env->fake->posts, posts);
		KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), TP_DEPTH);
		expect_works(test, call);
	}
}

/* Requests of the slow path: no segments, an invalidation */
static DAT_RETURN post_other(enum tp_call call, u64 cookie)
{
	struct tp_args args;

	tp_args(env, &ep, call == TP_RECV ? TP_SEND : call, &args);
	args.cookie.as_64 = cookie;
	if (call == TP_RECV)
		return dat_ep_post_send_with_invalidate(ep.handle, 1, args.segs, args.cookie, 0,
							DAT_TRUE, 0x7700);
	args.n = 0;
	args.target.segment_length = 0;
	return tp_post(call, &args);
}

static void P5_refused_by_verbs_on_the_slow_path(struct kunit *test)
{
	static const enum tp_call calls[] = { TP_SEND, TP_WRITE, TP_READ, TP_RECV };
	u32 i, posts = env->fake->posts;

	kdapl_clauses(test, "G-01");
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		fake_refuse(env->fake, -EINVAL, 1);
		TP_EXPECT_TYPE(test, post_other(calls[i], i), DAT_INTERNAL_ERROR);
		fake_refuse(env->fake, -ENOMEM, 1);
		TP_EXPECT_TYPE(test, post_other(calls[i], i), DAT_INSUFFICIENT_RESOURCES);
		KUNIT_EXPECT_EQ(test, env->fake->posts, posts + i);
		KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH - i);
		KUNIT_EXPECT_EQ(test, post_other(calls[i], i), DAT_SUCCESS);
	}
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), i);
		KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0));
	}
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), ARRAY_SIZE(calls));
}

/* An unsignalled request that is refused does not change the run (6.8) */
static void P5_refused_unsignalled_request_is_not_in_the_run(struct kunit *test)
{
	u32 i, round;

	for (round = 0; round < 3; round++) {
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1,
						  DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
		for (i = 0; i < 5; i++) {
			fake_refuse(env->fake, -EINVAL, 1);
			TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_SEND, 2,
							 DAT_COMPLETION_SUPPRESS_FLAG),
				       DAT_INTERNAL_ERROR);
			KUNIT_EXPECT_EQ(test, ep.ep->sq.run_tail - ep.ep->sq.run_head, 1);
		}
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 3, 0), DAT_SUCCESS);
		KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0));
		KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0));
		tp_expect_dto(test, &ep, TP_SEND, 3, DAT_DTO_SUCCESS, TP_SEG);
		KUNIT_ASSERT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	}
}

/* ---- handles ------------------------------------------------------------------------ */

static void G_35_dequeue_from_an_endpoint(struct kunit *test)
{
	DAT_EVENT event;

	kdapl_clauses(test, "G-35");
	TP_EXPECT_TYPE(test, dat_evd_dequeue((DAT_EVD_HANDLE)ep.handle, &event),
		       DAT_INVALID_HANDLE);
}

static void G_35_bad_handles(struct kunit *test)
{
	struct tp_args args, before;
	enum tp_call call;
	struct tp_ep gone;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &gone), DAT_SUCCESS);
	for (call = 0; call < TP_NCALLS; call++) {
		DAT_HANDLE good = call == TP_SRQ ? env->srq_handle : ep.handle;
		DAT_HANDLE bad[] = {
			NULL, (DAT_HANDLE)~0UL, (DAT_HANDLE)0xdeadbeefUL, &args, ep.ep,
			env->own.pz, env->own.rw.handle, ep.recv_evd,
			kdapl_obj_handle(&env->ia->obj),
			/* That of empty entries; entry 0 may be one of them */
			(DAT_HANDLE)((unsigned long)KDAPL_HANDLE_TYPE_NONE <<
				     KDAPL_HANDLE_INDEX_BITS),
			call == TP_SRQ ? ep.handle : env->srq_handle,
			(DAT_HANDLE)((unsigned long)good ^ 1UL << 63),
			(DAT_HANDLE)((unsigned long)good ^ 1UL << KDAPL_HANDLE_GEN_SHIFT),
		};

		tp_args(env, &ep, call, &args);
		before = args;
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			args.handle = bad[i];
			TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INVALID_HANDLE);
		}
		args.handle = before.handle;
		KUNIT_EXPECT_MEMEQ(test, &args, &before, sizeof(args));
	}
	/* S-39, W-27, R-37: a handle that was just freed */
	tp_args(env, &gone, TP_SEND, &args);
	tp_ep_free(&gone);
	for (call = 0; call < TP_SRQ; call++)
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INVALID_HANDLE);
	kdapl_clauses(test, "G-35 S-39 W-27 R-37 Q-23 D-21");
}

/* ---- suite ------------------------------------------------------------------------------ */

static int post_error_suite_init(struct kunit_suite *suite)
{
	env = tp_env_create();
	if (IS_ERR(env))
		return PTR_ERR(env);
	if (tp_ep_create(env, NULL, false, &ep) != DAT_SUCCESS)
		return -EIO;
	return tp_connect(&ep);
}

static void post_error_suite_exit(struct kunit_suite *suite)
{
	if (IS_ERR_OR_NULL(env))
		return;
	tp_ep_free(&ep);
	tp_env_destroy(env);
	env = NULL;
}

static void post_error_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(&env->srq->pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_CONNECTED);
}

static struct kunit_case post_error_cases[] = {
	KUNIT_CASE_PARAM(step_4_0_decides_before_all_later_ones, fault_gen_params),
	KUNIT_CASE(step_4_0_faults_are_reported_in_order),
	KUNIT_CASE(P5_refused_by_verbs_leaves_nothing),
	KUNIT_CASE(P5_refused_by_verbs_with_two_segments),
	KUNIT_CASE(P5_refused_by_verbs_on_the_slow_path),
	KUNIT_CASE(P5_refused_unsignalled_request_is_not_in_the_run),
	KUNIT_CASE(G_35_dequeue_from_an_endpoint),
	KUNIT_CASE(G_35_bad_handles),
	{}
};

static struct kunit_suite post_error_suite = {
	.name = "kdapl_post_error",
	.suite_init = post_error_suite_init,
	.suite_exit = post_error_suite_exit,
	.exit = post_error_exit,
	.test_cases = post_error_cases,
};

kunit_test_suite(post_error_suite);
