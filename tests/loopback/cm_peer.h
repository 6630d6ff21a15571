/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plain CM ids of the connection manager, for scripts over service points: a
 * caller without a queue pair, and a listener that is no service point. What
 * they say is up to the script; what they are told is noted.
 */
#ifndef _KDAPL_LOOP_CM_PEER_H_
#define _KDAPL_LOOP_CM_PEER_H_

#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "sp.h"

#define CM_PEER_RESOLVE_MS	4000
#define CM_PEER_ANY_QP	(~0U)

/* One plain CM id, and the last thing it was told */
struct cm_peer {
	struct pair *d;
	struct rdma_cm_id *id;
	struct rdma_conn_param param;	/* of its request */
	bool calls;			/* it has one */
	enum rdma_cm_event_type event;
	int status;
	u8 reads_in, reads_out;		/* that the answer grants */
	u8 len;
	u8 data[256];
	bool told;			/* @event is the end of its attempt */
};

/* cm_peer.c: process context, the work item of the run. A failure is noted with the case. */

/* A queue pair that nobody has made: each its own, or it were a stale one */
u32 cm_peer_qp_num(void);
/*
 * Calls a qualifier. @param NULL: as a correct caller, but with such a queue pair
 * (CM_PEER_ANY_QP)
 */
bool cm_peer_call(struct pair *d, struct cm_peer *r, DAT_CONN_QUAL qual,
		  const struct rdma_conn_param *param);
/* Only finds its way there: @r is told ROUTE_RESOLVED */
bool cm_peer_find(struct pair *d, struct cm_peer *r, DAT_CONN_QUAL qual);
void cm_peer_end(struct cm_peer *r);
/* Has the end of its attempt been told? Any context */
bool cm_peer_notified(struct cm_peer *r);
/* Waits for that */
bool cm_peer_wait(struct cm_peer *r);
/* Listens, with a callback and its context */
struct rdma_cm_id *cm_peer_listen(struct pair *d, rdma_cm_event_handler handler, void *context,
				  DAT_CONN_QUAL qual);
/* The address of the run's IA, with this port */
void cm_peer_address(struct pair *d, struct sockaddr_storage *addr, DAT_CONN_QUAL qual);

#endif /* _KDAPL_LOOP_CM_PEER_H_ */
