// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of the hostile peers: correct ones, and what spoils them. Any context; the caller
 * serializes the use of a connection's random numbers.
 */
#include "hostile.h"

/* Bytes at the end of a message that have the headers and the trailer */
#define TAIL	320U

/*
 * There are few hosts and disks, so that logins run into the server's fence. Only an honest peer
 * has its own host and device.
 */
static struct datblk_login random_login(struct hostile_peer *peer)
{
	struct rnd_state *rnd = &peer->rnd;
	int name = hostile_name_count - 1;
	struct datblk_login req = {
		.limits = peer->limits,
		.host = peer->honest ? BIT_ULL(32) + prandom_u32_state(rnd) :
				       1 + hostile_below(rnd, 3),
		.boot = hostile_below(rnd, 2),
		.incarnation = prandom_u32_state(rnd),
		.disk = hostile_below(rnd, 2),
		.queue = 0,
		.queues = 1,
	};

	if (!peer->honest)
		name = hostile_below(rnd, max(name, 1));
	strscpy_pad(req.name, hostile_names[name], sizeof(req.name));
	return req;
}

/**
 * hostile_login - fill in a correct login
 * @peer:  its connection; receives the limits that it asks for
 * @login: receives the login
 */
void hostile_login(struct hostile_peer *peer, struct datblk_wire_login *login)
{
	struct datblk_login req;

	peer->limits = (struct datblk_limits){
		.depth = 1 + hostile_below(&peer->rnd, HOSTILE_DEPTH),
		.inline_max = DATBLK_INLINE_MAX,
		.io_max = SZ_128K,
	};
	req = random_login(peer);
	datblk_fill_login(login, &req);
}

/* Fills in a LOGOUT, or a LOGIN whose data may be malformed. Returns the size of the data */
static u32 random_login_command(struct hostile_peer *peer, struct datblk_command *c, void *data)
{
	struct datblk_login req;

	*c = (struct datblk_command){
		.op = DATBLK_OP_LOGOUT,
		.tag = datblk_login_tag(&peer->limits),
		.login = hostile_one_in(&peer->rnd, 8) ? 0 : 1 + hostile_below(&peer->rnd, 2),
	};
	if (hostile_one_in(&peer->rnd, 4))
		return 0;
	c->op = DATBLK_OP_LOGIN;
	c->flags = DATBLK_INLINE;
	c->length = DATBLK_LOGIN_BYTES;
	req = random_login(peer);
	memset(data, 0, DATBLK_LOGIN_BYTES);
	datblk_fill_login(data, &req);
	if (hostile_one_in(&peer->rnd, 4))
		hostile_flip(&peer->rnd, data, sizeof(struct datblk_wire_login) + 8);
	return DATBLK_LOGIN_BYTES;
}

static void random_command(struct hostile_peer *peer, struct datblk_command *c)
{
	static const u8 ops[] = { DATBLK_OP_READ, DATBLK_OP_READ, DATBLK_OP_WRITE, DATBLK_OP_WRITE,
				  DATBLK_OP_FLUSH, DATBLK_OP_DISCARD, DATBLK_OP_ZEROES };
	struct rnd_state *rnd = &peer->rnd;

	c->op = ops[hostile_below(rnd, ARRAY_SIZE(ops))];
	if (peer->logins && hostile_one_in(rnd, 8))
		c->login = 1 + hostile_below(rnd, 2);
	if (c->op == DATBLK_OP_FLUSH)
		return;
	c->length = (1 + hostile_below(rnd, 4)) * DATBLK_SECTOR;
	/* Now and then beyond the end of the device: that is an error of the command */
	c->sector = hostile_below(rnd, peer->geo.capacity + 8);
	if (c->op == DATBLK_OP_READ || c->op == DATBLK_OP_WRITE)
		c->flags |= DATBLK_INLINE;
	if (c->op == DATBLK_OP_WRITE && hostile_one_in(rnd, 4))
		c->flags |= DATBLK_FUA;
}

/* Turns a read or a write into one of the region. Its answer is a message of its own */
static void with_key(struct hostile_peer *peer, struct datblk_command *c)
{
	u32 sectors = HOSTILE_REGION / DATBLK_SECTOR;
	u32 skip = hostile_below(&peer->rnd, sectors);

	c->flags &= ~DATBLK_INLINE;
	c->address = peer->mr->iova + skip * DATBLK_SECTOR;
	c->length = (1 + hostile_below(&peer->rnd, sectors - skip)) * DATBLK_SECTOR;
	c->key = peer->mr->rkey;
}

/* A device may lack discards. Other commands inside it succeed, on one that can be written */
static bool must_succeed(const struct hostile_peer *peer, const struct datblk_command *c)
{
	return c->op != DATBLK_OP_DISCARD && c->op != DATBLK_OP_ZEROES &&
	       c->sector + c->length / DATBLK_SECTOR <= peer->geo.capacity;
}

/* Fills in commands for the device. Now and then the last one is a PING */
static void random_commands(struct hostile_peer *peer, struct datblk_command *cmds,
			    unsigned int first, unsigned int count)
{
	struct rnd_state *rnd = &peer->rnd;
	bool ping = hostile_one_in(rnd, 8);
	unsigned int i;

	for (i = first; i < count; i++) {
		if (ping && i == count - 1) {
			cmds[i] = (struct datblk_command){ .op = DATBLK_OP_PING,
						       .tag = datblk_ping_tag(&peer->limits) };
			break;
		}
		cmds[i].tag = i;
		random_command(peer, &cmds[i]);
		if (cmds[i].flags & DATBLK_INLINE && hostile_one_in(rnd, 4) &&
		    hostile_register(peer))
			with_key(peer, &cmds[i]);
	}
}

