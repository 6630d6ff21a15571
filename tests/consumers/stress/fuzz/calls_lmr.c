// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the fuzzer: local memory. All registered memory is in the arena, or in the block
 * of contiguous pages; other addresses are not memory.
 *
 * Called by threads; those of class A by upcalls too.
 */
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "fuzz.h"

/* ---- memory ------------------------------------------------------------------------------ */

/* A part of the arena, or an address without memory */
static void gen_virtual(struct fuzz *f, DAT_REGION_DESCRIPTION *region, DAT_VLEN *length)
{
	static const unsigned long wild[] = { 0, 4096, 0x7ffff000, 1UL << 47, -1UL, -4096UL };
	u32 offset = fuzz_rnd(f, AREA_BYTES - 1);
	unsigned int area = 3 + fuzz_rnd(f, AREAS - 3);

	region->for_va = fixture_area(area) + offset;
	*length = 1 + fuzz_rnd(f, AREA_BYTES - offset);
	if (!one_in(f, 10))
		return;
	expect(f, BAD, R_IP);
	switch (fuzz_rnd(f, 3)) {
	case 0:
		region->for_va = (void *)wild[fuzz_rnd(f, ARRAY_SIZE(wild))];
		break;
	case 1:
		/* There is no page after the end */
		region->for_va = fixture_area(AREAS - 1);
		*length = AREA_BYTES + PAGE_SIZE + 1 + fuzz_rnd(f, 1000);
		break;
	default:
		*length = one_in(f, 2) ? 0 : 1ULL << (40 + fuzz_rnd(f, 24));
	}
}

/* Pages of the arena */
static void gen_pages(struct fuzz *f, DAT_REGION_DESCRIPTION *region, u32 n)
{
	unsigned int area = 3 + fuzz_rnd(f, AREAS - 3);
	u32 i;

	for (i = 0; i < n && i < ARRAY_SIZE(f->pages); i++)
		f->pages[i] = page_to_phys(vmalloc_to_page(fixture_area(area) +
							   (i % AREA_PAGES) * PAGE_SIZE));
	region->for_physical = f->pages;
	if (!n || !one_in(f, 10))
		return;
	expect(f, BAD, R_IP);
	i = fuzz_rnd(f, n);
	switch (fuzz_rnd(f, 3)) {
	case 0:
		f->pages[i] += 1 + fuzz_rnd(f, PAGE_SIZE - 1);
		break;
	case 1:
		/* No machine has this address */
		f->pages[i] = (1ULL << (52 + fuzz_rnd(f, 12))) | (fuzz_rnd64(f) & PAGE_MASK);
		break;
	default:
		region->for_physical = NULL;
	}
}

/* Larger pages of the block */
static void gen_large_pages(struct fuzz *f, DAT_REGION_DESCRIPTION *region, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		f->pages[i] = page_to_phys(fx.block) + 2 * PAGE_SIZE * i;
	region->for_array.pages = f->pages;
	region->for_array.page_size = 2 * PAGE_SIZE;
	if (!one_in(f, 8))
		return;
	expect(f, BAD, R_IP);
	switch (fuzz_rnd(f, 3)) {
	case 0:
		region->for_array.page_size = fuzz_rnd(f, PAGE_SIZE);
		break;
	case 1:
		region->for_array.page_size = 3 * PAGE_SIZE / 2;
		break;
	default:
		region->for_array.pages = NULL;
	}
}

static DAT_MEM_PRIV_FLAGS gen_priv(struct fuzz *f)
{
	u32 priv = one_in(f, 3) ? fuzz_rnd64(f) & DAT_MEM_PRIV_ALL_FLAG : DAT_MEM_PRIV_ALL_FLAG;

	if (one_in(f, 16)) {
		priv |= 4;
		expect(f, BAD, R_IP);
	}
	fuzz_arg(f, "privileges", priv);
	return priv;
}

static DAT_VA_TYPE gen_va_type(struct fuzz *f)
{
	u32 type = one_in(f, 16) ? 1 + fuzz_rnd(f, 3) : DAT_VA_TYPE_VA;

	fuzz_arg(f, "va type", type);
	expect(f, know_if(!type), type == DAT_VA_TYPE_ZB ? R_MNS : R_IP);
	return type;
}

