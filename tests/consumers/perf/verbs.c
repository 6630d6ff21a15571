// SPDX-License-Identifier: GPL-2.0
/*
 * The links with plain verbs: a queue pair that rdma_cm connects, a CQ that is polled in
 * softirq context, as an EP has one, and a fast registration for each buffer.
 *
 * The work item of the end makes all calls, in process context. The handler of the connection
 * manager stores the latest event. The CQ calls the functions *_done in softirq context, one at
 * a time for each link.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <net/net_namespace.h>

#include "perf.h"
#include "test_verbs.h"

#define READS		16
#define RETRY		6	/* rxe retries forever with 7 */
#define RNR_RETRY	7	/* without limit, as kDAPL does */
#define RNR_TIMER	12	/* 0.64 ms, as kDAPL's */
#define ACCESS		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

/* ---- the posts -------------------------------------------------------------- */

static struct ib_sge segment(const struct perf_link *l, enum perf_area area, u32 size)
{
	return (struct ib_sge) {
		.addr = l->mr[area]->iova,
		.length = size,
		.lkey = l->mr[area]->lkey,
	};
}

static bool verbs_recv(struct perf_link *l)
{
	struct ib_sge sge = segment(l, PERF_SINK, l->room);
	struct ib_recv_wr wr = { .wr_cqe = &l->recv_cqe, .sg_list = &sge, .num_sge = 1 };

	return !ib_post_recv(l->id->qp, &wr, NULL);
}

static bool verbs_request(struct perf_link *l, enum perf_op op, u32 size)
{
	static const enum ib_wr_opcode opcode[] = {
		IB_WR_SEND, IB_WR_RDMA_WRITE, IB_WR_RDMA_READ
	};
	enum perf_area local = op == PERF_READ ? PERF_SINK : PERF_SOURCE;
	struct ib_sge sge = segment(l, local, size);
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &l->request_cqe,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode[op],
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = l->remote[!local].address,
		.rkey = l->remote[!local].key,
	};

	return !ib_post_send(l->id->qp, &wr.wr, NULL);
}

const struct perf_calls perf_verbs_calls = { .recv = verbs_recv, .request = verbs_request };

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct perf_link *l = container_of(wc->wr_cqe, struct perf_link, recv_cqe);

	perf_received(l, wc->status == IB_WC_SUCCESS, wc->byte_len);
}

static void request_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct perf_link *l = container_of(wc->wr_cqe, struct perf_link, request_cqe);

	perf_requested(l, wc->status == IB_WC_SUCCESS);
}

static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct perf_link *l = container_of(wc->wr_cqe, struct perf_link, reg_cqe);

	if (wc->status != IB_WC_SUCCESS)
		WRITE_ONCE(l->failed, true);
	WRITE_ONCE(l->registered, l->registered + 1);
	wake_up(&l->end->wait);
}

/* ---- connection manager ----------------------------------------------------- */

/* The context of a new request is that of the listener, until it is accepted */
static int handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct perf_link *l = id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		/* The CM destroys a request that is not taken */
		if (cmpxchg(&l->end->request, NULL, id))
			return -EBUSY;
	} else {
		WRITE_ONCE(l->cm_event, event->event + 1);
	}
	wake_up(&l->end->wait);
	return 0;
}

static int check(struct perf_link *l, const char *what, long err)
{
	if (!err)
		return 0;
	return perf_fail(l->end->run, "verbs: %s: error %ld", what, err);
}

static int expect(struct perf_link *l, enum rdma_cm_event_type event)
{
	u32 seen = 0;

	test_wait((seen = READ_ONCE(l->cm_event)) || perf_stopped(l->end), 2 * PERF_WAIT_MS);
	WRITE_ONCE(l->cm_event, 0);
	if (seen == event + 1)
		return 0;
	return perf_fail(l->end->run, "verbs: expected event \"%s\", got %s", rdma_event_msg(event),
			 seen ? rdma_event_msg(seen - 1) : "none");
}

/* ---- objects ----------------------------------------------------------------- */

