// SPDX-License-Identifier: GPL-2.0
/*
 * A connection of the client: its objects of DAT, its memory and its events, which come in upcalls,
 * with bottom halves off. message.c has what is sent over it.
 */
#include <linux/slab.h>
#include "client.h"

/*
 * Messages of a queue. Few of them are in the send queue at a time: while the completion of one
 * will come, others are only sent when they are full.
 */
#define MESSAGES(depth)		((depth) / 2 + 8)

/**
 * datblk_queue_receive - post a receive
 * @queue: the queue
 * @index: its buffer
 *
 * Context: any except hard interrupt.
 * Return: 0 or -EIO.
 */
int datblk_queue_receive(struct datblk_queue *queue, unsigned int index)
{
	DAT_LMR_TRIPLET segment = kdat_local(&queue->receives.regions[index], 0,
					     DATBLK_MESSAGE_MAX);

	return dat_ep_post_recv(queue->ep, 1, &segment, datblk_cookie(DATBLK_RECEIVE, index),
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
	struct datblk_remote *remote = queue->remote;

	/* Its path is to blame, unless the session's owner has ended the connection */
	if (READ_ONCE(remote->open))
		set_bit(READ_ONCE(queue->path) - remote->paths, &remote->ended);
	datblk_session_lost(remote);
}

static void datblk_queue_dto(struct datblk_queue *queue, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u32 kind = dto->user_cookie.as_64 >> 32, index = (u32)dto->user_cookie.as_64;

	if (dto->status != DAT_DTO_SUCCESS)
		datblk_queue_lost(queue);
	else if (kind == DATBLK_RECEIVE)
		datblk_queue_message_received(queue, index, dto);
	else if (kind == DATBLK_SEND)
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

/* Allocates the memory once, and keeps it for all sessions: a reconnect needs none */
static int datblk_queue_alloc_arrays(struct datblk_queue *queue)
{
	unsigned int tags = datblk_tags(&queue->remote->limits);

	if (queue->lmrs)
		return 0;
	queue->pdus = kvcalloc(tags, sizeof(*queue->pdus), GFP_KERNEL);
	queue->ping = kzalloc(sizeof(*queue->ping), GFP_KERNEL);
	queue->login = kzalloc(sizeof(*queue->login), GFP_KERNEL);
	queue->login_data = kzalloc(DATBLK_LOGIN_BYTES, GFP_KERNEL);
	queue->lmrs = kvcalloc(tags, sizeof(*queue->lmrs), GFP_KERNEL);
	return queue->pdus && queue->ping && queue->login && queue->login_data && queue->lmrs ?
	       0 : -ENOMEM;
}

/* No command is in flight */
static void datblk_queue_reset(struct datblk_queue *queue)
{
	unsigned int tags = datblk_tags(&queue->remote->limits);

	spin_lock_bh(&queue->lock);
	INIT_LIST_HEAD(&queue->pending);
	INIT_LIST_HEAD(&queue->flying);
	queue->ring = (struct datblk_ring){ .count = MESSAGES(queue->remote->limits.depth) };
	queue->waiting = 0;
	queue->busy = 0;
	queue->sending = 0;
	queue->pinging = false;
	queue->greeting = false;
	memset(queue->pdus, 0, tags * sizeof(*queue->pdus));
	spin_unlock_bh(&queue->lock);
}

/**
 * datblk_queue_drop - forget all commands
 * @queue: a queue whose connection has been closed, and which gets no requests
 *
 * Otherwise a late heartbeat would post those that wait, with the data of requests that have ended.
 *
 * Context: process.
 */
void datblk_queue_drop(struct datblk_queue *queue)
{
	spin_lock_bh(&queue->lock);
	INIT_LIST_HEAD(&queue->pending);
	INIT_LIST_HEAD(&queue->flying);
	queue->waiting = 0;
	queue->tags = (struct datblk_tag_pool){};
	spin_unlock_bh(&queue->lock);
}

static int datblk_queue_alloc_buffers(struct datblk_queue *queue)
{
	const struct datblk_limits *limits = &queue->remote->limits;
	unsigned int tags = datblk_tags(limits);
	DAT_IA_HANDLE ia = queue->path->ia;

	return datblk_buffers_alloc(&queue->receives, ia, queue->pz, tags,
				    PAGE_ALIGN(DATBLK_MESSAGE_MAX),
				    DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ?:
	       datblk_buffers_alloc(&queue->messages, ia, queue->pz, queue->ring.count,
				    DATBLK_MESSAGE_MAX, DAT_MEM_PRIV_LOCAL_READ_FLAG);
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
	const struct datblk_remote *remote = queue->remote;

	return (remote->id * remote->options.queues + queue->index) % cpus;
}

static int datblk_queue_open_ep(struct datblk_queue *queue)
{
	unsigned int tags = datblk_tags(&queue->remote->limits), segments, i;
	char vector[12];
	struct datblk_ep_needs needs = {
		.receives = tags,
		/*
		 * Messages, and a registration for each of their commands. The answer shows that
		 * these are done, but their room returns with the completion of a later message
		 */
		.requests = queue->ring.count * (1 + DATBLK_BATCH),
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
			       &segments);
	for (i = 0; !err && i < tags; i++)
		err = datblk_queue_receive(queue, i);
	return err;
}

static int datblk_queue_alloc_lmrs(struct datblk_queue *queue)
{
	const struct datblk_limits *limits = &queue->remote->limits;
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

	queue->remote->reason = "the client lacks memory or objects of its RDMA device";
	if (err)
		return err;
	datblk_queue_reset(queue);
	return datblk_queue_open_ep(queue);
}

/**
 * datblk_queue_open - connect a queue
 * @queue: a queue that is closed; the IA of its path is open
 *
 * After an error the caller closes the IA; remote->reason says why.
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
	datblk_buffers_free(&queue->messages);
	kvfree(queue->lmrs);
	kvfree(queue->pdus);
	kfree(queue->ping);
	kfree(queue->login);
	kfree(queue->login_data);
}
