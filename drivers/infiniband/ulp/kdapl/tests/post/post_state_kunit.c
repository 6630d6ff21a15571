// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: flags, endpoint states and full queues.
 *
 * Contract 2.3 (the flags of each call), 4.13 (the calls that each state allows) and G-25,
 * G-26 (as many posts as the depth, and then as many as events were delivered). Runs in a
 * KUnit thread; every test creates the endpoint that it needs.
 */
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static const DAT_UINT32 any_flag[] = {
	DAT_COMPLETION_SUPPRESS_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_BARRIER_FENCE_FLAG,
};

/* 2.3: legal flags of each call, those of an UNSIGNALLED endpoint included */
static const u32 legal_flags[TP_SRQ] = { 0x0f, 0x0d, 0x0d, 0x04 };

static void make_ep(struct kunit *test, const DAT_EP_ATTR *attr)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, attr, false, &ep), DAT_SUCCESS);
}

static void make_connected(struct kunit *test, const DAT_EP_ATTR *attr)
{
	make_ep(test, attr);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
}

static void make_unsignalled(struct kunit *test)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	make_connected(test, &attr);
}

static void finish(enum tp_call call)
{
	while (fake_outstanding(tp_queue(env, &ep, call)))
		tp_complete(env, &ep, call, IB_WC_SUCCESS, 0);
	tp_drain(&ep);
}

/* ---- flags ---------------------------------------------------------------------- */

static void G_24_each_bit_is_legal_or_refused(struct kunit *test)
{
	enum tp_call call;
	u32 bit;

	make_unsignalled(test);
	for (call = 0; call < TP_SRQ; call++) {
		for (bit = 0; bit < 32; bit++) {
			DAT_RETURN ret = tp_post_one(env, &ep, call, 1, BIT(bit));

			if (BIT(bit) & legal_flags[call])
				KUNIT_EXPECT_EQ(test, ret, DAT_SUCCESS);
			else
				KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(ret), DAT_INVALID_PARAMETER,
						    "%s, bit %u", tp_call_name[call], bit);
			finish(call);
		}
	}
	kdapl_clauses(test, "G-24 S-28 R-16 W-18 D-09");
}

static void S_22_UNSIGNALLED_needs_the_endpoint_attribute(struct kunit *test)
{
	enum tp_call call;

	/* W-16, R-14 too: an endpoint with DEFAULT flags */
	make_connected(test, NULL);
	for (call = 0; call < TP_SRQ; call++) {
		TP_EXPECT_TYPE(test, tp_post_one(env, &ep, call, 1,
						 DAT_COMPLETION_UNSIGNALLED_FLAG),
			       DAT_INVALID_PARAMETER);
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, call, 1, 0), DAT_SUCCESS);
		finish(call);
	}
	kdapl_clauses(test, "S-22 W-16 R-14");
}

/* The attribute of one direction does not affect the other */
static void R_14_each_direction_has_its_own_attribute(struct kunit *test)
{
	u32 flag = DAT_COMPLETION_UNSIGNALLED_FLAG;
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.recv_completion_flags = flag;
	make_connected(test, &attr);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, flag), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_SEND, 1, flag), DAT_INVALID_PARAMETER);
	finish(TP_RECV);
	tp_ep_free(&ep);
	tp_attr(&attr);
	attr.request_completion_flags = flag;
	make_connected(test, &attr);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_RECV, 1, flag), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, flag), DAT_SUCCESS);
	finish(TP_SEND);
	kdapl_clauses(test, "S-22 R-14");
}

static void S_27_flags_reach_the_verbs_in_all_combinations(struct kunit *test)
{
	enum tp_call call;
	u32 combo, flags, i;
	int expected;

	make_unsignalled(test);
	for (call = 0; call < TP_RECV; call++) {
		for (combo = 0; combo < 16; combo++) {
			for (flags = 0, i = 0; i < 4; i++)
				if (combo & BIT(i))
					flags |= any_flag[i];
			if (flags & ~legal_flags[call])
				continue;
			/* The first request of a run: only SUPPRESS removes the signal */
			expected = flags & DAT_COMPLETION_SUPPRESS_FLAG ? 0 : IB_SEND_SIGNALED;
			if (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
				expected |= IB_SEND_FENCE;
			if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
				expected |= IB_SEND_SOLICITED;
			KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 1, flags), DAT_SUCCESS);
			KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&ep)->sq)->send_flags, expected);
			/* Ends the run, so that the next combination begins one */
			KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, call, 1, 0), DAT_SUCCESS);
			finish(call);
		}
	}
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep.ep->sq.pool), TP_DEPTH);
	kdapl_clauses(test, "S-25 S-27 W-17 D-08");
}

/* ---- states ------------------------------------------------------------------------ */

enum answer { OK, IS, FLUSH };

