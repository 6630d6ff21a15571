// SPDX-License-Identifier: GPL-2.0
/*
 * The hostile client. It keeps a few connections to the server and sends correct and spoiled
 * messages. While a connection has carried only correct messages, the server must answer each of
 * them. Runs in the thread of the test, except the callback of rdma_cm and received().
 */
#include <net/net_namespace.h>
#include "hostile.h"

#define PEERS	4

/* The first one is honest */
static struct hostile_peer *peers[PEERS];

/**
 * hostile_client_event - handle an event of rdma_cm
 * @id:    id of a connection
 * @event: the event
 *
 * Context: process.
 * Return: 0.
 */
int hostile_client_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct hostile_peer *peer = id->context;

	if (event->event != RDMA_CM_EVENT_ADDR_RESOLVED)
		hostile_peer_note(peer, event);
	else if (rdma_resolve_route(id, test_limit(TEST_HANG_MS) * 1000 / HZ))
		hostile_peer_over(peer);
	return 0;
}

/* Completions: serial */
static void received(struct hostile_peer *peer, const void *message, const struct ib_wc *wc)
{
	struct datblk_answer answers[DATBLK_BATCH];
	enum datblk_flaw flaw;
	unsigned int count, i;

	flaw = datblk_parse_answers(message, wc->byte_len, &peer->limits, answers, &count);
	if (flaw) {
		test_fail("the server's answer: expected a correct one, got: %s",
			  datblk_flaw_text(flaw));
		return;
	}
	hostile_answered(count);
	for (i = 0; peer->sound && i < count; i++) {
		if (answers[i].tag == DATBLK_TAG_OLDEST)
			answers[i].tag = find_first_bit(peer->outstanding,
							datblk_tags(&peer->limits));
		if (!test_and_clear_bit(answers[i].tag, peer->outstanding))
			test_fail("tag %u: got an answer without a command", answers[i].tag);
		if (peer->honest && answers[i].status && test_bit(answers[i].tag, peer->succeeds))
			test_fail("tag %u: expected a success, status %u", answers[i].tag,
				  answers[i].status);
		if (answers[i].tag != datblk_login_tag(&peer->limits))
			continue;
		peer->private_size = min_t(u32, answers[i].length, sizeof(peer->private));
		memcpy(peer->private, message + answers[i].offset, peer->private_size);
	}
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		WRITE_ONCE(peer->registered, false);
	WRITE_ONCE(peer->answers, peer->answers + count);
}

/* Waits for @cond, or the end of the connection; false: neither came */
#define wait_for(peer, cond)						\
({									\
	struct hostile_peer *__peer = (peer);				\
									\
	wait_event_timeout(__peer->wait, READ_ONCE(__peer->over) || (cond),	\
			   test_limit(TEST_HANG_MS));			\
})

/**
 * hostile_resolve - give a connection an id, with the route to the server
 * @peer: the connection
 *
 * Context: process.
 * Return: false: the failure has been noted.
 */
bool hostile_resolve(struct hostile_peer *peer)
{
	struct sockaddr_storage to;

	if (!hostile_to(&to))
		return false;
	peer->id = rdma_create_id(&init_net, hostile_client_event, peer, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(peer->id) ||
	    rdma_resolve_addr(peer->id, NULL, (struct sockaddr *)&to, TEST_HANG_MS)) {
		test_fail("the address cannot be resolved");
		return false;
	}
	if (!wait_for(peer, READ_ONCE(peer->resolved)) || !READ_ONCE(peer->resolved)) {
		test_fail("no route to the server");
		return false;
	}
	return true;
}

