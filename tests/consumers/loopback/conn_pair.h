/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connected pairs for the scripted cases of the loopback test. A script runs in the work
 * item and does one step after the other on the two ends of a connection. It chooses the
 * cookie of each post, waits for each event, compares it field by field, and checks
 * whether the upcall was called. The EVDs have policy NOTIFY; their upcalls only count.
 *
 * A failed call is noted with the case, and later steps do nothing. A script checks
 * pair_ok() before it waits for anything.
 */
#ifndef _KDAPL_LOOP_CONN_PAIR_H_
#define _KDAPL_LOOP_CONN_PAIR_H_

#include "kdapl_loop.h"

#define PAIR_MEM		8192	/* bytes of each end, one LMR */
#define PAIR_SEGS	4
#define PAIR_DEPTH	16
#define PAIR_FREE	0xa5	/* the fill byte of memory not yet written */
#define PAIR_CONNECT_MS	TEST_HANG_MS

struct pair_evd {
	bool dto;			/* it receives completions, so upcalls may sleep */
	struct pair *pair;
	DAT_EVD_HANDLE handle;
	atomic_t upcalls;
	int seen;			/* upcalls already accounted for */
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

/* What differs between cases. All zero is an ordinary connection. */
struct pair_cfg {
	DAT_COMPLETION_FLAGS recv_flags, req_flags;	/* of both ends */
	DAT_COUNT reads_out;		/* 0: 4 */
	bool no_reads_in;		/* neither end allows the peer to read */
	bool srq;			/* all B share one SRQ */
	u32 grow;			/* resize the SRQ to this before EPs use it; 0: do not */
	bool largest;			/* EPs with the maximum attributes of the IA */
	u32 pairs;			/* 0: 1 */
	bool zone;			/* the last pair has a PZ to itself */
	const char *rnr;		/* kdapl.rnr_retry_count; NULL: the default */
};

#define PAIR_PAIRS	4

struct pair {
	struct loop_run *run;
	struct loop_case *c;
	struct pair_cfg cfg;
	DAT_PZ_HANDLE pz;		/* of the last pair, if .zone is set */
	DAT_SRQ_HANDLE srq;
	/* bytes whose transfer delays the next event; pair_next() waits longer */
	u32 on_the_way;
	struct pair_end a[PAIR_PAIRS], b[PAIR_PAIRS];
};

/* Is the upcall expected for an event? */
enum pair_expect { PAIR_UPCALL, PAIR_NO_UPCALL, PAIR_ANY_UPCALL };

/* conn_pair.c: process context, the work item of the run */
struct pair *pair_make(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg);
int pair_connect(struct pair *d);
void pair_connect_one(struct pair *d, u32 pair);
/* A's connect; the request, not answered; the answer */
bool pair_call(struct pair *d, u32 pair, DAT_TIMEOUT us);
DAT_CR_HANDLE pair_called(struct pair *d);
/* An EVD for connection requests, made and freed by the script */
bool pair_cr_evd(struct pair *d, struct pair_evd *evd, DAT_COUNT qlen);
void pair_free_evd(struct pair *d, struct pair_evd *evd);
void pair_end(struct pair *d);
static inline bool pair_ok(const struct pair *d)
{
	return !READ_ONCE(d->c->verdict.failures) && !READ_ONCE(d->run->abort);
}

/* Whether the device is Soft-RoCE, whose known behaviour is in tests/rxe/README.rst */
static inline bool pair_soft(const struct pair *d)
{
	return !strncmp(d->run->args.device, "rxe", 3);
}

/* Memory */
/* Registers a part of the memory again, in zone @pz; the caller frees the LMR */
bool pair_register(struct pair_end *e, DAT_PZ_HANDLE pz, u32 off, u32 len, DAT_MEM_PRIV_FLAGS priv,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *key);
void pair_fill(struct pair_end *e, u32 off, u32 len, u8 seed);
void pair_clear(struct pair_end *e);
void pair_expect_bytes(struct pair_end *e, const char *what, u32 off, u32 len, u8 seed);
void pair_expect_free(struct pair_end *e, const char *what, u32 off, u32 len);
DAT_LMR_TRIPLET pair_seg(struct pair_end *e, u32 off, u32 len);
DAT_RMR_TRIPLET pair_target(struct pair_end *e, u32 off, u32 len);

/*
 * remote.c: binds @rmr to a part of @e's LMR through @by's queue, waits for the event
 * with
 * @cookie and returns the key. Length 0 unbinds.
 */
DAT_RMR_CONTEXT pair_bind(struct pair_end *e, DAT_RMR_HANDLE rmr, struct pair_end *by, u32 off,
			  u32 len, DAT_MEM_PRIV_FLAGS priv, u64 cookie, u32 flags);
/* remote.c: a send from the start of the memory, with or without the invalidate flag; its event */
void pair_send_inv(struct pair_end *e, u32 len, u64 cookie, bool flag, DAT_RMR_CONTEXT key);
void pair_got_inv(struct pair_end *e, u64 cookie, u32 len, DAT_RMR_CONTEXT key);

/* Posts that must succeed, with @n segments */
void pair_send(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags);
void pair_recv(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags);
void pair_write(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie,
		const DAT_RMR_TRIPLET *to, u32 flags);
void pair_read(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie,
	       const DAT_RMR_TRIPLET *from, u32 flags);
/* The same with one segment */
void pair_send1(struct pair_end *e, u32 off, u32 len, u64 cookie, u32 flags);
void pair_recv1(struct pair_end *e, u32 off, u32 len, u64 cookie, u32 flags);

/* Waits for the next event of an EVD and compares it */
bool pair_next(struct pair *d, struct pair_evd *evd, enum pair_expect upcall, const char *what,
	       DAT_EVENT *ev);
/* @status PAIR_FAILED accepts any status but success */
#define PAIR_FAILED	0xffU
u32 pair_dto(struct pair_end *e, DAT_DTOS op, u64 cookie, u32 status, u32 len,
	     enum pair_expect upcall);
/* Waits for DISCONNECTED or BROKEN; true if it was BROKEN */
bool pair_ended(struct pair_end *e, bool must_break);
void pair_conn(struct pair_end *e, DAT_EVENT_NUMBER number);
/* The same, and returns the private data, which stays readable until the EP is reset */
DAT_COUNT pair_conn_data(struct pair_end *e, DAT_EVENT_NUMBER number, const u8 **data);
/* Checks that no EVD has an event queued */
void pair_expect_no_event(struct pair *d, const char *what);
/* Waits for this long and checks that no event and no upcall comes */
void pair_settle(struct pair *d, u32 ms);
void pair_expect_state(struct pair_end *e, DAT_EP_STATE state);

/* Makes and connects a pair, runs the script on it and frees it */
int pair_play(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg,
	      void (*script)(struct pair *d));

#endif /* _KDAPL_LOOP_CONN_PAIR_H_ */
