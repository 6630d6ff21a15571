// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of a connection, from the message to the answer. Messages and RDMA reads are handled
 * in the upcalls of the connection, in process context. Answers are also sent where I/O ends, in
 * process context or softirq, under conn->lock.
 *
 * A tag is busy from the message that brings its command until its answer has been posted. The
 * buffers of the answer belong to its message, and come back when it has been sent.
 */
#include <linux/blkdev.h>
#include "server.h"
#include "protocol/trace.h"

/*
 * Posts the receive buffer again when no command needs its data. The client may use a tag
 * again as soon as it has the answer, so this comes before the answer. conn->lock held.
 */
static int datblk_conn_put_receive(struct datblk_srv_command *cmd)
{
	struct datblk_connection *conn = cmd->conn;
	int index = cmd->receive;

	cmd->receive = -1;
	if (index < 0 || --conn->users[index])
		return 0;
	return datblk_conn_receive(conn, index);
}

/* The answer to a command is known. conn->lock held */
static void datblk_cmd_finish(struct datblk_srv_command *cmd)
{
	struct datblk_connection *conn = cmd->conn;

	if (datblk_conn_put_receive(cmd)) {
		datblk_conn_end(conn);
		return;
	}
	list_add_tail(&cmd->link, &conn->answers);
	conn->waiting++;
}

/* Reads the data of a write from the client */
static void datblk_cmd_fetch(struct datblk_srv_command *cmd)
{
	struct datblk_connection *conn = cmd->conn;
	DAT_LMR_TRIPLET to = kdat_local(&conn->data.regions[cmd->buffer], 0, cmd->c.length);
	DAT_RMR_TRIPLET from = {
		.virtual_address = cmd->c.address,
		.segment_length = cmd->c.length,
		.rmr_context = cmd->c.key,
	};

	if (dat_ep_post_rdma_read(conn->ep, 1, &to, datblk_cookie(DATBLK_FETCH, cmd->c.tag), &from,
				  DAT_COMPLETION_DEFAULT_FLAG))
		datblk_conn_end(conn);
}

static void datblk_conn_put_data(struct datblk_connection *conn, unsigned int index)
{
	struct datblk_srv_pool *pool = index < conn->large_from ? &conn->small : &conn->large;

	lockdep_assert_held(&conn->lock);
	pool->spare[pool->count++] = index;
}

/* Data that have come with the message need no buffer */
static bool datblk_cmd_needs_buffer(const struct datblk_command *c)
{
	return c->op == DATBLK_OP_READ ||
	       (c->op == DATBLK_OP_WRITE && !(c->flags & DATBLK_INLINE));
}

/* Takes a data buffer. If there is none, the command waits until answers have been sent */
static bool datblk_cmd_take_buffer(struct datblk_srv_command *cmd)
{
	struct datblk_connection *conn = cmd->conn;
	struct datblk_srv_pool *pool;

	pool = cmd->c.length <= conn->limits.inline_max ? &conn->small : &conn->large;
	spin_lock_bh(&conn->lock);
	if (pool->count)
		cmd->buffer = pool->spare[--pool->count];
	else
		list_add_tail(&cmd->link, &pool->starved);
	spin_unlock_bh(&conn->lock);
	return cmd->buffer >= 0;
}

/* For tracepoints. Another LOGIN may change the login while a command has no device */
static const struct datblk_login *datblk_cmd_req(const struct datblk_srv_command *cmd)
{
	static const struct datblk_login none;

	return datblk_for_device(&cmd->c) ? &cmd->login->req : &none;
}

/* Answers a command without I/O, when the upcall ends */
static void datblk_cmd_refuse(struct datblk_srv_command *cmd, u8 status)
{
	struct datblk_connection *conn = cmd->conn;

	cmd->status = status;
	spin_lock_bh(&conn->lock);
	datblk_cmd_finish(cmd);
	spin_unlock_bh(&conn->lock);
}

