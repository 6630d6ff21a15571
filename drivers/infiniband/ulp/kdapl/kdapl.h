/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kDAPL: the module's own structures, and all internal prototypes by file.
 * Endpoints and connections stand in ep.h and cm.h, which this header includes.
 *
 * Calls go one way: main, control (ia, pz, lmr, evd, ep, srq, cm, psp,
 * registry, debugfs), hot (post, complete, event), mechanism (handle, pool,
 * status, device, drain, solicited, trace), RDMA core. What must go up is
 * data: a work item, a registered callback, the Consumer's upcall.
 *
 * Locks, outermost first (kdapl-locking.rst has the reasons):
 *   kdapl_device_mutex, kdapl_ia.sem, kdapl_ep.mutex, handler_mutex of a
 *   cm_id (rdma_cm's), kdapl_ia.mutex, kdapl_pz.mutex, kdapl_srq.mutex; then
 *   spinlocks: kdapl_sp.lock, kdapl_scq.lock, kdapl_sq.lock, kdapl_rmr.lock or
 *   kdapl_lmr.lock, kdapl_pz.map_lock, kdapl_ep.lock, kdapl_evd.lock.
 * No rdma_* call is made under a lock that a CM callback takes; callbacks
 * take spinlocks only.
 */
#ifndef _KDAPL_H_
#define _KDAPL_H_

#include <linux/hashtable.h>
#include <linux/in6.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include <dat/kdat.h>
#include "event.h"
#include "handle.h"
#include "pool.h"
#include "status.h"
#include "wr.h"

struct dentry;
struct iommu_domain;
struct kdapl_device;
struct kdapl_ep;
struct kdapl_lmr;

#define KDAPL_REQUEST_PRIVATE	56	/* usable bytes of a connection request */
#define KDAPL_REPLY_PRIVATE	196
#define KDAPL_REJECT_PRIVATE	148
#define KDAPL_REJECT_PREFIX	4	/* version word in front of reject data */
#define KDAPL_MAX_RETRY		6	/* rxe takes 7 as for ever */
#define KDAPL_RNR_RETRY		7	/* for ever, and meant so */
#define KDAPL_MIN_RNR_TIMER	12	/* 0.64 ms; the core's 0 means 655 ms */
#define KDAPL_MAX_ACK_TIMEOUT	20	/* 4.3 s; seven of them are the 30 s of C-51 */
#define KDAPL_RESOLVE_TIMEOUT_MS 4000	/* address, and route, of a peer */
#define KDAPL_ACCEPT_TIMEOUT_MS	30000	/* C-51 */
#define KDAPL_DRAIN_TIMEOUT_MS	700	/* C-56 leaves 1 s for all of it */
#define KDAPL_LINGER_MS		10	/* for an answer in flight when a connection ends */
#ifndef KDAPL_LAST_WQE_MS
#define KDAPL_LAST_WQE_MS	5000	/* for the last buffer of an SRQ EP */
#endif
#define KDAPL_INIT_PKEY_INDEX	0	/* while the path of a QP is not known */
/* Send queue entries beyond the Consumer's: the marker and the drain */
#define KDAPL_SQ_RESERVED	2
/* CQ entries beyond the Consumer's: marker, send drain, receive drain */
#define KDAPL_CQ_RESERVED	3

/* ---- common.c ---------------------------------------------------------- */

/* Both WQ_MEM_RECLAIM and unbound; see kdapl_common_init() */
extern struct workqueue_struct *kdapl_wq;	/* may block: connections, regions, devices */
extern struct workqueue_struct *kdapl_evd_wq;	/* never blocks: delivery, solicited CQs */
/* Test systems slower than real time stretch our internal time-outs by it */
extern unsigned int kdapl_stretch;
/* Maximum number of pages of one registration, even if the device allows more */
extern unsigned int kdapl_max_reg_pages;
/* Number of grace periods that kdapl_grace() has waited for */
extern atomic_t kdapl_graces;

void kdapl_grace(void);
int kdapl_common_init(void);
void kdapl_common_exit(void);

/* ---- page.c: which pages may be registered; any context ------------------ */

#define KDAPL_PRIV_WRITE (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

int kdapl_page_init(void);
void kdapl_page_exit(void);
int kdapl_page_check_reserved(unsigned long pfn, DAT_MEM_PRIV_FLAGS priv);
bool kdapl_va_writable(const void *va, bool image);
bool kdapl_sg_bounced(struct device *dev, struct iommu_domain *domain, struct scatterlist *sg,
		      unsigned int npages);
bool kdapl_sg_needs_sync(struct ib_device *ibdev, struct scatterlist *sg, unsigned int n,
			 unsigned int npages);

/* May a page be registered? 0, -EFAULT it is not memory, -EACCES it is read-only */
static inline int kdapl_page_check(unsigned long pfn, DAT_MEM_PRIV_FLAGS priv)
{
	if (likely(pfn_valid(pfn) && !PageReserved(pfn_to_page(pfn))))
		return 0;
	return kdapl_page_check_reserved(pfn, priv);
}

/* ---- device.c ---------------------------------------------------------- */

/* What the device and our own rules allow; filled once, when a device comes */
struct kdapl_limits {
	u32 max_eps;
	u32 max_dto_per_ep;
	u32 max_qp_wr;
	u32 max_cqe;
	u32 max_evd_qlen;
	u32 max_iov;			/* send and receive, of an SRQ too */
	u32 max_iov_read;
	u32 max_iov_write;
	u32 max_rd_atom_in;		/* per EP, as target */
	u32 max_rd_atom_out;		/* per EP, as initiator */
	u32 max_srqs;
	u32 max_srq_wr;			/* max_recv_per_srq */
	u32 max_mr;			/* for LMRs and RMRs, less the one of a PZ */
	u32 page_list_len;		/* of one fast registration */
	u32 max_block;			/* bytes of an LMR, at any offset in a page */
	u32 max_message;
	u32 max_rdma;
	bool ordered_inv;		/* an invalidation waits for all requests before it */
};

/**
 * struct kdapl_device - one RDMA device that can serve us
 * @ibdev:  valid until remove() returns
 * @node:   on the list of devices; guarded by kdapl_device_mutex
 * @ias:    open IAs (kdapl_ia.dev_node); guarded by kdapl_device_mutex
 * @wait:   remove() waits here for @ias to become empty
 * @handler: async events of the device (GID change, fatal, port active)
 * @events: KDAPL_DEV_*, what @event_work has to look at; atomic bits
 * @event_work: acts on @events
 * @keys:   LMRs and RMRs by the keys of their MRs; keys.c
 * @limits: constant
 * @unfit:  why no IA can be opened on it, or NULL; constant
 * @notice_lock: guards @notices; taken alone
 * @notices: disconnects that wait for their port; notice.c
 * @notice_work: looks at them
 */
struct kdapl_device {
	struct ib_device *ibdev;
	struct list_head node;
	struct list_head ias;
	wait_queue_head_t wait;
	struct ib_event_handler handler;
	unsigned long events;
	struct work_struct event_work;
	struct xarray keys;
	struct kdapl_limits limits;
	const char *unfit;
	spinlock_t notice_lock;	/* notices */
	struct list_head notices;
	struct delayed_work notice_work;
};

extern struct mutex kdapl_device_mutex;
extern struct list_head kdapl_devices;

int kdapl_device_init(void);
void kdapl_device_exit(void);
struct kdapl_device *kdapl_device_alloc(struct ib_device *ibdev);
void kdapl_device_free(struct kdapl_device *dev);
bool kdapl_device_port_usable(struct ib_device *ibdev, u32 port);
/* Checks the addresses of all IAs after a change; process context */
bool kdapl_device_check_addrs(struct llist_node *gone, bool ipoib);
/*
 * Parses an IA name; under kdapl_device_mutex. 0, -ENODEV, -EADDRNOTAVAIL
 * (then @dev and @port are valid all the same)
 */
int kdapl_device_resolve(const char *name, struct kdapl_device **dev, u32 *port,
			 struct sockaddr_storage *addr, struct net **net);

/* ---- addr.c ------------------------------------------------------------ */

/*
 * The watcher looks for a missing GID once more after this time, before the address
 * counts as lost: the core removes GIDs before it adds them again.
 */
#define KDAPL_ADDR_GRACE_MS	200

/* An address that a net device has lost */
struct kdapl_addr_deleted {
	struct llist_node node;
	struct in6_addr addr;		/* IPv4: mapped */
	int ifindex;			/* of the net device */
	const struct net *net;		/* its namespace, only compared */
};

int kdapl_addr_init(void);
void kdapl_addr_exit(void);
/* Schedules the watcher, which checks the addresses of IAs; any context */
void kdapl_addr_changed(bool ipoib);
bool kdapl_addr_is(const struct kdapl_addr_deleted *del, struct ib_device *ibdev, u32 port,
		   const struct sockaddr_storage *addr, const struct net *net);
/* Does a change of addresses end the connection of this id, although the IA's exists? */
bool kdapl_addr_cut(const struct rdma_cm_id *id, u32 port);
/* An address that leads to a port, and its namespace with a reference */
bool kdapl_addr_find(struct ib_device *ibdev, u32 port, const char *netdev,
		     const struct net *home, const struct sockaddr_storage *want,
		     struct sockaddr_storage *addr, struct net **net);
/* Does the net device, which leads to a port of @ibdev, have this IP address? RCU */
bool kdapl_addr_on_netdev(struct ib_device *ibdev, const struct net_device *ndev,
			  const struct sockaddr_storage *addr);
/* Is the port still reached by this IP address, in this namespace? */
bool kdapl_addr_stands(struct ib_device *ibdev, u32 port, const struct sockaddr_storage *addr,
		       const struct net *net);
/* Has the address gone on which the id stands, be it back by now? */
bool kdapl_addr_unbound(const struct rdma_cm_id *id);
/* Can the device move data in this namespace? */
bool kdapl_addr_serves(const struct ib_device *ibdev, const struct net *net);
/* GID of an address (any other of the port if it is gone); rdma_put_gid_attr() it */
const struct ib_gid_attr *kdapl_addr_gid(struct ib_device *ibdev, u32 port,
					 const struct sockaddr_storage *addr);

/* ---- ia.c -------------------------------------------------------------- */

/**
 * struct kdapl_ia - an open IA: one port and one IP address of a device
 * @obj:    header; obj.ia is the IA itself
 * @dev:    the device; NULL once the IA is a shell. Written under @sem and
 *          kdapl_device_mutex
 * @ibdev:  dev->ibdev; NULL on a shell; read under @sem by whoever makes
 *          verbs objects
 * @port:   port of the device
 * @name:   `<ibdev>/<port>`, for debugfs and the log
 * @owner:  name of the module that has opened it; empty: unknown. Constant from then on
 * @addr:   IP address of the port
 * @net:    network namespace of @addr, referenced; NULL on a shell
 * @addr_lost: @addr was gone when the device was last looked at
 * @addr_missed: its GID was missing, or it was deleted; under kdapl_device_mutex, as
 * @addr_missed_at: when that was seen first, in jiffies
 * @limits: copy of the device's, survives it
 * @attr:   what dat_ia_query tells, filled at open
 * @sem:    read: a call that makes verbs objects; write: the moment at which
 *          the IA becomes a shell
 * @mutex:  guards @objs and the flag rules of shared EVDs
 * @objs:   all objects by type
 * @nverbs: objects that still own verbs objects; removal waits for 0
 * @nqps:   EPs that may still own a QP; MRs that requests speak of go after them
 * @npds:   PZs that still own a PD; they go after all other verbs objects
 * @nrmrs:  RMRs that may still use LMRs, until a grace period after they were freed
 *          and their last request; dat_ia_close() takes the LMRs after them
 * @wait:   for @nverbs, @npds and @nrmrs, and for @objs to become empty
 * @mem:    the IA itself and every object on @objs: who drops the last frees
 * @shell:  the device is gone; written under @sem
 * @closing: dat_ia_close has begun; written under @sem
 * @fatal:  DAT_ASYNC_ERROR_IA_CATASTROPHIC has been raised (bit 0)
 * @sync_told: the log line about bounce buffers has been written (bit 0)
 * @own_async: @async_evd was made by us, and goes with us
 * @async_evd: stream of asynchronous events
 * @dev_node: on dev->ias, unless a shell; guarded by kdapl_device_mutex
 *
 * obj.users counts other IAs whose asynchronous events go to an EVD of ours.
 */
struct kdapl_ia {
	struct kdapl_obj obj;
	struct kdapl_device *dev;
	struct ib_device *ibdev;
	u32 port;
	char name[DAT_NAME_MAX_LENGTH];
	char owner[MODULE_NAME_LEN];
	struct sockaddr_storage addr;
	struct net *net;
	bool addr_lost;
	bool addr_missed;
	unsigned long addr_missed_at;
	struct kdapl_limits limits;
	DAT_IA_ATTR attr;
	struct rw_semaphore sem;
	struct mutex mutex;	/* objs, flags of shared EVDs */
	struct list_head objs[KDAPL_NTYPES];
	wait_queue_head_t wait;
	atomic_t nverbs;
	atomic_t nqps;
	atomic_t npds;
	atomic_t nrmrs;
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
		    struct net *net, int async_qlen, struct kdapl_evd *async_evd,
		    struct kdapl_ia **out);
/* Takes an IA apart, with all that belongs to it; the handle is out of the table */
void kdapl_ia_destroy(struct kdapl_ia *ia);
/* Woken whenever an IA has been closed */
extern wait_queue_head_t kdapl_ias_closed;
/* Closes the IAs that the module @owner (NULL: any Consumer) has left open */
void kdapl_ia_destroy_left(const char *owner);
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
/* A listed object has verbs objects from now on; ia->sem held for reading */
void kdapl_ia_verbs_get(struct kdapl_ia *ia);
/* The object's verbs objects are gone */
void kdapl_ia_verbs_put(struct kdapl_ia *ia);
/* The device is going: make every IA on it a shell. Called by device.c's remove() */
void kdapl_ia_remove(struct kdapl_ia *ia);
/* The IP address of the IA is gone (C-62), the device has failed; kdapl_device_mutex held */
void kdapl_ia_address_lost(struct kdapl_ia *ia);
void kdapl_ia_device_failed(struct kdapl_ia *ia);
/* It is there after a change of addresses; what was bound before may be broken. Mutex likewise */
void kdapl_ia_address_stands(struct kdapl_ia *ia);
/* Was one of them so when an attempt began? @ibdev: the IA's, alive */
bool kdapl_ia_unfit(struct kdapl_ia *ia, struct ib_device *ibdev);
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
 * @cq:    its CQ, polled by the waiter
 * @cq_event: wakes the waiter
 * @mrs:   MRs of the PD not deregistered yet, and one for the PZ itself: MRs
 *         outlive dat_lmr_free by a grace period
 * @mrs_gone: completed by the last of @mrs
 * @map_sg: what a bind shows its MR, for as long as it takes to map it; made
 *         with the first RMR, under @mutex
 * @map_lock: guards the content of @map_sg; the innermost of all
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
	struct scatterlist *map_sg;
	spinlock_t map_lock;	/* content of map_sg */
};

