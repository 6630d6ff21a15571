// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: which pages may be registered.
 *
 * Both registration calls get reserved pages that are memory, reserved pages that
 * are not, and read-only pages. On a real struct device the suite also tests whether
 * bounced pages are recognized. Runs in a KUnit thread.
 */
#include <linux/dma-direct.h>
#include <linux/dma-mapping.h>
#include <linux/hex.h>
#include <linux/iommu.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/platform_device.h>
#include <net/net_namespace.h>
#include "mem_kunit.h"

#define PRIV_READ (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define LOCAL	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define REMOTE	(PRIV_READ | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define NO_MEMORY DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)
#define READ_ONLY DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_NO_SUBTYPE)

static struct mem m;

/* ---- reserved pages ----------------------------------------------------- */

/* Registers and frees by dat_lmr_kcreate() */
static DAT_RETURN created(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, u64 length,
			  DAT_MEM_PRIV_FLAGS priv)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT key;
	DAT_RETURN ret;

	ret = dat_lmr_kcreate(m.ia, type, region, length, m.pz, priv, DAT_VA_TYPE_VA,
			      DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &context, &key, NULL, NULL);
	return ret ?: dat_lmr_free(lmr);
}

static DAT_RETURN created_at(const void *va, u64 length, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_REGION_DESCRIPTION region = { .for_va = (void *)va };

	return created(DAT_MEM_TYPE_VIRTUAL, region, length, priv);
}

static DAT_RETURN created_of(DAT_PADDR page, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = &page };

	return created(DAT_MEM_TYPE_PHYSICAL, region, PAGE_SIZE, priv);
}

/* Registers and invalidates by requests */
static DAT_RETURN posted(DAT_PADDR page, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_RETURN ret;
	struct fmr f;

	mem_fmr_args(&m, &f);
	f.desc.for_physical = &page;
	f.n = 1;
	f.priv = priv;
	ret = mem_fmr_post(&f);
	if (ret)
		return ret;
	ret = mem_invalidate(&m, &m.ep, 2, 0);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	return ret;
}

static void expect_page(struct kunit *test, const char *what, DAT_PADDR page, DAT_RETURN read,
			DAT_RETURN write)
{
	KUNIT_EXPECT_EQ_MSG(test, created_of(page, PRIV_READ), read, "%s, create", what);
	KUNIT_EXPECT_EQ_MSG(test, created_of(page, LOCAL), write, "%s, create", what);
	KUNIT_EXPECT_EQ_MSG(test, created_of(page, REMOTE), write, "%s, create", what);
	KUNIT_EXPECT_EQ_MSG(test, posted(page, PRIV_READ), read, "%s, fmr", what);
	KUNIT_EXPECT_EQ_MSG(test, posted(page, LOCAL), write, "%s, fmr", what);
	KUNIT_EXPECT_EQ_MSG(test, posted(page, REMOTE), write, "%s, fmr", what);
}

/* Registers and invalidates the middle of a page of a scatterlist */
static DAT_RETURN listed(struct page *page, DAT_MEM_PRIV_FLAGS priv)
{
	struct sg_fmr f;
	DAT_RETURN ret;

	mem_sg_args(&m, &f);
	sg_set_page(f.sg, page, 64, 64);
	f.priv = priv;
	ret = mem_sg_post(&f);
	if (ret)
		return ret;
	ret = mem_invalidate(&m, &m.ep, 2, 0);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	return ret;
}

/* On x86 the mapping of the kernel image decides; elsewhere it counts as read-only */
#define WRITE_OF_IMAGE	(IS_ENABLED(CONFIG_X86) ? DAT_SUCCESS : READ_ONLY)

static DAT_PADDR page_of(const void *va)
{
	return virt_to_phys((void *)va) & PAGE_MASK;
}

/* User Mode Linux has no memory in its resource tree, so all reserved pages count as holes */
static void need_ram(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_UML))
		kunit_skip(test, "no memory in the resource tree of this machine");
}

static void the_zero_page_may_be_read(struct kunit *test)
{
	kdapl_clauses(test, "L-01 L-02 F-01");
	need_ram(test);
	KUNIT_ASSERT_TRUE(test, PageReserved(ZERO_PAGE(0)));
	expect_page(test, "zero page", page_to_phys(ZERO_PAGE(0)), DAT_SUCCESS, READ_ONLY);
	KUNIT_EXPECT_EQ(test, created_at(page_address(ZERO_PAGE(0)), PAGE_SIZE, PRIV_READ),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, created_at(page_address(ZERO_PAGE(0)), PAGE_SIZE, LOCAL),
			READ_ONLY);
}

