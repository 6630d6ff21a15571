// SPDX-License-Identifier: GPL-2.0
/*
 * Reserved service points in the loopback test: connection requests, answered or not, and
 * the state of the reserved EP meanwhile. Process context, in the work item.
 */
#include <linux/string.h>

#include "sp.h"

static void expect_cr_ep(struct pair *d, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep)
{
	DAT_CR_PARAM param = {};

	sp_ok(d, "dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	if (param.local_ep_handle != ep)
		loop_fail(d->c, "request: expected the EP of its RSP, got another");
}

/* A request is accepted; a second caller is refused; the qualifier is free at once */
static void rsp_accept_script(struct pair *d, struct pair_evd *evd)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0], *a2 = &d->a[1], *b2 = &d->b[1];
	DAT_CONN_QUAL qual = sp_qual(d, 0);
	DAT_RSP_HANDLE rsp, second;
	DAT_CR_HANDLE cr;

	pair_recv1(b, 2048, 64, 20, 0);
	rsp = sp_reserve(b, evd, qual);
	if (!pair_ok(d) || !pair_call_at(a, qual, NULL, 0))
		return;
	cr = pair_request(d, evd, rsp, qual);
	sp_expect_held(b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	expect_cr_ep(d, cr, b->ep);
	if (pair_ok(d) && pair_call_at(a2, qual, NULL, 0))
		pair_conn(a2, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	pair_reset(a2);
	second = sp_reserve(b2, evd, qual);
	loop_expect(d->c, "dat_cr_accept with an EP for an RSP", dat_cr_accept(cr, b->ep, 0, NULL),
		    DAT_INVALID_HANDLE);
	sp_answer(a, b, cr, DAT_HANDLE_NULL);
	sp_talk(a, b, true);
	if (pair_ok(d) && pair_call_at(a2, qual, NULL, 0))
		sp_answer(a2, b2, pair_request(d, evd, second, qual), DAT_HANDLE_NULL);
	sp_talk(a2, b2, false);
	sp_free_rsp(d, rsp);
	sp_free_rsp(d, second);
	pair_disconnect(a, b);
	pair_disconnect(b2, a2);
}

/* A reject releases the EP, with its receives, for the next RSP and for a connect */
static void rsp_reject_script(struct pair *d, struct pair_evd *evd)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_CONN_QUAL qual = sp_qual(d, 0);
	DAT_RSP_HANDLE rsp;
	const u8 *data;
	DAT_COUNT len;
	u32 i;

	pair_recv1(b, 2048, 64, 20, 0);
	for (i = 0; i < 3 && pair_ok(d); i++) {
		rsp = sp_reserve(b, evd, qual);
		if (!pair_ok(d) || !pair_call_at(a, qual, NULL, 0))
			return;
		sp_ok(d, "dat_cr_reject",
		      dat_cr_reject(pair_request(d, evd, rsp, qual), 4, "nono"));
		pair_expect_state(b, DAT_EP_STATE_UNCONNECTED);
		len = pair_conn_data(a, DAT_CONNECTION_EVENT_PEER_REJECTED, &data);
		if (pair_ok(d) && (len != REJECT_DATA || memcmp(data, "nono", 4)))
			loop_fail(d->c, "reject: %d bytes, expected %d with the version word",
				  len, REJECT_DATA);
		pair_reset(a);
		sp_free_rsp(d, rsp);
	}
	rsp = sp_reserve(b, evd, qual);
	if (pair_ok(d) && pair_call_at(a, qual, NULL, 0))
		sp_answer(a, b, pair_request(d, evd, rsp, qual), DAT_HANDLE_NULL);
	sp_free_rsp(d, rsp);
	sp_talk(a, b, true);
	pair_disconnect(a, b);
}

static bool give_up(struct pair *d, struct pair_evd *evd, DAT_RSP_HANDLE rsp, DAT_CONN_QUAL qual,
		    DAT_CR_HANDLE *cr)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];

	if (!pair_ok(d) || !pair_call_at(a, qual, NULL, 0))
		return false;
	*cr = pair_request(d, evd, rsp, qual);
	sp_ok(d, "dat_ep_disconnect", dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_conn(a, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_reset(a);
	/* Time for the event to arrive; if it comes later the result is the same */
	pair_settle(d, 100);
	sp_expect_held(b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	return pair_ok(d);
}

/* The caller withdraws before the answer: a reject succeeds, an accept ends in an error */
static void rsp_withdrawn_script(struct pair *d, struct pair_evd *evd)
{
	struct pair_end *b = &d->b[0];
	DAT_CONN_QUAL qual = sp_qual(d, 0);
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	pair_recv1(b, 2048, 64, 20, 0);
	rsp = sp_reserve(b, evd, qual);
	if (!give_up(d, evd, rsp, qual, &cr))
		return;
	sp_ok(d, "dat_cr_reject", dat_cr_reject(cr, 0, NULL));
	pair_expect_state(b, DAT_EP_STATE_UNCONNECTED);
	sp_free_rsp(d, rsp);
	rsp = sp_reserve(b, evd, qual);
	if (!give_up(d, evd, rsp, qual, &cr))
		return;
	sp_ok(d, "dat_cr_accept", dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	pair_conn(b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	pair_dto(b, DAT_DTO_RECEIVE, 20, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	sp_free_rsp(d, rsp);
	pair_reset(b);
}

/* Freed before any request: the qualifier has no listener, and the EP may connect */
static void rsp_unused_script(struct pair *d, struct pair_evd *evd)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_CONN_QUAL qual = sp_qual(d, 0);
	DAT_RSP_HANDLE rsp;

	pair_recv1(b, 2048, 64, 20, 0);
	rsp = sp_reserve(b, evd, qual);
	sp_free_rsp(d, rsp);
	pair_expect_state(b, DAT_EP_STATE_UNCONNECTED);
	if (pair_ok(d) && pair_call_at(a, qual, NULL, 0))
		pair_conn(a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	pair_reset(a);
	rsp = sp_reserve(a, evd, qual);
	if (pair_ok(d) && pair_call_at(b, qual, NULL, 0))
		sp_answer(b, a, pair_request(d, evd, rsp, qual), DAT_HANDLE_NULL);
	sp_free_rsp(d, rsp);
	sp_talk(a, b, true);
	pair_disconnect(b, a);
}

/**
 * loop_case_rsp - reserved service points
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_rsp(struct loop_run *run, struct loop_case *c)
{
	int err;

	err = sp_play(run, c, 2, rsp_accept_script);
	if (!err && !c->verdict.failures)
		err = sp_play(run, c, 1, rsp_reject_script);
	if (!err && !c->verdict.failures)
		err = sp_play(run, c, 1, rsp_withdrawn_script);
	if (!err && !c->verdict.failures)
		err = sp_play(run, c, 1, rsp_unused_script);
	loop_clauses(c, "C-03 C-07 C-08 C-09 C-10 C-11 C-12 C-15");
	loop_clauses(c, "C-16 C-18 C-19 C-20 R-23");
	return err;
}
