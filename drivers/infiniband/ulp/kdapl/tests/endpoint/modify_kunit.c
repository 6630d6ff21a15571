// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: dat_ep_modify, and endpoints that it completes.
 *
 * Each parameter in each state, each value that is refused, the effect of a success and that
 * a refusal has none (P5); an endpoint without zone or EVDs (C-37 to C-39).
 * modify_race_kunit.c tests refusals of the device and concurrent posts. Runs in a KUnit
 * thread; each test has its own device.
 */
#include "modify_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static void make_ep(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
}

static void refused(struct kunit *test, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param,
		    u32 type)
{
	mod_refused(test, env, &ep, mask, param, type);
}

/* ---- arguments and states -------------------------------------------------------- */

enum when {
	NEVER,		/* IA, state, addresses: in no state */
	QUIET,		/* UNCONNECTED only */
	ZONE,		/* UNCONNECTED and TENTATIVE */
	PENDING		/* those, RESERVED and PASSIVE */
};

static const struct {
	DAT_EP_PARAM_MASK mask;
	enum when when;
} fields[] = {
	{ DAT_EP_FIELD_IA_HANDLE, NEVER },
	{ DAT_EP_FIELD_EP_STATE, NEVER },
	{ DAT_EP_FIELD_COMM, NEVER },
	{ DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR, NEVER },
	{ DAT_EP_FIELD_LOCAL_PORT_QUAL, NEVER },
	{ DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR, NEVER },
	{ DAT_EP_FIELD_REMOTE_PORT_QUAL, NEVER },
	{ DAT_EP_FIELD_SRQ_HANDLE, NEVER },
	{ DAT_EP_FIELD_ALL + 1, NEVER },
	{ DAT_EP_FIELD_ALL, NEVER },
	{ DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, NEVER },
	{ DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR, NEVER },
	{ DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, NEVER },
	{ DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, NEVER },
	{ DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR |
	  DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR, QUIET },
	{ DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
	  DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, QUIET },
	{ DAT_EP_FIELD_EP_ATTR_ALL, QUIET },
	{ DAT_EP_FIELD_PZ_HANDLE, ZONE },
	{ DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_EP_ATTR_QOS, ZONE },
	{ DAT_EP_FIELD_RECV_EVD_HANDLE, PENDING },
	{ DAT_EP_FIELD_REQUEST_EVD_HANDLE, PENDING },
	{ DAT_EP_FIELD_CONNECT_EVD_HANDLE, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_QOS, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, PENDING },
	{ DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, PENDING },
};

static bool allowed(enum when when, DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return when >= QUIET;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return when >= ZONE;
	case DAT_EP_STATE_RESERVED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return when >= PENDING;
	default:
		return false;
	}
}

/* With the present values, so that only state and field matter */
static void each_field_in_each_state(struct kunit *test)
{
	DAT_EP_PARAM param;
	DAT_EP_STATE state;
	u32 i;

	make_ep(test);
	mod_query(test, &ep, &param);
	for (state = DAT_EP_STATE_UNCONNECTED; state <= DAT_EP_STATE_CONNECTED_MULTI_PATH;
	     state++) {
		/* Tested below; an EP with a QP is never in this state */
		if (state == DAT_EP_STATE_UNCONFIGURED_UNCONNECTED)
			continue;
		tp_set_state(&ep, state);
		for (i = 0; i < ARRAY_SIZE(fields); i++) {
			if (fields[i].when == NEVER)
				refused(test, fields[i].mask, &param, DAT_INVALID_PARAMETER);
			else if (!allowed(fields[i].when, state))
				refused(test, fields[i].mask, &param, DAT_INVALID_STATE);
			else
				KUNIT_EXPECT_EQ_MSG(test, dat_ep_modify(ep.handle, fields[i].mask,
									&param),
						    DAT_SUCCESS, "mask %#llx, state %u",
						    (u64)fields[i].mask, state);
		}
		/* An empty mask is correct in any state */
		KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, 0, &param), DAT_SUCCESS);
		refused(test, 0, NULL, DAT_INVALID_PARAMETER);
	}
	tp_set_state(&ep, DAT_EP_STATE_UNCONNECTED);
	TP_EXPECT_TYPE(test, dat_ep_modify(ep.recv_evd, 0, &param), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_ep_modify(NULL, ~0ULL, NULL), DAT_INVALID_HANDLE);
}

