// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: streams on one EVD and on several, and calls in an upcall.
 *
 * The EVDs that an endpoint accepts; two endpoints and all their streams on one EVD,
 * each stream in its order; ESTABLISHED, messages and the end on one EVD and on
 * different ones; posting, dequeuing and changing the policy in the upcall of the same
 * EVD. Runs in a KUnit thread; each test has its own device.
 */
#include "clause.h"
#include "post_kunit.h"

#define STREAMS	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | \
		 DAT_EVD_CR_FLAG | DAT_EVD_RMR_BIND_FLAG)

static struct tp_env *env;
static struct tp_ep ep[2];
static DAT_EVD_HANDLE evd;	/* of all streams */

static DAT_IA_HANDLE ia_handle(void)
{
	return kdapl_obj_handle(&env->ia->obj);
}

/* An endpoint whose events all go to @evd; its own handles are not used */
static void make_merged(struct kunit *test, struct tp_ep *tep)
{
	struct kdapl_obj *obj;
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_ep_create(ia_handle(), env->own.pz, evd, evd, evd, &attr,
					    &tep->handle), DAT_SUCCESS);
	obj = kdapl_obj_get(tep->handle, DAT_HANDLE_TYPE_EP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	tep->ep = to_kdapl_ep(obj);
	kdapl_obj_put(obj);
}

static void make_evd(struct kunit *test, const DAT_UPCALL_OBJECT *upcall)
{
	DAT_UPCALL_POLICY policy = upcall ? DAT_UPCALL_SINGLE_INSTANCE : DAT_UPCALL_DISABLE;

	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia_handle(), 8, policy, upcall, STREAMS, &evd),
			DAT_SUCCESS);
}

/* ---- which EVDs ------------------------------------------------------------------ */

static void E_30_an_EVD_takes_the_streams_of_its_flags(struct kunit *test)
{
	static const u32 stream[] = {
		DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG,
		DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
	};
	DAT_EVD_HANDLE one;
	DAT_EP_ATTR attr;
	DAT_HANDLE h;
	u32 i, place;

	kdapl_clauses(test, "E-30");
	make_evd(test, NULL);
	tp_attr(&attr);
	for (i = 0; i < ARRAY_SIZE(stream); i++) {
		bool dto = stream[i] == DAT_EVD_DTO_FLAG;
		bool conn = stream[i] == DAT_EVD_CONNECTION_FLAG;

		KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia_handle(), 1, DAT_UPCALL_DISABLE, NULL,
						      stream[i], &one), DAT_SUCCESS);
		/* Receives, requests, connection */
		for (place = 0; place < 3; place++) {
			DAT_RETURN ret = dat_ep_create(ia_handle(), env->own.pz,
						       place == 0 ? one : evd,
						       place == 1 ? one : evd,
						       place == 2 ? one : evd, &attr, &h);

			TP_EXPECT_TYPE(test, ret, (place == 2 ? conn : dto) ? DAT_SUCCESS :
							DAT_INVALID_HANDLE);
			if (ret == DAT_SUCCESS)
				KUNIT_EXPECT_EQ(test, dat_ep_free(h), DAT_SUCCESS);
		}
		if (stream[i] != DAT_EVD_CR_FLAG)
			TP_EXPECT_TYPE(test, dat_psp_create(ia_handle(), 5000, one,
							    DAT_PSP_CONSUMER_FLAG, &h),
				       DAT_INVALID_HANDLE);
		KUNIT_EXPECT_EQ(test, dat_evd_free(one), DAT_SUCCESS);
	}
}

static void E_32_the_default_is_all_streams_but_software(struct kunit *test)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_PARAM param = {};
	struct kdapl_obj *obj;
	DAT_EVD_HANDLE one;

	kdapl_clauses(test, "E-32 E-33");
	TP_EXPECT_TYPE(test, dat_evd_kcreate(ia_handle(), 2, DAT_UPCALL_DISABLE, NULL,
					     DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG, &one),
		       DAT_INVALID_PARAMETER);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia_handle(), 2, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DEFAULT_FLAG, &evd), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_query(evd, DAT_EVD_FIELD_EVD_FLAGS, &param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.evd_flags, DAT_EVD_DEFAULT_FLAG);
	TP_EXPECT_TYPE(test, dat_evd_post_se(evd, &event), DAT_INVALID_PARAMETER);
	/* A connection event, an error and a completion, in this order */
	make_merged(test, &ep[0]);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep[0], false));
	KUNIT_ASSERT_TRUE(test, kdapl_ep_enter_connected(ep[0].ep));
	obj = kdapl_obj_get(evd, DAT_HANDLE_TYPE_EVD);
	kdapl_evd_post_async(to_kdapl_evd(obj), DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
			     env->srq_handle, DAT_SRQ_OTHER_ERROR);
	kdapl_obj_put(obj);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep[0], TP_SEND, 1, 0), DAT_SUCCESS);
	tp_complete(env, &ep[0], TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.asynch_error_event_data.dat_handle,
			    env->srq_handle);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_DTO_COMPLETION_EVENT);
}

