// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_conform.ko: reading the file kdapl_conform/tap of debugfs runs all cases, in the
 * reader's context, and prints TAP.
 *
 * An outcome is right if it is that of the specification. For Soft-RoCE, the outcomes known to
 * differ are no failures; the name of the result then contains both.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "conform.h"
#include "test_device.h"

#define CF_TEXT		SZ_64K	/* enough for one call of show, which must not be repeated */

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "RDMA device (rxe0)");

static char *peer = "";
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "RDMA device of the other end (the same)");

static char *only = "";
module_param(only, charp, 0644);
MODULE_PARM_DESC(only, "name of a case");

static bool bounces;
module_param(bounces, bool, 0444);
MODULE_PARM_DESC(bounces, "Mappings of the device are copies: only the cases about syncs (N)");

static char *options = "";
module_param(options, charp, 0444);
MODULE_PARM_DESC(options, "Options that the adapter model has: only the cases about them");

static DEFINE_MUTEX(cf_mutex);		/* one run at a time */
static struct dentry *cf_dir;
static struct ib_device *cf_ibdev[2];

static const struct cf_case * const cf_groups[] = {
	cf_queue_cases, cf_message_cases, cf_memory_cases, cf_event_cases, cf_sync_cases,
	cf_option_cases,
};

void cf_say(struct cf *cf, const char *fmt, ...)
{
	size_t len = strlen(cf->outcome);
	va_list ap;

	if (len)
		len += scnprintf(cf->outcome + len, sizeof(cf->outcome) - len, ", ");
	va_start(ap, fmt);
	vscnprintf(cf->outcome + len, sizeof(cf->outcome) - len, fmt, ap);
	va_end(ap);
}

/* Is @outcome in the list, separated by "|"? */
static bool cf_listed(const char *list, const char *outcome)
{
	size_t len = strlen(outcome);
	const char *p = list;

	while (p) {
		if (!strncmp(p, outcome, len) && (!p[len] || p[len] == '|'))
			return true;
		p = strchr(p, '|');
		p = p ? p + 1 : NULL;
	}
	return false;
}

static void cf_play(struct seq_file *m, const struct cf_case *c, u32 number)
{
	struct cf *cf = kzalloc(sizeof(*cf), GFP_KERNEL);
	bool soft = cf_ibdev[0]->ops.driver_id == RDMA_DRIVER_RXE;

	if (!cf) {
		seq_printf(m, "not ok %u - %s: no memory\n", number, c->name);
		return;
	}
	cf->ibdev[0] = cf_ibdev[0];
	cf->ibdev[1] = cf_ibdev[1];
	c->run(cf);
	cf_free(cf);
	if (!strcmp(cf->outcome, c->expected))
		seq_printf(m, "ok %u - %s: %s\n", number, c->name, c->expected);
	else if (soft && c->rxe && cf_listed(c->rxe, cf->outcome))
		seq_printf(m, "ok %u - %s: %s; by the specification (%s): %s\n", number, c->name,
			   cf->outcome, c->section, c->expected);
	else
		seq_printf(m, "# expected \"%s\" (%s), outcome \"%s\"\nnot ok %u - %s\n",
			   c->expected, c->section, cf->outcome, number, c->name);
	kfree(cf);
}

static bool cf_wanted(const struct cf_case *group, const struct cf_case *c)
{
	size_t len = strlen(options);

	if (*only && strcmp(only, c->name))
		return false;
	if (group == cf_option_cases)
		return len && !strncmp(options, c->name, len) && c->name[len] == '/';
	return !len && bounces == (group == cf_sync_cases);
}

/* Counts the cases and, unless @m is NULL, runs them */
static void cf_each(struct seq_file *m, u32 *number)
{
	const struct cf_case *c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cf_groups); i++) {
		for (c = cf_groups[i]; c->name; c++) {
			if (!cf_wanted(cf_groups[i], c))
				continue;
			++*number;
			if (m)
				cf_play(m, c, *number);
		}
	}
}

static int cf_show(struct seq_file *m, void *unused)
{
	u32 number = 0;

	mutex_lock(&cf_mutex);
	cf_each(NULL, &number);
	seq_printf(m, "1..%u\n", number);
	number = 0;
	cf_each(m, &number);
	mutex_unlock(&cf_mutex);
	return 0;
}

static int cf_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, cf_show, NULL, CF_TEXT);
}

static const struct file_operations cf_fops = {
	.owner = THIS_MODULE,
	.open = cf_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

static void cf_put(void)
{
	if (cf_ibdev[1])
		ib_device_put(cf_ibdev[1]);
	if (cf_ibdev[0])
		ib_device_put(cf_ibdev[0]);
}

static int __init cf_init(void)
{
	cf_ibdev[0] = test_device_get(device, RDMA_DRIVER_UNKNOWN);
	cf_ibdev[1] = test_device_get(*peer ? peer : device, RDMA_DRIVER_UNKNOWN);
	if (!cf_ibdev[0] || !cf_ibdev[1]) {
		cf_put();
		return -ENODEV;
	}
	cf_dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("tap", 0400, cf_dir, NULL, &cf_fops);
	return 0;
}

static void __exit cf_exit(void)
{
	debugfs_remove(cf_dir);
	cf_put();
}

module_init(cf_init);
module_exit(cf_exit);

MODULE_DESCRIPTION("Compares an RDMA device with the InfiniBand specification");
MODULE_LICENSE("GPL");
