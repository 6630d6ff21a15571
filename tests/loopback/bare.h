/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer of the loopback harness that is no Consumer: it speaks plain verbs
 * and rdma_cm, keeps to no contract, and says nothing when it goes. It calls
 * the run's service point.
 */
#ifndef _KDAPL_LOOP_BARE_H_
#define _KDAPL_LOOP_BARE_H_

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "kdapl_loop.h"

#define BARE_MEM	64

struct bare {
	struct loop_case *c;
	struct rdma_cm_id *id;
	struct completion heard;	/* the CM has spoken */
	int last;			/* enum rdma_cm_event_type, or -1 */
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_cqe cqe;
	struct completion done;		/* of the one work request */
	enum ib_wc_status status;
	u8 *mem;
	u64 dma;
};

/* Process context, all of them. A failure is noted with the case. */

/* Finds its way to the service point; NULL if something failed */
struct bare *bare_make(struct loop_run *run, struct loop_case *c);
/*
 * Sends the request; @ack is the exponent of its acknowledge timeout. Who does
 * not bare_finish() leaves the other side waiting.
 */
bool bare_call(struct bare *b, u8 ack);
/* Waits for the answer and completes the connection */
bool bare_finish(struct bare *b);
/* Waits until the CM says this */
bool bare_hears(struct bare *b, enum rdma_cm_event_type event);
/* One request on @len bytes of its memory; how it ended */
enum ib_wc_status bare_rdma(struct bare *b, enum ib_wr_opcode op, u64 addr, u32 key, u32 len);
/* Is there no more, as if its power had gone: its id hears and does not answer */
void bare_vanish(struct bare *b);
void bare_end(struct bare *b);

#endif /* _KDAPL_LOOP_BARE_H_ */
