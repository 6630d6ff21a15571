// SPDX-License-Identifier: GPL-2.0
/*
 * A port of the server: listens for connection requests, and stops. Process context. A work item
 * closes a port when its last connection has ended, so that nobody has to wait for that.
 */
#include <linux/module.h>
#include "server.h"

#define BACKLOG		64

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

/* port->config held */
static int start(struct datblk_port *port)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall, .instance_data = port };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_ia_open(port->ia_name, 8, &async, &port->ia);

	if (ret) {
		pr_err("datblk_server: cannot open %s: %s\n", port->ia_name, kdat_strerror(ret));
		return -ENODEV;
	}
	ret = dat_evd_kcreate(port->ia, BACKLOG, DAT_UPCALL_NOTIFY, &object, DAT_EVD_CR_FLAG,
			      &port->evd) ?:
	      dat_psp_create(port->ia, port->qual, port->evd, DAT_PSP_CONSUMER_FLAG, &port->psp);
	if (ret) {
		pr_err("datblk_server: cannot listen on %s, %u: %s\n", port->ia_name, port->qual,
		       kdat_strerror(ret));
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
		queue_work(datblk_close_wq, &port->close);
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
	mutex_unlock(&port->config);
	wake_up_all(&datblk_srv_closed);
	if (!removed)
		return;
	config_item_put(&port->group.cg_item);
	/* The exit of the module waits for this work item */
	module_put(THIS_MODULE);
}

/**
 * datblk_port_enable - listen
 * @port: the port; nothing happens if it listens
 *
 * Context: process.
 * Return: 0, -EBUSY while the port is being closed, or another error code.
 */
int datblk_port_enable(struct datblk_port *port)
{
	int err = 0;

	mutex_lock(&port->config);
	if (port->state == DATBLK_CLOSING)
		err = -EBUSY;
	else if (port->state == DATBLK_OFF)
		err = start(port);
	mutex_unlock(&port->config);
	return err;
}

/**
 * datblk_port_disable - stop listening, end all connections of a port, and wait for that
 * @port: the port; nothing happens if it is off
 *
 * Context: process.
 * Return: 0, or -ERESTARTSYS if the task is killed. Then the work goes on.
 */
int datblk_port_disable(struct datblk_port *port)
{
	mutex_lock(&port->config);
	if (port->state == DATBLK_ON)
		unlisten(port);
	mutex_unlock(&port->config);
	return wait_event_killable(datblk_srv_closed,
				   READ_ONCE(port->state) != DATBLK_CLOSING);
}

/**
 * datblk_port_remove - a port is removed from configfs
 * @port: the port. The caller has a reference, too
 *
 * Context: process. Does not wait for the connections: others wait for configfs meanwhile.
 */
void datblk_port_remove(struct datblk_port *port)
{
	mutex_lock(&port->config);
	if (port->state != DATBLK_OFF) {
		port->removed = true;
		config_item_get(&port->group.cg_item);
		__module_get(THIS_MODULE);
	}
	if (port->state == DATBLK_ON)
		unlisten(port);
	mutex_unlock(&port->config);
}
