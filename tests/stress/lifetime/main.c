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
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "life.h"

char *life_ia_name = "rxe0";
module_param_named(ia, life_ia_name, charp, 0444);
MODULE_PARM_DESC(ia, "Interface adapter (default rxe0)");

unsigned int life_stretch = 1;
module_param_named(stretch, life_stretch, uint, 0444);
MODULE_PARM_DESC(stretch, "Multiplies time-outs, for emulated machines (default 1)");

static struct dentry *dir;
/* One command at a time */
static DEFINE_MUTEX(command_mutex);

/* ---- what was wrong ---------------------------------------------------- */

#define MAX_TOLD	16

static DEFINE_SPINLOCK(log_lock);
static char log_text[4096];
static unsigned int log_len, failures;

static __printf(2, 0) void log_add(bool failure, const char *fmt, va_list args)
{
	unsigned long flags;

	spin_lock_irqsave(&log_lock, flags);
	/* The first ones are the most useful */
	if (failure && failures++ >= MAX_TOLD)
		goto out;
	log_len += vscnprintf(log_text + log_len, sizeof(log_text) - log_len, fmt, args);
	log_len += scnprintf(log_text + log_len, sizeof(log_text) - log_len, "\n");
out:
	spin_unlock_irqrestore(&log_lock, flags);
}

/**
 * life_fail - log a failure
 * @fmt: what
 *
 * Context: any.
 */
void life_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_add(true, fmt, args);
	va_end(args);
}

/* life_note - log information that is no failure */
void life_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_add(false, fmt, args);
	va_end(args);
}

/**
 * life_expect - compare the type of a return
 * @what: the call
 * @got:  what it returned
 * @type: what it should
 *
 * Context: any. Return: is it that type?
 */
bool life_expect(const char *what, DAT_RETURN got, DAT_RETURN type)
{
	if (DAT_GET_TYPE(got) == type)
		return true;
	life_fail("%s returned %#x, expected %#x", what, got, type);
	return false;
}

static int log_show(struct seq_file *m, void *unused)
{
	unsigned long flags;

	spin_lock_irqsave(&log_lock, flags);
	seq_write(m, log_text, log_len);
	spin_unlock_irqrestore(&log_lock, flags);
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
	log_len = 0;
	failures = 0;
	for (round = 0; round < count && !ret && !failures; round++)
		ret = commands[i].fn(round);
	if (ret || failures)
		life_note("%s, round %u of %u: error %d, %u failures", name, round, count, ret,
			  failures);
	return ret || failures ? -EIO : 0;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	unsigned int count = 1;
	char text[32], name[16];
	int ret;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = 0;
	if (sscanf(text, "%15s %u", name, &count) < 1)
		return -EINVAL;
	mutex_lock(&command_mutex);
	ret = run(name, count);
	mutex_unlock(&command_mutex);
	return ret ?: len;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int __init life_init(void)
{
	dir = debugfs_create_dir("kdapl_life", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("log", 0400, dir, NULL, &log_fops);
	return 0;
}

static void __exit life_exit(void)
{
	debugfs_remove(dir);
	life_removal_exit();
	if (failures)
		pr_err("kdapl_life: %.*s", log_len, log_text);
}

module_init(life_init);
module_exit(life_exit);
MODULE_DESCRIPTION("kDAPL lifetime test");
MODULE_LICENSE("GPL");
