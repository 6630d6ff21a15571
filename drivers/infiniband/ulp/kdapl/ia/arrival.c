// SPDX-License-Identifier: GPL-2.0
/*
 * kdat_registry_notify(): Consumers learn which IA names appear and go.
 *
 * Owns the watches of the Consumers, a record of each device with the name that they know, and the
 * work item that compares these names with the current ones. ib_client.c adds and removes the
 * records and reports changes; Consumers register watches. Process context.
 *
 * The record of a device is allocated when the device is added, and exists until the watches
 * know that its names have gone. So the work allocates nothing, and a device that is removed and
 * added again has two records: its names go and appear, even if they are the same.
 *
 * The work runs on a workqueue of the kernel, because callbacks may take any time.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include "device/device.h"
#include "event/event.h"
#include "ia.h"

/* Room for "<ibdev>/<port>" */
#define KDAPL_WATCH_NAME	(IB_DEVICE_NAME_MAX + 12)

/**
 * struct kdapl_arrival - a device, and the name that the watches know
 * @node:   on the list; guarded by kdapl_device_mutex, and removed from it under both mutexes
 * @dev:    the device, or NULL after its removal; guarded by kdapl_device_mutex
 * @name:   the name that was reported, or "" if it has none; guarded by kdapl_watch_mutex
 * @nports: length of @ports
 * @ports:  numbers of the usable ports; constant
 */
struct kdapl_arrival {
	struct list_head node;
	struct kdapl_device *dev;
	char name[IB_DEVICE_NAME_MAX];
	u32 nports;
	u32 ports[];
};

static LIST_HEAD(kdapl_arrivals);

/* Held while callbacks run. They may open and close IAs, so it is the outermost lock of kDAPL */
static DEFINE_MUTEX(kdapl_watch_mutex);
/* Guarded by the mutex, with the links between the watches */
static struct kdat_registry_watch *kdapl_watches;
/* The task that runs callbacks, or NULL. Only this task writes it or finds itself there */
static struct task_struct *kdapl_watch_caller;

static void kdapl_arrival_work_fn(struct work_struct *work);
static DECLARE_WORK(kdapl_arrival_work, kdapl_arrival_work_fn);

/*
 * Creates the record of a device that is being added. @dev: the device, not listed yet; the caller
 * lists it, and calls kdapl_arrival_changed(). Returns 0 or -ENOMEM. Process context.
 */
