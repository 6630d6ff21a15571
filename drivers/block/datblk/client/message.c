// SPDX-License-Identifier: GPL-2.0
/*
 * The messages of a queue: sends commands, and takes answers. Requests come from the block layer in
 * any context except hard interrupt; answers come in upcalls, with bottom halves off.
 *
 * A request is complete when its answer has come and the completion of its message, too: then
 * nothing uses its buffers any more.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include "client.h"
#include "protocol/trace.h"

/* A server that has not answered a ping for this long does not work any more */
#define PING_TIMEOUT	(25 * HZ)

static void datblk_queue_malformed(struct datblk_queue *queue, enum datblk_flaw flaw)
{
	pr_warn_ratelimited("datblk%d: malformed message of %s: %s\n", queue->disk->id,
			    queue->path->address, datblk_flaw_text(flaw));
	datblk_queue_lost(queue);
}

/* Moves commands into one message. queue->lock held */
static unsigned int datblk_queue_fill_message(struct datblk_queue *queue,
					      struct datblk_message *message,
					      DAT_LMR_TRIPLET *iov)
{
	struct kdat_region *region = &queue->headers.regions[message->index];
	struct datblk_wire_command *headers = region->address;
	unsigned int segments = 0;
	struct datblk_pdu *pdu, *next;
	u32 data = 0;

	message->count = 0;
	list_for_each_entry_safe(pdu, next, &queue->pending, link) {
		bool with_data = pdu->c.op == DATBLK_OP_WRITE && pdu->c.flags & DATBLK_INLINE;
		u32 length = with_data ? pdu->c.length : 0;

		if (message->count == DATBLK_BATCH || data + length > DATBLK_DATA_MAX ||
		    (length && segments + 1 == queue->segments))
			break;
		if (length)
			iov[segments++] = kdat_local(&queue->data.regions[pdu->c.tag], 0, length);
		data += length;
		datblk_fill_command(&headers[message->count], &pdu->c);
		trace_datblk_command(datblk_host, queue->disk->number, queue->index, &pdu->c);
		message->tags[message->count++] = pdu->c.tag;
		list_del(&pdu->link);
		queue->waiting--;
		pdu->posted = true;
	}
	datblk_fill_trailer((void *)(headers + message->count), DATBLK_COMMANDS, message->count,
			    data);
	iov[segments++] = kdat_local(region, 0, message->count * sizeof(*headers) +
						sizeof(struct datblk_trailer));
	return segments;
}

/*
 * Sends commands. While a message is being sent, further commands wait until there are enough
 * for a full message, or until it has arrived. queue->lock held.
 */
static void datblk_queue_send(struct datblk_queue *queue)
{
	while (queue->waiting && !list_empty(&queue->messages) &&
	       (!queue->sending || queue->waiting >= DATBLK_BATCH)) {
		DAT_LMR_TRIPLET iov[DATBLK_BATCH + 1];
		struct datblk_message *message;
		unsigned int segments;

		message = list_first_entry(&queue->messages, struct datblk_message, link);
		list_del(&message->link);
		queue->sending++;
		queue->posted++;
		segments = datblk_queue_fill_message(queue, message, iov);
		if (dat_ep_post_send(queue->ep, segments, iov,
				     datblk_cookie(DATBLK_SEND, message->index),
				     DAT_COMPLETION_DEFAULT_FLAG)) {
			datblk_queue_lost(queue);
			return;
		}
	}
}

