// SPDX-License-Identifier: GPL-2.0
/*
 * The hostile server. It admits or refuses clients, and answers their commands correctly, out of
 * order, twice or with spoiled messages. It expects that each command is well-formed.
 *
 * The thread of the test frees connections; the callback of rdma_cm makes them, and received()
 * runs in completions, serially for a connection.
 */
#include <linux/mutex.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include "hostile.h"

#define CAPACITY	16384	/* sectors */

static DEFINE_MUTEX(lock);	/* guards peers */
static LIST_HEAD(peers);

/*
 * Should the server inject a fault? True for one in @n calls, at random. The server injects no
 * faults before hostile_counting is set, so that the disks can connect.
 */
static bool one_in(struct hostile_peer *peer, u32 n)
{
	return READ_ONCE(hostile_counting) && hostile_one_in(&peer->rnd, n);
}

/*
 * The device is always the same, so that the client accepts it after a reconnect. Now and then its
 * instance changes, as if writes had been lost. @limits: the limits that the peers have agreed on;
 * receives those that the client finds in the welcome. Returns false if the client must refuse the
 * welcome.
 */
static bool fill_welcome(struct hostile_peer *peer, struct datblk_welcome *welcome,
			 struct datblk_limits *limits, u32 incarnation, const u8 *mac)
{
	struct datblk_geometry geo = {
		.capacity = CAPACITY,
		.flags = DATBLK_WRITE_CACHE | DATBLK_CAN_DISCARD | DATBLK_CAN_ZEROES,
		.logical = DATBLK_SECTOR,
		.physical = DATBLK_IO_UNIT,
		.discard_granularity = DATBLK_IO_UNIT,
		.discard_sectors = CAPACITY,
		.zeroes_sectors = CAPACITY,
		.uuid = UUID_INIT(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
		.instance = incarnation / 16,
	};

	datblk_fill_welcome(welcome, limits, &geo);
	if (mac)
		memcpy(welcome->proof, mac, sizeof(welcome->proof));
	/* Not the identity and the size: a client that accepted wrong ones would never reconnect */
	if (one_in(peer, 16))
		hostile_flip(&peer->rnd, welcome, offsetof(struct datblk_welcome, capacity));
	return !datblk_check_welcome(welcome, sizeof(*welcome), limits, &geo);
}

static void fill_refusal(struct hostile_peer *peer, struct datblk_refusal *refusal)
{
	*refusal = (struct datblk_refusal){
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.status = cpu_to_le16(hostile_below(&peer->rnd, DATBLK_REFUSE_MAX + 3)),
	};
}

static void write_to(struct hostile_peer *peer, const struct datblk_command *c)
{
	u32 more = c->length + DATBLK_SECTOR;
	bool beyond = more <= HOSTILE_REGION && one_in(peer, 8);
	struct ib_sge sge = {
		.addr = (uintptr_t)peer->region,
		.length = beyond ? more : min_t(u32, c->length, HOSTILE_REGION),
		.lkey = peer->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE,
			.wr_cqe = beyond ? &peer->beyond : &peer->rdma },
		.remote_addr = c->address,
		.rkey = c->key,
	};

	if (ib_post_send(peer->id->qp, &wr.wr, NULL))
		hostile_peer_over(peer);
}

/* Sends the answer that waits, if there is one */
static void send_held(struct hostile_peer *peer)
{
	struct hostile_slot *slot = peer->held;

	peer->held = NULL;
	if (slot)
		hostile_send(slot, peer->held_size, 0, false);
}

/* Checks that a LOGIN is correct. @data: the data of the LOGIN; @req: receives its contents */
static void check_login(struct hostile_peer *peer, const struct datblk_command *c, const void *data,
			struct datblk_login *req)
{
	size_t size = sizeof(struct datblk_wire_login);

	if (datblk_check_login(data, size, req))
		test_fail("the client's LOGIN: expected a correct one");
	else if (memcmp(&req->limits, &peer->limits, sizeof(req->limits)))
		test_fail("the client's LOGIN: expected the limits of the connection");
	else if (memchr_inv(data + size, 0, DATBLK_LOGIN_BYTES - size))
		test_fail("the client's LOGIN: expected zeroes after its data");
	else if (peer->numbers & BIT(c->login))
		test_fail("the client's LOGIN: expected a free number, got %u", c->login);
}

/*
 * Fills in the data of the answer to a LOGIN, which may be incorrect. @request is the data of the
 * LOGIN. It is NULL if the command is answered again. Returns whether the client must accept the
 * login.
 */
static bool answer_login(struct hostile_peer *peer, const struct datblk_command *c, void *data,
			 const void *request)
{
	struct datblk_limits limits = peer->limits;
	struct datblk_login req = {};
	bool admitted = false;

	if (request)
		check_login(peer, c, request, &req);
	if (one_in(peer, 8))
		fill_refusal(peer, data);
	else
		admitted = fill_welcome(peer, data, &limits, req.incarnation, NULL);
	if (one_in(peer, 16)) {
		prandom_bytes_state(&peer->rnd, data, DATBLK_LOGIN_BYTES);
		return false;
	}
	return request && admitted && !memcmp(&limits, &peer->limits, sizeof(limits));
}

