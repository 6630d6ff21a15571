// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_interop: a Consumer of kDAPL that is a peer of dapltest, the test program of
 * user-space uDAPL.
 *
 * debugfs, directory kdapl_interop: a line written to "server" (args.c) starts a
 * server, which the quit command of a client ends. A line written to "client"
 * requests a test from another server; the write returns when the test has ended.
 * "report" contains counters and failures; writing to it resets them.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "interop.h"

static struct dentry *dir;
struct workqueue_struct *interop_wq;

static int run_line(char *line, int (*parse)(struct interop_args *args, char *line),
		    int (*run)(const struct interop_args *args))
{
	struct interop_args *args = kzalloc(sizeof(*args), GFP_KERNEL);
	int err = args ? parse(args, line) : -ENOMEM;

	if (!err)
		err = run(args);
	kfree(args);
	return err;
}

static int serve(char *line)
{
	return run_line(line, interop_args_server, interop_server_start);
}

static int call(char *line)
{
	return run_line(line, interop_args_client, interop_client_run);
}

static ssize_t server_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return test_command(buf, len, serve);
}

static ssize_t client_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return test_command(buf, len, call);
}

static int report_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "serving %d\n", interop_server_busy());
	interop_report_show(m);
	return 0;
}

static int report_open(struct inode *inode, struct file *file)
{
	return single_open(file, report_show, NULL);
}

static ssize_t report_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	interop_report_reset();
	return len;
}

static const struct file_operations server_fops = {
	.owner = THIS_MODULE,
	.write = server_write,
};

static const struct file_operations client_fops = {
	.owner = THIS_MODULE,
	.write = client_write,
};

static const struct file_operations report_fops = {
	.owner = THIS_MODULE,
	.open = report_open,
	.read = seq_read,
	.write = report_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init interop_init(void)
{
	/* The work items of the server and of its tests wait for each other */
	interop_wq = alloc_workqueue("kdapl_interop", WQ_UNBOUND,
				     2 * INTEROP_MAX_THREADS + 1);
	if (!interop_wq)
		return -ENOMEM;
	dir = debugfs_create_dir("kdapl_interop", NULL);
	debugfs_create_file("server", 0200, dir, NULL, &server_fops);
	debugfs_create_file("client", 0200, dir, NULL, &client_fops);
	debugfs_create_file("report", 0600, dir, NULL, &report_fops);
	return 0;
}

static void __exit interop_exit(void)
{
	debugfs_remove(dir);
	interop_server_stop();
	destroy_workqueue(interop_wq);
}

module_init(interop_init);
module_exit(interop_exit);
MODULE_DESCRIPTION("kDAPL interoperability test");
MODULE_LICENSE("GPL");