/* ---- registering ------------------------------------------------------------------------- */

/* Registers another LMR again: from its start, at most its length */
static void gen_other(struct fuzz *f, const struct thing *ia, DAT_REGION_DESCRIPTION *region,
		      DAT_VLEN *length, DAT_MEM_PRIV_FLAGS priv)
{
	struct thing *other = &f->with[0];

	gen_handle(f, DAT_HANDLE_TYPE_LMR, other);
	expect_child(f, other, ia);
	region->for_lmr_handle = other->handle;
	*length = 1 + fuzz_rnd(f, AREA_BYTES);
	if (other->know == BAD)
		return;
	if (other->fast) {
		expect(f, BAD, R_MNS | R_IP | R_IH | R_IS);
		return;
	}
	if (other->length && *length > other->length && !one_in(f, 10))
		*length = other->length;
	expect(f, know_if(*length <= other->length), R_IP);
	expect(f, know_if(!(priv & ~other->priv)), R_PRIV);
	/* A peer may have invalidated it */
	if (!f->own || other->loose)
		expect(f, MAYBE, R_IS | R_PRIV | R_IP);
}

static DAT_MEM_TYPE gen_memory(struct fuzz *f, const struct thing *ia, DAT_MEM_PRIV_FLAGS priv,
			       DAT_REGION_DESCRIPTION *region, DAT_VLEN *length)
{
	static const u32 wild[] = { DAT_MEM_TYPE_PLATFORM, DAT_MEM_TYPE_IA, DAT_MEM_TYPE_BYPASS,
				    2, 0x200, 0x80000000 };
	u32 which = fuzz_rnd(f, 10);

	memset(region, 0, sizeof(*region));
	*length = 1 + fuzz_rnd(f, AREA_BYTES);
	switch (which) {
	case 0:
		which = wild[fuzz_rnd(f, ARRAY_SIZE(wild))];
		expect(f, BAD, which == 2 || which > 0x100 ? R_IP : R_MNS);
		return which;
	case 1:
	case 2:
		gen_pages(f, region, DIV_ROUND_UP(*length, PAGE_SIZE));
		return DAT_MEM_TYPE_PHYSICAL;
	case 3:
		gen_large_pages(f, region, DIV_ROUND_UP(*length, 2 * PAGE_SIZE));
		return DAT_MEM_TYPE_PHYSICAL_VAR_PAGES;
	case 4:
	case 5:
		gen_other(f, ia, region, length, priv);
		return DAT_MEM_TYPE_LMR;
	default:
		gen_virtual(f, region, length);
		return DAT_MEM_TYPE_VIRTUAL;
	}
}

static DAT_RETURN lmr_kcreate(struct fuzz *f)
{
	struct thing *ia = &f->with[1], *pz = &f->with[2], t = { .hold = LOOSE };
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_LMR) ? &t.handle : NULL;
	u32 optimize = one_in(f, 16) ? 8 : fuzz_rnd(f, 3);
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT *key = &t.key;
	DAT_VLEN length, registered;
	DAT_MEM_TYPE type;
	DAT_VA_TYPE va;
	DAT_RETURN ret;

	gen_handle(f, DAT_HANDLE_TYPE_IA, ia);
	expect(f, ia->know, R_IH);
	t.priv = gen_priv(f);
	type = gen_memory(f, ia, t.priv, &region, &length);
	fuzz_arg(f, "type", type);
	fuzz_arg(f, "length", length);
	gen_handle(f, DAT_HANDLE_TYPE_PZ, pz);
	expect_child(f, pz, ia);
	va = gen_va_type(f);
	expect(f, know_if(optimize != 8), R_IP);
	if (one_in(f, 16)) {
		key = NULL;
		fuzz_arg(f, "no key", 0);
		if (t.priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
			expect(f, BAD, R_IP);
	}
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia->handle;
	t.pz = pz->handle;
	ret = dat_lmr_kcreate(ia->handle, type, region, length, pz->handle, t.priv, va, optimize,
			      gen_out(f, out, R_IP), gen_out(f, &t.context, R_IP), key,
			      one_in(f, 4) ? NULL : &registered, &t.addr);
	t.length = length;
	if (ret == DAT_SUCCESS && t.handle)
		fuzz_made(f, DAT_HANDLE_TYPE_LMR, &t);
	return ret;
}

