// SPDX-License-Identifier: GPL-2.0
/*
 * The links with kDAPL: an EP, an EVD for its completions and two registered buffers. The
 * upcall of the EVD runs in softirq context, for one completion at a time; everything else is
 * done by the work item of the end, in process context.
 */
#include <linux/slab.h>

#include "perf.h"

#define READS	16U

static bool dat_recv(struct perf_link *l)
{
	DAT_LMR_TRIPLET seg = kdat_local(&l->region[PERF_SINK], 0, l->room);
	DAT_DTO_COOKIE cookie = {};

	return dat_ep_post_recv(l->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG) ==
	       DAT_SUCCESS;
}

static bool dat_request(struct perf_link *l, enum perf_op op, u32 size)
{
	enum perf_area local = op == PERF_READ ? PERF_SINK : PERF_SOURCE;
	const struct perf_keys *keys = &l->remote[!local];
	DAT_LMR_TRIPLET seg = kdat_local(&l->region[local], 0, size);
	DAT_DTO_COOKIE cookie = {};
	DAT_RMR_TRIPLET remote;

	if (op == PERF_SEND)
		return dat_ep_post_send(l->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG) ==
		       DAT_SUCCESS;
	remote = (DAT_RMR_TRIPLET) {
		.virtual_address = keys->address,
		.segment_length = size,
		.rmr_context = keys->key,
	};
	if (op == PERF_WRITE)
		return dat_ep_post_rdma_write(l->ep, 1, &seg, cookie, &remote,
					      DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS;
	return dat_ep_post_rdma_read(l->ep, 1, &seg, cookie, &remote,
				     DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS;
}

const struct perf_calls perf_dat_calls = { .recv = dat_recv, .request = dat_request };

static void dat_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &event->event_data.dto_completion_event_data;
	bool good = d->status == DAT_DTO_SUCCESS;

	if (d->operation == DAT_DTO_RECEIVE)
		perf_received(data, good, d->transfered_length);
	else
		perf_requested(data, good);
}

static int dat_check(struct perf_link *l, const char *what, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		return 0;
	return perf_fail(l->end->run, "kDAPL: %s: %s", what, kdat_strerror(ret));
}

static DAT_RETURN make_ep(struct perf_link *l)
{
	const DAT_IA_ATTR *limits = &l->end->t.attr;
	DAT_EP_ATTR attr = test_ep_attr(l->room, l->requests, 1);
	const struct test_fixture *t = &l->end->t;

	attr.max_recv_dtos = l->recvs;
	attr.max_rdma_read_in = min_t(u32, READS, limits->max_rdma_read_per_ep_in);
	attr.max_rdma_read_out = min_t(u32, READS, limits->max_rdma_read_per_ep_out);
	attr.max_rdma_read_iov = 1;
	attr.max_rdma_write_iov = 1;
	return dat_ep_create(t->ia, t->pz, l->evd, l->evd, t->conn, &attr, &l->ep);
}

/**
 * perf_dat_make - create the objects of a link
 * @l: a link; for the control link, also its buffers
 *
 * Closing the IA frees the objects.
 *
 * Return: 0, or -EIO, which is noted.
 */
int perf_dat_make(struct perf_link *l)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = l, .upcall_func = dat_upcall };
	const struct test_fixture *t = &l->end->t;
	u32 a;

	for (a = 0; a < PERF_AREAS; a++) {
		if (!l->area[a])
			l->area[a] = kvzalloc(l->room, GFP_KERNEL);
		if (!l->area[a])
			return perf_fail(l->end->run, "no memory");
		if (dat_check(l, "dat_lmr_kcreate",
			      kdat_register(t->ia, t->pz, l->area[a], l->room,
					    DAT_MEM_PRIV_ALL_FLAG, &l->region[a])))
			return -EIO;
	}
	/* One entry: completions need none */
	return dat_check(l, "dat_evd_kcreate",
			 dat_evd_kcreate(t->ia, 1, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					 DAT_EVD_DTO_FLAG, &l->evd)) ?:
	       dat_check(l, "dat_ep_create", make_ep(l));
}

