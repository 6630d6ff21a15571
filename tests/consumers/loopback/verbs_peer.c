// SPDX-License-Identifier: GPL-2.0
/*
 * The plain-verbs peer, see verbs_peer.h. It changes the state of its QP itself, because
 * rdma_cm would not let it request more than it was granted.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "verbs_peer.h"

#define VPEER_ACK	14	/* the device rounds it up to 16: 0.3 s, seven times */
#define VPEER_READS	4	/* reads it requests, whatever was granted */
#define VPEER_RETRY	7	/* without limit, unless the receiver caps it */
#define VPEER_RNR_TIMER	12	/* 0.64 ms, sent while no receive is posted */
#define VPEER_DEPTH	16
#define JOIN_RETRY	6
#define HOLD_NS		(500 * NSEC_PER_MSEC)

static int vpeer_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct vpeer *b = id->context;

	WRITE_ONCE(b->last, event->event);
	complete(&b->cm_event);
	return 0;
}

static void vpeer_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct vpeer_req *r = container_of(wc->wr_cqe, struct vpeer_req, cqe);

	r->status = wc->status;
	if (wc->status == IB_WC_SUCCESS) {
		r->opcode = wc->opcode;
		r->flags = wc->wc_flags;
		r->len = wc->byte_len;
		WRITE_ONCE(r->rounds, r->rounds + 1);
		if (r->again && r->again(r) && !ib_post_send(r->b->v.qp, &r->rdma.wr, NULL))
			return;
	}
	complete(&r->done);
}

static bool failed(struct vpeer *b, const char *what, long err)
{
	if (!err)
		return false;
	loop_fail(b->c, "the plain-verbs peer: %s: %ld", what, err);
	return true;
}

bool vpeer_expect(struct vpeer *b, enum rdma_cm_event_type event)
{
	unsigned long left = test_limit(LOOP_QUIET_MS);

	while (left && READ_ONCE(b->last) != event)
		left = wait_for_completion_timeout(&b->cm_event, left);
	if (READ_ONCE(b->last) == event)
		return true;
	loop_fail(b->c, "the plain-verbs peer: event %s, expected %s", rdma_event_msg(b->last),
		  rdma_event_msg(event));
	return false;
}

static bool find_way(struct vpeer *b)
{
	const struct loop_run *run = b->run;
	struct sockaddr_storage addr = {};
	size_t len = run->t.attr.ia_address_ptr->sa_family == AF_INET ?
		     sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

	memcpy(&addr, run->t.attr.ia_address_ptr, len);
	/* The port has the same offset in both families. */
	((struct sockaddr_in *)&addr)->sin_port = htons(run->qual);
	return !failed(b, "rdma_resolve_addr",
		       rdma_resolve_addr(b->id, NULL, (struct sockaddr *)&addr, LOOP_QUIET_MS)) &&
	       vpeer_expect(b, RDMA_CM_EVENT_ADDR_RESOLVED);
}

static bool make_srq(struct vpeer *b)
{
	struct ib_srq_init_attr init = {
		.attr = { .max_wr = VPEER_DEPTH, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};

	b->srq = ib_create_srq(b->pd, &init);
	return !failed(b, "ib_create_srq", PTR_ERR_OR_ZERO(b->srq));
}

static bool make_qp(struct vpeer *b, bool srq)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap = {
			.max_send_wr = VPEER_DEPTH,
			.max_recv_wr = srq ? 0 : VPEER_DEPTH,
			.max_send_sge = 2,
			.max_recv_sge = srq ? 0 : 1,
		},
	};
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = b->id->port_num };

	b->pd = ib_alloc_pd(b->id->device, 0);
	if (failed(b, "ib_alloc_pd", PTR_ERR_OR_ZERO(b->pd)))
		return false;
	if (srq && !make_srq(b))
		return false;
	/* Queue lengths are rounded up, and each entry may complete */
	init.srq = b->srq;
	if (failed(b, "creating a queue pair", test_verbs_make(&b->v, b->pd, 8 * VPEER_DEPTH,
							       TEST_POLL, &init)))
		return false;
	b->dma = ib_dma_map_single(b->id->device, b->mem, VPEER_MEM, DMA_BIDIRECTIONAL);
	return !failed(b, "INIT", ib_modify_qp(b->v.qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
					       IB_QP_PORT | IB_QP_ACCESS_FLAGS));
}

