/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdapl_hca: a model of an RDMA adapter, as strict as the InfiniBand specification allows.
 *
 * Each instance is a PCI function that QEMU provides (edu) behind an IOMMU. QEMU's function
 * contributes its DMA domain and a real message-signalled interrupt; the rest is in this module.
 *
 * Threads. Work requests are only queued by the caller. The engine, one thread for each
 * instance, executes them: it plays the requester (engine.c) and calls the responder (wire.c)
 * directly, under hca_world. Completions and events are announced by the interrupt handler
 * (event.c), in hard interrupt context.
 *
 * Locks, in this order:
 *  hca_world   mutex: no engine runs while it is held. Guards the execution state of all QPs,
 *              the MRs, and the tables of both.
 *  qp->lock, srq->lock, cq->lock, dev->ready_lock, dev->eq_lock: spinlocks, taken with
 *              interrupts off, never two at a time, except eq_lock inside cq->lock.
 */
#ifndef _KDAPL_HCA_H_
#define _KDAPL_HCA_H_

#include <linux/if_ether.h>
#include <linux/iommu.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#define HCA_INSTANCES	2
#define HCA_MAX_QP	16384
#define HCA_MAX_QP_WR	4096
#define HCA_MAX_CQE	65535
#define HCA_MAX_SGE	16
#define HCA_MAX_SRQ_SGE	8
#define HCA_MAX_SRQ_WR	4096
#define HCA_MAX_INLINE	256
#define HCA_MAX_RD_ATOM	16
#define HCA_MAX_MR	65536
#define HCA_PAGE_LIST	512
#define HCA_MAX_MSG	SZ_1G
#define HCA_GIDS	32
#define HCA_GSI_QPN	1
#define HCA_FIRST_QPN	0x40
#define HCA_LOCAL_KEY	0x0000ff00	/* the reserved L_Key, for DMA addresses */
#define HCA_PSN_MASK	0xffffff

/* What an instance counts; see hca_stat_names */
enum hca_stat {
	HCA_DMA_FAULTS, HCA_CQ_OVERRUNS, HCA_KEY_ERRORS, HCA_REFUSED_POSTS, HCA_BAD_POSTS,
	HCA_RAISES, HCA_INTERRUPTS, HCA_LATE_RAISES, HCA_LATE_INTERRUPTS, HCA_CQES,
	HCA_MESSAGES, HCA_DROPPED, HCA_DUPLICATES, HCA_RNR, HCA_RETRIES, HCA_LOST_DOORBELLS,
	HCA_STALLS, HCA_EVENTS, HCA_STATS,
};

struct hca_dev {
	struct ib_device ibdev;
	struct pci_dev *pdev;
	void __iomem *regs;
	struct net_device *ndev;	/* written under hca_world */
	struct iommu_domain *domain;
	const struct iommu_domain_ops *driver_ops;	/* NULL: no translation */
	struct iommu_domain_ops domain_ops;	/* the same with the model's functions */
	struct xarray one_way;		/* rights for pages of one direction; its lock */
	int index;
	int irq;
	struct dentry *dir;
	atomic64_t stat[HCA_STATS];

	struct xarray qps, mrs;		/* by number, by index; hca_world */
	u32 next_qp, next_mr;		/* hca_world */
	struct hca_qp *gsi;		/* hca_world */

	struct task_struct *engine;
	wait_queue_head_t wait;		/* the engine waits here */
	spinlock_t ready_lock;		/* guards ready */
	struct list_head ready;		/* QPs to be executed */
	struct list_head timed;		/* QPs with a timer; hca_world */

	spinlock_t eq_lock;		/* guards all below; raise is read without it */
	struct list_head eq;		/* what the interrupt handler will announce */
	struct list_head late;		/* events that the engine appends to eq later */
	bool raise;			/* the engine has to raise the interrupt */
	ktime_t wanted_at;		/* since when; 0: nothing to raise */
	ktime_t raised_at;		/* the first raise that no handler has followed; 0: none */
};

