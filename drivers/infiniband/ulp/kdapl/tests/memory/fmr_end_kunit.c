// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: registrations of dat_lmr_fmr() that do not end with a successful invalidation.
 *
 * Requests that fail, are refused or are flushed; LMRs that are freed; device removal; EPs that
 * have no QP.
 * Afterwards a work item has replaced the MR, or the LMR is bound as before (V-08). Runs
 * in a KUnit thread.
 */
#include "mem_kunit.h"

#define IN_USE	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE)
#define NOT_BOUND DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE)

static struct mem m;

static struct fake_dev *fake(void)
{
	return m.env->fake;
}

static void expect_nothing_valid(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
}

static void post_fmr(struct kunit *test, struct fmr *f)
{
	mem_fmr_args(&m, f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(f), DAT_SUCCESS);
}

/* Registers the LMR and dequeues the event */
static void registered(struct kunit *test, struct fmr *f)
{
	post_fmr(test, f);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f->cookie.as_64, DAT_DTO_SUCCESS);
	mem_expect_fmr(test, &m, true, f->key);
}

/* ---- failures --------------------------------------------------------- */

static void expect_good_as_new(struct kunit *test)
{
	struct tp_ep other;
	struct fmr f;

	mem_second(test, &m, &other);
	mem_fmr_args(&m, &f);
	f.ep = other.handle;
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &other);
	mem_expect(test, &other, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), f.key));
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &other, 1, 0), DAT_SUCCESS);
	mem_finish(&m, &other);
	mem_expect(test, &other, DAT_DTO_LMR_INVALIDATE, 1, DAT_DTO_SUCCESS);
	expect_nothing_valid(test);
	tp_ep_free(&other);
}

static void F_09_F_10_the_registration_fails(struct kunit *test)
{
	struct tp_ep other;
	struct fmr f;

	kdapl_clauses(test, "F-09 F-10 G-31");
	mem_second(test, &m, &other);
	post_fmr(test, &f);
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_MW_BIND_ERR, 0);
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_ERR_LOCAL_MM_ERROR);
	mem_expect_broken(test, &m.ep);
	mem_expect_fmr(test, &m, false, 0);
	TP_EXPECT_TYPE(test, mem_local_use(&m, &other, f.context), DAT_PRIVILEGES_VIOLATION);
	expect_good_as_new(test);
	/* The same on an EP in DISCONNECTED */
	mem_fmr_args(&m, &f);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_ERR_FLUSHED);
	mem_expect_fmr(test, &m, false, 0);
	TP_EXPECT_TYPE(test, mem_local_use(&m, &other, f.context), DAT_PRIVILEGES_VIOLATION);
	expect_good_as_new(test);
	tp_ep_free(&other);
}

static void V_08_flushed_invalidation_keeps_the_registration(struct kunit *test)
{
	struct tp_ep other;
	struct fmr f;

	kdapl_clauses(test, "V-08");
	mem_second(test, &m, &other);
	registered(test, &f);
	fake()->hold_flush = true;
	dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(m.ep.ep->state == DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, mem_local_use(&m, &other, f.context), DAT_PRIVILEGES_VIOLATION);
	fake_release(fake(), tp_qp(&m.ep));
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, 1, DAT_DTO_ERR_FLUSHED);
	mem_expect_fmr(test, &m, true, f.key);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), f.key));
	/* The LMR is found again; the call fails only because the buffer has another address */
	TP_EXPECT_TYPE(test, mem_local_use(&m, &other, f.context), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &other, 2, 0), DAT_SUCCESS);
	mem_finish(&m, &other);
	mem_expect(test, &other, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_SUCCESS);
	expect_nothing_valid(test);
	tp_ep_free(&other);
}

static void V_08_LMR_is_freed_after_a_flushed_invalidation(struct kunit *test)
{
	struct fmr f;

	kdapl_clauses(test, "V-08");
	registered(test, &f);
	dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, 1, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.fmr), DAT_SUCCESS);
	m.fmr = DAT_HANDLE_NULL;
	expect_nothing_valid(test);
}

/* Both requests are outstanding when the first one fails */
static void F_10_registration_fails_with_its_invalidation_posted(struct kunit *test)
{
	struct fmr f;

	kdapl_clauses(test, "F-09 F-10 V-08");
	post_fmr(test, &f);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 2, 0), DAT_SUCCESS);
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_ERR_LOCAL_MM_ERROR);
	mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_ERR_FLUSHED);
	mem_expect_fmr(test, &m, false, 0);
	expect_good_as_new(test);
}

