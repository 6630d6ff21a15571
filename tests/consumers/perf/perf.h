/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The performance test: a client measures, a server is its peer, in the same kernel or on
 * another host. Each has an end: a control link, and for every EP that is asked for a link
 * with kDAPL and one with plain verbs. The patterns (pattern.c, poll.c) are the same for
 * both and call the two kinds of links through struct perf_calls.
 *
 * A work item drives each end. Completions arrive in softirq context, one at a time for
 * each link.
 */
#ifndef _KDAPL_PERF_H_
#define _KDAPL_PERF_H_

#include <linux/bitops.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "kdapl_test.h"
#include "stats.h"

#define PERF_MAX_EPS	64
#define PERF_MAX_DEPTH	128
#define PERF_MAX_SIZES	24
#define PERF_LARGEST	SZ_1M
#define PERF_MAX_COUNT	1000000U	/* of samples, which are kept until they are sorted */
#define PERF_MAX_ROUNDS	4
#define PERF_SPARE	8		/* requests whose completion is late */
#define PERF_WAIT_MS	20000
#define PERF_PORT	18700		/* of kDAPL; verbs use the next one */

enum perf_side { PERF_KDAPL, PERF_VERBS, PERF_SIDES };
enum perf_op { PERF_SEND, PERF_WRITE, PERF_READ, PERF_OPS };
enum perf_kind { PERF_LAT, PERF_BW, PERF_KINDS };
enum perf_area { PERF_SOURCE, PERF_SINK, PERF_AREAS };

extern const char * const perf_side_name[PERF_SIDES];
extern const char * const perf_op_name[PERF_OPS];
extern const char * const perf_kind_name[PERF_KINDS];

/* A command; constant during the run */
struct perf_args {
	char device[64];
	char address[64];		/* of the server; empty: the client's own */
	u32 port;
	u32 ops, kinds;			/* bits */
	u32 size[PERF_MAX_SIZES];
	u32 sizes;
	u32 count;			/* messages of each EP */
	u32 ms;				/* instead: time of each measurement */
	u32 eps;
	u32 depth;
};

/* A round of a measurement; both ends know it */
struct perf_spec {
	enum perf_op op;
	enum perf_kind kind;
	enum perf_side side;
	u32 size;
	u32 count;			/* of each EP; with @ms the most */
	u32 ms;
	u32 seed;			/* of the data */
};

struct perf_link;

/* The differences between kDAPL and verbs. Any context, under the link's lock */
struct perf_calls {
	/* Both return false if the call failed */
	bool (*recv)(struct perf_link *l);
	bool (*request)(struct perf_link *l, enum perf_op op, u32 size);
};

struct perf_keys {
	u64 address;
	u32 key;
};

/* One end of a connection */
struct perf_link {
	struct perf_end *end;
	const struct perf_calls *calls;
	enum perf_side side;
	u32 index;
	u32 room;			/* bytes of each area */
	u32 recvs, requests;		/* length of the queues */
	u8 *area[PERF_AREAS];
	struct perf_keys remote[PERF_AREAS];
	/* kDAPL: written before the connection */
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE evd;
	struct kdat_region region[PERF_AREAS];
	u32 event;			/* latest connection event; the work item of the end */
	/* Verbs: written before the connection */
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_mr *mr[PERF_AREAS];
	struct scatterlist sg[PERF_AREAS];
	struct ib_cqe recv_cqe, request_cqe, reg_cqe;
	u32 cm_event;			/* latest, plus 1; written by the CM */
	u32 registered;			/* written by the CQ */
	/* A round */
	spinlock_t lock;		/* guards the rest */
	bool running;			/* this end of the link makes requests */
	bool failed;
	u32 due;			/* requests that wait for room in the queue */
	u32 posted, completed;
	u32 received;
	u64 begin;			/* of the sample in progress, in ns */
};

struct perf_end {
	struct perf_run *run;
	bool server;
	u32 eps, depth, room;
	struct test_fixture t;		/* without a DTO EVD */
	struct perf_link control;
	struct perf_link *link[PERF_SIDES];
	u8 **buffer;			/* @eps times each area */
	struct rdma_cm_id *listener;
	struct rdma_cm_id *request;	/* arrived; set by the CM, cleared by the work item */
	struct perf_link door;		/* context of the listener */
	wait_queue_head_t wait;
	bool hearing;			/* the control link has a receive */
	bool arrived;			/* a message is in the control link's sink */
	bool closing;			/* flushes are expected */
	struct perf_spec spec;
	u64 deadline;			/* of a round with a time, in ns */
	atomic_t busy;			/* links of the round that are not done */
	u64 start, stop;		/* of the round; @stop by the last link */
	u64 *sample;			/* client: of the round's only link; not owned */
	u32 samples;
};

