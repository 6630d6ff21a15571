/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds an RDMA device by its name. Newer kernels than 6.12 export no function for that, so
 * a client of the RDMA core does it, on all kernels. Process context. The code is in a
 * header, because one directory builds several modules that use it.
 */
#ifndef _KDAPL_TEST_DEVICE_H_
#define _KDAPL_TEST_DEVICE_H_

#include <linux/string.h>
#include <rdma/ib_verbs.h>

/* One search at a time: the callers are module_init() and a command that holds a lock */
static struct {
	const char *name;
	enum rdma_driver_id driver;
	struct ib_device *ibdev;	/* the result, with a reference */
} test_device;

/* The core calls this for each device, one after the other */
static int test_device_add(struct ib_device *ibdev)
{
	if (!test_device.ibdev && !strcmp(dev_name(&ibdev->dev), test_device.name) &&
	    (test_device.driver == RDMA_DRIVER_UNKNOWN ||
	     test_device.driver == ibdev->ops.driver_id) &&
	    ib_device_try_get(ibdev))
		test_device.ibdev = ibdev;
	/* Not a client of this device */
	return -EOPNOTSUPP;
}

/**
 * test_device_get - find an RDMA device by its name
 * @name:   name of the device
 * @driver: its driver; RDMA_DRIVER_UNKNOWN: any
 *
 * Context: process context; takes locks of the RDMA core. One call at a time in a module.
 * Return: the device, with a reference that ib_device_put() drops; NULL if there is no such
 * device, or if the core has no memory for the search.
 */
static struct ib_device *test_device_get(const char *name, enum rdma_driver_id driver)
{
	struct ib_client client = {
		.name = KBUILD_MODNAME "_find",
		.add = test_device_add,
	};

	test_device.name = name;
	test_device.driver = driver;
	test_device.ibdev = NULL;
	if (!ib_register_client(&client))
		ib_unregister_client(&client);
	return test_device.ibdev;
}

#endif /* _KDAPL_TEST_DEVICE_H_ */
