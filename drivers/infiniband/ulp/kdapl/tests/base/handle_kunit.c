// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the handle table.
 *
 * Tests handle.c and the lookup in handle.h with objects that consist of a header, of a
 * type that the module does not use. Runs in a KUnit thread.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "../../base/handle.h"
#include "clause.h"
#include "nap.h"

#define TEST_TYPE	DAT_HANDLE_TYPE_CSP
#define MAGIC		0x6b6461706c6f626aULL

/* An object whose memory is poisoned before it is freed */
struct test_obj {
	struct kdapl_obj obj;
	u64 magic;
};

static struct test_obj *make(struct kunit *test)
{
	struct test_obj *to = kzalloc(sizeof(*to), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, to);
	KUNIT_ASSERT_EQ(test, kdapl_obj_init(&to->obj, TEST_TYPE, NULL), 0);
	to->magic = MAGIC;
	return to;
}

static struct test_obj *make_public(struct kunit *test)
{
	struct test_obj *to = make(test);

	kdapl_obj_publish(&to->obj);
	return to;
}

/* Frees an object like the destructors, but a leaked reference does not hang the test */
static void unmake(struct kunit *test, struct test_obj *to)
{
	KUNIT_EXPECT_TRUE(test, kdapl_obj_unpublish(&to->obj));
	synchronize_rcu();
	kdapl_obj_put(&to->obj);
	if (!kdapl_sleep_until(completion_done(&to->obj.gone))) {
		KUNIT_FAIL(test, "expected no reference, %u left",
			   refcount_read(&to->obj.ref));
		return;
	}
	to->magic = 0;
	kfree(to);
}

static struct kdapl_obj *look(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct kdapl_obj *obj;
	unsigned long flags;

	kdapl_rcu_read_lock_irqsave(flags);
	obj = kdapl_obj_lookup(handle, type);
	kdapl_rcu_read_unlock_irqrestore(flags);
	return obj;
}

static DAT_HANDLE as_handle(unsigned long number)
{
	return (DAT_HANDLE)number;
}

static void published_is_found(struct kunit *test)
{
	struct test_obj *to = make(test);
	DAT_HANDLE h = kdapl_obj_handle(&to->obj);

	KUNIT_EXPECT_PTR_EQ(test, look(h, TEST_TYPE), NULL);
	kdapl_obj_publish(&to->obj);
	KUNIT_EXPECT_PTR_EQ(test, look(h, TEST_TYPE), &to->obj);
	KUNIT_EXPECT_NOT_NULL(test, h);
	KUNIT_EXPECT_EQ(test, kdapl_handle_type((unsigned long)h), TEST_TYPE);
	unmake(test, to);
	KUNIT_EXPECT_PTR_EQ(test, look(h, TEST_TYPE), NULL);
}

static void G_35_null_and_random_name_nothing(struct kunit *test)
{
	struct test_obj *to = make_public(test);
	unsigned long h = to->obj.handle, wild;
	unsigned int i, type;

	KUNIT_EXPECT_PTR_EQ(test, kdapl_obj_get_any(NULL), NULL);
	KUNIT_EXPECT_PTR_EQ(test, kdapl_obj_get_any(as_handle(~0UL)), NULL);
	for (i = 0; i < 20000; i++) {
		wild = get_random_u64();
		if (wild != h)
			KUNIT_ASSERT_PTR_EQ(test, look(as_handle(wild), TEST_TYPE), NULL);
	}
	/* Confused callers may pass small numbers or kernel pointers */
	for (i = 0; i < 2000; i++)
		KUNIT_ASSERT_PTR_EQ(test, look(as_handle(i), i % KDAPL_NTYPES), NULL);
	KUNIT_EXPECT_PTR_EQ(test, look(to, TEST_TYPE), NULL);
	KUNIT_EXPECT_PTR_EQ(test, look(test, TEST_TYPE), NULL);
	/* An empty entry yields no object, whatever type the handle has */
	for (type = 0; type <= KDAPL_HANDLE_TYPE_MASK; type++) {
		wild = (unsigned long)type << KDAPL_HANDLE_INDEX_BITS;
		KUNIT_EXPECT_PTR_EQ(test, kdapl_obj_get_any(as_handle(wild)), NULL);
		wild |= KDAPL_HANDLE_INDEX_MASK;
		KUNIT_EXPECT_PTR_EQ(test, kdapl_obj_get_any(as_handle(wild)), NULL);
	}
	unmake(test, to);
	kdapl_clauses(test, "G-35");
}