static struct vpeer *make(struct loop_run *run, struct loop_case *c, bool srq)
{
	struct vpeer *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b) {
		loop_fail(c, "no memory");
		return NULL;
	}
	b->run = run;
	b->c = c;
	b->last = -1;
	b->rnr = VPEER_RNR;
	init_completion(&b->cm_event);
	b->mem = kzalloc(VPEER_MEM, GFP_KERNEL);
	b->id = rdma_create_id(&init_net, vpeer_handler, b, RDMA_PS_TCP, IB_QPT_RC);
	if (b->mem && !failed(b, "rdma_create_id", PTR_ERR_OR_ZERO(b->id)) && find_way(b) &&
	    make_qp(b, srq))
		return b;
	vpeer_end(b);
	return NULL;
}

struct vpeer *vpeer_make(struct loop_run *run, struct loop_case *c)
{
	return make(run, c, false);
}

struct vpeer *vpeer_make_srq(struct loop_run *run, struct loop_case *c)
{
	return make(run, c, true);
}

bool vpeer_call(struct vpeer *b)
{
	struct rdma_conn_param param = {
		.responder_resources = VPEER_READS,
		.initiator_depth = VPEER_READS,
		.retry_count = VPEER_RETRY,
		.rnr_retry_count = VPEER_RNR,
		.qp_num = b->v.qp->qp_num,
	};

	return !failed(b, "rdma_set_ack_timeout", rdma_set_ack_timeout(b->id, VPEER_ACK)) &&
	       !failed(b, "rdma_resolve_route", rdma_resolve_route(b->id, LOOP_QUIET_MS)) &&
	       vpeer_expect(b, RDMA_CM_EVENT_ROUTE_RESOLVED) &&
	       !failed(b, "rdma_connect", rdma_connect(b->id, &param));
}

static int raise_qp(struct vpeer *b)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int mask, err;

	err = rdma_init_qp_attr(b->id, &attr, &mask);
	attr.min_rnr_timer = VPEER_RNR_TIMER;
	if (!err)
		err = ib_modify_qp(b->v.qp, &attr, mask);
	if (err)
		return err;
	b->raised = true;
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IB_QPS_RTS;
	err = rdma_init_qp_attr(b->id, &attr, &mask);
	if (err)
		return err;
	attr.max_rd_atomic = VPEER_READS;
	attr.rnr_retry = b->rnr;
	return ib_modify_qp(b->v.qp, &attr, mask);
}

bool vpeer_finish(struct vpeer *b)
{
	int err;

	if (!vpeer_expect(b, RDMA_CM_EVENT_CONNECT_RESPONSE))
		return false;
	rdma_lock_handler(b->id);
	err = raise_qp(b);
	if (!err)
		err = rdma_accept(b->id, NULL);
	rdma_unlock_handler(b->id);
	return !failed(b, "completing the connection", err);
}

static struct vpeer *meet(struct pair_end *e, struct vpeer *b)
{
	struct pair *d = e->pair;
	DAT_CR_HANDLE cr;

	cr = vpeer_call(b) ? pair_called(d) : DAT_HANDLE_NULL;
	if (cr && loop_expect(d->c, "dat_cr_accept", dat_cr_accept(cr, e->ep, 0, NULL),
			      DAT_SUCCESS) && vpeer_finish(b)) {
		pair_conn(e, DAT_CONNECTION_EVENT_ESTABLISHED);
		if (pair_ok(d))
			return b;
	}
	vpeer_end(b);
	return NULL;
}

