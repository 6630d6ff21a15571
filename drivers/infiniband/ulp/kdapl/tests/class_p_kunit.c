// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: every call of class P in an upcall that may sleep, as the table in kdapl-locking.rst
 * says; and those that kDAPL refuses in an upcall that must not sleep.
 *
 * The upcall makes each call once, and the test checks the return values. Calls that would create
 * a connection have no peer on the fake device, so their errors are those of any other thread.
 * Runs in a KUnit thread; each test has its own device.
 */
#include "sp_kunit.h"

/* Objects for the upcall, created before; each is used by one row, which may free it */
static struct {
	struct tp_ep ep;		/* its event is delivered */
	struct tp_ep other;		/* on the same EVDs, in DISCONNECTED */
	struct tp_ep fresh;		/* not connected */
	struct tp_ep reserved;		/* for the RSP */
	DAT_EVD_HANDLE spare_evd, cr_evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr, fmr;
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;
	DAT_CR_HANDLE cr[2];
	DAT_HANDLE psp, rsp;
	DAT_IA_HANDLE ia;
} with;

static DAT_RETURN registry_list(void)
{
	DAT_PROVIDER_INFO info, *list[] = { &info };
	DAT_COUNT n;

	return dat_registry_list_providers(1, &n, list);
}

static void ignore_name(DAT_PVOID context, DAT_NAME_PTR ia_name, DAT_BOOLEAN present)
{
}

static DAT_RETURN registry_notify(void)
{
	static struct kdat_registry_watch watch = { .callback = ignore_name };

	return kdat_registry_notify(&watch);
}

static DAT_RETURN registry_unnotify(void)
{
	struct kdat_registry_watch watch = {};

	return kdat_registry_unnotify(&watch);
}

static DAT_RETURN ia_openv(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open("no such IA", 1, &async, &with.ia);
}

static DAT_RETURN ia_close(void)
{
	return dat_ia_close(sp_ia(), DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN evd_kcreate(void)
{
	return dat_evd_kcreate(sp_ia(), 1, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG,
			       &with.spare_evd);
}

static DAT_RETURN evd_resize(void)
{
	return dat_evd_resize(with.spare_evd, 2);
}

static DAT_RETURN evd_free(void)
{
	return dat_evd_free(with.spare_evd);
}

static DAT_RETURN evd_teardown(void)
{
	return dat_evd_modify_upcall(with.spare_evd, DAT_UPCALL_TEARDOWN, NULL,
				     DAT_UPCALL_INVOC_NEW);
}

static DAT_RETURN pz_create(void)
{
	return dat_pz_create(sp_ia(), &with.pz);
}

static DAT_RETURN lmr_kcreate(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = sp_env->buf };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_VLEN length;
	DAT_VADDR address;

	return dat_lmr_kcreate(sp_ia(), DAT_MEM_TYPE_VIRTUAL, region, 64, with.pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       &with.lmr, &context, &key, &length, &address);
}

static DAT_RETURN lmr_free(void)
{
	return dat_lmr_free(with.lmr);
}

static DAT_RETURN lmr_allocate(void)
{
	return dat_lmr_allocate(sp_ia(), with.pz, 1, DAT_LMR_SCOPE_PZ, &with.fmr) ?:
	       dat_lmr_free(with.fmr);
}

static DAT_RETURN rmr_create(void)
{
	return dat_rmr_create(with.pz, &with.rmr);
}

static DAT_RETURN rmr_free(void)
{
	return dat_rmr_free(with.rmr);
}

static DAT_RETURN srq_create(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };

	return dat_srq_create(sp_ia(), with.pz, &attr, &with.srq);
}

static DAT_RETURN srq_resize(void)
{
	return dat_srq_resize(with.srq, 8);
}

static DAT_RETURN srq_set_lw(void)
{
	return dat_srq_set_lw(with.srq, 1);
}

static DAT_RETURN srq_free(void)
{
	return dat_srq_free(with.srq);
}

static DAT_RETURN pz_free(void)
{
	return dat_pz_free(with.pz);
}

static DAT_RETURN ep_create(void)
{
	return tp_ep_create(sp_env, NULL, false, &with.fresh);
}

static DAT_RETURN ep_create_with_srq(void)
{
	struct tp_ep tep;
	DAT_RETURN ret = tp_ep_create(sp_env, NULL, true, &tep);

	return ret ?: dat_ep_free(tep.handle);
}

static DAT_RETURN modify(struct tp_ep *tep)
{
	DAT_EP_PARAM param = { .ep_attr.max_rdma_size = 1024 };

	return dat_ep_modify(tep->handle, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &param);
}

