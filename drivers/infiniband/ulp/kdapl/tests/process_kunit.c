// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: endpoints with kdapl.completion_context "process", whose upcalls may sleep.
 *
 * The suite tests in which context upcalls run, which calls they must not make, and that
 * everything that waits for an upcall waits as long as it takes. It also tests that the endpoints
 * of an EVD agree on their context. Runs in a KUnit thread, with a second one for calls that
 * block; each test has its own device.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include "clause.h"
#include "mem_kunit.h"
#include "post_kunit.h"

static struct mem mem;
static struct tp_ep ep;
static struct tp_aside ending;
static DAT_NAMED_ATTR process = { "kdapl.completion_context", "process" };

/* What the upcalls have seen */
static struct {
	atomic_t n;
	u32 atomic;		/* upcalls in softirq, or with bottom halves or interrupts off */
	u32 outside;		/* upcalls that were not recognized as such */
	DAT_RETURN free_ep, free_evd;
	bool hold;		/* the next upcall waits for @go */
	struct completion held, go;
} seen;

static void sleeping_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	seen.atomic += in_softirq() || irqs_disabled();
	seen.outside += !kdapl_in_upcall();
	seen.free_ep = dat_ep_free(ep.handle);
	seen.free_evd = dat_evd_free(ep.connect_evd);
	if (!in_softirq())
		schedule_timeout_uninterruptible(1);
	if (xchg(&seen.hold, false)) {
		complete(&seen.held);
		wait_for_completion(&seen.go);
	}
	atomic_inc(&seen.n);
}

static void listen(DAT_EVD_HANDLE evd)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = sleeping_upcall };

	WARN_ON(dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				      DAT_UPCALL_INVOC_NEW) != DAT_SUCCESS);
}

static void with_process(DAT_EP_ATTR *attr)
{
	tp_attr(attr);
	attr->ep_provider_specific_count = 1;
	attr->ep_provider_specific = &process;
}

