// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of everything that a peer sends. The client and the server call these functions in
 * any context. They read the message once, never sleep and keep no state.
 */
#include <linux/bitmap.h>
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/module.h>
#include "protocol.h"

static const char * const flaws[DATBLK_FLAWS] = {
	[DATBLK_SOUND] = "none",
	[DATBLK_FLAW_SHORT] = "too short",
	[DATBLK_FLAW_LONG] = "too long",
	[DATBLK_FLAW_TYPE] = "wrong type of message",
	[DATBLK_FLAW_COUNT] = "illegal number of headers",
	[DATBLK_FLAW_RESERVED] = "reserved field is not 0",
	[DATBLK_FLAW_DATA] = "wrong amount of inline data",
	[DATBLK_FLAW_OP] = "unknown operation",
	[DATBLK_FLAW_FLAGS] = "illegal flags",
	[DATBLK_FLAW_TAG] = "tag out of range",
	[DATBLK_FLAW_TWICE] = "tag twice in a message",
	[DATBLK_FLAW_LENGTH] = "illegal length",
	[DATBLK_FLAW_SECTOR] = "illegal sector",
	[DATBLK_FLAW_KEY] = "illegal address or key",
	[DATBLK_FLAW_STATUS] = "unknown status",
	[DATBLK_FLAW_BUSY] = "tag has a command already",
	[DATBLK_FLAW_IDLE] = "tag has no command",
	[DATBLK_FLAW_ANSWER] = "answer does not fit its command",
	[DATBLK_FLAW_INVALIDATE] = "wrong key invalidated",
	[DATBLK_FLAW_LOGIN] = "illegal login number",
};

/**
 * datblk_flaw_text - the text of a flaw, for a log line
 * @flaw: what a parser returned
 *
 * Context: any.
 * Return: a constant string.
 */
const char *datblk_flaw_text(enum datblk_flaw flaw)
{
	return flaw < DATBLK_FLAWS ? flaws[flaw] : "unknown";
}
EXPORT_SYMBOL_GPL(datblk_flaw_text);

static const char * const refusals[] = {
	[DATBLK_ADMIT] = "admitted",
	[DATBLK_REFUSE_LOGIN] = "malformed login",
	[DATBLK_REFUSE_VERSION] = "the server speaks another version of the protocol",
	[DATBLK_REFUSE_DEVICE] = "the server has no such device",
	[DATBLK_REFUSE_CLIENT] = "the server does not allow this address",
	[DATBLK_REFUSE_BUSY] = "an earlier connection has I/O in flight",
	[DATBLK_REFUSE_RESOURCES] = "the server lacks resources",
	[DATBLK_REFUSE_KEYLESS] = "the device needs a key",
	[DATBLK_REFUSE_NO_KEY] = "the server has no key for the device",
	[DATBLK_REFUSE_PROOF] = "the client has another key than the server",
	[DATBLK_REFUSE_STALE] = "the challenge has expired",
	[DATBLK_CHALLENGED] = "the server wants a proof",
	[DATBLK_LISTED] = "the server describes a device",
	[DATBLK_REFUSE_LATE] = "the disk has a later session",
};

/**
 * datblk_refusal_text - the text of a refusal, for a log line
 * @status: what datblk_check_refusal() returned
 *
 * Context: any.
 * Return: a constant string.
 */
const char *datblk_refusal_text(unsigned int status)
{
	return status < ARRAY_SIZE(refusals) ? refusals[status] : "unknown";
}
EXPORT_SYMBOL_GPL(datblk_refusal_text);

/**
 * datblk_name_ok - may a device have this name?
 * @name: DATBLK_NAME_MAX bytes, padded with zeroes
 *
 * Context: any.
 * Return: whether the name is printable, without the characters that separate names.
 */
