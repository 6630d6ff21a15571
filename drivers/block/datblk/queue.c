// SPDX-License-Identifier: GPL-2.0
/*
 * A connection of the client: creates its objects of DAT, sends commands in messages, and takes
 * answers. Requests come from the block layer in any context except hard interrupt; events
 * come in upcalls, with bottom halves off.
 *
 * A request is complete when its answer has come and the completion of its message, too: then
 * nothing uses its buffers any more.
 */
#include <linux/slab.h>
#include "client.h"

#define CONNECT_US	(5 * USEC_PER_SEC)
#define HEADERS_BYTES	DATBLK_COMMANDS_MAX
/* RDMA reads of the server at a time */
#define READS		16

/* Kinds of DTOs, in the upper half of a cookie; the lower half is an index */
enum { RECEIVE, SEND, REGISTER };

static DAT_DTO_COOKIE cookie(u32 kind, u32 index)
{
	return (DAT_DTO_COOKIE){ .as_64 = (u64)kind << 32 | index };
}

static int post_receive(struct datblk_queue *queue, unsigned int index)
{
	DAT_LMR_TRIPLET segment = kdat_local(&queue->receives.regions[index], 0,
					     DATBLK_MESSAGE_MAX);

	return dat_ep_post_recv(queue->ep, 1, &segment, cookie(RECEIVE, index),
				DAT_COMPLETION_DEFAULT_FLAG) ? -EIO : 0;
}

static void protocol_error(struct datblk_queue *queue, enum datblk_flaw flaw)
{
	pr_warn_ratelimited("datblk%d: malformed message of %s: %s\n", queue->disk->id,
			    queue->disk->options.address, datblk_flaw(flaw));
	datblk_session_lost(queue->disk);
}

