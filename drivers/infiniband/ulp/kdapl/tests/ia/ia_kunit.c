// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: EVDs with an IA through the public calls, and device removal.
 *
 * Tests arguments, queries, frees, and calls that are refused inside an upcall; creation
 * that the device refuses; and removal, after which the IA is orphaned: all its events
 * were raised and it uses no verbs (C-31, C-57, C-58). Runs in a KUnit thread; each test
 * has its own device.
 */
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static DAT_IA_HANDLE ia_handle(void)
{
	return kdapl_obj_handle(&env->ia->obj);
}

static struct {
	atomic_t n;
	atomic_t on_stack;
	struct task_struct *caller;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_RETURN teardown;
	DAT_RETURN evd_free;
	DAT_RETURN ep_free;
	DAT_RETURN ep_reset;
	DAT_RETURN ia_close;
} seen;

static void count_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	if (READ_ONCE(seen.caller) == current && !in_serving_softirq())
		atomic_inc(&seen.on_stack);
	atomic_inc(&seen.n);
}

/* Makes all calls that would have to wait for this upcall */
static void freeing_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	seen.teardown = dat_evd_modify_upcall(seen.evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
					      DAT_UPCALL_INVOC_NEW);
	seen.evd_free = dat_evd_free(seen.evd);
	seen.ep_free = dat_ep_free(seen.ep);
	seen.ep_reset = dat_ep_reset(seen.ep);
	seen.ia_close = dat_ia_close(ia_handle(), DAT_CLOSE_ABRUPT_FLAG);
	atomic_inc(&seen.n);
}

static DAT_UPCALL_OBJECT upcall_object(DAT_UPCALL_FUNC func)
{
	return (DAT_UPCALL_OBJECT) { .instance_data = &seen, .upcall_func = func };
}

static DAT_RETURN evd_create(DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			     const DAT_UPCALL_OBJECT *upcall, u32 flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(ia_handle(), qlen, policy, upcall, flags, evd);
}

/* ---- EVDs ------------------------------------------------------------------------- */

static void evd_create_refuses_bad_arguments(struct kunit *test)
{
	DAT_UPCALL_OBJECT good = upcall_object(count_upcall), none = DAT_UPCALL_NULL;
	u32 dto = DAT_EVD_DTO_FLAG;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "E-01 E-06");
	TP_EXPECT_TYPE(test, dat_evd_kcreate(NULL, 8, DAT_UPCALL_DISABLE, NULL, dto, &evd),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, evd_create(0, DAT_UPCALL_DISABLE, NULL, dto, &evd),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, evd_create(-1, DAT_UPCALL_DISABLE, NULL, dto, &evd),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, evd_create(INT_MAX, DAT_UPCALL_DISABLE, NULL, dto, &evd),
		       DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, evd_create(8, 17, &good, dto, &evd), DAT_INVALID_PARAMETER);
	/* E-01 */
	TP_EXPECT_TYPE(test, evd_create(8, DAT_UPCALL_TEARDOWN, &good, dto, &evd),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, evd_create(8, DAT_UPCALL_MANY, &good, dto, &evd),
		       DAT_MODEL_NOT_SUPPORTED);
	/* E-06 */
	TP_EXPECT_TYPE(test, evd_create(8, DAT_UPCALL_SINGLE_INSTANCE, NULL, dto, &evd),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, evd_create(8, DAT_UPCALL_NOTIFY, &none, dto, &evd),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, evd_create(8, DAT_UPCALL_DISABLE, NULL, 0, &evd),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, evd_create(8, DAT_UPCALL_DISABLE, NULL, 0x200, &evd),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, evd_create(8, DAT_UPCALL_DISABLE, NULL, dto, NULL),
		       DAT_INVALID_PARAMETER);
}

