// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs of the client: /sys/kernel/debug/datblk/datblkN/queues has a line for each queue of a
 * disk. Called when a disk is added and removed, in process context.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "client.h"

static struct dentry *datblk_debugfs_root;

static void datblk_queue_show(struct seq_file *m, struct datblk_queue *queue)
{
	spin_lock_bh(&queue->lock);
	seq_printf(m, "queue=%u commands=%llu messages=%llu answers=%llu",
		   queue->index, queue->commands, queue->posted, queue->answers);
	seq_printf(m, " busy=%u waiting=%u sending=%u", queue->busy, queue->waiting,
		   queue->sending);
	seq_printf(m, " path=%u", (unsigned int)(READ_ONCE(queue->path) - queue->remote->paths));
	if (queue->pinging)
		seq_printf(m, " ping=%ums", jiffies_to_msecs(jiffies - queue->pinged));
	spin_unlock_bh(&queue->lock);
	seq_putc(m, '\n');
}

static int queues_show(struct seq_file *m, void *v)
{
	struct datblk_remote *remote = m->private;
	unsigned int i;

	for (i = 0; i < remote->options.queues; i++)
		datblk_queue_show(m, &remote->queues[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(queues);

/**
 * datblk_debugfs_add - show the queues of a disk
 * @disk: a disk whose queues have their memory, and keep it until datblk_debugfs_remove()
 *
 * Context: process.
 */
void datblk_debugfs_add(struct datblk_disk *disk)
{
	disk->debugfs = debugfs_create_dir(disk->gendisk->disk_name, datblk_debugfs_root);
	debugfs_create_file("queues", 0400, disk->debugfs, disk->remote,
			    &queues_fops);
}

/**
 * datblk_debugfs_remove - undo datblk_debugfs_add()
 * @disk: the disk; nobody reads its files when the call returns
 *
 * Context: process.
 */
void datblk_debugfs_remove(struct datblk_disk *disk)
{
	debugfs_remove(disk->debugfs);
}

/* Creates the directory of the client. Process context, module load */
void __init datblk_debugfs_init(void)
{
	datblk_debugfs_root = debugfs_create_dir("datblk", NULL);
}

/* Removes it. Process context, module unload, no disk is left */
void datblk_debugfs_exit(void)
{
	debugfs_remove(datblk_debugfs_root);
}
