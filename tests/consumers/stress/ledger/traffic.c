// SPDX-License-Identifier: GPL-2.0
/*
 * The traffic of the ledger test: posts of all types, and changes. A change ends a
 * connection, which flushes the pending posts, and posts more after the end. Then it resets
 * the EP, or frees it and creates a new one, before or after all posts have completed.
 *
 * Called by the one thread of the test.
 */
#include <linux/string.h>
#include "ledger.h"

/* ---- posts ------------------------------------------------------------------------------- */

static DAT_LMR_TRIPLET segment(u8 *at, u32 length)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = (unsigned long)at,
		.segment_length = length,
		.lmr_context = fx.t.mem.lmr_context,
	};
}

/* A post may only be refused because the queue is full or the connection has ended */
static bool posted(struct end *end, struct entry *e, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		return true;
	if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES &&
	    DAT_GET_TYPE(ret) != DAT_INVALID_STATE)
		test_fail("a post of kind %d: %#x", e->kind, ret);
	acct_refused(end, e);
	return false;
}

static bool post_recv(struct end *end)
{
	bool srq = end->index == EPS - 1;
	struct entry *e = acct_take(srq ? K_SRQ : K_RECV, end);
	DAT_LMR_TRIPLET iov[2];
	u32 first = ledger_rnd(DATA + 1);
	DAT_RETURN ret;

	if (!e)
		return false;
	iov[0] = segment(e->at, first);
	iov[1] = segment(e->at + first, DATA - first);
	if (srq)
		ret = dat_srq_post_recv(fx.srq, 2, iov, test_cookie(&e->t));
	else
		ret = dat_ep_post_recv(end->ep, 2, iov, test_cookie(&e->t), 0);
	if (!posted(end, e, ret))
		return false;
	end->credit++;
	return true;
}

/* The peer's area; its arena has the same layout */
static DAT_RMR_TRIPLET remote(const struct end *end, bool target, u32 length)
{
	const struct end *peer = &fx.end[end->index ^ 1];

	return (DAT_RMR_TRIPLET) {
		.virtual_address = end->peer.arena + (acct_area(peer, target) - fx.arena),
		.segment_length = length,
		.rmr_context = end->peer.key,
	};
}

/* Kernels that are so slow that answers arrive late */
#define SLOW (IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN) || \
	      IS_ENABLED(CONFIG_PROVE_LOCKING))

/* May an EP have both reads and empty RDMA operations? See traffic_reads() */
static bool mixes(void)
{
	return ledger_role == R_BOTH && !SLOW;
}

/**
 * traffic_reads - may this EP read?
 * @end: the EP
 *
 * rxe (6.12) warns, and breaks the connection, if a read is repeated after an RDMA operation
 * of length 0. Reads are repeated if packets are lost, and on a host that is so slow that
 * answers arrive late. There an EP uses one or the other. A graceful disconnect posts such a
 * write.
 */
bool traffic_reads(const struct end *end)
{
	return mixes() || end->index / 2 % 3;
}

static struct entry *take_request(enum kind kind, struct end *end)
{
	struct entry *e = acct_take(kind, end);

	if (e && kind != K_SEND && traffic_reads(end) && !mixes())
		e->length = max(e->length, 8U);
	return e;
}

static bool post_request(struct end *end, enum kind kind, bool suppress)
{
	struct end *peer = &fx.end[end->index ^ 1];
	DAT_COMPLETION_FLAGS flags = suppress ? DAT_COMPLETION_SUPPRESS_FLAG : 0;
	DAT_RMR_TRIPLET there;
	DAT_LMR_TRIPLET iov[2];
	DAT_DTO_COOKIE cookie;
	struct entry *e;
	DAT_RETURN ret;
	u32 first;

	if (kind == K_READ && !traffic_reads(end))
		kind = K_WRITE;
	e = take_request(kind, end);
	if (!e)
		return false;
	e->t.suppressed = suppress;
	e->t.length = e->length;
	cookie = test_cookie(&e->t);
	there = remote(end, kind == K_WRITE, e->length);
	first = ledger_rnd(e->length + 1);
	iov[0] = segment(e->at, first);
	iov[1] = segment(e->at + first, e->length - first);
	if (kind == K_SEND) {
		ret = dat_ep_post_send(end->ep, 2, iov, cookie, flags);
	} else if (kind == K_WRITE) {
		ret = dat_ep_post_rdma_write(end->ep, 2, iov, cookie, &there, flags);
	} else {
		iov[0] = segment(e->at, e->length);
		ret = dat_ep_post_rdma_read(end->ep, 1, iov, cookie, &there, flags);
	}
	if (!posted(end, e, ret))
		return false;
	if (kind == K_SEND) {
		peer->credit--;
		end->asked++;
	}
	return true;
}

static struct end *any_end(void)
{
	if (ledger_role == R_BOTH)
		return &fx.end[ledger_rnd(EPS)];
	return &fx.end[2 * ledger_rnd(PAIRS) + (ledger_role == R_SERVER)];
}

