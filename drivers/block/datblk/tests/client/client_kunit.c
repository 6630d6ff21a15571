// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_client: what the client decides when a session ends, and when the adapter refuses a
 * request. The disk has no session.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include "client/client.h"

static struct datblk_disk *disk_alloc(struct kunit *test)
{
	struct datblk_disk *disk = kunit_kzalloc(test, sizeof(*disk), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, disk);
	disk->remote = kunit_kzalloc(test, sizeof(*disk->remote), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, disk->remote);
	mutex_init(&disk->remote->lock);
	refcount_set(&disk->remote->users, 1);
	INIT_LIST_HEAD(&disk->remote->disks);
	list_add(&disk->of_remote, &disk->remote->disks);
	disk->had_session = true;
	init_waitqueue_head(&disk->remote->repeated);
	disk->remote->path_count = 1;
	disk->remote->options.queues = 1;
	/* Long ago */
	disk->good_at = jiffies - 1000 * HZ;
	return disk;
}

/* What has happened in a session, and what follows */
struct ending {
	const char *name;
	bool had_command, greeted, had_answer, had_pong;
	bool at_once;			/* the client reconnects without a delay */
	bool restarts;			/* the timeouts of the disk restart */
	bool counts;			/* it counts against its commands */
};

static const struct ending endings[] = {
	{ "a command without an answer", .had_command = true },
	{ "an answer to the first ping only", .had_command = true, .greeted = true,
	  .counts = true },
	{ "an answer", .had_command = true, .had_answer = true, .at_once = true, .restarts = true,
	  .counts = true },
	{ "the server is slow, but answers pings", .had_command = true, .had_pong = true,
	  .restarts = true, .counts = true },
	{ "an idle session", .restarts = true },
};

static void ended(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(endings); i++) {
		struct datblk_disk *disk = disk_alloc(test);
		struct datblk_remote *remote = disk->remote;
		unsigned long since = disk->good_at;

		datblk_paths_live(remote);
		remote->backoff = 1600;
		remote->had_command = endings[i].had_command;
		remote->greeted = endings[i].greeted;
		remote->had_answer = endings[i].had_answer;
		remote->had_pong = endings[i].had_pong;
		KUNIT_EXPECT_EQ_MSG(test, datblk_session_ended(remote), endings[i].at_once, "%s",
				    endings[i].name);
		KUNIT_EXPECT_EQ_MSG(test, remote->backoff, endings[i].at_once ? 0 : 1600, "%s",
				    endings[i].name);
		KUNIT_EXPECT_EQ_MSG(test, disk->good_at != since, endings[i].restarts, "%s",
				    endings[i].name);
	}
}

/* The time in which an idle session waited for its first command is no time without a connection */
static void idle_before(struct kunit *test)
{
	struct datblk_disk *disk = disk_alloc(test);
	struct datblk_remote *remote = disk->remote;

	remote->live_at = jiffies - 990 * HZ;
	remote->command_at = remote->live_at + 985 * HZ;
	remote->had_command = true;
	datblk_session_ended(remote);
	KUNIT_EXPECT_EQ(test, disk->good_at, remote->command_at - 10 * HZ);
}

/* No command is repeated without end: what restarts the timeouts counts against it */
static void lost(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(endings); i++) {
		struct datblk_pdu pdu = { .c.op = DATBLK_OP_READ };
		struct datblk_remote *remote = disk_alloc(test)->remote;

		remote->greeted = endings[i].greeted;
		remote->had_answer = endings[i].had_answer;
		remote->had_pong = endings[i].had_pong;
		datblk_request_lost(remote, &pdu);
		KUNIT_EXPECT_TRUE_MSG(test, pdu.lost, "%s", endings[i].name);
		KUNIT_EXPECT_EQ_MSG(test, pdu.retries, endings[i].counts, "%s", endings[i].name);
	}
}

