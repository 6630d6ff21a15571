// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_proto: every check of parse.c refuses a message that breaks exactly one rule, and
 * accepts the message otherwise. Each case of a table changes a correct message once.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include "protocol/protocol.h"

#define LIMITS { .depth = 32, .inline_max = DATBLK_INLINE_MAX, .io_max = 128 * 1024 }

static const struct datblk_limits limits = LIMITS;

static const struct datblk_command commands[] = {
	{ .op = DATBLK_OP_WRITE, .flags = DATBLK_INLINE | DATBLK_FUA, .tag = 0, .length = 512,
	  .sector = 8 },
	{ .op = DATBLK_OP_WRITE, .flags = DATBLK_INLINE, .tag = 1, .length = 1024,
	  .sector = 77 },
	{ .op = DATBLK_OP_READ, .flags = DATBLK_INLINE, .tag = 2, .length = DATBLK_INLINE_MAX },
	{ .op = DATBLK_OP_READ, .tag = 3, .length = 128 * 1024, .key = 7, .address = 4096 },
	{ .op = DATBLK_OP_WRITE, .tag = 4, .length = 16384, .key = 8, .address = 1 },
	{ .op = DATBLK_OP_FLUSH, .tag = 5 },
	{ .op = DATBLK_OP_DISCARD, .tag = 6, .length = 1 << 30, .sector = 1 },
	{ .op = DATBLK_OP_ZEROES, .flags = DATBLK_NOUNMAP, .tag = 31, .length = 512,
	  .sector = DATBLK_SECTOR_MAX - 1 },
};

#define COMMAND_DATA	(512 + 1024)

static const struct datblk_answer answers[] = {
	{ .tag = 2, .flags = DATBLK_INLINE, .length = 4096 },
	{ .tag = 31, .status = DATBLK_STS_MAX },
	{ .tag = 0 },
	{ .tag = 9, .flags = DATBLK_INLINE, .length = 512 },
};

#define ANSWER_DATA	(4096 + 512)

static const struct datblk_login request = {
	.limits = LIMITS,
	.host = 0x123456789abcdef0,
	.boot = 7,
	.incarnation = 3,
	.disk = 2,
	.queues = 4,
	.name = "a-name-of-23-characters",
};

static const struct datblk_geometry geometry = {
	.capacity = 8192,
	.flags = DATBLK_WRITE_CACHE | DATBLK_CAN_DISCARD | DATBLK_CAN_ZEROES,
	.logical = 1024,
	.physical = 4096,
	.discard_granularity = 4096,
	.discard_sectors = 65536,
	.zeroes_sectors = 128,
	.uuid = UUID_INIT(0x12345678, 0x9abc, 0x4def, 0x80, 1, 2, 3, 4, 5, 6, 7),
	.instance = 0xfedcba9876543210,
};

/*
 * A correct message and one change: its size becomes @value, or the field of @bytes bytes at
 * @offset does. @offset counts from the first header, or from the trailer. @expected is what
 * the function under test returns then.
 */
struct change {
	const char *name;
	int expected;
	enum { SIZE, HEADER, TRAILER } what;
	u16 offset;
	u8 bytes;
	u64 value;
};

#define AT(type, i, field) \
	.offset = (i) * sizeof(struct type) + offsetof(struct type, field), \
	.bytes = sizeof_field(struct type, field)
#define COMMAND(i, field)	.what = HEADER, AT(datblk_wire_command, i, field)
#define ANSWER(i, field)	.what = HEADER, AT(datblk_wire_answer, i, field)
#define TAIL(field)		.what = TRAILER, AT(datblk_trailer, 0, field)
#define LOGIN(field)		.what = HEADER, AT(datblk_wire_login, 0, field)
#define NAME(i)			.what = HEADER, .bytes = 1, \
				.offset = offsetof(struct datblk_wire_login, name) + (i)
#define WELCOME(field)		.what = HEADER, AT(datblk_welcome, 0, field)

