// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the first and the last states of an endpoint.
 *
 * Tests EPs that are complete when they are created (C-01, C-05, C-06), EPs without zone
 * or EVDs, which dat_ep_modify() supplies later (C-37 to C-39), EPs in DISCONNECTED and
 * the calls that are refused there (C-33 to C-35), refusals of dat_ep_dup_connect(), EPs
 * with queues of no entries, and queried attributes used to create another EP. Runs in a
 * KUnit thread; each test has its own device.
 */
#include "modify_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static DAT_RETURN connect(struct tp_ep *tep)
{
	return dat_ep_connect(tep->handle, (DAT_IA_ADDRESS_PTR)&env->ia->addr, 5, 1000000, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* ---- complete at creation ----------------------------------------------------------- */

static void C_01_complete_endpoint(struct kunit *test)
{
	u32 srq;

	kdapl_clauses(test, "C-01");
	for (srq = 0; srq < 2; srq++) {
		KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, srq, &ep), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
		KUNIT_EXPECT_EQ(test, tp_qp(&ep)->state, IB_QPS_INIT);
		fake_settle(env->fake);
		KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
		tp_ep_free(&ep);
	}
}

static void C_05_C_06_reset_and_disconnect_of_an_unconnected_one(struct kunit *test)
{
	struct ib_qp *qp;

	kdapl_clauses(test, "C-05 C-06");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 2, 0), DAT_SUCCESS);
	qp = rcu_dereference_raw(ep.ep->fast.qp);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG),
		       DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG),
		       DAT_INVALID_STATE);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_PTR_EQ(test, rcu_dereference_raw(ep.ep->fast.qp), qp);
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&ep)->rq), 2);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	/* The next connection uses the receives */
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 7));
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_SUCCESS, 7);
}

/* ---- completed later ----------------------------------------------------------------- */

static void expect_unconfigured(struct kunit *test)
{
	struct tp_args args;
	enum tp_call call;

	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONFIGURED_UNCONNECTED);
	for (call = 0; call < TP_SRQ; call++) {
		tp_args(env, &ep, call, &args);
		KUNIT_EXPECT_EQ(test, tp_post(call, &args),
				DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONFIGURED));
	}
	/* Calls that begin or end a connection, and reset */
	TP_EXPECT_TYPE(test, connect(&ep),
		       ep.ep->cfg.connect_evd ? DAT_INVALID_STATE : DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG),
		       DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG),
		       DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_ep_reset(ep.handle), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONFIGURED_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
}

static const DAT_EP_PARAM_MASK lacking[] = {
	DAT_EP_FIELD_PZ_HANDLE,
	DAT_EP_FIELD_RECV_EVD_HANDLE,
	DAT_EP_FIELD_REQUEST_EVD_HANDLE,
	DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE,
	MOD_ALL_PARENTS,
};

static void C_37_C_39_what_an_endpoint_lacks(struct kunit *test)
{
	int live = atomic_read(&env->fake->live);
	u32 i;

	kdapl_clauses(test, "C-37 C-39");
	for (i = 0; i < ARRAY_SIZE(lacking); i++) {
		mod_create_without(test, env, &ep, lacking[i]);
		expect_unconfigured(test);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
		tp_ep_free(&ep);
	}
	/* An EP without a connect EVD is complete */
	mod_create_without(test, env, &ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
}

static void C_38_modify_supplies_it(struct kunit *test)
{
	int nqps = atomic_read(&env->ia->nqps), nverbs = atomic_read(&env->ia->nverbs);
	int live = atomic_read(&env->fake->live);
	DAT_EP_PARAM p;
	u32 i;

	kdapl_clauses(test, "C-38 C-39 R-23 G-25");
	for (i = 0; i < ARRAY_SIZE(lacking); i++) {
		mod_create_without(test, env, &ep, lacking[i]);
		/* New queue depths alone do not complete the EP */
		KUNIT_EXPECT_EQ(test, mod_depths(&ep, 6, 9), DAT_SUCCESS);
		expect_unconfigured(test);
		mod_parents(env, &ep, &p);
		KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, lacking[i], &p), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
		KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live + 2);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->ia->nqps), nqps + 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->ia->nverbs), nverbs + 1);
		mod_expect_recvs(test, env, &ep, 6);
		mod_expect_requests(test, env, &ep, 9);
		tp_ep_free(&ep);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->ia->nqps), nqps);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->ia->nverbs), nverbs);
	}
}

