// SPDX-License-Identifier: GPL-2.0
/*
 * Logins: a work item of the port checks each connection request, and accepts or refuses it. The
 * upcalls of a connection execute LOGIN commands, by which a client logs in to further devices.
 * Process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "server.h"

#define ADDRESS_MAX	64

/*
 * All upcalls together may have one LOGIN that waits for datblk_srv_lock, so that clients who send
 * many cannot delay the flushes and logins of others.
 */
static DEFINE_MUTEX(datblk_login_turn);

/* Limits that the server grants, whatever the client asks for */
static void datblk_login_grant(struct datblk_limits *limits)
{
	u32 io_max = round_down(datblk_io_kib * 1024, DATBLK_IO_UNIT);

	limits->depth = min(limits->depth, clamp(datblk_depth, 1U, (u32)DATBLK_DEPTH_MAX));
	limits->io_max = min(limits->io_max, clamp_t(u32, io_max, DATBLK_IO_UNIT, DATBLK_IO_MAX));
}

/* Returns true if the list is empty, or the address is one of its words */
static bool datblk_login_address_allowed(const char *list, const struct sockaddr *address)
{
	char text[ADDRESS_MAX];
	size_t length;
	const char *at;

	if (!*skip_spaces(list))
		return true;
	length = snprintf(text, sizeof(text), "%pISc", address);
	for (at = strstr(list, text); at; at = strstr(at + 1, text))
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

/* Machines that have the same number for a host take the device from each other again and again */
static void datblk_login_replace(struct datblk_srv_login *login, const struct datblk_login *req,
				 const struct sockaddr *peer)
{
	struct datblk_connection *conn = login->conn;
	const struct sockaddr *was = (const struct sockaddr *)&conn->peer;

	if (login->req.boot != req->boot && !datblk_same_host(was, peer))
		pr_warn_ratelimited("%s: %pISc ends the connection of %pISc, because both have the host number %#llx: if they are two machines, set the parameter host of datblk_client\n",
				    req->name, peer, was, req->host);
	datblk_conn_end(conn);
}

/*
 * The fence, which README (Connections) describes. Ends the connections that a login replaces.
 * Returns DATBLK_ADMIT, or why the login must be refused: a late one is BUSY, too, if one that is
 * not late would be.
 */
static unsigned int datblk_login_earlier_logins(const struct datblk_attempt *attempt)
{
	const struct datblk_login *req = &attempt->req;
	struct datblk_export *export = attempt->export;
	struct datblk_srv_login *login;
	bool late = false, ending = false;

	datblk_export_lost_writes(export, 0);
	list_for_each_entry(login, &export->logins, of_export) {
		if (login->req.host != req->host)
			continue;
		if (datblk_login_late(req, &login->req))
			late = true;
		else if (datblk_login_replaces(req, &login->req) && !datblk_login_over(login))
			datblk_login_replace(login, req, attempt->peer);
		if (datblk_login_over(login))
			ending = true;
	}
	if (ending)
		return DATBLK_REFUSE_BUSY;
	return late ? DATBLK_REFUSE_LATE : DATBLK_ADMIT;
}

/*
 * No host may take all logins of a device, because nothing proves who it is. datblk_srv_lock held.
 * Returns NULL, or why the device has no room for a login
 */
static const char *datblk_login_device_full(const struct datblk_attempt *attempt)
{
	if (attempt->export->count >= datblk_device_connections)
		return "too many logins to the device (parameter device_connections)";
	if (datblk_export_logins(attempt->export, attempt->peer) >= datblk_host_connections)
		return "too many logins of the host to the device (parameter host_connections)";
	return NULL;
}

/*
 * No host may take all connections of a port, either. datblk_srv_lock held. Returns NULL, or why
 * there is no room for a connection.
 */
static const char *datblk_login_crowded(const struct datblk_port *port,
					const struct datblk_attempt *attempt)
{
	if (port->count >= datblk_connections)
		return "too many connections of the port (parameter connections)";
	if (datblk_export_hosts(attempt->peer) >= datblk_host_connections)
		return "too many connections of the host (parameter host_connections)";
	return datblk_login_device_full(attempt);
}

/*
 * datblk_srv_lock held. Returns DATBLK_ADMIT and sets attempt->export, or returns the status of the
 * refusal. A login without the right key learns nothing about the device, and affects nobody.
 */
static unsigned int datblk_login_check(struct datblk_attempt *attempt)
{
	struct datblk_login *req = &attempt->req;
	struct datblk_export *export;
	unsigned int status = datblk_auth_begin(attempt);

	if (status != DATBLK_ADMIT)
		return status;
	export = datblk_export_find(req->name);
	if (!export)
		return DATBLK_REFUSE_DEVICE;
	if (!datblk_login_address_allowed(export->clients, attempt->peer))
		return DATBLK_REFUSE_CLIENT;
	status = datblk_auth_check(export, attempt);
	if (status == DATBLK_ADMIT)
		attempt->export = export;
	return status;
}

/* datblk_srv_lock held. The login is on the list of its export */
static void datblk_login_welcome(struct datblk_attempt *attempt,
				 const struct datblk_srv_login *login)
{
	datblk_fill_welcome(&attempt->welcome, &login->req.limits, &login->geo);
	datblk_auth_prove(attempt->export, attempt);
}

/*
 * Checks a connection request. datblk_srv_lock held. Returns DATBLK_ADMIT, with conn on the lists,
 * or the status of the refusal.
 */
static unsigned int datblk_login_admit(struct datblk_port *port, struct datblk_attempt *attempt,
				       struct datblk_connection *conn)
{
	unsigned int status = datblk_login_check(attempt) ?: datblk_login_earlier_logins(attempt);

	if (status != DATBLK_ADMIT)
		return status;
	attempt->why = datblk_login_crowded(port, attempt);
	if (attempt->why)
		return DATBLK_REFUSE_RESOURCES;
	datblk_login_grant(&attempt->req.limits);
	datblk_conn_admit(conn, port, attempt->export, &attempt->req, attempt->peer);
	conn->keyed = attempt->has_proof;
	datblk_login_welcome(attempt, &conn->logins[0]);
	return DATBLK_ADMIT;
}

/*
 * Checks a further login of a connection, which must ask for the limits of the connection. All
 * logins of a connection have a key, or none has: a login without a key may end a connection, but
 * not one that is used for a device with a key. Otherwise as datblk_login_admit().
 */
static unsigned int datblk_login_admit_again(struct datblk_attempt *attempt,
					     struct datblk_connection *conn, unsigned int number)
{
	unsigned int status = datblk_login_check(attempt);

	if (status != DATBLK_ADMIT)
		return status;
	if (attempt->has_proof != conn->keyed) {
		attempt->why = "all logins of a connection need a key, or none may have one";
		return DATBLK_REFUSE_LOGIN;
	}
	if (memcmp(&attempt->req.limits, &conn->limits, sizeof(conn->limits))) {
		attempt->why = "its limits are not those of the connection";
		return DATBLK_REFUSE_LOGIN;
	}
	/* The previous login with this number still has I/O, or is ending */
	if (conn->logins[number].export)
		return DATBLK_REFUSE_BUSY;
	status = datblk_login_earlier_logins(attempt);
	if (status != DATBLK_ADMIT)
		return status;
	attempt->why = datblk_login_device_full(attempt);
	if (attempt->why)
		return DATBLK_REFUSE_RESOURCES;
	datblk_conn_add_login(conn, number, attempt->export, &attempt->req);
	datblk_login_welcome(attempt, &conn->logins[number]);
	return DATBLK_ADMIT;
}

/* Logins while an earlier connection ends, and late ones, are usual when a client connects again */
static void datblk_login_log_refusal(struct datblk_attempt *attempt, unsigned int status)
{
	/* A name that was not checked is not printed */
	if (status == DATBLK_REFUSE_LOGIN && !attempt->why)
		attempt->req.name[0] = 0;
	if (status != DATBLK_REFUSE_BUSY && status != DATBLK_REFUSE_LATE &&
	    status != DATBLK_CHALLENGED)
		pr_warn_ratelimited("%pISc: login to \"%s\" refused: %s\n", attempt->peer,
				    attempt->req.name, attempt->why ?: datblk_refusal_text(status));
}

/* Logs a refusal. Returns the private data that answers a login; size: receives its size */
static const void *datblk_login_reply(struct datblk_attempt *attempt, unsigned int status,
				      size_t *size)
{
	if (status == DATBLK_ADMIT) {
		*size = sizeof(attempt->welcome);
		return &attempt->welcome;
	}
	datblk_login_log_refusal(attempt, status);
	if (status == DATBLK_CHALLENGED) {
		*size = sizeof(attempt->transcript.challenge);
		return &attempt->transcript.challenge;
	}
	attempt->refusal = (struct datblk_refusal){
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.status = cpu_to_le16(status),
	};
	*size = sizeof(attempt->refusal);
	return &attempt->refusal;
}

static void datblk_login_refuse(DAT_CR_HANDLE cr, struct datblk_attempt *attempt,
				unsigned int status)
{
	size_t size;
	const void *reply = datblk_login_reply(attempt, status, &size);

	dat_cr_reject(cr, size, (DAT_PVOID)reply);
}

/* A connection may end at any time after its admission; then the accept has no effect */
static void datblk_login_accept(DAT_CR_HANDLE cr, struct datblk_connection *conn,
				struct datblk_attempt *attempt)
{
	if (datblk_conn_open(conn) ||
	    dat_cr_accept(cr, conn->ep, sizeof(attempt->welcome), &attempt->welcome)) {
		datblk_conn_end(conn);
		datblk_login_refuse(cr, attempt, DATBLK_REFUSE_RESOURCES);
	} else if (datblk_first_command) {
		queue_delayed_work(datblk_login_wq, &conn->first_command,
				   min(datblk_first_command, 3600U) * HZ);
	}
	complete(&conn->login_done);
}

/**
 * datblk_login_may_list - decide whether a client may list an export
 * @export: the export
 * @peer:   address of the client
 *
 * An export with a key is not listed, because nothing proves that the client has the key.
 *
 * Context: process, datblk_srv_lock held.
 * Return: whether the client may list it.
 */
bool datblk_login_may_list(const struct datblk_export *export, const struct sockaddr *peer)
{
	return export->state == DATBLK_ON && !datblk_auth_has_key(export) &&
	       datblk_login_address_allowed(export->clients, peer);
}

static void datblk_login_list(DAT_CR_HANDLE cr, const char *after, const struct sockaddr *peer)
{
	struct datblk_refusal refusal = {
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.status = cpu_to_le16(DATBLK_REFUSE_DEVICE),
	};
	struct datblk_listing listing;
	struct datblk_export *export;

	mutex_lock(&datblk_srv_lock);
	export = datblk_export_next(after, peer);
	if (export)
		datblk_fill_listing(&listing, config_item_name(&export->group.cg_item),
				    &export->geo);
	mutex_unlock(&datblk_srv_lock);
	if (export)
		dat_cr_reject(cr, sizeof(listing), &listing);
	else
		dat_cr_reject(cr, sizeof(refusal), &refusal);
}

static void datblk_login_answer(struct datblk_port *port, DAT_CR_HANDLE cr)
{
	struct datblk_attempt attempt = {};
	struct datblk_connection *conn;
	unsigned int status = DATBLK_REFUSE_RESOURCES;
	char after[DATBLK_NAME_MAX];
	DAT_CR_PARAM param;

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param))
		return;
	attempt.data = param.private_data;
	attempt.size = param.private_data_size;
	attempt.peer = param.remote_ia_address_ptr;
	if (datblk_check_query(attempt.data, attempt.size, after)) {
		datblk_login_list(cr, after, attempt.peer);
		return;
	}
	/* One allocation at a time: only an admitted login keeps it, and allocates more */
	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (conn) {
		mutex_lock(&datblk_srv_lock);
		status = datblk_login_admit(port, &attempt, conn);
		mutex_unlock(&datblk_srv_lock);
	}
	if (status == DATBLK_ADMIT) {
		datblk_login_accept(cr, conn, &attempt);
		return;
	}
	kfree(conn);
	datblk_login_refuse(cr, &attempt, status);
}

