/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Local memory regions, and the table by which posts find them (lmr_table.c).
 */
#ifndef _KDAPL_OBJECT_LMR_H_
#define _KDAPL_OBJECT_LMR_H_

#include <linux/scatterlist.h>
#include "mr.h"

struct kdapl_pz;

#define KDAPL_LMR_INDEX_BITS	20
#define KDAPL_LMR_PAGE_SHIFT	6
#define KDAPL_LMR_PAGE_DESCS	BIT(KDAPL_LMR_PAGE_SHIFT)
#define KDAPL_LMR_PAGES		BIT(KDAPL_LMR_INDEX_BITS - KDAPL_LMR_PAGE_SHIFT)

/*
 * An lmr_context is page:14 | generation, high:6 | entry in the page:6 | generation, low:6. One
 * shift yields the page, and one mask the offset in it, because a descriptor has 64 bytes.
 */
#define KDAPL_LMR_CTX_PAGE	18
#define KDAPL_LMR_CTX_ENTRY	((u32)(KDAPL_LMR_PAGE_DESCS - 1) << 6)
#define KDAPL_LMR_GENERATIONS	BIT(12)

static inline u32 kdapl_lmr_context(u32 generation, u32 idx)
{
	return idx >> KDAPL_LMR_PAGE_SHIFT << KDAPL_LMR_CTX_PAGE | (generation >> 6) << 12 |
	       (idx & (KDAPL_LMR_PAGE_DESCS - 1)) << 6 | (generation & 63);
}

static inline u32 kdapl_lmr_index(u32 context)
{
	return context >> KDAPL_LMR_CTX_PAGE << KDAPL_LMR_PAGE_SHIFT |
	       (context & KDAPL_LMR_CTX_ENTRY) >> 6;
}

static inline u32 kdapl_lmr_generation(u32 context)
{
	return (context >> 12 & 63) << 6 | (context & 63);
}

/*
 * Descriptor: what a post needs to know about an LMR. Descriptors are in the pages of a
 * table that never shrinks.
 *
 * @zp is zone:24 | privileges:8, so that one XOR and one test check both. It is 0
 * in an entry without an LMR. An entry is cleared (zp, then context) before the LMR is
 * invalidated, and reused only after a grace period. @next_free of a free entry has the
 * index of the next one and the generation used last, encoded like a context; guarded
 * by the mutex in lmr_table.c.
 */
struct kdapl_lmr_desc {
	u64 minus_start;		/* added to an address, it gives the offset */
	u64 length;
	u32 lkey;
	u32 zp;
	u32 context;
	u32 next_free;
	struct kdapl_lmr *lmr;	/* for calls that found the entry in use, under RCU */
} __aligned(64);

struct kdapl_lmr_desc_page {
	struct kdapl_lmr_desc desc[KDAPL_LMR_PAGE_DESCS];
};

extern struct kdapl_lmr_desc_page *kdapl_lmr_pages[KDAPL_LMR_PAGES];

/* Table entry of a context, valid if desc->context is the same. Read section */
static __always_inline const struct kdapl_lmr_desc *kdapl_lmr_desc(DAT_LMR_CONTEXT context)
{
	void *page = READ_ONCE(kdapl_lmr_pages[context >> KDAPL_LMR_CTX_PAGE]);

	return page + (context & KDAPL_LMR_CTX_ENTRY);
}

/*
 * Returns true if [@va, @va + @length) is inside an LMR. @minus_start: the negative of its start.
 * Checks the last byte, so an empty segment is never inside. Without the asm, the compiler would
 * compute both conditions before it tests the first one.
 */
static __always_inline bool kdapl_segment_inside(u64 va, u32 length, u64 minus_start, u64 limit)
{
	u64 last;

	if (unlikely(__builtin_add_overflow(va + minus_start, (u64)length - 1, &last)))
		return false;
	asm volatile("" : "+r" (last));
	return likely(last < limit);
}

/**
 * struct kdapl_lmr - local memory region
 * @obj:   header; obj.users counts MRs of RMRs that map it, and outstanding requests of
 *         dat_lmr_fmr() and dat_lmr_invalidate()
 * @pz:    its zone; the LMR counts as a user of it
 * @zone:  pz->zone << KDAPL_ZONE_SHIFT
 * @mr:    its MR; NULL if the LMR is orphaned
 * @sgt:   mapped pages, for the unmap; @is_fmr: it has @max_pages entries
 * @desc:  its descriptor; filled until the LMR is freed, also if it is orphaned
 * @param: what dat_lmr_query() returns
 * @orphaned: the LMR is orphaned; set under @lock
 * @is_fmr: it was created by dat_lmr_allocate(); constant
 * @max_pages: @is_fmr: its capacity in pages; constant
 * @lock:  guards the following fields up to @zp, and the parts of @param that change
 *         (@is_fmr); taken inside kdapl_sq.lock and kdapl_rmr.lock
 * @fmr:   state of @mr; if not @is_fmr, VALID until a peer invalidates it
 * @npages: @is_fmr: entries of @sgt that are mapped
 * @binds: @is_fmr: MRs of RMRs that map its memory, which stays mapped for DMA
 * @dying: dat_lmr_free() has begun
 * @hostile: a peer without the right to do so invalidated it; @repair reports that
 * @zp:    @is_fmr: kdapl_lmr_desc.zp while it is registered
 * @repair: handles @hostile, and replaces an MR whose state is unknown
 * @free_work: after a grace period, frees the MR, the table entry and the LMR
 */
struct kdapl_lmr {
	struct kdapl_obj obj;
	struct kdapl_pz *pz;
	struct ib_mr *mr;
	struct sg_table sgt;
	struct kdapl_lmr_desc *desc;
	DAT_LMR_PARAM param;
	u32 zone;
	bool orphaned;
	bool is_fmr;
	u32 max_pages;
	spinlock_t lock;	/* see above */
	struct kdapl_mr fmr;
	u32 npages;
	u32 binds;
	bool dying;
	bool hostile;
	u32 zp;
	struct work_struct repair;
	struct rcu_work free_work;
};

struct kdapl_lmr_desc *kdapl_lmr_desc_get(struct kdapl_lmr *lmr, u32 *context);
void kdapl_lmr_desc_fill(struct kdapl_lmr_desc *desc, const struct kdapl_lmr *lmr);
void kdapl_lmr_desc_refill(struct kdapl_lmr_desc *desc, const DAT_LMR_PARAM *param,
			   u32 lkey, u32 zp);
u32 kdapl_lmr_next_context(u32 context);
void kdapl_lmr_desc_empty(struct kdapl_lmr_desc *desc);
void kdapl_lmr_desc_put(u32 context);
int kdapl_lmr_init(void);
void kdapl_lmr_exit(void);

static inline struct kdapl_lmr *to_kdapl_lmr(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_lmr, obj);
}

#endif /* _KDAPL_OBJECT_LMR_H_ */
