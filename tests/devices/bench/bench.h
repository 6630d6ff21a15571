/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdapl_bench.ko: the declarations that its files share.
 *
 * main.c takes one line that describes a measurement and answers with one line
 * of figures. measure.c measures two sides that post the same work: plain_verbs.c, a
 * pair of plain-verbs QPs, and fixture.c, a pair of EPs on kDAPL with the
 * requested number of further LMRs and EPs. probe.c wraps the device's poll_cq
 * and measures the callbacks that run between two polls. message.c measures whole
 * messages. touch.c marks calls and callbacks for the emulator.
 *
 * One measurement runs at a time, in process context, on a machine with one
 * CPU. main.c holds its mutex around each.
 */
#ifndef _KDAPL_BENCH_H_
#define _KDAPL_BENCH_H_

#include <linux/cache.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <dat/kdat.h>

#define BENCH_MAX_SEGS	16
#define BENCH_SEG_LEN	64
#define BENCH_AREA	(BENCH_MAX_SEGS * PAGE_SIZE)	/* registered by requests */
#define BENCH_DEPTH	128	/* requests and receives of every queue */
#define BENCH_BATCH	8	/* posts in a round */
#define BENCH_ROUNDS	24
#define BENCH_POLL_MAX	16	/* completions that the core requests in one poll */
#define BENCH_MESSAGES	1024	/* for which calls are counted; a multiple of each burst */
#define BENCH_WAIT	(60 * HZ)

/* The kinds of posts, in the order of the bench_fn tables */
enum bench_kind {
	BENCH_SEND,
	BENCH_WRITE,
	BENCH_READ,
	BENCH_SEND_INV,
	BENCH_FMR,
	BENCH_FMR_SG,
	BENCH_INVALIDATE,
	BENCH_RECV,
	BENCH_SRQ_RECV,
	BENCH_NR_KINDS,
};

/**
 * struct bench_spec - the description of one measurement
 * @device:   name of the RDMA device
 * @path:     the path to measure
 * @kind:     the kind of post; for a completion, the post that completes
 * @segs:     number of segments, or of pages that are registered
 * @same:     true if all segments are in one LMR, or all pages in one entry of a scatterlist
 * @suppress: true for DAT_COMPLETION_SUPPRESS_FLAG, unsignaled
 * @trace:    true if all tracepoints of kdapl are enabled
 * @lmrs:     number of LMRs
 * @eps:      number of EPs, including the one that is measured, without its peer
 * @burst:    number of messages that complete at the same time, when calls are counted
 * @context:  of the EVDs of completions: 0 or KDAT_EVD_*_FLAG
 * @touch:    true if the calls or callbacks of dat are marked, see touch.c
 */
struct bench_spec {
	char device[IB_DEVICE_NAME_MAX];
	char path[24];
	enum bench_kind kind;
	u32 segs;
	u32 same;
	u32 suppress;
	u32 trace;
	u32 lmrs;
	u32 eps;
	u32 burst;
	u32 context;
	u32 touch;
};

/* Does a message of this kind need a receive? */
static inline bool bench_sends(enum bench_kind kind)
{
	return kind == BENCH_SEND || kind == BENCH_SEND_INV;
}

/* Is this a registration, which needs an invalidation before the next one? */
static inline bool bench_registers(enum bench_kind kind)
{
	return kind == BENCH_FMR || kind == BENCH_FMR_SG;
}

/**
 * struct bench_regs - memory that requests register, and what they register it in
 * @lmr:   LMRs, used in turn
 * @mr:    MRs of the plain-verbs side, likewise
 * @page:  addresses of the pages
 * @sgl:   the pages as a scatterlist
 * @nents: number of its entries
 */
struct bench_regs {
	DAT_LMR_HANDLE lmr[BENCH_BATCH];
	struct ib_mr *mr[BENCH_BATCH];
	DAT_PADDR page[BENCH_MAX_SEGS];
	struct scatterlist sgl[BENCH_MAX_SEGS];
	u32 nents;
};

void bench_regs_fill(struct bench_regs *regs, void *area, const struct bench_spec *spec);

/**
 * struct bench_op - all arguments of one kind of post, of either side
 * @failed: the bitwise OR of all return values
 * @turn:   number of calls so far; selects an element of @regs
 * @iov:    aligned, so that one segment is in one cache line
 */
struct bench_op {
	u32 failed;
	u32 turn;
	DAT_COUNT n;
	DAT_COMPLETION_FLAGS flags;
	DAT_HANDLE handle;
	DAT_DTO_COOKIE cookie;
	DAT_RMR_TRIPLET remote;
	DAT_LMR_TRIPLET iov[BENCH_MAX_SEGS] ____cacheline_aligned;
	DAT_EVENT event;
	struct bench_regs *regs;
	struct ib_qp *qp;
	struct ib_srq *srq;
	struct ib_rdma_wr request;
	struct ib_reg_wr reg;
	struct ib_recv_wr recv;
	struct ib_sge sge[BENCH_MAX_SEGS];
};

