// SPDX-License-Identifier: GPL-2.0
/*
 * A connection of the server: its objects of DAT, its events and its end. The upcalls of its EVD
 * run one at a time in process context, and handle the commands, too.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/in6.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "server.h"

#define HEADER_BYTES	(DATBLK_BATCH * sizeof(struct datblk_wire_answer) + \
			 sizeof(struct datblk_trailer))

/**
 * datblk_conn_kick - have an upcall look for commands whose I/O has ended
 * @conn: the connection
 *
 * Context: any, also hard interrupt, where bios may end.
 */
void datblk_conn_kick(struct datblk_connection *conn)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	/* If the queue has no room for another one, an upcall is due anyway */
	dat_evd_post_se(conn->evd, &event);
}

/**
 * datblk_conn_end - begin to end a connection
 * @conn: the connection; nothing happens if it ends already
 *
 * Context: any.
 */
void datblk_conn_end(struct datblk_connection *conn)
{
	if (!test_and_set_bit(DATBLK_CONN_DEAD, &conn->flags))
		queue_work(conn->export->end_wq, &conn->release);
}

/**
 * datblk_conn_put - an I/O of a connection, or its release, has ended
 * @conn: the connection, which the caller does not use any more
 *
 * Context: any, also hard interrupt.
 */
void datblk_conn_put(struct datblk_connection *conn)
{
	if (refcount_dec_and_test(&conn->ios))
		queue_work(conn->export->end_wq, &conn->leave_export);
}

/**
 * datblk_conn_malformed - end a connection, because its client does not keep to the protocol
 * @conn: the connection
 * @flaw: what is wrong
 *
 * Context: process.
 */
void datblk_conn_malformed(struct datblk_connection *conn, enum datblk_flaw flaw)
{
	if (!test_bit(DATBLK_CONN_DEAD, &conn->flags))
		pr_warn_ratelimited("%s: %pISc sent a malformed message: %s\n",
				    conn->req.name, &conn->peer, datblk_flaw_text(flaw));
	datblk_conn_end(conn);
}

/**
 * datblk_conn_receive - post a receive buffer
 * @conn:  the connection
 * @index: the buffer
 *
 * Context: any except hard interrupt.
 * Return: 0 or -EIO.
 */
int datblk_conn_receive(struct datblk_connection *conn, unsigned int index)
{
	DAT_LMR_TRIPLET segment = kdat_local(&conn->receives.regions[index], 0,
					     DATBLK_MESSAGE_MAX);

	return dat_ep_post_recv(conn->ep, 1, &segment, datblk_cookie(DATBLK_RECEIVE, index),
				DAT_COMPLETION_DEFAULT_FLAG) ? -EIO : 0;
}

static void datblk_conn_completed(struct datblk_connection *conn,
				  const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u32 kind = dto->user_cookie.as_64 >> 32, index = (u32)dto->user_cookie.as_64;

	if (dto->status != DAT_DTO_SUCCESS) {
		datblk_conn_end(conn);
		return;
	}
	if (kind == DATBLK_RECEIVE && dto->operation == DAT_DTO_RECEIVE)
		datblk_cmd_message(conn, index, dto->transfered_length);
	else if (kind == DATBLK_RECEIVE)
		datblk_conn_malformed(conn, DATBLK_FLAW_INVALIDATE);
	else if (kind == DATBLK_FETCH)
		datblk_cmd_fetched(&conn->cmds[index]);
	else if (kind == DATBLK_SEND)
		datblk_cmd_sent(conn, index);
}

static void datblk_conn_handle(struct datblk_connection *conn, const DAT_EVENT *event)
{
	if (test_bit(DATBLK_CONN_DEAD, &conn->flags))
		return;
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		datblk_conn_completed(conn, &event->event_data.dto_completion_event_data);
	else if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED &&
		 event->event_number != DAT_SOFTWARE_EVENT)
		datblk_conn_end(conn);
}

/* May sleep, and submits bios */
static void datblk_conn_upcall(DAT_PVOID instance, const DAT_EVENT *notification, DAT_BOOLEAN more)
{
	struct datblk_connection *conn = instance;
	DAT_EVENT event;

	while (dat_evd_dequeue(conn->evd, &event) == DAT_SUCCESS)
		datblk_conn_handle(conn, &event);
	datblk_cmd_finished(conn);
	datblk_cmd_answer(conn);
}

