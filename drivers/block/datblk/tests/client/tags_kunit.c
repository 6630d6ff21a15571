// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_tags: the tags of a queue that several disks use. However many commands one disk has
 * in flight, each of the other disks can send a command.
 */
#include <kunit/test.h>
#include "client/client.h"

static struct datblk_remote *remote_alloc(struct kunit *test, unsigned int depth)
{
	struct datblk_remote *remote = kunit_kzalloc(test, sizeof(*remote), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, remote);
	remote->queues = kunit_kzalloc(test, sizeof(*remote->queues), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, remote->queues);
	remote->queues->remote = remote;
	spin_lock_init(&remote->queues->lock);
	remote->options.queues = 1;
	remote->limits.depth = depth;
	return remote;
}

static int take(struct datblk_remote *remote, unsigned int login)
{
	return datblk_tags_take(&remote->queues->tags, remote, login);
}

/* Returns how many tags the login gets */
static unsigned int take_all(struct datblk_remote *remote, unsigned int login)
{
	unsigned int count = 0;

	while (take(remote, login) >= 0)
		count++;
	return count;
}

/* For each tag: the login that holds it, plus 1, or 0 */
struct owners {
	u8 of[DATBLK_DEPTH_MAX];
};

static void put_any(struct datblk_remote *remote, struct owners *owners, unsigned int login)
{
	unsigned int tag;

	for (tag = 0; tag < remote->limits.depth; tag++)
		if (owners->of[tag] == login + 1) {
			datblk_tags_put(&remote->queues->tags, tag, login);
			owners->of[tag] = 0;
			return;
		}
}

static bool has_any(const struct owners *owners, unsigned int login)
{
	return memchr(owners->of, login + 1, sizeof(owners->of));
}

static void take_one(struct kunit *test, struct datblk_remote *remote, struct owners *owners,
		     unsigned int login)
{
	int tag = take(remote, login);

	if (tag < 0) {
		KUNIT_EXPECT_TRUE_MSG(test, has_any(owners, login),
				      "depth %u: login %u has no command, and gets no tag",
				      remote->limits.depth, login);
		return;
	}
	KUNIT_ASSERT_LT(test, tag, remote->limits.depth);
	KUNIT_EXPECT_EQ_MSG(test, owners->of[tag], 0, "tag %d has an owner", tag);
	owners->of[tag] = login + 1;
}

/* Disks join, take tags and put them in random order */
static void never_without(struct kunit *test)
{
	static const unsigned int depths[] = { 1, 2, 3, 15, 16, 17, 32, DATBLK_DEPTH_MAX };
	unsigned int i, n, random = 1;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct datblk_remote *remote = remote_alloc(test, depths[i]);
		struct owners owners = {};

		KUNIT_ASSERT_EQ(test, datblk_tags_reserve(remote), 0);
		for (n = 0; n < 20000; n++) {
			unsigned int login;

			random = random * 1103515245 + 12345;
			login = (random >> 16) % remote->members;
			if ((random >> 24) % 64 == 0)
				datblk_tags_reserve(remote);
			else if ((random >> 24) % 5 < 2)
				put_any(remote, &owners, login);
			else
				take_one(test, remote, &owners, login);
		}
		KUNIT_EXPECT_EQ(test, remote->members, min(depths[i], 16U));
	}
}

/* A disk has taken as many tags as it can. A second disk can join, but not a third one */
static void next_disk(struct kunit *test)
{
	struct datblk_remote *remote = remote_alloc(test, 32);

	KUNIT_EXPECT_EQ(test, datblk_tags_reserve(remote), 0);
	KUNIT_EXPECT_EQ(test, take_all(remote, 0), 31);
	KUNIT_EXPECT_EQ(test, datblk_tags_reserve(remote), 0);
	KUNIT_EXPECT_EQ(test, datblk_tags_reserve(remote), -EUSERS);
	KUNIT_EXPECT_EQ(test, remote->members, 2);
	KUNIT_EXPECT_EQ(test, take_all(remote, 1), 1);
	KUNIT_EXPECT_EQ(test, datblk_tags_reserve(remote), -EUSERS);
	datblk_tags_put(&remote->queues->tags, 0, 0);
	KUNIT_EXPECT_EQ(test, datblk_tags_reserve(remote), 0);
	KUNIT_EXPECT_GE(test, take(remote, 2), 0);
}