static void F_10_the_invalidation_fails(struct kunit *test)
{
	struct fmr f;

	kdapl_clauses(test, "V-08 G-31");
	registered(test, &f);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, DAT_COMPLETION_SUPPRESS_FLAG),
			DAT_SUCCESS);
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, 1, DAT_DTO_ERR_LOCAL_MM_ERROR);
	mem_expect_broken(test, &m.ep);
	/* It can be freed, whatever state the device has left it in */
	KUNIT_EXPECT_TRUE(test, mem_lmr_goes(m.fmr));
	m.fmr = DAT_HANDLE_NULL;
	expect_nothing_valid(test);
}

static void G_01_refused_by_the_device(struct kunit *test)
{
	struct fmr f;

	kdapl_clauses(test, "G-01");
	mem_fmr_args(&m, &f);
	fake_refuse(fake(), -ENOMEM, 1);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f),
			DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	KUNIT_EXPECT_EQ(test, f.context, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, f.key, 0xdeadbeef);
	mem_expect_fmr(test, &m, false, 0);
	registered(test, &f);
	fake_refuse(fake(), -EINVAL, 1);
	TP_EXPECT_TYPE(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_INTERNAL_ERROR);
	mem_expect_fmr(test, &m, true, f.key);
	TP_EXPECT_TYPE(test, mem_local_use(&m, &m.ep, f.context), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 2, 0), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
}

static void repair_that_finds_no_MR(struct kunit *test)
{
	struct tp_ep other;
	struct fmr f;

	kdapl_clauses(test, "F-05 F-10");
	post_fmr(test, &f);
	fake()->fail_mrs = -ENOMEM;
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	mem_second(test, &m, &other);
	f.ep = other.handle;
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), IN_USE);
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), IN_USE);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &other, 1, 0), NOT_BOUND);
	fake()->fail_mrs = 0;
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(mem_fmr_post(&f) == DAT_SUCCESS));
	mem_finish(&m, &other);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), f.key));
	tp_drain(&other);
	tp_ep_free(&other);
}

/* A Consumer that writes back dirty pages may wait for this work */
static void repair_allocates_without_IO(struct kunit *test)
{
	struct fmr f;

	post_fmr(test, &f);
	/* The fixture has freed an LMR, and that has already set a bit */
	fake()->noio = 0;
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, fake()->noio, FAKE_NOIO_ALLOC_MR | FAKE_NOIO_DEREG_MR);
	/* The free, which runs a grace period later, does not wait for I/O either */
	fake()->noio = 0;
	KUNIT_EXPECT_TRUE(test, mem_lmr_goes(m.fmr));
	m.fmr = DAT_HANDLE_NULL;
	rcu_barrier();
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, fake()->noio, FAKE_NOIO_DEREG_MR);
}

/* ---- free and removal --------------------------------------------------- */

static void B_20_in_use_while_a_request_is_outstanding(struct kunit *test)
{
	struct fmr f;

	kdapl_clauses(test, "F-05 V-08");
	post_fmr(test, &f);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.fmr), IN_USE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.fmr), IN_USE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	/* A registered LMR can be freed, and its key becomes invalid */
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.fmr), DAT_SUCCESS);
	expect_nothing_valid(test);
	TP_EXPECT_TYPE(test, mem_fmr_post(&f), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, mem_local_use(&m, &m.ep, f.context), DAT_PRIVILEGES_VIOLATION);
	m.fmr = DAT_HANDLE_NULL;
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 3);
}

static void device_leaves(struct kunit *test, bool under_way)
{
	struct fmr f;

	registered(test, &f);
	if (under_way)
		KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	fake_dev_unplug(fake());
	KUNIT_EXPECT_EQ(test, atomic_read(&fake()->live), 0);
	if (under_way)
		mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, 1, DAT_DTO_ERR_FLUSHED);
	mem_fmr_args(&m, &f);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 2, 0), DAT_SUCCESS);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_ERR_FLUSHED);
	mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
}

static void C_57_device_leaves_a_registered_LMR(struct kunit *test)
{
	kdapl_clauses(test, "C-57 C-58 F-09 V-08");
	device_leaves(test, false);
}

static void C_57_device_leaves_an_LMR_with_an_invalidation_posted(struct kunit *test)
{
	kdapl_clauses(test, "C-57 C-58 F-09 V-08");
	device_leaves(test, true);
}

/* ---- an EP without a QP -------------------------------------------------- */

/*
 * Creates an EP in @pz that is DISCONNECTED and has no QP. An EP loses its QP if an attempt to
 * connect fails on a device that flushes no QP in INIT.
 */
