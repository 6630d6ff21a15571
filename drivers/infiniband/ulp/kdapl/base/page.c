// SPDX-License-Identifier: GPL-2.0
/*
 * Which pages may be registered, and whether a device can access them directly.
 *
 * Registration checks each page, because a device will read and write it later, perhaps on behalf
 * of a peer. A page that is not reserved is memory. A reserved page may be memory (the zero page,
 * the kernel image), a hole, or a device; only the resource tree distinguishes them. A softirq must
 * not take the lock of that tree, so this file copies the ranges of memory when the module is
 * loaded. That is sufficient, because only boot memory has such pages: hotplugged memory is
 * reserved only where it holds its own struct pages, which nobody registers.
 *
 * Owns that copy, which is constant after kdapl_page_init(). Called by the
 * registration calls in any context.
 */
#include <linux/dma-direct.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/range.h>
#include "base.h"

static struct range *kdapl_ram;	/* page frame numbers, both ends inclusive */
static unsigned int kdapl_nram;

/* Forgets the ranges of memory. Process context, module unload */
void kdapl_page_exit(void)
{
	kfree(kdapl_ram);
	kdapl_ram = NULL;
	kdapl_nram = 0;
}

/* A partial page at either end does not count as memory */
static int kdapl_page_add_range(struct resource *res, void *arg)
{
	u64 first = PFN_UP(res->start), end = PFN_DOWN(res->end + 1);
	struct range *ram;

	if (first >= end)
		return 0;
	ram = krealloc_array(kdapl_ram, kdapl_nram + 1, sizeof(*ram), GFP_KERNEL);
	if (!ram)
		return -ENOMEM;
	ram[kdapl_nram].start = first;
	ram[kdapl_nram++].end = end - 1;
	kdapl_ram = ram;
	return 0;
}

/*
 * Copies the ranges of memory from the resource tree. Returns 0 or -ENOMEM. Process context, module
 * load.
 */
int kdapl_page_init(void)
{
	int ret = walk_iomem_res_desc(IORES_DESC_NONE, IORESOURCE_SYSTEM_RAM | IORESOURCE_BUSY,
				      0, -1, NULL, kdapl_page_add_range);

	if (ret == -ENOMEM) {
		kdapl_page_exit();
		return ret;
	}
	return 0;
}

/* A linear search will do: the firmware reports only a few ranges */
static bool kdapl_page_is_ram(unsigned long pfn)
{
	const struct range *r;

	for (r = kdapl_ram; r < kdapl_ram + kdapl_nram; r++)
		if (pfn >= r->start && pfn <= r->end)
			return true;
	return false;
}

/*
 * Returns true if the kernel itself may write at an address. Only x86 exports a function that
 * checks this. Elsewhere the whole kernel image counts as read-only; the DMA API does not allow its
 * data anyway. Any context.
 *
 * @va:    a mapped kernel address
 * @image: the page is reserved, so it may belong to the kernel image
 */
bool kdapl_va_writable(const void *va, bool image)
{
#ifdef CONFIG_X86
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)va, &level);

	return pte && (pte_flags(*pte) & _PAGE_RW);
#else
	return !image;
#endif
}

/*
 * Returns 0 if a reserved page may be registered; -EFAULT if it is not memory; -EACCES if it is
 * read-only. Any context.
 *
 * @pfn:  page frame number; need not be valid
 * @priv: DAT_MEM_PRIV_* asked for
 */
int kdapl_page_check_reserved(unsigned long pfn, DAT_MEM_PRIV_FLAGS priv)
{
	struct page *page;

	if (!pfn_valid(pfn) || !kdapl_page_is_ram(pfn))
		return -EFAULT;
	page = pfn_to_page(pfn);
	if (is_zone_device_page(page))
		return -EFAULT;
	if (!(priv & KDAPL_PRIV_WRITE))
		return 0;
	return is_zero_pfn(pfn) || !kdapl_va_writable(page_address(page), true) ? -EACCES : 0;
}

/* Returns true if the device reaches @phys by the address @dma */
static bool kdapl_dma_leads_to(struct device *dev, struct iommu_domain *domain, dma_addr_t dma,
			       phys_addr_t phys)
{
	return (domain ? iommu_iova_to_phys(domain, dma) : dma_to_phys(dev, dma)) == phys;
}

/*
 * Returns true if the device would reach other memory than the pages, such as bounce buffers. An
 * IOMMU may merge the DMA addresses of several pages into one entry, so the entries with pages and
 * those with DMA addresses cover the same number of bytes, but need not be equally many. Any
 * context.
 *
 * @dev:    device that the entries are mapped for
 * @domain: IOMMU domain that translates its addresses, or NULL
 * @sg:     mapped entries
 * @npages: number of entries that have pages
 */
bool kdapl_sg_bounced(struct device *dev, struct iommu_domain *domain, struct scatterlist *sg,
		      unsigned int npages)
{
	struct scatterlist *to = sg;
	u32 done = 0, part, off;
	phys_addr_t phys;
	unsigned int i;

	for (i = 0; i < npages; i++, sg = sg_next(sg)) {
		phys = page_to_phys(sg_page(sg)) + sg->offset;
		for (off = 0; off < sg->length; off += part) {
			if (done == sg_dma_len(to)) {
				to = sg_next(to);
				done = 0;
			}
			part = min3(sg->length - off, sg_dma_len(to) - done,
				    (u32)(PAGE_SIZE - offset_in_page(phys + off)));
			if (!kdapl_dma_leads_to(dev, domain, sg_dma_address(to) + done,
						phys + off))
				return true;
			done += part;
		}
	}
	return false;
}

/*
 * Returns true if these pages need DMA syncs around each transfer. If dma_need_sync() returns
 * false, no sync is needed. If it returns true, that is not conclusive: before Linux 6.10 it does
 * so for every address behind an IOMMU, and since then once any buffer of the device has bounced,
 * or with CONFIG_DMA_API_DEBUG. Any context.
 *
 * @n: number of entries that have DMA addresses; the other arguments as for kdapl_sg_bounced()
 */
bool kdapl_sg_needs_sync(struct ib_device *ibdev, struct scatterlist *sg, unsigned int n,
			 unsigned int npages)
{
	struct device *dev = ibdev->dma_device;
	struct scatterlist *s;
	unsigned int i;

	if (ib_uses_virt_dma(ibdev))
		return false;
	for_each_sg(sg, s, n, i) {
		if (!dma_need_sync(dev, sg_dma_address(s)))
			continue;
		return !dev_is_dma_coherent(dev) ||
		       kdapl_sg_bounced(dev, iommu_get_domain_for_dev(dev), sg, npages);
	}
	return false;
}
