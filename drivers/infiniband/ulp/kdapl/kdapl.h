/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kDAPL: the structures of the module, and all internal prototypes by file.
 * Endpoints and connections are in ep.h and cm.h, which this header includes.
 *
 * Calls go in one direction: main, control (ia, pz, lmr, evd, ep, srq, cm, psp,
 * registry, debugfs), fast path (post, complete, event), mechanisms (handle, pool,
 * status, device, drain, solicited, trace), RDMA core. In the other direction there
 * are work items, registered callbacks and the Consumer's upcalls.
 *
 * Locks, outermost first (kdapl-locking.rst has the reasons):
 *   kdapl_device_mutex, kdapl_ia.sem, kdapl_ep.mutex, handler_mutex of a
 *   cm_id (rdma_cm's), kdapl_ia.mutex, kdapl_pz.mutex, kdapl_srq.mutex; then
 *   spinlocks: kdapl_sp.lock, kdapl_scq.lock, kdapl_sq.lock, kdapl_rmr.lock or
 *   kdapl_lmr.lock, kdapl_pz.map_lock, kdapl_ep.lock, kdapl_evd.lock.
 * CM callbacks take spinlocks only, and no rdma_* function is called under any of
 * these.
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
#include "base/handle.h"
#include "base/pool.h"
#include "base/status.h"
#include "base/wr.h"
#include "object/evd.h"

struct dentry;
struct iommu_domain;
struct kdapl_device;
struct kdapl_ep;
struct kdapl_lmr;

#define KDAPL_REQUEST_PRIVATE	56	/* usable bytes of a connection request */
#define KDAPL_REPLY_PRIVATE	196
#define KDAPL_REJECT_PRIVATE	148
#define KDAPL_REJECT_PREFIX	4	/* version word before reject data */
#define KDAPL_MAX_RETRY		6	/* rxe retries without limit for 7 */
#define KDAPL_RNR_RETRY		7	/* without limit */
#define KDAPL_MIN_RNR_TIMER	12	/* 0.64 ms; the core's 0 means 655 ms */
#define KDAPL_MAX_ACK_TIMEOUT	20	/* 4.3 s; seven of them are the 30 s of C-51 */
#define KDAPL_RESOLVE_TIMEOUT_MS 4000	/* address and route of a peer */
#define KDAPL_ACCEPT_TIMEOUT_MS	30000	/* C-51 */
#define KDAPL_DRAIN_TIMEOUT_MS	700	/* C-56 allows 1 s in all */
#define KDAPL_LINGER_MS		10	/* for an answer in flight at the end of a connection */
#ifndef KDAPL_LAST_WQE_MS
#define KDAPL_LAST_WQE_MS	5000	/* for the LAST_WQE event of an EP with an SRQ */
#endif
#define KDAPL_INIT_PKEY_INDEX	0	/* until the path of the QP is known */
/* Send queue entries beyond the Consumer's: the marker and the drain */
#define KDAPL_SQ_RESERVED	2
/* CQ entries beyond the Consumer's: marker, send drain, receive drain */
#define KDAPL_CQ_RESERVED	3

/* ---- common.c ---------------------------------------------------------- */

/* Both WQ_MEM_RECLAIM and unbound; see kdapl_common_init() */
extern struct workqueue_struct *kdapl_wq;	/* may block: connections, regions, devices */
extern struct workqueue_struct *kdapl_evd_wq;	/* never blocks: delivery, solicited CQs */
/* Factor for internal time-outs, for test systems that are slower than hardware */
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

/* What the device and kDAPL allow; constant after the device was added */
struct kdapl_limits {
	u32 max_eps;
	u32 max_dto_per_ep;
	u32 max_qp_wr;
	u32 max_cqe;
	u32 max_evd_qlen;
	u32 max_iov;			/* of a send, a receive and an SRQ */
	u32 max_iov_read;
	u32 max_iov_write;
	u32 max_rd_atom_in;		/* per EP, as target */
	u32 max_rd_atom_out;		/* per EP, as initiator */
	u32 max_srqs;
	u32 max_srq_wr;			/* max_recv_per_srq */
	u32 max_mr;			/* for LMRs and RMRs, without the one of a PZ */
	u32 page_list_len;		/* of one fast registration */
	u32 max_block;			/* bytes of an LMR, at any offset in a page */
	u32 max_message;
	u32 max_rdma;
	bool ordered_inv;		/* an invalidation is executed after all earlier requests */
};

/**
 * struct kdapl_device - an RDMA device
 * @ibdev:  valid until remove() returns
 * @node:   on the list of devices; guarded by kdapl_device_mutex
 * @ias:    open IAs (kdapl_ia.dev_node); guarded by kdapl_device_mutex
 * @wait:   remove() waits here for @ias to become empty
 * @handler: async events of the device (GID change, fatal, port active)
 * @events: KDAPL_DEV_*, the events that @event_work handles; atomic bits
 * @event_work: handles @events
 * @keys:   LMRs and RMRs by the keys of their MRs; rkey.c
 * @limits: constant
 * @unfit:  why no IA can be opened on it, or NULL; constant
 * @notice_lock: guards @notices; taken alone
 * @notices: disconnects that cannot be sent yet; notice.c
 * @notice_work: checks them
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
void kdapl_device_fill_limits(struct kdapl_device *dev);
bool kdapl_device_port_usable(struct ib_device *ibdev, u32 port);
/* Checks the addresses of all IAs after a change; process context */
bool kdapl_device_check_addrs(struct llist_node *gone, bool ipoib);
/*
 * Parses an IA name; under kdapl_device_mutex. Returns 0, -ENODEV or
 * -EADDRNOTAVAIL, in which case @dev and @port are valid
 */
int kdapl_device_resolve(const char *name, struct kdapl_device **dev, u32 *port,
			 struct sockaddr_storage *addr, struct net **net);

/* ---- addr.c ------------------------------------------------------------ */

/*
 * When the watcher misses a GID, it looks again after this time before it considers the
 * address lost, because the core removes GIDs before it adds them again.
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
/* Does a change of addresses end the connection of this id, although the IA's address exists? */
bool kdapl_addr_cut(const struct rdma_cm_id *id, u32 port);
/* An address that leads to a port, and its namespace with a reference */
bool kdapl_addr_find(struct ib_device *ibdev, u32 port, const char *netdev,
		     const struct net *home, const struct sockaddr_storage *want,
		     struct sockaddr_storage *addr, struct net **net);
/* Does the net device, which leads to a port of @ibdev, have this IP address? RCU */
bool kdapl_addr_on_netdev(struct ib_device *ibdev, const struct net_device *ndev,
			  const struct sockaddr_storage *addr);
/* Does this IP address still lead to the port, in this namespace? */
bool kdapl_addr_stands(struct ib_device *ibdev, u32 port, const struct sockaddr_storage *addr,
		       const struct net *net);
/* Was the address of the id lost since the id was bound? It may exist again */
bool kdapl_addr_unbound(const struct rdma_cm_id *id);
/* Can the device transfer data in this namespace? */
bool kdapl_addr_serves(const struct ib_device *ibdev, const struct net *net);
/* GID of an address, or any of the port if that was lost; release it by rdma_put_gid_attr() */
const struct ib_gid_attr *kdapl_addr_gid(struct ib_device *ibdev, u32 port,
					 const struct sockaddr_storage *addr);

/* ---- ia.c -------------------------------------------------------------- */

/**
 * struct kdapl_ia - an open IA: one port and one IP address of a device
 * @obj:    header; obj.ia is the IA itself
 * @dev:    the device; NULL if the IA is orphaned. Written under @sem and
 *          kdapl_device_mutex
 * @ibdev:  dev->ibdev; NULL if the IA is orphaned; calls that create verbs
 *          objects read it under @sem
 * @port:   port of the device
 * @name:   `<ibdev>/<port>`, for debugfs and the log
 * @owner:  name of the module that opened it; empty if unknown. Constant
 * @addr:   IP address of the port
 * @net:    network namespace of @addr, referenced; NULL if the IA is orphaned
 * @addr_lost: @addr did not exist when the addresses were last checked
 * @addr_missed: its GID was missing, or it was deleted; under kdapl_device_mutex
 * @addr_missed_at: when that was first noticed, in jiffies; under kdapl_device_mutex
 * @limits: copy of those of the device, valid without it
 * @attr:   what dat_ia_query() returns, set when the IA is opened
 * @sem:    read: calls that create verbs objects; write: the device removal that
 *          orphans the IA
 * @mutex:  guards @objs and the flag rules of shared EVDs
 * @objs:   all objects by type
 * @nverbs: objects that still own verbs objects; removal waits for 0
 * @nqps:   EPs that may still own a QP; MRs that their requests name are destroyed
 *          after them
 * @npds:   PZs that still own a PD; they are destroyed after all other verbs objects
 * @nrmrs:  RMRs that may still use LMRs: until a grace period after they were freed
 *          and their last request has completed; dat_ia_close() frees LMRs after them
 * @wait:   for @nverbs, @npds and @nrmrs, and for @objs to become empty
 * @mem:    references of the IA itself and of every object on @objs; the last one
 *          frees the memory
 * @orphaned: the IA is orphaned: its device was removed; written under @sem
 * @closing: dat_ia_close() has begun; written under @sem
 * @fatal:  DAT_ASYNC_ERROR_IA_CATASTROPHIC has been raised (bit 0)
 * @sync_told: the log line about bounce buffers was written (bit 0)
 * @own_async: dat_ia_open() created @async_evd, and it is destroyed with the IA
 * @async_evd: receives the asynchronous events
 * @dev_node: on dev->ias, unless the IA is orphaned; guarded by kdapl_device_mutex
 *
 * obj.users counts other IAs whose asynchronous events go to an EVD of this IA.
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
	bool orphaned;
	bool closing;
	bool own_async;
	unsigned long fatal;
	unsigned long sync_told;
	struct kdapl_evd *async_evd;
	struct list_head dev_node;
};

/*
 * Creates an IA on a device; called by dat_ia_openv() and KUnit. kdapl_device_mutex
 * held, so that the device is not removed meanwhile.
 */
int kdapl_ia_create(struct kdapl_device *dev, u32 port, const struct sockaddr *addr,
		    struct net *net, int async_qlen, struct kdapl_evd *async_evd,
		    struct kdapl_ia **out);
/* Destroys an IA with all its objects; its handle was removed from the table */
void kdapl_ia_destroy(struct kdapl_ia *ia);
/* Woken whenever an IA was closed */
extern wait_queue_head_t kdapl_ias_closed;
/* Closes the IAs that the module @owner (NULL: any Consumer) has left open */
void kdapl_ia_destroy_left(const char *owner);
/*
 * Every call that creates or uses verbs objects runs between begin and end. begin
 * looks the handle up, and takes a reference and ia->sem for reading. It returns
 * INVALID_HANDLE (IA), or INSUFFICIENT_RESOURCES (DEVICE) if the IA is orphaned.
 * enter and leave do the same for an IA that an object of the caller keeps alive.
 */
DAT_RETURN kdapl_ia_begin(DAT_IA_HANDLE handle, struct kdapl_ia **out);
void kdapl_ia_end(struct kdapl_ia *ia);
bool kdapl_ia_enter(struct kdapl_ia *ia);
void kdapl_ia_leave(struct kdapl_ia *ia);
/* Lists and publishes a complete object; @verbs: it owns verbs objects */
void kdapl_ia_add(struct kdapl_ia *ia, struct kdapl_obj *obj, bool verbs);
/* Takes it off the list; last step of a destructor before the memory is freed */
void kdapl_ia_del(struct kdapl_ia *ia, struct kdapl_obj *obj);
/* Drops one reference of ia->mem; ia_close.c drops that of the IA itself */
void kdapl_ia_mem_put(struct kdapl_ia *ia);
/* A listed object is about to own verbs objects; ia->sem held for reading */
void kdapl_ia_verbs_get(struct kdapl_ia *ia);
/* The object's verbs objects were destroyed */
void kdapl_ia_verbs_put(struct kdapl_ia *ia);
/* The device is being removed: orphans the IA. Called by remove() in device.c */
void kdapl_ia_remove(struct kdapl_ia *ia);
/* The IP address of the IA was lost (C-62), the device has failed; kdapl_device_mutex held */
void kdapl_ia_address_lost(struct kdapl_ia *ia);
void kdapl_ia_device_failed(struct kdapl_ia *ia);
/* It exists after a change of addresses. Breaks what lost its GID. kdapl_device_mutex held */
void kdapl_ia_address_stands(struct kdapl_ia *ia);
/* The device has failed or was removed: raises IA_CATASTROPHIC, once */
void kdapl_ia_catastrophic(struct kdapl_ia *ia);
void kdapl_ia_async(struct kdapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, u16 reason);

static inline struct kdapl_ia *to_kdapl_ia(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_ia, obj);
}

