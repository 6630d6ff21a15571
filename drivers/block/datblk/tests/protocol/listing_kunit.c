// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_listing: the messages by which a client lists the devices of a server.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "protocol/protocol.h"

static const struct datblk_geometry geometry = {
	.capacity = 8192, .flags = DATBLK_READONLY, .logical = 4096,
};

static void listed(struct kunit *test)
{
	struct datblk_listing listing;
	char name[DATBLK_NAME_MAX] = "a";
	struct datblk_geometry geo;

	datblk_fill_listing(&listing, "b", &geometry);
	KUNIT_EXPECT_EQ(test, datblk_check_refusal(&listing, sizeof(listing)), DATBLK_LISTED);
	KUNIT_EXPECT_TRUE(test, datblk_check_listing(&listing, sizeof(listing), name, &geo));
	KUNIT_EXPECT_STREQ(test, name, "b");
	KUNIT_EXPECT_EQ(test, geo.capacity, geometry.capacity);
	KUNIT_EXPECT_EQ(test, geo.flags, geometry.flags);
	KUNIT_EXPECT_EQ(test, geo.logical, geometry.logical);
}

/* A server that sends a name again would keep the client asking */
static void names_ascend(struct kunit *test)
{
	static const char * const names[] = { "b", "a", "" };
	char name[DATBLK_NAME_MAX] = "b";
	struct datblk_listing listing;
	struct datblk_geometry geo;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		datblk_fill_listing(&listing, names[i], &geometry);
		KUNIT_EXPECT_FALSE_MSG(test, datblk_check_listing(&listing, sizeof(listing), name,
								  &geo), "\"%s\"", names[i]);
		KUNIT_EXPECT_STREQ(test, name, "b");
	}
}

static void malformed_listings(struct kunit *test)
{
	char name[DATBLK_NAME_MAX] = "";
	struct datblk_listing listing;
	struct datblk_geometry geo;

	datblk_fill_listing(&listing, "b", &geometry);
	KUNIT_EXPECT_FALSE(test, datblk_check_listing(&listing, sizeof(listing) - 1, name, &geo));
	memset(listing.name, 'b', sizeof(listing.name));
	KUNIT_EXPECT_FALSE_MSG(test, datblk_check_listing(&listing, sizeof(listing), name, &geo),
			       "a name without its end");
	datblk_fill_listing(&listing, "b", &geometry);
	listing.capacity = cpu_to_le64(DATBLK_SECTOR_MAX + 1);
	KUNIT_EXPECT_FALSE_MSG(test, datblk_check_listing(&listing, sizeof(listing), name, &geo),
			       "more sectors than there can be");
}

static void queries(struct kunit *test)
{
	char after[DATBLK_NAME_MAX];
	struct datblk_wire_query query;

	datblk_fill_query(&query, "");
	KUNIT_EXPECT_TRUE(test, datblk_check_query(&query, sizeof(query), after));
	KUNIT_EXPECT_STREQ(test, after, "");
	datblk_fill_query(&query, "disk");
	KUNIT_EXPECT_TRUE(test, datblk_check_query(&query, sizeof(query), after));
	KUNIT_EXPECT_STREQ(test, after, "disk");
	KUNIT_EXPECT_FALSE(test, datblk_check_query(&query, sizeof(query) - 1, after));
	memset(query.after, 'b', sizeof(query.after));
	KUNIT_EXPECT_FALSE_MSG(test, datblk_check_query(&query, sizeof(query), after),
			       "a name without its end");
	datblk_fill_query(&query, "disk");
	query.version = cpu_to_le16(DATBLK_VERSION + 1);
	KUNIT_EXPECT_FALSE_MSG(test, datblk_check_query(&query, sizeof(query), after),
			       "another version");
}

/* No message is both a login and a query. A server that knows no query refuses it as a login */
static void queries_and_logins(struct kunit *test)
{
	static const struct datblk_login login = {
		.limits = { .depth = 1, .io_max = DATBLK_IO_UNIT }, .host = 1, .queues = 1,
		.name = "disk",
	};
	u8 data[sizeof(struct datblk_wire_login)] = {};
	char after[DATBLK_NAME_MAX];
	struct datblk_login read;

	datblk_fill_query((void *)data, "disk");
	KUNIT_EXPECT_EQ(test, datblk_check_login(data, sizeof(data), &read), DATBLK_REFUSE_LOGIN);
	datblk_fill_login((void *)data, &login);
	KUNIT_EXPECT_EQ(test, datblk_check_login(data, sizeof(data), &read), DATBLK_ADMIT);
	KUNIT_EXPECT_FALSE(test, datblk_check_query(data, sizeof(data), after));
}

static struct kunit_case listing_cases[] = {
	KUNIT_CASE(listed),
	KUNIT_CASE(names_ascend),
	KUNIT_CASE(malformed_listings),
	KUNIT_CASE(queries),
	KUNIT_CASE(queries_and_logins),
	{}
};

static struct kunit_suite listing_suite = {
	.name = "datblk_listing",
	.test_cases = listing_cases,
};

kunit_test_suite(listing_suite);
