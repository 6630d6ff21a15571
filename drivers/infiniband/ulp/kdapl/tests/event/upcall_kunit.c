// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: every call of class A in an upcall.
 *
 * The upcall makes each call once in the done callback of a completion, in the deferred delivery,
 * in a poll of the Consumer, and where it may sleep, and the test checks the return values. Except
 * in the last case bottom halves are off, so the kernel reports a call that sleeps. Runs in a
 * KUnit thread; each test has its own device.
 */
#include <linux/scatterlist.h>
#include "sp_kunit.h"

/* The objects that the calls use, created before the upcalls */
static struct {
	struct tp_ep reserved;		/* for the RSP; has an SRQ */
	DAT_HANDLE psp, rsp, cr, soft, polled, rmr, fmr, fmr_sg;
	DAT_PADDR page;
} with;

/* Results that are not checked; too large for the stack of a softirq */
static union {
	DAT_IA_ATTR ia;
	DAT_EVD_PARAM evd;
	DAT_PZ_PARAM pz;
	DAT_EP_PARAM ep;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_SRQ_PARAM srq;
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;
	DAT_CR_PARAM cr;
	DAT_EVENT event;
	struct tp_args args;
} out;

static const DAT_CONTEXT cookie = { .as_64 = 7 };

static DAT_RETURN post(enum tp_call call)
{
	return tp_post_one(sp_env, &sp_ep, call, 100 + call, 0);
}

static DAT_RETURN do_send(void)
{
	return post(TP_SEND);
}

static DAT_RETURN do_write(void)
{
	return post(TP_WRITE);
}

static DAT_RETURN do_read(void)
{
	return post(TP_READ);
}

static DAT_RETURN do_recv(void)
{
	return post(TP_RECV);
}

static DAT_RETURN do_srq_recv(void)
{
	return post(TP_SRQ);
}

static DAT_RETURN do_send_inv(void)
{
	return dat_ep_post_send_with_invalidate(sp_ep.handle, 0, NULL, cookie, 0, DAT_TRUE, 1);
}

static DAT_RETURN do_bind(void)
{
	DAT_LMR_TRIPLET range = {
		.virtual_address = (unsigned long)sp_env->buf,
		.segment_length = 64,
		.lmr_context = sp_env->own.rw.context,
	};
	DAT_RMR_CONTEXT key;

	return dat_rmr_bind(with.rmr, sp_env->own.rw.handle, &range,
			    DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, sp_ep.handle, cookie,
			    0, &key);
}

static DAT_RETURN do_fmr(void)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = &with.page };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;

	return dat_lmr_fmr(with.fmr, DAT_MEM_TYPE_PHYSICAL, region, 1, DAT_MEM_PRIV_ALL_FLAG,
			   DAT_VA_TYPE_VA, sp_ep.handle, cookie, 0, &context, &key);
}

static DAT_RETURN do_fmr_sg(void)
{
	DAT_LMR_CONTEXT context;
	struct scatterlist sg;
	DAT_RMR_CONTEXT key;

	sg_init_one(&sg, sp_env->buf, 64);
	return kdat_lmr_fmr_sg(with.fmr_sg, &sg, 1, DAT_MEM_PRIV_ALL_FLAG, sp_ep.handle, cookie, 0,
			       &context, &key);
}

static DAT_RETURN do_invalidate(void)
{
	return dat_lmr_invalidate(with.fmr, sp_ep.handle, cookie, 0);
}

static DAT_RETURN do_dequeue(void)
{
	return dat_evd_dequeue(sp_ep.request_evd, &out.event);
}

static DAT_RETURN do_post_se(void)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	return dat_evd_post_se(with.soft, &event);
}

static DAT_RETURN do_poll(void)
{
	DAT_COUNT n;

	return kdat_evd_poll(with.polled, 1, &n);
}

static DAT_RETURN do_arm(void)
{
	DAT_BOOLEAN again;

	return kdat_evd_arm(with.polled, &again);
}

static DAT_RETURN do_modify_upcall(void)
{
	return dat_evd_modify_upcall(sp_ep.request_evd, DAT_UPCALL_SINGLE_INSTANCE,
				     DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW);
}

static DAT_RETURN do_evd_query(void)
{
	return dat_evd_query(sp_ep.request_evd, DAT_EVD_FIELD_ALL, &out.evd);
}

static DAT_RETURN do_ia_query(void)
{
	return dat_ia_query(sp_ia(), NULL, DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE, &out.ia, 0, NULL);
}

