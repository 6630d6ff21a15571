// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: slot pools.
 *
 * Tests pool.c and the inline functions of pool.h on pools that belong to no
 * endpoint. Runs in a KUnit thread.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include "pool_count.h"

#define DEPTH	32

static void no_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

/* A pool never dereferences it, so any address is fine */
static struct kdapl_ep *some_ep = (struct kdapl_ep *)0x1000;

static struct kdapl_pool *make(struct kunit *test, u32 depth, bool recv)
{
	struct kdapl_pool *pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pool);
	KUNIT_ASSERT_EQ(test, kdapl_pool_init(pool, depth, no_done, some_ep, recv, NUMA_NO_NODE),
			0);
	return pool;
}

static void preformatted(struct kunit *test, bool recv)
{
	struct kdapl_pool *pool = make(test, DEPTH, recv);
	struct kdapl_slot *slot, *next;
	u32 i;

	for (i = 0; i < DEPTH; i++) {
		slot = kdapl_pool_slot(pool, i);
		next = kdapl_pool_slot(pool, i + 1);
		KUNIT_EXPECT_EQ(test, kdapl_slot_idx(slot), i);
		KUNIT_EXPECT_PTR_EQ(test, kdapl_slot_head(slot)->pool, pool);
		KUNIT_EXPECT_TRUE(test, slot->cqe.done == no_done);
		KUNIT_EXPECT_PTR_EQ(test, slot->ev.ep, some_ep);
		KUNIT_EXPECT_EQ(test, slot->ev.kind, KDAPL_EV_DTO);
		KUNIT_EXPECT_EQ(test, slot->ev.state, KDAPL_SLOT_FREE);
		KUNIT_EXPECT_PTR_EQ(test, kdapl_slot_of_cqe(&slot->cqe), slot);
		KUNIT_EXPECT_PTR_EQ(test, kdapl_slot_of_event(&slot->ev), slot);
		KUNIT_EXPECT_TRUE(test, IS_ALIGNED((unsigned long)slot, 8));
		KUNIT_EXPECT_EQ(test, !!(slot->ev.flags & KDAPL_SLOT_RECV), recv);
		if (recv) {
			KUNIT_EXPECT_PTR_EQ(test, slot->recv.wr_cqe, &slot->cqe);
			KUNIT_EXPECT_PTR_EQ(test, slot->recv.sg_list, &slot->recv_sge);
			KUNIT_EXPECT_PTR_EQ(test, (void *)(&slot->recv_sge + 1), (void *)next);
			KUNIT_EXPECT_NULL(test, slot->recv.next);
		} else {
			KUNIT_EXPECT_PTR_EQ(test, slot->rdma.wr.wr_cqe, &slot->cqe);
			KUNIT_EXPECT_PTR_EQ(test, slot->rdma.wr.sg_list, &slot->sge);
			KUNIT_EXPECT_PTR_EQ(test, (void *)(&slot->sge + 1), (void *)next);
			KUNIT_EXPECT_NULL(test, slot->rdma.wr.next);
		}
	}
	kdapl_pool_exit(pool);
}

static void requests_are_preformatted(struct kunit *test)
{
	preformatted(test, false);
}

static void receives_are_preformatted(struct kunit *test)
{
	preformatted(test, true);
}

static void G_25_exactly_depth_slots(struct kunit *test)
{
	struct kdapl_pool *pool = make(test, DEPTH, false);
	struct kdapl_slot *slot[DEPTH];
	u64 seen = 0;
	u32 i;

	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), DEPTH);
	for (i = 0; i < DEPTH; i++) {
		KUNIT_EXPECT_FALSE(test, kdapl_pool_empty(pool));
		slot[i] = kdapl_pool_get(pool);
		KUNIT_ASSERT_NOT_NULL(test, slot[i]);
		KUNIT_EXPECT_FALSE(test, seen & BIT_ULL(kdapl_slot_idx(slot[i])));
		seen |= BIT_ULL(kdapl_slot_idx(slot[i]));
		KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), DEPTH - 1 - i);
	}
	KUNIT_EXPECT_TRUE(test, kdapl_pool_empty(pool));
	KUNIT_EXPECT_NULL(test, kdapl_pool_get(pool));
	KUNIT_EXPECT_NULL(test, kdapl_pool_get(pool));
	/* An attempt on an empty pool has not disturbed it */
	for (i = 0; i < DEPTH; i++)
		kdapl_pool_put(slot[i]);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), DEPTH);
	KUNIT_EXPECT_EQ(test, kdapl_pool_count(pool, KDAPL_SLOT_FREE), DEPTH);
	kdapl_pool_exit(pool);
}