static void path_is(struct kunit *test, struct datblk_remote *remote, unsigned int path)
{
	KUNIT_EXPECT_EQ(test, remote->path, path);
	KUNIT_EXPECT_PTR_EQ(test, datblk_path(remote), &remote->paths[path]);
}

/* The next path is tried at once, until all have failed since the last answer */
static void next_path(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;

	remote->path_count = 3;
	remote->path = 1;
	datblk_paths_live(remote);
	KUNIT_EXPECT_EQ(test, remote->paths[1].state, DATBLK_PATH_LIVE);
	/* Its session had answers, so it may be tried again, too */
	remote->had_answer = true;
	KUNIT_EXPECT_TRUE(test, datblk_session_ended(remote));
	path_is(test, remote, 2);
	KUNIT_EXPECT_EQ(test, remote->paths[1].state, DATBLK_PATH_FAILED);
	KUNIT_EXPECT_STREQ(test, remote->paths[1].reason, "the connection was lost");
	KUNIT_EXPECT_EQ(test, remote->paths[0].state, DATBLK_PATH_STANDBY);
	KUNIT_EXPECT_TRUE(test, datblk_path_next(remote, -EIO, "2"));
	path_is(test, remote, 0);
	KUNIT_EXPECT_TRUE(test, datblk_path_next(remote, -EIO, "0"));
	path_is(test, remote, 1);
	KUNIT_EXPECT_FALSE(test, datblk_path_next(remote, -EIO, "1"));
	path_is(test, remote, 2);
	/* After the delay, each is tried once */
	KUNIT_EXPECT_TRUE(test, datblk_path_next(remote, -EIO, "2"));
	KUNIT_EXPECT_TRUE(test, datblk_path_next(remote, -EIO, "0"));
	KUNIT_EXPECT_FALSE(test, datblk_path_next(remote, -EIO, "1"));
}

/* The delay grows with attempts over a path that has failed before, and if sessions break */
static void delay_of_paths(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;

	remote->path_count = 2;
	datblk_paths_live(remote);
	remote->backoff = 400;
	datblk_path_next(remote, -EIO, "0");
	KUNIT_EXPECT_EQ_MSG(test, remote->backoff, 400, "it was live");
	datblk_path_next(remote, -EBUSY, "busy");
	KUNIT_EXPECT_EQ(test, remote->backoff, 400);
	datblk_path_next(remote, -EIO, "1");
	KUNIT_EXPECT_EQ_MSG(test, remote->backoff, 0, "it stood by");
	remote->backoff = 400;
	datblk_path_next(remote, -EIO, "0");
	datblk_path_next(remote, -EIO, "1");
	KUNIT_EXPECT_EQ(test, remote->backoff, 400);
}

/* The server has I/O: it refuses the login over any path */
static void busy_path(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;

	remote->path_count = 2;
	KUNIT_EXPECT_FALSE(test, datblk_path_next(remote, -EBUSY, "busy"));
	path_is(test, remote, 0);
	KUNIT_EXPECT_EQ(test, remote->paths[0].state, DATBLK_PATH_STANDBY);
	KUNIT_EXPECT_STREQ(test, remote->paths[0].reason, "busy");
	KUNIT_EXPECT_EQ(test, remote->tried, 0);
}

/* Sessions that break without an answer, over each path, delay the next one */
static void broken_sessions(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;

	remote->path_count = 2;
	remote->had_command = true;
	KUNIT_EXPECT_TRUE(test, datblk_session_ended(remote));
	KUNIT_EXPECT_FALSE(test, datblk_session_ended(remote));
}

/* Which of four paths have failed, and the paths of five queues; remote->path is 2 */
static const struct {
	const char *failed, *used, *states;
} spreads[] = {
	{ "....", "01230", "LLLL" },
	{ "F...", "12312", "FLLL" },
	{ ".FF.", "03030", "LFFL" },
	{ "FFF.", "33333", "FFFL" },
	/* One at a time */
	{ "FFFF", "22222", "FFLF" },
};

