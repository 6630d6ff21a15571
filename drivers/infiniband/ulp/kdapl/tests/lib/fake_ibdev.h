/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake RDMA device for the KUnit suites.
 *
 * The fake device copies each work request when it is posted and keeps it outstanding
 * until a test completes it, so a test decides what the device does and can check what the
 * verbs received. There are two exceptions: requests on a zone's service QP complete at
 * once, and a QP in ERROR flushes at once, as hardware does. The fake tracks which MRs are
 * valid. It counts as misuse what a real device would reject, for example registering a
 * valid MR or invalidating an MR that is not valid.
 *
 * The fake is a registered device. By default it has one InfiniBand port, on which no
 * management datagrams are sent. Only kdapl's own ib_client uses it.
 *
 * The RDMA core may call the device's verbs in any context. The suites call the helpers
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
#define FAKE_MR_PAGES		8	/* of a mapping, remembered */
#define FAKE_MAX_RD_ATOM	16
#define FAKE_MAX_MSG		0x80000000
#define FAKE_ROCE_GIDS		16
#define FAKE_PKEYS		3

/*
 * Behaviours in which adapters differ from rxe and from each other. The fake device has
 * none of them unless a test sets the flag in fake_dev.personality before the behaviour
 * matters. Each flag is one behaviour; its comment names a driver that behaves so.
 *
 * The adapter model (tests/devices/hca) has NO_LAST_WQE, NO_FLUSH_IN_INIT, READS_FIRST_SGE,
 * ARMS_BY_EQUALITY and COUNTS_BLOCKS, too. It shows that nothing hangs and no byte is wrong on a
 * device that behaves so. Here a test chooses the moment, and sees what the model hides: the
 * arguments of the verbs, and the number, order and time of events. make mutate, which runs KUnit
 * but not the model, has a breakage for each flag.
 */
enum fake_personality {
	/* A QP in ERROR never raises LAST_WQE_REACHED (rxe of 6.1) */
	FAKE_NO_LAST_WQE	= BIT(0),
	/*
	 * The default partition is not the first entry of the port's table. A subnet
	 * manager may configure any InfiniBand adapter like this. IB_EVENT_PKEY_CHANGE
	 * reports the change to the core.
	 */
	FAKE_DEFAULT_PKEY_LAST	= BIT(1),
	/* A QP that moves from INIT to ERROR never flushes anything (qedr) */
	FAKE_NO_FLUSH_IN_INIT	= BIT(2),
	/*
	 * A refused RDMA request raises QP_ACCESS_ERR before its NAK is sent. The NAK is
	 * not sent if the QP was moved to ERROR in between (rxe of 7.3).
	 */
	FAKE_ACCESS_ERR_FIRST	= BIT(3),
	/* The device has a GID table, and paths name an entry (mlx5); set at creation only */
	FAKE_GID_TABLE		= BIT(4),
	/* The first segment of a list is used even if num_sge is 0 (irdma) */
	FAKE_READS_FIRST_SGE	= BIT(5),
	/*
	 * req_notify_cq() arms the CQ for every completion unless the flags are exactly
	 * IB_CQ_SOLICITED (irdma)
	 */
	FAKE_ARMS_BY_EQUALITY	= BIT(6),
	/*
	 * When a signalled request fails, the unsignalled requests before it get no
	 * completion, whether they were executed or not (qedr skips them)
	 */
	FAKE_SILENT_ERRORS	= BIT(7),
	/* No local invalidate; map_mr_sg sleeps (hns) */
	FAKE_IS_HNS		= BIT(8),
	/* A local key ignores the address given at registration (hfi1) */
	FAKE_IS_HFI1		= BIT(9),
	/*
	 * max_qp_wr counts blocks of 64 bytes, and a request needs several of them (mlx5
	 * without mlx5_ib_calc_max_qp_wr())
	 */
	FAKE_COUNTS_BLOCKS	= BIT(10),
	/* ib_poll_cq() returns an error if the CQ is empty (irdma, if its state is invalid) */
	FAKE_POLL_FAILS		= BIT(11),
};

