/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixture of the suites for the posting path: an IA on the fake device with zones, memory
 * regions and an SRQ; endpoints that are created by the public calls and connected without a
 * network; and one function for the five posting calls.
 *
 * A suite creates the environment once, and a test creates the endpoints that it needs.
 * Process context.
 */
#ifndef _KDAPL_POST_KUNIT_H_
#define _KDAPL_POST_KUNIT_H_

#include <kunit/test.h>
#include "module.h"
#include "pool_count.h"
#include "clause.h"
#include "fake_ibdev.h"
#include "nap.h"

#define TP_BUF		32768		/* bytes of memory, all registered */
#define TP_SEG		64		/* of a usual segment */
#define TP_DEPTH	16		/* of each queue */
#define TP_IOV		8		/* more than any limit */
/* All limits differ, so that a test detects the use of a wrong one */
#define TP_SEND_IOV	4
#define TP_WRITE_IOV	3
#define TP_READ_IOV	2
#define TP_RECV_IOV	5
#define TP_SRQ_IOV	6
#define TP_MAX_MESSAGE	6144
#define TP_MAX_RDMA	8192

enum tp_call {
	TP_SEND,
	TP_WRITE,
	TP_READ,
	TP_RECV,
	TP_SRQ,
	TP_NCALLS
};

extern const char * const tp_call_name[TP_NCALLS];
extern const DAT_DTOS tp_call_op[TP_NCALLS];
extern const DAT_COUNT tp_call_limit[TP_NCALLS];

struct tp_lmr {
	DAT_LMR_HANDLE handle;
	DAT_LMR_CONTEXT context;
	u32 lkey;
	struct kdapl_lmr *lmr;
};

/* A zone with memory for each kind of privilege */
struct tp_zone {
	DAT_PZ_HANDLE pz;
	struct tp_lmr rw;
	struct tp_lmr ro;
	struct tp_lmr wo;
};

struct tp_env {
	struct fake_dev *fake;
	struct kdapl_ia *ia;
	struct tp_zone own;
	struct tp_zone foreign;
	DAT_LMR_CONTEXT freed;		/* context of a freed LMR in the same zone */
	DAT_SRQ_HANDLE srq_handle;
	struct kdapl_srq *srq;
	u8 *buf;
};

struct tp_ep {
	DAT_EP_HANDLE handle;
	struct kdapl_ep *ep;
	DAT_EVD_HANDLE recv_evd;
	DAT_EVD_HANDLE request_evd;
	DAT_EVD_HANDLE connect_evd;
};

/* Arguments of any of the five calls */
struct tp_args {
	DAT_HANDLE handle;
	DAT_COUNT n;
	DAT_LMR_TRIPLET *iov;
	DAT_DTO_COOKIE cookie;
	const DAT_RMR_TRIPLET *remote;
	u32 flags;
	DAT_LMR_TRIPLET segs[TP_IOV];
	DAT_RMR_TRIPLET target;
};

struct tp_env *tp_env_create(void);
/* On a device of the caller, which the environment owns from then on; or ERR_PTR */
struct tp_env *tp_env_create_on(struct fake_dev *fake);
/* Warns about objects that the device still has */
void tp_env_destroy(struct tp_env *env);
/* Likewise after a case with an endpoint; checks that no queue was full, no CQ overrun */
void tp_env_end(struct kunit *test, struct tp_env **env, struct tp_ep *ep);

void tp_attr(DAT_EP_ATTR *attr);
/* Creates three EVDs with policy DISABLE, too. @attr NULL: tp_attr() */
DAT_RETURN tp_ep_create(struct tp_env *env, const DAT_EP_ATTR *attr, bool srq, struct tp_ep *tep);
/* With the context of the EVDs for receives and requests: 0, or a KDAT_EVD_*_FLAG */
DAT_RETURN tp_ep_create_in(struct tp_env *env, DAT_EVD_FLAGS context, const DAT_EP_ATTR *attr,
			   bool srq, struct tp_ep *tep);
