// SPDX-License-Identifier: GPL-2.0
/*
 * The command "discover" of the control device: lists the devices of a server that this machine may
 * use. Each connection request asks for one device, and the server answers it with a reject, so
 * neither side keeps a connection. datblk_discover_admits() sends a login in the same way, for
 * probe.c. Process context, except for the upcall.
 */
#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include "client.h"

/*
 * A list that is being read, or a probe. Only its thread uses it, except that the upcall of the EVD
 * completes @outcome, and writes the members after it, while the thread waits.
 */
struct datblk_discovery {
	char ia_name[DAT_NAME_MAX_LENGTH];
	struct sockaddr_storage to;
	unsigned int qual;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	char name[DATBLK_NAME_MAX];	/* of the last device that was listed, or "" */
	struct completion outcome;
	DAT_EVENT_NUMBER event;
	size_t size;
	u8 private[sizeof(struct datblk_listing)];
};

/* Upcall of the EVD, in softirq or process context */
static void datblk_discover_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	struct datblk_discovery *list = instance;

	list->event = event->event_number;
	list->size = 0;
	if (event->event_number == DAT_CONNECTION_EVENT_PEER_REJECTED) {
		list->size = min_t(size_t, data->private_data_size, sizeof(list->private));
		memcpy(list->private, data->private_data, list->size);
	}
	complete(&list->outcome);
}

static int datblk_discover_parse(char *line, struct datblk_discovery *list)
{
	char *word, *name, *address = NULL;
	int err = 0;

	list->qual = DATBLK_QUAL;
	while (!err && (word = strsep(&line, " \t\n"))) {
		if (!*word)
			continue;
		name = strsep(&word, "=");
		if (!word)
			err = -EINVAL;
		else if (!strcmp(name, "ia"))
			err = strscpy(list->ia_name, word, sizeof(list->ia_name)) < 0 ? -EINVAL : 0;
		else if (!strcmp(name, "address"))
			address = word;
		else if (!strcmp(name, "qual"))
			err = kstrtouint(word, 0, &list->qual);
		else
			err = -EINVAL;
	}
	if (err || !*list->ia_name || !address || !list->qual || list->qual > U16_MAX)
		return -EINVAL;
	return inet_pton_with_scope(&init_net, AF_UNSPEC, address, NULL, &list->to);
}

/* Sends a connection request. After a reject an EP needs a reset; a new one is as simple */
static int datblk_discover_ask(struct datblk_discovery *list, size_t size, void *request)
{
	struct datblk_ep_needs needs = { .receives = 1, .requests = 1 };
	unsigned int segments;
	DAT_EP_HANDLE ep;
	int err = datblk_ep_create(list->ia, list->pz, list->evd, &needs, &ep, &segments);

	if (err)
		return err;
	init_completion(&list->outcome);
	if (dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&list->to, list->qual, DATBLK_CONNECT_US,
			   size, request, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG))
		err = -ECONNREFUSED;
	else
		wait_for_completion(&list->outcome);
	dat_ep_free(ep);
	return err;
}

/* Returns 1 after adding a line to @text, 0 after the last device, or a negative error code */
static int datblk_discover_next(struct datblk_discovery *list, char *text, size_t room)
{
	struct datblk_wire_query query;
	struct datblk_geometry geo;
	size_t used = strlen(text);
	int err;

	datblk_fill_query(&query, list->name);
	err = datblk_discover_ask(list, sizeof(query), &query);
	if (err)
		return err;
	if (list->event == DAT_CONNECTION_EVENT_TIMED_OUT)
		return -ETIMEDOUT;
	if (list->event == DAT_CONNECTION_EVENT_UNREACHABLE)
		return -EHOSTUNREACH;
	switch (datblk_check_refusal(list->private, list->size)) {
	case DATBLK_LISTED:
		break;
	case DATBLK_REFUSE_DEVICE:
		return 0;
	case DATBLK_REFUSE_VERSION:
		return -EPROTO;
	default:
		return -ECONNREFUSED;
	}
	if (!datblk_check_listing(list->private, list->size, list->name, &geo))
		return -EPROTO;
	used += scnprintf(text + used, room - used, "%s %llu %s\n", list->name,
			  geo.capacity * DATBLK_SECTOR,
			  geo.flags & DATBLK_READONLY ? "ro" : "rw");
	return used < room - 1 ? 1 : -E2BIG;
}

