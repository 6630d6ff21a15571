// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_life.ko: repeatedly frees IAs and their objects while they are in use. A name of a
 * loop and a number of rounds ("close 20"), written to debugfs kdapl_life/run, runs them in
 * the writer's context. It fails with EIO if a check fails, and kdapl_life/log contains the
 * reason. The words "start", "hold" and "settle" are the parts of a removal, between which
 * the selftest removes the device.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include "life.h"

static struct dentry *dir;
/* One command at a time */
static DEFINE_MUTEX(command_mutex);

static int log_show(struct seq_file *m, void *unused)
{
	test_show_notes(m, &test_verdict, "");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

/* ---- commands ---------------------------------------------------------- */

static int start(unsigned int round) { return life_removal_start(); }
static int hold(unsigned int round) { return life_removal_hold(); }
static int settle(unsigned int round) { return life_removal_settle(); }

static const struct {
	const char *name;
	int (*fn)(unsigned int round);
} commands[] = {
	{ "close", life_loop_close },
	{ "order", life_loop_order },
	{ "ep", life_loop_ep },
	{ "evd", life_loop_evd },
	{ "srq", life_loop_srq },
	{ "lmr", life_loop_lmr },
	{ "rmr", life_loop_rmr },
	{ "psp", life_loop_psp },
	{ "upcall", life_loop_upcall },
	{ "teardown", life_loop_teardown },
	{ "start", start },
	{ "hold", hold },
	{ "settle", settle },
};

static int run(const char *name, unsigned int count)
{
	unsigned int i, round;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			break;
	if (i == ARRAY_SIZE(commands))
		return -EINVAL;
	test_verdict_init(&test_verdict);
	for (round = 0; round < count && !ret && !test_failures(); round++)
		ret = commands[i].fn(round);
	if (!ret && !test_failures())
		return 0;
	test_info("%s, round %u of %u: error %d, %u failures", name, round, count, ret,
		  test_failures());
	return -EIO;
}

static int run_line(char *line)
{
	unsigned int count = 1;
	char name[16];
	int ret;

	if (sscanf(line, "%15s %u", name, &count) < 1)
		return -EINVAL;
	mutex_lock(&command_mutex);
	ret = run(name, count);
	mutex_unlock(&command_mutex);
	return ret;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	return test_command(from, len, run_line);
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int __init life_init(void)
{
	int err = test_poller_start();

	if (err)
		return err;
	dir = debugfs_create_dir("kdapl_life", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("log", 0400, dir, NULL, &log_fops);
	return 0;
}

static void __exit life_exit(void)
{
	debugfs_remove(dir);
	life_removal_exit();
	test_poller_stop();
}

module_init(life_init);
module_exit(life_exit);
MODULE_DESCRIPTION("kDAPL lifetime test");
MODULE_LICENSE("GPL");
