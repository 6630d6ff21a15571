// SPDX-License-Identifier: GPL-2.0
/*
 * Floods of connection requests in the loopback test. Plain rdma_cm ids send more
 * requests than a service point can queue, while requests to its neighbours and data
 * transfers of others must work. The cases also check which events the callers receive.
 * Scripts run in process context, in the work item; the rdma_cm callbacks only record the
 * event.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "adversary.h"
#include "cm_peer.h"

#define CROWD		64	/* requests of a flood */
#define SHARE		4	/* requests that may be pending on an EVD with one service point */

/* Refused because the queue was full: the reason is not that of a Consumer's reject */
static void cm_peer_expect_refused(struct cm_peer *r, const char *what)
{
	if (!cm_peer_wait(r))
		return;
	if (r->event != RDMA_CM_EVENT_REJECTED || r->status != IB_CM_REJ_NO_RESOURCES)
		loop_fail(r->d->c, "%s: event %d, status %d, expected a reject, reason %d", what,
			  r->event, r->status, IB_CM_REJ_NO_RESOURCES);
}

/* ---- a flood ------------------------------------------------------------------- */

static u32 count_ended(struct cm_peer *crowd)
{
	u32 i, n = 0;

	for (i = 0; i < CROWD; i++)
		n += cm_peer_notified(&crowd[i]);
	return n;
}

/* The maximum number of requests is pending, and the others were refused */
static void expect_flooded(struct pair *d, struct cm_peer *crowd, u32 waiting)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);
	u32 i;

	while (pair_ok(d) && count_ended(crowd) < CROWD - waiting) {
		if (time_after(jiffies, deadline))
			loop_fail(d->c, "%u of %u requests are refused, expected %u",
				  count_ended(crowd), CROWD, CROWD - waiting);
		wait_for_completion_timeout(&d->run->wake, 1);
	}
	pair_settle(d, 100);
	if (pair_ok(d) && count_ended(crowd) != CROWD - waiting)
		loop_fail(d->c, "%u of %u requests wait, expected %u", CROWD - count_ended(crowd),
			  CROWD, waiting);
	for (i = 0; i < CROWD && pair_ok(d); i++)
		if (crowd[i].ended)
			cm_peer_expect_refused(&crowd[i], "beyond the share");
}

/* A reject by a Consumer as the peer sees it: reason 28, four bytes of version, the data */
static void expect_rejected(struct pair *d, struct cm_peer *crowd, const char *data)
{
	static const u8 prefix[] = { 2, 0, 2, 0 };
	u32 i, n = 0;

	for (i = 0; i < CROWD && pair_ok(d); i++) {
		struct cm_peer *r = &crowd[i];

		if (!r->id || !cm_peer_wait(r) || r->status != IB_CM_REJ_CONSUMER_DEFINED)
			continue;
		n++;
		if (r->len < 8 || memcmp(r->data, prefix, 4) || memcmp(r->data + 4, data, 4))
			loop_fail(d->c, "a reject of %u bytes: %*ph", r->len, 8, r->data);
	}
	if (pair_ok(d) && n != 2)
		loop_fail(d->c, "%u rejects have the Consumer's reason, expected 2", n);
}

static void flood_script(struct pair *d, struct pair_evd *evd)
{
	DAT_PSP_HANDLE flooded = sp_listen(d, evd, sp_qual(d, 0));
	DAT_PSP_HANDLE calm = sp_listen(d, evd, sp_qual(d, 1));
	struct cm_peer *crowd = kvcalloc(CROWD, sizeof(*crowd), GFP_KERNEL);
	u32 i;

	for (i = 0; crowd && i < CROWD && pair_ok(d); i++)
		cm_peer_call(d, &crowd[i], sp_qual(d, 0), NULL);
	if (crowd)
		/* Two service points share an EVD of four entries */
		expect_flooded(d, crowd, 2);
	/* A second service point on the same EVD, and another on a different EVD */
	if (crowd && pair_ok(d) && pair_call_at(&d->a[0], sp_qual(d, 1), NULL, 0)) {
		for (i = 0; i < 2 && pair_ok(d); i++)
			sp_ok(d, "dat_cr_reject",
			      dat_cr_reject(pair_request(d, evd, flooded, sp_qual(d, 0)), 4,
					    "full"));
		sp_answer(&d->a[0], &d->b[0], pair_request(d, evd, calm, sp_qual(d, 1)),
			  d->b[0].ep);
		sp_talk(&d->a[0], &d->b[0], false);
		if (pair_ok(d) && pair_call(d, 1, PAIR_CONNECT_MS * test_stretch() * 1000U))
			sp_answer(&d->a[1], &d->b[1], pair_called(d), d->b[1].ep);
		sp_talk(&d->a[1], &d->b[1], false);
		expect_rejected(d, crowd, "full");
	}
	for (i = 0; crowd && i < CROWD; i++)
		cm_peer_end(&crowd[i]);
	kvfree(crowd);
	/* There is room again for the next request */
	pair_disconnect(&d->a[0], &d->b[0]);
	if (pair_ok(d) && pair_call_at(&d->a[0], sp_qual(d, 0), NULL, 0)) {
		sp_answer(&d->a[0], &d->b[0], pair_request(d, evd, flooded, sp_qual(d, 0)),
			  d->b[0].ep);
		pair_disconnect(&d->a[0], &d->b[0]);
	}
	pair_disconnect(&d->a[1], &d->b[1]);
	sp_free_psp(d, flooded);
	sp_free_psp(d, calm);
}

