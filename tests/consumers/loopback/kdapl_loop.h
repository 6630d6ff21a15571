/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The declarations that the files of the kDAPL loopback test share.
 *
 * One run is active at a time, in one work item. A run opens an IA and executes a list of
 * cases. Most cases make a fixture (EVDs, one or two pairs of EPs A and B, and their
 * memory), connect it, transfer messages and free it again.
 *
 * Locks: fx->lock guards the queues, slots and counters of a fixture. The work item and
 * the upcalls take it with bottom halves disabled. It is held across the posting calls,
 * which is legal because they are class A calls. Nothing that sleeps is called under it.
 * case->claim_lock is a leaf.
 */
#ifndef _KDAPL_LOOP_H_
#define _KDAPL_LOOP_H_

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "kdapl_test.h"

#define LOOP_MAX_SIZE		SZ_1M		/* bytes of the largest message */
#define LOOP_MAX_SEGS		32
#define LOOP_MAX_CONNS		2
#define LOOP_MAX_SIZES		16
#define LOOP_DEPTH		64
#define LOOP_GUARD		32		/* guard bytes on each side of a piece */
#define LOOP_SLACK		32		/* extra room in some buffers */
#define LOOP_CLAIMS		12
#define LOOP_HELLO		0x6b6441504c6c6f70ULL	/* private data: connect */
#define LOOP_WELCOME		0x70306f4c5041646bULL	/* private data: accept */
#define LOOP_QUIET_MS		TEST_HANG_MS	/* a case without events for this long is stalled */

enum loop_op { LOOP_SEND, LOOP_WRITE, LOOP_READ, LOOP_SRQ, LOOP_OPS };

/* How the completions of a case are collected. */
enum loop_mode {
	LOOP_UPCALL = 1,	/* SINGLE_INSTANCE: the upcall has the event */
	LOOP_DEQUEUE = 2,	/* NOTIFY: the upcall makes the work item dequeue */
	LOOP_POLL = 4,		/* DISABLE: dequeue without upcalls */
};

enum loop_verdict {
	LOOP_PLANNED, LOOP_RUNNING, LOOP_PASS, LOOP_FAIL, LOOP_SKIP, LOOP_ABORTED,
};

struct loop_run;
struct loop_case;

typedef int (*loop_case_fn)(struct loop_run *run, struct loop_case *c);

/* One named test case, its parameters and its result. */
struct loop_case {
	char name[32];
	const char *group;		/* what the option "ops" selects */
	loop_case_fn fn;
	enum loop_op op;
	u32 size;
	u32 count;
	u32 segs;			/* 0: the maximum of the device */
	u32 modes;			/* enum loop_mode, a mask */
	u32 conns;
	u32 window;			/* 0: the whole queue */
	u32 signal_every;		/* all others suppressed; 0 or 1: none suppressed */
	bool physical;
	u32 variant;

	enum loop_verdict result;
	char reason[200];		/* why it was skipped; or a measurement */
	u32 depth;
	u32 messages;			/* received and verified */
	u64 bytes;			/* received and verified */
	u32 posts;
	u32 completions;
	u32 silent;			/* successful completions without an event */
	u32 flushed;
	u32 by_upcall;
	u32 by_dequeue;
	u32 upcall_posts;
	u32 peak;			/* most requests outstanding at once */
	u32 full;			/* posts refused because the queue was full */
	u32 ms;
	struct test_verdict verdict;
	/* Clause ids of the contract; @claim_lock guards both */
	spinlock_t claim_lock;
	u32 claims;
	const char *claim[LOOP_CLAIMS];
};

/* The parsed command line of a run. */
struct loop_args {
	char device[DAT_NAME_MAX_LENGTH];
	char only[256];			/* names of cases, separated by commas */
	u32 ops;			/* a bit for each group, 0: all */
	u32 sizes[LOOP_MAX_SIZES];
	u32 nsizes;			/* 0: the seven sizes of the test list */
	u32 messages;			/* 0: the number in the test list */
	u64 seed;
	bool brief;
	u32 divide;
	u32 repeat;			/* rounds of an error case or of the reset case, 0: a few */
	bool dry;
};

enum loop_state { LOOP_IDLE, LOOP_ACTIVE, LOOP_DONE };

struct loop_run {
	struct loop_args args;
	struct loop_case *cases;
	u32 ncases;
	u32 at;				/* index of the current case */
	enum loop_state state;
	bool abort;
	char error[160];		/* why no case could be run */
	struct completion wake;		/* completed by each event that may end a wait */

	struct test_fixture t;		/* without @dto, @conn and @mem */
	DAT_CONN_QUAL qual;
	bool srq_supported;

