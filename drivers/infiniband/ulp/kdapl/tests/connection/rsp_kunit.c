// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: reserved service points, and the endpoint that belongs to one.
 *
 * Each error return of the calls; the states of the EP from the reservation to the answer,
 * and its refusals in these states; every order of destruction: the RSP, the request, the
 * device or the IA first. Runs in a KUnit thread; each test has its own device.
 */
#include "fail_alloc.h"
#include "sp_kunit.h"

static void post_receives(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tp_post_one(sp_env, &sp_ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(sp_env, &sp_ep, TP_RECV, 2, 0), DAT_SUCCESS);
}

/* Two receives are outstanding */
static void expect_receives(struct kunit *test, u32 n)
{
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&sp_ep)->rq), n);
	KUNIT_EXPECT_EQ(test, tp_events(sp_ep.recv_evd), 0);
}

/* C-09: the calls that a reserved EP refuses, and those that it accepts */
static void expect_held(struct kunit *test, DAT_EP_STATE state)
{
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(1) };
	DAT_RSP_HANDLE rsp;

	KUNIT_EXPECT_EQ(test, sp_state(), state);
	TP_EXPECT_TYPE(test, dat_ep_free(sp_ep.handle), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_ep_reset(sp_ep.handle), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_ep_disconnect(sp_ep.handle, DAT_CLOSE_ABRUPT_FLAG),
		       DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_ep_disconnect(sp_ep.handle, DAT_CLOSE_GRACEFUL_FLAG),
		       DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_ep_connect(sp_ep.handle, (struct sockaddr *)&peer, 1, 1000, 0,
					    NULL, DAT_QOS_BEST_EFFORT, 0), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), 9, sp_ep.handle, sp_evd, &rsp),
		       DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, tp_post_one(sp_env, &sp_ep, TP_SEND, 9, 0), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, sp_state(), state);
}

/* ---- what the calls refuse ------------------------------------------------------- */

static void E_30_an_RSP_wants_an_EVD_for_requests(struct kunit *test)
{
	DAT_EVD_HANDLE evd = sp_evd;
	DAT_EP_HANDLE ep = sp_ep.handle, mute;
	DAT_RSP_HANDLE rsp;
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "E-30");
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_ep_create(sp_ia(), sp_env->own.pz, sp_ep.recv_evd,
					    sp_ep.request_evd, NULL, &attr, &mute), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_rsp_create(NULL, SP_QUAL, ep, evd, &rsp), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, NULL, evd, &rsp),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, evd, evd, &rsp), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, mute, evd, &rsp),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, ep, NULL, &rsp), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, ep, sp_ep.connect_evd, &rsp),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, ep, evd, NULL),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), 0, ep, evd, &rsp), DAT_INVALID_PARAMETER);
	/* No port of the fake device has an address */
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, ep, evd, &rsp),
		       DAT_INSUFFICIENT_RESOURCES);
	/* None of them has changed the EP or the EVD */
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_free(mute), DAT_SUCCESS);
	tp_ep_free(&sp_ep);
}

static void C_34_C_39_an_RSP_wants_an_unconnected_EP(struct kunit *test)
{
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE raw;
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "C-34 C-39");
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_ep_create(sp_ia(), NULL, sp_ep.recv_evd, sp_ep.request_evd,
					    sp_ep.connect_evd, &attr, &raw), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, raw, sp_evd, &rsp),
		       DAT_INVALID_STATE);
	KUNIT_ASSERT_EQ(test, tp_connect(&sp_ep), 0);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, sp_ep.handle, sp_evd, &rsp),
		       DAT_INVALID_STATE);
	dat_ep_disconnect(sp_ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(sp_env->fake);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_DISCONNECTED);
	TP_EXPECT_TYPE(test, dat_rsp_create(sp_ia(), SP_QUAL, sp_ep.handle, sp_evd, &rsp),
		       DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_DISCONNECTED);
}

/* The request stays pending, and a configured endpoint can still accept it */
static void C_39_an_unconfigured_EP_accepts_nothing(struct kunit *test)
{
	struct kdapl_sp *psp = sp_make(test, sp_evd, SP_QUAL, NULL);
	DAT_EP_HANDLE raw[2];
	DAT_EP_STATE state;
	DAT_CR_HANDLE cr;
	DAT_EP_ATTR attr;
	u32 i;

	kdapl_clauses(test, "C-39");
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_ep_create(sp_ia(), NULL, sp_ep.recv_evd, sp_ep.request_evd,
					    sp_ep.connect_evd, &attr, &raw[0]), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_create(sp_ia(), sp_env->own.pz, NULL, sp_ep.request_evd,
					    sp_ep.connect_evd, &attr, &raw[1]), DAT_SUCCESS);
	KUNIT_ASSERT_TRUE(test, sp_request(psp, 0x11));
	cr = sp_announced(test, sp_evd, psp);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, dat_cr_accept(cr, raw[i], 0, NULL),
				DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
		KUNIT_EXPECT_EQ(test, dat_ep_get_status(raw[i], &state, NULL, NULL), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, state, DAT_EP_STATE_UNCONFIGURED_UNCONNECTED);
	}
	KUNIT_EXPECT_EQ(test, tp_events(sp_ep.connect_evd), 0);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
}

