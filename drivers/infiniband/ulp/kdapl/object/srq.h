/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared receive queues, and the CQs of endpoints.
 */
#ifndef _KDAPL_OBJECT_SRQ_H_
#define _KDAPL_OBJECT_SRQ_H_

#include <linux/hashtable.h>
#include <linux/mutex.h>
#include "base/base.h"

struct kdapl_evd;
struct kdapl_pz;
struct kdapl_polled_cq;
struct kdapl_srq;

/**
 * struct kdapl_cq - CQs of one EP, or of the EPs that share an SRQ and a receive EVD
 * @cq:       from ib_alloc_cq(), polled by the core in softirq; NULL unless the context is
 *            softirq
 * @recv:     CQ of receives that kDAPL polls; NULL: @cq is also for receives
 * @request:  CQ of requests that kDAPL polls, may be the same; NULL: @cq is for requests
 * @node:     on srq->cqs, guarded by srq->mutex; unused without an SRQ
 * @recv_evd: EVD of the EPs that share it
 * @nrecv:    entries reserved for receives, the upper limit for the size of the SRQ
 * @room:     entries left for the requests of further EPs
 * @shared:   EPs of the SRQ may join it; constant
 * @users:    number of EPs that use it
 * @kept:     the driver has not destroyed a QP, so the CQs cannot be destroyed
 */
struct kdapl_cq {
	struct ib_cq *cq;
	struct kdapl_polled_cq *recv;
	struct kdapl_polled_cq *request;
	struct list_head node;
	struct kdapl_evd *recv_evd;
	u32 nrecv;
	u32 room;
	u32 users;
	bool shared;
	bool kept;
};

#define KDAPL_SRQ_HASH_BITS	8

/* Slots that dat_srq_resize() added; freed with the SRQ */
struct kdapl_srq_more {
	struct kdapl_pool pool;
	struct kdapl_srq *srq;
	struct kdapl_srq_more *next;
};

/**
 * struct kdapl_srq - shared receive queue
 * @obj:   header; obj.users counts EPs
 * @srq:   NULL if the SRQ is orphaned; posts read it under RCU; cleared under @mutex
 * @pool:  the slots that it was created with
 * @more:  more slots, which a post uses if @pool is empty; added in front, under @mutex
 * @held:  free slots that are withheld after the size was reduced, linked by ev.next;
 *         under @mutex
 * @nheld: their number
 * @depth: maximum number of outstanding buffers; written under @mutex
 * @zone:  pz->zone << KDAPL_ZONE_SHIFT, compared with descriptors
 * @need_write: zone and privilege that the memory of a receive needs
 * @state: DAT_SRQ_STATE; written under @mutex while the device exists
 * @mutex: guards @cqs, writes to @eps, the size, and the low watermark
 * @eps:   EPs by the value of their QP pointer; RCU
 * @max_iov: maximum number of segments of a buffer
 * @pz:    zone of the buffers; the SRQ counts as a user of it
 * @low_watermark: the value that was set last
 * @lw_armed: it has not raised its event yet
 * @lw_reached: the device reported that it was reached (bit 0); any context
 * @failed: the device reported that the SRQ failed (bit 0); any context
 * @lw_work: handles @lw_reached and @failed; checks the number of available buffers at
 *         intervals while @lw_armed
 * @lost:  completions whose EP was destroyed; their buffers stay outstanding
 */
struct kdapl_srq {
	struct kdapl_obj obj;
	struct ib_srq __rcu *srq;
	u32 zone;
	u32 need_write;
	u32 max_iov;
	struct kdapl_pool pool;
	const struct ib_recv_wr *bad_recv;	/* output argument of the verbs call, not used */
	struct kdapl_pz *pz;
	DAT_SRQ_STATE state;
	u32 low_watermark;
	bool lw_armed;
	unsigned long lw_reached;
	unsigned long failed;
	struct delayed_work lw_work;
	struct kdapl_srq_more *more;
	struct kdapl_event *held;
	u32 nheld;
	u32 depth;
	struct mutex mutex;	/* cqs, writes to eps, size, lw_armed */
	struct list_head cqs;
	DECLARE_HASHTABLE(eps, KDAPL_SRQ_HASH_BITS);
	atomic64_t lost;
};

/* Bucket in kdapl_srq.eps. The QPs of a driver are at least 1 KiB apart */
static __always_inline u32 kdapl_srq_bucket(const struct ib_qp *qp)
{
	return ((unsigned long)qp >> 10) & (BIT(KDAPL_SRQ_HASH_BITS) - 1);
}

/* Number of slots in a state; any context */
static inline u32 kdapl_srq_count(const struct kdapl_srq *srq, enum kdapl_slot_state state)
{
	const struct kdapl_srq_more *more;
	u32 n = kdapl_pool_count(&srq->pool, state);

	/* Pairs with the release that publishes it */
	for (more = smp_load_acquire(&srq->more); more; more = more->next)
		n += kdapl_pool_count(&more->pool, state);
	return n;
}

/* Buffers that the device has, and those whose events are queued; none is counted twice */
static inline void kdapl_srq_tally(const struct kdapl_srq *srq, u32 *posted, u32 *done)
{
	const struct kdapl_srq_more *more;

	*posted = 0;
	*done = 0;
	kdapl_pool_tally(&srq->pool, posted, done);
	/* Pairs with the release that publishes it */
	for (more = smp_load_acquire(&srq->more); more; more = more->next)
		kdapl_pool_tally(&more->pool, posted, done);
}

static inline struct kdapl_srq *to_kdapl_srq(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_srq, obj);
}

#endif /* _KDAPL_OBJECT_SRQ_H_ */
