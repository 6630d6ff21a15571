// SPDX-License-Identifier: GPL-2.0
/*
 * The login of a connection of the client: what it sends, the proofs if the disk has a key, and
 * what the server grants. Process context, also in the work item that reconnects, where allocations
 * do not wait for I/O.
 */
#include <linux/random.h>
#include <linux/string.h>
#include "client.h"

/* As long as the client waits for the answer to a ping */
#define ANSWER_TIMEOUT	(25 * HZ)

static void datblk_login_describe(const struct datblk_queue *queue, const struct datblk_disk *disk,
				  struct datblk_login *req)
{
	const struct datblk_remote *remote = queue->remote;

	*req = (struct datblk_login){
		.limits = remote->limits,
		.host = datblk_host,
		.boot = datblk_boot,
		.incarnation = disk->incarnation,
		.disk = disk->number,
		.queue = queue->index,
		.queues = remote->options.queues,
		.wants_proof = !!disk->options.key,
	};
	strscpy_pad(req->name, disk->options.device, sizeof(req->name));
}

/**
 * datblk_login_fill_late - fill in a login that replaces no connection
 * @queue: a queue of a session
 * @login: receives the login
 *
 * Context: process. If the session ends meanwhile, the login is that of a session that has ended.
 */
void datblk_login_fill_late(const struct datblk_queue *queue, struct datblk_wire_login *login)
{
	struct datblk_login req;

	datblk_login_describe(queue, READ_ONCE(queue->remote->leader), &req);
	req.incarnation--;
	datblk_fill_login(login, &req);
}

/* What a refusal means for the caller, who tries again after -EBUSY */
static int datblk_login_refusal_error(unsigned int status)
{
	switch (status) {
	case DATBLK_REFUSE_BUSY:
	case DATBLK_REFUSE_LATE:
	case DATBLK_REFUSE_STALE:
		return -EBUSY;
	case DATBLK_REFUSE_KEYLESS:
	case DATBLK_REFUSE_NO_KEY:
	case DATBLK_REFUSE_PROOF:
		return -EKEYREJECTED;
	default:
		return -ECONNREFUSED;
	}
}

/* The server has answered a login, and has not admitted it. Sets the reason */
static int datblk_login_refused(struct datblk_queue *queue)
{
	struct datblk_remote *remote = queue->remote;
	unsigned int status = datblk_check_refusal(queue->private, queue->private_size);

	remote->refused = status != DATBLK_ADMIT;
	remote->reason = remote->refused ? datblk_refusal_text(status) :
					   "no datblk server listens there";
	return datblk_login_refusal_error(status);
}

/* Why the attempt failed, for the log and the error of the caller */
static int datblk_login_error(struct datblk_queue *queue)
{
	struct datblk_remote *remote = queue->remote;

	if (queue->event == DAT_CONNECTION_EVENT_TIMED_OUT) {
		remote->reason = "the server does not answer";
		return -ETIMEDOUT;
	}
	if (queue->event == DAT_CONNECTION_EVENT_PEER_REJECTED)
		return datblk_login_refused(queue);
	remote->reason = "the server cannot be reached";
	return -ECONNREFUSED;
}

/* Sends a connection request. Returns 0 when there is an outcome: queue->established and event */
static int datblk_login_connect(struct datblk_queue *queue, DAT_EP_HANDLE ep, size_t size,
				void *data)
{
	struct datblk_remote *remote = queue->remote;

	queue->established = false;
	init_completion(&queue->outcome);
	if (dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&queue->path->to, remote->options.qual,
			   DATBLK_CONNECT_US, size, data, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG)) {
		remote->reason = "the RDMA device refused the connection request";
		return -ECONNREFUSED;
	}
	wait_for_completion(&queue->outcome);
	return 0;
}

/* A server that admits the client without a challenge cannot have proved anything */
static int datblk_login_unproved(struct datblk_remote *remote)
{
	remote->reason = "the server has not proved that it has the key";
	return -EKEYREJECTED;
}

/* Sends the login, and takes the challenge from the refusal */
static int datblk_login_take_challenge(struct datblk_queue *queue, DAT_EP_HANDLE ep,
				       struct datblk_transcript *t)
{
	int err = datblk_login_connect(queue, ep, sizeof(t->login), &t->login);

	if (err)
		return err;
	if (queue->established)
		return datblk_login_unproved(queue->remote);
	if (queue->event != DAT_CONNECTION_EVENT_PEER_REJECTED ||
	    queue->private_size < sizeof(t->challenge) ||
	    datblk_check_refusal(queue->private, queue->private_size) != DATBLK_CHALLENGED)
		return datblk_login_error(queue);
	memcpy(&t->challenge, queue->private, sizeof(t->challenge));
	return 0;
}

