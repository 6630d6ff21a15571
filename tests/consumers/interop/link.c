// SPDX-License-Identifier: GPL-2.0
/*
 * A link: an EP, its three EVDs, and the accounting of its posts. Posts of a queue must
 * complete in order; each connection must begin and end once.
 *
 * Links are created, used and freed in process context. Events are delivered by
 * upcall, with bottom halves off, or by dequeue in the waiting thread; both call
 * take_event() under link->lock.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "interop.h"

#define SLICE		(HZ / 4)	/* interval of checks of fixture->stop */

/* ---- events -------------------------------------------------------------- */

static void count_operation(DAT_DTOS operation)
{
	static const enum interop_count count[] = {
		[DAT_DTO_SEND] = INTEROP_SENDS,
		[DAT_DTO_RECEIVE] = INTEROP_RECEIVES,
		[DAT_DTO_RDMA_READ] = INTEROP_READS,
		[DAT_DTO_RDMA_WRITE] = INTEROP_WRITES,
	};

	interop_add(count[operation], 1);
}

static void take_dto(struct interop_link *l, struct test_posts *q,
		     const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	struct test_post *p = test_posts_complete(q, d);

	if (d->ep_handle != l->ep)
		test_fail("%s: expected this EP in a completion, got another", q->name);
	if (!p) {
		l->failed = true;
		return;
	}
	/* No post is suppressed; this checks the order */
	test_posts_silent(q, p);
	interop_add(INTEROP_COMPLETED, 1);
	if (d->status == DAT_DTO_ERR_FLUSHED && (l->may_end || l->ends || l->outcome !=
						 DAT_CONNECTION_EVENT_ESTABLISHED)) {
		interop_add(INTEROP_FLUSHED, 1);
	} else if (d->status != DAT_DTO_SUCCESS) {
		test_fail("%s: post %u: expected success, status %d", q->name, test_number(p),
			  d->status);
		l->failed = true;
	} else {
		count_operation(p->operation);
	}
}

/* An accept without data arrives as zeros; on the accepting side there is no data */
static void check_no_data(struct interop_link *l, const DAT_CONNECTION_EVENT_DATA *d)
{
	if (!l->active && d->private_data_size)
		interop_fail(l->name, "ESTABLISHED: expected no data, got %d bytes",
			     d->private_data_size);
	if (d->private_data_size && memchr_inv(d->private_data, 0, d->private_data_size))
		interop_fail(l->name, "ESTABLISHED: expected zeros as data, got others");
}

static void take_outcome(struct interop_link *l, const DAT_EVENT *event)
{
	if (l->outcome)
		interop_fail(l->name, "expected one outcome, got %#x and then %#x", l->outcome,
			     event->event_number);
	l->outcome = event->event_number;
	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		check_no_data(l, &event->event_data.connect_event_data);
		interop_add(INTEROP_CONNECTED, 1);
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		interop_add(INTEROP_REJECTED, 1);
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		interop_add(INTEROP_REFUSED, 1);
		break;
	default:
		interop_fail(l->name, "expected an outcome of the attempt, got event %#x",
			     event->event_number);
	}
}

static void take_end(struct interop_link *l, const DAT_EVENT *event)
{
	if (l->outcome != DAT_CONNECTION_EVENT_ESTABLISHED)
		interop_fail(l->name, "expected ESTABLISHED before end event %#x",
			     event->event_number);
	if (l->ends++)
		interop_fail(l->name, "expected one end event, got %u", l->ends);
	else
		interop_add(INTEROP_ENDED, 1);
	if (!l->may_end) {
		interop_fail(l->name, "expected the connection to stay, it ended early");
		l->failed = true;
	}
	if (event->event_number == DAT_CONNECTION_EVENT_BROKEN)
		interop_fail(l->name, "expected DISCONNECTED, got BROKEN");
}

