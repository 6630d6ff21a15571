/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endpoints: their queues, their states, and what their connection needs.
 */
#ifndef _KDAPL_OBJECT_EP_H_
#define _KDAPL_OBJECT_EP_H_

#include <linux/mutex.h>
#include <rdma/rdma_cm.h>
#include "constants.h"
#include "evd.h"

struct kdapl_cq;
struct kdapl_notice;
struct kdapl_pz;
struct kdapl_srq;

/**
 * struct kdapl_sq - request queue of an EP
 * @pool: slots; taken with or without @lock, the last one only under it
 * @lock: held by posts of unsignalled requests, of requests that register memory, and of
 *        markers, from the choice of the slot to the verbs call; also by a post that takes
 *        the last slot. Signalled requests are posted without it. See post/unsignalled.h
 * @run:  ring of the offsets (pool.h) of unsignalled requests that are not known to have
 *        completed, in posting order. @run_tail is written under @lock, when the request is
 *        in the queue, and read in any context; @run_head is written by the completion of
 *        requests (one at a time for an EP), and may be ahead of @run_tail for a moment
 * @run_mask: size of the ring minus one
 * @run_start: @run_tail when the last signalled request was posted under @lock, or @run_head
 *        when the run was counted last; under @lock
 * @bad: output argument of the verbs call, not used
 * @run_max: a run has at most this many requests; the last one is signalled
 *
 * @deferred: slots, linked by ev.next, whose requests the device has not accepted;
 *        their done callback is called after the QP was drained; under @lock
 *
 * kdapl_slot.run_end of a request is @run_tail before it was posted. Its completion
 * releases the requests of the run up to this position, see post/unsignalled.c.
 */
struct kdapl_sq {
	struct kdapl_pool pool;
	u32 run_tail;
	const struct ib_send_wr *bad;
	spinlock_t lock;	/* see above */
	u32 run_start;
	u32 run_max;
	u32 run_mask;
	u32 *run;
	struct kdapl_event *deferred;
	u32 run_head ____cacheline_aligned_in_smp;
};

/* A work request of kDAPL itself: the marker, or one of the two that drain the QP */
struct kdapl_marker {
	struct ib_cqe cqe;
	struct kdapl_ep *ep;
	struct completion done;
	bool busy;		/* outstanding; under sq.lock, as @done and: */
	bool refused;		/* the device has refused it */
	bool posted;		/* the last attempt has posted it, because it was not busy */
	u32 run_end;		/* as kdapl_slot.run_end */
	union {
		struct ib_rdma_wr rdma;
		struct ib_recv_wr recv;
	};
};

/* kdapl_ep.may_post: the calls that the state allows */
#define KDAPL_EP_MAY_SEND	0x01
#define KDAPL_EP_MAY_RECV	0x02

/* kdapl_ep.slow_path: why a completion leaves the fast path */
#define KDAPL_EP_PARK		0x01	/* not connected yet: park it */
#define KDAPL_EP_WATCH		0x02	/* DISCONNECT_PENDING: a completion schedules the work */
#define KDAPL_EP_SOLICITED	0x04	/* receives are in solicited-wait mode; constant */

/* kdapl_ep.todo: bits for the connection work, see cm.c */
enum kdapl_todo {
	KDAPL_TODO_RESPONSE,	/* CM: the peer accepted */
	KDAPL_TODO_ESTABLISHED,	/* CM: the passive side is connected */
	KDAPL_TODO_FAILED,	/* CM: the attempt failed, see ep->fail_number */
	KDAPL_TODO_PEER_GONE,	/* CM: DISCONNECTED */
	KDAPL_TODO_BREAK,	/* an error completion, or the address was lost */
	KDAPL_TODO_DISCONNECT,	/* Consumer, abrupt */
	KDAPL_TODO_GRACEFUL,	/* Consumer, graceful; or a request has completed since */
	KDAPL_TODO_TIMEOUT,	/* ep->timer has expired */
	KDAPL_TODO_EARLY_RECV,	/* a receive was parked: the peer is connected */
	KDAPL_TODO_MARKER,	/* a query found an unsignalled tail of the queue */
	KDAPL_TODO_ADDRESS,	/* addresses of the port have changed, check that of the IA */
	KDAPL_TODO_REFUSED,	/* a request of the peer has failed: break after the NAK */
};

