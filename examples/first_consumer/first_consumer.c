// SPDX-License-Identifier: GPL-2.0
/*
 * A first Consumer of kDAPL: opens an interface adapter, registers a buffer,
 * makes an Endpoint and posts a receive. All in process context but the upcall.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <dat/kdat.h>

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "interface adapter, as in debugfs or \"rdma link\"");

static DAT_IA_HANDLE ia;
static void *buffer;

/* Runs with bottom halves off: it may post again, it must not sleep. */
static void on_event(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	pr_info("first_consumer: event %#x\n", event->event_number);
}

static DAT_RETURN use_ia(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = on_event };
	DAT_REGION_DESCRIPTION region = { .for_va = buffer };
	DAT_LMR_TRIPLET segment = { .virtual_address = (uintptr_t)buffer, .segment_length = 4096 };
	DAT_DTO_COOKIE cookie = { .as_64 = 42 };
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT rmr;
	DAT_EP_HANDLE ep;
	DAT_VLEN length;
	DAT_VADDR address;
	DAT_RETURN ret;

	ret = dat_pz_create(ia, &pz);
	if (ret == DAT_SUCCESS)
		ret = dat_evd_kcreate(ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &evd);
	if (ret == DAT_SUCCESS)
		ret = dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz,
				      DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA,
				      DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &segment.lmr_context,
				      &rmr, &length, &address);
	if (ret == DAT_SUCCESS)
		ret = dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep);
	/* Next: dat_ep_connect(), and in on_event() ESTABLISHED, then messages. */
	if (ret == DAT_SUCCESS)
		ret = dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return ret;
}

static int __init first_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	buffer = kzalloc(4096, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	ret = dat_ia_open(device, 8, &async, &ia);
	if (ret == DAT_SUCCESS) {
		ret = use_ia();
		if (ret == DAT_SUCCESS)
			return 0;
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	pr_err("first_consumer: %s: error %#x\n", device, ret);
	kfree(buffer);
	return -ENODEV;
}

static void __exit first_exit(void)
{
	/* Takes everything that was made on the IA with it. */
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	kfree(buffer);
}

module_init(first_init);
module_exit(first_exit);
MODULE_DESCRIPTION("A first Consumer of kDAPL");
MODULE_LICENSE("GPL");
