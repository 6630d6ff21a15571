// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: every call of class P in each context, as the table in kdapl-locking.rst says.
 *
 * A table has a row for each call and a column for each kind of context: upcalls with bottom
 * halves off, upcalls that may sleep, callbacks of a watch, and none of them. Each test makes the
 * calls once, in one context, and compares the return values with its column. The IA has an
 * address, so that calls that listen or connect succeed; what follows them has no peer.
 * Runs in a KUnit thread; each test has its own device.
 */
#include <linux/netdevice.h>
#include "addr_kunit.h"
#include "sp_kunit.h"

/* Objects for the calls; each is used by one row, which may free it, unless a row says otherwise */
static struct {
	struct tp_ep ep;		/* DISCONNECTED; its event is delivered */
	struct tp_ep other;		/* on the same EVDs, DISCONNECTED */
	struct tp_ep connected;
	struct tp_ep fresh, second, third;	/* not connected */
	DAT_EVD_HANDLE spare_evd, cr_evd, made_evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr, fmr;
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;
	DAT_CR_HANDLE cr[2];
	DAT_HANDLE psp, rsp;
	DAT_IA_HANDLE ia, opened[2];
	char name[DAT_NAME_MAX_LENGTH];
} with;

/* A call that is one expression */
#define CALL(name, expression)		\
	static DAT_RETURN name(void)	\
	{				\
		return expression;	\
	}

static DAT_RETURN registry_list(void)
{
	DAT_PROVIDER_INFO info, *list[] = { &info };
	DAT_COUNT n;

	return dat_registry_list_providers(1, &n, list);
}

static DAT_RETURN registry_add(void)
{
	static const DAT_PROVIDER_INFO info;

	return dat_registry_add_provider((const DAT_PROVIDER *)&info, &info);
}

static DAT_RETURN registry_remove(void)
{
	static const DAT_PROVIDER_INFO info;

	return dat_registry_remove_provider((const DAT_PROVIDER *)&info, &info);
}

static DAT_RETURN registry_related(void)
{
	DAT_HA_RELATIONSHIP answer;

	return dat_registry_providers_related(with.name, with.name, &answer);
}

static void ignore_name(DAT_PVOID context, DAT_NAME_PTR ia_name, DAT_BOOLEAN present)
{
}

/* The first is registered before the calls, the second by one of them */
static struct kdat_registry_watch watch[] = {
	{ .callback = ignore_name }, { .callback = ignore_name }
};

CALL(registry_notify, kdat_registry_notify(&watch[1]))
CALL(registry_unnotify, kdat_registry_unnotify(&watch[0]))

static DAT_RETURN ia_openv(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_openv(with.name, 1, &async, &with.opened[0], DAT_VERSION_MAJOR,
			    DAT_VERSION_MINOR, DAT_TRUE);
}

/* kdat_ia_openv() */
static DAT_RETURN ia_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open(with.name, 1, &async, &with.opened[1]);
}

CALL(ia_close, dat_ia_close(with.ia, DAT_CLOSE_ABRUPT_FLAG))

static DAT_RETURN evd_kcreate(void)
{
	return dat_evd_kcreate(sp_ia(), 1, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG,
			       &with.made_evd);
}

CALL(evd_resize, dat_evd_resize(with.made_evd, 2))
CALL(evd_free, dat_evd_free(with.spare_evd))

static DAT_RETURN evd_teardown(void)
{
	return dat_evd_modify_upcall(with.spare_evd, DAT_UPCALL_TEARDOWN, NULL,
				     DAT_UPCALL_INVOC_NEW);
}

CALL(pz_create, dat_pz_create(sp_ia(), &with.pz))

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

CALL(lmr_free, dat_lmr_free(with.lmr))

static DAT_RETURN lmr_allocate(void)
{
	return dat_lmr_allocate(sp_ia(), with.pz, 1, DAT_LMR_SCOPE_PZ, &with.fmr) ?:
	       dat_lmr_free(with.fmr);
}

CALL(rmr_create, dat_rmr_create(with.pz, &with.rmr))
CALL(rmr_free, dat_rmr_free(with.rmr))