/* A connected endpoint in process context, with upcalls on both EVDs of DTOs */
static void make(struct kunit *test, bool srq)
{
	DAT_EP_ATTR attr;

	with_process(&attr);
	KUNIT_ASSERT_EQ(test, tp_ep_create(mem.env, &attr, srq, &ep), DAT_SUCCESS);
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

/* The done callbacks of memory requests are RCU read sections, which an upcall must not be in */
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

static void a_solicited_message_may_sleep(struct kunit *test)
{
	DAT_EP_ATTR attr;

	with_process(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create(mem.env, &attr, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	listen(ep.recv_evd);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	fake_complete_recv_solicited(tp_qp(&ep), 10);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	expect_all_in_process(test);
}

/* ---- the context of an EVD ----------------------------------------------------------- */

static void spinning_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	if (!atomic_read(&seen.n)) {
		complete(&seen.held);
		while (READ_ONCE(seen.hold))
			cpu_relax();
	}
	seen.atomic += !!in_softirq();
	atomic_inc(&seen.n);
}

/* The work item delivers with bottom halves off when the first endpoint joins */
static void the_context_changes_during_a_delivery(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = spinning_upcall };
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EP_HANDLE other = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "E-07");
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	/* The EVDs of this endpoint are used, but no completion of it goes to its connect EVD */
	KUNIT_ASSERT_EQ(test, tp_ep_create(mem.env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	ep.handle = DAT_HANDLE_NULL;
	dat_evd_modify_upcall(ep.recv_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_UPCALL_INVOC_NEW);
	seen.hold = true;
	dat_evd_post_se(ep.recv_evd, &event);
	dat_evd_post_se(ep.recv_evd, &event);
	wait_for_completion(&seen.held);
	with_process(&attr);
	KUNIT_EXPECT_EQ(test, dat_ep_create(kdapl_obj_handle(&mem.env->ia->obj), mem.env->own.pz,
					    ep.recv_evd, ep.request_evd, DAT_HANDLE_NULL, &attr,
					    &other), DAT_SUCCESS);
	WRITE_ONCE(seen.hold, false);
	KUNIT_EXPECT_TRUE(test, upcalls_are(2));
	/* Only the first one */
	KUNIT_EXPECT_EQ(test, seen.atomic, 1);
	/* When the last endpoint has left, one in another context may join */
	KUNIT_EXPECT_EQ(test, dat_ep_free(other), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_create(kdapl_obj_handle(&mem.env->ia->obj), mem.env->own.pz,
					    ep.recv_evd, ep.request_evd, DAT_HANDLE_NULL, NULL,
					    &other), DAT_SUCCESS);
	dat_evd_post_se(ep.recv_evd, &event);
	KUNIT_EXPECT_TRUE(test, upcalls_are(3));
	KUNIT_EXPECT_EQ(test, seen.atomic, 2);
	KUNIT_EXPECT_EQ(test, dat_ep_free(other), DAT_SUCCESS);
}

static DAT_RETURN join(DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE other = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	ret = dat_ep_create(kdapl_obj_handle(&mem.env->ia->obj), mem.env->own.pz, recv, request,
			    DAT_HANDLE_NULL, attr, &other);
	if (ret == DAT_SUCCESS)
		WARN_ON(dat_ep_free(other) != DAT_SUCCESS);
	return ret;
}

static void endpoints_of_an_EVD_agree(struct kunit *test)
{
	DAT_EP_ATTR attr;

	with_process(&attr);
	KUNIT_ASSERT_EQ(test, tp_ep_create(mem.env, &attr, false, &ep), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, join(ep.recv_evd, ep.request_evd, &attr), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, join(ep.request_evd, ep.recv_evd, &attr), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, join(ep.recv_evd, ep.request_evd, NULL), DAT_INVALID_PARAMETER);
	/* One EVD is enough, whatever it is used for */
	TP_EXPECT_TYPE(test, join(ep.recv_evd, mem.ep.request_evd, NULL), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, join(mem.ep.recv_evd, ep.recv_evd, NULL), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, join(ep.recv_evd, mem.ep.request_evd, &attr), DAT_INVALID_PARAMETER);
	/* The refusals have left no trace */
	KUNIT_EXPECT_EQ(test, join(mem.ep.recv_evd, mem.ep.request_evd, NULL), DAT_SUCCESS);
}

static DAT_RETURN modify(DAT_NAMED_ATTR *named, int count)
{
	DAT_EP_PARAM param = { };

	param.ep_attr.ep_provider_specific_count = count;
	param.ep_attr.ep_provider_specific = named;
	return dat_ep_modify(ep.handle, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
					DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &param);
}

static const char *asked(void)
{
	DAT_EP_PARAM param;
	DAT_COUNT i;

	if (dat_ep_query(ep.handle, DAT_EP_FIELD_ALL, &param) != DAT_SUCCESS)
		return NULL;
	for (i = 0; i < param.ep_attr.ep_provider_specific_count; i++)
		if (!strcmp(param.ep_attr.ep_provider_specific[i].name, process.name))
			return param.ep_attr.ep_provider_specific[i].value;
	return NULL;
}

static void the_context_can_be_changed_and_queried(struct kunit *test)
{
	DAT_NAMED_ATTR wrong[] = {
		{ process.name, "Process" }, { process.name, "" }, { process.name, NULL },
		{ process.name, "1" },
	};
	u32 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create(mem.env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_EXPECT_STREQ(test, asked(), "softirq");
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		TP_EXPECT_TYPE(test, modify(&wrong[i], 1), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, modify(&process, 1), DAT_SUCCESS);
	KUNIT_EXPECT_STREQ(test, asked(), "process");
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	listen(ep.request_evd);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	tp_complete(mem.env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	expect_all_in_process(test);
}

/* ---- long upcalls -------------------------------------------------------------------- */

static void free_ep(void)
{
	WARN_ON(dat_ep_free(ep.handle) != DAT_SUCCESS);
	ep.handle = DAT_HANDLE_NULL;
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

/* The upcall of a send waits, while @call begins */
static void begin_during_an_upcall(struct kunit *test, void (*call)(void))
{
	make(test, false);
	seen.hold = true;
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
	wait_for_completion(&seen.held);
	tp_start(&ending, call);
}

static void expect_it_waits(struct kunit *test, int upcalls)
{
	/* Longer than the time-out of a drain */
	msleep(2 * KDAPL_DRAIN_TIMEOUT_MS);
	KUNIT_EXPECT_FALSE(test, completion_done(&ending.done));
	complete(&seen.go);
	KUNIT_EXPECT_TRUE(test, tp_finish(&ending));
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), upcalls);
}

static void free_waits_for_a_long_upcall(struct kunit *test)
{
	begin_during_an_upcall(test, free_ep);
	/* The flushed send may have its upcall before its event is taken back, or not */
	msleep(2 * KDAPL_DRAIN_TIMEOUT_MS);
	KUNIT_EXPECT_FALSE(test, completion_done(&ending.done));
	complete(&seen.go);
	KUNIT_EXPECT_TRUE(test, tp_finish(&ending));
	KUNIT_EXPECT_GE(test, atomic_read(&seen.n), 1);
	KUNIT_EXPECT_EQ(test, seen.atomic, 0);
	KUNIT_EXPECT_EQ(test, seen.outside, 0);
}

static void teardown_waits_for_a_long_upcall(struct kunit *test)
{
	begin_during_an_upcall(test, tear_down);
	expect_it_waits(test, 1);
}

static void removal_waits_for_a_long_upcall(struct kunit *test)
{
	begin_during_an_upcall(test, unplug);
	expect_it_waits(test, 2);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
}

/* The drain does not mistake the upcall for a device that has failed: each post has one event */
static void a_disconnect_waits_for_a_long_upcall(struct kunit *test)
{
	make(test, false);
	seen.hold = true;
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
	wait_for_completion(&seen.held);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	msleep(2 * KDAPL_DRAIN_TIMEOUT_MS);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), 0);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
	complete(&seen.go);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(mem.env, &ep));
	KUNIT_EXPECT_TRUE(test, upcalls_are(2));
	KUNIT_EXPECT_FALSE(test, ep.ep->lost);
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 1);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
}

