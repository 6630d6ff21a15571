/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments: checks the triplets of a Consumer (steps 7 and 8 of a post) and
 * translates them to the scatter/gather list of the device.
 *
 * Used by the files that post, in any context, inside a read section. The verbs
 * layer checks no segments: a device accepts any key and any range when a request is
 * posted, and breaks the connection later.
 *
 * The checks of the fast paths are inlined. Those of the slow path, and the reason of a refusal,
 * are out of line (segment.c).
 */
#ifndef _KDAPL_SEGMENT_H_
#define _KDAPL_SEGMENT_H_

#include "object/object.h"

/* Returns true if @desc is the entry of @context and grants what is needed (zone | privilege) */
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

/*
 * Checks and translates one segment. Returns false if it is bad or empty. These arguments are the
 * same in the functions below and in segment.c:
 *
 * @need:      zone and privilege needed
 * @privilege: the privilege alone, a constant
 * @sge:       receives the translation
 */
static __always_inline bool kdapl_segment_fill(const DAT_LMR_TRIPLET *seg, u32 need,
					       u32 privilege, struct ib_sge *sge)
{
	/* Read each field once: the Consumer may be writing to the array */
	DAT_LMR_CONTEXT context = READ_ONCE(seg->lmr_context);
	const struct kdapl_lmr_desc *desc = kdapl_lmr_desc(context);
	u32 length = READ_ONCE(seg->segment_length);
	u64 va = READ_ONCE(seg->virtual_address);

	if (unlikely(!kdapl_segment_granted(desc, context, need, privilege)))
		return false;
	if (unlikely(!kdapl_segment_inside(va, length, desc->minus_start, desc->length)))
		return false;
	sge->addr = va;
	sge->length = length;
	sge->lkey = desc->lkey;
	return true;
}

/* Keeps two stores: to combine the length and the key costs more than the second one */
static __always_inline void kdapl_sge_store(struct ib_sge *to, const struct ib_sge *sge)
{
	to->addr = sge->addr;
	to->length = sge->length;
	WRITE_ONCE(to->lkey, sge->lkey);
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

static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct ib_sge));

/*
 * Checks and translates a vector without empty segments. Adjacent segments of the same LMR, such as
 * the pages of a buffer, share one lookup. Returns the sum of their lengths; 0 if one of them is
 * bad or empty. Any context, inside a read section.
 *
 * @n: their number, not 0; @sge must have room for as many
 */
static __always_inline u64 kdapl_segments_fast(const DAT_LMR_TRIPLET *iov, u32 n, u32 need,
					       u32 privilege, struct ib_sge *sge)
{
	const DAT_LMR_TRIPLET *end = iov + n;
	/*
	 * Elements of both arrays have the same size, so one of the pointers is enough. The
	 * compiler must not conclude that the sum points into the Consumer's array.
	 */
	unsigned long delta = (unsigned long)sge - (unsigned long)iov;
	u64 va, minus_start = 0, limit = 0, total = 0;
	const struct kdapl_lmr_desc *desc;
	/* No LMR has the context 0 */
	DAT_LMR_CONTEXT context = 0;
	u32 length, lkey = 0;

	do {
		/* Read twice if it differs; the second value is the one that is checked */
		if (data_race(iov->lmr_context) != context) {
			context = READ_ONCE(iov->lmr_context);
			desc = kdapl_lmr_desc(context);
			if (unlikely(!kdapl_segment_granted(desc, context, need, privilege)))
				return 0;
			minus_start = desc->minus_start;
			limit = desc->length;
			lkey = desc->lkey;
		}
		length = READ_ONCE(iov->segment_length);
		va = READ_ONCE(iov->virtual_address);
		if (unlikely(!kdapl_segment_inside(va, length, minus_start, limit)))
			return 0;
		kdapl_sge_store(RELOC_HIDE((struct ib_sge *)iov, delta),
				&(struct ib_sge){ va, length, lkey });
		total += length;
	} while (++iov != end);
	return total;
}

struct kdapl_segments kdapl_segments_fill(const DAT_LMR_TRIPLET *iov, u32 n, u32 need,
					  u32 privilege, struct ib_sge *sge);
DAT_RETURN kdapl_segments_reason(const DAT_LMR_TRIPLET *iov, u32 n, u32 need, u32 privilege,
				 u64 *total);
void kdapl_segments_trim(struct ib_sge *sge, struct kdapl_segments *segs, u32 length);

#endif /* _KDAPL_SEGMENT_H_ */
