/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scripted cases of the loopback harness: a duo is a connection whose two ends
 * do one thing after the other, in the work item. Each post has a cookie of
 * its own making, each event is waited for and compared field by field, and
 * whether its upcall was made too. Upcalls only count: policy NOTIFY.
 *
 * A call that fails is noted with the case, and what follows is left out: a
 * script looks at duo_ok() before it waits for anything.
 */
#ifndef _KDAPL_LOOP_DUO_H_
#define _KDAPL_LOOP_DUO_H_

#include "kdapl_loop.h"

#define DUO_MEM		8192	/* bytes of each end, one LMR */
#define DUO_SEGS	4
#define DUO_DEPTH	16
#define DUO_FREE	0xa5	/* a byte that nobody has written */
#define DUO_CONNECT_MS	20000

struct duo_evd {
	struct duo *duo;
	DAT_EVD_HANDLE handle;
	atomic_t upcalls;
	int seen;			/* upcalls accounted for */
};

struct duo_end {
	struct duo *duo;
	const char *name;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	struct duo_evd recv, req, conn;
	u8 *mem;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
};

/* What differs between cases; zero is an ordinary connection. */
struct duo_cfg {
	DAT_COMPLETION_FLAGS recv_flags, req_flags;	/* of both ends */
	DAT_COUNT reads_out;		/* 0: 4 */
	bool no_reads_in;		/* nobody may read from either end */
	bool srq;			/* all B have one SRQ */
	u32 grow;			/* which is made so large before they join it; 0: not */
	bool largest;			/* EPs with all that the IA allows */
	u32 pairs;			/* 0: 1 */
	bool zone;			/* the last pair has one of its own */
};

#define DUO_PAIRS	4

struct duo {
	struct loop_run *run;
	struct loop_case *c;
	struct duo_cfg cfg;
	DAT_PZ_HANDLE pz;		/* of the last pair, if it has its own */
	DAT_SRQ_HANDLE srq;
	u32 on_the_way;			/* bytes, where the next event takes long by them */
	struct duo_end a[DUO_PAIRS], b[DUO_PAIRS];
};

/* Does an event come, and is its upcall made? */
enum duo_told { DUO_TOLD, DUO_SILENT, DUO_EITHER };

/* duo.c: process context, the work item of the run */
struct duo *duo_make(struct loop_run *run, struct loop_case *c, const struct duo_cfg *cfg);
int duo_connect(struct duo *d);
void duo_connect_pair(struct duo *d, u32 pair);
/* A's connect; the request of it, not answered; the answer */
bool duo_call(struct duo *d, u32 pair, DAT_TIMEOUT us);
DAT_CR_HANDLE duo_called(struct duo *d);
/* An EVD of the script's own, for requests */
bool duo_cr_evd(struct duo *d, struct duo_evd *evd, DAT_COUNT qlen);
void duo_free_evd(struct duo *d, struct duo_evd *evd);
void duo_end(struct duo *d);
static inline bool duo_ok(const struct duo *d)
{
	return !READ_ONCE(d->c->fails) && !READ_ONCE(d->run->abort);
}

/* Memory */
/* A part of it is registered once more, in whatever zone; the handle is the caller's to free */
bool duo_register(struct duo_end *e, DAT_PZ_HANDLE pz, u32 off, u32 len, DAT_MEM_PRIV_FLAGS priv,
		  DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *key);
void duo_fill(struct duo_end *e, u32 off, u32 len, u8 seed);
void duo_clear(struct duo_end *e);
void duo_expect_bytes(struct duo_end *e, const char *what, u32 off, u32 len, u8 seed);
void duo_expect_free(struct duo_end *e, const char *what, u32 off, u32 len);
DAT_LMR_TRIPLET duo_seg(struct duo_end *e, u32 off, u32 len);
DAT_RMR_TRIPLET duo_target(struct duo_end *e, u32 off, u32 len);

/*
 * remote.c: @rmr to a part of @e's LMR, by @by's queue; the key. @cookie is that
 * of the event. No length: it is unbound.
 */
DAT_RMR_CONTEXT duo_bind(struct duo_end *e, DAT_RMR_HANDLE rmr, struct duo_end *by, u32 off,
			 u32 len, DAT_MEM_PRIV_FLAGS priv, u64 cookie, u32 flags);

/* Posts that must succeed; @n segments */
void duo_send(struct duo_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags);
void duo_recv(struct duo_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags);
void duo_write(struct duo_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie,
	       const DAT_RMR_TRIPLET *to, u32 flags);
void duo_read(struct duo_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie,
	      const DAT_RMR_TRIPLET *from, u32 flags);
/* The same with one segment */
void duo_send1(struct duo_end *e, u32 off, u32 len, u64 cookie, u32 flags);
void duo_recv1(struct duo_end *e, u32 off, u32 len, u64 cookie, u32 flags);

/* Events: the next one of an EVD, compared */
bool duo_next(struct duo *d, struct duo_evd *evd, enum duo_told told, const char *what,
	      DAT_EVENT *ev);
/* @status DUO_FAILED: any but success */
#define DUO_FAILED	0xffU
u32 duo_dto(struct duo_end *e, DAT_DTOS op, u64 cookie, u32 status, u32 len, enum duo_told told);
/* The end of a connection, DISCONNECTED or BROKEN: true if it was BROKEN */
bool duo_ended(struct duo_end *e, bool must_break);
void duo_conn(struct duo_end *e, DAT_EVENT_NUMBER number);
/* The same, and its private data, which stays readable until the EP is reset */
DAT_COUNT duo_conn_data(struct duo_end *e, DAT_EVENT_NUMBER number, const u8 **data);
/* Nothing is queued on any EVD now */
void duo_expect_quiet(struct duo *d, const char *what);
/* Nothing comes for so long; upcalls may not either */
void duo_rest(struct duo *d, u32 ms);
void duo_expect_state(struct duo_end *e, DAT_EP_STATE state);

/* Plays one script on a connection of its own, connected */
int duo_play(struct loop_run *run, struct loop_case *c, const struct duo_cfg *cfg,
	     void (*script)(struct duo *d));

#endif /* _KDAPL_LOOP_DUO_H_ */
