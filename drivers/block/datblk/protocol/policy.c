// SPDX-License-Identifier: GPL-2.0
/*
 * What the server decides about logins, devices, commands and errors, without state. It calls these
 * functions in any context.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include "protocol.h"

/* Sectors of a discard or write-zeroes of a device that has it; its bytes fit into 32 bits */
#define RANGE_NATIVE	(SZ_1G / DATBLK_SECTOR)
/* If the server has to write zeroes, a slow device must be able to end the command in time */
#define RANGE_WRITTEN	(SZ_4M / DATBLK_SECTOR)

/*
 * The sessions of a disk count up from a random number. A client abandons a login after a few
 * seconds, so a stale login is only a few sessions old. A larger difference means another disk.
 */
#define LATE		256

/**
 * datblk_login_late - is a login older than a connection of the same disk?
 * @login: the login
 * @conn:  the login of a connection of the same host
 *
 * Context: any.
 * Return: true if a later session of the disk has connected meanwhile.
 */
bool datblk_login_late(const struct datblk_login *login, const struct datblk_login *conn)
{
	u32 later = conn->incarnation - login->incarnation;

	return conn->boot == login->boot && conn->disk == login->disk && later && later < LATE;
}
EXPORT_SYMBOL_GPL(datblk_login_late);

/**
 * datblk_login_replaces - does a login end a connection?
 * @login: the login, which is not late
 * @conn:  the login of a connection of the same host
 *
 * Context: any.
 * Return: true, except for connections of other disks, and of other queues of the session.
 */
bool datblk_login_replaces(const struct datblk_login *login, const struct datblk_login *conn)
{
	if (conn->boot != login->boot)
		return true;
	return conn->disk == login->disk &&
	       (conn->incarnation != login->incarnation || conn->queue == login->queue);
}
EXPORT_SYMBOL_GPL(datblk_login_replaces);

/**
 * datblk_range_limit - the limit of a discard or write-zeroes that the server announces
 * @native:  sectors that the device can do at once; 0 if it lacks the operation
 * @logical: its block size
 *
 * Context: any.
 * Return: sectors, whole blocks, at least one.
 */
u32 datblk_range_limit(u64 native, u32 logical)
{
	u32 sectors = native ? min_t(u64, native, RANGE_NATIVE) : RANGE_WRITTEN;

	return max(round_down(sectors, logical / DATBLK_SECTOR), logical / DATBLK_SECTOR);
}
EXPORT_SYMBOL_GPL(datblk_range_limit);

/**
 * datblk_check_command - is a command legal for a device?
 * @geo: the device, as the welcome has described it
 * @c:   a command of a message that was sound
 *
 * Context: any.
 * Return: DATBLK_STS_OK, or the status of the answer.
 */
u8 datblk_check_command(const struct datblk_geometry *geo, const struct datblk_command *c)
{
	u64 sectors = c->length / DATBLK_SECTOR;

	if (!datblk_for_device(c))
		return DATBLK_STS_OK;
	if (c->op != DATBLK_OP_READ && c->op != DATBLK_OP_FLUSH && geo->flags & DATBLK_READONLY)
		return DATBLK_STS_READONLY;
	if ((c->op == DATBLK_OP_DISCARD && !(geo->flags & DATBLK_CAN_DISCARD)) ||
	    (c->op == DATBLK_OP_ZEROES && !(geo->flags & DATBLK_CAN_ZEROES)))
		return DATBLK_STS_NOTSUPP;
	if ((c->op == DATBLK_OP_DISCARD && sectors > geo->discard_sectors) ||
	    (c->op == DATBLK_OP_ZEROES && sectors > geo->zeroes_sectors))
		return DATBLK_STS_RANGE;
	if (c->length % geo->logical || c->sector % (geo->logical / DATBLK_SECTOR) ||
	    sectors > geo->capacity || c->sector > geo->capacity - sectors)
		return DATBLK_STS_RANGE;
	return DATBLK_STS_OK;
}
EXPORT_SYMBOL_GPL(datblk_check_command);

/**
 * datblk_status - the status of the answer to a command
 * @err: 0, or the error of the device or file
 *
 * After NOMEM and AGAIN the same command may succeed.
 *
 * Context: any.
 * Return: DATBLK_STS_*.
 */
u8 datblk_status(int err)
{
	switch (err) {
	case 0:
		return DATBLK_STS_OK;
	case -ENOSPC:
	case -EDQUOT:
		return DATBLK_STS_NOSPC;
	case -EOPNOTSUPP:
		return DATBLK_STS_NOTSUPP;
	case -EROFS:
	case -EPERM:
		return DATBLK_STS_READONLY;
	case -ENOMEM:
		return DATBLK_STS_NOMEM;
	case -EAGAIN:
	case -EBUSY:
	case -EINTR:
	case -ERESTARTSYS:
		return DATBLK_STS_AGAIN;
	case -ENODATA:
	case -EILSEQ:
	case -EREMOTEIO:
		return DATBLK_STS_MEDIUM;
	default:
		return DATBLK_STS_IO;
	}
}
EXPORT_SYMBOL_GPL(datblk_status);
