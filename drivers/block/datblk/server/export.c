// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that clients can use: they are opened, closed, and found by logins. Process context. A
 * work item opens a device, and closes it when its last connection has gone, so that nobody has to
 * wait for a device that hangs.
 *
 * Lost writes: if a flush or write-back of a device fails, any write since the last successful
 * flush may be lost, no matter which client issued it. The server gives the device a new instance
 * and ends all its connections. Each client sees the new instance when it reconnects, and decides
 * whether it has lost writes.
 *
 * No client may see a later flush succeed first. So flushes of a device are serialized by
 * flush_lock, which is held until the connections have been ended. A login reads the instance and
 * joins the list of logins under one hold of datblk_srv_lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "server.h"

static LIST_HEAD(exports);	/* datblk_srv_lock */

/**
 * datblk_export_find - find an enabled export
 * @name: its name
 *
 * Context: process, datblk_srv_lock held.
 * Return: the export, or NULL.
 */
struct datblk_export *datblk_export_find(const char *name)
{
	struct datblk_export *export;

	list_for_each_entry(export, &exports, link)
		if (export->state == DATBLK_ON &&
		    !strcmp(config_item_name(&export->group.cg_item), name))
			return export;
	return NULL;
}

/**
 * datblk_export_next - find the next export, by name, that a client may list
 * @after: the previous name, or ""
 * @peer:  address of the client
 *
 * Context: process, datblk_srv_lock held.
 * Return: the export, or NULL.
 */
struct datblk_export *datblk_export_next(const char *after, const struct sockaddr *peer)
{
	struct datblk_export *export, *next = NULL;
	const char *name, *least = NULL;

	list_for_each_entry(export, &exports, link) {
		name = config_item_name(&export->group.cg_item);
		if (strcmp(name, after) <= 0 || (next && strcmp(name, least) >= 0) ||
		    !datblk_login_may_list(export, peer))
			continue;
		next = export;
		least = name;
	}
	return next;
}

/**
 * datblk_export_claim - an export has opened its file
 * @export: the export
 * @file:   the file, which belongs to the export after a success
 *
 * A file that clients write has no other user among the exports, also while it is being closed.
 *
 * Context: process.
 * Return: 0 or -EBUSY.
 */
int datblk_export_claim(struct datblk_export *export, struct file *file)
{
	struct datblk_export *other;
	int err = 0;

	mutex_lock(&datblk_srv_lock);
	list_for_each_entry(other, &exports, link)
		if (other->file && file_inode(other->file) == file_inode(file) &&
		    (other->file->f_mode | file->f_mode) & FMODE_WRITE)
			err = -EBUSY;
	if (!err)
		export->file = file;
	mutex_unlock(&datblk_srv_lock);
	return err;
}

/**
 * datblk_export_end_connections - end the connections of all logins to an export
 * @export: the export; its clients may log in again
 *
 * Context: process, datblk_srv_lock held.
 */
void datblk_export_end_connections(struct datblk_export *export)
{
	struct datblk_srv_login *login;

	list_for_each_entry(login, &export->logins, of_export)
		if (!datblk_login_over(login))
			datblk_conn_end(login->conn);
}

/**
 * datblk_export_lost_writes - handle an error of a flush or of write-back
 * @export: an export with a file
 * @err:    result of the caller's flush; 0 if there was none
 *
 * Does nothing if @err is 0 and write-back has had no error since the last call. Otherwise it sets
 * a new instance and ends all connections of the export.
 *
 * Context: process, datblk_srv_lock held. A caller that has flushed also holds flush_lock.
 * Return: 0 or the error.
 */
int datblk_export_lost_writes(struct datblk_export *export, int err)
{
	int late = errseq_check_and_advance(&export->file->f_mapping->wb_err, &export->wb_err);

	if (!err && !late)
		return 0;
	pr_err_ratelimited("%s: write-back failed: %d; writes may be lost, disconnecting all clients\n",
			   config_item_name(&export->group.cg_item), err ?: late);
	export->instance = get_random_u64();
	export->losses++;
	datblk_export_end_connections(export);
	return err ?: late;
}

