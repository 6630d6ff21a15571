// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_login: the commands LOGIN and LOGOUT, and the login numbers of a connection. A
 * command that breaks a rule must be refused for exactly that reason.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "protocol/protocol.h"

/* A LOGIN has data, although these limits allow no inline data */
static const struct datblk_limits limits = { .depth = 32, .io_max = DATBLK_IO_UNIT };

#define TAG	33		/* of LOGIN and LOGOUT */

/* Operation, login number, flags, tag, length, and fields that the operation must not have */
#define ON(operation, number, flag, t, bytes, ...) \
	.c = { .op = DATBLK_OP_##operation, .login = (number), .flags = (flag), .tag = (t), \
	       .length = (bytes), __VA_ARGS__ }

struct verdict {
	const char *name;
	enum datblk_flaw flaw;
	struct datblk_command c;
};

static const struct verdict verdicts[] = {
	{ "login", DATBLK_SOUND, ON(LOGIN, 15, DATBLK_INLINE, TAG, 512) },
	{ "login with number 0", DATBLK_SOUND, ON(LOGIN, 0, DATBLK_INLINE, TAG, 512) },
	{ "login without data", DATBLK_FLAW_FLAGS, ON(LOGIN, 1, 0, TAG, 512) },
	{ "login with FUA", DATBLK_FLAW_FLAGS, ON(LOGIN, 1, DATBLK_INLINE | DATBLK_FUA, TAG, 512) },
	{ "login with the tag of a ping", DATBLK_FLAW_TAG,
	  ON(LOGIN, 1, DATBLK_INLINE, TAG - 1, 512) },
	{ "login with the tag of a command", DATBLK_FLAW_TAG, ON(LOGIN, 1, DATBLK_INLINE, 0, 512) },
	{ "login with a tag beyond the last", DATBLK_FLAW_TAG,
	  ON(LOGIN, 1, DATBLK_INLINE, TAG + 1, 512) },
	{ "more logins than a connection has", DATBLK_FLAW_LOGIN,
	  ON(LOGIN, 16, DATBLK_INLINE, TAG, 512) },
	{ "login of two sectors", DATBLK_FLAW_LENGTH, ON(LOGIN, 1, DATBLK_INLINE, TAG, 1024) },
	{ "login of nothing", DATBLK_FLAW_LENGTH, ON(LOGIN, 1, DATBLK_INLINE, TAG, 0) },
	{ "login with a sector", DATBLK_FLAW_SECTOR,
	  ON(LOGIN, 1, DATBLK_INLINE, TAG, 512, .sector = 1) },
	{ "login with an address", DATBLK_FLAW_KEY,
	  ON(LOGIN, 1, DATBLK_INLINE, TAG, 512, .address = 4096) },
	{ "login with a key", DATBLK_FLAW_KEY, ON(LOGIN, 1, DATBLK_INLINE, TAG, 512, .key = 1) },
	{ "logout", DATBLK_SOUND, ON(LOGOUT, 0, 0, TAG, 0) },
	{ "logout with data", DATBLK_FLAW_FLAGS, ON(LOGOUT, 0, DATBLK_INLINE, TAG, 512) },
	{ "logout with the tag of a ping", DATBLK_FLAW_TAG, ON(LOGOUT, 0, 0, TAG - 1, 0) },
	{ "logout with the tag of a command", DATBLK_FLAW_TAG, ON(LOGOUT, 0, 0, 0, 0) },
	{ "logout beyond the last number", DATBLK_FLAW_LOGIN, ON(LOGOUT, U8_MAX, 0, TAG, 0) },
	{ "logout with a length", DATBLK_FLAW_LENGTH, ON(LOGOUT, 0, 0, TAG, 512) },
	{ "logout with a sector", DATBLK_FLAW_SECTOR, ON(LOGOUT, 0, 0, TAG, 0, .sector = 1) },
	{ "logout with a key", DATBLK_FLAW_KEY, ON(LOGOUT, 0, 0, TAG, 0, .key = 1) },
	{ "ping with the tag of a login", DATBLK_FLAW_TAG, ON(PING, 0, 0, TAG, 0) },
	{ "ping of a login", DATBLK_FLAW_LOGIN, ON(PING, 1, 0, TAG - 1, 0) },
	{ "flush of a login", DATBLK_SOUND, ON(FLUSH, 15, 0, 31, 0) },
	{ "flush beyond the last number", DATBLK_FLAW_LOGIN, ON(FLUSH, 16, 0, 0, 0) },
};

static_assert(DATBLK_LOGINS == 16 && DATBLK_LOGIN_BYTES == 512);

