// SPDX-License-Identifier: GPL-2.0
/*
 * The registry calls. There is no registry file, and there is one Provider: the list
 * contains the usable ports of all RDMA devices and is read under kdapl_device_mutex.
 * Called by Consumers, in process context.
 */
#include <linux/export.h>
#include <linux/string.h>
#include "device.h"

static void kdapl_registry_fill(DAT_PROVIDER_INFO *info, const struct kdapl_device *dev, u32 port)
{
	memset(info, 0, sizeof(*info));
	snprintf(info->ia_name, sizeof(info->ia_name), "%s/%u", dev->name, port);
	info->dapl_version_major = DAT_VERSION_MAJOR;
	info->dapl_version_minor = DAT_VERSION_MINOR;
	info->is_thread_safe = DAT_TRUE;
}

/*
 * Counts the usable ports, and fills in the first @max entries of @list unless that is
 * NULL. kdapl_device_mutex held. Returns the number of ports.
 */
static DAT_COUNT kdapl_registry_walk(DAT_COUNT max, DAT_PROVIDER_INFO **list)
{
	struct kdapl_device *dev;
	DAT_COUNT n = 0;
	u32 port;

	list_for_each_entry(dev, &kdapl_devices, node) {
		if (!kdapl_device_listed(dev))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			if (!kdapl_device_port_usable(dev->ibdev, port))
				continue;
			if (list && n < max)
				kdapl_registry_fill(list[n], dev, port);
			n++;
		}
	}
	return n;
}

/**
 * dat_registry_list_providers - list the IAs that can be opened
 * @max_to_return:    number of entries of @dat_provider_list
 * @entries_returned: receives the number of usable IAs
 * @dat_provider_list: array of pointers to structs of the Consumer
 *
 * There is one IA for each usable port of each RDMA device. If there are more than
 * @max_to_return, the first ones are copied, and @entries_returned receives the number of
 * all.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER with DAT_INVALID_ARG2 no
 * @entries_returned, ARG3 no list or a NULL entry in it, ARG1 @max_to_return
 * is 0 or less than the number of IAs.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	DAT_COUNT i, n;

	if (!entries_returned)
		return KDAPL_BAD_ARG(2);
	if (max_to_return > 0 && !dat_provider_list)
		return KDAPL_BAD_ARG(3);
	mutex_lock(&kdapl_device_mutex);
	n = kdapl_registry_walk(0, NULL);
	for (i = 0; i < min(n, max_to_return); i++) {
		if (!dat_provider_list[i]) {
			mutex_unlock(&kdapl_device_mutex);
			return KDAPL_BAD_ARG(3);
		}
	}
	if (max_to_return > 0)
		kdapl_registry_walk(max_to_return, dat_provider_list);
	mutex_unlock(&kdapl_device_mutex);
	*entries_returned = n;
	if (max_to_return <= 0 || max_to_return < n)
		return KDAPL_BAD_ARG(1);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_registry_list_providers);

static DAT_RETURN kdapl_registry_refuse(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *info)
{
	if (!provider)
		return KDAPL_BAD_ARG(1);
	if (!info)
		return KDAPL_BAD_ARG(2);
	return KDAPL_UNSUPPORTED;
}

/**
 * dat_registry_add_provider - announce a Provider
 * @provider:      the Provider
 * @provider_info: its name and version
 *
 * There is only one Provider, which adds its IAs when a device is added.
 *
 * Context: process (class P).
 * Return: DAT_INVALID_PARAMETER, ARG1 or ARG2 is NULL; otherwise
 * DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info)
{
	return kdapl_registry_refuse(provider, provider_info);
}
EXPORT_SYMBOL_GPL(dat_registry_add_provider);

/**
 * dat_registry_remove_provider - remove a Provider
 * @provider:      the Provider
 * @provider_info: its name and version
 *
 * No Provider can have been added, see dat_registry_add_provider().
 *
 * Context: process (class P).
 * Return: DAT_INVALID_PARAMETER, ARG1 or ARG2 is NULL; otherwise
 * DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info)
{
	return kdapl_registry_refuse(provider, provider_info);
}
EXPORT_SYMBOL_GPL(dat_registry_remove_provider);

/* kdapl_device_mutex held. NULL if no IA has the name */
static struct kdapl_device *kdapl_registry_device(const char *name)
{
	struct kdapl_device *dev = NULL;
	struct sockaddr_storage addr;
	u32 port;

	/* A port without an address also has a name */
	if (kdapl_device_resolve(name, &dev, &port, &addr, NULL) == -ENODEV)
		return NULL;
	return dev->unfit ? NULL : dev;
}

/**
 * dat_registry_providers_related - test whether two IAs share hardware
 * @name1:  name of an IA
 * @name2:  name of an IA
 * @answer: receives DAT_HA_TRUE if both belong to the same RDMA device, otherwise
 *          DAT_HA_FALSE
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER, ARG1, ARG2 or ARG3 is NULL;
 * DAT_PROVIDER_NOT_FOUND with DAT_NAME_NOT_REGISTERED.
 */
DAT_RETURN dat_registry_providers_related(DAT_NAME_PTR name1, DAT_NAME_PTR name2,
					  DAT_HA_RELATIONSHIP *answer)
{
	struct kdapl_device *dev1, *dev2;

	if (!name1)
		return KDAPL_BAD_ARG(1);
	if (!name2)
		return KDAPL_BAD_ARG(2);
	if (!answer)
		return KDAPL_BAD_ARG(3);
	mutex_lock(&kdapl_device_mutex);
	dev1 = kdapl_registry_device(name1);
	dev2 = kdapl_registry_device(name2);
	mutex_unlock(&kdapl_device_mutex);
	if (!dev1 || !dev2)
		return KDAPL_NO_PROVIDER(NAME_NOT_REGISTERED);
	*answer = dev1 == dev2 ? DAT_HA_TRUE : DAT_HA_FALSE;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_registry_providers_related);