/* Each call supplies one object, and the last one completes the EP */
static void C_38_step_by_step(struct kunit *test)
{
	static const DAT_EP_PARAM_MASK step[] = {
		DAT_EP_FIELD_REQUEST_EVD_HANDLE, DAT_EP_FIELD_CONNECT_EVD_HANDLE,
		DAT_EP_FIELD_RECV_EVD_HANDLE, DAT_EP_FIELD_PZ_HANDLE,
	};
	DAT_EP_PARAM p, none = {};
	u32 i;

	kdapl_clauses(test, "C-37 C-38 C-39");
	mod_create_without(test, env, &ep, MOD_ALL_PARENTS);
	mod_parents(env, &ep, &p);
	for (i = 0; i < ARRAY_SIZE(step); i++) {
		expect_unconfigured(test);
		KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, step[i], &p), DAT_SUCCESS);
		/* An object can be removed again while the EP is incomplete */
		if (step[i] == DAT_EP_FIELD_PZ_HANDLE)
			continue;
		KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, step[i], &none), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, step[i], &p), DAT_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
	/* A queue without entries needs no EVD: a depth of 0 completes the EP too */
	tp_ep_free(&ep);
	mod_create_without(test, env, &ep, DAT_EP_FIELD_RECV_EVD_HANDLE);
	expect_unconfigured(test);
	KUNIT_EXPECT_EQ(test, mod_depths(&ep, 0, 4), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_INSUFFICIENT_RESOURCES);
	mod_expect_requests(test, env, &ep, 4);
}

static void an_SRQ_endpoint_is_completed(struct kunit *test)
{
	DAT_EP_PARAM p = { .pz_handle = env->foreign.pz };
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "C-37 C-38");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_ep_create_with_srq(kdapl_obj_handle(&env->ia->obj), NULL,
						     ep.recv_evd, ep.request_evd, ep.connect_evd,
						     env->srq_handle, &attr, &ep.handle),
			DAT_SUCCESS);
	ep.ep = to_kdapl_ep(kdapl_obj_get(ep.handle, DAT_HANDLE_TYPE_EP));
	kdapl_obj_put(&ep.ep->obj);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONFIGURED_UNCONNECTED);
	mod_refused(test, env, &ep, DAT_EP_FIELD_PZ_HANDLE, &p, DAT_INVALID_PARAMETER);
	p.pz_handle = env->own.pz;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_PZ_HANDLE, &p), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 3, 0), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_SRQ, IB_WC_SUCCESS, 8));
	tp_expect_dto(test, &ep, TP_SRQ, 3, DAT_DTO_SUCCESS, 8);
	TP_EXPECT_TYPE(test, dat_srq_free(env->srq_handle), DAT_INVALID_STATE);
}

/* ---- the end of a connection ---------------------------------------------------------- */

static void C_32_to_C_35_disconnected(struct kunit *test)
{
	struct tp_args args;
	enum tp_call call;

	kdapl_clauses(test, "C-32 C-33 C-35");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 1);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, connect(&ep), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, mod_depths(&ep, 2, 2), DAT_INVALID_STATE);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_DISCONNECTED);
	for (call = 0; call < TP_SRQ; call++) {
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, call, call, 0), DAT_SUCCESS);
		fake_settle(env->fake);
		tp_expect_dto(test, &ep, call, call, DAT_DTO_ERR_FLUSHED, 0);
		KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	}
	/* Reset discards the events that were not dequeued, and frees their slots */
	for (call = 0; call < TP_SRQ; call++)
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, call, call, 0), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	tp_args(env, &ep, TP_SEND, &args);
	TP_EXPECT_TYPE(test, tp_post(TP_SEND, &args), DAT_INVALID_STATE);
	/* The EP can be modified and used again */
	KUNIT_EXPECT_EQ(test, mod_depths(&ep, 2 * TP_DEPTH, 3), DAT_SUCCESS);
	mod_expect_recvs(test, env, &ep, 2 * TP_DEPTH);
	mod_expect_requests(test, env, &ep, 3);
}