static void spread(struct kunit *test)
{
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(spreads); i++) {
		struct datblk_remote *remote = disk_alloc(test)->remote;
		char text[6] = "";

		remote->path_count = 4;
		remote->path = 2;
		remote->options.queues = 5;
		for (n = 0; n < 4; n++)
			if (spreads[i].failed[n] == 'F')
				remote->paths[n].state = DATBLK_PATH_FAILED;
		for (n = 0; n < 5; n++)
			KUNIT_EXPECT_EQ(test, datblk_path_for(remote, n), 2);
		KUNIT_EXPECT_FALSE(test, datblk_paths_missing(remote));
		remote->options.round_robin = true;
		for (n = 0; n < 5; n++)
			text[n] = '0' + datblk_path_for(remote, n);
		KUNIT_EXPECT_STREQ(test, text, spreads[i].used);
		datblk_paths_live(remote);
		for (n = 0; n < 4; n++)
			text[n] = "SLF"[remote->paths[n].state];
		text[4] = 0;
		KUNIT_EXPECT_STREQ(test, text, spreads[i].states);
		KUNIT_EXPECT_EQ(test, datblk_paths_missing(remote), i != 0);
	}
}

/* A path that no queue would use is not missed, and stands by */
static void spare_path(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;

	remote->path_count = 3;
	remote->options.queues = 2;
	remote->options.round_robin = true;
	remote->paths[0].state = DATBLK_PATH_FAILED;
	datblk_paths_live(remote);
	KUNIT_EXPECT_EQ(test, remote->paths[2].state, DATBLK_PATH_LIVE);
	KUNIT_EXPECT_FALSE(test, datblk_paths_missing(remote));
	datblk_paths_restore(remote, BIT(0));
	KUNIT_EXPECT_EQ(test, remote->paths[0].state, DATBLK_PATH_STANDBY);
	datblk_paths_live(remote);
	KUNIT_EXPECT_EQ(test, remote->paths[0].state, DATBLK_PATH_LIVE);
	KUNIT_EXPECT_EQ(test, remote->paths[1].state, DATBLK_PATH_LIVE);
	KUNIT_EXPECT_EQ(test, remote->paths[2].state, DATBLK_PATH_STANDBY);
}

/* All paths whose connections have ended have failed; then each is tried once before a delay */
static void blamed_paths(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;

	remote->path_count = 3;
	remote->options.round_robin = true;
	remote->path = 2;
	remote->ended = BIT(0) | BIT(2);
	KUNIT_EXPECT_TRUE(test, datblk_path_next(remote, -EIO, "2"));
	KUNIT_EXPECT_EQ(test, remote->paths[0].state, DATBLK_PATH_FAILED);
	KUNIT_EXPECT_STREQ(test, remote->paths[0].reason, "the connection was lost");
	KUNIT_EXPECT_EQ(test, remote->paths[1].state, DATBLK_PATH_STANDBY);
	KUNIT_EXPECT_EQ(test, remote->paths[2].state, DATBLK_PATH_FAILED);
	KUNIT_EXPECT_STREQ(test, remote->paths[2].reason, "2");
	remote->ended = 0;
	remote->path = datblk_path_for(remote, 0);
	path_is(test, remote, 1);
	KUNIT_EXPECT_FALSE(test, datblk_path_next(remote, -EIO, "1"));
	path_is(test, remote, 2);
	KUNIT_EXPECT_EQ(test, datblk_path_for(remote, 0), 2);
	KUNIT_EXPECT_TRUE(test, datblk_path_next(remote, -EIO, "2"));
	KUNIT_EXPECT_EQ(test, datblk_path_for(remote, 0), 0);
	KUNIT_EXPECT_TRUE(test, datblk_path_next(remote, -EIO, "0"));
	KUNIT_EXPECT_EQ(test, datblk_path_for(remote, 0), 1);
	KUNIT_EXPECT_FALSE(test, datblk_path_next(remote, -EIO, "1"));
}

