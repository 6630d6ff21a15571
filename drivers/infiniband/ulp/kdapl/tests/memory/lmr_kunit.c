// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: registration.
 *
 * The types and sizes of memory that dat_lmr_kcreate accepts, a service QP that fails, and as
 * many regions as the table has room for. The fake device registers at once and checks no
 * page, so that every refusal is kdapl's. All tests share one environment. Runs in
 * KUnit threads.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "post_kunit.h"

/* Number of LMRs that must be possible (L-07); too slow with sanitizers */
#define MANY		(IS_ENABLED(CONFIG_KASAN) ? 4096 : 65536)
#define FEW		500

static struct tp_env *env;

struct region {
	DAT_LMR_HANDLE handle;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_VLEN length;
	DAT_VADDR address;
};

static DAT_RETURN create(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc, u64 length,
			 struct region *r)
{
	return dat_lmr_kcreate(kdapl_obj_handle(&env->ia->obj), type, desc, length, env->own.pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       &r->handle, &r->context, &r->key, &r->length, &r->address);
}

static DAT_RETURN create_virtual(const void *va, u64 length, struct region *r)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = (void *)va };

	return create(DAT_MEM_TYPE_VIRTUAL, desc, length, r);
}

static DAT_RETURN create_physical(DAT_PADDR *pages, u64 length, struct region *r)
{
	DAT_REGION_DESCRIPTION desc = { .for_physical = pages };

	return create(DAT_MEM_TYPE_PHYSICAL, desc, length, r);
}

static DAT_RETURN create_var_pages(DAT_PADDR *pages, u64 page_size, u64 length, struct region *r)
{
	DAT_REGION_DESCRIPTION desc = {
		.for_array = { .page_size = page_size, .pages = pages },
	};

	return create(DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, desc, length, r);
}

/* The subtype matters here, because two arguments have the same type */
static void expect_argument(struct kunit *test, DAT_RETURN ret, DAT_UINT32 argument,
			    const char *what)
{
	KUNIT_EXPECT_EQ_MSG(test, ret, DAT_ERROR(DAT_INVALID_PARAMETER, argument), "%s", what);
}

static void expect_good(struct kunit *test, DAT_RETURN ret, struct region *r, const char *what)
{
	KUNIT_EXPECT_EQ_MSG(test, ret, DAT_SUCCESS, "%s", what);
	if (ret == DAT_SUCCESS)
		KUNIT_EXPECT_EQ(test, dat_lmr_free(r->handle), DAT_SUCCESS);
}

/* Work items free MRs after a grace period */
static int objects_left(void)
{
	rcu_barrier();
	flush_workqueue(kdapl_wq);
	return atomic_read(&env->fake->live);
}

/* ---- which memory ------------------------------------------------------------ */

static u8 module_memory[3 * PAGE_SIZE];

static void L_01_addresses_that_are_memory_and_others(struct kunit *test)
{
	int live = objects_left();
	struct region r;
	u8 *v, *k;

	v = vmalloc(2 * PAGE_SIZE);
	k = kmalloc(4 * PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, v && k);
	expect_good(test, create_virtual(k + 7, 3 * PAGE_SIZE, &r), &r, "kmalloc");
	expect_good(test, create_virtual(v + 1, 2 * PAGE_SIZE - 1, &r), &r, "vmalloc");
	expect_good(test, create_virtual(module_memory + 5, 2 * PAGE_SIZE, &r), &r, "module");
	/* The page after a vmalloc area is never mapped */
	expect_argument(test, create_virtual(v, 2 * PAGE_SIZE + 1, &r), DAT_INVALID_ARG3,
			"one byte beyond vmalloc");
	expect_argument(test, create_virtual(v + 2 * PAGE_SIZE, 1, &r), DAT_INVALID_ARG3,
			"after the end of vmalloc");
	expect_argument(test, create_virtual(NULL, 1, &r), DAT_INVALID_ARG3, "NULL");
	expect_argument(test, create_virtual((void *)0x400000UL, 1, &r), DAT_INVALID_ARG3, "user");
	expect_argument(test, create_virtual((void *)(TASK_SIZE - PAGE_SIZE), 1, &r),
			DAT_INVALID_ARG3, "last page of the user");
	expect_argument(test, create_virtual((void *)(1UL << 63), 1, &r), DAT_INVALID_ARG3,
			"no address at all");
	expect_argument(test, create_virtual((void *)-4096L, 1, &r), DAT_INVALID_ARG3,
			"the last page");
	expect_argument(test, create_virtual((void *)-10L, 100, &r), DAT_INVALID_ARG3, "wraps");
	expect_argument(test, create_virtual(v, ULONG_MAX, &r), DAT_INVALID_ARG3, "wraps far");
	KUNIT_EXPECT_EQ(test, objects_left(), live);
	kfree(k);
	vfree(v);
	kdapl_clauses(test, "L-01");
}