/* A message under construction, and where its headers and its trailer begin */
struct draft {
	u8 bytes[DATBLK_MESSAGE_MAX + 64];
	size_t size, headers, trailer;
};

static struct draft *new_draft(struct kunit *test, size_t headers)
{
	struct draft *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->size = headers;
	m->headers = headers;
	return m;
}

static void append(struct draft *m, const void *header, size_t size)
{
	memcpy(m->bytes + m->size, header, size);
	m->size += size;
}

static void finish(struct draft *m, u8 type, u8 count)
{
	struct datblk_trailer t;

	m->trailer = m->size;
	datblk_fill_trailer(&t, type, count, m->headers);
	append(m, &t, sizeof(t));
}

static void apply(struct draft *m, const struct change *change)
{
	u8 *to = m->bytes + change->offset;
	unsigned int i;

	if (change->what == SIZE) {
		m->size = change->value;
		return;
	}
	to += change->what == HEADER ? m->headers : m->trailer;
	for (i = 0; i < change->bytes; i++)
		to[i] = change->value >> (8 * i);
}

/* Builds a correct message; runs the function under test */
struct subject {
	struct draft *(*build)(struct kunit *test);
	int (*check)(struct draft *m);
};

static void check_table(struct kunit *test, const struct subject *subject,
			const struct change *changes, unsigned int count)
{
	struct draft *m = subject->build(test);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, subject->check(m), 0);
	for (i = 0; i < count; i++) {
		m = subject->build(test);
		apply(m, &changes[i]);
		KUNIT_EXPECT_EQ_MSG(test, subject->check(m), changes[i].expected, "%s",
				    changes[i].name);
	}
}

static struct draft *build_commands(struct kunit *test)
{
	struct draft *m = new_draft(test, COMMAND_DATA);
	struct datblk_wire_command c;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		datblk_fill_command(&c, &commands[i]);
		append(m, &c, sizeof(c));
	}
	finish(m, DATBLK_COMMANDS, i);
	return m;
}

static int check_commands(struct draft *m)
{
	struct datblk_command got[DATBLK_BATCH];
	unsigned int count;

	return datblk_parse_commands(m->bytes, m->size, &limits, got, &count);
}

static const struct subject command_message = { build_commands, check_commands };