/* On the EVDs of @first, with a connect EVD of its own */
DAT_RETURN tp_ep_beside(struct tp_env *env, const struct tp_ep *first, struct tp_ep *tep);
void tp_ep_free(struct tp_ep *tep);
/* Begins an attempt with an id. Returns 0, or -ENOMEM, and then the id is still the caller's */
int tp_begin_with(struct tp_ep *tep, struct rdma_cm_id *id, bool passive);
/* The same with a new id, which has no peer. Returns the id or ERR_PTR */
struct rdma_cm_id *tp_begin(struct tp_ep *tep, bool passive);
/* Raises an event of the CM; a caller that needs the id afterwards holds ep->mutex */
void tp_cm_says(struct rdma_cm_id *id, enum rdma_cm_event_type type);
/* Connects the EP as a real attempt does, and dequeues ESTABLISHED */
int tp_connect(struct tp_ep *tep);
/*
 * Waits for the end of the connection, which may linger for the cause of an error
 * (KDAPL_LINGER_MS), and for the work that follows. False: it has not ended in time
 */
bool tp_wait_end(struct tp_env *env, struct tp_ep *tep);
/* Sets the state only */
void tp_set_state(struct tp_ep *tep, DAT_EP_STATE state);
struct fake_qp *tp_qp(struct tp_ep *tep);

/* Arguments that succeed on a connected EP: one segment at the start of the buffer */
void tp_args(struct tp_env *env, struct tp_ep *tep, enum tp_call call, struct tp_args *args);
/* A segment of memory at @offset */
void tp_seg(struct tp_env *env, DAT_LMR_TRIPLET *seg, const struct tp_lmr *lmr, u32 offset,
	    u32 length);
DAT_RETURN tp_post(enum tp_call call, const struct tp_args *args);
/* Posts with tp_args(), this cookie and these flags */
DAT_RETURN tp_post_one(struct tp_env *env, struct tp_ep *tep, enum tp_call call, u64 cookie,
		       u32 flags);

struct kdapl_pool *tp_pool(struct tp_env *env, struct tp_ep *tep, enum tp_call call);
struct fake_queue *tp_queue(struct tp_env *env, struct tp_ep *tep, enum tp_call call);
DAT_EVD_HANDLE tp_evd(struct tp_ep *tep, enum tp_call call);
/* Completes the oldest post of a queue, and waits for the callbacks */
bool tp_complete(struct tp_env *env, struct tp_ep *tep, enum tp_call call,
		 enum ib_wc_status status, u32 len);
/*
 * Counts the slots of a pool: takes all and returns them. Less than the depth: slots were
 * lost; U32_MAX: one was returned twice.
 */
u32 tp_slots(struct kdapl_pool *pool);
/* Number of events on an EVD */
u32 tp_events(DAT_EVD_HANDLE evd);
/* Dequeues all events of the EP's EVDs, and returns their number */
u32 tp_drain(struct tp_ep *tep);
/* Expects this completion as the next event, and checks every field */
void tp_expect_dto(struct kunit *test, struct tp_ep *tep, enum tp_call call, u64 cookie,
		   DAT_DTO_COMPLETION_STATUS status, u32 length);

static inline bool tp_is_request(enum tp_call call)
{
	return call <= TP_READ;
}

/* The limit of a send or an RDMA operation; a receive has none */
static inline u32 tp_max_size(enum tp_call call)
{
	return call == TP_WRITE || call == TP_READ ? TP_MAX_RDMA : TP_MAX_MESSAGE;
}

/* Does the call need local read? Otherwise it needs local write */
static inline bool tp_needs_read(enum tp_call call)
{
	return call == TP_SEND || call == TP_WRITE;
}

/*
 * Count ticks, to check an upper bound of the module's timeouts. If the host stops a guest,
 * jiffies catch up afterwards, but the timer expires only once. So the count may be too low, but
 * never too high.
 */
void tp_ticks_start(void);
unsigned long tp_ticks_stop(void);

/* Does another thread wait for it? On RT spin_is_contended() is always 0 */
static inline bool tp_contended(spinlock_t *lock)
{
#ifdef CONFIG_PREEMPT_RT
	return !RB_EMPTY_ROOT(&lock->lock.waiters.rb_root);
#else
	return spin_is_contended(lock);
#endif
}

/* A call of a test in another thread, because the call will block */
struct tp_aside {
	struct work_struct work;
	void (*call)(void);
	struct completion done;
};

void tp_start(struct tp_aside *aside, void (*call)(void));
/* Has it returned? False if it hangs */
bool tp_finish(struct tp_aside *aside);

#define TP_EXPECT_TYPE(test, ret, type) \
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(ret), (DAT_UINT32)(type))

#endif /* _KDAPL_POST_KUNIT_H_ */