bool datblk_name_ok(const char *name)
{
	size_t length = strnlen(name, DATBLK_NAME_MAX), i;

	if (!length || length == DATBLK_NAME_MAX)
		return false;
	for (i = 0; i < length; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/')
			return false;
	return !memchr_inv(name + length, 0, DATBLK_NAME_MAX - length);
}
EXPORT_SYMBOL_GPL(datblk_name_ok);

static bool datblk_limits_ok(const struct datblk_limits *limits)
{
	return limits->depth && limits->depth <= DATBLK_DEPTH_MAX &&
	       limits->inline_max <= DATBLK_INLINE_MAX &&
	       limits->io_max && limits->io_max <= DATBLK_IO_MAX &&
	       !(limits->io_max % DATBLK_IO_UNIT);
}

/* The number of sectors may be too large for a number of bytes: 0 is refused afterwards */
static u32 datblk_sectors_to_bytes(u32 sectors)
{
	return sectors <= DATBLK_IO_MAX / DATBLK_SECTOR ? sectors * DATBLK_SECTOR : 0;
}

/**
 * datblk_check_login - check the private data of a connection request
 * @data: the private data
 * @size: its size
 * @req:  receives the login
 *
 * Context: any.
 * Return: DATBLK_ADMIT, or the status of the refusal.
 */
unsigned int datblk_check_login(const void *data, size_t size, struct datblk_login *req)
{
	struct datblk_wire_login login;

	if (size < sizeof(login))
		return DATBLK_REFUSE_LOGIN;
	memcpy(&login, data, sizeof(login));
	if (le32_to_cpu(login.magic) != DATBLK_MAGIC)
		return DATBLK_REFUSE_LOGIN;
	if (le16_to_cpu(login.version) != DATBLK_VERSION)
		return DATBLK_REFUSE_VERSION;
	req->limits.depth = login.depth;
	req->limits.inline_max = login.inline_sectors * DATBLK_SECTOR;
	req->limits.io_max = le16_to_cpu(login.io_units) * DATBLK_IO_UNIT;
	req->host = le64_to_cpu(login.host);
	req->boot = le32_to_cpu(login.boot);
	req->incarnation = le32_to_cpu(login.incarnation);
	req->disk = le16_to_cpu(login.disk);
	req->queue = login.queue;
	req->queues = login.queues;
	req->wants_proof = le16_to_cpu(login.features) == DATBLK_WANTS_PROOF;
	memcpy(req->name, login.name, sizeof(req->name));
	if (login.features && !req->wants_proof)
		return DATBLK_REFUSE_LOGIN;
	if (!req->host || !datblk_limits_ok(&req->limits) ||
	    !datblk_name_ok(req->name) || req->queue >= req->queues ||
	    req->queues > DATBLK_QUEUES_MAX)
		return DATBLK_REFUSE_LOGIN;
	return DATBLK_ADMIT;
}
EXPORT_SYMBOL_GPL(datblk_check_login);

static bool datblk_geometry_ok(const struct datblk_geometry *geo, u32 io_max)
{
	bool discard = geo->flags & DATBLK_CAN_DISCARD;

	if (geo->flags & ~DATBLK_WELCOME_FLAGS || uuid_is_null(&geo->uuid))
		return false;
	if (!is_power_of_2(geo->logical) || geo->logical < DATBLK_SECTOR ||
	    geo->logical > DATBLK_IO_UNIT || io_max % geo->logical)
		return false;
	if (!is_power_of_2(geo->physical) || geo->physical < geo->logical ||
	    geo->physical > DATBLK_IO_MAX)
		return false;
	if (!geo->capacity || geo->capacity > DATBLK_SECTOR_MAX ||
	    geo->capacity % (geo->logical / DATBLK_SECTOR))
		return false;
	if (discard != !!geo->discard_granularity || discard != !!geo->discard_sectors ||
	    geo->discard_granularity % geo->logical)
		return false;
	/* The block layer counts bytes in 32 bits in places */
	if (geo->discard_sectors > UINT_MAX / DATBLK_SECTOR ||
	    geo->zeroes_sectors > UINT_MAX / DATBLK_SECTOR)
		return false;
	return !(geo->flags & DATBLK_CAN_ZEROES) == !geo->zeroes_sectors;
}

/**
 * datblk_check_welcome - check the private data of an accept
 * @data:   the private data
 * @size:   its size
 * @limits: the limits that the login asked for; receives those of the server
 * @geo:    receives the description of the device
 *
 * Context: any.
 * Return: 0, or -EPROTO, and then @limits is unchanged.
 */
int datblk_check_welcome(const void *data, size_t size, struct datblk_limits *limits,
			 struct datblk_geometry *geo)
{
	struct datblk_welcome w;
	struct datblk_limits got;

	if (size < sizeof(w))
		return -EPROTO;
	memcpy(&w, data, sizeof(w));
	if (le32_to_cpu(w.magic) != DATBLK_MAGIC || le16_to_cpu(w.version) != DATBLK_VERSION ||
	    le16_to_cpu(w.status) != DATBLK_ADMIT)
		return -EPROTO;
	got.depth = le16_to_cpu(w.depth);
	got.inline_max = le16_to_cpu(w.inline_sectors) * DATBLK_SECTOR;
	got.io_max = datblk_sectors_to_bytes(le32_to_cpu(w.io_sectors));
	if (!datblk_limits_ok(&got) || got.depth > limits->depth ||
	    got.inline_max > limits->inline_max || got.io_max > limits->io_max)
		return -EPROTO;
	geo->capacity = le64_to_cpu(w.capacity);
	geo->flags = le32_to_cpu(w.flags);
	geo->logical = le32_to_cpu(w.logical);
	geo->physical = le32_to_cpu(w.physical);
	geo->discard_granularity = le32_to_cpu(w.discard_granularity);
	geo->discard_sectors = le32_to_cpu(w.discard_sectors);
	geo->zeroes_sectors = le32_to_cpu(w.zeroes_sectors);
	import_uuid(&geo->uuid, w.uuid);
	geo->instance = le64_to_cpu(w.instance);
	if (!datblk_geometry_ok(geo, got.io_max))
		return -EPROTO;
	*limits = got;
	return 0;
}
EXPORT_SYMBOL_GPL(datblk_check_welcome);

/**
 * datblk_check_refusal - check the private data of a reject
 * @data: the private data
 * @size: its size
 *
 * Context: any.
 * Return: the status, or DATBLK_ADMIT if this is not a refusal of a datblk server.
 */
unsigned int datblk_check_refusal(const void *data, size_t size)
{
	struct datblk_refusal refusal;
	unsigned int status;

	if (size < sizeof(refusal))
		return DATBLK_ADMIT;
	memcpy(&refusal, data, sizeof(refusal));
	status = le16_to_cpu(refusal.status);
	if (le32_to_cpu(refusal.magic) != DATBLK_MAGIC || status > DATBLK_REFUSE_MAX)
		return DATBLK_ADMIT;
	return status;
}
EXPORT_SYMBOL_GPL(datblk_check_refusal);

/*
 * Checks the trailer. On success *headers is the offset of the first header, which is the
 * number of bytes of data.
 */
static enum datblk_flaw datblk_parse_trailer(const void *message, size_t size, u8 type, size_t each,
					     u32 *headers, unsigned int *count)
{
	struct datblk_trailer trailer;

	if (size < each + sizeof(trailer))
		return DATBLK_FLAW_SHORT;
	if (size > DATBLK_DATA_MAX + DATBLK_BATCH * each + sizeof(trailer))
		return DATBLK_FLAW_LONG;
	memcpy(&trailer, message + size - sizeof(trailer), sizeof(trailer));
	if (trailer.type != type)
		return DATBLK_FLAW_TYPE;
	if (trailer.reserved)
		return DATBLK_FLAW_RESERVED;
	if (!trailer.count || trailer.count > DATBLK_BATCH)
		return DATBLK_FLAW_COUNT;
	*headers = le32_to_cpu(trailer.data);
	*count = trailer.count;
	if (*headers > DATBLK_DATA_MAX || *headers % DATBLK_SECTOR ||
	    size != *headers + *count * each + sizeof(trailer))
		return DATBLK_FLAW_DATA;
	return DATBLK_SOUND;
}

static u8 datblk_legal_flags(u8 op)
{
	switch (op) {
	case DATBLK_OP_READ:
	case DATBLK_OP_LOGIN:
		return DATBLK_INLINE;
	case DATBLK_OP_WRITE:
		return DATBLK_INLINE | DATBLK_FUA;
	case DATBLK_OP_ZEROES:
		return DATBLK_FUA | DATBLK_NOUNMAP;
	default:
		return 0;
	}
}

/* Either inline, or with a key */
static enum datblk_flaw datblk_parse_data(const struct datblk_command *cmd,
					  const struct datblk_limits *limits)
{
	if (cmd->flags & DATBLK_INLINE) {
		if (cmd->length > limits->inline_max)
			return DATBLK_FLAW_LENGTH;
		return cmd->address || cmd->key ? DATBLK_FLAW_KEY : DATBLK_SOUND;
	}
	if (cmd->length > limits->io_max)
		return DATBLK_FLAW_LENGTH;
	return !cmd->key || cmd->address + cmd->length < cmd->address ? DATBLK_FLAW_KEY :
									DATBLK_SOUND;
}

static bool datblk_tag_ok(const struct datblk_command *cmd, const struct datblk_limits *limits)
{
	if (datblk_for_device(cmd))
		return cmd->tag < limits->depth;
	return cmd->tag == (cmd->op == DATBLK_OP_PING ? datblk_ping_tag(limits) :
							datblk_login_tag(limits));
}

/* A LOGIN always has its data in the message, even if the inline limit is smaller */
static enum datblk_flaw datblk_parse_login(const struct datblk_command *cmd)
{
	if (!(cmd->flags & DATBLK_INLINE))
		return DATBLK_FLAW_FLAGS;
	if (cmd->length != DATBLK_LOGIN_BYTES)
		return DATBLK_FLAW_LENGTH;
	if (cmd->sector)
		return DATBLK_FLAW_SECTOR;
	return cmd->address || cmd->key ? DATBLK_FLAW_KEY : DATBLK_SOUND;
}

static enum datblk_flaw datblk_parse_check(const struct datblk_command *cmd,
					   const struct datblk_limits *limits)
{
	bool bare = cmd->op == DATBLK_OP_FLUSH || !datblk_for_device(cmd);

	if (cmd->op < DATBLK_OP_READ || cmd->op > DATBLK_OP_MAX)
		return DATBLK_FLAW_OP;
	if (cmd->flags & ~datblk_legal_flags(cmd->op))
		return DATBLK_FLAW_FLAGS;
	if (!datblk_tag_ok(cmd, limits))
		return DATBLK_FLAW_TAG;
	if (cmd->login >= (cmd->op == DATBLK_OP_PING ? 1 : DATBLK_LOGINS))
		return DATBLK_FLAW_LOGIN;
	if (cmd->op == DATBLK_OP_LOGIN)
		return datblk_parse_login(cmd);
	if (bare ? cmd->length : !cmd->length || cmd->length % DATBLK_SECTOR)
		return DATBLK_FLAW_LENGTH;
	if (bare ? cmd->sector :
	    cmd->sector > DATBLK_SECTOR_MAX - cmd->length / DATBLK_SECTOR)
		return DATBLK_FLAW_SECTOR;
	if (cmd->op == DATBLK_OP_READ || cmd->op == DATBLK_OP_WRITE)
		return datblk_parse_data(cmd, limits);
	return cmd->address || cmd->key ? DATBLK_FLAW_KEY : DATBLK_SOUND;
}

static enum datblk_flaw datblk_parse_command(const void *from, const struct datblk_limits *limits,
					     struct datblk_command *cmd)
{
	struct datblk_wire_command c;

	memcpy(&c, from, sizeof(c));
	cmd->op = c.op;
	cmd->flags = c.flags;
	cmd->tag = le16_to_cpu(c.tag);
	cmd->length = le32_to_cpu(c.length);
	cmd->sector = le64_to_cpu(c.sector);
	cmd->address = le64_to_cpu(c.address);
	cmd->key = le32_to_cpu(c.key);
	cmd->login = c.login;
	cmd->offset = 0;
	if (c.reserved[0] | c.reserved[1] | c.reserved[2])
		return DATBLK_FLAW_RESERVED;
	return datblk_parse_check(cmd, limits);
}

/**
 * datblk_parse_commands - check a message of the client
 * @message: the message, in host memory that the client cannot change any more
 * @size:    its size
 * @limits:  limits of the connection
 * @cmds:    receives the commands, room for DATBLK_BATCH
 * @count:   receives their number
 *
 * The caller still has to check each command against its device, and that the tag is idle.
 *
 * Context: any.
 * Return: DATBLK_SOUND, or why the message is malformed.
 */
enum datblk_flaw datblk_parse_commands(const void *message, size_t size,
				       const struct datblk_limits *limits,
				       struct datblk_command *cmds, unsigned int *count)
{
	DECLARE_BITMAP(seen, DATBLK_DEPTH_MAX + 2) = {};
	enum datblk_flaw flaw;
	u32 headers, offset = 0;
	unsigned int i;

	flaw = datblk_parse_trailer(message, size, DATBLK_COMMANDS,
				    sizeof(struct datblk_wire_command), &headers, count);
	for (i = 0; !flaw && i < *count; i++) {
		flaw = datblk_parse_command(message + headers +
					    i * sizeof(struct datblk_wire_command),
					    limits, &cmds[i]);
		if (!flaw && __test_and_set_bit(cmds[i].tag, seen))
			flaw = DATBLK_FLAW_TWICE;
		if (flaw || !datblk_brings_data(&cmds[i]))
			continue;
		cmds[i].offset = offset;
		offset += cmds[i].length;
	}
	if (!flaw && offset != headers)
		flaw = DATBLK_FLAW_DATA;
	return flaw;
}
EXPORT_SYMBOL_GPL(datblk_parse_commands);

static enum datblk_flaw datblk_parse_answer(const void *from, const struct datblk_limits *limits,
					    struct datblk_answer *ans)
{
	u32 most = limits->inline_max;
	struct datblk_wire_answer a;

	memcpy(&a, from, sizeof(a));
	ans->tag = le16_to_cpu(a.tag);
	ans->status = a.status;
	ans->flags = a.flags;
	ans->length = le32_to_cpu(a.length);
	ans->offset = 0;
	if (ans->flags & ~DATBLK_INLINE)
		return DATBLK_FLAW_FLAGS;
	if (ans->tag >= datblk_tags(limits))
		return DATBLK_FLAW_TAG;
	if (ans->status > DATBLK_STS_MAX)
		return DATBLK_FLAW_STATUS;
	if (!(ans->flags & DATBLK_INLINE))
		return ans->length ? DATBLK_FLAW_LENGTH : DATBLK_SOUND;
	if (ans->status != DATBLK_STS_OK)
		return DATBLK_FLAW_FLAGS;
	if (ans->tag == datblk_login_tag(limits))
		most = DATBLK_LOGIN_BYTES;
	return !ans->length || ans->length % DATBLK_SECTOR || ans->length > most ?
	       DATBLK_FLAW_LENGTH : DATBLK_SOUND;
}

/* A message that has only data */
static enum datblk_flaw datblk_parse_bare(size_t size, const struct datblk_limits *limits,
					  struct datblk_answer *ans)
{
	*ans = (struct datblk_answer){
		.tag = DATBLK_TAG_OLDEST,
		.status = DATBLK_STS_OK,
		.flags = DATBLK_INLINE,
		.length = size,
	};
	return size > limits->inline_max ? DATBLK_FLAW_LENGTH : DATBLK_SOUND;
}

/**
 * datblk_parse_answers - check a message of the server
 * @message: the message, in host memory that the server cannot change any more
 * @size:    its size
 * @limits:  limits of the connection
 * @answers: receives the answers, room for DATBLK_BATCH
 * @count:   receives their number
 *
 * The caller still has to check that each tag has a command, and that the answer fits it. The tag
 * may be DATBLK_TAG_OLDEST.
 *
 * Context: any.
 * Return: DATBLK_SOUND, or why the message is malformed.
 */
enum datblk_flaw datblk_parse_answers(const void *message, size_t size,
				      const struct datblk_limits *limits,
				      struct datblk_answer *answers, unsigned int *count)
{
	DECLARE_BITMAP(seen, DATBLK_DEPTH_MAX + 2) = {};
	enum datblk_flaw flaw;
	u32 headers, offset = 0;
	unsigned int i;

	if (size && !(size % DATBLK_SECTOR)) {
		*count = 1;
		return datblk_parse_bare(size, limits, answers);
	}
	flaw = datblk_parse_trailer(message, size, DATBLK_ANSWERS,
				    sizeof(struct datblk_wire_answer), &headers, count);
	for (i = 0; !flaw && i < *count; i++) {
		flaw = datblk_parse_answer(message + headers +
					   i * sizeof(struct datblk_wire_answer),
					   limits, &answers[i]);
		if (!flaw && __test_and_set_bit(answers[i].tag, seen))
			flaw = DATBLK_FLAW_TWICE;
		if (flaw || !(answers[i].flags & DATBLK_INLINE))
			continue;
		answers[i].offset = offset;
		offset += answers[i].length;
	}
	if (!flaw && offset != headers)
		flaw = DATBLK_FLAW_DATA;
	return flaw;
}
EXPORT_SYMBOL_GPL(datblk_parse_answers);

MODULE_DESCRIPTION("Block device over DAT: protocol");
MODULE_LICENSE("GPL");