/* Counts a login when the client uses it for the first time: then it has accepted the answer */
static void use_login(struct hostile_peer *peer, const struct datblk_command *c)
{
	if (c->op >= DATBLK_OP_LOGIN || !(peer->numbers & ~peer->used & BIT(c->login)))
		return;
	peer->used |= BIT(c->login);
	hostile_logged_in();
}

static void end_login(struct hostile_peer *peer, u8 number)
{
	peer->numbers &= ~BIT(number);
	peer->used &= ~BIT(number);
}

static void answer(struct hostile_peer *peer, const struct datblk_command *cmds, unsigned int count,
		   const void *message)
{
	struct hostile_slot *slot = hostile_send_slot(peer);
	struct rnd_state *rnd = &peer->rnd;
	u32 size, key = cmds->key;
	bool admitted = false;

	/* An answer to a LOGIN without headers would answer the older command */
	if (cmds->op == DATBLK_OP_LOGIN)
		send_held(peer);
	/* All send buffers are in use: end the connection, and the client reconnects */
	if (!slot) {
		hostile_peer_over(peer);
		return;
	}
	size = hostile_answer(peer, slot->memory, cmds, count);
	if (cmds->op == DATBLK_OP_LOGIN)
		admitted = answer_login(peer, cmds, slot->memory,
					message ? message + cmds->offset : NULL);
	else if (cmds->op == DATBLK_OP_LOGOUT)
		end_login(peer, cmds->login);
	if (key && cmds->op == DATBLK_OP_READ && !one_in(peer, 8))
		write_to(peer, cmds);
	if (one_in(peer, 32))
		size = hostile_spoil(peer, slot->memory, size);
	else if (admitted)
		peer->numbers |= BIT(cmds->login);
	if (key && one_in(peer, 32))
		key = hostile_one_in(rnd, 2) ? 0 : key ^ BIT(hostile_below(rnd, 32));
	/* The client sends nothing after a LOGIN or LOGOUT, so no later answer would come */
	if (cmds->op < DATBLK_OP_LOGIN && !key && !peer->held && one_in(peer, 8)) {
		peer->held = slot;
		peer->held_size = size;
		return;
	}
	hostile_answered(count);
	hostile_send(slot, size, key, key);
	send_held(peer);
}

/*
 * Answers a command that has been answered, and tags that may have no command, some while the
 * client ends the connection
 */
static void answer_again(struct hostile_peer *peer, struct datblk_command *c)
{
	unsigned int i;

	for (i = hostile_below(&peer->rnd, HOSTILE_DEPTH); i && !READ_ONCE(peer->over); i--) {
		if (hostile_one_in(&peer->rnd, 2))
			c->tag = hostile_below(&peer->rnd, peer->limits.depth);
		answer(peer, c, 1, NULL);
	}
}

/*
 * The answer to a command with a key must be alone in its message. This server also sends the
 * answers to LOGIN and LOGOUT alone.
 */
static bool answered_alone(const struct datblk_command *c)
{
	return c->key || c->op == DATBLK_OP_LOGIN || c->op == DATBLK_OP_LOGOUT;
}

/* Completions: serial */
static void received(struct hostile_peer *peer, const void *message, const struct ib_wc *wc)
{
	struct datblk_command cmds[DATBLK_BATCH];
	unsigned int count, i, first = 0;
	enum datblk_flaw flaw;

	if (peer->unproved) {
		test_fail("the client sent a message to a server that has not proved its key");
		return;
	}
	flaw = datblk_parse_commands(message, wc->byte_len, &peer->limits, cmds, &count);
	if (flaw) {
		test_fail("the client's command: expected a correct one, got: %s",
			  datblk_flaw_text(flaw));
		return;
	}
	for (i = 0; i < count; i++) {
		use_login(peer, &cmds[i]);
		if (!answered_alone(&cmds[i]) && i + 1 < count && !answered_alone(&cmds[i + 1]) &&
		    !hostile_one_in(&peer->rnd, 2))
			continue;
		answer(peer, &cmds[first], i + 1 - first, message);
		first = i + 1;
	}
	if (one_in(peer, 16))
		answer_again(peer, cmds);
	if (cmds[count - 1].op != DATBLK_OP_PING)
		return;
	/* After the first one: it waits for an answer that was spoiled, and would wait forever */
	if (peer->greeted && READ_ONCE(hostile_counting))
		hostile_peer_over(peer);
	peer->greeted = true;
}

static void rdma_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		hostile_peer_over(cq->cq_context);
}

/* The key covers exactly the bytes of the request */
static void beyond_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status == IB_WC_SUCCESS)
		test_fail("a write beyond the memory of a key: expected an error");
	hostile_peer_over(cq->cq_context);
}

static int refuse(struct hostile_peer *peer)
{
	struct datblk_refusal refusal;

	fill_refusal(peer, &refusal);
	return rdma_reject(peer->id, &refusal, hostile_below(&peer->rnd, sizeof(refusal) + 1),
			   IB_CM_REJ_CONSUMER_DEFINED);
}

