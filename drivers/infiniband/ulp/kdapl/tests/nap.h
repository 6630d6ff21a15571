/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A short sleep of a test, in process context.
 *
 * usleep_range() has a data race with its own timer: schedule_hrtimeout_range_clock() reads
 * a field that hrtimer_wakeup() clears. It is harmless and belongs to the kernel, but KCSAN
 * reports it if the interrupt arrives in between, with the test on the stack. With KCSAN the
 * test sleeps for a jiffy instead.
 */
#ifndef _KDAPL_TESTS_NAP_H_
#define _KDAPL_TESTS_NAP_H_

#include <linux/delay.h>
#include <linux/kconfig.h>
#include <linux/sched.h>

/* @min, @max: microseconds */
static inline void kdapl_nap(unsigned long min, unsigned long max)
{
	if (IS_ENABLED(CONFIG_KCSAN))
		schedule_timeout_uninterruptible(1);
	else
		usleep_range(min, max);
}

#endif /* _KDAPL_TESTS_NAP_H_ */
