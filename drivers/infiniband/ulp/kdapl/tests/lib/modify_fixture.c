// SPDX-License-Identifier: GPL-2.0
/*
 * Fixture of the suites for dat_ep_modify, see modify_kunit.h. Process context.
 */
#include "modify_kunit.h"

void mod_create_without(struct kunit *test, struct tp_env *env, struct tp_ep *ep,
			DAT_EP_PARAM_MASK lacks)
{
	struct kdapl_obj *obj;
	DAT_EP_ATTR attr;

	/* Provides the EVDs */
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_free(ep->handle), DAT_SUCCESS);
	ep->handle = NULL;
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_ep_create(kdapl_obj_handle(&env->ia->obj),
					    lacks & DAT_EP_FIELD_PZ_HANDLE ? NULL : env->own.pz,
					    lacks & DAT_EP_FIELD_RECV_EVD_HANDLE ? NULL :
					    ep->recv_evd,
					    lacks & DAT_EP_FIELD_REQUEST_EVD_HANDLE ? NULL :
					    ep->request_evd,
					    lacks & DAT_EP_FIELD_CONNECT_EVD_HANDLE ? NULL :
					    ep->connect_evd, &attr, &ep->handle), DAT_SUCCESS);
	obj = kdapl_obj_get(ep->handle, DAT_HANDLE_TYPE_EP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	ep->ep = to_kdapl_ep(obj);
	kdapl_obj_put(obj);
}

void mod_query(struct kunit *test, struct tp_ep *ep, DAT_EP_PARAM *param)
{
	memset(param, 0, sizeof(*param));
	KUNIT_ASSERT_EQ(test, dat_ep_query(ep->handle, DAT_EP_FIELD_ALL, param), DAT_SUCCESS);
	/* kdapl.first_error is returned, but cannot be set */
	param->ep_attr.ep_provider_specific_count = 0;
	param->ep_attr.ep_provider_specific = NULL;
}

void mod_parents(struct tp_env *env, struct tp_ep *ep, DAT_EP_PARAM *param)
{
	/* Parameters that are not selected must be ignored */
	memset(param, 0xa5, sizeof(*param));
	param->pz_handle = env->own.pz;
	param->recv_evd_handle = ep->recv_evd;
	param->request_evd_handle = ep->request_evd;
	param->connect_evd_handle = ep->connect_evd;
}

void mod_refused(struct kunit *test, struct tp_env *env, struct tp_ep *ep, DAT_EP_PARAM_MASK mask,
		 const DAT_EP_PARAM *param, u32 type)
{
	struct ib_qp *qp = rcu_dereference_raw(ep->ep->fast.qp);
	u32 recvs = kdapl_pool_free_count(&ep->ep->rq);
	u32 requests = kdapl_pool_free_count(&ep->ep->sq.pool);
	int live = atomic_read(&env->fake->live);
	void *base = ep->ep->rq.base;
	DAT_EP_PARAM before, after;

	mod_query(test, ep, &before);
	KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(dat_ep_modify(ep->handle, mask, param)), type,
			    "mask %#llx, state %u", (u64)mask, ep->ep->state);
	mod_query(test, ep, &after);
	KUNIT_EXPECT_MEMEQ(test, &before, &after, sizeof(before));
	KUNIT_EXPECT_PTR_EQ(test, rcu_dereference_raw(ep->ep->fast.qp), qp);
	KUNIT_EXPECT_PTR_EQ(test, ep->ep->rq.base, base);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep->ep->rq), recvs);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep->ep->sq.pool), requests);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
}

DAT_RETURN mod_depths(struct tp_ep *ep, DAT_COUNT recv, DAT_COUNT request)
{
	DAT_EP_PARAM param = {
		.ep_attr.max_recv_dtos = recv,
		.ep_attr.max_request_dtos = request,
	};

	return dat_ep_modify(ep->handle, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

static void expect_room(struct kunit *test, struct tp_env *env, struct tp_ep *ep,
			enum tp_call call, u32 depth)
{
	u32 i;

	for (i = 0; i < depth; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, ep, call, 1000 + i, 0), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, tp_post_one(env, ep, call, 9, 0), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, fake_outstanding(tp_queue(env, ep, call)), depth);
	KUNIT_EXPECT_EQ(test, env->fake->full, 0);
}

void mod_expect_recvs(struct kunit *test, struct tp_env *env, struct tp_ep *ep, u32 depth)
{
	expect_room(test, env, ep, TP_RECV, depth);
}

void mod_expect_requests(struct kunit *test, struct tp_env *env, struct tp_ep *ep, u32 depth)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, tp_connect(ep), 0);
	expect_room(test, env, ep, TP_SEND, depth);
	for (i = 0; i < depth; i++) {
		KUNIT_EXPECT_TRUE(test, tp_complete(env, ep, TP_SEND, IB_WC_SUCCESS, 0));
		tp_expect_dto(test, ep, TP_SEND, 1000 + i, DAT_DTO_SUCCESS, TP_SEG);
	}
	while (tp_complete(env, ep, TP_RECV, IB_WC_SUCCESS, 3))
		;
	for (i = 0; i < ep->ep->rq.depth && tp_events(ep->recv_evd); i++)
		tp_expect_dto(test, ep, TP_RECV, 1000 + i, DAT_DTO_SUCCESS, 3);
	KUNIT_EXPECT_EQ(test, env->fake->overruns, 0);
	KUNIT_EXPECT_EQ(test, tp_drain(ep), 0);
}