/**
 * hostile_commands - fill in a message of commands
 * @peer:    its connection. If it is sound, all its commands have been answered, and the message
 *	     is correct. If it sends logins, the message may contain a LOGIN or LOGOUT, and
 *	     commands for logins that may not exist.
 * @message: receives the message
 * @count:   receives the number of commands
 *
 * Return: its size.
 */
u32 hostile_commands(struct hostile_peer *peer, void *message, unsigned int *count)
{
	struct rnd_state *rnd = &peer->rnd;
	struct datblk_command cmds[DATBLK_BATCH] = {};
	struct datblk_wire_command *headers;
	bool login = peer->logins && hostile_one_in(rnd, 4);
	u32 first = login ? random_login_command(peer, &cmds[0], message) : 0, data = 0;
	unsigned int i;

	*count = 1 + hostile_below(rnd, min_t(u32, peer->limits.depth, DATBLK_BATCH));
	random_commands(peer, cmds, login, *count);
	for (i = 0; i < *count; i++) {
		if (cmds[i].op == DATBLK_OP_WRITE && cmds[i].flags & DATBLK_INLINE)
			data += cmds[i].length;
		assign_bit(cmds[i].tag, peer->succeeds, must_succeed(peer, &cmds[i]));
		set_bit(cmds[i].tag, peer->outstanding);
	}
	prandom_bytes_state(rnd, message + first, data);
	data += first;
	headers = message + data;
	for (i = 0; i < *count; i++)
		datblk_fill_command(&headers[i], &cmds[i]);
	datblk_fill_trailer((void *)&headers[*count], DATBLK_COMMANDS, *count, data);
	return data + *count * sizeof(*headers) + sizeof(struct datblk_trailer);
}

static bool has_answer_data(const struct datblk_command *c)
{
	return (c->op == DATBLK_OP_READ || c->op == DATBLK_OP_LOGIN) && c->flags & DATBLK_INLINE;
}

/**
 * hostile_answer - fill in correct answers
 * @peer:    the connection
 * @message: receives the message; its data is all zeroes
 * @cmds:    the commands; one with a key is alone
 * @count:   their number
 *
 * Return: its size.
 */
u32 hostile_answer(struct hostile_peer *peer, void *message, const struct datblk_command *cmds,
		   unsigned int count)
{
	struct datblk_wire_answer *headers;
	u32 data = 0, i;

	for (i = 0; i < count; i++)
		data += has_answer_data(&cmds[i]) ? cmds[i].length : 0;
	memset(message, 0, data);
	headers = message + data;
	for (i = 0; i < count; i++) {
		bool with_data = has_answer_data(&cmds[i]);
		struct datblk_answer ans = {
			.tag = cmds[i].tag,
			.flags = with_data ? DATBLK_INLINE : 0,
			.length = with_data ? cmds[i].length : 0,
		};

		/* An error is a correct answer; it has no data */
		if (!with_data && cmds[i].op != DATBLK_OP_PING && hostile_one_in(&peer->rnd, 32))
			ans.status = hostile_below(&peer->rnd, DATBLK_STS_MAX + 1);
		datblk_fill_answer(&headers[i], &ans);
	}
	datblk_fill_trailer((void *)&headers[count], DATBLK_ANSWERS, count, data);
	/* Only the data: right if the command is the oldest one, and a flaw otherwise */
	if (data && count == 1 && hostile_one_in(&peer->rnd, 2))
		return data;
	return data + count * sizeof(*headers) + sizeof(struct datblk_trailer);
}

/**
 * hostile_flip - flip some bits
 * @rnd:   random numbers
 * @bytes: where
 * @size:  number of bytes, at least one
 */
void hostile_flip(struct rnd_state *rnd, void *bytes, u32 size)
{
	u32 flips = 1 + hostile_below(rnd, 4);
	u8 *to = bytes;

	while (flips--)
		to[hostile_below(rnd, size)] ^= BIT(hostile_below(rnd, 8));
}

/**
 * hostile_spoil - make a message wrong, most of the time
 * @peer:    its connection
 * @message: a correct message, with HOSTILE_ROOM bytes of room
 * @size:    its size
 *
 * Return: its new size.
 */
u32 hostile_spoil(struct hostile_peer *peer, void *message, u32 size)
{
	struct rnd_state *rnd = &peer->rnd;
	u32 tail = min(size, TAIL), more;

	switch (hostile_below(rnd, 6)) {
	case 0:
		size = hostile_below(rnd, HOSTILE_ROOM + 1);
		prandom_bytes_state(rnd, message, size);
		return size;
	case 1:
		return hostile_below(rnd, size);
	case 2:
		more = hostile_below(rnd, HOSTILE_ROOM - size) + 1;
		prandom_bytes_state(rnd, message + size, more);
		return size + more;
	case 3:
		/* Only the trailer */
		tail = sizeof(struct datblk_trailer);
		break;
	}
	hostile_flip(rnd, message + size - tail, tail);
	return size;
}