static int make_mr(struct perf_link *l, enum perf_area area)
{
	struct ib_device *ibdev = l->id->device;
	u32 pages = DIV_ROUND_UP(l->room, PAGE_SIZE);
	struct ib_mr *mr;
	int n;

	mr = ib_alloc_mr(l->pd, IB_MR_TYPE_MEM_REG, pages);
	if (IS_ERR(mr))
		return check(l, "ib_alloc_mr", PTR_ERR(mr));
	l->mr[area] = mr;
	sg_init_one(&l->sg[area], l->area[area], PAGE_ALIGN(l->room));
	if (ib_dma_map_sg(ibdev, &l->sg[area], 1, DMA_BIDIRECTIONAL) != 1) {
		/* Nothing to unmap */
		l->sg[area].length = 0;
		return check(l, "ib_dma_map_sg", -ENOMEM);
	}
	n = ib_map_mr_sg(mr, &l->sg[area], 1, NULL, PAGE_SIZE);
	return n == 1 ? 0 : check(l, "ib_map_mr_sg", n);
}

static int make(struct perf_link *l)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = l->requests + 2,	/* with that of ib_drain_qp() */
			.max_recv_wr = l->recvs + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_device *ibdev = l->id->device;
	struct ib_pd *pd;
	struct ib_cq *cq;

	l->recv_cqe.done = recv_done;
	l->request_cqe.done = request_done;
	l->reg_cqe.done = reg_done;
	pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(pd))
		return check(l, "ib_alloc_pd", PTR_ERR(pd));
	l->pd = pd;
	cq = ib_alloc_cq_any(ibdev, l, l->recvs + l->requests + 3, TEST_POLL);
	if (IS_ERR(cq))
		return check(l, "ib_alloc_cq_any", PTR_ERR(cq));
	l->cq = cq;
	init.send_cq = cq;
	init.recv_cq = cq;
	return check(l, "rdma_create_qp", rdma_create_qp(l->id, pd, &init)) ?:
	       make_mr(l, PERF_SOURCE) ?: make_mr(l, PERF_SINK) ?: perf_post_recvs(l);
}

/* Register both buffers; the queue pair is connected */
static int reg(struct perf_link *l)
{
	u32 a;

	for (a = 0; a < PERF_AREAS; a++) {
		struct ib_reg_wr wr = {
			.wr = {
				.wr_cqe = &l->reg_cqe,
				.opcode = IB_WR_REG_MR,
				.send_flags = IB_SEND_SIGNALED,
			},
			.mr = l->mr[a],
			.key = l->mr[a]->rkey,
			.access = ACCESS,
		};

		if (check(l, "IB_WR_REG_MR", ib_post_send(l->id->qp, &wr.wr, NULL)))
			return -EIO;
	}
	test_wait(READ_ONCE(l->registered) == PERF_AREAS || perf_stopped(l->end), PERF_WAIT_MS);
	if (READ_ONCE(l->registered) != PERF_AREAS || READ_ONCE(l->failed))
		return check(l, "no completion of IB_WR_REG_MR", -EIO);
	return 0;
}

/* Free the objects of a link that may be incomplete */
void perf_verbs_free(struct perf_link *l)
{
	u32 a;

	if (!l->id)
		return;
	if (l->id->qp) {
		rdma_disconnect(l->id);
		ib_drain_qp(l->id->qp);
		rdma_destroy_qp(l->id);
	}
	for (a = 0; a < PERF_AREAS; a++) {
		if (!l->mr[a])
			continue;
		ib_dereg_mr(l->mr[a]);
		if (l->sg[a].length)
			ib_dma_unmap_sg(l->id->device, &l->sg[a], 1, DMA_BIDIRECTIONAL);
	}
	if (l->cq)
		ib_free_cq(l->cq);
	if (l->pd)
		ib_dealloc_pd(l->pd);
	rdma_destroy_id(l->id);
	l->id = NULL;
}

/* ---- connections -------------------------------------------------------------- */

