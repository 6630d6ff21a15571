// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the fuzzer: registry, error text, IAs, protection zones, and calls for a handle
 * of any type.
 *
 * Called by threads; those of class A by upcalls too.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "fuzz.h"

/* ---- names ------------------------------------------------------------------------------- */

/* @open: to open an IA; otherwise its address does not matter */
static char *gen_name(struct fuzz *f, bool open)
{
	static char long_name[2 * DAT_NAME_MAX_LENGTH];
	static char * const wild[] = { "", "nothing0", "rxe0/2", "rxe0/x", "rxe0@1.2.3.4",
				       "rxe0/1@", "/", "@", "rxe0/9999999999999999",
				       long_name };
	u32 i;

	if (!long_name[0])
		memset(long_name, 'x', sizeof(long_name) - 1);
	switch (fuzz_rnd(f, 12)) {
	case 0:
		fuzz_arg(f, "no name", 0);
		expect(f, BAD, R_IP);
		return NULL;
	case 1:
	case 2:
		i = fuzz_rnd(f, ARRAY_SIZE(wild));
		fuzz_arg(f, "wild name", i);
		/* A name that is too long is an invalid argument */
		expect(f, !open && strchr(wild[i], '@') ? MAYBE : BAD, R_PNF | R_IP);
		return wild[i];
	default:
		fuzz_arg(f, "name", 0);
		return test_ia_name;
	}
}

/* ---- registry ---------------------------------------------------------------------------- */

static DAT_RETURN list_providers(struct fuzz *f)
{
	DAT_PROVIDER_INFO *list[4] = { &f->u.info[0], &f->u.info[1], &f->u.info[2],
				       &f->u.info[3] };
	const DAT_COUNT most[] = { -1, 0, 1, 4, 4, 4, S32_MIN };
	DAT_COUNT n = most[fuzz_rnd(f, ARRAY_SIZE(most))], count;
	bool there = !one_in(f, 10);

	fuzz_arg(f, "count", n);
	/* There is one IA in the guest, or a few */
	expect(f, n == 4 ? GOOD : n == 1 ? MAYBE : BAD, R_IP);
	if (one_in(f, 10)) {
		list[fuzz_rnd(f, 2)] = NULL;
		fuzz_arg(f, "no entry", 0);
		expect(f, MAYBE, R_IP);
		if (!list[0])
			expect(f, BAD, R_IP);
	}
	if (!there && n > 0)
		expect(f, BAD, R_IP);
	return dat_registry_list_providers(n, gen_out(f, &count, R_IP), there ? list : NULL);
}

static void gen_provider(struct fuzz *f, const DAT_PROVIDER **provider,
			 const DAT_PROVIDER_INFO **info)
{
	memset(&f->u.info[0], 0, sizeof(f->u.info[0]));
	expect(f, BAD, R_MNS | R_IP);
	/* The call does not dereference it */
	*provider = one_in(f, 4) ? NULL : (const DAT_PROVIDER *)f;
	*info = one_in(f, 4) ? NULL : &f->u.info[0];
	fuzz_arg(f, "provider", !!*provider);
	fuzz_arg(f, "info", !!*info);
	expect_first(f, know_if(*provider && *info), R_IP);
	expect_first(f, BAD, R_MNS);
}

static DAT_RETURN add_provider(struct fuzz *f)
{
	const DAT_PROVIDER_INFO *info;
	const DAT_PROVIDER *provider;

	gen_provider(f, &provider, &info);
	return dat_registry_add_provider(provider, info);
}

static DAT_RETURN remove_provider(struct fuzz *f)
{
	const DAT_PROVIDER_INFO *info;
	const DAT_PROVIDER *provider;

	gen_provider(f, &provider, &info);
	return dat_registry_remove_provider(provider, info);
}

static DAT_RETURN providers_related(struct fuzz *f)
{
	DAT_HA_RELATIONSHIP answer;
	char *name1 = gen_name(f, false), *name2 = gen_name(f, false);

	return dat_registry_providers_related(name1, name2, gen_out(f, &answer, R_IP));
}

