// SPDX-License-Identifier: GPL-2.0
/*
 * Events of the loopback test. They arrive by upcall (bottom halves off) or the work item
 * dequeues them. Each is checked field by field and entered in the accounting, all under
 * fx->lock. This file also has the waits: each is for an event and has a time limit.
 */
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "kdapl_loop.h"

#define SLICE		(HZ / 4)	/* between two checks of abort and progress */

static struct loop_side *find_side(struct loop_fixture *fx, DAT_EP_HANDLE ep)
{
	u32 i;

	for (i = 0; i < fx->nsides; i++) {
		if (fx->a[i].ep == ep)
			return &fx->a[i];
		if (fx->b[i].ep == ep)
			return &fx->b[i];
	}
	return NULL;
}

static void check_status(struct loop_side *s, struct test_posts *q, struct loop_post *p,
			 const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	struct loop_fixture *fx = s->fx;

	if (d->status == DAT_DTO_SUCCESS) {
		if (q->flushed && q != &fx->srq_rx)
			loop_fail(fx->c, "%s: post %u succeeded after a flushed one",
				  q->name, test_number(&p->t));
		return;
	}
	fx->stop = true;
	if (d->status == DAT_DTO_ERR_FLUSHED) {
		fx->c->flushed++;
	} else if (fx->may_fail) {
		DAT_DTO_COMPLETION_STATUS *first = p->kind == LOOP_K_RECV ? &s->rx_error :
									    &s->tx_error;

		if (!*first)
			*first = d->status;
		return;
	}
	if (d->status != DAT_DTO_ERR_FLUSHED)
		loop_fail(fx->c, "%s: post %u completed with status %d", q->name,
			  test_number(&p->t), d->status);
	else if (!fx->may_flush)
		loop_fail(fx->c, "%s: post %u was flushed on a live connection",
			  q->name, test_number(&p->t));
}

/* Only an SRQ may complete posts in another order. */
static void finish_silent(struct loop_side *s, struct test_posts *q, const struct test_post *p)
{
	struct test_post *e;

	while (q != &s->fx->srq_rx && (e = test_posts_silent(q, p))) {
		s->fx->c->silent++;
		loop_finish_tx(s, loop_entry(e), DAT_DTO_SUCCESS);
	}
}

static void on_dto(struct loop_fixture *fx, struct loop_evd *evd,
		   const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	bool recv = d->operation == DAT_DTO_RECEIVE;
	struct loop_side *s = find_side(fx, d->ep_handle);
	struct test_posts *q;
	struct loop_post *p;

	fx->c->completions++;
	if (!s) {
		loop_fail(fx->c, "completion: expected an EP of the test, got another ep_handle");
		return;
	}
	q = recv ? s->rx : &s->tx;
	if (evd != (recv ? s->recv : s->req))
		loop_fail(fx->c, "%s: completion: expected on another EVD", q->name);
	if (!s->established && d->status == DAT_DTO_SUCCESS && s->conn == evd)
		loop_fail(fx->c, "%s: expected ESTABLISHED first, got a completion", q->name);
	if (s->ended && d->status == DAT_DTO_SUCCESS && s->conn == evd)
		loop_fail(fx->c, "%s: expected successes before the end event, got one after it",
			  q->name);
	p = loop_entry(test_posts_complete(q, d));
	if (!p)
		return;
	check_status(s, q, p, d);
	finish_silent(s, q, &p->t);
	if (recv)
		loop_finish_rx(s, p, d->status, d->transfered_length);
	else
		loop_finish_tx(s, p, d->status);
	if (fx->pumping) {
		loop_pump(fx);
		if (fx->tx_done == fx->count && fx->rx_done == fx->count)
			complete(&fx->run->wake);
	}
}

/* ESTABLISHED has the private data of the accept at A, and none at B. */
static void check_welcome(struct loop_side *s, const DAT_CONNECTION_EVENT_DATA *d)
{
	u64 welcome = LOOP_WELCOME;
	bool active = s == &s->fx->a[0] || s == &s->fx->a[1];

	bool good = d->private_data_size == 0;

	if (active)
		good = d->private_data_size >= (int)sizeof(welcome) && d->private_data &&
		       !memcmp(d->private_data, &welcome, sizeof(welcome));
	if (!good)
		loop_fail(s->fx->c, "%s: ESTABLISHED: expected the accept's data, got %d bytes",
			  s->name, d->private_data_size);
}