	spinlock_t cr_lock;		/* guards cr, crs, stray */
	DAT_CR_HANDLE cr;		/* the connection request not yet answered */
	u32 crs;
	u32 stray;			/* events that must not arrive on the CR EVD */
};

/* Memory */

struct loop_area {
	u8 *base;
	u64 va;				/* the registered address, used in triplets */
	u32 len;
	DAT_LMR_CONTEXT lmr;
	DAT_RMR_CONTEXT rmr;
};

struct loop_piece {
	u32 area;
	u32 off;
	u32 len;
};

/* The buffer of one message: pieces, each between guard bytes. */
struct loop_slot {
	u32 index;
	struct loop_area area[2];
	u32 cap;			/* bytes of all pieces together */
	u32 npieces;
	struct loop_piece piece[LOOP_MAX_SEGS];
};

struct loop_chunk {
	void *mem;
	size_t len;
	DAT_LMR_HANDLE lmr;
};

struct loop_arena {
	struct loop_chunk *chunk;
	u32 nchunks;
	struct loop_slot *slot;
	u32 nslots;
	u32 segs;			/* pieces of each slot */
	bool slack;			/* odd slots are larger than a message */
	u16 *free;			/* ring of free slots */
	u32 get, put;
};

/* The first difference that a check of a slot found. */
struct loop_diff {
	const char *what;
	u32 at;
	u8 want, got;
};

/* Posts */

enum loop_kind { LOOP_K_SEND, LOOP_K_WRITE, LOOP_K_READ, LOOP_K_RECV };

struct loop_post {
	struct test_post t;
	u64 key;			/* selects the pattern of the message */
	u32 msg;			/* number of the message in its stream */
	enum loop_kind kind;
	struct loop_slot *src, *dst;
};

/* The entry of a post; NULL if there is no post */
static inline struct loop_post *loop_entry(struct test_post *t)
{
	return container_of(t, struct loop_post, t);
}

/* Fixtures */

struct loop_fixture;

struct loop_evd {
	struct loop_fixture *fx;
	DAT_EVD_HANDLE handle;
	bool dto;			/* it receives completions, so upcalls may sleep */
	atomic_t inside;		/* upcalls running now: never more than one */
	atomic_t notified;
	u32 calls;
};

struct loop_side {
	struct loop_fixture *fx;
	struct loop_side *peer;
	char name[4];
	u32 stream;			/* number of the stream that this side sends */
	DAT_EP_HANDLE ep;
	struct loop_evd *recv, *req, *conn;
	struct test_posts tx;
	struct test_posts *rx;		/* own_rx, or the queue of the SRQ */
	struct test_posts own_rx;
	struct loop_arena *src, *dst;
	struct loop_arena own_src, own_dst;
	u32 established, ended, broken;
	DAT_DTO_COMPLETION_STATUS tx_error, rx_error;	/* the first error of each */
	u32 tx_msgs;			/* messages passed to send calls */
	u32 rx_msgs;			/* messages received */
	bool marked;			/* the posts after the disconnect were made */
	u32 msg_len[2 * LOOP_DEPTH];	/* length of each message in flight */
};

/* The fixture that a case asks for. */
struct loop_cfg {
	enum loop_op op;		/* determines memory and privileges */
	enum loop_mode mode;
	u32 size, segs, depth, conns;
	bool both;			/* memory for both directions and all kinds */
	bool merged;			/* one EVD for all streams of a side */
	bool physical;			/* register pages, not addresses */
	DAT_COMPLETION_FLAGS recv_flags[2], req_flags[2];	/* A, B */
};

struct loop_fixture {
	struct loop_run *run;
	struct loop_case *c;
	struct loop_cfg cfg;
	u64 seed;
	spinlock_t lock;		/* see the comment at the top of this file */
	u32 events;
	/* changes with each event, so that a wait can see progress */
	u32 tick;
	bool in_upcall;
	bool stop;			/* post no more from the upcalls */
	bool may_flush;			/* flushed completions are expected */
	bool may_end;			/* disconnect events are expected */
	bool may_fail;			/* errors are recorded, not noted as failures */
	bool volatile_src;		/* the source of a read may change */
	u32 eager;			/* sends that A posts on its ESTABLISHED event */
	/* Called for each received message, under @lock. */
	void (*on_recv)(struct loop_fixture *fx, struct loop_side *s, u32 msg);

	u32 nevds;
	struct loop_evd evd[6];
	u32 nsides;			/* number of pairs made */
	struct loop_side a[LOOP_MAX_CONNS], b[LOOP_MAX_CONNS];
	DAT_SRQ_HANDLE srq;
	u32 srq_depth;
	struct test_posts srq_rx;
	struct loop_arena srq_dst;

