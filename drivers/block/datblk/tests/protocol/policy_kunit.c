// SPDX-License-Identifier: GPL-2.0
/* Suite datblk_policy: logins, limits of a device, legal commands, status of errors, messages. */
#include <kunit/test.h>
#include <linux/errno.h>
#include "protocol/protocol.h"

static void logins(struct kunit *test)
{
	struct datblk_login conn = { .boot = 1, .disk = 2, .incarnation = U32_MAX, .queue = 1 };
	struct datblk_login login = conn;

	/* The same queue of the session, and another one */
	KUNIT_EXPECT_TRUE(test, datblk_login_replaces(&login, &conn));
	KUNIT_EXPECT_FALSE(test, datblk_login_late(&login, &conn));
	login.queue = 0;
	KUNIT_EXPECT_FALSE(test, datblk_login_replaces(&login, &conn));
	/* The next session, the one before, and one of a disk that had the number earlier */
	login.incarnation = conn.incarnation + 1;
	KUNIT_EXPECT_TRUE(test, datblk_login_replaces(&login, &conn));
	KUNIT_EXPECT_FALSE(test, datblk_login_late(&login, &conn));
	KUNIT_EXPECT_TRUE(test, datblk_login_late(&conn, &login));
	login.incarnation = conn.incarnation - 100000;
	KUNIT_EXPECT_TRUE(test, datblk_login_replaces(&login, &conn));
	KUNIT_EXPECT_FALSE(test, datblk_login_late(&login, &conn));
	/* Another disk, and another boot */
	login.incarnation = conn.incarnation - 1;
	login.disk++;
	KUNIT_EXPECT_FALSE(test, datblk_login_replaces(&login, &conn));
	KUNIT_EXPECT_FALSE(test, datblk_login_late(&login, &conn));
	login.boot++;
	KUNIT_EXPECT_TRUE(test, datblk_login_replaces(&login, &conn));
	KUNIT_EXPECT_FALSE(test, datblk_login_late(&login, &conn));
}

static void range_limits(struct kunit *test)
{
	/* Without the operation, a few MiB; with it, the device's limit, less than 4 GiB */
	KUNIT_EXPECT_EQ(test, datblk_range_limit(0, 512), (u32)SZ_4M / 512);
	KUNIT_EXPECT_EQ(test, datblk_range_limit(2048, 4096), 2048U);
	KUNIT_EXPECT_EQ(test, datblk_range_limit(2047, 4096), 2040U);
	KUNIT_EXPECT_EQ(test, datblk_range_limit(1, 4096), 8U);
	KUNIT_EXPECT_LE(test, datblk_range_limit(U32_MAX, 512), UINT_MAX >> 9);
	KUNIT_EXPECT_LE(test, datblk_range_limit(U64_MAX, 512), UINT_MAX >> 9);
}

struct verdict {
	const char *name;
	struct datblk_command c;
	u32 no_flags;			/* flags that the device lacks */
	u32 more_flags;			/* flags that it has, too */
	u8 status;
};

#define ON(operation, first, sectors) \
	.c = { .op = DATBLK_OP_##operation, .sector = (first), .length = (sectors) * DATBLK_SECTOR }

static const struct verdict verdicts[] = {
	{ "read", ON(READ, 8, 8) },
	{ "the last block", ON(WRITE, 8184, 8) },
	{ "flush of a read-only device", ON(FLUSH, 0, 0), .more_flags = DATBLK_READONLY },
	{ "ping of a read-only device", ON(PING, 0, 0), .more_flags = DATBLK_READONLY },
	{ "write to a read-only device", ON(WRITE, 8, 8), .more_flags = DATBLK_READONLY,
	  .status = DATBLK_STS_READONLY },
	{ "beyond the end", ON(READ, 8192, 8), .status = DATBLK_STS_RANGE },
	{ "across the end", ON(READ, 8184, 16), .status = DATBLK_STS_RANGE },
	{ "begins in a block", ON(READ, 4, 8), .status = DATBLK_STS_RANGE },
	{ "ends in a block", ON(READ, 8, 4), .status = DATBLK_STS_RANGE },
	{ "largest discard", ON(DISCARD, 0, 4096) },
	{ "discard above the limit", ON(DISCARD, 0, 4104), .status = DATBLK_STS_RANGE },
	{ "no discard", ON(DISCARD, 0, 8), DATBLK_CAN_DISCARD, .status = DATBLK_STS_NOTSUPP },
	{ "largest zeroes", ON(ZEROES, 0, 64) },
	{ "zeroes above the limit", ON(ZEROES, 0, 72), .status = DATBLK_STS_RANGE },
	{ "no zeroes", ON(ZEROES, 0, 8), DATBLK_CAN_ZEROES, .status = DATBLK_STS_NOTSUPP },
};

static void commands(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(verdicts); i++) {
		const struct verdict *v = &verdicts[i];
		struct datblk_geometry geo = {
			.capacity = 8192,
			.flags = DATBLK_CAN_DISCARD | DATBLK_CAN_ZEROES,
			.logical = 4096,
			.discard_sectors = 4096,
			.zeroes_sectors = 64,
		};

		geo.flags = (geo.flags & ~v->no_flags) | v->more_flags;
		KUNIT_EXPECT_EQ_MSG(test, datblk_check_command(&geo, &v->c), v->status, "%s",
				    v->name);
	}
}

