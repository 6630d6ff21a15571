// SPDX-License-Identifier: GPL-2.0
/*
 * A disk of the client: its queue limits, its block device and its attributes in
 * /sys/block/datblkN/datblk. Process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "client.h"

/* The client sends a PING to a server that has not answered a command for this long */
#define TIMEOUT		(5 * HZ)
/* A removal fails the requests that have not completed after this time */
#define REMOVAL		(30 * HZ)
/* The first connection waits for the I/O of earlier ones */
#define BUSY_TIMEOUT	(10 * HZ)
#define BUSY_MS		100

#ifndef DATBLK_MQ_FLAGS
#define DATBLK_MQ_FLAGS	0
#endif
#ifndef DATBLK_OPEN_OP
#define DATBLK_OPEN_OP(name)	name
#endif
#ifndef datblk_alloc_disk
static struct gendisk *datblk_alloc_disk(struct blk_mq_tag_set *set, struct queue_limits *lim,
					 blk_features_t features, void *data)
{
	lim->features = features;
	return blk_mq_alloc_disk(set, lim, data);
}
#endif

static const char * const states[] = {
	[DATBLK_CONNECTING] = "connecting",
	[DATBLK_LIVE] = "live",
	[DATBLK_RECOVERING] = "recovering",
	[DATBLK_FAILING] = "failing",
	[DATBLK_DEAD] = "dead",
};

static struct datblk_disk *datblk_disk_of(struct device *dev)
{
	return dev_to_disk(dev)->private_data;
}

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", states[READ_ONCE(datblk_disk_of(dev)->state)]);
}
static DEVICE_ATTR_RO(state);

static ssize_t address_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct datblk_disk *disk = datblk_disk_of(dev);

	return sysfs_emit(page, "%s %u\n", datblk_path(disk->remote)->address,
			  disk->remote->options.qual);
}
static DEVICE_ATTR_RO(address);

static ssize_t ia_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", datblk_path(datblk_disk_of(dev)->remote)->ia_name);
}
static DEVICE_ATTR_RO(ia);

static ssize_t paths_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return datblk_paths_show(datblk_disk_of(dev)->remote, page);
}
static DEVICE_ATTR_RO(paths);

static ssize_t export_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", datblk_disk_of(dev)->options.device);
}
static DEVICE_ATTR_RO(export);

static ssize_t queues_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", datblk_disk_of(dev)->remote->options.queues);
}
static DEVICE_ATTR_RO(queues);

static ssize_t policy_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct datblk_remote *remote = datblk_disk_of(dev)->remote;

	return sysfs_emit(page, "%s\n", remote->options.round_robin ? "round-robin" : "failover");
}
static DEVICE_ATTR_RO(policy);

static ssize_t depth_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", datblk_disk_of(dev)->remote->limits.depth);
}
static DEVICE_ATTR_RO(depth);

static ssize_t recoveries_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(datblk_disk_of(dev)->recoveries));
}
static DEVICE_ATTR_RO(recoveries);

static ssize_t errors_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", (u32)atomic_read(&datblk_disk_of(dev)->errors));
}
static DEVICE_ATTR_RO(errors);

/* Why there is no connection */
static ssize_t reason_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", READ_ONCE(datblk_disk_of(dev)->reason) ?: "");
}
static DEVICE_ATTR_RO(reason);

/* udev makes the names in /dev/disk/by-id from it */
static ssize_t wwid_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "uuid.%pUb\n", &datblk_disk_of(dev)->uuid);
}
static DEVICE_ATTR_RO(wwid);

static struct attribute *disk_attrs[] = {
	&dev_attr_state.attr, &dev_attr_reason.attr, &dev_attr_address.attr, &dev_attr_ia.attr,
	&dev_attr_export.attr, &dev_attr_queues.attr, &dev_attr_depth.attr,
	&dev_attr_recoveries.attr, &dev_attr_errors.attr, &dev_attr_paths.attr,
	&dev_attr_policy.attr, NULL,
};

static const struct attribute_group disk_group = {
	.name = "datblk",
	.attrs = disk_attrs,
};

static struct attribute *wwid_attrs[] = { &dev_attr_wwid.attr, NULL };

static const struct attribute_group wwid_group = { .attrs = wwid_attrs };

static const struct attribute_group *disk_groups[] = { &disk_group, &wwid_group, NULL };