	/* The pump, which posts the next transfer as completions arrive. */
	bool pumping;
	bool probe_full;
	u32 count, posted, tx_done, rx_done, rx_posted;
	u32 window, signal_every;
	u32 window_out;
};

/* test_list.c: process context */
int loop_args_parse(struct loop_args *args, char *line);
int loop_test_list(struct loop_run *run);

/* Any context; loop_expect() returns whether the return is of that type */
#define loop_fail(c, ...)		test_note(&(c)->verdict, true, __VA_ARGS__)
#define loop_expect(c, what, ret, type)	test_expect_in(&(c)->verdict, what, ret, type)

/* report.c: loop_clauses() in any context, the others in process context */
void loop_clauses(struct loop_case *c, const char *ids);
void loop_show_results(struct seq_file *m, struct loop_run *run);
void loop_show_status(struct seq_file *m, struct loop_run *run, u32 number);

/* mem.c: patterns and slots from any context, arenas in process context */
int loop_pattern_init(u64 seed);
void loop_pattern_exit(void);
u64 loop_hash(u64 a, u64 b);
void loop_slot_cut(struct loop_slot *s, u32 cap, u32 segs, u64 seed);
void loop_slot_poison(struct loop_slot *s);
void loop_slot_fill(struct loop_slot *s, u64 key, u32 len);
bool loop_slot_check(struct loop_slot *s, u64 key, u32 len, struct loop_diff *d);
bool loop_slot_guards(struct loop_slot *s, struct loop_diff *d);
u32 loop_slot_iov(const struct loop_slot *s, DAT_LMR_TRIPLET *iov);
int loop_arena_make(struct loop_fixture *fx, struct loop_arena *ar, u32 nslots,
		    u32 segs, bool slack, DAT_MEM_PRIV_FLAGS priv);
void loop_arena_end(struct loop_fixture *fx, struct loop_arena *ar);
struct loop_slot *loop_arena_get(struct loop_arena *ar);
void loop_arena_put(struct loop_arena *ar, struct loop_slot *s);

/* event.c: wait and drain in process context */
void loop_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more);
u32 loop_drain(struct loop_fixture *fx, struct loop_evd *evd, u32 max);
int loop_wait(struct loop_fixture *fx, bool (*done)(struct loop_fixture *fx), u32 ms);
int loop_wait_cr(struct loop_run *run, u32 ms);
bool loop_all_back(struct loop_fixture *fx);
bool loop_all_ended(struct loop_fixture *fx);

/* run.c: process context */
int loop_run_open(struct loop_run *run);
void loop_run_close(struct loop_run *run);

/* fixture.c: process context */
struct loop_fixture *loop_fixture_make(struct loop_run *run, struct loop_case *c,
				       const struct loop_cfg *cfg);
int loop_fixture_connect(struct loop_fixture *fx);
int loop_fixture_settle(struct loop_fixture *fx);
int loop_fixture_disconnect(struct loop_fixture *fx, DAT_CLOSE_FLAGS how);
void loop_fixture_end(struct loop_fixture *fx);
u32 loop_depth(const struct loop_fixture *fx, const struct test_posts *q);
u32 loop_case_segs(struct loop_run *run, struct loop_case *c);

/* post.c: under fx->lock */
DAT_RETURN loop_post_request(struct loop_side *s, enum loop_kind kind, u32 len,
			     DAT_COMPLETION_FLAGS flags);
DAT_RETURN loop_post_recv(struct loop_side *s, DAT_COMPLETION_FLAGS flags);
bool loop_post_requests(struct loop_side *s, enum loop_kind kind, u32 n, u32 len,
			DAT_COMPLETION_FLAGS flags);
bool loop_post_recvs(struct loop_side *s, u32 n, DAT_COMPLETION_FLAGS flags);
u64 loop_key(struct loop_fixture *fx, u32 stream, u32 msg);
void loop_finish_tx(struct loop_side *s, struct loop_post *p,
		    DAT_DTO_COMPLETION_STATUS status);
void loop_finish_rx(struct loop_side *s, struct loop_post *p,
		    DAT_DTO_COMPLETION_STATUS status, u32 len);

/* xfer.c: the pump under fx->lock, the case in process context */
void loop_pump(struct loop_fixture *fx);
int loop_case_xfer(struct loop_run *run, struct loop_case *c);