/* The delays of probes double with each renewal, until one has been good for a minute */
static void probe_delays(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;
	unsigned int i;

	for (i = 1; i <= 20; i++) {
		datblk_probe_renewal(remote);
		datblk_probe_session(remote);
		KUNIT_EXPECT_EQ(test, datblk_probe_delay(remote), HZ << min(i, 6U));
	}
	remote->renewed -= 61 * HZ;
	datblk_probe_session(remote);
	KUNIT_EXPECT_EQ(test, datblk_probe_delay(remote), HZ);
}

/* The delays also double while the server logs refusals */
static void probe_refusals(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;
	unsigned int i;

	datblk_probe_renewal(remote);
	for (i = 2; i <= 20; i++) {
		datblk_probe_answered(remote, BIT(DATBLK_ADMIT) | BIT(DATBLK_REFUSE_CLIENT));
		KUNIT_EXPECT_EQ(test, datblk_probe_delay(remote), HZ << min(i, 6U));
	}
	datblk_probe_answered(remote, BIT(DATBLK_ADMIT) | BIT(DATBLK_REFUSE_BUSY) |
				    BIT(DATBLK_REFUSE_LATE) | BIT(DATBLK_CHALLENGED));
	KUNIT_EXPECT_EQ(test, datblk_probe_delay(remote), HZ << 1);
}

/* What follows "address=", and the result */
static const struct {
	const char *text, *address, *ia;
	int err;
} path_texts[] = {
	{ "10.0.0.1", "10.0.0.1", "rxe0/1" },
	{ "10.0.0.1@rxe1/1", "10.0.0.1", "rxe1/1" },
	{ "fe80::1@rxe1/1", "fe80::1", "rxe1/1" },
	{ "10.0.0.1@", .err = -EINVAL },
	{ "@rxe1/1", .err = -EINVAL },
	{ "", .err = -EINVAL },
	{ "server", .err = -EINVAL },
	{ "1111111111222222222233333333334444444444555555555566666666667777",
	  .err = -ENAMETOOLONG },
};

static void parse_paths(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(path_texts); i++) {
		struct datblk_remote *remote = disk_alloc(test)->remote;
		char text[128];

		remote->path_count = 0;
		strscpy(remote->options.ia, "rxe0/1", sizeof(remote->options.ia));
		strscpy(text, path_texts[i].text, sizeof(text));
		KUNIT_EXPECT_EQ_MSG(test, datblk_path_add(remote, text), path_texts[i].err, "%s",
				    path_texts[i].text);
		if (path_texts[i].err)
			continue;
		KUNIT_EXPECT_EQ(test, datblk_paths_complete(remote), 0);
		KUNIT_EXPECT_STREQ(test, remote->paths[0].address, path_texts[i].address);
		KUNIT_EXPECT_STREQ(test, remote->paths[0].ia_name, path_texts[i].ia);
		KUNIT_EXPECT_NE(test, remote->paths[0].to.ss_family, 0);
	}
}

/* The paths are at most eight; each has an IA, its own or that of the disk */
static void number_of_paths(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;
	char text[32];
	unsigned int i;

	remote->path_count = 0;
	KUNIT_EXPECT_EQ(test, datblk_paths_complete(remote), -EINVAL);
	for (i = 0; i < DATBLK_PATHS_MAX; i++) {
		snprintf(text, sizeof(text), "10.0.0.%u%s", i, i ? "@rxe0/1" : "");
		KUNIT_EXPECT_EQ(test, datblk_path_add(remote, text), 0);
	}
	strscpy(text, "10.0.0.9@rxe0/1", sizeof(text));
	KUNIT_EXPECT_EQ(test, datblk_path_add(remote, text), -E2BIG);
	KUNIT_EXPECT_EQ(test, remote->path_count, DATBLK_PATHS_MAX);
	KUNIT_EXPECT_EQ(test, datblk_paths_complete(remote), -EINVAL);
	strscpy(remote->options.ia, "rxe0/1", sizeof(remote->options.ia));
	KUNIT_EXPECT_EQ(test, datblk_paths_complete(remote), 0);
}