static DAT_RETURN srq_create(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };

	return dat_srq_create(sp_ia(), with.pz, &attr, &with.srq);
}

CALL(srq_resize, dat_srq_resize(with.srq, 8))
CALL(srq_set_lw, dat_srq_set_lw(with.srq, 1))
CALL(srq_free, dat_srq_free(with.srq))
CALL(pz_free, dat_pz_free(with.pz))
CALL(ep_create, tp_ep_create(sp_env, NULL, false, &with.fresh))

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

CALL(ep_modify, modify(&with.fresh))

/* Takes the mutex of an EP whose event an upcall delivers. The EP is DISCONNECTED */
CALL(ep_modify_own, modify(&with.ep))

static DAT_RETURN ep_connect(void)
{
	return dat_ep_connect(with.fresh.handle, (DAT_IA_ADDRESS_PTR)&sp_env->ia->addr, SP_QUAL + 9,
			      DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN ep_dup_connect(void)
{
	return dat_ep_dup_connect(with.second.handle, with.connected.handle, DAT_TIMEOUT_INFINITE,
				  0, NULL, DAT_QOS_BEST_EFFORT);
}

CALL(ep_reset, dat_ep_reset(with.other.handle))
CALL(ep_reset_own, dat_ep_reset(with.ep.handle))
CALL(ep_free, dat_ep_free(with.other.handle))
CALL(ep_free_own, dat_ep_free(with.ep.handle))
CALL(cr_accept, dat_cr_accept(with.cr[0], with.third.handle, 0, NULL))
CALL(cr_reject, dat_cr_reject(with.cr[1], 0, NULL))

static DAT_RETURN psp_create(void)
{
	DAT_PSP_HANDLE psp;

	return dat_psp_create(sp_ia(), SP_QUAL + 7, with.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
}

static DAT_RETURN psp_create_any(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	return dat_psp_create_any(sp_ia(), &qual, with.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
}

CALL(psp_free, dat_psp_free(with.psp))
CALL(rsp_create, dat_rsp_create(sp_ia(), SP_QUAL + 8, with.fresh.handle, with.cr_evd, &with.rsp))
CALL(rsp_free, dat_rsp_free(with.rsp))

/* ---- the table ------------------------------------------------------------------------- */

enum column {
	BH_OFF,				/* an upcall with bottom halves off */
	SLEEPS,				/* an upcall that may sleep */
	WATCH,				/* a callback of a watch */
	PLAIN,
	NCOLUMNS
};

#define YES	DAT_SUCCESS
#define REFUSED	DAT_INVALID_STATE
#define NO	U32_MAX			/* the call would sleep, so the test does not make it */
#define STATE	DAT_INVALID_STATE	/* legal here, but not in the state of the EP */
#define NONE	DAT_MODEL_NOT_SUPPORTED	/* legal, but kDAPL has nothing like that */

#define ROW(call, ...)	{ call, #call, { __VA_ARGS__ } }

/* In the order in which they are called: some rows need the result of an earlier one */
static const struct row {
	DAT_RETURN (*call)(void);
	const char *name;
	u32 type[NCOLUMNS];
} rows[] = {
	ROW(registry_list, NO, YES, YES, YES), ROW(registry_add, NO, NONE, NONE, NONE),
	ROW(registry_remove, NO, NONE, NONE, NONE), ROW(registry_related, NO, YES, YES, YES),
	ROW(registry_notify, REFUSED, REFUSED, REFUSED, YES),
	ROW(registry_unnotify, REFUSED, REFUSED, REFUSED, YES),
	ROW(ia_openv, NO, YES, YES, YES), ROW(ia_open, NO, YES, YES, YES),
	ROW(ia_close, REFUSED, REFUSED, YES, YES),
	ROW(evd_kcreate, NO, YES, YES, YES), ROW(evd_resize, NO, YES, YES, YES),
	ROW(evd_teardown, REFUSED, REFUSED, YES, YES),
	ROW(evd_free, REFUSED, REFUSED, YES, YES),
	ROW(pz_create, NO, YES, YES, YES), ROW(lmr_kcreate, NO, YES, YES, YES),
	ROW(lmr_free, NO, YES, YES, YES), ROW(lmr_allocate, NO, YES, YES, YES),
	ROW(rmr_create, NO, YES, YES, YES), ROW(rmr_free, NO, YES, YES, YES),
	ROW(srq_create, NO, YES, YES, YES), ROW(srq_resize, NO, YES, YES, YES),
	ROW(srq_set_lw, NO, YES, YES, YES), ROW(srq_free, NO, YES, YES, YES),
	ROW(pz_free, NO, YES, YES, YES), ROW(ep_create, NO, YES, YES, YES),
	ROW(ep_create_with_srq, NO, YES, YES, YES), ROW(ep_modify, NO, YES, YES, YES),
	ROW(ep_modify_own, NO, STATE, STATE, STATE),
	ROW(rsp_create, NO, YES, YES, YES), ROW(rsp_free, NO, YES, YES, YES),
	ROW(psp_create, NO, YES, YES, YES), ROW(psp_create_any, NO, YES, YES, YES),
	ROW(psp_free, NO, YES, YES, YES),
	ROW(cr_accept, NO, YES, YES, YES), ROW(cr_reject, NO, YES, YES, YES),
	ROW(ep_connect, NO, YES, YES, YES), ROW(ep_dup_connect, NO, YES, YES, YES),
	ROW(ep_reset, REFUSED, YES, YES, YES), ROW(ep_reset_own, REFUSED, REFUSED, YES, YES),
	ROW(ep_free, REFUSED, YES, YES, YES), ROW(ep_free_own, REFUSED, REFUSED, YES, YES),
};

static struct {
	enum column column;
	bool bh_off, worker;
	const struct task_struct *task;
	atomic_t n;
	DAT_RETURN ret[ARRAY_SIZE(rows)];
} seen;

static void make_calls(void)
{
	u32 i;

	seen.bh_off = in_softirq();
	seen.worker = !in_serving_softirq() && (current->flags & PF_WQ_WORKER);
	seen.task = current;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].type[seen.column] != NO)
			seen.ret[i] = rows[i].call();
	atomic_inc(&seen.n);
}

static void upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	if (!atomic_read(&seen.n))
		make_calls();
}

static void callback(DAT_PVOID context, DAT_NAME_PTR ia_name, DAT_BOOLEAN present)
{
	if (!atomic_read(&seen.n))
		make_calls();
}

/* ---- objects --------------------------------------------------------------------------- */

static void prepare_requests(struct kunit *test)
{
	struct kdapl_obj *obj;
	u32 i;

	KUNIT_ASSERT_EQ(test, dat_psp_create(sp_ia(), SP_QUAL, sp_evd, DAT_PSP_CONSUMER_FLAG,
					     &with.psp), DAT_SUCCESS);
	obj = kdapl_obj_get(with.psp, DAT_HANDLE_TYPE_PSP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	kdapl_obj_put(obj);
	for (i = 0; i < ARRAY_SIZE(with.cr); i++) {
		KUNIT_ASSERT_TRUE(test, sp_request(to_kdapl_sp(obj), i));
		with.cr[i] = sp_announced(test, sp_evd, to_kdapl_sp(obj));
		/* As the id of a request, it belongs to a device */
		KUNIT_ASSERT_EQ(test, rdma_bind_addr(sp_cr(with.cr[i])->id,
						     (struct sockaddr *)&sp_env->ia->addr), 0);
	}
	with.cr_evd = sp_make_evd(test, 4);
	with.spare_evd = sp_make_evd(test, 4);
}

static void disconnect(struct kunit *test, struct tp_ep *tep)
{
	KUNIT_ASSERT_EQ(test, tp_connect(tep), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(tep->handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_ASSERT_TRUE(test, tp_wait_end(sp_env, tep));
}

static void prepare_eps(struct kunit *test, DAT_EVD_FLAGS context)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create_in(sp_env, context, NULL, false, &with.ep), DAT_SUCCESS);
	disconnect(test, &with.ep);
	KUNIT_ASSERT_EQ(test, tp_ep_beside(sp_env, &with.ep, &with.other), DAT_SUCCESS);
	disconnect(test, &with.other);
	KUNIT_ASSERT_EQ(test, tp_ep_create(sp_env, NULL, false, &with.second), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(sp_env, NULL, false, &with.third), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(sp_env, NULL, false, &with.connected), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&with.connected), 0);
	/* To what it would have connected */
	spin_lock_irq(&with.connected.ep->lock);
	with.connected.ep->conn.remote = sp_env->ia->addr;
	with.connected.ep->conn.qual = SP_QUAL + 9;
	spin_unlock_irq(&with.connected.ep->lock);
}

static void prepare(struct kunit *test, enum column column, DAT_EVD_FLAGS context)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	seen.column = column;
	addr_ipoib_make(test);
	prepare_requests(test);
	prepare_eps(test, context);
	snprintf(with.name, sizeof(with.name), "%s@%pI6c", addr_ipoib->name,
		 &((struct sockaddr_in6 *)&sp_env->ia->addr)->sin6_addr);
	KUNIT_ASSERT_EQ(test, dat_ia_open(with.name, 1, &async, &with.ia), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, kdat_registry_notify(&watch[0]), DAT_SUCCESS);
}

