// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: EVDs in process context, whose upcalls may sleep.
 *
 * The suite tests in which context upcalls run, what waits for an upcall that sleeps, and that
 * nothing else does. It also tests that the EVDs of an endpoint agree on their context. Which calls
 * an upcall may make is tested by class_p_kunit.c. Runs in a KUnit thread, with a second one for
 * calls that block; each test has its own device.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include "clause.h"
#include "mem_kunit.h"
#include "post_kunit.h"

static struct mem mem;
static struct tp_ep ep;
static struct tp_aside ending, second;

/* What the upcalls have seen */
static struct {
	atomic_t n;
	u32 atomic;		/* upcalls in softirq, or with bottom halves or interrupts off */
	u32 outside;		/* upcalls that were not recognized as such */
	DAT_RETURN free_ep, free_evd;
	bool private;		/* a connection event had the private data until the end */
	bool hold;		/* the next upcall waits for @go */
	struct completion held, go;
} seen;

static const u8 welcome[] = "welcome";

static void sleeping_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	seen.atomic += in_softirq() || irqs_disabled();
	seen.outside += !kdapl_in_upcall();
	/* Refused only where it would wait for this upcall */
	if (event->event_number == DAT_DTO_COMPLETION_EVENT &&
	    event->event_data.dto_completion_event_data.ep_handle == ep.handle)
		seen.free_ep = dat_ep_free(ep.handle);
	seen.free_evd = dat_evd_free(ep.connect_evd);
	if (!in_softirq())
		schedule_timeout_uninterruptible(1);
	if (xchg(&seen.hold, false)) {
		complete(&seen.held);
		wait_for_completion(&seen.go);
	}
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		seen.private = !memcmp(event->event_data.connect_event_data.private_data, welcome,
				       sizeof(welcome));
	atomic_inc(&seen.n);
}

static void listen(DAT_EVD_HANDLE evd)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = sleeping_upcall };

	WARN_ON(dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				      DAT_UPCALL_INVOC_NEW) != DAT_SUCCESS);
}

/* A connected endpoint in process context, with upcalls on both EVDs of DTOs */
static void make(struct kunit *test, bool srq)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create_in(mem.env, KDAT_EVD_PROCESS_FLAG, NULL, srq, &ep),
			DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	listen(ep.recv_evd);
	listen(ep.request_evd);
}

static bool upcalls_are(int n)
{
	return kdapl_sleep_until(atomic_read(&seen.n) == n);
}

static void expect_all_in_process(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, seen.atomic, 0);
	KUNIT_EXPECT_EQ(test, seen.outside, 0);
	TP_EXPECT_TYPE(test, seen.free_ep, DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, seen.free_evd, DAT_INVALID_STATE);
}

/* ---- the context of upcalls ------------------------------------------------------ */

static void upcalls_may_sleep(struct kunit *test)
{
	enum tp_call call;

	for (call = 0; call < TP_NCALLS; call++) {
		atomic_set(&seen.n, 0);
		make(test, call == TP_SRQ);
		KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, call, 7, 0), DAT_SUCCESS);
		KUNIT_EXPECT_TRUE(test, tp_complete(mem.env, &ep, call, IB_WC_SUCCESS, 10));
		KUNIT_EXPECT_TRUE_MSG(test, upcalls_are(1), "%s", tp_call_name[call]);
		expect_all_in_process(test);
		KUNIT_EXPECT_EQ(test, tp_slots(tp_pool(mem.env, &ep, call)), TP_DEPTH);
		tp_ep_free(&ep);
	}
	/* The test itself is in no upcall any more */
	KUNIT_EXPECT_FALSE(test, kdapl_in_upcall());
}

/* Errors, and what does not come from a CQ */
static void other_events_of_the_EVD_may_sleep_too(struct kunit *test)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	make(test, false);
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(ep.request_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_RECV, 2, 0), DAT_SUCCESS);
	tp_complete(mem.env, &ep, TP_SEND, IB_WC_REM_ACCESS_ERR, 0);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(mem.env, &ep));
	KUNIT_EXPECT_TRUE(test, upcalls_are(3));
	expect_all_in_process(test);
}

