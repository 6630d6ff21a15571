/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kDAPL: the module's own structures, and all internal prototypes by file.
 *
 * Calls go one way: main, control (ia, pz, lmr, evd, ep, srq, cm, psp,
 * registry, debugfs), hot (post, complete, event), mechanism (handle, pool,
 * status, device, drain, solicited, trace), RDMA core. What must go up is
 * data: a work item, a registered callback, the Consumer's upcall.
 *
 * Locks, outermost first (kdapl-locking.rst has the reasons):
 *   kdapl_device_mutex, kdapl_ia.sem, kdapl_ep.mutex, handler_mutex of a
 *   cm_id (rdma_cm's), kdapl_ia.mutex, kdapl_pz.mutex, kdapl_srq.mutex; then
 *   spinlocks: kdapl_psp.lock, kdapl_scq.lock, kdapl_sq.lock, kdapl_ep.lock,
 *   kdapl_evd.lock.
 * No rdma_* call is made under a lock that a CM callback takes; callbacks
 * take spinlocks only.
 */
#ifndef _KDAPL_H_
#define _KDAPL_H_

#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include <dat/kdat.h>
#include "event.h"
#include "handle.h"
#include "pool.h"
#include "status.h"
#include "wr.h"

struct dentry;

#define KDAPL_REQUEST_PRIVATE	56	/* usable bytes of a connection request */
#define KDAPL_REPLY_PRIVATE	196
#define KDAPL_REJECT_PRIVATE	148
#define KDAPL_REJECT_PREFIX	4	/* version word in front of reject data */
#define KDAPL_MAX_RETRY		6	/* rxe takes 7 as for ever */
#define KDAPL_RNR_RETRY		7	/* for ever, and meant so */
#define KDAPL_MIN_RNR_TIMER	12	/* 0.64 ms; the core's 0 means 655 ms */
#define KDAPL_RESOLVE_TIMEOUT_MS 4000	/* address, and route, of a peer */
#define KDAPL_ACCEPT_TIMEOUT_MS	30000	/* C-51 */
#define KDAPL_DRAIN_TIMEOUT_MS	700	/* C-56 leaves 1 s for all of it */
#ifndef KDAPL_LAST_WQE_MS
#define KDAPL_LAST_WQE_MS	5000	/* for the last buffer of an SRQ EP */
#endif
/* Send queue entries beyond the Consumer's: the marker and the drain */
#define KDAPL_SQ_RESERVED	2
/* CQ entries beyond the Consumer's: marker, send drain, receive drain */
#define KDAPL_CQ_RESERVED	3

/* ---- common.c ---------------------------------------------------------- */

extern struct workqueue_struct *kdapl_wq;	/* WQ_MEM_RECLAIM, unbound */
/* Test systems slower than real time stretch our internal time-outs by it */
extern unsigned int kdapl_stretch;

int kdapl_common_init(void);
void kdapl_common_exit(void);

/* ---- device.c ---------------------------------------------------------- */

/* What the device and our own rules allow; filled once, when a device comes */
struct kdapl_limits {
	u32 max_dto_per_ep;
	u32 max_qp_wr;
	u32 max_cqe;
	u32 max_iov;			/* send and receive */
	u32 max_iov_read;
	u32 max_iov_write;
	u32 max_rd_atom_in;		/* per EP, as target */
	u32 max_rd_atom_out;		/* per EP, as initiator */
	u32 max_srq_wr;			/* max_recv_per_srq */
	u32 max_srq_iov;
	u32 page_list_len;		/* of one fast registration */
	u32 max_msg;			/* port's max_msg_sz, 32 bits */
};

/**
 * struct kdapl_device - one RDMA device that can serve us
 * @ibdev:  valid until remove() returns
 * @node:   on the list of devices; guarded by kdapl_device_mutex
 * @ias:    open IAs (kdapl_ia.dev_node); guarded by kdapl_device_mutex
 * @wait:   remove() waits here for @ias to become empty
 * @handler: async events of the device (GID change, fatal)
 * @events: KDAPL_DEV_*, what @event_work has to look at; atomic bits
 * @event_work: acts on @events
 * @limits: constant
 */
struct kdapl_device {
	struct ib_device *ibdev;
	struct list_head node;
	struct list_head ias;
	wait_queue_head_t wait;
	struct ib_event_handler handler;
	unsigned long events;
	struct work_struct event_work;
	struct kdapl_limits limits;
};

extern struct mutex kdapl_device_mutex;
extern struct list_head kdapl_devices;
/* IAs whose device has gone (kdapl_ia.dev_node); guarded by kdapl_device_mutex */
extern struct list_head kdapl_shells;

int kdapl_device_init(void);
void kdapl_device_exit(void);
struct kdapl_device *kdapl_device_alloc(struct ib_device *ibdev);
void kdapl_device_free(struct kdapl_device *dev);
bool kdapl_device_port_usable(struct ib_device *ibdev, u32 port);
/* Is the port still reached by this IP address? */
bool kdapl_device_has_addr(struct ib_device *ibdev, u32 port,
			   const struct sockaddr_storage *addr);
/* GID of an address (any other of the port if it is gone); rdma_put_gid_attr() it */
const struct ib_gid_attr *kdapl_device_gid(struct ib_device *ibdev, u32 port,
					   const struct sockaddr_storage *addr);
/*
 * Parses an IA name; under kdapl_device_mutex. 0, -ENODEV, -EADDRNOTAVAIL
 * (then @dev and @port are valid all the same)
 */
int kdapl_device_resolve(const char *name, struct kdapl_device **dev, u32 *port,
			 struct sockaddr_storage *addr);

/* ---- ia.c -------------------------------------------------------------- */

/**
 * struct kdapl_ia - an open IA: one port and one IP address of a device
 * @obj:    header; obj.ia is the IA itself
 * @dev:    the device; NULL once the IA is a shell. Written under @sem and
 *          kdapl_device_mutex
 * @ibdev:  dev->ibdev; NULL on a shell; read under @sem by whoever makes
 *          verbs objects
 * @limits: copy of the device's, survives it
 * @attr:   what dat_ia_query tells, filled at open
 * @sem:    read: a call that makes verbs objects; write: the moment at which
 *          the IA becomes a shell
 * @mutex:  guards @objs and the flag rules of shared EVDs
 * @objs:   all objects by type
 * @nverbs: objects that still own verbs objects; removal waits for 0
 * @npds:   PZs that still own a PD; they go after all other verbs objects
 * @wait:   for @nverbs and @npds, and for @objs to become empty
 * @mem:    the IA itself and every object on @objs: who drops the last frees
 * @shell:  the device is gone; written under @sem
 * @closing: dat_ia_close has begun; written under @sem
 * @fatal:  DAT_ASYNC_ERROR_IA_CATASTROPHIC has been raised (bit 0)
 * @sync_told: the log line about bounce buffers has been written (bit 0)
 * @async_evd: stream of asynchronous events; own_async: made by us
 *
 * obj.users counts other IAs whose asynchronous events go to an EVD of ours.
 */
struct kdapl_ia {
	struct kdapl_obj obj;
	struct kdapl_device *dev;
	struct ib_device *ibdev;
	u32 port;
	char name[DAT_NAME_MAX_LENGTH];
	struct sockaddr_storage addr;
	struct kdapl_limits limits;
	DAT_IA_ATTR attr;
	struct rw_semaphore sem;
	struct mutex mutex;	/* objs, flags of shared EVDs */
	struct list_head objs[KDAPL_NTYPES];
	wait_queue_head_t wait;
	atomic_t nverbs;
	atomic_t npds;
	refcount_t mem;
	bool shell;
	bool closing;
	bool own_async;
	unsigned long fatal;
	unsigned long sync_told;
	struct kdapl_evd *async_evd;
	struct list_head dev_node;
};

/*
 * Makes an IA on a device without looking for a name; used by dat_ia_openv and
 * KUnit. kdapl_device_mutex held: the device must not leave meanwhile.
 */
int kdapl_ia_create(struct kdapl_device *dev, u32 port, const struct sockaddr *addr,
		    int async_qlen, struct kdapl_evd *async_evd, struct kdapl_ia **out);
/* Takes an IA apart, with all that belongs to it; the handle is out of the table */
void kdapl_ia_destroy(struct kdapl_ia *ia);
/* Module unload: closes what a careless Consumer has left open */
void kdapl_ia_destroy_all(void);
/*
 * The frame of every call that makes or uses verbs objects: begin looks the
 * handle up, takes a reference and ia->sem for reading, and answers IH/IA or
 * IR/DEVICE (shell); enter/leave do the same for an IA that an object of the
 * caller keeps alive.
 */
DAT_RETURN kdapl_ia_begin(DAT_IA_HANDLE handle, struct kdapl_ia **out);
void kdapl_ia_end(struct kdapl_ia *ia);
bool kdapl_ia_enter(struct kdapl_ia *ia);
void kdapl_ia_leave(struct kdapl_ia *ia);
/* Lists and publishes a finished object; @verbs: it owns verbs objects */
void kdapl_ia_add(struct kdapl_ia *ia, struct kdapl_obj *obj, bool verbs);
/* Takes it off the list; last step of a destructor before the memory goes */
void kdapl_ia_del(struct kdapl_ia *ia, struct kdapl_obj *obj);
/* One user of the memory less; ia_close.c drops that of the IA itself */
void kdapl_ia_mem_put(struct kdapl_ia *ia);
/* The object's verbs objects are gone */
void kdapl_ia_verbs_put(struct kdapl_ia *ia);
/* The device is going: make every IA on it a shell. Called by device.c's remove() */
void kdapl_ia_remove(struct kdapl_ia *ia);
/* The IP address of the IA is gone (C-62); kdapl_device_mutex held */
void kdapl_ia_address_lost(struct kdapl_ia *ia);
/* The device has failed or is gone: raises IA_CATASTROPHIC, once */
void kdapl_ia_catastrophic(struct kdapl_ia *ia);
void kdapl_ia_async(struct kdapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, u16 reason);

static inline struct kdapl_ia *to_kdapl_ia(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_ia, obj);
}