static const struct change command_changes[] = {
	{ "empty", DATBLK_FLAW_SHORT, .what = SIZE, .value = 0 },
	{ "trailer only", DATBLK_FLAW_SHORT, .what = SIZE, .value = sizeof(struct datblk_trailer) },
	{ "one byte short of a command", DATBLK_FLAW_SHORT, .what = SIZE,
	  .value = sizeof(struct datblk_wire_command) +
	  sizeof(struct datblk_trailer) - 1 },
	{ "longer than any message", DATBLK_FLAW_LONG, .what = SIZE,
	  .value = DATBLK_MESSAGE_MAX + 1 },
	{ "one byte missing", DATBLK_FLAW_TYPE, .what = SIZE,
	  .value = COMMAND_DATA + sizeof(struct datblk_wire_command) * 8 +
	  sizeof(struct datblk_trailer) - 1 },
	{ "answers instead of commands", DATBLK_FLAW_TYPE, TAIL(type), .value = DATBLK_ANSWERS },
	{ "unknown type", DATBLK_FLAW_TYPE, TAIL(type), .value = 0 },
	{ "reserved field of the trailer", DATBLK_FLAW_RESERVED, TAIL(reserved), .value = 1 },
	{ "no command", DATBLK_FLAW_COUNT, TAIL(count), .value = 0 },
	{ "too many commands", DATBLK_FLAW_COUNT, TAIL(count), .value = DATBLK_BATCH + 1 },
	{ "one command less than sent", DATBLK_FLAW_DATA, TAIL(count), .value = 7 },
	{ "more data than sent", DATBLK_FLAW_DATA, TAIL(data), .value = 2048 },
	{ "data beyond the limit", DATBLK_FLAW_DATA, TAIL(data), .value = DATBLK_DATA_MAX + 512 },
	{ "data that wrap the size", DATBLK_FLAW_DATA, TAIL(data), .value = 0xfffffe00 },
	{ "data no multiple of a sector", DATBLK_FLAW_DATA, TAIL(data), .value = 1535 },
	{ "less data than the writes have", DATBLK_FLAW_DATA, COMMAND(1, length), .value = 1536 },
	{ "more data than the writes have", DATBLK_FLAW_DATA, COMMAND(1, length), .value = 512 },
	{ "reserved field of a command", DATBLK_FLAW_RESERVED, COMMAND(7, reserved), .value = 1 },
	{ "operation 0", DATBLK_FLAW_OP, COMMAND(0, op), .value = 0 },
	{ "operation after the last", DATBLK_FLAW_OP, COMMAND(0, op),
	  .value = DATBLK_OP_MAX + 1 },
	{ "unknown flag", DATBLK_FLAW_FLAGS, COMMAND(0, flags), .value = 0x81 },
	{ "read with FUA", DATBLK_FLAW_FLAGS, COMMAND(2, flags),
	  .value = DATBLK_INLINE | DATBLK_FUA },
	{ "write with NOUNMAP", DATBLK_FLAW_FLAGS, COMMAND(0, flags),
	  .value = DATBLK_INLINE | DATBLK_NOUNMAP },
	{ "flush with inline data", DATBLK_FLAW_FLAGS, COMMAND(5, flags), .value = DATBLK_INLINE },
	{ "discard with FUA", DATBLK_FLAW_FLAGS, COMMAND(6, flags), .value = DATBLK_FUA },
	{ "zeroes with inline data", DATBLK_FLAW_FLAGS, COMMAND(7, flags), .value = DATBLK_INLINE },
	{ "tag of a ping", DATBLK_FLAW_TAG, COMMAND(7, tag), .value = 32 },
	{ "ping with the tag of a command", DATBLK_FLAW_TAG, COMMAND(5, op),
	  .value = DATBLK_OP_PING },
	{ "tag of a login", DATBLK_FLAW_TAG, COMMAND(7, tag), .value = 33 },
	{ "number of a login beyond the last", DATBLK_FLAW_LOGIN, COMMAND(3, login),
	  .value = DATBLK_LOGINS },
	{ "largest tag", DATBLK_FLAW_TAG, COMMAND(7, tag), .value = U16_MAX },
	{ "tag twice", DATBLK_FLAW_TWICE, COMMAND(7, tag), .value = 0 },
	{ "read of nothing", DATBLK_FLAW_LENGTH, COMMAND(2, length), .value = 0 },
	{ "write of nothing", DATBLK_FLAW_LENGTH, COMMAND(4, length), .value = 0 },
	{ "discard of nothing", DATBLK_FLAW_LENGTH, COMMAND(6, length), .value = 0 },
	{ "flush with a length", DATBLK_FLAW_LENGTH, COMMAND(5, length), .value = 512 },
	{ "read of half a sector", DATBLK_FLAW_LENGTH, COMMAND(2, length), .value = 256 },
	{ "discard of a sector and a half", DATBLK_FLAW_LENGTH, COMMAND(6, length), .value = 768 },
	{ "inline read beyond the limit", DATBLK_FLAW_LENGTH, COMMAND(2, length),
	  .value = DATBLK_INLINE_MAX + 512 },
	{ "inline write beyond the limit", DATBLK_FLAW_LENGTH, COMMAND(1, length),
	  .value = DATBLK_INLINE_MAX + 512 },
	{ "read beyond the limit", DATBLK_FLAW_LENGTH, COMMAND(3, length),
	  .value = 128 * 1024 + 512 },
	{ "write of 4 GiB", DATBLK_FLAW_LENGTH, COMMAND(4, length), .value = 0xfffffe00 },
	{ "flush with a sector", DATBLK_FLAW_SECTOR, COMMAND(5, sector), .value = 1 },
	{ "last sector too large", DATBLK_FLAW_SECTOR, COMMAND(1, sector),
	  .value = DATBLK_SECTOR_MAX - 1 },
	{ "sectors that wrap", DATBLK_FLAW_SECTOR, COMMAND(6, sector), .value = U64_MAX - 1 },
	{ "inline write with a key", DATBLK_FLAW_KEY, COMMAND(0, key), .value = 1 },
	{ "inline read with an address", DATBLK_FLAW_KEY, COMMAND(2, address), .value = 4096 },
	{ "read without a key", DATBLK_FLAW_KEY, COMMAND(3, key), .value = 0 },
	{ "write without a key", DATBLK_FLAW_KEY, COMMAND(4, key), .value = 0 },
	{ "address that wraps", DATBLK_FLAW_KEY, COMMAND(4, address), .value = U64_MAX - 512 },
	{ "flush with a key", DATBLK_FLAW_KEY, COMMAND(5, key), .value = 1 },
	{ "discard with an address", DATBLK_FLAW_KEY, COMMAND(6, address), .value = 1 },
};

