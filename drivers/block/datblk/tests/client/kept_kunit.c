// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_kept: which writes the client keeps, and which parts of them it repeats in which
 * order. A model of the device has the data.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>
#include "client/client.h"

#define SECTORS	16

struct fixture {
	struct datblk_kept kept;
	struct datblk_disk disk;	/* for datblk_resubmit_all(): has a copy of kept */
	int error;			/* of the batches from the n-th on, and how many have it */
	unsigned int nth, bad;
	unsigned int batches;		/* number so far */
	struct bio bio;
	struct bio_vec bv;
	struct request rq;
	u8 *data;			/* of a write */
	u8 part[2 * DATBLK_SECTOR];	/* that is read back */
	/* First byte of each sector: on the device, which has lost what it could; last written */
	u8 device[SECTORS], latest[SECTORS];
	u64 legal[SECTORS];		/* values from the last stable one on, as bits */
};

static int fixture_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->data = (u8 *)get_zeroed_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->data);
	test->priv = f;
	return datblk_kept_alloc(&f->kept, 16);
}

static void fixture_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	vfree(f->kept.ring);
	free_page((unsigned long)f->data);
}

/* A model of what the device may have: a stable value, or one that was written after it */
static void model(struct fixture *f, u64 sector, u32 sectors, u8 value, bool stable)
{
	for (; sectors--; sector++) {
		f->latest[sector] = value;
		f->legal[sector] |= BIT_ULL(value % 64);
		if (stable) {
			f->device[sector] = value;
			f->legal[sector] = BIT_ULL(value % 64);
		}
	}
}

/* The server has answered a write of this value */
static void answered(struct fixture *f, u8 op, u8 flags, u64 sector, u32 sectors, u8 value)
{
	struct datblk_command c = {
		.op = op,
		.flags = flags,
		.sector = sector,
		.length = sectors * DATBLK_SECTOR,
	};

	memset(f->data, value, PAGE_SIZE);
	bio_init(&f->bio, NULL, &f->bv, 1, REQ_OP_WRITE);
	__bio_add_page(&f->bio, virt_to_page(f->data), c.length, 0);
	f->rq.bio = &f->bio;
	datblk_kept_add(&f->kept, 0, &c, &f->rq);
	model(f, sector, sectors, op == DATBLK_OP_ZEROES ? 0 : value, flags & DATBLK_FUA);
}

static void written(struct fixture *f, u64 sector, u32 sectors, u8 value)
{
	answered(f, DATBLK_OP_WRITE, 0, sector, sectors, value);
}

/* Repeats two sectors, or one. Returns false at the end */
static bool repeat_part(struct fixture *f, struct datblk_kept_cursor *cursor)
{
	u64 sector;
	u32 length;

	if (!datblk_kept_next(&f->kept, cursor))
		return false;
	sector = cursor->write.sector;
	length = min_t(u32, cursor->write.length, sizeof(f->part));
	datblk_kept_read(&f->kept, cursor, f->part, length);
	f->device[sector] = f->part[0];
	if (length == sizeof(f->part))
		f->device[sector + 1] = f->part[DATBLK_SECTOR];
	return true;
}

/* Repeats all writes. Returns whether none is missing */
static bool repeat(struct fixture *f)
{
	struct datblk_kept_cursor cursor;
	bool complete = datblk_kept_begin(&f->kept, &cursor);

	while (repeat_part(f, &cursor))
		;
	return complete;
}

#define EXPECT_DEVICE(test, f, ...)						\
	do {									\
		const u8 want[SECTORS] = { __VA_ARGS__ };			\
										\
		KUNIT_EXPECT_MEMEQ(test, (f)->device, want, sizeof(want));	\
	} while (0)

static void later_write_wins(struct kunit *test)
{
	struct fixture *f = test->priv;

	written(f, 0, 5, 1);
	written(f, 2, 1, 2);
	written(f, 4, 2, 3);
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 1, 1, 2, 1, 3, 3);
}

static void zeroes_have_no_data(struct kunit *test)
{
	struct fixture *f = test->priv;

	written(f, 0, 4, 1);
	answered(f, DATBLK_OP_ZEROES, DATBLK_NOUNMAP, 1, 2, 9);
	answered(f, DATBLK_OP_DISCARD, 0, 0, 1, 9);
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 1, 0, 0, 1);
	KUNIT_EXPECT_EQ(test, f->kept.head - f->kept.tail,
			4 * DATBLK_SECTOR + 2 * sizeof(struct datblk_kept_write));
}