/* kdapl_ep.lingers_for: what a connection waits for before it ends, see cm.c */
enum kdapl_linger {
	KDAPL_LINGER_NONE,
	KDAPL_LINGER_ANSWER,	/* for the device's answer to the peer to leave */
	KDAPL_LINGER_REQUESTS,	/* for the peer's answers to requests to arrive */
};

/* First real error of a connection (G-36) */
struct kdapl_first_error {
	bool valid;
	u8 op;			/* DAT_DTOS */
	u8 status;		/* enum ib_wc_status */
	u32 vendor;
	u32 outstanding;	/* posts of that queue outstanding after this one */
};

/* Why an attempt has failed, and what was agreed: text of kdapl.cm_status */
struct kdapl_cm_status {
	bool valid;
	u8 event;		/* enum rdma_cm_event_type: the last one, or the first failure */
	u8 reads_in;		/* limits of RDMA reads; written under kdapl_ep.mutex */
	u8 reads_out;
	int status;		/* of that event */
};

/**
 * struct kdapl_ep_named - the provider-specific attributes that a Consumer may set by name
 * @keepalive_ms: interval, 0: off
 * @retry_count: how often a request that is not acknowledged is sent again
 * @rnr_retry_count: the same for one that finds no receive; KDAPL_RNR_RETRY: without limit
 * @ack_timeout: 4.096 us << @ack_timeout until a request is sent again; 0: the CM decides
 * @type_of_service: of a connection that this EP begins; -1: the CM decides
 * @comp_vector: -1: the core chooses
 *
 * The table of ep_attr.c has their names, limits and defaults.
 */
struct kdapl_ep_named {
	int keepalive_ms;
	int retry_count;
	int rnr_retry_count;
	int ack_timeout;
	int type_of_service;
	int comp_vector;
};

#define KDAPL_EP_NUMBERS	(sizeof(struct kdapl_ep_named) / sizeof(int))

/**
 * struct kdapl_ep_texts - provider-specific attributes as dat_ep_query() returns them
 * @named:       the array that the Consumer receives; valid until the EP is freed
 * @first_error: text of kdapl.first_error
 * @cm_status:   text of kdapl.cm_status
 * @number:      texts of struct kdapl_ep_named
 *
 * Guarded by kdapl_ep.lock. Allocated separately, because struct kdapl_ep would grow
 * beyond 2,048 bytes otherwise, and kmalloc() rounds up to the next power of two.
 */
struct kdapl_ep_texts {
	DAT_NAMED_ATTR named[2 + KDAPL_EP_NUMBERS];
	char first_error[48];
	char cm_status[80];
	char number[KDAPL_EP_NUMBERS][12];
};

