// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of a connection, from the message to the answer. Everything here runs in the
 * upcalls of the connection, in process context, so the state of the commands needs no lock.
 *
 * A tag is busy from the message that brings its command to the completion of the send of its
 * answer, which uses the buffers of the tag. The client uses the tag again when it has the answer,
 * and that may be earlier: then the next command of the tag waits.
 */
#include "server.h"
#include "protocol/trace.h"

/*
 * Posts the receive buffer again when no command needs its data. The client may use a tag
 * again as soon as it has the answer, so this comes before the answer.
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

static void datblk_cmd_finish(struct datblk_srv_command *cmd)
{
	struct datblk_connection *conn = cmd->conn;

	if (datblk_conn_put_receive(cmd)) {
		datblk_conn_end(conn);
		return;
	}
	list_add_tail(&cmd->answer, &conn->answers);
	conn->waiting++;
}

/* Reads the data of a write from the client */
static void datblk_cmd_fetch(struct datblk_srv_command *cmd)
{
	struct datblk_connection *conn = cmd->conn;
	DAT_LMR_TRIPLET to = kdat_local(&conn->data.regions[cmd->c.tag], 0, cmd->c.length);
	DAT_RMR_TRIPLET from = {
		.virtual_address = cmd->c.address,
		.segment_length = cmd->c.length,
		.rmr_context = cmd->c.key,
	};

	if (dat_ep_post_rdma_read(conn->ep, 1, &to, datblk_cookie(DATBLK_FETCH, cmd->c.tag), &from,
				  DAT_COMPLETION_DEFAULT_FLAG))
		datblk_conn_end(conn);
}

/* Has the command the memory that it needs? Data that have come with the message need none */
static bool datblk_cmd_has_memory(struct datblk_srv_command *cmd)
{
	bool data = cmd->c.op == DATBLK_OP_READ || cmd->c.op == DATBLK_OP_WRITE;

	if (!data || cmd->data)
		return true;
	if (!datblk_conn_data(cmd->conn, cmd->c.tag))
		return false;
	cmd->data = cmd->conn->data.regions[cmd->c.tag].address;
	return true;
}

static void datblk_cmd_start(struct datblk_srv_command *cmd)
{
	const struct datblk_login *req = &cmd->conn->req;

	trace_datblk_srv_command(req->host, req->disk, req->queue, &cmd->c);
	cmd->status = datblk_check_command(&cmd->conn->geo, &cmd->c);
	if (cmd->status == DATBLK_STS_OK && !datblk_cmd_has_memory(cmd))
		cmd->status = DATBLK_STS_NOMEM;
	if (cmd->status != DATBLK_STS_OK || cmd->c.op == DATBLK_OP_PING)
		datblk_cmd_finish(cmd);
	else if (cmd->c.op == DATBLK_OP_WRITE && !(cmd->c.flags & DATBLK_INLINE))
		datblk_cmd_fetch(cmd);
	else
		datblk_backing_submit(cmd);
}

static bool datblk_cmd_brings_data(const struct datblk_command *c)
{
	return c->op == DATBLK_OP_WRITE && c->flags & DATBLK_INLINE;
}

/* The tag is idle. index: the receive buffer */
static void datblk_cmd_begin(struct datblk_srv_command *cmd, const struct datblk_command *c,
			     unsigned int index)
{
	struct datblk_connection *conn = cmd->conn;

	cmd->c = *c;
	cmd->busy = true;
	cmd->receive = -1;
	cmd->data = NULL;
	if (c->op != DATBLK_OP_PING)
		cmd->data = conn->data.regions[c->tag].address;
	if (datblk_cmd_brings_data(c)) {
		cmd->receive = index;
		cmd->data = conn->receives.regions[index].address + c->offset;
	}
}

/*
 * All tags of the message must be idle, or wait only for the completion of an answer, before any
 * command starts.
 */
