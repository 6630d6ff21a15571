// SPDX-License-Identifier: GPL-2.0
/*
 * The load on a fixture: threads that post and dequeue continuously, the upcall, and the
 * accounting of their posts.
 *
 * Threads run in process context, the upcall with bottom halves off.
 */
#include <linux/sched.h>
#include "life.h"

#define COOKIE_EP(c)		((unsigned int)((c) >> 40) - 1)
#define COOKIE_QUEUE(c)		((unsigned int)((c) >> 32 & 0xff))

/* ---- events -------------------------------------------------------------- */

/**
 * life_event - complete the post of an event
 * @w:     the fixture
 * @event: of a DTO or a bind; others are not looked at
 *
 * Context: any.
 */
void life_event(struct life *w, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	unsigned int queue;
	struct life_ep *ep;
	u64 cookie;

	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		cookie = dto->user_cookie.as_64;
	else if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		cookie = event->event_data.rmr_completion_event_data.user_cookie.as_64;
	else
		return;
	queue = COOKIE_QUEUE(cookie);
	if (COOKIE_EP(cookie) >= LIFE_EPS || queue > LIFE_SUPPRESSED) {
		test_fail("foreign completion: expected the cookie of a queue, got %#llx", cookie);
		return;
	}
	ep = &w->ep[COOKIE_EP(cookie)];
	if (queue == LIFE_SUPPRESSED) {
		atomic_inc(&ep->failed);
		return;
	}
	if (event->event_number == DAT_DTO_COMPLETION_EVENT && dto->ep_handle != ep->handle)
		test_fail("event: expected the EP of its cookie, got another");
	test_posts_match(queue == LIFE_RECV ? ep->recv : &ep->queue[queue], cookie,
			 DAT_DTO_SUCCESS);
}

/* ---- posting ----------------------------------------------------------- */

static DAT_RETURN submit(struct life *w, unsigned int i, enum life_queue queue, u64 value,
			 DAT_LMR_CONTEXT context)
{
	DAT_DTO_COOKIE cookie = { .as_64 = value };
	DAT_EP_HANDLE ep = w->ep[i].handle;
	DAT_LMR_TRIPLET seg = {
		.virtual_address = w->base + (2 * i + (queue == LIFE_RECV)) * LIFE_SIZE,
		.segment_length = LIFE_SIZE,
		.lmr_context = context,
	};
	DAT_RMR_TRIPLET to = {
		.virtual_address = w->base + (8 + i) * LIFE_SIZE,
		.segment_length = LIFE_SIZE,
		.rmr_context = w->t.mem.rmr_context,
	};

	if (queue == LIFE_RECV && i == LIFE_D)
		return dat_srq_post_recv(w->srq, 1, &seg, cookie);
	if (queue == LIFE_RECV)
		return dat_ep_post_recv(ep, 1, &seg, cookie, 0);
	if (queue == LIFE_SUPPRESSED)
		return dat_ep_post_rdma_write(ep, 1, &seg, cookie, &to,
					      DAT_COMPLETION_SUPPRESS_FLAG);
	if (value & 1)
		return dat_ep_post_rdma_write(ep, 1, &seg, cookie, &to, 0);
	return dat_ep_post_send(ep, 1, &seg, cookie, 0);
}

/* A post that is only counted */
static DAT_RETURN post_suppressed(struct life *w, unsigned int i, enum life_queue queue,
				  DAT_LMR_CONTEXT context)
{
	DAT_RETURN ret;

	atomic_inc(&w->ep[i].suppressed);
	ret = submit(w, i, queue, (u64)life_cookies(i, LIFE_SUPPRESSED) << 32, context);
	if (ret != DAT_SUCCESS)
		atomic_dec(&w->ep[i].suppressed);
	return ret;
}

static DAT_RETURN post_counted(struct life *w, unsigned int i, enum life_queue queue,
			       DAT_LMR_CONTEXT context)
{
	struct test_posts *q = queue == LIFE_RECV ? w->ep[i].recv : &w->ep[i].queue[queue];
	struct test_post *p = test_post_begin(q);
	DAT_RETURN ret;

	if (!p)
		return DAT_QUEUE_FULL;
	ret = submit(w, i, queue, p->cookie, context);
	if (ret != DAT_SUCCESS)
		test_post_return(q, p);
	return ret;
}

static DAT_RETURN post_one(struct life *w, unsigned int i, enum life_queue queue,
			   DAT_LMR_CONTEXT context)
{
	/* An SRQ exists longer than its EP */
	bool gone = life_is_set(queue == LIFE_RECV && i == LIFE_D ? &w->srq_gone : &w->ep[i].freed);
	DAT_RETURN ret;

	if (queue == LIFE_SUPPRESSED)
		ret = post_suppressed(w, i, queue, context);
	else
		ret = post_counted(w, i, queue, context);
	if (ret == DAT_SUCCESS && gone)
		test_fail("post to a freed object: expected INVALID_HANDLE, it succeeded");
	return ret;
}

