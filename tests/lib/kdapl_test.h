/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Support code that the test modules share. Each module compiles the objects that it
 * needs (test.mk), so the variables below exist once in each module.
 */
#ifndef _KDAPL_TEST_H_
#define _KDAPL_TEST_H_

#include <linux/jiffies.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <dat/kdat.h>
#include <dat/kdat_util.h>
#include "../../drivers/infiniband/ulp/kdapl/tests/lib/nap.h"

/* ---- test_verdict.c: time limits, failures, TAP, commands ------------------- */

/* The module parameter "stretch", which multiplies time limits: 1 to 100 */
unsigned int test_stretch(void);

/* A time limit, before the stretch, that only a hang reaches, however busy the host is */
#define TEST_HANG_MS	30000

/* A stretched time limit in jiffies */
static inline unsigned long test_limit(unsigned int ms)
{
	return msecs_to_jiffies(ms * test_stretch());
}

static inline unsigned long test_deadline(unsigned int ms)
{
	return jiffies + test_limit(ms);
}

/* Evaluate @cond until it is true or @ms have passed; the value is the last result */
#define test_wait(cond, ms)						\
({									\
	unsigned long __end = test_deadline(ms);			\
	bool __met;							\
									\
	while (!(__met = (cond)) && !time_after(jiffies, __end))	\
		kdapl_nap(500, 1000);					\
	__met;								\
})

#define TEST_NOTES	20
#define TEST_TEXT	4096

/* The failures of a test or of one of its cases */
struct test_verdict {
	spinlock_t lock;		/* guards the other fields */
	unsigned int failures;
	unsigned int kept;		/* failures with a line in @text */
	unsigned int len;
	char text[TEST_TEXT];		/* a line for each note */
};

/* The verdict of the whole module. Its failures also appear in the kernel log */
extern struct test_verdict test_verdict;

void test_verdict_init(struct test_verdict *v);
__printf(3, 4) void test_note(struct test_verdict *v, bool failure, const char *fmt, ...);
void test_show_notes(struct seq_file *m, struct test_verdict *v, const char *prefix);
const char *test_ret_name(DAT_RETURN ret, char *buf, size_t len);
bool test_expect_in(struct test_verdict *v, const char *what, DAT_RETURN ret, u32 type);

/* A failure of the module; any context. One line: what was done, expected, seen */
#define test_fail(...)			test_note(&test_verdict, true, __VA_ARGS__)
/* Information, not a failure */
#define test_info(...)			test_note(&test_verdict, false, __VA_ARGS__)
#define test_expect(what, ret, type)	test_expect_in(&test_verdict, what, ret, type)

static inline unsigned int test_failures(void)
{
	return READ_ONCE(test_verdict.failures);
}

__printf(4, 5)
void test_ok(struct seq_file *m, unsigned int number, bool good, const char *fmt, ...);
ssize_t test_command(const char __user *buf, size_t len, int (*run)(char *line));

/* ---- test_job.c: a test that runs from load to unload ------------------------ */

struct test_job {
	void (*run)(void);
	void (*show)(struct seq_file *m);	/* prints the results, after @run */
	u64 (*percent)(void);			/* progress of @run */
};

int test_job_start(const struct test_job *job);
void test_job_stop(void);
bool test_stopping(void);
void test_await_stop(void);

/* ---- test_posts.c: every post completes exactly once --------------------------- */

#define TEST_ANY	U32_MAX

/* A post; the entry of a test may begin with it and have more members */
struct test_post {
	u64 cookie;			/* 0: the entry was never used */
	u32 operation;			/* DAT_DTOS expected, or TEST_ANY */
	u32 length;			/* expected if it succeeds, or TEST_ANY */
	enum { TEST_UNUSED, TEST_PENDING, TEST_COMPLETED, TEST_RETURNED } state;
	DAT_DTO_COMPLETION_STATUS status;	/* if it has completed */
	bool suppressed;		/* a success has no event */
	bool overtaken;			/* noted already: a later post completed first */
};

