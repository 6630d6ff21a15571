// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile cases about messages: longer than the receive, more than there are receives,
 * partial ones, some with immediate data, which no Consumer can send, and a peer that
 * posts no receives. Process context.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "adversary.h"

#define OWN		0x11	/* fills all of the peer's memory */

/* The number of bytes from @off on that are no longer PAIR_FREE; no byte after them differs */
static u32 arrived(struct adv *f, u32 off, u32 room)
{
	u8 *end = memchr(f->b->mem + off, PAIR_FREE, room);
	u32 n = end ? end - (f->b->mem + off) : room;

	if (memchr_inv(f->b->mem + off, OWN, n))
		loop_fail(f->d->c, "expected the bytes that the peer has sent, got others");
	if (memchr_inv(f->b->mem + off + n, PAIR_FREE, room - n))
		loop_fail(f->d->c, "expected bytes written in order, some are missing");
	return n;
}

/* Like adv_untouched(), except for the receive buffer in the victim's memory */
static void expect_around(struct adv *f, const char *what, u32 off, u32 room)
{
	memset(f->b->mem + off, PAIR_FREE, room);
	adv_untouched(f, what);
}

/* ---- longer than the receive ------------------------------------------------------- */

static const struct {
	u32 room[2];			/* of the receive's two segments */
	u32 len;
} too_long[] = {
	{ { 8, 0 }, 9 }, { { 0, 0 }, 1 }, { { 1000, 500 }, 1501 }, { { 1000, 500 }, 8192 },
	{ { 3000, 8 }, 3009 }, { { 0, 0 }, 8192 },
};

static void try_too_long(struct adv *f, const u32 *room, u32 len)
{
	DAT_LMR_TRIPLET iov[2] = { pair_seg(f->b, 1024, room[0]), pair_seg(f->b, 5000, room[1]) };
	enum ib_wc_status status;
	struct vpeer_req *r;

	pair_recv(f->b, 2, iov, 1, 0);
	pair_recv1(f->b, 256, 64, 2, 0);
	if (!adv_meet(f))
		return;
	memset(f->peer->mem, OWN, VPEER_MEM);
	r = vpeer_req(f->peer, 0, IB_WR_SEND, 0, len);
	status = vpeer_post(r) ? vpeer_wait(r) : IB_WC_SUCCESS;
	/* Verbs specify the second status, Soft-RoCE returns the first */
	if (status != IB_WC_REM_OP_ERR && status != IB_WC_REM_INV_REQ_ERR)
		loop_fail(f->d->c, "peer's send: status %d, expected %d", status, IB_WC_REM_OP_ERR);
	pair_dto(f->b, DAT_DTO_RECEIVE, 1, DAT_DTO_LENGTH_ERROR, 0, PAIR_UPCALL);
	adv_flushed(f, 2, 2);
	adv_broken(f);
	/*
	 * The content of a failed receive is undefined, all other memory is unchanged
	 * (R-21)
	 */
	memset(f->b->mem + 1024, PAIR_FREE, room[0]);
	expect_around(f, "a message that is too long", 5000, room[1]);
	adv_part(f);
}