static int datblk_discover_open(struct datblk_discovery *list)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = datblk_discover_upcall,
				     .instance_data = list };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	if (dat_ia_open(list->ia_name, 8, &async, &list->ia))
		return -ENODEV;
	if (!dat_pz_create(list->ia, &list->pz) &&
	    !dat_evd_kcreate(list->ia, 1, DAT_UPCALL_SINGLE_INSTANCE, &object,
			     DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &list->evd))
		return 0;
	dat_ia_close(list->ia, DAT_CLOSE_ABRUPT_FLAG);
	return -EIO;
}

static int datblk_discover_all(struct datblk_discovery *list, char *text, size_t room)
{
	int err;

	do {
		err = datblk_discover_next(list, text, room);
		if (fatal_signal_pending(current))
			err = -EINTR;
	} while (err > 0);
	return err;
}

/**
 * datblk_discover - list the devices of a server that this machine may use
 * @line: the options of the command; changed
 * @text: receives a line for each device: its name, its size in bytes, and "ro" or "rw"
 * @room: bytes of @text, including the terminating 0
 *
 * Context: process.
 * Return: 0; -EINVAL if an option is not valid; -ENODEV if the IA cannot be opened; -ETIMEDOUT if
 * the server does not answer; -EHOSTUNREACH if no machine has the address, or no route leads to it;
 * -ECONNREFUSED if no datblk server listens there; -EPROTO if its answer is not valid, or it has
 * another version; -E2BIG if there are too many devices; -EIO, -EOPNOTSUPP or -ENOMEM if the client
 * lacks resources; or -EINTR.
 */
int datblk_discover(char *line, char *text, size_t room)
{
	struct datblk_discovery *list = kzalloc(sizeof(*list), GFP_KERNEL);
	int err;

	if (!list)
		return -ENOMEM;
	err = datblk_discover_parse(line, list) ?: datblk_discover_open(list);
	if (!err) {
		err = datblk_discover_all(list, text, room);
		dat_ia_close(list->ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	if (err)
		*text = 0;
	kfree(list);
	return err;
}

/**
 * datblk_discover_probe - see whether a server would admit the next session over a path
 * @remote: a server with a session
 * @path:   the path
 *
 * The request is a login that is older than the session. The server checks the name, the address
 * and whether a key is needed, and then refuses it, because it is late, or because a connection of
 * this machine is ending. It does not check whether there is room, or whether both sides have the
 * same key. If it asks for a proof, it has not looked at connections, either.
 *
 * Context: process.
 * Return: the status of the refusal, DATBLK_REFUSE_LATE if there was no other reason; DATBLK_ADMIT
 * if there is no answer.
 */
unsigned int datblk_discover_probe(struct datblk_remote *remote, const struct datblk_path *path)
{
	struct datblk_discovery *list = kzalloc(sizeof(*list), GFP_KERNEL);
	struct datblk_wire_login login;
	unsigned int status = DATBLK_ADMIT;

	if (!list)
		return DATBLK_ADMIT;
	strscpy(list->ia_name, path->ia_name, sizeof(list->ia_name));
	list->to = path->to;
	list->qual = remote->options.qual;
	datblk_login_fill_late(&remote->queues[0], &login);
	if (!datblk_discover_open(list)) {
		if (!datblk_discover_ask(list, sizeof(login), &login))
			status = datblk_check_refusal(list->private, list->size);
		dat_ia_close(list->ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	kfree(list);
	return status;
}