/* Process context; run one work request on the service QP and wait, bounded */
int kdapl_pz_register(struct kdapl_pz *pz, struct ib_mr *mr, int access);
int kdapl_pz_invalidate(struct kdapl_pz *pz, u32 rkey);
/* An MR of the PD comes, and has gone for good */
void kdapl_pz_mr_get(struct kdapl_pz *pz);
void kdapl_pz_mr_put(struct kdapl_pz *pz);
int kdapl_pz_make_map_sg(struct kdapl_pz *pz);
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
 * An lmr_context is page:14 | generation, high:6 | entry in the page:6 |
 * generation, low:6. So the page is found by one shift, and the offset in it
 * by one mask: a descriptor has 64 bytes.
 */
#define KDAPL_LMR_CTX_PAGE	18
#define KDAPL_LMR_CTX_ENTRY	((u32)(KDAPL_LMR_PAGE_DESCS - 1) << 6)
#define KDAPL_LMR_GENERATIONS	BIT(12)

static inline u32 kdapl_lmr_context(u32 generation, u32 idx)
{
	return idx >> KDAPL_LMR_PAGE_SHIFT << KDAPL_LMR_CTX_PAGE | (generation >> 6) << 12 |
	       (idx & (KDAPL_LMR_PAGE_DESCS - 1)) << 6 | (generation & 63);
}

