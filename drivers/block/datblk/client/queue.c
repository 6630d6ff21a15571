// SPDX-License-Identifier: GPL-2.0
/*
 * A connection of the client: creates its objects of DAT, sends commands in messages, and takes
 * answers. Requests come from the block layer in any context except hard interrupt; events
 * come in upcalls, with bottom halves off.
 *
 * A request is complete when its answer has come and the completion of its message, too: then
 * nothing uses its buffers any more.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/slab.h>
#include "client.h"
#include "protocol/trace.h"

#define HEADERS_BYTES	DATBLK_COMMANDS_MAX
/* A server that has not answered a ping for this long does not work any more */
#define PING_TIMEOUT	(25 * HZ)

/* Kinds of DTOs, in the upper half of a cookie; the lower half is an index */
enum { RECEIVE, SEND };

static int datblk_queue_receive(struct datblk_queue *queue, unsigned int index)
{
	DAT_LMR_TRIPLET segment = kdat_local(&queue->receives.regions[index], 0,
					     DATBLK_MESSAGE_MAX);

	return dat_ep_post_recv(queue->ep, 1, &segment, datblk_cookie(RECEIVE, index),
				DAT_COMPLETION_DEFAULT_FLAG) ? -EIO : 0;
}

/**
 * datblk_queue_lost - the connection of a queue cannot be used any more
 * @queue: the queue
 *
 * Context: any except hard interrupt.
 */
void datblk_queue_lost(struct datblk_queue *queue)
{
	struct datblk_disk *disk = queue->disk;

	/* Its path is to blame, unless the session's owner has ended the connection */
	if (READ_ONCE(disk->open))
		set_bit(READ_ONCE(queue->path) - disk->paths, &disk->ended);
	datblk_session_lost(disk);
}

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
				     datblk_cookie(SEND, message->index),
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

static void datblk_queue_message_sent(struct datblk_queue *queue, unsigned int index)
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

/* The receive is posted again before a tag is free: the server needs one for each tag */
static void datblk_queue_message_received(struct datblk_queue *queue, unsigned int index,
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

static void datblk_queue_dto(struct datblk_queue *queue, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u32 kind = dto->user_cookie.as_64 >> 32, index = (u32)dto->user_cookie.as_64;

	if (dto->status != DAT_DTO_SUCCESS)
		datblk_queue_lost(queue);
	else if (kind == RECEIVE)
		datblk_queue_message_received(queue, index, dto);
	else if (kind == SEND)
		datblk_queue_message_sent(queue, index);
}

/* The first connection event is the outcome of the attempt, the second one the end */
static void datblk_queue_connection_event(struct datblk_queue *queue, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;

	if (queue->established) {
		datblk_queue_lost(queue);
		return;
	}
	queue->established = event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	queue->event = event->event_number;
	queue->private_size = min_t(size_t, data->private_data_size, DATBLK_PRIVATE_ROOM);
	memcpy(queue->private, data->private_data, queue->private_size);
	complete(&queue->outcome);
}

static void datblk_queue_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		datblk_queue_dto(instance, &event->event_data.dto_completion_event_data);
	else
		datblk_queue_connection_event(instance, event);
}

/* Once for a disk: the memory is kept over sessions, so that none is needed to repair one */
static int datblk_queue_alloc_arrays(struct datblk_queue *queue)
{
	unsigned int tags = datblk_tags(&queue->disk->limits);

	if (queue->lmrs)
		return 0;
	queue->pdus = kvcalloc(tags, sizeof(*queue->pdus), GFP_KERNEL);
	queue->sends = kvcalloc(tags, sizeof(*queue->sends), GFP_KERNEL);
	queue->ping = kzalloc(sizeof(*queue->ping), GFP_KERNEL);
	queue->lmrs = kvcalloc(tags, sizeof(*queue->lmrs), GFP_KERNEL);
	return queue->pdus && queue->sends && queue->ping && queue->lmrs ? 0 : -ENOMEM;
}

/* No command is in flight */
static void datblk_queue_reset(struct datblk_queue *queue)
{
	unsigned int tags = datblk_tags(&queue->disk->limits), i;

	spin_lock_bh(&queue->lock);
	INIT_LIST_HEAD(&queue->pending);
	INIT_LIST_HEAD(&queue->messages);
	queue->waiting = 0;
	queue->sending = 0;
	queue->pinging = false;
	queue->greeting = false;
	for (i = 0; i < tags; i++) {
		queue->pdus[i] = NULL;
		queue->sends[i].index = i;
		list_add_tail(&queue->sends[i].link, &queue->messages);
	}
	spin_unlock_bh(&queue->lock);
}