static void upcalls_of_memory_requests_may_sleep(struct kunit *test)
{
	struct fmr f;

	make(test, false);
	mem_fmr_args(&mem, &f);
	f.ep = ep.handle;
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	tp_complete(mem.env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	KUNIT_EXPECT_EQ(test, mem_invalidate(&mem, &ep, 2, 0), DAT_SUCCESS);
	tp_complete(mem.env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_TRUE(test, upcalls_are(2));
	expect_all_in_process(test);
}

/* The context does not depend on endpoints */
static void the_context_outlives_the_endpoints(struct kunit *test)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	kdapl_clauses(test, "E-07");
	make(test, false);
	KUNIT_ASSERT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	ep.handle = DAT_HANDLE_NULL;
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(ep.recv_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	KUNIT_EXPECT_EQ(test, seen.atomic, 0);
	KUNIT_EXPECT_EQ(test, seen.outside, 0);
}

static void a_solicited_message_may_sleep(struct kunit *test)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create_in(mem.env, KDAT_EVD_PROCESS_FLAG, &attr, false, &ep),
			DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	listen(ep.recv_evd);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_RECV, 2, 0), DAT_SUCCESS);
	/* The plain message has no upcall, until a solicited one follows */
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 10);
	fake_settle(mem.env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), 0);
	fake_complete_recv_solicited(tp_qp(&ep), 10);
	KUNIT_EXPECT_TRUE(test, upcalls_are(2));
	expect_all_in_process(test);
}

/* A CQ in solicited-wait mode does not announce an error. Nothing has happened for some time */
static void an_error_of_a_solicited_endpoint_is_noticed(struct kunit *test)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create_in(mem.env, KDAT_EVD_PROCESS_FLAG, &attr, false, &ep),
			DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	/* The timer has run at least once */
	msleep(1500);
	fake_complete_recv(tp_qp(&ep), IB_WC_LOC_LEN_ERR, 0);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(ep.connect_evd) == 1));
}

/* ---- the context of an EVD ----------------------------------------------------------- */

static DAT_RETURN kcreate(DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(mem.ia, 8, DAT_UPCALL_DISABLE, NULL, flags, evd);
}

static void flags_of_an_EVD(struct kunit *test)
{
	static const DAT_EVD_FLAGS good[] = {
		DAT_EVD_DTO_FLAG,
		DAT_EVD_CR_FLAG | KDAT_EVD_PROCESS_FLAG,
		DAT_EVD_SOFTWARE_FLAG | KDAT_EVD_POLL_FLAG,
	};
	static const DAT_EVD_FLAGS bad[] = {
		DAT_EVD_DTO_FLAG | KDAT_EVD_PROCESS_FLAG | KDAT_EVD_POLL_FLAG,
		KDAT_EVD_PROCESS_FLAG, DAT_EVD_DTO_FLAG | 0x40000,
	};
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		KUNIT_ASSERT_EQ(test, kcreate(good[i], &evd), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, param.evd_flags, good[i]);
		KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		TP_EXPECT_TYPE(test, kcreate(bad[i], &evd), DAT_INVALID_PARAMETER);
}

static DAT_RETURN join(DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect)
{
	DAT_EP_HANDLE other = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	tp_attr(&attr);
	ret = dat_ep_create(mem.ia, mem.env->own.pz, recv, request, connect, &attr, &other);
	if (ret == DAT_SUCCESS)
		WARN_ON(dat_ep_free(other) != DAT_SUCCESS);
	return ret;
}

