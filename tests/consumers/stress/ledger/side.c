// SPDX-License-Identifier: GPL-2.0
/*
 * One side of the ledger test between two kernels. The client connects its EPs, and
 * connects them again whenever a connection has ended or failed; the server accepts. Both
 * post, and both end connections. Neither waits for the other; each handles events when
 * they arrive. Only results that depend on this side alone must arrive in time: the end of
 * an attempt, and the end of a connection that it has ended.
 *
 * The test ends when both have made their posts. A client that has made its posts sends a
 * special request, "bye", and continues; the server rejects that request when it has made
 * its posts, too. With "survive" neither side ends a connection, and the test ends when all
 * of them have ended: a link goes down, or the other kernel dies.
 *
 * Called by the one thread of the test.
 */
#include <linux/jiffies.h>
#include "ledger.h"

#define LEAVE_ONE_IN	400		/* posts */
#define DRAIN_ONE_IN	8
#define GUARDS_ONE_IN	20000
#define IDLE_AFTER	32		/* posts that were not to be made */
#define AGAIN_MS	100		/* between attempts */
#define CONNECT_US	20000000	/* for an attempt */
#define LIMIT_MS	60000		/* for what must come whatever the peer does */

enum phase { P_IDLE, P_TRYING, P_UP, P_LEAVING, P_OVER };

static bool finished;

static enum phase phase_of(const struct end *end)
{
	if (end->ended)
		return P_OVER;
	if (!end->attempted)
		return P_IDLE;
	if (end->leaving)
		return P_LEAVING;
	return end->established ? P_UP : P_TRYING;
}

static bool older_than(const struct end *end, unsigned int ms)
{
	return time_after(jiffies, end->since + test_limit(ms));
}

/* ---- what has happened --------------------------------------------------------------------- */

/* One outcome of each attempt, one end of each connection (C-40, C-41) */
void side_conn(struct end *end, DAT_EVENT_NUMBER number)
{
	bool ends = number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		    number == DAT_CONNECTION_EVENT_BROKEN;

	if (!end->attempted || end->ended > 1 || end->established > 1)
		test_fail("EP %u: event %#x without an attempt, or after its end", end->index,
			  number);
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		if (end->ended)
			test_fail("EP %u: ESTABLISHED after the disconnect event", end->index);
		end->was_up = true;
		counts.connected++;
		return;
	}
	end->outcome = number;
	end->since = jiffies;
	if (!end->established)
		counts.failed++;
	else if (!ends)
		test_fail("EP %u: a connection ended with event %#x", end->index, number);
	else if (number == DAT_CONNECTION_EVENT_BROKEN)
		counts.broken++;
	else
		counts.left++;
}

/* Has every EP had a connection? */
bool side_all_connected(void)
{
	unsigned int i;

	for (i = 0; i < EPS; i++)
		if (fixture_owns(i) && !fx.end[i].was_up)
			return false;
	return true;
}

static void refuse(struct end *end)
{
	if (end->cr)
		dat_cr_reject(end->cr, 0, NULL);
	end->cr = DAT_HANDLE_NULL;
}

/*
 * If there are two requests for one EP, the client has cancelled the first. A client that has
 * missed the answer to its last request may still be in the previous round.
 */
void side_request(DAT_CR_HANDLE cr, const struct ledger_hello *hello)
{
	struct end *end = &fx.bye;

	if (hello->pair > PAIRS)
		test_fail("a request for pair %u, which is not expected", hello->pair);
	if (hello->pair > PAIRS || hello->round != ledger_round) {
		dat_cr_reject(cr, 0, NULL);
		return;
	}
	if (hello->pair < PAIRS)
		end = &fx.end[2 * hello->pair + 1];
	refuse(end);
	end->cr = cr;
	end->peer = *hello;
}

/* Requests that will not be answered any more */
void side_refuse_all(void)
{
	unsigned int i;

	for (i = 0; i < EPS; i++)
		refuse(&fx.end[i]);
	refuse(&fx.bye);
}

/* ---- what is to be done -------------------------------------------------------------------- */

static void attempt(struct end *end)
{
	end->attempted = true;
	end->since = jiffies;
}

static void ask(struct end *end, u16 pair)
{
	struct ledger_hello hello = fixture_hello(pair);
	DAT_RETURN ret;

	attempt(end);
	ret = dat_ep_connect(end->ep, (DAT_IA_ADDRESS_PTR)&ledger_peer, QUAL,
			     CONNECT_US * test_stretch(), sizeof(hello), &hello,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret == DAT_SUCCESS)
		return;
	/* The link may be down */
	end->attempted = false;
	if (DAT_GET_TYPE(ret) != DAT_INVALID_ADDRESS)
		test_fail("EP %u: dat_ep_connect returned %#x", end->index, ret);
}