static int datblk_queue_alloc_buffers(struct datblk_queue *queue)
{
	const struct datblk_limits *limits = &queue->disk->limits;
	unsigned int tags = datblk_tags(limits);
	DAT_IA_HANDLE ia = queue->path->ia;

	return datblk_buffers_alloc(&queue->receives, ia, queue->pz, tags,
				    PAGE_ALIGN(DATBLK_MESSAGE_MAX),
				    DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ?:
	       datblk_buffers_alloc(&queue->headers, ia, queue->pz, tags, HEADERS_BYTES,
				    DAT_MEM_PRIV_LOCAL_READ_FLAG) ?:
	       datblk_buffers_alloc(&queue->data, ia, queue->pz, limits->depth, DATBLK_INLINE_MAX,
				    DAT_MEM_PRIV_LOCAL_READ_FLAG);
}

/**
 * datblk_queue_vector - the completion vector of a queue
 * @queue: the queue
 * @cpus:  number of CPUs
 *
 * Disks with the same number of queues use different vectors, until all are in use.
 *
 * Context: any.
 * Return: the vector; the adapter may not have it.
 */
unsigned int datblk_queue_vector(const struct datblk_queue *queue, unsigned int cpus)
{
	const struct datblk_disk *disk = queue->disk;

	return (disk->id * disk->options.queues + queue->index) % cpus;
}

static int datblk_queue_open_ep(struct datblk_queue *queue)
{
	unsigned int tags = datblk_tags(&queue->disk->limits), i;
	char vector[12];
	struct datblk_ep_needs needs = {
		.receives = tags,
		/* A message and a registration for each tag */
		.requests = 2 * tags,
		.reads_in = DATBLK_READS,
		.vector = vector,
	};
	DAT_UPCALL_OBJECT object = { .upcall_func = datblk_queue_upcall, .instance_data = queue };
	int err;

	snprintf(vector, sizeof(vector), "%u", datblk_queue_vector(queue, num_online_cpus()));
	if (dat_pz_create(queue->path->ia, &queue->pz) ||
	    dat_evd_kcreate(queue->path->ia, 1, DAT_UPCALL_SINGLE_INSTANCE, &object,
			    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &queue->evd))
		return -EIO;
	err = datblk_queue_alloc_buffers(queue) ?:
	      datblk_ep_create(queue->path->ia, queue->pz, queue->evd, &needs, &queue->ep,
			       &queue->segments);
	for (i = 0; !err && i < tags; i++)
		err = datblk_queue_receive(queue, i);
	return err;
}

static int datblk_queue_alloc_lmrs(struct datblk_queue *queue)
{
	const struct datblk_limits *limits = &queue->disk->limits;
	unsigned int i;

	for (i = 0; i < limits->depth; i++)
		if (dat_lmr_allocate(queue->path->ia, queue->pz, datblk_pages(limits),
				     DAT_LMR_SCOPE_PZ, &queue->lmrs[i]))
			return -EIO;
	return 0;
}

/* Before a connection attempt gives another reason for a failure */
static int datblk_queue_prepare(struct datblk_queue *queue)
{
	int err = datblk_queue_alloc_arrays(queue);

	queue->disk->reason = "the client lacks memory or objects of its RDMA device";
	if (err)
		return err;
	datblk_queue_reset(queue);
	return datblk_queue_open_ep(queue);
}

/**
 * datblk_queue_open - connect a queue
 * @queue: a queue that is closed; the IA of its disk is open
 *
 * After an error the caller closes the IA; disk->reason says why.
 *
 * Context: process.
 *
 * Return: 0 or a negative error code; -EBUSY if the server has I/O of an earlier connection.
 */
int datblk_queue_open(struct datblk_queue *queue)
{
	int err;

	err = datblk_queue_prepare(queue) ?: datblk_login(queue);
	if (err)
		return err;
	datblk_queue_greet(queue);
	return datblk_queue_alloc_lmrs(queue);
}

/**
 * datblk_queue_free - free the memory of a queue
 * @queue: a queue whose IA has been closed, so nothing uses its memory
 *
 * Context: process.
 */
void datblk_queue_free(struct datblk_queue *queue)
{
	datblk_buffers_free(&queue->receives);
	datblk_buffers_free(&queue->headers);
	datblk_buffers_free(&queue->data);
	kvfree(queue->lmrs);
	kvfree(queue->pdus);
	kvfree(queue->sends);
	kfree(queue->ping);
}