static void the_dispatchers_of_an_endpoint_agree(struct kunit *test)
{
	DAT_EP_PARAM param = {};

	make(test, false);
	KUNIT_EXPECT_EQ(test, join(ep.request_evd, ep.recv_evd, DAT_HANDLE_NULL), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, join(ep.recv_evd, mem.ep.request_evd, DAT_HANDLE_NULL),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, join(mem.ep.recv_evd, ep.request_evd, DAT_HANDLE_NULL),
		       DAT_INVALID_PARAMETER);
	/* Connection events may be handled in any other context */
	KUNIT_EXPECT_EQ(test, join(ep.recv_evd, ep.request_evd, mem.ep.connect_evd), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, join(mem.ep.recv_evd, mem.ep.request_evd, DAT_HANDLE_NULL),
			DAT_SUCCESS);
	tp_ep_free(&ep);
	KUNIT_ASSERT_EQ(test, tp_ep_create_in(mem.env, KDAT_EVD_PROCESS_FLAG, NULL, false, &ep),
			DAT_SUCCESS);
	param.recv_evd_handle = mem.ep.recv_evd;
	param.request_evd_handle = mem.ep.request_evd;
	TP_EXPECT_TYPE(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_RECV_EVD_HANDLE, &param),
		       DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_RECV_EVD_HANDLE |
					    DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param), DAT_SUCCESS);
}

/* ---- long upcalls -------------------------------------------------------------------- */

static void free_ep(void)
{
	WARN_ON(dat_ep_free(ep.handle) != DAT_SUCCESS);
	ep.handle = DAT_HANDLE_NULL;
}

static void reset_ep(void)
{
	WARN_ON(dat_ep_reset(ep.handle) != DAT_SUCCESS);
}

static void tear_down(void)
{
	WARN_ON(dat_evd_modify_upcall(ep.request_evd, DAT_UPCALL_TEARDOWN, NULL,
				      DAT_UPCALL_INVOC_NEW) != DAT_SUCCESS);
}

static void unplug(void)
{
	fake_dev_unplug(mem.env->fake);
}

/* The upcall of the first of two sends of @tep is held; the connect EVD has no upcall */
static void hold_upcall_of(struct kunit *test, struct tp_ep *tep)
{
	seen.hold = true;
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, tep, TP_SEND, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, tep, TP_SEND, 2, 0), DAT_SUCCESS);
	fake_complete_send(tp_qp(tep), IB_WC_SUCCESS);
	wait_for_completion(&seen.held);
}

/* What was started aside waits, until the upcall ends */
static void expect_it_waits(struct kunit *test)
{
	/* Longer than the timeout of a drain */
	msleep(2 * KDAPL_DRAIN_TIMEOUT_MS);
	KUNIT_EXPECT_FALSE(test, completion_done(&ending.done));
	KUNIT_EXPECT_FALSE(test, completion_done(&second.done));
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), 0);
	complete(&seen.go);
	KUNIT_EXPECT_TRUE(test, tp_finish(&ending));
}

static void expect_it_returns(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, tp_finish(&ending));
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), 0);
	complete(&seen.go);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(atomic_read(&seen.n) >= 1));
}

static bool ended(struct tp_ep *tep)
{
	return kdapl_sleep_until(tp_events(tep->connect_evd) == 1 &&
				 tep->ep->state == DAT_EP_STATE_DISCONNECTED);
}

static void free_waits_for_a_long_upcall(struct kunit *test)
{
	make(test, false);
	hold_upcall_of(test, &ep);
	tp_start(&ending, free_ep);
	expect_it_waits(test);
	/* The flushed send was taken back before the upcall ended */
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), 1);
	KUNIT_EXPECT_EQ(test, seen.atomic, 0);
}

static void teardown_waits_for_a_long_upcall(struct kunit *test)
{
	make(test, false);
	hold_upcall_of(test, &ep);
	tp_start(&ending, tear_down);
	expect_it_waits(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), 1);
}

/* The end of a connection does not wait for an upcall of its EP; a reset does, without a lock */
static void a_disconnect_waits_for_no_upcall(struct kunit *test)
{
	DAT_EP_PARAM param = {};

	kdapl_clauses(test, "C-56");
	make(test, false);
	hold_upcall_of(test, &ep);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, ended(&ep));
	KUNIT_EXPECT_FALSE(test, ep.ep->drain.timed_out);
	tp_start(&ending, reset_ep);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(ep.ep->state) ==
						  DAT_EP_STATE_UNCONNECTED));
	/* Needs ep->mutex */
	param.ep_attr.max_rdma_size = TP_MAX_RDMA;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep.handle, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &param),
			DAT_SUCCESS);
	/* Another reset has nothing to do, but waits, too */
	tp_start(&second, reset_ep);
	expect_it_waits(test);
	KUNIT_EXPECT_TRUE(test, tp_finish(&second));
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), 1);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
}