/* ia_query.c: what dat_ia_query will tell; device alive */
void kdapl_ia_fill_attr(struct kdapl_ia *ia);

/* ---- registry.c -------------------------------------------------------- */
/* dat_registry_* only; walks kdapl_devices */

/* ---- pz.c -------------------------------------------------------------- */

/**
 * struct kdapl_pz - protection zone, with its service QP
 * @obj:   header; obj.users counts LMRs, EPs, SRQs, RMRs
 * @pd:    the PD; NULL on a shell
 * @zone:  number unique among live PZs, 1 .. 2^24-1
 * @mutex: serialises the service QP
 * @qp:    RC QP connected to itself, made with the first registration;
 *         guarded by @mutex, as @cq
 * @cq:    its CQ, polled by the waiter, whom @cq_event wakes
 * @mrs:   MRs of the PD not deregistered yet, and one for the PZ itself; the
 *         last completes @mrs_gone. LMRs outlive dat_lmr_free by a grace period
 */
struct kdapl_pz {
	struct kdapl_obj obj;
	struct ib_pd *pd;
	u32 zone;
	struct mutex mutex;	/* service QP */
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct completion cq_event;
	refcount_t mrs;
	struct completion mrs_gone;
};

/* Process context; run one work request on the service QP and wait, bounded */
int kdapl_pz_register(struct kdapl_pz *pz, struct ib_mr *mr, int access);
int kdapl_pz_invalidate(struct kdapl_pz *pz, u32 rkey);
/* An MR of the PD comes, and has gone for good */
void kdapl_pz_mr_get(struct kdapl_pz *pz);
void kdapl_pz_mr_put(struct kdapl_pz *pz);
void kdapl_pz_destroy(struct kdapl_pz *pz);
void kdapl_pz_shell(struct kdapl_pz *pz);