/* What may succeed later has a status of its own; everything else is final */
static void statuses(struct kunit *test)
{
	static const int later[] = { -EAGAIN, -EBUSY, -EINTR, -ERESTARTSYS };
	static const int final[] = { -EIO, -EINVAL, -ENODEV, -ETIMEDOUT };
	static const int blocks[] = { -ENODATA, -EILSEQ, -EREMOTEIO };
	unsigned int i;

	KUNIT_EXPECT_EQ(test, datblk_status(0), DATBLK_STS_OK);
	KUNIT_EXPECT_EQ(test, datblk_status(-ENOMEM), DATBLK_STS_NOMEM);
	for (i = 0; i < ARRAY_SIZE(later); i++)
		KUNIT_EXPECT_EQ(test, datblk_status(later[i]), DATBLK_STS_AGAIN);
	for (i = 0; i < ARRAY_SIZE(final); i++)
		KUNIT_EXPECT_EQ(test, datblk_status(final[i]), DATBLK_STS_IO);
	for (i = 0; i < ARRAY_SIZE(blocks); i++)
		KUNIT_EXPECT_EQ(test, datblk_status(blocks[i]), DATBLK_STS_MEDIUM);
	KUNIT_EXPECT_EQ(test, datblk_status(-EDQUOT), DATBLK_STS_NOSPC);
	KUNIT_EXPECT_EQ(test, datblk_status(-EOPNOTSUPP), DATBLK_STS_NOTSUPP);
	KUNIT_EXPECT_EQ(test, datblk_status(-EROFS), DATBLK_STS_READONLY);
}

/* The limit of the adapter holds for a region that begins anywhere in a page */
static void io_limit(struct kunit *test)
{
	DAT_IA_ATTR *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, attr);
	attr->max_lmr_block_size = SZ_1G;
	attr->max_rdma_size = SZ_1G;
	KUNIT_EXPECT_EQ(test, datblk_io_limit(attr, SZ_1M), SZ_1M);
	attr->max_lmr_block_size = SZ_256K + 512;
	KUNIT_EXPECT_EQ(test, datblk_io_limit(attr, SZ_1M), SZ_256K);
	KUNIT_EXPECT_EQ(test, datblk_io_limit(attr, SZ_128K), SZ_128K);
	attr->max_rdma_size = SZ_64K;
	KUNIT_EXPECT_EQ(test, datblk_io_limit(attr, SZ_1M), SZ_64K);
	attr->max_lmr_block_size = 0;
	KUNIT_EXPECT_EQ(test, datblk_io_limit(attr, SZ_1M), 0);
}

/*
 * Messages that nobody waits for, in rings of all sizes: a full ring has one that raises a
 * completion, and so has each quarter of the messages
 */
static void ring(struct kunit *test)
{
	unsigned int count, posted, run, index, longest;

	for (count = 2; count <= DATBLK_DEPTH_MAX + 1; count++) {
		struct datblk_ring ring = { .count = count };

		longest = 0;
		run = 0;
		for (posted = 0; posted < 3 * count; posted++) {
			if (datblk_ring_full(&ring))
				KUNIT_EXPECT_EQ(test, datblk_ring_remove(&ring), posted % count);
			index = datblk_ring_next(&ring);
			KUNIT_EXPECT_EQ(test, index, posted % count);
			run = datblk_ring_add(&ring, true) ? run + 1 : 0;
			longest = max(longest, run);
		}
		KUNIT_EXPECT_LE(test, longest + 1, max(count / 4, 1U));
		/* One that somebody waits for raises one, and a new run begins */
		datblk_ring_remove(&ring);
		KUNIT_EXPECT_FALSE(test, datblk_ring_add(&ring, false));
		datblk_ring_remove(&ring);
		KUNIT_EXPECT_EQ(test, datblk_ring_add(&ring, true), count >= 8);
	}
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE(ring),
	KUNIT_CASE(io_limit),
	KUNIT_CASE(logins),
	KUNIT_CASE(range_limits),
	KUNIT_CASE(commands),
	KUNIT_CASE(statuses),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "datblk_policy",
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
