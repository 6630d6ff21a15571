/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections: service points, connection requests, and the prototypes of
 * cm.c, connect.c, psp.c and cr.c.
 *
 * A part of kdapl.h, which includes it where it belongs; nobody else does.
 */
#ifndef _KDAPL_CM_H_
#define _KDAPL_CM_H_

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
/* KDAPL_TODO_TIMEOUT after @delay jiffies, never earlier. ep->mutex held */
void kdapl_cm_timer_start(struct kdapl_ep *ep, unsigned long delay);
/* Work function of ep->timer */
void kdapl_cm_timer(struct work_struct *work);
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

#endif /* _KDAPL_CM_H_ */