static void last_put_is_first_got(struct kunit *test)
{
	struct kdapl_pool *pool = make(test, DEPTH, false);
	struct kdapl_slot *a = kdapl_pool_get(pool), *b = kdapl_pool_get(pool);

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	kdapl_pool_put(a);
	KUNIT_EXPECT_PTR_EQ(test, kdapl_pool_get(pool), a);
	/* Out of order: one slot that is not returned blocks no other */
	kdapl_pool_put(b);
	KUNIT_EXPECT_PTR_EQ(test, kdapl_pool_get(pool), b);
	kdapl_pool_put(b);
	kdapl_pool_put(a);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), DEPTH);
	kdapl_pool_exit(pool);
}

/* All or nothing, even if a taken slot contains a cookie that looks like a word */
static void close_takes_all_or_none(struct kunit *test)
{
	struct kdapl_pool *pool = make(test, DEPTH, true), *other = make(test, 3, true);
	struct kdapl_pool *empty = make(test, 0, true);
	struct kdapl_slot *slot, *top;
	void *base = pool->base;
	u32 i;

	KUNIT_EXPECT_TRUE(test, kdapl_pool_close(empty));
	slot = kdapl_pool_get(pool);
	for (i = 0; i < 4; i++) {
		slot->dto.cookie = i == 1 ? KDAPL_POOL_NONE : i == 2 ? ~0ULL : i;
		KUNIT_EXPECT_FALSE(test, kdapl_pool_close(pool));
		KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), DEPTH - 1);
	}
	KUNIT_EXPECT_EQ(test, kdapl_pool_ended(pool), 0);
	/* It is below the topmost one, which is taken and returned */
	top = kdapl_pool_get(pool);
	kdapl_pool_put(slot);
	KUNIT_EXPECT_FALSE(test, kdapl_pool_close(pool));
	kdapl_pool_put(top);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), DEPTH);
	KUNIT_EXPECT_EQ(test, kdapl_pool_ended(pool), 2);

	KUNIT_EXPECT_TRUE(test, kdapl_pool_close(pool));
	KUNIT_EXPECT_NULL(test, kdapl_pool_get(pool));
	KUNIT_EXPECT_FALSE(test, kdapl_pool_close(pool));
	KUNIT_EXPECT_TRUE(test, kdapl_pool_close(other));
	kdapl_pool_swap(pool, other);
	KUNIT_EXPECT_NULL(test, kdapl_pool_get(pool));
	KUNIT_EXPECT_PTR_EQ(test, other->base, base);
	KUNIT_EXPECT_EQ(test, other->depth, DEPTH);
	kdapl_pool_open(pool);
	kdapl_pool_open(other);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), 3);
	KUNIT_EXPECT_EQ(test, kdapl_pool_ended(pool), 0);
	KUNIT_EXPECT_EQ(test, kdapl_pool_ended(other), 2);
	for (i = 0; i < 3; i++) {
		slot = kdapl_pool_get(pool);
		KUNIT_ASSERT_NOT_NULL(test, slot);
		KUNIT_EXPECT_PTR_EQ(test, kdapl_slot_head(slot)->pool, pool);
	}
	KUNIT_EXPECT_NULL(test, kdapl_pool_get(pool));
	kdapl_pool_exit(pool);
	kdapl_pool_exit(other);
}

static void depth_0_is_always_empty(struct kunit *test)
{
	struct kdapl_pool *pool = make(test, 0, true);

	KUNIT_EXPECT_TRUE(test, kdapl_pool_empty(pool));
	KUNIT_EXPECT_NULL(test, kdapl_pool_get(pool));
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), 0);
	KUNIT_EXPECT_EQ(test, kdapl_pool_count(pool, KDAPL_SLOT_FREE), 0);
	kdapl_pool_exit(pool);
}

static void states_are_counted(struct kunit *test)
{
	struct kdapl_pool *pool = make(test, DEPTH, false);
	struct kdapl_slot *slot[3];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(slot); i++) {
		slot[i] = kdapl_pool_get(pool);
		KUNIT_ASSERT_NOT_NULL(test, slot[i]);
		slot[i]->ev.state = KDAPL_SLOT_POSTED;
	}
	slot[1]->ev.state = KDAPL_SLOT_DONE;
	KUNIT_EXPECT_EQ(test, kdapl_pool_count(pool, KDAPL_SLOT_POSTED), 2);
	KUNIT_EXPECT_EQ(test, kdapl_pool_count(pool, KDAPL_SLOT_DONE), 1);
	KUNIT_EXPECT_TRUE(test, kdapl_pool_posted(pool));
	KUNIT_EXPECT_EQ(test, kdapl_pool_count(pool, KDAPL_SLOT_FREE), DEPTH - 3);
	for (i = 0; i < ARRAY_SIZE(slot); i++)
		kdapl_pool_put(slot[i]);
	KUNIT_EXPECT_EQ(test, kdapl_pool_count(pool, KDAPL_SLOT_FREE), DEPTH);
	KUNIT_EXPECT_FALSE(test, kdapl_pool_posted(pool));
	kdapl_pool_exit(pool);
}

