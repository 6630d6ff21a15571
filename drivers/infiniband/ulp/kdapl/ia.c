// SPDX-License-Identifier: GPL-2.0
/*
 * Interface adapters: open, entry and exit of control calls, the lists of objects.
 *
 * Owns struct kdapl_ia. Called by Consumers (process context), by every control call
 * before and after it uses verbs, and by device.c when a device fails. ia_close.c ends an
 * IA, and ia_query.c returns its attributes.
 *
 * Creation, close and device removal can happen at the same time. These rules order them:
 *
 * - A call that creates verbs objects holds ia->sem for reading, from the check that the
 *   device exists until its object is listed (kdapl_ia_begin()).
 * - dat_ia_close() removes the handle under ia->sem held for writing, so no creation is in
 *   progress. It waits for all references to the IA, and then claims every object that no
 *   other call is freeing.
 * - Device removal sets @orphaned under ia->sem held for writing, and then destroys the verbs
 *   objects of every object. Meanwhile it holds a reference to the object, for which the
 *   object's destructor waits. If it cannot get a reference, the object is being destroyed,
 *   and whoever does that calls kdapl_ia_verbs_put(). Removal holds a reference to the IA,
 *   too, so that close waits for it. If it cannot get one, the IA is being closed, and
 *   removal waits until the IA has left the device's list.
 *
 * The memory of an IA is freed with the last of the IA and its objects, because
 * kdapl_ia_del() still uses it after the closing call has seen an empty list.
 */
#include <linux/export.h>
#include <linux/kallsyms.h>
#include <net/net_namespace.h>
#include "kdapl.h"

/* ---- entry and exit of control calls ------------------------------------ */

/**
 * kdapl_ia_begin - enter a call that creates or uses verbs objects
 * @handle: any value
 * @out:    receives the IA, with a reference; its device cannot be removed
 *
 * Context: process; kdapl_ia_end() undoes it.
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_IA;
 * DAT_INSUFFICIENT_RESOURCES with DAT_RESOURCE_DEVICE if the device was removed.
 */
DAT_RETURN kdapl_ia_begin(DAT_IA_HANDLE handle, struct kdapl_ia **out)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_IA);
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = to_kdapl_ia(obj);
	down_read(&ia->sem);
	if (ia->closing) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	} else if (ia->orphaned) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	} else {
		*out = ia;
		return DAT_SUCCESS;
	}
	kdapl_ia_end(ia);
	return ret;
}

/**
 * kdapl_ia_end - undo kdapl_ia_begin()
 * @ia: the IA, which may be freed afterwards
 *
 * Context: process.
 */
void kdapl_ia_end(struct kdapl_ia *ia)
{
	up_read(&ia->sem);
	kdapl_obj_put(&ia->obj);
}

/**
 * kdapl_ia_enter - prevent the removal of the device of an IA
 * @ia: the IA of an object to which the caller holds a reference
 *
 * Context: process, not inside kdapl_ia_begin(); kdapl_ia_leave() undoes it.
 * Return: false if the device was removed or the IA is being closed; then there is nothing
 * to undo.
 */
bool kdapl_ia_enter(struct kdapl_ia *ia)
{
	down_read(&ia->sem);
	if (!ia->orphaned && !ia->closing)
		return true;
	up_read(&ia->sem);
	return false;
}

/**
 * kdapl_ia_leave - undo kdapl_ia_enter()
 * @ia: the IA
 *
 * Context: process.
 */
void kdapl_ia_leave(struct kdapl_ia *ia)
{
	up_read(&ia->sem);
}

/* ---- the lists --------------------------------------------------------- */

/**
 * kdapl_ia_add - list and publish a finished object
 * @ia:    its IA
 * @obj:   header of the object
 * @verbs: it has verbs objects, until kdapl_ia_verbs_put()
 *
 * Context: process, ia->sem held for reading if @verbs.
 */