static DAT_RETURN ep_modify(void)
{
	return modify(&with.fresh);
}

/* Waits for ep->mutex, and is not legal in CONNECTED */
static DAT_RETURN ep_modify_own(void)
{
	return modify(&with.ep);
}

static DAT_RETURN ep_connect(void)
{
	return dat_ep_connect(with.fresh.handle, (DAT_IA_ADDRESS_PTR)&sp_env->ia->addr, SP_QUAL + 9,
			      1000000, 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN ep_dup_connect(void)
{
	return dat_ep_dup_connect(with.fresh.handle, with.other.handle, 1000000, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN ep_reset(void)
{
	return dat_ep_reset(with.other.handle);
}

static DAT_RETURN ep_reset_own(void)
{
	return dat_ep_reset(with.ep.handle);
}

static DAT_RETURN ep_free(void)
{
	DAT_RETURN ret = dat_ep_free(with.other.handle);

	with.other.handle = DAT_HANDLE_NULL;
	return ret;
}

static DAT_RETURN ep_free_own(void)
{
	return dat_ep_free(with.ep.handle);
}

/* Waits for ep->mutex. A request without a peer cannot be accepted here */
static DAT_RETURN cr_accept(void)
{
	return dat_cr_accept(with.cr[0], with.ep.handle, 0, NULL);
}

static DAT_RETURN cr_reject(void)
{
	return dat_cr_reject(with.cr[1], 0, NULL);
}

static DAT_RETURN psp_create(void)
{
	DAT_PSP_HANDLE psp;

	return dat_psp_create(sp_ia(), SP_QUAL + 7, with.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
}

static DAT_RETURN psp_free(void)
{
	return dat_psp_free(with.psp);
}

static DAT_RETURN rsp_create(void)
{
	DAT_RSP_HANDLE rsp;

	return dat_rsp_create(sp_ia(), SP_QUAL + 8, with.fresh.handle, with.cr_evd, &rsp);
}

static DAT_RETURN rsp_free(void)
{
	return dat_rsp_free(with.rsp);
}

#define ROW(call, type)	{ call, type, #call }

/* In the order in which they are called: some rows need the result of an earlier one */
static const struct row {
	DAT_RETURN (*call)(void);
	u32 type;
	const char *name;
} rows[] = {
	ROW(registry_list, DAT_SUCCESS), ROW(registry_notify, DAT_INVALID_STATE),
	ROW(registry_unnotify, DAT_INVALID_STATE), ROW(ia_openv, DAT_PROVIDER_NOT_FOUND),
	ROW(ia_close, DAT_INVALID_STATE), ROW(evd_kcreate, DAT_SUCCESS),
	ROW(evd_resize, DAT_SUCCESS), ROW(evd_teardown, DAT_INVALID_STATE),
	ROW(evd_free, DAT_INVALID_STATE), ROW(pz_create, DAT_SUCCESS),
	ROW(lmr_kcreate, DAT_SUCCESS), ROW(lmr_free, DAT_SUCCESS),
	ROW(lmr_allocate, DAT_SUCCESS), ROW(rmr_create, DAT_SUCCESS),
	ROW(rmr_free, DAT_SUCCESS), ROW(srq_create, DAT_SUCCESS),
	ROW(srq_resize, DAT_SUCCESS), ROW(srq_set_lw, DAT_SUCCESS),
	ROW(srq_free, DAT_SUCCESS), ROW(pz_free, DAT_SUCCESS),
	ROW(ep_create, DAT_SUCCESS), ROW(ep_create_with_srq, DAT_SUCCESS),
	ROW(ep_modify, DAT_SUCCESS), ROW(ep_modify_own, DAT_INVALID_STATE),
	ROW(rsp_create, DAT_INSUFFICIENT_RESOURCES), ROW(rsp_free, DAT_SUCCESS),
	ROW(psp_create, DAT_INSUFFICIENT_RESOURCES), ROW(cr_accept, DAT_INVALID_STATE),
	ROW(cr_reject, DAT_SUCCESS), ROW(psp_free, DAT_SUCCESS),
	ROW(ep_dup_connect, DAT_INVALID_STATE), ROW(ep_connect, DAT_INVALID_ADDRESS),
	ROW(ep_reset, DAT_SUCCESS), ROW(ep_reset_own, DAT_INVALID_STATE),
	ROW(ep_free, DAT_SUCCESS), ROW(ep_free_own, DAT_INVALID_STATE),
};

/* The rows that kDAPL refuses where bottom halves are off: others would sleep there */
static const struct row refused[] = {
	ROW(ia_close, DAT_INVALID_STATE), ROW(evd_teardown, DAT_INVALID_STATE),
	ROW(evd_free, DAT_INVALID_STATE), ROW(ep_reset, DAT_INVALID_STATE),
	ROW(ep_reset_own, DAT_INVALID_STATE), ROW(ep_free_own, DAT_INVALID_STATE),
	ROW(registry_notify, DAT_INVALID_STATE), ROW(registry_unnotify, DAT_INVALID_STATE),
};

static struct {
	const struct row *rows;
	u32 nrows;
	bool bh_off;
	atomic_t n;
	DAT_RETURN ret[ARRAY_SIZE(rows)];
} seen;

static void upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	u32 i;

	seen.bh_off = in_softirq();
	for (i = 0; i < seen.nrows; i++)
		seen.ret[i] = seen.rows[i].call();
	atomic_inc(&seen.n);
}

static void prepare(struct kunit *test, DAT_EVD_FLAGS context)
{
	struct kdapl_sp *psp;
	u32 i;

	KUNIT_ASSERT_EQ(test, tp_ep_create_in(sp_env, context, NULL, false, &with.ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&with.ep), 0);
	KUNIT_ASSERT_EQ(test, tp_ep_beside(sp_env, &with.ep, &with.other), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&with.other), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(with.other.handle, DAT_CLOSE_ABRUPT_FLAG),
			DAT_SUCCESS);
	KUNIT_ASSERT_TRUE(test, tp_wait_end(sp_env, &with.other));
	KUNIT_ASSERT_EQ(test, tp_ep_create(sp_env, NULL, false, &with.reserved), DAT_SUCCESS);
	with.rsp = sp_handle(sp_make(test, sp_evd, SP_QUAL + 2, &with.reserved));
	psp = sp_make(test, sp_evd, SP_QUAL, NULL);
	with.psp = sp_handle(psp);
	for (i = 0; i < ARRAY_SIZE(with.cr); i++) {
		KUNIT_ASSERT_TRUE(test, sp_request(psp, i));
		with.cr[i] = sp_announced(test, sp_evd, psp);
	}
	with.cr_evd = sp_make_evd(test, 4);
	with.spare_evd = with.cr_evd;
}

static void make_calls(struct kunit *test, const struct row *list, u32 n)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall };
	u32 i;

	seen.rows = list;
	seen.nrows = n;
	dat_evd_modify_upcall(with.ep.request_evd, DAT_UPCALL_SINGLE_INSTANCE, &object,
			      DAT_UPCALL_INVOC_NEW);
	KUNIT_ASSERT_EQ(test, tp_post_one(sp_env, &with.ep, TP_SEND, 1, 0), DAT_SUCCESS);
	fake_complete_send(tp_qp(&with.ep), IB_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(atomic_read(&seen.n) == 1));
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(seen.ret[i]), list[i].type, "%s",
				    list[i].name);
}

