// SPDX-License-Identifier: GPL-2.0
/*
 * The scene of the hostile cases, see foe.h: who is there, how an attack begins
 * and ends, and what everybody else has to say to it. Process context, the work
 * item of the run.
 */
#include <linux/jiffies.h>
#include <linux/string.h>

#include "foe.h"
#include "sp.h"

#define MOVED		4096	/* where the others write and read */
#define MOVED_LEN	128
#define TALKED		64	/* bytes of a message of sp_talk() */

int foe_play(struct loop_run *run, struct loop_case *c, const struct duo_cfg *cfg,
	     void (*script)(struct foe *f))
{
	struct duo_cfg own = *cfg;
	struct foe f = {};

	own.pairs = 3;
	own.zone = true;
	f.d = duo_make(run, c, &own);
	if (!f.d)
		return -EIO;
	f.b = &f.d->b[0];
	f.near = &f.d->b[1];
	f.far = &f.d->b[2];
	duo_connect_pair(f.d, 1);
	duo_connect_pair(f.d, 2);
	if (duo_ok(f.d))
		script(&f);
	if (duo_ok(f.d))
		duo_expect_quiet(f.d, "behind all attacks");
	if (f.peer)
		bare_end(f.peer);
	duo_end(f.d);
	return READ_ONCE(run->abort) ? -EINTR : 0;
}

void foe_recvs(struct foe *f)
{
	duo_recv1(f->b, FOE_RECV, FOE_ROOM, 1, 0);
	duo_recv1(f->b, FOE_RECV + 2 * FOE_ROOM, FOE_ROOM, 2, 0);
}

bool foe_meet_rnr(struct foe *f, u8 rnr)
{
	if (!duo_ok(f->d))
		return false;
	f->peer = bare_meet_rnr(f->b, rnr);
	return f->peer;
}

bool foe_meet_srq(struct foe *f)
{
	if (!duo_ok(f->d))
		return false;
	f->peer = bare_meet_srq(f->b);
	return f->peer;
}

void foe_flushed(struct foe *f, u64 cookie, u64 last)
{
	for (; cookie <= last; cookie++)
		duo_dto(f->b, DAT_DTO_RECEIVE, cookie, DAT_DTO_ERR_FLUSHED, 0, DUO_EITHER);
}

