// SPDX-License-Identifier: GPL-2.0
/*
 * The DMA domain of an instance: it translates the addresses of the engine, and knows for which
 * direction each was mapped.
 *
 * The kernel can translate an address, but not tell the rights of its mapping. Therefore the
 * model's functions stand between the DMA API and the IOMMU driver, and note the pages that the
 * device may only read, or only write. They are called in the context of dma_map_*() and
 * dma_unmap_*(), which may be an interrupt; hca_translate() by the engine.
 *
 * A driver with a page table of the generic kind (Linux 7.3) is not asked for single mappings.
 * There, as after a failed allocation, a page counts as mapped for both directions.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/swiotlb.h>
#include "hca.h"

#define HCA_BOTH	(IOMMU_READ | IOMMU_WRITE)

static struct hca_dev *hca_of_domain(struct iommu_domain *domain)
{
	return container_of(domain->ops, struct hca_dev, domain_ops);
}

/* Notes what the device may do with these pages; HCA_BOTH is the same as no note */
static void hca_note(struct hca_dev *dev, unsigned long iova, size_t size, int prot)
{
	unsigned long at, flags;

	prot &= HCA_BOTH;
	if (prot == HCA_BOTH && xa_empty(&dev->one_way))
		return;
	xa_lock_irqsave(&dev->one_way, flags);
	for (at = PHYS_PFN(iova); at < PHYS_PFN(iova + size); at++)
		__xa_store(&dev->one_way, at, prot == HCA_BOTH ? NULL : xa_mk_value(prot),
			   GFP_ATOMIC | __GFP_NOWARN);
	xa_unlock_irqrestore(&dev->one_way, flags);
}

static int hca_map_pages(struct iommu_domain *domain, unsigned long iova, phys_addr_t phys,
			 size_t size, size_t n, int prot, gfp_t gfp, size_t *mapped)
{
	struct hca_dev *dev = hca_of_domain(domain);
	int err = dev->driver_ops->map_pages(domain, iova, phys, size, n, prot, gfp, mapped);

	if (!err)
		hca_note(dev, iova, size * n, prot);
	return err;
}

static size_t hca_unmap_pages(struct iommu_domain *domain, unsigned long iova, size_t size,
			      size_t n, struct iommu_iotlb_gather *gather)
{
	struct hca_dev *dev = hca_of_domain(domain);

	hca_note(dev, iova, size * n, HCA_BOTH);
	return dev->driver_ops->unmap_pages(domain, iova, size, n, gather);
}

static bool hca_translates(const struct iommu_domain *domain)
{
	return domain && (domain->type & __IOMMU_DOMAIN_PAGING) &&
	       (domain->type & __IOMMU_DOMAIN_DMA_API);
}

/**
 * hca_domain_init - find the domain of an instance
 * @dev: the instance; nothing is mapped for it yet
 *
 * Without translation an address that was unmapped still leads to memory. Only a guest in which all
 * mappings are copied (swiotlb=force) may do without: nothing but syncs are tested there.
 *
 * Context: process.
 * Return: 0, -EBUSY if another instance has the same domain, -ENODEV.
 */
int hca_domain_init(struct hca_dev *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&dev->pdev->dev);

	if (!hca_translates(domain)) {
		if (domain && is_swiotlb_force_bounce(&dev->pdev->dev))
			goto out;
		dev_err(&dev->pdev->dev, "expected an IOMMU that translates, or swiotlb=force: boot with intel_iommu=on\n");
		return -ENODEV;
	}
	if (domain->ops->map_pages == hca_map_pages)
		return -EBUSY;
	dev->driver_ops = domain->ops;
	dev->domain_ops = *domain->ops;
	dev->domain_ops.map_pages = hca_map_pages;
	dev->domain_ops.unmap_pages = hca_unmap_pages;
	domain->ops = &dev->domain_ops;
out:
	dev->domain = domain;
	return 0;
}

/**
 * hca_domain_exit - leave the domain to its driver
 * @dev: the instance, perhaps without a domain; nothing is mapped for it
 *
 * Context: process.
 */
void hca_domain_exit(struct hca_dev *dev)
{
	if (dev->driver_ops)
		dev->domain->ops = dev->driver_ops;
	dev->driver_ops = NULL;
	xa_destroy(&dev->one_way);
}

/**
 * hca_translate - find the memory of a DMA address
 * @dev:   the instance
 * @iova:  the address
 * @write: the device writes to it
 * @why:   receives the reason of a fault
 *
 * The direction of a mapping is that of its data: a device reads what was mapped for
 * DMA_TO_DEVICE, and writes what was mapped for DMA_FROM_DEVICE (dma_map_single() in
 * Documentation/core-api/dma-api.rst; the rights R and W of a page table entry in the VT-d
 * specification, 9.8).
 *
 * Context: any.
 * Return: the memory, NULL for a fault.
 */
void *hca_translate(struct hca_dev *dev, u64 iova, bool write, const char **why)
{
	phys_addr_t phys = iommu_iova_to_phys(dev->domain, iova);
	void *note = xa_load(&dev->one_way, PHYS_PFN(iova));

	*why = "not mapped";
	if (!phys || !pfn_valid(PHYS_PFN(phys)))
		return NULL;
	*why = write ? "not mapped for writes" : "not mapped for reads";
	if (note && !(xa_to_value(note) & (write ? IOMMU_WRITE : IOMMU_READ)))
		return NULL;
	return page_address(pfn_to_page(PHYS_PFN(phys))) + offset_in_page(phys);
}
