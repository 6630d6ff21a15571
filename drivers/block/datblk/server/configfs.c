// SPDX-License-Identifier: GPL-2.0
/*
 * Ports and devices in configfs, and the module. Process context.
 *
 *	/sys/kernel/config/datblk/ports/NAME/	ia qual enable
 *	/sys/kernel/config/datblk/devices/NAME/	path uuid direct read_only revalidate_size clients
 *						key host_keys enable connections losses refused
 */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "server.h"

/* See server.h */
DEFINE_MUTEX(datblk_srv_lock);
DECLARE_WAIT_QUEUE_HEAD(datblk_srv_settled);

unsigned int datblk_depth = 32;
module_param_named(depth, datblk_depth, uint, 0644);
MODULE_PARM_DESC(depth, "tags of a connection, at most 128");

unsigned int datblk_io_kib = 256;
module_param_named(io_kib, datblk_io_kib, uint, 0644);
MODULE_PARM_DESC(io_kib, "KiB of a read or write, at most 1024; a connection allocates up to 1.25 times depth times this");

unsigned int datblk_connections = 256;
module_param_named(connections, datblk_connections, uint, 0644);
MODULE_PARM_DESC(connections, "connections of a port");

unsigned int datblk_device_connections = 128;
module_param_named(device_connections, datblk_device_connections, uint, 0644);
MODULE_PARM_DESC(device_connections, "logins to a device; a connection may have several");

unsigned int datblk_host_connections = 64;
module_param_named(host_connections, datblk_host_connections, uint, 0644);
MODULE_PARM_DESC(host_connections, "connections of an address, and its logins to each device");

unsigned int datblk_first_command = 30;
module_param_named(first_command, datblk_first_command, uint, 0644);
MODULE_PARM_DESC(first_command, "seconds until a connection must have sent a command; 0: no limit");

struct workqueue_struct *datblk_login_wq, *datblk_end_wq, *datblk_state_wq;

/* Room for the longest key, and for one digit more, which is refused */
#define KEY_TEXT	(2 * 64 + 2)

static bool datblk_srv_is_settled(enum datblk_srv_state state)
{
	return state == DATBLK_OFF || state == DATBLK_ON;
}

/**
 * datblk_srv_wait - wait until an export or a port is on or off
 * @state: its state
 *
 * Context: process.
 * Return: 0; -EINPROGRESS if it takes long; or -ERESTARTSYS if the task is killed. The state
 * changes nevertheless.
 */
int datblk_srv_wait(const enum datblk_srv_state *state)
{
	long left = wait_event_killable_timeout(datblk_srv_settled,
						datblk_srv_is_settled(READ_ONCE(*state)),
						DATBLK_SRV_WAIT);

	return left > 0 ? 0 : left ?: -EINPROGRESS;
}

/* Copies a line without the spaces around it. Returns its length, or -ENAMETOOLONG */
static ssize_t datblk_copy_line(char *to, size_t room, const char *page, size_t count)
{
	while (count && isspace(page[count - 1]))
		count--;
	while (count && isspace(*page)) {
		page++;
		count--;
	}
	if (count >= room)
		return -ENAMETOOLONG;
	memcpy(to, page, count);
	to[count] = 0;
	return count;
}

static struct datblk_export *datblk_to_export(struct config_item *item)
{
	return container_of(to_config_group(item), struct datblk_export, group);
}

static ssize_t device_path_show(struct config_item *item, char *page)
{
	struct datblk_export *export = datblk_to_export(item);
	ssize_t size;

	mutex_lock(&datblk_srv_lock);
	size = sysfs_emit(page, "%s\n", export->path);
	mutex_unlock(&datblk_srv_lock);
	return size;
}

static ssize_t device_path_store(struct config_item *item, const char *page, size_t count)
{
	struct datblk_export *export = datblk_to_export(item);
	ssize_t ret;

	mutex_lock(&datblk_srv_lock);
	ret = export->state != DATBLK_OFF ? -EBUSY :
	      datblk_copy_line(export->path, PATH_MAX, page, count);
	/* The UUID belongs to the device behind the path */
	if (ret >= 0)
		uuid_gen(&export->uuid);
	mutex_unlock(&datblk_srv_lock);
	return ret < 0 ? ret : count;
}
CONFIGFS_ATTR(device_, path);

static ssize_t device_uuid_show(struct config_item *item, char *page)
{
	struct datblk_export *export = datblk_to_export(item);
	ssize_t size;

	mutex_lock(&datblk_srv_lock);
	size = sysfs_emit(page, "%pUb\n", &export->uuid);
	mutex_unlock(&datblk_srv_lock);
	return size;
}

