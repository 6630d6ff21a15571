// SPDX-License-Identifier: GPL-2.0
/* The opposite of parse.c: writes headers. Called by the client and the server in any context */
#include <linux/export.h>
#include "protocol.h"

/**
 * datblk_fill_login - write the private data of a connection request
 * @login: receives it
 * @req:   its contents
 *
 * Context: any.
 */
void datblk_fill_login(struct datblk_wire_login *login, const struct datblk_login *req)
{
	*login = (struct datblk_wire_login){
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.features = cpu_to_le16(req->wants_proof ? DATBLK_WANTS_PROOF : 0),
		.host = cpu_to_le64(req->host),
		.boot = cpu_to_le32(req->boot),
		.incarnation = cpu_to_le32(req->incarnation),
		.disk = cpu_to_le16(req->disk),
		.io_units = cpu_to_le16(req->limits.io_max / DATBLK_IO_UNIT),
		.depth = req->limits.depth,
		.inline_sectors = req->limits.inline_max / DATBLK_SECTOR,
		.queue = req->queue,
		.queues = req->queues,
	};
	memcpy(login->name, req->name, sizeof(login->name));
}
EXPORT_SYMBOL_GPL(datblk_fill_login);

/**
 * datblk_fill_welcome - write the private data of an accept
 * @welcome: receives it
 * @limits:  limits of the connection
 * @geo:     the device
 *
 * Context: any.
 */
void datblk_fill_welcome(struct datblk_welcome *welcome, const struct datblk_limits *limits,
			 const struct datblk_geometry *geo)
{
	*welcome = (struct datblk_welcome){
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.status = cpu_to_le16(DATBLK_ADMIT),
		.depth = cpu_to_le16(limits->depth),
		.inline_sectors = cpu_to_le16(limits->inline_max / DATBLK_SECTOR),
		.io_sectors = cpu_to_le32(limits->io_max / DATBLK_SECTOR),
		.capacity = cpu_to_le64(geo->capacity),
		.flags = cpu_to_le32(geo->flags),
		.logical = cpu_to_le32(geo->logical),
		.physical = cpu_to_le32(geo->physical),
		.discard_granularity = cpu_to_le32(geo->discard_granularity),
		.discard_sectors = cpu_to_le32(geo->discard_sectors),
		.zeroes_sectors = cpu_to_le32(geo->zeroes_sectors),
		.instance = cpu_to_le64(geo->instance),
	};
	export_uuid(welcome->uuid, &geo->uuid);
}
EXPORT_SYMBOL_GPL(datblk_fill_welcome);

/**
 * datblk_fill_command - write the header of a command
 * @command: receives it
 * @cmd:     its contents
 *
 * Context: any.
 */
void datblk_fill_command(struct datblk_wire_command *command, const struct datblk_command *cmd)
{
	*command = (struct datblk_wire_command){
		.op = cmd->op,
		.flags = cmd->flags,
		.tag = cpu_to_le16(cmd->tag),
		.length = cpu_to_le32(cmd->length),
		.sector = cpu_to_le64(cmd->sector),
		.address = cpu_to_le64(cmd->address),
		.key = cpu_to_le32(cmd->key),
		.login = cmd->login,
	};
}
EXPORT_SYMBOL_GPL(datblk_fill_command);

/**
 * datblk_fill_answer - write the header of an answer
 * @answer: receives it
 * @ans:    its contents
 *
 * Context: any.
 */
void datblk_fill_answer(struct datblk_wire_answer *answer, const struct datblk_answer *ans)
{
	*answer = (struct datblk_wire_answer){
		.tag = cpu_to_le16(ans->tag),
		.status = ans->status,
		.flags = ans->flags,
		.length = cpu_to_le32(ans->length),
	};
}
EXPORT_SYMBOL_GPL(datblk_fill_answer);

/**
 * datblk_fill_trailer - write the end of a message
 * @trailer: receives it
 * @type:    DATBLK_COMMANDS or DATBLK_ANSWERS
 * @count:   number of headers
 * @data:    bytes of inline data
 *
 * Context: any.
 */
void datblk_fill_trailer(struct datblk_trailer *trailer, u8 type, u8 count, u32 data)
{
	*trailer = (struct datblk_trailer){
		.count = count,
		.type = type,
		.data = cpu_to_le32(data),
	};
}
EXPORT_SYMBOL_GPL(datblk_fill_trailer);