static int admit(struct hostile_peer *peer, const struct rdma_conn_param *request,
		 u32 incarnation, const u8 *mac)
{
	struct datblk_welcome welcome;
	struct rdma_conn_param param = {
		.private_data = &welcome,
		.private_data_len = sizeof(welcome),
		.responder_resources = request->responder_resources,
		.initiator_depth = request->initiator_depth,
		.rnr_retry_count = 7,
	};

	fill_welcome(peer, &welcome, &peer->limits, incarnation, mac);
	/* The login of the connection itself is not a LOGIN */
	peer->numbers = BIT(0);
	peer->used = BIT(0);
	return rdma_accept(peer->id, &param);
}

/* As a server that wants to learn the key, or to look as if it had it */
static int challenge(struct hostile_peer *peer)
{
	struct datblk_challenge c = {
		.refusal = {
			.magic = cpu_to_le32(DATBLK_MAGIC),
			.version = cpu_to_le16(DATBLK_VERSION),
			.status = cpu_to_le16(DATBLK_CHALLENGED),
		},
	};
	/* What kDAPL puts before the private data of a reject */
	u8 message[4 + sizeof(c)] = { 2, 0, 2, 0 };

	prandom_bytes_state(&peer->rnd, c.nonce, sizeof(c.nonce));
	memcpy(message + 4, &c, sizeof(c));
	return rdma_reject(peer->id, message, sizeof(message), IB_CM_REJ_CONSUMER_DEFINED) ?:
	       -ECONNREFUSED;
}

/*
 * A client with a key. It is admitted without a challenge, or with a proof that is wrong: that of
 * the client itself, random bytes, or none.
 */
static int tempt(struct hostile_peer *peer, const struct rdma_conn_param *param,
		 const struct datblk_wire_proof *proof)
{
	u8 mac[DATBLK_MAC] = {};
	int err;

	peer->unproved = true;
	peer->limits = (struct datblk_limits){
		.depth = 1,
		.inline_max = DATBLK_INLINE_MAX,
		.io_max = SZ_64K,
	};
	if (!proof && !hostile_one_in(&peer->rnd, 4))
		return challenge(peer);
	if (proof && hostile_one_in(&peer->rnd, 2))
		memcpy(mac, proof->mac, sizeof(mac));
	else if (hostile_one_in(&peer->rnd, 2))
		prandom_bytes_state(&peer->rnd, mac, sizeof(mac));
	err = hostile_peer_make(peer, true);
	return err ?: admit(peer, param, 0, mac);
}

static int requested(struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	struct hostile_peer *peer = hostile_peer_new();
	struct datblk_login req;
	int err = -EPROTO;

	if (!peer)
		return -ENOMEM;
	peer->id = id;
	peer->received = received;
	peer->rdma.done = rdma_done;
	peer->beyond.done = beyond_done;
	id->context = peer;
	hostile_count();
	if (datblk_is_proof(param->private_data, param->private_data_len)) {
		err = tempt(peer, param, param->private_data);
	} else if (datblk_check_login(param->private_data, param->private_data_len, &req)) {
		test_fail("the client's login: expected a correct one");
	} else if (req.wants_proof) {
		err = tempt(peer, param, NULL);
	} else {
		req.limits.depth = min_t(u32, req.limits.depth, HOSTILE_DEPTH);
		peer->limits = req.limits;
		if (one_in(peer, 16))
			err = refuse(peer) ?: -ECONNREFUSED;
		else
			err = hostile_peer_make(peer, true) ?:
			      admit(peer, param, req.incarnation, NULL);
	}
	mutex_lock(&lock);
	list_add(&peer->link, &peers);
	mutex_unlock(&lock);
	if (err)
		hostile_peer_over(peer);
	return 0;
}

static int handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return requested(id, &event->param.conn);
	hostile_peer_note(id->context, event);
	return 0;
}

/* Frees the connections that are over, or all */
static void reap(bool all)
{
	struct hostile_peer *peer, *next;
	LIST_HEAD(over);

	mutex_lock(&lock);
	list_for_each_entry_safe(peer, next, &peers, link)
		if (all || READ_ONCE(peer->over))
			list_move(&peer->link, &over);
	mutex_unlock(&lock);
	list_for_each_entry_safe(peer, next, &over, link)
		hostile_peer_free(peer);
}

/**
 * hostile_server - the thread of the test
 *
 * Context: process.
 */
void hostile_server(void)
{
	struct sockaddr_storage to;
	struct rdma_cm_id *id;
	int err;

	if (!hostile_to(&to))
		return;
	id = rdma_create_id(&init_net, handler, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		test_fail("no id: %ld", PTR_ERR(id));
		return;
	}
	err = rdma_bind_addr(id, (struct sockaddr *)&to) ?: rdma_listen(id, 16);
	if (err)
		test_fail("expected to listen, got %d", err);
	while (!hostile_done()) {
		reap(false);
		kdapl_nap(5000, 10000);
	}
	/* Waits for its callbacks, so no connection is added afterwards */
	rdma_destroy_id(id);
	reap(true);
}