/* queue->lock held */
static void datblk_queue_append(struct datblk_queue *queue, struct datblk_pdu *pdu)
{
	trace_datblk_queued(datblk_host, queue->disk->number, queue->index, &pdu->c);
	queue->commands++;
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
	datblk_session_used(queue->disk);
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
		.c = { .op = DATBLK_OP_PING, .tag = queue->disk->limits.depth },
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

/* queue->lock held. Returns the request if it is complete now; the block layer gets it later */
static struct request *datblk_queue_mark(struct datblk_queue *queue, u16 tag, bool answered)
{
	struct datblk_pdu *pdu = queue->pdus[tag];

	if (answered) {
		queue->answers++;
		pdu->answered = true;
	} else {
		pdu->sent = true;
	}
	if (!pdu->answered || !pdu->sent)
		return NULL;
	queue->pdus[tag] = NULL;
	if (!pdu->own)
		return blk_mq_rq_from_pdu(pdu);
	if (pdu == queue->ping) {
		queue->pinging = false;
		queue->greeting = false;
	} else if (atomic_dec_and_test(&queue->repeating)) {
		wake_up(&queue->disk->repeated);
	}
	return NULL;
}

static void datblk_queue_complete(struct datblk_queue *queue, const u16 *tags, unsigned int count,
				  bool answered)
{
	struct request *complete[DATBLK_BATCH];
	unsigned int i;

	spin_lock_bh(&queue->lock);
	for (i = 0; i < count; i++)
		complete[i] = datblk_queue_mark(queue, tags[i], answered);
	if (!answered)
		datblk_queue_send(queue);
	spin_unlock_bh(&queue->lock);
	for (i = 0; i < count; i++)
		if (complete[i])
			blk_mq_complete_request(complete[i]);
}

/**
 * datblk_queue_message_sent - a message has been sent
 * @queue: the queue
 * @index: the message
 *
 * Context: upcall of the queue.
 */
void datblk_queue_message_sent(struct datblk_queue *queue, unsigned int index)
{
	struct datblk_message *message = &queue->sends[index];
	unsigned int count = message->count;
	u16 tags[DATBLK_BATCH];

	memcpy(tags, message->tags, sizeof(tags));
	spin_lock_bh(&queue->lock);
	list_add(&message->link, &queue->messages);
	queue->sending--;
	spin_unlock_bh(&queue->lock);
	datblk_queue_complete(queue, tags, count, false);
}

/* The command of an answer, if it has been sent and not answered yet */
static struct datblk_pdu *datblk_queue_command_of(struct datblk_queue *queue, u16 tag)
{
	struct datblk_pdu *pdu;

	spin_lock_bh(&queue->lock);
	pdu = queue->pdus[tag];
	if (pdu && (!pdu->posted || pdu->answered))
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

/* The answer to a ping, or to a repeated write */
static enum datblk_flaw datblk_queue_own_answer(struct datblk_queue *queue, struct datblk_pdu *pdu,
						const struct datblk_answer *ans)
{
	if (ans->flags)
		return DATBLK_FLAW_ANSWER;
	if (pdu == queue->ping) {
		if (queue->greeting)
			WRITE_ONCE(queue->disk->greeted, true);
		else
			WRITE_ONCE(queue->disk->had_pong, true);
		return ans->status ? DATBLK_FLAW_ANSWER : DATBLK_SOUND;
	}
	pdu->status = datblk_blk_status(ans->status);
	pdu->retry = datblk_status_transient(ans->status);
	return DATBLK_SOUND;
}

static enum datblk_flaw datblk_queue_take_answer(struct datblk_queue *queue,
						 const struct datblk_answer *ans,
						 const void *message, unsigned int count,
						 const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct datblk_pdu *pdu = datblk_queue_command_of(queue, ans->tag);
	enum datblk_flaw flaw;

	trace_datblk_answer(datblk_host, queue->disk->number, queue->index, ans->tag, ans->status);
	if (!pdu)
		return DATBLK_FLAW_IDLE;
	flaw = datblk_queue_check_key(pdu, count, dto);
	if (flaw)
		return flaw;
	return pdu->own ? datblk_queue_own_answer(queue, pdu, ans) :
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

	flaw = datblk_parse_answers(message, dto->transfered_length, &queue->disk->limits,
				    answers, &count);
	for (i = 0; !flaw && i < count; i++) {
		tags[i] = answers[i].tag;
		flaw = datblk_queue_take_answer(queue, &answers[i], message, count, dto);
	}
	if (flaw) {
		datblk_queue_malformed(queue, flaw);
		return;
	}
	if (datblk_queue_receive(queue, index))
		datblk_queue_lost(queue);
	else
		datblk_queue_complete(queue, tags, count, true);
}