static void E_44_query_returns_the_current_values(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = upcall_object(count_upcall);
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "E-44 E-11");
	KUNIT_ASSERT_EQ(test, evd_create(5, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					 DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &evd),
			DAT_SUCCESS);
	memset(&param, 0, sizeof(param));
	KUNIT_EXPECT_EQ(test, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, param.ia_handle, ia_handle());
	KUNIT_EXPECT_GE(test, param.evd_qlen, 5);
	KUNIT_EXPECT_EQ(test, param.upcall_policy, DAT_UPCALL_SINGLE_INSTANCE);
	KUNIT_EXPECT_TRUE(test, param.upcall.upcall_func == count_upcall);
	KUNIT_EXPECT_PTR_EQ(test, param.upcall.instance_data, &seen);
	KUNIT_EXPECT_EQ(test, param.evd_flags, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY, DAT_UPCALL_SAME,
						    DAT_UPCALL_INVOC_NEW), DAT_SUCCESS);
	/* Fields that are not selected are not changed */
	memset(&param, 0xa5, sizeof(param));
	KUNIT_EXPECT_EQ(test, dat_evd_query(evd, DAT_EVD_FIELD_UPCALL_POLICY, &param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.upcall_policy, DAT_UPCALL_NOTIFY);
	KUNIT_EXPECT_EQ(test, (u32)param.evd_qlen, 0xa5a5a5a5U);
	TP_EXPECT_TYPE(test, dat_evd_query(evd, 0x20, &param), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_evd_query(ia_handle(), DAT_EVD_FIELD_ALL, &param),
		       DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_evd_free(evd), DAT_INVALID_HANDLE);
}

static void modify_refuses_bad_arguments(struct kunit *test)
{
	DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "E-01 E-06");
	KUNIT_ASSERT_EQ(test, evd_create(5, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &evd),
			DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_evd_modify_upcall(NULL, DAT_UPCALL_DISABLE, NULL, 0),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_evd_modify_upcall(evd, 3, NULL, 0), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE, NULL, 2),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
						   0), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY, &none, 0),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_evd_modify_upcall(evd, DAT_UPCALL_MANY, NULL, 0),
		       DAT_MODEL_NOT_SUPPORTED);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, NULL, 0),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
}

static void E_30_E_45_an_EVD_and_its_users(struct kunit *test)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EP_HANDLE handle;
	DAT_EVD_HANDLE evd;
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "E-45");
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, evd_create(5, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
			DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	/* An EVD must have the flag of its stream, for each of the three arguments */
	TP_EXPECT_TYPE(test, dat_ep_create(ia_handle(), env->own.pz, evd, ep.request_evd,
					   ep.connect_evd, &attr, &handle), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_ep_create(ia_handle(), env->own.pz, ep.recv_evd, evd,
					   ep.connect_evd, &attr, &handle), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_ep_create(ia_handle(), env->own.pz, ep.recv_evd, ep.request_evd,
					   evd, &attr, &handle), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_evd_free(ep.recv_evd), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_evd_free(ep.request_evd), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_evd_free(ep.connect_evd), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_evd_free(kdapl_obj_handle(&env->ia->async_evd->obj)),
		       DAT_INVALID_STATE);
	/* E-46: queued events are discarded with the EVD */
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE);
}

static void flags_of_endpoints_on_one_EVD_must_agree(struct kunit *test)
{
	DAT_EP_HANDLE handle;
	DAT_EP_ATTR attr;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	TP_EXPECT_TYPE(test, dat_ep_create(ia_handle(), env->own.pz, ep.recv_evd, ep.request_evd,
					   ep.connect_evd, &attr, &handle), DAT_INVALID_PARAMETER);
	tp_attr(&attr);
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	TP_EXPECT_TYPE(test, dat_ep_create(ia_handle(), env->own.pz, ep.recv_evd, ep.request_evd,
					   ep.connect_evd, &attr, &handle), DAT_INVALID_PARAMETER);
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_ep_create(ia_handle(), env->own.pz, ep.recv_evd, ep.request_evd,
					    ep.connect_evd, &attr, &handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_free(handle), DAT_SUCCESS);
}