/* A flush covers what was answered before it was sent, and no more */
static void flush_releases(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 before;

	written(f, 0, 1, 1);
	before = datblk_kept_flushing(&f->kept);
	written(f, 1, 1, 2);
	datblk_kept_flushed(&f->kept, before);
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 0, 2);
}

/* Flushes that were sent earlier, but answered later, release nothing again */
static void flushes_in_any_order(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 first, second;

	written(f, 0, 1, 1);
	first = datblk_kept_flushing(&f->kept);
	written(f, 1, 1, 2);
	second = datblk_kept_flushing(&f->kept);
	written(f, 2, 1, 3);
	datblk_kept_flushed(&f->kept, second);
	datblk_kept_flushed(&f->kept, first);
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 0, 0, 3);
}

/* It is stable, an earlier write that is repeated does not overwrite it, and it has no data */
static void fua_after_a_write(struct kunit *test)
{
	struct fixture *f = test->priv;

	answered(f, DATBLK_OP_WRITE, DATBLK_FUA, 3, 1, 7);
	KUNIT_EXPECT_EQ_MSG(test, f->kept.head, 0, "nothing could overwrite it");
	written(f, 0, 2, 1);
	answered(f, DATBLK_OP_WRITE, DATBLK_FUA, 1, 1, 2);
	KUNIT_EXPECT_EQ(test, f->kept.head - f->kept.tail,
			2 * DATBLK_SECTOR + 2 * sizeof(struct datblk_kept_write));
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 1, 2, 0, 7);
}

/* A write of zeroes becomes pieces around what is stable */
static void fua_after_zeroes(struct kunit *test)
{
	struct fixture *f = test->priv;

	written(f, 0, 7, 1);
	answered(f, DATBLK_OP_ZEROES, 0, 0, 7, 0);
	answered(f, DATBLK_OP_WRITE, DATBLK_FUA, 0, 1, 3);
	answered(f, DATBLK_OP_WRITE, DATBLK_FUA, 4, 2, 4);
	answered(f, DATBLK_OP_WRITE, DATBLK_FUA, 2, 3, 5);
	written(f, 4, 1, 6);
	f->device[6] = 9;
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 3, 0, 5, 5, 6, 4, 0);
}

/* Does the device have nothing that is older than the last stable value of a sector? */
static bool sound(const struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < SECTORS; i++)
		if (!(f->legal[i] & BIT_ULL(f->device[i])))
			return false;
	return true;
}

/* All is stable now */
static void settle(struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < SECTORS; i++)
		model(f, i, 1, f->latest[i], true);
}

/* Some writes and flushes, with a new value for each. The ring has room for all */
static void script(struct fixture *f, struct rnd_state *rnd)
{
	unsigned int value;

	for (value = 1; value <= 10; value++) {
		u32 dice = prandom_u32_state(rnd);
		u8 op = dice & 3 ? DATBLK_OP_WRITE : DATBLK_OP_ZEROES;
		u8 flags = dice & 12 ? 0 : DATBLK_FUA;
		u32 sectors = 1 + (dice >> 8) % 3;

		answered(f, op, flags, (dice >> 16) % (SECTORS - 2), sectors, value);
		if (dice & 0xf0)
			continue;
		datblk_kept_flushed(&f->kept, datblk_kept_flushing(&f->kept));
		settle(f);
	}
}

/*
 * What a flush or FUA has acknowledged stays, wherever the repeat is cut. A repeat that is not cut
 * leaves the last value of each sector.
 */
static void cut_anywhere(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int round, parts, done;
	u8 before[SECTORS];
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 1);
	for (round = 0; round < 500; round++) {
		struct datblk_kept_cursor cursor;

		script(f, &rnd);
		memcpy(before, f->device, sizeof(before));
		for (parts = 0, done = 0; done == parts; parts++) {
			memcpy(f->device, before, sizeof(before));
			KUNIT_ASSERT_TRUE(test, datblk_kept_begin(&f->kept, &cursor));
			for (done = 0; done <= parts && repeat_part(f, &cursor); done++)
				;
			KUNIT_ASSERT_TRUE_MSG(test, sound(f), "round %u, part %u", round, done);
		}
		KUNIT_ASSERT_MEMEQ(test, f->device, f->latest, sizeof(f->latest));
		datblk_kept_forget(&f->kept);
		settle(f);
	}
}

