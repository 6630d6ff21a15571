// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the Provider attributes of dat_ia_query, and the calls that give advice.
 *
 * Each attribute of the Provider is compared with the behaviour of the calls. The calls
 * dat_ia_memtype_hint and dat_lmr_sync_* check their arguments. Runs in a KUnit thread; each
 * test has its own device.
 */
#include <linux/vmalloc.h>
#include "clause.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;
static DAT_IA_ATTR ia_attr;
static DAT_PROVIDER_ATTR provider;

static DAT_IA_HANDLE ia_handle(void)
{
	return kdapl_obj_handle(&env->ia->obj);
}

static DAT_RETURN make_lmr(void *va, u64 length, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };
	DAT_RMR_CONTEXT key;

	return dat_lmr_kcreate(ia_handle(), DAT_MEM_TYPE_VIRTUAL, region, length, env->own.pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       lmr, context, &key, NULL, NULL);
}

/* ---- what it says ------------------------------------------------------------------------ */

static void expect_merging(struct kunit *test)
{
	static const u32 stream[] = {
		DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG,
		DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
	};
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(stream); i++) {
		for (k = 0; k < ARRAY_SIZE(stream); k++) {
			ret = dat_evd_kcreate(ia_handle(), 1, DAT_UPCALL_DISABLE, NULL,
					      stream[i] | stream[k], &evd);
			KUNIT_EXPECT_EQ_MSG(test, ret == DAT_SUCCESS,
					    provider.evd_stream_merging_supported[i][k] ==
					    DAT_TRUE, "streams %u and %u", i, k);
			if (ret == DAT_SUCCESS)
				KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
		}
	}
}

static DAT_RETURN make_of_type(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, u64 length,
			       DAT_HANDLE *lmr)
{
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;

	return dat_lmr_kcreate(ia_handle(), type, region, length, env->own.pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       lmr, &context, &key, NULL, NULL);
}

/* Each type is accepted, also for advice, if and only if the attribute contains it */
static void expect_memory_types(struct kunit *test)
{
	/* The buffer is larger than two pages, and aligned to its size */
	DAT_PADDR frame = virt_to_phys(env->buf);
	DAT_REGION_DESCRIPTION va = { .for_va = env->buf }, frames = { .for_physical = &frame };
	DAT_REGION_DESCRIPTION large = { }, shared = { };
	struct {
		DAT_MEM_TYPE type;
		DAT_REGION_DESCRIPTION *region;
	} kind[] = {
		{ DAT_MEM_TYPE_VIRTUAL, &va },
		{ DAT_MEM_TYPE_LMR, &shared },
		{ DAT_MEM_TYPE_PHYSICAL, &frames },
		{ DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, &large },
		{ DAT_MEM_TYPE_PLATFORM, &va },
		{ DAT_MEM_TYPE_IA, &va },
		{ DAT_MEM_TYPE_BYPASS, &va },
	};
	DAT_LMR_CONTEXT context;
	DAT_HANDLE source, lmr;
	DAT_VADDR alignment;
	DAT_VLEN length;
	u32 i, want;

	KUNIT_ASSERT_EQ(test, make_lmr(env->buf, PAGE_SIZE, &source, &context), DAT_SUCCESS);
	shared.for_lmr_handle = source;
	large.for_array.page_size = 2 * PAGE_SIZE;
	large.for_array.pages = &frame;
	for (i = 0; i < ARRAY_SIZE(kind); i++) {
		want = !kind[i].type || (kind[i].type & provider.lmr_mem_types_supported) ?
		       DAT_SUCCESS : DAT_MODEL_NOT_SUPPORTED;
		TP_EXPECT_TYPE(test, make_of_type(kind[i].type, *kind[i].region, 64, &lmr), want);
		if (want == DAT_SUCCESS)
			KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
		TP_EXPECT_TYPE(test, dat_ia_memtype_hint(ia_handle(), kind[i].type, 64,
							 DAT_MEM_OPTIMIZE_DONT_CARE, &length,
							 &alignment), want);
	}
	KUNIT_EXPECT_EQ(test, dat_lmr_free(source), DAT_SUCCESS);
}

