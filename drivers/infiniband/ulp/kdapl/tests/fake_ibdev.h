/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake RDMA device for the KUnit suites.
 *
 * Owns the queues of the fake: work requests are copied when they are posted
 * and stay outstanding until a test completes them, so that a test decides
 * what the device does and sees what the verbs saw. What a zone's service QP
 * is given completes at once, and a QP in ERROR flushes at once, as hardware
 * does. Whether an MR is valid is kept track of, and what no device would
 * take (registering a valid MR, invalidating one that is not) is counted. It is a
 * registered device with one InfiniBand port, without management datagrams:
 * kdapl's own ib_client finds it, nobody else has a use for it.
 *
 * The calls of the device run in any context; the helpers below in process
 * context, from the suites.
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
 * Behaviours in which adapters differ from rxe, and from each other. The fake
 * device has none of them unless a test sets its flag in fake_dev.personality,
 * before the device does what the flag is about. One flag, one behaviour; the
 * comment names a driver that behaves so.
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
	/* The device has a GID table, and paths name an entry (mlx5); set at creation only */
	FAKE_GID_TABLE		= BIT(4),
	/* The first entry of a list of segments is used even if num_sge is 0 (irdma) */
	FAKE_READS_FIRST_SGE	= BIT(5),
	/*
	 * req_notify_cq() arms for every completion unless the flags are IB_CQ_SOLICITED
	 * and nothing else (irdma)
	 */
	FAKE_ARMS_BY_EQUALITY	= BIT(6),
	/*
	 * When a signalled request fails, unsignalled requests before it get no
	 * completion, whether they ran or not (qedr skips them)
	 */
	FAKE_SILENT_ERRORS	= BIT(7),
	/* Has no local invalidate; its map_mr_sg sleeps (hns) */
	FAKE_IS_HNS		= BIT(8),
	/* A local key ignores the address given to the registration (hfi1) */
	FAKE_IS_HFI1		= BIT(9),
	/*
	 * max_qp_wr counts blocks of 64 bytes, of which a request takes several
	 * (mlx5 without mlx5_ib_calc_max_qp_wr())
	 */
	FAKE_COUNTS_BLOCKS	= BIT(10),
};

/* Verbs that may allocate: bits of fake_dev.noio */
#define FAKE_NOIO_ALLOC_MR	BIT(0)
#define FAKE_NOIO_DEREG_MR	BIT(1)
#define FAKE_NOIO_QUERY_SRQ	BIT(2)

/* What a post looked like to the verbs */
struct fake_wr {
	struct ib_cqe *cqe;
	enum ib_wr_opcode opcode;	/* requests */
	int send_flags;
	int num_sge;
	struct ib_sge sge[FAKE_MAX_SGE];
	u64 remote_addr;
	u32 rkey;			/* or the key registered, or invalidated */
	struct fake_mr *mr;		/* REG_MR */
	int access;			/* of it */
};

/* Ring of work requests; entries behind @head stay readable until reused */
struct fake_queue {
	struct fake_wr *wr;
	u32 size;
	u32 head;			/* oldest outstanding */
	u32 tail;			/* number of posts so far */
};

/* Kinds of objects whose number has a limit of the device */
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
	u32 limit;			/* event when fewer are left, once; 0: none */
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
	bool last_wqe_owed;		/* in ERROR, its SRQ event not raised yet */
	bool mute;			/* in ERROR, and flushes nothing */
	struct fake_queue sq;
	struct fake_queue rq;
};

struct fake_pd {
	struct ib_pd ibpd;
};

struct fake_mr {
	struct ib_mr ibmr;
	struct list_head node;		/* fake_dev.mrs */
	bool valid;			/* under @key */
	u32 key;
	u32 regs;			/* registrations outstanding */
	u32 npages;			/* of the last mapping, from @page on */
	u64 page;
};

/**
 * struct fake_dev - the fake device
 * @lock:    guards all queues and what follows; interrupts off
 * @cqs:     all CQs
 * @mrs:     all MRs
 * @refuse:  errno for the next @refusals posts of any kind, not of a service
 *           QP, after @refuse_after more have been taken
 * @posts:   posts accepted, of any kind but registrations
 * @refused: posts answered with @refuse
 * @full:    posts that found a queue of the device full: must stay 0
 * @overruns: completions that found a CQ full: must stay 0
 * @modifies: calls of modify_qp
 * @misuses: what a device would have taken amiss of a request that speaks of
 *           an MR, and MRs mapped or destroyed under it: must stay 0
 * @in_error: QPs that are in ERROR
 * @most_in_error: maximum of @in_error so far
 * @live:    QPs, CQs, PDs, SRQs and MRs that exist; @count by kind
 * @number:  different for each
 * @personality: flags of enum fake_personality
 * @roce:    net device of its port, which is a RoCE one; NULL: InfiniBand
 * @tune:    changes the attributes that the device tells
 * @fail_mrs: errno for the next calls of alloc_mr, 0 for none
 * @fail_create: errno for the next create_qp
 * @fail_cq: errno for the next create_cq
 * @fail_modify: errno for every modify_qp from now on
 * @fail_error: errno for every modify_qp that is to move a QP to ERROR
 * @fail_srq: errno for every modify_srq from now on
 * @fail_query_srq: errno for every query_srq
 * @fail_map: map_mr_sg maps nothing
 * @refuse_hook: called, once, after a request was refused and before post_send returns
 * @fail_service: so many requests of service QPs fail, and their QPs with them
 * @max_msg: of its port
 * @hold_limit: SRQs do not say that they have run below their limit
 * @limits: how often that was said
 * @hold_flush: what a QP in ERROR has to flush stays outstanding
 * @last_wqes: how often that was said
 * @late_recvs: so many receives of the next QP in ERROR were filled before it
 * @slow_key: the MR of this key takes its time to be destroyed, once
 * @slow_lost: MRs that went meanwhile
 * @slow_arm: the CQ that takes its time to be armed, the next time
 * @arming: it is being armed
 * @late_irq: the CQ that has an interrupt when it is about to be destroyed
 * @leaving: it is being destroyed, and has had that
 * @invalidated: key of the last LOCAL_INV
 * @noio: FAKE_NOIO_* of verbs called by a task that must not wait for I/O
 * @arm_hook: called, once, right before @arm_hook_cq is armed; process context
 * @unplugged: it is not registered any more
 * @port_down: its first port has no link; fake_port_set()
 */