/**
 * struct kdapl_ep - endpoint
 * @obj:    header
 * @qp:     NULL while unconfigured, and if the EP is orphaned; RCU. Written under @mutex
 * @may_post: KDAPL_EP_MAY_*; follows @state
 * @slow_path: KDAPL_EP_PARK, KDAPL_EP_WATCH; written under @lock
 * @need_read: zone and privilege that local memory needs if it is read
 * @need_write: likewise, if it is written. In the cache line of @qp: a receive reads both
 * @zone:   pz->zone << KDAPL_ZONE_SHIFT. Only dat_ep_modify() changes these three and the
 *          limits that follow
 * @bad_send_flags: completion flags that a send must not have; @bad_rdma_flags and
 *          @bad_recv_flags likewise for RDMA requests and receives
 * @state:  DAT_EP_STATE; written under @lock
 * @rq:     receive slots (depth 0 with an SRQ). The slots themselves, and those
 *          of @sq, are changed under @lock while the pools are closed
 * @sq:     request queue
 * @slots:  the memory of the slots of both queues, and of the run ring
 * @lock:   guards @state, @may_post, @slow_path, @parked, @first_error, @cm_status, @qp_moved and
 *          what the CM callbacks write (@fail_number, private data)
 * @recv_evd: like the other parents, @attr and @named, changed under @mutex and @lock
 * @mutex:  serialises connect, accept, reset, the connection work and device removal
 * @parked: completions from before the connection, oldest first; with @flushes_held, software
 *          flushes that wait for those of the device
 * @qp_moved: kDAPL has moved the QP to ERROR, so flushed completions are not errors
 * @outcome_owed: an outcome event is owed; under @lock (C-40)
 * @end_owed: ESTABLISHED was queued, and an end event is owed; under @lock (C-41)
 * @dying:  dat_ep_free() has begun; under @mutex
 * @orphaned: the EP is orphaned: its verbs objects were destroyed; under @mutex
 * @keepalive_seen: progress of the queues when @keepalive last ran; under @mutex
 * @keepalive: probes an idle connection, see keepalive.c
 * @rsp:    the RSP for which the EP is in RESERVED, or whose request has moved it to
 *          PASSIVE_CONNECTION_PENDING; under @mutex
 * @cm_id:  of the current attempt or connection, otherwise NULL; under @mutex
 * @notice: for the end of @cm_id, or of the next one; under @mutex
 * @todo:   enum kdapl_todo bits, set in any context; handled by @work
 * @timer:  sets KDAPL_TODO_TIMEOUT; limits an attempt, or @lingers_for
 * @outcome_event: the outcome event of the attempt
 * @end_event: the end event of the connection
 * @local: address of the current or last connection, IPv4 or IPv6; of the IA before that. Under
 *          @lock and @mutex, like the next one
 * @elsewhere: it is not that of the IA, but another one of its port
 * @private_in: the peer's private data for the outcome event; valid until reset
 * @private_out: the Consumer's, from dat_ep_connect() to the request
 * @offer: parameters of that request; constant while the id exists
 * @deadline: monotonic time at which @timer expires; set while @timer is stopped
 * @give_up: while @timer waits for a late ESTABLISHED, the time at which the attempt ends;
 *          otherwise 0; under @mutex
 * @connected_at: jiffies of the last ESTABLISHED; under @lock
 * @nerrors: completions that have failed and were not flushed; under @lock
 * @passive: the EP accepts; under @lock and @mutex
 * @cancelled: the Consumer has cancelled the attempt, whose outcome is DISCONNECTED;
 *          under @lock
 * @ended_cleanly: one side has disconnected before anything broke; under @lock
 * @peer_gone: the CM has reported DISCONNECTED or REJECTED for @cm_id, so the peer needs no
 *          disconnect; written by its callback
 * @lingers_for: enum kdapl_linger; written under @mutex and @lock
 * @qp_left_init: the QP has left INIT; under @mutex, like the following fields
 * @qp_stuck: the device has refused to move the QP to ERROR
 * @verbs_counted: the EP is counted in ia->nqps and ia->nverbs
 * @teardown_node: node on the list that the caller of kdapl_ep_strip() owns
 * @teardown_qp: QP that posts do not find any more, to be destroyed
 * @drain_timed_out: the drain of the QP has timed out
 * @teardown_number: end event of a connection that ends because its EP is destroyed
 * @posts_queued: graceful disconnect: all posts that saw CONNECTED are in the queue;
 *          under @mutex
 */
struct kdapl_ep {
	struct kdapl_obj obj;
	struct ib_qp __rcu *qp;
	u8 may_post;
	u8 slow_path;
	u8 state;
	bool srq_attached;
	u32 need_write;
	u32 need_read;
	u32 max_message;
	u32 max_rdma;
	u32 max_reads_out;
	struct kdapl_evd *recv_evd;
	struct kdapl_evd *request_evd;
	struct kdapl_sq sq;
	struct kdapl_pool rq;
	const struct ib_recv_wr *bad_recv;	/* output argument of the verbs call, not used */
	u32 zone;
	u32 bad_send_flags;
	u32 bad_rdma_flags;
	u32 bad_recv_flags;
	u32 max_send_iov;
	u32 max_read_iov;
	u32 max_write_iov;
	u32 max_recv_iov;
	struct kdapl_evd *connect_evd;
	void *slots;