static ssize_t device_uuid_store(struct config_item *item, const char *page, size_t count)
{
	struct datblk_export *export = datblk_to_export(item);
	char text[UUID_STRING_LEN + 1];
	uuid_t uuid;
	ssize_t ret = datblk_copy_line(text, sizeof(text), page, count);

	if (ret < 0 || uuid_parse(text, &uuid) || uuid_is_null(&uuid))
		return -EINVAL;
	mutex_lock(&datblk_srv_lock);
	ret = export->state != DATBLK_OFF ? -EBUSY : 0;
	if (!ret)
		uuid_copy(&export->uuid, &uuid);
	mutex_unlock(&datblk_srv_lock);
	return ret ?: count;
}
CONFIGFS_ATTR(device_, uuid);

static ssize_t device_read_only_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", datblk_to_export(item)->read_only);
}

static ssize_t device_read_only_store(struct config_item *item, const char *page, size_t count)
{
	bool value;
	int err = kstrtobool(page, &value);

	return err ?: datblk_export_set_read_only(datblk_to_export(item), value) ?: count;
}
CONFIGFS_ATTR(device_, read_only);

static ssize_t device_direct_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", datblk_to_export(item)->direct);
}

static ssize_t device_direct_store(struct config_item *item, const char *page, size_t count)
{
	struct datblk_export *export = datblk_to_export(item);
	bool value;
	int err = kstrtobool(page, &value);

	if (err)
		return err;
	mutex_lock(&datblk_srv_lock);
	if (export->state != DATBLK_OFF)
		err = -EBUSY;
	else
		export->direct = value;
	mutex_unlock(&datblk_srv_lock);
	return err ?: count;
}
CONFIGFS_ATTR(device_, direct);

/* As in nvmet: the administrator says when the device has grown */
static ssize_t device_revalidate_size_store(struct config_item *item, const char *page,
					    size_t count)
{
	bool value;
	int err = kstrtobool(page, &value);

	if (!err && !value)
		err = -EINVAL;
	return err ?: datblk_export_revalidate_size(datblk_to_export(item)) ?: count;
}
CONFIGFS_ATTR_WO(device_, revalidate_size);

static ssize_t device_clients_show(struct config_item *item, char *page)
{
	struct datblk_export *export = datblk_to_export(item);
	ssize_t size;

	mutex_lock(&datblk_srv_lock);
	size = sysfs_emit(page, "%s\n", export->clients);
	mutex_unlock(&datblk_srv_lock);
	return size;
}

/* A change affects later logins, also while the device is enabled */
static ssize_t device_clients_store(struct config_item *item, const char *page, size_t count)
{
	struct datblk_export *export = datblk_to_export(item);
	ssize_t ret;

	mutex_lock(&datblk_srv_lock);
	ret = datblk_copy_line(export->clients, sizeof(export->clients), page, count);
	mutex_unlock(&datblk_srv_lock);
	return ret < 0 ? ret : count;
}
CONFIGFS_ATTR(device_, clients);

/* Keys are not shown, and nothing of them remains in the page, which configfs does not use again */
static void datblk_wipe_page(const char *page, size_t count)
{
	memzero_explicit((char *)page, count);
}

static ssize_t device_key_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(datblk_to_export(item)->key));
}

/* An empty line removes the key */
static ssize_t device_key_store(struct config_item *item, const char *page, size_t count)
{
	char hex[KEY_TEXT];
	ssize_t ret = datblk_copy_line(hex, sizeof(hex), page, count);

	datblk_wipe_page(page, count);
	if (ret >= 0)
		ret = datblk_auth_set_key(datblk_to_export(item), hex);
	memzero_explicit(hex, sizeof(hex));
	return ret ?: count;
}
CONFIGFS_ATTR(device_, key);

static ssize_t device_host_keys_show(struct config_item *item, char *page)
{
	return datblk_auth_show_hosts(datblk_to_export(item), page);
}

/* "HOST KEY" sets the key of a host, "HOST" removes it */
static ssize_t device_host_keys_store(struct config_item *item, const char *page, size_t count)
{
	char text[KEY_TEXT + 24], *hex = text, *number;
	ssize_t ret = datblk_copy_line(text, sizeof(text), page, count);
	u64 host = 0;

	datblk_wipe_page(page, count);
	if (ret >= 0) {
		number = strsep(&hex, " \t");
		ret = kstrtou64(number, 0, &host) || !host ? -EINVAL :
		      datblk_auth_set_host_key(datblk_to_export(item), host,
					       hex ? skip_spaces(hex) : "");
	}
	memzero_explicit(text, sizeof(text));
	return ret ?: count;
}
CONFIGFS_ATTR(device_, host_keys);

