// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test about connections: attempts that time out, have no
 * destination or are withdrawn, and how, when and by which side connections are
 * disconnected. Peers that violate the protocol are in peer_death.c and hostile.c.
 *
 * Times are measured from just before and just after the call, so that the delays of the
 * test itself cannot violate either bound. Process context.
 */
#include <linux/in.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "verbs_peer.h"

#define LATE_MS		50	/* tolerance of a timeout (C-55) */
#define ABRUPT_MS	1000	/* maximum time of an abrupt disconnect (C-56) */
#define LONG_US		20000000U

static bool call_failed(struct pair *d, const char *what, DAT_RETURN ret)
{
	return !loop_expect(d->c, what, ret, DAT_SUCCESS);
}

static DAT_RETURN dial(struct pair *d, DAT_IA_ADDRESS_PTR to, DAT_TIMEOUT us)
{
	return dat_ep_connect(d->a[0].ep, to, d->run->qual, us, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

/* Frees a request that will not be answered. */
static void drop(struct pair *d, DAT_CR_HANDLE cr)
{
	if (cr)
		call_failed(d, "dat_cr_reject", dat_cr_reject(cr, 0, NULL));
}

/* ---- timeouts (C-55, C-56) ------------------------------------------------ */

struct stopwatch {
	s64 before, behind;	/* around the call; microseconds */
};

/* Fails if it is too early or, where the clock is exact, too late. A busy host delays events */
static void expect_time(struct pair *d, const char *what, const struct stopwatch *w, s64 least,
			s64 most)
{
	s64 now = ktime_to_us(ktime_get());

	if (now - w->before < least)
		loop_fail(d->c, "%s: %lld us, that is %lld us too early", what, now - w->before,
			  least - (now - w->before));
	if (loop_exact && now - w->behind > most)
		loop_fail(d->c, "%s: %lld us, which is %lld us too late", what, now - w->behind,
			  now - w->behind - most);
}

/**
 * loop_expect_abrupt - check that an abrupt disconnect has ended in time (C-56)
 * @c: the case
 * @begin: ktime_get() before the call, in ms
 *
 * Context: any.
 * Return: its duration in ms.
 */
s64 loop_expect_abrupt(struct loop_case *c, s64 begin)
{
	s64 took = ktime_to_ms(ktime_get()) - begin;

	if (loop_exact && took > ABRUPT_MS)
		loop_fail(c, "DISCONNECTED %lld ms after an abrupt disconnect", took);
	return took;
}

/* Both queues of A are empty except for one receive, which is flushed. */
static void one_timeout(struct pair *d, u32 ms, DAT_IA_ADDRESS_PTR to, s64 *latest)
{
	s64 most = (ms + LATE_MS) * 1000LL;
	DAT_CR_HANDLE cr = DAT_HANDLE_NULL;
	struct pair_end *a = &d->a[0];
	struct stopwatch w;
	DAT_RETURN ret;

	pair_recv1(a, 0, 16, 1, 0);
	w.before = ktime_to_us(ktime_get());
	ret = dial(d, to, ms * 1000);
	w.behind = ktime_to_us(ktime_get());
	if (call_failed(d, "dat_ep_connect", ret))
		return;
	pair_expect_state(a, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	pair_conn(a, DAT_CONNECTION_EVENT_TIMED_OUT);
	expect_time(d, "TIMED_OUT", &w, ms * 1000LL, most);
	*latest = max(*latest, ktime_to_us(ktime_get()) - w.behind - ms * 1000LL);
	pair_expect_state(a, DAT_EP_STATE_DISCONNECTED);
	pair_dto(a, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	/* Later CM events must not cause a second event. */
	if (to == d->run->t.attr.ia_address_ptr) {
		cr = pair_called(d);
		drop(d, cr);
	}
	pair_settle(d, 50);
	pair_expect_no_event(d, "an attempt that ran out of time");
	call_failed(d, "dat_ep_reset", dat_ep_reset(a->ep));
}

/**
 * loop_case_timeouts - attempts that are not answered
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_timeouts(struct loop_run *run, struct loop_case *c)
{
	/* The last two are used only where waiting takes no time */
	static const u32 ms[] = { 30, 500, 100, 101, 1000, 3000 };
	struct sockaddr_in nobody = {};
	struct pair_cfg cfg = {};
	s64 latest = 0;
	struct pair *d;
	u32 i, n = run->args.brief ? 2 : loop_exact ? ARRAY_SIZE(ms) : 4;

	loop_clauses(c, loop_exact ? "C-02 C-22 C-40 C-55 R-30" : "C-02 C-22 C-40 R-30");
	d = pair_make(run, c, &cfg);
	if (!d)
		return -EIO;
	for (i = 0; i < n && pair_ok(d); i++)
		one_timeout(d, ms[i], run->t.attr.ia_address_ptr, &latest);
	/* An unused address of the same network. */
	if (run->t.attr.ia_address_ptr->sa_family == AF_INET && pair_ok(d)) {
		memcpy(&nobody, run->t.attr.ia_address_ptr, sizeof(nobody));
		nobody.sin_addr.s_addr ^= htonl(0x40);
		one_timeout(d, 200, (struct sockaddr *)&nobody, &latest);
	}
	scnprintf(c->reason, sizeof(c->reason), "TIMED_OUT at most %lld us late", latest);
	pair_end(d);
	return 0;
}

/* ---- attempts --------------------------------------------------------------- */

static void no_route(struct pair *d)
{
	/* From the block for documentation; there is no default route. */
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0xcb007107),
	};
	struct pair_end *a = &d->a[0];

	pair_recv1(a, 0, 16, 1, 0);
	if (call_failed(d, "dat_ep_connect", dial(d, (struct sockaddr *)&to, LONG_US)))
		return;
	pair_conn(a, DAT_CONNECTION_EVENT_UNREACHABLE);
	pair_expect_state(a, DAT_EP_STATE_DISCONNECTED);
	pair_dto(a, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_settle(d, 50);
	pair_expect_no_event(d, "an attempt without a route");
	call_failed(d, "dat_ep_reset", dat_ep_reset(a->ep));
}

/* A withdraws before the request is answered; the answer comes too late for both. */
static void given_up(struct pair *d, DAT_CLOSE_FLAGS how)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_CR_HANDLE cr;

	pair_recv1(a, 0, 16, 1, 0);
	pair_recv1(b, 0, 16, 2, 0);
	if (!pair_call(d, 0, LONG_US))
		return;
	pair_expect_state(a, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	cr = pair_called(d);
	pair_expect_no_event(d, "an attempt that nobody has answered");
	call_failed(d, "dat_ep_disconnect", dat_ep_disconnect(a->ep, how));
	pair_conn(a, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_dto(a, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_expect_state(a, DAT_EP_STATE_DISCONNECTED);
	if (!cr || call_failed(d, "dat_cr_accept", dat_cr_accept(cr, b->ep, 0, NULL)))
		return;
	pair_conn(b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	pair_dto(b, DAT_DTO_RECEIVE, 2, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_settle(d, 50);
	pair_expect_no_event(d, "an attempt that was given up");
	call_failed(d, "dat_ep_reset", dat_ep_reset(a->ep));
	call_failed(d, "dat_ep_reset", dat_ep_reset(b->ep));
}

/* The same at the other side: the peer never completes the accepted connection. */
static void accept_given_up(struct pair *d, DAT_CLOSE_FLAGS how)
{
	struct vpeer *peer = vpeer_make(d->run, d->c);
	struct pair_end *b = &d->b[0];
	DAT_CR_HANDLE cr;

	if (!peer)
		return;
	pair_recv1(b, 0, 16, 1, 0);
	cr = vpeer_call(peer) ? pair_called(d) : DAT_HANDLE_NULL;
	if (!cr || call_failed(d, "dat_cr_accept", dat_cr_accept(cr, b->ep, 0, NULL)))
		goto out;
	pair_expect_state(b, DAT_EP_STATE_COMPLETION_PENDING);
	vpeer_expect(peer, RDMA_CM_EVENT_CONNECT_RESPONSE);
	pair_expect_no_event(d, "an accept that nobody has completed");
	call_failed(d, "dat_ep_disconnect", dat_ep_disconnect(b->ep, how));
	pair_conn(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_dto(b, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_expect_state(b, DAT_EP_STATE_DISCONNECTED);
	/* The destruction of the CM id notifies the peer. */
	vpeer_expect(peer, RDMA_CM_EVENT_REJECTED);
	pair_settle(d, 50);
	pair_expect_no_event(d, "an accept that was given up");
	call_failed(d, "dat_ep_reset", dat_ep_reset(b->ep));
out:
	vpeer_end(peer);
}

/**
 * loop_case_withdrawn - attempts without a route, and attempts that are withdrawn
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_withdrawn(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	struct pair *d;

	loop_clauses(c, "C-02 C-04 C-16 C-17 C-23 C-40 R-30");
	d = pair_make(run, c, &cfg);
	if (!d)
		return -EIO;
	if (run->t.attr.ia_address_ptr->sa_family == AF_INET) {
		loop_clauses(c, "C-21");
		no_route(d);
	}
	given_up(d, DAT_CLOSE_ABRUPT_FLAG);
	given_up(d, DAT_CLOSE_GRACEFUL_FLAG);
	accept_given_up(d, DAT_CLOSE_ABRUPT_FLAG);
	accept_given_up(d, DAT_CLOSE_GRACEFUL_FLAG);
	pair_end(d);
	return 0;
}

/* The private data of an accept stays readable until the EP is reset (C-46). */
static void keep(struct pair *d)
{
	static const char text[] = "what the one that accepts has to say";
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	const DAT_CONNECTION_EVENT_DATA *conn;
	const void *data;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	cr = pair_call(d, 0, LONG_US) ? pair_called(d) : DAT_HANDLE_NULL;
	if (!cr || call_failed(d, "dat_cr_accept",
			       dat_cr_accept(cr, b->ep, sizeof(text), (void *)text)) ||
	    !pair_next(d, &a->conn, PAIR_UPCALL, "ESTABLISHED", &ev))
		return;
	conn = &ev.event_data.connect_event_data;
	data = conn->private_data;
	if (ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED || !data ||
	    conn->private_data_size < (DAT_COUNT)sizeof(text) || memcmp(data, text, sizeof(text)))
		loop_fail(d->c, "A: event %#x, %d bytes of private data, or other ones",
			  ev.event_number, conn->private_data_size);
	if (!pair_next(d, &b->conn, PAIR_UPCALL, "ESTABLISHED", &ev))
		return;
	/* conn points into the event, which is now that of B */
	if (ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED || conn->private_data_size)
		loop_fail(d->c, "B: event %#x, %d bytes of private data", ev.event_number,
			  conn->private_data_size);
	pair_expect_state(b, DAT_EP_STATE_CONNECTED);
	if (!pair_ok(d))
		return;
	call_failed(d, "dat_ep_disconnect", dat_ep_disconnect(b->ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_ended(a, false);
	pair_ended(b, false);
	if (memcmp(data, text, sizeof(text)))
		loop_fail(d->c, "private data: expected unchanged after the end of the connection");
}

/* ---- graceful disconnects --------------------------------------------------- */

/* A's send waits for a receive of B without limit. */
static void begin_graceful(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_DTO_COOKIE cookie = { .as_64 = 9 };
	DAT_LMR_TRIPLET seg = pair_seg(a, 0, 16);

	pair_fill(a, 0, 16, 7);
	pair_recv1(a, 64, 16, 1, 0);
	pair_send1(a, 0, 16, 2, 0);
	call_failed(d, "dat_ep_disconnect", dat_ep_disconnect(a->ep, DAT_CLOSE_GRACEFUL_FLAG));
	pair_expect_state(a, DAT_EP_STATE_DISCONNECT_PENDING);
	loop_expect(d->c, "a send in DISCONNECT_PENDING",
		    dat_ep_post_send(a->ep, 1, &seg, cookie, 0), DAT_INVALID_STATE);
	/* A second call has no effect. */
	call_failed(d, "dat_ep_disconnect", dat_ep_disconnect(a->ep, DAT_CLOSE_GRACEFUL_FLAG));
	pair_settle(d, 50);
	pair_expect_no_event(d, "a graceful disconnect that waits");
	pair_expect_state(a, DAT_EP_STATE_DISCONNECT_PENDING);
	pair_expect_state(b, DAT_EP_STATE_CONNECTED);
}

static void graceful_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];

	begin_graceful(d);
	pair_recv1(b, 0, 16, 3, 0);
	pair_dto(b, DAT_DTO_RECEIVE, 3, DAT_DTO_SUCCESS, 16, PAIR_UPCALL);
	pair_dto(a, DAT_DTO_SEND, 2, DAT_DTO_SUCCESS, 16, PAIR_UPCALL);
	pair_expect_bytes(b, "the last message", 0, 16, 7);
	pair_conn(a, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_conn(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_dto(a, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_expect_state(a, DAT_EP_STATE_DISCONNECTED);
	pair_expect_state(b, DAT_EP_STATE_DISCONNECTED);
	pair_settle(d, 50);
	pair_expect_no_event(d, "a graceful disconnect");
}

/* An abrupt disconnect of the same end follows. */
static void then_abrupt_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];

	begin_graceful(d);
	call_failed(d, "dat_ep_disconnect", dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_conn(a, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_conn(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_dto(a, DAT_DTO_SEND, 2, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_dto(a, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_settle(d, 50);
	pair_expect_no_event(d, "an abrupt disconnect after a graceful one");
}

/* A disconnect by the peer follows. */
static void then_peer_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];

	begin_graceful(d);
	call_failed(d, "dat_ep_disconnect", dat_ep_disconnect(b->ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_conn(a, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_conn(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_dto(a, DAT_DTO_SEND, 2, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_dto(a, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_settle(d, 50);
	pair_expect_no_event(d, "the peer's disconnect after a graceful one");
}

/* Both sides at once; each is first in turn. */
static void both_script(struct pair *d)
{
	struct pair_end *e[] = { &d->a[0], &d->b[0] };
	u32 i, first = d->c->variant++ & 1;

	for (i = 0; i < 2; i++)
		pair_recv1(e[i], 0, 16, i, 0);
	for (i = 0; i < 2; i++)
		call_failed(d, "dat_ep_disconnect",
			    dat_ep_disconnect(e[i ^ first]->ep, DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 2; i++) {
		pair_conn(e[i], DAT_CONNECTION_EVENT_DISCONNECTED);
		pair_dto(e[i], DAT_DTO_RECEIVE, i, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	}
	pair_settle(d, 50);
	pair_expect_no_event(d, "two disconnects");
}

/**
 * loop_case_ends - the ways to disconnect
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_ends(struct loop_run *run, struct loop_case *c)
{
	static void (* const script[])(struct pair *d) = {
		graceful_script, then_abrupt_script, then_peer_script, both_script, both_script,
	};
	struct pair_cfg cfg = {};
	struct pair *d;
	int err = 0;
	u32 i;

	loop_clauses(c, "C-15 C-18 C-46");
	loop_clauses(c, "C-24 C-25 C-26 C-27 C-28 C-29 C-41 C-48");
	d = pair_make(run, c, &cfg);
	if (!d)
		return -EIO;
	keep(d);
	pair_end(d);
	for (i = 0; i < ARRAY_SIZE(script) && !err; i++)
		err = pair_play(run, c, &cfg, script[i]);
	return err;
}
