/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second thread of a test that runs on its own CPU. A race inside a call needs this,
 * because the thread must not wait until the caller's CPU is free. Process context.
 */
#ifndef _KDAPL_BESIDE_H_
#define _KDAPL_BESIDE_H_

#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "nap.h"

/*
 * Runs @run in a new thread and binds the caller to another CPU, if there is one, until
 * beside_stop(). Returns the thread or an ERR_PTR.
 */
static inline struct task_struct *beside_run(int (*run)(void *data), const char *name)
{
	struct task_struct *task = kthread_create(run, NULL, "%s", name);

	if (IS_ERR(task))
		return task;
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	kthread_bind(task, cpumask_last(cpu_online_mask));
	wake_up_process(task);
	return task;
}

static inline void beside_stop(struct task_struct *task)
{
	kthread_stop(task);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static u32 beside_turns;

static inline int beside_turn(void *unused)
{
	while (!kthread_should_stop()) {
		WRITE_ONCE(beside_turns, beside_turns + 1);
		cond_resched();
	}
	return 0;
}

/*
 * Did the other CPU run during a loop of the caller? An emulator without parallel CPUs changes
 * from one CPU to the next about ten times a second, or when a CPU is idle.
 */
static inline bool beside_saw_turns(void)
{
	u32 i, now, last = READ_ONCE(beside_turns), changes = 0;

	for (i = 0; i < 100000; i++) {
		now = READ_ONCE(beside_turns);
		changes += now != last;
		last = now;
	}
	return changes > 100;
}

/*
 * Returns whether two CPUs run at the same time. A race of a few instructions needs this. A busy
 * host may stop one of them, so it tries for a while.
 */
static inline bool beside_parallel(void)
{
	struct task_struct *task;
	bool saw = false;
	u32 i;

	if (num_online_cpus() < 2)
		return false;
	task = beside_run(beside_turn, "kdapl-turns");
	if (IS_ERR(task))
		return false;
	for (i = 0; i < 100 && !saw; i++) {
		schedule_timeout_uninterruptible(1);
		saw = beside_saw_turns();
	}
	beside_stop(task);
	return saw;
}

#endif /* _KDAPL_BESIDE_H_ */
