// SPDX-License-Identifier: GPL-2.0
/*
 * The generator of arguments: most are valid, the others are mistakes that a Consumer might
 * make. It tells the model what is known of them.
 *
 * Called by threads and upcalls, in any context.
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include "fuzz.h"

#define WILD_ONE_IN	20

u32 fuzz_rnd(struct fuzz *f, u32 below)
{
	return prandom_u32_state(&f->rnd) % below;
}

u64 fuzz_rnd64(struct fuzz *f)
{
	u64 high = prandom_u32_state(&f->rnd);

	return high << 32 | prandom_u32_state(&f->rnd);
}

bool one_in(struct fuzz *f, u32 n)
{
	return !fuzz_rnd(f, n);
}

/* The pool that this call uses */
struct pool *fuzz_pool(struct fuzz *f)
{
	return f->own ? f->pool : fuzz_shared;
}

/* ---- handles ----------------------------------------------------------------------------- */

static bool wild_changed(struct fuzz *f, DAT_HANDLE_TYPE type, bool generation, struct thing *t)
{
	unsigned long bits;

	if (!pool_pick(f, fuzz_pool(f), type, false, t))
		return false;
	/* A generation that is not reached, or another type in the middle of the number */
	bits = generation ? BIT(44 + fuzz_rnd(f, 20)) : (unsigned long)(1 + fuzz_rnd(f, 15)) << 20;
	bits ^= (unsigned long)t->handle;
	memset(t, 0, sizeof(*t));
	t->handle = (DAT_HANDLE)bits;
	return true;
}

static bool wild_other(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t)
{
	DAT_HANDLE_TYPE other = fuzz_rnd(f, TYPES);

	return other != type && pool_pick(f, fuzz_pool(f), other, false, t);
}

static bool wild_stale(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t)
{
	if (!f->stales[type])
		return false;
	memset(t, 0, sizeof(*t));
	t->handle = f->stale[type][fuzz_rnd(f, min_t(u32, f->stales[type], STALE))];
	return true;
}

/* A handle of no object of the type; @any: of no object of any type */
static void gen_wild(struct fuzz *f, DAT_HANDLE_TYPE type, bool any, struct thing *t)
{
	const char *kind = NULL;

	switch (fuzz_rnd(f, 8)) {
	case 0:
	case 1:
		kind = wild_stale(f, type, t) ? "freed" : NULL;
		break;
	case 2:
	case 3:
		kind = !any && wild_other(f, type, t) ? "of another type" : NULL;
		break;
	case 4:
		kind = wild_changed(f, type, true, t) ? "generation" : NULL;
		break;
	case 5:
		kind = wild_changed(f, type, false, t) ? "type changed" : NULL;
		break;
	}
	if (!kind) {
		static const char * const kinds[] = { "NULL", "random", "pointer", "small" };
		u32 i = fuzz_rnd(f, ARRAY_SIZE(kinds));
		const u64 values[] = { 0, fuzz_rnd64(f), (unsigned long)f, fuzz_rnd(f, 4096) };

		memset(t, 0, sizeof(*t));
		t->handle = (DAT_HANDLE)(unsigned long)values[i];
		kind = kinds[i];
	}
	t->know = BAD;
	fuzz_arg(f, kind, (unsigned long)t->handle);
}

/* Requests are in the shared pool: any thread accepts them, for any EP */
static struct pool *pool_of(struct fuzz *f, DAT_HANDLE_TYPE type)
{
	return type == DAT_HANDLE_TYPE_CR ? fuzz_shared : fuzz_pool(f);
}

static void draw(struct fuzz *f, DAT_HANDLE_TYPE type, bool loose, bool any, struct thing *t)
{
	struct pool *p = pool_of(f, type);

	if (one_in(f, WILD_ONE_IN) || !pool_pick(f, p, type, loose, t)) {
		gen_wild(f, type, any, t);
		return;
	}
	t->know = p != fuzz_shared || t->hold == PERMANENT ? GOOD : MAYBE;
	fuzz_arg(f, t->know == GOOD ? "own" : "shared", (unsigned long)t->handle);
}

void gen_handle(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t)
{
	/* Most objects belong to the one IA that always exists */
	if (type == DAT_HANDLE_TYPE_IA && fuzz_rnd(f, 3)) {
		*t = fx.ia;
		t->know = GOOD;
		fuzz_arg(f, "the IA", (unsigned long)t->handle);
		return;
	}
	if (type == DAT_HANDLE_TYPE_PZ && one_in(f, 2)) {
		*t = fx.pz;
		t->know = GOOD;
		fuzz_arg(f, "the zone", (unsigned long)t->handle);
		return;
	}
	draw(f, type, false, false, t);
}