/* ---- connections ----------------------------------------------------------- */

static struct perf_link *find(struct perf_end *e, DAT_EP_HANDLE ep)
{
	u32 i;

	for (i = 0; e->link[PERF_KDAPL] && i < e->eps; i++)
		if (e->link[PERF_KDAPL][i].ep == ep)
			return &e->link[PERF_KDAPL][i];
	return &e->control;
}

static void take_events(struct perf_end *e)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(e->t.conn, &event) == DAT_SUCCESS)
		find(e, event.event_data.connect_event_data.ep_handle)->event = event.event_number;
}

static bool has_outcome(struct perf_link *l)
{
	take_events(l->end);
	return l->event || perf_stopped(l->end);
}

/* Has the connection of the link ended? */
bool perf_dat_ended(struct perf_link *l)
{
	take_events(l->end);
	return l->event && l->event != DAT_CONNECTION_EVENT_ESTABLISHED;
}

static int await(struct perf_link *l)
{
	test_wait(has_outcome(l), 2 * PERF_WAIT_MS);
	switch (l->event) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return 0;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return perf_fail(l->end->run, "nobody serves port %u of the server",
				 l->end->run->args.port);
	case 0:
		return perf_fail(l->end->run, "kDAPL: the server does not answer");
	default:
		return perf_fail(l->end->run, "kDAPL: cannot reach the server, event %#x",
				 l->event);
	}
}

/**
 * perf_dat_connect - connect a link to the server
 * @l:  a link with its objects and its receives
 * @to: address of the server
 *
 * Return: 0, or -EIO, which is noted.
 */
int perf_dat_connect(struct perf_link *l, DAT_IA_ADDRESS_PTR to)
{
	__le32 index = cpu_to_le32(l->index);
	DAT_RETURN ret;

	ret = dat_ep_connect(l->ep, to, l->end->run->args.port,
			     PERF_WAIT_MS * 1000 * test_stretch(), sizeof(index), &index,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	return dat_check(l, "dat_ep_connect", ret) ?: await(l);
}

/* The next request for this link; others are rejected. NULL if there is none yet */
static DAT_CR_HANDLE next_request(struct perf_link *l)
{
	DAT_CR_PARAM param = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	__le32 index;

	while (dat_evd_dequeue(l->end->t.cr, &event) == DAT_SUCCESS) {
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS &&
		    param.private_data_size >= (DAT_COUNT)sizeof(index)) {
			memcpy(&index, param.private_data, sizeof(index));
			if (le32_to_cpu(index) == l->index)
				return cr;
		}
		dat_cr_reject(cr, 0, NULL);
	}
	return DAT_HANDLE_NULL;
}

/**
 * perf_dat_accept - accept the connection of a link
 * @l:    a link with its objects and its receives
 * @wait: without a time limit, until the run is stopped
 *
 * Return: 0; -EIO, which is noted, unless the run was stopped.
 */
int perf_dat_accept(struct perf_link *l, bool wait)
{
	DAT_CR_HANDLE cr = DAT_HANDLE_NULL;

	do {
		test_wait((cr = next_request(l)) || perf_stopped(l->end), PERF_WAIT_MS);
	} while (wait && !cr && !perf_stopped(l->end));
	if (!cr)
		return perf_stopped(l->end) ? -EIO :
		       perf_fail(l->end->run, "kDAPL: the client does not connect EP %u", l->index);
	return dat_check(l, "dat_cr_accept", dat_cr_accept(cr, l->ep, 0, NULL)) ?: await(l);
}

/* Create the service point. Return: 0, or -EIO, which is noted */
int perf_dat_listen(struct perf_end *e)
{
	return dat_check(&e->control, "dat_psp_create", test_listen(&e->t, e->run->args.port));
}
