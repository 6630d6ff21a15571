// SPDX-License-Identifier: GPL-2.0
/*
 * The client's module, the list of its disks, and /dev/datblk-control. A line that is written
 * there is a command. A read returns its result, which is the name of the disk or the list:
 *
 *	connect [ia=NAME] address=IP[@IA]... device=NAME [policy=POLICY] [qual=N] [queues=N]
 *		[depth=N] [io_kib=N] [fail_io_timeout=SECONDS] [reconnect_timeout=SECONDS]
 *		[resubmit_kib=N] [key=HEX] [share=0|1]
 *	disconnect DISK [force]
 *	discover ia=NAME address=IP [qual=N]
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/dmi.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/jhash.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "client.h"

#define LINE_MAX_BYTES	1024
#define RESULT_ROOM	SZ_16K		/* for the result of a command, and a terminating 0 */

struct workqueue_struct *datblk_wq;
u32 datblk_boot;
unsigned long long datblk_host;
module_param_named(host, datblk_host, ullong, 0444);
MODULE_PARM_DESC(host, "number that identifies this machine to servers; the same after a reboot");

static DEFINE_IDA(ids);
static DEFINE_MUTEX(datblk_disks_lock);		/* guards disks */
static LIST_HEAD(disks);
static DECLARE_WAIT_QUEUE_HEAD(disks_changed);	/* woken when a disk has been added, or freed */
static atomic_t datblk_disks_left;			/* that have not been freed */
static atomic_t datblk_connects;			/* number of attempts that have ended */

static void datblk_remote_put(struct datblk_remote *remote)
{
	if (!refcount_dec_and_test(&remote->users))
		return;
	/* A disk that left may have queued the probe after the last disk ended the session */
	cancel_delayed_work_sync(&remote->probe);
	/* datblk_disk_abort() may have queued this work just now */
	cancel_delayed_work_sync(&remote->recover);
	datblk_remote_free(remote);
}

/**
 * datblk_disk_gone - free a disk that nobody has open any more
 * @disk: a disk that has been removed
 *
 * Context: process.
 */
void datblk_disk_gone(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;

	ida_free(&ids, disk->id);
	datblk_disk_free(disk);
	datblk_remote_put(remote);
	if (atomic_dec_and_test(&datblk_disks_left))
		wake_up_all(&disks_changed);
}

/* Initializes a server whose options have been set */
static int datblk_remote_init(struct datblk_remote *remote)
{
	unsigned int i;

	remote->queues = kvcalloc(remote->options.queues, sizeof(*remote->queues), GFP_KERNEL);
	if (!remote->queues)
		return -ENOMEM;
	for (i = 0; i < remote->options.queues; i++) {
		remote->queues[i].remote = remote;
		remote->queues[i].index = i;
		spin_lock_init(&remote->queues[i].lock);
	}
	remote->limits = (struct datblk_limits){
		.depth = remote->options.depth,
		.inline_max = DATBLK_INLINE_MAX,
		.io_max = remote->options.io_kib * 1024,
	};
	mutex_init(&remote->lock);
	refcount_set(&remote->users, 1);
	INIT_LIST_HEAD(&remote->disks);
	INIT_DELAYED_WORK(&remote->recover, datblk_session_recover);
	INIT_DELAYED_WORK(&remote->probe, datblk_probe);
	init_waitqueue_head(&remote->repeated);
	return 0;
}

static struct datblk_disk *datblk_disk_alloc(char *line)
{
	struct datblk_disk *disk = kzalloc(sizeof(*disk), GFP_KERNEL);
	int err = -ENOMEM;