static void G_35_every_bit_of_a_handle_counts(struct kunit *test)
{
	struct test_obj *to = make_public(test);
	unsigned int bit;

	for (bit = 0; bit < BITS_PER_LONG; bit++) {
		DAT_HANDLE h = as_handle(to->obj.handle ^ (1UL << bit));

		KUNIT_EXPECT_PTR_EQ_MSG(test, look(h, TEST_TYPE), NULL, "bit %u", bit);
	}
	unmake(test, to);
	kdapl_clauses(test, "G-35");
}

static void G_35_foreign_type_is_refused(struct kunit *test)
{
	struct test_obj *to = make_public(test);
	DAT_HANDLE h = kdapl_obj_handle(&to->obj);
	unsigned int type;

	for (type = 0; type < KDAPL_NTYPES; type++) {
		if (type == TEST_TYPE)
			continue;
		KUNIT_EXPECT_PTR_EQ(test, look(h, type), NULL);
		KUNIT_EXPECT_PTR_EQ(test, kdapl_obj_get(h, type), NULL);
	}
	KUNIT_EXPECT_EQ(test, refcount_read(&to->obj.ref), 1);
	unmake(test, to);
	kdapl_clauses(test, "G-35");
}

static void G_35_stale_handle_misses_the_new_owner(struct kunit *test)
{
	struct test_obj *to = make_public(test);
	DAT_HANDLE old = kdapl_obj_handle(&to->obj), h;
	u32 idx = kdapl_obj_id(&to->obj);
	unsigned int i;

	unmake(test, to);
	for (i = 0; i < 30; i++) {
		to = make_public(test);
		h = kdapl_obj_handle(&to->obj);
		/* The lowest free index is used: the same index with another generation */
		KUNIT_EXPECT_EQ(test, kdapl_obj_id(&to->obj), idx);
		KUNIT_EXPECT_PTR_NE(test, h, old);
		KUNIT_EXPECT_PTR_EQ(test, look(old, TEST_TYPE), NULL);
		KUNIT_EXPECT_PTR_EQ(test, kdapl_obj_get(old, TEST_TYPE), NULL);
		KUNIT_EXPECT_PTR_EQ(test, look(h, TEST_TYPE), &to->obj);
		unmake(test, to);
		old = h;
	}
	kdapl_clauses(test, "G-35");
}

static void index_of_an_aborted_object_is_reused(struct kunit *test)
{
	struct test_obj *a = make(test), *b;
	unsigned long handle = a->obj.handle;

	kdapl_obj_exit(&a->obj);
	b = make(test);
	KUNIT_EXPECT_EQ(test, kdapl_obj_id(&b->obj), handle & KDAPL_HANDLE_INDEX_MASK);
	KUNIT_EXPECT_NE(test, b->obj.handle, handle);
	kdapl_obj_exit(&b->obj);
	kfree(b);
	kfree(a);
}

/* Fills three pages and a part of the fourth: each object is found by its handle */
static void growth_beyond_a_page(struct kunit *test)
{
	unsigned int n = 3 * KDAPL_HANDLE_PAGE_SLOTS + 5, i;
	struct test_obj *to;
	u32 lo = ~0, hi = 0;

	to = kunit_kcalloc(test, n, sizeof(*to), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, to);
	for (i = 0; i < n; i++) {
		KUNIT_ASSERT_EQ(test, kdapl_obj_init(&to[i].obj, TEST_TYPE, NULL), 0);
		kdapl_obj_publish(&to[i].obj);
		lo = min(lo, kdapl_obj_id(&to[i].obj));
		hi = max(hi, kdapl_obj_id(&to[i].obj));
	}
	KUNIT_EXPECT_GE(test, hi - lo, n - 1);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_PTR_EQ(test, look(kdapl_obj_handle(&to[i].obj), TEST_TYPE),
				    &to[i].obj);
	/* An index beyond the last page */
	KUNIT_EXPECT_PTR_EQ(test, look(as_handle(to[0].obj.handle | KDAPL_HANDLE_INDEX_MASK),
				       TEST_TYPE), NULL);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_TRUE(test, kdapl_obj_unpublish(&to[i].obj));
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_PTR_EQ(test, look(kdapl_obj_handle(&to[i].obj), TEST_TYPE), NULL);
	synchronize_rcu();
}