/* Moves commands into one message. queue->lock held */
static unsigned int fill(struct datblk_queue *queue, struct datblk_message *message,
			 DAT_LMR_TRIPLET *iov)
{
	struct kdat_region *region = &queue->headers.regions[message->index];
	struct datblk_command *headers = region->address;
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
static void send_commands(struct datblk_queue *queue)
{
	while (queue->waiting && !list_empty(&queue->messages) &&
	       (!queue->sending || queue->waiting >= DATBLK_BATCH)) {
		DAT_LMR_TRIPLET iov[DATBLK_BATCH + 1];
		struct datblk_message *message;
		unsigned int segments;

		message = list_first_entry(&queue->messages, struct datblk_message, link);
		list_del(&message->link);
		queue->sending++;
		segments = fill(queue, message, iov);
		if (dat_ep_post_send(queue->ep, segments, iov, cookie(SEND, message->index),
				     DAT_COMPLETION_DEFAULT_FLAG)) {
			datblk_session_lost(queue->disk);
			return;
		}
	}
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
	queue->requests[pdu->c.tag] = rq;
	list_add_tail(&pdu->link, &queue->pending);
	queue->waiting++;
	if (last || queue->waiting >= DATBLK_BATCH)
		send_commands(queue);
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
	send_commands(queue);
	spin_unlock_bh(&queue->lock);
}

/* queue->lock held. Returns the request if it is complete now; the block layer gets it later */
static struct request *mark(struct datblk_queue *queue, u16 tag, bool answered)
{
	struct request *rq = queue->requests[tag];
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	if (answered)
		pdu->answered = true;
	else
		pdu->sent = true;
	if (!pdu->answered || !pdu->sent)
		return NULL;
	queue->requests[tag] = NULL;
	return rq;
}

static void complete_marked(struct datblk_queue *queue, const u16 *tags, unsigned int count,
			    bool answered)
{
	struct request *complete[DATBLK_BATCH];
	unsigned int i;

	spin_lock_bh(&queue->lock);
	for (i = 0; i < count; i++)
		complete[i] = mark(queue, tags[i], answered);
	if (!answered)
		send_commands(queue);
	spin_unlock_bh(&queue->lock);
	for (i = 0; i < count; i++)
		if (complete[i])
			blk_mq_complete_request(complete[i]);
}

static void message_sent(struct datblk_queue *queue, unsigned int index)
{
	struct datblk_message *message = &queue->sends[index];
	unsigned int count = message->count;
	u16 tags[DATBLK_BATCH];

	memcpy(tags, message->tags, sizeof(tags));
	spin_lock_bh(&queue->lock);
	list_add(&message->link, &queue->messages);
	queue->sending--;
	spin_unlock_bh(&queue->lock);
	complete_marked(queue, tags, count, false);
}

/* The request of an answer, if it has been sent and not answered yet */
static struct request *find(struct datblk_queue *queue, u16 tag)
{
	struct request *rq;
	struct datblk_pdu *pdu;

	spin_lock_bh(&queue->lock);
	rq = queue->requests[tag];
	pdu = rq ? blk_mq_rq_to_pdu(rq) : NULL;
	if (pdu && (!pdu->posted || pdu->answered))
		rq = NULL;
	spin_unlock_bh(&queue->lock);
	return rq;
}

/* A key must have been invalidated exactly if the command had one, and then it is alone */
static enum datblk_flaw check_key(const struct request *rq, unsigned int count,
				  const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	const struct datblk_pdu *pdu = blk_mq_rq_to_pdu((struct request *)rq);
	bool invalidated = dto->operation == DAT_DTO_RECEIVE_WITH_INVALIDATE;

	if (!pdu->c.key)
		return invalidated ? DATBLK_FLAW_INVALIDATE : DATBLK_SOUND;
	return invalidated && dto->rmr_context == pdu->c.key && count == 1 ?
	       DATBLK_SOUND : DATBLK_FLAW_INVALIDATE;
}

/* The receive is posted again before a tag is free: the server needs one for each tag */
static void message_received(struct datblk_queue *queue, unsigned int index,
			     const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	const void *message = queue->receives.regions[index].address;
	struct datblk_ans answers[DATBLK_BATCH];
	u16 tags[DATBLK_BATCH];
	unsigned int count, i;
	enum datblk_flaw flaw;

	flaw = datblk_parse_answers(message, dto->transfered_length, &queue->disk->limits,
				    answers, &count);
	for (i = 0; !flaw && i < count; i++) {
		struct request *rq = find(queue, answers[i].tag);

		tags[i] = answers[i].tag;
		flaw = rq ? check_key(rq, count, dto) : DATBLK_FLAW_IDLE;
		if (!flaw)
			flaw = datblk_request_answer(rq, &answers[i], message);
	}
	if (flaw) {
		protocol_error(queue, flaw);
		return;
	}
	if (post_receive(queue, index))
		datblk_session_lost(queue->disk);
	else
		complete_marked(queue, tags, count, true);
}

static void completed(struct datblk_queue *queue, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u32 kind = dto->user_cookie.as_64 >> 32, index = (u32)dto->user_cookie.as_64;

	if (dto->status != DAT_DTO_SUCCESS)
		datblk_session_lost(queue->disk);
	else if (kind == RECEIVE)
		message_received(queue, index, dto);
	else if (kind == SEND)
		message_sent(queue, index);
}

/* The first connection event is the outcome of the attempt, the second one the end */
static void connection_event(struct datblk_queue *queue, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;

	if (queue->established) {
		datblk_session_lost(queue->disk);
		return;
	}
	queue->established = event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	queue->event = event->event_number;
	queue->private_size = min_t(size_t, data->private_data_size, PRIVATE_ROOM);
	memcpy(queue->private, data->private_data, queue->private_size);
	complete(&queue->outcome);
}

static void upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		completed(instance, &event->event_data.dto_completion_event_data);
	else
		connection_event(instance, event);
}

static int connect(struct datblk_queue *queue)
{
	struct datblk_disk *disk = queue->disk;
	struct datblk_request req = {
		.limits = disk->limits,
		.client = disk->client,
		.incarnation = disk->incarnation,
		.queue = queue->index,
		.queues = disk->options.queues,
	};
	struct datblk_login login;
	DAT_RETURN ret;

	strscpy_pad(req.name, disk->options.device, sizeof(req.name));
	datblk_fill_login(&login, &req);
	ret = dat_ep_connect(queue->ep, (DAT_IA_ADDRESS_PTR)&disk->options.to, disk->options.qual,
			     CONNECT_US, sizeof(login), &login, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret)
		return -ECONNREFUSED;
	wait_for_completion(&queue->outcome);
	if (queue->established)
		return 0;
	if (queue->event == DAT_CONNECTION_EVENT_PEER_REJECTED && !disk->gendisk)
		pr_err("datblk: %s refuses %s: %s\n", disk->options.address, disk->options.device,
		       datblk_refusal_text(datblk_check_refusal(queue->private,
								queue->private_size)));
	return queue->event == DAT_CONNECTION_EVENT_TIMED_OUT ? -ETIMEDOUT : -ECONNREFUSED;
}

