// SPDX-License-Identifier: GPL-2.0
/*
 * The helpers shared by the service point scripts, see sp.h. Process context, in the work
 * item.
 */
#include "sp.h"

bool sp_ok(struct pair *d, const char *what, DAT_RETURN ret)
{
	return loop_expect(d->c, what, ret, DAT_SUCCESS);
}

/* Far enough from the run's own qualifier, which may be any of sixteen */
DAT_CONN_QUAL sp_qual(struct pair *d, u32 i)
{
	return d->run->qual + 100 + i;
}

bool pair_call_at(struct pair_end *e, DAT_CONN_QUAL qual, const void *data, DAT_COUNT len)
{
	return sp_ok(e->pair, "dat_ep_connect",
		     dat_ep_connect(e->ep, e->pair->run->t.attr.ia_address_ptr, qual,
				    PAIR_CONNECT_MS * test_stretch() * 1000U, len,
				    (DAT_PVOID)data, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG));
}

DAT_CR_HANDLE pair_request(struct pair *d, struct pair_evd *evd, DAT_HANDLE sp, DAT_CONN_QUAL qual)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_EVENT ev;

	if (!pair_ok(d) || !pair_next(d, evd, PAIR_ANY_UPCALL, "connection request", &ev))
		return DAT_HANDLE_NULL;
	data = &ev.event_data.cr_arrival_event_data;
	if (ev.event_number != DAT_CONNECTION_REQUEST_EVENT || ev.evd_handle != evd->handle ||
	    data->sp_handle.psp_handle != sp || data->conn_qual != qual ||
	    data->truncate_flag != DAT_FALSE)
		loop_fail(d->c, "event %#x for qualifier %#llx, expected a request for %#llx",
			  ev.event_number, data->conn_qual, qual);
	if (data->local_ia_address_ptr->sa_family != d->run->t.attr.ia_address_ptr->sa_family)
		loop_fail(d->c, "request: expected the address that was connected to, got another");
	return pair_ok(d) ? data->cr_handle : DAT_HANDLE_NULL;
}

void pair_reset(struct pair_end *e)
{
	if (!pair_ok(e->pair))
		return;
	pair_expect_state(e, DAT_EP_STATE_DISCONNECTED);
	sp_ok(e->pair, "dat_ep_reset", dat_ep_reset(e->ep));
}

void pair_disconnect(struct pair_end *e, struct pair_end *other)
{
	if (!pair_ok(e->pair) ||
	    !sp_ok(e->pair, "dat_ep_disconnect",
		   dat_ep_disconnect(e->ep, DAT_CLOSE_ABRUPT_FLAG)))
		return;
	pair_conn(e, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_ended(other, false);
	pair_reset(e);
	pair_reset(other);
}

/* Sends one message each way; if @posted, the receives are already posted */
void sp_talk(struct pair_end *a, struct pair_end *b, bool posted)
{
	pair_fill(a, 0, 64, 1);
	pair_fill(b, 1024, 64, 2);
	if (!posted)
		pair_recv1(b, 2048, 64, 20, 0);
	pair_recv1(a, 2048, 64, 10, 0);
	pair_send1(a, 0, 64, 11, 0);
	pair_send1(b, 1024, 64, 21, 0);
	pair_dto(a, DAT_DTO_SEND, 11, DAT_DTO_SUCCESS, 64, PAIR_UPCALL);
	pair_dto(b, DAT_DTO_SEND, 21, DAT_DTO_SUCCESS, 64, PAIR_UPCALL);
	pair_dto(b, DAT_DTO_RECEIVE, 20, DAT_DTO_SUCCESS, 64, PAIR_UPCALL);
	pair_dto(a, DAT_DTO_RECEIVE, 10, DAT_DTO_SUCCESS, 64, PAIR_UPCALL);
	pair_expect_bytes(b, "a message", 2048, 64, 1);
	pair_expect_bytes(a, "a message", 2048, 64, 2);
}

/* Accepts and waits for ESTABLISHED; @ep NULL: the request has an EP */
void sp_answer(struct pair_end *a, struct pair_end *b, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep)
{
	if (!pair_ok(a->pair) ||
	    !sp_ok(a->pair, "dat_cr_accept", dat_cr_accept(cr, ep, 0, NULL)))
		return;
	pair_conn(a, DAT_CONNECTION_EVENT_ESTABLISHED);
	pair_conn(b, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Runs a script on unconnected ends, with an EVD for requests */
int sp_play(struct loop_run *run, struct loop_case *c, u32 pairs,
	    void (*script)(struct pair *d, struct pair_evd *evd))
{
	struct pair_cfg cfg = { .pairs = pairs };
	struct pair *d = pair_make(run, c, &cfg);
	struct pair_evd evd;

	if (!d)
		return -EIO;
	if (pair_cr_evd(d, &evd, 4))
		script(d, &evd);
	if (!d->c->verdict.failures)
		pair_expect_no_event(d, "after the script");
	/* A failed script may have left service points, which the close of the IA reports */
	if (!d->c->verdict.failures)
		pair_free_evd(d, &evd);
	pair_end(d);
	return READ_ONCE(run->abort) ? -EINTR : 0;
}

/* The calls that an EP held by a service point refuses (C-09) */
void sp_expect_held(struct pair_end *e, DAT_EP_STATE state)
{
	struct loop_case *c = e->pair->c;

	pair_expect_state(e, state);
	loop_expect(c, "dat_ep_free of a held EP", dat_ep_free(e->ep), DAT_INVALID_STATE);
	loop_expect(c, "dat_ep_reset of a held EP", dat_ep_reset(e->ep), DAT_INVALID_STATE);
	loop_expect(c, "dat_ep_disconnect of a held EP",
		    dat_ep_disconnect(e->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE);
	pair_expect_state(e, state);
}

DAT_RSP_HANDLE sp_reserve(struct pair_end *e, struct pair_evd *evd, DAT_CONN_QUAL qual)
{
	struct pair *d = e->pair;
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;

	if (pair_ok(d) &&
	    sp_ok(d, "dat_rsp_create",
		  dat_rsp_create(d->run->t.ia, qual, e->ep, evd->handle, &rsp)))
		sp_expect_held(e, DAT_EP_STATE_RESERVED);
	return rsp;
}

void sp_free_rsp(struct pair *d, DAT_RSP_HANDLE rsp)
{
	if (rsp)
		sp_ok(d, "dat_rsp_free", dat_rsp_free(rsp));
}

DAT_PSP_HANDLE sp_listen(struct pair *d, struct pair_evd *evd, DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

	if (pair_ok(d))
		sp_ok(d, "dat_psp_create", dat_psp_create(d->run->t.ia, qual, evd->handle,
							  DAT_PSP_CONSUMER_FLAG, &psp));
	return psp;
}

void sp_free_psp(struct pair *d, DAT_PSP_HANDLE psp)
{
	if (psp)
		sp_ok(d, "dat_psp_free", dat_psp_free(psp));
}