static void C_59_freeing_calls_in_the_upcall_are_refused(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = upcall_object(freeing_upcall);

	kdapl_clauses(test, "C-59");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	seen.evd = ep.request_evd;
	seen.ep = ep.handle;
	dat_evd_modify_upcall(ep.request_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_UPCALL_INVOC_NEW);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_ASSERT_EQ(test, atomic_read(&seen.n), 1);
	TP_EXPECT_TYPE(test, seen.teardown, DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, seen.evd_free, DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, seen.ep_free, DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, seen.ep_reset, DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, seen.ia_close, DAT_INVALID_STATE);
	/* The EP still works */
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	dat_evd_modify_upcall(ep.request_evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
}

/* The objects of these calls do not use the EVD whose upcall makes the calls */
static void C_59_freeing_calls_in_the_upcall_of_another_EVD_are_refused(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = upcall_object(freeing_upcall);
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE other;

	kdapl_clauses(test, "C-59");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	/* No object uses this EVD, so only the upcall can be the reason of a refusal */
	KUNIT_ASSERT_EQ(test, evd_create(8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG,
					 &seen.evd), DAT_SUCCESS);
	seen.ep = ep.handle;
	KUNIT_ASSERT_EQ(test, evd_create(8, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					 DAT_EVD_SOFTWARE_FLAG, &other), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_evd_post_se(other, &event), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, atomic_read(&seen.n), 1);
	KUNIT_EXPECT_EQ(test, seen.ep_reset,
			DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY));
	KUNIT_EXPECT_EQ(test, seen.ep_free,
			DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY));
	KUNIT_EXPECT_EQ(test, seen.evd_free,
			DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE));
	KUNIT_EXPECT_EQ(test, seen.teardown,
			DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE));
	KUNIT_EXPECT_EQ(test, seen.ia_close,
			DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE));
	/* The refused calls have changed nothing */
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(other), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(seen.evd), DAT_SUCCESS);
}

/* ---- creation that fails ------------------------------------------------------------- */

static void P5_endpoint_that_the_device_refuses(struct kunit *test)
{
	int live = atomic_read(&env->fake->live);
	int err[] = { -ENOMEM, -EINVAL };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(err); i++) {
		env->fake->fail_create = err[i];
		TP_EXPECT_TYPE(test, tp_ep_create(env, NULL, false, &ep),
			       DAT_INSUFFICIENT_RESOURCES);
		/* The failed EP does not use the EVDs any more, so they can be freed */
		tp_ep_free(&ep);
		KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
	}
	KUNIT_EXPECT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
}

static void C_52_remote_access_flags_follow_the_read_credits(struct kunit *test)
{
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "C-52");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->access_flags,
			IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->state, IB_QPS_INIT);
	tp_ep_free(&ep);
	tp_attr(&attr);
	attr.max_rdma_read_in = 0;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_qp(&ep)->access_flags, IB_ACCESS_REMOTE_WRITE);
}

/* ---- removal ---------------------------------------------------------------------------- */

static struct fake_qp *service_qp(DAT_PZ_HANDLE pz)
{
	struct kdapl_obj *obj = kdapl_obj_get(pz, DAT_HANDLE_TYPE_PZ);
	struct ib_qp *qp = to_kdapl_pz(obj)->qp;

	kdapl_obj_put(obj);
	return to_fake_qp(qp);
}

/* A peer that guesses the PSN could send to the QP */
static void a_service_QP_has_a_PSN_of_its_own(struct kunit *test)
{
	struct fake_qp *own = service_qp(env->own.pz), *foreign = service_qp(env->foreign.pz);

	KUNIT_EXPECT_EQ(test, own->sq_psn, own->rq_psn);
	KUNIT_EXPECT_EQ(test, foreign->sq_psn, foreign->rq_psn);
	KUNIT_EXPECT_LE(test, own->sq_psn, 0xffffff);
	/* They are equal by chance once in 16 million runs */
	KUNIT_EXPECT_NE(test, own->sq_psn, foreign->sq_psn);
}

static void C_31_removal_ends_the_connection_with_its_events(struct kunit *test)
{
	DAT_EVD_HANDLE async = kdapl_obj_handle(&env->ia->async_evd->obj);
	DAT_EVENT event;
	u64 i;

	kdapl_clauses(test, "C-31 C-41 C-57");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	for (i = 0; i < TP_DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	}
	fake_dev_unplug(env->fake);
	/* P8: no verbs object is left after device removal */
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	for (i = 0; i < TP_DEPTH; i++) {
		tp_expect_dto(test, &ep, TP_SEND, i, DAT_DTO_ERR_FLUSHED, 0);
		tp_expect_dto(test, &ep, TP_RECV, i, DAT_DTO_ERR_FLUSHED, 0);
	}
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(async, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.asynch_error_event_data.dat_handle,
			    ia_handle());
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
}