/* The opposite direction: the peer does not react to the error */
static void try_short_room(struct adv *f, u32 room, bool srq)
{
	struct vpeer_req *got;

	adv_recvs(f);
	if (!(srq ? adv_meet_srq(f) : adv_meet(f)))
		return;
	memset(f->peer->mem, OWN, VPEER_MEM);
	got = vpeer_recv(f->peer, 1, 0, room);
	pair_send1(f->b, 0, room + 1, 3, 0);
	pair_send1(f->b, 0, room, 4, 0);
	pair_dto(f->b, DAT_DTO_SEND, 3, DAT_DTO_ERR_REMOTE_RESPONDER, 0, PAIR_UPCALL);
	pair_dto(f->b, DAT_DTO_SEND, 4, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	adv_flushed(f, 1, 2);
	adv_broken(f);
	if (vpeer_wait(got) == IB_WC_SUCCESS)
		loop_fail(f->d->c, "expected the peer's receive to fail, it succeeded");
	if (memchr_inv(f->peer->mem + room, OWN, VPEER_MEM - room))
		loop_fail(f->d->c, "a message goes beyond the peer's receive");
	adv_untouched(f, "a message that is too long for the peer");
	adv_part(f);
}

/* Two receives, four messages; the peer's retries run out (@rnr), or it waits */
static void try_too_many(struct adv *f, u8 rnr)
{
	bool waits = rnr == VPEER_RNR;
	struct vpeer_req *r[4];
	u32 i;

	adv_recvs(f);
	if (!adv_meet_rnr(f, rnr))
		return;
	memset(f->peer->mem, OWN, VPEER_MEM);
	for (i = 0; i < ARRAY_SIZE(r) && pair_ok(f->d); i++) {
		r[i] = vpeer_req(f->peer, i, IB_WR_SEND, i * ADV_ROOM, ADV_ROOM);
		vpeer_post(r[i]);
	}
	for (i = 1; i <= 2; i++)
		pair_dto(f->b, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS, ADV_ROOM,
			 PAIR_ANY_UPCALL);
	if (arrived(f, ADV_RECV, ADV_ROOM) != ADV_ROOM)
		loop_fail(f->d->c, "message: expected all its bytes, some differ");
	adv_bystanders(f, "more messages than receives");
	if (!waits && vpeer_wait(r[2]) != IB_WC_RNR_RETRY_EXC_ERR)
		loop_fail(f->d->c, "peer's send: status %d, expected %d", r[2]->status,
			  IB_WC_RNR_RETRY_EXC_ERR);
	pair_expect_no_event(f->d, "more messages than receives");
	pair_expect_state(f->b, DAT_EP_STATE_CONNECTED);
	memset(f->b->mem + ADV_RECV + 2 * ADV_ROOM, PAIR_FREE, ADV_ROOM);
	expect_around(f, "more messages than receives", ADV_RECV, ADV_ROOM);
	/* Room again: for the third message, if it still waits */
	adv_recvs(f);
	if (waits) {
		for (i = 1; i <= 2; i++)
			pair_dto(f->b, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS, ADV_ROOM,
				 PAIR_ANY_UPCALL);
		for (i = 0; i < ARRAY_SIZE(r) && pair_ok(f->d); i++)
			if (vpeer_wait(r[i]) != IB_WC_SUCCESS)
				loop_fail(f->d->c, "message %u: %d", i, r[i]->status);
	}
	adv_hang_up(f);
	if (!waits)
		adv_flushed(f, 1, 2);
	memset(f->b->mem + ADV_RECV + 2 * ADV_ROOM, PAIR_FREE, ADV_ROOM);
	expect_around(f, "more messages than receives", ADV_RECV, ADV_ROOM);
	adv_part(f);
}

static void too_much_script(struct adv *f)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(too_long) && pair_ok(f->d); i++) {
		try_too_long(f, too_long[i].room, too_long[i].len);
		adv_bystanders(f, "a message that is too long");
		if (!pair_ok(f->d))
			loop_fail(f->d->c, "that was: %u bytes for %u and %u", too_long[i].len,
				  too_long[i].room[0], too_long[i].room[1]);
	}
	try_short_room(f, 0, false);
	try_short_room(f, 8, false);
	try_short_room(f, 5000, false);
	if (f->d->run->srq_supported)
		try_short_room(f, 8, true);
	try_too_many(f, 1);
	try_too_many(f, VPEER_RNR);
	adv_bystanders(f, "more messages than receives");
}

/**
 * loop_case_too_much - messages that are too long, or too many
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_too_much(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, too_much_script);

	loop_clauses(c, "S-48 R-08 R-20 R-22 C-29 C-30 C-41 C-54 C-60 G-31 G-36");
	return err;
}

/* ---- partial messages -------------------------------------------------------------- */

#define HALF_AT		1024
#define HALF_ROOM	6144
#define HALF_GOOD	4096	/* whole packets, for every MTU */

/*
 * The second segment is invalid, which the device detects when it reaches it: the packets
 * before it are in flight by then, and none follows.
 */
