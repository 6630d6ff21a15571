// SPDX-License-Identifier: GPL-2.0
/*
 * The table of LMR descriptors, in which posts look up the contexts of their segments.
 *
 * Owns kdapl_lmr_pages[] and the indexes of its entries. lmr.c, lmr_alloc.c and lmr_free.c
 * call it in process context. lmr_fmr.c refills the descriptor of an LMR in any context except
 * hard interrupt. Posts read the table through kdapl_lmr_desc() inside a read section and take
 * no lock. Pages are added under the mutex and stay until the module is unloaded; unused
 * entries of the array point to an empty page.
 *
 * A descriptor becomes visible by its last store, to @zp, and disappears by the store of 0 there.
 * Its index is used again only after a grace period, so that a read section sees at most one LMR in
 * an entry. Indexes are reused first-in first-out, and only when a number of them is free, and each
 * use has a generation of 12 bits: a stale context finds another LMR only after its index has been
 * used 4,095 times more. Each dat_lmr_fmr() is a use of the index of its LMR, without the delay of
 * the free indexes.
 */
#include <linux/mm.h>
#include "object.h"

#define KDAPL_LMR_MAX		BIT(KDAPL_LMR_INDEX_BITS)
/* Number of free indexes that are not reused while there are unused ones */
#define KDAPL_LMR_KEEP_FREE	256

struct kdapl_lmr_desc_page *kdapl_lmr_pages[KDAPL_LMR_PAGES];

static struct kdapl_lmr_desc_page *kdapl_lmr_empty;

/* Guards the following variables, and next_free and lmr of all entries */
static DEFINE_MUTEX(kdapl_lmr_mutex);
static u32 first_unused;	/* indexes from here on were never used */
static u32 free_head;		/* oldest and youngest free index, if nfree */
static u32 free_tail;
static u32 nfree;

/* Creates the empty table. Returns 0 or -ENOMEM. Process context, module load */
int kdapl_lmr_init(void)
{
	unsigned int i;

	BUILD_BUG_ON(sizeof(struct kdapl_lmr_desc) != 64);
	kdapl_lmr_empty = kzalloc(sizeof(*kdapl_lmr_empty), GFP_KERNEL);
	if (!kdapl_lmr_empty)
		return -ENOMEM;
	for (i = 0; i < KDAPL_LMR_PAGES; i++)
		kdapl_lmr_pages[i] = kdapl_lmr_empty;
	return 0;
}

/*
 * Frees the memory of the table. Process context, module unload; no LMR is left, and no work of
 * one.
 */
void kdapl_lmr_exit(void)
{
	unsigned int i;

	for (i = 0; i < KDAPL_LMR_PAGES; i++)
		if (kdapl_lmr_pages[i] != kdapl_lmr_empty)
			kfree(kdapl_lmr_pages[i]);
	kfree(kdapl_lmr_empty);
}

static struct kdapl_lmr_desc *kdapl_lmr_desc_at(u32 idx)
{
	return &kdapl_lmr_pages[idx >> KDAPL_LMR_PAGE_SHIFT]->desc[idx &
			(KDAPL_LMR_PAGE_DESCS - 1)];
}