void kdapl_ia_add(struct kdapl_ia *ia, struct kdapl_obj *obj, bool verbs)
{
	if (verbs)
		atomic_inc(&ia->nverbs);
	refcount_inc(&ia->mem);
	mutex_lock(&ia->mutex);
	/* At the tail, because removal walks the list while CRs arrive */
	list_add_tail(&obj->node, &ia->objs[kdapl_handle_type(obj->handle)]);
	mutex_unlock(&ia->mutex);
	kdapl_obj_publish(obj);
}

/**
 * kdapl_ia_mem_put - drop a reference to the memory of an IA
 * @ia: the IA
 *
 * Context: any.
 */
void kdapl_ia_mem_put(struct kdapl_ia *ia)
{
	if (!refcount_dec_and_test(&ia->mem))
		return;
	if (ia->net)
		put_net(ia->net);
	kfree_rcu(ia, obj.rcu);
}

/**
 * kdapl_ia_del - remove an object from the list
 * @ia:  its IA, which may be freed afterwards
 * @obj: header of the object
 *
 * Context: process.
 */
void kdapl_ia_del(struct kdapl_ia *ia, struct kdapl_obj *obj)
{
	mutex_lock(&ia->mutex);
	list_del(&obj->node);
	mutex_unlock(&ia->mutex);
	wake_up(&ia->wait);
	kdapl_ia_mem_put(ia);
}

/**
 * kdapl_ia_verbs_get - note that a listed object has got verbs objects
 * @ia: its IA
 *
 * Context: process, ia->sem held for reading.
 */
void kdapl_ia_verbs_get(struct kdapl_ia *ia)
{
	atomic_inc(&ia->nverbs);
}

/**
 * kdapl_ia_verbs_put - note that the verbs objects of an object were destroyed
 * @ia: its IA, which the object, or for an LMR its zone, keeps
 *
 * Context: any.
 */
void kdapl_ia_verbs_put(struct kdapl_ia *ia)
{
	if (atomic_dec_and_test(&ia->nverbs))
		wake_up(&ia->wait);
}

/* ---- asynchronous events ----------------------------------------------- */

/**
 * kdapl_ia_async - raise an asynchronous event
 * @ia:     the IA, which the caller keeps
 * @number: DAT_ASYNC_ERROR_*
 * @handle: the object concerned
 * @reason: what happened to it
 *
 * Context: any.
 */
void kdapl_ia_async(struct kdapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, u16 reason)
{
	kdapl_evd_post_async(ia->async_evd, number, handle, reason);
}

/**
 * kdapl_ia_catastrophic - report to the Consumer that the device is lost
 * @ia: the IA; referenced, or on the list of its device
 *
 * A device may report its failure before it is removed; the event is raised once.
 *
 * Context: process.
 */
void kdapl_ia_catastrophic(struct kdapl_ia *ia)
{
	if (!test_and_set_bit(0, &ia->fatal))
		kdapl_ia_async(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, kdapl_obj_handle(&ia->obj),
			       DAT_IA_CATASTROPHIC_ERROR);
}

/* Schedules the work of all EPs, which ends their connections and attempts */
static void kdapl_ia_schedule_eps(struct kdapl_ia *ia, enum kdapl_todo what)
{
	struct kdapl_obj *obj;

	mutex_lock(&ia->mutex);
	list_for_each_entry(obj, &ia->objs[DAT_HANDLE_TYPE_EP], node) {
		/* While there is a reference, the destructor has not stopped the work */
		if (!kdapl_obj_pin(obj))
			continue;
		kdapl_ep_schedule(to_kdapl_ep(obj), what);
		kdapl_obj_put(obj);
	}
	mutex_unlock(&ia->mutex);
}

/* Queues the work of the service points, which listens again where necessary */
static void kdapl_ia_relisten(struct kdapl_ia *ia, DAT_HANDLE_TYPE type)
{
	struct kdapl_obj *obj;

	mutex_lock(&ia->mutex);
	list_for_each_entry(obj, &ia->objs[type], node) {
		if (!kdapl_obj_pin(obj))
			continue;
		queue_work(kdapl_wq, &to_kdapl_sp(obj)->work);
		kdapl_obj_put(obj);
	}
	mutex_unlock(&ia->mutex);
}

