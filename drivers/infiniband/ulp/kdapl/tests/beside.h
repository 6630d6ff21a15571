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

#endif /* _KDAPL_BESIDE_H_ */