static inline struct kdapl_pz *to_kdapl_pz(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_pz, obj);
}

/* ---- lmr.c ------------------------------------------------------------- */

#define KDAPL_LMR_INDEX_BITS	20
#define KDAPL_LMR_PAGE_SHIFT	6
#define KDAPL_LMR_PAGE_DESCS	BIT(KDAPL_LMR_PAGE_SHIFT)
#define KDAPL_LMR_PAGES		BIT(KDAPL_LMR_INDEX_BITS - KDAPL_LMR_PAGE_SHIFT)

/*
 * What a post needs to know of an LMR, inline in the pages of a table that
 * grows and never shrinks. An lmr_context is generation:12 | index:20.
 *
 * @zp is zone:24 | privileges:8, so that one XOR and one test check both;
 * 0 in an entry without LMR. An entry is emptied (zp, then context) before
 * the LMR is invalidated, and reused only after a grace period. @next_free of
 * a free entry: index of the next one, and the generation used last, placed as
 * in a context; lmr.c's lock.
 */
struct kdapl_lmr_desc {
	u64 start;
	u64 length;
	u32 lkey;
	u32 zp;
	u32 context;
	u32 next_free;
	struct kdapl_lmr *lmr;	/* for control calls, under lmr.c's lock */
} ____cacheline_aligned;

struct kdapl_lmr_desc_page {
	struct kdapl_lmr_desc desc[KDAPL_LMR_PAGE_DESCS];
};

extern struct kdapl_lmr_desc_page *kdapl_lmr_pages[KDAPL_LMR_PAGES];

/* The zone half of kdapl_lmr_desc.zp */
#define KDAPL_ZONE_SHIFT	8
#define KDAPL_ZONE_MASK		(~0U << KDAPL_ZONE_SHIFT)

/* Table entry of a context; compare desc->context before believing it. Read section */
static __always_inline const struct kdapl_lmr_desc *kdapl_lmr_desc(DAT_LMR_CONTEXT context)
{
	u32 idx = context & ((1U << KDAPL_LMR_INDEX_BITS) - 1);

	return &READ_ONCE(kdapl_lmr_pages[idx >> KDAPL_LMR_PAGE_SHIFT])->desc[idx &
			(KDAPL_LMR_PAGE_DESCS - 1)];
}

/**
 * struct kdapl_lmr - local memory region
 * @obj:   header; obj.users counts RMRs bound to it
 * @pz:    its zone (used)
 * @mr:    the region; NULL on a shell
 * @sgt:   mapped pages, for the unmap
 * @desc:  entry in the table; NULL once it has been emptied
 * @param: what dat_lmr_query tells
 * @dying: dat_lmr_free: @free_work frees the LMR too
 * @free_work: after a grace period: the MR, the entry of the table
 */
struct kdapl_lmr {
	struct kdapl_obj obj;
	struct kdapl_pz *pz;
	struct ib_mr *mr;
	struct sg_table sgt;
	struct kdapl_lmr_desc *desc;
	DAT_LMR_PARAM param;
	bool dying;
	struct rcu_work free_work;
};