/* The values that a connection has agreed on are not parameters, and stay */
static void D_19_nothing_to_change_changes_nothing(struct kunit *test)
{
	struct ib_qp_attr agreed = { .max_rd_atomic = 0 };
	DAT_EP_PARAM param;

	kdapl_clauses(test, "D-19");
	make_ep(test);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	mutex_lock(&ep.ep->mutex);
	kdapl_cm_limit_send(ep.ep, &agreed);
	mutex_unlock(&ep.ep->mutex);
	mod_query(test, &ep, &param);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, 0, &param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, ep.ep->fast.max_reads_out, 0);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_READ, 1, 0), DAT_INSUFFICIENT_RESOURCES);
}

static void each_field_of_an_unconfigured_endpoint(struct kunit *test)
{
	DAT_EP_PARAM param;
	u32 i;

	kdapl_clauses(test, "C-37");
	mod_create_without(test, env, &ep, DAT_EP_FIELD_PZ_HANDLE);
	mod_query(test, &ep, &param);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].when == NEVER)
			refused(test, fields[i].mask, &param, DAT_INVALID_PARAMETER);
		else
			KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, fields[i].mask, &param),
					DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONFIGURED_UNCONNECTED);
	}
}

/* ---- values ---------------------------------------------------------------------- */

static void bad_attributes_change_nothing(struct kunit *test)
{
	DAT_NAMED_ATTR unknown = { "kdapl.unknown", "1" };
	DAT_NAMED_ATTR vector = { "kdapl.comp_vector", "9999" };
	DAT_EP_PARAM good, p;

	make_ep(test);
	mod_query(test, &ep, &good);
#define BAD(field, member, value, type)						\
	do {									\
		p = good;							\
		p.ep_attr.member = (value);					\
		/* Together with one that would be accepted */			\
		p.ep_attr.max_message_size = 17;				\
		p.ep_attr.max_recv_iov = 1;					\
		refused(test, DAT_EP_FIELD_EP_ATTR_##field, &p, type);		\
		refused(test, DAT_EP_FIELD_EP_ATTR_##field |			\
			DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |			\
			DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &p, type);		\
	} while (0)
	BAD(SERVICE_TYPE, service_type, 1, DAT_INVALID_PARAMETER);
	BAD(MAX_RDMA_SIZE, max_rdma_size, U32_MAX, DAT_INVALID_PARAMETER);
	BAD(QOS, qos, 3, DAT_INVALID_PARAMETER);
	BAD(QOS, qos, DAT_QOS_PREMIUM, DAT_MODEL_NOT_SUPPORTED);
	BAD(RECV_COMPLETION_FLAGS, recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG,
	    DAT_INVALID_PARAMETER);
	BAD(REQUEST_COMPLETION_FLAGS, request_completion_flags, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	    DAT_INVALID_PARAMETER);
	BAD(MAX_RECV_DTOS, max_recv_dtos, -1, DAT_INVALID_PARAMETER);
	BAD(MAX_RECV_DTOS, max_recv_dtos, 0, DAT_INVALID_PARAMETER);
	BAD(MAX_REQUEST_DTOS, max_request_dtos, INT_MAX, DAT_INVALID_PARAMETER);
	BAD(MAX_REQUEST_DTOS, max_request_dtos, 0, DAT_INVALID_PARAMETER);
	BAD(MAX_REQUEST_IOV, max_request_iov, FAKE_MAX_SGE + 1, DAT_INVALID_PARAMETER);
	BAD(MAX_RDMA_READ_IN, max_rdma_read_in, FAKE_MAX_RD_ATOM + 1, DAT_INVALID_PARAMETER);
	BAD(MAX_RDMA_READ_OUT, max_rdma_read_out, -1, DAT_INVALID_PARAMETER);
	BAD(MAX_RDMA_READ_IOV, max_rdma_read_iov, FAKE_MAX_SGE + 1, DAT_INVALID_PARAMETER);
	BAD(MAX_RDMA_WRITE_IOV, max_rdma_write_iov, -1, DAT_INVALID_PARAMETER);
	BAD(SRQ_SOFT_HW, srq_soft_hw, DAT_WATERMARK_INFINITE - 1, DAT_INVALID_PARAMETER);
#undef BAD
	p = good;
	p.ep_attr.max_message_size = U32_MAX;
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &p, DAT_INVALID_PARAMETER);
	p.ep_attr.max_recv_iov = FAKE_MAX_SGE + 1;
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &p, DAT_INVALID_PARAMETER);
	p.ep_attr.ep_transport_specific_count = 1;
	refused(test, DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR |
		DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR, &p, DAT_INVALID_PARAMETER);
	p.ep_attr.ep_provider_specific_count = 1;
	p.ep_attr.ep_provider_specific = &unknown;
	refused(test, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
		DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &p, DAT_INVALID_PARAMETER);
	p.ep_attr.ep_provider_specific = &vector;
	refused(test, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
		DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &p, DAT_INVALID_PARAMETER);
}

