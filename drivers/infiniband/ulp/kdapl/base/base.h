/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Used by all layers: workqueues, grace periods, module parameters, pages. Handles, slots,
 * pools and statuses have headers of their own, which this one includes. Set up at module
 * load; each function says in which context it may be called.
 */
#ifndef _KDAPL_BASE_H_
#define _KDAPL_BASE_H_

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include "handle.h"
#include "pool.h"
#include "slot.h"
#include "status.h"

struct iommu_domain;

/* All are WQ_MEM_RECLAIM and unbound; see kdapl_common_init() */
extern struct workqueue_struct *kdapl_wq;	/* may block: connections, regions, devices */
extern struct workqueue_struct *kdapl_evd_wq;	/* never blocks: delivery, polled CQs */
extern struct workqueue_struct *kdapl_upcall_wq;	/* upcalls that may sleep */
extern struct workqueue_struct *kdapl_notice_wq;	/* waits for the CM, rarely for a minute */

/* Factor for internal timeouts, for test systems that are slower than hardware */
extern unsigned int kdapl_timeout_scale;

/* Maximum number of pages of one registration, even if the device allows more */
extern unsigned int kdapl_max_reg_pages;

/* Number of grace periods that kdapl_wait_grace_period() has waited for */
extern atomic_t kdapl_grace_periods;

void kdapl_wait_grace_period(void);
int kdapl_common_init(void);
void kdapl_common_exit(void);

#define KDAPL_PRIV_WRITE (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

int kdapl_page_init(void);
void kdapl_page_exit(void);
int kdapl_page_check_reserved(unsigned long pfn, DAT_MEM_PRIV_FLAGS priv);
bool kdapl_va_writable(const void *va, bool image);
bool kdapl_sg_bounced(struct device *dev, struct iommu_domain *domain, struct scatterlist *sg,
		      unsigned int npages);
bool kdapl_sg_needs_sync(struct ib_device *ibdev, struct scatterlist *sg, unsigned int n,
			 unsigned int npages);

/* Returns 0 if a page may be registered; -EFAULT if it is not memory; -EACCES if it is read-only */
static inline int kdapl_page_check(unsigned long pfn, DAT_MEM_PRIV_FLAGS priv)
{
	if (likely(pfn_valid(pfn) && !PageReserved(pfn_to_page(pfn))))
		return 0;
	return kdapl_page_check_reserved(pfn, priv);
}

static inline unsigned long kdapl_timeout_ms(unsigned int ms)
{
	return msecs_to_jiffies(min_t(u64, (u64)ms * (kdapl_timeout_scale ?: 1), INT_MAX));
}

#endif /* _KDAPL_BASE_H_ */