typedef void (*bench_fn)(struct bench_op *op);

/**
 * struct bench_side - one of the two sides
 * @fn:        the posts
 * @op:        their arguments
 * @quiet:     arguments of requests that generate no event
 * @recv_kind: BENCH_RECV or BENCH_SRQ_RECV
 * @done:      events or completions since the counter was last read
 */
struct bench_side {
	const bench_fn *fn;
	struct bench_op op[BENCH_NR_KINDS];
	struct bench_op quiet[BENCH_NR_KINDS];
	enum bench_kind recv_kind;
	atomic_t done;
};

extern wait_queue_head_t bench_wait;

static inline bool bench_wait_for(atomic_t *count, int n)
{
	return wait_event_timeout(bench_wait, atomic_read(count) >= n, BENCH_WAIT) > 0;
}

/* Adds @n to a counter; any context */
static inline void bench_count(atomic_t *count, int n)
{
	atomic_add(n, count);
	wake_up(&bench_wait);
}

/* main.c */
struct null_dev *bench_null(const struct ib_device *ibdev);

/* probe.c */
int bench_probe_attach(struct ib_device *ibdev);
void bench_probe_detach(struct ib_device *ibdev);
void bench_probe_reset(void);
extern atomic_t bench_polled;		/* completions since the last reset */
extern u32 bench_polls, bench_arms;	/* calls of poll_cq and req_notify_cq since then */
/* Minimum time between two polls of a batch of @n completions; 0 if there was none */
u64 bench_probe_window(bool recv, unsigned int n);
/* Time from the last poll that has found something, to the arming or the present call */
u64 bench_probe_until_armed(void);
u64 bench_probe_until_now(void);

/* What an upcall, or a callback of plain verbs, does */
enum fixture_events { FIXTURE_COUNT, FIXTURE_TALLY, FIXTURE_EMPTY, FIXTURE_DEQUEUE };

/* plain_verbs.c */
struct plain_verbs;
struct plain_verbs *plain_verbs_create(struct ib_device *ibdev, const struct bench_spec *spec);
void plain_verbs_destroy(struct plain_verbs *v);
struct bench_side *plain_verbs_side(struct plain_verbs *v);
void plain_verbs_set_events(struct plain_verbs *v, enum fixture_events how);
int plain_verbs_poll(struct plain_verbs *v, int max);

/* fixture.c */
struct fixture;
struct fixture *fixture_create(const struct bench_spec *spec);
void fixture_destroy(struct fixture *w);
bool fixture_fits(const struct fixture *w, const struct bench_spec *spec);
/* Fills in the arguments that @spec determines */
struct bench_side *fixture_side(struct fixture *w, const struct bench_spec *spec);
int fixture_set_events(struct fixture *w, enum fixture_events how);
DAT_EVD_HANDLE fixture_evd(const struct fixture *w, bool recv);
void fixture_fill_attr(DAT_EP_ATTR *attr, DAT_COUNT iov);

/* measure.c: one line of figures into @out */
int bench_settle(struct ib_device *ibdev, struct bench_side *side, int events);
void bench_post_many(struct bench_side *side, enum bench_kind kind, int n);
int bench_run_post(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
		   char *out, size_t size);
int bench_run_completion(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
			 bool dequeue, char *out, size_t size);
int bench_run_suppressed(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
			 char *out, size_t size);
int bench_run_context(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
		      char *out, size_t size);

/* message.c */
int bench_run_calls(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
		    char *out, size_t size);

/* touch.c */
enum bench_mark {
	BENCH_MARK_POINT = 1,	/* a measurement begins */
	BENCH_MARK_CALL,	/* a call begins */
	BENCH_MARK_DONE,	/* a done callback begins */
	BENCH_MARK_END,		/* the call or callback has returned */
};

/* Executes an instruction that does nothing, and that the emulator notices */
static __always_inline void bench_mark(enum bench_mark mark)
{
	asm volatile(".byte 0x0f, 0x1f, 0x80, %c0, 0x61, 0x64, 0x6b" : : "i"(mark) : "memory");
}

extern bool bench_marking;		/* calls are marked */
void bench_touch_polled(struct ib_wc *wc, int n);
void bench_touch_callbacks(bool mark, bool recv);
void bench_touch_ranges(bool recv, char *out, size_t size);

/* memory.c */
int bench_run_memory(struct ib_device *ibdev, char *out, size_t size);

#endif /* _KDAPL_BENCH_H_ */