/*
 * No more messages than buffers, so that a disconnect does not wait for them. The number of
 * buffers of another kernel is not known; its thread posts them at any time.
 */
static bool may_send(const struct end *end)
{
	return ledger_role != R_BOTH || fx.end[end->index ^ 1].credit > 0;
}

/**
 * traffic_post - make one post on any EP
 *
 * With a role only on connected EPs, so that posts do not accumulate while the wire is
 * down.
 *
 * Return: false if no post is possible, and events must be dequeued first.
 */
bool traffic_post(void)
{
	struct end *end = any_end();
	bool suppress = !ledger_rnd(3);

	if (ledger_role != R_BOTH && (!end->established || end->ended))
		return false;
	switch (ledger_rnd(8)) {
	case 0:
		return post_request(end, K_WRITE, suppress);
	case 1:
		return post_request(end, K_READ, suppress);
	case 2:
	case 3:
	case 4:
		if (may_send(end))
			return post_request(end, K_SEND, suppress);
		return false;
	default:
		return post_recv(end);
	}
}

/* ---- changes ------------------------------------------------------------------------------- */

static bool both_ended(void *data)
{
	struct end *end = data;

	return (end[0].ended && end[1].ended) || fx.gone;
}

static bool both_back(void *data)
{
	struct end *end = data;

	return !acct_waiting(&end[0]) && !acct_waiting(&end[1]);
}

/* Posts after the end are flushed, in order, also suppressed ones */
static void post_after_end(struct end *end)
{
	unsigned int n = ledger_rnd(6);

	while (n--) {
		post_request(end, ledger_rnd(3), ledger_rnd(2));
		if (end->index != EPS - 1)
			post_recv(end);
	}
}

static bool marked(void *data)
{
	return post_request(data, K_SEND, false);
}

/*
 * The pending receives are exactly those that the SRQ has: in its queue, or kept by a device
 * that never completes them. After the completion of a request, nothing else of an EP that
 * has ended can arrive.
 */
static void check_srq(void)
{
	DAT_SRQ_PARAM param = {};
	int out = acct_srq_out(true);
	DAT_RETURN ret;

	if (!fx.srq)
		return;
	ret = dat_srq_query(fx.srq, DAT_SRQ_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		test_fail("dat_srq_query: %#x", ret);
	else if (param.outstanding_dto_count != out)
		test_fail("the SRQ has %d buffers outstanding, the accounting %d",
			  param.outstanding_dto_count, out);
	counts.srq_checks++;
}

/*
 * A message that was sent with success must have arrived, and its receive has completed
 * before the end of the connection (C-44). Only this check finds a lost completion of the
 * last message.
 */
static void check_arrived(const struct end *end)
{
	const struct end *peer = &fx.end[end->index ^ 1];

	if (ledger_role != R_BOTH || !end->established || !peer->established)
		return;
	if (peer->received < end->sent || peer->received > end->asked)
		test_fail("EP %u has sent %llu messages of %llu, its peer received %llu",
			  end->index, end->sent, end->asked, peer->received);
	acct_check_written(end);
}

/*
 * Posts a request with an event after all others. When everything with an event has completed,
 * the suppressed requests have succeeded.
 */
static void account_silent(struct end *end)
{
	struct end *pair = &fx.end[end->index & ~1];

	if (fixture_wait(marked, end) || fixture_wait(both_back, pair)) {
		test_fail("EP %u: some posts have not completed", end->index);
		return;
	}
	acct_suppressed(end);
	check_arrived(end);
	if (end->index == EPS - 1)
		check_srq();
}

static void renew(struct end *end)
{
	DAT_RETURN ret;

	if (ledger_rnd(2)) {
		ret = dat_ep_reset(end->ep);
		counts.resets++;
	} else {
		ret = dat_ep_free(end->ep);
		end->ep = DAT_HANDLE_NULL;
		counts.frees++;
		if (ret == DAT_SUCCESS) {
			acct_returned(end->requests);
			acct_returned(end->recvs);
			ret = fixture_make_ep(end);
		}
	}
	if (ret == DAT_SUCCESS) {
		acct_returned(end->requests);
		acct_returned(end->recvs);
		if (end->index != EPS - 1)
			end->credit = 0;
		return;
	}
	if (!fixture_going())
		test_fail("EP %u could not be reset or remade: %#x", end->index, ret);
}

static DAT_RETURN replace_srq(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SRQ_DEPTH, .max_recv_iov = 2 };
	DAT_RETURN ret = dat_srq_free(fx.srq);

	if (ret == DAT_SUCCESS)
		fx.srq = DAT_HANDLE_NULL;
	acct_returned(fx.end[EPS - 1].recvs);
	fx.srq_ends = 0;
	return ret ?: dat_srq_create(fx.t.ia, fx.t.pz, &attr, &fx.srq);
}

/*
 * A new EP on the same SRQ: it uses the remaining receives, except for one that the old EP may
 * have kept. Or an EP on a new SRQ.
 */