static void bad_handles_change_nothing(struct kunit *test)
{
	DAT_EP_PARAM p = {};

	make_ep(test);
	/* A handle of another type, an EVD without the stream, no handle */
	p.pz_handle = ep.recv_evd;
	refused(test, DAT_EP_FIELD_PZ_HANDLE, &p, DAT_INVALID_PARAMETER);
	p.recv_evd_handle = ep.connect_evd;
	refused(test, DAT_EP_FIELD_RECV_EVD_HANDLE, &p, DAT_INVALID_PARAMETER);
	p.request_evd_handle = ep.handle;
	refused(test, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &p, DAT_INVALID_PARAMETER);
	p.connect_evd_handle = ep.request_evd;
	refused(test, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &p, DAT_INVALID_PARAMETER);
	p.connect_evd_handle = (DAT_EVD_HANDLE)~0UL;
	refused(test, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &p, DAT_INVALID_PARAMETER);
	/* A configured EP cannot lose its parents */
	memset(&p, 0, sizeof(p));
	refused(test, DAT_EP_FIELD_PZ_HANDLE, &p, DAT_INVALID_PARAMETER);
	refused(test, DAT_EP_FIELD_RECV_EVD_HANDLE, &p, DAT_INVALID_PARAMETER);
	refused(test, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &p, DAT_INVALID_PARAMETER);
	/* It can only be connected with one, and a service point relies on that */
	tp_set_state(&ep, DAT_EP_STATE_RESERVED);
	refused(test, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &p, DAT_INVALID_PARAMETER);
	tp_set_state(&ep, DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &p),
			DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_ep_connect(ep.handle, (DAT_IA_ADDRESS_PTR)&env->ia->addr, 1, 1000,
					    0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		       DAT_INVALID_HANDLE);
}

/* Numbers can change while receives are outstanding */
static void limits_may_change_with_a_receive_outstanding(struct kunit *test)
{
	DAT_EP_PARAM_MASK mask = DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |
				 DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE |
				 DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN |
				 DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT |
				 DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS |
				 DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW;
	DAT_EP_PARAM p, after;
	struct tp_args args;
	struct ib_qp *qp;

	kdapl_clauses(test, "S-46 S-22");
	make_ep(test);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 5, 0), DAT_SUCCESS);
	qp = rcu_dereference_raw(ep.ep->fast.qp);
	mod_query(test, &ep, &p);
	p.ep_attr.max_message_size = TP_SEG;
	p.ep_attr.max_rdma_size = 2 * TP_SEG;
	p.ep_attr.max_rdma_read_in = 1;
	p.ep_attr.max_rdma_read_out = 2;
	p.ep_attr.srq_soft_hw = 7;
	p.ep_attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, mask, &p), DAT_SUCCESS);
	mod_query(test, &ep, &after);
	KUNIT_EXPECT_MEMEQ(test, &p, &after, sizeof(p));
	KUNIT_EXPECT_PTR_EQ(test, rcu_dereference_raw(ep.ep->fast.qp), qp);
	/* Changes that need a new QP cannot */
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &p, DAT_SUCCESS);
	p.ep_attr.max_recv_dtos--;
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &p, DAT_INVALID_STATE);
	p.ep_attr.max_request_dtos++;
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &p, DAT_INVALID_STATE);
	p.ep_attr.max_recv_iov--;
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &p, DAT_INVALID_STATE);
	p.ep_attr.max_request_iov--;
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, &p, DAT_INVALID_STATE);
	p.ep_attr.max_rdma_read_iov--;
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, &p, DAT_INVALID_STATE);
	p.ep_attr.max_rdma_write_iov--;
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, &p, DAT_INVALID_STATE);
	p.ep_attr.max_rdma_read_in = 0;
	refused(test, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, &p, DAT_INVALID_STATE);
	p.pz_handle = env->foreign.pz;
	refused(test, DAT_EP_FIELD_PZ_HANDLE, &p, DAT_INVALID_STATE);
	p.recv_evd_handle = ep.request_evd;
	refused(test, DAT_EP_FIELD_RECV_EVD_HANDLE, &p, DAT_INVALID_STATE);
	p.request_evd_handle = ep.recv_evd;
	refused(test, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &p, DAT_INVALID_STATE);

	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 9));
	tp_expect_dto(test, &ep, TP_RECV, 5, DAT_DTO_SUCCESS, 9);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, DAT_COMPLETION_UNSIGNALLED_FLAG),
			DAT_SUCCESS);
	tp_args(env, &ep, TP_SEND, &args);
	args.n = 2;
	TP_EXPECT_TYPE(test, tp_post(TP_SEND, &args), DAT_INVALID_PARAMETER);
	tp_args(env, &ep, TP_WRITE, &args);
	args.n = 2;
	KUNIT_EXPECT_EQ(test, tp_post(TP_WRITE, &args), DAT_SUCCESS);
	args.n = 3;
	TP_EXPECT_TYPE(test, tp_post(TP_WRITE, &args), DAT_INVALID_PARAMETER);
}

