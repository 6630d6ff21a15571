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
 * kdapl_slot.ev.run_end of a request is @run_tail before it was posted. Its completion
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

/**
 * struct kdapl_marker - a work request of kDAPL itself; see struct kdapl_ep_drain
 * @done:    completed when the request is; reset under sq.lock
 * @busy:    outstanding; like @refused and @posted, under sq.lock
 * @refused: the device refused it
 * @posted:  the last attempt posted it, because it was not busy
 * @run_end: as kdapl_slot.ev.run_end
 */
struct kdapl_marker {
	struct ib_cqe cqe;
	struct kdapl_ep *ep;
	struct completion done;
	bool busy;
	bool refused;
	bool posted;
	u32 run_end;
	union {
		struct ib_rdma_wr rdma;
		struct ib_recv_wr recv;
	};
};

/* kdapl_ep.fast.may_post: the calls that the state allows */
#define KDAPL_EP_MAY_SEND	0x01
#define KDAPL_EP_MAY_RECV	0x02

/* kdapl_ep.fast.slow_path: why a completion leaves the fast path */
#define KDAPL_EP_PARK		0x01	/* not connected yet: park it */
#define KDAPL_EP_WATCH		0x02	/* DISCONNECT_PENDING: a completion schedules the work */
#define KDAPL_EP_SOLICITED	0x04	/* receives in solicited-wait mode; by dat_ep_modify() */

/* kdapl_ep.conn.todo: bits for the connection work, see cm.c */
enum kdapl_todo {
	KDAPL_TODO_RESPONSE,	/* CM: the peer accepted */
	KDAPL_TODO_ESTABLISHED,	/* CM: the passive side is connected */
	KDAPL_TODO_FAILED,	/* CM: the attempt failed, see conn.fail_number */
	KDAPL_TODO_PEER_GONE,	/* CM: DISCONNECTED */
	KDAPL_TODO_BREAK,	/* an error completion, or the address was lost */
	KDAPL_TODO_DISCONNECT,	/* Consumer, abrupt */
	KDAPL_TODO_GRACEFUL,	/* Consumer, graceful; or a request has completed since */
	KDAPL_TODO_TIMEOUT,	/* conn.timer expired */
	KDAPL_TODO_EARLY_RECV,	/* a receive was parked: the peer is connected */
	KDAPL_TODO_MARKER,	/* a query found an unsignalled tail of the queue */
	KDAPL_TODO_ADDRESS,	/* addresses of the port changed, check that of the IA */
	KDAPL_TODO_REFUSED,	/* a request of the peer failed: break after the NAK */
};

/* kdapl_ep.conn.lingers_for: what an EP waits for before its connection ends */
enum kdapl_linger {
	KDAPL_LINGER_NONE,
	KDAPL_LINGER_ANSWER,	/* for the device's answer to the peer to leave */
	KDAPL_LINGER_REQUESTS,	/* for the peer's answers to requests to arrive */
};

/* First error of a connection; a flush only while no other cause is known (G-36) */
struct kdapl_first_error {
	bool valid;
	u8 op;			/* DAT_DTOS */
	u8 status;		/* enum ib_wc_status */
	u32 vendor;
	u32 outstanding;	/* posts of that queue outstanding after this one */
};