/* ia_query.c: what dat_ia_query() returns; the device must exist */
void kdapl_ia_fill_attr(struct kdapl_ia *ia);

/* ---- pz.c -------------------------------------------------------------- */

/**
 * struct kdapl_pz - protection zone, with its service QP
 * @obj:   header; obj.users counts LMRs, EPs, SRQs, RMRs
 * @pd:    the PD; NULL if the PZ is orphaned
 * @zone:  number that no other PZ has, 1 .. 2^24-1
 * @mutex: serialises the service QP
 * @qp:    RC QP connected to itself, created for the first registration; under @mutex
 * @cq:    its CQ, polled by the thread that waits; under @mutex
 * @cq_event: wakes this thread
 * @mrs:   MRs of the PD (until a grace period after dat_lmr_free()), plus one for the PZ
 * @mrs_gone: completed when @mrs becomes 0
 * @map_sg: the entries that a bind passes to ib_map_mr_sg(); allocated for the first
 *         RMR, under @mutex
 * @map_lock: guards the content of @map_sg; the innermost lock
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

/* Process context; these execute one work request on the service QP and wait for it */
int kdapl_pz_register(struct kdapl_pz *pz, struct ib_mr *mr, int access);
int kdapl_pz_invalidate(struct kdapl_pz *pz, u32 rkey);
/* An MR of the PD is created, was deregistered */
void kdapl_pz_mr_get(struct kdapl_pz *pz);
void kdapl_pz_mr_put(struct kdapl_pz *pz);
int kdapl_pz_make_map_sg(struct kdapl_pz *pz);
void kdapl_pz_destroy(struct kdapl_pz *pz);
void kdapl_pz_orphan(struct kdapl_pz *pz);

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
 * generation, low:6. One shift yields the page, and one mask the offset in it,
 * because a descriptor has 64 bytes.
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
 * Descriptor: what a post needs to know of an LMR. Descriptors are in the pages of a
 * table that never shrinks.
 *
 * @zp is zone:24 | privileges:8, so that one XOR and one test check both. It is 0
 * in an entry without an LMR. An entry is cleared (zp, then context) before the LMR is
 * invalidated, and reused only after a grace period. @next_free of a free entry has the
 * index of the next one and the generation used last, encoded like a context; guarded
 * by the mutex in lmr_table.c.
 */
