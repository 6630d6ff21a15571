/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the KUnit suites and the test modules wait for another thread.
 *
 * No limit here depends on the speed of the machine or on its load. A wait ends after a number
 * of iterations of the waiting thread: if the host stops a guest or is busy, time passes, but
 * the thread does not run. A wait without iterations has a limit that only a hang reaches.
 */
#ifndef _KDAPL_TESTS_NAP_H_
#define _KDAPL_TESTS_NAP_H_

#include <linux/delay.h>
#include <linux/kconfig.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

/* The longest time that a test waits without progress, in milliseconds */
#define KDAPL_HANG_MS	120000
/* About 20 s: a sleep of one jiffy that begins at a tick takes two, due to the timer wheel */
#define KDAPL_SLEEPS	(10 * HZ)
/* At least this many iterations of a loop, and at least this long */
#define KDAPL_SPINS	10000000
#define KDAPL_SPIN_NS	(10ULL * NSEC_PER_SEC)

/* Sleeps until another thread makes @cond true; false if it never does. Process context */
#define kdapl_sleep_until(cond)						\
({									\
	unsigned long __sleeps = 0;					\
	bool __met;							\
									\
	while (!(__met = (cond)) && __sleeps++ < KDAPL_SLEEPS)		\
		schedule_timeout_uninterruptible(1);			\
	__met;								\
})

/* The same with @relax instead of a sleep, for any context. It needs no timer */
#define kdapl_spin_until(cond, relax)					\
({									\
	u64 __end = ktime_get_mono_fast_ns() + KDAPL_SPIN_NS;		\
	unsigned long __spins = 0;					\
	bool __met;							\
									\
	while (!(__met = (cond)) &&					\
	       (__spins++ < KDAPL_SPINS || ktime_get_mono_fast_ns() < __end)) \
		relax;							\
	__met;								\
})

/*
 * A short sleep in process context. @min, @max: microseconds
 *
 * usleep_range() has a data race with its own timer: schedule_hrtimeout_range_clock() reads
 * a field that hrtimer_wakeup() clears. It is harmless and belongs to the kernel, but KCSAN
 * reports it if the interrupt arrives in between, with the test on the stack. With KCSAN the
 * test sleeps for a jiffy instead.
 */
static inline void kdapl_nap(unsigned long min, unsigned long max)
{
	if (IS_ENABLED(CONFIG_KCSAN))
		schedule_timeout_uninterruptible(1);
	else
		usleep_range(min, max);
}

#endif /* _KDAPL_TESTS_NAP_H_ */
