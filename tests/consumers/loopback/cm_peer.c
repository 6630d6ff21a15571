// SPDX-License-Identifier: GPL-2.0
/*
 * Plain rdma_cm ids, see cm_peer.h. Process context, in the work item; the rdma_cm
 * callbacks only record the event.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "cm_peer.h"

static void cm_peer_note(struct cm_peer *r, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;

	r->event = event->event;
	r->status = event->status;
	r->reads_in = conn->responder_resources;
	r->reads_out = conn->initiator_depth;
	r->len = conn->private_data ? conn->private_data_len : 0;
	memcpy(r->data, conn->private_data ?: r->data, r->len);
	/* Pairs with cm_peer_notified(): publishes the fields of the event */
	smp_store_release(&r->ended, true);
	complete(&r->d->run->wake);
}

/* The callback of a caller */
static int cm_peer_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct cm_peer *r = id->context;
	struct rdma_cm_event failed = { .event = RDMA_CM_EVENT_CONNECT_ERROR };

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		failed.status = rdma_resolve_route(id, CM_PEER_RESOLVE_MS * test_stretch());
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (r->calls)
			failed.status = rdma_connect_locked(id, &r->param);
		else
			cm_peer_note(r, event);
		break;
	default:
		cm_peer_note(r, event);
		break;
	}
	if (failed.status)
		cm_peer_note(r, &failed);
	return 0;
}

void cm_peer_address(struct pair *d, struct sockaddr_storage *addr, DAT_CONN_QUAL qual)
{
	const struct sockaddr *own = d->run->t.attr.ia_address_ptr;

	memset(addr, 0, sizeof(*addr));
	memcpy(addr, own, own->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
						      sizeof(struct sockaddr_in6));
	/* The port has the same offset in both families */
	((struct sockaddr_in *)addr)->sin_port = htons(qual);
}

static bool cm_peer_start(struct cm_peer *r, DAT_CONN_QUAL qual)
{
	struct sockaddr_storage addr;
	struct pair *d = r->d;
	int err;

	cm_peer_address(d, &addr, qual);
	r->id = rdma_create_id(&init_net, cm_peer_handler, r, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(r->id)) {
		loop_fail(d->c, "no id: %ld", PTR_ERR(r->id));
		r->id = NULL;
		return false;
	}
	err = rdma_resolve_addr(r->id, NULL, (struct sockaddr *)&addr,
				CM_PEER_RESOLVE_MS * test_stretch());
	if (err)
		loop_fail(d->c, "rdma_resolve_addr: %d", err);
	return !err;
}

u32 cm_peer_qp_num(void)
{
	static atomic_t qp_num = ATOMIC_INIT(0x0bad00);

	return atomic_inc_return(&qp_num);
}

bool cm_peer_call(struct pair *d, struct cm_peer *r, DAT_CONN_QUAL qual,
		  const struct rdma_conn_param *param)
{
	static const struct rdma_conn_param decent = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = CM_PEER_ANY_QP,
	};

	memset(r, 0, sizeof(*r));
	r->d = d;
	r->calls = true;
	r->param = param ? *param : decent;
	if (r->param.qp_num == CM_PEER_ANY_QP)
		r->param.qp_num = cm_peer_qp_num();
	return cm_peer_start(r, qual);
}

bool cm_peer_find(struct pair *d, struct cm_peer *r, DAT_CONN_QUAL qual)
{
	memset(r, 0, sizeof(*r));
	r->d = d;
	return cm_peer_start(r, qual) && cm_peer_wait(r);
}

void cm_peer_end(struct cm_peer *r)
{
	if (r->id)
		rdma_destroy_id(r->id);
	r->id = NULL;
}

bool cm_peer_notified(struct cm_peer *r)
{
	/* Pairs with cm_peer_note() */
	return smp_load_acquire(&r->ended);
}

bool cm_peer_wait(struct cm_peer *r)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);

	while (!cm_peer_notified(r) && pair_ok(r->d)) {
		if (time_after(jiffies, deadline))
			loop_fail(r->d->c, "plain CM id: expected an event, got none");
		wait_for_completion_timeout(&r->d->run->wake, 1);
	}
	return pair_ok(r->d);
}

struct rdma_cm_id *cm_peer_listen(struct pair *d, rdma_cm_event_handler handler, void *context,
				  DAT_CONN_QUAL qual)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;
	int err;

	cm_peer_address(d, &addr, qual);
	id = rdma_create_id(&init_net, handler, context, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		loop_fail(d->c, "no id: %ld", PTR_ERR(id));
		return NULL;
	}
	err = rdma_bind_addr(id, (struct sockaddr *)&addr) ?: rdma_listen(id, 0);
	if (!err)
		return id;
	loop_fail(d->c, "a plain CM listener: %d", err);
	rdma_destroy_id(id);
	return NULL;
}