struct kdapl_lmr_desc {
	u64 base;			/* start; subtracted from an address, it gives the offset */
	u64 length;
	u32 lkey;
	u32 zp;
	u32 context;
	u32 next_free;
	struct kdapl_lmr *lmr;	/* for calls that found the entry in use, under RCU */
} __aligned(64);

struct kdapl_lmr_desc_page {
	struct kdapl_lmr_desc desc[KDAPL_LMR_PAGE_DESCS];
};

extern struct kdapl_lmr_desc_page *kdapl_lmr_pages[KDAPL_LMR_PAGES];

/* The part of kdapl_lmr_desc.zp that is the zone */
#define KDAPL_ZONE_SHIFT	8
#define KDAPL_ZONE_MASK		(~0U << KDAPL_ZONE_SHIFT)

/* Table entry of a context, valid if desc->context is the same. Read section */
static __always_inline const struct kdapl_lmr_desc *kdapl_lmr_desc(DAT_LMR_CONTEXT context)
{
	void *page = READ_ONCE(kdapl_lmr_pages[context >> KDAPL_LMR_CTX_PAGE]);

	return page + (context & KDAPL_LMR_CTX_ENTRY);
}

#include "object/mr.h"

/**
 * struct kdapl_lmr - local memory region
 * @obj:   header; obj.users counts MRs of RMRs that map it, and outstanding requests of
 *         dat_lmr_fmr() and dat_lmr_invalidate()
 * @pz:    its zone, of which it is a user
 * @zone:  pz->zone << KDAPL_ZONE_SHIFT
 * @mr:    its MR; NULL if the LMR is orphaned
 * @sgt:   mapped pages, for the unmap; @fast: it has @max_pages entries
 * @desc:  its descriptor; filled until the LMR is freed, also if it is orphaned
 * @param: what dat_lmr_query() returns
 * @orphaned: the LMR is orphaned
 * @fast:  it was created by dat_lmr_allocate(); constant
 * @max_pages: @fast: its capacity in pages; constant
 * @lock:  guards the following fields up to @zp, and the parts of @param that change
 *         (@fast); taken inside kdapl_sq.lock
 * @fmr:   @fast: state of @mr
 * @npages: @fast: entries of @sgt that are mapped
 * @dying: dat_lmr_free() has begun
 * @hostile: a peer without the right to do so has invalidated it; @repair reports that
 * @zp:    @fast: kdapl_lmr_desc.zp while it is registered
 * @repair: handles @hostile, and replaces an MR whose state is unknown
 * @free_work: after a grace period, frees the MR, the table entry and the LMR
 */
