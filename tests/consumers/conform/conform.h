/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The declarations that the files of kdapl_conform share.
 *
 * Each case gets a fixture of its own: two ends with a CQ, a QP and memory each. It uses them
 * on plain verbs and describes the outcome in words, which main.c compares with the
 * specification's. Everything runs in the process that reads the results, except the handlers,
 * which only count.
 */
#ifndef _KDAPL_CONFORM_H_
#define _KDAPL_CONFORM_H_

#include <linux/atomic.h>
#include <linux/seq_file.h>
#include <rdma/ib_verbs.h>

#define CF_MEM		8192	/* bytes of memory of an end */
#define CF_DEPTH	8
#define CF_CQES		64
#define CF_SGES		4
#define CF_OUTCOME	120
#define CF_BAD_KEY	0x5a5a5a00

struct cf;

struct cf_end {
	struct cf *cf;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_srq *srq;
	u32 send_wr, recv_wr;		/* what the device made of CF_DEPTH */
	u8 *mem;
	u64 dma;
	enum dma_data_direction dir;	/* of its mapping */
	struct ib_mr *mr;		/* all of @mem, see cf_register() */
	atomic_t fired;			/* completion handler */
	atomic_t events[32];		/* of the QP, by their type */
	atomic_t cq_errors, limits;	/* events of the CQ, of the SRQ */
	int fired_before;		/* at the last event of the QP */
	int cq_errors_before;
};

/* What a case may request of its fixture, before cf_connect() */
struct cf_setup {
	u32 cqes;			/* of both CQs; 0: CF_CQES */
	bool srq;			/* B receives from an SRQ */
	bool rtr;			/* B stays in RTR */
	bool b_later;			/* B is connected by cf_follow() */
	bool all;			/* all requests are signalled */
	u8 rnr_retry;
	u8 reads;			/* max_rd_atomic; 0: 4 */
	u8 timeout;			/* of both QPs; 0: CF_ACK_TIMER */
	u8 retries;			/* of both QPs; 0: CF_RETRIES */
	int access;			/* of both QPs, besides local write */
};

struct cf {
	struct ib_device *ibdev[2];
	struct cf_end a, b;
	struct cf_setup setup;
	char outcome[CF_OUTCOME];
};

struct cf_case {
	const char *name;
	void (*run)(struct cf *cf);
	const char *section;		/* of the InfiniBand specification, or dma-api.rst */
	const char *expected;
	const char *rxe;		/* what Soft-RoCE does instead, separated by "|"; NULL */
};

/* Adds to the outcome */
__printf(2, 3) void cf_say(struct cf *cf, const char *fmt, ...);

/* fixture.c: process context. All return false, after they have said why, on failure */
bool cf_make(struct cf *cf);
bool cf_connect(struct cf *cf);
bool cf_follow(struct cf *cf);
bool cf_ready(struct cf *cf);
void cf_free(struct cf *cf);
void cf_renew(struct cf *cf);
int cf_state(struct cf_end *e, enum ib_qp_state state);
const char *cf_status(enum ib_wc_status status);
const char *cf_get_state(struct cf_end *e);
struct ib_send_wr *cf_wr(struct cf_end *e, enum ib_wr_opcode op, u32 len);
int cf_post(struct cf_end *e, struct ib_send_wr *wr);
int cf_send(struct cf_end *e, u64 id, u32 len, int flags);
int cf_rdma(struct cf_end *e, enum ib_wr_opcode op, u64 id, u64 addr, u32 key, u32 len);
int cf_recv(struct cf_end *e, u64 id, u32 len);
int cf_recv_key(struct cf_end *e, u64 id, u32 len, u32 key);
bool cf_sent(struct cf_end *e, u32 packets);
bool cf_next(struct cf_end *e, struct ib_wc *wc);
const char *cf_wait(struct cf_end *e);
bool cf_until(bool (*done)(struct cf_end *e), struct cf_end *e);
void cf_arm(struct cf_end *e, enum ib_cq_notify_flags flags);
bool cf_fired(struct cf_end *e);
bool cf_entry_waits(struct cf_end *e);
bool cf_map(struct cf_end *e, enum dma_data_direction dir);
void cf_unmap(struct cf_end *e);
bool cf_register(struct cf_end *e, int access);
int cf_reg_mr(struct cf_end *e, u64 id, u32 key, int access);
int cf_invalidate(struct cf_end *e, u64 id, u32 key);

/* event_cases.c */
bool cf_transfer(struct cf *cf, int flags);

extern const struct cf_case cf_queue_cases[], cf_message_cases[], cf_memory_cases[],
			    cf_event_cases[], cf_sync_cases[], cf_option_cases[];

#endif /* _KDAPL_CONFORM_H_ */