static void set_upcall(struct kunit *test, DAT_UPCALL_FLAG flag)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall };

	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(with.ep.request_evd, DAT_UPCALL_SINGLE_INSTANCE,
						    &object, flag), DAT_SUCCESS);
}

/* Completes as flushed, because the EP is DISCONNECTED */
static void post(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_post_one(sp_env, &with.ep, TP_SEND, 1, 0), DAT_SUCCESS);
}

/* ---- results --------------------------------------------------------------------------- */

/* What was refused has changed nothing */
static void expect_unchanged(struct kunit *test)
{
	DAT_EVD_PARAM evd;
	DAT_EP_STATE state;

	KUNIT_EXPECT_EQ(test, dat_evd_query(with.spare_evd, DAT_EVD_FIELD_UPCALL_POLICY, &evd),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, evd.upcall_policy, DAT_UPCALL_DISABLE);
	KUNIT_EXPECT_EQ(test, dat_evd_free(with.spare_evd), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_get_status(with.ep.handle, &state, NULL, NULL), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, state, DAT_EP_STATE_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_ep_free(with.ep.handle), DAT_SUCCESS);
	if (seen.column == BH_OFF)
		KUNIT_EXPECT_EQ(test, dat_ep_free(with.other.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ia_close(with.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void expect_watches(struct kunit *test)
{
	bool refused = seen.column != PLAIN;

	TP_EXPECT_TYPE(test, kdat_registry_unnotify(&watch[0]),
		       refused ? DAT_SUCCESS : DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, kdat_registry_unnotify(&watch[1]),
		       refused ? DAT_INVALID_PARAMETER : DAT_SUCCESS);
}

static void expect_results(struct kunit *test)
{
	u32 i, want;

	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(atomic_read(&seen.n) == 1));
	KUNIT_EXPECT_EQ(test, seen.bh_off, seen.column == BH_OFF);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		want = rows[i].type[seen.column];
		if (want != NO)
			KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(seen.ret[i]), want, "%s",
					    rows[i].name);
	}
	if (seen.column == BH_OFF || seen.column == SLEEPS)
		expect_unchanged(test);
	expect_watches(test);
}

/* ---- the contexts ------------------------------------------------------------------------ */

static void in_a_done_callback(struct kunit *test)
{
	kdapl_clauses(test, "E-08");
	prepare(test, BH_OFF, 0);
	set_upcall(test, DAT_UPCALL_INVOC_NEW);
	post(test);
	expect_results(test);
	KUNIT_EXPECT_FALSE(test, seen.worker);
}

static void in_a_deferred_upcall(struct kunit *test)
{
	kdapl_clauses(test, "E-08");
	prepare(test, BH_OFF, 0);
	post(test);
	KUNIT_ASSERT_TRUE(test, kdapl_sleep_until(tp_events(with.ep.request_evd) == 1));
	set_upcall(test, DAT_UPCALL_INVOC_ANY);
	expect_results(test);
	KUNIT_EXPECT_TRUE(test, seen.worker);
}

static void in_a_poll(struct kunit *test)
{
	DAT_COUNT n;

	kdapl_clauses(test, "E-08");
	prepare(test, BH_OFF, KDAT_EVD_POLL_FLAG);
	set_upcall(test, DAT_UPCALL_INVOC_NEW);
	/* On a slow machine it would poll first */
	cancel_delayed_work_sync(&with.ep.ep->fast.request_evd->timer);
	post(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.n), 0);
	KUNIT_EXPECT_EQ(test, kdat_evd_poll(with.ep.request_evd, 16, &n), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, n, 1);
	KUNIT_EXPECT_PTR_EQ(test, seen.task, current);
	expect_results(test);
}