struct kdapl_lmr {
	struct kdapl_obj obj;
	struct kdapl_pz *pz;
	struct ib_mr *mr;
	struct sg_table sgt;
	struct kdapl_lmr_desc *desc;
	DAT_LMR_PARAM param;
	u32 zone;
	bool orphaned;
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

/* Pages to be registered, not mapped yet */
struct kdapl_region {
	struct page **pages;
	u32 npages;
	u32 offset;			/* in the first page */
	u64 length;
	u64 iova;			/* registered address */
};

/*
 * lmr_region.c: check and collect the pages of a region, at most @max of them.
 * Return 0, -EFAULT (not memory), -EMSGSIZE or -ENOMEM
 */
int kdapl_region_virtual(struct kdapl_region *r, const void *va, u64 length, u32 max,
			 DAT_MEM_PRIV_FLAGS priv);
int kdapl_region_physical(struct kdapl_region *r, const DAT_PADDR *array, u64 page_size,
			  u64 length, u32 max, DAT_MEM_PRIV_FLAGS priv);
int kdapl_region_lmr(struct kdapl_region *r, const struct kdapl_lmr *lmr, u64 length);
void kdapl_region_free(struct kdapl_region *r);

/* lmr_table.c: descriptors. An entry is filled, cleared, and put after a grace period */
struct kdapl_lmr_desc *kdapl_lmr_desc_get(struct kdapl_lmr *lmr, u32 *context);
void kdapl_lmr_desc_fill(struct kdapl_lmr_desc *desc, const struct kdapl_lmr *lmr);
void kdapl_lmr_desc_refill(struct kdapl_lmr_desc *desc, const DAT_LMR_PARAM *param,
			   u32 lkey, u32 zp);
u32 kdapl_lmr_next_context(u32 context);
void kdapl_lmr_desc_empty(struct kdapl_lmr_desc *desc);
void kdapl_lmr_desc_put(u32 context);
int kdapl_lmr_init(void);
void kdapl_lmr_exit(void);
/* lmr.c: an LMR with a handle, and a user of its zone; or NULL and the reason */
struct kdapl_lmr *kdapl_lmr_alloc(struct kdapl_ia *ia, struct kdapl_pz *pz, DAT_RETURN *ret);
void kdapl_lmr_abort(struct kdapl_lmr *lmr);
/* lmr_free.c */
void kdapl_lmr_unmap(struct kdapl_lmr *lmr, struct ib_device *ibdev);
void kdapl_lmr_free_work(struct work_struct *work);
void kdapl_lmr_destroy(struct kdapl_lmr *lmr);
void kdapl_lmr_orphan(struct kdapl_lmr *lmr);

static inline struct kdapl_lmr *to_kdapl_lmr(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_lmr, obj);
}