static DAT_RETURN do_pz_query(void)
{
	return dat_pz_query(sp_env->own.pz, DAT_PZ_FIELD_ALL, &out.pz);
}

static DAT_RETURN do_ep_query(void)
{
	return dat_ep_query(sp_ep.handle, DAT_EP_FIELD_ALL, &out.ep);
}

static DAT_RETURN do_get_status(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	return dat_ep_get_status(sp_ep.handle, &state, &recv_idle, &request_idle);
}

static DAT_RETURN do_lmr_query(void)
{
	return dat_lmr_query(sp_env->own.rw.handle, DAT_LMR_FIELD_ALL, &out.lmr);
}

static DAT_RETURN do_rmr_query(void)
{
	return dat_rmr_query(with.rmr, DAT_RMR_FIELD_ALL, &out.rmr);
}

static DAT_RETURN do_srq_query(void)
{
	return dat_srq_query(sp_env->srq_handle, DAT_SRQ_FIELD_ALL, &out.srq);
}

static DAT_RETURN do_psp_query(void)
{
	return dat_psp_query(with.psp, DAT_PSP_FIELD_ALL, &out.psp);
}

static DAT_RETURN do_rsp_query(void)
{
	return dat_rsp_query(with.rsp, DAT_RSP_FIELD_ALL, &out.rsp);
}

static DAT_RETURN do_cr_query(void)
{
	return dat_cr_query(with.cr, DAT_CR_FIELD_ALL, &out.cr);
}

static DAT_RETURN do_cr_handoff(void)
{
	return dat_cr_handoff(with.cr, SP_QUAL + 1);
}

static DAT_RETURN do_memtype_hint(void)
{
	DAT_VADDR alignment;
	DAT_VLEN length;

	return dat_ia_memtype_hint(sp_ia(), DAT_MEM_TYPE_VIRTUAL, 64, DAT_MEM_OPTIMIZE_DONT_CARE,
				   &length, &alignment);
}

static DAT_RETURN do_sync(bool read)
{
	DAT_LMR_TRIPLET seg;

	tp_seg(sp_env, &seg, &sp_env->own.rw, 0, 64);
	return read ? dat_lmr_sync_rdma_read(sp_ia(), &seg, 1) :
		      dat_lmr_sync_rdma_write(sp_ia(), &seg, 1);
}

static DAT_RETURN do_sync_read(void)
{
	return do_sync(true);
}

static DAT_RETURN do_sync_write(void)
{
	return do_sync(false);
}

static DAT_RETURN do_set_context(void)
{
	return dat_set_consumer_context(sp_ep.handle, cookie);
}

static DAT_RETURN do_get_context(void)
{
	DAT_CONTEXT context;

	return dat_get_consumer_context(sp_ep.handle, &context);
}

static DAT_RETURN do_get_type(void)
{
	DAT_HANDLE_TYPE type;

	return dat_get_handle_type(sp_ep.handle, &type);
}

static DAT_RETURN do_strerror(void)
{
	const char *major, *minor;

	return dat_strerror(DAT_SUCCESS, &major, &minor);
}

/* The calls that kDAPL does not support; the first other result */
static DAT_RETURN do_unsupported(void)
{
	const DAT_RETURN none = dat_csp_free(NULL);
	DAT_LMR_CONTEXT context;
	DAT_COUNT bufs, span;
	DAT_RMR_TRIPLET rmr;
	DAT_HANDLE h;
	u32 i;
	const DAT_RETURN ret[] = {
		dat_ia_reserved_lmr(sp_ia(), &h, &context),
		dat_ep_common_connect(sp_ep.handle, NULL, 1, 0, NULL),
		dat_ep_recv_query(with.reserved.handle, &bufs, &span),
		dat_ep_set_watermark(with.reserved.handle, 1, 1),
		dat_ep_post_rdma_read_to_rmr(sp_ep.handle, &rmr, cookie, &rmr, 0),
		dat_rmr_create_for_ep(sp_env->own.pz, &h),
		dat_csp_create(sp_ia(), NULL, NULL, NULL, &h),
		dat_csp_query(NULL, 0, NULL),
	};

	for (i = 0; i < ARRAY_SIZE(ret); i++)
		if (ret[i] != none)
			return ret[i];
	return none;
}

/* The post made here is flushed; its event comes after the upcall */
static DAT_RETURN do_disconnect(void)
{
	return dat_ep_disconnect(sp_ep.handle, DAT_CLOSE_ABRUPT_FLAG);
}

#define ROW(call, type)	{ do_##call, type, #call }