static enum datblk_flaw datblk_cmd_claim(struct datblk_connection *conn, unsigned int index,
					 const struct datblk_command *cmds, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		const struct datblk_srv_command *cmd = &conn->cmds[cmds[i].tag];

		if (cmd->busy && (!cmd->answered || cmd->waits))
			return DATBLK_FLAW_BUSY;
	}
	for (i = 0; i < count; i++) {
		struct datblk_srv_command *cmd = &conn->cmds[cmds[i].tag];

		conn->users[index] += datblk_cmd_brings_data(&cmds[i]);
		cmd->waits = cmd->busy;
		if (cmd->waits) {
			cmd->next = cmds[i];
			cmd->next_receive = index;
		} else {
			datblk_cmd_begin(cmd, &cmds[i], index);
		}
	}
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

	flaw = datblk_parse_commands(conn->receives.regions[index].address, size,
				     &conn->req.limits, cmds, &count);
	if (!flaw)
		flaw = datblk_cmd_claim(conn, index, cmds, count);
	if (!test_bit(DATBLK_CONN_USED, &conn->flags))
		set_bit(DATBLK_CONN_USED, &conn->flags);
	if (flaw) {
		datblk_conn_malformed(conn, flaw);
		return;
	}
	if (!conn->users[index] && datblk_conn_receive(conn, index)) {
		datblk_conn_end(conn);
		return;
	}
	for (i = 0; i < count; i++)
		if (!conn->cmds[cmds[i].tag].waits)
			datblk_cmd_start(&conn->cmds[cmds[i].tag]);
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

/**
 * datblk_cmd_finished - collect the commands whose I/O has ended
 * @conn: the connection
 *
 * Context: process, upcall of the connection.
 */
void datblk_cmd_finished(struct datblk_connection *conn)
{
	struct llist_node *list = llist_reverse_order(llist_del_all(&conn->done));
	struct datblk_srv_command *cmd, *next;

	llist_for_each_entry_safe(cmd, next, list, done)
		datblk_cmd_finish(cmd);
}

static bool datblk_cmd_has_data(const struct datblk_srv_command *cmd)
{
	return cmd->c.op == DATBLK_OP_READ && cmd->status == DATBLK_STS_OK;
}

/* Takes the oldest answer off the list, and writes its header */
static void datblk_conn_take_command(struct datblk_connection *conn, struct datblk_srv_command *cmd,
				     struct datblk_srv_message *message,
				     struct datblk_wire_answer *header)
{
	bool inlined = datblk_cmd_has_data(cmd) && cmd->c.flags & DATBLK_INLINE;
	const struct datblk_login *req = &conn->req;

	trace_datblk_srv_answer(req->host, req->disk, req->queue, cmd->c.tag, cmd->status);
	datblk_fill_answer(header, &(struct datblk_answer){
		.tag = cmd->c.tag,
		.status = cmd->status,
		.flags = inlined ? DATBLK_INLINE : 0,
		.length = inlined ? cmd->c.length : 0,
	});
	list_del(&cmd->answer);
	conn->waiting--;
	cmd->answered = true;
	message->tags[message->count++] = cmd->c.tag;
}

/*
 * Sends the answer to a command with a key. It ends the access to the client's memory, after the
 * data of a read have been written there.
 */
static DAT_RETURN datblk_conn_send_keyed(struct datblk_connection *conn,
					 struct datblk_srv_command *cmd,
					 struct datblk_srv_message *m)
{
	struct kdat_region *region = &conn->headers.regions[m->index];
	struct datblk_wire_answer *answer = region->address;
	DAT_LMR_TRIPLET from = kdat_local(&conn->data.regions[cmd->c.tag], 0, cmd->c.length);
	DAT_LMR_TRIPLET message = kdat_local(region, 0, sizeof(struct datblk_wire_answer) +
						       sizeof(struct datblk_trailer));
	DAT_RMR_TRIPLET to = {
		.virtual_address = cmd->c.address,
		.segment_length = cmd->c.length,
		.rmr_context = cmd->c.key,
	};
	DAT_RETURN ret = DAT_SUCCESS;

