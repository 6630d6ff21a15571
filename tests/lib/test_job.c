// SPDX-License-Identifier: GPL-2.0
/*
 * The thread of a test that runs from load to unload: debugfs file "progress" shows
 * its progress, and reading "verdict" waits for its end and prints TAP.
 *
 * Called by init and exit of the module.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include "kdapl_test.h"

static const struct test_job *job;
static struct task_struct *task;
static struct dentry *dir;
static DECLARE_COMPLETION(done);
static u64 took_ms;
static bool stop;

/**
 * test_stopping - check whether the test must end early
 *
 * Context: any.
 * Return: true if the module is being unloaded.
 */
bool test_stopping(void)
{
	return READ_ONCE(stop);
}

/* A thread that has finished sleeps here until kthread_stop() */
void test_await_stop(void)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
}

static int run(void *unused)
{
	u64 begin = ktime_get_ns();

	job->run();
	took_ms = div_u64(ktime_get_ns() - begin, NSEC_PER_MSEC);
	complete_all(&done);
	test_await_stop();
	return 0;
}

static int verdict_show(struct seq_file *m, void *unused)
{
	if (wait_for_completion_interruptible(&done))
		return -EINTR;
	job->show(m);
	seq_printf(m, "# %llu ms\n", took_ms);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(verdict);

/* Percent; 100 also if the test has ended early */
static int progress_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%llu\n", completion_done(&done) ? 100 : job->percent());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(progress);

/**
 * test_job_start - start the thread, and create its files in debugfs
 * @j: the test
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int test_job_start(const struct test_job *j)
{
	job = j;
	task = kthread_run(run, NULL, KBUILD_MODNAME);
	if (IS_ERR(task))
		return PTR_ERR(task);
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("verdict", 0400, dir, NULL, &verdict_fops);
	debugfs_create_file("progress", 0400, dir, NULL, &progress_fops);
	return 0;
}

/**
 * test_job_stop - end the test and remove its files
 *
 * Context: process.
 */
void test_job_stop(void)
{
	debugfs_remove(dir);
	WRITE_ONCE(stop, true);
	kthread_stop(task);
}
