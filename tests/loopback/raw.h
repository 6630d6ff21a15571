/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bare ids of the connection manager, for scripts over service points: a
 * caller without a queue pair, and a listener that is no service point. What
 * they say is up to the script; what they are told is noted.
 */
#ifndef _KDAPL_LOOP_RAW_H_
#define _KDAPL_LOOP_RAW_H_

#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "sp.h"

#define RAW_RESOLVE_MS	4000
#define RAW_ANY_QP	(~0U)

/* One bare id, and the last thing it was told */
struct raw {
	struct duo *d;
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

/* raw.c: process context, the work item of the run. A failure is noted with the case. */

/* A queue pair that nobody has made: each its own, or it were a stale one */
u32 raw_qp_num(void);
/* Calls a qualifier; @param NULL: as a decent caller, but with such a queue pair (RAW_ANY_QP) */
bool raw_call(struct duo *d, struct raw *r, DAT_CONN_QUAL qual,
	      const struct rdma_conn_param *param);
/* Only finds its way there: @r is told ROUTE_RESOLVED */
bool raw_find(struct duo *d, struct raw *r, DAT_CONN_QUAL qual);
void raw_end(struct raw *r);
/* Has the end of its attempt been told? Any context */
bool raw_told(struct raw *r);
/* Waits for that */
bool raw_wait(struct raw *r);
/* Listens, with a callback and its context */
struct rdma_cm_id *raw_listen(struct duo *d, rdma_cm_event_handler handler, void *context,
			      DAT_CONN_QUAL qual);
/* The address of the run's IA, with this port */
void raw_address(struct duo *d, struct sockaddr_storage *addr, DAT_CONN_QUAL qual);

#endif /* _KDAPL_LOOP_RAW_H_ */