static void in_an_upcall_after_an_arming(struct kunit *test)
{
	DAT_BOOLEAN again;

	kdapl_clauses(test, "E-08");
	prepare(test, BH_OFF, KDAT_EVD_POLL_FLAG);
	set_upcall(test, DAT_UPCALL_INVOC_NEW);
	KUNIT_ASSERT_EQ(test, kdat_evd_arm(with.ep.request_evd, &again), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, again, DAT_FALSE);
	post(test);
	expect_results(test);
	KUNIT_EXPECT_TRUE(test, seen.worker);
}

static void in_an_upcall_that_may_sleep(struct kunit *test)
{
	kdapl_clauses(test, "E-08");
	prepare(test, SLEEPS, KDAT_EVD_PROCESS_FLAG);
	set_upcall(test, DAT_UPCALL_INVOC_NEW);
	post(test);
	expect_results(test);
	KUNIT_EXPECT_TRUE(test, seen.worker);
}

static void in_a_callback_of_a_watch(struct kunit *test)
{
	struct kdat_registry_watch calling = { .callback = callback };

	kdapl_clauses(test, "E-08");
	prepare(test, WATCH, 0);
	KUNIT_EXPECT_EQ(test, kdat_registry_notify(&calling), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, kdat_registry_unnotify(&calling), DAT_SUCCESS);
	expect_results(test);
}

