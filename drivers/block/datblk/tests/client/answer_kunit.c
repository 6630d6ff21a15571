// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_answers: a message that has only data answers the oldest command, and an operation
 * that the server or the client lacks fails with BLK_STS_NOTSUPP. The queue has no connection. The
 * receive of a correct message can therefore not be posted again, and the session is lost after any
 * message.
 */
#include <kunit/test.h>
#include <linux/blk-mq.h>
#include "client/client.h"

#define TAGS	4

/* A queue, and requests that have not been sent */
struct bench {
	struct datblk_remote remote;
	struct datblk_disk disk;
	struct datblk_queue queue;
	struct request_queue q;
	struct blk_mq_hw_ctx hctx;
	struct kdat_region receive;
	struct datblk_pdu *pdus[TAGS + 2];
	struct datblk_pdu ping, login;
	struct datblk_pdu *requests[TAGS];
	u8 message[DATBLK_MESSAGE_MAX];
	u8 login_data[DATBLK_LOGIN_BYTES];
};

static struct bench *bench_alloc(struct kunit *test)
{
	struct bench *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct datblk_queue *queue;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, b);
	queue = &b->queue;
	b->remote.limits = (struct datblk_limits){
		.depth = TAGS, .inline_max = DATBLK_INLINE_MAX, .io_max = SZ_64K,
	};
	init_waitqueue_head(&b->remote.repeated);
	b->remote.path_count = 1;
	b->disk.remote = &b->remote;
	b->q.queuedata = &b->disk;
	b->receive.address = b->message;
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->pending);
	INIT_LIST_HEAD(&queue->flying);
	queue->remote = &b->remote;
	queue->path = &b->remote.paths[0];
	queue->receives.regions = &b->receive;
	queue->pdus = b->pdus;
	queue->ping = &b->ping;
	queue->login = &b->login;
	queue->login_data = b->login_data;
	for (i = 0; i < TAGS; i++) {
		struct request *rq = kunit_kzalloc(test, sizeof(*rq) + sizeof(**b->requests),
						   GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, rq);
		rq->q = &b->q;
		b->requests[i] = blk_mq_rq_to_pdu(rq);
		b->requests[i]->status = BLK_STS_AGAIN;
		b->requests[i]->c = (struct datblk_command){
			.op = DATBLK_OP_READ, .flags = DATBLK_INLINE, .tag = i,
			.length = DATBLK_IO_UNIT,
		};
	}
	return b;
}

static void status_is(struct kunit *test, blk_status_t status, blk_status_t expected)
{
	KUNIT_EXPECT_EQ(test, (__force unsigned int)status, (__force unsigned int)expected);
}

/* Marks a command as sent */
static void fly(struct bench *b, struct datblk_pdu *pdu)
{
	b->pdus[pdu->c.tag] = pdu;
	pdu->posted = true;
	list_add_tail(&pdu->link, &b->queue.flying);
}

/* Removes a command that has been answered */
static void land(struct bench *b, struct datblk_pdu *pdu)
{
	b->pdus[pdu->c.tag] = NULL;
	list_del(&pdu->link);
}

/* Receives a message of @size bytes that has only data */
static void receive(struct bench *b, u32 size)
{
	const DAT_DTO_COMPLETION_EVENT_DATA dto = { .transfered_length = size };

	datblk_queue_message_received(&b->queue, 0, &dto);
}

static void taken_by(struct kunit *test, struct bench *b, int tag, const char *what)
{
	int i;

	for (i = 0; i < TAGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, b->requests[i]->status == BLK_STS_OK, i == tag,
				    "%s: tag %d", what, i);
}

/* The oldest command is answered, whatever its tag is and whichever were answered before */
static void oldest(struct kunit *test)
{
	struct bench *b = bench_alloc(test);

	fly(b, b->requests[2]);
	fly(b, b->requests[0]);
	fly(b, b->requests[3]);
	receive(b, DATBLK_IO_UNIT);
	taken_by(test, b, 2, "three commands");
	land(b, b->requests[2]);
	b->requests[2]->status = BLK_STS_AGAIN;
	fly(b, b->requests[2]);
	receive(b, DATBLK_IO_UNIT);
	taken_by(test, b, 0, "the first one was answered, and its tag used again");
	b->requests[0]->status = BLK_STS_AGAIN;
	land(b, b->requests[0]);
	land(b, b->requests[3]);
	receive(b, DATBLK_IO_UNIT);
	taken_by(test, b, 2, "one is left");
}

/* A command that has not been sent cannot be answered */
static void not_sent(struct kunit *test)
{
	struct bench *b = bench_alloc(test);

	datblk_queue_add_own(&b->queue, b->requests[0]);
	receive(b, DATBLK_IO_UNIT);
	taken_by(test, b, -1, "it waits");
}

