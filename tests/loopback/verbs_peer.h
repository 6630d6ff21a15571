/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A plain-verbs peer of the loopback test: it uses verbs and rdma_cm without kDAPL, follows no
 * contract, and can stop without a disconnect. It connects to the service point of the run,
 * or to another peer of this type.
 */
#ifndef _KDAPL_LOOP_VERBS_PEER_H_
#define _KDAPL_LOOP_VERBS_PEER_H_

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "conn_pair.h"

#define VPEER_MEM	PAIR_MEM
#define VPEER_REQS	8
#define VPEER_RNR	7	/* for as long as it takes */

/* One work request, and its completion */
struct vpeer_req {
	struct vpeer *b;
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
	u32 opcode, flags, len;		/* of a receive that succeeded */
	union {
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
		struct ib_reg_wr reg;
		struct ib_recv_wr recv;
	};
	struct ib_sge sge[2];
	/* In softirq after a success: returns whether it is posted again */
	bool (*again)(struct vpeer_req *r);
	u32 rounds;			/* successes of a request that is posted again */
};

struct vpeer {
	struct loop_run *run;
	struct loop_case *c;
	struct rdma_cm_id *id;
	struct completion heard;	/* the CM has raised an event */
	int last;			/* enum rdma_cm_event_type, or -1 */
	u8 rnr;				/* number of tries if no receive is posted */
	struct ib_pd *pd;
	struct ib_cq *cq;
	ib_comp_handler told;		/* handler of the CQ, while vpeer_rash() has replaced it */
	/* Set by vpeer_rash(), the CQ's handler, and vpeer_overtake(), in this order */
	enum { CALM, RASH, TOLD, GONE } mood;
	bool overtaken;			/* the handler ran with interrupts off, and waited */
	struct ib_srq *srq;
	struct ib_qp *qp;
	u8 *mem;
	u64 dma;
	struct vpeer_req req[VPEER_REQS];
};

/* All in process context. A failure is noted with the case. */

/* Creates a peer and resolves the route to the service point; or NULL */
struct vpeer *vpeer_make(struct loop_run *run, struct loop_case *c);
/* Likewise, with a shared receive queue */
struct vpeer *vpeer_make_srq(struct loop_run *run, struct loop_case *c);
/* Sends the request. Without vpeer_finish() the other side waits */
bool vpeer_call(struct vpeer *b);
/* Waits for the answer and completes the connection */
bool vpeer_finish(struct vpeer *b);
/* Creates and connects a peer that tries @rnr times, accepted by @e; or NULL */
struct vpeer *vpeer_meet_rnr(struct pair_end *e, u8 rnr);
/* Likewise, with a shared receive queue */
struct vpeer *vpeer_meet_srq(struct pair_end *e);
static inline struct vpeer *vpeer_meet(struct pair_end *e)
{
	return vpeer_meet_rnr(e, VPEER_RNR);
}

/* Connects two peers without the CM; both allow writes and reads */
bool vpeer_join(struct vpeer *x, struct vpeer *y);
/* Waits for this event of the CM */
bool vpeer_expect(struct vpeer *b, enum rdma_cm_event_type event);

/* Request @i with @len bytes of its memory: SEND, or RDMA to the target of vpeer_aim() */
struct vpeer_req *vpeer_req(struct vpeer *b, u32 i, enum ib_wr_opcode op, u32 off, u32 len);
void vpeer_aim(struct vpeer_req *r, u64 addr, u32 key);
bool vpeer_post(struct vpeer_req *r);
/* Waits for its completion status */
enum ib_wc_status vpeer_wait(struct vpeer_req *r);
/* A receive, as request @i */
struct vpeer_req *vpeer_recv(struct vpeer *b, u32 i, u32 off, u32 len);
/* One RDMA operation with @len bytes of its memory; returns its status */
enum ib_wc_status vpeer_rdma(struct vpeer *b, enum ib_wr_opcode op, u64 addr, u32 key, u32 len);

/*
 * Stops its QP while the handler of the next completion still runs: the handler waits until
 * vpeer_overtake() has stopped the QP, or for a moment. This emulates a CPU that is faster than
 * a software device. False: there was no completion.
 */
void vpeer_rash(struct vpeer *b);
bool vpeer_overtake(struct vpeer *b);
/* Stops its QP; its id sends nothing */
void vpeer_stop(struct vpeer *b);
/* Dies, as if its power had failed: its id receives but does not answer */
void vpeer_die(struct vpeer *b);
void vpeer_end(struct vpeer *b);

#endif /* _KDAPL_LOOP_VERBS_PEER_H_ */