static inline u32 kdapl_lmr_index(u32 context)
{
	return context >> KDAPL_LMR_CTX_PAGE << KDAPL_LMR_PAGE_SHIFT |
	       (context & KDAPL_LMR_CTX_ENTRY) >> 6;
}

static inline u32 kdapl_lmr_generation(u32 context)
{
	return (context >> 12 & 63) << 6 | (context & 63);
}

/*
 * What a post needs to know of an LMR, inline in the pages of a table that
 * grows and never shrinks.
 *
 * @zp is zone:24 | privileges:8, so that one XOR and one test check both;
 * 0 in an entry without LMR. An entry is emptied (zp, then context) before
 * the LMR is invalidated, and reused only after a grace period. @next_free of
 * a free entry: index of the next one, and the generation used last, as in a
 * context; lmr_table.c's lock.
 */
struct kdapl_lmr_desc {
	u64 base;			/* what makes an address an offset: less the start */
	u64 length;
	u32 lkey;
	u32 zp;
	u32 context;
	u32 next_free;
	struct kdapl_lmr *lmr;	/* for calls that found the entry full, under RCU */
} __aligned(64);

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
	void *page = READ_ONCE(kdapl_lmr_pages[context >> KDAPL_LMR_CTX_PAGE]);

	return page + (context & KDAPL_LMR_CTX_ENTRY);
}

