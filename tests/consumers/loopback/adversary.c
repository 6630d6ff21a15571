// SPDX-License-Identifier: GPL-2.0
/*
 * The helpers of the hostile cases, see adversary.h: setup, the start and end of an
 * attack, and the checks of the other connections. Process context, in the work item of
 * the run.
 */
#include <linux/jiffies.h>
#include <linux/string.h>

#include "adversary.h"
#include "sp.h"

#define MOVED		4096	/* where the other connections write and read */
#define MOVED_LEN	128
#define TALKED		64	/* bytes of a message of sp_talk() */

int adv_play(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg,
	     void (*script)(struct adv *f))
{
	struct pair_cfg own = *cfg;
	struct adv f = {};

	own.pairs = 3;
	own.zone = true;
	f.d = pair_make(run, c, &own);
	if (!f.d)
		return -EIO;
	f.b = &f.d->b[0];
	f.near = &f.d->b[1];
	f.far = &f.d->b[2];
	pair_connect_one(f.d, 1);
	pair_connect_one(f.d, 2);
	if (pair_ok(f.d))
		script(&f);
	if (pair_ok(f.d))
		pair_expect_no_event(f.d, "after all attacks");
	if (f.peer)
		vpeer_end(f.peer);
	pair_end(f.d);
	return READ_ONCE(run->abort) ? -EINTR : 0;
}

void adv_recvs(struct adv *f)
{
	pair_recv1(f->b, ADV_RECV, ADV_ROOM, 1, 0);
	pair_recv1(f->b, ADV_RECV + 2 * ADV_ROOM, ADV_ROOM, 2, 0);
}

bool adv_meet_rnr(struct adv *f, u8 rnr)
{
	if (!pair_ok(f->d))
		return false;
	f->peer = vpeer_meet_rnr(f->b, rnr);
	return f->peer;
}

bool adv_meet_srq(struct adv *f)
{
	if (!pair_ok(f->d))
		return false;
	f->peer = vpeer_meet_srq(f->b);
	return f->peer;
}