/* 4.13, and the numbers of 2.2 for the state that the subtype names */
static const struct state_row {
	DAT_EP_STATE state;
	enum answer request;
	enum answer recv;
	const char *name;
} state_rows[] = {
	{ DAT_EP_STATE_UNCONNECTED, IS, OK, "UNCONNECTED" },
	{ DAT_EP_STATE_UNCONFIGURED_UNCONNECTED, IS, IS, "UNCONFIGURED_UNCONNECTED" },
	{ DAT_EP_STATE_RESERVED, IS, OK, "RESERVED" },
	{ DAT_EP_STATE_UNCONFIGURED_RESERVED, IS, IS, "UNCONFIGURED_RESERVED" },
	{ DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, IS, OK, "PASSIVE" },
	{ DAT_EP_STATE_UNCONFIGURED_PASSIVE, IS, IS, "UNCONFIGURED_PASSIVE" },
	{ DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, IS, OK, "ACTIVE" },
	{ DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, IS, OK, "TENTATIVE" },
	{ DAT_EP_STATE_UNCONFIGURED_TENTATIVE, IS, IS, "UNCONFIGURED_TENTATIVE" },
	{ DAT_EP_STATE_CONNECTED, OK, OK, "CONNECTED" },
	{ DAT_EP_STATE_DISCONNECT_PENDING, IS, OK, "DISCONNECT_PENDING" },
	{ DAT_EP_STATE_COMPLETION_PENDING, IS, OK, "COMPLETION_PENDING" },
	{ DAT_EP_STATE_CONNECTED_SINGLE_PATH, OK, OK, "SINGLE_PATH" },
	{ DAT_EP_STATE_CONNECTED_MULTI_PATH, OK, OK, "MULTI_PATH" },
	{ DAT_EP_STATE_DISCONNECTED, FLUSH, FLUSH, "DISCONNECTED" },
};

static void expect_answer(struct kunit *test, enum tp_call call, const struct state_row *row)
{
	enum answer answer = tp_is_request(call) ? row->request : row->recv;
	struct fake_queue *q = tp_queue(env, &ep, call);
	u32 tail = q->tail, outstanding = fake_outstanding(q);
	DAT_RETURN ret;

	ret = tp_post_one(env, &ep, call, 100 + call, 0);
	fake_settle(env->fake);
	if (answer == IS) {
		KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(ret), DAT_INVALID_STATE, "%s in %s",
				    tp_call_name[call], row->name);
		KUNIT_EXPECT_EQ(test, q->tail, tail);
		return;
	}
	KUNIT_EXPECT_EQ_MSG(test, ret, DAT_SUCCESS, "%s in %s", tp_call_name[call], row->name);
	KUNIT_EXPECT_EQ(test, q->tail, tail + 1);
	KUNIT_EXPECT_EQ(test, fake_outstanding(q), outstanding + (answer == OK));
	if (answer == FLUSH)
		tp_expect_dto(test, &ep, call, 100 + call, DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, tp_events(tp_evd(&ep, call)), 0);
}

static void table_4_13(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	const struct state_row *row;
	enum tp_call call;

	make_connected(test, NULL);
	for (row = state_rows; row < state_rows + ARRAY_SIZE(state_rows); row++) {
		if (row->state == DAT_EP_STATE_DISCONNECTED) {
			/* In DISCONNECTED kdapl has moved the QP to ERROR */
			ep.ep->drain.qp_moved = true;
			ib_modify_qp(&tp_qp(&ep)->ibqp, &attr, IB_QP_STATE);
		}
		tp_set_state(&ep, row->state);
		for (call = 0; call < TP_SRQ; call++)
			expect_answer(test, call, row);
		/* the SRQ accepts posts in any state */
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 1, 0), DAT_SUCCESS);
		tp_set_state(&ep, DAT_EP_STATE_CONNECTED);
		finish(TP_SEND);
		finish(TP_RECV);
	}
	tp_set_state(&ep, DAT_EP_STATE_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep.ep->rq), TP_DEPTH);
	kdapl_clauses(test, "S-30 S-31 S-34 S-35 S-36 W-22 W-23 W-24 D-12");
	kdapl_clauses(test, "R-23 R-26 R-27 R-32 Q-18");
}

static void Q_16_Q_17_every_SRQ_state_takes_buffers(struct kunit *test)
{
	DAT_SRQ_STATE state = env->srq->state;
	u32 i;

	make_ep(test, NULL);
	for (i = DAT_SRQ_STATE_ERROR; i <= DAT_SRQ_STATE_SHUTDOWN; i++) {
		env->srq->state = i;
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 1, 0), DAT_SUCCESS);
	}
	env->srq->state = state;
	kdapl_clauses(test, "Q-16 Q-17");
}

