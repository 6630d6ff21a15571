// SPDX-License-Identifier: GPL-2.0
/*
 * A client that uses one connection for several devices. It first obeys the rules for logins, and
 * then breaks each of them. Runs in the thread of the test.
 */
#include "hostile.h"

/*
 * Sends commands. login: data of a LOGIN, or NULL; rest: value of each byte after that data.
 * Returns false if the connection has ended
 */
static bool post_login(struct hostile_peer *peer, const struct datblk_command *cmds,
		       unsigned int count, const struct datblk_wire_login *login, u8 rest)
{
	struct hostile_slot *slot = hostile_send_slot(peer);
	u32 data = login ? DATBLK_LOGIN_BYTES : 0;
	struct datblk_wire_command *headers;
	unsigned int i;

	if (!slot)
		return false;
	memset(slot->memory, rest, data);
	if (login)
		memcpy(slot->memory, login, sizeof(*login));
	headers = slot->memory + data;
	for (i = 0; i < count; i++) {
		datblk_fill_command(&headers[i], &cmds[i]);
		clear_bit(cmds[i].tag, peer->succeeds);
		set_bit(cmds[i].tag, peer->outstanding);
	}
	datblk_fill_trailer((void *)&headers[count], DATBLK_COMMANDS, count, data);
	peer->commands += count;
	return hostile_send(slot, data + count * sizeof(*headers) + sizeof(struct datblk_trailer),
			    0, false);
}

static bool post(struct hostile_peer *peer, const struct datblk_command *cmds, unsigned int count)
{
	return post_login(peer, cmds, count, NULL, 0);
}

static struct datblk_command login_command(const struct hostile_peer *peer, u8 number)
{
	return (struct datblk_command){
		.op = DATBLK_OP_LOGIN,
		.flags = DATBLK_INLINE,
		.tag = datblk_login_tag(&peer->limits),
		.length = DATBLK_LOGIN_BYTES,
		.login = number,
	};
}

static struct datblk_command logout_command(const struct hostile_peer *peer, u8 number)
{
	return (struct datblk_command){
		.op = DATBLK_OP_LOGOUT,
		.tag = datblk_login_tag(&peer->limits),
		.login = number,
	};
}

static struct datblk_command read_command(u8 number)
{
	return (struct datblk_command){
		.op = DATBLK_OP_READ,
		.flags = DATBLK_INLINE,
		.length = DATBLK_IO_UNIT,
		.login = number,
	};
}

/* A login of a new disk; no other file uses its host number */
static struct datblk_login describe(const struct hostile_peer *peer, const char *name)
{
	static u16 disk;
	struct datblk_login req = {
		.limits = peer->limits,
		.host = BIT_ULL(33),
		.disk = disk++,
		.queues = 1,
	};

	strscpy_pad(req.name, name, sizeof(req.name));
	return req;
}

static void log_in(struct hostile_peer *peer, u8 number, const struct datblk_login *req, u8 rest)
{
	struct datblk_command c = login_command(peer, number);
	struct datblk_wire_login login;

	datblk_fill_login(&login, req);
	post_login(peer, &c, 1, &login, rest);
}

/* Logs in, and expects an answer with this status. Tries again while the number is not free */
static void expect_rest(struct hostile_peer *peer, u8 number, const struct datblk_login *req,
			unsigned int wanted, u8 rest)
{
	unsigned long end = test_deadline(TEST_HANG_MS);
	struct datblk_limits limits = peer->limits;
	struct datblk_geometry geo;
	unsigned int status;

	do {
		log_in(peer, number, req, rest);
		if (!hostile_all_answered(peer)) {
			test_fail("login %u to %s: expected an answer", number, req->name);
			return;
		}
		status = datblk_check_refusal(peer->private, peer->private_size);
	} while (status == DATBLK_REFUSE_BUSY && time_before(jiffies, end));
	if (status != wanted ||
	    (!status && datblk_check_welcome(peer->private, peer->private_size, &limits, &geo)))
		test_fail("login %u to %s: expected \"%s\", got \"%s\"", number, req->name,
			  datblk_refusal_text(wanted), datblk_refusal_text(status));
}

static void expect(struct hostile_peer *peer, u8 number, const struct datblk_login *req,
		   unsigned int wanted)
{
	expect_rest(peer, number, req, wanted, 0);
}