/* A refusal ends the use of an endpoint, so the challenge has one of its own */
static int datblk_login_ask(struct datblk_queue *queue, struct datblk_transcript *t)
{
	struct datblk_ep_needs needs = { .receives = 1, .requests = 1 };
	unsigned int segments;
	DAT_EP_HANDLE ep;
	int err = datblk_ep_create(queue->path->ia, queue->pz, queue->evd, &needs, &ep, &segments);

	if (err)
		return err;
	err = datblk_login_take_challenge(queue, ep, t);
	dat_ep_free(ep);
	return err;
}

/* The accept, in queue->private, has the proof of the server */
static int datblk_login_with_key(struct datblk_queue *queue, struct datblk_transcript *t)
{
	struct crypto_shash *key = queue->remote->leader->options.key;
	struct datblk_wire_proof proof;
	int err = datblk_login_ask(queue, t);

	if (err)
		return err;
	get_random_bytes(t->nonce, sizeof(t->nonce));
	err = datblk_prove_client(key, t, &proof) ?:
	      datblk_login_connect(queue, queue->ep, sizeof(proof), &proof);
	if (err || !queue->established)
		return err ?: datblk_login_error(queue);
	return datblk_check_server(key, t, queue->private, queue->private_size) ? 0 :
	       datblk_login_unproved(queue->remote);
}

static int datblk_login_without_key(struct datblk_queue *queue, struct datblk_transcript *t)
{
	int err = datblk_login_connect(queue, queue->ep, sizeof(t->login), &t->login);

	return err || queue->established ? err : datblk_login_error(queue);
}

/* The first session decides the limits: all memory is allocated for them */
static int datblk_login_take_limits(struct datblk_remote *remote,
				    const struct datblk_limits *limits, bool first)
{
	if (first && limits->io_max < PAGE_SIZE) {
		remote->reason = "the server grants less than a page for each read or write";
		return -EOPNOTSUPP;
	}
	if (first)
		remote->limits = *limits;
	if (!memcmp(limits, &remote->limits, sizeof(*limits)))
		return 0;
	remote->reason = "the server grants less than before: its depth or io_kib was lowered";
	return -EPROTO;
}

/* All queues have the limits and the geometry of the first one */
static int datblk_login_take_welcome(struct datblk_queue *queue, struct datblk_disk *disk)
{
	struct datblk_remote *remote = queue->remote;
	struct datblk_limits limits = remote->limits;
	struct datblk_geometry geo = {};
	int err = datblk_check_welcome(queue->private, queue->private_size, &limits, &geo);

	if (err) {
		remote->reason = "the server sent a malformed accept";
		return err;
	}
	err = datblk_login_take_limits(remote, &limits, !queue->index && !remote->ready);
	if (err)
		return err;
	if (!queue->index)
		disk->next_geo = geo;
	else if (memcmp(&geo, &disk->next_geo, sizeof(geo)))
		remote->reason = "the device changed during the login";
	return memcmp(&geo, &disk->next_geo, sizeof(geo)) ? -EPROTO : 0;
}

/**
 * datblk_login - connect a queue, and agree with the server on its use
 * @queue: a queue whose objects of DAT exist, and which has no connection
 *
 * If the disk has a key, the server must prove that it has it, too. Nothing that the server has
 * sent is used before.
 *
 * Context: process.
 * Return: 0 or a negative error code, and then remote->reason is set. -EBUSY: the caller may try
 * again soon. -EKEYREJECTED: one side has no key, or another one.
 */
int datblk_login(struct datblk_queue *queue)
{
	struct datblk_transcript t = {};
	struct datblk_login req;
	int err;

	datblk_login_describe(queue, queue->remote->leader, &req);
	datblk_fill_login(&t.login, &req);
	err = req.wants_proof ? datblk_login_with_key(queue, &t) :
				datblk_login_without_key(queue, &t);
	return err ?: datblk_login_take_welcome(queue, queue->remote->leader);
}

/*
 * Sends a LOGIN with data, or a LOGOUT, and waits for the answer, whose data is then in
 * queue->private. The server answers without a delay.
 */
