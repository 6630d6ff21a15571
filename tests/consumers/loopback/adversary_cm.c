// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile cases about the connection manager: requests whose private data lacks a valid
 * rdma_cm header, requests and answers with parameters out of range, and answers that are
 * too long. Process context; the callbacks of the connection manager only record the
 * event.
 */
#include <linux/in.h>
#include <linux/ktime.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>

#include "adversary.h"
#include "cm_peer.h"

/* ---- private data ------------------------------------------------------------------ */

#define HEADER		36	/* bytes of rdma_cm's header before the Consumer's data */
#define FIELD		(HEADER + REQUEST_DATA)

/*
 * The header: version, IP version in the upper half of a byte, port, and two addresses of
 * 16 bytes each, where an IPv4 address is in the last four.
 */
#define IP_VERSION	1
#define SOURCE		16
#define DESTINATION	32

/* Offset in the field, number of bytes, and their value */
static const struct {
	const char *what;
	u32 at, n;
	u8 byte;
	u32 len;			/* 0: the whole field */
	bool taken;			/* the request is valid nevertheless */
} odd_data[] = {
	{ "as it should be", 0, 0, 0, 0, true },
	{ "all ones after the header", HEADER, REQUEST_DATA, 0xff, 0, true },
	{ "nothing after the header", HEADER, REQUEST_DATA, 0, HEADER, true },
	{ "another version", 0, 1, 1 },
	{ "version 255", 0, 1, 0xff },
	{ "IP version 0", IP_VERSION, 1, 0 },
	{ "IP version 6", IP_VERSION, 1, 0x60 },
	{ "IP version 15", IP_VERSION, 1, 0xf0 },
	{ "from nowhere", SOURCE, 4, 0 },
	{ "from everywhere", SOURCE, 4, 0xff },
	{ "from a group", SOURCE, 1, 224 },
	{ "to nowhere", DESTINATION, 4, 0 },
	{ "to somebody else", DESTINATION, 4, 77 },
	{ "all ones", 0, FIELD, 0xff },
	{ "all zeroes", 0, FIELD, 0 },
	{ "half a header", HEADER / 2, FIELD - HEADER / 2, 0, HEADER / 2 },
};

/* A request not written by rdma_cm, and its answer */
struct forged_request {
	struct completion answered;
	enum ib_cm_event_type event;
	int reason;
};

static int forged_handler(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct forged_request *r = id->context;

	r->event = event->event;
	r->reason = event->event == IB_CM_REJ_RECEIVED ? event->param.rej_rcvd.reason : 0;
	complete(&r->answered);
	return 0;
}

static u8 data_byte(u32 i)
{
	return i * 7 % 255 + 1;
}

static void write_field(struct pair *d, u8 *field, u32 i)
{
	const struct sockaddr_in *own = (struct sockaddr_in *)d->run->t.attr.ia_address_ptr;
	u32 k;

	memset(field, 0, FIELD);
	field[IP_VERSION] = 0x40;
	memcpy(field + SOURCE, &own->sin_addr, 4);
	memcpy(field + DESTINATION, &own->sin_addr, 4);
	for (k = 0; k < REQUEST_DATA; k++)
		field[HEADER + k] = data_byte(k);
	memset(field + odd_data[i].at, odd_data[i].byte, odd_data[i].n);
}