/**
 * datblk_port_login - answer the connection requests of a port
 * @work: in the port
 *
 * The client may be on the same machine, and writing pages out, so allocations do not wait for I/O.
 *
 * Context: process.
 */
void datblk_port_login(struct work_struct *work)
{
	struct datblk_port *port = container_of(work, struct datblk_port, login);
	unsigned int noio = memalloc_noio_save();
	DAT_EVENT event;

	while (dat_evd_dequeue(port->evd, &event) == DAT_SUCCESS)
		datblk_login_answer(port, event.event_data.cr_arrival_event_data.cr_handle);
	memalloc_noio_restore(noio);
}

/**
 * datblk_login_execute - log a connection in to another device
 * @cmd: a LOGIN, which has a buffer for the data of the answer
 *
 * Context: process, upcall of the connection.
 * Return: DATBLK_STS_OK. The data of the answer says whether the login was admitted.
 */
u8 datblk_login_execute(struct datblk_srv_command *cmd)
{
	struct datblk_connection *conn = cmd->conn;
	void *answer = conn->data.regions[cmd->buffer].address;
	struct datblk_attempt attempt = {
		.data = conn->receives.regions[cmd->receive].address + cmd->c.offset,
		.size = sizeof(struct datblk_wire_login),
		.peer = (struct sockaddr *)&conn->peer,
	};
	unsigned int status = DATBLK_REFUSE_LOGIN;
	const void *reply;
	size_t size;

	mutex_lock(&datblk_login_turn);
	mutex_lock(&datblk_srv_lock);
	if (!memchr_inv(attempt.data + attempt.size, 0, DATBLK_LOGIN_BYTES - attempt.size))
		status = datblk_login_admit_again(&attempt, conn, cmd->c.login);
	mutex_unlock(&datblk_srv_lock);
	mutex_unlock(&datblk_login_turn);
	reply = datblk_login_reply(&attempt, status, &size);
	memset(answer, 0, DATBLK_LOGIN_BYTES);
	memcpy(answer, reply, size);
	return DATBLK_STS_OK;
}
