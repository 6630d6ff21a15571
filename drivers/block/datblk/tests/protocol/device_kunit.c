// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_device: which device of a server is the same as before, and when a flush has to
 * fail because the server may have lost writes.
 */
#include <kunit/test.h>
#include "protocol/protocol.h"

static const struct datblk_geometry device = {
	.capacity = 8192,
	.flags = DATBLK_WRITE_CACHE | DATBLK_CAN_DISCARD,
	.logical = 512,
	.uuid = UUID_INIT(0x12345678, 0x9abc, 0x4def, 0x80, 1, 2, 3, 4, 5, 6, 7),
};

static void same_device(struct kunit *test)
{
	struct datblk_geometry now = device;

	KUNIT_EXPECT_NULL(test, datblk_device_changed(&device, &now));
	now.capacity++;
	now.instance++;
	now.flags ^= DATBLK_CAN_DISCARD;
	KUNIT_EXPECT_NULL_MSG(test, datblk_device_changed(&device, &now), "larger, no discard");
	now = device;
	now.uuid.b[15]++;
	KUNIT_EXPECT_NOT_NULL_MSG(test, datblk_device_changed(&device, &now), "another UUID");
	now = device;
	now.capacity--;
	KUNIT_EXPECT_NOT_NULL_MSG(test, datblk_device_changed(&device, &now), "smaller");
	now = device;
	now.logical = 4096;
	KUNIT_EXPECT_NOT_NULL_MSG(test, datblk_device_changed(&device, &now), "block size");
	now = device;
	now.flags |= DATBLK_READONLY;
	KUNIT_EXPECT_NULL_MSG(test, datblk_device_changed(&device, &now), "read-only");
	KUNIT_EXPECT_NULL_MSG(test, datblk_device_changed(&now, &device), "no longer read-only");
	now.flags ^= DATBLK_WRITE_CACHE;
	KUNIT_EXPECT_NOT_NULL_MSG(test, datblk_device_changed(&device, &now), "no cache");
}

/* A write, a flush, and a new session with an instance; which of them lose the write? */
struct story {
	const char *name;
	bool write, flush, flush_fails, write_meanwhile;
	u64 instance;
	bool lost;
};

static const struct story stories[] = {
	{ "nothing was written", .instance = 2 },
	{ "the server has kept the write", .write = true, .instance = 1 },
	{ "the write is lost", .write = true, .instance = 2, .lost = true },
	{ "the write was flushed", .write = true, .flush = true, .instance = 2 },
	{ "the flush failed", .write = true, .flush = true, .flush_fails = true, .instance = 2,
	  .lost = true },
	{ "a flush of nothing failed", .flush = true, .flush_fails = true, .instance = 2 },
	{ "the write came during the flush", .flush = true, .write_meanwhile = true, .instance = 2,
	  .lost = true },
};

static void lost_writes(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(stories); i++) {
		const struct story *s = &stories[i];
		struct datblk_writes writes = {};
		bool before;

		KUNIT_EXPECT_FALSE(test, datblk_writes_session(&writes, 1));
		if (s->write)
			datblk_writes_answered(&writes);
		before = s->flush && datblk_writes_flushing(&writes);
		if (s->write_meanwhile)
			datblk_writes_answered(&writes);
		if (s->flush_fails)
			datblk_writes_flush_failed(&writes, before);
		KUNIT_EXPECT_EQ_MSG(test, datblk_writes_session(&writes, s->instance), s->lost,
				    "%s", s->name);
		KUNIT_EXPECT_EQ_MSG(test, datblk_writes_lost(&writes), s->lost, "%s", s->name);
	}
}

/* A session with another instance does not end it; an open after a failed flush does */
static void lost_until_opened(struct kunit *test)
{
	struct datblk_writes writes = {};

	datblk_writes_session(&writes, 1);
	datblk_writes_answered(&writes);
	KUNIT_EXPECT_TRUE(test, datblk_writes_session(&writes, 2));
	KUNIT_EXPECT_FALSE(test, datblk_writes_session(&writes, 3));
	KUNIT_EXPECT_TRUE(test, datblk_writes_lost(&writes));
	datblk_writes_opened(&writes);
	KUNIT_EXPECT_FALSE(test, datblk_writes_lost(&writes));
}

/* Somebody who opens the disk before a flush has failed does not hide the loss */
static void lost_until_told(struct kunit *test)
{
	struct datblk_writes writes = {};

	datblk_writes_session(&writes, 1);
	datblk_writes_answered(&writes);
	datblk_writes_session(&writes, 2);
	datblk_writes_opened(&writes);
	KUNIT_EXPECT_TRUE(test, datblk_writes_lost(&writes));
}

static struct kunit_case device_cases[] = {
	KUNIT_CASE(same_device),
	KUNIT_CASE(lost_writes),
	KUNIT_CASE(lost_until_opened),
	KUNIT_CASE(lost_until_told),
	{}
};

static struct kunit_suite device_suite = {
	.name = "datblk_device",
	.test_cases = device_cases,
};

kunit_test_suite(device_suite);