static DAT_RETURN lmr_query(struct fuzz *f)
{
	DAT_LMR_PARAM_MASK mask;
	struct thing lmr;

	gen_handle(f, DAT_HANDLE_TYPE_LMR, &lmr);
	expect_first(f, lmr.know, R_IH);
	mask = gen_mask(f, DAT_LMR_FIELD_ALL, R_IP);
	return dat_lmr_query(lmr.handle, mask, gen_out(f, &f->u.lmr, R_IP));
}

static DAT_RETURN lmr_free(struct fuzz *f)
{
	struct thing lmr;
	DAT_RETURN ret;

	gen_victim(f, DAT_HANDLE_TYPE_LMR, &lmr);
	expect_first(f, lmr.know, R_IH);
	/* No other RMR is bound to it, or was */
	if (!f->own || lmr.fast || lmr.bound)
		expect(f, MAYBE, R_IS);
	ret = dat_lmr_free(lmr.handle);
	fuzz_freed(f, DAT_HANDLE_TYPE_LMR, &lmr, ret);
	return ret;
}

/* ---- synchronizing ----------------------------------------------------------------------- */

static const DAT_LMR_TRIPLET *gen_sync(struct fuzz *f, struct thing *ia, DAT_VLEN *n)
{
	u32 i;

	gen_handle(f, DAT_HANDLE_TYPE_IA, ia);
	expect_first(f, ia->know, R_IH);
	*n = fuzz_rnd(f, 6);
	for (i = 0; i < *n; i++) {
		f->iov[i] = (DAT_LMR_TRIPLET){
			.virtual_address = fx.home.addr + fuzz_rnd(f, 1000),
			.segment_length = fuzz_rnd(f, 1000),
			.lmr_context = fx.home.context,
		};
		if (ia->hold != PERMANENT && f->iov[i].segment_length)
			expect(f, BAD, R_IH);
		if (!one_in(f, 16))
			continue;
		f->iov[i].segment_length = 1;
		if (one_in(f, 2)) {
			f->iov[i].lmr_context = gen_wild_context(f);
			expect(f, BAD, R_IH);
		} else {
			f->iov[i].virtual_address += AREA_BYTES;
			expect(f, BAD, ia->hold != PERMANENT ? R_IH | R_IP : R_IP);
		}
	}
	if (one_in(f, 16)) {
		*n = 1ULL << (31 + fuzz_rnd(f, 33));
		expect(f, BAD, R_IP);
	}
	fuzz_arg(f, "segments", *n);
	if (one_in(f, 16)) {
		fuzz_arg(f, "none there", 0);
		f->must = 0;
		expect(f, know_if(!*n), R_IP);
		return NULL;
	}
	return f->iov;
}

static DAT_RETURN lmr_sync_rdma_read(struct fuzz *f)
{
	const DAT_LMR_TRIPLET *segments;
	struct thing ia;
	DAT_VLEN n;

	segments = gen_sync(f, &ia, &n);
	return dat_lmr_sync_rdma_read(ia.handle, segments, n);
}

static DAT_RETURN lmr_sync_rdma_write(struct fuzz *f)
{
	const DAT_LMR_TRIPLET *segments;
	struct thing ia;
	DAT_VLEN n;

	segments = gen_sync(f, &ia, &n);
	return dat_lmr_sync_rdma_write(ia.handle, segments, n);
}

/* ---- registering by a request ------------------------------------------------------------ */