	if (datblk_cmd_has_data(cmd))
		ret = dat_ep_post_rdma_write(conn->ep, 1, &from, datblk_cookie(DATBLK_PUT, 0), &to,
					     DAT_COMPLETION_SUPPRESS_FLAG);
	if (ret)
		return ret;
	datblk_conn_take_command(conn, cmd, m, answer);
	datblk_fill_trailer((void *)(answer + 1), DATBLK_ANSWERS, 1, 0);
	return dat_ep_post_send_with_invalidate(conn->ep, 1, &message,
						datblk_cookie(DATBLK_SEND, m->index),
						DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, cmd->c.key);
}

/* Sends as many answers without a key as fit into one message */
static DAT_RETURN datblk_conn_send_batch(struct datblk_connection *conn,
					 struct datblk_srv_message *m)
{
	struct kdat_region *region = &conn->headers.regions[m->index];
	struct datblk_wire_answer *headers = region->address;
	DAT_LMR_TRIPLET iov[DATBLK_BATCH + 1];
	struct datblk_srv_command *cmd, *next;
	unsigned int segments = 0;
	u32 data = 0;

	list_for_each_entry_safe(cmd, next, &conn->answers, answer) {
		u32 length = datblk_cmd_has_data(cmd) ? cmd->c.length : 0;

		if (cmd->c.key || m->count == DATBLK_BATCH || data + length > DATBLK_DATA_MAX ||
		    (length && segments + 1 == conn->segments))
			break;
		if (length)
			iov[segments++] = kdat_local(&conn->data.regions[cmd->c.tag], 0, length);
		data += length;
		datblk_conn_take_command(conn, cmd, m, &headers[m->count]);
	}
	datblk_fill_trailer((void *)(headers + m->count), DATBLK_ANSWERS, m->count, data);
	iov[segments++] = kdat_local(region, 0, m->count * sizeof(*headers) +
						sizeof(struct datblk_trailer));
	return dat_ep_post_send(conn->ep, segments, iov, datblk_cookie(DATBLK_SEND, m->index),
				DAT_COMPLETION_DEFAULT_FLAG);
}

/**
 * datblk_cmd_answer - send answers
 * @conn: the connection
 *
 * While a message is being sent, further answers wait until there are enough for a full
 * message, or until it has arrived.
 *
 * Context: process, upcall of the connection.
 */
void datblk_cmd_answer(struct datblk_connection *conn)
{
	while (conn->waiting && !test_bit(DATBLK_CONN_DEAD, &conn->flags)) {
		struct datblk_srv_message *message;
		struct datblk_srv_command *cmd;
		DAT_RETURN ret;

		cmd = list_first_entry(&conn->answers, struct datblk_srv_command, answer);
		if (list_empty(&conn->messages) ||
		    (conn->sending && conn->waiting < DATBLK_BATCH && !cmd->c.key))
			return;
		message = list_first_entry(&conn->messages, struct datblk_srv_message, link);
		list_del(&message->link);
		message->count = 0;
		conn->sending++;
		ret = cmd->c.key ? datblk_conn_send_keyed(conn, cmd, message) :
				   datblk_conn_send_batch(conn, message);
		if (ret)
			datblk_conn_end(conn);
	}
}

/**
 * datblk_cmd_sent - a message of answers has arrived
 * @conn:  the connection
 * @index: the message
 *
 * Context: process, upcall of the connection.
 */
void datblk_cmd_sent(struct datblk_connection *conn, unsigned int index)
{
	struct datblk_srv_message *message = &conn->sends[index];
	unsigned int i;

	list_add(&message->link, &conn->messages);
	conn->sending--;
	for (i = 0; i < message->count; i++) {
		struct datblk_srv_command *cmd = &conn->cmds[message->tags[i]];

		cmd->busy = false;
		cmd->answered = false;
		if (!cmd->waits)
			continue;
		cmd->waits = false;
		datblk_cmd_begin(cmd, &cmd->next, cmd->next_receive);
		datblk_cmd_start(cmd);
	}
}