/* A command has what it needs, except memory that could not be allocated */
static void datblk_cmd_execute(struct datblk_srv_command *cmd)
{
	if (cmd->buffer >= 0 && !datblk_conn_data(cmd->conn, cmd->buffer))
		datblk_cmd_refuse(cmd, DATBLK_STS_NOMEM);
	else if (cmd->c.op == DATBLK_OP_LOGIN)
		datblk_cmd_refuse(cmd, datblk_login_execute(cmd));
	else if (cmd->c.op == DATBLK_OP_WRITE && !(cmd->c.flags & DATBLK_INLINE))
		datblk_cmd_fetch(cmd);
	else
		datblk_backing_submit(cmd);
}

/* The command and the answer of a LOGIN both have data, so the answer needs a buffer */
static void datblk_cmd_of_connection(struct datblk_srv_command *cmd)
{
	if (cmd->c.op == DATBLK_OP_LOGIN) {
		if (datblk_cmd_take_buffer(cmd))
			datblk_cmd_execute(cmd);
	} else if (cmd->c.op == DATBLK_OP_PING ||
		   datblk_conn_end_login(cmd->conn, cmd->c.login)) {
		datblk_cmd_refuse(cmd, DATBLK_STS_OK);
	} else {
		datblk_conn_malformed(cmd->conn, DATBLK_FLAW_LOGIN);
	}
}

static void datblk_cmd_start(struct datblk_srv_command *cmd)
{
	const struct datblk_login *req = datblk_cmd_req(cmd);
	u8 status = datblk_check_command(&cmd->login->geo, &cmd->c);

	trace_datblk_srv_command(req->host, req->disk, req->queue, &cmd->c);
	if (!datblk_for_device(&cmd->c))
		datblk_cmd_of_connection(cmd);
	else if (status != DATBLK_STS_OK)
		datblk_cmd_refuse(cmd, status);
	else if (!datblk_cmd_needs_buffer(&cmd->c) || datblk_cmd_take_buffer(cmd))
		datblk_cmd_execute(cmd);
}

/* All tags of the message must be idle, and all logins must exist, before any command starts */
static enum datblk_flaw datblk_cmd_claim(struct datblk_connection *conn, unsigned int index,
					 const struct datblk_command *cmds, unsigned int count)
{
	enum datblk_flaw flaw = DATBLK_SOUND;
	unsigned int i;

	lockdep_assert_held(&conn->lock);
	for (i = 0; !flaw && i < count; i++)
		flaw = conn->cmds[cmds[i].tag].busy ? DATBLK_FLAW_BUSY :
		       datblk_logins_check(&conn->numbers, &cmds[i]);
	if (flaw)
		return flaw;
	for (i = 0; i < count; i++) {
		struct datblk_srv_command *cmd = &conn->cmds[cmds[i].tag];
		bool with_data = datblk_brings_data(&cmds[i]);

		cmd->c = cmds[i];
		cmd->login = &conn->logins[cmds[i].login];
		cmd->busy = true;
		cmd->receive = with_data ? index : -1;
		cmd->buffer = -1;
		conn->users[index] += with_data;
		datblk_logins_begin(&conn->numbers, &cmds[i]);
	}
	WRITE_ONCE(conn->busy, conn->busy + count);
	return DATBLK_SOUND;
}

/**
 * datblk_cmd_message - a message of the client has arrived
 * @conn:  the connection
 * @index: receive buffer
 * @size:  bytes of the message
 *
 * Context: process, upcall of the connection.
 */