/* ---- evd.c ------------------------------------------------------------- */

/* An EVD for kdapl_ia_add(), or ERR_PTR; the arguments were checked */
struct kdapl_evd *kdapl_evd_alloc(struct kdapl_ia *ia, u32 qlen, DAT_UPCALL_POLICY policy,
				  const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS streams);
void kdapl_evd_destroy(struct kdapl_evd *evd);

/* ---- scq.c ------------------------------------------------------- */

/**
 * struct kdapl_scq - CQ of receives in solicited-wait mode, which kDAPL polls
 * @cq:    CQ from ib_create_cq(), armed by IB_CQ_SOLICITED
 * @evd:   the EVD of its receives
 * @fired: the device has raised an event since the work ran
 * @nfired: number of events that led to notifications, for parked completions
 * @again: number of timer polls at short intervals, see kdapl_scq_flush_soon()
 * @dead:  it is being destroyed
 * @lock:  allows one poller; not held during upcalls, because delivery is deferred
 * @work:  polls when the device raises an event, or when it is scheduled
 * @timer: polls at long intervals, for errors that the device does not announce
 * @source: of @evd, so that a dequeue from an empty EVD polls
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
	struct kdapl_evd_source source;
};

struct kdapl_scq *kdapl_scq_create(struct ib_device *ibdev, struct kdapl_evd *evd,
				   u32 nr_cqe, int comp_vector);
void kdapl_scq_unlink(struct kdapl_scq *scq);
/* To be called a grace period after kdapl_scq_unlink() */
void kdapl_scq_destroy(struct kdapl_scq *scq);
/* Schedules a poll; any context */
void kdapl_scq_schedule(struct kdapl_scq *scq);
/* Requests of a QP are being flushed, which the device may not announce; any context */
void kdapl_scq_flush_soon(struct kdapl_scq *scq);
/* Polls all completions; process context */
void kdapl_scq_poll(struct kdapl_scq *scq);