static DAT_RETURN error_text(struct fuzz *f)
{
	DAT_RETURN value = DAT_ERROR(fuzz_rnd(f, 26) << 16, fuzz_rnd(f, 100));
	const char *major, *minor;
	bool sure = false;

	switch (fuzz_rnd(f, 8)) {
	case 0:
		value = fuzz_rnd64(f);
		break;
	case 1:
		value = DAT_ERROR(DAT_COMM_NOT_SUPPORTED + 0x10000, 0);
		expect(f, BAD, R_IP);
		break;
	case 2:
	case 3:
		/* Every type with no subtype has a name */
		value = DAT_ERROR((1 + fuzz_rnd(f, 0x17)) << 16, DAT_NO_SUBTYPE);
		sure = true;
		break;
	}
	fuzz_arg(f, "value", value);
	expect(f, sure ? GOOD : MAYBE, R_IP);
	return dat_strerror(value, gen_out(f, &major, R_IP), gen_out(f, &minor, R_IP));
}

/* ---- IAs --------------------------------------------------------------------------------- */

/* The EVD for its asynchronous events: usually one that the call creates */
static void gen_async(struct fuzz *f, DAT_COUNT qlen, enum know qlen_known, struct thing *evd)
{
	memset(evd, 0, sizeof(*evd));
	if (one_in(f, 4))
		gen_handle(f, DAT_HANDLE_TYPE_EVD, evd);
	if (!evd->handle) {
		/* Longer than an EVD may be is refused, too */
		if (qlen <= 0)
			expect(f, BAD, R_IP);
		else if (qlen_known == BAD)
			expect(f, MAYBE, R_IR | R_IP);
		return;
	}
	if (evd->know != BAD && !(evd->flags & DAT_EVD_ASYNC_FLAG))
		evd->know = BAD;
	expect(f, evd->know, R_IH);
}

static DAT_RETURN ia_openv(struct fuzz *f)
{
	struct thing t = { .hold = LOOSE }, evd, made;
	char *name = gen_name(f, true);
	enum know qlen_known;
	DAT_COUNT qlen = gen_count(f, 1, 64, &qlen_known);
	u32 major = one_in(f, 30) ? fuzz_rnd(f, 4) : 2, minor = one_in(f, 30) ? 1 : 0;
	u32 safe = one_in(f, 30) ? 2 : fuzz_rnd(f, 2);
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_IA) ? &t.handle : NULL;
	DAT_HANDLE async;
	DAT_RETURN ret;

	gen_async(f, qlen, qlen_known, &evd);
	async = evd.handle;
	fuzz_arg(f, "version", major << 8 | minor);
	fuzz_arg(f, "thread safe", safe);
	expect(f, know_if(major == 2 && !minor), R_PNF);
	expect(f, safe == 2 ? BAD : GOOD, R_PNF | R_IP);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	ret = dat_ia_openv(name, qlen, gen_out(f, &async, R_IP), gen_out(f, out, R_IH), major,
			   minor, safe);
	if (ret != DAT_SUCCESS || !out)
		return ret;
	/* An IA that receives its events is in use meanwhile */
	t.evd[0] = evd.handle;
	if (evd.handle)
		t.srq = evd.ia;
	fuzz_made(f, DAT_HANDLE_TYPE_IA, &t);
	if (!evd.handle) {
		made = (struct thing){ .handle = async, .hold = HELD, .ia = t.handle,
				       .flags = DAT_EVD_ASYNC_FLAG };
		pool_add(fuzz_pool(f), DAT_HANDLE_TYPE_EVD, &made);
	}
	return ret;
}

static DAT_RETURN ia_query(struct fuzz *f)
{
	DAT_PROVIDER_ATTR_MASK provider_mask;
	DAT_IA_ATTR_MASK mask;
	DAT_HANDLE async;
	struct thing ia;
	bool attr = !one_in(f, 16), provider = !one_in(f, 16);

	gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	expect_first(f, ia.know, R_IH);
	mask = gen_mask(f, DAT_IA_FIELD_ALL, R_IP);
	provider_mask = gen_mask(f, DAT_PROVIDER_FIELD_ALL, R_IP);
	fuzz_arg(f, "attr", attr);
	fuzz_arg(f, "provider attr", provider);
	expect(f, know_if(attr || !mask), R_IP);
	expect(f, know_if(provider || !provider_mask), R_IP);
	return dat_ia_query(ia.handle, one_in(f, 2) ? NULL : &async, mask,
			    attr ? &f->u.attr.ia : NULL, provider_mask,
			    provider ? &f->u.attr.provider : NULL);
}