static void send_half(struct adv *f, enum ib_wr_opcode op)
{
	struct vpeer_req *r = vpeer_req(f->peer, 0, op, 0, HALF_GOOD);
	enum ib_wc_status status;

	memset(f->peer->mem, OWN, VPEER_MEM);
	r->sge[1] = r->sge[0];
	r->sge[1].length = HALF_ROOM - HALF_GOOD;
	r->sge[1].lkey = ~0U;
	r->rdma.wr.num_sge = 2;
	if (op == IB_WR_RDMA_WRITE)
		vpeer_aim(r, (uintptr_t)f->b->mem + HALF_AT, f->b->key);
	status = vpeer_post(r) ? vpeer_wait(r) : IB_WC_SUCCESS;
	if (status == IB_WC_SUCCESS)
		loop_fail(f->d->c, "partial message: unexpected status %d of the peer's request",
			  status);
}

/* The first part has arrived, or arrives soon */
static void expect_half(struct adv *f)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);

	while (pair_ok(f->d) && READ_ONCE(f->b->mem[HALF_AT + HALF_GOOD - 1]) == PAIR_FREE) {
		if (time_after(jiffies, deadline))
			loop_fail(f->d->c, "half a message: %u bytes of it arrive",
				  arrived(f, HALF_AT, HALF_ROOM));
		wait_for_completion_timeout(&f->d->run->wake, 1);
	}
	pair_settle(f->d, 20);
	if (pair_ok(f->d) && arrived(f, HALF_AT, HALF_ROOM) != HALF_GOOD)
		loop_fail(f->d->c, "half a message: %u bytes of it have arrived",
			  arrived(f, HALF_AT, HALF_ROOM));
}

/* The victim cannot distinguish it from a slow message: it ends with the connection */
static void try_half(struct adv *f, enum ib_wr_opcode op)
{
	pair_recv1(f->b, HALF_AT, HALF_ROOM, 1, 0);
	if (!adv_meet(f))
		return;
	send_half(f, op);
	expect_half(f);
	adv_bystanders(f, "half a message");
	pair_expect_no_event(f->d, "half a message");
	pair_expect_state(f->b, DAT_EP_STATE_CONNECTED);
	adv_hang_up(f);
	adv_flushed(f, 1, 1);
	expect_around(f, "half a message", HALF_AT, HALF_ROOM);
	adv_part(f);
}

#define CUTS		3	/* receives, or ranges to be written */
#define CUT_AT		512
#define CUT_STEP	2560
#define CUT_ROOM	2500
#define CUT_LEN		2400	/* three packets */

/* A receive reports what has arrived: a whole message, or it has failed */
static void expect_cut(struct adv *f, bool sends)
{
	u32 i, off, n, whole = 0, status = DAT_DTO_SUCCESS;

	for (i = 0; i < CUTS && pair_ok(f->d); i++) {
		DAT_EVENT ev = {};

		off = CUT_AT + i * CUT_STEP;
		n = arrived(f, off, CUT_ROOM);
		if (n > CUT_LEN || (n && whole < i))
			loop_fail(f->d->c, "message %u: %u bytes, after %u whole ones", i, n,
				  whole);
		whole += n == CUT_LEN;
		if (!pair_next(f->d, &f->b->recv, PAIR_ANY_UPCALL, "a message cut off", &ev))
			return;
		/*
		 * After a flushed one all are flushed; only a successful receive has a
		 * valid length
		 */
		if (status == DAT_DTO_SUCCESS)
			status = ev.event_data.dto_completion_event_data.status;
		if (ev.event_data.dto_completion_event_data.user_cookie.as_64 != i ||
		    ev.event_data.dto_completion_event_data.status != status)
			loop_fail(f->d->c, "message %u: not its event", i);
		else if (status == DAT_DTO_SUCCESS &&
			 (!sends || n != CUT_LEN ||
			  ev.event_data.dto_completion_event_data.transfered_length != CUT_LEN))
			loop_fail(f->d->c, "message %u: success, %u bytes of it", i, n);
		else if (status != DAT_DTO_SUCCESS && status != DAT_DTO_ERR_FLUSHED)
			loop_fail(f->d->c, "message %u: status %u", i, status);
		memset(f->b->mem + off, PAIR_FREE, CUT_ROOM);
	}
}