/**
 * life_post - make one post, if fewer than LIFE_DEPTH are pending
 * @w:       the fixture
 * @i:       the EP
 * @queue:   LIFE_RECV, LIFE_REQUEST (sends and writes) or LIFE_SUPPRESSED
 * @context: of the LMR
 *
 * Context: any in which one may post.
 * Return: that of the call; DAT_QUEUE_FULL, which no post returns, if too many are pending.
 */
DAT_RETURN life_post(struct life *w, unsigned int i, enum life_queue queue, DAT_LMR_CONTEXT context)
{
	DAT_RETURN ret = DAT_QUEUE_FULL;

	/* After @quiet is set, a count of 0 means that no post follows */
	atomic_inc_return(&w->posting);
	if (!READ_ONCE(w->quiet))
		ret = post_one(w, i, queue, context);
	atomic_dec_return(&w->posting);
	return ret;
}

static bool nobody_posts(struct life *w)
{
	return !atomic_read(&w->posting);
}

/**
 * life_quiet - make all posts by life_post() end
 * @w: the fixture
 *
 * Context: process.
 * Return: true if no post follows; false after LIFE_WAIT_MS, with a message.
 */
bool life_quiet(struct life *w)
{
	WRITE_ONCE(w->quiet, true);
	/* Pairs with atomic_inc_return() in life_post() */
	smp_mb();
	return life_wait(w, nobody_posts, "the posts that have begun");
}

/**
 * life_post_uncounted - post a receive that is only counted
 * @w: the fixture
 * @i: the EP
 *
 * Context: any in which one may post. Return: that of the call.
 */
DAT_RETURN life_post_uncounted(struct life *w, unsigned int i)
{
	return post_suppressed(w, i, LIFE_RECV, w->t.mem.lmr_context);
}

/* A post must succeed here, unless its EP is being freed */
static void expect_posted(struct life *w, unsigned int i, enum life_queue queue, DAT_RETURN ret)
{
	/* Read after the call: it was set before the free began */
	bool freeing = READ_ONCE(w->ep[i].freeing) || READ_ONCE(w->closing);

	if (ret == DAT_SUCCESS || ret == DAT_QUEUE_FULL)
		return;
	if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE && freeing)
		return;
	/* Some of the posts are only counted, so they may fill request queues and the SRQ */
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
	    (queue != LIFE_RECV || i == LIFE_D))
		return;
	test_fail("EP %u queue %u: a post returned %#x", i, queue, ret);
}

static int poster(void *arg)
{
	struct life *w = arg;
	DAT_LMR_CONTEXT lmr = w->t.mem.lmr_context;
	unsigned int i, n = 0;

	while (!kthread_should_stop()) {
		for (i = 0; i < LIFE_EPS; i++) {
			expect_posted(w, i, LIFE_RECV, life_post(w, i, LIFE_RECV, lmr));
			expect_posted(w, i, LIFE_REQUEST, life_post(w, i, LIFE_REQUEST, lmr));
			if (n++ % 8 == i)
				expect_posted(w, i, LIFE_SUPPRESSED,
					      life_post(w, i, LIFE_SUPPRESSED, lmr));
		}
		/* The device needs the CPU, too */
		if (n % 64 == 0)
			kdapl_nap(20, 50);
		cond_resched();
	}
	return 0;
}

static int dequeuer(void *arg)
{
	bool freed[LIFE_EPS], was_closed;
	struct life *w = arg;
	DAT_EVENT event;
	unsigned int i;
	DAT_RETURN ret;

	while (!kthread_should_stop()) {
		/* Before the call: no event of an object that was freed by then may arrive */
		for (i = 0; i < LIFE_EPS; i++)
			freed[i] = life_is_set(&w->ep[i].freed);
		was_closed = life_is_set(&w->closed);
		ret = dat_evd_dequeue(w->t.dto, &event);
		if (ret != DAT_SUCCESS) {
			if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY && !READ_ONCE(w->closing))
				test_fail("dat_evd_dequeue returned %#x", ret);
			kdapl_nap(50, 100);
			continue;
		}
		if (was_closed)
			test_fail("expected no event after dat_ia_close, got one");
		for (i = 0; i < LIFE_EPS; i++)
			if (freed[i] && event.event_number == DAT_DTO_COMPLETION_EVENT &&
			    event.event_data.dto_completion_event_data.ep_handle ==
			    w->ep[i].handle)
				test_fail("expected no event of an EP after dat_ep_free, got one");
		life_event(w, &event);
		cond_resched();
	}
	return 0;
}