/**
 * datblk_export_lacks - the device or file of an export lacks an operation
 * @export: the export
 * @op:     the operation, which later welcomes do not offer
 *
 * Context: process.
 */
void datblk_export_lacks(struct datblk_export *export, u8 op)
{
	struct datblk_geometry *geo = &export->geo;

	mutex_lock(&datblk_srv_lock);
	if (op == DATBLK_OP_DISCARD) {
		geo->flags &= ~DATBLK_CAN_DISCARD;
		geo->discard_sectors = 0;
		geo->discard_granularity = 0;
	} else if (op == DATBLK_OP_ZEROES) {
		geo->flags &= ~DATBLK_CAN_ZEROES;
		geo->zeroes_sectors = 0;
	}
	mutex_unlock(&datblk_srv_lock);
}

/**
 * datblk_same_host - are two addresses equal, whatever the ports are?
 * @a: an IPv4 or IPv6 address
 * @b: another one
 *
 * Context: any.
 * Return: true if they are.
 */
bool datblk_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET6)
		return ipv6_addr_equal(&((const struct sockaddr_in6 *)a)->sin6_addr,
				       &((const struct sockaddr_in6 *)b)->sin6_addr);
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

/**
 * datblk_export_logins - count the logins of a host to an export
 * @export: the export
 * @host:   its address
 *
 * Context: process, datblk_srv_lock held.
 * Return: the number.
 */
unsigned int datblk_export_logins(const struct datblk_export *export,
				  const struct sockaddr *host)
{
	const struct datblk_srv_login *login;
	unsigned int count = 0;

	list_for_each_entry(login, &export->logins, of_export)
		count += datblk_same_host((struct sockaddr *)&login->conn->peer, host);
	return count;
}

/* Is this the first login of its connection that is on the list of an export? */
static bool datblk_login_is_first(const struct datblk_srv_login *login)
{
	const struct datblk_srv_login *first = login->conn->logins;

	while (!first->export)
		first++;
	return login == first;
}

/**
 * datblk_export_hosts - count the connections of a host to all exports
 * @host: its address
 *
 * Context: process, datblk_srv_lock held.
 * Return: the number.
 */
unsigned int datblk_export_hosts(const struct sockaddr *host)
{
	struct datblk_srv_login *login;
	struct datblk_export *export;
	unsigned int count = 0;

	list_for_each_entry(export, &exports, link)
		list_for_each_entry(login, &export->logins, of_export)
			count += datblk_login_is_first(login) &&
				 datblk_same_host((struct sockaddr *)&login->conn->peer, host);
	return count;
}

/* Ends the connections; a login finds no such device from now on. datblk_srv_lock held, state ON */
static void datblk_export_begin_close(struct datblk_export *export)
{
	WRITE_ONCE(export->state, DATBLK_CLOSING);
	datblk_export_end_connections(export);
	datblk_export_check(export);
}

static bool datblk_export_is_renewed(const struct datblk_export *export)
{
	const struct datblk_srv_login *login;

	list_for_each_entry(login, &export->logins, of_export)
		if (datblk_login_over(login))
			return false;
	return true;
}

/**
 * datblk_export_check - close an export, or end its renewal, if its connections have gone
 * @export: the export
 *
 * Does nothing if no task has begun to close or to renew it.
 *
 * Context: process, datblk_srv_lock held.
 */
void datblk_export_check(struct datblk_export *export)
{
	if (export->state == DATBLK_CLOSING && list_empty(&export->logins))
		queue_work(datblk_state_wq, &export->work);
	if (export->renewing && datblk_export_is_renewed(export)) {
		WRITE_ONCE(export->renewing, false);
		wake_up_all(&datblk_srv_settled);
	}
}

/* Each export has its own workqueue, so that I/O that hangs delays no other export */
static int datblk_export_create_queue(struct datblk_export *export)
{
	export->io_wq = alloc_workqueue("dbio_%.18s", WQ_UNBOUND | WQ_MEM_RECLAIM, 0,
					config_item_name(&export->group.cg_item));
	return export->io_wq ? 0 : -ENOMEM;
}