static void Q_17_buffers_of_a_failed_SRQ_return_with_it(struct kunit *test)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	static const DAT_SRQ_STATE states[] = { DAT_SRQ_STATE_ERROR, DAT_SRQ_STATE_SHUTDOWN };
	DAT_SRQ_PARAM param = { };
	struct kdapl_obj *obj;
	struct tp_args args;
	DAT_SRQ_HANDLE srq;
	u32 i, k;
	int live;

	make_ep(test, NULL);
	live = atomic_read(&env->fake->live);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		KUNIT_ASSERT_EQ(test, dat_srq_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
						     &attr, &srq), DAT_SUCCESS);
		obj = kdapl_obj_get(srq, DAT_HANDLE_TYPE_SRQ);
		KUNIT_ASSERT_NOT_NULL(test, obj);
		to_kdapl_srq(obj)->state = states[i];
		kdapl_obj_put(obj);
		tp_args(env, &ep, TP_SRQ, &args);
		args.handle = srq;
		for (k = 0; k < 4; k++)
			KUNIT_EXPECT_EQ(test, tp_post(TP_SRQ, &args), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, param.outstanding_dto_count, 4);
		KUNIT_EXPECT_EQ(test, dat_srq_free(srq), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
	}
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	kdapl_clauses(test, "G-02 Q-17");
}

static void S_34_unconnected_post_is_refused_without_effect(struct kunit *test)
{
	enum tp_call call;

	make_ep(test, NULL);
	for (call = 0; call < TP_RECV; call++)
		TP_EXPECT_TYPE(test, tp_post_one(env, &ep, call, 1, 0), DAT_INVALID_STATE);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 0);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	kdapl_clauses(test, "S-34 W-24");
}

static void R_33_endpoint_of_an_SRQ_takes_no_receives(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_INVALID_STATE);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	finish(TP_SEND);
	kdapl_clauses(test, "R-33");
}

static void R_34_endpoint_without_zone_is_unconfigured(struct kunit *test)
{
	DAT_EP_HANDLE handle;
	struct tp_args args;
	enum tp_call call;
	DAT_EP_ATTR attr;

	make_ep(test, NULL);
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_ep_create(kdapl_obj_handle(&env->ia->obj), DAT_HANDLE_NULL,
					    ep.recv_evd, ep.request_evd, ep.connect_evd, &attr,
					    &handle), DAT_SUCCESS);
	for (call = 0; call < TP_SRQ; call++) {
		tp_args(env, &ep, call, &args);
		args.handle = handle;
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INVALID_STATE);
	}
	KUNIT_EXPECT_EQ(test, dat_ep_free(handle), DAT_SUCCESS);
	kdapl_clauses(test, "R-34");
}

/* ---- full queues --------------------------------------------------------------------- */

static void G_25_depth_posts_and_one_more(struct kunit *test)
{
	enum tp_call call;
	u32 i;

	make_connected(test, NULL);
	for (call = 0; call < TP_SRQ; call++) {
		for (i = 0; i < TP_DEPTH; i++)
			KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, call, i, 0), DAT_SUCCESS);
		TP_EXPECT_TYPE(test, tp_post_one(env, &ep, call, 99, 0),
			       DAT_INSUFFICIENT_RESOURCES);
		/* Completions alone make no room, only delivered events do */
		for (i = 0; i < TP_DEPTH; i++)
			tp_complete(env, &ep, call, IB_WC_SUCCESS, TP_SEG);
		TP_EXPECT_TYPE(test, tp_post_one(env, &ep, call, 99, 0),
			       DAT_INSUFFICIENT_RESOURCES);
		/* G-26: three delivered, so three more posts */
		for (i = 0; i < 3; i++)
			tp_expect_dto(test, &ep, call, i, DAT_DTO_SUCCESS, TP_SEG);
		for (i = 0; i < 3; i++)
			KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, call, 50 + i, 0), DAT_SUCCESS);
		TP_EXPECT_TYPE(test, tp_post_one(env, &ep, call, 99, 0),
			       DAT_INSUFFICIENT_RESOURCES);
		/* G-27, G-28: and all in posting order */
		for (i = 0; i < 3; i++)
			tp_complete(env, &ep, call, IB_WC_SUCCESS, TP_SEG);
		for (i = 3; i < TP_DEPTH; i++)
			tp_expect_dto(test, &ep, call, i, DAT_DTO_SUCCESS, TP_SEG);
		for (i = 0; i < 3; i++)
			tp_expect_dto(test, &ep, call, 50 + i, DAT_DTO_SUCCESS, TP_SEG);
	}
	kdapl_clauses(test, "G-25 G-26 G-27 G-28 S-37 W-25 D-21 R-35");
}