/* A peer that invalidates what it must not raises an event each time */
static void C_31_a_full_EVD_does_not_lose_IA_CATASTROPHIC(struct kunit *test)
{
	DAT_EVD_HANDLE async = kdapl_obj_handle(&env->ia->async_evd->obj);
	DAT_IA_HANDLE ia = ia_handle();
	u32 qlen = env->ia->async_evd->qlen, i;
	DAT_EVENT event;

	kdapl_clauses(test, "C-31 C-57 E-23");
	for (i = 0; i < 2 * qlen; i++)
		kdapl_ia_async(env->ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, ia,
			       DAT_LMR_OTHER_ERROR);
	fake_dev_unplug(env->fake);
	/* Its node is not part of the ring that is replaced */
	KUNIT_EXPECT_EQ(test, dat_evd_resize(async, 2 * qlen), DAT_SUCCESS);
	/* One of them is the overflow */
	for (i = 0; i <= qlen; i++)
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(async, &event), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(async, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.asynch_error_event_data.dat_handle, ia);
	KUNIT_EXPECT_EQ(test, tp_events(async), 0);
}

/* The event is queued on the EVD of an IA that stays, and the IA that contains it is closed */
static void C_31_IA_CATASTROPHIC_ends_with_its_IA(struct kunit *test)
{
	struct tp_env *other = tp_env_create();
	DAT_EVD_HANDLE async;
	struct kdapl_ia *ia;
	DAT_IA_HANDLE lost;
	DAT_EVENT event;
	u32 i;

	kdapl_clauses(test, "C-31");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	ia = other->ia;
	async = kdapl_obj_handle(&ia->async_evd->obj);
	mutex_lock(&kdapl_device_mutex);
	lost = NULL;
	if (!kdapl_ia_create(env->ia->dev, 1, (struct sockaddr *)&env->ia->addr, &init_net, 1,
			     ia->async_evd, &ia))
		lost = kdapl_obj_handle(&ia->obj);
	mutex_unlock(&kdapl_device_mutex);
	KUNIT_EXPECT_NOT_NULL(test, lost);
	/* One event before it, and one after it */
	for (i = 0; i < 2; i++) {
		kdapl_ia_async(other->ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, async,
			       DAT_LMR_OTHER_ERROR);
		if (!i)
			fake_dev_unplug(env->fake);
	}
	KUNIT_EXPECT_EQ(test, tp_events(async), 3);
	KUNIT_EXPECT_EQ(test, dat_ia_close(lost, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_events(async), 2);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(async, &event), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	}
	TP_EXPECT_TYPE(test, dat_evd_dequeue(async, &event), DAT_QUEUE_EMPTY);
	tp_env_destroy(other);
}

/* A post without segments, so that it needs no memory region */
static DAT_RETURN post_empty(enum tp_call call, u64 cookie, u32 flags)
{
	struct tp_args args;

	tp_args(env, &ep, call, &args);
	args.cookie.as_64 = cookie;
	args.flags = flags;
	args.n = 0;
	args.target.segment_length = 0;
	return tp_post(call, &args);
}

static void C_58_posts_on_an_orphan_are_flushed_in_software(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = upcall_object(count_upcall);
	u32 suppress = DAT_COMPLETION_SUPPRESS_FLAG;
	enum tp_call call;
	u64 i;

	kdapl_clauses(test, "C-35 C-58 E-08a");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	fake_dev_unplug(env->fake);
	tp_drain(&ep);
	for (call = 0; call < TP_SRQ; call++)
		for (i = 0; i < 3; i++)
			KUNIT_EXPECT_EQ(test, post_empty(call, i, call == TP_WRITE ? suppress : 0),
					DAT_SUCCESS);
	for (call = 0; call < TP_SRQ; call++)
		for (i = 0; i < 3; i++)
			tp_expect_dto(test, &ep, call, i, DAT_DTO_ERR_FLUSHED, 0);
	/* E-08a: the upcall does not run on the stack of the caller */
	dat_evd_modify_upcall(ep.request_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_UPCALL_INVOC_NEW);
	seen.caller = current;
	for (i = 0; i < TP_DEPTH; i++)
		KUNIT_EXPECT_EQ(test, post_empty(TP_SEND, i, 0), DAT_SUCCESS);
	seen.caller = NULL;
	flush_workqueue(kdapl_evd_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.on_stack), 0);
	dat_evd_modify_upcall(ep.request_evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	/* an SRQ accepts buffers that no EP will consume */
	KUNIT_EXPECT_EQ(test, post_empty(TP_SRQ, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(&ep.ep->rq), TP_DEPTH);
	kdapl_clauses(test, "C-58 Q-17");
}

/* The regions are unmapped, but their contexts stay valid until they are freed */
static void C_58_segments_on_an_orphan_are_still_known(struct kunit *test)
{
	enum tp_call call;

	kdapl_clauses(test, "C-58");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	fake_dev_unplug(env->fake);
	tp_drain(&ep);
	for (call = 0; call < TP_NCALLS; call++)
		KUNIT_EXPECT_EQ_MSG(test, tp_post_one(env, &ep, call, 1, 0), DAT_SUCCESS, "%s",
				    tp_call_name[call]);
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), TP_SRQ);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(env->own.rw.handle), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, tp_post_one(env, &ep, TP_SEND, 1, 0), DAT_PRIVILEGES_VIOLATION);
}

