// SPDX-License-Identifier: GPL-2.0
/*
 * Cases about the options of the adapter model: those of a personality, and faults. conform.sh sets
 * the options that the first part of a name stands for. Process context.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/string.h>
#include "conform.h"

/* ---- what mlx5 has room for ------------------------------------------------ */

/* A queue of so many requests: 0, or the error of the device */
static void fits(struct cf *cf, u32 wr, u32 sge, u32 inl)
{
	struct ib_qp_init_attr init = {
		.send_cq = cf->a.cq, .recv_cq = cf->a.cq, .qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = wr, .max_send_sge = sge, .max_inline_data = inl },
	};
	struct ib_qp *qp = ib_create_qp(cf->a.pd, &init);

	cf_say(cf, "%d", PTR_ERR_OR_ZERO(qp));
	if (!IS_ERR(qp))
		ib_destroy_qp(qp);
}

/* 4096 blocks of 64 bytes; a request occupies 7 of them */
static void segments(struct cf *cf)
{
	if (!cf_make(cf))
		return;
	fits(cf, 585, 16, 0);
	fits(cf, 586, 16, 0);
}

/* 3 blocks, and one byte more */
static void inline_data(struct cf *cf)
{
	if (!cf_make(cf))
		return;
	fits(cf, 1365, 1, 56);
	fits(cf, 1365, 1, 57);
}

/* ---- events and completions of the same time ------------------------------- */

static bool last_wqe(struct cf_end *e)
{
	return atomic_read(&e->events[IB_EVENT_QP_LAST_WQE_REACHED]);
}

/* B is flushed with a request that has no receive: does the event come after its completion? */
static int event_after(struct cf *cf)
{
	cf->setup.srq = true;
	cf->setup.rnr_retry = 7;
	if (!cf_ready(cf))
		return -1;
	cf_arm(&cf->b, IB_CQ_NEXT_COMP);
	if (cf_send(&cf->b, 1, 8, IB_SEND_SIGNALED) || cf_state(&cf->b, IB_QPS_ERR) ||
	    !cf_until(last_wqe, &cf->b) || !cf_fired(&cf->b))
		return -1;
	return cf->b.fired_before;
}

static void event_order(struct cf *cf)
{
	int after = event_after(cf);

	cf_say(cf, after < 0 ? "not both" : after ? "after" : "before");
}

static void both_orders(struct cf *cf)
{
	int after, seen = 0;
	u32 i;

	for (i = 0; i < 64 && seen != 3; i++) {
		after = event_after(cf);
		if (after < 0)
			return;
		seen |= 1 << !!after;
		cf_renew(cf);
	}
	cf_say(cf, seen == 3 ? "both" : "one");
}

/* The event would come before the second completion */
static void no_last_wqe(struct cf *cf)
{
	cf->setup.srq = true;
	if (!cf_ready(cf) || cf_state(&cf->b, IB_QPS_ERR) ||
	    cf_send(&cf->b, 1, 8, IB_SEND_SIGNALED))
		return;
	cf_say(cf, "%s", cf_wait(&cf->b));
	cf_send(&cf->b, 2, 8, IB_SEND_SIGNALED);
	cf_say(cf, "%s", cf_wait(&cf->b));
	cf_say(cf, last_wqe(&cf->b) ? "LAST_WQE_REACHED" : "no event");
}

/* Likewise */
static void no_comm_est(struct cf *cf)
{
	cf->setup.rtr = true;
	if (cf_ready(cf) && cf_transfer(cf, 0) && cf_transfer(cf, 0))
		cf_say(cf, atomic_read(&cf->b.events[IB_EVENT_COMM_EST]) ?
		       "COMM_EST" : "no event");
}

/* ---- arming ---------------------------------------------------------------- */

/* Does a message that solicits no event fire B's CQ, in which so many older entries wait? */
static void arm(struct cf *cf, enum ib_cq_notify_flags flags, u32 old)
{
	int before = atomic_read(&cf->b.fired);

	cf_arm(&cf->b, flags);
	/* The handler for the first completion has ended when the second one is there */
	if (!cf_transfer(cf, 0) || !cf_transfer(cf, 0))
		return;
	while (old--)
		cf_wait(&cf->b);
	cf_say(cf, atomic_read(&cf->b.fired) != before ? "fired" : "silent");
}

/* Only these flags alone mean solicited completions */
static void flags_as_a_whole(struct cf *cf)
{
	if (!cf_ready(cf))
		return;
	arm(cf, IB_CQ_SOLICITED, 0);
	arm(cf, IB_CQ_SOLICITED | IB_CQ_REPORT_MISSED_EVENTS, 0);
}

/* A CQ with an entry is not armed */
static void entries_wait(struct cf *cf)
{
	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 8) || cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED))
		return;
	/* This arms the CQ for no message of this case */
	if (strcmp(cf_wait(&cf->a), "success") || !cf_entry_waits(&cf->b))
		return;
	arm(cf, IB_CQ_NEXT_COMP, 1);
	arm(cf, IB_CQ_NEXT_COMP, 0);
}

/* ---- the rest of irdma and qedr --------------------------------------------- */

static void no_srq(struct cf *cf)
{
	struct ib_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ib_srq *srq;

	if (!cf_make(cf))
		return;
	srq = ib_create_srq(cf->a.pd, &init);
	cf_say(cf, "%d, %d", cf->a.ibdev->attrs.max_srq, PTR_ERR_OR_ZERO(srq));
	if (!IS_ERR(srq))
		ib_destroy_srq(srq);
}

