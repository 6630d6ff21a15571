/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel differences, all of them.
 *
 * Sources are written for the newest kernel that Debian offers; this header,
 * force-included by the top-level Kbuild of the out-of-tree build, gives older
 * ones its interfaces. One section for each difference: what changed and when.
 * Inside a kernel tree the file is not copied.
 */
#ifndef _KDAPL_COMPAT_H_
#define _KDAPL_COMPAT_H_

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "kDAPL needs Linux 6.1 or newer"
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) */

/*
 * rxe of 6.1 never raises IB_EVENT_QP_LAST_WQE_REACHED, rxe of 6.12 does: on
 * the older kernel the drain of an SRQ EP would wait for nothing.
 * Milliseconds.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define KDAPL_LAST_WQE_MS	100
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0) */

/*
 * The core's softirq calls irq_poll_complete() before it arms a CQ again, and ib_free_cq() waits
 * only for irq_poll_complete(). So the softirq that has just ended a drain could arm freed
 * memory. tools/kdapl/upstream has a patch. Until then irq_poll_disable() keeps further runs from
 * starting, and the caller waits for a grace period, which waits for the present run, because a
 * softirq is a read-side critical section. The poll must be enabled again, or ib_free_cq() would
 * wait for ever; IRQ_POLL_F_DISABLE keeps a late interrupt from starting a run before
 * ib_free_cq() disables the poll itself.
 */
#define kdapl_stop_cq(cq)						\
	do {								\
		struct irq_poll *__iop = &(cq)->iop;			\
									\
		irq_poll_disable(__iop);				\
		set_bit(IRQ_POLL_F_DISABLE, &__iop->state);		\
	} while (0)
#define kdapl_free_stopped_cq(cq)					\
	do {								\
		struct ib_cq *__cq = (cq);				\
									\
		irq_poll_enable(&__cq->iop);				\
		ib_free_cq(__cq);					\
	} while (0)

/* The last argument of create_cq(): a driver reads user-space attributes from it since 6.11 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define kdapl_create_cq_arg	ib_udata
#else
#define kdapl_create_cq_arg	uverbs_attr_bundle
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) */

/* 6.3 added it; devices whose DMA addresses are virtual addresses use it */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define ib_virt_dma_to_ptr(dma_addr)	((void *)(uintptr_t)(dma_addr))
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0) */

/* 6.13 replaced hrtimer_init() and the assignment of the function */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define hrtimer_setup(timer, callback, clock_id, mode)			\
	do {								\
		struct hrtimer *__timer = (timer);			\
									\
		hrtimer_init(__timer, clock_id, mode);			\
		__timer->function = (callback);				\
	} while (0)
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0) */

/* 6.16 renamed it */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define timer_destroy_on_stack	destroy_timer_on_stack
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0) */

/* 6.17 added the DMA handle to ib_device_ops.reg_user_mr: the fake device's function loses it */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define fake_reg_user_mr(pd, start, length, virt, access, dmah, udata)	\
	fake_reg_user_mr(pd, start, length, virt, access, udata)
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0) */

/* datblk: 7.1 replaced bdev_nonrot() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define bdev_rot(bdev)	(!bdev_nonrot(bdev))
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0) */

/*
 * datblk: 6.9 and 6.11 made the limits and the features of a queue arguments of
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

/* datblk: 6.5 gave ->open() the disk instead of the block device, and a type for the mode */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define blk_mode_t		fmode_t
#define DATBLK_OPEN(name)						\
	static int name##_bdev(struct block_device *bdev, fmode_t mode)	\
	{								\
		return name(bdev->bd_disk, mode);			\
	}
#define DATBLK_OPEN_OP(name)	name##_bdev
#else
#define DATBLK_OPEN(name)
#define DATBLK_OPEN_OP(name)	name
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0) */

/* datblk: 6.11 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define blk_queue_disable_discard(q)		blk_queue_max_discard_sectors(q, 0)
#define blk_queue_disable_write_zeroes(q)	blk_queue_max_write_zeroes_sectors(q, 0)
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) */

/* datblk: 6.16 removed the queue, which the request knows */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define datblk_map_sg(rq, sgl)	blk_rq_map_sg((rq)->q, rq, sgl)
#else
#define datblk_map_sg(rq, sgl)	blk_rq_map_sg(rq, sgl)
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0) */

/* 6.14 merges requests always, and removed the flag */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define DATBLK_MQ_FLAGS		BLK_MQ_F_SHOULD_MERGE
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0) */

#endif /* _KDAPL_COMPAT_H_ */