/* ---- dat_ep_dup_connect ------------------------------------------------------------------ */

static DAT_RETURN dup_connect(struct tp_ep *from, struct tp_ep *to, DAT_TIMEOUT timeout)
{
	return dat_ep_dup_connect(from->handle, to->handle, timeout, 0, NULL, DAT_QOS_BEST_EFFORT);
}

static void dup_connect_refusals(struct kunit *test)
{
	struct tp_ep none = {}, active, passive;
	u8 data[KDAPL_REQUEST_PRIVATE + 1] = {};

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &active), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &passive), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dup_connect(&none, &active, 1), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dup_connect(&ep, &none, 1), DAT_INVALID_HANDLE);
	/* The connection to duplicate does not exist yet */
	TP_EXPECT_TYPE(test, dup_connect(&ep, &active, 1), DAT_INVALID_STATE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(tp_begin(&passive, true)));
	TP_EXPECT_TYPE(test, dup_connect(&ep, &passive, 1), DAT_INVALID_STATE);
	KUNIT_ASSERT_TRUE(test, kdapl_ep_enter_connected(passive.ep));
	/* A passive EP does not know the qualifier that its peer listens on */
	TP_EXPECT_TYPE(test, dup_connect(&ep, &passive, 1), DAT_INVALID_PARAMETER);
	KUNIT_ASSERT_EQ(test, tp_connect(&active), 0);
	*(struct sockaddr_in *)&active.ep->conn.remote = (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_addr.s_addr = cpu_to_be32(0xc0000202),
	};
	TP_EXPECT_TYPE(test, dup_connect(&ep, &active, 0), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dup_connect(&active, &active, 1), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_ep_dup_connect(ep.handle, active.handle, 1, -1, data,
						DAT_QOS_BEST_EFFORT), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_ep_dup_connect(ep.handle, active.handle, 1, sizeof(data), data,
						DAT_QOS_BEST_EFFORT), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_ep_dup_connect(ep.handle, active.handle, 1, 1, NULL,
						DAT_QOS_BEST_EFFORT), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_ep_dup_connect(ep.handle, active.handle, 1, 0, NULL,
						DAT_QOS_LOW_LATENCY), DAT_MODEL_NOT_SUPPORTED);
	/* All arguments are valid, but no address leads to the fake device */
	TP_EXPECT_TYPE(test, dup_connect(&ep, &active, 1), DAT_INVALID_ADDRESS);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, mod_state(&active), DAT_EP_STATE_CONNECTED);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(active.handle, DAT_CLOSE_ABRUPT_FLAG),
			DAT_SUCCESS);
	fake_settle(env->fake);
	TP_EXPECT_TYPE(test, dup_connect(&ep, &active, 1), DAT_INVALID_STATE);
	tp_drain(&active);
	tp_drain(&passive);
	tp_ep_free(&active);
	tp_ep_free(&passive);
}

/* ---- queues of no entries ------------------------------------------------------------------ */

static void make_empty(struct kunit *test, DAT_EP_PARAM_MASK lacks, u32 recv_flags)
{
	struct kdapl_obj *obj;
	DAT_EP_ATTR attr;

	mod_create_without(test, env, &ep, lacks);
	KUNIT_ASSERT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	ep.handle = NULL;
	tp_attr(&attr);
	attr.recv_completion_flags = recv_flags;
	if (lacks == DAT_EP_FIELD_RECV_EVD_HANDLE)
		attr.max_recv_dtos = 0;
	else
		attr.max_request_dtos = 0;
	KUNIT_ASSERT_EQ(test, dat_ep_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
					    attr.max_recv_dtos ? ep.recv_evd : NULL,
					    attr.max_request_dtos ? ep.request_evd : NULL,
					    ep.connect_evd, &attr, &ep.handle), DAT_SUCCESS);
	obj = kdapl_obj_get(ep.handle, DAT_HANDLE_TYPE_EP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	ep.ep = to_kdapl_ep(obj);
	kdapl_obj_put(obj);
}