/* Pages that are to be registered, before anything is mapped */
struct kdapl_region {
	struct page **pages;
	u32 npages;
	u32 offset;			/* in the first page */
	u64 length;
	u64 iova;			/* registered address */
};

/*
 * lmr_region.c: check and collect the pages of a region, at most @max of them.
 * 0, -EFAULT (an address that is none), -EMSGSIZE, -ENOMEM
 */
int kdapl_region_virtual(struct kdapl_region *r, const void *va, u64 length, u32 max);
int kdapl_region_physical(struct kdapl_region *r, const DAT_PADDR *array,
			  u64 page_size, u64 length, u32 max);
int kdapl_region_lmr(struct kdapl_region *r, const struct kdapl_lmr *lmr, u64 length);
void kdapl_region_free(struct kdapl_region *r);

/* lmr_table.c: descriptors. An entry is filled, emptied, and put after a grace period */
struct kdapl_lmr_desc *kdapl_lmr_desc_get(struct kdapl_lmr *lmr, u32 *context);
void kdapl_lmr_desc_fill(struct kdapl_lmr_desc *desc, const struct kdapl_lmr *lmr);
void kdapl_lmr_desc_empty(struct kdapl_lmr_desc *desc);
void kdapl_lmr_desc_put(u32 context);
int kdapl_lmr_init(void);
void kdapl_lmr_exit(void);
/* lmr_free.c */
void kdapl_lmr_unmap(struct kdapl_lmr *lmr, struct ib_device *ibdev);
void kdapl_lmr_free_work(struct work_struct *work);
void kdapl_lmr_destroy(struct kdapl_lmr *lmr);
void kdapl_lmr_shell(struct kdapl_lmr *lmr);

static inline struct kdapl_lmr *to_kdapl_lmr(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_lmr, obj);
}

/* ---- evd.c ------------------------------------------------------------- */

/* Makes an EVD and adds it to the IA; the caller has checked the arguments */
int kdapl_evd_create(struct kdapl_ia *ia, u32 qlen, DAT_UPCALL_POLICY policy,
		     const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS streams,
		     struct kdapl_evd **out);
void kdapl_evd_destroy(struct kdapl_evd *evd);

/* ---- solicited.c ------------------------------------------------------- */

/**
 * struct kdapl_scq - CQ of receives in solicited-wait mode, polled by us
 * @cq:    raw CQ armed IB_CQ_SOLICITED
 * @fired: the device has called since the work ran
 * @nfired: times that led to notifications; parking EPs compare it
 * @again: polls by the timer that follow closely, see kdapl_scq_flush_soon()
 * @dead:  it is being destroyed
 * @lock:  one poller at a time; never held over an upcall (receives on it
 *         are queued for the deferred deliverer)
 * @work:  polls when the device calls or we are kicked
 * @timer: slow poll, for errors the device does not announce
 * @node:  on evd->scqs, so that dequeue of an empty EVD polls
 */
struct kdapl_scq {
	struct ib_cq *cq;
	struct kdapl_evd *evd;
	bool fired;
	bool dead;
	atomic_t nfired;
	unsigned int again;
	spinlock_t lock;	/* one poller at a time */
	struct work_struct work;
	struct delayed_work timer;
	struct list_head node;
};

struct kdapl_scq *kdapl_scq_create(struct ib_device *ibdev, struct kdapl_evd *evd,
				   u32 nr_cqe, int comp_vector);
void kdapl_scq_destroy(struct kdapl_scq *scq);
/* Any context: have it polled soon */
void kdapl_scq_kick(struct kdapl_scq *scq);
/* Any context: a flush is under way that the device may not announce */
void kdapl_scq_flush_soon(struct kdapl_scq *scq);
/* Any context but a raw CQ handler: poll here, until empty or one batch */
void kdapl_scq_poll(struct kdapl_scq *scq);
void kdapl_scq_poll_once(struct kdapl_scq *scq);

/* ---- srq.c ------------------------------------------------------------- */

/**
 * struct kdapl_cq - CQ of one EP, or of the EPs of one SRQ on one recv EVD
 * @cq:       from ib_alloc_cq, softirq
 * @scq:      receives in solicited-wait mode; or NULL
 * @node:     on srq->cqs, guarded by srq->mutex; unused without SRQ
 * @recv_evd: EVD of the EPs that share it
 * @room:     entries left for the requests of further EPs
 * @users:    EPs on it
 */
struct kdapl_cq {
	struct ib_cq *cq;
	struct kdapl_scq *scq;
	struct list_head node;
	struct kdapl_evd *recv_evd;
	u32 room;
	u32 users;
};

#define KDAPL_SRQ_HASH_BITS	8

/**
 * struct kdapl_srq - shared receive queue
 * @obj:   header; obj.users counts EPs
 * @srq:   NULL on a shell; RCU, posts read it
 * @pool:  slots
 * @zone:  pz->zone << KDAPL_ZONE_SHIFT, compared with descriptors
 * @state: DAT_SRQ_STATE
 * @mutex: guards @cqs and writes to @eps
 * @eps:   EPs by the value of their QP pointer; RCU
 * @max_iov: segments per buffer
 * @pz:    zone of the buffers (used)
 * @low_watermark: as armed
 * @lost:  completions whose EP had gone; their buffers stay outstanding
 */
