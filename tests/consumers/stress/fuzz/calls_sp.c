// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the fuzzer: service points.
 *
 * Called by threads; those of class A by upcalls too.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "fuzz.h"

/* ---- arguments --------------------------------------------------------------------------- */

/* Usually an EVD of the IA for requests */
static void gen_cr_evd(struct fuzz *f, const struct thing *ia, struct thing *evd)
{
	unsigned int tries;

	gen_handle(f, DAT_HANDLE_TYPE_EVD, evd);
	for (tries = 0; tries < 6 && evd->know != BAD; tries++) {
		if (evd->flags & DAT_EVD_CR_FLAG && evd->ia == ia->handle)
			break;
		pool_pick(f, fuzz_pool(f), DAT_HANDLE_TYPE_EVD, false, evd);
		evd->know = f->own ? GOOD : MAYBE;
	}
	fuzz_arg(f, "evd", (unsigned long)evd->handle);
	if (!(evd->flags & DAT_EVD_CR_FLAG))
		evd->know = BAD;
	expect_child(f, evd, ia);
}

/* The port may be in use, or may need a privilege */
static DAT_CONN_QUAL gen_listen(struct fuzz *f)
{
	DAT_CONN_QUAL qual = QUAL - 1 - fuzz_rnd(f, QUALS);

	if (one_in(f, 10)) {
		qual = fuzz_rnd64(f) >> fuzz_rnd(f, 64);
		expect(f, MAYBE, R_PRIV);
	}
	if (one_in(f, 20))
		qual = 0;
	fuzz_arg(f, "qual", qual);
	expect(f, know_if(qual), R_IP);
	expect(f, MAYBE, R_USED);
	return qual;
}

static DAT_PSP_FLAGS gen_psp_flags(struct fuzz *f)
{
	u32 flags = one_in(f, 12) ? BIT(fuzz_rnd(f, 32)) : DAT_PSP_CONSUMER_FLAG;

	fuzz_arg(f, "flags", flags);
	expect(f, know_if(!(flags & ~KDAT_PSP_ANY_ADDRESS_FLAG)),
	       flags == DAT_PSP_PROVIDER_FLAG ? R_MNS : R_IP);
	return flags;
}

/* ---- public ------------------------------------------------------------------------------ */

static DAT_RETURN psp_made(struct fuzz *f, DAT_RETURN ret, struct thing *t)
{
	if (ret == DAT_SUCCESS && t->handle)
		fuzz_made(f, DAT_HANDLE_TYPE_PSP, t);
	return ret;
}

static DAT_RETURN psp_create(struct fuzz *f)
{
	struct thing t = { .hold = LOOSE }, ia, evd;
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_PSP) ? &t.handle : NULL;
	DAT_PSP_FLAGS flags;

	gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	expect(f, ia.know, R_IH);
	t.qual = gen_listen(f);
	gen_cr_evd(f, &ia, &evd);
	flags = gen_psp_flags(f);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia.handle;
	t.evd[0] = evd.handle;
	return psp_made(f, dat_psp_create(ia.handle, t.qual, evd.handle, flags,
					  gen_out(f, out, R_IP)), &t);
}

static DAT_RETURN psp_create_any(struct fuzz *f)
{
	struct thing t = { .hold = LOOSE }, ia, evd;
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_PSP) ? &t.handle : NULL;
	DAT_PSP_FLAGS flags;

	gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	expect(f, ia.know, R_IH);
	gen_cr_evd(f, &ia, &evd);
	flags = gen_psp_flags(f);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia.handle;
	t.evd[0] = evd.handle;
	return psp_made(f, dat_psp_create_any(ia.handle, gen_out(f, &t.qual, R_IP), evd.handle,
					      flags, gen_out(f, out, R_IP)), &t);
}

static DAT_RETURN psp_query(struct fuzz *f)
{
	DAT_PSP_PARAM_MASK mask;
	DAT_PSP_PARAM param;
	struct thing psp;

	gen_handle(f, DAT_HANDLE_TYPE_PSP, &psp);
	expect_first(f, psp.know, R_IH);
	mask = gen_mask(f, DAT_PSP_FIELD_ALL, R_IP);
	return dat_psp_query(psp.handle, mask, gen_out(f, &param, R_IP));
}

static DAT_RETURN psp_free(struct fuzz *f)
{
	struct thing psp;
	DAT_RETURN ret;

	gen_victim(f, DAT_HANDLE_TYPE_PSP, &psp);
	expect_first(f, psp.know, R_IH);
	ret = dat_psp_free(psp.handle);
	fuzz_freed(f, DAT_HANDLE_TYPE_PSP, &psp, ret);
	return ret;
}

