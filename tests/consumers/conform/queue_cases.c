// SPDX-License-Identifier: GPL-2.0
/*
 * Cases about the states of queue pairs, and about the capacity of queues. Process context.
 */
#include "conform.h"

static void send_in_reset(struct cf *cf)
{
	if (cf_make(cf))
		cf_say(cf, "%d", cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED));
}

static void recv_in_reset(struct cf *cf)
{
	if (cf_make(cf))
		cf_say(cf, "%d", cf_recv(&cf->a, 1, 8));
}

static void send_in_init(struct cf *cf)
{
	if (cf_make(cf) && !cf_state(&cf->a, IB_QPS_INIT))
		cf_say(cf, "%d", cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED));
}

static void recv_in_init(struct cf *cf)
{
	if (!cf_make(cf) || cf_state(&cf->b, IB_QPS_INIT))
		return;
	cf_say(cf, "%d", cf_recv(&cf->b, 1, 8));
	if (cf_connect(cf) && !cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED))
		cf_say(cf, "%s", cf_wait(&cf->b));
}

static void flush_in_init(struct cf *cf)
{
	if (!cf_make(cf) || cf_state(&cf->a, IB_QPS_INIT) || cf_recv(&cf->a, 1, 8) ||
	    cf_state(&cf->a, IB_QPS_ERR))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
}

static void post_in_error(struct cf *cf)
{
	if (!cf_ready(cf) || cf_state(&cf->a, IB_QPS_ERR))
		return;
	cf_say(cf, "%d", cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED));
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, "%d", cf_recv(&cf->a, 2, 8));
	cf_say(cf, "%s", cf_wait(&cf->a));
}

/* Requests that wait for a receive of the peer, and receives */
static void flush_order(struct cf *cf)
{
	u64 id, next[2] = { 1, 101 };
	struct ib_wc wc;
	u32 i;

	cf->setup.rnr_retry = 7;
	if (!cf_ready(cf))
		return;
	for (i = 0; i < 4; i++)
		if (cf_send(&cf->a, 1 + i, 8, i & 1 ? IB_SEND_SIGNALED : 0) ||
		    cf_recv(&cf->a, 101 + i, 8))
			return;
	cf_state(&cf->a, IB_QPS_ERR);
	for (i = 0; i < 8; i++) {
		if (!cf_next(&cf->a, &wc))
			return;
		id = wc.wr_id;
		if (wc.status != IB_WC_WR_FLUSH_ERR || id != next[id > 100]++)
			cf_say(cf, "%llu: %s", id, cf_status(wc.status));
	}
	cf_say(cf, "8 flushed in order");
}

static void reset_drops(struct cf *cf)
{
	struct ib_wc wc;
	u32 n = 0;

	if (!cf_ready(cf) || cf_recv(&cf->a, 1, 8) || cf_recv(&cf->a, 2, 8) ||
	    cf_state(&cf->a, IB_QPS_RESET))
		return;
	/* The flushed marker would follow them */
	if (cf_state(&cf->a, IB_QPS_INIT) || cf_recv(&cf->a, 3, 8) ||
	    cf_state(&cf->a, IB_QPS_ERR))
		return;
	while (cf_next(&cf->a, &wc) && wc.wr_id != 3)
		n++;
	cf_say(cf, "%u completions", n);
}

/* No receive at the peer, so nothing completes */
static void sq_capacity(struct cf *cf)
{
	int err = 0;
	u32 n;

	cf->setup.rnr_retry = 7;
	if (!cf_ready(cf))
		return;
	for (n = 0; n < 2 * cf->a.send_wr && !err; n++)
		err = cf_send(&cf->a, n, 8, IB_SEND_SIGNALED);
	cf_say(cf, "%d at %s", err, n - 1 == cf->a.send_wr ? "the limit" : "another number");
}

static void rq_capacity(struct cf *cf)
{
	int err = 0;
	u32 n;

	if (!cf_ready(cf))
		return;
	for (n = 0; n < 2 * cf->b.recv_wr && !err; n++)
		err = cf_recv(&cf->b, n, 8);
	cf_say(cf, "%d at %s", err, n - 1 == cf->b.recv_wr ? "the limit" : "another number");
}

static void srq_capacity(struct cf *cf)
{
	cf->setup.srq = true;
	rq_capacity(cf);
}