/* All queues of a disk have the limits and the geometry of the first one */
static int welcome(struct datblk_queue *queue)
{
	struct datblk_disk *disk = queue->disk;
	struct datblk_limits limits = disk->limits;
	struct datblk_geometry geo = {};
	int err = datblk_check_welcome(queue->private, queue->private_size, &limits, &geo);

	if (err)
		return err;
	if (!queue->index && !disk->gendisk)
		disk->limits = limits;
	else if (memcmp(&limits, &disk->limits, sizeof(limits)))
		return -EPROTO;
	if (!queue->index)
		disk->geo = geo;
	return memcmp(&geo, &disk->geo, sizeof(geo)) ? -EPROTO : 0;
}

static int alloc_arrays(struct datblk_queue *queue)
{
	unsigned int depth = queue->disk->limits.depth, i;

	queue->lmrs = kcalloc(depth, sizeof(*queue->lmrs), GFP_KERNEL);
	queue->requests = kcalloc(depth, sizeof(*queue->requests), GFP_KERNEL);
	queue->sends = kcalloc(depth, sizeof(*queue->sends), GFP_KERNEL);
	if (!queue->lmrs || !queue->requests || !queue->sends)
		return -ENOMEM;
	INIT_LIST_HEAD(&queue->pending);
	INIT_LIST_HEAD(&queue->messages);
	queue->waiting = 0;
	queue->sending = 0;
	for (i = 0; i < depth; i++) {
		queue->sends[i].index = i;
		list_add_tail(&queue->sends[i].link, &queue->messages);
	}
	return 0;
}

static int alloc_buffers(struct datblk_queue *queue)
{
	const struct datblk_limits *limits = &queue->disk->limits;
	DAT_IA_HANDLE ia = queue->disk->ia;

	return datblk_buffers_alloc(&queue->receives, ia, queue->pz, limits->depth,
				    PAGE_ALIGN(DATBLK_MESSAGE_MAX),
				    DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ?:
	       datblk_buffers_alloc(&queue->headers, ia, queue->pz, limits->depth, HEADERS_BYTES,
				    DAT_MEM_PRIV_LOCAL_READ_FLAG) ?:
	       datblk_buffers_alloc(&queue->data, ia, queue->pz, limits->depth, DATBLK_INLINE_MAX,
				    DAT_MEM_PRIV_LOCAL_READ_FLAG);
}

static int open_ep(struct datblk_queue *queue)
{
	unsigned int depth = queue->disk->limits.depth, i;
	struct datblk_ep_needs needs = {
		.receives = depth,
		/* A message and a registration for each tag */
		.requests = 2 * depth,
		.reads_in = READS,
	};
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall, .instance_data = queue };
	int err;

	if (dat_pz_create(queue->disk->ia, &queue->pz) ||
	    dat_evd_kcreate(queue->disk->ia, 1, DAT_UPCALL_SINGLE_INSTANCE, &object,
			    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &queue->evd))
		return -EIO;
	err = alloc_buffers(queue) ?:
	      datblk_ep_create(queue->disk->ia, queue->pz, queue->evd, &needs, &queue->ep,
			       &queue->segments);
	for (i = 0; !err && i < depth; i++)
		err = post_receive(queue, i);
	return err;
}

static int alloc_lmrs(struct datblk_queue *queue)
{
	const struct datblk_limits *limits = &queue->disk->limits;
	unsigned int i;

	for (i = 0; i < limits->depth; i++)
		if (dat_lmr_allocate(queue->disk->ia, queue->pz, datblk_pages(limits),
				     DAT_LMR_SCOPE_PZ, &queue->lmrs[i]))
			return -EIO;
	return 0;
}

/**
 * datblk_queue_open - connect a queue
 * @queue: a queue that is closed; the IA of its disk is open
 *
 * After an error the caller closes the IA, then the queue. Context: process.
 *
 * Return: 0 or a negative error code.
 */
int datblk_queue_open(struct datblk_queue *queue)
{
	queue->established = false;
	init_completion(&queue->outcome);
	return alloc_arrays(queue) ?:
	       open_ep(queue) ?:
	       connect(queue) ?:
	       welcome(queue) ?:
	       alloc_lmrs(queue);
}

/**
 * datblk_queue_close - free the memory of a queue
 * @queue: a queue whose IA has been closed, so nothing uses its memory
 *
 * Context: process.
 */
void datblk_queue_close(struct datblk_queue *queue)
{
	datblk_buffers_free(&queue->receives);
	datblk_buffers_free(&queue->headers);
	datblk_buffers_free(&queue->data);
	kfree(queue->lmrs);
	kfree(queue->requests);
	kfree(queue->sends);
	queue->lmrs = NULL;
	queue->requests = NULL;
	queue->sends = NULL;
}
