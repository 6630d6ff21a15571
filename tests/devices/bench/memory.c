// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the memory of one more EP, without the memory that the device uses for it.
 *
 * Tracepoints report every allocation of the calling task with the size that was
 * really reserved, and every free, which is subtracted. There are three kinds:
 * objects of the slab allocator, pages that do not belong to the slab allocator,
 * and vmalloc areas, because no tracepoint reports most of their pages. The memory
 * of the device is that of the same CQ and QP, created with plain verbs.
 *
 * main.c calls this in process context.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include "bench.h"
#include "null.h"
#include "test_verbs.h"

#define MEMORY_EPS	64
#define MEMORY_IOV	4

/* Maximum number of single pages, any of which may belong to the slab allocator */
#define MEMORY_PAGES	16384

static struct task_struct *memory_task;
static long memory_bytes;
static const void *memory_last;		/* a large block is reported twice */
static struct page **memory_pages;
static unsigned int memory_npages;
static bool memory_lost;		/* there were more pages */
static unsigned long memory_mapped;	/* pages still to come of an area that is already counted */

static bool memory_ours(void)
{
	return current == memory_task && in_task();
}

static void memory_kmalloc(void *data, unsigned long call_site, const void *ptr, size_t req,
			   size_t alloc, gfp_t flags, int node)
{
	if (!ptr || ptr == memory_last || !memory_ours())
		return;
	memory_bytes += alloc;
	memory_last = ptr;
}

static void memory_cache_alloc(void *data, unsigned long call_site, const void *ptr,
			       struct kmem_cache *s, gfp_t flags, int node)
{
	if (ptr && memory_ours())
		memory_bytes += kmem_cache_size(s);
}

static void memory_kfree(void *data, unsigned long call_site, const void *ptr)
{
	if (ZERO_OR_NULL_PTR(ptr) || !memory_ours())
		return;
	memory_bytes -= ksize(ptr);
	memory_last = NULL;
}

static void memory_cache_free(void *data, unsigned long call_site, const void *ptr,
			      const struct kmem_cache *s)
{
	if (ptr && memory_ours())
		memory_bytes -= kmem_cache_size((struct kmem_cache *)s);
}

/* Compound pages belong to the slab allocator; single ones are checked at the end */
static void memory_page_alloc(void *data, struct page *page, unsigned int order, gfp_t flags,
			      int migratetype)
{
	unsigned int i;

	if (!page || (flags & __GFP_COMP) || !memory_ours())
		return;
	if (!order && memory_mapped) {
		memory_mapped--;
		return;
	}
	for (i = 0; i < 1U << order; i++) {
		if (memory_npages == MEMORY_PAGES)
			memory_lost = true;
		else
			memory_pages[memory_npages++] = page + i;
	}
}

static void memory_page_free(void *data, struct page *page, unsigned int order)
{
	unsigned int i;

	if (!memory_ours())
		return;
	for (i = memory_npages; i-- > 0;)
		if (memory_pages[i] >= page && memory_pages[i] < page + (1UL << order))
			memory_pages[i] = memory_pages[--memory_npages];
}

/* The size includes a guard page */
static void memory_vmap_area(void *data, unsigned long addr, unsigned long size,
			     unsigned long align, unsigned long vstart, unsigned long vend,
			     int failed)
{
	if (failed || !memory_ours())
		return;
	memory_bytes += size - PAGE_SIZE;
	memory_mapped = size / PAGE_SIZE - 1;
}

/* A module cannot name the tracepoints of pages, so they are looked up */
static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} memory_probes[] = {
	{ "kmalloc", memory_kmalloc },
	{ "kmem_cache_alloc", memory_cache_alloc },
	{ "kfree", memory_kfree },
	{ "kmem_cache_free", memory_cache_free },
	{ "mm_page_alloc", memory_page_alloc },
	{ "mm_page_free", memory_page_free },
	{ "alloc_vmap_area", memory_vmap_area },
};

static void memory_find_probe(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(memory_probes); i++)
		if (!strcmp(tp->name, memory_probes[i].name))
			memory_probes[i].tp = tp;
}