static void answer(struct end *end)
{
	struct ledger_hello hello = fixture_hello(end->index / 2);
	DAT_RETURN ret;

	attempt(end);
	ret = dat_cr_accept(end->cr, end->ep, sizeof(hello), &hello);
	if (ret == DAT_SUCCESS)
		end->cr = DAT_HANDLE_NULL;
	else
		test_fail("EP %u: dat_cr_accept returned %#x", end->index, ret);
}

static void begin(struct end *end)
{
	if (ledger_role == R_SERVER ? !end->cr : !older_than(end, AGAIN_MS))
		return;
	traffic_prepare(end);
	if (ledger_role == R_SERVER)
		answer(end);
	else
		ask(end, end->index / 2);
}

static void leave(struct end *end, DAT_CLOSE_FLAGS how)
{
	DAT_RETURN ret = dat_ep_disconnect(end->ep, how);

	counts.disconnects++;
	end->leaving = true;
	end->since = jiffies;
	if (ret != DAT_SUCCESS)
		test_fail("EP %u: dat_ep_disconnect returned %#x", end->index, ret);
}

/*
 * Only the client disconnects gracefully: its messages may have to wait for buffers, which a
 * server in the same state would not post any more.
 */
static void leave_any(void)
{
	struct end *end = &fx.end[2 * ledger_rnd(PAIRS) + (ledger_role == R_SERVER)];
	bool graceful = ledger_rnd(2) && ledger_role == R_CLIENT && !traffic_reads(end);

	if (phase_of(end) == P_UP)
		leave(end, graceful ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG);
}

static void again(struct end *end)
{
	traffic_renew(end);
	end->established = 0;
	end->ended = 0;
	end->attempted = false;
	end->leaving = false;
	end->since = jiffies;
}

/* The survivor's connections must end; attempts that fail before do not count */
static void over(struct end *end)
{
	if (!ledger_survive) {
		if (ledger_rnd(2))
			traffic_settle(end);
		again(end);
	} else if (!end->established && !counts.broken && !counts.left) {
		again(end);
	} else if (!end->settled) {
		traffic_settle(end);
		end->settled = true;
	}
}

static void tend(struct end *end)
{
	switch (phase_of(end)) {
	case P_IDLE:
		begin(end);
		break;
	case P_TRYING:
		if (older_than(end, LIMIT_MS))
			test_fail("EP %u: an attempt without an outcome", end->index);
		fallthrough;
	case P_UP:
		/* The client connects again: its disconnect was lost */
		if (end->cr)
			leave(end, DAT_CLOSE_ABRUPT_FLAG);
		break;
	case P_LEAVING:
		if (older_than(end, LIMIT_MS))
			test_fail("EP %u: a disconnect without an event", end->index);
		break;
	case P_OVER:
		over(end);
		break;
	}
}

/* The server answers when it has finished; another REJECTED means that it has left */
static void bye_client(struct end *bye)
{
	switch (phase_of(bye)) {
	case P_IDLE:
		if (older_than(bye, AGAIN_MS))
			ask(bye, PAIRS);
		break;
	case P_OVER:
		finished = bye->outcome == DAT_CONNECTION_EVENT_PEER_REJECTED ||
			   bye->outcome == DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
		if (!finished)
			again(bye);
		break;
	default:
		break;
	}
}

static bool all_settled(void)
{
	unsigned int i;

	for (i = 0; i < EPS; i++)
		if (fixture_owns(i) && !fx.end[i].settled)
			return false;
	return true;
}

/* Is the test over? */
static bool side_over(void)
{
	if (finished || test_failures() || test_stopping())
		return true;
	if (ledger_survive)
		return all_settled();
	if (!ledger_enough())
		return false;
	if (ledger_role == R_CLIENT)
		bye_client(&fx.bye);
	else
		finished = fx.bye.cr != DAT_HANDLE_NULL;
	return finished;
}

static void play(void)
{
	unsigned int i, idle = 0;

	while (!side_over() && !fx.gone) {
		ledger_step();
		for (i = 0; i < EPS; i++)
			if (fixture_owns(i))
				tend(&fx.end[i]);
		if (traffic_post()) {
			idle = 0;
			if (!ledger_survive && !ledger_rnd(LEAVE_ONE_IN))
				leave_any();
		} else if (++idle == IDLE_AFTER) {
			idle = 0;
			kdapl_nap(200, 500);
		}
		if (!idle || !ledger_rnd(DRAIN_ONE_IN))
			fixture_drain();
		if (!ledger_rnd(GUARDS_ONE_IN))
			acct_check_guards();
		cond_resched();
	}
}

/**
 * side_run - run the test of one side
 */
void side_run(void)
{
	int err = fixture_open();

	if (err) {
		test_fail("the IA could not be opened: %d", err);
		return;
	}
	play();
	if (fx.gone)
		test_fail("the device was removed");
	traffic_end_all();
	fixture_close();
	acct_check_guards();
}