/* ---- srq.c ------------------------------------------------------------- */

/**
 * struct kdapl_cq - CQ of one EP, or of the EPs that share an SRQ and a receive EVD
 * @cq:       from ib_alloc_cq(), polled in softirq
 * @scq:      for receives in solicited-wait mode, or NULL
 * @node:     on srq->cqs, guarded by srq->mutex; unused without an SRQ
 * @recv_evd: EVD of the EPs that share it
 * @recv:     entries reserved for receives, the upper limit for the size of the SRQ
 * @room:     entries left for the requests of further EPs
 * @users:    number of EPs that use it
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

/* Slots that dat_srq_resize() has added; freed with the SRQ */
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
 * @pz:    zone of the buffers, of which the SRQ is a user
 * @low_watermark: the value that was set last
 * @lw_armed: it has not raised its event yet
 * @lw_reached: the device has reported that it was reached (bit 0); any context
 * @failed: the device has reported that the SRQ failed (bit 0); any context
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

/* Number of slots in a state at this moment; any context */
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

void kdapl_srq_destroy(struct kdapl_srq *srq);
void kdapl_srq_orphan(struct kdapl_srq *srq);
/* srq_lw.c: event handler of an SRQ, any context; and its work function */
void kdapl_srq_event(struct ib_event *event, void *context);
void kdapl_srq_lw_work(struct work_struct *work);
/* srq_resize.c: called when the SRQ is destroyed */
void kdapl_srq_free_more(struct kdapl_srq *srq);
/* Add the EP to srq->eps and remove it, a grace period in between; ep->mutex held */
void kdapl_srq_attach(struct kdapl_ep *ep, const struct ib_qp *qp);
void kdapl_srq_detach(struct kdapl_ep *ep);
/* CQ of an EP, shared with other EPs of its SRQ if it has one; or ERR_PTR. Process context */
struct kdapl_cq *kdapl_cq_get(struct kdapl_ep *ep, struct ib_device *ibdev);
/* The EP stops using its CQ. If ep->cq is not NULL then, free it after a grace period */
void kdapl_cq_leave(struct kdapl_ep *ep);
void kdapl_cq_free(struct kdapl_cq *kcq);
/* kdapl_cq_leave(), a grace period, and kdapl_cq_free() */
void kdapl_cq_put(struct kdapl_ep *ep);