static int datblk_export_open_path(struct datblk_export *export)
{
	int err = datblk_export_create_queue(export);

	if (!err) {
		err = datblk_backing_open(export);
		if (err)
			destroy_workqueue(export->io_wq);
	}
	path_put(&export->root);
	if (err)
		pr_err("cannot enable %s: %d\n",
		       config_item_name(&export->group.cg_item), err);
	return err;
}

static void datblk_export_close_path(struct datblk_export *export)
{
	destroy_workqueue(export->io_wq);
	datblk_backing_close(export);
}

/* The state, OPENING or CLOSING, keeps others away from the export */
static void datblk_export_change_state(struct work_struct *work)
{
	struct datblk_export *export = container_of(work, struct datblk_export, work);
	bool opening = READ_ONCE(export->state) == DATBLK_OPENING, removed;
	/* Clients, perhaps one in this machine that swaps to the export, wait until it is open */
	unsigned int noio = memalloc_noio_save();
	int err = 0;

	if (opening)
		err = datblk_export_open_path(export);
	else
		datblk_export_close_path(export);
	mutex_lock(&datblk_srv_lock);
	export->err = err;
	WRITE_ONCE(export->state, opening && !err ? DATBLK_ON : DATBLK_OFF);
	if (export->state == DATBLK_ON && !export->wanted)
		datblk_export_begin_close(export);
	removed = export->removed && export->state == DATBLK_OFF;
	if (removed)
		list_del(&export->link);
	mutex_unlock(&datblk_srv_lock);
	wake_up_all(&datblk_srv_settled);
	memalloc_noio_restore(noio);
	if (!removed)
		return;
	config_item_put(&export->group.cg_item);
	/* The exit of the module waits for this work item */
	module_put(THIS_MODULE);
}

/**
 * datblk_export_enable - open the path of an export, and let clients use it
 * @export: the export; nothing happens if they can use it
 *
 * Context: process.
 * Return: 0; -EBUSY while it is being closed; why the path cannot be opened; or as
 * datblk_srv_wait().
 */
int datblk_export_enable(struct datblk_export *export)
{
	bool closing;
	int err;

	mutex_lock(&datblk_srv_lock);
	closing = export->state == DATBLK_CLOSING;
	export->wanted = !closing;
	if (export->state == DATBLK_OFF) {
		WRITE_ONCE(export->state, DATBLK_OPENING);
		get_fs_root(current->fs, &export->root);
		queue_work(datblk_state_wq, &export->work);
	}
	mutex_unlock(&datblk_srv_lock);
	if (closing)
		return -EBUSY;
	err = datblk_srv_wait(&export->state);
	return err ?: READ_ONCE(export->err);
}

/**
 * datblk_export_disable - end all connections of an export, close it, and wait for that
 * @export: the export; nothing happens if it is off
 *
 * Context: process.
 * Return: as datblk_srv_wait().
 */
int datblk_export_disable(struct datblk_export *export)
{
	mutex_lock(&datblk_srv_lock);
	export->wanted = false;
	if (export->state == DATBLK_ON)
		datblk_export_begin_close(export);
	mutex_unlock(&datblk_srv_lock);
	return datblk_srv_wait(&export->state);
}

/*
 * Clients learn the properties of a device when they log in. So after a change all connections end,
 * and the clients connect again at once. datblk_srv_lock held, state ON
 */
static void datblk_export_renew(struct datblk_export *export)
{
	WRITE_ONCE(export->renewing, true);
	datblk_export_end_connections(export);
	datblk_export_check(export);
}

/* Waits until commands that came before the change have ended */
static int datblk_export_wait_renewed(const struct datblk_export *export)
{
	long left = wait_event_killable_timeout(datblk_srv_settled, !READ_ONCE(export->renewing),
						DATBLK_SRV_WAIT);

	return left > 0 ? 0 : left ?: -EINPROGRESS;
}

