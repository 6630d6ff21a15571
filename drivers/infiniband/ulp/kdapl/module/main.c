// SPDX-License-Identifier: GPL-2.0
/*
 * Module entry and exit: initializes the parts of the module in order, and undoes that
 * in reverse order. Process context.
 */
#include <linux/module.h>
#include "internal.h"

/* A Consumer is being unloaded, or its init function failed; its text still exists */
static int kdapl_module_notify(struct notifier_block *nb, unsigned long state, void *module)
{
	if (state == MODULE_STATE_GOING)
		kdapl_ia_destroy_of_owner(module);
	return NOTIFY_DONE;
}

/* Not static: the KUnit suites call it, as they cannot unload a module */
struct notifier_block kdapl_module_nb = { .notifier_call = kdapl_module_notify };

static int __init kdapl_init(void)
{
	int ret;

	ret = kdapl_handle_init();
	if (ret)
		return ret;
	ret = kdapl_lmr_init();
	if (ret)
		goto err_exit_handle;
	ret = kdapl_page_init();
	if (ret)
		goto err_exit_lmr;
	ret = kdapl_common_init();
	if (ret)
		goto err_exit_page;
	kdapl_debugfs_init();
	ret = kdapl_device_init();
	if (ret)
		goto err_exit_common;
	ret = register_module_notifier(&kdapl_module_nb);
	if (ret)
		goto err_exit_device;
	return 0;

err_exit_device:
	kdapl_device_exit();
err_exit_common:
	kdapl_debugfs_exit();
	kdapl_common_exit();
err_exit_page:
	kdapl_page_exit();
err_exit_lmr:
	kdapl_lmr_exit();
err_exit_handle:
	kdapl_handle_exit();
	return ret;
}

/* The module reference count ensures that no Consumer is loaded */
static void __exit kdapl_exit(void)
{
	unregister_module_notifier(&kdapl_module_nb);
	kdapl_device_exit();
	kdapl_debugfs_exit();
	kdapl_common_exit();
	kdapl_page_exit();
	kdapl_lmr_exit();
	kdapl_handle_exit();
}

module_init(kdapl_init);
module_exit(kdapl_exit);

MODULE_DESCRIPTION("kDAPL 2.0: the kernel Direct Access Programming Library over RDMA verbs");
MODULE_VERSION("1.0");
MODULE_LICENSE("GPL");