static const struct row {
	DAT_RETURN (*call)(void);
	u32 type;
	const char *name;
} rows[] = {
	ROW(send, DAT_SUCCESS), ROW(write, DAT_SUCCESS), ROW(read, DAT_SUCCESS),
	ROW(recv, DAT_SUCCESS), ROW(srq_recv, DAT_SUCCESS), ROW(send_inv, DAT_SUCCESS),
	ROW(bind, DAT_SUCCESS), ROW(fmr, DAT_SUCCESS), ROW(invalidate, DAT_SUCCESS),
	ROW(fmr_sg, DAT_SUCCESS),
	ROW(dequeue, DAT_QUEUE_EMPTY), ROW(post_se, DAT_SUCCESS),
	ROW(poll, DAT_SUCCESS), ROW(arm, DAT_SUCCESS),
	ROW(modify_upcall, DAT_SUCCESS), ROW(evd_query, DAT_SUCCESS),
	ROW(ia_query, DAT_SUCCESS), ROW(pz_query, DAT_SUCCESS), ROW(ep_query, DAT_SUCCESS),
	ROW(get_status, DAT_SUCCESS), ROW(lmr_query, DAT_SUCCESS), ROW(rmr_query, DAT_SUCCESS),
	ROW(srq_query, DAT_SUCCESS), ROW(psp_query, DAT_SUCCESS), ROW(rsp_query, DAT_SUCCESS),
	ROW(cr_query, DAT_SUCCESS), ROW(cr_handoff, DAT_SUCCESS),
	ROW(memtype_hint, DAT_SUCCESS), ROW(sync_read, DAT_SUCCESS),
	ROW(sync_write, DAT_SUCCESS), ROW(set_context, DAT_SUCCESS),
	ROW(get_context, DAT_SUCCESS), ROW(get_type, DAT_SUCCESS), ROW(strerror, DAT_SUCCESS),
	ROW(unsupported, DAT_MODEL_NOT_SUPPORTED),
	ROW(disconnect, DAT_SUCCESS),
};

static struct {
	u32 n;
	bool bh_off, worker, over;
	DAT_RETURN ret[ARRAY_SIZE(rows)];
} seen;

static void upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	u32 i;

	if (seen.n++)
		return;
	seen.bh_off = in_softirq();
	seen.worker = !in_serving_softirq() && (current->flags & PF_WQ_WORKER);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		seen.ret[i] = rows[i].call();
	WRITE_ONCE(seen.over, true);
}

static void ignoring_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
}

static void prepare(struct kunit *test, DAT_EVD_FLAGS context)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = ignoring_upcall };
	struct kdapl_sp *psp = sp_make(test, sp_evd, SP_QUAL, NULL);

	tp_ep_free(&sp_ep);
	KUNIT_ASSERT_EQ(test, tp_ep_create_in(sp_env, context, NULL, false, &sp_ep), DAT_SUCCESS);
	with.psp = sp_handle(psp);
	/* A service point for dat_cr_handoff() */
	sp_make(test, sp_evd, SP_QUAL + 1, NULL);
	KUNIT_ASSERT_EQ(test, tp_ep_create(sp_env, NULL, true, &with.reserved), DAT_SUCCESS);
	with.rsp = sp_handle(sp_make(test, sp_evd, SP_QUAL + 2, &with.reserved));
	KUNIT_ASSERT_TRUE(test, sp_request(psp, 0x11));
	with.cr = sp_announced(test, sp_evd, psp);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(sp_ia(), 4, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_SOFTWARE_FLAG, &with.soft), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(sp_ia(), 4, DAT_UPCALL_SINGLE_INSTANCE, &object,
					      DAT_EVD_SOFTWARE_FLAG | KDAT_EVD_POLL_FLAG,
					      &with.polled), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(sp_env->own.pz, &with.rmr), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(sp_ia(), sp_env->own.pz, 1, DAT_LMR_SCOPE_PZ,
					       &with.fmr), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(sp_ia(), sp_env->own.pz, 1, DAT_LMR_SCOPE_PZ,
					       &with.fmr_sg), DAT_SUCCESS);
	with.page = virt_to_phys(sp_env->buf) & PAGE_MASK;
	KUNIT_ASSERT_EQ(test, tp_connect(&sp_ep), 0);
	KUNIT_ASSERT_EQ(test, post(TP_SEND), DAT_SUCCESS);
}

static void set_upcall(struct kunit *test, DAT_UPCALL_FLAG flag)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall };

	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(sp_ep.request_evd, DAT_UPCALL_SINGLE_INSTANCE,
						    &object, flag), DAT_SUCCESS);
}