/* ---- new verbs objects ------------------------------------------------------------- */

static void depths_and_segments_are_those_requested(struct kunit *test)
{
	DAT_EP_PARAM_MASK iovs = DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV |
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV;
	DAT_EP_PARAM p, after;
	struct tp_args args;
	int live;

	kdapl_clauses(test, "G-25 R-23");
	make_ep(test);
	live = atomic_read(&env->fake->live);
	mod_query(test, &ep, &p);
	/* Larger, and smaller */
	KUNIT_EXPECT_EQ(test, mod_depths(&ep, 60, 40), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, mod_depths(&ep, 3, 5), DAT_SUCCESS);
	p.ep_attr.max_recv_iov = 1;
	p.ep_attr.max_request_iov = 6;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, iovs, &p), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
	KUNIT_EXPECT_EQ(test, mod_state(&ep), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->state, IB_QPS_INIT);
	p.ep_attr.max_recv_dtos = 3;
	p.ep_attr.max_request_dtos = 5;
	mod_query(test, &ep, &after);
	KUNIT_EXPECT_MEMEQ(test, &p, &after, sizeof(p));
	tp_args(env, &ep, TP_RECV, &args);
	args.n = 2;
	TP_EXPECT_TYPE(test, tp_post(TP_RECV, &args), DAT_INVALID_PARAMETER);
	mod_expect_recvs(test, env, &ep, 3);
	mod_expect_requests(test, env, &ep, 5);
	tp_args(env, &ep, TP_SEND, &args);
	args.n = 6;
	KUNIT_EXPECT_EQ(test, tp_post(TP_SEND, &args), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&ep)->sq)->num_sge, 6);
}

/* The peer may read, or may not (C-52) */
static void read_credits_decide_on_access(struct kunit *test)
{
	DAT_EP_PARAM p = {};

	kdapl_clauses(test, "C-52");
	make_ep(test);
	KUNIT_EXPECT_TRUE(test, tp_qp(&ep)->access_flags & IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, &p),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->access_flags, IB_ACCESS_REMOTE_WRITE);
	p.ep_attr.max_rdma_read_in = 2;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, &p),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->access_flags,
			IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
}

static void another_zone(struct kunit *test)
{
	DAT_EP_PARAM p = { .pz_handle = env->foreign.pz };
	struct tp_args args;

	kdapl_clauses(test, "R-38");
	make_ep(test);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_PZ_HANDLE, &p), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_PROTECTION_VIOLATION);
	tp_args(env, &ep, TP_RECV, &args);
	tp_seg(env, &args.segs[0], &env->foreign.rw, 0, TP_SEG);
	KUNIT_EXPECT_EQ(test, tp_post(TP_RECV, &args), DAT_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, tp_qp(&ep)->ibqp.pd, ep.ep->cfg.pz->pd);
	TP_EXPECT_TYPE(test, dat_pz_free(env->foreign.pz), DAT_INVALID_STATE);
}

/* The old ones can be freed, the new ones are in use and receive the events */
static void event_dispatchers_are_exchanged(struct kunit *test)
{
	struct tp_ep old, spare;
	DAT_EP_PARAM p;

	make_ep(test);
	old = ep;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &spare), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_free(spare.handle), DAT_SUCCESS);
	mod_parents(env, &spare, &p);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, MOD_ALL_PARENTS, &p), DAT_SUCCESS);
	ep.recv_evd = spare.recv_evd;
	ep.request_evd = spare.request_evd;
	ep.connect_evd = spare.connect_evd;
	KUNIT_EXPECT_EQ(test, dat_evd_free(old.recv_evd), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(old.request_evd), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(old.connect_evd), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_evd_free(ep.recv_evd), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_evd_free(ep.request_evd), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_evd_free(ep.connect_evd), DAT_INVALID_STATE);
	mod_expect_recvs(test, env, &ep, TP_DEPTH);
	mod_expect_requests(test, env, &ep, TP_DEPTH);
}

