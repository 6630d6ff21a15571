// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the loopback test: patterns, slots with guard bytes, arenas of registered
 * memory. Patterns and slots are used under fx->lock, often in upcalls, so only making
 * and freeing an arena may sleep.
 *
 * The byte at position p of a message depends on p and on the key of the message: it is
 * word p / 8 of one random table, xor the key. The loops work on words and avoid memcpy:
 * under emulation "rep movsb" takes as long for a byte as these loops take for a word.
 */
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "kdapl_loop.h"

#define GUARD_WORD	0xa5a5a5a5a5a5a5a5ULL
#define GUARD_BYTE	0xa5
#define CHUNK_LIMIT	(128U << 10)	/* slots are grouped up to this size */

/* An unaligned word. */
struct loop_word {
	u64 v;
} __packed;

static u64 *loop_table;

/* One step of a 64-bit mixing function: equal arguments give equal results. */
u64 loop_hash(u64 a, u64 b)
{
	u64 z = a + 0x9e3779b97f4a7c15ULL * (b + 1);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

int loop_pattern_init(u64 seed)
{
	u32 i, words = LOOP_MAX_SIZE / 8 + 1;

	if (!loop_table)
		loop_table = vmalloc(array_size(words, sizeof(*loop_table)));
	if (!loop_table)
		return -ENOMEM;
	for (i = 0; i < words; i++)
		loop_table[i] = loop_hash(seed, i);
	return 0;
}

void loop_pattern_exit(void)
{
	vfree(loop_table);
	loop_table = NULL;
}

static u8 pattern_byte(u64 key, u32 pos)
{
	u64 word = loop_table[pos / 8] ^ key;

	return ((u8 *)&word)[pos & 7];
}

static void pattern_fill(u8 *p, u64 key, u32 pos, u32 len)
{
	for (; len && (pos & 7); len--, pos++)
		*p++ = pattern_byte(key, pos);
	for (; len >= 8; len -= 8, pos += 8, p += 8)
		((struct loop_word *)p)->v = loop_table[pos / 8] ^ key;
	for (; len; len--, pos++)
		*p++ = pattern_byte(key, pos);
}

/* The offset of the first byte of p that differs from the pattern, or len. */
static u32 pattern_diff(const u8 *p, u64 key, u32 pos, u32 len)
{
	u32 i = 0;

	for (; i < len && ((pos + i) & 7); i++)
		if (p[i] != pattern_byte(key, pos + i))
			return i;
	for (; len - i >= 8; i += 8)
		if (((const struct loop_word *)(p + i))->v !=
		    (loop_table[(pos + i) / 8] ^ key))
			break;
	for (; i < len; i++)
		if (p[i] != pattern_byte(key, pos + i))
			return i;
	return len;
}

static u32 guard_diff(const u8 *p, u32 len)
{
	u32 i = 0;

	for (; len - i >= 8; i += 8)
		if (((const struct loop_word *)(p + i))->v != GUARD_WORD)
			break;
	for (; i < len; i++)
		if (p[i] != GUARD_BYTE)
			return i;
	return len;
}

/**
 * loop_slot_poison - set every byte of a slot to the guard value
 * @s: the slot
 *
 * Context: any.
 */
void loop_slot_poison(struct loop_slot *s)
{
	int i;

	for (i = 0; i < 2; i++)
		if (s->area[i].base)
			memset(s->area[i].base, GUARD_BYTE, s->area[i].len);
}

/**
 * loop_slot_cut - divide a slot into pieces
 * @s: the slot; its memory is not changed
 * @cap: bytes in all pieces together
 * @segs: pieces, at least one unless @cap is 0
 * @seed: determines the boundaries of the pieces
 *
 * Pieces alternate between the two areas, which belong to different LMRs, so that a
 * message is gathered from, or scattered over, several registrations. Lengths and
 * addresses are usually odd. With four or more pieces the second is empty: its triplet
 * has random values.
 *
 * Context: any.
 */
void loop_slot_cut(struct loop_slot *s, u32 cap, u32 segs, u64 seed)
{
	u32 cursor[2] = { LOOP_GUARD + (s->index & 7), LOOP_GUARD + 3 };
	u32 i, left = cap;

	s->cap = cap;
	s->npieces = 0;
	if (!cap && !(s->index & 2))
		return;
	for (i = 0; i < segs; i++) {
		struct loop_piece *p = &s->piece[i];
		u32 rest = segs - i - 1;
		u32 len = left;

		if (segs > 3 && i == 1)
			len = 0;
		else if (rest)
			len = left / (rest + 1) / 2 +
			      loop_hash(seed, i) % (left / (rest + 1) + 1);
		if (rest && len)
			len |= 1;
		len = min(len, left);
		p->area = s->area[1].base ? i & 1 : 0;
		p->off = cursor[p->area];
		p->len = len;
		cursor[p->area] += len + LOOP_GUARD + (loop_hash(seed, ~i) & 7);
		left -= len;
	}
	s->npieces = segs;
}

/**
 * loop_slot_fill - write the pattern of a message into a slot
 * @s: the slot
 * @key: of the message
 * @len: of the message, at most the capacity of the slot
 *
 * Context: any.
 */
void loop_slot_fill(struct loop_slot *s, u64 key, u32 len)
{
	u32 i, n, pos = 0;

	for (i = 0; i < s->npieces && pos < len; i++, pos += n) {
		struct loop_piece *p = &s->piece[i];

		n = min(p->len, len - pos);
		pattern_fill(s->area[p->area].base + p->off, key, pos, n);
	}
}

static bool slot_guard_range(struct loop_slot *s, u32 area, u32 from, u32 to,
			     struct loop_diff *d)
{
	const u8 *p = s->area[area].base;
	u32 at;

	if (!p || from >= to)
		return true;
	at = guard_diff(p + from, to - from);
	if (at == to - from)
		return true;
	d->what = "guard";
	d->at = from + at;
	d->want = GUARD_BYTE;
	d->got = p[from + at];
	return false;
}

/* Walks the pieces. The first len bytes in total must hold the pattern. */
static bool slot_walk(struct loop_slot *s, u64 key, u32 len, bool data,
		      struct loop_diff *d)
{
	u32 cursor[2] = { 0, 0 };
	u32 i, n, at, pos = 0;

	for (i = 0; i < s->npieces; i++) {
		struct loop_piece *p = &s->piece[i];
		u32 end = data ? p->off : p->off + p->len;
		u8 *base = s->area[p->area].base + p->off;

		if (!slot_guard_range(s, p->area, cursor[p->area], p->off, d))
			return false;
		cursor[p->area] = end;
		if (!data)
			continue;
		n = min(p->len, len - pos);
		at = pattern_diff(base, key, pos, n);
		if (at < n) {
			d->what = "byte";
			d->at = pos + at;
			d->want = pattern_byte(key, pos + at);
			d->got = base[at];
			return false;
		}
		cursor[p->area] += n;
		pos += n;
	}
	return slot_guard_range(s, 0, cursor[0], s->area[0].len, d) &&
	       slot_guard_range(s, 1, cursor[1], s->area[1].len, d);
}

/**
 * loop_slot_check - check that a slot holds a message and nothing else
 * @s: the slot
 * @key: of the message
 * @len: of the message, bytes
 * @d: filled in with the first difference
 *
 * The rest of the pieces after the message must hold the guard value, as must the room
 * between the pieces.
 *
 * Context: any.
 * Return: true if every byte is correct.
 */
bool loop_slot_check(struct loop_slot *s, u64 key, u32 len, struct loop_diff *d)
{
	return slot_walk(s, key, len, true, d);
}

/**
 * loop_slot_guards - check that the bytes around the pieces of a slot are unchanged
 * @s: the slot, the content of whose pieces is undefined
 * @d: filled in with the first difference
 *
 * Context: any.
 * Return: true if every guard byte is correct.
 */
bool loop_slot_guards(struct loop_slot *s, struct loop_diff *d)
{
	return slot_walk(s, 0, 0, false, d);
}

/**
 * loop_slot_iov - the triplets of a slot
 * @s: the slot
 * @iov: room for as many triplets as the slot has pieces
 *
 * An empty piece gets an invalid address and context.
 *
 * Context: any.
 * Return: number of triplets.
 */
u32 loop_slot_iov(const struct loop_slot *s, DAT_LMR_TRIPLET *iov)
{
	u32 i;

	for (i = 0; i < s->npieces; i++) {
		const struct loop_piece *p = &s->piece[i];
		const struct loop_area *area = &s->area[p->area];

		iov[i].segment_length = p->len;
		iov[i].virtual_address = p->len ?
			area->va + p->off : 0xdead0000beefULL;
		iov[i].lmr_context = p->len ? area->lmr : 0x5a5a5a5aU;
	}
	return s->npieces;
}

/* The next free slot of an arena, or NULL. */
struct loop_slot *loop_arena_get(struct loop_arena *ar)
{
	if (ar->get == ar->put)
		return NULL;
	return &ar->slot[ar->free[ar->get++ % ar->nslots]];
}

void loop_arena_put(struct loop_arena *ar, struct loop_slot *s)
{
	ar->free[ar->put++ % ar->nslots] = s->index;
}

/* The memory of a chunk: vmalloc, or kmalloc if the size allows it. */
static int chunk_memory(struct loop_fixture *fx, struct loop_chunk *ch, bool virt)
{
	if (!virt)
		ch->mem = kmalloc(ch->len,
				  GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY);
	if (!ch->mem)
		ch->mem = vmalloc(ch->len);
	if (!ch->mem) {
		loop_fail(fx->c, "no memory for a buffer of %zu bytes", ch->len);
		return -ENOMEM;
	}
	memset(ch->mem, GUARD_BYTE, ch->len);
	return 0;
}

static int chunk_register(struct loop_fixture *fx, struct loop_chunk *ch, DAT_MEM_TYPE type,
			  DAT_REGION_DESCRIPTION region, u64 len, DAT_MEM_PRIV_FLAGS priv,
			  struct loop_area *out)
{
	DAT_VLEN reg_len = 0;
	DAT_RETURN ret;

	ret = dat_lmr_kcreate(fx->run->t.ia, type, region, len, fx->run->t.pz, priv,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &ch->lmr,
			      &out->lmr, &out->rmr, &reg_len, &out->va);
	if (!loop_expect(fx->c, "dat_lmr_kcreate", ret, DAT_SUCCESS)) {
		ch->lmr = DAT_HANDLE_NULL;
		return -EIO;
	}
	if (reg_len < len)
		loop_fail(fx->c, "registered %llu bytes, requested %llu", reg_len, len);
	return 0;
}

/* One byte is left out at each end, so neither address is aligned. */
static int chunk_virtual(struct loop_fixture *fx, struct loop_chunk *ch,
			 DAT_MEM_PRIV_FLAGS priv, struct loop_area *out)
{
	DAT_REGION_DESCRIPTION region = { .for_va = ch->mem + 1 };
	int err = chunk_register(fx, ch, DAT_MEM_TYPE_VIRTUAL, region, ch->len - 2, priv, out);

	/*
	 * The registered range may be larger than requested, but starts at or before our
	 * address.
	 */
	if (!err && out->va > (uintptr_t)region.for_va)
		loop_fail(fx->c, "registered range: expected to cover the requested one");
	out->va = (uintptr_t)region.for_va;
	return err;
}

/* An array of page addresses, in the order in which vmalloc got the pages. */
static int chunk_physical(struct loop_fixture *fx, struct loop_chunk *ch,
			  DAT_MEM_PRIV_FLAGS priv, struct loop_area *out)
{
	u32 i, n = PAGE_ALIGN(ch->len) / PAGE_SIZE;
	DAT_PADDR *pages = kvcalloc(n, sizeof(*pages), GFP_KERNEL);
	DAT_REGION_DESCRIPTION region = { .for_physical = pages };
	int err;

	if (!pages)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		pages[i] = PFN_PHYS(vmalloc_to_pfn(ch->mem + i * PAGE_SIZE));
	err = chunk_register(fx, ch, DAT_MEM_TYPE_PHYSICAL, region, ch->len, priv, out);
	/* Slots begin one byte into the chunk. */
	out->va++;
	kvfree(pages);
	return err;
}

/* Area @which of all slots: several slots in a chunk, at least two chunks. */
static int arena_fill(struct loop_fixture *fx, struct loop_arena *ar, u32 which,
		      u32 area_len, DAT_MEM_PRIV_FLAGS priv)
{
	u32 limit = min_t(u32, fx->run->t.attr.max_lmr_block_size, CHUNK_LIMIT);
	u32 per = clamp((limit - 2) / area_len, 1U, (ar->nslots + 1) / 2);
	u32 first, i;
	int err;

	for (first = 0; first < ar->nslots; first += per) {
		u32 n = min(per, ar->nslots - first);
		struct loop_chunk *ch = &ar->chunk[ar->nchunks++];
		struct loop_area whole = {};

		ch->len = (size_t)n * area_len + 2;
		err = chunk_memory(fx, ch, fx->cfg.physical || ar->nchunks & 1);
		if (!err && fx->cfg.physical)
			err = chunk_physical(fx, ch, priv, &whole);
		else if (!err)
			err = chunk_virtual(fx, ch, priv, &whole);
		if (err)
			return err;
		for (i = 0; i < n; i++) {
			struct loop_area *area = &ar->slot[first + i].area[which];

			area->base = ch->mem + 1 + (size_t)i * area_len;
			area->va = whole.va + (u64)i * area_len;
			area->len = area_len;
			area->lmr = whole.lmr;
			area->rmr = whole.rmr;
		}
	}
	return 0;
}

/**
 * loop_arena_make - registered memory for a number of messages
 * @fx: size of the messages, protection zone
 * @ar: the arena, all zero
 * @nslots: messages that it holds at once
 * @segs: pieces of each slot
 * @slack: make every other slot larger than a message
 * @priv: privileges of its LMRs
 *
 * Chunks are allocated by vmalloc and by kmalloc in turn. The caller calls
 * loop_arena_end() even after an error.
 *
 * Context: process.
 * Return: 0; -ENOMEM; -EIO if the registration failed, which is noted.
 */
int loop_arena_make(struct loop_fixture *fx, struct loop_arena *ar, u32 nslots,
		    u32 segs, bool slack, DAT_MEM_PRIV_FLAGS priv)
{
	u32 len = fx->cfg.size + LOOP_SLACK + (segs + 2) * (LOOP_GUARD + 8);
	u32 i, areas = segs > 1 ? 2 : 1;
	int err = 0;

	ar->nslots = nslots;
	ar->segs = segs;
	ar->slack = slack;
	ar->slot = kvcalloc(nslots, sizeof(*ar->slot), GFP_KERNEL);
	ar->free = kvcalloc(nslots, sizeof(*ar->free), GFP_KERNEL);
	ar->chunk = kvcalloc(nslots * areas, sizeof(*ar->chunk), GFP_KERNEL);
	if (!ar->slot || !ar->free || !ar->chunk)
		return -ENOMEM;
	for (i = 0; i < areas && !err; i++)
		err = arena_fill(fx, ar, i, len, priv);
	if (err)
		return err;
	for (i = 0; i < nslots; i++) {
		struct loop_slot *s = &ar->slot[i];
		u32 more = slack && (i & 1) ? LOOP_SLACK : 0;

		s->index = i;
		loop_slot_cut(s, fx->cfg.size + more, segs, fx->seed + i);
		loop_arena_put(ar, s);
	}
	return 0;
}

/**
 * loop_arena_end - free an arena, complete or not
 * @fx: the fixture in which a failed call is noted
 * @ar: the arena
 *
 * Context: process.
 */
void loop_arena_end(struct loop_fixture *fx, struct loop_arena *ar)
{
	u32 i;

	for (i = 0; i < ar->nchunks; i++) {
		struct loop_chunk *ch = &ar->chunk[i];

		if (ch->lmr)
			loop_expect(fx->c, "dat_lmr_free",
				    dat_lmr_free(ch->lmr), DAT_SUCCESS);
		kvfree(ch->mem);
	}
	kvfree(ar->chunk);
	kvfree(ar->free);
	kvfree(ar->slot);
	memset(ar, 0, sizeof(*ar));
}