static void malformed_commands(struct kunit *test)
{
	check_table(test, &command_message, command_changes, ARRAY_SIZE(command_changes));
}

static struct draft *build_ping(struct kunit *test)
{
	struct draft *m = new_draft(test, 0);
	struct datblk_wire_command c;

	datblk_fill_command(&c, &(struct datblk_command){ .op = DATBLK_OP_PING, .tag = 32 });
	append(m, &c, sizeof(c));
	finish(m, DATBLK_COMMANDS, 1);
	return m;
}

static const struct subject ping_message = { build_ping, check_commands };

static const struct change ping_changes[] = {
	{ "ping with a flag", DATBLK_FLAW_FLAGS, COMMAND(0, flags), .value = DATBLK_FUA },
	{ "ping with a tag beyond the last", DATBLK_FLAW_TAG, COMMAND(0, tag), .value = 33 },
	{ "ping with a length", DATBLK_FLAW_LENGTH, COMMAND(0, length), .value = 512 },
	{ "ping with a sector", DATBLK_FLAW_SECTOR, COMMAND(0, sector), .value = 1 },
	{ "ping with an address", DATBLK_FLAW_KEY, COMMAND(0, address), .value = 4096 },
	{ "ping with a key", DATBLK_FLAW_KEY, COMMAND(0, key), .value = 1 },
	{ "ping of a login", DATBLK_FLAW_LOGIN, COMMAND(0, login), .value = 1 },
};

static void malformed_pings(struct kunit *test)
{
	check_table(test, &ping_message, ping_changes, ARRAY_SIZE(ping_changes));
}

static struct draft *build_answers(struct kunit *test)
{
	struct draft *m = new_draft(test, ANSWER_DATA);
	struct datblk_wire_answer a;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		datblk_fill_answer(&a, &answers[i]);
		append(m, &a, sizeof(a));
	}
	finish(m, DATBLK_ANSWERS, i);
	return m;
}

static int check_answers(struct draft *m)
{
	struct datblk_answer got[DATBLK_BATCH];
	unsigned int count;

	return datblk_parse_answers(m->bytes, m->size, &limits, got, &count);
}

static const struct subject answer_message = { build_answers, check_answers };