	if (!disk)
		return ERR_PTR(-ENOMEM);
	disk->remote = kzalloc(sizeof(*disk->remote), GFP_KERNEL);
	if (!disk->remote)
		goto free;
	err = datblk_parse_options(line, disk) ?: datblk_remote_init(disk->remote);
	if (err)
		goto free;
	/* Random, so that it is not close to that of an earlier disk with the same number */
	disk->incarnation = get_random_u32();
	disk->id = ida_alloc(&ids, GFP_KERNEL);
	disk->remote->id = disk->id;
	if (disk->id >= 0)
		return disk;
	err = disk->id;
free:
	datblk_remote_free(disk->remote);
	datblk_disk_free(disk);
	return ERR_PTR(err);
}

static struct datblk_disk *datblk_number_user(const char *device, unsigned int number)
{
	struct datblk_disk *disk;

	list_for_each_entry(disk, &disks, link)
		if (disk->number == number && !strcmp(disk->options.device, device))
			return disk;
	return NULL;
}

static unsigned int datblk_remote_disks(const struct datblk_remote *remote)
{
	struct datblk_disk *disk;
	unsigned int count = 0;

	list_for_each_entry(disk, &disks, link)
		count += disk->remote == remote;
	return count;
}

/* Lets a disk share the connections of other disks, if they match. datblk_disks_lock held */
static void datblk_disk_find_remote(struct datblk_disk *disk)
{
	struct datblk_remote *own = disk->remote, *remote;
	struct datblk_disk *other;

	list_for_each_entry(other, &disks, link) {
		remote = other->remote;
		/* A server that has lost its session may never have another one */
		if (!datblk_remote_matches(own, remote) || READ_ONCE(remote->removed) ||
		    READ_ONCE(remote->state) == DATBLK_RECOVERING ||
		    datblk_remote_disks(remote) >= datblk_tags_disks(&remote->limits))
			continue;
		refcount_inc(&remote->users);
		disk->remote = remote;
		disk->spare = own;
		return;
	}
}

/* Opens new connections for a disk: those of the other disks are lost, or have no room for it */
static int datblk_disk_connect_alone(struct datblk_disk *disk)
{
	struct datblk_remote *others = disk->remote;

	mutex_lock(&datblk_disks_lock);
	disk->remote = disk->spare;
	disk->spare = NULL;
	mutex_unlock(&datblk_disks_lock);
	datblk_remote_put(others);
	return datblk_disk_connect(disk);
}

/*
 * A disk that replaces another one gets the same number, so the server ends the connections of the
 * old disk and waits for their I/O. The number depends on the least address and the qualifier, so
 * the order of the addresses does not matter. Returns -EBUSY while a disk with the number is being
 * removed: with the next number, this disk would not replace it, and its successor not this one.
 */
static int datblk_disk_list(struct datblk_disk *disk)
{
	const struct datblk_remote *remote = disk->remote;
	const char *least = remote->paths[0].address;
	struct datblk_disk *user;
	unsigned int i;
	int err = 0;

	for (i = 1; i < remote->path_count; i++)
		if (strcmp(remote->paths[i].address, least) < 0)
			least = remote->paths[i].address;
	disk->number = jhash(least, strlen(least), remote->options.qual);
	mutex_lock(&datblk_disks_lock);
	while ((user = datblk_number_user(disk->options.device, disk->number)) && !err) {
		err = user->removing || READ_ONCE(user->deleting) ? -EBUSY : 0;
		disk->number++;
	}
	datblk_disk_find_remote(disk);
	list_add_tail(&disk->link, &disks);
	mutex_unlock(&datblk_disks_lock);
	return err;
}

/* The disk is one that was added, and whose member removing the caller has set */
static void datblk_disk_drop(struct datblk_disk *disk)
{
	datblk_disk_remove(disk);
	/* Frees the number of the disk */
	mutex_lock(&datblk_disks_lock);
	list_del(&disk->link);
	mutex_unlock(&datblk_disks_lock);
	put_disk(disk->gendisk);
}