/* A list of segments of which none is to be used */
static void first_segment(struct cf *cf)
{
	struct ib_send_wr *wr;
	struct ib_wc wc = {};

	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 8))
		return;
	wr = cf_wr(&cf->a, IB_WR_SEND, 8);
	wr->num_sge = 0;
	cf_post(&cf->a, wr);
	if (cf_next(&cf->b, &wc))
		cf_say(cf, "%s, %u bytes", cf_status(wc.status), wc.byte_len);
}

/* A, which was connected, is flushed after B, which was not */
static void not_flushed(struct cf *cf)
{
	struct ib_wc wc;

	cf->setup.b_later = true;
	if (!cf_ready(cf) || cf_state(&cf->b, IB_QPS_INIT) || cf_recv(&cf->b, 1, 8) ||
	    cf_state(&cf->b, IB_QPS_ERR) || cf_recv(&cf->a, 2, 8) ||
	    cf_state(&cf->a, IB_QPS_ERR))
		return;
	cf_say(cf, "%s", cf_wait(&cf->a));
	msleep(100);
	cf_say(cf, ib_poll_cq(cf->b.cq, 1, &wc) ? cf_status(wc.status) : "nothing");
}

/* ---- faults ----------------------------------------------------------------- */

/* Is an acknowledgment of A delayed now? Then a message has arrived that does not complete */
static bool delayed(struct cf *cf)
{
	struct ib_wc wc;
	u32 i;

	for (i = 0; i < 100; i++) {
		if (cf_recv(&cf->b, 1, 8) || cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED))
			return false;
		if (strcmp(cf_wait(&cf->b), "success")) {
			cf_say(cf, "a message has not arrived");
			return false;
		}
		msleep(20);
		if (!ib_poll_cq(cf->a.cq, 1, &wc))
			return true;
	}
	return false;
}

/* B accepts a read, and is gone before it answers */
static bool lose_response(struct cf *cf)
{
	struct ib_wc wc;

	if (!cf_ready(cf) || !delayed(cf) || cf_recv(&cf->b, 3, 8) ||
	    cf_rdma(&cf->a, IB_WR_RDMA_READ, 2, 0, CF_BAD_KEY, 0) ||
	    cf_send(&cf->a, 3, 8, IB_SEND_SIGNALED))
		return false;
	/* It has arrived behind the read */
	cf_wait(&cf->b);
	return !cf_state(&cf->b, IB_QPS_ERR) && !ib_poll_cq(cf->a.cq, 1, &wc);
}

static void lost_response(struct cf *cf)
{
	const char *first, *second;
	u32 i;

	for (i = 0; i < 100 && !*cf->outcome; i++) {
		if (lose_response(cf)) {
			first = cf_wait(&cf->a);
			second = cf_wait(&cf->a);
			/* Otherwise it was answered, and the entry not yet published */
			if (strcmp(second, "success")) {
				cf_say(cf, "%s, %s, %s", first, second, cf_wait(&cf->a));
				return;
			}
		}
		cf_renew(cf);
	}
	cf_say(cf, "no response was lost");
}

/* Messages without a completion, of which the wire loses one in two */
static void unsignalled(struct cf *cf)
{
	u32 i, n, arrived = 0;
	struct ib_wc wc;

	cf->setup.timeout = 10;		/* 4 ms */
	for (n = 0; n < 100; n++) {
		if (!cf_ready(cf))
			return;
		for (i = 0; i < CF_DEPTH; i++)
			if (cf_recv(&cf->b, i, 8))
				return;
		for (i = 0; i < CF_DEPTH; i++)
			if (cf_send(&cf->a, i, 8, 0))
				return;
		for (i = 0; i < CF_DEPTH && cf_next(&cf->b, &wc); i++) {
			if (wc.status || wc.wr_id != i)
				break;
			arrived++;
		}
		if (i < CF_DEPTH)
			break;
		cf_renew(cf);
	}
	cf_say(cf, "%u arrived", arrived);
}

/* The specification allows what the personalities do, or they differ as drivers do */
const struct cf_case cf_option_cases[] = {
	{ "ibta/event-order", event_order, "11.6.3", "before" },
	{ "mlx5/segments", segments, "10.2.4", "0, -12" },
	{ "mlx5/inline-data", inline_data, "10.2.4", "0, -12" },
	{ "mlx5/event-order", both_orders, "11.6.3", "both" },
	{ "irdma/no-srq", no_srq, "irdma", "0, -95" },
	{ "irdma/arming", flags_as_a_whole, "irdma", "silent, fired" },
	{ "irdma/first-segment", first_segment, "irdma", "success, 8 bytes" },
	{ "bnxt_re/arming", entries_wait, "bnxt_re", "silent, fired" },
	{ "bnxt_re/event-order", event_order, "11.6.3", "after" },
	{ "qedr/no-flush", not_flushed, "qedr", "flushed, nothing" },
	{ "qedr/not-established", no_comm_est, "qedr", "no event" },
	{ "rxe/not-established", no_comm_est, "rxe", "no event" },
	{ "rxe/no-last-wqe", no_last_wqe, "rxe", "flushed, flushed, no event" },
	{ "slow/lost-response", lost_response, "9.7.6.1", "success, RETRY_EXC, flushed" },
	{ "lossy/unsignalled", unsignalled, "9.7.5.1.3", "800 arrived" },
	{ }
};