	spinlock_t lock;	/* state, parked, first_error, ... */
	struct kdapl_event *parked;
	struct kdapl_event *parked_tail;
	int parked_fired;		/* recv_evd->nfired when the first completion was parked */
	bool flushes_held;
	bool qp_moved;
	bool outcome_owed;
	bool end_owed;
	struct kdapl_first_error first_error;
	struct kdapl_cm_status cm_status;

	struct mutex mutex;	/* see above */
	bool dying;
	bool orphaned;
	struct kdapl_pz *pz;
	struct kdapl_srq *srq;
	struct kdapl_cq *cq;
	struct hlist_node srq_node;	/* srq->eps, by qp_value */
	const struct ib_qp *qp_value;
	DAT_EP_ATTR attr;
	struct kdapl_ep_named named;
	u64 keepalive_seen;
	struct delayed_work keepalive;

	DAT_RSP_HANDLE rsp;
	struct rdma_cm_id *cm_id;
	struct kdapl_notice *notice;
	bool passive;
	unsigned long todo;
	struct work_struct work;
	struct delayed_work timer;
	DAT_EVENT_NUMBER fail_number;
	struct kdapl_conn_event outcome_event;
	struct kdapl_conn_event end_event;
	struct sockaddr_in6 local;
	bool elsewhere;
	struct sockaddr_storage remote;
	DAT_CONN_QUAL conn_qual;
	u16 local_port;
	u16 remote_port;
	u16 private_in_len;
	u8 private_in[KDAPL_REPLY_PRIVATE];
	u8 private_out[KDAPL_REQUEST_PRIVATE];
	struct rdma_conn_param offer;
	ktime_t deadline;
	ktime_t give_up;
	unsigned long connected_at;
	u32 nerrors;
	bool cancelled;
	bool ended_cleanly;
	bool peer_gone;
	u8 lingers_for;
	bool qp_left_init;
	bool posts_queued;
	bool qp_stuck;
	bool verbs_counted;
	bool drain_timed_out;
	struct ib_qp *teardown_qp;
	struct list_head teardown_node;
	DAT_EVENT_NUMBER teardown_number;

	struct completion last_wqe;	/* drain of an SRQ EP */
	struct kdapl_marker marker;
	struct kdapl_marker sq_drain;
	struct kdapl_marker rq_drain;

	struct kdapl_ep_texts *texts;
};

static inline struct kdapl_ep *to_kdapl_ep(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_ep, obj);
}

/* Where completions of the EP are handled: its EVDs agree */
static inline enum kdapl_context kdapl_ep_context(const struct kdapl_ep *ep)
{
	const struct kdapl_evd *evd = ep->recv_evd ?: ep->request_evd;

	return evd ? evd->context : KDAPL_CONTEXT_SOFTIRQ;
}

/* The handle of a parent, which may be NULL */
#define kdapl_handle_or_null(parent)						\
	({									\
		typeof(parent) _parent = (parent);				\
										\
		_parent ? kdapl_obj_handle(&_parent->obj) : DAT_HANDLE_NULL;	\
	})

/* Did the connection break before the cause of its end that is being handled? ep->lock held */
static inline bool kdapl_ep_breaks(const struct kdapl_ep *ep)
{
	return test_bit(KDAPL_TODO_BREAK, &ep->todo) ||
	       test_bit(KDAPL_TODO_REFUSED, &ep->todo) || ep->lingers_for == KDAPL_LINGER_ANSWER;
}

/* Schedules the connection work for @what; any context */
static inline void kdapl_ep_schedule(struct kdapl_ep *ep, enum kdapl_todo what)
{
	set_bit(what, &ep->todo);
	queue_work(kdapl_wq, &ep->work);
}

#endif /* _KDAPL_OBJECT_EP_H_ */
