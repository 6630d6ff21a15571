/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections: service points, connection requests, and the prototypes of
 * notice.c, cm.c, cm_connect.c, sp_listen.c, rsp.c and cr.c.
 *
 * This is a part of kdapl.h, which is the only file that includes it.
 */
#ifndef _KDAPL_CM_H_
#define _KDAPL_CM_H_

/* ---- cm.c -------------------------------------------------------------- */

/* Prepares work, timer and events of a new EP */
void kdapl_cm_setup(struct kdapl_ep *ep);
/*
 * Ends the connection or attempt of an EP that is being freed or whose device is being
 * removed: moves the QP to ERROR, drains it, notifies the peer, destroys the id, and sets
 * the state to DISCONNECTED. There are two steps, so that a caller can drain many QPs at
 * once. A pending outcome or end event is queued unless the EP is being freed. ep->mutex
 * held. The work may still run afterwards, but finds nothing to do.
 */
void kdapl_cm_end(struct kdapl_ep *ep);
void kdapl_cm_ended(struct kdapl_ep *ep, unsigned long since);
/*
 * Attaches a child id to an EP and completes the passive side: RTR, RTS, rdma_accept(),
 * the timer; the EP becomes COMPLETION_PENDING. ep->mutex held; the id belongs to the EP
 * from then on. Failures are reported as ACCEPT_COMPLETION_ERROR.
 */
void kdapl_cm_accept(struct kdapl_ep *ep, struct rdma_cm_id *id,
		     const struct rdma_conn_param *req, const void *data, u8 len);
/* Resolves the address of the peer; a failure ends the attempt. ep->mutex held */
void kdapl_cm_resolve(struct kdapl_ep *ep, const struct sockaddr_storage *remote);
/* Limits the attributes for sending that the peer influences. ep->mutex held */
void kdapl_cm_limit_send(struct kdapl_ep *ep, struct ib_qp_attr *attr);
/* Moves the QP to the next state as the CM proposes, within limits. ep->mutex held */
int kdapl_cm_raise_to(struct kdapl_ep *ep, struct ib_qp_attr *attr, int mask);
/* rdma_cm callback of ids that belong to an EP */
int kdapl_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
/* Before reset: destroys the id of the last attempt. ep->mutex held */
void kdapl_cm_reset(struct kdapl_ep *ep);

/* ---- notice.c ---------------------------------------------------------- */

/**
 * struct kdapl_notice - a disconnect that waits until its port is active
 * @node:  on kdapl_device.notices; guarded by kdapl_device.notice_lock
 * @dev:   the device
 * @id:    id of the connection, owned by the notice
 * @port:  port number
 * @sent:  the request was handed to the CM; written by the work of notice.c
 * @until: jiffies by which the CM has given up; set with @sent
 * @over:  the CM has received an answer; set by the callback
 */
struct kdapl_notice {
	struct list_head node;
	struct kdapl_device *dev;
	struct rdma_cm_id *id;
	u32 port;
	bool sent;
	unsigned long until;
	bool over;
};

/* Notifies the peer that the connection of an EP has ended. ep->mutex held */
void kdapl_notice_send(struct kdapl_ep *ep);
/* Schedules a check of a device's notices; any context */
void kdapl_notice_look(struct kdapl_device *dev);
void kdapl_notice_setup(struct kdapl_device *dev);
void kdapl_notice_drop(struct kdapl_device *dev);

/* ---- cm_id.c ----------------------------------------------------------- */

/* Is there a route? Returns 0, -ENETUNREACH and the like */
int kdapl_cm_route(const struct kdapl_ia *ia, const struct rdma_cm_id *id,
		   const struct sockaddr_storage *remote);
/* Returns a new id bound to the IA's address, device and port, or ERR_PTR */
struct rdma_cm_id *kdapl_cm_bind(struct kdapl_ia *ia, struct ib_device *ibdev,
				 rdma_cm_event_handler handler, void *context, u16 port);
/* Sets fields and state for an attempt with @id. ep->mutex held */
void kdapl_cm_begin(struct kdapl_ep *ep, struct rdma_cm_id *id, bool passive);
/* Sets KDAPL_TODO_TIMEOUT after @delay nanoseconds, never earlier. ep->mutex held */
void kdapl_cm_timer_start(struct kdapl_ep *ep, u64 delay);
/* Work function of ep->timer */
void kdapl_cm_timer(struct work_struct *work);
/* The IP port of a connection qualifier */
u16 kdapl_cm_port(DAT_CONN_QUAL qual);
void kdapl_cm_set_port(struct sockaddr_storage *addr, u16 port);
/* Checks and normalises a Consumer's address; the port is 0. DAT_SUCCESS, INVALID_ADDRESS */
DAT_RETURN kdapl_cm_address(struct net *net, const struct sockaddr *in,
			    struct sockaddr_storage *out);

/* ---- cr.c, sp_listen.c, rsp.c --------------------------------------------- */

/**
 * struct kdapl_cr - connection request
 * @obj:     header; published while the request waits for an answer. The CR keeps its
 *           index when its memory is reused
 * @ev:      its event
 * @sp:      service point to whose backlog it belongs (a reference on sp->mem)
 * @free_node: on sp->free; guarded by sp->lock
 * @ref:     one for the object, and one for its event while that is queued
 * @id:      child id; whoever takes it by xchg() answers the request. NULL if orphaned
 * @next:    handoff: the CR that continues with the request; used by @work
 * @param:   parameters of the request
 * @counted: it is counted in kdapl_evd.ncr of the EVD of @sp
 * @withdrawn: the CM has reported that the peer has given up
 * @work:    announces the request, passes it to @next, or, if @ref is 0, returns the CR to
 *           the backlog
 *
 * What the callback has copied is constant until the memory is reused.
 */