struct vpeer *vpeer_meet_rnr(struct pair_end *e, u8 rnr)
{
	struct vpeer *b = vpeer_make(e->pair->run, e->pair->c);

	if (!b)
		return NULL;
	b->rnr = rnr;
	return meet(e, b);
}

struct vpeer *vpeer_meet_srq(struct pair_end *e)
{
	struct vpeer *b = vpeer_make_srq(e->pair->run, e->pair->c);

	return b ? meet(e, b) : NULL;
}

/* RTS towards a QP of the same port, without the CM, as in pz.c of the product */
static int join_to(struct vpeer *b, const struct vpeer *to)
{
	const struct ib_gid_attr *gid = b->id->route.addr.dev_addr.sgid_attr;
	struct ib_port_attr port;
	struct ib_qp_attr attr = {
		.port_num = b->id->port_num,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
		.dest_qp_num = to->v.qp->qp_num,
		.max_dest_rd_atomic = VPEER_READS,
		.min_rnr_timer = VPEER_RNR_TIMER,
		.timeout = VPEER_ACK,
		.retry_cnt = JOIN_RETRY,
		.rnr_retry = b->rnr,
		.max_rd_atomic = VPEER_READS,
	};
	union ib_gid dgid;
	int err;

	err = ib_query_port(b->id->device, b->id->port_num, &port);
	if (err)
		return err;
	attr.path_mtu = port.active_mtu;
	attr.ah_attr.type = rdma_ah_find_type(b->id->device, b->id->port_num);
	rdma_ah_set_port_num(&attr.ah_attr, b->id->port_num);
	rdma_ah_set_dlid(&attr.ah_attr, port.lid);
	if (gid) {
		dgid = gid->gid;
		rdma_ah_set_grh(&attr.ah_attr, &dgid, 0, gid->index, 1, 0);
	}
	if (attr.ah_attr.type == RDMA_AH_ATTR_TYPE_ROCE)
		err = gid ? rdma_read_gid_l2_fields(gid, NULL, attr.ah_attr.roce.dmac) : -ENOENT;
	err = err ?: test_verbs_connect(b->v.qp, &attr);
	b->raised = !err;
	return err;
}

bool vpeer_join(struct vpeer *x, struct vpeer *y)
{
	return !failed(x, "joining", join_to(x, y)) && !failed(y, "joining", join_to(y, x));
}

/* ---- requests --------------------------------------------------------------- */

static struct vpeer_req *prepare(struct vpeer *b, u32 i, u32 off, u32 len)
{
	struct vpeer_req *r = &b->req[i];

	memset(r, 0, sizeof(*r));
	r->b = b;
	r->cqe.done = vpeer_done;
	init_completion(&r->done);
	r->sge[0] = (struct ib_sge) {
		.addr = b->dma + off, .length = len, .lkey = b->pd->local_dma_lkey,
	};
	return r;
}

struct vpeer_req *vpeer_req(struct vpeer *b, u32 i, enum ib_wr_opcode op, u32 off, u32 len)
{
	struct vpeer_req *r = prepare(b, i, off, len);

	r->rdma.wr.wr_cqe = &r->cqe;
	r->rdma.wr.opcode = op;
	r->rdma.wr.send_flags = IB_SEND_SIGNALED;
	r->rdma.wr.sg_list = r->sge;
	r->rdma.wr.num_sge = len ? 1 : 0;
	return r;
}

void vpeer_aim(struct vpeer_req *r, u64 addr, u32 key)
{
	enum ib_wr_opcode op = r->rdma.wr.opcode;

	if (op == IB_WR_ATOMIC_FETCH_AND_ADD || op == IB_WR_ATOMIC_CMP_AND_SWP) {
		r->atomic.remote_addr = addr;
		r->atomic.rkey = key;
		r->atomic.compare_add = 1;
	} else {
		r->rdma.remote_addr = addr;
		r->rdma.rkey = key;
	}
}

bool vpeer_post(struct vpeer_req *r)
{
	return !failed(r->b, "ib_post_send", ib_post_send(r->b->v.qp, &r->rdma.wr, NULL));
}

