/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An RDMA device, its limits, and its table from keys to their owners.
 */
#ifndef _KDAPL_OBJECT_DEVICE_H_
#define _KDAPL_OBJECT_DEVICE_H_

#include <linux/list.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include "base/base.h"

/* What the device and kDAPL allow; constant after the device was added */
struct kdapl_limits {
	u32 max_eps;
	u32 max_dto_per_ep;
	u32 max_qp_wr;
	u32 max_cqe;
	u32 max_evd_qlen;
	u32 max_iov;			/* segments of a send, a receive or a buffer of an SRQ */
	u32 max_iov_read;
	u32 max_iov_write;
	u32 max_rd_atom_in;		/* per EP, as target */
	u32 max_rd_atom_out;		/* per EP, as initiator */
	u32 max_srqs;
	u32 max_srq_wr;			/* max_recv_per_srq */
	u32 max_mr;			/* MRs for LMRs and RMRs; each PZ needs one more */
	u32 page_list_len;		/* pages of one fast registration */
	u32 max_block;			/* bytes of an LMR, at any offset in a page */
	u32 max_message;
	u32 max_rdma;
	bool ordered_inv;		/* an invalidation is executed after all earlier requests */
};

/**
 * struct kdapl_device - an RDMA device
 * @ibdev:  valid until remove() returns
 * @name:   copy of its name, which the core may change at any time; guarded by kdapl_device_mutex
 * @node:   on the list of devices; guarded by kdapl_device_mutex
 * @ias:    open IAs (kdapl_ia.dev_node); guarded by kdapl_device_mutex
 * @wait:   remove() waits here for @ias and for @notices to become empty
 * @handler: async events of the device (GID change, fatal, port active)
 * @gid_changed: bit 0: a GID was added or removed; addr_watch.c clears it
 * @fatal_work: handles a fatal error that the device reported
 * @keys:   LMRs and RMRs by the keys of their MRs, which a peer may invalidate by a send. The low
 *          byte of a key changes with each registration, and the rest identifies the MR
 * @limits: constant
 * @unfit:  why no IA can be opened on it, or NULL; constant
 * @notice_lock: guards @notices and @nnotices
 * @notices: ids of connections and attempts that ended; notice.c
 * @nnotices: their number
 * @leaving: remove() waits for @notices to become empty
 */
struct kdapl_device {
	struct ib_device *ibdev;
	char name[IB_DEVICE_NAME_MAX];
	struct list_head node;
	struct list_head ias;
	wait_queue_head_t wait;
	struct ib_event_handler handler;
	unsigned long gid_changed;
	struct work_struct fatal_work;
	struct xarray keys;
	struct kdapl_limits limits;
	const char *unfit;
	spinlock_t notice_lock;	/* notices, nnotices */
	struct list_head notices;
	u32 nnotices;
	bool leaving;
};

#define KDAPL_KEY_SHIFT	8

/* @obj: LMR or RMR; freed a grace period after kdapl_key_del(). Process context */
static inline int kdapl_key_add(struct kdapl_device *dev, u32 rkey, struct kdapl_obj *obj)
{
	return xa_err(xa_store(&dev->keys, rkey >> KDAPL_KEY_SHIFT, obj, GFP_KERNEL));
}

/* Called before the MR is deregistered. Process context */
static inline void kdapl_key_del(struct kdapl_device *dev, u32 rkey)
{
	xa_erase(&dev->keys, rkey >> KDAPL_KEY_SHIFT);
}

/* NULL: the key does not belong to kDAPL. Any context, inside an RCU read section */
static inline struct kdapl_obj *kdapl_key_find(struct kdapl_device *dev, u32 rkey)
{
	return xa_load(&dev->keys, rkey >> KDAPL_KEY_SHIFT);
}

#endif /* _KDAPL_OBJECT_DEVICE_H_ */