/* result: receives the name of the disk */
static int datblk_connect(char *line, char *result)
{
	struct datblk_disk *disk = datblk_disk_alloc(line);
	bool aborted;
	int err;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	atomic_inc(&datblk_disks_left);
	err = datblk_disk_list(disk) ?: datblk_disk_connect(disk);
	if (err == -ESTALE && disk->spare)
		err = datblk_disk_connect_alone(disk);
	datblk_remote_free(disk->spare);
	disk->spare = NULL;
	mutex_lock(&datblk_disks_lock);
	aborted = !err && READ_ONCE(disk->deleting);
	if (err) {
		list_del(&disk->link);
	} else if (aborted) {
		WRITE_ONCE(disk->closing, true);
		disk->removing = true;
	} else {
		disk->added = true;
		snprintf(result, RESULT_ROOM, "%s\n", disk->gendisk->disk_name);
		/* Until it is removed */
		__module_get(THIS_MODULE);
	}
	mutex_unlock(&datblk_disks_lock);
	if (aborted) {
		datblk_disk_drop(disk);
		err = -ECANCELED;
	} else if (err) {
		datblk_disk_gone(disk);
	}
	atomic_inc(&datblk_connects);
	wake_up_all(&disks_changed);
	return err;
}

/* datblk_disks_lock held */
static struct datblk_disk *datblk_disk_find(const char *name)
{
	char text[DISK_NAME_LEN];
	struct datblk_disk *disk;

	list_for_each_entry(disk, &disks, link) {
		snprintf(text, sizeof(text), "datblk%d", disk->id);
		if (!strcmp(text, name))
			return disk;
	}
	return NULL;
}

/*
 * Nobody opens the disk after this. A task that holds open_mutex is opening the disk, or closing it
 * and may be waiting for its I/O. datblk_disks_lock held.
 */
static int datblk_disk_forbid_open(struct datblk_disk *disk, bool force)
{
	int err = 0;

	if (force) {
		WRITE_ONCE(disk->closing, true);
		return 0;
	}
	if (!mutex_trylock(&disk->gendisk->open_mutex))
		return -EBUSY;
	if (disk_openers(disk->gendisk))
		err = -EBUSY;
	else
		WRITE_ONCE(disk->closing, true);
	mutex_unlock(&disk->gendisk->open_mutex);
	return err;
}

/* Returns the disk that the caller may remove, or -EAGAIN until datblk_connect() has removed it */
static struct datblk_disk *datblk_disk_claim(const char *name, bool force)
{
	struct datblk_disk *disk;
	int err = 0;

	mutex_lock(&datblk_disks_lock);
	disk = datblk_disk_find(name);
	if (!disk || (disk->added && disk->removing)) {
		err = -ENODEV;
	} else if (!disk->added) {
		err = force ? -EAGAIN : -EBUSY;
		if (force && !disk->removing)
			datblk_disk_abort(disk);
	} else {
		err = datblk_disk_forbid_open(disk, force);
	}
	if (!err)
		disk->removing = true;
	mutex_unlock(&datblk_disks_lock);
	return err ? ERR_PTR(err) : disk;
}

/*
 * Returns NULL if another task was adding the disk, and has removed it. Its I/O fails, so the wait
 * is short.
 */
static struct datblk_disk *datblk_disk_claim_added(const char *name, bool force)
{
	struct datblk_disk *disk;
	bool aborted = false;
	int seen;

	for (;;) {
		seen = atomic_read(&datblk_connects);
		disk = datblk_disk_claim(name, force);
		if (disk != ERR_PTR(-EAGAIN))
			return aborted && disk == ERR_PTR(-ENODEV) ? NULL : disk;
		aborted = true;
		if (wait_event_killable(disks_changed, atomic_read(&datblk_connects) != seen))
			return ERR_PTR(-EINTR);
	}
}

static int datblk_disconnect(char *line)
{
	char *name = strsep(&line, " \t\n");
	bool force = line && !strcmp(strim(line), "force");
	struct datblk_disk *disk;

	if (line && *strim(line) && !force)
		return -EINVAL;
	disk = datblk_disk_claim_added(name, force);
	if (IS_ERR_OR_NULL(disk))
		return PTR_ERR(disk);
	datblk_disk_drop(disk);
	/* The caller has the control device open */
	module_put(THIS_MODULE);
	return 0;
}