int kdapl_arrival_add(struct kdapl_device *dev)
{
	struct kdapl_arrival *a;
	u32 port;

	a = kzalloc(struct_size(a, ports, dev->ibdev->phys_port_cnt), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	a->dev = dev;
	rdma_for_each_port(dev->ibdev, port)
		if (kdapl_device_port_usable(dev->ibdev, port))
			a->ports[a->nports++] = port;
	mutex_lock(&kdapl_device_mutex);
	list_add_tail(&a->node, &kdapl_arrivals);
	mutex_unlock(&kdapl_device_mutex);
	return 0;
}

/*
 * Queues the work, because names of devices changed. Process context, kdapl_device_mutex held
 * since the change. So a Consumer that has listed the new names, and then registers a watch, waits
 * for the work.
 */
void kdapl_arrival_changed(void)
{
	lockdep_assert_held(&kdapl_device_mutex);
	queue_work(system_long_wq, &kdapl_arrival_work);
}

/*
 * A device is being removed. @dev: the device, no longer listed. Process context,
 * kdapl_device_mutex held.
 */
void kdapl_arrival_remove(const struct kdapl_device *dev)
{
	struct kdapl_arrival *a;

	list_for_each_entry(a, &kdapl_arrivals, node)
		if (a->dev == dev)
			a->dev = NULL;
	kdapl_arrival_changed();
}

/*
 * Frees the records. Process context, module unload. All devices were removed, and no Consumer is
 * loaded.
 */
void kdapl_arrival_exit(void)
{
	flush_work(&kdapl_arrival_work);
}

/* Calls one watch for each port of the device. kdapl_watch_mutex held */
static void kdapl_watch_call(const struct kdat_registry_watch *watch, const struct kdapl_arrival *a,
			     bool present)
{
	char name[KDAPL_WATCH_NAME];
	u32 i;

	WRITE_ONCE(kdapl_watch_caller, current);
	for (i = 0; i < a->nports; i++) {
		snprintf(name, sizeof(name), "%s/%u", a->name, a->ports[i]);
		watch->callback(watch->context, name, present ? DAT_TRUE : DAT_FALSE);
	}
	WRITE_ONCE(kdapl_watch_caller, NULL);
}

/*
 * Finds a device whose name has changed since it was reported (@reported), or that has a name and
 * was not reported. Both mutexes held
 */
static struct kdapl_arrival *kdapl_arrival_find(bool reported)
{
	struct kdapl_arrival *a;
	const char *name;

	list_for_each_entry(a, &kdapl_arrivals, node) {
		name = a->dev && kdapl_device_listed(a->dev) ? a->dev->name : "";
		if (!!a->name[0] == reported && strcmp(a->name, name))
			return a;
	}
	return NULL;
}

/* Frees the records of removed devices. Both mutexes held; nothing is left to report */
static void kdapl_arrival_free_removed(void)
{
	struct kdapl_arrival *a, *next;

	list_for_each_entry_safe(a, next, &kdapl_arrivals, node) {
		if (a->dev)
			continue;
		list_del(&a->node);
		kfree(a);
	}
}

/*
 * Reports one change, unless there is none. A name appears only while no other change is left to
 * report, so that its last owner has gone before. kdapl_watch_mutex held
 */
static bool kdapl_arrival_report(void)
{
	const struct kdat_registry_watch *watch;
	struct kdapl_arrival *a;
	bool present;

	mutex_lock(&kdapl_device_mutex);
	a = kdapl_arrival_find(true);
	present = !a;
	if (present)
		a = kdapl_arrival_find(false);
	if (!a)
		kdapl_arrival_free_removed();
	else if (present)
		strscpy(a->name, a->dev->name, sizeof(a->name));
	mutex_unlock(&kdapl_device_mutex);
	if (!a)
		return false;
	for (watch = kdapl_watches; watch; watch = watch->next)
		kdapl_watch_call(watch, a, present);
	if (!present)
		a->name[0] = '\0';
	return true;
}

static void kdapl_arrival_work_fn(struct work_struct *work)
{
	mutex_lock(&kdapl_watch_mutex);
	while (kdapl_arrival_report())
		cond_resched();
	mutex_unlock(&kdapl_watch_mutex);
}

/* Reports the names that the other watches know. kdapl_watch_mutex held, which keeps the records */
static void kdapl_watch_begin(const struct kdat_registry_watch *watch)
{
	struct kdapl_arrival *a;

	mutex_lock(&kdapl_device_mutex);
	list_for_each_entry(a, &kdapl_arrivals, node) {
		if (!a->name[0])
			continue;
		mutex_unlock(&kdapl_device_mutex);
		kdapl_watch_call(watch, a, true);
		mutex_lock(&kdapl_device_mutex);
	}
	mutex_unlock(&kdapl_device_mutex);
}

/* Returns the link that points to @watch, or the last one. kdapl_watch_mutex held */
static struct kdat_registry_watch **kdapl_watch_find(const struct kdat_registry_watch *watch)
{
	struct kdat_registry_watch **link = &kdapl_watches;

	while (*link && *link != watch)
		link = &(*link)->next;
	return link;
}

/* Returns true if a wait for callbacks would not end: a callback may wait for an upcall */
static bool kdapl_watch_in_callback(void)
{
	return READ_ONCE(kdapl_watch_caller) == current || kdapl_in_upcall();
}

/**
 * kdat_registry_notify - watch IA names appear and go
 * @watch: the callback and its argument. It belongs to kDAPL until kdat_registry_unnotify()
 *
 * The callback is called with each name that dat_registry_list_providers() lists. First, during
 * this call, with all names that exist, as present; then, in a work item, with each name that
 * appears or has gone. A device that is renamed, or removed and added again, loses its names and
 * then has new ones; a name never appears twice without having gone. No change is lost: if another
 * thread adds a device during this call, its names are reported during the call or later.
 *
 * Callbacks run one at a time, those of other watches included. They may sleep, and call
 * everything of class P except this call and kdat_registry_unnotify(). This call waits for
 * running callbacks, so the caller holds no lock that a callback takes, and is no work item of a
 * queue with WQ_MEM_RECLAIM, because callbacks may allocate.
 *
 * A name means no more than that: it may have gone again when the callback opens it, and then
 * dat_ia_open() fails. It also fails while the port has no IP address, which is usual just after
 * the device was added; register_inetaddr_notifier() reports addresses. IAs that are open learn of
 * the removal of their device by DAT_ASYNC_ERROR_IA_CATASTROPHIC, before or after the callback.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER with DAT_INVALID_ARG1: @watch is NULL or has no
 * callback; DAT_INVALID_STATE: @watch is registered, or the caller is a callback or an upcall.
 */
DAT_RETURN kdat_registry_notify(struct kdat_registry_watch *watch)
{
	struct kdat_registry_watch **link;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!watch || !watch->callback)
		return KDAPL_BAD_ARG(1);
	if (kdapl_watch_in_callback())
		return KDAPL_ERROR(INVALID_STATE);
	/* Devices that the caller knows become known here as well */
	flush_work(&kdapl_arrival_work);
	mutex_lock(&kdapl_watch_mutex);
	link = kdapl_watch_find(watch);
	if (*link) {
		ret = KDAPL_ERROR(INVALID_STATE);
	} else {
		watch->next = NULL;
		*link = watch;
		kdapl_watch_begin(watch);
	}
	mutex_unlock(&kdapl_watch_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(kdat_registry_notify);

/**
 * kdat_registry_unnotify - undo kdat_registry_notify()
 * @watch: the watch
 *
 * When the call returns, no callback of the watch runs, and none will. IAs that its callback has
 * opened stay open. It waits for running callbacks, so the caller holds no lock that a callback
 * takes. A Consumer must unregister its watches before its module is unloaded.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER with DAT_INVALID_ARG1: @watch is not registered;
 * DAT_INVALID_STATE: the caller is a callback or an upcall.
 */
DAT_RETURN kdat_registry_unnotify(struct kdat_registry_watch *watch)
{
	struct kdat_registry_watch **link;
	DAT_RETURN ret = KDAPL_BAD_ARG(1);

	if (kdapl_watch_in_callback())
		return KDAPL_ERROR(INVALID_STATE);
	mutex_lock(&kdapl_watch_mutex);
	link = kdapl_watch_find(watch);
	if (*link) {
		*link = watch->next;
		ret = DAT_SUCCESS;
	}
	mutex_unlock(&kdapl_watch_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(kdat_registry_unnotify);