struct fake_dev {
	struct ib_device ibdev;
	spinlock_t lock; /* all queues, and what follows */
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
/* One with a RoCE port, whose GIDs are the addresses of this net device */
struct fake_dev *fake_dev_create_roce(struct net_device *ndev, u32 personality);
/* One with two InfiniBand ports */
struct fake_dev *fake_dev_create_two_ports(void);
/* One with other attributes, of which the number and size of objects are enforced */
struct fake_dev *fake_dev_create_tuned(void (*tune)(struct ib_device_attr *attr), u32 max_msg);
/* An object comes: -ENOMEM if the device has no more of its kind; and goes */
int fake_take(struct fake_dev *fake, enum fake_kind kind);
void fake_give(struct fake_dev *fake, enum fake_kind kind);
/* One that behaves like another from the start, on a DMA device if @dma is not NULL */
struct fake_dev *fake_dev_create_like(u32 personality, struct device *dma,
				      void (*tune)(struct ib_device_attr *attr));
/* Takes the device away from under its users; the memory stays until destroyed */
void fake_dev_unplug(struct fake_dev *fake);
void fake_dev_destroy(struct fake_dev *fake);
/* Takes the link of the first port down or up, and raises the event */
void fake_port_set(struct fake_dev *fake, bool up);

/* fake_queue.c for fake_ibdev.c */
int fake_queue_init(struct fake_queue *q, u32 size);
void fake_queue_exit(struct fake_queue *q);
/* Another size, with what is outstanding; -EINVAL if that is more. Process context */
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

/* fake_mr.c for the two */
struct ib_mr *fake_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int fake_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *offset);
int fake_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
/* A request leaves the queue; fake->lock held, as in the next */
void fake_run_mr_request(struct fake_dev *fake, const struct fake_wr *fwr,
			 enum ib_wc_status status, bool service);
/* The queue goes with what is outstanding on it */
void fake_drop_mr_requests(const struct fake_queue *sq);
/* Did the key name a valid MR? */
bool fake_invalidate(struct fake_dev *fake, u32 key);

/* The next @count posts are answered with @err, a negative errno */
void fake_refuse(struct fake_dev *fake, int err, u32 count);
/* The same after @taken more have been taken: the rest of a list */
void fake_refuse_behind(struct fake_dev *fake, u32 taken, int err, u32 count);

/*
 * Complete the oldest outstanding request, receive, or buffer of an SRQ (for
 * a QP). Raise no CQE for the success of an unsignalled request. True if
 * there was one. The completion is visible to poll_cq() afterwards; its
 * callback runs when softirqs do, at the latest in fake_settle().
 */
bool fake_complete_send(struct fake_qp *qp, enum ib_wc_status status);
bool fake_complete_recv(struct fake_qp *qp, enum ib_wc_status status, u32 len);
bool fake_complete_srq(struct fake_qp *qp, enum ib_wc_status status, u32 len);
/* As a message the sender marked as solicited */
bool fake_complete_recv_solicited(struct fake_qp *qp, u32 len);
/* As a message that has invalidated @rkey, which the device does to any MR */
bool fake_complete_recv_inv(struct fake_qp *qp, u32 len, u32 rkey);
/* The same with a buffer of the SRQ */
bool fake_complete_srq_inv(struct fake_qp *qp, u32 len, u32 rkey);
/* The device reports that the SRQ has failed */
void fake_srq_fails(struct fake_srq *srq);
/* Called by each verb that may allocate: records tasks that must not wait for I/O */
void fake_note_noio(struct fake_dev *fake, unsigned long what);
/* The MR that is valid under this key, or NULL */
const struct fake_mr *fake_valid_mr(struct fake_dev *fake, u32 key);
/* MRs that are valid */
u32 fake_valid_mrs(struct fake_dev *fake);
/* Raises an event of a QP, as drivers do: with interrupts off and a lock held */
void fake_raise(struct fake_dev *fake, struct fake_qp *qp, enum ib_event_type type);
/*
 * The oldest request of @from accesses memory that @to does not grant: the NAK fails
 * it, and the device moves @to to ERROR. True if the NAK has left. Process context
 */
bool fake_refuse_access(struct fake_dev *fake, struct fake_qp *from, struct fake_qp *to);
/* Withholds nothing any more; the QP makes up for what it owes */
void fake_release(struct fake_dev *fake, struct fake_qp *qp);
/* Runs all done callbacks and all work of kdapl that is due */
void fake_settle(struct fake_dev *fake);

/* Outstanding entries, and a look at one: 0 is the oldest */
u32 fake_outstanding(const struct fake_queue *q);
const struct fake_wr *fake_wr_at(const struct fake_queue *q, u32 n);
/* The youngest post of a queue, completed or not; NULL without any */
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
