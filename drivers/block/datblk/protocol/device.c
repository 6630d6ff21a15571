// SPDX-License-Identifier: GPL-2.0
/*
 * Decisions of the client about the device of a server: is it the device that the disk had before,
 * and has the server kept what it answered? No function sleeps.
 */
#include <linux/export.h>
#include "protocol.h"

/* The server may find out later that the device lacks an operation; the last flag is a hint */
#define MAY_CHANGE	(DATBLK_READONLY | DATBLK_CAN_DISCARD | DATBLK_CAN_ZEROES | \
			 DATBLK_ROTATIONAL)

/**
 * datblk_device_changed - compare the device of a new session with that of the disk
 * @was: the device that the disk has had so far
 * @now: the device that the server offers
 *
 * Context: any.
 * Return: why the disk cannot use it, or NULL. A larger device can be used.
 */
const char *datblk_device_changed(const struct datblk_geometry *was,
				  const struct datblk_geometry *now)
{
	if (!uuid_equal(&now->uuid, &was->uuid))
		return "the server has another device of this name";
	if (now->capacity < was->capacity)
		return "the device has become smaller";
	if (now->logical != was->logical)
		return "the device has another block size";
	if ((now->flags ^ was->flags) & ~MAY_CHANGE)
		return "the device has other features";
	return NULL;
}
EXPORT_SYMBOL_GPL(datblk_device_changed);

/**
 * datblk_writes_flushing - a flush is about to be sent
 * @writes: what the client knows of its writes
 *
 * Context: any; the flush covers the writes that have been answered before the call.
 * Return: what the caller passes to datblk_writes_flush_failed() if the flush does not succeed.
 */
bool datblk_writes_flushing(struct datblk_writes *writes)
{
	return xchg(&writes->unflushed, false);
}
EXPORT_SYMBOL_GPL(datblk_writes_flushing);

/**
 * datblk_writes_flush_failed - a flush failed, or was lost with its connection
 * @writes: what the client knows of its writes
 * @before: result of datblk_writes_flushing()
 *
 * Context: any.
 */
void datblk_writes_flush_failed(struct datblk_writes *writes, bool before)
{
	if (before)
		WRITE_ONCE(writes->unflushed, true);
}
EXPORT_SYMBOL_GPL(datblk_writes_flush_failed);

/**
 * datblk_writes_at_risk - may a server have lost writes that it has answered?
 * @writes:   what the client knows of its writes
 * @instance: the instance of the device, from the welcome
 *
 * Context: process; the disk has no request in flight.
 * Return: true if it may have lost some. The caller may repeat them before the session begins.
 */
bool datblk_writes_at_risk(const struct datblk_writes *writes, u64 instance)
{
	return writes->known && writes->instance != instance && writes->unflushed;
}
EXPORT_SYMBOL_GPL(datblk_writes_at_risk);

/**
 * datblk_writes_repeated - the server has all writes again
 * @writes:   what the client knows of its writes
 * @instance: the instance of the device that has them; they are not flushed
 *
 * Context: process; the disk has no request in flight.
 */
void datblk_writes_repeated(struct datblk_writes *writes, u64 instance)
{
	writes->instance = instance;
}
EXPORT_SYMBOL_GPL(datblk_writes_repeated);

/**
 * datblk_writes_session - a session begins
 * @writes:   what the client knows of its writes
 * @instance: the instance of the device, from the welcome
 *
 * Context: process; the disk has no request in flight.
 * Return: true if the server may have lost writes that it has answered. From then on
 * datblk_writes_lost() returns true.
 */
bool datblk_writes_session(struct datblk_writes *writes, u64 instance)
{
	bool lost = datblk_writes_at_risk(writes, instance);

	writes->known = true;
	writes->instance = instance;
	if (lost) {
		WRITE_ONCE(writes->lost, true);
		writes->unflushed = false;
	}
	return lost;
}
EXPORT_SYMBOL_GPL(datblk_writes_session);

/**
 * datblk_writes_opened - nobody uses the disk, and somebody is about to open it
 * @writes: what the client knows of its writes
 *
 * Flushes succeed again if one has failed: the users who lost data know.
 *
 * Context: process.
 */
void datblk_writes_opened(struct datblk_writes *writes)
{
	if (!READ_ONCE(writes->told))
		return;
	WRITE_ONCE(writes->lost, false);
	WRITE_ONCE(writes->told, false);
}
EXPORT_SYMBOL_GPL(datblk_writes_opened);
