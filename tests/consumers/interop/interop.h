/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations of kdapl_interop. From top to bottom: main (debugfs), server and
 * client, control (the control connection), trans and perf (the tests), connect
 * (listen, connect, disconnect), link (an EP, its EVDs and the record of its
 * posts), buffers, fixture (the IA), report (counters and failures).
 *
 * Everything runs in process context, in work items of one workqueue, except the
 * upcalls in link.c and connect.c and the functions that they call.
 */
#ifndef _INTEROP_H_
#define _INTEROP_H_

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "kdapl_test.h"

#include "protocol.h"

/* Limits of what a peer may request */
#define INTEROP_MAX_THREADS	16
#define INTEROP_MAX_EPS		16
#define INTEROP_MAX_SEGS	16
#define INTEROP_MAX_BYTES	SZ_1M	/* of one operation */

#define INTEROP_WAIT_MS		20000U		/* limit of each wait for the peer */

/* ---- report.c: counters and failures ------------------------------------ */

enum interop_count {
	INTEROP_TESTS,		/* that passed */
	INTEROP_CONNECTED,	/* connections established */
	INTEROP_ENDED,		/* connections that ended */
	INTEROP_REJECTED,	/* attempts that a Consumer rejected */
	INTEROP_REFUSED,	/* attempts that the connection manager rejected */
	INTEROP_POSTED,
	INTEROP_COMPLETED,	/* in order, with the right cookie */
	INTEROP_FLUSHED,	/* of these, flushed at the end of a connection */
	INTEROP_SENDS,
	INTEROP_RECEIVES,
	INTEROP_READS,
	INTEROP_WRITES,
	INTEROP_VERIFIED,	/* received bytes that were compared */
	INTEROP_BY_UPCALL,	/* events delivered to an upcall */
	INTEROP_BY_DEQUEUE,
	INTEROP_COUNTS,
};

void interop_report_reset(void);
void interop_report_show(struct seq_file *m);
void interop_add(enum interop_count what, u64 n);
/* @who: name of the link or the thread; any context but hard interrupts */
#define interop_fail(who, fmt, ...)	test_fail("%s: " fmt, who, ##__VA_ARGS__)
bool interop_good(const char *who, const char *what, DAT_RETURN ret);

/* ---- fixture.c: the IA ---------------------------------------------------- */

struct interop_fixture {
	struct test_fixture t;
	bool stop;		/* makes all waits end */
};

int interop_fixture_open(struct interop_fixture *w);
void interop_fixture_close(struct interop_fixture *w);

/* ---- buffers.c: registered memory between guard bytes ------------------- */

struct interop_buf {
	u8 *mem;
	u8 *data;
	u32 size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_VADDR address;
};

int interop_buf_make(struct interop_buf *b, const char *who, struct interop_fixture *w,
		     DAT_PZ_HANDLE pz, u32 size, DAT_MEM_PRIV_FLAGS privileges);
void interop_buf_free(struct interop_buf *b, const char *who);
u32 interop_stride(u32 seg_size);
void interop_buf_iov(const struct interop_buf *b, u32 segs, u32 seg_size,
		     DAT_LMR_TRIPLET *iov);
void interop_buf_check(const struct interop_buf *b, u32 offset, u32 len, u8 value,
		       const char *who);

/* ---- link.c: an EP with its EVDs, and the record of its posts ----------- */

/* How events are delivered */
enum interop_mode {
	INTEROP_UPCALL,		/* each in an upcall */
	INTEROP_NOTIFY,		/* an upcall without an event, then by dequeue */
	INTEROP_POLL,		/* by dequeue */
};

struct interop_evd {
	DAT_EVD_HANDLE handle;
	struct interop_link *link;
};

enum { INTEROP_RECV_EVD, INTEROP_REQUEST_EVD, INTEROP_CONN_EVD, INTEROP_EVDS };

struct interop_link {
	char name[24];
	struct interop_fixture *fx;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	enum interop_mode mode;
	struct interop_evd evd[INTEROP_EVDS];
	bool active;
	wait_queue_head_t wait;
	spinlock_t lock;	/* guards all below; taken in upcalls */
	struct test_posts recvs;
	struct test_posts requests;
	DAT_EVENT_NUMBER outcome;	/* of this attempt; 0: none yet */
	u32 ends;		/* end events of this connection, 0 or 1 */
	bool may_end;		/* from now on an end of the connection is legal */
	bool failed;		/* reported already */
};

struct interop_link_spec {
	u32 recvs;
	u32 requests;
	u32 iov;
	bool defaults;		/* an EP without attributes of the Consumer */
	enum interop_mode mode;
};

enum interop_want {
	INTEROP_WANT_RECV,	/* the receive with this number */
	INTEROP_WANT_REQUEST,	/* the request with this number */
	INTEROP_WANT_OUTCOME,	/* the outcome of the attempt */
	INTEROP_WANT_END,	/* the end of the connection */
	INTEROP_WANT_QUIET,	/* the completion of all posts */
};

int interop_link_make(struct interop_link *l, struct interop_fixture *w, DAT_PZ_HANDLE pz,
		      const struct interop_link_spec *spec);
void interop_link_free(struct interop_link *l);
int interop_post_recv(struct interop_link *l, const struct interop_buf *b, u32 segs,
		      u32 seg_size, u32 *number);
int interop_post_send(struct interop_link *l, const struct interop_buf *b, u32 segs,
		      u32 seg_size, u32 *number);