/* ---- order ------------------------------------------------------------------------ */

/* The events of each endpoint, in the order of their arrival */
static struct {
	u32 n;
	u64 request[2];		/* last cookie of each endpoint */
	u64 recv[2];
	u64 soft;
	u32 conn[2];		/* connection events of each endpoint */
	u32 wrong;
} came;

static u32 owner(DAT_EP_HANDLE handle)
{
	return handle == ep[1].handle;
}

static void came_dto(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u32 who = owner(dto->ep_handle);
	u64 *last = dto->operation == DAT_DTO_RECEIVE ? &came.recv[who] : &came.request[who];

	came.wrong += dto->user_cookie.as_64 != *last + 1;
	*last = dto->user_cookie.as_64;
	/* On any stream, nothing succeeds before ESTABLISHED or after the end */
	came.wrong += dto->status == DAT_DTO_SUCCESS && came.conn[who] != 1;
}

static void came_event(const DAT_EVENT *event)
{
	const DAT_EVENT_DATA *data = &event->event_data;

	came.n++;
	came.wrong += event->evd_handle != evd;
	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		came_dto(&data->dto_completion_event_data);
		break;
	case DAT_SOFTWARE_EVENT:
		came.wrong += (unsigned long)data->software_event_data.pointer != came.soft + 1;
		came.soft++;
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		came.wrong += came.conn[owner(data->connect_event_data.ep_handle)]++ != 0;
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		came.wrong += came.conn[owner(data->connect_event_data.ep_handle)]++ != 1;
		break;
	default:
		came.wrong++;
	}
}

static void came_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	came_event(event);
}

/* Both endpoints: a receive that is filled too early, messages, requests, the end */
static void live(struct kunit *test)
{
	DAT_EVENT soft = { .event_number = DAT_SOFTWARE_EVENT };
	u64 i, who;

	for (who = 0; who < 2; who++) {
		make_merged(test, &ep[who]);
		for (i = 1; i <= 4; i++)
			KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep[who], TP_RECV, i, 0),
					DAT_SUCCESS);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep[who], false));
		/* Before ESTABLISHED: its completion must wait */
		tp_complete(env, &ep[who], TP_RECV, IB_WC_SUCCESS, 1);
	}
	KUNIT_EXPECT_EQ(test, came.n, 0);
	for (who = 0; who < 2; who++)
		KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(ep[who].ep));
	for (i = 1; i <= 6; i++) {
		for (who = 0; who < 2; who++) {
			KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep[who], TP_SEND, i, 0),
					DAT_SUCCESS);
			/* Keep two outstanding, so that some are flushed at the end */
			if (i > 2)
				tp_complete(env, &ep[who], TP_SEND, IB_WC_SUCCESS, 0);
			if (i == 3)
				tp_complete(env, &ep[who], TP_RECV, IB_WC_SUCCESS, 2);
		}
		soft.event_data.software_event_data.pointer = (void *)(unsigned long)i;
		KUNIT_EXPECT_EQ(test, dat_evd_post_se(evd, &soft), DAT_SUCCESS);
	}
	for (who = 0; who < 2; who++) {
		dat_ep_disconnect(ep[who].handle, DAT_CLOSE_ABRUPT_FLAG);
		fake_settle(env->fake);
	}
}

static void expect_all_came(struct kunit *test)
{
	u32 who;

	KUNIT_EXPECT_EQ(test, came.wrong, 0);
	KUNIT_EXPECT_EQ(test, came.soft, 6);
	for (who = 0; who < 2; who++) {
		KUNIT_EXPECT_EQ(test, came.request[who], 6);
		KUNIT_EXPECT_EQ(test, came.recv[who], 4);
		KUNIT_EXPECT_EQ(test, came.conn[who], 2);
	}
}

static void E_32_E_33_all_streams_of_two_by_upcall(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = came_upcall };

	kdapl_clauses(test, "E-32 E-33 E-35 E-36 C-43 C-44");
	make_evd(test, &upcall);
	live(test);
	expect_all_came(test);
}

static void E_32_E_33_all_streams_of_two_by_dequeue(struct kunit *test)
{
	DAT_EVENT event;

	kdapl_clauses(test, "E-32 E-33 E-35 E-36 C-43 C-44");
	make_evd(test, NULL);
	live(test);
	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		came_event(&event);
	expect_all_came(test);
}

/* ---- several EVDs --------------------------------------------------------------------- */

static struct {
	u32 early;		/* receives delivered while the EP was not CONNECTED */
	u32 recvs;
	DAT_RETURN answer;
} met;