static inline struct kdapl_srq *to_kdapl_srq(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_srq, obj);
}

/* ---- ep*.c, drain.c: ep.h; cm.c, cm_connect.c, sp_listen.c, rsp.c, cr.c: cm.h ---------- */

#include "object/ep.h"
#include "object/sp.h"

/* ---- complete.c: softirq ----------------------------------------------- */

/*
 * Changes the state, and @post and @slow with it. DISCONNECTED turns parked
 * completions into FLUSHED events and ends the parking, which dat_ep_reset() begins
 * again. Only kdapl_ep_set_connected() sets CONNECTED. ep->lock held.
 */
void kdapl_ep_set_state(struct kdapl_ep *ep, DAT_EP_STATE state);

void kdapl_request_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_memory_done(struct ib_cq *cq, struct kdapl_slot *slot, struct ib_wc *wc);
void kdapl_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_srq_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void kdapl_srq_more_done(struct ib_cq *cq, struct ib_wc *wc);
/*
 * The EP becomes CONNECTED: changes the state, queues the outcome event ESTABLISHED
 * (with ep->private_in_len bytes of ep->private_in) and then the parked completions,
 * all under ep->lock, which it takes. Clears outcome_owed, sets end_owed. Returns false
 * without an effect if the state does not allow it, or if no outcome is owed.
 */
bool kdapl_ep_set_connected(struct kdapl_ep *ep);
/* Delays software flushes until those of the QP have completed; process context */
void kdapl_ep_hold(struct kdapl_ep *ep);
void kdapl_ep_unhold(struct kdapl_ep *ep);
/* A message has invalidated a key; for KUnit, too */
void kdapl_fast_invalidated(struct kdapl_ep *ep, u32 rkey);
/* Handles an unsuccessful completion: breaks the connection (G-31, P6) */
void kdapl_note_error(struct kdapl_ep *ep, DAT_DTOS op, const struct ib_wc *wc);
/* Releases the unsignalled requests before position @end of the run ring */
void kdapl_run_release(struct kdapl_sq *sq, u32 end);
/* Queues outcome or end; ep->lock held */
void kdapl_ep_queue_conn(struct kdapl_ep *ep, struct kdapl_conn_event *ce,
			 DAT_EVENT_NUMBER number, u16 private_len);
/* Completes a post on an EP without a QP as FLUSHED; the event is delivered later */
void kdapl_flush_in_software(struct kdapl_ep *ep, struct kdapl_slot *slot);
/* Does so for posts that the device has kept, after the QP was destroyed; process context */
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
