// SPDX-License-Identifier: GPL-2.0
/*
 * The objects of the ledger test: created when the device exists, destroyed when it was
 * removed or the test ends. The last EP uses an SRQ. With a role, only the EPs of that
 * side exist.
 *
 * Called by the one thread of the test.
 */
#include <linux/jiffies.h>
#include <linux/string.h>
#include "ledger.h"

struct ledger_fixture fx;

/* Does this EP belong to this kernel? */
bool fixture_owns(unsigned int index)
{
	return ledger_role == R_BOTH || (index & 1) == (ledger_role == R_SERVER);
}

/* ---- events ---------------------------------------------------------------------------- */

/* The end with this EP; NULL if there is none any more */
struct end *fixture_end_of(DAT_EP_HANDLE ep)
{
	unsigned int i;

	for (i = 0; i < EPS; i++)
		if (ep && fx.end[i].ep == ep)
			return &fx.end[i];
	return ep && fx.bye.ep == ep ? &fx.bye : NULL;
}

/* The private data of a request and of an answer */
struct ledger_hello fixture_hello(u16 pair)
{
	return (struct ledger_hello) {
		.arena = (unsigned long)fx.arena,
		.key = fx.t.mem.rmr_context,
		.pair = pair,
		.round = ledger_round,
	};
}

static void take_conn(const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *conn = &event->event_data.connect_event_data;
	struct end *end = fixture_end_of(conn->ep_handle);

	if (!end) {
		test_fail("event %#x of an EP that was freed", event->event_number);
		return;
	}
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		end->established++;
		if (conn->private_data_size >= (DAT_COUNT)sizeof(end->peer))
			memcpy(&end->peer, conn->private_data, sizeof(end->peer));
	} else {
		end->ended++;
	}
	if (ledger_role != R_BOTH)
		side_conn(end, event->event_number);
	else if (event->event_number == DAT_CONNECTION_EVENT_BROKEN)
		counts.broken++;
}

static bool accept(DAT_CR_HANDLE cr, const struct ledger_hello *hello)
{
	struct ledger_hello answer = fixture_hello(hello->pair);
	struct end *end;

	if (hello->pair >= PAIRS)
		return false;
	end = &fx.end[2 * hello->pair + 1];
	if (!end->ep)
		return false;
	end->peer = *hello;
	return dat_cr_accept(cr, end->ep, sizeof(answer), &answer) == DAT_SUCCESS;
}

/* A request is for the upper EP of a pair, which its data names */
static void take_cr(DAT_CR_HANDLE cr)
{
	struct ledger_hello hello;
	DAT_CR_PARAM param;

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS)
		return;
	if (param.private_data_size < (DAT_COUNT)sizeof(hello)) {
		dat_cr_reject(cr, 0, NULL);
		return;
	}
	memcpy(&hello, param.private_data, sizeof(hello));
	if (ledger_role != R_BOTH)
		side_request(cr, &hello);
	else if (!accept(cr, &hello))
		dat_cr_reject(cr, 0, NULL);
}

/* Dequeues all events */
void fixture_drain(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(fx.t.dto, &event) == DAT_SUCCESS)
		acct_event(&event.event_data.dto_completion_event_data);
	while (dat_evd_dequeue(fx.t.conn, &event) == DAT_SUCCESS)
		take_conn(&event);
	while (dat_evd_dequeue(fx.t.cr, &event) == DAT_SUCCESS)
		take_cr(event.event_data.cr_arrival_event_data.cr_handle);
	while (dat_evd_dequeue(fx.t.async, &event) == DAT_SUCCESS)
		if (event.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC)
			fx.gone = true;
}

static bool drained(bool (*done)(void *data), void *data)
{
	fixture_drain();
	return done(data);
}

/* Dequeues events until the condition is true; 0, or -ETIMEDOUT */
int fixture_wait(bool (*done)(void *data), void *data)
{
	return test_wait(drained(done, data), TEST_HANG_MS) ? 0 : -ETIMEDOUT;
}

static bool is_gone(void *unused)
{
	return fx.gone;
}

/* Something failed: because of a device removal? Its event may still arrive */
bool fixture_going(void)
{
	return test_wait(drained(is_gone, NULL), TEST_HANG_MS);
}

/* ---- objects ----------------------------------------------------------------------------- */

DAT_RETURN fixture_make_ep(struct end *end)
{
	DAT_EP_ATTR attr = test_ep_attr(DATA, DEPTH, 2);

	attr.max_rdma_read_in = 4;
	attr.max_rdma_read_out = 4;
	attr.max_rdma_read_iov = 1;
	attr.max_rdma_write_iov = 2;
	attr.srq_soft_hw = DAT_HW_DEFAULT;
	end->credit = 0;
	if (end->index == EPS - 1)
		return dat_ep_create_with_srq(fx.t.ia, fx.t.pz, fx.t.dto, fx.t.dto, fx.t.conn,
					      fx.srq, &attr, &end->ep);
	return dat_ep_create(fx.t.ia, fx.t.pz, fx.t.dto, fx.t.dto, fx.t.conn, &attr, &end->ep);
}

