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

/* The last argument of create_cq(): a driver reads user-space attributes from it since 6.11 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define kdapl_create_cq_arg	ib_udata
#else
#define kdapl_create_cq_arg	uverbs_attr_bundle
#endif /* LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) */

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