/*
 * Returns of kdat_lmr_fmr_sg(), the status of the request, whether it costs the session, and
 * whether the request may fail for it
 */
static const struct refusal {
	DAT_RETURN ret;
	unsigned int status;
	bool lost, counts;
} refusals[] = {
	{ DAT_SUCCESS, (__force unsigned int)BLK_STS_OK },
	{ DAT_INSUFFICIENT_RESOURCES, (__force unsigned int)BLK_STS_RESOURCE },
	{ DAT_INVALID_PARAMETER, (__force unsigned int)BLK_STS_IOERR },
	{ DAT_PRIVILEGES_VIOLATION, (__force unsigned int)BLK_STS_IOERR },
	{ DAT_MODEL_NOT_SUPPORTED, (__force unsigned int)BLK_STS_IOERR },
	{ DAT_INVALID_STATE, (__force unsigned int)BLK_STS_RESOURCE, .lost = true },
	{ DAT_INTERNAL_ERROR, (__force unsigned int)BLK_STS_RESOURCE, .lost = true,
	  .counts = true },
};

static void refused_as(struct kunit *test, const struct refusal *r)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;
	/* With a subtype, as calls return it */
	DAT_RETURN ret = r->ret | (r->ret ? DAT_INVALID_ARG2 : 0);
	struct datblk_queue *queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);
	struct datblk_pdu pdu = {};
	blk_status_t status;

	KUNIT_ASSERT_NOT_NULL(test, queue);
	queue->remote = remote;
	queue->path = &remote->paths[0];
	remote->open = true;
	status = datblk_request_exposed(queue, &pdu, ret);

	KUNIT_EXPECT_EQ_MSG(test, (__force unsigned int)status, r->status, "%x", r->ret);
	KUNIT_EXPECT_EQ_MSG(test, remote->lost, r->lost, "%x", r->ret);
	KUNIT_EXPECT_EQ_MSG(test, remote->ended, r->lost, "%x", r->ret);
	KUNIT_EXPECT_EQ_MSG(test, pdu.retries, r->counts, "%x", r->ret);
	/* The queue runs again before the session has ended */
	if (r->lost)
		datblk_request_exposed(queue, &pdu, ret);
	KUNIT_EXPECT_EQ_MSG(test, pdu.retries, r->counts, "%x", r->ret);
}

static void refused(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		refused_as(test, &refusals[i]);
}

/* Statuses of an answer, what the block layer gets, and whether the request is issued again */
static const struct {
	u8 sts;
	unsigned int status;
	bool again;
} answers[] = {
	{ DATBLK_STS_OK, (__force unsigned int)BLK_STS_OK },
	{ DATBLK_STS_IO, (__force unsigned int)BLK_STS_IOERR },
	{ DATBLK_STS_NOSPC, (__force unsigned int)BLK_STS_NOSPC },
	{ DATBLK_STS_NOTSUPP, (__force unsigned int)BLK_STS_NOTSUPP },
	{ DATBLK_STS_READONLY, (__force unsigned int)BLK_STS_TARGET },
	{ DATBLK_STS_RANGE, (__force unsigned int)BLK_STS_TARGET },
	{ DATBLK_STS_NOMEM, (__force unsigned int)BLK_STS_IOERR, .again = true },
	{ DATBLK_STS_AGAIN, (__force unsigned int)BLK_STS_IOERR, .again = true },
	{ DATBLK_STS_MEDIUM, (__force unsigned int)BLK_STS_MEDIUM },
};