static void query_of_an_RSP(struct kunit *test)
{
	struct kdapl_sp *rsp = sp_make(test, sp_evd, SP_QUAL, &sp_ep);
	DAT_RSP_PARAM param;

	memset(&param, 0x5a, sizeof(param));
	TP_EXPECT_TYPE(test, dat_rsp_query(sp_evd, DAT_RSP_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_rsp_query(sp_handle(rsp), DAT_RSP_FIELD_ALL + 1, &param),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_rsp_query(sp_handle(rsp), DAT_RSP_FIELD_ALL, NULL),
		       DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_NULL(test, memchr_inv(&param, 0x5a, sizeof(param)));
	KUNIT_EXPECT_EQ(test, dat_rsp_query(sp_handle(rsp), DAT_RSP_FIELD_EP_HANDLE, &param),
			DAT_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, param.ep_handle, sp_ep.handle);
	KUNIT_EXPECT_PTR_NE(test, param.evd_handle, sp_evd);
	KUNIT_EXPECT_EQ(test, dat_rsp_query(sp_handle(rsp), DAT_RSP_FIELD_ALL, &param),
			DAT_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, param.ia_handle, sp_ia());
	KUNIT_EXPECT_PTR_EQ(test, param.evd_handle, sp_evd);
	KUNIT_EXPECT_EQ(test, param.conn_qual, SP_QUAL);
	TP_EXPECT_TYPE(test, dat_psp_free(sp_handle(rsp)), DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(rsp)), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_rsp_free(sp_handle(rsp)), DAT_INVALID_HANDLE);
}

/* ---- from the reservation to the answer ------------------------------------------- */

static void C_03_C_08_reserved_and_given_back(struct kunit *test)
{
	struct kdapl_sp *rsp;
	u32 i;

	kdapl_clauses(test, "C-03 C-08 C-09 R-23");
	post_receives(test);
	for (i = 0; i < 3; i++) {
		rsp = sp_make(test, sp_evd, SP_QUAL, &sp_ep);
		expect_held(test, DAT_EP_STATE_RESERVED);
		KUNIT_EXPECT_EQ(test, tp_post_one(sp_env, &sp_ep, TP_RECV, 3, 0), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(rsp)), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_UNCONNECTED);
		expect_receives(test, 3 + i);
	}
	KUNIT_EXPECT_EQ(test, tp_events(sp_ep.connect_evd), 0);
}

static void C_07_C_11_called_and_rejected(struct kunit *test)
{
	struct kdapl_sp *rsp = sp_make(test, sp_evd, SP_QUAL, &sp_ep), *again;
	DAT_CR_PARAM param = {};
	DAT_CR_HANDLE cr;

	kdapl_clauses(test, "C-07 C-09 C-11 C-12");
	post_receives(test);
	KUNIT_ASSERT_TRUE(test, sp_request(rsp, 0x77));
	expect_held(test, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	/* It accepts only one request, which it has had */
	KUNIT_EXPECT_FALSE(test, sp_request(rsp, 0x78));
	cr = sp_announced(test, sp_evd, rsp);
	KUNIT_EXPECT_FALSE(test, sp_request(rsp, 0x78));
	KUNIT_EXPECT_NULL(test, kdapl_sp_find(sp_env->ia, SP_QUAL));
	KUNIT_EXPECT_EQ(test, dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param), DAT_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, param.local_ep_handle, sp_ep.handle);
	/* The used RSP is only a handle: its EP belongs to the request */
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(rsp)), DAT_SUCCESS);
	expect_held(test, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	/* The peer withdraws; nothing changes before the answer */
	sp_withdraw(sp_cr(cr));
	fake_settle(sp_env->fake);
	expect_held(test, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	TP_EXPECT_TYPE(test, dat_cr_reject(cr, 1, NULL), DAT_INVALID_PARAMETER);
	expect_held(test, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_UNCONNECTED);
	expect_receives(test, 2);

	/* And the first one cannot affect the EP of the second */
	again = sp_make(test, sp_evd, SP_QUAL, &sp_ep);
	TP_EXPECT_TYPE(test, dat_rsp_free(sp_handle(rsp)), DAT_INVALID_HANDLE);
	expect_held(test, DAT_EP_STATE_RESERVED);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(again)), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_UNCONNECTED);
}