/* Another connected endpoint with the SRQ and the receive EVD of the first */
static void make_beside(struct kunit *test, struct tp_ep *other)
{
	struct kdapl_obj *obj;
	DAT_EP_ATTR attr;

	with_process(&attr);
	KUNIT_ASSERT_EQ(test, tp_ep_create(mem.env, &attr, true, other), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_free(other->handle), DAT_SUCCESS);
	other->handle = DAT_HANDLE_NULL;
	KUNIT_ASSERT_EQ(test, dat_ep_create_with_srq(kdapl_obj_handle(&mem.env->ia->obj),
						     mem.env->own.pz, ep.recv_evd,
						     other->request_evd, other->connect_evd,
						     mem.env->srq_handle, &attr,
						     &other->handle), DAT_SUCCESS);
	obj = kdapl_obj_get(other->handle, DAT_HANDLE_TYPE_EP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	kdapl_obj_put(obj);
	other->ep = to_kdapl_ep(obj);
	KUNIT_ASSERT_EQ(test, tp_connect(other), 0);
}

/* An endpoint with an SRQ does not share its CQ, so its upcall delays no other endpoint */
static void a_long_upcall_delays_no_other_endpoint(struct kunit *test)
{
	struct tp_ep other;

	make(test, true);
	make_beside(test, &other);
	seen.hold = true;
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(mem.env, &ep, TP_SRQ, 2, 0), DAT_SUCCESS);
	fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
	wait_for_completion(&seen.held);
	fake_complete_srq(tp_qp(&other), IB_WC_SUCCESS, 10);
	KUNIT_EXPECT_TRUE(test, upcalls_are(1));
	complete(&seen.go);
	KUNIT_EXPECT_TRUE(test, upcalls_are(2));
	expect_all_in_process(test);
	tp_ep_free(&other);
}

/* ---- suite ------------------------------------------------------------------------ */

static int process_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	memset(&seen, 0, sizeof(seen));
	init_completion(&seen.held);
	init_completion(&seen.go);
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
	KUNIT_CASE(a_solicited_message_may_sleep),
	KUNIT_CASE(the_context_changes_during_a_delivery),
	KUNIT_CASE(endpoints_of_an_EVD_agree),
	KUNIT_CASE(the_context_can_be_changed_and_queried),
	KUNIT_CASE(free_waits_for_a_long_upcall),
	KUNIT_CASE(teardown_waits_for_a_long_upcall),
	KUNIT_CASE(removal_waits_for_a_long_upcall),
	KUNIT_CASE(a_disconnect_waits_for_a_long_upcall),
	KUNIT_CASE(a_long_upcall_delays_no_other_endpoint),
	{}
};

static struct kunit_suite process_suite = {
	.name = "kdapl_process",
	.init = process_init,
	.exit = process_exit,
	.test_cases = process_cases,
};

kunit_test_suite(process_suite);