#include "fast.h"

/**
 * struct kdapl_lmr - local memory region
 * @obj:   header; obj.users counts MRs of RMRs that show it, and requests of
 *         dat_lmr_fmr() and dat_lmr_invalidate() under way
 * @pz:    its zone (used)
 * @zone:  pz->zone << KDAPL_ZONE_SHIFT
 * @mr:    the region; NULL on a shell
 * @sgt:   mapped pages, for the unmap; @fast: the first of @max_pages entries
 * @desc:  entry in the table; full until the LMR is freed, on a shell too
 * @param: what dat_lmr_query tells
 * @shelled: the verbs objects went with the device
 * @fast:  it is from dat_lmr_allocate(); constant
 * @max_pages: @fast: what it was allocated for; constant
 * @lock:  guards what follows to @zp, and of @param what changes (@fast); taken
 *         inside kdapl_sq.lock
 * @fmr:   @fast: what requests make of @mr
 * @npages: @fast: entries of @sgt that are mapped
 * @dying: dat_lmr_free() has begun
 * @hostile: a peer has invalidated it that must not; @repair tells
 * @zp:    @fast: kdapl_lmr_desc.zp while it is registered
 * @repair: acts on @hostile, and replaces an MR of unknown state
 * @free_work: after a grace period: the MR, the entry of the table, the LMR
 */