/* Sends a login. Its private data may be wrong or too short */
static bool call(struct hostile_peer *peer)
{
	struct datblk_wire_login login;
	struct rdma_conn_param param = {
		.private_data = &login,
		.private_data_len = sizeof(login),
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	hostile_login(peer, &login);
	if (!peer->honest && hostile_one_in(&peer->rnd, 8))
		hostile_flip(&peer->rnd, &login, sizeof(login));
	if (!peer->honest && hostile_one_in(&peer->rnd, 16))
		param.private_data_len = hostile_below(&peer->rnd, sizeof(login));
	return !rdma_connect(peer->id, &param);
}

/**
 * hostile_wait_outcome - wait until the server has admitted or refused a login
 * @peer: the connection
 *
 * Context: process.
 * Return: true: it was admitted.
 */
bool hostile_wait_outcome(struct hostile_peer *peer)
{
	/*
	 * Pairs with hostile_peer_note(): the private data are complete. The connection may be over
	 * before, because rdma_cm moves the QP to ERROR before it reports a reject.
	 */
	if (wait_event_timeout(peer->wait, smp_load_acquire(&peer->answered),
			       test_limit(TEST_HANG_MS)))
		return peer->established;
	test_fail("the server does not answer a login");
	return false;
}

/* Returns true for a correct welcome */
static bool admitted(struct hostile_peer *peer)
{
	if (!hostile_wait_outcome(peer))
		return false;
	if (!datblk_check_welcome(peer->private, peer->private_size, &peer->limits, &peer->geo))
		return true;
	/* A login that was changed may ask for less than hostile_login() did */
	return false;
}

/**
 * hostile_meet - connect to the server
 * @honest:   log in correctly, to the device for correct messages
 * @receives: post receives
 *
 * Context: process.
 * Return: the connection, or NULL; if it was to be honest, the test has then failed.
 */
struct hostile_peer *hostile_meet(bool honest, bool receives)
{
	struct hostile_peer *peer = hostile_peer_new();

	if (!peer)
		return NULL;
	peer->received = received;
	peer->honest = honest;
	peer->sound = receives;
	hostile_count();
	if (hostile_resolve(peer) && !hostile_peer_make(peer, peer->sound) && call(peer) &&
	    admitted(peer))
		return peer;
	if (honest)
		test_fail("expected a correct login to be admitted");
	hostile_peer_free(peer);
	return NULL;
}

/* Returns false if the connection is over */
static bool send_one(struct hostile_peer *peer, bool spoil)
{
	struct hostile_slot *slot = NULL;
	unsigned int count;
	u32 size;

	wait_for(peer, (slot = hostile_send_slot(peer)));
	if (!slot)
		return false;
	size = hostile_commands(peer, slot->memory, &count);
	peer->commands += count;
	if (spoil)
		size = hostile_spoil(peer, slot->memory, size);
	return hostile_send(slot, size, 0, false);
}

/* Messages that the server need not answer, without a wait */
static bool attack(struct hostile_peer *peer)
{
	u32 burst = 1 + hostile_below(&peer->rnd, 8);

	peer->sound = false;
	peer->logins = true;
	while (burst--)
		if (!send_one(peer, hostile_one_in(&peer->rnd, 2)))
			return false;
	return hostile_one_in(&peer->rnd, 2);
}

/**
 * hostile_all_answered - wait until all commands have been answered
 * @peer: a connection that has sent correct messages only
 *
 * Context: process.
 * Return: false if the connection ends first, or the answers take too long.
 */
bool hostile_all_answered(struct hostile_peer *peer)
{
	return wait_for(peer, READ_ONCE(peer->answers) == peer->commands) &&
	       !READ_ONCE(peer->over);
}

static bool correct(struct hostile_peer *peer)
{
	/* Another login may replace the connection, unless it is the honest one */
	if (send_one(peer, false) && hostile_all_answered(peer))
		return true;
	if (READ_ONCE(peer->over) && !peer->honest)
		return false;
	test_fail("expected answers to %u commands, got %u", peer->commands,
		  READ_ONCE(peer->answers));
	return false;
}

/* Returns false if the connection has served its purpose */
static bool turn(struct hostile_peer *peer)
{
	if (peer->honest)
		return correct(peer);
	if (READ_ONCE(peer->over) || hostile_one_in(&peer->rnd, 64))
		return false;
	return peer->sound && !hostile_one_in(&peer->rnd, 16) ? correct(peer) : attack(peer);
}

/**
 * hostile_expect_end - expect that the server ends a connection, but not the honest one
 * @peer: the connection, which is freed
 * @why:  what the connection has done, for the message of a failure
 *
 * Context: process.
 */
void hostile_expect_end(struct hostile_peer *peer, const char *why)
{
	wait_for(peer, false);
	if (!READ_ONCE(peer->over))
		test_fail("expected the end of a connection %s", why);
	hostile_peer_free(peer);
	if (!test_failures())
		correct(peers[0]);
}

/* Uses the same tags again and again, without a wait for answers */
static void overrun(void)
{
	struct hostile_peer *peer = hostile_meet(true, true);
	unsigned long end = test_deadline(TEST_HANG_MS);

	if (!peer)
		return;
	peer->honest = false;
	peer->sound = false;
	while (!test_stopping() && time_before(jiffies, end) && send_one(peer, false))
		;
	hostile_expect_end(peer, "that uses tags twice");
}

/* Its adapter asks for the repetition of each answer, and would do so forever */
static void deaf(void)
{
	struct hostile_peer *peer = hostile_meet(true, false);

	if (!peer)
		return;
	send_one(peer, false);
	hostile_expect_end(peer, "without receives");
}

/**
 * hostile_client - the thread of the test
 *
 * Context: process.
 */
void hostile_client(void)
{
	struct rnd_state rnd;
	unsigned int i;

	hostile_seed(&rnd);
	peers[0] = hostile_meet(true, true);
	if (peers[0]) {
		overrun();
		deaf();
		hostile_logins();
	}
	while (!hostile_done()) {
		i = hostile_below(&rnd, PEERS);
		if (!peers[i]) {
			peers[i] = hostile_meet(!i, !i || !hostile_one_in(&rnd, 8));
		} else if (!turn(peers[i])) {
			hostile_peer_free(peers[i]);
			peers[i] = NULL;
		}
	}
	for (i = 0; i < PEERS; i++) {
		if (peers[i])
			hostile_peer_free(peers[i]);
		peers[i] = NULL;
	}
}