/* disc.c, flow.c, flags.c, args.c, errors.c, threads.c, armed.c: process context */
int loop_case_disc(struct loop_run *run, struct loop_case *c);
int loop_case_parked(struct loop_run *run, struct loop_case *c);
int loop_case_full(struct loop_run *run, struct loop_case *c);
int loop_case_visible(struct loop_run *run, struct loop_case *c);
int loop_case_reset(struct loop_run *run, struct loop_case *c);
int loop_case_free(struct loop_run *run, struct loop_case *c);
int loop_case_starve(struct loop_run *run, struct loop_case *c);
int loop_case_starve_dtos(struct loop_run *run, struct loop_case *c);
int loop_case_threads(struct loop_run *run, struct loop_case *c);
int loop_case_armed(struct loop_run *run, struct loop_case *c);
int loop_case_stream(struct loop_run *run, struct loop_case *c);
int loop_case_unsignalled(struct loop_run *run, struct loop_case *c);
int loop_case_fence(struct loop_run *run, struct loop_case *c);
int loop_case_solicited(struct loop_run *run, struct loop_case *c);
int loop_case_args(struct loop_run *run, struct loop_case *c);
int loop_case_error(struct loop_run *run, struct loop_case *c);

/* exact.c, notify.c, peer.c, shared.c: process context */
int loop_case_fill(struct loop_run *run, struct loop_case *c);
int loop_case_rdma(struct loop_run *run, struct loop_case *c);
int loop_case_waiting(struct loop_run *run, struct loop_case *c);
int loop_case_notify(struct loop_run *run, struct loop_case *c);
int loop_case_reach(struct loop_run *run, struct loop_case *c);
int loop_case_long(struct loop_run *run, struct loop_case *c);
int loop_case_attempts(struct loop_run *run, struct loop_case *c);
int loop_case_regions(struct loop_run *run, struct loop_case *c);
int loop_case_shared(struct loop_run *run, struct loop_case *c);
int loop_case_resize(struct loop_run *run, struct loop_case *c);
int loop_case_limits(struct loop_run *run, struct loop_case *c);

/* modify.c: process context */
int loop_case_modify(struct loop_run *run, struct loop_case *c);
int loop_case_dup(struct loop_run *run, struct loop_case *c);

/* remote.c, posted.c: process context */
int loop_case_bind(struct loop_run *run, struct loop_case *c);
int loop_case_greedy(struct loop_run *run, struct loop_case *c);
int loop_case_invalidate(struct loop_run *run, struct loop_case *c);
int loop_case_fmr(struct loop_run *run, struct loop_case *c);
int loop_case_fmr_end(struct loop_run *run, struct loop_case *c);
int loop_case_zero(struct loop_run *run, struct loop_case *c);
int loop_case_buffers(struct loop_run *run, struct loop_case *c);

/* rsp.c, service.c, hostile.c: process context */
int loop_case_rsp(struct loop_run *run, struct loop_case *c);
int loop_case_handoff(struct loop_run *run, struct loop_case *c);
int loop_case_qualifiers(struct loop_run *run, struct loop_case *c);
int loop_case_data(struct loop_run *run, struct loop_case *c);
int loop_case_flood(struct loop_run *run, struct loop_case *c);
int loop_case_peer_death(struct loop_run *run, struct loop_case *c);
int loop_case_silent(struct loop_run *run, struct loop_case *c);
int loop_case_rejects(struct loop_run *run, struct loop_case *c);

/* connect.c, peer_death.c, many.c: process context */
int loop_case_timeouts(struct loop_run *run, struct loop_case *c);
int loop_case_withdrawn(struct loop_run *run, struct loop_case *c);
int loop_case_ends(struct loop_run *run, struct loop_case *c);
int loop_case_gone(struct loop_run *run, struct loop_case *c);
int loop_case_grabs(struct loop_run *run, struct loop_case *c);
int loop_case_many(struct loop_run *run, struct loop_case *c);

/* adversary_*.c: process context */
int loop_case_keys(struct loop_run *run, struct loop_case *c);
int loop_case_beyond(struct loop_run *run, struct loop_case *c);
int loop_case_rebound(struct loop_run *run, struct loop_case *c);
int loop_case_revoked(struct loop_run *run, struct loop_case *c);
int loop_case_too_much(struct loop_run *run, struct loop_case *c);
int loop_case_half(struct loop_run *run, struct loop_case *c);
int loop_case_immediate(struct loop_run *run, struct loop_case *c);
int loop_case_mute(struct loop_run *run, struct loop_case *c);
int loop_case_aims(struct loop_run *run, struct loop_case *c);
int loop_case_forged(struct loop_run *run, struct loop_case *c);
int loop_case_parameters(struct loop_run *run, struct loop_case *c);
int loop_case_overrun(struct loop_run *run, struct loop_case *c);
int loop_case_device(struct loop_run *run, struct loop_case *c);

/* connect.c: any context */
s64 loop_expect_abrupt(struct loop_case *c, s64 begin);

/* main.c */
extern unsigned int loop_port;
extern bool loop_exact;

#endif /* _KDAPL_LOOP_H_ */