/* Verbs that may allocate memory: bits of fake_dev.noio */
#define FAKE_NOIO_ALLOC_MR	BIT(0)
#define FAKE_NOIO_DEREG_MR	BIT(1)
#define FAKE_NOIO_QUERY_SRQ	BIT(2)

/* A posted work request as the verbs received it */
struct fake_wr {
	struct ib_cqe *cqe;
	enum ib_wr_opcode opcode;	/* send queue only */
	int send_flags;
	int num_sge;
	struct ib_sge sge[FAKE_MAX_SGE];
	u64 remote_addr;
	u32 rkey;			/* or the key that is registered or invalidated */
	struct fake_mr *mr;		/* REG_MR only */
	int access;			/* REG_MR only */
};

/* Ring of work requests; entries before @head stay readable until they are reused */
struct fake_queue {
	struct fake_wr *wr;
	u32 size;
	u32 head;			/* oldest outstanding entry */
	u32 tail;			/* number of posts so far */
};

/* Objects whose number the device limits */
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
	struct list_head node;		/* in fake_dev.cqs */
	struct ib_wc *wc;
	u32 size;
	u32 head;
	u32 tail;
	int armed;			/* enum ib_cq_notify_flags; 0: not armed */
	bool announces;			/* it was armed at least once */
};

struct fake_srq {
	struct ib_srq ibsrq;
	struct fake_queue rq;
	u32 limit;			/* raise one event when fewer are left; 0: never */
	u32 max_sge;
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
	bool last_wqe_owed;		/* in ERROR, LAST_WQE_REACHED not raised yet */
	bool mute;			/* in ERROR, flushes nothing */
	struct fake_queue sq;
	struct fake_queue rq;
};

struct fake_pd {
	struct ib_pd ibpd;
};

struct fake_mr {
	struct ib_mr ibmr;
	struct list_head node;		/* in fake_dev.mrs */
	bool valid;			/* registered under @key */
	u32 key;
	u32 regs;			/* outstanding registrations */
	u32 npages;			/* of the last mapping, which begins with @page */
	u64 page[FAKE_MR_PAGES];
};

