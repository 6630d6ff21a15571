/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A plain-verbs peer for the loopback test. It uses verbs and rdma_cm directly, follows
 * no contract, and can disappear without a disconnect. It connects to the run's service
 * point, or to another plain-verbs peer.
 */
#ifndef _KDAPL_LOOP_VERBS_PEER_H_
#define _KDAPL_LOOP_VERBS_PEER_H_

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "conn_pair.h"
#include "test_verbs.h"

#define VPEER_MEM	PAIR_MEM
#define VPEER_REQS	8
#define VPEER_RNR	7	/* retry without limit */

/* One work request and its result */
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
	/* Called in softirq after a success: true posts the request again. */
	bool (*again)(struct vpeer_req *r);
	u32 rounds;			/* successes of a request with @again */
};

struct vpeer {
	struct loop_run *run;
	struct loop_case *c;
	struct rdma_cm_id *id;
	struct completion cm_event;	/* completed by each CM event */
	int last;			/* enum rdma_cm_event_type, or -1 */
	u8 rnr;				/* RNR retry count */
	bool raised;			/* the QP was in RTR */
	struct ib_pd *pd;
	ib_comp_handler comp_handler;	/* of the CQ, while vpeer_hold() replaces it */
	/* Set by vpeer_hold(), the handler of the CQ and vpeer_overtake(); HOLD_OVER is final. */
	enum { HOLD_NONE, HOLD_ARMED, HOLD_WAITING, HOLD_OVER } hold;
	bool overtaken;			/* the handler was called with interrupts off, and waited */
	struct ib_srq *srq;
	struct test_verbs v;
	u8 *mem;
	u64 dma;
	struct vpeer_req req[VPEER_REQS];
};

/* All in process context. A failure is noted with the case. */

/* Resolves the route to the service point; NULL if something failed */
struct vpeer *vpeer_make(struct loop_run *run, struct loop_case *c);
/* The same, with an SRQ for its receives */
struct vpeer *vpeer_make_srq(struct loop_run *run, struct loop_case *c);
/* Sends the request. Without vpeer_finish(), the other side keeps waiting */
bool vpeer_call(struct vpeer *b);
/* Waits for the answer and completes the connection */
bool vpeer_finish(struct vpeer *b);
/* Both, with an accept by @e, and RNR retry count @rnr; the connected peer, or NULL */
struct vpeer *vpeer_meet_rnr(struct pair_end *e, u8 rnr);
/* The same, with an SRQ as in vpeer_make_srq() */
struct vpeer *vpeer_meet_srq(struct pair_end *e);
static inline struct vpeer *vpeer_meet(struct pair_end *e)
{
	return vpeer_meet_rnr(e, VPEER_RNR);
}

/* Connects two peers without the CM; both allow remote writes and reads */
bool vpeer_join(struct vpeer *x, struct vpeer *y);
/* Waits for this CM event */
bool vpeer_expect(struct vpeer *b, enum rdma_cm_event_type event);

/* Request @i, on @len bytes of its memory: a SEND, or an RDMA to the target of vpeer_aim() */
struct vpeer_req *vpeer_req(struct vpeer *b, u32 i, enum ib_wr_opcode op, u32 off, u32 len);
void vpeer_aim(struct vpeer_req *r, u64 addr, u32 key);
bool vpeer_post(struct vpeer_req *r);
/* Waits for the completion; its status */
enum ib_wc_status vpeer_wait(struct vpeer_req *r);
/* A receive, as request @i */
struct vpeer_req *vpeer_recv(struct vpeer *b, u32 i, u32 off, u32 len);
/* One RDMA on @len bytes of its memory; the status of its completion */
enum ib_wc_status vpeer_rdma(struct vpeer *b, enum ib_wr_opcode op, u64 addr, u32 key, u32 len);

/*
 * Replaces the CQ's handler: on the next completion the handler waits until
 * vpeer_overtake() has stopped the QP, or for a short time. This simulates a CPU that is
 * faster than a software device. vpeer_overtake() returns false if no completion came.
 */
void vpeer_hold(struct vpeer *b);
bool vpeer_overtake(struct vpeer *b);
/* Stops the QP; the CM id sends nothing */
void vpeer_stop(struct vpeer *b);
/* Simulates a power failure: the CM id receives messages and does not answer */
void vpeer_die(struct vpeer *b);
void vpeer_end(struct vpeer *b);

#endif /* _KDAPL_LOOP_VERBS_PEER_H_ */
