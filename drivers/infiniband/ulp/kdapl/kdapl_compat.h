/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels, except those of the block layer.
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

/* 6.18 made this lock optional; older RT kernels always have it. See kdapl_softirq_polls() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define CONFIG_PREEMPT_RT_NEEDS_BH_LOCK	1
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0) */

/*
 * The core's softirq calls irq_poll_complete() before it arms a CQ again, and ib_free_cq() waits
 * only for irq_poll_complete(). So the softirq that has just ended a drain could arm freed memory.
 * tools/kdapl/upstream has a patch. Until then irq_poll_disable() keeps further runs from starting,
 * and the caller waits for a grace period, which waits for the current run, because a softirq is a
 * read-side critical section. The poll must be enabled again, or ib_free_cq() would never return;
 * IRQ_POLL_F_DISABLE keeps a late interrupt from starting a run before ib_free_cq() disables the
 * poll itself. A work item that polls is not affected.
 */
#define kdapl_stop_cq(cq)						\
	do {								\
		struct ib_cq *__cq = (cq);				\
									\
		if (__cq->poll_ctx != IB_POLL_SOFTIRQ)			\
			break;						\
		irq_poll_disable(&__cq->iop);				\
		set_bit(IRQ_POLL_F_DISABLE, &__cq->iop.state);		\
	} while (0)
#define kdapl_free_stopped_cq(cq)					\
	do {								\
		struct ib_cq *__cq = (cq);				\
									\
		if (__cq->poll_ctx == IB_POLL_SOFTIRQ)			\
			irq_poll_enable(&__cq->iop);			\
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

#endif /* _KDAPL_COMPAT_H_ */
