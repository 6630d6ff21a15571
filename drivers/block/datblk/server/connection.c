// SPDX-License-Identifier: GPL-2.0
/*
 * A connection of the server: its objects of DAT, its events and its end. The upcalls of its EVD
 * run one at a time in process context, and handle the commands, too. Where I/O ends, command.c
 * also sends answers.
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
 * @conn: the connection; nothing happens if it is already ending
 *
 * Context: any.
 */
void datblk_conn_end(struct datblk_connection *conn)
{
	if (!test_and_set_bit(DATBLK_CONN_DEAD, &conn->flags))
		queue_work(datblk_end_wq, &conn->release);
}

/**
 * datblk_conn_put_login - put a login, because an I/O of it, or the login itself, has ended
 * @login: the login; after the call, the caller uses neither it nor its connection
 *
 * Context: any, also hard interrupt.
 */
void datblk_conn_put_login(struct datblk_srv_login *login)
{
	if (refcount_dec_and_test(&login->ios))
		queue_work(datblk_end_wq, &login->leave_export);
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
				    conn->logins[0].req.name, &conn->peer, datblk_flaw_text(flaw));
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

/*
 * May sleep, and submits bios. I/O that ends meanwhile needs no upcall of its own: the last upcall
 * of a run answers it, or at the latest the sixteenth, because a run may not end under load.
 */
static void datblk_conn_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct datblk_connection *conn = instance;

	WRITE_ONCE(conn->collecting, true);
	datblk_conn_handle(conn, event);
	if (more && ++conn->upcalls % 16)
		return;
	do {
		datblk_cmd_collect(conn);
		/* Pairs with llist_add() in datblk_cmd_done() */
		smp_store_mb(conn->collecting, false);
	} while (!llist_empty(&conn->done));
}

static int datblk_conn_alloc_pool(struct datblk_srv_pool *pool, unsigned int from,
				  unsigned int count)
{
	pool->spare = kcalloc(count, sizeof(*pool->spare), GFP_KERNEL);
	if (!pool->spare)
		return -ENOMEM;
	while (pool->count < count)
		pool->spare[pool->count++] = from++;
	return 0;
}

/* datblk_conn_add_message() explains why there are more data buffers than tags */
static int datblk_conn_alloc_pools(struct datblk_connection *conn)
{
	unsigned int tags = datblk_tags(&conn->limits);
	unsigned int count = tags + datblk_ring_quiet_max(tags);

	conn->data.regions = kvcalloc(2 * count, sizeof(*conn->data.regions), GFP_KERNEL);
	conn->pages = kvcalloc(2 * count, sizeof(*conn->pages), GFP_KERNEL);
	if (!conn->data.regions || !conn->pages)
		return -ENOMEM;
	conn->data.count = 2 * count;
	conn->large_from = count;
	return datblk_conn_alloc_pool(&conn->small, 0, count) ?:
	       datblk_conn_alloc_pool(&conn->large, count, count);
}

static int datblk_conn_alloc_commands(struct datblk_connection *conn)
{
	unsigned int tags = datblk_tags(&conn->limits), i;

	conn->ring.count = tags;
	conn->cmds = kvcalloc(tags, sizeof(*conn->cmds), GFP_KERNEL);
	conn->messages = kvcalloc(tags, sizeof(*conn->messages), GFP_KERNEL);
	conn->users = kzalloc(tags, GFP_KERNEL);
	if (!conn->cmds || !conn->messages || !conn->users)
		return -ENOMEM;
	for (i = 0; i < tags; i++) {
		conn->cmds[i].conn = conn;
		INIT_WORK(&conn->cmds[i].work, datblk_backing_work);
	}
	return datblk_conn_alloc_pools(conn);
}

