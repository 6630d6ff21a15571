// SPDX-License-Identifier: GPL-2.0
/*
 * The fixture of a case in the loopback test: EVDs, EPs, memory and connections. The work
 * item makes, connects, disconnects and frees it in process context. Each call that fails
 * is noted with the case.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "kdapl_loop.h"

#define CONNECT_MS	TEST_HANG_MS
#define END_MS		TEST_HANG_MS

/* The number of segments of a case: zero means the maximum of the device. */
u32 loop_case_segs(struct loop_run *run, struct loop_case *c)
{
	u32 max = run->t.attr.max_iov_segments_per_dto;

	if (c->segs)
		return c->segs;
	if (c->op == LOOP_WRITE)
		max = run->t.attr.max_iov_segments_per_rdma_write;
	if (c->op == LOOP_READ)
		max = run->t.attr.max_iov_segments_per_rdma_read;
	return clamp(max, 1U, (u32)LOOP_MAX_SEGS);
}

/* The maximum number of pending posts. */
u32 loop_depth(const struct loop_fixture *fx, const struct test_posts *q)
{
	return q == &fx->srq_rx ? fx->srq_depth : fx->cfg.depth;
}

static int make_queue(struct loop_fixture *fx, struct test_posts *q, u32 depth, const char *name)
{
	/* More than the depth: suppressed requests stay until a later event */
	int err = test_posts_make(q, loop_hash((uintptr_t)q, depth) | 1, 4 * (depth + 1),
				  sizeof(struct loop_post), "%s", name);

	q->verdict = &fx->c->verdict;
	return err;
}