static void only_one_caller_removes_an_object(struct kunit *test)
{
	struct test_obj *to = make_public(test), *next;

	KUNIT_EXPECT_TRUE(test, kdapl_obj_unpublish(&to->obj));
	KUNIT_EXPECT_FALSE(test, kdapl_obj_unpublish(&to->obj));
	/* Not even if the index has a new owner */
	next = make_public(test);
	KUNIT_EXPECT_EQ(test, kdapl_obj_id(&next->obj), kdapl_obj_id(&to->obj));
	KUNIT_EXPECT_FALSE(test, kdapl_obj_unpublish(&to->obj));
	KUNIT_EXPECT_PTR_EQ(test, look(kdapl_obj_handle(&next->obj), TEST_TYPE), &next->obj);
	unmake(test, next);
	kdapl_obj_drain(&to->obj);
	kfree(to);
}

static void references_are_counted(struct kunit *test)
{
	struct test_obj *to = make_public(test);
	DAT_HANDLE h = kdapl_obj_handle(&to->obj);

	KUNIT_EXPECT_PTR_EQ(test, kdapl_obj_get(h, TEST_TYPE), &to->obj);
	KUNIT_EXPECT_PTR_EQ(test, kdapl_obj_get_any(h), &to->obj);
	KUNIT_EXPECT_TRUE(test, kdapl_obj_tryget(&to->obj));
	KUNIT_EXPECT_EQ(test, refcount_read(&to->obj.ref), 4);
	kdapl_obj_put(&to->obj);
	kdapl_obj_put(&to->obj);
	kdapl_obj_put(&to->obj);
	KUNIT_EXPECT_FALSE(test, try_wait_for_completion(&to->obj.gone));
	/*
	 * The last reference was dropped before the entry was removed: no new reference is
	 * possible
	 */
	kdapl_obj_put(&to->obj);
	KUNIT_EXPECT_PTR_EQ(test, kdapl_obj_get(h, TEST_TYPE), NULL);
	KUNIT_EXPECT_FALSE(test, kdapl_obj_tryget(&to->obj));
	KUNIT_EXPECT_TRUE(test, try_wait_for_completion(&to->obj.gone));
	KUNIT_EXPECT_TRUE(test, kdapl_obj_unpublish(&to->obj));
	synchronize_rcu();
	kfree(to);
}

static int waiter_thread(void *data)
{
	struct test_obj *to = data;

	kdapl_obj_drain(&to->obj);
	WRITE_ONCE(to->magic, 0);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void wait_ends_with_the_last_reference(struct kunit *test)
{
	struct test_obj *to = make_public(test);
	struct task_struct *waiter;

	KUNIT_ASSERT_PTR_EQ(test, kdapl_obj_get(kdapl_obj_handle(&to->obj), TEST_TYPE),
			    &to->obj);
	KUNIT_EXPECT_TRUE(test, kdapl_obj_unpublish(&to->obj));
	waiter = kthread_run(waiter_thread, to, "kdapl_test_wait");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, waiter);
	schedule_timeout_uninterruptible(msecs_to_jiffies(30));
	KUNIT_EXPECT_EQ(test, READ_ONCE(to->magic), MAGIC);
	kdapl_obj_put(&to->obj);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!READ_ONCE(to->magic)));
	kthread_stop(waiter);
	synchronize_rcu();
	kfree(to);
}

