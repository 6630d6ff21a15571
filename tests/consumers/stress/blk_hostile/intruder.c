// SPDX-License-Identifier: GPL-2.0
/*
 * A client without the key of a device. It tries each way to get a connection that the protocol
 * leaves, and to send a write. The server must refuse each, for the right reason. Runs in the
 * thread of the test.
 */
#include "hostile.h"

/* Bytes that kDAPL puts before the private data of a reject */
#define PREFIX	4

static void received(struct hostile_peer *peer, const void *message, const struct ib_wc *wc)
{
	test_fail("the server sent %u bytes to a client without the key", wc->byte_len);
}

/* Sends a write, although there is no connection */
static void write_something(struct hostile_peer *peer)
{
	struct hostile_slot *slot = hostile_send_slot(peer);
	unsigned int count;

	peer->geo.capacity = 8;
	peer->over = false;
	if (slot)
		hostile_send(slot, hostile_commands(peer, slot->memory, &count), 0, false);
}

/* Sends a request. Returns the status of the refusal; challenge: receives what comes with it */
static unsigned int attempt(const void *request, size_t size, struct datblk_challenge *challenge)
{
	struct rdma_conn_param param = {
		.private_data = request,
		.private_data_len = size,
		.responder_resources = 1,
		.initiator_depth = 1,
	};
	struct hostile_peer *peer = hostile_peer_new();
	unsigned int status = DATBLK_ADMIT;

	if (!peer)
		return status;
	peer->received = received;
	peer->limits = (struct datblk_limits){ .depth = 1, .inline_max = DATBLK_INLINE_MAX };
	hostile_count();
	if (hostile_resolve(peer) && !hostile_peer_make(peer, true) &&
	    !rdma_connect(peer->id, &param) && !hostile_wait_outcome(peer) &&
	    peer->private_size >= PREFIX) {
		status = datblk_check_refusal(peer->private + PREFIX, peer->private_size - PREFIX);
		if (peer->private_size >= PREFIX + sizeof(*challenge))
			memcpy(challenge, peer->private + PREFIX, sizeof(*challenge));
	}
	write_something(peer);
	hostile_peer_free(peer);
	return status;
}

static void expect(const char *what, const void *request, size_t size,
		   struct datblk_challenge *challenge, unsigned int wanted)
{
	unsigned int status = attempt(request, size, challenge);

	if (status != wanted)
		test_fail("%s: expected \"%s\", got \"%s\"", what, datblk_refusal_text(wanted),
			  datblk_refusal_text(status));
}

static void log_in(struct datblk_login *req, const char *what, struct datblk_challenge *challenge,
		   unsigned int wanted)
{
	struct datblk_wire_login login;

	datblk_fill_login(&login, req);
	expect(what, &login, sizeof(login), challenge, wanted);
}

/**
 * hostile_intruder - the thread of the test
 *
 * Context: process.
 */
void hostile_intruder(void)
{
	struct datblk_wire_proof proof = {
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.features = cpu_to_le16(DATBLK_HAS_PROOF),
	};
	struct datblk_login req = {
		.limits = { .depth = 1, .inline_max = DATBLK_INLINE_MAX, .io_max = SZ_64K },
		.host = BIT_ULL(32),
		.queues = 1,
	};
	struct datblk_challenge challenge = {};
	struct rnd_state rnd;

	hostile_seed(&rnd);
	strscpy_pad(req.name, hostile_names[0], sizeof(req.name));
	log_in(&req, "a login without a key", &challenge, DATBLK_REFUSE_KEYLESS);
	expect("a proof without a challenge", &proof, sizeof(proof), &challenge,
	       DATBLK_REFUSE_STALE);
	req.wants_proof = true;
	log_in(&req, "a login with a key", &challenge, DATBLK_CHALLENGED);
	memcpy(proof.challenge, challenge.nonce, sizeof(proof.challenge));
	prandom_bytes_state(&rnd, proof.mac, sizeof(proof.mac));
	expect("a random proof", &proof, sizeof(proof), &challenge, DATBLK_REFUSE_PROOF);
	expect("the same proof again", &proof, sizeof(proof), &challenge, DATBLK_REFUSE_STALE);
	log_in(&req, "another login with a key", &challenge, DATBLK_CHALLENGED);
	memcpy(proof.challenge, challenge.nonce, sizeof(proof.challenge));
	memset(proof.mac, 0, sizeof(proof.mac));
	expect("a proof of zeroes", &proof, sizeof(proof), &challenge, DATBLK_REFUSE_PROOF);
}