static const struct change answer_changes[] = {
	{ "empty", DATBLK_FLAW_SHORT, .what = SIZE, .value = 0 },
	{ "one byte short of an answer", DATBLK_FLAW_SHORT, .what = SIZE,
	  .value = sizeof(struct datblk_wire_answer) +
	  sizeof(struct datblk_trailer) - 1 },
	{ "longer than any message", DATBLK_FLAW_LONG, .what = SIZE, .value = DATBLK_MESSAGE_MAX },
	{ "commands instead of answers", DATBLK_FLAW_TYPE, TAIL(type), .value = DATBLK_COMMANDS },
	{ "reserved field of the trailer", DATBLK_FLAW_RESERVED, TAIL(reserved), .value = 0x100 },
	{ "no answer", DATBLK_FLAW_COUNT, TAIL(count), .value = 0 },
	{ "too many answers", DATBLK_FLAW_COUNT, TAIL(count), .value = U8_MAX },
	{ "one answer more than sent", DATBLK_FLAW_DATA, TAIL(count), .value = 5 },
	{ "more data than sent", DATBLK_FLAW_DATA, TAIL(data), .value = 8192 },
	{ "data beyond the limit", DATBLK_FLAW_DATA, TAIL(data), .value = DATBLK_DATA_MAX + 512 },
	{ "less data than the answers have", DATBLK_FLAW_DATA, ANSWER(0, length), .value = 4608 },
	{ "more data than the answers have", DATBLK_FLAW_DATA, ANSWER(0, length), .value = 3584 },
	{ "unknown flag", DATBLK_FLAW_FLAGS, ANSWER(2, flags), .value = DATBLK_FUA },
	{ "data after a failure", DATBLK_FLAW_FLAGS, ANSWER(0, status), .value = DATBLK_STS_IO },
	{ "tag beyond the last", DATBLK_FLAW_TAG, ANSWER(1, tag), .value = 34 },
	{ "more data than a login has", DATBLK_FLAW_LENGTH, ANSWER(0, tag), .value = 33 },
	{ "tag twice", DATBLK_FLAW_TWICE, ANSWER(3, tag), .value = 2 },
	{ "unknown status", DATBLK_FLAW_STATUS, ANSWER(1, status), .value = DATBLK_STS_MAX + 1 },
	{ "length without data", DATBLK_FLAW_LENGTH, ANSWER(2, length), .value = 512 },
	{ "inline without data", DATBLK_FLAW_LENGTH, ANSWER(0, length), .value = 0 },
	{ "half a sector", DATBLK_FLAW_LENGTH, ANSWER(3, length), .value = 256 },
	{ "inline data beyond the limit", DATBLK_FLAW_LENGTH, ANSWER(0, length),
	  .value = DATBLK_INLINE_MAX + 512 },
};

static void malformed_answers(struct kunit *test)
{
	check_table(test, &answer_message, answer_changes, ARRAY_SIZE(answer_changes));
}

static struct draft *build_login(struct kunit *test)
{
	struct draft *m = new_draft(test, 0);
	struct datblk_wire_login l;

	datblk_fill_login(&l, &request);
	append(m, &l, sizeof(l));
	return m;
}

static int check_login(struct draft *m)
{
	struct datblk_login got;

	return datblk_check_login(m->bytes, m->size, &got);
}

static const struct subject login_message = { build_login, check_login };

