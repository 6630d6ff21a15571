/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structures and prototypes of the ledger test.
 *
 * Pairs of EPs in one kernel exchange messages, writes and reads. Every
 * successful post has an entry in the accounting until it is accounted for: by its
 * event; by the event of a later request, if it was suppressed; by the free or
 * reset that returned it; or, for the SRQ, by a later receive which shows that the
 * device has kept it. An event without an entry, with that of another
 * EP, or of a freed EP is an error, and so is a changed byte beyond a buffer.
 *
 * With a role the pairs connect two kernels: the client has the lower EP of each, the
 * server the upper one, and each accounts for its own posts.
 *
 * One thread does everything; there are no upcalls and no locks.
 */
#ifndef _KDAPL_LEDGER_H_
#define _KDAPL_LEDGER_H_

#include <linux/in.h>
#include <linux/prandom.h>
#include <linux/types.h>
#include "kdapl_test.h"

#define PAIRS		12
#define EPS		(2 * PAIRS)		/* pairs are neighbours */
#define DEPTH		16
#define SRQ_DEPTH	32
/* Suppressed requests that have completed keep their entries until a later event */
#define REQUESTS	(4 * DEPTH)
#define ENTRIES		(EPS * REQUESTS + (EPS - 1) * DEPTH + SRQ_DEPTH)
#define DATA		512			/* bytes of a buffer */
#define GUARD		32			/* guard bytes before and after it */
#define STRIDE		(DATA + 2 * GUARD)
#define QUAL		7490

enum role { R_BOTH, R_SERVER, R_CLIENT };

enum kind { K_SEND, K_WRITE, K_READ, K_RECV, K_SRQ, KINDS };

/* A post */
struct entry {
	struct test_post t;
	enum kind kind;
	bool lost;			/* SRQ: the device keeps it forever */
	u32 length;			/* of a request; that of a receive is not used */
	u8 *at;				/* its buffer */
};

/* Private data of a request and of its answer: the address of the sender's memory */
struct ledger_hello {
	u64 arena;
	u32 key;
	u16 pair;			/* PAIRS: the client has made all its posts */
	u16 round;			/* number of the run of the two sides */
};

/* One EP */
struct end {
	unsigned int index;
	DAT_EP_HANDLE ep;
	struct ledger_hello peer;
	struct test_posts *requests, *recvs;	/* the last EP's receives are those of the SRQ */
	int credit;			/* receives for which no send was posted yet */
	/* Messages of this connection: posted, with success; cookie of the last one received */
	u64 asked, sent, received, last_key;
	u64 wrote;			/* cookie of the last write with success and data */
	u32 wrote_length;
	unsigned int established, ended;	/* events of the present attempt */
	/* side.c only */
	DAT_CR_HANDLE cr;		/* a waiting request for this EP */
	DAT_EVENT_NUMBER outcome;	/* the last event other than ESTABLISHED */
	bool attempted, leaving, settled, was_up;
	unsigned long since;		/* jiffies, of the last step */
};

struct ledger_counts {
	u64 posted[KINDS];
	u64 completed[KINDS];		/* with success */
	u64 flushed[KINDS];		/* with any error */
	u64 suppressed[KINDS];		/* succeeded without an event */
	u64 returned[KINDS];		/* returned by a free or reset */
	u64 swallowed;			/* SRQ: kept by the device */
	u64 writes_seen;		/* in the peer's memory */
	u64 srq_checks;			/* checks that the SRQ has exactly the expected ones */
	u64 disconnects, resets, frees, removals;
	u64 broken;			/* connections */
	/* With a role: connections, how they ended otherwise, attempts without one */
	u64 connected, left, failed;
};

struct ledger_fixture {
	struct test_fixture t;
	DAT_SRQ_HANDLE srq;		/* for the receives of the last EP */
	struct end end[EPS];
	struct end bye;			/* with a role: for the last request and its answer */
	unsigned int srq_ends;		/* connections that may have kept one of them */
	bool gone;			/* the device */
	u8 *arena;
	struct rnd_state rnd;
};

extern struct ledger_fixture fx;
extern struct ledger_counts counts;
extern enum role ledger_role;
extern struct sockaddr_in ledger_peer;
extern unsigned short ledger_round;
extern bool ledger_survive;
extern bool ledger_abrupt;

/* main.c */
u32 ledger_rnd(u32 below);
void ledger_step(void);
bool ledger_enough(void);

/* accounting.c */
int acct_init(void);
void acct_exit(void);
void acct_init_end(struct end *end);
struct entry *acct_take(enum kind kind, struct end *end);
void acct_refused(struct end *end, struct entry *e);
void acct_event(const DAT_DTO_COMPLETION_EVENT_DATA *dto);
void acct_returned(struct test_posts *q);
void acct_suppressed(struct end *end);
int acct_srq_out(bool lost);
bool acct_waiting(const struct end *end);
u8 *acct_area(const struct end *end, bool target);
void acct_check_guards(void);
void acct_check_written(const struct end *end);
bool acct_balanced(void);
int acct_size(void);

/* fixture.c */
int fixture_open(void);
int fixture_close(void);
void fixture_drain(void);
int fixture_connect(unsigned int pair);
bool fixture_going(void);
int fixture_wait(bool (*done)(void *data), void *data);
DAT_RETURN fixture_make_ep(struct end *end);
struct end *fixture_end_of(DAT_EP_HANDLE ep);
bool fixture_owns(unsigned int index);
struct ledger_hello fixture_hello(u16 pair);

/* traffic.c */
bool traffic_post(void);
void traffic_change(void);
void traffic_end_all(void);
bool traffic_reads(const struct end *end);
void traffic_prepare(struct end *end);
void traffic_settle(struct end *end);
void traffic_renew(struct end *end);

/* side.c */
void side_run(void);
bool side_all_connected(void);
void side_conn(struct end *end, DAT_EVENT_NUMBER number);
void side_request(DAT_CR_HANDLE cr, const struct ledger_hello *hello);
void side_refuse_all(void);

#endif /* _KDAPL_LEDGER_H_ */