static void on_connection(struct loop_fixture *fx, struct loop_evd *evd, const DAT_EVENT *ev)
{
	const DAT_CONNECTION_EVENT_DATA *d = &ev->event_data.connect_event_data;
	struct loop_side *s = find_side(fx, d->ep_handle);

	if (!s) {
		loop_fail(fx->c, "connection event %#x: expected an EP of the test, got another",
			  ev->event_number);
		return;
	}
	if (evd != s->conn)
		loop_fail(fx->c, "%s: connection event: expected on another EVD", s->name);
	switch (ev->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		if (s->established++)
			loop_fail(fx->c, "%s: expected ESTABLISHED once, got it twice", s->name);
		check_welcome(s, d);
		if (fx->eager && s == &fx->a[0])
			loop_post_requests(s, LOOP_K_SEND, fx->eager, fx->cfg.size,
					   DAT_COMPLETION_DEFAULT_FLAG);
		break;
	case DAT_CONNECTION_EVENT_BROKEN:
		s->broken++;
		fallthrough;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		if (!s->established)
			loop_fail(fx->c, "%s: expected ESTABLISHED before end event %#x", s->name,
				  ev->event_number);
		if (!fx->may_end) {
			loop_fail(fx->c, "%s: connection ended (event %#x) without a disconnect",
				  s->name, ev->event_number);
			fx->stop = true;
		}
		if (s->ended++)
			loop_fail(fx->c, "%s: expected one end event, got a second one, %#x",
				  s->name, ev->event_number);
		break;
	default:
		loop_fail(fx->c, "%s: connection event %#x", s->name, ev->event_number);
		fx->stop = true;
	}
	complete(&fx->run->wake);
}

static void on_event(struct loop_fixture *fx, struct loop_evd *evd, const DAT_EVENT *ev)
{
	fx->events++;
	if (ev->evd_handle != evd->handle)
		loop_fail(fx->c, "event %#x: expected the handle of its EVD, got another",
			  ev->event_number);
	if (ev->event_number == DAT_DTO_COMPLETION_EVENT)
		on_dto(fx, evd, &ev->event_data.dto_completion_event_data);
	else if (ev->event_number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
		 ev->event_number <= DAT_CONNECTION_EVENT_UNREACHABLE)
		on_connection(fx, evd, ev);
	else
		loop_fail(fx->c, "event number %#x", ev->event_number);
	/* While the pump runs, only its end needs to wake the work item. */
	if (!fx->pumping || fx->may_end)
		complete(&fx->run->wake);
}

/**
 * loop_upcall - the upcall of every EVD of a fixture
 * @data: the EVD
 * @event: the event; NULL if the policy is NOTIFY
 * @more: not used
 *
 * Context: upcall: softirq, or process with bottom halves off; or process, if the completion
 * context is process.
 */
void loop_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct loop_evd *evd = data;
	struct loop_fixture *fx = evd->fx;
	bool notify = fx->cfg.mode == LOOP_DEQUEUE;
	bool sleeps = evd->dto && test_upcalls_sleep();

	if (atomic_inc_return(&evd->inside) != 1)
		loop_fail(fx->c, "expected one upcall of an EVD at a time, got two");
	if (!in_softirq() != sleeps)
		loop_fail(fx->c, "upcall: expected bottom halves %s", sleeps ? "on" : "off");
	if (sleeps)
		might_sleep();
	if (notify != !event)
		loop_fail(fx->c, "upcall %s an event", event ? "with" : "without");
	if (event) {
		spin_lock_bh(&fx->lock);
		evd->calls++;
		fx->c->by_upcall++;
		fx->in_upcall = true;
		on_event(fx, evd, event);
		fx->in_upcall = false;
		spin_unlock_bh(&fx->lock);
	} else {
		evd->calls++;
		atomic_set(&evd->notified, 1);
		complete(&fx->run->wake);
	}
	atomic_dec(&evd->inside);
}

