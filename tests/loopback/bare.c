// SPDX-License-Identifier: GPL-2.0
/*
 * The peer without a Provider, see bare.h. It drives its QP by hand: rdma_cm
 * would keep it from asking for more than it was granted.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "bare.h"

#define BARE_READS	4	/* that it asks for, whatever it was granted */
#define BARE_RNR	7
#define BARE_RETRY	7	/* for ever, where nobody caps it */

static int bare_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct bare *b = id->context;

	WRITE_ONCE(b->last, event->event);
	complete(&b->heard);
	return 0;
}

static void bare_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct bare *b = container_of(wc->wr_cqe, struct bare, cqe);

	b->status = wc->status;
	complete(&b->done);
}

static bool failed(struct bare *b, const char *what, long err)
{
	if (!err)
		return false;
	loop_fail(b->c, "the bare peer: %s: %ld", what, err);
	return true;
}

bool bare_hears(struct bare *b, enum rdma_cm_event_type event)
{
	unsigned long left = msecs_to_jiffies(LOOP_QUIET_MS * loop_stretch());

	while (left && READ_ONCE(b->last) != event)
		left = wait_for_completion_timeout(&b->heard, left);
	if (READ_ONCE(b->last) == event)
		return true;
	loop_fail(b->c, "the bare peer: heard %s, expected %s", rdma_event_msg(b->last),
		  rdma_event_msg(event));
	return false;
}

static bool find_way(struct bare *b, struct loop_run *run)
{
	struct sockaddr_storage addr = {};
	size_t len = run->attr.ia_address_ptr->sa_family == AF_INET ?
		     sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

	memcpy(&addr, run->attr.ia_address_ptr, len);
	/* At the same place in both families. */
	((struct sockaddr_in *)&addr)->sin_port = htons(run->qual);
	return !failed(b, "rdma_resolve_addr",
		       rdma_resolve_addr(b->id, NULL, (struct sockaddr *)&addr, LOOP_QUIET_MS)) &&
	       bare_hears(b, RDMA_CM_EVENT_ADDR_RESOLVED);
}

static bool make_qp(struct bare *b)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = b->id->port_num };

	b->pd = ib_alloc_pd(b->id->device, 0);
	if (failed(b, "ib_alloc_pd", PTR_ERR_OR_ZERO(b->pd)))
		return false;
	b->cq = ib_alloc_cq(b->id->device, b, 16, 0, IB_POLL_SOFTIRQ);
	if (failed(b, "ib_alloc_cq", PTR_ERR_OR_ZERO(b->cq)))
		return false;
	init.send_cq = b->cq;
	init.recv_cq = b->cq;
	b->qp = ib_create_qp(b->pd, &init);
	if (failed(b, "ib_create_qp", PTR_ERR_OR_ZERO(b->qp)))
		return false;
	b->dma = ib_dma_map_single(b->id->device, b->mem, BARE_MEM, DMA_BIDIRECTIONAL);
	return !failed(b, "INIT", ib_modify_qp(b->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
					       IB_QP_PORT | IB_QP_ACCESS_FLAGS));
}

struct bare *bare_make(struct loop_run *run, struct loop_case *c)
{
	struct bare *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b) {
		loop_fail(c, "no memory");
		return NULL;
	}
	b->c = c;
	b->last = -1;
	b->cqe.done = bare_done;
	init_completion(&b->heard);
	init_completion(&b->done);
	b->mem = kzalloc(BARE_MEM, GFP_KERNEL);
	b->id = rdma_create_id(&init_net, bare_handler, b, RDMA_PS_TCP, IB_QPT_RC);
	if (b->mem && !failed(b, "rdma_create_id", PTR_ERR_OR_ZERO(b->id)) && find_way(b, run) &&
	    make_qp(b))
		return b;
	bare_end(b);
	return NULL;
}

bool bare_call(struct bare *b, u8 ack)
{
	struct rdma_conn_param param = {
		.responder_resources = BARE_READS,
		.initiator_depth = BARE_READS,
		.retry_count = BARE_RETRY,
		.rnr_retry_count = BARE_RNR,
		.qp_num = b->qp->qp_num,
	};

	return !failed(b, "rdma_set_ack_timeout", rdma_set_ack_timeout(b->id, ack)) &&
	       !failed(b, "rdma_resolve_route", rdma_resolve_route(b->id, LOOP_QUIET_MS)) &&
	       bare_hears(b, RDMA_CM_EVENT_ROUTE_RESOLVED) &&
	       !failed(b, "rdma_connect", rdma_connect(b->id, &param));
}

static int raise_qp(struct bare *b)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int mask, err;

	err = rdma_init_qp_attr(b->id, &attr, &mask);
	if (!err)
		err = ib_modify_qp(b->qp, &attr, mask);
	if (err)
		return err;
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IB_QPS_RTS;
	err = rdma_init_qp_attr(b->id, &attr, &mask);
	if (err)
		return err;
	attr.max_rd_atomic = BARE_READS;
	return ib_modify_qp(b->qp, &attr, mask);
}

bool bare_finish(struct bare *b)
{
	int err;

	if (!bare_hears(b, RDMA_CM_EVENT_CONNECT_RESPONSE))
		return false;
	rdma_lock_handler(b->id);
	err = raise_qp(b);
	if (!err)
		err = rdma_accept(b->id, NULL);
	rdma_unlock_handler(b->id);
	return !failed(b, "completing the connection", err);
}

enum ib_wc_status bare_rdma(struct bare *b, enum ib_wr_opcode op, u64 addr, u32 key, u32 len)
{
	struct ib_sge sge = { .addr = b->dma, .length = len, .lkey = b->pd->local_dma_lkey };
	struct ib_rdma_wr rdma = { .remote_addr = addr, .rkey = key };
	struct ib_atomic_wr atomic = { .remote_addr = addr, .rkey = key, .compare_add = 1 };
	bool is_atomic = op == IB_WR_ATOMIC_FETCH_AND_ADD || op == IB_WR_ATOMIC_CMP_AND_SWP;
	struct ib_send_wr *wr = is_atomic ? &atomic.wr : &rdma.wr;

	wr->wr_cqe = &b->cqe;
	wr->opcode = op;
	wr->send_flags = IB_SEND_SIGNALED;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	reinit_completion(&b->done);
	if (failed(b, "ib_post_send", ib_post_send(b->qp, wr, NULL)))
		return IB_WC_GENERAL_ERR;
	if (!wait_for_completion_timeout(&b->done,
					 msecs_to_jiffies(LOOP_QUIET_MS * loop_stretch())))
		failed(b, "no completion", op);
	return b->status;
}

void bare_vanish(struct bare *b)
{
	ib_drain_qp(b->qp);
	ib_destroy_qp(b->qp);
	b->qp = NULL;
}

void bare_end(struct bare *b)
{
	if (!IS_ERR_OR_NULL(b->qp))
		bare_vanish(b);
	if (b->dma)
		ib_dma_unmap_single(b->id->device, b->dma, BARE_MEM, DMA_BIDIRECTIONAL);
	if (!IS_ERR_OR_NULL(b->cq))
		ib_free_cq(b->cq);
	if (!IS_ERR_OR_NULL(b->pd))
		ib_dealloc_pd(b->pd);
	if (!IS_ERR_OR_NULL(b->id))
		rdma_destroy_id(b->id);
	kfree(b->mem);
	kfree(b);
}
