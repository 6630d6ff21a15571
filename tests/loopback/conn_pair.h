/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scripted cases of the loopback test. A pair is a connection whose two ends execute one step
 * after the other, in the work item. Each post has its own cookie. The script waits for
 * each event, compares every field, and checks whether its upcall was made. Upcalls only
 * count (policy NOTIFY).
 *
 * A call that fails is noted as a failure of the case, and the following steps are skipped: a
 * script checks pair_ok() before it waits.
 */
#ifndef _KDAPL_LOOP_CONN_PAIR_H_
#define _KDAPL_LOOP_CONN_PAIR_H_

#include "kdapl_loop.h"

#define PAIR_MEM		8192	/* bytes of each end, one LMR */
#define PAIR_SEGS	4
#define PAIR_DEPTH	16
#define PAIR_FREE	0xa5	/* a byte that nobody has written */
#define PAIR_CONNECT_MS	20000

struct pair_evd {
	struct pair *pair;
	DAT_EVD_HANDLE handle;
	atomic_t upcalls;
	int seen;			/* upcalls accounted for */
};

struct pair_end {
	struct pair *pair;
	const char *name;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	struct pair_evd recv, req, conn;
	u8 *mem;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
};

/* The parameters of a case; zero is a usual connection. */
struct pair_cfg {
	DAT_COMPLETION_FLAGS recv_flags, req_flags;	/* of both ends */
	DAT_COUNT reads_out;		/* 0: 4 */
	bool no_reads_in;		/* neither end allows reads */
	bool srq;			/* all B have one SRQ */
	u32 grow;			/* its size before they join it; 0: unchanged */
	bool largest;			/* EPs with the maximum attributes */
	u32 pairs;			/* 0: 1 */
	bool zone;			/* the last pair has its own zone */
};

#define PAIR_PAIRS	4

struct pair {
	struct loop_run *run;
	struct loop_case *c;
	struct pair_cfg cfg;
	DAT_PZ_HANDLE pz;		/* of the last pair, if it has its own */
	DAT_SRQ_HANDLE srq;
	u32 on_the_way;			/* bytes in flight, which delay the next event */
	struct pair_end a[PAIR_PAIRS], b[PAIR_PAIRS];
};

/* Must the event have an upcall? */
enum pair_expect { PAIR_UPCALL, PAIR_NO_UPCALL, PAIR_ANY_UPCALL };

/* conn_pair.c: process context, the work item of the run */
struct pair *pair_make(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg);
int pair_connect(struct pair *d);
void pair_connect_one(struct pair *d, u32 pair);
/* A connects; B receives the request; B answers */
bool pair_call(struct pair *d, u32 pair, DAT_TIMEOUT us);
DAT_CR_HANDLE pair_called(struct pair *d);
/* Another EVD for requests */
bool pair_cr_evd(struct pair *d, struct pair_evd *evd, DAT_COUNT qlen);
void pair_free_evd(struct pair *d, struct pair_evd *evd);
void pair_end(struct pair *d);
static inline bool pair_ok(const struct pair *d)
{
	return !READ_ONCE(d->c->fails) && !READ_ONCE(d->run->abort);
}

/* Memory */
/* Registers a part of it again, in any zone; the caller frees the handle */
bool pair_register(struct pair_end *e, DAT_PZ_HANDLE pz, u32 off, u32 len, DAT_MEM_PRIV_FLAGS priv,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *key);
void pair_fill(struct pair_end *e, u32 off, u32 len, u8 seed);
void pair_clear(struct pair_end *e);
void pair_expect_bytes(struct pair_end *e, const char *what, u32 off, u32 len, u8 seed);
void pair_expect_free(struct pair_end *e, const char *what, u32 off, u32 len);
DAT_LMR_TRIPLET pair_seg(struct pair_end *e, u32 off, u32 len);
DAT_RMR_TRIPLET pair_target(struct pair_end *e, u32 off, u32 len);

/*
 * remote.c: binds @rmr to a part of @e's LMR on the queue of @by, with this cookie, and
 * returns the key. Unbinds if @len is 0.
 */
DAT_RMR_CONTEXT pair_bind(struct pair_end *e, DAT_RMR_HANDLE rmr, struct pair_end *by, u32 off,
			  u32 len, DAT_MEM_PRIV_FLAGS priv, u64 cookie, u32 flags);

/* Posts that must succeed; @n segments */
void pair_send(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags);
void pair_recv(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags);
void pair_write(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie,
		const DAT_RMR_TRIPLET *to, u32 flags);
void pair_read(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie,
	       const DAT_RMR_TRIPLET *from, u32 flags);
/* Likewise with one segment */
void pair_send1(struct pair_end *e, u32 off, u32 len, u64 cookie, u32 flags);
void pair_recv1(struct pair_end *e, u32 off, u32 len, u64 cookie, u32 flags);

/* Waits for the next event of an EVD, and compares it */
bool pair_next(struct pair *d, struct pair_evd *evd, enum pair_expect told, const char *what,
	       DAT_EVENT *ev);
/* @status PAIR_FAILED: any status except success */
#define PAIR_FAILED	0xffU
u32 pair_dto(struct pair_end *e, DAT_DTOS op, u64 cookie, u32 status, u32 len,
	     enum pair_expect told);
/* Waits for the end of a connection: returns true for BROKEN, false for DISCONNECTED */
bool pair_ended(struct pair_end *e, bool must_break);
void pair_conn(struct pair_end *e, DAT_EVENT_NUMBER number);
/* Likewise, with its private data, which stays valid until the EP is reset */
DAT_COUNT pair_conn_data(struct pair_end *e, DAT_EVENT_NUMBER number, const u8 **data);
/* Expects that all EVDs are empty */
void pair_expect_no_event(struct pair *d, const char *what);
/* Expects no event and no upcall for this time */
void pair_settle(struct pair *d, u32 ms);
void pair_expect_state(struct pair_end *e, DAT_EP_STATE state);

/* Runs a script on a new connection */
int pair_play(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg,
	      void (*script)(struct pair *d));

#endif /* _KDAPL_LOOP_CONN_PAIR_H_ */
