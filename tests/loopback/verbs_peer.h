/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer of the loopback harness that is no Consumer: it speaks plain verbs
 * and rdma_cm, keeps to no contract, and says nothing when it goes. It calls
 * the run's service point, or is joined to another one of its kind.
 */
#ifndef _KDAPL_LOOP_VERBS_PEER_H_
#define _KDAPL_LOOP_VERBS_PEER_H_

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "conn_pair.h"

#define VPEER_MEM	PAIR_MEM
#define VPEER_REQS	8
#define VPEER_RNR	7	/* for as long as it takes */

/* One work request, and what came of it */
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
	/* In softirq, behind a success: is it posted again? */
	bool (*again)(struct vpeer_req *r);
	u32 rounds;			/* successes of one that is */
};

struct vpeer {
	struct loop_run *run;
	struct loop_case *c;
	struct rdma_cm_id *id;
	struct completion heard;	/* the CM has spoken */
	int last;			/* enum rdma_cm_event_type, or -1 */
	u8 rnr;				/* how often it tries where no receive is posted */
	struct ib_pd *pd;
	struct ib_cq *cq;
	ib_comp_handler told;		/* that of the CQ, while vpeer_rash() has its place */
	/* By vpeer_rash(), the CQ's handler, and vpeer_overtake(); GONE is the last */
	enum { CALM, RASH, TOLD, GONE } mood;
	bool overtaken;			/* the device told of it with interrupts off, and waited */
	struct ib_srq *srq;
	struct ib_qp *qp;
	u8 *mem;
	u64 dma;
	struct vpeer_req req[VPEER_REQS];
};

/* Process context, all of them. A failure is noted with the case. */

/* Finds its way to the service point; NULL if something failed */
struct vpeer *vpeer_make(struct loop_run *run, struct loop_case *c);
/* The same, and receives from a queue that others might share */
struct vpeer *vpeer_make_srq(struct loop_run *run, struct loop_case *c);
/* Sends the request. Who does not vpeer_finish() leaves the other side waiting */
bool vpeer_call(struct vpeer *b);
/* Waits for the answer and completes the connection */
bool vpeer_finish(struct vpeer *b);
/* Both, and an accept by @e; a peer that tries @rnr times, connected, or NULL */
struct vpeer *vpeer_meet_rnr(struct pair_end *e, u8 rnr);
/* The same with a queue for receives as vpeer_make_srq() has it */
struct vpeer *vpeer_meet_srq(struct pair_end *e);
static inline struct vpeer *vpeer_meet(struct pair_end *e)
{
	return vpeer_meet_rnr(e, VPEER_RNR);
}

/* Connects two of them, without the CM; both may be written to and read from */
bool vpeer_join(struct vpeer *x, struct vpeer *y);
/* Waits until the CM says this */
bool vpeer_expect(struct vpeer *b, enum rdma_cm_event_type event);

/* Request @i, on @len bytes of its memory: SEND, or where vpeer_aim() says */
struct vpeer_req *vpeer_req(struct vpeer *b, u32 i, enum ib_wr_opcode op, u32 off, u32 len);
void vpeer_aim(struct vpeer_req *r, u64 addr, u32 key);
bool vpeer_post(struct vpeer_req *r);
/* How it ended */
enum ib_wc_status vpeer_wait(struct vpeer_req *r);
/* A receive, as request @i */
struct vpeer_req *vpeer_recv(struct vpeer *b, u32 i, u32 off, u32 len);
/* One RDMA on @len bytes of its memory, and how it ended */
enum ib_wc_status vpeer_rdma(struct vpeer *b, enum ib_wr_opcode op, u64 addr, u32 key, u32 len);

/*
 * Its QP stops before the next completion has been told to the end: the handler waits
 * until vpeer_overtake() has done that, or for a moment. Stands for a CPU that is quicker
 * than the device, if that is of software. False: no completion came.
 */
void vpeer_rash(struct vpeer *b);
bool vpeer_overtake(struct vpeer *b);
/* Its QP stops where it is, its id says nothing */
void vpeer_stop(struct vpeer *b);
/* Is there no more, as if its power had gone: its id hears and does not answer */
void vpeer_die(struct vpeer *b);
void vpeer_end(struct vpeer *b);

#endif /* _KDAPL_LOOP_VERBS_PEER_H_ */