static int datblk_conn_alloc_commands(struct datblk_connection *conn)
{
	unsigned int tags = datblk_tags(&conn->req.limits), i;
	u32 most = max_t(u32, conn->req.limits.io_max, DATBLK_INLINE_MAX);
	unsigned int pages = DIV_ROUND_UP(most, PAGE_SIZE) + 1;

	conn->cmds = kvcalloc(tags, sizeof(*conn->cmds), GFP_KERNEL);
	conn->sends = kvcalloc(tags, sizeof(*conn->sends), GFP_KERNEL);
	conn->users = kzalloc(tags, GFP_KERNEL);
	if (!conn->cmds || !conn->sends || !conn->users)
		return -ENOMEM;
	for (i = 0; i < tags; i++) {
		struct datblk_srv_command *cmd = &conn->cmds[i];

		cmd->conn = conn;
		INIT_WORK(&cmd->work, datblk_backing_work);
		cmd->vecs = kcalloc(pages, sizeof(*cmd->vecs), GFP_KERNEL);
		if (!cmd->vecs)
			return -ENOMEM;
		conn->sends[i].index = i;
		list_add_tail(&conn->sends[i].link, &conn->messages);
	}
	return 0;
}

/* A client that only logs in gets no memory for data */
static int datblk_conn_alloc_buffers(struct datblk_connection *conn)
{
	const struct datblk_limits *limits = &conn->req.limits;
	unsigned int tags = datblk_tags(limits);
	DAT_IA_HANDLE ia = conn->port->ia;

	conn->data.regions = kvcalloc(limits->depth, sizeof(*conn->data.regions), GFP_KERNEL);
	if (!conn->data.regions)
		return -ENOMEM;
	conn->data.count = limits->depth;
	return datblk_buffers_alloc(&conn->receives, ia, conn->pz, tags,
				    PAGE_ALIGN(DATBLK_MESSAGE_MAX),
				    DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ?:
	       datblk_buffers_alloc(&conn->headers, ia, conn->pz, tags, HEADER_BYTES,
				    DAT_MEM_PRIV_LOCAL_READ_FLAG);
}

/**
 * datblk_conn_data - allocate and register the data buffer of a tag, unless it exists
 * @conn: the connection
 * @tag:  the tag
 *
 * The client may be on the same machine, and writing pages out, so allocations do not wait for I/O.
 *
 * Context: process, upcall of the connection.
 * Return: whether the buffer exists.
 */
bool datblk_conn_data(struct datblk_connection *conn, unsigned int tag)
{
	struct kdat_region *region = &conn->data.regions[tag];
	DAT_MEM_PRIV_FLAGS both = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	u32 size = max(conn->req.limits.io_max, conn->req.limits.inline_max);
	unsigned int noio;
	void *memory;

	if (region->address)
		return true;
	noio = memalloc_noio_save();
	memory = vzalloc(size);
	if (memory && kdat_register(conn->port->ia, conn->pz, memory, size, both, region)) {
		vfree(memory);
		region->address = NULL;
	}
	memalloc_noio_restore(noio);
	return region->address;
}

/* Receives must be posted before the client can send */
static int datblk_conn_open_ep(struct datblk_connection *conn)
{
	unsigned int tags = datblk_tags(&conn->req.limits), i;
	struct datblk_ep_needs needs = {
		.receives = tags,
		/* Sends, an RDMA write with each, and the RDMA reads */
		.requests = 3 * tags,
		.reads_out = DATBLK_READS,
	};
	DAT_UPCALL_OBJECT object = { .upcall_func = datblk_conn_upcall, .instance_data = conn };
	DAT_IA_HANDLE ia = conn->port->ia;
	int err;

	if (dat_pz_create(ia, &conn->pz) ||
	    dat_evd_kcreate(ia, 1, DAT_UPCALL_NOTIFY, &object,
			    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_SOFTWARE_FLAG |
			    KDAT_EVD_PROCESS_FLAG, &conn->evd))
		return -EIO;
	err = datblk_conn_alloc_buffers(conn) ?:
	      datblk_ep_create(ia, conn->pz, conn->evd, &needs, &conn->ep, &conn->segments);
	for (i = 0; !err && i < tags; i++)
		err = datblk_conn_receive(conn, i);
	return err;
}

/* Nothing uses the connection any more */
static void datblk_conn_free(struct datblk_connection *conn)
{
	unsigned int i;

	datblk_buffers_free(&conn->receives);
	datblk_buffers_free(&conn->headers);
	datblk_buffers_free(&conn->data);
	for (i = 0; conn->cmds && i < datblk_tags(&conn->req.limits); i++)
		kfree(conn->cmds[i].vecs);
	kvfree(conn->cmds);
	kvfree(conn->sends);
	kfree(conn->users);
	kfree(conn);
}

/* Frees the objects of DAT, in the order in which they depend on each other */
static void datblk_conn_close_ep(struct datblk_connection *conn)
{
	if (conn->ep != DAT_HANDLE_NULL)
		dat_ep_free(conn->ep);
	datblk_buffers_unregister(&conn->receives);
	datblk_buffers_unregister(&conn->headers);
	datblk_buffers_unregister(&conn->data);
	if (conn->evd != DAT_HANDLE_NULL)
		dat_evd_free(conn->evd);
	if (conn->pz != DAT_HANDLE_NULL)
		dat_pz_free(conn->pz);
}

/*
 * Ends everything that uses the port. The memory of the commands stays until their I/O has ended:
 * that of a device that hangs must not keep the port. It is not answered. A client on this machine
 * may wait for this before it can log in again, so allocations do not wait for its disk.
 */
static void datblk_conn_release(struct work_struct *work)
{
	struct datblk_connection *conn = container_of(work, struct datblk_connection, release);
	unsigned int noio = memalloc_noio_save();

	wait_for_completion(&conn->login_done);
	cancel_delayed_work_sync(&conn->first_command);
	if (conn->ep != DAT_HANDLE_NULL)
		dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
	if (conn->evd != DAT_HANDLE_NULL)
		dat_evd_modify_upcall(conn->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				      DAT_UPCALL_INVOC_NEW);
	/* A kick that comes later has a stale handle, and does nothing */
	datblk_conn_close_ep(conn);
	mutex_lock(&datblk_srv_lock);
	list_del(&conn->of_port);
	conn->port->count--;
	datblk_port_check(conn->port);
	mutex_unlock(&datblk_srv_lock);
	datblk_conn_put(conn);
	memalloc_noio_restore(noio);
}

/*
 * The connection stays on the list of its export while it has I/O: until then a new login of its
 * client is refused, so that no write of this connection reaches the device after one of the next.
 */
static void datblk_conn_leave_export(struct work_struct *work)
{
	struct datblk_connection *conn = container_of(work, struct datblk_connection, leave_export);

	mutex_lock(&datblk_srv_lock);
	list_del(&conn->of_export);
	conn->export->count--;
	datblk_export_check(conn->export);
	mutex_unlock(&datblk_srv_lock);
	datblk_conn_free(conn);
}

/* Connections without commands would take the place of others */
static void datblk_conn_first_command_timeout(struct work_struct *work)
{
	struct datblk_connection *conn = container_of(to_delayed_work(work),
						      struct datblk_connection, first_command);

	if (test_bit(DATBLK_CONN_USED, &conn->flags))
		return;
	pr_warn_ratelimited("%s: the connection of %pISc ends, because it has sent no command in time (parameter first_command)\n",
			    conn->req.name, &conn->peer);
	datblk_conn_end(conn);
}

/**
 * datblk_conn_admit - initialize a connection, and put it on the lists
 * @conn:   memory of zeroes for it
 * @port:   the port at which the client has asked
 * @export: the device that it has asked for, in state ON
 * @req:    the login, with the limits that the server grants
 * @peer:   address of the client
 *
 * The caller calls datblk_conn_open(), and completes @conn->login_done when it does not use the
 * connection any more.
 *
 * Context: process, datblk_srv_lock held.
 */
void datblk_conn_admit(struct datblk_connection *conn, struct datblk_port *port,
		       struct datblk_export *export, const struct datblk_login *req,
		       const struct sockaddr *peer)
{
	conn->port = port;
	conn->export = export;
	conn->req = *req;
	conn->geo = export->geo;
	conn->geo.uuid = export->uuid;
	conn->geo.instance = export->instance;
	memcpy(&conn->peer, peer, peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
								sizeof(struct sockaddr_in));
	INIT_LIST_HEAD(&conn->messages);
	INIT_LIST_HEAD(&conn->answers);
	init_llist_head(&conn->done);
	init_completion(&conn->login_done);
	INIT_DELAYED_WORK(&conn->first_command, datblk_conn_first_command_timeout);
	INIT_WORK(&conn->release, datblk_conn_release);
	INIT_WORK(&conn->leave_export, datblk_conn_leave_export);
	refcount_set(&conn->ios, 1);
	list_add(&conn->of_port, &port->connections);
	list_add(&conn->of_export, &export->connections);
	port->count++;
	export->count++;
}

/**
 * datblk_conn_open - create what a connection needs before it can be accepted
 * @conn: a connection that was admitted
 *
 * Context: process.
 * Return: 0 or a negative error code; then the caller ends the connection.
 */
int datblk_conn_open(struct datblk_connection *conn)
{
	return datblk_conn_alloc_commands(conn) ?: datblk_conn_open_ep(conn);
}