/* EPs on one EVD must have the same flags, before and after a change */
static void flags_of_a_shared_EVD(struct kunit *test)
{
	DAT_EP_PARAM_MASK recv = DAT_EP_FIELD_RECV_EVD_HANDLE;
	DAT_EP_PARAM_MASK flags = DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS;
	DAT_EVD_HANDLE own_evd;
	struct tp_ep other;
	DAT_EP_PARAM p = {};
	DAT_EP_ATTR attr;

	make_ep(test);
	own_evd = ep.recv_evd;
	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &other), DAT_SUCCESS);
	p.recv_evd_handle = other.recv_evd;
	refused(test, recv, &p, DAT_INVALID_PARAMETER);
	p.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, recv | flags, &p), DAT_SUCCESS);
	/* With two EPs, neither may change alone */
	p.ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	refused(test, flags, &p, DAT_INVALID_PARAMETER);
	p.recv_evd_handle = own_evd;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, recv | flags, &p), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(other.handle, flags, &p), DAT_SUCCESS);
	/* All counts are correct: each EVD has one EP, and then none */
	p.recv_evd_handle = other.recv_evd;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, recv, &p), DAT_SUCCESS);
	p.recv_evd_handle = own_evd;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, recv, &p), DAT_SUCCESS);
	tp_ep_free(&other);
}

static void solicited_wait_is_set_and_cleared(struct kunit *test)
{
	DAT_EP_PARAM_MASK flags = DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS;
	int live;
	DAT_EP_PARAM p = {
		.ep_attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};

	kdapl_clauses(test, "R-12");
	make_ep(test);
	live = atomic_read(&env->fake->live);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, flags, &p), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live + 1);
	KUNIT_ASSERT_NOT_NULL(test, ep.ep->queue.cq->recv);
	KUNIT_EXPECT_PTR_EQ(test, tp_qp(&ep)->ibqp.recv_cq, ep.ep->queue.cq->recv->cq);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 2, 0), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 5));
	KUNIT_EXPECT_TRUE(test, fake_complete_recv_solicited(tp_qp(&ep), 6));
	fake_settle(env->fake);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_SUCCESS, 5);
	tp_expect_dto(test, &ep, TP_RECV, 2, DAT_DTO_SUCCESS, 6);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	p.ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, flags, &p), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
	mod_expect_recvs(test, env, &ep, TP_DEPTH);
	mod_expect_requests(test, env, &ep, TP_DEPTH);
}

static void an_SRQ_endpoint_keeps_its_buffers(struct kunit *test)
{
	DAT_EP_PARAM p = { .pz_handle = env->foreign.pz };

	kdapl_clauses(test, "Q-06");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 1, 0), DAT_SUCCESS);
	refused(test, DAT_EP_FIELD_PZ_HANDLE, &p, DAT_INVALID_PARAMETER);
	/* The SRQ has its receives: any depth is accepted and ignored */
	KUNIT_EXPECT_EQ(test, mod_depths(&ep, 0, 7), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_outstanding(tp_queue(env, &ep, TP_SRQ)), 1);
	mod_expect_requests(test, env, &ep, 7);
	KUNIT_EXPECT_TRUE(test, tp_complete(env, &ep, TP_SRQ, IB_WC_SUCCESS, 4));
	tp_expect_dto(test, &ep, TP_SRQ, 1, DAT_DTO_SUCCESS, 4);
	KUNIT_EXPECT_EQ(test, atomic64_read(&env->srq->lost), 0);
}

/* ---- suite -------------------------------------------------------------------------------- */

static int modify_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void modify_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case modify_cases[] = {
	KUNIT_CASE(each_field_in_each_state),
	KUNIT_CASE(D_19_nothing_to_change_changes_nothing),
	KUNIT_CASE(each_field_of_an_unconfigured_endpoint),
	KUNIT_CASE(bad_attributes_change_nothing),
	KUNIT_CASE(bad_handles_change_nothing),
	KUNIT_CASE(limits_may_change_with_a_receive_outstanding),
	KUNIT_CASE(depths_and_segments_are_those_requested),
	KUNIT_CASE(read_credits_decide_on_access),
	KUNIT_CASE(another_zone),
	KUNIT_CASE(event_dispatchers_are_exchanged),
	KUNIT_CASE(flags_of_a_shared_EVD),
	KUNIT_CASE(solicited_wait_is_set_and_cleared),
	KUNIT_CASE(an_SRQ_endpoint_keeps_its_buffers),
	{}
};

static struct kunit_suite modify_suite = {
	.name = "kdapl_modify",
	.init = modify_init,
	.exit = modify_exit,
	.test_cases = modify_cases,
};

kunit_test_suite(modify_suite);