static void L_02_pages_that_exist_and_others(struct kunit *test)
{
	unsigned long mem = __get_free_pages(GFP_KERNEL, 2);
	int live = objects_left();
	DAT_PADDR pages[3], good;
	struct region r;

	KUNIT_ASSERT_NE(test, mem, 0);
	good = virt_to_phys((void *)mem);
	pages[0] = good + 2 * PAGE_SIZE;
	pages[1] = good;
	pages[2] = good + PAGE_SIZE;
	expect_good(test, create_physical(pages, 3 * PAGE_SIZE - 5, &r), &r, "three pages");
	pages[1] = good + 8;
	expect_argument(test, create_physical(pages, 3 * PAGE_SIZE, &r), DAT_INVALID_ARG3,
			"not aligned");
	/* The length does not reach it */
	expect_good(test, create_physical(pages, PAGE_SIZE, &r), &r, "not aligned, not named");
	pages[1] = 1ULL << 46;
	expect_argument(test, create_physical(pages, 2 * PAGE_SIZE, &r), DAT_INVALID_ARG3,
			"beyond memory");
	pages[1] = -PAGE_SIZE;
	expect_argument(test, create_physical(pages, 2 * PAGE_SIZE, &r), DAT_INVALID_ARG3,
			"no frame has it");
	pages[0] = good;
	expect_good(test, create_var_pages(pages, 4 * PAGE_SIZE, 4 * PAGE_SIZE, &r), &r, "large");
	pages[0] = good + PAGE_SIZE;
	expect_argument(test, create_var_pages(pages, 4 * PAGE_SIZE, PAGE_SIZE, &r),
			DAT_INVALID_ARG3, "large, not aligned");
	pages[0] = good;
	expect_argument(test, create_var_pages(pages, PAGE_SIZE + 512, PAGE_SIZE, &r),
			DAT_INVALID_ARG3, "no multiple of the page size");
	expect_argument(test, create_var_pages(pages, 0, PAGE_SIZE, &r), DAT_INVALID_ARG3,
			"pages of nothing");
	KUNIT_EXPECT_EQ(test, objects_left(), live);
	free_pages(mem, 2);
	kdapl_clauses(test, "L-02");
}

static void L_04_as_much_as_the_device_supports(struct kunit *test)
{
	DAT_IA_ATTR attr = { };
	struct region r;
	u64 max;
	u8 *v;

	KUNIT_ASSERT_EQ(test, dat_ia_query(kdapl_obj_handle(&env->ia->obj), NULL,
					   DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE, &attr, 0, NULL),
			DAT_SUCCESS);
	max = attr.max_lmr_block_size;
	KUNIT_EXPECT_EQ(test, max, (FAKE_PAGE_LIST - 1) * PAGE_SIZE);
	v = vmalloc(max + 3 * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, v);
	expect_good(test, create_virtual(v, max, &r), &r, "aligned");
	expect_good(test, create_virtual(v + 1, max, &r), &r, "one byte in");
	expect_good(test, create_virtual(v + PAGE_SIZE - 1, max, &r), &r, "the last byte");
	expect_good(test, create_virtual(v, max + PAGE_SIZE, &r), &r, "aligned, one page more");
	expect_argument(test, create_virtual(v, max + PAGE_SIZE + 1, &r), DAT_INVALID_ARG4,
			"one byte more than that");
	expect_argument(test, create_virtual(v + 1, max + PAGE_SIZE, &r), DAT_INVALID_ARG4,
			"as long, not aligned");
	expect_argument(test, create_virtual(v, 0, &r), DAT_INVALID_ARG4, "nothing");
	vfree(v);
	kdapl_clauses(test, "L-04");
}

