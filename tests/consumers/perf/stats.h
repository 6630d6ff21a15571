/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The statistics of latencies: nearest-rank percentiles and a logarithmic histogram.
 * Any context. The selftest perf compares what they return with each other.
 */
#ifndef _KDAPL_PERF_STATS_H_
#define _KDAPL_PERF_STATS_H_

/* Four buckets for each power of two; the last one takes everything from 15 minutes on */
#define PERF_BUCKETS	160

/* The bucket of a time in nanoseconds */
static inline u32 perf_bucket(u64 ns)
{
	u32 octave, bucket;

	if (ns < 4)
		return ns;
	octave = fls64(ns) - 1;
	bucket = 4 * (octave - 1) + ((ns >> (octave - 2)) & 3);
	return bucket < PERF_BUCKETS ? bucket : PERF_BUCKETS - 1;
}

/* The shortest time of a bucket */
static inline u64 perf_bucket_low(u32 bucket)
{
	if (bucket < 4)
		return bucket;
	return (u64)(4 + bucket % 4) << (bucket / 4 - 1);
}

/*
 * The place of a percentile among @n sorted samples, counted from 0: the smallest one that
 * at least @mille of 1,000 samples do not exceed. @n is at least 1.
 */
static inline u32 perf_rank(u32 n, u32 mille)
{
	u64 rank = ((u64)n * mille + 999) / 1000;

	return rank ? rank - 1 : 0;
}

#endif /* _KDAPL_PERF_STATS_H_ */