/* The peer's QP goes to ERROR or is destroyed with any number of messages in flight */
static void try_cut(struct adv *f, bool sends, bool destroyed, u32 us)
{
	struct vpeer_req *r;
	u32 i;

	for (i = 0; i < CUTS; i++)
		pair_recv1(f->b, CUT_AT + i * CUT_STEP, CUT_ROOM, i, 0);
	if (!adv_meet(f))
		return;
	memset(f->peer->mem, OWN, VPEER_MEM);
	for (i = 0; i < CUTS; i++) {
		r = vpeer_req(f->peer, i, sends ? IB_WR_SEND : IB_WR_RDMA_WRITE, 0, CUT_LEN);
		vpeer_aim(r, (uintptr_t)f->b->mem + CUT_AT + i * CUT_STEP, f->b->key);
		vpeer_post(r);
	}
	udelay(us);
	if (destroyed)
		vpeer_die(f->peer);
	else
		vpeer_stop(f->peer);
	adv_hang_up(f);
	expect_cut(f, sends);
	adv_untouched(f, "messages cut off");
	adv_part(f);
}

static void half_script(struct adv *f)
{
	u32 i, rounds = f->d->run->args.brief ? 8 : 32;

	try_half(f, IB_WR_SEND);
	try_half(f, IB_WR_RDMA_WRITE);
	for (i = 0; i < rounds && pair_ok(f->d); i++)
		try_cut(f, i & 1, i & 2, i * 20);
	adv_bystanders(f, "messages cut off");
}

