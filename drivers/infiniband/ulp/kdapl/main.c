// SPDX-License-Identifier: GPL-2.0
/*
 * Module entry and exit: a ladder over the parts that need one. Process
 * context.
 */
#include <linux/module.h>
#include "kdapl.h"

static int __init kdapl_init(void)
{
	int ret;

	ret = kdapl_handle_init();
	if (ret)
		return ret;
	ret = kdapl_lmr_init();
	if (ret)
		goto out_handle;
	ret = kdapl_common_init();
	if (ret)
		goto out_lmr;
	kdapl_debugfs_init();
	ret = kdapl_device_init();
	if (ret)
		goto out_wq;
	return 0;

out_wq:
	kdapl_debugfs_exit();
	kdapl_common_exit();
out_lmr:
	kdapl_lmr_exit();
out_handle:
	kdapl_handle_exit();
	return ret;
}

/* Only Consumers that are gone have used us, or the module count says no */
static void __exit kdapl_exit(void)
{
	kdapl_device_exit();
	kdapl_debugfs_exit();
	kdapl_common_exit();
	kdapl_lmr_exit();
	kdapl_handle_exit();
}

module_init(kdapl_init);
module_exit(kdapl_exit);

MODULE_DESCRIPTION("kDAPL 2.0: the kernel Direct Access Programming Library over RDMA verbs");
MODULE_VERSION("1.0");
MODULE_LICENSE("GPL");