void datblk_cmd_message(struct datblk_connection *conn, unsigned int index, u32 size)
{
	struct datblk_command cmds[DATBLK_BATCH];
	unsigned int count, i;
	enum datblk_flaw flaw;
	struct blk_plug plug;
	bool idle = false;

	flaw = datblk_parse_commands(conn->receives.regions[index].address, size,
				     &conn->limits, cmds, &count);
	if (!flaw) {
		spin_lock_bh(&conn->lock);
		flaw = datblk_cmd_claim(conn, index, cmds, count);
		idle = !conn->users[index];
		spin_unlock_bh(&conn->lock);
	}
	if (!test_bit(DATBLK_CONN_USED, &conn->flags))
		set_bit(DATBLK_CONN_USED, &conn->flags);
	if (flaw) {
		datblk_conn_malformed(conn, flaw);
		return;
	}
	if (idle && datblk_conn_receive(conn, index)) {
		datblk_conn_end(conn);
		return;
	}
	blk_start_plug(&plug);
	for (i = 0; i < count; i++)
		datblk_cmd_start(&conn->cmds[cmds[i].tag]);
	blk_finish_plug(&plug);
}

/**
 * datblk_cmd_fetched - the data of a write have arrived
 * @cmd: the command
 *
 * Context: process, upcall of the connection.
 */
void datblk_cmd_fetched(struct datblk_srv_command *cmd)
{
	datblk_backing_submit(cmd);
}

static bool datblk_cmd_has_data(const struct datblk_srv_command *cmd)
{
	return (cmd->c.op == DATBLK_OP_READ || cmd->c.op == DATBLK_OP_LOGIN) &&
	       cmd->status == DATBLK_STS_OK;
}

/*
 * Takes the oldest answer off the list, and writes its header. A data buffer that the message does
 * not use is free at once. conn->lock held.
 */
static void datblk_conn_take_command(struct datblk_connection *conn, struct datblk_srv_command *cmd,
				     struct datblk_srv_message *message,
				     struct datblk_wire_answer *header)
{
	bool inlined = datblk_cmd_has_data(cmd) && cmd->c.flags & DATBLK_INLINE;
	const struct datblk_login *req = datblk_cmd_req(cmd);

	trace_datblk_srv_answer(req->host, req->disk, req->queue, cmd->c.tag, cmd->status);
	datblk_fill_answer(header, &(struct datblk_answer){
		.tag = cmd->c.tag,
		.status = cmd->status,
		.flags = inlined ? DATBLK_INLINE : 0,
		.length = inlined ? cmd->c.length : 0,
	});
	list_del(&cmd->link);
	datblk_logins_answered(&conn->numbers, &cmd->c);
	conn->waiting--;
	cmd->busy = false;
	WRITE_ONCE(conn->busy, conn->busy - 1);
	if (datblk_cmd_has_data(cmd))
		message->buffers[message->count++] = cmd->buffer;
	else if (cmd->buffer >= 0)
		datblk_conn_put_data(conn, cmd->buffer);
}

/*
 * Adds a message to the send queue. Does it raise no completion? Nothing waits for that of an
 * answer to a command with a key, or to the only command of the connection. Such a message has at
 * most one data buffer, and of each size there are that many more of them than tags. So if none is
 * free, either a command that has one makes progress, or a completion will come. conn->lock held.
 */
static DAT_COMPLETION_FLAGS datblk_conn_add_message(struct datblk_connection *conn, bool alone)
{
	lockdep_assert_held(&conn->lock);
	if (datblk_ring_add(&conn->ring, alone))
		return DAT_COMPLETION_SUPPRESS_FLAG;
	conn->sending++;
	return DAT_COMPLETION_DEFAULT_FLAG;
}

/*
 * Sends the answer to a command with a key. It ends the access to the client's memory, after the
 * data of a read have been written there. conn->lock held.
 */
static DAT_RETURN datblk_conn_send_keyed(struct datblk_connection *conn,
					 struct datblk_srv_command *cmd, unsigned int index)
{
	struct kdat_region *region = &conn->headers.regions[index];
	struct datblk_wire_answer *answer = region->address;
	DAT_LMR_TRIPLET message = kdat_local(region, 0, sizeof(struct datblk_wire_answer) +
						       sizeof(struct datblk_trailer));
	DAT_RMR_TRIPLET to = {
		.virtual_address = cmd->c.address,
		.segment_length = cmd->c.length,
		.rmr_context = cmd->c.key,
	};
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_LMR_TRIPLET from;

