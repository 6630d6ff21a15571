// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the fuzzer: remote memory regions.
 *
 * Called by threads; those of class A by upcalls too.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "fuzz.h"

static void *gen_rmr_out(struct fuzz *f, struct thing *t)
{
	t->hold = LOOSE;
	return pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_RMR) ? &t->handle : NULL;
}

static DAT_RETURN rmr_create(struct fuzz *f)
{
	struct thing t = { }, pz;
	void *out = gen_rmr_out(f, &t);
	DAT_RETURN ret;

	gen_handle(f, DAT_HANDLE_TYPE_PZ, &pz);
	expect(f, pz.know, R_IH);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = pz.ia;
	t.pz = pz.handle;
	ret = dat_rmr_create(pz.handle, gen_out(f, out, R_IP));
	if (ret == DAT_SUCCESS && t.handle)
		fuzz_made(f, DAT_HANDLE_TYPE_RMR, &t);
	return ret;
}

static DAT_RETURN rmr_create_for_ep(struct fuzz *f)
{
	DAT_RMR_HANDLE rmr;
	struct thing pz;
	void *out;

	gen_handle(f, DAT_HANDLE_TYPE_PZ, &pz);
	expect_first(f, pz.know, R_IH);
	out = gen_out(f, &rmr, R_IP);
	if (out)
		expect(f, BAD, R_MNS);
	return dat_rmr_create_for_ep(pz.handle, out);
}

static DAT_RETURN rmr_query(struct fuzz *f)
{
	DAT_RMR_PARAM_MASK mask;
	DAT_RMR_PARAM param;
	struct thing rmr;

	gen_handle(f, DAT_HANDLE_TYPE_RMR, &rmr);
	expect_first(f, rmr.know, R_IH);
	mask = gen_mask(f, DAT_RMR_FIELD_ALL, R_IP);
	return dat_rmr_query(rmr.handle, mask, gen_out(f, &param, R_IP));
}

static DAT_RETURN rmr_free(struct fuzz *f)
{
	struct thing rmr;
	DAT_RETURN ret;

	gen_victim(f, DAT_HANDLE_TYPE_RMR, &rmr);
	expect_first(f, rmr.know, R_IH);
	ret = dat_rmr_free(rmr.handle);
	fuzz_freed(f, DAT_HANDLE_TYPE_RMR, &rmr, ret);
	return ret;
}

/* ---- binding ----------------------------------------------------------------------------- */

/* The range of the LMR; an empty one ends the binding, and the LMR is not checked */
static void gen_bind_range(struct fuzz *f, struct thing *lmr, DAT_LMR_TRIPLET *range)
{
	*range = (DAT_LMR_TRIPLET){ .virtual_address = fuzz_rnd64(f),
				    .lmr_context = fuzz_rnd64(f) };
	if (one_in(f, 4)) {
		gen_handle(f, DAT_HANDLE_TYPE_LMR, lmr);
		fuzz_arg(f, "unbind", 0);
		return;
	}
	*lmr = fx.home;
	lmr->know = GOOD;
	if (one_in(f, 3))
		gen_handle(f, DAT_HANDLE_TYPE_LMR, lmr);
	expect_first(f, lmr->know, R_IH);
	range->virtual_address = lmr->addr;
	range->segment_length = clamp_t(u64, lmr->length, 1, 4096);
	range->lmr_context = lmr->context;
	if (one_in(f, 12)) {
		if (one_in(f, 2))
			range->lmr_context ^= BIT(fuzz_rnd(f, 32));
		else
			range->lmr_context = gen_wild_context(f);
		expect(f, BAD, R_IP | (lmr->fast ? R_PRIV : 0));
	} else if (one_in(f, 12)) {
		range->virtual_address += one_in(f, 2) ? lmr->length : -1ULL;
		expect(f, BAD, R_IP | (lmr->fast ? R_PRIV : 0));
	}
	fuzz_arg(f, "length", range->segment_length);
	/* It may be registered, or not, and with less memory */
	if (lmr->fast)
		expect(f, MAYBE, R_PRIV | R_IP);
	/* A peer may have invalidated it */
	if (!f->own || lmr->loose)
		expect(f, MAYBE, R_PRIV | R_IP | R_IS);
}