/* An object that may be freed */
void gen_victim(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t)
{
	draw(f, type, true, false, t);
}

/* An end of the thread's pair with its present attributes, which dat_ep_modify() changes */
void gen_pair(struct fuzz *f, struct thing *ep)
{
	DAT_EP_HANDLE end = f->pair.ep[fuzz_rnd(f, 2)];
	unsigned int i;

	memset(ep, 0, sizeof(*ep));
	for (i = 0; pool_at(f->pool, DAT_HANDLE_TYPE_EP, i, ep); i++)
		if (ep->handle == end)
			break;
	if (ep->handle != end)
		test_fail("an end of a pair is not in its pool");
	ep->know = GOOD;
	fuzz_arg(f, "pair", (unsigned long)ep->handle);
}

/* For an argument that may be DAT_HANDLE_NULL */
void gen_optional(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t)
{
	if (one_in(f, 20)) {
		memset(t, 0, sizeof(*t));
		fuzz_arg(f, "none", 0);
		return;
	}
	gen_handle(f, type, t);
	/* It is DAT_HANDLE_NULL */
	if (!t->handle)
		t->know = GOOD;
}

/* A handle of any type */
void gen_any(struct fuzz *f, struct thing *t)
{
	draw(f, fuzz_rnd(f, TYPES), false, true, t);
}

/* An object that must belong to the IA */
void expect_child(struct fuzz *f, const struct thing *t, const struct thing *ia)
{
	enum know know = t->know;

	if (t->handle && t->ia != ia->handle)
		know = BAD;
	expect(f, know, R_IH);
}

void fuzz_stale(struct fuzz *f, DAT_HANDLE_TYPE type, DAT_HANDLE handle)
{
	f->stale[type][f->stales[type]++ % STALE] = handle;
}

DAT_RETURN fuzz_free(DAT_HANDLE_TYPE type, DAT_HANDLE handle)
{
	switch (type) {
	case DAT_HANDLE_TYPE_CR:
		return dat_cr_reject(handle, 0, NULL);
	case DAT_HANDLE_TYPE_EP:
		return dat_ep_free(handle);
	case DAT_HANDLE_TYPE_EVD:
		return dat_evd_free(handle);
	case DAT_HANDLE_TYPE_IA:
		return dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
	case DAT_HANDLE_TYPE_LMR:
		return dat_lmr_free(handle);
	case DAT_HANDLE_TYPE_PSP:
		return dat_psp_free(handle);
	case DAT_HANDLE_TYPE_PZ:
		return dat_pz_free(handle);
	case DAT_HANDLE_TYPE_RMR:
		return dat_rmr_free(handle);
	case DAT_HANDLE_TYPE_RSP:
		return dat_rsp_free(handle);
	case DAT_HANDLE_TYPE_SRQ:
		return dat_srq_free(handle);
	default:
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_NO_SUBTYPE);
	}
}

void learn_limits(struct thing *ep, const DAT_EP_ATTR *attr)
{
	ep->limits = (struct limits){
		.recv_dtos = attr->max_recv_dtos,
		.recv_iov = attr->max_recv_iov,
		.request_iov = attr->max_request_iov,
		.read_iov = attr->max_rdma_read_iov,
		.write_iov = attr->max_rdma_write_iov,
		.recv_flags = attr->recv_completion_flags,
		.request_flags = attr->request_completion_flags,
		.message = attr->max_message_size,
		.rdma = attr->max_rdma_size,
	};
}

/* A call has created an object */
void fuzz_made(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t)
{
	/* Another thread may have used the room meanwhile */
	if (!pool_add(fuzz_pool(f), type, t))
		fuzz_free(type, t->handle);
}

void fuzz_stale_context(struct fuzz *f, DAT_LMR_CONTEXT context)
{
	f->stale_context[f->stale_contexts++ % STALE] = context;
}

static void fuzz_stale_memory(struct fuzz *f, const struct thing *t)
{
	if (t->context)
		fuzz_stale_context(f, t->context);
	if (t->key)
		f->stale_key[f->stale_keys++ % STALE] = t->key;
}

/* A call should have freed an object */
void fuzz_freed(struct fuzz *f, DAT_HANDLE_TYPE type, const struct thing *t, DAT_RETURN ret)
{
	struct pool *p = pool_of(f, type);

	if (ret == DAT_SUCCESS) {
		pool_del(p, type, t->handle);
		fuzz_stale(f, type, t->handle);
		fuzz_stale_memory(f, t);
	} else if (r_of(ret) == R_IH && t->know == MAYBE) {
		/* It was freed with its IA */
		pool_del(p, type, t->handle);
	}
}

