// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_share: disks that share connections, without a server. What happens to one disk must
 * not delay the requests or the removal of another one.
 */
#include <kunit/test.h>
#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include "client/client.h"

#define FAIL_MS		5000	/* longer than a request needs to fail */
#define WAIT_MS		200	/* a request that waits does not complete in this time */

static struct datblk_remote *remote_alloc(struct kunit *test)
{
	struct datblk_remote *remote = kunit_kzalloc(test, sizeof(*remote), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, remote);
	remote->queues = kunit_kzalloc(test, sizeof(*remote->queues), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, remote->queues);
	mutex_init(&remote->lock);
	INIT_LIST_HEAD(&remote->disks);
	init_waitqueue_head(&remote->repeated);
	spin_lock_init(&remote->queues->lock);
	remote->queues->remote = remote;
	remote->shared = true;
	remote->path_count = 1;
	remote->options.queues = 1;
	remote->limits = (struct datblk_limits){
		.depth = 4, .inline_max = DATBLK_INLINE_MAX, .io_max = SZ_64K,
	};
	return remote;
}

/* A disk that has lost its session; each disk has its own request queue */
static struct datblk_disk *disk_make(struct kunit *test, struct datblk_remote *remote)
{
	struct datblk_disk *disk = kunit_kzalloc(test, sizeof(*disk), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, disk);
	disk->remote = remote;
	disk->next_geo = (struct datblk_geometry){
		.capacity = 2048, .logical = 512, .physical = 512, .uuid.b[0] = 1,
	};
	KUNIT_ASSERT_EQ(test, datblk_disk_make(disk), 0);
	list_add_tail(&disk->of_remote, &remote->disks);
	remote->members++;
	disk->state = DATBLK_RECOVERING;
	datblk_disk_quiesce(disk);
	return disk;
}

/* All requests of the disk have completed */
static void disk_unmake(struct datblk_disk *disk)
{
	list_del(&disk->of_remote);
	disk->remote->members--;
	datblk_disk_resume(disk);
	put_disk(disk->gendisk);
	blk_mq_free_tag_set(&disk->set);
}

struct reader {
	struct bio bio;
	struct bio_vec vec;
	struct completion done;
	void *data;
};

static void read_ended(struct bio *bio)
{
	complete(&container_of(bio, struct reader, bio)->done);
}

static struct reader *read_begin(struct kunit *test, struct datblk_disk *disk)
{
	struct reader *reader = kunit_kzalloc(test, sizeof(*reader), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, reader);
	reader->data = kunit_kzalloc(test, SZ_4K, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, reader->data);
	init_completion(&reader->done);
	bio_init(&reader->bio, disk->gendisk->part0, &reader->vec, 1, REQ_OP_READ);
	__bio_add_page(&reader->bio, virt_to_page(reader->data), 512,
		       offset_in_page(reader->data));
	reader->bio.bi_end_io = read_ended;
	submit_bio_noacct(&reader->bio);
	return reader;
}

static bool read_waits(struct reader *reader)
{
	return !wait_for_completion_timeout(&reader->done, msecs_to_jiffies(WAIT_MS));
}

/* Without a connection, the read can only fail */
static void read_fails(struct kunit *test, struct reader *reader)
{
	if (!wait_for_completion_timeout(&reader->done, msecs_to_jiffies(FAIL_MS))) {
		kunit_err(test, "a request does not complete\n");
		/* Its memory is in use until it completes */
		wait_for_completion(&reader->done);
	}
	KUNIT_EXPECT_EQ(test, (__force unsigned int)reader->bio.bi_status,
			(__force unsigned int)BLK_STS_IOERR);
	bio_uninit(&reader->bio);
}

/* The disk does not wait for a connection any more, so its requests fail */
static void give_up(struct kunit *test, struct datblk_disk *disk, struct reader *reader)
{
	disk->deleting = true;
	datblk_session_fail_others(disk->remote);
	read_fails(test, reader);
	disk_unmake(disk);
}