/* The SRQ still counts a lost buffer as outstanding, until dat_srq_free() */
static void expect_lost(struct adv *f)
{
	DAT_SRQ_PARAM param = {};

	loop_expect(f->d->c, "dat_srq_query",
		    dat_srq_query(f->d->srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
	if (param.outstanding_dto_count != 1)
		loop_fail(f->d->c,
			  "a partial message: the SRQ has %d buffers outstanding, expected 1",
			  param.outstanding_dto_count);
}

/*
 * The buffer must get its event, unless the device loses such a buffer with plain verbs
 * too, as Soft-RoCE of 6.12 does.
 */
static void half_srq_script(struct adv *f)
{
	bool lossy = adv_device_loses_buffers(f->d->run, f->d->c);
	DAT_EVENT ev = {};

	pair_recv1(f->b, HALF_AT, HALF_ROOM, 1, 0);
	if (!adv_meet(f))
		return;
	send_half(f, IB_WR_SEND);
	expect_half(f);
	adv_hang_up(f);
	pair_settle(f->d, 50);
	if (dat_evd_dequeue(f->b->recv.handle, &ev) == DAT_SUCCESS) {
		if (ev.event_data.dto_completion_event_data.status != DAT_DTO_ERR_FLUSHED)
			loop_fail(f->d->c, "partial message: unexpected status %d",
				  ev.event_data.dto_completion_event_data.status);
		scnprintf(f->d->c->reason, sizeof(f->d->c->reason),
			  "an SRQ's buffer with half a message is flushed");
	} else if (lossy) {
		scnprintf(f->d->c->reason, sizeof(f->d->c->reason),
			  "an SRQ's buffer with half a message is lost by the device");
		expect_lost(f);
	} else {
		loop_fail(f->d->c, "partial message: expected an event, got none");
	}
	expect_around(f, "half a message", HALF_AT, HALF_ROOM);
	adv_part(f);
	adv_bystanders(f, "half a message");
}

/**
 * loop_case_half - messages that arrive partially
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_half(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {}, srq = { .srq = true };
	int err = adv_play(run, c, &cfg, half_script);

	if (!err && !c->verdict.failures && run->srq_supported) {
		loop_clauses(c, "Q-29");
		err = adv_play(run, c, &srq, half_srq_script);
	}
	loop_clauses(c, "R-29 C-29 C-41 C-44 C-54");
	return err;
}

/* ---- immediate data ---------------------------------------------------------------- */

/*
 * A write with immediate data consumes a receive and leaves it empty. The length in the
 * completion is not that of a message: using it would read beyond the receive.
 */
static void try_immediate(struct adv *f, u32 len)
{
	struct vpeer_req *r;

	adv_recvs(f);
	if (!adv_meet(f))
		return;
	memset(f->peer->mem, OWN, VPEER_MEM);
	r = vpeer_req(f->peer, 0, IB_WR_RDMA_WRITE_WITH_IMM, 0, len);
	vpeer_aim(r, (uintptr_t)f->b->mem + 1024, f->b->key);
	if (vpeer_post(r))
		adv_notified(f, r);
	pair_dto(f->b, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_REMOTE_RESPONDER, 0, PAIR_UPCALL);
	adv_flushed(f, 2, 2);
	adv_broken(f);
	/* The peer's key allows the write */
	expect_around(f, "a write with immediate data", 1024, len);
	adv_part(f);
}

/* A message with immediate data, which DAT cannot report: the message is delivered */
static void try_message_with_immediate(struct adv *f)
{
	struct vpeer_req *r;

	adv_recvs(f);
	if (!adv_meet(f))
		return;
	memset(f->peer->mem, OWN, VPEER_MEM);
	r = vpeer_req(f->peer, 0, IB_WR_SEND_WITH_IMM, 0, ADV_ROOM);
	if (vpeer_post(r) && vpeer_wait(r) != IB_WC_SUCCESS)
		loop_fail(f->d->c, "send with immediate data: unexpected status %d", r->status);
	pair_dto(f->b, DAT_DTO_RECEIVE, 1, DAT_DTO_SUCCESS, ADV_ROOM, PAIR_UPCALL);
	if (arrived(f, ADV_RECV, ADV_ROOM) != ADV_ROOM)
		loop_fail(f->d->c, "send with immediate data: expected all its bytes, some differ");
	pair_expect_state(f->b, DAT_EP_STATE_CONNECTED);
	adv_hang_up(f);
	adv_flushed(f, 2, 2);
	expect_around(f, "a send with immediate data", ADV_RECV, ADV_ROOM);
	adv_part(f);
}

static void immediate_script(struct adv *f)
{
	static const u32 len[] = { 0, 16, ADV_ROOM + 1, 5000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(len) && pair_ok(f->d); i++) {
		try_immediate(f, len[i]);
		adv_bystanders(f, "a write with immediate data");
		if (!pair_ok(f->d))
			loop_fail(f->d->c, "that was: %u bytes", len[i]);
	}
	try_message_with_immediate(f);
	adv_bystanders(f, "a send with immediate data");
}

/**
 * loop_case_immediate - immediate data, which DAT does not support
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_immediate(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, immediate_script);

	loop_clauses(c, "R-01 C-30 C-41 C-54 C-60 G-31 G-36");
	return err;
}

/* ---- a peer without receives --------------------------------------------------------- */

#define UNHEARD	4

/* The peer never posts a receive: messages wait until the Consumer disconnects */
static void mute_script(struct adv *f)
{
	s64 begin;
	u64 i;

	adv_recvs(f);
	if (!adv_meet(f))
		return;
	for (i = 0; i < UNHEARD; i++)
		pair_send1(f->b, 0, 16, 10 + i, 0);
	adv_bystanders(f, "a peer that takes no messages");
	loop_expect(f->d->c, "dat_ep_disconnect",
		    dat_ep_disconnect(f->b->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	adv_bystanders(f, "a peer that takes no messages");
	pair_expect_state(f->b, DAT_EP_STATE_DISCONNECT_PENDING);
	pair_expect_no_event(f->d, "a peer that takes no messages");
	begin = ktime_to_ms(ktime_get());
	loop_expect(f->d->c, "dat_ep_disconnect",
		    dat_ep_disconnect(f->b->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	pair_conn(f->b, DAT_CONNECTION_EVENT_DISCONNECTED);
	loop_expect_abrupt(f->d->c, begin);
	for (i = 0; i < UNHEARD; i++)
		pair_dto(f->b, DAT_DTO_SEND, 10 + i, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
	adv_flushed(f, 1, 2);
	adv_untouched(f, "a peer that takes no messages");
	adv_part(f);
	adv_bystanders(f, "a peer that takes no messages");
}

/**
 * loop_case_mute - a peer that posts no receives
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_mute(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, mute_script);

	loop_clauses(c, loop_exact ? "C-25 C-27 C-41 C-54 C-56" : "C-25 C-27 C-41 C-54");
	return err;
}
