/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to connection/: attempts, service points, requests.
 */
#ifndef _KDAPL_CONNECTION_INTERNAL_H_
#define _KDAPL_CONNECTION_INTERNAL_H_

#include "connection.h"

void kdapl_keepalive_start(struct kdapl_ep *ep);

void kdapl_cm_accept(struct kdapl_ep *ep, struct rdma_cm_id *id,
		     const struct rdma_conn_param *req, const void *data, u8 len);
void kdapl_cm_resolve(struct kdapl_ep *ep, const struct sockaddr_storage *remote);
void kdapl_cm_limit_send(struct kdapl_ep *ep, struct ib_qp_attr *attr);
int kdapl_cm_modify_qp(struct kdapl_ep *ep, struct ib_qp_attr *attr, int mask);
int kdapl_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
void kdapl_cm_note_event(struct kdapl_ep *ep, enum rdma_cm_event_type event, int status);
void kdapl_cm_call_failed(struct kdapl_ep *ep, DAT_EVENT_NUMBER number,
			  enum rdma_cm_event_type event, int err);

/**
 * struct kdapl_notice - the id of a connection or attempt that ended
 * @node:  on kdapl_device.notices; empty until it is listed. Guarded by notice_lock
 * @work:  sends the disconnect; destroys the id and the notice
 * @dev:   the device
 * @id:    the id, owned by the notice
 * @ia:    the IA, which may be closed and freed, so it is only compared
 * @sent:  the request was handed to the CM; written before @work is queued, and by @work
 * @until: jiffies by which the notice is given up; guarded by notice_lock
 * @over:  there is nothing to send, or the CM has an answer; guarded by notice_lock once the
 *         notice is the context of @id
 */
struct kdapl_notice {
	struct list_head node;
	struct delayed_work work;
	struct kdapl_device *dev;
	struct rdma_cm_id *id;
	const struct kdapl_ia *ia;
	bool sent;
	unsigned long until;
	bool over;
};

int kdapl_notice_reserve(struct kdapl_ep *ep);
void kdapl_notice_end(struct kdapl_ep *ep, bool disconnect);

int kdapl_cm_route(const struct kdapl_ia *ia, const struct rdma_cm_id *id,
		   const struct sockaddr_storage *remote);
void kdapl_cm_set_local(struct kdapl_ep *ep, const struct sockaddr_storage *local);
struct rdma_cm_id *kdapl_cm_bind(struct kdapl_ia *ia, const struct sockaddr_storage *own,
				 struct ib_device *ibdev, rdma_cm_event_handler handler,
				 void *context, u16 port, const struct sockaddr_storage *peer);
void kdapl_cm_begin(struct kdapl_ep *ep, struct rdma_cm_id *id, bool passive);
void kdapl_cm_timer_start(struct kdapl_ep *ep, u64 delay);
void kdapl_cm_timer(struct work_struct *work);
void kdapl_cm_set_port(struct sockaddr_storage *addr, u16 port);
DAT_RETURN kdapl_cm_address(struct net *net, const struct sockaddr *in,
			    struct sockaddr_storage *out);

struct kdapl_sp *kdapl_sp_create(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				 DAT_EP_HANDLE ep, bool any_address);
struct kdapl_sp *kdapl_sp_alloc(struct kdapl_ia *ia, struct kdapl_evd *evd, DAT_CONN_QUAL qual,
				DAT_EP_HANDLE ep);
void kdapl_sp_start(struct kdapl_sp *sp, DAT_CONN_QUAL *qual, DAT_HANDLE *handle);
struct kdapl_evd *kdapl_sp_evd(struct kdapl_ia *ia, DAT_EVD_HANDLE handle);
DAT_RETURN kdapl_sp_error(int err);

struct kdapl_sp *kdapl_sp_find(const struct kdapl_ia *ia, DAT_CONN_QUAL qual);

/* Returns true if it refuses further requests, because it is closed or being freed */
static inline bool kdapl_sp_ends(const struct kdapl_sp *sp)
{
	return READ_ONCE(sp->closed) || atomic_read(&sp->obj.users) < 0;
}

/* All service points, guarded by kdapl_sps_lock */
extern struct list_head kdapl_sps;
extern spinlock_t kdapl_sps_lock;
bool kdapl_sp_admit(struct kdapl_sp *sp, bool placed);
void kdapl_sp_uncount(struct kdapl_sp *sp, bool placed);
void kdapl_sp_unlisten(struct kdapl_sp *sp);
void kdapl_listener_free(struct kdapl_listener *l);
void kdapl_sp_destroy_ids(struct kdapl_sp *sp);

void kdapl_rsp_reserve_ep(struct kdapl_ep *ep, struct kdapl_sp *sp);
bool kdapl_rsp_move(struct kdapl_sp *sp, DAT_EP_STATE from, DAT_EP_STATE to);

struct kdapl_cr *kdapl_cr_alloc(struct kdapl_sp *sp, bool placed, gfp_t gfp);
void kdapl_cr_arrive(struct kdapl_cr *cr, struct rdma_cm_id *id,
		     const struct rdma_conn_param *param);

#endif /* _KDAPL_CONNECTION_INTERNAL_H_ */