/* Without room the loss cannot be repaired, until a flush covers what is missing */
static void overflow(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 before = 0;
	int i;

	for (i = 0; !f->kept.dropped; i++) {
		before = datblk_kept_flushing(&f->kept);
		written(f, i % SECTORS, 1, 1);
	}
	KUNIT_EXPECT_EQ(test, i - 1, f->kept.size / (DATBLK_SECTOR +
						     sizeof(struct datblk_kept_write)));
	written(f, 2, 1, 2);
	KUNIT_EXPECT_FALSE_MSG(test, repeat(f), "a write is missing");
	datblk_kept_flushed(&f->kept, before);
	KUNIT_EXPECT_FALSE_MSG(test, repeat(f), "the flush was sent before that write");
	before = datblk_kept_flushing(&f->kept);
	written(f, 3, 1, 3);
	datblk_kept_flushed(&f->kept, before);
	memset(f->device, 0, sizeof(f->device));
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 0, 0, 0, 3);
}

static void fua(struct fixture *f, unsigned int count)
{
	while (count--)
		answered(f, DATBLK_OP_WRITE, DATBLK_FUA, 1, 1, 2);
}

/* Each write is compared with all later ones with FUA, so more of these count as no room */
static void fua_limit(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 before;

	vfree(f->kept.ring);
	KUNIT_ASSERT_EQ(test, datblk_kept_alloc(&f->kept, 1024), 0);
	written(f, 0, 1, 1);
	fua(f, DATBLK_KEPT_FUA / 2);
	before = datblk_kept_flushing(&f->kept);
	written(f, 0, 1, 1);
	fua(f, DATBLK_KEPT_FUA / 2);
	KUNIT_EXPECT_EQ(test, f->kept.dropped, 0);
	datblk_kept_flushed(&f->kept, before);
	fua(f, DATBLK_KEPT_FUA / 2);
	KUNIT_EXPECT_EQ_MSG(test, f->kept.dropped, 0, "the flush has released half of them");
	fua(f, 1);
	KUNIT_EXPECT_NE(test, f->kept.dropped, 0);
	KUNIT_EXPECT_EQ(test, f->kept.tail, f->kept.head);
	datblk_kept_forget(&f->kept);
	written(f, 2, 1, 1);
	fua(f, DATBLK_KEPT_FUA);
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 0, 2, 1);
}

/* A flush covers a write that another queue is still copying. Its place is not used again yet */
static void flushed_while_copied(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 room = f->kept.size / (DATBLK_SECTOR + sizeof(struct datblk_kept_write)), i;

	f->kept.copying[1] = 0;
	written(f, 0, 1, 1);
	datblk_kept_flushed(&f->kept, datblk_kept_flushing(&f->kept));
	for (i = 1; i < room; i++)
		written(f, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, f->kept.dropped, 0);
	/* However many others come */
	for (i = 1; i <= 2 * room; i++) {
		written(f, 0, 1, 1);
		KUNIT_EXPECT_EQ(test, f->kept.dropped, f->kept.head);
	}
	f->kept.copying[1] = U64_MAX;
	datblk_kept_flushed(&f->kept, datblk_kept_flushing(&f->kept));
	for (i = 0; i < room; i++)
		written(f, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, f->kept.dropped, 0);
}

/* Once the loss has been reported, later writes can be repeated */
static void forget(struct kunit *test)
{
	struct fixture *f = test->priv;

	while (!f->kept.dropped)
		written(f, 0, 1, 1);
	datblk_kept_forget(&f->kept);
	written(f, 1, 1, 2);
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 0, 2);
}

/* The ring wraps around many times, in the middle of data */
static void ring_wraps(struct kunit *test)
{
	struct fixture *f = test->priv;
	int i;

	for (i = 0; i < 1000; i++) {
		written(f, i % 8, 1 + i % 7, i);
		if (i % 5 == 4 && i < 999)
			datblk_kept_flushed(&f->kept, datblk_kept_flushing(&f->kept));
	}
	KUNIT_EXPECT_TRUE(test, repeat(f));
	EXPECT_DEVICE(test, f, 0, 0, 0, 227, 228, 229, 230, 231, 231, 231, 231, 231, 231);
}

/* A batch of at most two sectors */
static int batch(struct datblk_disk *disk, struct datblk_kept_cursor *cursor)
{
	struct fixture *f = container_of(disk, struct fixture, disk);
	unsigned int number = f->batches++;
	u8 device[SECTORS];

	memcpy(device, f->device, sizeof(device));
	repeat_part(f, cursor);
	if (number < f->nth || number >= f->nth + f->bad)
		return 0;
	memcpy(f->device, device, sizeof(device));
	return f->error;
}