/* An EVD is destroyed with requests pending: they are refused, not rejected */
static void undelivered_script(struct pair *d, struct pair_evd *evd)
{
	DAT_PSP_HANDLE psp = sp_listen(d, evd, sp_qual(d, 0));
	struct cm_peer cm_peer[2] = {};
	DAT_EVENT ev;
	u32 i;

	for (i = 0; i < 2 && pair_ok(d); i++)
		cm_peer_call(d, &cm_peer[i], sp_qual(d, 0), NULL);
	/* One is dequeued and not answered, the other is never dequeued */
	if (pair_ok(d) && pair_next(d, evd, PAIR_ANY_UPCALL, "connection request", &ev)) {
		pair_settle(d, 200);
		loop_expect(d->c, "dat_evd_free with a PSP", dat_evd_free(evd->handle),
			    DAT_INVALID_STATE);
		sp_free_psp(d, psp);
		pair_free_evd(d, evd);
		sp_ok(d, "dat_cr_reject",
		      dat_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
		for (i = 0; i < 2 && pair_ok(d); i++)
			cm_peer_wait(&cm_peer[i]);
		i = cm_peer[0].status == IB_CM_REJ_CONSUMER_DEFINED;
		cm_peer_expect_refused(&cm_peer[i], "a request on a freed EVD");
		if (pair_ok(d) && cm_peer[1 - i].status != IB_CM_REJ_CONSUMER_DEFINED)
			loop_fail(d->c, "the request that was seen: status %d",
				  cm_peer[1 - i].status);
	}
	cm_peer_end(&cm_peer[0]);
	cm_peer_end(&cm_peer[1]);
}

/**
 * loop_case_flood - more requests than can be pending
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_flood(struct loop_run *run, struct loop_case *c)
{
	int err;

	err = sp_play(run, c, 2, flood_script);
	if (!err && !c->verdict.failures)
		err = sp_play(run, c, 1, undelivered_script);
	loop_clauses(c, "C-49 C-54 E-22 E-45 E-46");
	return err;
}

/* ---- repeated floods ------------------------------------------------------------- */

/* Rejects the pending requests; afterwards every caller has received its event */
static void send_away(struct pair *d, struct pair_evd *evd, DAT_PSP_HANDLE psp,
		      struct cm_peer *crowd)
{
	u32 i, n = 0;

	for (i = 0; i < SHARE && pair_ok(d); i++)
		sp_ok(d, "dat_cr_reject",
		      dat_cr_reject(pair_request(d, evd, psp, sp_qual(d, 0)), 0, NULL));
	for (i = 0; i < CROWD && pair_ok(d); i++)
		n += cm_peer_wait(&crowd[i]) && crowd[i].status == IB_CM_REJ_CONSUMER_DEFINED;
	if (pair_ok(d) && n != SHARE)
		loop_fail(d->c, "%u rejects have the Consumer's reason, expected %u", n, SHARE);
}

/* A new service point each time: one that was flooded gets its room back a little later */
static void overrun(struct adv *f, struct cm_peer *crowd)
{
	struct pair *d = f->d;
	DAT_PSP_HANDLE psp;
	struct pair_evd evd;
	u32 i;

	if (!pair_cr_evd(d, &evd, SHARE))
		return;
	psp = sp_listen(d, &evd, sp_qual(d, 0));
	for (i = 0; i < CROWD && pair_ok(d); i++)
		cm_peer_call(d, &crowd[i], sp_qual(d, 0), NULL);
	/* With requests in flight, and with pending requests */
	adv_bystanders(f, "a flood");
	expect_flooded(d, crowd, SHARE);
	adv_bystanders(f, "after a flood");
	send_away(d, &evd, psp, crowd);
	for (i = 0; i < CROWD; i++)
		cm_peer_end(&crowd[i]);
	sp_free_psp(d, psp);
	pair_free_evd(d, &evd);
}

static void overrun_script(struct adv *f)
{
	struct cm_peer *crowd = kvcalloc(CROWD, sizeof(*crowd), GFP_KERNEL);
	u32 round;

	if (!crowd)
		loop_fail(f->d->c, "no crowd");
	for (round = 0; round < f->d->c->count && pair_ok(f->d); round++)
		overrun(f, crowd);
	adv_untouched(f, "floods");
	kvfree(crowd);
}

/**
 * loop_case_overrun - floods of requests while others transfer data
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_overrun(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, overrun_script);

	loop_clauses(c, "C-49 C-54 E-45");
	return err;
}