/**
 * datblk_export_set_read_only - forbid or allow writes
 * @export: the export, which may be enabled
 * @value:  true: clients cannot write
 *
 * Context: process.
 * Return: 0, and no write that is now forbidden is in flight; -EBUSY if the export is being opened
 * or closed, or is open for reading only; -EINPROGRESS if an earlier write takes long; or
 * -ERESTARTSYS if the task is killed. In the last two cases the change is made nevertheless.
 */
int datblk_export_set_read_only(struct datblk_export *export, bool value)
{
	int err = 0;

	mutex_lock(&datblk_srv_lock);
	if (export->state == DATBLK_OFF) {
		export->read_only = value;
	} else if (export->state != DATBLK_ON || !(export->file->f_mode & FMODE_WRITE)) {
		err = -EBUSY;
	} else if (export->read_only != value) {
		export->read_only = value;
		export->geo.flags ^= DATBLK_READONLY;
		datblk_export_renew(export);
	}
	mutex_unlock(&datblk_srv_lock);
	return err ?: datblk_export_wait_renewed(export);
}

/**
 * datblk_export_revalidate_size - tell clients that the device or file has become larger
 * @export: the export
 *
 * Context: process.
 * Return: 0; -ENODEV if it is not enabled; -ERANGE if it has become smaller, or is too large: then
 * nothing changes; or as datblk_export_set_read_only().
 */
int datblk_export_revalidate_size(struct datblk_export *export)
{
	u64 capacity;
	int err = 0;

	mutex_lock(&datblk_srv_lock);
	if (export->state != DATBLK_ON) {
		err = -ENODEV;
	} else {
		capacity = datblk_backing_capacity(export, export->file);
		if (capacity < export->geo.capacity || capacity > DATBLK_SECTOR_MAX) {
			err = -ERANGE;
		} else if (capacity != export->geo.capacity) {
			export->geo.capacity = capacity;
			datblk_export_renew(export);
		}
	}
	mutex_unlock(&datblk_srv_lock);
	return err ?: datblk_export_wait_renewed(export);
}

/**
 * datblk_export_remove - an export is removed from configfs
 * @export: the export. The caller has a reference, too
 *
 * Context: process. Does not wait for the I/O: others wait for configfs meanwhile.
 */
void datblk_export_remove(struct datblk_export *export)
{
	mutex_lock(&datblk_srv_lock);
	export->wanted = false;
	if (export->state == DATBLK_OFF) {
		list_del(&export->link);
	} else {
		export->removed = true;
		config_item_get(&export->group.cg_item);
		__module_get(THIS_MODULE);
	}
	if (export->state == DATBLK_ON)
		datblk_export_begin_close(export);
	mutex_unlock(&datblk_srv_lock);
}

/**
 * datblk_export_create - allocate an export
 *
 * Context: process.
 * Return: the export, which is off, or NULL.
 */
struct datblk_export *datblk_export_create(void)
{
	struct datblk_export *export = kzalloc(sizeof(*export), GFP_KERNEL);

	if (!export)
		return NULL;
	export->path = kzalloc(PATH_MAX, GFP_KERNEL);
	if (!export->path) {
		kfree(export);
		return NULL;
	}
	INIT_LIST_HEAD(&export->logins);
	INIT_LIST_HEAD(&export->host_keys);
	mutex_init(&export->flush_lock);
	uuid_gen(&export->uuid);
	export->instance = get_random_u64();
	INIT_WORK(&export->work, datblk_export_change_state);
	return export;
}

/**
 * datblk_export_list - put a new export on the list
 * @export: the export
 *
 * Context: process.
 */
void datblk_export_list(struct datblk_export *export)
{
	mutex_lock(&datblk_srv_lock);
	list_add(&export->link, &exports);
	mutex_unlock(&datblk_srv_lock);
}

/**
 * datblk_export_free - free an export that is off and on no list
 * @export: the export
 *
 * Context: process.
 */
void datblk_export_free(struct datblk_export *export)
{
	datblk_auth_free(export);
	kfree(export->path);
	kfree(export);
}
