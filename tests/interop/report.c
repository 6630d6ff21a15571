// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and the first failures of the kernel's end, for debugfs
 * kdapl_interop/report. Called from process context and upcalls.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "interop.h"

#define KEPT		12	/* failures with their text */
#define TEXT_SIZE	160

static struct {
	spinlock_t lock;	/* guards all below */
	u64 count[INTEROP_COUNTS];
	u32 failures;
	char text[KEPT][TEXT_SIZE];
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
	report.failures = 0;
	spin_unlock_bh(&report.lock);
}

/* Context: any but hard interrupts. */
void interop_add(enum interop_count what, u64 n)
{
	spin_lock_bh(&report.lock);
	report.count[what] += n;
	spin_unlock_bh(&report.lock);
}

/**
 * interop_fail - record a failure
 * @who: name of the link or the thread
 * @fmt: the failure
 *
 * Context: any but hard interrupts.
 */
void interop_fail(const char *who, const char *fmt, ...)
{
	va_list args;
	int n;

	spin_lock_bh(&report.lock);
	if (report.failures < KEPT) {
		char *text = report.text[report.failures];

		n = scnprintf(text, TEXT_SIZE, "%s: ", who);
		va_start(args, fmt);
		vscnprintf(text + n, TEXT_SIZE - n, fmt, args);
		va_end(args);
	}
	report.failures++;
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
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return true;
	dat_strerror(ret, &major, &minor);
	interop_fail(who, "%s: expected DAT_SUCCESS, returned %s, %s", what, major, minor);
	return false;
}

u32 interop_failures(void)
{
	return READ_ONCE(report.failures);
}

/* Print one counter per line, then the failures. Context: process. */
void interop_report_show(struct seq_file *m)
{
	u32 i;

	spin_lock_bh(&report.lock);
	for (i = 0; i < INTEROP_COUNTS; i++)
		seq_printf(m, "%s %llu\n", count_name[i], report.count[i]);
	seq_printf(m, "failures %u\n", report.failures);
	for (i = 0; i < min_t(u32, report.failures, KEPT); i++)
		seq_printf(m, "failure: %s\n", report.text[i]);
	spin_unlock_bh(&report.lock);
}