/**
 * kdapl_ia_device_failed - break all connections of a device that has failed (C-31)
 * @ia: the IA, on the list of its device
 *
 * The device may report nothing else, so idle connections would remain. If removal
 * follows, it finds them ended.
 *
 * Context: process, kdapl_device_mutex held.
 */
void kdapl_ia_device_failed(struct kdapl_ia *ia)
{
	kdapl_ia_catastrophic(ia);
	kdapl_ia_schedule_eps(ia, KDAPL_TODO_BREAK);
}

/**
 * kdapl_ia_address_lost - break the connections that use the IA's address
 * @ia: the IA, on the list of its device
 *
 * The connection manager does not notice the loss, and cannot reach the peers any more.
 *
 * Context: process, kdapl_device_mutex held.
 */
void kdapl_ia_address_lost(struct kdapl_ia *ia)
{
	if (!READ_ONCE(ia->addr_lost))
		pr_notice_ratelimited("kdapl: %s: address %pISc is gone, breaking its connections\n",
				      ia->name, &ia->addr);
	WRITE_ONCE(ia->addr_lost, true);
	/* A concurrent attempt sees this, or this function sees the attempt */
	smp_mb();
	kdapl_ia_schedule_eps(ia, KDAPL_TODO_BREAK);
}

/**
 * kdapl_ia_address_stands - adapt an IA to a change of addresses that it has survived
 * @ia: the IA, on the list of its device
 *
 * The address may lead to another port, or to another entry of the GID table. Attempts and
 * connections that cannot continue are broken, and service points listen where the address
 * leads now.
 *
 * Context: process, kdapl_device_mutex held.
 */
void kdapl_ia_address_stands(struct kdapl_ia *ia)
{
	WRITE_ONCE(ia->addr_lost, false);
	kdapl_ia_schedule_eps(ia, KDAPL_TODO_ADDRESS);
	kdapl_ia_relisten(ia, DAT_HANDLE_TYPE_PSP);
	kdapl_ia_relisten(ia, DAT_HANDLE_TYPE_RSP);
}

/**
 * kdapl_ia_unfit - are connections impossible on this IA?
 * @ia:    the IA
 * @ibdev: its device, not removed
 *
 * For an attempt that has just begun, which an earlier failure could not break.
 *
 * Context: process.
 * Return: true if the device has failed, or the address was lost and is still missing.
 */
bool kdapl_ia_unfit(struct kdapl_ia *ia, struct ib_device *ibdev)
{
	if (test_bit(0, &ia->fatal))
		return true;
	return READ_ONCE(ia->addr_lost) &&
	       !kdapl_addr_stands(ibdev, ia->port, &ia->addr, ia->net);
}

/* ---- open -------------------------------------------------------------- */

static struct kdapl_ia *kdapl_ia_alloc(struct kdapl_device *dev, u32 port,
				       const struct sockaddr *addr, struct net *net)
{
	struct kdapl_ia *ia = kzalloc(sizeof(*ia), GFP_KERNEL);
	unsigned int i;

	if (!ia)
		return NULL;
	if (kdapl_obj_init(&ia->obj, DAT_HANDLE_TYPE_IA, ia)) {
		kfree(ia);
		return NULL;
	}
	ia->dev = dev;
	ia->ibdev = dev->ibdev;
	ia->port = port;
	ia->limits = dev->limits;
	memcpy(&ia->addr, addr, addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
						sizeof(struct sockaddr_in6));
	ia->net = get_net(net);
	snprintf(ia->name, sizeof(ia->name), "%s/%u", dev_name(&dev->ibdev->dev), port);
	init_rwsem(&ia->sem);
	mutex_init(&ia->mutex);
	init_waitqueue_head(&ia->wait);
	INIT_LIST_HEAD(&ia->dev_node);
	refcount_set(&ia->mem, 1);
	for (i = 0; i < KDAPL_NTYPES; i++)
		INIT_LIST_HEAD(&ia->objs[i]);
	return ia;
}