static void C_57_nothing_new_on_an_orphan(struct kunit *test)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_REGION_DESCRIPTION region = { .for_va = env->buf };
	DAT_RMR_CONTEXT key;
	DAT_LMR_CONTEXT context;
	DAT_VADDR address;
	DAT_VLEN length;
	DAT_HANDLE h;

	kdapl_clauses(test, "C-57");
	fake_dev_unplug(env->fake);
	TP_EXPECT_TYPE(test, dat_pz_create(ia_handle(), &h), DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, evd_create(8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &h),
		       DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, dat_srq_create(ia_handle(), env->own.pz, &srq_attr, &h),
		       DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, dat_ep_create(ia_handle(), env->own.pz, NULL, NULL, NULL, NULL, &h),
		       DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, dat_lmr_kcreate(ia_handle(), DAT_MEM_TYPE_VIRTUAL, region, TP_BUF,
					     env->own.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
					     DAT_MEM_OPTIMIZE_DONT_CARE, &h, &context, &key,
					     &length, &address), DAT_INSUFFICIENT_RESOURCES);
	/* Existing objects can be freed */
	KUNIT_EXPECT_EQ(test, dat_lmr_free(env->own.rw.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_srq_free(env->srq_handle), DAT_SUCCESS);
}

/* While none is open, deleted addresses of the system are ignored */
static void open_adapters_are_counted(struct kunit *test)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	int n = atomic_read(&kdapl_open_ias);
	DAT_IA_HANDLE ia;

	KUNIT_EXPECT_GT(test, n, 0);
	TP_EXPECT_TYPE(test, dat_ia_open("no such IA", 8, &async, &ia), DAT_PROVIDER_NOT_FOUND);
	KUNIT_EXPECT_EQ(test, atomic_read(&kdapl_open_ias), n);
	fake_dev_unplug(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&kdapl_open_ias), n - 1);
	KUNIT_EXPECT_EQ(test, dat_ia_close(ia_handle(), DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	env->ia = NULL;
	KUNIT_EXPECT_EQ(test, atomic_read(&kdapl_open_ias), n - 1);
}

/* ---- suite --------------------------------------------------------------------------------- */

static int ia_init(struct kunit *test)
{
	memset(&seen, 0, sizeof(seen));
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void ia_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case ia_cases[] = {
	KUNIT_CASE(evd_create_refuses_bad_arguments),
	KUNIT_CASE(E_44_query_returns_the_current_values),
	KUNIT_CASE(modify_refuses_bad_arguments),
	KUNIT_CASE(E_30_E_45_an_EVD_and_its_users),
	KUNIT_CASE(flags_of_endpoints_on_one_EVD_must_agree),
	KUNIT_CASE(C_59_freeing_calls_in_the_upcall_are_refused),
	KUNIT_CASE(C_59_freeing_calls_in_the_upcall_of_another_EVD_are_refused),
	KUNIT_CASE(P5_endpoint_that_the_device_refuses),
	KUNIT_CASE(C_52_remote_access_flags_follow_the_read_credits),
	KUNIT_CASE(a_service_QP_has_a_PSN_of_its_own),
	KUNIT_CASE(C_31_removal_ends_the_connection_with_its_events),
	KUNIT_CASE(C_31_a_full_EVD_does_not_lose_IA_CATASTROPHIC),
	KUNIT_CASE(C_31_IA_CATASTROPHIC_ends_with_its_IA),
	KUNIT_CASE(C_58_posts_on_an_orphan_are_flushed_in_software),
	KUNIT_CASE(C_58_segments_on_an_orphan_are_still_known),
	KUNIT_CASE(C_57_nothing_new_on_an_orphan),
	KUNIT_CASE(open_adapters_are_counted),
	{}
};

static struct kunit_suite ia_suite = {
	.name = "kdapl_ia",
	.init = ia_init,
	.exit = ia_exit,
	.test_cases = ia_cases,
};

kunit_test_suite(ia_suite);