void adv_flushed(struct adv *f, u64 cookie, u64 last)
{
	for (; cookie <= last; cookie++)
		pair_dto(f->b, DAT_DTO_RECEIVE, cookie, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
}

/* The EP must report the cause (G-36) */
static void expect_cause(struct pair_end *e)
{
	DAT_EP_PARAM param = {};
	const char *text = NULL;
	DAT_COUNT i;

	if (!pair_ok(e->pair) ||
	    !loop_expect(e->pair->c, "dat_ep_query",
			 dat_ep_query(e->ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS))
		return;
	for (i = 0; i < param.ep_attr.ep_provider_specific_count; i++)
		if (!strcmp(param.ep_attr.ep_provider_specific[i].name, "kdapl.first_error"))
			text = param.ep_attr.ep_provider_specific[i].value;
	if (!text || !strcmp(text, "none"))
		loop_fail(e->pair->c, "%s: kdapl.first_error is %s", e->name, text ?: "not there");
}

void adv_broken(struct adv *f)
{
	pair_ended(f->b, true);
	expect_cause(f->b);
	if (pair_ok(f->d))
		vpeer_expect(f->peer, RDMA_CM_EVENT_DISCONNECTED);
}

void adv_hang_up(struct adv *f)
{
	if (!pair_ok(f->d))
		return;
	rdma_disconnect(f->peer->id);
	pair_conn(f->b, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_expect_state(f->b, DAT_EP_STATE_DISCONNECTED);
}

void adv_part(struct adv *f)
{
	if (f->peer)
		vpeer_end(f->peer);
	f->peer = NULL;
	if (!pair_ok(f->d))
		return;
	pair_settle(f->d, 10);
	pair_expect_no_event(f->d, "after an attack");
	pair_reset(f->b);
}

void adv_untouched(struct adv *f, const char *what)
{
	u32 i;

	for (i = 0; i < f->d->cfg.pairs; i++)
		pair_expect_free(&f->d->b[i], what, 0, PAIR_MEM);
}

/* Checks all memory that sp_talk() and the RDMA do not write */
static void expect_guards(struct pair_end *e, const char *what, u32 sent, bool moved)
{
	u32 at = sent + TALKED;

	pair_expect_free(e, what, 0, sent);
	pair_expect_free(e, what, at, 2048 - at);
	pair_expect_free(e, what, 2048 + TALKED, MOVED - 2048 - TALKED);
	at = MOVED + (moved ? 2 * MOVED_LEN : MOVED_LEN);
	pair_expect_free(e, what, at, PAIR_MEM - at);
}

/* @a writes to @b, reads it back into another place, and sends a message each way */
static void move(struct pair_end *a, struct pair_end *b, const char *what)
{
	DAT_LMR_TRIPLET out = pair_seg(a, MOVED, MOVED_LEN);
	DAT_LMR_TRIPLET in = pair_seg(a, MOVED + MOVED_LEN, MOVED_LEN);
	DAT_RMR_TRIPLET t = pair_target(b, MOVED, MOVED_LEN);

	pair_clear(a);
	pair_clear(b);
	sp_talk(a, b, false);
	pair_fill(a, MOVED, MOVED_LEN, 33);
	pair_write(a, 1, &out, 30, &t, 0);
	pair_dto(a, DAT_DTO_RDMA_WRITE, 30, DAT_DTO_SUCCESS, MOVED_LEN, PAIR_UPCALL);
	pair_expect_bytes(b, what, MOVED, MOVED_LEN, 33);
	pair_read(a, 1, &in, 31, &t, 0);
	pair_dto(a, DAT_DTO_RDMA_READ, 31, DAT_DTO_SUCCESS, MOVED_LEN, PAIR_UPCALL);
	pair_expect_bytes(a, what, MOVED + MOVED_LEN, MOVED_LEN, 33);
	expect_guards(a, what, 0, true);
	expect_guards(b, what, 1024, false);
	pair_expect_state(b, DAT_EP_STATE_CONNECTED);
	pair_clear(a);
	pair_clear(b);
}

void adv_bystanders(struct adv *f, const char *what)
{
	u32 i;

	/* With an SRQ, the other connection's receives are also the victim's */
	for (i = f->d->srq ? 2 : 1; i < f->d->cfg.pairs && pair_ok(f->d); i++)
		move(&f->d->a[i], &f->d->b[i], what);
	if (!pair_ok(f->d))
		loop_fail(f->d->c, "that was: %s", what);
}

enum ib_wc_status adv_notified(struct adv *f, struct vpeer_req *r)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);

	while (pair_ok(f->d) && !wait_for_completion_timeout(&r->done, 1)) {
		if (READ_ONCE(f->peer->last) == RDMA_CM_EVENT_DISCONNECTED)
			return IB_WC_WR_FLUSH_ERR;
		if (time_after(jiffies, deadline))
			loop_fail(f->d->c, "expected the peer's request to complete, it has not");
	}
	return r->status;
}

void adv_expect_dead(struct pair *d, DAT_HANDLE victim)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);
	DAT_EVENT ev = {};

	while (pair_ok(d) && dat_evd_dequeue(d->run->t.async, &ev) != DAT_SUCCESS) {
		if (time_after(jiffies, deadline))
			loop_fail(d->c, "expected an asynchronous event, got none");
		wait_for_completion_timeout(&d->run->wake, 1);
	}
	if (pair_ok(d) && (ev.event_number != DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR ||
			   ev.event_data.asynch_error_event_data.dat_handle != victim))
		loop_fail(d->c, "asynchronous event %#x, or of another object", ev.event_number);
}

void adv_expect_alive(struct adv *f, const char *what)
{
	DAT_EVENT ev;

	if (pair_ok(f->d) && dat_evd_dequeue(f->d->run->t.async, &ev) == DAT_SUCCESS)
		loop_fail(f->d->c, "%s: asynchronous event %#x", what, ev.event_number);
}