/* A head that was read before A was taken and returned must not match afterwards */
static void stale_head_does_not_match(struct kunit *test)
{
	struct kdapl_pool *pool = make(test, DEPTH, false);
	u64 *head = &kdapl_pool_head(pool->base)->head;
	u64 stale = READ_ONCE(*head), expected = stale;
	struct kdapl_slot *a = kdapl_pool_get(pool), *b = kdapl_pool_get(pool);

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	kdapl_pool_put(a);
	/* The same slot is on top, with another one below: B is not free */
	KUNIT_EXPECT_EQ(test, (u32)READ_ONCE(kdapl_pool_head(pool->base)->head), (u32)stale);
	KUNIT_EXPECT_FALSE(test, try_cmpxchg64(head, &expected, stale));
	KUNIT_EXPECT_NE(test, READ_ONCE(kdapl_pool_head(pool->base)->head), stale);
	kdapl_pool_put(b);
	kdapl_pool_exit(pool);
}

struct race {
	struct kdapl_pool *pool;
	atomic_t owner[DEPTH];
	atomic_t twice;
	atomic_t rounds;
};

/* Takes up to five slots, marks them as its own, and returns them */
static int race_thread(void *data)
{
	struct race *race = data;
	struct kdapl_slot *slot[5];
	unsigned int i, n;

	while (!kthread_should_stop()) {
		n = 1 + atomic_inc_return(&race->rounds) % ARRAY_SIZE(slot);
		for (i = 0; i < n; i++) {
			slot[i] = kdapl_pool_get(race->pool);
			if (slot[i] && atomic_xchg(&race->owner[kdapl_slot_idx(slot[i])], 1))
				atomic_inc(&race->twice);
		}
		for (i = 0; i < n; i++) {
			if (!slot[i])
				continue;
			atomic_set(&race->owner[kdapl_slot_idx(slot[i])], 0);
			kdapl_pool_put(slot[i]);
		}
		if (!(n % ARRAY_SIZE(slot)))
			cond_resched();
	}
	return 0;
}

static void G_10_concurrent_get_and_put_conserve_slots(struct kunit *test)
{
	struct race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	struct task_struct *thread[3];
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	/* Few slots: the stack is often empty, and each slot is reused at once */
	race->pool = make(test, 4, false);
	for (i = 0; i < ARRAY_SIZE(thread); i++) {
		thread[i] = kthread_run(race_thread, race, "kdapl_test_pool%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread[i]);
	}
	for (i = 0; atomic_read(&race->rounds) < (i < 300 ? 300000 : 1001) && i < 6000; i++)
		schedule_timeout_uninterruptible(msecs_to_jiffies(10));
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		kthread_stop(thread[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&race->twice), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&race->rounds), 1000);
	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(race->pool), 4);
	KUNIT_EXPECT_EQ(test, kdapl_pool_count(race->pool, KDAPL_SLOT_FREE), 4);
	kdapl_pool_exit(race->pool);
}

static void a_large_pool_is_made(struct kunit *test)
{
	struct kdapl_pool *pool = make(test, 4096, false);

	KUNIT_EXPECT_EQ(test, kdapl_pool_free_count(pool), 4096);
	kdapl_pool_exit(pool);
	KUNIT_EXPECT_TRUE(test, kdapl_pool_empty(pool));
	KUNIT_EXPECT_NULL(test, kdapl_pool_get(pool));
}

static struct kunit_case pool_cases[] = {
	KUNIT_CASE(requests_are_preformatted),
	KUNIT_CASE(receives_are_preformatted),
	KUNIT_CASE(G_25_exactly_depth_slots),
	KUNIT_CASE(last_put_is_first_got),
	KUNIT_CASE(close_takes_all_or_none),
	KUNIT_CASE(depth_0_is_always_empty),
	KUNIT_CASE(states_are_counted),
	KUNIT_CASE(stale_head_does_not_match),
	KUNIT_CASE(G_10_concurrent_get_and_put_conserve_slots),
	KUNIT_CASE(a_large_pool_is_made),
	{}
};

static struct kunit_suite pool_suite = {
	.name = "kdapl_pool",
	.test_cases = pool_cases,
};

kunit_test_suite(pool_suite);