static void without_QP(struct kunit *test, DAT_PZ_HANDLE pz, struct tp_ep *ep)
{
	DAT_EP_PARAM param = { .pz_handle = pz };

	KUNIT_ASSERT_EQ(test, tp_ep_create(m.env, NULL, false, ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_modify(ep->handle, DAT_EP_FIELD_PZ_HANDLE, &param),
			DAT_SUCCESS);
	tp_set_state(ep, DAT_EP_STATE_DISCONNECTED);
	mutex_lock(&ep->ep->mutex);
	kdapl_ep_drop_verbs(ep->ep);
	mutex_unlock(&ep->ep->mutex);
}

static void F_05_F_07_requests_are_checked_without_a_QP(struct kunit *test)
{
	struct tp_ep ep;
	struct fmr f;

	kdapl_clauses(test, "F-05 F-07 F-09");
	without_QP(test, m.pz, &ep);
	mem_fmr_args(&m, &f);
	f.ep = ep.handle;
	m.page[1]++;
	TP_EXPECT_TYPE(test, mem_fmr_post(&f), DAT_INVALID_PARAMETER);
	m.page[1]--;
	KUNIT_EXPECT_EQ(test, f.context, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_expect(test, &ep, DAT_DTO_LMR_FMR, f.cookie.as_64, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, f.context, 0);
	KUNIT_EXPECT_EQ(test, f.key, 0);
	mem_expect_fmr(test, &m, false, 0);
	registered(test, &f);
	f.ep = ep.handle;
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), IN_USE);
	mem_expect_fmr(test, &m, true, f.key);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
	tp_ep_free(&ep);
}

static void V_06_invalidations_are_checked_without_a_QP(struct kunit *test)
{
	struct tp_ep ep;
	struct fmr f;

	kdapl_clauses(test, "V-06 V-08");
	without_QP(test, m.pz, &ep);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &ep, 1, 0), NOT_BOUND);
	registered(test, &f);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &ep, 2, 0), DAT_SUCCESS);
	mem_expect(test, &ep, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_ERR_FLUSHED);
	mem_expect_fmr(test, &m, true, f.key);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
	tp_ep_free(&ep);
}

/* The zones are also compared after the device was removed */
static void F_08_zones_are_compared_without_a_QP(struct kunit *test)
{
	struct tp_ep ep;
	struct fmr f, other;

	kdapl_clauses(test, "F-08 C-58");
	without_QP(test, m.env->foreign.pz, &ep);
	mem_fmr_args(&m, &other);
	other.ep = ep.handle;
	TP_EXPECT_TYPE(test, mem_fmr_post(&other), DAT_PROTECTION_VIOLATION);
	registered(test, &f);
	TP_EXPECT_TYPE(test, mem_invalidate(&m, &ep, 1, 0), DAT_PROTECTION_VIOLATION);
	fake_dev_unplug(fake());
	TP_EXPECT_TYPE(test, mem_fmr_post(&other), DAT_PROTECTION_VIOLATION);
	TP_EXPECT_TYPE(test, mem_invalidate(&m, &ep, 2, 0), DAT_PROTECTION_VIOLATION);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
	tp_ep_free(&ep);
}

/* ---- suite ------------------------------------------------------------- */

static int fmr_end_init(struct kunit *test)
{
	return mem_setup(test, &m);
}

static void fmr_end_exit(struct kunit *test)
{
	mem_done(test, &m);
}

static struct kunit_case fmr_end_cases[] = {
	KUNIT_CASE(F_09_F_10_the_registration_fails),
	KUNIT_CASE(V_08_flushed_invalidation_keeps_the_registration),
	KUNIT_CASE(V_08_LMR_is_freed_after_a_flushed_invalidation),
	KUNIT_CASE(F_10_registration_fails_with_its_invalidation_posted),
	KUNIT_CASE(F_10_the_invalidation_fails),
	KUNIT_CASE(G_01_refused_by_the_device),
	KUNIT_CASE(repair_that_finds_no_MR),
	KUNIT_CASE(repair_allocates_without_IO),
	KUNIT_CASE(B_20_in_use_while_a_request_is_outstanding),
	KUNIT_CASE(C_57_device_leaves_a_registered_LMR),
	KUNIT_CASE(C_57_device_leaves_an_LMR_with_an_invalidation_posted),
	KUNIT_CASE(F_05_F_07_requests_are_checked_without_a_QP),
	KUNIT_CASE(V_06_invalidations_are_checked_without_a_QP),
	KUNIT_CASE(F_08_zones_are_compared_without_a_QP),
	{}
};

static struct kunit_suite fmr_end_suite = {
	.name = "kdapl_fmr_end",
	.init = fmr_end_init,
	.exit = fmr_end_exit,
	.test_cases = fmr_end_cases,
};

kunit_test_suite(fmr_end_suite);