static void answering_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		return;
	met.recvs++;
	met.early += READ_ONCE(ep[0].ep->state) != DAT_EP_STATE_CONNECTED;
	met.answer = tp_post_one(env, &ep[0], TP_SEND, 1, 0);
}

/* The upcall of a receive that was filled before ESTABLISHED can answer it */
static void E_35_an_early_message_where_streams_are_apart(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = answering_upcall };

	kdapl_clauses(test, "E-35 C-42 C-43");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep[0]), DAT_SUCCESS);
	dat_evd_modify_upcall(ep[0].recv_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_UPCALL_INVOC_NEW);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep[0], TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep[0], false));
	tp_complete(env, &ep[0], TP_RECV, IB_WC_SUCCESS, 1);
	KUNIT_EXPECT_EQ(test, met.recvs, 0);
	KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(ep[0].ep));
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, met.recvs, 1);
	KUNIT_EXPECT_EQ(test, met.early, 0);
	KUNIT_EXPECT_EQ(test, met.answer, DAT_SUCCESS);
}

/* ---- in the upcall --------------------------------------------------------------------- */

static struct {
	u32 n;
	DAT_RETURN post, dequeue, empty, modify, teardown, query;
	u64 dequeued;
} inside;

static void busy_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	DAT_EVD_PARAM param;
	DAT_EVENT other;

	if (inside.n++)
		return;
	inside.post = tp_post_one(env, &ep[0], TP_SEND, 10, 0);
	inside.dequeue = dat_evd_dequeue(evd, &other);
	inside.dequeued = other.event_data.dto_completion_event_data.user_cookie.as_64;
	inside.empty = dat_evd_dequeue(evd, &other);
	inside.teardown = dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
						DAT_UPCALL_INVOC_NEW);
	inside.modify = dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY, DAT_UPCALL_SAME,
					      DAT_UPCALL_INVOC_NEW);
	inside.query = dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
}

static void E_08_what_an_upcall_may_do_to_its_own_EVD(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = busy_upcall };
	DAT_EVD_PARAM param;
	DAT_EVENT event;

	kdapl_clauses(test, "E-08 E-09");
	make_evd(test, NULL);
	make_merged(test, &ep[0]);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep[0], false));
	KUNIT_ASSERT_TRUE(test, kdapl_ep_enter_connected(ep[0].ep));
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep[0], TP_SEND, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep[0], TP_SEND, 2, 0), DAT_SUCCESS);
	tp_complete(env, &ep[0], TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(env, &ep[0], TP_SEND, IB_WC_SUCCESS, 0);
	/* Both are queued; the upcall for the first finds the second */
	dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall, DAT_UPCALL_INVOC_ANY);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, inside.n, 1);
	KUNIT_EXPECT_EQ(test, inside.post, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, inside.dequeue, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, inside.dequeued, 2);
	TP_EXPECT_TYPE(test, inside.empty, DAT_QUEUE_EMPTY);
	TP_EXPECT_TYPE(test, inside.teardown, DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, inside.modify, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, inside.query, DAT_SUCCESS);
	/* The post has succeeded, and with the new policy its event is still queued */
	KUNIT_EXPECT_EQ(test, dat_evd_query(evd, DAT_EVD_FIELD_UPCALL_POLICY, &param),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.upcall_policy, DAT_UPCALL_NOTIFY);
	tp_complete(env, &ep[0], TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, inside.n, 2);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data.user_cookie.as_64, 10);
	dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW);
}

/* ---- suite ------------------------------------------------------------------------------ */

static int merge_init(struct kunit *test)
{
	memset(ep, 0, sizeof(ep));
	memset(&came, 0, sizeof(came));
	memset(&met, 0, sizeof(met));
	memset(&inside, 0, sizeof(inside));
	evd = DAT_HANDLE_NULL;
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void merge_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	tp_ep_free(&ep[0]);
	tp_ep_free(&ep[1]);
	if (evd)
		KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case merge_cases[] = {
	KUNIT_CASE(E_30_an_EVD_takes_the_streams_of_its_flags),
	KUNIT_CASE(E_32_the_default_is_all_streams_but_software),
	KUNIT_CASE(E_32_E_33_all_streams_of_two_by_upcall),
	KUNIT_CASE(E_32_E_33_all_streams_of_two_by_dequeue),
	KUNIT_CASE(E_35_an_early_message_where_streams_are_apart),
	KUNIT_CASE(E_08_what_an_upcall_may_do_to_its_own_EVD),
	{}
};

static struct kunit_suite merge_suite = {
	.name = "kdapl_merge",
	.init = merge_init,
	.exit = merge_exit,
	.test_cases = merge_cases,
};

kunit_test_suite(merge_suite);