static int datblk_login_send(struct datblk_queue *queue, const struct datblk_disk *disk, u8 op,
			     const void *data, size_t size)
{
	struct datblk_remote *remote = queue->remote;

	/* After a loss, the previous LOGIN or LOGOUT may still be on a list of the queue */
	if (READ_ONCE(remote->lost))
		return -ENOTCONN;
	memset(queue->login_data, 0, DATBLK_LOGIN_BYTES);
	if (size)
		memcpy(queue->login_data, data, size);
	*queue->login = (struct datblk_pdu){
		.own = true,
		.number = disk->number,
		.c = {
			.op = op,
			.flags = size ? DATBLK_INLINE : 0,
			.tag = datblk_login_tag(&remote->limits),
			.login = disk->login,
			.length = size ? DATBLK_LOGIN_BYTES : 0,
		},
	};
	queue->logging_in = true;
	datblk_queue_add_own(queue, queue->login);
	datblk_queue_commit(queue);
	/* Pairs with the release in datblk_queue_mark() */
	if (!wait_event_timeout(remote->repeated, !smp_load_acquire(&queue->logging_in) ||
				READ_ONCE(remote->lost), ANSWER_TIMEOUT))
		datblk_queue_lost(queue);
	/* Pairs with the release in datblk_queue_mark() */
	if (smp_load_acquire(&queue->logging_in))
		return -ENOTCONN;
	return queue->login->status == BLK_STS_OK ? 0 : -ENOMEM;
}

/* Sends a LOGIN, and expects an answer with this status */
static int datblk_login_command(struct datblk_queue *queue, const struct datblk_disk *disk,
				const void *data, size_t size, unsigned int expected)
{
	struct datblk_remote *remote = queue->remote;
	unsigned int status;
	int err = datblk_login_send(queue, disk, DATBLK_OP_LOGIN, data, size);

	if (err) {
		remote->reason = err == -ENOMEM ? "the server lacks memory" :
						  "the server does not answer";
		return err;
	}
	status = datblk_check_refusal(queue->private, queue->private_size);
	if (status == expected)
		return 0;
	if (status == DATBLK_ADMIT) {
		/* The server may have a login now */
		datblk_session_lost(remote);
		return datblk_login_unproved(remote);
	}
	return datblk_login_refused(queue);
}

/* Like datblk_login_with_key(), but the caller checks the proof of the server */
static int datblk_login_again_with_key(struct datblk_queue *queue, const struct datblk_disk *disk,
				       struct datblk_transcript *t)
{
	struct crypto_shash *key = disk->options.key;
	struct datblk_wire_proof proof;
	int err = datblk_login_command(queue, disk, &t->login, sizeof(t->login), DATBLK_CHALLENGED);

	if (err)
		return err;
	memcpy(&t->challenge, queue->private, sizeof(t->challenge));
	get_random_bytes(t->nonce, sizeof(t->nonce));
	return datblk_prove_client(key, t, &proof) ?:
	       datblk_login_command(queue, disk, &proof, sizeof(proof), DATBLK_ADMIT);
}

/**
 * datblk_login_again - log another disk in over a queue
 * @queue: a queue with a connection
 * @disk:  the disk, which has a login number
 *
 * Context: process.
 * Return: the same as datblk_login(). If the server does not answer, the session is lost. After any
 * other error the queue has no login of the disk.
 */
int datblk_login_again(struct datblk_queue *queue, struct datblk_disk *disk)
{
	struct datblk_transcript t = {};
	struct crypto_shash *key = disk->options.key;
	struct datblk_login req;
	int err;

	queue->remote->reason = "the client lacks memory";
	datblk_login_describe(queue, disk, &req);
	datblk_fill_login(&t.login, &req);
	err = req.wants_proof ? datblk_login_again_with_key(queue, disk, &t) :
	      datblk_login_command(queue, disk, &t.login, sizeof(t.login), DATBLK_ADMIT);
	if (err)
		return err;
	if (key && !datblk_check_server(key, &t, queue->private, queue->private_size))
		err = datblk_login_unproved(queue->remote);
	else
		err = datblk_login_take_welcome(queue, disk);
	/* The server has admitted the login */
	if (err && datblk_logout(queue, disk))
		datblk_session_lost(queue->remote);
	return err;
}

/**
 * datblk_logout - end a login of a queue
 * @queue: a queue with a connection
 * @disk:  the disk, which has no command in flight on the queue
 *
 * Context: process.
 * Return: 0 or a negative error code.
 */
int datblk_logout(struct datblk_queue *queue, const struct datblk_disk *disk)
{
	return datblk_login_send(queue, disk, DATBLK_OP_LOGOUT, NULL, 0);
}