struct perf_row {
	enum perf_op op;
	enum perf_kind kind;
	enum perf_side side;
	u32 size, eps, depth, rounds;
	u64 messages, bad;
	u64 peer;			/* counted by the server, which sees no read */
	u64 ns;				/* bandwidth: duration */
	u64 peak_ns, peak_messages;	/* its best round */
	u64 min, max, average, deviation, p50, p99, p999;
	u32 bucket[PERF_BUCKETS];
};

enum perf_state { PERF_IDLE, PERF_RUNNING, PERF_DONE };

/* The work of one end. main.c has two: the client and the server */
struct perf_run {
	struct work_struct work;
	struct perf_args args;
	struct perf_run *server;	/* client: in the same kernel; else NULL */
	bool stop;
	bool listening;
	u32 planned;			/* rows */
	u32 round;			/* measured, of the row in progress */
	struct mutex lock;		/* guards the rest */
	enum perf_state state;
	char error[160];
	struct perf_spec now;		/* what is measured; @now.size is 0 before the first row */
	char device[64];		/* name of the IA */
	struct perf_row *row;
	u32 rows;
};

#define PERF_CONTROL	0xffffffffU
#define PERF_MAGIC	0x6b706631U

enum perf_type {
	PERF_HELLO, PERF_KEYS, PERF_BEGIN, PERF_FINISH, PERF_BYE, PERF_OK, PERF_REFUSED,
};

/* A message of the control link. The client sends, the server answers OK or REFUSED */
struct perf_msg {
	__le32 magic, type;
	__le32 eps, depth, room;		/* HELLO */
	__le32 op, kind, side, size, count, ms, seed;	/* BEGIN */
	__le32 messages;			/* FINISH, and its OK: those counted */
	__le32 pad;
	__le64 bad;				/* OK after FINISH */
	char text[64];				/* REFUSED */
	struct {
		__le64 address;
		__le32 key, pad;
	} keys[PERF_SIDES][PERF_MAX_EPS][PERF_AREAS];	/* KEYS, and its OK */
};

/* main.c */
__printf(2, 3) int perf_fail(struct perf_run *run, const char *fmt, ...);
void perf_publish(struct perf_run *run, const struct perf_row *row);
void perf_measuring(struct perf_run *run, const struct perf_row *row);

/* args.c */
int perf_args_parse(struct perf_args *args, char *line);

/* report.c */
void perf_statistics(struct perf_row *row, u64 *sample, u32 n);
void perf_show_row(struct seq_file *m, const struct perf_row *row);

/* end.c */
int perf_end_open(struct perf_end *e, struct perf_run *run);
int perf_end_make(struct perf_end *e, u32 eps, u32 depth, u32 room);
void perf_end_close(struct perf_end *e);
void perf_link_init(struct perf_end *e, struct perf_link *l, enum perf_side side, u32 index);

static inline bool perf_stopped(const struct perf_end *e)
{
	return READ_ONCE(e->run->stop);
}

/* Is the queue of requests full? Each completion makes room */
static inline bool perf_full(const struct perf_link *l)
{
	return l->posted - READ_ONCE(l->completed) >= l->requests;
}

/* dat.c */
extern const struct perf_calls perf_dat_calls;
int perf_dat_listen(struct perf_end *e);
int perf_dat_make(struct perf_link *l);
int perf_dat_connect(struct perf_link *l, DAT_IA_ADDRESS_PTR to);
int perf_dat_accept(struct perf_link *l, bool wait);
bool perf_dat_ended(struct perf_link *l);

/* verbs.c */
extern const struct perf_calls perf_verbs_calls;
int perf_verbs_listen(struct perf_end *e);
int perf_verbs_connect(struct perf_link *l, const struct sockaddr *to);
int perf_verbs_accept(struct perf_link *l);
void perf_verbs_free(struct perf_link *l);

/* pattern.c */
void perf_received(struct perf_link *l, bool good, u32 length);
void perf_requested(struct perf_link *l, bool good);
int perf_post_recvs(struct perf_link *l);
void perf_prepare(struct perf_end *e);
int perf_go(struct perf_end *e);
u64 perf_verify(struct perf_end *e);
bool perf_next(struct perf_end *e, struct perf_link *l, u64 now);
bool perf_broken(struct perf_end *e);
bool perf_settle(struct perf_end *e);
int perf_failed(struct perf_end *e, const char *what);

/* poll.c */
int perf_ping(struct perf_end *e);
void perf_pong(struct perf_end *e);

/* control.c */
int perf_control_recv(struct perf_end *e);
int perf_ask(struct perf_end *e, enum perf_type type);
int perf_answer(struct perf_end *e, enum perf_type type);
int perf_hear(struct perf_end *e, enum perf_type *type);
struct perf_msg *perf_in(struct perf_end *e);
struct perf_msg *perf_out(struct perf_end *e);
void perf_put_keys(struct perf_end *e);
void perf_take_keys(struct perf_end *e);

/* client.c, server.c */
void perf_client(struct perf_run *run);
void perf_server(struct perf_run *run);

#endif /* _KDAPL_PERF_H_ */