/* A used RSP that was not freed does not affect the next one of the EP */
static void a_used_RSP_does_not_affect_the_next_one(struct kunit *test)
{
	struct kdapl_sp *rsp = sp_make(test, sp_evd, 1, &sp_ep), *again;

	kdapl_clauses(test, "C-08");
	KUNIT_ASSERT_TRUE(test, sp_request(rsp, 0));
	KUNIT_EXPECT_EQ(test, dat_cr_reject(sp_announced(test, sp_evd, rsp), 0, NULL),
			DAT_SUCCESS);
	again = sp_make(test, sp_evd, 2, &sp_ep);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(rsp)), DAT_SUCCESS);
	expect_held(test, DAT_EP_STATE_RESERVED);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(again)), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_UNCONNECTED);
}

static void C_10_accepted_without_naming_the_EP(struct kunit *test)
{
	struct kdapl_sp *psp = sp_make(test, sp_evd, 1, NULL);
	struct kdapl_sp *rsp = sp_make(test, sp_evd, 2, &sp_ep);
	DAT_EVENT event = {};
	DAT_CR_HANDLE cr, plain;
	u8 data[4] = {};
	u64 i;

	kdapl_clauses(test, "C-10 C-12 C-16 C-40");
	post_receives(test);
	KUNIT_ASSERT_TRUE(test, sp_request(psp, 0));
	plain = sp_announced(test, sp_evd, psp);
	KUNIT_ASSERT_TRUE(test, sp_request(rsp, 0));
	cr = sp_announced(test, sp_evd, rsp);
	TP_EXPECT_TYPE(test, dat_cr_accept(NULL, NULL, 0, NULL), DAT_INVALID_HANDLE);
	/* One has its EP, the other needs an EP that is not reserved */
	TP_EXPECT_TYPE(test, dat_cr_accept(cr, sp_ep.handle, 0, NULL), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_cr_accept(plain, NULL, 0, NULL), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_cr_accept(plain, sp_ep.handle, 0, NULL), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_cr_accept(cr, NULL, 1, NULL), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_cr_accept(cr, NULL, KDAPL_REPLY_PRIVATE + 1, data),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_cr_accept(cr, NULL, -1, data), DAT_INVALID_PARAMETER);
	expect_held(test, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);

	/* The connection manager refuses the id, as if the peer had withdrawn */
	sp_cr(cr)->id->device = &sp_env->fake->ibdev;
	sp_cr(cr)->id->port_num = 1;
	KUNIT_EXPECT_EQ(test, dat_cr_accept(cr, NULL, 0, NULL), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_cr_accept(cr, NULL, 0, NULL), DAT_INVALID_HANDLE);
	fake_settle(sp_env->fake);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_DISCONNECTED);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(sp_ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(sp_ep.connect_evd, &event), DAT_QUEUE_EMPTY);
	for (i = 1; i <= 2; i++)
		tp_expect_dto(test, &sp_ep, TP_RECV, i, DAT_DTO_ERR_FLUSHED, 0);
	/* The EP is free again, whatever happens to the RSP */
	KUNIT_EXPECT_EQ(test, dat_ep_reset(sp_ep.handle), DAT_SUCCESS);
	rsp = sp_make(test, sp_evd, 3, &sp_ep);
	expect_held(test, DAT_EP_STATE_RESERVED);
}

static void C_10_an_accept_without_memory_changes_nothing(struct kunit *test)
{
	struct kdapl_sp *rsp = sp_make(test, sp_evd, 1, &sp_ep);
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;
	bool fails;

	KUNIT_ASSERT_TRUE(test, sp_request(rsp, 0));
	cr = sp_announced(test, sp_evd, rsp);
	kdapl_fail_allocations(true);
	fails = kdapl_slab_fails(GFP_KERNEL);
	ret = fails ? dat_cr_accept(cr, NULL, 0, NULL) : DAT_SUCCESS;
	kdapl_fail_allocations(false);
	if (fails) {
		TP_EXPECT_TYPE(test, ret, DAT_INSUFFICIENT_RESOURCES);
		expect_held(test, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	}
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	if (!fails)
		kunit_skip(test, "the kernel has no fault injection for allocations");
	kdapl_clauses(test, "C-10");
}

/* ---- ends --------------------------------------------------------------------------- */

/* The device is removed with one EP reserved and one with a request */
static void C_57_removal_ends_what_an_RSP_holds(struct kunit *test)
{
	struct kdapl_sp *rsp[2];
	struct tp_ep other;
	DAT_CR_HANDLE cr;
	DAT_EP_STATE state;

	kdapl_clauses(test, "C-57 C-09");
	KUNIT_ASSERT_EQ(test, tp_ep_create(sp_env, NULL, false, &other), DAT_SUCCESS);
	rsp[0] = sp_make(test, sp_evd, 1, &sp_ep);
	rsp[1] = sp_make(test, sp_evd, 2, &other);
	post_receives(test);
	KUNIT_ASSERT_TRUE(test, sp_request(rsp[1], 0));
	fake_dev_unplug(sp_env->fake);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_DISCONNECTED);
	dat_ep_get_status(other.handle, &state, NULL, NULL);
	KUNIT_EXPECT_EQ(test, state, DAT_EP_STATE_DISCONNECTED);
	tp_expect_dto(test, &sp_ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &sp_ep, TP_RECV, 2, DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, tp_events(sp_ep.connect_evd) + tp_events(other.connect_evd), 0);
	cr = sp_announced(test, sp_evd, rsp[1]);
	TP_EXPECT_TYPE(test, dat_cr_accept(cr, NULL, 0, NULL), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(rsp[0])), DAT_SUCCESS);
	/* It stays DISCONNECTED: an orphaned EP cannot be reset */
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_DISCONNECTED);
	tp_ep_free(&sp_ep);
	tp_ep_free(&other);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(rsp[1])), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(sp_evd), DAT_SUCCESS);
}

