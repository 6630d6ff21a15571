/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake RDMA device for the KUnit suites.
 *
 * It owns its queues. Posted work requests are copied and stay outstanding until a test
 * completes them, so that a test controls the device and sees what kdapl has posted.
 * Requests of a zone's service QP complete at once, and a QP in ERROR flushes at once, as
 * hardware does. The fake tracks which MRs are valid, and counts requests that every device
 * would refuse (registering a valid MR, invalidating one that is not). It is registered with
 * one InfiniBand port, without management datagrams, so that kdapl's ib_client finds it and
 * no other client uses it.
 *
 * kdapl calls the operations of the device in any context, and the suites call the helpers
 * below in process context.
 */
#ifndef _KDAPL_FAKE_IBDEV_H_
#define _KDAPL_FAKE_IBDEV_H_

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#define FAKE_MAX_SGE		8
#define FAKE_MAX_QP_WR		4096
#define FAKE_MAX_CQE		16384
#define FAKE_MAX_SRQ_WR		1024
#define FAKE_PAGE_LIST		512
#define FAKE_MAX_RD_ATOM	16
#define FAKE_MAX_MSG		0x80000000
#define FAKE_ROCE_GIDS		16
#define FAKE_PKEYS		3

/*
 * Behaviours in which adapters differ from rxe, and from each other. The fake device has
 * none of them unless a test sets the flag in fake_dev.personality before the operation
 * that the flag changes. Each flag is one behaviour; its comment names a driver that has it.
 */
enum fake_personality {
	/* A QP in ERROR never raises LAST_WQE_REACHED (rxe of 6.1) */
	FAKE_NO_LAST_WQE	= BIT(0),
	/*
	 * The default partition is not the first of the port's table, as the subnet
	 * manager of any InfiniBand adapter may configure it. The core learns of the
	 * change by IB_EVENT_PKEY_CHANGE.
	 */
	FAKE_DEFAULT_PKEY_LAST	= BIT(1),
	/* A QP that goes from INIT to ERROR flushes nothing, then or later (qedr) */
	FAKE_NO_FLUSH_IN_INIT	= BIT(2),
	/*
	 * A refused RDMA request raises QP_ACCESS_ERR before its NAK leaves, and the
	 * NAK does not leave from a QP that was moved to ERROR meanwhile (rxe of 7.3)
	 */
	FAKE_ACCESS_ERR_FIRST	= BIT(3),
	/* The device has a GID table, and paths use an entry (mlx5); set at creation only */
	FAKE_GID_TABLE		= BIT(4),
	/* The first entry of a list of segments is used even if num_sge is 0 (irdma) */
	FAKE_READS_FIRST_SGE	= BIT(5),
	/*
	 * req_notify_cq() arms for every completion unless the flags are IB_CQ_SOLICITED
	 * and nothing else (irdma)
	 */
	FAKE_ARMS_BY_EQUALITY	= BIT(6),
	/*
	 * When a signalled request fails, unsignalled requests before it have no
	 * completion, whether they were executed or not (qedr skips them)
	 */
	FAKE_SILENT_ERRORS	= BIT(7),
	/* Has no local invalidate; its map_mr_sg sleeps (hns) */
	FAKE_IS_HNS		= BIT(8),
	/* A local key ignores the address given to the registration (hfi1) */
	FAKE_IS_HFI1		= BIT(9),
	/*
	 * max_qp_wr counts blocks of 64 bytes, of which a request needs several
	 * (mlx5 without mlx5_ib_calc_max_qp_wr())
	 */
	FAKE_COUNTS_BLOCKS	= BIT(10),
};

/* Verbs that may allocate: bits of fake_dev.noio */
#define FAKE_NOIO_ALLOC_MR	BIT(0)
#define FAKE_NOIO_DEREG_MR	BIT(1)
#define FAKE_NOIO_QUERY_SRQ	BIT(2)