static void gen_bind_rights(struct fuzz *f, const struct thing *lmr, u32 *priv, u32 *va)
{
	bool unbind = !lmr->length || lmr->know == BAD;

	*priv = fuzz_rnd64(f) & DAT_MEM_PRIV_ALL_FLAG;
	if (one_in(f, 16)) {
		*priv |= 8;
		expect(f, BAD, R_IP);
	}
	*va = one_in(f, 20) ? 1 + fuzz_rnd(f, 3) : DAT_VA_TYPE_VA;
	expect(f, know_if(!*va), *va == DAT_VA_TYPE_ZB ? R_MNS : R_IP);
	fuzz_arg(f, "privileges", *priv);
	fuzz_arg(f, "va type", *va);
	if (unbind)
		return;
	if (*priv & DAT_MEM_PRIV_REMOTE_READ_FLAG && !(lmr->priv & DAT_MEM_PRIV_LOCAL_READ_FLAG))
		expect(f, lmr->fast ? MAYBE : BAD, R_PRIV);
	if (*priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG && !(lmr->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		expect(f, lmr->fast ? MAYBE : BAD, R_PRIV);
}

static void gen_bind_ep(struct fuzz *f, struct thing *ep)
{
	gen_handle(f, DAT_HANDLE_TYPE_EP, ep);
	if (f->own && fuzz_rnd(f, 6))
		gen_pair(f, ep);
	expect_first(f, ep->know, R_IH);
	expect(f, ep_know(f, ep, S(CONNECTED) | S(DISCONNECTED)), R_IS);
}

static void check_zones(struct fuzz *f, const struct thing *rmr, const struct thing *lmr,
			const struct thing *ep, bool unbind)
{
	if (!f->own || rmr->know != GOOD || ep->know != GOOD)
		expect(f, MAYBE, R_PROT);
	else if (rmr->pz != ep->pz || (!unbind && lmr->pz != ep->pz))
		expect(f, BAD, R_PROT);
}

static DAT_COMPLETION_FLAGS gen_bind_flags(struct fuzz *f)
{
	const u32 legal = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG;
	DAT_COMPLETION_FLAGS flags;
	enum know known;

	flags = gen_flags(f, legal, &known);
	if (known == BAD)
		expect(f, flags & ~(legal | DAT_COMPLETION_UNSIGNALLED_FLAG) ? BAD : MAYBE, R_IP);
	return flags;
}

static DAT_RETURN rmr_bind(struct fuzz *f)
{
	struct thing *rmr = &f->with[0], *lmr = &f->with[1], *ep = &f->with[2];
	DAT_RMR_COOKIE cookie = { .as_64 = f->number };
	DAT_COMPLETION_FLAGS flags;
	DAT_RMR_CONTEXT key = 0;
	DAT_LMR_TRIPLET range;
	bool there, unbind;
	u32 priv, va;
	DAT_RETURN ret;

	gen_handle(f, DAT_HANDLE_TYPE_RMR, rmr);
	expect_first(f, rmr->know, R_IH);
	there = !one_in(f, 30);
	if (!there) {
		/* The range determines whether the LMR is checked */
		fuzz_arg(f, "no range", 0);
		expect_first(f, BAD, R_IP | R_IH | R_MNS);
	}
	gen_bind_range(f, lmr, &range);
	unbind = !range.segment_length;
	gen_bind_ep(f, ep);
	if (unbind)
		lmr->know = BAD;
	gen_bind_rights(f, lmr, &priv, &va);
	check_zones(f, rmr, lmr, ep, unbind);
	flags = gen_bind_flags(f);
	expect(f, MAYBE, R_IR);
	ret = dat_rmr_bind(rmr->handle, lmr->handle, there ? &range : NULL, priv, va, ep->handle,
			   cookie, flags, gen_out(f, &key, R_IP));
	if (ret != DAT_SUCCESS)
		return ret;
	rmr->key = key;
	pool_update(fuzz_pool(f), DAT_HANDLE_TYPE_RMR, rmr);
	if (!unbind) {
		lmr->bound = true;
		pool_update(fuzz_pool(f), DAT_HANDLE_TYPE_LMR, lmr);
	}
	return ret;
}

#define R_BIND	(R_OK | R_IH | R_MNS | R_IP | R_IS | R_PROT | R_PRIV | R_IR)

static const struct fuzz_call calls[] = {
	{ "dat_rmr_create", R_OK | R_IH | R_IP | R_IR, 6, false, rmr_create },
	{ "dat_rmr_create_for_ep", R_IH | R_IP | R_MNS, 1, false, rmr_create_for_ep },
	{ "dat_rmr_query", R_OK | R_IH | R_IP, 12, true, rmr_query },
	{ "dat_rmr_bind", R_BIND, 50, true, rmr_bind },
	{ "dat_rmr_free", R_OK | R_IH, 6, false, rmr_free },
};

FUZZ_GROUP(fuzz_rmr, calls);
