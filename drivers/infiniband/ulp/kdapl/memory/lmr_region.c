// SPDX-License-Identifier: GPL-2.0
/*
 * Checks which memory may be registered, and finds its pages.
 *
 * Called by lmr.c in process context, before anything is mapped. Every page of an address
 * range is checked, because a device will read and write it later, perhaps on behalf of a
 * peer; so an invalid address must be refused here. The memory is given by kernel virtual
 * addresses, by an array of physical addresses, or by another LMR.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "internal.h"

static bool kdapl_region_is_mapped(const void *va)
{
	if (is_vmalloc_addr(va))
		return true;
#ifdef MODULES_VADDR
	return (unsigned long)va >= MODULES_VADDR && (unsigned long)va < MODULES_END;
#else
	return false;
#endif
}

/* Looks up the page of a kernel address. Returns 0, -EFAULT or -EACCES */
static int kdapl_region_va_page(const void *va, DAT_MEM_PRIV_FLAGS priv, struct page **page)
{
	int ret;

	if (kdapl_region_is_mapped(va))
		*page = vmalloc_to_page(va);
	else
		*page = virt_addr_valid(va) ? virt_to_page(va) : NULL;
	if (!*page)
		return -EFAULT;
	/* I/O memory can also be mapped, but is not RAM */
	ret = kdapl_page_check(page_to_pfn(*page), priv);
	if (ret)
		return ret;
	/* A device would ignore a read-only mapping, such as that of a module's constants */
	if ((priv & KDAPL_PRIV_WRITE) && !kdapl_va_writable(va, PageReserved(*page)))
		return -EACCES;
	return 0;
}

/* Allocates the array for the pages of @length bytes from @offset on */
static int kdapl_region_alloc(struct kdapl_region *r, u32 offset, u64 length, u32 max)
{
	u64 npages;

	/* Checked first, so that the sum cannot wrap */
	if (length > (u64)max << PAGE_SHIFT)
		return -EMSGSIZE;
	npages = (offset + length + PAGE_SIZE - 1) >> PAGE_SHIFT;
	if (npages > max)
		return -EMSGSIZE;
	r->pages = kvmalloc_array(npages, sizeof(*r->pages), GFP_KERNEL);
	if (!r->pages)
		return -ENOMEM;
	r->npages = npages;
	r->offset = offset;
	r->length = length;
	return 0;
}

/* Frees the list of pages. Process context */
void kdapl_region_free(struct kdapl_region *r)
{
	kvfree(r->pages);
	r->pages = NULL;
}

/*
 * Finds the pages of a range of kernel addresses. The registered address is @va, so a post
 * translates no addresses. Returns 0; -EFAULT if an address is not memory; -EACCES if a page is
 * read-only; -EMSGSIZE if there are more than @max; -ENOMEM. Process context.
 *
 * @r:      receives them, here and below; needs kdapl_region_free() even after an error
 * @va:     first address: direct map, kernel image, vmalloc, vmap or module
 * @length: bytes, not 0
 * @max:    largest number of pages
 * @priv:   DAT_MEM_PRIV_* of the registration
 */
int kdapl_region_virtual(struct kdapl_region *r, const void *va, u64 length, u32 max,
			 DAT_MEM_PRIV_FLAGS priv)
{
	unsigned long addr = (unsigned long)va;
	int ret;
	u32 i;

	/*
	 * Do not compare the address with a limit of the direct map: some architectures have the
	 * vmalloc area below it, and an address may have a tag. Each page is checked below.
	 */
	if (length - 1 > ULONG_MAX - addr)
		return -EFAULT;
	ret = kdapl_region_alloc(r, offset_in_page(addr), length, max);
	if (ret)
		return ret;
	r->iova = addr;
	addr &= PAGE_MASK;
	for (i = 0; i < r->npages; i++, addr += PAGE_SIZE) {
		ret = kdapl_region_va_page((void *)addr, priv, &r->pages[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Finds the pages of an array of physical addresses. The registered address is the first entry,
 * and the other bytes follow contiguously, whatever the addresses of the other pages are. Returns
 * the same as kdapl_region_virtual(). Process context.
 *
 * @array:     addresses of pages of @page_size bytes; entries beyond @length are ignored
 * @page_size: a multiple of PAGE_SIZE; @max counts pages of PAGE_SIZE
 */
int kdapl_region_physical(struct kdapl_region *r, const DAT_PADDR *array, u64 page_size,
			  u64 length, u32 max, DAT_MEM_PRIV_FLAGS priv)
{
	u64 addr, per;
	int ret;
	u32 i;

	if (!page_size || !IS_ALIGNED(page_size, PAGE_SIZE))
		return -EFAULT;
	ret = kdapl_region_alloc(r, 0, length, max);
	if (ret)
		return ret;
	per = page_size >> PAGE_SHIFT;
	for (i = 0; i < r->npages; i++) {
		/* Read it once: the Consumer may be writing to the array */
		addr = READ_ONCE(array[i / per]);
		/* Aligned, so that the pages inside cannot wrap */
		if (addr % page_size)
			return -EFAULT;
		addr += (i % per) << PAGE_SHIFT;
		ret = kdapl_page_check(addr >> PAGE_SHIFT, priv);
		if (ret)
			return ret;
		r->pages[i] = pfn_to_page(addr >> PAGE_SHIFT);
	}
	r->iova = page_to_phys(r->pages[0]);
	return 0;
}

/*
 * Finds the pages of the first @length bytes of another LMR. @lmr: referenced; its device cannot be
 * removed. Returns 0; -EMSGSIZE if @length exceeds the LMR; -ENOMEM. Process context.
 */
int kdapl_region_lmr(struct kdapl_region *r, const struct kdapl_lmr *lmr, u64 length)
{
	struct sg_page_iter iter;
	u32 i = 0;
	int ret;

	if (length > lmr->param.registered_size)
		return -EMSGSIZE;
	ret = kdapl_region_alloc(r, offset_in_page(lmr->param.registered_address), length, U32_MAX);
	if (ret)
		return ret;
	for_each_sgtable_page(&lmr->sgt, &iter, 0) {
		if (i == r->npages)
			break;
		r->pages[i++] = sg_page_iter_page(&iter);
	}
	r->iova = lmr->param.registered_address;
	return 0;
}