/* Transient errors are retried, five times */
static void answered(struct kunit *test)
{
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		struct datblk_pdu pdu = { .retry = datblk_status_transient(answers[i].sts) };

		KUNIT_EXPECT_EQ_MSG(test, (__force unsigned int)datblk_blk_status(answers[i].sts),
				    answers[i].status, "%u", answers[i].sts);
		for (n = 0; n < 10 && datblk_request_again(&pdu); n++)
			;
		KUNIT_EXPECT_EQ_MSG(test, n, answers[i].again ? 5 : 0, "%u", answers[i].sts);
	}
}

/* The client reconnects twice for one loss, and the second run finds a good session */
static void good_session_stays(struct kunit *test)
{
	struct datblk_disk *disk = disk_alloc(test);
	struct datblk_remote *remote = disk->remote;

	INIT_DELAYED_WORK(&remote->recover, datblk_session_recover);
	remote->open = true;
	remote->state = DATBLK_LIVE;
	disk->logged_in = true;
	disk->deleting = true;
	datblk_session_recover(&remote->recover.work);
	KUNIT_EXPECT_TRUE(test, remote->open);
	KUNIT_EXPECT_EQ(test, remote->state, DATBLK_LIVE);
}

/* There are no messages, so commands wait */
static struct datblk_queue *queue_alloc(struct kunit *test)
{
	struct datblk_queue *queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, queue);
	queue->remote = disk_alloc(test)->remote;
	queue->remote->limits.depth = 1;
	queue->ping = kunit_kzalloc(test, sizeof(*queue->ping), GFP_KERNEL);
	queue->pdus = kunit_kcalloc(test, 2, sizeof(*queue->pdus), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, queue->ping && queue->pdus);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->pending);
	return queue;
}

/* A late timeout of a request of the session before comes between login and greeting */
static void one_ping(struct kunit *test)
{
	struct datblk_queue *queue = queue_alloc(test);

	datblk_queue_heartbeat(queue);
	datblk_queue_greet(queue);
	KUNIT_EXPECT_EQ(test, queue->waiting, 1);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&queue->pending));
	KUNIT_EXPECT_TRUE(test, queue->pinging && queue->greeting);
}

/* A late heartbeat finds no command of a session that has ended, only its own ping */
static void dropped(struct kunit *test)
{
	struct datblk_pdu command = { .own = true, .c.op = DATBLK_OP_FLUSH };
	struct datblk_queue *queue = queue_alloc(test);

	datblk_queue_add_own(queue, &command);
	KUNIT_EXPECT_EQ(test, queue->waiting, 1);
	datblk_queue_drop(queue);
	datblk_queue_heartbeat(queue);
	KUNIT_EXPECT_EQ(test, queue->waiting, 1);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&queue->pending));
	KUNIT_EXPECT_PTR_EQ(test, list_first_entry(&queue->pending, struct datblk_pdu, link),
			    queue->ping);
}

/* A removal leaves the server time to answer; an abort while the disk is added does not */
static void removal_waits(struct kunit *test)
{
	struct datblk_disk *disk = disk_alloc(test);

	KUNIT_EXPECT_FALSE(test, datblk_disk_removal_expired(disk));
	datblk_disk_abort(disk);
	KUNIT_EXPECT_FALSE(test, time_before(disk->deadline + HZ, jiffies));
	disk->deadline = jiffies + 100 * HZ;
	KUNIT_EXPECT_FALSE(test, datblk_disk_removal_expired(disk));
	disk->deadline = jiffies - 1;
	KUNIT_EXPECT_TRUE(test, datblk_disk_removal_expired(disk));
}

/* Disks with two queues each, on six CPUs */
static void vectors(struct kunit *test)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;
	unsigned int number;

	remote->options.queues = 2;
	for (number = 0; number < 12; number++) {
		struct datblk_queue queue = { .remote = remote, .index = number % 2 };

		remote->id = number / 2;
		KUNIT_EXPECT_EQ(test, datblk_queue_vector(&queue, 6), number % 6);
	}
}