/* The Consumer receives exactly the private data that was sent, and rejects */
static void expect_request(struct pair *d, struct pair_evd *evd, DAT_PSP_HANDLE psp,
			   const u8 *field)
{
	DAT_CR_HANDLE cr = pair_request(d, evd, psp, sp_qual(d, 0));
	DAT_CR_PARAM param = {};

	if (!pair_ok(d) || !sp_ok(d, "dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)))
		return;
	if (param.private_data_size != REQUEST_DATA ||
	    memcmp(param.private_data, field + HEADER, REQUEST_DATA))
		loop_fail(d->c, "request: expected the data that was sent, got %d bytes or others",
			  param.private_data_size);
	sp_ok(d, "dat_cr_reject", dat_cr_reject(cr, 0, NULL));
}

static void send_forged(struct pair *d, struct cm_peer *way, struct ib_cm_id *id, const u8 *field,
			u32 len)
{
	struct sockaddr_storage addr;
	struct ib_cm_req_param param = {
		.primary_path = way->id->route.path_rec,
		.ppath_sgid_attr = way->id->route.addr.dev_addr.sgid_attr,
		.qp_num = cm_peer_qp_num(),
		.qp_type = IB_QPT_RC,
		.private_data = field,
		.private_data_len = len,
		.responder_resources = 1,
		.initiator_depth = 1,
		.remote_cm_response_timeout = 20,
		.local_cm_response_timeout = 20,
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.max_cm_retries = 15,
	};
	int err;

	cm_peer_address(d, &addr, sp_qual(d, 0));
	param.service_id = rdma_get_service_id(way->id, (struct sockaddr *)&addr);
	err = ib_send_cm_req(id, &param);
	if (err)
		loop_fail(d->c, "ib_send_cm_req: %d", err);
}

static void try_data(struct pair *d, struct pair_evd *evd, DAT_PSP_HANDLE psp, struct cm_peer *way,
		     u32 i)
{
	struct forged_request r = {};
	unsigned long left = test_limit(LOOP_QUIET_MS);
	struct ib_cm_id *id;
	u8 field[FIELD];
	DAT_EVENT ev;

	init_completion(&r.answered);
	write_field(d, field, i);
	id = ib_create_cm_id(way->id->device, forged_handler, &r);
	if (IS_ERR(id)) {
		loop_fail(d->c, "ib_create_cm_id: %ld", PTR_ERR(id));
		return;
	}
	send_forged(d, way, id, field, odd_data[i].len ?: FIELD);
	if (odd_data[i].taken)
		expect_request(d, evd, psp, field);
	if (pair_ok(d) && !wait_for_completion_timeout(&r.answered, left))
		loop_fail(d->c, "no answer");
	else if (pair_ok(d) && r.event != IB_CM_REJ_RECEIVED)
		loop_fail(d->c, "event %d, expected a reject", r.event);
	else if (pair_ok(d) && (odd_data[i].taken ? r.reason != IB_CM_REJ_CONSUMER_DEFINED :
						   r.reason == IB_CM_REJ_STALE_CONN))
		loop_fail(d->c, "reason %d", r.reason);
	if (pair_ok(d) && dat_evd_dequeue(evd->handle, &ev) == DAT_SUCCESS)
		loop_fail(d->c, "expected no further event, got %#x", ev.event_number);
	if (!pair_ok(d))
		loop_fail(d->c, "that was: %s", odd_data[i].what);
	ib_destroy_cm_id(id);
}

/* A normal request is still accepted at the service point after the attack */
static void expect_service(struct pair *d, struct pair_evd *evd, DAT_PSP_HANDLE psp)
{
	if (!pair_ok(d) || !pair_call_at(&d->a[0], sp_qual(d, 0), NULL, 0))
		return;
	sp_answer(&d->a[0], &d->b[0], pair_request(d, evd, psp, sp_qual(d, 0)), d->b[0].ep);
	sp_talk(&d->a[0], &d->b[0], false);
	pair_disconnect(&d->a[0], &d->b[0]);
}

static void forged_script(struct adv *f)
{
	struct pair *d = f->d;
	DAT_PSP_HANDLE psp;
	struct pair_evd evd;
	struct cm_peer way;
	u32 i;

	if (d->run->t.attr.ia_address_ptr->sa_family != AF_INET) {
		scnprintf(d->c->reason, sizeof(d->c->reason), "headers are forged for IPv4 only");
		return;
	}
	if (!pair_cr_evd(d, &evd, 4))
		return;
	psp = sp_listen(d, &evd, sp_qual(d, 0));
	if (pair_ok(d) && cm_peer_find(d, &way, sp_qual(d, 0))) {
		for (i = 0; i < ARRAY_SIZE(odd_data) && pair_ok(d); i++)
			try_data(d, &evd, psp, &way, i);
		cm_peer_end(&way);
	}
	expect_service(d, &evd, psp);
	adv_bystanders(f, "forged requests");
	sp_free_psp(d, psp);
	pair_free_evd(d, &evd);
}

/**
 * loop_case_forged - requests with private data not written by rdma_cm
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_forged(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, forged_script);

	loop_clauses(c, "C-54");
	return err;
}

/* ---- parameters -------------------------------------------------------------------- */

#define READS	4	/* allowed by the EPs of a pair */

static const struct {
	const char *what;
	struct rdma_conn_param param;
} odd_request[] = {
	{ "reads without bounds", { .responder_resources = 255, .initiator_depth = 255,
				    .qp_num = CM_PEER_ANY_QP, .retry_count = 7 } },
	{ "no reads, no retries", { .qp_num = CM_PEER_ANY_QP } },
	{ "queue pair 0", { .responder_resources = 1, .qp_num = 0 } },
	{ "queue pair 1", { .initiator_depth = 1, .qp_num = 1 } },
	{ "the last queue pair", { .qp_num = 0xffffff, .srq = 1, .rnr_retry_count = 7 } },
};

/*
 * The request is accepted, so that its parameters reach the Provider and the device; the
 * limits granted stay within those of the EP. If the device refuses them, C-16 applies.
 */
static void try_request(struct pair *d, struct pair_evd *evd, DAT_PSP_HANDLE psp, u32 i)
{
	struct pair_end *b = &d->b[0];
	struct cm_peer cm_peer;

	pair_recv1(b, 2048, 64, 20, 0);
	if (pair_ok(d) && cm_peer_call(d, &cm_peer, sp_qual(d, 0), &odd_request[i].param)) {
		sp_ok(d, "dat_cr_accept",
		      dat_cr_accept(pair_request(d, evd, psp, sp_qual(d, 0)), b->ep, 0, NULL));
		if (cm_peer_wait(&cm_peer) && cm_peer.event == RDMA_CM_EVENT_CONNECT_RESPONSE &&
		    (cm_peer.reads_in > READS || cm_peer.reads_out > READS))
			loop_fail(d->c, "%u reads are granted, and %u announced", cm_peer.reads_in,
				  cm_peer.reads_out);
		cm_peer_end(&cm_peer);
	}
	pair_conn(b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	pair_dto(b, DAT_DTO_RECEIVE, 20, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	pair_reset(b);
	if (!pair_ok(d))
		loop_fail(d->c, "that was: %s", odd_request[i].what);
}

/* ---- answers ----------------------------------------------------------------------- */

/* What a listener answers to a Consumer's request */
struct odd_answer {
	const char *what;
	struct rdma_conn_param param;
	bool accepted;			/* by the listener's side */
};

static const u8 answer_data[REPLY_DATA + 1] = { [0 ... REPLY_DATA] = 0xd5 };

static const struct odd_answer odd_answer[] = {
	{ "reads without bounds", { .responder_resources = 255, .initiator_depth = 255,
				    .qp_num = CM_PEER_ANY_QP, .private_data = answer_data,
				    .private_data_len = REPLY_DATA }, true },
	{ "no reads", { .qp_num = CM_PEER_ANY_QP, .private_data = answer_data,
			.private_data_len = REPLY_DATA }, true },
	{ "the last queue pair", { .qp_num = 0xffffff, .srq = 1, .private_data = answer_data,
				   .private_data_len = REPLY_DATA }, true },
	{ "a byte too many", { .qp_num = CM_PEER_ANY_QP, .private_data = answer_data,
			       .private_data_len = REPLY_DATA + 1 }, false },
};

/* The answer that a listener must send, and the id that sent it */
struct answering {
	const struct odd_answer *say;
	struct rdma_cm_id *child;
};

/* Callback of the listener and of the id of the request */
static int answer_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct answering *a = id->context;
	struct rdma_conn_param param = a->say->param;
	int err;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (param.qp_num == CM_PEER_ANY_QP)
		param.qp_num = cm_peer_qp_num();
	err = rdma_accept(id, &param);
	if (!err)
		a->child = id;
	return err;
}

/* A message is lost, and its sender does not wait forever */
static void expect_silence(struct pair *d, struct pair_end *a)
{
	const u8 *data;
	s64 begin;
	DAT_COUNT len;

	len = pair_conn_data(a, DAT_CONNECTION_EVENT_ESTABLISHED, &data);
	if (!pair_ok(d))
		return;
	if (len != REPLY_DATA || memcmp(data, answer_data, REPLY_DATA))
		loop_fail(d->c, "ESTABLISHED: expected the accept's data, got %d bytes or others",
			  len);
	pair_send1(a, 0, 16, 2, 0);
	pair_settle(d, 20);
	begin = ktime_to_ms(ktime_get());
	sp_ok(d, "dat_ep_disconnect", dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_conn(a, DAT_CONNECTION_EVENT_DISCONNECTED);
	loop_expect_abrupt(d->c, begin);
	pair_dto(a, DAT_DTO_SEND, 2, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
}

static void try_answer(struct pair *d, const struct odd_answer *say)
{
	struct answering answering = { .say = say };
	struct pair_end *a = &d->a[0];
	struct rdma_cm_id *id;

	pair_recv1(a, 64, 64, 1, 0);
	id = cm_peer_listen(d, answer_handler, &answering, sp_qual(d, 1));
	if (!id)
		return;
	if (pair_call_at(a, sp_qual(d, 1), NULL, 0)) {
		if (say->accepted)
			expect_silence(d, a);
		else
			pair_conn(a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
	pair_dto(a, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED, 0, PAIR_UPCALL);
	/* No callback runs after its id was destroyed */
	rdma_destroy_id(id);
	if (answering.child)
		rdma_destroy_id(answering.child);
	pair_reset(a);
	if (!pair_ok(d))
		loop_fail(d->c, "that was: an answer with %s", say->what);
}

static void parameters_script(struct adv *f)
{
	struct pair *d = f->d;
	DAT_PSP_HANDLE psp;
	struct pair_evd evd;
	u32 i;

	if (!pair_cr_evd(d, &evd, 4))
		return;
	psp = sp_listen(d, &evd, sp_qual(d, 0));
	for (i = 0; i < ARRAY_SIZE(odd_request) && pair_ok(d); i++)
		try_request(d, &evd, psp, i);
	expect_service(d, &evd, psp);
	adv_bystanders(f, "odd requests");
	for (i = 0; i < ARRAY_SIZE(odd_answer) && pair_ok(d); i++)
		try_answer(d, &odd_answer[i]);
	expect_service(d, &evd, psp);
	adv_bystanders(f, "odd answers");
	sp_free_psp(d, psp);
	pair_free_evd(d, &evd);
}

/**
 * loop_case_parameters - requests and answers with parameters out of range
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_parameters(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, parameters_script);

	loop_clauses(c, loop_exact ? "C-16 C-20 C-24 C-40 C-41 C-46 C-54 C-56" :
					"C-16 C-20 C-24 C-40 C-41 C-46 C-54");
	return err;
}