struct hca_pd {
	struct ib_pd ibpd;
};

/* An address: who sends to whom */
struct hca_ah {
	struct ib_ah ibah;
	union ib_gid sgid, dgid;
};

/* An entry of the event queue, within the CQ for completions, allocated for other events */
struct hca_eqe {
	struct list_head node;		/* empty: not queued; dev->eq_lock */
	struct hca_cq *cq;		/* publish its new entries; NULL: deliver @event */
	struct ib_event event;
};

struct hca_cqe {
	struct ib_wc wc;
	struct hca_qp *qp;
	struct hca_srq *srq;		/* the receive came from it */
	u64 end;			/* a request: this and all earlier slots are free */
	bool request;
	bool solicited;			/* or in error */
};

enum hca_arm { HCA_DISARMED, HCA_ARM_SOLICITED, HCA_ARM_NEXT };

struct hca_cq {
	struct ib_cq ibcq;
	struct hca_eqe eqe;
	spinlock_t lock;		/* guards all below */
	struct hca_cqe *ring;
	u64 head;			/* written by the device */
	u64 visible;			/* published by the interrupt handler */
	u64 tail;			/* polled */
	enum hca_arm arm;
	bool dead;			/* overrun */
};

/* A receive, and a request, of a ring. hca_sge follows */
struct hca_rwqe {
	u64 wr_id;
	u32 nsge;
	struct ib_sge sge[];
};

/* The responder's answer */
enum hca_answer {
	HCA_ACK, HCA_SILENCE, HCA_NAK_RNR, HCA_NAK_SEQUENCE, HCA_NAK_INVALID, HCA_NAK_ACCESS,
	HCA_NAK_OPERATION,
};

struct hca_swqe {
	u64 wr_id;
	enum ib_wr_opcode op;
	int flags;
	union {
		__be32 imm;
		u32 inv_key;
	};
	u64 remote;
	u32 rkey;
	u64 compare_add, swap;
	union {
		struct {		/* IB_WR_REG_MR: as it was at the post */
			u32 mr;
			u32 key;
			int access;
			u64 iova;
			u64 length;
			u32 page_size;
		} reg;
		struct {		/* datagrams */
			union ib_gid sgid, dgid;
			u32 qpn;
		} ud;
	};
	u64 length;
	/* Execution; hca_world */
	u32 psn;
	bool sent;			/* has a packet sequence number */
	bool stalled;			/* a read: was counted in HCA_STALLS */
	bool answered;			/* a read: @answer is the response, which arrives later */
	enum hca_answer answer;
	enum ib_wc_status status;
	u32 nsge;
	struct ib_sge sge[];		/* then the inline data */
};

/* A ring; indexes grow forever */
struct hca_ring {
	void *mem;
	u32 size;			/* entries */
	u32 stride;
	u32 max_sge;
	u64 head;			/* posted */
	u64 tail;			/* taken by the device (receives) */
	u64 freed;			/* requests: slots before it are free; written by poll */
	atomic_t used;			/* receives: not yet polled */
};

static inline void *hca_slot(const struct hca_ring *ring, u64 i)
{
	return ring->mem + (size_t)(i % ring->size) * ring->stride;
}

struct hca_srq {
	struct ib_srq ibsrq;
	spinlock_t lock;		/* guards all below, except rq.used */
	struct hca_ring rq;
	u32 limit;			/* 0: not armed */
};

struct hca_qp {
	struct ib_qp ibqp;
	struct list_head ready;		/* dev->ready_lock */
	struct list_head timed;		/* hca_world */
	bool signal_all;
	u32 max_inline;

	spinlock_t lock;		/* guards state, the rings' head and rq.tail */
	enum ib_qp_state state;
	struct hca_ring sq, rq;
	u64 rung;			/* requests before it are known to the device */
	bool deaf;			/* its doorbell was lost: none arrives until ERROR */
	bool mute;			/* went from INIT to ERROR on a device without that flush */

