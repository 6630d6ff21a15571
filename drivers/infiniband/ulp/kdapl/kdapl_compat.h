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

#endif /* _KDAPL_COMPAT_H_ */
