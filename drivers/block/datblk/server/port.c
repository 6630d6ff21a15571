// SPDX-License-Identifier: GPL-2.0
/*
 * A port of the server: listens for connection requests, and stops. Process context. A work item
 * closes a port when its last connection has ended, so that nobody has to wait for that. A port
 * whose RDMA device has failed or was removed is closed. Then it tries every second to open its IA
 * by name, until it listens again. The name may by then refer to another device.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/sched/mm.h>
#include "server.h"

#define BACKLOG		64
#define RETRY		HZ

static void datblk_port_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct datblk_port *port = instance;

	queue_work(datblk_login_wq, &port->login);
}

static void datblk_port_async_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct datblk_port *port = instance;

	if (event->event_number != DAT_ASYNC_ERROR_IA_CATASTROPHIC)
		return;
	WRITE_ONCE(port->lost, true);
	mod_delayed_work(datblk_state_wq, &port->follow_device, 0);
}

/* Both locks guard the state, so that either is enough to read it */
static void datblk_port_set_state(struct datblk_port *port, enum datblk_srv_state state)
{
	mutex_lock(&datblk_srv_lock);
	WRITE_ONCE(port->state, state);
	mutex_unlock(&datblk_srv_lock);
}

/* port->config held. Prints an error only if the administrator waits for it */
static int datblk_port_start(struct datblk_port *port, bool print)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = datblk_port_upcall, .instance_data = port };
	DAT_UPCALL_OBJECT async = {
		.upcall_func = datblk_port_async_upcall,
		.instance_data = port,
	};
	DAT_RETURN ret;

	port->async = DAT_HANDLE_NULL;
	WRITE_ONCE(port->lost, false);
	ret = dat_ia_open(port->ia_name, 8, &port->async, &port->ia);
	if (ret) {
		if (print)
			pr_err("cannot open %s: %s\n", port->ia_name,
			       kdat_strerror(ret));
		return -ENODEV;
	}
	ret = dat_evd_kcreate(port->ia, BACKLOG, DAT_UPCALL_NOTIFY, &object, DAT_EVD_CR_FLAG,
			      &port->evd) ?:
	      dat_psp_create(port->ia, port->qual, port->evd, DAT_PSP_CONSUMER_FLAG, &port->psp) ?:
	      dat_evd_modify_upcall(port->async, DAT_UPCALL_SINGLE_INSTANCE, &async,
				    DAT_UPCALL_INVOC_ANY);
	if (ret) {
		if (print)
			pr_err("cannot listen on %s, %u: %s\n", port->ia_name,
			       port->qual, kdat_strerror(ret));
		dat_ia_close(port->ia, DAT_CLOSE_ABRUPT_FLAG);
		return DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE ? -EADDRINUSE : -EIO;
	}
	datblk_port_set_state(port, DATBLK_ON);
	return 0;
}

/* Stops listening, and begins to end all connections. port->config held, state ON */
static void datblk_port_unlisten(struct datblk_port *port)
{
	struct datblk_connection *conn;

	dat_psp_free(port->psp);
	dat_evd_modify_upcall(port->async, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
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
	unsigned int noio = memalloc_noio_save();
	bool removed;

	dat_ia_close(port->ia, DAT_CLOSE_ABRUPT_FLAG);
	memalloc_noio_restore(noio);
	mutex_lock(&port->config);
	datblk_port_set_state(port, DATBLK_OFF);
	removed = port->removed;
	if (port->wanted)
		mod_delayed_work(datblk_state_wq, &port->follow_device, 0);
	mutex_unlock(&port->config);
	wake_up_all(&datblk_srv_settled);
	if (!removed)
		return;
	config_item_put(&port->group.cg_item);
	/* The exit of the module waits for this work item */
	module_put(THIS_MODULE);
}

/**
 * datblk_port_follow_device - close a port whose device has gone, or try to listen again
 * @work: in the port
 *
 * Context: process.
 */
void datblk_port_follow_device(struct work_struct *work)
{
	struct datblk_port *port = container_of(to_delayed_work(work), struct datblk_port,
						follow_device);
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&port->config);
	if (port->state == DATBLK_ON && READ_ONCE(port->lost)) {
		pr_warn("port %s: the RDMA device of %s has failed or was removed; waiting for it\n",
			config_item_name(&port->group.cg_item), port->ia_name);
		datblk_port_unlisten(port);
	} else if (port->state == DATBLK_OFF && port->wanted) {
		if (datblk_port_start(port, false))
			mod_delayed_work(datblk_state_wq, &port->follow_device, RETRY);
		else
			pr_info("port %s: listening on %s again\n",
				config_item_name(&port->group.cg_item), port->ia_name);
	}
	mutex_unlock(&port->config);
	memalloc_noio_restore(noio);
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
		err = port->state == DATBLK_OFF ? datblk_port_start(port, true) : -EBUSY;
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
		datblk_port_unlisten(port);
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
	bool off;

	mutex_lock(&port->config);
	port->wanted = false;
	off = port->state == DATBLK_OFF;
	if (!off) {
		port->removed = true;
		config_item_get(&port->group.cg_item);
		__module_get(THIS_MODULE);
	}
	if (port->state == DATBLK_ON)
		datblk_port_unlisten(port);
	mutex_unlock(&port->config);
	/* Nobody queues it any more */
	cancel_delayed_work_sync(&port->follow_device);
	/* It may still use the port after it has set the state */
	if (off)
		flush_work(&port->close);
}
