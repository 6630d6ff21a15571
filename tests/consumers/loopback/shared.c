// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test about shared receive queues: an empty SRQ, one without
 * EPs, one below its low watermark, and two connections one of which gets a message that
 * is too long. Process context.
 */
#include "conn_pair.h"

/* Buffers wait for messages, and messages for buffers. */
static void empty_script(struct pair *d)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_EVENT ev;

	pair_fill(a, 0, 16, 1);
	pair_send1(a, 0, 16, 1, 0);
	pair_send1(a, 0, 8, 2, 0);
	pair_settle(d, 400);
	pair_expect_no_event(d, "an SRQ without buffers");
	pair_expect_state(a, DAT_EP_STATE_CONNECTED);
	pair_recv1(b, 0, 16, 1, 0);
	pair_dto(b, DAT_DTO_RECEIVE, 1, DAT_DTO_SUCCESS, 16, PAIR_UPCALL);
	pair_dto(a, DAT_DTO_SEND, 1, DAT_DTO_SUCCESS, 16, PAIR_UPCALL);
	pair_expect_bytes(b, "the message that waited", 0, 16, 1);
	/* The second message still waits. */
	pair_settle(d, 100);
	pair_expect_no_event(d, "an SRQ without buffers again");
	pair_recv1(b, 32, 16, 2, 0);
	pair_dto(b, DAT_DTO_RECEIVE, 2, DAT_DTO_SUCCESS, 8, PAIR_UPCALL);
	pair_dto(a, DAT_DTO_SEND, 2, DAT_DTO_SUCCESS, 8, PAIR_UPCALL);
	pair_expect_bytes(b, "the other one", 32, 8, 1);
	/* No watermark was set, and the SRQ has run empty twice. */
	if (dat_evd_dequeue(d->run->t.async, &ev) == DAT_SUCCESS)
		loop_fail(d->c, "asynchronous event %#x", ev.event_number);
}

static void expect_outstanding(struct pair *d, DAT_COUNT n)
{
	DAT_SRQ_PARAM param = {};

	loop_expect(d->c, "dat_srq_query", dat_srq_query(d->srq, DAT_SRQ_FIELD_ALL, &param),
		    DAT_SUCCESS);
	if (param.outstanding_dto_count != n)
		loop_fail(d->c, "%d buffers outstanding, expected %d",
			  param.outstanding_dto_count, n);
}

/* The first pair gets a message too long for its buffer; the second pair stays connected. */
static void too_long_script(struct pair *d)
{
	struct pair_end *b = &d->b[0], *a2 = &d->a[1], *b2 = &d->b[1];
	bool plain = d->cfg.recv_flags != DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	u64 i;

	pair_fill(&d->a[0], 0, 16, 1);
	pair_fill(a2, 0, 16, 1);
	for (i = 1; i <= 5; i++)
		pair_recv1(b, 64 * i, 8, i, 0);
	pair_send1(a2, 0, 4, 1, 0);
	pair_dto(b2, DAT_DTO_RECEIVE, 1, DAT_DTO_SUCCESS, 4, plain ? PAIR_UPCALL : PAIR_NO_UPCALL);
	pair_send1(&d->a[0], 0, 9, 2, 0);
	pair_dto(b, DAT_DTO_RECEIVE, 2, DAT_DTO_ERR_LOCAL_LENGTH, 0, PAIR_UPCALL);
	pair_dto(&d->a[0], DAT_DTO_SEND, 2, DAT_DTO_ERR_REMOTE_RESPONDER, 0, PAIR_UPCALL);
	pair_ended(&d->a[0], true);
	pair_ended(b, true);
	pair_dto(a2, DAT_DTO_SEND, 1, DAT_DTO_SUCCESS, 4, PAIR_UPCALL);
	/* The buffers not consumed by the first pair are available to the second. */
	expect_outstanding(d, 3);
	for (i = 3; i <= 5; i++) {
		pair_send1(a2, 0, 5 + i % 3, i, 0);
		pair_dto(b2, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS, 5 + i % 3,
			 plain ? PAIR_UPCALL : PAIR_ANY_UPCALL);
		pair_dto(a2, DAT_DTO_SEND, i, DAT_DTO_SUCCESS, 5 + i % 3, PAIR_UPCALL);
		pair_expect_bytes(b, "messages of the other", 64 * i, 5 + i % 3, 1);
	}
	pair_expect_state(a2, DAT_EP_STATE_CONNECTED);
	pair_expect_state(b2, DAT_EP_STATE_CONNECTED);
	pair_settle(d, 50);
	pair_expect_no_event(d, "two connections on one SRQ");
	expect_outstanding(d, 0);
}