/* An IOMMU with pages of 4 KiB, below pages of 64 KiB, may do this */
static void L_01_mapping_with_another_offset_in_the_page(struct kunit *test)
{
	int live = objects_left();
	struct region r;
	DAT_RETURN ret;

	kdapl_clauses(test, "L-01");
	env->fake->map_shift = 512;
	ret = create_virtual(env->buf, TP_BUF, &r);
	env->fake->map_shift = 0;
	KUNIT_EXPECT_EQ(test, ret, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
					     DAT_RESOURCE_MEMORY_REGION));
	KUNIT_EXPECT_EQ(test, objects_left(), live);
	/* The same offset in another page is accepted */
	env->fake->map_shift = PAGE_SIZE;
	ret = create_virtual(env->buf, TP_BUF, &r);
	env->fake->map_shift = 0;
	expect_good(test, ret, &r, "another page");
}

/* ---- the service QP ------------------------------------------------------------- */

static struct kdapl_pz *own_pz(void)
{
	struct kdapl_obj *obj = kdapl_obj_get(env->own.pz, DAT_HANDLE_TYPE_PZ);

	kdapl_obj_put(obj);
	return to_kdapl_pz(obj);
}

/* Like after a failed request: the device flushes all further ones */
static void break_service_qp(void)
{
	to_fake_qp(own_pz()->qp)->state = IB_QPS_ERR;
}

