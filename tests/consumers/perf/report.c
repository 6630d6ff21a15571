// SPDX-License-Identifier: GPL-2.0
/*
 * The figures of a row, and its line in debugfs "results". Process context.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sort.h>

#include "perf.h"

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/**
 * perf_statistics - compute the figures of a latency
 * @row:    receives them
 * @sample: times in ns; sorted by this function
 * @n:      how many
 *
 * Context: process.
 */
void perf_statistics(struct perf_row *row, u64 *sample, u32 n)
{
	u64 sum = 0, variance = 0, off;
	u32 i;

	if (!n)
		return;
	sort(sample, n, sizeof(*sample), compare, NULL);
	for (i = 0; i < n; i++) {
		sum += sample[i];
		row->bucket[perf_bucket(sample[i])]++;
	}
	row->min = sample[0];
	row->max = sample[n - 1];
	row->average = div_u64(sum, n);
	row->p50 = sample[perf_rank(n, 500)];
	row->p99 = sample[perf_rank(n, 990)];
	row->p999 = sample[perf_rank(n, 999)];
	for (i = 0; i < n; i++) {
		off = sample[i] > row->average ? sample[i] - row->average :
						 row->average - sample[i];
		/* Its square still fits */
		off = min_t(u64, off, U32_MAX);
		variance += div_u64(off * off, n);
	}
	row->deviation = int_sqrt64(variance);
}

/* Print a row, in one line */
void perf_show_row(struct seq_file *m, const struct perf_row *row)
{
	u32 i;

	seq_printf(m, "test=%s op=%s side=%s size=%u eps=%u depth=%u messages=%llu peer=%llu bad=%llu",
		   perf_kind_name[row->kind], perf_op_name[row->op], perf_side_name[row->side],
		   row->size, row->eps, row->depth, row->messages, row->peer, row->bad);
	if (row->kind == PERF_BW) {
		seq_printf(m, " ns=%llu peak_ns=%llu peak_messages=%llu\n", row->ns, row->peak_ns,
			   row->peak_messages);
		return;
	}
	seq_printf(m, " min=%llu max=%llu average=%llu deviation=%llu p50=%llu p99=%llu p999=%llu",
		   row->min, row->max, row->average, row->deviation, row->p50, row->p99,
		   row->p999);
	seq_puts(m, " histogram=");
	for (i = 0; i < PERF_BUCKETS; i++)
		if (row->bucket[i])
			seq_printf(m, "%llu-%llu:%u,", perf_bucket_low(i), perf_bucket_low(i + 1),
				   row->bucket[i]);
	seq_putc(m, '\n');
}