static struct rdma_conn_param parameters(const struct perf_link *l)
{
	const struct ib_device_attr *attr = &l->id->device->attrs;

	return (struct rdma_conn_param) {
		.responder_resources = min(READS, attr->max_qp_rd_atom),
		.initiator_depth = min(READS, attr->max_qp_init_rd_atom),
		.retry_count = RETRY,
		.rnr_retry_count = RNR_RETRY,
	};
}

static void with_port(struct sockaddr_storage *to, const struct sockaddr *from, u32 port)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
						       sizeof(struct sockaddr_in));
	/* The port has the same offset in both families */
	((struct sockaddr_in *)to)->sin_port = htons(port);
}

static int create_id(struct perf_end *e, struct perf_link *l, struct rdma_cm_id **id)
{
	*id = rdma_create_id(&init_net, handler, l, RDMA_PS_TCP, IB_QPT_RC);
	if (!IS_ERR(*id))
		return 0;
	*id = NULL;
	return perf_fail(e->run, "verbs: rdma_create_id failed");
}

/**
 * perf_verbs_connect - create the objects of a link and connect it to the server
 * @l:  a link with its buffers
 * @to: address of the server
 *
 * Return: 0, or -EIO, which is noted.
 */
int perf_verbs_connect(struct perf_link *l, const struct sockaddr *to)
{
	struct rdma_conn_param param;
	struct sockaddr_storage from, addr;

	with_port(&from, l->end->t.attr.ia_address_ptr, 0);
	with_port(&addr, to, l->end->run->args.port + 1);
	if (create_id(l->end, l, &l->id) ||
	    check(l, "rdma_resolve_addr",
		  rdma_resolve_addr(l->id, (struct sockaddr *)&from, (struct sockaddr *)&addr,
				    PERF_WAIT_MS)) ||
	    expect(l, RDMA_CM_EVENT_ADDR_RESOLVED) ||
	    check(l, "rdma_resolve_route", rdma_resolve_route(l->id, PERF_WAIT_MS)) ||
	    expect(l, RDMA_CM_EVENT_ROUTE_RESOLVED) || make(l))
		return -EIO;
	param = parameters(l);
	return check(l, "rdma_set_min_rnr_timer", rdma_set_min_rnr_timer(l->id, RNR_TIMER)) ?:
	       check(l, "rdma_connect", rdma_connect(l->id, &param)) ?:
	       expect(l, RDMA_CM_EVENT_ESTABLISHED) ?: reg(l);
}

/* Listen on the address of the IA. Return: 0, or -EIO, which is noted */
int perf_verbs_listen(struct perf_end *e)
{
	struct sockaddr_storage addr;

	with_port(&addr, e->t.attr.ia_address_ptr, e->run->args.port + 1);
	return create_id(e, &e->door, &e->listener) ?:
	       check(&e->door, "rdma_bind_addr",
		     rdma_bind_addr(e->listener, (struct sockaddr *)&addr)) ?:
	       check(&e->door, "rdma_listen", rdma_listen(e->listener, 1));
}

/**
 * perf_verbs_accept - create the objects of a link and accept its connection
 * @l: a link with its buffers
 *
 * Return: 0, or -EIO, which is noted.
 */
int perf_verbs_accept(struct perf_link *l)
{
	struct perf_end *e = l->end;
	struct rdma_conn_param param;

	test_wait(READ_ONCE(e->request) || perf_stopped(e), PERF_WAIT_MS);
	l->id = xchg(&e->request, NULL);
	if (!l->id)
		return perf_fail(e->run, "verbs: the client does not connect queue pair %u",
				 l->index);
	l->id->context = l;
	if (make(l))
		return -EIO;
	param = parameters(l);
	return check(l, "rdma_set_min_rnr_timer", rdma_set_min_rnr_timer(l->id, RNR_TIMER)) ?:
	       check(l, "rdma_accept", rdma_accept(l->id, &param)) ?:
	       expect(l, RDMA_CM_EVENT_ESTABLISHED) ?: reg(l);
}