struct kdapl_srq {
	struct kdapl_obj obj;
	struct ib_srq __rcu *srq;
	u32 zone;
	u32 max_iov;
	struct kdapl_pool pool;
	struct kdapl_pz *pz;
	DAT_SRQ_STATE state;
	u32 low_watermark;
	struct mutex mutex;	/* cqs, writes to eps */
	struct list_head cqs;
	DECLARE_HASHTABLE(eps, KDAPL_SRQ_HASH_BITS);
	atomic64_t lost;
};

void kdapl_srq_destroy(struct kdapl_srq *srq);
void kdapl_srq_shell(struct kdapl_srq *srq);
/* Enters and leaves srq->eps; ep->mutex held */
void kdapl_srq_attach(struct kdapl_ep *ep, const struct ib_qp *qp);
void kdapl_srq_detach(struct kdapl_ep *ep);
/* CQ of an EP, shared along its SRQ where it has one; process context. Or ERR_PTR */
struct kdapl_cq *kdapl_cq_get(struct kdapl_ep *ep, struct ib_device *ibdev);
void kdapl_cq_put(struct kdapl_ep *ep, struct kdapl_cq *cq);

static inline struct kdapl_srq *to_kdapl_srq(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_srq, obj);
}

/* ---- ep.c -------------------------------------------------------------- */

/**
 * struct kdapl_sq - request queue of an EP
 * @lock: slot and verbs call of a request happen under it, because runs of
 *        unsignalled requests need queue order
 * @pool: slots; get under @lock, put anywhere
 * @run:  ring of the indexes of unsignalled requests whose fate is unknown,
 *        in posting order; @run_tail is written under @lock, @run_head by the
 *        completion of requests (one at a time for an EP)
 * @run_mask: size of the ring less one
 * @run_len: unsignalled requests since the last signalled one; under @lock
 * @run_max: request number so many of a run is signalled all the same
 *
 * kdapl_slot.run_end of a request is @run_tail when it was posted: a
 * completion releases the members up to there, see complete.c.
 */
struct kdapl_sq {
	spinlock_t lock ____cacheline_aligned_in_smp;	/* see above */
	u32 run_tail;
	u32 run_len;
	u32 run_max;
	u32 run_mask;
	u32 *run;
	struct kdapl_pool pool;
	u32 run_head ____cacheline_aligned_in_smp;
};

/* A work request of our own: the marker, or one of the two drains */
struct kdapl_marker {
	struct ib_cqe cqe;
	struct kdapl_ep *ep;
	struct completion done;
	bool busy;		/* with the device; under sq.lock, as @done and: */
	bool refused;		/* the device did not take it */
	u32 run_end;		/* as kdapl_slot.run_end */
	union {
		struct ib_rdma_wr rdma;
		struct ib_recv_wr recv;
	};
};

/* kdapl_ep.post: which calls the state lets through */
#define KDAPL_EP_MAY_SEND	0x01
#define KDAPL_EP_MAY_RECV	0x02

/* kdapl_ep.slow: why a completion leaves the straight path */
#define KDAPL_EP_PARK		0x01	/* no connection yet: park it */
#define KDAPL_EP_WATCH		0x02	/* DISCONNECT_PENDING: the work waits for requests */

/* kdapl_ep.todo: bits for the connection work, see cm.c */
enum kdapl_todo {
	KDAPL_TODO_RESPONSE,	/* CM: the peer accepted */
	KDAPL_TODO_ESTABLISHED,	/* CM: passive side complete */
	KDAPL_TODO_FAILED,	/* CM: attempt failed, ep->fail_number says how */
	KDAPL_TODO_PEER_GONE,	/* CM: DISCONNECTED */
	KDAPL_TODO_BREAK,	/* an error completion, or the address is gone */
	KDAPL_TODO_DISCONNECT,	/* Consumer, abrupt */
	KDAPL_TODO_GRACEFUL,	/* Consumer, graceful; or a request completed meanwhile */
	KDAPL_TODO_TIMEOUT,	/* our timer: connect or accept took too long */
	KDAPL_TODO_EARLY_RECV,	/* a receive was parked: rdma_notify(COMM_EST) */
	KDAPL_TODO_MARKER,	/* idle query found an unsignalled tail */
};

/* First real error of a connection (P6, G-36) */
struct kdapl_first_error {
	bool valid;
	u8 op;			/* DAT_DTOS */
	u8 status;		/* enum ib_wc_status */
	u32 vendor;
	u32 behind;		/* posts of that queue outstanding behind it */
};

