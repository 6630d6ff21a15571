/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Service points and connection requests.
 */
#ifndef _KDAPL_OBJECT_SP_H_
#define _KDAPL_OBJECT_SP_H_

#include <linux/mutex.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include "constants.h"
#include "base/base.h"

struct kdapl_evd;
struct kdapl_sp;

/**
 * struct kdapl_cr - connection request
 * @obj:     header; set when the request is announced. Published while it waits for an answer
 * @ev:      its event
 * @sp:      its service point (a reference on sp->mem)
 * @ref:     one for the object, and one for its event while that is queued
 * @id:      child id; the path that takes it by xchg() answers the request. NULL if orphaned.
 *           It is counted in ia->nverbs from the arrival of the request on
 * @prev:    handoff: the CR that @work ends before it announces this one; otherwise NULL
 * @param:   parameters of the request
 * @withdrawn: the CM reported that the peer has given up
 * @work:    announces or refuses the request; holds a reference on sp->obj until then
 *
 * What the callback has copied is constant.
 */
struct kdapl_cr {
	struct kdapl_obj obj;
	struct kdapl_event ev;
	struct kdapl_sp *sp;
	refcount_t ref;
	struct rdma_cm_id *id;
	struct kdapl_cr *prev;
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

/* Why a service point refused a request */
enum kdapl_refusal {
	KDAPL_REFUSED_SHARE,	/* its share of the EVD is used up */
	KDAPL_REFUSED_EVD,	/* the EVD is full of requests */
	KDAPL_REFUSED_MEMORY,	/* no memory for the CR */
	KDAPL_REFUSED_LATE,	/* it has stopped, listens on another port, or is being freed */
	KDAPL_REFUSALS
};

/* A listening id of a PSP on all addresses; kdapl_sp.listeners owns it */
struct kdapl_listener {
	struct list_head node;
	struct rdma_cm_id *id;
};

/**
 * struct kdapl_sp - service point: PSP or RSP
 * @obj:   header
 * @any_address: it listens on all addresses of the IA's port; constant
 * @listeners: its ids (struct kdapl_listener), one for each address, if @any_address is set;
 *         under @mutex
 * @id:    otherwise its id, on the IA's address; NULL if it no longer listens, or cannot at
 *         present; under @mutex
 * @stale: the CM reported a new hardware address of the net device; cleared
 *         under @mutex
 * @mutex: serializes listening again and stopping. Taken alone, and held across calls of
 *         rdma_cm
 * @work:  listens again if the address leads to another device or port than @id, or if @id is
 *         NULL; or updates @listeners
 * @retry: seconds after which @work runs again; 0 if the service point listens. Under @mutex
 * @evd:   EVD on which requests are announced (in use until the service point is freed)
 * @evd_handle: its handle, by which CRs that outlive the service point find it
 * @ep_handle: the EP of an RSP; DAT_HANDLE_NULL: this is a PSP
 * @qual:  connection qualifier, reported in events
 * @node:  on the list of service points that listen, empty before and after; guarded by
 *         kdapl_sps_lock
 * @lock:  guards @ncr and @closed against the CM callback
 * @ncr:   number of CRs that wait for an answer
 * @backlog: number of CRs that may wait for an answer
 * @closed: it does not listen any more, because it is orphaned or a used RSP; requests that are not
 *         announced yet are refused. Also written under @mutex
 * @refused: number of requests that were refused, for debugfs
 * @mem:   references to this memory: of the service point and of each CR
 */
struct kdapl_sp {
	struct kdapl_obj obj;
	bool any_address;
	struct list_head listeners;
	struct rdma_cm_id *id;
	bool stale;
	struct mutex mutex;	/* id, listeners */
	struct delayed_work work;
	int retry;
	struct kdapl_evd *evd;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
	DAT_CONN_QUAL qual;
	struct list_head node;
	spinlock_t lock;	/* ncr, closed */
	u32 ncr;
	u32 backlog;
	bool closed;
	atomic_t refused[KDAPL_REFUSALS];
	refcount_t mem;
};

static inline struct kdapl_sp *to_kdapl_sp(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_sp, obj);
}

static inline struct kdapl_cr *to_kdapl_cr(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_cr, obj);
}

/* Lets a service point listen again if necessary; any context */
static inline void kdapl_sp_check(struct kdapl_sp *sp)
{
	mod_delayed_work(kdapl_wq, &sp->work, 0);
}

/*
 * Drops a reference to the memory of a service point, which is freed with its last request. Any
 * context. A lookup of a handle may still read the header
 */
static inline void kdapl_sp_put_mem(struct kdapl_sp *sp)
{
	if (refcount_dec_and_test(&sp->mem))
		kfree_rcu(sp, obj.rcu);
}

/*
 * Drops the reference of the object or of its event. Any context. The work of the CR may still
 * run, but does not use the CR any more
 */
static inline void kdapl_cr_put(struct kdapl_cr *cr)
{
	if (!refcount_dec_and_test(&cr->ref))
		return;
	kdapl_sp_put_mem(cr->sp);
	kfree_rcu(cr, obj.rcu);
}

#endif /* _KDAPL_OBJECT_SP_H_ */