static void no_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
}

static void expect_upcall_policy(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = no_upcall };
	DAT_EVD_HANDLE evd;

	KUNIT_EXPECT_EQ(test, provider.upcall_policy, DAT_UPCALL_SINGLE_INSTANCE);
	TP_EXPECT_TYPE(test, dat_evd_kcreate(ia_handle(), 1, DAT_UPCALL_MANY, &upcall,
					     DAT_EVD_DTO_FLAG, &evd), DAT_MODEL_NOT_SUPPORTED);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(ia_handle(), 1, provider.upcall_policy, &upcall,
					      DAT_EVD_DTO_FLAG, &evd), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
}

static void E_01_provider_attributes_match_the_behaviour(struct kunit *test)
{
	kdapl_clauses(test, "E-01 E-32");
	expect_merging(test);
	expect_memory_types(test);
	expect_upcall_policy(test);
}

/* The loopback tests the transfer, this case the limit */
static void expect_private_size(struct kunit *test)
{
	struct sockaddr_in peer = { .sin_family = AF_INET };
	u8 data[64] = { };

	KUNIT_ASSERT_LT(test, (u32)provider.max_private_data_size, (u32)sizeof(data));
	TP_EXPECT_TYPE(test, dat_ep_connect(ep.handle, (DAT_IA_ADDRESS_PTR)&peer, 1, 1000000,
					    provider.max_private_data_size + 1, data,
					    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		       DAT_INVALID_PARAMETER);
}

/* An endpoint accepts each reported completion flag, and no other */
static void expect_completion_flags(struct kunit *test)
{
	u32 flag, said = provider.completion_flags_supported, posts;
	DAT_RETURN ret;
	u64 cookie = 1;

	/* Registrations have one more, see fmr_kunit.c */
	posts = said & ~DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
	KUNIT_EXPECT_NE(test, posts, said);
	for (flag = 1; flag; flag <<= 1) {
		ret = tp_post_one(env, &ep, TP_SEND, cookie, flag);
		KUNIT_EXPECT_EQ_MSG(test, ret == DAT_SUCCESS, (flag & posts) != 0, "flag %#x",
				    flag);
		if (ret == DAT_SUCCESS)
			tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	}
	tp_drain(&ep);
}

static void the_provider_supports_its_attributes(struct kunit *test)
{
	DAT_LMR_CONTEXT context;
	DAT_EP_ATTR attr;
	DAT_HANDLE h;

	tp_attr(&attr);
	attr.qos = DAT_QOS_LOW_LATENCY;
	KUNIT_EXPECT_EQ(test, provider.dat_qos_supported, DAT_QOS_BEST_EFFORT);
	TP_EXPECT_TYPE(test, dat_ep_create(ia_handle(), env->own.pz, NULL, NULL, NULL, &attr, &h),
		       DAT_MODEL_NOT_SUPPORTED);
	tp_attr(&attr);
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	expect_private_size(test);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	expect_completion_flags(test);

	KUNIT_EXPECT_EQ(test, ia_attr.reserved_lmr_supported, DAT_FALSE);
	TP_EXPECT_TYPE(test, dat_ia_reserved_lmr(ia_handle(), &h, &context),
		       DAT_MODEL_NOT_SUPPORTED);
	KUNIT_EXPECT_EQ(test, ia_attr.zb_supported, DAT_FALSE);
	KUNIT_EXPECT_EQ(test, provider.rmr_scope_supported, DAT_RMR_SCOPE_PZ);
	TP_EXPECT_TYPE(test, dat_rmr_create_for_ep(env->own.pz, &h), DAT_MODEL_NOT_SUPPORTED);
	KUNIT_EXPECT_EQ(test, provider.srq_supported, DAT_TRUE);
	KUNIT_EXPECT_EQ(test, provider.fmr_supported, DAT_TRUE);
	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(ia_handle(), env->own.pz, FAKE_PAGE_LIST,
					       provider.lmr_for_fmr_scope_supported, &h),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(h), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_lmr_allocate(ia_handle(), env->own.pz, FAKE_PAGE_LIST + 1,
					      provider.lmr_for_fmr_scope_supported, &h),
		       DAT_INVALID_PARAMETER);
}

