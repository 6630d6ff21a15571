/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The null device: an RDMA device whose posts only record the work request.
 *
 * It exists to measure the code above it. It has one RoCE port on a net device,
 * so that the kernel's connection manager serves it like any other device.
 * Management datagrams return to their sender's receive queue, so both ends of
 * a connection are on this device and it never sends a packet. A post to an RC
 * queue stays there until null_complete_all() is called or the QP of the queue
 * enters ERROR. The device never moves a byte of data.
 *
 * The device is for one CPU: posts to RC queues take no lock, so the caller must
 * not run two of them at once.
 */
#ifndef _KDAPL_BENCH_NULL_H_
#define _KDAPL_BENCH_NULL_H_

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#define NULL_MAX_SGE		32
#define NULL_MAX_QP_WR		8192
#define NULL_MAX_CQE		32767
#define NULL_PAGE_LIST		512
#define NULL_MAX_RD_ATOM	16
#define NULL_GIDS		16
#define NULL_GSI_QPN		1	/* fixed by the specification */

/**
 * struct null_wqe - one posted work request
 * @cqe:      the cqe of its completion
 * @addr:     for management datagrams, the virtual address of a receive buffer
 * @length:   of @addr
 * @opcode:   enum ib_wc_opcode
 * @signalled: true if it generates a completion on success
 */
struct null_wqe {
	struct ib_cqe *cqe;
	void *addr;
	u32 length;
	u8 opcode;
	bool signalled;
};

struct null_queue {
	struct null_wqe *wqe;
	u32 mask;
	u32 head;			/* oldest outstanding */
	u32 tail;			/* number of posts so far */
};

struct null_cq {
	struct ib_cq ibcq;
	struct ib_wc *wc;
	u32 mask;
	u32 head;
	u32 tail;
	bool armed;
};

struct null_srq {
	struct ib_srq ibsrq;
	struct null_queue rq;
};

/**
 * struct null_qp - a queue pair
 * @slow:  true if posts need a check: not RC, not in RTS, or connected to itself
 * @dest:  number of the QP it is connected to
 * @node:  null_dev.qps
 */
struct null_qp {
	struct ib_qp ibqp;
	bool slow;
	enum ib_qp_state state;
	u32 dest;
	struct null_queue sq;
	struct null_queue rq;
	struct list_head node;
};

struct null_ah {
	struct ib_ah ibah;
	union ib_gid sgid;
	union ib_gid dgid;
};

struct null_pd {
	struct ib_pd ibpd;
};

/**
 * struct null_dev - the device
 * @lock:     guards the rings of CQs and of slow queues; interrupts off
 * @mutex:    guards @qps
 * @qps:      all QPs
 * @last_cap: the requested capacity of the newest QP
 * @last_cqe: the requested size of the newest CQ
 */
struct null_dev {
	struct ib_device ibdev;
	spinlock_t lock; /* rings of CQs and of slow queues */
	struct mutex mutex; /* qps */
	struct list_head qps;
	u32 next_qpn;
	u32 next_key;
	struct ib_qp_cap last_cap;
	unsigned int last_cqe;
};

struct null_dev *null_dev_create(const char *netdev);
void null_dev_destroy(struct null_dev *dev);

/* Completes everything in the RC queues and runs the done callbacks */
void null_complete_all(struct null_dev *dev);
/* Number of work requests so far, in the queues of all QPs; each is one call */
u32 null_posts(struct null_dev *dev);

/* null_queue.c for null_dev.c */
int null_queue_init(struct null_queue *q, u32 size);
void null_queue_exit(struct null_queue *q);
void null_flush(struct null_dev *dev, struct null_qp *qp);
int null_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct kdapl_create_cq_arg *arg);
int null_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int null_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc);
int null_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags how);
int null_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad);
int null_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad);
int null_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);

static inline struct null_dev *to_null_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct null_dev, ibdev);
}

static inline struct null_cq *to_null_cq(struct ib_cq *cq)
{
	return container_of(cq, struct null_cq, ibcq);
}

static inline struct null_qp *to_null_qp(struct ib_qp *qp)
{
	return container_of(qp, struct null_qp, ibqp);
}

static inline struct null_srq *to_null_srq(struct ib_srq *srq)
{
	return container_of(srq, struct null_srq, ibsrq);
}

#endif /* _KDAPL_BENCH_NULL_H_ */