/* Sets the EVD of asynchronous events: @evd of another IA, or a new one */
static int kdapl_ia_set_async(struct kdapl_ia *ia, int qlen, struct kdapl_evd *evd)
{
	if (evd) {
		if (!kdapl_obj_use(&evd->obj))
			return -ENOENT;
		/* That IA cannot be closed before this one, not even abruptly */
		if (!kdapl_obj_use(&evd->obj.ia->obj)) {
			kdapl_obj_unuse(&evd->obj);
			return -ENOENT;
		}
		ia->async_evd = evd;
		return 0;
	}
	evd = kdapl_evd_alloc(ia, qlen, DAT_UPCALL_DISABLE, NULL, DAT_EVD_ASYNC_FLAG);
	if (IS_ERR(evd))
		return PTR_ERR(evd);
	ia->async_evd = evd;
	ia->own_async = true;
	/* Before it is published, so that a caller that guesses the handle cannot free it */
	kdapl_obj_use(&evd->obj);
	kdapl_ia_add(ia, &evd->obj, false);
	return 0;
}

/**
 * kdapl_ia_create - open an IA
 * @dev:        device
 * @port:       its port
 * @addr:       IPv4 or IPv6 address of the port
 * @net:        its network namespace; the IA takes a reference of its own
 * @async_qlen: length of the asynchronous EVD to be created
 * @async_evd:  EVD to use instead, referenced by the caller; or NULL
 * @out:        receives the IA
 *
 * Context: process, kdapl_device_mutex held.
 * Return: 0, -ENOMEM, -ENOENT @async_evd is being freed.
 */
int kdapl_ia_create(struct kdapl_device *dev, u32 port, const struct sockaddr *addr,
		    struct net *net, int async_qlen, struct kdapl_evd *async_evd,
		    struct kdapl_ia **out)
{
	struct kdapl_ia *ia;
	int ret;

	lockdep_assert_held(&kdapl_device_mutex);
	ia = kdapl_ia_alloc(dev, port, addr, net);
	if (!ia)
		return -ENOMEM;
	kdapl_ia_fill_attr(ia);
	ret = kdapl_ia_set_async(ia, async_qlen, async_evd);
	if (ret) {
		kdapl_obj_abort(&ia->obj);
		kdapl_ia_mem_put(ia);
		return ret;
	}
	list_add_tail(&ia->dev_node, &dev->ias);
	kdapl_obj_publish(&ia->obj);
	*out = ia;
	return 0;
}

/*
 * Notes the module that contains a return address. The only lookup that the kernel
 * exports formats a symbol: "function+offset/size [module]". Store the name and not the
 * address, which may be in an init function, whose text does not exist any more when the
 * module is unloaded.
 */
static void kdapl_ia_note_owner(struct kdapl_ia *ia, unsigned long caller)
{
	char symbol[KSYM_SYMBOL_LEN];
	char *name;

	sprint_symbol(symbol, caller);
	name = strrchr(symbol, '[');
	if (!name)
		return;
	name[strcspn(name, "]")] = '\0';
	strscpy(ia->owner, name + 1, sizeof(ia->owner));
}

static DAT_RETURN kdapl_ia_check_version(DAT_UINT32 major, DAT_UINT32 minor,
					 DAT_BOOLEAN thread_safe)
{
	if (major != DAT_VERSION_MAJOR)
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	if (minor != DAT_VERSION_MINOR)
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	/* kDAPL is always thread safe, so both values are legal */
	if (thread_safe != DAT_TRUE && thread_safe != DAT_FALSE)
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_THREAD_SAFETY_NOT_FOUND);
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_ia_errno(int err)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -ENOMEM:
	case -ENOSPC:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
}

/*
 * The second half of dat_ia_openv(): the arguments are checked, and @evd is referenced or
 * NULL. The results are written under the mutex, because a caller that guesses the new
 * handle can close the IA, but cannot free it before the mutex is released.
 */