/**
 * struct kdapl_ep - endpoint
 * @obj:    header
 * @qp:     NULL while unconfigured and on a shell; RCU. Written under @mutex
 * @post:   KDAPL_EP_MAY_*; follows @state
 * @slow:   KDAPL_EP_PARK, KDAPL_EP_WATCH; written under @lock
 * @zone:   pz->zone << KDAPL_ZONE_SHIFT
 * @bad_send_flags: completion flags that a send must not carry; the other
 *          two alike for RDMA and for receives
 * @state:  DAT_EP_STATE; written under @lock
 * @rq:     receive slots (depth 0 with an SRQ)
 * @sq:     request queue
 * @lock:   guards @state, @post, @slow, @parked, @first_error, @qp_moved and
 *          what the CM callbacks write (@fail_number, private data)
 * @mutex:  serialises connect, accept, reset, the connection work, removal
 * @parked: completions of before the connection, oldest first, and the tail;
 *          with @hold software flushes that wait for the device's own
 * @qp_moved: we have moved the QP to ERROR, flushes are our doing
 * @live_attempt: an outcome event is still owed; under @lock (C-40)
 * @end_owed: ESTABLISHED was given, an end event is still owed; under @lock (C-41)
 * @dying:  dat_ep_free has begun; under @mutex
 * @shell:  the verbs objects are gone; under @mutex
 * @cm_id:  of the present attempt; under @mutex
 * @todo:   enum kdapl_todo bits, any context; @work acts on them
 * @timer:  sets KDAPL_TODO_TIMEOUT
 * @outcome: the attempt's outcome event, @end: the end event
 * @private_in: peer's private data in the outcome event; stays until reset
 * @private_out: ours, between dat_ep_connect and the request
 * @offer: parameters of that request; constant while the id lives
 * @deadline: jiffies at which @timer says time-out; under @mutex
 * @passive: the EP accepts; under @lock and @mutex
 * @cancelled: the Consumer has given the attempt up, DISCONNECTED is its
 *          outcome; under @lock
 * @clean_end: a disconnect of either side came before any break; under @lock
 * @posts_seen: graceful: posts that saw CONNECTED are in the queue; under @mutex
 */
struct kdapl_ep {
	struct kdapl_obj obj;
	struct ib_qp __rcu *qp;
	u8 post;
	u8 slow;
	u8 state;
	bool srq_attached;
	u32 zone;
	u32 bad_send_flags;
	u32 bad_rdma_flags;
	u32 bad_recv_flags;
	u32 max_send_iov;
	u32 max_read_iov;
	u32 max_write_iov;
	u32 max_recv_iov;
	u32 max_message;
	u32 max_rdma;
	u32 max_reads_out;
	struct kdapl_evd *recv_evd;
	struct kdapl_evd *request_evd;
	struct kdapl_evd *connect_evd;
	struct kdapl_scq *scq;		/* its receives are in solicited-wait mode */
	struct kdapl_pool rq;
	struct kdapl_sq sq;

	spinlock_t lock;	/* state, parked, first_error, ... */
	struct kdapl_event *parked;
	struct kdapl_event *parked_tail;
	int parked_fired;		/* scq->nfired when the first was parked */
	bool hold;
	bool qp_moved;
	bool live_attempt;
	bool end_owed;
	struct kdapl_first_error first_error;

	struct mutex mutex;	/* control, the work */
	bool dying;
	bool shell;
	struct kdapl_pz *pz;
	struct kdapl_srq *srq;
	struct kdapl_cq *cq;
	struct hlist_node srq_node;	/* srq->eps, by qp_value */
	const struct ib_qp *qp_value;
	DAT_EP_ATTR attr;
	int comp_vector;		/* kdapl.comp_vector, -1: the core chooses */

	struct rdma_cm_id *cm_id;
	bool passive;
	unsigned long todo;
	struct work_struct work;
	struct delayed_work timer;
	DAT_EVENT_NUMBER fail_number;
	struct kdapl_conn_event outcome;
	struct kdapl_conn_event end;
	struct sockaddr_storage remote;
	DAT_CONN_QUAL conn_qual;
	u16 local_port;
	u16 remote_port;
	u16 private_in_len;
	u8 private_in[KDAPL_REPLY_PRIVATE];
	u8 private_out[KDAPL_REQUEST_PRIVATE];
	struct rdma_conn_param offer;
	unsigned long deadline;
	bool cancelled;
	bool clean_end;
	bool posts_seen;

	struct completion last_wqe;	/* drain of an SRQ EP */
	struct kdapl_marker marker;
	struct kdapl_marker sq_drain;
	struct kdapl_marker rq_drain;

	/* dat_ep_query's provider-specific attributes; filled under @lock */
	DAT_NAMED_ATTR named[2];
	char first_error_text[48];
	char comp_vector_text[12];
};

