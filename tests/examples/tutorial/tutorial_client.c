// SPDX-License-Identifier: GPL-2.0
/*
 * The client of the kDAPL tutorial: it connects, writes a text into the memory of the
 * server, sends a message about it, and disconnects. All of it happens while the module is
 * loaded; loading fails if one of the steps does.
 *
 * The upcall wakes the loading task, which dequeues one event after the other.
 */
#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <dat/kdat_util.h>
#include "tutorial.h"

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the IA to open");

static char *address = "127.0.0.1";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "IPv4 address of the server");

static char *text = "Hello, world";
module_param(text, charp, 0444);
MODULE_PARM_DESC(text, "what to write");

#define WAIT_SECONDS	30
#define OUT		0			/* offsets in the client's buffer */
#define MESSAGE		TUTORIAL_BYTES

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;			/* connection and completions */
	DAT_EP_HANDLE ep;
	struct kdat_region buffer;
} client;

static DECLARE_COMPLETION(news);

/* Runs with bottom halves off, so it must not sleep */
static void upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	complete(&news);
}

/* The next event must be @number */
static int expect(DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	while (dat_evd_dequeue(client.evd, event) != DAT_SUCCESS) {
		if (!wait_for_completion_timeout(&news, WAIT_SECONDS * HZ)) {
			pr_err("tutorial_client: no event in %d seconds\n", WAIT_SECONDS);
			return -ETIMEDOUT;
		}
	}
	if (event->event_number == number)
		return 0;
	pr_err("tutorial_client: event %#x, expected %#x\n", event->event_number, number);
	return -EIO;
}

static int check(const char *what, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		return 0;
	pr_err("tutorial_client: %s: %s\n", what, kdat_strerror(ret));
	return -EIO;
}

/* Connects, and stores where the server lets the client write */
static int connect(DAT_RMR_TRIPLET *target)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const struct tutorial_target *data;
	DAT_EVENT event;
	int err;

	if (!in4_pton(address, -1, (u8 *)&to.sin_addr.s_addr, -1, NULL))
		return -EINVAL;
	err = check("dat_ep_connect",
		    dat_ep_connect(client.ep, (DAT_IA_ADDRESS_PTR)&to, TUTORIAL_QUAL,
				   WAIT_SECONDS * USEC_PER_SEC, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG)) ?:
	      expect(DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	if (err)
		return err;
	if (event.event_data.connect_event_data.private_data_size < sizeof(*data))
		return -EPROTO;
	data = event.event_data.connect_event_data.private_data;
	target->virtual_address = be64_to_cpu(data->address);
	target->segment_length = be32_to_cpu(data->length);
	target->rmr_context = be32_to_cpu(data->rmr_context);
	return 0;
}

static int completed(const char *what)
{
	DAT_EVENT event;
	int err = expect(DAT_DTO_COMPLETION_EVENT, &event);

	if (!err && event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS) {
		pr_err("tutorial_client: %s: completion status %d\n", what,
		       event.event_data.dto_completion_event_data.status);
		err = -EIO;
	}
	return err;
}

/*
 * An RDMA write and a send on one endpoint are executed in order: when the server has the
 * message, the text is in its memory.
 */
static int transfer(DAT_RMR_TRIPLET *target)
{
	struct tutorial_message *message = client.buffer.address + MESSAGE;
	u32 length = min3(strlen(text), (size_t)target->segment_length, (size_t)TUTORIAL_BYTES);
	DAT_LMR_TRIPLET from = kdat_local(&client.buffer, OUT, length);
	DAT_LMR_TRIPLET about = kdat_local(&client.buffer, MESSAGE, sizeof(*message));
	DAT_DTO_COOKIE write = { .as_64 = 1 }, send = { .as_64 = 2 };

	memcpy(client.buffer.address + OUT, text, length);
	message->length = cpu_to_be32(length);
	target->segment_length = length;
	return check("dat_ep_post_rdma_write",
		     dat_ep_post_rdma_write(client.ep, 1, &from, write, target,
					    DAT_COMPLETION_DEFAULT_FLAG)) ?:
	       check("dat_ep_post_send", dat_ep_post_send(client.ep, 1, &about, send,
							  DAT_COMPLETION_DEFAULT_FLAG)) ?:
	       completed("RDMA write") ?:
	       completed("send");
}

static int disconnect(void)
{
	DAT_EVENT event;

	return check("dat_ep_disconnect",
		     dat_ep_disconnect(client.ep, DAT_CLOSE_GRACEFUL_FLAG)) ?:
	       expect(DAT_CONNECTION_EVENT_DISCONNECTED, &event);
}

static int play(void)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall };
	DAT_RMR_TRIPLET target;

	return check("dat_pz_create", dat_pz_create(client.ia, &client.pz)) ?:
	       check("dat_evd_kcreate",
		     dat_evd_kcreate(client.ia, 16, DAT_UPCALL_NOTIFY, &object,
				     DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG, &client.evd)) ?:
	       check("kdat_register",
		     kdat_register(client.ia, client.pz, client.buffer.address,
				   MESSAGE + sizeof(struct tutorial_message),
				   DAT_MEM_PRIV_LOCAL_READ_FLAG, &client.buffer)) ?:
	       check("dat_ep_create",
		     dat_ep_create(client.ia, client.pz, client.evd, client.evd, client.evd, NULL,
				   &client.ep)) ?:
	       connect(&target) ?:
	       transfer(&target) ?:
	       disconnect();
}

static int __init client_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	void *memory = kzalloc(MESSAGE + sizeof(struct tutorial_message), GFP_KERNEL);
	int err;

	if (!memory)
		return -ENOMEM;
	client.buffer.address = memory;
	err = check("dat_ia_open", dat_ia_open(device, 8, &async, &client.ia));
	if (!err) {
		err = play();
		/* Also frees the endpoint and everything else */
		dat_ia_close(client.ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	kfree(memory);
	return err;
}

static void __exit client_exit(void)
{
}

module_init(client_init);
module_exit(client_exit);
MODULE_DESCRIPTION("Client of the kDAPL tutorial");
MODULE_LICENSE("GPL");
