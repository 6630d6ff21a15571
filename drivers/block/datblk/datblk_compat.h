/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel differences of the block layer, for datblk. The Makefile force-includes this header, as
 * Kbuild does kdapl_compat.h, which has the rest. The sources are written for the newest kernel.
 */
#ifndef _DATBLK_COMPAT_H_
#define _DATBLK_COMPAT_H_

#include <linux/version.h>

/* 7.1 replaced bdev_nonrot() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define bdev_rot(bdev)	(!bdev_nonrot(bdev))
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0) */

/*
 * 6.9 and 6.11 made the limits and the features of a queue arguments of
 * blk_mq_alloc_disk(). Before, functions set them one by one.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define blk_features_t		unsigned int
#define BLK_FEAT_WRITE_CACHE	0x1
#define BLK_FEAT_FUA		0x2
#define BLK_FEAT_ROTATIONAL	0x4
#define BLK_FEAT_STABLE_WRITES	0x8
#define datblk_alloc_disk(set, lim, feat, data)					\
	({									\
		struct gendisk *__disk = blk_mq_alloc_disk(set, data);		\
		const struct queue_limits *__lim = (lim);			\
		unsigned int __feat = (feat);					\
										\
		if (!IS_ERR(__disk))						\
			datblk_set_limits(__disk->queue, __lim, __feat);	\
		__disk;								\
	})
#define datblk_set_limits(q, lim, feat)						\
	do {									\
		blk_queue_logical_block_size(q, (lim)->logical_block_size);	\
		blk_queue_physical_block_size(q, (lim)->physical_block_size);	\
		blk_queue_io_min(q, (lim)->io_min);				\
		blk_queue_max_hw_sectors(q, (lim)->max_hw_sectors);		\
		blk_queue_max_segments(q, (lim)->max_segments);			\
		blk_queue_virt_boundary(q, (lim)->virt_boundary_mask);		\
		blk_queue_max_discard_sectors(q, (lim)->max_hw_discard_sectors); \
		(q)->limits.discard_granularity = (lim)->discard_granularity;	\
		blk_queue_max_write_zeroes_sectors(q, (lim)->max_write_zeroes_sectors); \
		blk_queue_write_cache(q, (feat) & BLK_FEAT_WRITE_CACHE, (feat) & BLK_FEAT_FUA); \
		if (!((feat) & BLK_FEAT_ROTATIONAL))				\
			blk_queue_flag_set(QUEUE_FLAG_NONROT, q);		\
		if ((feat) & BLK_FEAT_STABLE_WRITES)				\
			blk_queue_flag_set(QUEUE_FLAG_STABLE_WRITES, q);	\
	} while (0)
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) */

/* 6.5 gave ->open() the disk instead of the block device, and a type for the mode */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define blk_mode_t		fmode_t
#define DATBLK_OPEN(name)						\
	static int name##_bdev(struct block_device *bdev, fmode_t mode)	\
	{								\
		return name(bdev->bd_disk, mode);			\
	}
#define DATBLK_OPEN_OP(name)	name##_bdev
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0) */

/* 6.11 added them */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define blk_queue_disable_discard(q)		blk_queue_max_discard_sectors(q, 0)
#define blk_queue_disable_write_zeroes(q)	blk_queue_max_write_zeroes_sectors(q, 0)
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) */

/* 6.16 removed the queue from blk_rq_map_sg(), because the request knows it */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define datblk_map_sg(rq, sgl)	blk_rq_map_sg((rq)->q, rq, sgl)
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0) */

/* 6.14 merges requests always, and removed the flag */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define DATBLK_MQ_FLAGS		BLK_MQ_F_SHOULD_MERGE
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0) */

#endif /* _DATBLK_COMPAT_H_ */