/* Process context, handle out of the table and grace period over */
void kdapl_ep_destroy(struct kdapl_ep *ep);
/* Device removal: DISCONNECTED with its events, drained, verbs objects gone */
void kdapl_ep_shell(struct kdapl_ep *ep);
/* Takes undelivered events back, waits for an upcall that carries one; process context */
void kdapl_ep_take_back(struct kdapl_ep *ep);
/* ep_qp.c: pools, CQ and QP; a new QP in INIT on the EP's CQ, or ERR_PTR */
int kdapl_ep_build(struct kdapl_ep *ep, struct ib_device *ibdev);
void kdapl_ep_exit_pools(struct kdapl_ep *ep);
struct ib_qp *kdapl_ep_make_qp(struct kdapl_ep *ep);
void kdapl_ep_drop_verbs(struct kdapl_ep *ep);
/* Is the caller inside an upcall of one of the EP's EVDs (C-59)? */
bool kdapl_ep_in_upcall(struct kdapl_ep *ep);
/* ep_attr.c: the defaults, and the checks of a Consumer's attributes */
void kdapl_ep_attr_default(const struct kdapl_ia *ia, DAT_EP_ATTR *attr);
DAT_RETURN kdapl_ep_attr_check(const struct kdapl_ia *ia, const DAT_EP_ATTR *attr, bool srq,
			       DAT_RETURN bad, int *comp_vector);

static inline struct kdapl_ep *to_kdapl_ep(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_ep, obj);
}

/* Have the connection work look at @what; any context */
static inline void kdapl_ep_kick(struct kdapl_ep *ep, enum kdapl_todo what)
{
	set_bit(what, &ep->todo);
	queue_work(kdapl_wq, &ep->work);
}

/* ---- drain.c ----------------------------------------------------------- */

/*
 * Moves @qp to ERROR and waits (KDAPL_DRAIN_TIMEOUT_MS x stretch, unbounded
 * with @wait_all) until every completion of it has been through done().
 * Process context, ep->mutex held. 0, -ETIMEDOUT.
 */
int kdapl_ep_drain(struct kdapl_ep *ep, struct ib_qp *qp, bool wait_all);
/* Posts the marker once behind an unsignalled tail; process context */
void kdapl_ep_post_marker(struct kdapl_ep *ep);
/* Requests that have not completed, unsignalled ones of unknown fate included */
bool kdapl_ep_requests_idle(struct kdapl_ep *ep);
void kdapl_marker_init(struct kdapl_ep *ep);

/* ---- cm.c -------------------------------------------------------------- */

/* Prepares work, timer and events of a new EP */
void kdapl_cm_setup(struct kdapl_ep *ep);
/*
 * Ends connection or attempt of an EP that is going away or has lost its
 * device: QP to ERROR, drained, peer told, id destroyed, state DISCONNECTED.
 * With @events the outcome or end event owed is queued (removal). ep->mutex
 * held. The work may still run afterwards and then finds nothing to do.
 */
void kdapl_cm_end(struct kdapl_ep *ep, bool events);
/*
 * Attaches a child id to an EP and completes the passive side: RTR, RTS,
 * rdma_accept, timer; EP to COMPLETION_PENDING. ep->mutex held; the id is the
 * EP's from then on. What fails is reported as ACCEPT_COMPLETION_ERROR.
 */
void kdapl_cm_accept(struct kdapl_ep *ep, struct rdma_cm_id *id,
		     const struct rdma_conn_param *req, const void *data, u8 len);
/* KDAPL_TODO_TIMEOUT after @delay jiffies, never earlier. ep->mutex held */
void kdapl_cm_timer_start(struct kdapl_ep *ep, unsigned long delay);
/* Looks for the peer; a failure is one of the attempt. ep->mutex held */
void kdapl_cm_resolve(struct kdapl_ep *ep, const struct sockaddr_storage *remote);
/* rdma_cm callback of ids that belong to an EP */
int kdapl_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
/* Before reset: the id of the last attempt goes. ep->mutex held */
void kdapl_cm_reset(struct kdapl_ep *ep);

/* ---- connect.c --------------------------------------------------------- */

/* Is there a route? 0, -ENETUNREACH and the like */
int kdapl_cm_route(const struct sockaddr_storage *local, const struct sockaddr_storage *remote);
/* A new id on the IA's address, device and port; or ERR_PTR */
struct rdma_cm_id *kdapl_cm_bind(struct kdapl_ia *ia, struct ib_device *ibdev,
				 rdma_cm_event_handler handler, void *context, u16 port);
/* An attempt with @id begins: fields, state. ep->mutex held */
void kdapl_cm_begin(struct kdapl_ep *ep, struct rdma_cm_id *id, bool passive);
/* IP port of a qualifier (contract 7.1) */
u16 kdapl_cm_port(DAT_CONN_QUAL qual);
/* Checks and normalises a Consumer's address, port zero. DAT_SUCCESS, INVALID_ADDRESS */
DAT_RETURN kdapl_cm_address(const struct sockaddr *in, struct sockaddr_storage *out);

/* ---- cr.c, psp.c ------------------------------------------------------- */

/**
 * struct kdapl_cr - connection request
 * @obj:     header; published while it waits for an answer
 * @ev:      its event
 * @psp:     service point, whose backlog it is from (a reference on psp->mem)
 * @free_node: on psp->free; psp->lock
 * @ref:     the object, and its event while that is queued
 * @id:      child id; by xchg(), who gets it answers. NULL on a shell
 * @param:   what the request offered
 * @withdrawn: the CM has said that the peer gave up
 * @work:    announces it, or with @ref 0 puts it back into the backlog
 *
 * What the callback copied is constant until the memory is used again.
 */