static void outside_of_any_callback(struct kunit *test)
{
	kdapl_clauses(test, "E-08");
	prepare(test, PLAIN, 0);
	make_calls();
	expect_results(test);
}

/* ---- suite ------------------------------------------------------------------------ */

static int class_p_init(struct kunit *test)
{
	int err;

	memset(&with, 0, sizeof(with));
	memset(&seen, 0, sizeof(seen));
	err = sp_init(test);
	/* For addr_ipoib_make() */
	addr_env = IS_ERR(sp_env) ? NULL : sp_env;
	return err;
}

static void class_p_exit(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(watch); i++)
		kdat_registry_unnotify(&watch[i]);
	dat_ia_close(with.ia, DAT_CLOSE_ABRUPT_FLAG);
	for (i = 0; i < ARRAY_SIZE(with.opened); i++)
		dat_ia_close(with.opened[i], DAT_CLOSE_ABRUPT_FLAG);
	sp_exit(test);
	addr_env = NULL;
	addr_ipoib_remove(&addr_ipoib);
}

static struct kunit_case class_p_cases[] = {
	KUNIT_CASE(in_a_done_callback),
	KUNIT_CASE(in_a_deferred_upcall),
	KUNIT_CASE(in_a_poll),
	KUNIT_CASE(in_an_upcall_after_an_arming),
	KUNIT_CASE(in_an_upcall_that_may_sleep),
	KUNIT_CASE(in_a_callback_of_a_watch),
	KUNIT_CASE(outside_of_any_callback),
	{}
};

static struct kunit_suite class_p_suite = {
	.name = "kdapl_class_p",
	.init = class_p_init,
	.exit = class_p_exit,
	.test_cases = class_p_cases,
};

kunit_test_suite(class_p_suite);