/* Nor does the peer's end of it, nor an error that is found while the upcall takes its time */
static void an_error_is_noticed_during_a_long_upcall(struct kunit *test)
{
	make(test, false);
	hold_upcall_of(test, &ep);
	fake_complete_send(tp_qp(&ep), IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_TRUE(test, ended(&ep));
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), 0);
	complete(&seen.go);
	KUNIT_EXPECT_TRUE(test, upcalls_are(2));
}

static void removal_waits_for_no_upcall(struct kunit *test)
{
	make(test, false);
	hold_upcall_of(test, &ep);
	tp_start(&ending, unplug);
	expect_it_returns(test);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	/* The flushed send has its upcall, too */
	KUNIT_EXPECT_TRUE(test, upcalls_are(2));
}

static struct tp_ep other;

/* All that ends another endpoint of the same EVDs */
static void end_other(void)
{
	WARN_ON(dat_ep_disconnect(other.handle, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS);
	WARN_ON(!ended(&other));
	WARN_ON(dat_ep_reset(other.handle) != DAT_SUCCESS);
	WARN_ON(dat_ep_free(other.handle) != DAT_SUCCESS);
	other.handle = DAT_HANDLE_NULL;
}

/* An event of the other endpoint waits behind the upcall */
static void the_end_of_another_endpoint_waits_for_no_upcall(struct kunit *test)
{
	make(test, false);
	KUNIT_ASSERT_EQ(test, tp_ep_beside(mem.env, &ep, &other), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&other), 0);
	hold_upcall_of(test, &ep);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &other, TP_SEND, 3, 0), DAT_SUCCESS);
	fake_complete_send(tp_qp(&other), IB_WC_SUCCESS);
	tp_start(&ending, end_other);
	expect_it_returns(test);
	other.request_evd = DAT_HANDLE_NULL;
	tp_ep_free(&other);
}

static void free_other(void)
{
	WARN_ON(dat_ep_free(other.handle) != DAT_SUCCESS);
	other.handle = DAT_HANDLE_NULL;
}

/* The data is in the EP; with KASAN, a read after its end would be reported */
static void private_data_stays_for_a_long_upcall(struct kunit *test)
{
	struct rdma_cm_event event = {
		.event = RDMA_CM_EVENT_CONNECT_RESPONSE,
		.param.conn = { .private_data = welcome, .private_data_len = sizeof(welcome) },
	};
	struct kdapl_obj *obj;
	struct rdma_cm_id *id;
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "C-46");
	make(test, false);
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, kcreate(DAT_EVD_CONNECTION_FLAG | KDAT_EVD_PROCESS_FLAG,
				      &other.connect_evd), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_create(mem.ia, mem.env->own.pz, ep.recv_evd, ep.request_evd,
					    other.connect_evd, &attr, &other.handle), DAT_SUCCESS);
	obj = kdapl_obj_get(other.handle, DAT_HANDLE_TYPE_EP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	other.ep = to_kdapl_ep(obj);
	kdapl_obj_put(obj);
	listen(other.connect_evd);
	seen.hold = true;
	id = tp_begin(&other, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, id);
	/* Keep the work from running: the id has no path for the transition to RTS */
	mutex_lock(&other.ep->mutex);
	rdma_lock_handler(id);
	KUNIT_EXPECT_EQ(test, id->event_handler(id, &event), 0);
	rdma_unlock_handler(id);
	KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(other.ep));
	mutex_unlock(&other.ep->mutex);
	wait_for_completion(&seen.held);

	tp_start(&ending, free_other);
	/* kfree_rcu() may wait for 5 s before it begins a grace period */
	msleep(7000);
	KUNIT_EXPECT_FALSE(test, completion_done(&ending.done));
	complete(&seen.go);
	KUNIT_EXPECT_TRUE(test, tp_finish(&ending));
	KUNIT_EXPECT_TRUE(test, seen.private);
	KUNIT_EXPECT_EQ(test, dat_evd_free(other.connect_evd), DAT_SUCCESS);
	other.connect_evd = DAT_HANDLE_NULL;
}