static void take_event(struct interop_link *l, struct interop_evd *evd, const DAT_EVENT *event)
{
	u32 which = evd - l->evd;

	if (event->evd_handle != evd->handle)
		interop_fail(l->name, "event %#x: expected the handle of its EVD, got another one",
			     event->event_number);
	if (event->event_number == DAT_DTO_COMPLETION_EVENT) {
		if (which == INTEROP_CONN_EVD)
			interop_fail(l->name, "completion on the EVD for connection events");
		take_dto(l, which == INTEROP_RECV_EVD ? &l->recvs : &l->requests,
			 &event->event_data.dto_completion_event_data);
		return;
	}
	if (which != INTEROP_CONN_EVD ||
	    event->event_data.connect_event_data.ep_handle != l->ep)
		interop_fail(l->name, "event %#x: expected on another EVD or for this EP",
			     event->event_number);
	if (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	    event->event_number == DAT_CONNECTION_EVENT_BROKEN)
		take_end(l, event);
	else
		take_outcome(l, event);
}

/* The upcall of all EVDs of a link. Without an event it is a notification */
static void link_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct interop_evd *evd = data;
	struct interop_link *l = evd->link;

	if (l->mode != (event ? INTEROP_UPCALL : INTEROP_NOTIFY))
		interop_fail(l->name, "upcall %s an event: not expected in this mode",
			     event ? "with" : "without");
	if (event) {
		interop_add(INTEROP_BY_UPCALL, 1);
		spin_lock(&l->lock);
		take_event(l, evd, event);
		spin_unlock(&l->lock);
	}
	wake_up(&l->wait);
}

static void drain(struct interop_link *l)
{
	DAT_EVENT event;
	u32 i;

	for (i = 0; i < INTEROP_EVDS; i++) {
		while (dat_evd_dequeue(l->evd[i].handle, &event) == DAT_SUCCESS) {
			interop_add(INTEROP_BY_DEQUEUE, 1);
			spin_lock_bh(&l->lock);
			take_event(l, &l->evd[i], &event);
			spin_unlock_bh(&l->lock);
		}
	}
}

/* ---- waiting ------------------------------------------------------------- */

static bool is_so(struct interop_link *l, enum interop_want want, u32 number)
{
	switch (want) {
	case INTEROP_WANT_RECV:
		return l->failed || (s32)(l->recvs.done - number) > 0;
	case INTEROP_WANT_REQUEST:
		return l->failed || (s32)(l->requests.done - number) > 0;
	case INTEROP_WANT_OUTCOME:
		return l->outcome;
	case INTEROP_WANT_END:
		return l->ends;
	default:
		return !l->recvs.out && !l->requests.out;
	}
}

static bool check(struct interop_link *l, enum interop_want want, u32 number)
{
	bool yes;

	if (l->mode != INTEROP_UPCALL)
		drain(l);
	spin_lock_bh(&l->lock);
	yes = is_so(l, want, number);
	spin_unlock_bh(&l->lock);
	return yes;
}

/**
 * interop_wait - wait for a completion or a connection event
 * @l: the link
 * @want: what to wait for
 * @number: of the post, if @want is a completion
 *
 * Context: process.
 * Return: 0; -ETIMEDOUT, -EIO if the link failed: both are recorded; -EINTR if the
 * module is unloaded.
 */
int interop_wait(struct interop_link *l, enum interop_want want, u32 number)
{
	static const char * const name[] = { "a receive", "a request", "an outcome",
					     "the end", "all completions" };
	unsigned long end = test_deadline(INTEROP_WAIT_MS);

	while (!check(l, want, number)) {
		if (READ_ONCE(l->fx->stop))
			return -EINTR;
		if (time_after(jiffies, end)) {
			interop_fail(l->name, "expected %s within %u ms: none", name[want],
				     INTEROP_WAIT_MS);
			return -ETIMEDOUT;
		}
		if (l->mode == INTEROP_POLL)
			cond_resched();
		else
			wait_event_timeout(l->wait, check(l, want, number), SLICE);
	}
	return l->failed && want <= INTEROP_WANT_REQUEST ? -EIO : 0;
}

/* ---- posting ------------------------------------------------------------- */

static struct test_post *enter(struct test_posts *q, u32 length, DAT_DTOS operation, u32 *number)
{
	struct test_post *p = test_post_begin(q);

