// SPDX-License-Identifier: GPL-2.0
/*
 * Peers of the loopback test that are not Consumers: plain rdma_cm ids which do not
 * answer, disappear, or reject in ways that no Consumer does. The cases also check which
 * events these peers receive. flood.c has peers that send too many requests. Scripts run
 * in process context, in the work item; the rdma_cm callbacks only record the event.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "cm_peer.h"

#define SILENCE_MS	30000	/* C-51, before the module's stretch factor */
#define SILENCE_LATE_MS	200	/* tolerance where the clock is exact */

/* ---- silence --------------------------------------------------------------------- */

/* Accepts; the plain CM id has received the answer and must now complete the connection */
static bool call_and_accept(struct pair *d, struct pair_evd *evd, DAT_PSP_HANDLE psp,
			    struct cm_peer *cm_peer)
{
	struct pair_end *b = &d->b[1];

	pair_recv1(b, 2048, 64, 20, 0);
	if (!pair_ok(d) || !cm_peer_call(d, cm_peer, sp_qual(d, 0), NULL))
		return false;
	sp_ok(d, "dat_cr_accept",
	      dat_cr_accept(pair_request(d, evd, psp, sp_qual(d, 0)), b->ep, 0, NULL));
	if (!cm_peer_wait(cm_peer))
		return false;
	if (cm_peer->event != RDMA_CM_EVENT_CONNECT_RESPONSE)
		loop_fail(d->c, "a plain CM id: event %d, status %d, expected the answer",
			  cm_peer->event, cm_peer->status);
	pair_expect_state(b, DAT_EP_STATE_COMPLETION_PENDING);
	return pair_ok(d);
}