static void users_keep_an_object_from_being_killed(struct kunit *test)
{
	struct test_obj *to = make_public(test);

	KUNIT_EXPECT_TRUE(test, kdapl_obj_tryuse(&to->obj));
	KUNIT_EXPECT_TRUE(test, kdapl_obj_tryuse(&to->obj));
	KUNIT_EXPECT_FALSE(test, kdapl_obj_kill(&to->obj));
	kdapl_obj_unuse(&to->obj);
	KUNIT_EXPECT_FALSE(test, kdapl_obj_kill(&to->obj));
	kdapl_obj_unuse(&to->obj);
	KUNIT_EXPECT_TRUE(test, kdapl_obj_kill(&to->obj));
	/* Only one caller can kill an object, and nothing can use it afterwards */
	KUNIT_EXPECT_FALSE(test, kdapl_obj_kill(&to->obj));
	KUNIT_EXPECT_FALSE(test, kdapl_obj_tryuse(&to->obj));
	KUNIT_EXPECT_LT(test, atomic_read(&to->obj.users), 0);
	unmake(test, to);
}

#define RACE_SLOTS	8

struct race {
	unsigned long handle[RACE_SLOTS];
	atomic_t bad;
	atomic_t hits;
};

/* Looks up objects that the other thread creates and frees, and reads their contents */
static int lookup_thread(void *data)
{
	struct race *race = data;
	struct kdapl_obj *obj;
	unsigned long flags, h;
	unsigned int i = 0;

	while (!kthread_should_stop()) {
		h = READ_ONCE(race->handle[i++ % RACE_SLOTS]);
		kdapl_rcu_read_lock_irqsave(flags);
		obj = kdapl_obj_lookup(as_handle(h), TEST_TYPE);
		if (obj) {
			if (READ_ONCE(container_of(obj, struct test_obj, obj)->magic) != MAGIC ||
			    obj->handle != h)
				atomic_inc(&race->bad);
			atomic_inc(&race->hits);
		}
		kdapl_rcu_read_unlock_irqrestore(flags);
		/* Test the lookup of control calls, which takes a reference, too */
		obj = kdapl_obj_get(as_handle(h), TEST_TYPE);
		if (obj) {
			if (READ_ONCE(container_of(obj, struct test_obj, obj)->magic) != MAGIC)
				atomic_inc(&race->bad);
			kdapl_obj_put(obj);
		}
		cond_resched();
	}
	return 0;
}

static void P4_lookup_while_objects_are_freed(struct kunit *test)
{
	struct race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	struct test_obj *to[RACE_SLOTS];
	struct task_struct *reader[2];
	unsigned int i, round;

	KUNIT_ASSERT_NOT_NULL(test, race);
	for (i = 0; i < RACE_SLOTS; i++) {
		to[i] = make_public(test);
		race->handle[i] = to[i]->obj.handle;
	}
	for (i = 0; i < ARRAY_SIZE(reader); i++) {
		reader[i] = kthread_run(lookup_thread, race, "kdapl_test_look%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, reader[i]);
	}
	for (round = 0; round < 60; round++) {
		i = round % RACE_SLOTS;
		unmake(test, to[i]);
		to[i] = make_public(test);
		WRITE_ONCE(race->handle[i], to[i]->obj.handle);
	}
	for (i = 0; i < ARRAY_SIZE(reader); i++)
		kthread_stop(reader[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&race->bad), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&race->hits), 0);
	for (i = 0; i < RACE_SLOTS; i++)
		unmake(test, to[i]);
}

static struct kunit_case handle_cases[] = {
	KUNIT_CASE(published_is_found),
	KUNIT_CASE(G_35_null_and_random_name_nothing),
	KUNIT_CASE(G_35_every_bit_of_a_handle_counts),
	KUNIT_CASE(G_35_foreign_type_is_refused),
	KUNIT_CASE(G_35_stale_handle_misses_the_new_owner),
	KUNIT_CASE(index_of_an_aborted_object_is_reused),
	KUNIT_CASE(growth_beyond_a_page),
	KUNIT_CASE(only_one_caller_removes_an_object),
	KUNIT_CASE(references_are_counted),
	KUNIT_CASE(wait_ends_with_the_last_reference),
	KUNIT_CASE(users_keep_an_object_from_being_killed),
	KUNIT_CASE(P4_lookup_while_objects_are_freed),
	{}
};

static struct kunit_suite handle_suite = {
	.name = "kdapl_handle",
	.test_cases = handle_cases,
};

kunit_test_suite(handle_suite);
