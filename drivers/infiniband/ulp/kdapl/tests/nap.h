/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A short sleep of a test, in process context.
 *
 * usleep_range() races with the timer that it has set itself, of which
 * schedule_hrtimeout_range_clock() looks at what hrtimer_wakeup() clears. That is
 * harmless and the kernel's own, but KCSAN reports it when the interrupt comes in
 * between, and the test is on the stack. Under KCSAN it sleeps for a jiffy.
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