/* ---- other arguments --------------------------------------------------------------------- */

/* A pointer for a result; sometimes NULL, which the call refuses */
void *gen_out(struct fuzz *f, void *out, u32 returns)
{
	if (out && !one_in(f, 20))
		return out;
	fuzz_arg(f, "no result", 0);
	expect(f, BAD, returns);
	return NULL;
}

DAT_COUNT gen_count(struct fuzz *f, DAT_COUNT low, DAT_COUNT high, enum know *know)
{
	const DAT_COUNT wild[] = { -1, low - 1, S32_MIN, S32_MAX, high + 1, 0, fuzz_rnd64(f) };
	DAT_COUNT n = one_in(f, WILD_ONE_IN) ? wild[fuzz_rnd(f, ARRAY_SIZE(wild))] :
					       low + (DAT_COUNT)fuzz_rnd(f, high - low + 1);

	*know = know_if(n >= low && n <= high);
	fuzz_arg(f, "count", n);
	return n;
}

/* A mask of fields; one with an unknown bit is refused */
u64 gen_mask(struct fuzz *f, u64 all, u32 returns)
{
	u64 mask = fuzz_rnd64(f) & all;

	if (one_in(f, WILD_ONE_IN)) {
		mask |= BIT_ULL(fls64(all) + fuzz_rnd(f, 31 - fls64(all) % 31));
		expect(f, BAD, returns);
	}
	fuzz_arg(f, "mask", mask);
	return mask;
}

DAT_COMPLETION_FLAGS gen_flags(struct fuzz *f, u32 legal, enum know *know)
{
	u32 flags = fuzz_rnd(f, 3) ? fuzz_rnd64(f) & legal : 0;

	if (one_in(f, WILD_ONE_IN))
		flags = one_in(f, 2) ? BIT(fuzz_rnd(f, 32)) : fuzz_rnd64(f);
	*know = know_if(!(flags & ~legal));
	fuzz_arg(f, "flags", flags);
	return flags;
}

void gen_private_data(struct fuzz *f, DAT_COUNT most, DAT_COUNT *size, void **data)
{
	static u8 bytes[256];
	enum know know;

	*size = gen_count(f, 0, most, &know);
	*data = one_in(f, 3) && *size <= 0 ? NULL : bytes;
	if (one_in(f, WILD_ONE_IN)) {
		*data = NULL;
		if (*size > 0)
			know = BAD;
	}
	fuzz_arg(f, *data ? "data" : "no data", 0);
	expect(f, know, R_IP);
}

/* ---- segments ---------------------------------------------------------------------------- */

/* A context of no LMR: a stale one, or one with an unused index */
DAT_LMR_CONTEXT gen_wild_context(struct fuzz *f)
{
	bool freed = f->stale_contexts && one_in(f, 2);
	DAT_LMR_CONTEXT context;

	if (freed)
		context = f->stale_context[fuzz_rnd(f, min_t(u32, f->stale_contexts, STALE))];
	else
		context = fuzz_rnd64(f) | BIT(19);
	fuzz_arg(f, freed ? "stale context" : "random context", context);
	return context;
}

static void gen_range(struct fuzz *f, const struct thing *lmr, u32 size, DAT_LMR_TRIPLET *seg)
{
	u32 most = clamp_t(u64, lmr->length, 1, size), offset = 0;

	/* A buffer for messages is usually large */
	seg->segment_length = size >= ROOM && fuzz_rnd(f, 30) ? most : 1 + fuzz_rnd(f, most);
	if (lmr->length > seg->segment_length)
		offset = fuzz_rnd(f, min_t(u64, lmr->length - seg->segment_length, U32_MAX));
	seg->virtual_address = lmr->addr + offset;
	if (!one_in(f, 40))
		return;
	switch (fuzz_rnd(f, 4)) {
	case 0:
		seg->virtual_address = fuzz_rnd64(f);
		break;
	case 1:
		seg->virtual_address = lmr->addr - 1;
		break;
	case 2:
		seg->segment_length = U32_MAX - fuzz_rnd(f, 2);
		break;
	default:
		seg->segment_length = lmr->length - offset + 1;
	}
}

static bool inside(const struct thing *lmr, const DAT_LMR_TRIPLET *seg)
{
	u64 offset = seg->virtual_address - lmr->addr;

	return seg->virtual_address >= lmr->addr && offset < lmr->length &&
	       seg->segment_length <= lmr->length - offset;
}