	/* All below: hca_world */
	struct ib_qp_attr attr;
	union ib_gid sgid, dgid;
	u64 una;			/* oldest request without an acknowledgment */
	u64 next;			/* next request to be sent */
	u64 acked;			/* requests before it are acknowledged */
	u32 send_psn;			/* of the next new request */
	u32 expect_psn;			/* responder */
	u32 reads;			/* sent, response outstanding */
	u32 retries, rnr_retries;	/* left */
	ktime_t rnr_at, ack_at;		/* timers; 0: not running */
	ktime_t delay_at;		/* no acknowledgment is received before it */
	bool failed;			/* a request has failed: send no more */
	bool established;		/* COMM_EST was raised, or not necessary */
	bool last_wqe;			/* LAST_WQE_REACHED was raised */
	bool holds;			/* part of a message has arrived in @held */
	struct hca_rwqe *held;
};

struct hca_mr {
	struct ib_mr ibmr;
	u32 index;
	bool all;			/* all memory, by its DMA address */
	u32 max_pages, npages;
	u64 *list;			/* what ib_map_mr_sg() has written */
	/* All below: hca_world */
	bool valid;
	bool used;			/* was registered before */
	u32 key;
	int access;
	u64 iova, length;
	u32 page_size;
	u64 *pages;			/* what REG_MR has read */
};

/* Memory of a message after the check of its keys */
struct hca_seg {
	u64 addr;
	u32 len;
	u32 key;
	const struct hca_mr *mr;	/* NULL: @addr is a DMA address */
	void *virt;			/* inline data */
};

struct hca_sg {
	struct hca_dev *dev;
	u32 qpn;
	u32 n;
	u64 len;
	struct hca_seg seg[HCA_MAX_SGE];
};

extern struct mutex hca_world;
extern struct hca_dev *hca_devs[HCA_INSTANCES];		/* hca_world */

static inline struct hca_ah *to_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct hca_ah, ibah);
}

static inline struct hca_cq *to_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct hca_cq, ibcq);
}

static inline struct hca_qp *to_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct hca_qp, ibqp);
}

static inline struct hca_srq *to_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct hca_srq, ibsrq);
}

static inline struct hca_mr *to_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct hca_mr, ibmr);
}

static inline struct hca_dev *to_hca(struct ib_device *ibdev)
{
	return container_of(ibdev, struct hca_dev, ibdev);
}

static inline void hca_count(struct hca_dev *dev, enum hca_stat what)
{
	atomic64_inc(&dev->stat[what]);
}

/* options.c: the module parameters of the same names. A personality is a set of them */
struct hca_options {
	int seed;
	int burst;
	int reorder;
	int late_ack;
	int last_first;
	int event_order;
	int flush_init;
	int last_wqe;
	int comm_est;
	int srq;
	int arm;
	int blocks;
	int first_sge;
	int drop;
	int duplicate;
	int delay;
	int post_enomem;
	int doorbell;
};

extern struct hca_options hca_opt;
u32 hca_random(u32 below);
bool hca_chance(int one_in);
bool hca_post_chance(int one_in);

/* net.c */
struct net_device *hca_net_create(struct hca_dev *dev);
void hca_net_destroy(struct net_device *ndev);

/* device.c */
int hca_register(struct hca_dev *dev);
void hca_port_event(struct hca_dev *dev, bool up);

/* event.c */
int hca_event_init(struct hca_dev *dev);
void hca_event_exit(struct hca_dev *dev);
void hca_raise(struct hca_dev *dev);
bool hca_unhandled(struct hca_dev *dev);
void hca_release_events(struct hca_dev *dev);
void hca_announce(struct hca_dev *dev, struct hca_cq *cq);
void hca_qp_event(struct hca_qp *qp, enum ib_event_type type);
void hca_cq_event(struct hca_cq *cq);
void hca_srq_event(struct hca_srq *srq, enum ib_event_type type);
void hca_forget_events(struct hca_dev *dev, const void *object);

