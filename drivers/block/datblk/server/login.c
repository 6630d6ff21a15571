// SPDX-License-Identifier: GPL-2.0
/*
 * The logins of a port: a work item checks each connection request, and accepts or refuses it.
 * Process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "server.h"

#define ADDRESS_MAX	64

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

	if (login->req.boot != req->boot && !datblk_same_host(was, peer) &&
	    !test_bit(DATBLK_CONN_DEAD, &conn->flags))
		pr_warn_ratelimited("%s: %pISc ends the connection of %pISc, because both have the host number %#llx: if they are two machines, set the parameter host of datblk_client\n",
				    req->name, peer, was, req->host);
	datblk_conn_end(conn);
}

/*
 * The fence, which README (Connections) describes. Ends the connections that a login replaces.
 * Returns DATBLK_ADMIT, or why the login must be refused: a late one is BUSY, too, if one that is
 * not late would be.
 */
static unsigned int datblk_login_earlier_logins(struct datblk_export *export,
						const struct datblk_login *req,
						const struct sockaddr *peer)
{
	struct datblk_srv_login *login;
	bool late = false, ending = false;

	list_for_each_entry(login, &export->logins, of_export) {
		if (login->req.host != req->host)
			continue;
		if (datblk_login_late(req, &login->req))
			late = true;
		else if (datblk_login_replaces(req, &login->req))
			datblk_login_replace(login, req, peer);
		if (test_bit(DATBLK_CONN_DEAD, &login->conn->flags))
			ending = true;
	}
	if (ending)
		return DATBLK_REFUSE_BUSY;
	return late ? DATBLK_REFUSE_LATE : DATBLK_ADMIT;
}

/*
 * No host may take all connections of a device or a port, because nothing proves who it is.
 * datblk_srv_lock held. Returns NULL, or why there is no room
 */
static const char *datblk_login_crowded(const struct datblk_port *port,
					const struct datblk_export *export,
					const struct sockaddr *host)
{
	if (port->count >= datblk_connections)
		return "too many connections of the port (parameter connections)";
	if (export->count >= datblk_device_connections)
		return "too many connections to the device (parameter device_connections)";
	if (datblk_export_hosts(host) >= datblk_host_connections)
		return "too many connections of the host (parameter host_connections)";
	return NULL;
}

/*
 * datblk_srv_lock held. Returns DATBLK_ADMIT, and conn is on the lists, or why it is not. A login
 * without the right key learns nothing about the device, and affects nobody.
 */
static unsigned int datblk_login_admit(struct datblk_port *port, struct datblk_attempt *attempt,
				       struct datblk_connection *conn)
{
	const struct sockaddr *peer = attempt->param.remote_ia_address_ptr;
	struct datblk_login *req = &attempt->req;
	struct datblk_export *export;
	unsigned int status = datblk_auth_begin(attempt);

	if (status != DATBLK_ADMIT)
		return status;
	export = datblk_export_find(req->name);
	if (!export)
		return DATBLK_REFUSE_DEVICE;
	if (!datblk_login_address_allowed(export->clients, peer))
		return DATBLK_REFUSE_CLIENT;
	status = datblk_auth_check(export, attempt);
	if (status != DATBLK_ADMIT)
		return status;
	datblk_export_lost_writes(export, 0);
	status = datblk_login_earlier_logins(export, req, peer);
	if (status != DATBLK_ADMIT)
		return status;
	attempt->why = datblk_login_crowded(port, export, peer);
	if (attempt->why)
		return DATBLK_REFUSE_RESOURCES;
	datblk_login_grant(&req->limits);
	datblk_conn_admit(conn, port, export, req, peer);
	datblk_fill_welcome(&attempt->welcome, &req->limits, &conn->login.geo);
	datblk_auth_prove(export, attempt);
	return DATBLK_ADMIT;
}

static void datblk_login_reject(DAT_CR_HANDLE cr, unsigned int status)
{
	struct datblk_refusal refusal = {
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.status = cpu_to_le16(status),
	};

	dat_cr_reject(cr, sizeof(refusal), &refusal);
}

/* A connection may end at any time after its admission; then the accept has no effect */
static void datblk_login_accept(DAT_CR_HANDLE cr, struct datblk_connection *conn,
				struct datblk_welcome *welcome)
{
	if (datblk_conn_open(conn) || dat_cr_accept(cr, conn->ep, sizeof(*welcome), welcome)) {
		pr_warn_ratelimited("%s: no resources for %pISc\n", conn->login.req.name,
				    &conn->peer);
		datblk_conn_end(conn);
		datblk_login_reject(cr, DATBLK_REFUSE_RESOURCES);
	} else if (datblk_first_command) {
		queue_delayed_work(datblk_login_wq, &conn->first_command,
				   min(datblk_first_command, 3600U) * HZ);
	}
	complete(&conn->login_done);
}

/* Logins while an earlier connection ends, and late ones, are usual when a client connects again */
static void datblk_login_log_refusal(const struct datblk_attempt *attempt, unsigned int status)
{
	if (status != DATBLK_REFUSE_BUSY && status != DATBLK_REFUSE_LATE)
		pr_warn_ratelimited("%pISc: login to \"%s\" refused: %s\n",
				    attempt->param.remote_ia_address_ptr, attempt->req.name,
				    attempt->why ?: datblk_refusal_text(status));
}

static void datblk_login_refuse(DAT_CR_HANDLE cr, struct datblk_attempt *attempt,
				unsigned int status)
{
	if (status == DATBLK_CHALLENGED) {
		dat_cr_reject(cr, sizeof(attempt->transcript.challenge),
			      &attempt->transcript.challenge);
		return;
	}
	/* A name that was not checked is not printed */
	if (status == DATBLK_REFUSE_LOGIN)
		attempt->req.name[0] = 0;
	datblk_login_log_refusal(attempt, status);
	datblk_login_reject(cr, status);
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
		datblk_login_reject(cr, DATBLK_REFUSE_DEVICE);
}

static void datblk_login_answer(struct datblk_port *port, DAT_CR_HANDLE cr)
{
	struct datblk_attempt attempt = {};
	struct datblk_connection *conn;
	unsigned int status = DATBLK_REFUSE_RESOURCES;
	char after[DATBLK_NAME_MAX];

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &attempt.param))
		return;
	if (datblk_check_query(attempt.param.private_data, attempt.param.private_data_size,
			       after)) {
		datblk_login_list(cr, after, attempt.param.remote_ia_address_ptr);
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
		datblk_login_accept(cr, conn, &attempt.welcome);
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