/* A work request as kdapl has posted it */
struct fake_wr {
	struct ib_cqe *cqe;
	enum ib_wr_opcode opcode;	/* requests */
	int send_flags;
	int num_sge;
	struct ib_sge sge[FAKE_MAX_SGE];
	u64 remote_addr;
	u32 rkey;			/* or the key that is registered or invalidated */
	struct fake_mr *mr;		/* REG_MR */
	int access;			/* of @mr */
};

/* Ring of work requests; entries before @head stay readable until they are reused */
struct fake_queue {
	struct fake_wr *wr;
	u32 size;
	u32 head;			/* oldest outstanding */
	u32 tail;			/* number of posts so far */
};

/* Types of objects whose number the device limits */
enum fake_kind {
	FAKE_QP,
	FAKE_CQ,
	FAKE_PD,
	FAKE_SRQ,
	FAKE_MR,
	FAKE_NKINDS
};

struct fake_cq {
	struct ib_cq ibcq;
	struct list_head node;		/* fake_dev.cqs */
	struct ib_wc *wc;
	u32 size;
	u32 head;
	u32 tail;
	int armed;			/* enum ib_cq_notify_flags, or 0 */
};

struct fake_srq {
	struct ib_srq ibsrq;
	struct fake_queue rq;
	u32 limit;			/* one event when fewer are left; 0: none */
};

struct fake_qp {
	struct ib_qp ibqp;
	enum ib_qp_state state;
	int access_flags;
	u16 pkey_index;
	u8 port;
	u32 sq_psn;
	u32 rq_psn;
	int masks[IB_QPS_ERR + 1];	/* of the last modify_qp to each state */
	bool last_wqe_owed;		/* in ERROR, LAST_WQE_REACHED was not raised yet */
	bool mute;			/* in ERROR, without flushing */
	struct fake_queue sq;
	struct fake_queue rq;
};

struct fake_pd {
	struct ib_pd ibpd;
};

struct fake_mr {
	struct ib_mr ibmr;
	struct list_head node;		/* fake_dev.mrs */
	bool valid;			/* with the key @key */
	u32 key;
	u32 regs;			/* registrations outstanding */
	u32 npages;			/* of the last mapping, from @page on */
	u64 page;
};

/**
 * struct fake_dev - the fake device
 * @lock:    guards all queues and the following fields; interrupts off
 * @cqs:     all CQs
 * @mrs:     all MRs
 * @refuse:  errno for the next @refusals posts of any type, except those of a service QP,
 *           after @refuse_after more were accepted
 * @posts:   accepted posts of any type except registrations
 * @refused: posts that returned @refuse
 * @full:    posts that found a queue of the device full: must stay 0
 * @overruns: completions that found a CQ full: must stay 0
 * @modifies: calls of modify_qp
 * @misuses: requests for an MR that a device would refuse, and MRs that were mapped or
 *           destroyed while a request was outstanding: must stay 0
 * @in_error: QPs that are in ERROR
 * @most_in_error: maximum of @in_error so far
 * @live:    QPs, CQs, PDs, SRQs and MRs that exist; @count by type
 * @number:  unique for each device
 * @personality: flags of enum fake_personality
 * @roce:    net device of its RoCE port; NULL: the port is InfiniBand
 * @tune:    changes the attributes that the device reports
 * @fail_mrs: errno for the next calls of alloc_mr, 0 for none
 * @fail_create: errno for the next create_qp
 * @fail_cq: errno for the next create_cq
 * @fail_modify: errno for every modify_qp from now on
 * @fail_error: errno for every modify_qp to ERROR
 * @fail_srq: errno for every modify_srq from now on
 * @fail_query_srq: errno for every query_srq
 * @fail_map: map_mr_sg maps nothing
 * @refuse_hook: called once, after a request was refused and before post_send returns
 * @fail_service: number of requests of service QPs that fail, and move their QPs to ERROR
 * @max_msg: maximum message size of its port
 * @hold_limit: SRQs raise no SRQ_LIMIT_REACHED
 * @limits: number of SRQ_LIMIT_REACHED events
 * @hold_flush: requests of a QP in ERROR stay outstanding
 * @last_wqes: number of LAST_WQE_REACHED events
 * @late_recvs: number of receives of the next QP in ERROR that were filled before
 * @slow_key: destroying the MR with this key takes long, once
 * @slow_lost: MRs that were destroyed meanwhile
 * @slow_arm: the next time that this CQ is armed takes long
 * @arming: this CQ is being armed
 * @late_irq: the CQ that has an interrupt when it is about to be destroyed
 * @leaving: this CQ is being destroyed, and has had the interrupt
 * @invalidated: key of the last LOCAL_INV
 * @noio: FAKE_NOIO_* of verbs called by a task that must not wait for I/O
 * @arm_hook: called once, before @arm_hook_cq is armed; process context
 * @unplugged: the device is not registered any more
 * @port_down: its first port has no link; fake_port_set()
 */