int interop_post_rdma(struct interop_link *l, bool write, const struct interop_buf *b,
		      u32 segs, u32 seg_size, u32 context, u64 address, u32 *number);
int interop_wait(struct interop_link *l, enum interop_want want, u32 number);
int interop_send_and_reap(struct interop_link *l, const struct interop_buf *b, u32 size);

/* ---- connect.c: listen, connect, disconnect ----------------------------- */

struct interop_listener {
	const char *who;
	struct interop_fixture *fx;
	enum interop_mode mode;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;	/* instead of the PSP, for one EP */
	u32 port;
	u32 requests;
	wait_queue_head_t wait;
};

int interop_listen(struct interop_listener *ls, const char *who, struct interop_fixture *w,
		   u32 port, DAT_EP_HANDLE rsp_ep, enum interop_mode mode);
void interop_unlisten(struct interop_listener *ls);
int interop_request(struct interop_listener *ls, DAT_CR_HANDLE *cr, u32 ms);
int interop_accept(struct interop_link *l, struct interop_listener *ls, DAT_CR_HANDLE cr,
		   const char *hello);
int interop_connect(struct interop_link *l, DAT_IA_ADDRESS_PTR address, u32 port,
		    const char *hello, int (*post)(void *data), void *data);
int interop_disconnect(struct interop_link *l, DAT_CLOSE_FLAGS flag);
int interop_part(struct interop_link *l, bool wait_for_peer);
int interop_reuse(struct interop_link *l);

/* ---- the tests ---------------------------------------------------------- */

struct interop_op {
	bool by_server;
	enum dt_transfer transfer;
	u32 segs;
	u32 seg_size;
	bool reap_on_recv;
};

/* A test as requested by a peer or by a line in debugfs */
struct interop_task {
	enum dt_test_type type;
	u32 iterations;
	u32 threads;
	u32 eps;
	u32 pipeline;
	bool rsp;
	bool validate;
	bool poll;
	u32 num_ops;
	struct interop_op op[DT_MAX_OPS];
};

/* A running test: one on the client, any number on the server */
struct interop_test {
	struct interop_fixture *fx;
	struct interop_task task;
	bool server;
	u32 first_port;
	DAT_IA_ADDRESS_PTR address;	/* of the server, for a client */
	DAT_PZ_HANDLE pz;	/* one per peer, so that a peer can access only its memory */
	refcount_t refs;
	atomic_t ready;		/* threads that have finished their set-up */
	atomic_t synced;	/* client: threads with the first message of the server */
	bool failed;
	wait_queue_head_t wait;
	void (*end)(struct interop_test *test);
	struct interop_thread *threads;
};

struct interop_thread {
	struct work_struct work;
	struct interop_test *test;
	u32 index;
};

/* Does this end initiate the operation? */
static inline bool interop_is_ours(const struct interop_test *t, const struct interop_op *op)
{
	return op->by_server == t->server;
}

struct interop_test *interop_test_make(struct interop_fixture *w,
				       const struct interop_task *task, bool server,
				       u32 first_port);
void interop_test_start(struct interop_test *t);
int interop_test_wait(struct interop_test *t, atomic_t *count, u32 value);
void interop_test_put(struct interop_test *t);
int interop_trans_run(struct interop_thread *th);
int interop_perf_run(struct interop_thread *th);

/* ---- trans.c and ops.c: one EP of a transaction test --------------------- */

struct interop_slot {
	struct interop_buf buf;
	u32 remote_context;
	u64 remote_address;
	u32 number;		/* of the last post */
	bool deferred;		/* the send is reaped with the next receive */
};

struct interop_trans_ep {
	struct interop_link link;
	struct interop_listener listener;
	struct interop_buf regions_out;
	struct interop_buf regions_in;
	struct interop_buf sync_out;
	struct interop_buf sync_in;
	u32 regions_number;
	u32 sync_number;
	struct interop_slot slot[DT_MAX_OPS];
};

int interop_ops_run(struct interop_test *t, struct interop_trans_ep *eps);
int interop_ops_post_recvs(struct interop_test *t, struct interop_trans_ep *eps);
void interop_ops_fill(struct interop_test *t, struct interop_trans_ep *eps, u32 iteration);

/* ---- control.c, server.c, client.c, args.c ------------------------------ */

struct interop_control {
	struct interop_link link;
	DAT_PZ_HANDLE pz;
	struct interop_buf in[2];
	struct interop_buf out;
};

int interop_control_make(struct interop_control *c, struct interop_fixture *w);
void interop_control_free(struct interop_control *c);
int interop_control_send(struct interop_control *c, const void *message, u32 size);
int interop_task_decode(struct interop_task *task, const struct interop_control *c,
			u32 *total);
int interop_task_send(struct interop_control *c, const struct interop_task *task,
		      u32 port);

struct interop_args {
	u32 port;
	u32 reject;		/* server: number of requests to reject first */
	char address[48];	/* client: of the server, default the own address */
	struct interop_task task;
};

int interop_args_server(struct interop_args *args, char *line);
int interop_args_client(struct interop_args *args, char *line);

extern struct workqueue_struct *interop_wq;

int interop_server_start(const struct interop_args *args);
void interop_server_stop(void);
bool interop_server_busy(void);
int interop_client_run(const struct interop_args *args);

#endif /* _INTEROP_H_ */
