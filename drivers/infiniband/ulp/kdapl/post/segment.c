// SPDX-License-Identifier: GPL-2.0
/*
 * Any vector of segments, and the reason why a segment is refused. See segment.h.
 *
 * Called by post_slow.c and post_recv.c in any context, inside a read section.
 */
#include "object/object.h"
#include "segment.h"

/* Why a segment was refused: context, zone, privilege, range, in this order */
static __cold noinline DAT_RETURN kdapl_segment_reason(DAT_LMR_CONTEXT context, u32 zone,
						       u32 privilege)
{
	const struct kdapl_lmr_desc *desc = kdapl_lmr_desc(context);
	bool write = privilege == DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	u32 zp = READ_ONCE(desc->zp);

	if (!zp || READ_ONCE(desc->context) != context)
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				 write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	if ((zp ^ zone) & KDAPL_ZONE_MASK)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION,
				 write ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
	if (!(zp & privilege))
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				 write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	return KDAPL_BAD_ARG(3);
}

/*
 * Checks and translates any vector. Returns their total length and number; a negative number if one
 * is bad. Any context, inside a read section.
 *
 * @n:   their number; @sge must have room for as many
 * @sge: receives those that are not empty
 */
struct kdapl_segments kdapl_segments_fill(const DAT_LMR_TRIPLET *iov, u32 n, u32 need,
					  u32 privilege, struct ib_sge *sge)
{
	struct kdapl_segments out = {};
	u32 i;

	for (i = 0; i < n; i++) {
		if (!READ_ONCE(iov[i].segment_length))
			continue;
		if (unlikely(!kdapl_segment_fill(&iov[i], need, privilege, &sge[out.num_sge]))) {
			out.num_sge = -1;
			break;
		}
		out.total += sge[out.num_sge++].length;
	}
	return out;
}

/*
 * Why a vector is refused. @total: receives the sum of the lengths if no segment is bad. Returns
 * DAT_SUCCESS, or the reason of the first bad segment. Any context, inside a read section.
 */
DAT_RETURN kdapl_segments_reason(const DAT_LMR_TRIPLET *iov, u32 n, u32 need, u32 privilege,
				 u64 *total)
{
	struct ib_sge scratch;
	u32 i, length;

	for (*total = 0, i = 0; i < n; i++) {
		length = READ_ONCE(iov[i].segment_length);
		if (!length)
			continue;
		if (!kdapl_segment_fill(&iov[i], need, privilege, &scratch))
			return kdapl_segment_reason(READ_ONCE(iov[i].lmr_context),
						    need & KDAPL_ZONE_MASK, privilege);
		*total += length;
	}
	return DAT_SUCCESS;
}

/*
 * Shortens the segments of an RDMA read to the remote length. Otherwise the device would read more
 * than the Consumer asked for. Any context.
 *
 * @sge:    translated segments, longer than @length in total
 * @segs:   their total length and number
 * @length: number of bytes to read
 */
void kdapl_segments_trim(struct ib_sge *sge, struct kdapl_segments *segs, u32 length)
{
	u32 i, left = length;

	for (i = 0; left; i++) {
		sge[i].length = min(sge[i].length, left);
		left -= sge[i].length;
	}
	segs->num_sge = i;
	segs->total = length;
}