struct kdapl_lmr {
	struct kdapl_obj obj;
	struct kdapl_pz *pz;
	struct ib_mr *mr;
	struct sg_table sgt;
	struct kdapl_lmr_desc *desc;
	DAT_LMR_PARAM param;
	u32 zone;
	bool shelled;
	bool fast;
	u32 max_pages;
	spinlock_t lock;	/* see above */
	struct kdapl_fast fmr;
	u32 npages;
	bool dying;
	bool hostile;
	u32 zp;
	struct work_struct repair;
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
int kdapl_region_virtual(struct kdapl_region *r, const void *va, u64 length, u32 max,
			 DAT_MEM_PRIV_FLAGS priv);
int kdapl_region_physical(struct kdapl_region *r, const DAT_PADDR *array, u64 page_size,
			  u64 length, u32 max, DAT_MEM_PRIV_FLAGS priv);
int kdapl_region_lmr(struct kdapl_region *r, const struct kdapl_lmr *lmr, u64 length);
void kdapl_region_free(struct kdapl_region *r);

/* lmr_table.c: descriptors. An entry is filled, emptied, and put after a grace period */
struct kdapl_lmr_desc *kdapl_lmr_desc_get(struct kdapl_lmr *lmr, u32 *context);
void kdapl_lmr_desc_fill(struct kdapl_lmr_desc *desc, const struct kdapl_lmr *lmr);
void kdapl_lmr_desc_refill(struct kdapl_lmr_desc *desc, const DAT_LMR_PARAM *param,
			   u32 lkey, u32 zp);
u32 kdapl_lmr_next_context(u32 context);
void kdapl_lmr_desc_empty(struct kdapl_lmr_desc *desc);
void kdapl_lmr_desc_put(u32 context);
int kdapl_lmr_init(void);
void kdapl_lmr_exit(void);
/* lmr.c: an LMR with its handle, its zone used, and nothing else; NULL and the reason */
struct kdapl_lmr *kdapl_lmr_alloc(struct kdapl_ia *ia, struct kdapl_pz *pz, DAT_RETURN *ret);
void kdapl_lmr_abort(struct kdapl_lmr *lmr);
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

/* An EVD for kdapl_ia_add(), or ERR_PTR; the caller has checked the arguments */
struct kdapl_evd *kdapl_evd_alloc(struct kdapl_ia *ia, u32 qlen, DAT_UPCALL_POLICY policy,
				  const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS streams);
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
void kdapl_scq_unlink(struct kdapl_scq *scq);
/* A grace period after kdapl_scq_unlink() */
void kdapl_scq_destroy(struct kdapl_scq *scq);
/* Any context: have it polled soon */
void kdapl_scq_kick(struct kdapl_scq *scq);
/* Any context: a flush is under way that the device may not announce */
void kdapl_scq_flush_soon(struct kdapl_scq *scq);
/* Poll here: all that is there, process context; one batch, any but a raw CQ handler */
void kdapl_scq_poll(struct kdapl_scq *scq);
void kdapl_scq_poll_once(struct kdapl_scq *scq);

/* ---- srq.c ------------------------------------------------------------- */

/**
 * struct kdapl_cq - CQ of one EP, or of the EPs of one SRQ on one recv EVD
 * @cq:       from ib_alloc_cq, softirq
 * @scq:      receives in solicited-wait mode; or NULL
 * @node:     on srq->cqs, guarded by srq->mutex; unused without SRQ
 * @recv_evd: EVD of the EPs that share it
 * @recv:     entries for receives: an SRQ may not become larger
 * @room:     entries left for the requests of further EPs
 * @users:    EPs on it
 */
struct kdapl_cq {
	struct ib_cq *cq;
	struct kdapl_scq *scq;
	struct list_head node;
	struct kdapl_evd *recv_evd;
	u32 recv;
	u32 room;
	u32 users;
};

#define KDAPL_SRQ_HASH_BITS	8

struct kdapl_srq;

/* Slots that dat_srq_resize() added; they stay as long as the SRQ */
struct kdapl_srq_more {
	struct kdapl_pool pool;
	struct kdapl_srq *srq;
	struct kdapl_srq_more *next;
};

/**
 * struct kdapl_srq - shared receive queue
 * @obj:   header; obj.users counts EPs
 * @srq:   NULL on a shell; RCU, posts read it; cleared under @mutex
 * @pool:  the slots that it was made with
 * @more:  further ones, which only a post that finds @pool empty looks at; grows
 *         at the front, under @mutex
 * @held:  free slots that a smaller size withholds, by ev.next; under @mutex
 * @nheld: their number
 * @depth: buffers that may be outstanding; written under @mutex
 * @zone:  pz->zone << KDAPL_ZONE_SHIFT, compared with descriptors
 * @need_write: zone and privilege of memory that is written
 * @state: DAT_SRQ_STATE; written under @mutex while the device is there
 * @mutex: guards @cqs, writes to @eps, the size, and the low watermark
 * @eps:   EPs by the value of their QP pointer; RCU
 * @max_iov: segments per buffer
 * @pz:    zone of the buffers (used)
 * @low_watermark: as set last
 * @lw_armed: it has not raised its event yet
 * @lw_reached: the device says so (bit 0); any context
 * @failed: the device has reported that the SRQ failed (bit 0); any context
 * @lw_work: handles @lw_reached and @failed at once; polls the fill while @lw_armed
 * @lost:  completions whose EP had gone; their buffers stay outstanding
 */
struct kdapl_srq {
	struct kdapl_obj obj;
	struct ib_srq __rcu *srq;
	u32 zone;
	u32 need_write;
	u32 max_iov;
	struct kdapl_pool pool;
	const struct ib_recv_wr *bad_recv;	/* verbs want a place; nobody reads it */
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

/* Place in kdapl_srq.eps: drivers' QPs lie 1 KiB and more apart */
static __always_inline u32 kdapl_srq_bucket(const struct ib_qp *qp)
{
	return ((unsigned long)qp >> 10) & (BIT(KDAPL_SRQ_HASH_BITS) - 1);
}

/* Slots in a state; a snapshot, in any context */
static inline u32 kdapl_srq_count(const struct kdapl_srq *srq, enum kdapl_slot_state state)
{
	const struct kdapl_srq_more *more;
	u32 n = kdapl_pool_count(&srq->pool, state);

	/* Pairs with the release that publishes it */
	for (more = smp_load_acquire(&srq->more); more; more = more->next)
		n += kdapl_pool_count(&more->pool, state);
	return n;
}

/* Those with the device, and those whose events wait: none is counted twice */
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

void kdapl_srq_destroy(struct kdapl_srq *srq);
void kdapl_srq_shell(struct kdapl_srq *srq);
/* srq_lw.c: any context; the work of an SRQ */
void kdapl_srq_event(struct ib_event *event, void *context);
void kdapl_srq_lw_work(struct work_struct *work);
/* srq_resize.c: with the SRQ */
void kdapl_srq_free_more(struct kdapl_srq *srq);
/* Enters and leaves srq->eps, with a grace period in between; ep->mutex held */
void kdapl_srq_attach(struct kdapl_ep *ep, const struct ib_qp *qp);
void kdapl_srq_detach(struct kdapl_ep *ep);
/* CQ of an EP, shared along its SRQ where it has one; process context. Or ERR_PTR */
struct kdapl_cq *kdapl_cq_get(struct kdapl_ep *ep, struct ib_device *ibdev);
/* The EP leaves its CQ. Unless ep->cq is NULL then, free it after a grace period */
void kdapl_cq_leave(struct kdapl_ep *ep);
void kdapl_cq_free(struct kdapl_cq *kcq);
/* kdapl_cq_leave(), a grace period, and kdapl_cq_free() */
void kdapl_cq_put(struct kdapl_ep *ep);

static inline struct kdapl_srq *to_kdapl_srq(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_srq, obj);
}

/* ---- ep*.c, drain.c: ep.h; cm.c, connect.c, listen.c, rsp.c, cr.c: cm.h ---------- */

#include "ep.h"
#include "cm.h"

/* ---- complete.c: softirq ----------------------------------------------- */

/*
 * Changes the state, and @post and @slow with it: DISCONNECTED turns what is
 * parked into FLUSHED events and ends parking (dat_ep_reset begins it again).
 * CONNECTED is reached by kdapl_ep_go_live() only. ep->lock held.
 */
void kdapl_ep_set_state(struct kdapl_ep *ep, DAT_EP_STATE state);

void kdapl_request_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_memory_done(struct ib_cq *cq, struct kdapl_slot *slot, struct ib_wc *wc);
void kdapl_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_srq_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_srq_more_done(struct ib_cq *cq, struct ib_wc *wc);
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
/* Likewise for posts that the device has kept, after the end of the QP; process context */
void kdapl_flush_kept(struct kdapl_ep *ep);

/* ---- debugfs.c --------------------------------------------------------- */

extern struct dentry *kdapl_debugfs;
void kdapl_debugfs_init(void);
void kdapl_debugfs_exit(void);

/* ---- main.c ------------------------------------------------------------ */

extern struct notifier_block kdapl_module_nb;

/* ---- small helpers ----------------------------------------------------- */

static inline unsigned long kdapl_timeout_ms(unsigned int ms)
{
	return msecs_to_jiffies(ms * (kdapl_stretch ?: 1));
}

#endif /* _KDAPL_H_ */