/* It says why (G-36) */
static void expect_cause(struct duo_end *e)
{
	DAT_EP_PARAM param = {};
	const char *text = NULL;
	DAT_COUNT i;

	if (!duo_ok(e->duo) ||
	    !loop_expect(e->duo->c, "dat_ep_query",
			 dat_ep_query(e->ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS))
		return;
	for (i = 0; i < param.ep_attr.ep_provider_specific_count; i++)
		if (!strcmp(param.ep_attr.ep_provider_specific[i].name, "kdapl.first_error"))
			text = param.ep_attr.ep_provider_specific[i].value;
	if (!text || !strcmp(text, "none"))
		loop_fail(e->duo->c, "%s: kdapl.first_error is %s", e->name, text ?: "not there");
}

void foe_broken(struct foe *f)
{
	duo_ended(f->b, true);
	expect_cause(f->b);
	if (duo_ok(f->d))
		bare_hears(f->peer, RDMA_CM_EVENT_DISCONNECTED);
}

void foe_hang_up(struct foe *f)
{
	if (!duo_ok(f->d))
		return;
	rdma_disconnect(f->peer->id);
	duo_conn(f->b, DAT_CONNECTION_EVENT_DISCONNECTED);
	duo_expect_state(f->b, DAT_EP_STATE_DISCONNECTED);
}

void foe_part(struct foe *f)
{
	if (f->peer)
		bare_end(f->peer);
	f->peer = NULL;
	if (!duo_ok(f->d))
		return;
	duo_rest(f->d, 10);
	duo_expect_quiet(f->d, "behind an attack");
	duo_reset(f->b);
}

void foe_untouched(struct foe *f, const char *what)
{
	u32 i;

	for (i = 0; i < f->d->cfg.pairs; i++)
		duo_expect_free(&f->d->b[i], what, 0, DUO_MEM);
}

/* All that sp_talk() and the RDMA do not name */
static void expect_guards(struct duo_end *e, const char *what, u32 sent, bool moved)
{
	u32 at = sent + TALKED;

	duo_expect_free(e, what, 0, sent);
	duo_expect_free(e, what, at, 2048 - at);
	duo_expect_free(e, what, 2048 + TALKED, MOVED - 2048 - TALKED);
	at = MOVED + (moved ? 2 * MOVED_LEN : MOVED_LEN);
	duo_expect_free(e, what, at, DUO_MEM - at);
}

/* @a writes to @b, reads it back into other bytes, and a message goes each way */
static void move(struct duo_end *a, struct duo_end *b, const char *what)
{
	DAT_LMR_TRIPLET out = duo_seg(a, MOVED, MOVED_LEN);
	DAT_LMR_TRIPLET in = duo_seg(a, MOVED + MOVED_LEN, MOVED_LEN);
	DAT_RMR_TRIPLET t = duo_target(b, MOVED, MOVED_LEN);

	duo_clear(a);
	duo_clear(b);
	sp_talk(a, b, false);
	duo_fill(a, MOVED, MOVED_LEN, 33);
	duo_write(a, 1, &out, 30, &t, 0);
	duo_dto(a, DAT_DTO_RDMA_WRITE, 30, DAT_DTO_SUCCESS, MOVED_LEN, DUO_TOLD);
	duo_expect_bytes(b, what, MOVED, MOVED_LEN, 33);
	duo_read(a, 1, &in, 31, &t, 0);
	duo_dto(a, DAT_DTO_RDMA_READ, 31, DAT_DTO_SUCCESS, MOVED_LEN, DUO_TOLD);
	duo_expect_bytes(a, what, MOVED + MOVED_LEN, MOVED_LEN, 33);
	expect_guards(a, what, 0, true);
	expect_guards(b, what, 1024, false);
	duo_expect_state(b, DAT_EP_STATE_CONNECTED);
	duo_clear(a);
	duo_clear(b);
}

void foe_others(struct foe *f, const char *what)
{
	u32 i;

	/* On an SRQ the receives of the other are the victim's too */
	for (i = f->d->srq ? 2 : 1; i < f->d->cfg.pairs && duo_ok(f->d); i++)
		move(&f->d->a[i], &f->d->b[i], what);
	if (!duo_ok(f->d))
		loop_fail(f->d->c, "that was: %s", what);
}

enum ib_wc_status foe_told(struct foe *f, struct bare_req *r)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(LOOP_QUIET_MS * loop_stretch());

	while (duo_ok(f->d) && !wait_for_completion_timeout(&r->done, 1)) {
		if (READ_ONCE(f->peer->last) == RDMA_CM_EVENT_DISCONNECTED)
			return IB_WC_WR_FLUSH_ERR;
		if (time_after(jiffies, deadline))
			loop_fail(f->d->c, "the peer is told nothing");
	}
	return r->status;
}

void foe_expect_dead(struct duo *d, DAT_HANDLE victim)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(LOOP_QUIET_MS * loop_stretch());
	DAT_EVENT ev = {};

	while (duo_ok(d) && dat_evd_dequeue(d->run->async_evd, &ev) != DAT_SUCCESS) {
		if (time_after(jiffies, deadline))
			loop_fail(d->c, "no asynchronous event");
		wait_for_completion_timeout(&d->run->kick, 1);
	}
	if (duo_ok(d) && (ev.event_number != DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR ||
			  ev.event_data.asynch_error_event_data.dat_handle != victim))
		loop_fail(d->c, "asynchronous event %#x, or of another object", ev.event_number);
}

void foe_expect_alive(struct foe *f, const char *what)
{
	DAT_EVENT ev;

	if (duo_ok(f->d) && dat_evd_dequeue(f->d->run->async_evd, &ev) == DAT_SUCCESS)
		loop_fail(f->d->c, "%s: asynchronous event %#x", what, ev.event_number);
}
