// SPDX-License-Identifier: GPL-2.0
/*
 * The messages of a queue: sends commands, and takes answers. Requests come from the block layer in
 * any context except hard interrupt; answers come in upcalls, with bottom halves off.
 *
 * A request is complete when its answer has come. Its data is in a message of their own, and what
 * the server may access is invalid by then. The message is used again when it has been sent.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/string.h>
#include "client.h"
#include "protocol/trace.h"

/* A server that has not answered a ping for this long does not work any more */
#define PING_TIMEOUT	(25 * HZ)

static void datblk_queue_malformed(struct datblk_queue *queue, enum datblk_flaw flaw)
{
	pr_warn_ratelimited("malformed message of %s: %s\n", queue->path->address,
			    datblk_flaw_text(flaw));
	datblk_queue_lost(queue);
}

static void datblk_queue_copy_data(const struct datblk_queue *queue, struct datblk_pdu *pdu,
				   void *to)
{
	if (pdu == queue->login)
		memcpy(to, queue->login_data, DATBLK_LOGIN_BYTES);
	else if (pdu->own)
		datblk_resubmit_data(pdu, to);
	else
		datblk_request_data(pdu, to);
}

static u32 datblk_pdu_data(const struct datblk_pdu *pdu)
{
	return datblk_brings_data(&pdu->c) ? pdu->c.length : 0;
}

/* What a message consists of */
struct datblk_contents {
	struct datblk_wire_command headers[DATBLK_BATCH];
	unsigned int count;
	u32 data;			/* bytes */
};

/* Moves commands, with their data, into a message. queue->lock held */
static void datblk_queue_take_commands(struct datblk_queue *queue, void *message,
				       struct datblk_contents *is)
{
	struct datblk_pdu *pdu, *next;

	list_for_each_entry_safe(pdu, next, &queue->pending, link) {
		u32 length = datblk_pdu_data(pdu);

		if (is->count == DATBLK_BATCH || is->data + length > DATBLK_DATA_MAX)
			break;
		if (length)
			datblk_queue_copy_data(queue, pdu, message + is->data);
		is->data += length;
		datblk_fill_command(&is->headers[is->count++], &pdu->c);
		trace_datblk_command(datblk_host, pdu->number, queue->index, &pdu->c);
		list_move_tail(&pdu->link, &queue->flying);
		queue->waiting--;
		pdu->posted = true;
	}
}

/*
 * Sends one message. Nobody waits for its completion if it has all commands that are in flight.
 * queue->lock held.
 */