/**
 * struct fake_dev - the fake device
 * @ibdev:   the device that the RDMA core knows
 * @lock:    guards all queues and the fields after it; taken with interrupts off
 * @cqs:     all CQs
 * @mrs:     all MRs
 * @refuse:  negative errno with which the next @refusals posts of any kind fail, except those
 *           of a service QP, once @refuse_after more posts have been accepted
 * @refusals: number of posts that are still to fail
 * @refuse_after: number of posts to accept before that
 * @posts:   accepted posts, except those of service QPs
 * @refused: posts that failed with @refuse
 * @full:    posts that found a queue of the device full: must stay 0
 * @overruns: completions that found a CQ full: must stay 0
 * @modifies: calls of modify_qp
 * @misuses: requests on an MR that a real device would reject, MRs that were mapped or
 *           destroyed while in use, and CQs that were used during or after their
 *           destruction: must stay 0
 * @in_error: number of QPs in ERROR
 * @most_in_error: maximum of @in_error so far
 * @next_key: key of the last MR
 * @next_qpn: number of the last QP
 * @live:    number of QPs, CQs, PDs, SRQs and MRs
 * @count:   the same for each enum fake_kind
 * @number:  unique among fake devices
 * @personality: flags of enum fake_personality
 * @roce:    net device of the port, which then is a RoCE port; NULL: InfiniBand
 * @tune:    changes the attributes that the device reports
 * @max_msg: maximum message size of its ports, in bytes
 * @create_hook: called once in process context, when a QP is created
 * @fail_create: negative errno for the next create_qp
 * @fail_destroy: negative errno for every destroy_qp and dereg_mr; 0: none
 * @fail_cq: negative errno for the next create_cq
 * @fail_modify: negative errno for every modify_qp; 0: none
 * @fail_error: negative errno for every modify_qp that moves a QP to ERROR; 0: none
 * @fail_mrs: negative errno for every alloc_mr; 0: none
 * @fail_srq: negative errno for every modify_srq; 0: none
 * @fail_query_srq: negative errno for every query_srq; 0: none
 * @fail_map: map_mr_sg maps nothing
 * @map_shift: map_mr_sg maps the memory to an address that is larger by this number of bytes, as
 *           an IOMMU with pages smaller than PAGE_SIZE may do
 * @refuse_hook: called once, after a request was refused and before post_send returns
 * @fail_service: number of requests of service QPs that fail; each moves its QP to ERROR
 * @hold_service: requests of service QPs stay outstanding
 * @hold_limit: SRQs do not raise SRQ_LIMIT_REACHED
 * @limits: number of SRQ_LIMIT_REACHED events
 * @hold_flush: requests and receives of a QP in ERROR stay outstanding
 * @last_wqes: number of LAST_WQE_REACHED events
 * @leave_ms: how long kDAPL waits for answers to disconnects when the device is removed
 * @late_recvs: number of receives of the next QP in ERROR that complete with success
 * @slow_key: destroying the MR with this key takes 500 ms; cleared after the first time
 * @slow_lost: number of MRs that were destroyed in the meantime
 * @slow_arm: arming this CQ takes up to 500 ms; cleared when it begins
 * @arming: the CQ that is being armed slowly
 * @late_irq: this CQ gets an interrupt just before it is destroyed
 * @leaving: the CQ that has had this interrupt and is being destroyed
 * @invalidated: key of the last LOCAL_INV
 * @noio: FAKE_NOIO_* bits of verbs that were called by a task that must not wait for I/O
 * @arm_hook: called once in process context, right before @arm_hook_cq is armed
 * @arm_hook_cq: see @arm_hook
 * @destroy_hook: called once in process context, right before a CQ is destroyed
 * @unplugged: the device is no longer registered
 * @port_down: its first port has no link; set by fake_port_set()
 */
struct fake_dev {
	struct ib_device ibdev;
	spinlock_t lock; /* guards all queues and the fields below */
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
	void (*create_hook)(void);
	int fail_create;
	int fail_destroy;
	int fail_cq;
	int fail_modify;
	int fail_error;
	int fail_mrs;
	int fail_srq;
	int fail_query_srq;
	bool fail_map;
	u32 map_shift;
	void (*refuse_hook)(void);
	u32 fail_service;
	bool hold_service;
	bool hold_limit;
	u32 limits;
	bool hold_flush;
	u32 last_wqes;
	unsigned int leave_ms;
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
	void (*destroy_hook)(void);
	bool unplugged;
	bool port_down;
};

struct fake_dev *fake_dev_create(void);
/* Creates a device with a RoCE port, whose GIDs are the addresses of @ndev */
struct fake_dev *fake_dev_create_roce(struct net_device *ndev, u32 personality);
/* Creates a device with two InfiniBand ports */
struct fake_dev *fake_dev_create_two_ports(void);
/* Creates a device with the attributes that @tune sets; their limits on objects are enforced */
struct fake_dev *fake_dev_create_tuned(void (*tune)(struct ib_device_attr *attr), u32 max_msg);
/* Account for a new object (-ENOMEM if the device's limit is reached) and for a destroyed one */
int fake_take(struct fake_dev *fake, enum fake_kind kind);
void fake_give(struct fake_dev *fake, enum fake_kind kind);
/* Creates a device with this personality, on the DMA device @dma if it is not NULL */
struct fake_dev *fake_dev_create_like(u32 personality, struct device *dma,
				      void (*tune)(struct ib_device_attr *attr));
/* Unregisters the device while it is in use; its memory stays until fake_dev_destroy() */
void fake_dev_unplug(struct fake_dev *fake);
void fake_dev_destroy(struct fake_dev *fake);
/* Sets the link of the first port down or up, and raises the event */
void fake_port_set(struct fake_dev *fake, bool up);

