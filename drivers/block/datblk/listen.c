// SPDX-License-Identifier: GPL-2.0
/*
 * A port of the server: listens for connection requests, and stops. Process context. A work item
 * closes a port when its last connection has ended, so that nobody has to wait for that. A port
 * whose RDMA device was removed is closed, and listens again when a device of this name has come.
 */
#include <linux/module.h>
#include "server.h"

#define BACKLOG		64
#define RETRY		HZ	/* a device often comes before its address */

static LIST_HEAD(ports);	/* datblk_srv_lock */

static void upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct datblk_port *port = instance;

	queue_work(datblk_login_wq, &port->login);
}

/* Both locks guard the state, so that either is enough to read it */
static void set_state(struct datblk_port *port, enum datblk_srv_state state)
{
	mutex_lock(&datblk_srv_lock);
	WRITE_ONCE(port->state, state);
	mutex_unlock(&datblk_srv_lock);
}

/* port->config held. Prints an error only if the administrator waits for it */
static int start(struct datblk_port *port, bool print)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall, .instance_data = port };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	/* What the watch reports later may concern the device that is opened now */
	WRITE_ONCE(port->stale, false);
	WRITE_ONCE(port->absent, false);
	ret = dat_ia_open(port->ia_name, 8, &async, &port->ia);
	if (ret) {
		if (print)
			pr_err("datblk_server: cannot open %s: %s\n", port->ia_name,
			       kdat_strerror(ret));
		return -ENODEV;
	}
	ret = dat_evd_kcreate(port->ia, BACKLOG, DAT_UPCALL_NOTIFY, &object, DAT_EVD_CR_FLAG,
			      &port->evd) ?:
	      dat_psp_create(port->ia, port->qual, port->evd, DAT_PSP_CONSUMER_FLAG, &port->psp);
	if (ret) {
		if (print)
			pr_err("datblk_server: cannot listen on %s, %u: %s\n", port->ia_name,
			       port->qual, kdat_strerror(ret));
		dat_ia_close(port->ia, DAT_CLOSE_ABRUPT_FLAG);
		return DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE ? -EADDRINUSE : -EIO;
	}
	set_state(port, DATBLK_ON);
	return 0;
}

