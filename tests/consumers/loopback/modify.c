// SPDX-License-Identifier: GPL-2.0
/*
 * Scripted cases of the loopback test: endpoints with modified parameters, and
 * connections made with dat_ep_dup_connect(). Filling the queues shows that they have the
 * requested depth, and transfers show that they work. Process context, in the work item
 * of the run.
 */
#include <linux/string.h>

#include "conn_pair.h"

#define SEG		128	/* bytes of a receive */
#define MSG		100	/* bytes of a message into it */
#define RECVS		4096	/* offset of the receives; messages are sent from below */
#define CONNECT_US	20000000U

static void is(struct pair *d, const char *what, DAT_RETURN ret, u32 type)
{
	loop_expect(d->c, what, ret, type);
}

static DAT_RETURN modify_depths(struct pair_end *e, DAT_COUNT recv, DAT_COUNT request)
{
	DAT_EP_PARAM param = {
		.ep_attr.max_recv_dtos = recv,
		.ep_attr.max_request_dtos = request,
	};

	return dat_ep_modify(e->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

/* Posts @n receives; @full: there must be no room for more */
static void fill_recvs(struct pair_end *e, u32 n, bool full)
{
	DAT_LMR_TRIPLET seg = pair_seg(e, 0, SEG);
	DAT_DTO_COOKIE cookie = {};
	u32 i;

	pair_clear(e);
	for (i = 0; i < n; i++)
		pair_recv1(e, RECVS + i * SEG, SEG, 100 + i, 0);
	if (full)
		is(e->pair, "dat_ep_post_recv on a full queue",
		   dat_ep_post_recv(e->ep, 1, &seg, cookie, 0), DAT_INSUFFICIENT_RESOURCES);
}

/* Transfers @n messages; an event not yet dequeued keeps its entry in the queue */
static void exchange(struct pair_end *from, struct pair_end *to, u32 n, bool full, u8 seed)
{
	DAT_LMR_TRIPLET seg = pair_seg(from, 0, MSG);
	DAT_DTO_COOKIE cookie = {};
	u32 i;

	for (i = 0; i < n; i++) {
		pair_fill(from, i * SEG, MSG, seed + i);
		pair_send1(from, i * SEG, MSG, 200 + i, 0);
	}
	if (full)
		is(from->pair, "dat_ep_post_send on a full queue",
		   dat_ep_post_send(from->ep, 1, &seg, cookie, 0), DAT_INSUFFICIENT_RESOURCES);
	for (i = 0; i < n && pair_ok(from->pair); i++) {
		pair_dto(to, DAT_DTO_RECEIVE, 100 + i, DAT_DTO_SUCCESS, MSG, PAIR_ANY_UPCALL);
		pair_dto(from, DAT_DTO_SEND, 200 + i, DAT_DTO_SUCCESS, MSG, PAIR_ANY_UPCALL);
		pair_expect_bytes(to, "a message", RECVS + i * SEG, MSG, seed + i);
		pair_expect_free(to, "after a message", RECVS + i * SEG + MSG, SEG - MSG);
	}
}

/* Connects @from; @e accepts the request */
static void answer(struct pair *d, struct pair_end *from, struct pair_end *e)
{
	DAT_CR_HANDLE cr = pair_called(d);

	if (!cr)
		return;
	is(d, "dat_cr_accept", dat_cr_accept(cr, e->ep, 0, NULL), DAT_SUCCESS);
	pair_conn(from, DAT_CONNECTION_EVENT_ESTABLISHED);
	pair_conn(e, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void connect_pair(struct pair *d, u32 pair)
{
	if (pair_ok(d) && pair_call(d, pair, CONNECT_US))
		answer(d, &d->a[pair], &d->b[pair]);
}

static void disconnect_pair(struct pair *d, u32 pair)
{
	if (!pair_ok(d))
		return;
	is(d, "dat_ep_disconnect", dat_ep_disconnect(d->a[pair].ep, DAT_CLOSE_ABRUPT_FLAG),
	   DAT_SUCCESS);
	pair_ended(&d->a[pair], false);
	pair_ended(&d->b[pair], false);
}

static void reset_pair(struct pair *d, u32 pair)
{
	is(d, "dat_ep_reset", dat_ep_reset(d->a[pair].ep), DAT_SUCCESS);
	is(d, "dat_ep_reset", dat_ep_reset(d->b[pair].ep), DAT_SUCCESS);
}

/* ---- an endpoint that is configured later --------------------------------------- */

/* Replaces the EP of the pair by one without zone and EVDs, with the same attributes */
static bool make_vpeer(struct pair_end *e)
{
	struct pair *d = e->pair;
	DAT_EP_PARAM param = {};
	DAT_RETURN ret;

	is(d, "dat_ep_query", dat_ep_query(e->ep, DAT_EP_FIELD_EP_ATTR_ALL, &param), DAT_SUCCESS);
	param.ep_attr.ep_provider_specific_count = 0;
	is(d, "dat_ep_free", dat_ep_free(e->ep), DAT_SUCCESS);
	e->ep = DAT_HANDLE_NULL;
	ret = dat_ep_create(d->run->t.ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			    e->conn.handle, &param.ep_attr, &e->ep);
	return loop_expect(d->c, "dat_ep_create", ret, DAT_SUCCESS);
}

/* Every call that needs a queue or a connection must fail */
static void vpeer_refuses(struct pair_end *e)
{
	struct loop_run *run = e->pair->run;
	DAT_LMR_TRIPLET seg = pair_seg(e, 0, SEG);
	DAT_DTO_COOKIE cookie = {};
	struct pair *d = e->pair;

	is(d, "dat_ep_post_recv, unconfigured", dat_ep_post_recv(e->ep, 1, &seg, cookie, 0),
	   DAT_INVALID_STATE);
	is(d, "dat_ep_post_send, unconfigured", dat_ep_post_send(e->ep, 1, &seg, cookie, 0),
	   DAT_INVALID_STATE);
	is(d, "dat_ep_connect, unconfigured",
	   dat_ep_connect(e->ep, run->t.attr.ia_address_ptr, run->qual, CONNECT_US, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), DAT_INVALID_STATE);
	is(d, "dat_ep_disconnect, unconfigured",
	   dat_ep_disconnect(e->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE);
	is(d, "dat_ep_reset, unconfigured", dat_ep_reset(e->ep), DAT_INVALID_STATE);
	pair_expect_state(e, DAT_EP_STATE_UNCONFIGURED_UNCONNECTED);
}

/* A pending request cannot be accepted by an EP that is unconfigured or DISCONNECTED */
static void request_is_not_for(struct pair *d, struct pair_end *vpeer)
{
	struct pair_end *a = &d->a[1], *b = &d->b[1];
	DAT_CR_HANDLE cr;

	if (!pair_ok(d) || !pair_call(d, 1, CONNECT_US))
		return;
	cr = pair_called(d);
	if (!cr)
		return;
	is(d, "dat_cr_accept, unconfigured", dat_cr_accept(cr, vpeer->ep, 0, NULL),
	   DAT_INVALID_HANDLE);
	is(d, "dat_cr_accept", dat_cr_accept(cr, b->ep, 0, NULL), DAT_SUCCESS);
	pair_conn(a, DAT_CONNECTION_EVENT_ESTABLISHED);
	pair_conn(b, DAT_CONNECTION_EVENT_ESTABLISHED);
	disconnect_pair(d, 1);
	is(d, "dat_ep_connect, DISCONNECTED",
	   dat_ep_connect(a->ep, d->run->t.attr.ia_address_ptr, d->run->qual, CONNECT_US, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), DAT_INVALID_STATE);
	is(d, "dat_ep_reset", dat_ep_reset(a->ep), DAT_SUCCESS);
	if (!pair_ok(d) || !pair_call(d, 1, CONNECT_US))
		return;
	cr = pair_called(d);
	if (!cr)
		return;
	is(d, "dat_cr_accept, DISCONNECTED", dat_cr_accept(cr, b->ep, 0, NULL),
	   DAT_INVALID_STATE);
	pair_expect_state(b, DAT_EP_STATE_DISCONNECTED);
	is(d, "dat_cr_reject", dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	pair_conn(a, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static void complete_it(struct pair_end *e)
{
	DAT_EP_PARAM param = {
		.pz_handle = e->pz,
		.recv_evd_handle = e->recv.handle,
		.request_evd_handle = e->req.handle,
		.ep_attr.max_recv_dtos = 3,
		.ep_attr.max_request_dtos = 5,
	};

	is(e->pair, "dat_ep_modify", dat_ep_modify(e->ep, DAT_EP_FIELD_PZ_HANDLE |
						   DAT_EP_FIELD_RECV_EVD_HANDLE, &param),
	   DAT_SUCCESS);
	vpeer_refuses(e);
	is(e->pair, "dat_ep_modify", dat_ep_modify(e->ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE |
						   DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
						   DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param),
	   DAT_SUCCESS);
	pair_expect_state(e, DAT_EP_STATE_UNCONNECTED);
}

/* Refused while a receive is posted, while connected, and after the disconnect */
static void modify_refuses(struct pair_end *e, const char *when)
{
	is(e->pair, when, modify_depths(e, 7, 7), DAT_INVALID_STATE);
}

static void modify_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];

	if (!make_vpeer(a))
		return;
	vpeer_refuses(a);
	request_is_not_for(d, a);
	complete_it(a);
	is(d, "dat_ep_modify", modify_depths(b, 5, 3), DAT_SUCCESS);
	fill_recvs(a, 3, true);
	fill_recvs(b, 5, true);
	modify_refuses(a, "dat_ep_modify with a pending receive");
	connect_pair(d, 0);
	exchange(a, b, 5, true, 1);
	exchange(b, a, 3, true, 51);
	modify_refuses(a, "dat_ep_modify, connected");
	disconnect_pair(d, 0);
	modify_refuses(a, "dat_ep_modify, DISCONNECTED");
	/* Once more in the opposite direction, with queues of other sizes */
	reset_pair(d, 0);
	is(d, "dat_ep_modify", modify_depths(a, 20, 2), DAT_SUCCESS);
	is(d, "dat_ep_modify", modify_depths(b, 2, 20), DAT_SUCCESS);
	fill_recvs(a, 20, true);
	fill_recvs(b, 2, true);
	connect_pair(d, 0);
	exchange(b, a, 20, true, 101);
	exchange(a, b, 2, true, 151);
	disconnect_pair(d, 0);
	pair_expect_no_event(d, "endpoints of other depths");
}

static int play(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg,
		void (*script)(struct pair *d))
{
	struct pair *d = pair_make(run, c, cfg);

	if (!d)
		return -EIO;
	script(d);
	pair_end(d);
	return READ_ONCE(run->abort) ? -EINTR : 0;
}

/**
 * loop_case_modify - endpoints with other depths, and one configured later
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_modify(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = { .pairs = 2 };

	loop_clauses(c, "C-32 C-34 C-37 C-38 C-39 G-25");
	return play(run, c, &cfg, modify_script);
}

/* ---- dat_ep_dup_connect -------------------------------------------------------- */

static void dup_connect(struct pair_end *e, struct pair_end *like)
{
	u64 hello = LOOP_HELLO;

	is(e->pair, "dat_ep_dup_connect",
	   dat_ep_dup_connect(e->ep, like->ep, CONNECT_US, sizeof(hello), &hello,
			      DAT_QOS_BEST_EFFORT), DAT_SUCCESS);
}

static void dup_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0], *a2 = &d->a[1], *b2 = &d->b[1];

	is(d, "dat_ep_dup_connect of none",
	   dat_ep_dup_connect(a2->ep, a->ep, CONNECT_US, 0, NULL, DAT_QOS_BEST_EFFORT),
	   DAT_INVALID_STATE);
	connect_pair(d, 0);
	is(d, "dat_ep_dup_connect of one that accepted",
	   dat_ep_dup_connect(a2->ep, b->ep, CONNECT_US, 0, NULL, DAT_QOS_BEST_EFFORT),
	   DAT_INVALID_PARAMETER);
	fill_recvs(b2, 4, false);
	dup_connect(a2, a);
	if (pair_ok(d))
		answer(d, a2, b2);
	exchange(a2, b2, 4, false, 1);
	/* The first connection is not affected */
	fill_recvs(b, 4, false);
	exchange(a, b, 4, false, 31);
	/* And back to the peer of A2, whose address A2 has only from dat_ep_dup_connect() */
	disconnect_pair(d, 0);
	reset_pair(d, 0);
	fill_recvs(b, 4, false);
	dup_connect(a, a2);
	if (pair_ok(d))
		answer(d, a, b);
	exchange(a, b, 4, false, 61);
	disconnect_pair(d, 0);
	disconnect_pair(d, 1);
	pair_expect_no_event(d, "connections to the same place");
}

/**
 * loop_case_dup - connections to the peer of another endpoint
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_dup(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = { .pairs = 2 };

	return play(run, c, &cfg, dup_script);
}
