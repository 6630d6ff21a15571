// SPDX-License-Identifier: GPL-2.0
/*
 * The client of the RDMA core: devices are added, report events, are renamed and are removed.
 *
 * Owns the description of each device from its addition to its removal. The core calls add, remove
 * and rename in process context; the handler of device events runs in any context.
 *
 * The core calls remove() before that of rdma_cm, because kDAPL registers later, and while the
 * device still works. remove() orphans every IA, and returns when kDAPL has no verbs objects left:
 * after an early return the core would oops. No reference to the device is held after that.
 */
#include "device/device.h"
#include "connection/connection.h"
#include "internal.h"

static void kdapl_device_fatal_work(struct work_struct *work)
{
	struct kdapl_device *dev = container_of(work, struct kdapl_device, fatal_work);
	struct kdapl_ia *ia;

	mutex_lock(&kdapl_device_mutex);
	list_for_each_entry(ia, &dev->ias, dev_node)
		kdapl_ia_device_failed(ia);
	mutex_unlock(&kdapl_device_mutex);
}

/* Drivers call it with locks of their own held, so it only notes the event */
static void kdapl_device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct kdapl_device *dev = container_of(handler, struct kdapl_device, handler);

	switch (event->event) {
	case IB_EVENT_GID_CHANGE:
		set_bit(0, &dev->gid_changed);
		kdapl_addr_changed(false);
		break;
	case IB_EVENT_PORT_ACTIVE:
		kdapl_notice_schedule(dev);
		break;
	case IB_EVENT_DEVICE_FATAL:
		queue_work(kdapl_wq, &dev->fatal_work);
		break;
	default:
		break;
	}
}

/*
 * Allocates the description of a device, without listing it. Returns the description, or NULL if
 * there is no memory. Process context.
 */
struct kdapl_device *kdapl_device_alloc(struct ib_device *ibdev)
{
	struct kdapl_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->ibdev = ibdev;
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	INIT_LIST_HEAD(&dev->node);
	INIT_LIST_HEAD(&dev->ias);
	init_waitqueue_head(&dev->wait);
	INIT_WORK(&dev->fatal_work, kdapl_device_fatal_work);
	xa_init(&dev->keys);
	kdapl_notice_setup(dev);
	kdapl_device_fill_limits(dev);
	return dev;
}

/* Undoes kdapl_device_alloc(). @dev: the description; no IA is open on it. Process context */
void kdapl_device_free(struct kdapl_device *dev)
{
	xa_destroy(&dev->keys);
	kfree(dev);
}

static struct kdapl_device *kdapl_device_of(struct ib_device *ibdev)
{
	struct kdapl_device *dev;

	list_for_each_entry(dev, &kdapl_devices, node)
		if (dev->ibdev == ibdev)
			return dev;
	return NULL;
}

/*
 * Copies the name of a device. The core frees the old name. It excludes addition, removal and
 * further renames during this call, but not the calls that look for a name. Process context.
 */
void kdapl_device_renamed(struct ib_device *ibdev, void *client_data)
{
	mutex_lock(&kdapl_device_mutex);
	strscpy(kdapl_device_of(ibdev)->name, dev_name(&ibdev->dev), IB_DEVICE_NAME_MAX);
	kdapl_arrival_changed();
	mutex_unlock(&kdapl_device_mutex);
}

static int kdapl_device_add(struct ib_device *ibdev)
{
	struct kdapl_device *dev;
	bool usable = false;
	u32 port;

	rdma_for_each_port(ibdev, port)
		usable |= kdapl_device_port_usable(ibdev, port);
	if (!usable)
		return -EOPNOTSUPP;
	dev = kdapl_device_alloc(ibdev);
	if (!dev)
		return -ENOMEM;
	if (kdapl_arrival_add(dev)) {
		kdapl_device_free(dev);
		return -ENOMEM;
	}
	INIT_IB_EVENT_HANDLER(&dev->handler, ibdev, kdapl_device_event);
	ib_register_event_handler(&dev->handler);
	mutex_lock(&kdapl_device_mutex);
	list_add_tail(&dev->node, &kdapl_devices);
	kdapl_arrival_changed();
	mutex_unlock(&kdapl_device_mutex);
	return 0;
}

/* Returns an IA on the device to which there is a reference; kdapl_device_mutex held */
static struct kdapl_ia *kdapl_device_next_ia(struct kdapl_device *dev)
{
	struct kdapl_ia *ia;

	list_for_each_entry(ia, &dev->ias, dev_node)
		if (kdapl_obj_tryget(&ia->obj))
			return ia;
	return NULL;
}

static void kdapl_device_remove(struct ib_device *ibdev, void *client_data)
{
	struct kdapl_device *dev;
	struct kdapl_ia *ia;

	mutex_lock(&kdapl_device_mutex);
	dev = kdapl_device_of(ibdev);
	list_del_init(&dev->node);
	kdapl_arrival_remove(dev);
	mutex_unlock(&kdapl_device_mutex);

	/* From here on no IA can be opened on it */
	ib_unregister_event_handler(&dev->handler);
	cancel_work_sync(&dev->fatal_work);

	mutex_lock(&kdapl_device_mutex);
	while ((ia = kdapl_device_next_ia(dev))) {
		mutex_unlock(&kdapl_device_mutex);
		kdapl_ia_remove(ia);
		kdapl_obj_put(&ia->obj);
		mutex_lock(&kdapl_device_mutex);
	}
	mutex_unlock(&kdapl_device_mutex);

	/* Wait for the IAs that dat_ia_close() is destroying */
	wait_event(dev->wait, list_empty(&dev->ias));
	/* No EP is left that could add a notice to the list */
	kdapl_notice_flush(dev);
	/* The code that emptied the list no longer uses the device */
	mutex_lock(&kdapl_device_mutex);
	mutex_unlock(&kdapl_device_mutex);
	kdapl_device_free(dev);
}

static struct ib_client kdapl_client = {
	.name = "kdapl",
	.add = kdapl_device_add,
	.remove = kdapl_device_remove,
	.rename = kdapl_device_renamed,
};

/* Registers with the RDMA core. Returns 0 or a negative errno. Process context, module load */
int kdapl_device_init(void)
{
	int ret = kdapl_addr_init();

	if (ret)
		return ret;
	ret = ib_register_client(&kdapl_client);
	if (ret) {
		kdapl_arrival_exit();
		kdapl_addr_exit();
	}
	return ret;
}

/*
 * Undoes kdapl_device_init(). IAs that are still open belong to Consumers that were unloaded
 * without closing them. The function closes them. Process context, module unload.
 */
void kdapl_device_exit(void)
{
	kdapl_ia_destroy_of_owner(NULL);
	ib_unregister_client(&kdapl_client);
	kdapl_arrival_exit();
	/* Last, because device events schedule the watcher */
	kdapl_addr_exit();
}
