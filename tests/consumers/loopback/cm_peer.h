/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plain rdma_cm ids for the service point scripts: a caller without a queue pair, and a
 * listener that is not a service point. The script decides what they send; the callback
 * records the events they receive.
 */
#ifndef _KDAPL_LOOP_CM_PEER_H_
#define _KDAPL_LOOP_CM_PEER_H_

#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "sp.h"

#define CM_PEER_RESOLVE_MS	TEST_HANG_MS
#define CM_PEER_ANY_QP	(~0U)

/* One plain CM id, and the last event it received */
struct cm_peer {
	struct pair *d;
	struct rdma_cm_id *id;
	struct rdma_conn_param param;	/* of its request */
	bool calls;			/* @param is valid */
	enum rdma_cm_event_type event;
	int status;
	u8 reads_in, reads_out;		/* limits granted by the answer */
	u8 len;
	u8 data[256];
	bool ended;			/* @event is valid: the attempt has ended */
};

/* cm_peer.c: process context, the work item of the run. A failure is noted with the case. */

/*
 * The number of a queue pair that does not exist; a new one for each call, because the CM
 * would treat a repeated number as a stale connection
 */
u32 cm_peer_qp_num(void);
/*
 * Connects to a qualifier. @param NULL: the parameters of a correct caller, but with such
 * a queue pair number (CM_PEER_ANY_QP)
 */
bool cm_peer_call(struct pair *d, struct cm_peer *r, DAT_CONN_QUAL qual,
		  const struct rdma_conn_param *param);
/* Only resolves the route: the event of @r is ROUTE_RESOLVED */
bool cm_peer_find(struct pair *d, struct cm_peer *r, DAT_CONN_QUAL qual);
void cm_peer_end(struct cm_peer *r);
/* Has the attempt ended? Any context */
bool cm_peer_notified(struct cm_peer *r);
/* Waits until the attempt has ended */
bool cm_peer_wait(struct cm_peer *r);
/* Listens, with a callback and its context */
struct rdma_cm_id *cm_peer_listen(struct pair *d, rdma_cm_event_handler handler, void *context,
				  DAT_CONN_QUAL qual);
/* The address of the run's IA, with the port of @qual */
void cm_peer_address(struct pair *d, struct sockaddr_storage *addr, DAT_CONN_QUAL qual);

#endif /* _KDAPL_LOOP_CM_PEER_H_ */
