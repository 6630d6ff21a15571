/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to connection/: attempts, service points, requests.
 */
#ifndef _KDAPL_CONNECTION_INTERNAL_H_
#define _KDAPL_CONNECTION_INTERNAL_H_

#include "connection.h"

/* ---- keepalive.c --------------------------------------------------------- */

/* Called when the EP becomes CONNECTED; ep->mutex held */
void kdapl_keepalive_start(struct kdapl_ep *ep);

/* ---- cm.c ---------------------------------------------------------------- */

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
int kdapl_cm_modify_qp(struct kdapl_ep *ep, struct ib_qp_attr *attr, int mask);

/* rdma_cm callback of ids that belong to an EP */
int kdapl_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);

/**
 * struct kdapl_notice - the id of a connection or attempt that has ended
 * @node:  on kdapl_device.notices; empty until it is listed. Guarded by notice_lock
 * @work:  sends the disconnect; destroys the id and the notice
 * @dev:   the device
 * @id:    the id, owned by the notice
 * @sent:  the request was handed to the CM; written before @work is queued, and by @work
 * @until: jiffies by which the CM has given up; set with @sent
 * @over:  there is nothing to send, or the CM has an answer, or the device is leaving; guarded
 *         by notice_lock once the notice is the context of @id
 */
struct kdapl_notice {
	struct list_head node;
	struct delayed_work work;
	struct kdapl_device *dev;
	struct rdma_cm_id *id;
	bool sent;
	unsigned long until;
	bool over;
};

/* ---- notice.c ------------------------------------------------------------ */

/* Takes the id of an EP, and notifies the peer of the end. ep->mutex held */
void kdapl_notice_end(struct kdapl_ep *ep, bool disconnect);

/* ---- cm_id.c ------------------------------------------------------------- */

/* Is there a route? Returns 0, -ENETUNREACH or another error */
int kdapl_cm_route(const struct kdapl_ia *ia, const struct rdma_cm_id *id,
		   const struct sockaddr_storage *remote);

/* Returns a new id bound to the IA's address, device and port, or ERR_PTR */
struct rdma_cm_id *kdapl_cm_bind(struct kdapl_ia *ia, struct ib_device *ibdev,
				 rdma_cm_event_handler handler, void *context, u16 port,
				 const struct sockaddr_storage *peer);

/* Sets fields and state for an attempt with @id. ep->mutex held */
void kdapl_cm_begin(struct kdapl_ep *ep, struct rdma_cm_id *id, bool passive);

/* Sets KDAPL_TODO_TIMEOUT after @delay nanoseconds, never earlier. ep->mutex held */
void kdapl_cm_timer_start(struct kdapl_ep *ep, u64 delay);

/* Work function of ep->timer */
void kdapl_cm_timer(struct work_struct *work);

/* Sets the IP port of an address */
void kdapl_cm_set_port(struct sockaddr_storage *addr, u16 port);

/* Checks and normalises a Consumer's address; the port is 0. DAT_SUCCESS, INVALID_ADDRESS */
DAT_RETURN kdapl_cm_address(struct net *net, const struct sockaddr *in,
			    struct sockaddr_storage *out);

/* ---- sp_listen.c --------------------------------------------------------- */

/* Create and end a service point; the steps are separate for the tests */
struct kdapl_sp *kdapl_sp_create(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				 DAT_EP_HANDLE ep);
struct kdapl_sp *kdapl_sp_alloc(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				DAT_EP_HANDLE ep);
void kdapl_sp_start(struct kdapl_sp *sp, DAT_CONN_QUAL *qual, DAT_HANDLE *handle);
int kdapl_sp_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type);

/* For PSPs and RSPs: look up the EVD; translate an error to a return value */
struct kdapl_evd *kdapl_sp_evd(struct kdapl_ia *ia, DAT_EVD_HANDLE handle);
DAT_RETURN kdapl_sp_error(int err);

/* ---- sp_backlog.c -------------------------------------------------------- */

/* Returns the service point of a qualifier, with a reference; any context */
struct kdapl_sp *kdapl_sp_find(const struct kdapl_ia *ia, DAT_CONN_QUAL qual);

/* Does it refuse further requests, because it is closed or being freed? */
static inline bool kdapl_sp_ends(const struct kdapl_sp *sp)
{
	return READ_ONCE(sp->closed) || atomic_read(&sp->obj.users) < 0;
}

/* Count a request that waits; note that it does not wait any more; stop listening */
extern struct list_head kdapl_sps;
extern spinlock_t kdapl_sps_lock;
bool kdapl_sp_admit(struct kdapl_sp *sp, bool placed);
void kdapl_sp_uncount(struct kdapl_sp *sp, bool counted);
void kdapl_sp_unlisten(struct kdapl_sp *sp);

/* ---- rsp.c --------------------------------------------------------------- */

/* Reserve the EP of an RSP; change its state. Process context, ep->mutex held */
void kdapl_rsp_reserve_ep(struct kdapl_ep *ep, struct kdapl_sp *sp);
bool kdapl_rsp_move(struct kdapl_sp *sp, DAT_EP_STATE from, DAT_EP_STATE to);

/* ---- cr.c ---------------------------------------------------------------- */

/* Allocate a CR, if there is room for it; fill one in for a request that has arrived */
struct kdapl_cr *kdapl_cr_alloc(struct kdapl_sp *sp, bool placed, gfp_t gfp);
void kdapl_cr_arrive(struct kdapl_cr *cr, struct rdma_cm_id *id,
		     const struct rdma_conn_param *param);

#endif /* _KDAPL_CONNECTION_INTERNAL_H_ */