static void a_scatterlist_is_checked_as_pages_are(struct kunit *test)
{
	struct page *page = virt_to_page(m.env->buf), *zero = ZERO_PAGE(0);

	kdapl_clauses(test, "L-02");
	KUNIT_EXPECT_EQ(test, listed(page, REMOTE), DAT_SUCCESS);
	KUNIT_ASSERT_TRUE(test, PageReserved(zero));
	if (IS_ENABLED(CONFIG_UML)) {
		KUNIT_EXPECT_EQ(test, listed(zero, PRIV_READ),
				DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
		return;
	}
	KUNIT_EXPECT_EQ(test, listed(zero, PRIV_READ), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, listed(zero, LOCAL), READ_ONLY);
	KUNIT_EXPECT_EQ(test, listed(zero, REMOTE), READ_ONLY);
}

/* An entry exceeds the memory: the page that it names exists, and the next one does not */
static void an_entry_beyond_the_last_page(struct kunit *test)
{
	unsigned long pfn = page_to_pfn(virt_to_page(m.env->buf));
	struct sg_fmr f;
	struct page *page;
	DAT_RETURN ret;
	bool reserved;

	kdapl_clauses(test, "L-02");
	while (pfn_valid(pfn + 1))
		pfn++;
	page = pfn_to_page(pfn);
	reserved = PageReserved(page);
	if (reserved)
		ClearPageReserved(page);
	mem_sg_args(&m, &f);
	sg_set_page(f.sg, page, PAGE_SIZE + 1, 0);
	ret = mem_sg_post(&f);
	if (reserved)
		SetPageReserved(page);
	KUNIT_EXPECT_EQ(test, ret, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	mem_expect_fmr(test, &m, false, 0);
}

static const u8 constants[64] = { 1 };

static void the_kernel_image_keeps_its_protection(struct kunit *test)
{
	kdapl_clauses(test, "L-01 L-02");
	need_ram(test);
	expect_page(test, "data", page_of(&init_net), DAT_SUCCESS, WRITE_OF_IMAGE);
	expect_page(test, "constants", page_of(hex_asc), DAT_SUCCESS, READ_ONLY);
	expect_page(test, "text", page_of(kfree), DAT_SUCCESS, READ_ONLY);
	KUNIT_EXPECT_EQ(test, created_at(&init_net, 64, REMOTE), WRITE_OF_IMAGE);
	KUNIT_EXPECT_EQ(test, created_at(hex_asc, 16, PRIV_READ), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, created_at(hex_asc, 16, REMOTE), READ_ONLY);
	/* The constants of a module are in pages that are not reserved */
	KUNIT_EXPECT_EQ(test, created_at(constants, sizeof(constants), PRIV_READ), DAT_SUCCESS);
	if (IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_STRICT_MODULE_RWX))
		KUNIT_EXPECT_EQ(test, created_at(constants, sizeof(constants), LOCAL), READ_ONLY);
}

/*
 * Finds a frame with a struct page but no memory: on a PC, in the legacy video range.
 * Returns 0 if there is none; frame 0 itself, which a PC reserves, is skipped.
 */
static unsigned long find_hole(unsigned long end)
{
	unsigned long pfn;

	for (pfn = 1; pfn < end; pfn++)
		if (pfn_valid(pfn) && PageReserved(pfn_to_page(pfn)) && !page_is_ram(pfn))
			return pfn;
	return 0;
}

static void addresses_without_memory_are_refused(struct kunit *test)
{
	unsigned long pfn = find_hole(0x10000);

	kdapl_clauses(test, "L-02");
	if (!pfn)
		kunit_skip(test, "no hole in the memory of this machine");
	expect_page(test, "hole", PFN_PHYS(pfn), NO_MEMORY, NO_MEMORY);
	KUNIT_EXPECT_EQ(test, posted(1ULL << 46, PRIV_READ), NO_MEMORY);
}

/* The copied ranges agree with the resource tree */
static void the_reported_memory_is_correct(struct kunit *test)
{
	unsigned long pfn, first = 0, end = page_to_pfn(virt_to_page(m.env->buf)) + 0x1000;
	u32 wrong = 0, seen = 0;

	/* Only PCs have memory at address 0 */
	while (!pfn_valid(first) && first < end)
		first++;
	for (pfn = first; pfn < end; pfn += pfn < first + 0x1000 ? 1 : 509) {
		if (!pfn_valid(pfn))
			continue;
		seen++;
		wrong += !kdapl_page_check_reserved(pfn, PRIV_READ) != !!page_is_ram(pfn);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GT(test, seen, 0x800);
}

/* ---- bounce buffers ------------------------------------------------------ */

#define BUS	0x7000000000ULL	/* where the device of these tests sees memory */

static struct {
	struct platform_device *pdev;
	struct page *pages;		/* four, of which every other is used */
	struct scatterlist sg[2];
	struct bus_dma_region map[3];
} dma;

static void dma_make(struct kunit *test)
{
	u64 *mask;

	memset(&dma, 0, sizeof(dma));
	dma.pdev = platform_device_register_simple("kdapl-page", PLATFORM_DEVID_AUTO, NULL, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(dma.pdev));
	mask = dma.pdev->dev.dma_mask;
	*mask = DMA_BIT_MASK(64);
	dma.pages = alloc_pages(GFP_KERNEL, 2);
	KUNIT_ASSERT_NOT_NULL(test, dma.pages);
	sg_init_table(dma.sg, 2);
	sg_set_page(&dma.sg[0], dma.pages, PAGE_SIZE - 64, 64);
	sg_set_page(&dma.sg[1], dma.pages + 2, PAGE_SIZE, 0);
}

static void dma_end(void)
{
	if (dma.pages)
		__free_pages(dma.pages, 2);
	dma.pages = NULL;
	if (!IS_ERR_OR_NULL(dma.pdev))
		platform_device_unregister(dma.pdev);
	dma.pdev = NULL;
}

/* Entry by entry, without an IOMMU */
static void mapped_one_to_one(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		sg_dma_address(&dma.sg[i]) = phys_to_dma(&dma.pdev->dev, sg_phys(&dma.sg[i]));
		sg_dma_len(&dma.sg[i]) = dma.sg[i].length;
	}
}

/* One range of the device's addresses for both */
static void mapped_as_one(void)
{
	sg_dma_address(&dma.sg[0]) = BUS + 64;
	sg_dma_len(&dma.sg[0]) = 2 * PAGE_SIZE - 64;
	sg_dma_address(&dma.sg[1]) = DMA_MAPPING_ERROR;
	sg_dma_len(&dma.sg[1]) = 0;
}

static bool bounced(struct iommu_domain *domain)
{
	return kdapl_sg_bounced(&dma.pdev->dev, domain, dma.sg, 2);
}

static void a_page_that_was_bounced_is_found(struct kunit *test)
{
	kdapl_clauses(test, "L-03");
	dma_make(test);
	mapped_one_to_one();
	KUNIT_EXPECT_FALSE(test, bounced(NULL));
	/* Only the second of the two */
	sg_dma_address(&dma.sg[1]) = phys_to_dma(&dma.pdev->dev, page_to_phys(dma.pages + 3));
	KUNIT_EXPECT_TRUE(test, bounced(NULL));
	mapped_one_to_one();
	sg_dma_address(&dma.sg[0]) += PAGE_SIZE;
	KUNIT_EXPECT_TRUE(test, bounced(NULL));
}

/* The bus may use addresses that differ from physical addresses */
static void a_translated_page_is_not_bounced(struct kunit *test)
{
	kdapl_clauses(test, "L-03");
	if (!IS_ENABLED(CONFIG_NEED_SG_DMA_LENGTH))
		kunit_skip(test, "an entry has the same length in memory and on the bus");
	dma_make(test);
	dma.map[0].cpu_start = page_to_phys(dma.pages);
	dma.map[0].dma_start = BUS;
	dma.map[0].size = PAGE_SIZE;
	dma.map[1].cpu_start = page_to_phys(dma.pages + 2);
	dma.map[1].dma_start = BUS + PAGE_SIZE;
	dma.map[1].size = PAGE_SIZE;
	dma.pdev->dev.dma_range_map = dma.map;
	mapped_as_one();
	KUNIT_EXPECT_FALSE(test, bounced(NULL));
	dma.map[1].cpu_start = page_to_phys(dma.pages + 1);
	KUNIT_EXPECT_TRUE(test, bounced(NULL));
	dma.pdev->dev.dma_range_map = NULL;
}

#if IS_ENABLED(CONFIG_IOMMU_API)
static phys_addr_t second;	/* where the second page of BUS is */

static phys_addr_t iova_to_phys(struct iommu_domain *domain, dma_addr_t iova)
{
	return iova - BUS < PAGE_SIZE ? iova - BUS + page_to_phys(dma.pages) :
					iova - BUS - PAGE_SIZE + second;
}

static const struct iommu_domain_ops domain_ops = {
	.iova_to_phys = iova_to_phys,
};

static void an_iommu_translates(struct kunit *test)
{
	struct iommu_domain domain = { .type = IOMMU_DOMAIN_UNMANAGED, .ops = &domain_ops };

	kdapl_clauses(test, "L-03");
	dma_make(test);
	mapped_as_one();
	second = page_to_phys(dma.pages + 2);
	KUNIT_EXPECT_FALSE(test, bounced(&domain));
	second = page_to_phys(dma.pages + 3);
	KUNIT_EXPECT_TRUE(test, bounced(&domain));
}
#else
static void an_iommu_translates(struct kunit *test)
{
	kunit_skip(test, "this kernel has no IOMMU API");
}
#endif

#ifdef CONFIG_SWIOTLB
/*
 * Does the device see what is in the caches of the CPUs? Returns false if every device of this
 * architecture does.
 */
static bool set_coherent(bool coherent)
{
#if defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_DEVICE) || \
	defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU) || \
	defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU_ALL)
	dma.pdev->dev.dma_coherent = coherent;
	return true;