static void renew_srq(void)
{
	struct end *end = &fx.end[EPS - 1];
	bool keep = ledger_rnd(2);
	DAT_RETURN ret;

	/* Dequeue the events before the end, because the free would remove them */
	fixture_drain();
	ret = dat_ep_free(end->ep);
	fx.srq_ends += end->established || end->ended;
	end->ep = DAT_HANDLE_NULL;
	acct_returned(end->requests);
	counts.frees++;
	if (ret == DAT_SUCCESS && !keep)
		ret = replace_srq();
	if (ret == DAT_SUCCESS)
		ret = fixture_make_ep(end);
	end->credit = max(0, acct_srq_out(false) - (int)fx.srq_ends);
	if (ret != DAT_SUCCESS && !fixture_going())
		test_fail("the SRQ could not be remade: %#x", ret);
}

/* Receives may be posted before there is a connection */
void traffic_prepare(struct end *end)
{
	unsigned int n = ledger_rnd(DEPTH);

	while (n--)
		post_recv(end);
}

/* A connection has ended: all posts complete, including those after the end */
void traffic_settle(struct end *end)
{
	post_after_end(end);
	account_silent(end);
}

/* An EP that may be connected again */
void traffic_renew(struct end *end)
{
	if (end->index == EPS - 1)
		renew_srq();
	else
		renew(end);
	end->asked = 0;
	end->sent = 0;
	end->received = 0;
	end->last_key = 0;
	/* Without an EP if the device was removed: its posts belong to the last connection */
	end->established = 0;
}

/* Each EP has one end event, and no event after it */
static void check_ended(const struct end *end)
{
	if (!fx.gone && (end[0].ended != 1 || end[1].ended != 1))
		test_fail("pair %u ended %u and %u times", end->index / 2, end[0].ended,
			  end[1].ended);
}

/* Only traffic_change() or a removal may have ended it */
static void check_alive(const struct end *end)
{
	if ((end[0].ended || end[1].ended) && !fixture_going())
		test_fail("pair %u ended without a disconnect", end->index / 2);
}

static void end_connection(struct end *end)
{
	struct end *by = &end[ledger_rnd(2)];
	bool graceful = !ledger_rnd(3) && !ledger_abrupt && (mixes() || !traffic_reads(by));
	DAT_RETURN ret;

	fixture_drain();
	check_alive(end);
	if (fx.gone)
		return;
	ret = dat_ep_disconnect(by->ep, graceful ? DAT_CLOSE_GRACEFUL_FLAG :
						   DAT_CLOSE_ABRUPT_FLAG);
	counts.disconnects++;
	if (ret != DAT_SUCCESS)
		test_fail("EP %u: dat_ep_disconnect returned %#x", by->index, ret);
	if (fixture_wait(both_ended, end))
		test_fail("pair %u: %u and %u disconnect events, expected 1 each",
			  end->index / 2, end[0].ended, end[1].ended);
	else
		check_ended(end);
}

/**
 * traffic_change - end the connection of a pair, renew the EPs, and connect them
 */
void traffic_change(void)
{
	unsigned int pair = ledger_rnd(PAIRS), tries;
	struct end *end = &fx.end[2 * pair];
	int err;

	end_connection(end);
	if (fx.gone)
		return;
	if (ledger_rnd(2)) {
		post_after_end(&end[0]);
		post_after_end(&end[1]);
		account_silent(&end[0]);
		account_silent(&end[1]);
		check_ended(end);
	}
	for (tries = 0; tries < 3 && !fx.gone && !test_failures(); tries++) {
		traffic_renew(&end[0]);
		traffic_renew(&end[1]);
		if (fx.gone || test_failures())
			return;
		err = fixture_connect(pair);
		if (!err)
			return;
		if (err != -EAGAIN)
			break;
	}
	if (!test_failures() && !fixture_going())
		test_fail("pair %u could not be reconnected", pair);
}

static bool all_back(void *unused)
{
	unsigned int i;

	for (i = 0; i < EPS; i++)
		if (acct_waiting(&fx.end[i]))
			return false;
	return true;
}

/**
 * traffic_end_all - the device was removed, or the test ends: all posts must complete
 *
 * Except for the receives of the SRQ, which its free returns.
 */
void traffic_end_all(void)
{
	unsigned int i;

	fixture_drain();
	for (i = 0; i < PAIRS && !fx.gone && ledger_role == R_BOTH && !test_failures(); i++)
		check_alive(&fx.end[2 * i]);
	for (i = 0; i < EPS && !fx.gone; i++)
		if (fx.end[i].ep)
			dat_ep_disconnect(fx.end[i].ep, DAT_CLOSE_ABRUPT_FLAG);
	if (!fx.gone || counts.removals++ % 2)
		return;
	/* At every other removal wait for the events; otherwise the frees return the posts */
	if (fixture_wait(all_back, NULL))
		test_fail("the device was removed, and some posts have not completed");
	for (i = 0; i < EPS && !test_failures(); i++)
		if (fx.end[i].ep)
			account_silent(&fx.end[i]);
}