static void L_06_service_queue_pair_that_fails(struct kunit *test)
{
	int live = objects_left();
	struct region r;
	DAT_RETURN ret;
	u32 i;

	for (i = 0; i < 3; i++) {
		break_service_qp();
		KUNIT_ASSERT_EQ(test, create_virtual(env->buf, TP_BUF, &r), DAT_SUCCESS);
		break_service_qp();
		KUNIT_EXPECT_EQ(test, dat_lmr_free(r.handle), DAT_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, objects_left(), live);
	/* If it cannot be created again, the call fails and leaves nothing */
	break_service_qp();
	env->fake->fail_create = -ENOMEM;
	ret = create_virtual(env->buf, TP_BUF, &r);
	TP_EXPECT_TYPE(test, ret, DAT_INSUFFICIENT_RESOURCES);
	expect_good(test, create_virtual(env->buf, TP_BUF, &r), &r, "the next one");
	/* Likewise during an invalidation: the memory must still be inaccessible */
	KUNIT_ASSERT_EQ(test, create_virtual(env->buf, TP_BUF, &r), DAT_SUCCESS);
	break_service_qp();
	env->fake->fail_create = -ENOMEM;
	KUNIT_EXPECT_EQ(test, dat_lmr_free(r.handle), DAT_SUCCESS);
	expect_good(test, create_virtual(env->buf, TP_BUF, &r), &r, "after a failed free");
	KUNIT_EXPECT_EQ(test, objects_left(), live);
	kdapl_clauses(test, "L-06");
}

static void L_06_a_request_is_repeated_once(struct kunit *test)
{
	int live = objects_left();
	struct region r;

	kdapl_clauses(test, "L-06");
	env->fake->fail_service = 1;
	expect_good(test, create_virtual(env->buf, TP_BUF, &r), &r, "the second attempt");
	KUNIT_EXPECT_EQ(test, env->fake->fail_service, 0);
	/* Two attempts only, because a failed device would cause endless retries */
	env->fake->fail_service = 5;
	TP_EXPECT_TYPE(test, create_virtual(env->buf, TP_BUF, &r), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, env->fake->fail_service, 3);
	env->fake->fail_service = 0;
	KUNIT_ASSERT_EQ(test, create_virtual(env->buf, TP_BUF, &r), DAT_SUCCESS);
	env->fake->fail_service = 5;
	KUNIT_EXPECT_EQ(test, dat_lmr_free(r.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, env->fake->fail_service, 3);
	env->fake->fail_service = 0;
	expect_good(test, create_virtual(env->buf, TP_BUF, &r), &r, "the next one");
	KUNIT_EXPECT_EQ(test, objects_left(), live);
}

/* ---- many ------------------------------------------------------------------------- */

static u32 create_many(DAT_LMR_HANDLE *lmr, u32 n)
{
	struct region r;
	u32 i;

	for (i = 0; i < n; i++) {
		if (create_virtual(env->buf, TP_SEG, &r) != DAT_SUCCESS)
			break;
		lmr[i] = r.handle;
		cond_resched();
	}
	return i;
}

static u32 free_many(DAT_LMR_HANDLE *lmr, u32 n)
{
	u32 i, wrong = 0;

	for (i = 0; i < n; i++) {
		wrong += dat_lmr_free(lmr[i]) != DAT_SUCCESS;
		cond_resched();
	}
	return wrong;
}

/*
 * Waiting for a grace period is a voluntary context switch; cond_resched() is not
 * counted as one. The fake device completes at once, so neither call has another reason to
 * sleep.
 */
static void expect_no_waits(struct kunit *test, DAT_LMR_HANDLE *lmr, u32 n)
{
	unsigned long sleeps = current->nvcsw, made, freed;

	KUNIT_ASSERT_EQ(test, create_many(lmr, n), n);
	made = current->nvcsw - sleeps;
	sleeps = current->nvcsw;
	KUNIT_EXPECT_EQ(test, free_many(lmr, n), 0);
	freed = current->nvcsw - sleeps;
	kunit_info(test, "%u LMRs: %lu sleeps to create, %lu to free\n", n, made, freed);
	KUNIT_ASSERT_LT(test, made, n / 10);
	KUNIT_ASSERT_LT(test, freed, n / 10);
}

static void L_07_65536_regions(struct kunit *test)
{
	DAT_LMR_HANDLE *lmr = kunit_kcalloc(test, MANY, sizeof(*lmr), GFP_KERNEL);

	kdapl_clauses(test, "L-07");
	KUNIT_ASSERT_NOT_NULL(test, lmr);
	/* First a few: if each call waited for a grace period, all would take half an hour */
	expect_no_waits(test, lmr, FEW);
	expect_no_waits(test, lmr, MANY);
	expect_no_waits(test, lmr, FEW);
}

/* ---- suite -------------------------------------------------------------------------- */

static int lmr_suite_init(struct kunit_suite *suite)
{
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void lmr_suite_exit(struct kunit_suite *suite)
{
	tp_env_destroy(env);
	env = NULL;
}

static struct kunit_case lmr_cases[] = {
	KUNIT_CASE(L_01_addresses_that_are_memory_and_others),
	KUNIT_CASE(L_02_pages_that_exist_and_others),
	KUNIT_CASE(L_04_as_much_as_the_device_supports),
	KUNIT_CASE(L_01_mapping_with_another_offset_in_the_page),
	KUNIT_CASE(L_06_service_queue_pair_that_fails),
	KUNIT_CASE(L_06_a_request_is_repeated_once),
	KUNIT_CASE_SLOW(L_07_65536_regions),
	{}
};

static struct kunit_suite lmr_suite = {
	.name = "kdapl_lmr",
	.suite_init = lmr_suite_init,
	.suite_exit = lmr_suite_exit,
	.test_cases = lmr_cases,
};

kunit_test_suite(lmr_suite);