static void expect_answer(struct hostile_peer *peer, struct datblk_command c, const char *what)
{
	if (!post(peer, &c, 1) || !hostile_all_answered(peer))
		test_fail("expected an answer to %s", what);
}

/* Tests refused logins, as many logins as a connection may have, and the reuse of a number */
static void legal(struct hostile_peer *peer)
{
	struct datblk_login req = describe(peer, "no-such-device");
	u8 i;

	expect(peer, 1, &req, DATBLK_REFUSE_DEVICE);
	req = describe(peer, hostile_names[0]);
	expect_rest(peer, 1, &req, DATBLK_REFUSE_LOGIN, 1);
	req.limits.io_max /= 2;
	expect(peer, 1, &req, DATBLK_REFUSE_LOGIN);
	for (i = 1; i < DATBLK_LOGINS; i++) {
		req = describe(peer, hostile_names[i % max(hostile_name_count - 1, 1)]);
		expect(peer, i, &req, DATBLK_ADMIT);
		expect_answer(peer, read_command(i), "a read of a login");
	}
	expect_answer(peer, logout_command(peer, 0), "a logout of the first login");
	expect_answer(peer, logout_command(peer, 1), "a logout");
	expect_answer(peer, read_command(2), "a read after the logout of another login");
	req = describe(peer, hostile_names[0]);
	expect(peer, 0, &req, DATBLK_ADMIT);
	expect_answer(peer, read_command(0), "a read of a login that reuses a number");
}

static void never_given(struct hostile_peer *peer)
{
	struct datblk_command c = read_command(1);

	post(peer, &c, 1);
}

static void used_after_logout(struct hostile_peer *peer)
{
	struct datblk_login req = describe(peer, hostile_names[0]);
	struct datblk_command c = read_command(1);

	expect(peer, 1, &req, DATBLK_ADMIT);
	expect_answer(peer, logout_command(peer, 1), "a logout");
	post(peer, &c, 1);
}

static void number_twice(struct hostile_peer *peer)
{
	struct datblk_login req = describe(peer, hostile_names[0]);

	expect(peer, 1, &req, DATBLK_ADMIT);
	req = describe(peer, hostile_names[0]);
	log_in(peer, 1, &req, 0);
}

/* The second login replaces the first one, and so ends its own connection */
static void disk_twice(struct hostile_peer *peer)
{
	struct datblk_login req = describe(peer, hostile_names[0]);

	expect(peer, 1, &req, DATBLK_ADMIT);
	log_in(peer, 2, &req, 0);
}

static void too_many(struct hostile_peer *peer)
{
	struct datblk_login req = describe(peer, hostile_names[0]);

	log_in(peer, DATBLK_LOGINS, &req, 0);
}

static void logout_with_command(struct hostile_peer *peer)
{
	struct datblk_command cmds[] = { logout_command(peer, 0), read_command(0) };

	post(peer, cmds, ARRAY_SIZE(cmds));
}

static void logout_never_given(struct hostile_peer *peer)
{
	struct datblk_command c = logout_command(peer, 1);

	post(peer, &c, 1);
}

static void last_logout(struct hostile_peer *peer)
{
	struct datblk_command c = logout_command(peer, 0);

	post(peer, &c, 1);
}

static const struct {
	void (*provoke)(struct hostile_peer *peer);
	const char *why;
} illegal[] = {
	{ never_given, "with a command of a login that does not exist" },
	{ used_after_logout, "with a command of a login that has ended" },
	{ number_twice, "that uses a login number twice" },
	{ disk_twice, "that logs in twice with the same disk" },
	{ too_many, "with too many logins" },
	{ logout_with_command, "that logs out while a command is in flight" },
	{ logout_never_given, "that ends a login that does not exist" },
	{ last_logout, "without a login" },
};

/**
 * hostile_logins - use connections for several devices
 *
 * Context: process, the thread of the test.
 */
void hostile_logins(void)
{
	struct hostile_peer *peer = hostile_meet(true, true);
	unsigned int i;

	if (!peer)
		return;
	legal(peer);
	hostile_peer_free(peer);
	for (i = 0; i < ARRAY_SIZE(illegal) && !test_failures(); i++) {
		peer = hostile_meet(true, true);
		if (!peer)
			return;
		illegal[i].provoke(peer);
		hostile_expect_end(peer, illegal[i].why);
	}
}