struct fake_dev {
	struct ib_device ibdev;
	spinlock_t lock; /* all queues, and the following fields */
	struct list_head cqs;
	struct list_head mrs;
	int refuse;
	u32 refusals;
	u32 refuse_after;
	u32 posts;
	u32 refused;
	u32 full;
	u32 overruns;
	u32 modifies;
	u32 misuses;
	u32 in_error;
	u32 most_in_error;
	u32 next_key;
	u32 next_qpn;
	atomic_t live;
	atomic_t count[FAKE_NKINDS];
	u32 number;
	u32 personality;
	struct net_device *roce;
	void (*tune)(struct ib_device_attr *attr);
	u32 max_msg;
	int fail_create;
	int fail_cq;
	int fail_modify;
	int fail_error;
	int fail_mrs;
	int fail_srq;
	int fail_query_srq;
	bool fail_map;
	void (*refuse_hook)(void);
	u32 fail_service;
	bool hold_limit;
	u32 limits;
	bool hold_flush;
	u32 last_wqes;
	u32 late_recvs;
	u32 slow_key;
	int slow_lost;
	struct ib_cq *slow_arm;
	struct ib_cq *arming;
	struct ib_cq *late_irq;
	struct ib_cq *leaving;
	u32 invalidated;
	unsigned long noio;
	void (*arm_hook)(void);
	struct ib_cq *arm_hook_cq;
	bool unplugged;
	bool port_down;
};

struct fake_dev *fake_dev_create(void);
/* A device with a RoCE port, whose GIDs are the addresses of this net device */
struct fake_dev *fake_dev_create_roce(struct net_device *ndev, u32 personality);
/* A device with two InfiniBand ports */
struct fake_dev *fake_dev_create_two_ports(void);
/* A device with other attributes, which enforces the number and size of objects */
struct fake_dev *fake_dev_create_tuned(void (*tune)(struct ib_device_attr *attr), u32 max_msg);
/* Counts a new object: -ENOMEM if the device has no more of its type */
int fake_take(struct fake_dev *fake, enum fake_kind kind);
void fake_give(struct fake_dev *fake, enum fake_kind kind);
/* A device with a personality from the start, on a DMA device if @dma is not NULL */
struct fake_dev *fake_dev_create_like(u32 personality, struct device *dma,
				      void (*tune)(struct ib_device_attr *attr));
/* Removes the device while it is in use; its memory stays until fake_dev_destroy() */
void fake_dev_unplug(struct fake_dev *fake);
void fake_dev_destroy(struct fake_dev *fake);
/* Sets the link of the first port down or up, and raises the event */
void fake_port_set(struct fake_dev *fake, bool up);

/* fake_queue.c, called by fake_ibdev.c */
int fake_queue_init(struct fake_queue *q, u32 size);
void fake_queue_exit(struct fake_queue *q);
/* Changes the size; -EINVAL if more is outstanding. Process context */
int fake_queue_resize(struct fake_dev *fake, struct fake_queue *q, u32 size);
void fake_flush(struct fake_dev *fake, struct fake_qp *qp);
int fake_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int fake_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int fake_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc);
int fake_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags how);
int fake_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad);
int fake_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad);
int fake_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);