/* Four writes of a sector are repeated. From the n-th batch on, this number of batches fails */
static int resubmit(struct fixture *f, unsigned int nth, unsigned int bad, int error)
{
	struct datblk_kept_cursor cursor;
	int i;

	for (i = 0; i < 4 && f->kept.head < 4 * DATBLK_SECTOR; i++)
		written(f, i, 1, i + 1);
	f->batches = 0;
	f->nth = nth;
	f->bad = bad;
	f->error = error;
	/* Long ago */
	f->disk.good_at = jiffies - 1000 * HZ;
	f->disk.kept = f->kept;
	datblk_kept_begin(&f->kept, &cursor);
	return datblk_resubmit_all(&f->disk, &cursor, batch);
}

static bool restarted(const struct fixture *f)
{
	return time_before(jiffies, f->disk.good_at + 500 * HZ);
}

/* The loss of one write is reported, and the others are saved */
static void a_write_fails(struct kunit *test)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, resubmit(f, 1, 1, -EIO), -EIO);
	KUNIT_EXPECT_EQ(test, f->batches, 4);
	EXPECT_DEVICE(test, f, 1, 0, 3, 4);
}

/* The batch that the server could not execute is sent again, and not those before it */
static void a_batch_is_retried(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long begin = jiffies;

	KUNIT_EXPECT_EQ(test, resubmit(f, 1, 2, -EAGAIN), 0);
	KUNIT_EXPECT_EQ(test, f->batches, 6);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, begin + msecs_to_jiffies(100)));
	EXPECT_DEVICE(test, f, 1, 2, 3, 4);
}

static void a_batch_is_retried_five_times(struct kunit *test)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, resubmit(f, 1, 6, -EAGAIN), -EAGAIN);
	KUNIT_EXPECT_EQ(test, f->batches, 7);
	KUNIT_EXPECT_TRUE_MSG(test, restarted(f), "one batch was completed");
	EXPECT_DEVICE(test, f, 1);
}

/* A repeat that gets further than any before shows that the server works */
static void progress_restarts_time_outs(struct kunit *test)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, resubmit(f, 0, 1, -ENOTCONN), -ENOTCONN);
	KUNIT_EXPECT_FALSE_MSG(test, restarted(f), "no batch was completed");
	KUNIT_EXPECT_EQ(test, resubmit(f, 2, 1, -ENOTCONN), -ENOTCONN);
	KUNIT_EXPECT_TRUE(test, restarted(f));
	resubmit(f, 2, 1, -ENOTCONN);
	KUNIT_EXPECT_FALSE_MSG(test, restarted(f), "it ended at the same write");
	resubmit(f, 3, 1, -ENOTCONN);
	KUNIT_EXPECT_TRUE(test, restarted(f));
}

static void off(struct kunit *test)
{
	struct datblk_kept_cursor cursor;
	struct fixture *f = test->priv;
	void *ring = NULL;

	KUNIT_ASSERT_EQ(test, datblk_kept_alloc(&f->disk.kept, 0), 0);
	KUNIT_ASSERT_NULL(test, f->disk.kept.ring);
	swap(f->kept.ring, ring);
	written(f, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, f->kept.head, 0);
	datblk_kept_flushed(&f->kept, datblk_kept_flushing(&f->kept));
	KUNIT_EXPECT_FALSE(test, datblk_kept_begin(&f->kept, &cursor));
	swap(f->kept.ring, ring);
}

static struct kunit_case kept_cases[] = {
	KUNIT_CASE(later_write_wins),
	KUNIT_CASE(zeroes_have_no_data),
	KUNIT_CASE(flush_releases),
	KUNIT_CASE(flushes_in_any_order),
	KUNIT_CASE(fua_after_a_write),
	KUNIT_CASE(fua_after_zeroes),
	KUNIT_CASE(cut_anywhere),
	KUNIT_CASE(overflow),
	KUNIT_CASE(fua_limit),
	KUNIT_CASE(flushed_while_copied),
	KUNIT_CASE(forget),
	KUNIT_CASE(ring_wraps),
	KUNIT_CASE(a_write_fails),
	KUNIT_CASE(a_batch_is_retried),
	KUNIT_CASE(a_batch_is_retried_five_times),
	KUNIT_CASE(progress_restarts_time_outs),
	KUNIT_CASE(off),
	{}
};

static struct kunit_suite kept_suite = {
	.name = "datblk_kept",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = kept_cases,
};

kunit_test_suite(kept_suite);