struct kdapl_cr {
	struct kdapl_obj obj;
	struct kdapl_event ev;
	struct kdapl_psp *psp;
	struct list_head free_node;
	refcount_t ref;
	struct rdma_cm_id *id;
	struct rdma_conn_param param;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u16 local_port;
	u16 remote_port;
	u8 private_data[KDAPL_REQUEST_PRIVATE];
	u8 private_len;
	bool withdrawn;
	struct work_struct work;
};

/**
 * struct kdapl_psp - public service point
 * @obj:   header
 * @id:    listening id; NULL on a shell
 * @evd:   where requests are announced (used until the PSP is freed)
 * @evd_handle: its handle, by which CRs that outlive the PSP find it
 * @qual:  qualifier asked for, reported in events
 * @lock:  guards @free, @ncr and @closed against the CM callback
 * @free:  CRs out of @crs that nobody uses
 * @ncr:   CRs that wait
 * @backlog: size of @crs
 * @closed: no longer listening; what is not announced yet is refused
 * @mem:   this memory: the PSP and each CR in use
 */
struct kdapl_psp {
	struct kdapl_obj obj;
	struct rdma_cm_id *id;
	struct kdapl_evd *evd;
	DAT_EVD_HANDLE evd_handle;
	DAT_CONN_QUAL qual;
	DAT_PSP_FLAGS flags;
	spinlock_t lock;	/* free, ncr */
	struct list_head free;
	u32 ncr;
	u32 backlog;
	bool closed;
	refcount_t mem;
	struct kdapl_cr crs[];
};

void kdapl_psp_destroy(struct kdapl_psp *psp);
void kdapl_psp_shell(struct kdapl_psp *psp);
void kdapl_cr_destroy(struct kdapl_cr *cr);
void kdapl_cr_shell(struct kdapl_cr *cr);
/* dat_evd_free: an undelivered CR is rejected as non-peer (E-46). Process context */
void kdapl_cr_drop(struct kdapl_event *ev);
/* Between the two files: the way of a CR out of the backlog and back */
void kdapl_cr_setup(struct kdapl_cr *cr, struct kdapl_psp *psp);
void kdapl_cr_arrive(struct kdapl_cr *cr, struct rdma_cm_id *id,
		     const struct rdma_conn_param *param);
void kdapl_psp_uncount(struct kdapl_cr *cr);
void kdapl_psp_recycle(struct kdapl_cr *cr);

static inline struct kdapl_psp *to_kdapl_psp(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_psp, obj);
}

static inline struct kdapl_cr *to_kdapl_cr(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_cr, obj);
}

/* Its object is consumed, or its event handed over. Any context */
static inline void kdapl_cr_put(struct kdapl_cr *cr)
{
	if (refcount_dec_and_test(&cr->ref))
		queue_work(kdapl_wq, &cr->work);
}

/* ---- complete.c: softirq ----------------------------------------------- */

/*
 * Changes the state, and @post and @slow with it: DISCONNECTED turns what is
 * parked into FLUSHED events and ends parking (dat_ep_reset begins it again).
 * CONNECTED is reached by kdapl_ep_go_live() only. ep->lock held.
 */
void kdapl_ep_set_state(struct kdapl_ep *ep, DAT_EP_STATE state);

void kdapl_request_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_srq_recv_done(struct ib_cq *cq, struct ib_wc *wc);
/*
 * EP becomes CONNECTED: state, outcome event ESTABLISHED (with
 * ep->private_in_len bytes of ep->private_in), parked completions, in this
 * order under ep->lock, which it takes. Clears live_attempt, sets end_owed.
 * False, nothing done, if the state is not one that may or no outcome is owed.
 */
bool kdapl_ep_go_live(struct kdapl_ep *ep);
/* Keeps software flushes back until the QP's own have been seen; process context */
void kdapl_ep_hold(struct kdapl_ep *ep);
void kdapl_ep_unhold(struct kdapl_ep *ep);
/* An unsuccessful completion of an operation: what it means for its connection (G-31, P6) */
void kdapl_note_error(struct kdapl_ep *ep, DAT_DTOS op, const struct ib_wc *wc);
/* Releases the unsignalled requests before position @end of the run ring */
void kdapl_run_release(struct kdapl_sq *sq, u32 end);
/* Queues outcome or end; ep->lock held */
void kdapl_ep_queue_conn(struct kdapl_ep *ep, struct kdapl_conn_event *ce,
			 DAT_EVENT_NUMBER number, u16 private_len);
/* Completes a post of an EP without QP: FLUSHED, by the deferred deliverer */
void kdapl_flush_in_software(struct kdapl_ep *ep, struct kdapl_slot *slot);

/* ---- debugfs.c --------------------------------------------------------- */

extern struct dentry *kdapl_debugfs;
void kdapl_debugfs_init(void);
void kdapl_debugfs_exit(void);

/* ---- small helpers ----------------------------------------------------- */

static inline unsigned long kdapl_timeout_ms(unsigned int ms)
{
	return msecs_to_jiffies(ms * (kdapl_stretch ?: 1));
}

#endif /* _KDAPL_H_ */