/* Without receives there is no EVD that a solicited CQ could feed */
static void solicited_wait_without_receives(struct kunit *test)
{
	kdapl_clauses(test, "R-34");
	make_empty(test, DAT_EP_FIELD_RECV_EVD_HANDLE, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0));
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_SUCCESS, TP_SEG);
}

/* Every request finds a full queue, a bind too */
static void a_bind_without_requests(struct kunit *test)
{
	DAT_LMR_TRIPLET range = {};
	DAT_RMR_COOKIE cookie = {};
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE rmr;
	enum tp_call call;

	kdapl_clauses(test, "G-25");
	make_empty(test, DAT_EP_FIELD_REQUEST_EVD_HANDLE, 0);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(env->own.pz, &rmr), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	for (call = TP_SEND; call <= TP_READ; call++)
		TP_EXPECT_TYPE(test, tp_post_one(env, &ep, call, 1, 0),
			       DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, dat_rmr_bind(rmr, NULL, &range, DAT_MEM_PRIV_NONE_FLAG,
					  DAT_VA_TYPE_VA, ep.handle, cookie, 0, &key),
		       DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(rmr), DAT_SUCCESS);
}

/* ---- attributes of another endpoint ---------------------------------------------- */

/* A Consumer creates another EP with the attributes that a query returned */
static void the_queried_attributes_create_another(struct kunit *test)
{
	DAT_NAMED_ATTR vector = { .name = "kdapl.comp_vector", .value = "0" };
	DAT_EP_PARAM param, again;
	struct tp_ep other;
	DAT_EP_ATTR attr;
	u32 named;

	for (named = 0; named < 2; named++) {
		tp_attr(&attr);
		attr.ep_provider_specific_count = named;
		attr.ep_provider_specific = &vector;
		KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, named, &ep), DAT_SUCCESS);
		memset(&param, 0, sizeof(param));
		KUNIT_ASSERT_EQ(test, dat_ep_query(ep.handle, DAT_EP_FIELD_ALL, &param),
				DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, param.ep_attr.ep_provider_specific_count, 6 + named);
		KUNIT_EXPECT_EQ(test, tp_ep_create(env, &param.ep_attr, named, &other),
				DAT_SUCCESS);
		memset(&again, 0, sizeof(again));
		KUNIT_EXPECT_EQ(test, dat_ep_query(other.handle, DAT_EP_FIELD_ALL, &again),
				DAT_SUCCESS);
		/* Compare all but the array pointer: each EP has its own array */
		again.ep_attr.ep_provider_specific = param.ep_attr.ep_provider_specific;
		KUNIT_EXPECT_EQ(test, memcmp(&again.ep_attr, &param.ep_attr,
					     sizeof(param.ep_attr)), 0);
		KUNIT_EXPECT_EQ(test, other.ep->cfg.named.comp_vector,
				ep.ep->cfg.named.comp_vector);
		KUNIT_EXPECT_EQ(test, dat_ep_modify(other.handle,
						    DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
						    DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR,
						    &param), DAT_SUCCESS);
		tp_ep_free(&other);
		tp_ep_free(&ep);
	}
}

/* ---- suite -------------------------------------------------------------------------------- */

static int ep_state_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void ep_state_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case ep_state_cases[] = {
	KUNIT_CASE(C_01_complete_endpoint),
	KUNIT_CASE(C_05_C_06_reset_and_disconnect_of_an_unconnected_one),
	KUNIT_CASE(C_37_C_39_what_an_endpoint_lacks),
	KUNIT_CASE(C_38_modify_supplies_it),
	KUNIT_CASE(C_38_step_by_step),
	KUNIT_CASE(an_SRQ_endpoint_is_completed),
	KUNIT_CASE(C_32_to_C_35_disconnected),
	KUNIT_CASE(dup_connect_refusals),
	KUNIT_CASE(solicited_wait_without_receives),
	KUNIT_CASE(a_bind_without_requests),
	KUNIT_CASE(the_queried_attributes_create_another),
	{}
};

static struct kunit_suite ep_state_suite = {
	.name = "kdapl_ep_state",
	.init = ep_state_init,
	.exit = ep_state_exit,
	.test_cases = ep_state_cases,
};

kunit_test_suite(ep_state_suite);
