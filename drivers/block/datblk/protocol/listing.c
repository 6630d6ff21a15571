// SPDX-License-Identifier: GPL-2.0
/*
 * The list of the devices of a server: a client asks for one device after another. The client and
 * the server call these functions. None of them sleeps.
 */
#include <linux/export.h>
#include <linux/string.h>
#include "protocol.h"

/**
 * datblk_fill_query - write the private data of a connection request that asks for a device
 * @query: receives it
 * @after: name of the previous device, or ""
 *
 * Context: any.
 */
void datblk_fill_query(struct datblk_wire_query *query, const char *after)
{
	*query = (struct datblk_wire_query){
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.features = cpu_to_le16(DATBLK_ASKS_NEXT),
	};
	strscpy(query->after, after, sizeof(query->after));
}
EXPORT_SYMBOL_GPL(datblk_fill_query);

/**
 * datblk_check_query - check whether a connection request asks for a device
 * @data:  the private data
 * @size:  its size in bytes
 * @after: receives the name of the previous device, or ""
 *
 * Context: any.
 * Return: true if it asks for a device. Otherwise the request is a login or a proof, or not valid.
 */
bool datblk_check_query(const void *data, size_t size, char after[DATBLK_NAME_MAX])
{
	struct datblk_wire_query query;

	if (size < sizeof(query))
		return false;
	memcpy(&query, data, sizeof(query));
	memcpy(after, query.after, sizeof(query.after));
	return le32_to_cpu(query.magic) == DATBLK_MAGIC &&
	       le16_to_cpu(query.version) == DATBLK_VERSION &&
	       le16_to_cpu(query.features) == DATBLK_ASKS_NEXT &&
	       (!memchr_inv(after, 0, DATBLK_NAME_MAX) || datblk_name_ok(after));
}
EXPORT_SYMBOL_GPL(datblk_check_query);

/**
 * datblk_fill_listing - write the private data of the reject that describes a device
 * @listing: receives it
 * @name:    name of the device
 * @geo:     the device
 *
 * Context: any.
 */
void datblk_fill_listing(struct datblk_listing *listing, const char *name,
			 const struct datblk_geometry *geo)
{
	*listing = (struct datblk_listing){
		.refusal.magic = cpu_to_le32(DATBLK_MAGIC),
		.refusal.version = cpu_to_le16(DATBLK_VERSION),
		.refusal.status = cpu_to_le16(DATBLK_LISTED),
		.capacity = cpu_to_le64(geo->capacity),
		.flags = cpu_to_le32(geo->flags),
		.logical = cpu_to_le32(geo->logical),
	};
	strscpy(listing->name, name, sizeof(listing->name));
}
EXPORT_SYMBOL_GPL(datblk_fill_listing);

/**
 * datblk_check_listing - check a reject with the status DATBLK_LISTED
 * @data: the private data
 * @size: its size in bytes
 * @name: name of the previous device, or "". If the reject is valid, it receives the name of this
 *	  one. Names come in order, so no server can make the list endless
 * @geo:  receives the size, the block size and the flags of the device
 *
 * Context: any.
 * Return: whether the reject is valid.
 */
bool datblk_check_listing(const void *data, size_t size, char name[DATBLK_NAME_MAX],
			  struct datblk_geometry *geo)
{
	struct datblk_listing listing;

	if (size < sizeof(listing))
		return false;
	memcpy(&listing, data, sizeof(listing));
	*geo = (struct datblk_geometry){
		.capacity = le64_to_cpu(listing.capacity),
		.flags = le32_to_cpu(listing.flags),
		.logical = le32_to_cpu(listing.logical),
	};
	if (!datblk_name_ok(listing.name) || geo->capacity > DATBLK_SECTOR_MAX ||
	    strcmp(listing.name, name) <= 0)
		return false;
	memcpy(name, listing.name, sizeof(listing.name));
	return true;
}
EXPORT_SYMBOL_GPL(datblk_check_listing);
