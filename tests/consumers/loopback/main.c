// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_loop: the loopback test of kDAPL, a Consumer that drives both ends of each
 * connection.
 *
 * debugfs, directory kdapl_loop: writing a command line to "run" (test_list.c) starts a run,
 * writing anything to "abort" stops it; "status" and "results" (report.c) can be read at
 * any time. The tool kdapl-loop uses these files. There is one run at a time. A work item
 * executes the cases; unloading the module ends the run.
 */
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "kdapl_loop.h"

unsigned int loop_port = 18515;
module_param_named(port, loop_port, uint, 0444);
MODULE_PARM_DESC(port, "first connection qualifier tried (18515)");

/* Set in the guest "limits" (tools/kdapl/check/run-guest), whose clock counts instructions */
bool loop_exact;
module_param_named(exact, loop_exact, bool, 0444);
MODULE_PARM_DESC(exact, "check the upper time limits of the contract (N)");

static struct dentry *loop_dir;
static struct workqueue_struct *loop_wq;
static struct work_struct loop_work;
static DEFINE_MUTEX(run_mutex);		/* loop_run, loop_number and the state of the run */
static struct loop_run *loop_run;
static u32 loop_number;

static void play_case(struct loop_run *run, struct loop_case *c)
{
	unsigned long start = jiffies;
	int err;

	if (READ_ONCE(run->abort)) {
		c->result = LOOP_ABORTED;
		return;
	}
	if (c->op == LOOP_SRQ && !run->srq_supported) {
		strscpy(c->reason, "the device has no shared receive queues",
			sizeof(c->reason));
		c->result = LOOP_SKIP;
		return;
	}
	c->result = LOOP_RUNNING;
	err = c->fn(run, c);
	c->ms = jiffies_to_msecs(jiffies - start);
	if (err && !c->verdict.failures && !READ_ONCE(run->abort))
		loop_fail(c, "ended early, error %d", err);
	if (c->verdict.failures)
		c->result = LOOP_FAIL;
	else
		c->result = err ? LOOP_ABORTED : LOOP_PASS;
}

static void play(struct work_struct *work)
{
	struct loop_run *run = loop_run;

	if (loop_pattern_init(run->args.seed))
		strscpy(run->error, "no memory for the patterns", sizeof(run->error));
	else if (!loop_run_open(run))
		for (run->at = 0; run->at < run->ncases; run->at++)
			play_case(run, &run->cases[run->at]);
	loop_run_close(run);
	mutex_lock(&run_mutex);
	run->state = LOOP_DONE;
	mutex_unlock(&run_mutex);
}

static void free_run(struct loop_run *run)
{
	if (!run)
		return;
	kvfree(run->cases);
	kfree(run);
}

static int start_run(char *line)
{
	struct loop_run *run = kzalloc(sizeof(*run), GFP_KERNEL);
	int err;

	if (!run)
		return -ENOMEM;
	init_completion(&run->wake);
	spin_lock_init(&run->cr_lock);
	err = loop_args_parse(&run->args, line);
	if (!err)
		err = loop_test_list(run);
	if (err)
		goto fail;
	mutex_lock(&run_mutex);
	if (loop_run && loop_run->state == LOOP_ACTIVE) {
		mutex_unlock(&run_mutex);
		err = -EBUSY;
		goto fail;
	}
	free_run(loop_run);
	loop_run = run;
	loop_number++;
	run->state = run->args.dry ? LOOP_DONE : LOOP_ACTIVE;
	if (!run->args.dry)
		queue_work(loop_wq, &loop_work);
	mutex_unlock(&run_mutex);
	return 0;
fail:
	free_run(run);
	return err;
}

static ssize_t run_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return test_command(buf, len, start_run);
}

static void abort_run(void)
{
	mutex_lock(&run_mutex);
	if (loop_run && loop_run->state == LOOP_ACTIVE) {
		WRITE_ONCE(loop_run->abort, true);
		complete(&loop_run->wake);
	}
	mutex_unlock(&run_mutex);
}

static ssize_t abort_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	abort_run();
	return len;
}

static int status_show(struct seq_file *m, void *unused)
{
	mutex_lock(&run_mutex);
	loop_show_status(m, loop_run, loop_number);
	mutex_unlock(&run_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

static int results_show(struct seq_file *m, void *unused)
{
	mutex_lock(&run_mutex);
	if (loop_run)
		loop_show_results(m, loop_run);
	mutex_unlock(&run_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.write = run_write,
};

static const struct file_operations abort_fops = {
	.owner = THIS_MODULE,
	.write = abort_write,
};

static int __init loop_init(void)
{
	INIT_WORK(&loop_work, play);
	loop_wq = alloc_workqueue("kdapl_loop", WQ_UNBOUND, 1);
	if (!loop_wq)
		return -ENOMEM;
	loop_dir = debugfs_create_dir("kdapl_loop", NULL);
	debugfs_create_file("run", 0200, loop_dir, NULL, &run_fops);
	debugfs_create_file("abort", 0200, loop_dir, NULL, &abort_fops);
	debugfs_create_file("status", 0400, loop_dir, NULL, &status_fops);
	debugfs_create_file("results", 0400, loop_dir, NULL, &results_fops);
	return 0;
}

static void __exit loop_exit(void)
{
	/* No new run can start; the current one ends at its next wait. */
	debugfs_remove(loop_dir);
	abort_run();
	destroy_workqueue(loop_wq);
	free_run(loop_run);
	loop_pattern_exit();
}

module_init(loop_init);
module_exit(loop_exit);
MODULE_AUTHOR("kDAPL developers");
MODULE_DESCRIPTION("kDAPL loopback test");
MODULE_LICENSE("GPL");