static int memory_begin(void)
{
	unsigned int i;
	int ret = 0;

	memory_bytes = 0;
	memory_npages = 0;
	memory_last = NULL;
	memory_mapped = 0;
	memory_lost = false;
	memory_pages = kvcalloc(MEMORY_PAGES, sizeof(*memory_pages), GFP_KERNEL);
	if (!memory_pages)
		return -ENOMEM;
	for_each_kernel_tracepoint(memory_find_probe, NULL);
	for (i = 0; i < ARRAY_SIZE(memory_probes) && !ret; i++)
		ret = memory_probes[i].tp ?
		      tracepoint_probe_register(memory_probes[i].tp, memory_probes[i].probe,
						NULL) : -ENOENT;
	if (!ret)
		memory_task = current;
	return ret;
}

/* Bytes since memory_begin(), or -ENOSPC */
static long memory_end(void)
{
	unsigned int i;

	memory_task = NULL;
	for (i = 0; i < ARRAY_SIZE(memory_probes); i++)
		if (memory_probes[i].tp)
			tracepoint_probe_unregister(memory_probes[i].tp, memory_probes[i].probe,
						    NULL);
	tracepoint_synchronize_unregister();
	for (i = 0; i < memory_npages; i++)
		if (!PageSlab(memory_pages[i]))
			memory_bytes += PAGE_SIZE;
	kvfree(memory_pages);
	memory_pages = NULL;
	return memory_lost ? -ENOSPC : memory_bytes;
}

/* Bytes that MEMORY_EPS EPs need, including those of the device */
static int memory_of_eps(struct ib_device *ibdev, long *bytes)
{
	DAT_EVD_HANDLE async, dto, conn;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	DAT_IA_HANDLE ia;
	char name[IB_DEVICE_NAME_MAX];
	DAT_PZ_HANDLE pz;
	int i, ret = -EIO;

	strscpy(name, dev_name(&ibdev->dev), sizeof(name));
	if (dat_ia_open(name, 8, &async, &ia))
		return -EIO;
	fixture_fill_attr(&attr, MEMORY_IOV);
	if (dat_pz_create(ia, &pz) ||
	    dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &dto) ||
	    dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG, &conn))
		goto close;
	ret = memory_begin();
	for (i = 0; i < MEMORY_EPS && !ret; i++)
		if (dat_ep_create(ia, pz, dto, dto, conn, &attr, &ep))
			ret = -EIO;
	*bytes = memory_end();
close:
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

/* Bytes that as many CQs and QPs of the same size need with plain verbs */
static int memory_of_verbs(struct ib_device *ibdev, const struct null_dev *dev, long *bytes)
{
	struct ib_qp_init_attr init = {
		.cap = dev->last_cap,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_pd *pd = ib_alloc_pd(ibdev, 0);
	int i, ret, cqes = dev->last_cqe;
	struct test_verbs *v;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	v = kcalloc(MEMORY_EPS, sizeof(*v), GFP_KERNEL);
	ret = v ? memory_begin() : -ENOMEM;
	for (i = 0; i < MEMORY_EPS && !ret; i++)
		ret = test_verbs_make(&v[i], pd, cqes, IB_POLL_SOFTIRQ, &init);
	*bytes = memory_end();
	while (i-- > 0)
		test_verbs_free(&v[i]);
	kfree(v);
	ib_dealloc_pd(pd);
	return ret;
}

/**
 * bench_run_memory - measure the bytes of one more EP
 * @ibdev: the null device, which records the sizes that were requested
 * @out:   takes the figures
 * @size:  of @out
 *
 * Context: process.
 * Return: 0, -EOPNOTSUPP on other devices, -EIO, -ENOMEM.
 */
int bench_run_memory(struct ib_device *ibdev, char *out, size_t size)
{
	const struct null_dev *dev = bench_null(ibdev);
	long eps, verbs;
	int ret;

	if (!dev)
		return -EOPNOTSUPP;
	ret = memory_of_eps(ibdev, &eps) ?: memory_of_verbs(ibdev, dev, &verbs);
	if (ret || eps < 0 || verbs < 0)
		return ret ?: -ENOSPC;
	scnprintf(out, size, "verbs=%ld dat=%ld", verbs / MEMORY_EPS, eps / MEMORY_EPS);
	return 0;
}