static struct datblk_remote *remote_alloc(struct kunit *test, const char *first,
					  const char *second)
{
	struct datblk_remote *remote = disk_alloc(test)->remote;

	remote->shared = true;
	remote->path_count = 2;
	strscpy(remote->paths[0].address, first, sizeof(remote->paths[0].address));
	strscpy(remote->paths[1].address, second, sizeof(remote->paths[1].address));
	return remote;
}

/* Disks share connections if both want to, with the same paths, options and use of keys */
static void shared(struct kunit *test)
{
	struct datblk_remote *a = remote_alloc(test, "10.0.0.1", "10.0.0.2");
	struct datblk_remote *b = remote_alloc(test, "10.0.0.1", "10.0.0.2");
	struct datblk_remote *c = remote_alloc(test, "10.0.0.2", "10.0.0.1");
	struct datblk_remote_options *options = &b->options;

	KUNIT_EXPECT_TRUE(test, datblk_remote_matches(a, b));
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, c));
	b->shared = false;
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, b));
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(b, a));
	b->shared = true;
	strscpy(b->paths[1].ia_name, "rxe1/1", sizeof(b->paths[1].ia_name));
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, b));
	b->paths[1].ia_name[0] = 0;
	b->path_count = 1;
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, b));
	b->path_count = 2;
	options->qual++;
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, b));
	options->qual--;
	options->queues++;
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, b));
	options->queues--;
	options->depth++;
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, b));
	options->depth--;
	options->io_kib++;
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, b));
	options->io_kib--;
	options->round_robin = true;
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, b));
	options->round_robin = false;
	b->keyed = true;
	KUNIT_EXPECT_FALSE(test, datblk_remote_matches(a, b));
	a->keyed = true;
	KUNIT_EXPECT_TRUE(test, datblk_remote_matches(a, b));
}

/* The end of a session affects only the disks that used it */
static void left_out(struct kunit *test)
{
	struct datblk_disk *disk = disk_alloc(test), *other = disk_alloc(test);
	unsigned long since = other->good_at;

	list_move(&other->of_remote, &disk->remote->disks);
	other->had_session = false;
	KUNIT_EXPECT_TRUE(test, datblk_disk_waits(other));
	datblk_session_ended(disk->remote);
	KUNIT_EXPECT_NE(test, disk->good_at, since);
	KUNIT_EXPECT_EQ(test, other->good_at, since);
	other->state = DATBLK_DEAD;
	KUNIT_EXPECT_FALSE(test, datblk_disk_waits(other));
}

static struct kunit_case client_cases[] = {
	KUNIT_CASE(ended),
	KUNIT_CASE(idle_before),
	KUNIT_CASE(lost),
	KUNIT_CASE(next_path),
	KUNIT_CASE(delay_of_paths),
	KUNIT_CASE(busy_path),
	KUNIT_CASE(broken_sessions),
	KUNIT_CASE(spread),
	KUNIT_CASE(spare_path),
	KUNIT_CASE(blamed_paths),
	KUNIT_CASE(probe_delays),
	KUNIT_CASE(probe_refusals),
	KUNIT_CASE(parse_paths),
	KUNIT_CASE(number_of_paths),
	KUNIT_CASE(refused),
	KUNIT_CASE(answered),
	KUNIT_CASE(good_session_stays),
	KUNIT_CASE(one_ping),
	KUNIT_CASE(dropped),
	KUNIT_CASE(removal_waits),
	KUNIT_CASE(vectors),
	KUNIT_CASE(shared),
	KUNIT_CASE(left_out),
	{}
};

static struct kunit_suite client_suite = {
	.name = "datblk_client",
	.test_cases = client_cases,
};

kunit_test_suite(client_suite);