/* Why an attempt failed, and what was agreed: text of kdapl.cm_status */
struct kdapl_cm_status {
	bool valid;
	u8 event;		/* enum rdma_cm_event_type: the last one, or the first failure */
	u8 reads_in;		/* limits of RDMA reads; both are written under ep->mutex */
	u8 reads_out;
	int status;		/* status of that event */
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

#define KDAPL_EP_NAMED_VALUES	(sizeof(struct kdapl_ep_named) / sizeof(int))

/**
 * struct kdapl_ep_attr_text - provider-specific attributes as dat_ep_query() returns them
 * @named:       the array that the Consumer receives; see dat_ep_query()
 * @first_error: text of kdapl.first_error
 * @cm_status:   text of kdapl.cm_status
 * @value:       texts of struct kdapl_ep_named
 *
 * Guarded by kdapl_ep.lock. Allocated separately, because struct kdapl_ep would grow
 * beyond 2,048 bytes otherwise, and kmalloc() rounds up to the next power of two.
 */
struct kdapl_ep_attr_text {
	DAT_NAMED_ATTR named[2 + KDAPL_EP_NAMED_VALUES];
	char first_error[48];
	char cm_status[80];
	char value[KDAPL_EP_NAMED_VALUES][12];
};

/**
 * struct kdapl_ep_fast - what posts and completions read, in the order of their cache lines
 * @qp:     RCU; written under ep->mutex. NULL while the EP is unconfigured, after
 *          kdapl_eps_teardown(), and from kdapl_ep_drop_verbs() to the next reset
 * @may_post: KDAPL_EP_MAY_*; follows ep->state
 * @slow_path: KDAPL_EP_PARK, KDAPL_EP_WATCH, KDAPL_EP_SOLICITED; written under ep->lock
 * @srq_attached: the EP has an SRQ; constant
 * @need_write: zone and privilege that local memory needs if it is written. In the cache line of
 *          @qp: a receive reads both. Like @need_read, @max_message and @max_rdma, changed by
 *          dat_ep_modify() only, under ep->mutex and ep->lock
 * @need_read: zone and privilege that it needs if it is read
 * @max_reads_out: 0: the peer granted no RDMA read. The connection work also changes it;
 *          under ep->mutex
 * @recv_evd: like @request_evd, changed under ep->mutex and ep->lock
 */
struct kdapl_ep_fast {
	struct ib_qp __rcu *qp;
	u8 may_post;
	u8 slow_path;
	bool srq_attached;
	u32 need_write;
	u32 need_read;
	u32 max_message;
	u32 max_rdma;
	u32 max_reads_out;
	struct kdapl_evd *recv_evd;
	struct kdapl_evd *request_evd;
};

/**
 * struct kdapl_ep_checks - what posts check less often; only dat_ep_modify() changes it
 * @zone:   pz->zone << KDAPL_ZONE_SHIFT
 * @bad_send_flags: completion flags that a send must not have; @bad_rdma_flags and
 *          @bad_recv_flags likewise for RDMA requests and receives
 */
struct kdapl_ep_checks {
	u32 zone;
	u32 bad_send_flags;
	u32 bad_rdma_flags;
	u32 bad_recv_flags;
	u32 max_send_iov;
	u32 max_read_iov;
	u32 max_write_iov;
	u32 max_recv_iov;
};

/**
 * struct kdapl_ep_parked - written by post/ and ep.c, under ep->lock: completions from before the
 *                          connection
 * @first:  the oldest one; while @flushes_held, the list has software flushes, which wait for those
 *          of the device
 * @fired:  recv_evd->nfired when the first completion was parked
 * @flushes_held: posts find no QP, but its drain has not ended
 */
struct kdapl_ep_parked {
	struct kdapl_event *first;
	struct kdapl_event *last;
	int fired;
	bool flushes_held;
};

/**
 * struct kdapl_ep_cfg - written by endpoint/: what the Consumer chose, by dat_ep_create() or later
 * @pz:     like @connect_evd, @attr and @named, changed under ep->mutex and ep->lock
 * @srq:    constant
 */
struct kdapl_ep_cfg {
	struct kdapl_pz *pz;
	struct kdapl_srq *srq;
	struct kdapl_evd *connect_evd;
	DAT_EP_ATTR attr;
	struct kdapl_ep_named named;
};

/**
 * struct kdapl_ep_queue - written by queue/, ep_reset.c and ep_modify.c: what the QP needs
 * @srq_node: on srq->eps while @qp_value is set; written under srq->mutex, read under RCU
 * @qp_value: the QP by which completions of the SRQ find the EP; never dereferenced
 * @cq:     changed under ep->mutex, while the EP has no cm_id: the CM callback reads it
 * @slots:  the memory of the slots of both queues, and of the run ring; under ep->mutex
 */
struct kdapl_ep_queue {
	struct hlist_node srq_node;
	const struct ib_qp *qp_value;
	struct kdapl_cq *cq;
	void *slots;
};

/**
 * struct kdapl_ep_conn - written by connection/, under ep->mutex unless said: the connection
 * @keepalive_seen: progress of the queues when @keepalive last ran
 * @keepalive: probes an idle connection, see keepalive.c
 * @rsp:    the RSP for which the EP is in RESERVED, or whose request moved it to
 *          PASSIVE_CONNECTION_PENDING
 * @cm_id:  id of the current attempt or connection, otherwise NULL
 * @notice: reserved for kdapl_notice_end(), so that the end of @cm_id needs no memory
 * @passive: the EP accepts; under ep->lock and ep->mutex
 * @outcome_owed: an attempt has begun, and its outcome has not been queued (C-40); like @end_owed,
 *          @outcome and @end, under ep->lock, and also written by ep_state.c
 * @end_owed: ESTABLISHED has been queued, and the end event has not (C-41)
 * @todo:   enum kdapl_todo bits, set in any context; handled by @work
 * @timer:  sets KDAPL_TODO_TIMEOUT; limits an attempt, or @lingers_for; repeats a marker
 * @fail_number: outcome of the first failure of the attempt, or 0; under ep->lock
 * @status: under ep->lock, except its limits of RDMA reads
 * @local: address of the current or last connection, IPv4 or IPv6; of the IA before that. Like
 *          @other_addr, @remote, @qual and the ports, under ep->lock and ep->mutex
 * @other_addr: @local is another address of the port than that of the IA
 * @private_out: the Consumer's data, from dat_ep_connect() to the request
 * @offer: parameters of that request; constant while the id exists
 * @deadline: monotonic time at which @timer expires; set while @timer is stopped
 * @give_up: while @timer waits for a late ESTABLISHED, the time at which the attempt ends;
 *          otherwise 0
 * @cancelled: the Consumer cancelled the attempt, so its outcome is DISCONNECTED; under
 *          ep->lock
 * @ended_cleanly: one side has disconnected before anything broke; under ep->lock
 * @peer_gone: the CM reported DISCONNECTED or REJECTED for @cm_id, so the peer needs no
 *          disconnect; under the handler_mutex of @cm_id
 * @lingers_for: enum kdapl_linger; written under ep->mutex and ep->lock
 * @posts_queued: graceful disconnect: all posts that saw CONNECTED are in the queue
 * @teardown_number: end event of a connection that ends because its EP is destroyed
 * @private: the peer's private data, written under ep->lock before the outcome event is queued. The
 *          event points to it, so it stays until a new attempt, which needs a reset
 */
struct kdapl_ep_conn {
	u64 keepalive_seen;
	struct delayed_work keepalive;
	DAT_RSP_HANDLE rsp;
	struct rdma_cm_id *cm_id;
	struct kdapl_notice *notice;
	bool passive;
	bool outcome_owed;
	bool end_owed;
	unsigned long todo;
	struct work_struct work;
	struct delayed_work timer;
	DAT_EVENT_NUMBER fail_number;
	struct kdapl_cm_status status;
	struct sockaddr_in6 local;
	bool other_addr;
	struct sockaddr_storage remote;
	DAT_CONN_QUAL qual;
	u16 local_port;
	u16 remote_port;
	u8 private_out[KDAPL_REQUEST_PRIVATE];
	struct rdma_conn_param offer;
	ktime_t deadline;
	ktime_t give_up;
	bool cancelled;
	bool ended_cleanly;
	bool peer_gone;
	u8 lingers_for;
	bool posts_queued;
	DAT_EVENT_NUMBER teardown_number;
	struct kdapl_conn_event outcome;
	struct kdapl_conn_event end;
	u16 private_len;
	u8 private[KDAPL_REPLY_PRIVATE];
};

/**
 * struct kdapl_ep_drain - written by all who move or empty the QP, under ep->mutex unless said
 * @qp_left_init: the QP left INIT
 * @qp_moved: kDAPL moved the QP to ERROR, so flushed completions are not errors; written
 *          under ep->mutex and ep->lock
 * @qp_stuck: the device refused to do so
 * @timed_out: the drain of the QP has timed out
 * @last_wqe: completed by the event handler of the QP when an EP with an SRQ has used its last
 *          buffer
 * @tail_marker: shows that unsignalled requests completed; for its lock see struct
 *          kdapl_marker
 * @sq_marker: like @rq_marker, drains a queue
 */
struct kdapl_ep_drain {
	bool qp_left_init;
	bool qp_moved;
	bool qp_stuck;
	bool timed_out;
	struct completion last_wqe;
	struct kdapl_marker tail_marker;
	struct kdapl_marker sq_marker;
	struct kdapl_marker rq_marker;
};

/**
 * struct kdapl_ep_teardown - written by endpoint/ and queue/, under ep->mutex: the end of the QP
 * @qp:     QP that posts do not find any more, to be destroyed
 * @node:   on the list of the caller of kdapl_eps_teardown(), who links it without ep->mutex
 * @verbs_counted: the EP is counted in ia->nqps and ia->nverbs
 */
struct kdapl_ep_teardown {
	struct ib_qp *qp;
	struct list_head node;
	bool verbs_counted;
};

/**
 * struct kdapl_ep - endpoint; the members of each part are described above
 * @rq:     receive slots (depth 0 with an SRQ). The slots themselves, and those
 *          of @sq, are changed under @lock while the pools are closed
 * @bad_recv: output argument of the verbs call, not used
 * @lock:   guards @state, fast.may_post, @first_error, @nerrors (completions that failed and
 *          were not flushed), @connected_at (jiffies of the last ESTABLISHED), and what the parts
 *          say
 * @state:  DAT_EP_STATE; written under @lock
 * @mutex:  serializes connect, accept, RSPs, modify, reset, free, the connection work, keepalive,
 *          and device removal
 * @dying:  dat_ep_free() or dat_ia_close() has begun to free the EP; written under @mutex
 * @orphaned: kdapl_eps_teardown() has begun, and nothing else changes the state any more; under
 *          @mutex
 */
struct kdapl_ep {
	struct kdapl_obj obj;
	struct kdapl_ep_fast fast;
	struct kdapl_sq sq;
	struct kdapl_pool rq;
	const struct ib_recv_wr *bad_recv;
	struct kdapl_ep_checks checks;