static DAT_RETURN datblk_queue_send_message(struct datblk_queue *queue)
{
	unsigned int index = datblk_ring_next(&queue->ring);
	struct kdat_region *region = &queue->messages.regions[index];
	struct datblk_contents is;
	DAT_LMR_TRIPLET segment;
	size_t headers;
	bool quiet;

	is.count = 0;
	is.data = 0;
	datblk_queue_take_commands(queue, region->address, &is);
	headers = is.count * sizeof(is.headers[0]);
	memcpy(region->address + is.data, is.headers, headers);
	datblk_fill_trailer(region->address + is.data + headers, DATBLK_COMMANDS, is.count,
			    is.data);
	segment = kdat_local(region, 0, is.data + headers + sizeof(struct datblk_trailer));
	quiet = datblk_ring_add(&queue->ring, is.count == queue->busy);
	queue->sending += !quiet;
	queue->posted++;
	return dat_ep_post_send(queue->ep, 1, &segment, datblk_cookie(DATBLK_SEND, index),
				quiet ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * Sends commands. While a message is being sent whose completion will come, further commands wait
 * until there are enough for a full message, or until it has arrived. queue->lock held.
 */
static void datblk_queue_send(struct datblk_queue *queue)
{
	while (queue->waiting && !datblk_ring_full(&queue->ring) &&
	       (!queue->sending || queue->waiting >= DATBLK_BATCH)) {
		if (datblk_queue_send_message(queue)) {
			datblk_queue_lost(queue);
			return;
		}
	}
}

/* queue->lock held */
static void datblk_queue_append(struct datblk_queue *queue, struct datblk_pdu *pdu)
{
	trace_datblk_queued(datblk_host, pdu->number, queue->index, &pdu->c);
	queue->commands++;
	queue->busy++;
	queue->pdus[pdu->c.tag] = pdu;
	list_add_tail(&pdu->link, &queue->pending);
	queue->waiting++;
}

/**
 * datblk_queue_add - send a command
 * @queue: the queue
 * @rq:    its request, whose datblk_pdu has been filled in
 * @last:  no other request follows at once
 *
 * Context: any except hard interrupt.
 */
void datblk_queue_add(struct datblk_queue *queue, struct request *rq, bool last)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	spin_lock_bh(&queue->lock);
	datblk_queue_append(queue, pdu);
	if (last || queue->waiting >= DATBLK_BATCH)
		datblk_queue_send(queue);
	spin_unlock_bh(&queue->lock);
	datblk_session_used(queue->remote);
}

/**
 * datblk_queue_add_own - send a command of the client itself
 * @queue: the queue
 * @pdu:   the command; datblk_queue_commit() follows
 *
 * Context: any except hard interrupt.
 */
void datblk_queue_add_own(struct datblk_queue *queue, struct datblk_pdu *pdu)
{
	spin_lock_bh(&queue->lock);
	datblk_queue_append(queue, pdu);
	spin_unlock_bh(&queue->lock);
}

/**
 * datblk_queue_commit - no other request follows at once
 * @queue: the queue
 *
 * Context: any except hard interrupt.
 */
void datblk_queue_commit(struct datblk_queue *queue)
{
	spin_lock_bh(&queue->lock);
	datblk_queue_send(queue);
	spin_unlock_bh(&queue->lock);
}

/* queue->lock held */
static void datblk_queue_ping(struct datblk_queue *queue)
{
	struct datblk_pdu *pdu = queue->ping;

	*pdu = (struct datblk_pdu){
		.own = true,
		.number = queue->remote->number,
		.c = { .op = DATBLK_OP_PING, .tag = datblk_ping_tag(&queue->remote->limits) },
	};
	queue->pinging = true;
	queue->pinged = jiffies;
	datblk_queue_append(queue, pdu);
	datblk_queue_send(queue);
}

/**
 * datblk_queue_greet - begin a connection with a ping
 * @queue: a queue that has just been connected
 *
 * The server ends a connection that sends no command, and the queue may have none to send. A
 * request of the previous session may time out late and call datblk_queue_heartbeat(). Then the
 * ping has been sent already.
 *
 * Context: any except hard interrupt.
 */
void datblk_queue_greet(struct datblk_queue *queue)
{
	spin_lock_bh(&queue->lock);
	queue->greeting = true;
	if (!queue->pinging)
		datblk_queue_ping(queue);
	spin_unlock_bh(&queue->lock);
}

/**
 * datblk_queue_heartbeat - see whether the server still works
 * @queue: a queue with a command that has not been answered for long
 *
 * The first call sends a PING; later calls end the session if the server has not answered it in
 * time.
 *
 * Context: any except hard interrupt.
 */
void datblk_queue_heartbeat(struct datblk_queue *queue)
{
	bool alive = true;

	spin_lock_bh(&queue->lock);
	if (queue->pinging)
		alive = time_before(jiffies, queue->pinged + PING_TIMEOUT);
	else
		datblk_queue_ping(queue);
	spin_unlock_bh(&queue->lock);
	if (!alive)
		datblk_queue_lost(queue);
}

/* queue->lock held. Returns the request, if the command has one; the block layer gets it later */
static struct request *datblk_queue_mark(struct datblk_queue *queue, u16 tag)
{
	struct datblk_pdu *pdu = queue->pdus[tag];

	queue->answers++;
	queue->busy--;
	queue->pdus[tag] = NULL;
	list_del(&pdu->link);
	if (!pdu->own) {
		if (queue->remote->shared)
			datblk_tags_return(queue, pdu);
		return blk_mq_rq_from_pdu(pdu);
	}
	if (pdu == queue->ping) {
		queue->pinging = false;
		queue->greeting = false;
	} else if (pdu == queue->login) {
		/* Pairs with the acquire in datblk_login_send() */
		smp_store_release(&queue->logging_in, false);
		wake_up(&queue->remote->repeated);
	} else if (atomic_dec_and_test(&queue->repeating)) {
		wake_up(&queue->remote->repeated);
	}
	return NULL;
}

static void datblk_queue_complete(struct datblk_queue *queue, const u16 *tags, unsigned int count)
{
	struct request *complete[DATBLK_BATCH];
	unsigned int i;

	spin_lock_bh(&queue->lock);
	for (i = 0; i < count; i++)
		complete[i] = datblk_queue_mark(queue, tags[i]);
	spin_unlock_bh(&queue->lock);
	for (i = 0; i < count; i++)
		if (complete[i])
			blk_mq_complete_request(complete[i]);
}

/**
 * datblk_queue_message_sent - a message has been sent, and those before it
 * @queue: the queue
 * @index: the message
 *
 * Context: upcall of the queue.
 */
void datblk_queue_message_sent(struct datblk_queue *queue, unsigned int index)
{
	spin_lock_bh(&queue->lock);
	while (datblk_ring_remove(&queue->ring) != index)
		;
	queue->sending--;
	datblk_queue_send(queue);
	spin_unlock_bh(&queue->lock);
}

/* The command of an answer, if it has been sent and not answered yet */
static struct datblk_pdu *datblk_queue_command_of(struct datblk_queue *queue, u16 tag)
{
	struct datblk_pdu *pdu;

	spin_lock_bh(&queue->lock);
	if (tag == DATBLK_TAG_OLDEST)
		pdu = list_first_entry_or_null(&queue->flying, struct datblk_pdu, link);
	else
		pdu = queue->pdus[tag];
	if (pdu && !pdu->posted)
		pdu = NULL;
	spin_unlock_bh(&queue->lock);
	return pdu;
}

/* A key must have been invalidated exactly if the command had one, and then it is alone */
static enum datblk_flaw datblk_queue_check_key(const struct datblk_pdu *pdu, unsigned int count,
					       const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	bool invalidated = dto->operation == DAT_DTO_RECEIVE_WITH_INVALIDATE;

	if (!pdu->c.key)
		return invalidated ? DATBLK_FLAW_INVALIDATE : DATBLK_SOUND;
	return invalidated && dto->rmr_context == pdu->c.key && count == 1 ?
	       DATBLK_SOUND : DATBLK_FLAW_INVALIDATE;
}

/* The answer to a LOGIN has data if the server has executed the command */
static enum datblk_flaw datblk_queue_login_answer(struct datblk_queue *queue,
						  const struct datblk_answer *ans,
						  const void *message)
{
	bool data = queue->login->c.op == DATBLK_OP_LOGIN && ans->status == DATBLK_STS_OK;

	if (ans->length != (data ? DATBLK_LOGIN_BYTES : 0))
		return DATBLK_FLAW_ANSWER;
	if (data && memchr_inv(message + ans->offset + DATBLK_PRIVATE_ROOM, 0,
			       DATBLK_LOGIN_BYTES - DATBLK_PRIVATE_ROOM))
		return DATBLK_FLAW_RESERVED;
	queue->login->status = datblk_blk_status(ans->status);
	queue->private_size = data ? DATBLK_PRIVATE_ROOM : 0;
	memcpy(queue->private, message + ans->offset, queue->private_size);
	return DATBLK_SOUND;
}

/* The answer to a command without a request: a ping, LOGIN, LOGOUT or repeated write */
static enum datblk_flaw datblk_queue_own_answer(struct datblk_queue *queue, struct datblk_pdu *pdu,
						const struct datblk_answer *ans,
						const void *message)
{
	if (pdu == queue->login)
		return datblk_queue_login_answer(queue, ans, message);
	if (ans->flags)
		return DATBLK_FLAW_ANSWER;
	if (pdu == queue->ping) {
		if (queue->greeting)
			WRITE_ONCE(queue->remote->greeted, true);
		else
			WRITE_ONCE(queue->remote->had_pong, true);
		return ans->status ? DATBLK_FLAW_ANSWER : DATBLK_SOUND;
	}
	pdu->status = datblk_blk_status(ans->status);
	pdu->retry = datblk_status_transient(ans->status);
	return DATBLK_SOUND;
}

static enum datblk_flaw datblk_queue_take_answer(struct datblk_queue *queue,
						 struct datblk_answer *ans,
						 const void *message, unsigned int count,
						 const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct datblk_pdu *pdu = datblk_queue_command_of(queue, ans->tag);
	enum datblk_flaw flaw;

	if (pdu)
		ans->tag = pdu->c.tag;
	trace_datblk_answer(datblk_host, pdu ? pdu->number : 0, queue->index, ans->tag,
			    ans->status);
	if (!pdu)
		return DATBLK_FLAW_IDLE;
	flaw = datblk_queue_check_key(pdu, count, dto);
	if (flaw)
		return flaw;
	return pdu->own ? datblk_queue_own_answer(queue, pdu, ans, message) :
			  datblk_request_answer(pdu, ans, message);
}

/**
 * datblk_queue_message_received - take a message of the server
 * @queue: the queue
 * @index: the receive, which is posted again before a tag is free: the server needs one for each
 * @dto:   its completion
 *
 * Context: upcall of the queue.
 */
void datblk_queue_message_received(struct datblk_queue *queue, unsigned int index,
				   const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	const void *message = queue->receives.regions[index].address;
	struct datblk_answer answers[DATBLK_BATCH];
	u16 tags[DATBLK_BATCH];
	unsigned int count, i;
	enum datblk_flaw flaw;

	flaw = datblk_parse_answers(message, dto->transfered_length, &queue->remote->limits,
				    answers, &count);
	for (i = 0; !flaw && i < count; i++) {
		flaw = datblk_queue_take_answer(queue, &answers[i], message, count, dto);
		tags[i] = answers[i].tag;
	}
	if (flaw) {
		datblk_queue_malformed(queue, flaw);
		return;
	}
	if (datblk_queue_receive(queue, index))
		datblk_queue_lost(queue);
	else
		datblk_queue_complete(queue, tags, count);
}