	if (datblk_cmd_has_data(cmd)) {
		from = kdat_local(&conn->data.regions[cmd->buffer], 0, cmd->c.length);
		ret = dat_ep_post_rdma_write(conn->ep, 1, &from, datblk_cookie(DATBLK_PUT, 0), &to,
					     DAT_COMPLETION_SUPPRESS_FLAG);
	}
	if (ret)
		return ret;
	datblk_conn_take_command(conn, cmd, &conn->messages[index], answer);
	datblk_fill_trailer((void *)(answer + 1), DATBLK_ANSWERS, 1, 0);
	return dat_ep_post_send_with_invalidate(conn->ep, 1, &message,
						datblk_cookie(DATBLK_SEND, index),
						datblk_conn_add_message(conn, true),
						DAT_TRUE, cmd->c.key);
}

/*
 * Sends the answer to a read that is the only command of the connection: the client then knows
 * which one it is, so the message has only data. conn->lock held.
 */
static DAT_RETURN datblk_conn_send_bare(struct datblk_connection *conn,
					struct datblk_srv_command *cmd, unsigned int index)
{
	DAT_LMR_TRIPLET data = kdat_local(&conn->data.regions[cmd->buffer], 0, cmd->c.length);

	datblk_conn_take_command(conn, cmd, &conn->messages[index],
				 conn->headers.regions[index].address);
	return dat_ep_post_send(conn->ep, 1, &data, datblk_cookie(DATBLK_SEND, index),
				datblk_conn_add_message(conn, true));
}

/* Sends as many answers without a key as fit into one message. conn->lock held */
static DAT_RETURN datblk_conn_send_batch(struct datblk_connection *conn, unsigned int index)
{
	struct kdat_region *region = &conn->headers.regions[index];
	struct datblk_wire_answer *headers = region->address;
	DAT_LMR_TRIPLET iov[DATBLK_BATCH + 1];
	struct datblk_srv_command *cmd, *next;
	unsigned int segments = 0, count = 0;
	u32 data = 0;

	list_for_each_entry_safe(cmd, next, &conn->answers, link) {
		u32 length = datblk_cmd_has_data(cmd) ? cmd->c.length : 0;

		if (cmd->c.key || count == DATBLK_BATCH || data + length > DATBLK_DATA_MAX ||
		    (length && segments + 1 == conn->segments))
			break;
		if (length)
			iov[segments++] = kdat_local(&conn->data.regions[cmd->buffer], 0, length);
		data += length;
		datblk_conn_take_command(conn, cmd, &conn->messages[index], &headers[count++]);
	}
	datblk_fill_trailer((void *)(headers + count), DATBLK_ANSWERS, count, data);
	iov[segments++] = kdat_local(region, 0, count * sizeof(*headers) +
						sizeof(struct datblk_trailer));
	return dat_ep_post_send(conn->ep, segments, iov, datblk_cookie(DATBLK_SEND, index),
				datblk_conn_add_message(conn, count == 1 && !conn->busy));
}

/*
 * Sends answers. While a message is being sent whose completion will come, further answers wait
 * until there are enough for a full message, or until it has arrived. conn->lock held.
 */
static void datblk_cmd_answer(struct datblk_connection *conn)
{
	while (conn->waiting && !test_bit(DATBLK_CONN_DEAD, &conn->flags)) {
		unsigned int index = datblk_ring_next(&conn->ring);
		struct datblk_srv_command *cmd;
		DAT_RETURN ret;

		cmd = list_first_entry(&conn->answers, struct datblk_srv_command, link);
		if (datblk_ring_full(&conn->ring) ||
		    (conn->sending && conn->waiting < DATBLK_BATCH && !cmd->c.key))
			return;
		conn->messages[index].count = 0;
		if (cmd->c.key)
			ret = datblk_conn_send_keyed(conn, cmd, index);
		else if (conn->busy == 1 && cmd->c.op == DATBLK_OP_READ &&
			 datblk_cmd_has_data(cmd))
			ret = datblk_conn_send_bare(conn, cmd, index);
		else
			ret = datblk_conn_send_batch(conn, index);
		if (ret)
			datblk_conn_end(conn);
	}
}