/* Returns what the parser says about a message with this command */
static enum datblk_flaw parse(struct kunit *test, const struct datblk_command *c)
{
	u32 data = datblk_brings_data(c) ? c->length : 0;
	struct datblk_command got[DATBLK_BATCH];
	struct datblk_wire_command *header;
	unsigned int count;
	enum datblk_flaw flaw;
	size_t size = data + sizeof(*header) + sizeof(struct datblk_trailer);
	void *message = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, message);
	header = message + data;
	datblk_fill_command(header, c);
	datblk_fill_trailer((void *)(header + 1), DATBLK_COMMANDS, 1, data);
	flaw = datblk_parse_commands(message, size, &limits, got, &count);
	if (!flaw)
		KUNIT_EXPECT_EQ(test, got[0].login, c->login);
	return flaw;
}

static void commands(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(verdicts); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse(test, &verdicts[i].c), verdicts[i].flaw, "%s",
				    verdicts[i].name);
}

/* Only the answer to a LOGIN may have data with these limits */
static void answers(struct kunit *test)
{
	static const struct {
		u16 tag;
		u32 length;
		enum datblk_flaw flaw;
	} cases[] = {
		{ TAG, DATBLK_LOGIN_BYTES, DATBLK_SOUND },
		{ TAG, 2 * DATBLK_LOGIN_BYTES, DATBLK_FLAW_LENGTH },
		{ TAG - 1, DATBLK_LOGIN_BYTES, DATBLK_FLAW_LENGTH },
		{ 0, DATBLK_LOGIN_BYTES, DATBLK_FLAW_LENGTH },
		{ TAG + 1, DATBLK_LOGIN_BYTES, DATBLK_FLAW_TAG },
	};
	u8 *message = kunit_kzalloc(test, SZ_4K, GFP_KERNEL);
	struct datblk_answer got[DATBLK_BATCH];
	unsigned int count, i;

	KUNIT_ASSERT_NOT_NULL(test, message);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct datblk_answer ans = {
			.tag = cases[i].tag,
			.flags = DATBLK_INLINE,
			.length = cases[i].length,
		};
		u8 *header = message + ans.length;
		u8 *trailer = header + sizeof(struct datblk_wire_answer);
		size_t size = trailer + sizeof(struct datblk_trailer) - message;

		datblk_fill_answer((void *)header, &ans);
		datblk_fill_trailer((void *)trailer, DATBLK_ANSWERS, 1, ans.length);
		KUNIT_EXPECT_EQ_MSG(test, datblk_parse_answers(message, size, &limits, got, &count),
				    cases[i].flaw, "case %u", i);
	}
}

/* Which login numbers the commands of a connection may have, and when a login may end */
static void numbers(struct kunit *test)
{
	struct datblk_command login = { .op = DATBLK_OP_LOGIN, .login = DATBLK_LOGINS - 1 };
	struct datblk_command logout = { .op = DATBLK_OP_LOGOUT, .login = DATBLK_LOGINS - 1 };
	struct datblk_command read = { .op = DATBLK_OP_READ, .login = DATBLK_LOGINS - 1 };
	struct datblk_command ping = { .op = DATBLK_OP_PING };
	struct datblk_logins logins = {};

	/* There is no login */
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &ping), DATBLK_SOUND);
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &login), DATBLK_SOUND);
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &read), DATBLK_FLAW_LOGIN);
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &logout), DATBLK_FLAW_LOGIN);
	/* A login with another number makes no difference */
	datblk_logins_add(&logins, 0);
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &read), DATBLK_FLAW_LOGIN);
	/* A number that is in use cannot be used for a second login */
	datblk_logins_begin(&logins, &login);
	datblk_logins_add(&logins, login.login);
	datblk_logins_answered(&logins, &login);
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &login), DATBLK_FLAW_LOGIN);
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &read), DATBLK_SOUND);
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &logout), DATBLK_SOUND);
	/* A login with a command does not end, even if another command is answered */
	datblk_logins_begin(&logins, &read);
	datblk_logins_begin(&logins, &ping);
	datblk_logins_answered(&logins, &ping);
	KUNIT_EXPECT_FALSE(test, datblk_logins_remove(&logins, logout.login));
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &read), DATBLK_SOUND);
	datblk_logins_answered(&logins, &read);
	KUNIT_EXPECT_TRUE(test, datblk_logins_remove(&logins, logout.login));
	KUNIT_EXPECT_EQ(test, datblk_logins_check(&logins, &read), DATBLK_FLAW_LOGIN);
	KUNIT_EXPECT_EQ(test, logins.exist, 1);
}

static struct kunit_case login_cases[] = {
	KUNIT_CASE(commands),
	KUNIT_CASE(answers),
	KUNIT_CASE(numbers),
	{}
};

static struct kunit_suite login_suite = {
	.name = "datblk_login",
	.test_cases = login_cases,
};

kunit_test_suite(login_suite);