static DAT_RETURN lmr_allocate(struct fuzz *f)
{
	struct thing *ia = &f->with[1], *pz = &f->with[2];
	struct thing t = { .hold = LOOSE, .fast = true };
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_LMR) ? &t.handle : NULL;
	u32 scope = one_in(f, 8) ? fuzz_rnd(f, 5) : DAT_LMR_SCOPE_PZ;
	enum know known;
	DAT_COUNT pages;
	DAT_RETURN ret;

	gen_handle(f, DAT_HANDLE_TYPE_IA, ia);
	expect(f, ia->know, R_IH);
	gen_handle(f, DAT_HANDLE_TYPE_PZ, pz);
	expect_child(f, pz, ia);
	pages = gen_count(f, 1, AREA_PAGES, &known);
	/* The device accepts some more */
	if (known == BAD)
		expect(f, pages > 0 && pages <= 512 ? GOOD : BAD, R_IP);
	fuzz_arg(f, "scope", scope);
	expect(f, know_if(scope == DAT_LMR_SCOPE_PZ || scope == DAT_LMR_SCOPE_ANY),
	       scope == DAT_LMR_SCOPE_EP ? R_MNS : R_IP);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia->handle;
	t.pz = pz->handle;
	t.length = pages * PAGE_SIZE;
	ret = dat_lmr_allocate(ia->handle, pz->handle, pages, scope, gen_out(f, out, R_IP));
	if (ret == DAT_SUCCESS && t.handle)
		fuzz_made(f, DAT_HANDLE_TYPE_LMR, &t);
	return ret;
}

/* Usually one of dat_lmr_allocate() */
static void gen_fast(struct fuzz *f, struct thing *lmr)
{
	unsigned int i, tries = 4;

	gen_handle(f, DAT_HANDLE_TYPE_LMR, lmr);
	for (i = 0; i < tries && lmr->know != BAD && !lmr->fast; i++) {
		enum know known = f->own ? GOOD : MAYBE;

		pool_pick(f, fuzz_pool(f), DAT_HANDLE_TYPE_LMR, true, lmr);
		lmr->know = known;
	}
	fuzz_arg(f, "fast", lmr->fast);
}

/* The EP, of the LMR's zone, and what is known of both; in no particular order */
static void gen_fast_ep(struct fuzz *f, const struct thing *lmr, struct thing *ep)
{
	gen_handle(f, DAT_HANDLE_TYPE_EP, ep);
	if (f->own && fuzz_rnd(f, 6))
		gen_pair(f, ep);
	expect_first(f, ep->know, R_IH);
	if (lmr->know != BAD)
		expect(f, know_if(lmr->fast), R_IP);
	expect(f, ep_know(f, ep, S(CONNECTED) | S(DISCONNECTED)), R_IS);
	if (f->own && lmr->know == GOOD && ep->know == GOOD)
		expect(f, know_if(lmr->pz == ep->pz), R_PROT);
	else
		expect(f, MAYBE, R_PROT);
	/* The LMR may be registered, or not; the queue full, or not */
	expect(f, MAYBE, R_IS | R_IR);
}

#define FAST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG)

static DAT_COMPLETION_FLAGS gen_fast_flags(struct fuzz *f, u32 legal)
{
	DAT_COMPLETION_FLAGS flags;
	enum know known;

	flags = gen_flags(f, legal, &known);
	/* The attributes of the EP may allow it */
	if (flags == (flags & (legal | DAT_COMPLETION_UNSIGNALLED_FLAG)))
		expect(f, known == GOOD ? GOOD : MAYBE, R_IP);
	else
		expect(f, BAD, R_IP);
	return flags;
}

static DAT_MEM_TYPE gen_fast_memory(struct fuzz *f, const struct thing *lmr,
				    DAT_REGION_DESCRIPTION *region, DAT_VLEN *n)
{
	u32 most = clamp_t(u64, lmr->length / PAGE_SIZE, 1, AREA_PAGES);

	memset(region, 0, sizeof(*region));
	*n = 1 + fuzz_rnd(f, most);
	if (most > 1 && one_in(f, 6)) {
		*n = 1 + fuzz_rnd(f, most / 2);
		gen_large_pages(f, region, *n);
		return DAT_MEM_TYPE_PHYSICAL_VAR_PAGES;
	}
	gen_pages(f, region, *n);
	if (one_in(f, 16)) {
		*n = one_in(f, 2) ? 0 : AREA_PAGES + 1 + fuzz_rnd64(f);
		expect(f, BAD, R_IP);
	}
	if (one_in(f, 16)) {
		expect(f, BAD, R_MNS | R_IP);
		return one_in(f, 2) ? DAT_MEM_TYPE_VIRTUAL : 3;
	}
	return DAT_MEM_TYPE_PHYSICAL;
}