/* Stops listening, and begins to end all connections. port->config held, state ON */
static void unlisten(struct datblk_port *port)
{
	struct datblk_connection *conn;

	dat_psp_free(port->psp);
	dat_evd_modify_upcall(port->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	cancel_work_sync(&port->login);
	mutex_lock(&datblk_srv_lock);
	WRITE_ONCE(port->state, DATBLK_CLOSING);
	list_for_each_entry(conn, &port->connections, of_port)
		datblk_conn_end(conn);
	datblk_port_check(port);
	mutex_unlock(&datblk_srv_lock);
}

/**
 * datblk_port_check - close a port if it is to be closed and its last connection has ended
 * @port: the port
 *
 * Context: process, datblk_srv_lock held.
 */
void datblk_port_check(struct datblk_port *port)
{
	if (port->state == DATBLK_CLOSING && !port->count)
		queue_work(datblk_state_wq, &port->close);
}

/**
 * datblk_port_close - close a port whose connections have ended
 * @work: in the port
 *
 * Context: process.
 */
void datblk_port_close(struct work_struct *work)
{
	struct datblk_port *port = container_of(work, struct datblk_port, close);
	bool removed;

	dat_ia_close(port->ia, DAT_CLOSE_ABRUPT_FLAG);
	mutex_lock(&port->config);
	set_state(port, DATBLK_OFF);
	removed = port->removed;
	if (port->wanted)
		mod_delayed_work(system_long_wq, &port->revive, 0);
	mutex_unlock(&port->config);
	wake_up_all(&datblk_srv_settled);
	if (!removed)
		return;
	config_item_put(&port->group.cg_item);
	/* The exit of the module waits for this work item */
	module_put(THIS_MODULE);
}

/**
 * datblk_port_revive - the RDMA device of a port has gone or come
 * @work: in the port
 *
 * Context: process.
 */
void datblk_port_revive(struct work_struct *work)
{
	struct datblk_port *port = container_of(to_delayed_work(work), struct datblk_port, revive);

	mutex_lock(&port->config);
	if (port->state == DATBLK_ON && READ_ONCE(port->stale)) {
		pr_warn("datblk_server: the device of %s has gone\n", port->ia_name);
		unlisten(port);
	} else if (port->state == DATBLK_OFF && port->wanted && !READ_ONCE(port->absent)) {
		if (start(port, false))
			mod_delayed_work(system_long_wq, &port->revive, RETRY);
		else
			pr_info("datblk_server: listening on %s again\n", port->ia_name);
	}
	mutex_unlock(&port->config);
}

/* The name of a port's IA may have an address after that of the registry */
static bool names(const char *ia_name, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(ia_name, name, length) && (!ia_name[length] || ia_name[length] == '@');
}

static void changed(DAT_PVOID context, DAT_NAME_PTR name, DAT_BOOLEAN present)
{
	struct datblk_port *port;

	mutex_lock(&datblk_srv_lock);
	list_for_each_entry(port, &ports, link) {
		if (!names(port->ia_name, name))
			continue;
		if (!present)
			WRITE_ONCE(port->stale, true);
		WRITE_ONCE(port->absent, !present);
		mod_delayed_work(system_long_wq, &port->revive, 0);
	}
	mutex_unlock(&datblk_srv_lock);
}

static struct kdat_registry_watch watch = { .callback = changed };

/**
 * datblk_port_watch - begin to watch RDMA devices come and go
 *
 * Context: process, load of the module.
 * Return: 0 or -EIO.
 */
int datblk_port_watch(void)
{
	return kdat_registry_notify(&watch) ? -EIO : 0;
}

/**
 * datblk_port_unwatch - undo datblk_port_watch()
 *
 * Context: process, unload of the module.
 */
void datblk_port_unwatch(void)
{
	kdat_registry_unnotify(&watch);
}

/**
 * datblk_port_list - put a new port on the list
 * @port: the port
 *
 * Context: process.
 */
void datblk_port_list(struct datblk_port *port)
{
	mutex_lock(&datblk_srv_lock);
	list_add(&port->link, &ports);
	mutex_unlock(&datblk_srv_lock);
}

/**
 * datblk_port_enable - listen
 * @port: the port; nothing happens if it listens, or waits for its device
 *
 * Context: process.
 * Return: 0, -EBUSY while the port is being closed, or another error code.
 */
int datblk_port_enable(struct datblk_port *port)
{
	int err = 0;

	mutex_lock(&port->config);
	if (!port->wanted)
		err = port->state == DATBLK_OFF ? start(port, true) : -EBUSY;
	if (!err)
		port->wanted = true;
	mutex_unlock(&port->config);
	return err;
}

/**
 * datblk_port_disable - stop listening, end all connections of a port, and wait for that
 * @port: the port; nothing happens if it is off
 *
 * Context: process.
 * Return: as datblk_srv_wait().
 */
int datblk_port_disable(struct datblk_port *port)
{
	mutex_lock(&port->config);
	port->wanted = false;
	if (port->state == DATBLK_ON)
		unlisten(port);
	mutex_unlock(&port->config);
	return datblk_srv_wait(&port->state);
}

/**
 * datblk_port_remove - a port is removed from configfs
 * @port: the port. The caller has a reference, too
 *
 * Context: process. Does not wait for the connections: others wait for configfs meanwhile.
 */
void datblk_port_remove(struct datblk_port *port)
{
	mutex_lock(&datblk_srv_lock);
	list_del(&port->link);
	mutex_unlock(&datblk_srv_lock);
	mutex_lock(&port->config);
	port->wanted = false;
	if (port->state != DATBLK_OFF) {
		port->removed = true;
		config_item_get(&port->group.cg_item);
		__module_get(THIS_MODULE);
	}
	if (port->state == DATBLK_ON)
		unlisten(port);
	mutex_unlock(&port->config);
	/* Nobody queues it any more */
	cancel_delayed_work_sync(&port->revive);
}
