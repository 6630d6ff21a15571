// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: objects with users, and freed regions.
 *
 * A zone, an SRQ or an EVD cannot be freed before its last user. A freed region cannot be
 * used by posts, by peers, or with a stale context. Addresses that are not memory are
 * refused, and so are calls that the model does not support. Runs in a KUnit thread.
 */
#include <linux/vmalloc.h>
#include "clause.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static DAT_IA_HANDLE ia_handle(void)
{
	return kdapl_obj_handle(&env->ia->obj);
}

static DAT_RETURN lmr_create(void *va, u64 length, DAT_PZ_HANDLE pz, DAT_LMR_HANDLE *lmr,
			     DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *key)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };
	DAT_VADDR address;
	DAT_VLEN size;

	return dat_lmr_kcreate(ia_handle(), DAT_MEM_TYPE_VIRTUAL, region, length, pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       lmr, context, key, &size, &address);
}

/* ---- users ------------------------------------------------------------------------ */

static void users_keep_a_zone_and_leave_it(struct kunit *test)
{
	DAT_SRQ_ATTR srq_attr = {
		.max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	DAT_PZ_HANDLE own = env->own.pz, pz;
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT key;
	DAT_SRQ_HANDLE srq;

	KUNIT_ASSERT_EQ(test, dat_pz_create(ia_handle(), &pz), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, lmr_create(env->buf, 64, pz, &lmr, &context, &key), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_pz_free(pz), DAT_INVALID_STATE);
	KUNIT_ASSERT_EQ(test, dat_srq_create(ia_handle(), pz, &srq_attr, &srq), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_pz_free(pz), DAT_INVALID_STATE);
	env->own.pz = pz;
	KUNIT_EXPECT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	env->own.pz = own;
	KUNIT_EXPECT_EQ(test, dat_srq_free(srq), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_pz_free(pz), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, dat_evd_free(ep.recv_evd), DAT_INVALID_STATE);
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, dat_pz_free(pz), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_pz_free(pz), DAT_INVALID_HANDLE);
}

static void endpoints_keep_an_SRQ_until_they_leave(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_srq_free(env->srq_handle), DAT_INVALID_STATE);
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, dat_srq_free(env->srq_handle), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_srq_free(env->srq_handle), DAT_INVALID_HANDLE);
}

/* ---- regions ---------------------------------------------------------------------- */

static void L_05_a_freed_region_is_not_accessible(struct kunit *test)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT key;
	struct tp_args args;
	enum tp_call call;

	kdapl_clauses(test, "L-05 S-41");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, lmr_create(env->buf, TP_BUF, env->own.pz, &lmr, &context, &key),
			DAT_SUCCESS);
	KUNIT_EXPECT_NE(test, key, 0);
	KUNIT_EXPECT_NE(test, env->fake->invalidated, key);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
	/* Peers: the device has executed the invalidation before the call returned */
	KUNIT_EXPECT_EQ(test, env->fake->invalidated, key);
	/* Posts: the context is invalid at once */
	for (call = 0; call < TP_NCALLS; call++) {
		tp_args(env, &ep, call, &args);
		args.segs[0].lmr_context = context;
		TP_EXPECT_TYPE(test, tp_post(call, &args), DAT_PRIVILEGES_VIOLATION);
	}
	TP_EXPECT_TYPE(test, dat_lmr_free(lmr), DAT_INVALID_HANDLE);
}

#define CONTEXTS	600

/* An index is reused after some time, with another generation */
static void L_08_a_context_is_not_reused(struct kunit *test)
{
	u32 reused = 0, i, k;
	u32 *old = kunit_kcalloc(test, CONTEXTS, sizeof(*old), GFP_KERNEL);
	u32 *new = kunit_kcalloc(test, CONTEXTS, sizeof(*new), GFP_KERNEL);

	kdapl_clauses(test, "L-08");
	KUNIT_ASSERT_NOT_NULL(test, old);
	KUNIT_ASSERT_NOT_NULL(test, new);
	for (i = 0; i < CONTEXTS; i++)
		KUNIT_ASSERT_NOT_NULL(test, kdapl_lmr_desc_get(NULL, &old[i]));
	for (i = 0; i < CONTEXTS; i++)
		kdapl_lmr_desc_put(old[i]);
	for (i = 0; i < CONTEXTS; i++)
		KUNIT_ASSERT_NOT_NULL(test, kdapl_lmr_desc_get(NULL, &new[i]));
	for (i = 0; i < CONTEXTS; i++) {
		for (k = 0; k < CONTEXTS; k++) {
			if (kdapl_lmr_index(new[i]) != kdapl_lmr_index(old[k]))
				continue;
			reused++;
			KUNIT_EXPECT_EQ(test, kdapl_lmr_generation(new[i]),
					kdapl_lmr_generation(old[k]) + 1);
		}
	}
	KUNIT_EXPECT_GT(test, reused, 0);
	for (i = 0; i < CONTEXTS; i++)
		kdapl_lmr_desc_put(new[i]);
}