static DAT_RETURN kdapl_ia_open(const char *name, DAT_COUNT qlen, struct kdapl_evd *evd,
				DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
				DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN thread_safe,
				unsigned long caller)
{
	struct sockaddr_storage addr;
	struct kdapl_device *dev;
	struct net *net = NULL;
	struct kdapl_ia *ia;
	DAT_RETURN ret;
	u32 port;
	int err;

	mutex_lock(&kdapl_device_mutex);
	err = kdapl_device_resolve(name, &dev, &port, &addr, &net);
	/* For an unfit device continue even without an address, to report why it is refused */
	if (err == -ENODEV || (err && !dev->unfit)) {
		ret = DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
		goto out;
	}
	ret = kdapl_ia_check_version(major, minor, thread_safe);
	if (ret)
		goto out;
	if (dev->unfit) {
		pr_notice_ratelimited("kdapl: %s: refused: %s\n", name, dev->unfit);
		ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
		goto out;
	}
	if (!evd && (u32)qlen > dev->limits.max_evd_qlen) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
		goto out;
	}
	if (!kdapl_addr_serves(dev->ibdev, net)) {
		pr_notice_ratelimited("kdapl: %s: %s moves no data outside the initial network namespace, where %pISc is\n",
				      name, dev_name(&dev->ibdev->dev), &addr);
		ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
		goto out;
	}
	ret = kdapl_ia_errno(kdapl_ia_create(dev, port, (struct sockaddr *)&addr, net, qlen, evd,
					     &ia));
	if (!ret) {
		kdapl_ia_note_owner(ia, caller);
		*async_evd_handle = kdapl_obj_handle(&ia->async_evd->obj);
		*ia_handle = kdapl_obj_handle(&ia->obj);
	}
out:
	mutex_unlock(&kdapl_device_mutex);
	if (net)
		put_net(net);
	return ret;
}

/**
 * dat_ia_openv - open an interface adapter
 * @name:               ``<ibdev>/<port>``, ``<ibdev>``, or the net device; followed by
 *                      ``@<address>`` for another IP address than the first one
 * @async_evd_min_qlen: length of the asynchronous EVD, if the call creates it
 * @async_evd_handle:   in: an EVD with the ASYNC flag, of any open IA, or
 *                      DAT_HANDLE_NULL to create one; out: the EVD that was created
 * @ia_handle:          receives the handle
 * @dat_major:          DAT_VERSION_MAJOR; dat_ia_open() supplies these three
 * @dat_minor:          DAT_VERSION_MINOR
 * @thread_safe:        DAT_TRUE or DAT_FALSE
 *
 * kDAPL records the module that the call returns to as the owner of the IA. If that
 * module is unloaded while the IA is open, kDAPL closes the IA and logs a line.
 *
 * Source: kDAPL 2.0, dat_ia_openv; manual page dat_ia_open.
 *
 * Context: process (class P), not from an upcall.
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER: ARG1 @name is NULL or too long, ARG2
 * @async_evd_min_qlen is not positive, ARG3 @async_evd_handle is NULL; DAT_INVALID_HANDLE:
 * @ia_handle is NULL, or with DAT_INVALID_HANDLE_EVD_ASYNC there is no such EVD;
 * DAT_PROVIDER_NOT_FOUND: no usable port has the name, or the version or thread safety is
 * not supported, according to the subtype; DAT_INSUFFICIENT_RESOURCES: no memory or no free
 * handle; DAT_MODEL_NOT_SUPPORTED: the address is in a network namespace in which the
 * device cannot transfer data, or the device is not supported (hns, hfi1), for the reason in
 * the log.
 */
DAT_RETURN dat_ia_openv(DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_major, DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safe)
{
	struct kdapl_obj *evd_obj = NULL;
	struct kdapl_evd *evd = NULL;
	DAT_RETURN ret;

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!async_evd_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ia_handle)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (*async_evd_handle != DAT_HANDLE_NULL) {
		evd_obj = kdapl_obj_get(*async_evd_handle, DAT_HANDLE_TYPE_EVD);
		if (!evd_obj)
			return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
		evd = to_kdapl_evd(evd_obj);
		if (!(evd->streams & DAT_EVD_ASYNC_FLAG)) {
			ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
			goto out;
		}
	} else if (async_evd_min_qlen <= 0) {
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	ret = kdapl_ia_open(name, async_evd_min_qlen, evd, async_evd_handle, ia_handle, dat_major,
			    dat_minor, thread_safe, _RET_IP_);
out:
	if (evd_obj)
		kdapl_obj_put(evd_obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_openv);
