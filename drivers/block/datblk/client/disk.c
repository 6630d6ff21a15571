// SPDX-License-Identifier: GPL-2.0
/*
 * A disk of the client: its queue limits, its block device and its attributes in
 * /sys/block/datblkN/datblk. Process context.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "client.h"

/* The client sends a PING to a server that has not answered a command for this long */
#define TIMEOUT		(5 * HZ)

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

	gendisk = datblk_alloc_disk(&disk->set, &lim, datblk_disk_features(geo), disk);
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

static int datblk_disk_alloc_tags(struct datblk_disk *disk)
{
	const struct datblk_remote *remote = disk->remote;
	struct blk_mq_tag_set *set = &disk->set;

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

/**
 * datblk_disk_make - allocate the memory and the gendisk of a disk
 * @disk: a disk that has logged in for the first time
 *
 * Context: process. If the server has other disks, the caller does not hold remote->lock.
 * Return: 0 or a negative error code.
 */
int datblk_disk_make(struct datblk_disk *disk)
{
	int err;

	disk->geo = disk->next_geo;
	uuid_copy(&disk->uuid, &disk->geo.uuid);
	disk->good_at = jiffies;
	err = datblk_resubmit_alloc(disk) ?: datblk_disk_alloc_tags(disk);
	if (err)
		return err;
	err = datblk_disk_alloc_gendisk(disk);
	if (err)
		blk_mq_free_tag_set(&disk->set);
	return err;
}

/**
 * datblk_disk_announce - add a disk to the block layer
 * @disk: a disk that is live
 *
 * Context: process.
 * Return: 0 or a negative error code.
 */
int datblk_disk_announce(struct datblk_disk *disk)
{
	return device_add_disk(NULL, disk->gendisk, disk_groups);
}

/**
 * datblk_remote_free - free a server and the memory of its queues
 * @remote: a server whose session is closed, or NULL
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
	kvfree(disk->repeats);
	vfree(disk->kept.ring);
	datblk_key_free(disk->options.key);
	kfree(disk);
}