static void L_01_L_02_an_address_that_is_no_memory(struct kunit *test)
{
	u8 *mapped = vzalloc(PAGE_SIZE);
	DAT_PADDR frames[] = { virt_to_phys(env->buf) & PAGE_MASK, 1ULL << 51 };
	DAT_REGION_DESCRIPTION physical = { .for_physical = frames };
	const struct {
		void *va;
		u64 length;
	} bad[] = {
		{ mapped + PAGE_SIZE, 1 },		/* the page after it is a guard */
		{ mapped, PAGE_SIZE + 1 },
		{ mapped + PAGE_SIZE - 1, 2 },
		{ (void *)PAGE_SIZE, 16 },		/* the user's part */
		{ (void *)ULONG_MAX, 2 },		/* a wrap */
	};
	int live = atomic_read(&env->fake->live);
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT key;
	DAT_VADDR address;
	DAT_VLEN size;
	u32 i;

	kdapl_clauses(test, "L-01 L-02");
	KUNIT_ASSERT_NOT_NULL(test, mapped);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		TP_EXPECT_TYPE(test, lmr_create(bad[i].va, bad[i].length, env->own.pz, &lmr,
						&context, &key), DAT_INVALID_PARAMETER);
	for (i = 0; i < 2; i++) {
		TP_EXPECT_TYPE(test, dat_lmr_kcreate(ia_handle(), DAT_MEM_TYPE_PHYSICAL, physical,
						     2 * PAGE_SIZE, env->own.pz,
						     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
						     DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &context,
						     &key, &size, &address),
			       DAT_INVALID_PARAMETER);
		swap(frames[0], frames[1]);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), live);
	KUNIT_ASSERT_EQ(test, lmr_create(mapped, PAGE_SIZE, env->own.pz, &lmr, &context, &key),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
	vfree(mapped);
}

/* ---- calls without a place in our model ------------------------------------------------ */

static void unsupported_calls(struct kunit *test)
{
	DAT_DTO_COOKIE cookie = { };
	DAT_COUNT bufs, span;
	DAT_LMR_CONTEXT context;
	DAT_RMR_TRIPLET rmr;
	DAT_HANDLE h;

	kdapl_clauses(test, "T-07");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_ia_reserved_lmr(ia_handle(), &h, &context),
		       DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_ep_common_connect(ep.handle, NULL, 1, 0, NULL),
		       DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_ep_recv_query(ep.handle, &bufs, &span), DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_ep_set_watermark(ep.handle, 1, 1), DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_ep_post_rdma_read_to_rmr(ep.handle, &rmr, cookie, &rmr, 0),
		       DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_rmr_create_for_ep(env->own.pz, &h), DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_csp_create(ia_handle(), NULL, NULL, NULL, &h),
		       DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_csp_query(NULL, 0, NULL), DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_csp_free(NULL), DAT_MODEL_NOT_SUPPORTED);
	/* Wrong arguments are still reported */
	TP_EXPECT_TYPE(test, dat_ia_reserved_lmr(ep.handle, &h, &context), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_ia_reserved_lmr(ia_handle(), NULL, &context),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_ep_recv_query(ep.handle, NULL, &span), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_ep_set_watermark(ep.handle, -2, 1), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_rmr_create_for_ep(ep.handle, &h), DAT_INVALID_HANDLE);
}

/* ---- a CQ that endpoints of an SRQ share ------------------------------------------ */

#define SHARERS 20

static struct kdapl_ep *ep_of(DAT_EP_HANDLE handle)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_EP);

	kdapl_obj_put(obj);
	return to_kdapl_ep(obj);
}

/* A shared CQ has room for everything outstanding; otherwise a new one is created */
static void E_20_a_shared_CQ_has_room_for_all_of_its_endpoints(struct kunit *test)
{
	DAT_EP_HANDLE handle[SHARERS] = { };
	u32 i, k, cqes, cqs = 0;
	struct kdapl_cq *kcq;
	DAT_EVD_HANDLE evd;
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "E-20");
	tp_attr(&attr);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia_handle(), 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &evd),
			DAT_SUCCESS);
	for (i = 0; i < SHARERS; i++)
		KUNIT_ASSERT_EQ(test, dat_ep_create_with_srq(ia_handle(), env->own.pz, evd, evd,
							     evd, env->srq_handle, &attr,
							     &handle[i]), DAT_SUCCESS);
	for (i = 0; i < SHARERS; i++) {
		kcq = ep_of(handle[i])->queue.cq;
		cqes = TP_DEPTH;
		for (k = 0; k < SHARERS; k++) {
			if (ep_of(handle[k])->queue.cq != kcq)
				continue;
			/* A rebind is two requests */
			cqes += 2 * TP_DEPTH + KDAPL_CQ_RESERVED;
			/* Count each CQ once, at its first endpoint */
			if (k < i)
				break;
			cqs += k == i;
		}
		if (k == SHARERS)
			KUNIT_EXPECT_GE(test, to_fake_cq(kcq->cq)->size, cqes);
	}
	KUNIT_EXPECT_GT(test, cqs, 1);
	/* They must share CQs */
	KUNIT_EXPECT_LT(test, cqs, SHARERS);
	for (i = 0; i < SHARERS; i++)
		KUNIT_EXPECT_EQ(test, dat_ep_free(handle[i]), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
}

/* ---- suite -------------------------------------------------------------------------------- */

static int usage_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void usage_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	tp_ep_free(&ep);
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case usage_cases[] = {
	KUNIT_CASE(users_keep_a_zone_and_leave_it),
	KUNIT_CASE(endpoints_keep_an_SRQ_until_they_leave),
	KUNIT_CASE(L_05_a_freed_region_is_not_accessible),
	KUNIT_CASE(L_08_a_context_is_not_reused),
	KUNIT_CASE(L_01_L_02_an_address_that_is_no_memory),
	KUNIT_CASE(unsupported_calls),
	KUNIT_CASE(E_20_a_shared_CQ_has_room_for_all_of_its_endpoints),
	{}
};

static struct kunit_suite usage_suite = {
	.name = "kdapl_usage",
	.init = usage_init,
	.exit = usage_exit,
	.test_cases = usage_cases,
};

kunit_test_suite(usage_suite);