/* Allocates the page of index first_unused. kdapl_lmr_mutex held */
static int kdapl_lmr_grow(void)
{
	struct kdapl_lmr_desc_page **entry = &kdapl_lmr_pages[first_unused >> KDAPL_LMR_PAGE_SHIFT];
	struct kdapl_lmr_desc_page *page;

	if (*entry != kdapl_lmr_empty)
		return 0;
	page = kzalloc(sizeof(*page), GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	/* Pairs with the dependent load in kdapl_lmr_desc() */
	smp_store_release(entry, page);
	return 0;
}

/* The context for the next use of an entry. Any context */
u32 kdapl_lmr_next_context(u32 context)
{
	u32 gen = kdapl_lmr_generation(context) + 1;

	/* The generation after the last one is 1, because 0 could produce context 0 */
	if (gen == KDAPL_LMR_GENERATIONS)
		gen = 1;
	return kdapl_lmr_context(gen, kdapl_lmr_index(context));
}

/*
 * Takes an entry of the table. Returns the entry, which readers still see as empty; NULL if there
 * is no memory or no free entry. Process context.
 *
 * @lmr:     LMR that will use it
 * @context: receives its context, which is never 0
 */
struct kdapl_lmr_desc *kdapl_lmr_desc_get(struct kdapl_lmr *lmr, u32 *context)
{
	struct kdapl_lmr_desc *desc = NULL;
	u32 idx, gen;

	mutex_lock(&kdapl_lmr_mutex);
	if (first_unused < KDAPL_LMR_MAX && nfree < KDAPL_LMR_KEEP_FREE && !kdapl_lmr_grow()) {
		idx = first_unused++;
		desc = kdapl_lmr_desc_at(idx);
	} else if (nfree) {
		idx = free_head;
		desc = kdapl_lmr_desc_at(idx);
		free_head = kdapl_lmr_index(desc->next_free);
		nfree--;
	}
	if (desc) {
		gen = kdapl_lmr_generation(desc->next_free);
		*context = kdapl_lmr_next_context(kdapl_lmr_context(gen, idx));
		WRITE_ONCE(desc->lmr, lmr);
	}
	mutex_unlock(&kdapl_lmr_mutex);
	return desc;
}

/*
 * Makes a registration of dat_lmr_fmr() visible to posts. Any context; one at a time for an entry.
 *
 * @desc:  entry, hidden (@zp 0) or never filled
 * @param: context, address and length
 * @lkey:  key for local segments
 * @zp:    zone and privileges
 */
void kdapl_lmr_desc_refill(struct kdapl_lmr_desc *desc, const DAT_LMR_PARAM *param,
			   u32 lkey, u32 zp)
{
	desc->minus_start = -param->registered_address;
	desc->length = param->registered_size;
	desc->lkey = lkey;
	WRITE_ONCE(desc->context, param->lmr_context);
	/* Last: readers ignore the rest while zone and privileges are 0 */
	smp_store_release(&desc->zp, zp);
}

/* Makes an LMR visible to posts. @lmr: the LMR, registered. Process context */
void kdapl_lmr_desc_fill(struct kdapl_lmr_desc *desc, const struct kdapl_lmr *lmr)
{
	kdapl_lmr_desc_refill(desc, &lmr->param, lmr->mr->lkey, lmr->zone | lmr->param.mem_priv);
}

/* Hides an LMR from posts that begin from now on. Process context */
void kdapl_lmr_desc_empty(struct kdapl_lmr_desc *desc)
{
	mutex_lock(&kdapl_lmr_mutex);
	WRITE_ONCE(desc->zp, 0);
	WRITE_ONCE(desc->context, 0);
	WRITE_ONCE(desc->lmr, NULL);
	mutex_unlock(&kdapl_lmr_mutex);
}

/*
 * Releases an entry. @context: its context; the entry was cleared a grace period ago, or never
 * filled. Process context.
 */
void kdapl_lmr_desc_put(u32 context)
{
	u32 idx = kdapl_lmr_index(context);
	struct kdapl_lmr_desc *tail;

	mutex_lock(&kdapl_lmr_mutex);
	/* It keeps its generation in the list of free entries */
	kdapl_lmr_desc_at(idx)->next_free = context;
	WRITE_ONCE(kdapl_lmr_desc_at(idx)->lmr, NULL);
	if (nfree++) {
		tail = kdapl_lmr_desc_at(free_tail);
		tail->next_free = kdapl_lmr_context(kdapl_lmr_generation(tail->next_free), idx);
	} else {
		free_head = idx;
	}
	free_tail = idx;
	mutex_unlock(&kdapl_lmr_mutex);
}