	spinlock_t lock;	/* see above */
	u8 state;
	struct kdapl_first_error first_error;
	u32 nerrors;
	unsigned long connected_at;
	struct kdapl_ep_parked parked;

	struct mutex mutex;	/* see above */
	bool dying;
	bool orphaned;
	struct kdapl_ep_cfg cfg;
	struct kdapl_ep_queue queue;
	struct kdapl_ep_conn conn;
	struct kdapl_ep_drain drain;
	struct kdapl_ep_teardown teardown;
	struct kdapl_ep_attr_text *texts;
};

static inline struct kdapl_ep *to_kdapl_ep(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_ep, obj);
}

/* Where completions of the EP are handled: its EVDs agree */
static inline enum kdapl_context kdapl_ep_context(const struct kdapl_ep *ep)
{
	const struct kdapl_evd *evd = ep->fast.recv_evd ?: ep->fast.request_evd;

	return evd ? evd->context : KDAPL_CONTEXT_SOFTIRQ;
}

/* The handle of a parent, which may be NULL */
#define kdapl_handle_or_null(parent)						\
	({									\
		typeof(parent) _parent = (parent);				\
										\
		_parent ? kdapl_obj_handle(&_parent->obj) : DAT_HANDLE_NULL;	\
	})

/* Returns true if a break came before the cause of the end that is being handled. ep->lock held */
static inline bool kdapl_ep_breaks(const struct kdapl_ep *ep)
{
	return test_bit(KDAPL_TODO_BREAK, &ep->conn.todo) ||
	       test_bit(KDAPL_TODO_REFUSED, &ep->conn.todo) ||
	       ep->conn.lingers_for == KDAPL_LINGER_ANSWER;
}

/* Schedules the connection work for @what; any context */
static inline void kdapl_ep_schedule(struct kdapl_ep *ep, enum kdapl_todo what)
{
	set_bit(what, &ep->conn.todo);
	queue_work(kdapl_wq, &ep->conn.work);
}

#endif /* _KDAPL_OBJECT_EP_H_ */