/* The peer disappears between the accept and its RTU */
static void peer_death_script(struct pair *d, struct pair_evd *evd)
{
	DAT_PSP_HANDLE psp = sp_listen(d, evd, sp_qual(d, 0));
	struct cm_peer cm_peer = {};

	if (call_and_accept(d, evd, psp, &cm_peer)) {
		cm_peer_end(&cm_peer);
		pair_conn(&d->b[1], DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		pair_dto(&d->b[1], DAT_DTO_RECEIVE, 20, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
		pair_reset(&d->b[1]);
	}
	cm_peer_end(&cm_peer);
	sp_free_psp(d, psp);
}

/* The other pair transfers messages for half of the timeout; returns how many */
static u32 talk_on(struct pair *d, unsigned long start)
{
	unsigned long end = start + msecs_to_jiffies(SILENCE_MS / 2);
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	u32 talks;

	for (talks = 0; time_before(jiffies, end); talks++) {
		if (!pair_ok(d) || !pair_call(d, 0, PAIR_CONNECT_MS * test_stretch() * 1000U))
			break;
		sp_answer(a, b, pair_called(d), b->ep);
		sp_talk(a, b, false);
		pair_disconnect(a, b);
		pair_expect_state(&d->b[1], DAT_EP_STATE_COMPLETION_PENDING);
		pair_settle(d, 500);
	}
	return talks;
}

/* The peer stays and never sends its RTU */
static void silent_script(struct pair *d, struct pair_evd *evd)
{
	DAT_PSP_HANDLE psp = sp_listen(d, evd, sp_qual(d, 0));
	unsigned long start = jiffies;
	struct cm_peer cm_peer = {};
	u32 ms, talks;

	if (call_and_accept(d, evd, psp, &cm_peer)) {
		talks = talk_on(d, start);
		pair_conn(&d->b[1], DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		ms = jiffies_to_msecs(jiffies - start);
		if (pair_ok(d) && (!talks || (loop_exact && ms > SILENCE_MS + SILENCE_LATE_MS)))
			loop_fail(d->c, "silent peer: error after %u ms, others did %u transfers",
				  ms, talks);
		pair_dto(&d->b[1], DAT_DTO_RECEIVE, 20, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
		pair_reset(&d->b[1]);
	}
	cm_peer_end(&cm_peer);
	sp_free_psp(d, psp);
}

/**
 * loop_case_peer_death - a peer that disappears before the connection is established
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_peer_death(struct loop_run *run, struct loop_case *c)
{
	int err = sp_play(run, c, 2, peer_death_script);

	loop_clauses(c, "C-16 C-54");
	return err;
}

/**
 * loop_case_silent - an accepted peer that never sends its RTU
 * @run: the run
 * @c: the case
 *
 * Takes half a minute if kdapl.ko was loaded with stretch=1.
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_silent(struct loop_run *run, struct loop_case *c)
{
	int err = sp_play(run, c, 2, silent_script);

	loop_clauses(c, "C-16 C-51 C-54");
	return err;
}

/* ---- rejects that no Consumer sends ---------------------------------------------- */

/* What a listener answers to a connection request */
struct cm_peer_answer {
	const char *what;
	u8 reason;			/* 0: the id is destroyed without a reject */
	u8 data[8];
	DAT_EVENT_NUMBER outcome;
};

static const struct cm_peer_answer cm_peer_answer[] = {
	/* A user-space Provider of the same version sends this reject */
	{ "its prefix", IB_CM_REJ_CONSUMER_DEFINED, { 2, 0, 2, 0, 'd', 'a', 't', 'a' },
	  DAT_CONNECTION_EVENT_PEER_REJECTED },
	{ "an older Provider's prefix", IB_CM_REJ_CONSUMER_DEFINED,
	  { 2, 0, 1, 2, 'd', 'a', 't', 'a' }, DAT_CONNECTION_EVENT_PEER_REJECTED },
	{ "zeroes", IB_CM_REJ_CONSUMER_DEFINED, {}, DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
	{ "other data", IB_CM_REJ_CONSUMER_DEFINED, { 1, 0, 2, 0, 'd', 'a', 't', 'a' },
	  DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
	{ "no room", IB_CM_REJ_NO_RESOURCES, { 2, 0, 2, 0, 'd', 'a', 't', 'a' },
	  DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
	{ "no such service", IB_CM_REJ_INVALID_SERVICE_ID, {},
	  DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
	{ "nothing said", 0, {}, DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
};

/* Callback of a plain CM listener: rejects at once and lets the core destroy the id */
static int listener_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct cm_peer_answer *say = id->context;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (say->reason)
		rdma_reject(id, say->data, sizeof(say->data), say->reason);
	return -ECONNREFUSED;
}

static void rejects_script(struct pair *d, struct pair_evd *evd)
{
	struct pair_end *a = &d->a[0];
	struct rdma_cm_id *id;
	const u8 *data;
	DAT_COUNT len;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cm_peer_answer) && pair_ok(d); i++) {
		const struct cm_peer_answer *say = &cm_peer_answer[i];
		bool peer = say->outcome == DAT_CONNECTION_EVENT_PEER_REJECTED;

		pair_recv1(a, 64, 64, 1, 0);
		id = cm_peer_listen(d, listener_handler, (void *)say, sp_qual(d, 0));
		if (!id || !pair_call_at(a, sp_qual(d, 0), NULL, 0))
			return;
		len = pair_conn_data(a, say->outcome, &data);
		if (pair_ok(d) && len != (peer ? REJECT_DATA : 0))
			loop_fail(d->c, "%s: unexpected length of the private data, %d bytes",
				  say->what, len);
		if (pair_ok(d) && peer && memcmp(data, "data", 4))
			loop_fail(d->c, "%s: data %*ph", say->what, 4, data);
		if (!pair_ok(d))
			loop_fail(d->c, "that was: %s", say->what);
		rdma_destroy_id(id);
		pair_dto(a, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
		pair_reset(a);
	}
}

/**
 * loop_case_rejects - rejects by Consumers and by others
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_rejects(struct loop_run *run, struct loop_case *c)
{
	int err = sp_play(run, c, 1, rejects_script);

	loop_clauses(c, "C-19 C-20 C-40");
	return err;
}