/* May the answer to a command be sent at once, where its I/O has ended? */
static bool datblk_cmd_answers_at_once(const struct datblk_srv_command *cmd)
{
	/* Others would soon follow in the same message */
	if (!cmd->c.key && READ_ONCE(cmd->conn->busy) != 1)
		return false;
	return !in_hardirq() && !irqs_disabled();
}

/**
 * datblk_cmd_done - the I/O of a command has ended
 * @cmd: the command, which the caller does not use any more
 *
 * Context: any, also hard interrupt.
 */
void datblk_cmd_done(struct datblk_srv_command *cmd)
{
	struct datblk_connection *conn = cmd->conn;

	if (!datblk_cmd_answers_at_once(cmd)) {
		/* Whoever takes it off the list takes those that follow, too. A full barrier */
		if (llist_add(&cmd->done, &conn->done) && !READ_ONCE(conn->collecting))
			datblk_conn_kick(conn);
		return;
	}
	spin_lock_bh(&conn->lock);
	/* Otherwise the objects of DAT may be gone */
	if (!test_bit(DATBLK_CONN_DEAD, &conn->flags)) {
		datblk_cmd_finish(cmd);
		datblk_cmd_answer(conn);
	}
	spin_unlock_bh(&conn->lock);
}

/**
 * datblk_cmd_collect - answer the commands whose I/O has ended
 * @conn: the connection
 *
 * Context: process, upcall of the connection.
 */
void datblk_cmd_collect(struct datblk_connection *conn)
{
	struct llist_node *list = llist_reverse_order(llist_del_all(&conn->done));
	struct datblk_srv_command *cmd, *next;

	spin_lock_bh(&conn->lock);
	if (!test_bit(DATBLK_CONN_DEAD, &conn->flags))
		llist_for_each_entry_safe(cmd, next, list, done)
			datblk_cmd_finish(cmd);
	datblk_cmd_answer(conn);
	spin_unlock_bh(&conn->lock);
}

/* Executes the commands that have waited for a data buffer, while there are any */
static void datblk_conn_feed(struct datblk_connection *conn, struct datblk_srv_pool *pool)
{
	struct datblk_srv_command *cmd;

	spin_lock_bh(&conn->lock);
	while (!list_empty(&pool->starved) && pool->count) {
		cmd = list_first_entry(&pool->starved, struct datblk_srv_command, link);
		list_del(&cmd->link);
		cmd->buffer = pool->spare[--pool->count];
		spin_unlock_bh(&conn->lock);
		datblk_cmd_execute(cmd);
		spin_lock_bh(&conn->lock);
	}
	spin_unlock_bh(&conn->lock);
}

/* Returns what the oldest message in the send queue has used. conn->lock held */
static unsigned int datblk_conn_remove_message(struct datblk_connection *conn)
{
	unsigned int index = datblk_ring_remove(&conn->ring);
	struct datblk_srv_message *message = &conn->messages[index];

	while (message->count)
		datblk_conn_put_data(conn, message->buffers[--message->count]);
	return index;
}

/**
 * datblk_cmd_sent - a message of answers has arrived, and those before it
 * @conn:  the connection
 * @index: the message
 *
 * Context: process, upcall of the connection.
 */
void datblk_cmd_sent(struct datblk_connection *conn, unsigned int index)
{
	spin_lock_bh(&conn->lock);
	while (datblk_conn_remove_message(conn) != index)
		;
	conn->sending--;
	spin_unlock_bh(&conn->lock);
	datblk_conn_feed(conn, &conn->small);
	datblk_conn_feed(conn, &conn->large);
}