static const struct change login_changes[] = {
	{ "too short", DATBLK_REFUSE_LOGIN, .what = SIZE,
	  .value = sizeof(struct datblk_wire_login) - 1 },
	{ "magic", DATBLK_REFUSE_LOGIN, LOGIN(magic), .value = DATBLK_MAGIC + 1 },
	{ "version 0", DATBLK_REFUSE_VERSION, LOGIN(version), .value = 0 },
	{ "next version", DATBLK_REFUSE_VERSION, LOGIN(version), .value = DATBLK_VERSION + 1 },
	{ "the feature of a proof", DATBLK_REFUSE_LOGIN, LOGIN(features),
	  .value = DATBLK_HAS_PROOF },
	{ "unknown feature", DATBLK_REFUSE_LOGIN, LOGIN(features), .value = 4 },
	{ "two features", DATBLK_REFUSE_LOGIN, LOGIN(features), .value = 3 },
	{ "no tag", DATBLK_REFUSE_LOGIN, LOGIN(depth), .value = 0 },
	{ "too many tags", DATBLK_REFUSE_LOGIN, LOGIN(depth), .value = DATBLK_DEPTH_MAX + 1 },
	{ "inline data beyond the limit", DATBLK_REFUSE_LOGIN, LOGIN(inline_sectors),
	  .value = DATBLK_INLINE_MAX / 512 + 1 },
	{ "no data", DATBLK_REFUSE_LOGIN, LOGIN(io_units), .value = 0 },
	{ "data beyond the limit", DATBLK_REFUSE_LOGIN, LOGIN(io_units),
	  .value = DATBLK_IO_MAX / DATBLK_IO_UNIT + 1 },
	{ "host 0", DATBLK_REFUSE_LOGIN, LOGIN(host), .value = 0 },
	{ "queue after the last", DATBLK_REFUSE_LOGIN, LOGIN(queue), .value = 4 },
	{ "no queue", DATBLK_REFUSE_LOGIN, LOGIN(queues), .value = 0 },
	{ "too many queues", DATBLK_REFUSE_LOGIN, LOGIN(queues), .value = DATBLK_QUEUES_MAX + 1 },
	{ "no name", DATBLK_REFUSE_LOGIN, NAME(0), .value = 0 },
	{ "name without an end", DATBLK_REFUSE_LOGIN, NAME(23), .value = 'x' },
	{ "bytes after the name", DATBLK_REFUSE_LOGIN, NAME(10), .value = 0 },
	{ "name with a slash", DATBLK_REFUSE_LOGIN, NAME(1), .value = '/' },
	{ "name with a space", DATBLK_REFUSE_LOGIN, NAME(1), .value = ' ' },
	{ "name with a control character", DATBLK_REFUSE_LOGIN, NAME(1), .value = 0x7f },
	{ "name with a byte above 127", DATBLK_REFUSE_LOGIN, NAME(1), .value = 0xe4 },
};

static void malformed_logins(struct kunit *test)
{
	check_table(test, &login_message, login_changes, ARRAY_SIZE(login_changes));
}

static struct draft *build_welcome(struct kunit *test)
{
	struct draft *m = new_draft(test, 0);
	struct datblk_welcome w;

	datblk_fill_welcome(&w, &limits, &geometry);
	append(m, &w, sizeof(w));
	return m;
}

static int check_welcome(struct draft *m)
{
	struct datblk_limits got = limits;
	struct datblk_geometry geo;

	return datblk_check_welcome(m->bytes, m->size, &got, &geo);
}

static const struct subject welcome_message = { build_welcome, check_welcome };

static const struct change welcome_changes[] = {
	{ "too short", -EPROTO, .what = SIZE, .value = sizeof(struct datblk_welcome) - 1 },
	{ "magic", -EPROTO, WELCOME(magic), .value = 0 },
	{ "version", -EPROTO, WELCOME(version), .value = DATBLK_VERSION + 1 },
	{ "status of a refusal", -EPROTO, WELCOME(status), .value = DATBLK_REFUSE_BUSY },
	{ "more bytes of a discard than 32 bits hold", -EPROTO, WELCOME(discard_sectors),
	  .value = 0x800000 },
	{ "more bytes of zeroes than 32 bits hold", -EPROTO, WELCOME(zeroes_sectors),
	  .value = 0x800000 },
	{ "no tag", -EPROTO, WELCOME(depth), .value = 0 },
	{ "more tags than asked for", -EPROTO, WELCOME(depth), .value = 33 },
	{ "more inline data than asked for", -EPROTO, WELCOME(inline_sectors), .value = 17 },
	{ "no data", -EPROTO, WELCOME(io_sectors), .value = 0 },
	{ "more data than asked for", -EPROTO, WELCOME(io_sectors), .value = 264 },
	{ "no capacity", -EPROTO, WELCOME(capacity), .value = 0 },
	{ "more bytes than loff_t holds", -EPROTO, WELCOME(capacity), .value = BIT_ULL(54) },
	{ "part of a block", -EPROTO, WELCOME(capacity), .value = 9 },
	{ "unknown flag", -EPROTO, WELCOME(flags), .value = 0x4e },
	{ "logical block of 0", -EPROTO, WELCOME(logical), .value = 0 },
	{ "logical block of 256", -EPROTO, WELCOME(logical), .value = 256 },
	{ "logical block of 3072", -EPROTO, WELCOME(logical), .value = 3072 },
	{ "logical block of 8192", -EPROTO, WELCOME(logical), .value = 8192 },
	{ "physical block of 0", -EPROTO, WELCOME(physical), .value = 0 },
	{ "physical block below the logical one", -EPROTO, WELCOME(physical), .value = 512 },
	{ "physical block of 3072", -EPROTO, WELCOME(physical), .value = 3072 },
	{ "physical block of 2 MiB", -EPROTO, WELCOME(physical), .value = 2 << 20 },
	{ "discard without a granularity", -EPROTO, WELCOME(discard_granularity), .value = 0 },
	{ "granularity below a block", -EPROTO, WELCOME(discard_granularity), .value = 512 },
	{ "discard of nothing", -EPROTO, WELCOME(discard_sectors), .value = 0 },
	{ "discard that it cannot", -EPROTO, WELCOME(flags), .value = DATBLK_CAN_ZEROES },
	{ "zeroes of nothing", -EPROTO, WELCOME(zeroes_sectors), .value = 0 },
	{ "zeroes that it cannot", -EPROTO, WELCOME(flags), .value = DATBLK_CAN_DISCARD },
};

