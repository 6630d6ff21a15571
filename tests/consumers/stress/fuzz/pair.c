// SPDX-License-Identifier: GPL-2.0
/*
 * The pair of a thread: two EPs that are connected to each other over the device, and
 * connected again whenever a random call or a post has ended the connection. No function
 * waits: a tick checks the progress.
 *
 * Called by the threads, between their random calls.
 */
#include <linux/jiffies.h>
#include <linux/string.h>
#include "fuzz.h"

#define DEPTH		16
#define ATTEMPT_US	5000000
#define ATTEMPT_MS	20000

enum stage { DOWN, CONNECTING, UP };

static DAT_RETURN make_evd(DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(fx.ia.handle, 64, DAT_UPCALL_DISABLE, NULL, flags, evd);
}

static DAT_RETURN make_ep(struct fuzz *f, unsigned int end)
{
	DAT_EP_ATTR attr = {
		.max_message_size = 4096,
		.max_rdma_size = 4096,
		.max_recv_dtos = DEPTH,
		.max_request_dtos = DEPTH,
		.max_recv_iov = 4,
		.max_request_iov = 4,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.max_rdma_read_iov = 4,
		.max_rdma_write_iov = 4,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	struct pair *p = &f->pair;
	struct thing t = {
		.hold = HELD,
		.ia = fx.ia.handle,
		.pz = fx.pz.handle,
		.evd = { p->dto, p->dto, p->conn },
	};
	DAT_RETURN ret;

	/* Every second thread has the flags that allow posts without upcalls */
	if (f->index % 2) {
		attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
		attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	}
	learn_limits(&t, &attr);
	fuzz_part(&t, end == 0);
	ret = dat_ep_create(t.ia, t.pz, t.evd[0], t.evd[1], t.evd[2], &attr, &t.handle);
	p->ep[end] = t.handle;
	if (ret == DAT_SUCCESS && !pool_add(f->pool, DAT_HANDLE_TYPE_EP, &t))
		ret = DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	return ret;
}

int pair_open(struct fuzz *f)
{
	struct pair *p = &f->pair;

	return make_evd(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &p->dto) ||
	       make_evd(DAT_EVD_CONNECTION_FLAG, &p->conn) ||
	       make_evd(DAT_EVD_CR_FLAG, &p->cr) ||
	       dat_psp_create(fx.ia.handle, QUAL + f->index, p->cr, DAT_PSP_CONSUMER_FLAG,
			      &p->psp) ||
	       make_ep(f, 0) || make_ep(f, 1) ? -EIO : 0;
}

/* ---- the connection ---------------------------------------------------------------------- */

static DAT_EP_STATE state_of(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = DAT_EP_STATE_DISCONNECTED;

	if (dat_ep_get_status(ep, &state, NULL, NULL) != DAT_SUCCESS)
		test_fail("an EP of a pair does not exist");
	return state;
}

/* A request of this pair, or that of a random call, for any thread */
static void take_request(struct fuzz *f, const DAT_EVENT *event)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	DAT_CR_PARAM param;
	u32 magic = 0;

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS &&
	    param.private_data_size >= (DAT_COUNT)sizeof(magic))
		memcpy(&magic, param.private_data, sizeof(magic));
	if (magic != PAIR_MAGIC + f->index)
		fixture_event(event);
	else if (dat_cr_accept(cr, f->pair.ep[1], 0, NULL) != DAT_SUCCESS)
		dat_cr_reject(cr, 0, NULL);
}

static void drain(struct fuzz *f)
{
	struct pair *p = &f->pair;
	DAT_EVENT event;

	while (dat_evd_dequeue(p->dto, &event) == DAT_SUCCESS)
		;
	while (dat_evd_dequeue(p->conn, &event) == DAT_SUCCESS)
		;
	while (dat_evd_dequeue(p->cr, &event) == DAT_SUCCESS)
		take_request(f, &event);
}

/* Prepares an end for the next attempt; returns whether it is ready */
static bool ready(DAT_EP_HANDLE ep)
{
	switch (state_of(ep)) {
	case DAT_EP_STATE_UNCONNECTED:
		return true;
	case DAT_EP_STATE_DISCONNECTED:
		return dat_ep_reset(ep) == DAT_SUCCESS;
	default:
		dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
		return false;
	}
}

static void connect(struct fuzz *f)
{
	struct pair *p = &f->pair;
	bool first = ready(p->ep[0]), second = ready(p->ep[1]);
	u32 magic = PAIR_MAGIC + f->index;

	if (!first || !second)
		return;
	p->since = jiffies;
	if (dat_ep_connect(p->ep[0], (DAT_IA_ADDRESS_PTR)&fx.address, QUAL + f->index,
			   ATTEMPT_US * test_stretch(), sizeof(magic), &magic,
			   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) == DAT_SUCCESS)
		p->stage = CONNECTING;
}

void pair_tick(struct fuzz *f)
{
	struct pair *p = &f->pair;
	unsigned int up, down;

	drain(f);
	up = (state_of(p->ep[0]) == DAT_EP_STATE_CONNECTED) +
	     (state_of(p->ep[1]) == DAT_EP_STATE_CONNECTED);
	down = (state_of(p->ep[0]) == DAT_EP_STATE_DISCONNECTED) +
	       (state_of(p->ep[1]) == DAT_EP_STATE_DISCONNECTED);
	p->ticks++;
	p->up += up == 2;
	switch (p->stage) {
	case DOWN:
		connect(f);
		break;
	case CONNECTING:
		if (up == 2) {
			p->stage = UP;
			p->connected++;
		} else if (down || time_after(jiffies, p->since + test_limit(ATTEMPT_MS))) {
			p->stage = DOWN;
		}
		break;
	case UP:
		/* Posts after the end are useful, too */
		if (up == 2 || !one_in(f, 4))
			break;
		p->stage = DOWN;
		p->ended++;
		break;
	}
}

/* The EPs are freed with the pool; nothing may use the EVDs any more */
void pair_close(struct fuzz *f)
{
	struct pair *p = &f->pair;

	if (p->psp && dat_psp_free(p->psp) != DAT_SUCCESS)
		test_fail("a pair's service point cannot be freed");
	drain(f);
	if ((p->dto && dat_evd_free(p->dto) != DAT_SUCCESS) ||
	    (p->conn && dat_evd_free(p->conn) != DAT_SUCCESS) ||
	    (p->cr && dat_evd_free(p->cr) != DAT_SUCCESS))
		test_fail("a pair's EVD cannot be freed");
}