static ssize_t device_refused_show(struct config_item *item, char *page)
{
	struct datblk_export *export = datblk_to_export(item);
	u64 refused;

	mutex_lock(&datblk_srv_lock);
	refused = export->refused;
	mutex_unlock(&datblk_srv_lock);
	return sysfs_emit(page, "%llu\n", refused);
}
CONFIGFS_ATTR_RO(device_, refused);

static ssize_t device_connections_show(struct config_item *item, char *page)
{
	struct datblk_export *export = datblk_to_export(item);
	struct datblk_srv_login *login;
	ssize_t size = 0;

	mutex_lock(&datblk_srv_lock);
	list_for_each_entry(login, &export->logins, of_export)
		size += sysfs_emit_at(page, size,
				      "%pISc host %016llx disk %u queue %u of %u depth %u\n",
				      &login->conn->peer, login->req.host, login->req.disk,
				      login->req.queue, login->req.queues,
				      login->req.limits.depth);
	mutex_unlock(&datblk_srv_lock);
	return size;
}
CONFIGFS_ATTR_RO(device_, connections);

static ssize_t device_losses_show(struct config_item *item, char *page)
{
	struct datblk_export *export = datblk_to_export(item);
	u64 losses;

	mutex_lock(&datblk_srv_lock);
	losses = export->losses;
	mutex_unlock(&datblk_srv_lock);
	return sysfs_emit(page, "%llu\n", losses);
}
CONFIGFS_ATTR_RO(device_, losses);

static ssize_t device_enable_show(struct config_item *item, char *page)
{
	static const char *const texts[] = {
		[DATBLK_OFF] = "0", [DATBLK_OPENING] = "opening",
		[DATBLK_ON] = "1", [DATBLK_CLOSING] = "closing",
	};

	return sysfs_emit(page, "%s\n", texts[READ_ONCE(datblk_to_export(item)->state)]);
}

static ssize_t device_enable_store(struct config_item *item, const char *page, size_t count)
{
	bool value;
	int err = kstrtobool(page, &value);

	if (err)
		return err;
	err = value ? datblk_export_enable(datblk_to_export(item)) :
		      datblk_export_disable(datblk_to_export(item));
	return err ?: count;
}
CONFIGFS_ATTR(device_, enable);

static struct configfs_attribute *device_attrs[] = {
	&device_attr_path, &device_attr_uuid, &device_attr_direct, &device_attr_read_only,
	&device_attr_revalidate_size, &device_attr_clients, &device_attr_key,
	&device_attr_host_keys, &device_attr_connections, &device_attr_losses,
	&device_attr_refused, &device_attr_enable, NULL,
};

static void datblk_device_release(struct config_item *item)
{
	datblk_export_free(datblk_to_export(item));
}

static struct configfs_item_operations device_ops = { .release = datblk_device_release };

static const struct config_item_type device_type = {
	.ct_item_ops = &device_ops,
	.ct_attrs = device_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_group *datblk_device_make(struct config_group *group, const char *name)
{
	char padded[DATBLK_NAME_MAX] = {};
	struct datblk_export *export;

	if (strscpy(padded, name, sizeof(padded)) < 0)
		return ERR_PTR(-ENAMETOOLONG);
	if (!datblk_name_ok(padded))
		return ERR_PTR(-EINVAL);
	export = datblk_export_create();
	if (!export)
		return ERR_PTR(-ENOMEM);
	config_group_init_type_name(&export->group, name, &device_type);
	datblk_export_list(export);
	return &export->group;
}

static void datblk_device_drop(struct config_group *group, struct config_item *item)
{
	datblk_export_remove(datblk_to_export(item));
	config_item_put(item);
}

static struct datblk_port *datblk_to_port(struct config_item *item)
{
	return container_of(to_config_group(item), struct datblk_port, group);
}

static ssize_t port_ia_show(struct config_item *item, char *page)
{
	struct datblk_port *port = datblk_to_port(item);
	ssize_t size;

	mutex_lock(&port->config);
	size = sysfs_emit(page, "%s\n", port->ia_name);
	mutex_unlock(&port->config);
	return size;
}

static ssize_t port_ia_store(struct config_item *item, const char *page, size_t count)
{
	struct datblk_port *port = datblk_to_port(item);
	ssize_t ret;

	mutex_lock(&port->config);
	ret = port->wanted || port->state != DATBLK_OFF ? -EBUSY :
	      datblk_copy_line(port->ia_name, sizeof(port->ia_name), page, count);
	mutex_unlock(&port->config);
	return ret < 0 ? ret : count;
}
CONFIGFS_ATTR(port_, ia);

static ssize_t port_qual_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", datblk_to_port(item)->qual);
}

