// SPDX-License-Identifier: GPL-2.0
/*
 * Access to memory as the device has it: every page of a transfer is looked up in the IOMMU
 * domain of the PCI function at that moment. An address that is not mapped, or not for this
 * direction, is a DMA fault, which is counted and logged. hca_world held.
 */
#include <linux/mm.h>
#include <linux/string.h>
#include "hca.h"

#define HCA_PIECES	16	/* of a message that is placed in random order */

static void hca_fault(const struct hca_sg *sg, const struct hca_seg *seg, u64 iova,
		      const char *why)
{
	hca_count(sg->dev, HCA_DMA_FAULTS);
	dev_err(&sg->dev->pdev->dev, "DMA fault at %#llx, QP %#x, key %#x: %s\n", iova, sg->qpn,
		seg->key, why);
}

/* The DMA address of a byte of a segment, and the number of contiguous bytes from there */
static u64 hca_iova(const struct hca_seg *seg, u64 off, u64 *run)
{
	const struct hca_mr *mr = seg->mr;
	u64 addr = seg->addr + off, at;
	u32 mask;

	if (!mr) {
		*run = PAGE_SIZE - (addr & ~PAGE_MASK);
		return addr;
	}
	mask = mr->page_size - 1;
	at = addr - mr->iova + (mr->iova & mask);
	*run = mr->page_size - (at & mask);
	return mr->pages[div_u64(at, mr->page_size)] + (at & mask);
}

/* Finds the byte at an offset of the message, to read or write it; NULL after a fault */
static void *hca_find(struct hca_sg *sg, u64 off, bool write, u64 *run)
{
	const struct hca_seg *seg = sg->seg;
	const char *why;
	u64 iova, left;
	void *at;

	while (off >= seg->len) {
		off -= seg->len;
		seg++;
	}
	left = seg->len - off;
	if (seg->virt) {
		*run = left;
		return seg->virt + off;
	}
	iova = hca_iova(seg, off, run);
	*run = min3(*run, left, (u64)PAGE_SIZE - (iova & ~PAGE_MASK));
	at = hca_translate(sg->dev, iova, write, &why);
	if (!at)
		hca_fault(sg, seg, iova, why);
	return at;
}

/**
 * hca_dma_probe - may the device read all of this memory?
 * @sg:  the memory
 * @off: offset of its first byte
 * @len: number of bytes
 *
 * Return: false after a fault.
 */
bool hca_dma_probe(struct hca_sg *sg, u64 off, u64 len)
{
	u64 run;

	for (; len; len -= run, off += run) {
		if (!hca_find(sg, off, false, &run))
			return false;
		run = min(run, len);
	}
	return true;
}

static bool hca_copy_piece(struct hca_sg *to, u64 to_off, struct hca_sg *from, u64 off, u64 len)
{
	u64 run, to_run;
	void *src, *dst;

	for (; len; len -= run, off += run, to_off += run) {
		src = hca_find(from, off, false, &run);
		dst = src ? hca_find(to, to_off, true, &to_run) : NULL;
		if (!dst)
			return false;
		run = min3(run, to_run, len);
		memcpy(dst, src, run);
	}
	return true;
}

/* Places pieces of a message in random order */
static bool hca_copy_shuffled(struct hca_sg *to, u64 to_off, struct hca_sg *from, u64 len)
{
	u64 size = div_u64(len + HCA_PIECES - 1, HCA_PIECES), at;
	u8 order[HCA_PIECES];
	u32 i, n = 0;

	for (at = 0; at < len; at += size) {
		i = hca_random(n + 1);
		order[n] = order[i];
		order[i] = n++;
	}
	for (i = 0; i < n; i++) {
		at = order[i] * size;
		if (!hca_copy_piece(to, to_off + at, from, at, min(size, len - at)))
			return false;
	}
	return true;
}

/**
 * hca_dma_copy - transfer a message
 * @to:     the destination
 * @to_off: offset of the first byte there
 * @from:   the source, from its first byte
 * @len:    number of bytes
 *
 * An adapter may place the data of a message in any order (IBTA vol. 1, 9.5 and 10.8.3). With
 * the option last_first the last byte arrives first (1), or pieces arrive in random order (2).
 *
 * Return: false after a fault; a part may have been written.
 */
bool hca_dma_copy(struct hca_sg *to, u64 to_off, struct hca_sg *from, u64 len)
{
	if (hca_opt.last_first == 2)
		return hca_copy_shuffled(to, to_off, from, len);
	if (len && hca_opt.last_first)
		return hca_copy_piece(to, to_off + len - 1, from, len - 1, 1) &&
		       hca_copy_piece(to, to_off, from, 0, len - 1);
	return hca_copy_piece(to, to_off, from, 0, len);
}

static struct hca_sg hca_virt(struct hca_sg *like, void *mem, u32 len)
{
	return (struct hca_sg) {
		.dev = like->dev, .qpn = like->qpn, .n = 1, .len = len,
		.seg[0] = { .virt = mem, .len = len },
	};
}

/* Writes from the device's own memory */
bool hca_dma_put(struct hca_sg *to, u64 off, const void *from, u64 len)
{
	struct hca_sg src = hca_virt(to, (void *)from, len);

	return hca_copy_piece(to, off, &src, 0, len);
}

/* Reads into the device's own memory */
bool hca_dma_get(struct hca_sg *from, u64 off, void *to, u64 len)
{
	struct hca_sg dst = hca_virt(from, to, len);

	return hca_copy_piece(&dst, 0, from, off, len);
}
