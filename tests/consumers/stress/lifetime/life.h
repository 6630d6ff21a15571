/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structures and prototypes of the lifetime test.
 *
 * A *fixture* is one IA with two connected pairs of EPs and all they need. Each
 * round of a loop creates a fixture, starts threads that post and dequeue, frees objects
 * while they run, and checks the accounting. The test uses the public API only, and accesses
 * objects only by their handles.
 */
#ifndef LIFE_H
#define LIFE_H

#include <linux/atomic.h>
#include <linux/kthread.h>
#include <linux/workqueue.h>
#include "kdapl_test.h"

#define LIFE_QUAL	7481
#define LIFE_DEPTH	16	/* posts of one queue that may be outstanding */
#define LIFE_SIZE	256	/* bytes of a message */
#define LIFE_THREADS	4
#define LIFE_WAIT_MS	TEST_HANG_MS

/* A and B are a pair, C and D; D receives from the SRQ. A and B use an upcall. */
enum { LIFE_A, LIFE_B, LIFE_C, LIFE_D, LIFE_EPS };

/* The last one is for posts that are only counted, because successes have no event */
enum life_queue { LIFE_RECV, LIFE_REQUEST, LIFE_BIND, LIFE_SUPPRESSED };

struct life_ep {
	DAT_EP_HANDLE handle;
	struct test_posts queue[LIFE_SUPPRESSED];
	struct test_posts *recv;	/* its own, or that of the SRQ */
	atomic_t suppressed, failed;	/* suppressed requests, and the events of these */
	bool freeing;			/* dat_ep_free() has begun */
	bool freed;			/* dat_ep_free() has returned */
	u32 mark_recv, mark_request;
	unsigned int established;
	unsigned int ends;		/* DISCONNECTED or BROKEN */
	unsigned int other;		/* any other connection event */
};

/* Upper half of the cookies of a queue; 0 is not used */
static inline u32 life_cookies(unsigned int ep, enum life_queue queue)
{
	return (ep + 1) << 8 | queue;
}

struct life;

/* Instance data of the upcall; allocated separately, so that it can be freed first */
struct life_tag {
	struct life *w;
	bool gone;
};

struct life {
	struct test_fixture t;		/* its @dto is that of C and D: dequeued by a thread */
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;
	DAT_EVD_HANDLE up;		/* of A and B: delivered by upcalls */
	struct life_ep ep[LIFE_EPS];
	struct test_posts srq_recv;
	struct life_tag *tag;
	u8 *memory;			/* guards around the LMR */
	DAT_VADDR base;			/* of the LMR */
	struct task_struct *thread[LIFE_THREADS];
	unsigned int nthreads;
	bool closing, closed;
	bool srq_gone;
	bool quiet;			/* no thread posts */
	/* Called by the upcall after it has counted */
	void (*hook)(struct life *w, const DAT_EVENT *event);
	atomic_t in_upcall;
	atomic_t posting;
	atomic_t upcalls;
	unsigned int catastrophic;
	/* For the loops: the object that is freed */
	DAT_HANDLE target;
	DAT_LMR_CONTEXT target_context;
	bool target_freeing, target_gone, target_down;
	atomic_t target_done, target_refused, target_torn;
};

/* Set when a free has returned: nothing that begins later may find the object */
static inline void life_set(bool *flag)
{
	/* Pairs with life_is_set() */
	smp_store_release(flag, true);
}

static inline bool life_is_set(const bool *flag)
{
	/* Pairs with life_set() */
	return smp_load_acquire(flag);
}

static inline void life_set_hook(struct life *w, void (*hook)(struct life *, const DAT_EVENT *))
{
	/* The data of the hook is complete; the upcall has an address dependency */
	smp_store_release(&w->hook, hook);
}

/* fixture.c */
int life_open(struct life **out);
int life_free(const char *what, DAT_RETURN (*fn)(DAT_HANDLE handle), DAT_HANDLE handle);
int life_free_all(struct life *w);
void life_close(struct life *w, DAT_CLOSE_FLAGS flags);
void life_end(struct life *w);
int life_make_ep(struct life *w, unsigned int i);
int life_make_lmr(struct life *w, DAT_PZ_HANDLE pz, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
		  DAT_RMR_CONTEXT *rmr_context);
int life_evd(struct life *w, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
int life_upcall_evd(struct life *w, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
bool life_wait(struct life *w, bool (*cond)(struct life *w), const char *what);
void life_take_conn(struct life *w);
void life_check(struct life *w, bool all_back);

/* load.c */
void life_upcall(void *instance, const DAT_EVENT *event, DAT_BOOLEAN more);
int life_run(struct life *w, int (*fn)(void *w), const char *name);
int life_load(struct life *w);
void life_halt(struct life *w);
int life_moves(struct life *w);
void life_event(struct life *w, const DAT_EVENT *event);
DAT_RETURN life_post(struct life *w, unsigned int i, enum life_queue queue,
		     DAT_LMR_CONTEXT context);
bool life_quiet(struct life *w);
DAT_RETURN life_post_uncounted(struct life *w, unsigned int i);

/* The loops; 0, or an error that prevented the round */
int life_loop_close(unsigned int round);
int life_loop_order(unsigned int round);
int life_loop_ep(unsigned int round);
int life_loop_evd(unsigned int round);
int life_loop_srq(unsigned int round);
int life_loop_lmr(unsigned int round);
int life_loop_rmr(unsigned int round);
int life_loop_psp(unsigned int round);
int life_loop_upcall(unsigned int round);
int life_loop_teardown(unsigned int round);

/* removal.c: the fixture whose device the selftest removes */
int life_removal_start(void);
int life_removal_hold(void);
int life_removal_settle(void);
void life_removal_exit(void);

#endif