/* Does another IA send its events to an EVD of this one? */
static bool is_needed(struct pool *p, DAT_HANDLE ia)
{
	struct thing t;
	unsigned int i;

	for (i = 0; pool_at(p, DAT_HANDLE_TYPE_IA, i, &t); i++)
		if (t.srq == ia)
			return true;
	return false;
}

static DAT_RETURN ia_close(struct fuzz *f)
{
	static const u32 all_flags[] = { DAT_CLOSE_ABRUPT_FLAG, DAT_CLOSE_ABRUPT_FLAG,
					 DAT_CLOSE_GRACEFUL_FLAG, DAT_CLOSE_GRACEFUL_FLAG, 2,
					 0x80000000 };
	DAT_CLOSE_FLAGS flags = all_flags[fuzz_rnd(f, ARRAY_SIZE(all_flags))];
	struct thing ia;
	DAT_RETURN ret;

	/* The IA of the fixture is never empty, so a graceful close is refused */
	if (flags == DAT_CLOSE_ABRUPT_FLAG)
		gen_victim(f, DAT_HANDLE_TYPE_IA, &ia);
	else
		gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	fuzz_arg(f, "flags", flags);
	expect(f, ia.know, R_IH);
	expect(f, know_if(flags <= DAT_CLOSE_GRACEFUL_FLAG), R_IP);
	if (ia.hold == PERMANENT)
		expect(f, BAD, R_IS);
	else if (!f->own || flags == DAT_CLOSE_GRACEFUL_FLAG || is_needed(f->pool, ia.handle))
		expect(f, MAYBE, R_IS);
	ret = dat_ia_close(ia.handle, flags);
	if (ret == DAT_SUCCESS)
		pool_purge(f, fuzz_pool(f), ia.handle);
	fuzz_freed(f, DAT_HANDLE_TYPE_IA, &ia, ret);
	return ret;
}

static DAT_RETURN memtype_hint(struct fuzz *f)
{
	static const struct {
		u32 type, returns;
	} type[] = {
		{ DAT_MEM_TYPE_VIRTUAL, 0 }, { DAT_MEM_TYPE_LMR, 0 }, { DAT_MEM_TYPE_PHYSICAL, 0 },
		{ DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, 0 }, { DAT_MEM_TYPE_PLATFORM, R_MNS },
		{ DAT_MEM_TYPE_IA, R_MNS }, { DAT_MEM_TYPE_BYPASS, R_MNS }, { 2, R_IP },
		{ 0x200, R_IP },
	};
	u32 i = fuzz_rnd(f, ARRAY_SIZE(type)), optimize = one_in(f, 8) ? 8 : BIT(fuzz_rnd(f, 3));
	DAT_VADDR alignment;
	DAT_VLEN length;
	struct thing ia;

	gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	fuzz_arg(f, "type", type[i].type);
	fuzz_arg(f, "optimize", optimize);
	expect(f, ia.know, R_IH);
	expect(f, know_if(!type[i].returns), type[i].returns);
	expect(f, know_if(optimize != 8), R_IP);
	return dat_ia_memtype_hint(ia.handle, type[i].type, fuzz_rnd64(f), optimize,
				   gen_out(f, &length, R_IP), gen_out(f, &alignment, R_IP));
}

static DAT_RETURN reserved_lmr(struct fuzz *f)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	struct thing ia;
	void *out[2];

	gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	expect_first(f, ia.know, R_IH);
	out[0] = gen_out(f, &lmr, R_IP);
	out[1] = gen_out(f, &context, R_IP);
	if (out[0] && out[1])
		expect(f, BAD, R_MNS);
	return dat_ia_reserved_lmr(ia.handle, out[0], out[1]);
}

/* ---- any handle -------------------------------------------------------------------------- */