/* If there may be only one disk, it gets all tags */
static void alone(struct kunit *test)
{
	struct datblk_remote *remote = remote_alloc(test, 1);

	KUNIT_EXPECT_EQ(test, datblk_tags_reserve(remote), 0);
	KUNIT_EXPECT_EQ(test, datblk_tags_reserve(remote), -EUSERS);
	KUNIT_EXPECT_EQ(test, take_all(remote, 0), 1);
}

/* While a disk waits, the other one gets no more than its share, even if it always asks first */
static void fair(struct kunit *test)
{
	struct datblk_remote *remote = remote_alloc(test, 32);
	struct datblk_tag_pool *pool = &remote->queues->tags;
	struct owners owners = {};
	unsigned int i, n;

	datblk_tags_reserve(remote);
	datblk_tags_reserve(remote);
	for (i = 0; i < 40; i++)
		take_one(test, remote, &owners, 0);
	KUNIT_EXPECT_EQ(test, pool->held[0], 30);
	for (i = 0; i < 40; i++) {
		for (n = 0; n < 40; n++)
			take_one(test, remote, &owners, 1);
		put_any(remote, &owners, 0);
		take_one(test, remote, &owners, 0);
	}
	KUNIT_EXPECT_GE(test, pool->held[0], 14);
	KUNIT_EXPECT_GE(test, pool->held[1], 14);
	/* When the second disk does not wait any more, the first one may use the remaining tags */
	while (pool->held[1])
		put_any(remote, &owners, 1);
	take_one(test, remote, &owners, 1);
	for (i = 0; i < 40; i++)
		take_one(test, remote, &owners, 0);
	KUNIT_EXPECT_EQ(test, pool->held[0], 30);
}

/*
 * A disk is removed that has waited for a tag, and no longer has the request: only its own hardware
 * queue is forgotten
 */
static void forgotten(struct kunit *test)
{
	struct datblk_remote *remote = remote_alloc(test, 4);
	struct blk_mq_hw_ctx *hctx = kunit_kcalloc(test, 2, sizeof(*hctx), GFP_KERNEL);
	struct request_queue *q = kunit_kcalloc(test, 2, sizeof(*q), GFP_KERNEL);
	struct datblk_pdu *pdu = kunit_kzalloc(test, sizeof(*pdu), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, hctx && q && pdu);
	remote->members = 2;
	for (i = 0; i < 2; i++) {
		hctx[i].queue = &q[i];
		KUNIT_ASSERT_GE(test, take(remote, i), 0);
	}
	take_all(remote, 0);
	for (i = 0; i < 2; i++) {
		pdu->c.login = i;
		KUNIT_ASSERT_FALSE(test, datblk_tags_take_for(remote->queues, &hctx[i], pdu));
	}
	datblk_tags_forget(remote, &q[1]);
	KUNIT_EXPECT_EQ(test, remote->queues->tags.waiters, BIT(0));
	datblk_tags_forget(remote, &q[0]);
	KUNIT_EXPECT_EQ(test, remote->queues->tags.waiters, 0);
}

static struct kunit_case tags_cases[] = {
	KUNIT_CASE(never_without),
	KUNIT_CASE(next_disk),
	KUNIT_CASE(alone),
	KUNIT_CASE(fair),
	KUNIT_CASE(forgotten),
	{}
};

static struct kunit_suite tags_suite = {
	.name = "datblk_tags",
	.test_cases = tags_cases,
};

kunit_test_suite(tags_suite);
