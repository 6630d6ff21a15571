// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and the first failures of the kernel's end, for debugfs
 * kdapl_interop/report. Called from process context and upcalls.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "interop.h"

static struct {
	spinlock_t lock;	/* guards @count */
	u64 count[INTEROP_COUNTS];
} report = { .lock = __SPIN_LOCK_UNLOCKED(report.lock) };

static const char * const count_name[INTEROP_COUNTS] = {
	[INTEROP_TESTS] = "tests",
	[INTEROP_CONNECTED] = "connected",
	[INTEROP_ENDED] = "ended",
	[INTEROP_REJECTED] = "rejected",
	[INTEROP_REFUSED] = "refused",
	[INTEROP_POSTED] = "posted",
	[INTEROP_COMPLETED] = "completed",
	[INTEROP_FLUSHED] = "flushed",
	[INTEROP_SENDS] = "sends",
	[INTEROP_RECEIVES] = "receives",
	[INTEROP_READS] = "reads",
	[INTEROP_WRITES] = "writes",
	[INTEROP_VERIFIED] = "verified",
	[INTEROP_BY_UPCALL] = "by_upcall",
	[INTEROP_BY_DEQUEUE] = "by_dequeue",
};

/* Reset the counters, except the number of outstanding posts. Context: process. */
void interop_report_reset(void)
{
	u64 outstanding;

	spin_lock_bh(&report.lock);
	outstanding = report.count[INTEROP_POSTED] - report.count[INTEROP_COMPLETED];
	memset(report.count, 0, sizeof(report.count));
	report.count[INTEROP_POSTED] = outstanding;
	spin_unlock_bh(&report.lock);
	test_verdict_init(&test_verdict);
}

/* Context: any but hard interrupts. */
void interop_add(enum interop_count what, u64 n)
{
	spin_lock_bh(&report.lock);
	report.count[what] += n;
	spin_unlock_bh(&report.lock);
}

/**
 * interop_good - check that a call succeeded
 * @who: name in failure messages
 * @what: name of the call
 * @ret: what it returned
 *
 * Context: any but hard interrupts.
 * Return: true for DAT_SUCCESS; any other value is recorded as a failure.
 */
bool interop_good(const char *who, const char *what, DAT_RETURN ret)
{
	char name[80];

	if (ret == DAT_SUCCESS)
		return true;
	interop_fail(who, "%s: expected DAT_SUCCESS, returned %s", what,
		     test_ret_name(ret, name, sizeof(name)));
	return false;
}

/* Print one counter per line, then the failures. Context: process. */
void interop_report_show(struct seq_file *m)
{
	u32 i;

	spin_lock_bh(&report.lock);
	for (i = 0; i < INTEROP_COUNTS; i++)
		seq_printf(m, "%s %llu\n", count_name[i], report.count[i]);
	spin_unlock_bh(&report.lock);
	seq_printf(m, "failures %u\n", test_failures());
	test_show_notes(m, &test_verdict, "failure: ");
}