#else
	return false;
#endif
}

/*
 * Here dma_need_sync() returns true for every address, as it does behind an IOMMU,
 * although the device reaches the original pages.
 */
static void dma_need_sync_alone_does_not_decide(struct kunit *test)
{
	struct io_tlb_mem all = { .defpool = { .end = PHYS_ADDR_MAX } }, *was;
	struct ib_device *ibdev = &m.env->fake->ibdev;
	struct device *dev;
	bool good, bad, varies, incoherent;

	kdapl_clauses(test, "L-03");
	dma_make(test);
	set_coherent(true);
	dev = &dma.pdev->dev;
	was = dev->dma_io_tlb_mem;
	dev->dma_io_tlb_mem = &all;
	ibdev->dma_device = dev;
	mapped_one_to_one();
	KUNIT_EXPECT_TRUE(test, dma_need_sync(dev, sg_dma_address(dma.sg)));
	good = kdapl_sg_needs_sync(ibdev, dma.sg, 2, 2);
	varies = set_coherent(false);
	incoherent = kdapl_sg_needs_sync(ibdev, dma.sg, 2, 2);
	set_coherent(true);
	sg_dma_address(&dma.sg[1]) += PAGE_SIZE;
	bad = kdapl_sg_needs_sync(ibdev, dma.sg, 2, 2);
	ibdev->dma_device = NULL;
	dev->dma_io_tlb_mem = was;
	KUNIT_EXPECT_FALSE(test, good);
	KUNIT_EXPECT_EQ(test, incoherent, varies);
	KUNIT_EXPECT_TRUE(test, bad);
}
#else
static void dma_need_sync_alone_does_not_decide(struct kunit *test)
{
	kunit_skip(test, "this kernel has no bounce buffers");
}
#endif

/* ---- suite ---------------------------------------------------------------- */

static int page_init(struct kunit *test)
{
	return mem_setup(test, &m);
}

static void page_exit(struct kunit *test)
{
	dma_end();
	mem_done(test, &m);
}

static struct kunit_case page_cases[] = {
	KUNIT_CASE(the_zero_page_may_be_read),
	KUNIT_CASE(a_scatterlist_is_checked_as_pages_are),
	KUNIT_CASE(an_entry_beyond_the_last_page),
	KUNIT_CASE(the_kernel_image_keeps_its_protection),
	KUNIT_CASE(addresses_without_memory_are_refused),
	KUNIT_CASE(the_reported_memory_is_correct),
	KUNIT_CASE(a_page_that_was_bounced_is_found),
	KUNIT_CASE(a_translated_page_is_not_bounced),
	KUNIT_CASE(an_iommu_translates),
	KUNIT_CASE(dma_need_sync_alone_does_not_decide),
	{}
};

static struct kunit_suite page_suite = {
	.name = "kdapl_page",
	.init = page_init,
	.exit = page_exit,
	.test_cases = page_cases,
};

kunit_test_suite(page_suite);