static bool established(void *data)
{
	struct end *end = data;

	return (end[0].established && end[1].established) || end[0].ended || end[1].ended ||
	       fx.gone;
}

/* Connects a pair; 0, -EAGAIN after a failure that may be temporary */
int fixture_connect(unsigned int pair)
{
	struct end *end = &fx.end[2 * pair];
	struct ledger_hello hello = fixture_hello(pair);
	DAT_RETURN ret;

	end[0].established = 0;
	end[1].established = 0;
	end[0].ended = 0;
	end[1].ended = 0;
	ret = test_connect(&fx.t, end[0].ep, QUAL, &hello, sizeof(hello));
	if (ret != DAT_SUCCESS)
		return fixture_going() ? -EAGAIN : -EIO;
	if (fixture_wait(established, end))
		return -ETIMEDOUT;
	return end[0].established && end[1].established ? 0 : -EAGAIN;
}

static int make_objects(void)
{
	DAT_SRQ_ATTR srq = { .max_recv_dtos = SRQ_DEPTH, .max_recv_iov = 2 };
	unsigned int i;

	if (test_fixture_make(&fx.t, 64, test_evd_flags(DAT_EVD_DTO_FLAG, false), fx.arena,
			      acct_size()))
		return -EIO;
	if (ledger_role != R_CLIENT &&
	    (dat_srq_create(fx.t.ia, fx.t.pz, &srq, &fx.srq) || test_listen(&fx.t, QUAL)))
		return -EIO;
	for (i = 0; i < EPS; i++)
		if (fixture_owns(i) && fixture_make_ep(&fx.end[i]))
			return -EIO;
	return ledger_role == R_CLIENT && fixture_make_ep(&fx.bye) ? -EIO : 0;
}

static void init_end(struct end *end, unsigned int index)
{
	memset(end, 0, sizeof(*end));
	end->index = index;
	if (index < EPS)
		acct_init_end(end);
}

/* Opens the IA if the device exists; 0, -EAGAIN: not yet, or another errno */
int fixture_open(void)
{
	unsigned int i;
	int err;

	if (test_fixture_open(&fx.t, test_ia_name))
		return -EAGAIN;
	fx.gone = false;
	fx.srq_ends = 0;
	for (i = 0; i < EPS; i++)
		init_end(&fx.end[i], i);
	init_end(&fx.bye, EPS);
	fx.srq = DAT_HANDLE_NULL;
	err = make_objects();
	if (err) {
		/* The device may have been removed before all was created */
		if (fixture_going())
			err = -EAGAIN;
		dat_ia_close(fx.t.ia, DAT_CLOSE_ABRUPT_FLAG);
		fx.t.ia = DAT_HANDLE_NULL;
		return err;
	}
	return 0;
}

/* Frees everything; no free may fail, and nothing may be left */
int fixture_close(void)
{
	DAT_EVENT event;
	unsigned int i;
	int bad = 0;

	for (i = 0; i < EPS; i++) {
		/* One that could not be created again, because the device was removed */
		if (fx.end[i].ep)
			bad |= dat_ep_free(fx.end[i].ep) != DAT_SUCCESS;
		fx.end[i].ep = DAT_HANDLE_NULL;
		acct_returned(fx.end[i].requests);
		if (i != EPS - 1)
			acct_returned(fx.end[i].recvs);
	}
	if (fx.bye.ep)
		bad |= dat_ep_free(fx.bye.ep) != DAT_SUCCESS;
	fx.bye.ep = DAT_HANDLE_NULL;
	if (fx.srq)
		bad |= dat_srq_free(fx.srq) != DAT_SUCCESS;
	fx.srq = DAT_HANDLE_NULL;
	acct_returned(fx.end[EPS - 1].recvs);
	side_refuse_all();
	bad |= test_unlisten(&fx.t) != DAT_SUCCESS;
	/* All EPs were freed, so no event may be queued */
	if (dat_evd_dequeue(fx.t.dto, &event) == DAT_SUCCESS ||
	    dat_evd_dequeue(fx.t.conn, &event) == DAT_SUCCESS)
		test_fail("an event is queued after the last EP was freed");
	bad |= test_fixture_free(&fx.t) != DAT_SUCCESS;
	if (bad)
		test_fail("an object cannot be freed");
	if (test_fixture_close(&fx.t) != DAT_SUCCESS)
		test_fail("the graceful close found an object on the IA");
	return 0;
}