	if (!p) {
		test_fail("%s: expected a free slot, %u posts are pending", q->name, q->out);
		return NULL;
	}
	p->length = length;
	p->operation = operation;
	*number = test_number(p);
	interop_add(INTEROP_POSTED, 1);
	return p;
}

/* A refused post is a failure; no others are made after it */
static int entered(struct interop_link *l, struct test_posts *q, struct test_post *p,
		   const char *what, DAT_RETURN ret)
{
	if (interop_good(l->name, what, ret))
		return 0;
	test_post_return(q, p);
	interop_add(INTEROP_POSTED, -1);
	return -EIO;
}

/**
 * interop_post_recv - post a receive for a message of exactly this length
 * @l: the link
 * @b: the buffer
 * @segs: segments
 * @seg_size: bytes of each
 * @number: of the post, for interop_wait()
 *
 * Context: process.
 * Return: 0; -EIO, which is recorded.
 */
int interop_post_recv(struct interop_link *l, const struct interop_buf *b, u32 segs,
		      u32 seg_size, u32 *number)
{
	DAT_LMR_TRIPLET iov[INTEROP_MAX_SEGS];
	struct test_post *p = enter(&l->recvs, segs * seg_size, DAT_DTO_RECEIVE, number);

	if (!p)
		return -EIO;
	interop_buf_iov(b, segs, seg_size, iov);
	return entered(l, &l->recvs, p, "dat_ep_post_recv",
		       dat_ep_post_recv(l->ep, segs, iov, test_cookie(p),
					DAT_COMPLETION_DEFAULT_FLAG));
}

int interop_post_send(struct interop_link *l, const struct interop_buf *b, u32 segs,
		      u32 seg_size, u32 *number)
{
	DAT_LMR_TRIPLET iov[INTEROP_MAX_SEGS];
	struct test_post *p = enter(&l->requests, segs * seg_size, DAT_DTO_SEND, number);

	if (!p)
		return -EIO;
	interop_buf_iov(b, segs, seg_size, iov);
	return entered(l, &l->requests, p, "dat_ep_post_send",
		       dat_ep_post_send(l->ep, segs, iov, test_cookie(p),
					DAT_COMPLETION_DEFAULT_FLAG));
}

/**
 * interop_post_rdma - post an RDMA write or read
 * @l: the link
 * @write: write, else read
 * @b: local buffer
 * @segs: local segments; the remote end is one range
 * @seg_size: bytes of each
 * @context: rmr_context that the peer granted
 * @address: remote address
 * @number: of the post, for interop_wait()
 *
 * Context: process.
 * Return: 0; -EIO, which is recorded.
 */
int interop_post_rdma(struct interop_link *l, bool write, const struct interop_buf *b,
		      u32 segs, u32 seg_size, u32 context, u64 address, u32 *number)
{
	DAT_RMR_TRIPLET remote = {
		.virtual_address = address,
		.segment_length = segs * seg_size,
		.rmr_context = context,
	};
	DAT_LMR_TRIPLET iov[INTEROP_MAX_SEGS];
	struct test_post *p = enter(&l->requests, segs * seg_size,
				    write ? DAT_DTO_RDMA_WRITE : DAT_DTO_RDMA_READ, number);

	if (!p)
		return -EIO;
	interop_buf_iov(b, segs, seg_size, iov);
	if (write)
		return entered(l, &l->requests, p, "dat_ep_post_rdma_write",
			       dat_ep_post_rdma_write(l->ep, segs, iov, test_cookie(p), &remote,
						      DAT_COMPLETION_DEFAULT_FLAG));
	return entered(l, &l->requests, p, "dat_ep_post_rdma_read",
		       dat_ep_post_rdma_read(l->ep, segs, iov, test_cookie(p), &remote,
					     DAT_COMPLETION_DEFAULT_FLAG));
}

int interop_send_and_reap(struct interop_link *l, const struct interop_buf *b, u32 size)
{
	u32 number;

	return interop_post_send(l, b, 1, size, &number) ?:
	       interop_wait(l, INTEROP_WANT_REQUEST, number);
}