/* cq.c */
int hca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct kdapl_create_cq_arg *arg);
int hca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int hca_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc);
int hca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
bool hca_cq_publish(struct hca_cq *cq);
void hca_cq_push(struct hca_cq *cq, const struct hca_cqe *cqe);
void hca_cq_clean(struct hca_cq *cq, const struct hca_qp *qp);

/* qp.c */
int hca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int hca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int hca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int hca_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
void hca_qp_to_error(struct hca_qp *qp);
int hca_ring_init(struct hca_ring *ring, u32 size, u32 max_sge, size_t entry, u32 inl);
void hca_ring_exit(struct hca_ring *ring);

/* post.c */
int hca_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad);
int hca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad);
int hca_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);

/* srq.c */
int hca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		   struct ib_udata *udata);
int hca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata);
int hca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int hca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
bool hca_take_recv(struct hca_qp *qp, struct hca_rwqe *to);

/* mr.c */
struct ib_mr *hca_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *hca_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max);
int hca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int hca_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset);
enum ib_wc_status hca_mr_register(struct hca_qp *qp, const struct hca_swqe *wqe);
bool hca_mr_invalidate(struct hca_qp *qp, u32 key, bool remote);
bool hca_check_local(struct hca_qp *qp, const struct ib_sge *sge, u32 n, bool write,
		     struct hca_sg *sg);
bool hca_check_remote(struct hca_qp *qp, u64 addr, u32 key, u64 len, int access,
		      struct hca_sg *sg);

/* domain.c */
int hca_domain_init(struct hca_dev *dev);
void hca_domain_exit(struct hca_dev *dev);
void *hca_translate(struct hca_dev *dev, u64 iova, bool write, const char **why);

/* dma.c */
bool hca_dma_probe(struct hca_sg *sg, u64 off, u64 len);
bool hca_dma_copy(struct hca_sg *to, u64 to_off, struct hca_sg *from, u64 len);
bool hca_dma_put(struct hca_sg *to, u64 off, const void *from, u64 len);
bool hca_dma_get(struct hca_sg *from, u64 off, void *to, u64 len);

/* engine.c */
int hca_engine_init(struct hca_dev *dev);
void hca_engine_exit(struct hca_dev *dev);
void hca_kick(struct hca_qp *qp);
void hca_unkick(struct hca_qp *qp);
void hca_set_timer(struct hca_qp *qp, ktime_t *timer, u64 ns);
void hca_stop_timers(struct hca_qp *qp);
bool hca_expired(ktime_t *timer);

/* request.c */
void hca_step(struct hca_qp *qp);
bool hca_gather(struct hca_qp *qp, struct hca_swqe *wqe, bool write, struct hca_sg *sg);
bool hca_is_read(const struct hca_swqe *wqe);
bool hca_answer_reads(struct hca_qp *qp);
void hca_complete_request(struct hca_qp *qp, struct hca_swqe *wqe, enum ib_wc_status status);

/* flush.c */
void hca_flush(struct hca_qp *qp);

/* wire.c */
void hca_complete_recv(struct hca_qp *qp, const struct hca_rwqe *rwqe, struct hca_cqe *cqe);
struct hca_dev *hca_route(const union ib_gid *dgid);
void hca_deliver_part(struct hca_qp *qp, struct hca_swqe *wqe, struct hca_sg *from);
enum hca_answer hca_deliver(struct hca_qp *qp, struct hca_swqe *wqe, u32 *rnr);
enum hca_answer hca_respond_read(struct hca_qp *qp, struct hca_swqe *wqe);

/* ud.c */
int hca_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int hca_destroy_ah(struct ib_ah *ibah, u32 flags);
void hca_send_ud(struct hca_qp *qp, struct hca_swqe *wqe);

#endif /* _KDAPL_HCA_H_ */