struct kdapl_cr {
	struct kdapl_obj obj;
	struct kdapl_event ev;
	struct kdapl_sp *sp;
	struct list_head free_node;
	refcount_t ref;
	struct rdma_cm_id *id;
	struct kdapl_cr *next;
	struct rdma_conn_param param;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u16 local_port;
	u16 remote_port;
	u8 private_data[KDAPL_REQUEST_PRIVATE];
	u8 private_len;
	bool counted;
	bool withdrawn;
	struct work_struct work;
};

/**
 * struct kdapl_sp - service point: PSP or RSP
 * @obj:   header
 * @id:    listening id; NULL if it no longer listens, or cannot at present; under
 *         @mutex
 * @listening: it should listen, because it is neither orphaned nor a used RSP; guarded by
 *         @mutex
 * @stale: the CM has reported a new hardware address of the net device; cleared
 *         under @mutex
 * @mutex: serializes listening again and stopping. Taken alone, and held across calls of
 *         rdma_cm
 * @work:  listens again if the address leads to another device or port than @id
 * @evd:   EVD on which requests are announced (in use until the service point is freed)
 * @evd_handle: its handle, by which CRs that outlive the service point find it
 * @ep_handle: the EP of an RSP; DAT_HANDLE_NULL: this is a PSP
 * @qual:  connection qualifier, reported in events
 * @node:  on the list of service points that listen; guarded by the lock of sp_listen.c
 * @lock:  guards @free, @ncr and @closed against the CM callback
 * @free:  CRs of @crs that are not in use
 * @ncr:   number of CRs that wait for an answer
 * @backlog: size of @crs
 * @closed: it does not listen any more; requests that are not announced yet are refused
 * @mem:   references to this memory: of the service point and of each CR in use
 */
struct kdapl_sp {
	struct kdapl_obj obj;
	struct rdma_cm_id *id;
	bool listening;
	bool stale;
	struct mutex mutex;	/* id, listening */
	struct work_struct work;
	struct kdapl_evd *evd;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
	DAT_CONN_QUAL qual;
	struct list_head node;
	spinlock_t lock;	/* free, ncr */
	struct list_head free;
	u32 ncr;
	u32 backlog;
	bool closed;
	refcount_t mem;
	struct kdapl_cr crs[];
};

/* Creates and ends a service point, in steps for the tests */
struct kdapl_sp *kdapl_sp_create(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				 DAT_EP_HANDLE ep);
struct kdapl_sp *kdapl_sp_alloc(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				DAT_EP_HANDLE ep);
void kdapl_sp_start(struct kdapl_sp *sp, DAT_CONN_QUAL *qual, DAT_HANDLE *handle);
int kdapl_sp_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type);
void kdapl_sp_destroy(struct kdapl_sp *sp);
void kdapl_sp_orphan(struct kdapl_sp *sp);
/* The common part of both kinds: the EVD, and the return value for an error */
struct kdapl_evd *kdapl_sp_evd(struct kdapl_ia *ia, DAT_EVD_HANDLE handle);
DAT_RETURN kdapl_sp_error(int err);
/* Returns the service point of a qualifier, with a reference; any context */
struct kdapl_sp *kdapl_sp_find(const struct kdapl_ia *ia, DAT_CONN_QUAL qual);
/* The EP of an RSP: becomes reserved, changes its state. Process context, ep->mutex held */
void kdapl_rsp_bond(struct kdapl_ep *ep, struct kdapl_sp *sp);
bool kdapl_rsp_move(struct kdapl_sp *sp, DAT_EP_STATE from, DAT_EP_STATE to);

void kdapl_cr_destroy(struct kdapl_cr *cr);
void kdapl_cr_orphan(struct kdapl_cr *cr);
/* dat_evd_free(): rejects an undelivered CR as non-peer (E-46). Process context */
void kdapl_cr_drop(struct kdapl_event *ev);
/* Prepares a CR of a backlog; fills one in for a request that has arrived */
int kdapl_cr_setup(struct kdapl_cr *cr, struct kdapl_sp *sp);
void kdapl_cr_arrive(struct kdapl_cr *cr, struct rdma_cm_id *id,
		     const struct rdma_conn_param *param);
/* sp_backlog.c: takes a CR from the backlog, and returns it; the end of listening */
extern struct list_head kdapl_sps;
extern spinlock_t kdapl_sps_lock;
void kdapl_sp_put_mem(struct kdapl_sp *sp);
struct kdapl_cr *kdapl_sp_take(struct kdapl_sp *sp, bool placed);
void kdapl_sp_uncount(struct kdapl_cr *cr);
void kdapl_sp_recycle(struct kdapl_cr *cr);
void kdapl_sp_unlisten(struct kdapl_sp *sp);

static inline struct kdapl_sp *to_kdapl_sp(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_sp, obj);
}

static inline struct kdapl_cr *to_kdapl_cr(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_cr, obj);
}

/* Drops the reference of the object or of its event. Any context */
static inline void kdapl_cr_put(struct kdapl_cr *cr)
{
	if (refcount_dec_and_test(&cr->ref))
		queue_work(kdapl_wq, &cr->work);
}

#endif /* _KDAPL_CM_H_ */