/* open_mutex of the gendisk held */
static int datblk_disk_opened(struct gendisk *gendisk, blk_mode_t mode)
{
	struct datblk_disk *disk = gendisk->private_data;

	if (READ_ONCE(disk->closing))
		return -ENXIO;
	if (!disk_openers(gendisk))
		datblk_writes_opened(&disk->writes);
	return 0;
}

#ifdef DATBLK_OPEN
DATBLK_OPEN(datblk_disk_opened);
#endif

/* The last reference to the disk is gone */
static void datblk_disk_released(struct gendisk *gendisk)
{
	datblk_disk_gone(gendisk->private_data);
}

static const struct block_device_operations disk_fops = {
	.owner = THIS_MODULE,
	.open = DATBLK_OPEN_OP(datblk_disk_opened),
	.free_disk = datblk_disk_released,
};

static blk_features_t datblk_disk_features(const struct datblk_geometry *geo)
{
	blk_features_t features = 0;

	if (geo->flags & DATBLK_WRITE_CACHE)
		features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	if (geo->flags & DATBLK_ROTATIONAL)
		features |= BLK_FEAT_ROTATIONAL;
	if (geo->flags & DATBLK_STABLE_WRITES)
		features |= BLK_FEAT_STABLE_WRITES;
	return features;
}

/*
 * Only the first and the last page of a request may be used in part, because the pages are
 * registered as one region.
 */
static int datblk_disk_alloc_gendisk(struct datblk_disk *disk)
{
	const struct datblk_limits *limits = &disk->remote->limits;
	const struct datblk_geometry *geo = &disk->geo;
	struct queue_limits lim = {
		.logical_block_size = geo->logical,
		.physical_block_size = geo->physical,
		.io_min = geo->physical,
		.max_hw_sectors = limits->io_max / DATBLK_SECTOR,
		.max_segments = datblk_pages(limits),
		.virt_boundary_mask = PAGE_SIZE - 1,
		.max_hw_discard_sectors = geo->discard_sectors,
		.discard_granularity = geo->discard_granularity,
		.max_write_zeroes_sectors = geo->zeroes_sectors,
	};
	struct gendisk *gendisk;

	gendisk = datblk_alloc_disk(&disk->remote->set, &lim, datblk_disk_features(geo), disk);
	if (IS_ERR(gendisk))
		return PTR_ERR(gendisk);
	gendisk->fops = &disk_fops;
	gendisk->private_data = disk;
	snprintf(gendisk->disk_name, sizeof(gendisk->disk_name), "datblk%d", disk->id);
	set_capacity(gendisk, geo->capacity);
	set_disk_ro(gendisk, geo->flags & DATBLK_READONLY);
	disk->gendisk = gendisk;
	return 0;
}

static int datblk_remote_alloc_tags(struct datblk_remote *remote)
{
	struct blk_mq_tag_set *set = &remote->set;

	set->ops = &datblk_mq_ops;
	set->nr_hw_queues = remote->options.queues;
	set->queue_depth = remote->limits.depth;
	set->numa_node = NUMA_NO_NODE;
	set->timeout = TIMEOUT;
	set->flags = DATBLK_MQ_FLAGS;
	set->cmd_size = sizeof(struct datblk_pdu) +
			datblk_pages(&remote->limits) * sizeof(struct scatterlist);
	return blk_mq_alloc_tag_set(set);
}

/*
 * The disk goes live before it is added, because adding it reads the partition table. The block
 * layer calls datblk_disk_released() only for a disk that was added.
 */
static int datblk_disk_add(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;
	int err = datblk_remote_alloc_tags(remote);

	if (err)
		return err;
	err = datblk_disk_alloc_gendisk(disk);
	if (err)
		goto free_set;
	datblk_session_live(remote);
	err = device_add_disk(NULL, disk->gendisk, disk_groups);
	if (!err) {
		datblk_debugfs_add(disk);
		return 0;
	}
	WRITE_ONCE(disk->deleting, true);
	datblk_session_end(remote);
	put_disk(disk->gendisk);
	disk->gendisk = NULL;
free_set:
	blk_mq_free_tag_set(&remote->set);
	return err;
}

/* Tries each path once. Stops at the first one over which the server says that it still has I/O */
static int datblk_disk_try_paths(struct datblk_disk *disk, bool print_busy)
{
	struct datblk_remote *remote = disk->remote;
	bool more;
	int err;

	do {
		err = datblk_session_open(remote);
		if (!err)
			return 0;
		if (err != -EBUSY || print_busy)
			pr_err("cannot connect to %s, device %s: %s\n",
			       datblk_path(remote)->address, disk->options.device, remote->reason);
		more = datblk_path_next(remote, err, remote->reason);
	} while (more && !READ_ONCE(disk->deleting) && !fatal_signal_pending(current));
	return err;
}