/* ---- calls that advise ------------------------------------------------------------------- */

static DAT_RETURN hint(DAT_MEM_TYPE type, u64 wish, u64 *length, u64 *alignment)
{
	return dat_ia_memtype_hint(ia_handle(), type, wish, DAT_MEM_OPTIMIZE_DONT_CARE, length,
				   alignment);
}

static void memtype_hint_advises_whole_pages(struct kunit *test)
{
	u64 length, alignment, block;
	DAT_LMR_CONTEXT context;
	DAT_HANDLE lmr;
	void *memory;

	block = ia_attr.max_lmr_block_size;
	KUNIT_EXPECT_EQ(test, hint(DAT_MEM_TYPE_VIRTUAL, 1, &length, &alignment), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, length, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, alignment, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, hint(DAT_MEM_TYPE_PHYSICAL, 0, &length, &alignment), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, length, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, hint(DAT_MEM_TYPE_LMR, PAGE_SIZE + 1, &length, &alignment),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, length, 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, hint(DAT_MEM_TYPE_VIRTUAL, U64_MAX, &length, &alignment),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, length, block);
	/* The advice can be followed */
	memory = vmalloc(length);
	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_EXPECT_EQ(test, make_lmr(memory, length, &lmr, &context), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
	vfree(memory);
	length = 77;
	alignment = 78;
	TP_EXPECT_TYPE(test, dat_ia_memtype_hint(NULL, DAT_MEM_TYPE_VIRTUAL, 1, 0, &length,
						 &alignment), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, hint(3, 1, &length, &alignment), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_ia_memtype_hint(ia_handle(), DAT_MEM_TYPE_VIRTUAL, 1, 8, &length,
						 &alignment), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, hint(DAT_MEM_TYPE_VIRTUAL, 1, NULL, &alignment),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, hint(DAT_MEM_TYPE_VIRTUAL, 1, &length, NULL), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, hint(DAT_MEM_TYPE_PLATFORM, 1, &length, NULL),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, hint(DAT_MEM_TYPE_PLATFORM, 1, &length, &alignment),
		       DAT_MODEL_NOT_SUPPORTED);
	KUNIT_EXPECT_EQ(test, length, 77);
	KUNIT_EXPECT_EQ(test, alignment, 78);
}

static DAT_RETURN sync_both(struct kunit *test, DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *iov,
			    DAT_VLEN n)
{
	DAT_RETURN ret = dat_lmr_sync_rdma_read(ia, iov, n);

	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_write(ia, iov, n), ret);
	return ret;
}