/**
 * loop_drain - dequeue and handle the events of an EVD
 * @fx: the fixture
 * @evd: one of its EVDs
 * @max: maximum number of events
 *
 * Context: process, fx->lock not held.
 * Return: number of events.
 */
u32 loop_drain(struct loop_fixture *fx, struct loop_evd *evd, u32 max)
{
	DAT_EVENT ev;
	DAT_RETURN ret;
	u32 n = 0;

	while (n < max) {
		ret = dat_evd_dequeue(evd->handle, &ev);
		if (ret != DAT_SUCCESS) {
			loop_expect(fx->c, "dat_evd_dequeue", ret, DAT_QUEUE_EMPTY);
			break;
		}
		spin_lock_bh(&fx->lock);
		fx->c->by_dequeue++;
		on_event(fx, evd, &ev);
		spin_unlock_bh(&fx->lock);
		if (!(++n & 63))
			cond_resched();
	}
	return n;
}

/* Dequeues if the mode requires it; in NOTIFY mode only after a notification. */
static void drain_all(struct loop_fixture *fx)
{
	u32 i;

	if (fx->cfg.mode == LOOP_UPCALL)
		return;
	for (i = 0; i < fx->nevds; i++) {
		struct loop_evd *evd = &fx->evd[i];

		if (fx->cfg.mode == LOOP_POLL || atomic_xchg(&evd->notified, 0))
			loop_drain(fx, evd, U32_MAX);
	}
}

static bool check_done(struct loop_fixture *fx, bool (*done)(struct loop_fixture *fx), u32 *events)
{
	bool yes;

	spin_lock_bh(&fx->lock);
	*events = fx->events;
	yes = done(fx);
	spin_unlock_bh(&fx->lock);
	return yes;
}

/**
 * loop_wait - handle events until a condition is true
 * @fx: the fixture
 * @done: the condition; called under fx->lock
 * @ms: maximum time without any event, before the stretch factor
 *
 * Context: process.
 * Return: 0; -ETIMEDOUT, which the caller notes; -EINTR if the run is aborted.
 */
int loop_wait(struct loop_fixture *fx, bool (*done)(struct loop_fixture *fx), u32 ms)
{
	unsigned long limit = test_limit(ms);
	unsigned long deadline = jiffies + limit;
	u32 events, seen = 0;

	for (;;) {
		drain_all(fx);
		if (check_done(fx, done, &events))
			return 0;
		if (READ_ONCE(fx->run->abort))
			return -EINTR;
		if (events != seen) {
			seen = events;
			deadline = jiffies + limit;
		} else if (time_after(jiffies, deadline)) {
			return -ETIMEDOUT;
		}
		if (fx->cfg.mode == LOOP_POLL)
			cond_resched();
		else
			wait_for_completion_timeout(&fx->run->wake,
						    min_t(unsigned long, limit, SLICE));
	}
}

/**
 * loop_wait_cr - wait for a connection request
 * @run: the run
 * @ms: maximum time, before the stretch factor
 *
 * Context: process.
 * Return: 0 with run->cr set; -ETIMEDOUT; -EINTR if the run is aborted.
 */
int loop_wait_cr(struct loop_run *run, u32 ms)
{
	unsigned long deadline = test_deadline(ms);

	while (!READ_ONCE(run->cr)) {
		if (READ_ONCE(run->abort))
			return -EINTR;
		if (time_after(jiffies, deadline))
			return -ETIMEDOUT;
		wait_for_completion_timeout(&run->wake, SLICE);
	}
	return 0;
}

/* Has every post of every queue completed? An SRQ keeps its unused receives. */
bool loop_all_back(struct loop_fixture *fx)
{
	u32 i;

	for (i = 0; i < fx->nsides; i++)
		if (fx->a[i].tx.out || fx->b[i].tx.out ||
		    fx->a[i].own_rx.out || fx->b[i].own_rx.out)
			return false;
	return true;
}

/* Has every EP received its disconnect event? */
bool loop_all_ended(struct loop_fixture *fx)
{
	u32 i;

	for (i = 0; i < fx->nsides; i++)
		if (!fx->a[i].ended || !fx->b[i].ended)
			return false;
	return true;
}