/**
 * life_upcall - the upcall of A and B
 * @instance: tag of the fixture
 * @event:    what happened
 * @more:     not looked at
 *
 * Context: bottom halves off.
 */
void life_upcall(void *instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	void (*hook)(struct life *w, const DAT_EVENT *event);
	struct life_tag *tag = instance;
	struct life *w = tag->w;
	unsigned int i;

	if (READ_ONCE(tag->gone)) {
		test_fail("upcall: expected valid instance data, it was freed");
		return;
	}
	if (atomic_inc_return(&w->in_upcall) != 1)
		test_fail("expected one upcall of an EVD at a time, got two");
	if (life_is_set(&w->closed))
		test_fail("expected no upcall after dat_ia_close, got one");
	atomic_inc(&w->upcalls);
	if (event->event_number == DAT_DTO_COMPLETION_EVENT) {
		for (i = 0; i <= LIFE_B; i++)
			if (life_is_set(&w->ep[i].freed) &&
			    event->event_data.dto_completion_event_data.ep_handle ==
			    w->ep[i].handle)
				test_fail("expected no upcall for a freed EP, got one");
	}
	life_event(w, event);
	/* Post in the upcall of the EVD that receives the event */
	for (i = 0; i <= LIFE_B; i++)
		expect_posted(w, i, LIFE_RECV, life_post(w, i, LIFE_RECV, w->t.mem.lmr_context));
	hook = READ_ONCE(w->hook);
	if (hook)
		hook(w, event);
	atomic_dec(&w->in_upcall);
}

/* ---- threads ----------------------------------------------------------- */

/**
 * life_run - start a thread on a fixture
 * @w:    the fixture
 * @fn:   what it does until kthread_should_stop()
 * @name: its name
 *
 * Context: process. Return: 0 or a negative errno.
 */
int life_run(struct life *w, int (*fn)(void *w), const char *name)
{
	unsigned int n = w->nthreads;
	struct task_struct *task;

	task = kthread_run(fn, w, "life_%s/%u", name, n);
	if (IS_ERR(task)) {
		test_fail("a thread could not be started: %ld", PTR_ERR(task));
		return PTR_ERR(task);
	}
	w->thread[w->nthreads++] = task;
	return 0;
}

/* Stores the counts with which life_moves() compares */
static void set_mark(struct life *w)
{
	unsigned int i;

	for (i = 0; i < LIFE_EPS; i++) {
		w->ep[i].mark_recv = READ_ONCE(w->ep[i].recv->done);
		w->ep[i].mark_request = READ_ONCE(w->ep[i].queue[LIFE_REQUEST].done);
	}
}

static bool one_moves(const struct life_ep *ep, bool shared)
{
	if (READ_ONCE(ep->queue[LIFE_REQUEST].done) - ep->mark_request < 4)
		return false;
	/* The end of a connection does not flush the buffers of an SRQ */
	return (shared && ep->ends) || READ_ONCE(ep->recv->done) - ep->mark_recv >= 4;
}

/* Has each EP that exists sent and received something since then? */
static bool all_move(struct life *w)
{
	unsigned int i;

	for (i = 0; i < LIFE_EPS; i++)
		if (!w->ep[i].freed && !one_moves(&w->ep[i], i == LIFE_D))
			return false;
	return true;
}

/**
 * life_moves - wait until every EP that exists has transferred data from now on
 * @w: the fixture, with its load
 *
 * An EP whose peer was freed counts, too: its posts are flushed.
 *
 * Context: process. Return: 0, -ETIMEDOUT with a message.
 */
int life_moves(struct life *w)
{
	set_mark(w);
	return life_wait(w, all_move, "data to move") ? 0 : -ETIMEDOUT;
}

static bool is_connected(struct life *w)
{
	DAT_EP_STATE state;
	unsigned int i;

	for (i = 0; i < LIFE_EPS; i++)
		if (dat_ep_get_status(w->ep[i].handle, &state, NULL, NULL) != DAT_SUCCESS ||
		    state != DAT_EP_STATE_CONNECTED)
			return false;
	return true;
}

/**
 * life_load - start threads that post and dequeue, and wait until they transfer data
 * @w: the fixture
 *
 * Context: process. Return: 0 or a negative errno, with a message.
 */
int life_load(struct life *w)
{
	int ret;

	ret = life_run(w, poster, "post") ?: life_run(w, poster, "post") ?:
	      life_run(w, dequeuer, "take") ?: life_moves(w);
	if (!ret && !is_connected(w)) {
		test_fail("expected connections to stay under load, one ended");
		ret = -EPIPE;
	}
	return ret;
}

/* Stops all threads */
void life_halt(struct life *w)
{
	while (w->nthreads)
		kthread_stop(w->thread[--w->nthreads]);
}