enum ib_wc_status vpeer_wait(struct vpeer_req *r)
{
	if (wait_for_completion_timeout(&r->done, test_limit(LOOP_QUIET_MS)))
		return r->status;
	failed(r->b, "no completion of request", 1 + (r - r->b->req));
	return IB_WC_GENERAL_ERR;
}

struct vpeer_req *vpeer_recv(struct vpeer *b, u32 i, u32 off, u32 len)
{
	struct vpeer_req *r = prepare(b, i, off, len);

	r->recv.wr_cqe = &r->cqe;
	r->recv.sg_list = r->sge;
	r->recv.num_sge = 1;
	failed(b, "posting a receive",
	       b->srq ? ib_post_srq_recv(b->srq, &r->recv, NULL) :
			ib_post_recv(b->v.qp, &r->recv, NULL));
	return r;
}

enum ib_wc_status vpeer_rdma(struct vpeer *b, enum ib_wr_opcode op, u64 addr, u32 key, u32 len)
{
	struct vpeer_req *r = vpeer_req(b, 0, op, 0, len);

	vpeer_aim(r, addr, key);
	return vpeer_post(r) ? vpeer_wait(r) : IB_WC_GENERAL_ERR;
}

/* ---- teardown ----------------------------------------------------------- */

void vpeer_stop(struct vpeer *b)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	failed(b, "ERR", ib_modify_qp(b->v.qp, &attr, IB_QP_STATE));
}

/* Called by the device, perhaps with the CQ's lock held and interrupts off: once */
static void hold_handler(struct ib_cq *cq, void *context)
{
	u64 end = ktime_get_ns() + HOLD_NS;
	struct vpeer *b = container_of(context, struct vpeer, v);

	cq->comp_handler = b->comp_handler;
	/* Unless vpeer_overtake() has given up */
	if (cmpxchg(&b->hold, HOLD_ARMED, HOLD_WAITING) == HOLD_ARMED) {
		while (READ_ONCE(b->hold) != HOLD_OVER && ktime_get_ns() < end)
			cpu_relax();
		b->overtaken = READ_ONCE(b->hold) == HOLD_OVER && irqs_disabled();
	}
	b->comp_handler(cq, context);
}

void vpeer_hold(struct vpeer *b)
{
	b->hold = HOLD_ARMED;
	b->comp_handler = b->v.cq->comp_handler;
	b->v.cq->comp_handler = hold_handler;
}

/* Busy-waits: a timer might be pending on the CPU that has its interrupts off */
bool vpeer_overtake(struct vpeer *b)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);

	while (READ_ONCE(b->hold) != HOLD_WAITING && time_before(jiffies, deadline)) {
		cpu_relax();
		cond_resched();
	}
	/* The handler no longer waits */
	if (cmpxchg(&b->hold, HOLD_ARMED, HOLD_OVER) == HOLD_ARMED)
		return false;
	vpeer_stop(b);
	WRITE_ONCE(b->hold, HOLD_OVER);
	return true;
}

void vpeer_die(struct vpeer *b)
{
	ib_drain_qp(b->v.qp);
	ib_destroy_qp(b->v.qp);
	b->v.qp = NULL;
}

void vpeer_end(struct vpeer *b)
{
	/* A device may never flush a QP that went from INIT to ERROR: a drain would not end */
	if (b->raised && b->v.qp)
		ib_drain_qp(b->v.qp);
	test_verbs_free(&b->v);
	if (b->dma)
		ib_dma_unmap_single(b->id->device, b->dma, VPEER_MEM, DMA_BIDIRECTIONAL);
	if (!IS_ERR_OR_NULL(b->srq))
		ib_destroy_srq(b->srq);
	if (!IS_ERR_OR_NULL(b->pd))
		ib_dealloc_pd(b->pd);
	if (!IS_ERR_OR_NULL(b->id))
		rdma_destroy_id(b->id);
	kfree(b->mem);
	kfree(b);
}