/* ---- making and freeing -------------------------------------------------- */

static int make_evds(struct interop_link *l)
{
	static const DAT_EVD_FLAGS flags[INTEROP_EVDS] = {
		DAT_EVD_DTO_FLAG, DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG
	};
	static const DAT_UPCALL_POLICY policy[] = {
		[INTEROP_UPCALL] = DAT_UPCALL_SINGLE_INSTANCE,
		[INTEROP_NOTIFY] = DAT_UPCALL_NOTIFY,
		[INTEROP_POLL] = DAT_UPCALL_DISABLE,
	};
	u32 i;

	for (i = 0; i < INTEROP_EVDS; i++) {
		DAT_UPCALL_OBJECT upcall = {
			.instance_data = &l->evd[i],
			.upcall_func = link_upcall,
		};
		DAT_RETURN ret;

		l->evd[i].link = l;
		/* One entry: completions and connection events take no entry */
		ret = dat_evd_kcreate(l->fx->t.ia, 1, policy[l->mode],
				      l->mode == INTEROP_POLL ? NULL : &upcall,
				      flags[i], &l->evd[i].handle);
		if (!interop_good(l->name, "dat_evd_kcreate", ret)) {
			l->evd[i].handle = DAT_HANDLE_NULL;
			return -EIO;
		}
	}
	return 0;
}

static int make_ep(struct interop_link *l, const struct interop_link_spec *spec)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = INTEROP_MAX_BYTES,
		.max_rdma_size = INTEROP_MAX_BYTES,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = spec->recvs,
		.max_request_dtos = spec->requests,
		.max_recv_iov = spec->iov,
		.max_request_iov = spec->iov,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = spec->iov,
		.max_rdma_write_iov = spec->iov,
	};
	DAT_RETURN ret;

	ret = dat_ep_create(l->fx->t.ia, l->pz, l->evd[INTEROP_RECV_EVD].handle,
			    l->evd[INTEROP_REQUEST_EVD].handle,
			    l->evd[INTEROP_CONN_EVD].handle,
			    spec->defaults ? NULL : &attr, &l->ep);
	if (interop_good(l->name, "dat_ep_create", ret))
		return 0;
	l->ep = DAT_HANDLE_NULL;
	return -EIO;
}

/**
 * interop_link_make - create an EP and its EVDs
 * @l: the link, zero except its name
 * @w: the fixture
 * @pz: zone of the peer
 * @spec: sizes of the queues, mode of delivery
 *
 * The caller must free the link even after an error.
 *
 * Context: process.
 * Return: 0; -ENOMEM; -EIO, which is recorded.
 */
int interop_link_make(struct interop_link *l, struct interop_fixture *w, DAT_PZ_HANDLE pz,
		      const struct interop_link_spec *spec)
{
	l->fx = w;
	l->pz = pz;
	l->mode = spec->mode;
	spin_lock_init(&l->lock);
	init_waitqueue_head(&l->wait);
	return test_posts_make(&l->recvs, 1, spec->recvs, sizeof(struct test_post),
			       "%s: receives", l->name) ?:
	       test_posts_make(&l->requests, 2, spec->requests, sizeof(struct test_post),
			       "%s: requests", l->name) ?:
	       make_evds(l) ?: make_ep(l, spec);
}

/* Free a link that may be incomplete or not exist. All posts must have completed */
void interop_link_free(struct interop_link *l)
{
	u32 i;

	if (!l->fx)
		return;
	if (l->ep)
		interop_good(l->name, "dat_ep_free", dat_ep_free(l->ep));
	for (i = 0; i < INTEROP_EVDS; i++)
		if (l->evd[i].handle)
			interop_good(l->name, "dat_evd_free",
				     dat_evd_free(l->evd[i].handle));
	if (!l->failed) {
		test_posts_missing(&l->recvs);
		test_posts_missing(&l->requests);
	}
	test_posts_free(&l->recvs);
	test_posts_free(&l->requests);
	memset(l, 0, sizeof(*l));
}
