// SPDX-License-Identifier: GPL-2.0
/* A first Consumer of kDAPL: an endpoint with a receive posted. Process context. */
#include <linux/module.h>
#include <dat/kdat.h>

static char *device = "rxe0";
module_param(device, charp, 0444);

static DAT_IA_HANDLE ia;
static u8 buffer[4096];

/* Runs with bottom halves off: it may post again, but must not sleep. */
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
	DAT_EVD_HANDLE evd;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	return dat_pz_create(ia, &pz) ?:
	      dat_evd_kcreate(ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &evd) ?:
	      dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz,
			      DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA, 0,
			      &lmr, &segment.lmr_context, NULL, NULL, NULL) ?:
	      dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep) ?:
	      /* Next: dat_ep_connect(), and in on_event() ESTABLISHED, then messages. */
	      dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static int __init first_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_ia_open(device, 8, &async, &ia);

	if (!ret) {
		ret = use_ia();
		if (ret)
			dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	return ret ? -ENODEV : 0;
}

static void __exit first_exit(void)
{
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}
module_init(first_init);
module_exit(first_exit);
MODULE_DESCRIPTION("A first Consumer of kDAPL");
MODULE_LICENSE("GPL");