static void malformed_welcomes(struct kunit *test)
{
	check_table(test, &welcome_message, welcome_changes, ARRAY_SIZE(welcome_changes));
}

/* What is filled in is what is parsed, and inline data is found behind each other */
static void round_trip(struct kunit *test)
{
	struct draft *m = build_commands(test);
	struct datblk_command got[DATBLK_BATCH];
	struct datblk_answer ans[DATBLK_BATCH];
	unsigned int count, i;

	KUNIT_ASSERT_EQ(test, datblk_parse_commands(m->bytes, m->size, &limits, got, &count), 0);
	KUNIT_ASSERT_EQ(test, count, (unsigned int)ARRAY_SIZE(commands));
	KUNIT_EXPECT_EQ(test, got[1].offset, 512U);
	got[1].offset = 0;
	for (i = 0; i < count; i++)
		KUNIT_EXPECT_EQ_MSG(test, memcmp(&got[i], &commands[i], sizeof(got[i])), 0,
				    "command %u", i);
	m = build_answers(test);
	KUNIT_ASSERT_EQ(test, datblk_parse_answers(m->bytes, m->size, &limits, ans, &count), 0);
	KUNIT_ASSERT_EQ(test, count, (unsigned int)ARRAY_SIZE(answers));
	KUNIT_EXPECT_EQ(test, ans[3].offset, 4096U);
	ans[3].offset = 0;
	for (i = 0; i < count; i++)
		KUNIT_EXPECT_EQ_MSG(test, memcmp(&ans[i], &answers[i], sizeof(ans[i])), 0,
				    "answer %u", i);
}

/* A message of the server that has only data answers a read */
static void bare_answers(struct kunit *test)
{
	static const struct {
		u32 size;
		enum datblk_flaw flaw;
	} cases[] = {
		{ 512, DATBLK_SOUND },
		{ DATBLK_INLINE_MAX, DATBLK_SOUND },
		{ DATBLK_INLINE_MAX + 512, DATBLK_FLAW_LENGTH },
		{ 0, DATBLK_FLAW_SHORT },
	};
	struct draft *m = build_answers(test);
	struct datblk_answer ans[DATBLK_BATCH];
	unsigned int count, i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, datblk_parse_answers(m->bytes, cases[i].size, &limits,
							       ans, &count),
				    cases[i].flaw, "%u bytes", cases[i].size);
	KUNIT_ASSERT_EQ(test, datblk_parse_answers(m->bytes, 512, &limits, ans, &count), 0);
	KUNIT_EXPECT_EQ(test, count, 1U);
	KUNIT_EXPECT_EQ(test, ans[0].tag, DATBLK_TAG_OLDEST);
	KUNIT_EXPECT_EQ(test, ans[0].length, 512U);
	KUNIT_EXPECT_EQ(test, ans[0].flags, DATBLK_INLINE);
}