static void sync_calls_check_their_segments(struct kunit *test)
{
	DAT_LMR_TRIPLET iov[3] = { };
	DAT_LMR_CONTEXT context;
	DAT_HANDLE lmr;

	KUNIT_EXPECT_EQ(test, provider.lmr_sync_req, DAT_FALSE);
	KUNIT_ASSERT_EQ(test, make_lmr(env->buf + 16, 64, &lmr, &context), DAT_SUCCESS);
	iov[0].virtual_address = (unsigned long)env->buf + 16;
	iov[0].segment_length = 64;
	iov[0].lmr_context = context;
	/* An empty one is not checked */
	iov[1].virtual_address = 12;
	iov[1].lmr_context = 13;
	iov[2] = iov[0];
	KUNIT_EXPECT_EQ(test, sync_both(test, ia_handle(), NULL, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, sync_both(test, ia_handle(), iov, 3), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, sync_both(test, env->own.pz, iov, 3), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, sync_both(test, ia_handle(), NULL, 1), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, sync_both(test, ia_handle(), iov, 1ULL << 32), DAT_INVALID_PARAMETER);
	iov[2].segment_length = 65;
	TP_EXPECT_TYPE(test, sync_both(test, ia_handle(), iov, 3), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, sync_both(test, ia_handle(), iov, 2), DAT_SUCCESS);
	iov[2] = iov[0];
	iov[2].virtual_address--;
	TP_EXPECT_TYPE(test, sync_both(test, ia_handle(), iov, 3), DAT_INVALID_PARAMETER);
	iov[2].lmr_context = 0;
	TP_EXPECT_TYPE(test, sync_both(test, ia_handle(), iov, 3), DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, sync_both(test, ia_handle(), iov, 1), DAT_INVALID_HANDLE);
}

/* ---- devices that are refused ------------------------------------------------------------ */

static DAT_COUNT listed(void)
{
	DAT_COUNT n = -1;

	dat_registry_list_providers(0, &n, NULL);
	return n;
}

static void devices_that_cannot_serve_are_refused(struct kunit *test)
{
	static const u32 who[] = { FAKE_IS_HNS, FAKE_IS_HFI1 };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[DAT_NAME_MAX_LENGTH];
	DAT_COUNT before = listed();
	DAT_HA_RELATIONSHIP answer;
	struct fake_dev *fake;
	DAT_IA_HANDLE ia;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(who); i++) {
		fake = fake_dev_create_like(who[i], NULL, NULL);
		KUNIT_ASSERT_FALSE(test, IS_ERR(fake));
		strscpy(name, dev_name(&fake->ibdev.dev), sizeof(name));
		KUNIT_EXPECT_EQ(test, listed(), before);
		TP_EXPECT_TYPE(test, dat_ia_open(name, 8, &async, &ia), DAT_MODEL_NOT_SUPPORTED);
		KUNIT_EXPECT_EQ(test, dat_registry_providers_related(name, name, &answer),
				DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
		fake_dev_destroy(fake);
	}
	/* A suitable device, but without an address */
	fake = fake_dev_create();
	KUNIT_ASSERT_FALSE(test, IS_ERR(fake));
	strscpy(name, dev_name(&fake->ibdev.dev), sizeof(name));
	KUNIT_EXPECT_EQ(test, listed(), before + 1);
	TP_EXPECT_TYPE(test, dat_ia_open(name, 8, &async, &ia), DAT_PROVIDER_NOT_FOUND);
	KUNIT_EXPECT_EQ(test, dat_registry_providers_related(name, name, &answer), DAT_SUCCESS);
	fake_dev_destroy(fake);
}

/* ---- suite ----------------------------------------------------------------------------- */

static int provider_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	if (IS_ERR(env))
		return PTR_ERR(env);
	return dat_ia_query(ia_handle(), NULL, DAT_IA_FIELD_ALL, &ia_attr,
			    DAT_PROVIDER_FIELD_ALL, &provider) == DAT_SUCCESS ? 0 : -EIO;
}

static void provider_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(env))
		return;
	tp_ep_free(&ep);
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case provider_cases[] = {
	KUNIT_CASE(E_01_provider_attributes_match_the_behaviour),
	KUNIT_CASE(the_provider_supports_its_attributes),
	KUNIT_CASE(memtype_hint_advises_whole_pages),
	KUNIT_CASE(sync_calls_check_their_segments),
	KUNIT_CASE(devices_that_cannot_serve_are_refused),
	{}
};

static struct kunit_suite provider_suite = {
	.name = "kdapl_provider",
	.init = provider_init,
	.exit = provider_exit,
	.test_cases = provider_cases,
};

kunit_test_suite(provider_suite);
