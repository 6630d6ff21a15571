/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer of the loopback harness that is no Consumer: it speaks plain verbs
 * and rdma_cm, keeps to no contract, and says nothing when it goes. It calls
 * the run's service point, or is joined to another one of its kind.
 */
#ifndef _KDAPL_LOOP_BARE_H_
#define _KDAPL_LOOP_BARE_H_

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "duo.h"

#define BARE_MEM	DUO_MEM
#define BARE_REQS	8
#define BARE_RNR	7	/* for as long as it takes */

/* One work request, and what came of it */
struct bare_req {
	struct bare *b;
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
	bool (*again)(struct bare_req *r);
	u32 rounds;			/* successes of one that is */
};

struct bare {
	struct loop_run *run;
	struct loop_case *c;
	struct rdma_cm_id *id;
	struct completion heard;	/* the CM has spoken */
	int last;			/* enum rdma_cm_event_type, or -1 */
	u8 rnr;				/* how often it tries where no receive is posted */
	struct ib_pd *pd;
	struct ib_cq *cq;
	ib_comp_handler told;		/* that of the CQ, while bare_rash() has its place */
	/* By bare_rash(), the CQ's handler, and bare_overtake(); GONE is the last */
	enum { CALM, RASH, TOLD, GONE } mood;
	bool overtaken;			/* the device told of it with interrupts off, and waited */
	struct ib_srq *srq;
	struct ib_qp *qp;
	u8 *mem;
	u64 dma;
	struct bare_req req[BARE_REQS];
};

/* Process context, all of them. A failure is noted with the case. */

/* Finds its way to the service point; NULL if something failed */
struct bare *bare_make(struct loop_run *run, struct loop_case *c);
/* The same, and receives from a queue that others might share */
struct bare *bare_make_srq(struct loop_run *run, struct loop_case *c);
/* Sends the request. Who does not bare_finish() leaves the other side waiting */
bool bare_call(struct bare *b);
/* Waits for the answer and completes the connection */
bool bare_finish(struct bare *b);
/* Both, and an accept by @e; a peer that tries @rnr times, connected, or NULL */
struct bare *bare_meet_rnr(struct duo_end *e, u8 rnr);
/* The same with a queue for receives as bare_make_srq() has it */
struct bare *bare_meet_srq(struct duo_end *e);
static inline struct bare *bare_meet(struct duo_end *e)
{
	return bare_meet_rnr(e, BARE_RNR);
}

/* Connects two of them, without the CM; both may be written to and read from */
bool bare_join(struct bare *x, struct bare *y);
/* Waits until the CM says this */
bool bare_hears(struct bare *b, enum rdma_cm_event_type event);

/* Request @i, on @len bytes of its memory: SEND, or where bare_aim() says */
struct bare_req *bare_req(struct bare *b, u32 i, enum ib_wr_opcode op, u32 off, u32 len);
void bare_aim(struct bare_req *r, u64 addr, u32 key);
bool bare_post(struct bare_req *r);
/* How it ended */
enum ib_wc_status bare_wait(struct bare_req *r);
/* A receive, as request @i */
struct bare_req *bare_recv(struct bare *b, u32 i, u32 off, u32 len);
/* One RDMA on @len bytes of its memory, and how it ended */
enum ib_wc_status bare_rdma(struct bare *b, enum ib_wr_opcode op, u64 addr, u32 key, u32 len);

/*
 * Its QP stops before the next completion has been told to the end: the handler waits
 * until bare_overtake() has done that, or for a moment. Stands for a CPU that is quicker
 * than the device, if that is of software. False: no completion came.
 */
void bare_rash(struct bare *b);
bool bare_overtake(struct bare *b);
/* Its QP stops where it is, its id says nothing */
void bare_stop(struct bare *b);
/* Is there no more, as if its power had gone: its id hears and does not answer */
void bare_vanish(struct bare *b);
void bare_end(struct bare *b);

#endif /* _KDAPL_LOOP_BARE_H_ */