/* ---- many long upcalls ---------------------------------------------------------------- */

#define MANY_EVDS	300	/* more than 256, the usual limit of a workqueue */

static struct {
	DAT_EVD_HANDLE evd[MANY_EVDS];
	struct completion go;
	atomic_t held, done;
} many;

static void held_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	atomic_inc(&many.held);
	wait_for_completion(&many.go);
	atomic_inc(&many.done);
}

/* Upcalls of other EVDs delay neither the connection of an endpoint nor its own upcalls */
static void many_long_upcalls_delay_nobody_else(struct kunit *test)
{
	const DAT_EVD_FLAGS flags = DAT_EVD_SOFTWARE_FLAG | KDAT_EVD_PROCESS_FLAG;
	DAT_UPCALL_OBJECT upcall = { .upcall_func = held_upcall };
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	u32 i;

	memset(&many, 0, sizeof(many));
	init_completion(&many.go);
	for (i = 0; i < MANY_EVDS; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_kcreate(mem.ia, 1, DAT_UPCALL_SINGLE_INSTANCE,
						      &upcall, flags, &many.evd[i]), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, dat_evd_post_se(many.evd[i], &event), DAT_SUCCESS);
	}
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(atomic_read(&many.held) == MANY_EVDS));
	make(test, false);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, ended(&ep));
	KUNIT_EXPECT_EQ(test, atomic_read(&many.done), 0);
	complete_all(&many.go);
	for (i = 0; i < MANY_EVDS; i++)
		KUNIT_EXPECT_EQ(test, dat_evd_free(many.evd[i]), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&many.done), MANY_EVDS);
}

/* ---- suite ------------------------------------------------------------------------ */

static int process_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	memset(&other, 0, sizeof(other));
	memset(&seen, 0, sizeof(seen));
	init_completion(&seen.held);
	init_completion(&seen.go);
	/* Not every test starts it */
	init_completion(&second.done);
	return mem_setup(test, &mem);
}

static void process_exit(struct kunit *test)
{
	if (!IS_ERR_OR_NULL(mem.env))
		tp_ep_free(&ep);
	mem_done(test, &mem);
}

static struct kunit_case process_cases[] = {
	KUNIT_CASE(upcalls_may_sleep),
	KUNIT_CASE(other_events_of_the_EVD_may_sleep_too),
	KUNIT_CASE(upcalls_of_memory_requests_may_sleep),
	KUNIT_CASE(the_context_outlives_the_endpoints),
	KUNIT_CASE(a_solicited_message_may_sleep),
	KUNIT_CASE(an_error_of_a_solicited_endpoint_is_noticed),
	KUNIT_CASE(flags_of_an_EVD),
	KUNIT_CASE(the_dispatchers_of_an_endpoint_agree),
	KUNIT_CASE(free_waits_for_a_long_upcall),
	KUNIT_CASE(teardown_waits_for_a_long_upcall),
	KUNIT_CASE(a_disconnect_waits_for_no_upcall),
	KUNIT_CASE(an_error_is_noticed_during_a_long_upcall),
	KUNIT_CASE(removal_waits_for_no_upcall),
	KUNIT_CASE(the_end_of_another_endpoint_waits_for_no_upcall),
	KUNIT_CASE_SLOW(private_data_stays_for_a_long_upcall),
	KUNIT_CASE(many_long_upcalls_delay_nobody_else),
	{}
};

static struct kunit_suite process_suite = {
	.name = "kdapl_process",
	.init = process_init,
	.exit = process_exit,
	.test_cases = process_cases,
};

kunit_test_suite(process_suite);