static DAT_RETURN lmr_fmr(struct fuzz *f)
{
	struct thing *lmr = &f->with[0], *ep = &f->with[1];
	DAT_LMR_COOKIE cookie = { .as_64 = f->number };
	DAT_REGION_DESCRIPTION region;
	DAT_COMPLETION_FLAGS flags;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_MEM_TYPE type;
	DAT_VA_TYPE va;
	DAT_RETURN ret;
	DAT_VLEN n;

	gen_fast(f, lmr);
	expect_first(f, lmr->know, R_IH);
	gen_fast_ep(f, lmr, ep);
	type = gen_fast_memory(f, lmr, &region, &n);
	fuzz_arg(f, "type", type);
	fuzz_arg(f, "pages", n);
	priv = gen_priv(f);
	va = gen_va_type(f);
	flags = gen_fast_flags(f, FAST_FLAGS);
	ret = dat_lmr_fmr(lmr->handle, type, region, n, priv, va, ep->handle, cookie, flags,
			  gen_out(f, &context, R_IP), gen_out(f, &key, priv & 0x22 ? R_IP : 0));
	if (ret == DAT_SUCCESS && lmr->know != BAD) {
		/* Of an earlier generation of the same entry */
		if (lmr->context && lmr->context != context)
			fuzz_stale_context(f, lmr->context);
		lmr->context = context;
		lmr->addr = f->pages[0];
		pool_update(fuzz_pool(f), DAT_HANDLE_TYPE_LMR, lmr);
	}
	return ret;
}

static DAT_RETURN lmr_invalidate(struct fuzz *f)
{
	const DAT_COMPLETION_FLAGS fence = DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
	struct thing *lmr = &f->with[0], *ep = &f->with[1];
	DAT_LMR_COOKIE cookie = { .as_64 = f->number };
	DAT_COMPLETION_FLAGS flags;

	gen_fast(f, lmr);
	expect_first(f, lmr->know, R_IH);
	gen_fast_ep(f, lmr, ep);
	flags = gen_fast_flags(f, FAST_FLAGS | fence);
	/* Only Soft-RoCE is known to execute it after all earlier requests (V-11) */
	if (flags & fence && strncmp(test_ia_name, "rxe", 3))
		expect(f, MAYBE, R_MNS);
	return dat_lmr_invalidate(lmr->handle, ep->handle, cookie, flags);
}

static const struct fuzz_call calls[] = {
	{ "dat_lmr_kcreate", R_OK | R_IH | R_IP | R_MNS | R_PRIV | R_IR, 14, false, lmr_kcreate },
	{ "dat_lmr_query", R_OK | R_IH | R_IP, 12, true, lmr_query },
	{ "dat_lmr_free", R_OK | R_IH | R_IS, 14, false, lmr_free },
	{ "dat_lmr_sync_rdma_read", R_OK | R_IH | R_IP, 8, true, lmr_sync_rdma_read },
	{ "dat_lmr_sync_rdma_write", R_OK | R_IH | R_IP, 8, true, lmr_sync_rdma_write },
	{ "dat_lmr_allocate", R_OK | R_IH | R_IP | R_MNS | R_IR, 6, false, lmr_allocate },
	{ "dat_lmr_fmr", R_OK | R_IH | R_MNS | R_IP | R_IS | R_PROT | R_IR, 30, true, lmr_fmr },
	{ "dat_lmr_invalidate", R_OK | R_IH | R_MNS | R_IP | R_IS | R_PROT | R_IR, 30, true,
	  lmr_invalidate },
};

FUZZ_GROUP(fuzz_lmr, calls);
