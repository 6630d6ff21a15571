// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the helpers of kdat_util.h, as a Consumer calls them. Runs in a KUnit thread.
 */
#include <dat/kdat_util.h>
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;

static void the_default_attributes_are_those_of_no_attributes(struct kunit *test)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	DAT_EP_PARAM *param;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE made;

	param = kunit_kzalloc(test, sizeof(*param), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, param);
	memset(&attr, 0xff, sizeof(attr));
	KUNIT_ASSERT_EQ(test, kdat_ep_attr_default(ia, &attr), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_create(ia, env->own.pz, ep.recv_evd, ep.request_evd,
					    ep.connect_evd, NULL, &made), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_query(made, DAT_EP_FIELD_ALL, param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_free(made), DAT_SUCCESS);
	/* The other attributes belong to the Provider */
	KUNIT_EXPECT_MEMEQ(test, &attr, &param->ep_attr,
			   offsetof(DAT_EP_ATTR, ep_transport_specific_count));
	KUNIT_EXPECT_EQ(test, attr.ep_provider_specific_count, 0);
}

static void no_default_attributes_without_an_IA(struct kunit *test)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = 5 };

	TP_EXPECT_TYPE(test, kdat_ep_attr_default(DAT_HANDLE_NULL, &attr), DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, attr.max_recv_dtos, 5);
}

static void a_buffer_is_registered_and_unregistered(struct kunit *test)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	DAT_PZ_HANDLE pz = env->own.pz;
	struct kdat_region region;
	DAT_DTO_COOKIE cookie = {};
	DAT_RMR_TRIPLET remote;
	DAT_LMR_TRIPLET local;
	DAT_LMR_PARAM param;
	u8 *buf = env->buf;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, kdat_register(ia, pz, buf, 100, DAT_MEM_PRIV_ALL_FLAG, &region),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_query(region.lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, param.region_desc.for_va, (DAT_PVOID)buf);
	KUNIT_EXPECT_EQ(test, param.length, 100);
	local = kdat_local(&region, 60, 40);
	KUNIT_EXPECT_EQ(test, local.virtual_address, (uintptr_t)buf + 60);
	KUNIT_EXPECT_EQ(test, local.lmr_context, param.lmr_context);
	KUNIT_EXPECT_EQ(test, dat_ep_post_recv(ep.handle, 1, &local, cookie, 0), DAT_SUCCESS);
	local = kdat_local(&region, 61, 40);
	TP_EXPECT_TYPE(test, dat_ep_post_recv(ep.handle, 1, &local, cookie, 0),
		       DAT_INVALID_PARAMETER);
	remote = kdat_remote(&region, 7, 9);
	KUNIT_EXPECT_EQ(test, remote.virtual_address, (uintptr_t)buf + 7);
	KUNIT_EXPECT_EQ(test, remote.segment_length, 9);
	KUNIT_EXPECT_EQ(test, remote.rmr_context, param.rmr_context);
	tp_ep_free(&ep);
	KUNIT_EXPECT_EQ(test, kdat_unregister(&region), DAT_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, region.lmr, DAT_HANDLE_NULL);
	/* A second call is not an error */
	KUNIT_EXPECT_EQ(test, kdat_unregister(&region), DAT_SUCCESS);
}

static void a_buffer_that_is_refused_is_no_region(struct kunit *test)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	struct kdat_region region;

	memset(&region, 0xff, sizeof(region));
	TP_EXPECT_TYPE(test, kdat_register(ia, env->own.pz, env->buf, 0,
					   DAT_MEM_PRIV_ALL_FLAG, &region),
		       DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_PTR_EQ(test, region.lmr, DAT_HANDLE_NULL);
	KUNIT_EXPECT_EQ(test, kdat_unregister(&region), DAT_SUCCESS);
}

static void a_return_value_has_a_name(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, kdat_strerror(DAT_SUCCESS), "DAT_SUCCESS");
	KUNIT_EXPECT_STREQ(test, kdat_strerror(DAT_ERROR(DAT_INVALID_HANDLE,
							 DAT_INVALID_HANDLE_EP)),
			   "DAT_INVALID_HANDLE");
	KUNIT_EXPECT_STREQ(test, kdat_strerror(0x3f000000), "unknown");
}

/* ---- suite -------------------------------------------------------------------- */

static int util_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void util_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case util_cases[] = {
	KUNIT_CASE(the_default_attributes_are_those_of_no_attributes),
	KUNIT_CASE(no_default_attributes_without_an_IA),
	KUNIT_CASE(a_buffer_is_registered_and_unregistered),
	KUNIT_CASE(a_buffer_that_is_refused_is_no_region),
	KUNIT_CASE(a_return_value_has_a_name),
	{}
};

static struct kunit_suite util_suite = {
	.name = "kdapl_util",
	.init = util_init,
	.exit = util_exit,
	.test_cases = util_cases,
};

kunit_test_suite(util_suite);