/* An SRQ may support fewer segments than an EP; no attribute reports that limit. */
static int make_srq(struct loop_fixture *fx)
{
	u32 depth = fx->cfg.depth * fx->cfg.conns;
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = depth,
		.max_recv_iov = fx->cfg.segs,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	DAT_SRQ_PARAM param = {};
	DAT_RETURN ret;
	int err;

	do {
		ret = dat_srq_create(fx->run->t.ia, fx->run->t.pz, &attr, &fx->srq);
		if (ret == DAT_SUCCESS || fx->c->segs || attr.max_recv_iov == 1)
			break;
		attr.max_recv_iov--;
	} while (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER ||
		 DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
	if (!loop_expect(fx->c, "dat_srq_create", ret, DAT_SUCCESS)) {
		fx->srq = DAT_HANDLE_NULL;
		return -EIO;
	}
	/* The SRQ may be larger than requested. */
	ret = dat_srq_query(fx->srq, DAT_SRQ_FIELD_ALL, &param);
	if (!loop_expect(fx->c, "dat_srq_query", ret, DAT_SUCCESS))
		return -EIO;
	if (param.max_recv_dtos < (int)depth)
		loop_fail(fx->c, "SRQ of %d buffers, requested %u", param.max_recv_dtos, depth);
	fx->srq_depth = param.max_recv_dtos;
	err = make_queue(fx, &fx->srq_rx, fx->srq_depth, "SRQ");
	if (err)
		return err;
	return loop_arena_make(fx, &fx->srq_dst, param.max_recv_dtos + 1,
			       attr.max_recv_iov, true, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
}

static int make_evd(struct loop_fixture *fx, struct loop_evd **out, DAT_EVD_FLAGS flags)
{
	static const DAT_UPCALL_POLICY policy[] = {
		[LOOP_UPCALL] = DAT_UPCALL_SINGLE_INSTANCE,
		[LOOP_DEQUEUE] = DAT_UPCALL_NOTIFY,
		[LOOP_POLL] = DAT_UPCALL_DISABLE,
	};
	struct loop_evd *evd = &fx->evd[fx->nevds];
	DAT_UPCALL_OBJECT upcall = { .instance_data = evd, .upcall_func = loop_upcall };
	bool solicited = (fx->cfg.recv_flags[0] | fx->cfg.recv_flags[1]) &
			 DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	DAT_RETURN ret;

	evd->fx = fx;
	/*
	 * One entry is enough: completions and connection events do not use the queue
	 * length.
	 */
	ret = dat_evd_kcreate(fx->run->t.ia, 1, policy[fx->cfg.mode],
			      fx->cfg.mode == LOOP_POLL ? NULL : &upcall,
			      test_evd_flags(flags, solicited), &evd->handle);
	if (!loop_expect(fx->c, "dat_evd_kcreate", ret, DAT_SUCCESS))
		return -EIO;
	evd->dto = flags & DAT_EVD_DTO_FLAG;
	if (evd->dto)
		test_poller_add(evd->handle);
	fx->nevds++;
	*out = evd;
	return 0;
}

/* The EVDs of one side, shared by all its EPs. */
static int make_evds(struct loop_fixture *fx, struct loop_side *s)
{
	int err;

	if (fx->cfg.merged) {
		err = make_evd(fx, &s->recv, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
		s->req = s->recv;
		s->conn = s->recv;
		return err;
	}
	err = make_evd(fx, &s->recv, DAT_EVD_DTO_FLAG);
	if (!err)
		err = make_evd(fx, &s->req, DAT_EVD_DTO_FLAG);
	if (!err)
		err = make_evd(fx, &s->conn, DAT_EVD_CONNECTION_FLAG);
	return err;
}

static int make_ep(struct loop_fixture *fx, struct loop_side *s, bool passive)
{
	struct loop_run *run = fx->run;
	bool shared = passive && fx->srq;
	u32 segs = fx->cfg.segs;
	/* An RDMA write may support more segments than a send */
	u32 plain = min_t(u32, segs, run->t.attr.max_iov_segments_per_dto);
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = LOOP_MAX_SIZE,
		.max_rdma_size = LOOP_MAX_SIZE + LOOP_SLACK,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = fx->cfg.recv_flags[passive],
		.request_completion_flags = fx->cfg.req_flags[passive],
		.max_recv_dtos = fx->cfg.depth,
		.max_request_dtos = fx->cfg.depth,
		.max_recv_iov = plain,
		.max_request_iov = plain,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = min_t(u32, segs, run->t.attr.max_iov_segments_per_rdma_read),
		.max_rdma_write_iov = min_t(u32, segs, run->t.attr.max_iov_segments_per_rdma_write),
	};
	DAT_RETURN ret;

	if (shared)
		ret = dat_ep_create_with_srq(run->t.ia, run->t.pz, s->recv->handle,
					     s->req->handle, s->conn->handle,
					     fx->srq, &attr, &s->ep);
	else
		ret = dat_ep_create(run->t.ia, run->t.pz, s->recv->handle, s->req->handle,
				    s->conn->handle, &attr, &s->ep);
	if (!loop_expect(fx->c, shared ? "dat_ep_create_with_srq" : "dat_ep_create",
			 ret, DAT_SUCCESS)) {
		s->ep = DAT_HANDLE_NULL;
		return -EIO;
	}
	return 0;
}

static const char * const tx_name[2][2] = { { "A requests", "A2 requests" },
					    { "B requests", "B2 requests" } };
static const char * const rx_name[2][2] = { { "A receives", "A2 receives" },
					    { "B receives", "B2 receives" } };

/* Memory with the minimum privileges for the operation. */
static int make_memory(struct loop_fixture *fx, struct loop_side *s, bool passive)
{
	const struct loop_cfg *cfg = &fx->cfg;
	bool src = cfg->both || passive == (cfg->op == LOOP_READ);
	bool dst = cfg->both || passive == (cfg->op != LOOP_READ);
	DAT_MEM_PRIV_FLAGS rd = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	DAT_MEM_PRIV_FLAGS wr = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	/*
	 * One more than the queue length, so that the post that must be refused has a
	 * buffer.
	 */
	u32 slots = cfg->both ? 3 * cfg->depth + 1 : cfg->depth + 1;
	u32 segs = cfg->segs;
	int err = 0;

	if (cfg->both) {
		rd |= DAT_MEM_PRIV_REMOTE_READ_FLAG;
		wr |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	} else if (passive && cfg->op == LOOP_READ) {
		rd = DAT_MEM_PRIV_REMOTE_READ_FLAG;
		segs = 1;
	} else if (passive && cfg->op == LOOP_WRITE) {
		wr = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
		segs = 1;
	}
	if (passive && cfg->op == LOOP_SRQ)
		dst = false;
	s->src = &s->own_src;
	s->dst = &s->own_dst;
	if (src)
		err = loop_arena_make(fx, s->src, slots, segs, false, rd);
	if (dst && !err)
		err = loop_arena_make(fx, s->dst, slots, segs, true, wr);
	return err;
}

static int make_side(struct loop_fixture *fx, struct loop_side *s, u32 i, bool passive)
{
	struct loop_side *first = passive ? &fx->b[0] : &fx->a[0];
	int err;

	s->fx = fx;
	s->peer = passive ? &fx->a[i] : &fx->b[i];
	s->stream = 2 * i + passive;
	scnprintf(s->name, sizeof(s->name), "%c%s", passive ? 'B' : 'A', i ? "2" : "");
	if (i) {
		s->recv = first->recv;
		s->req = first->req;
		s->conn = first->conn;
	} else {
		err = make_evds(fx, s);
		if (err)
			return err;
	}
	s->rx = passive && fx->srq ? &fx->srq_rx : &s->own_rx;
	err = make_queue(fx, &s->tx, fx->cfg.depth, tx_name[passive][i]) ?:
	      make_queue(fx, &s->own_rx, fx->cfg.depth, rx_name[passive][i]);
	if (!err)
		err = make_memory(fx, s, passive);
	if (!err)
		err = make_ep(fx, s, passive);
	return err;
}

/**
 * loop_fixture_make - make the EVDs, EPs and memory of a case
 * @run: the run
 * @c: the case
 * @cfg: what the case needs
 *
 * Context: process.
 * Return: the fixture, not connected; NULL if a call failed, which is noted.
 */
struct loop_fixture *loop_fixture_make(struct loop_run *run, struct loop_case *c,
				       const struct loop_cfg *cfg)
{
	struct loop_fixture *fx = kvzalloc(sizeof(*fx), GFP_KERNEL);
	int err = 0;
	u32 i;

	if (!fx) {
		loop_fail(c, "no memory for the fixture");
		return NULL;
	}
	fx->run = run;
	fx->c = c;
	fx->cfg = *cfg;
	fx->seed = loop_hash(run->args.seed, c - run->cases) + cfg->mode;
	spin_lock_init(&fx->lock);
	reinit_completion(&run->wake);
	if (cfg->op == LOOP_SRQ)
		err = make_srq(fx);
	for (i = 0; i < cfg->conns && !err; i++) {
		/* Count the pair first, so that a failure frees the parts already made. */
		fx->nsides++;
		err = make_side(fx, &fx->a[i], i, false);
		if (!err)
			err = make_side(fx, &fx->b[i], i, true);
	}
	if (!err)
		return fx;
	if (err == -ENOMEM)
		loop_fail(c, "no memory for the fixture");
	loop_fixture_end(fx);
	return NULL;
}

/* Checks that a connection request is from this fixture and has the data that was sent. */
static void check_cr(struct loop_fixture *fx, DAT_CR_HANDLE cr)
{
	u64 hello = LOOP_HELLO;
	DAT_CR_PARAM param = {};

	if (!loop_expect(fx->c, "dat_cr_query",
			 dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS))
		return;
	if (!param.private_data || param.private_data_size < (int)sizeof(hello) ||
	    memcmp(param.private_data, &hello, sizeof(hello)))
		loop_fail(fx->c, "request: expected the data that was sent, got other data");
	if (!param.remote_ia_address_ptr ||
	    param.remote_ia_address_ptr->sa_family != fx->run->t.attr.ia_address_ptr->sa_family)
		loop_fail(fx->c, "request: expected the address of its sender, got none");
}

static bool connected(struct loop_fixture *fx)
{
	u32 i;

	for (i = 0; i < fx->nsides; i++)
		if (fx->a[i].ep && (!fx->a[i].established || !fx->b[i].established))
			return fx->stop;
	return true;
}

static int connect_pair(struct loop_fixture *fx, u32 i)
{
	struct loop_run *run = fx->run;
	u64 hello = LOOP_HELLO, welcome = LOOP_WELCOME;
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;
	int err;

	ret = dat_ep_connect(fx->a[i].ep, run->t.attr.ia_address_ptr, run->qual,
			     CONNECT_MS * test_stretch() * 1000U, sizeof(hello), &hello,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (!loop_expect(fx->c, "dat_ep_connect", ret, DAT_SUCCESS))
		return -EIO;
	err = loop_wait_cr(run, CONNECT_MS);
	if (err) {
		if (err == -ETIMEDOUT)
			loop_fail(fx->c, "expected a connection request within %u s, got none",
				  CONNECT_MS * test_stretch() / 1000);
		return err;
	}
	cr = run->cr;
	WRITE_ONCE(run->cr, NULL);
	check_cr(fx, cr);
	ret = dat_cr_accept(cr, fx->b[i].ep, sizeof(welcome), &welcome);
	return loop_expect(fx->c, "dat_cr_accept", ret, DAT_SUCCESS) ? 0 : -EIO;
}

/**
 * loop_fixture_connect - connect each A to its B
 * @fx: the fixture
 *
 * Context: process.
 * Return: 0 with ESTABLISHED seen at both ends; an error, which is noted.
 */
int loop_fixture_connect(struct loop_fixture *fx)
{
	int err = 0;
	u32 i;

	for (i = 0; i < fx->nsides && !err; i++)
		err = connect_pair(fx, i);
	if (!err)
		err = loop_wait(fx, connected, CONNECT_MS);
	if (err == -ETIMEDOUT)
		loop_fail(fx->c, "connecting: A %s, B %s within %u s",
			  fx->a[0].established ? "established" : "not established",
			  fx->b[0].established ? "established" : "not established",
			  CONNECT_MS * test_stretch() / 1000);
	if (!err && fx->stop)
		err = -EIO;
	return err;
}

static bool ended_and_back(struct loop_fixture *fx)
{
	return loop_all_ended(fx) && loop_all_back(fx);
}

/**
 * loop_fixture_settle - wait until both ends are disconnected and every post completed
 * @fx: the fixture, disconnecting
 *
 * Each end receives exactly one disconnect event, and no post stays pending.
 *
 * Context: process.
 * Return: 0, or an error, which is noted.
 */
int loop_fixture_settle(struct loop_fixture *fx)
{
	int err;
	u32 i;

	err = loop_wait(fx, ended_and_back, END_MS);
	if (err != -ETIMEDOUT)
		return err;
	spin_lock_bh(&fx->lock);
	for (i = 0; i < fx->nsides; i++) {
		if (!fx->a[i].ended || !fx->b[i].ended)
			loop_fail(fx->c, "disconnect: %u end events at A, %u at B",
				  fx->a[i].ended, fx->b[i].ended);
		test_posts_missing(&fx->a[i].tx);
		test_posts_missing(&fx->a[i].own_rx);
		test_posts_missing(&fx->b[i].tx);
		test_posts_missing(&fx->b[i].own_rx);
	}
	spin_unlock_bh(&fx->lock);
	return err;
}

/**
 * loop_fixture_disconnect - disconnect all pairs from A
 * @fx: the fixture, connected
 * @how: graceful or abrupt
 *
 * Context: process.
 * Return: the value of loop_fixture_settle().
 */
int loop_fixture_disconnect(struct loop_fixture *fx, DAT_CLOSE_FLAGS how)
{
	DAT_RETURN ret;
	u32 i;

	spin_lock_bh(&fx->lock);
	fx->may_end = true;
	fx->may_flush = true;
	spin_unlock_bh(&fx->lock);
	for (i = 0; i < fx->nsides; i++) {
		ret = dat_ep_disconnect(fx->a[i].ep, how);
		loop_expect(fx->c, "dat_ep_disconnect", ret, DAT_SUCCESS);
	}
	return loop_fixture_settle(fx);
}

static void end_side(struct loop_fixture *fx, struct loop_side *s)
{
	if (s->ep)
		loop_expect(fx->c, "dat_ep_free", dat_ep_free(s->ep), DAT_SUCCESS);
	s->ep = DAT_HANDLE_NULL;
}

/**
 * loop_fixture_end - free a fixture, complete or not
 * @fx: the fixture
 *
 * Context: process.
 */
void loop_fixture_end(struct loop_fixture *fx)
{
	u32 i;

	/* After a failure, which was noted, the EPs may still be connected. */
	spin_lock_bh(&fx->lock);
	fx->pumping = false;
	fx->may_end = true;
	fx->may_flush = true;
	spin_unlock_bh(&fx->lock);
	for (i = 0; i < fx->nsides; i++) {
		end_side(fx, &fx->a[i]);
		end_side(fx, &fx->b[i]);
	}
	if (fx->srq)
		loop_expect(fx->c, "dat_srq_free", dat_srq_free(fx->srq), DAT_SUCCESS);
	for (i = 0; i < fx->nevds; i++)
		loop_expect(fx->c, "dat_evd_free", dat_evd_free(fx->evd[i].handle),
			    DAT_SUCCESS);
	for (i = 0; i < fx->nsides; i++) {
		loop_arena_end(fx, &fx->a[i].own_src);
		loop_arena_end(fx, &fx->a[i].own_dst);
		loop_arena_end(fx, &fx->b[i].own_src);
		loop_arena_end(fx, &fx->b[i].own_dst);
		test_posts_free(&fx->a[i].tx);
		test_posts_free(&fx->a[i].own_rx);
		test_posts_free(&fx->b[i].tx);
		test_posts_free(&fx->b[i].own_rx);
	}
	loop_arena_end(fx, &fx->srq_dst);
	test_posts_free(&fx->srq_rx);
	kvfree(fx);
}