static void login_round_trip(struct kunit *test)
{
	struct draft *m = build_login(test);
	struct datblk_login got = {};
	struct datblk_limits granted = limits;
	struct datblk_geometry geo = {};

	KUNIT_ASSERT_EQ(test, datblk_check_login(m->bytes, m->size, &got), 0U);
	KUNIT_EXPECT_EQ(test, memcmp(&got, &request, sizeof(got)), 0);
	m = build_welcome(test);
	KUNIT_ASSERT_EQ(test, datblk_check_welcome(m->bytes, m->size, &granted, &geo), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&granted, &limits, sizeof(granted)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&geo, &geometry, sizeof(geo)), 0);
	memset(m->bytes + offsetof(struct datblk_welcome, uuid), 0, sizeof(geo.uuid));
	KUNIT_EXPECT_EQ_MSG(test, check_welcome(m), -EPROTO, "a device without a UUID");
}

static void refusals(struct kunit *test)
{
	struct datblk_refusal r = {
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION + 1),
		.status = cpu_to_le16(DATBLK_REFUSE_VERSION),
	};

	KUNIT_EXPECT_EQ(test, datblk_check_refusal(&r, sizeof(r)), (u32)DATBLK_REFUSE_VERSION);
	KUNIT_EXPECT_EQ(test, datblk_check_refusal(&r, sizeof(r) - 1), (u32)DATBLK_ADMIT);
	r.status = cpu_to_le16(DATBLK_REFUSE_MAX + 1);
	KUNIT_EXPECT_EQ(test, datblk_check_refusal(&r, sizeof(r)), (u32)DATBLK_ADMIT);
	r.status = cpu_to_le16(DATBLK_REFUSE_MAX);
	r.magic = 0;
	KUNIT_EXPECT_EQ(test, datblk_check_refusal(&r, sizeof(r)), (u32)DATBLK_ADMIT);
}

/* Random bytes: the parsers neither accept a value beyond a limit nor read beyond the message */
static void random_bytes(struct kunit *test)
{
	struct draft *m = build_commands(test);
	struct datblk_command got[DATBLK_BATCH];
	struct rnd_state state;
	unsigned int count, i, round;

	prandom_seed_state(&state, 22);
	for (round = 0; round < 20000; round++) {
		m = round % 100 ? m : build_commands(test);
		m->bytes[m->headers + prandom_u32_state(&state) % (m->size - m->headers)] ^=
			1 << (prandom_u32_state(&state) % 8);
		if (datblk_parse_commands(m->bytes, m->size, &limits, got, &count))
			continue;
		for (i = 0; i < count; i++) {
			KUNIT_EXPECT_LT(test, (u32)got[i].tag, limits.depth);
			KUNIT_EXPECT_LE(test, got[i].sector + got[i].length / 512,
					DATBLK_SECTOR_MAX);
			if (got[i].flags & DATBLK_INLINE)
				KUNIT_EXPECT_LE(test, got[i].length, limits.inline_max);
		}
	}
}

static struct kunit_case proto_cases[] = {
	KUNIT_CASE(malformed_commands),
	KUNIT_CASE(malformed_pings),
	KUNIT_CASE(malformed_answers),
	KUNIT_CASE(malformed_logins),
	KUNIT_CASE(malformed_welcomes),
	KUNIT_CASE(round_trip),
	KUNIT_CASE(bare_answers),
	KUNIT_CASE(login_round_trip),
	KUNIT_CASE(refusals),
	KUNIT_CASE(random_bytes),
	{}
};

static struct kunit_suite proto_suite = {
	.name = "datblk_proto",
	.test_cases = proto_cases,
};

kunit_test_suite(proto_suite);