/* The server refuses the login while earlier connections of this host have I/O */
static int datblk_disk_open_session(struct datblk_disk *disk)
{
	unsigned long end = jiffies + BUSY_TIMEOUT;
	unsigned int tried;
	bool last;
	int err;

	do {
		tried = disk->remote->tried;
		last = time_after_eq(jiffies, end);
		err = datblk_disk_try_paths(disk, last);
		/* Paths that do not answer have taken that time */
		if (disk->remote->tried != tried) {
			end = jiffies + BUSY_TIMEOUT;
			last = false;
		}
	} while (err == -EBUSY && !last && !READ_ONCE(disk->deleting) &&
		 !msleep_interruptible(BUSY_MS));
	return err;
}

/**
 * datblk_disk_connect - connect a disk for the first time, and announce it
 * @disk: a disk with its options and its number
 *
 * Context: process.
 * Return: 0 or a negative error code; then the caller frees the disk.
 */
int datblk_disk_connect(struct datblk_disk *disk)
{
	struct datblk_remote *remote = disk->remote;
	int err = datblk_paths_limit_io(remote) ?: datblk_disk_open_session(disk);

	if (err)
		return err;
	disk->good_at = jiffies;
	disk->geo = disk->next_geo;
	uuid_copy(&disk->uuid, &disk->geo.uuid);
	err = datblk_resubmit_alloc(disk) ?: datblk_disk_add(disk);
	if (err)
		datblk_session_close(remote);
	return err;
}

/**
 * datblk_disk_abort - let the requests of a disk that is being added fail
 * @disk: the disk; another task is in datblk_disk_connect()
 *
 * Adding the disk reads its partition table, which may take forever.
 *
 * Context: process.
 */
void datblk_disk_abort(struct datblk_disk *disk)
{
	WRITE_ONCE(disk->deadline, jiffies);
	WRITE_ONCE(disk->deleting, true);
	datblk_session_lost(disk->remote);
	/* It may wait until it connects again, or may have looked at deleting before */
	if (READ_ONCE(disk->state) != DATBLK_CONNECTING)
		mod_delayed_work(datblk_wq, &disk->remote->recover, 0);
}

/**
 * datblk_disk_removal_expired - has a removal waited long enough for the requests of its disk?
 * @disk: the disk
 *
 * Context: any.
 * Return: true: end the session, so that the requests fail.
 */
bool datblk_disk_removal_expired(const struct datblk_disk *disk)
{
	return READ_ONCE(disk->deleting) && time_after(jiffies, READ_ONCE(disk->deadline));
}

/**
 * datblk_disk_remove - remove a disk
 * @disk: a disk that nobody else removes; put_disk() frees it when nobody has it open
 *
 * Dirty data is written first, if there is a connection.
 *
 * Context: process.
 */
void datblk_disk_remove(struct datblk_disk *disk)
{
	WRITE_ONCE(disk->deadline, jiffies + REMOVAL);
	WRITE_ONCE(disk->deleting, true);
	/* Without a connection, let requests fail now */
	if (READ_ONCE(disk->state) != DATBLK_LIVE)
		mod_delayed_work(datblk_wq, &disk->remote->recover, 0);
	datblk_debugfs_remove(disk);
	del_gendisk(disk->gendisk);
	datblk_session_end(disk->remote);
	blk_mq_free_tag_set(&disk->remote->set);
}

/**
 * datblk_remote_free - free what describes a server, and the memory of its queues
 * @remote: a server whose session is closed; NULL: nothing happens
 *
 * Context: process.
 */
void datblk_remote_free(struct datblk_remote *remote)
{
	unsigned int i;

	for (i = 0; remote && remote->queues && i < remote->options.queues; i++)
		datblk_queue_free(&remote->queues[i]);
	if (remote)
		kvfree(remote->queues);
	kfree(remote);
}

/**
 * datblk_disk_free - free the memory of a disk
 * @disk: a disk whose session is closed, and which the block layer does not know
 *
 * Context: process.
 */
void datblk_disk_free(struct datblk_disk *disk)
{
	datblk_remote_free(disk->remote);
	kvfree(disk->repeats);
	vfree(disk->kept.ring);
	datblk_key_free(disk->options.key);
	kfree(disk);
}