static void P8_close_frees_all_objects(struct kunit *test)
{
	struct kdapl_sp *rsp;
	struct tp_ep other;

	KUNIT_ASSERT_EQ(test, tp_ep_create(sp_env, NULL, false, &other), DAT_SUCCESS);
	sp_make(test, sp_evd, 1, &sp_ep);
	rsp = sp_make(test, sp_evd, 2, &other);
	KUNIT_ASSERT_TRUE(test, sp_request(rsp, 0));
	TP_EXPECT_TYPE(test, dat_ia_close(sp_ia(), DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, dat_ia_close(sp_ia(), DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	sp_env->ia = NULL;
	TP_EXPECT_TYPE(test, dat_ep_free(sp_ep.handle), DAT_INVALID_HANDLE);
}

/* A request that arrives while its service point, or its IA, is destroyed */
static void a_request_too_late_is_refused(struct kunit *test)
{
	struct kdapl_sp *rsp = sp_make(test, sp_evd, SP_QUAL, &sp_ep);

	kdapl_clauses(test, "C-08 C-20");
	kdapl_sp_unlisten(rsp);
	KUNIT_EXPECT_FALSE(test, sp_request(rsp, 0));
	KUNIT_EXPECT_EQ(test, atomic_read(&rsp->refused[KDAPL_REFUSED_LATE]), 1);
	KUNIT_EXPECT_STREQ(test, kdapl_sp_state(rsp), "spent");
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_RESERVED);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(rsp)), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_UNCONNECTED);

	rsp = sp_make(test, sp_evd, SP_QUAL, &sp_ep);
	down_write(&sp_env->ia->sem);
	sp_env->ia->closing = true;
	up_write(&sp_env->ia->sem);
	KUNIT_EXPECT_TRUE(test, sp_request(rsp, 0));
	KUNIT_EXPECT_EQ(test, tp_events(sp_evd), 0);
	KUNIT_EXPECT_EQ(test, rsp->ncr, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&rsp->refused[KDAPL_REFUSED_LATE]), 1);
	down_write(&sp_env->ia->sem);
	sp_env->ia->closing = false;
	up_write(&sp_env->ia->sem);
	/* It had no event, so the RSP still listens for the next one */
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_RESERVED);
	KUNIT_EXPECT_TRUE(test, sp_request(rsp, 1));
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
}

/* ---- suite ----------------------------------------------------------------------------- */

static struct kunit_case rsp_cases[] = {
	KUNIT_CASE(E_30_an_RSP_wants_an_EVD_for_requests),
	KUNIT_CASE(C_34_C_39_an_RSP_wants_an_unconnected_EP),
	KUNIT_CASE(C_39_an_unconfigured_EP_accepts_nothing),
	KUNIT_CASE(query_of_an_RSP),
	KUNIT_CASE(C_03_C_08_reserved_and_given_back),
	KUNIT_CASE(C_07_C_11_called_and_rejected),
	KUNIT_CASE(a_used_RSP_does_not_affect_the_next_one),
	KUNIT_CASE(C_10_accepted_without_naming_the_EP),
	KUNIT_CASE(C_10_an_accept_without_memory_changes_nothing),
	KUNIT_CASE(C_57_removal_ends_what_an_RSP_holds),
	KUNIT_CASE(P8_close_frees_all_objects),
	KUNIT_CASE(a_request_too_late_is_refused),
	{}
};

static struct kunit_suite rsp_suite = {
	.name = "kdapl_rsp",
	.init = sp_init,
	.exit = sp_exit,
	.test_cases = rsp_cases,
};

kunit_test_suite(rsp_suite);