static void set_lw(struct pair *d, DAT_COUNT mark)
{
	loop_expect(d->c, "dat_srq_set_lw", dat_srq_set_lw(d->srq, mark), DAT_SUCCESS);
}

/* One message into a buffer, and both of its events. */
static void one_message(struct pair *d, u64 cookie)
{
	pair_send1(&d->a[0], 0, 8, cookie, 0);
	pair_dto(&d->b[0], DAT_DTO_RECEIVE, cookie, DAT_DTO_SUCCESS, 8, PAIR_UPCALL);
	pair_dto(&d->a[0], DAT_DTO_SEND, cookie, DAT_DTO_SUCCESS, 8, PAIR_UPCALL);
}

/* The SRQ is below its watermark: one event, with a count within bounds. */
static void expect_low(struct pair *d, const char *what)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT ev = {};

	while (pair_ok(d) && dat_evd_dequeue(d->run->t.async, &ev) != DAT_SUCCESS) {
		if (time_after(jiffies, deadline))
			loop_fail(d->c, "%s: expected an asynchronous event, got none", what);
		wait_for_completion_timeout(&d->run->wake, 1);
	}
	data = &ev.event_data.asynch_error_event_data;
	if (pair_ok(d) && (ev.event_number != DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR ||
			   data->dat_handle != d->srq ||
			   data->reason != DAT_SRQ_LOW_WATERMARK_EVENT))
		loop_fail(d->c, "%s: asynchronous event %#x, reason %d", what, ev.event_number,
			  data->reason);
}

static void expect_not_low(struct pair *d, const char *what)
{
	DAT_EVENT ev;

	if (dat_evd_dequeue(d->run->t.async, &ev) == DAT_SUCCESS)
		loop_fail(d->c, "%s: asynchronous event %#x", what, ev.event_number);
}

/* A low watermark causes one event, immediately if the SRQ is already below it. */
static void low_script(struct pair *d)
{
	u64 i;

	pair_fill(&d->a[0], 0, 16, 1);
	for (i = 1; i <= 7; i++)
		pair_recv1(&d->b[0], 32 * i, 16, i, 0);
	set_lw(d, 6);
	one_message(d, 1);
	pair_settle(d, 50);
	expect_not_low(d, "as many buffers as the mark");
	one_message(d, 2);
	expect_low(d, "one buffer less than the mark");
	one_message(d, 3);
	pair_settle(d, 50);
	expect_not_low(d, "a watermark that was reported");
	/* Four buffers are left, and no message comes. */
	set_lw(d, 5);
	expect_low(d, "a mark above the fill");
	one_message(d, 4);
	pair_settle(d, 50);
	expect_not_low(d, "a watermark that was reported at once");
	set_lw(d, 3);
	set_lw(d, 0);
	for (i = 5; i <= 7; i++)
		one_message(d, i);
	pair_settle(d, 100);
	expect_not_low(d, "a mark taken back");
}

/* Posts to an SRQ without EPs, or with only an EP that is not connected. */
static void without_connection(struct pair *d)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_LMR_TRIPLET seg = pair_seg(&d->b[0], 0, 16);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_SRQ_HANDLE srq;
	u32 i;

	pair_recv1(&d->b[0], 0, 16, 1, 0);
	expect_outstanding(d, 1);
	if (!loop_expect(d->c, "dat_srq_create",
			 dat_srq_create(d->run->t.ia, d->run->t.pz, &attr, &srq), DAT_SUCCESS))
		return;
	for (i = 0; i < 4; i++)
		loop_expect(d->c, "post to an SRQ without EP",
			    dat_srq_post_recv(srq, 1, &seg, cookie), DAT_SUCCESS);
	loop_expect(d->c, "dat_srq_free", dat_srq_free(srq), DAT_SUCCESS);
	pair_expect_no_event(d, "an SRQ without connection");
}

/**
 * loop_case_shared - shared receive queues
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_shared(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg one = { .srq = true }, two = { .srq = true, .pairs = 2 };
	struct pair_cfg waiting = {
		.srq = true, .pairs = 2, .recv_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	struct pair *d;
	int err;

	d = pair_make(run, c, &one);
	if (!d)
		return -EIO;
	without_connection(d);
	pair_end(d);
	err = pair_play(run, c, &one, empty_script);
	if (!err)
		err = pair_play(run, c, &one, low_script);
	if (!err)
		err = pair_play(run, c, &two, too_long_script);
	if (!err)
		err = pair_play(run, c, &waiting, too_long_script);
	loop_clauses(c, "Q-01 Q-06 Q-18 Q-30 Q-31 Q-32 Q-33 Q-34 Q-35 G-02 G-33");
	return err;
}
