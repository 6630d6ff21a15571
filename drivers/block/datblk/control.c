// SPDX-License-Identifier: GPL-2.0
/*
 * The client's module, the list of its disks, and /dev/datblk-control. A line that is written
 * there is a command; after "connect" a read returns the name of the disk:
 *
 *	connect ia=NAME address=IP device=NAME [qual=N] [queues=N] [depth=N] [io_kib=N]
 *		[fail_io_timeout=SECONDS]
 *	disconnect DISK [force]
 */
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/inet.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include "client.h"

#define LINE_MAX_BYTES	1024

struct workqueue_struct *datblk_wq;

static DEFINE_IDA(ids);
static DEFINE_MUTEX(datblk_disks_lock);		/* guards disks */
static LIST_HEAD(disks);

/**
 * datblk_id_free - the number of a disk is free
 * @id: the number
 *
 * Context: process.
 */
void datblk_id_free(int id)
{
	ida_free(&ids, id);
}

static int set_number(const char *value, unsigned int least, unsigned int most, unsigned int *to)
{
	int err = kstrtouint(value, 0, to);

	return err ?: *to < least || *to > most ? -ERANGE : 0;
}

static int set_text(const char *value, char *to, size_t room)
{
	return *value && strscpy(to, value, room) > 0 ? 0 : -ENAMETOOLONG;
}

static int set_option(struct datblk_options *options, const char *name, const char *value)
{
	unsigned int number;
	int err;

	if (!strcmp(name, "ia"))
		return set_text(value, options->ia, sizeof(options->ia));
	if (!strcmp(name, "address"))
		return set_text(value, options->address, sizeof(options->address));
	if (!strcmp(name, "device"))
		return set_text(value, options->device, sizeof(options->device));
	if (!strcmp(name, "queues"))
		return set_number(value, 1, DATBLK_QUEUES_MAX, &options->queues);
	if (!strcmp(name, "depth"))
		return set_number(value, 1, DATBLK_DEPTH_MAX, &options->depth);
	if (!strcmp(name, "io_kib"))
		return set_number(value, DATBLK_IO_UNIT / 1024, DATBLK_IO_MAX / 1024,
				  &options->io_kib);
	if (!strcmp(name, "fail_io_timeout"))
		return set_number(value, 0, INT_MAX / HZ, &options->fail_io_timeout);
	if (strcmp(name, "qual"))
		return -EINVAL;
	err = set_number(value, 1, U16_MAX, &number);
	options->qual = number;
	return err;
}

static int parse(char *line, struct datblk_options *options)
{
	char *word, *name;
	int err;

	*options = (struct datblk_options){
		.qual = DATBLK_QUAL,
		.queues = min(num_online_cpus(), 4U),
		.depth = 32,
		.io_kib = 128,
	};
	while ((word = strsep(&line, " \t\n"))) {
		if (!*word)
			continue;
		name = strsep(&word, "=");
		err = word ? set_option(options, name, word) : -EINVAL;
		if (err) {
			pr_err("datblk: option \"%s\" is not legal\n", name);
			return err;
		}
	}
	options->io_kib = round_down(options->io_kib, DATBLK_IO_UNIT / 1024);
	if (!*options->ia || !*options->device)
		return -EINVAL;
	return inet_pton_with_scope(&init_net, AF_UNSPEC, options->address, NULL, &options->to);
}

static struct datblk_disk *alloc_disk_of(char *line)
{
	struct datblk_disk *disk = kzalloc(sizeof(*disk), GFP_KERNEL);
	int err;

	if (!disk)
		return ERR_PTR(-ENOMEM);
	err = parse(line, &disk->options);
	if (err)
		goto free;
	err = -ENOMEM;
	disk->queues = kvcalloc(disk->options.queues, sizeof(*disk->queues), GFP_KERNEL);
	if (!disk->queues)
		goto free;
	disk->id = ida_alloc(&ids, GFP_KERNEL);
	if (disk->id >= 0)
		return disk;
	err = disk->id;
free:
	kvfree(disk->queues);
	kfree(disk);
	return ERR_PTR(err);
}

/* name: receives the name of the disk */
static int connect(char *line, char *name)
{
	struct datblk_disk *disk = alloc_disk_of(line);
	int err;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	err = datblk_disk_connect(disk);
	if (err) {
		ida_free(&ids, disk->id);
		kvfree(disk->queues);
		kfree(disk);
		return err;
	}
	strscpy(name, disk->gendisk->disk_name, DISK_NAME_LEN);
	mutex_lock(&datblk_disks_lock);
	list_add_tail(&disk->link, &disks);
	mutex_unlock(&datblk_disks_lock);
	return 0;
}

/* Takes a disk off the list, unless it is in use */
static struct datblk_disk *claim(const char *name, bool force)
{
	struct datblk_disk *disk;

	list_for_each_entry(disk, &disks, link) {
		if (strcmp(disk->gendisk->disk_name, name))
			continue;
		if (!force && disk_openers(disk->gendisk))
			return ERR_PTR(-EBUSY);
		list_del(&disk->link);
		return disk;
	}
	return ERR_PTR(-ENODEV);
}

static int disconnect(char *line)
{
	char *name = strsep(&line, " \t\n");
	bool force = line && !strcmp(strim(line), "force");
	struct datblk_disk *disk;

	if (line && *strim(line) && !force)
		return -EINVAL;
	mutex_lock(&datblk_disks_lock);
	disk = claim(name, force);
	mutex_unlock(&datblk_disks_lock);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	datblk_disk_remove(disk);
	return 0;
}

static int control_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(DISK_NAME_LEN + 1, GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int control_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char *buffer, *line, *word;
	int err = -EINVAL;

	if (count >= LINE_MAX_BYTES)
		return -EINVAL;
	buffer = memdup_user_nul(from, count);
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	line = strim(buffer);
	word = strsep(&line, " \t");
	if (line && !strcmp(word, "connect"))
		err = connect(line, file->private_data);
	else if (line && !strcmp(word, "disconnect"))
		err = disconnect(skip_spaces(line));
	kfree(buffer);
	return err ?: count;
}

static ssize_t control_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	char text[DISK_NAME_LEN + 2];
	int length = snprintf(text, sizeof(text), "%s\n", (char *)file->private_data);

	return simple_read_from_buffer(to, count, pos, text, length);
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = control_open,
	.release = control_release,
	.write = control_write,
	.read = control_read,
};

static struct miscdevice control = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "datblk-control",
	.fops = &control_fops,
	.mode = 0600,
};

static int __init client_init(void)
{
	int err;

	datblk_wq = alloc_workqueue("datblk", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!datblk_wq)
		return -ENOMEM;
	err = misc_register(&control);
	if (err)
		destroy_workqueue(datblk_wq);
	return err;
}

/* Each disk keeps the module, so there is none */
static void __exit client_exit(void)
{
	misc_deregister(&control);
	destroy_workqueue(datblk_wq);
	ida_destroy(&ids);
}

module_init(client_init);
module_exit(client_exit);
MODULE_DESCRIPTION("Block device over DAT: client");
MODULE_LICENSE("GPL");