/* The slots of requests are in use until their completions were polled */
static void slots_polled(struct cf *cf)
{
	u32 i;

	cf->setup.rnr_retry = 7;
	if (!cf_ready(cf))
		return;
	for (i = 0; i < cf->a.send_wr; i++)
		if (cf_recv(&cf->b, i, 8) || cf_send(&cf->a, i, 8, IB_SEND_SIGNALED))
			return;
	/* All have arrived, and so, after a last one, all are acknowledged */
	for (i = 0; i < cf->a.send_wr; i++)
		cf_wait(&cf->b);
	cf_say(cf, "%d", cf_send(&cf->a, 100, 8, IB_SEND_SIGNALED));
	for (i = 0; i < cf->a.send_wr; i++)
		cf_wait(&cf->a);
	cf_say(cf, "%d", cf_send(&cf->a, 101, 8, IB_SEND_SIGNALED));
}

static void sge_limit(struct cf *cf)
{
	struct ib_sge sge[40] = {};
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 40 };

	if (cf_ready(cf))
		cf_say(cf, "%d", cf_post(&cf->a, &wr));
}

static bool cq_failed(struct cf_end *e)
{
	return atomic_read(&e->cq_errors);
}

static bool few_entries(struct cf *cf)
{
	cf->setup.cqes = 4;
	cf->setup.rnr_retry = 7;
	return cf_ready(cf);
}

/* Nobody polls B's CQ */
static bool overrun(struct cf *cf)
{
	u32 i, n = cf->b.cq->cqe + 1;

	for (i = 0; i < n && !cq_failed(&cf->b); i++) {
		if (cf_recv(&cf->b, i, 8) || cf_send(&cf->a, i, 8, IB_SEND_SIGNALED))
			break;
		cf_wait(&cf->a);
	}
	return cf_until(cq_failed, &cf->b);
}

static void cq_overrun(struct cf *cf)
{
	if (!few_entries(cf))
		return;
	cf_say(cf, overrun(cf) ? "CQ_ERR" : "no event");
	cf_say(cf, "%s", cf_get_state(&cf->b));
}

static bool qp_failed(struct cf_end *e)
{
	return atomic_read(&e->events[IB_EVENT_QP_FATAL]);
}

/* The cause comes first */
static void overrun_order(struct cf *cf)
{
	if (!few_entries(cf) || !overrun(cf))
		return;
	if (!cf_until(qp_failed, &cf->b))
		cf_say(cf, "no QP_FATAL");
	else
		cf_say(cf, "QP_FATAL %s CQ_ERR", cf->b.cq_errors_before ? "after" : "before");
}

static void unsignalled(struct cf *cf)
{
	struct ib_wc wc = {};
	u32 i;

	if (!cf_ready(cf))
		return;
	for (i = 1; i <= 4; i++)
		if (cf_recv(&cf->b, i, 8) || cf_send(&cf->a, i, 8, i == 4 ? IB_SEND_SIGNALED : 0))
			return;
	cf_next(&cf->a, &wc);
	cf_say(cf, "number %llu: %s", wc.wr_id, cf_status(wc.status));
}

static void signal_all(struct cf *cf)
{
	cf->setup.all = true;
	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 8) || cf_send(&cf->a, 1, 8, 0))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
}

const struct cf_case cf_queue_cases[] = {
	{ "states/send-in-reset", send_in_reset, "10.3.1.1", "-22" },
	{ "states/receive-in-reset", recv_in_reset, "10.3.1.1", "-22" },
	{ "states/send-in-init", send_in_init, "10.3.1.2", "-22" },
	{ "states/receive-in-init", recv_in_init, "10.3.1.2", "0, success" },
	{ "states/flush-in-init", flush_in_init, "10.3.1.7", "flushed" },
	{ "states/post-in-error", post_in_error, "10.3.1.7", "0, flushed, 0, flushed" },
	{ "states/flush-order", flush_order, "10.8.5", "8 flushed in order" },
	{ "states/reset-drops", reset_drops, "10.3.1.1", "0 completions" },
	{ "queues/request-capacity", sq_capacity, "10.8.2.2", "-12 at the limit",
	  "-12 at another number" },
	{ "queues/receive-capacity", rq_capacity, "10.8.2.2", "-12 at the limit",
	  "-12 at another number" },
	{ "queues/shared-capacity", srq_capacity, "10.2.9.3", "-12 at the limit" },
	{ "queues/freed-by-polling", slots_polled, "10.8.5.1", "-12, 0", "0, 0" },
	{ "queues/segment-limit", sge_limit, "11.4.1.1", "-22" },
	{ "queues/cq-overrun", cq_overrun, "10.10.2.3", "CQ_ERR, ERROR", "CQ_ERR, RTS" },
	{ "queues/overrun-order", overrun_order, "10.10.2.3", "QP_FATAL after CQ_ERR",
	  "no QP_FATAL" },
	{ "queues/unsignalled", unsignalled, "10.8.6", "number 4: success" },
	{ "queues/signal-all", signal_all, "10.8.6", "success" },
	{ }
};