/* One segment that is not empty, and its checks in their order */
static void gen_segment(struct fuzz *f, const struct thing *owner, DAT_MEM_PRIV_FLAGS need,
			u32 size, DAT_LMR_TRIPLET *seg)
{
	struct thing lmr = fx.home;

	if (one_in(f, 4))
		pool_pick(f, fuzz_pool(f), DAT_HANDLE_TYPE_LMR, false, &lmr);
	seg->lmr_context = lmr.context;
	gen_range(f, &lmr, size, seg);
	if (one_in(f, 60)) {
		seg->lmr_context = gen_wild_context(f);
		expect_first(f, BAD, R_PRIV);
		return;
	}
	if (!f->own || owner->know != GOOD || lmr.fast || lmr.loose) {
		expect_first(f, MAYBE, R_PRIV | R_PROT | R_IP);
		return;
	}
	expect_first(f, know_if(lmr.pz == owner->pz), R_PROT);
	expect_first(f, know_if(lmr.priv & need), R_PRIV);
	expect_first(f, know_if(inside(&lmr, seg)), R_IP);
}

/* @n segments of up to @size for a post of @owner, an EP or an SRQ: step 7 of the order */
void gen_segments(struct fuzz *f, const struct thing *owner, DAT_MEM_PRIV_FLAGS need,
		  u32 size, DAT_COUNT n, u64 *total)
{
	DAT_COUNT i;

	*total = 0;
	n = min_t(DAT_COUNT, n, IOV);
	for (i = 0; i < n; i++) {
		bool last = owner->no_empty && !*total && i == n - 1;
		DAT_LMR_TRIPLET *seg = &f->iov[i];

		if (one_in(f, 10) && !last)
			*seg = (DAT_LMR_TRIPLET){ .virtual_address = fuzz_rnd64(f),
						  .lmr_context = fuzz_rnd64(f) };
		else
			gen_segment(f, owner, need, size, seg);
		*total += seg->segment_length;
	}
}

/* The target of a write, or the source of a read: an LMR of the fixture */
void gen_remote(struct fuzz *f, u64 total, DAT_RMR_TRIPLET *there)
{
	struct thing other;

	there->rmr_context = fx.home.key;
	there->segment_length = one_in(f, 6) ? fuzz_rnd(f, 1024) : min_t(u64, total, 4096);
	there->virtual_address = fx.home.addr + fuzz_rnd(f, fx.home.length - 4096);
	if (one_in(f, f->own ? 80 : 6)) {
		switch (fuzz_rnd(f, 5)) {
		case 0:
			there->rmr_context = fuzz_rnd64(f);
			break;
		case 1:
			there->virtual_address = fuzz_rnd64(f);
			break;
		case 2:
			there->segment_length = fuzz_rnd64(f);
			break;
		case 3:
			if (f->stale_keys)
				there->rmr_context =
					f->stale_key[fuzz_rnd(f, min_t(u32, f->stale_keys, STALE))];
			break;
		default:
			if (pool_pick(f, fuzz_pool(f), DAT_HANDLE_TYPE_LMR, false, &other)) {
				there->rmr_context = other.key;
				there->virtual_address = other.addr;
			}
		}
	}
	fuzz_arg(f, "there", there->segment_length);
}

/* Likewise for a read, whose segment length determines its size */
void gen_remote_source(struct fuzz *f, const struct thing *ep, u64 total, DAT_RMR_TRIPLET *there)
{
	gen_remote(f, total, there);
	if (ep->no_reads && there->segment_length)
		there->segment_length = 0;
	else if (ep->no_empty && !there->segment_length)
		there->segment_length = 1;
	else
		return;
	fuzz_arg(f, "no, there", there->segment_length);
}

/* Kernels that are so slow that answers arrive late */
#define SLOW (IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN) || \
	      IS_ENABLED(CONFIG_PROVE_LOCKING))

/**
 * fuzz_part - the operations that a new EP does not use
 * @ep: the EP, which nobody else knows yet
 * @reads: whether it reads, if it cannot do everything
 *
 * rxe (6.12) warns, and breaks the connection, when a read is retried after an RDMA
 * operation of length 0 was posted. On a slow kernel answers arrive late, and reads are
 * retried. So each EP there posts either reads or operations of length 0.
 */
void fuzz_part(struct thing *ep, bool reads)
{
	ep->no_reads = SLOW && !reads;
	ep->no_empty = SLOW && reads;
}