static void class_P_calls_in_an_upcall_that_may_sleep(struct kunit *test)
{
	kdapl_clauses(test, "E-08");
	prepare(test, KDAT_EVD_PROCESS_FLAG);
	make_calls(test, rows, ARRAY_SIZE(rows));
	KUNIT_EXPECT_FALSE(test, seen.bh_off);
	/* The upcall has ended */
	KUNIT_EXPECT_EQ(test, dat_ep_free(with.ep.handle), DAT_SUCCESS);
}

static void class_P_calls_that_are_refused_in_softirq(struct kunit *test)
{
	kdapl_clauses(test, "E-08");
	prepare(test, 0);
	make_calls(test, refused, ARRAY_SIZE(refused));
	KUNIT_EXPECT_TRUE(test, seen.bh_off);
}

/* ---- suite ------------------------------------------------------------------------ */

static int class_p_init(struct kunit *test)
{
	memset(&with, 0, sizeof(with));
	memset(&seen, 0, sizeof(seen));
	return sp_init(test);
}

static struct kunit_case class_p_cases[] = {
	KUNIT_CASE(class_P_calls_in_an_upcall_that_may_sleep),
	KUNIT_CASE(class_P_calls_that_are_refused_in_softirq),
	{}
};

static struct kunit_suite class_p_suite = {
	.name = "kdapl_class_p",
	.init = class_p_init,
	.exit = sp_exit,
	.test_cases = class_p_cases,
};

kunit_test_suite(class_p_suite);
