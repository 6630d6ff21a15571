// SPDX-License-Identifier: GPL-2.0
/*
 * Registered memory: a buffer between guard bytes, with an LMR that has only the
 * necessary privileges. Created and freed in process context.
 */
#include <linux/align.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "interop.h"

#define GUARD_SIZE	64
#define GUARD_BYTE	0xa5

u32 interop_stride(u32 seg_size)
{
	return ALIGN(seg_size, DT_ALIGN);
}

/**
 * interop_buf_make - allocate and register a buffer
 * @b: the buffer
 * @who: name in failure messages
 * @w: the fixture
 * @pz: zone of the peer
 * @size: bytes
 * @privileges: of the LMR
 *
 * Context: process.
 * Return: 0; -ENOMEM; -EIO if the registration failed, which is recorded.
 */
int interop_buf_make(struct interop_buf *b, const char *who, struct interop_fixture *w,
		     DAT_PZ_HANDLE pz, u32 size, DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region = {};
	DAT_VLEN length;
	DAT_RETURN ret;

	b->mem = kvmalloc(size + 2 * GUARD_SIZE, GFP_KERNEL);
	if (!b->mem)
		return -ENOMEM;
	memset(b->mem, GUARD_BYTE, size + 2 * GUARD_SIZE);
	b->data = b->mem + GUARD_SIZE;
	b->size = size;
	region.for_va = b->data;
	ret = dat_lmr_kcreate(w->t.ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, privileges,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &b->lmr,
			      &b->context, &b->remote, &length, &b->address);
	if (interop_good(who, "dat_lmr_kcreate", ret))
		return 0;
	kvfree(b->mem);
	b->mem = NULL;
	return -EIO;
}

/* Free a buffer that may not exist; the guard bytes must be unchanged */
void interop_buf_free(struct interop_buf *b, const char *who)
{
	if (!b->mem)
		return;
	interop_good(who, "dat_lmr_free", dat_lmr_free(b->lmr));
	if (memchr_inv(b->mem, GUARD_BYTE, GUARD_SIZE) ||
	    memchr_inv(b->data + b->size, GUARD_BYTE, GUARD_SIZE))
		interop_fail(who, "guard bytes of a buffer of %u: expected unchanged", b->size);
	kvfree(b->mem);
	b->mem = NULL;
}

/* Fill in triplets of segments that begin at multiples of the alignment */
void interop_buf_iov(const struct interop_buf *b, u32 segs, u32 seg_size,
		     DAT_LMR_TRIPLET *iov)
{
	u32 i;

	for (i = 0; i < segs; i++) {
		iov[i].virtual_address = b->address + (u64)i * interop_stride(seg_size);
		iov[i].segment_length = seg_size;
		iov[i].lmr_context = b->context;
	}
}

/* Check that every byte of a range has this value, and count the range as verified */
void interop_buf_check(const struct interop_buf *b, u32 offset, u32 len, u8 value,
		       const char *who)
{
	const u8 *bad = memchr_inv(b->data + offset, value, len);

	if (bad)
		interop_fail(who, "byte %u: expected %#04x, got %#04x", (u32)(bad - b->data),
			     value, *bad);
	interop_add(INTEROP_VERIFIED, len);
}