/* fake_mr.c, called by the two */
struct ib_mr *fake_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int fake_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *offset);
int fake_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
/* A request has completed; fake->lock held, also in the next function */
void fake_run_mr_request(struct fake_dev *fake, const struct fake_wr *fwr,
			 enum ib_wc_status status, bool service);
/* The queue is destroyed with its outstanding requests */
void fake_drop_mr_requests(const struct fake_queue *sq);
/* Invalidates a key. Returns whether it was that of a valid MR */
bool fake_invalidate(struct fake_dev *fake, u32 key);

/* The next @count posts return @err, a negative errno */
void fake_refuse(struct fake_dev *fake, int err, u32 count);
/* Does so after @taken more were accepted, for the rest of a list */
void fake_refuse_behind(struct fake_dev *fake, u32 taken, int err, u32 count);

/*
 * Complete the oldest outstanding request, receive, or buffer of an SRQ (for a QP). There
 * is no CQE for the success of an unsignalled request. Return true if there was one. Then
 * poll_cq() returns the completion; its callback runs in softirq, at the latest in
 * fake_settle().
 */
bool fake_complete_send(struct fake_qp *qp, enum ib_wc_status status);
bool fake_complete_recv(struct fake_qp *qp, enum ib_wc_status status, u32 len);
bool fake_complete_srq(struct fake_qp *qp, enum ib_wc_status status, u32 len);
/* The message was marked as solicited */
bool fake_complete_recv_solicited(struct fake_qp *qp, u32 len);
/* The message has invalidated @rkey; the device does that to any MR */
bool fake_complete_recv_inv(struct fake_qp *qp, u32 len, u32 rkey);
/* Likewise for a buffer of the SRQ */
bool fake_complete_srq_inv(struct fake_qp *qp, u32 len, u32 rkey);
/* Raises the event that the SRQ has failed */
void fake_srq_fails(struct fake_srq *srq);
/* Each verb that may allocate calls it: records tasks that must not wait for I/O */
void fake_note_noio(struct fake_dev *fake, unsigned long what);
/* The valid MR with this key, or NULL */
const struct fake_mr *fake_valid_mr(struct fake_dev *fake, u32 key);
/* Number of valid MRs */
u32 fake_valid_mrs(struct fake_dev *fake);
/* Raises an event of a QP, as drivers do: with interrupts off and a lock held */
void fake_raise(struct fake_dev *fake, struct fake_qp *qp, enum ib_event_type type);
/*
 * The oldest request of @from accesses memory that @to does not grant: the NAK fails
 * it, and the device moves @to to ERROR. True if the NAK has left. Process context
 */
bool fake_refuse_access(struct fake_dev *fake, struct fake_qp *from, struct fake_qp *to);
/* Ends @hold_flush; the QP flushes its requests */
void fake_release(struct fake_dev *fake, struct fake_qp *qp);
/* Runs all pending done callbacks and work items of kdapl */
void fake_settle(struct fake_dev *fake);

/* Number of outstanding entries; and one of them, 0 is the oldest */
u32 fake_outstanding(const struct fake_queue *q);
const struct fake_wr *fake_wr_at(const struct fake_queue *q, u32 n);
/* The last post of a queue, completed or not; NULL if there is none */
const struct fake_wr *fake_last(const struct fake_queue *q);

static inline struct fake_dev *to_fake_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct fake_dev, ibdev);
}

static inline struct fake_qp *to_fake_qp(struct ib_qp *qp)
{
	return container_of(qp, struct fake_qp, ibqp);
}

static inline struct fake_cq *to_fake_cq(struct ib_cq *cq)
{
	return container_of(cq, struct fake_cq, ibcq);
}

static inline struct fake_mr *to_fake_mr(struct ib_mr *mr)
{
	return container_of(mr, struct fake_mr, ibmr);
}

static inline struct fake_srq *to_fake_srq(struct ib_srq *srq)
{
	return container_of(srq, struct fake_srq, ibsrq);
}

#endif /* _KDAPL_FAKE_IBDEV_H_ */