static int datblk_control_open(struct inode *inode, struct file *file)
{
	file->private_data = kvzalloc(RESULT_ROOM, GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int datblk_control_release(struct inode *inode, struct file *file)
{
	kvfree(file->private_data);
	return 0;
}

static ssize_t datblk_control_write(struct file *file, const char __user *from, size_t count,
				    loff_t *pos)
{
	char *buffer, *line, *word, *result = file->private_data;
	int err = -EINVAL;

	if (count >= LINE_MAX_BYTES)
		return -EINVAL;
	/* The next read is about this command */
	*result = 0;
	*pos = 0;
	buffer = memdup_user_nul(from, count);
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	line = strim(buffer);
	word = strsep(&line, " \t");
	if (line && !strcmp(word, "connect"))
		err = datblk_connect(line, result);
	else if (line && !strcmp(word, "disconnect"))
		err = datblk_disconnect(skip_spaces(line));
	else if (line && !strcmp(word, "discover"))
		err = datblk_discover(line, result, RESULT_ROOM);
	/* It may have a key */
	kfree_sensitive(buffer);
	return err ?: count;
}

static ssize_t datblk_control_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	const char *result = file->private_data;

	return simple_read_from_buffer(to, count, pos, result, strnlen(result, RESULT_ROOM));
}

static const struct file_operations datblk_control_fops = {
	.owner = THIS_MODULE,
	.open = datblk_control_open,
	.release = datblk_control_release,
	.write = datblk_control_write,
	.read = datblk_control_read,
};

static struct miscdevice datblk_control = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "datblk-control",
	.fops = &datblk_control_fops,
	.mode = 0600,
};

/*
 * The number of this machine: the parameter, or else derived from the UUID of its firmware, which
 * itself stays secret, or else random.
 */
static void datblk_choose_host(void)
{
	static const siphash_key_t key = { { DATBLK_MAGIC, DATBLK_VERSION } };
	const char *text = dmi_get_system_info(DMI_PRODUCT_UUID);
	uuid_t uuid = {};

	if (!datblk_host && text && !uuid_parse(text, &uuid) && !uuid_is_null(&uuid))
		datblk_host = siphash(&uuid, sizeof(uuid), &key);
	while (!datblk_host)
		datblk_host = get_random_u64();
	datblk_boot = get_random_u32();
}

static int __init datblk_client_init(void)
{
	int err;

	datblk_choose_host();
	/*
	 * Memory reclaim may wait for a disk that is reconnecting, so the work needs the rescuer of
	 * WQ_MEM_RECLAIM. The core and the drivers of storage adapters wait for queues of this kind
	 * only; a driver that waits for another one gets a warning, as it would with nvme-rdma.
	 */
	datblk_wq = alloc_workqueue("datblk", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!datblk_wq)
		return -ENOMEM;
	datblk_debugfs_init();
	err = misc_register(&datblk_control);
	if (err) {
		datblk_debugfs_exit();
		destroy_workqueue(datblk_wq);
	}
	return err;
}

/*
 * Each disk pins the module until it is removed, and so does each open file of it. What may still
 * run are the last instructions of datblk_disk_released() in other tasks.
 */
static void __exit datblk_client_exit(void)
{
	misc_deregister(&datblk_control);
	wait_event(disks_changed, !atomic_read(&datblk_disks_left));
	synchronize_rcu_tasks();
	datblk_debugfs_exit();
	destroy_workqueue(datblk_wq);
	ida_destroy(&ids);
}

module_init(datblk_client_init);
module_exit(datblk_client_exit);
MODULE_DESCRIPTION("Block device over DAT: client");
MODULE_LICENSE("GPL");
