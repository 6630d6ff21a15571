/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments: checks the triplets of a Consumer (steps 7 and 8 of a post) and
 * translates them to the scatter/gather list of the device.
 *
 * Used by the files that post, in any context, inside a read section. The verbs
 * layer checks no segments: a device accepts any key and any range when a request is
 * posted, and breaks the connection later.
 *
 * The check of one segment is inlined. Vectors, and the reason of a refusal, are out
 * of line (segment.c).
 */
#ifndef _KDAPL_SEGMENT_H_
#define _KDAPL_SEGMENT_H_

#include "object/object.h"

/*
 * Is [@va, @va + @length) inside an LMR? @base is the negative of its start. The last
 * byte is checked, so an empty segment is never inside. Without the asm, the compiler
 * would compute both conditions before it tests the first one.
 */
static __always_inline bool kdapl_segment_inside(u64 va, u32 length, u64 base, u64 limit)
{
	u64 last;

	if (unlikely(__builtin_add_overflow(va + base, (u64)length - 1, &last)))
		return false;
	asm volatile("" : "+r" (last));
	return likely(last < limit);
}

/* Is @desc the entry of @context, and does it grant what is needed (zone | privilege)? */
static __always_inline bool kdapl_segment_granted(const struct kdapl_lmr_desc *desc,
						  DAT_LMR_CONTEXT context, u32 need, u32 privilege)
{
	/* Pairs with the store of zp, which is the last one when the descriptor is set up */
	u32 zp = smp_load_acquire(&desc->zp);

	/* The word is written at once and compared once */
	if (unlikely(data_race(desc->context) != context))
		return false;
	/* Zone and privilege are in one word: one XOR and one test check both */
	return likely(!((zp ^ need) & (KDAPL_ZONE_MASK | privilege)));
}

/**
 * kdapl_segment_fill - check and translate one segment
 * @seg:       the segment
 * @need:      zone and privilege needed
 * @privilege: the privilege alone, a constant
 * @sge:       receives the translation
 *
 * Return: its length; 0 if it is bad or empty.
 */
static __always_inline u32 kdapl_segment_fill(const DAT_LMR_TRIPLET *seg, u32 need,
					      u32 privilege, struct ib_sge *sge)
{
	/* Read each field once: the Consumer may be writing to the array */
	DAT_LMR_CONTEXT context = READ_ONCE(seg->lmr_context);
	const struct kdapl_lmr_desc *desc = kdapl_lmr_desc(context);
	u32 length = READ_ONCE(seg->segment_length);
	u64 va = READ_ONCE(seg->virtual_address);

	if (unlikely(!kdapl_segment_granted(desc, context, need, privilege)))
		return 0;
	if (unlikely(!kdapl_segment_inside(va, length, desc->base, desc->length)))
		return 0;
	sge->addr = va;
	sge->length = length;
	sge->lkey = desc->lkey;
	return length;
}

/**
 * struct kdapl_segments - result of a translation; small enough for registers
 * @total: sum of the lengths
 * @num_sge: number of elements written, without empty segments; negative: a segment
 *          is bad, and kdapl_segments_reason() returns why
 */
struct kdapl_segments {
	u64 total;
	s32 num_sge;
};

struct kdapl_segments kdapl_segments_fill(const DAT_LMR_TRIPLET *iov, u32 n, u32 need,
					  u32 privilege, struct ib_sge *sge);
u64 kdapl_segments_fast(const DAT_LMR_TRIPLET *iov, u32 n, u32 need, u32 privilege,
			struct ib_sge *sge);
DAT_RETURN kdapl_segments_reason(const DAT_LMR_TRIPLET *iov, u32 n, u32 need, u32 privilege,
				 u64 *total);
void kdapl_segments_trim(struct ib_sge *sge, struct kdapl_segments *segs, u32 length);

#endif /* _KDAPL_SEGMENT_H_ */
