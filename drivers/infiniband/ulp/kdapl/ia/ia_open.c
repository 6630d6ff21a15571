// SPDX-License-Identifier: GPL-2.0
/*
 * dat_ia_openv() and kdat_ia_openv(): an IA on a port of a device.
 *
 * Called by Consumers in process context, and by KUnit (kdapl_ia_create()). device.c finds
 * the port and the address of a name, and ia_close.c ends an IA.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/sched/mm.h>
#include <net/net_namespace.h>
#include "device/device.h"
#include "event/event.h"
#include "ia.h"

/* IAs on the lists of devices, and calls that open one. If 0, deleted addresses are ignored */
atomic_t kdapl_open_ias;

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
	snprintf(ia->name, sizeof(ia->name), "%s/%u", dev->name, port);
	init_rwsem(&ia->sem);
	mutex_init(&ia->mutex);
	init_waitqueue_head(&ia->wait);
	INIT_LIST_HEAD(&ia->dev_node);
	INIT_LIST_HEAD(&ia->ended_eps);
	refcount_set(&ia->mem, 1);
	for (i = 0; i < KDAPL_NTYPES; i++)
		INIT_LIST_HEAD(&ia->objs[i]);
	return ia;
}

/* Sets the EVD of asynchronous events: @evd of another IA, or a new one */
static int kdapl_ia_set_async(struct kdapl_ia *ia, int qlen, struct kdapl_evd *evd)
{
	if (evd) {
		if (!kdapl_obj_tryuse(&evd->obj))
			return -ENOENT;
		/* That IA cannot be closed before this one, not even abruptly */
		if (!kdapl_obj_tryuse(&evd->obj.ia->obj)) {
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
	kdapl_obj_tryuse(&evd->obj);
	kdapl_ia_add(ia, &evd->obj, false);
	return 0;
}

/*
 * Opens an IA. Returns 0; -ENOMEM; -ENOENT if @async_evd is being freed. Process context,
 * kdapl_device_mutex held.
 *
 * @addr:       IPv4 or IPv6 address of the port
 * @net:        its network namespace; the IA takes its own reference
 * @async_qlen: length of the asynchronous EVD to be created
 * @async_evd:  EVD to use instead, referenced by the caller; or NULL
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
		kdapl_obj_exit(&ia->obj);
		kdapl_ia_mem_put(ia);
		return ret;
	}
	atomic_inc(&kdapl_open_ias);
	list_add_tail(&ia->dev_node, &dev->ias);
	kdapl_obj_publish(&ia->obj);
	*out = ia;
	return 0;
}

static DAT_RETURN kdapl_ia_check_version(DAT_UINT32 major, DAT_UINT32 minor,
					 DAT_BOOLEAN thread_safe)
{
	if (major != DAT_VERSION_MAJOR)
		return KDAPL_NO_PROVIDER(MAJOR_NOT_FOUND);
	if (minor != DAT_VERSION_MINOR)
		return KDAPL_NO_PROVIDER(MINOR_NOT_FOUND);
	/* kDAPL is always thread safe, so both values are legal */
	if (thread_safe != DAT_TRUE && thread_safe != DAT_FALSE)
		return KDAPL_NO_PROVIDER(THREAD_SAFETY_NOT_FOUND);
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_ia_errno(int err)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -ENOMEM:
	case -ENOSPC:
		return KDAPL_NO_RESOURCE(MEMORY);
	}
	return KDAPL_BAD_HANDLE(EVD_ASYNC);
}

/*
 * The second half of dat_ia_openv(): the arguments are checked, and @evd is referenced or
 * NULL. The results are written under the mutex, because a caller that guesses the new
 * handle can close the IA, but cannot free it before the mutex is released. A Consumer through
 * which pages are written out may wait for the mutex, so no holder waits for such a write.
 */