/* ---- reserved ---------------------------------------------------------------------------- */

static DAT_RETURN rsp_create(struct fuzz *f)
{
	struct thing *ia = &f->with[0], *evd = &f->with[1], *ep = &f->with[2];
	struct thing t = { .hold = LOOSE };
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_RSP) ? &t.handle : NULL;
	DAT_RETURN ret;

	gen_handle(f, DAT_HANDLE_TYPE_IA, ia);
	expect(f, ia->know, R_IH);
	t.qual = gen_listen(f);
	gen_idle(f, ep);
	expect_child(f, ep, ia);
	gen_cr_evd(f, ia, evd);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia->handle;
	t.evd[0] = evd->handle;
	ret = dat_rsp_create(ia->handle, t.qual, ep->handle, evd->handle,
			     gen_out(f, out, R_IP));
	if (ret == DAT_SUCCESS && t.handle)
		fuzz_made(f, DAT_HANDLE_TYPE_RSP, &t);
	return ret;
}

static DAT_RETURN rsp_query(struct fuzz *f)
{
	DAT_RSP_PARAM_MASK mask;
	DAT_RSP_PARAM param;
	struct thing rsp;

	gen_handle(f, DAT_HANDLE_TYPE_RSP, &rsp);
	expect_first(f, rsp.know, R_IH);
	mask = gen_mask(f, DAT_RSP_FIELD_ALL, R_IP);
	return dat_rsp_query(rsp.handle, mask, gen_out(f, &param, R_IP));
}

static DAT_RETURN rsp_free(struct fuzz *f)
{
	struct thing rsp;
	DAT_RETURN ret;

	gen_victim(f, DAT_HANDLE_TYPE_RSP, &rsp);
	expect_first(f, rsp.know, R_IH);
	ret = dat_rsp_free(rsp.handle);
	fuzz_freed(f, DAT_HANDLE_TYPE_RSP, &rsp, ret);
	return ret;
}

/* ---- common, of which there are none ----------------------------------------------------- */

static DAT_RETURN csp_create(struct fuzz *f)
{
	DAT_COMM comm = { .domain = fuzz_rnd64(f) };
	DAT_CSP_HANDLE csp;
	struct thing ia;

	gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	expect_first(f, BAD, R_MNS);
	return dat_csp_create(ia.handle, one_in(f, 4) ? NULL : &comm, NULL, DAT_HANDLE_NULL,
			      one_in(f, 4) ? NULL : &csp);
}

static DAT_RETURN csp_query(struct fuzz *f)
{
	DAT_CSP_PARAM param;
	struct thing csp;

	gen_handle(f, DAT_HANDLE_TYPE_CSP, &csp);
	expect_first(f, BAD, R_MNS);
	return dat_csp_query(csp.handle, fuzz_rnd64(f), one_in(f, 4) ? NULL : &param);
}

static DAT_RETURN csp_free(struct fuzz *f)
{
	struct thing csp;

	gen_handle(f, DAT_HANDLE_TYPE_CSP, &csp);
	expect_first(f, BAD, R_MNS);
	return dat_csp_free(csp.handle);
}

#define R_LISTEN	(R_OK | R_IH | R_IP | R_USED | R_PRIV | R_IR)

static const struct fuzz_call calls[] = {
	{ "dat_psp_create", R_LISTEN | R_MNS, 5, false, psp_create },
	{ "dat_psp_create_any", R_OK | R_IH | R_IP | R_MNS | R_UNAVAIL | R_IR, 4, false,
	  psp_create_any },
	{ "dat_psp_query", R_OK | R_IH | R_IP, 10, true, psp_query },
	{ "dat_psp_free", R_OK | R_IH, 6, false, psp_free },
	{ "dat_rsp_create", R_LISTEN | R_IS, 6, false, rsp_create },
	{ "dat_rsp_query", R_OK | R_IH | R_IP, 10, true, rsp_query },
	{ "dat_rsp_free", R_OK | R_IH, 5, false, rsp_free },
	{ "dat_csp_create", R_MNS, 1, true, csp_create },
	{ "dat_csp_query", R_MNS, 1, true, csp_query },
	{ "dat_csp_free", R_MNS, 1, true, csp_free },
};

FUZZ_GROUP(fuzz_sp, calls);