static ssize_t port_qual_store(struct config_item *item, const char *page, size_t count)
{
	struct datblk_port *port = datblk_to_port(item);
	u16 value;
	int err = kstrtou16(page, 0, &value);

	if (err)
		return err;
	mutex_lock(&port->config);
	if (port->wanted || port->state != DATBLK_OFF)
		err = -EBUSY;
	else
		port->qual = value;
	mutex_unlock(&port->config);
	return err ?: count;
}
CONFIGFS_ATTR(port_, qual);

static ssize_t port_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", datblk_to_port(item)->wanted);
}

static ssize_t port_enable_store(struct config_item *item, const char *page, size_t count)
{
	bool value;
	int err = kstrtobool(page, &value);

	if (err)
		return err;
	err = value ? datblk_port_enable(datblk_to_port(item)) :
		      datblk_port_disable(datblk_to_port(item));
	return err ?: count;
}
CONFIGFS_ATTR(port_, enable);

static ssize_t port_connections_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(datblk_to_port(item)->count));
}
CONFIGFS_ATTR_RO(port_, connections);

static struct configfs_attribute *port_attrs[] = {
	&port_attr_ia, &port_attr_qual, &port_attr_enable, &port_attr_connections, NULL,
};

static void datblk_port_release(struct config_item *item)
{
	kfree(datblk_to_port(item));
}

static struct configfs_item_operations port_ops = { .release = datblk_port_release };

static const struct config_item_type port_type = {
	.ct_item_ops = &port_ops,
	.ct_attrs = port_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_group *datblk_port_make(struct config_group *group, const char *name)
{
	struct datblk_port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return ERR_PTR(-ENOMEM);
	mutex_init(&port->config);
	INIT_LIST_HEAD(&port->connections);
	INIT_DELAYED_WORK(&port->follow_device, datblk_port_follow_device);
	INIT_WORK(&port->login, datblk_port_login);
	INIT_WORK(&port->close, datblk_port_close);
	port->qual = DATBLK_QUAL;
	config_group_init_type_name(&port->group, name, &port_type);
	return &port->group;
}

static void datblk_port_drop(struct config_group *group, struct config_item *item)
{
	datblk_port_remove(datblk_to_port(item));
	config_item_put(item);
}

static struct configfs_group_operations devices_ops = {
	.make_group = datblk_device_make,
	.drop_item = datblk_device_drop,
};

static struct configfs_group_operations ports_ops = {
	.make_group = datblk_port_make,
	.drop_item = datblk_port_drop,
};

static const struct config_item_type devices_type = {
	.ct_group_ops = &devices_ops,
	.ct_owner = THIS_MODULE,
};

static const struct config_item_type ports_type = {
	.ct_group_ops = &ports_ops,
	.ct_owner = THIS_MODULE,
};

static const struct config_item_type root_type = { .ct_owner = THIS_MODULE };

static struct config_group devices_group, ports_group;

static struct configfs_subsystem subsystem = {
	.su_group.cg_item = { .ci_namebuf = "datblk", .ci_type = &root_type },
	.su_mutex = __MUTEX_INITIALIZER(subsystem.su_mutex),
};

static void datblk_srv_destroy_workqueues(void)
{
	if (datblk_login_wq)
		destroy_workqueue(datblk_login_wq);
	if (datblk_end_wq)
		destroy_workqueue(datblk_end_wq);
	if (datblk_state_wq)
		destroy_workqueue(datblk_state_wq);
}

static int __init datblk_server_init(void)
{
	int err = -ENOMEM;

	datblk_state_wq = alloc_workqueue("datblk_state", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	datblk_login_wq = alloc_workqueue("datblk_login", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	datblk_end_wq = alloc_workqueue("datblk_end", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!datblk_state_wq || !datblk_login_wq || !datblk_end_wq)
		goto fail;
	config_group_init(&subsystem.su_group);
	config_group_init_type_name(&ports_group, "ports", &ports_type);
	configfs_add_default_group(&ports_group, &subsystem.su_group);
	config_group_init_type_name(&devices_group, "devices", &devices_type);
	configfs_add_default_group(&devices_group, &subsystem.su_group);
	err = configfs_register_subsystem(&subsystem);
	if (!err)
		return 0;
fail:
	datblk_srv_destroy_workqueues();
	return err;
}

/* Ports and devices pin the module, also while they are being closed */
static void __exit datblk_server_exit(void)
{
	configfs_unregister_subsystem(&subsystem);
	datblk_srv_destroy_workqueues();
}

module_init(datblk_server_init);
module_exit(datblk_server_exit);
MODULE_DESCRIPTION("Block device over DAT: server");
MODULE_LICENSE("GPL");