/* In fake_queue.c, called by fake_ibdev.c */
int fake_queue_init(struct fake_queue *q, u32 size);
void fake_queue_exit(struct fake_queue *q);
/* Changes the size and keeps outstanding entries; -EINVAL if they do not fit. Process context */
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

/* In fake_mr.c, called by fake_ibdev.c and fake_queue.c */
struct ib_mr *fake_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int fake_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *offset);
int fake_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
/* Applies a request that leaves the queue to its MR. Called with fake->lock held */
void fake_run_mr_request(struct fake_dev *fake, const struct fake_wr *fwr,
			 enum ib_wc_status status);
/* Drops the registrations outstanding on a queue that is destroyed. fake->lock held */
void fake_drop_mr_requests(const struct fake_queue *sq);
/* Invalidates the MR with this key; false if no valid MR has it. fake->lock held */
bool fake_invalidate(struct fake_dev *fake, u32 key);

/* The next @count posts fail with @err, a negative errno */
void fake_refuse(struct fake_dev *fake, int err, u32 count);
/* The same after @taken more posts were accepted: makes a list of requests fail midway */
void fake_refuse_after(struct fake_dev *fake, u32 taken, int err, u32 count);

/*
 * Complete the oldest outstanding request, receive, or buffer of an SRQ (consumed by this
 * QP). The success of an unsignalled request adds no CQE. Return false if nothing was
 * outstanding. poll_cq() finds the completion when the function returns; the done callback
 * runs with the next softirqs, at the latest in fake_settle().
 */
bool fake_complete_send(struct fake_qp *qp, enum ib_wc_status status);
bool fake_complete_recv(struct fake_qp *qp, enum ib_wc_status status, u32 len);
bool fake_complete_srq(struct fake_qp *qp, enum ib_wc_status status, u32 len);
/* Completes a receive with a message that the sender marked as solicited */
bool fake_complete_recv_solicited(struct fake_qp *qp, u32 len);
/* Completes a receive with a message that has invalidated @rkey, whatever MR has this key */
bool fake_complete_recv_inv(struct fake_qp *qp, u32 len, u32 rkey);
/* The same with a buffer of the SRQ */
bool fake_complete_srq_inv(struct fake_qp *qp, u32 len, u32 rkey);
/* Raises SRQ_ERR */
void fake_srq_fails(struct fake_srq *srq);
/* Called by each verb that may allocate: records calls by a task that must not wait for I/O */
void fake_note_noio(struct fake_dev *fake, unsigned long what);
/* Returns the MR that is valid under this key, or NULL */
const struct fake_mr *fake_valid_mr(struct fake_dev *fake, u32 key);
/* Returns the number of valid MRs */
u32 fake_valid_mrs(struct fake_dev *fake);
/* Raises an event of a QP as drivers do: interrupts off, a lock held */
void fake_raise(struct fake_dev *fake, struct fake_qp *qp, enum ib_event_type type);
/*
 * The oldest request of @from accesses memory that @to does not grant: the NAK fails the
 * request, and the device moves @to to ERROR. Returns false if the NAK could not be sent.
 * Process context.
 */
bool fake_refuse_access(struct fake_dev *fake, struct fake_qp *from, struct fake_qp *to);
/* Clears hold_flush and FAKE_NO_LAST_WQE, and flushes @qp with the event that is due */
void fake_release(struct fake_dev *fake, struct fake_qp *qp);
/* Waits until all done callbacks and all work of kdapl have run */
void fake_settle(struct fake_dev *fake);

/* The number of outstanding entries, and one of them: 0 is the oldest */
u32 fake_outstanding(const struct fake_queue *q);
const struct fake_wr *fake_wr_at(const struct fake_queue *q, u32 n);
/* The latest post of a queue, completed or not; NULL if there was none */
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