/* The posts of one queue */
struct test_posts {
	char name[40];
	struct test_verdict *verdict;
	u32 tag;
	u32 slots;
	size_t size;
	spinlock_t lock;		/* guards all below and the states of the entries */
	void *post;
	u32 next, oldest;		/* number of the next post; lower bound of the oldest */
	u32 out;			/* pending */
	u32 done;			/* completed, with an event or without */
	u32 flushed;			/* of these */
};

static inline u32 test_number(const struct test_post *p)
{
	return p->cookie;
}

static inline DAT_DTO_COOKIE test_cookie(const struct test_post *p)
{
	return (DAT_DTO_COOKIE) { .as_64 = p->cookie };
}

/* The latest post */
static inline struct test_post *test_posts_last(const struct test_posts *q)
{
	return q->post + (size_t)((q->next - 1) % q->slots) * q->size;
}

__printf(5, 6)
int test_posts_make(struct test_posts *q, u32 tag, u32 slots, size_t size, const char *fmt, ...);
void test_posts_free(struct test_posts *q);
struct test_post *test_post_begin(struct test_posts *q);
void test_post_return(struct test_posts *q, struct test_post *p);
struct test_post *test_posts_match(struct test_posts *q, u64 cookie,
				   DAT_DTO_COMPLETION_STATUS status);
struct test_post *test_posts_complete(struct test_posts *q,
				      const DAT_DTO_COMPLETION_EVENT_DATA *dto);
struct test_post *test_posts_next(struct test_posts *q, const struct test_post *p);
struct test_post *test_posts_silent(struct test_posts *q, const struct test_post *p);
void test_posts_missing(struct test_posts *q);

/* ---- test_context.c: the module parameter "context" ------------------------------- */

bool test_upcalls_sleep(void);
bool test_upcalls_in_softirq(void);
DAT_EVD_FLAGS test_evd_flags(DAT_EVD_FLAGS flags, bool solicited);
int test_poller_start(void);
void test_poller_stop(void);
void test_poller_add(DAT_EVD_HANDLE evd);

/* ---- test_ia.c: the module parameter "ia" --------------------------------------- */

extern char *test_ia_name;

/* ---- test_fixture.c: an IA and the objects most tests need --------------------- */

/* The test serializes access. Handles are DAT_HANDLE_NULL if they do not exist */
struct test_fixture {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn, cr;
	DAT_PSP_HANDLE psp;
	struct kdat_region mem;
	DAT_IA_ATTR attr;
};

DAT_RETURN test_fixture_open(struct test_fixture *fx, char *name);
DAT_RETURN test_evd(const struct test_fixture *fx, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		    DAT_EVD_HANDLE *evd);
DAT_RETURN test_fixture_make(struct test_fixture *fx, DAT_COUNT qlen, DAT_EVD_FLAGS dto,
			     void *memory, DAT_VLEN size);
DAT_RETURN test_listen(struct test_fixture *fx, DAT_CONN_QUAL qual);
DAT_RETURN test_unlisten(struct test_fixture *fx);
DAT_RETURN test_fixture_free(struct test_fixture *fx);
DAT_RETURN test_fixture_close(struct test_fixture *fx);
DAT_RETURN test_connect(const struct test_fixture *fx, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual,
			void *data, DAT_COUNT size);
bool test_next(DAT_EVD_HANDLE evd, DAT_EVENT *event, unsigned int ms);
DAT_RETURN test_pair(const struct test_fixture *fx, DAT_EP_HANDLE active, DAT_EP_HANDLE passive,
		     DAT_CONN_QUAL qual, unsigned int ms);

/* Limits of an EP that only sends and receives */
static inline DAT_EP_ATTR test_ep_attr(DAT_COUNT size, DAT_COUNT depth, DAT_COUNT iov)
{
	return (DAT_EP_ATTR) {
		.max_message_size = size,
		.max_rdma_size = size,
		.max_recv_dtos = depth,
		.max_request_dtos = depth,
		.max_recv_iov = iov,
		.max_request_iov = iov,
	};
}

#endif /* _KDAPL_TEST_H_ */