static void expect_returns(struct kunit *test, bool bh_off, bool worker)
{
	u32 i;

	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(READ_ONCE(seen.over)));
	KUNIT_EXPECT_EQ(test, seen.bh_off, bh_off);
	KUNIT_EXPECT_EQ(test, seen.worker, worker);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(seen.ret[i]), rows[i].type, "%s",
				    rows[i].name);
	/* Check the effect of three types of calls */
	KUNIT_EXPECT_EQ(test, tp_events(with.soft), 1);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(sp_state() == DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(sp_ep.recv_evd) == 1));
}

static void E_08_class_A_calls_in_a_done_callback(struct kunit *test)
{
	kdapl_clauses(test, "E-07 E-08 G-09 S-12 R-19 W-11");
	prepare(test, 0);
	set_upcall(test, DAT_UPCALL_INVOC_NEW);
	tp_complete(sp_env, &sp_ep, TP_SEND, IB_WC_SUCCESS, 0);
	expect_returns(test, true, false);
}

static void E_08_class_A_calls_in_the_deferred_delivery(struct kunit *test)
{
	kdapl_clauses(test, "E-07 E-08 G-09 S-12 R-19 W-11");
	prepare(test, 0);
	tp_complete(sp_env, &sp_ep, TP_SEND, IB_WC_SUCCESS, 0);
	set_upcall(test, DAT_UPCALL_INVOC_ANY);
	expect_returns(test, true, true);
}

static void E_08_class_A_calls_in_a_poll(struct kunit *test)
{
	DAT_COUNT n;

	kdapl_clauses(test, "E-07 E-08 G-09 S-12 R-19 W-11");
	prepare(test, KDAT_EVD_POLL_FLAG);
	set_upcall(test, DAT_UPCALL_INVOC_NEW);
	/* On a slow machine it would poll first */
	cancel_delayed_work_sync(&sp_ep.ep->fast.request_evd->timer);
	tp_complete(sp_env, &sp_ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, kdat_evd_poll(sp_ep.request_evd, 1, &n), DAT_SUCCESS);
	expect_returns(test, true, false);
}

static void E_08_class_A_calls_in_an_upcall_that_may_sleep(struct kunit *test)
{
	kdapl_clauses(test, "E-07 E-08 G-09 S-12 R-19 W-11");
	prepare(test, KDAT_EVD_PROCESS_FLAG);
	set_upcall(test, DAT_UPCALL_INVOC_NEW);
	tp_complete(sp_env, &sp_ep, TP_SEND, IB_WC_SUCCESS, 0);
	expect_returns(test, false, true);
}

/* ---- the context of an EVD without endpoints ------------------------------------------ */

static struct {
	atomic_t n;
	u32 atomic;
} quiet;

static void sleeping_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	quiet.atomic += in_softirq() || irqs_disabled();
	atomic_inc(&quiet.n);
}

/* The first request of a server arrives before it has an endpoint */
static void E_07_a_request_on_an_EVD_in_process_context(struct kunit *test)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = sleeping_upcall };
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	kdapl_clauses(test, "E-07");
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(sp_ia(), 4, DAT_UPCALL_SINGLE_INSTANCE, &object,
					      DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG |
					      KDAT_EVD_PROCESS_FLAG, &evd), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, sp_request(sp_make(test, evd, SP_QUAL, NULL), 0x11));
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(atomic_read(&quiet.n) == 1));
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(atomic_read(&quiet.n) == 2));
	KUNIT_EXPECT_EQ(test, quiet.atomic, 0);
}

/* ---- suite ------------------------------------------------------------------------ */

static int upcall_init(struct kunit *test)
{
	memset(&with, 0, sizeof(with));
	memset(&seen, 0, sizeof(seen));
	memset(&quiet, 0, sizeof(quiet));
	return sp_init(test);
}

static struct kunit_case upcall_cases[] = {
	KUNIT_CASE(E_08_class_A_calls_in_a_done_callback),
	KUNIT_CASE(E_08_class_A_calls_in_the_deferred_delivery),
	KUNIT_CASE(E_08_class_A_calls_in_a_poll),
	KUNIT_CASE(E_08_class_A_calls_in_an_upcall_that_may_sleep),
	KUNIT_CASE(E_07_a_request_on_an_EVD_in_process_context),
	{}
};

static struct kunit_suite upcall_suite = {
	.name = "kdapl_upcall",
	.init = upcall_init,
	.exit = sp_exit,
	.test_cases = upcall_cases,
};

kunit_test_suite(upcall_suite);
