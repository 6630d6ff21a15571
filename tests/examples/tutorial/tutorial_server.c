// SPDX-License-Identifier: GPL-2.0
/*
 * The server of the kDAPL tutorial: it waits for a client, lets the client write into its
 * memory, and prints its contents when a message arrives.
 *
 * The upcall only schedules a work item, because accepting a connection and freeing an
 * endpoint may sleep. The work item dequeues all events, in process context.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <dat/kdat_util.h>
#include "tutorial.h"

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the IA to open");

#define MESSAGE_BYTES	sizeof(struct tutorial_message)

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;		/* connection requests, connections, completions */
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;		/* of the one client, or DAT_HANDLE_NULL */
	struct kdat_region memory;	/* the client writes here */
	struct kdat_region message;	/* one message is received here */
} server;

static void answer(DAT_CR_HANDLE cr)
{
	DAT_RMR_TRIPLET target = kdat_remote(&server.memory, 0, TUTORIAL_BYTES);
	struct tutorial_target data = {
		.address = cpu_to_be64(target.virtual_address),
		.length = cpu_to_be32(target.segment_length),
		.rmr_context = cpu_to_be32(target.rmr_context),
	};
	DAT_LMR_TRIPLET segment = kdat_local(&server.message, 0, MESSAGE_BYTES);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_RETURN ret;

	if (server.ep != DAT_HANDLE_NULL) {
		dat_cr_reject(cr, 0, NULL);
		return;
	}
	ret = dat_ep_create(server.ia, server.pz, server.evd, server.evd, server.evd, NULL,
			    &server.ep);
	/* The receive must be posted before the client can send */
	if (!ret)
		ret = dat_ep_post_recv(server.ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	if (!ret)
		ret = dat_cr_accept(cr, server.ep, sizeof(data), &data);
	else
		dat_cr_reject(cr, 0, NULL);
	if (ret) {
		pr_err("tutorial_server: cannot accept: %s\n", kdat_strerror(ret));
		dat_ep_free(server.ep);
		server.ep = DAT_HANDLE_NULL;
	}
}

static void received(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct tutorial_message *message = server.message.address;
	u32 length;

	/* A receive that no message has used is flushed when the connection ends */
	if (dto->status != DAT_DTO_SUCCESS || dto->transfered_length != sizeof(*message))
		return;
	/* The peer may have sent anything */
	length = min_t(u32, be32_to_cpu(message->length), TUTORIAL_BYTES);
	pr_info("tutorial_server: the client wrote \"%.*s\"\n", (int)length,
		(char *)server.memory.address);
}

static void handle(const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		answer(event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	case DAT_DTO_COMPLETION_EVENT:
		received(&event->event_data.dto_completion_event_data);
		break;
	default:
		/* The connection has ended, or was never made */
		dat_ep_free(server.ep);
		server.ep = DAT_HANDLE_NULL;
		break;
	}
}

static void dequeue(struct work_struct *work)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(server.evd, &event) == DAT_SUCCESS)
		handle(&event);
}

static DECLARE_WORK(work, dequeue);

/* Runs with bottom halves off, so it must not sleep */
static void upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	schedule_work(&work);
}

static DAT_RETURN start(void)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall };

	return dat_pz_create(server.ia, &server.pz) ?:
	       dat_evd_kcreate(server.ia, 16, DAT_UPCALL_NOTIFY, &object,
			       DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG,
			       &server.evd) ?:
	       kdat_register(server.ia, server.pz, server.memory.address, TUTORIAL_BYTES,
			     DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			     &server.memory) ?:
	       kdat_register(server.ia, server.pz, server.message.address,
			     MESSAGE_BYTES, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			     &server.message) ?:
	       dat_psp_create(server.ia, TUTORIAL_QUAL, server.evd, DAT_PSP_CONSUMER_FLAG,
			      &server.psp);
}

/*
 * An abrupt close destroys everything that belongs to the IA. No upcall runs after it, so
 * nothing schedules the work item again.
 */
static void stop(void)
{
	dat_ia_close(server.ia, DAT_CLOSE_ABRUPT_FLAG);
	cancel_work_sync(&work);
	kfree(server.memory.address);
	kfree(server.message.address);
}

static int __init server_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_ia_open(device, 8, &async, &server.ia);

	if (ret) {
		pr_err("tutorial_server: cannot open %s: %s\n", device, kdat_strerror(ret));
		return -ENODEV;
	}
	server.memory.address = kzalloc(TUTORIAL_BYTES, GFP_KERNEL);
	server.message.address = kzalloc(MESSAGE_BYTES, GFP_KERNEL);
	if (!server.memory.address || !server.message.address) {
		stop();
		return -ENOMEM;
	}
	ret = start();
	if (ret) {
		pr_err("tutorial_server: cannot start: %s\n", kdat_strerror(ret));
		stop();
		return -EIO;
	}
	return 0;
}

static void __exit server_exit(void)
{
	stop();
}

module_init(server_init);
module_exit(server_exit);
MODULE_DESCRIPTION("Server of the kDAPL tutorial");
MODULE_LICENSE("GPL");