static DAT_RETURN kdapl_ia_open(const char *name, DAT_COUNT qlen, struct kdapl_evd *evd,
				DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
				DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN thread_safe,
				const struct module *owner)
{
	struct sockaddr_storage addr;
	struct kdapl_device *dev;
	struct net *net = NULL;
	struct kdapl_ia *ia;
	unsigned int noio;
	DAT_RETURN ret;
	u32 port;
	int err;

	atomic_inc(&kdapl_open_ias);
	/* Before the address is found; pairs with the barrier in kdapl_addr_event() */
	smp_mb__after_atomic();
	mutex_lock(&kdapl_device_mutex);
	noio = memalloc_noio_save();
	err = kdapl_device_resolve(name, &dev, &port, &addr, &net);
	/* For an unfit device continue even without an address, to report why it is refused */
	if (err == -ENODEV || (err && !dev->unfit)) {
		ret = KDAPL_NO_PROVIDER(NAME_NOT_REGISTERED);
		goto out;
	}
	ret = kdapl_ia_check_version(major, minor, thread_safe);
	if (ret)
		goto out;
	if (dev->unfit) {
		pr_notice_ratelimited("%s: refused: %s\n", name, dev->unfit);
		ret = KDAPL_UNSUPPORTED;
		goto out;
	}
	if (!evd && (u32)qlen > dev->limits.max_evd_qlen) {
		ret = KDAPL_NO_RESOURCE(TEVD);
		goto out;
	}
	if (!kdapl_addr_netns_usable(dev->ibdev, net)) {
		pr_notice_ratelimited("%s: %s transfers no data outside the initial network namespace, where %pISc is\n",
				      name, dev->name, &addr);
		ret = KDAPL_UNSUPPORTED;
		goto out;
	}
	ret = kdapl_ia_errno(kdapl_ia_create(dev, port, (struct sockaddr *)&addr, net, qlen, evd,
					     &ia));
	if (!ret) {
		WRITE_ONCE(ia->owner, owner);
		*async_evd_handle = kdapl_obj_handle(&ia->async_evd->obj);
		*ia_handle = kdapl_obj_handle(&ia->obj);
	}
out:
	memalloc_noio_restore(noio);
	mutex_unlock(&kdapl_device_mutex);
	atomic_dec(&kdapl_open_ias);
	if (net)
		put_net(net);
	return ret;
}

/**
 * kdat_ia_openv - open an interface adapter and record its owner
 * @name:               as for dat_ia_openv()
 * @async_evd_min_qlen: as for dat_ia_openv()
 * @async_evd_handle:   as for dat_ia_openv()
 * @ia_handle:          as for dat_ia_openv()
 * @dat_major:          as for dat_ia_openv()
 * @dat_minor:          as for dat_ia_openv()
 * @thread_safe:        as for dat_ia_openv()
 * @owner:              THIS_MODULE. If this module is unloaded while the IA is open, kDAPL
 *                      closes the IA and logs a line. NULL: the Consumer is built in
 *
 * dat_ia_open() calls it.
 *
 * Context: process (class P).
 * Return: as for dat_ia_openv().
 */
DAT_RETURN kdat_ia_openv(DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			 DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			 DAT_UINT32 dat_major, DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safe,
			 struct module *owner)
{
	struct kdapl_obj *evd_obj = NULL;
	struct kdapl_evd *evd = NULL;
	DAT_RETURN ret;

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return KDAPL_BAD_ARG(1);
	if (!async_evd_handle)
		return KDAPL_BAD_ARG(3);
	if (!ia_handle)
		return KDAPL_BAD_HANDLE(IA);
	if (*async_evd_handle != DAT_HANDLE_NULL) {
		evd_obj = kdapl_obj_get(*async_evd_handle, DAT_HANDLE_TYPE_EVD);
		if (!evd_obj)
			return KDAPL_BAD_HANDLE(EVD_ASYNC);
		evd = to_kdapl_evd(evd_obj);
		if (!(evd->streams & DAT_EVD_ASYNC_FLAG)) {
			ret = KDAPL_BAD_HANDLE(EVD_ASYNC);
			goto out;
		}
	} else if (async_evd_min_qlen <= 0) {
		return KDAPL_BAD_ARG(2);
	}
	ret = kdapl_ia_open(name, async_evd_min_qlen, evd, async_evd_handle, ia_handle, dat_major,
			    dat_minor, thread_safe, owner);
out:
	if (evd_obj)
		kdapl_obj_put(evd_obj);
	return ret;
}
EXPORT_SYMBOL_GPL(kdat_ia_openv);

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
 * Unlike dat_ia_open(), this call records no owner, so the Consumer must close the IA before its
 * module is unloaded.
 *
 * Context: process (class P).
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
	return kdat_ia_openv(name, async_evd_min_qlen, async_evd_handle, ia_handle, dat_major,
			     dat_minor, thread_safe, NULL);
}
EXPORT_SYMBOL_GPL(dat_ia_openv);