/* A message that does not fit the oldest command is malformed, even if it fits a later one */
static void does_not_fit(struct kunit *test)
{
	static const struct {
		const char *name;
		struct datblk_command c;
		bool ping;
	} firsts[] = {
		{ "another length", { .op = DATBLK_OP_READ, .flags = DATBLK_INLINE,
				      .length = DATBLK_SECTOR } },
		{ "a read with a key", { .op = DATBLK_OP_READ, .key = 1,
					 .length = DATBLK_IO_UNIT } },
		{ "a write", { .op = DATBLK_OP_WRITE, .flags = DATBLK_INLINE,
			       .length = DATBLK_IO_UNIT } },
		{ "a flush", { .op = DATBLK_OP_FLUSH } },
		{ "a ping", { .op = DATBLK_OP_PING, .tag = TAGS }, .ping = true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(firsts); i++) {
		struct bench *b = bench_alloc(test);
		struct datblk_pdu *first = firsts[i].ping ? &b->ping : b->requests[0];

		first->c = firsts[i].c;
		first->own = firsts[i].ping;
		fly(b, first);
		fly(b, b->requests[1]);
		receive(b, DATBLK_IO_UNIT);
		taken_by(test, b, -1, firsts[i].name);
	}
}

/* The data of the answer to a LOGIN must not complete a read that was sent after it */
static void login_is_oldest(struct kunit *test)
{
	struct bench *b = bench_alloc(test);

	b->login = (struct datblk_pdu){
		.own = true,
		.status = BLK_STS_AGAIN,
		.c = { .op = DATBLK_OP_LOGIN, .flags = DATBLK_INLINE, .length = DATBLK_LOGIN_BYTES,
		       .tag = datblk_login_tag(&b->remote.limits) },
	};
	b->requests[0]->c.length = DATBLK_LOGIN_BYTES;
	fly(b, &b->login);
	fly(b, b->requests[0]);
	b->message[0] = 7;
	receive(b, DATBLK_LOGIN_BYTES);
	taken_by(test, b, -1, "a LOGIN is older");
	status_is(test, b->login.status, BLK_STS_OK);
	KUNIT_EXPECT_EQ(test, b->queue.private[0], 7);
}

/* The limits of the disk after the server has answered that it lacks an operation */
static void lacking(struct kunit *test)
{
	static const struct {
		u8 op;
		unsigned int discard, zeroes;
	} operations[] = {
		{ DATBLK_OP_DISCARD, 0, 8 },
		{ DATBLK_OP_ZEROES, 8, 0 },
		{ DATBLK_OP_WRITE, 8, 8 },
	};
	const struct datblk_answer ans = { .status = DATBLK_STS_NOTSUPP };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(operations); i++) {
		struct bench *b = bench_alloc(test);
		struct datblk_pdu *pdu = b->requests[0];

		b->q.limits.max_discard_sectors = 8;
		b->q.limits.max_write_zeroes_sectors = 8;
		pdu->c = (struct datblk_command){ .op = operations[i].op, .length = SZ_4K };
		KUNIT_EXPECT_EQ(test, datblk_request_answer(pdu, &ans, b->message), DATBLK_SOUND);
		status_is(test, pdu->status, BLK_STS_NOTSUPP);
		KUNIT_EXPECT_EQ(test, b->q.limits.max_discard_sectors, operations[i].discard);
		KUNIT_EXPECT_EQ(test, b->q.limits.max_write_zeroes_sectors, operations[i].zeroes);
	}
}

/* The disk shares its connection, and gets no further tag */
static void take_all_tags(struct bench *b)
{
	b->remote.queues = &b->queue;
	b->remote.shared = true;
	b->remote.members = 1;
	while (datblk_tags_take(&b->queue.tags, &b->remote, 0) >= 0)
		;
}

/*
 * datblk_queue_rq() refuses these operations before it sends anything. The tags of the queue are
 * in use, so an operation that is supported waits.
 */
static void unsupported(struct kunit *test)
{
	static const struct {
		enum req_op op;
		unsigned int bytes;
		blk_status_t status;
		unsigned int discard, zeroes;
	} operations[] = {
		{ REQ_OP_SECURE_ERASE, SZ_4K, BLK_STS_NOTSUPP, 8, 8 },
		{ REQ_OP_ZONE_APPEND, SZ_4K, BLK_STS_NOTSUPP, 8, 8 },
		{ REQ_OP_DRV_IN, SZ_4K, BLK_STS_NOTSUPP, 8, 8 },
		{ REQ_OP_DISCARD, SZ_4K, BLK_STS_DEV_RESOURCE, 8, 8 },
		{ REQ_OP_WRITE_ZEROES, SZ_4K, BLK_STS_DEV_RESOURCE, 8, 8 },
		/* More than the device of the current session accepts */
		{ REQ_OP_DISCARD, SZ_4K + DATBLK_SECTOR, BLK_STS_NOTSUPP, 0, 8 },
		{ REQ_OP_WRITE_ZEROES, SZ_4K + DATBLK_SECTOR, BLK_STS_NOTSUPP, 8, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(operations); i++) {
		struct bench *b = bench_alloc(test);
		struct request *rq = blk_mq_rq_from_pdu(b->requests[0]);
		const struct blk_mq_queue_data bd = { .rq = rq, .last = true };

		b->hctx.queue = &b->q;
		take_all_tags(b);
		b->disk.state = DATBLK_LIVE;
		b->disk.geo.discard_sectors = 8;
		b->disk.geo.zeroes_sectors = 8;
		b->q.limits.max_discard_sectors = 8;
		b->q.limits.max_write_zeroes_sectors = 8;
		rq->cmd_flags = operations[i].op;
		rq->__data_len = operations[i].bytes;
		status_is(test, datblk_mq_ops.queue_rq(&b->hctx, &bd), operations[i].status);
		KUNIT_EXPECT_EQ(test, atomic_read(&b->disk.errors), 0);
		KUNIT_EXPECT_EQ(test, b->q.limits.max_discard_sectors, operations[i].discard);
		KUNIT_EXPECT_EQ(test, b->q.limits.max_write_zeroes_sectors, operations[i].zeroes);
	}
}

static struct kunit_case answer_cases[] = {
	KUNIT_CASE(oldest),
	KUNIT_CASE(not_sent),
	KUNIT_CASE(does_not_fit),
	KUNIT_CASE(login_is_oldest),
	KUNIT_CASE(lacking),
	KUNIT_CASE(unsupported),
	{}
};

static struct kunit_suite answer_suite = {
	.name = "datblk_answers",
	.test_cases = answer_cases,
};

kunit_test_suite(answer_suite);