/* A client that only logs in gets no memory for data */
static int datblk_conn_alloc_buffers(struct datblk_connection *conn)
{
	const struct datblk_limits *limits = &conn->limits;
	DAT_IA_HANDLE ia = conn->port->ia;

	return datblk_buffers_alloc(&conn->receives, ia, conn->pz, datblk_tags(limits),
				    PAGE_ALIGN(DATBLK_MESSAGE_MAX),
				    DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ?:
	       datblk_buffers_alloc(&conn->headers, ia, conn->pz, conn->ring.count,
				    HEADER_BYTES, DAT_MEM_PRIV_LOCAL_READ_FLAG);
}

static struct bio_vec *datblk_pages_of(void *memory, u32 size)
{
	unsigned int count = DIV_ROUND_UP(size, PAGE_SIZE), i;
	struct bio_vec *pages = kvcalloc(count, sizeof(*pages), GFP_KERNEL);

	for (i = 0; pages && i < count; i++)
		pages[i] = (struct bio_vec){
			.bv_page = vmalloc_to_page(memory + i * PAGE_SIZE),
			.bv_len = PAGE_SIZE,
		};
	return pages;
}

static void datblk_conn_alloc_data(struct datblk_connection *conn, unsigned int index)
{
	DAT_MEM_PRIV_FLAGS both = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	u32 size = index < conn->large_from ? conn->limits.inline_max :
					      conn->limits.io_max;
	struct kdat_region *region = &conn->data.regions[index];
	void *memory = vzalloc(size);
	struct bio_vec *pages;

	if (!memory)
		return;
	pages = datblk_pages_of(memory, size);
	if (pages && !kdat_register(conn->port->ia, conn->pz, memory, size, both, region)) {
		conn->pages[index] = pages;
		return;
	}
	region->address = NULL;
	kvfree(pages);
	vfree(memory);
}

/**
 * datblk_conn_data - allocate and register a data buffer, unless it exists
 * @conn:  the connection
 * @index: the buffer
 *
 * The client may be on the same machine, and writing pages out, so allocations do not wait for I/O.
 *
 * Context: process, upcall of the connection.
 * Return: whether the buffer exists.
 */
bool datblk_conn_data(struct datblk_connection *conn, unsigned int index)
{
	unsigned int noio;

	if (conn->data.regions[index].address)
		return true;
	noio = memalloc_noio_save();
	datblk_conn_alloc_data(conn, index);
	memalloc_noio_restore(noio);
	return conn->data.regions[index].address;
}

/* Receives must be posted before the client can send */
static int datblk_conn_open_ep(struct datblk_connection *conn)
{
	unsigned int tags = datblk_tags(&conn->limits), i;
	struct datblk_ep_needs needs = {
		.receives = tags,
		/* Messages, an RDMA write before each, and an RDMA read for each tag */
		.requests = 2 * conn->ring.count + tags,
		.reads_out = DATBLK_READS,
	};
	DAT_UPCALL_OBJECT object = { .upcall_func = datblk_conn_upcall, .instance_data = conn };
	DAT_IA_HANDLE ia = conn->port->ia;
	int err;

	if (dat_pz_create(ia, &conn->pz) ||
	    dat_evd_kcreate(ia, 1, DAT_UPCALL_SINGLE_INSTANCE, &object,
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
	for (i = 0; conn->pages && i < conn->data.count; i++)
		kvfree(conn->pages[i]);
	datblk_buffers_free(&conn->data);
	kvfree(conn->pages);
	kvfree(conn->cmds);
	kvfree(conn->messages);
	kfree(conn->users);
	kfree(conn->small.spare);
	kfree(conn->large.spare);
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

static void datblk_conn_put(struct datblk_connection *conn)
{
	if (refcount_dec_and_test(&conn->uses))
		datblk_conn_free(conn);
}

/*
 * Ends everything that uses the port. Commands keep their memory until their I/O has ended, because
 * a device that hangs must not keep the port. They get no answer. A client on this machine may wait
 * for this before it can log in again, so allocations do not wait for its disk.
 */
static void datblk_conn_release(struct work_struct *work)
{
	struct datblk_connection *conn = container_of(work, struct datblk_connection, release);
	unsigned int noio = memalloc_noio_save(), i;

	wait_for_completion(&conn->login_done);
	cancel_delayed_work_sync(&conn->first_command);
	if (conn->ep != DAT_HANDLE_NULL)
		dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
	if (conn->evd != DAT_HANDLE_NULL)
		dat_evd_modify_upcall(conn->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				      DAT_UPCALL_INVOC_NEW);
	/* I/O that ends from now on finds DEAD; a kick finds a stale handle, and does nothing */
	spin_lock_bh(&conn->lock);
	spin_unlock_bh(&conn->lock);
	datblk_conn_close_ep(conn);
	mutex_lock(&datblk_srv_lock);
	list_del(&conn->of_port);
	conn->port->count--;
	datblk_port_check(conn->port);
	mutex_unlock(&datblk_srv_lock);
	for (i = 0; i < DATBLK_LOGINS; i++)
		if (conn->numbers.exist & BIT(i))
			datblk_conn_put_login(&conn->logins[i]);
	datblk_conn_put(conn);
	memalloc_noio_restore(noio);
}

/*
 * The login stays on the list of its export while it has I/O. Until it leaves the list, a new login
 * of its client is refused, so no write of this login reaches the device after a write of the next.
 */
static void datblk_login_leave_export(struct work_struct *work)
{
	struct datblk_srv_login *login = container_of(work, struct datblk_srv_login, leave_export);
	struct datblk_connection *conn = login->conn;

	mutex_lock(&datblk_srv_lock);
	list_del(&login->of_export);
	login->export->count--;
	datblk_export_check(login->export);
	login->export = NULL;
	mutex_unlock(&datblk_srv_lock);
	datblk_conn_put(conn);
}

/* Connections without commands would take the place of others */
static void datblk_conn_first_command_timeout(struct work_struct *work)
{
	struct datblk_connection *conn = container_of(to_delayed_work(work),
						      struct datblk_connection, first_command);

	if (test_bit(DATBLK_CONN_USED, &conn->flags))
		return;
	pr_warn_ratelimited("%s: the connection of %pISc ends, because it has sent no command in time (parameter first_command)\n",
			    conn->logins[0].req.name, &conn->peer);
	datblk_conn_end(conn);
}

/**
 * datblk_conn_add_login - let a connection use an export
 * @conn:   the connection
 * @number: number of the login, which is free
 * @export: the export, in state ON
 * @req:    what the client has sent
 *
 * Context: process, datblk_srv_lock held; upcall of the connection, or before the first upcall.
 */
void datblk_conn_add_login(struct datblk_connection *conn, unsigned int number,
			   struct datblk_export *export, const struct datblk_login *req)
{
	struct datblk_srv_login *login = &conn->logins[number];

	login->export = export;
	login->ended = false;
	login->req = *req;
	login->geo = export->geo;
	login->geo.uuid = export->uuid;
	login->geo.instance = export->instance;
	refcount_set(&login->ios, 1);
	list_add(&login->of_export, &export->logins);
	export->count++;
	refcount_inc(&conn->uses);
	spin_lock_bh(&conn->lock);
	datblk_logins_add(&conn->numbers, number);
	spin_unlock_bh(&conn->lock);
}

/**
 * datblk_conn_end_login - end a login whose client logs out
 * @conn:   the connection, which ends if it has no other login
 * @number: number of the login
 *
 * Context: process, upcall of the connection.
 * Return: false if the login has a command that has not been answered, and so does not end.
 */
bool datblk_conn_end_login(struct datblk_connection *conn, unsigned int number)
{
	struct datblk_srv_login *login = &conn->logins[number];
	bool removed;

	spin_lock_bh(&conn->lock);
	removed = datblk_logins_remove(&conn->numbers, number);
	spin_unlock_bh(&conn->lock);
	if (!removed)
		return false;
	mutex_lock(&datblk_srv_lock);
	login->ended = true;
	mutex_unlock(&datblk_srv_lock);
	datblk_conn_put_login(login);
	if (!conn->numbers.exist)
		datblk_conn_end(conn);
	return true;
}

/**
 * datblk_conn_admit - initialize a connection, and add it and its login to the lists
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
	unsigned int i;

	conn->port = port;
	conn->limits = req->limits;
	memcpy(&conn->peer, peer, peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
								sizeof(struct sockaddr_in));
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->small.starved);
	INIT_LIST_HEAD(&conn->large.starved);
	INIT_LIST_HEAD(&conn->answers);
	init_llist_head(&conn->done);
	init_completion(&conn->login_done);
	INIT_DELAYED_WORK(&conn->first_command, datblk_conn_first_command_timeout);
	INIT_WORK(&conn->release, datblk_conn_release);
	list_add(&conn->of_port, &port->connections);
	port->count++;
	refcount_set(&conn->uses, 1);
	for (i = 0; i < DATBLK_LOGINS; i++) {
		conn->logins[i].conn = conn;
		INIT_WORK(&conn->logins[i].leave_export, datblk_login_leave_export);
	}
	datblk_conn_add_login(conn, 0, export, req);
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
