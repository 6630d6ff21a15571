/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plain ids of the connection manager, for scripts about service points: a caller without a
 * queue pair, and a listener that is not a service point. The script determines their
 * messages, and their last event is recorded.
 */
#ifndef _KDAPL_LOOP_CM_PEER_H_
#define _KDAPL_LOOP_CM_PEER_H_

#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "sp.h"

#define CM_PEER_RESOLVE_MS	4000
#define CM_PEER_ANY_QP	(~0U)

/* One plain CM id, and its last event */
struct cm_peer {
	struct pair *d;
	struct rdma_cm_id *id;
	struct rdma_conn_param param;	/* of its request */
	bool calls;			/* it has called */
	enum rdma_cm_event_type event;
	int status;
	u8 reads_in, reads_out;		/* credits that the answer grants */
	u8 len;
	u8 data[256];
	bool told;			/* @event is the end of its attempt */
};

/* cm_peer.c: process context, the work item of the run. A failure is noted with the case. */

/* Number of a QP that does not exist; unique, because the CM rejects stale numbers */
u32 cm_peer_qp_num(void);
/*
 * Calls a qualifier. @param NULL: like a correct caller, but with cm_peer_qp_num()
 */
bool cm_peer_call(struct pair *d, struct cm_peer *r, DAT_CONN_QUAL qual,
		  const struct rdma_conn_param *param);
/* Resolves address and route only, until ROUTE_RESOLVED */
bool cm_peer_find(struct pair *d, struct cm_peer *r, DAT_CONN_QUAL qual);
void cm_peer_end(struct cm_peer *r);
/* Was the end of its attempt reported? Any context */
bool cm_peer_notified(struct cm_peer *r);
/* Waits for the end of its attempt */
bool cm_peer_wait(struct cm_peer *r);
/* Listens, with a callback and its context */
struct rdma_cm_id *cm_peer_listen(struct pair *d, rdma_cm_event_handler handler, void *context,
				  DAT_CONN_QUAL qual);
/* The address of the run's IA, with this port */
void cm_peer_address(struct pair *d, struct sockaddr_storage *addr, DAT_CONN_QUAL qual);

#endif /* _KDAPL_LOOP_CM_PEER_H_ */