static DAT_RETURN set_context(struct fuzz *f)
{
	DAT_CONTEXT context = { .as_64 = fuzz_rnd64(f) };
	struct thing t;

	gen_any(f, &t);
	expect_first(f, t.know, R_IH);
	return dat_set_consumer_context(t.handle, context);
}

static DAT_RETURN get_context(struct fuzz *f)
{
	DAT_CONTEXT context;
	struct thing t;

	gen_any(f, &t);
	expect(f, t.know, R_IH);
	return dat_get_consumer_context(t.handle, gen_out(f, &context, R_IP));
}

static DAT_RETURN get_type(struct fuzz *f)
{
	DAT_HANDLE_TYPE type;
	struct thing t;

	gen_any(f, &t);
	expect(f, t.know, R_IH);
	return dat_get_handle_type(t.handle, gen_out(f, &type, R_IP));
}

/* ---- protection zones -------------------------------------------------------------------- */

static DAT_RETURN pz_create(struct fuzz *f)
{
	struct thing t = { .hold = LOOSE }, ia;
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_PZ) ? &t.handle : NULL;
	DAT_RETURN ret;

	gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	expect(f, ia.know, R_IH);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia.handle;
	ret = dat_pz_create(ia.handle, gen_out(f, out, R_IP));
	if (ret == DAT_SUCCESS && t.handle)
		fuzz_made(f, DAT_HANDLE_TYPE_PZ, &t);
	return ret;
}

static DAT_RETURN pz_query(struct fuzz *f)
{
	DAT_PZ_PARAM param;
	DAT_PZ_PARAM_MASK mask;
	struct thing pz;

	gen_handle(f, DAT_HANDLE_TYPE_PZ, &pz);
	expect_first(f, pz.know, R_IH);
	mask = gen_mask(f, DAT_PZ_FIELD_ALL, R_IP);
	return dat_pz_query(pz.handle, mask, gen_out(f, &param, R_IP));
}

static DAT_RETURN pz_free(struct fuzz *f)
{
	struct thing pz;
	DAT_RETURN ret;

	gen_victim(f, DAT_HANDLE_TYPE_PZ, &pz);
	expect_first(f, pz.know, R_IH);
	if (f->own && pz.know == GOOD)
		expect(f, know_if(!pool_children(f->pool, pz.handle)), R_IS);
	else
		expect(f, MAYBE, R_IS);
	ret = dat_pz_free(pz.handle);
	fuzz_freed(f, DAT_HANDLE_TYPE_PZ, &pz, ret);
	return ret;
}

static const struct fuzz_call calls[] = {
	{ "dat_registry_list_providers", R_OK | R_IP, 2, false, list_providers },
	{ "dat_registry_add_provider", R_IP | R_MNS, 1, false, add_provider },
	{ "dat_registry_remove_provider", R_IP | R_MNS, 1, false, remove_provider },
	{ "dat_registry_providers_related", R_OK | R_IP | R_PNF, 2, false, providers_related },
	{ "dat_strerror", R_OK | R_IP, 4, true, error_text },
	{ "dat_ia_openv", R_OK | R_IP | R_IH | R_PNF | R_IR | R_MNS, 3, false, ia_openv },
	{ "dat_ia_query", R_OK | R_IH | R_IP, 10, true, ia_query },
	{ "dat_ia_close", R_OK | R_IH | R_IP | R_IS, 2, false, ia_close },
	{ "dat_ia_memtype_hint", R_OK | R_IH | R_IP | R_MNS, 8, true, memtype_hint },
	{ "dat_ia_reserved_lmr", R_IH | R_IP | R_MNS, 4, true, reserved_lmr },
	{ "dat_set_consumer_context", R_OK | R_IH, 12, true, set_context },
	{ "dat_get_consumer_context", R_OK | R_IH | R_IP, 12, true, get_context },
	{ "dat_get_handle_type", R_OK | R_IH | R_IP, 12, true, get_type },
	{ "dat_pz_create", R_OK | R_IH | R_IP | R_IR, 4, false, pz_create },
	{ "dat_pz_query", R_OK | R_IH | R_IP, 8, true, pz_query },
	{ "dat_pz_free", R_OK | R_IH | R_IS, 5, false, pz_free },
};

FUZZ_GROUP(fuzz_ia, calls);