static void Q_24_SRQ_takes_as_many_as_its_depth(struct kunit *test)
{
	u32 i;

	make_ep(test, NULL);
	for (i = 0; i < TP_DEPTH; i++)
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SRQ, i, 0), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_SRQ, 99, 0), DAT_INSUFFICIENT_RESOURCES);
	kdapl_clauses(test, "Q-24");
}

static void R_34_queues_of_depth_0_are_full(struct kunit *test)
{
	DAT_EP_HANDLE handle;
	struct tp_args args;
	enum tp_call call;
	DAT_EP_ATTR attr;
	struct kdapl_obj *obj;

	make_ep(test, NULL);
	tp_attr(&attr);
	attr.max_recv_dtos = 0;
	attr.max_request_dtos = 0;
	KUNIT_ASSERT_EQ(test, dat_ep_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
					    DAT_HANDLE_NULL, DAT_HANDLE_NULL, ep.connect_evd,
					    &attr, &handle), DAT_SUCCESS);
	obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_EP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	for (call = 0; call < TP_SRQ; call++) {
		tp_args(env, &ep, call, &args);
		args.handle = handle;
		if (call == TP_SEND) {
			spin_lock_irq(&to_kdapl_ep(obj)->lock);
			kdapl_ep_set_state(to_kdapl_ep(obj), DAT_EP_STATE_CONNECTED);
			spin_unlock_irq(&to_kdapl_ep(obj)->lock);
		}
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_INSUFFICIENT_RESOURCES);
		/* The reason is the same without a slot: step 7 comes before 10 */
		args.segs[0].lmr_context = env->freed;
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_PRIVILEGES_VIOLATION);
	}
	spin_lock_irq(&to_kdapl_ep(obj)->lock);
	kdapl_ep_set_state(to_kdapl_ep(obj), DAT_EP_STATE_UNCONNECTED);
	spin_unlock_irq(&to_kdapl_ep(obj)->lock);
	kdapl_obj_put(obj);
	KUNIT_EXPECT_EQ(test, dat_ep_free(handle), DAT_SUCCESS);
	kdapl_clauses(test, "R-34");
}

static void D_19_endpoint_without_read_credits(struct kunit *test)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.max_rdma_read_out = 0;
	make_connected(test, &attr);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_READ, 1, 0), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_WRITE, 1, 0), DAT_SUCCESS);
	finish(TP_WRITE);
	kdapl_clauses(test, "D-19");
}

static void D_16_more_reads_than_credits_are_accepted(struct kunit *test)
{
	u32 i;

	make_connected(test, NULL);
	for (i = 0; i < TP_DEPTH; i++)
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_READ, i, 0), DAT_SUCCESS);
	finish(TP_READ);
	kdapl_clauses(test, "D-16");
}

/* ---- suite ------------------------------------------------------------------------------- */

static int state_suite_init(struct kunit_suite *suite)
{
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void state_suite_exit(struct kunit_suite *suite)
{
	tp_env_destroy(env);
	env = NULL;
}

static void state_exit(struct kunit *test)
{
	struct fake_queue *q = tp_queue(env, &ep, TP_SRQ);

	/* Completes whatever a test has left on the SRQ */
	for (; q->head != q->tail; q->head++)
		kdapl_pool_put(kdapl_slot_of_cqe(fake_wr_at(q, 0)->cqe));
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
}

static struct kunit_case state_cases[] = {
	KUNIT_CASE(G_24_each_bit_is_legal_or_refused),
	KUNIT_CASE(S_22_UNSIGNALLED_needs_the_endpoint_attribute),
	KUNIT_CASE(R_14_each_direction_has_its_own_attribute),
	KUNIT_CASE(S_27_flags_reach_the_verbs_in_all_combinations),
	KUNIT_CASE(table_4_13),
	KUNIT_CASE(Q_16_Q_17_every_SRQ_state_takes_buffers),
	KUNIT_CASE(Q_17_buffers_of_a_failed_SRQ_return_with_it),
	KUNIT_CASE(S_34_unconnected_post_is_refused_without_effect),
	KUNIT_CASE(R_33_endpoint_of_an_SRQ_takes_no_receives),
	KUNIT_CASE(R_34_endpoint_without_zone_is_unconfigured),
	KUNIT_CASE(G_25_depth_posts_and_one_more),
	KUNIT_CASE(Q_24_SRQ_takes_as_many_as_its_depth),
	KUNIT_CASE(R_34_queues_of_depth_0_are_full),
	KUNIT_CASE(D_19_endpoint_without_read_credits),
	KUNIT_CASE(D_16_more_reads_than_credits_are_accepted),
	{}
};

static struct kunit_suite state_suite = {
	.name = "kdapl_post_state",
	.suite_init = state_suite_init,
	.suite_exit = state_suite_exit,
	.exit = state_exit,
	.test_cases = state_cases,
};

kunit_test_suite(state_suite);