/* A disk has a session again. A disk that is being removed does not wait for the next session */
static void removed(struct kunit *test)
{
	struct datblk_remote *remote = remote_alloc(test);
	struct datblk_disk *a = disk_make(test, remote), *b = disk_make(test, remote);
	struct datblk_disk *c = disk_make(test, remote);
	struct reader *of_b = read_begin(test, b), *of_c = read_begin(test, c);

	a->logged_in = true;
	b->deleting = true;
	c->good_at = jiffies;
	datblk_session_fail_others(remote);
	read_fails(test, of_b);
	KUNIT_EXPECT_EQ(test, b->state, DATBLK_FAILING);
	KUNIT_EXPECT_EQ(test, a->state, DATBLK_RECOVERING);
	KUNIT_EXPECT_EQ(test, c->state, DATBLK_RECOVERING);
	KUNIT_EXPECT_TRUE(test, read_waits(of_c));
	disk_unmake(b);
	give_up(test, c, of_c);
	disk_unmake(a);
}

/* A disk is added and removed while the requests of another one wait. This must not hang */
static void not_frozen(struct kunit *test)
{
	struct datblk_remote *remote = remote_alloc(test);
	struct datblk_disk *a = disk_make(test, remote);
	struct reader *reader = read_begin(test, a);

	disk_unmake(disk_make(test, remote));
	KUNIT_EXPECT_TRUE(test, read_waits(reader));
	give_up(test, a, reader);
}

/* A disk that has given up fails its requests even after another session has ended */
static void dead(struct kunit *test)
{
	struct datblk_disk *disk = disk_make(test, remote_alloc(test));

	disk->options.reconnect_timeout = 1;
	disk->good_at = jiffies - 2 * HZ;
	datblk_disk_fail(disk);
	KUNIT_EXPECT_EQ(test, disk->state, DATBLK_DEAD);
	datblk_disk_quiesce(disk);
	datblk_disk_fail(disk);
	read_fails(test, read_begin(test, disk));
	disk_unmake(disk);
}

/* Loses a session. The loss must count this often for a command of the first and second disk */
static void loses(struct kunit *test, struct datblk_remote *remote, unsigned int first,
		  unsigned int second)
{
	struct datblk_pdu a = { .c.op = DATBLK_OP_READ }, b = a, *pdus[] = { &a, &b };
	struct datblk_disk *disk;
	unsigned int i = 0;

	remote->had_answer = true;
	datblk_session_find_fault(remote);
	list_for_each_entry(disk, &remote->disks, of_remote) {
		datblk_request_lost(remote, pdus[i]);
		KUNIT_EXPECT_EQ(test, pdus[i]->retries, 0);
		KUNIT_EXPECT_TRUE(test, datblk_request_again(pdus[i]));
		KUNIT_EXPECT_FALSE(test, datblk_request_worn_out(disk, pdus[i]));
		/* The loss counts only once */
		datblk_request_worn_out(disk, pdus[i]);
		KUNIT_EXPECT_EQ(test, pdus[i]->retries, i ? second : first);
		KUNIT_EXPECT_FALSE(test, disk->changed);
		i++;
	}
}

/* A device that has lost writes ends the session of all disks. Only its requests count the loss */
static void fault(struct kunit *test)
{
	struct datblk_remote *remote = remote_alloc(test);
	struct datblk_disk *a = disk_make(test, remote), *b = disk_make(test, remote);
	struct datblk_pdu pdu = { .c.op = DATBLK_OP_READ };
	unsigned int i;

	loses(test, remote, 1, 1);
	a->changed = true;
	loses(test, remote, 1, 0);
	b->changed = true;
	loses(test, remote, 0, 1);
	a->changed = true;
	b->changed = true;
	loses(test, remote, 1, 1);
	/* The server has refused a disk, because it still has commands in flight */
	a->changed = true;
	b->changed = true;
	datblk_disk_leave_out(b, -EBUSY);
	loses(test, remote, 1, 0);
	/* Both disks log in again. The device of the first one has another instance */
	a->next_geo.instance++;
	b->changed = true;
	KUNIT_EXPECT_EQ(test, datblk_disk_check(a), 0);
	KUNIT_EXPECT_EQ(test, datblk_disk_check(b), 0);
	loses(test, remote, 1, 0);
	for (i = 0; i < 6; i++) {
		datblk_request_lost(remote, &pdu);
		KUNIT_EXPECT_EQ(test, datblk_request_worn_out(a, &pdu), i == 5);
	}
	disk_unmake(b);
	disk_unmake(a);
}

static struct kunit_case share_cases[] = {
	KUNIT_CASE(removed),
	KUNIT_CASE(not_frozen),
	KUNIT_CASE(dead),
	KUNIT_CASE(fault),
	{}
};

static struct kunit_suite share_suite = {
	.name = "datblk_share",
	.test_cases = share_cases,
};

kunit_test_suite(share_suite);
